//! Frames in a stream of bits: HDLC (ISO/IEC 13239), as V.42 uses it.
//!
//! A frame is its bytes, least significant bit first, and a check sequence of 16 bits, between flags (01111110). After
//! five ones a zero is stuffed in, so that no frame contains a flag. Flags fill the time between frames.

use std::collections::VecDeque;

/// The largest frame that a [`Decoder`] takes, bytes without the check sequence.
pub const MAX_FRAME: usize = 1_024;
/// The smallest: an address and a control field.
pub const MIN_FRAME: usize = 2;
const FLAG: u8 = 0x7e;
/// The size of the check sequence, bytes.
const CHECK: usize = 2;

/// The frame check sequence of these bytes (CRC-16 of ISO/IEC 13239, also known as X.25).
pub fn check_sequence(bytes: &[u8]) -> u16 {
    !bytes.iter().fold(0xffff_u16, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0x8408 } else { crc >> 1 })
    })
}

/// Frames in, bits out.
#[derive(Debug, Clone)]
pub struct Encoder {
    bits: VecDeque<bool>,
    /// Bits of a flag that still have to be sent; only while `bits` is empty.
    flag_left: u8,
}

impl Default for Encoder {
    fn default() -> Encoder {
        Encoder { bits: VecDeque::new(), flag_left: 8 }
    }
}

impl Encoder {
    /// Queues a frame; the check sequence is added here.
    pub fn push(&mut self, frame: &[u8]) {
        // The flag that has begun opens the frame.
        for left in (0..self.flag_left).rev() {
            self.bits.push_back(FLAG >> (7 - left) & 1 == 1);
        }
        self.flag_left = 0;
        let mut ones = 0;
        for byte in frame.iter().copied().chain(check_sequence(frame).to_le_bytes()) {
            for place in 0..8 {
                let bit = byte >> place & 1 == 1;
                self.bits.push_back(bit);
                ones = if bit { ones + 1 } else { 0 };
                if ones == 5 {
                    self.bits.push_back(false);
                    ones = 0;
                }
            }
        }
        self.bits.extend((0..8).map(|place| FLAG >> place & 1 == 1));
    }

    /// Whether nothing but flags would come next.
    pub fn is_idle(&self) -> bool {
        self.bits.is_empty()
    }

    /// The next bit: of a frame if one is queued, otherwise of a flag.
    pub fn next_bit(&mut self) -> bool {
        if let Some(bit) = self.bits.pop_front() {
            return bit;
        }
        if self.flag_left == 0 {
            self.flag_left = 8;
        }
        self.flag_left -= 1;
        FLAG >> (7 - self.flag_left) & 1 == 1
    }
}

/// What a flag, or the lack of one, ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    /// A whole frame with a right check sequence, which is removed.
    Frame(Vec<u8>),
    /// A frame whose check sequence is wrong, that is not a whole number of bytes, or that is too short.
    Damaged,
    /// Seven ones or more within a frame, or more bytes than [`MAX_FRAME`]: it was given up.
    Aborted,
}

/// Bits in, frames out. It takes any bits at all.
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    bytes: Vec<u8>,
    partial: u8,
    partial_bits: u8,
    ones: u8,
    /// A flag was seen, and since then nothing that cannot be in a frame.
    inside: bool,
}

impl Decoder {
    /// Forgets the frame that has begun, as when the carrier is lost.
    pub fn reset(&mut self) {
        *self = Decoder::default();
    }

    /// Takes a bit.
    pub fn push(&mut self, bit: bool) -> Option<Received> {
        if !bit {
            let ones = std::mem::take(&mut self.ones);
            return match ones {
                5 => None,
                6 => self.flag(),
                _ => self.store(false),
            };
        }
        self.ones = self.ones.saturating_add(1);
        if self.ones < 7 {
            return self.store(true);
        }
        self.give_up()
    }

    fn store(&mut self, bit: bool) -> Option<Received> {
        if !self.inside {
            return None;
        }
        self.partial |= u8::from(bit) << self.partial_bits;
        self.partial_bits += 1;
        if self.partial_bits < 8 {
            return None;
        }
        self.bytes.push(std::mem::take(&mut self.partial));
        self.partial_bits = 0;
        if self.bytes.len() > MAX_FRAME + CHECK { self.give_up() } else { None }
    }

