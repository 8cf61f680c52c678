//! Commands as modems take them: bytes from a terminal in, bytes for it and actions out.
//!
//! | command | does |
//! |---|---|
//! | `ATDT number`, `ATDP`, `ATD` | dials; separators are left out |
//! | `ATA`, `ATH`, `ATO` | answers, hangs up, goes back online after `+++` |
//! | `ATE0` `ATE1`, `ATV0` `ATV1`, `ATQ0` `ATQ1` | echo; results as words; no results |
//! | `AT\N0`, `AT\N3` | without or with error correction, from the next call on |
//! | `ATSn?`, `ATSn=v` | registers: S0 rings until it answers by itself, S2 escape character, S7 seconds until a call is given up, S12 guard time of the escape in 20 ms |
//! | `AT&K0`, `AT&K3`, `AT&K4` | flow control: none to be heard, by the pseudo-terminal itself (it takes no more), by XON and XOFF as well |
//! | `AT&D0` to `AT&D3` | when the program closes the terminal: nothing; back to commands; hangs up; hangs up and takes the defaults |
//! | `ATZ`, `AT&F`, `ATI`, `A/` | defaults, who it is, the last line again |
//! | `ATL`, `ATM`, `ATX`, `AT&C` | taken, and nothing changes: there is no loudspeaker, and a pseudo-terminal has no line for the carrier |
//!
//! A line may contain several. Anything unknown is an `ERROR`. `+++` with the guard time before and after it goes back
//! to commands without hanging up.

use crate::tones;

/// What the modem should do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Take the line and dial.
    Dial(String),
    /// Take the line and answer.
    Answer,
    /// End the call.
    HangUp,
    /// Send to the other end.
    Send(Vec<u8>),
}

/// What has happened on the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// It rings, once.
    Ring,
    /// Both ends are connected at this many bit/s.
    Connected(u32),
    /// The call ended, or failed.
    NoCarrier,
    /// Nobody answered in time.
    NoAnswer,
    /// The called end is in a call, or its receiver is off the hook.
    Busy,
}

/// What happens to a call when the program closes the terminal, as if DTR had dropped: `AT&D`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closed {
    Nothing,
    Commands,
    HangUp,
    Reset,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Commands, and no call.
    Command,
    /// A call is being made; any byte aborts it.
    Calling,
    /// What is typed is sent.
    Online,
    /// Commands during a call.
    Escaped,
}

/// Nothing may be sent to the terminal; after XON it may again.
pub const XOFF: u8 = 0x13;
/// See [`XOFF`].
pub const XON: u8 = 0x11;

const REGISTERS: usize = 13;
const MAX_LINE: usize = 200;
const BACKSPACE: u8 = 8;
const DELETE: u8 = 127;
const CARRIAGE_RETURN: u8 = b'\r';
const LINE_FEED: u8 = b'\n';

/// An interpreter of commands. Times are ms of any clock that moves forward.
#[derive(Debug, Clone)]
pub struct Interpreter {
    mode: Mode,
    line: Vec<u8>,
    last_line: Vec<u8>,
    echo: bool,
    words: bool,
    quiet: bool,
    error_correction: bool,
    /// XON and XOFF from the terminal stop and resume output, and are not sent.
    by_characters: bool,
    is_stopped: bool,
    closed: Closed,
    registers: [u8; REGISTERS],
    rings: u8,
    pluses: u8,
    last_input_ms: u64,
    output: Vec<u8>,
    actions: Vec<Action>,
}

impl Default for Interpreter {
    fn default() -> Interpreter {
        let mut registers = [0; REGISTERS];
        (registers[2], registers[3], registers[4], registers[5]) = (b'+', CARRIAGE_RETURN, LINE_FEED, BACKSPACE);
        (registers[7], registers[12]) = (60, 50);
        Interpreter {
            mode: Mode::Command,
            line: Vec::new(),
            last_line: Vec::new(),
            echo: true,
            words: true,
            quiet: false,
            error_correction: true,
            by_characters: false,
            is_stopped: false,
            closed: Closed::HangUp,
            registers,
            rings: 0,
            pluses: 0,
            last_input_ms: 0,
            output: Vec::new(),
            actions: Vec::new(),
        }
    }
}

enum Reply {
    Ok,
    Error,
    /// The result comes when the line says so.
    Later,
}

impl Interpreter {
    /// What to show on the terminal.
    pub fn output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// What to do.
    pub fn actions(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }

    /// Whether the next call should be error-corrected.
    pub fn error_correction(&self) -> bool {
        self.error_correction
    }

    /// Whether to show what arrives; while commands are taken during a call it waits.
    pub fn is_online(&self) -> bool {
        self.mode == Mode::Online
    }

    /// After how long a call that nobody answers is given up, s (S7).
    pub fn patience_s(&self) -> u8 {
        self.registers[7]
    }

