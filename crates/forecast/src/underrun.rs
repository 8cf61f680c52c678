//! How often a device runs dry: its slack, the stalls beyond it, and the mean time between underruns.

use crate::Error;
use crate::input::Input;
use crate::interval::{Estimate, further_exposure, weighted};
use crate::stall::stalls;
use crate::veto::overdispersion;
use punctual_device::Profile;
use punctual_recording::Stage;

/// What a forecast says about a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The lower limit of the mean time between underruns reaches the want.
    Holds,
    /// The upper limit does not.
    Fails,
    /// Neither.
    Unknown,
}

impl Outcome {
    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Holds => "holds",
            Outcome::Fails => "fails",
            Outcome::Unknown => "unknown",
        }
    }
}

/// How often a device runs dry under one load.
#[derive(Debug, Clone, PartialEq)]
pub struct Underruns {
    /// Stalls beyond the slack that were seen, those of several tasks with one cause counted once.
    /// Where the recording's tail does not reach down to the slack: late wakeups.
    pub over: u64,
    /// Whether `over` counts wakeups, more than there are stalls, because the tail does not reach down to the slack.
    pub is_upper_count: bool,
    /// The share of all wakeups, with those that were skipped, that were later than the slack.
    pub probability: Option<f64>,
    /// Stalls for each late wakeup; 1 where they come singly. `None` where none was late.
    pub extremal_index: Option<f64>,
    /// How many times as variable stalls were as if they came independently, where that is no accident; else 1.
    /// Intervals are widened by it, as those of a quasi-Poisson count.
    pub dispersion: f64,
    /// Stalls beyond the slack for each hour of use that this device would meet.
    pub per_hour: Estimate,
    /// The mean time between underruns, s of use: one for each stall.
    pub mttf_s: Estimate,
    /// The mean time between missed buffers as the paper has it, s of use: (n-1)·t over the probability
    /// (Cota-Robles and Held, OSDI 1999, section 5); it counts every buffer of a stall.
    pub mttf_per_buffer_s: Option<f64>,
    /// Against the device's want.
    pub outcome: Outcome,
    /// How much longer to measure until the outcome is known, s of this load; `None` where it is known,
    /// or where measuring would not tell.
    pub measure_further_s: Option<f64>,
}

impl Input {
    /// How often a device that begins its work where `stage` ends runs dry under this load.
    ///
    /// The device meets a stall when one of its own activations is held up beyond the slack. Its activations are
    /// `period` apart and the recording's wakeups another period: a stall that made m wakeups late, of period p,
    /// holds up the device with probability min(1, m·p/t) where t >= p, and counts t/p fold at most where it held
    /// up one wakeup of a recording that is coarser than the device, since such a recording misses short stalls.
    ///
    /// # Errors
    /// [`Error::Device`] for a device that cannot work; [`Error::Recording`] where the stage was not measured.
    pub fn underruns(&self, device: &Profile, stage: Stage) -> Result<Underruns, Error> {
        let slack = device.usable_slack_ns()?;
        let mut underruns = self.underruns_at(slack, device.period_ns, stage, device.want_s as f64)?;
        let cycle = device.tolerance_ns() as f64 / 1e9;
        let probability = underruns.probability.filter(|&probability| probability > 0.0);
        underruns.mttf_per_buffer_s = probability.map(|probability| cycle / probability * self.compression());
        Ok(underruns)
    }

