//! `punctual device`.

use super::artifacts::Artifacts;
use crate::args::device::{
    DeviceCommand, DeviceStudyArguments, DeviceVerifyArguments, HowArguments, LateName, WakeName, WorkName,
};
use crate::output::{self, Output, Usage};
use crate::progress::{Progress, StepProgress};
use crate::signals::Interrupted;
use anyhow::Context as _;
use punctual_context::Context;
use punctual_context::device::Wake;
use punctual_context::own::OwnWork;
use punctual_device::{Catalogue, Profile};
use punctual_kernel::scheduling;
use punctual_recording::{
    ActivationDocument, Directory, Document, EndReason, LoadInfo, Recording, format_ns, read_activation_document,
};
use punctual_report::NextStep;
use punctual_report::device::study::{self as study_report, Row, StudyReport};
use punctual_report::device::{self, DeviceAnswer, ProfilesAnswer, Run, StudyAnswer, VerifiedRow, VerifyAnswer};
use punctual_report::encode::html::Page;
use punctual_spandsp::Library;
use punctual_study::device::{DevicePart, DeviceRun, DeviceRunPlan, DeviceWork, Study, StudyPlan, VerifyPlan};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) fn run(command: &DeviceCommand, output: Output) -> anyhow::Result<u8> {
    match command {
        DeviceCommand::List { profiles } => list(profiles.as_deref(), output),
        DeviceCommand::Show { device, profiles } => show(device, profiles.as_deref(), output),
        DeviceCommand::Run(arguments) => run_devices(std::slice::from_ref(&arguments.device), &arguments.how, output),
        DeviceCommand::Study(arguments) => study(arguments, output),
        DeviceCommand::Verify(arguments) => verify(arguments, output),
        DeviceCommand::Mix(arguments) => run_devices(&arguments.devices, &arguments.how, output),
    }
}

/// Reports on a recording of devices the way the run that made it did, and on a page if one is asked for; `bystander`
/// adds to that page what the recording holds of wakeups. `None` if the recording has no activations.
pub(super) fn report(
    path: &Path,
    output: Output,
    page: Option<&Path>,
    bystander: impl FnOnce(&Path, &mut Artifacts) -> anyhow::Result<Page>,
) -> anyhow::Result<Option<u8>> {
    // Activations are written at the end: a run that was cut short has none.
    let Some(activations) = read_activation_document(path)? else { return Ok(None) };
    let recording = Recording::open(path)?;
    let run = Run { path, document: recording.document(), activations: &activations };
    let next = punctual_report::after_device(&run, &punctual_load::names());
    let (mut artifacts, mut code) = (Artifacts::default(), 0);
    if let Some(file) = page {
        let page = device::device_page(bystander(path, &mut artifacts)?, &run, &next);
        artifacts.write(file, page.html()?);
        code = u8::from(artifacts.failure().is_some());
    }
    print_run(&run, &next, output, artifacts.failure(), code);
    Ok(Some(code))
}

/// Reports on each of several recordings of devices: what was tested differs, and cannot be added up. `None` if any of them
/// has no activations.
pub(super) fn report_each(paths: &[PathBuf]) -> anyhow::Result<Option<u8>> {
    let mut activated = Vec::new();
    for path in paths {
        let Some(activations) = read_activation_document(path)? else { return Ok(None) };
        let document = Recording::open(path)?.into_document();
        activated.push(Activated { path: path.clone(), document, activations });
    }
    let runs: Vec<Run<'_>> = activated.iter().map(Activated::run).collect();
    print_each(&runs);
    Ok(Some(0))
}

/// Prints what became of the devices of each run, and what to run after the first.
pub(super) fn print_each(runs: &[Run<'_>]) {
    let texts: Vec<String> = runs.iter().map(device::text).collect();
    let first = runs.first();
    let next = first.map_or_else(Vec::new, |run| punctual_report::after_device(run, &punctual_load::names()));
    output::print_text(&(texts.join("\n") + &punctual_report::next_text(&next)));
}

/// A run of devices that was read.
pub(super) struct Activated {
    path: PathBuf,
    document: Document,
    activations: ActivationDocument,
}

impl Activated {
    /// The runs of devices among these recordings. Whatever is wrong with the activations, the wakeups beside them are
    /// reported on.
    pub(super) fn among(recordings: &[PathBuf]) -> anyhow::Result<Vec<Activated>> {
        let mut runs = Vec::new();
        for path in recordings {
            if let Some(activations) = read_activation_document(path).ok().flatten() {
                let document = Recording::open(path)?.into_document();
                runs.push(Activated { path: path.clone(), document, activations });
            }
        }
        Ok(runs)
    }

    /// The run as reports see it.
    pub(super) fn run(&self) -> Run<'_> {
        Run { path: &self.path, document: &self.document, activations: &self.activations }
    }
}

