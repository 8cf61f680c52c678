//! Whether a loop makes up for the periods that began during a long cycle: by how much it executed in it.

/// A time in which a thread did not sleep, as far as was seen, and that begins with a cycle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    /// How late the thread was when it began to run, ns.
    pub(super) late_ns: u64,
    /// How long it executed until it slept, ns.
    pub(super) executed_ns: u64,
    /// From when the cycle was due until the thread slept, ns.
    pub(super) length_ns: u64,
    /// How many periods began before the one for which it was woken next.
    pub(super) missed: u64,
}

/// What a stretch tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judgement {
    /// One cycle that kept its period.
    Usual,
    /// It holds the cycles of the periods that began meanwhile.
    MadeUp,
    /// It holds one cycle, although periods began meanwhile.
    Skipped,
    /// It holds several cycles, but clearly fewer than periods began meanwhile.
    Partly,
    /// It is long by the work of its own cycle, whatever it may hold besides.
    OwnWork,
    /// It looks like [`Judgement::MadeUp`], but may as well be several cycles that kept their periods, between which a
    /// sleep was not seen.
    Doubtful,
    /// Periods began meanwhile, and how much it executed does not tell what became of them.
    Unclear,
    /// Nothing of this.
    Nothing,
}

/// This many cycles show how long one usually executes.
const ENOUGH: u64 = 10;
/// This many show how little one may execute.
const MANY: u64 = 30;

/// What a thread's cycles usually execute, and how long they usually are.
#[derive(Debug, Default)]
pub(super) struct Usual {
    cycles: u64,
    executed_ns: u64,
    length_ns: u64,
    /// The least that one of them executed, ns.
    least_ns: u64,
}

impl Usual {
    /// Takes a cycle that kept its period.
    pub(super) fn take(&mut self, executed_ns: u64, length_ns: u64) {
        self.least_ns = if self.cycles == 0 { executed_ns } else { self.least_ns.min(executed_ns) };
        self.cycles += 1;
        self.executed_ns = self.executed_ns.saturating_add(executed_ns);
        self.length_ns = self.length_ns.saturating_add(length_ns);
    }

    /// Judges a stretch by the cycles before it.
    pub(super) fn judge(&self, stretch: &Stretch, period_ns: u64) -> Judgement {
        let Stretch { executed_ns, length_ns, missed, .. } = *stretch;
        if missed == 0 && length_ns <= period_ns {
            return Judgement::Usual;
        }
        if missed == 0 || length_ns <= period_ns || self.cycles < ENOUGH {
            return Judgement::Nothing;
        }
        let usual_ns = self.usual_ns();
        // Where a cycle is long by its own work, how much it executed tells nothing of others.
        let delay_ns = length_ns.saturating_sub(executed_ns);
        let is_more = executed_ns.saturating_mul(2) >= usual_ns.saturating_mul(3);
        if delay_ns.saturating_add(usual_ns) <= period_ns {
            return if is_more { Judgement::OwnWork } else { Judgement::Nothing };
        }
        // Between one and a half and three times as much for one period more, and so on; of many at least two thirds.
        let two_thirds =
            executed_ns.saturating_mul(3) >= usual_ns.saturating_mul(missed.saturating_add(1)).saturating_mul(2);
        let half_of_the_others = executed_ns.saturating_mul(2) >= usual_ns.saturating_mul(missed.saturating_add(2));
        let at_least = two_thirds && half_of_the_others;
        let at_most = executed_ns <= usual_ns.saturating_mul(missed.saturating_mul(2).saturating_add(1));
        // Usual cycles, even somewhat long ones, last until so many periods have begun only after such a delay.
        let cycles_ns = usual_ns.saturating_mul(missed.saturating_add(1)).saturating_mul(5) / 4;
        let is_explained = delay_ns.saturating_add(cycles_ns) >= missed.saturating_mul(period_ns);
        if at_least && !(at_most && is_explained) {
            Judgement::OwnWork
        } else if at_least {
            if self.may_have_slept(stretch, period_ns) { Judgement::Doubtful } else { Judgement::MadeUp }
        } else if is_more {
            Judgement::Partly
        } else if executed_ns >= self.shortest_ns() && executed_ns.saturating_mul(4) <= usual_ns.saturating_mul(5) {
            Judgement::Skipped
        } else {
            Judgement::Unclear
        }
    }

