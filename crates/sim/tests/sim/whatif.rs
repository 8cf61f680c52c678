//! What-ifs: compared with arithmetic where possible, and with the recording that they were drawn from.

use proptest::prelude::*;
use punctual_recording::Wakeup;
use punctual_sim::experiment::Experiment;
use punctual_sim::interference::Interference;
use punctual_sim::ledger::builtin;
use punctual_sim::random::Xoshiro256;
use punctual_sim::sweep::{Axis, Shard, Sweep};
use punctual_sim::time::{MICROSECOND, MILLISECOND, SECOND};
use punctual_sim::watch::ToTheEnd;
use punctual_sim::whatif::{Context, RingSize, WhatIf};

fn wakeup(index: u64, late_ns: u64) -> Wakeup {
    Wakeup {
        expected_ns: 7_000 + index * 1_000_000,
        irq_ns: Some(2_000),
        wake_ns: Some(1_000),
        thread_ns: Some(1_500 + late_ns),
        user_ns: Some(500),
        total_ns: 5_000 + late_ns,
        ..Wakeup::default()
    }
}

/// A minute at 1 kHz with a stall of five wakeups every `every`.
fn stalls(every: u64) -> Vec<Wakeup> {
    let late = |index: u64| match index % every {
        at @ 0..5 => (5 - at) * 1_000_000,
        _ => 0,
    };
    (0..60_000).map(|index| wakeup(index, late(index))).collect()
}

#[test]
fn a_device_with_the_recordings_period_is_as_late_as_the_recording() {
    let recorded = stalls(700);
    let interference = Interference::from_wakeups(1_000_000, &recorded);
    let mut question = WhatIf::new(MILLISECOND, 2, 0, Context::Thread(80));
    question.interference = Some(interference);
    question.duration = 600 * SECOND;
    let answer = question.answer().unwrap();
    for limit in [500_000u64, 1_500_000, 2_500_000, 3_500_000, 4_500_000] {
        let measured = recorded.iter().filter(|wakeup| wakeup.total_ns > limit).count() as f64 / recorded.len() as f64;
        let simulated = answer.latency.count_above(limit) as f64 / answer.latency.count() as f64;
        assert!((simulated / measured - 1.0).abs() < 0.1, "{limit}: {measured} {simulated}");
    }
}

#[test]
fn a_device_has_any_number_of_buffers() {
    let mut question = WhatIf::new(MILLISECOND, (1 << 55) + 1, MILLISECOND / 2, Context::Thread(80));
    question.interference = Some(Interference::from_wakeups(1_000_000, &stalls(700)));
    question.duration = 10 * SECOND;
    let answer = question.answer().unwrap();
    assert!(answer.misses == 0 && answer.activations > 9_000, "{} of {}", answer.misses, answer.activations);
}

#[test]
fn more_buffers_miss_less_and_the_reservation_keeps_the_bystander_waiting_by_its_runtime() {
    let interference = Interference::from_wakeups(1_000_000, &stalls(2_000));
    let ask = |buffers, context| {
        let mut question = WhatIf::new(4 * MILLISECOND, buffers, MILLISECOND, context);
        question.interference = Some(interference.clone());
        question.competitors = vec![8];
        question.bystander = Some((95, MILLISECOND));
        question.duration = 200 * SECOND;
        question.answer().unwrap()
    };
    let misses: Vec<u64> = (2..5).map(|buffers| ask(buffers, Context::Thread(80)).misses).collect();
    assert!(misses[0] > 0 && misses.is_sorted_by(|more, fewer| more >= fewer) && misses[2] == 0, "{misses:?}");
    // A device above it, in interrupt context, holds the bystander up by its compute time.
    let alone = ask(3, Context::Thread(80)).bystander.unwrap().quantile(0.5).unwrap();
    assert!(alone < 10_000);
    let mut quiet = WhatIf::new(4 * MILLISECOND, 3, MILLISECOND, Context::Irq);
    quiet.bystander = Some((95, MILLISECOND));
    quiet.duration = 10 * SECOND;
    let mut reserved = quiet.clone();
    reserved.context = Context::Reservation { runtime: 1200 * MICROSECOND, period: 4 * MILLISECOND };
    for question in [quiet, reserved] {
        let late = question.answer().unwrap().bystander.unwrap();
        assert_eq!(late.max(), Some(999_999), "{:?}", question.context);
    }
}

