//! How far a device has come with its signal.

/// The result of a signal so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct DecodingCounts {
    /// Units that were processed.
    pub units: u64,
    /// Those of them during which data came; a radio, which has no connection to lose, counts all.
    pub connected: u64,
    /// Known bits of the processed units.
    pub bits: u64,
    /// Received bits that differ from the known ones, or for which none was known.
    pub wrong: u64,
    /// Known bits that were not received, including those of units that nobody processed.
    pub missing: u64,
    /// Units that nobody processed.
    pub skipped: u64,
    /// Connections that were lost.
    pub restarts: u64,
    /// Frames that ended, including those in units that nobody processed.
    pub frames: u64,
    /// Frames that were received and whose check was right.
    pub frames_right: u64,
}

impl DecodingCounts {
    /// How many numbers there are.
    pub const NUMBERS: usize = 9;

    /// All of them, in their order.
    pub fn numbers(&self) -> [u64; DecodingCounts::NUMBERS] {
        let DecodingCounts { units, connected, bits, wrong, missing, skipped, restarts, frames, frames_right } = *self;
        [units, connected, bits, wrong, missing, skipped, restarts, frames, frames_right]
    }

    /// And back.
    pub fn of_numbers(numbers: [u64; DecodingCounts::NUMBERS]) -> DecodingCounts {
        let [units, connected, bits, wrong, missing, skipped, restarts, frames, frames_right] = numbers;
        DecodingCounts { units, connected, bits, wrong, missing, skipped, restarts, frames, frames_right }
    }
}

/// `struct decoding` of `c/decode.h`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Decoding {
    pub(super) counts: DecodingCounts,
    pub(super) next_block: u64,
    pub(super) known_bits: u64,
    pub(super) known_frames: u64,
    pub(super) place: u32,
    pub(super) start_up: u32,
    pub(super) length: u32,
    pub(super) units_a_block: u32,
    pub(super) left_of_block: u32,
    pub(super) pad: u32,
    pub(super) compare_from: u64,
    pub(super) known_from: u32,
    pub(super) compare: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_that_of_the_c_source() {
        assert_eq!(size_of::<Decoding>(), 136);
        assert_eq!(size_of::<DecodingCounts>(), 8 * DecodingCounts::NUMBERS);
    }
}
