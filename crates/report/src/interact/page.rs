//! The page of a recording of `punctual interact`.

use super::account::account;
use super::answer::InteractAnswer;
use super::code::{about_in_words, block};
use super::counters::counters_block;
use super::histogram::histogram_block;
use super::key_rows::keys_table;
use super::model::InteractReport;
use super::over_time::over_time_blocks;
use super::spent::Part;
use super::toolkit::events_blocks;
use crate::answer::value;
use crate::encode::html::curve::{Curve, CurveLine, Mark, survival};
use crate::encode::html::history::History;
use crate::encode::html::intervals::{Band, BandLine, Interval};
use crate::encode::html::setting::{began, provenance};
use crate::encode::html::table::{Column, Table, Value};
use crate::encode::html::{Block, Drawing, Page, Section, Subject, colours};
use crate::layout::as_fine_percent;
use punctual_recording::{Distribution, Interaction, START, counted, format_ns};

/// Columns of pictures over time are no narrower than this, ns.
const NARROWEST_NS: u64 = 20_000_000;
/// How many kinds have a line of their own.
const LINES: usize = 6;
/// Causes in the first table.
const SHOWN: usize = 15;
/// Points of the cumulative curve.
const POINTS: usize = 400;

/// The page of a recording of inputs.
pub fn interact_page(report: &InteractReport<'_>) -> Page {
    let document = report.document;
    let host = document.provenance.host.name.clone();
    let context: Vec<String> =
        ["punctual interact".to_owned()].into_iter().chain(host).chain(began(document)).collect();
    let mut sections = vec![latencies(report)];
    sections.extend(over_time(report));
    sections.extend(causes(report));
    sections.push(longest(report));
    sections.extend(counters_block(report).map(|blocks| Section {
        id: "counters".into(),
        title: "What was counted".into(),
        lead: "From the kernel's account in /proc, and by the processor. A dash means that it does not tell.".into(),
        blocks,
    }));
    sections.extend(events_blocks(report).map(|blocks| {
        Section {
            id: "events".into(),
            title: "What toolkits passed on".into(),
            lead:
                "Events as the program's toolkit names them. Times run from an input to the first event of that name \
             that it caused."
                    .into(),
            blocks,
        }
    }));
    sections.push(waiting(report));
    let (table, _) = provenance(&[("inputs".to_owned(), document)]);
    sections.push(Section {
        id: "provenance".into(),
        title: "Provenance".into(),
        lead: "The machine, its settings and the command that measured.".into(),
        blocks: vec![Block::Table(table)],
    });
    let program = report.summary.program.first().map_or("a program", String::as_str);
    let mut warnings = document.provenance.fallbacks.clone();
    warnings.extend(report.warnings());
    Page {
        title: format!("How long you wait for {}", program.rsplit('/').next().unwrap_or(program)),
        context: context.join(" · "),
        verdict: report.verdict(),
        next: report.next_steps(),
        warnings,
        blind: document.provenance.blind.clone(),
        sections,
        report: value(&InteractAnswer::new(report, &[])),
    }
}

fn latencies(report: &InteractReport<'_>) -> Section {
    let beyond = |all: &Distribution, least: u64, quantile: f64| {
        if all.count() >= least { all.quantile(quantile) } else { None }
    };
    let row = |name: String, inputs: u64, all: &Distribution| {
        vec![
            Value::text(name),
            Value::Count(Some(inputs)),
            Value::Count(Some(all.count())),
            Value::Ns(all.min()),
            Value::Ns(beyond(all, 2, 0.5)),
            Value::Ns(beyond(all, 10, 0.9)),
            Value::Ns(beyond(all, 100, 0.99)),
            Value::Ns(all.max()),
        ]
    };
    let kinds = report.kinds.iter().map(|kind| row(kind.kind.clone(), kind.inputs, &kind.latencies));
    let tasks = report.tasks.iter().map(|(task, all)| row(format!("task {task}"), all.count(), all));
    let numbers = ["inputs", "seen", "min us", "p50 us", "p90 us", "p99 us", "max us"];
    let table = Table {
        caption: "From input to seen".into(),
        columns: [Column::words("input")].into_iter().chain(numbers.map(Column::numbers)).collect(),
        rows: kinds.chain(tasks).collect(),
    };
    let mut blocks = vec![Block::Table(table)];
    let shown = report.kinds.iter().filter(|kind| kind.latencies.count() > 0 && kind.kind != START).take(LINES);
    let lines: Vec<CurveLine> =
        shown.enumerate().map(|(place, kind)| survival(&kind.kind, colours::of_part(place), &kind.latencies)).collect();
    if !lines.is_empty() {
        let mut curve = Curve { of: Subject::Inputs, ..Curve::of(lines.clone(), &lines) };
        curve.marks = vec![Mark { ns: super::USUAL_PATIENCE_NS, name: "noticed".to_owned() }];
        blocks.push(Block::picture(
            "latency-kinds",
            "How many inputs took how long.",
            "The share of inputs that took at least this long, by kind.",
            Drawing::Curve(curve),
        ));
    }
    blocks.extend(histogram_block(report));
    blocks.extend(first_and_later(report).map(Block::Table));
    blocks.extend(keys_table(report).map(Block::Table));
    if report.summary.followed {
        blocks.push(Block::Table(ends(report)));
    }
    Section {
        id: "latency".into(),
        title: "How long inputs took".into(),
        lead: "From the moment of an input to the last output that the program made because of it.".into(),
        blocks,
    }
}

