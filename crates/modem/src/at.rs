//! Commands as modems take them: bytes of a terminal in, bytes for it and actions out.
//!
//! | command | does |
//! |---|---|
//! | `ATDT number`, `ATDP`, `ATD` | dials; separators are left out |
//! | `ATA`, `ATH`, `ATO` | answers, hangs up, goes back online after `+++` |
//! | `ATE0` `ATE1`, `ATV0` `ATV1`, `ATQ0` `ATQ1` | echo; results as words; no results |
//! | `AT\N0`, `AT\N3` | without or with error correction, from the next call on |
//! | `ATSn?`, `ATSn=v` | registers: S0 rings until it answers by itself, S2 escape character, S7 seconds until a call is given up, S12 guard time of the escape in 20 ms |
//! | `ATZ`, `AT&F`, `ATI`, `A/` | defaults, who it is, the last line again |
//!
//! Several may stand in a line. What is not there is an `ERROR`. `+++` with the guard time before and after it goes back to
//! commands without hanging up.

use crate::tones;

/// What the modem is to do.
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
    /// Both ends are connected at so many bit/s.
    Connected(u32),
    /// The call ended, or came to nothing.
    NoCarrier,
    /// Nobody answered in time.
    NoAnswer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Commands, and no call.
    Command,
    /// A call is being made; any byte gives it up.
    Calling,
    /// What is typed is sent.
    Online,
    /// Commands during a call.
    Escaped,
}

const REGISTERS: usize = 13;
const MAX_LINE: usize = 200;
const BACKSPACE: u8 = 8;
const DELETE: u8 = 127;
const CARRIAGE_RETURN: u8 = b'\r';
const LINE_FEED: u8 = b'\n';

/// An interpreter of commands. Times are ms of any clock that goes on.
#[derive(Debug, Clone)]
pub struct Interpreter {
    mode: Mode,
    line: Vec<u8>,
    last_line: Vec<u8>,
    echo: bool,
    words: bool,
    quiet: bool,
    error_correction: bool,
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
    /// What is to be shown on the terminal.
    pub fn output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// What is to be done.
    pub fn actions(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }

    /// Whether the next call is to be error-corrected.
    pub fn error_correction(&self) -> bool {
        self.error_correction
    }

    /// Whether what arrives is to be shown; while commands are taken in a call it waits.
    pub fn is_online(&self) -> bool {
        self.mode == Mode::Online
    }

    /// After this a call that nobody answers is given up, s (S7).
    pub fn patience_s(&self) -> u8 {
        self.registers[7]
    }

    /// Bytes that have arrived from the other end.
    pub fn show(&mut self, bytes: &[u8]) {
        self.output.extend(bytes);
    }

