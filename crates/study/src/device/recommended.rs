//! What the study recommends, of what it saw.

use super::group::Group;
use punctual_device::MAX_USED;

/// What a run showed of its context.
pub(super) struct Seen<'a> {
    /// Which part of the study it is of.
    pub(super) group: Group,
    /// The context.
    pub(super) context: &'a str,
    /// Whether the device kept up; `None` if that cannot be judged.
    pub(super) holds: Option<bool>,
    /// The share of the bystander's callbacks that were away from their period.
    pub(super) off: f64,
    /// The share of its time or budget that the device used at worst.
    pub(super) used: Option<f64>,
}

/// Whether the context failed in any run, in whatever part of the study: some settings are in two. Those that only process
/// the newest block are other devices.
fn has_failed(context: &str, seen: &[Seen<'_>]) -> bool {
    let failed = |run: &Seen<'_>| run.group != Group::Slots && run.context == context && run.holds == Some(false);
    seen.iter().any(failed)
}

/// The lowest thread that keeps up beside a spinning competitor.
pub(super) fn lowest_sufficient(seen: &[Seen<'_>]) -> Option<String> {
    let mut threads = seen.iter().filter(|run| run.group == Group::Priorities && run.holds == Some(true));
    threads.find(|run| !has_failed(run.context, seen)).map(|run| run.context.to_owned())
}

/// A context in all of its runs.
struct Tried<'a> {
    context: &'a str,
    keeps: bool,
    off: f64,
    used: f64,
}

/// The context that keeps up beside every competitor and whose bystander is off its period least: of those with room to
/// spare, and where none has any, the one with the most. The runs are short, and whatever kept up only just in them fails
/// in longer ones.
pub(super) fn least_intrusive(seen: &[Seen<'_>]) -> Option<String> {
    let mut contexts: Vec<Tried<'_>> = Vec::new();
    for run in seen.iter().filter(|run| run.group == Group::Contexts) {
        let keeps = run.holds == Some(true) && !has_failed(run.context, seen);
        let used = run.used.unwrap_or(f64::INFINITY);
        match contexts.iter_mut().find(|tried| tried.context == run.context) {
            Some(tried) => {
                tried.keeps &= keeps;
                tried.off += run.off;
                tried.used = tried.used.max(used);
            }
            None => contexts.push(Tried { context: run.context, keeps, off: run.off, used }),
        }
    }
    contexts.retain(|tried| tried.keeps);
    let (roomy, close): (Vec<_>, Vec<_>) = contexts.into_iter().partition(|tried| tried.used <= MAX_USED);
    let least = roomy.into_iter().min_by(|left, right| left.off.total_cmp(&right.off));
    let roomiest = || close.into_iter().min_by(|left, right| left.used.total_cmp(&right.used));
    least.or_else(roomiest).map(|tried| tried.context.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_that_fails_anywhere_is_not_recommended() {
        const RESERVED: &str = "reservation:246us/640us";
        let seen = |group, context, holds, off| Seen { group, context, holds, off, used: Some(0.5) };
        let mut runs = vec![
            seen(Group::Contexts, RESERVED, Some(true), 0.0),
            seen(Group::Contexts, "thread:fifo:80", Some(true), 0.5),
            seen(Group::Priorities, "thread:fifo:50", Some(true), 0.2),
            seen(Group::Priorities, "thread:fifo:80", Some(true), 0.2),
            seen(Group::Competing, RESERVED, Some(true), 0.0),
            seen(Group::Slots, RESERVED, Some(false), 0.0),
        ];
        let found = |runs: &[Seen<'_>]| (least_intrusive(runs), lowest_sufficient(runs));
        assert_eq!(found(&runs), (Some(RESERVED.to_owned()), Some("thread:fifo:50".to_owned())));
        // The same setup fails where it was run again; what could not be judged there is no failure.
        runs[4].holds = None;
        assert_eq!(found(&runs).0.as_deref(), Some(RESERVED));
        runs[4].holds = Some(false);
        assert_eq!(found(&runs).0.as_deref(), Some("thread:fifo:80"));
        runs.push(seen(Group::Contexts, "thread:fifo:50", Some(false), 0.1));
        assert_eq!(found(&runs).1.as_deref(), Some("thread:fifo:80"));
        runs.push(seen(Group::Contexts, "thread:fifo:80", Some(false), 0.1));
        assert_eq!(found(&runs), (None, None));
    }

    #[test]
    fn room_to_spare_comes_before_who_disturbs_others_least() {
        let seen = |context, off, used| Seen { group: Group::Contexts, context, holds: Some(true), off, used };
        let mut runs =
            vec![seen("softirq", 0.1, Some(0.9)), seen("thread:fifo:80", 0.2, Some(0.4)), seen("irq", 0.3, Some(0.2))];
        assert_eq!(least_intrusive(&runs).as_deref(), Some("thread:fifo:80"));
        // One run that was close is enough.
        runs.push(seen("thread:fifo:80", 0.0, Some(0.8)));
        assert_eq!(least_intrusive(&runs).as_deref(), Some("irq"));
        runs.push(seen("irq", 0.0, Some(0.95)));
        assert_eq!(least_intrusive(&runs).as_deref(), Some("thread:fifo:80"));
        // What is not known is no room.
        assert_eq!(least_intrusive(&[seen("irq", 0.0, None), runs.swap_remove(0)]).as_deref(), Some("softirq"));
    }
}
