//! What a device would have to be like: the buffers and periods that reach a want, curves, and reliable time scales.

use crate::input::Input;
use crate::interval::{Estimate, garwood};
use crate::underrun::Underruns;
use crate::{Error, Level, Method, Stage};
use punctual_device::Profile;

/// The most buffers that are ever advised.
pub const MAX_BUFFERS: u32 = 256;
/// Periods are tried from a 16th of the present one to 1,024 times as much, by doubling.
const PERIOD_DOUBLINGS: (u32, u32) = (4, 10);

/// A device that differs in one number, and what is forecast for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// The changed device.
    pub device: Profile,
    /// Its forecast.
    pub underruns: Underruns,
}

/// How to reach a want.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Advice {
    /// The fewest buffers of the present period whose lower limit reaches the want.
    pub buffers: Option<Variant>,
    /// The shortest period, by doubling and halving, with the present number of buffers and share of computing,
    /// whose lower limit reaches the want.
    pub period: Option<Variant>,
    /// Where neither can be shown: the fewest buffers that no stall exceeded. What did not show in so short a time may
    /// still come.
    pub never_exceeded: Option<Variant>,
    /// Beside it, where the device as it is ran dry: the shortest longer period, by doubling, that no stall exceeded.
    pub longer_never_exceeded: Option<Variant>,
    /// How much longer to measure until a buffering that nothing exceeded provably reaches the want, s of this load.
    pub measure_further_s: Option<f64>,
}

/// A point of the curve of mean time between underruns against buffering.
#[derive(Debug, Clone, PartialEq)]
pub struct CurvePoint {
    /// The number of buffers.
    pub buffers: u32,
    /// The buffering, (n-1)·t, ns.
    pub buffering_ns: u64,
    /// The slack, ns.
    pub slack_ns: u64,
    /// For each stall, s of use.
    pub mttf_s: Estimate,
    /// For each buffer, as in the paper's figures, s of use.
    pub mttf_per_buffer_s: Option<f64>,
}

/// A curve of mean time between underruns against buffering.
#[derive(Debug, Clone, PartialEq)]
pub struct CurveQuestion {
    /// The amounts of buffering, ns.
    pub buffering_ns: Vec<u64>,
    /// The device that has so much of it, as its own buffers; `None` for one with two buffers as long as each amount.
    pub device: Option<Profile>,
    /// Computing time in thousandths of the period, where there is no device.
    pub compute_thousandths: u64,
    /// Where the device's work begins: after these stages. One curve each; a stage that was not measured is left out.
    pub stages: Vec<Stage>,
}

/// One curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// The stage after which the work begins.
    pub stage: Stage,
    /// The id of the device whose buffers these are; `None` for one with two buffers as long as each amount.
    pub device: Option<String>,
    /// The curve, in the order asked for.
    pub points: Vec<CurvePoint>,
}

/// The shortest period that is met with a given reliability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeScale {
    /// The share of activations that must begin within their period.
    pub reliability: f64,
    /// The shortest such period, ns; `None` where this recording cannot show it for any.
    pub period_ns: Option<u64>,
    /// How much longer to measure until it could be shown for the longest latency seen, s of this load.
    pub measure_further_s: Option<f64>,
}

impl Input {
    /// The smallest change to a device that reaches its want under this load. Of one whose period is fixed neither that nor its
    /// buffers can change: whether it is enough as it is.
    ///
    /// # Errors
    /// As for [`Input::underruns`], for the device as it is.
    pub fn advise(&self, device: &Profile, stage: Stage) -> Result<Advice, Error> {
        let watch = self.watch(stage)?;
        let runs_dry = watch.underruns(device)?.over > 0;
        let mut advice = Advice::default();
        let is_fixed = device.has_fixed_period();
        let numbers = if is_fixed { device.buffers..=device.buffers } else { 2..=MAX_BUFFERS };
        for buffers in numbers {
            let changed = device.with_buffers(buffers);
            let Ok(underruns) = watch.underruns(&changed) else { continue };
            let (holds, nothing) = (underruns.outcome.holds(), underruns.over == 0);
            if nothing && !holds {
                // Nothing exceeded the present buffering, so more of it changes nothing: only more measuring tells.
                advice.measure_further_s = underruns.measure_further_s;
                advice.never_exceeded = Some(Variant { device: changed, underruns });
                break;
            }
            if holds {
                advice.buffers = Some(Variant { device: changed, underruns });
                break;
            }
        }
        if is_fixed {
            return Ok(advice);
        }
        let (down, up) = PERIOD_DOUBLINGS;
        for doubling in 0..=(down + up) {
            let Some(period_ns) = device.period_ns.checked_shl(doubling).map(|period| period >> down) else { break };
            if period_ns == 0 {
                continue;
            }
            let changed = device.with_period(period_ns);
            let Ok(underruns) = watch.underruns(&changed) else { continue };
            if underruns.outcome.holds() {
                advice.period = Some(Variant { device: changed, underruns });
                advice.longer_never_exceeded = None;
                break;
            }
            let is_beside = advice.never_exceeded.is_some() && advice.longer_never_exceeded.is_none();
            if is_beside && runs_dry && doubling > down && underruns.over == 0 {
                advice.longer_never_exceeded = Some(Variant { device: changed, underruns });
            }
        }
        Ok(advice)
    }

