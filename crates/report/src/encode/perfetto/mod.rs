//! Perfetto traces, for its viewer and its query engine: how to write them.
//!
//! The trace format is protobuf, and needs two of its kinds of field: whole numbers of variable length, and contents
//! preceded by their length. So it is written by hand here: one track for each level and thread below a track for each
//! CPU, and a slice as a pair of begin and end.

mod stacks;

pub(crate) use stacks::{Place, Stacks};

use std::collections::BTreeMap;

// Field numbers of the public trace format.
const TRACE_PACKET: u32 = 1;
const PACKET_PROCESSES: u32 = 2;
const PACKET_TIMESTAMP: u32 = 8;
const PACKET_SEQUENCE: u32 = 10;
const PACKET_EVENT: u32 = 11;
const PACKET_FLAGS: u32 = 13;
const PACKET_TRACK: u32 = 60;
const TRACK_UUID: u32 = 1;
const TRACK_NAME: u32 = 2;
const TRACK_THREAD: u32 = 4;
const TRACK_PARENT: u32 = 5;
const TRACK_ORDERING: u32 = 11;
const TRACK_RANK: u32 = 12;
pub(crate) const EVENT_ANNOTATION: u32 = 4;
const EVENT_TYPE: u32 = 9;
const EVENT_TRACK: u32 = 11;
const EVENT_CATEGORY: u32 = 22;
const EVENT_NAME: u32 = 23;
pub(crate) const ANNOTATION_UNSIGNED: u32 = 3;
const ANNOTATION_STRING: u32 = 6;
pub(crate) const ANNOTATION_NAME: u32 = 10;

// Field numbers of a thread's own track, and of the lists of processes and threads.
const THREAD_PROCESS: u32 = 1;
const THREAD_NUMBER: u32 = 2;
const THREAD_NAME: u32 = 5;
const LISTED_PROCESS: u32 = 1;
const LISTED_THREAD: u32 = 2;
const LISTED_NUMBER: u32 = 1;
const LISTED_COMMAND: u32 = 3;
const LISTED_NAME: u32 = 2;
const LISTED_OF_PROCESS: u32 = 3;

const PACKET_FTRACE: u32 = 1;
const FTRACE_CPU: u32 = 1;
const FTRACE_EVENT: u32 = 2;
const FTRACE_TIMESTAMP: u32 = 1;
const FTRACE_THREAD: u32 = 2;
const FTRACE_SWITCH: u32 = 4;
const FTRACE_WAKING: u32 = 20;

pub(crate) const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
const ORDER_EXPLICIT: u64 = 3;
const SEQUENCE: u64 = 1;

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn whole(out: &mut Vec<u8>, field: u32, value: u64) {
    varint(out, u64::from(field) << 3);
    varint(out, value);
}

pub(crate) fn bytes(out: &mut Vec<u8>, field: u32, value: &[u8]) {
    varint(out, u64::from(field) << 3 | 2);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// A message within a message.
pub(crate) fn message(out: &mut Vec<u8>, field: u32, write: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    write(&mut inner);
    bytes(out, field, &inner);
}

/// A track below a CPU, or by itself. The order of the variants is the order on the screen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
    /// A late thread and why it was late.
    Victim(u32),
    Interrupts,
    Softirqs,
    Deferred,
    Threads,
    Thread(u32),
    Samples,
    /// What a thread's program says about itself.
    Marks(u32),
    Others,
}

/// Tracks that are made when they are first needed.
#[derive(Default)]
pub(crate) struct Tracks {
    known: BTreeMap<(Option<u32>, Lane), (u64, String)>,
}

/// A thread and its process, by their numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OfProcess<'a> {
    pub(crate) tid: u32,
    pub(crate) process: u32,
    pub(crate) name: &'a str,
    /// The name of the process.
    pub(crate) command: &'a str,
}

impl Tracks {
    /// The track's identity.
    pub(crate) fn of(&mut self, cpu: Option<u32>, lane: Lane, name: &str) -> u64 {
        let next = 1 + self.known.len() as u64;
        let parent = cpu.map_or(0, parent_uuid);
        self.known.entry((cpu, lane)).or_insert_with(|| (parent + next, name.to_owned())).0
    }

