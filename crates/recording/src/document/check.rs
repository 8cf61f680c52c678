//! The bounds that a `recording.json` must keep, so that whoever works with it can safely add, multiply and list.

use crate::document::contents::{Counters, Document};
use crate::document::without_sleep::WithoutSleep;
use crate::format::bounds::{
    MAX_COUNT, MAX_LISTED_TEXT_BYTES, MAX_LISTED_TEXTS, MAX_MEASURES, MAX_PERIOD_NS, MAX_TASKS, MAX_TIME_NS,
};
use std::collections::HashSet;

/// What is wrong with a document that was read, in words that follow the file's name.
pub(crate) fn check(document: &Document) -> Result<(), String> {
    let threads = document.followed.as_ref().map_or(0, |followed| followed.threads.len());
    at_most("tasks", document.tasks.len().max(threads) as u64, MAX_TASKS as u64)?;
    check_measures(document)?;
    check_counters(&document.counters)?;
    for task in &document.tasks {
        check_counters(&task.counters)?;
        if task.period_ns > MAX_PERIOD_NS {
            return Err(format!("says that a task has a period of {} ns; nobody waits that long", task.period_ns));
        }
    }
    let threads = document.followed.iter().flat_map(|followed| &followed.threads);
    if let Some(count) = threads.flat_map(|thread| thread.woken_by.values()).find(|count| **count > MAX_COUNT) {
        return Err(format!("counts {count}, more than is possible"));
    }
    check_without_sleep(document)?;
    let provenance = &document.provenance;
    let ended = document.ended.as_ref().map_or(0, |ended| ended.at_ns);
    let interval = provenance.configuration.interval_ns;
    for at in [provenance.started_ns, document.last_ns, ended, provenance.load.warm_up_ns, interval] {
        if at > MAX_TIME_NS {
            return Err(format!("holds a time of {at} ns, which no clock reaches"));
        }
    }
    check_lists(document)
}

fn at_most(what: &str, many: u64, max: u64) -> Result<(), String> {
    if many > max { Err(format!("holds {many} {what}; {max} are read at most")) } else { Ok(()) }
}

/// Readers go through each measure separately.
fn check_measures(document: &Document) -> Result<(), String> {
    let of_tasks = document.tasks.iter().map(|task| &task.measure);
    let all = of_tasks.chain(document.distributions.iter().map(|(key, _)| &key.measure));
    let different: HashSet<&String> = all.collect();
    at_most("measures", different.len() as u64, MAX_MEASURES as u64)?;
    let longest = different.iter().map(|measure| measure.len()).max().unwrap_or(0);
    at_most("bytes of a measure's name", longest as u64, MAX_LISTED_TEXT_BYTES as u64)
}

/// Each loop is held against each row of these.
fn check_without_sleep(document: &Document) -> Result<(), String> {
    let rows = document.followed.as_ref().map_or(&[][..], |followed| &followed.without_sleep);
    at_most("rows of threads that never slept", rows.len() as u64, MAX_MEASURES as u64)?;
    let longest = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    at_most("bytes of a thread's name", longest as u64, MAX_LISTED_TEXT_BYTES as u64)?;
    let is_too_much =
        |row: &WithoutSleep| row.threads > MAX_COUNT || row.longest_executed_ns.max(row.last_ended_ns) > MAX_TIME_NS;
    match rows.iter().any(is_too_much) {
        true => Err("says of threads that never slept more than is possible".to_owned()),
        false => Ok(()),
    }
}

fn check_counters(counters: &Counters) -> Result<(), String> {
    let &Counters {
        wakeups,
        missed,
        unobserved,
        lost,
        armed_late,
        wakeup_steal_ns,
        steal_ns,
        passed_ns,
        idle_ns,
        own_ns,
        cpu_ns,
    } = counters;
    let counts = [wakeups, missed.unwrap_or(0), unobserved, lost, armed_late.unwrap_or(0)];
    let times = [wakeup_steal_ns, steal_ns, Some(cpu_ns), passed_ns, idle_ns, own_ns].map(Option::unwrap_or_default);
    match counts.iter().find(|count| **count > MAX_COUNT).or(times.iter().find(|time| **time > MAX_TIME_NS)) {
        Some(number) => Err(format!("counts {number}, more than is possible")),
        None => Ok(()),
    }
}

