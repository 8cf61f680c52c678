//! Loops that wake before a cycle is due and wait on their CPU until it is: what looks like a long cycle may be several that kept
//! their periods.

use super::catch_up::{Judgement, Stretch, Usual};
use super::cycle_count::CycleCount;

/// So many stretches alike show it.
const ENOUGH: u64 = 4;
/// Of the stretches that are long by their own work one in so many are alike, or more.
const MANY: u64 = 4;
/// The most stretches that are kept until it is known how long cycles usually take.
const MAX_EARLY: usize = 16;

/// Stretches of work of their own that end as long after a period began as usual cycles do: in these one cycle follows the other at its
/// exact time. What is late, and then makes up for what it missed or skips it, ends at any time.
#[derive(Debug, Default)]
pub(super) struct Spun {
    alike: Group,
    /// How many are long by their own work and end at another time.
    others: u64,
    early: Vec<Stretch>,
}

/// Stretches together.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Group {
    stretches: u64,
    /// Periods that began in them, and those of these that did before they ended.
    missed: u64,
    pub(super) within: u64,
    /// How many ended after the wakeup that followed was due.
    past_next: u64,
    /// The longest, ns, and how many periods began in it.
    pub(super) longest_ns: u64,
    longest_missed: u64,
    /// How late one began at most, or how long one of its cycles executed on average, ns.
    pub(super) single_ns: u64,
}

impl Group {
    fn take(&mut self, stretch: &Stretch, period_ns: u64) {
        let Stretch { late_ns, executed_ns, length_ns, missed } = *stretch;
        self.stretches += 1;
        self.missed = self.missed.saturating_add(missed);
        self.within = self.within.saturating_add((length_ns.saturating_sub(1) / period_ns).min(missed));
        self.past_next += u64::from(length_ns > missed.saturating_add(1).saturating_mul(period_ns));
        self.single_ns = self.single_ns.max(late_ns).max(executed_ns / missed.saturating_add(1));
        if length_ns > self.longest_ns {
            (self.longest_ns, self.longest_missed) = (length_ns, missed);
        }
    }

    fn and(&self, other: &Group) -> Group {
        Group {
            stretches: self.stretches + other.stretches,
            missed: self.missed.saturating_add(other.missed),
            within: self.within.saturating_add(other.within),
            past_next: self.past_next + other.past_next,
            longest_ns: self.longest_ns.max(other.longest_ns),
            longest_missed: self.longest_missed.max(other.longest_missed),
            single_ns: self.single_ns.max(other.single_ns),
        }
    }

    /// Adds them to the overruns.
    fn add_to(&self, count: &mut CycleCount) {
        count.overruns = count.overruns.saturating_add(self.stretches);
        count.run_on = count.run_on.saturating_add(self.missed);
        if self.longest_ns > count.longest_ns {
            (count.longest_ns, count.longest_missed) = (self.longest_ns, self.longest_missed);
            (count.longest_cycles, count.longest_slept) = (0, false);
        }
    }
}

impl Spun {
    /// Takes a stretch that is long, of which this was found, and says whether it may be cycles that kept their periods.
    pub(super) fn take(&mut self, found: Judgement, stretch: &Stretch, usual: &Usual, period_ns: u64) -> bool {
        if stretch.missed == 0 || stretch.length_ns <= period_ns {
            return false;
        }
        if !usual.is_known() && self.early.len() < MAX_EARLY {
            self.early.push(*stretch);
            return true;
        }
        let is_alike = is_alike(found, stretch, usual, period_ns);
        if is_alike {
            self.alike.take(stretch, period_ns);
        } else {
            self.others += u64::from(found == Judgement::OwnWork);
        }
        is_alike
    }

    /// Counts all of which it said so: as overruns that are certain, where there are no more of them than by chance. These are returned.
    pub(super) fn settle(&self, usual: &Usual, count: &mut CycleCount, period_ns: u64) -> Group {
        let (mut alike, mut certain) = (self.alike, Group::default());
        let may_be_spun = |stretch: &Stretch| is_alike(usual.judge(stretch, period_ns), stretch, usual, period_ns);
        let early = self.early.iter().filter(|stretch| may_be_spun(stretch)).count() as u64;
        let all = alike.stretches + early;
        let is_shown = all >= ENOUGH && all.saturating_mul(MANY) >= all.saturating_add(self.others);
        for stretch in &self.early {
            let group = if is_shown && may_be_spun(stretch) { &mut alike } else { &mut certain };
            group.take(stretch, period_ns);
        }
        alike.add_to(count);
        certain.add_to(count);
        if is_shown {
            count.spun = alike.stretches;
            count.doubtful_periods = count.doubtful_periods.saturating_add(alike.missed);
        } else {
            certain = certain.and(&alike);
        }
        count.certain = count.certain.saturating_add(certain.stretches);
        count.past_next = count.past_next.saturating_add(certain.past_next);
        certain
    }
}

fn is_alike(found: Judgement, stretch: &Stretch, usual: &Usual, period_ns: u64) -> bool {
    let ended_ns = stretch.length_ns.saturating_sub(stretch.missed.saturating_mul(period_ns));
    found == Judgement::OwnWork && stretch.missed > 0 && usual.is_as_long(ended_ns)
}
