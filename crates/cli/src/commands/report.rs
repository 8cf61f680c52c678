//! `punctual report`.

use super::artifacts::Artifacts;
use super::asked_devices;
use super::device::Activated;
use super::unread::{CYCLES, INTERARRIVAL, PICTURES, SUMS, Unread, WAKEUPS};
use crate::args::ReportArguments;
use crate::output::{self, Output, Usage};
use punctual_comparison::device_settings;
use punctual_device::Profile;
use punctual_forecast::JudgedDevice;
use punctual_recording::{
    BlockMaximum, Document, FollowedCycles, Limit, LimitSpec, Recording, RecordingKind, Stage, WakeupRows, compatible,
    counted, kind_of, merge, printable, printable_path, read_activation_document,
};
use punctual_report::device::{Run, with_device_runs};
use punctual_report::encode::html::{History, Page};
use punctual_report::forecast::interarrival::InterarrivalRow;
use punctual_report::recording::{LoopCycles, Recorded, names_apart, part_names, recording_page};
use punctual_report::{Measurement, ReportAnswer, load_name, load_words};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

pub(crate) fn run(arguments: &ReportArguments, output: Output) -> anyhow::Result<u8> {
    check_files(arguments)?;
    let recordings = super::expand(&arguments.recordings);
    for path in &recordings {
        let kind = kind_of(path)?;
        refuse_trace(arguments, kind, path)?;
        if kind != RecordingKind::Wakeups
            && let Some(code) = report_other(kind, path, &recordings, arguments, output)?
        {
            return Ok(code);
        }
    }
    let mut measured = measured(&recordings, arguments.html.is_some())?;
    measured.measurement.by_cpu = arguments.by_cpu;
    let is_followed = measured.measurement.parts.iter().any(|(_, document)| document.followed.is_some());
    if arguments.period.is_some() && !is_followed {
        return Err(Usage(
            "--period is for recordings of other programs' threads: punctual's own have a period already".to_owned(),
        )
        .into());
    }
    if let Some(limits) = &arguments.limit {
        measured.judge(&limits.of_wakeups);
    }
    let cycles_ns = arguments.limit.as_ref().map_or(&[][..], |limits| &limits.of_cycles_ns);
    count_cycles(&mut measured.measurement, &measured.paths, arguments.period, cycles_ns, &mut measured.unread);
    if !cycles_ns.is_empty() && measured.measurement.cycles.is_empty() && !measured.unread.is_without(CYCLES) {
        return Err(Usage("--limit cycle: goes with --period: how often the loop should start over".to_owned()).into());
    }
    let asked = measured.ask(arguments);
    let mut interarrival = Vec::new();
    for path in &recordings {
        let found = measured.unread.unless(interarrival_of(path, arguments), INTERARRIVAL)?;
        interarrival.extend(found.into_iter().flatten());
    }
    let mut artifacts = Artifacts::default();
    let activated = Activated::among(&recordings)?;
    let runs: Vec<Run<'_>> = activated.iter().map(Activated::run).collect();
    if let Some(path) = &arguments.html {
        let page = with_device_runs(measured.page(&asked), &runs).html()?;
        measured.measurement.exit_code = measured.measurement.exit_code.max(artifacts.write(path, page));
    }
    let missing = measured.missing_rows();
    let mut measurement = measured.measurement;
    measurement.exit_code = measurement.exit_code.max(measured.unread.tell(&mut artifacts));
    if let Some(missing) = missing {
        output::note(&missing);
    }
    if output.json {
        let answer = ReportAnswer::new(&measurement, &interarrival).with_device_runs(&runs);
        output::answer_beside(artifacts.failure(), answer, 0);
    } else if runs.len() == recordings.len() && !asks_of_wakeups(arguments) {
        super::device::print_each(&runs);
    } else {
        print(&measurement, &interarrival, arguments);
    }
    Ok(measurement.exit_code)
}

/// Prints it for people, or in the form of another program.
fn print(measurement: &Measurement, interarrival: &[InterarrivalRow], arguments: &ReportArguments) {
    match arguments.export.0 {
        Some(export) => output::print_lines(&(export.text)(measurement)),
        None => {
            output::print_text(&punctual_report::measurement_text(measurement));
            output::print_rest(interarrival, &measurement.next);
        }
    }
}

/// Checks whether the files that the user asked for can be written.
fn check_files(arguments: &ReportArguments) -> anyhow::Result<()> {
    super::artifacts::check_page(arguments.html.as_ref())?;
    super::artifacts::check(arguments.perfetto.as_ref())
}

