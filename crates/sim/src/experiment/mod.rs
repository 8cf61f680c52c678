//! Experiments as data: a machine, what is recorded, and what the paper says.

mod build;
mod collect;
mod measure;
mod outcome;
mod place;
mod point;
mod quantity;
mod row;
pub mod schema;
mod series;
mod service;
mod verdict;
mod views;

pub use build::{DeviceSpec, Setup};
pub use collect::{Constraints, DeviceRun, Run};
pub use outcome::{AssumptionNote, CaseSummary, FittedNote, LedgerRow, Moved, Outcome};
pub use point::Point;
pub use quantity::Measure;
pub use schema::{Class, Value};
pub use series::Series;
pub use service::{Served, Service};
/// The value of a key of an experiment.
pub use toml::Value as Setting;
pub use views::MAX_TIMELINE;

use crate::error::{Error, Result};
use crate::machine::{Engine, Mechanism};
use crate::watch::{ToTheEnd, Watch};
use measure::Subject;
use schema::File;

/// Each case is the whole file with other values: together they are no longer than this, bytes.
const MAX_CASE_BYTES: usize = 8 << 20;

/// An experiment that was read and is possible.
#[derive(Debug, Clone)]
pub struct Experiment {
    file_name: String,
    text: String,
    /// With its base and the keys of `--set`.
    whole: toml::Value,
    file: File,
    cases: Vec<(String, File)>,
    /// The only case that is run, if not all are.
    only: Option<usize>,
}

/// Reads `device.policy.reservation.runtime=3`, `machine.quantum=20ms` or `device.policy={ priority = 8 }`: a value as
/// in TOML; anything else is a word.
///
/// # Errors
/// A line that says what is wrong.
pub fn setting(text: &str) -> Result<(String, Setting)> {
    let wrong = || Error::Sweep(format!("{text:?} sets nothing: write it as KEY=VALUE"));
    let (key, value) = text.split_once('=').ok_or_else(wrong)?;
    let (key, value) = (key.trim(), value.trim());
    if key.is_empty() || value.is_empty() {
        return Err(wrong());
    }
    let read =
        toml::from_str::<toml::Table>(&format!("value = {value}")).ok().and_then(|mut table| table.remove("value"));
    Ok((key.to_owned(), read.unwrap_or_else(|| Setting::String(value.to_owned()))))
}

impl Experiment {
    /// Reads an experiment and checks that every case of it can be built.
    ///
    /// # Errors
    /// One line with file, line and what is wrong: unknown keys, impossible values, names that do not exist.
    pub fn parse(file_name: &str, text: &str) -> Result<Experiment> {
        let at = |line: usize, what: String| Error::Text { file: file_name.to_owned(), line, what };
        let read_error = |error: toml::de::Error| {
            let line = error.span().map_or(1, |span| place::line_at(text, span.start));
            at(line, error.message().lines().collect::<Vec<_>>().join(" "))
        };
        let written: toml::Value = toml::from_str::<toml::Table>(text).map(toml::Value::Table).map_err(read_error)?;
        let base = written.get("base").and_then(toml::Value::as_str);
        let whole = match base {
            None => written.clone(),
            Some(name) => {
                let known = crate::shipped::MACHINES.iter().find(|(known, _)| *known == name);
                let (_, below) = known.ok_or_else(|| {
                    let names: Vec<&str> = crate::shipped::MACHINES.iter().map(|(known, _)| *known).collect();
                    let what = format!("there is no machine {name:?}: {} come with the program", names.join(", "));
                    at(place::line_of(text, &["base"]), what)
                })?;
                let below: toml::Table = toml::from_str(below).map_err(|error| at(1, error.message().to_owned()))?;
                place::over(toml::Value::Table(below), &written)
            }
        };
        // Without a base the text itself is read, so that errors have their line.
        let file: File = match base {
            None => toml::from_str(text).map_err(read_error)?,
            Some(_) => whole.clone().try_into().map_err(|error: toml::de::Error| at(1, error.message().to_owned()))?,
        };
        if file.schema != "punctual.experiment/1" {
            return Err(at(
                place::line_of(text, &["schema"]),
                "the schema is not \"punctual.experiment/1\"".to_owned(),
            ));
        }
        Experiment::of(file_name, text, file, whole)
    }

