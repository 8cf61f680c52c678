//! `punctual modem`.

use crate::args::modem::{
    DirectionName, FarEndName, LateName, ModemCommand, ModemLineArguments, ModemOptions, ModemStallsArguments,
    ModemTransferArguments,
};
use crate::output::{self, Output, Usage};
use crate::progress::StepProgress;
use crate::signals::Interrupted;
use anyhow::{Context, anyhow, bail};
use punctual_context::{Form, Reservation};
use punctual_kernel::scheduling::allowed_cpus;
use punctual_modem::adapter::{Late, Setup};
use punctual_modem::experiment::{Experiment, Step, stall_table};
use punctual_modem::office::NUMBERS;
use punctual_modem::telephone::{LineOptions, Telephone};
use punctual_modem::virtual_time::{Direction, FarEnd};
use punctual_recording::counted;
use punctual_recording::input;
use punctual_report::modem::{
    LineAnswer, Lined, LiveSent, Sent, Stalled, StallsAnswer, TransferAnswer, line_text, stalls_text, transfer_text,
};
use punctual_study::modem::line::{self, LinePlan};
use punctual_study::modem::live::{self, LivePlan};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub(crate) fn run(command: &ModemCommand, output: Output) -> anyhow::Result<u8> {
    match command {
        ModemCommand::Transfer(arguments) => transfer(arguments, output),
        ModemCommand::Stalls(arguments) => stalls(arguments, output),
        ModemCommand::Study(arguments) => super::modem_study::run(arguments, output),
        ModemCommand::Line(arguments) => line(arguments, output),
    }
}

/// The largest file that is sent: at 9,600 bit/s that is more than two hours of the line.
const MAX_FILE: u64 = 10_000_000;

fn experiment(options: &ModemOptions) -> Experiment {
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

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let bytes = input::read_file(path, MAX_FILE).map_err(|error| {
        if error.kind() == ErrorKind::FileTooLarge {
            return anyhow!("{} is larger than 10 MB, the most that can be sent", path.display());
        }
        let text = error.to_string();
        anyhow!("cannot read {}: {}", path.display(), text.split(" (os error").next().unwrap_or(&text))
    })?;
    if bytes.is_empty() {
        bail!("{} is empty: give a file with something in it", path.display());
    }
    Ok(bytes)
}

fn transfer(arguments: &ModemTransferArguments, output: Output) -> anyhow::Result<u8> {
    let bytes = read(&arguments.file)?;
    let experiment = Experiment {
        direction: match arguments.direction {
            DirectionName::Download => Direction::Download,
            DirectionName::Upload => Direction::Upload,
        },
        far_end: match arguments.far_end {
            FarEndName::Pool => FarEnd::Pool,
            FarEndName::Dedicated => FarEnd::Dedicated,
        },
        slot: arguments.slots,
        stalls: arguments.stall,
        attempts: arguments.attempts,
        ..experiment(&arguments.options)
    };
    let plan = arguments.context.map(|context| live_plan(arguments, experiment, context)).transpose()?;
    let mut steps = Steps::new(arguments.options.quiet);
    let mut show = |step: Step| {
        let part = step.bytes as f64 / bytes.len() as f64;
        steps.show(&step, part, &format!("attempt {}, {} s of the line", step.done + 1, step.line_ns / 1_000_000_000))
    };
    let (transfer, beside) = match &plan {
        None => (experiment.transfer(&bytes, &mut show), Vec::new()),
        Some(plan) => live::transfer(plan, &bytes, &mut show)?,
    };
    let interrupted = steps.done();
    let file = arguments.file.display().to_string();
    let live = plan.as_ref().map(|plan| LiveSent {
        context: plan.context.to_string(),
        cpu: plan.cpu,
        competitors: plan.competitors.iter().map(ToString::to_string).collect(),
        attempts: &beside,
    });
    let sent = Sent { file: &file, experiment: &experiment, transfer: &transfer, interrupted, live };
    let code = sent.exit_code();
    if output.json {
        output::answer(TransferAnswer::new(&sent), code);
    } else {
        output::print_text(&transfer_text(&sent));
    }
    Ok(code)
}

/// What is to be done by a thread of this machine.
fn live_plan(
    arguments: &ModemTransferArguments,
    experiment: Experiment,
    context: punctual_context::Context,
) -> anyhow::Result<LivePlan> {
    if context.is_in_kernel() {
        bail!(Usage(format!(
            "a modem's work does not run in {context} here: its program is called from user space only; try thread:99"
        )));
    }
    if matches!(context, punctual_context::Context::Reservation(Reservation { form: Form::Slots, .. })) {
        bail!(Usage("slots are for virtual time here: give --slots, or --context reservation:X/Y".to_owned()));
    }
    let cpus = allowed_cpus();
    let cpu = match arguments.cpu {
        Some(cpu) if !cpus.contains(&cpu) => bail!(Usage(format!("this program may not use CPU {cpu}"))),
        Some(cpu) => cpu,
        None => cpus.first().copied().context("there is no CPU to run on")?,
    };
    Ok(LivePlan { experiment, context, cpu, competitors: arguments.competitor.clone() })
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
struct Steps {
    began: Instant,
    progress: StepProgress,
    interrupted: Interrupted,
}

impl Steps {
    fn new(quiet: bool) -> Steps {
        let (progress, interrupted) = (StepProgress::new(quiet, "modem"), Interrupted::watch());
        Steps { began: Instant::now(), progress, interrupted }
    }

    /// Whether to go on.
    fn show(&mut self, step: &Step, part: f64, words: &str) -> bool {
        let elapsed = self.began.elapsed();
        let share = (f64::from(step.done) + part) / f64::from(step.of.max(1));
        let whole = if share > 0.0 { elapsed.div_f64(share.min(1.0)) } else { Duration::ZERO };
        self.progress.show(words, elapsed, whole);
        !self.interrupted.is_set()
    }

    /// Whether it was interrupted.
    fn done(&self) -> bool {
        self.progress.done();
        self.interrupted.is_set()
    }
}
