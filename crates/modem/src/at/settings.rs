//! What commands set, and what `AT&W` keeps.

use super::{BACKSPACE, CARRIAGE_RETURN, Closed, LINE_FEED, REGISTERS};

/// How a modem is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) echo: bool,
    pub(super) words: bool,
    pub(super) quiet: bool,
    /// Which results there are: `ATX`.
    pub(super) results: u8,
    pub(super) error_correction: bool,
    /// XON and XOFF from the terminal stop and resume output, and are not sent.
    pub(super) by_characters: bool,
    pub(super) closed: Closed,
    pub(super) registers: [u8; REGISTERS],
}

impl Default for Settings {
    fn default() -> Settings {
        let mut registers = [0; REGISTERS];
        (registers[2], registers[3], registers[4], registers[5]) = (b'+', CARRIAGE_RETURN, LINE_FEED, BACKSPACE);
        (registers[7], registers[12]) = (60, 50);
        Settings {
            echo: true,
            words: true,
            quiet: false,
            results: 4,
            error_correction: true,
            by_characters: false,
            closed: Closed::HangUp,
            registers,
        }
    }
}

impl Settings {
    /// As `AT&V` shows them: the commands that would set them, and the registers in a line of their own.
    pub(super) fn in_words(&self) -> String {
        let [echo, quiet, words] = [self.echo, self.quiet, self.words].map(u8::from);
        let closed = match self.closed {
            Closed::Nothing => 0,
            Closed::Commands => 1,
            Closed::HangUp => 2,
            Closed::Reset => 3,
        };
        let flow = if self.by_characters { 4 } else { 3 };
        let correction = if self.error_correction { 3 } else { 0 };
        let registers = self.registers.iter().enumerate();
        let registers: Vec<String> = registers.map(|(place, value)| format!("S{place:02}:{value:03}")).collect();
        format!(
            "E{echo} Q{quiet} V{words} X{} &D{closed} &K{flow} \\N{correction}\r\n{}",
            self.results,
            registers.join(" ")
        )
    }
}
