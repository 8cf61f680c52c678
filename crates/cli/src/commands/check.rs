//! `punctual check`.

use super::artifacts::Artifacts;
use super::bare_interval::{bare_interval, frames_or_time};
use crate::args::CheckArguments;
use crate::output::{Output, Usage, note};
use crate::progress::{InParts, ReadyProgress};
use crate::signals::Interrupted;
use punctual_device::Profile;
use punctual_forecast::{JudgedDevice, Outcome};
use punctual_load::Load;
use punctual_probe::{Plan, Policy};
use punctual_recording::{Directory, format_ns};
use punctual_report::Measurement;
use punctual_study::{Check, CheckPlan, Part};
use std::path::PathBuf;
use std::time::Duration;

/// Less than this, ns, tells nothing of a machine: a part of one wakeup was a device that plays without a gap.
const MIN_DURATION_NS: u64 = 1_000_000_000;

pub(crate) fn run(arguments: &CheckArguments, output: Output) -> anyhow::Result<u8> {
    super::artifacts::check_page(arguments.html.as_ref())?;
    let devices = devices(arguments)?;
    let plan = plan(arguments, &devices)?;
    let limit = Duration::from_nanos(arguments.duration / 2);
    let load = Load::of_sources(&arguments.load, Some(limit), &punctual_study::local_machine())?;
    let directory = arguments.output.clone().unwrap_or_else(|| super::fresh_name("check-", ""));
    Directory::make(&directory)?;
    let interrupted = Interrupted::watch();
    let mut progress = InParts::new(arguments.threads.quiet);
    let mut ready = ReadyProgress::new(arguments.threads.quiet);
    let result = punctual_study::check(
        &CheckPlan { plan, load, directory, devices: devices.clone(), advises: !arguments.device.is_empty() },
        &mut |stage| ready.show(stage) && !interrupted.is_set(),
        &mut |part, observation| {
            let what = match part {
                Part::Idle => "1/2 no load added",
                Part::Loaded => "2/2 loaded       ",
            };
            progress.show(part, || what.to_owned(), observation);
            interrupted.step()
        },
    );
    ready.done();
    progress.done();
    let check = result?;
    let (mut measurement, is_the_hosts) = measurement(check, !arguments.device.is_empty());
    let documents = measurement.parts.iter().map(|(_, document)| document);
    measurement.exit_code = super::load_exit_code(documents, arguments.ignore_failure);
    if !arguments.device.is_empty() && measurement.exit_code == 0 {
        measurement.exit_code = with_both_parts(devices_exit_code(&measurement), measurement.parts.len());
    }
    let next = punctual_report::after_measurement(&measurement, &punctual_load::names());
    measurement.next = punctual_report::with_host(next, is_the_hosts);
    let mut artifacts = Artifacts::default();
    if let Some(file) = &arguments.html {
        let recordings: Vec<PathBuf> = measurement.parts.iter().map(|(path, _)| path.clone()).collect();
        let said = (!arguments.device.is_empty()).then_some(&measurement);
        let code = super::report::write_page(file, &recordings, &devices, said, &mut artifacts);
        measurement.exit_code = measurement.exit_code.max(code);
    }
    output.measurement_and_next(&measurement, artifacts.failure());
    Ok(measurement.exit_code)
}

/// What both parts measure.
fn plan(arguments: &CheckArguments, devices: &[Profile]) -> Result<Plan, Usage> {
    if arguments.duration < MIN_DURATION_NS {
        let given = format_ns(arguments.duration);
        return Err(Usage(format!("{given} is too short for a check: give -D 1s or more, half of it for each part")));
    }
    let mut plan = super::plan(&arguments.threads, Policy::Fifo)?;
    if arguments.threads.interval.is_none() && !arguments.device.is_empty() {
        plan.interval_ns = device_interval(devices).unwrap_or(plan.interval_ns);
    }
    if !arguments.device.is_empty()
        && let Some(said) = frames_for_a_time(&plan.command_line, devices)
    {
        return Err(Usage(said));
    }
    if arguments.device.is_empty()
        && let Some(said) = frames_or_time(&plan.command_line)
    {
        note(&said);
    }
    plan.duration_ns = Some(arguments.duration);
    Ok(plan)
}

/// What to ask whoever gave a bare number for the period that is how many frames a device has in one, and so was hardly
/// meant in microseconds.
fn frames_for_a_time(words: &[String], devices: &[Profile]) -> Option<String> {
    let number = bare_interval(words)?;
    let has_as_many = |device: &&Profile| {
        device.at_its_rate(device.period_ns).is_some_and(|frames| frames.round() == f64::from(number))
    };
    let device = devices.iter().find(has_as_many)?;
    let period = device.frames_as_period(&number.to_string())?;
    Some(format!(
        "-i {number} would be {number} us, and {} has {number} in a period: did you mean -i {period}? If not, write {number}us",
        device.id
    ))
}

