//! A ring of requests to the kernel (`io_uring`).

use super::system::{PAGE, checked};
use std::io;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Memory that the kernel shares with a ring: `what` selects it, `length` is in bytes.
fn shared_with(ring: i32, length: usize, what: i64) -> io::Result<*mut u8> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at a place that the kernel chooses.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), length, access, libc::MAP_SHARED, ring, what) };
    if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(start.cast()) }
}

/// A ring of requests to the kernel (`io_uring`), for one request at a time.
pub(super) struct Ring {
    descriptor: i32,
    queues: *mut u8,
    requests: *mut u8,
    /// As the kernel laid it out, in words of four bytes: `struct io_uring_params`.
    layout: [u32; 30],
}

/// Where the layout has its offsets: sq_off begins at word 10, cq_off at word 20.
const SQ_TAIL: usize = 11;
const SQ_MASK: usize = 12;
const SQ_FLAGS: usize = 14;
const SQ_ARRAY: usize = 16;
const CQ_HEAD: usize = 20;
const CQ_TAIL: usize = 21;

impl Ring {
    pub(super) fn new() -> io::Result<Ring> {
        Ring::of([0; 30])
    }

    /// A ring that a kernel thread polls all the time; the thread goes to sleep after a minute without requests.
    pub(super) fn polled() -> io::Result<Ring> {
        const POLLED: u32 = 1 << 1;
        let mut layout = [0; 30];
        (layout[2], layout[4]) = (POLLED, 60_000);
        Ring::of(layout)
    }

    fn of(mut layout: [u32; 30]) -> io::Result<Ring> {
        const REQUESTS: i64 = 0x1000_0000;
        const ENTRIES: usize = 4;
        // SAFETY: writes into a structure of that size, which lives.
        let descriptor = checked(unsafe { libc::syscall(libc::SYS_io_uring_setup, ENTRIES, layout.as_mut_ptr()) })?;
        let queues = shared_with(descriptor, PAGE, 0)?;
        let requests = shared_with(descriptor, PAGE, REQUESTS)?;
        Ok(Ring { descriptor, queues, requests, layout })
    }

    /// A word of the queues, at an offset that the layout holds.
    fn word(&self, place: usize, index: u32) -> &AtomicU32 {
        let offset = self.layout[place] as usize + index as usize * 4;
        assert!(offset + 4 <= PAGE);
        // SAFETY: within a mapping that lives as long as the process; aligned, and shared with the kernel as an atomic.
        unsafe { &*self.queues.add(offset).cast::<AtomicU32>() }
    }

    /// Reads bytes and waits for them; a kernel worker may do it in place of the caller.
    pub(super) fn read(&self, descriptor: i32, bytes: &mut [u8; 8], by_worker: bool) {
        const READ: u64 = 22;
        const BY_WORKER: u64 = 1 << 4;
        const GET_EVENTS: u32 = 1;
        let flags = if by_worker { BY_WORKER } else { 0 };
        self.request([READ | flags << 8 | (descriptor as u64) << 32, u64::MAX, bytes.as_mut_ptr() as u64, 8]);
        // SAFETY: plain numbers; the bytes live until the request is done, which the call waits for.
        unsafe {
            libc::syscall(libc::SYS_io_uring_enter, self.descriptor, 1, 1, GET_EVENTS, 0, 0);
        }
        let head = self.word(CQ_HEAD, 0);
        head.store(head.load(Acquire).wrapping_add(1), Release);
    }

    /// Has a byte written by the kernel thread that looks for requests, which this does not wake unless it sleeps.
    pub(super) fn write_polled(&self, descriptor: i32) {
        const WRITE: u64 = 23;
        const SLEEPS: u32 = 1;
        const WAKE_UP: u32 = 1 << 1;
        static BYTE: u8 = 1;
        self.request([WRITE | (descriptor as u64) << 32, u64::MAX, std::ptr::from_ref(&BYTE) as u64, 1]);
        if self.word(SQ_FLAGS, 0).load(Acquire) & SLEEPS != 0 {
            // SAFETY: plain numbers.
            unsafe {
                libc::syscall(libc::SYS_io_uring_enter, self.descriptor, 0, 0, WAKE_UP, 0, 0);
            }
        }
        // Nobody looks at the answers, but there must be room for them.
        self.word(CQ_HEAD, 0).store(self.word(CQ_TAIL, 0).load(Acquire), Release);
    }

    /// Puts a request into the queue, given by its first four words.
    fn request(&self, words: [u64; 4]) {
        let tail = self.word(SQ_TAIL, 0).load(Acquire);
        let index = tail & self.word(SQ_MASK, 0).load(Acquire);
        // SAFETY: one of the four requests, of 64 bytes each; the kernel reads it only after the tail has moved.
        let request = unsafe { &mut *self.requests.add(index as usize * 64).cast::<[u64; 8]>() };
        *request = [0; 8];
        request[..4].copy_from_slice(&words);
        self.word(SQ_ARRAY, index).store(index, Release);
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        self.word(SQ_TAIL, 0).store(tail.wrapping_add(1), Release);
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    }
}