fn print_run(run: &Run<'_>, next: &[NextStep], output: Output, failure: Option<&str>, code: u8) {
    if output.json {
        output::answer_beside(failure, DeviceAnswer::new(run, next), code);
    } else {
        output::print_text(&(device::text(run) + &punctual_report::next_text(next)));
    }
}

pub(super) fn catalogue(profiles: Option<&Path>) -> anyhow::Result<Catalogue> {
    let mut catalogue = Catalogue::shipped().clone();
    if let Some(path) = profiles {
        let text = super::read_text(path)?;
        catalogue.extend(Catalogue::parse(&text).with_context(|| path.display().to_string())?);
    }
    Ok(catalogue)
}

fn list(profiles: Option<&Path>, output: Output) -> anyhow::Result<u8> {
    let catalogue = catalogue(profiles)?;
    if output.json {
        output::answer(ProfilesAnswer::new(catalogue.profiles()), 0);
    } else {
        output::print_text(&device::list_text(catalogue.profiles()));
    }
    Ok(0)
}

fn show(device: &str, profiles: Option<&Path>, output: Output) -> anyhow::Result<u8> {
    let profile = catalogue(profiles)?.parse_spec(device).map_err(|error| Usage(error.to_string()))?;
    if output.json {
        output::answer(ProfilesAnswer::new(std::slice::from_ref(&profile)), 0);
    } else {
        output::print_text(&device::show_text(&profile));
    }
    Ok(0)
}

fn run_devices(specs: &[String], how: &HowArguments, output: Output) -> anyhow::Result<u8> {
    let plan = plan(specs, how)?;
    let interrupted = Interrupted::watch();
    let mut progress = Progress::new(how.quiet, "device");
    let result = punctual_study::device::run(&plan, &mut |observation| {
        progress.show(observation);
        interrupted.step()
    });
    progress.done();
    let outcome = result?;
    let failed = (outcome.document.ended.as_ref())
        .is_some_and(|ended| matches!(ended.reason, EndReason::Watchdog | EndReason::Failed));
    let code = u8::from(failed).max(super::load_exit_code([&outcome.document], how.ignore_failure));
    let run = shown(&outcome);
    let next = punctual_report::after_device(&run, &punctual_load::names());
    let reason = (outcome.document.ended.as_ref()).filter(|_| failed).and_then(|ended| ended.detail.as_deref());
    print_run(&run, &next, output, reason, code);
    if let (Some(reason), false) = (reason, output.json) {
        output::say(&format!("error: {}", punctual_recording::printable(reason)));
    }
    Ok(code)
}

fn plan(specs: &[String], how: &HowArguments) -> anyhow::Result<DeviceRunPlan> {
    if specs.len() > 1 && !how.phases.is_empty() {
        return Err(Usage("--phases goes with one device: punctual device run".to_owned()).into());
    }
    let catalogue = catalogue(how.profiles.as_deref())?;
    let own = match &how.work {
        Some(WorkName::Own(path)) => Some(OwnWork::read(path)?),
        _ => None,
    };
    for warning in own.iter().flat_map(OwnWork::warnings) {
        output::say(&format!("warning: {warning}"));
    }
    let parts = specs.iter().map(|spec| part(&catalogue, spec, how, own.as_ref()));
    let devices = parts.collect::<Result<Vec<_>, Usage>>()?;
    if how.work == Some(WorkName::Spandsp) {
        Library::load()?;
    }
    let limit = Some(Duration::from_nanos(how.duration));
    Ok(DeviceRunPlan {
        devices,
        competitors: how.competitor.clone(),
        load: how.busy.together(limit)?,
        running: LoadInfo::default(),
        cpus: vec![chosen_cpu(how.cpu)?],
        duration_ns: how.duration,
        output: how.output.clone().unwrap_or_else(|| super::fresh_name("device-", ".punctual")),
        command_line: super::command_line(),
        refuse_every: 0,
        without_taps: false,
    })
}

