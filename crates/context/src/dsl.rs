//! A DSL modem's datapump as a BPF program: the same source as [`Dmt`], the same output to the bit.

use punctual_datapump::{Dmt, DmtState, DmtStatus};
use punctual_kernel::Refused;
use punctual_kernel::bpf::{LoadedObject, SharedMemory};
use punctual_kernel::features::{LOOPS, explain};
use std::sync::atomic::{Ordering, fence};

/// A datapump whose symbols a BPF program works on, one per call. It leaves the kernel when this is dropped.
pub struct KernelDmt {
    memory: SharedMemory,
    object: LoadedObject,
}

impl KernelDmt {
    /// Loads the program and continues from this pump's state.
    ///
    /// # Errors
    /// What the kernel refused, and what it lacks.
    pub fn load(pump: &Dmt) -> Result<KernelDmt, Refused> {
        let object = LoadedObject::load("dsl", include_bytes!(concat!(env!("OUT_DIR"), "/dmt.bpf.o")), None)
            .map_err(|refused| explain(refused, &[LOOPS]))?;
        let mut loaded = KernelDmt { memory: object.shared_globals()?, object };
        loaded.pump().clone_from(pump.state());
        Ok(loaded)
    }

    /// As [`Dmt::process`], in the kernel.
    ///
    /// # Errors
    /// What the kernel refused.
    ///
    /// # Panics
    /// If the blocks differ in length or are not a whole number of symbols.
    pub fn process(
        &mut self,
        received: &[i16],
        sent: &mut [i16],
        bit_to_send: &mut impl FnMut() -> Option<bool>,
        received_bit: &mut impl FnMut(bool),
    ) -> Result<(), Refused> {
        let length = self.pump().symbol_samples();
        assert_eq!(received.len(), sent.len(), "as many samples are sent as received");
        assert_eq!(received.len() % length, 0, "whole symbols");
        for (received, sent) in received.chunks(length).zip(sent.chunks_mut(length)) {
            let pump = self.pump();
            pump.give_bits(1, bit_to_send);
            pump.put_received(received);
            fence(Ordering::SeqCst);
            self.object.call("run_symbol", &mut [0; 8])?;
            fence(Ordering::SeqCst);
            let pump = self.pump();
            sent.copy_from_slice(pump.sent());
            pump.take_bits(received_bit);
        }
        Ok(())
    }

    /// How it is doing.
    pub fn status(&mut self) -> DmtStatus {
        self.pump().status()
    }

    /// Its whole state.
    pub fn state(&mut self) -> &DmtState {
        self.pump()
    }

    fn pump(&mut self) -> &mut DmtState {
        // SAFETY: the program's globals are this state, as a test of outputs checks; they are mapped as long as
        // `memory` lives. Only the program writes them too, and it runs only while `process` calls it and holds no
        // reference.
        unsafe { &mut *self.memory.at::<DmtState>(0, 1).as_ptr() }
    }
}
