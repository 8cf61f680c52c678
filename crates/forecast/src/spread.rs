//! How much more a count of stalls varies than a count of independent stalls, for how long the machine remembers, and
//! whether it drifts. All this is measured at lower levels of stalls too, because a device's own level usually has few.
//!
//! A count n is taken to vary by n + excess(n)·n. The excess is that of counts in blocks of the recording. It grows
//! with the count (rarer stalls are more independent), but never faster than the count, so that limits made from it
//! grow with the count: a device that meets fewer stalls never gets a worse limit.

mod clusters;
mod counts;
mod course;
mod drift;
mod ladder;

use crate::interval::Estimate;
use crate::special::{chi_squared_q, gamma_quantile};
use clusters::{Sizes, carriers, cluster};
use counts::{Counts, excess};
use course::{BLOCKS, Course, UNLIKELY, settled};
pub use drift::Drift;
use drift::{Found, Growth, Line, drift};
use ladder::Ladder;

/// The fewest events whose spread is measured.
const MIN_EVENTS: usize = 40;
/// Where there is a memory, the measured excess is multiplied by this: chosen by the coverage measured for scales that
/// wander and stalls that branch (`benches/processes`).
const SELDOM_SEEN: f64 = 1.3;
/// A variance v, relative to the square of the rate, is taken to be v·(1 + this·v). Where stalls are few to a crest of
/// the rate, 1/v is the number of crests; if those are few, the highest is usually not among them. Chosen likewise.
const FEW_CRESTS: f64 = 8.0;
/// Where rarer stalls vary more, their gain with each halving of their number continues; it is never as much as the
/// loss of their number.
const MAX_GROWTH: f64 = 1.9;
/// Events belong to one cluster where they are this many times closer to each other than on average, and closer than
/// the memory. Chosen, like the next two.
const NEAR: f64 = 4.0;
/// The number of levels at which cluster sizes are measured, from the rarest events on.
const CLUSTER_LEVELS: usize = 5;
/// Clusters come more evenly than independent ones if counts would vary as little with less than this probability, at
/// each of these levels.
const EVEN: f64 = 0.05;
/// The number of levels at which a drift is looked for, from the most frequent events on. Rarer events are too few for
/// a line of their own.
const DRIFT_LEVELS: usize = 4;
/// A tail model needs a recording this many times as long as the machine remembers.
pub(crate) const MIN_PIECES: f64 = 20.0;
/// A verdict of *holds* without a condition needs one this many times as long: that it is 20 times as long is only an
/// estimate.
pub(crate) const SETTLED_PIECES: f64 = 40.0;
/// And this many clusters must make what varies from part to part: with fewer, the largest of all is usually not among
/// those seen.
pub(crate) const SETTLED_CARRIERS: f64 = 8.0;
/// And a week of exposure, less what a run of that length may miss, ns. What comes less often than five times in a
/// recording may not have come at all, and then nothing in the recording tells of it. Where calms last as a Pareto law
/// of shape 1.5 says (`sojourns` of `benches/processes`), three days are too few for a *holds* that is false in 1 of
/// 200; and machines do much by the day and by the week.
pub(crate) const MIN_SETTLED_NS: f64 = 6.0e14;
/// From an hour on, less what a run of that length may miss, a recording says more of itself, ns: much comes by the
/// minute (jobs, collections, heat).
pub(crate) const MIN_TELLING_NS: f64 = 3.5e12;

/// Why a forecast says *holds* only while conditions stay as recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condition {
    /// Whatever the recording shows, it is too short for what comes by the day.
    Short,
    /// It is too short for its own memory.
    Memory,
    /// Few clusters of stalls make what varies.
    Clusters,
    /// The machine drifts, or may drift.
    Drift,
}

impl Condition {
    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Condition::Short => "short",
            Condition::Memory => "memory",
            Condition::Clusters => "clusters",
            Condition::Drift => "drift",
        }
    }
}

