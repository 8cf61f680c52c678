//! Recordings of other programs' threads, for people: a line for each name and policy, what woke them, their stages.

use crate::layout::{agreeing, counted, grouped, microseconds, percent, spoken_duration, table, what_ran};
use crate::recording::stages::stage_table;
use crate::{StageRow, stage_rows};
use punctual_recording::{Counters, Document, Followed, Stage, Unslept, format_ns, name_and_policy, printable};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The most lines for threads, and the most threads with all stages, unless the reader wants everything.
const LINES: usize = 20;
const DETAILED: usize = 4;

/// All threads of a name and policy.
struct Group {
    measure: String,
    threads: String,
    wakeups: u64,
    woken_by: String,
}

/// The threads by name and policy, those with the most wakeups first.
fn groups(document: &Document, followed: &Followed) -> Vec<Group> {
    struct Sum<'a> {
        tids: BTreeSet<u32>,
        wakeups: u64,
        woken_by: BTreeMap<&'a str, u64>,
    }
    let mut sums: BTreeMap<&str, Sum<'_>> = BTreeMap::new();
    for (index, task) in document.tasks.iter().enumerate() {
        let sum = sums.entry(&task.measure).or_insert_with(|| Sum {
            tids: BTreeSet::new(),
            wakeups: 0,
            woken_by: BTreeMap::new(),
        });
        sum.tids.insert(task.tid);
        sum.wakeups = sum.wakeups.saturating_add(task.counters.wakeups);
        for (waker, count) in followed.threads.get(index).into_iter().flat_map(|thread| &thread.woken_by) {
            let by = sum.woken_by.entry(waker).or_insert(0);
            *by = by.saturating_add(*count);
        }
    }
    let mut groups: Vec<Group> = sums
        .into_iter()
        .map(|(measure, sum)| Group {
            measure: measure.to_owned(),
            threads: number_of(&sum.tids),
            wakeups: sum.wakeups,
            woken_by: most_often(&sum.woken_by),
        })
        .collect();
    groups.sort_by(|left, right| right.wakeups.cmp(&left.wakeups).then_with(|| left.measure.cmp(&right.measure)));
    groups
}

/// What woke them most often, with its share.
fn most_often(woken_by: &BTreeMap<&str, u64>) -> String {
    let all = woken_by.values().fold(0, |all: u64, count| all.saturating_add(*count));
    let most = woken_by.iter().filter(|(_, count)| **count > 0).max_by_key(|(_, count)| **count);
    most.map_or_else(|| "-".to_owned(), |(waker, count)| format!("{waker} {:.0} %", percent(*count, all)))
}

/// The part of the report about this recording.
pub(crate) fn followed_text(document: &Document, followed: &Followed, everything: bool) -> String {
    let groups = groups(document, followed);
    let mut text = format!(
        "{}: {} followed ({}), {}, {}\n{}\n",
        what_ran(document),
        number_of_threads(followed),
        followed.asked.join(", "),
        spoken_duration(document),
        counted(document.counters.wakeups, "wakeup"),
        losses(document, followed),
    );
    if let Some(context) = context_in_words(followed) {
        let _ = writeln!(text, "{context}");
    }
    let rows = stage_rows(document);
    let shown = if everything { groups.len() } else { lines_shown(&groups) };
    let _ = writeln!(text, "\n{}", group_table(&groups[..shown], &rows));
    let detailed: Vec<&str> = groups
        .iter()
        .filter(|group| group.wakeups > 0)
        .take(if everything { usize::MAX } else { DETAILED })
        .map(|group| group.measure.as_str())
        .collect();
    let chosen = detailed.iter().flat_map(|measure| {
        rows.iter().filter(move |row| row.measure == **measure && (everything || row.cpu.is_none()))
    });
    let chosen: Vec<&StageRow> = chosen.collect();
    if !chosen.is_empty() {
        let _ = writeln!(text, "\n{}", stage_table(chosen.into_iter(), true, everything, true));
    }
    if groups.len() > shown.min(DETAILED) && !everything {
        let asleep = groups.iter().filter(|group| group.wakeups == 0).count();
        let without =
            if asleep > 0 { format!(", {} of them without a wakeup", grouped(asleep as u64)) } else { String::new() };
        let all = grouped(groups.len() as u64);
        let _ = writeln!(text, "\n{all} names in all{without}: --by-cpu, --csv or --json shows all stages of each");
    }
    text
}

/// The most names of threads for context that are told.
const MAX_CONTEXT: usize = 3;

/// Which names are there for context, if any are.
fn context_in_words(followed: &Followed) -> Option<String> {
    let context: BTreeSet<&str> =
        followed.threads.iter().filter(|thread| thread.is_context).map(|thread| thread.name.as_str()).collect();
    let told: Vec<String> = context.iter().take(MAX_CONTEXT).map(|name| printable(name)).collect();
    let more = match context.len().saturating_sub(MAX_CONTEXT) {
        0 => String::new(),
        more => format!(" and {}", counted(more as u64, "other name")),
    };
    (!told.is_empty())
        .then(|| format!("for context, judged by no period, limit or threshold: {}{more}", told.join(", ")))
}

