//! `punctual why`.

use crate::args::why::WhyArguments;
use crate::output::{self, Output, Usage};
use anyhow::Context;
use punctual_recording::{
    Episode, RecorderSummary, Recording, for_each_episode, read_handler_sums, read_recorder_summary,
};
use punctual_report::why::{EpisodeView, WhyReport, episode_text, json, text};
use punctual_report::why_tree::{CallTree, add_lateness, folded};
use punctual_report::{why_cost, why_handlers};
use std::path::Path;

/// A trace of more episodes than this is of no use to a viewer.
const MOST_TRACED: usize = 200;

pub(crate) fn run(arguments: &WhyArguments, output: Output) -> anyhow::Result<u8> {
    let path = match super::expand(std::slice::from_ref(&arguments.recording)).as_slice() {
        [one] => one.clone(),
        several => {
            let (path, many) = (arguments.recording.display(), several.len());
            return Err(Usage(format!("{path}: holds {many} recordings: name one of them")).into());
        }
    };
    super::beside::check(arguments.html.as_ref())?;
    super::beside::check(arguments.perfetto.as_ref())?;
    let mut code = 0;
    let recording = Recording::open(&path)?;
    let recorder = read_recorder_summary(&path)?;
    if arguments.all_handlers {
        return all_handlers(&path, recorder.as_ref(), recording.is_cut(), output);
    }
    let mut views = Vec::new();
    let mut traced: Vec<Episode> = Vec::new();
    let mut chosen = 0_usize;
    let mut lateness = CallTree::default();
    let is_chosen = |id: u64| arguments.episode.is_none_or(|only| only == id);
    let cut_line = for_each_episode(&path, |episode| {
        let view = EpisodeView::new(&episode);
        if is_chosen(view.id) && view.void.is_none() {
            add_lateness(&mut lateness, &episode, &view.split);
        }
        if arguments.perfetto.is_some() && is_chosen(view.id) {
            chosen += 1;
            if traced.len() < MOST_TRACED {
                traced.push(episode);
            }
        }
        views.push(view);
    })?;
    if let Some(only) = arguments.episode.filter(|only| views.iter().all(|view| view.id != *only)) {
        let (many, kept) = (views.len(), recorder.as_ref().map_or(0, |recorder| recorder.kept));
        if (1..=kept).contains(&only) {
            anyhow::bail!("{}: the evidence of episode {only} is gone from the recording", path.display());
        }
        let are = match many {
            0 => "the recording holds none".to_owned(),
            1 => "there is one, number 1".to_owned(),
            _ => format!("they are numbered from 1 to {many}"),
        };
        return Err(Usage(format!("there is no episode {only}: {are}")).into());
    }
    if let Some(file) = &arguments.perfetto {
        let trace = punctual_report::why_trace::trace(&traced);
        code = super::beside::write(file, trace);
        if chosen > traced.len() {
            output::note(&format!(
                "the trace holds the first {} of {chosen} episodes: --episode N traces one",
                traced.len()
            ));
        }
    }
    let document = recording.document();
    let cut = recording.is_cut() || cut_line;
    let blind = &document.provenance.blind;
    let unwritten = || Some(format!("It failed: {}.", recorder.as_ref()?.failure.as_ref()?));
    let failure = punctual_report::failure_in_words(document).or_else(unwritten);
    let report = WhyReport::new(&path, document.provenance.started_ns, recorder, views, cut, failure, blind);
    if let Some(file) = &arguments.html {
        let page = punctual_report::why_page::html(&report, &lateness);
        code = code.max(super::beside::write(file, page));
    }
    if output.json {
        output::print(&output::pretty(&output::with_code(json(&report, arguments.episode), code)));
    } else if arguments.folded {
        output::print_text(&folded(&lateness));
    } else if let Some(view) = report.episodes.iter().find(|view| arguments.episode == Some(view.id)) {
        output::print_text(&format!("{}\n\n{}", report.verdict(), episode_text(&report, view, true)));
    } else {
        output::print_text(&text(&report));
    }
    Ok(code)
}

fn all_handlers(path: &Path, recorder: Option<&RecorderSummary>, is_cut: bool, output: Output) -> anyhow::Result<u8> {
    let sums = read_handler_sums(path)?.with_context(|| {
        format!(
            "{}: holds no sums of handlers: record with --why, and let it end by itself or with Ctrl-C",
            path.display()
        )
    })?;
    if output.json {
        output::print(&output::pretty(&why_handlers::json(path, &sums, recorder)));
    } else {
        output::print_text(&why_handlers::text(path, &sums));
        if let Some(recorder) = recorder {
            output::print_text(&why_cost::recorder_lines(recorder, is_cut));
        }
    }
    Ok(0)
}
