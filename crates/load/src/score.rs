//! What a load got done during the measurement.
//!
//! A command that is repeated is counted: every iteration that ended within the measurement, and one that had begun
//! before by the share of its time that lies within. An iteration that was not finished at the end is left out with
//! its time, so that a long one does not look like no work. Other commands say themselves how far they are:
//! a [`LineScore`] reads it from their output.

use punctual_recording::LoadScore;
use regex::Regex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::OnceLock;

/// How to read from a line of output how much was done: a regular expression with named groups.
///
/// * `count`: how many since the program began (`frame=(?<count>\d+)`);
/// * `rate`: how many a second, at the time (`FPS: (?<rate>\d+)`);
/// * `count` and `seconds`: how many in how many seconds, once and for all, such as a summary at the end;
/// * `name`: which of several things, if one program has several scores.
#[derive(Debug, Clone)]
pub struct LineScore {
    /// What is counted, such as `frames`.
    pub unit: String,
    pattern: Regex,
}

impl LineScore {
    /// A score with this unit and this regular expression.
    ///
    /// # Errors
    /// A line that says what is wrong with them.
    pub fn new(unit: &str, pattern: &str) -> Result<LineScore, String> {
        let regex = Regex::new(pattern).map_err(|error| {
            let text = error.to_string();
            let what = text.lines().last().unwrap_or_default().trim().trim_start_matches("error: ").to_owned();
            format!("`{}` is not a regular expression: {what}", pattern.replace('\n', " "))
        })?;
        let has = |wanted| regex.capture_names().flatten().any(|name| name == wanted);
        if let Some(other) =
            regex.capture_names().flatten().find(|name| !["count", "rate", "seconds", "name"].contains(name))
        {
            return Err(format!("`{other}` is not a group of a score: the groups are count, rate, seconds and name"));
        }
        if has("count") == has("rate") || has("rate") && has("seconds") {
            return Err("match needs a group (?<count>...) or (?<rate>...)".to_owned());
        }
        if unit.is_empty() || unit.contains(punctual_recording::is_control) {
            return Err("its unit must not be empty".to_owned());
        }
        Ok(LineScore { unit: unit.to_owned(), pattern: regex })
    }

    /// The one for stress-ng's own metrics, one score per kind of worker.
    pub fn stress_ng() -> &'static LineScore {
        static SCORE: OnceLock<LineScore> = OnceLock::new();
        SCORE.get_or_init(|| LineScore {
            unit: "bogo operations".to_owned(),
            pattern: Regex::new(STRESS_NG_METRICS).unwrap_or_else(|error| unreachable!("{error}")),
        })
    }

    fn read(&self, line: &str) -> Option<Reading> {
        let found = self.pattern.captures(line)?;
        let number = |name| {
            let number: f64 = found.name(name)?.as_str().parse().ok()?;
            (number.is_finite() && (0.0..1e15).contains(&number)).then(|| (number * 1_000.0).round() as u64)
        };
        let value = match (number("count"), number("rate"), number("seconds")) {
            (Some(count), _, Some(milliseconds)) if milliseconds > 0 => {
                Value::Whole { count, elapsed_ns: milliseconds.saturating_mul(1_000_000) }
            }
            (Some(_), _, Some(_)) => return None,
            (Some(count), _, None) => Value::Running(count),
            (None, Some(rate), _) => Value::Rate(rate),
            (None, None, _) => return None,
        };
        Some(Reading { name: found.name("name").map(|name| name.as_str().to_owned()), value })
    }
}

impl PartialEq for LineScore {
    fn eq(&self, other: &LineScore) -> bool {
        self.unit == other.unit && self.pattern.as_str() == other.pattern.as_str()
    }
}

impl Eq for LineScore {}

/// `stress-ng: metrc: [123] cpu   1387   1.95  ...`: the kind, its operations, the seconds they took.
pub(crate) const STRESS_NG_METRICS: &str =
    r"metrc: \[\d+\] (?<name>[a-z][\w-]*)\s+(?<count>\d+)\s+(?<seconds>[\d.]+)\s";