/// How stalls spread over a recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// How much the long-run rate of a given number of events varies.
    ladder: Ladder,
    /// How many times as large that is at half as many events.
    growth: f64,
    /// How long an event still shows in later ones, ns of observed time; `None` where nothing shows.
    pub memory_ns: Option<f64>,
    /// How the frequency of stalls changes over the recording, if that is not chance.
    pub drift: Option<Drift>,
    /// Whether a drift, though not certain, cannot be ruled out.
    pub may_drift: bool,
    /// The number of independent pieces that would vary as the rarest counts do, if those vary by more than chance.
    worth: Option<f64>,
    /// How many clusters make what varies, if it varies by more than chance: the least at any level.
    pub carriers: Option<f64>,
    /// How many events come with one on average, including itself.
    sizes: Sizes,
    /// Whether such clusters come more evenly than independent ones.
    is_even: bool,
    /// How much the rate at the end may differ from its mean although no test shows it, as a variance: if such a drift
    /// is slight, and if it may be of any size.
    slight: Ladder,
    unseen: Ladder,
    /// The exposure, ns.
    exposure: f64,
}

impl Spread {
    /// A spread of which nothing is known: independent events.
    pub(crate) fn independent(exposure: f64) -> Spread {
        Spread {
            ladder: Ladder::default(),
            growth: 1.0,
            memory_ns: None,
            drift: None,
            may_drift: false,
            worth: None,
            carriers: None,
            sizes: Sizes::SINGLE,
            is_even: false,
            slight: Ladder::default(),
            unseen: Ladder::default(),
            exposure,
        }
    }

    /// Measures the spread. `times`: when events above the level of each number of them were, ns; for ever more events,
    /// as far as known.
    pub(crate) fn of(levels: &[Vec<u64>], exposure: f64) -> Spread {
        let usable: Vec<&Vec<u64>> = levels.iter().filter(|times| times.len() >= MIN_EVENTS).collect();
        let mut spread = Spread::independent(exposure);
        // Blocks may show only a part of the excess, and a rate that wanders seldom shows its crests.
        let mut unsettled = 1.0;
        let all_counts: Vec<Counts> = usable.iter().map(|times| Counts::of(times, exposure)).collect();
        // Memory and drift, from the level where most is known of the time course.
        let mut lines = Vec::new();
        for counts in all_counts.iter().rev().take(DRIFT_LEVELS) {
            let course = Course::of(counts, exposure);
            if let Some(memory) = course.memory() {
                if spread.memory_ns.is_none_or(|known| memory > known) {
                    spread.memory_ns = Some(memory);
                }
                unsettled = course.left(memory).max(unsettled);
            }
            let (found, line) = drift(counts);
            lines.insert(0, line);
            match found {
                Found::Nothing => {}
                Found::Possible => spread.may_drift = true,
                Found::Sure(found) => spread.drift = Some(spread.drift.map_or(found, |known| known.with(found))),
            }
        }
        spread.allow_for_drift(&lines, &all_counts);
        if let Some(memory) = spread.memory_ns {
            let fades = 1.0 / settled(2.0 * exposure / BLOCKS as f64 / memory);
            unsettled = unsettled.max(fades) * SELDOM_SEEN;
        }
        let seldom = if spread.memory_ns.is_some() { SELDOM_SEEN } else { 1.0 };
        let size = |times: &&Vec<u64>| {
            // As near as a few independent events are to each other.
            let near = exposure / (NEAR * times.len() as f64);
            let gap = spread.memory_ns.unwrap_or(exposure / counts::MAX_BLOCKS as f64).min(near);
            (times.len() as f64, cluster(times, gap))
        };
        let told: Vec<(f64, f64)> = usable.iter().take(CLUSTER_LEVELS).map(size).collect();
        spread.carriers = all_counts.iter().filter_map(carriers).reduce(f64::min);
        spread.sizes = Sizes::of(&told, seldom, spread.is_carried_by_few());
        spread.is_even = told.iter().zip(&all_counts).all(|(&(_, size), counts)| {
            let degrees = (BLOCKS - 1) as f64;
            chi_squared_q(degrees, degrees * (excess(counts.in_blocks(BLOCKS)) + 1.0) / size) > 1.0 - EVEN
        });
        let fewer =
            spread.memory_ns.map_or(1.0, |memory| of_an_estimate(exposure / memory) / of_an_estimate(BLOCKS as f64));
        let (mut significant, mut measured) = (Vec::new(), Vec::new());
        for counts in &all_counts {
            let count = counts.events;
            let excess = excess(counts.in_blocks(BLOCKS));
            let degrees = (BLOCKS - 1) as f64;
            significant.push(chi_squared_q(degrees, degrees * (excess + 1.0)) < UNLIKELY);
            let taken = ((excess + 1.0) * of_an_estimate(BLOCKS as f64) - 1.0).max(0.0) * unsettled;
            let relative = taken / count;
            measured.push((count, relative * (1.0 + FEW_CRESTS * relative) * fewer));
        }
        spread.ladder = Ladder::of(measured);
        // Where the scale of lateness wanders, the rarest stalls vary most: their gain from level to level continues.
        if significant.len() >= 3 && significant[0] && significant[2] {
            spread.growth = spread.ladder.growth().clamp(1.0, MAX_GROWTH);
        }
        if significant.iter().any(|&significant| significant) {
            spread.worth = spread.ladder.rarest().map(|relative| 1.0 / relative.max(1e-9));
        }
        spread
    }

