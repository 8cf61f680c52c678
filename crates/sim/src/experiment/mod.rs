//! Experiments as data: a machine, what is recorded, and what the paper says.

mod build;
mod collect;
mod measure;
mod place;
mod quantity;
pub mod schema;
mod series;

pub use build::{DeviceSpec, Setup};
pub use collect::Run;
pub use quantity::Measure;
pub use schema::{Class, Value};
pub use series::Series;

use crate::recorded::Timeline;

use crate::error::{Error, Result};
use crate::machine::Engine;
use crate::time::{Picoseconds, SECOND};
use measure::Subject;
use punctual_recording::Wakeup;
use schema::File;

/// An experiment that was read and found possible.
#[derive(Debug, Clone)]
pub struct Experiment {
    file_name: String,
    text: String,
    file: File,
    cases: Vec<(String, File)>,
}

/// One point of a paper beside what came out of the machine.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerRow {
    /// Unique name.
    pub id: String,
    /// The paper.
    pub paper: String,
    /// Where in it, and what.
    pub item: String,
    /// What it prints.
    pub published: Option<Value>,
    /// What came out; `None` where nothing was run.
    pub simulated: Option<Value>,
    /// The unit of both; empty for counts and words.
    pub unit: String,
    /// How it is held.
    pub class: Class,
    /// What may differ, in words.
    pub tolerance: String,
    /// The assumption it rests on.
    pub assumption: Option<String>,
    /// Whether the assumption was fitted on this very row.
    pub fitted: bool,
    /// Why it is an input or not simulated.
    pub because: Option<String>,
    /// Whether it holds; `None` where nothing was run.
    pub holds: Option<bool>,
}

/// A named assumption of an experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssumptionNote {
    /// Its name.
    pub name: String,
    /// What is assumed.
    pub what: String,
    /// The rows it was fitted on.
    pub fitted_on: Vec<String>,
}

/// What came out of one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseSummary {
    /// Its name.
    pub name: String,
    /// Runs.
    pub runs: u64,
    /// Simulated time of all runs.
    pub simulated: Picoseconds,
    /// Events handled.
    pub events: u64,
}

