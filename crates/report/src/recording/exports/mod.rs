//! Reports in the formats of other programs. Each has a line here, from which the command line makes an option.

mod csv;
mod hist;

use crate::Measurement;

/// A form in which a report can be printed.
#[derive(Debug)]
pub struct Export {
    /// The option that chooses it, without its dashes.
    pub name: &'static str,
    /// The option's help.
    pub help: &'static str,
    /// The report in this form.
    pub text: fn(&Measurement) -> String,
}

/// All of them.
pub static EXPORTS: [Export; 2] = [
    Export { name: "csv", help: "Print the stage table as CSV, in nanoseconds", text: csv::csv },
    Export {
        name: "hist",
        help: "Print a histogram of the totals as cyclictest's -h does: a row per microsecond, a column per thread",
        text: hist::hist,
    },
];
