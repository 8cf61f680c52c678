//! `punctual record --why --why-stage response` on threads of this test that keep one another waiting: whoever is named must
//! have done it. Right, unknown, wrong with a name and not found are counted apart.

mod support;

use punctual_kernel::clock::monotonic_ns as clock_ns;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::Scope;
use std::time::Duration;
use support::{code, json, number, run, spin_for, stderr};

/// A shorter wait proves nothing, ns.
const MET_NS: u64 = 200_000;
/// So many waits are judged at least.
const MIN_MET: u64 = 20;
const NOT_SEEN: &str = "lock holder not seen";

/// A stretch of time by the log of a thread.
type Stretch = (u64, u64);

/// What the threads of a test share.
#[derive(Default)]
struct Shared {
    over: AtomicBool,
    victim: AtomicI32,
    /// When the culprit kept others waiting.
    kept: Mutex<Vec<Stretch>>,
    /// When the victim waited.
    waited: Mutex<Vec<Stretch>>,
}

impl Shared {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

/// This thread by this name on this CPU; with a priority a FIFO thread, else a normal one before others.
fn become_thread(name: &std::ffi::CStr, cpu: usize, priority: Option<i32>) {
    // SAFETY: the set and the parameters live through the calls, and 0 is the calling thread; a name ends in a zero.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, name.as_ptr());
        let mut cpus: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut cpus);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &cpus);
        match priority {
            Some(priority) => {
                let parameters = libc::sched_param { sched_priority: priority };
                assert_eq!(libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters), 0);
            }
            None => {
                libc::setpriority(libc::PRIO_PROCESS, 0, -20);
            }
        }
    }
}

/// A wait of the victim, which it logs.
fn logged(shared: &Shared, wait: impl FnOnce()) {
    logged_within(shared, u64::MAX, wait);
}

/// A wait of the victim for at most so long, ns. What keeps it from the CPU after that is none of the wait.
fn logged_within(shared: &Shared, limit_ns: u64, wait: impl FnOnce()) {
    let asked = clock_ns();
    wait();
    let got = clock_ns().min(asked.saturating_add(limit_ns));
    if got - asked > MET_NS {
        shared.waited.lock().unwrap().push((asked, got));
    }
}

/// Every 30 ms the culprit `keeps` others waiting, from and to the times that it returns.
fn culprit(shared: &Shared, mut keeps: impl FnMut(u64) -> Stretch) {
    let mut length_ns = 500_000;
    while !shared.is_over() {
        std::thread::sleep(Duration::from_millis(30));
        length_ns = if length_ns > 3_000_000 { 500_000 } else { length_ns + 370_000 };
        let kept = keeps(length_ns);
        shared.kept.lock().unwrap().push(kept);
    }
}

/// The victim: FIFO 50, every millisecond it `works`.
fn victim(shared: &Shared, mut works: impl FnMut()) {
    become_thread(c"why-victim", 0, Some(50));
    // SAFETY: asks for the calling thread's number.
    shared.victim.store(unsafe { libc::gettid() }, Ordering::Relaxed);
    while !shared.is_over() {
        std::thread::sleep(Duration::from_millis(1));
        works();
    }
}

/// A thread that keeps others waiting.
fn spawn_holder<'scope>(
    scope: &'scope Scope<'scope, '_>,
    shared: &Arc<Shared>,
    (cpu, priority): (usize, Option<i32>),
    keeps: impl FnMut(u64) -> Stretch + Send + 'scope,
) {
    let shared = Arc::clone(shared);
    scope.spawn(move || {
        become_thread(c"why-holder", cpu, priority);
        culprit(&shared, keeps);
    });
}

/// The thread that waits.
fn spawn_victim<'scope>(
    scope: &'scope Scope<'scope, '_>,
    shared: &Arc<Shared>,
    mut works: impl FnMut(&Shared) + Send + 'scope,
) {
    let shared = Arc::clone(shared);
    scope.spawn(move || victim(&shared, || works(&shared)));
}

/// Waits by what was said of them.
#[derive(Debug, Default)]
struct Tally {
    waits: u64,
    right: u64,
    unknown: u64,
    wrong: u64,
    not_found: u64,
    in_void: u64,
    said: BTreeMap<String, u64>,
    /// Those that are wrong.
    examples: Vec<String>,
    longest_ns: u64,
    episodes: u64,
    /// Of episodes whose unknown time is less than what is unknown in their parts.
    miscounted: u64,
}

/// What the path to the program does, and what may come upon anybody; it is no part of what was waited for.
const BESIDE: [&str; 4] = ["steal", "irq", "softirq", "kernel_wake"];

impl Tally {
    /// Waits that an episode with whole evidence covers.
    fn met(&self) -> u64 {
        self.right + self.unknown + self.wrong
    }