    /// Whether a cycle that executed this long, ns, is done: hardly any executes less.
    pub(super) fn is_whole(&self, executed_ns: u64) -> bool {
        let usual_ns = self.usual_ns();
        self.cycles >= ENOUGH && executed_ns.saturating_mul(4) >= usual_ns.saturating_mul(3)
    }

    /// Whether a cycle that executed this long, ns, is not done: it is clearly less than any of many executed.
    pub(super) fn is_unfinished(&self, executed_ns: u64) -> bool {
        self.cycles >= MANY && executed_ns.saturating_mul(4) < self.least_ns.saturating_mul(3)
    }

    /// Whether a stretch that executed this long, ns, may hold more than one cycle: the second takes half as long as others at least.
    pub(super) fn may_be_several(&self, executed_ns: u64) -> bool {
        self.cycles < ENOUGH || executed_ns >= self.usual_ns().saturating_add(self.shortest_ns())
    }

    /// Whether it is known what cycles usually execute.
    pub(super) fn is_known(&self) -> bool {
        self.cycles >= ENOUGH
    }

    /// Whether a cycle of this length, ns, is about as long as others are.
    pub(super) fn is_as_long(&self, length_ns: u64) -> bool {
        let usual_ns = self.length_ns / self.cycles.max(1);
        length_ns.abs_diff(usual_ns).saturating_mul(16) <= usual_ns
    }

    /// Less than this, ns, is no usual cycle, but may be several cheap ones.
    pub(super) fn shortest_ns(&self) -> u64 {
        self.usual_ns().div_ceil(2)
    }

    /// How many times as long as a usual cycle executes this is, ns, after a stop. `None` where it is no longer than one: then
    /// the return from the stop, which always takes some, was not seen with it.
    pub(super) fn after_stop(&self, executed_ns: u64) -> Option<f64> {
        let usual_ns = self.usual_ns();
        let is_more = executed_ns.saturating_mul(32) > usual_ns.saturating_mul(33);
        is_more.then(|| executed_ns as f64 / usual_ns as f64)
    }

    /// How many usual cycles execute this long, to the nearest.
    pub(super) fn cycles_in(&self, executed_ns: u64) -> u64 {
        let usual_ns = self.usual_ns();
        executed_ns.saturating_add(usual_ns / 2) / usual_ns
    }

    /// How many cycles executed this long at most, ns: they may have taken a little less than usual. 0 if it is not known how
    /// long one executes.
    pub(super) fn cycles_at_most(&self, executed_ns: u64) -> u64 {
        if self.cycles < ENOUGH {
            return 0;
        }
        let usual_ns = self.usual_ns();
        (executed_ns.saturating_add(usual_ns - usual_ns / 10) / usual_ns).max(1)
    }

    /// How many of the periods began only while it worked off those that had begun before: between the end of the first
    /// cycle and the beginning of the last one, if all that kept the thread from executing came first.
    pub(super) fn due_meanwhile(&self, stretch: &Stretch, period_ns: u64) -> u64 {
        let usual_ns = self.usual_ns();
        let delay_ns = stretch.length_ns.saturating_sub(stretch.executed_ns);
        let first_ns = delay_ns.saturating_add(usual_ns);
        let last_ns = stretch.length_ns.saturating_sub(usual_ns).max(first_ns);
        last_ns / period_ns - first_ns / period_ns
    }

    fn usual_ns(&self) -> u64 {
        (self.executed_ns / self.cycles.max(1)).max(1)
    }

