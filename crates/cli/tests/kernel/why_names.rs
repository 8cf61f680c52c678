//! `punctual why` names what leads to an action: who asked for what an interrupt does, and code without symbols.
//! Threads of this test do the things to be named; right, nameless and wrong are counted separately.

use crate::requires;
use crate::support::{self, become_thread, code, own_name, run, spin_for, stderr};
use punctual_kernel::bpf::tracepoint_arguments;
use punctual_kernel::clock::monotonic_ns as clock_ns;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::Scope;
use std::time::Duration;

unsafe extern "C" {
    /// The C library's random numbers.
    fn rand_r(seed: *mut libc::c_uint) -> libc::c_int;
}

/// At least this many are judged.
const MIN_MET: u64 = 20;
/// What the victim's name begins with.
const VICTIM: &str = "why-victim";

/// What the threads of a test share.
#[derive(Default)]
struct Shared {
    over: AtomicBool,
    victim: AtomicI32,
    culprit: AtomicI32,
    /// What the victim did, and when.
    did: Mutex<Vec<(u64, u64, usize)>>,
}

impl Shared {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

/// The victim: FIFO 50 on CPU 0; 2 ms after each time, it does the next thing in turn.
fn victim(shared: &Shared, acts: &[&(dyn Fn() + Sync)]) {
    let name = CString::new(own_name(VICTIM)).expect("a name without NUL");
    shared.victim.store(become_thread(&name, 0, Some(50)), Ordering::Relaxed);
    for turn in 0.. {
        if shared.is_over() {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
        let begin = clock_ns();
        acts[turn % acts.len()]();
        shared.did.lock().unwrap().push((begin, clock_ns(), turn % acts.len()));
    }
}

/// What the answer said about those that were met.
#[derive(Debug, Default)]
struct Tally {
    right: u64,
    nameless: u64,
    wrong: u64,
    said: BTreeMap<String, u64>,
}

impl Tally {
    fn met(&self) -> u64 {
        self.right + self.nameless + self.wrong
    }

    fn add(&mut self, said: &str, is_right: bool, is_nameless: bool) {
        match (is_right, is_nameless) {
            (true, _) => self.right += 1,
            (false, true) => self.nameless += 1,
            (false, false) => self.wrong += 1,
        }
        *self.said.entry(said.to_owned()).or_default() += 1;
    }
}

/// Records the victim beside these threads, and judges the answer until enough were met.
fn tally(
    name: &str,
    acts: &[&(dyn Fn() + Sync)],
    threads: impl for<'scope, 'env> Fn(&'scope Scope<'scope, 'env>, &'scope Shared),
    judge: impl Fn(&Value, &Shared, &mut Tally),
    enough: impl Fn(&Tally) -> bool,
) -> Tally {
    let mut tally = Tally::default();
    for _ in 0..support::MAX_ATTEMPTS {
        let directory = tempfile::tempdir().unwrap();
        let shared = Shared::default();
        let output = std::thread::scope(|scope| {
            threads(scope, &shared);
            scope.spawn(|| victim(&shared, acts));
            support::wait_until(|| shared.victim.load(Ordering::Relaxed) != 0);
            let comm = format!("^{}$", own_name(VICTIM));
            let words = ["record", "-q", "-D", "3s", "--comm", &comm, "--why", "1ms", "--why-stage", "response"];
            let output = run(directory.path(), &[&words[..], &["-o", "a.punctual"]].concat());
            shared.over.store(true, Ordering::Relaxed);
            output
        });
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let answer = support::json(&run(directory.path(), &["why", "a.punctual", "--json"]));
        let episodes = answer["episodes"].as_array().unwrap().iter();
        let victim = u64::from(shared.victim.load(Ordering::Relaxed) as u32);
        for episode in episodes.filter(|one| one["void"] == false && one["victim"]["tid"] == victim) {
            judge(episode, &shared, &mut tally);
        }
        if enough(&tally) {
            break;
        }
    }
    eprintln!(
        "{name}: {} met: {} right, {} without a name, {} wrong; said: {:?}",
        tally.met(),
        tally.right,
        tally.nameless,
        tally.wrong,
        tally.said
    );
    assert!(enough(&tally), "{name}: too few, or too many of them without their name: {tally:?}");
    tally
}

/// Name, detail and requester of each piece of a kind.
fn pieces<'a>(episode: &'a Value, kind: &'a str) -> impl Iterator<Item = (&'a str, &'a str, &'a Value)> {
    let list = episode["pieces"].as_array().unwrap().iter().filter(move |piece| piece["kind"] == kind);
    list.map(|piece| {
        (piece["name"].as_str().unwrap(), piece["detail"].as_str().unwrap_or_default(), &piece["asked_by"])
    })
}

/// Interrupts whatever this process runs on other CPUs.
fn barrier(command: i32) -> i64 {
    // SAFETY: takes numbers alone.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
}

/// Asks for functions on CPU 0, and wakes a thread there that runs ahead of the victim.
fn sends(shared: &Shared, bell: &UnixDatagram) {
    const EXPEDITED: i32 = 1 << 3;
    const REGISTER_EXPEDITED: i32 = 1 << 4;
    shared.culprit.store(become_thread(c"why-sender", 1, None), Ordering::Relaxed);
    assert_eq!(barrier(REGISTER_EXPEDITED), 0);
    while !shared.is_over() {
        assert_eq!(barrier(EXPEDITED), 0);
        spin_for(100_000);
        bell.send(&[1]).unwrap();
        std::thread::sleep(Duration::from_micros(300));
    }
    bell.send(&[1]).unwrap();
}

#[test]
fn who_asks_for_an_interrupt_between_processors_is_named() {
    requires!("who asks for an interrupt is named", "flight recorder", "real-time priority");
    let without = ["csd_queue_cpu", "csd_function_entry", "ipi_send_cpu"].map(tracepoint_arguments).contains(&None);
    if without || std::thread::available_parallelism().unwrap().get() < 2 {
        return support::skip(
            "who asks for an interrupt is named",
            "it takes two CPUs and the tracepoints of Linux 6.5",
        );
    }
    let (bell, rings) = UnixDatagram::pair().unwrap();
    let ends = Arc::new((bell, rings));
    let sent = Mutex::new(Tally::default());
    let called = tally(
        "functions that another CPU asks for",
        &[&|| spin_for(4_000_000)],
        |scope, shared| {
            let (here, there) = (Arc::clone(&ends), Arc::clone(&ends));
            scope.spawn(move || sends(shared, &here.0));
            scope.spawn(move || {
                become_thread(c"why-woken", 0, Some(60));
                while !shared.is_over() {
                    there.1.recv(&mut [0; 8]).unwrap();
                }
            });
        },
        |episode, shared, tally| {
            let culprit = format!("why-sender (thread {})", shared.culprit.load(Ordering::Relaxed));
            for (name, detail, _) in pieces(episode, "irq") {
                let words = format!("{name} {detail}");
                // No other program here is known to call for these all the time.
                if name == "ipi_mb" {
                    let is_right = detail.contains(&format!("asked for by {culprit}"));
                    tally.add(&words, is_right, !detail.contains("asked for by"));
                }
                if ["reschedule", "call_function_single"].contains(&name) {
                    let is_right = detail.contains(&format!("sent by {culprit}"));
                    sent.lock().unwrap().add(&words, is_right, true);
                }
            }
        },
        |tally| {
            let are_enough = tally.right >= MIN_MET && sent.lock().unwrap().right >= MIN_MET;
            are_enough && tally.nameless * 10 <= tally.met()
        },
    );
    eprintln!("interrupts that were sent: {:?}", sent.lock().unwrap());
    assert_eq!(called.wrong, 0, "{called:?}");
}

fn make_timers(many: usize) -> Vec<OwnedFd> {
    let make = |_| {
        // SAFETY: makes a descriptor, which nobody else has.
        unsafe {
            let made = libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC);
            assert!(made >= 0);
            OwnedFd::from_raw_fd(made)
        }
    };
    (0..many).map(make).collect()
}

