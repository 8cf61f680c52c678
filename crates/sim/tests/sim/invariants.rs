//! Invariants of every machine, tested on random ones.

use proptest::prelude::*;
use punctual_sim::cost::Cost;
use punctual_sim::machine::{
    Activity, Arrival, ClockSpec, ConstraintSpec, Engine, Hold, LEVEL_SLOT, LateWork, MachineSpec, Policy, Raise,
    SourceSpec, ThreadSpec, TimerRule, WorkContext,
};
use punctual_sim::observe::{Everything, Level, Slice};

const LENGTH: u64 = 20_000;

fn policy() -> impl Strategy<Value = Policy> {
    prop_oneof![
        4 => (0..32u8).prop_map(Policy::Priority),
        1 => (50..500u64).prop_map(|period| Policy::RateMonotonic { period }),
        1 => (50..500u64).prop_map(|deadline| Policy::EarliestDeadline { deadline }),
        1 => (1..10u64, 100..400u64, any::<bool>(), prop::option::of(7..40u64)).prop_map(|(runtime, period, reclaim, tick)| {
            Policy::Deadline { runtime, deadline: period, period, reclaim, tick }
        }),
        1 => (1..3u32, 3..5u32, prop::option::of(0..20u8), 0..200u64).prop_map(|(runtime, power, outside, from)| {
            Policy::Reservation { runtime, period: 1 << power, power_of_two: true, outside, from, before_priority: 24 }
        }),
    ]
}

fn thread(cpus: usize) -> impl Strategy<Value = ThreadSpec> {
    let activity = prop_oneof![
        Just(Activity::Signalled),
        Just(Activity::Spinning),
        (30..400u64, 0..100u64).prop_map(|(period, offset)| Activity::Periodic { period, offset }),
        (
            30..400u64,
            0..100u64,
            prop_oneof![Just(TimerRule::Exact), Just(TimerRule::Rounded), Just(TimerRule::KernelPeriodic)]
        )
            .prop_map(|(interval, offset, rule)| Activity::Timer { interval, offset, rule }),
    ];
    let raise =
        prop::option::of((0..10u64, 1..20u64, 2..31u8).prop_map(|(after, length, irql)| Raise { after, length, irql }));
    let constraint =
        prop::option::of((20..100u64, 1..20u64).prop_map(|(deadline, estimate)| ConstraintSpec { deadline, estimate }));
    (0..cpus, policy(), activity, 0..30u64, raise, constraint, any::<bool>(), any::<bool>()).prop_map(
        |(cpu, policy, activity, work, raise, constraint, drop, migrates)| {
            let mut thread = match activity {
                Activity::Spinning => ThreadSpec::spinner("spin", 8),
                _ => ThreadSpec::new("thread", policy, activity, Cost::constant(work)),
            };
            thread.policy = policy;
            thread.cpu = cpu;
            thread.raise = raise.filter(|_| activity != Activity::Spinning);
            thread.foreground = work % 3 == 0;
            if thread.raise.is_none() && work > 5 && activity != Activity::Spinning {
                thread.hold = Some(Hold { lock: (work % 2) as u32, after: work / 3, length: work / 2 });
            }
            let tied = matches!(policy, Policy::Reservation { .. } | Policy::Deadline { reclaim: true, .. });
            thread.migrates = migrates && !tied;
            thread.constraint = constraint.filter(|_| !thread.migrates);
            thread.late_work = if drop { LateWork::DropStale } else { LateWork::WorkOff };
            thread
        },
    )
}

