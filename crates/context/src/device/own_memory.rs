//! The memory in which a device's BPF programs do a user's own work: `bpf/device_own.h`.

use crate::own::OwnCounts;
use crate::own::block::Block;
use punctual_kernel::Refused;
use punctual_kernel::bpf::{LoadedObject, SharedMemory};
use std::sync::atomic::{Ordering, fence};

/// `struct own_work` of `bpf/device_own.h`.
#[derive(Debug, Clone)]
#[repr(C)]
struct OwnRecord {
    block: Block,
    budget: u64,
    done: u64,
    over: u64,
    failed: u64,
    longest: u64,
}

/// The mapped record.
pub(super) struct OwnMemory(SharedMemory);

impl OwnMemory {
    pub(super) fn new(object: &LoadedObject) -> Result<OwnMemory, Refused> {
        Ok(OwnMemory(object.shared_array(".data.own")?))
    }

    fn record(&self) -> *mut OwnRecord {
        self.0.at::<OwnRecord>(0, 1).as_ptr()
    }

    /// Sets up the work, at its beginning; only before the interrupt begins.
    pub(super) fn set(&self, samples: u64, budget: u64) {
        let record = OwnRecord { block: Block::new(samples), budget, done: 0, over: 0, failed: 0, longest: 0 };
        // SAFETY: within the mapping (`at` checked); no program uses it now.
        unsafe { self.record().write_volatile(record) }
        fence(Ordering::SeqCst);
    }

    pub(super) fn counts(&self) -> OwnCounts {
        fence(Ordering::SeqCst);
        // SAFETY: within the mapping; numbers, each of which may be from before or after a block.
        let OwnRecord { block, done, over, failed, longest, .. } = unsafe { self.record().read_volatile() };
        let (output, digest) = (block.output, block.digest());
        OwnCounts { done, over, failed, longest_ns: longest, output, digest, ..OwnCounts::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use libbpf_rs::btf::Btf;
    use punctual_kernel::bpf_layout::record_layout;
    use punctual_kernel::layout_of;

    #[test]
    fn the_record_is_that_of_the_programs() {
        // They cannot be opened alone: they call a function that they lack.
        for object in ["device_irq_own", "device_softirq_own"] {
            let btf = Btf::from_path(format!("{}/{object}.bpf.o", env!("OUT_DIR"))).unwrap();
            assert_eq!(record_layout(&btf, "punctual_block"), layout_of!(Block, number, samples, output, state));
            assert_eq!(
                record_layout(&btf, "own_work"),
                layout_of!(OwnRecord, block, budget, done, over, failed, longest)
            );
        }
    }
}