    /// How the rate at the end may differ from its mean although no test shows it: by what the lines amount to, and by
    /// as much as they can err; among events rarer than those of the lines, by as much more as the drift grows from
    /// level to level. Where a drift is certain, limits reach as far as the end by [`Spread::ahead`], and only that
    /// growth is left.
    fn allow_for_drift(&mut self, lines: &[Line], all_counts: &[Counts]) {
        let Some((rarest, most)) = lines.first().zip(lines.last()) else { return };
        let is_certain = self.drift.is_some();
        let from = if is_certain { Line::reached(rarest.events) } else { *most };
        let growth = Growth::of(all_counts);
        let rarer = all_counts.iter().take(all_counts.len() - lines.len());
        let grown = rarer.map(|counts| (counts.events, from.squares(counts.events, growth)));
        let square = |line: &Line| if is_certain { [0.0; 2] } else { line.squares(line.events, None) };
        let own = lines.iter().map(|line| (line.events, square(line)));
        let squares: Vec<(f64, [f64; 2])> = grown.chain(own).collect();
        let of = |which: usize| Ladder::of(squares.iter().map(|(events, both)| (*events, both[which])).collect());
        (self.slight, self.unseen) = (of(0), of(1));
    }

    /// By how much the dispersion of this many events exceeds that of independent ones.
    pub fn excess(&self, count: f64) -> f64 {
        self.ladder.at(count, self.growth) * count
    }

    /// How many times as variable a count of this size is as one of independent events: at least 1.
    pub fn dispersion(&self, count: f64) -> f64 {
        1.0 + self.excess(count)
    }

    /// The same with the part for a drift that does not show, as limits have it. It stays as large in a longer
    /// recording of a machine that does not drift: a line through more events errs by less.
    pub(crate) fn dispersion_with_drift(&self, count: f64) -> f64 {
        self.dispersion(count.max(1.0)) + count * self.slight.at(count, 1.0)
    }

    /// The exposure in pieces that know nothing of each other: as many as it is memories long, or as many as would make
    /// the rarest counts as variable as they are, if those are fewer. `None` if nothing shows that any do.
    pub fn pieces(&self) -> Option<f64> {
        let lengths = self.memory_ns.map(|memory| self.exposure / memory);
        lengths.into_iter().chain(self.worth).reduce(f64::min)
    }

    /// What keeps a verdict from coming without a condition: nothing if the recording is long enough by itself,
    /// compared with its own memory and its largest clusters, and the same throughout.
    pub fn conditions(&self) -> Vec<Condition> {
        let found = [
            (Condition::Short, self.exposure < MIN_SETTLED_NS),
            (Condition::Memory, self.pieces().is_some_and(|pieces| pieces < SETTLED_PIECES)),
            (Condition::Clusters, self.is_carried_by_few()),
            (Condition::Drift, self.drift.is_some() || self.may_drift),
        ];
        found.into_iter().filter_map(|(condition, is_met)| is_met.then_some(condition)).collect()
    }

    /// Whether so few clusters make what varies that larger ones than those seen are to be expected.
    pub(crate) fn is_carried_by_few(&self) -> bool {
        self.carriers.is_some_and(|carriers| carriers < SETTLED_CARRIERS)
    }

    /// Whether the recording is long enough to say more of itself.
    pub(crate) fn is_telling(&self) -> bool {
        self.exposure >= MIN_TELLING_NS
    }

    /// The most that the sum may be in the long run, with this probability, if this much was counted; `largest` is the
    /// weight of an event that was not seen. What was not seen is a cluster of events, not one event, and it is as
    /// large as the rarest that were seen, or as many times as large as the count is more variable than one of
    /// independent events. The limit grows with the count. Without excess and weights it is Garwood's.
    pub(crate) fn upper(&self, sum: f64, largest: f64, confidence: f64) -> f64 {
        self.upper_if(&self.slight, sum, largest, confidence)
    }

