//! What was seen of a thread at the terminal: one record of `bpf/terminal_records.h`, in words.

use crate::followed::shown;
use crate::shared::lossy_ring::Marked;
use punctual_recording::Moment;
use std::mem::offset_of;

const NAME_SIZE: usize = 16;

const RAN_AND_SLEPT: u16 = 1;
const SLEEPS_FOR_IO: u16 = 2;
const SLEEPS_FOR_INPUT: u16 = 4;
const SLEEPS_FOR_SEVERAL: u16 = 8;
const WAKER_IS_THERE: u16 = 16;
const WOKEN_IS_THERE: u16 = 32;
const BY_INTERRUPT: u16 = 64;
const TAKES_LINES: u16 = 128;
const WOKEN_IS_KERNELS: u16 = 256;
const OF_SERVER: u16 = 512;
const TO_TERMINAL: u16 = 1_024;
const WAKER_IS_KERNELS: u16 = 2_048;
const TO_OTHERS: u16 = 4_096;
const INPUT_IS_THERE: u16 = 8_192;
/// The time limit of a call that has none.
const NO_LIMIT: u64 = u64::MAX;

/// `struct moment_record` of `bpf/terminal_records.h`.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct MomentRecord {
    pub(super) sequence: u64,
    pub(super) at: u64,
    pub(super) begin: u64,
    pub(super) value: u64,
    pub(super) tid: u32,
    pub(super) process: u32,
    pub(super) kind: u16,
    pub(super) flags: u16,
    pub(super) queued: u32,
    pub(super) name: [u8; NAME_SIZE],
}

impl Marked for MomentRecord {
    const MARK_AT: usize = offset_of!(MomentRecord, sequence);
}

/// What a thread at the terminal did. Times are ns of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// When; for what took time, when it ended.
    pub at_ns: u64,
    /// When that which took time began; 0 if that was not seen.
    pub begin_ns: u64,
    /// What.
    pub kind: Moment,
    /// The thread.
    pub tid: u32,
    /// Its process.
    pub process: u32,
    /// Its name.
    pub name: String,
    /// For [`Moment::Got`] and [`Moment::Wrote`], bytes; for [`Moment::Woke`], the woken thread.
    pub value: u64,
    /// For [`Moment::Got`], how far the terminal's input was read, for [`Moment::Came`], how far there was some, if the
    /// kernel's worker had handed it on: bytes since the terminal was opened or emptied, modulo 2^32.
    pub position: u32,
    /// For a sleep, when it ends by itself; `None`: never.
    pub limit_ns: Option<u64>,
    /// Bytes to get from the terminal at that time; not for [`Moment::Woke`] and [`Moment::Became`].
    pub queued: u32,
    flags: u16,
}

impl Seen {
    pub(super) fn new(record: &MomentRecord) -> Option<Seen> {
        let kind = Moment::from_code(record.kind)?;
        let has_limit = kind == Moment::Ran && record.flags & RAN_AND_SLEPT != 0;
        let has_position = matches!(kind, Moment::Got | Moment::Came);
        let (value, position) = match has_position {
            true => (record.value & u64::from(u32::MAX), (record.value >> 32) as u32),
            false => (record.value, 0),
        };
        Some(Seen {
            at_ns: record.at,
            begin_ns: record.begin,
            kind,
            tid: record.tid,
            process: record.process,
            name: shown(&record.name),
            value,
            position,
            limit_ns: (has_limit && record.value != NO_LIMIT && record.value != 0).then_some(record.value),
            queued: record.queued,
            flags: record.flags,
        })
    }

    /// One that a test makes up.
    pub fn invented(at_ns: u64, kind: Moment, tid: u32) -> Seen {
        let name = format!("thread-{tid}");
        Seen {
            at_ns,
            begin_ns: 0,
            kind,
            tid,
            process: tid,
            name,
            value: 0,
            position: 0,
            limit_ns: None,
            queued: 0,
            flags: 0,
        }
    }

    fn with(mut self, flag: u16, is_set: bool) -> Seen {
        self.flags = if is_set { self.flags | flag } else { self.flags & !flag };
        self
    }

    /// An event that a toolkit has handed on; `name` is that of [`crate::toolkit::HandedOn`].
    pub fn handed_on_by_toolkit(at_ns: u64, process: u32, tid: u32, name: u32) -> Seen {
        let value = u64::from(name);
        Seen { process, value, name: String::new(), ..Seen::invented(at_ns, Moment::HandedOn, tid) }
    }

    /// The same for a thread that left its CPU to sleep, in a call that the terminal's input ends, or for I/O.
    pub fn sleeping(self, for_input: bool, for_io: bool) -> Seen {
        self.with(RAN_AND_SLEPT, true).with(SLEEPS_FOR_INPUT, for_input).with(SLEEPS_FOR_IO, for_io)
    }

    /// The same for a waking among threads at the terminal.
    pub fn among(self, waker: bool, woken: bool, by_interrupt: bool) -> Seen {
        self.with(WAKER_IS_THERE, waker).with(WOKEN_IS_THERE, woken).with(BY_INTERRUPT, by_interrupt)
    }

