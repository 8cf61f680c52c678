//! A comparison of inputs as text for people.

use super::words::{cause_in_words, difference, label_in_words, limits, signed, value};
use crate::compare::difference_table;
use crate::layout::{agreeing, as_fine_percent, counted, fitting, table};
use crate::verdict::interact::compare::inputs_verdict;
use punctual_comparison::Standing;
use punctual_comparison::interact::{FigureComparison, GroupComparison, InputComparison, InputSummary, Parts};
use punctual_recording::format_ns;
use std::fmt::Write as _;

/// How many kinds have their parts shown, and how many parts of each; JSON has all.
const SPLIT: usize = 4;
const PARTS: usize = 6;
/// How many of the things typed are shown.
const LABELS: usize = 12;

/// The comparison as text: the verdict, what is missing, then tables.
pub fn interact_comparison_text(comparison: &InputComparison) -> String {
    let mut text = format!("{}\n", inputs_verdict(comparison));
    for note in &comparison.notes {
        let _ = writeln!(text, "note: {note}");
    }
    let _ = writeln!(text);
    for (label, side) in [("A", &comparison.a), ("B", &comparison.b)] {
        let _ = writeln!(text, "{label}  {}", side_line(side));
    }
    if comparison.standing == Standing::OtherPace {
        let _ = writeln!(text, "\n{}", paces_table(comparison));
    }
    if !comparison.kinds.is_empty() {
        kinds(&mut text, comparison);
    }
    let nothing = comparison.different().next().is_none();
    for kind in comparison.different().take(SPLIT).chain(comparison.nearest().filter(|_| nothing)) {
        parts(&mut text, kind);
    }
    if !comparison.labels.is_empty() {
        let _ = writeln!(
            text,
            "\nBy what was typed often enough{}\n\n{}",
            if comparison.has_limits() { "; these limits hold together by themselves and decide nothing" } else { "" },
            figures_table(&comparison.labels[..comparison.labels.len().min(LABELS)], label_in_words, |group| {
                group.shown().into_iter().collect()
            })
        );
    }
    if comparison.differences.is_empty() {
        let _ = writeln!(text, "\nNo other difference is recorded.");
    } else {
        let _ = writeln!(text, "\nWhat else differs\n\n{}", difference_table(&comparison.differences));
    }
    text
}

fn kinds(text: &mut String, comparison: &InputComparison) {
    let _ = writeln!(
        text,
        "\nFrom input to seen by kind of input{}\n\n{}",
        if comparison.has_limits() { "; all limits of B - A hold at once with 95 % probability" } else { "" },
        figures_table(
            &comparison.kinds,
            |group| group.group.kind.clone(),
            |group| { group.figures.iter().chain(&group.waiting).collect() }
        )
    );
}

fn side_line(side: &InputSummary) -> String {
    format!(
        "{}: {}, {}, {} of {} seen, waited {} of {} ({})",
        side.name,
        fitting(&side.program, 40),
        counted(side.runs as u64, "run"),
        side.seen,
        counted(side.inputs, "input"),
        format_ns(side.waited_ns),
        format_ns(side.lasted_ns),
        as_fine_percent(side.waited_ns, side.lasted_ns)
    )
}

/// Both paces side by side, over all inputs but the start.
fn paces_table(comparison: &InputComparison) -> String {
    let row = |label: &str, side: &InputSummary| {
        let time = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), format_ns);
        vec![
            format!("{label} {}", fitting(&side.pace, 20)),
            side.inputs.to_string(),
            side.merged.to_string(),
            time(side.until_seen_ns),
            time(side.waited_per_input_ns),
            time(side.cpu_per_input_ns),
        ]
    };
    let header = ["pace", "inputs", "with a later one", "half seen within", "needed for each", "CPU time of each"];
    table(&header, 1..6, [row("A", &comparison.a), row("B", &comparison.b)])
}

fn figures_table(
    groups: &[GroupComparison],
    name: impl Fn(&GroupComparison) -> String,
    figures: impl Fn(&GroupComparison) -> Vec<&FigureComparison>,
) -> String {
    let rows = groups.iter().flat_map(|group| {
        let named = (name(group), format!("{} {}", group.sides[0].seen, group.sides[1].seen));
        let rows: Vec<Vec<String>> = figures(group)
            .into_iter()
            .enumerate()
            .map(|(index, figure)| {
                let (name, seen) = if index == 0 { named.clone() } else { Default::default() };
                vec![
                    name,
                    seen,
                    figure.ratio.figure.name.to_owned(),
                    value(figure, 0),
                    value(figure, 1),
                    difference(figure),
                    limits(figure).unwrap_or_else(|| if figure.has_limits { "any" } else { "-" }.to_owned()),
                    figure.outcome().map_or("-", |outcome| outcome.name()).to_owned(),
                ]
            })
            .collect();
        rows
    });
    table(&["input", "seen", "", "A", "B", "B - A", "limits", "B is"], 3..6, rows)
}

/// Where the time of the inputs near the reported figure went.
fn parts(text: &mut String, kind: &GroupComparison) {
    let Some((figure, parts)) = kind.shown().and_then(|shown| Some((shown, shown.parts.as_ref()?))) else { return };
    let near = near_in_words(figure.ratio.figure.level);
    let _ = writeln!(
        text,
        "\nWhat {near} of {} took: {} {} of A and {} of B, means that add up\n",
        kind.group.kind,
        parts.inputs[0],
        agreeing(parts.inputs[0], "input", "inputs"),
        parts.inputs[1]
    );
    let _ = writeln!(text, "{}", table(&["", "A", "B", "B - A"], 1..4, parts_rows(parts)));
}

/// The inputs that a figure's parts come from.
pub(super) fn near_in_words(level: f64) -> &'static str {
    match level {
        _ if level <= 0.0 => "all",
        _ if level <= 0.5 => "the middle half",
        _ if level <= 0.9 => "the slowest tenth",
        _ => "the slowest hundredth",
    }
}

fn parts_rows(parts: &Parts) -> Vec<Vec<String>> {
    let row = |name: String, [a, b]: [i64; 2]| {
        vec![name, format_ns(a.unsigned_abs()), format_ns(b.unsigned_abs()), signed(b.saturating_sub(a) as f64)]
    };
    let (shown, others) = parts.largest(PARTS);
    let rows = shown.iter().map(|part| row(fitting(&cause_in_words(&part.cause), 48), part.ns));
    rows.chain([row("everything else".to_owned(), others), row("in all".to_owned(), parts.mean_ns)]).collect()
}