    /// The same, whatever drift the recording could not show.
    pub(crate) fn upper_at_any_drift(&self, sum: f64, largest: f64, confidence: f64) -> f64 {
        self.upper_if(&self.unseen, sum, largest, confidence)
    }

    fn upper_if(&self, drift: &Ladder, sum: f64, largest: f64, confidence: f64) -> f64 {
        // A gamma law with the mean and the variance of both, as in Fay and Feuer (Statistics in Medicine 1997).
        let most = |sum: f64| {
            let count = sum.max(1.0);
            let unseen = self.dispersion(count).max(self.sizes.at(count));
            // Independent clusters make a count vary in proportion to their size.
            let own = if self.is_even { self.dispersion(count) } else { unseen };
            let variance = sum * own + unseen * unseen + sum * sum * drift.at(count, 1.0);
            let scale = variance / (sum + unseen);
            scale * gamma_quantile((sum + unseen) / scale, confidence)
        };
        // For a few that vary little beside one large cluster, such a law has a shorter tail than that of the cluster
        // alone.
        largest * self.ahead().1 * most(sum / largest).max(most(0.0))
    }

    /// The least that the sum may be. One event that counts for `largest` is one event, and what was seen is at least
    /// one cluster.
    pub(crate) fn lower(&self, sum: f64, largest: f64, confidence: f64) -> f64 {
        let sum = sum / largest;
        let scale = (self.dispersion(sum) + sum * self.slight.at(sum, 1.0)).min(sum.max(1.0));
        largest * self.ahead().0 * scale * gamma_quantile(sum / scale, 1.0 - confidence)
    }

    /// Where the frequency changes, the future may be like the end: this many times the mean, at least and at most.
    pub(crate) fn ahead(&self) -> (f64, f64) {
        self.drift.map_or((1.0, 1.0), |drift| drift.ahead)
    }

    /// Both with 95 %, and the sum itself; if nothing was seen, there is only an upper limit, one-sided.
    pub(crate) fn interval(&self, sum: f64, largest: f64) -> Estimate {
        if sum <= 0.0 {
            return Estimate { low: None, value: None, high: Some(self.upper(0.0, largest, 0.95)) };
        }
        Estimate {
            low: Some(self.lower(sum, largest, 0.975)),
            value: Some(sum),
            high: Some(self.upper(sum, largest, 0.975)),
        }
    }
}

/// Student's 97.5 % quantile over the normal one, squared: the excess is an estimate itself, with as many degrees of
/// freedom as there are blocks, or independent pieces if those are fewer. By the expansion of the quantile (Abramowitz
/// and Stegun, 26.7.5).
fn of_an_estimate(pieces: f64) -> f64 {
    let degrees = (pieces - 1.0).clamp(2.0, (BLOCKS - 1) as f64);
    let z = 1.959_964_f64;
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    ((z + first / degrees + second / degrees.powi(2) + third / degrees.powi(3)) / z).powi(2)
}

/// Separate waits, from (when due, how long) in the order of time: when each began, and the longest. Of those that
/// overlap one counts.
pub(crate) fn separate(waits: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut found: Vec<(u64, u64)> = Vec::new();
    let mut end = 0;
    for (at, value) in waits {
        let until = at.saturating_add(value);
        match found.last_mut().filter(|_| at < end) {
            Some(last) => {
                last.1 = last.1.max(value);
                end = end.min(until);
            }
            None => {
                found.push((at, value));
                end = until;
            }
        }
    }
    found
}

/// The levels of the ladder, each exceeded by twice as many of these values as the previous one, as far as they go:
/// from a few more than [`MIN_EVENTS`], because some belong to one stall, to all.
pub(crate) fn levels(values: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable_by(|left, right| right.cmp(left));
    let mut ranks = std::iter::successors(Some(MIN_EVENTS + 8), |rank| Some(rank * 2));
    let mut levels: Vec<u64> = std::iter::from_fn(|| ranks.next().and_then(|rank| values.get(rank))).copied().collect();
    if values.len() > MIN_EVENTS + 8 {
        levels.push(values.last().copied().unwrap_or(0));
    }
    levels.dedup();
    // The value from which a level is taken exceeds it, and so do its equals.
    levels.into_iter().map(|level| level.saturating_sub(1)).collect()
}

#[cfg(test)]
mod tests;