/// Devices that work beside something else: each in the context given after its plus sign, otherwise in a FIFO 80
/// thread.
pub(super) fn parts(specs: &[String]) -> anyhow::Result<Vec<DevicePart>> {
    let catalogue = catalogue(None)?;
    let part = |spec: &String| {
        let (spec, context) = spec.split_once('+').unwrap_or((spec, "thread:80"));
        let profile = catalogue.parse_spec(spec).map_err(|error| Usage(error.to_string()))?;
        Ok(DevicePart {
            work: DeviceWork::of(&profile),
            context: crate::args::context(context).map_err(Usage)?,
            profile,
            wake: Wake::Timer,
            drop_stale: false,
            reclaim: false,
            compete: false,
            phases: Vec::new(),
        })
    };
    specs.iter().map(part).collect()
}

/// A device from the command line: its profile and, after a plus sign, its own context.
fn part(catalogue: &Catalogue, spec: &str, how: &HowArguments, users: Option<&OwnWork>) -> Result<DevicePart, Usage> {
    let (spec, own) = match spec.split_once('+') {
        Some((spec, context)) => (spec, Some(crate::args::context(context).map_err(Usage)?)),
        None => (spec, None),
    };
    let context = own.unwrap_or(how.context);
    if !matches!(context, Context::Reservation(_)) && (how.compete || how.reclaim) {
        let option = if how.compete { "--compete" } else { "--reclaim" };
        return Err(Usage(format!("{option} goes with a reservation, such as --context reservation:2ms/8ms")));
    }
    // Beside devices in threads, one in a context of its own may need no waking.
    if own.is_none() && matches!(context, Context::Irq | Context::Softirq) && how.wake == WakeName::Softirq {
        return Err(Usage(format!("--wake goes with a thread or a reservation: in {context} nothing is woken")));
    }
    if let Some(position) = how.phases.iter().position(|phase| phase.length_ns == u64::MAX)
        && position + 1 < how.phases.len()
    {
        return Err(Usage("every phase but the last needs its time, such as 90@8kHz:5s".to_owned()));
    }
    let profile = catalogue.parse_spec(spec).map_err(|error| Usage(error.to_string()))?;
    if users.is_some() && profile.compute_ns == 0 {
        return Err(Usage("compute= is the budget of a block: give work of your own more than 0".to_owned()));
    }
    let work = match (users, &how.work) {
        (Some(users), _) => DeviceWork::Own(users.clone()),
        (None, Some(WorkName::Spandsp)) => spandsp(context, how)?,
        (None, _) => work(&profile, catalogue, how)?,
    };
    Ok(DevicePart {
        profile,
        work,
        context,
        wake: if how.wake == WakeName::Softirq { Wake::Softirq } else { Wake::Timer },
        drop_stale: how.late == LateName::DropStale,
        reclaim: how.reclaim,
        compete: how.compete,
        phases: how.phases.clone(),
    })
}

/// What a device does: it decodes if its profile has a signal, unless the user asks for the other.
pub(super) fn decode_or_filter(
    profile: &Profile,
    catalogue: &Catalogue,
    asked: Option<&WorkName>,
) -> Result<DeviceWork, Usage> {
    match (asked, profile.signal) {
        (None, _) => Ok(DeviceWork::of(profile)),
        (Some(WorkName::Filter), _) => Ok(DeviceWork::Filter),
        (Some(WorkName::Decode), Some(signal)) => Ok(DeviceWork::Decode(signal)),
        (Some(WorkName::Decode), None) => {
            let with = catalogue.profiles().iter().filter(|profile| profile.signal.is_some());
            let with: Vec<&str> = with.map(|profile| profile.id.as_str()).collect();
            let id = &profile.id;
            Err(Usage(format!("the device `{id}` has no signal to decode; these have one: {}", with.join(", "))))
        }
        (Some(WorkName::Spandsp), _) => Err(Usage(
            "spandsp is the work of `punctual device run`, `mix` and `verify` only: give decode or filter".to_owned(),
        )),
        (Some(WorkName::Own(_)), _) => Err(Usage(
            "work of your own runs with `punctual device run` and `mix` only: give decode or filter".to_owned(),
        )),
    }
}

