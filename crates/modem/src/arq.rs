//! Retransmission: a small subset of V.42's link access procedure (LAPM).
//!
//! What it has: SABME and UA to begin, numbered information frames (modulo 128) in a window, RR, RNR and REJ, a poll by
//! the acknowledgement timer (T401) with N400 retries, DISC and UA to end, DM. What it lacks: selective reject, XID and
//! so any negotiation, test frames, FRMR, break signals, checks of 32 bits, compression (V.42 bis).
//!
//! It does no I/O and reads no clock: whoever drives it gives the time, in samples of the line, and stops it while the
//! datapump trains, so that a retrain is not taken for a peer that has gone.

use crate::SAMPLE_RATE;
use std::collections::VecDeque;

const MODULUS: u8 = 128;
const SABME: u8 = 0x6f;
const UA: u8 = 0x63;
const DISC: u8 = 0x43;
const DM: u8 = 0x0f;
/// The poll or final bit of a frame without a number.
const POLL: u8 = 0x10;
const RR: u8 = 0x01;
const RNR: u8 = 0x05;
const REJ: u8 = 0x09;

/// Who started the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// It asks for the link.
    Calling,
    /// It waits to be asked.
    Answering,
}

/// V.42's system parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How many frames may be unacknowledged, 1 to 127 (k).
    pub window: usize,
    /// How many bytes a frame holds (N401).
    pub information: usize,
    /// How long to wait before asking about a frame that is not acknowledged, samples of the line (T401).
    pub timer: u64,
    /// How often in a row to try that (N400).
    pub retries: u32,
    /// If more received bytes than this wait for somebody to take them, the peer is told to wait.
    pub buffer: usize,
}

impl Default for Options {
    /// V.42's window and frame. T401 is left to the implementer: 2 s, enough for two frames at 2,400 bit/s.
    fn default() -> Options {
        Options { window: 15, information: 128, timer: 2 * SAMPLE_RATE, retries: 12, buffer: 16_384 }
    }
}

/// The state of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// No link yet.
    Idle,
    /// SABME was sent.
    Connecting,
    /// Bytes may be sent.
    Connected,
    /// DISC was sent.
    Disconnecting,
    /// It ended as one side wanted.
    Disconnected,
    /// The peer failed to answer N400 times in a row, or began a new link in the middle of this one.
    Failed,
}

/// What a link has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Information frames that were sent for the first time.
    pub sent: u64,
    /// Information frames that were sent again.
    pub resent: u64,
    /// Information frames that came in order.
    pub accepted: u64,
    /// Information frames that came out of order or while there was no room.
    pub discarded: u64,
    /// Requests to send again.
    pub rejects: u64,
    /// How often the timer ran out.
    pub timeouts: u64,
}

/// One end of a link.
#[derive(Debug, Clone)]
pub struct Arq {
    side: Side,
    options: Options,
    state: State,
    /// Counts of what happened so far.
    pub counters: Counters,
    outgoing: VecDeque<u8>,
    /// Information that is not acknowledged yet, the oldest first: that one has the number `acknowledged`.
    unacknowledged: VecDeque<Vec<u8>>,
    acknowledged: u8,
    /// Which of `unacknowledged` is sent next.
    next: usize,
    /// How many of `unacknowledged` have been sent at least once.
    sent: usize,
    /// The number of the next frame to come.
    expected: u8,
    rejecting: bool,
    acknowledgement_due: bool,
    peer_busy: bool,
    told_busy: bool,
    polling: bool,
    tries: u32,
    deadline: Option<u64>,
    control: VecDeque<Vec<u8>>,
    received: VecDeque<u8>,
    is_closing: bool,
}

impl Arq {
    /// An end without a link.
    pub fn new(side: Side, options: Options) -> Arq {
        Arq {
            side,
            options: Options {
                window: options.window.clamp(1, 127),
                information: options.information.max(1),
                ..options
            },
            state: State::Idle,
            counters: Counters::default(),
            outgoing: VecDeque::new(),
            unacknowledged: VecDeque::new(),
            acknowledged: 0,
            next: 0,
            sent: 0,
            expected: 0,
            rejecting: false,
            acknowledgement_due: false,
            peer_busy: false,
            told_busy: false,
            polling: false,
            tries: 0,
            deadline: None,
            control: VecDeque::new(),
            received: VecDeque::new(),
            is_closing: false,
        }
    }

    /// The state of the link.
    pub fn state(&self) -> State {
        self.state
    }

