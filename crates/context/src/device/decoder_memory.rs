//! The memory in which a device's BPF programs decode: `bpf/device_decode.h`.

use punctual_datapump::{Decoder, DecodingCounts, Signal, SignalUnit};
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

    /// Sets the decoder up; only before the interrupt begins.
    pub(super) fn set(&self, decoder: &Decoder) {
        let bytes = decoder.bytes();
        let place = self.0.at::<u8>(0, bytes.len()).as_ptr();
        // SAFETY: within the mapping (`at` checked); no program uses it now, and they are numbers without addresses.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len()) }
        fence(Ordering::SeqCst);
    }

    /// How far it has come.
    pub(super) fn decoding(&self) -> DecodingCounts {
        // SAFETY: within the mapping (`at` checked), which lives as long as this; whole words, which a program may be changing.
        unsafe { self.0.at::<DecodingCounts>(0, 1).as_ptr().read_volatile() }
    }

    /// This many bytes of its state, while no program uses it.
    #[cfg(test)]
    pub(super) fn bytes(&self, count: usize) -> Vec<u8> {
        fence(Ordering::SeqCst);
        // SAFETY: within the mapping (`at` checked); they are numbers, and nobody writes them now.
        unsafe { std::slice::from_raw_parts(self.0.at::<u8>(0, count).as_ptr(), count).to_vec() }
    }
}
