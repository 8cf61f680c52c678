//! A modem between a terminal and a telephone line: commands, a call, and the bytes of both directions.
//!
//! It does no I/O: whoever drives it hands it what was typed, shows what it has to show, and gives it a block of
//! samples for each one that it makes. Everything that it holds is bounded: a terminal that sends more than the line
//! takes finds no [`Station::room`], and what nobody takes from it stops the other end.

use crate::SAMPLE_RATE;
use crate::arq::{Options, Side};
use crate::at::{Action, Event, Interpreter, XOFF, XON};
use crate::end::{Caller, End, Pump};
use crate::link::Link;
use crate::serial::{Direct, MAX_UNSENT, Serial};
use crate::telephone::Telephone;
use punctual_datapump::{Qam, Role};
use std::collections::VecDeque;

/// If more bytes than this wait for the terminal, no more are taken from the line.
const MAX_SHOWN: usize = 2_048;
/// How many bytes wait for it at most, with the modem's own words and what was on its way when a call ended.
const MAX_WAITING: usize = 65_536;
/// How many typed bytes are taken at once while it takes commands.
const COMMAND_ROOM: usize = 256;
/// How long after hanging up what is on its way may still arrive, samples: 20 s, the usual S38.
const MAX_LEAVING: u64 = 20 * SAMPLE_RATE;
/// How long the line is held after the last character of an uncorrected call, so that it arrives, samples: 0.25 s.
const LAST_CHARACTERS: u64 = SAMPLE_RATE / 4;
/// How many calls are reported; further ones are only counted.
const MAX_CALLS: usize = 1_000;

/// What an exchange tells a subscriber besides samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// It rings, once.
    Ring,
    /// The called end has answered.
    Answered,
    /// The called end is in a call.
    Busy,
    /// Nobody has these digits.
    Unobtainable,
    /// The other end has hung up.
    Released,
}

/// How a call ended, as one of its ends saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnding {
    /// It is still going on.
    Open,
    /// By this end.
    HungUp,
    /// By the other end.
    FarHungUp,
    /// Nobody answered.
    NoAnswer,
    /// The called end was in a call.
    Busy,
    /// The exchange did not understand the number, or nobody has it.
    Unobtainable,
    /// The ends were connected, but got no link in time.
    NoLink,
    /// The other end stopped answering.
    LinkFailed,
}

impl CallEnding {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            CallEnding::Open => "open",
            CallEnding::HungUp => "hung_up",
            CallEnding::FarHungUp => "far_hung_up",
            CallEnding::NoAnswer => "no_answer",
            CallEnding::Busy => "busy",
            CallEnding::Unobtainable => "unobtainable",
            CallEnding::NoLink => "no_link",
            CallEnding::LinkFailed => "link_failed",
        }
    }
}

/// A call as one of its ends saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallRecord {
    /// Whether this end called.
    pub side: Side,
    /// How it ended.
    pub ending: CallEnding,
    /// From taking the line to releasing it, samples.
    pub samples: u64,
    /// Of these, those during which the datapump was connected.
    pub connected_samples: u64,
    /// The rate at the first connection; 0: never.
    pub bits_per_second: u32,
    /// Bytes that the terminal gave for the other end.
    pub sent: u64,
    /// Bytes of the other end that were taken for the terminal.
    pub received: u64,
    /// Start-ups that began again after a connection.
    pub retrains: u32,
    /// Damaged frames, or without error correction, damaged characters.
    pub damaged: u64,
}

#[derive(Debug)]
enum Phone {
    Calling(Box<Caller<Qam, Serial>>),
    Answering(Box<End<Qam, Serial>>),
}

impl Phone {
    fn end(&mut self) -> &mut End<Qam, Serial> {
        match self {
            Phone::Calling(caller) => &mut caller.end,
            Phone::Answering(end) => end,
        }
    }
}

/// A receiver that is off the hook.
#[derive(Debug)]
struct Call {
    phone: Phone,
    record: CallRecord,
    is_answered: bool,
    is_announced: bool,
    /// This end hung up, in this sample of the call.
    leaving: Option<u64>,
    /// The last character of an uncorrected call left in this sample.
    emptied: Option<u64>,
}

/// A modem.
#[derive(Debug)]
pub struct Station {
    /// Its commands.
    pub at: Interpreter,
    telephone: Telephone,
    /// How many blocks are between what it sends and the line.
    delay: u32,
    call: Option<Call>,
    calls: u64,
    records: Vec<CallRecord>,
    samples: u64,
    shown: VecDeque<u8>,
    given_way: u64,
    has_stopped_terminal: bool,
}