fn source(cpus: usize, threads: usize) -> impl Strategy<Value = SourceSpec> {
    let arrival = prop_oneof![
        (20..500u64, 0..100u64).prop_map(|(period, offset)| Arrival::Periodic { period, offset }),
        (20..500u64).prop_map(|mean| Arrival::Poisson { mean }),
    ];
    let context = prop_oneof![Just(WorkContext::Irq), Just(WorkContext::Dpc), Just(WorkContext::Thread)];
    (0..cpus, 3..32u8, arrival, any::<bool>(), 0..5u64, 0..5u64, any::<bool>(), 0..25u64, context, 0..threads).prop_map(
        |(cpu, irql, arrival, latched, isr, dpc, important, work, context, thread)| SourceSpec {
            name: "source".to_owned(),
            cpu,
            irql,
            arrival,
            latched,
            isr: Cost::constant(isr),
            dpc: Cost::constant(dpc),
            important,
            work: Cost::constant(work),
            context,
            thread: Some(thread),
        },
    )
}

fn machine() -> impl Strategy<Value = MachineSpec> {
    (1..4usize, 1..6usize).prop_flat_map(|(cpus, threads)| {
        let clock = (prop::option::of(30..100u64), 3..32u8, 0..cpus).prop_map(|(period, irql, cpu)| ClockSpec {
            period,
            offset: 10,
            irql,
            cpu,
            isr: Cost::constant(1),
            dpc: Cost::constant(2),
        });
        (
            prop::collection::vec(thread(cpus), threads),
            prop::collection::vec(source(cpus, threads), 0..4),
            clock,
            (5..60u64, 0..4u8, 0..3u64, any::<bool>(), any::<u64>(), prop_oneof![Just(LEVEL_SLOT), Just(30)]),
        )
            .prop_map(
                move |(threads, sources, clock, (quantum, wait_boost, context_switch, fresh, seed, slot_level))| {
                    MachineSpec {
                        cpus,
                        seed,
                        quantum,
                        preempted_gets_fresh_quantum: fresh,
                        wait_boost,
                        starvation_boost: (seed % 3 == 0).then_some(200 + seed % 700),
                        inheritance: seed % 2 == 0,
                        context_switch,
                        migration: context_switch / 2,
                        fpu_save: 1,
                        slot_level,
                        slot_unit: 10,
                        clock: Some(clock),
                        sources,
                        threads,
                    }
                },
            )
    })
}

