//! Every interrupt handler, softirq and callback of a run against limits, whether or not a wakeup was late.
//!
//! The limits are those of the PC 99 System Design Guide, as soft-modem-2000 (9.1) gives them: no driver disables
//! interrupts for more than 100 us, and no more than 500 us of deferred work is queued and not yet executed.

use crate::layout::{microseconds, table};
use crate::verdict::why::handlers_verdict;
use punctual_recording::{HandlerSum, printable_path};
use std::fmt::Write;
use std::path::Path;

/// The longest time for which interrupts may be off, ns.
pub const INTERRUPT_LIMIT_NS: u64 = 100_000;
/// The most softirq work that may be queued at once, ns.
pub const QUEUE_LIMIT_NS: u64 = 500_000;

/// The limit for a kind; callbacks count with the softirq that they run in.
pub(super) fn limit(kind: &str) -> Option<u64> {
    match kind {
        "irq" | "handler" | "timer_irq" => Some(INTERRUPT_LIMIT_NS),
        "softirq_queue" | "softirq" | "callback" | "tasklet" | "timer_softirq" => Some(QUEUE_LIMIT_NS),
        _ => None,
    }
}

pub(super) fn is_over(sum: &HandlerSum) -> bool {
    limit(&sum.kind).is_some_and(|limit| sum.longest_ns > limit)
}

pub(super) fn verdict(sums: &[HandlerSum]) -> String {
    handlers_verdict(sums, sums.iter().filter(|sum| is_over(sum)).count())
}

/// The sums as text.
pub fn text(recording: &Path, sums: &[HandlerSum]) -> String {
    let mut text = format!("{}\n", verdict(sums));
    let rows = sums.iter().map(|sum| {
        vec![
            sum.kind.clone(),
            sum.name.clone(),
            sum.count.to_string(),
            microseconds(sum.total_ns.checked_div(sum.count)),
            microseconds(Some(sum.longest_ns)),
            microseconds(Some(sum.total_ns)),
            limit(&sum.kind).map_or_else(|| "-".to_owned(), |limit| (limit / 1_000).to_string()),
            if is_over(sum) { "over".to_owned() } else { String::new() },
        ]
    });
    let header = ["kind", "name", "count", "mean us", "longest us", "total us", "limit us", ""];
    let _ = writeln!(text, "\n{}", table(&header, 2..7, rows));
    text.push_str(
        "(times include what interrupted them, and time that the host took; softirq_queue: what softirqs ran from when \
         none was waiting until none was waiting again, the most that can have been queued at once)\n",
    );
    let _ = writeln!(text, "\nrecording: {}", printable_path(recording));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_breaks_a_limit_is_said() {
        let sum = |kind: &str, longest_ns| HandlerSum {
            kind: kind.into(),
            name: "x".into(),
            count: 1,
            total_ns: longest_ns,
            longest_ns,
            longest_at_ns: 1,
        };
        let sums = [sum("softirq", 400_000), sum("irq", 100_001)];
        let answer = crate::why::HandlersAnswer::new(Path::new("a"), &sums, None);
        let answer = crate::answer::value(&answer);
        assert_eq!((&answer["handlers"][0]["over"], &answer["handlers"][1]["over"]), (&false.into(), &true.into()));
        assert!(text(Path::new("a"), &sums).starts_with("1 of 2 handlers"));
    }
}
