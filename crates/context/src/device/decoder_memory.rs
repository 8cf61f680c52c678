//! The memory in which a device's BPF programs decode: `bpf/device_dmt.h`.

use punctual_datapump::{DecodingCounts, DmtDecoderState, Signal, SignalUnit};
use punctual_kernel::Refused;
use punctual_kernel::bpf::{LoadedObject, SharedMemory};
use std::sync::atomic::{Ordering, fence};

/// The mapped decoder.
pub(super) struct DecoderMemory(SharedMemory);

impl DecoderMemory {
    /// Maps it, and puts the signal where the programs look it up.
    pub(super) fn new(object: &LoadedObject, signal: &Signal) -> Result<DecoderMemory, Refused> {
        let units = object.shared_array("signal")?;
        let place = units.at::<SignalUnit>(0, signal.units().len()).as_ptr();
        for (index, unit) in signal.units().iter().enumerate() {
            // SAFETY: within the mapping (`at` checked); no program looks into it before its first interrupt.
            unsafe { place.add(index).write_volatile(unit.clone()) }
        }
        Ok(DecoderMemory(object.shared_array(".data.decoder")?))
    }

    fn record(&self) -> *mut DmtDecoderState {
        self.0.at::<DmtDecoderState>(0, 1).as_ptr()
    }

    /// Sets the decoder up; only before the interrupt begins.
    pub(super) fn set(&self, state: &DmtDecoderState) {
        // SAFETY: within the mapping (`at` checked); no program is at it, and both are numbers without addresses.
        unsafe { std::ptr::copy_nonoverlapping(state, self.record(), 1) }
        fence(Ordering::SeqCst);
    }

    /// How far it has come.
    pub(super) fn decoding(&self) -> DecodingCounts {
        // SAFETY: within the mapping (`at` checked), which lives as long as this.
        unsafe { DmtDecoderState::shared_counts(self.record()) }
    }

    /// Everything that it knows, while no program is at it.
    #[cfg(test)]
    pub(super) fn state(&self) -> Box<DmtDecoderState> {
        fence(Ordering::SeqCst);
        // SAFETY: within the mapping; it is numbers, and nobody writes them now.
        unsafe { Box::new((*self.record()).clone()) }
    }
}
