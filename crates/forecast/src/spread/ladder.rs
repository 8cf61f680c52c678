//! A variance, relative to the square of the rate, by the number of events that it belongs to.

/// (how many events, the variance), fewest events first.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Ladder(Vec<(f64, f64)>);

impl Ladder {
    /// From what was measured at each level, fewest events first: never less among rare events than among frequent
    /// ones, and never so much less among more events that these would vary less than fewer do.
    pub(super) fn of(measured: Vec<(f64, f64)>) -> Ladder {
        let mut steps = measured;
        // A rate that varies among frequent stalls also varies among rare ones; and rare storms are storms among all.
        for index in (0..steps.len().saturating_sub(1)).rev() {
            steps[index].1 = steps[index].1.max(steps[index + 1].1);
        }
        for index in 1..steps.len() {
            let before = steps[index - 1];
            steps[index].1 = steps[index].1.max(before.1 * before.0 / steps[index].0).min(before.1);
        }
        Ladder(steps)
    }

    /// The variance at the level of the fewest.
    pub(super) fn rarest(&self) -> Option<f64> {
        self.0.first().map(|step| step.1)
    }

    /// How many times as large it is at half as many events, from the third level to the first; 1 if there are not
    /// three.
    pub(super) fn growth(&self) -> f64 {
        let (Some(first), Some(third)) = (self.0.first(), self.0.get(2)) else { return 1.0 };
        if third.1 <= 0.0 {
            return 1.0;
        }
        let doublings = (third.0 / first.0).log2().max(1.0);
        (first.1 / third.1).powf(1.0 / doublings)
    }

    /// The variance for this many events; for fewer than were measured it grows by this with each halving of their
    /// number.
    pub(super) fn at(&self, count: f64, growth: f64) -> f64 {
        let Some((&first, &last)) = self.0.first().zip(self.0.last()) else { return 0.0 };
        if count <= first.0 {
            return first.1 * growth.powf((first.0 / count.max(1.0)).log2());
        }
        if count >= last.0 {
            return last.1;
        }
        let above = self.0.partition_point(|step| step.0 <= count);
        let (low, high) = (self.0[above - 1], self.0[above]);
        if low.1 <= 0.0 || high.1 <= 0.0 {
            return high.1.max(low.1 * low.0 / count);
        }
        let share = (count / low.0).ln() / (high.0 / low.0).ln();
        (low.1.ln() + share * (high.1 / low.1).ln()).exp()
    }
}
