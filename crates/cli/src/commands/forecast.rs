//! `punctual forecast`.

use super::artifacts::Artifacts;
use crate::args::ForecastArguments;
use crate::output::{self, Output, Usage};
use anyhow::Context;
use punctual_device::{Catalogue, Origin, Profile, parse_period, parse_want, written_buffers};
use punctual_forecast::{CurveQuestion, Horizon, Input, Loops, Question};
use punctual_recording::{
    CycleCount, DeviceSummary, Document, FollowedCycles, Host, Recording, Stage, TailValue, format_ns, printable_path,
};
use punctual_report::{ForecastAsked, shell_word};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The amounts of buffering along a curve, ms: those of Cota-Robles and Held, OSDI 1999, Figures 6 and 7, and some
/// around them.
const BUFFERING_MS: [u64; 14] = [1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64];

/// How much of each buffer computing takes along a curve, percent: that of the same figures.
const CURVE_COMPUTE_PERCENT: u64 = 25;

pub(crate) fn run(arguments: &ForecastArguments, output: Output) -> anyhow::Result<u8> {
    super::artifacts::check_page(arguments.html.as_ref())?;
    let mut question = question(arguments)?;
    let mut counted = Vec::new();
    let inputs = match loops(arguments, &question.devices)? {
        None if arguments.period.is_some() && arguments.device.is_empty() => {
            let line = "--period is of a device (--device), or of a loop that was followed (record --pid, --tid, --comm, --follow)";
            return Err(Usage(line.to_owned()).into());
        }
        None => inputs(&arguments.recordings)?,
        Some(loops) => {
            (question.stages, question.device_stage) = (vec![Stage::Response], Stage::Response);
            question.devices = vec![loops.profile];
            // A loop has no buffers to spare.
            question.curve = None;
            counted = loops.counted;
            loops.inputs
        }
    };
    let mut answer = punctual_forecast::answer(&inputs, &question)?;
    answer.verdict = counted.concat() + &punctual_report::needed_buffers(&answer) + &answer.verdict;
    answer.cautions.extend(watched(&arguments.recordings));
    let first = first(&arguments.recordings);
    let first = first.as_ref().map(Recording::document);
    let again = first.and_then(punctual_report::own_options);
    let explained = explained(&arguments.recordings);
    let documents = documents(&arguments.recordings);
    let asked = ForecastAsked {
        recordings: &arguments.recordings,
        devices: &arguments.device,
        options: &other_options(arguments),
        advises: question.advise,
        explained: explained.as_ref(),
        documents: &documents,
        again: again.as_deref(),
    };
    let steps = punctual_report::after_forecast(&answer, &asked, &punctual_load::names());
    let mut artifacts = Artifacts::default();
    let code = match &arguments.html {
        Some(path) => artifacts.write(path, punctual_report::forecast::forecast_page(&answer, &steps, first).html()?),
        None => 0,
    };
    if output.json {
        output::answer_beside(
            artifacts.failure(),
            punctual_report::forecast::ForecastAnswer::new(&answer, &steps),
            code,
        );
    } else {
        let mut text = punctual_report::forecast::text(&answer);
        if arguments.table {
            text += "\nWorst cases by stage and load\n\n";
            text += &punctual_report::forecast::table_text(&answer);
        }
        let next = punctual_report::next_text(&steps);
        if !next.is_empty() {
            text += &format!("\n{next}");
        }
        output::print_text(&text);
    }
    Ok(code)
}

/// Says so where the words after a device's name were not quoted, and so are taken for recordings.
fn unquoted(arguments: &ForecastArguments) -> Option<Usage> {
    let device = arguments.device.last()?;
    let is_of_device = |word: &str| {
        let number = written_buffers(word).is_some_and(|number| number.parse::<u32>().is_ok());
        number || word.starts_with("compute=") || word.starts_with("want=") || parse_period(word).is_ok()
    };
    let missing = arguments.recordings.iter().filter(|path| !path.exists()).filter_map(|path| path.to_str());
    let words: Vec<&str> = missing.filter(|word| is_of_device(word)).collect();
    let [first, ..] = words[..] else { return None };
    let whole = shell_word(&format!("{device} {}", words.join(" ")));
    Some(Usage(format!(
        "{first}: there is no such recording; if it belongs to the device, quote both: --device {whole}"
    )))
}

