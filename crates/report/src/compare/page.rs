//! The page of `punctual compare --html`: A beside B.

use super::causes::causes_section;
use super::counts::counts_section;
use super::devices::{CANNOT_BE_TOLD, device_name, is_untold};
use super::ratios::{ratio_picture, ratio_section, row_of};
use super::text::{
    REQUESTS_DECIDE_NOTHING, TOO_FEW, load_of_side, no_difference_below, nothing_else_differs, requests_of_sides,
};
use super::words::{factor, of_stage, outcome, values};
use crate::NextStep;
use crate::answer::value;
use crate::compare::{CompareAnswer, measure};
use crate::device::are_of_several_origins;
use crate::encode::html::intervals::IntervalRow;
use crate::encode::html::setting::began;
use crate::encode::html::table::{Column, Table, Value};
use crate::encode::html::{Block, Page, Section};
use crate::layout::rate;
use crate::recording::over_time::{Recorded, over_time};
use crate::recording::page::{marks, share_pictures, warnings};
use crate::recording::requests::requests_block;
use crate::recording::together::together;
use crate::verdict::compare::comparison_verdict;
use punctual_comparison::{
    Comparison, DeviceComparison, Difference, FIGURES, Outcome, Side, SideSummary, StageComparison, Standing,
};
use punctual_recording::{Document, Stage};

/// The page of a comparison of these two sides, with what to run next. `recorded` is what is drawn of their runs over
/// time.
pub fn comparison_page(comparison: &Comparison, a: &Side, b: &Side, next: &[NextStep], recorded: &[Recorded]) -> Page {
    let sides = documents([("A".to_owned(), a), ("B".to_owned(), b)]);
    let parts: Vec<(String, &Document)> = sides.iter().map(|(label, document)| (label.clone(), document)).collect();
    let mut sections: Vec<Section> = counts_section(comparison).into_iter().collect();
    sections.extend(requests_section(comparison));
    sections.extend(causes_section(comparison));
    sections.extend([ratios(comparison), shares(comparison, &parts), stages(comparison)]);
    sections.extend(devices(comparison));
    sections.extend(over_time(recorded));
    sections.push(sides_and_differences(comparison));
    Page {
        title: format!("{} against {}", comparison.b.name, comparison.a.name),
        context: context(&parts),
        verdict: comparison_verdict(comparison),
        next: next.to_vec(),
        warnings: each_once(comparison.notes.iter().cloned(), &parts),
        blind: blind(&parts),
        sections,
        report: value(&CompareAnswer::new(comparison, next.to_vec(), 0)),
    }
}

fn requests_section(comparison: &Comparison) -> Option<Section> {
    let rows = requests_of_sides(comparison);
    (!rows.is_empty()).then(|| Section {
        id: "requests".into(),
        title: "Requests".into(),
        lead: format!("{REQUESTS_DECIDE_NOTHING}."),
        blocks: vec![requests_block(&rows)],
    })
}

/// All runs of each side together, under the side's letter.
pub(super) fn documents<'a>(sides: impl IntoIterator<Item = (String, &'a Side)>) -> Vec<(String, Document)> {
    let whole = |side: &Side| together(side.runs.iter().map(|run| &run.document));
    sides.into_iter().filter_map(|(label, side)| Some((label, whole(side)?))).collect()
}

/// What must be known before believing a comparison: its notes, and those of its sides' own recordings, each once.
pub(super) fn each_once(notes: impl Iterator<Item = String>, parts: &[(String, &Document)]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for note in notes.chain(warnings(parts)) {
        if !all.contains(&note) {
            all.push(note);
        }
    }
    all
}

/// What was run, on which machines, and when the first of them began.
pub(crate) fn context(parts: &[(String, &Document)]) -> String {
    let mut hosts: Vec<&str> =
        parts.iter().filter_map(|(_, document)| document.provenance.host.name.as_deref()).collect();
    hosts.dedup();
    let on = (!hosts.is_empty()).then(|| hosts.join(", "));
    let began = parts.first().and_then(|(_, document)| began(document));
    ["punctual compare".to_owned()].into_iter().chain(on).chain(began).collect::<Vec<_>>().join(" · ")
}

