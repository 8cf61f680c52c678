//! The experiment that options of `punctual modem` ask for, and its progress.

use crate::args::modem::{LateName, ModemOptions};
use crate::progress::StepProgress;
use crate::signals::Interrupted;
use punctual_modem::adapter::{Late, Setup};
use punctual_modem::experiment::{Experiment, Step};
use punctual_modem::telephone::{LineOptions, Telephone};
use std::time::{Duration, Instant};

pub(super) fn experiment(options: &ModemOptions) -> Experiment {
    let late = match options.late {
        LateName::WorkOff => Late::WorkOff,
        LateName::DropStale => Late::DropStale,
    };
    Experiment {
        telephone: Telephone {
            max_rate: options.rate,
            line: LineOptions {
                signal_to_noise: options.snr.0,
                companding: options.law.law(),
                ..LineOptions::telephone()
            },
            ..Telephone::default()
        },
        setup: Setup {
            buffers: options.buffers,
            compute_ns: options.compute.unwrap_or(Setup::default().compute_ns),
            late,
            ..Setup::default()
        },
        seed: options.seed,
        ..Experiment::default()
    }
}

/// Shows progress, and knows whether the user wants the experiment to end.
pub(super) struct Steps {
    began: Instant,
    estimate: Estimate,
    progress: StepProgress,
    interrupted: Interrupted,
}

impl Steps {
    pub(super) fn new(quiet: bool) -> Steps {
        let (progress, interrupted) = (StepProgress::new(quiet, "modem"), Interrupted::watch());
        Steps { began: Instant::now(), estimate: Estimate::default(), progress, interrupted }
    }

    /// Whether to go on; `part`: how much of this call is done, 0 while it is set up.
    pub(super) fn show(&mut self, step: &Step, part: f64, words: &str) -> bool {
        let elapsed = self.began.elapsed();
        match self.estimate.whole((step.done, step.of), part, elapsed) {
            Some(whole) => self.progress.show(words, elapsed, whole),
            None => self.progress.begin(words, elapsed),
        }
        !self.interrupted.is_set()
    }

    /// For others that need to know whether to go on.
    pub(super) fn interrupted(&self) -> Interrupted {
        self.interrupted.clone()
    }

    /// Whether it was interrupted.
    pub(super) fn done(&self) -> bool {
        self.progress.done();
        self.interrupted.is_set()
    }
}

/// How long all calls take. Times are since the beginning of the experiment.
#[derive(Debug, Default)]
struct Estimate {
    /// When the first call began: whatever ran before it is no measure.
    first: Option<Duration>,
    /// The call in progress, and when it began.
    call: u32,
    began: Duration,
    /// When it was seen to be set up, and which part of it was done then.
    set_up: Option<(Duration, f64)>,
}

impl Estimate {
    /// A smaller part of a call says nothing about the rest of it.
    const MIN_PART: f64 = 0.02;

    /// When all calls will be over; `None` until the first one has got far enough to tell. `calls`: that are over, and in all.
    fn whole(&mut self, (done, of): (u32, u32), part: f64, elapsed: Duration) -> Option<Duration> {
        let first = *self.first.get_or_insert(elapsed);
        if done != self.call || self.began < first {
            (self.call, self.began, self.set_up) = (done, elapsed, None);
        }
        if part > 0.0 && self.set_up.is_none() {
            self.set_up = Some((elapsed, part));
        }
        let one = match self.set_up {
            Some((since, before)) if part - before >= Self::MIN_PART => {
                let rest = elapsed.saturating_sub(since).mul_f64((1.0 - before).max(0.0) / (part - before));
                since.saturating_sub(self.began) + rest
            }
            // As long as those before.
            _ if done > 0 => self.began.saturating_sub(first).div_f64(f64::from(done)),
            _ => return None,
        };
        Some(self.began + one.mul_f64(f64::from(of.saturating_sub(done))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn how_long_a_call_takes_is_told_by_what_has_arrived_and_not_by_its_set_up() {
        // 5 s of set-up, then 20 s; the load took 7 s to warm up before.
        let mut estimate = Estimate::default();
        let mut met = 0;
        for tenths in 0..250_u32 {
            let at = f64::from(tenths) / 10.0;
            let part = ((at - 5.0) / 20.0).max(0.0);
            let whole = estimate.whole((0, 2), part, 7 * SECOND + SECOND.mul_f64(at));
            if at < 5.4 {
                assert_eq!(whole, None, "{at} s");
            } else if at > 5.6 {
                let told = whole.unwrap_or_else(|| panic!("nothing after {at} s")).as_secs_f64();
                assert!((told - 57.0).abs() < 1.0, "{told} s after {at} s");
                met += 1;
            }
        }
        assert!(met > 100, "{met}");
        // The second call is set up, and takes as long as the first.
        let told = estimate.whole((1, 2), 0.0, 32 * SECOND).map(|whole| whole.as_secs_f64().round());
        assert_eq!(told, Some(57.0));
    }

    #[test]
    fn calls_without_parts_are_told_by_those_that_are_over() {
        let mut estimate = Estimate::default();
        assert_eq!(estimate.whole((0, 4), 0.0, Duration::ZERO), None);
        assert_eq!(estimate.whole((0, 4), 0.0, 9 * SECOND), None);
        assert_eq!(estimate.whole((1, 4), 0.0, 10 * SECOND), Some(40 * SECOND));
        assert_eq!(estimate.whole((1, 4), 0.0, 19 * SECOND), Some(40 * SECOND));
        assert_eq!(estimate.whole((2, 4), 0.0, 24 * SECOND), Some(48 * SECOND));
    }
}
