//! What a page fault costs before its first stamp and after its last: entering and leaving the kernel, and the stamps.

use super::rings::Rings;
use punctual_kernel::clock;
use punctual_recording::episode::EventKind;
use rustix::mm::{Advice, MapFlags, ProtFlags};
use std::ptr::NonNull;

/// How many pages to touch.
const PAGES: usize = 256;
/// A larger result is not believed, ns.
const MAX_NS: u64 = 5_000;

/// Touches fresh pages, and compares how long each took by the clock with how long it took by the recorder's stamps:
/// the median difference, ns; 0 if it cannot be told.
pub(super) fn measure(rings: &Rings, cpus: &[u32]) -> u64 {
    let start = clock::monotonic_ns();
    let Some(touches) = touch_fresh_pages() else { return 0 };
    let end = clock::monotonic_ns();
    let tid = clock::thread_id();
    let mut stamped = Vec::new();
    for &cpu in cpus {
        let copied = rings.copy(cpu, start, end);
        let own = copied.records.iter().filter(|record| record.tid() == tid);
        let mut began = None;
        for record in own {
            match EventKind::from_code(record.kind()) {
                Some(EventKind::FaultUser) => began = Some(record.time),
                Some(EventKind::FaultEnd) => {
                    stamped.extend(began.take().map(|began| record.time.saturating_sub(began)))
                }
                _ => {}
            }
        }
    }
    let reading = middle((0..PAGES).map(|_| clock::monotonic_ns().abs_diff(clock::monotonic_ns())).collect());
    let whole = middle(touches);
    match (stamped.len() * 2 > PAGES).then(|| middle(stamped)) {
        Some(stamped) => whole.saturating_sub(stamped + reading).min(MAX_NS),
        None => 0,
    }
}

fn middle(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

/// How long each touch took, ns, including the cost of the clock's two readings once.
fn touch_fresh_pages() -> Option<Vec<u64>> {
    let page = rustix::param::page_size();
    let bytes = PAGES * page;
    // SAFETY: a new mapping at an address of the kernel's choice disturbs no existing one.
    let mapped = unsafe {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        rustix::mm::mmap_anonymous(std::ptr::null_mut(), bytes, access, MapFlags::PRIVATE)
    };
    let region: NonNull<u8> = NonNull::new(mapped.ok()?.cast())?;
    // If this process's memory is locked the pages are there already: they are given back. SAFETY: the whole of this
    // function's own mapping, to which nobody holds a reference.
    unsafe {
        let _ = rustix::mm::munlock(region.as_ptr().cast(), bytes);
        let _ = rustix::mm::madvise(region.as_ptr().cast(), bytes, Advice::LinuxNoHugepage);
        let _ = rustix::mm::madvise(region.as_ptr().cast(), bytes, Advice::LinuxDontNeed);
    }
    let mut touches = Vec::with_capacity(PAGES);
    for offset in (0..bytes).step_by(page) {
        let before = clock::monotonic_ns();
        // SAFETY: an address within the mapping, which is writable.
        unsafe { region.as_ptr().add(offset).write_volatile(1) };
        touches.push(clock::monotonic_ns() - before);
    }
    // SAFETY: unmaps what was mapped above; nobody holds a reference into it.
    let _ = unsafe { rustix::mm::munmap(region.as_ptr().cast(), bytes) };
    Some(touches)
}
