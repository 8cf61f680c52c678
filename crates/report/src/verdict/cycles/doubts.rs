//! What the wakeups of loops do not show: a sentence for each kind of doubt.

use crate::layout::counted;
use punctual_recording::{CycleCount, Unslept, agreeing, format_ns};

/// The sentence about threads that mostly did not sleep between cycles, with a space before; empty if there are none.
pub(super) fn starved(rows: &[(&str, &CycleCount)]) -> String {
    match rows.iter().map(|(_, count)| count.starved).sum::<u64>() {
        0 => String::new(),
        starved => format!(
            " Fewer than half of the periods of {} began with a wakeup: cycles between which {} not sleep cannot be told apart, and count as one.",
            counted(starved, "thread"),
            agreeing(starved, "it does", "they do")
        ),
    }
}

/// The sentence about threads that were seen in fewer than half of their periods, with a space before; empty if there are none.
pub(super) fn rare(rows: &[(&str, &CycleCount)]) -> String {
    match rows.iter().map(|(_, count)| count.rare_periods).sum::<u64>() {
        0 => String::new(),
        periods => format!(
            " Fewer than half of about {} began with a wakeup, and nothing shows what the thread did in the others: it does not sleep \
             where it yields a deadline reservation, and one wakeup may be for several cycles.",
            counted(periods, "period")
        ),
    }
}

/// The sentence about wakeups that may be within a cycle, with a space before; empty if there are none.
pub(super) fn waits(rows: &[(&str, &CycleCount)]) -> String {
    match rows.iter().map(|(_, count)| count.waits).sum::<u64>() {
        0 => String::new(),
        waits => {
            let longest_ns = rows.iter().map(|(_, count)| count.longest_waited_ns).max().unwrap_or(0);
            format!(
                " {} came at other times or from others than usual: they begin cycles of their own, or end waits within cycles that then took up to {}.",
                counted(waits, "wakeup"),
                format_ns(longest_ns)
            )
        }
    }
}

/// The sentences about overruns of cycles in which the thread slept, with a space before; empty if there are none.
pub(super) fn slept(rows: &[(&str, &CycleCount)]) -> String {
    // Those that certainly took too long, but of which no single wakeup shows it, although each unseen wakeup were within another one.
    let waited = |count: &CycleCount| {
        let others = [count.unseen, count.ending, count.paused, count.slept, count.spun, count.certain];
        others.into_iter().fold(count.overruns, u64::saturating_sub)
    };
    let sum = |of: &dyn Fn(&CycleCount) -> u64| rows.iter().map(|(_, count)| of(count)).sum::<u64>();
    let (waited, slept) = (sum(&waited), sum(&|count| count.slept));
    let within = match waited {
        0 => String::new(),
        waited => format!(
            " In {} the thread slept within its cycle: for something, such as a lock, or in a control group that was frozen, which looks the same.",
            counted(waited, "overrun")
        ),
    };
    let maybe = match slept {
        0 => String::new(),
        slept => format!(
            " {} {} not certain: the thread slept in {}, within its cycle, as for a lock, or after it, until something other than its next \
             cycle woke it, such as a message.",
            counted(slept, "overrun"),
            agreeing(slept, "is", "are"),
            agreeing(slept, "it", "each")
        ),
    };
    let which = if waited + slept > 0 { " If it was recorded with --why, `punctual why` says which." } else { "" };
    format!("{within}{maybe}{which}")
}

/// The sentence about threads that one timer wakes, with a space before; empty if there are none.
pub(super) fn sharing(rows: &[(&str, &CycleCount)]) -> String {
    match rows.iter().map(|(_, count)| count.sharing).sum::<u64>() {
        0 => String::new(),
        sharing => format!(
            " The timers of {} were due at the same times and are taken for one that they share: each time counts as one cycle.",
            counted(sharing, "thread")
        ),
    }
}

/// The sentence about overruns that are none of a loop that waits on its CPU, with a space before; empty if there are none.
pub(super) fn spun(rows: &[(&str, &CycleCount)]) -> String {
    match rows.iter().map(|(_, count)| count.spun).sum::<u64>() {
        0 => String::new(),
        spun => format!(
            " {} {} not certain: {} ended as long after a period began as usual cycles do, and {} in time if the loop wakes early and waits on \
             its CPU until a cycle is due.",
            counted(spun, "overrun"),
            agreeing(spun, "is", "are"),
            agreeing(spun, "it", "they"),
            agreeing(spun, "was", "were")
        ),
    }
}

/// The sentence about sleeps that are so long that they may be pauses between cycles, with a space before; empty if there are none.
pub(super) fn paused(rows: &[(&str, &CycleCount)]) -> String {
    match rows.iter().map(|(_, count)| count.longest_paused_ns).max() {
        None | Some(0) => String::new(),
        Some(longest_ns) => {
            let periods = rows.iter().map(|(_, count)| count.paused_periods).sum::<u64>();
            format!(
                " {} began in sleeps of more than two periods: pauses between cycles, or part of cycles that then took up to {}.",
                counted(periods, "period"),
                format_ns(longest_ns)
            )
        }
    }
}

/// The sentence about cycles that were due while their thread was held, with a space before; empty if there are none.
pub(super) fn held(rows: &[(&str, &CycleCount)]) -> String {
    match rows.iter().map(|(_, count)| count.held).sum::<u64>() {
        0 => String::new(),
        held => format!(
            " {} {} due while the sleeping thread was stopped, frozen or kept from every CPU.",
            counted(held, "cycle"),
            agreeing(held, "was", "were")
        ),
    }
}

/// The sentences about threads that were not seen to do their cycles in the last periods of the recording, in its first, or while only signals woke them, with a
/// space before; empty if there are none.
pub(super) fn partly_seen(rows: &[(&str, &CycleCount)], period_ns: u64) -> String {
    let most = |of: fn(&CycleCount) -> u64| rows.iter().map(|(_, count)| of(count)).max().filter(|ns| *ns > 0);
    // The answer has begun with a loop that may have hung.
    let is_said = rows.iter().any(|(_, count)| count.may_have_hung(period_ns));
    let first = most(|count| count.late_seen_ns).map_or_else(String::new, |ns| {
        format!(
            " The first wakeup that was seen came {} after the recording had begun: a cycle may have gone on until then, unless the loop did nothing.",
            format_ns(ns)
        )
    });
    let last = most(|count| count.silent_ns).filter(|_| !is_said).map_or_else(String::new, |ns| {
        format!(
            " The last cycle that was seen to begin was due {} before its thread or the recording ended, and the loop was not seen to go on after it: it may not \
             have ended by then, or the next have been kept from its CPU, unless the loop had stopped.",
            format_ns(ns)
        )
    });
    let signalled = most(|count| count.signalled_ns).map_or_else(String::new, |ns| {
        format!(
            " For up to {} only timers that send signals woke a thread that otherwise waits for its next cycle: their handlers may have run while a cycle went on."
            , format_ns(ns)
        )
    });
    first + &last + &signalled
}

/// The sentence about threads that never slept, with a space before; empty if there are none.
pub(super) fn unslept(unslept: Unslept) -> String {
    let Unslept { threads, longest_executed_ns } = unslept;
    match threads {
        0 => String::new(),
        _ => format!(
            " {} began meanwhile and ended without ever sleeping, after up to {} on a CPU: if the loop starts one for each of its jobs, the \
             cycles are only of what starts them.",
            counted(threads, "thread"),
            format_ns(longest_executed_ns)
        ),
    }
}