/// How many lines there are for threads: names without a wakeup, which come last, have none unless no name has one.
fn lines_shown(groups: &[Group]) -> usize {
    let awake = groups.iter().filter(|group| group.wakeups > 0).count();
    if awake == 0 { groups.len().min(LINES) } else { awake.min(LINES) }
}

fn losses(document: &Document, followed: &Followed) -> String {
    let Counters { wakeups, unobserved, lost, cpu_ns, .. } = document.counters;
    let mut line = format!("unobserved {}   lost {}", grouped(unobserved), grouped(lost));
    let unslept = Unslept::of(&followed.without_sleep);
    if unslept.threads > 0 {
        let (threads, ran) = (counted(unslept.threads, "thread"), format_ns(unslept.longest_executed_ns));
        let _ = write!(line, "   never slept {threads} ({ran} on a CPU at most)");
    }
    if let Some(steal) = document.counters.steal_in_words() {
        let _ = write!(line, "   {steal}");
    }
    if let (Some(used), Some(cost)) = (cpu_ns.checked_div(wakeups), followed.cost_ns.checked_div(wakeups)) {
        let used = format_ns(used);
        let _ = write!(line, "   work {used} of CPU a wakeup, recording it {}", format_ns(cost));
    }
    line
}

/// That threads ended without ever sleeping, of which no wakeup tells; `None` if there were none.
pub(crate) fn never_slept_in_words(document: &Document) -> Option<String> {
    let Unslept { threads, longest_executed_ns } = Unslept::of(&document.followed.as_ref()?.without_sleep);
    (threads > 0).then(|| {
        format!(
            "{} began and ended without ever sleeping, after up to {} on a CPU: no wakeup shows how long what {} did took",
            counted(threads, "thread"),
            format_ns(longest_executed_ns),
            agreeing(threads, "it", "they")
        )
    })
}

fn group_table(groups: &[Group], rows: &[StageRow]) -> String {
    // Each by itself: a table that is too wide for its terminal comes in blocks.
    let header = [
        "threads",
        "woken by, mostly",
        "n",
        "wakeups",
        "total p50 us",
        "total p99 us",
        "total max us",
        "work p50 us",
        "work max us",
    ];
    let of = |measure: &str, stage: Stage| {
        rows.iter().find(|row| row.measure == measure && row.stage == stage && row.cpu.is_none())
    };
    table(
        &header,
        2..header.len(),
        groups.iter().map(|group| {
            let (total, work) = (of(&group.measure, Stage::Total), of(&group.measure, Stage::Work));
            let mut cells =
                vec![group.measure.clone(), group.woken_by.clone(), group.threads.clone(), grouped(group.wakeups)];
            cells.extend([
                microseconds(total.and_then(|row| row.p50_ns)),
                microseconds(total.and_then(|row| row.p99_ns)),
                microseconds(total.and_then(|row| row.max_ns)),
                microseconds(work.and_then(|row| row.p50_ns)),
                microseconds(work.and_then(|row| row.max_ns)),
            ]);
            cells
        }),
    )
}

/// A thread's name, and its policy as the kernel calls it.
pub(crate) fn with_policy(measure: &str) -> String {
    let named = name_and_policy(measure).map(|(name, policy)| format!("{name}, {policy}"));
    named.unwrap_or_else(|| measure.to_owned())
}

/// How many of the followed threads woke, if that was not all of them.
pub(crate) fn who_woke(document: &Document, followed: &Followed) -> String {
    let has_woken = |counters: &Counters| counters.wakeups > 0 || counters.unobserved > 0;
    let woken = document.tasks.iter().filter(|task| has_woken(&task.counters)).map(|task| task.tid);
    let woken: BTreeSet<u32> = woken.collect();
    let all: BTreeSet<u32> = followed.threads.iter().map(|thread| thread.tid).collect();
    let threads = number_of_threads(followed);
    // Where entries are shared, nobody knows how many.
    let is_part = woken.len() < all.len() && !woken.is_empty() && !all.contains(&0);
    if is_part { format!("{} of {threads}", grouped(woken.len() as u64)) } else { threads }
}

fn number_of_threads(followed: &Followed) -> String {
    let threads: BTreeSet<u32> = followed.threads.iter().map(|thread| thread.tid).collect();
    if threads.contains(&0) { format!("{} threads", number_of(&threads)) } else { counted(threads.len(), "thread") }
}

