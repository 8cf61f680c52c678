//! Of loops: how often their cycles took longer than their period.

mod doubts;

use crate::layout::{counted, grouped};
use crate::recording::cycles::{LoopCycles, longest};
use doubts::{held, partly_seen, paused, rare, sharing, slept, spun, starved, unslept, waits};
use punctual_recording::{
    AfterOverrun, CycleCount, Document, Limit, Task, Unslept, agreeing, format_ns, printable, spoken_measure,
};
use std::collections::BTreeMap;

/// The most names in a sentence; the table has all.
const MAX_NAMED: usize = 3;
/// What a thread was called for one in so many of its wakeups, or more, is said: not what it was before it took its policy.
const FEW: u64 = 20;

impl LoopCycles {
    /// That a loop was not seen to go on for so long that it may have hung, as the sentence with which an answer begins.
    pub fn may_have_hung(&self) -> Option<String> {
        let has_hung = |(_, count): &(&String, &CycleCount)| count.may_have_hung(self.period_ns);
        let (name, count) = self.by_name.iter().filter(has_hung).max_by_key(|(_, count)| count.silent_ns)?;
        let ended = if count.unended_ns >= count.silent_ns { "the recording" } else { "its thread" };
        Some(format!(
            "{} may have hung: its loop was not seen to go on after the cycle that was due {} before {ended} ended. That cycle had not ended, the next was kept \
             from its CPU, or the loop had stopped or goes on by other wakeups than before.",
            spoken(name),
            format_ns(count.silent_ns)
        ))
    }

    /// The answer in a sentence or two.
    pub fn verdict(&self) -> String {
        self.of_judged() + &self.ran_as() + &self.left_out()
    }

    /// The answer about the threads that were not left out.
    fn of_judged(&self) -> String {
        let untold = self.untold();
        match self.told() {
            Some(told) if untold.is_empty() => told,
            Some(told) => format!("{told} {untold}"),
            None if untold.is_empty() => format!(
                "No cycle of {} was seen to end: one ends with a sleep, and a loop that is always behind never sleeps.",
                format_ns(self.period_ns)
            ),
            None => untold,
        }
    }

    /// A limit that was exceeded, or could not be judged, as a sentence with a space before.
    pub fn over_limit(&self, limit: &Limit) -> String {
        match limit.found_ns {
            None if self.longest_ns().is_some_and(|longest_ns| longest_ns > limit.limit_ns) => {
                self.may_be_over(limit.limit_ns)
            }
            None if self.longest_ns().is_some() && self.longest_paused_ns() > limit.limit_ns => format!(
                " The limit on the cycles cannot be judged: a cycle took {} if a sleep of more than two periods was part of it and not a pause.",
                format_ns(self.longest_paused_ns())
            ),
            None if self.longest_ns().is_some() && self.longest_waited_ns() > limit.limit_ns => format!(
                " The limit on the cycles cannot be judged: a cycle took {} if wakeups at other times or from others than usual ended waits within it.",
                format_ns(self.longest_waited_ns())
            ),
            None if self.longest_ns().is_some() && self.silent_ns() > limit.limit_ns => format!(
                " The limit on the cycles cannot be judged: the last cycle took {} or more if it had not ended when its thread or the recording did.",
                format_ns(self.silent_ns())
            ),
            None if self.longest_ns().is_some() && self.unended_ns() > 0 => format!(
                " The limit on the cycles cannot be judged: the last cycle was due {} before the recording ended, and was not seen to end.",
                format_ns(self.unended_ns())
            ),
            None if self.longest_ns().is_some() && self.late_seen_ns() > 0 => format!(
                " The limit on the cycles cannot be judged: a cycle took {} or more if one went on until its thread was first seen.",
                format_ns(self.late_seen_ns())
            ),
            None if self.longest_ns().is_some() && self.signalled_ns() > limit.limit_ns => format!(
                " The limit on the cycles cannot be judged: a cycle took up to {} if it went on while only timers that send signals woke its thread.",
                format_ns(self.signalled_ns())
            ),
            None if self.has_rare() && self.untold_names().is_none() => format!(
                " The limit on the cycles cannot be judged: fewer than half of the periods began with a wakeup; the longest cycle seen took {}.",
                self.longest_ns().map_or_else(|| "no time".to_owned(), format_ns)
            ),
            None if self.unslept().threads > 0 && self.untold_names().is_none() => self.may_be_others_work(),
            None => match (self.longest_ns(), self.untold_names()) {
                (Some(longest), Some(names)) => format!(
                    " The limit on the cycles cannot be judged for {names}; of those that were counted the longest took {}.",
                    format_ns(longest)
                ),
                (Some(longest), None) => {
                    let unseen: u64 = self.by_name.values().map(|count| count.unseen).sum();
                    format!(
                        " The limit on the cycles cannot be judged: {} {} not seen, and {} may have taken longer; the longest seen took {}.",
                        counted(unseen, "wakeup"),
                        agreeing(unseen, "was", "were"),
                        agreeing(unseen, "its cycle", "their cycles"),
                        format_ns(longest)
                    )
                }
                _ => " No limit on the cycles can be judged: none was counted.".to_owned(),
            },
            Some(found) if limit.exceeded => {
                format!(
                    " Over the limit: {}; {} is allowed.",
                    self.over(limit.limit_ns, found),
                    format_ns(limit.limit_ns)
                )
            }
            Some(_) => String::new(),
        }
    }

