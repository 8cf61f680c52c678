//! The late wakeups of a recording and their causes: the content of the answer of `punctual why`.

use super::preemption::Preemption;
use super::remedy::{Class, Setting};
use super::words::{number_in, numbered, with_group};
use crate::NextStep;
use crate::recording::followed::never_slept_in_words;
use punctual_blame::{
    CallTree, Cause, Findings, Kind, Link, Part, Piece, Room, Sightings, SocketRead, Split, Summary, Turn, Who,
    is_nesting_known, is_not_told, longest_stretch_ns, summarize,
};
use punctual_recording::episode::Victim;
use punctual_recording::{CycleCount, Document, Episode, Followed, OverrunCount, RecorderSummary, Stage};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Causes below this share of the late time, in thousandths, are summed up in text.
const SHOWN_THOUSANDTHS: u64 = 1;
/// Time that nothing explains is always shown, be it none.
pub(super) const ALWAYS_SHOWN: [Kind; 2] = [Kind::Unknown, Kind::Blind];

/// An episode and what was found out about it.
pub struct EpisodeView {
    /// Its number.
    pub id: u64,
    /// Why nothing is concluded from it, if so.
    pub void: Option<String>,
    /// Whether the kernel's count of nested interrupts was read, and agrees with what else was seen; see
    /// [`punctual_blame::is_nesting_known`].
    pub nesting_known: bool,
    /// Who was late.
    pub victim: Victim,
    /// Its control group, if that is known.
    pub cgroup: Option<String>,
    /// The number and name of its process, if that is known.
    pub process: Option<(u32, String)>,
    /// The numbers of the processes of threads that are told by their numbers, as far as they are known, by these.
    pub(crate) processes: BTreeMap<u32, u32>,
    /// When it was due, ns of `CLOCK_MONOTONIC`.
    pub expected_ns: u64,
    /// How late it was, ns.
    pub total_ns: u64,
    /// How late it had to be to be kept, ns.
    pub threshold_ns: u64,
    /// The stage at whose end it was that late, see [`Episode::stage`].
    pub stage: Stage,
    /// See [`punctual_blame::may_be_several`].
    pub may_be_several: bool,
    /// By which local sockets with a path it was asked and answered.
    pub sockets: Vec<SocketRead>,
    /// The split.
    pub split: Split,
    /// Who woke it, and who woke that one.
    pub chain: Vec<Link>,
    /// What the victim's CPU was executing meanwhile.
    pub tree: CallTree,
    /// Stacks that late timer interrupts found below them, innermost first.
    pub late_stacks: Vec<Vec<String>>,
    /// Build identifiers of the files in the tree.
    pub builds: Vec<(String, String)>,
    /// Whether its pieces, chain, late stacks, builds and sockets were dropped, see [`EpisodeView::leave_out_details`].
    pub without_details: bool,
    /// What these said of its longest stretches.
    pub(crate) longest: Option<Longest>,
}

/// The longest stretches of an episode in which a request was waiting. What lies on both sides of a wait for the next request belongs to two of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Longest {
    /// The longest without time in which none was, ns.
    maybe_ns: u64,
    /// The longest that is also without time of which nothing tells whether one was, ns.
    sure_ns: u64,
}

impl EpisodeView {
    /// Looks into an episode.
    pub fn new(episode: &Episode, room: &mut Room) -> EpisodeView {
        EpisodeView::of(episode, Findings::of(episode), room).0
    }

    /// Describes what was found in an episode. Also returns the samples of its split's pieces.
    pub fn of(episode: &Episode, found: Findings, room: &mut Room) -> (EpisodeView, Sightings) {
        let Findings { split, chain, sightings } = found;
        let view = EpisodeView {
            id: episode.id,
            void: episode.void.clone(),
            nesting_known: is_nesting_known(episode),
            victim: episode.victim.clone(),
            cgroup: punctual_blame::cgroup(episode, episode.victim.tid),
            process: process_of(episode),
            processes: processes_of(episode, &split),
            expected_ns: episode.expected_ns,
            total_ns: episode.total_ns(),
            threshold_ns: episode.threshold_ns,
            stage: episode.stage,
            may_be_several: punctual_blame::may_be_several(episode, &split),
            sockets: punctual_blame::socket_reads(episode),
            chain,
            tree: CallTree::of_samples(episode, &split, &sightings, room),
            late_stacks: punctual_blame::late_stacks(episode, &split),
            builds: episode.builds.clone(),
            without_details: false,
            longest: None,
            split,
        };
        (view, sightings)
    }

