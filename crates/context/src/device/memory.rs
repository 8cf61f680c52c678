//! The memory that a device's BPF programs and this process share: the Rust side of `bpf/device.h`.

use crate::interrupt::{MAX_CPUS, SourceRecord};
use punctual_datapump::{Line, Pump};
use punctual_kernel::bpf::SharedMemory;
use punctual_kernel::callbacks::CallbackCounts;
use punctual_kernel::per_cpu::NestingPlace;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};

pub(crate) const ACTIVATIONS: usize = 4096;

/// One block that was processed: `struct activation` of `bpf/device.h`. Times are ns of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Activation {
    /// Its number, from 0.
    pub block: u64,
    /// When it was complete.
    pub arrival: u64,
    /// When its interrupt, or a later one, came; 0: not known.
    pub interrupt: u64,
    /// When processing began.
    pub start: u64,
    /// When it ended.
    pub end: u64,
    /// How long the work had the CPU in between.
    pub executed: u64,
    /// Samples that had come and were not processed when it ended.
    pub pending: u32,
    /// The CPU.
    pub cpu: u32,
    /// Blocks that were waiting when it began, including its own.
    pub queued: u32,
    /// [`CUT`], [`UNOBSERVED`], [`RESTED`].
    pub flags: u32,
}

/// The work was given up before it was done, so that others get the CPU.
pub const CUT: u32 = 1;
/// The block's interrupt came but no program was called for it, or the kernel refused its softirq callback, so that it
/// waited for the next.
pub const UNOBSERVED: u32 = 2;
/// The block, or one that was lost before it, waited while the thread rested to leave others their part of the CPU.
pub const RESTED: u32 = 4;

/// `struct device` of `bpf/device.h`.
#[repr(C)]
pub(crate) struct DeviceRecord {
    pub(crate) sources: [SourceRecord; MAX_CPUS],
    pub(crate) heartbeat: u64,
    pub(crate) interrupts: u64,
    pub(crate) refused: u64,
    pub(crate) cut: u64,
    pub(crate) deaf: u64,
    pub(crate) last_interrupt: u64,
    pub(crate) last_due: u64,
    pub(crate) interrupt_ns: u64,
    pub(crate) window_begin: u64,
    pub(crate) window_worked: u64,
    pub(crate) max_worked: u64,
    pub(crate) calibrated: u64,
    pub(crate) levels: u64,
    pub(crate) written: u64,
    pub(crate) queue: u64,
    pub(crate) interrupted: u64,
    pub(crate) unobserved: u64,
    pub(crate) unobserved_wait: u64,
    pub(crate) entered: u64,
    pub(crate) in_callback: u32,
    pub(crate) units: u32,
    pub(crate) callbacks: CallbackCounts,
    pub(crate) line: Line,
    pub(crate) pump: PumpRecord,
    pub(crate) activations: [Activation; ACTIVATIONS],
}

/// A pump on a cache line of its own.
#[repr(C, align(64))]
pub(crate) struct PumpRecord(pub(crate) Pump);

/// `struct configuration` of `bpf/device.h`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Configuration {
    pub(crate) steal_offset: i64,
    pub(crate) nesting: NestingPlace,
    pub(crate) wakes: u64,
    pub(crate) refuse_every: u64,
}

impl Configuration {
    pub(crate) fn bytes(&self) -> [u8; size_of::<Configuration>()] {
        let mut bytes = [0; size_of::<Configuration>()];
        bytes[..8].copy_from_slice(&self.steal_offset.to_ne_bytes());
        bytes[8..32].copy_from_slice(&self.nesting.bytes());
        bytes[32..40].copy_from_slice(&self.wakes.to_ne_bytes());
        bytes[40..].copy_from_slice(&self.refuse_every.to_ne_bytes());
        bytes
    }
}

/// The mapped record.
#[derive(Clone)]
pub(crate) struct DeviceMemory(Arc<SharedMemory>);

impl DeviceMemory {
    pub(crate) fn new(memory: SharedMemory) -> DeviceMemory {
        DeviceMemory(Arc::new(memory))
    }

    pub(crate) fn shared(&self) -> Arc<SharedMemory> {
        Arc::clone(&self.0)
    }

    fn record(&self) -> *mut DeviceRecord {
        self.0.at::<DeviceRecord>(0, 1).as_ptr()
    }

    /// Reads a number that the programs write.
    #[inline]
    pub(crate) fn read(&self, field: impl FnOnce(*mut DeviceRecord) -> *mut u64) -> u64 {
        // SAFETY: `field` names a field of the record, which lies within the mapping (`at` checked).
        unsafe { AtomicU64::from_ptr(field(self.record())).load(Ordering::Acquire) }
    }

    /// Writes a number that the programs read.
    #[inline]
    pub(crate) fn write(&self, field: impl FnOnce(*mut DeviceRecord) -> *mut u64, value: u64) {
        // SAFETY: as in `read`.
        unsafe { AtomicU64::from_ptr(field(self.record())).store(value, Ordering::Release) }
    }

