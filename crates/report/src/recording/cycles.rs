//! How often somebody else's loops took longer than their period: a table, JSON, a section of the page.

use crate::encode::html::table::{Column, Table, Value};
use crate::encode::html::{Block, Section};
use crate::layout::{grouped, microseconds, table};
use punctual_recording::{CycleCount, FollowedCycles, Limit, Unslept, format_ns, printable};
use serde::Serialize;
use std::collections::BTreeMap;

/// The cycles of the followed threads of one measurement, compared with a period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopCycles {
    /// How often the loops should start over, ns.
    pub period_ns: u64,
    /// What was counted, by name and policy.
    pub by_name: BTreeMap<String, CycleCount>,
    /// Where a thread changed these, its wakeups under each, by those under which its cycles count.
    pub wakeups_as: BTreeMap<String, BTreeMap<String, u64>>,
    /// What the measurement is called beside others; `None` if it is alone.
    pub of: Option<String>,
}

impl LoopCycles {
    /// What was counted by this period, ns, of a measurement that is called `of` beside others.
    pub fn new(period_ns: u64, found: FollowedCycles, of: Option<String>) -> LoopCycles {
        let FollowedCycles { by_name, wakeups_as, .. } = found;
        LoopCycles { period_ns, by_name, wakeups_as, of }
    }

    /// The names, those with the most overruns first, then those with the longest cycle.
    pub(crate) fn worst_first(&self) -> Vec<(&str, &CycleCount)> {
        let mut rows: Vec<(&str, &CycleCount)> =
            self.by_name.iter().map(|(name, count)| (name.as_str(), count)).collect();
        rows.sort_by_key(|(_, count)| std::cmp::Reverse((count.overruns, count.longest_ns)));
        rows
    }

    /// The same without those of which all threads are left out, for tables.
    pub(crate) fn judged(&self) -> impl Iterator<Item = (&str, &CycleCount)> {
        self.worst_first().into_iter().filter(|(_, count)| count.cycles + count.untold > 0)
    }

    /// Judges the longest cycle by a limit, ns. If some threads' cycles cannot be counted, or some cycles were not seen, the
    /// others can break the limit but not show that it was kept. What may be several cycles can do neither where it is longer.
    pub fn judge(&self, limit_ns: u64) -> Limit {
        let longest_ns = self.longest_ns();
        let exceeded = self.by_name.values().any(|count| self.at_least_ns(count) > limit_ns);
        let may_hide = |count: &CycleCount| count.may_hide_longer_than(limit_ns);
        let longest_within_ns = self.longest_paused_ns().max(self.longest_waited_ns());
        let is_kept = longest_ns.is_some_and(|found| found <= limit_ns) && longest_within_ns <= limit_ns;
        let is_known =
            is_kept && !self.has_rare() && self.untold_names().is_none() && !self.by_name.values().any(may_hide);
        let longest_unseen_ns = self.silent_ns().max(self.signalled_ns());
        let is_known = is_known && self.unslept().threads == 0 && longest_unseen_ns <= limit_ns;
        // Nothing says how long a cycle takes that went on when the recording began, or when it ended.
        let is_known = is_known && self.unended_ns().max(self.late_seen_ns()) == 0;
        let found_ns = longest_ns.filter(|_| exceeded || is_known);
        Limit { what: "max".to_owned(), limit_ns, found_ns, exceeded, stage: Some("cycle".to_owned()) }
    }

    /// How long the longest cycle took, ns, if sleeps that may be pauses were part of it; 0 without such sleeps.
    pub(crate) fn longest_paused_ns(&self) -> u64 {
        self.by_name.values().map(|count| count.longest_paused_ns).max().unwrap_or(0)
    }

    /// How long the longest cycle took, ns, if wakeups that may end waits within one do; 0 without such wakeups.
    pub(crate) fn longest_waited_ns(&self) -> u64 {
        self.by_name.values().map(|count| count.longest_waited_ns).max().unwrap_or(0)
    }

    /// How long the last cycle took, ns, if it had not ended when its thread or the recording did, and the thread was not seen for long; 0 if there is no such thread.
    pub(crate) fn silent_ns(&self) -> u64 {
        self.by_name.values().map(|count| count.silent_ns).max().unwrap_or(0)
    }

    /// How long before the recording ended the last cycle was due, ns, if that was not seen to end for more than two periods; 0 if there is no such thread.
    pub(crate) fn unended_ns(&self) -> u64 {
        self.by_name.values().map(|count| count.unended_ns).max().unwrap_or(0)
    }

    /// The same of the first, if it went on until its thread was first seen.
    pub(crate) fn late_seen_ns(&self) -> u64 {
        self.by_name.values().map(|count| count.late_seen_ns).max().unwrap_or(0)
    }