struct Reading {
    name: Option<String>,
    value: Value,
}

#[derive(Clone, Copy)]
enum Value {
    Running(u64),
    Rate(u64),
    Whole { count: u64, elapsed_ns: u64 },
}

/// A command whose work is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scored {
    /// Its name.
    pub name: String,
    /// The pace it is held to, ns.
    pub pace_ns: Option<u64>,
    /// How; `None` to count iterations.
    pub lines: Option<LineScore>,
}

/// Something a command did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// It was carried out once, from `started_ns` until now.
    Iteration {
        /// When it had begun, ns.
        started_ns: u64,
        /// Whether it did what it should.
        succeeded: bool,
    },
    /// It was under way since then when all was ended.
    Unfinished {
        /// When it had begun, ns.
        started_ns: u64,
    },
    /// It wrote this line.
    Line(String),
}

/// Counts what the commands of a load do. Times are ns of one clock and do not go back.
/// What is kept does not grow with the length of the measurement.
#[derive(Debug, Default)]
pub struct Tally {
    commands: Vec<Counted>,
    /// When measuring began.
    begun_ns: Option<u64>,
    /// When it ended.
    ended_ns: Option<u64>,
    /// What may still turn out to come after the end of the measurement.
    recent: VecDeque<(usize, u64, Deed)>,
}

#[derive(Debug, Default)]
struct Counted {
    scored: Option<Scored>,
    /// Iterations, in millionths.
    iterations: u128,
    /// The end of the last one, or the start of one that was not finished.
    unfinished_since: Option<u64>,
    /// By the name within the command.
    lines: BTreeMap<Option<String>, Lines>,
}

#[derive(Debug, Default)]
struct Lines {
    /// For a running count: the first and last time, the last count, and the sum of what it grew by.
    running: Option<(u64, u64, u64, u64)>,
    rates: u128,
    rate_count: u64,
    whole: Option<(u64, u64)>,
}

/// What a command did may be reported this much later.
const DELAY_NS: u64 = 2_000_000_000;
const WHOLE_ITERATION: u128 = 1_000_000;

impl Tally {
    /// For these commands, by their place; `None` for those that have no score.
    pub fn new(commands: impl IntoIterator<Item = Option<Scored>>) -> Tally {
        let commands = commands.into_iter().map(|scored| Counted { scored, ..Counted::default() });
        Tally { commands: commands.collect(), ..Tally::default() }
    }

    /// Measuring began: what was done before does not count.
    pub fn begin(&mut self, at_ns: u64) {
        self.begun_ns = Some(at_ns);
    }

    /// A command did something, by now.
    pub fn add(&mut self, command: usize, at_ns: u64, deed: Deed) {
        let Some(counted) = self.commands.get(command) else { return };
        let wanted = match (&counted.scored, &deed) {
            (None, _) => false,
            (Some(scored), Deed::Line(_)) => scored.lines.is_some(),
            (Some(scored), Deed::Iteration { .. } | Deed::Unfinished { .. }) => scored.lines.is_none(),
        };
        if !wanted {
            return;
        }
        let Some(begun) = self.begun_ns else { return };
        self.recent.push_back((command, at_ns, deed));
        while self.ended_ns.is_none()
            && self.recent.front().is_some_and(|(_, then, _)| then.saturating_add(DELAY_NS) < at_ns)
        {
            if let Some((command, at_ns, deed)) = self.recent.pop_front() {
                self.commands[command].add(at_ns, &deed, begun, None);
            }
        }
    }

    /// Measuring ended: what is done after does not count, but late reports about the time before do.
    pub fn end(&mut self, at_ns: u64) {
        self.ended_ns = Some(at_ns);
    }

    /// The scores of the measurement. A command about which nothing is known has none.
    pub fn scores(mut self) -> Vec<LoadScore> {
        let (Some(begun), Some(end)) = (self.begun_ns, self.ended_ns) else { return Vec::new() };
        if begun >= end {
            return Vec::new();
        }
        for (command, at_ns, deed) in self.recent {
            self.commands[command].add(at_ns, &deed, begun, Some(end));
        }
        self.commands.iter().flat_map(|counted| counted.scores(begun, end)).collect()
    }
}

