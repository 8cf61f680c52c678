//! What has to be known beside a verdict on causes: sentences without a full stop.

use super::model::WhyReport;
use super::remedy::{OF_THIS_RECORDING, less_of_this_recording};
use super::words::within_what;
use crate::layout::{agreeing, as_percent, counted, grouped};
use crate::next::as_threshold;
use punctual_blame::{Inside, Kind, Who};
use punctual_recording::bounds::{MAX_DETAIL_BYTES, MAX_TREE_BYTES};
use punctual_recording::{RecorderSummary, Stage, format_ns, printable, spoken_measure};
use std::collections::BTreeMap;

/// From this share of the late time on, hundredths, unknown time within known parts is said before other notes.
const WORTH_SAYING_FIRST: u128 = 1;
/// The same of what the recording itself took.
const OWN_WORTH_SAYING: u128 = 5;
/// So many episodes have to be known before a threshold is taken from them.
const MIN_EPISODES: usize = 10;
/// The cycles of so many loops are said.
const MAX_LOOPS: usize = 3;

/// The notes on a report, by who has to know them.
pub(super) struct Notes {
    /// What every reader has to know: what was not measured as it was asked for, how many cycles the late wakeups are, why much is
    /// void, and much time that is unknown though the table names somebody for it.
    pub(super) first: Vec<String>,
    /// What else the shares leave out, the most important ones first.
    pub(super) more: Vec<String>,
    /// What this machine and its kernel do not show.
    pub(super) not_seen: Vec<String>,
}

impl Notes {
    pub(super) fn of(report: &WhyReport<'_>) -> Notes {
        let within_ns = report.unknown_within_ns();
        let is_much = u128::from(within_ns) * 100 >= u128::from(report.late_ns()) * WORTH_SAYING_FIRST;
        let within = (within_ns > 0).then(|| unknown_within(report.stage(), within_ns));
        let (much, little) = if is_much { (within, None) } else { (None, within) };
        let mut more = report.recorder.as_ref().map(|recorder| not_kept(report, recorder)).unwrap_or_default();
        let void = super::void::in_words(report.episodes.iter().filter_map(|episode| episode.void.as_deref()));
        let (much_void, little_void) = if report.leaves_out_much() { (void, None) } else { (None, void) };
        more.extend(little_void);
        more.extend(report.note_on_not_judged());
        more.extend(of_other_threads(report));
        more.extend(of_namesakes(report));
        more.extend(nesting_unknown(report));
        more.extend(report.left_out_for_room());
        more.extend(little);
        Notes {
            first: (report.conditions.iter().cloned())
                .chain(of_no_loop(report))
                .chain(unseen(report))
                .chain(cycles_that_overran(report))
                .chain(much_void)
                .chain(taken_by_the_recording(report))
                .chain(much)
                .collect(),
            more,
            not_seen: report.blind.iter().map(|note| format!("not seen: {note}")).collect(),
        }
    }

    /// All of them, the most important ones first.
    pub(super) fn all(&self) -> impl Iterator<Item = &String> {
        self.first.iter().chain(&self.more).chain(&self.not_seen)
    }

    /// Those about this recording, which leave out what no recording on this machine has.
    pub(super) fn of_this_recording(self) -> Vec<String> {
        self.first.into_iter().chain(self.more).collect()
    }
}

impl WhyReport<'_> {
    /// What is left out for want of room, each in a sentence without a full stop.
    pub fn left_out_for_room(&self) -> Vec<String> {
        let without = self.episodes.iter().filter(|episode| episode.without_details).count();
        let episodes = (without > 0).then(|| {
            format!(
                "{} of {} {} shown as totals only; full detail would exceed {} MB: --episode N shows one in full",
                grouped(without as u64),
                counted(self.episodes.len(), "episode"),
                agreeing(without, "is", "are"),
                MAX_DETAIL_BYTES / 1_000_000
            )
        });
        let functions = (self.functions_left_out > 0).then(|| {
            format!(
                "{} {} merged into their callers to keep the call trees under {} MB",
                counted(self.functions_left_out, "function"),
                agreeing(self.functions_left_out, "was", "were"),
                MAX_TREE_BYTES / 1_000_000
            )
        });
        episodes.into_iter().chain(functions).collect()
    }

    /// Where the budget was used up: a threshold of two digits, ns, that about as many of the late wakeups exceeded as there was
    /// room for, taking those that were kept for a sample of all. `None` of too few, of one thread among others, and of a loop,
    /// whose threshold is its period.
    pub fn higher_threshold_ns(&self) -> Option<u64> {
        let recorder = self.recorder.as_ref().filter(|recorder| recorder.over_budget > 0)?;
        let mut totals: Vec<u64> = self.episodes.iter().map(|episode| episode.total_ns).collect();
        if totals.len() < MIN_EPISODES || self.only.is_some() || self.loops.is_some() {
            return None;
        }
        totals.sort_unstable_by(|one, other| other.cmp(one));
        let above = (totals.len() as u128 * u128::from(recorder.kept)).checked_div(u128::from(recorder.late))?;
        let at_ns = *totals.get(usize::try_from(above).ok()?)?;
        // Rounded up: no more than these exceed it.
        let microseconds = at_ns.div_ceil(1_000).max(1);
        let unit = 10_u64.pow(microseconds.ilog10().saturating_sub(1));
        let rounded_ns = microseconds.div_ceil(unit).saturating_mul(unit).saturating_mul(1_000);
        recorder.threshold_ns.is_some_and(|had_ns| rounded_ns > had_ns).then_some(rounded_ns)
    }
}

