//! Cycles of somebody else's loop: how many there were, and how many took longer than their period.

use super::begun::Begun;
use super::cycle_count::CycleCount;
use super::finished::{Finished, Untold};
use super::grid::{Grid, MIN_PERIODS};
use super::last_seen::{AsUsual, BegunSince, LastSeen, Sleep, WasAway};
use super::lasted::slept_after;
use super::once::{LONG_PERIODS, Sleeps};
use super::other_wakers::OtherWakers;
use super::series::{Open, Room, Series};
use super::shared_timers::{Expiries, Sharing};
use super::spacing::Spacing;
use super::whole_sleeps::{MANY, WholeSleeps};
use super::woken::Woken;
use crate::format::bounds::MAX_TASKS;
use crate::{Stage, Wakeup};
use std::collections::HashMap;

/// Puts the wakeups of followed threads together into cycles.
///
/// A loop may sleep several times in a cycle: for a lock, a page, an answer, a moment. If its own timers are due on a
/// grid of the period, a cycle goes from a point of the grid to the last time that the thread slept before the next
/// point at which it was woken. Otherwise, if a thread's own timers begin its cycles, a cycle goes from each timer to
/// the last sleep before the next; if others wake it, a cycle begins with the first wakeup that comes half a period or
/// more after the previous one began. Only the end shows which of these a thread is. If others wake it more than once a
/// cycle, or about as often as its own timers, or if its timers are due on two grids, nothing can be said.
///
/// If something other than a timer ends the sleep of a thread that has done its cycle, and it then does not run until the
/// next is due, it was held: stopped, frozen or kept from every CPU. It then begins that next cycle, late.
///
/// A loop that computes how long it has to sleep has timers a few microseconds beside its grid, which begin cycles as its
/// points do, or far off it where the loop was kept from running before it slept. A loop that starts over after an overrun
/// continues on another grid. If such timers come about once in a period, each of them begins a cycle. If a thread's period changes
/// to one that has some points in common, its timers beside these look like sleeps within a cycle, and nothing can be said.
#[derive(Debug)]
pub struct Cycles {
    period_ns: u64,
    threads: HashMap<u32, Thread>,
    room: Room,
    expiries: Expiries,
    /// When the recording began and ended, ns; 0 if that is not known.
    recorded_ns: (u64, u64),
    /// Whether the recording started the loops: it sees them from their beginning on.
    has_started: bool,
}

/// The most grids of a thread that are looked at.
const MAX_GRIDS: usize = 8;
/// A thread that has no more timers than this in a hundred periods has about one in each.
const ONCE_PERCENT: u64 = 105;
/// A loop two of whose cycles are due less than this many hundredths of a period apart is no even one.
const UNEVEN_PERCENT: u128 = 90;

#[derive(Debug, Default)]
struct Thread {
    wakeups: u64,
    /// Those of them by timers of its own.
    timers: Begun,
    /// Those that come half a period or more after the one before.
    apart: Begun,
    sleeps: Sleeps,
    last_seen: LastSeen,
    /// When the last wakeup was due, and the longest time from one to the next, as in [`CycleCount::longest_gap_ns`].
    last_due_ns: Option<u64>,
    longest_gap_ns: u64,
    /// Each with the cycles that begin at its points.
    grids: Vec<(Grid, Series)>,
    by_timer: Series,
    by_time: Series,
    /// Which of the wakeups that begin cycles by these two rules may be within one.
    timer_spacing: Spacing,
    time_spacing: Spacing,
    whole_sleeps: WholeSleeps,
    other_wakers: OtherWakers,
    /// When it ended, ns, if it did.
    ended_ns: Option<u64>,
    /// Whether it sets a timer for each of its sleeps.
    sets_timers: bool,
    sharing: Sharing,
}

/// Beginnings of cycles that may as well be parts of a cycle in which its thread hung.
#[derive(Debug)]
struct Doubt {
    /// Since its loop was last seen to go on.
    begun: BegunSince,
    /// With timers that send signals, while no timer for which it waits woke it.
    signals: u64,
    /// How long that cycle then took, ns.
    longest_ns: u64,
}