    /// Sets up the work; only before the interrupt begins.
    pub(crate) fn set_work(&self, line: &Line, pump: &Pump, units: u32) {
        let record = self.record();
        // SAFETY: within the mapping; no program touches these fields before the first interrupt.
        unsafe {
            (&raw mut (*record).line).write_volatile(*line);
            (&raw mut (*record).pump.0).write_volatile(pump.clone());
            (&raw mut (*record).units).write_volatile(units);
        }
    }

    /// Changes the rate from `now` on. An interrupt that comes between these lines counts for either.
    pub(crate) fn set_phase(&self, now: u64, period: u64, samples: u32, units: u32) {
        let record = self.record();
        // SAFETY: within the mapping; whole words, each of which the programs may see before or after the change.
        unsafe {
            (&raw mut (*record).line.last).write_volatile(now);
            (&raw mut (*record).last_due).write_volatile(now);
            (&raw mut (*record).line.period).write_volatile(period);
            (&raw mut (*record).line.samples).write_volatile(samples);
            (&raw mut (*record).units).write_volatile(units);
        }
    }

    /// What happened to the callbacks.
    pub(crate) fn callbacks(&self) -> CallbackCounts {
        CallbackCounts::read(&self.0, std::mem::offset_of!(DeviceRecord, callbacks))
    }

    /// The line in its current state; torn only if an interrupt comes in between.
    pub(crate) fn line(&self) -> Line {
        // SAFETY: within the mapping.
        unsafe { (&raw const (*self.record()).line).read_volatile() }
    }

    /// The pump in its current state.
    #[cfg(test)]
    pub(crate) fn pump(&self) -> Pump {
        // SAFETY: within the mapping.
        unsafe { (&raw const (*self.record()).pump.0).read_volatile() }
    }

    /// Hands on the activations since the one with number `read`, and returns how many were overwritten before.
    pub(crate) fn take(&self, read: &mut u64, take: &mut dyn FnMut(&Activation)) -> u64 {
        let mut lost = 0;
        let written = self.read(|record| field!(record, written));
        if written - *read >= ACTIVATIONS as u64 {
            lost += written - *read - (ACTIVATIONS as u64 - 1);
            *read = written - (ACTIVATIONS as u64 - 1);
        }
        while *read < written {
            let cell = (*read % ACTIVATIONS as u64) as usize;
            // SAFETY: within the mapping and the array.
            let activation = unsafe { (&raw const (*self.record()).activations[cell]).read_volatile() };
            fence(Ordering::Acquire);
            // The cell that is being written now is this one only if the programs are a whole round ahead.
            if self.read(|record| field!(record, written)) - *read >= ACTIVATIONS as u64 {
                lost += 1;
            } else {
                take(&activation);
            }
            *read += 1;
        }
        lost
    }
}

/// The address of a field of a record.
macro_rules! field {
    ($record:expr, $name:ident) => {
        // SAFETY: computes an address within the record that the pointer points to.
        unsafe { &raw mut (*$record).$name }
    };
}
pub(crate) use field;

#[cfg(test)]
mod tests {
    use super::*;
    use libbpf_rs::btf::Btf;
    use punctual_kernel::bpf_layout::{record_layout, variable_offsets};
    use punctual_kernel::layout_of;

    #[test]
    fn the_records_are_those_of_the_programs() {
        for mode in super::super::kernel_side::Mode::ALL {
            let btf = Btf::from_raw("device", mode.object()).unwrap().unwrap();
            assert_eq!(
                record_layout(&btf, "activation"),
                layout_of!(Activation, block, arrival, interrupt, start, end, executed, pending, cpu, queued, flags)
            );
            assert_eq!(
                record_layout(&btf, "device"),
                layout_of!(
                    DeviceRecord,
                    sources,
                    heartbeat,
                    interrupts,
                    refused,
                    cut,
                    deaf,
                    last_interrupt,
                    last_due,
                    interrupt_ns,
                    window_begin,
                    window_worked,
                    max_worked,
                    calibrated,
                    levels,
                    written,
                    queue,
                    interrupted,
                    unobserved,
                    unobserved_wait,
                    entered,
                    in_callback,
                    units,
                    callbacks,
                    line,
                    pump,
                    activations
                )
            );
            assert_eq!(
                record_layout(&btf, "configuration"),
                layout_of!(Configuration, steal_offset, nesting, wakes, refuse_every)
            );
            assert_eq!(record_layout(&btf, "line").0, size_of::<Line>());
            assert_eq!(record_layout(&btf, "pump").0, size_of::<Pump>());
            for section in [".bss", ".rodata"] {
                assert_eq!(variable_offsets(&btf, section), [0], "{section}");
            }
        }
    }
}
