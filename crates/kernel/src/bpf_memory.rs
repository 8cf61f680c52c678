//! Memory that BPF programs and this process share.

use crate::Refused;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;

/// Memory shared with the kernel; unmapped when dropped.
pub struct SharedMemory {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to the value and is reached only through atomic or volatile accesses of its users.
unsafe impl Send for SharedMemory {}
// SAFETY: as above; sharing the pointer shares no non-atomic access.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// Maps `length` bytes of a BPF map from `offset` on.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn map(
        descriptor: BorrowedFd<'_>,
        offset: u64,
        length: usize,
        writable: bool,
    ) -> Result<SharedMemory, Refused> {
        use rustix::mm::{MapFlags, ProtFlags};
        let page = rustix::param::page_size();
        let length = length.div_ceil(page) * page;
        let protection = if writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: a new shared mapping at an address of the kernel's choice disturbs no existing one.
        let start = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                length,
                protection,
                MapFlags::SHARED | MapFlags::POPULATE,
                descriptor,
                offset,
            )
        };
        let start = start.map_err(|error| Refused::because("mapping BPF memory", error.to_string()))?;
        let start = NonNull::new(start.cast()).ok_or_else(|| Refused::because("mapping BPF memory", "at address 0"))?;
        Ok(SharedMemory { start, length })
    }

    /// Where `count` values of `T` are, `offset` bytes from the start.
    ///
    /// # Panics
    /// Where they would lie outside the mapping, or not be aligned.
    pub fn at<T>(&self, offset: usize, count: usize) -> NonNull<T> {
        assert!(offset + count * size_of::<T>() <= self.length && offset.is_multiple_of(align_of::<T>()));
        // SAFETY: just checked to lie within the mapping, which starts on a page boundary.
        unsafe { self.start.add(offset).cast() }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: unmaps what `map` mapped; no reference into it outlives the value's users, who hold it.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.length) };
    }
}
