//! What `examples/interact_truth.rs` does for each key, and whether the split of an input says so.

use super::interact::{Done, disturbed_ns, named};
use punctual_recording::{Interaction, InteractionPart, Outcome};
use serde_json::Value;
use std::collections::BTreeMap;

/// Keys, and the kind and name of each key's part; `None`: nothing but the way there and back.
pub(crate) const KEYS: [(char, Option<(&str, &str)>); 8] = [
    ('c', Some(("own", "truth"))),
    ('t', Some(("sleep", ""))),
    ('r', Some(("sleep", ""))),
    ('f', Some(("io", ""))),
    ('m', Some(("fault", "truth"))),
    ('a', Some(("wait", "truth-server"))),
    ('l', Some(("lock", "truth-holder"))),
    ('s', None),
];
/// If others had more than this of an input, it is set apart: the host, threads and interrupts that had a CPU
/// meanwhile.
const DISTURBED_NS: u64 = 100_000;
/// How long the program works after it has answered an `s`.
const SPELLING_NS: u64 = 20_000_000;
/// A program that does nothing for this long, ten times what the recorder waits for, is done.
const PAUSE_NS: u64 = 1_000_000;
/// What timers took may differ by this much from what the program says.
const TIMERS_NS: u64 = 1_000_000;

/// Why a time is unknown, when the recorder counts that one of its programs should have run and could not.
const NOT_RUN: &str = "a program of the recorder did not run";
/// The same, when the recorder had no CPU to copy the evidence before the kernel wrote over it.
const OVERWRITTEN: &str = "the recorder's ring was overwritten";

fn says(part: &InteractionPart, why: &str) -> bool {
    part.unknown_ns > 0 && (part.name.contains(why) || part.detail.contains(why))
}

/// Some sandboxes' kernels hide threads from programs: after such a thread runs, it is not known for a while who has
/// the CPU.
fn somebody_hidden_ran(parts: &[InteractionPart]) -> bool {
    parts.iter().any(|part| says(part, "a switch was not seen"))
}

/// Others kept the program from its CPU for so long that it was still busy with this key, or nearly, when the next one came.
fn has_no_end(input: &Interaction, done: Done) -> bool {
    input.busy_ns.is_none() && done.finished_ns.is_some_and(|finished| finished + PAUSE_NS > input.end_ns)
}

/// The program was still busy with the key before when this one came.
fn waited_for_another(input: &Interaction, before: Option<Done>) -> bool {
    before.and_then(|before| before.finished_ns).is_some_and(|finished| finished > input.begin_ns)
}

/// What came of the inputs of one key.
#[derive(Debug, Default, Clone, Copy)]
struct Row {
    right: usize,
    /// Of those, the inputs whose largest part, by kind and name, is a single part: each of a disk's requests has a
    /// name.
    single: usize,
    wrong: usize,
    unknown: usize,
    apart: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Tally {
    by_key: BTreeMap<char, Row>,
    pub(crate) right: usize,
    pub(crate) disturbed: usize,
    pub(crate) unknown_ns: u64,
    /// Unknown because a program of the recorder did not run: another of them interrupted it, on this machine at that
    /// moment. That is a stated cause, and no fault of the split.
    pub(crate) not_run_ns: u64,
    pub(crate) all_ns: u64,
    /// Nearly all of it unknown, because the evidence was overwritten before it was copied: on a machine that is busy enough,
    /// as often as others keep the recorder from its CPU. That is stated, and no fault of the split.
    pub(crate) overwritten: usize,
    /// Said to be unknown, nearly all of it, for another reason: without a name, none is wrong.
    pub(crate) unknown: Vec<String>,
    pub(crate) wrong: Vec<String>,
    /// Inputs of which the machine of 1996 said how much was thinking, and those of which it said something wrong.
    pub(crate) by_1996: usize,
    pub(crate) wrong_by_1996: Vec<String>,
    /// What is said over time, of all runs.
    pub(crate) over_time: OverTime,
}

/// Both ways to tell waiting over time, ns, beside what they must differ by.
#[derive(Debug, Default)]
pub(crate) struct OverTime {
    until_seen_ns: u64,
    timers_ns: u64,
    machine_ns: u64,
    spelling_ns: u64,
    not_known_ns: u64,
}

impl OverTime {
    /// Whether both ways differ by at least half of what they must: timers before something is seen, and work after that.
    /// Keys that the program took together do not show the one or the other, and what is not known may be either.
    pub(crate) fn differs(&self) -> bool {
        (self.until_seen_ns + self.not_known_ns) * 2 > self.timers_ns
            && (self.machine_ns + self.not_known_ns) * 2 > self.spelling_ns
    }
}

impl Tally {
    pub(crate) fn met(&self) -> usize {
        self.right + self.wrong.len()
    }

