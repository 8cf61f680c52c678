//! The loops of other programs: how often a cycle will take longer than its period.

use crate::Error;
use crate::Stage;
use crate::input::{Input, ObservedTask, cautions};
use punctual_device::Profile;
use punctual_recording::bounds::MAX_TIME_NS;
use punctual_recording::{
    CycleCount, Document, MUCH_MORE, TailValue, Task, agreeing, counted, format_ns, grouped, spoken_measure,
    wakes_about_once,
};
use std::collections::BTreeMap;

/// A thread that wakes in fewer of a hundred periods than this may have another period than the one asked for.
const CLOSE_PERCENT: u64 = 90;

/// A thread that ended within the first part of a recording, one of this many, is no loop that it was made for.
const SHORT_LIVED: u64 = 10;

/// The most loops that are said to have ended early.
const MAX_ENDED: usize = 3;

/// Hours of use that an hour of a program stands for, times 1,000.
const ITS_OWN_USE: u64 = 1_000;

/// What the loops of a recording of followed threads are forecast from.
#[derive(Debug, Clone)]
pub struct Loops {
    /// One for each measure.
    pub inputs: Vec<Input>,
    /// The loop as a device that has to finish a cycle's work before the next begins. It is judged by
    /// [`Stage::Response`](crate::Stage::Response), from when a cycle was due until its work was done, which leaves
    /// nothing to compute.
    pub profile: Profile,
    /// What the wakeups of loops do not show: sentences that go before the forecast.
    pub counted: Vec<String>,
}

/// Whether a thread of a recording wakes about once in each period that it was recorded with, and its measure is one of
/// those whose cycles can be counted: others yield no forecast of a loop.
pub fn has_loops(document: &Document, is_counted: impl Fn(&str) -> bool) -> bool {
    let Some(followed) = &document.followed else { return false };
    followed.period_ns.is_some_and(|period_ns| {
        let context = followed.context();
        let mut judged = document.tasks.iter().filter(|task| !context.contains(&task.tid));
        judged.any(|task| is_loop(task, periods_of(document, task, period_ns)) && is_counted(&task.measure))
    })
}

/// For how long a thread was there that ended before the recording did, ns. `None` for one that was there to the end, and for one
/// that ended so early that it was no loop.
fn ended_after_ns(document: &Document, task: &Task) -> Option<u64> {
    let threads = &document.followed.as_ref()?.threads;
    let ended_ns = threads.iter().find(|thread| thread.tid == task.tid)?.ended_ns?;
    let (own_ns, all_ns) = (ended_ns.saturating_sub(document.provenance.started_ns), document.measured_ns());
    (own_ns < all_ns && own_ns >= all_ns / SHORT_LIVED).then_some(own_ns)
}

/// How many periods the recording is long, as far as a thread was there.
pub(crate) fn periods_of(document: &Document, task: &Task, period_ns: u64) -> u64 {
    ended_after_ns(document, task).unwrap_or_else(|| document.measured_ns()) / period_ns.max(1)
}