/// The first of the recordings.
fn first(paths: &[PathBuf]) -> Option<Recording> {
    Recording::open(super::expand(paths).first()?).ok()
}

/// What the recordings hold.
fn documents(paths: &[PathBuf]) -> Vec<Document> {
    let opened = super::expand(paths).into_iter().filter_map(|path| Recording::open(path).ok());
    opened.map(Recording::into_document).collect()
}

/// Of recordings of devices, what their wakeups are of.
fn watched(paths: &[PathBuf]) -> Vec<String> {
    let said = |path: PathBuf| {
        let activations = punctual_recording::read_activation_document(&path).ok().flatten()?;
        punctual_report::device::only_watched(&path, &activations)
    };
    super::expand(paths).into_iter().filter_map(said).collect()
}

/// The first recording that kept evidence of late wakeups.
fn explained(paths: &[PathBuf]) -> Option<PathBuf> {
    let kept = |path: &PathBuf| {
        let recording = Recording::open(path).ok()?;
        recording.document().recorder.as_ref().map(|recorder| recorder.kept)
    };
    super::expand(paths).into_iter().find(|path| kept(path).is_some_and(|kept| kept > 0))
}

/// What else is asked of the devices, or of a loop, as it was given.
fn other_options(arguments: &ForecastArguments) -> String {
    let mut options = String::new();
    let buffers = arguments.buffers.map(|buffers| buffers.to_string());
    let profiles = arguments.profiles.as_deref().map(printable_path);
    for (name, value) in [
        ("profiles", &profiles),
        ("period", &arguments.period),
        ("buffers", &buffers),
        ("compute", &arguments.compute),
        ("want", &arguments.want),
    ] {
        options += &value.as_ref().map(|value| format!(" --{name} {}", shell_word(value))).unwrap_or_default();
    }
    options
}

/// The loops of other programs, where the recordings follow threads with a period; for these devices there is no forecast of them.
fn loops(arguments: &ForecastArguments, asked: &[Profile]) -> anyhow::Result<Option<Loops>> {
    let (mut profiles, mut counted): (Vec<Option<Profile>>, Vec<String>) = (Vec::new(), Vec::new());
    let period = arguments.period.as_deref().map(parse_period).transpose().map_err(|error| Usage(error.to_string()))?;
    let inputs = gather(&arguments.recordings, |path| {
        let (recording, mut tail, seconds) = read(path)?;
        let cycles = cycles(&recording, period)?;
        // What looks like a long cycle there is several, between which a wakeup was not seen.
        tail.retain(|late| late.stage != Stage::Response || !cycles.joined.contains(&(late.tid, late.expected_ns)));
        let document = recording.document();
        let loops = Input::of_loops(document, period, (&tail, &seconds), recording.damaged())
            .map_err(|error| starved(document, period, &cycles.by_name).unwrap_or(error))
            .with_context(|| path.display().to_string())?;
        let Some(loops) = loops else {
            profiles.push(None);
            return Ok(Vec::new());
        };
        let loops =
            loops.held_against(recording.document(), &cycles.by_name).with_context(|| path.display().to_string())?;
        let written = arguments.period.as_deref().or_else(|| punctual_report::written_period(recording.document()));
        profiles.push(Some(with_rate(loops.profile, written)));
        counted.extend(loops.counted);
        Ok(with_run(&recording, loops.inputs))
    })?;
    let Some(profile) = profiles.iter().flatten().next().cloned() else { return Ok(None) };
    if profiles.iter().any(|other| other.as_ref() != Some(&profile)) {
        let line = "the recordings are of loops with different periods, or not all of loops of other programs (`record --period`): \
                    forecast from each kind by itself";
        return Err(Usage(line.to_owned()).into());
    }
    let devices = ["--device", "--buffers", "--compute", "--curve", "--reliability", "--table"];
    let given = [
        !arguments.device.is_empty(),
        arguments.buffers.is_some(),
        arguments.compute.is_some(),
        arguments.curve,
        !arguments.reliability.is_empty(),
        arguments.table,
    ];
    if let Some((option, _)) = devices.iter().zip(given).find(|(_, given)| *given) {
        return Err(Usage(instead_of(option, arguments, asked, profile.period_ns)).into());
    }
    Ok(Some(Loops { inputs, profile, counted }))
}