    /// For how long at most only timers that send signals woke a thread, ns, where a cycle may have gone on meanwhile; 0 if there is no such thread.
    pub(crate) fn signalled_ns(&self) -> u64 {
        self.by_name.values().map(|count| count.signalled_ns).max().unwrap_or(0)
    }

    /// Whether a thread was not seen to do its cycles for long: before the recording ended, after it began, or while only signals woke it.
    pub(crate) fn is_partly_seen(&self) -> bool {
        self.by_name.values().any(CycleCount::is_partly_seen)
    }

    /// Whether a thread was seen in fewer than half of its periods.
    pub(crate) fn has_rare(&self) -> bool {
        self.by_name.values().any(|count| count.rare_periods > 0)
    }

    /// The threads that these loops may have started and that never slept. Those of one process may be any of its loops'.
    pub(crate) fn unslept(&self) -> Unslept {
        self.by_name.values().fold(Unslept::default(), |most, count| Unslept {
            threads: most.threads.max(count.without_sleep),
            longest_executed_ns: most.longest_executed_ns.max(count.longest_without_sleep_ns),
        })
    }

    /// How long the longest of these cycles took at least, ns.
    pub(crate) fn at_least_ns(&self, count: &CycleCount) -> u64 {
        longest(count).map_or(0, |_| count.longest_at_least_ns(self.period_ns))
    }

    /// The longest cycle that was counted, ns, if one was.
    pub(crate) fn longest_ns(&self) -> Option<u64> {
        self.by_name.values().filter_map(longest).max()
    }

    pub(crate) fn text(&self) -> String {
        let has_untold = self.by_name.values().any(|count| count.untold > 0);
        let has_not_woken = self.has_not_woken();
        let rows = self.judged().map(|(name, count)| {
            let overruns = count.overrun_count();
            let mut row = vec![printable(name), overruns.out_of()];
            row.extend(has_not_woken.then(|| periods(count)).into_iter().flatten());
            row.extend([overruns.in_words(), microseconds(longest(count))]);
            row.extend(has_untold.then(|| grouped(count.untold)));
            row
        });
        let period = format!("over {}", format_ns(self.period_ns));
        let mut columns = vec!["threads", "cycles"];
        columns.extend(has_not_woken.then_some(PERIODS).into_iter().flatten());
        columns.extend([period.as_str(), self.longest_head()]);
        columns.extend(has_untold.then_some("not told"));
        let table = table(&columns, 1..columns.len(), rows);
        match &self.of {
            Some(of) => format!("Cycles of {of}\n\n{table}"),
            None => table,
        }
    }

    /// What the longest is of: of cycles, or of several in a row.
    fn longest_head(&self) -> &'static str {
        let is_row = |count: &CycleCount| !count.longest_slept && count.longest_row().is_some();
        let has_row = self.by_name.values().any(is_row);
        if has_row { "longest without a wait us" } else { "longest us" }
    }

    /// Whether a period began without a wakeup.
    fn has_not_woken(&self) -> bool {
        self.by_name.values().filter_map(CycleCount::periods_passed).any(|passed| passed.not_woken > 0)
    }

    pub(crate) fn section(&self) -> Section {
        let has_not_woken = self.has_not_woken();
        let rows = self.judged().map(|(name, count)| {
            let overruns = count.overrun_count();
            let often =
                overruns.exact().map_or_else(|| Value::text(overruns.in_words()), |often| Value::Count(Some(often)));
            let cycles = match overruns.may_be_more_cycles {
                true => Value::text(overruns.out_of()),
                false => Value::Count(Some(overruns.cycles)),
            };
            let mut row = vec![Value::text(printable(name)), cycles];
            row.extend(has_not_woken.then(|| periods(count).map(Value::text)).into_iter().flatten());
            row.extend([often, Value::Ns(longest(count)), Value::Count(Some(count.untold))]);
            row
        });
        let period = format_ns(self.period_ns);
        let mut columns = vec![Column::words("threads"), Column::numbers("cycles")];
        columns.extend(has_not_woken.then(|| PERIODS.map(Column::numbers)).into_iter().flatten());
        columns.extend([
            Column::numbers(format!("longer than {period}")),
            Column::numbers(self.longest_head()),
            Column::numbers("threads not told"),
        ]);
        Section {
            id: "cycles".into(),
            title: self.of.as_ref().map_or_else(|| "Cycles".to_owned(), |of| format!("Cycles: {of}")),
            lead: format!(
                "{}{} A cycle goes from when it was due until the thread sleeps for the next one.",
                self.may_have_hung().map_or_else(String::new, |may_have_hung| may_have_hung + " "),
                self.verdict()
            ),
            blocks: vec![Block::Table(Table { caption: format!("Cycles of {period}"), columns, rows: rows.collect() })],
        }
    }
}