/// How many threads these are. If there were too many, those of one name share an entry with thread id 0.
fn number_of(threads: &BTreeSet<u32>) -> String {
    match threads.contains(&0) {
        true => format!("more than {}", threads.len() - 1),
        false => threads.len().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::recording::followed_verdict;
    use punctual_recording::{FollowedThread, WithoutSleep};

    /// Of 44 names seven have a wakeup, and of 40 threads as many.
    #[test]
    fn threads_that_never_woke_are_counted_and_have_no_line() {
        let text = include_str!("../../../cli/tests/golden/comm.punctual/recording.json");
        let document: Document = serde_json::from_str(text).unwrap();
        let followed = document.followed.clone().unwrap();
        let verdict = followed_verdict(&document, &followed, "with no load added");
        assert!(verdict.starts_with("In 1.00 s with no load added, 7 of 40 threads woke 123 times; "), "{verdict}");
        let text = followed_text(&document, &followed, false);
        assert!(text.contains("kworker/u8:0 other") && !text.contains("kworker/0:0H-kb other"), "{text}");
        let last = "44 names in all, 37 of them without a wakeup: --by-cpu, --csv or --json shows all stages of each\n";
        assert!(text.ends_with(last), "{text}");
        let whole = followed_text(&document, &followed, true);
        assert!(whole.contains("kworker/0:0H-kb other") && !whole.contains("names in all"), "{whole}");
    }

    #[test]
    fn threads_that_are_there_for_context_are_named() {
        let thread =
            |name: &str, is_context| FollowedThread { name: name.to_owned(), is_context, ..FollowedThread::default() };
        let mut followed = Followed { threads: vec![thread("synth-audio", false)], ..Followed::default() };
        assert_eq!(context_in_words(&followed), None);
        followed.threads.extend(["d", "b", "a", "c", "a"].map(|name| thread(name, true)));
        assert_eq!(
            context_in_words(&followed).as_deref(),
            Some("for context, judged by no period, limit or threshold: a, b, c and 1 other name")
        );
    }

    #[test]
    fn the_verdict_tells_how_late_those_ran_that_were_asked_for_by_name() {
        let text = include_str!("../../../cli/tests/golden/comm.punctual/recording.json");
        let mut document: Document = serde_json::from_str(text).unwrap();
        let said = |document: &Document| followed_verdict(document, document.followed.as_ref().unwrap(), "alone");
        let before = said(&document);
        assert!(before.contains(" woke 123 times; half ran within ") && before.contains("(rcu_preempt, "), "{before}");
        let threads = &mut document.followed.as_mut().unwrap().threads;
        threads.iter_mut().for_each(|thread| thread.is_context = thread.name != "kworker/0:1");
        let after = said(&document);
        let named = " woke 123 times, those asked for by name 10 times; half of these ran within ";
        assert!(after.contains(named) && after.ends_with("(kworker/0:1, SCHED_OTHER) ran after 61.1 us."), "{after}");
        // Where nobody has the name, it tells of all.
        document.followed.as_mut().unwrap().threads.iter_mut().for_each(|thread| thread.is_context = true);
        assert_eq!(said(&document), before);
    }

    #[test]
    fn threads_that_never_slept_are_counted_beside_what_was_lost() {
        let text = include_str!("../../../cli/tests/golden/comm.punctual/recording.json");
        let mut document: Document = serde_json::from_str(text).unwrap();
        let said = |document: &Document| followed_text(document, document.followed.as_ref().unwrap(), false);
        assert!(!said(&document).contains("never slept"), "{}", said(&document));
        assert_eq!(never_slept_in_words(&document), None);
        let row = |threads, executed_ms: u64| WithoutSleep {
            threads,
            longest_executed_ns: executed_ms * 1_000_000,
            ..WithoutSleep::default()
        };
        document.followed.as_mut().unwrap().without_sleep = vec![row(799, 3), row(2, 12)];
        let told = "lost 0   never slept 801 threads (12.0 ms on a CPU at most)";
        assert!(said(&document).contains(told), "{}", said(&document));
        assert_eq!(
            never_slept_in_words(&document).as_deref(),
            Some(
                "801 threads began and ended without ever sleeping, after up to 12.0 ms on a CPU: no wakeup shows how long what they did took"
            )
        );
    }

    #[test]
    fn policies_have_the_kernels_names() {
        for (measure, expected) in [
            ("api worker other", "api worker, SCHED_OTHER"),
            ("my-loop fifo:80", "my-loop, SCHED_FIFO 80"),
            ("a rr:1", "a, SCHED_RR 1"),
            ("a policy 9", "a policy 9"),
            ("others", "others"),
        ] {
            assert_eq!(with_policy(measure), expected);
        }
    }

    #[test]
    fn what_woke_them_is_never_a_share_of_nothing_or_of_too_much() {
        assert_eq!(most_often(&BTreeMap::new()), "-");
        assert_eq!(most_often(&BTreeMap::from([("timer", 0), ("softirq rcu", 0)])), "-");
        assert_eq!(most_often(&BTreeMap::from([("timer", 3), ("softirq rcu", 1)])), "timer 75 %");
        let most = BTreeMap::from([("timer", u64::MAX), ("softirq rcu", 1)]);
        assert_eq!(most_often(&most), "timer 100 %");
    }
}
