//! After a run of soft devices.

use super::measurement::as_threshold;
use super::options::{exact_time, load_option, same_load, value_of};
use super::{NextStep, few};
use crate::device::{Run, too_small};
use crate::layout::shell_word;
use crate::load_name;
use punctual_device::{keeps_up, kept_from};
use punctual_recording::{DeviceSummary, NO_LOAD, printable};
use std::fmt::Write as _;

/// What `punctual device study` does for a device that did not keep up.
pub(super) const IN_EVERY_CONTEXT: &str = "tries it in every context for some seconds, and says which kept up";
/// What `punctual reserve` does for it.
pub(super) const SMALLEST_RESERVATION: &str = "finds the smallest reservation that is enough for it";

/// After a device that does not keep up: who delays its thread, and what would be enough. After devices that do: the
/// same under a load, and how often they will fail. Loads have the names that the command line knows.
pub fn after_device(run: &Run<'_>, known_loads: &[&str]) -> Vec<NextStep> {
    let devices = &run.activations.devices;
    if has_other_work(run) {
        return Vec::new();
    }
    let around = Around::of(run, known_loads);
    let mut steps = Vec::new();
    if let Some(device) = devices.iter().find(|device| keeps_up(device) == Some(false)) {
        let spec = shell_word(&run.written(device));
        if let Some((priority, slack)) = priority(device).zip(slack_ns(device)) {
            let purpose = format!("records what delays a thread of its priority beyond the slack of {}", device.device);
            let command = format!(
                "sudo punctual record --why {} -p {priority}{}{}{}",
                as_threshold(slack),
                as_its_period(&run.written(device)),
                around.cpu,
                around.load
            );
            steps.push(NextStep::new(&purpose, command));
        }
        let larger = too_small(run, device).and_then(|found| Some((found.larger_ns()?, found.period_ns)));
        if let Some((budget_ns, period_ns)) = larger {
            let context = format!("reservation:{}/{}", exact_time(budget_ns), exact_time(period_ns));
            let (cpu, competitors, load) = (&around.cpu, &around.competitors, &around.load);
            let command = format!("sudo punctual device run {spec} --context {context}{cpu}{competitors}{load}");
            steps.push(NextStep::new("gives it a budget that is larger than its work", command));
        }
        let reserve = format!("sudo punctual reserve {spec}{}{}", around.competitors, around.load);
        steps.push(NextStep::new(SMALLEST_RESERVATION, reserve));
        if larger.is_none() {
            let study = format!("sudo punctual device study {spec}{}", around.cpu);
            steps.push(NextStep::new(IN_EVERY_CONTEXT, study));
        }
        return few(steps);
    }
    if let Some(device) = devices.iter().find(|device| keeps_up(device).is_none() && kept_from(device) > 0) {
        let spec = shell_word(&run.written(device));
        let (cpu, competitors, load) = (&around.cpu, &around.competitors, &around.load);
        let command = format!("sudo punctual device run {spec} --context thread:80{cpu}{competitors}{load}");
        steps.push(NextStep::new("judges it where the scheduler shares out the CPU", command));
        return few(steps);
    }
    let Some(device) = devices.iter().find(|device| keeps_up(device) == Some(true)) else { return steps };
    let spec = shell_word(&run.written(device));
    let context = shell_word(&device.context);
    if devices.len() == 1 && around.load.is_empty() && around.competitors.is_empty() {
        let command = format!("sudo punctual device run {spec} --context {context}{} --load mixed", around.cpu);
        steps.push(NextStep::new("says whether it keeps up beside a load", command));
    }
    if device.context.starts_with("thread:") && around.competitors.is_empty() {
        let command = format!("sudo punctual device verify {spec} --context {context}{}{}", around.cpu, around.load);
        steps.push(NextStep::new("forecasts how often it will fail, and compares that with what happens", command));
    }
    let study = format!("sudo punctual device study {spec}{}", around.cpu);
    steps.push(NextStep::new("shows what it does to others in each context", study));
    few(steps)
}

/// Whether the next command would run something else: a recording does not say where the file of a user's own work is, and few
/// commands have the work of spandsp.
pub(super) fn has_other_work(run: &Run<'_>) -> bool {
    let words = &run.document.provenance.command_line;
    run.activations.devices.iter().any(|device| device.own.is_some())
        || value_of(words, "", "--work") == Some("spandsp")
}

/// What ran beside the devices, as options.
pub(super) struct Around {
    pub(super) cpu: String,
    pub(super) load: String,
    competitors: String,
}

impl Around {
    pub(super) fn of(run: &Run<'_>, known_loads: &[&str]) -> Around {
        let words = &run.document.provenance.command_line;
        let cpu = value_of(words, "-a", "--cpu");
        let mut competitors = String::new();
        for competitor in &run.activations.competitors {
            let _ = write!(competitors, " --competitor {}", shell_word(&printable(competitor)));
        }
        Around {
            cpu: cpu.map_or_else(String::new, |cpu| format!(" -a {}", shell_word(&printable(cpu)))),
            load: match load_name(run.document) {
                NO_LOAD => String::new(),
                // A command or a file has no name that the command line takes, but stands there.
                name => Some(load_option(name, known_loads))
                    .filter(|option| !option.is_empty())
                    .unwrap_or_else(|| same_load(words)),
            },
            competitors,
        }
    }
}

