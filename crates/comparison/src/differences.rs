//! What differs between two recordings besides the latencies.

use punctual_recording::{Document, Followed, FollowedThread, Provenance, Setting, Task};
use std::collections::{BTreeMap, BTreeSet};

/// The most followed threads whose different scheduling is mentioned: a program may have any number of them.
const MAX_THREADS: usize = 8;

/// Something that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Where: `host`, `configuration`, `load`, `tuning`, `program` or `device`.
    pub area: &'static str,
    /// What it is.
    pub what: String,
    /// Its value on side A; `None` if it is not known or not there.
    pub a: Option<String>,
    /// Its value on side B.
    pub b: Option<String>,
}

/// Everything that differs between the provenance of two recordings, in the order in which it is shown.
pub(crate) fn differences(a: &Document, b: &Document) -> Vec<Difference> {
    let has_nice = [a, b].iter().all(|side| side.followed.as_ref().is_some_and(knows_nice));
    let followed = [a, b].map(|side| match &side.followed {
        Some(followed) => schedulings(&side.tasks, &followed.threads, has_nice),
        None => BTreeMap::new(),
    });
    let (a, b) = (&a.provenance, &b.provenance);
    let mut found = Vec::new();
    let mut note = |area: &'static str, what: &str, left: Option<String>, right: Option<String>| {
        if left != right {
            found.push(Difference { area, what: what.to_owned(), a: left, b: right });
        }
    };
    let number = |value: Option<u64>| value.map(|value| value.to_string());
    let (left, right) = (&a.host, &b.host);
    note("host", "name", left.name.clone(), right.name.clone());
    note("host", "identity", left.id.clone(), right.id.clone());
    note("host", "kernel", left.kernel_release.clone(), right.kernel_release.clone());
    if left.kernel_release == right.kernel_release {
        note("host", "kernel version", left.kernel_version.clone(), right.kernel_version.clone());
    }
    note("host", "preemption", left.preemption.clone(), right.preemption.clone());
    note("host", "architecture", left.architecture.clone(), right.architecture.clone());
    note("host", "CPU", left.cpu_model.clone(), right.cpu_model.clone());
    note("host", "CPUs on line", number(left.cpus_online.map(u64::from)), number(right.cpus_online.map(u64::from)));
    note("host", "clock source", left.clock_source.clone(), right.clock_source.clone());
    note("host", "virtualization", left.virtualization.clone(), right.virtualization.clone());
    note("host", "memory, bytes", number(left.memory_bytes), number(right.memory_bytes));
    let (left, right) = (&a.configuration, &b.configuration);
    let list = |numbers: &[u32]| Some(numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(","));
    let yes = |yes: bool| Some(if yes { "yes" } else { "no" }.to_owned());
    note("configuration", "policy", Some(left.policy.clone()), Some(right.policy.clone()));
    note("configuration", "priorities", list(&left.priorities), list(&right.priorities));
    note("configuration", "CPUs", list(&left.cpus), list(&right.cpus));
    note("configuration", "followed in the kernel", yes(left.bpf), yes(right.bpf));
    note("configuration", "kept out of deep idle states", yes(left.power_request), yes(right.power_request));
    note("configuration", "memory locked", yes(left.memory_locked), yes(right.memory_locked));
    for (name, left, right) in in_common(&followed[0], &followed[1]).take(MAX_THREADS) {
        note("configuration", &format!("scheduling of {name}"), Some(left), Some(right));
    }
    let load = |provenance: &Provenance| provenance.load.name_or_none().to_owned();
    note("load", "name", Some(load(a)), Some(load(b)));
    if load(a) == load(b) && (&a.load.name, &b.load.name) != (&String::new(), &String::new()) {
        note("load", "commands", Some(commands(a)), Some(commands(b)));
    }
    let mut names: Vec<&String> = a.tuning.keys().chain(b.tuning.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let value = |provenance: &Provenance| provenance.tuning.get(name).map(setting);
        note("tuning", name, value(a), value(b));
    }
    note("program", "version", Some(a.punctual_version.clone()), Some(b.punctual_version.clone()));
    found
}

/// Whether any thread's niceness is known: older recordings do not hold it.
fn knows_nice(followed: &Followed) -> bool {
    followed.threads.iter().any(|thread| thread.nice.is_some())
}