/// What [`periods`] are.
const PERIODS: [&str; 2] = ["periods", "without a wakeup"];

/// How many periods passed, and how many of them began without a wakeup.
fn periods(count: &CycleCount) -> [String; 2] {
    let Some(passed) = count.periods_passed() else { return ["-".to_owned(), "-".to_owned()] };
    let about = if passed.is_estimated { "about " } else { "" };
    [passed.all, passed.not_woken].map(|number| format!("{about}{}", grouped(number)))
}

/// The longest cycle, ns, if there was one.
pub(crate) fn longest(count: &CycleCount) -> Option<u64> {
    (count.cycles > 0).then_some(count.longest_ns)
}

/// The cycles of one name, for programs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CyclesRow<'a> {
    /// What the measurement is called beside others; absent if it is alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<&'a str>,
    measure: &'a str,
    /// Where a thread had several names or policies, its wakeups under each; its cycles count under the one with most.
    wakeups_as: Option<&'a BTreeMap<String, u64>>,
    period_ns: u64,
    /// Stretches between two sleeps that ended, each counted as one cycle: `own_cycles` are those that the loop would count.
    cycles: u64,
    /// Stretches that took longer than the period, each counted as one: how many cycles took too long is between
    /// `least_overruns` and `most_overruns`.
    overruns: u64,
    longest_ns: Option<u64>,
    /// How long the longest cycle certainly took: less, if the longest stretch may be several cycles, or have gone on after its cycle.
    longest_at_least_ns: Option<u64>,
    /// How many periods began during the longest: unless the loop skips them, it is not one cycle but so many more.
    longest_missed: u64,
    /// Threads whose wakeups do not show which of them begin a cycle: they count none.
    untold: u64,
    /// Those of them that wake more often than once in a period.
    too_often: u64,
    /// Threads that mostly slept for much longer than the period, beside others that woke about once in it: no loops with that
    /// period, which count nothing here.
    left_out: u64,
    /// Threads whose timers were due when those of others were, as of one timer that they share: each time counts as one cycle, and they
    /// count no `periods`.
    sharing: u64,
    /// Wakeups that nobody saw or that were lost: at most this many overruns are really two cycles that both kept their
    /// period.
    unseen: u64,
    /// At least this many cycles took too long, as the loop itself would count them, whatever was not seen, not counting
    /// those in which a thread ended.
    least_overruns: u64,
    /// By what was seen at most this many did.
    most_overruns: u64,
    /// Whether others may have that were not seen: behind wakeups that nobody saw, within a stretch that may hold any number of
    /// cycles, or as the work of threads that never slept.
    may_be_more: bool,
    /// Out of how many cycles, as the loop itself would count them.
    own_cycles: u64,
    /// Whether these may have been more: wakeups were not seen, or a stretch may hold cycles that the loop made up for.
    may_be_more_cycles: bool,
    /// Of the most overruns, those in which the thread slept, and that are none if the cycle had ended then and something other than
    /// the next woke the thread.
    slept: u64,
    /// Of the most overruns, those that are none if the loop wakes early and waits on its CPU until a cycle is due.
    spun: u64,
    /// Of the most overruns, those that are none if a sleep of more than two periods was a pause after the cycle.
    paused: u64,
    /// How long the longest cycle took if such a sleep was part of it; `longest_ns` is without them.
    longest_paused_ns: Option<u64>,
    /// How long ago the last cycle that was seen to begin was due as its thread or the recording ended, if the loop was not seen to go on for more than two
    /// periods before that: the cycle may have gone on all the time, or the next have been kept from its CPU.
    silent_ns: Option<u64>,
    /// How long before the recording ended the last cycle was due of a thread that was still there then, if that is more than two periods and the cycle was not
    /// seen to end: how long it took is not known, and no limit on the cycles counts as kept.
    unended_ns: Option<u64>,
    /// How long after the recording began, which had not started the loop, its thread was first seen to begin a cycle, if that is more than two periods: a cycle may have
    /// gone on all the time.
    late_seen_ns: Option<u64>,
    /// For how long at most timers that send signals were all of its own that woke a thread which timers for which it waits woke otherwise, if that is more than
    /// two periods: handlers of these signals may have run while a cycle went on.
    signalled_ns: Option<u64>,
    /// Beginnings of cycles that may as well be ends of waits within the cycle before: `own_cycles` is without them.
    waits: u64,
    /// How long the longest of the cycles took to which these then belong; `longest_ns` is without them.
    longest_waited_ns: Option<u64>,
    /// Overruns in which a thread ended: they include the time that the kernel took to free what it had.
    ending: u64,
    /// Periods of the grid that the threads' own timers keep; 0 if they keep none.
    periods: u64,
    /// Those that began without a wakeup: the previous cycle still ran, or the wakeup was not seen. Of a thread that woke in
    /// fewer than half of its periods, those that certainly began within the previous cycle.
    not_woken: u64,
    /// Those of the periods without a wakeup that passed in a sleep which began before them.
    asleep: u64,
    /// Periods of threads that were seen in fewer than half of them, and whose timers keep no grid: what these threads did in the
    /// others is not known. They are not among `periods`.
    rare_periods: u64,
    /// Threads that the loop may have started and that began and ended without ever sleeping: no wakeup shows how long what they did
    /// took, which may be what the loop is for. Those of one process are counted for each of its loops.
    without_sleep: u64,
    /// How long the one that ran longest was on a CPU; it may have waited for one besides. Null without such threads.
    longest_without_sleep_ns: Option<u64>,
    /// About how many periods passed for threads whose timers keep no grid: those that start over after an overrun, and those
    /// that others wake. They are not among `periods`.
    estimated_periods: u64,
    /// How many of these began without a wakeup, by the time from one cycle to the next: dropped, made up for without sleeping,
    /// or with a wakeup that was not seen.
    estimated_not_woken: u64,
    /// What the loop does about periods that begin during a long cycle: `catches-up`, `skips`, `makes-up-for-some` or
    /// `unknown`.
    after_overrun: &'static str,
    /// Cycles that were due while their thread, asleep until then, was stopped, frozen or kept from every CPU.
    held: u64,
    /// Where it was seen to make up for some and to drop others: for about how many in a row, or more, by its CPU time.
    makes_up_for: Option<u64>,
    /// The overruns that are certain, as the loop itself would count them; where it is unknown what it does, as if it
    /// caught up; where it was seen to make up for some of the periods, these are counted too, up to so many for each long
    /// cycle.
    own_overruns: u64,
}

