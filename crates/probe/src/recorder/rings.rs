//! The flight recorder's rings as the process sees them: the Rust side of `bpf/recorder.h`.

use crate::shared::lossy_ring::{Marked, Slot, slot};
use punctual_kernel::bpf::SharedMemory;

pub(super) const RECORDS: usize = 32_768;
pub(super) const SAMPLES: usize = 1_024;
pub(super) const FRAMES: usize = 48;

/// `struct record` of `bpf/recorder.h`.
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
    fn mark(&self) -> u64 {
        self.sequence
    }
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

/// `struct stack` of `bpf/recorder.h`.
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
    fn mark(&self) -> u64 {
        self.sequence
    }
}

impl Stack {
    pub(super) fn kernel(&self) -> &[u64] {
        frames(&self.kernel, self.kernel_bytes)
    }

    pub(super) fn user(&self) -> &[u64] {
        frames(&self.user, self.user_bytes)
    }
}

fn frames(frames: &[u64; FRAMES], bytes: i32) -> &[u64] {
    &frames[..(usize::try_from(bytes).unwrap_or(0) / 8).min(FRAMES)]
}

/// Words of `struct open_handlers` of `bpf/recorder.h`.
pub(crate) const OPEN_WORDS: usize = 14;

/// `struct ring` of `bpf/recorder.h`.
#[repr(C, align(64))]
struct Ring {
    records: [Record; RECORDS],
    stacks: [Stack; SAMPLES],
    head: u64,
    stack_head: u64,
    last_late: u64,
    /// What is open, for the programs' sums.
    open: [u64; OPEN_WORDS],
}

/// What a CPU's ring held of a stretch of time.
#[derive(Debug, Default)]
pub(crate) struct Copied {
    /// By time, with at least one from before the stretch where there ever was one.
    pub(super) records: Vec<Record>,
    pub(super) stacks: Vec<Stack>,
    /// Why this is not all there was.
    pub(super) broken: Option<&'static str>,
}

/// The rings of all CPUs.
pub(super) struct Rings {
    memory: SharedMemory,
    cpus: usize,
}

const OVERWRITTEN: &str = "the recorder's ring was overwritten before it could be read";
const UNFINISHED: &str = "a record was not finished";

impl Rings {
    pub(super) fn new(memory: SharedMemory, cpus: usize) -> Rings {
        // Panics now rather than later where the map is smaller than the records say.
        let _ = memory.at::<Ring>(0, cpus);
        Rings { memory, cpus }
    }

    /// Stacks ever taken.
    pub(super) fn stacks_taken(&self) -> u64 {
        (0..self.cpus).map(|cpu| self.heads(cpu).1).sum()
    }

    /// Records ever written.
    pub(super) fn records_written(&self) -> u64 {
        (0..self.cpus).map(|cpu| self.heads(cpu).0).sum()
    }

    /// Records and stacks ever begun on a CPU.
    fn heads(&self, cpu: usize) -> (u64, u64) {
        let ring = self.ring(cpu);
        // SAFETY: within the mapping; written by the programs as whole words.
        unsafe { ((&raw const (*ring).head).read_volatile(), (&raw const (*ring).stack_head).read_volatile()) }
    }

    fn ring(&self, cpu: usize) -> *const Ring {
        self.memory.at::<Ring>(cpu * size_of::<Ring>(), 1).as_ptr()
    }

    /// Copies what happened on a CPU between two times, ns; the later one lies in the past.
    pub(super) fn copy(&self, cpu: u32, start: u64, end: u64) -> Copied {
        if cpu as usize >= self.cpus {
            return Copied { broken: Some("the recorder does not know the CPU"), ..Copied::default() };
        }
        let mut copied = Copied::default();
        self.copy_records(cpu as usize, start, end, &mut copied);
        self.copy_stacks(cpu as usize, start, end, &mut copied);
        // One that was interrupted while it was written stands before what interrupted it, and is later or earlier.
        copied.records.sort_by_key(|record| record.time);
        copied.stacks.sort_by_key(|stack| stack.time);
        copied
    }

    fn copy_records(&self, cpu: usize, start: u64, end: u64, copied: &mut Copied) {
        let ring = self.ring(cpu);
        let (head, _) = self.heads(cpu);
        let oldest = head.saturating_sub(RECORDS as u64);
        for position in (oldest..head).rev() {
            // SAFETY: within the mapping; only programs that set marks write there.
            let found = unsafe {
                slot((&raw const (*ring).records).cast::<Record>(), RECORDS, &raw const (*ring).head, position)
            };
            let record = match found {
                Slot::Whole(record) => record,
                // Being written right now, so later than the stretch; a dead one shows when its time would come.
                Slot::Unfinished if head - position < 8 => continue,
                Slot::Unfinished => return copied.broken = Some(UNFINISHED),
                Slot::Overwritten => return copied.broken = Some(OVERWRITTEN),
            };
            if record.time <= end {
                copied.records.push(record);
            }
            if record.time < start {
                return;
            }
        }
        if oldest > 0 {
            copied.broken = Some(OVERWRITTEN);
        }
    }

    fn copy_stacks(&self, cpu: usize, start: u64, end: u64, copied: &mut Copied) {
        let ring = self.ring(cpu);
        let (_, head) = self.heads(cpu);
        for position in (head.saturating_sub(SAMPLES as u64)..head).rev() {
            // SAFETY: as above.
            let found = unsafe {
                slot((&raw const (*ring).stacks).cast::<Stack>(), SAMPLES, &raw const (*ring).stack_head, position)
            };
            let Slot::Whole(stack) = found else { continue };
            if stack.time < start {
                return;
            }
            if stack.time <= end {
                copied.stacks.push(stack);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use libbpf_rs::btf::Btf;
    use punctual_kernel::bpf_layout::{record_layout, variable_offsets};
    use punctual_kernel::layout_of;

    #[test]
    fn the_records_are_those_of_the_programs() {
        let btf = Btf::from_raw("recorder", crate::recorder::programs::OBJECT).unwrap().unwrap();
        assert_eq!(
            record_layout(&btf, "record"),
            layout_of!(Record, sequence, time, steal, task, context, value, extra, name)
        );
        assert_eq!(
            record_layout(&btf, "stack"),
            layout_of!(
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
            )
        );
        assert_eq!(record_layout(&btf, "ring"), layout_of!(Ring, records, stacks, head, stack_head, last_late, open));
        let (size, configuration) = record_layout(&btf, "recorder_configuration");
        let offsets: Vec<usize> = configuration.iter().map(|(_, offset)| *offset).collect();
        assert_eq!((size, offsets), (96, vec![0, 8, 16, 40, 48, 56, 64, 72, 80, 88]));
        assert_eq!(record_layout(&btf, "nesting_place").0, size_of::<punctual_kernel::per_cpu::NestingPlace>());
        assert_eq!(variable_offsets(&btf, ".rodata"), [0]);
    }
}