    pub(crate) fn told(&self) -> String {
        let rows = self.by_key.iter().map(|(key, row)| {
            let Row { right, single, wrong, unknown, apart } = row;
            let expected = KEYS.iter().find(|(known, _)| known == key).and_then(|(_, expected)| *expected);
            let (kind, name) = expected.unwrap_or(("nothing", ""));
            format!(
                "| `{key}` | {kind} {name} | {} | {right} | {single} | {wrong} | {unknown} | {apart} |\n",
                right + wrong
            )
        });
        let head = "| key | is | judged | right | as one part | wrong | unknown | set apart |\n|---|---|--:|--:|--:|--:|--:|--:|\n";
        head.to_owned() + &rows.collect::<String>() + &self.in_all()
    }

    fn in_all(&self) -> String {
        format!(
            "{} met, {} right, {} wrong, {} more unknown, {} overwritten, {} set apart; unknown {} of {} ns in what is right, and {} \
             where a program of the recorder did not run",
            self.met(),
            self.right,
            self.wrong.len(),
            self.unknown.len(),
            self.overwritten,
            self.disturbed,
            self.unknown_ns,
            self.all_ns,
            self.not_run_ns
        )
    }
}

/// Waiting over time adds up; both ways to tell it join the tally.
pub(crate) fn judge_over_time(tally: &mut Tally, answer: &Value, typed: &[&Interaction], done: &[Done]) {
    let told = &answer["waiting"]["over_time"];
    let ns = |name: &str| told[name].as_u64().unwrap_or_else(|| panic!("{name}: {told}"));
    let [until_seen, machine, not_known] = ["only_until_seen_ns", "only_machine_1996_ns", "not_known_ns"].map(ns);
    let all = until_seen + machine + ns("both_wait_ns") + ns("both_think_ns") + not_known;
    assert_eq!(all, ns("to_ns") - ns("from_ns"));
    let seen = typed.iter().zip(done).filter(|(input, _)| input.outcome == Some(Outcome::Seen)).map(|(_, done)| done);
    let of = |keys: &'static [char]| seen.clone().filter(|done| keys.contains(&done.key));
    let sums = &mut tally.over_time;
    sums.until_seen_ns += until_seen;
    sums.timers_ns += of(&['t', 'r']).map(|done| done.part_ns).sum::<u64>();
    sums.machine_ns += machine;
    sums.spelling_ns += of(&['s']).count() as u64 * SPELLING_NS;
    sums.not_known_ns += not_known;
}

/// Compares what the machine of 1996 calls thinking with the program's own timers, which are all that it takes for that, whoever
/// else had the CPU meanwhile.
pub(crate) fn judge_by_1996(tally: &mut Tally, input: &Interaction, done: Done) {
    let Some(thinking_ns) = input.think_1996_ns else { return };
    let expected_ns = if matches!(done.key, 't' | 'r') { done.part_ns } else { 0 };
    tally.by_1996 += 1;
    if thinking_ns.abs_diff(expected_ns) > TIMERS_NS {
        tally.wrong_by_1996.push(format!("{thinking_ns} of {expected_ns} ns: {done:?} {input:?}"));
    }
}

/// Compares the parts of an input with what the program did for it, `before` which it did something for another.
pub(crate) fn judge(
    tally: &mut Tally,
    input: &Interaction,
    parts: &[InteractionPart],
    (before, done): (Option<Done>, Done),
) {
    let latency = input.latency_ns().expect("it was seen");
    assert_eq!(parts.iter().map(|part| part.ns).sum::<u64>(), latency, "parts add up: {input:?} {parts:?}");
    assert!(done.begin_ns >= input.begin_ns, "{input:?} {done:?}");
    let row = tally.by_key.entry(done.key).or_default();
    let (_, expected) = KEYS.iter().find(|(key, _)| *key == done.key).expect("a known key");
    let is_late = waited_for_another(input, before) || expected.is_none() && has_no_end(input, done);
    if disturbed_ns(parts) > DISTURBED_NS || somebody_hidden_ran(parts) || is_late {
        tally.disturbed += 1;
        row.apart += 1;
        return;
    }
    let tolerance = (done.part_ns / 20).max(200_000);
    let unknown_ns = parts.iter().map(|part| part.unknown_ns).sum::<u64>();
    let overwritten = parts.iter().filter(|part| says(part, OVERWRITTEN));
    let overwritten_ns = overwritten.map(|part| part.unknown_ns).sum::<u64>();
    // Whoever it waited for is told by what others do, that it was a lock by evidence that may be overwritten.
    let is_a_lock_unseen =
        expected.is_some_and(|(kind, name)| kind == "lock" && overwritten_ns > 0 && named(parts, "wait", name) > 0);
    let is_right_but_for = |unseen_ns: u64| match expected {
        // The program checks the spelling for 20 ms afterwards; nobody waits for that, but the CPU is busy.
        None => {
            latency < 10_000_000 && input.busy_ns.is_some_and(|busy| busy.saturating_sub(input.begin_ns) > 19_000_000)
        }
        Some((kind, name)) => {
            // Several of them end a disk's requests, for example.
            let of = |kind: &str| parts.iter().filter(|part| part.kind == kind).map(|part| part.ns).sum::<u64>();
            let is_seen = |part: &&InteractionPart| unseen_ns == 0 || part.kind != "unknown";
            let largest = parts.iter().filter(is_seen).map(|part| of(&part.kind)).max();
            let length = named(parts, kind, name);
            // The program's account runs from before the call to after it: it includes the way there and back, and
            // whoever interrupted it.
            let on_the_way = ["kernel_wake", "idle_exit", "wait"].into_iter().filter(|other| other != kind);
            let on_the_way = on_the_way.map(of).sum::<u64>() + disturbed_ns(parts) + unseen_ns;
            let is_whole = length <= done.part_ns + tolerance && length + on_the_way + tolerance >= done.part_ns;
            largest == Some(of(kind)) && is_whole
        }
    };
    let is_mostly_unknown = unknown_ns * 10 >= latency * 9;
    if is_right_but_for(0) || !is_mostly_unknown && overwritten_ns > 0 && is_right_but_for(overwritten_ns) {
        tally.right += 1;
        row.right += 1;
        let largest = parts.iter().max_by_key(|part| part.ns);
        let is_it =
            |part: &InteractionPart| expected.is_none_or(|(kind, name)| part.kind == kind && part.name.contains(name));
        row.single += usize::from(largest.is_some_and(is_it));
        // An input that is entirely unknown is counted separately.
        tally.all_ns += latency;
        for part in parts.iter().filter(|part| part.unknown_ns > 0) {
            let sum = if says(part, NOT_RUN) { &mut tally.not_run_ns } else { &mut tally.unknown_ns };
            *sum += part.unknown_ns;
            if part.unknown_ns > 500_000 {
                eprintln!("unknown in input {} of {latency} ns: {part:?}", input.number);
            }
        }
    } else if is_mostly_unknown || is_a_lock_unseen {
        row.unknown += 1;
        if overwritten_ns > 0 {
            tally.overwritten += 1;
        } else {
            tally.unknown.push(format!("{done:?} {input:?} {parts:?}"));
        }
    } else {
        row.wrong += 1;
        // Said at once: a single one fails nothing.
        eprintln!("wrong: {done:?} {input:?} {parts:?}");
        tally.wrong.push(format!("{done:?} {input:?} {parts:?}"));
    }
}
