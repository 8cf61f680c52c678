//! A call whose two ends count samples by clocks of their own, in virtual time.

use super::{BLOCK, Way};
use punctual_datapump::{Phase, Qam, QamOptions, Role, Status};
use punctual_line::{ClockedLine, LineOptions, Opposite};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What both ends know: the bits of either way, and whether there are any to send.
#[derive(Clone)]
struct Ways {
    there: Rc<RefCell<Way>>,
    back: Rc<RefCell<Way>>,
    sending: Rc<Cell<bool>>,
}

/// An end, and its blocks.
struct Party {
    pump: Qam,
    ways: Ways,
    calls: bool,
    heard: Vec<i16>,
    sent: [i16; BLOCK],
    samples: u64,
}

impl Opposite for Party {
    fn sends(&self) -> i16 {
        self.sent[self.heard.len()]
    }

    fn hears(&mut self, sample: i16) {
        self.samples += 1;
        self.heard.push(sample);
        if self.heard.len() < BLOCK {
            return;
        }
        let Ways { there, back, sending } = &self.ways;
        let (out, into) = if self.calls { (there, back) } else { (back, there) };
        let (sending, now) = (sending.get(), self.samples);
        self.pump.process(&self.heard, &mut self.sent, &mut || sending.then(|| out.borrow_mut().send()), &mut |bit| {
            into.borrow_mut().receive(bit, now)
        });
        self.heard.clear();
    }
}

/// What came of a call.
#[derive(Debug, Clone, Copy)]
pub struct Exchanged {
    /// Bits compared in both directions, and those that were wrong.
    pub bits: u64,
    pub errors: u64,
    /// Of both ends.
    pub statuses: [Status; 2],
    /// The largest mean square error that either had while it sent.
    pub largest_error: f64,
}

/// Two pumps and a line between clocks.
pub struct Clocked {
    near: Party,
    far: Party,
    line: ClockedLine,
}

impl Clocked {
    pub fn new(seed: u64, line: LineOptions, drift_ppm: i32, options: QamOptions) -> Clocked {
        let ways = Ways {
            there: Rc::new(RefCell::new(Way::new(seed ^ 0x1111))),
            back: Rc::new(RefCell::new(Way::new(seed ^ 0x2222))),
            sending: Rc::default(),
        };
        // A block lies between what a pump sends and the line.
        let options = QamOptions { echo_delay: BLOCK as u32, ..options };
        let party = |role| Party {
            pump: Qam::new(role, options),
            ways: ways.clone(),
            calls: role == Role::Calling,
            heard: Vec::with_capacity(BLOCK),
            sent: [0; BLOCK],
            samples: 0,
        };
        let line = ClockedLine::new(seed, line, drift_ppm);
        Clocked { near: party(Role::Calling), far: party(Role::Answering), line }
    }

    fn block(&mut self) {
        for _ in 0..BLOCK {
            let heard = self.line.pass(self.near.sends(), &mut self.far);
            self.near.hears(heard);
        }
    }

    pub fn status(&self) -> [Status; 2] {
        [self.near.pump.status(), self.far.pump.status()]
    }

    pub fn is_connected(&self) -> bool {
        self.status().iter().all(|status| status.phase == Phase::Connected)
    }

    /// Runs until both ends are connected or this many seconds have passed; returns whether they are.
    pub fn connect(&mut self, seconds: u64) -> bool {
        let limit = self.near.samples + seconds * 7_200;
        while self.near.samples < limit && !self.is_connected() {
            self.block();
        }
        self.is_connected()
    }

    /// Random bits in both directions for this many seconds.
    pub fn exchange(&mut self, seconds: u64) -> Exchanged {
        self.near.ways.sending.set(true);
        let (end, mut largest_error) = (self.near.samples + seconds * 7_200, 0f64);
        while self.near.samples < end {
            self.block();
            largest_error = self.status().iter().map(|status| status.mean_square_error).fold(largest_error, f64::max);
        }
        let ways = [&self.near.ways.there, &self.near.ways.back].map(|way| {
            let way = way.borrow();
            (way.bits, way.errors)
        });
        Exchanged { bits: ways[0].0 + ways[1].0, errors: ways[0].1 + ways[1].1, statuses: self.status(), largest_error }
    }
}
