//! A modem as the exchange knows it, wherever it works.

use crate::station::{Signal, Station};

/// A modem on a line of the exchange.
pub trait Subscriber {
    /// Which call it is in, by count; `None`: its receiver is on the hook.
    fn call(&self) -> Option<u64>;
    /// Whether it has told its terminal that it is connected.
    fn is_connected(&self) -> bool;
    /// The exchange reports something.
    fn signal(&mut self, signal: Signal);
    /// Takes a block of received samples and makes one of as many to send.
    fn process(&mut self, received: &[i16], sent: &mut [i16]);
}

impl Subscriber for Station {
    fn call(&self) -> Option<u64> {
        Station::call(self)
    }

    fn is_connected(&self) -> bool {
        Station::is_connected(self)
    }

    fn signal(&mut self, signal: Signal) {
        Station::signal(self, signal);
    }

    fn process(&mut self, received: &[i16], sent: &mut [i16]) {
        Station::process(self, received, sent);
    }
}