    /// Whether the terminal takes nothing at the moment, because of XOFF.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Whether to stop the terminal with XOFF when there is no room for what it sends.
    pub fn stops_by_characters(&self) -> bool {
        self.by_characters
    }

    /// The program closed the terminal. Whatever was still to be shown is thrown away.
    pub fn closed(&mut self) {
        self.line.clear();
        self.is_stopped = false;
        match self.closed {
            Closed::Nothing => {}
            Closed::Commands if self.mode == Mode::Online => self.mode = Mode::Escaped,
            Closed::Commands => {}
            Closed::HangUp if self.mode == Mode::Command => {}
            Closed::HangUp => self.hang_up(),
            Closed::Reset => self.reset(),
        }
        self.output.clear();
    }

    /// Bytes that have arrived from the other end.
    pub fn show(&mut self, bytes: &[u8]) {
        self.output.extend(bytes);
    }

    /// Bytes that were typed, at this time.
    pub fn input(&mut self, bytes: &[u8], now_ms: u64) {
        let mut kept = bytes.to_vec();
        kept.retain(|byte| {
            match *byte {
                _ if !self.by_characters => return true,
                XOFF => self.is_stopped = true,
                XON => self.is_stopped = false,
                _ => return true,
            }
            false
        });
        // If nothing was typed, there is no input: the guard time goes on.
        if !kept.is_empty() {
            self.take(&kept, now_ms);
        }
    }

    fn take(&mut self, bytes: &[u8], now_ms: u64) {
        for (place, byte) in bytes.iter().enumerate() {
            match self.mode {
                Mode::Online => return self.online(&bytes[place..], now_ms),
                // The second half of a line ending is not a key that was pressed.
                Mode::Calling if byte & 127 == LINE_FEED => {}
                Mode::Calling => {
                    self.mode = Mode::Command;
                    self.actions.push(Action::HangUp);
                    self.result(3, "NO CARRIER");
                }
                Mode::Command | Mode::Escaped => self.typed(*byte),
            }
        }
        self.last_input_ms = now_ms;
    }

    /// Time has passed.
    pub fn tick(&mut self, now_ms: u64) {
        if self.mode == Mode::Online && self.pluses == 3 && now_ms >= self.last_input_ms + self.guard_ms() {
            self.pluses = 0;
            self.mode = Mode::Escaped;
            self.result(0, "OK");
        }
    }

    /// Something has happened on the line.
    pub fn event(&mut self, event: Event) {
        match event {
            Event::Ring if matches!(self.mode, Mode::Command) => {
                self.rings = self.rings.saturating_add(1);
                self.result(2, "RING");
                if self.registers[0] > 0 && self.rings >= self.registers[0] {
                    self.answer();
                }
            }
            Event::Ring => {}
            Event::Connected(rate) => {
                (self.mode, self.pluses, self.rings) = (Mode::Online, 0, 0);
                self.result(1, &format!("CONNECT {rate}"));
            }
            Event::NoCarrier => self.ended(3, "NO CARRIER"),
            Event::NoAnswer => self.ended(8, "NO ANSWER"),
            Event::Busy => self.ended(7, "BUSY"),
        }
    }

    fn ended(&mut self, code: u8, words: &str) {
        self.rings = 0;
        if self.mode != Mode::Command {
            self.mode = Mode::Command;
            self.result(code, words);
        }
    }

    fn guard_ms(&self) -> u64 {
        u64::from(self.registers[12]) * 20
    }

    fn online(&mut self, bytes: &[u8], now_ms: u64) {
        let paused = now_ms >= self.last_input_ms + self.guard_ms();
        let begins = self.pluses == 0 && paused;
        let continues = self.pluses > 0 && self.pluses < 3 && now_ms < self.last_input_ms + self.guard_ms();
        let escapes = self.registers[2] < 128 && bytes.iter().all(|byte| *byte == self.registers[2]);
        let pluses = usize::from(self.pluses) + bytes.len();
        self.pluses = if (begins || continues) && escapes && pluses <= 3 { pluses as u8 } else { 0 };
        self.last_input_ms = now_ms;
        self.actions.push(Action::Send(bytes.to_vec()));
    }

    fn typed(&mut self, byte: u8) {
        if self.echo {
            self.output.push(byte);
        }
        match byte & 127 {
            CARRIAGE_RETURN => {
                let line = std::mem::take(&mut self.line);
                self.run(&line);
            }
            LINE_FEED => {}
            BACKSPACE | DELETE => {
                self.line.pop();
            }
            b'/' if self.line.eq_ignore_ascii_case(b"a") => {
                self.line.clear();
                let line = self.last_line.clone();
                self.run(&line);
            }
            byte if self.line.len() < MAX_LINE => self.line.push(byte),
            _ => {}
        }
    }

