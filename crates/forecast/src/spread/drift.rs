//! Whether the machine differs at the end of the recording from its beginning, or in its middle.

use super::counts::Counts;
use crate::special::{chi_squared_q, normal_quantile};

/// Blocks in which events are counted.
const BLOCKS: usize = 16;
/// Below this probability a drift is not chance, nor is a bend.
const UNLIKELY: f64 = 0.0015;
/// Below this probability a drift cannot be ruled out, so that nothing is said without a condition.
const POSSIBLE: f64 = 0.02;
/// Below this probability, scatter beyond that of independent events is not chance.
const SCATTERED: f64 = 0.05;

/// How the frequency of stalls changes over the recording, if that is not chance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// How many times as frequent stalls are in the last quarter as in the first.
    pub end: f64,
    /// How many times as frequent stalls are in the middle half as in the outer quarters, where they rise and fall (or
    /// fall and rise) beyond chance, rather than change in one direction.
    pub middle: Option<f64>,
    /// How many times as frequent as on average stalls are at the end: at the least, and at the most.
    pub(super) ahead: (f64, f64),
}

impl Drift {
    /// Joined with the drift at another level: as wide as either says.
    pub(super) fn with(self, other: Drift) -> Drift {
        let ahead = (self.ahead.0.min(other.ahead.0), self.ahead.1.max(other.ahead.1));
        Drift { end: self.end, middle: self.middle.filter(|_| other.middle.is_some()), ahead }
    }

    /// The change in words.
    pub(crate) fn in_words(&self) -> String {
        match self.middle {
            Some(middle) => often(middle, "in the middle of the recording", "at its ends"),
            None => often(self.end, "at the end", "at the beginning"),
        }
    }
}

/// How frequent something is in one place compared with another, starting from where it is more frequent.
fn often(times: f64, here: &str, there: &str) -> String {
    match times {
        _ if times < 0.05 => format!("far rarer {here} than {there}"),
        _ if times < 0.95 => format!("{:.1} times as frequent {there} as {here}", 1.0 / times),
        _ => format!("{times:.1} times as frequent {here} as {there}"),
    }
}

/// The share of the mean by which the rate at the end exceeds it, according to the fitted line, and how well that is
/// known: a variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Line {
    /// How many events it was fitted to.
    pub(super) events: f64,
    end: f64,
    variance: f64,
}

/// The assumed size of a drift that no test shows (a normal prior's deviation of the share by which the rate at the end
/// exceeds its mean), where counts scatter so much that they do not tell it any better.
const SLIGHT: f64 = 0.1;
/// How much larger a drift is assumed to be with each halving of the number of events, likewise: as much again among
/// events that are ten times rarer.
const GROWS: f64 = SLIGHT * std::f64::consts::LOG10_2;
/// No line through counts is steeper: if all of them lie in the last block, it ends nearly three times the mean beyond
/// the mean.
const STEEPEST: f64 = 3.0;

/// By how much more the rate at the end exceeds its mean with each halving of the number of events, and how well that
/// is known: a variance. Equally much each time if the scale of lateness drifts and its law is exponential, for rates
/// then change in proportion to how far out their level is; and nearly so for a long way if one kind of stalls drifts
/// and the others do not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Growth {
    end: f64,
    variance: f64,
    /// Whether the levels differ by more from block to block than independent events would make them: then clusters
    /// do, and tell too little of a drift.
    is_scattered: bool,
}

impl Growth {
    const NONE: Growth = Growth { end: 0.0, variance: 0.0, is_scattered: false };

    /// From the counts at each level, fewest events first; `None` if there is only one.
    ///
    /// The events of a level are some of those of the next one: what both have in common cancels in the difference of
    /// their counts, each relative to its mean. So the differences between levels are independent, and as well known
    /// as the events between them are many.
    pub(super) fn of(levels: &[Counts]) -> Option<Growth> {
        let (mut blocks, mut known) = ([0.0; BLOCKS], 0.0);
        for pair in levels.windows(2).filter(|pair| pair[0].events < pair[1].events) {
            let (rare, frequent) = (&pair[0], &pair[1]);
            let halvings = (frequent.events / rare.events).log2();
            let weight = halvings / (1.0 / rare.events - 1.0 / frequent.events);
            known += halvings * weight;
            let counts = rare.in_blocks(BLOCKS).iter().zip(frequent.in_blocks(BLOCKS));
            for (sum, (few, many)) in blocks.iter_mut().zip(counts) {
                *sum += weight * (few / rare.events - many / frequent.events);
            }
        }
        (known > 0.0).then(|| {
            let n = BLOCKS as f64;
            let fitted = Fitted::of(&blocks.map(|sum| sum * n / known), n / known);
            let (end, variance) = fitted.to_end(1.0);
            Growth { end, variance, is_scattered: fitted.is_scattered }
        })
    }
}

impl Line {
    /// The line at the level of this many events where limits reach the end without it.
    pub(super) fn reached(events: f64) -> Line {
        Line { events, end: 0.0, variance: 0.0 }
    }

