//! The memory in which BPF programs leave the stamps of each thread's wakeup: the Rust side of `bpf/slots.h`.

use punctual_kernel::bpf::SharedMemory;
use punctual_kernel::callbacks::CallbackCounts;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

pub(crate) const MAX_TASKS: usize = 1024;
const INDEX_SIZE: usize = 4096;
const INDEX_PROBES: usize = 8;

/// `struct slot` of `bpf/slots.h`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Slot {
    pub(crate) tid: u32,
    pub(crate) cpu: u32,
    pub(crate) expected: u64,
    pub(crate) irq: u64,
    pub(crate) softirq: u64,
    pub(crate) waking: u64,
    pub(crate) switch_in: u64,
    pub(crate) steal: u64,
    pub(crate) timer: u64,
}

/// `struct configuration` of `bpf/slots.h`.
#[repr(C)]
pub(crate) struct Configuration {
    pub(crate) steal_offset: i64,
    pub(crate) hrtimer_wakeup: u64,
    pub(crate) timerfd_tmrproc: u64,
}

impl Configuration {
    /// In the form of the programs' read-only data.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let functions = [self.hrtimer_wakeup, self.timerfd_tmrproc].map(u64::to_ne_bytes);
        [self.steal_offset.to_ne_bytes(), functions[0], functions[1]].concat()
    }
}

/// `struct private` of `bpf/slots.h`.
#[repr(C)]
struct Private {
    steal_read: u64,
    stamp_read: u64,
    armed_late: u64,
    task: u64,
    steal_cpu: u32,
    pads: [u32; 7],
}

const PRIVATES_OFFSET: usize = MAX_TASKS * size_of::<Slot>() + INDEX_SIZE * size_of::<u16>();
const CALLBACKS_OFFSET: usize = PRIVATES_OFFSET + MAX_TASKS * size_of::<Private>();

/// The mapped table.
pub(crate) struct SlotTable {
    memory: Arc<SharedMemory>,
    filled: usize,
}

impl SlotTable {
    pub(crate) fn new(memory: SharedMemory) -> SlotTable {
        SlotTable { memory: Arc::new(memory), filled: 0 }
    }

    /// What happened to the softirq callbacks of all threads.
    pub(crate) fn callbacks(&self) -> CallbackCounts {
        CallbackCounts::read(&self.memory, CALLBACKS_OFFSET)
    }

    /// How many timers were already due when the thread with this slot armed them.
    pub(crate) fn armed_late(&self, number: usize) -> u64 {
        let private = self.memory.at::<Private>(PRIVATES_OFFSET + number * size_of::<Private>(), 1);
        // SAFETY: within the mapping (`at` checked); the programs go on counting in it, one word.
        unsafe { (&raw const (*private.as_ptr()).armed_late).read_volatile() }
    }

    /// Gives the thread a slot; `None` when there is no room.
    pub(crate) fn insert(&mut self, tid: u32) -> Option<SlotReader> {
        let number = self.filled;
        if number >= MAX_TASKS {
            return None;
        }
        let slot = self.memory.at::<Slot>(number * size_of::<Slot>(), 1);
        let index = self.memory.at::<u16>(MAX_TASKS * size_of::<Slot>(), INDEX_SIZE);
        for probe in 0..INDEX_PROBES {
            let cell = (tid as usize + probe) & (INDEX_SIZE - 1);
            // SAFETY: the cell and the slot lie within the mapping (`at` checked); before the programs are attached
            // nobody else accesses them, and afterwards they only read the index and this slot's thread id.
            unsafe {
                let cell = index.add(cell);
                if cell.read_volatile() == 0 {
                    (&raw mut (*slot.as_ptr()).tid).write_volatile(tid);
                    // Whoever finds the cell finds the thread, on every CPU.
                    fence(Ordering::Release);
                    cell.write_volatile(number as u16 + 1);
                    self.filled += 1;
                    return Some(SlotReader { slot, number: number as u32, _memory: Arc::clone(&self.memory) });
                }
            }
        }
        None
    }
}

/// A thread's own slot.
pub(crate) struct SlotReader {
    slot: NonNull<Slot>,
    number: u32,
    _memory: Arc<SharedMemory>,
}

// SAFETY: the slot lies in shared memory that the reader keeps mapped; all access to it is volatile.
unsafe impl Send for SlotReader {}

impl SlotReader {
    /// Its number in the table.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// What it holds now.
    #[inline]
    pub(crate) fn read(&self) -> Slot {
        // SAFETY: within the mapping that `_memory` keeps. The programs wrote it before they switched this thread in,
        // on the CPU that runs it; a later write could only tear a value, which `Wakeup::from_stamps` would disbelieve.
        unsafe { self.slot.read_volatile() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::helper_calls::calls_in;
    use crate::{Via, object_bytes};
    use libbpf_rs::btf::Btf;
    use punctual_kernel::bpf_layout::{record_layout, variable_offsets};
    use punctual_kernel::layout_of;

    #[test]
    fn a_wakeup_asks_for_the_current_thread_where_nobody_gives_it() {
        use libbpf_sys::BPF_FUNC_get_current_task_btf as CURRENT;
        for via in [Via::Timer, Via::Softirq] {
            let calls = |program| calls_in(object_bytes(via), program, CURRENT);
            let asked = ["timer_armed", "thread_waking", "thread_switched_in"].map(calls);
            assert_eq!(asked, [1, 0, 0], "{}", via.name());
        }
    }

    #[test]
    fn the_records_are_those_of_the_programs() {
        for via in [Via::Timer, Via::Softirq] {
            let btf = Btf::from_raw(via.name(), object_bytes(via)).unwrap().unwrap();
            assert_eq!(
                record_layout(&btf, "slot"),
                layout_of!(Slot, tid, cpu, expected, irq, softirq, waking, switch_in, steal, timer)
            );

            // What the programs of one CPU write about a thread shares no cache line with another thread's.
            assert_eq!((size_of::<Slot>(), size_of::<Private>(), PRIVATES_OFFSET % 64), (64, 64, 0));

            let (_, shared) = record_layout(&btf, "shared");
            assert_eq!(shared[0], ("slots".to_owned(), 0));
            assert_eq!(shared[1], ("index".to_owned(), MAX_TASKS * size_of::<Slot>()));
            assert_eq!(shared[2], ("privates".to_owned(), PRIVATES_OFFSET));
            assert_eq!(shared[3], ("callbacks".to_owned(), CALLBACKS_OFFSET));
            assert_eq!(
                record_layout(&btf, "private"),
                layout_of!(Private, steal_read, stamp_read, armed_late, task, steal_cpu, pads)
            );
            assert_eq!(
                record_layout(&btf, "callback_counts"),
                layout_of!(CallbackCounts, queued, ran, elsewhere, refused, error)
            );

            assert_eq!(
                record_layout(&btf, "configuration"),
                layout_of!(Configuration, steal_offset, hrtimer_wakeup, timerfd_tmrproc)
            );

            // The mapped table begins where the globals do, and nothing is beside it.
            for section in [".bss", ".rodata"] {
                assert_eq!(variable_offsets(&btf, section), [0], "{section}");
            }
        }
    }
}