impl Input {
    /// Splits a recording of followed threads, as [`Input::from_recording`] does one of periodic threads. The loops'
    /// period, ns, is that of the recording unless another one is given.
    ///
    /// `None` for any other recording, and without a period.
    ///
    /// # Errors
    /// [`Error::Recording`] if none of the threads wakes about once in a period.
    pub fn of_loops(
        document: &Document,
        period_ns: Option<u64>,
        (tail, seconds): (&[TailValue], &[u64]),
        damaged: &[punctual_recording::Error],
    ) -> Result<Option<Loops>, Error> {
        let Some(followed) = &document.followed else { return Ok(None) };
        let asked_ns = period_ns.filter(|asked| followed.period_ns != Some(*asked));
        let Some(period_ns) = period_ns.or(followed.period_ns) else { return Ok(None) };
        let periods = |task: &Task| periods_of(document, task, period_ns);
        let context = followed.context();
        let loops = |task: &Task| is_loop(task, periods(task)) && !context.contains(&task.tid);
        let mut cautions = cautions(document, damaged);
        let judged = document.tasks.iter().filter(|task| !context.contains(&task.tid));
        let others = judged.filter(|task| task.counters.wakeups > 0 && !loops(task)).count();
        if others > 0 {
            cautions.push(format!(
                "{} {} not wake about once in {} and {} left out",
                counted(others as u64, "other thread"),
                agreeing(others, "does", "do"),
                format_ns(period_ns),
                agreeing(others, "is", "are"),
            ));
        }
        if let Some(asked_ns) = asked_ns {
            let chosen = document.tasks.iter().filter(|task| loops(task));
            cautions
                .extend(chosen.filter_map(|task| other_period(task, asked_ns, periods_of(document, task, asked_ns))));
        }
        // The threads of a command come and go with it.
        if !followed.is_of_the_command() {
            let chosen = document.tasks.iter().filter(|task| loops(task));
            cautions.extend(chosen.filter_map(|task| ended_early(document, task)).take(MAX_ENDED));
        }
        let of = |task: &Task| loops(task).then(|| ObservedTask { period_ns, missed: None, ..ObservedTask::of(task) });
        let mut inputs = Input::of_threads(document, (tail, seconds), &of, &cautions);
        // If a command was followed alone, an hour is an hour of its own use.
        if followed.is_of_the_command() && document.provenance.load.commands.len() == 1 {
            inputs.iter_mut().for_each(|input| input.compression_thousandths = Some(ITS_OWN_USE));
        }
        if inputs.is_empty() {
            return Err(Error::Recording(format!(
                "none of its threads wakes about once in {}: the period (--period) has to be that of the loop, and where most of its cycles \
                 take longer, `punctual report` counts them",
                format_ns(period_ns)
            )));
        }
        Ok(Some(Loops { inputs, profile: Profile::of_loop(period_ns), counted: Vec::new() }))
    }
}

impl Loops {
    /// Compares the forecast, which counts wakeups, with whole cycles, and takes over the overruns of loops that catch
    /// up. It leaves out measures whose wakeups do not show where a cycle begins, and says which periods it cannot see,
    /// by the cycles of each measure.
    ///
    /// # Errors
    /// [`Error::Recording`] where whole cycles tell of more overruns than single wakeups do, or may tell of many more, and
    /// where none can be counted.
    pub fn held_against(self, document: &Document, cycles: &BTreeMap<String, CycleCount>) -> Result<Loops, Error> {
        let mut loops = self.without_uncounted(cycles)?;
        for input in &mut loops.inputs {
            let Some(count) = cycles.get(&input.measure) else { continue };
            if count.untold > 0 {
                let threads = counted(count.untold, "thread");
                let words = "cannot be counted, and each wakeup there is taken for one";
                input.cautions.push(format!("the cycles of {threads} of {} {words}", spoken_measure(&input.measure)));
            }
            if count.without_sleep > 0 {
                let threads = counted(count.without_sleep, "thread");
                input.cautions.push(format!(
                    "{threads} that {} may have started ended without ever sleeping: what they did is no part of this",
                    spoken_measure(&input.measure)
                ));
            }
            if count.overran_beyond_wakeups() {
                return Err(Error::Recording(beyond_wakeups(&spoken_measure(&input.measure), count)));
            }
            let periods = count.periods.saturating_add(count.estimated_periods);
            let watched_ns = periods.saturating_mul(loops.profile.period_ns).min(MAX_TIME_NS);
            // Where no periods are counted.
            let threads_ns = input.exposure_ns.saturating_mul(input.tasks.len() as u64).min(MAX_TIME_NS);
            // Skipped periods went by and brought no cycle. With several threads, nothing says whose they were.
            if input.tasks.len() == 1 {
                input.exposure_ns = input.exposure_ns.max(watched_ns);
            }
            // Of a loop that is mostly behind no periods are known.
            let watched_ns = if watched_ns > 0 { watched_ns } else { input.exposure_ns };
            if count.untold > 0 {
                loops.counted.extend(what_is_not_told(&input.measure, document, loops.profile.period_ns));
            }
            loops.counted.extend(what_single_wakeups_miss(input, count, watched_ns.max(threads_ns)));
            input.cycles = Some(*count);
        }
        Ok(loops)
    }