impl Station {
    /// A modem with its receiver on the hook, and this many blocks of samples between it and the line.
    pub fn new(telephone: Telephone, delay: u32) -> Station {
        Station {
            at: Interpreter::default(),
            telephone,
            delay,
            call: None,
            calls: 0,
            records: Vec::new(),
            samples: 0,
            shown: VecDeque::new(),
            given_way: 0,
            has_stopped_terminal: false,
        }
    }

    /// Which call it is in, by count; `None`: its receiver is on the hook.
    pub fn call(&self) -> Option<u64> {
        self.call.as_ref().map(|_| self.calls)
    }

    /// Whether it has told its terminal that it is connected.
    pub fn is_connected(&self) -> bool {
        self.call.as_ref().is_some_and(|call| call.is_announced && call.leaving.is_none())
    }

    /// The calls that are over, and the current one; of the first thousand.
    pub fn records(&mut self) -> Vec<CallRecord> {
        let mut records = self.records.clone();
        records.extend(self.call.as_mut().filter(|_| self.records.len() < MAX_CALLS).map(|call| call.record()));
        records
    }

    /// Calls in all.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// How many typed bytes are taken now.
    pub fn room(&mut self) -> usize {
        if !self.at.is_online() {
            return COMMAND_ROOM;
        }
        self.call.as_mut().map_or(COMMAND_ROOM, |call| call.phone.end().link.room())
    }

    /// Takes bytes that were typed: as many as there was room for.
    pub fn typed(&mut self, bytes: &[u8]) {
        self.at.input(bytes, self.now_ms());
        self.act();
    }

    /// The program has closed the terminal; what it would have been shown is thrown away.
    pub fn closed(&mut self) {
        self.at.closed();
        self.shown.clear();
        self.has_stopped_terminal = false;
        self.act();
    }

    /// What to show next, if the terminal takes anything.
    pub fn to_show(&mut self) -> &[u8] {
        if self.at.is_stopped() { &[] } else { self.shown.make_contiguous() }
    }

    /// How many bytes wait for the terminal, whether it takes any or not.
    pub fn waiting(&self) -> usize {
        self.shown.len()
    }

    /// Bytes that waited for the terminal, and gave way to newer ones.
    pub fn given_way(&self) -> u64 {
        self.given_way
    }

    /// This many of these bytes were shown.
    pub fn was_shown(&mut self, count: usize) {
        self.shown.drain(..count.min(self.shown.len()));
    }

    /// The exchange reports something.
    pub fn signal(&mut self, signal: Signal) {
        match (signal, &mut self.call) {
            (Signal::Ring, None) => self.at.event(Event::Ring),
            (Signal::Answered, Some(call)) => {
                call.is_answered = true;
                if let Phone::Calling(caller) = &mut call.phone {
                    caller.answered();
                }
            }
            (Signal::Busy, Some(_)) => self.end(CallEnding::Busy),
            (Signal::Unobtainable, Some(_)) => self.end(CallEnding::Unobtainable),
            (Signal::Released, Some(_)) => self.end(CallEnding::FarHungUp),
            _ => {}
        }
        self.act();
    }

    /// Takes a block of received samples and makes one of as many to send.
    pub fn process(&mut self, received: &[i16], sent: &mut [i16]) {
        self.samples += received.len() as u64;
        self.at.tick(self.now_ms());
        self.act();
        match &mut self.call {
            None => sent.fill(0),
            Some(call) => {
                call.record.samples += received.len() as u64;
                match &mut call.phone {
                    Phone::Calling(caller) => caller.process(received, sent),
                    Phone::Answering(end) => end.process(received, sent),
                }
            }
        }
        self.look();
        self.fill();
    }

    fn now_ms(&self) -> u64 {
        self.samples * 1_000 / SAMPLE_RATE
    }

    fn act(&mut self) {
        for action in self.at.actions() {
            match action {
                Action::Dial(number) => self.take_line(Side::Calling, &number),
                Action::Answer => self.take_line(Side::Answering, ""),
                Action::Send(bytes) => {
                    if let Some(call) = self.call.as_mut().filter(|call| call.is_announced) {
                        call.record.sent += bytes.len() as u64;
                        call.phone.end().link.send(&bytes);
                    }
                }
                Action::HangUp => self.leave(),
            }
        }
        self.show();
    }

    /// Takes what its commands have to show. An exchange may ring for a week where nobody reads: then the oldest gives way.
    fn show(&mut self) {
        self.shown.extend(self.at.output());
        let over = self.shown.len().saturating_sub(MAX_WAITING);
        self.shown.drain(..over);
        self.given_way += over as u64;
    }

