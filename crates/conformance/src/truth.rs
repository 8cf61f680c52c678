//! Compares what `punctual why` blames with the log of the truth that `punctual drill` writes.
//!
//! An injection is *met* where it kept a late wakeup waiting for more than 0.1 ms. Of the time that both share, neither
//! the host's steal nor what interrupted the culprit is the culprit's: the log follows the clock.

use punctual_recording::Episode;
use punctual_recording::episode::EventKind;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::io;
use std::path::Path;

/// A shorter overlap proves nothing, ns.
pub(crate) const MIN_NS: u64 = 100_000;
/// A part is right within a twentieth of the overlap or this, ns.
pub(crate) const CLOSE_NS: u64 = 20_000;
/// A timer that was held for less may have come late by itself, ns.
const HELD_NS: u64 = 50_000;

/// A drill and what should be blamed for it.
pub struct Culprit {
    /// The drill.
    pub drill: &'static str,
    /// The kind of the cause.
    pub kind: &'static str,
    /// The beginning of the name.
    pub name: &'static str,
    /// Kinds that may interrupt it; their time is not its own.
    pub above: &'static [&'static str],
    /// Whether it brings a victim of its own, which is followed until it sleeps again.
    pub brings_victim: bool,
}

/// What may come between a thread and what it waits for.
const BETWEEN: &[&str] = &[
    "irq",
    "irq_off",
    "softirq",
    "kernel_wake",
    "kernel",
    "blind",
    "idle_exit",
    "higher_priority",
    "same_priority",
    "lower_priority",
    "fair_server",
    "migration",
];

/// The drills that are judged. The moves of `migrate` are too short for that.
pub const CULPRITS: [Culprit; 8] = [
    Culprit { drill: "irq", kind: "irq", name: "drill_irq", above: &[], brings_victim: false },
    Culprit { drill: "irq-off", kind: "irq_off", name: "drill-irq-off", above: &[], brings_victim: false },
    Culprit {
        drill: "softirq",
        kind: "softirq",
        name: "drill_softirq",
        above: &["irq", "kernel_wake"],
        brings_victim: false,
    },
    Culprit {
        drill: "fifo",
        kind: "higher_priority",
        name: "drill-fifo",
        above: &["irq", "softirq", "kernel_wake", "migration"],
        brings_victim: false,
    },
    Culprit {
        drill: "same-priority",
        kind: "same_priority",
        name: "drill-same",
        above: &["irq", "softirq", "kernel_wake", "migration", "higher_priority"],
        brings_victim: false,
    },
    Culprit { drill: "lock", kind: "lock", name: "drill-holder", above: BETWEEN, brings_victim: true },
    Culprit { drill: "page-fault", kind: "fault", name: "drill-victim", above: BETWEEN, brings_victim: true },
    Culprit { drill: "throttle", kind: "throttled", name: "drill-victim", above: BETWEEN, brings_victim: true },
];

/// What should be blamed for a drill.
///
/// # Panics
///
/// If the drill is not judged.
pub fn culprit(drill: &str) -> &'static Culprit {
    CULPRITS.iter().find(|culprit| culprit.drill == drill).expect("a drill that is known here")
}

/// How a drill was blamed.
pub struct Score {
    /// The drill.
    pub culprit: &'static Culprit,
    /// Injections that met a late wakeup, those blamed by kind and name, and those blamed with their right part.
    pub met: u64,
    /// See [`Score::met`].
    pub named: u64,
    /// See [`Score::met`].
    pub close: u64,
    /// Injections that got another name, without an excuse.
    pub misnamed: u64,
    /// Misses that nobody could avoid: the host stole time meanwhile, or interrupts were off and no timer was due.
    pub beside_steal: u64,
    /// See [`Score::beside_steal`].
    pub undecidable: u64,
    /// Injections that something above them hid, and those whose episode is void.
    pub hidden: u64,
    /// See [`Score::hidden`].
    pub void: u64,
    /// The time that injections and late wakeups shared, and how much of it is blamed on nothing, ns.
    pub overlap_ns: u64,
    /// See [`Score::overlap_ns`].
    pub unknown_ns: u64,
    /// The episodes that met it, and whether every part was right in them.
    pub right_in: BTreeMap<u64, bool>,
    /// The episodes with a miss that nobody could avoid.
    pub apart_in: BTreeSet<u64>,
    /// What was blamed most, kind and name.
    pub confusion: BTreeMap<String, u64>,
    /// One line each.
    pub misses: Vec<String>,
}

