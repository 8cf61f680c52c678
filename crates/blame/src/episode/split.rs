//! The exact split of an episode.

use crate::episode::alike::Waiting;
use crate::episode::classify::{Blamed, Classifier, Holder};
use crate::episode::detail::{Detail, HeldBack};
use crate::episode::groups::{AUTOMATIC, Turn};
use crate::episode::nesting::with_nesting;
use crate::episode::piece::Piece;
use crate::episode::priorities::Priorities;
use crate::episode::programs::name_by_programs;
use crate::episode::replay::{CpuTimeline, replay};
use crate::episode::shared::Shared;
use crate::episode::span::StateSpan;
use crate::episode::story::story;
use crate::episode::subject::Subject;
use crate::episode::words::without_false_locks;
use crate::episode::{answered, idle, paused, unasked};
use crate::kind::Kind;
use crate::who::Who;
use punctual_recording::episode::{Call, Group};
use punctual_recording::{Episode, Stage};
use std::collections::{BTreeMap, BTreeSet};

/// What an owner had of the lateness in all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Why it passed.
    pub kind: Kind,
    /// Who had it.
    pub who: Who,
    /// The number of the thread that had it, if that was a single one.
    pub thread: Option<u32>,
    /// Whether it was another thread than the late one, and more of this episode have its name.
    pub has_namesakes: bool,
    /// How much, ns.
    pub ns: u64,
    /// The code that was seen most, if samples saw any; for a wait, what mostly happened to whoever was waited for.
    pub detail: Option<Detail>,
    /// How much of it nothing explains, ns: all of [`Kind::Unknown`], and for a lock the time in which nobody saw what
    /// held up the holder, or the holder itself.
    pub unknown_ns: u64,
    /// For waits for a lock or for another thread, what whoever held it or ended it was doing meanwhile, largest first;
    /// they add up to `ns`. Otherwise empty.
    pub inside: Vec<Inside>,
    /// See [`Piece::call`]; that of most of it.
    pub call: Option<Call>,
    /// See [`Piece::has_ended`]; that of any of it.
    pub has_ended: bool,
    /// See [`Piece::cgroup`].
    pub cgroup: Option<String>,
    /// See [`Piece::turn`].
    pub turn: Option<Turn>,
    /// See [`Piece::priorities`].
    pub priorities: Option<Priorities>,
}

impl Part {
    /// The number of the thread that had it, where its name does not say which of several it was.
    pub fn number(&self) -> Option<u32> {
        self.thread.filter(|_| self.has_namesakes)
    }
}

/// A part within a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inside {
    /// Why it passed for the holder.
    pub kind: Kind,
    /// Who had it.
    pub who: Who,
    /// How much, ns.
    pub ns: u64,
    /// For a wait within a request, what whoever was waited for did meanwhile, largest first; they add up to `ns`.
    /// Otherwise empty.
    pub inside: Vec<Inside>,
}

/// An episode's split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Pieces by time; they cover the lateness without gap or overlap.
    pub pieces: Vec<Piece>,
    /// Sums of pieces by owner, largest first; they add up to the lateness.
    pub parts: Vec<Part>,
}

/// Splits an episode, void or not: a void one is split as far as its evidence goes, the rest is `unknown`.
pub fn split(episode: &Episode) -> Split {
    split_of(episode, true)
}

/// Splits the time in which somebody waited for a thread to do something, such as from a key to what a program puts out
/// because of it. The thread may be doing anything when that begins. Until it is woken, the split looks into those who
/// pass on to one another what it is woken for; if it sleeps until a timer that is [`Kind::Sleep`], since it waited for
/// nobody else.
pub fn split_awaited(episode: &Episode) -> Split {
    split_of(episode, false)
}

fn split_of(episode: &Episode, is_due: bool) -> Split {
    let episode = &*without_false_locks(with_nesting(episode));
    split_by(&Shared::new(episode, &replay(episode)), is_due)
}

