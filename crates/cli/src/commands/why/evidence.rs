//! What `punctual why` reads from the episodes of a recording, on several CPUs.

use crate::args::why::WhyArguments;
use crate::output::Usage;
use punctual_blame::{CallTree, Findings, Room, Sightings, add_lateness};
use punctual_recording::bounds::{MAX_DETAIL_BYTES, MAX_TREE_BYTES};
use punctual_recording::episode::Victim;
use punctual_recording::{Episode, agreeing, look_into_episodes, printable};
use punctual_report::why::{EpisodeView, OnlyThread};
use std::collections::BTreeSet;
use std::path::Path;

/// A trace of more episodes than this is of no use to a viewer.
const MAX_TRACED: usize = 200;
/// The most threads that look into episodes, however many CPUs there are: each thread takes memory.
const MAX_THREADS: usize = 4;

/// What has been read from the episodes, within bounds.
#[derive(Default)]
pub(super) struct Evidence {
    pub(super) views: Vec<EpisodeView>,
    /// Left out because it belongs to another thread.
    pub(super) others: Others,
    /// The episodes to trace, out of all those chosen.
    pub(super) traced: Vec<Episode>,
    pub(super) chosen: usize,
    /// The lateness by cause and, below each cause, by call stack.
    pub(super) lateness: CallTree,
    /// How often a function had no room in call trees.
    pub(super) functions_left_out: u64,
    /// Whether the last line was cut short.
    pub(super) is_cut: bool,
}

/// Episodes of threads that the user did not ask for.
#[derive(Default)]
pub(super) struct Others {
    count: u64,
    void: u64,
    /// Some of their names.
    names: BTreeSet<String>,
}

impl Others {
    /// How many names are shown.
    const MAX_NAMES: usize = 5;

    fn take(&mut self, victim: &Victim, is_void: bool) {
        self.count += 1;
        self.void += u64::from(is_void);
        if self.names.len() < Self::MAX_NAMES {
            self.names.insert(printable(&victim.name));
        }
    }

    /// What is said about them next to the `found` episodes of the thread that the user asked for. If no thread has
    /// that name, it is a usage error.
    pub(super) fn only(self, asked: &str, found: usize) -> Result<OnlyThread, Usage> {
        if found == 0 && self.count > 0 {
            let names: Vec<String> = self.names.into_iter().collect();
            let was = agreeing(names.len(), "was", "were");
            return Err(Usage(format!("no thread `{asked}` was late, but {} {was}", names.join(", "))));
        }
        Ok(OnlyThread { asked: asked.to_owned(), others: self.count, others_void: self.void })
    }
}

/// What one thread found in an episode, before it is known how much room the others leave.
struct Looked {
    view: EpisodeView,
    sightings: Sightings,
    detail_bytes: usize,
    /// The room that its call tree takes.
    room: Room,
    /// The episode itself, if more may be looked up in it.
    episode: Option<Episode>,
}

impl Looked {
    /// Episodes are many and large: whoever read one lets go of it, unless it is wanted or its call tree may have to be made anew.
    fn into(episode: Episode, is_wanted: bool) -> Looked {
        let mut room = Room::of(MAX_TREE_BYTES);
        let (view, sightings) = EpisodeView::of(&episode, Findings::of(&episode), &mut room);
        let episode = (is_wanted || !room.is_untouched()).then_some(episode);
        Looked { detail_bytes: view.detail_bytes(), view, sightings, room, episode }
    }
}

/// Whether who was late with whom is shown.
fn shows_lateness(arguments: &WhyArguments) -> bool {
    arguments.folded || arguments.html.is_some()
}

/// Takes up what is found, episode after episode, within bounds.
struct Gathering<'a> {
    arguments: &'a WhyArguments,
    evidence: Evidence,
    room: Room,
    detail_bytes: usize,
    traced_bytes: usize,
}

impl Gathering<'_> {
    fn take(&mut self, looked: Looked) {
        let Looked { mut view, sightings, detail_bytes, room, episode } = looked;
        if !self.room.takes_over(&room)
            && let Some(episode) = &episode
        {
            view.tree = CallTree::of_samples(episode, &view.split, &sightings, &mut self.room);
        }
        let is_chosen = self.arguments.episode.is_none_or(|only| only == view.id);
        if let Some(episode) = episode.filter(|_| is_chosen) {
            if shows_lateness(self.arguments) && view.void.is_none() {
                add_lateness(&mut self.evidence.lateness, &episode, &view.split, &sightings, &mut self.room);
            }
            if self.arguments.perfetto.is_some() {
                self.evidence.chosen += 1;
                self.traced_bytes += bytes_of(&episode);
                if self.evidence.traced.len() < MAX_TRACED && self.traced_bytes < MAX_DETAIL_BYTES {
                    self.evidence.traced.push(episode);
                }
            }
        }
        if self.detail_bytes + detail_bytes > MAX_DETAIL_BYTES && self.arguments.episode != Some(view.id) {
            view.leave_out_details();
        } else {
            self.detail_bytes += detail_bytes;
        }
        self.evidence.views.push(view);
    }
}

pub(super) fn gather(path: &Path, arguments: &WhyArguments) -> anyhow::Result<Evidence> {
    let number = arguments.thread.as_ref().and_then(|asked| asked.parse::<u32>().ok());
    let is_asked = |victim: &Victim| {
        arguments.thread.as_ref().is_none_or(|asked| *asked == victim.name || number == Some(victim.tid))
    };
    let is_wanted = shows_lateness(arguments) || arguments.perfetto.is_some();
    let look = |episode: Episode| {
        let looked = match is_asked(&episode.victim) {
            true => Ok(Box::new(Looked::into(episode, is_wanted))),
            false => Err((episode.victim, episode.void.is_some())),
        };
        crate::reading::count_episode();
        looked
    };
    let mut gathering = Gathering {
        arguments,
        evidence: Evidence::default(),
        room: Room::of(MAX_TREE_BYTES),
        detail_bytes: 0,
        traced_bytes: 0,
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let is_cut = look_into_episodes(path, threads, look, |looked| match looked {
        Ok(looked) => gathering.take(*looked),
        Err((victim, is_void)) => gathering.evidence.others.take(&victim, is_void),
    })?;
    Ok(Evidence { is_cut, functions_left_out: gathering.room.refused(), ..gathering.evidence })
}

/// About how much memory an episode takes, bytes.
fn bytes_of(episode: &Episode) -> usize {
    let samples = episode.samples.iter().map(|sample| 64 + sample.frames.len() * 4).sum::<usize>();
    let names = episode.names.iter().map(|name| 56 + name.len()).sum::<usize>();
    let frames = episode.frames.iter().map(|frame| 112 + frame.function.len() + frame.module.len()).sum::<usize>();
    // A trace plays the episode back, which takes about four times as much again.
    5 * (episode.events.len() * 64 + samples + names + frames)
}
