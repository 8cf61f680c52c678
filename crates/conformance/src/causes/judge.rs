//! Compares what `why --json` says with the logs of a scene.

use super::cause::{Accepted, Cause, Sense};
use crate::truth::{CLOSE_NS, MIN_NS};
use regex::Regex;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A victim that was kept for less than this was not kept, ns.
const MIN_KEPT: u64 = 600_000;
/// Time that interrupted a culprit is not the culprit's.
const ABOVE: [&str; 3] = ["irq", "softirq", "kernel_wake"];
/// Kinds that do not say what a thread waited for.
const NO_WAITS: [&str; 20] = [
    "steal",
    "irq",
    "irq_off",
    "softirq",
    "kernel_wake",
    "kernel",
    "blind",
    "unknown",
    "idle_exit",
    "higher_priority",
    "same_priority",
    "lower_priority",
    "fair_server",
    "migration",
    "throttled",
    "stopped",
    "fault",
    "io",
    "own",
    "idle",
];
/// Kinds that say "it had the right to run before the victim", whatever its nice value.
const ENTITLED: &str = "^(same_priority|higher_priority|fair.*|group.*|.*weight.*|.*turn.*|.*share.*|entitled)$";
/// Names that mean nobody.
const NOBODY: &str = r"(?i)unknown|not seen|unseen|not known|not recorded|nobody|no evidence|a lock of the program|somebody|out of sight|^the network$|^\?*$";

/// What was said about a cause.
#[derive(Default, Clone, Serialize, Debug)]
pub struct Tally {
    /// Injections that were made.
    pub injected: u64,
    /// Those that kept the victim, by its own log.
    pub kept: u64,
    /// Those of them that an episode covers.
    pub met: u64,
    /// Right kind and name.
    pub right: u64,
    /// Of these, those with the right length.
    pub within: u64,
    /// Right kind, without a name.
    pub nameless: u64,
    /// Another kind or name.
    pub wrong: u64,
    /// Said to be unknown.
    pub unknown: u64,
    /// The right name, with a reason that is false or unknown.
    pub false_reason: u64,
    /// Kept, but no episode says so.
    pub not_found: u64,
    /// In episodes that count as void.
    pub void: u64,
    /// Met, but the host had the CPU meanwhile.
    pub steal: u64,
    /// What was said, and how often.
    pub said: BTreeMap<String, u64>,
    /// One episode for each thing said.
    pub example: BTreeMap<String, Place>,
    /// Each wrong name, for a closer look.
    pub wrong_names: Vec<WrongName>,
    /// How often the scene was played.
    pub runs: u64,
}

/// Where to find an episode.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
pub struct Place {
    /// Which run of the scene recorded it, from 1.
    pub run: u64,
    /// Its number there.
    pub episode: u64,
}

/// An answer that accuses an innocent.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct WrongName {
    /// Where it was said.
    pub place: Place,
    /// How long the culprit of the log kept the victim, ns.
    pub kept_ns: u64,
    /// What was said about most of that time.
    pub said: String,
}

/// A span of the log.
pub(super) struct Span {
    start: u64,
    /// For a wait whose thread says so, when the thread had come to run; otherwise its beginning.
    ran: u64,
    end: u64,
    tid: u64,
    name: String,
}

/// The two logs of a scene.
pub(super) struct Truth {
    injections: Vec<Span>,
    waits: Vec<Span>,
}

impl Truth {
    pub(super) fn read(text: &str) -> Truth {
        let mut truth = Truth { injections: Vec::new(), waits: Vec::new() };
        for line in text.lines() {
            let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
            let number = |key: &str| value[key].as_u64().unwrap_or_default();
            let span = Span {
                start: number("start_ns"),
                ran: number("ran_ns").max(number("start_ns")),
                end: number("end_ns"),
                tid: number("tid"),
                name: value["name"].as_str().unwrap_or_default().to_owned(),
            };
            let log = if value["kind"] == "wait" { &mut truth.waits } else { &mut truth.injections };
            log.push(span);
        }
        truth.waits.sort_by_key(|wait| wait.start);
        truth
    }
}

struct Piece {
    start: u64,
    end: u64,
    kind: String,
    name: String,
    detail: String,
}