/// The first of each key beside later ones, for kinds that have both.
fn first_and_later(report: &InteractReport<'_>) -> Option<Table> {
    let rows = report.kinds.iter().filter(|kind| kind.cold.count() > 0 && kind.warm.count() > 0 && kind.kind != START);
    let rows: Vec<Vec<Value>> = rows
        .map(|kind| {
            let of = |all: &Distribution| {
                [Value::Count(Some(all.count())), Value::Ns(all.quantile(0.5)), Value::Ns(all.max())]
            };
            let spread = [kind.warm.mean(), kind.warm_deviation_ns].map(Value::Ns);
            let first = [Value::text(kind.kind.clone())].into_iter().chain(of(&kind.cold));
            first.chain(of(&kind.warm)).chain(spread).collect()
        })
        .collect();
    let numbers = ["first", "median us", "max us", "later", "median us", "max us", "mean us", "deviation us"];
    let table = Table {
        caption: "The first of each key, and later ones".into(),
        columns: [Column::words("input")].into_iter().chain(numbers.map(Column::numbers)).collect(),
        rows,
    };
    (!table.rows.is_empty()).then_some(table)
}

fn ends(report: &InteractReport<'_>) -> Table {
    let row = |name: &str, end: &dyn Fn(&Interaction) -> Option<u64>| {
        let mut all = Distribution::new();
        report
            .typed()
            .filter_map(|input| Some(end(input)?.saturating_sub(input.begin_ns)))
            .for_each(|ns| all.record(ns));
        vec![Value::text(name), Value::Count(Some(all.count())), Value::Ns(all.quantile(0.5)), Value::Ns(all.max())]
    };
    Table {
        caption: "The ends of an input, side by side".into(),
        columns: [Column::words("from input to")]
            .into_iter()
            .chain(["inputs", "p50 us", "max us"].map(Column::numbers))
            .collect(),
        rows: vec![
            row("taken by the program", &|input| input.got_ns),
            row("blocked: it asks for more with nothing queued", &|input| input.blocked_ns),
            row("busy: its CPUs fall idle", &|input| input.busy_ns),
            row("seen: the last output it caused", &|input| input.seen_ns),
            row("reached the user", &|input| input.arrived_ns),
        ],
    }
}

fn over_time(report: &InteractReport<'_>) -> Option<Section> {
    let begin = report.inputs.iter().map(|input| input.begin_ns).min()?;
    let end = report.inputs.iter().map(|input| input.end_ns).max()?;
    let mut history = History::between(begin, end.max(begin + NARROWEST_NS), NARROWEST_NS, Subject::Inputs)?;
    for input in report.typed() {
        if let Some(latency) = input.latency_ns() {
            history.take(0, input.begin_ns, latency);
        }
    }
    history.close();
    let (lines_ns, cells_ns) = (history.extent_ns()?, history.latency_ns()?);
    let heat = history.latency_heat(cells_ns);
    let cell = format_ns(heat.column_ns);
    let blocks = vec![
        Block::picture(
            "time-lines",
            "Inputs over time.",
            &format!("Longest and median of every {}.", format_ns(history.column_ns())),
            Drawing::Series(history.series(lines_ns)),
        ),
        Block::picture(
            "time-lengths",
            "How many inputs took how long, over time.",
            &format!("A cell is {cell} long; the stronger the colour, the more inputs."),
            Drawing::Heat(heat),
        ),
    ];
    Some(Section {
        id: "time".into(),
        title: "When".into(),
        lead: "An input is shown at the time when it was put in.".into(),
        blocks,
    })
}

