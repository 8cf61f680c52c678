//! An event log as a Perfetto trace: each CPU's threads, interrupts and softirqs, programs' marks, and what else
//! happened.

use crate::encode::perfetto::{Lane, OfProcess, Packets, Scheduled, Tracks, processes, switch, waking};
use crate::why::trace::{nested, thread_names, threads};
use punctual_blame::replay_events;
use punctual_recording::episode::{Event, EventKind};
use punctual_recording::{EventClass, LogRow, LoggedThread, counted};
use std::collections::{BTreeMap, HashMap};

/// How many events of a CPU are played back at once.
const PART: usize = 20_000;

/// Takes rows in order of time and makes a trace of them. Times are those of `CLOCK_MONOTONIC`.
#[derive(Default)]
pub struct LogTrace {
    tracks: Tracks,
    body: Packets,
    parts: BTreeMap<u32, Part>,
    /// A thread's process, if that is known.
    processes: HashMap<u32, u32>,
    /// The last names of the threads that did anything.
    names: HashMap<u32, String>,
    /// The names of processes when the log began, by their first threads.
    commands: HashMap<u32, String>,
}

/// How many threads' names are kept: on a machine where programs start others without end, not all of them.
const MAX_THREADS: usize = 1 << 16;

/// Events of one CPU that have not been played back yet.
#[derive(Default)]
struct Part {
    events: Vec<Event>,
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Part {
    fn name(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

/// What the scheduler did, in the terms of the kernel's own tracing.
fn schedule(body: &mut Vec<u8>, row: &LogRow<'_>) {
    let event = &row.event;
    let other = Scheduled {
        tid: u32::try_from(event.value).unwrap_or(0),
        name: row.name,
        priority: i64::from(event.extra as u32 as i32),
    };
    if event.kind == EventKind::Waking {
        return waking(body, event.cpu, event.at_ns, event.tid, other);
    }
    let current = Scheduled { tid: event.tid, name: row.thread, priority: i64::from(event.priority) };
    switch(body, event.cpu, event.at_ns, current, event.extra >> 32, other);
}

impl LogTrace {
    /// With what was known about the machine's threads when the log began.
    pub fn new(threads: &[LoggedThread]) -> LogTrace {
        let first = threads.iter().filter(|thread| thread.is_first());
        LogTrace {
            processes: threads.iter().map(|thread| (thread.tid, thread.process)).collect(),
            commands: first.map(|thread| (thread.tid, thread.name.clone())).collect(),
            ..LogTrace::default()
        }
    }

    fn learn(&mut self, row: &LogRow<'_>) {
        let (event, other) = (&row.event, u32::try_from(row.event.value).unwrap_or(0));
        if event.kind == EventKind::ProcessFork && self.processes.len() < MAX_THREADS {
            self.processes.insert(other, event.extra as u32);
        }
        let other_named =
            matches!(event.kind, EventKind::Switch | EventKind::Waking | EventKind::ProcessFork | EventKind::Rename);
        let other_named = other_named.then_some((other, row.name));
        for (tid, name) in [(event.tid, row.thread)].into_iter().chain(other_named) {
            let is_known = self.names.get(&tid).is_some_and(|known| known == name);
            let has_room = self.names.len() < MAX_THREADS || self.names.contains_key(&tid);
            if tid != 0 && !name.is_empty() && !is_known && has_room {
                self.names.insert(tid, name.to_owned());
            }
        }
    }

    /// The threads that did anything and whose process is known.
    fn of_processes(&self) -> BTreeMap<u32, OfProcess<'_>> {
        let named = |tid: &u32| self.names.get(tid).or_else(|| self.commands.get(tid)).map(String::as_str);
        let known = self.names.iter().filter_map(|(&tid, name)| {
            let process = *self.processes.get(&tid)?;
            // If the first thread of a process was never seen, the process gets this thread's name.
            Some((tid, OfProcess { tid, process, name, command: named(&process).unwrap_or(name) }))
        });
        known.collect()
    }

    /// Takes a row.
    pub fn take(&mut self, row: &LogRow<'_>) {
        self.learn(row);
        let mut event = row.event;
        match event.kind {
            EventKind::Dropped => {
                // What is open there has no known end. Losses of marks say nothing about their CPU.
                if row.name == "ring" {
                    self.play(event.cpu, false);
                }
                let title = match event.value {
                    0 => format!("{} end here", row.name),
                    dropped => format!("{} dropped ({})", counted(dropped, "event"), row.name),
                };
                self.note(&event, Lane::Others, "other events", &title, row);
                return;
            }
            EventKind::Mark => {
                let track = format!("marks of {} ({})", row.thread, event.tid);
                self.note(&event, Lane::Marks(event.tid), &track, row.name, row);
            }
            EventKind::Switch | EventKind::Waking => schedule(&mut self.body.bytes, row),
            kind if matches!(
                kind.class(),
                EventClass::Process | EventClass::Futex | EventClass::Fault | EventClass::Lock
            ) =>
            {
                let title =
                    if row.name.is_empty() { kind.name().to_owned() } else { format!("{} {}", kind.name(), row.name) };
                self.note(&event, Lane::Others, "other events", &title, row);
            }
            _ => {}
        }
        if event.kind == EventKind::Mark {
            // It says nothing about what its CPU was doing.
            return;
        }
        let part = self.parts.entry(event.cpu).or_default();
        // In the form that the flight recorder keeps: these bring the current thread's name.
        let of_thread = matches!(event.kind, EventKind::Waking | EventKind::VectorBegin);
        event.name = part.name(if of_thread { row.thread } else { row.name });
        part.events.push(event);
        if part.events.len() >= PART {
            self.play(event.cpu, true);
        }
    }

    fn note(&mut self, event: &Event, lane: Lane, track: &str, title: &str, row: &LogRow<'_>) {
        // A program's marks are together, wherever it ran.
        let cpu = (!matches!(lane, Lane::Marks(_))).then_some(event.cpu);
        let uuid = self.tracks.of(cpu, lane, track);
        let value = crate::log::lines::signed_value(event)
            .map_or_else(|| format!("{:#x}", event.value), |value| value.to_string());
        let thread = format!("{} ({})", row.thread, event.tid);
        let texts = [("value", value.as_str()), ("thread", thread.as_str())];
        self.body.instant(event.at_ns, uuid, event.kind.name(), title, &texts);
    }

    /// Plays a CPU's events back; if more follow, the last one begins the next part.
    fn play(&mut self, cpu: u32, goes_on: bool) {
        let Some(part) = self.parts.get_mut(&cpu) else { return };
        let events = std::mem::take(&mut part.events);
        part.events.extend(events.last().filter(|_| goes_on).copied());
        let names = if goes_on {
            part.names.clone()
        } else {
            part.numbers.clear();
            std::mem::take(&mut part.names)
        };
        let threads_by_number = thread_names(&events, &names);
        for timeline in replay_events(&events).values() {
            // The first slice reaches back to the beginning of time.
            let slices = timeline.slices.get(1..).unwrap_or_default();
            threads(&mut self.tracks, &mut self.body, &threads_by_number, cpu, slices);
            nested(&mut self.tracks, &mut self.body, &names, cpu, slices);
        }
    }

    /// The trace: what a file for Perfetto holds.
    pub fn finish(mut self) -> Vec<u8> {
        let cpus: Vec<u32> = self.parts.keys().copied().collect();
        for cpu in cpus {
            self.play(cpu, false);
        }
        let threads = self.of_processes();
        let mut out = processes(&threads);
        out.extend(self.tracks.describe_all(&threads));
        out.extend(self.body.bytes);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::perfetto::tests::{processes_of, scheduling_of, slices_of};
    use punctual_recording::episode::IN_INTERRUPT;

    #[test]
    fn tracks_hold_what_ran_and_a_hole_closes_what_was_open() {
        let mut trace = LogTrace::default();
        let mut at = 0;
        let mut put = |kind, tid, value, context, thread: &str, name: &str| {
            at += 1_000;
            let event =
                Event { at_ns: at, cpu: 0, kind, tid, priority: 120, context, steal_ns: 0, value, extra: 120, name: 0 };
            trace.take(&LogRow { event, thread, name });
        };
        let interrupt = IN_INTERRUPT & (1 << 16);
        for _ in 0..PART {
            put(EventKind::Switch, 0, 7, 0, "idle", "worker");
            put(EventKind::VectorBegin, 7, 1, interrupt, "worker", "local_timer");
            put(EventKind::Mark, 7, 1, 0, "worker", "middle");
            put(EventKind::VectorEnd, 7, 1, interrupt, "worker", "local_timer");
            put(EventKind::Switch, 7, 0, 0, "worker", "idle");
        }
        put(EventKind::VectorBegin, 0, 1, interrupt, "idle", "local_timer");
        put(EventKind::SoftirqBegin, 0, 1, 1 << 8, "idle", "timer");
        put(EventKind::Dropped, 0, 99, 0, "", "ring");
        put(EventKind::Switch, 0, 8, 0, "idle", "other");
        put(EventKind::Switch, 8, 0, 0, "other", "idle");
        put(EventKind::Waking, 8, 7, 0, "other", "worker");
        let data = trace.finish();
        let scheduling = scheduling_of(&data);
        let of = |waking: bool, from: u64, to: u64, name: &str| {
            let is = |event: &&(u64, u64, u64, bool, u64, String)| {
                (event.2, event.3, event.4, event.5.as_str()) == (from, waking, to, name)
            };
            scheduling.iter().filter(is).count()
        };
        assert_eq!((of(false, 0, 7, "worker"), of(false, 7, 0, "idle"), of(false, 8, 0, "idle")), (PART, PART, 1));
        assert_eq!(of(true, 8, 7, "worker"), 1);
        assert!(scheduling.windows(2).all(|pair| pair[0].1 < pair[1].1), "in order of time");
        let slices = slices_of(&data);
        let on = |track: &str, name: &str| slices.iter().filter(|slice| slice.0 == track && slice.1 == name).count();
        assert!((PART..PART + 10).contains(&on("threads", "worker")), "{}", on("threads", "worker"));
        assert!((PART..PART + 10).contains(&on("interrupts", "local_timer")));
        assert_eq!(on("threads", "other"), 1);
        let longest = slices.iter().map(|(.., start, end)| end - start).max().unwrap();
        assert_eq!(longest, 4_000, "nothing reaches over a hole or a part");
    }

    #[test]
    fn threads_stand_below_their_processes_as_far_as_these_are_known() {
        let thread = |tid, process, name: &str| LoggedThread { tid, process, name: name.to_owned() };
        let mut trace = LogTrace::new(&[thread(7, 7, "audio"), thread(8, 7, "worker"), thread(90, 90, "silent")]);
        let mut at = 0;
        let mut put = |kind, tid, value, extra, thread: &str, name: &str| {
            at += 1_000;
            let event =
                Event { at_ns: at, cpu: 0, kind, tid, priority: 120, context: 0, steal_ns: 0, value, extra, name: 0 };
            trace.take(&LogRow { event, thread, name });
        };
        put(EventKind::Switch, 0, 8, 0, "idle", "worker");
        put(EventKind::Mark, 8, 1, 0, "worker", "half");
        put(EventKind::ProcessFork, 8, 9, 7, "worker", "worker");
        put(EventKind::Switch, 8, 9, 0, "worker", "helper");
        put(EventKind::Switch, 9, 33, 0, "helper", "stranger");
        put(EventKind::Switch, 33, 0, 0, "stranger", "idle");
        let data = trace.finish();
        let named = |tid, name: &str| (tid, name.to_owned(), 7, "audio".to_owned());
        assert_eq!(processes_of(&data), [named(8, "worker"), named(9, "helper")]);
    }
}
