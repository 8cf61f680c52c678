//! `punctual record --why --why-stage response` on threads of this test that keep one another waiting: whoever is named
//! must have done it. Right, unknown, wrongly named and not found are counted separately.

#[path = "../support/holders.rs"]
mod holders;

use crate::requires;
use crate::support::{self, spin_for};
use holders::{
    MIN_MET, Shared, Stretch, Tally, become_thread, become_victim, logged, logged_within, met, names_nobody_wrongly,
    names_the_holder, spawn_holder, spawn_victim, tally,
};
use punctual_kernel::clock::monotonic_ns as clock_ns;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

/// A lock of the C library, in memory that does not move.
struct CMutex(std::cell::UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: a mutex is for threads to share.
unsafe impl Sync for CMutex {}
// SAFETY: the same; nobody holds it when it is moved.
unsafe impl Send for CMutex {}

unsafe extern "C" {
    fn pthread_mutex_clocklock(
        mutex: *mut libc::pthread_mutex_t,
        clock: libc::clockid_t,
        until: *const libc::timespec,
    ) -> libc::c_int;
}

impl CMutex {
    fn new(lends_priority: bool) -> Arc<CMutex> {
        let mutex = Arc::new(CMutex(std::cell::UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER)));
        // SAFETY: nobody else knows the mutex yet; the attributes live through the calls.
        unsafe {
            let mut attributes: libc::pthread_mutexattr_t = std::mem::zeroed();
            libc::pthread_mutexattr_init(&mut attributes);
            if lends_priority {
                libc::pthread_mutexattr_setprotocol(&mut attributes, libc::PTHREAD_PRIO_INHERIT);
            }
            assert_eq!(libc::pthread_mutex_init(mutex.0.get(), &attributes), 0);
        }
        mutex
    }

    fn lock(&self) {
        // SAFETY: an initialized mutex.
        assert_eq!(unsafe { libc::pthread_mutex_lock(self.0.get()) }, 0);
    }

    /// Whether the calling thread gets it within this time.
    fn lock_within(&self, ns: i64) -> bool {
        let until = clock_ns() as i64 + ns;
        let until = libc::timespec { tv_sec: until / 1_000_000_000, tv_nsec: until % 1_000_000_000 };
        // SAFETY: an initialized mutex, and a time that lives through the call.
        unsafe { pthread_mutex_clocklock(self.0.get(), libc::CLOCK_MONOTONIC, &until) == 0 }
    }

    fn unlock(&self) {
        // SAFETY: the calling thread has it.
        assert_eq!(unsafe { libc::pthread_mutex_unlock(self.0.get()) }, 0);
    }
}

/// Takes the mutex for a moment.
fn takes(shared: &Shared, mutex: &CMutex) {
    logged(shared, || mutex.lock());
    mutex.unlock();
}

/// Holds the mutex and works.
fn holds(mutex: &CMutex, length_ns: u64) -> Stretch {
    mutex.lock();
    let start = clock_ns();
    spin_for(length_ns);
    let end = clock_ns();
    mutex.unlock();
    (start, end)
}

#[test]
fn a_holder_of_a_mutex_is_named() {
    requires!("why holders", "BPF", "BTF", "kernel's thread ids", "unshifted clock", "real-time priority");
    let tally = tally("mutex", &["lock why-holder"], names_the_holder, |scope, shared| {
        let mutex = CMutex::new(false);
        let its = Arc::clone(&mutex);
        spawn_holder(scope, shared, (0, None), move |length_ns| holds(&its, length_ns));
        spawn_victim(scope, shared, move |shared| takes(shared, &mutex));
    });
    names_nobody_wrongly(&tally);
}

/// The holder runs on another CPU; the victim waits for it in the kernel, mostly without sleeping.
#[test]
fn the_holder_of_a_lock_that_lends_priority_is_named_while_it_runs() {
    requires!("why holders", "BPF", "BTF", "kernel's thread ids", "unshifted clock", "real-time priority");
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return support::skip("why holders", "one CPU");
    }
    let tally = tally("priority-inheriting mutex", &["lock why-holder"], names_the_holder, |scope, shared| {
        let mutex = CMutex::new(true);
        let its = Arc::clone(&mutex);
        spawn_holder(scope, shared, (1, Some(40)), move |length_ns| holds(&its, length_ns));
        spawn_victim(scope, shared, move |shared| takes(shared, &mutex));
    });
    names_nobody_wrongly(&tally);
}

#[test]
fn a_wait_that_times_out_accuses_nobody() {
    const LIMIT_NS: u64 = 600_000;
    requires!("why holders", "BPF", "BTF", "kernel's thread ids", "unshifted clock", "real-time priority");
    let tally = tally("time limit", &["lock why-holder"], met, |scope, shared| {
        let mutex = CMutex::new(false);
        let its = Arc::clone(&mutex);
        spawn_holder(scope, shared, (0, None), move |length_ns| holds(&its, length_ns + 1_000_000));
        spawn_victim(scope, shared, move |shared| {
            let mut has = false;
            logged_within(shared, LIMIT_NS, || has = mutex.lock_within(LIMIT_NS as i64));
            if has {
                mutex.unlock();
            }
        });
    });
    names_nobody_wrongly(&tally);
}

extern "C" fn nothing(_: libc::c_int) {}

