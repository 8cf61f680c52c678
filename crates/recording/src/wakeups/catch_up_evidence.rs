//! What the long stretches of a loop show together: whether it makes up for the periods that began meanwhile.

use super::after_overrun::CLEARLY;
use super::growth::{Growth, MAX_PERIODS};
use super::spun::Spun;

/// This many stretches show that a loop makes up for some periods and not for others.
const ENOUGH: u64 = 3;

/// Counts of stretches, by a number of periods; the last one is of that number and of all that are larger.
type ByPeriods = [u32; MAX_PERIODS];

/// The stretches of one thread that tell something.
#[derive(Debug, Default)]
pub(super) struct CatchUpEvidence {
    /// Those with the cycles of all periods that began meanwhile, by how many these were.
    whole: ByPeriods,
    /// Those with a single cycle, likewise.
    skipped: ByPeriods,
    /// Those with several cycles, but fewer than periods began, by how many they had besides the first.
    partly: ByPeriods,
    /// The same stretches, by how many periods began meanwhile.
    cut: ByPeriods,
    /// The same stretches, by how many cycles they had besides the first, without those whose period began only while it made up
    /// for others.
    at_once: ByPeriods,
    /// How many of these had clearly fewer: less than half.
    clear: u64,
    /// Those that were long by their own work, by how many periods began meanwhile.
    own_work: ByPeriods,
    /// Those of which nothing tells what became of these periods, likewise.
    unclear: ByPeriods,
    /// How many of these may be a single cycle or several: those that began with the return from a stop, and those that
    /// executed less than one cycle usually does.
    may_be_one: u64,
    /// Those of them that began with the return from a stop, likewise.
    stopped: ByPeriods,
    /// All stretches that did. Most threads have none.
    growth: Option<Box<Growth>>,
    /// How many periods began in those of own work and in unclear ones, by the same numbers.
    untold_periods: [u64; MAX_PERIODS],
    /// Overruns that are certain, whatever they tell, by how many periods began in them.
    certain: ByPeriods,
    /// Those that were long by their own work, and may be cycles in time.
    pub(super) spun: Spun,
}

/// What stretches show together, in numbers of stretches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Shown {
    /// All periods were made up for.
    pub(super) made_up: u64,
    /// None was.
    pub(super) skipped: u64,
    /// Some were, and nothing says by which rule.
    pub(super) partly: u64,
    /// Up to `limit` periods were made up for, and no more.
    pub(super) limited: u64,
    /// See `limited`; 0 where there is no limit.
    pub(super) limit: u64,
}

impl CatchUpEvidence {
    /// Takes a stretch with the cycles of all periods that began meanwhile.
    pub(super) fn take_whole(&mut self, missed: u64) {
        count(&mut self.whole, missed);
    }

    /// Takes a stretch with a single cycle.
    pub(super) fn take_skipped(&mut self, missed: u64) {
        count(&mut self.skipped, missed);
    }

    /// Takes a stretch with `cycles` cycles, fewer than there were periods, of which `meanwhile` began only while it made up for
    /// others.
    pub(super) fn take_partly(&mut self, missed: u64, cycles: u64, meanwhile: u64) {
        let made_up = cycles.saturating_sub(1);
        count(&mut self.partly, made_up);
        count(&mut self.cut, missed);
        count(&mut self.at_once, made_up.saturating_sub(meanwhile));
        self.clear += u64::from(cycles.saturating_mul(2) < missed.saturating_add(2));
    }

    /// Takes an overrun that is certain, by how many periods began in it.
    pub(super) fn take_certain(&mut self, missed: u64) {
        count(&mut self.certain, missed);
    }

    /// How many periods the certain overruns made up for at most, if it makes up for up to `limit` in each.
    pub(super) fn made_up_at_most(&self, limit: u64) -> u64 {
        let stretches = self.certain.iter().map(|count| u64::from(*count));
        stretches.zip(0..).map(|(stretches, missed)| stretches * limit.min(missed)).sum()
    }

