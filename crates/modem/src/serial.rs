//! What is between a terminal's bytes and a datapump's bits: an error-corrected [`Link`], or plain characters.

use crate::arq::State;
use crate::bypass;
use crate::end::Layer;
use crate::link::Link;
use std::collections::VecDeque;

/// If more bytes than this are on their way to the other end, a terminal should wait: a window of frames.
pub const MAX_UNSENT: usize = 2_048;
/// How many characters may wait for somebody to take them, without error correction: any more are lost, because nothing
/// can stop the other end.
const MAX_WAITING: usize = 16_384;

/// One of the two ways.
#[derive(Debug, Clone)]
pub enum Serial {
    /// Frames that are sent again.
    Corrected(Box<Link>),
    /// Characters with start and stop bits.
    Direct(Direct),
}

/// Plain characters.
#[derive(Debug, Clone, Default)]
pub struct Direct {
    encoder: bypass::Encoder,
    decoder: bypass::Decoder,
    received: VecDeque<u8>,
    /// Characters that came while there was no room for them.
    lost: u64,
    is_closing: bool,
}

impl Serial {
    /// Queues bytes for the other end.
    pub fn send(&mut self, bytes: &[u8]) {
        match self {
            Serial::Corrected(link) => link.arq.send(bytes),
            Serial::Direct(direct) => direct.encoder.push(bytes),
        }
    }

    /// Bytes that were queued and have not left, or are not acknowledged yet.
    pub fn unsent(&self) -> usize {
        match self {
            Serial::Corrected(link) => link.arq.unsent(),
            Serial::Direct(direct) => direct.encoder.waiting(),
        }
    }

    /// How many more bytes may be queued.
    pub fn room(&self) -> usize {
        MAX_UNSENT.saturating_sub(self.unsent())
    }

    /// Takes what has come, at most this many bytes.
    pub fn take(&mut self, max: usize) -> Vec<u8> {
        match self {
            Serial::Corrected(link) => link.arq.take(max),
            Serial::Direct(direct) => direct.received.drain(..max.min(direct.received.len())).collect(),
        }
    }

    /// Ends it once everything has left.
    pub fn close(&mut self) {
        match self {
            Serial::Corrected(link) => link.arq.close(),
            Serial::Direct(direct) => direct.is_closing = true,
        }
    }

    /// Whether bytes can be sent, provided the pump is connected.
    pub fn is_up(&self) -> bool {
        match self {
            Serial::Corrected(link) => matches!(link.arq.state(), State::Connected | State::Disconnecting),
            Serial::Direct(_) => true,
        }
    }

    /// Whether nothing more will come or go, and the last frame has left.
    pub fn is_over(&self) -> bool {
        match self {
            Serial::Corrected(link) => link.is_over(),
            Serial::Direct(direct) => direct.is_closing && direct.encoder.waiting() == 0,
        }
    }

    /// Whether the other end does not answer any more.
    pub fn is_failed(&self) -> bool {
        matches!(self, Serial::Corrected(link) if link.arq.state() == State::Failed)
    }

    /// Damaged frames, or characters without a stop bit or without room.
    pub fn damaged(&self) -> u64 {
        match self {
            Serial::Corrected(link) => link.damaged,
            Serial::Direct(direct) => direct.decoder.framing_errors + direct.lost,
        }
    }
}

impl Layer for Serial {
    fn begin(&mut self, now: u64) {
        if let Serial::Corrected(link) = self {
            link.begin(now);
        }
    }

    fn next_bit(&mut self, now: u64) -> bool {
        match self {
            Serial::Corrected(link) => link.next_bit(now),
            Serial::Direct(direct) => direct.encoder.next_bit(),
        }
    }

    fn push_bit(&mut self, bit: bool, now: u64) {
        match self {
            Serial::Corrected(link) => link.push_bit(bit, now),
            Serial::Direct(direct) => {
                let Some(byte) = direct.decoder.push(bit) else { return };
                if direct.received.len() < MAX_WAITING {
                    direct.received.push_back(byte);
                } else {
                    direct.lost += 1;
                }
            }
        }
    }
}
