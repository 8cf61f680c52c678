//! Episodes as a Perfetto trace: each CPU's threads, interrupts and softirqs, the late threads' stages, stacks as
//! samples.

use super::waits::step_words;
use crate::encode::perfetto::{Lane, OfProcess, Packets, Place, Scheduled, Stacks, Tracks, processes, switch, waking};
use punctual_blame::{Running, Slice, Split, replay, split};
use punctual_recording::episode::{Event, EventKind, StackSample};
use punctual_recording::{Episode, Stage, Vector};
use std::collections::BTreeMap;

/// The trace: the content of a file for Perfetto. Times are those of `CLOCK_MONOTONIC`.
pub fn trace(episodes: &[Episode]) -> Vec<u8> {
    let mut tracks = Tracks::default();
    let mut body = Packets::default();
    let mut stacks = Stacks::default();
    let threads_known = of_processes(episodes);
    // The evidence of neighbouring episodes overlaps: each CPU's time is shown once.
    let mut shown: BTreeMap<u32, u64> = BTreeMap::new();
    for episode in episodes {
        let split = split(episode);
        victim(&mut tracks, &mut body, episode, &split);
        let names = thread_names(&episode.events, &episode.names);
        for (&cpu, timeline) in &replay(episode) {
            // The first slice reaches back to the beginning of time: what came before the evidence.
            let reached = shown.get(&cpu).copied().unwrap_or(0);
            let slices = timeline.slices.get(1..).unwrap_or_default();
            let slices = &slices[slices.partition_point(|slice| slice.start_ns < reached)..];
            threads(&mut tracks, &mut body, &names, cpu, slices);
            nested(&mut tracks, &mut body, &episode.names, cpu, slices);
        }
        for sample in &episode.samples {
            if shown.get(&sample.cpu).is_none_or(|reached| sample.at_ns >= *reached) {
                sampled(&mut tracks, &mut body, &mut stacks, episode, sample, &threads_known);
            }
        }
        for event in &episode.events {
            let reached = shown.entry(event.cpu).or_default();
            if event.at_ns > *reached {
                schedule(&mut body.bytes, event, &names);
            }
            *reached = event.at_ns.max(*reached);
        }
    }
    let mut out = if threads_known.is_empty() { Vec::new() } else { processes(&threads_known) };
    out.extend(tracks.describe_all(&threads_known));
    out.extend(body.bytes);
    out
}

/// The threads whose process is known; none if the recording does not say.
fn of_processes(episodes: &[Episode]) -> BTreeMap<u32, OfProcess<'_>> {
    let mut known = BTreeMap::new();
    for episode in episodes {
        let mut names = thread_names(&episode.events, &episode.names);
        names.extend(episode.samples.iter().map(|sample| (sample.tid, episode.name(sample.name))));
        names.insert(episode.victim.tid, &episode.victim.name);
        for process in &episode.processes {
            for &tid in &process.threads {
                let name = names.get(&tid).copied().unwrap_or(&process.name);
                // A process that was gone before anybody asked gets its thread's name.
                let command = if process.name.is_empty() { name } else { &process.name };
                known.insert(tid, OfProcess { tid, process: process.number, name, command });
            }
        }
    }
    known
}

/// What a CPU was executing: a sample of its thread if that belongs to a known process; otherwise, and if it was taken
/// at a late interrupt, an instant beside its CPU.
fn sampled(
    tracks: &mut Tracks,
    body: &mut Packets,
    stacks: &mut Stacks,
    episode: &Episode,
    sample: &StackSample,
    known: &BTreeMap<u32, OfProcess<'_>>,
) {
    let frames: Vec<(&str, &str)> = sample
        .frames
        .iter()
        .filter_map(|&number| episode.frames.get(number as usize))
        .map(|frame| (frame.function.as_str(), frame.module.as_str()))
        .collect();
    let thread = known.get(&sample.tid);
    if let Some(thread) = thread {
        let place = Place { at_ns: sample.at_ns, cpu: sample.cpu, process: thread.process, tid: sample.tid };
        stacks.sample(&mut body.bytes, place, episode.sample_period_ns, &frames);
    }
    if thread.is_none() || sample.at_late_interrupt {
        let name = frames.first().map_or("?", |(function, _)| function);
        let stack: Vec<&str> = frames.iter().map(|(function, _)| *function).collect();
        let uuid = tracks.of(Some(sample.cpu), Lane::Samples, "samples");
        let category = if sample.at_late_interrupt { "late interrupt" } else { "sample" };
        body.instant(sample.at_ns, uuid, category, name, &[("stack", &stack.join(" < "))]);
    }
}