/// Splits an episode by what is already known about it.
pub(crate) fn split_by(shared: &Shared<'_>, is_due: bool) -> Split {
    let (episode, timelines) = (shared.episode, shared.timelines);
    let subject = Subject { is_due, ..Subject::victim(episode) };
    let judged = judge(shared, subject, &mut Vec::new());
    let mut pieces: Vec<Piece> = judged.into_iter().map(|judged| judged.piece).collect();
    debug_assert_eq!(pieces.iter().map(|piece| piece.ns).sum::<u64>(), episode.total_ns());
    name_by_programs(episode, timelines, &mut pieces);
    idle::set_apart(shared, subject, &mut pieces);
    answered::set_apart(shared, subject, &mut pieces);
    paused::set_apart(episode, subject, &mut pieces);
    unasked::set_apart(shared, subject, &mut pieces);
    let pieces = join(pieces);
    let mut parts = parts(&pieces);
    tell_namesakes(&mut parts, &shared.threads);
    Split { parts, pieces }
}

/// Finds out of which parts other threads have the name. There may be very many of both.
fn tell_namesakes(parts: &mut [Part], threads: &BTreeMap<u32, &str>) {
    let mut called: BTreeMap<&str, usize> = BTreeMap::new();
    threads.values().for_each(|name| *called.entry(name).or_default() += 1);
    for part in parts.iter_mut().filter(|part| is_of_another_thread(part.kind)) {
        let Some(tid) = part.thread else { continue };
        let name = part.who.name();
        let own = usize::from(threads.get(&tid) == Some(&name));
        part.has_namesakes = called.get(name).is_some_and(|all| *all > own);
    }
}

/// Whether it is another thread that had it.
fn is_of_another_thread(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::HigherPriority
            | Kind::SamePriority
            | Kind::LowerPriority
            | Kind::FairServer
            | Kind::IrqOff
            | Kind::Lock
            | Kind::Wait
    )
}

/// A piece and, if it is a wait for a lock of a program, where that lock is, see [`Holder::place`].
struct Judged {
    piece: Piece,
    place: Option<(u32, usize)>,
    /// Whether the limit of a control group for a disk kept whoever was waited for in the end: that group, and the disk.
    limit: Option<(Who, String)>,
}

impl Judged {
    fn new(piece: Piece) -> Judged {
        let limit = match &piece.detail {
            Some(Detail::HeldBack(disk, _)) => Some((piece.who.clone(), disk.clone())),
            _ => None,
        };
        Judged { piece, place: None, limit }
    }
}

/// What the kernel calls the threads of file systems' journals (ext4): all that is written is written through them, so whoever waits for
/// one waits for what that waits for.
const JOURNAL: &str = "jbd2/";

/// Holders that wait for holders are followed no further, whatever the events say.
const MAX_HOLDERS: usize = 4;
/// Nor are, within a request, those who wait for one another.
const MAX_DEPTH: usize = 8;

/// The time of the victim, or of whoever it waits for: without gap or overlap. `waiting` are those who wait for the subject.
fn judge<'a>(shared: &'a Shared<'a>, subject: Subject<'a>, waiting: &mut Vec<u32>) -> Vec<Judged> {
    let (episode, timelines) = (shared.episode, shared.timelines);
    let classifier = Classifier::new(shared, subject);
    let deepest = if subject.stage == Stage::Request { MAX_DEPTH } else { MAX_HOLDERS };
    let empty = CpuTimeline::default();
    let mut judged = Vec::new();
    for span in &classifier.spans(story(episode, &subject, timelines, &shared.index)) {
        let holder = classifier.holder(span);
        // In a circle, nobody that is waited for would tell more. Nor did whoever waits for the subject meanwhile end its waits.
        let is_circle = holder.as_ref().is_some_and(|held| waiting.contains(&held.subject.tid));
        let is_unseen = is_circle && holder.as_ref().is_some_and(|held| held.kind == Kind::Wait);
        let holder = holder.filter(|held| held.subject.tid != subject.tid && !is_circle);
        let looks = |holder: &Holder<'_>| holder.kind != Kind::Wait || shared.may_look();
        match holder.filter(|_| waiting.len() < deepest).filter(looks) {
            Some(holder) => {
                waiting.push(subject.tid);
                let its = judge(shared, holder.subject, waiting);
                waiting.pop();
                let its_group = path_of(shared.index.group_of(holder.subject.tid));
                let waits = Waiting { shared, subject, others: waiting };
                let who = waits.apart(holder.kind, holder.subject.tid, holder.subject.name);
                let is_same = |judged: &Judged| {
                    let both = judged.place.zip(holder.place).filter(|(its, own)| its.0 == own.0);
                    both.is_some_and(|((_, ends), _)| !classifier.is_of_another_lock(&episode.events[ends]))
                };
                judged.extend(its.into_iter().map(|judged| match is_same(&judged) {
                    // It waited for the same lock: whoever held it before kept both.
                    true => judged,
                    false => held(judged, &holder, &who, its_group.as_ref()),
                }));
            }
            None => {
                let timeline = timelines.get(&span.cpu).unwrap_or(&empty);
                let mut pieces = Vec::new();
                let waiting = Waiting { shared, subject, others: waiting };
                judge_span(&classifier, waiting, span, timeline, &mut pieces);
                pieces.iter_mut().filter(|_| is_unseen).for_each(idle::end_not_seen);
                judged.extend(pieces.into_iter().map(Judged::new));
            }
        }
    }
    judged
}

