//! The page of a comparison of inputs: A beside B.

use super::answer::CompareInteractAnswer;
use super::text::near_in_words;
use super::words::{cause_in_words, difference, label_in_words, limits, signed, value};
use crate::NextStep;
use crate::answer::value as json;
use crate::compare::{blind, context, differences_block, outcome, ratio_picture, ratio_section, row_of};
use crate::encode::html::intervals::IntervalRow;
use crate::encode::html::setting::provenance;
use crate::encode::html::table::{Column, Table, Value};
use crate::encode::html::{Block, Page, Section};
use crate::layout::as_fine_percent;
use crate::verdict::interact::compare::inputs_verdict;
use punctual_comparison::Standing;
use punctual_comparison::interact::{
    FigureComparison, GroupComparison, InputComparison, InputSide, InputSummary, Parts,
};
use punctual_recording::{Document, format_ns};

/// How many of the things typed are shown.
const LABELS: usize = 32;
/// How many causes of a kind are shown; the page's JSON has more.
const PARTS: usize = 12;
/// How many recordings have their provenance shown.
const RUNS: usize = 12;

/// The page of a comparison of these two sides, with what to run next.
pub fn interact_comparison_page(comparison: &InputComparison, a: &InputSide, b: &InputSide, next: &[NextStep]) -> Page {
    let runs: Vec<(String, &Document)> = [("A", a), ("B", b)]
        .iter()
        .flat_map(|(label, side)| {
            side.runs.iter().enumerate().map(move |(at, run)| (format!("{label}{}", at + 1), &run.document))
        })
        .collect();
    let mut sections: Vec<Section> = paces(comparison).into_iter().collect();
    let has_kinds = !comparison.kinds.is_empty();
    sections.extend((has_kinds && comparison.has_limits()).then(|| ratios(comparison)));
    sections.extend(has_kinds.then(|| kinds(comparison)));
    sections.extend(parts(comparison));
    sections.extend(labels(comparison));
    sections.push(sides(comparison, &runs));
    Page {
        title: format!("{} against {}", comparison.b.name, comparison.a.name),
        context: context(&runs),
        verdict: inputs_verdict(comparison),
        next: next.to_vec(),
        warnings: comparison.notes.clone(),
        blind: blind(&runs),
        sections,
        report: json(&CompareInteractAnswer::new(comparison, next.to_vec(), 0)),
    }
}

/// Both paces side by side, if that is what differs.
fn paces(comparison: &InputComparison) -> Option<Section> {
    let row = |label: &str, side: &InputSummary| {
        let counts = [side.inputs, side.merged].map(|count| Value::Count(Some(count)));
        let times = [side.until_seen_ns, side.waited_per_input_ns, side.cpu_per_input_ns].map(Value::Ns);
        [Value::text(format!("{label}: {}", side.pace))].into_iter().chain(counts).chain(times).collect()
    };
    let numbers = ["inputs", "with a later one", "half seen within us", "needed for each us", "CPU time of each us"];
    let table = Table {
        caption: "Both paces".into(),
        columns: [Column::words("pace")].into_iter().chain(numbers.map(Column::numbers)).collect(),
        rows: vec![row("A", &comparison.a), row("B", &comparison.b)],
    };
    (comparison.standing == Standing::OtherPace).then(|| Section {
        id: "paces".into(),
        title: "At either pace".into(),
        lead: "All inputs but the start. One that the program took together with a later one was seen when that was; what \
             overlaps counts once in the time needed for each."
            .into(),
        blocks: vec![Block::Table(table)],
    })
}

fn ratios(comparison: &InputComparison) -> Section {
    let rows: Vec<IntervalRow> = comparison
        .kinds
        .iter()
        .flat_map(|kind| {
            let named = |figure: &FigureComparison| format!("{} {}", kind.group.kind, figure.ratio.figure.name);
            kind.figures.iter().map(move |figure| row_of(named(figure), &figure.ratio))
        })
        .collect();
    let caption = "B to A: to the right of 1, B is slower. All limits hold at once with 95 % probability.";
    let title = "Each kind of input, from input to seen.";
    let picture = ratio_picture("kinds", title, caption, "B as a multiple of A", rows);
    let only = "Of these runs only, and as if runs differed no more than usual: no verdict on the programs.";
    let is_of_runs = comparison.standing != Standing::Systems;
    ratio_section("How many times as slow", is_of_runs.then_some(only), vec![picture])
}