impl Thread {
    fn take(&mut self, wakeup: &Wakeup, woken: Woken, period_ns: u64, room: &mut Room) {
        let is_by_timer = woken.is_by_timer();
        self.wakeups += 1;
        self.sleeps.take(wakeup, period_ns);
        let due_ns = wakeup.expected_ns;
        let ran_ns = due_ns.saturating_add(wakeup.stage(Stage::Total).unwrap_or(0));
        if let Some(last_ns) = self.last_due_ns.replace(due_ns) {
            self.longest_gap_ns = self.longest_gap_ns.max(ran_ns.saturating_sub(last_ns));
        }
        if is_by_timer {
            self.timers.take(due_ns, period_ns);
        }
        let timer = self.timers.count;
        let is_new = is_by_timer && !self.grids.iter().any(|(grid, _)| grid.holds(due_ns, period_ns));
        if is_new && self.grids.len() < MAX_GRIDS {
            // Most threads have a single one, and there may be very many threads.
            self.grids.reserve_exact(1);
            self.grids.push((Grid::new(due_ns, timer), Series::default()));
        }
        let is_apart = |open: Open| due_ns.saturating_sub(open.due_ns).saturating_mul(2) >= period_ns;
        let is_once = self.wakes_once(period_ns);
        let last = self.by_timer.open.map(Open::last);
        let is_wait = is_by_timer && {
            let slept_ns = last.and_then(|(_, slept_ns)| slept_ns);
            self.whole_sleeps.take(wakeup, slept_ns, self.is_point(due_ns, period_ns), period_ns)
        };
        for (grid, series) in &mut self.grids {
            let is_next = is_once && series.open.is_none_or(is_apart);
            let begins = is_by_timer && grid.take(due_ns, timer, (is_next, is_wait), period_ns);
            series.take(wakeup, is_by_timer, begins, period_ns, room);
        }
        if is_by_timer {
            self.timer_spacing.take(wakeup, last, false, period_ns);
        }
        self.by_timer.take(wakeup, is_by_timer, is_by_timer, period_ns, room);
        let begins = self.by_time.open.is_none_or(is_apart);
        if begins {
            self.apart.take(due_ns, period_ns);
            self.time_spacing.take(wakeup, self.by_time.open.map(Open::last), true, period_ns);
        }
        self.by_time.take(wakeup, is_by_timer, begins, period_ns, room);
        let is_by_usual = self.other_wakers.take(wakeup, woken, begins, period_ns);
        let cycle_due_ns = self.by_time.open.map_or(due_ns, |open| open.last().0);
        let sleep = |from_ns: u64| Sleep { from_ns, due_ns: cycle_due_ns, wakeups: self.wakeups };
        let usual = AsUsual {
            is_apart: begins,
            is_by_usual: is_by_timer == self.is_of_timers() && (is_by_timer || is_by_usual),
            is_wait,
            is_on_grid: self.is_on_grid(due_ns, is_by_timer, period_ns),
        };
        self.last_seen.take(wakeup, woken, usual, slept_after(wakeup).map(sleep), period_ns);
    }

    /// Whether what is due then is a point of a grid that many of its timers have kept so far, if there is one: more than can come after sleeps that only look so.
    fn is_point(&self, due_ns: u64, period_ns: u64) -> Option<bool> {
        let is_kept = |grid: &&Grid| grid.points >= MIN_PERIODS && grid.points.saturating_mul(MANY) > self.timers.count;
        let mut kept = self.grids.iter().map(|(grid, _)| grid).filter(is_kept).peekable();
        kept.peek()?;
        Some(kept.any(|grid| grid.holds(due_ns, period_ns)))
    }

    /// Whether what is due then is a point of the grid that its timers have kept so far, if they have.
    fn is_on_grid(&self, due_ns: u64, is_by_timer: bool, period_ns: u64) -> Option<bool> {
        let grid = self.grids.iter().map(|(grid, _)| grid).max_by_key(|grid| grid.points)?;
        let is_kept = grid.points >= MIN_PERIODS && grid.points.saturating_mul(2) >= self.timers.count;
        is_kept.then(|| is_by_timer && grid.is_met(due_ns, period_ns))
    }

