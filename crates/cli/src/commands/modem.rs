//! `punctual modem`.

use crate::args::modem::{LateName, ModemCommand, ModemLineArguments, ModemOptions, ModemStallsArguments};
use crate::output::{self, Output};
use crate::progress::StepProgress;
use crate::signals::Interrupted;
use anyhow::Context;
use punctual_modem::adapter::{Late, Setup};
use punctual_modem::experiment::{Experiment, Step, stall_table};
use punctual_modem::office::NUMBERS;
use punctual_modem::telephone::{LineOptions, Telephone};
use punctual_recording::counted;
use punctual_report::modem::{LineAnswer, Lined, Stalled, StallsAnswer, line_text, stalls_text};
use punctual_study::modem::line::{self, LinePlan};
use std::path::PathBuf;
use std::time::{Duration, Instant};

pub(crate) fn run(command: &ModemCommand, output: Output) -> anyhow::Result<u8> {
    match command {
        ModemCommand::Transfer(arguments) => super::modem_transfer::run(arguments, output),
        ModemCommand::Stalls(arguments) => stalls(arguments, output),
        ModemCommand::Study(arguments) => super::modem_study::run(arguments, output),
        ModemCommand::Line(arguments) => line(arguments, output),
    }
}

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

fn stalls(arguments: &ModemStallsArguments, output: Output) -> anyhow::Result<u8> {
    let experiment = Experiment { attempts: arguments.calls, ..experiment(&arguments.options) };
    let calls = arguments.calls.checked_mul(2 * (arguments.lengths.len() as u32 + 1));
    calls.context("too many calls")?;
    let mut steps = Steps::new(arguments.options.quiet);
    let rows = stall_table(&experiment, &arguments.lengths, arguments.calls, &mut |step| {
        steps.show(&step, 0.0, &format!("call {} of {}", step.done + 1, step.of))
    });
    let interrupted = steps.done();
    let stalled = Stalled { experiment: &experiment, rows: &rows, interrupted };
    if output.json {
        output::answer(StallsAnswer::new(&stalled), u8::from(interrupted));
    } else {
        output::print_text(&stalls_text(&stalled));
    }
    Ok(u8::from(interrupted))
}

fn line(arguments: &ModemLineArguments, output: Output) -> anyhow::Result<u8> {
    let Experiment { telephone, setup, seed, .. } = experiment(&arguments.options);
    let plan = LinePlan { telephone, seed, stalls: arguments.stall, setup, duration: arguments.duration };
    let interrupted = Interrupted::watch();
    let mut progress = StepProgress::new(arguments.options.quiet, "modem");
    let mut ready = |paths: &[PathBuf; 2]| {
        // Programs that start it read these two lines.
        for (name, (path, number)) in ["A", "B"].iter().zip(paths.iter().zip(NUMBERS)) {
            output::say(&format!("{name}: {}, number {number}", path.display()));
        }
    };
    let run = line::run(&plan, &mut ready, &mut |step| {
        let words = format!("{}, {} sent", counted(step.calls, "call"), counted(step.sent, "byte"));
        progress.show(&words, step.elapsed, arguments.duration.unwrap_or(step.elapsed));
        !interrupted.is_set()
    })?;
    progress.done();
    let lined = Lined { run: &run };
    if output.json {
        output::answer(LineAnswer::new(&lined), 0);
    } else {
        output::print_text(&line_text(&lined));
    }
    Ok(0)
}

/// Progress, and whether somebody wants it to end.
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

    /// Who else wants to know whether to go on.
    pub(super) fn interrupted(&self) -> Interrupted {
        self.interrupted.clone()
    }

    /// Whether it was interrupted.
    pub(super) fn done(&self) -> bool {
        self.progress.done();
        self.interrupted.is_set()
    }
}
