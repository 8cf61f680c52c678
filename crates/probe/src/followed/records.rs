//! The records that the programs and this process share: the Rust side of `bpf/followed.h`.

use crate::shared::lossy_ring::Marked;
use crate::shared::names::text_of;
use punctual_kernel::per_cpu::NestingPlace;
use punctual_recording::printable;
use std::mem::offset_of;

pub(super) const MAX_FOLLOWED: usize = 4096;
pub(super) const INDEX_SIZE: usize = 16_384;
pub(super) const PROBES: usize = 16;
pub(super) const ALLOCATION_TRIES: u64 = 64;
pub(super) const RECORDS: usize = 16_384;
pub(crate) const MAX_CPUS: usize = 512;
pub(super) const RENAMES: usize = 4096;
pub(crate) const NAME_SIZE: usize = 16;

/// `enum follow_flag`.
pub(crate) const FOLLOW_THREADS: u32 = 1;
pub(crate) const FOLLOW_NAME: u32 = 4;
pub(super) const FOLLOW_NO_MORE: u32 = 8;

/// `enum record_flag`.
pub(crate) const RECORD_ENDED: u32 = 1;
pub(crate) const RECORD_NO_WAKEUP: u32 = 2;
pub(crate) const RECORD_BY_NAME: u32 = 4;
pub(crate) const RECORD_WITHIN_WORK: u32 = 8;

/// `enum waker_kind`.
pub(crate) const WAKER_TIMER: u32 = 1;
pub(crate) const WAKER_VECTOR: u32 = 2;
pub(crate) const WAKER_DEVICE: u32 = 3;
pub(crate) const WAKER_SOFTIRQ: u32 = 4;
pub(crate) const WAKER_THREAD: u32 = 5;

/// `SENT_HERE`.
pub(crate) const SENT_HERE: u32 = 1 << 31;

/// `struct wake`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Wake {
    pub(crate) waking: u64,
    pub(crate) began: u64,
    pub(crate) irq: u64,
    pub(crate) kind: u32,
    pub(crate) id: u32,
    pub(crate) name: [u8; NAME_SIZE],
}

/// `struct followed`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Slot {
    pub(crate) owner: u64,
    pub(crate) flags: u32,
    pub(super) state: u32,
    pub(crate) on_cpu_since: u64,
    pub(crate) executed: u64,
    pub(crate) unobserved: u32,
    pub(crate) lost: u32,
    pub(crate) switch_in: u64,
    pub(crate) cpu: u32,
    pub(super) held: u32,
    pub(super) pending: Wake,
    pub(crate) current: Wake,
    doubtful_word: u64,
    pub(super) doubts: u64,
    pub(super) series: u64,
    series_since: u64,
    pads: [u64; 1],
}

/// `struct record`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Record {
    pub(crate) wake: Wake,
    pub(crate) switch_in: u64,
    pub(crate) switch_out: u64,
    pub(crate) executed: u64,
    pub(crate) at: u64,
    pub(crate) tid: u32,
    pub(crate) process: u32,
    pub(crate) cpu: u32,
    pub(crate) flags: u32,
    pub(crate) policy: u16,
    pub(crate) priority: u16,
    pub(crate) unobserved: u16,
    pub(crate) lost: u16,
    pub(crate) name: [u8; NAME_SIZE],
    pub(crate) place: u32,
    pub(crate) call: u32,
}

/// `struct records`.
#[repr(C)]
pub(super) struct Records {
    pub(super) records: [Record; RECORDS],
    pub(super) head: u64,
    pub(super) lost: u64,
    pads: [u64; 6],
    pub(super) read: u64,
    more_pads: [u64; 7],
}

/// `struct rename`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Rename {
    sequence: u64,
    pub(crate) tid: u32,
    pub(crate) process: u32,
    pub(crate) name: [u8; NAME_SIZE],
}

impl Marked for Rename {
    const MARK_AT: usize = offset_of!(Rename, sequence);
}

/// `struct context`.
type Context = [u64; 8];

/// `struct threads`.
#[repr(C)]
pub(super) struct Threads {
    pub(super) followed: [Slot; MAX_FOLLOWED],
    pub(super) index: [u64; INDEX_SIZE],
    contexts: [Context; MAX_CPUS],
    pub(super) renames: [Rename; RENAMES],
    pub(super) renamed: u64,
    pub(super) next: u64,
    pub(super) alive: u64,
    pub(super) without_room: u64,
    pads: [u64; 4],
}

