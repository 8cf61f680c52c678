//! The exact split of an episode.

use crate::episode::classify::{Blamed, Classifier, Holder};
use crate::episode::groups::Turn;
use crate::episode::nesting::with_nesting;
use crate::episode::replay::{CpuTimeline, replay};
use crate::episode::story::{StateSpan, story};
use crate::episode::subject::Subject;
use crate::kind::Kind;
use punctual_recording::Episode;
use punctual_recording::episode::EventKind;
use std::collections::BTreeMap;

/// A stretch of the lateness with one owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// When it began, ns of `CLOCK_MONOTONIC`.
    pub start_ns: u64,
    /// How long it was, ns.
    pub ns: u64,
    /// On which CPU.
    pub cpu: u32,
    /// Why it passed.
    pub kind: Kind,
    /// Who had it.
    pub name: String,
    /// What more is known of it.
    pub detail: Option<Detail>,
    /// Of a wait for a lock: what whoever held it was doing meanwhile; [`Kind::Unknown`] where that was not seen.
    pub inside: Option<(Kind, String)>,
    /// The control group of the thread that had it, where that is known.
    pub cgroup: Option<String>,
    /// What weights the two have, where a normal thread had its turn and another one waited.
    pub turn: Option<Turn>,
}

impl Piece {
    /// Whether nothing explains it, or nothing explains what kept the holder of the lock.
    fn is_unknown(&self) -> bool {
        self.kind == Kind::Unknown || matches!(self.inside, Some((Kind::Unknown, _)))
    }
}

/// How a detail begins that says what became of the holder of a lock: it is a sentence, not a place in code.
pub const WHILE_HELD: &str = "while it held the lock, ";

/// What more is known of a piece than whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detail {
    /// The code that samples or interrupted instructions saw there, or where it ran.
    Seen(String),
    /// The holder of a lock was itself kept by this.
    KeptBy(Kind, String),
}

impl std::fmt::Display for Detail {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Detail::Seen(what) => out.write_str(what),
            Detail::KeptBy(kind, name) => write!(out, "{WHILE_HELD}{}", kind.meanwhile(name)),
        }
    }
}

/// What an owner had of the lateness in all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Why it passed.
    pub kind: Kind,
    /// Who had it.
    pub name: String,
    /// How much, ns.
    pub ns: u64,
    /// The code seen most, where samples saw any.
    pub detail: Option<String>,
    /// How much of it nothing explains, ns: all of [`Kind::Unknown`], and of a lock the time in which what kept the holder
    /// was not seen, or the holder itself.
    pub unknown_ns: u64,
    /// Of waits for a lock, what whoever held it was doing meanwhile, largest first; they add up to `ns`. Else empty.
    pub inside: Vec<Inside>,
    /// See [`Piece::cgroup`].
    pub cgroup: Option<String>,
    /// See [`Piece::turn`].
    pub turn: Option<Turn>,
}

/// A part within a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inside {
    /// Why it passed for the holder.
    pub kind: Kind,
    /// Who had it.
    pub name: String,
    /// How much, ns.
    pub ns: u64,
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
    let episode = &*with_nesting(episode);
    let timelines = replay(episode);
    let judged = judge(episode, Subject::victim(episode), &timelines, &mut Vec::new());
    let mut pieces: Vec<Piece> = judged.into_iter().map(|judged| judged.piece).collect();
    debug_assert_eq!(pieces.iter().map(|piece| piece.ns).sum::<u64>(), episode.total_ns());
    name_by_programs(episode, &timelines, &mut pieces);
    let pieces = join(pieces);
    Split { parts: parts(&pieces), pieces }
}

/// A piece, and of one that is a wait for a lock of a program where that stands.
struct Judged {
    piece: Piece,
    place: Option<u32>,
}

/// Holders that wait for holders are followed no further, whatever the events say.
const MAX_HOLDERS: usize = 4;

/// The time of the victim, or of whom it waits for: without gap or overlap. `waiting` are those who wait for the subject.
fn judge(
    episode: &Episode,
    subject: Subject<'_>,
    timelines: &BTreeMap<u32, CpuTimeline>,
    waiting: &mut Vec<u32>,
) -> Vec<Judged> {
    let classifier = Classifier::new(episode, subject, timelines);
    let empty = CpuTimeline::default();
    let mut judged = Vec::new();
    for span in &classifier.spans(story(episode, &subject, timelines)) {
        let holder = classifier.holder(span);
        // Who waits in a circle waits for nobody that would tell more.
        let holder = holder.filter(|held| held.subject.tid != subject.tid && !waiting.contains(&held.subject.tid));
        match holder.filter(|_| waiting.len() < MAX_HOLDERS) {
            Some(holder) => {
                waiting.push(subject.tid);
                let its = judge(episode, holder.subject, timelines, waiting);
                waiting.pop();
                let its_group = cgroup(episode, holder.subject.tid);
                judged.extend(its.into_iter().map(|judged| held(judged, &holder, its_group.as_ref())));
            }
            None => {
                let timeline = timelines.get(&span.cpu).unwrap_or(&empty);
                let mut pieces = Vec::new();
                judge_span(episode, &classifier, span, timeline, &mut pieces);
                judged.extend(pieces.into_iter().map(|piece| Judged { piece, place: None }));
            }
        }
    }
    judged
}

