//! Names of threads that have ended, as the kernel's programs keep them.

use crate::shared::names::text_of;
use punctual_kernel::bpf::SharedMemory;
use punctual_recording::printable;
use std::sync::atomic::{Ordering, fence};

/// As `bpf/ended.h` sizes it.
const PLACES: usize = 32_768;

/// `struct ended` of `bpf/ended.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Place {
    tid: u32,
    earlier: u32,
    name: [u8; 16],
}

/// The threads that have ended since the recorder began, as many as there is room for.
pub(crate) struct EndedThreads(SharedMemory);

/// A thread that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EndedThread {
    /// The name it last had.
    pub(super) name: String,
    /// Another thread had its number before, and has ended too.
    pub(super) is_second: bool,
}

impl EndedThreads {
    pub(super) fn new(memory: SharedMemory) -> EndedThreads {
        EndedThreads(memory)
    }

    /// The last thread with this number that has ended.
    pub(super) fn find(&self, tid: u32) -> Option<EndedThread> {
        let places = self.0.at::<Place>(0, PLACES);
        // SAFETY: within the map, which stays mapped while this lives; any bytes make a valid value, and one that was being
        // written is told by its number, which is written last.
        let (place, tid_after) = unsafe {
            let place = places.add(tid as usize % PLACES);
            let copied = place.read_volatile();
            fence(Ordering::Acquire);
            (copied, place.cast::<u32>().read_volatile())
        };
        (tid != 0 && place.tid == tid && tid_after == tid)
            .then(|| EndedThread { name: printable(&text_of(&place.name)), is_second: place.earlier != 0 })
    }
}
