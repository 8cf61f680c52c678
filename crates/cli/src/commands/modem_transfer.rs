//! `punctual modem transfer`.

use super::artifacts::{self, Artifacts};
use super::modem_experiment::{Steps, experiment};
use super::modem_taps;
use crate::args::modem::{DirectionName, FarEndName, ModemTransferArguments, PumpName};
use crate::output::{self, Output, Usage};
use crate::progress::ReadyProgress;
use anyhow::{Context as _, anyhow, bail};
use punctual_context::device::MAX_KERNEL_WORK_NS;
use punctual_context::{Context, Form, Reservation};
use punctual_kernel::scheduling::{allowed_cpus, check_allowed};
use punctual_load::Load;
use punctual_modem::adapter::Late;
use punctual_modem::experiment::{Experiment, Step};
use punctual_modem::judge::Pair;
use punctual_modem::virtual_time::{Direction, FarEnd};
use punctual_recording::{format_ns, input, without_error_number};
use punctual_report::device::Run;
use punctual_report::modem::{LiveSent, Sent, TransferAnswer, transfer_page, transfer_text};
use punctual_spandsp::{Library, Resampled, V22bis};
use punctual_study::device::DeviceRunPlan;
use punctual_study::modem::live::{self, LivePlan};
use std::io::ErrorKind;
use std::path::Path;

/// The largest file that can be sent: at 9,600 bit/s, that is more than two hours on the line.
pub(super) const MAX_FILE: u64 = 10_000_000;
/// Each call of an attempt holds a file: the most for all of them together, bytes.
const MAX_FILES: u64 = 100_000_000;
/// What runs beside the calls ends with them; by itself it would end after a week, ns.
const MAX_BESIDE_NS: u64 = 7 * 24 * 3_600_000_000_000;

pub(super) fn run(arguments: &ModemTransferArguments, output: Output) -> anyhow::Result<u8> {
    artifacts::check(arguments.html.as_ref())?;
    let bytes = read(&arguments.file)?;
    let mut experiment = Experiment {
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
    experiment.telephone.drift_ppm = arguments.drift_ppm;
    if let Some(context) = arguments.context.filter(|context| context.is_in_kernel()) {
        check_in_kernel(arguments, context)?;
    }
    modem_taps::set(arguments, &mut experiment)?;
    let plan = arguments.context.map(|context| live_plan(arguments, experiment, context, &bytes)).transpose()?;
    // Before anything is started beside the calls.
    let library = match arguments.pump {
        PumpName::Punctual => None,
        PumpName::V22bis => Some(Library::load()?),
    };
    let pump = library.map(|_| "V.22bis of spandsp");
    let steps = Steps::new(arguments.options.quiet);
    match &plan {
        None => {
            let mut steps = steps;
            let progress = &mut |step: Step| show(&mut steps, &step, bytes.len());
            let transfer = match library {
                None => experiment.transfer(&bytes, progress),
                Some(library) => experiment.transfer_with(&bytes, &mut || v22bis(library), progress),
            };
            let interrupted = steps.done();
            let file = arguments.file.display().to_string();
            let sent =
                Sent { file: &file, experiment: &experiment, pump, transfer: &transfer, interrupted, live: None };
            tell(arguments, &sent, output)
        }
        Some(plan) => in_real_time(arguments, (plan, pump), &bytes, steps, output),
    }
}

/// Two ends of spandsp's; the first calls.
fn v22bis(library: &'static Library) -> Option<[Resampled<V22bis>; 2]> {
    let end = |calls| V22bis::new(library, calls).map(Resampled::new);
    Some([end(true)?, end(false)?])
}

/// The same, each of a kind that only this crate knows, for the thread that makes a call.
fn their_pumps() -> Option<Pair> {
    let [calling, answering] = v22bis(Library::load().ok()?)?;
    Some([Box::new(calling), Box::new(answering)])
}

fn in_real_time(
    arguments: &ModemTransferArguments,
    (plan, pump): (&LivePlan, Option<&str>),
    bytes: &[u8],
    mut steps: Steps,
    output: Output,
) -> anyhow::Result<u8> {
    let mut ready = ReadyProgress::new(arguments.options.quiet);
    let interrupted = steps.interrupted();
    let made = live::transfer(plan, bytes, &mut |stage| ready.show(stage) && !interrupted.is_set(), &mut |step| {
        show(&mut steps, &step, bytes.len())
    });
    ready.done();
    let interrupted = steps.done();
    let made = made?;
    let clean_ns = if interrupted || made.transfer.successes() == 0 { None } else { clean_ns(plan, bytes) };
    let file = arguments.file.display().to_string();
    let devices = made.devices.as_ref();
    let live = LiveSent {
        context: plan.context.to_string(),
        modems: plan.modems,
        cpus: &plan.cpus,
        competitors: plan.competitors.iter().map(ToString::to_string).collect(),
        load: (!plan.load.is_none()).then_some(plan.load.name.as_str()),
        scores: &made.scores,
        notes: &made.notes,
        load_failure: made.load_failure.as_deref(),
        refused: &made.refused,
        calls: &made.calls,
        clean_ns,
        devices: devices.map(|run| Run { path: &run.path, document: &run.document, activations: &run.activations }),
    };
    let experiment = &plan.experiment;
    let transfer = &made.transfer;
    tell(arguments, &Sent { file: &file, experiment, pump, transfer, interrupted, live: Some(live) }, output)
}

/// The most that is also sent in virtual time for comparison: that takes a second or two, bytes.
const MAX_CLEAN: usize = 200_000;

/// How long the first call's transfer takes in virtual time if nothing is late, ns; `None` if that is not computed: it takes too long,
/// or the pumps are others'.
fn clean_ns(plan: &LivePlan, bytes: &[u8]) -> Option<u64> {
    if bytes.len() > MAX_CLEAN || plan.pumps.is_some() {
        return None;
    }
    let mut clean = Experiment { slot: None, stalls: None, attempts: 1, ..plan.experiment };
    // More taps leave the bits as they are, and would take long here.
    clean.telephone.echo_banks = 1;
    let transfer = clean.transfer(bytes, &mut |_| true);
    transfer.attempts.first().filter(|attempt| attempt.succeeded()).and_then(|attempt| attempt.transfer_ns)
}

/// Shows progress; returns whether to go on.
fn show(steps: &mut Steps, step: &Step, length: usize) -> bool {
    let part = step.bytes as f64 / length as f64;
    let doing = if step.bytes == 0 { "setting up" } else { "sending" };
    let line_s = step.line_ns / 1_000_000_000;
    steps.show(step, part, &format!("attempt {}, {doing}, {line_s} s of the line", step.done + 1))
}

fn tell(arguments: &ModemTransferArguments, sent: &Sent<'_>, output: Output) -> anyhow::Result<u8> {
    let (mut artifacts, mut code) = (Artifacts::default(), sent.exit_code());
    if let Some(path) = &arguments.html {
        code = code.max(artifacts.write(path, transfer_page(sent)));
    }
    if output.json {
        output::answer_beside(artifacts.failure(), TransferAnswer::new(sent), code);
    } else {
        output::print_text(&transfer_text(sent));
    }
    Ok(code)
}

pub(super) fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let bytes = input::read_file(path, MAX_FILE).map_err(|error| {
        if error.kind() == ErrorKind::FileTooLarge {
            return anyhow!("{} is larger than 10 MB, the most that can be sent", path.display());
        }
        anyhow!("cannot read {}: {}", path.display(), without_error_number(&error))
    })?;
    if bytes.is_empty() {
        bail!("{} is empty: give a file with something in it", path.display());
    }
    Ok(bytes)
}