/// What to do instead of giving this option, which is for devices, where the recordings are of a loop of this period, ns. Several
/// buffers cannot be played over its cycles: one that the loop makes up for is late only because the one before was.
fn instead_of(option: &str, arguments: &ForecastArguments, asked: &[Profile], period_ns: u64) -> String {
    let line = format!(
        "{option} is for recordings of punctual's own periodic threads; this one is of another program's loop, whose cycles are \
         forecast as they are"
    );
    let Some(buffers) = asked.first().filter(|_| option == "--device").map(|device| device.buffers) else {
        return line + ": leave it out";
    };
    let allowed_ns = u64::from(buffers.saturating_sub(1)).saturating_mul(period_ns);
    let recordings: Vec<String> = arguments.recordings.iter().map(|path| shell_word(&printable_path(path))).collect();
    format!(
        "{line}. With {buffers} buffers of {} a cycle may take up to {}: `punctual report {} --limit cycle:max={}us` says whether one \
         took longer",
        format_ns(period_ns),
        format_ns(allowed_ns),
        recordings.join(" "),
        allowed_ns.div_ceil(1_000)
    )
}

/// Why a loop that was kept from the CPU has no forecast.
fn starved(
    document: &Document,
    period_ns: Option<u64>,
    cycles: &BTreeMap<String, CycleCount>,
) -> Option<punctual_forecast::Error> {
    let own_ns = document.followed.as_ref().and_then(|followed| followed.period_ns);
    punctual_forecast::starved(document, period_ns.or(own_ns)?, cycles)
}

/// The cycles of the threads that it follows, by the given period, ns, or its own; none without either.
fn cycles(recording: &Recording, period_ns: Option<u64>) -> anyhow::Result<FollowedCycles> {
    let Some(followed) = &recording.document().followed else { return Ok(FollowedCycles::default()) };
    let Some(period_ns) = period_ns.or(followed.period_ns) else { return Ok(FollowedCycles::default()) };
    Ok(recording.followed_cycles(period_ns)?)
}

/// A loop with the rate in which its period was written: someone who writes 64@48kHz thinks in frames.
fn with_rate(profile: Profile, written: Option<&str>) -> Profile {
    match written.map(|written| profile.with_written_period(written)) {
        Some(Ok(changed)) if changed.period_ns == profile.period_ns => changed,
        _ => profile,
    }
}

/// What the recordings hold: one input for each measure and load, with the runs of each in sequence.
pub(super) fn inputs(paths: &[PathBuf]) -> anyhow::Result<Vec<Input>> {
    gather(paths, open)
}

/// Which run an input is of, and on which machine it was made.
struct Run {
    id: String,
    host: Host,
}

/// The inputs of several recordings, each with its run.
fn gather(
    paths: &[PathBuf],
    mut open: impl FnMut(&Path) -> anyhow::Result<Vec<(Run, Input)>>,
) -> anyhow::Result<Vec<Input>> {
    let mut inputs: Vec<Input> = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    let mut first: Option<(PathBuf, Host)> = None;
    for path in &super::expand(paths) {
        for (run, input) in open(path)? {
            refuse_another_machine(&mut first, path, &run.host)?;
            let key = format!("{} {} {}", run.id, input.measure, input.load);
            anyhow::ensure!(!seen.contains(&key), "{}: the same run stands there twice", path.display());
            seen.push(key);
            let is_same = |other: &Input| {
                (&other.measure, &other.load) == (&input.measure, &input.load)
                    && other.clone().followed_by(input.clone()).is_ok()
            };
            let position = inputs.iter().position(is_same);
            match position {
                Some(position) => {
                    let first = inputs.remove(position);
                    inputs.insert(position, first.followed_by(input)?);
                }
                None => inputs.push(input),
            }
        }
    }
    Ok(inputs)
}

/// Runs of two machines, or under two kernels, never follow one another: nothing would be forecast of either.
fn refuse_another_machine(first: &mut Option<(PathBuf, Host)>, path: &Path, host: &Host) -> Result<(), Usage> {
    let Some((earlier, other)) = first else {
        *first = Some((path.to_owned(), host.clone()));
        return Ok(());
    };
    if host.is_as(other) {
        return Ok(());
    }
    let what = if host.id == other.id { "kernel" } else { "machine" };
    let (path, earlier) = (printable_path(path), printable_path(earlier));
    Err(Usage(format!("{path} was recorded on another {what} than {earlier}: forecast from each separately")))
}