/// What came out of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The experiment's name.
    pub name: String,
    /// What it shows.
    pub about: String,
    /// The paper.
    pub paper: Option<String>,
    /// Point by point.
    pub rows: Vec<LedgerRow>,
    /// Case by case.
    pub cases: Vec<CaseSummary>,
    /// What is assumed.
    pub assumptions: Vec<AssumptionNote>,
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
        let file: File = toml::from_str(text).map_err(read_error)?;
        if file.schema != "punctual.experiment/1" {
            return Err(at(
                place::line_of(text, &["schema"]),
                "the schema is not \"punctual.experiment/1\"".to_owned(),
            ));
        }
        let whole: toml::Value = toml::from_str::<toml::Table>(text).map(toml::Value::Table).map_err(read_error)?;
        let mut cases = Vec::new();
        for (index, case) in file.case.iter().enumerate() {
            let line = place::line_of(text, &["case", &index.to_string()]);
            let wrong = |what: String| at(line, format!("case {:?}: {what}", case.name));
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
        let experiment = Experiment { file_name: file_name.to_owned(), text: text.to_owned(), file, cases };
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
                self.at(&["case", &index], format!("{}{error}", if name.is_empty() { "" } else { "this case: " }))
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
            match (&row.measure, row.class) {
                (None, Class::Input | Class::NotSimulated) if row.because.is_none() => {
                    return Err(wrong("id", format!("row {:?} does not say why (because)", row.id)));
                }
                (None, Class::Input | Class::NotSimulated) => {}
                (None, _) => return Err(wrong("id", format!("row {:?} has no measure", row.id))),
                (Some(measure), _) => {
                    let case = self.case_of(row.case.as_deref()).map_err(|what| wrong("case", what))?;
                    let setup = &setups[case];
                    measure.check(&subject(setup)).map_err(|what| wrong("measure", what))?;
                }
            }
            if row.class == Class::Assumption && row.assumption.is_none() {
                return Err(wrong("class", format!("row {:?} does not name its assumption", row.id)));
            }
        }
        Ok(())
    }

    fn case_of(&self, name: Option<&str>) -> std::result::Result<usize, String> {
        match name {
            None if self.cases.is_empty() => Err("there is nothing to run".to_owned()),
            None => Ok(0),
            Some(name) => {
                self.cases.iter().position(|case| case.0 == name).ok_or_else(|| format!("there is no case {name:?}"))
            }
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.file.name
    }

    /// The names of its cases.
    pub fn cases(&self) -> impl Iterator<Item = &str> {
        self.cases.iter().map(|case| case.0.as_str())
    }

    /// Runs everything and lays it beside the paper.
    ///
    /// # Errors
    /// A machine that is impossible.
    pub fn run(&self) -> Result<Outcome> {
        let mut rows: Vec<Option<LedgerRow>> = vec![None; self.file.row.len()];
        let mut cases = Vec::new();
        for (index, (name, file)) in self.cases.iter().enumerate() {
            let mut runs = Vec::new();
            let mut setup = self.setup(index, 0)?;
            for run in 0..file.runs {
                setup = self.setup(index, run)?;
                runs.push(collect::run(&setup)?);
            }
            cases.push(CaseSummary {
                name: name.clone(),
                runs: file.runs,
                simulated: runs.iter().map(|run| run.length).sum(),
                events: runs.iter().map(|run| run.events).sum(),
            });
            for (at, row) in self.file.row.iter().enumerate() {
                let Some(measure) = &row.measure else { continue };
                if self.case_of(row.case.as_deref()) == Ok(index) {
                    let simulated = measure
                        .read(&subject(&setup), &runs)
                        .map_err(|what| self.at(&["row", &at.to_string()], what))?;
                    rows[at] = Some(self.ledger_row(row, simulated));
                }
            }
        }
        let rows = rows.into_iter().zip(&self.file.row);
        Ok(Outcome {
            name: self.file.name.clone(),
            about: self.file.about.clone(),
            paper: self.file.paper.clone(),
            rows: rows.map(|(done, row)| done.unwrap_or_else(|| self.ledger_row(row, None))).collect(),
            cases,
            assumptions: self
                .file
                .assumption
                .iter()
                .map(|known| AssumptionNote {
                    name: known.name.clone(),
                    what: known.what.clone(),
                    fitted_on: known.fitted_on.clone(),
                })
                .collect(),
        })
    }

    fn ledger_row(&self, row: &schema::Row, simulated: Option<Value>) -> LedgerRow {
        let assumed = self.file.assumption.iter().find(|known| Some(&known.name) == row.assumption.as_ref());
        let judged =
            row.measure.is_some() && matches!(row.class, Class::Exact | Class::Approximate | Class::Assumption);
        LedgerRow {
            id: row.id.clone(),
            paper: self.file.paper.clone().unwrap_or_default(),
            item: row.item.clone(),
            published: row.published.clone(),
            unit: row.unit.clone(),
            class: row.class,
            tolerance: tolerance(row),
            assumption: row.assumption.clone(),
            fitted: assumed.is_some_and(|known| known.fitted_on.contains(&row.id)),
            because: row.because.clone(),
            holds: judged.then(|| holds(row, simulated.as_ref())),
            simulated,
        }
    }

    /// Runs one case with some whole-number keys set otherwise (`device.policy.reservation.runtime`), for a sweep.
    ///
    /// # Errors
    /// A key that does not exist. A machine that is impossible is no error but [`Point::impossible`].
    pub fn point(&self, case: Option<&str>, set: &[(&str, i64)]) -> Result<Point> {
        let index = self.case_of(case).map_err(|what| self.at(&[], what))?;
        let mut document = toml::Value::Table(
            toml::from_str::<toml::Table>(&self.text).map_err(|error| self.at(&[], error.message()))?,
        );
        if let Some(case) = self.file.case.get(index) {
            for (path, value) in &case.set {
                place::set(&mut document, path, value).map_err(|what| self.at(&[], what))?;
            }
        }
        for (path, value) in set {
            place::set(&mut document, path, &toml::Value::Integer(*value)).map_err(|what| self.at(&[], what))?;
        }
        let file: File =
            document.try_into().map_err(|error: toml::de::Error| self.at(&[], error.message().to_owned()))?;
        let mut point = Point::default();
        for run in 0..file.runs {
            let ran = build::build(&file, run).map_err(|(_, what)| what).and_then(|setup| {
                let done = collect::run(&setup).map_err(|error| error.to_string())?;
                Ok((setup.link.is_some(), done))
            });
            let (has_link, done) = match ran {
                Ok(ran) => ran,
                Err(what) => return Ok(Point { impossible: Some(what), ..Point::default() }),
            };
            point.runs += 1;
            point.blocks += done.blocks.len() as u64;
            point.faults += done.blocks.iter().filter(|block| block.fate != crate::modem::Fate::Good).count() as u64;
            point.pending_most =
                point.pending_most.max(done.blocks.iter().map(|block| block.pending).max().unwrap_or(0));
            point.overruns += done.overruns;
            point.successes += u64::from(has_link && done.transfer.took.is_some());
            point.transfer_faults += done.transfer.faults;
        }
        Ok(point)
    }

    /// A short run of one case, with everything that happened: for a timeline.
    ///
    /// # Errors
    /// A case that does not exist, a machine that is impossible, a run of more than ten seconds.
    pub fn timeline(&self, case: Option<&str>, from: Picoseconds, to: Picoseconds) -> Result<Timeline> {
        let index = self.case_of(case).map_err(|what| self.at(&[], what))?;
        if from >= to || to - from > 10 * SECOND {
            return Err(self.at(&[], "a timeline shows more than nothing and at most 10 s"));
        }
        Timeline::of(&self.setup(index, 0)?.spec, from, to)
    }

    /// The points of a figure, from the first run of one case: what a picture of the paper's figure is drawn from.
    ///
    /// # Errors
    /// A case, thread or device that does not exist, a machine that is impossible.
    pub fn series(&self, case: Option<&str>, series: &Series) -> Result<Vec<(f64, f64)>> {
        let index = self.case_of(case).map_err(|what| self.at(&[], what))?;
        let setup = self.setup(index, 0)?;
        let run = collect::run(&setup)?;
        series.points(&setup, &run).map_err(|what| self.at(&[], what))
    }

    /// Hands every wakeup of a run of one case, in order of completion, to `take`: for a recording.
    ///
    /// # Errors
    /// A case that does not exist, a machine that is impossible.
    pub fn wakeups(&self, case: Option<&str>, run: u64, take: impl FnMut(&str, &Wakeup)) -> Result<()> {
        let index = self.case_of(case).map_err(|what| self.at(&[], what))?;
        let setup = self.setup(index, run)?;
        crate::recorded::wakeups(&setup.spec, setup.duration, take)
    }
}

