//! What the programs cost: measured until enough of what is usual has been seen, then taken to go on like that.
//! Nothing in user space counts later runs: the programs run at each switch, wakeup and system call of the machine, and write
//! only what concerns those who are followed. So records do not tell how many runs there were, and time has to.

/// So much of what is usual is measured, ns.
const USUAL_NS: u64 = 3_000_000_000;

/// What the programs have cost so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TerminalCost {
    /// How often they ran.
    pub runs: u64,
    /// How long in all, ns.
    pub ns: u64,
}

/// What was known at some time.
#[derive(Debug, Clone, Copy)]
struct Known {
    at_ns: u64,
    cost: TerminalCost,
}

/// What has been measured.
#[derive(Debug, Default)]
pub(super) struct Measured {
    /// When what is usual began.
    usual: Option<Known>,
    /// When measuring was given up.
    given_up: Option<Known>,
}

impl Measured {
    /// What is usual begins now, if it has not begun yet.
    pub(super) fn begin_usual(&mut self, at_ns: u64, cost: TerminalCost) {
        self.usual.get_or_insert(Known { at_ns, cost });
    }

    /// Whether enough of it has been measured.
    pub(super) fn is_enough(&self, now_ns: u64) -> bool {
        self.usual.is_some_and(|usual| now_ns >= usual.at_ns.saturating_add(USUAL_NS))
    }

    /// Nothing is measured from now on.
    pub(super) fn give_up(&mut self, at_ns: u64, cost: TerminalCost) {
        self.given_up = Some(Known { at_ns, cost });
    }

    /// What the programs will have cost by then, if what is usual has gone on; `None`: it is still measured.
    pub(super) fn cost(&self, until_ns: u64) -> Option<TerminalCost> {
        let (usual, given_up) = self.usual.zip(self.given_up)?;
        let measured_ns = given_up.at_ns.saturating_sub(usual.at_ns).max(1);
        let more_ns = until_ns.saturating_sub(given_up.at_ns);
        let go_on = |before: u64, now: u64| {
            let more = u128::from(now.saturating_sub(before)) * u128::from(more_ns) / u128::from(measured_ns);
            now.saturating_add(u64::try_from(more).unwrap_or(u64::MAX))
        };
        Some(TerminalCost {
            runs: go_on(usual.cost.runs, given_up.cost.runs),
            ns: go_on(usual.cost.ns, given_up.cost.ns),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn cost(runs: u64) -> TerminalCost {
        TerminalCost { runs, ns: runs * 150 }
    }

    #[test]
    fn the_rest_costs_what_was_usual_and_the_start_is_not() {
        let mut measured = Measured::default();
        assert!(!measured.is_enough(100 * SECOND), "nothing is usual yet");
        measured.begin_usual(10 * SECOND, cost(90_000));
        measured.begin_usual(12 * SECOND, cost(95_000));
        assert_eq!([12, 13].map(|at| measured.is_enough(at * SECOND)), [false, true]);
        assert_eq!(measured.cost(20 * SECOND), None, "it is measured");
        measured.give_up(14 * SECOND, cost(98_000));
        let told = [14, 16, 24].map(|at| measured.cost(at * SECOND));
        // 8,000 in the four seconds that were usual.
        assert_eq!(told, [98_000, 102_000, 118_000].map(|runs| Some(cost(runs))));
    }

    #[test]
    fn no_time_and_no_end_of_it_are_costs_too() {
        let mut measured = Measured::default();
        measured.begin_usual(5, cost(1));
        measured.give_up(5, cost(2));
        assert_eq!(measured.cost(5), Some(cost(2)));
        measured.give_up(6, cost(u64::MAX / 150));
        assert_eq!(measured.cost(u64::MAX).map(|cost| cost.runs), Some(u64::MAX));
    }
}
