//! One end of a call: a datapump and the link above it, driven in blocks of samples.

use crate::arq::{Options, Side, State};
use crate::link::Link;
use crate::tones;

/// How a datapump is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PumpStatus {
    /// Data is sent and received; otherwise it trains, or has not begun.
    pub is_connected: bool,
    /// The rate, while it is connected.
    pub bits_per_second: u32,
    /// Start-ups that began again after a connection.
    pub retrains: u32,
}

/// Signal processing: bits to samples, and back.
pub trait Pump {
    /// Takes received samples and makes as many to send. It asks for bits and passes on bits as it needs to.
    fn process(
        &mut self,
        received: &[i16],
        sent: &mut [i16],
        next_bit: &mut dyn FnMut() -> bool,
        push_bit: &mut dyn FnMut(bool),
    );
    /// How it is doing.
    fn status(&self) -> PumpStatus;
}

impl Pump for Box<dyn Pump> {
    fn process(
        &mut self,
        received: &[i16],
        sent: &mut [i16],
        next_bit: &mut dyn FnMut() -> bool,
        push_bit: &mut dyn FnMut(bool),
    ) {
        (**self).process(received, sent, next_bit, push_bit);
    }

    fn status(&self) -> PumpStatus {
        (**self).status()
    }
}

/// What makes bits from bytes above a pump. Times are samples during which the pump was connected.
pub trait Layer {
    /// The pump is connected for the first time, and this end made the call.
    fn begin(&mut self, now: u64);
    /// The next bit to send.
    fn next_bit(&mut self, now: u64) -> bool;
    /// Takes a bit that came.
    fn push_bit(&mut self, bit: bool, now: u64);
}

impl Layer for Link {
    fn begin(&mut self, now: u64) {
        self.arq.connect(now);
    }

    fn next_bit(&mut self, now: u64) -> bool {
        Link::next_bit(self, now)
    }

    fn push_bit(&mut self, bit: bool, now: u64) {
        Link::push_bit(self, bit, now);
    }
}

/// A pump and what is above it.
#[derive(Debug, Clone)]
pub struct End<P, L = Link> {
    /// The signal processing.
    pub pump: P,
    /// What makes bytes of its bits.
    pub link: L,
    side: Side,
    /// Samples that passed while the pump was connected: the link's clock.
    connected: u64,
    has_begun: bool,
    is_hung_up: bool,
}

impl<P: Pump> End<P> {
    /// An error-corrected end that has taken the line.
    pub fn new(side: Side, pump: P, options: Options) -> End<P> {
        End::over(side, pump, Link::new(side, options))
    }

    /// Whether the link is up.
    pub fn is_linked(&self) -> bool {
        matches!(self.link.arq.state(), State::Connected | State::Disconnecting | State::Disconnected)
    }
}

impl<P: Pump, L: Layer> End<P, L> {
    /// An end that has taken the line.
    pub fn over(side: Side, pump: P, link: L) -> End<P, L> {
        End { pump, link, side, connected: 0, has_begun: false, is_hung_up: false }
    }

    /// Samples that passed while the pump was connected.
    pub fn connected_samples(&self) -> u64 {
        self.connected
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
            self.link.begin(self.connected);
        }
    }

    /// Lets go of the line: silence from now on.
    pub fn hang_up(&mut self) {
        self.is_hung_up = true;
    }
}

/// The calling end from the moment at which the receiver is lifted.
#[derive(Debug, Clone)]
pub struct Caller<P, L = Link> {
    /// The end, which begins when the call is answered.
    pub end: End<P, L>,
    dialling: Vec<i16>,
    position: usize,
    is_answered: bool,
}

impl<P: Pump, L: Layer> Caller<P, L> {
    /// A caller of this number.
    pub fn new(end: End<P, L>, number: &str) -> Caller<P, L> {
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
