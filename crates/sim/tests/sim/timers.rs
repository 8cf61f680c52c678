//! The multimedia timers of nt-timers-1998, from their mechanism alone.

use punctual_sim::cost::Cost;
use punctual_sim::machine::{Activity, ClockSpec, Engine, MachineSpec, Policy, ThreadSpec, TimerRule};
use punctual_sim::observe::{Activation, Observer};
use punctual_sim::time::{MICROSECOND, MILLISECOND, SECOND};

const RTC: u64 = 976_562_500;
const PIT: u64 = 1_003_000_000;

#[derive(Default)]
struct Starts(Vec<u64>);

impl Observer for Starts {
    fn activation(&mut self, activation: &Activation) {
        self.0.push(activation.start);
    }
}

/// The times between 10,001 callbacks asked for every millisecond.
fn intervals(period: u64, rule: TimerRule, callback: u64) -> Vec<u64> {
    let mut timer = ThreadSpec::new(
        "callback",
        Policy::Priority(31),
        Activity::Timer { interval: MILLISECOND, offset: 0, rule },
        Cost::constant(callback),
    );
    timer.cpu = 0;
    let spec = MachineSpec {
        clock: Some(ClockSpec {
            period: Some(period),
            offset: period,
            irql: 28,
            cpu: 0,
            isr: Cost::constant(3 * MICROSECOND),
            dpc: Cost::constant(2 * MICROSECOND),
        }),
        threads: vec![timer],
        ..MachineSpec::default()
    };
    let mut starts = Starts::default();
    Engine::new(spec).unwrap().run(11 * SECOND, &mut starts);
    starts.0.windows(2).take(10_000).map(|pair| pair[1] - pair[0]).collect()
}

fn between(intervals: &[u64], from_us: u64, to_us: u64) -> usize {
    intervals.iter().filter(|&&gap| (from_us..to_us).contains(&(gap / MICROSECOND))).count()
}

#[test]
fn rounding_on_the_rtc_gives_half_at_zero_and_half_at_two_milliseconds() {
    let gaps = intervals(RTC, TimerRule::Rounded, 20 * MICROSECOND);
    assert_eq!((between(&gaps, 0, 100), between(&gaps, 1400, 2400)), (4880, 5120));
}

#[test]
fn the_exact_due_time_gives_two_ticks_in_240_of_ten_thousand() {
    let gaps = intervals(RTC, TimerRule::Exact, 20 * MICROSECOND);
    assert_eq!((between(&gaps, 1900, 2000), between(&gaps, 900, 1000)), (240, 9760));
    assert_eq!(gaps, intervals(RTC, TimerRule::KernelPeriodic, 20 * MICROSECOND));
}

#[test]
fn the_pit_calls_back_each_tick_and_catches_up_thirty_times_in_ten_seconds() {
    let gaps = intervals(PIT, TimerRule::Rounded, 31 * MICROSECOND);
    // 10,000 * (1 - 1000/1003) = 29.9: 29 or 30, by where the ten seconds begin.
    assert!((29..=30).contains(&between(&gaps, 0, 100)));
}