impl<'a> CyclesRow<'a> {
    fn new(loops: &'a LoopCycles, measure: &'a str, count: &CycleCount) -> CyclesRow<'a> {
        let overruns = count.overrun_count();
        CyclesRow {
            of: loops.of.as_deref(),
            measure,
            wakeups_as: loops.wakeups_as.get(measure),
            period_ns: loops.period_ns,
            cycles: count.cycles,
            overruns: count.overruns,
            longest_ns: longest(count),
            longest_at_least_ns: longest(count).map(|_| loops.at_least_ns(count)),
            longest_missed: count.longest_missed,
            untold: count.untold,
            too_often: count.too_often,
            left_out: count.left_out,
            sharing: count.sharing,
            unseen: count.unseen,
            least_overruns: overruns.least,
            most_overruns: overruns.most,
            may_be_more: overruns.may_be_more,
            own_cycles: overruns.cycles,
            may_be_more_cycles: overruns.may_be_more_cycles,
            slept: count.slept,
            spun: count.spun,
            paused: count.paused,
            longest_paused_ns: (count.longest_paused_ns > 0).then_some(count.longest_paused_ns),
            silent_ns: (count.silent_ns > 0).then_some(count.silent_ns),
            unended_ns: (count.unended_ns > 0).then_some(count.unended_ns),
            late_seen_ns: (count.late_seen_ns > 0).then_some(count.late_seen_ns),
            signalled_ns: (count.signalled_ns > 0).then_some(count.signalled_ns),
            waits: count.waits,
            longest_waited_ns: (count.longest_waited_ns > 0).then_some(count.longest_waited_ns),
            ending: count.ending,
            periods: count.all_periods(),
            not_woken: count.not_woken.saturating_add(count.starved_within),
            asleep: count.asleep,
            rare_periods: count.rare_periods,
            without_sleep: count.without_sleep,
            longest_without_sleep_ns: (count.without_sleep > 0).then_some(count.longest_without_sleep_ns),
            estimated_periods: count.estimated_periods,
            estimated_not_woken: count.estimated_not_woken,
            after_overrun: count.after_overrun().name(),
            held: count.held,
            makes_up_for: count.after_overrun().limit(),
            own_overruns: count.own_overruns(),
        }
    }

    pub(crate) fn all(cycles: &'a [LoopCycles]) -> Vec<CyclesRow<'a>> {
        let of = |loops: &'a LoopCycles| {
            loops.worst_first().into_iter().map(move |(measure, count)| CyclesRow::new(loops, measure, count))
        };
        cycles.iter().flat_map(of).collect()
    }
}

#[cfg(test)]
mod doubt_tests;
#[cfg(test)]
mod tests;
