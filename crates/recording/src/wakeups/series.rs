//! Cycles of one thread by one rule for what begins them.

use super::catch_up::{Judgement, Stretch, Usual};
use super::catch_up_evidence::CatchUpEvidence;
use super::cycle_count::CycleCount;
use super::finished::Finished;
use super::grid::periods_between;
use super::lasted::{Lasted, slept_after};
use crate::Wakeup;

/// A thread's last work ends with the thread, to within this, ns.
const ENDS_NS: u64 = 1_000;
/// Going on after a stop takes the kernel no more CPU time than this, ns, which is no work of a cycle.
const RETURNS_NS: u64 = 200_000;
/// All threads together have no more doubtful cycles than this; any others are taken for what they look like.
const MAX_DOUBTFUL: usize = 1 << 17;
/// What long stretches show is kept of this many series of all threads; of any others it is unknown what they do after an overrun.
const MAX_EVIDENCE: usize = 1 << 16;

/// How much more all threads together may keep.
#[derive(Debug)]
pub(super) struct Room {
    doubtful: usize,
    pub(super) evidence: usize,
}

impl Default for Room {
    fn default() -> Room {
        Room { doubtful: MAX_DOUBTFUL, evidence: MAX_EVIDENCE }
    }
}

impl Room {
    /// Takes the room of one more series' evidence, if there is any.
    fn take_evidence(&mut self) -> bool {
        let left = self.evidence.checked_sub(1);
        self.evidence = left.unwrap_or(0);
        left.is_some()
    }
}

/// Cycles by one rule, and the cycle that has not ended.
#[derive(Debug, Default)]
pub(super) struct Series {
    count: CycleCount,
    pub(super) open: Option<Open>,
    /// Periods that began within cycles of which a single wakeup proves that they overran.
    within: u64,
    usual: Usual,
    /// The longest that certainly was one cycle, and the longest in which the thread did not sleep, ns.
    longest_ns: (u64, u64),
    /// The most that one of a stretch's cycles took at least, ns, by the length of the stretch and by its CPU time: a time without
    /// which none of them is as long as they are on average.
    longest_share_ns: (u64, u64),
    /// The longest if each stretch is one cycle, without what may have come before a stop, ns.
    longest_skipping_ns: u64,
    /// The same of those stretches alone that hold no second cycle, ns.
    longest_alone_ns: u64,
    /// How many stretches with a single cycle began in time, and ended after the next was due: the thread slept all the same.
    alone: u64,
    /// Periods that began within the last stretch, which no wakeup follows.
    after_last: u64,
    /// Whole periods that stretches lasted.
    covered: u64,
    /// What long stretches show. Most threads have none, and there may be no room for it.
    evidence: Option<Box<CatchUpEvidence>>,
    /// Long cycles that may be several, each with its own period, between which a sleep was not seen.
    doubtful: Vec<Doubtful>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Open {
    pub(super) due_ns: u64,
    /// How late it began, ns.
    total_ns: u64,
    /// The CPU time until it first slept, ns.
    executed_ns: Option<u64>,
    /// When the thread first slept; `None` if that was not seen.
    first_slept_ns: Option<u64>,
    /// When it last slept.
    slept_ns: Option<u64>,
    /// The CPU time from its last wakeup until it slept again, ns.
    last_executed_ns: Option<u64>,
    /// When it slept before its first sleep that may be a pause, or a wait for something else than its next cycle, because it is so long.
    paused_ns: Option<u64>,
    /// How long it certainly lasted so far.
    lasted: Lasted,
    /// Whether it ended then.
    ends: bool,
    /// Whether a timer of the thread's own began it, and none ended a sleep within it.
    by_timer: bool,
    /// Whether the thread was held when it was due.
    held: bool,
}

impl Open {
    /// When it was due, and when the thread last slept in it, if that was seen, ns.
    pub(super) fn last(self) -> (u64, Option<u64>) {
        (self.due_ns, self.slept_ns)
    }
}

#[derive(Debug, Clone, Copy)]
struct Doubtful {
    length_ns: u64,
    due_ns: u64,
    missed: u64,
}

impl Series {
    /// Takes the thread's next wakeup, which may begin a cycle.
    pub(super) fn take(&mut self, wakeup: &Wakeup, is_by_timer: bool, begins: bool, period_ns: u64, room: &mut Room) {
        let began = wakeup.expected_ns.saturating_add(wakeup.total_ns);
        let slept_ns = slept_after(wakeup);
        let held_until_due_ns = if is_by_timer || begins { None } else { self.due_while_held(wakeup, period_ns) };
        self.count.held += u64::from(held_until_due_ns.is_some());
        if let Some(due_ns) = begins.then_some(wakeup.expected_ns).or(held_until_due_ns) {
            let new = Open {
                due_ns,
                total_ns: began.saturating_sub(due_ns),
                executed_ns: wakeup.executed_ns,
                first_slept_ns: slept_ns,
                slept_ns,
                last_executed_ns: wakeup.executed_ns,
                paused_ns: None,
                lasted: Lasted::from(wakeup),
                ends: false,
                by_timer: is_by_timer || held_until_due_ns.is_some(),
                held: held_until_due_ns.is_some(),
            };
            if let Some(open) = self.open.replace(new) {
                self.close(open, open.slept_ns, Some((new.due_ns, room)), period_ns);
            }
        } else if let Some(open) = &mut self.open {
            let may_be_pause = open.lasted.take(wakeup, is_by_timer, open.slept_ns, &self.usual, period_ns);
            open.paused_ns = open.paused_ns.or(open.slept_ns.filter(|_| may_be_pause));
            open.slept_ns = slept_ns;
            open.last_executed_ns = wakeup.executed_ns;
            open.by_timer &= !is_by_timer;
        }
    }

