//! Streams of the shapes that papers printed, and clean ones.

use super::*;
use crate::{Analysis, Callback, analyse};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const ORIGIN: u64 = 5_000_000_000;

/// Callbacks at these times; each due a period after the one before.
fn analysed(at: impl IntoIterator<Item = u64>, anchored: bool) -> Analysis {
    let callbacks: Vec<Callback> =
        at.into_iter().zip(0..).map(|(at_ns, n)| Callback { asked_ns: ORIGIN + n * MS, at_ns, periods: 1 }).collect();
    analyse(&Stream { period_ns: MS, origin_ns: ORIGIN, anchored, callbacks: &callbacks })
}

fn names(analysis: &Analysis) -> Vec<&'static str> {
    analysis.patterns.iter().map(Pattern::name).collect()
}

/// A number that looks random, 0 to 1, the same for the same seed and index.
fn noise(seed: u64, index: u64) -> f64 {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(index.wrapping_mul(0xd134_2543_de82_ef95));
    x ^= x >> 32;
    x = x.wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^= x >> 32;
    x = x.wrapping_mul(0xd6e8_feb8_6659_fd93);
    (x ^ (x >> 32)) as f64 / u64::MAX as f64
}

/// Ticks every 1/1024 s; a callback comes at the first tick at or after its time.
fn at_tick(due: u64) -> u64 {
    let tick = 1e9 / 1024.0;
    ORIGIN + (((due - ORIGIN) as f64 / tick).ceil() * tick) as u64
}

#[test]
fn the_rounding_fault_of_nt_is_found() {
    // MSR-TR-98-29 section 4.1: never asks to wait for less than 1 ms, waits nearly 2 ms, then fires again at once.
    let at = (0..10_000u64).map(|n| ORIGIN + n / 2 * 2 * MS + (n % 2) * 20_000);
    let found = analysed(at, true);
    assert_eq!(names(&found), ["rounding_fault"]);
    let Pattern::RoundingFault { at_zero, at_double } = found.patterns[0] else { panic!() };
    assert!((0.45..0.55).contains(&at_zero) && (0.45..0.55).contains(&at_double));
    // Table 1: a standard deviation nearly as large as the mean.
    let intervals = found.intervals.unwrap();
    assert!((intervals.mean_ns - 1_000_000).abs() < 1_000 && intervals.deviation_ns > 900_000, "{intervals:?}");
}

#[test]
fn the_beat_of_the_repaired_timer_is_found() {
    // MSR-TR-98-29 table 3: ticks 2.4 % faster than the timer, so 2.4 % of the callbacks come near 2 ms.
    let found = analysed((0..10_000).map(|n| at_tick(ORIGIN + n * MS)), true);
    assert_eq!(names(&found), ["beat"]);
    let Pattern::Beat { interval_ns, at_double, at_zero } = found.patterns[0] else { panic!() };
    assert!((970_000..980_000).contains(&interval_ns) && at_zero == 0.0);
    assert!((0.022..0.026).contains(&at_double), "{at_double}");
}

#[test]
fn waits_in_whole_milliseconds_beat() {
    // An event loop that rounds the time to the next point of the grid up to whole milliseconds, 60 us late each time.
    let mut now = ORIGIN;
    let at = (0..5_000u64).map(|n| {
        let left = (ORIGIN + n * MS).saturating_sub(now).div_ceil(MS) * MS;
        now += if left == 0 { 5_000 } else { left + 50_000 + (noise(7, n) * 20_000.0) as u64 };
        now
    });
    let found = analysed(at.collect::<Vec<_>>(), true);
    assert_eq!(names(&found), ["beat"], "{found:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_drift_of_100_ppm_is_found(seed: u64, early: bool, jitter in 0..100_000u64) {
        let at = (0..10_000u64).map(|n| {
            let drift = n * MS / 10_000;
            let base = if early { ORIGIN + n * MS - drift } else { ORIGIN + n * MS + drift };
            base + (noise(seed, n) * jitter as f64) as u64
        });
        let found = analysed(at, true);
        prop_assert_eq!(names(&found), ["drift"]);
        let wanted = if early { -100.0 } else { 100.0 };
        prop_assert!((found.drift_ppm.unwrap() - wanted).abs() < 10.0, "{:?}", found.drift_ppm);
    }

    #[test]
    fn relative_waits_drift_by_what_each_takes_longer(seed: u64, longer in 1_000..300_000u64) {
        let mut now = ORIGIN;
        let at: Vec<u64> = (0..1_000).map(|n| {
            now += MS + longer + (noise(seed, n) * 10_000.0) as u64;
            now
        }).collect();
        let found = analysed(at, false);
        prop_assert_eq!(names(&found), ["drift"]);
        prop_assert!((found.drift_ppm.unwrap() - (longer + 5_000) as f64).abs() < 2_000.0);
    }

    #[test]
    fn a_clean_stream_with_jitter_shows_nothing(
        seed: u64, count in 0..5_000u64, jitter in 0..500_000u64, late in 0..100_000u64, stalls in 0..20u64, bursts: bool
    ) {
        let mut free = 0;
        let mut callbacks = Vec::new();
        let mut periods = 1;
        for n in 0..count {
            let due = ORIGIN + n * MS;
            // Some come up to 8 ms late, by chance: those after them come in a burst, or as one.
            let stalled = noise(seed ^ 1, n) < stalls as f64 / 1_000.0;
            let stall = if stalled { (noise(seed ^ 2, n) * 8.0 * MS as f64) as u64 } else { 0 };
            let wanted = due + late + (noise(seed, n) * jitter as f64) as u64 + stall;
            if !bursts && wanted.max(free) > due + MS {
                free = free.max(wanted);
                periods += 1;
                continue;
            }
            free = wanted.max(free + 2_000);
            callbacks.push(Callback { asked_ns: due, at_ns: free, periods: std::mem::replace(&mut periods, 1) });
        }
        let stream = Stream { period_ns: MS, origin_ns: ORIGIN, anchored: true, callbacks: &callbacks };
        prop_assert_eq!(patterns(&stream), []);
    }

    #[test]
    fn coalescing_is_found(seed: u64, several in 2..8u32, jitter in 0..200_000u64) {
        let step = u64::from(several) * MS;
        let callbacks: Vec<Callback> = (1..1_000u64).map(|n| Callback {
            asked_ns: ORIGIN + (n * u64::from(several) - 1) * MS,
            at_ns: ORIGIN + n * step - MS + (noise(seed, n) * jitter as f64) as u64,
            periods: several,
        }).collect();
        let found = patterns(&Stream { period_ns: MS, origin_ns: ORIGIN, anchored: true, callbacks: &callbacks });
        prop_assert_eq!(found.iter().map(Pattern::name).collect::<Vec<_>>(), ["coalescing"]);
    }
}