/// What cannot be where interrupts work on a modem's samples.
fn check_in_kernel(arguments: &ModemTransferArguments, context: Context) -> anyhow::Result<()> {
    if arguments.pump != PumpName::Punctual {
        let why = super::NO_LIBRARY_IN_KERNEL;
        bail!(Usage(format!("{why}: give --context thread:80 or a reservation, or leave out --pump")));
    }
    if arguments.modems > 1 {
        bail!(Usage(format!("one modem works in {context} here: leave out --modems")));
    }
    if arguments.options.compute.is_some_and(|compute| compute > MAX_KERNEL_WORK_NS) {
        let most = format_ns(MAX_KERNEL_WORK_NS);
        bail!(Usage(format!("a block takes at most {most} in {context}: give a shorter --compute")));
    }
    Ok(())
}

/// What is to be done by threads of this machine, or by its interrupts.
fn live_plan(
    arguments: &ModemTransferArguments,
    mut experiment: Experiment,
    context: Context,
    bytes: &[u8],
) -> anyhow::Result<LivePlan> {
    if context.is_in_kernel() {
        // An interrupt has the block that is complete then; earlier ones are past.
        experiment.setup.late = Late::DropStale;
    }
    if matches!(context, Context::Reservation(Reservation { form: Form::Slots, .. })) {
        bail!(Usage("slots are for virtual time here: give --slots, or --context reservation:X/Y".to_owned()));
    }
    if u64::from(arguments.modems) * bytes.len() as u64 > MAX_FILES {
        bail!(Usage(format!("{} modems hold a file each: together these are more than 100 MB", arguments.modems)));
    }
    let allowed = allowed_cpus();
    check_allowed(&arguments.cpu, &allowed).map_err(|error| Usage(error.to_string()))?;
    let first = || allowed.first().copied().map(|cpu| vec![cpu]).context("there is no CPU to run on");
    let cpus = if arguments.cpu.is_empty() { first()? } else { arguments.cpu.clone() };
    let load = Load::of_sources(&arguments.load, None, &punctual_study::local_machine())?;
    let devices = beside(arguments, &cpus, &load)?;
    Ok(LivePlan {
        experiment,
        context,
        pumps: (arguments.pump == PumpName::V22bis).then_some(their_pumps as fn() -> Option<Pair>),
        modems: arguments.modems,
        cpus,
        competitors: arguments.competitor.clone(),
        load,
        devices,
    })
}

/// The soft devices that work alongside, under the same load.
fn beside(arguments: &ModemTransferArguments, cpus: &[u32], load: &Load) -> anyhow::Result<Option<DeviceRunPlan>> {
    if arguments.beside.is_empty() {
        return Ok(None);
    }
    Ok(Some(DeviceRunPlan {
        devices: super::device::parts(&arguments.beside)?,
        competitors: Vec::new(),
        load: Load::none(),
        running: load.info(),
        cpus: cpus.to_vec(),
        duration_ns: MAX_BESIDE_NS,
        output: arguments.output.clone().unwrap_or_else(|| super::fresh_name("modem-", ".punctual")),
        command_line: super::command_line(),
        refuse_every: 0,
        without_taps: false,
    }))
}
