//! Inputs as a Perfetto trace: a track for each kind below the program, with a slice from input to seen, and inside it
//! where the time went.

use super::code::{Code, hottest};
use super::events::Events;
use super::model::InteractReport;
use super::spent::Spent;
use super::think_wait::OverTime;
use crate::encode::perfetto::{Packets, describe};
use punctual_recording::{
    Interaction, InteractionPart, Outcome, START, for_each_interaction_part, format_ns, printable,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The track of the program, above all others, and that of the tasks.
const PROGRAM: u64 = 1;
const TASKS: u64 = 2;

/// The trace: what a file for Perfetto holds. Times are those of `CLOCK_MONOTONIC`, so other traces of this boot line
/// up with it. The parts of an input have lengths but no places: they follow one another from its beginning, the
/// largest first.
///
/// # Errors
/// As for [`for_each_interaction_part`].
pub fn interact_trace(report: &InteractReport<'_>) -> punctual_recording::Result<Vec<u8>> {
    let mut parts: BTreeMap<u32, Vec<InteractionPart>> = BTreeMap::new();
    for_each_interaction_part(report.recording, |part| parts.entry(part.number).or_default().push(part))?;
    let program = report.summary.program.first().map_or("program", String::as_str);
    Ok(trace(program, &report.inputs, parts, &report.events, &report.code, report.over_time.as_ref()))
}

fn trace(
    program: &str,
    inputs: &[Interaction],
    mut parts: BTreeMap<u32, Vec<InteractionPart>>,
    events: &Events,
    code: &Code,
    over_time: Option<&OverTime>,
) -> Vec<u8> {
    let mut inputs: Vec<&Interaction> = inputs.iter().collect();
    inputs.sort_by_key(|input| (input.begin_ns, input.number));
    let mut out = Packets::default();
    describe(&mut out.bytes, PROGRAM, &printable(program.rsplit('/').next().unwrap_or(program)), None, 0);
    describe(&mut out.bytes, TASKS, "tasks", Some(PROGRAM), 0);
    let tracks = Tracks::of(&inputs);
    tracks
        .names
        .iter()
        .enumerate()
        .for_each(|(at, name)| describe(&mut out.bytes, track(at), name, Some(PROGRAM), 1 + at as u64));
    tasks(&mut out, &inputs);
    states(&mut out, over_time, track(tracks.names.len()), 1 + tracks.names.len() as u64);
    for (input, &at) in inputs.iter().zip(&tracks.of_inputs) {
        let own = parts.get_mut(&input.number).map(std::mem::take).unwrap_or_default();
        put(&mut out, track(at), input, own, code);
        for event in events.of(input.number) {
            let name = printable(&format!("{} {}", event.toolkit, event.name));
            out.instant(event.at_ns, track(at), "event", &name, &[]);
        }
    }
    out.bytes
}

fn track(at: usize) -> u64 {
    TASKS + 1 + at as u64
}

/// Until when tracks are in use, with the one that is free first on top.
type Taken = BinaryHeap<Reverse<(u64, usize)>>;

/// The track of an input: that of its kind, or a further one if an earlier input of the kind was still waited for.
struct Tracks {
    names: Vec<String>,
    of_inputs: Vec<usize>,
}

impl Tracks {
    /// For inputs in order of their beginnings.
    fn of(inputs: &[&Interaction]) -> Tracks {
        let mut tracks = Tracks { names: Vec::new(), of_inputs: Vec::new() };
        // For each kind: until when which of its tracks are taken, and how many it has.
        let mut kinds: BTreeMap<&str, (Taken, usize)> = BTreeMap::new();
        for input in inputs {
            let (taken, count) = kinds.entry(&input.kind).or_default();
            let is_free = taken.peek().is_some_and(|Reverse((until, _))| *until <= input.begin_ns);
            let at = if let Some(Reverse((_, at))) = is_free.then(|| taken.pop()).flatten() {
                at
            } else {
                *count += 1;
                let kind = printable(&input.kind);
                tracks.names.push(if *count == 1 { kind } else { format!("{kind}, while others are waited for") });
                tracks.names.len() - 1
            };
            taken.push(Reverse((end_of(input), at)));
            tracks.of_inputs.push(at);
        }
        tracks
    }
}

/// Where an input's slice ends; for one that was not seen, where it began.
fn end_of(input: &Interaction) -> u64 {
    input.seen_ns.map_or(input.begin_ns, |seen| seen.max(input.begin_ns))
}

/// What belongs to one task, from its first input to the end of its last.
fn tasks(out: &mut Packets, inputs: &[&Interaction]) {
    let typed: Vec<&&Interaction> = inputs.iter().filter(|input| input.kind != START).collect();
    let stretches = typed.chunk_by(|one, next| one.task == next.task);
    let begins: Vec<u64> = stretches.clone().map(|stretch| stretch[0].begin_ns).collect();
    for (at, stretch) in stretches.enumerate().filter(|(_, stretch)| !stretch[0].task.is_empty()) {
        let last = stretch.iter().map(|input| input.end_ns).max().unwrap_or(0);
        let end = begins.get(at + 1).map_or(last, |next| last.min(*next)).max(stretch[0].begin_ns);
        out.begin_told(stretch[0].begin_ns, TASKS, "task", &printable(&stretch[0].task), &[]);
        out.end_slice(end, TASKS);
    }
}

/// Who waits and who thinks: a track for each of both, from this one on, below all others.
fn states(out: &mut Packets, over_time: Option<&OverTime>, first: u64, rank: u64) {
    let Some(over_time) = over_time else { return };
    for (at, (name, waits, thinks)) in (0..).zip(over_time.states()) {
        describe(&mut out.bytes, first + at, &format!("waiting, {name}"), Some(PROGRAM), rank + at);
        let said = waits.iter().map(|stretch| ("wait", *stretch)).chain(thinks.into_iter().map(|one| ("think", one)));
        let mut said: Vec<(&str, (u64, u64))> = said.collect();
        said.sort_unstable_by_key(|(_, stretch)| *stretch);
        for (state, (from_ns, to_ns)) in said {
            out.begin_told(from_ns, first + at, "state", state, &[]);
            out.end_slice(to_ns, first + at);
        }
    }
}

/// An input: its slice with its parts and its ends or, if it was not seen, a mark.
fn put(out: &mut Packets, track: u64, input: &Interaction, mut parts: Vec<InteractionPart>, code: &Code) {
    let outcome = input.outcome.map_or("", Outcome::name);
    let name = printable(&input.label);
    let (task, number) = (printable(&input.task), input.number.to_string());
    let cpu = input.cpu_ns.map_or_else(|| "not known".to_owned(), format_ns);
    let told = [("outcome", outcome), ("task", &task), ("number", &number), ("CPU time", &cpu)];
    let ends = [
        ("taken", input.got_ns),
        ("blocked", input.blocked_ns),
        ("busy until here", input.busy_ns),
        ("reached the user", input.arrived_ns),
    ];
    for (what, at) in ends {
        if let Some(at) = at {
            out.instant(at, track, "end", &format!("{name} {what}"), &[]);
        }
    }
    if input.seen_ns.is_none() {
        return out.instant(input.begin_ns, track, "input", &format!("{name} ({outcome})"), &told);
    }
    let end = end_of(input);
    out.begin_told(input.begin_ns, track, "input", &name, &told);
    parts.sort_by_key(|part| Reverse(part.ns));
    let mut at = input.begin_ns;
    for part in parts {
        // A forged recording has parts of more than there was.
        let until = at.saturating_add(part.ns).min(end);
        let on = Spent::of(&part);
        let (words, detail) = (printable(&on.words()), printable(&part.detail));
        let code = code.of_part(input.number, &on).map(hottest).unwrap_or_default();
        out.begin_told(at, track, "part", &words, &[("detail", &detail), ("code", &code)]);
        out.end_slice(until, track);
        at = until;
    }
    out.end_slice(end, track);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::perfetto::tests::{Field, fields, number, part, slices_of};

    /// Beginning, when it was seen, kind, label, task.
    type Made = (u64, Option<u64>, &'static str, &'static str, &'static str);

    const INPUTS: [Made; 6] = [
        (1_000, Some(90_000), "start", "vim", ""),
        (100_000, Some(180_000), "key", "a", "write"),
        // While the previous one was waited for.
        (150_000, Some(260_000), "key", "b", "write"),
        (260_000, Some(300_000), "key", "c", "write"),
        (400_000, None, "control", "ctrl-x", "save"),
        (500_000, Some(590_000), "enter", "enter", "save"),
    ];

    fn made() -> Vec<u8> {
        let (mut inputs, mut parts) = (Vec::new(), BTreeMap::<u32, Vec<InteractionPart>>::new());
        for (number, (begin_ns, seen_ns, kind, label, task)) in (0u32..).zip(INPUTS) {
            inputs.push(Interaction {
                number,
                kind: kind.into(),
                label: label.into(),
                task: task.into(),
                begin_ns,
                end_ns: begin_ns + 100_000,
                got_ns: Some(begin_ns + 10),
                seen_ns,
                outcome: Some(if seen_ns.is_some() { Outcome::Seen } else { Outcome::Unread }),
                ..Interaction::default()
            });
            // The smaller part is written first.
            for (kind, name, share) in [("own", "editor", 1), ("io", "vda", 3)] {
                let ns = seen_ns.map_or(0, |seen| (seen - begin_ns) / 4 * share);
                let part = InteractionPart { number, kind: kind.into(), name: name.into(), ns, ..Default::default() };
                parts.entry(number).or_default().push(part);
            }
        }
        let over_time = OverTime {
            from_ns: 100_000,
            to_ns: 600_000,
            until_seen: vec![(100_000, 300_000), (500_000, 590_000)],
            machine: vec![(100_000, 120_000)],
            not_known: vec![(400_000, 600_000)],
        };
        trace("/usr/bin/vim", &inputs, parts, &Events::default(), &Code::default(), Some(&over_time))
    }

    #[test]
    fn inputs_are_slices_of_their_kind_with_their_parts_inside() {
        let data = made();
        let slices = slices_of(&data);
        let inputs: Vec<(&str, &str, u64, u64)> = slices
            .iter()
            .filter(|(track, name, ..)| track != "tasks" && !track.starts_with("waiting") && !name.contains(' '))
            .map(|(track, name, start, end)| (track.as_str(), name.as_str(), *start, *end))
            .collect();
        let further = "key, while others are waited for";
        let seen = [
            ("start", "vim", 1_000, 90_000),
            ("key", "a", 100_000, 180_000),
            (further, "b", 150_000, 260_000),
            ("key", "c", 260_000, 300_000),
            ("enter", "enter", 500_000, 590_000),
        ];
        assert_eq!(inputs, seen);
        for (track, _, start, end) in seen {
            let on =
                slices.iter().filter(|one| one.0 == track && one.1.contains(' ') && one.2 >= start && one.3 <= end);
            let parts: Vec<(&str, u64, u64)> = on.map(|(_, name, from, to)| (name.as_str(), *from, *to)).collect();
            assert_eq!(parts.len(), 2, "{parts:?}");
            let largest = start + (end - start) / 4 * 3;
            assert_eq!(parts, [("input or output: vda", start, largest), ("the work of editor", largest, end)]);
        }
        let tasks: Vec<(&str, u64, u64)> = slices
            .iter()
            .filter(|one| one.0 == "tasks")
            .map(|(_, name, from, to)| (name.as_str(), *from, *to))
            .collect();
        assert_eq!(tasks, [("write", 100_000, 360_000), ("save", 400_000, 600_000)]);
        let states = |track: &str| -> Vec<(String, u64, u64)> {
            slices.iter().filter(|one| one.0 == track).map(|(_, name, from, to)| (name.clone(), *from, *to)).collect()
        };
        let told = |told: &[(&str, u64, u64)]| -> Vec<(String, u64, u64)> {
            told.iter().map(|(name, from, to)| ((*name).to_owned(), *from, *to)).collect()
        };
        let seen = [
            ("wait", 100_000, 300_000),
            ("think", 300_000, 500_000),
            ("wait", 500_000, 590_000),
            ("think", 590_000, 600_000),
        ];
        assert_eq!(states("waiting, until seen"), told(&seen));
        // What is not known is neither.
        assert_eq!(
            states("waiting, machine of 1996"),
            told(&[("wait", 100_000, 120_000), ("think", 120_000, 400_000)])
        );
    }

    #[test]
    fn all_tracks_stand_below_the_program_and_an_input_that_was_not_seen_is_a_mark() {
        let data = made();
        let (mut tracks, mut marks) = (Vec::new(), Vec::new());
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        for packet in &fields(&data)[&1] {
            let Field::Bytes(packet) = packet else { panic!("a packet is a message") };
            let packet = fields(packet);
            if let Some(track) = part(&packet, 60).map(fields) {
                tracks.push((text(part(&track, 2).unwrap()), number(&track, 5)));
                continue;
            }
            let event = fields(part(&packet, 11).unwrap());
            if number(&event, 9) == Some(3) {
                marks.push((text(part(&event, 23).unwrap()), number(&packet, 8).unwrap()));
            }
        }
        assert_eq!((tracks[0].0.as_str(), tracks[0].1), ("vim", None));
        assert!(tracks.len() == 9 && tracks[1..].iter().all(|(_, parent)| *parent == Some(PROGRAM)), "{tracks:?}");
        assert_eq!(marks.iter().filter(|(name, _)| name.ends_with(" taken")).count(), INPUTS.len());
        assert!(marks.contains(&("ctrl-x (unread)".to_owned(), 400_000)), "{marks:?}");
    }
}
