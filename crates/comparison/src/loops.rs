//! How often the followed loops of one run were too late.

use crate::blocks::Run;
use crate::events::{EventCount, OfRun};
use punctual_recording::{CycleCount, OverrunCount, agreeing, counted, format_ns, printable};
use std::collections::BTreeSet;

/// The name before policy and priority, because these may be what was changed.
pub(crate) fn name_of(measure: &str) -> &str {
    measure.rsplit_once(' ').map_or(measure, |(name, _)| name)
}

/// The names of the loops of any run.
pub(crate) fn names(runs: &[Run]) -> BTreeSet<&str> {
    runs.iter().flat_map(|run| run.cycles.keys()).map(|measure| name_of(measure)).collect()
}

/// Whether every run shows how many periods the loops of this name had.
pub(crate) fn have_periods(runs: &[Run], name: &str) -> bool {
    runs.iter().all(|run| sum(run, name).overrun_periods().is_some())
}

/// The periods that the loops of this name overran; nothing where these are not known.
pub(crate) fn periods(run: &Run, name: &str) -> OfRun {
    let sum = sum(run, name);
    let count = sum.overrun_periods().map(|found| EventCount {
        events: found.most,
        least: found.least,
        may_be_more: found.may_be_more,
        // No period is hidden: one without a wakeup began within a cycle, or its wakeup was not seen. That the number of wakeups not
        // seen is that of such periods is an assumption: some of these may have come within a cycle. Only those that went by while
        // a thread was not seen to do its cycles at all, as at either end of the recording, are in no count.
        hidden: (sum.without_sleep == 0 && !sum.is_partly_seen()).then_some(0),
        without_sleep: sum.without_sleep,
        exposure: found.all,
        ..EventCount::default()
    });
    OfRun { count: count.unwrap_or_default(), in_time: in_time(run, name) }
}

/// The cycles of the loops of this name that took too long.
pub(crate) fn cycles(run: &Run, name: &str) -> OfRun {
    let sum = sum(run, name);
    let OverrunCount { least, most, may_be_more, cycles, may_be_more_cycles, .. } = sum.overrun_count();
    let hidden = sum.hidden_overruns();
    let count = EventCount {
        events: most,
        least,
        may_be_more,
        hidden,
        without_sleep: sum.without_sleep,
        exposure: cycles,
        may_be_more_exposure: may_be_more_cycles,
        ..EventCount::default()
    };
    OfRun { count, in_time: in_time(run, name) }
}

/// The same of a run with whether the loops of this name may have hung at its end.
pub(crate) fn with_hang(of_run: OfRun, run: &Run, name: &str, period_ns: u64) -> OfRun {
    let sum = sum(run, name);
    if !sum.may_have_hung(period_ns) {
        return of_run;
    }
    OfRun { count: EventCount { hung_runs: 1, longest_hung_ns: sum.silent_ns, ..of_run.count }, ..of_run }
}

/// Why nothing limits how often a loop of this name was too late on a side: what it did is in no count.
pub(crate) fn notes_on_unseen(label: &str, runs: &[Run], name: &str) -> Vec<String> {
    let counts: Vec<CycleCount> = runs.iter().map(|run| sum(run, name)).collect();
    let some = |of: fn(&CycleCount) -> u64| {
        let found: Vec<u64> = counts.iter().map(of).filter(|value| *value > 0).collect();
        found.iter().max().map(|most| (counted(found.len() as u64, "run"), *most))
    };
    let name = printable(name);
    let silent = some(|count| count.silent_ns).map(|(runs, most_ns)| {
        format!(
            "{name} was not seen to go on at the end of {runs}, for up to {}: it may have hung or been kept from its CPU, and have been too late \
             more often than was counted",
            format_ns(most_ns)
        )
    });
    let late_seen = some(|count| count.late_seen_ns).map(|(runs, most_ns)| {
        format!(
            "{name} was first seen to begin a cycle up to {} after {runs} had begun: until then it may have been too late more often than was counted",
            format_ns(most_ns)
        )
    });
    let signalled = some(|count| count.signalled_ns).map(|(runs, most_ns)| {
        format!(
            "for up to {}, in {runs}, only timers that send signals woke {name}, which otherwise waits for its next cycle: their handlers may have run while a \
             cycle went on, and it may have been too late more often than was counted",
            format_ns(most_ns)
        )
    });
    let threads = counts.iter().fold(0_u64, |threads, count| threads.saturating_add(count.without_sleep));
    let unslept = (threads > 0).then(|| {
        format!(
            "{} began and ended without ever sleeping: if {name} starts {} for its jobs, these may have been too late more often than was counted",
            counted(threads, "thread"),
            agreeing(threads, "it", "them")
        )
    });
    [silent, late_seen, signalled, unslept].into_iter().flatten().map(|note| format!("{label}: {note}")).collect()
}

fn sum(run: &Run, name: &str) -> CycleCount {
    let mut sum = CycleCount::default();
    run.cycles.iter().filter(|(measure, _)| name_of(measure) == name).for_each(|(_, count)| sum.add(count));
    sum
}

