//! Stacks as samples: the viewer makes flame graphs of them for each process and thread, and its query engine has them
//! in `perf_sample`.

use super::{PACKET_FLAGS, PACKET_SEQUENCE, PACKET_TIMESTAMP, TRACE_PACKET, bytes, message, whole};
use std::collections::HashMap;

const PACKET_INTERNED: u32 = 12;
const PACKET_DEFAULTS: u32 = 59;
const PACKET_SAMPLE: u32 = 66;
const DEFAULTS_OF_SAMPLES: u32 = 12;
const DEFAULTS_TIMEBASE: u32 = 1;
const TIMEBASE_PERIOD: u32 = 1;
const TIMEBASE_COUNTER: u32 = 4;
/// The counter of a clock that counts CPU time.
const CPU_CLOCK: u64 = 1;

// The parts of a stack: each is sent once, and by its number from then on.
const INTERNED_FUNCTION: u32 = 5;
const INTERNED_FRAME: u32 = 6;
const INTERNED_STACK: u32 = 7;
const INTERNED_PATH: u32 = 17;
const INTERNED_MAPPING: u32 = 19;
const NUMBER: u32 = 1;
const STRING_TEXT: u32 = 2;
const FRAME_FUNCTION: u32 = 2;
const FRAME_MAPPING: u32 = 3;
const FRAME_OFFSET: u32 = 4;
const MAPPING_PATH: u32 = 7;
const STACK_FRAME: u32 = 2;

const SAMPLE_CPU: u32 = 1;
const SAMPLE_PROCESS: u32 = 2;
const SAMPLE_THREAD: u32 = 3;
const SAMPLE_STACK: u32 = 4;

/// Packets of samples refer to earlier ones of their sequence; slices are another sequence.
const SEQUENCE: u64 = 2;

/// Where a CPU was executing, and for whom.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) at_ns: u64,
    pub(crate) cpu: u32,
    pub(crate) process: u32,
    pub(crate) tid: u32,
}

/// Writes samples; remembers which names it has written.
#[derive(Default)]
pub(crate) struct Stacks {
    begun: bool,
    functions: HashMap<String, u64>,
    /// A file, or the kernel, has one name and one mapping, with the same number.
    modules: HashMap<String, u64>,
    frames: HashMap<(u64, u64), u64>,
    stacks: HashMap<Vec<u64>, u64>,
}

impl Stacks {
    /// Takes a sample; `frames` are functions and where they come from, the innermost first. `period_ns`: how often
    /// samples were taken; 0 if unknown.
    pub(crate) fn sample(&mut self, out: &mut Vec<u8>, place: Place, period_ns: u64, frames: &[(&str, &str)]) {
        let mut interned = Vec::new();
        // The format wants the outermost function first.
        let numbers: Vec<u64> =
            frames.iter().rev().map(|(function, module)| self.frame(&mut interned, function, module)).collect();
        let next = self.stacks.len() as u64 + 1;
        let stack = *self.stacks.entry(numbers).or_insert_with_key(|numbers| {
            message(&mut interned, INTERNED_STACK, |stack| {
                whole(stack, NUMBER, next);
                numbers.iter().for_each(|number| whole(stack, STACK_FRAME, *number));
            });
            next
        });
        let is_first = !std::mem::replace(&mut self.begun, true);
        message(out, TRACE_PACKET, |packet| {
            whole(packet, PACKET_TIMESTAMP, place.at_ns);
            whole(packet, PACKET_SEQUENCE, SEQUENCE);
            whole(packet, PACKET_FLAGS, if is_first { 1 } else { 2 });
            if is_first {
                defaults(packet, period_ns);
            }
            if !interned.is_empty() {
                bytes(packet, PACKET_INTERNED, &interned);
            }
            message(packet, PACKET_SAMPLE, |sample| {
                whole(sample, SAMPLE_CPU, u64::from(place.cpu));
                whole(sample, SAMPLE_PROCESS, u64::from(place.process));
                whole(sample, SAMPLE_THREAD, u64::from(place.tid));
                whole(sample, SAMPLE_STACK, stack);
            });
        });
    }

    fn frame(&mut self, interned: &mut Vec<u8>, function: &str, module: &str) -> u64 {
        let next = self.functions.len() as u64 + 1;
        let function = *self.functions.entry(function.to_owned()).or_insert_with(|| {
            string(interned, INTERNED_FUNCTION, next, function);
            next
        });
        let next = self.modules.len() as u64 + 1;
        let module = *self.modules.entry(module.to_owned()).or_insert_with(|| {
            // The reader puts a slash before each part of a path.
            string(interned, INTERNED_PATH, next, module.strip_prefix('/').unwrap_or(module));
            message(interned, INTERNED_MAPPING, |mapping| {
                whole(mapping, NUMBER, next);
                whole(mapping, MAPPING_PATH, next);
            });
            next
        });
        let next = self.frames.len() as u64 + 1;
        *self.frames.entry((function, module)).or_insert_with(|| {
            message(interned, INTERNED_FRAME, |frame| {
                whole(frame, NUMBER, next);
                whole(frame, FRAME_FUNCTION, function);
                whole(frame, FRAME_MAPPING, module);
                // The names have been found already: the frame has no address, and readers want one from everything
                // that has a mapping.
                whole(frame, FRAME_OFFSET, 0);
            });
            next
        })
    }
}

/// The clock of the samples, once for all of them.
fn defaults(packet: &mut Vec<u8>, period_ns: u64) {
    message(packet, PACKET_DEFAULTS, |defaults| {
        message(defaults, DEFAULTS_OF_SAMPLES, |samples| {
            message(samples, DEFAULTS_TIMEBASE, |timebase| {
                if period_ns > 0 {
                    whole(timebase, TIMEBASE_PERIOD, period_ns);
                }
                whole(timebase, TIMEBASE_COUNTER, CPU_CLOCK);
            });
        });
    });
}

fn string(interned: &mut Vec<u8>, field: u32, number: u64, text: &str) {
    message(interned, field, |string| {
        whole(string, NUMBER, number);
        bytes(string, STRING_TEXT, text.as_bytes());
    });
}
