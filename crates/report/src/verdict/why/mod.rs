//! Of `why`: who made wakeups late, or why that cannot be told; of requests, in `requests`, `none_late` and `slowest`; what shares leave out, in `left_out`; of
//! handlers against their limits.

mod left_out;
mod none_late;
mod requests;
mod slowest;

use crate::layout::as_percent;
use crate::why::cost::MIN_COUNTED_NS;
use crate::why::ends::{End, tells_the_end, told};
use crate::why::model::{OnlyThread, WhyReport};
use crate::why::words::{beside, within_what};
use punctual_blame::Kind;
use punctual_recording::{Document, HandlerSum, RecorderSummary, Stage, agreeing, counted, format_ns, grouped};
use std::fmt::Write;

/// Threads that, all together, wake up less often than once in this time, ns, may be loops that never sleep.
const SECOND_NS: u64 = 1_000_000_000;

/// What to record where nothing can be said of a server's requests, ...
const INSTEAD: &str = "Record the client instead (--comm), or --why-stage total.";
/// ... and where it is not known which of both it is: what asks again at once looks like what answers at once.
const OTHER_END: &str = "Record whoever is at the other end instead (--comm), or --why-stage total.";

/// The sentence about a recording's own end, if it did not end in order: its own, or else that of its flight recorder, which may have
/// had room for one.
pub fn failure(document: &Document, recorder: Option<&RecorderSummary>) -> Option<String> {
    let unwritten = || Some(format!("It failed: {}.", recorder?.failure.as_ref()?));
    crate::verdict::recording::failure_in_words(document).or_else(unwritten)
}

impl OnlyThread {
    /// Whose wakeups these are, to follow *3 wakeups*.
    pub(crate) fn in_words(&self) -> String {
        let is_number = self.asked.bytes().all(|byte| byte.is_ascii_digit());
        format!(" of {}{}", if is_number { "thread " } else { "" }, self.asked)
    }
}