    /// The same of several limits, each of which was judged; of several that cannot be, it says which.
    pub fn over_limits(&self, limits: &[Limit]) -> String {
        let said = |limit: &Limit| {
            let said = self.over_limit(limit);
            match limits.len() {
                0 | 1 => said,
                _ => said.replacen("The limit on", &format!("The limit of {} on", format_ns(limit.limit_ns)), 1),
            }
        };
        let mut all: Vec<String> = limits.iter().map(said).collect();
        all.dedup();
        all.concat()
    }

    /// What shows that a cycle took longer than this limit, ns, if the longest stretch took so long, ns: of several cycles in a row one
    /// did for certain.
    fn over(&self, limit_ns: u64, found_ns: u64) -> String {
        let at_least_ns = self.by_name.values().map(|count| self.at_least_ns(count)).max().unwrap_or(0);
        let is_over = |count: &&CycleCount| self.at_least_ns(count) > limit_ns;
        let row = self.longest_count().filter(is_over);
        let row = row.and_then(|count| Some((row_without_a_wait(count)?, self.at_least_ns(count))));
        match row {
            Some((row, ns)) => format!("{row}, and one of them {}", self.at_least_in_words(ns)),
            None if at_least_ns < found_ns => format!("the longest cycle took {}", self.at_least_in_words(at_least_ns)),
            None => format!("the longest cycle took {}", format_ns(found_ns)),
        }
    }

    /// How long the longest cycle took at least. An overrun alone shows that it was longer than its period.
    fn at_least_in_words(&self, at_least_ns: u64) -> String {
        match at_least_ns.checked_sub(self.period_ns) {
            Some(1) => format!("more than {}", format_ns(self.period_ns)),
            _ => format!("at least {}", format_ns(at_least_ns)),
        }
    }

    /// That the longest stretch is over this limit, ns, but may be several cycles, each of which kept it.
    fn may_be_over(&self, limit_ns: u64) -> String {
        let row = self.longest_count().and_then(row_without_a_wait);
        let row = row.unwrap_or_else(|| {
            let longest = self.longest_ns().map_or_else(String::new, format_ns);
            match self.longest_count().is_some_and(|count| count.longest_slept) {
                true => format!("in what took {longest} its thread slept, maybe after its cycle"),
                false => format!("what took {longest} may be several cycles, between which wakeups were not seen"),
            }
        });
        let at_least = match self.by_name.values().map(|count| self.at_least_ns(count)).max() {
            None | Some(0) => String::new(),
            Some(ns) => format!(", and the longest cycle {}", self.at_least_in_words(ns)),
        };
        format!(" The limit on the cycles cannot be judged: {row}{at_least}; {} is allowed.", format_ns(limit_ns))
    }