/// What the scheduler did, in the terms of the kernel's own tracing.
fn schedule(body: &mut Vec<u8>, event: &Event, names: &BTreeMap<u32, &str>) {
    let scheduled = |tid: u32, priority: i64| {
        let name = if tid == 0 { "swapper" } else { names.get(&tid).copied().unwrap_or_default() };
        Scheduled { tid, name, priority }
    };
    let other = scheduled(u32::try_from(event.value).unwrap_or(0), i64::from(event.extra as u32 as i32));
    match event.kind {
        EventKind::Switch => {
            let current = scheduled(event.tid, i64::from(event.priority));
            switch(body, event.cpu, event.at_ns, current, event.extra >> 32, other);
        }
        EventKind::Waking => {
            // Beside the priority is what ended the wait.
            let other = Scheduled { priority: other.priority & 0xff, ..other };
            waking(body, event.cpu, event.at_ns, event.tid, other);
        }
        _ => {}
    }
}

fn victim(tracks: &mut Tracks, body: &mut Packets, episode: &Episode, split: &Split) {
    let name = format!("late: {} (thread {})", episode.victim.name, episode.victim.tid);
    let uuid = tracks.of(None, Lane::Victim(episode.victim.tid), &name);
    let title = match episode.stage {
        Stage::Response => format!("episode {}: asleep again after {} ns", episode.id, episode.total_ns()),
        Stage::Request => format!("episode {}: waits for more work after {} ns", episode.id, episode.total_ns()),
        _ => format!("episode {}: {} ns late", episode.id, episode.total_ns()),
    };
    body.begin_slice(episode.expected_ns, uuid, "late wakeup", &title, 0);
    for piece in &split.pieces {
        let title = format!("{} {}", piece.kind.name(), piece.who);
        body.begin_slice(piece.start_ns, uuid, piece.kind.name(), &title, piece.ns);
        // Within a wait: what whoever was waited for did, and whom that one waited for.
        for (kind, who) in &piece.path {
            body.begin_slice(piece.start_ns, uuid, kind.name(), &step_words(*kind, who), piece.ns);
        }
        for _ in 0..=piece.path.len() {
            body.end_slice(piece.start_ns + piece.ns, uuid);
        }
    }
    body.end_slice(episode.end_ns, uuid);
}

/// A name by its number.
fn name(names: &[String], number: u32) -> &str {
    names.get(number as usize).map_or("?", String::as_str)
}

/// The names of threads, wherever events give one.
pub(crate) fn thread_names<'a>(events: &[Event], names: &'a [String]) -> BTreeMap<u32, &'a str> {
    let mut threads: BTreeMap<u32, &str> = BTreeMap::new();
    for event in events {
        match event.kind {
            EventKind::Switch => threads.insert(event.value as u32, name(names, event.name)),
            EventKind::Waking | EventKind::VectorBegin => threads.insert(event.tid, name(names, event.name)),
            _ => None,
        };
    }
    threads
}

pub(crate) fn threads(
    tracks: &mut Tracks,
    body: &mut Packets,
    threads: &BTreeMap<u32, &str>,
    cpu: u32,
    slices: &[Slice],
) {
    let uuid = tracks.of(Some(cpu), Lane::Threads, "threads");
    for run in slices.chunk_by(|left, right| left.tid == right.tid) {
        let (Some(begin), Some(end)) = (run.first(), run.last()) else { continue };
        if begin.tid == 0 {
            continue;
        }
        let name = threads.get(&begin.tid).map_or_else(|| format!("thread {}", begin.tid), |&name| name.to_owned());
        body.begin_slice(begin.start_ns, uuid, "thread", &name, begin.priority.max(0) as u64);
        body.end_slice(end.end_ns, uuid);
    }
}