    /// The mean time between underruns against buffering, for a double-buffered device that computes for
    /// `compute_thousandths` thousandths of its period, as in Figures 6 and 7 of Cota-Robles and Held (OSDI 1999).
    ///
    /// # Errors
    /// As for [`Input::underruns`].
    pub fn curve(
        &self,
        buffering_ns: &[u64],
        compute_thousandths: u64,
        stage: Stage,
    ) -> Result<Vec<CurvePoint>, Error> {
        let any = punctual_device::Catalogue::shipped().profiles();
        let any = any.first().ok_or_else(|| Error::Question("the catalogue is empty".to_owned()))?;
        let of = |&buffering: &u64| {
            let compute = u128::from(buffering) * u128::from(compute_thousandths) / 1_000;
            let compute = u64::try_from(compute).unwrap_or(u64::MAX);
            any.with_period(buffering).with_buffers(2).with_compute(compute)
        };
        self.along(&buffering_ns.iter().map(of).collect::<Vec<_>>(), stage)
    }

    /// The same for a device with its own period and work, and as many buffers as make up each amount of buffering, or
    /// a part of one more; its own number of buffers is among them.
    ///
    /// # Errors
    /// As for [`Input::underruns`].
    pub fn curve_of(&self, device: &Profile, buffering_ns: &[u64], stage: Stage) -> Result<Vec<CurvePoint>, Error> {
        let number = |buffering: &u64| {
            let periods = buffering.div_ceil(device.period_ns.max(1));
            u32::try_from(periods.saturating_add(1)).unwrap_or(u32::MAX).max(2)
        };
        let mut numbers: Vec<u32> = buffering_ns.iter().map(number).chain([device.buffers]).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let devices: Vec<Profile> = numbers.into_iter().map(|number| device.with_buffers(number)).collect();
        self.along(&devices, stage)
    }

    /// The curve that was asked for, of work after this stage.
    pub(crate) fn curve_asked(&self, asked: &CurveQuestion, stage: Stage) -> Result<Curve, Error> {
        let points = match &asked.device {
            Some(device) => self.curve_of(device, &asked.buffering_ns, stage)?,
            None => self.curve(&asked.buffering_ns, asked.compute_thousandths, stage)?,
        };
        Ok(Curve { stage, device: asked.device.as_ref().map(|device| device.id.clone()), points })
    }

    /// The points of a curve for devices of ever more buffering.
    fn along(&self, devices: &[Profile], stage: Stage) -> Result<Vec<CurvePoint>, Error> {
        let watch = self.watch(stage)?;
        let mut points = Vec::with_capacity(devices.len());
        for device in devices {
            let found = watch.underruns(device)?;
            points.push(CurvePoint {
                buffers: device.buffers,
                buffering_ns: device.tolerance_ns(),
                slack_ns: device.usable_slack_ns()?,
                mttf_s: found.mttf_s,
                mttf_per_buffer_s: found.mttf_per_buffer_s,
            });
        }
        Ok(points)
    }

