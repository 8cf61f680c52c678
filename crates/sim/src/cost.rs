//! How long a piece of work takes: a constant or a distribution.

use crate::random::Xoshiro256;
use crate::time::{Picoseconds, Span};
use serde::Deserialize;

/// The length of a piece of work, drawn for each.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged, expecting = "a length such as \"1.84ms\", { mean, deviation, max }, { min, max } or { choices }")]
pub enum Cost {
    /// Always the same.
    Constant(Span),
    /// Roughly normal, cut at 0 and at `max`.
    Normal(Normal),
    /// Every length from `min` to `max`, equally likely.
    Uniform(Uniform),
    /// One of several, each with a weight.
    Choices(Choices),
}

/// See [`Cost::Normal`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Normal {
    /// The mean before cutting.
    pub mean: Span,
    /// The standard deviation before cutting.
    pub deviation: Span,
    /// Never more than this.
    pub max: Option<Span>,
}

/// See [`Cost::Uniform`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Uniform {
    /// Never less than this.
    pub min: Span,
    /// Never more than this.
    pub max: Span,
}

/// See [`Cost::Choices`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choices {
    /// Pairs of a weight and a cost.
    pub choices: Vec<(u32, Cost)>,
}

impl Default for Cost {
    fn default() -> Self {
        Cost::constant(0)
    }
}

impl Cost {
    /// Always this long.
    pub fn constant(length: Picoseconds) -> Cost {
        Cost::Constant(Span(length))
    }

    /// One length.
    #[inline]
    pub fn draw(&self, random: &mut Xoshiro256) -> Picoseconds {
        match self {
            Cost::Constant(span) => span.0,
            Cost::Normal(normal) => {
                let offset = (i128::from(random.normal()) * i128::from(normal.deviation.0)) >> 32;
                let drawn = (i128::from(normal.mean.0) + offset).max(0) as u64;
                normal.max.map_or(drawn, |max| drawn.min(max.0))
            }
            Cost::Uniform(uniform) => uniform.min.0 + random.below(uniform.max.0.saturating_sub(uniform.min.0) + 1),
            Cost::Choices(choices) => {
                let total: u64 = choices.choices.iter().map(|(weight, _)| u64::from(*weight)).sum();
                let mut at = random.below(total.max(1));
                for (weight, cost) in &choices.choices {
                    if at < u64::from(*weight) {
                        return cost.draw(random);
                    }
                    at -= u64::from(*weight);
                }
                0
            }
        }
    }

    /// So many times as long, plus `more`.
    pub(crate) fn times(&self, factor: u64, more: Picoseconds) -> Cost {
        let longer = |span: Span| Span(span.0.saturating_mul(factor).saturating_add(more));
        match self {
            Cost::Constant(span) => Cost::Constant(longer(*span)),
            Cost::Normal(normal) => Cost::Normal(Normal {
                mean: longer(normal.mean),
                deviation: Span(normal.deviation.0.saturating_mul(factor)),
                max: normal.max.map(longer),
            }),
            Cost::Uniform(uniform) => Cost::Uniform(Uniform { min: longer(uniform.min), max: longer(uniform.max) }),
            Cost::Choices(choices) => Cost::Choices(Choices {
                choices: choices.choices.iter().map(|(weight, cost)| (*weight, cost.times(factor, more))).collect(),
            }),
        }
    }

    /// Whether it never takes any time.
    pub fn is_zero(&self) -> bool {
        matches!(self, Cost::Constant(Span(0)))
    }

    /// The longest that it can be.
    pub fn longest(&self) -> Picoseconds {
        match self {
            Cost::Constant(span) => span.0,
            Cost::Normal(normal) => {
                let six = normal.mean.0.saturating_add(normal.deviation.0.saturating_mul(6));
                normal.max.map_or(six, |max| six.min(max.0))
            }
            Cost::Uniform(uniform) => uniform.max.0,
            Cost::Choices(choices) => choices.choices.iter().map(|(_, cost)| cost.longest()).max().unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_draw_exceeds_the_longest(mean in 0..1_000_000u64, deviation in 0..500_000u64, max in 0..1_500_000u64, seed: u64) {
            let normal = Cost::Normal(Normal { mean: Span(mean), deviation: Span(deviation), max: Some(Span(max)) });
            let uniform = Cost::Uniform(Uniform { min: Span(mean.min(max)), max: Span(max) });
            let mut random = Xoshiro256::new(seed, 0);
            for cost in [&normal, &uniform] {
                for _ in 0..50 {
                    prop_assert!(cost.draw(&mut random) <= cost.longest());
                }
            }
        }
    }
}