    /// Whether each of the cycles may have kept its period and slept until the next: the first would have been done by
    /// then, and the last took about as long from when it was due as others do.
    fn may_have_slept(&self, stretch: &Stretch, period_ns: u64) -> bool {
        let each_ns = stretch.executed_ns / stretch.missed.saturating_add(1);
        let last_ns = stretch.length_ns.saturating_sub(stretch.missed.saturating_mul(period_ns));
        let usual_ns = self.length_ns / self.cycles.max(1);
        stretch.late_ns.saturating_add(each_ns) <= period_ns
            && last_ns.saturating_mul(5) >= each_ns.saturating_mul(4)
            && last_ns <= usual_ns.saturating_mul(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn usual(executed_ns: u64) -> Usual {
        let mut usual = Usual::default();
        (0..ENOUGH).for_each(|_| usual.take(executed_ns, executed_ns + 30_000));
        usual
    }

    #[test]
    fn how_much_was_executed_tells_what_became_of_the_periods() {
        let stretch = |late_us: u64, executed_us: u64, length_us: u64, missed| Stretch {
            late_ns: late_us * 1_000,
            executed_ns: executed_us * 1_000,
            length_ns: length_us * 1_000,
            missed,
        };
        for (what, stretch, expected) in [
            ("in time", stretch(30, 210, 240, 0), Judgement::Usual),
            ("late, and woken again at once", stretch(900, 210, 1_110, 0), Judgement::Nothing),
            ("not woken for the next, but done in time", stretch(30, 210, 240, 1), Judgement::Nothing),
            ("4.9 ms late, and seven cycles", stretch(4_900, 1_520, 6_430, 6), Judgement::MadeUp),
            ("4.9 ms late, and one cycle", stretch(4_900, 210, 5_110, 5), Judgement::Skipped),
            ("0.9 ms late, and two cycles", stretch(900, 420, 1_320, 1), Judgement::MadeUp),
            ("preempted for 2.5 ms, and one cycle", stretch(30, 210, 2_740, 2), Judgement::Skipped),
            ("long by its own work", stretch(30, 1_400, 1_430, 1), Judgement::OwnWork),
            ("4.9 ms late, and four of seven cycles", stretch(4_900, 840, 6_430, 6), Judgement::Partly),
            ("11.9 ms late, and four cycles", stretch(11_900, 840, 12_740, 12), Judgement::Partly),
            ("two cycles, or one sleep that was not seen", stretch(30, 420, 1_320, 1), Judgement::Doubtful),
            ("two cycles, the last of which ended late", stretch(30, 420, 1_600, 1), Judgement::MadeUp),
            ("4.9 ms late, and less than one cycle", stretch(4_900, 60, 4_960, 4), Judgement::Unclear),
            ("neither one cycle nor two", stretch(900, 290, 1_190, 1), Judgement::Unclear),
            ("more than its cycles need", stretch(4_900, 4_000, 8_900, 8), Judgement::OwnWork),
            ("long by its own work, and 0.8 ms late", stretch(800, 2_600, 3_400, 3), Judgement::OwnWork),
            ("six cycles, each somewhat long", stretch(1_000, 1_500, 5_010, 5), Judgement::MadeUp),
            ("more than six cycles after so short a delay", stretch(1_000, 2_300, 5_010, 5), Judgement::OwnWork),
        ] {
            assert_eq!(usual(210_000).judge(&stretch, MS), expected, "{what}");
            assert!(
                matches!(Usual::default().judge(&stretch, MS), Judgement::Usual | Judgement::Nothing),
                "{what}, at the beginning"
            );
        }
        let unfinished = |cycles: u64, executed_ns: u64| {
            let mut usual = Usual::default();
            (0..cycles).for_each(|number| usual.take(210_000 + number * 1_000, 300_000));
            usual.is_unfinished(executed_ns)
        };
        assert_eq!(
            [(30, 150_000), (30, 160_000), (29, 150_000)].map(|(cycles, ns)| unfinished(cycles, ns)),
            [true, false, false]
        );
        assert_eq!([700_000, 840_000, 950_000].map(|executed_ns| usual(210_000).cycles_in(executed_ns)), [3, 4, 5]);
        let at_most = [100_000, 210_000, 840_000, 855_000, 900_000].map(|ns| usual(210_000).cycles_at_most(ns));
        assert_eq!((at_most, Usual::default().cycles_at_most(900_000)), ([1, 1, 4, 4, 5], 0));
        // A period may begin between the end of the first of four cycles and the beginning of the last.
        let meanwhile = |late_us, length_us| usual(210_000).due_meanwhile(&stretch(late_us, 840, length_us, 9), MS);
        assert_eq!((meanwhile(4_100, 4_940), meanwhile(4_900, 5_740), meanwhile(4_700, 5_540)), (0, 0, 1));
        // Nothing is certain of cycles that take more than half of their period either.
        let two = stretch(30, 1_200, 1_730, 1);
        assert_eq!(usual(600_000).judge(&two, MS), Judgement::Doubtful);
    }
}