    fn run(&mut self, line: &[u8]) {
        let text: String = line.iter().map(|byte| char::from(byte.to_ascii_uppercase())).collect();
        let text = text.trim();
        // What does not begin with AT is not a command: line noise, a terminal's greeting.
        let Some(commands) = text.strip_prefix("AT") else { return };
        self.last_line = line.to_vec();
        match self.commands(&commands.replace(' ', "")) {
            Reply::Ok => self.result(0, "OK"),
            Reply::Error => self.result(4, "ERROR"),
            Reply::Later => {}
        }
    }

    fn commands(&mut self, mut text: &str) -> Reply {
        while let Some(first) = text.chars().next() {
            let (name, rest) = match first {
                '&' | '\\' => text.split_at(text.char_indices().nth(2).map_or(text.len(), |(place, _)| place)),
                _ => text.split_at(first.len_utf8()),
            };
            if name == "D" {
                return self.dial(rest);
            }
            let digits = rest.len() - rest.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
            let (number, after) = rest.split_at(digits);
            let Ok(number) = (if number.is_empty() { Ok(0) } else { number.parse::<u8>() }) else {
                return Reply::Error;
            };
            text = after;
            let done = match (name, number) {
                ("S", _) => match self.register(number, after) {
                    Some(rest) => {
                        text = rest;
                        true
                    }
                    None => false,
                },
                ("A", _) if self.mode == Mode::Command => {
                    self.answer();
                    return Reply::Later;
                }
                ("O", _) if self.mode == Mode::Escaped => {
                    self.mode = Mode::Online;
                    return Reply::Later;
                }
                _ => self.setting(name, number),
            };
            if !done {
                return Reply::Error;
            }
        }
        Reply::Ok
    }

    /// A command that is done at once. Returns whether there is one.
    fn setting(&mut self, name: &str, number: u8) -> bool {
        match (name, number) {
            ("H", 0) => self.hang_up(),
            ("E", 0 | 1) => self.echo = number == 1,
            ("V", 0 | 1) => self.words = number == 1,
            ("Q", 0 | 1) => self.quiet = number == 1,
            ("\\N", 0 | 3) => self.error_correction = number == 3,
            ("I", _) => self.say("punctual modem"),
            ("&K", 0 | 3) => (self.by_characters, self.is_stopped) = (false, false),
            ("&K", 4) => self.by_characters = true,
            ("&D", 0) => self.closed = Closed::Nothing,
            ("&D", 1) => self.closed = Closed::Commands,
            ("&D", 2) => self.closed = Closed::HangUp,
            ("&D", 3) => self.closed = Closed::Reset,
            ("L" | "M", 0..=3) | ("X", 0..=4) | ("&C", 0 | 1) => {}
            ("Z" | "&F", _) => self.reset(),
            _ => return false,
        }
        true
    }

    fn reset(&mut self) {
        self.hang_up();
        let fresh = Interpreter::default();
        (self.echo, self.words, self.quiet) = (fresh.echo, fresh.words, fresh.quiet);
        (self.error_correction, self.registers) = (fresh.error_correction, fresh.registers);
        (self.by_characters, self.is_stopped, self.closed) = (fresh.by_characters, fresh.is_stopped, fresh.closed);
    }

    fn hang_up(&mut self) {
        self.mode = Mode::Command;
        self.actions.push(Action::HangUp);
    }

    fn answer(&mut self) {
        self.mode = Mode::Calling;
        self.actions.push(Action::Answer);
    }

    fn dial(&mut self, text: &str) -> Reply {
        let text = text.strip_prefix(['T', 'P']).unwrap_or(text);
        let number: String = text.chars().filter(|digit| !matches!(digit, '-' | '(' | ')' | '.' | ',' | '+')).collect();
        if self.mode != Mode::Command || !tones::is_number(&number) {
            return Reply::Error;
        }
        self.mode = Mode::Calling;
        self.actions.push(Action::Dial(number));
        Reply::Later
    }

    /// Shows or sets a register; returns what follows it.
    fn register<'a>(&mut self, number: u8, rest: &'a str) -> Option<&'a str> {
        let register = usize::from(number);
        if register >= REGISTERS {
            return None;
        }
        if let Some(rest) = rest.strip_prefix('?') {
            self.say(&format!("{:03}", self.registers[register]));
            return Some(rest);
        }
        let rest = rest.strip_prefix('=')?;
        let digits = rest.len() - rest.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
        let (value, rest) = rest.split_at(digits);
        self.registers[register] = value.parse().ok()?;
        Some(rest)
    }

    fn say(&mut self, words: &str) {
        self.output.extend(format!("\r\n{words}\r\n").bytes());
    }

    fn result(&mut self, code: u8, words: &str) {
        if self.quiet {
            return;
        }
        if self.words {
            self.say(words);
        } else {
            self.output.extend(format!("{code}\r").bytes());
        }
    }
}

#[cfg(test)]
mod tests;