impl WhyReport<'_> {
    /// What these wakeups did to count as late: `were later than 1.00 ms`.
    pub(crate) fn exceeded(&self, count: u64) -> String {
        let threshold = self.threshold();
        match self.stage() {
            Stage::Request => format!("took longer than {threshold}"),
            Stage::Response => format!("took longer than {threshold} from wakeup until the work was done"),
            _ => format!("{} later than {threshold}", agreeing(count, "was", "were")),
        }
    }

    /// What is late or not: one, and several.
    pub(crate) fn nouns(&self) -> (&'static str, &'static str) {
        if self.stage() == Stage::Request { ("request", "requests") } else { ("wakeup", "wakeups") }
    }

    /// What had to be exceeded. A quantile of all so far rises and falls: what was late at first may not be so at the end.
    pub(crate) fn threshold(&self) -> String {
        let Some(recorder) = &self.recorder else { return "the threshold".to_owned() };
        let applied = || self.episodes.iter().map(|episode| episode.threshold_ns).filter(|ns| *ns > 0);
        let range = applied().min().zip(applied().max()).map(|(least, most)| (format_ns(least), format_ns(most)));
        match (recorder.threshold_ns, range) {
            (Some(_), Some((least, most))) if recorder.threshold.starts_with('p') => match least == most {
                true => format!("{most} ({})", recorder.threshold),
                false => format!("{} so far ({least} to {most})", recorder.threshold),
            },
            (Some(ns), None) if recorder.threshold.starts_with('p') => {
                format!("{} ({})", format_ns(ns), recorder.threshold)
            }
            (Some(ns), _) => format_ns(ns),
            (None, _) => recorder.threshold.clone(),
        }
    }

    /// The verdict if no wakeup is known to have been late.
    fn nothing_late(&self) -> String {
        let (exceeded, (one, many)) = (self.exceeded(1), self.nouns());
        let counted_ns = self.recorder.as_ref().map_or(0, |recorder| recorder.armed_ns);
        let has_threshold = self.recorder.as_ref().is_none_or(|recorder| recorder.threshold_ns.is_some());
        match (self.cut, has_threshold) {
            (true, _) if counted_ns < MIN_COUNTED_NS => {
                format!("Cut short before anything was counted: whether a {one} was late is not known.")
            }
            (true, true) if self.recognised().is_some() => {
                format!("Cut short after {}. {}.", format_ns(counted_ns), self.none_late())
            }
            (true, true) => format!(
                "Cut short. In the first {}, which is all that was counted, no {one} {exceeded}.",
                format_ns(counted_ns)
            ),
            (cut, false) => format!(
                "{}Too few {many} ({} needed) to compute {}, so no evidence was kept. Record longer, or give --why a time, such as 5ms.",
                if cut { "Cut short. " } else { "" },
                self.of_needed(),
                self.threshold()
            ),
            (false, true) => match self.followed.filter(|(wakeups, ns)| *wakeups < ns / SECOND_NS) {
                Some((wakeups, ns)) => format!(
                    "{}, but there {} only {} in {}, and a thread that never sleeps has none: \
                     `punctual log --events sched,irq,softirq -D 2s` shows what keeps such a thread from its CPU.",
                    self.none_late(),
                    agreeing(wakeups, "was", "were"),
                    counted(wakeups, "wakeup"),
                    format_ns(ns),
                ),
                None if self.measured_nothing => {
                    "No wakeup was measured, so nothing can be said of late ones.".to_owned()
                }
                None if self.recognised_none() => format!(
                    "{}, so nothing can be said of late ones: no thread was seen to come back to where it waits for more work. \
                     {INSTEAD}",
                    self.none_late()
                ),
                None if self.maybe_parts() > 0 => format!("{}. {INSTEAD}", self.none_late()),
                None if self.knows_none_whole() => format!("{}. {OTHER_END}", self.none_late()),
                None if self.recognised().is_some() => format!("{}.", self.none_late()),
                None if self.unseen() > 0 => format!(
                    "{}, but {} {} not seen, and may have.",
                    self.none_late(),
                    counted(self.unseen(), "wakeup"),
                    agreeing(self.unseen(), "was", "were")
                ),
                None => match &self.never_slept {
                    Some(told) => format!("{}, but {told}.", self.none_late()),
                    None => format!("{}: there is nothing to explain.", self.none_late()),
                },
            },
        }
    }

    /// How many it takes to know a quantile, and of how many requests that were counted.
    fn of_needed(&self) -> String {
        let needed = RecorderSummary::MIN_FOR_QUANTILE;
        let requests = self.recorder.as_ref().and_then(|recorder| recorder.requests);
        match requests.filter(|requests| *requests < needed) {
            Some(requests) => format!("{} of {}", grouped(requests), grouped(needed)),
            None => grouped(needed),
        }
    }

    /// The answer in a sentence or two.
    pub fn verdict(&self) -> String {
        let verdict = self.verdict_on_evidence() + &self.some_may_not_be_requests() + &self.much_not_judged();
        match &self.failure {
            Some(failure) => format!("{verdict} {failure}"),
            None => verdict,
        }
    }

    fn verdict_on_evidence(&self) -> String {
        let late = self.recorder.as_ref().map_or(self.episodes.len() as u64, |recorder| recorder.late);
        if late == 0 && self.episodes.is_empty() {
            return self.nothing_late();
        }
        let Some((kind, of_kind_ns, first)) = self.leading() else { return self.nothing_concluded(late) };
        if self.only_idle() == self.whole() as u64 {
            return self.only_waited_for_requests();
        }
        // Many threads may share a kind, as a compiler's do.
        let is_whole = first.total_ns >= of_kind_ns / 10 * 9;
        let mut verdict = format!(
            "{}{}: {} of the {}{} was {}",
            self.cut(),
            self.how_many(),
            as_percent(if is_whole { first.total_ns } else { of_kind_ns }, self.late_ns()),
            format_ns(self.late_ns()),
            self.of_which_time(),
            if is_whole {
                kind.cause(&self.who(&self.named(first), first.cgroup.as_deref(), first.turn))
            } else {
                let share = as_percent(first.total_ns, self.late_ns());
                format!("{} ({} alone: {share})", kind.plural(), self.named(first))
            },
        );
        // Of one among many the table says the rest.
        if is_whole {
            let (of_one, longest) = (self.stage() == Stage::Request, format_ns(first.max_ns));
            let of_one = if of_one { " of one" } else { "" };
            let episodes = counted(first.episodes, "episode");
            let _ = write!(verdict, "{}, in {episodes}, at most {longest}{of_one}", beside(first));
        }
        let own = match (kind, self.total_of(Kind::Own)) {
            (Kind::Own, _) => self.beside_own_work(),
            (_, 0) => String::new(),
            (_, own) => format!(" Their own work: {}.", as_percent(own, self.late_ns())),
        };
        let (second, last) = self.left_out_second_or_last();
        let _ = write!(
            verdict,
            ".{second}{}{}{own} Unknown: {}, out of sight: {}.",
            self.others_may_be_late(),
            self.largest_single_in_words(),
            self.unknown_in_words(),
            as_percent(self.total_of(Kind::Blind), self.late_ns()),
        );
        if kind == Kind::Wait && !(is_whole && tells_the_end(first)) {
            verdict.push_str(&self.ends_of_waits());
        }
        verdict.push_str(&self.only_seem_late());
        verdict.push_str(&last);
        verdict
    }

    /// The share of what the table calls unknown, and of what is unknown within its other rows if that is a thousandth or more.
    fn unknown_in_words(&self) -> String {
        let (unknown_ns, within_ns) = (self.total_of(Kind::Unknown), self.unknown_within_ns());
        let unknown = as_percent(unknown_ns, self.late_ns());
        if u128::from(within_ns) * 1_000 < u128::from(self.late_ns().max(1)) {
            return unknown;
        }
        let (within, what) = (as_percent(within_ns, self.late_ns()), within_what(self.stage()));
        format!("{unknown} and another {within} within {what}")
    }

    /// The largest single cause as a sentence; empty if the first one names it.
    fn largest_single_in_words(&self) -> String {
        self.largest_single().map_or_else(String::new, |cause| {
            let who = self.who(&self.named(cause), cause.cgroup.as_deref(), cause.turn);
            format!(
                " Largest single cause: {} ({}).",
                cause.kind.cause(&who),
                as_percent(cause.total_ns, self.late_ns())
            )
        })
    }

    /// The largest cause beside late threads' own work.
    fn beside_own_work(&self) -> String {
        let is_other = |kind: Kind| !matches!(kind, Kind::Own | Kind::Idle | Kind::Unknown | Kind::Blind);
        let other = self.kinds().into_iter().find(|(kind, _)| is_other(*kind));
        other.map_or_else(String::new, |(kind, ns)| {
            format!(" Largest other cause: {} ({}).", kind.plural(), as_percent(ns, self.late_ns()))
        })
    }

    /// What the waits for other threads came down to.
    fn ends_of_waits(&self) -> String {
        let (ends, all_ns) = End::of(self.waits(None));
        match told(&ends, all_ns) {
            nothing if nothing.is_empty() => nothing,
            told => format!(" What these waits came down to: {told}."),
        }
    }

    pub(crate) fn cut(&self) -> &'static str {
        if self.cut { "Cut short. " } else { "" }
    }

    /// The verdict if wakeups were late and none of their evidence is complete.
    fn nothing_concluded(&self, late: u64) -> String {
        let (cut, exceeded) = (self.cut(), self.exceeded(late) + &self.or_waited(late));
        let wakeups = if self.only.is_some() { counted(late, self.nouns().0) } else { self.of_all(late) };
        let missing = self.missing();
        if missing > 0 && self.episodes.is_empty() {
            let kept = if missing == 1 { "one that was kept".to_owned() } else { format!("{missing} that were kept") };
            return format!(
                "{cut}{wakeups} {exceeded}, and the evidence of the {kept} is gone from the recording: nothing can \
                 be concluded."
            );
        }
        let unknown = agreeing(late, "its cause is unknown", "their causes are unknown");
        let (it, its) = (agreeing(late, "it", "them"), agreeing(late, "its", "their"));
        match self.episodes.is_empty() {
            true => format!("{cut}{wakeups} {exceeded}; no evidence of {it} was kept, so {unknown}."),
            false => format!("{cut}{wakeups} {exceeded}; {its} evidence is incomplete, so {unknown}."),
        }
    }
}