/// What could not be seen on any side, each once.
pub(crate) fn blind(parts: &[(String, &Document)]) -> Vec<String> {
    let mut blind: Vec<String> = Vec::new();
    for note in parts.iter().flat_map(|(_, document)| &document.provenance.blind) {
        if !blind.contains(note) {
            blind.push(note.clone());
        }
    }
    blind
}

fn several_measures(comparison: &Comparison) -> bool {
    comparison.stages.iter().any(|stage| stage.measure != comparison.stages[0].measure)
}

fn ratios(comparison: &Comparison) -> Section {
    let several = several_measures(comparison);
    let named = |stage: &StageComparison, rest: &str| {
        let whose = if several { format!("{} ", measure(stage)) } else { String::new() };
        format!("{whose}{rest}")
    };
    let totals = comparison.stages.iter().filter(|stage| stage.stage == Stage::Total);
    let total_rows: Vec<IntervalRow> = totals
        .flat_map(|stage| stage.ratios.iter().map(move |ratio| row_of(named(stage, ratio.figure.name), ratio)))
        .collect();
    let stage_rows: Vec<IntervalRow> = comparison
        .stages
        .iter()
        .filter(|stage| stage.stage != Stage::Total)
        .filter_map(|stage| {
            let ratio = stage.shown()?;
            let name = format!("{} {}", stage.stage.name().replace('_', " "), ratio.figure.name);
            Some(row_of(named(stage, &name), ratio))
        })
        .collect();
    let picture = |id: &str, title: &str, rows: Vec<IntervalRow>| {
        let caption = "B to A: to the right of 1, B is later. All limits hold at once with 95 % probability.";
        ratio_picture(id, title, caption, "B as a multiple of A", rows)
    };
    let mut blocks = Vec::new();
    if !total_rows.is_empty() {
        blocks.push(picture("total", "The total latency.", total_rows));
    }
    if !stage_rows.is_empty() {
        blocks.push(picture("stages", "Each stage, by the figure that tells most.", stage_rows));
    }
    let only = "Of these runs only, and as if runs differed no more than usual: no verdict on the systems.";
    ratio_section("How many times as late", (comparison.standing != Standing::Systems).then_some(only), blocks)
}

fn shares(comparison: &Comparison, parts: &[(String, &Document)]) -> Section {
    let mut measures: Vec<&(String, String)> = Vec::new();
    for stage in &comparison.stages {
        if !measures.contains(&&stage.measure) {
            measures.push(&stage.measure);
        }
    }
    let mut blocks = Vec::new();
    for (number, (a, b)) in measures.iter().take(8).enumerate() {
        if measures.len() > 1 {
            blocks.push(Block::Heading(if a == b { a.clone() } else { format!("{a} → {b}") }));
        }
        let beside: Vec<(&str, &str, &Document)> = parts
            .iter()
            .zip([a, b])
            .map(|((label, document), measure)| (label.as_str(), measure.as_str(), *document))
            .collect();
        let own = comparison.devices.iter().filter(|row| row.measure == (a.clone(), b.clone()));
        let slacks =
            own.map(|row| (device_name(row, &comparison.devices), i64::try_from(row.slack_ns).unwrap_or(i64::MAX)));
        blocks.extend(share_pictures(&format!("share-{number}"), &beside, marks(slacks)));
    }
    Section {
        id: "share".into(),
        title: "Latency distribution".into(),
        lead: format!(
            "A is {}, B is {}; all runs of a side together. x: latency; y: share of wakeups at least that late; \
             both logarithmic.",
            comparison.a.name, comparison.b.name
        ),
        blocks,
    }
}