    /// A signal ends a sleep, even one that stops the thread before it reaches its program; so does a group that is frozen.
    /// If such a thread goes on when its timer has long been due, what it does then is the next cycle, and none of it is
    /// work of the one before, which had executed as much as others do. Returned is when that next cycle was due, ns.
    fn due_while_held(&self, wakeup: &Wakeup, period_ns: u64) -> Option<u64> {
        let open = self.open.filter(|open| open.by_timer && open.first_slept_ns == open.slept_ns)?;
        let periods = open.slept_ns?.saturating_sub(open.due_ns) / period_ns;
        let due_ns = open.due_ns.saturating_add(periods.saturating_add(1).saturating_mul(period_ns));
        let is_held = wakeup.expected_ns < due_ns && due_ns <= wakeup.expected_ns.saturating_add(wakeup.total_ns);
        (is_held && self.usual.is_whole(open.executed_ns?)).then_some(due_ns)
    }

    /// Closes a cycle. `next` says when the next was due, ns, and what room there is until the thread is finished.
    fn close(&mut self, open: Open, slept_ns: Option<u64>, mut next: Option<(u64, &mut Room)>, period_ns: u64) {
        let Some(slept_ns) = slept_ns else { return };
        let length_ns = slept_ns.saturating_sub(open.due_ns);
        let awake_ns = open.first_slept_ns.map_or(0, |slept| slept.saturating_sub(open.due_ns));
        if self.evidence.is_none() && length_ns.max(awake_ns) > period_ns {
            let has_room = next.as_mut().is_none_or(|(_, room)| room.take_evidence());
            self.evidence = has_room.then(Box::default);
        }
        let missed_until = |next_ns: u64| periods_between((open.due_ns, next_ns), period_ns).saturating_sub(2);
        let missed = next.as_ref().map(|(next_ns, _)| missed_until(*next_ns));
        // No wakeup says which period follows the last stretch.
        let began = missed.unwrap_or_else(|| length_ns.saturating_sub(1) / period_ns);
        self.take_periods(missed.is_some(), &open, (length_ns, began), period_ns);
        // A cycle that slept on its way is longer than what its first wakeup tells.
        let is_whole = open.first_slept_ns == Some(slept_ns) && !open.ends;
        if let (true, Some((_, room)), Some(missed), Some(executed_ns)) = (is_whole, next, missed, open.executed_ns) {
            let stretch = Stretch { late_ns: open.total_ns, executed_ns, length_ns, missed };
            let found = self.judge(open.held, &stretch, period_ns);
            if found == Judgement::Doubtful && self.evidence.is_some() && room.doubtful > 0 {
                room.doubtful -= 1;
                self.count.cycles += 1;
                self.doubtful.push(Doubtful { length_ns, due_ns: open.due_ns, missed });
                return;
            }
            self.take_judged(found, open.held, &stretch, period_ns);
            if !open.held && self.may_be_spun(found, &stretch, period_ns) {
                self.count.cycles += 1;
                return;
            }
        }
        let executed_ns = open.executed_ns.filter(|_| is_whole);
        let cycles = executed_ns.map_or(0, |executed_ns| self.usual.cycles_at_most(executed_ns));
        let is_certain = awake_ns > period_ns;
        let ended_ns = open.paused_ns.map_or(slept_ns, |paused_ns| paused_ns.min(slept_ns));
        let own_ns = ended_ns.saturating_sub(open.due_ns);
        let own_missed = began.min(if own_ns < length_ns { own_ns / period_ns } else { u64::MAX });
        let slept = open.first_slept_ns != Some(ended_ns);
        self.count.take(own_ns, (own_missed, cycles), slept, period_ns);
        if own_ns < length_ns {
            self.take_pause(&open, (own_ns, length_ns), (own_missed, began), period_ns);
        }
        let is_late = own_missed > 0 && own_ns > period_ns;
        let (certain_ns, certain_missed) = self.take_certain(&open, (own_ns, own_missed), period_ns);
        self.take_skipping(certain_ns, is_late.then_some(own_missed), &open, period_ns);
        // Whatever its thread did at its end, it was held for too long before that.
        let ends_late = open.ends && open.held && open.total_ns > period_ns;
        if is_certain && !open.ends {
            self.take_within(awake_ns, began, period_ns);
            self.note(|evidence| evidence.take_certain(own_missed));
        } else if ends_late {
            self.take_within(open.total_ns, began, period_ns);
        }
        self.count.certain += u64::from(is_certain && !open.ends || ends_late);
        self.count.ending += u64::from(is_certain && open.ends && !ends_late);
        let is_by_delay = awake_ns.saturating_sub(open.total_ns) <= period_ns;
        self.count.began_late += u64::from(is_certain && !open.ends && is_by_delay || ends_late);
        let is_past = |missed: u64| certain_ns > missed.saturating_add(1).saturating_mul(period_ns);
        self.count.past_next += u64::from(is_certain && !open.ends && missed.is_some_and(is_past));
        if missed.is_some() && !is_whole && certain_missed > 0 && certain_ns > period_ns {
            self.note(|evidence| evidence.take_unclear(certain_missed, false));
        }
    }