fn open(path: &Path) -> anyhow::Result<Vec<(Run, Input)>> {
    let (recording, tail, seconds) = read(path)?;
    let inputs = Input::from_recording(recording.document(), &tail, &seconds, recording.damaged())
        .with_context(|| path.display().to_string())?;
    Ok(with_run(&recording, inputs))
}

fn read(path: &Path) -> anyhow::Result<(Recording, Vec<TailValue>, Vec<u64>)> {
    let recording = Recording::open(path)?;
    let (tail, seconds) = recording.tail_and_seconds()?;
    Ok((recording, tail, seconds))
}

fn with_run(recording: &Recording, inputs: Vec<Input>) -> Vec<(Run, Input)> {
    let provenance = &recording.document().provenance;
    let run = || Run { id: provenance.run_id.clone(), host: provenance.host.clone() };
    inputs.into_iter().map(|input| (run(), input)).collect()
}

fn question(arguments: &ForecastArguments) -> anyhow::Result<Question> {
    if let Some(wrong) = unquoted(arguments) {
        return Err(wrong.into());
    }
    let usage = |error: &dyn std::fmt::Display| Usage(error.to_string());
    let mut catalogue = Catalogue::shipped().clone();
    if let Some(path) = &arguments.profiles {
        let text = super::read_text(path)?;
        catalogue.extend(Catalogue::parse(&text).with_context(|| path.display().to_string())?);
    }
    let mut devices: Vec<Profile> = Vec::new();
    for spec in &arguments.device {
        let mut device = catalogue.parse_spec(spec).map_err(|error| usage(&error))?;
        if let Some(period) = &arguments.period {
            device = device.with_written_period(period).map_err(|error| usage(&error))?;
        }
        if let Some(buffers) = arguments.buffers {
            device = device.with_buffers(buffers);
        }
        if let Some(compute) = &arguments.compute {
            device = device.with_written_compute(compute).map_err(|error| usage(&error))?;
        }
        device.origin = Origin::Named;
        devices.push(device);
    }
    // The curve of one device is of its own buffers, which a cycle or a slot does not have.
    let own = match &devices[..] {
        [device] if !device.is_loop() => Some(device.clone()),
        _ => None,
    };
    if devices.is_empty() {
        devices = measured(&arguments.recordings, &catalogue);
        let is_other = |profile: &&Profile| devices.iter().all(|own| own.id != profile.id);
        let others: Vec<Profile> = catalogue.profiles().iter().filter(is_other).cloned().collect();
        devices.extend(others);
    }
    let want_s = arguments.want.as_ref().map(|want| parse_want(want)).transpose().map_err(|error| usage(&error))?;
    let horizons = arguments.horizon.iter().map(|text| Horizon::parse(text)).collect::<Result<_, _>>();
    if let Some(factor) = arguments.compression.filter(|factor| !(0.001..=1e6).contains(factor)) {
        return Err(Usage(format!("--compression {factor} is out of range: give 0.001 to 1000000")).into());
    }
    if let Some(wrong) = arguments.reliability.iter().find(|percent| !(**percent > 0.0 && **percent < 100.0)) {
        return Err(Usage(format!("--reliability {wrong} is out of range: give percent between 0 and 100")).into());
    }
    let stages = if arguments.table { Question::TABLE_STAGES.to_vec() } else { Question::default().stages };
    Ok(Question {
        horizons: horizons.map_err(|error| usage(&error))?,
        stages,
        devices,
        want_s,
        compression_thousandths: arguments.compression.map(|factor| (factor * 1_000.0).round() as u64),
        advise: arguments.want.is_some(),
        curve: (arguments.curve || arguments.html.is_some()).then(|| curve(arguments, own)),
        reliabilities: arguments.reliability.iter().map(|percent| percent / 100.0).collect(),
        ..Question::default()
    })
}

/// No more devices than this are taken from a recording: a file may name any number.
const MAX_MEASURED: usize = 16;

/// The devices that ran in these recordings, as they were set up there, each once: whoever ran them asks about them first.
fn measured(paths: &[PathBuf], catalogue: &Catalogue) -> Vec<Profile> {
    let mut found: Vec<Profile> = Vec::new();
    for path in super::expand(paths) {
        let Ok(Some(activations)) = punctual_recording::read_activation_document(&path) else { continue };
        let words = Recording::open(&path).map(|recording| recording.into_document().provenance.command_line);
        let words = words.unwrap_or_default();
        for device in activations.devices.iter().filter_map(|device| as_set_up(device, &words, catalogue)) {
            if found.len() < MAX_MEASURED && !found.contains(&device) {
                found.push(device);
            }
        }
    }
    found
}