struct Late {
    id: u64,
    tid: u64,
    void: bool,
    pieces: Vec<Piece>,
}

fn episodes(answer: &Value) -> Vec<Late> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let piece = |value: &Value| {
        let start = value["start_ns"].as_u64().unwrap_or_default();
        let mut detail = text(&value["detail"]);
        for key in ["cgroup", "group"] {
            if let Some(more) = value[key].as_str() {
                detail = format!("{detail} {more}");
            }
        }
        Piece {
            start,
            end: start + value["ns"].as_u64().unwrap_or_default(),
            kind: text(&value["kind"]),
            name: text(&value["name"]),
            detail,
        }
    };
    let late = |value: &Value| Late {
        id: value["id"].as_u64().unwrap_or_default(),
        tid: value["victim"]["tid"].as_u64().unwrap_or_default(),
        void: value["void"] == true,
        pieces: match list(&value["pieces"]) {
            pieces if pieces.is_empty() => laid_out(value),
            pieces => pieces.iter().map(piece).collect(),
        },
    };
    list(&answer["episodes"]).iter().map(late).collect()
}

/// An answer that is too long holds only sums: those, one after another.
fn laid_out(episode: &Value) -> Vec<Piece> {
    let mut start = episode["expected_ns"].as_u64().unwrap_or_default();
    let part = |part: &Value| {
        let end = start + part["ns"].as_u64().unwrap_or_default();
        let text = |key: &str| part[key].as_str().unwrap_or_default().to_owned();
        let piece = Piece { start, end, kind: text("kind"), name: text("name"), detail: text("detail") };
        start = end;
        piece
    };
    episode["parts"].as_array().into_iter().flatten().map(part).collect()
}

struct Rule {
    kind: Regex,
    waits: bool,
    name: Regex,
}

impl Rule {
    fn new(&(kind, name): &Accepted, culprit: &str) -> Rule {
        let kinds = match kind {
            "entitled" => ENTITLED.to_owned(),
            kind => format!("^({kind})$"),
        };
        let regex = |text: &str| Regex::new(text).expect("a regular expression of the table");
        Rule { kind: regex(&kinds), waits: kind == "wait", name: regex(&name.replace("{culprit}", culprit)) }
    }

    fn fits(&self, piece: &Piece) -> bool {
        let kind = if self.waits { !NO_WAITS.contains(&piece.kind.as_str()) } else { self.kind.is_match(&piece.kind) };
        // Whoever kept a holder from its work is not the holder.
        let tells_whom = ["throttled", "stopped", "fault", "io", "irq", "softirq", "kernel", "own"];
        let by_detail = tells_whom.contains(&piece.kind.as_str()) && self.name.is_match(&piece.detail);
        kind && (self.name.is_match(&piece.name) || by_detail)
    }
}

fn shared(one: (u64, u64), other: (u64, u64)) -> u64 {
    one.1.min(other.1).saturating_sub(one.0.max(other.0))
}

/// Whether the cause keeps only a victim that has come to run and then waits: whoever had its CPU before that had a
/// right to it, and is not part of the truth.
fn is_of_a_running_victim(cause: &Cause) -> bool {
    let mut kinds = cause.right.iter().flat_map(|(kind, _)| kind.split('|'));
    kinds.all(|kind| ["wait", "lock", "fault", "io"].contains(&kind))
}

/// Judges one recording of a cause.
pub(super) fn judge(cause: &Cause, truth: &Truth, answer: &Value) -> Tally {
    let episodes = episodes(answer);
    let mut tally = Tally { injected: truth.injections.len() as u64, runs: 1, ..Tally::default() };
    let from = |wait: &Span| if is_of_a_running_victim(cause) { wait.ran } else { wait.start };
    for injection in &truth.injections {
        match cause.sense {
            Sense::Culprit => {
                let most = truth
                    .waits
                    .iter()
                    .map(|wait| (injection.start.max(from(wait)), injection.end.min(wait.end), wait.tid))
                    .max_by_key(|(start, end, _)| end.saturating_sub(*start));
                if let Some((start, end, tid)) = most
                    && end.saturating_sub(start) >= MIN_KEPT
                {
                    let name = injection.name.clone();
                    one(&mut tally, cause, &episodes, &Span { start, ran: start, end, tid, name });
                }
            }
            Sense::Nothing => nothing(&mut tally, &episodes, injection),
        }
    }
    tally
}

