//! Two threads on each CPU that hand a byte to and fro: a round trip is two wakings and at least two switches.

use punctual_kernel::clock;
use punctual_kernel::scheduling::pin_to;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Lets them run for this long, s, while `wait` waits for it: with a `pace` this many round trips a second on each CPU,
/// otherwise as fast as they can. Returns the CPU time of the threads on all CPUs for a round trip, ns, including
/// interrupts on top of them, and how many trips there were.
pub(crate) fn spent(cpus: &[u32], pace: Option<u64>, seconds: f64, wait: impl FnOnce(Duration)) -> (f64, f64) {
    let end = Arc::new(AtomicBool::new(false));
    let pairs: Vec<_> = cpus.iter().map(|&cpu| pair(cpu, pace, Arc::clone(&end))).collect();
    wait(Duration::from_secs_f64(seconds));
    end.store(true, Ordering::Relaxed);
    let (mut cpu_ns, mut trips) = (0, 0);
    for (first, second) in pairs {
        let (own, made) = first.join().expect("it ends");
        cpu_ns += own + second.join().expect("it ends");
        trips += made;
    }
    (cpu_ns as f64 / trips as f64, trips as f64)
}

/// The median; sorts the figures.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

type Pair = (JoinHandle<(u64, u64)>, JoinHandle<u64>);

fn pair(cpu: u32, pace: Option<u64>, end: Arc<AtomicBool>) -> Pair {
    let (mut to, mut from) = std::io::pipe().map(|(reader, writer)| (writer, reader)).expect("a pipe");
    let (mut back, mut answer) = std::io::pipe().map(|(reader, writer)| (writer, reader)).expect("a pipe");
    let second = std::thread::spawn(move || {
        pin_to(cpu).expect("the CPU");
        let mut byte = [0];
        while from.read_exact(&mut byte).is_ok() && back.write_all(&byte).is_ok() {}
        clock::thread_cpu_ns()
    });
    let first = std::thread::spawn(move || {
        pin_to(cpu).expect("the CPU");
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
        (clock::thread_cpu_ns(), made)
    });
    (first, second)
}
