//! `punctual device`.

use crate::args::device::{DeviceCommand, HowArguments, LateName, WakeName};
use crate::output::{self, Output, Usage};
use crate::progress::Progress;
use crate::signals::Interrupted;
use anyhow::Context as _;
use punctual_context::Context;
use punctual_context::device::Wake;
use punctual_device::Catalogue;
use punctual_kernel::scheduling;
use punctual_load::Load;
use punctual_probe::Step;
use punctual_recording::EndReason;
use punctual_report::device::{self as report, Run};
use punctual_study::device::{DevicePart, DeviceRunPlan};
use std::path::Path;
use std::time::Duration;

pub(crate) fn run(command: &DeviceCommand, output: Output) -> anyhow::Result<u8> {
    match command {
        DeviceCommand::List { profiles } => list(profiles.as_deref(), output),
        DeviceCommand::Show { device, profiles } => show(device, profiles.as_deref(), output),
        DeviceCommand::Run(arguments) => run_devices(std::slice::from_ref(&arguments.device), &arguments.how, output),
        DeviceCommand::Mix(arguments) => run_devices(&arguments.devices, &arguments.how, output),
    }
}

fn catalogue(profiles: Option<&Path>) -> anyhow::Result<Catalogue> {
    let mut catalogue = Catalogue::shipped().clone();
    if let Some(path) = profiles {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        catalogue.extend(Catalogue::parse(&text).with_context(|| path.display().to_string())?);
    }
    Ok(catalogue)
}

fn list(profiles: Option<&Path>, output: Output) -> anyhow::Result<u8> {
    let catalogue = catalogue(profiles)?;
    if output.json {
        output::print(&output::pretty(&report::profiles_json(catalogue.profiles())));
    } else {
        output::print_text(&report::list_text(catalogue.profiles()));
    }
    Ok(0)
}

fn show(device: &str, profiles: Option<&Path>, output: Output) -> anyhow::Result<u8> {
    let profile = catalogue(profiles)?.parse_spec(device).map_err(|error| Usage(error.to_string()))?;
    if output.json {
        output::print(&output::pretty(&report::profiles_json(std::slice::from_ref(&profile))));
    } else {
        output::print_text(&report::show_text(&profile));
    }
    Ok(0)
}

fn run_devices(specs: &[String], how: &HowArguments, output: Output) -> anyhow::Result<u8> {
    let plan = plan(specs, how)?;
    let interrupted = Interrupted::watch();
    let mut progress = Progress::new(how.quiet, "device");
    let result = punctual_study::device::run(&plan, &mut |observation| {
        progress.show(observation);
        if interrupted.is_set() { Step::Stop(EndReason::Interrupted, None) } else { Step::Go }
    });
    progress.done();
    let outcome = result?;
    super::hand_over(&plan.output);
    let run = Run { path: &outcome.path, document: &outcome.document, activations: &outcome.activations };
    if output.json {
        output::print(&output::pretty(&report::json(&run)));
    } else {
        output::print_text(&report::text(&run));
    }
    let failed = outcome.document.ended.as_ref().is_some_and(|ended| ended.reason == EndReason::Watchdog);
    Ok(u8::from(failed))
}

fn plan(specs: &[String], how: &HowArguments) -> anyhow::Result<DeviceRunPlan> {
    let catalogue = catalogue(how.profiles.as_deref())?;
    let devices = specs.iter().map(|spec| part(&catalogue, spec, how)).collect::<Result<Vec<_>, Usage>>()?;
    let limit = Some(Duration::from_nanos(how.duration));
    Ok(DeviceRunPlan {
        devices,
        competitors: how.competitor.clone(),
        load: Load::of_classes(&how.load, limit, &punctual_study::local_machine()),
        cpu: chosen_cpu(how.cpu)?,
        duration_ns: how.duration,
        output: how.output.clone().unwrap_or_else(|| super::fresh_name("device-", ".punctual")),
        command_line: super::command_line(),
    })
}

/// A device of the command line: its profile, and after a plus sign a context of its own.
fn part(catalogue: &Catalogue, spec: &str, how: &HowArguments) -> Result<DevicePart, Usage> {
    let (spec, context) = match spec.split_once('+') {
        Some((spec, context)) => (spec, Context::parse(context).map_err(Usage)?),
        None => (spec, how.context),
    };
    if !matches!(context, Context::Reservation(_)) && (how.compete || how.reclaim) {
        let option = if how.compete { "--compete" } else { "--reclaim" };
        return Err(Usage(format!("{option} goes with a reservation, such as --context reservation:2ms/8ms")));
    }
    let profile = catalogue.parse_spec(spec).map_err(|error| Usage(error.to_string()))?;
    Ok(DevicePart {
        profile,
        context,
        wake: if how.wake == WakeName::Softirq { Wake::Softirq } else { Wake::Timer },
        drop_stale: how.late == LateName::DropStale,
        reclaim: how.reclaim,
        compete: how.compete,
    })
}

fn chosen_cpu(cpu: Option<u32>) -> Result<u32, Usage> {
    let allowed = scheduling::allowed_cpus();
    match cpu {
        Some(cpu) if !allowed.contains(&cpu) => {
            let list: Vec<String> = allowed.iter().map(u32::to_string).collect();
            Err(Usage(format!("CPU {cpu} is not there or not allowed: allowed are {}", list.join(","))))
        }
        Some(cpu) => Ok(cpu),
        None => Ok(allowed.last().copied().unwrap_or(0)),
    }
}