    /// Roughly how much memory its details take up, bytes; without the tree, which keeps to its own limit.
    pub fn detail_bytes(&self) -> usize {
        // A separate text takes at least 32 bytes.
        let text = |text: &str| size_of::<String>() + text.len().max(32);
        let pieces = self.split.pieces.iter().map(|piece| {
            let path: usize = piece.path.iter().map(|(_, who)| size_of::<Kind>() + text(who.name())).sum();
            let detail = piece.detail.as_ref().map_or(0, |detail| text(&detail.to_string()));
            size_of::<Piece>() + text(piece.who.name()) + path + detail
        });
        let links = self.chain.iter().map(|link| size_of::<Link>() + text(&link.woken) + text(&link.name));
        let stacks = self.late_stacks.iter().flatten().map(|function| text(function));
        let builds = self.builds.iter().map(|(path, build)| text(path) + text(build));
        let sockets = self.sockets.iter().map(|read| size_of::<SocketRead>() + text(&read.path));
        pieces.chain(links).chain(stacks).chain(builds).chain(sockets).sum()
    }

    /// For how much of it no request was waiting, ns.
    pub(crate) fn idle_ns(&self) -> u64 {
        self.split.parts.iter().filter(|part| part.kind == Kind::Idle).map(|part| part.ns).sum()
    }

    /// Whether it is so long only because no request was waiting.
    pub(crate) fn is_only_idle(&self) -> bool {
        self.idle_ns() > 0 && self.longest().maybe_ns <= self.threshold_ns
    }

    /// For how much of it nothing tells whether a request was waiting, ns.
    fn not_told_ns(&self) -> u64 {
        self.split.parts.iter().filter(|part| is_not_told(part.kind, &part.who)).map(|part| part.ns).sum()
    }

    /// For how long a request was waiting that surely was late, ns, and whether that is all of it: what nothing tells about may belong to it, too.
    /// `None` if it only seems, or may only seem, to be late.
    pub(crate) fn took_ns(&self) -> Option<(u64, bool)> {
        let is_late = !self.is_only_idle() && !self.may_be_only_idle();
        is_late.then(|| (self.longest().sure_ns, self.not_told_ns() == 0))
    }

    /// Whether it may be so long only because no request was waiting: nothing tells whether a wait was for an answer or for the next
    /// request.
    fn may_be_only_idle(&self) -> bool {
        self.not_told_ns() > 0 && !self.is_only_idle() && self.longest().sure_ns <= self.threshold_ns
    }

    /// Its longest stretches; without pieces, as if each were one.
    fn longest(&self) -> Longest {
        if self.split.pieces.is_empty() {
            let maybe_ns = self.total_ns.saturating_sub(self.idle_ns());
            let sums = Longest { maybe_ns, sure_ns: maybe_ns.saturating_sub(self.not_told_ns()) };
            return self.longest.unwrap_or(sums);
        }
        let pieces = &self.split.pieces;
        Longest {
            maybe_ns: longest_stretch_ns(pieces, |piece| piece.kind != Kind::Idle),
            sure_ns: longest_stretch_ns(pieces, Piece::is_of_a_request),
        }
    }

    /// Drops its details; the sums of its parts stay.
    pub fn leave_out_details(&mut self) {
        self.longest = Some(self.longest());
        self.split.pieces = Vec::new();
        self.chain = Vec::new();
        self.late_stacks = Vec::new();
        self.builds = Vec::new();
        self.sockets = Vec::new();
        self.without_details = true;
    }
}

/// The process of the late thread. A process that was gone before anybody asked for its name gets its thread's name.
fn process_of(episode: &Episode) -> Option<(u32, String)> {
    let victim = &episode.victim;
    let process = episode.processes.iter().find(|process| process.threads.contains(&victim.tid))?;
    let name = if process.name.is_empty() { &victim.name } else { &process.name };
    Some((process.number, name.clone()))
}

/// The processes of the threads that parts are told apart by, by the numbers of these.
pub(super) fn processes_of(episode: &Episode, split: &Split) -> BTreeMap<u32, u32> {
    let in_name = |part: &Part| part.thread.filter(|tid| number_in(&part.who) == Some(*tid));
    let told: BTreeSet<u32> = split.parts.iter().filter_map(|part| part.number().or_else(|| in_name(part))).collect();
    let threads =
        episode.processes.iter().flat_map(|process| process.threads.iter().map(move |tid| (*tid, process.number)));
    threads.filter(|(tid, _)| told.contains(tid)).collect()
}