/// This command writes a trace only of inputs to a program.
fn refuse_trace(arguments: &ReportArguments, kind: RecordingKind, path: &Path) -> Result<(), Usage> {
    if arguments.perfetto.is_none() || kind == RecordingKind::Interaction {
        return Ok(());
    }
    Err(Usage(format!(
        "{} holds {}: --perfetto is for inputs to a program; `punctual why` and `punctual log show` write traces of other recordings",
        path.display(),
        kind.holds()
    )))
}

/// Writes a page of recordings of wakeups, as `punctual report --html` does from the same recordings, in addition to
/// the answer about them, and gives the exit code. `said` goes beyond what the recordings tell, for example about
/// devices that the user asked about; the page says it too.
pub(super) fn write_page(
    file: &Path,
    recordings: &[PathBuf],
    devices: &[Profile],
    said: Option<&Measurement>,
    artifacts: &mut Artifacts,
) -> u8 {
    let mut measured = match measured(recordings, true) {
        Ok(measured) => measured,
        Err(error) => return artifacts.fail(file, &error),
    };
    count_cycles(&mut measured.measurement, &measured.paths, None, &[], &mut measured.unread);
    if let Some(said) = said {
        measured.measurement.verdict.clone_from(&said.verdict);
        measured.measurement.devices.clone_from(&said.devices);
        measured.measurement.next.clone_from(&said.next);
    }
    let page = measured.page(devices).html();
    let code = measured.unread.tell(artifacts);
    match page {
        Ok(page) => code.max(artifacts.write(file, page)),
        Err(error) => artifacts.fail(file, &error.into()),
    }
}

/// Compares the cycles of followed threads with a period, the given one or else the one with which they were recorded, and the
/// longest of them with each limit. An answer about a loop that may have hung begins with that. Recordings that cannot be read count for nothing, and are taken.
pub(super) fn count_cycles(
    measurement: &mut Measurement,
    paths: &[Vec<PathBuf>],
    given_ns: Option<u64>,
    limits_ns: &[u64],
    unread: &mut Unread,
) {
    let names = part_names(&measurement.parts);
    let is_beside_others = names.len() > 1;
    for (((_, document), paths), name) in measurement.parts.iter_mut().zip(paths).zip(names) {
        let Some(period_ns) = document.followed.as_ref().and_then(|followed| given_ns.or(followed.period_ns)) else {
            continue;
        };
        let mut found = FollowedCycles::default();
        let mut is_read = false;
        for path in paths {
            let counted = Recording::open(path).and_then(|recording| recording.followed_cycles(period_ns));
            is_read |= counted.is_ok();
            match counted {
                Ok(counted) => found.add(&counted),
                Err(error) => unread.take(&error, CYCLES),
            }
        }
        if !is_read {
            continue;
        }
        let cycles = LoopCycles::new(period_ns, found, is_beside_others.then_some(name));
        let of = cycles.of.as_ref().map_or_else(String::new, |of| format!("{of}: "));
        measurement.verdict += &format!(" {of}{}", cycles.verdict());
        if let Some(may_have_hung) = cycles.may_have_hung() {
            measurement.verdict = format!("{of}{may_have_hung} {}", measurement.verdict);
        }
        // Recordings that were added up have no common end.
        if paths.len() == 1 {
            measurement.verdict += &cycles.ended_before(document);
        }
        let limits: Vec<Limit> = limits_ns.iter().map(|limit_ns| cycles.judge(*limit_ns)).collect();
        measurement.verdict += &cycles.over_limits(&limits);
        measurement.exit_code = measurement.exit_code.max(super::limits_exit_code(&limits));
        document.limits.extend(limits);
        measurement.cycles.push(cycles);
    }
    // What the cycles show decides what can be forecast, and what has to be asked instead.
    measurement.next = punctual_report::after_measurement(measurement, &punctual_load::names());
}

/// The page of the wakeups in a recording of something else.
///
/// # Errors
/// If the recording cannot be opened, or if what it holds does not add up.
fn page_beside(recording: &Path, artifacts: &mut Artifacts) -> anyhow::Result<Page> {
    let mut measured = measured(std::slice::from_ref(&recording.to_owned()), true)?;
    measured.unread.tell(artifacts);
    Ok(measured.page(&punctual_study::usual_devices()))
}

