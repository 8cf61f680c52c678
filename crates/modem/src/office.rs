//! An exchange with two subscribers: their modems, and the line between them while they are in a call.
//!
//! It recognises digits from the samples, as exchanges do. What an exchange reports (it rings, it was answered, the
//! other end is busy or has hung up) comes as a [`Signal`] and not in tones.

use crate::SAMPLE_RATE;
use crate::adapter::{Adapter, BLOCK, Counters, Moment, time_of};
use crate::station::{CallRecord, Signal, Station};
use crate::subscriber::Subscriber;
use crate::tones::{Exchange, Progress};
use punctual_line::{Line, LineOptions};
use std::path::PathBuf;

/// The numbers of the two subscribers.
pub const NUMBERS: [&str; 2] = ["5550100", "5550101"];
/// From one ring to the next, samples: 5 s.
const RING_EVERY: u64 = 5 * SAMPLE_RATE;

/// What came of the modems of a process that were in use for a while.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineRun {
    /// The two ends of the line, or the one that this process had.
    pub ends: Vec<EndRun>,
    /// Blocks of 12.5 ms that were worked on.
    pub blocks: u64,
    /// Of these, those that came more than a block's time late.
    pub late_blocks: u64,
    /// The latest of them, ns.
    pub max_late_ns: u64,
    /// Time that was skipped because the machine was too late for it, ns.
    pub left_out_ns: u64,
    /// What the first modem missed by its stalls, and how many it met.
    pub starved: Option<(Counters, u64)>,
    /// How many processes called that were no modems, or another user's.
    pub refused_connections: u64,
    /// Why the other end's process was lost, if it was.
    pub lost: Option<String>,
    /// The file that was to be sent or received, if one was.
    pub file: Option<FileRun>,
}

/// What came of one end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndRun {
    /// Which of the two subscribers it is.
    pub place: usize,
    /// Where its terminal was, or the file that it had instead.
    pub path: PathBuf,
    /// Its calls, as it saw them; the first thousand.
    pub calls: Vec<CallRecord>,
    /// How many there were.
    pub counted: u64,
    /// Bytes meant for its terminal that it did not take before its program closed it, or before the end.
    pub unread: u64,
}

/// What came of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileRun {
    /// Its length if it was to be sent; `None`: it was to be received.
    pub length: Option<u64>,
    /// Bytes of it that the other end has acknowledged, or that came.
    pub bytes: u64,
    /// Whether all of it passed, and both ends know.
    pub is_through: bool,
}

/// A subscriber's line up to the exchange.
#[derive(Debug)]
struct Port<S> {
    station: S,
    /// Set if its processor comes late.
    adapter: Option<Adapter>,
    received: Vec<i16>,
    sent: Vec<i16>,
    /// The call that the exchange knows of, and what it does with its digits.
    call: Option<u64>,
    register: Option<Exchange>,
}

impl<S: Subscriber> Port<S> {
    fn new(station: S, adapter: Option<Adapter>) -> Port<S> {
        let (received, sent) = (Vec::with_capacity(BLOCK), vec![0; BLOCK]);
        Port { station, adapter, received, sent, call: None, register: None }
    }

    fn send(&mut self) -> i16 {
        match &mut self.adapter {
            Some(adapter) => adapter.send(&mut |received, sent| self.station.process(received, sent)),
            None => self.sent[self.received.len()],
        }
    }

    fn receive(&mut self, sample: i16) {
        if let Some(adapter) = &mut self.adapter {
            return adapter.receive(sample);
        }
        self.received.push(sample);
        if self.received.len() == BLOCK {
            self.station.process(&self.received, &mut self.sent);
            self.received.clear();
        }
    }
}

/// How the two are connected.
#[derive(Debug)]
enum Wire {
    Apart,
    /// The end with this number has called the other, which rings; and for how many samples.
    Ringing(usize, u64),
    Through(Box<Line>),
}

/// Two modems and what is between them.
#[derive(Debug)]
pub struct Office<S = Station> {
    ports: [Port<S>; 2],
    line: LineOptions,
    seed: u64,
    wire: Wire,
    calls: u64,
    samples: u64,
}

