//! Evidence of a wakeup that was late because another thread had its CPU.

use punctual_recording::Episode;
use punctual_recording::episode::{Event, EventKind, Victim};

/// An episode in which a thread of this name had the CPU for all of the lateness but 1 us.
pub(crate) fn preempted(id: u64, expected_ns: u64, who: &str) -> Episode {
    let event = |after_ns: i64, kind, tid, value, name| Event {
        at_ns: expected_ns.saturating_add_signed(after_ns),
        cpu: 0,
        kind,
        tid,
        priority: 19,
        context: 0,
        steal_ns: 0,
        value,
        extra: 20,
        name,
    };
    let victim = Victim { tid: 7, name: "measure-0".into(), priority: 19, cpu: 0 };
    Episode {
        id,
        threshold_ns: 100_000,
        usual_delivery_ns: 2_000,
        names: vec!["measure-0".into(), who.into()],
        events: vec![
            event(-1_000_000, EventKind::Switch, 7, 9, 1),
            event(5_000, EventKind::Waking, 9, 7, 1),
            event(399_000, EventKind::Switch, 9, 7, 0),
        ],
        ..Episode::of(victim, expected_ns, expected_ns + 400_000)
    }
}