/// What the holder of a lock did, or whoever is waited for otherwise, as those see it who wait.
fn held(judged: Judged, holder: &Holder<'_>, who: &Who, cgroup: Option<&String>) -> Judged {
    let Judged { piece, limit, .. } = judged;
    if let Some((group, disk)) = limit.clone().filter(|_| holder.subject.name.starts_with(JOURNAL)) {
        let detail = Some(Detail::HeldBack(disk, HeldBack::Journal(holder.subject.name.to_owned())));
        let (call, path) = (None, Vec::new());
        let piece = Piece {
            kind: Kind::Throttled,
            who: group,
            thread: None,
            detail,
            inside: None,
            path,
            call,
            cgroup: None,
            ..piece
        };
        return Judged { piece, place: None, limit };
    }
    let who = who.clone();
    let mut path = Vec::new();
    if holder.subject.stage == Stage::Request {
        path.push((piece.kind, if piece.kind == Kind::Own { who.clone() } else { piece.who.clone() }));
        path.extend(piece.path);
    }
    let (detail, inside) = match (piece.kind, piece.detail) {
        (Kind::Own, seen) => (seen.unwrap_or(Detail::AtWork), (Kind::Own, who.clone())),
        (kind, seen) if path.len() > 1 => {
            let seen = seen.as_ref().and_then(Detail::code).filter(|_| ends_at_work(&path)).map(str::to_owned);
            (Detail::Along(path.clone(), seen), (kind, piece.who))
        }
        (kind, _) if holder.kind == Kind::Wait => (Detail::Meanwhile(kind, piece.who.clone()), (kind, piece.who)),
        (kind, _) => (Detail::KeptBy(kind, piece.who.clone()), (kind, piece.who)),
    };
    // What is not known about a lock within is not known about this one.
    let inside = match piece.inside {
        Some((Kind::Unknown, why)) => (Kind::Unknown, why),
        _ => inside,
    };
    let (detail, inside, cgroup) = (Some(detail), Some(inside), cgroup.cloned());
    let (kind, call, has_ended) = (holder.kind, holder.call, holder.has_ended);
    let (turn, priorities, thread) = (None, None, Some(holder.subject.tid));
    let piece = Piece { kind, who, thread, detail, inside, path, call, has_ended, cgroup, turn, priorities, ..piece };
    Judged { piece, place: holder.place, limit }
}

fn ends_at_work(path: &[(Kind, Who)]) -> bool {
    path.last().is_some_and(|(kind, _)| *kind == Kind::Own)
}

/// The path of a thread's control group. The automatic ones have weight, but nobody made them: their threads are in the root.
pub fn cgroup(episode: &Episode, tid: u32) -> Option<String> {
    path_of(episode.group_of(tid))
}

pub(crate) fn path_of(group: Option<&Group>) -> Option<String> {
    group.map(|group| match group.path.starts_with(AUTOMATIC) {
        true => "/".to_owned(),
        false => group.path.clone(),
    })
}