/// That late wakeups of threads that are no loops with the period are no overruns.
fn of_no_loop(report: &WhyReport<'_>) -> impl Iterator<Item = String> {
    let threshold = report.threshold();
    report.of_no_loop.iter().take(MAX_LOOPS).map(move |(measure, late)| {
        format!(
            "{} of these late wakeups {} of {}, which does not wake about once in {threshold}: no cycle of a loop overran there, and --thread shows \
             one thread alone",
            grouped(*late),
            agreeing(*late, "is", "are"),
            printable(&spoken_measure(measure))
        )
    })
}

/// How many late wakeups of loops may be missing, because nobody saw them.
fn unseen(report: &WhyReport<'_>) -> impl Iterator<Item = String> {
    report.overruns.iter().filter(|(_, overruns)| overruns.unseen > 0).take(MAX_LOOPS).map(|(measure, overruns)| {
        format!(
            "{} of {} {}",
            counted(overruns.unseen, "wakeup"),
            printable(&spoken_measure(measure)),
            agreeing(
                overruns.unseen,
                "was not seen: if it was late, it is missing here",
                "were not seen: those that were late are missing here"
            )
        )
    })
}

/// How many cycles of loops took too long, as other answers count them: a cycle may hold several wakeups, and what looks like one
/// may be several cycles. Nothing where that is the number of late wakeups.
fn cycles_that_overran(report: &WhyReport<'_>) -> impl Iterator<Item = String> {
    let (late, threshold) = (report.late(), report.threshold());
    let others =
        report.overruns.iter().filter(move |(_, overruns)| overruns.most > 0 && overruns.exact() != Some(late));
    others.take(MAX_LOOPS).map(move |(measure, overruns)| {
        format!(
            "a wakeup is not always a cycle: {} of {} took longer than {threshold}, as `punctual report` counts them",
            overruns.of_cycles_in_words(),
            printable(&spoken_measure(measure))
        )
    })
}

/// That much of the late time is what the recording itself took, at the ends of waits too.
fn taken_by_the_recording(report: &WhyReport<'_>) -> Option<String> {
    let whole = report.episodes.iter().filter(|episode| episode.void.is_none());
    let mut own = BTreeMap::new();
    for part in whole.flat_map(|episode| &episode.split.parts) {
        add_own(&part.who, part.ns, &part.inside, &mut own);
    }
    let own_ns = own.values().copied().fold(0, u64::saturating_add);
    let (most, _) = own.into_iter().max_by_key(|(_, ns)| *ns)?;
    let is_much = own_ns > 0 && u128::from(own_ns) * 100 >= u128::from(report.late_ns()) * OWN_WORTH_SAYING;
    is_much.then(|| {
        let share = as_percent(own_ns, report.late_ns());
        format!("{share} of the late time is what this recording itself took: {}", less_of_this_recording(most))
    })
}

/// Adds what punctual's own threads had of what somebody had, ns, in the end, by their names.
fn add_own<'a>(who: &'a Who, ns: u64, inside: &'a [Inside], own: &mut BTreeMap<&'a str, u64>) {
    if who.name().contains(OF_THIS_RECORDING) {
        let sum = own.entry(who.name()).or_default();
        *sum = sum.saturating_add(ns);
        return;
    }
    for step in inside {
        add_own(&step.who, step.ns, &step.inside, own);
    }
}

fn unknown_within(stage: Stage, within_ns: u64) -> String {
    format!(
        "another {} spent in {} counts as unknown: the {}, or what delayed it, was not seen",
        format_ns(within_ns),
        within_what(stage),
        if stage == Stage::Request { "holder, or whoever ended the wait" } else { "holder" }
    )
}