fn figures_table<'a>(
    caption: &str,
    groups: impl Iterator<Item = (String, &'a GroupComparison, Vec<&'a FigureComparison>)>,
) -> Table {
    let rows = groups.flat_map(|(name, group, figures)| {
        let row = move |figure: &FigureComparison| {
            let limits = limits(figure).unwrap_or_else(|| if figure.has_limits { "any" } else { "-" }.to_owned());
            vec![
                Value::text(format!("{name} {}", figure.ratio.figure.name)),
                Value::text(difference(figure)),
                Value::text(limits),
                Value::text(value(figure, 0)),
                Value::text(value(figure, 1)),
                figure.outcome().map_or_else(|| Value::text("-"), outcome),
                Value::Count(Some(group.sides[0].seen)),
                Value::Count(Some(group.sides[1].seen)),
            ]
        };
        figures.into_iter().map(row).collect::<Vec<_>>()
    });
    // What does not fit a narrow screen comes last: limits are words, which wrap at their spaces.
    let columns = vec![
        Column::words("input"),
        Column::numbers("B − A"),
        Column::words("limits"),
        Column::numbers("A"),
        Column::numbers("B"),
        Column::words("B is"),
        Column::numbers("seen A"),
        Column::numbers("B"),
    ];
    Table { caption: caption.to_owned(), columns, rows: rows.collect() }
}

fn kinds(comparison: &InputComparison) -> Section {
    let rows = comparison
        .kinds
        .iter()
        .map(|kind| (kind.group.kind.clone(), kind, kind.figures.iter().chain(&kind.waiting).collect()));
    Section {
        id: "kinds".into(),
        title: "By kind of input".into(),
        lead: "From input to seen. Waiting is the share of the time that was spent waiting for inputs of the kind; it decides nothing.".into(),
        blocks: vec![Block::Table(figures_table("Each kind's figures", rows))],
    }
}

fn labels(comparison: &InputComparison) -> Option<Section> {
    let rows = comparison.labels.iter().take(LABELS);
    let rows = rows.map(|label| (label_in_words(label), label, label.shown().into_iter().collect()));
    (!comparison.labels.is_empty()).then(|| Section {
        id: "labels".into(),
        title: "By what was typed".into(),
        lead:
            "Where it was typed often enough in every run. These limits hold together by themselves and decide nothing."
                .into(),
        blocks: vec![Block::Table(figures_table("What was typed", rows))],
    })
}

fn parts(comparison: &InputComparison) -> Option<Section> {
    let split = |kind: &GroupComparison| {
        let shown = kind.shown()?;
        let near = near_in_words(shown.ratio.figure.level);
        Some(Block::Table(parts_table(&format!("What {near} of {} took", kind.group.kind), shown.parts.as_ref()?)))
    };
    let blocks: Vec<Block> = comparison.kinds.iter().filter_map(split).collect();
    (!blocks.is_empty()).then(|| Section {
        id: "parts".into(),
        title: "What the difference was spent on".into(),
        lead: "Means over the inputs near the median, or near the figure that decided where the median leaves it open; they add up to what these inputs took.".into(),
        blocks,
    })
}

fn parts_table(caption: &str, parts: &Parts) -> Table {
    let ns =
        |value: i64| u64::try_from(value).map_or_else(|_| Value::text(signed(value as f64)), |ns| Value::Ns(Some(ns)));
    let row = |name: String, [a, b]: [i64; 2]| {
        vec![Value::text(name), ns(a), ns(b), Value::text(signed(b.saturating_sub(a) as f64))]
    };
    let (shown, others) = parts.largest(PARTS);
    let rows = shown.iter().map(|part| row(cause_in_words(&part.cause), part.ns));
    let last = [row("everything else".to_owned(), others), row("in all".to_owned(), parts.mean_ns)];
    let numbers = ["A us", "B us", "B − A"].map(Column::numbers);
    let columns = [Column::words("what was waited for")].into_iter().chain(numbers).collect();
    let [a, b] = parts.inputs;
    Table { caption: format!("{caption}: {a} of A, {b} of B"), columns, rows: rows.chain(last).collect() }
}

fn sides(comparison: &InputComparison, runs: &[(String, &Document)]) -> Section {
    let row = |label: &str, side: &InputSummary| {
        vec![
            Value::text(format!("{label}: {}", side.name)),
            Value::text(side.program.clone()),
            Value::Count(Some(side.runs as u64)),
            Value::Count(Some(side.inputs)),
            Value::Count(Some(side.seen)),
            Value::text(format_ns(side.waited_ns)),
            Value::text(as_fine_percent(side.waited_ns, side.lasted_ns)),
        ]
    };
    let numbers = ["runs", "inputs", "seen", "waited", "of the time"].map(Column::numbers);
    let columns = ["side", "program"].map(Column::words).into_iter().chain(numbers).collect();
    let rows = vec![row("A", &comparison.a), row("B", &comparison.b)];
    let (table, _) =
        provenance(&runs.iter().take(RUNS).map(|(label, document)| (label.clone(), *document)).collect::<Vec<_>>());
    Section {
        id: "provenance".into(),
        title: "Provenance".into(),
        lead: if comparison.is_paired {
            "The runs were measured in turn, so slow drift weighs on both sides alike.".into()
        } else {
            "The sides were measured at different times: whatever changed meanwhile weighs on one of them.".into()
        },
        blocks: vec![
            Block::Table(Table { caption: "The sides".into(), columns, rows }),
            differences_block(&comparison.differences),
            Block::Table(table),
        ],
    }
}