    /// Leaves out the measures for which `punctual report` counts no cycles either.
    fn without_uncounted(mut self, cycles: &BTreeMap<String, CycleCount>) -> Result<Loops, Error> {
        let is_counted = |input: &Input| {
            let count = cycles.get(&input.measure);
            count.is_none_or(|count| count.cycles > 0 || count.untold == 0)
        };
        let (counted, uncounted): (Vec<Input>, Vec<Input>) = self.inputs.into_iter().partition(is_counted);
        let names: Vec<String> = uncounted.iter().map(|input| spoken_measure(&input.measure)).collect();
        let names = names.join(", ");
        if counted.is_empty() {
            return Err(Error::Recording(format!(
                "the cycles of {names} cannot be counted: nothing shows which wakeups begin one; `punctual report --limit \
                 response:max=TIME` judges each wakeup by a time instead"
            )));
        }
        self.inputs = counted;
        for input in self.inputs.iter_mut().filter(|_| !uncounted.is_empty()) {
            let is = agreeing(uncounted.len(), "is", "are");
            input.cautions.push(format!("{names} {is} left out: nothing shows which wakeups begin a cycle"));
        }
        Ok(self)
    }
}

/// Why there is no forecast of a loop that overran more often than its single wakeups show, or may have.
fn beyond_wakeups(measure: &str, count: &CycleCount) -> String {
    let because = match count.least_overruns() > count.certain {
        true => "it waits within its cycles".to_owned(),
        false if count.slept > count.unseen => "it may wait within its cycles".to_owned(),
        false if count.spun > count.unseen => {
            "it may wait on its CPU until its cycles are due, or within them".to_owned()
        }
        false if count.unseen == 0 => {
            let waits = counted(count.waits, "wakeup");
            format!("{waits} came at other times or from others than usual, and it may wait within its cycles")
        }
        false => format!("{} not seen, and it may wait within its cycles", agreeing_count(count.unseen)),
    };
    format!(
        "{} of {measure} took too long, of which single wakeups show {}: {because} (for a lock, for another program, or asleep). \
         `punctual report` counts such cycles, but no forecast is made of them; `punctual compare BEFORE AFTER` says whether a \
         change made them fewer",
        count.overrun_count().of_cycles_in_words(),
        grouped(count.certain)
    )
}

/// Says that whole cycles tell of more overruns, or of longer cycles, than single wakeups, from which a forecast is
/// made: each wakeup that nobody saw may have begun a cycle of its own, or may lie within one.
fn what_single_wakeups_miss(input: &Input, count: &CycleCount, watched_ns: u64) -> Option<String> {
    let longest_ns = input.stages.get(&Stage::Response).and_then(|work| work.distribution.max()).unwrap_or(0);
    // The same numbers as in the verdict.
    let (shown, (_, most)) = (count.certain.max(count.own_overruns()), count.own_overruns_between());
    // Periods that it drops are no overruns that may hide.
    let most = if count.after_overrun().limit().is_some() { shown.max(count.overruns) } else { most };
    let beyond =
        |factor: u64| most > shown.saturating_mul(factor) || count.longest_ns > longest_ns.saturating_mul(factor);
    if count.unseen == 0 || !beyond(1) {
        return None;
    }
    let (measure, counts) = (spoken_measure(&input.measure), grouped(shown));
    let overruns = count.overrun_count().of_cycles_in_words();
    // A wakeup that a stop ended may begin before its cycle was due.
    let seen_ns = if count.longest_ns > 0 { longest_ns.min(count.longest_ns) } else { longest_ns };
    let (longest, seen, unseen) = (format_ns(count.longest_ns), format_ns(seen_ns), agreeing_count(count.unseen));
    Some(match beyond(MUCH_MORE) {
        true => format!(
            "This may be far too optimistic for {measure}: {overruns} took too long, up to one every {}, the longest {longest}. \
             The forecast is made of single wakeups, which show {counts}, the longest {seen} ({unseen} not seen). ",
            format_ns(watched_ns / most.max(1)),
        ),
        false if most == shown => format!(
            "The longest that this counts of {measure} is {seen}: {unseen} not seen, and a cycle may have taken {longest}. "
        ),
        false => {
            let counts = match count.after_overrun().limit() {
                Some(_) => counted(shown, "overrun"),
                None => format!("the {} certain", certain_overruns(shown)),
            };
            format!(
                "Of {measure} this counts {counts}, the longest of {seen}: {unseen} not seen, and {overruns} took too long, the longest \
                 of {longest}. "
            )
        }
    })
}