    /// Of a whole document.
    fn of(file_name: &str, text: &str, file: File, whole: toml::Value) -> Result<Experiment> {
        let at = |line: usize, what: String| Error::Text { file: file_name.to_owned(), line, what };
        let mut cases = Vec::new();
        if file.case.len().saturating_mul(text.len()) > MAX_CASE_BYTES {
            let cases = punctual_recording::counted(file.case.len(), "case");
            let what = format!("{cases} are too many in a file of this length: each is all of it");
            return Err(at(place::line_of(text, &["case"]), what));
        }
        for (index, case) in file.case.iter().enumerate() {
            let wrong = |what: String| {
                let line = place::line_of(text, &["case", &index.to_string()]);
                at(line, format!("case {:?}: {what}", case.name))
            };
            let mut document = whole.clone();
            for (path, value) in &case.set {
                place::set(&mut document, path, value).map_err(wrong)?;
            }
            let made: File = document.try_into().map_err(|error: toml::de::Error| wrong(error.message().to_owned()))?;
            cases.push((case.name.clone(), made));
        }
        if cases.is_empty() && file.duration.is_some() {
            cases.push((String::new(), file.clone()));
        }
        let experiment =
            Experiment { file_name: file_name.to_owned(), text: text.to_owned(), whole, file, cases, only: None };
        experiment.check()?;
        Ok(experiment)
    }

    fn at(&self, path: &[&str], what: impl Into<String>) -> Error {
        Error::Text { file: self.file_name.clone(), line: place::line_of(&self.text, path), what: what.into() }
    }

    fn setup(&self, case: usize, run: u64) -> Result<Setup> {
        let (name, file) = &self.cases[case];
        build::build(file, run).map_err(|(path, what)| {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            let of_case = if name.is_empty() { String::new() } else { format!("case {name:?}: ") };
            self.at(&path, format!("{of_case}{what}"))
        })
    }

    fn check(&self) -> Result<()> {
        let mut setups = Vec::new();
        for (index, (name, _)) in self.cases.iter().enumerate() {
            let setup = self.setup(index, 0)?;
            Engine::new(setup.spec.clone()).map_err(|error| {
                let index = index.to_string();
                self.at(
                    &["case", &index],
                    format!("{}{error}", if name.is_empty() { String::new() } else { format!("case {name:?}: ") }),
                )
            })?;
            setups.push(setup);
        }
        for (index, row) in self.file.row.iter().enumerate() {
            let at = index.to_string();
            let wrong = |key: &str, what: String| self.at(&["row", &at, key], what);
            if let Some(assumption) = &row.assumption
                && !self.file.assumption.iter().any(|known| known.name == *assumption)
            {
                return Err(wrong("assumption", format!("there is no assumption {assumption:?}")));
            }
            verdict::check(row, &self.file).map_err(|(key, what)| wrong(key, what))?;
            if let Some(measure) = &row.measure {
                let case = self.case_of(row.case.as_deref()).map_err(|what| wrong("case", what))?;
                let subject = subject(&setups[case], row).map_err(|what| wrong("device", what))?;
                measure.check(&subject).map_err(|what| wrong("measure", what))?;
            }
        }
        Ok(())
    }

    fn case_of(&self, name: Option<&str>) -> std::result::Result<usize, String> {
        match name {
            None if self.cases.is_empty() => Err("there is nothing to run".to_owned()),
            None => Ok(0),
            Some(name) => {
                let found = self.cases.iter().position(|case| case.0 == name);
                let names = || self.cases.iter().map(|case| format!("{:?}", case.0)).collect::<Vec<_>>().join(", ");
                found.ok_or_else(|| match self.cases.len() {
                    0 | 1 => format!("there is no case {name:?}, and no other"),
                    _ => format!("there is no case {name:?}: give one of {}", names()),
                })
            }
        }
    }

    /// The same with one case alone: rows of the others stay open.
    ///
    /// # Errors
    /// A line that names the cases there are.
    pub fn only(&self, case: &str) -> Result<Experiment> {
        let index = self.case_of(Some(case)).map_err(Error::Sweep)?;
        Ok(Experiment { only: Some(index), ..self.clone() })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.file.name
    }

    /// What it simulates, in whole sentences.
    pub fn about(&self) -> &str {
        &self.file.about
    }

    /// The paper that it is compared with.
    pub fn paper(&self) -> Option<&str> {
        self.file.paper.as_deref()
    }

    /// The rows that are predictions.
    pub fn predictions(&self) -> std::collections::BTreeSet<String> {
        let predicted = self.file.row.iter().filter(|row| row.class == Class::Prediction);
        predicted.map(|row| row.id.clone()).collect()
    }

    /// The names of its cases.
    pub fn cases(&self) -> impl Iterator<Item = &str> {
        self.cases.iter().map(|case| case.0.as_str())
    }