/// Policies and priorities of followed threads, and with `has_nice` the niceness of ordinary ones, by name.
fn schedulings<'a>(
    tasks: &'a [Task],
    threads: &'a [FollowedThread],
    has_nice: bool,
) -> BTreeMap<&'a str, BTreeSet<String>> {
    let mut named: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (thread, task) in threads.iter().zip(tasks) {
        let scheduling = task.measure.strip_prefix(thread.name.as_str()).map(str::trim_start);
        if let Some(scheduling) = scheduling.filter(|scheduling| !scheduling.is_empty()) {
            let nice = thread.nice.filter(|nice| has_nice && *nice != 0);
            let words = nice.map_or_else(|| scheduling.to_owned(), |nice| format!("{scheduling} (nice {nice})"));
            named.entry(&thread.name).or_default().insert(words);
        }
    }
    named
}

/// The names that both sides have with different scheduling, and the scheduling of each.
fn in_common<'a>(
    a: &'a BTreeMap<&'a str, BTreeSet<String>>,
    b: &'a BTreeMap<&'a str, BTreeSet<String>>,
) -> impl Iterator<Item = (&'a str, String, String)> {
    let words =
        |schedulings: &BTreeSet<String>| schedulings.iter().map(String::as_str).collect::<Vec<&str>>().join(", ");
    let both = a.iter().filter_map(move |(name, left)| Some((*name, left, b.get(name)?)));
    both.filter(|(_, left, right)| left != right).map(move |(name, left, right)| (name, words(left), words(right)))
}

fn commands(provenance: &Provenance) -> String {
    let commands = provenance.load.commands.iter().map(|words| {
        // Each run takes a new block of network ports.
        let mut words = words.iter().peekable();
        let mut kept = Vec::new();
        while let Some(word) = words.next() {
            kept.push(word.as_str());
            if word.ends_with("-port") {
                words.next();
            }
        }
        kept.join(" ")
    });
    commands.collect::<Vec<_>>().join("; ")
}

fn setting(setting: &Setting) -> String {
    match setting {
        Setting::Number(number) => number.to_string(),
        Setting::Text(text) => text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_recording::Counters;

    #[test]
    fn followed_threads_of_one_name_may_differ_in_their_scheduling() {
        let recorded = |threads: &[(&str, &str)]| -> (Vec<Task>, Vec<FollowedThread>) {
            let task = |(name, scheduling): &(&str, &str)| Task {
                measure: format!("{name} {scheduling}"),
                tid: 1,
                cpu: None,
                period_ns: 0,
                counters: Counters::default(),
            };
            let thread =
                |(name, _): &(&str, &str)| FollowedThread { name: (*name).to_owned(), ..FollowedThread::default() };
            (threads.iter().map(task).collect(), threads.iter().map(thread).collect())
        };
        let before = recorded(&[("robot-ctl", "other"), ("log", "other"), ("gone", "other")]);
        let after = recorded(&[("robot-ctl", "other"), ("robot-ctl", "fifo:60"), ("log", "other")]);
        let (a, b) = (schedulings(&before.0, &before.1, true), schedulings(&after.0, &after.1, true));
        let found: Vec<(&str, String, String)> = in_common(&a, &b).collect();
        assert_eq!(found, [("robot-ctl", "other".to_owned(), "fifo:60, other".to_owned())]);
        assert_eq!(in_common(&a, &a).count(), 0);
    }

    #[test]
    fn niceness_is_part_of_how_threads_are_scheduled_where_both_sides_know_it() {
        let tasks =
            [Task { measure: "api other".to_owned(), tid: 1, cpu: None, period_ns: 0, counters: Counters::default() }];
        let side = |nice| [FollowedThread { name: "api".to_owned(), nice, ..FollowedThread::default() }];
        let (plain, eager) = (side(Some(0)), side(Some(-15)));
        for (has_nice, expected) in [(true, Some("other (nice -15)")), (false, None)] {
            let (a, b) = (schedulings(&tasks, &plain, has_nice), schedulings(&tasks, &eager, has_nice));
            let found = in_common(&a, &b).next().map(|(_, left, right)| {
                assert_eq!(left, "other");
                right
            });
            assert_eq!(found.as_deref(), expected, "{has_nice}");
        }
        let knows = |nice| knows_nice(&Followed { threads: side(nice).to_vec(), ..Followed::default() });
        assert!(knows(Some(0)) && !knows(None));
    }
}