    fn underruns_at(&self, slack_ns: u64, period_ns: u64, stage: Stage, want_s: f64) -> Result<Underruns, Error> {
        let lateness = self.stages.get(&stage).ok_or_else(|| {
            let message = format!("{} under {} has no stage `{}`", self.measure, self.load, stage.name());
            Error::Recording(message)
        })?;
        let exposure_s = self.exposure_of(stage) / 1e9 * self.compression();
        if exposure_s <= 0.0 {
            return Err(Error::Recording("nothing was measured long enough to be counted".to_owned()));
        }
        let fill_in = self.fills_in(stage);
        let period = period_ns as f64;
        let tasks = self.tasks.len().max(1) as f64;
        let recorded = self.tasks.iter().map(|task| task.period_ns).max().unwrap_or(1) as f64;
        let largest_weight = (recorded / period).max(1.0);
        let chance = |late: u64, recorded: f64, beyond: f64| match recorded / period {
            ratio if ratio > 1.0 && beyond < period => ratio,
            ratio => (late as f64 * ratio).min(1.0),
        };
        let level = slack_ns.max(lateness.complete_above_ns);
        let found = stalls(&lateness.largest, &self.tasks, level, self.exposure_of(stage), fill_in);
        let mut weights = vec![0.0; found.count];
        for stall in &found.of_tasks {
            let beyond = stall.peak_ns.saturating_sub(slack_ns);
            let period = self.tasks[stall.task].period_ns.max(1);
            // Skipped or not, a wakeup this late says for how long another activation would have been held up.
            let late = stall.filled.max(beyond.div_ceil(period));
            weights[stall.cause] += chance(late, period as f64, beyond as f64) / tasks;
        }
        let (sum, squares) = (weights.iter().sum::<f64>(), weights.iter().map(|weight| weight * weight).sum::<f64>());
        let times: Vec<u64> = found.peaks().iter().map(|peak| peak.1).collect();
        let dispersion = overdispersion(&times, self.exposure_of(stage));
        let squares = squares * dispersion;
        let certain = weighted(sum, squares, largest_weight);
        let index = found.extremal_index();
        let is_upper_count = slack_ns < lateness.complete_above_ns;
        let (over, filled, rate) = if is_upper_count {
            // Below the tail only the distribution knows: its wakeups may share stalls, so they bound them from above.
            let (mut over, mut filled, mut sum, mut squares) = (0u64, 0u64, 0.0, 0.0);
            for (value, count) in lateness.distribution.buckets().filter(|(value, _)| *value > slack_ns) {
                let beyond = value - slack_ns;
                let late = beyond.div_ceil((recorded as u64).max(1));
                let weight = chance(late, recorded, beyond as f64) / tasks;
                over += count;
                filled += count * if fill_in { late } else { 1 };
                sum += weight * count as f64;
                squares += weight * weight * count as f64;
            }
            let most = weighted(sum, squares * dispersion, largest_weight);
            let value = index.map(|index| (index * sum).max(certain.low.unwrap_or(0.0)));
            (over, filled, Estimate { low: certain.low, value, high: most.high })
        } else {
            (found.count as u64, found.filled, certain)
        };
        let missed = if fill_in { self.tasks.iter().filter_map(|task| task.missed).sum() } else { 0 };
        let activations = lateness.distribution.count() + missed;
        let rate = rate.scaled(1.0 / exposure_s);
        let mttf_s = rate.inverse();
        let outcome = match (mttf_s.low, mttf_s.high) {
            (Some(low), _) if low >= want_s => Outcome::Holds,
            (_, Some(high)) if high < want_s => Outcome::Fails,
            _ => Outcome::Unknown,
        };
        let further = || further_exposure(sum, squares, largest_weight, want_s / exposure_s);
        let undecided = outcome == Outcome::Unknown && !is_upper_count;
        let exposure_of_load = exposure_s / self.compression();
        Ok(Underruns {
            over,
            is_upper_count,
            probability: (activations > 0).then(|| (filled as f64 / activations as f64).min(1.0)),
            extremal_index: index,
            dispersion,
            per_hour: rate.scaled(3_600.0),
            mttf_s,
            mttf_per_buffer_s: None,
            outcome,
            measure_further_s: undecided.then(further).flatten().map(|further| further * exposure_of_load),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, device, input};

    const MS: f64 = 1e6;

    #[test]
    fn the_papers_arithmetic() {
        // Section 4.3: a wait of 16 ms once in 165,000 is one in 44 minutes, once in 1,000 one in 16 s.
        for (waits, expected_s) in [(165_000u64, 44.0 * 60.0), (1_000, 16.0)] {
            let input = input(16_000_000, &[(1_000 * 16_000_000, 17_000_000)], waits - 2, Some(1));
            let audio = device(16_000_000, 2, 0);
            let found = input.underruns(&audio, Stage::Total).unwrap();
            let per_buffer = found.mttf_per_buffer_s.unwrap();
            assert!((per_buffer / expected_s - 1.0).abs() < 0.01, "{per_buffer} is not {expected_s}");
        }
    }

    #[test]
    fn the_quoted_readings_of_the_figures() {
        // Figure 6: 12 ms of buffering and a modem at 25 % (slack 10.5 ms), once in 12 to 15 minutes: that is a
        // latency table with 1.33 to 1.67 of 100,000 above the slack. Figure 7: 48 ms, slack 44 ms, once an hour.
        for (period, buffers, slack_ms, probability, from_s, to_s) in
            [(6_000_000, 3, 10.5, 1.5e-5, 720.0, 900.0), (16_000_000, 4, 44.0, 1.333e-5, 3_500.0, 3_700.0)]
        {
            let modem = device(period, buffers, period / 4);
            assert_eq!(modem.usable_slack_ns().unwrap(), (slack_ms * MS) as u64);
            let waits = 1_000_000u64;
            let late: Vec<(u64, u64)> = (0..(probability * waits as f64).round() as u64)
                .map(|index| (index * 50_000_000_000, modem.usable_slack_ns().unwrap() + 1))
                .collect();
            let input = input(1_000_000, &late, waits - late.len() as u64, Some(0));
            let mttf = input.underruns(&modem, Stage::Total).unwrap().mttf_per_buffer_s.unwrap();
            assert!(from_s <= mttf && mttf <= to_s, "{mttf}");
        }
    }

    /// Blackouts of exponential length, 20 an hour and 8 ms in the mean, as a thread at 1 kHz that skips sees them.
    fn blackouts(seed: u64, hours: f64) -> Input {
        let mut random = Random(seed);
        let end = hours * 3.6e12;
        let (mut at, mut late, mut missed) = (0.0, Vec::new(), 0);
        loop {
            at += random.exponential() * 180.0e9;
            if at >= end {
                break;
            }
            let over = at + random.exponential() * 8.0 * MS;
            let due = (at / MS).ceil() * MS;
            if due < over {
                late.push((due as u64, (over - due) as u64));
                missed += ((over - due) / MS) as u64;
            }
        }
        let wakeups = (end / MS) as u64 - missed - late.len() as u64;
        input(1_000_000, &late, wakeups, Some(missed))
    }

    #[test]
    fn skipped_activations_are_filled_in_once_and_stalls_counted_once() {
        // Cycle 12 ms, slack 10.5 ms: the truth is 16.7 minutes a missed buffer and 21.5 a stall.
        let modem = device(12_000_000, 2, 1_500_000);
        let found = blackouts(7, 2_000.0).underruns(&modem, Stage::Total).unwrap();
        let per_buffer = found.mttf_per_buffer_s.unwrap() / 60.0;
        assert!((per_buffer / 16.7 - 1.0).abs() < 0.05, "{per_buffer} minutes");
        let per_stall = found.mttf_s.value.unwrap() / 60.0;
        assert!((per_stall / 21.5 - 1.0).abs() < 0.05, "{per_stall} minutes");
    }

    #[test]
    fn a_device_finer_than_the_recording_is_never_flattered() {
        // At 1 kHz, stalls beyond 0.4 ms; a device of 0.5 ms meets up to twice as many.
        let fine = device(500_000, 2, 100_000);
        let same = device(1_000_000, 2, 600_000);
        let input = blackouts(9, 500.0);
        let (fine, same) = (input.underruns(&fine, Stage::Total), input.underruns(&same, Stage::Total));
        assert!(fine.unwrap().mttf_s.value.unwrap() <= same.unwrap().mttf_s.value.unwrap());
    }

    #[test]
    fn nothing_seen_is_a_bound_and_never_for_ever() {
        let input = input(1_000_000, &[], 3_600_000, Some(0));
        let found = input.underruns(&device(4_000_000, 3, 1_000_000), Stage::Total).unwrap();
        assert_eq!((found.over, found.mttf_s.value, found.mttf_s.high), (0, None, None));
        assert!((found.mttf_s.low.unwrap() / 1_201.7 - 1.0).abs() < 0.001);
        assert_eq!(found.outcome, Outcome::Unknown);
        // One underrun an hour is wanted: three hours in all.
        assert!((found.measure_further_s.unwrap() / 7_185.0 - 1.0).abs() < 0.01);
    }

    #[test]
    fn verdicts_need_their_whole_interval() {
        let every = |seconds: u64, count: u64| -> Vec<(u64, u64)> {
            (0..count).map(|index| (index * seconds * 1_000_000_000, 20_000_000)).collect()
        };
        let modem = device(4_000_000, 3, 1_000_000);
        let judge = |late: &[(u64, u64)], hours: u64| {
            input(1_000_000, late, hours * 3_600_000 - late.len() as u64, Some(0))
                .underruns(&modem, Stage::Total)
                .unwrap()
        };
        assert_eq!(judge(&every(60, 120), 2).outcome, Outcome::Fails);
        assert_eq!(judge(&every(7_000, 1), 3).outcome, Outcome::Unknown);
        assert_eq!(judge(&every(7_000, 1), 100).outcome, Outcome::Holds);
        let near = judge(&every(3_600, 10), 10);
        assert_eq!((near.outcome, near.measure_further_s), (Outcome::Unknown, None));
    }

    #[test]
    fn bursts_widen_the_interval() {
        let at = |seconds: &dyn Fn(u64) -> u64| -> Vec<(u64, u64)> {
            (0..200).map(|index| (seconds(index) * 1_000_000_000, 20_000_000)).collect()
        };
        let modem = device(4_000_000, 3, 1_000_000);
        let judge =
            |late: &[(u64, u64)]| input(1_000_000, late, 36_000_000, Some(0)).underruns(&modem, Stage::Total).unwrap();
        let even = judge(&at(&|index| index * 180));
        let bursts = judge(&at(&|index| index / 50 * 9_000 + index % 50));
        assert!(even.dispersion == 1.0 && bursts.dispersion > 10.0);
        assert_eq!(even.over, bursts.over);
        assert!(bursts.mttf_s.low < even.mttf_s.low && bursts.mttf_s.high > even.mttf_s.high);
    }

    #[test]
    fn hours_of_use_stretch_the_time() {
        let mut input = input(1_000_000, &[(1_000_000_000, 20_000_000)], 3_600_000, Some(0));
        let modem = device(4_000_000, 3, 1_000_000);
        let plain = input.underruns(&modem, Stage::Total).unwrap().mttf_s.value.unwrap();
        input.compression_thousandths = Some(10_000);
        let office = input.underruns(&modem, Stage::Total).unwrap().mttf_s.value.unwrap();
        assert!((office / plain - 10.0).abs() < 1e-9);
    }

    #[test]
    fn below_the_tail_wakeups_bound_the_stalls() {
        let late: Vec<(u64, u64)> = (0..1_000).map(|index| (index * 1_000_000_000, 5_000_000 + index)).collect();
        let mut input = input(1_000_000, &late, 1_000_000, Some(0));
        let lateness = input.stages.get_mut(&Stage::Total).unwrap();
        lateness.largest.retain(|late| late.value_ns > 5_000_900);
        lateness.complete_above_ns = 5_000_900;
        let found = input.underruns(&device(3_000_000, 2, 0), Stage::Total).unwrap();
        assert!(found.is_upper_count);
        assert_eq!(found.over, 1_000);
        assert!(found.mttf_s.low < found.mttf_s.high);
    }

    #[test]
    fn impossible_devices_are_refused() {
        let input = input(1_000_000, &[], 1_000, Some(0));
        assert!(input.underruns(&device(1_000, 2, 2_000), Stage::Total).is_err());
        assert!(input.underruns(&device(1_000, 2, 0), Stage::Irq).unwrap_err().to_string().contains("irq"));
    }
}
