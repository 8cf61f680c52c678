//! The page of `punctual compare --html` for several sides, each compared with the first.

use super::devices::device_name;
use super::ratios::{ratio_picture, ratio_section, row_of};
use super::several::{CompareSidesAnswer, devices_beside, several_notes, standing_in_words};
use super::sides::label;
use crate::NextStep;
use crate::answer::value;
use crate::compare::page::{blind, context, documents, each_once, sides_table, times_as_often};
use crate::compare::{factor, measure};
use crate::encode::html::intervals::IntervalRow;
use crate::encode::html::table::{Column, Table, Value};
use crate::encode::html::{Block, Page, Section};
use crate::recording::over_time::{Recorded, over_time};
use crate::recording::page::{marks, share_pictures};
use crate::verdict::compare::sides_verdict;
use punctual_comparison::{Shared, Side, StageComparison, Standing};
use punctual_recording::{Document, Stage};

/// The page of these sides, including the first, with which the others are compared, with what to run next. `recorded`
/// is what is drawn of their runs over time.
pub fn several_page(found: &[Shared], sides: &[&Side], next: &[NextStep], recorded: &[Recorded]) -> Page {
    let whole = documents(sides.iter().enumerate().map(|(index, side)| (label(index).to_string(), *side)));
    let parts: Vec<(String, &Document)> = whole.iter().map(|(label, document)| (label.clone(), document)).collect();
    let first = sides.first().map_or("", |side| side.name.as_str());
    let mut sections = vec![ratios(found), shares(found, &parts), totals(found)];
    sections.extend(devices(found));
    sections.extend(over_time(recorded));
    sections.push(provenance(found));
    Page {
        title: format!("{} sides against {first}", found.len()),
        context: context(&parts),
        verdict: sides_verdict(found),
        next: next.to_vec(),
        warnings: each_once(several_notes(found).into_iter(), &parts),
        blind: blind(&parts),
        sections,
        report: value(&CompareSidesAnswer::new(found, next.to_vec(), 0)),
    }
}

/// The total of each side as a multiple of the first one's.
fn ratios(found: &[Shared]) -> Section {
    let mut rows: Vec<IntervalRow> = Vec::new();
    for (index, shared) in found.iter().enumerate() {
        let totals = shared.comparison.stages.iter().filter(|stage| stage.stage == Stage::Total);
        let several = totals.clone().count() > 1;
        rows.extend(totals.flat_map(|stage| stage.ratios.iter().map(move |ratio| (stage, ratio))).map(
            |(stage, ratio)| {
                let whose = if several { format!(" {}", measure(stage)) } else { String::new() };
                row_of(format!("{}{whose} {}", label(index + 1), ratio.figure.name), ratio)
            },
        ));
    }
    let caption = "To the right of 1 a side is later than A. All limits of a side hold at once.";
    let picture = ratio_picture("total", "The total latency of each side.", caption, "multiple of A", rows);
    let is_verdict = found.iter().all(|shared| shared.comparison.standing == Standing::Systems);
    let only = "If a side has too few runs, this is about these runs only: no verdict on the systems.";
    ratio_section("How many times as late as A", (!is_verdict).then_some(only), vec![picture])
}

fn shares(found: &[Shared], parts: &[(String, &Document)]) -> Section {
    let totals = found.iter().map(|shared| shared.comparison.total().map(|total| &total.measure));
    let first = totals.clone().flatten().next().map(|(a, _)| a.as_str());
    let measures = std::iter::once(first).chain(totals.map(|of| of.map(|(_, b)| b.as_str())));
    let beside: Vec<(&str, &str, &Document)> = parts
        .iter()
        .zip(measures)
        .filter_map(|((label, document), measure)| Some((label.as_str(), measure?, *document)))
        .collect();
    let devices = found.first().map_or(&[][..], |shared| &shared.comparison.devices[..]);
    let slacks = devices.iter().map(|row| (device_name(row, devices), i64::try_from(row.slack_ns).unwrap_or(i64::MAX)));
    Section {
        id: "share".into(),
        title: "Latency distribution".into(),
        lead: "All runs of a side together. x: latency; y: share of wakeups at least that late; both logarithmic."
            .into(),
        blocks: share_pictures("share", &beside, marks(slacks)),
    }
}

