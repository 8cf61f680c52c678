//! Loops that woke in too few of their periods for a forecast, because they were kept from the CPU or worked for too long.

use crate::Error;
use crate::loops::periods_of;
use punctual_recording::{CycleCount, Document, Task, format_ns, spoken_measure};
use std::collections::BTreeMap;

/// A thread that wakes in fewer of a hundred periods than this is no loop with that period, or is starved.
const TOO_FEW_PERCENT: u128 = 50;

/// From this many of a hundred cycles on overruns are no exception.
const OFTEN_PERCENT: u128 = 10;

/// Why there is no forecast of a recording none of whose threads wakes about once in this period, ns, where their cycles
/// say so: a loop whose cycles often took longer than the period does not wake in the next ones. `None` where no cycles
/// show that.
pub fn starved(document: &Document, period_ns: u64, cycles: &BTreeMap<String, CycleCount>) -> Option<Error> {
    let found = cycles.iter().filter_map(|(measure, count)| {
        let own = document.tasks.iter().filter(|task| task.measure == *measure && task.counters.wakeups > 0);
        let seen = |task: &Task| u128::from(task.counters.wakeups.saturating_add(task.counters.unobserved));
        let periods = |task: &Task| u128::from(periods_of(document, task, period_ns));
        let (due, woken) = own.fold((0_u128, 0_u128), |(due, woken), task| (due + periods(task), woken + seen(task)));
        let percent = woken.saturating_mul(100).checked_div(due)?;
        let is_often = u128::from(count.certain) * 100 >= u128::from(count.cycles) * OFTEN_PERCENT;
        (count.certain > 0 && is_often && percent < TOO_FEW_PERCENT).then_some((measure, count, percent))
    });
    let (measure, count, percent) = found.max_by_key(|(_, count, _)| count.certain)?;
    Some(Error::Recording(format!(
        "{} of {} took longer than {}, and it woke in only {percent} % of its periods: if that is its period (--period), it is \
         kept from the CPU or works for too long, and fails whatever is wanted; `punctual report` counts its overruns, and `punctual why` says what delays it",
        count.overrun_count().of_cycles_in_words(),
        spoken_measure(measure),
        format_ns(period_ns),
    )))
}
