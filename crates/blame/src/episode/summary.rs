//! Causes over many episodes.

use crate::episode::detail::Detail;
use crate::episode::groups::{IDLE_WEIGHT, Turn};
use crate::episode::priorities::Priorities;
use crate::episode::split::{Inside, Part, Split};
use crate::kind::Kind;
use crate::who::Who;
use std::collections::BTreeMap;

/// What an owner had of the lateness of all episodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// Why.
    pub kind: Kind,
    /// Who.
    pub who: Who,
    /// The number of the thread that it was in all episodes, where other threads of one of them have the same name.
    pub thread: Option<u32>,
    /// See [`Part::detail`](crate::Part::detail); that of most of it.
    pub detail: Option<Detail>,
    /// For how much of a wait its detail says what held up whoever was waited for, ns; `None` if the detail says
    /// something else.
    pub detail_ns: Option<u64>,
    /// See [`crate::Piece::cgroup`].
    pub cgroup: Option<String>,
    /// See [`crate::Piece::turn`].
    pub turn: Option<Turn>,
    /// See [`crate::Piece::priorities`].
    pub priorities: Option<Priorities>,
    /// In how many episodes.
    pub episodes: u64,
    /// The numbers of these episodes, the one in which it had least first.
    pub in_episodes: Vec<u64>,
    /// In how many of them the wait ended when whoever was waited for ended, see
    /// [`Piece::has_ended`](crate::Piece::has_ended).
    pub ended: u64,
    /// The most in one episode, ns.
    pub max_ns: u64,
    /// The median over the episodes in which it had a part, ns.
    pub typical_ns: u64,
    /// In all, ns.
    pub total_ns: u64,
    /// How much of that nothing explains, ns, see [`Part::unknown_ns`](crate::Part::unknown_ns).
    pub unknown_ns: u64,
    /// The episode in which it had most.
    pub example: u64,
}

impl Cause {
    /// For how much of a wait its detail holds, ns, unless that is most of it.
    pub fn detail_part_ns(&self) -> Option<u64> {
        self.detail_ns.filter(|ns| !is_most(*ns, self.total_ns))
    }

    /// What happened, as a sentence.
    pub fn happened(&self) -> String {
        match (self.turn, self.kind) {
            (Some(turn), Kind::HigherPriority) if turn.waiting_weight == IDLE_WEIGHT => {
                format!("{} ran first: the late thread runs when nobody else wants the CPU (SCHED_IDLE).", self.who)
            }
            (Some(_), Kind::SamePriority) => format!("{} has the same weight and had its turn first.", self.who),
            (Some(_), Kind::HigherPriority) => format!("{} has the greater weight and ran first.", self.who),
            (None, Kind::HigherPriority) if self.priorities.is_some() => self.ran_over(),
            _ => self.kind.happened(&self.who),
        }
    }

    /// That a thread ran first, with what the two are.
    fn ran_over(&self) -> String {
        let classes = self.priorities.map(|both| (both.class(), both.waiting_class()));
        let (class, waiting) = classes.unwrap_or_default();
        format!("{} ({class}) goes before the late thread ({waiting}) and ran first.", self.who)
    }