fn causes(report: &InteractReport<'_>) -> Option<Section> {
    let all: u64 = report.causes.iter().map(|cause| cause.ns).sum();
    if all == 0 {
        return None;
    }
    let table = |caption: String, causes: &[super::spent::Cause]| {
        let rows = causes.iter().map(|cause| {
            vec![
                Value::text(cause.on.words()),
                Value::text(as_fine_percent(cause.ns, all)),
                Value::Ns(Some(cause.ns)),
                Value::Count(Some(cause.inputs)),
                Value::Ns(Some(cause.unknown_ns)),
            ]
        });
        Block::Table(Table {
            caption,
            columns: [Column::words("what was waited for"), Column::words("share")]
                .into_iter()
                .chain(["us", "inputs", "unexplained us"].map(Column::numbers))
                .collect(),
            rows: rows.collect(),
        })
    };
    let (first, rest) = report.causes.split_at(report.causes.len().min(SHOWN));
    let mut blocks = vec![table("What was waited for".to_owned(), first)];
    if !rest.is_empty() {
        let caption = format!("{} that took less", rest.len());
        blocks.push(Block::Folded(caption.clone(), vec![table(caption, rest)]));
    }
    Some(Section {
        id: "causes".into(),
        title: "What was waited for".into(),
        lead: "The time from an input until it was seen, split completely: the parts of an input add up to it \
             exactly."
            .into(),
        blocks,
    })
}

fn longest(report: &InteractReport<'_>) -> Section {
    let rows = report.start.iter().chain(&report.longest).flat_map(|(at, parts)| {
        let input = &report.inputs[*at];
        let first = vec![
            Value::text(format!("{:.3}", report.since_start(input.begin_ns) as f64 / 1e9)),
            Value::text(format!("{} {}", input.kind, input.label)),
            Value::text(input.task.clone()),
            Value::Ns(input.latency_ns()),
        ];
        let told = parts.iter().take(3).enumerate().map(|(place, part)| {
            let words = part.on.words();
            let words = if part.detail.is_empty() { words } else { format!("{words} ({})", part.detail) };
            let head = if place == 0 { None } else { Some(vec![Value::text(""); 3]) };
            (head, Value::text(words), Value::Ns(Some(part.ns)))
        });
        let mut rows: Vec<Vec<Value>> = Vec::new();
        for (head, words, ns) in told {
            let mut row = head.map_or_else(
                || first.clone(),
                |mut head| {
                    head.push(Value::text(""));
                    head
                },
            );
            row.extend([words, ns]);
            rows.push(row);
        }
        if rows.is_empty() {
            let mut row = first;
            row.extend([Value::text("not split"), Value::Ns(None)]);
            rows.push(row);
        }
        rows
    });
    let columns = vec![
        Column::words("at, s"),
        Column::words("input"),
        Column::words("task"),
        Column::numbers("latency us"),
        Column::words("waited for"),
        Column::numbers("us"),
    ];
    let table = Table { caption: "The start, and the longest inputs".into(), columns, rows: rows.collect() };
    let blocks = [Block::Table(table)].into_iter().chain(code_blocks(report)).collect();
    Section {
        id: "longest".into(),
        title: "The longest inputs".into(),
        lead: "Times in microseconds; the first column in seconds from the beginning. The largest three parts of each."
            .into(),
        blocks,
    }
}

/// How stacks were sampled, and the call trees of the start and the longest inputs.
fn code_blocks(report: &InteractReport<'_>) -> Vec<Block> {
    let about = about_in_words(report.summary.code.as_ref()).map(|words| Block::Text(format!("Code: {words}.")));
    let of_input = |(at, parts): &(usize, Vec<Part>)| {
        let input = &report.inputs[*at];
        let at_s = report.since_start(input.begin_ns) as f64 / 1e9;
        let seen = parts.iter().filter_map(|part| Some((part, report.code.of_part(input.number, &part.on)?)));
        let told = seen.map(|(part, tree)| {
            let samples = counted(tree.count(), "sample");
            let title = format!("{at_s:.3} s, {} {}: {}, {samples}", input.kind, input.label, part.on.words());
            block(title, tree)
        });
        told.collect::<Vec<Block>>()
    };
    about.into_iter().chain(report.start.iter().chain(&report.longest).flat_map(of_input)).collect()
}