    /// That the limit cannot be judged, because threads that never slept may have done what the loop is for.
    fn may_be_others_work(&self) -> String {
        let Unslept { threads, longest_executed_ns } = self.unslept();
        format!(
            " The limit on the cycles cannot be judged: {} that the loop may have started ended without ever sleeping, after up to {} on a CPU, \
             and no wakeup shows how long what {} did took; the longest cycle seen took {}.",
            counted(threads, "thread"),
            format_ns(longest_executed_ns),
            agreeing(threads, "it", "they"),
            self.longest_ns().map_or_else(|| "no time".to_owned(), format_ns)
        )
    }

    /// The cycles among which the longest is.
    fn longest_count(&self) -> Option<&CycleCount> {
        self.by_name.values().max_by_key(|count| longest(count))
    }

    /// Whether the thread slept in the longest, which may have ended then.
    fn longest_may_be_shorter(&self) -> bool {
        self.longest_count().is_some_and(|count| count.longest_slept && self.at_least_ns(count) < count.longest_ns)
    }

    /// The sentence about threads whose cycles were counted, if there were any.
    fn told(&self) -> Option<String> {
        let period = format_ns(self.period_ns);
        let rows: Vec<(&str, &CycleCount)> =
            self.worst_first().into_iter().filter(|(_, count)| count.cycles > 0).collect();
        let longest = rows.iter().map(|(_, count)| count.longest_ns).max()?;
        let is_over = |(_, count): &&(&str, &CycleCount)| count.overrun_count().most > 0;
        let over: Vec<(String, String)> = (rows.iter().filter(is_over).take(MAX_NAMED))
            .map(|(name, count)| {
                let often = count.overrun_count().of_cycles_in_words();
                let longest = longest_in_words(count, self.period_ns);
                let ending = match count.ending {
                    0 => String::new(),
                    ending => format!(" ({} as {} thread ended)", grouped(ending), agreeing(ending, "its", "their")),
                };
                (spoken(name), format!("in {often}{ending}, {longest}"))
            })
            .collect();
        let Some((first, others)) = over.split_first() else {
            let sum = |of: fn(&CycleCount) -> u64| rows.iter().map(|(_, count)| of(count)).sum::<u64>();
            let (all, unseen) = (sum(|count| count.cycles.saturating_sub(count.waits)), sum(|count| count.unseen));
            let at_least = if sum(|count| count.waits) > 0 { "at least " } else { "" };
            let (cycles, were) = (grouped(all), agreeing(all, "was", "were"));
            let none = match unseen {
                0 if self.has_rare() || self.unslept().threads > 0 || self.is_partly_seen() => {
                    format!("No cycle of {cycles} that {were} seen took longer than {period}")
                }
                0 => format!("No cycle of {at_least}{cycles} took longer than {period}"),
                _ => format!(
                    "No cycle of {at_least}{cycles} that {were} seen took longer than {period}, and {} {} not seen",
                    grouped(unseen),
                    agreeing(unseen, "was", "were")
                ),
            };
            let more =
                [not_woken(&rows), about_not_woken(&rows), rare(&rows), sharing(&rows), waits(&rows), held(&rows)]
                    .concat();
            let at_most = if self.longest_may_be_shorter() { " at most" } else { "" };
            let unslept = unslept(self.unslept());
            let partly = partly_seen(&rows, self.period_ns);
            return Some(format!("{none}; the longest took {}{at_most}.{more}{partly}{unslept}", format_ns(longest)));
        };
        let others: String = others.iter().map(|(name, how_often)| format!("; {name} {how_often}")).collect();
        let (name, often) = first;
        let periods = [not_woken(&rows), about_not_woken(&rows), starved(&rows), rare(&rows), sharing(&rows)].concat();
        let within = [slept(&rows), spun(&rows), paused(&rows), waits(&rows), held(&rows)].concat()
            + &partly_seen(&rows, self.period_ns);
        let more = periods + &within + &unslept(self.unslept());
        Some(format!("{name} took longer than {period} {often}{others}.{more}"))
    }