    /// Takes a stretch that was long by its own work: how much it executed does not tell of other cycles in it.
    pub(super) fn take_own_work(&mut self, missed: u64) {
        count(&mut self.own_work, missed);
        self.take_untold(missed);
    }

    /// Takes a stretch of which nothing tells what became of the periods, and whether it may as well be a single cycle.
    pub(super) fn take_unclear(&mut self, missed: u64, may_be_one: bool) {
        count(&mut self.unclear, missed);
        self.may_be_one += u64::from(may_be_one);
        self.take_untold(missed);
    }

    /// Takes a stretch that tells nothing alone, because it began with the return from a stop.
    pub(super) fn take_stopped(&mut self, missed: u64) {
        count(&mut self.stopped, missed);
        self.take_unclear(missed, true);
    }

    /// Takes a stretch that began with the return from a stop, whatever it tells alone, and how many times as much as a usual
    /// cycle it executed.
    pub(super) fn take_after_stop(&mut self, missed: u64, cycles: f64) {
        self.growth.get_or_insert_default().take(missed, cycles);
    }

    /// Takes those that tell nothing alone for what all that followed stops show together.
    pub(super) fn settle(&mut self) {
        let is_shown = self.growth.as_ref().is_some_and(|growth| growth.is_by_cycles());
        if !is_shown {
            return;
        }
        for missed in 0..MAX_PERIODS {
            let stretches = std::mem::take(&mut self.stopped[missed]);
            self.whole[missed] = self.whole[missed].saturating_add(stretches);
            self.unclear[missed] = self.unclear[missed].saturating_sub(stretches);
            self.may_be_one = self.may_be_one.saturating_sub(u64::from(stretches));
            let periods = u64::from(stretches).saturating_mul(missed as u64);
            self.untold_periods[missed] = self.untold_periods[missed].saturating_sub(periods);
        }
    }

    fn take_untold(&mut self, missed: u64) {
        let periods = &mut self.untold_periods[position(missed)];
        *periods = periods.saturating_add(missed);
    }

    /// What they show together.
    pub(super) fn shown(&self) -> Shown {
        self.up_to_a_limit().or_else(|| self.below_a_limit()).unwrap_or_else(|| {
            let (whole, skipped, partly) = (sum(&self.whole), sum(&self.skipped), sum(&self.partly));
            // What makes up for the few periods that short stretches miss may still drop some of the many that long
            // ones do.
            let beyond = self.reach() + 1;
            let untold = sum(&self.own_work[beyond..]) + sum(&self.unclear[beyond..]);
            let is_told = whole >= untold * CLEARLY && !self.drops_beyond();
            let (made_up, few) = if is_told { (whole, 0) } else { (0, whole) };
            // Nor does a single cycle now and then tell of the many stretches that may be several.
            let (skipped, rare) = if skipped < self.may_be_one { (0, skipped) } else { (skipped, 0) };
            Shown { made_up, skipped, partly: partly + few + rare, ..Shown::default() }
        })
    }

    /// Whether it dropped some periods of the stretches that missed the most, and did not clearly make up for others as long: the
    /// many short ones do not tell what becomes of these.
    fn drops_beyond(&self) -> bool {
        (1..MAX_PERIODS).any(|missed| {
            let dropped = sum(&self.cut[missed..]) + sum(&self.skipped[missed..]);
            sum(&self.whole[missed..]) < dropped * CLEARLY
        })
    }

    /// For how many periods in a row it certainly makes up: two thirds of the cycles look like all of them.
    fn reach(&self) -> usize {
        let shown = (1..MAX_PERIODS).rev().find(|&missed| sum(&self.whole[missed..]) >= ENOUGH);
        shown.map_or(0, |missed| (2 * (missed + 1)).div_ceil(3) - 1)
    }

    /// Periods that began in stretches that tell nothing of them, beyond those for which it certainly makes up.
    pub(super) fn untold_periods(&self) -> u64 {
        let reach = self.reach();
        (reach + 1..MAX_PERIODS)
            .map(|missed| {
                let stretches = u64::from(self.own_work[missed]) + u64::from(self.unclear[missed]);
                self.untold_periods[missed].saturating_sub(stretches.saturating_mul(reach as u64))
            })
            .fold(0, u64::saturating_add)
    }

