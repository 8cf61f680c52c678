//! Sides of inputs to a program, and what a comparison of two found.

use super::gather::{Group, InputRun};
use super::parts::Parts;
use crate::differences::Difference;
use crate::ratio::Ratio;
use crate::standing::Standing;
use crate::verdict::{Outcome, Overall, Verdict};

/// With fewer runs of a side nothing has limits: a single run does not show at all how much runs differ, and what is
/// usual for wakeups is not usual for programs.
pub(super) const MIN_RUNS_OF_LIMITS: usize = 2;

/// One side: runs of inputs to a program.
#[derive(Debug, Clone)]
pub struct InputSide {
    /// Its name.
    pub name: String,
    /// Its runs.
    pub runs: Vec<InputRun>,
}

/// A summary of a side.
#[derive(Debug, Clone, PartialEq)]
pub struct InputSummary {
    /// Its name.
    pub name: String,
    /// How many runs it has.
    pub runs: usize,
    /// The program and its arguments; several if they differ.
    pub program: String,
    /// The pace at which it was used.
    pub pace: String,
    /// Inputs that were put in, except those that were there before anybody looked.
    pub inputs: u64,
    /// How many of them were seen.
    pub seen: u64,
    /// How many the program took together with a later one.
    pub merged: u64,
    /// Half of them were seen within this time, ns, those that were taken together with a later one when that one was;
    /// `None` if fewer than six were.
    pub until_seen_ns: Option<u64>,
    /// For how long any of them was waited for, ns, for each that was seen, alone or with a later one: what overlaps counts
    /// once. `None` if none was seen.
    pub waited_per_input_ns: Option<u64>,
    /// From the first input of each run to its end, ns.
    pub lasted_ns: u64,
    /// How long inputs were waited for, ns.
    pub waited_ns: u64,
    /// CPU time of the program's threads from its first input on, for each input, ns; `None` if it is not known.
    pub cpu_per_input_ns: Option<u64>,
    /// Runs in which a signal ended the program before the script did.
    pub ended_by_signal: u64,
    /// Inputs of the script that were not put in, for that reason or another.
    pub not_put_in: u64,
}

/// A group on one side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupSide {
    /// Inputs that were put in.
    pub inputs: u64,
    /// Those that were seen.
    pub seen: u64,
}

/// A figure of a group on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureComparison {
    /// The geometric mean of the figure over A's runs and over B's: whole ns, or for [`WAITING`](super::WAITING) ns a
    /// second.
    pub values: [f64; 2],
    /// B to A.
    pub ratio: Ratio,
    /// B less A in the unit of the values: the lower limit, the difference, the upper limit. With the sides swapped it
    /// is exactly the opposite.
    pub difference: [f64; 3],
    /// Whether that has limits: it has none if a side has one run, which does not show how much runs differ.
    pub has_limits: bool,
    /// Where the time of the inputs near the figure went; `None` if that is not known for every run.
    pub parts: Option<Parts>,
}

impl FigureComparison {
    /// Its outcome by itself; `None` if it has no limits.
    pub fn outcome(&self) -> Option<Outcome> {
        self.has_limits.then(|| self.ratio.outcome())
    }
}

/// A group of inputs on both sides.
#[derive(Debug, Clone)]
pub struct GroupComparison {
    /// The inputs.
    pub group: Group,
    /// On A and on B.
    pub sides: [GroupSide; 2],
    /// The figures that all runs have: latencies from the middle outwards.
    pub figures: Vec<FigureComparison>,
    /// How much of the time was spent waiting for these inputs; it has no say in the verdict.
    pub waiting: Option<FigureComparison>,
    /// What the latencies say together.
    pub verdict: Verdict,
}

impl GroupComparison {
    /// The figure that decided.
    pub fn decided(&self) -> Option<&FigureComparison> {
        self.verdict.by.and_then(|by| self.figures.get(by))
    }

    /// The figure that the sentence reports: among those that by themselves say the same as the one that decided, the
    /// one nearest to the middle, which is known best; otherwise the median.
    pub fn shown(&self) -> Option<&FigureComparison> {
        let mut figures = self.figures.iter();
        let says = figures.find(|figure| self.is_different() && figure.outcome() == Some(self.verdict.outcome));
        says.or_else(|| self.figures.first())
    }

    /// Whether the sides differ.
    pub fn is_different(&self) -> bool {
        self.verdict.outcome != Outcome::NoDifference
    }
}

/// Two sides, compared.
#[derive(Debug, Clone)]
pub struct InputComparison {
    /// Side A.
    pub a: InputSummary,
    /// Side B.
    pub b: InputSummary,
    /// How B compares with A: for the systems or for these runs only, as `standing` says.
    pub outcome: Overall,
    /// What the outcome applies to.
    pub standing: Standing,
    /// How many runs of each side it would take to find the clearest of the estimated differences four times out of
    /// five; `None` if that is more than [`crate::ratio::MAX_RUNS_NEEDED`].
    pub runs_needed: Option<usize>,
    /// The kinds of input, those that differ first, the most different first. Their intervals hold together.
    pub kinds: Vec<GroupComparison>,
    /// What was typed often enough to be compared by itself: a family of its own, which decides nothing.
    pub labels: Vec<GroupComparison>,
    /// What else differs.
    pub differences: Vec<Difference>,
    /// What a reader must know first, one line each.
    pub notes: Vec<String>,
    /// Whether the runs were measured in turn.
    pub is_paired: bool,
}

impl InputComparison {
    /// Whether anything has limits: a single run of a side does not show how much runs differ.
    pub fn has_limits(&self) -> bool {
        self.a.runs.min(self.b.runs) >= MIN_RUNS_OF_LIMITS
    }

    /// The kinds that differ, the most different first.
    pub fn different(&self) -> impl Iterator<Item = &GroupComparison> {
        self.kinds.iter().filter(|kind| kind.is_different())
    }

    /// The kind that comes closest to a difference, by its least probability.
    pub fn nearest(&self) -> Option<&GroupComparison> {
        let least = |kind: &GroupComparison| kind.figures.iter().map(|figure| figure.ratio.p).fold(1.0, f64::min);
        let far = |kind: &GroupComparison| kind.shown().map_or(0.0, |figure| figure.ratio.estimate.ln().abs());
        self.kinds
            .iter()
            .min_by(|one, other| least(one).total_cmp(&least(other)).then_with(|| far(other).total_cmp(&far(one))))
    }
}
