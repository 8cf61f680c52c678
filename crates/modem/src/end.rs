//! One end of a call: a datapump and the link above it, driven in blocks of samples.

use crate::arq::{Options, Side, State};
use crate::link::Link;
use crate::tones;

/// How a datapump stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PumpStatus {
    /// Data are sent and received; otherwise it trains, or has not begun.
    pub is_connected: bool,
    /// The rate, as long as it is connected.
    pub bits_per_second: u32,
    /// Start-ups that were begun again after a connection.
    pub retrains: u32,
}

/// Signal processing: bits to samples, and back.
pub trait Pump {
    /// Takes received samples and makes as many to send. It asks for bits and gives bits as it needs to.
    fn process(
        &mut self,
        received: &[i16],
        sent: &mut [i16],
        next_bit: &mut dyn FnMut() -> bool,
        push_bit: &mut dyn FnMut(bool),
    );
    /// How it stands.
    fn status(&self) -> PumpStatus;
}

/// A pump and its link.
#[derive(Debug, Clone)]
pub struct End<P> {
    /// The signal processing.
    pub pump: P,
    /// What makes its bits bytes.
    pub link: Link,
    side: Side,
    /// Samples that passed while the pump was connected: the link's clock.
    connected: u64,
    has_begun: bool,
    is_hung_up: bool,
}

impl<P: Pump> End<P> {
    /// An end that has taken the line.
    pub fn new(side: Side, pump: P, options: Options) -> End<P> {
        let link = Link::new(side, options);
        End { pump, link, side, connected: 0, has_begun: false, is_hung_up: false }
    }

    /// Takes a block of received samples and makes one of as many to send.
    pub fn process(&mut self, received: &[i16], sent: &mut [i16]) {
        if self.is_hung_up {
            sent.fill(0);
            return;
        }
        let now = self.connected;
        let link = std::cell::RefCell::new(&mut self.link);
        self.pump.process(received, sent, &mut || link.borrow_mut().next_bit(now), &mut |bit| {
            link.borrow_mut().push_bit(bit, now);
        });
        if !self.pump.status().is_connected {
            return;
        }
        self.connected += received.len() as u64;
        if !std::mem::replace(&mut self.has_begun, true) && self.side == Side::Calling {
            self.link.arq.connect(self.connected);
        }
    }

    /// Lets go of the line: silence from now on.
    pub fn hang_up(&mut self) {
        self.is_hung_up = true;
    }

    /// Whether the link stands.
    pub fn is_linked(&self) -> bool {
        matches!(self.link.arq.state(), State::Connected | State::Disconnecting | State::Disconnected)
    }
}

/// The calling end from lifting the receiver on.
#[derive(Debug, Clone)]
pub struct Caller<P> {
    /// The end, which begins when the call is answered.
    pub end: End<P>,
    dialling: Vec<i16>,
    position: usize,
    is_answered: bool,
}

impl<P: Pump> Caller<P> {
    /// A caller of this number.
    pub fn new(end: End<P>, number: &str) -> Caller<P> {
        // Half a second for the exchange to notice.
        let mut dialling = vec![0; crate::SAMPLE_RATE as usize / 2];
        dialling.extend(tones::dial(number));
        Caller { end, dialling, position: 0, is_answered: false }
    }

    /// The exchange reversed the line's polarity, as it does when a call is answered.
    pub fn answered(&mut self) {
        self.is_answered = true;
    }

    /// Takes a block of received samples and makes one of as many to send.
    pub fn process(&mut self, received: &[i16], sent: &mut [i16]) {
        if self.is_answered {
            return self.end.process(received, sent);
        }
        for sample in sent {
            *sample = self.dialling.get(self.position).copied().unwrap_or(0);
            self.position += 1;
        }
    }
}