    /// The sentence about the others; empty if there are none.
    fn untold(&self) -> String {
        let threads = |of: fn(&CycleCount) -> u64| self.by_name.values().map(of).fold(0, u64::saturating_add);
        let (untold, too_often) = (threads(|count| count.untold), threads(|count| count.too_often));
        self.untold_names().map_or_else(String::new, |names| {
            let often = match too_often {
                0 => String::new(),
                _ if too_often < untold => {
                    format!(
                        "{} more often than once in {}, and ",
                        if too_often == 1 { "one wakes" } else { "some wake" },
                        format_ns(self.period_ns)
                    )
                }
                _ => format!(
                    "{} more often than once in {}, and ",
                    agreeing(too_often, "it wakes", "they wake"),
                    format_ns(self.period_ns)
                ),
            };
            format!("The cycles of {names} cannot be counted: {often}nothing shows which wakeups begin one.")
        })
    }

    /// The sentence about loops that ended before their recording did, with a space before; empty if there are none. The threads of
    /// a command come and go with it.
    pub fn ended_before(&self, document: &Document) -> String {
        let Some(followed) = document.followed.as_ref().filter(|followed| !followed.is_of_the_command()) else {
            return String::new();
        };
        let ended_ns = |task: &Task| followed.threads.iter().find(|thread| thread.tid == task.tid)?.ended_ns;
        let early = |(name, count): (&String, &CycleCount)| {
            let own = document.tasks.iter().filter(|task| task.measure == *name && task.counters.wakeups > 0);
            // Of several, when the last of them did.
            let last_ns = own.map(ended_ns).try_fold(0, |last_ns: u64, ended_ns| Some(last_ns.max(ended_ns?)))?;
            let before_ns = document.ended_early_ns(last_ns).filter(|_| count.cycles > 0 && last_ns > 0)?;
            Some(format!("{} ended {}", spoken(name), format_ns(before_ns)))
        };
        match self.by_name.iter().filter_map(early).take(MAX_NAMED).collect::<Vec<String>>() {
            ended if ended.is_empty() => String::new(),
            ended => format!(" {} before the recording did.", ended.join(", ")),
        }
    }

    /// The sentence about threads that changed their name or policy, with a space before; empty if there are none.
    fn ran_as(&self) -> String {
        let of = |name: &String, wakeups: &BTreeMap<String, u64>| {
            let all = wakeups.values().fold(0, |all: u64, count| all.saturating_add(*count));
            let is_said = |(other, count): &(&String, &u64)| *other != name && count.saturating_mul(FEW) >= all;
            let others = wakeups.iter().filter(is_said).take(MAX_NAMED);
            let others = others.map(|(other, count)| format!("as {} for {}", spoken(other), grouped(*count)));
            let others: Vec<String> = others.collect();
            let words = || format!("{} ran {} of {}", spoken(name), others.join(", "), counted(all, "wakeup"));
            (!others.is_empty()).then(words)
        };
        let judged = self.judged().map(|(name, _)| name);
        let said = judged
            .filter_map(|name| self.wakeups_as.get_key_value(name))
            .filter_map(|(name, wakeups)| of(name, wakeups));
        match said.take(MAX_NAMED).collect::<Vec<String>>() {
            said if said.is_empty() => String::new(),
            said => format!(" {}.", said.join("; ")),
        }
    }

    /// The sentence about threads that are no loops with this period, with a space before; empty if there are none.
    fn left_out(&self) -> String {
        let threads = self.by_name.values().map(|count| count.left_out).fold(0, u64::saturating_add);
        self.names_of(|count| count.left_out).map_or_else(String::new, |names| {
            format!(
                " Left out: {names}, since {} not wake about once in {}.",
                agreeing(threads, "it does", "they do"),
                format_ns(self.period_ns)
            )
        })
    }

