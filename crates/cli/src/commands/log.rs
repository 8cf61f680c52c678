//! `punctual log`.

use super::artifacts::Artifacts;
use crate::args::log::{LogArguments, LogCommand, LogRecordArguments, LogShowArguments};
use crate::output::{self, Output, Stream, Usage};
use crate::progress::{ReadyProgress, StepProgress};
use crate::signals::Interrupted;
use punctual_load::Load;
use punctual_recording::episode::EventKind;
use punctual_recording::{
    EndReason, EventClass, LogDocument, LogRow, Recording, agreeing, count_log_rows, counted, for_each_log_row,
    format_ns, grouped, is_log, read_log_document,
};
use punctual_report::log::lines::{CSV_HEADER, csv_line, line};
use punctual_report::log::trace::LogTrace;
use punctual_report::log::{EventRow, HeaderAnswer, LogAnswer, LogPictures, LogReport, LogSummary, log_page, text};
use punctual_report::{after_log, after_log_show, next_text};
use punctual_study::{IfRefused, LogPlan, LogProgress, log_events};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a log takes if the user sets no time, ns.
const DEFAULT_NS: u64 = 10_000_000_000;

/// The header with which programs make marks.
const HEADER: &str = include_str!("../../../../include/punctual.h");

pub(crate) fn run(arguments: &LogArguments, output: Output) -> anyhow::Result<u8> {
    match &arguments.command {
        None => record(&arguments.record, output),
        Some(LogCommand::Show(show)) => self::show(show, output),
        Some(LogCommand::Header) => {
            if output.json {
                output::answer(HeaderAnswer::new(HEADER), 0);
            } else {
                output::print(HEADER);
            }
            Ok(0)
        }
    }
}

fn record(arguments: &LogRecordArguments, output: Output) -> anyhow::Result<u8> {
    super::artifacts::check_page(arguments.html.as_ref())?;
    let default = if arguments.program.is_empty() { Some(DEFAULT_NS) } else { None };
    let plan = LogPlan {
        classes: arguments.events.list.clone(),
        if_refused: if arguments.events.by_name { IfRefused::Fail } else { IfRefused::LeaveOut },
        duration_ns: arguments.duration.or(default),
        output: arguments.output.clone().unwrap_or_else(|| super::fresh_name("log-", ".punctual")),
        command_line: super::command_line(),
    };
    let limit = plan.duration_ns.map(Duration::from_nanos);
    let mut load = Load::of_sources(&arguments.load, limit, &punctual_study::local_machine())?;
    if !arguments.program.is_empty() {
        load.add_program(arguments.program.clone());
    }
    let interrupted = Interrupted::watch();
    let mut ready = ReadyProgress::new(arguments.quiet);
    let mut shown = Line::new(arguments.quiet);
    let result = log_events(&plan, &load, &mut |stage| ready.show(stage) && !interrupted.is_set(), &mut |progress| {
        shown.show(progress);
        interrupted.step()
    });
    ready.done();
    shown.bar.done();
    let (document, log) = result?;
    let code = super::load_exit_code([&document], arguments.ignore_failure);
    let beside = Beside { page: arguments.html.as_ref(), code, quiet: arguments.quiet };
    print(&plan.output, &log, output, &beside)
}

/// The progress line.
struct Line {
    bar: StepProgress,
    quiet: bool,
    shown: Option<Instant>,
}

impl Line {
    fn new(quiet: bool) -> Line {
        Line { bar: StepProgress::new(quiet, "logging"), quiet, shown: None }
    }

    fn show(&mut self, progress: &LogProgress<'_>) {
        if self.shown.is_none() && !self.quiet {
            progress.fallbacks.iter().for_each(|note| output::note(note));
            if !progress.mark_ways.is_empty() {
                output::note(&format!("marks: {}", progress.mark_ways.join(", or written into ")));
            }
        }
        if self.shown.is_some_and(|shown| shown.elapsed() < Duration::from_millis(250)) {
            return;
        }
        self.shown = Some(Instant::now());
        let dropped = if progress.dropped > 0 { format!(", {} dropped", progress.dropped) } else { String::new() };
        let step = format!("{}{dropped}", counted(progress.rows, "event"));
        self.bar.show(&step, progress.elapsed, progress.duration.unwrap_or(progress.elapsed));
    }
}

/// Shows a recording of events, also on a page if one is asked for; `None` if it is not one.
pub(crate) fn report(path: &Path, output: Output, page: Option<&PathBuf>) -> anyhow::Result<Option<u8>> {
    let beside = Beside { page, code: 0, quiet: true };
    match read_log_document(path)? {
        Some(log) => print(path, &log, output, &beside).map(Some),
        None if is_log(path) => print(path, &LogDocument::default(), output, &beside).map(Some),
        None => Ok(None),
    }
}