    /// What would change it, in the imperative; `None` if there is nothing to change.
    pub fn remedy(&self) -> Option<&'static str> {
        let among_normal = self.turn.is_some() && matches!(self.kind, Kind::SamePriority | Kind::HigherPriority);
        if among_normal && self.turn.is_some_and(|turn| turn.waiting_weight == IDLE_WEIGHT) {
            return Some(
                "Give the late thread another policy (chrt -o -p 0 TID), or its group (cpu.idle): nice counts for nothing there.",
            );
        }
        if let Some(turn) = self.turn.filter(|_| among_normal) {
            return Some(match turn.waits_in_session {
                Some(true) => {
                    "Give the late thread's session more weight (`echo -15 | sudo tee /proc/PID/autogroup`, or cpu.weight of a group of \
                     its own; nice has no effect between sessions while autogroups are on) or the thread a CPU of its own \
                     (taskset), or a real-time priority if its work is short (chrt -f 50)."
                }
                Some(false) => {
                    "Give the late thread more weight (nice, cpu.weight) or a CPU of its own (taskset), or a real-time priority \
                     if its work is short (chrt -f 50)."
                }
                None => {
                    "Give the late thread more weight (nice, cpu.weight; between sessions with autogroups \
                     `echo -15 | sudo tee /proc/PID/autogroup`) or a CPU of its own (taskset), or a real-time priority if its work is short (chrt -f \
                     50)."
                }
            });
        }
        match (self.kind, self.priorities) {
            (Kind::HigherPriority, Some(both)) if both.has_deadline() => Some(
                "Give the late thread another CPU (taskset), or the other one a smaller runtime: no real-time priority goes \
                 before SCHED_DEADLINE.",
            ),
            (Kind::HigherPriority, Some(both)) if both.is_out_of_reach() => {
                Some("Give it another CPU (taskset) or a lower priority: none that chrt -f gives goes before 99.")
            }
            (Kind::SamePriority, Some(both)) if both.has_deadline() => Some(
                "Give one of them a smaller runtime, or the CPU to itself: of SCHED_DEADLINE threads that with the earlier \
                 deadline goes first.",
            ),
            (Kind::SamePriority, Some(both)) if both.is_out_of_reach() => Some(
                "Give one of them another CPU (taskset), or the other thread a lower priority: none that chrt -f gives goes before \
                 99.",
            ),
            _ => self.kind.remedy(&self.who),
        }
    }
}

/// The causes of all late time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Largest first.
    pub causes: Vec<Cause>,
    /// The late time of all episodes that were split, ns: the sum of the causes.
    pub late_ns: u64,
    /// How much of that nothing explains, ns: what is unknown, and what is unknown within other causes.
    pub unknown_ns: u64,
}

/// What one episode adds to a cause: its part and its number.
type Share<'a> = (&'a Part, u64);
/// Whose cause it is: kind, who, control group.
type Owner<'a> = (Kind, &'a Who, Option<&'a str>);

/// Adds up splits, each with its episode's number. Leave void episodes out.
pub fn summarize<'a>(splits: impl IntoIterator<Item = (u64, &'a Split)>) -> Summary {
    let mut found: BTreeMap<Owner<'_>, Vec<Share<'_>>> = BTreeMap::new();
    for (episode, split) in splits {
        for part in &split.parts {
            found.entry((part.kind, &part.who, part.cgroup.as_deref())).or_default().push((part, episode));
        }
    }
    let mut causes: Vec<Cause> = found
        .into_iter()
        .map(|((kind, who, cgroup), mut shares)| {
            let turn = shares.iter().find_map(|(part, _)| part.turn);
            shares.sort_by_key(|&(part, episode)| (part.ns, episode));
            let numbers = || shares.iter().map(|(part, _)| part.thread);
            let thread = numbers().next().flatten().filter(|tid| numbers().all(|other| other == Some(*tid)));
            let (max_ns, example) = shares.last().map_or((0, 0), |&(part, episode)| (part.ns, episode));
            let (detail, detail_ns) = match most_inside(&shares) {
                Some((detail, ns)) => (Some(detail), Some(ns)),
                None => (most_seen(&shares), None),
            };
            Cause {
                kind,
                who: who.clone(),
                thread: thread.filter(|_| shares.iter().any(|(part, _)| part.has_namesakes)),
                cgroup: cgroup.map(str::to_owned),
                turn,
                priorities: shares.iter().find_map(|(part, _)| part.priorities),
                detail,
                detail_ns,
                episodes: shares.len() as u64,
                in_episodes: shares.iter().map(|(_, episode)| *episode).collect(),
                ended: shares.iter().filter(|(part, _)| part.has_ended).count() as u64,
                max_ns,
                typical_ns: shares[shares.len() / 2].0.ns,
                total_ns: shares.iter().map(|(part, _)| part.ns).sum(),
                unknown_ns: shares.iter().map(|(part, _)| part.unknown_ns).sum(),
                example,
            }
        })
        .collect();
    causes.sort_by(|left, right| {
        let by_name = left.who.cmp(&right.who).then(left.cgroup.cmp(&right.cgroup));
        right.total_ns.cmp(&left.total_ns).then(left.kind.cmp(&right.kind)).then(by_name)
    });
    let late_ns = causes.iter().map(|cause| cause.total_ns).sum();
    let unknown_ns = causes.iter().map(|cause| cause.unknown_ns).sum();
    Summary { causes, late_ns, unknown_ns }
}