/// A question about only one thread, or about those of one name.
#[derive(Debug, Clone)]
pub struct OnlyThread {
    /// The name or number in the question.
    pub asked: String,
    /// Episodes of other threads, void ones included.
    pub others: u64,
    /// Those of them that are void.
    pub others_void: u64,
}

/// What became of loops after they were followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowedLoops {
    /// They may run on.
    RunOn,
    /// They were of a command, and ended with it.
    EndedWithCommand,
}

impl FollowedLoops {
    /// Of threads that were followed; `None` if that was without a period.
    pub fn of(followed: &Followed) -> Option<FollowedLoops> {
        followed.period_ns?;
        Some(if followed.is_of_the_command() { FollowedLoops::EndedWithCommand } else { FollowedLoops::RunOn })
    }
}

/// A recording's late wakeups and their causes.
pub struct WhyReport<'a> {
    /// Where the recording is.
    pub recording: &'a Path,
    /// When it began, ns of `CLOCK_MONOTONIC`.
    pub started_ns: u64,
    /// The counts of the flight recorder.
    pub recorder: Option<RecorderSummary>,
    /// The episodes, in order of time.
    pub episodes: Vec<EpisodeView>,
    /// Whether the recording or its episodes were cut short.
    pub cut: bool,
    /// A sentence about the recording's own end, if it did not end in order and could say so: a full disk.
    pub failure: Option<String>,
    /// Whose episodes these are, if not everybody's.
    pub only: Option<OnlyThread>,
    /// How many functions are listed with their caller, because call trees had no room for them.
    pub functions_left_out: u64,
    /// Whether no wakeup was measured at all, late or not.
    pub measured_nothing: bool,
    /// That followed threads never slept, in words, if some did not.
    pub(crate) never_slept: Option<String>,
    /// For somebody else's threads: how many wakeups there were, and in what time, ns.
    pub followed: Option<(u64, u64)>,
    /// For somebody else's loops, which were followed with a period: whether they still run.
    pub loops: Option<FollowedLoops>,
    /// For loops whose period is the threshold: how many of their cycles took longer, by name and policy.
    pub overruns: Vec<(String, OverrunCount)>,
    /// For the same, threads that are no loops with this period: how many of the episodes are theirs, by name and policy.
    pub(crate) of_no_loop: Vec<(String, u64)>,
    /// The names of these loops: nobody goes before them.
    pub loop_names: Vec<String>,
    /// What to do where there is no evidence to tell a cause from.
    pub without_evidence: Vec<NextStep>,
    /// What to do where most of the lateness is what every wakeup takes.
    pub above_ordinary: Option<NextStep>,
    /// What to do where much evidence was overwritten before it was saved.
    pub fewer_void: Option<NextStep>,
    /// What to do where much of what was late left no evidence.
    pub more_kept: Option<NextStep>,
    /// The command that records the same with more samples, if there can be more.
    pub more_samples: Option<String>,
    /// Whether the threads were a command's, and ended with it, or the late ones ended before the recording did.
    pub has_ended: bool,
    /// What could not be seen.
    pub blind: &'a [String],
    /// What to add to a time to get ns since 1970, UTC; 0 if that is not known.
    pub(super) to_unix_ns: i64,
    /// What was not measured as it was asked for, in sentences that have no end of their own.
    pub(super) conditions: Vec<String>,
    /// What the late threads are, and under what they were recorded.
    pub(super) setting: Setting,
    /// Causes over all episodes that are whole.
    pub(crate) summary: Summary,
}

