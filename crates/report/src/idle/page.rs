//! The page of a recording of `punctual idle`: gaps of the loops.

use crate::answer::value;
use crate::encode::html::curve::{Curve, CurveLine, survival};
use crate::encode::html::heat::{Cell, Heat};
use crate::encode::html::history::History;
use crate::encode::html::setting::{began, provenance};
use crate::encode::html::table::{Column, Table, Value};
use crate::encode::html::{Block, Drawing, Page, Section, Subject, colours};
use crate::idle::text::{histogram, what_was_lost};
use crate::idle::{IdleAnswer, IdleReport};
use crate::layout::as_fine_percent;
use punctual_recording::{CauseKind, CauseSum, Distribution, Document, Gap, GapDocument, format_ns};

/// Columns of the picture of the time that others took.
const MAX_COLUMNS: usize = 240;
/// How many causes, and longest gaps, tables show; more causes are folded away, and all gaps are in the recording.
const SHOWN: usize = 15;
/// Columns of pictures over time are no narrower than this, ns: at first as long as the recording's own bins.
const NARROWEST_NS: u64 = 10_000_000;

/// All gaps of a recording, in memory that does not grow with their number.
pub struct GapPictures {
    history: Option<History>,
    lengths: [Distribution; CauseKind::ALL.len()],
}

impl GapPictures {
    /// For the gaps of this recording, which come later.
    pub fn new(document: &Document, gaps: &GapDocument) -> GapPictures {
        let started = document.provenance.started_ns;
        let bins = gaps.cpus.iter().map(|cpu| cpu.profile.len() as u64).max().unwrap_or(0);
        let ended = document.ended.as_ref().map_or(0, |ended| ended.at_ns).max(started + bins * gaps.bin_ns);
        let history = History::between(started, ended, NARROWEST_NS, Subject::Gaps);
        GapPictures { history, lengths: std::array::from_fn(|_| Distribution::new()) }
    }

    /// Takes a gap.
    pub fn take(&mut self, gap: &Gap) {
        self.lengths[gap.kind as usize].record(gap.length_ns);
        if let Some(history) = &mut self.history {
            history.take(gap.cpu, gap.start_ns, gap.length_ns);
        }
    }

    /// No more gaps will come.
    pub fn close(&mut self) {
        if let Some(history) = &mut self.history {
            history.close();
        }
    }
}

/// The page of a recording of gaps.
pub fn idle_page(report: &IdleReport<'_>, drawn: &GapPictures) -> Page {
    let document = report.document;
    let host = document.provenance.host.name.clone();
    let context: Vec<String> =
        ["punctual report".to_owned()].into_iter().chain(host.clone()).chain(began(document)).collect();
    let mut sections = vec![lengths(report, drawn)];
    sections.extend(causes(report));
    sections.push(cpus(report.gaps));
    sections.extend(over_time(report.gaps, drawn));
    sections.push(longest(report));
    let (table, _) = provenance(&[("gaps".to_owned(), document)]);
    sections.push(Section {
        id: "provenance".into(),
        title: "Provenance".into(),
        lead: "The machine, its settings and the command that measured.".into(),
        blocks: vec![Block::Table(table)],
    });
    Page {
        title: host.map_or_else(
            || "What took the CPU from a loop that wanted it all".to_owned(),
            |host| format!("What took the CPU on {host}"),
        ),
        context: context.join(" · "),
        verdict: report.verdict(),
        next: crate::after_idle(report),
        warnings: warnings(report),
        blind: document.provenance.blind.clone(),
        sections,
        report: value(&IdleAnswer::new(report, &[])),
    }
}

fn warnings(report: &IdleReport<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    if report.document.ended.is_none() {
        warnings.push("the recording was cut short: its last second or so is missing".to_owned());
    }
    warnings.extend(report.document.provenance.fallbacks.iter().cloned());
    warnings.extend(what_was_lost(report.gaps));
    warnings
}

/// The legend's name for gaps of which this kind took most, and their style.
fn kind_line(kind: CauseKind) -> (&'static str, usize) {
    match kind {
        CauseKind::Irq => ("interrupts", colours::INTERRUPTS),
        CauseKind::Softirq => ("softirqs", colours::SOFTIRQS),
        CauseKind::Thread => ("threads", colours::THREADS),
        CauseKind::Outside => ("outside this kernel", 3),
        CauseKind::Unknown => ("unknown", 5),
        CauseKind::NotFollowed => ("not followed", 6),
    }
}

