//! Commands as modems take them: bytes from a terminal in, bytes for it and actions out.
//!
//! | command | does |
//! |---|---|
//! | `ATDT number`, `ATDP`, `ATD`, `ATDL` | dials, or the last number again; separators, and waiting for a tone that is always there (`W`, `@`), are left out |
//! | `ATA`, `ATH`, `ATO` | answers, hangs up, goes back online after `+++` and says CONNECT again |
//! | `ATE0` `ATE1`, `ATV0` `ATV1`, `ATQ0` `ATQ1` | echo; results as words or numbers; no results |
//! | `ATX0` to `ATX4` | which results there are: CONNECT alone; with the rate (1, 2); BUSY and NO ANSWER, too (3, 4), which are NO CARRIER otherwise |
//! | `AT\N0`, `AT\N3` | without or with error correction, from the next call on |
//! | `ATSn?`, `ATSn=v` | registers: S0 rings until it answers by itself, S1 rings so far, S2 escape character, S3 to S5 the characters that end a line, follow its end and take back the last key, S7 seconds until a call is given up, S12 guard time of the escape in 20 ms |
//! | `AT&K0`, `AT&K3`, `AT&K4` | flow control: none to be heard, by the pseudo-terminal itself (it takes no more), by XON and XOFF as well |
//! | `AT&D0` to `AT&D3` | when the program closes the terminal: nothing; back to commands; hangs up; hangs up and does `ATZ` |
//! | `AT&W`, `ATZ`, `AT&F`, `AT&V` | keeps the settings until the modem goes, takes those that were kept, takes the defaults, shows them |
//! | `ATI`, `AT+GMI`, `AT+GMM`, `AT+GMR`, `AT+GCAP`, `AT+FCLASS=0` | who it is, and that it is a modem for data |
//! | `A/` | the last line again |
//! | `ATL`, `ATM`, `ATT`, `ATP`, `AT&C`, `AT&S`, `AT%C0` | taken, and nothing changes: there is no loudspeaker, no compression, and a pseudo-terminal has no line for the carrier |
//!
//! Numbers of results (`ATV0`): 0 OK, 1 CONNECT, 2 RING, 3 NO CARRIER, 4 ERROR, 7 BUSY, 8 NO ANSWER, and for CONNECT with a rate 11
//! (4800), 12 (9600) and 13 (14400).
//!
//! A line may contain several. Anything unknown is an `ERROR`. `+++` with the guard time before and after it goes back
//! to commands without hanging up.

mod settings;

use crate::tones;
use settings::Settings;

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
    last_number: String,
    settings: Settings,
    /// What `ATZ` takes.
    kept: Settings,
    is_stopped: bool,
    /// Of the last connection, bit/s.
    rate: u32,
    pluses: u8,
    last_input_ms: u64,
    output: Vec<u8>,
    actions: Vec<Action>,
}

impl Default for Interpreter {
    fn default() -> Interpreter {
        Interpreter {
            mode: Mode::Command,
            line: Vec::new(),
            last_line: Vec::new(),
            last_number: String::new(),
            settings: Settings::default(),
            kept: Settings::default(),
            is_stopped: false,
            rate: 0,
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
        self.settings.error_correction
    }

    /// Whether to show what arrives; while commands are taken during a call it waits.
    pub fn is_online(&self) -> bool {
        self.mode == Mode::Online
    }

    /// After how long a call that nobody answers is given up, s (S7).
    pub fn patience_s(&self) -> u8 {
        self.settings.registers[7]
    }

    /// Whether the terminal takes nothing at the moment, because of XOFF.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Whether to stop the terminal with XOFF when there is no room for what it sends.
    pub fn stops_by_characters(&self) -> bool {
        self.settings.by_characters
    }

    /// The program closed the terminal. Whatever was still to be shown is thrown away.
    pub fn closed(&mut self) {
        self.line.clear();
        self.is_stopped = false;
        match self.settings.closed {
            Closed::Nothing => {}
            Closed::Commands if self.mode == Mode::Online => self.mode = Mode::Escaped,
            Closed::Commands => {}
            Closed::HangUp if self.mode == Mode::Command => {}
            Closed::HangUp => self.hang_up(),
            Closed::Reset => self.reset(self.kept),
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
                _ if !self.settings.by_characters => return true,
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
                Mode::Calling if byte & 127 == self.settings.registers[4] => {}
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
                let [until, rings, ..] = &mut self.settings.registers;
                *rings = rings.saturating_add(1);
                let answers = *until > 0 && *rings >= *until;
                self.result(2, "RING");
                if answers {
                    self.answer();
                }
            }
            Event::Ring => {}
            Event::Connected(rate) => {
                (self.mode, self.pluses, self.rate) = (Mode::Online, 0, rate);
                self.settings.registers[1] = 0;
                self.connected();
            }
            Event::NoAnswer if self.settings.results >= 3 => self.ended(8, "NO ANSWER"),
            Event::Busy if self.settings.results >= 3 => self.ended(7, "BUSY"),
            Event::NoCarrier | Event::NoAnswer | Event::Busy => self.ended(3, "NO CARRIER"),
        }
    }

    /// Says that it is connected.
    fn connected(&mut self) {
        if self.settings.results == 0 {
            return self.result(1, "CONNECT");
        }
        let code = match self.rate {
            4_800 => 11,
            9_600 => 12,
            14_400 => 13,
            _ => 1,
        };
        self.result(code, &format!("CONNECT {}", self.rate));
    }