/// For each thing said, the time for which a part said it.
fn said<'a>(pieces: &[&'a Piece], window: (u64, u64)) -> BTreeMap<(&'a str, &'a str), (u64, &'a Piece)> {
    let mut said: BTreeMap<(&str, &str), (u64, &Piece)> = BTreeMap::new();
    let mut longest: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for piece in pieces {
        let ns = shared(window, (piece.start, piece.end));
        let key = (piece.kind.as_str(), piece.name.as_str());
        let entry = said.entry(key).or_insert((0, piece));
        entry.0 += ns;
        let most = longest.entry(key).or_default();
        if ns > *most {
            *most = ns;
            entry.1 = piece;
        }
    }
    said
}

/// The victim's episode that holds most of the time in which it was kept, and how much of it.
fn most_of<'a>(episodes: &'a [Late], kept: &Span) -> Option<(&'a Late, u64)> {
    let window = (kept.start, kept.end);
    let covered = |late: &Late| late.pieces.iter().map(|piece| shared(window, (piece.start, piece.end))).sum::<u64>();
    let of_victim = episodes.iter().filter(|late| late.tid == kept.tid).map(|late| (late, covered(late)));
    of_victim.max_by_key(|(_, covered)| *covered).filter(|(_, covered)| *covered > MIN_NS)
}

fn one(tally: &mut Tally, cause: &Cause, episodes: &[Late], kept: &Span) {
    tally.kept += 1;
    let window = (kept.start, kept.end);
    let Some((late, covered)) = most_of(episodes, kept) else {
        tally.not_found += 1;
        return;
    };
    if late.void {
        tally.void += 1;
        return;
    }
    // At least half of it; otherwise the answer is about something else: the evidence ended before the culprit did.
    if covered * 2 < kept.end - kept.start {
        tally.not_found += 1;
        return;
    }
    tally.met += 1;
    let right: Vec<Rule> = cause.right.iter().map(|rule| Rule::new(rule, &kept.name)).collect();
    let fits = |piece: &Piece| right.iter().any(|rule| rule.fits(piece));
    let is_above = |piece: &&Piece| ABOVE.contains(&piece.kind.as_str()) && !fits(piece);
    let of_window = |wanted: &dyn Fn(&&Piece) -> bool| -> u64 {
        late.pieces.iter().filter(|piece| wanted(piece)).map(|piece| shared(window, (piece.start, piece.end))).sum()
    };
    let steal = of_window(&|piece| piece.kind == "steal");
    let above = of_window(&is_above);
    let pieces: Vec<&Piece> = late.pieces.iter().filter(|piece| piece.kind != "steal" && !is_above(piece)).collect();
    let said = said(&pieces, window);
    let Some((_, (_, most))) = said.iter().max_by_key(|(_, (ns, _))| *ns) else {
        tally.steal += 1;
        return;
    };
    let is_right = fits(most);
    if !is_right && steal > CLOSE_NS && steal * 5 > kept.end - kept.start {
        tally.steal += 1;
        return;
    }
    let detail = if most.detail.is_empty() { String::new() } else { format!(" ({})", most.detail) };
    let words = format!("{} {}{detail}", most.kind, most.name);
    *tally.said.entry(words.clone()).or_default() += 1;
    let place = Place { run: 1, episode: late.id };
    let wrong = WrongName { place, kept_ns: kept.end - kept.start, said: words.clone() };
    tally.example.entry(words.clone()).or_insert(place);
    if cause.never.is_some_and(|never| of_table(never).is_match(&words)) {
        tally.accused(wrong);
    } else if is_right {
        tally.right += 1;
        let whole = (kept.end - kept.start).saturating_sub(steal + above);
        let fitting = pieces.iter().filter(|piece| fits(piece));
        let part: u64 = fitting.map(|piece| shared(window, (piece.start, piece.end))).sum();
        tally.within += u64::from(part.abs_diff(whole) <= (whole / 20).max(CLOSE_NS));
        let is_false = cause.false_detail.is_some_and(|wrong| of_table(wrong).is_match(&most.detail));
        let is_silent = cause.tells.is_some_and(|tells| !of_table(tells).is_match(&words));
        tally.false_reason += u64::from(is_false) + u64::from(is_silent);
    } else {
        not_right(tally, cause, wrong, (kept, most));
    }
}