    /// Runs everything and compares it with the paper.
    ///
    /// # Errors
    /// A machine that is impossible.
    pub fn run(&self) -> Result<Outcome> {
        self.run_watched(&ToTheEnd)
    }

    /// The same, but the watcher may end it: rows of cases that did not run to their end stay open. Each case is a
    /// part.
    ///
    /// # Errors
    /// A machine that is impossible.
    pub fn run_watched(&self, watch: &dyn Watch) -> Result<Outcome> {
        self.run_broken(None, |_| true, watch)
    }

    /// The same with a mechanism broken, and only the cases of the rows that are wanted: the others stay open.
    ///
    /// # Errors
    /// A machine that is impossible.
    pub fn run_broken(
        &self,
        mechanism: Option<Mechanism>,
        wanted: impl Fn(&str) -> bool,
        watch: &dyn Watch,
    ) -> Result<Outcome> {
        let mut interrupted = false;
        let mut rows: Vec<Option<LedgerRow>> = vec![None; self.file.row.len()];
        let mut cases = Vec::new();
        for (index, (name, file)) in self.cases.iter().enumerate() {
            let own = |row: &schema::Row| row.measure.is_some() && self.case_of(row.case.as_deref()) == Ok(index);
            if self.only.is_some_and(|only| only != index) {
                continue;
            }
            if !wanted("") && !self.file.row.iter().any(|row| own(row) && wanted(&row.id)) {
                continue;
            }
            let Some((setup, runs)) = self.runs_of(index, mechanism, watch)? else {
                interrupted = true;
                break;
            };
            cases.push(CaseSummary {
                name: name.clone(),
                runs: file.runs,
                simulated: runs.iter().map(|run| run.length).sum(),
                events: runs.iter().map(|run| run.events).sum(),
                without_room: runs.iter().map(|run| run.without_room).sum(),
                constraints: constraints(&setup, &runs),
                migrations: migrations(&setup, &runs),
            });
            for (at, row) in self.file.row.iter().enumerate() {
                let Some(measure) = &row.measure else { continue };
                if self.case_of(row.case.as_deref()) == Ok(index) {
                    let simulated = subject(&setup, row)
                        .and_then(|subject| measure.read(&subject, &runs))
                        .map_err(|what| self.at(&["row", &at.to_string()], what))?;
                    rows[at] = Some(self.ledger_row(row, true, simulated));
                }
            }
            watch.part_done();
        }
        let rows = rows.into_iter().zip(&self.file.row);
        Ok(Outcome {
            name: self.file.name.clone(),
            about: self.file.about.clone(),
            paper: self.file.paper.clone(),
            rows: rows.map(|(done, row)| done.unwrap_or_else(|| self.ledger_row(row, false, None))).collect(),
            cases,
            interrupted,
            assumptions: self
                .file
                .assumption
                .iter()
                .map(|known| AssumptionNote { name: known.name.clone(), what: known.what.clone() })
                .collect(),
            fitted: self.fitted_notes(),
        })
    }

    /// All runs of a case, with a mechanism broken or with none; `None` if the watcher wanted no more before their end.
    fn runs_of(
        &self,
        case: usize,
        mechanism: Option<Mechanism>,
        watch: &dyn Watch,
    ) -> Result<Option<(Setup, Vec<Run>)>> {
        let mut runs = Vec::new();
        let mut setup = self.setup(case, 0)?;
        for run in 0..self.cases[case].1.runs {
            setup = self.setup(case, run)?;
            if let Some(mechanism) = mechanism {
                mechanism.break_in(&mut setup.spec);
                for device in &mut setup.devices {
                    if let crate::machine::Arrival::Phases(phases) = &setup.spec.sources[device.source].arrival {
                        device.tolerance.ring = phases.ring;
                    }
                }
            }
            match collect::run(&setup, watch)? {
                Some(run) => runs.push(run),
                None => return Ok(None),
            }
        }
        Ok(Some((setup, runs)))
    }

    fn fitted_notes(&self) -> Vec<FittedNote> {
        let own = |fitted: &&schema::Fitted| self.file.row.iter().any(|row| fitted.on.contains(&row.id));
        let notes = self.file.fitted.iter().filter(own).map(|fitted| FittedNote {
            experiment: self.file.name.clone(),
            name: fitted.name.clone(),
            what: fitted.what.clone(),
            key: fitted.key.clone(),
            on: fitted.on.clone(),
        });
        notes.collect()
    }