impl<'a> WhyReport<'a> {
    /// Sums up. Brings the recorder's last counts into line with the episodes that are there.
    pub fn new(
        recording: &'a Path,
        started_ns: u64,
        mut recorder: Option<RecorderSummary>,
        episodes: Vec<EpisodeView>,
        cut: bool,
        failure: Option<String>,
        blind: &'a [String],
    ) -> WhyReport<'a> {
        let cut = cut || failure.is_some();
        if let Some(recorder) = &mut recorder {
            let void = episodes.iter().filter(|episode| episode.void.is_some()).count();
            recorder.agree_with(episodes.len() as u64, void as u64);
        }
        let whole = episodes.iter().filter(|episode| episode.void.is_none());
        let late = Class::of(whole.clone().map(|episode| episode.victim.priority));
        let summary = summarize(whole.map(|episode| (episode.id, &episode.split)));
        WhyReport {
            recording,
            started_ns,
            recorder,
            episodes,
            cut,
            failure,
            only: None,
            functions_left_out: 0,
            measured_nothing: false,
            never_slept: None,
            followed: None,
            loops: None,
            overruns: Vec::new(),
            of_no_loop: Vec::new(),
            loop_names: Vec::new(),
            without_evidence: Vec::new(),
            above_ordinary: None,
            fewer_void: None,
            more_kept: None,
            more_samples: None,
            has_ended: false,
            blind,
            to_unix_ns: 0,
            conditions: Vec::new(),
            setting: Setting { late, ..Setting::default() },
            summary,
        }
    }

    /// Says that the episodes are one thread's alone, and how many others there are.
    #[must_use]
    pub fn of_thread(mut self, only: OnlyThread) -> WhyReport<'a> {
        if let Some(recorder) = &mut self.recorder {
            let void = self.episodes.len() - self.episodes.iter().filter(|episode| episode.void.is_none()).count();
            recorder.agree_with(self.episodes.len() as u64 + only.others, void as u64 + only.others_void);
        }
        self.only = Some(only);
        self
    }

    /// Says what was not measured as it was asked for: a load that failed, a priority that was not allowed, a stop. Also takes up when
    /// the recording was made, how far its kernel preempts, and whose threads they were.
    #[must_use]
    pub fn under_conditions_of(mut self, document: &Document) -> WhyReport<'a> {
        self.conditions = document.provenance.notes_with_failure();
        self.to_unix_ns = document.provenance.monotonic_to_unix_ns;
        self.setting.preemption = Preemption::of(&document.provenance.host);
        self.setting.is_kept_awake = document.provenance.configuration.power_request;
        self.measured_nothing = document.counters.wakeups == 0;
        self.never_slept = never_slept_in_words(document);
        let followed = document.followed.as_ref();
        self.followed = followed.map(|_| (document.counters.wakeups, document.measured_ns()));
        self.loops = followed.and_then(FollowedLoops::of);
        self.loop_names = followed.map(Followed::loop_names).unwrap_or_default();
        self.has_ended = followed.is_some_and(|followed| followed.is_of_the_command() || self.have_all_ended(followed));
        self
    }

    /// Takes up the cycles of loops whose period is the threshold.
    pub fn take_cycles(&mut self, document: &Document, cycles: BTreeMap<String, CycleCount>) {
        let late = |measure: &str| {
            let is_own = |tid: u32| document.tasks.iter().any(|task| task.tid == tid && task.measure == measure);
            self.episodes.iter().filter(|episode| is_own(episode.victim.tid)).count() as u64
        };
        let is_no_loop = |count: &CycleCount| count.left_out > 0 && count.cycles == 0 && count.untold == 0;
        let no_loops = cycles.iter().filter(|(_, count)| is_no_loop(count));
        let of_no_loop = no_loops.map(|(measure, _)| (measure.clone(), late(measure)));
        self.of_no_loop = of_no_loop.filter(|(_, late)| *late > 0).collect();
        self.overruns = cycles.into_iter().map(|(measure, count)| (measure, count.overrun_count())).collect();
    }

    /// Whether all threads that were late ended before the recording did.
    fn have_all_ended(&self, followed: &Followed) -> bool {
        let has_ended = |tid: u32| followed.threads.iter().any(|thread| thread.tid == tid && thread.ended_ns.is_some());
        !self.episodes.is_empty() && self.episodes.iter().all(|episode| has_ended(episode.victim.tid))
    }

    /// How many wakeups of loops whose period is the threshold nobody saw: at most as many late ones are missing.
    pub(crate) fn unseen(&self) -> u64 {
        self.overruns.iter().map(|(_, overruns)| overruns.unseen).fold(0, u64::saturating_add)
    }

    /// Causes over all episodes with complete evidence, largest first.
    pub fn causes(&self) -> &[Cause] {
        &self.summary.causes
    }

    /// How much of the late time a cause must have for a line of its own, thousandths of ns.
    fn least_shown(&self) -> u128 {
        u128::from(self.late_ns()) * u128::from(SHOWN_THOUSANDTHS)
    }

    /// The causes with a line of their own, largest first.
    pub(crate) fn shown_causes(&self) -> impl Iterator<Item = &Cause> {
        let least = self.least_shown();
        self.summary.causes.iter().filter(move |cause| is_shown(cause, least))
    }

    /// What shares are of, ns: the late time, but for that in which no request was waiting.
    pub(crate) fn late_ns(&self) -> u64 {
        self.summary.late_ns.saturating_sub(self.total_of(Kind::Idle))
    }

    /// How many episodes are so long only because no request was waiting.
    pub(crate) fn only_idle(&self) -> u64 {
        self.episodes.iter().filter(|episode| episode.void.is_none() && episode.is_only_idle()).count() as u64
    }

    /// How many more episodes may be, and nothing tells whether they are.
    pub(crate) fn maybe_only_idle(&self) -> u64 {
        let is_it = |episode: &&EpisodeView| episode.void.is_none() && episode.may_be_only_idle();
        self.episodes.iter().filter(is_it).count() as u64
    }

    /// The waits for other threads, or for this one alone, of all episodes that are whole.
    pub(crate) fn waits<'report>(&'report self, who: Option<&'report Who>) -> impl Iterator<Item = &'report Part> {
        let whole = self.episodes.iter().filter(|episode| episode.void.is_none());
        let parts = whole.flat_map(|episode| &episode.split.parts);
        parts.filter(move |part| part.kind == Kind::Wait && who.is_none_or(|who| part.who == *who))
    }

    /// How many others there are, and their time, ns.
    pub(crate) fn rest(&self) -> (u64, u64) {
        let least = self.least_shown();
        let others = || self.summary.causes.iter().filter(|cause| !is_shown(cause, least));
        (others().count() as u64, sum(others()))
    }

    /// The time of each kind, ns, largest first.
    pub(crate) fn kinds(&self) -> Vec<(Kind, u64)> {
        let mut kinds: Vec<(Kind, u64)> = Kind::ALL.iter().map(|&kind| (kind, self.total_of(kind))).collect();
        kinds.retain(|(_, ns)| *ns > 0);
        kinds.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        kinds
    }

    pub(crate) fn total_of(&self, kind: Kind) -> u64 {
        sum(self.summary.causes.iter().filter(|cause| cause.kind == kind))
    }

    /// How much time of causes that are known counts as unknown, ns: a lock of which the holder was not seen.
    pub(crate) fn unknown_within_ns(&self) -> u64 {
        self.summary.unknown_ns.saturating_sub(self.total_of(Kind::Unknown))
    }

    /// A cause's name, with the numbers of its thread and its process where several threads have the name.
    pub(crate) fn named(&self, cause: &Cause) -> Who {
        let of = |tid: u32| self.episodes.iter().find_map(|episode| episode.processes.get(&tid).copied());
        let process = cause.thread.or_else(|| number_in(&cause.who)).and_then(of);
        numbered(&cause.who, cause.thread, process)
    }

    /// A culprit's name with its control group, if that is not the root or differs from a victim's.
    pub(crate) fn who(&self, who: &Who, cgroup: Option<&str>, turn: Option<Turn>) -> Who {
        let is_theirs = self.episodes.iter().all(|episode| episode.cgroup.as_deref() == cgroup);
        with_group(who, cgroup, turn, is_theirs)
    }

    pub(crate) fn whole(&self) -> usize {
        self.episodes.iter().filter(|episode| episode.void.is_none()).count()
    }

    /// Whether it is about how long threads took to sleep again, not about how late they began.
    pub(crate) fn of_responses(&self) -> bool {
        self.stage().holds_work()
    }

    pub(crate) fn stage(&self) -> Stage {
        self.recorder.as_ref().map_or(Stage::Total, |recorder| recorder.stage)
    }

    /// Episodes that the recorder kept but that are no longer in the recording.
    pub(crate) fn missing(&self) -> u64 {
        let kept = self.recorder.as_ref().map_or(0, |recorder| recorder.kept);
        let others = self.only.as_ref().map_or(0, |only| only.others);
        kept.saturating_sub(self.episodes.len() as u64).saturating_sub(others)
    }
}

fn is_shown(cause: &Cause, least: u128) -> bool {
    u128::from(cause.total_ns) * 1_000 >= least
}

/// Late time of causes, ns.
fn sum<'a>(causes: impl Iterator<Item = &'a Cause>) -> u64 {
    causes.fold(0, |sum, cause| sum.saturating_add(cause.total_ns))
}