    /// The mean square of the share by which the rate of this many events at the end differs from its mean, if no drift
    /// is certain: if drifts are slight, and if they may be of any size. Among fewer events than the line was fitted
    /// to, it goes on growing; where clusters hide by how much, a slight one is assumed not to.
    pub(super) fn squares(&self, events: f64, growth: Option<Growth>) -> [f64; 2] {
        let growth = growth.unwrap_or(Growth::NONE);
        let halvings = (self.events / events).log2();
        let told = |slight: f64, variance: f64| slight * slight / (slight * slight + variance);
        let grows = if growth.is_scattered { 0.0 } else { told(GROWS, growth.variance) };
        let if_slight = [told(SLIGHT, self.variance), grows];
        [if_slight, [1.0, 1.0]].map(|[own, more]| {
            let end = (self.end * own + growth.end * more * halvings).clamp(-STEEPEST, STEEPEST);
            end * end + self.variance * own + growth.variance * more * halvings * halvings
        })
    }
}

/// What counts in blocks say of a drift.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Found {
    /// No drift shows.
    Nothing,
    /// There may be one.
    Possible,
    /// There is one, beyond chance.
    Sure(Drift),
}

/// A line and a parabola through what each block has, and the scatter about both.
struct Fitted {
    slope: f64,
    /// The sum of squares of the places along the line.
    along: f64,
    curvature: f64,
    /// The same of the parabola.
    across: f64,
    /// The variance of a block, and whether it is more than that of independent events.
    scatter: f64,
    is_scattered: bool,
}

impl Fitted {
    /// `independent`: the variance of a block if events come independently.
    fn of(blocks: &[f64], independent: f64) -> Fitted {
        let n = BLOCKS as f64;
        let mean = blocks.iter().sum::<f64>() / n;
        // Orthogonal polynomials over the blocks.
        let line = |block: usize| block as f64 - (n - 1.0) / 2.0;
        let bend = |block: usize| line(block).powi(2) - (n * n - 1.0) / 12.0;
        let fit = |form: &dyn Fn(usize) -> f64| {
            let along: f64 = (0..BLOCKS).map(|block| form(block).powi(2)).sum();
            (blocks.iter().enumerate().map(|(block, has)| form(block) * has).sum::<f64>() / along, along)
        };
        let ((slope, along), (curvature, across)) = (fit(&line), fit(&bend));
        let rest = |block: usize| blocks[block] - mean - slope * line(block) - curvature * bend(block);
        let squares = (0..BLOCKS).map(|block| rest(block).powi(2)).sum::<f64>();
        let degrees = n - 3.0;
        // Independent events scatter as is known; others as these did.
        let is_scattered = chi_squared_q(degrees, squares / independent) < SCATTERED;
        let scatter = if is_scattered { squares / degrees } else { independent };
        Fitted { slope, along, curvature, across, scatter, is_scattered }
    }

    /// By how many times this much the line exceeds the mean at the end, and how well that is known: a variance.
    fn to_end(&self, unit: f64) -> (f64, f64) {
        let to_end = BLOCKS as f64 / 2.0 / unit;
        (self.slope * to_end, self.scatter / self.along * to_end * to_end)
    }

    /// Whether the line, and the parabola, are so unlikely to be chance.
    fn shows(&self, unlikely: f64) -> (bool, bool) {
        // The 13 degrees of freedom of a scatter that was measured widen a normal limit by a quarter.
        let widened = if self.is_scattered { 1.27 } else { 1.0 };
        let is_beyond = |size: f64, along: f64| {
            size.abs() >= -widened * normal_quantile(unlikely / 2.0) * (self.scatter / along).sqrt()
        };
        (is_beyond(self.slope, self.along), is_beyond(self.curvature, self.across))
    }
}

/// Fits a line and a parabola to counts in blocks and judges each by the scatter about both.
pub(super) fn drift(counts: &Counts) -> (Found, Line) {
    let (events, counts) = (counts.events, counts.in_blocks(BLOCKS));
    let n = BLOCKS as f64;
    let mean = events / n;
    let fitted = Fitted::of(counts, mean);
    let (end, variance) = fitted.to_end(mean);
    let line_to_end = Line { events, end, variance };
    if fitted.shows(POSSIBLE) == (false, false) {
        return (Found::Nothing, line_to_end);
    }
    let (drifts, bends) = fitted.shows(UNLIKELY);
    if !drifts && !bends {
        return (Found::Possible, line_to_end);
    }
    let quarter = BLOCKS / 4;
    let sum = |from: usize, to: usize| counts[from..to].iter().sum::<f64>();
    let (first, last) = (sum(0, quarter), sum(BLOCKS - quarter, BLOCKS));
    let middle = sum(quarter, BLOCKS - quarter);
    // What the line amounts to at the end, and what the last blocks were: whichever is least, and most.
    let at_end = (mean + fitted.slope * n / 2.0).max(0.0);
    let lately = [1, 2, quarter].map(|blocks| sum(BLOCKS - blocks, BLOCKS) / blocks as f64);
    let least = lately.iter().copied().fold(at_end, f64::min).max(mean / n);
    let most = lately.iter().copied().fold(at_end, f64::max);
    let found = Drift {
        end: last.max(0.5) / first.max(0.5),
        middle: (bends && !drifts).then(|| middle.max(0.5) / (first + last).max(0.5)),
        ahead: ((least / mean).min(1.0), (most / mean).max(1.0)),
    };
    (Found::Sure(found), line_to_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_from_where_stalls_are_more_frequent() {
        let told = |times| often(times, "at the end", "at the beginning");
        assert_eq!(told(0.0), "far rarer at the end than at the beginning");
        assert_eq!(told(0.25), "4.0 times as frequent at the beginning as at the end");
        assert_eq!(told(3.04), "3.0 times as frequent at the end as at the beginning");
    }
}
