//! How many cycles of followed loops took too long on either side.

use crate::blocks::Run;
use crate::differences::Difference;
use punctual_recording::{CycleCount, format_ns, grouped};
use std::collections::BTreeMap;

/// The most loops that have a row: a program may have any number of threads.
const MAX_LOOPS: usize = 8;

/// Cycles by the name of their threads.
type Named = BTreeMap<String, CycleCount>;

/// The loops whose cycles took longer than the period that both sides were recorded with.
pub(crate) fn overruns(a: &[Run], b: &[Run]) -> Vec<Difference> {
    match (period(a), period(b)) {
        (Some(period_ns), Some(other_ns)) if period_ns == other_ns => rows(period_ns, &named(a), &named(b)),
        _ => Vec::new(),
    }
}

/// The period of all of a side's runs, ns.
fn period(runs: &[Run]) -> Option<u64> {
    let mut periods = runs.iter().map(|run| run.document.followed.as_ref()?.period_ns);
    let first = periods.next()??;
    periods.all(|other| other == Some(first)).then_some(first)
}

fn named(runs: &[Run]) -> Named {
    let mut named = Named::new();
    for (measure, count) in runs.iter().flat_map(|run| &run.cycles) {
        named.entry(name_of(measure).to_owned()).or_default().add(count);
    }
    named
}

/// The name before policy and priority, because these may be what was changed.
pub(crate) fn name_of(measure: &str) -> &str {
    measure.rsplit_once(' ').map_or(measure, |(name, _)| name)
}

fn rows(period_ns: u64, a: &Named, b: &Named) -> Vec<Difference> {
    let row = |(name, a): (&String, &CycleCount)| {
        let b = b.get(name)?;
        (a.overruns + b.overruns > 0).then(|| Difference {
            area: "cycles",
            what: format!("of {name} longer than {}", format_ns(period_ns)),
            a: Some(words(a)),
            b: Some(words(b)),
        })
    };
    a.iter().filter_map(row).take(MAX_LOOPS).collect()
}

/// How many took too long, and out of how many; the fewest and the most, if some wakeups were not seen.
fn words(count: &CycleCount) -> String {
    let (least, most) = (count.least_overruns(), count.overruns);
    match (count.cycles, least < most) {
        (0, _) => "not countable".to_owned(),
        (all, true) => format!("{} to {} of {}", grouped(least), grouped(most), grouped(all)),
        (all, false) => format!("{} of {}", grouped(most), grouped(all)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overruns_of_a_loop_stand_side_by_side_whatever_its_policy() {
        let count = |overruns, certain, unseen| CycleCount {
            cycles: 20_000,
            overruns,
            certain,
            unseen,
            ..CycleCount::default()
        };
        let side = |measure: &str, count| Named::from([(name_of(measure).to_owned(), count)]);
        let before = side("robot-ctl other", count(4_969, 4_969, 0));
        let after = side("robot-ctl fifo:60", count(3, 1, 2));
        let found = rows(1_000_000, &before, &after);
        let [row] = &found[..] else { panic!("{found:?}") };
        assert_eq!((row.area, row.what.as_str()), ("cycles", "of robot-ctl longer than 1.00 ms"));
        assert_eq!((row.a.as_deref(), row.b.as_deref()), (Some("4,969 of 20,000"), Some("1 to 3 of 20,000")));
        // If none took too long, if it cannot be told, and for a loop that only one side has.
        assert_eq!(rows(1_000_000, &side("a other", count(0, 0, 0)), &side("a other", count(0, 0, 0))), []);
        let untold = side("robot-ctl other", CycleCount { untold: 1, ..CycleCount::default() });
        assert_eq!(rows(1_000_000, &before, &untold)[0].b.as_deref(), Some("not countable"));
        assert_eq!(rows(1_000_000, &before, &side("b other", count(9, 9, 0))), []);
    }
}
