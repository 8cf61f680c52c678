//! `punctual report`.

use crate::args::ReportArguments;
use crate::output::{self, Output, Usage};
use punctual_recording::{Document, Recording, Stage, compatible, merge};
use punctual_report::Measurement;
use std::path::PathBuf;

pub(crate) fn run(arguments: &ReportArguments, output: Output) -> anyhow::Result<u8> {
    let recordings = super::expand(&arguments.recordings);
    if let Some(path) = recordings.iter().find(|path| path.join("gaps.json").exists()) {
        let refused = if recordings.len() > 1 {
            Some("report it by itself")
        } else if arguments.csv || arguments.limit.is_some() {
            Some("--csv and --limit do not apply; --json has all its figures")
        } else {
            None
        };
        if let Some(instead) = refused {
            let path = path.display();
            return Err(Usage(format!("{path} holds gaps of idle loops, no wakeups: {instead}")).into());
        }
    }
    if let [path] = recordings.as_slice()
        && let Some(code) = super::idle::report(path, output)?
    {
        return Ok(code);
    }
    let output = Output { csv: arguments.csv, ..output };
    let mut parts: Vec<(PathBuf, Vec<Document>)> = Vec::new();
    for path in &recordings {
        let recording = Recording::open(path)?;
        for damaged in recording.damaged() {
            output::note(&format!("left out: {damaged}"));
        }
        let wrong = recording.count_not_adding_up()?;
        anyhow::ensure!(wrong == 0, "{}: the stages of {wrong} wakeups do not add up to their totals", path.display());
        let document = recording.document().clone();
        // What was measured in the same way under the same load is one measurement; the rest stands beside it.
        match parts.iter_mut().find(|(_, others)| compatible(&others[0], &document).is_none()) {
            Some((_, others)) => others.push(document),
            None => parts.push((path.clone(), vec![document])),
        }
    }
    let merged = parts.into_iter().map(|(path, documents)| merge(&documents).map(|document| (path, document)));
    let mut measurement = Measurement {
        parts: merged.collect::<Result<_, _>>()?,
        devices: Vec::new(),
        verdict: String::new(),
        exit_code: 0,
        by_cpu: arguments.by_cpu,
    };
    for (_, document) in &mut measurement.parts {
        if let Some(limits) = &arguments.limit {
            let total = document.distributions.sum(|key| key.stage == Stage::Total);
            document.limits = limits.0.iter().map(|limit| limit.judge(&total)).collect();
            measurement.exit_code = measurement.exit_code.max(super::limits_exit_code(&document.limits));
        }
    }
    let documents: Vec<&Document> = measurement.parts.iter().map(|(_, document)| document).collect();
    measurement.verdict = punctual_report::recording_verdict(&documents);
    output.measurement(&measurement);
    Ok(measurement.exit_code)
}
