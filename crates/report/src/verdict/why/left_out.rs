//! What the shares of a verdict leave out: void episodes, late wakeups without evidence, and those that are gone from the recording; and
//! what came before there was a threshold.

use crate::layout::as_percent;
use crate::why::model::WhyReport;
use crate::why::words::is_much;
use punctual_recording::{RecorderSummary, Stage, agreeing, counted, format_ns, grouped};

impl WhyReport<'_> {
    /// What follows the time that the shares are of: ` of lateness`, ` that they took`.
    pub(super) fn of_which_time(&self) -> String {
        let is_all = self.left_out_counts().iter().all(|count| *count == 0);
        match (self.of_responses(), is_all, self.whole()) {
            (false, ..) => " of lateness".to_owned(),
            (true, true, 1) => " that it took".to_owned(),
            (true, true, _) => " that they took".to_owned(),
            (true, false, whole) => format!(" that {} of them took", grouped(whole as u64)),
        }
    }

    /// What is left out, to follow the first sentence if it has most of the time, or the last.
    pub(super) fn left_out_second_or_last(&self) -> (String, String) {
        let left_out = self.left_out("Left out of these shares");
        if self.is_mostly_void() { (left_out, String::new()) } else { (String::new(), left_out) }
    }

    /// Late wakeups about whose causes the verdict says nothing, if there are any.
    pub(crate) fn left_out(&self, of_what: &str) -> String {
        let counts = self.left_out_counts();
        let left_out = counts.into_iter().fold(0, u64::saturating_add);
        let parts: Vec<String> = counts
            .into_iter()
            .zip([
                ("void", self.time_of_void()),
                ("without evidence", String::new()),
                ("gone from the recording", String::new()),
            ])
            .filter(|(count, _)| *count > 0)
            .map(|(count, (what, time))| format!("{} {what}{time}", grouped(count)))
            .collect();
        if parts.is_empty() {
            return String::new();
        }
        let all = left_out.saturating_add(self.whole() as u64);
        // The shares above belong to the others: nothing unknown among them says anything about these.
        let unexplained = if !is_much(left_out, all) {
            String::new()
        } else {
            format!(
                " So {} of {} {} not explained.",
                grouped(left_out),
                counted(all, &format!("late {}", self.nouns().0)),
                agreeing(left_out, "is", "are")
            )
        };
        format!(" {of_what}: {}.{unexplained}", parts.join(", "))
    }

    /// A note that some were not compared with the threshold, if the verdict does not say so.
    pub(crate) fn note_on_not_judged(&self) -> Option<String> {
        let (not_judged, _) = self.not_judged();
        (not_judged > 0 && !self.is_much_not_judged()).then(|| format!("the {}", self.not_judged_in_words()))
    }

    /// The same at the end of the verdict, if it is much; with the longest of all, if that is longer than those that were late.
    pub(super) fn much_not_judged(&self) -> String {
        if !self.is_much_not_judged() {
            return String::new();
        }
        let times = self.recorder.as_ref().and_then(|recorder| recorder.request_times);
        let longest_ns = times.map_or(0, |times| times.max_ns);
        let longest = match longest_ns > self.longest_ns(true).max(self.longest_ns(false)) && self.only.is_none() {
            true => format!("; the longest of all took up to {}", format_ns(longest_ns)),
            false => String::new(),
        };
        format!(" The {}{longest}.", self.not_judged_in_words())
    }

    fn not_judged_in_words(&self) -> String {
        let (not_judged, is_counted) = self.not_judged();
        let needed = RecorderSummary::MIN_FOR_QUANTILE;
        let quantile = self.recorder.as_ref().map_or("", |recorder| recorder.threshold.as_str());
        format!(
            "first {}{} were not judged, because {quantile} is known only after {} (a time, such as --why 5ms, judges all)",
            counted(not_judged, self.nouns().0),
            if is_counted { "" } else { " or more" },
            grouped(needed),
        )
    }

    /// How much time void episodes have, and which share of all that is known: ` (26.4 s, 94.8 % of all late time)`.
    fn time_of_void(&self) -> String {
        let ([void, without, missing], ns) = (self.left_out_counts(), self.void_ns());
        let known = if without > 0 || missing > 0 { " that is known" } else { "" };
        let (up_to, longest_ns) = match self.stage() {
            Stage::Request => ("up to ", 0),
            _ => ("", self.longest_ns(true)),
        };
        // Of requests the first sentence names it.
        let longest = match void > 1 && longest_ns > self.longest_ns(false) {
            true => format!(", the longest {}", format_ns(longest_ns)),
            false => String::new(),
        };
        let share = as_percent(ns, ns.saturating_add(self.late_ns()));
        format!(" ({up_to}{}, {share} of all late time{known}{longest})", format_ns(ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::why::EpisodeView;
    use crate::why::tests::of_parts;
    use punctual_blame::Kind;
    use punctual_recording::RequestTimes;
    use std::path::Path;

    fn void(ms: u64) -> EpisodeView {
        EpisodeView { void: Some("overwritten".to_owned()), total_ns: ms * 1_000_000, ..of_parts(&[]) }
    }

    /// The verdict on some of 100 ms that are whole, and on void ones of so many ms.
    fn told(stage: Stage, whole: usize, void_ms: &[u64], without: u64) -> String {
        let mut episodes: Vec<EpisodeView> =
            (0..whole).map(|_| of_parts(&[(Kind::Wait, "store", 90), (Kind::Own, "late", 10)])).collect();
        episodes.extend(void_ms.iter().map(|ms| void(*ms)));
        let kept = episodes.len() as u64;
        let recorder = RecorderSummary {
            threshold: "60ms".to_owned(),
            threshold_ns: Some(60_000_000),
            stage,
            late: kept + without,
            kept,
            ..RecorderSummary::default()
        };
        WhyReport::new(Path::new("x"), 0, Some(recorder), episodes, false, None, &[]).verdict()
    }

    #[test]
    fn void_requests_that_took_most_of_the_time_are_the_second_sentence() {
        let most = told(Stage::Request, 2, &[1_800, 2_000], 0);
        assert!(
            most.starts_with(
                "4 requests took longer than 60.0 ms, the slowest at least 100 ms (a void one up to 2.00 s): 90.0 % of the 200 ms that \
                 2 of them took was waiting for store"
            ),
            "{most}"
        );
        let time = " Left out of these shares: 2 void (up to 3.80 s, 95.0 % of all late time). So 2 of 4 late requests are not explained.";
        assert!(most.contains(&format!("at most 90.0 ms of one.{time} Their own work: ")), "{most}");
        let some = told(Stage::Request, 2, &[100], 0);
        let time = " Left out of these shares: 1 void (up to 100 ms, 33.3 % of all late time). So 1 of 3 late requests is not explained.";
        assert!(some.ends_with(time), "{some}");
        assert!(some.contains(", the slowest at least 100 ms: "), "{some}");
        assert!(!told(Stage::Request, 2, &[], 0).contains("Left out"));
    }

    #[test]
    fn the_time_of_void_wakeups_is_certain_and_the_longest_of_several_is_named() {
        for (void_ms, without, expected) in [
            (&[300, 400][..], 0, "2 void (700 ms, 87.5 % of all late time, the longest 400 ms). So 2 of 3"),
            (&[60, 40][..], 0, "2 void (100 ms, 50.0 % of all late time). So 2 of 3"),
            (&[300][..], 7, "1 void (300 ms, 75.0 % of all late time that is known), 7 without evidence. So 8 of 9"),
        ] {
            let told = told(Stage::Total, 1, void_ms, without);
            assert!(told.contains(&format!(" Left out of these shares: {expected} late wakeups")), "{told}");
        }
    }

    /// A tail is only known after many requests, and the longest of them may be among those.
    #[test]
    fn requests_before_the_quantile_was_known_are_not_said_to_have_been_in_time() {
        let told = |requests: u64, not_judged: u64, late: u64| {
            let episodes: Vec<EpisodeView> = (0..late).map(|_| of_parts(&[(Kind::Wait, "store", 100)])).collect();
            let times = RequestTimes { max_ns: 648_000_000, sure: requests, ..RequestTimes::default() };
            let recorder = RecorderSummary {
                threshold: "p99".to_owned(),
                threshold_ns: Some(60_000_000),
                stage: Stage::Request,
                requests: Some(requests),
                request_times: Some(times),
                not_judged,
                late,
                kept: late,
                ..RecorderSummary::default()
            };
            let report = WhyReport::new(Path::new("x"), 0, Some(recorder), episodes, false, None, &[]);
            (report.verdict(), report.note_on_not_judged())
        };
        let why = "were not judged, because p99 is known only after 1,000 (a time, such as --why 5ms, judges all)";
        let longest = "; the longest of all took up to 648 ms.";
        let (some, note) = told(1_153, 1_089, 1);
        assert!(some.starts_with("1 of 64 judged requests took longer than 60.0 ms (p99): "), "{some}");
        assert!(
            some.ends_with(&format!(" The first 1,089 requests {why}{longest}")) && note.is_none(),
            "{some} {note:?}"
        );
        let (none, _) = told(1_153, 1_089, 0);
        let expected = format!(
            "None of the 64 requests that were judged took longer than 60.0 ms (p99). The first 1,089 requests {why}{longest}"
        );
        assert_eq!(none, expected);
        // A recording that did not count them.
        let (older, _) = told(1_153, 0, 1);
        assert!(older.starts_with("1 of 1,153 recognised requests "), "{older}");
        assert!(older.contains(&format!(" The first 1,000 requests or more {why}")), "{older}");
        let (many, note) = told(20_000, 1_089, 1);
        assert!(!many.contains("not judged"), "{many}");
        assert_eq!(note, Some(format!("the first 1,089 requests {why}")));
    }
}