/// A library's datapump as the work of a device in this context.
fn spandsp(context: Context, how: &HowArguments) -> Result<DeviceWork, Usage> {
    if context.is_in_kernel() {
        return Err(Usage(format!("{}: give --context thread:80 or a reservation", super::NO_LIBRARY_IN_KERNEL)));
    }
    if !how.phases.is_empty() {
        return Err(Usage(PHASES_NEED_THE_FILTER.to_owned()));
    }
    Ok(DeviceWork::Spandsp)
}

/// Why another work has no phases.
pub(super) const PHASES_NEED_THE_FILTER: &str =
    "--phases goes with the filter, whose blocks may be of any size: give --work filter";

/// The same for a device that may have phases, which need the filter.
fn work(profile: &Profile, catalogue: &Catalogue, how: &HowArguments) -> Result<DeviceWork, Usage> {
    let work = decode_or_filter(profile, catalogue, how.work.as_ref())?;
    if work == DeviceWork::Filter {
        return Ok(work);
    }
    if !how.phases.is_empty() {
        return Err(Usage(PHASES_NEED_THE_FILTER.to_owned()));
    }
    Ok(work)
}

fn shown(run: &DeviceRun) -> Run<'_> {
    Run { path: &run.path, document: &run.document, activations: &run.activations }
}

fn study(arguments: &DeviceStudyArguments, output: Output) -> anyhow::Result<u8> {
    // In this study, `modem` means the paper's.
    let spec = match arguments.device.as_str() {
        "modem" => "v90",
        other => other,
    };
    let catalogue = catalogue(arguments.profiles.as_deref())?;
    let profile = catalogue.parse_spec(spec).map_err(|error| Usage(error.to_string()))?;
    let (runs, least_ns) = punctual_study::device::least(&profile);
    if arguments.duration < least_ns {
        let (given, least) = (format_ns(arguments.duration), format_ns(least_ns));
        return Err(
            Usage(format!("{runs} runs of a second or more do not fit into {given}: give -D {least} or more")).into()
        );
    }
    super::artifacts::check(arguments.html.as_ref())?;
    let plan = StudyPlan {
        work: decode_or_filter(&profile, &catalogue, arguments.work.as_ref())?,
        profile,
        cpu: chosen_cpu(arguments.cpu)?,
        // Each run has a share of this, and starts the load anew.
        load: arguments.busy.together(Some(Duration::from_nanos(arguments.duration)))?,
        duration_ns: arguments.duration,
        directory: arguments.output.clone().unwrap_or_else(|| super::fresh_name("study-", "")),
        command_line: super::command_line(),
    };
    Directory::make(&plan.directory)?;
    let interrupted = Interrupted::watch();
    let mut progress = StepProgress::new(arguments.quiet, "study");
    let total = Duration::from_nanos(punctual_study::device::study_takes(&plan));
    let result = punctual_study::device::study(&plan, &mut |number, count, point, observation| {
        let what = point.part.as_ref().map_or_else(|| "no device".to_owned(), |part| part.context.to_string());
        let before = total * number as u32 / count as u32;
        progress.show(&in_all(&what, total), before + observation.elapsed, total);
        interrupted.step()
    });
    progress.done();
    let study = result?;
    // Named where the catalogue's own `modem` is a different one.
    let asked = (arguments.device != spec).then_some(arguments.device.as_str());
    let report = StudyReport { asked, ..study_rows(&study) };
    let mut artifacts = Artifacts::default();
    let next = punctual_report::after_study(&report, &punctual_load::names());
    let written = arguments.html.as_ref().map_or(0, |path| artifacts.write(path, study_report::html(&report, &next)));
    let documents = study.subjects.iter().filter_map(|subject| Some(&subject.outcome.as_ref().ok()?.document));
    let code = written
        .max(u8::from(study_report::is_untried(&report)))
        .max(super::load_exit_code(documents, arguments.ignore_failure));
    if output.json {
        output::answer_beside(artifacts.failure(), StudyAnswer::new(&report, &next), code);
    } else {
        output::print_text(&study_report::text(&report));
        let next = punctual_report::next_text(&next);
        output::print_more(&format!("\nrecordings: {}\n{}", plan.directory.display(), next.trim_end()));
    }
    Ok(code)
}