#[test]
fn a_device_below_a_competitor_starves_and_every_due_buffer_counts() {
    let mut question = WhatIf::new(10 * MILLISECOND, 2, MILLISECOND, Context::Thread(10));
    question.competitors = vec![50];
    question.duration = 10 * SECOND;
    let answer = question.answer().unwrap();
    assert!(answer.activations >= 998 && answer.misses == answer.activations, "{answer:?}");
}

#[test]
fn an_overloaded_machine_keeps_no_more_than_its_queues_hold() {
    let mut question = WhatIf::new(MILLISECOND / 10, 2, MILLISECOND / 20, Context::Thread(10));
    question.competitors = vec![50];
    question.duration = 60 * SECOND;
    let answer = question.answer().unwrap();
    assert!(answer.activations >= 599_990 && answer.misses == answer.activations);
}

#[test]
fn nonsense_is_refused_in_one_line() {
    let one_line = |question: WhatIf| {
        let error = question.answer().unwrap_err().to_string();
        assert!(!error.contains('\n') && !error.is_empty());
    };
    one_line(WhatIf::new(0, 2, 0, Context::Irq));
    one_line(WhatIf::new(10, 2, 11, Context::Irq));
    one_line(WhatIf::new(10, 1, 1, Context::Irq));
    one_line(WhatIf::new(1, 2, 1, Context::Irq));
    one_line(WhatIf::new(SECOND, 2, 1, Context::Reservation { runtime: 99, period: 100 }));
    one_line(WhatIf::new(SECOND, 2, 1, Context::Reservation { runtime: 2, period: 1 }));
    one_line(WhatIf::new(SECOND, 2, 1, Context::Slots { runtime: 3, period: 2 }));
    for text in ["", "irq:1", "thread", "thread:0", "thread:100", "reservation:1ms", "slots:a/b", "nowhere"] {
        assert!(!Context::parse(text).unwrap_err().contains('\n'), "{text}");
    }
    assert_eq!(
        Context::parse("reservation:2ms/8ms"),
        Ok(Context::Reservation { runtime: 2 * MILLISECOND, period: 8 * MILLISECOND })
    );
}

/// A recording in which one in so many wakeups is 3 ms late: the interval contains what a run of that length counts.
#[test]
fn the_interval_holds_what_a_run_as_long_counts() {
    let recorded = |seconds: u64, first: u64| {
        let mut random = Xoshiro256::new(first, 0);
        let wakeups: Vec<Wakeup> = (0..seconds * 1000)
            .map(|index| wakeup(index, if random.below(500) == 0 { 3_000_000 } else { 0 }))
            .collect();
        Interference::from_wakeups(1_000_000, &wakeups)
    };
    let ask = |interference: Interference, seed: u64| {
        let mut question = WhatIf::new(MILLISECOND, 2, 100 * MICROSECOND, Context::Thread(80));
        question.interference = Some(interference);
        question.duration = 5 * SECOND;
        question.seed = seed;
        question.answer_with_interval(2, &ToTheEnd).unwrap()
    };
    let mut held = 0;
    for seed in 1..=12 {
        let interval = ask(recorded(60, seed), seed).interval.unwrap();
        assert!(interval.refused.is_none() && interval.low <= interval.high);
        // What a run of that length counts on the same machine, known from a recording ten times as long.
        let mut run = WhatIf::new(MILLISECOND, 2, 100 * MICROSECOND, Context::Thread(80));
        run.interference = Some(recorded(600, 100 + seed));
        run.duration = 5 * SECOND;
        run.seed = 100 + seed;
        let counted = run.answer().unwrap().misses;
        assert!(counted > 0);
        held += u64::from((interval.low..=interval.high).contains(&counted));
    }
    assert!(held >= 10, "{held} of 12 hold what a run counts");
    let interval = ask(recorded(60, 7), 7).interval.unwrap();
    assert!(interval.high <= 5 * interval.low.max(1), "{} to {}", interval.low, interval.high);
}