    /// The sleep of more than two periods since which its loop was not seen to go on, if there is one. A thread that mostly sleeps for so long is no loop.
    fn away_since(&self) -> Option<Sleep> {
        let is_known = self.ended_ns != Some(0) && !self.sleeps.are_mostly_long(self.wakeups);
        self.last_seen.since().filter(|_| is_known)
    }

    /// Whether mostly timers of its own wake it.
    fn is_of_timers(&self) -> bool {
        self.timers.count.saturating_mul(2) > self.wakeups
    }

    /// Whether it wakes about once in a period, whoever wakes it, given how many wakeups nobody saw.
    fn is_loop(&self, unseen: u64, period_ns: u64) -> bool {
        let (wakeups, until_ns) =
            self.away_since().map_or((self.wakeups, u64::MAX), |sleep| (sleep.wakeups, sleep.due_ns));
        self.sleeps.is_of_loop(wakeups.saturating_add(unseen), until_ns, period_ns)
    }

    /// For a loop that was not seen for some periods before it, or the recording, ended, then, ns: how long that was since its last cycle was due.
    fn silent_ns(&self, unseen: u64, recording_ended_ns: u64, period_ns: u64) -> Option<u64> {
        let ended_ns = self.ended_ns.unwrap_or(recording_ended_ns);
        let (from_ns, due_ns) = match self.away_since() {
            Some(sleep) => (sleep.from_ns, sleep.due_ns),
            None => (self.sleeps.seen_until_ns()?, self.by_time.open?.last().0),
        };
        let is_silent = ended_ns.checked_sub(from_ns)? > period_ns.saturating_mul(LONG_PERIODS);
        (is_silent && self.is_loop(unseen, period_ns)).then(|| ended_ns.saturating_sub(due_ns))
    }

    /// For a loop that was still there when the recording ended, then, ns, and whose last cycle was not seen to end for some periods before that: how long ago
    /// it was due.
    fn unended_ns(&self, silent_ns: Option<u64>, recording_ended_ns: u64, period_ns: u64) -> Option<u64> {
        if self.ended_ns.is_some() || recording_ended_ns == 0 {
            return None;
        }
        if silent_ns.is_some() {
            return silent_ns;
        }
        // What it worked until the recording ended counts as if it had slept then.
        self.sleeps.seen_until_ns().filter(|until_ns| *until_ns >= recording_ended_ns)?;
        let unended_ns = recording_ended_ns.saturating_sub(self.by_time.open?.due_ns);
        (unended_ns > period_ns.saturating_mul(LONG_PERIODS)).then_some(unended_ns)
    }

    /// When the first wakeup was due that began a cycle for certain, ns, and whether a grid says so: of a loop of timers, others may have woken it before within one that had
    /// begun before the recording.
    fn first_begun(&self, period_ns: u64) -> Option<(u64, bool)> {
        let timers = self.timers.count;
        let has_grid = self.grids.iter().any(|(grid, _)| grid.is_kept(timers, period_ns));
        let is_kept = |grid: &&Grid| grid.points >= MIN_PERIODS && grid.points.saturating_mul(MANY) > timers;
        let on_grid = self.grids.iter().map(|(grid, _)| grid).filter(is_kept).map(Grid::first_ns).min();
        if let Some(first_ns) = on_grid.filter(|_| has_grid) {
            return Some((first_ns, true));
        }
        let by_timer = self.timers.first_ns().filter(|_| self.is_of_timers());
        by_timer.or(self.sleeps.seen_from_ns()).map(|first_ns| (first_ns, false))
    }

    /// For a loop that was first seen to begin a cycle some periods after a recording had begun, then, ns, that had not started it: how long that was.
    fn late_seen_ns(&self, unseen: u64, recording_began_ns: u64, period_ns: u64) -> Option<u64> {
        let (first_ns, is_on_grid) = self.first_begun(period_ns)?;
        let late_ns = first_ns.checked_sub(recording_began_ns)?;
        let is_late = late_ns > period_ns.saturating_mul(LONG_PERIODS);
        (is_late && (is_on_grid || self.is_loop(unseen, period_ns))).then_some(late_ns)
    }