    /// Bytes that were typed, at this time.
    pub fn input(&mut self, bytes: &[u8], now_ms: u64) {
        for (place, byte) in bytes.iter().enumerate() {
            match self.mode {
                Mode::Online => return self.online(&bytes[place..], now_ms),
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

    /// Time has gone on.
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
            Event::NoCarrier | Event::NoAnswer => {
                self.rings = 0;
                if self.mode != Mode::Command {
                    self.mode = Mode::Command;
                    let (code, words) = if event == Event::NoAnswer { (8, "NO ANSWER") } else { (3, "NO CARRIER") };
                    self.result(code, words);
                }
            }
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
        // What does not begin with AT is no command: noise of a line, a terminal's greeting.
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

    /// A command that is done at once. Whether there is such a one.
    fn setting(&mut self, name: &str, number: u8) -> bool {
        match (name, number) {
            ("H", 0) => self.hang_up(),
            ("E", 0 | 1) => self.echo = number == 1,
            ("V", 0 | 1) => self.words = number == 1,
            ("Q", 0 | 1) => self.quiet = number == 1,
            ("\\N", 0 | 3) => self.error_correction = number == 3,
            ("I", _) => self.say("punctual modem"),
            ("Z" | "&F", _) => {
                self.hang_up();
                let fresh = Interpreter::default();
                (self.echo, self.words, self.quiet) = (fresh.echo, fresh.words, fresh.quiet);
                (self.error_correction, self.registers) = (fresh.error_correction, fresh.registers);
            }
            _ => return false,
        }
        true
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

    /// Shows or sets a register; what stands behind that.
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn said(interpreter: &mut Interpreter, typed: &str) -> String {
        interpreter.input(typed.as_bytes(), 0);
        String::from_utf8(interpreter.output()).unwrap().replace("\r\n", "|").replace('\r', "!")
    }

    #[test]
    fn commands_and_their_results() {
        let mut at = Interpreter::default();
        let cases = [
            ("AT\r", "AT!|OK|"),
            ("ate0\r", "ate0!|OK|"),
            ("AT S7?\r", "|060||OK|"),
            ("ATS7=30S7?\r", "|030||OK|"),
            ("A/", "|030||OK|"),
            ("ATS99=1\r", "|ERROR|"),
            ("ATS0=256\r", "|ERROR|"),
            ("ATE999\r", "|ERROR|"),
            ("AT&F\r", "|OK|"),
            ("ATX!\r", "ATX!!|ERROR|"),
            ("hello\r", "hello!"),
            ("ATEV0\r", "ATEV0!0!"),
            ("ATQ1\r", ""),
            ("ATQ0\r", "0!"),
            ("ATZ\r", "|OK|"),
            ("ATD\r", "ATD!|ERROR|"),
            ("ATO\r", "ATO!|ERROR|"),
            ("AX\u{8}T\r", "AX\u{8}T!|OK|"),
        ];
        for (typed, shown) in cases {
            assert_eq!(said(&mut at, typed), shown, "{typed}");
        }
    }

    #[test]
    fn a_call_from_dialling_to_hanging_up() {
        let mut at = Interpreter::default();
        said(&mut at, "ATE0DT 555-0100\r");
        assert_eq!(at.actions(), [Action::Dial("5550100".to_owned())]);
        at.event(Event::Connected(9_600));
        at.input(b"ATH\r", 100);
        assert_eq!(at.actions(), [Action::Send(b"ATH\r".to_vec())], "online, commands are data");
        // Pluses in the middle of data escape nothing, nor do four.
        at.input(b"a+++", 2_000);
        at.tick(9_000);
        at.input(b"++++", 11_000);
        at.tick(20_000);
        assert!(at.is_online());
        for time in [30_000, 30_100, 30_200] {
            at.input(b"+", time);
        }
        at.tick(31_100);
        assert!(at.is_online(), "the guard time is not over");
        at.tick(31_200);
        assert!(!at.is_online());
        at.actions();
        assert!(said(&mut at, "ATO\r").is_empty() || at.is_online());
        at.input(b"+++", 90_000);
        at.tick(91_000);
        at.actions();
        said(&mut at, "ATH\r");
        assert_eq!(at.actions(), [Action::HangUp]);
        at.event(Event::NoCarrier);
        assert!(at.output().is_empty(), "it was hung up here");
    }

    #[test]
    fn it_answers_by_itself_after_so_many_rings() {
        let mut at = Interpreter::default();
        at.event(Event::Ring);
        assert!(at.actions().is_empty());
        at.event(Event::NoCarrier);
        said(&mut at, "ATS0=2\r");
        at.event(Event::Ring);
        assert!(at.actions().is_empty());
        at.event(Event::Ring);
        assert_eq!(at.actions(), [Action::Answer]);
        assert!(said(&mut at, "x").contains("NO CARRIER"), "a key gives the call up");
        assert_eq!(at.actions(), [Action::HangUp]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(parts in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..40), 0..9u8), 0..40)) {
            let mut at = Interpreter::default();
            for (place, (bytes, event)) in parts.into_iter().enumerate() {
                let now = place as u64 * 400;
                at.input(b"AT", now);
                at.input(&bytes, now);
                at.input(b"\r", now);
                at.tick(now);
                match event {
                    0 => at.event(Event::Ring),
                    1 => at.event(Event::Connected(4_800)),
                    2 => at.event(Event::NoCarrier),
                    3 => at.event(Event::NoAnswer),
                    _ => {}
                }
                let dialled = at.actions().into_iter().all(|action| match action {
                    Action::Dial(number) => tones::is_number(&number),
                    _ => true,
                });
                prop_assert!(dialled);
            }
        }
    }
}
