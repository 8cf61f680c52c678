//! Receivers of radios as BPF programs: the same sources as [`Gfsk`] and [`Dsss`], the same output to the bit.

use punctual_datapump::{Dsss, DsssState, Gfsk, GfskState, Receiver};
use punctual_kernel::Refused;
use punctual_kernel::bpf::{LoadedObject, SharedMemory};
use punctual_kernel::features::{LOOPS, explain};
use std::marker::PhantomData;
use std::sync::atomic::{Ordering, fence};

/// The most complex samples that the program takes in one call.
const BLOCK: usize = 256;

/// `struct radio` of `bpf/radio.h`.
#[repr(C)]
struct Record<R> {
    state: R,
    samples: [i16; 2 * BLOCK],
}

/// A receiver whose samples a BPF program works on. It leaves the kernel when this is dropped.
pub struct KernelRadio<R> {
    memory: SharedMemory,
    object: LoadedObject,
    receiver: PhantomData<R>,
}

impl KernelRadio<GfskState> {
    /// Loads the program and continues from this Bluetooth receiver's state.
    ///
    /// # Errors
    /// What the kernel refused, and what it lacks.
    pub fn gfsk(receiver: &Gfsk) -> Result<KernelRadio<GfskState>, Refused> {
        KernelRadio::load(include_bytes!(concat!(env!("OUT_DIR"), "/gfsk.bpf.o")), receiver.state())
    }
}

impl KernelRadio<DsssState> {
    /// Loads the program and continues from this 802.11b receiver's state.
    ///
    /// # Errors
    /// What the kernel refused, and what it lacks.
    pub fn dsss(receiver: &Dsss) -> Result<KernelRadio<DsssState>, Refused> {
        KernelRadio::load(include_bytes!(concat!(env!("OUT_DIR"), "/dsss.bpf.o")), receiver.state())
    }
}

impl<R: Receiver> KernelRadio<R> {
    fn load(elf: &[u8], state: &R) -> Result<KernelRadio<R>, Refused> {
        let object = LoadedObject::load("radio", elf, None).map_err(|refused| explain(refused, &[LOOPS]))?;
        let mut loaded = KernelRadio { memory: object.shared_globals()?, object, receiver: PhantomData };
        loaded.record().state = state.clone();
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
            let from = record.state.received_bits();
            record.samples[..part.len()].copy_from_slice(part);
            fence(Ordering::SeqCst);
            self.object.call("run_block", &mut (part.len() as u32 / 2).to_ne_bytes())?;
            fence(Ordering::SeqCst);
            let state = &self.record().state;
            (from..state.received_bits()).for_each(|index| received_bit(state.received_bit(index)));
        }
        Ok(())
    }

    /// Its whole state.
    pub fn state(&mut self) -> &R {
        &self.record().state
    }

    fn record(&mut self) -> &mut Record<R> {
        // SAFETY: the program's globals are this record, as a test of outputs checks; they are mapped as long as
        // `memory` lives. Only the program writes them too, and it runs only while `process` calls it and holds no
        // reference.
        unsafe { &mut *self.memory.at::<Record<R>>(0, 1).as_ptr() }
    }
}
