//! A modem's datapump as a BPF program: the same source as [`Qam`], the same output to the bit. It is called from user space
//! ([`KernelQam`]), or works in interrupts of this machine ([`InterruptQam`]).

mod cost;
mod interrupt;

pub use cost::BlockCost;
pub(crate) use interrupt::try_out;
pub use interrupt::{InterruptQam, Worked};
use punctual_datapump::{Qam, QamState, Status};
use punctual_kernel::Refused;
use punctual_kernel::bpf::{LoadedObject, SharedMemory};
use punctual_kernel::features::{LOOPS, explain};
use std::sync::atomic::{Ordering, fence};

/// The most samples that the program takes in one call.
const BLOCK: usize = 512;

/// `struct modem` of `bpf/qam.bpf.c`.
#[repr(C)]
struct Record {
    pump: QamState,
    received: [i16; BLOCK],
    sent: [i16; BLOCK],
}

/// A datapump whose samples a BPF program works on, a block per call. It leaves the kernel when this is dropped.
pub struct KernelQam {
    memory: SharedMemory,
    object: LoadedObject,
}

impl KernelQam {
    /// Loads the program and continues from this pump's state.
    ///
    /// # Errors
    /// What the kernel refused, and what it lacks.
    pub fn load(pump: &Qam) -> Result<KernelQam, Refused> {
        let object = LoadedObject::load("modem", include_bytes!(concat!(env!("OUT_DIR"), "/qam.bpf.o")), None)
            .map_err(|refused| explain(refused, &[LOOPS]))?;
        let mut loaded = KernelQam { memory: object.shared_globals()?, object };
        // SAFETY: the state is numbers alone, which may be copied; it is too large to pass over a stack.
        unsafe { std::ptr::copy_nonoverlapping(pump.state(), &raw mut loaded.record().pump, 1) }
        Ok(loaded)
    }

    /// As [`Qam::process`], in the kernel.
    ///
    /// # Errors
    /// What the kernel refused.
    ///
    /// # Panics
    /// If the blocks differ in length.
    pub fn process(
        &mut self,
        received: &[i16],
        sent: &mut [i16],
        bit_to_send: &mut impl FnMut() -> Option<bool>,
        received_bit: &mut impl FnMut(bool),
    ) -> Result<(), Refused> {
        assert_eq!(received.len(), sent.len(), "as many samples are sent as received");
        for (received, sent) in received.chunks(BLOCK).zip(sent.chunks_mut(BLOCK)) {
            let samples = received.len();
            let record = self.record();
            record.pump.give_bits(samples, bit_to_send);
            record.received[..samples].copy_from_slice(received);
            fence(Ordering::SeqCst);
            self.object.call("run_block", &mut (samples as u32).to_ne_bytes())?;
            fence(Ordering::SeqCst);
            let record = self.record();
            sent.copy_from_slice(&record.sent[..samples]);
            record.pump.take_bits(received_bit);
        }
        Ok(())
    }

    /// How it is doing.
    pub fn status(&mut self) -> Status {
        self.record().pump.status()
    }

    /// Its whole state.
    pub fn state(&mut self) -> &QamState {
        &self.record().pump
    }

    fn record(&mut self) -> &mut Record {
        // SAFETY: the program's globals are this record, as a test of outputs checks; they are mapped as long as
        // `memory` lives. Only the program writes them too, and it runs only while `process` calls it and holds no
        // reference.
        unsafe { &mut *self.memory.at::<Record>(0, 1).as_ptr() }
    }
}