/// Recordings of wakeups, added up where they were made the same way.
struct Measured {
    measurement: Measurement,
    /// The paths of each part's recordings.
    paths: Vec<Vec<PathBuf>>,
    recorded: Vec<Recorded>,
    /// Wakeups in tables, those that cannot be read included.
    rows: u64,
    unread: Unread,
}

impl Measured {
    /// Says that some wakeups count in the figures but are in no table, if that is so: for example, because a file was
    /// deleted.
    fn missing_rows(&self) -> Option<String> {
        let counted_in = self.measurement.parts.iter().map(|(_, document)| document.counters.wakeups);
        let missing = counted_in.fold(0, u64::saturating_add).saturating_sub(self.rows);
        let paths: Vec<&PathBuf> = self.paths.iter().flatten().collect();
        let whose = match paths[..] {
            [one] => printable_path(one),
            _ => counted(paths.len() as u64, "recording"),
        };
        let wakeups = counted(missing, "wakeup");
        (missing > 0).then(|| format!("{whose}: {wakeups} of the figures are in no table: a file is missing"))
    }

    /// Judges each part by these limits instead of its own.
    fn judge(&mut self, limits: &[LimitSpec]) {
        for (_, document) in &mut self.measurement.parts {
            document.limits = limits.iter().map(|limit| limit.judge(|stage| document.judged(stage))).collect();
            self.measurement.exit_code = self.measurement.exit_code.max(super::limits_exit_code(&document.limits));
        }
        self.measurement.verdict = punctual_report::recordings_verdict(&self.measurement.parts);
    }

    /// Judges the devices that the check of these recordings was asked about, if it was and no limit is asked about now; gives
    /// those of the page.
    fn ask(&mut self, arguments: &ReportArguments) -> Vec<Profile> {
        let asked = asked_devices::of_recordings(&self.measurement.parts);
        if asked.is_empty() || arguments.limit.is_some() {
            return punctual_study::usual_devices();
        }
        let parts = self.measurement.parts.iter().zip(&self.paths);
        self.measurement.devices =
            parts.flat_map(|((_, document), paths)| asked_devices::judged(document, paths, &asked, true)).collect();
        if !self.measurement.devices.is_empty() {
            self.measurement.verdict = punctual_report::devices_verdict(&self.measurement);
            self.measurement.next = punctual_report::after_measurement(&self.measurement, &punctual_load::names());
        }
        asked
    }

    /// Makes the page. From then on the measurement says what devices would have met.
    fn page(&mut self, asked: &[Profile]) -> Page {
        let listed = asked_devices::listed(&self.measurement);
        let parts = self.measurement.parts.iter().zip(&self.paths);
        let devices: Vec<Vec<JudgedDevice>> =
            parts.map(|((_, document), paths)| asked_devices::judged(document, paths, asked, false)).collect();
        self.measurement.devices = devices.iter().flatten().cloned().collect();
        let mut page = recording_page(&self.measurement, &devices, &self.recorded);
        page.verdict = listed.unwrap_or(page.verdict);
        page.warnings.extend(self.unread.lines().map(|line| printable(&line)));
        page
    }
}

fn measured(recordings: &[PathBuf], is_drawn: bool) -> anyhow::Result<Measured> {
    let mut unread = Unread::default();
    let (parts, recorded, rows) = read(recordings, is_drawn, &mut unread)?;
    let paths: Vec<Vec<PathBuf>> =
        parts.iter().map(|same| same.iter().map(|(path, _)| path.clone()).collect()).collect();
    let merged = parts.into_iter().zip(&paths).map(|(same, paths)| {
        let documents: Vec<Document> = same.into_iter().map(|(_, document)| document).collect();
        merge(documents).map(|document| (paths[0].clone(), document))
    });
    let parts = merged.collect::<Result<_, _>>()?;
    let mut measurement = Measurement { parts, ..Measurement::default() };
    measurement.verdict = punctual_report::recordings_verdict(&measurement.parts);
    measurement.next = punctual_report::after_measurement(&measurement, &punctual_load::names());
    Ok(Measured { measurement, paths, recorded, rows, unread })
}

/// The recordings of one part, each with its path.
type Alike = Vec<(PathBuf, Document)>;