/// What is being measured, for the progress line, with how long all of it takes: starting and calibrating included.
fn in_all(what: &str, total: Duration) -> String {
    format!("{what}, about {:.0} s in all", total.as_secs_f64())
}

fn study_rows(study: &Study) -> StudyReport<'_> {
    let rows = study.subjects.iter().map(|subject| {
        let point = &subject.point;
        let competitors: Vec<String> = point.competitors.iter().map(ToString::to_string).collect();
        let run = subject.outcome.as_ref();
        Row {
            group: point.group.name(),
            context: point.part.as_ref().map_or_else(|| "none".to_owned(), |part| part.context.to_string()),
            competitor: (!competitors.is_empty()).then(|| competitors.join(" and ")),
            paper: point.paper,
            paper_works: point.paper_works,
            predicted: punctual_study::device::predict(point),
            holds: punctual_study::device::holds(subject),
            off: run.ok().and_then(|run| punctual_study::device::off_share(&run.activations.bystander_intervals)),
            run: run.map(shown).map_err(String::as_str),
        }
    });
    StudyReport {
        profile: &study.plan.profile,
        asked: None,
        rows: rows.collect(),
        lowest_sufficient: study.lowest_sufficient.as_deref(),
        least_intrusive: study.least_intrusive.as_deref(),
        interrupted: study.interrupted,
    }
}

fn verify(arguments: &DeviceVerifyArguments, output: Output) -> anyhow::Result<u8> {
    let run_plan = plan(&arguments.devices, &arguments.how)?;
    if run_plan.devices.iter().any(|device| !matches!(device.context, Context::Thread(_))) {
        return Err(Usage("a forecast is made for threads: give --context thread:80".to_owned()).into());
    }
    if run_plan.devices.iter().any(|device| !device.phases.is_empty()) {
        return Err(Usage("a forecast is made for a steady rate: leave out --phases".to_owned()).into());
    }
    if !run_plan.competitors.is_empty() {
        return Err(Usage("a forecast takes no --competitor: use --load, which runs in both parts".to_owned()).into());
    }
    let directory = arguments.how.output.clone().unwrap_or_else(|| super::fresh_name("verify-", ""));
    let plan = VerifyPlan {
        devices: run_plan.devices,
        load: run_plan.load,
        cpu: run_plan.cpus[0],
        duration_ns: run_plan.duration_ns,
        directory,
        command_line: run_plan.command_line,
    };
    Directory::make(&plan.directory)?;
    let interrupted = Interrupted::watch();
    let mut progress = StepProgress::new(arguments.how.quiet, "verify");
    let total = Duration::from_nanos(punctual_study::device::verify_takes(&plan));
    let result = punctual_study::device::verify(&plan, &mut |number, count, what, observation| {
        let before = total * number as u32 / count as u32;
        progress.show(&in_all(what, total), before + observation.elapsed, total);
        interrupted.step()
    });
    progress.done();
    let verification = result?;
    let rows: Vec<VerifiedRow<'_>> = verification
        .devices
        .iter()
        .map(|verified| {
            let mttf = &verified.answer.underruns.mttf_s;
            VerifiedRow {
                runs: verified.runs.iter().map(shown).collect(),
                mttf_s: (mttf.low, mttf.value, mttf.high),
                range: verified.range,
                exposure_s: verified.exposure_s,
                expected: verified.expected(),
                counted: verified.counted(),
                agrees: verified.agrees(),
            }
        })
        .collect();
    let (recordings, exposure_s) = (&verification.recordings, verification.exposure_s);
    let next = punctual_report::after_verify(&rows, recordings, &punctual_load::names());
    if output.json {
        output::answer(VerifyAnswer::new(&rows, recordings, exposure_s, &next), 0);
    } else {
        let text = device::verified_text(&rows, exposure_s);
        output::print_text(&format!("{text}\n{}", punctual_report::next_text(&next)));
    }
    Ok(0)
}

pub(super) fn chosen_cpu(cpu: Option<u32>) -> Result<u32, Usage> {
    let allowed = scheduling::allowed_cpus();
    let chosen = cpu.or(allowed.last().copied()).unwrap_or(0);
    scheduling::check_allowed(cpu.as_slice(), &allowed).map_err(|error| Usage(error.to_string()))?;
    Ok(chosen)
}