/// Makes all of them expire at once, 9 ms from now.
fn arm(timers: &[OwnedFd]) {
    let at = clock_ns() + 9_000_000;
    let it_value =
        libc::timespec { tv_sec: (at / 1_000_000_000) as libc::time_t, tv_nsec: (at % 1_000_000_000) as libc::c_long };
    let time = libc::itimerspec { it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 }, it_value };
    for timer in timers {
        // SAFETY: the time lives through the call.
        let armed = unsafe {
            libc::timerfd_settime(timer.as_raw_fd(), libc::TFD_TIMER_ABSTIME, &raw const time, std::ptr::null_mut())
        };
        assert_eq!(armed, 0);
    }
}

/// Makes 200 timers expire at once, again and again.
fn arms(shared: &Shared) {
    shared.culprit.store(become_thread(c"why-armer", 0, None), Ordering::Relaxed);
    let timers = make_timers(200);
    while !shared.is_over() {
        arm(&timers);
        std::thread::sleep(Duration::from_millis(15));
    }
}

/// A thread arms timers and ends, again and again. In every second turn, another thread gets its number before they
/// expire.
fn arms_and_ends(shared: &Shared) {
    become_thread(c"why-armers", 0, None);
    let timers = make_timers(50);
    for turn in 0.. {
        if shared.is_over() {
            break;
        }
        let name = if turn % 2 == 0 { c"why-ended" } else { c"why-reused" };
        let tid = std::thread::scope(|scope| {
            let armer = scope.spawn(|| {
                let tid = become_thread(name, 0, None);
                arm(&timers);
                tid
            });
            armer.join().unwrap()
        });
        if turn % 2 == 1 {
            take_number(tid, c"why-innocent", Duration::from_millis(100));
        }
        std::thread::sleep(Duration::from_millis(15));
    }
}