/// The verdict on handlers, the longest of them first, of which so many are over their limit.
pub(crate) fn handlers_verdict(sums: &[HandlerSum], over: usize) -> String {
    let Some(longest) = sums.first() else { return "Nothing ran: there is nothing to judge.".to_owned() };
    let name = format!("{} {}", longest.kind, longest.name);
    let longest = format_ns(longest.longest_ns);
    if over == 0 {
        return format!(
            "All {} handlers, softirqs and callbacks kept the limits; the longest, {name}, took {longest}.",
            sums.len()
        );
    }
    format!(
        "{over} of {} handlers, softirqs and callbacks broke a limit; the longest, {name}, took {longest}.",
        sums.len()
    )
}

#[cfg(test)]
mod tests {
    use super::requests::tests::requests;
    use super::*;
    use crate::why::tests::of_parts;
    use crate::why::{EpisodeView, WhyAnswer};
    use punctual_recording::OverrunCount;
    use std::path::Path;

    #[test]
    fn without_evidence_it_says_how_much_there_was_of_how_much_is_needed() {
        let recorder = |late| RecorderSummary {
            threshold: "p99".into(),
            threshold_ns: (late > 0).then_some(131_000_000),
            stage: Stage::Request,
            requests: Some(if late > 0 { 21_103 } else { 766 }),
            late,
            kept: late,
            ..RecorderSummary::default()
        };
        let of = |late, episodes: Vec<EpisodeView>| {
            let report = WhyReport::new(Path::new("x"), 0, Some(recorder(late)), episodes, false, None, &[]);
            assert!(report.lacks_evidence());
            report.verdict()
        };
        assert_eq!(
            of(0, Vec::new()),
            "Too few requests (766 of 1,000 needed) to compute p99, so no evidence was kept. Record longer, or give --why a time, such as 5ms."
        );
        let void = || EpisodeView { void: Some("overwritten".into()), threshold_ns: 0, ..of_parts(&[]) };
        assert_eq!(
            of(1, vec![void()]),
            "1 of 21,103 recognised requests took longer than 131 ms (p99); its evidence is incomplete, so its cause is unknown."
        );
        assert!(of(2, vec![void(), void()]).ends_with("; their evidence is incomplete, so their causes are unknown."));
        let known = requests(vec![of_parts(&[(Kind::Wait, "store", 90)])]);
        assert!(!known.contains("evidence"), "{known}");
    }

