//! What is promised of every cell, and which counts break it.

use punctual_forecast::ln_gamma;

/// A share of runs that is promised.
#[derive(Clone, Copy)]
pub(crate) enum Promise {
    AtLeast(f64),
    AtMost(f64),
}

/// A count that chance makes of a promise that is kept less often than this breaks it.
const CHANCE: f64 = 0.01;

impl Promise {
    /// Whether so many of so many runs are too few, or too many, for chance.
    pub(crate) fn is_broken(self, count: u32, of: u32) -> bool {
        if of == 0 {
            return false;
        }
        let chance = match self {
            Promise::AtLeast(share) => up_to(count, of, share),
            // As many or more: as many others or fewer.
            Promise::AtMost(share) => up_to(of - count.min(of), of, 1.0 - share),
        };
        chance < CHANCE
    }
}

/// The probability of up to this many of so many, of which each comes with the same probability, within (0, 1).
fn up_to(count: u32, of: u32, share: f64) -> f64 {
    let (all, yes, no) = (f64::from(of), share.ln(), (1.0 - share).ln());
    let exactly = |number: u32| {
        let (some, rest) = (f64::from(number), f64::from(of - number));
        (ln_gamma(all + 1.0) - ln_gamma(some + 1.0) - ln_gamma(rest + 1.0) + some * yes + rest * no).exp()
    };
    (0..=count.min(of)).map(exactly).sum()
}