    /// Whether a stretch, of which this was found, may be several cycles in time. All of these together show that.
    fn may_be_spun(&mut self, found: Judgement, stretch: &Stretch, period_ns: u64) -> bool {
        let Some(evidence) = &mut self.evidence else { return false };
        let may_be_spun = evidence.spun.take(found, stretch, &self.usual, period_ns);
        if may_be_spun {
            evidence.take_certain(stretch.missed);
        }
        may_be_spun
    }

    /// Takes what is certain of a cycle of this length, ns, in which so many periods began: returned is how long it certainly lasted,
    /// ns, and how many began in it then. An overrun is none if the cycle had ended in time.
    fn take_certain(&mut self, open: &Open, (own_ns, own_missed): (u64, u64), period_ns: u64) -> (u64, u64) {
        let (ran_ns, until_ns) = open.lasted.until(open.due_ns.saturating_add(own_ns));
        let [before_ns, certain_ns] = [ran_ns, until_ns].map(|at_ns| at_ns.saturating_sub(open.due_ns));
        let missed_within = |ns: u64| own_missed.min(ns.saturating_sub(1) / period_ns);
        let missed = if certain_ns < own_ns { missed_within(certain_ns) } else { own_missed };
        if certain_ns < own_ns {
            let after_sleep = missed_within(own_ns) - missed;
            self.count.slept += u64::from(own_ns > period_ns && certain_ns <= period_ns);
            self.count.doubtful_periods = self.count.doubtful_periods.saturating_add(after_sleep);
        }
        let began_in_it = if certain_ns > period_ns { missed } else { 0 };
        self.take_longest(open, (certain_ns, began_in_it), before_ns);
        (certain_ns, missed)
    }

