//! Threads that switch, on one CPU at FIFO 50, so that others on the machine change little.

use punctual_kernel::clock;
use punctual_kernel::scheduling::{Scheduling, pin_to, set_scheduling};
use std::ffi::CString;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::thread::JoinHandle;
use std::time::Duration;

const CPU: u32 = 0;
const FAST_TRIPS: u64 = 60_000;
const PACED_TRIPS: u64 = 10_000;
/// Round trips a second: two switches each.
const PACE: u64 = 5_000;
const PERIODS: u64 = 1_500;
/// 64 frames at 48 kHz.
const PERIOD_NS: u64 = 1_333_333;
const WORK_NS: u64 = 100_000;
/// The engine and three clients in turn, and back to idle.
pub(crate) const SWITCHES_A_PERIOD: f64 = 5.0;
const CLIENTS: usize = 3;

/// CPU time of all threads of a workload.
pub(crate) struct Spent {
    /// For each switch, or for each period, ns.
    pub(crate) ns: f64,
    /// So many of them.
    pub(crate) count: f64,
}

/// Two threads hand a byte to and fro, 120,000 switches.
pub(crate) fn ping_pong() -> Spent {
    trips(FAST_TRIPS, None)
}

/// The same 10,000 times a second, for two seconds.
pub(crate) fn paced() -> Spent {
    trips(PACED_TRIPS, Some(PACE))
}

fn trips(trips: u64, pace: Option<u64>) -> Spent {
    let (there, echoed) = echo();
    let first = start(c"peers-ping", move || {
        let (mut to, mut from) = there;
        let began = clock::monotonic_ns();
        for trip in 0..trips {
            to.write_all(&[0]).expect("it is read");
            from.read_exact(&mut [0]).expect("it is written");
            // Ten at a time, then a rest until they are due.
            if let Some(pace) = pace.filter(|_| trip % 10 == 9) {
                clock::sleep_until(began + (trip + 1) * 1_000_000_000 / pace);
            }
        }
    });
    let ns = first.join().expect("it ends") + echoed.join().expect("it ends");
    let count = trips as f64 * 2.0;
    Spent { ns: ns as f64 / count, count }
}

/// A thread that passes on each byte.
fn echo() -> ((PipeWriter, PipeReader), JoinHandle<u64>) {
    let (mut from, to) = std::io::pipe().expect("a pipe");
    let (back, mut answer) = std::io::pipe().expect("a pipe");
    let thread = start(c"peers-pong", move || {
        let mut byte = [0];
        while from.read_exact(&mut byte).is_ok() && answer.write_all(&byte).is_ok() {}
    });
    ((to, back), thread)
}

/// An engine wakes for each 64 frames, works, and has three clients work, one after the other.
pub(crate) fn audio() -> Spent {
    let (engine, last) = std::io::pipe().map(|(reader, writer)| (writer, reader)).expect("a pipe");
    let (mut reader, mut threads) = (last, Vec::new());
    for _ in 0..CLIENTS {
        let (from, to) = std::io::pipe().expect("a pipe");
        threads.push(start(c"peers-client", client(reader, to)));
        reader = from;
    }
    let engine = start(c"peers-engine", move || {
        let (mut first, mut last, mut due) = (engine, reader, clock::monotonic_ns());
        for _ in 0..PERIODS {
            due += PERIOD_NS;
            clock::sleep_until(due);
            work();
            first.write_all(&[0]).expect("it is read");
            last.read_exact(&mut [0]).expect("it is written");
        }
    });
    let clients =
        |threads: Vec<JoinHandle<u64>>| threads.into_iter().map(|thread| thread.join().expect("it ends")).sum::<u64>();
    let ns = engine.join().expect("it ends") + clients(threads);
    // What they compute is the same with and without.
    Spent { ns: ns as f64 / PERIODS as f64, count: PERIODS as f64 }
}

fn client(mut from: PipeReader, mut to: PipeWriter) -> impl FnOnce() + Send {
    move || {
        let mut byte = [0];
        while from.read_exact(&mut byte).is_ok() {
            work();
            if to.write_all(&byte).is_err() {
                break;
            }
        }
    }
}

/// Computes for a while by its own clock, so that what interrupts it does not count.
fn work() {
    let began = clock::thread_cpu_ns();
    while clock::thread_cpu_ns() - began < WORK_NS {
        std::hint::spin_loop();
    }
}

/// A thread by this name; what it ends with is its CPU time, ns.
fn start(name: &'static std::ffi::CStr, body: impl FnOnce() + Send + 'static) -> JoinHandle<u64> {
    std::thread::spawn(move || {
        let name = CString::from(name);
        // SAFETY: the name ends in a zero and lives through the call.
        unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
        pin_to(CPU).expect("CPU 0");
        set_scheduling(Scheduling::Fifo(50)).expect("real-time priority");
        std::thread::sleep(Duration::from_millis(10));
        let before = clock::thread_cpu_ns();
        body();
        clock::thread_cpu_ns() - before
    })
}