fn certain_overruns(certain: u64) -> String {
    format!("{} that {}", counted(certain, "overrun"), agreeing(certain, "is", "are"))
}

fn agreeing_count(unseen: u64) -> String {
    format!("{} {}", counted(unseen, "wakeup"), agreeing(unseen, "was", "were"))
}

/// One period without a wakeup in this many is not worth a word.
const MANY_PERIODS: u64 = 100;

/// In how many periods loops did not wake, where nothing tells which of their wakeups begin cycles, and so whether a
/// period began within one.
fn what_is_not_told(measure: &str, document: &Document, period_ns: u64) -> Option<String> {
    let periods = |task: &Task| periods_of(document, task, period_ns);
    let own: Vec<&Task> =
        document.tasks.iter().filter(|task| task.measure == measure && is_loop(task, periods(task))).collect();
    let seen = |task: &&Task| {
        let counters = &task.counters;
        counters.wakeups.saturating_add(counters.unobserved).saturating_add(counters.lost)
    };
    let woken = own.iter().map(seen).fold(0, u64::saturating_add);
    let due = own.iter().map(|task| periods(task)).fold(0, u64::saturating_add);
    let others = due.saturating_sub(woken);
    (others > due / MANY_PERIODS).then(|| {
        let measure = spoken_measure(measure);
        format!(
            "{measure} woke in only {} of about {}, and nothing tells which of its wakeups begin cycles: where it catches up without sleeping, \
             it overran in the other {} too, one every {}. ",
            grouped(woken),
            counted(due, "period"),
            grouped(others),
            format_ns((u128::from(due) * u128::from(period_ns) / u128::from(others)) as u64),
        )
    })
}

/// If a loop ended clearly before its recording did, says so: its forecast is of the time until then.
fn ended_early(document: &Document, task: &Task) -> Option<String> {
    let own_ns = ended_after_ns(document, task)?;
    let before_ns = document.ended_early_ns(document.provenance.started_ns.saturating_add(own_ns))?;
    Some(format!(
        "{} ended {} before the recording did: this is of the time until then",
        spoken_measure(&task.measure),
        format_ns(before_ns)
    ))
}

/// If a thread wakes clearly less often than once in the period that was asked for, says how often it does.
fn other_period(task: &Task, asked_ns: u64, periods: u64) -> Option<String> {
    let seen = task.counters.wakeups.saturating_add(task.counters.unobserved);
    let is_other = u128::from(seen) * 100 < u128::from(periods) * u128::from(CLOSE_PERCENT);
    let every_ns = (u128::from(periods) * u128::from(asked_ns) / u128::from(seen.max(1))) as u64;
    is_other.then(|| {
        format!(
            "{} woke about every {}, not every {}: if that is its period, this says how often its cycles would be too long for a \
             shorter one, not how often they are",
            spoken_measure(&task.measure),
            format_ns(every_ns),
            format_ns(asked_ns)
        )
    })
}

/// Whether the thread wakes about once in a period.
fn is_loop(task: &Task, periods: u64) -> bool {
    let seen = task.counters.wakeups.saturating_add(task.counters.unobserved);
    task.counters.wakeups > 0 && wakes_about_once(seen, periods)
}