fn of_other_threads(report: &WhyReport<'_>) -> Option<String> {
    let only = report.only.as_ref().filter(|only| only.others > 0)?;
    let others = counted(only.others, &format!("late {}", report.nouns().0));
    Some(format!("{others} of other threads {} left out, as --thread asks", agreeing(only.others, "is", "are")))
}

/// Says whose a cause is that is called like this program and is none of the threads that recorded.
fn of_namesakes(report: &WhyReport<'_>) -> Option<String> {
    const NAME: &str = "punctual";
    let is_namesake = |name: &str| name == NAME || name.starts_with("punctual (") && !name.contains(OF_THIS_RECORDING);
    let mut causes = report.summary.causes.iter().filter(|cause| cause.kind != Kind::Own);
    causes.any(|cause| is_namesake(cause.who.name())).then(|| {
        format!("{NAME} is another process of that name, or one that this recording started: its own threads are {NAME}{OF_THIS_RECORDING}")
    })
}

fn nesting_unknown(report: &WhyReport<'_>) -> Option<String> {
    let untold = report.episodes.iter().filter(|episode| !episode.nesting_known).count();
    (untold > 0).then(|| {
        format!(
            "in {} the kernel's count of nested interrupts was not read, or was read wrongly: interrupts and \
             softirqs are known by their beginnings and ends alone, and one whose end was missed seems to go on",
            counted(untold, "episode")
        )
    })
}