    /// However many periods begin, the loop makes up for the same number of them.
    fn up_to_a_limit(&self) -> Option<Shown> {
        // Long cycles with work of their own hold as much without making up for anything.
        if self.clear < ENOUGH || sum(&self.own_work).saturating_mul(CLEARLY) > self.clear {
            return None;
        }
        // The largest number stands for any that is larger, too: it is no limit.
        let most = (1..MAX_PERIODS - 2).max_by_key(|&from| (sum(&self.partly[from..=from + 1]), MAX_PERIODS - from))?;
        let limit = if self.partly[most + 1] > self.partly[most] { most + 1 } else { most };
        let same = sum(&self.partly[most..=most + 1]);
        // What makes up for so many looks like all of up to half as many more.
        let reach = ((limit + 1) * 3 / 2).min(MAX_PERIODS - 1);
        let (within, beyond) = (sum(&self.whole[..=reach]), sum(&self.whole[reach + 1..]));
        let (skipped, partly) = (sum(&self.skipped), sum(&self.partly) - same);
        let contrary = beyond + skipped + partly;
        // Periods that began only while it made up for others add to these, and not always as many: without them there
        // are more stretches alike. If there are as many either way, the larger number is the safe one.
        let at_once = (1..MAX_PERIODS - 1).max_by_key(|&made_up| (self.at_once[made_up], MAX_PERIODS - made_up))?;
        let is_alike = self.at_once[at_once] > self.partly[limit];
        let limit = if is_alike { at_once.min(limit) } else { limit };
        (same >= contrary * CLEARLY).then_some(Shown {
            made_up: beyond,
            skipped,
            partly,
            limited: same + within,
            limit: limit as u64,
        })
    }

    /// The loop makes up for up to so many periods, and for none where more begin.
    fn below_a_limit(&self) -> Option<Shown> {
        let partly = sum(&self.partly);
        (1..MAX_PERIODS - 1).rev().find_map(|limit| {
            let (whole, above) = (sum(&self.whole[..=limit]), sum(&self.whole[limit + 1..]));
            let (below, skipped) = (sum(&self.skipped[..=limit]), sum(&self.skipped[limit + 1..]));
            let is_shown = whole >= ENOUGH
                && skipped >= ENOUGH
                && self.whole[limit] > 0
                && whole >= below * CLEARLY
                && skipped >= above * CLEARLY
                && whole + skipped >= partly * CLEARLY;
            is_shown.then_some(Shown {
                made_up: above,
                skipped: below,
                partly,
                limited: whole + skipped,
                limit: limit as u64,
            })
        })
    }
}

/// Numbers that are not told apart count as the largest.
fn position(periods: u64) -> usize {
    usize::try_from(periods).map_or(MAX_PERIODS - 1, |position| position.min(MAX_PERIODS - 1))
}

fn count(by_periods: &mut ByPeriods, periods: u64) {
    let count = &mut by_periods[position(periods)];
    *count = count.saturating_add(1);
}

