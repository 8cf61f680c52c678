//! Two threads on each CPU that hand a byte to and fro: a round trip is at least two switches. Of ordinary threads, whoever gets
//! the byte mostly runs at once: its answer is there before the other one sleeps, so that every second switch has no waking.
//! Those of real time sleep and are woken for each switch.

use punctual_kernel::clock;
use punctual_kernel::scheduling::{Scheduling, pin_to, set_scheduling};
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Lets ordinary threads run, as [`spent_by`]; returns their CPU time for a round trip, ns, and how many there were.
pub(crate) fn spent(cpus: &[u32], pace: Option<u64>, seconds: f64, wait: impl FnOnce(Duration)) -> (f64, f64) {
    let (trip_ns, trips, _) = spent_by((cpus, Scheduling::Other), pace, seconds, wait);
    (trip_ns, trips)
}

/// Lets them run for this long, s, while `wait` waits for it: with a `pace` this many round trips a second on each CPU,
/// otherwise as fast as they can. Returns the CPU time of the threads on all CPUs for a round trip, ns, including
/// interrupts on top of them, how many trips there were, and how often a thread slept for each.
pub(crate) fn spent_by(
    (cpus, scheduling): (&[u32], Scheduling),
    pace: Option<u64>,
    seconds: f64,
    wait: impl FnOnce(Duration),
) -> (f64, f64, f64) {
    let end = Arc::new(AtomicBool::new(false));
    let pairs: Vec<_> = cpus.iter().map(|&cpu| pair((cpu, scheduling), pace, Arc::clone(&end))).collect();
    wait(Duration::from_secs_f64(seconds));
    end.store(true, Ordering::Relaxed);
    let (mut cpu_ns, mut trips, mut sleeps) = (0, 0, 0);
    for (first, second) in pairs {
        let (own, made) = first.join().expect("it ends");
        let other = second.join().expect("it ends");
        cpu_ns += own.0 + other.0;
        sleeps += own.1 + other.1;
        trips += made;
    }
    (cpu_ns as f64 / trips as f64, trips as f64, sleeps as f64 / trips as f64)
}

/// The median; sorts the figures.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// CPU time, ns, and how often it slept.
type Took = (u64, i64);

type Pair = (JoinHandle<(Took, u64)>, JoinHandle<Took>);

fn took() -> Took {
    // SAFETY: all zeros are a usage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes into the variable.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    (clock::thread_cpu_ns(), usage.ru_nvcsw)
}

fn begin((cpu, scheduling): (u32, Scheduling)) {
    pin_to(cpu).expect("the CPU");
    set_scheduling(scheduling).expect("its scheduling");
}

fn pair(place: (u32, Scheduling), pace: Option<u64>, end: Arc<AtomicBool>) -> Pair {
    let (mut to, mut from) = std::io::pipe().map(|(reader, writer)| (writer, reader)).expect("a pipe");
    let (mut back, mut answer) = std::io::pipe().map(|(reader, writer)| (writer, reader)).expect("a pipe");
    let second = std::thread::spawn(move || {
        begin(place);
        let mut byte = [0];
        while from.read_exact(&mut byte).is_ok() && back.write_all(&byte).is_ok() {}
        took()
    });
    let first = std::thread::spawn(move || {
        begin(place);
        let (began, mut made) = (Instant::now(), 0);
        let mut byte = [0];
        while !end.load(Ordering::Relaxed) {
            // Ten at a time, then a rest until the next are due.
            for _ in 0..10 {
                to.write_all(&byte).expect("it is read");
                answer.read_exact(&mut byte).expect("it is written");
            }
            made += 10;
            if let Some(pace) = pace {
                let due = Duration::from_nanos(made * 1_000_000_000 / pace);
                std::thread::sleep(due.saturating_sub(began.elapsed()));
            }
        }
        (took(), made)
    });
    (first, second)
}
