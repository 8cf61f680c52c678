//! `punctual report`.

use crate::args::ReportArguments;
use crate::output::{self, Output};
use punctual_recording::{Document, Recording, Stage, compatible, merge};
use punctual_report::Measurement;
use punctual_report::interarrival::InterarrivalRow;
use std::path::PathBuf;

pub(crate) fn run(arguments: &ReportArguments, output: Output) -> anyhow::Result<u8> {
    let recordings = super::expand(&arguments.recordings);
    let interarrival = interarrival(&recordings, arguments)?;
    if let [path] = recordings.as_slice()
        && let Some(code) = super::idle::report(path, output, &interarrival)?
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
    if output.json && !interarrival.is_empty() {
        let mut report = punctual_report::measurement(&measurement);
        report["interarrival"] = punctual_report::interarrival::json(&interarrival);
        output::print(&output::pretty(&report));
        return Ok(measurement.exit_code);
    }
    output.measurement(&measurement);
    if !interarrival.is_empty() {
        output::print_text(&format!("\n{}", punctual_report::interarrival::text(&interarrival)));
    }
    Ok(measurement.exit_code)
}

/// How late events follow one another, where that was asked for.
fn interarrival(recordings: &[PathBuf], arguments: &ReportArguments) -> anyhow::Result<Vec<InterarrivalRow>> {
    let mut rows = Vec::new();
    if arguments.interarrival.is_empty() {
        return Ok(rows);
    }
    for path in recordings {
        let found = punctual_study::late_events(path, arguments.stage, &arguments.interarrival)?;
        rows.extend(found.into_iter().map(|row| InterarrivalRow {
            recording: path.display().to_string(),
            whose: row.whose,
            stage: row.stage,
            late: row.late,
            events: row.events,
        }));
    }
    Ok(rows)
}