/// The detail of most of the time.
fn most_seen(shares: &[Share<'_>]) -> Option<Detail> {
    let mut details: BTreeMap<String, (&Detail, u64)> = BTreeMap::new();
    for (part, _) in shares {
        if let Some(detail) = &part.detail {
            details.entry(detail.to_string()).or_insert((detail, 0)).1 += part.ns;
        }
    }
    details.into_values().max_by_key(|(_, ns)| *ns).map(|(detail, _)| detail.clone())
}

/// What held up whoever was waited for most, over all episodes, and for how long, ns: step by step as long as the
/// largest has at least half of the previous step. What a single episode says may differ.
fn most_inside(shares: &[Share<'_>]) -> Option<(Detail, u64)> {
    let total_ns: u64 = shares.iter().map(|(part, _)| part.ns).sum();
    let mut level: Vec<&Inside> = shares.iter().flat_map(|(part, _)| &part.inside).collect();
    let mut path: Vec<(Kind, Who)> = Vec::new();
    let mut last_ns = 0;
    while let Some((kind, who, ns)) = largest(&level) {
        // If it goes no further, the step itself comes once more.
        let is_rest = path.last().is_some_and(|(last, of)| *last == kind && of == who);
        if is_rest || (!path.is_empty() && ns < last_ns / 2) {
            break;
        }
        level = level
            .into_iter()
            .filter(|inside| inside.kind == kind && &inside.who == who)
            .flat_map(|inside| &inside.inside)
            .collect();
        path.push((kind, who.clone()));
        last_ns = ns;
    }
    let (kind, who) = path.first().cloned()?;
    let detail = match (path.len(), kind) {
        // If it covers about all of the time, the code that was seen most is what most of it is.
        (1, Kind::Own) if is_most(last_ns, total_ns) => {
            most_seen(shares).filter(|detail| detail.fate().is_none()).unwrap_or(Detail::AtWork)
        }
        (1, Kind::Own) => Detail::AtWork,
        (1, _) if shares.iter().any(|(part, _)| part.kind == Kind::Lock) => Detail::KeptBy(kind, who),
        (1, _) => Detail::Meanwhile(kind, who),
        _ => {
            let along = |code: Option<String>| Detail::Along(path.clone(), code);
            let is_it = |detail: &Detail| matches!(detail, Detail::Along(of, _) if *of == path);
            most_seen(shares).filter(is_it).filter(|_| is_most(last_ns, total_ns)).unwrap_or_else(|| along(None))
        }
    };
    Some((detail, last_ns))
}

/// Whether a part of a wait is so much of it that it needs no number.
fn is_most(part_ns: u64, total_ns: u64) -> bool {
    part_ns / 3 >= total_ns / 4
}

/// Who had most at one step of the way, and how much, ns.
fn largest<'a>(level: &[&'a Inside]) -> Option<(Kind, &'a Who, u64)> {
    let mut sums: BTreeMap<(Kind, &Who), u64> = BTreeMap::new();
    for inside in level {
        *sums.entry((inside.kind, &inside.who)).or_default() += inside.ns;
    }
    sums.into_iter().max_by_key(|(_, ns)| *ns).map(|((kind, who), ns)| (kind, who, ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(insides: &[(Kind, &str, u64)]) -> Part {
        let inside = |(kind, who, ns): &(Kind, &str, u64)| Inside {
            kind: *kind,
            who: (*who).into(),
            ns: *ns,
            inside: Vec::new(),
        };
        let (kind, who, _) = insides[0];
        let detail = if kind == Kind::Own { Detail::AtWork } else { Detail::Meanwhile(kind, who.into()) };
        Part {
            kind: Kind::Wait,
            who: "kid".into(),
            thread: None,
            has_namesakes: false,
            ns: insides.iter().map(|(.., ns)| ns).sum(),
            detail: Some(detail),
            unknown_ns: 0,
            inside: insides.iter().map(inside).collect(),
            call: None,
            has_ended: false,
            cgroup: None,
            turn: None,
            priorities: None,
        }
    }

    #[test]
    fn a_thread_is_numbered_where_it_is_the_same_of_several_in_all_episodes() {
        let split = |thread, has_namesakes| Split {
            pieces: Vec::new(),
            parts: vec![Part { thread, has_namesakes, ..wait(&[(Kind::Own, "kid", 10)]) }],
        };
        let numbered = |splits: &[Split]| {
            let summary = summarize(splits.iter().map(|split| (1, split)));
            assert_eq!(summary.causes.len(), 1, "{summary:?}");
            summary.causes[0].thread
        };
        // In one of the episodes the others were not seen.
        assert_eq!(numbered(&[split(Some(7), true), split(Some(7), false)]), Some(7));
        assert_eq!(numbered(&[split(Some(7), true), split(Some(8), true)]), None);
        assert_eq!(numbered(&[split(Some(7), true), split(None, false)]), None);
        assert_eq!(numbered(&[split(Some(7), false)]), None);
    }

    #[test]
    fn the_episodes_of_a_cause_stand_there_by_how_much_of_it_they_have() {
        let split = |ns| Split { pieces: Vec::new(), parts: vec![wait(&[(Kind::Own, "kid", ns)])] };
        let splits = [split(30), split(10), split(20)];
        let summary = summarize([4, 5, 9].into_iter().zip(&splits));
        let [cause] = &summary.causes[..] else { panic!("{summary:?}") };
        assert_eq!((&cause.in_episodes[..], cause.episodes, cause.example), (&[5, 9, 4][..], 3, 4));
    }

    #[test]
    fn what_kept_whoever_was_waited_for_is_told_by_time_and_not_by_what_led() {
        // In two of three episodes another one was slightly ahead; in all together its own work was.
        let led = wait(&[(Kind::SamePriority, "other", 11), (Kind::Own, "kid", 10)]);
        let own = wait(&[(Kind::Own, "kid", 30), (Kind::SamePriority, "third", 8)]);
        let found = most_inside(&[(&led, 1), (&led, 2), (&own, 3)]);
        assert_eq!(found, Some((Detail::AtWork, 50)));
        // It was ahead in none.
        let last = wait(&[(Kind::SamePriority, "third", 11), (Kind::Own, "kid", 10)]);
        assert_eq!(most_inside(&[(&led, 1), (&last, 2)]), Some((Detail::AtWork, 20)));
        assert_eq!(most_inside(&[]), None);
    }

    #[test]
    fn words_and_number_are_of_the_same_step() {
        let step = |kind, who: &str, ns, inside| Inside { kind, who: who.into(), ns, inside };
        // A lock whose holder slept for most of the time; each episode by itself says that another thread ran.
        let below = vec![step(Kind::Sleep, "tick", 62, Vec::new()), step(Kind::Own, "third", 28, Vec::new())];
        let inside = vec![step(Kind::Lock, "third", 90, below), step(Kind::Own, "kid", 10, Vec::new())];
        let part = Part { inside, ns: 100, ..wait(&[(Kind::SamePriority, "other", 100)]) };
        let path = vec![(Kind::Lock, "third".into()), (Kind::Sleep, "tick".into())];
        assert_eq!(most_inside(&[(&part, 1)]), Some((Detail::Along(path, None), 62)));
        // If nothing has half of a step, the step is the last that is named.
        let many =
            (0..4).map(|number| step(Kind::SamePriority, ["a", "b", "c", "d"][number], 20, Vec::new())).collect();
        let part = Part { inside: vec![step(Kind::Lock, "third", 80, many)], ns: 80, ..part };
        assert_eq!(most_inside(&[(&part, 1)]), Some((Detail::Meanwhile(Kind::Lock, "third".into()), 80)));
    }
}