    fn clear(&mut self) -> Vec<u8> {
        self.partial = 0;
        self.partial_bits = 0;
        std::mem::take(&mut self.bytes)
    }

    fn give_up(&mut self) -> Option<Received> {
        let was_inside = std::mem::replace(&mut self.inside, false);
        let held = !self.clear().is_empty();
        (was_inside && held).then_some(Received::Aborted)
    }

    /// The zero that ends a flag came: seven bits of the flag are stored.
    fn flag(&mut self) -> Option<Received> {
        let was_inside = std::mem::replace(&mut self.inside, true);
        let whole = self.partial_bits == 7;
        let mut frame = self.clear();
        if !was_inside || (frame.is_empty() && whole) {
            return None;
        }
        if !whole || frame.len() < MIN_FRAME + CHECK {
            return Some(Received::Damaged);
        }
        let check = frame.split_off(frame.len() - CHECK);
        let right = check == check_sequence(&frame).to_le_bytes();
        Some(if right { Received::Frame(frame) } else { Received::Damaged })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frames_of(decoder: &mut Decoder, bits: impl IntoIterator<Item = bool>) -> Vec<Received> {
        bits.into_iter().filter_map(|bit| decoder.push(bit)).collect()
    }

    #[test]
    fn the_check_sequence_is_that_of_the_reference() {
        // The check value of CRC-16/IBM-SDLC in the catalogue of parametrised CRC algorithms.
        assert_eq!(check_sequence(b"123456789"), 0x906e);
    }

    #[test]
    fn flags_alone_are_no_frames() {
        let mut encoder = Encoder::default();
        let bits: Vec<bool> = (0..801).map(|_| encoder.next_bit()).collect();
        assert!(frames_of(&mut Decoder::default(), bits).is_empty());
    }

    proptest! {
        #[test]
        fn frames_come_through_whole(
            frames in prop::collection::vec(prop::collection::vec(any::<u8>(), MIN_FRAME..200), 1..8),
            lead in 0..40usize,
            gaps in prop::collection::vec(0..40usize, 8),
        ) {
            let mut encoder = Encoder::default();
            let mut bits: Vec<bool> = (0..lead).map(|_| encoder.next_bit()).collect();
            for (frame, gap) in frames.iter().zip(&gaps) {
                encoder.push(frame);
                while !encoder.is_idle() {
                    bits.push(encoder.next_bit());
                }
                bits.extend((0..*gap).map(|_| encoder.next_bit()));
            }
            let six = bits.windows(7).filter(|window| window.iter().all(|bit| *bit)).count();
            prop_assert_eq!(six, 0, "seven ones are sent nowhere");
            let got = frames_of(&mut Decoder::default(), bits);
            prop_assert_eq!(got, frames.into_iter().map(Received::Frame).collect::<Vec<_>>());
        }

        #[test]
        fn one_wrong_bit_never_passes_as_the_frame(
            frame in prop::collection::vec(any::<u8>(), MIN_FRAME..100), place in any::<prop::sample::Index>(),
        ) {
            let mut encoder = Encoder::default();
            encoder.push(&frame);
            let mut bits = Vec::new();
            while !encoder.is_idle() {
                bits.push(encoder.next_bit());
            }
            // The opening and the closing flag are left alone.
            let place = 8 + place.index(bits.len() - 16);
            bits[place] = !bits[place];
            let got = frames_of(&mut Decoder::default(), bits);
            prop_assert!(!got.contains(&Received::Frame(frame)), "{:?}", got);
        }

        #[test]
        fn any_bits_are_taken(bits in prop::collection::vec(any::<bool>(), 0..30_000)) {
            let mut decoder = Decoder::default();
            for received in frames_of(&mut decoder, bits) {
                if let Received::Frame(frame) = received {
                    prop_assert!((MIN_FRAME..=MAX_FRAME).contains(&frame.len()));
                }
            }
        }
    }

    #[test]
    fn what_never_ends_is_given_up() {
        let mut decoder = Decoder::default();
        let flag = (0..8).map(|place| FLAG >> place & 1 == 1);
        let bits = flag.chain((0..200_000).map(|place| place % 2 == 0));
        assert_eq!(frames_of(&mut decoder, bits), [Received::Aborted]);
    }
}
