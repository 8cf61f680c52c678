//! The ledger: every table and figure of the four Windows papers, beside what the machine gives.

use crate::error::{Error, Result};
use crate::experiment::{AssumptionNote, Class, Experiment, FittedNote, LedgerRow, Moved};
use crate::machine::Mechanism;
use crate::shipped::BUILTIN;
use crate::watch::Watch;
use std::collections::{BTreeMap, BTreeSet};

/// All rows of all built-in experiments that are compared with a paper.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    /// In the order of the papers.
    pub rows: Vec<LedgerRow>,
    /// Every assumption.
    pub assumptions: Vec<AssumptionNote>,
    /// Rows by class.
    pub counts: BTreeMap<Class, usize>,
    /// Whether it was ended before every experiment had run.
    pub interrupted: bool,
}

impl Ledger {
    fn count(&self, of: impl Fn(&LedgerRow) -> bool) -> usize {
        self.rows.iter().filter(|row| of(row)).count()
    }

    /// Predictions.
    pub fn predictions(&self) -> usize {
        self.count(|row| row.class == Class::Prediction)
    }

    /// Predictions that were not judged, because nobody waited for them.
    pub fn open(&self) -> usize {
        self.count(|row| row.class == Class::Prediction && row.is_open())
    }

    /// Predictions that hold.
    pub fn holding(&self) -> usize {
        self.count(|row| row.class == Class::Prediction && row.holds == Some(true))
    }

    /// Predictions that do not hold, for a listed reason.
    pub fn contradicted(&self) -> usize {
        self.count(|row| row.class == Class::Prediction && row.holds == Some(false) && row.contradicted.is_some())
    }

    /// Predictions that do not hold, and nobody knows why: a fault.
    pub fn failing(&self) -> usize {
        self.count(LedgerRow::fails)
    }
}

/// A built-in experiment by its file name, with or without `.toml`.
pub fn builtin(name: &str) -> Option<Result<Experiment>> {
    let known = BUILTIN.iter().find(|(file, _)| *file == name || file.strip_suffix(".toml") == Some(name))?;
    Some(Experiment::parse(known.0, known.1))
}

/// How many parts [`papers`], [`ranges`] and [`mutations`] have, for a watcher who shows their progress: cases that
/// run.
///
/// # Errors
/// A built-in experiment that does not parse: a fault of the program.
pub fn parts() -> Result<u64> {
    let cases = BUILTIN.iter().map(|(file, text)| Ok(Experiment::parse(file, text)?.cases().count() as u64));
    cases.sum()
}

/// Runs every built-in experiment. On `threads` threads; the result does not depend on how many. The rows of what the
/// watcher does not wait for stay open.
///
/// # Errors
/// A built-in experiment that does not parse: a fault of the program.
pub fn papers(threads: usize, watch: &dyn Watch) -> Result<Ledger> {
    let outcomes = crate::parallel::map(BUILTIN.len(), threads, |index| {
        let (file, text) = BUILTIN[index];
        Experiment::parse(file, text)?.run_watched(watch)
    });
    let mut ledger = Ledger::default();
    let mut seen = BTreeSet::new();
    for outcome in outcomes {
        let outcome = outcome?;
        ledger.interrupted |= outcome.interrupted;
        if outcome.paper.is_none() {
            continue;
        }
        for known in outcome.assumptions {
            if !ledger.assumptions.contains(&known) {
                ledger.assumptions.push(known);
            }
        }
        for row in outcome.rows {
            if !seen.insert(row.id.clone()) {
                return Err(Error::Machine(format!("the row {:?} exists twice", row.id)));
            }
            *ledger.counts.entry(row.class).or_default() += 1;
            ledger.rows.push(row);
        }
    }
    Ok(ledger)
}

/// How the rows of every fitted value move over its range, for those that the watcher waits for.
///
/// # Errors
/// A built-in experiment that does not run: a fault of the program.
pub fn ranges(threads: usize, watch: &dyn Watch) -> Result<Vec<(FittedNote, Vec<Moved>)>> {
    let found = crate::parallel::map(BUILTIN.len(), threads, |index| {
        let (file, text) = BUILTIN[index];
        Experiment::parse(file, text)?.ranges(watch)
    });
    Ok(found.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// The predictions that a broken mechanism turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turned {
    /// The mechanism.
    pub mechanism: Mechanism,
    /// Predictions that held and no longer do.
    pub rows: Vec<String>,
}

/// Breaks each mechanism in turn and says which predictions depend on it. `only` names the experiments to run; empty
/// for all. Mechanisms that the watcher does not wait for are left out.
///
/// # Errors
/// A built-in experiment that does not run: a fault of the program.
pub fn mutations(threads: usize, mechanisms: &[Mechanism], only: &[&str], watch: &dyn Watch) -> Result<Vec<Turned>> {
    let files: Vec<_> = BUILTIN
        .iter()
        .filter(|(file, _)| only.is_empty() || only.iter().any(|name| file.strip_suffix(".toml") == Some(name)))
        .collect();
    let experiments = files.iter().map(|(file, text)| Experiment::parse(file, text)).collect::<Result<Vec<_>>>()?;
    let held_by = |experiment: &Experiment, state: Option<Mechanism>, wanted: &BTreeSet<String>| {
        if wanted.is_empty() {
            return Ok(Some(BTreeSet::new()));
        }
        // A prediction that a broken mechanism makes impossible does not hold either.
        let rows = match (experiment.run_broken(state, |id| wanted.contains(id), watch), state) {
            (Ok(outcome), _) if outcome.interrupted => return Ok(None),
            (Ok(outcome), _) => outcome.rows,
            (Err(_), Some(_)) => Vec::new(),
            (Err(error), None) => return Err(error),
        };
        let held = rows.into_iter().filter(|row| wanted.contains(&row.id) && row.holds == Some(true));
        Ok(Some(held.map(|row| row.id).collect::<BTreeSet<String>>()))
    };
    let whole = crate::parallel::map(experiments.len(), threads, |at| {
        let predicted = if experiments[at].paper().is_some() { experiments[at].predictions() } else { BTreeSet::new() };
        held_by(&experiments[at], None, &predicted)
    });
    let whole = whole.into_iter().collect::<Result<Option<Vec<_>>>>()?;
    let Some(whole) = whole else { return Ok(Vec::new()) };
    let broken = crate::parallel::map(experiments.len() * mechanisms.len(), threads, |task| {
        let (at, mechanism) = (task % experiments.len(), mechanisms[task / experiments.len()]);
        held_by(&experiments[at], Some(mechanism), &whole[at])
    });
    let broken = broken.into_iter().collect::<Result<Vec<_>>>()?;
    let whole: BTreeSet<&String> = whole.iter().flatten().collect();
    let turned = mechanisms.iter().zip(broken.chunks(experiments.len().max(1))).filter_map(|(mechanism, still)| {
        let still: BTreeSet<&String> =
            still.iter().map(Option::as_ref).collect::<Option<Vec<_>>>()?.into_iter().flatten().collect();
        Some(Turned { mechanism: *mechanism, rows: whole.difference(&still).map(|row| (*row).clone()).collect() })
    });
    Ok(turned.collect())
}