fn sum(counts: &[u32]) -> u64 {
    counts.iter().map(|count| u64::from(*count)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a loop shows that executes so many cycles where so many periods began during a long one.
    fn shown(began: &[u64], cycles: impl Fn(u64) -> u64) -> Shown {
        let mut evidence = CatchUpEvidence::default();
        for &missed in began {
            match cycles(missed) {
                1 => evidence.take_skipped(missed),
                // As `Usual::judge` tells them apart.
                cycles if cycles * 3 >= (missed + 1) * 2 => evidence.take_whole(missed),
                cycles => evidence.take_partly(missed, cycles, 0),
            }
        }
        evidence.shown()
    }

    const BEGAN: [u64; 12] = [1, 1, 2, 3, 4, 5, 7, 9, 12, 20, 20, 45];

    #[test]
    fn a_limit_is_told_from_making_up_for_all_and_from_none() {
        let all = BEGAN.len() as u64;
        assert_eq!(shown(&BEGAN, |missed| missed + 1), Shown { made_up: all, ..Shown::default() });
        assert_eq!(shown(&BEGAN, |_| 1), Shown { skipped: all, ..Shown::default() });
        for limit in 1..=5 {
            let found = shown(&BEGAN, |missed| missed.min(limit) + 1);
            assert_eq!((found.limited, found.limit), (all, limit), "the last ones: {found:?}");
            let found = shown(&BEGAN, |missed| if missed > limit { 1 } else { missed + 1 });
            let is_told = limit > 1;
            assert_eq!((found.limited > 0, found.limit), (is_told, if is_told { limit } else { 0 }), "none: {found:?}");
        }
    }

    #[test]
    fn short_stretches_do_not_tell_what_becomes_of_the_many_periods_of_long_work() {
        let mut evidence = CatchUpEvidence::default();
        (0..40).for_each(|_| evidence.take_whole(2));
        assert_eq!(evidence.shown(), Shown { made_up: 40, ..Shown::default() });
        // Of 2 periods that looked made up for, one was for certain.
        (0..10).for_each(|_| evidence.take_own_work(1));
        assert_eq!((evidence.shown().made_up, evidence.untold_periods()), (40, 0));
        (0..10).for_each(|_| evidence.take_own_work(11));
        assert_eq!((evidence.shown().made_up, evidence.untold_periods()), (40, 100));
        evidence.take_own_work(200);
        assert_eq!(evidence.shown(), Shown { partly: 40, ..Shown::default() });
        assert_eq!(evidence.untold_periods(), 299);
        // As many made up for elsewhere tell it.
        (0..4).for_each(|_| evidence.take_whole(17));
        assert_eq!((evidence.reach(), evidence.shown().made_up), (11, 44));
        // Nor does it make up for any where short ones show that it skips them.
        let mut evidence = CatchUpEvidence::default();
        (0..9).for_each(|_| evidence.take_skipped(2));
        (0..40).for_each(|_| evidence.take_own_work(11));
        assert_eq!(evidence.shown(), Shown { skipped: 9, ..Shown::default() });
    }

    #[test]
    fn the_longest_stretches_tell_whether_all_periods_are_made_up_for() {
        // Many miss so few periods that a limit does not show: that is told by one in ten.
        for limit in [1, 2, 5, 6] {
            let mut evidence = CatchUpEvidence::default();
            (0..60).for_each(|number| evidence.take_whole(1 + number % limit));
            // Work of its own, which hides a limit.
            (0..2).for_each(|_| evidence.take_own_work(1));
            assert_eq!(evidence.shown(), Shown { made_up: 60, ..Shown::default() }, "{limit}");
            (0..6).for_each(|_| evidence.take_partly(2 * limit + 1, limit + 1, 0));
            let (made_up, partly) = (evidence.shown().made_up, evidence.shown().partly);
            assert_eq!((made_up, partly), (0, 66), "{limit}");
        }
        // A stretch of seconds that was dropped; and one among others as long, that were made up for.
        let mut evidence = CatchUpEvidence::default();
        (0..40).for_each(|_| evidence.take_whole(2));
        evidence.take_skipped(450);
        assert_eq!(evidence.shown(), Shown { skipped: 1, partly: 40, ..Shown::default() });
        (0..4).for_each(|_| evidence.take_whole(450));
        assert_eq!(evidence.shown(), Shown { made_up: 44, skipped: 1, ..Shown::default() });
    }

    #[test]
    fn a_few_stretches_do_not_tell_of_the_many_that_show_nothing() {
        let mut evidence = CatchUpEvidence::default();
        (0..20).for_each(|missed| evidence.take_unclear(missed, true));
        let none = evidence.shown();
        assert_eq!(none, Shown::default());
        evidence.take_whole(2);
        assert_eq!(evidence.shown(), Shown { partly: 1, ..none });
        evidence.take_skipped(4);
        assert_eq!(evidence.shown(), Shown { partly: 2, ..none });
        // As many that miss as many periods do, and so do as many that show that it skips them.
        let mut whole = CatchUpEvidence::default();
        (0..4).for_each(|missed| whole.take_unclear(missed, true));
        (0..6).for_each(|_| whole.take_whole(4));
        assert_eq!((whole.reach(), whole.shown()), (3, Shown { made_up: 6, ..none }));
        let mut skipped = CatchUpEvidence::default();
        (0..4).for_each(|missed| skipped.take_unclear(missed, true));
        (0..6).for_each(|_| skipped.take_skipped(4));
        assert_eq!(skipped.shown(), Shown { skipped: 6, ..none });
        // Sleeps on the way of a loop that skips periods are no contrary.
        (0..40).for_each(|_| skipped.take_unclear(4, false));
        assert_eq!(skipped.shown(), Shown { skipped: 6, ..none });
    }

    #[test]
    fn stops_that_tell_nothing_alone_may_do_so_together() {
        let after_stops = |cycles: &dyn Fn(f64) -> f64| {
            let mut evidence = CatchUpEvidence::default();
            for stop in 0..24_u32 {
                let missed = 1 + stop % 8;
                evidence.take_stopped(u64::from(missed));
                evidence.take_after_stop(u64::from(missed), cycles(f64::from(missed)));
            }
            evidence.take_skipped(4);
            evidence.settle();
            (evidence.shown(), evidence.untold_periods())
        };
        // Each takes half a cycle for the return.
        let all = after_stops(&|missed| 1.5 + missed);
        assert_eq!(all, (Shown { made_up: 24, skipped: 1, ..Shown::default() }, 0));
        let none = after_stops(&|_| 1.5);
        assert_eq!(none, (Shown { partly: 1, ..Shown::default() }, 3 * (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8)));
    }

    #[test]
    fn too_little_shows_no_limit() {
        // Two stretches that were cut short, and as many periods each time that nothing tells a limit from cheap cycles.
        let found = shown(&[1, 2, 20, 30], |missed| missed.min(3) + 1);
        assert_eq!(found, Shown { partly: 4, ..Shown::default() });
        let found = shown(&[6; 20], |missed| missed.min(3) + 1);
        assert_eq!(found, Shown { partly: 20, ..Shown::default() });
        // Where periods began meanwhile, in some stretches more than in others, they are none of the limit.
        let mut evidence = CatchUpEvidence::default();
        (0..6).for_each(|_| evidence.take_partly(9, 4, 1));
        (0..5).for_each(|_| evidence.take_partly(9, 3, 0));
        assert_eq!((evidence.shown().limited, evidence.shown().limit), (11, 2));
        // Where as many are alike only with them, they are.
        let mut evidence = CatchUpEvidence::default();
        (0..6).for_each(|_| evidence.take_partly(9, 4, 1));
        (0..5).for_each(|_| evidence.take_partly(9, 4, 0));
        assert_eq!((evidence.shown().limited, evidence.shown().limit), (11, 3));
        // Other numbers each time are no limit.
        let found = shown(&[10, 12, 14, 16, 18, 20], |missed| missed / 2);
        assert_eq!(found, Shown { partly: 6, ..Shown::default() });
        // Nor are numbers so large that they are not told apart.
        let mut evidence = CatchUpEvidence::default();
        (0..9).for_each(|_| evidence.take_partly(200, 51, 0));
        assert_eq!(evidence.shown(), Shown { partly: 9, ..Shown::default() });
        (0..90).for_each(|_| evidence.take_partly(200, 31, 0));
        assert_eq!(evidence.shown().limit, 30);
        // Nor is work of its own, or a few heavy cycles among those of a loop that skips periods.
        let mut evidence = CatchUpEvidence::default();
        (0..9).for_each(|_| evidence.take_partly(20, 4, 0));
        assert_eq!(evidence.shown().limit, 3);
        (0..3).for_each(|_| evidence.take_own_work(20));
        assert_eq!(evidence.shown(), Shown { partly: 9, ..Shown::default() });
        let mut evidence = CatchUpEvidence::default();
        (0..9).for_each(|_| evidence.take_partly(20, 4, 0));
        (0..40).for_each(|missed| evidence.take_skipped(missed));
        assert_eq!(evidence.shown(), Shown { skipped: 40, partly: 9, ..Shown::default() });
    }
}