/// What was measured, and whether the host took most of its worst wakeup.
fn measurement(check: Check, is_asked: bool) -> (Measurement, bool) {
    let mut measurement = Measurement {
        parts: check.parts,
        devices: check.devices,
        cycles: Vec::new(),
        verdict: String::new(),
        next: Vec::new(),
        exit_code: 0,
        by_cpu: false,
    };
    measurement.verdict = match is_asked {
        true => punctual_report::devices_verdict(&measurement),
        false => punctual_report::check_verdict(&measurement),
    };
    let steal = punctual_report::steal_of_worst(&measurement, &check.worst);
    measurement.verdict += &steal;
    let is_the_hosts = punctual_report::host_took_worst(&measurement, &check.worst);
    (measurement, is_the_hosts)
}

/// The devices that the user asked for, or the defaults of every check.
fn devices(arguments: &CheckArguments) -> anyhow::Result<Vec<Profile>> {
    let catalogue = super::device::catalogue(arguments.profiles.as_deref())?;
    if arguments.device.is_empty() {
        return Ok(punctual_study::usual_devices());
    }
    let specs: Vec<&str> = arguments.device.iter().map(String::as_str).collect();
    Ok(super::asked_devices::parsed(&catalogue, &specs, arguments.want.as_deref(), arguments.compute.as_deref())?)
}

/// The period of the only device that was asked for, if it is fit for measuring threads.
fn device_interval(devices: &[Profile]) -> Option<u64> {
    let [device] = devices else { return None };
    device.has_measurable_period().then_some(device.period_ns)
}

/// 2 if a device that the user asked for fails, or would have run dry in this very check; 1 if there was nothing to
/// judge it by, which does not mean that it holds.
fn devices_exit_code(measurement: &Measurement) -> u8 {
    let is_bad = |row: &JudgedDevice| match row.answer.underruns.outcome {
        Outcome::Holds | Outcome::HoldsAsRecorded => false,
        Outcome::Fails => true,
        Outcome::Unknown => row.ran_dry() > 0,
    };
    match &measurement.devices[..] {
        [] => 1,
        judged => 2 * u8::from(judged.iter().any(is_bad)),
    }
}

/// The exit code where the devices asked for were judged in so many parts: without load alone, nothing says that they hold.
fn with_both_parts(code: u8, parts: usize) -> u8 {
    if parts < 2 { code.max(1) } else { code }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_device::Catalogue;

    #[test]
    fn devices_hold_only_where_both_parts_were_measured() {
        let codes = [(0, 2), (2, 2), (0, 1), (2, 1)].map(|(code, parts)| with_both_parts(code, parts));
        assert_eq!(codes, [0, 2, 1, 2]);
    }

    #[test]
    fn a_bare_period_of_as_many_frames_as_a_device_has_is_asked_about() {
        let said = |words: &str, spec: &str| {
            let words: Vec<String> = format!("punctual check {words}").split(' ').map(str::to_owned).collect();
            frames_for_a_time(&words, &[Catalogue::shipped().parse_spec(spec).unwrap()])
        };
        for words in ["-i 64", "-i64", "-i=64", "--interval 64", "--interval=64 -D 5s"] {
            let question = said(words, "audio 64@48kHz x3").unwrap_or_default();
            assert!(question.contains("did you mean -i 64@48kHz?"), "{words}: {question}");
        }
        for words in ["-i 64us", "-i 64@48kHz", "-i 100", "-D 64", "--ignore-failure"] {
            assert_eq!(said(words, "audio 64@48kHz"), None, "{words}");
        }
        assert_eq!(said("-i 64", "audio 128@48kHz"), None);
        assert_eq!(said("-i 500", "5g-slot"), None);
    }

    #[test]
    fn one_device_is_measured_at_its_own_period() {
        let interval = |specs: &[&str]| {
            let devices: Vec<Profile> =
                specs.iter().map(|spec| Catalogue::shipped().parse_spec(spec).unwrap()).collect();
            device_interval(&devices)
        };
        assert_eq!(interval(&["audio 64@48kHz"]), Some(1_333_333));
        assert_eq!(interval(&["5g-slot"]), Some(500_000));
        // Too short for a thread, too long to see what comes between two periods, and two that differ.
        for specs in [&["sdr"][..], &["rt-video"], &["audio", "modem"], &[]] {
            assert_eq!(interval(specs), None, "{specs:?}");
        }
    }
}
