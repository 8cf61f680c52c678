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
        // In numbers that cannot overflow: whoever calls relies on this alone.
        let end = count.checked_mul(size_of::<T>()).and_then(|bytes| bytes.checked_add(offset));
        assert!(end.is_some_and(|end| end <= self.length) && offset.is_multiple_of(align_of::<T>()));
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn nothing_outside_the_mapping_has_an_address() {
        let file = tempfile::tempfile().unwrap();
        let page = rustix::param::page_size();
        file.set_len(page as u64).unwrap();
        let memory = SharedMemory::map(file.as_fd(), 0, page, true).unwrap();
        let is_given = |offset: usize, count: usize| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| memory.at::<u64>(offset, count))).is_ok()
        };
        assert!(is_given(0, page / 8) && is_given(page, 0) && is_given(page - 8, 1));
        // Beyond the end, not aligned, and so many that their bytes overflow.
        for (offset, count) in [(0, page / 8 + 1), (page, 1), (4, 1), (8, usize::MAX / 8 + 1), (usize::MAX - 7, 1)] {
            assert!(!is_given(offset, count), "{offset} {count}");
        }
    }
}
