//! What the processes of a scene share: when to begin and end, the log of the truth, locks and words.

use super::system::{self, Memory, now};
use std::cell::UnsafeCell;
use std::io::Write;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

const ENTRIES: usize = 1 << 16;

/// Something that lasted.
#[repr(C)]
#[derive(Clone, Copy)]
struct Entry {
    start: u64,
    /// For a wait: when the thread had come to run and could wait for somebody.
    ran: u64,
    end: u64,
    tid: u32,
    name: [u8; 16],
}

#[repr(C)]
struct Log {
    count: AtomicUsize,
    entries: [UnsafeCell<Entry>; ENTRIES],
}

impl Log {
    fn push(&self, (start, ran, end): (u64, u64, u64), tid: u32, name: &str) {
        let place = self.count.fetch_add(1, Ordering::Relaxed);
        if place < ENTRIES {
            let mut bytes = [0; 16];
            let length = name.len().min(15);
            bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
            // SAFETY: the place is this caller's alone; it is read when all writers have ended.
            unsafe { *self.entries[place].get() = Entry { start, ran, end, tid, name: bytes } };
        }
    }

    fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed).min(ENTRIES)
    }

    fn all(&self) -> impl Iterator<Item = Entry> {
        // SAFETY: the writers have ended.
        self.entries[..self.len()].iter().map(|entry| unsafe { *entry.get() })
    }
}

const PREPARING: u32 = 0;
const GOING: u32 = 1;
const ENDING: u32 = 2;

/// Lives in memory that forked processes share; begins as zeroes.
#[repr(C)]
pub(crate) struct Board {
    state: AtomicU32,
    ready: AtomicU32,
    finished: AtomicU32,
    injections: Log,
    waits: Log,
    refused: AtomicU32,
    reason: UnsafeCell<[u8; 256]>,
    /// Words for futexes, and for signs between the roles.
    pub(crate) words: [AtomicU32; 32],
    /// Times and numbers.
    pub(crate) cells: [AtomicU64; 32],
    /// Room for the C library's locks.
    pub(crate) rooms: [UnsafeCell<[u64; 32]>; 16],
}

// SAFETY: what is not atomic is written once each (see `Log::push`), or is a lock's own.
unsafe impl Sync for Board {}

impl Board {
    pub(crate) fn new() -> std::io::Result<&'static Board> {
        let memory = Memory::shared(size_of::<Board>().next_multiple_of(system::PAGE))?;
        let board = memory.start.cast::<Board>();
        std::mem::forget(memory);
        // SAFETY: mapped for as long as the process lives; zeroes are a board.
        Ok(unsafe { &*board })
    }

    /// Says that a role is prepared; sleeps until it should begin.
    pub(crate) fn prepared(&self) {
        self.ready.fetch_add(1, Ordering::Relaxed);
        while self.state.load(Ordering::Acquire) == PREPARING {
            system::sleep(2_000_000);
        }
    }

    pub(crate) fn prepared_roles(&self) -> u32 {
        self.ready.load(Ordering::Relaxed)
    }

    pub(crate) fn begin(&self) {
        self.state.store(GOING, Ordering::Release);
    }

    pub(crate) fn end(&self) {
        self.state.store(ENDING, Ordering::Release);
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.state.load(Ordering::Acquire) == ENDING
    }

    /// Says that all injections are made: whatever a role still does is for those that wait for it.
    pub(crate) fn finish(&self) {
        self.finished.store(1, Ordering::Release);
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Acquire) == 1
    }

    /// Says that the machine does not allow this cause.
    pub(crate) fn refuse(&self, reason: &str) {
        if self.refused.swap(1, Ordering::AcqRel) == 0 {
            let mut bytes = [0; 256];
            let length = reason.len().min(255);
            bytes[..length].copy_from_slice(&reason.as_bytes()[..length]);
            // SAFETY: only the first caller writes; the reason is read after it has said so.
            unsafe { *self.reason.get() = bytes };
            self.refused.store(2, Ordering::Release);
        }
    }

    pub(crate) fn refusal(&self) -> Option<String> {
        if self.refused.load(Ordering::Acquire) != 2 {
            return None;
        }
        // SAFETY: written before the 2.
        let bytes = unsafe { *self.reason.get() };
        Some(String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned())
    }

    /// Logs that the calling thread, under this name, kept others waiting.
    pub(crate) fn injected(&self, name: &str, start: u64, end: u64) {
        self.injections.push((start, start, end), system::tid(), name);
    }

    /// Logs that the calling thread should have run at `due` and has finished its work now.
    pub(crate) fn waited(&self, due: u64) {
        self.waited_since(due, due);
    }

    /// The same; at `ran` it had come to run: until then it waited only for those that kept it from its CPU.
    pub(crate) fn waited_since(&self, due: u64, ran: u64) {
        self.waits.push((due, ran, now()), system::tid(), "");
    }

    /// How many injections there are.
    pub(crate) fn count(&self) -> usize {
        self.injections.len()
    }

    /// Writes the log of the truth, one line each.
    pub(crate) fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        for (log, kind) in [(&self.injections, "injection"), (&self.waits, "wait")] {
            for Entry { start, ran, end, tid, name } in log.all() {
                let name = String::from_utf8_lossy(&name);
                let name = name.trim_end_matches('\0');
                writeln!(
                    out,
                    r#"{{"kind":"{kind}","start_ns":{start},"ran_ns":{ran},"end_ns":{end},"tid":{tid},"name":"{name}"}}"#
                )?;
            }
        }
        Ok(())
    }
}