    /// Judges every wait of the victim that the culprit caused, by what `why` says of that time.
    fn add(&mut self, shared: &Shared, answer: &Value, right: &[&str]) {
        let kept = shared.kept.lock().unwrap();
        let tid = shared.victim.load(Ordering::Relaxed) as u64;
        let episodes =
            || answer["episodes"].as_array().unwrap().iter().filter(|one| number(&one["victim"]["tid"]) == tid);
        let span = |episode: &Value| {
            let begin = number(&episode["expected_ns"]);
            (begin, begin + number(&episode["total_ns"]))
        };
        let recorded = episodes().map(span).fold((u64::MAX, 0), |all, one| (all.0.min(one.0), all.1.max(one.1)));
        for episode in episodes().filter(|episode| episode["void"] == false) {
            self.episodes += 1;
            self.longest_ns = self.longest_ns.max(number(&episode["total_ns"]));
            for part in episode["parts"].as_array().unwrap() {
                let inside: u64 =
                    part["inside"].as_array().map_or(0, |rows| rows.iter().map(|row| number(&row["ns"])).sum());
                self.miscounted += u64::from(inside != 0 && inside != number(&part["ns"]));
            }
        }
        for &(asked, got) in shared.waited.lock().unwrap().iter() {
            let met = kept.iter().map(|&(from, to)| (from.max(asked), to.min(got)));
            let Some((from, to)) = met.filter(|(from, to)| from < to).max_by_key(|(from, to)| to - from) else {
                continue;
            };
            if to - from < MET_NS || from < recorded.0 || to > recorded.1 {
                continue;
            }
            self.waits += 1;
            let touches = |episode: &&Value| span(episode).0 < to && span(episode).1 > from;
            let Some(episode) = episodes().find(touches) else {
                self.not_found += 1;
                continue;
            };
            if episode["void"] == true {
                self.in_void += 1;
                continue;
            }
            let mut blamed: BTreeMap<String, u64> = BTreeMap::new();
            for piece in episode["pieces"].as_array().unwrap() {
                let kind = piece["kind"].as_str().unwrap();
                let begin = number(&piece["start_ns"]);
                let ns = (begin + number(&piece["ns"])).min(to).saturating_sub(begin.max(from));
                if ns > 0 && !BESIDE.contains(&kind) {
                    *blamed.entry(format!("{kind} {}", piece["name"].as_str().unwrap())).or_default() += ns;
                }
            }
            let Some((said, _)) = blamed.into_iter().max_by_key(|(_, ns)| *ns).filter(|(_, ns)| *ns > MET_NS / 2)
            else {
                self.not_found += 1;
                continue;
            };
            if right.contains(&said.as_str()) {
                self.right += 1;
            } else if said == NOT_SEEN || said.starts_with("unknown ") || said.starts_with("blind ") {
                self.unknown += 1;
            } else {
                self.wrong += 1;
                self.examples.push(format!("{said} for {from} to {to}, asked at {asked}: {episode}"));
            }
            *self.said.entry(said).or_default() += 1;
        }
    }
}

/// Records the victim beside these threads and tallies what `why` says; measures anew until enough waits were met.
fn tally(
    name: &str,
    right: &[&str],
    enough: impl Fn(&Tally) -> bool,
    threads: impl for<'scope, 'env> Fn(&'scope Scope<'scope, 'env>, &Arc<Shared>),
) -> Tally {
    let mut tally = Tally::default();
    for _ in 0..support::MAX_ATTEMPTS {
        let directory = tempfile::tempdir().unwrap();
        let shared = Arc::new(Shared::default());
        let output = std::thread::scope(|scope| {
            threads(scope, &shared);
            support::wait_until(|| shared.victim.load(Ordering::Relaxed) != 0);
            let words =
                ["record", "-q", "-D", "3s", "--comm", "^why-victim", "--why", "300us", "--why-stage", "response"];
            let output = run(directory.path(), &[&words[..], &["-o", "a.punctual"]].concat());
            shared.over.store(true, Ordering::Relaxed);
            output
        });
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        tally.add(&shared, &json(&run(directory.path(), &["why", "a.punctual", "--json"])), right);
        if enough(&tally) {
            break;
        }
    }
    eprintln!(
        "{name}: {} waits: {} right, {} unknown, {} wrong with a name, {} not found, {} in void episodes; said: {:?}; \
         {} episodes, at most {:.1} ms",
        tally.waits,
        tally.right,
        tally.unknown,
        tally.wrong,
        tally.not_found,
        tally.in_void,
        tally.said,
        tally.episodes,
        tally.longest_ns as f64 / 1e6
    );
    assert!(enough(&tally), "{name}: too few: {tally:?}");
    assert_eq!(tally.miscounted, 0, "parts within a part add up to it");
    tally
}

/// At most one in a hundred, and one more in few.
fn names_nobody_wrongly(tally: &Tally) {
    assert!(tally.wrong <= 1 + tally.met() / 100, "{tally:?}");
}

/// In nineteen of twenty of those that were met; others may have delayed a few, which says less the more were met.
fn names_the_holder(tally: &Tally) -> bool {
    met(tally) && tally.right * 20 >= tally.met() * 19
}

fn met(tally: &Tally) -> bool {
    tally.met() >= MIN_MET
}

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

    /// Whether the calling thread has it within this time.
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

/// The holder runs on another CPU; the victim waits for it in the kernel, most of the time without sleeping.
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

/// The victim waits for its next job at a word that is 2 as long as there is none: each job is a response of its own.
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
                become_thread(c"why-victim", 0, Some(50));
                // SAFETY: asks for the calling thread's number.
                shared.victim.store(unsafe { libc::gettid() }, Ordering::Relaxed);
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
    // What takes the CPU of the victim, so that there are episodes at all, is its own work after the wait.
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