/// Machines whose stalls come more or less often from one run to the next, by a spread (standard deviation of the
/// logarithm) that is known: recordings and runs in turn, and how many counted what the interval of the eight
/// recordings around them said, with the median of high over low.
fn held_on_machines_that_change(spread: f64, cells: usize) -> (usize, f64) {
    let mut random = Xoshiro256::new(18, 0);
    let mut normal = || (0..12).map(|_| random.below(1 << 20) as f64 / f64::from(1 << 20)).sum::<f64>() - 6.0;
    let mut machine = |seed: u64| {
        let mut stalls = Xoshiro256::new(seed, 1);
        let every = (40.0 * (-spread * normal()).exp()).max(4.0) as u64;
        // A stall of 1.2 to 2.7 ms, over which some wakeups are missed.
        let mut wakeups = Vec::new();
        let mut index = 0;
        while index < 4_000 {
            let late = if stalls.below(every) == 0 { 1_200_000 + stalls.below(1_500_000) } else { 0 };
            wakeups.push(wakeup(index, late));
            index += 1 + late / 1_000_000;
        }
        let mut question = WhatIf::new(MILLISECOND, 2, 100 * MICROSECOND, Context::Thread(80));
        question.ring = Some(RingSize { samples: 16, size: 32 });
        question.interference = Some(Interference::from_wakeups(1_000_000, &wakeups));
        (question.duration, question.seed) = (4 * SECOND, seed);
        question
    };
    let rounds: Vec<Interference> = (0..cells as u64).filter_map(|seed| machine(seed).interference).collect();
    let (mut held, mut ratios) = (0, Vec::new());
    for cell in 0..cells {
        let run = machine(1_000 + cell as u64);
        let counted = run.answer().unwrap().misses;
        let first = cell.saturating_sub(3).min(cells - 8);
        let mut question = WhatIf { seed: cell as u64, ..run };
        question.rounds = rounds[first..first + 8].to_vec();
        question.interference = Interference::joined(&question.rounds);
        let interval = question.answer_with_interval(2, &ToTheEnd).unwrap().interval.unwrap();
        assert!(interval.refused.is_none() && counted >= 30, "{counted}");
        held += usize::from((interval.low..=interval.high).contains(&counted));
        ratios.push(interval.high as f64 / interval.low.max(1) as f64);
    }
    ratios.sort_by(f64::total_cmp);
    (held, ratios[cells / 2])
}

/// 36 of 40, and high at most four times low if the machine changes by a quarter; wider if it changes by more.
#[test]
fn the_interval_of_several_recordings_is_as_wide_as_the_machine_changes() {
    let (held, ratio) = held_on_machines_that_change(0.2, 40);
    assert!(held >= 36 && ratio <= 4.0, "{held} of 40, high over low {ratio:.1}");
    let (held, wider) = held_on_machines_that_change(0.7, 40);
    assert!(held >= 36 && wider > 2.0 * ratio, "{held} of 40, high over low {wider:.1}");
}

