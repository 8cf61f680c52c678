//! Whether the stretches of a loop that follow stops grow with the periods that began in them. What the kernel executes for
//! the return from a stop adds to each of them, and hides how many cycles one holds; but it is the same however long the stop.

/// Numbers of periods below this one are told apart.
pub(super) const MAX_PERIODS: usize = 32;
/// Fewer stretches show nothing.
const ENOUGH: f64 = 12.0;
/// With each period more they take at least the first number of cycles more, by the second number of standard errors: all of
/// them, and the longer half, which does not grow where a loop makes up for a few periods only.
const ALL: (f64, f64) = (0.5, 3.0);
const LONGER_HALF: (f64, f64) = (0.3, 2.5);

/// The stretches of one thread that follow stops.
#[derive(Debug, Default)]
pub(super) struct Growth {
    /// By how many periods began in them.
    by_periods: [Sums; MAX_PERIODS],
}

/// Stretches in which as many periods began.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    stretches: f64,
    /// How many times as much as a usual cycle they executed, and the squares of that.
    cycles: f64,
    squares: f64,
}

impl Growth {
    /// Takes a stretch in which this many periods began, and how many times as much as a usual cycle it executed. Stretches with
    /// [`MAX_PERIODS`] or more are left out.
    pub(super) fn take(&mut self, periods: u64, cycles: f64) {
        let position = usize::try_from(periods).unwrap_or(MAX_PERIODS);
        if let Some(sums) = self.by_periods.get_mut(position) {
            sums.stretches += 1.0;
            sums.cycles += cycles;
            sums.squares += cycles * cycles;
        }
    }

    /// Whether they show that each period more is a cycle more, which may cost less than usual, however many there are.
    pub(super) fn is_by_cycles(&self) -> bool {
        let all: f64 = self.by_periods.iter().map(|sums| sums.stretches).sum();
        if all < ENOUGH {
            return false;
        }
        let mut seen = 0.0;
        let is_middle = |sums: &Sums| {
            seen += sums.stretches;
            seen * 2.0 > all
        };
        let middle = self.by_periods.iter().position(is_middle).unwrap_or(0);
        let is_steep = |stretches: &[Sums], (least, errors): (f64, f64)| {
            slope(stretches).is_some_and(|(slope, error)| slope - errors * error >= least)
        };
        is_steep(&self.by_periods[..], ALL) && is_steep(&self.by_periods[middle..], LONGER_HALF)
    }
}

/// How many cycles more stretches take with each period more, by least squares, and the standard error; `None` where as many
/// periods began in all of them.
fn slope(by_periods: &[Sums]) -> Option<(f64, f64)> {
    let numbered = || (0_u32..).map(f64::from).zip(by_periods);
    let sum = |of: &dyn Fn(f64, &Sums) -> f64| numbered().map(|(periods, sums)| of(periods, sums)).sum::<f64>();
    let stretches = sum(&|_, sums| sums.stretches);
    let periods = sum(&|periods, sums| periods * sums.stretches) / stretches;
    let cycles = sum(&|_, sums| sums.cycles) / stretches;
    let spread = sum(&|own, sums| sums.stretches * (own - periods).powi(2));
    if stretches < 3.0 || spread <= 0.0 {
        return None;
    }
    let together = sum(&|own, sums| (own - periods) * (sums.cycles - sums.stretches * cycles));
    let slope = together / spread;
    let total = sum(&|_, sums| sums.squares) - stretches * cycles * cycles;
    let rest = (total - slope * together).max(0.0);
    Some((slope, (rest / (stretches - 2.0) / spread).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stretches show in which 1 to 9 periods began, and that hold so many cycles, each of so much of a usual one, besides
    /// what returns from stops execute.
    fn is_by_cycles(number: u64, cost: f64, cycles: impl Fn(u64) -> u64) -> bool {
        let mut growth = Growth::default();
        for stretch in 0..number {
            let periods = 1 + stretch * 5 % 9;
            let returns = 0.4 + 0.1 * f64::from(u32::try_from(stretch * 7 % 11).unwrap());
            growth.take(periods, cost * f64::from(u32::try_from(cycles(periods)).unwrap()) + returns);
        }
        growth.is_by_cycles()
    }

    #[test]
    fn stretches_grow_by_cycles_only_where_a_loop_makes_up_for_all_periods() {
        for (what, cycles) in [("all", u64::MAX), ("none", 0), ("one", 1), ("two", 2), ("three", 3), ("five", 5)] {
            let found = is_by_cycles(25, 1.0, |periods| periods.min(cycles) + 1);
            assert_eq!(found, what == "all", "{what}");
        }
        // Cycles that follow at once cost less, but not next to nothing.
        assert!(is_by_cycles(25, 0.75, |periods| periods + 1));
        assert!(!is_by_cycles(25, 0.2, |periods| periods + 1));
        assert!(!is_by_cycles(11, 1.0, |periods| periods + 1), "too few");
        // Nor do any show it in which as many periods began, or more than are told apart.
        let mut growth = Growth::default();
        (0..40).for_each(|_| growth.take(4, 5.0));
        (0..40).for_each(|_| growth.take(400, 401.0));
        assert!(!growth.is_by_cycles());
    }
}