/// Makes a process with this number and name that lives for a while and is reaped by itself.
fn take_number(tid: i32, name: &std::ffi::CStr, lives: Duration) {
    // `struct clone_args` as far as `set_tid_size`.
    let mut arguments = [0_u64; 10];
    (arguments[8], arguments[9]) = (&raw const tid as u64, 1);
    let time = libc::timespec { tv_sec: 0, tv_nsec: libc::c_long::from(lives.subsec_nanos() as i32) };
    // A joined thread disappears from its list a moment later.
    for _ in 0..100 {
        // SAFETY: the arguments live through the call; the child has memory of its own, calls the kernel alone and does not
        // return.
        let child = unsafe {
            let child = libc::syscall(libc::SYS_clone3, &raw const arguments, size_of_val(&arguments));
            if child == 0 {
                libc::prctl(libc::PR_SET_NAME, name.as_ptr());
                libc::nanosleep(&raw const time, std::ptr::null_mut());
                libc::_exit(0);
            }
            child
        };
        if child > 0 {
            return;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    panic!("thread {tid}: {}", std::io::Error::last_os_error());
}

#[test]
fn who_arms_a_flood_of_timers_is_named() {
    requires!("who arms timers is named", "flight recorder", "real-time priority");
    if tracepoint_arguments("hrtimer_start").is_none() {
        return support::skip("who arms timers is named", "this kernel has no tracepoint `hrtimer_start`");
    }
    tally(
        "timers of one thread",
        &[&|| spin_for(5_000_000)],
        |scope, shared| _ = scope.spawn(|| arms(shared)),
        |episode, shared, tally| {
            let tid = shared.culprit.load(Ordering::Relaxed);
            let culprit = format!("armed by why-armer (thread {tid})");
            let row = json!([{"how": "armed", "what": "thread", "name": "why-armer", "tid": tid, "cpu": null}]);
            for (name, detail, asked_by) in pieces(episode, "irq").filter(|(name, ..)| *name == "timerfd_tmrproc") {
                let is_right = detail.contains(&culprit) && *asked_by == row;
                tally.add(&format!("{name} {detail}"), is_right, !detail.contains("armed by"));
            }
        },
        // Other users of such timers on this machine are not this test's concern.
        |tally| {
            let are_named = tally.wrong * 100 <= tally.met() && tally.nameless * 10 <= tally.met();
            tally.right >= 10 * MIN_MET && are_named
        },
    );
}

#[test]
fn whoever_armed_a_timer_and_ended_is_named_and_never_who_has_its_number_then() {
    requires!("who armed a timer and ended is named", "flight recorder", "real-time priority");
    if tracepoint_arguments("hrtimer_start").is_none() {
        return support::skip("who armed a timer and ended is named", "this kernel has no tracepoint `hrtimer_start`");
    }
    let tally = tally(
        "timers of threads that have ended",
        &[&|| spin_for(5_000_000)],
        |scope, shared| _ = scope.spawn(|| arms_and_ends(shared)),
        |episode, _, tally| {
            for (name, detail, _) in pieces(episode, "irq").filter(|(name, ..)| *name == "timerfd_tmrproc") {
                let is_right = detail.contains("armed by why-ended (thread ");
                tally.add(&format!("{name} {detail}"), is_right, !detail.contains("armed by"));
            }
        },
        |tally| {
            let are_enough = tally.right >= 10 * MIN_MET && tally.nameless >= 10 * MIN_MET;
            are_enough && tally.wrong * 100 <= tally.met()
        },
    );
    let accused =
        |name: &str| tally.said.iter().filter(|(said, _)| said.contains(name)).map(|(_, count)| count).sum::<u64>();
    assert_eq!(accused("why-innocent") + accused("why-reused"), 0, "{tally:?}");
}

/// Code that is in no file, as run-time compilers write it: counts down from a number and returns.
#[cfg(target_arch = "x86_64")]
fn generated() -> extern "C" fn() {
    const LENGTH: usize = 4096;
    // mov ecx, 200000; dec ecx; jnz -4; ret
    const CODE: [u8; 10] = [0xb9, 0x40, 0x0d, 0x03, 0x00, 0xff, 0xc9, 0x75, 0xfc, 0xc3];
    // SAFETY: new memory, which holds the code and stays; the code keeps to what a function may change.
    unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let memory = libc::mmap(std::ptr::null_mut(), LENGTH, protection, flags, -1, 0);
        assert_ne!(memory, libc::MAP_FAILED);
        std::ptr::copy_nonoverlapping(CODE.as_ptr(), memory.cast(), CODE.len());
        std::mem::transmute::<*mut libc::c_void, extern "C" fn()>(memory)
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn code_without_symbols_is_named_and_the_code_that_the_kernel_lends_is_not() {
    requires!("code without symbols is named", "flight recorder", "real-time priority");
    let code = generated();
    let until = |act: &dyn Fn()| {
        let begin = clock_ns();
        while clock_ns() - begin < 4_000_000 {
            act();
        }
    };
    let runs_generated = || until(&|| code());
    // A function that the C library offers; its file has no other symbols on most systems.
    let calls_library = || {
        until(&|| {
            let (mut seed, mut calls) = (7, 0);
            // An explicit loop: without optimization, an iterator's functions would stand above the closure.
            while calls < 20_000 {
                // SAFETY: the number lives through the call.
                unsafe { rand_r(&raw mut seed) };
                calls += 1;
            }
        });
    };
    let reads_clock = || until(&|| (0..1_000).for_each(|_| _ = std::hint::black_box(clock_ns())));
    tally(
        "code without symbols",
        &[&runs_generated, &calls_library, &reads_clock],
        |_, _| (),
        |episode, shared, tally| {
            let begin = episode["expected_ns"].as_u64().unwrap();
            let end = begin + episode["total_ns"].as_u64().unwrap();
            let own = episode["parts"].as_array().unwrap().iter().find(|part| part["kind"] == "own");
            let did = shared.did.lock().unwrap();
            let act = did.iter().find(|(from, to, _)| *from < end && *to > begin);
            if let (Some(own), Some((.., act))) = (own, act) {
                let said = own["detail"].as_str().unwrap_or_default();
                let is_right = match act {
                    0 => said == "generated code",
                    1 => said.contains("rand_r"),
                    _ => !said.contains("vdso"),
                };
                // The loop around the calls is not a wrong answer, nor is it the one that the test looks for.
                let is_loop = *act == 1 && said.contains("closure");
                // On a busy machine the time for names runs out, and a place keeps its file and offset.
                let is_place = said.contains("+0x");
                tally.add(&format!("{act} {said}"), is_right, said.is_empty() || is_loop || is_place);
            }
        },
        |tally| {
            let are_named = tally.wrong * 20 <= tally.met() && tally.nameless <= tally.right;
            tally.right >= 3 * MIN_MET && are_named
        },
    );
}