    /// The threads whose cycles cannot be counted, if there are any.
    pub(crate) fn untold_names(&self) -> Option<String> {
        self.names_of(|count| count.untold)
    }

    /// The threads of which there are so many, if there are any. Among threads of one name it may be only some.
    fn names_of(&self, threads: fn(&CycleCount) -> u64) -> Option<String> {
        let name = |(name, count): (&String, &CycleCount)| match count.cycles {
            0 => spoken(name),
            _ => format!("{} of {}", counted(threads(count), "more thread"), spoken(name)),
        };
        let names: Vec<String> = self.by_name.iter().filter(|(_, count)| threads(count) > 0).map(name).collect();
        if names.is_empty() {
            return None;
        }
        let others = names.len().saturating_sub(MAX_NAMED);
        let more = if others > 0 { format!(" and {}", counted(others as u64, "other name")) } else { String::new() };
        Some(format!("{}{more}", names[..names.len().min(MAX_NAMED)].join(", ")))
    }
}

/// Threads of a name and policy in a sentence.
fn spoken(measure: &str) -> String {
    printable(&spoken_measure(measure))
}

/// The longest stretch, if it may be a row of cycles: `7 cycles in a row took 6.80 ms without a wait in between`.
fn row_without_a_wait(count: &CycleCount) -> Option<String> {
    let row = count.longest_row_in_words().filter(|_| !count.longest_slept)?;
    let seen = if count.unseen > 0 { " that was seen" } else { "" };
    Some(format!("{row} took {} without a wait in between{seen}", format_ns(count.longest_ns)))
}

/// The longest cycle, or the longest row of cycles without a wait in between.
fn longest_in_words(count: &CycleCount, period_ns: u64) -> String {
    let longest = format_ns(count.longest_ns);
    // What was in time is one cycle.
    let row = count.longest_row_in_words().filter(|_| count.overruns > 0);
    match (row, count.unseen) {
        (None, _) if count.longest_waited_ns > count.longest_ns => {
            format!("the longest from {longest} to {}", format_ns(count.longest_waited_ns))
        }
        (None, _) if count.longest_ns <= period_ns && count.paused > 0 => {
            format!("the longest from {longest} to {}", format_ns(count.longest_paused_ns))
        }
        // A stop after its cycle, which looks like a sleep within it, is none of it.
        (Some(row), 0) if count.longest_slept => format!("the longest stretch lasting at most {longest}, {row}"),
        (Some(row), _) if count.longest_slept => format!("the longest stretch seen lasting at most {longest}, {row}"),
        (Some(row), _) => format!("the longest stretch {} {longest}, {row}", count.without_waiting()),
        (None, 0) => format!("{longest} at most"),
        (None, _) if count.longest_slept => format!("the longest seen lasting at most {longest}"),
        (None, _) => format!("the longest seen {longest}"),
    }
}