    /// The shortest period for which a wanted share of activations begins before the next is due, with 95 % confidence:
    /// the time scale at which the system is reliable (Jones and Regehr, NOSSDAV 1998, sections 1 and 7). Late wakeups
    /// of one stall are one piece of evidence.
    ///
    /// # Errors
    /// [`Error::Question`] for a reliability outside 0 to 1; [`Error::Recording`] where the stage was not measured.
    pub fn time_scale(&self, reliability: f64, stage: Stage) -> Result<TimeScale, Error> {
        if !(reliability > 0.0 && reliability < 1.0) {
            return Err(Error::Question(format!(
                "a reliability of {reliability} makes no sense: it lies between 0 and 1"
            )));
        }
        let lateness = self.stages.get(&stage).ok_or_else(|| {
            Error::Recording(format!("{} under {} has no stage `{}`", self.measure, self.load, stage.name()))
        })?;
        let fill_in = self.fills_in(stage);
        let recorded = self.tasks.iter().map(|task| task.period_ns).max().unwrap_or(1).max(1);
        let missed = if fill_in { self.missed() } else { 0 };
        let activations = lateness.distribution.count().saturating_add(missed) as f64;
        let level = crate::stall::peak_level(
            &lateness.largest,
            &self.tasks,
            lateness.complete_above_ns,
            self.exposure_of(stage),
        );
        let found = crate::stalls(&lateness.largest, &self.tasks, level, self.exposure_of(stage), fill_in);
        let index = if found.filled > 0 { found.of_tasks.len() as f64 / found.filled as f64 } else { 1.0 };
        let highest = lateness.distribution.max().unwrap_or(0);
        // The value that stands for a bucket may lie above everything in it.
        let buckets: Vec<(u64, u64)> =
            lateness.distribution.buckets().map(|(value, count)| (value.min(highest), count)).collect();
        let exceeded = |period: u64| {
            let beyond = buckets.iter().filter(|(value, _)| *value > period);
            let late = beyond.fold(0u64, |sum, (value, count)| {
                let each = if fill_in { (value - period).div_ceil(recorded) } else { 1 };
                sum.saturating_add(count.saturating_mul(each))
            });
            let stalls = (late as f64 * index).round() as u64;
            garwood(stalls.max(u64::from(late > 0))).high.unwrap_or(f64::INFINITY) / index / activations
        };
        let allowed = 1.0 - reliability;
        if exceeded(highest) > allowed {
            let needed = exceeded(highest) / allowed - 1.0;
            let further = needed * self.exposure_of(stage) / 1e9;
            return Ok(TimeScale { reliability, period_ns: None, measure_further_s: Some(further) });
        }
        let (mut low, mut high) = (0, highest);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if exceeded(middle) <= allowed { high = middle } else { low = middle }
        }
        Ok(TimeScale { reliability, period_ns: Some(high), measure_further_s: None })
    }
}