    /// Takes what became of the periods that began from one cycle until the next, which is known to follow, or until the last one slept.
    fn take_periods(&mut self, is_followed: bool, open: &Open, (length_ns, began): (u64, u64), period_ns: u64) {
        let covered = length_ns / period_ns;
        self.covered = self.covered.saturating_add(covered);
        if is_followed {
            // It slept before these began, and until they were over.
            self.count.asleep = self.count.asleep.saturating_add(began.saturating_sub(covered));
            return;
        }
        let held_ns = if open.held { open.total_ns } else { 0 };
        // What its thread did at its end is not known, but until it began that had been held.
        let until_end = if open.ends { began.min(held_ns.saturating_sub(1) / period_ns) } else { began };
        self.count.ending_missed = self.count.ending_missed.saturating_add(began - until_end);
        // No timer began the period of one that was held; nor does anything tell how many cycles the others hold.
        self.after_last = until_end.saturating_add(u64::from(open.held));
        self.not_made_up(until_end);
    }

    /// Takes a pause, or a sleep within a cycle: without it and with it, how long the cycle took, ns, and how many periods began in it.
    fn take_pause(&mut self, open: &Open, lengths_ns: (u64, u64), (own_missed, began): (u64, u64), period_ns: u64) {
        self.count.take_pause(lengths_ns, began.saturating_sub(own_missed), period_ns);
        // What the thread did after the pause may be the cycles of the periods that began in it.
        if open.last_executed_ns.is_none_or(|executed_ns| self.usual.may_be_several(executed_ns)) {
            self.count.pauses_made_up = self.count.pauses_made_up.saturating_add(began);
        }
    }

    /// Takes the length of a stretch, ns, if it is one cycle, and how many periods began within it, if it is longer than one. What
    /// it executed after its last sleep tells whether it may have gone on with another cycle.
    fn take_skipping(&mut self, length_ns: u64, late: Option<u64>, open: &Open, period_ns: u64) {
        if open.ends && late.is_some() {
            // It is as long by what its thread did at its end.
            return;
        }
        self.longest_skipping_ns = self.longest_skipping_ns.max(length_ns);
        let may_be_several = open.last_executed_ns.is_none_or(|executed_ns| self.usual.may_be_several(executed_ns));
        match late {
            Some(missed) if may_be_several => self.count.run_on = self.count.run_on.saturating_add(missed),
            _ => {
                self.longest_alone_ns = self.longest_alone_ns.max(length_ns);
                let is_whole = open.first_slept_ns == open.slept_ns;
                self.alone += u64::from(late.is_some() && is_whole && open.total_ns < period_ns);
            }
        }
    }

    /// Takes a stretch that certainly lasted so long, ns, and how many periods began in it. If any did, it may be several cycles: the
    /// first of them ended after the thread began to run in it, so long after it was due, ns, and one of them is as long as they
    /// are on average.
    fn take_longest(&mut self, open: &Open, (length_ns, missed): (u64, u64), before_ns: u64) {
        let single_ns = if missed == 0 { length_ns } else { before_ns.min(length_ns) };
        let is_unbroken = open.first_slept_ns == Some(open.due_ns.saturating_add(length_ns)) && !open.ends;
        let unbroken_ns = if is_unbroken { length_ns } else { single_ns };
        self.longest_ns = (self.longest_ns.0.max(single_ns), self.longest_ns.1.max(unbroken_ns));
        if is_unbroken {
            self.take_share(length_ns, open.executed_ns, missed);
        }
    }