    fn ended(&mut self, code: u8, words: &str) {
        self.settings.registers[1] = 0;
        if self.mode != Mode::Command {
            self.mode = Mode::Command;
            self.result(code, words);
        }
    }

    fn guard_ms(&self) -> u64 {
        u64::from(self.settings.registers[12]) * 20
    }

    fn online(&mut self, bytes: &[u8], now_ms: u64) {
        let paused = now_ms >= self.last_input_ms + self.guard_ms();
        let begins = self.pluses == 0 && paused;
        let continues = self.pluses > 0 && self.pluses < 3 && now_ms < self.last_input_ms + self.guard_ms();
        let escape = self.settings.registers[2];
        let escapes = escape < 128 && bytes.iter().all(|byte| *byte == escape);
        let pluses = usize::from(self.pluses) + bytes.len();
        self.pluses = if (begins || continues) && escapes && pluses <= 3 { pluses as u8 } else { 0 };
        self.last_input_ms = now_ms;
        self.actions.push(Action::Send(bytes.to_vec()));
    }

    fn typed(&mut self, byte: u8) {
        if self.settings.echo {
            self.output.push(byte);
        }
        let [_, _, _, end, follows, take_back, ..] = self.settings.registers;
        match byte & 127 {
            key if key == end => {
                let line = std::mem::take(&mut self.line);
                self.run(&line);
            }
            key if key == follows => {}
            key if key == take_back || key == DELETE => {
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
            if first == '+' {
                let (command, after) = text.split_once(';').unwrap_or((text, ""));
                if !self.extended(command) {
                    return Reply::Error;
                }
                text = after;
                continue;
            }
            let (name, rest) = match first {
                '&' | '\\' | '%' => text.split_at(text.char_indices().nth(2).map_or(text.len(), |(place, _)| place)),
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
                    self.connected();
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
        let settings = &mut self.settings;
        match (name, number) {
            ("H", 0) => self.hang_up(),
            ("E", 0 | 1) => settings.echo = number == 1,
            ("V", 0 | 1) => settings.words = number == 1,
            ("Q", 0 | 1) => settings.quiet = number == 1,
            ("X", 0..=4) => settings.results = number,
            ("\\N", 0 | 3) => settings.error_correction = number == 3,
            ("I", _) => self.say("punctual modem"),
            ("&K", 0 | 3) => (settings.by_characters, self.is_stopped) = (false, false),
            ("&K", 4) => settings.by_characters = true,
            ("&D", 0) => settings.closed = Closed::Nothing,
            ("&D", 1) => settings.closed = Closed::Commands,
            ("&D", 2) => settings.closed = Closed::HangUp,
            ("&D", 3) => settings.closed = Closed::Reset,
            ("L" | "M", 0..=3) | ("T" | "P" | "%C", 0) | ("&C" | "&S", 0 | 1) => {}
            ("&V", 0) => self.say(&self.settings.in_words()),
            ("&W", 0) => self.kept = self.settings,
            ("Z", _) => self.reset(self.kept),
            ("&F", _) => self.reset(Settings::default()),
            _ => return false,
        }
        true
    }

    /// A command with a plus. Returns whether there is one.
    fn extended(&mut self, command: &str) -> bool {
        match command {
            "+FCLASS=0" => {}
            "+FCLASS?" | "+FCLASS=?" => self.say("0"),
            "+GMI" => self.say("punctual"),
            "+GMM" => self.say("punctual modem"),
            "+GMR" => self.say(env!("CARGO_PKG_VERSION")),
            "+GCAP" => self.say("+GCAP: +FCLASS"),
            _ => return false,
        }
        true
    }

    fn reset(&mut self, settings: Settings) {
        self.hang_up();
        (self.settings, self.is_stopped) = (settings, false);
        self.settings.registers[1] = 0;
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
        let left_out = |digit: &char| matches!(digit, '-' | '(' | ')' | '.' | ',' | '+' | 'T' | 'P' | 'W' | '@');
        let number: String = match text {
            "L" => self.last_number.clone(),
            _ => text.chars().filter(|digit| !left_out(digit)).collect(),
        };
        if self.mode != Mode::Command || !tones::is_number(&number) {
            return Reply::Error;
        }
        self.mode = Mode::Calling;
        self.last_number.clone_from(&number);
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
            self.say(&format!("{:03}", self.settings.registers[register]));
            return Some(rest);
        }
        let rest = rest.strip_prefix('=')?;
        let digits = rest.len() - rest.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
        let (value, rest) = rest.split_at(digits);
        let value: u8 = value.parse().ok()?;
        // Nobody could type a key beyond ASCII, and so no further line.
        if (3..=5).contains(&register) && value > 127 {
            return None;
        }
        self.settings.registers[register] = value;
        Some(rest)
    }

    fn say(&mut self, words: &str) {
        let [_, _, _, end, follows, ..] = self.settings.registers;
        self.output.extend([end, follows].into_iter().chain(words.bytes()).chain([end, follows]));
    }

    fn result(&mut self, code: u8, words: &str) {
        if self.settings.quiet {
            return;
        }
        if self.settings.words {
            self.say(words);
        } else {
            self.output.extend(code.to_string().bytes().chain([self.settings.registers[3]]));
        }
    }
}

#[cfg(test)]
mod tests;