    /// The packets that describe them; they come before all others. If a thread's process is known, its marks and its
    /// lateness are on the thread's own track.
    pub(crate) fn describe_all(&self, threads: &BTreeMap<u32, OfProcess<'_>>) -> Vec<u8> {
        let mut out = Vec::new();
        let mut last_cpu = None;
        for (rank, ((cpu, lane), (uuid, name))) in self.known.iter().enumerate() {
            if let Lane::Marks(tid) | Lane::Victim(tid) = lane
                && let Some(thread) = threads.get(tid)
            {
                describe_thread(&mut out, *uuid, thread);
                continue;
            }
            let parent = cpu.map(parent_uuid);
            if let (Some(cpu), Some(parent), true) = (cpu, parent, last_cpu != *cpu) {
                describe(&mut out, parent, &format!("CPU {cpu}"), None, u64::from(*cpu) + 1);
                last_cpu = Some(*cpu);
            }
            describe(&mut out, *uuid, name, parent, rank as u64);
        }
        out
    }
}

fn parent_uuid(cpu: u32) -> u64 {
    (u64::from(cpu) + 1) << 32
}

fn on_track(event: &mut Vec<u8>, kind: u64, track: u64) {
    whole(event, EVENT_TYPE, kind);
    whole(event, EVENT_TRACK, track);
}

pub(crate) fn named(event: &mut Vec<u8>, kind: u64, track: u64, category: &str, name: &str) {
    on_track(event, kind, track);
    bytes(event, EVENT_CATEGORY, category.as_bytes());
    bytes(event, EVENT_NAME, name.as_bytes());
}

/// The packets of a trace, as far as they are written.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    /// What was written; packets that are no events of tracks are appended to it.
    pub(crate) bytes: Vec<u8>,
    /// Whether an event was written.
    has_begun: bool,
}

impl Packets {
    /// An event of a track, at this time of the trace's clock, ns.
    pub(crate) fn event(&mut self, at_ns: u64, write: impl FnOnce(&mut Vec<u8>)) {
        message(&mut self.bytes, TRACE_PACKET, |packet| {
            whole(packet, PACKET_TIMESTAMP, at_ns);
            whole(packet, PACKET_SEQUENCE, SEQUENCE);
            // A reader drops a sequence until it learns that nothing earlier is needed to understand it.
            whole(packet, PACKET_FLAGS, if self.has_begun { 2 } else { 1 });
            message(packet, PACKET_EVENT, write);
        });
        self.has_begun = true;
    }

    /// A slice begins; `number` is added unless it is 0.
    pub(crate) fn begin_slice(&mut self, at_ns: u64, track: u64, category: &str, name: &str, number: u64) {
        self.event(at_ns, |event| {
            if number > 0 {
                message(event, EVENT_ANNOTATION, |annotation| {
                    whole(annotation, ANNOTATION_UNSIGNED, number);
                    bytes(annotation, ANNOTATION_NAME, if category == "thread" { b"kernel priority" } else { b"ns" });
                });
            }
            named(event, SLICE_BEGIN, track, category, name);
        });
    }

    /// A slice begins, with texts.
    pub(crate) fn begin_told(&mut self, at_ns: u64, track: u64, category: &str, name: &str, texts: &[(&str, &str)]) {
        self.event(at_ns, |event| {
            annotate(event, texts);
            named(event, SLICE_BEGIN, track, category, name);
        });
    }

    /// The innermost slice of a track ends.
    pub(crate) fn end_slice(&mut self, at_ns: u64, track: u64) {
        self.event(at_ns, |event| on_track(event, SLICE_END, track));
    }

    /// An event that took no time, with texts.
    pub(crate) fn instant(&mut self, at_ns: u64, track: u64, category: &str, name: &str, texts: &[(&str, &str)]) {
        self.event(at_ns, |event| {
            annotate(event, texts);
            named(event, INSTANT, track, category, name);
        });
    }
}

/// Texts that go with an event, each with its key.
fn annotate(event: &mut Vec<u8>, texts: &[(&str, &str)]) {
    for (key, text) in texts.iter().filter(|(_, text)| !text.is_empty()) {
        message(event, EVENT_ANNOTATION, |annotation| {
            bytes(annotation, ANNOTATION_STRING, text.as_bytes());
            bytes(annotation, ANNOTATION_NAME, key.as_bytes());
        });
    }
}

/// A thread as the kernel's scheduler describes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scheduled<'a> {
    pub(crate) tid: u32,
    pub(crate) name: &'a str,
    /// As the kernel counts: below 100 real-time.
    pub(crate) priority: i64,
}