    #[test]
    fn work_that_is_too_long_for_itself_comes_first() {
        let long = || {
            let mut view =
                of_parts(&[(Kind::Own, "late", 85), (Kind::SamePriority, "rustc", 6), (Kind::Unknown, "x", 9)]);
            view.split.parts[2].unknown_ns = 9_000_000;
            view
        };
        let told = requests(vec![long(), long()]);
        assert_eq!(
            told,
            "2 requests took longer than 60.0 ms, the slowest 100 ms: 85.0 % of the 200 ms that they took was the work of late, in 2 episodes, \
             at most 85.0 ms of one. Largest other cause: threads of the same priority (6.0 %). Unknown: 9.0 %, out of sight: 0.0 %."
        );
        // Without the wait these would not have been late.
        let told = requests(vec![of_parts(&[(Kind::Own, "late", 55), (Kind::Wait, "store", 45)])]);
        assert!(
            told.contains(": 45.0 % of the 100 ms that it took was waiting for store")
                && told.contains("own work: 55.0 %"),
            "{told}"
        );
    }

    /// The table has a row for what is unknown, and a lock of which the holder was not seen has one of its own.
    #[test]
    fn what_is_unknown_has_the_share_of_its_row() {
        let told = |within_us: u64| {
            let mut view = of_parts(&[(Kind::Irq, "nic", 50), (Kind::Lock, "x", 42), (Kind::Unknown, "y", 8)]);
            view.split.parts[1].unknown_ns = within_us * 1_000;
            view.split.parts[2].unknown_ns = 8_000_000;
            requests(vec![view])
        };
        assert!(
            told(42_000).ends_with(" Unknown: 8.0 % and another 42.0 % within locks and waits, out of sight: 0.0 %."),
            "{}",
            told(42_000)
        );
        assert!(told(99).ends_with(" Unknown: 8.0 %, out of sight: 0.0 %."), "{}", told(99));
    }