fn totals(found: &[Shared]) -> Section {
    let rows = found.iter().enumerate().map(|(index, shared)| {
        let comparison = &shared.comparison;
        let shown = comparison.total().and_then(StageComparison::shown);
        let times = shown.map_or_else(
            || "–".to_owned(),
            |ratio| {
                let (low, high) = (factor(ratio.low), factor(ratio.high));
                format!("{}: {} ({low} to {high})", ratio.figure.name, factor(ratio.estimate))
            },
        );
        vec![
            Value::text(format!("{}: {}", label(index + 1), comparison.b.name)),
            Value::text(times),
            Value::text(if shared.p < 0.001 { "< 0.001".to_owned() } else { format!("{:.3}", shared.p) }),
            Value::text(standing_in_words(comparison)),
        ]
    });
    let columns = ["side", "times A\u{2019}s", "p", "it is"].map(Column::words).into();
    Section {
        id: "totals".into(),
        title: "Each side beside A".into(),
        lead: "At most 5 times in 100 is any of the comparisons wrong (Holm): p allows for all of them, and the limits of a \
               side that shows more hold with more certainty."
            .into(),
        blocks: vec![Block::Table(Table { caption: "The total latency".into(), columns, rows: rows.collect() })],
    }
}

fn devices(found: &[Shared]) -> Option<Section> {
    let rows = devices_beside(found, times_as_often).map(|row| {
        let mut cells = vec![Value::text(row.device), Value::text(row.side.to_string()), Value::Ns(Some(row.slack_ns))];
        let counts = [row.over.0, row.over.1, row.ran_dry.0, row.ran_dry.1];
        cells.extend(counts.map(|count| Value::Count(Some(count))));
        cells.push(Value::text(row.times));
        cells
    });
    let rows: Vec<Vec<Value>> = rows.collect();
    if rows.is_empty() {
        return None;
    }
    let mut columns = Vec::from(["device", "side"].map(Column::words));
    columns.extend(["slack us", "stalls A", "its stalls", "runs dry A", "it runs dry"].map(Column::numbers));
    columns.push(Column::words("times as many stalls as A"));
    Some(Section {
        id: "devices".into(),
        title: "What this means for devices".into(),
        lead: "How often each device's slack was exceeded: stalls, those of several threads with one cause counted once, and how \
               often the device runs dry in them, as in a forecast."
            .into(),
        blocks: vec![Block::Table(Table { caption: "Stalls beyond each device's slack".into(), columns, rows })],
    })
}

fn provenance(found: &[Shared]) -> Section {
    let first = found.first().map(|shared| &shared.comparison.a);
    let sides = first.into_iter().chain(found.iter().map(|shared| &shared.comparison.b)).enumerate();
    let table = sides_table(sides.map(|(index, side)| (label(index).to_string(), side)));
    let shown = |value: &Option<String>| {
        Value::text(value.clone().filter(|value| !value.is_empty()).unwrap_or_else(|| "–".to_owned()))
    };
    let mut rows: Vec<Vec<Value>> = Vec::new();
    for (index, shared) in found.iter().enumerate() {
        rows.extend(shared.comparison.differences.iter().map(|row| {
            let side = label(index + 1).to_string();
            vec![Value::text(row.what.clone()), Value::text(side), shown(&row.a), shown(&row.b)]
        }));
    }
    let differences = if rows.is_empty() {
        Block::Text("No other difference is recorded.".to_owned())
    } else {
        let columns = ["what", "side", "A", "the side"].map(Column::words).into();
        Block::Table(Table { caption: "What else differs".into(), columns, rows })
    };
    let is_paired = found.iter().all(|shared| shared.comparison.is_paired);
    Section {
        id: "provenance".into(),
        title: "Provenance".into(),
        lead: if is_paired {
            "The runs were measured in turn, so slow drift weighs on all sides alike.".into()
        } else {
            "The sides were measured at different times: whatever changed meanwhile weighs on one of them.".into()
        },
        blocks: vec![Block::Table(table), differences],
    }
}