fn run(spec: &MachineSpec) -> Option<(Engine, Everything)> {
    // Random reservations may be refused; that is not tested here.
    let mut engine = Engine::new(spec.clone()).ok()?;
    let mut seen = Everything::default();
    engine.run(LENGTH, &mut seen);
    Some((engine, seen))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn time_given_out_is_time_passed(spec in machine()) {
        let Some((engine, seen)) = run(&spec) else { return Ok(()) };
        for cpu in 0..spec.cpus {
            let time = engine.cpu_time(cpu);
            prop_assert_eq!(time.irq + time.dpc + time.thread + time.idle, LENGTH);
            let own: Vec<&Slice> = seen.slices.iter().filter(|slice| slice.cpu == cpu as u32).collect();
            prop_assert_eq!(own.first().map(|slice| slice.start), Some(0));
            prop_assert_eq!(own.last().map(|slice| slice.end), Some(LENGTH));
            for pair in own.windows(2) {
                prop_assert_eq!(pair[0].end, pair[1].start);
            }
        }
        for thread in 0..spec.threads.len() {
            let sliced: u64 = seen.slices.iter()
                .filter(|slice| slice.level == Level::Thread && slice.index == thread as u32)
                .map(|slice| slice.end - slice.start).sum();
            prop_assert_eq!(sliced, engine.thread_time(thread));
            let mut own: Vec<&Slice> = seen.slices.iter()
                .filter(|slice| slice.level == Level::Thread && slice.index == thread as u32).collect();
            own.sort_by_key(|slice| slice.start);
            for pair in own.windows(2) {
                prop_assert!(pair[0].end <= pair[1].start, "on two CPUs at once: {:?}", pair);
            }
            prop_assert!(spec.threads[thread].migrates || own.iter().all(|s| s.cpu as usize == spec.threads[thread].cpu));
        }
        for activation in &seen.activations {
            prop_assert!(activation.wakeup(0).adds_up());
            prop_assert!(activation.start >= activation.unit.arrival && activation.end >= activation.start);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_run_in_one_piece_or_in_many(spec in machine(), cuts in prop::collection::vec(1..LENGTH, 0..6)) {
        let Some((_, whole)) = run(&spec) else { return Ok(()) };
        let mut cuts = cuts;
        cuts.sort_unstable();
        let mut engine = Engine::new(spec).unwrap();
        let mut pieces = Everything::default();
        for cut in cuts {
            engine.run(cut, &mut pieces);
        }
        engine.run(LENGTH, &mut pieces);
        prop_assert!(whole.activations == pieces.activations);
        let by_cpu = |mut slices: Vec<Slice>| {
            slices.sort_by_key(|slice| (slice.cpu, slice.start));
            slices
        };
        prop_assert!(by_cpu(whole.slices) == by_cpu(pieces.slices));
    }

    /// Threads of fixed priority released together: while one runs at plain level, no job of a higher one is open.
    #[test]
    fn no_lower_level_runs_while_a_higher_one_is_ready(
        jobs in prop::collection::vec((0..32u8, 60..400u64, 0..50u64, 1..30u64), 2..6),
        interrupts in prop::collection::vec((3..32u8, 40..300u64, 1..9u64, any::<bool>()), 0..3),
    ) {
        let threads = jobs.iter().map(|&(priority, period, offset, work)| {
            ThreadSpec::new("job", Policy::Priority(priority), Activity::Periodic { period, offset }, Cost::constant(work))
        }).collect::<Vec<_>>();
        let sources = interrupts.iter().map(|&(irql, mean, work, deferred)| SourceSpec {
            name: "noise".to_owned(), cpu: 0, irql, arrival: Arrival::Poisson { mean }, latched: false,
            isr: Cost::constant(1), dpc: Cost::constant(1), important: false, work: Cost::constant(work),
            context: if deferred { WorkContext::Dpc } else { WorkContext::Irq }, thread: None,
        }).collect();
        let spec = MachineSpec { quantum: 25, sources, threads, ..MachineSpec::default() };
        let Some((_, seen)) = run(&spec) else { return Ok(()) };
        for slice in &seen.slices {
            for activation in &seen.activations {
                let Some(thread) = activation.thread else { continue };
                let open = activation.unit.arrival < slice.end && activation.end > slice.start;
                if !open { continue }
                let overlap = slice.end.min(activation.end) - slice.start.max(activation.unit.arrival);
                if slice.level == Level::Idle {
                    prop_assert!(overlap == 0, "idle while thread {thread} had work");
                }
                if slice.level == Level::Thread && slice.index != thread {
                    let lower = slice.rank < jobs[thread as usize].0;
                    prop_assert!(!(lower && overlap > 0), "{slice:?} while {activation:?} was open");
                }
            }
        }
    }

    /// A reservation gets what it was promised in any window of its period while it has work, less the time
    /// of handlers and deferred procedures in that window.
    #[test]
    fn a_reservation_gets_what_was_promised(
        requests in prop::collection::vec((1..4u32, 2..6u32, any::<bool>()), 1..4),
        mean in 40..400u64, work in 0..15u64, windows in prop::collection::vec(0..LENGTH - 1000, 30),
    ) {
        let mut threads: Vec<ThreadSpec> = requests.iter().map(|&(runtime, power, competes)| {
            let mut thread = ThreadSpec::spinner("reserved", 8);
            thread.policy = Policy::Reservation {
                runtime, period: 1 << power, power_of_two: true, outside: competes.then_some(8), from: 0, before_priority: 24,
            };
            thread
        }).collect();
        threads.push(ThreadSpec::spinner("competitor", 31));
        let spec = MachineSpec {
            slot_unit: 10, quantum: 35, threads,
            sources: vec![SourceSpec {
                name: "noise".to_owned(), cpu: 0, irql: 9, arrival: Arrival::Poisson { mean }, latched: false,
                isr: Cost::constant(2), dpc: Cost::constant(1), important: false, work: Cost::constant(work),
                context: WorkContext::Dpc, thread: None,
            }],
            ..MachineSpec::default()
        };
        let Some((_, seen)) = run(&spec) else { return Ok(()) };
        for (thread, &(runtime, power, _)) in requests.iter().enumerate() {
            let length = 10u64 << power;
            for &start in &windows {
                let overlap = |level: fn(&Slice) -> bool| -> u64 {
                    seen.slices.iter().filter(|slice| level(slice) && slice.end > start && slice.start < start + length)
                        .map(|slice| slice.end.min(start + length) - slice.start.max(start)).sum()
                };
                let own: u64 = seen.slices.iter()
                    .filter(|s| s.level == Level::Thread && s.index == thread as u32 && s.end > start && s.start < start + length)
                    .map(|s| s.end.min(start + length) - s.start.max(start)).sum();
                let above = overlap(|slice| matches!(slice.level, Level::Irq | Level::Dpc));
                prop_assert!(own + above >= u64::from(runtime) * 10, "thread {thread}: {own} + {above} in {start}..+{length}");
            }
        }
    }

    /// Without interrupts every granted constraint is met, whatever else asks for the CPU.
    #[test]
    fn granted_constraints_are_met(
        asking in prop::collection::vec((40..300u64, 0..60u64, 10..80u64, 1..40u64), 1..5),
    ) {
        let mut threads: Vec<ThreadSpec> = asking.iter().map(|&(period, offset, deadline, estimate)| {
            let estimate = estimate.min(deadline);
            let period = period.max(deadline);
            let mut thread = ThreadSpec::new("asks", Policy::Priority(4), Activity::Periodic { period, offset }, Cost::constant(estimate));
            thread.constraint = Some(ConstraintSpec { deadline, estimate });
            thread
        }).collect();
        threads.push(ThreadSpec::spinner("competitor", 31));
        let mut reserved = ThreadSpec::spinner("reserved", 8);
        reserved.policy = Policy::Reservation { runtime: 1, period: 4, power_of_two: true, outside: Some(8), from: 0, before_priority: 8 };
        threads.push(reserved);
        let spec = MachineSpec { slot_unit: 10, threads, ..MachineSpec::default() };
        let Some((_, seen)) = run(&spec) else { return Ok(()) };
        for activation in &seen.activations {
            // A refused job may still be open when the next one is granted: only prompt jobs are judged.
            if activation.unit.granted == Some(true) {
                let thread = activation.thread.unwrap() as usize;
                let late = seen.activations.iter().any(|other| other.thread == activation.thread
                    && other.unit.sequence + 1 == activation.unit.sequence && other.end > activation.unit.arrival);
                prop_assert!(late || activation.response() <= asking[thread].2, "{activation:?}");
            }
        }
    }
}

#[test]
fn constraints_are_granted_and_refused() {
    let mut asks =
        ThreadSpec::new("asks", Policy::Priority(4), Activity::Periodic { period: 100, offset: 0 }, Cost::constant(30));
    asks.constraint = Some(ConstraintSpec { deadline: 40, estimate: 30 });
    let mut rival = asks.clone();
    rival.name = "rival".to_owned();
    let spec = MachineSpec {
        slot_unit: 10,
        threads: vec![asks, rival, ThreadSpec::spinner("spin", 31)],
        ..MachineSpec::default()
    };
    let (engine, seen) = run(&spec).unwrap();
    assert_eq!(engine.constraints(0), (201, 0));
    assert_eq!(engine.constraints(1), (0, 201));
    let first = seen.activations.iter().filter(|activation| activation.thread == Some(0));
    assert!(first.into_iter().all(|activation| activation.response() == 30));
}