/// A ring of two blocks is full one period after a block came, and loses both: a stall of 1.5 periods costs two blocks with
/// it and one without, a stall of half a period none.
#[test]
fn a_ring_that_is_full_loses_what_waits_in_it() {
    let misses = |late: u64, ring: Option<u64>, context| {
        let wakeups: Vec<Wakeup> =
            (0..30_000).map(|index| wakeup(index, if index % 100 == 50 { late } else { 0 })).collect();
        let mut question = WhatIf::new(MILLISECOND, 2, 100 * MICROSECOND, context);
        question.interference = Some(Interference::from_wakeups(1_000_000, &wakeups));
        question.ring = ring.map(|size| RingSize { samples: 16, size });
        question.duration = 30 * SECOND;
        question.answer().unwrap().misses
    };
    let thread = Context::Thread(80);
    let without = misses(1_500_000, None, thread);
    assert!((250..350).contains(&without), "{without}");
    assert_eq!(misses(1_500_000, Some(32), thread), 2 * without);
    // A ring of 64 samples is full after three more periods; one that is never full is like none.
    assert_eq!(misses(1_500_000, Some(64), thread), without);
    assert_eq!(misses(500_000, Some(32), thread), 0);
    // A stall of threads holds up neither handler nor softirq.
    for context in [Context::Irq, Context::Softirq] {
        assert_eq!(misses(1_500_000, Some(32), context), 0);
    }
    let mut question = WhatIf::new(MILLISECOND, 2, 0, thread);
    question.ring = Some(RingSize { samples: 16, size: 32 });
    let ring = |question: WhatIf| question.ring.map(|ring| ring.size);
    assert_eq!(ring(question.with("buffers", 5).unwrap()), Some(80));
    question.ring = Some(RingSize { samples: 16, size: 512 });
    assert_eq!(ring(question.with("buffers", 5).unwrap()), Some(512));
}

#[test]
fn what_a_recording_cannot_carry_is_refused_with_what_would() {
    let clean = |seconds: u64| {
        let wakeups: Vec<Wakeup> = (0..seconds * 1000).map(|index| wakeup(index, 0)).collect();
        let mut question = WhatIf::new(MILLISECOND, 2, 100 * MICROSECOND, Context::Thread(80));
        question.interference = Some(Interference::from_wakeups(1_000_000, &wakeups));
        question.duration = 20 * SECOND;
        let answer = question.answer_with_interval(2, &ToTheEnd).unwrap();
        assert_eq!(answer.misses, 0);
        // What is known before anything is counted is refused without repetitions.
        let interval = answer.interval.clone().unwrap();
        assert_eq!((interval.repetitions, question.repetitions()), if seconds < 20 { (0, 0) } else { (100, 100) });
        (interval.refused, answer.verdict())
    };
    for (seconds, word) in [(10, "at least 20.0 s"), (30, "record 30s more")] {
        let (refused, verdict) = clean(seconds);
        assert!(refused.is_some() && verdict.contains(word), "{verdict}");
    }
    let (refused, verdict) = clean(70);
    assert!(refused.is_none() && verdict.contains("from 70.0 s recorded: 0 to 0 in a run of that length"), "{verdict}");
    let wakeups: Vec<Wakeup> = (0..30_000).map(|index| wakeup(index, 0)).collect();
    let mut faster = WhatIf::new(333 * MICROSECOND, 2, 10 * MICROSECOND, Context::Thread(80));
    faster.interference = Some(Interference::from_wakeups(1_000_000, &wakeups));
    faster.duration = SECOND;
    let verdict = faster.answer_with_interval(2, &ToTheEnd).unwrap().verdict();
    assert!(verdict.contains("Wakeups every 1.00 ms") && verdict.ends_with("record with -i 333us."), "{verdict}");
    let mut alone = WhatIf::new(MILLISECOND, 2, 100 * MICROSECOND, Context::Thread(80));
    alone.duration = SECOND;
    assert!(alone.answer_with_interval(1, &ToTheEnd).unwrap().interval.is_none());
}

/// A bystander is as late as a recorded wakeup: its path costs what the recording's cost.
#[test]
fn a_bystander_pays_the_path() {
    let wakeups: Vec<Wakeup> = (0..5_000).map(|index| wakeup(index, 40_000)).collect();
    let mut question = WhatIf::new(10 * MILLISECOND, 2, MICROSECOND, Context::Thread(80));
    question.interference = Some(Interference::from_wakeups(1_000_000, &wakeups));
    question.bystander = Some((90, MILLISECOND));
    question.duration = 5 * SECOND;
    let median = question.answer().unwrap().bystander.unwrap().quantile(0.5).unwrap();
    assert!((39_000..46_000).contains(&median), "{median}");
}