    /// One that can be changed at once is not hidden behind a kind of many small ones.
    #[test]
    fn a_single_cause_larger_than_any_of_the_leading_kind_is_named() {
        let lock = [(Kind::SamePriority, "cc1", 20), (Kind::SamePriority, "rustc", 18), (Kind::Lock, "flusher", 30)];
        let told = requests(vec![of_parts(&lock)]);
        assert!(
            told.contains(
                " was threads of the same priority (cc1 alone: 29.4 %). Largest single cause: lock held by flusher (44.1 %). \
                 Unknown: "
            ),
            "{told}"
        );
        let smaller = [(Kind::SamePriority, "cc1", 20), (Kind::SamePriority, "rustc", 18), (Kind::Lock, "flusher", 19)];
        let blind = [(Kind::SamePriority, "cc1", 20), (Kind::SamePriority, "rustc", 18), (Kind::Blind, "x", 30)];
        for parts in [smaller, blind] {
            let told = requests(vec![of_parts(&parts)]);
            assert!(told.contains("(cc1 alone: ") && !told.contains("Largest single"), "{told}");
        }
    }

    #[test]
    fn where_threads_hardly_woke_up_it_says_what_shows_a_loop_that_never_sleeps() {
        let told = |followed| {
            let threshold_ns = Some(1_000_000);
            let recorder = RecorderSummary { threshold: "1ms".into(), threshold_ns, ..RecorderSummary::default() };
            let mut report = WhyReport::new(Path::new("x"), 0, Some(recorder), Vec::new(), false, None, &[]);
            report.followed = followed;
            report.verdict()
        };
        for (wakeups, words) in [(0, "there were only 0 wakeups in"), (1, "there was only 1 wakeup in")] {
            let verdict = told(Some((wakeups, 20 * SECOND_NS)));
            assert!(verdict.contains(words) && verdict.contains("`punctual log --events"), "{verdict}");
        }
        for followed in [None, Some((20, 20 * SECOND_NS))] {
            assert!(told(followed).ends_with("there is nothing to explain."), "{followed:?}");
        }
    }

    #[test]
    fn where_threads_never_slept_it_does_not_say_that_there_is_nothing_to_explain() {
        let recorder =
            RecorderSummary { threshold: "1ms".into(), threshold_ns: Some(1_000_000), ..RecorderSummary::default() };
        let mut report = WhyReport::new(Path::new("x"), 0, Some(recorder), Vec::new(), false, None, &[]);
        report.never_slept = Some("800 threads began and ended without ever sleeping".to_owned());
        let verdict = report.verdict();
        assert!(verdict.ends_with(", but 800 threads began and ended without ever sleeping."), "{verdict}");
    }

    #[test]
    fn late_wakeups_of_a_loop_may_be_among_those_that_were_not_seen() {
        let (threshold_ns, stage) = (Some(1_000_000), Stage::Response);
        let recorder = RecorderSummary { threshold: "1ms".into(), threshold_ns, stage, ..RecorderSummary::default() };
        let mut report = WhyReport::new(Path::new("x"), 0, Some(recorder), Vec::new(), false, None, &[]);
        let mut told = |unseen| {
            let seen = OverrunCount { cycles: 11_984, may_be_more: unseen > 0, unseen, ..OverrunCount::default() };
            report.overruns = vec![("my-loop fifo:80".to_owned(), seen)];
            (report.verdict(), WhyAnswer::new(&report, None).unseen)
        };
        let none = "No wakeup took longer than 1.00 ms from wakeup until the work was done";
        assert_eq!(told(0), (format!("{none}: there is nothing to explain."), 0));
        assert_eq!(told(1), (format!("{none}, but 1 wakeup was not seen, and may have."), 1));
        assert_eq!(told(13), (format!("{none}, but 13 wakeups were not seen, and may have."), 13));
    }
}