impl Counted {
    fn add(&mut self, at_ns: u64, deed: &Deed, begun: u64, end: Option<u64>) {
        let over = end.is_some_and(|end| at_ns > end);
        match deed {
            Deed::Iteration { started_ns, .. } | Deed::Unfinished { started_ns }
                if over || matches!(deed, Deed::Unfinished { .. }) =>
            {
                let since = self.unfinished_since.unwrap_or(u64::MAX);
                self.unfinished_since = Some(since.min((*started_ns).max(begun)));
            }
            Deed::Iteration { started_ns, succeeded } => {
                if !succeeded || at_ns <= begun {
                    return;
                }
                let within = u128::from(at_ns - (*started_ns).max(begun).min(at_ns));
                let whole = u128::from(at_ns.saturating_sub(*started_ns));
                self.iterations += (within * WHOLE_ITERATION).checked_div(whole).unwrap_or(WHOLE_ITERATION);
            }
            Deed::Unfinished { .. } => {}
            Deed::Line(line) => {
                let Some(score) = self.scored.as_ref().and_then(|scored| scored.lines.as_ref()) else { return };
                let Some(Reading { name, value }) = score.read(line) else { return };
                // A summary is written when all is over.
                if (over || at_ns < begun) && !matches!(value, Value::Whole { .. }) {
                    return;
                }
                self.lines.entry(name).or_default().add(at_ns, value);
            }
        }
    }

    fn scores(&self, begun: u64, end: u64) -> Vec<LoadScore> {
        let Some(scored) = &self.scored else { return Vec::new() };
        let score = |name: String, unit: &str, count_thousandths: u64, elapsed_ns: u64| LoadScore {
            name,
            unit: unit.to_owned(),
            count_thousandths,
            elapsed_ns,
            pace_ns: scored.pace_ns,
        };
        if let Some(lines) = &scored.lines {
            let known = self.lines.iter().filter_map(|(name, found)| {
                let (count, elapsed) = found.count(end - begun)?;
                let name = match name {
                    Some(inner) => format!("{} {inner}", scored.name),
                    None => scored.name.clone(),
                };
                Some(score(name, &lines.unit, count, elapsed))
            });
            return known.collect();
        }
        let until = self.unfinished_since.unwrap_or(end).min(end);
        let count = u64::try_from((self.iterations + 500) / 1_000).unwrap_or(u64::MAX);
        if until <= begun || self.iterations == 0 {
            return Vec::new();
        }
        vec![score(scored.name.clone(), "iterations", count, until - begun)]
    }
}

impl Lines {
    fn add(&mut self, at_ns: u64, value: Value) {
        match value {
            Value::Running(count) => {
                self.running = Some(match self.running {
                    None => (at_ns, at_ns, count, 0),
                    // A count that went back is that of a program that was started again.
                    Some((first, _, last, sum)) => {
                        let grown = count.checked_sub(last).unwrap_or(count);
                        (first, at_ns, count, sum.saturating_add(grown))
                    }
                });
            }
            Value::Rate(rate) => {
                self.rates += u128::from(rate);
                self.rate_count += 1;
            }
            Value::Whole { count, elapsed_ns } => {
                let (counts, elapsed) = self.whole.unwrap_or_default();
                self.whole = Some((counts.saturating_add(count), elapsed.saturating_add(elapsed_ns)));
            }
        }
    }

    /// How many, times 1,000, in what time, ns.
    fn count(&self, measured_ns: u64) -> Option<(u64, u64)> {
        if let Some(whole) = self.whole {
            return Some(whole);
        }
        if let Some((first, last, _, sum)) = self.running.filter(|(first, last, ..)| first < last) {
            return Some((sum, last - first));
        }
        let rate = self.rates.checked_div(u128::from(self.rate_count))?;
        let count = rate * u128::from(measured_ns) / 1_000_000_000;
        Some((u64::try_from(count).unwrap_or(u64::MAX), measured_ns))
    }
}

#[cfg(test)]
#[path = "score_tests.rs"]
mod tests;