/// `struct follow_configuration`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Configuration {
    pub(crate) nesting: NestingPlace,
    pub(crate) names_wanted: u64,
    pub(crate) switch_tells_state: u64,
    pub(crate) places_wanted: u64,
    /// Where the functions lie that timers of threads call, by `enum timer_function`; 0: not known.
    pub(crate) timers: [u64; 4],
    pub(crate) mark: [u8; NAME_SIZE],
}

impl Configuration {
    /// As the programs' read-only data.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        [
            &self.nesting.bytes()[..],
            &self.names_wanted.to_ne_bytes(),
            &self.switch_tells_state.to_ne_bytes(),
            &self.places_wanted.to_ne_bytes(),
            self.timers.map(u64::to_ne_bytes).as_flattened(),
            &self.mark,
        ]
        .concat()
    }
}

/// A name out of the kernel.
pub(crate) fn text(name: &[u8; NAME_SIZE]) -> String {
    text_of(name).into_owned()
}

/// A name for tables and messages: a line break or an escape in it would tear them apart.
pub(crate) fn shown(name: &[u8; NAME_SIZE]) -> String {
    printable(&text(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use libbpf_rs::btf::Btf;
    use punctual_kernel::bpf_layout::{record_layout, variable_offsets};
    use punctual_kernel::layout_of;

    #[test]
    fn the_numbers_are_those_of_the_programs() {
        use crate::shared::source_numbers::number_in;

        let sizes = [
            ("MAX_FOLLOWED", MAX_FOLLOWED),
            ("FOLLOWED_INDEX_SIZE", INDEX_SIZE),
            ("FOLLOWED_PROBES", PROBES),
            ("ALLOCATION_TRIES", ALLOCATION_TRIES as usize),
            ("RECORDS", RECORDS),
            ("MAX_CPUS", MAX_CPUS),
            ("RENAMES", RENAMES),
            ("NAME_SIZE", NAME_SIZE),
        ];
        for (name, size) in sizes {
            assert_eq!(number_in("followed.h", name), size as u64, "{name}");
        }
        let flags = [
            ("FOLLOW_THREADS", FOLLOW_THREADS),
            ("FOLLOW_NAME", FOLLOW_NAME),
            ("FOLLOW_NO_MORE", FOLLOW_NO_MORE),
            ("RECORD_ENDED", RECORD_ENDED),
            ("RECORD_NO_WAKEUP", RECORD_NO_WAKEUP),
            ("RECORD_BY_NAME", RECORD_BY_NAME),
            ("RECORD_WITHIN_WORK", RECORD_WITHIN_WORK),
            ("WAKER_TIMER", WAKER_TIMER),
            ("WAKER_VECTOR", WAKER_VECTOR),
            ("WAKER_DEVICE", WAKER_DEVICE),
            ("WAKER_SOFTIRQ", WAKER_SOFTIRQ),
            ("WAKER_THREAD", WAKER_THREAD),
            ("SENT_HERE", SENT_HERE),
        ];
        for (name, flag) in flags {
            assert_eq!(number_in("followed.h", name), u64::from(flag), "{name}");
        }
    }

    #[test]
    fn the_records_are_those_of_the_programs() {
        let btf = Btf::from_raw("foreign", super::super::programs::OBJECT).unwrap().unwrap();
        macro_rules! check {
            ($name:literal, $record:ty, $($field:ident),+) => {
                assert_eq!(record_layout(&btf, $name), layout_of!($record, $($field),+), $name)
            };
        }
        check!("wake", Wake, waking, began, irq, kind, id, name);
        check!(
            "followed",
            Slot,
            owner,
            flags,
            state,
            on_cpu_since,
            executed,
            unobserved,
            lost,
            switch_in,
            cpu,
            held,
            pending,
            current,
            doubtful_word,
            doubts,
            series,
            series_since,
            pads
        );
        check!(
            "record", Record, wake, switch_in, switch_out, executed, at, tid, process, cpu, flags, policy, priority,
            unobserved, lost, name, place, call
        );
        check!("records", Records, records, head, lost, pads, read, more_pads);
        check!("rename", Rename, sequence, tid, process, name);
        check!("threads", Threads, followed, index, contexts, renames, renamed, next, alive, without_room, pads);
        check!(
            "follow_configuration",
            Configuration,
            nesting,
            names_wanted,
            switch_tells_state,
            places_wanted,
            timers,
            mark
        );
        assert_eq!(size_of::<Record>(), 128);
        for section in [".bss", ".rodata"] {
            assert_eq!(variable_offsets(&btf, section), [0], "{section}");
        }
    }
}
