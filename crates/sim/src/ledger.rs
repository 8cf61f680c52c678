//! The ledger: every table and figure of the three Windows papers, beside what the machine gives.

use crate::error::{Error, Result};
use crate::experiment::{AssumptionNote, Class, Experiment, LedgerRow};
use std::collections::{BTreeMap, BTreeSet};

/// The experiments that come with the program: file name and text.
pub const BUILTIN: &[(&str, &str)] = &[
    ("nt-timers-table2.toml", include_str!("../../../experiments/nt-timers-table2.toml")),
    ("nt-timers-table3.toml", include_str!("../../../experiments/nt-timers-table3.toml")),
    ("soft-modem-dialup.toml", include_str!("../../../experiments/soft-modem-dialup.toml")),
    ("soft-modem-callbacks.toml", include_str!("../../../experiments/soft-modem-callbacks.toml")),
    ("soft-modem-rialto.toml", include_str!("../../../experiments/soft-modem-rialto.toml")),
    ("soft-modem-table1.toml", include_str!("../../../experiments/soft-modem-table1.toml")),
    ("soft-modem-table2.toml", include_str!("../../../experiments/soft-modem-table2.toml")),
    ("soft-modem-table3.toml", include_str!("../../../experiments/soft-modem-table3.toml")),
    ("wdm-latency.toml", include_str!("../../../experiments/wdm-latency.toml")),
    ("wdm-rates.toml", include_str!("../../../experiments/wdm-rates.toml")),
];

/// All rows of all built-in experiments.
#[derive(Debug, Clone, PartialEq)]
pub struct Ledger {
    /// In the order of the papers.
    pub rows: Vec<LedgerRow>,
    /// Every assumption, with what it was fitted on.
    pub assumptions: Vec<AssumptionNote>,
    /// Rows by class.
    pub counts: BTreeMap<Class, usize>,
    /// Judged rows that hold, and those that do not.
    pub holding: usize,
    /// Judged rows that do not hold.
    pub failing: usize,
}

/// A built-in experiment by its file name, with or without `.toml`.
pub fn builtin(name: &str) -> Option<Result<Experiment>> {
    let known = BUILTIN.iter().find(|(file, _)| *file == name || file.strip_suffix(".toml") == Some(name))?;
    Some(Experiment::parse(known.0, known.1))
}

/// Runs every built-in experiment. On `threads` threads; the result does not depend on how many.
///
/// # Errors
/// A built-in experiment that does not parse: a fault of the program.
pub fn papers(threads: usize) -> Result<Ledger> {
    let outcomes = crate::parallel::map(BUILTIN.len(), threads, |index| {
        let (file, text) = BUILTIN[index];
        Experiment::parse(file, text)?.run()
    });
    let mut ledger =
        Ledger { rows: Vec::new(), assumptions: Vec::new(), counts: BTreeMap::new(), holding: 0, failing: 0 };
    let mut seen = BTreeSet::new();
    for outcome in outcomes {
        let outcome = outcome?;
        ledger.assumptions.extend(outcome.assumptions);
        for row in outcome.rows {
            if !seen.insert(row.id.clone()) {
                return Err(Error::Machine(format!("the row {:?} is there twice", row.id)));
            }
            *ledger.counts.entry(row.class).or_default() += 1;
            ledger.holding += usize::from(row.holds == Some(true));
            ledger.failing += usize::from(row.holds == Some(false));
            ledger.rows.push(row);
        }
    }
    Ok(ledger)
}