impl<S: Subscriber> Office<S> {
    /// Two modems with their receivers on the hook. The first may have a processor that comes late. Each call has a
    /// line of its own, whose noise follows from the seed and the call's number.
    pub fn new(stations: [S; 2], adapter: Option<Adapter>, line: LineOptions, seed: u64) -> Office<S> {
        let [first, second] = stations;
        let ports = [Port::new(first, adapter), Port::new(second, None)];
        Office { ports, line, seed, wire: Wire::Apart, calls: 0, samples: 0 }
    }

    /// One of the modems.
    pub fn station(&mut self, place: usize) -> &mut S {
        &mut self.ports[place].station
    }

    /// What the first one's processor missed, if it comes late.
    pub fn adapter(&self) -> Option<&Adapter> {
        self.ports[0].adapter.as_ref()
    }

    /// Samples so far.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// A block of time, 12.5 ms.
    pub fn step(&mut self) {
        self.look();
        for _ in 0..BLOCK {
            let sent = [self.ports[0].send(), self.ports[1].send()];
            let heard = match &mut self.wire {
                Wire::Through(line) => line.pass(sent[0], sent[1]),
                _ => (0, 0),
            };
            for (port, sample) in self.ports.iter_mut().zip(sent) {
                if let Some(register) = &mut port.register {
                    register.push(sample);
                }
            }
            self.ports[0].receive(heard.0);
            self.ports[1].receive(heard.1);
        }
        self.samples += BLOCK as u64;
    }

    /// Receivers that were lifted or hung up, digits that are complete, rings that are due.
    fn look(&mut self) {
        for place in 0..2 {
            let call = self.ports[place].station.call();
            let known = self.ports[place].call;
            if call != known {
                if known.is_some() {
                    self.hung_up(place);
                }
                self.ports[place].call = call;
                if call.is_some() {
                    self.lifted(place);
                }
            }
            self.dialled(place);
        }
        if let Wire::Ringing(caller, since) = &mut self.wire {
            let is_due = since.is_multiple_of(RING_EVERY);
            *since += BLOCK as u64;
            let called = 1 - *caller;
            if is_due {
                self.ports[called].station.signal(Signal::Ring);
            }
        }
        let is_linked = self.ports[0].station.is_connected();
        if let Some(adapter) = self.ports[0].adapter.as_mut().filter(|_| is_linked) {
            adapter.cpu.begin_stalls(Moment::Linked, time_of(self.samples));
        }
    }

    fn hung_up(&mut self, place: usize) {
        self.ports[place].register = None;
        match self.wire {
            Wire::Ringing(caller, _) if caller == place => self.wire = Wire::Apart,
            Wire::Through(_) => {
                self.wire = Wire::Apart;
                self.ports[1 - place].station.signal(Signal::Released);
            }
            _ => {}
        }
    }

    fn lifted(&mut self, place: usize) {
        match self.wire {
            Wire::Ringing(caller, _) if caller != place => {
                self.ports[caller].register = None;
                self.ports[caller].station.signal(Signal::Answered);
                self.calls += 1;
                self.wire = Wire::Through(Box::new(Line::new(self.seed.wrapping_add(self.calls), self.line)));
            }
            _ => self.ports[place].register = Some(Exchange::new(NUMBERS[1 - place], u64::MAX)),
        }
    }

    fn dialled(&mut self, place: usize) {
        let Some(register) = &self.ports[place].register else { return };
        let signal = match register.progress() {
            Progress::Dialling => return,
            Progress::Ringing | Progress::Connected if self.ports[1 - place].call.is_some() => Signal::Busy,
            Progress::Ringing | Progress::Connected => {
                if matches!(self.wire, Wire::Apart) {
                    self.wire = Wire::Ringing(place, 0);
                }
                return;
            }
            Progress::Unobtainable => Signal::Unobtainable,
        };
        self.ports[place].register = None;
        self.ports[place].station.signal(signal);
    }
}

#[cfg(test)]
mod tests;