/// The recordings grouped by measurement, what is drawn of each if a page is made, and how many wakeups their tables
/// hold.
fn read(
    recordings: &[PathBuf],
    is_drawn: bool,
    unread: &mut Unread,
) -> anyhow::Result<(Vec<Alike>, Vec<Recorded>, u64)> {
    let mut parts: Vec<Alike> = Vec::new();
    // How the devices of each part's recordings were set up; empty if there are none.
    let mut settings: Vec<Vec<(String, String)>> = Vec::new();
    let mut recorded: Vec<Recorded> = Vec::new();
    let mut all_rows = 0_u64;
    for (path, name) in recordings.iter().zip(names_apart(recordings)) {
        let recording = Recording::open(path)?;
        let (drawn, rows) = look_through(&recording, &name, is_drawn, unread)?;
        recorded.extend(drawn);
        all_rows = all_rows.saturating_add(rows);
        let mut document = recording.into_document();
        // Whatever is wrong with the activations, the wakeups beside them are reported on.
        let own = read_activation_document(path).ok().flatten().as_ref().map(device_settings).unwrap_or_default();
        if !own.is_empty() {
            // Old recordings do not say it.
            document.kind = Some(RecordingKind::Activations);
        }
        // Recordings made in the same way under the same load are one measurement; the rest are shown beside it.
        let mut so_far = parts.iter_mut().zip(&settings);
        match so_far.find(|(others, same)| **same == own && compatible(&others[0].1, &document).is_none()) {
            Some((others, _)) => others.push((path.clone(), document)),
            None => {
                parts.push(vec![(path.clone(), document)]);
                settings.push(own);
            }
        }
    }
    Ok((parts, recorded, all_rows))
}

/// What is drawn of the wakeups of a recording, if anything is, and how many its tables hold: as many as its document counts
/// if they cannot be read.
fn look_through(
    recording: &Recording,
    name: &str,
    is_drawn: bool,
    unread: &mut Unread,
) -> anyhow::Result<(Option<Recorded>, u64)> {
    // What tells it from others: its file and its load.
    let name = format!("{name} ({})", load_words(load_name(recording.document())));
    recording.damaged().iter().for_each(|damaged| unread.take(damaged, WAKEUPS));
    if is_drawn && let Some((drawn, rows)) = unread.unless(read_through(recording, name), PICTURES)? {
        return Ok((Some(drawn), rows));
    }
    let Some(rows) = unread.unless(recording.count_rows().map_err(Into::into), SUMS)? else {
        return Ok((None, recording.document().counters.wakeups));
    };
    check_sums(recording.directory(), rows)?;
    Ok((None, rows.read))
}

/// Reports on a recording of something other than wakeups; `None` if its wakeups are to be reported on after all.
fn report_other(
    kind: RecordingKind,
    path: &Path,
    recordings: &[PathBuf],
    arguments: &ReportArguments,
    output: Output,
) -> anyhow::Result<Option<u8>> {
    let alone = recordings.len() == 1;
    let is_exported = arguments.export.0.is_some();
    let is_of_a_stage = |limit: &LimitSpec| limit.stage() != Stage::Total;
    let refused = match kind {
        RecordingKind::Gaps | RecordingKind::Log | RecordingKind::Interaction if arguments.period.is_some() => {
            Some("--period is for recordings of followed threads")
        }
        RecordingKind::Gaps | RecordingKind::Log | RecordingKind::Interaction if !alone => Some("report it by itself"),
        RecordingKind::Gaps if is_exported || arguments.limit.is_some() => {
            Some("--csv and --limit do not apply; --json has all its figures")
        }
        RecordingKind::Interaction
            if arguments
                .limit
                .iter()
                .any(|limits| !limits.of_cycles_ns.is_empty() || limits.of_wakeups.iter().any(is_of_a_stage)) =>
        {
            Some("--limit takes no stage there: p99=100ms applies to the inputs")
        }
        RecordingKind::Interaction if is_exported => Some("--json has all its inputs"),
        RecordingKind::Log if is_exported => Some("punctual log show --csv prints its events"),
        RecordingKind::Log if arguments.limit.is_some() || !arguments.interarrival.is_empty() => {
            Some("--limit and --interarrival do not apply; --json has all its figures")
        }
        _ => None,
    };
    if let Some(instead) = refused {
        return Err(Usage(format!("{} holds {}, no wakeups: {instead}", path.display(), kind.holds())).into());
    }
    match kind {
        RecordingKind::Gaps => {
            let interarrival = interarrival(recordings, arguments)?;
            super::idle::report(path, output, &interarrival, arguments.html.as_ref())
        }
        RecordingKind::Log => super::log::report(path, output, arguments.html.as_ref()),
        RecordingKind::Interaction => {
            let interarrival = interarrival(recordings, arguments)?;
            super::interact::report(path, arguments, &interarrival, output)
        }
        // Options that only wakeups can answer are answered from the bystander's.
        RecordingKind::Activations if asks_of_wakeups(arguments) => Ok(None),
        RecordingKind::Activations if alone => {
            super::device::report(path, output, arguments.html.as_deref(), page_beside)
        }
        RecordingKind::Activations if !output.json && arguments.html.is_none() => {
            super::device::report_each(recordings)
        }
        RecordingKind::Activations | RecordingKind::Wakeups => Ok(None),
    }
}

