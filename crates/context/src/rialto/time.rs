//! Whose the time is, and the clock that says so at each edge.

use punctual_kernel::bpf::LoadedObject;
use punctual_kernel::{Refused, clock, hold};
use punctual_rialto::Table;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often the clock looks for a change that nobody told it about, ns.
const LOOK_NS: u64 = 50_000_000;

/// What both threads of a scheduler share.
pub(super) struct Time {
    /// Slots are counted from here, ns of the monotonic clock.
    start_ns: u64,
    table: Mutex<Table>,
    changed: Condvar,
    is_over: AtomicBool,
    latest_ns: AtomicU64,
}

impl Time {
    pub(super) fn new() -> Time {
        Time {
            start_ns: clock::monotonic_ns(),
            table: Mutex::new(Table::default()),
            changed: Condvar::new(),
            is_over: AtomicBool::new(false),
            latest_ns: AtomicU64::new(0),
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What holds now. It is used for computing, and put back, outside the lock: the clock waits for nobody who computes.
    pub(super) fn current(&self) -> Table {
        self.table().clone()
    }

    /// From now on this holds.
    pub(super) fn set(&self, table: Table) {
        let before = std::mem::replace(&mut *self.table(), table);
        self.changed.notify_one();
        drop(before);
    }

    /// Now, in ns since the beginning.
    pub(super) fn now_ns(&self) -> u64 {
        clock::monotonic_ns() - self.start_ns
    }

    /// Converts a time of the monotonic clock to one since the beginning.
    pub(super) fn since_start(&self, monotonic_ns: u64) -> u64 {
        monotonic_ns.saturating_sub(self.start_ns)
    }

    /// How late the clock was at an edge, at most, ns.
    pub(super) fn latest_ns(&self) -> u64 {
        self.latest_ns.load(Ordering::Relaxed)
    }

    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.changed.notify_one();
    }

    /// Says at each edge whose the time is, until it is over.
    pub(super) fn keep(&self, object: &LoadedObject) {
        hold::touch_stack();
        let (mut owner, mut due) = (0, None::<u64>);
        let mut table = self.table();
        while !self.is_over.load(Ordering::Relaxed) {
            let now = self.now_ns();
            let next = table.owner_at(now);
            if next != owner && say(object, next).is_ok() {
                owner = next;
            }
            // An edge that the clock waited for; one that came with a change was not.
            if let Some(late) = due.and_then(|due| now.checked_sub(due)) {
                self.latest_ns.fetch_max(late, Ordering::Relaxed);
            }
            due = table.next_edge(now);
            let wait = due.map_or(LOOK_NS, |due| due.saturating_sub(self.now_ns())).min(LOOK_NS);
            let waited = self.changed.wait_timeout(table, Duration::from_nanos(wait));
            table = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

fn say(object: &LoadedObject, owner: u8) -> Result<(), Refused> {
    let mut edge = [0u8; 8];
    edge[..4].copy_from_slice(&u32::from(owner).to_ne_bytes());
    object.call("rialto_edge", &mut edge)
}
