//! What ratios amount to, in a word.

use crate::ratio::Ratio;

/// How B compares with A.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// B is earlier.
    Better,
    /// B is later.
    Worse,
    /// These data show no difference worth the name.
    NoDifference,
}

impl Outcome {
    /// The name used in JSON and tables.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Better => "better",
            Outcome::Worse => "worse",
            Outcome::NoDifference => "no difference",
        }
    }
}

/// What several outcomes say together: of wakeups and what was counted, or of all kinds of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overall {
    /// Some are better, none worse.
    Better,
    /// Some are worse, none better.
    Worse,
    /// Some are better, others worse.
    Mixed,
    /// None shows a difference worth the name.
    NoDifference,
}

impl Overall {
    /// What these outcomes say together.
    pub fn of(outcomes: impl IntoIterator<Item = Outcome>) -> Overall {
        outcomes.into_iter().fold(Overall::NoDifference, |overall, outcome| match (overall, outcome) {
            (overall, Outcome::NoDifference) => overall,
            (Overall::NoDifference | Overall::Better, Outcome::Better) => Overall::Better,
            (Overall::NoDifference | Overall::Worse, Outcome::Worse) => Overall::Worse,
            (_, Outcome::Better | Outcome::Worse) => Overall::Mixed,
        })
    }

    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Overall::Better => "better",
            Overall::Worse => "worse",
            Overall::Mixed => "mixed",
            Overall::NoDifference => "no difference",
        }
    }
}

/// An outcome and the ratio that decided it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// The outcome.
    pub outcome: Outcome,
    /// Which of the ratios decided; `None` if there is no difference.
    pub by: Option<usize>,
}

impl Ratio {
    /// What this quantile alone says: a difference only if the whole interval lies beyond what is worth the name.
    pub fn outcome(&self) -> Outcome {
        if self.low > self.same_within {
            Outcome::Worse
        } else if self.high < 1.0 / self.same_within {
            Outcome::Better
        } else {
            Outcome::NoDifference
        }
    }
}

/// What quantiles say together, from the middle outwards. The furthest out that shows a difference decides, because
/// late wakeups are what runs a buffer dry. One still further out may contradict it without being able to show a
/// difference of its own: it points the other way, and its interval leaves out the deciding effect, so the effect does
/// not reach that far. Then nothing can be said about the whole. One whose interval holds both the deciding effect and
/// its opposite knows nothing about either and has no say.
///
/// The deciding effect is taken at its estimate, not at the nearest end of its interval: so more is blocked than is
/// proven to differ, never less. Blocking only takes verdicts away; the intervals bound how many are wrong when a
/// machine is compared with itself.
pub(crate) fn together(ratios: &[Ratio]) -> Verdict {
    let none = Verdict { outcome: Outcome::NoDifference, by: None };
    let Some(by) = ratios.iter().rposition(|ratio| ratio.outcome() != Outcome::NoDifference) else { return none };
    let (outcome, effect) = (ratios[by].outcome(), ratios[by].estimate);
    let contradicts = |ratio: &Ratio| match outcome {
        Outcome::Worse => ratio.estimate < 1.0 / ratio.same_within && ratio.high < effect,
        _ => ratio.estimate > ratio.same_within && ratio.low > effect,
    };
    if ratios[by + 1..].iter().any(contradicts) { none } else { Verdict { outcome, by: Some(by) } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{FIGURES, Figure};

    fn ratio(index: usize, low: f64, estimate: f64, high: f64) -> Ratio {
        ratio_of(FIGURES[index], low, estimate, high)
    }

    fn ratio_of(figure: Figure, low: f64, estimate: f64, high: f64) -> Ratio {
        Ratio { figure, low, estimate, high, same_within: 1.05, p: 1.0, findable: 2.0 }
    }

    #[test]
    fn outcomes_that_point_both_ways_are_mixed_in_any_order() {
        let (better, worse, none) = (Outcome::Better, Outcome::Worse, Outcome::NoDifference);
        for (outcomes, expected) in [
            (vec![], Overall::NoDifference),
            (vec![none, none], Overall::NoDifference),
            (vec![none, better, better], Overall::Better),
            (vec![worse, none], Overall::Worse),
            (vec![better, none, worse], Overall::Mixed),
            (vec![worse, better, better], Overall::Mixed),
        ] {
            assert_eq!(Overall::of(outcomes.iter().copied()), expected, "{outcomes:?}");
        }
    }

    #[test]
    fn the_furthest_out_decides_unless_further_out_contradicts_it() {
        let better_middle = ratio(0, 0.4, 0.5, 0.6);
        let worse_tail = ratio(2, 2.0, 3.0, 4.0);
        let unclear_and_worse = ratio(3, 0.55, 1.8, 6.0);
        let unclear = ratio(3, 0.5, 1.0, 2.0);
        // As measured beside a drill: the quantile on a cliff could show nothing.
        let (worse, knows_nothing) = (ratio(1, 1.6, 3.08, 5.93), ratio(2, 0.14, 0.89, 5.64));
        let worse_but_not_so_much = ratio(2, 0.3, 0.89, 2.6);
        let cases = [
            (vec![better_middle, worse_tail], Outcome::Worse, Some(1)),
            (vec![better_middle, unclear_and_worse], Outcome::NoDifference, None),
            (vec![better_middle, unclear], Outcome::Better, Some(0)),
            (vec![unclear], Outcome::NoDifference, None),
            (vec![worse, knows_nothing], Outcome::Worse, Some(0)),
            (vec![worse, worse_but_not_so_much], Outcome::NoDifference, None),
            (vec![], Outcome::NoDifference, None),
            // A difference that shows, but is too small to be worth the name.
            (vec![ratio(0, 1.01, 1.02, 1.03)], Outcome::NoDifference, None),
        ];
        for (ratios, outcome, by) in cases {
            assert_eq!(together(&ratios), Verdict { outcome, by }, "{ratios:?}");
            // Swapping the sides swaps the verdict.
            let turned = |one: &Ratio| ratio_of(one.figure, one.high.recip(), one.estimate.recip(), one.low.recip());
            let turned: Vec<Ratio> = ratios.iter().map(turned).collect();
            let opposite = match outcome {
                Outcome::Worse => Outcome::Better,
                Outcome::Better => Outcome::Worse,
                Outcome::NoDifference => Outcome::NoDifference,
            };
            assert_eq!(together(&turned), Verdict { outcome: opposite, by }, "{turned:?}");
        }
    }
}
