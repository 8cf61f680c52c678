//! How fast the machine is: `cargo bench -p punctual-sim`.
//!
//! Scheduling events a second on one core at three run lengths, an hour of the modem machine, and a set of periodic
//! tasks that other simulators can run too. Times are CPU time if the system reports it (else wall time), the best of
//! five: this measures the program, not what else the computer does. `against-simso/compare.py` compares the task set
//! with SimSo.

use punctual_sim::Engine;
use punctual_sim::cost::Cost;
use punctual_sim::machine::{
    Activity, Arrival, ClockSpec, MachineSpec, PhaseSpec, Phases, Policy, SourceSpec, ThreadSpec, TimerRule,
    WorkContext,
};
use punctual_sim::observe::{Activation, Observer};
use punctual_sim::time::{MICROSECOND, MILLISECOND, NEVER, SECOND};
use std::io::Write;
use std::time::Instant;

#[derive(Default)]
struct Jobs(u64);

impl Observer for Jobs {
    fn activation(&mut self, _activation: &Activation) {
        self.0 += 1;
    }
}

/// The machine of soft-modem-2000: clock at 1024 Hz, a 1 ms callback, the modem in a thread, a competitor.
fn modem() -> MachineSpec {
    let phases = Phases {
        phases: vec![PhaseSpec {
            until: NEVER,
            rate: 8000,
            samples: vec![105, 105, 90],
            work: Cost::constant(1770 * MICROSECOND),
        }],
        offset: 0,
        parts_per_million: 100,
        ring: u64::MAX,
    };
    MachineSpec {
        clock: Some(ClockSpec {
            period: Some(976_562_500),
            offset: 0,
            irql: 28,
            cpu: 0,
            isr: Cost::constant(4 * MICROSECOND),
            dpc: Cost::constant(2 * MICROSECOND),
        }),
        sources: vec![SourceSpec {
            name: "modem".to_owned(),
            cpu: 0,
            irql: 9,
            arrival: Arrival::Phases(phases),
            latched: false,
            isr: Cost::constant(5 * MICROSECOND),
            dpc: Cost::constant(5 * MICROSECOND),
            important: false,
            work: Cost::default(),
            context: WorkContext::Thread,
            thread: Some(1),
        }],
        threads: vec![
            ThreadSpec::new(
                "callback",
                Policy::Priority(31),
                Activity::Timer { interval: MILLISECOND, offset: 0, rule: TimerRule::Exact },
                Cost::constant(10 * MICROSECOND),
            ),
            ThreadSpec::new("modem", Policy::Priority(24), Activity::Signalled, Cost::default()),
            ThreadSpec::spinner("spin", 8),
        ],
        ..MachineSpec::default()
    }
}

/// Ten periodic tasks at 70 percent under EDF: periods 10 to 100 ms.
fn tasks() -> MachineSpec {
    let threads = (1..=10u64).map(|index| {
        let period = index * 10 * MILLISECOND;
        ThreadSpec::new(
            "task",
            Policy::EarliestDeadline { deadline: period },
            Activity::Periodic { period, offset: 0 },
            Cost::constant(period * 7 / 100),
        )
    });
    MachineSpec { threads: threads.collect(), ..MachineSpec::default() }
}

/// CPU time of this thread so far.
fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split(' ').next()?.parse::<u64>().ok()? as f64 / 1e9)
}

fn measure(name: &str, spec: &MachineSpec, seconds: u64, out: &mut impl Write) {
    let mut best = f64::INFINITY;
    let (mut events, mut jobs) = (0, Jobs::default());
    for _ in 0..5 {
        let mut engine = Engine::new(spec.clone()).expect("a machine that is possible");
        jobs = Jobs::default();
        let (start, cpu_start) = (Instant::now(), cpu_seconds());
        engine.run(seconds * SECOND, &mut jobs);
        let wall = start.elapsed().as_secs_f64();
        best = best.min(cpu_seconds().zip(cpu_start).map_or(wall, |(end, start)| end - start));
        events = engine.events();
    }
    let rate = events as f64 / best / 1e6;
    let _ = writeln!(
        out,
        "{name:<28} {seconds:>6} s simulated {best:>8.3} s  {events:>10} events {rate:>7.2} M/s  {} jobs",
        jobs.0
    );
}

/// One run of the ten tasks for `against-simso/compare.py`: jobs and the seconds they took.
fn tasks_once(seconds: u64, out: &mut impl Write) {
    let mut engine = Engine::new(tasks()).expect("a machine that is possible");
    let mut jobs = Jobs::default();
    let (start, cpu_start) = (Instant::now(), cpu_seconds());
    engine.run(seconds * SECOND, &mut jobs);
    let took = cpu_seconds().zip(cpu_start).map_or(start.elapsed().as_secs_f64(), |(end, start)| end - start);
    let _ = writeln!(out, "{} {took}", jobs.0);
}

fn main() {
    let mut out = std::io::stdout().lock();
    let arguments: Vec<String> = std::env::args().collect();
    if let [.., option, seconds] = arguments.as_slice()
        && option == "--tasks"
    {
        return tasks_once(seconds.parse().expect("whole seconds"), &mut out);
    }
    for seconds in [60, 600, 3600] {
        measure("modem machine", &modem(), seconds, &mut out);
    }
    for seconds in [100, 1000, 10_000] {
        measure("ten tasks, EDF", &tasks(), seconds, &mut out);
    }
}
