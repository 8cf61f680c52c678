//! Rings of events as the programs of `bpf/event_ring.h` write them, one for each CPU: the Rust side of that header.

use super::lossy_ring::{Marked, Slot, slot};
use punctual_kernel::bpf::SharedMemory;
use std::mem::offset_of;
use std::sync::atomic::{Ordering, fence};

/// Frames of a stack on each side of the kernel's border.
const FRAMES: usize = 48;
/// Words of `struct open_handlers`.
const OPEN_WORDS: usize = 16;

/// `struct record` of `bpf/event_ring.h`.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Record {
    pub(crate) sequence: u64,
    pub(crate) time: u64,
    pub(crate) steal: u64,
    pub(crate) task: u32,
    pub(crate) context: u32,
    pub(crate) value: u64,
    pub(crate) extra: u64,
    pub(crate) name: [u8; 16],
}

impl Marked for Record {
    const MARK_AT: usize = offset_of!(Record, sequence);
}

impl Record {
    pub(crate) fn tid(&self) -> u32 {
        self.task & 0xff_ffff
    }

    pub(crate) fn priority(&self) -> i16 {
        (self.task >> 24) as i16 - 2
    }

    pub(crate) fn kind(&self) -> u8 {
        (self.context >> 24) as u8
    }

    pub(crate) fn context(&self) -> u32 {
        self.context & 0xff_ffff
    }
}

/// `struct stack` of `bpf/event_ring.h`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Stack {
    pub(crate) sequence: u64,
    pub(crate) time: u64,
    pub(crate) tid: u32,
    pub(crate) process: u32,
    pub(crate) context: u32,
    pub(crate) late: u32,
    kernel_bytes: i32,
    user_bytes: i32,
    pub(crate) name: [u8; 16],
    pad: u64,
    kernel: [u64; FRAMES],
    user: [u64; FRAMES],
}

impl Marked for Stack {
    const MARK_AT: usize = offset_of!(Stack, sequence);
}

impl Stack {
    pub(crate) fn kernel(&self) -> &[u64] {
        frames(&self.kernel, self.kernel_bytes)
    }

    pub(crate) fn user(&self) -> &[u64] {
        frames(&self.user, self.user_bytes)
    }
}

fn frames(frames: &[u64; FRAMES], bytes: i32) -> &[u64] {
    &frames[..(usize::try_from(bytes).unwrap_or(0) / 8).min(FRAMES)]
}

/// `struct ring`, for which an object gives room for so many records and stacks.
#[repr(C, align(64))]
pub(crate) struct Ring<const RECORDS: usize, const STACKS: usize> {
    records: [Record; RECORDS],
    stacks: [Stack; STACKS],
    head: u64,
    stack_head: u64,
    last_late: u64,
    /// What is open, for the programs' sums.
    open: [u64; OPEN_WORDS],
}

/// The rings of all possible CPUs.
pub(crate) struct EventRings<const RECORDS: usize, const STACKS: usize> {
    memory: SharedMemory,
    cpus: usize,
}

impl<const RECORDS: usize, const STACKS: usize> EventRings<RECORDS, STACKS> {
    pub(crate) fn new(memory: SharedMemory, cpus: usize) -> Self {
        // Panics now rather than later if the map is smaller than the records say.
        let _ = memory.at::<Ring<RECORDS, STACKS>>(0, cpus);
        EventRings { memory, cpus }
    }

    pub(crate) fn cpus(&self) -> usize {
        self.cpus
    }

    fn ring(&self, cpu: usize) -> *const Ring<RECORDS, STACKS> {
        self.memory.at::<Ring<RECORDS, STACKS>>(cpu * size_of::<Ring<RECORDS, STACKS>>(), 1).as_ptr()
    }

    /// Records and stacks ever begun on a CPU.
    pub(crate) fn heads(&self, cpu: usize) -> (u64, u64) {
        let ring = self.ring(cpu);
        // SAFETY: within the mapping; written by the programs as whole words.
        let heads =
            unsafe { ((&raw const (*ring).head).read_volatile(), (&raw const (*ring).stack_head).read_volatile()) };
        fence(Ordering::Acquire);
        heads
    }

    /// What is at a position below the head of a CPU's records.
    pub(crate) fn record(&self, cpu: usize, position: u64) -> Slot<Record> {
        let ring = self.ring(cpu);
        // SAFETY: within the mapping; only programs that set marks write there.
        unsafe { slot((&raw const (*ring).records).cast::<Record>(), RECORDS, &raw const (*ring).head, position) }
    }

    /// What is at a position below the head of a CPU's stacks.
    pub(crate) fn stack(&self, cpu: usize, position: u64) -> Slot<Stack> {
        let ring = self.ring(cpu);
        // SAFETY: within the mapping; only programs that set marks write there.
        unsafe { slot((&raw const (*ring).stacks).cast::<Stack>(), STACKS, &raw const (*ring).stack_head, position) }
    }
}

#[cfg(test)]
impl<const RECORDS: usize, const STACKS: usize> EventRings<RECORDS, STACKS> {
    /// Compares what is declared here with what an object's type information says.
    pub(crate) fn are_those_of(object: &[u8]) {
        use punctual_kernel::bpf_layout::record_layout;
        use punctual_kernel::layout_of;

        let btf = libbpf_rs::btf::Btf::from_raw("object", object).unwrap().unwrap();
        let record = layout_of!(Record, sequence, time, steal, task, context, value, extra, name);
        assert_eq!(record_layout(&btf, "record"), record);
        let stack = layout_of!(
            Stack,
            sequence,
            time,
            tid,
            process,
            context,
            late,
            kernel_bytes,
            user_bytes,
            name,
            pad,
            kernel,
            user
        );
        assert_eq!(record_layout(&btf, "stack"), stack);
        let ring = layout_of!(Ring<RECORDS, STACKS>, records, stacks, head, stack_head, last_late, open);
        assert_eq!(record_layout(&btf, "ring"), ring);
    }
}