/// What else the answer about a log needs.
struct Beside<'a> {
    /// Where the log's page goes.
    page: Option<&'a PathBuf>,
    /// What failed during logging.
    code: u8,
    quiet: bool,
}

fn print(path: &Path, log: &LogDocument, output: Output, beside: &Beside<'_>) -> anyhow::Result<u8> {
    let recording = Recording::open(path)?;
    let mut bar = StepProgress::new(beside.quiet, "counting");
    let began = Instant::now();
    let summary = summarize(path, &recording, log, &mut |rows| {
        // An estimate in proportion to the rows counted so far.
        let (elapsed, whole) = (began.elapsed(), log.rows().max(rows));
        bar.show(&counted(rows, "event"), elapsed, elapsed.mul_f64(whole as f64 / rows.max(1) as f64));
    });
    bar.done();
    let summary = summary?;
    let report = LogReport { recording: path, document: recording.document(), log, summary: &summary };
    let (mut code, mut artifacts) = (report.exit_code().max(beside.code), Artifacts::default());
    if let Some(page) = beside.page {
        let mut drawn = LogPictures::new(&report);
        for_each_log_row(path, |row| {
            drawn.take(row);
            true
        })?;
        code = code.max(artifacts.write(page, log_page(&report, &drawn).html()?));
    }
    if output.json {
        output::answer_beside(artifacts.failure(), LogAnswer::new(&report), code);
    } else {
        output::print_text(&(text(&report) + &next_text(&after_log(&report))));
    }
    Ok(code)
}

/// Counts the rows and compares them with the number counted while they were written. Reports progress now and then.
fn summarize(
    path: &Path,
    recording: &Recording,
    log: &LogDocument,
    tell: &mut dyn FnMut(u64),
) -> anyhow::Result<LogSummary> {
    let (mut summary, mut rows) = (LogSummary::default(), 0_u64);
    for_each_log_row(path, |row| {
        summary.take(row);
        rows += 1;
        if rows.is_multiple_of(1 << 16) {
            tell(rows);
        }
        true
    })?;
    summary.close();
    // A full disk may have had room for rows but none for their count.
    let failed = recording.document().ended.as_ref().is_none_or(|ended| ended.reason == EndReason::Failed);
    if !failed {
        let (logged, stand) = (log.rows(), count_log_rows(path)?);
        let whole = logged == stand && stand == summary.rows();
        let (logged, were) = (counted(logged, "event"), agreeing(logged, "was", "were"));
        anyhow::ensure!(whole, "{}: {logged} {were} logged, but the table holds {stand}", path.display());
    }
    Ok(summary)
}

/// Which rows the user wants.
struct Filter<'a> {
    arguments: &'a LogShowArguments,
    started_ns: u64,
}

impl Filter<'_> {
    fn wants(&self, row: &LogRow<'_>) -> bool {
        let (arguments, event) = (self.arguments, &row.event);
        let after = event.at_ns.saturating_sub(self.started_ns);
        // A hole in the log is shown whatever the user asks for.
        let is_hole = event.kind == EventKind::Dropped;
        let in_class = |classes: &[EventClass]| is_hole || classes.contains(&event.kind.class());
        arguments.from.is_none_or(|from| after >= from)
            && arguments.to.is_none_or(|to| after <= to)
            && arguments.cpu.as_ref().is_none_or(|cpus| is_hole || cpus.0.contains(&event.cpu))
            && arguments.events.as_ref().is_none_or(|classes| in_class(&classes.list))
            && (is_hole || self.concerns(row))
    }

    /// Whether one of the wanted threads did it or had it done to it.
    fn concerns(&self, row: &LogRow<'_>) -> bool {
        let event = &row.event;
        let has_other = matches!(
            event.kind,
            EventKind::Switch | EventKind::Waking | EventKind::Migrate | EventKind::ProcessFork | EventKind::Rename
        );
        let by_name = |regex: &regex::Regex| regex.is_match(row.thread) || (has_other && regex.is_match(row.name));
        let by_id = |tid: &u32| *tid == event.tid || (has_other && u64::from(*tid) == event.value);
        let LogShowArguments { comm, tid, .. } = self.arguments;
        comm.as_ref().is_none_or(by_name) && (tid.is_empty() || tid.iter().any(by_id))
    }
}

