//! A Bluetooth receiver as a BPF program: the same source as [`Gfsk`], the same output to the bit.

use punctual_datapump::{Gfsk, GfskState};
use punctual_kernel::Refused;
use punctual_kernel::bpf::{LoadedObject, SharedMemory};
use punctual_kernel::features::{LOOPS, explain};
use std::sync::atomic::{Ordering, fence};

/// Complex samples in the longest block of one call of the program.
const BLOCK: usize = 256;

/// `struct radio` of `bpf/gfsk.bpf.c`.
#[repr(C)]
struct Record {
    state: GfskState,
    samples: [i16; 2 * BLOCK],
}

/// A receiver whose samples a BPF program works on. It leaves the kernel when this is dropped.
pub struct KernelGfsk {
    memory: SharedMemory,
    object: LoadedObject,
}

impl KernelGfsk {
    /// Loads the program and goes on where this receiver stands.
    ///
    /// # Errors
    /// What the kernel refused, and what it lacks.
    pub fn load(receiver: &Gfsk) -> Result<KernelGfsk, Refused> {
        let object = LoadedObject::load("radio", include_bytes!(concat!(env!("OUT_DIR"), "/gfsk.bpf.o")), None)
            .map_err(|refused| explain(refused, &[LOOPS]))?;
        let mut loaded = KernelGfsk { memory: object.shared_globals()?, object };
        loaded.record().state = receiver.state().clone();
        Ok(loaded)
    }

    /// As [`Gfsk::process`], in the kernel.
    ///
    /// # Errors
    /// What the kernel refused.
    ///
    /// # Panics
    /// If the last sample has no imaginary part.
    pub fn process(&mut self, samples: &[i16], received_bit: &mut impl FnMut(bool)) -> Result<(), Refused> {
        assert_eq!(samples.len() % 2, 0, "whole complex samples");
        for part in samples.chunks(2 * BLOCK) {
            let record = self.record();
            let from = record.state.bits_received();
            record.samples[..part.len()].copy_from_slice(part);
            fence(Ordering::SeqCst);
            self.object.call("run_block", &mut (part.len() as u32 / 2).to_ne_bytes())?;
            fence(Ordering::SeqCst);
            self.record().state.bits_since(from, received_bit);
        }
        Ok(())
    }

    /// Everything it knows.
    pub fn state(&mut self) -> &GfskState {
        &self.record().state
    }

    fn record(&mut self) -> &mut Record {
        // SAFETY: the program's globals are this record, as a test of outputs checks; they are mapped as long as `memory`
        // lives. Only the program writes them besides, and it runs only while `process` calls it and holds no reference.
        unsafe { &mut *self.memory.at::<Record>(0, 1).as_ptr() }
    }
}