/// Lists that a report prints, compares or draws item by item.
fn check_lists(document: &Document) -> Result<(), String> {
    let provenance = &document.provenance;
    let (configuration, load) = (&provenance.configuration, &provenance.load);
    let lists = [&provenance.fallbacks, &provenance.blind, &load.trouble];
    for (what, many) in [
        ("CPUs", configuration.cpus.len()),
        ("priorities", configuration.priorities.len()),
        ("limits", document.limits.len()),
        ("scores of a load", load.scores.len()),
        ("settings of the system", provenance.tuning.len()),
    ]
    .into_iter()
    .chain(lists.map(|list| ("notes", list.len())))
    {
        at_most(what, many as u64, MAX_LISTED_TEXTS as u64)?;
    }
    let longest = lists
        .into_iter()
        .flatten()
        .chain([&load.name])
        .chain(&provenance.normal_priority)
        .map(String::len)
        .max()
        .unwrap_or(0);
    at_most("bytes in a note or the load's name", longest as u64, MAX_LISTED_TEXT_BYTES as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::contents::{Followed, FollowedThread, Provenance, SCHEMA, Task};
    use crate::{Distributions, Stage};
    use std::collections::BTreeMap;

    fn task(measure: &str) -> Task {
        let counters = Counters { wakeups: 5, missed: Some(0), ..Counters::default() };
        Task { measure: measure.to_owned(), tid: 7, cpu: Some(0), period_ns: 1_000_000, counters }
    }

    fn document() -> Document {
        let mut distributions = Distributions::default();
        distributions.record("fifo:80", Stage::Total, 0, "none", 5);
        Document {
            kind: None,
            schema: SCHEMA.to_owned(),
            ended: None,
            provenance: Provenance::default(),
            tasks: vec![task("fifo:80")],
            counters: Counters::default(),
            limits: Vec::new(),
            segments: 0,
            distributions,
            last_ns: 0,
            followed: None,
            recorder: None,
            added: 0,
        }
    }

    /// So many rows of threads that never slept, each changed in this way.
    fn with_unslept(document: &mut Document, rows: usize, change: fn(&mut WithoutSleep)) {
        let mut row = WithoutSleep::default();
        change(&mut row);
        document.followed = Some(Followed { without_sleep: vec![row; rows], ..Followed::default() });
    }

    #[test]
    fn what_no_measurement_writes_is_refused() {
        assert_eq!(check(&document()), Ok(()));
        type Change = fn(&mut Document);
        let changes: [(&str, Change); 15] = [
            ("period", |document| document.tasks[0].period_ns = u64::MAX),
            ("counts", |document| document.tasks[0].counters.wakeups = u64::MAX),
            ("counts", |document| document.counters.missed = Some(u64::MAX)),
            ("counts", |document| document.counters.steal_ns = Some(u64::MAX)),
            ("counts", |document| {
                let woken_by = BTreeMap::from([("timer".to_owned(), u64::MAX)]);
                let threads = vec![FollowedThread { woken_by, ..FollowedThread::default() }];
                document.followed = Some(Followed { threads, ..Followed::default() });
            }),
            ("more than is possible", |document| with_unslept(document, 1, |row| row.threads = u64::MAX)),
            ("more than is possible", |document| with_unslept(document, 1, |row| row.longest_executed_ns = u64::MAX)),
            ("never slept", |document| with_unslept(document, 5_000, |_| {})),
            ("a thread's name", |document| with_unslept(document, 1, |row| row.name = "x".repeat(1 << 20))),
            ("clock", |document| document.last_ns = u64::MAX),
            ("clock", |document| document.provenance.started_ns = u64::MAX),
            ("notes", |document| document.provenance.fallbacks = vec![String::new(); 100_000]),
            ("notes", |document| document.provenance.load.trouble = vec![String::new(); 100_000]),
            ("a note", |document| document.provenance.load.name = "x".repeat(1 << 20)),
            ("measures", |document| document.tasks = (0..5_000).map(|number| task(&number.to_string())).collect()),
        ];
        for (what, change) in changes {
            let mut document = document();
            change(&mut document);
            let refused = check(&document).unwrap_err();
            assert!(refused.contains(what), "{what}: {refused}");
        }
    }
}
