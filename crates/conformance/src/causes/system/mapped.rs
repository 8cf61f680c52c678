//! Memory that causes map, and faults in it that another process answers.

use super::read;
use std::io;

/// Memory of this process: private, shared with the processes that it forks, or of a file.
pub(crate) struct Memory {
    pub(crate) start: *mut u8,
    pub(crate) length: usize,
}

// SAFETY: a range of addresses; whoever touches it does so through volatile writes of single bytes.
unsafe impl Send for Memory {}
// SAFETY: the same.
unsafe impl Sync for Memory {}

pub(crate) const PAGE: usize = 4096;

impl Memory {
    fn map(length: usize, flags: i32, descriptor: i32) -> io::Result<Memory> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at a place that the kernel chooses.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, access, flags, descriptor, 0) };
        if start == libc::MAP_FAILED {
            Err(io::Error::last_os_error())
        } else {
            Ok(Memory { start: start.cast(), length })
        }
    }

    pub(crate) fn private(length: usize) -> io::Result<Memory> {
        Memory::map(length, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
    }

    /// With all its pages.
    pub(crate) fn populated(length: usize) -> io::Result<Memory> {
        Memory::map(length, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE, -1)
    }

    pub(crate) fn shared(length: usize) -> io::Result<Memory> {
        Memory::map(length, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1)
    }

    pub(crate) fn of_file(descriptor: i32, length: usize) -> io::Result<Memory> {
        Memory::map(length, libc::MAP_SHARED, descriptor)
    }

    /// Writes a byte into a page.
    pub(crate) fn touch(&self, page: usize) {
        assert!(page * PAGE < self.length);
        // SAFETY: within the mapping.
        unsafe { self.start.add(page * PAGE).write_volatile(1) };
    }

    /// Reads a byte of a page.
    pub(crate) fn look(&self, page: usize) -> u8 {
        assert!(page * PAGE < self.length);
        // SAFETY: within the mapping.
        unsafe { self.start.add(page * PAGE).read_volatile() }
    }

    pub(crate) fn advise(&self, advice: i32) {
        // SAFETY: the whole of the mapping; what it held is not needed.
        unsafe { libc::madvise(self.start.cast(), self.length, advice) };
    }

    /// Reads a file into it.
    pub(crate) fn read_into(&self, descriptor: i32, offset: u64) -> io::Result<()> {
        // SAFETY: the whole of the mapping, which lives through the call.
        match unsafe { libc::pread(descriptor, self.start.cast(), self.length, offset as i64) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Writes the file behind it.
    pub(crate) fn sync(&self) {
        // SAFETY: the whole of the mapping.
        unsafe { libc::msync(self.start.cast(), self.length, libc::MS_SYNC) };
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: nobody else knows the mapping.
        unsafe { libc::munmap(self.start.cast(), self.length) };
    }
}

/// Faults in a range that another process answers.
pub(crate) struct UserFaults {
    descriptor: i32,
}

#[repr(C)]
struct FaultRange {
    start: u64,
    length: u64,
}

impl UserFaults {
    pub(crate) fn over(memory: &Memory) -> io::Result<UserFaults> {
        const API: u64 = 0xc018_aa3f;
        const REGISTER: u64 = 0xc020_aa00;
        // SAFETY: the structures are those of <linux/userfaultfd.h>, and live through the calls.
        unsafe {
            let descriptor = libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC) as i32;
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            let mut api = [0xaa_u64, 0, 0];
            if libc::ioctl(descriptor, API as _, api.as_mut_ptr()) != 0 {
                return Err(io::Error::last_os_error());
            }
            let mut register = [memory.start as u64, memory.length as u64, 1, 0];
            if libc::ioctl(descriptor, REGISTER as _, register.as_mut_ptr()) != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(UserFaults { descriptor })
        }
    }

    /// Waits for a fault; returns its address.
    pub(crate) fn next(&self) -> Option<u64> {
        let mut message = [0_u8; 32];
        let read = read(self.descriptor, &mut message);
        (read == 32 && message[0] == 0x12).then(|| u64::from_ne_bytes(message[16..24].try_into().expect("eight")))
    }

    /// Puts a zero page there and lets the thread go on.
    pub(crate) fn answer(&self, address: u64) {
        const ZERO: u64 = 0xc020_aa04;
        let range = FaultRange { start: address & !(PAGE as u64 - 1), length: PAGE as u64 };
        let mut request = [range.start, range.length, 0, 0];
        // SAFETY: the structure is that of <linux/userfaultfd.h>, and lives through the call.
        unsafe { libc::ioctl(self.descriptor, ZERO as _, request.as_mut_ptr()) };
    }
}
