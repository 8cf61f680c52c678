//! After a study of a device, and after forecasts that were held against what devices did.

use super::NextStep;
use super::device::{Around, SMALLEST_RESERVATION, has_other_work};
use super::options::{as_written, same_load, value_of};
use crate::device::study::{Evidence, StudyReport, options};
use crate::device::{Run, VerifiedRow};
use crate::layout::shell_word;
use punctual_recording::{BareUnit, parse_duration, printable_path};
use std::path::{Path, PathBuf};

/// How much longer to measure after a forecast that was too wide to tell, and how long `verify` takes by default, ns.
const LONGER: u64 = 4;
const DEFAULT_NS: u64 = 60_000_000_000;

/// After a study: the recommended context beside a load; where none is enough, the smallest reservation that is. After
/// one that was ended early: all of it. Where nothing could be tried: what is allowed here.
pub fn after_study(study: &StudyReport<'_>, known_loads: &[&str]) -> Vec<NextStep> {
    let mut runs = study.rows.iter().filter_map(|row| row.run.as_ref().ok());
    let Some((run, device)) = runs.find_map(|run| Some((run, run.activations.devices.first()?))) else {
        let purpose = "says what this machine and this user allow, and what would allow the rest";
        return vec![NextStep::new(purpose, "punctual capabilities".to_owned())];
    };
    let (spec, cpu) = (shell_word(&run.written(device)), Around::of(run, known_loads).cpu);
    let words = &run.document.provenance.command_line;
    let work = as_written(words, "", "--work") + &as_written(words, "", "--profiles");
    let load = same_load(words);
    let step = match study.least_intrusive {
        _ if study.interrupted => {
            let duration = as_written(words, "-D", "--duration");
            NextStep::new(
                "makes all runs of the study",
                format!("sudo punctual device study {spec}{cpu}{work}{load}{duration}"),
            )
        }
        Some(recommended) => {
            let (context, how) = (shell_word(recommended), options(study, recommended));
            let seconds = longer_s(Evidence::of(study, recommended).map_or(0, |evidence| evidence.ran_ns));
            let (load, which) = if load.is_empty() { (" --load mixed".to_owned(), "a") } else { (load, "the same") };
            let command =
                format!("sudo punctual device run {spec} --context {context}{how}{cpu}{work}{load} -D {seconds}s");
            let purpose = format!("tries it there beside {which} load, at least ten times as long as the study did");
            NextStep::new(&purpose, command)
        }
        None => NextStep::new(SMALLEST_RESERVATION, format!("sudo punctual reserve {spec}{work}{load}")),
    };
    vec![step]
}

/// How long to try what was recommended after it ran for so long, s: ten times as long, in whole tens of seconds, and a
/// minute or more.
fn longer_s(ran_ns: u64) -> u64 {
    ran_ns.div_ceil(1_000_000_000).saturating_mul(10).max(60)
}