    /// How the rows of each fitted value move over its range, for as many as the watcher waits for.
    ///
    /// # Errors
    /// A key that does not exist.
    pub fn ranges(&self, watch: &dyn Watch) -> Result<Vec<(FittedNote, Vec<Moved>)>> {
        let mut found = Vec::new();
        for note in self.fitted_notes() {
            let mut moved = Vec::new();
            let Some(fitted) = self.file.fitted.iter().find(|fitted| fitted.name == note.name) else { continue };
            for value in &fitted.range {
                let other = self.with(&[(fitted.key.clone(), value.clone())])?;
                let outcome = other.run_broken(None, |id| fitted.on.iter().any(|row| row == id), watch)?;
                if outcome.interrupted {
                    return Ok(found);
                }
                let rows = outcome.rows.into_iter().filter(|row| fitted.on.contains(&row.id));
                moved.push(Moved {
                    value: place::written(value),
                    rows: rows.map(|row| (row.id, row.simulated)).collect(),
                });
            }
            found.push((note, moved));
        }
        Ok(found)
    }

    /// The same experiment with keys changed (`device.policy.reservation.runtime`), in every case: this overrides what
    /// a case sets itself.
    ///
    /// # Errors
    /// A key that does not exist, a machine that is impossible.
    pub fn with(&self, set: &[(String, toml::Value)]) -> Result<Experiment> {
        let mut whole = self.whole.clone();
        for (path, value) in set {
            place::set(&mut whole, path, value).map_err(|what| self.at(&[], what))?;
            let Some(toml::Value::Array(cases)) = whole.get_mut("case") else { continue };
            for case in cases {
                if let Some(toml::Value::Table(own)) = case.get_mut("set") {
                    // This also overrides whatever the case sets below it.
                    own.retain(|key, _| key != path && !key.starts_with(&format!("{path}.")));
                    own.insert(path.clone(), value.clone());
                }
            }
        }
        let file: File =
            whole.clone().try_into().map_err(|error: toml::de::Error| self.at(&[], error.message().to_owned()))?;
        Experiment::of(&self.file_name, &self.text, file, whole)
    }

    /// A row as it came out; `ran` says whether its case did.
    fn ledger_row(&self, row: &schema::Row, ran: bool, simulated: Option<Value>) -> LedgerRow {
        let judged = ran && row.measure.is_some() && matches!(row.class, Class::Prediction | Class::Fitted);
        let of_paper = self.file.paper.is_some();
        LedgerRow {
            id: row.id.clone(),
            experiment: self.file.name.clone(),
            paper: self.file.paper.clone().unwrap_or_default(),
            printed: row.printed.clone(),
            item: row.item.clone(),
            published: row.published.clone(),
            unit: row.unit.clone(),
            class: row.class,
            tolerance: verdict::tolerance(row),
            resolution: row.resolution.clone(),
            assumption: row.assumption.clone(),
            because: row.because.clone(),
            holds: judged.then(|| verdict::holds(row, simulated.as_ref())),
            contradicted: of_paper.then(|| crate::shipped::contradicted(&row.id)).flatten(),
            simulated,
        }
    }
}

fn subject<'a>(setup: &'a Setup, row: &schema::Row) -> std::result::Result<Subject<'a>, String> {
    let device = match &row.device {
        None => 0,
        Some(name) => setup
            .devices
            .iter()
            .position(|device| device.name == *name)
            .ok_or_else(|| format!("there is no device {name:?}"))?,
    };
    Ok(Subject {
        spec: &setup.spec,
        devices: &setup.devices,
        device,
        duration: setup.duration,
        has_link: setup.link.is_some(),
    })
}

/// How often each thread that migrates moved to another CPU, over all runs.
fn migrations(setup: &Setup, runs: &[Run]) -> Vec<(String, u64)> {
    let migrating = setup.spec.threads.iter().enumerate().filter(|(_, thread)| thread.migrates);
    let counted =
        migrating.map(|(index, thread)| (thread.name.clone(), runs.iter().map(|run| run.migrations[index]).sum()));
    counted.collect()
}

/// The outcome of the time constraints over all runs, for each thread that asks for them.
fn constraints(setup: &Setup, runs: &[Run]) -> Vec<(String, Constraints)> {
    let asking = setup.spec.threads.iter().enumerate().filter(|(_, thread)| thread.constraint.is_some());
    let summed = asking.map(|(index, thread)| {
        let sum = runs.iter().map(|run| run.constraints[index]).fold(Constraints::default(), |sum, seen| Constraints {
            granted: sum.granted + seen.granted,
            refused: sum.refused + seen.refused,
            met: sum.met + seen.met,
            missed: sum.missed + seen.missed,
        });
        (thread.name.clone(), sum)
    });
    summed.collect()
}

#[cfg(test)]
mod tests;