    /// How close together its own timers are due at least, ns, if that is much less than a period. Where others wake it, what comes early may be late.
    fn closest_ns(&self, period_ns: u64) -> Option<u64> {
        let is_close = |ns: &u64| u128::from(*ns) * 100 < u128::from(period_ns) * UNEVEN_PERCENT;
        self.timers.closest_ns.filter(|ns| self.is_of_timers() && is_close(ns))
    }

    /// Whether its own timers wake it, about once in a period, and hardly anybody else does.
    fn wakes_once(&self, period_ns: u64) -> bool {
        let timers = &self.timers;
        (self.wakeups - timers.count) * 4 <= self.wakeups
            && timers.count.saturating_mul(100) <= timers.periods(period_ns).saturating_mul(ONCE_PERCENT)
    }

    /// The counts, and which long cycles wakeups that nobody saw explain, given how many those are; `None` if nothing
    /// shows which of the wakeups begin a cycle.
    fn finish(mut self, period_ns: u64, unseen: u64, doubt: &Doubt) -> Result<Finished, Untold> {
        let sets_timers = self.sets_timers;
        let counted = |series: Series| series.finish(period_ns, unseen).of_timers(sets_timers);
        self.grids.sort_by_key(|(grid, _)| std::cmp::Reverse(grid.points));
        let next = self.grids.get(1).map_or(0, |(grid, _)| grid.points);
        let is_moved = self.grids.split_first().is_some_and(|((grid, _), others)| {
            grid.is_over(period_ns) || others.iter().any(|(other, _)| grid.is_after(other, period_ns))
        });
        let (timers, is_once) = (self.timers.count, self.wakes_once(period_ns));
        let is_loop = !self.sleeps.are_mostly_long(self.wakeups);
        let away = if is_loop { self.last_seen.was_away().beside(unseen) } else { WasAway::default() };
        let periods = self.timers.periods(period_ns);
        // Timers that stray from their grid wake it all the same.
        let starved = timers * 2 < periods && self.grids.first().is_some_and(|(grid, _)| grid.is_meant(timers));
        let kept = self.grids.into_iter().next().filter(|(grid, _)| grid.is_kept(timers, period_ns));
        if kept.as_ref().is_some_and(|(grid, _)| grid.is_left() || grid.is_shared()) {
            return Err(Untold::Unclear);
        }
        let is_meant = kept.as_ref().is_some_and(|(grid, _)| grid.is_meant(timers));
        if let Some((grid, series)) = kept {
            let is_alone = next * 2 <= grid.points && !is_moved;
            if !is_once || (is_alone && grid.is_exact(timers)) {
                let periods = grid.periods(period_ns);
                let woken = grid.points.saturating_add(grid.beside);
                let known = || counted(series).with_periods(periods, woken);
                return if is_alone { Ok(known()) } else { Err(Untold::Unclear) };
            }
        }
        let others = self.wakeups - timers;
        if timers.min(others) * 4 > self.wakeups {
            return Err(Untold::Unclear);
        }
        if timers > others {
            if is_too_often(timers, periods) {
                return Err(Untold::TooOften);
            }
            let found = counted(self.by_timer);
            let starved = starved && found.count.overruns > 0;
            let more = (doubt.begun.by_timer.saturating_add(doubt.signals), doubt.longest_ns);
            if is_meant {
                let found = found.with_whole_sleeps(&self.whole_sleeps).with_away(away).with_more_waits(more);
                let found = found.with_periods(periods, timers);
                return Ok(if starved { found.starved(periods) } else { found });
            }
            // Without a grid nothing tells which periods passed, and which wakeups are within a cycle.
            let found = found.with_waits(&self.timer_spacing).with_whole_sleeps(&self.whole_sleeps);
            let found = found.with_away(away).with_more_waits(more);
            return Ok(match starved {
                true => found.starved(periods),
                false => found.estimated(&self.timers, period_ns),
            });
        }
        if is_too_often(self.apart.count, self.apart.periods(period_ns)) {
            return Err(Untold::TooOften);
        }
        let others = self.other_wakers.waits(doubt.begun.by_time > 0, period_ns);
        let found = counted(self.by_time).with_waits(&self.time_spacing).with_other_wakers(others).with_away(away);
        let found = found.with_more_waits((doubt.begun.by_time, doubt.longest_ns)).estimated(&self.apart, period_ns);
        let is_once = self.wakeups * 4 <= found.count.cycles.max(MIN_PERIODS) * 5;
        if is_once { Ok(found) } else { Err(Untold::Unclear) }
    }
}