    /// For [`Moment::Ran`]: it left its CPU to sleep, not to go on later.
    pub fn slept(&self) -> bool {
        self.flags & RAN_AND_SLEPT != 0
    }

    /// ... for input or output of its own.
    pub fn sleeps_for_io(&self) -> bool {
        self.flags & SLEEPS_FOR_IO != 0
    }

    /// ... in a call that the terminal's input ends.
    pub fn for_input(&self) -> bool {
        self.flags & SLEEPS_FOR_INPUT != 0
    }

    /// ... in a call for which that is not known.
    pub fn for_several(&self) -> bool {
        self.flags & SLEEPS_FOR_SEVERAL != 0
    }

    /// For [`Moment::Woke`]: the waker is at the terminal, and no interrupt did it.
    pub fn by_thread_there(&self) -> bool {
        self.flags & WAKER_IS_THERE != 0 && !self.by_interrupt()
    }

    /// ... the woken thread is.
    pub fn woken_is_there(&self) -> bool {
        self.flags & WOKEN_IS_THERE != 0
    }

    /// ... the woken thread belongs to the kernel.
    pub fn woken_is_kernels(&self) -> bool {
        self.flags & WOKEN_IS_KERNELS != 0
    }

    /// The same for a waking of one of the kernel's own threads.
    pub fn of_kernels(self) -> Seen {
        self.with(WOKEN_IS_KERNELS, true)
    }

    /// ... an interrupt or a softirq did it, a timer's for instance.
    pub fn by_interrupt(&self) -> bool {
        self.flags & BY_INTERRUPT != 0
    }

    /// The same for a thread of the display's server.
    pub fn of_servers(self) -> Seen {
        self.with(OF_SERVER, true)
    }

    /// Whether the display's server did it: what it got is what was typed, what it put out reports what was drawn.
    pub fn by_server(&self) -> bool {
        self.flags & OF_SERVER != 0
    }

    /// The same for what is written to a terminal when the program has a window.
    pub fn into_terminal(self) -> Seen {
        self.with(TO_TERMINAL, true)
    }

    /// For [`Moment::Wrote`] when the program has a window: it went to a terminal, a terminal emulator's for instance.
    pub fn goes_to_terminal(&self) -> bool {
        self.flags & TO_TERMINAL != 0
    }

    /// The same for a waking by one of the kernel's own threads.
    pub fn by_kernels(self) -> Seen {
        self.with(WAKER_IS_KERNELS, true)
    }

    /// For [`Moment::Woke`]: the waker belongs to the kernel.
    pub fn waker_is_kernels(&self) -> bool {
        self.flags & WAKER_IS_KERNELS != 0
    }

    /// The same for what the display's server tells others than the typist.
    pub fn to_others(self) -> Seen {
        self.with(TO_OTHERS, true)
    }

    /// Whether the display's server tells others than the typist: the program.
    pub fn tells_others(&self) -> bool {
        self.flags & TO_OTHERS != 0
    }

    /// For [`Moment::Came`]: the kernel's worker has handed the input on; otherwise it is beginning to.
    pub fn has_come(&self) -> bool {
        self.flags & INPUT_IS_THERE != 0
    }

    /// The same for input that the kernel's worker has handed on up to there; it was told about it at that time.
    pub fn handed_on(self, told_ns: u64, position: u32) -> Seen {
        Seen { begin_ns: told_ns, position, ..self }.with(INPUT_IS_THERE, true)
    }

    /// Whether the terminal hands on whole lines then.
    pub fn takes_lines(&self) -> bool {
        self.flags & TAKES_LINES != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::source_numbers::number_in;

    #[test]
    fn the_numbers_are_those_of_the_programs() {
        let flags = [
            ("RAN_AND_SLEPT", RAN_AND_SLEPT),
            ("SLEEPS_FOR_IO", SLEEPS_FOR_IO),
            ("SLEEPS_FOR_INPUT", SLEEPS_FOR_INPUT),
            ("SLEEPS_FOR_SEVERAL", SLEEPS_FOR_SEVERAL),
            ("WAKER_IS_THERE", WAKER_IS_THERE),
            ("WOKEN_IS_THERE", WOKEN_IS_THERE),
            ("BY_INTERRUPT", BY_INTERRUPT),
            ("TAKES_LINES", TAKES_LINES),
            ("WOKEN_IS_KERNELS", WOKEN_IS_KERNELS),
            ("OF_SERVER", OF_SERVER),
            ("TO_TERMINAL", TO_TERMINAL),
            ("WAKER_IS_KERNELS", WAKER_IS_KERNELS),
            ("TO_OTHERS", TO_OTHERS),
            ("INPUT_IS_THERE", INPUT_IS_THERE),
            ("NAME_SIZE", NAME_SIZE as u16),
        ];
        for (name, flag) in flags {
            assert_eq!(number_in("terminal_records.h", name), u64::from(flag), "{name}");
        }
    }
}