/// Interrupts and softirqs: one that is open may hold more inside.
pub(crate) fn nested(tracks: &mut Tracks, body: &mut Packets, names: &[String], cpu: u32, slices: &[Slice]) {
    for in_interrupt in [true, false] {
        let (lane, title) = if in_interrupt { (Lane::Interrupts, "interrupts") } else { (Lane::Softirqs, "softirqs") };
        let mut open: Vec<Running> = Vec::new();
        let mut reached = 0;
        for slice in slices {
            let now: Vec<Running> = (slice.open.iter())
                .filter(|running| running.in_interrupt == in_interrupt && running.kind != EventKind::WorkBegin)
                .copied()
                .collect();
            let same = open.iter().zip(&now).take_while(|(left, right)| left == right).count();
            if same == open.len() && same == now.len() {
                reached = slice.end_ns;
                continue;
            }
            let uuid = tracks.of(Some(cpu), lane.clone(), title);
            for _ in same..open.len() {
                body.end_slice(slice.start_ns, uuid);
            }
            for running in &now[same..] {
                let running = match running.kind {
                    EventKind::VectorBegin => Vector::name_of(running.value).unwrap_or("vector"),
                    _ => name(names, running.name),
                };
                body.begin_slice(slice.start_ns, uuid, title, running, 0);
            }
            open = now;
            reached = slice.end_ns;
        }
        if !open.is_empty() {
            let uuid = tracks.of(Some(cpu), lane, title);
            for _ in &open {
                body.end_slice(reached, uuid);
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::encode::perfetto::tests::{instants_of, processes_of, samples_of, scheduling_of, slices_of};
    use punctual_recording::episode::{Call, Frame, IN_INTERRUPT, Process, Sender, Victim, WaitEnd};

    /// An episode of `victim`, thread 9, which `other` kept from its CPU.
    pub(crate) fn episode(id: u64, at_ns: u64) -> Episode {
        let event = |after, kind, tid, context, value, name| Event {
            at_ns: at_ns + after,
            cpu: 1,
            kind,
            tid,
            priority: 120,
            context,
            steal_ns: 0,
            value,
            extra: 19,
            name,
        };
        let interrupt = IN_INTERRUPT & (1 << 16);
        let victim = Victim { tid: 9, name: "victim".into(), priority: 19, cpu: 1 };
        Episode {
            id,
            threshold_ns: 1,
            names: vec!["other".into(), "victim".into(), "expired".into()],
            events: vec![
                event(50, EventKind::Switch, 0, 0, 7, 0),
                event(400, EventKind::VectorBegin, 7, interrupt, 1, 0),
                event(410, EventKind::TimerBegin, 7, interrupt, 0, 2),
                event(420, EventKind::Waking, 7, interrupt, 9, 0),
                event(430, EventKind::TimerEnd, 7, interrupt, 0, 2),
                event(440, EventKind::VectorEnd, 7, interrupt, 1, 0),
                event(900, EventKind::Switch, 7, 0, 9, 1),
                event(1_100, EventKind::Switch, 9, 0, 0, 0),
            ],
            ..Episode::of(victim, at_ns + 100, at_ns + 1_000)
        }
    }

    #[test]
    fn threads_interrupts_and_the_late_thread_have_tracks_and_every_begin_its_end() {
        let slices = slices_of(&trace(&[episode(1, 1_000_000), episode(2, 1_000_500), episode(3, 2_000_000)]));
        let on = |track: &str, name: &str| slices.iter().filter(|slice| slice.0 == track && slice.1 == name).count();
        assert_eq!(on("late: victim (thread 9)", "episode 1: 900 ns late"), 1);
        assert_eq!(on("late: victim (thread 9)", "irq_off other"), 3);
        // The second episode's interrupt is in time that the first one has shown.
        assert_eq!(on("interrupts", "local_timer"), 2);
        assert_eq!(on("interrupts", "expired"), 2);
        assert_eq!(on("threads", "victim"), 3);
        // Each switch and each waking of the time that is shown, once: three of the first, and what the second adds.
        let data = trace(&[episode(1, 1_000_000), episode(3, 2_000_000)]);
        let scheduling = scheduling_of(&data);
        let wakings: Vec<_> = scheduling.iter().filter(|event| event.3).collect();
        assert_eq!((scheduling.len(), wakings.len()), (8, 2), "{scheduling:?}");
        assert!(wakings.iter().all(|event| (event.2, event.4, event.5.as_str()) == (7, 9, "victim")), "{wakings:?}");
        assert!(slices.iter().all(|(.., start, end)| start <= end));
    }

    #[test]
    fn samples_stand_on_threads_of_processes_and_lateness_on_the_late_threads_own_track() {
        let mut known = episode(1, 1_000_000);
        known.sample_period_ns = 500_000;
        known.frames = [("spin", "kernel"), ("entry", "kernel"), ("main", "/usr/bin/other")]
            .map(|(function, module)| Frame { function: function.into(), module: module.into() })
            .to_vec();
        let sample = |at_ns, tid, at_late_interrupt, frames: &[u32]| StackSample {
            at_ns,
            cpu: 1,
            tid,
            context: 0,
            at_late_interrupt,
            name: 0,
            frames: frames.to_vec(),
        };
        known.samples = vec![
            sample(1_000_300, 7, false, &[0, 1, 2]),
            sample(1_000_500, 7, true, &[0, 1, 2]),
            sample(1_000_600, 8, false, &[1]),
        ];
        // The process of thread 8 is not known.
        let process =
            |number, name: &str, threads: &[u32]| Process { number, name: name.into(), threads: threads.into() };
        known.processes = vec![process(6, "program", &[7]), process(9, "", &[9])];
        let data = trace(&[known.clone()]);
        let stack = ["/usr/bin/other main", "/kernel entry", "/kernel spin"].map(str::to_owned).to_vec();
        let expected = [1_000_300, 1_000_500].map(|at| (at, 1, 6, 7, stack.clone()));
        assert_eq!(samples_of(&data), (Some(500_000), expected.to_vec()));
        let named = |tid, name: &str, process, command: &str| (tid, name.to_owned(), process, command.to_owned());
        assert_eq!(processes_of(&data), [named(7, "other", 6, "program"), named(9, "victim", 9, "victim")]);
        let of_victim = |track: &str, data: &[u8]| slices_of(data).iter().filter(|slice| slice.0 == track).count();
        assert_eq!((of_victim("victim", &data), of_victim("late: victim (thread 9)", &data)), (8, 0));
        // The sample at a late interrupt, and the one that belongs to nobody.
        assert_eq!(instants_of(&data), [(1_000_500, "spin".to_owned()), (1_000_600, "entry".to_owned())]);
        // An older recording has no processes: what it has is beside the CPUs, as before.
        known.processes.clear();
        let data = trace(&[known]);
        assert_eq!((samples_of(&data), processes_of(&data)), ((None, Vec::new()), Vec::new()));
        assert_eq!((instants_of(&data).len(), of_victim("late: victim (thread 9)", &data)), (3, 8));
    }

    #[test]
    fn within_a_wait_stands_what_whoever_was_waited_for_did() {
        let mut episode = episode(1, 1_000_000);
        (episode.stage, episode.end_ns) = (Stage::Request, 1_001_900);
        let answered = WaitEnd {
            sleeper: Call::Read,
            waker: Some(Call::Write),
            signals: false,
            ends: false,
            thaws: false,
            descriptor: None,
            sender: Sender::NotTold,
        }
        .bits();
        let event = |after: u64, kind, tid, value, extra, name| Event {
            at_ns: 1_000_000 + after,
            kind,
            tid,
            context: 0,
            value,
            extra,
            name,
            ..episode.events[0]
        };
        let more = [
            // In place of going idle, the CPU switches to the other thread, which this one waits for.
            event(1_100, EventKind::Switch, 9, 7, 1 << 32 | 120, 0),
            event(1_700, EventKind::Waking, 7, 9, answered | 19, 0),
            event(1_710, EventKind::Switch, 7, 9, 19, 1),
            event(1_900, EventKind::Switch, 9, 0, 1 << 32 | 120, 0),
        ];
        episode.events.pop();
        episode.events.extend(more);
        let slices = slices_of(&trace(&[episode]));
        let on = |name: &str| {
            let track = "late: victim (thread 9)";
            slices
                .iter()
                .filter(|slice| slice.0 == track && slice.1 == name)
                .map(|slice| slice.3 - slice.2)
                .sum::<u64>()
        };
        assert_eq!(on("episode 1: waits for more work after 1800 ns"), 1_800);
        assert_eq!((on("wait other"), on("other worked")), (600, 600));
    }
}