/// One injection, as the log of the truth has it.
pub struct Injection {
    number: u64,
    cpu: u64,
    /// The thread that the drill brought, if it did.
    victim: Option<u64>,
    start_ns: u64,
    end_ns: u64,
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("not a number: {value}"))
}

/// The injections in a log of the truth; a line that was cut short is skipped.
///
/// # Errors
///
/// If the log cannot be read.
///
/// # Panics
///
/// If a whole line is not one that drills write.
pub fn injections(log: &Path) -> io::Result<Vec<Injection>> {
    let text = std::fs::read_to_string(log)?;
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let injection = |line: Value| Injection {
        number: number(&line["number"]),
        cpu: number(&line["cpu"]),
        victim: line["victim"]["tid"].as_u64(),
        start_ns: number(&line["start_ns"]),
        end_ns: number(&line["end_ns"]),
    };
    Ok(lines.map(injection).collect())
}

fn overlap(piece: &Value, injection: &Injection) -> u64 {
    let start = number(&piece["start_ns"]);
    let end = start + number(&piece["ns"]);
    if injection.victim.is_none() && number(&piece["cpu"]) != injection.cpu {
        return 0;
    }
    end.min(injection.end_ns).saturating_sub(start.max(injection.start_ns))
}

/// Judges what `why --json` answers about a recording beside which a drill kept this log.
///
/// # Panics
///
/// If the answer is not one of `why`.
#[must_use]
pub fn judge(culprit: &'static Culprit, log: &[Injection], answer: &Value, evidence: &BTreeMap<u64, Episode>) -> Score {
    let mut score = Score {
        culprit,
        met: 0,
        named: 0,
        close: 0,
        misnamed: 0,
        beside_steal: 0,
        undecidable: 0,
        hidden: 0,
        void: 0,
        overlap_ns: 0,
        unknown_ns: 0,
        right_in: BTreeMap::new(),
        apart_in: BTreeSet::new(),
        confusion: BTreeMap::new(),
        misses: Vec::new(),
    };
    for episode in answer["episodes"].as_array().unwrap() {
        let of_victim = |injection: &&Injection| match injection.victim {
            Some(victim) => victim == number(&episode["victim"]["tid"]),
            None => !culprit.brings_victim,
        };
        for injection in log.iter().filter(of_victim) {
            judge_injection(&mut score, episode, injection, &evidence[&number(&episode["id"])]);
        }
    }
    score
}

fn judge_injection(score: &mut Score, episode: &Value, injection: &Injection, evidence: &Episode) {
    let Culprit { kind, name, above, .. } = score.culprit;
    let pieces = episode["pieces"].as_array().unwrap();
    let inside = |kinds: &[&str]| -> u64 {
        let of_kinds = pieces.iter().filter(|piece| kinds.contains(&piece["kind"].as_str().unwrap()));
        of_kinds.map(|piece| overlap(piece, injection)).sum()
    };
    let steal_ns = inside(&["steal"]);
    let whole_ns = pieces.iter().map(|piece| overlap(piece, injection)).sum::<u64>() - steal_ns;
    if whole_ns <= MIN_NS {
        return;
    }
    if episode["void"] == true {
        score.void += 1;
        return;
    }
    let overlap_ns = whole_ns - inside(above);
    if overlap_ns <= MIN_NS {
        score.hidden += 1;
        return;
    }
    let mut blamed: BTreeMap<String, u64> = BTreeMap::new();
    for piece in pieces.iter().filter(|piece| piece["kind"] != "steal") {
        let kind = piece["kind"].as_str().unwrap();
        if !above.contains(&kind) {
            *blamed.entry(format!("{kind} {}", piece["name"].as_str().unwrap())).or_default() +=
                overlap(piece, injection);
        }
    }
    let (largest, &part_ns) = blamed.iter().max_by_key(|(_, ns)| **ns).unwrap();
    let named = largest.starts_with(&format!("{kind} {name}"));
    let close = named && overlap_ns.abs_diff(part_ns) <= (overlap_ns / 20).max(CLOSE_NS);
    *score.confusion.entry(largest.clone()).or_default() += 1;
    score.met += 1;
    score.named += u64::from(named);
    score.close += u64::from(close);
    score.overlap_ns += overlap_ns;
    score.unknown_ns += inside(&["unknown"]);
    *score.right_in.entry(evidence.id).or_insert(true) &= close;
    if close {
        return;
    }
    let undecidable = is_undecidable(injection, evidence, kind, &format!("kernel {name}"), largest);
    let beside_steal = !undecidable && steal_ns > CLOSE_NS;
    score.undecidable += u64::from(undecidable);
    score.beside_steal += u64::from(beside_steal);
    if undecidable || beside_steal {
        score.apart_in.insert(evidence.id);
    } else {
        score.misnamed += u64::from(!named);
    }
    score.misses.push(miss(injection, evidence.id, overlap_ns, steal_ns, &blamed));
}