/// Whether there is an option that only wakeups can answer.
fn asks_of_wakeups(arguments: &ReportArguments) -> bool {
    let is_exported = arguments.export.0.is_some();
    is_exported || arguments.by_cpu || arguments.limit.is_some() || !arguments.interarrival.is_empty()
}

/// How late events follow one another, if that was asked for.
fn interarrival(recordings: &[PathBuf], arguments: &ReportArguments) -> anyhow::Result<Vec<InterarrivalRow>> {
    let found = recordings.iter().map(|path| interarrival_of(path, arguments)).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(found.into_iter().flatten().collect())
}

fn interarrival_of(path: &Path, arguments: &ReportArguments) -> anyhow::Result<Vec<InterarrivalRow>> {
    if arguments.interarrival.is_empty() {
        return Ok(Vec::new());
    }
    let found = punctual_study::late_events(path, arguments.stage, &arguments.interarrival)?;
    let row = |row: punctual_study::LateEvents| InterarrivalRow {
        recording: path.display().to_string(),
        whose: row.whose,
        stage: row.stage,
        late: row.late,
        events: row.events,
    };
    Ok(found.into_iter().map(row).collect())
}

fn check_sums(path: &Path, rows: WakeupRows) -> anyhow::Result<()> {
    anyhow::ensure!(
        rows.not_adding_up == 0,
        "{}: the stages of {} do not add up to the total",
        path.display(),
        counted(rows.not_adding_up, "wakeup")
    );
    Ok(())
}

/// Reads the wakeups of a recording: whether the stages of each add up, and when it was how late.
pub(super) fn read_through(recording: &Recording, name: String) -> anyhow::Result<(Recorded, u64)> {
    let document = recording.document();
    let mut histories: Vec<(String, History)> = Vec::new();
    let mut positions: HashMap<String, usize> = HashMap::new();
    let mut watched = watched(recording)?;
    for measure in document.distributions.measures() {
        let Some((period_ns, ends)) = watched.remove(measure.as_str()) else { continue };
        if let Some(history) = History::over(&ends, period_ns) {
            positions.insert(measure.clone(), histories.len());
            histories.push((measure, history));
        }
    }
    // For a thread that is listed more than once, the first entry counts.
    let mut places: HashMap<u32, Option<usize>> = HashMap::new();
    for task in &document.tasks {
        places.entry(task.tid).or_insert_with(|| positions.get(&task.measure).copied());
    }
    let rows = recording.count_rows()?;
    check_sums(recording.directory(), rows)?;
    recording.for_each_lateness(|cpu, tid, expected_ns, total_ns| {
        if let Some(&Some(place)) = places.get(&tid) {
            histories[place].1.take(cpu, expected_ns, total_ns);
        }
    })?;
    histories.iter_mut().for_each(|(_, history)| history.close());
    Ok((Recorded { name, histories }, rows.read))
}

/// The longest period of each measure's tasks, ns, and the first and last seconds of each in which it was seen. Each task
/// and each second is looked at once, however many measures there are.
fn watched(recording: &Recording) -> anyhow::Result<HashMap<&str, (u64, Vec<BlockMaximum>)>> {
    let document = recording.document();
    // Only the recording's own threads: a table may name billions of others.
    let mut ends: HashMap<u32, Option<[BlockMaximum; 2]>> =
        document.tasks.iter().map(|task| (task.tid, None)).collect();
    recording.for_each_block_maximum(|block| {
        let Some(ends) = ends.get_mut(&block.tid) else { return };
        let [first, last] = ends.get_or_insert([*block; 2]);
        if block.block < first.block {
            *first = *block;
        }
        if block.block > last.block {
            *last = *block;
        }
    })?;
    let mut watched: HashMap<&str, (u64, Vec<BlockMaximum>)> = HashMap::new();
    for task in &document.tasks {
        let (period_ns, own) = watched.entry(&task.measure).or_default();
        *period_ns = (*period_ns).max(task.period_ns);
        own.extend(ends.get(&task.tid).into_iter().flatten().flatten());
    }
    Ok(watched)
}