fn show(arguments: &LogShowArguments, output: Output) -> anyhow::Result<u8> {
    if let (Some(from), Some(to)) = (arguments.from, arguments.to)
        && from > to
    {
        let (from, to) = (format_ns(from), format_ns(to));
        return Err(Usage(format!("--from {from} is after --to {to}: give the earlier time to --from")).into());
    }
    super::artifacts::check(arguments.perfetto.as_ref())?;
    let path = super::one_of(&arguments.recording, "log show")?;
    let recording = Recording::open(&path)?;
    let log = read_log_document(&path)?;
    let hint = || format!("{}: holds no event log: make one with `punctual log`", path.display());
    anyhow::ensure!(is_log(&path), hint());
    let log = log.unwrap_or_default();
    check_cpus(
        arguments,
        &path,
        if log.cpus.is_empty() { &recording.document().provenance.configuration.cpus } else { &log.cpus },
    )?;
    // The verdict's counts are needed before the first line is shown.
    let summary = summarize(&path, &recording, &log, &mut |_| {})?;
    let report = LogReport { recording: &path, document: recording.document(), log: &log, summary: &summary };
    let filter = Filter { arguments, started_ns: recording.document().provenance.started_ns };
    match &arguments.perfetto {
        Some(file) => show_as_trace(&report, &filter, file, output),
        None => show_rows(&report, &filter, output),
    }
}

/// Refuses CPUs that the log does not cover, if it says which ones it covers.
fn check_cpus(arguments: &LogShowArguments, path: &Path, logged: &[u32]) -> anyhow::Result<()> {
    if let Some(cpus) = &arguments.cpu
        && let Some(missing) = cpus.0.iter().find(|cpu| !logged.contains(cpu))
        && !logged.is_empty()
    {
        let have = logged.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        return Err(Usage(format!("--cpu {missing}: {} is a log of the CPUs {have}", path.display())).into());
    }
    Ok(())
}

/// Writes the wanted rows for Perfetto.
fn show_as_trace(report: &LogReport<'_>, filter: &Filter<'_>, file: &Path, output: Output) -> anyhow::Result<u8> {
    let mut trace = LogTrace::new(&report.log.threads);
    let shown = each_wanted(report.recording, filter, |row| {
        trace.take(row);
        true
    })?;
    let mut artifacts = Artifacts::default();
    let code = artifacts.write(file, trace.finish());
    let whole = report.exit_code().max(code);
    let next = after_log_show(report, true);
    if output.json {
        let answer = LogAnswer::new(report).with_next(next).with_shown(shown);
        output::answer_beside(artifacts.failure(), answer, whole);
    } else {
        output::print_text(&report.verdict());
        if code == 0 {
            output::note(&format!("{} in {}", counted(shown, "event"), file.display()));
        }
        output::print_more(&next_text(&next));
    }
    Ok(whole)
}

/// Prints the wanted rows as they are read: there may be millions.
fn show_rows(report: &LogReport<'_>, filter: &Filter<'_>, output: Output) -> anyhow::Result<u8> {
    let mut stream = Stream::new();
    if output.json {
        // One object, written event by event.
        let answer = LogAnswer::new(report).with_next(after_log_show(report, false));
        let mut head = output::answer_text(answer, 0, None);
        head.truncate(head.trim_end().len().saturating_sub(2));
        stream.write(&format!("{head},\n  \"events\": ["));
        let mut first = true;
        let shown = each_wanted(report.recording, filter, |row| {
            let comma = if std::mem::take(&mut first) { "" } else { "," };
            stream.write(&format!("{comma}\n    {}", output::compact(&EventRow::new(row))))
        })?;
        stream.write(&format!("\n  ],\n  \"shown\": {shown}\n}}\n"));
    } else if filter.arguments.csv {
        stream.write(&format!("{CSV_HEADER}\n"));
        each_wanted(report.recording, filter, |row| stream.write(&format!("{}\n", csv_line(row))))?;
    } else {
        stream.write_text(&format!("{}\n\n", report.verdict()));
        let text = |row: &LogRow<'_>| format!("{}\n", line(row, filter.started_ns));
        let shown = each_wanted(report.recording, filter, |row| stream.write_text(&text(row)))?;
        let next = next_text(&after_log_show(report, false));
        if !next.is_empty() {
            stream.write_text(&format!("\n{next}"));
        }
        stream.finish();
        if shown < report.summary.rows() {
            output::note(&format!("{} of {} shown", grouped(shown), counted(report.summary.rows(), "event")));
        }
    }
    stream.finish();
    Ok(report.exit_code())
}

/// Passes on the wanted rows, up to the limit; returns how many. `take` says whether to continue.
fn each_wanted(path: &Path, filter: &Filter<'_>, mut take: impl FnMut(&LogRow<'_>) -> bool) -> anyhow::Result<u64> {
    let limit = filter.arguments.limit.unwrap_or(u64::MAX);
    let mut shown = 0;
    for_each_log_row(path, |row| {
        if !filter.wants(row) {
            return true;
        }
        if shown == limit {
            return false;
        }
        shown += 1;
        take(row)
    })?;
    Ok(shown)
}