/// Which late wakeups the flight recorder kept no evidence of.
fn not_kept(report: &WhyReport<'_>, recorder: &RecorderSummary) -> Vec<String> {
    let mut notes = Vec::new();
    let late = || counted(recorder.late, &format!("late {}", report.nouns().0));
    if report.missing() > 0 {
        notes.push(format!(
            "the recorder kept {}, and {} of them {} gone from the recording: what follows covers the rest",
            counted(recorder.kept, "episode"),
            grouped(report.missing()),
            agreeing(report.missing(), "is", "are")
        ));
    }
    if recorder.over_budget > 0 {
        let such = report.higher_threshold_ns().map_or_else(String::new, |threshold_ns| {
            let threshold = as_threshold(threshold_ns);
            format!(", such as --why {threshold}, which about as many exceeded as were kept")
        });
        notes.push(format!(
            "{} of {} left no evidence because the budget was used up: a higher --why threshold keeps those that matter{such}",
            grouped(recorder.over_budget),
            late()
        ));
    }
    if recorder.writing_behind > 0 {
        notes.push(format!(
            "{} of {} left no evidence because it could not be written, or not as fast as it came: a higher --why threshold \
             keeps those that matter",
            grouped(recorder.writing_behind),
            late()
        ));
    }
    if recorder.unwritten_yet() > 0 {
        notes.push(format!(
            "{} of {} had no evidence yet when this was counted, or had not been looked at",
            grouped(recorder.unwritten_yet()),
            late()
        ));
    }
    if recorder.stage == Stage::Request && recorder.requests.is_none() {
        notes.push("this recording does not say how many requests there were in all".to_owned());
    }
    if let Some(times) = super::request_times::times_in_words(recorder) {
        notes.push(format!("all recognised requests, late or not: {times}"));
    }
    if recorder.without_end > 0 {
        notes.push(format!(
            "not included: {} with more waits than can be followed, none of which is known to be for more work",
            counted(recorder.without_end, "request")
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::why::tests::of_parts;
    use crate::why::{EpisodeView, FollowedLoops};
    use punctual_recording::{CycleCount, Document, OverrunCount};
    use std::path::Path;

    #[test]
    fn what_was_not_measured_as_asked_comes_first_and_what_no_recording_shows_last() {
        let blind = ["what the host takes".to_owned()];
        let recorder = RecorderSummary { late: 3, kept: 1, over_budget: 2, ..RecorderSummary::default() };
        let episodes = vec![EpisodeView { nesting_known: true, ..of_parts(&[(Kind::Irq, "nic", 100)]) }];
        let mut report = WhyReport::new(Path::new("x"), 0, Some(recorder), episodes, false, None, &blind);
        report.conditions = vec!["the load failed".to_owned()];
        let notes = Notes::of(&report);
        let all: Vec<&String> = notes.all().collect();
        let [first, second, third] = all[..] else { panic!("{all:?}") };
        assert_eq!((first.as_str(), third.as_str()), ("the load failed", "not seen: what the host takes"), "{all:?}");
        assert!(second.starts_with("2 of 3 late wakeups left no evidence because the budget"), "{second}");
        assert_eq!(notes.of_this_recording().len(), 2);
    }

    #[test]
    fn the_cycles_that_overran_are_said_beside_the_wakeups_that_were_late() {
        let (threshold_ns, stage) = (Some(1_333_333), Stage::Response);
        let recorder = RecorderSummary { late: 116, kept: 1, threshold_ns, stage, ..RecorderSummary::default() };
        let episodes = vec![EpisodeView { nesting_known: true, ..of_parts(&[(Kind::Irq, "nic", 100)]) }];
        let mut report = WhyReport::new(Path::new("x"), 0, Some(recorder), episodes, false, None, &[]);
        let seen = OverrunCount { least: 15, most: 116, may_be_more: true, cycles: 12_525, ..OverrunCount::default() };
        let mut first_of = |measure: &str, overruns| {
            report.overruns = vec![(measure.to_owned(), overruns)];
            Notes::of(&report).first.concat()
        };
        assert_eq!(
            first_of("sdr deadline", seen),
            "a wakeup is not always a cycle: 15 to 116 or more of 12,525 cycles of sdr (SCHED_DEADLINE) took longer than 1.33 ms, as `punctual \
             report` counts them"
        );
        assert_eq!(
            first_of("sdr deadline", OverrunCount { least: 0, most: 0, unseen: 1, ..seen }),
            "1 wakeup of sdr (SCHED_DEADLINE) was not seen: if it was late, it is missing here"
        );
        let mut first = |overruns| first_of("loop fifo:80", overruns);
        assert_eq!(
            first(seen),
            "a wakeup is not always a cycle: 15 to 116 or more of 12,525 cycles of loop fifo:80 took longer than 1.33 ms, as `punctual \
             report` counts them"
        );
        assert_eq!(first(OverrunCount { least: 116, may_be_more: false, ..seen }), "");
        assert_eq!(first(OverrunCount { least: 0, most: 0, ..seen }), "");
        assert_eq!(
            first(OverrunCount { least: 0, most: 0, unseen: 13, ..seen }),
            "13 wakeups of loop fifo:80 were not seen: those that were late are missing here"
        );
    }

    #[test]
    fn late_wakeups_of_a_thread_that_is_no_loop_are_said_to_be_no_overruns() {
        let text = include_str!("../../../cli/tests/golden/comm.punctual/recording.json");
        let document: Document = serde_json::from_str(text).unwrap();
        let recorder =
            RecorderSummary { late: 3, kept: 3, threshold_ns: Some(1_000_000), ..RecorderSummary::default() };
        let mut episodes: Vec<EpisodeView> =
            (0..3).map(|_| EpisodeView { nesting_known: true, ..of_parts(&[(Kind::Irq, "nic", 100)]) }).collect();
        episodes[1].victim.tid = 15;
        episodes[2].victim.tid = 15;
        let mut report = WhyReport::new(Path::new("x"), 0, Some(recorder), episodes, false, None, &[]);
        let count = CycleCount { left_out: 1, ..CycleCount::default() };
        let mut first = |count, measure: &str| {
            report.take_cycles(&document, [(measure.to_owned(), count)].into());
            Notes::of(&report).first.concat()
        };
        assert_eq!(
            first(count, "rcu_preempt other"),
            "2 of these late wakeups are of rcu_preempt (SCHED_OTHER), which does not wake about once in 1.00 ms: no cycle of a loop overran \
             there, and --thread shows one thread alone"
        );
        // None of these is theirs; and a name of which some thread is a loop.
        assert_eq!(first(count, "ksoftirqd/0 other"), "");
        assert_eq!(first(CycleCount { cycles: 9, ..count }, "rcu_preempt other"), "");
    }

    #[test]
    fn late_requests_are_not_called_wakeups() {
        let recorder = RecorderSummary {
            stage: Stage::Request,
            late: 178,
            kept: 1,
            over_budget: 100,
            writing_behind: 38,
            ..RecorderSummary::default()
        };
        let only = crate::why::OnlyThread { asked: "worker".to_owned(), others: 2, others_void: 0 };
        let episodes = vec![of_parts(&[(Kind::Irq, "nic", 100)])];
        let report = WhyReport::new(Path::new("x"), 0, Some(recorder), episodes, false, None, &[]).of_thread(only);
        let more = Notes::of(&report).more.join("; ");
        for words in
            ["100 of 178 late requests left", "38 of 178 late requests left", "2 late requests of other threads"]
        {
            assert!(more.contains(words), "{words}: {more}");
        }
        assert!(!more.contains("late wakeup"), "{more}");
    }

    #[test]
    fn another_process_of_this_name_is_not_taken_for_the_recording() {
        let told = |who| {
            let view = EpisodeView { nesting_known: true, ..of_parts(&[(Kind::Kernel, who, 100)]) };
            Notes::of(&WhyReport::new(Path::new("x"), 0, None, vec![view], false, None, &[])).more.concat()
        };
        for namesake in ["punctual", "punctual (exc_page_fault)"] {
            assert!(told(namesake).starts_with("punctual is another process of that name, or one"), "{namesake}");
        }
        for other in ["punctual (this recording)", "punctually", "nic"] {
            assert_eq!(told(other), "", "{other}");
        }
    }

    #[test]
    fn a_threshold_that_the_budget_would_have_sufficed_for_is_named() {
        let of = |kept: u64, threshold_ns: u64, loops| {
            let late = |number: u64| EpisodeView { total_ns: number * 100_000, ..of_parts(&[(Kind::Irq, "nic", 1)]) };
            let episodes: Vec<EpisodeView> = (1..=kept).map(late).collect();
            let recorder = RecorderSummary {
                late: 4 * kept,
                kept,
                over_budget: 3 * kept,
                threshold_ns: Some(threshold_ns),
                ..RecorderSummary::default()
            };
            let mut report = WhyReport::new(Path::new("x"), 0, Some(recorder), episodes, false, None, &[]);
            report.loops = loops;
            let named = report.higher_threshold_ns().map(|named_ns| format!("--why {}", as_threshold(named_ns)));
            let said = Notes::of(&report).more.concat();
            assert_eq!(named.is_some(), said.contains("such as --why "), "{said}");
            assert!(said.contains(named.as_deref().unwrap_or_default()), "{said}");
            named
        };
        let named = |kept, threshold_ns| of(kept, threshold_ns, None);
        // A quarter was kept: of 20 from 0.1 to 2.0 ms, five exceed 1.5 ms.
        assert_eq!(named(20, 50_000).as_deref(), Some("--why 1.5ms"));
        assert_eq!(named(40, 50_000).as_deref(), Some("--why 3ms"));
        assert_eq!(named(20, 1_500_000), None, "it was that already");
        assert_eq!(named(9, 50_000), None, "too few");
        assert_eq!(of(20, 50_000, Some(FollowedLoops::RunOn)), None, "a loop");
    }

    #[test]
    fn much_unknown_time_within_a_lock_is_among_the_first_notes() {
        let told = |unknown_ns| {
            let mut view = of_parts(&[(Kind::Lock, "holder", 90), (Kind::Own, "late", 10)]);
            view.split.parts[0].unknown_ns = unknown_ns;
            view.nesting_known = true;
            let notes = Notes::of(&WhyReport::new(Path::new("x"), 0, None, vec![view], false, None, &[]));
            (notes.first.concat(), notes.more.concat())
        };
        let (first, more) = told(30_000_000);
        assert!(
            first.starts_with("another 30.0 ms spent in locks counts as unknown") && more.is_empty(),
            "{first} {more}"
        );
        let (first, more) = told(721);
        assert!(more.starts_with("another 721 ns spent in locks") && first.is_empty(), "{first} {more}");
        assert_eq!(told(0), (String::new(), String::new()));
    }

    #[test]
    fn what_the_recording_itself_took_is_said_where_it_is_much() {
        let said = |direct_ms: u64, inside_ms: u64| {
            let own = "why (this recording)";
            let mut view = of_parts(&[(Kind::Wait, "store", 100 - direct_ms), (Kind::SamePriority, own, direct_ms)]);
            let step = |kind, who: &str, inside: Vec<Inside>| Inside {
                kind,
                who: who.into(),
                ns: inside_ms * 1_000_000,
                inside,
            };
            let end = step(Kind::SamePriority, own, Vec::new());
            view.split.parts[0].inside = vec![step(Kind::Wait, "database", vec![end])];
            Notes::of(&WhyReport::new(Path::new("x"), 0, None, vec![view], false, None, &[])).first
        };
        for (direct, inside, share) in [(6, 4, "10.0 %"), (0, 10, "10.0 %"), (10, 0, "10.0 %"), (2, 3, "5.0 %")] {
            let first = said(direct, inside);
            assert!(
                first.len() == 1
                    && first[0].starts_with(&format!("{share} of the late time is what this recording itself")),
                "{first:?}"
            );
        }
        assert_eq!(said(2, 2), Vec::<String>::new());
    }
}