    /// Asks the peer for a link.
    pub fn connect(&mut self, now: u64) {
        if self.state == State::Idle {
            self.state = State::Connecting;
            self.control.push_back(self.unnumbered(SABME | POLL, true));
            self.deadline = Some(now + self.options.timer);
        }
    }

    /// Ends the link once everything has been acknowledged.
    pub fn close(&mut self) {
        self.is_closing = true;
    }

    /// Queues bytes to send.
    pub fn send(&mut self, bytes: &[u8]) {
        self.outgoing.extend(bytes);
    }

    /// Bytes that were queued and are not acknowledged yet.
    pub fn unsent(&self) -> usize {
        self.outgoing.len() + self.unacknowledged.iter().map(Vec::len).sum::<usize>()
    }

    /// Takes what has come, in order, at most this many bytes.
    pub fn take(&mut self, max: usize) -> Vec<u8> {
        let taken = self.received.drain(..max.min(self.received.len())).collect();
        if self.told_busy && self.received.len() < self.options.buffer / 2 {
            self.told_busy = false;
            self.acknowledgement_due = true;
        }
        taken
    }

    /// Bytes that have come and nobody has taken.
    pub fn waiting(&self) -> usize {
        self.received.len()
    }

    fn address(&self, is_command: bool) -> u8 {
        if is_command == (self.side == Side::Calling) { 0x03 } else { 0x01 }
    }

    fn unnumbered(&self, control: u8, is_command: bool) -> Vec<u8> {
        vec![self.address(is_command), control]
    }

    /// A frame that says what is expected: RR, or RNR while there is no room.
    fn supervisory(&mut self, kind: u8, is_command: bool, poll: bool) -> Vec<u8> {
        self.acknowledgement_due = false;
        let kind = if kind == RR && self.told_busy { RNR } else { kind };
        vec![self.address(is_command), kind, self.expected << 1 | u8::from(poll)]
    }

    /// The next frame to send, if there is one.
    pub fn next_frame(&mut self, now: u64) -> Option<Vec<u8>> {
        self.look_at_timer(now);
        if let Some(frame) = self.control.pop_front() {
            return Some(frame);
        }
        if self.state != State::Connected {
            return None;
        }
        if !self.polling
            && !self.peer_busy
            && let Some(frame) = self.next_information(now)
        {
            return Some(frame);
        }
        if self.acknowledgement_due {
            return Some(self.supervisory(RR, false, false));
        }
        if self.is_closing && self.unsent() == 0 {
            self.state = State::Disconnecting;
            self.tries = 0;
            self.deadline = Some(now + self.options.timer);
            return Some(self.unnumbered(DISC | POLL, true));
        }
        None
    }

    fn next_information(&mut self, now: u64) -> Option<Vec<u8>> {
        if self.next == self.unacknowledged.len() {
            if self.outgoing.is_empty() || self.unacknowledged.len() >= self.options.window {
                return None;
            }
            let length = self.options.information.min(self.outgoing.len());
            self.unacknowledged.push_back(self.outgoing.drain(..length).collect());
        }
        let information = self.unacknowledged.get(self.next)?;
        let number = (self.acknowledged + self.next as u8) % MODULUS;
        let mut frame = vec![self.address(true), number << 1, self.expected << 1];
        frame.extend(information);
        if self.next < self.sent {
            self.counters.resent += 1;
        } else {
            self.counters.sent += 1;
        }
        self.next += 1;
        self.sent = self.sent.max(self.next);
        self.acknowledgement_due = false;
        self.deadline.get_or_insert(now + self.options.timer);
        Some(frame)
    }

    fn look_at_timer(&mut self, now: u64) {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        self.counters.timeouts += 1;
        self.tries += 1;
        if self.tries > self.options.retries {
            // A peer that does not answer DISC is gone: everything that had to be said was acknowledged before.
            let ended = if self.state == State::Disconnecting { State::Disconnected } else { State::Failed };
            self.end(ended);
            return;
        }
        self.deadline = Some(now + self.options.timer);
        let frame = match self.state {
            State::Connecting => self.unnumbered(SABME | POLL, true),
            State::Disconnecting => self.unnumbered(DISC | POLL, true),
            State::Connected => {
                self.polling = true;
                self.supervisory(RR, true, true)
            }
            State::Idle | State::Disconnected | State::Failed => return self.deadline = None,
        };
        self.control.push_back(frame);
    }

    fn end(&mut self, state: State) {
        self.state = state;
        self.deadline = None;
        self.polling = false;
    }

