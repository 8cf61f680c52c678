//! Characters without framing or retransmission: start and stop bits on a synchronous line, as in V.14.
//!
//! A character is a start bit (0), eight bits, least significant first, and a stop bit of 1; between characters the
//! line is at one. What the line damages arrives damaged. V.14 also lets a sender leave out stop bits to catch up with
//! a terminal that is too fast. No terminal here is, so that is left out.

use std::collections::VecDeque;

/// Bytes in, bits out.
#[derive(Debug, Clone, Default)]
pub struct Encoder {
    bytes: VecDeque<u8>,
    /// The character that is being sent, with its next bit lowest; 0: none.
    character: u16,
}

impl Encoder {
    /// Queues bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Bytes that wait.
    pub fn waiting(&self) -> usize {
        self.bytes.len()
    }

    /// The next bit.
    pub fn next_bit(&mut self) -> bool {
        if self.character == 0 {
            let Some(byte) = self.bytes.pop_front() else { return true };
            self.character = 0x200 | u16::from(byte) << 1;
        }
        let bit = self.character & 1 == 1;
        self.character >>= 1;
        bit
    }
}

/// Bits in, bytes out.
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    character: u8,
    /// How many bits of the character have come, including the start bit; 0: none has begun.
    bits: u8,
    /// Characters without a stop bit.
    pub framing_errors: u64,
}

impl Decoder {
    /// Takes a bit.
    pub fn push(&mut self, bit: bool) -> Option<u8> {
        match self.bits {
            0 if bit => {}
            0 => (self.bits, self.character) = (1, 0),
            1..=8 => {
                self.character |= u8::from(bit) << (self.bits - 1);
                self.bits += 1;
            }
            _ => {
                self.bits = 0;
                if bit {
                    return Some(self.character);
                }
                self.framing_errors += 1;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_come_through(parts in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..50), 0..700u32), 0..9)) {
            let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
            let mut got = Vec::new();
            for (bytes, bits) in &parts {
                encoder.push(bytes);
                got.extend((0..*bits).filter_map(|_| decoder.push(encoder.next_bit())));
            }
            while encoder.waiting() > 0 {
                got.extend(decoder.push(encoder.next_bit()));
            }
            got.extend((0..10).filter_map(|_| decoder.push(encoder.next_bit())));
            prop_assert_eq!(got, parts.iter().flat_map(|(bytes, _)| bytes.clone()).collect::<Vec<_>>());
            prop_assert_eq!(decoder.framing_errors, 0);
        }
    }

    #[test]
    fn a_line_that_is_silent_gives_framing_errors_and_no_bytes() {
        let mut decoder = Decoder::default();
        assert_eq!((0..100).filter_map(|_| decoder.push(false)).count(), 0);
        assert_eq!(decoder.framing_errors, 10);
    }
}
