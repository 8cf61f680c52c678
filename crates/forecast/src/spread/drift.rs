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

impl Line {
    /// The mean square of the share by which the rate at the end differs from its mean, if no drift is certain and
    /// drifts are slight.
    pub(super) fn if_slight(&self) -> f64 {
        let told = SLIGHT * SLIGHT / (SLIGHT * SLIGHT + self.variance);
        (self.end * told).powi(2) + self.variance * told
    }

    /// The same for a drift of any size.
    pub(super) fn of_any_size(&self) -> f64 {
        self.end * self.end + self.variance
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

/// Fits a line and a parabola to counts in blocks and judges each by the scatter about both.
pub(super) fn drift(counts: &Counts) -> (Found, Line) {
    let (events, counts) = (counts.events, counts.in_blocks(BLOCKS));
    let n = BLOCKS as f64;
    let mean = events / n;
    // Orthogonal polynomials over the blocks.
    let line = |block: usize| block as f64 - (n - 1.0) / 2.0;
    let bend = |block: usize| line(block).powi(2) - (n * n - 1.0) / 12.0;
    let fit = |form: &dyn Fn(usize) -> f64| {
        let along: f64 = (0..BLOCKS).map(|block| form(block).powi(2)).sum();
        (counts.iter().enumerate().map(|(block, count)| form(block) * count).sum::<f64>() / along, along)
    };
    let ((slope, along), (curvature, across)) = (fit(&line), fit(&bend));
    let rest = |block: usize| counts[block] - mean - slope * line(block) - curvature * bend(block);
    let squares = (0..BLOCKS).map(|block| rest(block).powi(2)).sum::<f64>();
    let degrees = n - 3.0;
    // Independent events scatter as is known; others as these did, and their 13 degrees of freedom widen a normal limit
    // by a quarter.
    let is_scattered = chi_squared_q(degrees, squares / mean) < SCATTERED;
    let (scatter, widened) = if is_scattered { (squares / degrees, 1.27) } else { (mean, 1.0) };
    let to_end = n / 2.0 / mean;
    let line_to_end = Line { events, end: slope * to_end, variance: scatter / along * to_end * to_end };
    let shows = |unlikely: f64, size: f64, along: f64| {
        size.abs() >= -widened * normal_quantile(unlikely / 2.0) * (scatter / along).sqrt()
    };
    let of = |unlikely: f64| (shows(unlikely, slope, along), shows(unlikely, curvature, across));
    if of(POSSIBLE) == (false, false) {
        return (Found::Nothing, line_to_end);
    }
    let (drifts, bends) = of(UNLIKELY);
    if !drifts && !bends {
        return (Found::Possible, line_to_end);
    }
    let quarter = BLOCKS / 4;
    let sum = |from: usize, to: usize| counts[from..to].iter().sum::<f64>();
    let (first, last) = (sum(0, quarter), sum(BLOCKS - quarter, BLOCKS));
    let middle = sum(quarter, BLOCKS - quarter);
    // What the line amounts to at the end, and what the last blocks were: whichever is least, and most.
    let at_end = (mean + slope * n / 2.0).max(0.0);
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
