//! `punctual why`.

use super::artifacts::Artifacts;
use crate::args::why::WhyArguments;
use crate::output::{self, Output, Usage};
use anyhow::Context;
use punctual_blame::{CallTree, Kind, Room, add_lateness, folded};
use punctual_recording::bounds::{MAX_DETAIL_BYTES, MAX_TREE_BYTES};
use punctual_recording::episode::Victim;
use punctual_recording::{
    Episode, RecorderSummary, Recording, for_each_episode, printable, read_handler_sums, read_recorder_summary,
};
use punctual_report::why::{
    EpisodeView, ExplainAnswer, HandlersAnswer, OnlyThread, WhyAnswer, WhyReport, episode_text, text,
};
use punctual_report::why::{cost, handlers};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A trace of more episodes than this is of no use to a viewer.
const MAX_TRACED: usize = 200;

pub(crate) fn run(arguments: &WhyArguments, output: Output) -> anyhow::Result<u8> {
    if let Some(kind) = arguments.explain {
        return Ok(explain(kind, output));
    }
    let path = one_recording(arguments.recording.as_deref())?;
    super::artifacts::check(arguments.html.as_ref())?;
    super::artifacts::check(arguments.perfetto.as_ref())?;
    let (mut code, mut artifacts) = (0, Artifacts::default());
    let recording = Recording::open(&path)?;
    let recorder = read_recorder_summary(&path)?;
    if arguments.all_handlers {
        return all_handlers(&path, recorder.as_ref(), recording.is_cut(), output);
    }
    let Evidence { views, others, traced, chosen, lateness, functions_left_out, is_cut } = gather(&path, arguments)?;
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
    let unwritten = || Some(format!("It failed: {}.", recorder.as_ref()?.failure.as_ref()?));
    let failure = punctual_report::failure_in_words(document).or_else(unwritten);
    let mut report = WhyReport::new(&path, document.provenance.started_ns, recorder, views, cut, failure, blind);
    if let Some(only) = only {
        report = report.of_thread(only);
    }
    report.functions_left_out = functions_left_out;
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
        output::print_text(&format!("{}\n\n{}", report.verdict(), episode_text(&report, view, true)));
    } else {
        output::print_text(&text(&report));
    }
    Ok(code)
}

/// Prints the page of a kind.
fn explain(kind: Kind, output: Output) -> u8 {
    if output.json {
        output::answer(ExplainAnswer::new(kind), 0);
    } else {
        output::print_text(kind.page_text());
    }
    0
}

fn one_recording(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let named = named.context("no recording was named")?;
    match super::expand(&[named.to_owned()]).as_slice() {
        [one] => Ok(one.clone()),
        several => {
            let (path, many) = (named.display(), several.len());
            Err(Usage(format!("{path}: holds {many} recordings: name one of them")).into())
        }
    }
}

/// What is read of the episodes, within bounds.
struct Evidence {
    views: Vec<EpisodeView>,
    /// What is left out because it is another thread's.
    others: Others,
    /// Those to trace, of so many that were chosen.
    traced: Vec<Episode>,
    chosen: usize,
    /// Who was late with whom.
    lateness: CallTree,
    /// How often a function had no room in call trees.
    functions_left_out: u64,
    /// Whether the last line was cut short.
    is_cut: bool,
}

/// Episodes of threads that were not asked for.
#[derive(Default)]
struct Others {
    count: u64,
    void: u64,
    /// Their names, some of them.
    names: BTreeSet<String>,
}

impl Others {
    /// So many names are told.
    const MAX_NAMES: usize = 5;

    fn take(&mut self, episode: &Episode) {
        self.count += 1;
        self.void += u64::from(episode.void.is_some());
        if self.names.len() < Self::MAX_NAMES {
            self.names.insert(printable(&episode.victim.name));
        }
    }

    /// What is said of them beside so many episodes of the one that was asked for; nobody of that name is wrong usage.
    fn only(self, asked: &str, found: usize) -> Result<OnlyThread, Usage> {
        if found == 0 && self.count > 0 {
            let names: Vec<String> = self.names.into_iter().collect();
            return Err(Usage(format!("no thread `{asked}` was late: late were {}", names.join(", "))));
        }
        Ok(OnlyThread { asked: asked.to_owned(), others: self.count, others_void: self.void })
    }
}

fn gather(path: &Path, arguments: &WhyArguments) -> anyhow::Result<Evidence> {
    let mut views = Vec::new();
    let mut others = Others::default();
    let number = arguments.thread.as_ref().and_then(|asked| asked.parse::<u32>().ok());
    let is_asked = |victim: &Victim| {
        arguments.thread.as_ref().is_none_or(|asked| *asked == victim.name || number == Some(victim.tid))
    };
    let mut traced: Vec<Episode> = Vec::new();
    let mut chosen = 0_usize;
    let mut room = Room::of(MAX_TREE_BYTES);
    let (mut detail_bytes, mut traced_bytes) = (0, 0);
    let mut lateness = CallTree::default();
    let is_chosen = |id: u64| arguments.episode.is_none_or(|only| only == id);
    let is_cut = for_each_episode(path, |episode| {
        if !is_asked(&episode.victim) {
            return others.take(&episode);
        }
        let mut view = EpisodeView::new(&episode, &mut room);
        if is_chosen(view.id) && view.void.is_none() {
            add_lateness(&mut lateness, &episode, &view.split, &mut room);
        }
        if arguments.perfetto.is_some() && is_chosen(view.id) {
            chosen += 1;
            traced_bytes += bytes_of(&episode);
            if traced.len() < MAX_TRACED && traced_bytes < MAX_DETAIL_BYTES {
                traced.push(episode);
            }
        }
        detail_bytes += view.detail_bytes();
        if detail_bytes > MAX_DETAIL_BYTES && arguments.episode != Some(view.id) {
            detail_bytes -= view.detail_bytes();
            view.leave_out_details();
        }
        views.push(view);
    })?;
    Ok(Evidence { views, others, traced, chosen, lateness, functions_left_out: room.refused(), is_cut })
}

/// Why there is no episode of this number.
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

/// What an episode takes up, bytes, about.
fn bytes_of(episode: &Episode) -> usize {
    let samples = episode.samples.iter().map(|sample| 64 + sample.frames.len() * 4).sum::<usize>();
    let names = episode.names.iter().map(|name| 56 + name.len()).sum::<usize>();
    let frames = episode.frames.iter().map(|frame| 112 + frame.function.len() + frame.module.len()).sum::<usize>();
    // A trace plays it back: about four times as much again.
    5 * (episode.events.len() * 64 + samples + names + frames)
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