    /// Takes a frame whose check sequence was right. Anything that is not a frame of this subset is ignored.
    pub fn receive(&mut self, frame: &[u8], now: u64) {
        let &[address, control, ref rest @ ..] = frame else { return };
        let is_command = match address {
            // The peer's command has the address that this side's response has.
            _ if address == self.address(false) => true,
            _ if address == self.address(true) => false,
            _ => return,
        };
        if control & 3 == 3 {
            self.receive_unnumbered(control, is_command);
        } else if let (State::Connected, &[numbers, ref information @ ..]) = (self.state, rest) {
            self.receive_numbered(control, numbers, information, is_command, now);
        } else if let (State::Idle | State::Disconnected | State::Failed, true) = (self.state, is_command) {
            self.control.push_back(self.unnumbered(DM | POLL, false));
        }
    }

    fn receive_unnumbered(&mut self, control: u8, is_command: bool) {
        match (control & !POLL, is_command, self.state) {
            (SABME, true, State::Idle) => {
                self.state = State::Connected;
                self.control.push_back(self.unnumbered(UA | POLL, false));
            }
            // Its UA was lost, or late: nothing has happened on this link yet.
            (SABME, true, State::Connected) if self.expected == 0 && self.acknowledged == 0 => {
                self.control.push_back(self.unnumbered(UA | POLL, false));
            }
            (SABME, true, State::Connected) => self.end(State::Failed),
            (UA, false, State::Connecting) => {
                self.state = State::Connected;
                (self.tries, self.deadline) = (0, None);
            }
            (UA | DM, false, State::Disconnecting) => self.end(State::Disconnected),
            (DM, false, State::Connected | State::Connecting) => self.end(State::Failed),
            (DISC, true, _) => {
                self.control.clear();
                self.control.push_back(self.unnumbered(UA | POLL, false));
                if self.state != State::Failed {
                    self.end(State::Disconnected);
                }
            }
            _ => {}
        }
    }

    fn receive_numbered(&mut self, control: u8, numbers: u8, information: &[u8], is_command: bool, now: u64) {
        let (number, poll) = (numbers >> 1, numbers & 1 == 1);
        if control & 1 == 0 {
            self.acknowledge(number, now);
            self.receive_information(control >> 1, information, poll);
            return;
        }
        if !self.acknowledge(number, now) {
            return;
        }
        if is_command && poll {
            let frame = self.supervisory(RR, false, true);
            self.control.push_back(frame);
        }
        let is_final = !is_command && poll && self.polling;
        match control {
            RR | REJ => self.peer_busy = false,
            RNR => {
                self.peer_busy = true;
                // The frame that reports room may get lost, so the peer is asked from time to time.
                self.deadline.get_or_insert(now + self.options.timer);
            }
            _ => return,
        }
        if is_final {
            (self.polling, self.tries) = (false, 0);
            self.deadline = self.peer_busy.then_some(now + self.options.timer);
        }
        if is_final || (control == REJ && !self.polling) {
            self.next = 0;
        }
    }

    /// The peer has everything before this number. Returns whether that is possible.
    fn acknowledge(&mut self, number: u8, now: u64) -> bool {
        let count = usize::from((number + MODULUS - self.acknowledged) % MODULUS);
        if count > self.sent {
            return false;
        }
        self.unacknowledged.drain(..count);
        self.acknowledged = number;
        self.next = self.next.saturating_sub(count);
        self.sent -= count;
        if count > 0 && !self.polling {
            self.tries = 0;
            self.deadline = (self.sent > 0 || self.peer_busy).then_some(now + self.options.timer);
        }
        true
    }

    fn receive_information(&mut self, number: u8, information: &[u8], poll: bool) {
        let has_room = self.received.len() + information.len() <= self.options.buffer;
        if number == self.expected && has_room {
            self.expected = (self.expected + 1) % MODULUS;
            self.received.extend(information);
            self.counters.accepted += 1;
            self.rejecting = false;
            self.acknowledgement_due = true;
        } else {
            self.counters.discarded += 1;
            if number == self.expected {
                self.told_busy = true;
                self.acknowledgement_due = true;
            } else if !self.rejecting && !self.told_busy {
                self.rejecting = true;
                self.counters.rejects += 1;
                let frame = self.supervisory(REJ, false, false);
                self.control.push_back(frame);
            }
        }
        if poll {
            let frame = self.supervisory(RR, false, true);
            self.control.push_back(frame);
        }
    }
}