/// The option that wakes threads as often as blocks come, if the device was named with that.
fn as_its_period(spec: &str) -> String {
    let period = spec.split_whitespace().find(|word| word.contains('@') && !word.contains('='));
    period.map_or_else(String::new, |period| format!(" -i {}", shell_word(period)))
}

/// The priority of the thread that did its work, if that was a real-time thread.
fn priority(device: &DeviceSummary) -> Option<u32> {
    let scheduling = device.context.strip_prefix("thread:")?;
    scheduling.strip_prefix("rr:").or(scheduling.strip_prefix("fifo:")).unwrap_or(scheduling).parse().ok()
}

/// How late the device may begin, ns; `None` if it has no slack.
fn slack_ns(device: &DeviceSummary) -> Option<u64> {
    let tolerance = u64::from(device.buffers.saturating_sub(1)).checked_mul(device.period_ns)?;
    tolerance.checked_sub(device.compute_ns).filter(|slack| *slack > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_recording::ActivationDocument;

    fn device(context: &str) -> DeviceSummary {
        DeviceSummary {
            context: context.to_owned(),
            period_ns: 8_000_000,
            buffers: 3,
            compute_ns: 2_000_000,
            ..DeviceSummary::default()
        }
    }

    #[test]
    fn after_a_budget_below_the_work_comes_a_larger_one() {
        let document = crate::device::run::tests::document();
        let after = |context: &str| {
            let mut late = DeviceSummary { underruns: 9, processed: 200, arrived: 200, ..device(context) };
            late.device = "sdr".to_owned();
            (0..200).for_each(|_| late.executed.record(2_400_000));
            let activations = ActivationDocument { devices: vec![late], ..ActivationDocument::default() };
            let run = Run { path: std::path::Path::new("a"), document: &document, activations: &activations };
            after_device(&run, &[]).into_iter().map(|step| step.command).collect::<Vec<_>>()
        };
        let small = after("reservation:2ms/8ms");
        assert!(small[0].starts_with("sudo punctual device run sdr --context reservation:2.6"), "{small:?}");
        assert!(small[1].starts_with("sudo punctual reserve sdr") && small.len() == 2, "{small:?}");
        let enough = after("reservation:4ms/8ms");
        assert!(enough.iter().all(|command| !command.contains("device run")), "{enough:?}");
        assert!(enough.iter().any(|command| command.contains("device study sdr")), "{enough:?}");
    }

    #[test]
    fn a_command_that_was_the_load_is_the_load_again() {
        let mut document = crate::device::run::tests::document();
        document.provenance.command_line =
            ["punctual", "device", "run", "sdr", "--load", "mixed", "--load-command=make -j"]
                .map(str::to_owned)
                .to_vec();
        let load = |document: &punctual_recording::Document| {
            let activations = ActivationDocument::default();
            let run = Run { path: std::path::Path::new("a"), document, activations: &activations };
            Around::of(&run, &["none", "mixed"]).load
        };
        // One that did not run here is not asked for.
        assert_eq!(load(&document), "");
        document.provenance.load.name = "mixed+make -j".to_owned();
        assert_eq!(load(&document), " --load mixed --load-command 'make -j'");
        document.provenance.load.name = "mixed".to_owned();
        assert_eq!(load(&document), " --load mixed");
    }

    #[test]
    fn what_few_commands_can_run_again_has_no_next_command() {
        let mut document = crate::device::run::tests::document();
        let late = DeviceSummary { underruns: 9, processed: 200, arrived: 200, ..device("thread:fifo:80") };
        let activations = ActivationDocument { devices: vec![late], ..ActivationDocument::default() };
        let steps = |document: &punctual_recording::Document| {
            let run = Run { path: std::path::Path::new("a"), document, activations: &activations };
            after_device(&run, &[]).len()
        };
        assert!(steps(&document) > 0);
        document.provenance.command_line.extend(["--work", "spandsp"].map(str::to_owned));
        assert_eq!(steps(&document), 0);
    }

    #[test]
    fn what_is_recorded_next_wakes_as_often_as_the_device() {
        let said = ["sdr 1024@2.4MS/s compute=150us x8", "sdr", "audio 5ms x3"].map(as_its_period);
        assert_eq!(said, [" -i 1024@2.4MS/s", "", ""]);
    }

    #[test]
    fn only_a_thread_of_real_time_has_a_priority_to_measure_at() {
        let found = ["thread:80", "thread:rr:7", "thread:other", "irq", "reservation:2ms/8ms"]
            .map(|context| priority(&device(context)));
        assert_eq!(found, [Some(80), Some(7), None, None, None]);
    }

    #[test]
    fn a_device_without_slack_has_none_to_exceed() {
        assert_eq!(slack_ns(&device("irq")), Some(14_000_000));
        assert_eq!(slack_ns(&DeviceSummary { compute_ns: 16_000_000, ..device("irq") }), None);
        assert_eq!(slack_ns(&DeviceSummary { buffers: 0, ..device("irq") }), None);
    }
}