/// What came out at one point of a sweep over an experiment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Point {
    /// Why there is no such machine.
    pub impossible: Option<String>,
    /// Runs.
    pub runs: u64,
    /// Blocks of the device.
    pub blocks: u64,
    /// Blocks late or lost.
    pub faults: u64,
    /// Most samples pending.
    pub pending_most: u64,
    /// How often the ring wrapped.
    pub overruns: u64,
    /// Transfers that got through.
    pub successes: u64,
    /// Faults during transfers.
    pub transfer_faults: u64,
}

impl Point {
    /// `impossible`, `sufficient`, `marginal` or `insufficient`, as in Figure 17 of soft-modem-2000.
    pub fn class(&self) -> &'static str {
        match self {
            Point { impossible: Some(_), .. } => "impossible",
            Point { transfer_faults: 0, .. } => "sufficient",
            Point { successes: 0, .. } => "insufficient",
            _ => "marginal",
        }
    }
}

fn subject(setup: &Setup) -> Subject<'_> {
    Subject {
        spec: &setup.spec,
        device: setup.device.as_ref(),
        duration: setup.duration,
        has_link: setup.link.is_some(),
    }
}

fn tolerance(row: &schema::Row) -> String {
    let mut parts = Vec::new();
    if let Some(most) = row.tolerance {
        parts.push(if most == 0.0 { "exactly".to_owned() } else { format!("within {most}") });
    }
    if let Some(percent) = row.tolerance_percent {
        parts.push(format!("within {percent} %"));
    }
    if let Some(least) = row.at_least {
        parts.push(format!("at least {least}"));
    }
    if let Some(most) = row.at_most {
        parts.push(format!("at most {most}"));
    }
    parts.join(", ")
}

/// Whether what came out is what the paper says, as far as it must be.
fn holds(row: &schema::Row, simulated: Option<&Value>) -> bool {
    match (&row.published, simulated) {
        (_, None) => false,
        (Some(Value::Text(word)), Some(simulated)) => *simulated == Value::Text(word.clone()),
        (_, Some(Value::Text(_))) => false,
        (published, Some(Value::Number(value))) => {
            let bounded =
                row.at_least.is_none_or(|least| *value >= least) && row.at_most.is_none_or(|most| *value <= most);
            let difference = match published {
                Some(Value::Number(number)) => Some(((value - number).abs(), number.abs())),
                _ => None,
            };
            let unbounded = row.at_least.is_none() && row.at_most.is_none();
            let most = match (row.tolerance, row.tolerance_percent, difference) {
                (Some(most), _, _) => Some(most),
                (None, Some(percent), Some((_, number))) => Some(number * percent / 100.0),
                _ => None,
            };
            bounded
                && match (difference, most) {
                    (Some((difference, _)), Some(most)) => difference <= most + 1e-9,
                    (Some((difference, _)), None) if unbounded => difference <= 1e-9,
                    _ => true,
                }
        }
    }
}