    /// Takes a stretch without a sleep that may be one cycle more than periods began in it.
    fn take_share(&mut self, length_ns: u64, executed_ns: Option<u64>, missed: u64) {
        let share_ns = |ns: u64| ns / missed.saturating_add(1);
        let (by_length_ns, by_executed_ns) = self.longest_share_ns;
        let executed_ns = executed_ns.map_or(0, share_ns);
        self.longest_share_ns = (by_length_ns.max(share_ns(length_ns)), by_executed_ns.max(executed_ns));
    }

    /// Takes what a stretch tells that begins with a cycle and ends with the first sleep after it.
    fn take_judged(&mut self, found: Judgement, held: bool, stretch: &Stretch, period_ns: u64) {
        let Stretch { executed_ns, length_ns, missed, .. } = *stretch;
        let is_long = held && !matches!(found, Judgement::Usual | Judgement::Nothing);
        if let Some(cycles) = self.usual.after_stop(executed_ns).filter(|_| is_long) {
            self.note(|evidence| evidence.take_after_stop(missed, cycles));
        }
        match found {
            Judgement::Usual => self.usual.take(executed_ns, length_ns),
            Judgement::MadeUp => self.note(|evidence| evidence.take_whole(missed)),
            Judgement::Skipped => {
                // The long cycle is an overrun itself.
                self.not_made_up(missed.saturating_sub(1));
                self.note(|evidence| evidence.take_skipped(missed));
            }
            Judgement::Partly => {
                let cycles = self.usual.cycles_in(executed_ns);
                self.not_made_up(missed.saturating_sub(cycles.saturating_sub(1)));
                let meanwhile = self.usual.due_meanwhile(stretch, period_ns);
                self.note(|evidence| evidence.take_partly(missed, cycles, meanwhile));
            }
            Judgement::OwnWork => self.note(|evidence| evidence.take_own_work(missed)),
            Judgement::Unclear if held => self.note(|evidence| evidence.take_stopped(missed)),
            Judgement::Unclear => {
                let may_be_one = executed_ns < self.usual.shortest_ns();
                self.note(|evidence| evidence.take_unclear(missed, may_be_one));
            }
            Judgement::Doubtful | Judgement::Nothing => {}
        }
    }

    /// Judges a stretch. After a stop it tells something only if it does so whether the return is part of it or not.
    fn judge(&self, held: bool, stretch: &Stretch, period_ns: u64) -> Judgement {
        let found = self.usual.judge(stretch, period_ns);
        if !held {
            return found;
        }
        let least_ns = stretch.executed_ns.min(self.usual.shortest_ns());
        let executed_ns = stretch.executed_ns.saturating_sub(RETURNS_NS).max(least_ns);
        let is_same = found == self.usual.judge(&Stretch { executed_ns, ..*stretch }, period_ns);
        let cycles = [stretch.executed_ns, executed_ns].map(|executed_ns| self.usual.cycles_in(executed_ns));
        let is_clear = is_same && (found != Judgement::Partly || cycles[0] == cycles[1]);
        if is_clear { found } else { Judgement::Unclear }
    }

    /// The thread ended then, ns: its open cycle may have ended with it.
    pub(super) fn end(&mut self, ended_ns: u64) {
        if let Some(open) = &mut self.open {
            open.ends = open.first_slept_ns.is_some_and(|slept| slept.abs_diff(ended_ns) <= ENDS_NS);
        }
    }

    /// Takes the periods that began within an overrun of this length, before the one for which the thread was woken next.
    fn take_within(&mut self, length_ns: u64, missed: u64, period_ns: u64) {
        let within = (length_ns.saturating_sub(1) / period_ns).min(missed);
        self.within = self.within.saturating_add(within);
    }