fn lengths(report: &IdleReport<'_>, drawn: &GapPictures) -> Section {
    let mut all = Distribution::new();
    drawn.lengths.iter().for_each(|lengths| all.add(lengths));
    let mut lines = vec![survival("all gaps", colours::TOTAL, &all)];
    if report.gaps.followed {
        lines.extend(CauseKind::ALL.into_iter().zip(&drawn.lengths).map(|(kind, lengths)| {
            let (name, style) = kind_line(kind);
            survival(name, style, lengths)
        }));
    }
    lines.retain(|line: &CurveLine| line.count > 0);
    let mut blocks = Vec::new();
    if !lines.is_empty() {
        let mut curve = Curve::of(lines.clone(), &lines);
        curve.of = Subject::Gaps;
        let caption = if report.gaps.followed {
            "Each line covers the gaps of which this cause took most, as a share of those alone. A cause in the legend hides its line."
        } else {
            "Nothing was followed in the kernel, so gaps have no causes."
        };
        blocks.push(Block::picture(
            "lengths-all",
            "Share of gaps that were at least this long.",
            caption,
            Drawing::Curve(curve),
        ));
    }
    let rows = histogram(report.gaps).into_iter().map(|(bound, count)| {
        let bound = if bound == u64::MAX { "more".to_owned() } else { format!("up to {}", format_ns(bound)) };
        vec![Value::text(bound), Value::Count(Some(count))]
    });
    blocks.push(Block::Table(Table {
        caption: "Gaps by length".into(),
        columns: vec![Column::words("length of a gap"), Column::numbers("gaps")],
        rows: rows.collect(),
    }));
    Section {
        id: "lengths".into(),
        title: "How long the gaps were".into(),
        lead: format!(
            "A gap is a time in which the loop did not run; those above {} are kept. Both axes are logarithmic: a step to the right is a \
             factor.",
            format_ns(report.gaps.threshold_ns)
        ),
        blocks,
    }
}

fn causes(report: &IdleReport<'_>) -> Option<Section> {
    let gaps = report.gaps;
    if !gaps.followed {
        return None;
    }
    let runtime = report.runtime_ns();
    let row = |cause: &CauseSum| {
        vec![
            Value::text(report.cause(cause.kind, cause.name)),
            Value::text(as_fine_percent(cause.total_ns, runtime)),
            Value::Count(Some(cause.count)),
            Value::Ns(Some(cause.total_ns)),
            Value::Ns(cause.total_ns.checked_div(cause.count)),
            Value::Ns(Some(cause.max_ns)),
        ]
    };
    let table = |caption: &str, causes: &[CauseSum]| {
        Block::Table(Table {
            caption: caption.to_owned(),
            columns: [Column::words("cause"), Column::words("share of the time")]
                .into_iter()
                .chain(["gaps", "total us", "mean us", "max us"].map(Column::numbers))
                .collect(),
            rows: causes.iter().map(row).collect(),
        })
    };
    let (first, rest) = gaps.causes.split_at(gaps.causes.len().min(SHOWN));
    let mut blocks = vec![table("What took the CPU", first)];
    if !rest.is_empty() {
        let caption = format!("{} that took less", rest.len());
        blocks.push(Block::Folded(caption.clone(), vec![table(&caption, rest)]));
    }
    Some(Section {
        id: "causes".into(),
        title: "What took the CPU".into(),
        lead: "The parts of a gap add up to it exactly; a gap may appear in several lines.".into(),
        blocks,
    })
}

fn cpus(gaps: &GapDocument) -> Section {
    let rows = gaps.cpus.iter().map(|cpu| {
        let count = |count: u64| Value::Count(gaps.followed.then_some(count));
        vec![
            Value::text(format!("CPU {}", cpu.cpu)),
            Value::text(as_fine_percent(cpu.runtime_ns.saturating_sub(cpu.noise_ns), cpu.runtime_ns)),
            Value::Ns(Some(cpu.runtime_ns)),
            Value::Ns(Some(cpu.noise_ns)),
            Value::Count(Some(cpu.gaps)),
            Value::Ns(Some(cpu.max_single_ns)),
            Value::Ns(Some(cpu.max_noise_ns)),
            count(cpu.outside),
            count(cpu.irq),
            count(cpu.softirq),
            count(cpu.thread),
        ]
    });
    let numbers = [
        "measured us",
        "gaps us",
        "gaps",
        "longest us",
        "most in a second us",
        "outside",
        "interrupts",
        "softirqs",
        "threads",
    ];
    let table = Table {
        caption: "Each CPU".into(),
        columns: [Column::words("CPU"), Column::words("loop's share")]
            .into_iter()
            .chain(numbers.map(Column::numbers))
            .collect(),
        rows: rows.collect(),
    };
    Section {
        id: "cpus".into(),
        title: "Each CPU".into(),
        lead: "As rtla osnoise counts: interrupts, softirqs and runs of threads inside gaps, and gaps with nothing traced inside.".into(),
        blocks: vec![Block::Table(table)],
    }
}