/// What a verdict on a stretch, given by its beginning and its length, makes a piece.
fn piece(
    classifier: &Classifier<'_>,
    waiting: Waiting<'_, '_>,
    cpu: u32,
    (start_ns, ns): (u64, u64),
    blamed: Blamed,
) -> Piece {
    let who = match (blamed.tid, blamed.who) {
        (Some(tid), Who::Seen(name)) => waiting.apart(blamed.kind, tid, &name),
        (_, who) => who,
    };
    Piece {
        start_ns,
        ns,
        cpu,
        kind: blamed.kind,
        who,
        thread: blamed.tid,
        detail: blamed.detail,
        path: blamed.inside.iter().filter(|_| classifier.is_of_a_request()).cloned().collect(),
        inside: blamed.inside,
        call: blamed.call,
        has_ended: blamed.has_ended,
        cgroup: blamed.tid.and_then(|tid| classifier.cgroup(tid)),
        turn: blamed.turn,
        priorities: blamed.priorities,
    }
}

fn judge_span(
    classifier: &Classifier<'_>,
    waiting: Waiting<'_, '_>,
    span: &StateSpan,
    timeline: &CpuTimeline,
    pieces: &mut Vec<Piece>,
) {
    let off_cpu = classifier.off_cpu(span);
    let mut reached = span.start_ns;
    let mut push = |start_ns: u64, ns: u64, blamed: Blamed| {
        if ns > 0 {
            pieces.push(piece(classifier, waiting, span.cpu, (start_ns, ns), blamed));
        }
    };
    for slice in timeline.within(span.start_ns, span.end_ns) {
        let start = slice.start_ns.max(reached);
        let end = slice.end_ns.min(span.end_ns);
        if start >= end {
            continue;
        }
        if start > reached {
            push(reached, start - reached, Blamed::unknown("no event of this CPU"));
        }
        // A victim that sleeps does not want the CPU: nobody steals from it.
        let steal = if span.doing.wants_cpu() { slice.steal_ns.min(end - start) } else { 0 };
        let own = end - start - steal;
        let mut at = start;
        let verdicts = match &off_cpu {
            Some(blamed) => vec![(blamed.clone(), own)],
            None => classifier.judge(span, slice, start, end, own),
        };
        for (blamed, ns) in verdicts {
            push(at, ns, blamed);
            at += ns;
        }
        push(at, end - at, Blamed::steal());
        reached = end;
    }
    let left = span.end_ns.saturating_sub(reached);
    // After the CPU's last event nothing is known except what it was doing then.
    let blamed = match (timeline.slices.last().filter(|last| last.end_ns <= reached), off_cpu) {
        (Some(_), Some(blamed)) => vec![(blamed, left)],
        (Some(last), None) => classifier.after_last(span, &waiting.shared.episode.events[last.ends_with], left),
        (None, _) => vec![(Blamed::unknown("no event of this CPU"), left)],
    };
    for (blamed, ns) in blamed {
        push(reached, ns, blamed);
        reached += ns;
    }
}

/// Neighbours of the same owner become one piece.
fn join(pieces: Vec<Piece>) -> Vec<Piece> {
    // Few are left of many, and they are kept: do not reserve room for all of them.
    let mut joined: Vec<Piece> = Vec::new();
    for piece in pieces {
        match joined.last_mut() {
            Some(last)
                if last.kind == piece.kind
                    && last.who == piece.who
                    && last.detail == piece.detail
                    && last.inside == piece.inside
                    && last.path == piece.path
                    && last.call == piece.call
                    && last.has_ended == piece.has_ended
                    && last.cgroup == piece.cgroup
                    && last.turn == piece.turn
                    && last.priorities == piece.priorities
                    && last.cpu == piece.cpu
                    && last.start_ns + last.ns == piece.start_ns =>
            {
                last.ns += piece.ns;
                last.thread = last.thread.filter(|tid| piece.thread == Some(*tid));
            }
            _ => joined.push(piece),
        }
    }
    joined
}

