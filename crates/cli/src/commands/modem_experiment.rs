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
            line: LineOptions { signal_to_noise: options.snr.0, ..LineOptions::telephone() },
        },
        setup: Setup { buffers: options.buffers, compute_ns: options.compute, late, ..Setup::default() },
        seed: options.seed,
        ..Experiment::default()
    }
}

/// Shows progress, and knows whether the user wants the experiment to end.
pub(super) struct Steps {
    began: Instant,
    progress: StepProgress,
    interrupted: Interrupted,
}

impl Steps {
    pub(super) fn new(quiet: bool) -> Steps {
        let (progress, interrupted) = (StepProgress::new(quiet, "modem"), Interrupted::watch());
        Steps { began: Instant::now(), progress, interrupted }
    }

    /// Whether to go on.
    pub(super) fn show(&mut self, step: &Step, part: f64, words: &str) -> bool {
        let elapsed = self.began.elapsed();
        let share = (f64::from(step.done) + part) / f64::from(step.of.max(1));
        let whole = if share > 0.0 { elapsed.div_f64(share.min(1.0)) } else { Duration::ZERO };
        self.progress.show(words, elapsed, whole);
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
