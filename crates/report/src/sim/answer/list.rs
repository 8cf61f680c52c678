//! `sim list`.

use crate::answer::Answer;
use crate::verdict::sim::experiments_verdict;
use punctual_sim::experiment::Experiment;
use serde::Serialize;

/// The experiments that come with the program.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExperimentsAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    experiments: Vec<ExperimentRow<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ExperimentRow<'a> {
    name: &'a str,
    /// What it simulates, in whole sentences.
    about: &'a str,
    cases: Vec<&'a str>,
}

impl<'a> ExperimentsAnswer<'a> {
    /// The answer for programs.
    pub fn new(experiments: &'a [Experiment]) -> ExperimentsAnswer<'a> {
        let rows = experiments.iter().map(|experiment| ExperimentRow {
            name: experiment.name(),
            about: experiment.about(),
            cases: experiment.cases().collect(),
        });
        ExperimentsAnswer {
            schema: "punctual.sim-list/1",
            verdict: experiments_verdict(experiments.len()),
            exit_code: 0,
            experiments: rows.collect(),
        }
    }
}

impl Answer for ExperimentsAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}