#[test]
fn a_question_is_swept_by_name() {
    let question = WhatIf::new(10 * MILLISECOND, 3, MILLISECOND, Context::parse("reservation:2ms/8ms").unwrap());
    let swept = question.with("runtime", 3).unwrap().with("period", 9).unwrap().with("buffers", 4).unwrap();
    assert_eq!(swept.context, Context::Reservation { runtime: 3 * MILLISECOND, period: 9 * MILLISECOND });
    assert_eq!(swept.with("device-period", 500).unwrap().period, 500 * MICROSECOND);
    for (name, value) in [("priority", 5), ("runtime", 0), ("nothing", 1), ("period", i64::MAX)] {
        assert!(!question.with(name, value).unwrap_err().to_string().contains('\n'));
    }
}

/// A small plane of Figure 17: the same however it is split.
#[test]
fn a_sweep_over_an_experiment_is_the_same_in_shards() {
    let text = punctual_sim::shipped::BUILTIN.iter().find(|(file, _)| *file == "soft-modem-table3.toml").unwrap().1;
    let text = text.replacen("duration = \"420s\"", "duration = \"60s\"", 1).replacen("runs = 10", "runs = 1", 1);
    let experiment = Experiment::parse("small.toml", &text).unwrap();
    let sweep = Sweep::new(vec![Axis::parse("runtime=1..3").unwrap(), Axis::parse("period=2..16:7").unwrap()]).unwrap();
    let work = |values: &[i64]| {
        let value = |index: usize| punctual_sim::experiment::Setting::Integer(values[index]);
        let keys = [("device.policy.reservation.runtime", value(0)), ("device.policy.reservation.period", value(1))];
        experiment.point(None, &keys, &ToTheEnd).unwrap().unwrap()
    };
    let all: Vec<u64> = (0..sweep.points()).collect();
    let whole = sweep.run(&all, 2, work);
    let mut parts = Vec::new();
    for index in 0..3 {
        parts.extend(sweep.run(&sweep.of_shard(Shard { index, of: 3 }, &[]), 1, work));
    }
    parts.sort_by_key(|(point, _)| *point);
    assert_eq!(whole, parts);
    let class = |runtime, period| {
        let at = |(point, _): &&(u64, punctual_sim::experiment::Point)| sweep.values(*point) == [runtime, period];
        whole.iter().find(at).unwrap().1.class()
    };
    assert_eq!((class(3, 2), class(1, 2), class(1, 9)), ("impossible", "sufficient", "insufficient"));
    assert!(builtin("soft-modem-table3").unwrap().is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_answer_adds_up(period in 1..20u64, compute in 0..10u64, buffers in 2..5u64, late in prop::collection::vec((0..9_000u64, 1..30u64), 0..20), which in 0..5usize, seed: u64) {
        let context = [
            Context::Irq, Context::Softirq, Context::Thread(80),
            Context::Reservation { runtime: 2 * MILLISECOND, period: 4 * MILLISECOND }, Context::Slots { runtime: 1, period: 3 },
        ][which];
        let mut wakeups: Vec<Wakeup> = (0..9_000).map(|index| wakeup(index, 0)).collect();
        for (at, late) in late {
            wakeups[at as usize] = wakeup(at, late * 1_000_000);
        }
        let mut question = WhatIf::new(period * MILLISECOND, buffers, compute.min(period) * MILLISECOND, context);
        question.interference = Some(Interference::from_wakeups(1_000_000, &wakeups));
        question.competitors = vec![8];
        question.duration = 20 * SECOND;
        question.seed = seed;
        let answer = question.answer().unwrap();
        prop_assert!(answer.misses <= answer.activations && answer.latency.count() <= answer.activations);
        prop_assert!(answer.shares.iter().sum::<f64>() <= 1.0 + 1e-9);
        prop_assert_eq!(&answer, &question.answer().unwrap());
        if answer.misses == 0 {
            prop_assert!(answer.response.max().unwrap_or(0) <= (buffers - 1) * period * 1_000_000);
        }
    }
}