/// After forecasts that were held against counts, made from these recordings. Where one is too wide or wrong: the same
/// for longer. Otherwise: how often each device will fail.
pub fn after_verify(rows: &[VerifiedRow<'_>], recordings: &[PathBuf], known_loads: &[&str]) -> Vec<NextStep> {
    if rows.iter().flat_map(|row| &row.runs).any(has_other_work) {
        return Vec::new();
    }
    if let Some((run, spec, context)) = rows.iter().filter(|row| row.agrees != Some(true)).find_map(ran) {
        let around = Around::of(&run, known_loads);
        let given = value_of(&run.document.provenance.command_line, "-D", "--duration");
        let given = given.and_then(|given| parse_duration(given, BareUnit::Seconds).ok());
        let seconds = given.unwrap_or(DEFAULT_NS).saturating_mul(LONGER) / 1_000_000_000;
        let (cpu, load) = (&around.cpu, &around.load);
        let command =
            format!("sudo punctual device verify {spec} --context {context}{cpu}{load} -D {}s", seconds.max(1));
        return vec![NextStep::new("measures four times as long, which narrows the forecast", command)];
    }
    let Some(directory) = recordings.first().and_then(|recording| recording.parent()) else { return Vec::new() };
    let devices: Vec<String> = rows.iter().filter_map(ran).map(|(_, spec, _)| format!(" --device {spec}")).collect();
    let directory = if directory == Path::new("") { ".".to_owned() } else { shell_word(&printable_path(directory)) };
    let command = format!("punctual forecast {directory}{}", devices.concat());
    vec![NextStep::new("says how often each will fail, and how long to measure to be sure", command)]
}

/// A run of a device, and the device and its context as a shell takes them.
fn ran<'a>(row: &VerifiedRow<'a>) -> Option<(Run<'a>, String, String)> {
    let run = *row.runs.first()?;
    let device = run.activations.devices.first()?;
    Some((run, shell_word(&run.written(device)), shell_word(&device.context)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_recording::{ActivationDocument, DeviceSummary, Document};

    fn document(words: &[&str]) -> Document {
        let mut document = crate::device::run::tests::document();
        document.provenance.command_line = words.iter().map(|word| (*word).to_owned()).collect();
        document
    }

    fn activations() -> ActivationDocument {
        let device =
            DeviceSummary { device: "sdr".into(), context: "thread:fifo:80".into(), ..DeviceSummary::default() };
        ActivationDocument { devices: vec![device], ..ActivationDocument::default() }
    }

    #[test]
    fn a_forecast_that_cannot_tell_is_measured_for_longer_and_one_that_agrees_is_asked() {
        let words = ["punctual", "device", "verify", "sdr 2400@2.4MS/s x8", "-D", "90s", "-a", "1"];
        let (document, activations) = (document(&words), activations());
        let after = |agrees: Option<bool>| {
            let run = Run { path: Path::new("v/00-sdr/1.punctual"), document: &document, activations: &activations };
            let row = VerifiedRow {
                runs: vec![run],
                mttf_s: (None, None, None),
                exposure_s: 1.0,
                expected: (0.0, None),
                counted: 0,
                range: None,
                agrees,
            };
            let steps = after_verify(&[row], &[PathBuf::from("v/without-1.punctual")], &[]);
            steps.into_iter().map(|step| step.command).collect::<Vec<_>>()
        };
        let longer =
            "sudo punctual device verify 'sdr 2400@2.4MS/s x8' --context thread:fifo:80 -a 1 -D 360s".to_owned();
        assert_eq!([after(None), after(Some(false))], [vec![longer.clone()], vec![longer]]);
        assert_eq!(after(Some(true)), ["punctual forecast v --device 'sdr 2400@2.4MS/s x8'"]);
    }

    #[test]
    fn a_study_goes_on_from_what_it_found() {
        let (document, activations) =
            (document(&["punctual", "device", "study", "sdr x8", "-D", "90s"]), activations());
        let after = |least_intrusive: Option<&'static str>, interrupted: bool, ran: bool| {
            let run = Run { path: Path::new("s/01"), document: &document, activations: &activations };
            let study = crate::device::study::tests::study_of(if ran { Ok(run) } else { Err("refused") }, Some(true));
            let steps = after_study(&StudyReport { least_intrusive, interrupted, ..study }, &[]);
            steps[0].command.clone()
        };
        let longer =
            |seconds: u64| format!("sudo punctual device run 'sdr x8' --context irq --load mixed -D {seconds}s");
        // A minute, or ten times as long as it kept up there.
        assert_eq!(after(Some("irq"), false, true), longer(60));
        let mut ran = document.clone();
        ran.ended.as_mut().unwrap().at_ns = ran.provenance.started_ns + 12_000_000_000;
        let mut kept_up = activations.clone();
        kept_up.devices[0].processed = 1_000;
        let run = Run { path: Path::new("s/01"), document: &ran, activations: &kept_up };
        let study = crate::device::study::tests::study_of(Ok(run), Some(true));
        let steps = after_study(&StudyReport { least_intrusive: Some("irq"), ..study }, &[]);
        assert_eq!(steps[0].command, longer(120));
        let woken = {
            let mut activations = activations.clone();
            activations.devices[0].wake = Some("softirq".to_owned());
            let run = Run { path: Path::new("s/01"), document: &document, activations: &activations };
            let study = crate::device::study::tests::study_of(Ok(run), Some(true));
            after_study(&StudyReport { least_intrusive: Some("irq"), ..study }, &[])[0].command.clone()
        };
        assert!(woken.contains("--context irq --wake softirq --load mixed "), "{woken}");
        let mut own = document.clone();
        own.provenance.command_line.extend(["--profiles".to_owned(), "mine.toml".to_owned()]);
        let run = Run { path: Path::new("s/01"), document: &own, activations: &activations };
        let steps = after_study(&crate::device::study::tests::study_of(Ok(run), Some(true)), &[]);
        assert_eq!(steps[0].command, "sudo punctual reserve 'sdr x8' --profiles mine.toml");
        own.provenance.command_line.extend(["--load-command".to_owned(), "make -j2".to_owned()]);
        let run = Run { path: Path::new("s/01"), document: &own, activations: &activations };
        let study = crate::device::study::tests::study_of(Ok(run), Some(true));
        let beside = after_study(&StudyReport { least_intrusive: Some("irq"), ..study }, &[]).remove(0);
        assert!(beside.command.contains(" --profiles mine.toml --load-command 'make -j2' -D "), "{beside:?}");
        assert!(beside.purpose.contains("beside the same load"), "{beside:?}");
        assert_eq!([0, 3_000_000_000, 10_200_000_000].map(longer_s), [60, 60, 110]);
        assert!(after(Some("reservation:302us/640us"), false, true).contains(" reservation:302us/640us --compete "));
        assert_eq!(after(None, false, true), "sudo punctual reserve 'sdr x8'");
        assert_eq!(after(Some("irq"), true, true), "sudo punctual device study 'sdr x8' -D 90s");
        assert_eq!(after(None, false, false), "punctual capabilities");
    }
}
