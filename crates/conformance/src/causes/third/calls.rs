//! The system calls for the third list.

use super::super::system::{Memory, PAGE, checked};
use std::ffi::CStr;
use std::io;
use std::sync::atomic::AtomicU32;

/// A message queue for messages of one byte, which nobody else finds.
pub(super) fn message_queue(name: &CStr) -> io::Result<i32> {
    // SAFETY: the name ends with NUL; the attributes are whole: zeroes but for two numbers, and live through the call.
    unsafe {
        let mut attributes: libc::mq_attr = std::mem::zeroed();
        (attributes.mq_maxmsg, attributes.mq_msgsize) = (4, 8);
        let (flags, mode): (i32, libc::mode_t) = (libc::O_RDWR | libc::O_CREAT | libc::O_EXCL, 0o600);
        let queue = checked(libc::mq_open(name.as_ptr(), flags, mode, &mut attributes).into())?;
        libc::mq_unlink(name.as_ptr());
        Ok(queue)
    }
}

pub(super) fn send(queue: i32) {
    // SAFETY: reads a byte that lives.
    unsafe { libc::mq_send(queue, [1].as_ptr(), 1, 0) };
}

pub(super) fn receive(queue: i32) {
    let mut message = [0; 8];
    // SAFETY: writes at most the length of the array into it.
    unsafe { libc::mq_receive(queue, message.as_mut_ptr(), message.len(), std::ptr::null_mut()) };
}

/// A System V semaphore of 1.
#[derive(Clone, Copy)]
pub(super) struct Semaphore(i32);

impl Semaphore {
    pub(super) fn new() -> io::Result<Semaphore> {
        // SAFETY: plain numbers.
        let semaphore = Semaphore(checked(unsafe { libc::semget(libc::IPC_PRIVATE, 1, 0o600) }.into())?);
        semaphore.change(1);
        Ok(semaphore)
    }

    /// Changes it: by 1 to release it, by -1 to take it.
    pub(super) fn change(self, by: i16) {
        let mut operation = libc::sembuf { sem_num: 0, sem_op: by, sem_flg: 0 };
        // SAFETY: one operation, which lives through the call.
        unsafe { libc::semop(self.0, &mut operation, 1) };
    }

    /// Removes it; otherwise it would outlive all who use it.
    pub(super) fn remove(self) {
        // SAFETY: plain numbers.
        unsafe { libc::semctl(self.0, 0, libc::IPC_RMID) };
    }
}

/// Sleeps until one of two words is no longer 0, or somebody wakes the threads that wait for it.
pub(super) fn wait_for_either(words: [&AtomicU32; 2]) {
    const SIZE_32: u32 = 2;
    #[repr(C)]
    struct Waiter {
        value: u64,
        address: u64,
        flags: u32,
        reserved: u32,
    }
    let waiter = |word: &AtomicU32| Waiter { value: 0, address: word.as_ptr() as u64, flags: SIZE_32, reserved: 0 };
    let waiters = words.map(waiter);
    let none = std::ptr::null::<libc::timespec>();
    // SAFETY: reads two structures of <linux/futex.h> that live through the call; the words are mapped.
    unsafe { libc::syscall(libc::SYS_futex_waitv, waiters.as_ptr(), 2, 0, none, 0) };
}

/// Waits for a blocked signal.
pub(super) fn wait_for_signal(signal: i32) {
    // SAFETY: an initialized set that lives through the call.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigaddset(&mut set, signal);
        libc::sigwaitinfo(&set, std::ptr::null_mut());
    }
}

pub(super) fn make_pipe(path: &CStr) -> io::Result<()> {
    // SAFETY: the path ends with NUL.
    checked(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }.into()).map(drop)
}

/// Takes or releases a lock on a range of a file, for this open file description.
pub(super) fn lock_range(descriptor: i32, lock: bool) {
    const LOCK_AND_WAIT: i32 = 38;
    // SAFETY: the structure is whole: zeroes but for what kind of lock, and lives through the call.
    unsafe {
        let mut range: libc::flock = std::mem::zeroed();
        range.l_type = if lock { libc::F_WRLCK } else { libc::F_UNLCK } as i16;
        range.l_len = 4096;
        libc::fcntl(descriptor, LOCK_AND_WAIT, &range);
    }
}

/// Makes all pages of a private memory range, in one call if the kernel has that (5.14): a fault for each page would
/// fill the recorder's rings, in place of what the scene looks for.
pub(super) fn make_pages(memory: &Memory) {
    // SAFETY: the whole of the mapping, whose contents stay.
    let made = unsafe { libc::madvise(memory.start.cast(), memory.length, libc::MADV_POPULATE_WRITE) };
    if made != 0 {
        (0..memory.length / PAGE - 1).for_each(|page| memory.touch(page));
    }
}

/// Gives the pages of a private memory range back; the next touch finds zeroes.
pub(super) fn give_back(memory: &Memory) {
    memory.advise(libc::MADV_DONTNEED);
}

/// Changes the access to the last page of a memory range.
pub(super) fn protect_last_page(memory: &Memory, access: i32) {
    let last = memory.length - PAGE;
    // SAFETY: within the mapping, whose last page nobody looks into.
    unsafe { libc::mprotect(memory.start.add(last).cast(), PAGE, access) };
}

/// Gives the blocks of a file back.
pub(super) fn punch(descriptor: i32, length: i64) {
    // SAFETY: plain numbers.
    unsafe { libc::fallocate(descriptor, libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE, 0, length) };
}

pub(super) fn yield_cpu() {
    // SAFETY: takes nothing.
    unsafe { libc::sched_yield() };
}
