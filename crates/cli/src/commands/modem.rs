//! `punctual modem`.

use super::modem_experiment::{Steps, experiment};
use crate::args::modem::{ModemCommand, ModemLineArguments, ModemStallsArguments};
use crate::output::{self, Output};
use crate::progress::StepProgress;
use crate::signals::Interrupted;
use anyhow::Context;
use punctual_modem::experiment::{Experiment, stall_table};
use punctual_modem::office::NUMBERS;
use punctual_recording::counted;
use punctual_report::modem::{LineAnswer, Lined, Stalled, StallsAnswer, line_text, stalls_text};
use punctual_study::modem::line::{self, LinePlan};
use std::path::PathBuf;

pub(crate) fn run(command: &ModemCommand, output: Output) -> anyhow::Result<u8> {
    match command {
        ModemCommand::Transfer(arguments) => super::modem_transfer::run(arguments, output),
        ModemCommand::Stalls(arguments) => stalls(arguments, output),
        ModemCommand::Study(arguments) => super::modem_study::run(arguments, output),
        ModemCommand::Judge(arguments) => super::modem_judge::run(arguments, output),
        ModemCommand::Line(arguments) => line(arguments, output),
        ModemCommand::Serve(arguments) => super::modem_apart::serve(arguments, output),
        ModemCommand::Call(arguments) => super::modem_apart::call(arguments, output),
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
        // Programs that start this command read these two lines.
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
    let lined = Lined { run: &run, next: None };
    if output.json {
        output::answer(LineAnswer::new(&lined), 0);
    } else {
        output::print_text(&line_text(&lined));
    }
    Ok(0)
}