/// What the holder of a lock did, as those see it who wait for the lock.
fn held(judged: Judged, holder: &Holder<'_>, cgroup: Option<&String>) -> Judged {
    let Judged { piece, place } = judged;
    if place.is_some() && place == holder.place {
        // It waited for the same lock: whoever held it before kept both.
        return Judged { piece, place };
    }
    let name = holder.subject.name.to_owned();
    let (detail, inside) = match piece.kind {
        Kind::Own => (piece.detail.unwrap_or_else(|| Detail::Seen("at work".to_owned())), (Kind::Own, name.clone())),
        kind => (Detail::KeptBy(kind, piece.name.clone()), (kind, piece.name)),
    };
    // What is not known of a lock within is not known of this one.
    let inside = match piece.inside {
        Some((Kind::Unknown, why)) => (Kind::Unknown, why),
        _ => inside,
    };
    let (detail, inside, cgroup) = (Some(detail), Some(inside), cgroup.cloned());
    let piece = Piece { kind: Kind::Lock, name, detail, inside, cgroup, turn: None, ..piece };
    Judged { piece, place: holder.place }
}

/// What the kernel calls the groups that it makes by itself, of sessions.
const AUTOMATIC: &str = "/autogroup-";

/// The path of a thread's control group. The automatic ones weigh, but they are none that anybody made: their threads are
/// in the root.
pub fn cgroup(episode: &Episode, tid: u32) -> Option<String> {
    episode.group_of(tid).map(|group| match group.path.starts_with(AUTOMATIC) {
        true => "/".to_owned(),
        false => group.path.clone(),
    })
}

fn judge_span(
    episode: &Episode,
    classifier: &Classifier<'_>,
    span: &StateSpan,
    timeline: &CpuTimeline,
    pieces: &mut Vec<Piece>,
) {
    let mut reached = span.start_ns;
    let mut push = |start_ns: u64, ns: u64, blamed: Blamed| {
        if ns > 0 {
            pieces.push(Piece {
                start_ns,
                ns,
                cpu: span.cpu,
                kind: blamed.kind,
                name: blamed.name,
                detail: blamed.detail.map(Detail::Seen),
                inside: blamed.inside,
                cgroup: blamed.tid.and_then(|tid| cgroup(episode, tid)),
                turn: blamed.turn,
            });
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
        for (blamed, ns) in classifier.judge(span, slice, start, end, own) {
            push(at, ns, blamed);
            at += ns;
        }
        push(at, end - at, Blamed::steal());
        reached = end;
    }
    if reached < span.end_ns {
        // After the CPU's last event nothing more is known than what it was doing then.
        let blamed = match timeline.slices.last() {
            Some(last) if last.end_ns <= reached => {
                classifier.after_last(span, &episode.events[last.ends_with], span.end_ns - reached)
            }
            _ => vec![(Blamed::unknown("no event of this CPU"), span.end_ns - reached)],
        };
        for (blamed, ns) in blamed {
            push(reached, ns, blamed);
            reached += ns;
        }
    }
}

/// Stretches of an interrupt shorter than this are not looked at for a program inside.
const PROGRAM_NS: u64 = 50_000;
/// Of a stretch that is a program's, the program ran this much, in percent; the rest is what stands around it.
const PROGRAM_PERCENT: u64 = 80;

/// BPF programs on tracepoints inside interrupts have no stamps of their own. Where one's measured run time covers a
/// long stretch of an interrupt, or only one was there, the stretch is its.
fn name_by_programs(episode: &Episode, timelines: &BTreeMap<u32, CpuTimeline>, pieces: &mut [Piece]) {
    for piece in pieces.iter_mut() {
        if piece.ns < PROGRAM_NS || !matches!(piece.kind, Kind::Irq | Kind::Softirq | Kind::KernelWake) {
            continue;
        }
        let Some(slices) =
            timelines.get(&piece.cpu).map(|timeline| timeline.within(piece.start_ns, piece.start_ns.saturating_add(1)))
        else {
            continue;
        };
        let Some(slice) = slices.first() else { continue };
        let (Some((inner, _)), true) = (slice.interrupt().or(slice.softirq()), !slice.open.is_empty()) else {
            continue;
        };
        // A callback in a softirq has its own name.
        if slice.interrupt().is_none() && inner.kind != EventKind::SoftirqBegin {
            continue;
        }
        // The tracepoint is one that begins or ends this stretch, or what ran inside calls the program itself.
        let begins = hook_of(inner.kind);
        let ends = hook_of(episode.events[slice.ends_with].kind);
        let fits = |hook: &str| begins == Some(hook) || ends == Some(hook);
        let mut candidates: Vec<_> = episode.programs.iter().filter(|program| fits(&program.hook)).collect();
        // Others that came or went meanwhile, and so were not measured, are no reason to doubt one that was.
        let alone = candidates.len() == 1 && candidates[0].ran_ns.is_none();
        if !alone {
            candidates.retain(|program| program.ran_ns.is_some_and(|ran| ran >= piece.ns / 100 * PROGRAM_PERCENT));
            candidates.sort_by_key(|program| piece.ns.abs_diff(program.ran_ns.unwrap_or(0)));
        }
        if let Some(program) = candidates.first() {
            piece.detail = Some(Detail::Seen(format!("BPF program at {}, in {}", program.hook, piece.name)));
            piece.name.clone_from(&program.name);
            if piece.kind == Kind::KernelWake {
                piece.kind = if slice.interrupt().is_some() { Kind::Irq } else { Kind::Softirq };
            }
        }
    }
}

fn hook_of(kind: EventKind) -> Option<&'static str> {
    Some(match kind {
        EventKind::TimerBegin => "hrtimer_expire_entry",
        EventKind::TimerEnd => "hrtimer_expire_exit",
        EventKind::HandlerBegin => "irq_handler_entry",
        EventKind::HandlerEnd => "irq_handler_exit",
        EventKind::SoftirqBegin => "softirq_entry",
        EventKind::SoftirqEnd => "softirq_exit",
        EventKind::CallbackBegin => "timer_expire_entry",
        EventKind::CallbackEnd => "timer_expire_exit",
        EventKind::Waking => "sched_waking",
        EventKind::VectorBegin => "local_timer_entry",
        EventKind::VectorEnd => "local_timer_exit",
        _ => return None,
    })
}