impl Scheduled<'_> {
    /// In the form of the kernel's tracing: a name, a thread and a priority in three fields, starting with this one.
    fn write(self, out: &mut Vec<u8>, from: u32) {
        bytes(out, from, self.name.as_bytes());
        whole(out, from + 1, u64::from(self.tid));
        // There a negative number is one of 64 bits.
        whole(out, from + 2, self.priority as u64);
    }
}

/// A CPU switched from a thread, which it left in this state (0: it could continue), to another. From these the viewer
/// makes a track for each CPU and each thread.
pub(crate) fn switch(out: &mut Vec<u8>, cpu: u32, at_ns: u64, from: Scheduled<'_>, state: u64, to: Scheduled<'_>) {
    kernel_event(out, cpu, at_ns, from.tid, FTRACE_SWITCH, |event| {
        from.write(event, 1);
        whole(event, 4, state);
        to.write(event, 5);
    });
}

/// A thread, or an interrupt in it, woke another. The viewer draws an arrow from one to the other.
pub(crate) fn waking(out: &mut Vec<u8>, cpu: u32, at_ns: u64, waker: u32, woken: Scheduled<'_>) {
    kernel_event(out, cpu, at_ns, waker, FTRACE_WAKING, |event| {
        woken.write(event, 1);
        whole(event, 4, 1);
        whole(event, 5, u64::from(cpu));
    });
}

/// An event of the kernel's own tracing, while a CPU ran this thread.
fn kernel_event(out: &mut Vec<u8>, cpu: u32, at_ns: u64, tid: u32, kind: u32, write: impl FnOnce(&mut Vec<u8>)) {
    message(out, TRACE_PACKET, |packet| {
        message(packet, PACKET_FTRACE, |bundle| {
            whole(bundle, FTRACE_CPU, u64::from(cpu));
            message(bundle, FTRACE_EVENT, |event| {
                whole(event, FTRACE_TIMESTAMP, at_ns);
                whole(event, FTRACE_THREAD, u64::from(tid));
                message(event, kind, write);
            });
        });
    });
}

fn describe_thread(out: &mut Vec<u8>, uuid: u64, thread: &OfProcess<'_>) {
    message(out, TRACE_PACKET, |packet| {
        whole(packet, PACKET_SEQUENCE, SEQUENCE);
        message(packet, PACKET_TRACK, |track| {
            whole(track, TRACK_UUID, uuid);
            message(track, TRACK_THREAD, |own| {
                whole(own, THREAD_PROCESS, u64::from(thread.process));
                whole(own, THREAD_NUMBER, u64::from(thread.tid));
                bytes(own, THREAD_NAME, thread.name.as_bytes());
            });
        });
    });
}

/// The processes of threads: the viewer groups threads by these.
pub(crate) fn processes(threads: &BTreeMap<u32, OfProcess<'_>>) -> Vec<u8> {
    let mut out = Vec::new();
    let commands: BTreeMap<u32, &str> = threads.values().map(|thread| (thread.process, thread.command)).collect();
    message(&mut out, TRACE_PACKET, |packet| {
        message(packet, PACKET_PROCESSES, |list| {
            for (process, command) in &commands {
                message(list, LISTED_PROCESS, |listed| {
                    whole(listed, LISTED_NUMBER, u64::from(*process));
                    bytes(listed, LISTED_COMMAND, command.as_bytes());
                });
            }
            for thread in threads.values() {
                message(list, LISTED_THREAD, |listed| {
                    whole(listed, LISTED_NUMBER, u64::from(thread.tid));
                    bytes(listed, LISTED_NAME, thread.name.as_bytes());
                    whole(listed, LISTED_OF_PROCESS, u64::from(thread.process));
                });
            }
        });
    });
    out
}

pub(crate) fn describe(out: &mut Vec<u8>, uuid: u64, name: &str, parent: Option<u64>, rank: u64) {
    message(out, TRACE_PACKET, |packet| {
        whole(packet, PACKET_SEQUENCE, SEQUENCE);
        message(packet, PACKET_TRACK, |track| {
            whole(track, TRACK_UUID, uuid);
            bytes(track, TRACK_NAME, name.as_bytes());
            if let Some(parent) = parent {
                whole(track, TRACK_PARENT, parent);
            }
            whole(track, TRACK_ORDERING, ORDER_EXPLICIT);
            whole(track, TRACK_RANK, rank);
        });
    });
}

#[cfg(test)]
pub(crate) mod tests;