/// Whether a thread begins more often than once in a period, of which there were so many.
fn is_too_often(begun: u64, periods: u64) -> bool {
    begun >= MIN_PERIODS && begun.saturating_mul(100) > periods.saturating_add(1).saturating_mul(ONCE_PERCENT)
}

impl Cycles {
    /// Counts for loops that should start over this often, ns.
    pub fn new(period_ns: u64) -> Cycles {
        Cycles {
            period_ns: period_ns.max(1),
            threads: HashMap::new(),
            room: Room::default(),
            expiries: Expiries::default(),
            recorded_ns: (0, 0),
            has_started: false,
        }
    }

    /// Takes a thread's next wakeup, and whether one of its own timers caused it.
    pub fn take(&mut self, wakeup: &Wakeup, is_by_timer: bool) {
        self.take_woken(wakeup, if is_by_timer { Woken::Timer } else { Woken::Other });
    }

    /// The same with what caused it, where that is known.
    pub(super) fn take_woken(&mut self, wakeup: &Wakeup, woken: Woken) {
        // A file may name any number of threads; no measurement follows this many.
        if self.threads.len() >= MAX_TASKS && !self.threads.contains_key(&wakeup.tid) {
            return;
        }
        self.threads.entry(wakeup.tid).or_default().take(wakeup, woken, self.period_ns, &mut self.room);
    }

    /// Notes that a timer for which several threads can wait caused a wakeup that was taken.
    pub fn expired(&mut self, wakeup: &Wakeup) {
        let Some(first) = self.expiries.take(wakeup.expected_ns, wakeup.tid) else { return };
        if let Some(thread) = self.threads.get_mut(&wakeup.tid) {
            thread.sharing.all += 1;
            thread.sharing.after += 1;
        }
        if let Some(thread) = self.threads.get_mut(&first) {
            thread.sharing.all += 1;
        }
    }

    /// Notes when the recording began and ended, ns.
    pub fn within(&mut self, began_ns: u64, ended_ns: u64) {
        self.recorded_ns = (began_ns, ended_ns);
    }

    /// Notes that the recording started the loops.
    pub fn started(&mut self) {
        self.has_started = true;
    }