/// How many periods their long wakeups took, by stretches of the run.
fn in_time(run: &Run, name: &str) -> Vec<f64> {
    let mut in_time: Vec<f64> = Vec::new();
    for (_, long) in run.long_responses.iter().filter(|(measure, _)| name_of(measure) == name) {
        in_time.resize(long.counts().len(), 0.0);
        in_time.iter_mut().zip(long.counts()).for_each(|(sum, count)| *sum += count);
    }
    in_time
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::counts;
    use crate::counts::tests::of_loop;
    use crate::verdict::Outcome;

    /// Three runs of a loop that overran so often, where it may have started as many threads that never slept.
    fn runs(overruns: u64, without_sleep: u64, has_periods: bool) -> Vec<Run> {
        let mut runs = of_loop("robot-ctl other", overruns);
        for count in runs.iter_mut().flat_map(|run| run.cycles.values_mut()) {
            count.without_sleep = without_sleep;
            if has_periods {
                (count.periods, count.on_grid) = (count.cycles, count.cycles);
            }
        }
        runs
    }

    #[test]
    fn a_loop_that_fell_silent_may_have_taken_too_long_in_that_run() {
        for has_periods in [false, true] {
            let of = |a: u64, b: u64, silent_ns: u64| {
                let mut hung = runs(b, 0, has_periods);
                // In one run of three: it hung, or was kept from its CPU, until the recording ended.
                hung[2].cycles.values_mut().for_each(|count| count.silent_ns = silent_ns);
                let found = counts(&runs(a, 0, has_periods), &hung, false, 0.95);
                let [row] = &found[..] else { panic!("{found:?}") };
                assert_eq!((row.a.hung_runs, row.b.longest_hung_ns), (0, silent_ns * row.b.hung_runs));
                (row.outcome, row.b.may_be_more, row.b.at_most().is_none(), row.b.hung_runs)
            };
            assert_eq!(of(969, 3, 0), (Outcome::Better, false, false, 0), "{has_periods}");
            assert_eq!(of(969, 3, 3_000_000_000), (Outcome::NoDifference, true, true, 1), "{has_periods}");
            assert_eq!(of(3, 969, 3_000_000_000), (Outcome::Worse, true, true, 1), "{has_periods}");
        }
    }

    #[test]
    fn why_there_may_have_been_more_is_said_of_the_side_on_which_that_is_so() {
        let mut hung = runs(3, 0, true);
        assert_eq!(notes_on_unseen("B", &hung, "robot-ctl"), [""; 0]);
        let mut ends = [(0, 0), (2_000_000_000, 0), (3_000_000_000, 40_000_000)].into_iter();
        for count in hung.iter_mut().flat_map(|run| run.cycles.values_mut()) {
            (count.silent_ns, count.late_seen_ns) = ends.next().unwrap();
        }
        let found = notes_on_unseen("B", &hung, "robot-ctl");
        assert_eq!(
            found,
            [
                "B: robot-ctl was not seen to go on at the end of 2 runs, for up to 3.00 s: it may have hung or been kept from its CPU, and have \
                 been too late more often than was counted",
                "B: robot-ctl was first seen to begin a cycle up to 40.0 ms after 1 run had begun: until then it may have been too late more often than \
                 was counted"
            ]
        );
        let mut signalled = runs(3, 0, true);
        signalled[1].cycles.values_mut().for_each(|count| count.signalled_ns = 2_160_000_000);
        assert_eq!(
            notes_on_unseen("B", &signalled, "robot-ctl"),
            [
                "B: for up to 2.16 s, in 1 run, only timers that send signals woke robot-ctl, which otherwise waits for its next cycle: their handlers may \
                 have run while a cycle went on, and it may have been too late more often than was counted"
            ]
        );
        let [unslept] = &notes_on_unseen("A", &runs(3, 800, true), "robot-ctl")[..] else { panic!() };
        assert!(unslept.starts_with("A: 2,400 threads began and ended without ever sleeping"), "{unslept}");
        assert_eq!(notes_on_unseen("B", &hung, "other"), [""; 0]);
    }

    #[test]
    fn what_threads_did_that_never_slept_may_have_taken_too_long_on_either_side() {
        for has_periods in [false, true] {
            let of = |a: u64, b: u64, without_sleep: u64| {
                let found = counts(&runs(a, 0, has_periods), &runs(b, without_sleep, has_periods), false, 0.95);
                let [row] = &found[..] else { panic!("{found:?}") };
                row.clone()
            };
            let none = of(0, 0, 800);
            assert_eq!((none.a.may_be_more, none.b.may_be_more), (false, true), "{none:?}");
            assert_eq!((none.a.without_sleep, none.b.without_sleep), (0, 2_400));
            assert_eq!((none.a.at_most(), none.b.at_most()), (Some(0), None));
            // Far fewer by what was seen is no verdict.
            assert_eq!(of(969, 3, 0).outcome, Outcome::Better, "{has_periods}");
            assert_eq!(of(969, 3, 1).outcome, Outcome::NoDifference, "{has_periods}");
            // Far more is one, whatever else there was.
            assert_eq!(of(3, 969, 1).outcome, Outcome::Worse, "{has_periods}");
        }
    }
}