/// Whether nothing was due on the CPU while a drill kept its interrupts off: then the drill cannot be told from kernel
/// code that is not preempted.
fn is_undecidable(injection: &Injection, evidence: &Episode, kind: &str, not_preempted: &str, largest: &str) -> bool {
    kind == "irq_off" && largest.starts_with(not_preempted) && {
        let is_due = |due: u64| due > injection.start_ns && due + HELD_NS < injection.end_ns;
        let mut timers = evidence.events.iter().filter(|event| u64::from(event.cpu) == injection.cpu);
        !timers.any(|event| event.kind == EventKind::TimerBegin && is_due(event.extra))
    }
}

/// A line about an injection that the answer did not tell as it was.
fn miss(injection: &Injection, id: u64, overlap_ns: u64, steal_ns: u64, blamed: &BTreeMap<String, u64>) -> String {
    let mut line = format!(
        "episode {id}, injection {}: {:.1} us shared, {:.1} us stolen; blamed",
        injection.number,
        overlap_ns as f64 / 1e3,
        steal_ns as f64 / 1e3
    );
    for (owner, ns) in blamed.iter().filter(|(_, ns)| **ns > 0) {
        let _ = write!(line, " {owner} {:.1};", *ns as f64 / 1e3);
    }
    line
}

impl Score {
    /// Adds what another run of the same drill brought; each run has its number, which tells its episodes apart.
    pub fn add(&mut self, run: u64, other: Score) {
        assert_eq!(self.culprit.drill, other.culprit.drill);
        for (sum, more) in [
            (&mut self.met, other.met),
            (&mut self.named, other.named),
            (&mut self.misnamed, other.misnamed),
            (&mut self.close, other.close),
            (&mut self.beside_steal, other.beside_steal),
            (&mut self.undecidable, other.undecidable),
            (&mut self.hidden, other.hidden),
            (&mut self.void, other.void),
            (&mut self.overlap_ns, other.overlap_ns),
            (&mut self.unknown_ns, other.unknown_ns),
        ] {
            *sum += more;
        }
        self.right_in.extend(other.right_in.into_iter().map(|(episode, right)| ((run << 32) + episode, right)));
        self.apart_in.extend(other.apart_in.into_iter().map(|episode| (run << 32) + episode));
        for (blamed, count) in other.confusion {
            *self.confusion.entry(blamed).or_default() += count;
        }
        self.misses.extend(other.misses);
    }

    /// Injections that prove something: those met, without the misses that nobody could avoid.
    pub fn judged(&self) -> u64 {
        self.met - self.beside_steal - self.undecidable
    }

    /// Misses for which there is no excuse.
    pub fn missed(&self) -> u64 {
        self.met - self.close - self.beside_steal - self.undecidable
    }

    /// All of it in one line.
    #[must_use]
    pub fn line(&self) -> String {
        format!(
            "{:<14} met {:>4}  named {:>4}  with their part {:>4}  misnamed {:>3}  unknown {:.2} %  (misses beside steal {}, not to be told {}; \
             hidden by what is above {}; in void episodes {})",
            self.culprit.drill,
            self.met,
            self.named,
            self.close,
            self.misnamed,
            self.unknown_ns as f64 / self.overlap_ns.max(1) as f64 * 100.0,
            self.beside_steal,
            self.undecidable,
            self.hidden,
            self.void
        )
    }
}

/// The confusion table: a row for each drill, a column for each thing blamed.
pub fn confusion_table(scores: &[&Score]) -> String {
    let columns: BTreeSet<&String> = scores.iter().flat_map(|score| score.confusion.keys()).collect();
    let mut table = format!("{:<14}", "injected");
    for column in &columns {
        let _ = write!(table, "  {column}");
    }
    for score in scores {
        let _ = write!(table, "\n{:<14}", score.culprit.drill);
        for column in &columns {
            let width = column.chars().count();
            let count = score.confusion.get(*column).copied().unwrap_or(0);
            let _ = write!(table, "  {count:>width$}");
        }
    }
    table
}