/// Neighbours of the same owner become one piece.
fn join(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match joined.last_mut() {
            Some(last)
                if last.kind == piece.kind
                    && last.name == piece.name
                    && last.detail == piece.detail
                    && last.inside == piece.inside
                    && last.cgroup == piece.cgroup
                    && last.turn == piece.turn
                    && last.cpu == piece.cpu
                    && last.start_ns + last.ns == piece.start_ns =>
            {
                last.ns += piece.ns;
            }
            _ => joined.push(piece),
        }
    }
    joined
}

/// What pieces of one owner come to.
#[derive(Default)]
struct Sum<'a> {
    ns: u64,
    unknown_ns: u64,
    details: BTreeMap<String, u64>,
    inside: BTreeMap<(Kind, &'a str), u64>,
    /// Whether any of them says what a holder did.
    is_held: bool,
    turn: Option<Turn>,
}

/// Who has a part: kind, name, control group.
type Owner<'a> = (Kind, &'a str, Option<&'a str>);

fn parts(pieces: &[Piece]) -> Vec<Part> {
    let mut sums: BTreeMap<Owner<'_>, Sum<'_>> = BTreeMap::new();
    for piece in pieces {
        let sum = sums.entry((piece.kind, &piece.name, piece.cgroup.as_deref())).or_default();
        sum.ns += piece.ns;
        sum.turn = sum.turn.or(piece.turn);
        if let Some(detail) = &piece.detail {
            *sum.details.entry(detail.to_string()).or_default() += piece.ns;
        }
        if piece.is_unknown() {
            sum.unknown_ns += piece.ns;
        }
        let inside = piece.inside.as_ref().map_or((piece.kind, &*piece.name), |(kind, name)| (*kind, &**name));
        *sum.inside.entry(inside).or_default() += piece.ns;
        sum.is_held |= piece.inside.is_some();
    }
    let mut parts: Vec<Part> = sums
        .into_iter()
        .map(|((kind, name, cgroup), sum)| {
            let detail = sum.details.into_iter().max_by_key(|(_, ns)| *ns).map(|(detail, _)| detail);
            let mut inside: Vec<Inside> = match sum.is_held {
                true => sum
                    .inside
                    .into_iter()
                    .map(|((kind, name), ns)| Inside { kind, name: name.to_owned(), ns })
                    .collect(),
                false => Vec::new(),
            };
            inside.sort_by_key(|inside| std::cmp::Reverse(inside.ns));
            Part {
                kind,
                name: name.to_owned(),
                ns: sum.ns,
                detail,
                unknown_ns: sum.unknown_ns,
                inside,
                cgroup: cgroup.map(str::to_owned),
                turn: sum.turn,
            }
        })
        .collect();
    parts.sort_by(|left, right| {
        let by_name = left.name.cmp(&right.name).then(left.cgroup.cmp(&right.cgroup));
        right.ns.cmp(&left.ns).then(left.kind.cmp(&right.kind)).then(by_name)
    });
    parts
}
