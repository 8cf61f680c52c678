//! Bursts of work on a CPU whose idle loop is watched.

use punctual_kernel::clock::{monotonic_ns, thread_cpu_ns};
use punctual_kernel::scheduling::{Scheduling, pin_to, set_scheduling};
use punctual_probe::idle::{IdlePlan, IdleSession, RawGap, Ticker};
use punctual_recording::TraceEntry;
use std::time::Duration;

/// Spins on this CPU as `burst-test`, FIFO, for these lengths (ns), and returns when each began and ended.
pub(crate) fn bursts(cpu: u32, lengths: Vec<u64>) -> Vec<(u64, u64)> {
    let body = move || {
        pin_to(cpu).expect("the CPU is there");
        set_scheduling(Scheduling::Fifo(50)).expect("real-time priority");
        let burst = |length: u64| {
            std::thread::sleep(Duration::from_millis(12));
            let began = monotonic_ns();
            while monotonic_ns() < began + length {}
            (began, monotonic_ns())
        };
        lengths.into_iter().map(burst).collect()
    };
    std::thread::Builder::new().name("burst-test".to_owned()).spawn(body).unwrap().join().unwrap()
}

/// A burst's own stamps, and the CPU time that the scheduler gave it, ns.
pub(crate) struct Burst {
    pub(crate) began: u64,
    pub(crate) ended: u64,
    pub(crate) cpu: u64,
}

impl Burst {
    /// How far a measured value may be off, ns.
    pub(crate) fn allowed_ns(&self) -> u64 {
        (self.cpu / 50).max(100_000)
    }

    /// Whether it had its CPU all the time. The host's steal counter is updated late: what it took shows up in another
    /// place.
    pub(crate) fn was_left_alone(&self) -> bool {
        self.ended - self.began <= self.cpu + self.allowed_ns()
    }
}

/// A hundred bursts of 0.2 to 10 ms beside an idle loop, and what the loop and the kernel's programs saw of them.
pub(crate) struct BurstsSeen {
    pub(crate) bursts: Vec<Burst>,
    pub(crate) gaps: Vec<RawGap>,
    pub(crate) entries: Vec<TraceEntry>,
    pub(crate) entries_lost: u64,
    pub(crate) ticker: Ticker,
}

impl BurstsSeen {
    /// Whether enough of them were left alone. If the host holds the reader for longer than a ring lasts, entries are
    /// lost: they are counted, and there is nothing to judge by.
    pub(crate) fn can_be_judged(&self, min_alone: usize) -> bool {
        let alone = self.bursts.iter().filter(|burst| burst.was_left_alone()).count();
        eprintln!("{alone} of {} bursts were left alone, {} entries lost", self.bursts.len(), self.entries_lost);
        self.entries_lost == 0 && alone >= min_alone
    }
}

pub(crate) fn a_hundred_bursts(cpu: u32) -> BurstsSeen {
    let plan = IdlePlan {
        duration_ns: 60_000_000_000,
        cpus: Some(vec![cpu]),
        threshold_ns: 5_000,
        real_time: false,
        calibrated_ns: None,
        bpf: true,
        output: "unused".into(),
        command_line: Vec::new(),
    };
    let mut session = IdleSession::start(&plan).unwrap();
    assert!(session.is_followed(), "{:?}", session.provenance().fallbacks);
    let body = move || {
        pin_to(cpu).unwrap();
        set_scheduling(Scheduling::Fifo(50)).unwrap();
        let one = |number: u64| {
            std::thread::sleep(Duration::from_millis(15));
            let (cpu, began) = (thread_cpu_ns(), monotonic_ns());
            while monotonic_ns() < began + 200_000 + number * 9_800_000 / 99 {}
            Burst { began, ended: monotonic_ns(), cpu: thread_cpu_ns() - cpu }
        };
        (0..100).map(one).collect::<Vec<Burst>>()
    };
    let bursts = std::thread::Builder::new().name("burst-exact".to_owned()).spawn(body).unwrap();
    let (mut gaps, mut entries, mut lost) = (Vec::new(), Vec::<TraceEntry>::new(), 0);
    let mut after = 10;
    while after > 0 {
        let taken = session.take(0);
        gaps.extend(taken.gaps);
        entries.extend(taken.entries);
        lost += taken.entries_lost;
        after -= u32::from(bursts.is_finished());
        std::thread::sleep(Duration::from_millis(10));
    }
    let bursts = bursts.join().unwrap();
    session.stop();
    let taken = session.take(0);
    gaps.extend(taken.gaps);
    entries.extend(taken.entries);
    // A gap that has just ended is in the queue.
    match session.open_gap(0) {
        Some(gap) => gaps.push(gap),
        None => gaps.extend(session.take(0).gaps),
    }
    BurstsSeen { bursts, gaps, entries, entries_lost: lost, ticker: session.ticker() }
}

/// Beginnings that lie in no gap, each with the gaps within 20 ms of it.
pub(crate) fn gaps_around(missing: &[u64], gaps: &[RawGap], ticker: &Ticker) -> Vec<(u64, Vec<(u64, u64)>)> {
    let around = |began: u64| {
        let near = gaps.iter().map(|gap| (gap.end_ns - ticker.ns(gap.ticks), gap.end_ns));
        near.filter(|(start, end)| *start < began + 20_000_000 && began < end + 20_000_000).collect()
    };
    missing.iter().map(|&began| (began, around(began))).collect()
}