    fn not_made_up(&mut self, periods: u64) {
        self.count.not_made_up = self.count.not_made_up.saturating_add(periods);
    }

    /// Notes what a long stretch shows, if there was room for that.
    fn note(&mut self, take: impl FnOnce(&mut CatchUpEvidence)) {
        if let Some(evidence) = &mut self.evidence {
            take(evidence);
        }
    }

    /// No cycle follows the last one, so nothing says when it last slept: what came after its first sleep may be the
    /// program's end. Wakeups that nobody saw explain doubtful cycles, the shortest first, each as many as periods began
    /// in it: returned is when those cycles were due. Any others are long cycles.
    pub(super) fn finish(mut self, period_ns: u64, unseen: u64) -> Finished {
        if let Some(open) = self.open.take() {
            self.close(open, open.first_slept_ns, None, period_ns);
        }
        self.doubtful.sort_unstable_by_key(|cycle| (cycle.length_ns, cycle.due_ns));
        let mut left = unseen;
        let is_explained = |cycle: &&Doubtful| {
            let rest = left.checked_sub(cycle.missed);
            left = rest.unwrap_or(left);
            rest.is_some()
        };
        let explained = self.doubtful.iter().take_while(is_explained).count();
        let mut evidence = self.evidence.take().unwrap_or_default();
        let doubtful = std::mem::take(&mut self.doubtful);
        for cycle in &doubtful[explained..] {
            // Taken above, like all cycles.
            self.count.cycles -= 1;
            let cycles = cycle.missed.saturating_add(1);
            self.count.take(cycle.length_ns, (cycle.missed, cycles), false, period_ns);
            self.count.certain += 1;
            self.take_share(cycle.length_ns, None, cycle.missed);
            self.longest_skipping_ns = self.longest_skipping_ns.max(cycle.length_ns);
            self.count.run_on = self.count.run_on.saturating_add(cycle.missed);
            self.take_within(cycle.length_ns, cycle.missed, period_ns);
            evidence.take_whole(cycle.missed);
            evidence.take_certain(cycle.missed);
        }
        evidence.settle();
        let certain = evidence.spun.settle(&self.usual, &mut self.count, period_ns);
        self.within = self.within.saturating_add(certain.within);
        self.longest_ns = (self.longest_ns.0.max(certain.single_ns), self.longest_ns.1.max(certain.longest_ns));
        self.longest_skipping_ns = self.longest_skipping_ns.max(certain.longest_ns);
        self.not_made_up(evidence.untold_periods());
        let shown = evidence.shown();
        let made_up_at_most = if shown.limit > 0 { evidence.made_up_at_most(shown.limit) } else { self.within };
        // A loop that reads how often its timer expired goes on at once if it did meanwhile: it never sleeps then.
        let run_on = if self.alone > 0 { 0 } else { self.count.run_on };
        let skipping_ns = if run_on > 0 { self.longest_alone_ns } else { self.longest_skipping_ns };
        // A wakeup that nobody saw may have ended a wait within a stretch, which is no time of a cycle.
        let share_ns = if unseen == 0 { self.longest_share_ns.0 } else { self.longest_share_ns.1 };
        self.count = CycleCount {
            run_on,
            made_up: shown.made_up,
            skipped: shown.skipped,
            partly: shown.partly,
            limited: shown.limited,
            limit: shown.limit,
            made_up_at_most,
            longest_single_ns: self.longest_ns.0.max(share_ns),
            longest_skipping_ns: if unseen == 0 { skipping_ns } else { self.longest_ns.1.min(skipping_ns) },
            starved_within: self.within,
            ..self.count
        };
        Finished {
            count: self.count,
            joined: doubtful[..explained].iter().map(|cycle| cycle.due_ns).collect(),
            after_last: self.after_last,
            covered: self.covered,
            longest_skipping_ns: if unseen == 0 { self.longest_skipping_ns } else { self.longest_ns.1 },
        }
    }
}