/// How much of each column's time others took, by CPU.
fn taken(gaps: &GapDocument) -> Option<Heat> {
    let bins = gaps.cpus.iter().map(|cpu| cpu.profile.len()).max().filter(|bins| *bins > 0)?;
    let joined = bins.div_ceil(MAX_COLUMNS);
    let cells = gaps.cpus.iter().enumerate().flat_map(|(row, cpu)| {
        let sums = cpu.profile.chunks(joined).map(|bins| bins.iter().sum::<u64>()).enumerate();
        sums.filter(|(_, sum)| *sum > 0).flat_map(move |(column, sum)| [column as u64, row as u64, sum])
    });
    let column_ns = gaps.bin_ns * joined as u64;
    let mut heat = Heat {
        of: Subject::Gaps,
        column_ns,
        columns: bins.div_ceil(joined),
        names: gaps.cpus.iter().map(|cpu| format!("CPU {}", cpu.cpu)).collect(),
        value: Cell::TakenNs,
        cells: cells.collect(),
        ..Heat::default()
    };
    Heat::share_colours(std::slice::from_mut(&mut heat));
    Some(heat)
}

fn over_time(gaps: &GapDocument, drawn: &GapPictures) -> Option<Section> {
    let mut blocks = Vec::new();
    if let Some(heat) = taken(gaps) {
        let caption =
            format!("A cell is {} long; the stronger the colour, the less the loop had.", format_ns(heat.column_ns));
        let title = "How much of each CPU others took, over time.";
        blocks.push(Block::picture("time-taken", title, &caption, Drawing::Heat(heat)));
    }
    if let Some(history) = &drawn.history
        && let (Some(lines_ns), Some(cells_ns)) = (history.extent_ns(), history.latency_ns())
    {
        let (mut by_length, mut by_cpu) = (history.latency_heat(cells_ns), history.cpu_heat());
        let cell = format_ns(by_length.column_ns);
        Heat::share_colours(std::slice::from_mut(&mut by_length));
        Heat::share_colours(std::slice::from_mut(&mut by_cpu));
        blocks.push(Block::picture(
            "time-cpus",
            "The longest gap of each CPU, over time.",
            &format!("A cell is {cell} long; the stronger the colour, the longer. A gap is drawn where it begins."),
            Drawing::Heat(by_cpu),
        ));
        let series = history.series(lines_ns);
        let caption = format!("{} of every {}.", series.words(), format_ns(history.column_ns()));
        blocks.push(Block::picture("time-lines", "Gaps over time.", &caption, Drawing::Series(series)));
        blocks.push(Block::picture(
            "time-lengths",
            "Gaps by length, over time.",
            &format!("A cell is {cell} long; the stronger the colour, the more gaps."),
            Drawing::Heat(by_length),
        ));
    }
    (!blocks.is_empty()).then(|| Section {
        id: "time".into(),
        title: "When, and on which CPU".into(),
        lead: "This shows bursts and rhythms that the distributions hide.".into(),
        blocks,
    })
}

fn longest(report: &IdleReport<'_>) -> Section {
    let gaps = report.gaps;
    let rows = gaps.longest.iter().take(SHOWN).map(|gap| {
        let (cause, part) = match gap.kind {
            CauseKind::NotFollowed => ("–".to_owned(), None),
            kind => (report.cause(kind, gap.name), gap.cause_ns),
        };
        vec![
            Value::text(format!("{:.6}", report.since_start(gap.start_ns) as f64 / 1e9)),
            Value::text(format!("CPU {}", gap.cpu)),
            Value::Ns(Some(gap.length_ns)),
            Value::text(cause),
            Value::Ns(part),
        ]
    });
    let table = Table {
        caption: "The longest gaps".into(),
        columns: vec![
            Column::words("at, s"),
            Column::words("on"),
            Column::numbers("length us"),
            Column::words("mostly"),
            Column::numbers("of that us"),
        ],
        rows: rows.collect(),
    };
    let mut blocks = vec![Block::Table(table)];
    if !gaps.periods.is_empty() {
        let rows = gaps.periods.iter().map(|period| {
            let what = match period.kind {
                CauseKind::NotFollowed => "gaps".to_owned(),
                kind => report.cause(kind, period.name),
            };
            vec![
                Value::text(what),
                Value::text(format!("CPU {}", period.cpu)),
                Value::Ns(Some(period.period_ns)),
                Value::text(as_fine_percent(period.share_thousandths, 1_000)),
            ]
        });
        blocks.push(Block::Table(Table {
            caption: "What recurs at a steady rate".into(),
            columns: vec![
                Column::words("what"),
                Column::words("on"),
                Column::numbers("every us"),
                Column::words("intervals that fit"),
            ],
            rows: rows.collect(),
        }));
    }
    Section {
        id: "longest".into(),
        title: "The longest gaps".into(),
        lead: "Times in microseconds; the first column in seconds from the beginning.".into(),
        blocks,
    }
}