/// The profile of a device as it ran, given the words of the command that ran it; `None` for one that is in no catalogue or
/// could not work.
fn as_set_up(device: &DeviceSummary, words: &[String], catalogue: &Catalogue) -> Option<Profile> {
    let mut profile = as_written(device, words, catalogue).or_else(|| as_counted(device, catalogue))?;
    profile.origin = Origin::Named;
    (profile.validate().is_ok() && profile.usable_slack_ns().is_ok()).then_some(profile)
}

/// The profile of a device as it was written when it ran, if it ran like that: only so it has the rate that it was given.
fn as_written(device: &DeviceSummary, words: &[String], catalogue: &Catalogue) -> Option<Profile> {
    let specs = words.iter().flat_map(|word| word.split(',')).map(|spec| spec.split('+').next().unwrap_or(spec));
    let of_device = specs.filter(|spec| spec.split_whitespace().next() == Some(device.device.as_str()));
    let numbers = (device.period_ns, device.buffers, device.compute_ns);
    let is_so = |profile: &Profile| (profile.period_ns, profile.buffers, profile.compute_ns) == numbers;
    of_device.filter_map(|spec| catalogue.parse_spec(spec).ok()).find(is_so)
}

/// The profile with a device's own numbers, which are times: of a radio's period, nobody knows the rate of its samples then.
fn as_counted(device: &DeviceSummary, catalogue: &Catalogue) -> Option<Profile> {
    let mut profile = catalogue.find(&device.device)?.clone();
    if device.period_ns != profile.period_ns {
        profile = profile.with_written_period(&format!("{}ns", device.period_ns)).ok()?;
    }
    if device.buffers != profile.buffers {
        profile = profile.with_buffers(device.buffers);
    }
    if device.compute_ns != profile.compute_ns {
        profile = profile.with_compute(device.compute_ns);
    }
    Some(profile)
}

/// The curve of one device, or of one with two buffers whose computing takes a share of each.
fn curve(arguments: &ForecastArguments, own: Option<Profile>) -> CurveQuestion {
    CurveQuestion {
        buffering_ns: BUFFERING_MS.map(|milliseconds| milliseconds * 1_000_000).to_vec(),
        device: own.filter(|_| arguments.curve_compute.is_none()),
        compute_thousandths: arguments.curve_compute.unwrap_or(CURVE_COMPUTE_PERCENT) * 10,
        stages: vec![Stage::DpcInterruptLatency, Stage::Total],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_device::Unit;

    #[test]
    fn a_radio_that_was_measured_is_counted_as_it_was_written() {
        let catalogue = Catalogue::shipped();
        let read_again = |spec: &str, words: &[&str]| {
            let ran = catalogue.parse_spec(spec).unwrap();
            let Profile { period_ns, buffers, compute_ns, .. } = ran;
            let summary = DeviceSummary { device: ran.id, period_ns, buffers, compute_ns, ..DeviceSummary::default() };
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let read = as_set_up(&summary, &words, catalogue).unwrap();
            assert_eq!((read.period_ns, read.buffers, read.compute_ns), (period_ns, buffers, compute_ns), "{spec}");
            (read.unit, read.in_units(period_ns).map(|units| units.round()))
        };
        let block = "sdr 1024@2.4MS/s compute=150us x8";
        let samples = (Some(Unit::Sample), Some(1024.0));
        assert_eq!(read_again(block, &["punctual", "device", "run", block]), samples);
        assert_eq!(read_again(block, &["punctual", "device", "mix", &format!("audio64,{block}+thread:80")]), samples);
        // Another one of that name, or none that is known: then it counts in time.
        assert_eq!(read_again(block, &["punctual", "device", "run", "sdr"]), (None, None));
        assert_eq!(read_again("sdr 1ms compute=300us", &["sdr 1ms compute=300us"]), (None, None));
        assert_eq!(read_again("sdr 1ms compute=300us", &[]), (None, None));
        assert_eq!(read_again("sdr", &[]).0, Some(Unit::Sample));
        assert_eq!(read_again("audio 2ms", &[]), (Some(Unit::Frame), Some(96.0)));
    }
}
