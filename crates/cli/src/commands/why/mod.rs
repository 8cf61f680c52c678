//! `punctual why`.

mod evidence;

use super::artifacts::Artifacts;
use crate::args::why::{Topic, WhyArguments};
use crate::output::{self, Output, Usage};
use anyhow::Context;
use evidence::{Evidence, gather};
use punctual_blame::folded;
use punctual_recording::{
    Document, Error, ErrorKind, RecorderSummary, Recording, Stage, printable, read_handler_sums, read_recorder_summary,
};
use punctual_report::why::{ExplainAnswer, HandlersAnswer, WhyAnswer, WhyReport, one_episode, text, whole_text};
use punctual_report::why::{cost, handlers};
use punctual_report::{TO_RECORD_CAUSES, above_ordinary, after_no_evidence, fewer_void, more_kept, more_samples};
use std::path::Path;

pub(crate) fn run(arguments: &WhyArguments, output: Output) -> anyhow::Result<u8> {
    if let Some(topic) = arguments.explain {
        return Ok(explain(topic, output));
    }
    let path = super::one_of(arguments.recording.as_deref().context("no recording was named")?, "why")?;
    super::artifacts::check(arguments.html.as_ref())?;
    super::artifacts::check(arguments.perfetto.as_ref())?;
    let (mut code, mut artifacts) = (0, Artifacts::default());
    let recording = Recording::open(&path)?;
    let recorder = read_recorder_summary(&path)?;
    if arguments.all_handlers {
        return all_handlers(&path, recorder.as_ref(), recording.is_cut(), output);
    }
    let Evidence { views, others, traced, chosen, lateness, functions_left_out, is_cut } =
        gather(&path, arguments).map_err(|error| unexplained(error, &path, recording.document()))?;
    if let Some(only) = arguments.episode.filter(|only| views.iter().all(|view| view.id != *only)) {
        let kept = recorder.as_ref().map_or(0, |recorder| recorder.kept);
        return Err(not_there(&path, only, views.len(), kept));
    }
    let only = arguments.thread.as_ref().map(|asked| others.only(asked, views.len())).transpose()?;
    if let Some(file) = &arguments.perfetto {
        let trace = punctual_report::why::trace::trace(&traced);
        code = artifacts.write(file, trace);
        if chosen > traced.len() {
            output::note(&format!(
                "the trace holds the first {} of {chosen} episodes: --episode N traces one",
                traced.len()
            ));
        }
    }
    let document = recording.document();
    let cut = recording.is_cut() || is_cut;
    let blind = &document.provenance.blind;
    let failure = punctual_report::why::failure(document, recorder.as_ref());
    let report = WhyReport::new(&path, document.provenance.started_ns, recorder, views, cut, failure, blind);
    let mut report = report.under_conditions_of(document);
    if let Some(only) = only {
        report = report.of_thread(only);
    }
    report.functions_left_out = functions_left_out;
    complete(&mut report, &recording);
    if let Some(file) = &arguments.html {
        let page = punctual_report::why::page::html(&report, &lateness, document);
        code = code.max(artifacts.write(file, page));
    }
    if output.json {
        output::answer_beside(artifacts.failure(), WhyAnswer::new(&report, arguments.episode), code);
    } else if arguments.folded {
        report.left_out_for_room().iter().for_each(|note| output::note(note));
        output::print_lines(&folded(&lateness));
    } else if let Some(view) = report.episodes.iter().find(|view| arguments.episode == Some(view.id)) {
        output::print_text(&one_episode(&report, view));
    } else {
        output::print_text(&if arguments.all { whole_text(&report) } else { text(&report) });
    }
    Ok(code)
}

/// Adds how many cycles of loops took too long, and the commands that record the same once more, differently.
fn complete(report: &mut WhyReport<'_>, recording: &Recording) {
    add_cycles(report, recording);
    let (document, loads) = (recording.document(), punctual_load::names());
    let named_ns = report.higher_threshold_ns();
    report.without_evidence = after_no_evidence(document, report.recorder.as_ref(), &loads);
    report.above_ordinary = above_ordinary(document, report.recorder.as_ref(), &loads);
    report.fewer_void = fewer_void(document, report.recorder.as_ref(), &loads);
    report.more_kept = more_kept(document, report.recorder.as_ref(), named_ns, &loads);
    report.more_samples = more_samples(document, report.recorder.as_ref(), &loads);
}

/// Adds how many cycles took too long, where late are the wakeups of loops that took longer than their period. It says nothing of
/// one thread among others, nor where wakeups cannot be read, which the evidence does not need.
fn add_cycles(report: &mut WhyReport<'_>, recording: &Recording) {
    let period_ns = recording.document().followed.as_ref().and_then(|followed| followed.period_ns);
    let is_of_cycles = |recorder: &RecorderSummary| {
        report.only.is_none() && recorder.stage == Stage::Response && recorder.threshold_ns == period_ns
    };
    if let Some(period_ns) = period_ns.filter(|_| report.recorder.as_ref().is_some_and(is_of_cycles)) {
        let cycles = recording.cycles(period_ns).unwrap_or_default();
        report.take_cycles(recording.document(), cycles);
    }
}

/// Where nobody asked who made the wakeups of a recording late: the command that measures the same and asks. Where somebody did,
/// and it could not be recorded: why.
fn unexplained(error: anyhow::Error, path: &Path, document: &Document) -> anyhow::Error {
    let is_missing = error.downcast_ref::<Error>().is_some_and(|error| error.kind() == ErrorKind::NotFound);
    if let Some(why) = document.why_without_causes().filter(|_| is_missing) {
        return anyhow::anyhow!("{}: holds no episodes: {}; see `{TO_RECORD_CAUSES}`", path.display(), printable(why));
    }
    match punctual_report::own_options_and_load(document, &punctual_load::names()) {
        Some(options) if is_missing => anyhow::anyhow!(
            "{}: holds no episodes: record with --why, as in `sudo punctual record --why 500us{options}`",
            path.display()
        ),
        _ => error,
    }
}

/// Prints the page of a kind, or that about void episodes.
fn explain(topic: Topic, output: Output) -> u8 {
    let answer = match topic {
        Topic::Cause(kind) => ExplainAnswer::new(kind),
        Topic::Void => ExplainAnswer::of_void(),
    };
    if output.json {
        output::answer(answer, 0);
    } else {
        output.page(answer.page_text());
    }
    0
}

/// Why there is no episode with this number.
fn not_there(path: &Path, only: u64, many: usize, kept: u64) -> anyhow::Error {
    if (1..=kept).contains(&only) {
        return anyhow::anyhow!("{}: the evidence of episode {only} is gone from the recording", path.display());
    }
    let are = match many {
        0 => "the recording holds none".to_owned(),
        1 => "there is one, number 1".to_owned(),
        _ => format!("they are numbered from 1 to {many}"),
    };
    Usage(format!("there is no episode {only}: {are}")).into()
}

fn all_handlers(path: &Path, recorder: Option<&RecorderSummary>, is_cut: bool, output: Output) -> anyhow::Result<u8> {
    let sums = read_handler_sums(path)?.with_context(|| {
        format!(
            "{}: holds no sums of handlers: record with --why, and let it end by itself or with Ctrl-C",
            path.display()
        )
    })?;
    if output.json {
        output::answer(HandlersAnswer::new(path, &sums, recorder), 0);
    } else {
        output::print_text(&handlers::text(path, &sums));
        if let Some(recorder) = recorder {
            output::print_more(&cost::recorder_lines(recorder, is_cut));
        }
    }
    Ok(0)
}
