//! `punctual modem`: files over a telephone line, what stalls do to a call, and the paper's tables.

mod answer;
mod line;
pub mod study;
mod text;

pub use answer::{StallsAnswer, TransferAnswer};
pub use line::{LineAnswer, Lined, line_text};
pub use text::{stalls_text, transfer_text};

use punctual_modem::adapter::Late;
use punctual_modem::experiment::{Experiment, StallRow};
use punctual_modem::transfer::{LiveAttempt, Transfer};
use punctual_modem::virtual_time::{Direction, FarEnd};
use punctual_recording::counted;

/// A file that was sent, and how.
#[derive(Debug)]
pub struct Sent<'a> {
    /// Its name.
    pub file: &'a str,
    /// How it was to be sent.
    pub experiment: &'a Experiment,
    /// What became of it.
    pub transfer: &'a Transfer,
    /// Fewer attempts than asked for were made, because somebody stopped it.
    pub interrupted: bool,
    /// If it was in real time: in which context, and what was counted on the machine.
    pub live: Option<LiveSent<'a>>,
}

/// A file that was received by a thread of this machine.
#[derive(Debug)]
pub struct LiveSent<'a> {
    /// The thread's context, as people write it.
    pub context: String,
    /// The CPU that it was on, or began on.
    pub cpu: u32,
    /// What it competed with.
    pub competitors: Vec<String>,
    /// For each attempt.
    pub attempts: &'a [LiveAttempt],
}

impl Sent<'_> {
    /// The outcome, in a sentence.
    pub fn verdict(&self) -> String {
        let (successes, attempts) = (self.transfer.successes(), self.transfer.attempts.len());
        let cut = if self.interrupted { "; interrupted" } else { "" };
        match self.transfer.seconds() {
            Some(seconds) => {
                format!(
                    "{successes} of {} arrived exact, in {:.3} s on average{cut}.",
                    counted(attempts, "attempt"),
                    seconds.mean
                )
            }
            None if attempts == 0 => format!("No attempt was finished{cut}."),
            None => format!("None of {} arrived{cut}.", counted(attempts, "attempt")),
        }
    }

    /// 0 if every attempt that was asked for arrived, otherwise 1.
    pub fn exit_code(&self) -> u8 {
        u8::from(self.interrupted || self.transfer.successes() < self.transfer.attempts.len())
    }
}

/// The table of stalls, and its setting.
#[derive(Debug)]
pub struct Stalled<'a> {
    /// How the calls were made.
    pub experiment: &'a Experiment,
    /// The rows, by direction and length.
    pub rows: &'a [StallRow],
    /// Rows are missing, because somebody stopped it.
    pub interrupted: bool,
}

impl Stalled<'_> {
    /// The outcome, in a sentence.
    pub fn verdict(&self) -> String {
        let longest = |of: fn(&StallRow) -> bool| self.rows.iter().filter(|row| of(row)).map(|row| row.length_ns).max();
        let shortest =
            |of: fn(&StallRow) -> bool| self.rows.iter().filter(|row| of(row)).map(|row| row.length_ns).min();
        let ms = |ns: Option<u64>| ns.map_or_else(|| "none".to_owned(), punctual_recording::format_ns);
        let cut = if self.interrupted { "; interrupted" } else { "" };
        format!(
            "Slack {}. Longest stall that harmed no call: {}; shortest after which one trained again: {}{cut}.",
            punctual_recording::format_ns(self.experiment.setup.slack_ns()),
            ms(longest(|row| row.unharmed == row.calls)),
            ms(shortest(|row| row.retrained > 0)),
        )
    }
}

fn direction_name(direction: Direction) -> &'static str {
    match direction {
        Direction::Download => "download",
        Direction::Upload => "upload",
    }
}

fn far_end_name(far_end: FarEnd) -> &'static str {
    match far_end {
        FarEnd::Pool => "pool",
        FarEnd::Dedicated => "dedicated",
    }
}

fn late_name(late: Late) -> &'static str {
    match late {
        Late::WorkOff => "work_off",
        Late::DropStale => "drop_stale",
    }
}