/// The sentence about periods that began without a wakeup, with a space before; empty if there are none.
fn not_woken(rows: &[(&str, &CycleCount)]) -> String {
    let sum = |of: &dyn Fn(&CycleCount) -> u64| rows.iter().map(|(_, count)| of(count)).sum::<u64>();
    let without =
        sum(&|count| count.not_woken.saturating_sub(count.paused_periods).saturating_add(count.starved_within));
    let within = sum(&CycleCount::all_began_within);
    if without == 0 {
        return String::new();
    }
    let periods = counted(sum(&CycleCount::all_periods), "period");
    let maybe = sum(&|count| count.doubtful_periods);
    if within == 0 {
        let of_them = match (maybe, sum(&CycleCount::may_have_begun_within)) {
            (0, 0) => " that was seen".to_owned(),
            (0, left) => format!(
                " that was seen; unseen wakeups account for all but {}, during which a cycle may have gone on",
                grouped(left)
            ),
            (all, _) if all == without => " in overruns that are not certain".to_owned(),
            (maybe, _) => format!(", {} of them in overruns that are not certain", grouped(maybe)),
        };
        return format!(" Of {periods} {} began without a wakeup{of_them}.", grouped(without));
    }
    let asleep = sum(&|count| if count.unseen == 0 { count.asleep } else { 0 });
    let in_doubt = match maybe {
        0 => String::new(),
        maybe => format!("; {} more in overruns that are not certain", grouped(maybe)),
    };
    let unseen = match without.saturating_sub(within).saturating_sub(maybe) {
        0 => String::new(),
        slept if slept == asleep => format!("; {} more passed in sleeps that began before them", grouped(slept)),
        unseen => format!("; {} more began without a wakeup that was seen", grouped(unseen)),
    };
    let within_of: Vec<_> = rows.iter().filter(|(_, count)| count.all_began_within() > 0).collect();
    let first = within_of.first().map(|(_, count)| count.after_overrun());
    let common = first.filter(|first| within_of.iter().all(|(_, other)| other.after_overrun() == *first));
    let meaning = if common.is_some() || within_of.len() > MAX_NAMED {
        what_becomes_of_them(common, sum(&|count| count.not_made_up))
    } else {
        let of = |(name, count): &&(&str, &CycleCount)| {
            let meaning = what_becomes_of_them(Some(count.after_overrun()), count.not_made_up);
            let begin = if meaning.starts_with("The loop") { "The loop" } else { "the loop" };
            meaning.replacen(begin, &spoken(name), 1)
        };
        within_of.iter().map(of).collect::<Vec<String>>().join(" ")
    };
    format!(" Of {periods} {} began before the previous cycle had ended{in_doubt}{unseen}. {meaning}", grouped(within))
}

/// The sentence about periods without a wakeup where no grid shows which, with a space before; empty if there are none.
fn about_not_woken(rows: &[(&str, &CycleCount)]) -> String {
    let sum = |of: fn(&CycleCount) -> u64| rows.iter().map(|(_, count)| of(count)).sum::<u64>();
    let without = sum(|count| count.estimated_not_woken);
    if without == 0 {
        return String::new();
    }
    let periods = counted(sum(|count| count.estimated_periods), "period");
    let unseen: u64 =
        rows.iter().filter(|(_, count)| count.estimated_not_woken > 0).map(|(_, count)| count.unseen).sum();
    let without_any = format!(" Of about {periods} {} began without a wakeup", grouped(without));
    if without <= unseen {
        return format!("{without_any} that was seen.");
    }
    let seen = match unseen {
        0 => String::new(),
        unseen => format!(" that was seen ({} not)", counted(unseen, "wakeup") + agreeing(unseen, " was", " were")),
    };
    format!(
        "{without_any}{seen}: dropped, unless the loop made up for them without sleeping. They are estimated from the time between cycles, since no grid of timers shows them."
    )
}

/// What becomes of periods that begin within the previous cycle, if all loops do the same. A recording shows what a loop
/// did, not what it would do after a longer delay.
fn what_becomes_of_them(after: Option<AfterOverrun>, not_made_up: u64) -> String {
    match after {
        Some(AfterOverrun::CatchesUp) if not_made_up > 0 => {
            "The loop was seen to catch up: those of these that it made up for are overruns.".to_owned()
        }
        Some(AfterOverrun::CatchesUp) => "The loop was seen to catch up: each of these is an overrun.".to_owned(),
        Some(AfterOverrun::Skips) => "The loop was seen to skip these: each run of them is one overrun.".to_owned(),
        Some(AfterOverrun::MakesUpFor(limit)) => format!(
            "The loop was seen to make up for about {} in a row, or more, and to drop others: each run of them is at least one overrun.",
            counted(limit, "period")
        ),
        Some(AfterOverrun::Unknown) | None => {
            "If the loop skips missed periods, each run of them is one overrun. If it catches up, each is an overrun."
                .to_owned()
        }
    }
}
