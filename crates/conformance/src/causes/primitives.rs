//! The C library's locks, in memory that processes share.

use super::board::Board;
use super::system::{now, timespec};
use std::cell::UnsafeCell;

unsafe extern "C" {
    fn pthread_mutex_clocklock(
        mutex: *mut libc::pthread_mutex_t,
        clock: libc::clockid_t,
        until: *const libc::timespec,
    ) -> i32;
    fn pthread_mutexattr_setprioceiling(attributes: *mut libc::pthread_mutexattr_t, ceiling: i32) -> i32;
    fn pthread_rwlockattr_setkind_np(attributes: *mut libc::pthread_rwlockattr_t, kind: i32) -> i32;
}

/// A mutex's nature.
#[derive(Clone, Copy)]
pub(crate) enum Nature {
    Plain,
    Robust,
    Inheriting,
    /// Its holder has this FIFO priority.
    Ceiling(i32),
}

/// Who goes first at a read-write lock that readers hold and a writer waits for.
#[derive(Clone, Copy)]
pub(crate) enum First {
    Readers,
    Writers,
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
pub(crate) struct Barrier(&'static Room);

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
                Nature::Ceiling(priority) => {
                    const PROTECT: i32 = 2;
                    libc::pthread_mutexattr_setprotocol(&mut attributes, PROTECT);
                    pthread_mutexattr_setprioceiling(&mut attributes, priority);
                }
            }
            libc::pthread_mutex_init(mutex.0.get().cast(), &attributes);
        }
        mutex
    }

    pub(crate) fn lock(self) {
        // SAFETY: initialized, and mapped for as long as the process lives.
        unsafe {
            // Its holder may have died holding it.
            if libc::pthread_mutex_lock(self.0.get().cast()) == libc::EOWNERDEAD {
                libc::pthread_mutex_consistent(self.0.get().cast());
            }
        }
    }

    pub(crate) fn unlock(self) {
        // SAFETY: the calling thread holds it.
        unsafe { libc::pthread_mutex_unlock(self.0.get().cast()) };
    }

    /// Whether the caller got it within `ns`.
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
    pub(crate) fn new(board: &'static Board, room: usize, first: First) -> ReadWrite {
        // SAFETY: the room is large enough, aligned, and nobody uses it yet.
        unsafe {
            let mut attributes: libc::pthread_rwlockattr_t = std::mem::zeroed();
            libc::pthread_rwlockattr_init(&mut attributes);
            const WRITERS: i32 = 2;
            if matches!(first, First::Writers) {
                pthread_rwlockattr_setkind_np(&mut attributes, WRITERS);
            }
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

    pub(crate) fn broadcast(self) {
        // SAFETY: initialized.
        unsafe { libc::pthread_cond_broadcast(self.0.get().cast()) };
    }
}

impl Barrier {
    pub(crate) fn new(board: &'static Board, room: usize, parties: u32) -> Barrier {
        // SAFETY: the room is large enough, aligned, and nobody uses it yet.
        unsafe {
            let mut attributes: libc::pthread_barrierattr_t = std::mem::zeroed();
            libc::pthread_barrierattr_init(&mut attributes);
            libc::pthread_barrierattr_setpshared(&mut attributes, libc::PTHREAD_PROCESS_SHARED);
            libc::pthread_barrier_init(board.rooms[room].get().cast(), &attributes, parties);
        }
        Barrier(&board.rooms[room])
    }

    pub(crate) fn wait(self) {
        // SAFETY: initialized.
        unsafe { libc::pthread_barrier_wait(self.0.get().cast()) };
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