fn stages(comparison: &Comparison) -> Section {
    let several = several_measures(comparison);
    let mut columns = vec![Column::words("stage")];
    if several {
        columns.push(Column::words("threads"));
    }
    // A quantile's two values are beside each other.
    let shown: Vec<usize> = (0..FIGURES.len()).filter(|&index| !FIGURES[index].is_mean).collect();
    for &index in &shown {
        columns.push(Column::numbers(format!("{} A us", FIGURES[index].name)));
        columns.push(Column::numbers("B us"));
    }
    columns.extend([
        Column::numbers("max A us"),
        Column::numbers("B us"),
        Column::words("ratio (95 %)"),
        Column::words("B is"),
    ]);
    let rows = comparison.stages.iter().map(|stage| {
        let mut cells = vec![Value::text(stage.stage.name().replace('_', " "))];
        if several {
            cells.push(Value::text(measure(stage)));
        }
        for &index in &shown {
            cells.extend([Value::Ns(stage.a.values_ns[index]), Value::Ns(stage.b.values_ns[index])]);
        }
        cells.extend([Value::Ns(stage.a.max_ns), Value::Ns(stage.b.max_ns)]);
        cells.push(Value::text(stage.shown().map_or_else(
            || "–".to_owned(),
            |ratio| {
                let (name, estimate) = (ratio.figure.name, factor(ratio.estimate));
                format!("{name}: {estimate} ({} to {})", factor(ratio.low), factor(ratio.high))
            },
        )));
        let is_compared = !stage.ratios.is_empty();
        cells.push(match stage.verdict.outcome {
            _ if !is_compared => Value::text(TOO_FEW),
            Outcome::NoDifference => Value::text(of_stage(stage)),
            found => outcome(found),
        });
        cells
    });
    let table = Table { caption: "Each stage on both sides".into(), columns, rows: rows.collect() };
    Section {
        id: "stages".into(),
        title: "Stages".into(),
        lead: format!(
            "Quantiles of a side are the geometric means of its runs'. Times in microseconds; – where there are too few wakeups to say; {}.",
            no_difference_below()
        ),
        blocks: vec![Block::Table(table)],
    }
}

fn devices(comparison: &Comparison) -> Option<Section> {
    if comparison.devices.is_empty() {
        return None;
    }
    let several = several_measures(comparison);
    let mut columns = vec![Column::words("device")];
    if several {
        columns.push(Column::words("threads"));
    }
    columns.extend(["slack us", "stalls A", "stalls B", "runs dry A", "runs dry B"].map(Column::numbers));
    columns.push(Column::words("times as many stalls on B (95 %)"));
    let are_grouped = are_of_several_origins(comparison.devices.iter().map(|row| &row.device));
    if are_grouped {
        columns.push(Column::words("whose"));
    }
    let rows = comparison.devices.iter().map(|row| {
        let mut cells = vec![Value::text(device_name(row, &comparison.devices))];
        if several {
            let (a, b) = &row.measure;
            cells.push(Value::text(if a == b { a.clone() } else { format!("{a} → {b}") }));
        }
        cells.push(Value::Ns(Some(row.slack_ns)));
        let counts = [row.over.0, row.over.1, row.ran_dry.0, row.ran_dry.1];
        cells.extend(counts.map(|count| Value::Count(Some(count))));
        cells.push(Value::text(times_as_often(row)));
        if are_grouped {
            cells.push(Value::text(row.device.origin.whose()));
        }
        cells
    });
    Some(Section {
        id: "devices".into(),
        title: "What this means for devices".into(),
        lead: "How often each device's slack was exceeded: stalls, those of several threads with one cause counted once, and how \
               often the device runs dry in them, as in a forecast."
            .into(),
        blocks: vec![Block::Table(Table {
            caption: "Stalls beyond each device's slack".into(),
            columns,
            rows: rows.collect(),
        })],
    })
}

/// How many times as often as on the first side a device's slack was exceeded, with an interval.
pub(super) fn times_as_often(row: &DeviceComparison) -> String {
    if is_untold(row) {
        return CANNOT_BE_TOLD.to_owned();
    }
    let ratio = &row.ratio;
    match (ratio.low, ratio.estimate, ratio.high) {
        (Some(low), Some(estimate), Some(high)) => {
            format!("{} times ({} to {})", factor(estimate), factor(low), factor(high))
        }
        (Some(low), _, Some(high)) => format!("{} to {} times", factor(low), factor(high)),
        (Some(low), _, None) => format!("at least {} times", factor(low)),
        (None, _, Some(high)) => format!("at most {} times", factor(high)),
        (None, _, None) => "–".to_owned(),
    }
}