/// The answer is not the right one: nothing, the right kind without a name, or somebody else.
fn not_right(tally: &mut Tally, cause: &Cause, wrong: WrongName, (kept, most): (&Span, &Piece)) {
    let is_nameless = cause.nameless.iter().any(|rule| Rule::new(rule, &kept.name).fits(most));
    if ["unknown", "blind"].contains(&most.kind.as_str()) {
        tally.unknown += 1;
    } else if is_nameless {
        tally.nameless += 1;
    } else if of_table(NOBODY).is_match(&most.name) {
        let any_name = |(kind, _): &Accepted| (*kind, "");
        let mut kinds = cause.right.iter().map(any_name);
        if kinds.any(|rule| Rule::new(&rule, "").fits(most)) {
            tally.nameless += 1;
        } else {
            tally.unknown += 1;
        }
    } else {
        tally.accused(wrong);
    }
}

fn of_table(words: &str) -> Regex {
    Regex::new(words).expect("a regular expression of the table")
}

/// Nothing kept the victim: anybody named for more than a fifth of it is innocent.
fn nothing(tally: &mut Tally, episodes: &[Late], idle: &Span) {
    let window = (idle.start, idle.end);
    if idle.end.saturating_sub(idle.start) < MIN_KEPT {
        return;
    }
    tally.kept += 1;
    tally.met += 1;
    let mut most: Option<(u64, &Piece, u64)> = None;
    for late in episodes.iter().filter(|late| !late.void) {
        for piece in &late.pieces {
            let ns = shared(window, (piece.start, piece.end));
            if ns > most.map_or(0, |(most, _, _)| most) {
                most = Some((ns, piece, late.id));
            }
        }
    }
    match most {
        Some((ns, piece, id)) if ns * 5 > idle.end - idle.start => {
            let words = format!("{} {}", piece.kind, piece.name);
            *tally.said.entry(words.clone()).or_default() += 1;
            let place = Place { run: 1, episode: id };
            tally.example.entry(words.clone()).or_insert(place);
            if ["unknown", "blind"].contains(&piece.kind.as_str()) {
                tally.unknown += 1;
            } else {
                tally.accused(WrongName { place, kept_ns: idle.end - idle.start, said: words });
            }
        }
        _ => {
            tally.right += 1;
            tally.within += 1;
        }
    }
}

impl Tally {
    /// Whether more than one in a hundred was wrong, or nothing was met.
    #[must_use]
    pub fn fails(&self) -> bool {
        self.met == 0 || self.wrong * 100 > self.met
    }

    fn accused(&mut self, wrong: WrongName) {
        self.wrong += 1;
        self.wrong_names.push(wrong);
    }

    /// Adds later runs of the same cause.
    pub fn add(&mut self, other: Tally) {
        let later = |place: Place| Place { run: self.runs + place.run, ..place };
        for (words, place) in other.example {
            self.example.entry(words).or_insert(later(place));
        }
        for wrong in other.wrong_names {
            self.wrong_names.push(WrongName { place: later(wrong.place), ..wrong });
        }
        self.runs += other.runs;
        for (sum, more) in [
            (&mut self.injected, other.injected),
            (&mut self.kept, other.kept),
            (&mut self.met, other.met),
            (&mut self.right, other.right),
            (&mut self.within, other.within),
            (&mut self.nameless, other.nameless),
            (&mut self.wrong, other.wrong),
            (&mut self.unknown, other.unknown),
            (&mut self.false_reason, other.false_reason),
            (&mut self.not_found, other.not_found),
            (&mut self.void, other.void),
            (&mut self.steal, other.steal),
        ] {
            *sum += more;
        }
        for (words, count) in other.said {
            *self.said.entry(words).or_default() += count;
        }
    }

    /// What was said most often.
    #[must_use]
    pub fn most(&self) -> String {
        let most = self.said.iter().max_by_key(|(_, count)| **count);
        most.map(|(words, count)| format!("{words}: {count}")).unwrap_or_default()
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