    fn take_line(&mut self, side: Side, number: &str) {
        // A call that was hung up and whose last bytes are on their way is given up for the new one.
        self.end(CallEnding::HungUp);
        let role = if side == Side::Calling { Role::Calling } else { Role::Answering };
        let serial = if self.at.error_correction() {
            Serial::Corrected(Box::new(Link::new(side, Options::default())))
        } else {
            Serial::Direct(Direct::default())
        };
        let end = End::over(side, self.telephone.pump(role, self.delay), serial);
        let phone = match side {
            Side::Calling => Phone::Calling(Box::new(Caller::new(end, number))),
            Side::Answering => Phone::Answering(Box::new(end)),
        };
        let record = CallRecord {
            side,
            ending: CallEnding::Open,
            samples: 0,
            connected_samples: 0,
            bits_per_second: 0,
            sent: 0,
            received: 0,
            retrains: 0,
            damaged: 0,
        };
        let is_answered = side == Side::Answering;
        self.calls += 1;
        self.call = Some(Call { phone, record, is_answered, is_announced: false, leaving: None, emptied: None });
    }

    /// Hangs up; what was sent but has not arrived may still do so.
    fn leave(&mut self) {
        match &mut self.call {
            Some(call) if call.is_announced => {
                call.phone.end().link.close();
                call.leaving.get_or_insert(call.record.samples);
            }
            _ => self.end(CallEnding::HungUp),
        }
    }

    /// Puts the receiver on the hook.
    fn end(&mut self, ending: CallEnding) {
        let Some(mut call) = self.call.take() else { return };
        let ending = if call.leaving.is_some() { CallEnding::HungUp } else { ending };
        if self.at.is_online() && call.leaving.is_none() {
            let rest = call.phone.end().link.take(usize::MAX);
            call.record.received += rest.len() as u64;
            self.at.show(&rest);
        }
        if self.records.len() < MAX_CALLS {
            self.records.push(CallRecord { ending, ..call.record() });
        }
        if call.leaving.is_none() {
            self.at.event(match ending {
                CallEnding::NoAnswer => Event::NoAnswer,
                CallEnding::Busy => Event::Busy,
                _ => Event::NoCarrier,
            });
        }
        self.show();
    }

    /// What the block has changed.
    fn look(&mut self) {
        let patience = u64::from(self.at.patience_s()) * SAMPLE_RATE;
        let Some(call) = &mut self.call else { return };
        let (is_answered, is_announced, elapsed) = (call.is_answered, call.is_announced, call.record.samples);
        let end = call.phone.end();
        let status = Pump::status(&end.pump);
        if status.is_connected && end.link.is_up() && !is_announced {
            call.is_announced = true;
            call.record.bits_per_second = status.bits_per_second;
            self.at.event(Event::Connected(status.bits_per_second));
            return self.show();
        }
        if let Some(left) = call.leaving {
            let is_over = end.link.is_over();
            let is_corrected = matches!(end.link, Serial::Corrected(_));
            let emptied = is_over.then(|| *call.emptied.get_or_insert(elapsed));
            let rest = if is_corrected { 0 } else { LAST_CHARACTERS };
            if emptied.is_some_and(|emptied| elapsed >= emptied + rest) || elapsed > left + MAX_LEAVING {
                self.end(CallEnding::HungUp);
            }
        } else if end.link.is_failed() {
            self.end(if is_announced { CallEnding::LinkFailed } else { CallEnding::NoLink });
        } else if end.link.is_over() {
            self.end(CallEnding::FarHungUp);
        } else if !is_announced && elapsed > patience {
            self.end(if is_answered { CallEnding::NoLink } else { CallEnding::NoAnswer });
        }
    }

    /// Takes bytes from the line as far as the terminal keeps up, and stops a terminal that does not.
    fn fill(&mut self) {
        if let Some(call) = self.call.as_mut().filter(|call| call.is_announced && call.leaving.is_none())
            && self.at.is_online()
        {
            let bytes = call.phone.end().link.take(MAX_SHOWN.saturating_sub(self.shown.len()));
            call.record.received += bytes.len() as u64;
            self.shown.extend(bytes);
        }
        if self.at.stops_by_characters() {
            let room = self.room();
            if !self.has_stopped_terminal && room < MAX_UNSENT / 4 {
                self.has_stopped_terminal = true;
                self.shown.push_front(XOFF);
            } else if self.has_stopped_terminal && room > MAX_UNSENT / 2 {
                self.has_stopped_terminal = false;
                self.shown.push_front(XON);
            }
        }
    }
}

impl Call {
    fn record(&mut self) -> CallRecord {
        let end = self.phone.end();
        CallRecord {
            connected_samples: end.connected_samples(),
            retrains: end.pump.status().retrains,
            damaged: end.link.damaged(),
            ..self.record
        }
    }
}