/// The sides of a comparison, each in a row.
pub(super) fn sides_table<'a>(sides: impl IntoIterator<Item = (String, &'a SideSummary)>) -> Table {
    let rows = sides.into_iter().map(|(label, side)| {
        vec![
            Value::text(format!("{label}: {}", side.name)),
            Value::text(load_of_side(side)),
            Value::Count(Some(side.runs as u64)),
            Value::text(punctual_recording::format_ns(side.measured_ns)),
            Value::Count(Some(side.wakeups)),
            Value::Count(side.missed.or(side.periods.map(|passed| passed.not_woken))),
            Value::Count(Some(side.unobserved)),
            Value::Count(Some(side.lost)),
        ]
    });
    let rows = rows.collect();
    let numbers = ["runs", "measured", "wakeups", "missed", "unobserved", "lost"].map(Column::numbers);
    let columns = ["side", "load"].map(Column::words).into_iter().chain(numbers).collect();
    Table { caption: "The sides".into(), columns, rows }
}

fn sides_and_differences(comparison: &Comparison) -> Section {
    let sides = [("A".to_owned(), &comparison.a), ("B".to_owned(), &comparison.b)];
    let mut blocks = vec![Block::Table(sides_table(sides))];
    if !comparison.throughput.is_empty() {
        let a_second = |thousandths: Option<u64>| {
            Value::text(thousandths.map_or_else(|| "–".to_owned(), |all| rate(all as f64 / 1_000.0)))
        };
        let rows = comparison.throughput.iter().map(|score| {
            vec![
                Value::text(format!("{}{}", score.name, if score.is_paced { " (held to a pace)" } else { "" })),
                Value::text(score.unit.clone()),
                a_second(score.a_thousandths),
                a_second(score.b_thousandths),
                Value::text(score.ratio.map_or_else(|| "–".to_owned(), factor)),
            ]
        });
        let mut columns = vec![Column::words("load"), Column::words("a second")];
        columns.extend(["A", "B", "B to A"].map(Column::numbers));
        blocks.push(Block::Table(Table { caption: "What the loads got done".into(), columns, rows: rows.collect() }));
    }
    blocks.push(match &comparison.differences[..] {
        [] => Block::Text(nothing_else_differs(comparison).to_owned()),
        differences => differences_block(differences),
    });
    Section {
        id: "provenance".into(),
        title: "Provenance".into(),
        lead: if comparison.is_paired {
            "The runs were measured in turn, so slow drift weighs on both sides alike.".into()
        } else {
            "The sides were measured at different times: whatever changed meanwhile weighs on one of them.".into()
        },
        blocks,
    }
}

/// What else differs, as a table, or a sentence that nothing does.
pub(crate) fn differences_block(differences: &[Difference]) -> Block {
    if differences.is_empty() {
        return Block::Text("No other difference is recorded.".to_owned());
    }
    let row = |row: &Difference| {
        let [a, b] = values(row).map(|value| Value::text(value.unwrap_or_else(|| "–".to_owned())));
        vec![Value::text(row.what.clone()), Value::text(row.area), a, b]
    };
    let columns = ["what", "of", "A", "B"].map(Column::words).into();
    Block::Table(Table { caption: "What else differs".into(), columns, rows: differences.iter().map(row).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_side_and_the_comparison_note_stands_there_once() {
        let text = include_str!("../../../cli/tests/golden/check/loaded.punctual/recording.json");
        let mut document: Document = serde_json::from_str(text).unwrap();
        document.provenance.fallbacks = vec!["threads rested".to_owned()];
        let parts = [("A".to_owned(), &document), ("B".to_owned(), &document)];
        let noted = ["B: threads rested", "one run a side"].map(str::to_owned);
        let said = each_once(noted.into_iter(), &parts);
        assert_eq!(said[..3], ["B: threads rested", "one run a side", "A: threads rested"], "{said:?}");
        assert_eq!(said.iter().filter(|note| note.as_str() == "B: threads rested").count(), 1);
    }

    #[test]
    fn a_page_names_each_machine_once() {
        let text = include_str!("../../../cli/tests/golden/check/loaded.punctual/recording.json");
        let one: Document = serde_json::from_str(text).unwrap();
        let mut other = one.clone();
        other.provenance.host.name = Some("other".to_owned());
        let host = one.provenance.host.name.clone().unwrap();
        let said = context(&[&one, &one, &other].map(|document| (String::new(), document)));
        assert!(said.starts_with(&format!("punctual compare · {host}, other · ")), "{said}");
    }
}