/// Whether a level says more than a bound.
pub(crate) fn is_known(level: &Level) -> bool {
    level.method != Method::Bound
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, device, input};
    use crate::underrun::Outcome;

    /// This many hours with stalls of exponential length, 60 an hour, 2 ms on average.
    fn hours(hours: u64) -> Input {
        let mut random = Random(11);
        let end = hours as f64 * 3.6e12;
        let mut late: Vec<(u64, u64)> = (0..hours * 60)
            .map(|_| ((random.uniform() * end) as u64, (random.exponential() * 2e6) as u64 + 20_000))
            .collect();
        late.sort_unstable();
        let others = hours * 3_600_000 - late.len() as u64;
        input(1_000_000, &late, others, Some(0))
    }

    #[test]
    fn buffers_that_are_just_enough() {
        let audio = device(2_000_000, 2, 200_000);
        let input = hours(170);
        let advice = input.advise(&audio, Stage::Total).unwrap();
        let enough = advice.buffers.unwrap();
        assert_eq!(enough.underruns.outcome, Outcome::Holds);
        let fewer = input.underruns(&audio.with_buffers(enough.device.buffers - 1), Stage::Total).unwrap();
        assert_ne!(fewer.outcome, Outcome::Holds);
        let longer = advice.period.unwrap();
        assert_eq!(longer.underruns.outcome, Outcome::Holds);
        assert!(longer.device.period_ns > audio.period_ns);
    }

    #[test]
    fn what_a_short_recording_cannot_show() {
        let audio = device(2_000_000, 2, 200_000).with_want(86_400);
        let advice = hours(1).advise(&audio, Stage::Total).unwrap();
        assert!(advice.buffers.is_none() && advice.period.is_none());
        let enough = advice.never_exceeded.unwrap();
        assert_eq!(enough.underruns.over, 0);
        // The shortest of the periods of 4, 8, 16 ms ... that stands beside it.
        let longer = advice.longer_never_exceeded.unwrap();
        assert_eq!((longer.underruns.over, longer.device.buffers), (0, 2));
        let doublings = (longer.device.period_ns / audio.period_ns).ilog2();
        assert!(doublings > 0 && longer.device.period_ns == audio.period_ns << doublings, "{longer:?}");
        let shorter = audio.with_period(longer.device.period_ns / 2);
        assert!(hours(1).underruns(&shorter, Stage::Total).unwrap().over > 0);
        // A device that nothing exceeded as it stands needs no longer period.
        let enough = hours(1).advise(&enough.device, Stage::Total).unwrap();
        assert!(enough.never_exceeded.is_some() && enough.longer_never_exceeded.is_none());
        // Five days in all, at least.
        assert!(advice.measure_further_s.unwrap() > 4.9 * 86_400.0);
    }

    #[test]
    fn a_slot_is_enough_as_it_is_or_nothing_is_advised() {
        let advised = |tolerance_ns: u64| {
            let mut slot = device(tolerance_ns, 2, tolerance_ns / 2).with_want(86_400);
            slot.unit = Some(punctual_device::Unit::Slot);
            hours(1).advise(&slot, Stage::Total).unwrap()
        };
        assert_eq!(advised(500_000), Advice::default());
        // No stall is as long as half of this slot, and an hour does not show that none ever is.
        let long = advised(1_000_000_000);
        let as_it_is = long.never_exceeded.unwrap();
        assert_eq!((as_it_is.device.period_ns, as_it_is.device.buffers), (1_000_000_000, 2));
        assert!(long.period.is_none() && long.longer_never_exceeded.is_none());
        assert!(long.measure_further_s.is_some());
    }

    #[test]
    fn curves_rise() {
        let input = hours(50);
        let buffering: Vec<u64> = (2..12).map(|ms| ms * 1_000_000).collect();
        let curve = input.curve(&buffering, 250, Stage::Total).unwrap();
        assert_eq!(curve[0].slack_ns, 1_500_000);
        assert!(curve.windows(2).all(|pair| pair[0].mttf_s.low <= pair[1].mttf_s.low));
        assert!(input.curve(&buffering, 1_001, Stage::Total).is_err());
    }

    #[test]
    fn a_devices_curve_has_its_period_its_work_and_its_own_point() {
        let input = hours(50);
        let audio = device(2_000_000, 3, 500_000);
        let curve = input.curve_of(&audio, &[1_000_000, 2_000_000, 9_000_000], Stage::Total).unwrap();
        let points: Vec<_> = curve.iter().map(|point| (point.buffers, point.buffering_ns, point.slack_ns)).collect();
        assert_eq!(points, [(2, 2_000_000, 1_500_000), (3, 4_000_000, 3_500_000), (6, 10_000_000, 9_500_000)]);
        assert_eq!(curve[1].mttf_s, input.underruns(&audio, Stage::Total).unwrap().mttf_s);
    }

    #[test]
    fn reliable_time_scales() {
        let input = hours(10);
        let at = |reliability| input.time_scale(reliability, Stage::Total).unwrap();
        let (three, four, five) = (at(0.999), at(0.9999), at(0.99999));
        assert!(three.period_ns <= four.period_ns && four.period_ns <= five.period_ns);
        // 600 stalls in 36 million activations: one in 60,000 is late at all.
        assert!(four.period_ns.unwrap() < 20_000 && five.period_ns.unwrap() > 500_000, "{five:?}");
        let nine = at(0.999_999_999);
        assert!(nine.period_ns.is_none() && nine.measure_further_s.unwrap() > 1e6);
        assert!(input.time_scale(1.0, Stage::Total).is_err());
    }

    #[test]
    fn what_a_time_scale_still_takes() {
        // None of 1,000 was later than the longest: at most 2.996 in as many (-ln 0.05), one in a thousand of 2,996.
        let found = input(1_000_000, &[], 1_000, Some(0)).time_scale(0.999, Stage::Total).unwrap();
        assert_eq!(found.period_ns, None);
        assert!((found.measure_further_s.unwrap() - 1.996).abs() < 0.001, "{found:?}");
    }
}