/// Times by what they were spent on, and that in turn; each is the sum of what is in it and of what ends there.
#[derive(Default)]
struct Tree<'a>(BTreeMap<(Kind, &'a Who), (u64, Tree<'a>)>);

impl<'a> Tree<'a> {
    fn add(&mut self, mut path: impl Iterator<Item = (Kind, &'a Who)>, ns: u64) {
        let mut inside = self;
        for step in path.by_ref() {
            let (sum, further) = inside.0.entry(step).or_default();
            *sum += ns;
            inside = further;
        }
    }

    fn sorted(self) -> Vec<Inside> {
        let inside = |((kind, who), (ns, inside)): ((Kind, &Who), (u64, Tree<'_>))| {
            let mut inside = inside.sorted();
            let told: u64 = inside.iter().map(|inside| inside.ns).sum();
            if !inside.is_empty() && told < ns {
                // Nothing more is known about the rest.
                inside.push(Inside { kind, who: who.clone(), ns: ns - told, inside: Vec::new() });
            }
            Inside { kind, who: who.clone(), ns, inside }
        };
        let mut sorted: Vec<Inside> = self.0.into_iter().map(inside).collect();
        sorted.sort_by_key(|inside| std::cmp::Reverse(inside.ns));
        sorted
    }
}

/// What the pieces of one owner add up to.
#[derive(Default)]
struct Sum<'a> {
    ns: u64,
    /// The threads of the pieces; `None` for one that is none, or several.
    threads: BTreeSet<Option<u32>>,
    unknown_ns: u64,
    /// By their words.
    details: BTreeMap<String, (&'a Detail, u64)>,
    inside: Tree<'a>,
    calls: BTreeMap<Call, u64>,
    has_ended: bool,
    /// Whether any of them says what a holder did.
    is_held: bool,
    turn: Option<Turn>,
    priorities: Option<Priorities>,
}

/// Who has a part: kind, who, control group.
type Owner<'a> = (Kind, &'a Who, Option<&'a str>);

fn parts(pieces: &[Piece]) -> Vec<Part> {
    let mut sums: BTreeMap<Owner<'_>, Sum<'_>> = BTreeMap::new();
    for piece in pieces {
        let sum = sums.entry((piece.kind, &piece.who, piece.cgroup.as_deref())).or_default();
        sum.ns += piece.ns;
        sum.threads.insert(piece.thread);
        sum.turn = sum.turn.or(piece.turn);
        sum.priorities = sum.priorities.or(piece.priorities);
        if let Some(detail) = &piece.detail {
            sum.details.entry(detail.to_string()).or_insert((detail, 0)).1 += piece.ns;
        }
        if piece.is_unknown() {
            sum.unknown_ns += piece.ns;
        }
        if let Some(call) = piece.call {
            *sum.calls.entry(call).or_default() += piece.ns;
        }
        sum.has_ended |= piece.has_ended;
        let inside = piece.inside.as_ref().map_or((piece.kind, &piece.who), |(kind, who)| (*kind, who));
        match piece.path.is_empty() {
            true => sum.inside.add([inside].into_iter(), piece.ns),
            false => sum.inside.add(piece.path.iter().map(|(kind, who)| (*kind, who)), piece.ns),
        }
        sum.is_held |= piece.inside.is_some();
    }
    let mut parts: Vec<Part> = sums
        .into_iter()
        .map(|((kind, who, cgroup), sum)| {
            let detail = sum.details.into_values().max_by_key(|(_, ns)| *ns).map(|(detail, _)| detail.clone());
            let inside = if sum.is_held { sum.inside.sorted() } else { Vec::new() };
            let call = sum.calls.into_iter().max_by_key(|(_, ns)| *ns).map(|(call, _)| call);
            let thread = sum.threads.first().copied().flatten().filter(|_| sum.threads.len() == 1);
            Part {
                kind,
                who: who.clone(),
                thread,
                has_namesakes: false,
                ns: sum.ns,
                detail,
                unknown_ns: sum.unknown_ns,
                inside,
                call,
                has_ended: sum.has_ended,
                cgroup: cgroup.map(str::to_owned),
                turn: sum.turn,
                priorities: sum.priorities,
            }
        })
        .collect();
    parts.sort_by(|left, right| {
        let by_name = left.who.cmp(&right.who).then(left.cgroup.cmp(&right.cgroup));
        right.ns.cmp(&left.ns).then(left.kind.cmp(&right.kind)).then(by_name)
    });
    parts
}
