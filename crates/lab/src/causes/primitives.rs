//! The C library's locks in memory that processes share.

use super::board::Board;
use super::system::{now, timespec};
use std::cell::UnsafeCell;

unsafe extern "C" {
    fn pthread_mutex_clocklock(
        mutex: *mut libc::pthread_mutex_t,
        clock: libc::clockid_t,
        until: *const libc::timespec,
    ) -> i32;
}

/// A mutex's nature.
#[derive(Clone, Copy)]
pub(crate) enum Nature {
    Plain,
    Robust,
    Inheriting,
}

type Room = UnsafeCell<[u64; 32]>;

#[derive(Clone, Copy)]
pub(crate) struct Mutex(&'static Room);

#[derive(Clone, Copy)]
pub(crate) struct Semaphore(&'static Room);

#[derive(Clone, Copy)]
pub(crate) struct ReadWrite(&'static Room);

#[derive(Clone, Copy)]
pub(crate) struct Condition(&'static Room);

#[derive(Clone, Copy)]
pub(crate) struct Spin(&'static Room);

impl Mutex {
    pub(crate) fn new(board: &'static Board, room: usize, nature: Nature) -> Mutex {
        let mutex = Mutex(&board.rooms[room]);
        // SAFETY: the room is large enough, aligned, and nobody uses it yet.
        unsafe {
            let mut attributes: libc::pthread_mutexattr_t = std::mem::zeroed();
            libc::pthread_mutexattr_init(&mut attributes);
            libc::pthread_mutexattr_setpshared(&mut attributes, libc::PTHREAD_PROCESS_SHARED);
            match nature {
                Nature::Plain => {}
                Nature::Robust => {
                    libc::pthread_mutexattr_setrobust(&mut attributes, libc::PTHREAD_MUTEX_ROBUST);
                }
                Nature::Inheriting => {
                    libc::pthread_mutexattr_setprotocol(&mut attributes, libc::PTHREAD_PRIO_INHERIT);
                }
            }
            libc::pthread_mutex_init(mutex.0.get().cast(), &attributes);
        }
        mutex
    }

    pub(crate) fn lock(self) {
        // SAFETY: initialized, and mapped for as long as the process lives.
        unsafe { libc::pthread_mutex_lock(self.0.get().cast()) };
    }

    pub(crate) fn unlock(self) {
        // SAFETY: the calling thread holds it.
        unsafe { libc::pthread_mutex_unlock(self.0.get().cast()) };
    }

    /// Whether it was had within `ns`.
    pub(crate) fn lock_within(self, ns: u64) -> bool {
        let until = timespec(now() + ns);
        // SAFETY: initialized; the time lives.
        unsafe { pthread_mutex_clocklock(self.0.get().cast(), libc::CLOCK_MONOTONIC, &until) == 0 }
    }
}

impl Semaphore {
    pub(crate) fn new(board: &'static Board, room: usize) -> Semaphore {
        // SAFETY: the room is large enough, aligned, and nobody uses it yet.
        unsafe { libc::sem_init(board.rooms[room].get().cast(), 1, 0) };
        Semaphore(&board.rooms[room])
    }

    pub(crate) fn wait(self) {
        // SAFETY: initialized.
        unsafe { libc::sem_wait(self.0.get().cast()) };
    }

    pub(crate) fn post(self) {
        // SAFETY: initialized.
        unsafe { libc::sem_post(self.0.get().cast()) };
    }
}

impl ReadWrite {
    pub(crate) fn new(board: &'static Board, room: usize) -> ReadWrite {
        // SAFETY: the room is large enough, aligned, and nobody uses it yet.
        unsafe {
            let mut attributes: libc::pthread_rwlockattr_t = std::mem::zeroed();
            libc::pthread_rwlockattr_init(&mut attributes);
            libc::pthread_rwlockattr_setpshared(&mut attributes, libc::PTHREAD_PROCESS_SHARED);
            libc::pthread_rwlock_init(board.rooms[room].get().cast(), &attributes);
        }
        ReadWrite(&board.rooms[room])
    }

    pub(crate) fn read(self) {
        // SAFETY: initialized.
        unsafe { libc::pthread_rwlock_rdlock(self.0.get().cast()) };
    }

    pub(crate) fn write(self) {
        // SAFETY: initialized.
        unsafe { libc::pthread_rwlock_wrlock(self.0.get().cast()) };
    }

    pub(crate) fn unlock(self) {
        // SAFETY: the calling thread holds it.
        unsafe { libc::pthread_rwlock_unlock(self.0.get().cast()) };
    }
}

impl Condition {
    pub(crate) fn new(board: &'static Board, room: usize) -> Condition {
        // SAFETY: the room is large enough, aligned, and nobody uses it yet.
        unsafe {
            let mut attributes: libc::pthread_condattr_t = std::mem::zeroed();
            libc::pthread_condattr_init(&mut attributes);
            libc::pthread_condattr_setpshared(&mut attributes, libc::PTHREAD_PROCESS_SHARED);
            libc::pthread_cond_init(board.rooms[room].get().cast(), &attributes);
        }
        Condition(&board.rooms[room])
    }

    pub(crate) fn wait(self, mutex: Mutex) {
        // SAFETY: both initialized; the calling thread holds the mutex.
        unsafe { libc::pthread_cond_wait(self.0.get().cast(), mutex.0.get().cast()) };
    }

    pub(crate) fn signal(self) {
        // SAFETY: initialized.
        unsafe { libc::pthread_cond_signal(self.0.get().cast()) };
    }
}

impl Spin {
    pub(crate) fn new(board: &'static Board, room: usize) -> Spin {
        // SAFETY: the room is large enough, aligned, and nobody uses it yet.
        unsafe { libc::pthread_spin_init(board.rooms[room].get().cast(), libc::PTHREAD_PROCESS_SHARED) };
        Spin(&board.rooms[room])
    }

    pub(crate) fn lock(self) {
        // SAFETY: initialized.
        unsafe { libc::pthread_spin_lock(self.0.get().cast()) };
    }

    pub(crate) fn unlock(self) {
        // SAFETY: the calling thread holds it.
        unsafe { libc::pthread_spin_unlock(self.0.get().cast()) };
    }
}