#[test]
fn whoever_sends_a_signal_to_one_that_waits_holds_no_lock() {
    requires!("why holders", "BPF", "BTF", "kernel's thread ids", "unshifted clock", "real-time priority");
    // SAFETY: the handler does nothing, so it may run anywhere.
    unsafe { libc::signal(libc::SIGUSR1, nothing as extern "C" fn(libc::c_int) as libc::sighandler_t) };
    let tally = tally("signal", &["lock why-holder"], met, |scope, shared| {
        let mutex = CMutex::new(false);
        let in_it = Arc::new(AtomicBool::new(false));
        let (its, tells) = (Arc::clone(&mutex), Arc::clone(&in_it));
        spawn_holder(scope, shared, (0, None), move |length_ns| {
            tells.store(true, Ordering::Release);
            holds(&its, length_ns)
        });
        let theirs = Arc::clone(shared);
        scope.spawn(move || {
            become_thread(c"why-bystander", 0, Some(45));
            while !theirs.is_over() {
                std::thread::sleep(Duration::from_micros(500));
                if in_it.swap(false, Ordering::Acquire) {
                    std::thread::sleep(Duration::from_micros(1_300));
                    // SAFETY: sends a signal with a handler to a thread of this process, or to none.
                    unsafe {
                        libc::syscall(
                            libc::SYS_tgkill,
                            libc::getpid(),
                            theirs.victim.load(Ordering::Relaxed),
                            libc::SIGUSR1,
                        )
                    };
                }
            }
        });
        spawn_victim(scope, shared, move |shared| takes(shared, &mutex));
    });
    names_nobody_wrongly(&tally);
}

fn futex(word: &AtomicU32, operation: i32, value: u32) {
    let none = std::ptr::null::<libc::timespec>();
    // SAFETY: the word lives through the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation | libc::FUTEX_PRIVATE_FLAG, value, none) };
}

/// The victim waits for its next job at a word that is 2 while there is none: each job is a response of its own.
#[test]
fn a_word_that_is_no_lock_joins_no_jobs() {
    requires!("why holders", "BPF", "BTF", "kernel's thread ids", "unshifted clock", "real-time priority");
    for (name, job) in [("a word that is 1 for a job", 1), ("a word that counts", 7)] {
        let enough = |tally: &Tally| tally.episodes >= MIN_MET;
        let tally = tally(name, &[], enough, |scope, shared| {
            let word = Arc::new(AtomicU32::new(2));
            let done = Arc::new(AtomicUsize::new(0));
            let (theirs, its, counted) = (Arc::clone(shared), Arc::clone(&word), Arc::clone(&done));
            scope.spawn(move || {
                become_thread(c"why-master", 0, None);
                loop {
                    std::thread::sleep(Duration::from_millis(10));
                    let over = theirs.is_over();
                    its.store(job, Ordering::Release);
                    futex(&its, libc::FUTEX_WAKE, 1);
                    if over && counted.load(Ordering::Relaxed) > 0 {
                        break;
                    }
                }
            });
            let shared = Arc::clone(shared);
            scope.spawn(move || {
                become_victim(&shared);
                while !shared.is_over() {
                    while word.load(Ordering::Acquire) == 2 {
                        futex(&word, libc::FUTEX_WAIT, 2);
                    }
                    spin_for(500_000);
                    word.store(2, Ordering::Release);
                    done.fetch_add(1, Ordering::Relaxed);
                }
                done.store(1, Ordering::Relaxed);
            });
        });
        // The first few may be taken for waits for a lock.
        assert!(tally.longest_ns < 100_000_000, "{name}: {tally:?}");
    }
}

#[test]
fn the_holder_of_a_read_write_lock_is_not_found_but_nobody_else_is_named() {
    requires!("why holders", "BPF", "BTF", "kernel's thread ids", "unshifted clock", "real-time priority");
    let enough = |tally: &Tally| tally.waits >= MIN_MET || tally.not_found + tally.right + tally.unknown >= MIN_MET;
    // The victim's own work after the wait takes its CPU, so that there are episodes at all.
    let tally = tally("read-write lock", &["lock why-holder"], enough, |scope, shared| {
        struct ReadWrite(std::cell::UnsafeCell<libc::pthread_rwlock_t>);
        // SAFETY: a lock is for threads to share.
        unsafe impl Sync for ReadWrite {}
        // SAFETY: the same.
        unsafe impl Send for ReadWrite {}
        let lock = Arc::new(ReadWrite(std::cell::UnsafeCell::new(libc::PTHREAD_RWLOCK_INITIALIZER)));
        let its = Arc::clone(&lock);
        spawn_holder(scope, shared, (0, None), move |length_ns| {
            let its = &its;
            // SAFETY: an initialized lock, which this thread has when it lets it go.
            unsafe { libc::pthread_rwlock_wrlock(its.0.get()) };
            let start = clock_ns();
            spin_for(length_ns);
            let end = clock_ns();
            // SAFETY: as above.
            unsafe { libc::pthread_rwlock_unlock(its.0.get()) };
            (start, end)
        });
        spawn_victim(scope, shared, move |shared| {
            let lock = &lock;
            logged(shared, || {
                // SAFETY: as above.
                unsafe { libc::pthread_rwlock_rdlock(lock.0.get()) };
            });
            // SAFETY: as above.
            unsafe { libc::pthread_rwlock_unlock(lock.0.get()) };
            spin_for(320_000);
        });
    });
    names_nobody_wrongly(&tally);
}
