//! A modem and its exchange apart from each other, in two processes: blocks of samples in frames of one length.
//!
//! The exchange leads. For each block of time it says what the modem hears, and the modem answers with what it sends, so
//! neither ever holds more than a frame. Whatever comes may be anybody's: it is looked through before any of it counts.

use crate::adapter::BLOCK;
use crate::station::{Signal, Station};
use crate::subscriber::Subscriber;

/// The length of a frame, bytes.
pub const LENGTH: usize = HEADER + 2 * BLOCK;
/// How many blocks of samples are between what a modem sends and the line: that in which it was heard, and that in which
/// the answer came.
pub const DELAY: u32 = 2;

const HEADER: usize = 13;
const MAGIC: [u8; 3] = *b"pml";
const VERSION: u8 = 1;
/// In this order they are the bits of [`Says::Heard`].
const SIGNALS: [Signal; 5] = [Signal::Ring, Signal::Answered, Signal::Busy, Signal::Unobtainable, Signal::Released];

/// What a frame is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Says {
    /// The first one: a modem asks for a line.
    Hello,
    /// To the modem: what it hears, and what the exchange reports, a bit each.
    Heard(u8),
    /// To the exchange: what the modem sends, and in which call it is, by count; 0: in none.
    Sent(u32),
    /// The last one: this side is done.
    Leaves,
}

/// A block of time, as one side tells the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Which block it is, counted from the first and around: an answer has the number of its question.
    pub number: u32,
    /// What it is for.
    pub says: Says,
    /// The samples.
    pub samples: [i16; BLOCK],
}

/// Why a frame was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Garbled {
    /// It is none.
    NoFrame,
    /// It is one of another version.
    Version(u8),
    /// It is one, but not the one that was to come.
    OutOfTurn,
}

impl std::fmt::Display for Garbled {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Garbled::NoFrame => formatter.write_str("what came over it is not a modem's"),
            Garbled::Version(other) => {
                write!(formatter, "the other end is of another version of punctual (its line {other}, ours {VERSION})")
            }
            Garbled::OutOfTurn => formatter.write_str("what came over it came out of turn"),
        }
    }
}

impl Frame {
    /// A frame without a sound.
    pub fn silent(number: u32, says: Says) -> Frame {
        Frame { number, says, samples: [0; BLOCK] }
    }

    /// As it passes over the line.
    pub fn bytes(&self) -> [u8; LENGTH] {
        let (kind, value) = match self.says {
            Says::Hello => (0, 0),
            Says::Heard(signals) => (1, u32::from(signals)),
            Says::Sent(call) => (2, call),
            Says::Leaves => (3, 0),
        };
        let mut bytes = [0; LENGTH];
        bytes[..3].copy_from_slice(&MAGIC);
        (bytes[3], bytes[4]) = (VERSION, kind);
        bytes[5..9].copy_from_slice(&self.number.to_le_bytes());
        bytes[9..HEADER].copy_from_slice(&value.to_le_bytes());
        for (place, sample) in bytes[HEADER..].as_chunks_mut::<2>().0.iter_mut().zip(self.samples) {
            *place = sample.to_le_bytes();
        }
        bytes
    }

    /// Reads one.
    ///
    /// # Errors
    /// If it is none, or one of another version.
    pub fn parse(bytes: &[u8; LENGTH]) -> Result<Frame, Garbled> {
        let word = |place: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| bytes[place + byte]));
        if bytes[..3] != MAGIC {
            return Err(Garbled::NoFrame);
        }
        if bytes[3] != VERSION {
            return Err(Garbled::Version(bytes[3]));
        }
        let says = match (bytes[4], word(9)) {
            (0, 0) => Says::Hello,
            (1, signals) if signals < 1 << SIGNALS.len() => Says::Heard(signals as u8),
            (2, call) => Says::Sent(call),
            (3, 0) => Says::Leaves,
            _ => return Err(Garbled::NoFrame),
        };
        let mut samples = [0; BLOCK];
        for (sample, place) in samples.iter_mut().zip(bytes[HEADER..].as_chunks::<2>().0) {
            *sample = i16::from_le_bytes(*place);
        }
        Ok(Frame { number: word(5), says, samples })
    }
}

/// A modem that works elsewhere, as its exchange knows it.
#[derive(Debug, Clone)]
pub struct Remote {
    call: u32,
    signals: u8,
    heard: [i16; BLOCK],
    sent: [i16; BLOCK],
}

impl Default for Remote {
    /// One with its receiver on the hook.
    fn default() -> Remote {
        Remote { call: 0, signals: 0, heard: [0; BLOCK], sent: [0; BLOCK] }
    }
}

impl Remote {
    /// What to tell the modem of the block of time that has passed.
    pub fn tell(&mut self, number: u32) -> Frame {
        Frame { number, says: Says::Heard(std::mem::take(&mut self.signals)), samples: self.heard }
    }

    /// Takes the modem's answer to the frame with this number.
    ///
    /// # Errors
    /// If it is none.
    pub fn answered(&mut self, number: u32, answer: &Frame) -> Result<(), Garbled> {
        match answer.says {
            Says::Sent(call) if answer.number == number => {
                (self.call, self.sent) = (call, answer.samples);
                Ok(())
            }
            _ => Err(Garbled::OutOfTurn),
        }
    }

    /// The modem is gone: its receiver is on the hook.
    pub fn gone(&mut self) {
        *self = Remote::default();
    }
}

impl Subscriber for Remote {
    fn call(&self) -> Option<u64> {
        (self.call > 0).then(|| u64::from(self.call))
    }

    /// Only its own process knows.
    fn is_connected(&self) -> bool {
        false
    }

    fn signal(&mut self, signal: Signal) {
        let bits = SIGNALS.iter().enumerate().map(|(bit, known)| u8::from(*known == signal) << bit);
        self.signals |= bits.sum::<u8>();
    }

    fn process(&mut self, received: &[i16], sent: &mut [i16]) {
        self.heard.copy_from_slice(received);
        sent.copy_from_slice(&self.sent);
    }
}

/// The modem's side: works on what its exchange tells, and answers.
///
/// # Errors
/// If it was told something else.
pub fn respond(station: &mut Station, number: u32, told: &Frame) -> Result<Frame, Garbled> {
    let Says::Heard(signals) = told.says else { return Err(Garbled::OutOfTurn) };
    if told.number != number {
        return Err(Garbled::OutOfTurn);
    }
    for (bit, signal) in SIGNALS.into_iter().enumerate() {
        if (signals >> bit) & 1 == 1 {
            station.signal(signal);
        }
    }
    let mut samples = [0; BLOCK];
    station.process(&told.samples, &mut samples);
    let call = station.call().map_or(0, |call| u32::try_from(call).unwrap_or(u32::MAX));
    Ok(Frame { number, says: Says::Sent(call), samples })
}

#[cfg(test)]
mod tests;
