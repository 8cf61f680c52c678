//! `punctual modem study`: the paper's tables of transfers, each row beside what it prints.

mod answer;
mod page;
mod text;

pub use answer::StudyAnswer;
pub use page::page;
pub use text::text;

use crate::next::NextStep;
use punctual_modem::tables::{Class, Row, Tables};
use punctual_modem::transfer::Ending;
use std::fmt::Write as _;

/// What must be known to read the tables.
pub const ASSUMED: [&str; 5] = [
    "The modem is not the paper's: seconds are compared as multiples of a transfer that nothing delays.",
    "The times at which its blocks are processed come from the simulated machine of `punctual sim run soft-modem-table1`, 2 and 3, with \
     blocks of 90 samples at 7,200 a second. Nothing of this machine is measured.",
    "Three buffers, and of waiting blocks only the newest is processed: this was chosen because it reproduces most of Table 3.",
    "Table 1's pool retrains as often as it is asked to; the dedicated server of Tables 2 and 3 hangs up at the fourth \
     retrain within a minute. The paper does not say so.",
    "The times in the paper's Table 1 include a network, and there is none here.",
];

/// The tables, and how they came about.
#[derive(Debug)]
pub struct Studied<'a> {
    /// The tables.
    pub tables: &'a Tables,
    /// Attempts are missing, because somebody stopped it.
    pub interrupted: bool,
    /// Attempts that were taken from the directory.
    pub kept: usize,
    /// Where attempts are stored, as the reader wrote it.
    pub directory: Option<&'a str>,
    /// The options of the study, as a shell takes them, without the directory.
    pub options: &'a str,
}

impl Studied<'_> {
    /// The rows that came out differently from the paper.
    fn differing(&self) -> Vec<&Row> {
        let clean = self.tables.clean_s().unwrap_or(0.0);
        let whole = self.tables.rows.iter().filter(|row| self.tables.is_whole(row));
        whole.filter(|row| row.class(clean) != Some(row.published.class())).collect()
    }

    /// What to run next.
    pub fn next(&self) -> Vec<NextStep> {
        let mut steps = Vec::new();
        let command = |options: &str| format!("punctual modem study {options}").trim_end().to_owned();
        if self.interrupted {
            match self.directory {
                Some(directory) => {
                    let options = format!("{} -o {}", self.options, crate::layout::shell_word(directory));
                    steps.push(NextStep::new("continues with what is missing", command(options.trim_start())));
                }
                None => {
                    let options = format!("{} -o DIRECTORY", self.options);
                    let purpose = "stores each attempt in DIRECTORY, to continue after an interruption";
                    steps.push(NextStep::new(purpose, command(options.trim_start())));
                }
            }
        }
        if let Some(row) = self.differing().first() {
            let purpose = "shows what the simulator makes of the same table, with the paper's blocks";
            steps.push(NextStep::new(purpose, format!("punctual sim run soft-modem-table{}", row.table)));
        } else if !self.interrupted {
            let purpose = "measures the same contexts on this machine";
            steps.push(NextStep::new(purpose, "sudo punctual device study v90".to_owned()));
        }
        steps
    }

    /// 0 if every attempt is over, otherwise 1.
    pub fn exit_code(&self) -> u8 {
        u8::from(self.interrupted)
    }
}

/// The rows of each table that has some.
fn by_table(tables: &Tables) -> Vec<(u8, Vec<&Row>)> {
    let of = |table: u8| tables.rows.iter().filter(|row| row.table == table).collect::<Vec<_>>();
    (1..=3).map(|table| (table, of(table))).filter(|(_, rows)| !rows.is_empty()).collect()
}

fn heading(table: u8) -> &'static str {
    match table {
        1 => "Table 1: through the server pool",
        2 => "Table 2: from the dedicated server",
        _ => "Table 3: dedicated server, reservations that get nothing outside their time",
    }
}

/// How the attempts that did not succeed ended: `2 hung up, 1 no link`.
fn endings(row: &Row) -> String {
    let mut text = String::new();
    for ending in Ending::ALL.into_iter().skip(1) {
        let count = row.transfer.sum(|attempt| u64::from(attempt.ending == ending));
        if count > 0 {
            let comma = if text.is_empty() { "" } else { ", " };
            let _ = write!(text, "{comma}{count} {}", ending.name().replace('_', " "));
        }
    }
    let damaged = row.transfer.sum(|attempt| u64::from(attempt.ending == Ending::Arrived && !attempt.succeeded()));
    if damaged > 0 {
        let _ = write!(text, "{}{damaged} damaged", if text.is_empty() { "" } else { ", " });
    }
    text
}

fn class_name(class: Option<Class>) -> &'static str {
    class.map_or("-", Class::name)
}

#[cfg(test)]
pub(crate) mod tests;
