//! What ended the sleep before a wakeup, and what a thread does after its work, from a record.

use super::records::{
    RECORD_ENDED, RECORD_WITHIN_WORK, Record, SENT_HERE, WAKER_SOFTIRQ, WAKER_THREAD, WAKER_TIMER, Wake, text,
};
use crate::recorder::requests::{EndedBy, Pause};
use punctual_recording::Softirq;
use punctual_recording::episode::Call;

/// Kernel threads that hand on what comes from outside begin with these.
const SERVING: [&str; 4] = ["kworker/", "ksoftirqd/", "irq/", "rcu"];

/// What ended the sleep before a wakeup.
pub(super) fn ended_by(wake: &Wake) -> EndedBy {
    let softirq = || Softirq::from_code(wake.id & !SENT_HERE);
    match wake.kind {
        WAKER_TIMER => EndedBy::Timer,
        WAKER_SOFTIRQ if wake.id & SENT_HERE != 0 => EndedBy::Sender,
        WAKER_SOFTIRQ if matches!(softirq(), Some(Softirq::Timer | Softirq::Hrtimer)) => EndedBy::Timer,
        WAKER_THREAD => {
            let name = text(&wake.name);
            match SERVING.iter().any(|serving| name.starts_with(serving)) {
                _ if name.starts_with("ktimers/") => EndedBy::Timer,
                true => EndedBy::Outside,
                false => EndedBy::Thread,
            }
        }
        _ => EndedBy::Outside,
    }
}

/// What happens to a thread after a wakeup's work.
pub(super) fn pause(record: &Record) -> Pause {
    match record.flags {
        flags if flags & RECORD_ENDED != 0 => Pause::Ends,
        flags if flags & RECORD_WITHIN_WORK != 0 => Pause::WithinWork,
        _ => Pause::Waits { place: record.place, call: Call::from_code(record.call) },
    }
}
