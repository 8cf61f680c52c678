//! An event to write others down with in tests.

use punctual_recording::episode::{Event, EventKind};

/// What an event is unless a test says otherwise: thread 1's, which has the usual priority, on CPU 0.
pub(super) const EVENT: Event = Event {
    at_ns: 0,
    cpu: 0,
    kind: EventKind::Switch,
    tid: 1,
    priority: 120,
    context: 0,
    steal_ns: 0,
    value: 0,
    extra: 0,
    name: 0,
};
