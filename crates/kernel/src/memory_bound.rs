//! A bound on this process's memory, and what it says when it reaches the bound.
//!
//! Readers bound what they keep by what they know about it. This is the net below them: whatever a file makes them do,
//! the process ends with one line and its exit code, and neither the machine nor anybody else's process pays for it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::OnceLock;

/// The part of the bound that is left to the program's own pages and the stacks that already existed, bytes.
const PROGRAM_BYTES: u64 = 40_000_000;

/// What to say when memory is refused: the stream, the text.
static LAST_WORDS: OnceLock<(i32, String)> = OnceLock::new();

/// The system's memory, which ends the process with a message if [`keep_memory_below`] set a bound.
///
/// As the global allocator it costs one comparison per allocation.
#[derive(Debug, Clone, Copy, Default)]
pub struct BoundedMemory;

/// Memory was refused. Returns if no bound was set.
#[cold]
fn refused() {
    if let Some((stream, words)) = LAST_WORDS.get() {
        // SAFETY: the text is complete and never changes; `write` and `_exit` allocate nothing.
        unsafe {
            let _ = libc::write(*stream, words.as_ptr().cast(), words.len());
            libc::_exit(1);
        }
    }
}

// SAFETY: every call is the system allocator's with the same arguments, and so is every result that is not null.
unsafe impl GlobalAlloc for BoundedMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps to the same contract.
        let memory = unsafe { System.alloc(layout) };
        if memory.is_null() {
            refused();
        }
        memory
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps to the same contract.
        let memory = unsafe { System.alloc_zeroed(layout) };
        if memory.is_null() {
            refused();
        }
        memory
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller keeps to the same contract.
        let memory = unsafe { System.realloc(memory, layout, bytes) };
        if memory.is_null() {
            refused();
        }
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps to the same contract.
        unsafe { System.dealloc(memory, layout) };
    }
}

/// From now on this process stays below this much memory. If it needs more, it writes `last_words` to the standard
/// error stream, or to the standard output if `is_data`, and ends with code 1.
pub fn keep_memory_below(bytes: u64, is_data: bool, last_words: String) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let stream = if is_data { libc::STDOUT_FILENO } else { libc::STDERR_FILENO };
    if LAST_WORDS.set((stream, last_words)).is_err() {
        return;
    }
    let before = getrlimit(Resource::Data);
    let own = bytes.saturating_sub(PROGRAM_BYTES);
    let least = before.current.map_or(own, |current| current.min(own));
    // Only the soft limit, downwards: anybody may do that.
    let _ = setrlimit(Resource::Data, Rlimit { current: Some(least), maximum: before.maximum });
}