fn waiting(report: &InteractReport<'_>) -> Section {
    let (waited, lasted) = (report.waited_ns(), report.lasted_ns());
    let mut words = format!(
        "Until inputs were seen {} passed, {} of the {} that the session lasted.",
        format_ns(waited),
        as_fine_percent(waited, lasted),
        format_ns(lasted)
    );
    if let Some((waited_1996, compared)) = report.waited_1996_ns() {
        words.push_str(&format!(
            " Of {} of it the machine of 1996, which knows CPU, queue and synchronous I/O, calls {} waiting and {} thinking: it \
             knows no timers.",
            format_ns(compared),
            format_ns(waited_1996),
            format_ns(compared.saturating_sub(waited_1996))
        ));
    }
    let mut blocks = vec![Block::Text(words)];
    blocks.extend(over_time_blocks(report));
    blocks.extend(account(report).map(|words| Block::Text(format!("By the kernel's account: {words}."))));
    let cumulative = report.cumulative();
    if let Some(line) = cumulative_line(&cumulative) {
        let curve = Curve { of: Subject::Waiting, ..Curve::of(vec![line.clone()], &[line]) };
        blocks.push(Block::picture(
            "cumulative",
            "How much of the waiting is in long inputs.",
            "The share of all waiting that is in inputs that took at least this long.",
            Drawing::Curve(curve),
        ));
    }
    blocks.extend(responsiveness(report));
    blocks.push(Block::Table(responsiveness_by_kind(report)));
    blocks.extend(responsiveness_by_threshold(report).map(Block::Table));
    Section {
        id: "waiting".into(),
        title: "Waiting".into(),
        lead: "The sums count what is over a threshold of patience T, to the first and to the second power. Such sums \
             leave much out: read them beside the curves."
            .into(),
        blocks,
    }
}

/// By how much inputs exceeded a threshold, over all thresholds.
fn responsiveness(report: &InteractReport<'_>) -> Option<Block> {
    let curve: Vec<_> = report.curve().into_iter().filter(|(threshold, over, _)| *over > 0 && *threshold > 0).collect();
    if curve.len() < 2 {
        return None;
    }
    let line = BandLine {
        name: "p = 1".into(),
        style: colours::TOTAL,
        ns: curve.iter().map(|(threshold, ..)| *threshold).collect(),
        seconds: curve
            .iter()
            .map(|(_, over, _)| Interval { low: None, estimate: Some(*over as f64 / 1e9), high: None })
            .collect(),
    };
    let band = Band { x_axis: "T, ms".into(), y_axis: "sum of max(0, latency - T)".into(), lines: vec![line] };
    Some(Block::picture(
        "responsiveness",
        "Responsiveness over the threshold.",
        "How much longer than T inputs took, all together.",
        Drawing::Band(band),
    ))
}

fn responsiveness_by_kind(report: &InteractReport<'_>) -> Table {
    let rows = report.kinds.iter().filter(|kind| kind.latencies.count() > 0).map(|kind| {
        vec![
            Value::text(kind.kind.clone()),
            Value::Ns(Some(kind.patience_ns)),
            Value::Ns(Some(kind.over_ns)),
            Value::text(format!("{:.1}", kind.over_squared_ms)),
        ]
    });
    Table {
        caption: "Responsiveness by kind".into(),
        columns: vec![
            Column::words("input"),
            Column::numbers("T us"),
            Column::numbers("sum of max(0, latency - T) us"),
            Column::numbers("of its squares ms2"),
        ],
        rows: rows.collect(),
    }
}

/// Both sums over other thresholds, up to the longest input.
fn responsiveness_by_threshold(report: &InteractReport<'_>) -> Option<Table> {
    let curve = report.curve().into_iter().filter(|(_, over_ns, _)| *over_ns > 0);
    let rows: Vec<Vec<Value>> = curve
        .map(|(threshold_ns, over_ns, squares)| {
            vec![Value::text(format_ns(threshold_ns)), Value::Ns(Some(over_ns)), Value::text(format!("{squares:.1}"))]
        })
        .collect();
    let columns = vec![
        Column::words("T"),
        Column::numbers("sum of max(0, latency - T) us"),
        Column::numbers("of its squares ms2"),
    ];
    (!rows.is_empty()).then(|| Table { caption: "Responsiveness over other thresholds".into(), columns, rows })
}

/// Waiting, us, in inputs that took at least a given time, ascending.
fn cumulative_line(cumulative: &[(u64, u64)]) -> Option<CurveLine> {
    let all = cumulative.last()?.1 / 1_000;
    let step = cumulative.len().div_ceil(POINTS).max(1);
    let mut line =
        CurveLine { name: "waiting".into(), style: colours::TOTAL, count: all.max(1), ..CurveLine::default() };
    let last = cumulative.len() - 1;
    for (at, (latency, waited)) in cumulative.iter().enumerate().rev() {
        if at % step != 0 && at != last {
            continue;
        }
        if line.ns.last() != Some(latency) {
            line.ns.push(*latency);
            line.at_least.push((waited / 1_000).max(1));
        }
    }
    Some(line)
}
