//! Timeouts of io_uring, by its system calls alone.

use super::clock::{MethodClock, Shift};
use super::method::Method;
use punctual_kernel::{Refused, clock};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

const OFF_SQ_RING: libc::off_t = 0;
const OFF_SQES: libc::off_t = 0x1000_0000;
const FEATURE_SINGLE_MMAP: u32 = 1;
const ENTER_GETEVENTS: u32 = 1;
const OP_TIMEOUT: u8 = 11;
const TIMEOUT_ABS: u32 = 1;
const TIMEOUT_BOOTTIME: u32 = 4;
const TIMEOUT_REALTIME: u32 = 8;
const ENTRIES: u32 = 2;

/// `struct io_sqring_offsets`.
#[repr(C)]
#[derive(Default)]
struct SubmissionOffsets {
    head: u32,
    tail: u32,
    ring_mask: u32,
    ring_entries: u32,
    flags: u32,
    dropped: u32,
    array: u32,
    reserved: u32,
    user_address: u64,
}

/// `struct io_cqring_offsets`.
#[repr(C)]
#[derive(Default)]
struct CompletionOffsets {
    head: u32,
    tail: u32,
    ring_mask: u32,
    ring_entries: u32,
    overflow: u32,
    entries: u32,
    flags: u32,
    reserved: u32,
    user_address: u64,
}

/// `struct io_uring_params`.
#[repr(C)]
#[derive(Default)]
struct Parameters {
    sq_entries: u32,
    cq_entries: u32,
    flags: u32,
    sq_thread_cpu: u32,
    sq_thread_idle: u32,
    features: u32,
    wq_fd: u32,
    reserved: [u32; 3],
    sq: SubmissionOffsets,
    cq: CompletionOffsets,
}

/// `struct io_uring_sqe`, as far as a timeout uses it.
#[repr(C)]
#[derive(Default)]
struct Submission {
    opcode: u8,
    flags: u8,
    priority: u16,
    fd: i32,
    offset: u64,
    address: u64,
    length: u32,
    timeout_flags: u32,
    user_data: u64,
    unused: [u64; 3],
}

/// `struct __kernel_timespec`.
#[repr(C)]
#[derive(Default)]
struct KernelTime {
    seconds: i64,
    nanoseconds: i64,
}

/// Memory that the kernel shares with this process.
struct Map {
    address: *mut u8,
    length: usize,
}

impl Map {
    fn of(fd: &OwnedFd, length: usize, offset: libc::off_t) -> Result<Map, Refused> {
        // SAFETY: asks for new memory at no certain place.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                fd.as_raw_fd(),
                offset,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(Refused::last_os_error("mapping the rings of io_uring"));
        }
        Ok(Map { address: address.cast(), length })
    }

    /// A counter of the ring, at an offset that the kernel gave.
    fn counter(&self, offset: u32) -> &AtomicU32 {
        debug_assert!(offset as usize + 4 <= self.length);
        // SAFETY: the kernel gives offsets of aligned 32-bit numbers within the mapping, which lives as long as `self`;
        // both sides access them atomically.
        unsafe { AtomicU32::from_ptr(self.address.add(offset as usize).cast()) }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing refers to it any more.
        unsafe { libc::munmap(self.address.cast(), self.length) };
    }
}

/// A ring with one timeout at a time, to absolute times.
pub(super) struct Uring {
    rings: Map,
    submissions: Map,
    parameters: Parameters,
    shift: Shift,
    /// The kernel reads this while a timeout is submitted.
    time: Box<KernelTime>,
    fd: OwnedFd,
}

impl Uring {
    pub(super) fn open(shift: Shift) -> Result<Uring, Refused> {
        let mut parameters = Parameters::default();
        // SAFETY: the structure has the kernel's layout and lives through the call.
        let fd = unsafe { libc::syscall(libc::SYS_io_uring_setup, ENTRIES, &raw mut parameters) };
        if fd < 0 {
            return Err(Refused::last_os_error("setting up io_uring"));
        }
        // SAFETY: the kernel just gave this descriptor to nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
        if parameters.features & FEATURE_SINGLE_MMAP == 0 {
            return Err(Refused::because("setting up io_uring", "this kernel's is older than 5.4"));
        }
        let submitted = parameters.sq.array as usize + parameters.sq_entries as usize * 4;
        let completed = parameters.cq.entries as usize + parameters.cq_entries as usize * 16;
        let rings = Map::of(&fd, submitted.max(completed), OFF_SQ_RING)?;
        let submissions = Map::of(&fd, parameters.sq_entries as usize * size_of::<Submission>(), OFF_SQES)?;
        let mut uring = Uring { rings, submissions, parameters, shift, time: Box::default(), fd };
        // Some kernels have io_uring without this operation, or forbid it.
        if uring.timeout(clock::monotonic_ns()) {
            Ok(uring)
        } else {
            Err(Refused::last_os_error("an io_uring timeout"))
        }
    }

    /// Waits until this time; false if the kernel refuses.
    #[inline]
    fn timeout(&mut self, due_ns: u64) -> bool {
        let due = self.shift.of(due_ns);
        *self.time = KernelTime { seconds: (due / 1_000_000_000) as i64, nanoseconds: (due % 1_000_000_000) as i64 };
        let clock = match self.shift.clock {
            MethodClock::Realtime => TIMEOUT_REALTIME,
            MethodClock::Boottime => TIMEOUT_BOOTTIME,
            _ => 0,
        };
        let tail = self.rings.counter(self.parameters.sq.tail);
        let mask = self.rings.counter(self.parameters.sq.ring_mask).load(Ordering::Relaxed);
        let position = tail.load(Ordering::Relaxed);
        let index = position & mask;
        let entry = Submission {
            opcode: OP_TIMEOUT,
            fd: -1,
            address: (&raw const *self.time) as u64,
            length: 1,
            timeout_flags: TIMEOUT_ABS | clock,
            ..Submission::default()
        };
        // SAFETY: the index is below the number of entries for which the memory was mapped; the kernel reads the entry
        // only after the tail is moved.
        unsafe { self.submissions.address.cast::<Submission>().add(index as usize).write(entry) };
        self.rings.counter(self.parameters.sq.array + index * 4).store(index, Ordering::Relaxed);
        tail.store(position.wrapping_add(1), Ordering::Release);
        let mut to_submit = 1u32;
        loop {
            // SAFETY: takes plain numbers; no signal mask is given.
            let result = unsafe {
                libc::syscall(
                    libc::SYS_io_uring_enter,
                    self.fd.as_raw_fd(),
                    to_submit,
                    1u32,
                    ENTER_GETEVENTS,
                    std::ptr::null::<libc::sigset_t>(),
                    0usize,
                )
            };
            let head = self.rings.counter(self.parameters.cq.head);
            let completed = head.load(Ordering::Relaxed);
            if self.rings.counter(self.parameters.cq.tail).load(Ordering::Acquire) != completed {
                head.store(completed.wrapping_add(1), Ordering::Release);
                return true;
            }
            let interrupted = std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR);
            if result < 0 && !interrupted {
                return false;
            }
            to_submit = 0;
            if result < 0 && self.rings.counter(self.parameters.sq.head).load(Ordering::Acquire) == position {
                to_submit = 1;
            }
        }
    }
}

impl Method for Uring {
    #[inline]
    fn wait(&mut self, due_ns: u64, _period_ns: u64) -> u32 {
        // The kernel should not refuse what it took before; if it does, the grid must still be kept.
        if !self.timeout(due_ns) || clock::monotonic_ns() < due_ns {
            clock::sleep_until(due_ns);
        }
        1
    }
}