    /// Notes that a thread sets a timer for each of its sleeps: it learns of no expiry that it did not wait for.
    pub fn sets_timers(&mut self, tid: u32) {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.sets_timers = true;
        }
    }

    /// Notes that a thread ended then, ns: the cycle in which it did so ends without a sleep, and includes the time
    /// that the kernel took to free the thread's resources.
    pub fn end(&mut self, tid: u32, ended_ns: u64) {
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        thread.ended_ns = Some(ended_ns);
        let grids = thread.grids.iter_mut().map(|(_, series)| series);
        for series in grids.chain([&mut thread.by_timer, &mut thread.by_time]) {
            series.end(ended_ns);
        }
    }

    /// The counts for each thread, by its id, and when those of its long cycles were due that are really several, each
    /// with its own period, because a wakeup between them was not seen. `unseen` says how many wakeups of a thread
    /// nobody saw. A thread that mostly sleeps for much longer than the period counts nothing if another is a loop with it.
    pub fn finish(self, unseen: impl Fn(u32) -> u64) -> impl Iterator<Item = (u32, CycleCount, Vec<u64>)> {
        let Cycles { period_ns, recorded_ns: (recording_began_ns, recording_ended_ns), has_started, .. } = self;
        let seen_from_ns = if has_started || recording_began_ns == 0 { u64::MAX } else { recording_began_ns };
        let has_loop = self.threads.iter().any(|(tid, thread)| thread.is_loop(unseen(*tid), period_ns));
        let is_alone = self.threads.len() == 1;
        self.threads.into_iter().map(move |(tid, thread)| {
            let unseen = unseen(tid);
            let left_out = || (tid, CycleCount { left_out: 1, ..CycleCount::default() }, Vec::new());
            let is_loop = thread.is_loop(unseen, period_ns);
            let is_other = thread.sleeps.are_mostly_long(thread.wakeups) && !is_loop;
            if has_loop && is_other {
                return left_out();
            }
            let longest_gap_ns = if unseen > 0 { thread.longest_gap_ns } else { 0 };
            // The only thread, if it woke less often than this, may have been there all the time, without a sleep.
            let is_hardly_seen = is_alone && thread.wakeups < MIN_PERIODS && recording_began_ns > 0;
            let began_ns = if is_hardly_seen { recording_began_ns } else { u64::MAX };
            let has_stopped = thread.wakeups >= MIN_PERIODS && thread.sleeps.ends_asleep();
            let ended_ns = if has_stopped { 0 } else { thread.ended_ns.unwrap_or(recording_ended_ns) };
            let periods = thread.sleeps.periods_in(began_ns, ended_ns, period_ns);
            let woken = thread.wakeups.saturating_add(unseen);
            let silent_ns = thread.silent_ns(unseen, recording_ended_ns, period_ns);
            let unended_ns = thread.unended_ns(silent_ns, recording_ended_ns, period_ns).unwrap_or(0);
            let silent_ns = silent_ns.unwrap_or(0);
            let late_seen_ns = thread.late_seen_ns(unseen, seen_from_ns, period_ns).unwrap_or(0);
            let signalled_until_ns = thread.ended_ns.unwrap_or(recording_ended_ns);
            let signalled_ns = thread.last_seen.signalled_ns(signalled_until_ns, period_ns);
            let doubt = Doubt {
                begun: if silent_ns > 0 { thread.last_seen.begun_since() } else { BegunSince::default() },
                signals: thread.last_seen.signals_until(signalled_until_ns, period_ns),
                longest_ns: silent_ns.max(signalled_ns),
            };
            let closest_ns = thread.closest_ns(period_ns).unwrap_or(0);
            let (sharing, timers) = (thread.sharing, thread.timers.count);
            let Finished { count, joined, covered, .. } = match thread.finish(period_ns, unseen, &doubt) {
                Ok(found) => found,
                Err(why) => return (tid, CycleCount { unseen, longest_gap_ns, ..why.untold() }, Vec::new()),
            };
            let is_on_grid = count.all_periods() > 0;
            let is_rare = periods >= MIN_PERIODS && woken.saturating_add(covered).saturating_mul(2) < periods;
            if has_loop && !is_loop && is_rare && !is_on_grid && count.overruns == 0 {
                return left_out();
            }
            // Of others the grid tells which periods began without a wakeup.
            let rare_periods = if is_rare && !is_on_grid { periods } else { 0 };
            let starved_within = count.starved_within.min(count.starved_periods);
            let closest_ns = if is_on_grid { 0 } else { closest_ns };
            // One more may have been due, and not have ended, if the thread worked off others as the recording ended.
            let due_at_end = u64::from(unended_ns > 0 && silent_ns == 0);
            let count = CycleCount { ending_missed: count.ending_missed.saturating_add(due_at_end), ..count };
            let ends = CycleCount { silent_ns, unended_ns, late_seen_ns, signalled_ns, closest_ns, ..count };
            let count = CycleCount { unseen, starved_within, longest_gap_ns, rare_periods, ..ends };
            (tid, sharing.applied(count.with_grid(is_on_grid), timers), joined)
        })
    }
}

#[cfg(test)]
mod end_tests;
#[cfg(test)]
mod sleep_tests;
#[cfg(test)]
mod tests;
