//! The page of `punctual report --html`: recordings side by side.

use crate::device::are_of_several_origins;
use crate::encode::html::curve::{Curve, CurveLine, Mark, survival};
use crate::encode::html::setting::{context, provenance};
use crate::encode::html::table::{Column, Table, Value};
use crate::encode::html::{Block, Drawing, Page, Picture, Section, colours};
use crate::layout::{agreeing, counted};
use crate::recording::followed::never_slept_in_words;
use crate::recording::judged::LATE_WAKEUPS;
use crate::recording::names::part_names;
use crate::recording::over_time::{MAX_HISTORIES, Recorded, over_time};
use crate::recording::requests::requests_section;
use crate::{Measurement, StageRow, stage_rows};
use punctual_device::Profile;
use punctual_forecast::JudgedDevice;
use punctual_forecast::Outcome;
use punctual_recording::{Document, Stage, format_ns};

/// The page of one or more recordings. `devices` holds what would have happened to devices in each part of
/// `measurement`, `recorded` the recordings that the parts were merged from.
pub fn recording_page(measurement: &Measurement, devices: &[Vec<JudgedDevice>], recorded: &[Recorded]) -> Page {
    let parts: Vec<(String, &Document)> = part_names(&measurement.parts)
        .into_iter()
        .zip(measurement.parts.iter().map(|(_, document)| document))
        .collect();
    let first = parts.first().map(|(_, document)| *document);
    let host = first.and_then(|document| document.provenance.host.name.clone());
    let mut sections = vec![shares(&parts, devices)];
    let part_names: Vec<&str> = parts.iter().map(|(name, _)| name.as_str()).collect();
    sections.extend(device_section(&part_names, devices));
    sections.extend(measurement.cycles.iter().enumerate().map(|(index, cycles)| {
        let mut section = cycles.section();
        // An anchor is unique on its page.
        section.id = if index == 0 { section.id } else { format!("{}-{}", section.id, index + 1) };
        section
    }));
    sections.extend(requests_section(&parts));
    sections.push(stages(&parts));
    sections.extend(over_time(recorded));
    sections.push(provenance_section(&parts));
    let mut blind: Vec<String> = Vec::new();
    for note in parts.iter().flat_map(|(_, document)| &document.provenance.blind) {
        if !blind.contains(note) {
            blind.push(note.clone());
        }
    }
    Page {
        title: host.map_or_else(|| "How late wakeups ran".to_owned(), |host| format!("How late wakeups ran on {host}")),
        context: context("punctual report", first),
        verdict: measurement.verdict.clone(),
        next: measurement.next.clone(),
        warnings: warnings(&parts),
        blind,
        sections,
        report: crate::answer::value(&crate::ReportAnswer::new(measurement, &[])),
    }
}

/// Where recordings beside one another come from.
pub(crate) fn provenance_section(parts: &[(String, &Document)]) -> Section {
    let (table, differing) = provenance(parts);
    let lead = match (parts.len(), differing) {
        (0 | 1, _) => "The machine, its settings and the command that measured.".to_owned(),
        (_, 0) => "Nothing that was recorded differs between the recordings.".to_owned(),
        (_, lines) => {
            let differ = agreeing(lines, "differs", "differ");
            format!("{} {differ} between the recordings, set in bold.", counted(lines, "line"))
        }
    };
    Section { id: "provenance".into(), title: "Provenance".into(), lead, blocks: vec![Block::Table(table)] }
}

/// What was lost, missed or done differently from the request, in every part.
pub(crate) fn warnings(parts: &[(String, &Document)]) -> Vec<String> {
    let mut warnings = Vec::new();
    for (name, document) in parts {
        let of = if parts.len() > 1 { format!("{name}: ") } else { String::new() };
        let provenance = &document.provenance;
        let mut say = |text: String| {
            let line = format!("{of}{text}");
            if !warnings.contains(&line) {
                warnings.push(line);
            }
        };
        if document.ended.is_none() {
            say("the recording was cut short: its last second or so is missing".to_owned());
        }
        for note in provenance.notes() {
            say(note.clone());
        }
        let counters = &document.counters;
        if counters.lost > 0 {
            say(format!(
                "{} {} measured and lost, because writing could not keep up",
                counted(counters.lost, "wakeup"),
                agreeing(counters.lost, "was", "were")
            ));
        }
        if let Some(missed) = counters.missed.filter(|missed| *missed > 0) {
            say(format!("{} went by without a wakeup (missed)", counted(missed, "period")));
        }
        if counters.unobserved > 0 {
            let unobserved = counted(counters.unobserved, "wakeup");
            // One of punctual's own threads reports its total itself; of any other thread nothing is known but that it
            // ran.
            say(match document.followed {
                None => {
                    format!("no kernel event was seen for {unobserved}, so only the total is known (unobserved)")
                }
                Some(_) => {
                    format!("no kernel event was seen for {unobserved}, so nothing is known of them (unobserved)")
                }
            });
        }
        never_slept_in_words(document).into_iter().for_each(&mut say);
        if let Some(steal) = counters.wakeup_steal_ns.filter(|steal| *steal > 0) {
            say(format!(
                "at most {} of all latency together was time in which the host ran something else",
                format_ns(steal)
            ));
        }
    }
    warnings
}

fn line_of(document: &Document, measure: &str, stage: Stage, name: &str, style: usize) -> CurveLine {
    survival(name, style, &document.distributions.sum_of(measure, stage, None))
}

/// All measures, those with the most wakeups first: with followed threads there may be hundreds.
fn measures_of(parts: &[(String, &Document)]) -> Vec<String> {
    let mut measures: Vec<(u64, String)> = Vec::new();
    for (_, document) in parts {
        for measure in document.distributions.measures() {
            let count = document.distributions.sum_of(&measure, Stage::Total, None).count();
            match measures.iter_mut().find(|(_, known)| *known == measure) {
                Some((sum, _)) => *sum += count,
                None => measures.push((count, measure)),
            }
        }
    }
    measures.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    measures.into_iter().map(|(_, measure)| measure).collect()
}

fn spoken(stage: Stage) -> String {
    format!("{} ({})", stage.name().replace('_', " "), stage.meaning().replace("->", "→"))
}

/// Where devices stop coping: their slacks.
pub(crate) fn marks(slacks: impl Iterator<Item = (String, i64)>) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    for (name, slack) in slacks {
        if let Ok(ns) = u64::try_from(slack)
            && !marks.iter().any(|mark| mark.name == name)
        {
            marks.push(Mark { ns, name });
        }
    }
    marks.sort_by_key(|mark| mark.ns);
    marks
}

fn shares(parts: &[(String, &Document)], devices: &[Vec<JudgedDevice>]) -> Section {
    let mut blocks = Vec::new();
    let measures = measures_of(parts);
    if let [(_, document)] = parts {
        blocks.extend(all_measures(document, &measures).map(Block::Picture));
    }
    for (number, measure) in measures.iter().take(MAX_HISTORIES).enumerate() {
        if measures.len() > 1 {
            blocks.push(Block::Heading(measure.clone()));
        }
        let all = || devices.iter().flatten().map(|row| &row.answer.device);
        let own = devices.iter().flatten().filter(|row| row.measure == *measure);
        let slacks = own.map(|row| {
            let device = &row.answer.device;
            (device.name_among(all()), device.slack_ns())
        });
        let beside: Vec<(&str, &str, &Document)> =
            parts.iter().map(|(name, document)| (name.as_str(), measure.as_str(), *document)).collect();
        blocks.extend(share_pictures(&format!("share-{number}"), &beside, marks(slacks)));
    }
    if measures.len() > MAX_HISTORIES {
        blocks.push(Block::Text(format!(
            "Not drawn: {} of threads.",
            counted(measures.len() - MAX_HISTORIES, "more name")
        )));
    }
    Section {
        id: "share".into(),
        title: "Latency distribution".into(),
        lead: "x: latency; y: share of wakeups at least that late; both logarithmic. The sooner a line \
               falls, the better; where it bends to the right, the tail begins."
            .into(),
        blocks,
    }
}

/// The totals of several measures (ways to wait, priorities, threads) in one picture, so that they can be compared.
fn all_measures(document: &Document, measures: &[String]) -> Option<Picture> {
    let has = |stage: &Stage| {
        measures.iter().take(MAX_HISTORIES).any(|of| document.distributions.sum_of(of, *stage, None).count() > 0)
    };
    let stages: Vec<Stage> = Stage::ALL.into_iter().filter(has).collect();
    let drawn = measures.iter().take(MAX_HISTORIES).enumerate();
    let lines = drawn.map(|(index, measure)| {
        line_of(document, measure, Stage::Total, measure, colours::of_part_beside(index, &stages))
    });
    let lines: Vec<CurveLine> = lines.filter(|line| line.count > 0).collect();
    (lines.len() > 1).then(|| Picture {
        id: "share-measures".to_owned(),
        title: "Share of wakeups above each total latency, in one picture.".to_owned(),
        caption: "A name in the legend hides its line.".to_owned(),
        drawing: Drawing::Curve(Curve::of(lines.clone(), &lines)),
    })
}

/// The shares of a measure above each latency: each part has a name, the measure's name there, and a document.
pub(crate) fn share_pictures(id: &str, parts: &[(&str, &str, &Document)], marks: Vec<Mark>) -> Vec<Block> {
    let picture = |which: &str, title: String, caption: &str, curve: Curve| Picture {
        id: format!("{id}-{which}"),
        title,
        caption: caption.to_owned(),
        drawing: Drawing::Curve(curve),
    };
    let lines = |stage: Stage| -> Vec<CurveLine> {
        let each = parts.iter().enumerate().map(|(index, (name, measure, document))| {
            // A single line has the style of the stage; several have those of their parts.
            let style = if parts.len() == 1 { colours::of_stage(stage) } else { colours::of_part(index) };
            line_of(document, measure, stage, name, style)
        });
        each.filter(|line| line.count > 0).collect()
    };
    let by_stage: Vec<(Stage, Vec<CurveLine>)> =
        Stage::ALL.into_iter().map(|stage| (stage, lines(stage))).filter(|(_, lines)| !lines.is_empty()).collect();
    let all: Vec<CurveLine> = by_stage.iter().flat_map(|(_, lines)| lines.clone()).collect();
    let mut overview = if let [(_, measure, document)] = parts {
        let named = by_stage.iter().map(|(stage, _)| {
            line_of(document, measure, *stage, &stage.name().replace('_', " "), colours::of_stage(*stage))
        });
        // The total comes first, because the verdict is about it.
        let mut lines: Vec<CurveLine> = named.collect();
        lines.sort_by_key(|line| line.style != colours::TOTAL);
        Curve::of(lines, &all)
    } else {
        let total = lines(Stage::Total);
        Curve::of(total.clone(), &total)
    };
    overview.marks = marks;
    let (title, caption) = if parts.len() == 1 && overview.lines.len() > 1 {
        ("Share of wakeups above each latency, by stage.", "A stage in the legend hides its line.")
    } else {
        ("Share of wakeups above each total latency.", "From what was to wake the thread until it ran.")
    };
    let mut blocks = vec![Block::Picture(picture("all", title.into(), caption, overview))];
    if parts.len() > 1 && by_stage.len() > 1 {
        let gallery = by_stage.into_iter().filter(|(stage, _)| *stage != Stage::Total).map(|(stage, lines)| {
            let mut curve = Curve::of(lines, &all);
            curve.small = true;
            picture(&stage.name().replace('_', "-"), spoken(stage), "", curve)
        });
        blocks.push(Block::Heading("Each stage by itself".to_owned()));
        blocks.push(Block::Gallery(gallery.collect()));
    }
    blocks
}

/// The content of small pictures: a name, and for each line its name and document.
pub(crate) struct Panel<'a> {
    pub(crate) name: String,
    pub(crate) lines: Vec<(&'a str, &'a Document)>,
}

impl Panel<'_> {
    fn curve_lines(&self, measure: &str, stage: Stage) -> Vec<CurveLine> {
        let each = self.lines.iter().enumerate();
        let lines = each.map(|(number, (name, document))| line_of(document, measure, stage, name, number + 1));
        lines.filter(|line| line.count > 0).collect()
    }
}

/// A small picture for each stage of each panel, all with the same axes.
pub(crate) fn load_pictures(measure: &str, panels: &[Panel<'_>]) -> Vec<Block> {
    let is_drawn = |stage: &Stage| !matches!(stage, Stage::Total | Stage::Wake | Stage::User);
    let stages: Vec<Stage> = Stage::ALL.into_iter().filter(is_drawn).collect();
    let mut all: Vec<CurveLine> = Vec::new();
    for panel in panels {
        all.extend(stages.iter().flat_map(|stage| panel.curve_lines(measure, *stage)));
    }
    let mut blocks = Vec::new();
    for stage in stages {
        let mut pictures = Vec::new();
        for (number, panel) in panels.iter().enumerate() {
            let lines = panel.curve_lines(measure, stage);
            if lines.is_empty() {
                continue;
            }
            let mut curve = Curve::of(lines, &all);
            curve.small = true;
            pictures.push(Picture {
                id: format!("load-{}-{number}", stage.name().replace('_', "-")),
                title: panel.name.clone(),
                caption: String::new(),
                drawing: Drawing::Curve(curve),
            });
        }
        if !pictures.is_empty() {
            blocks.push(Block::Heading(spoken(stage)));
            blocks.push(Block::Gallery(pictures));
        }
    }
    blocks
}

/// What would have happened to devices in each part.
fn device_section(names: &[&str], devices: &[Vec<JudgedDevice>]) -> Option<Section> {
    let mut keys: Vec<(&str, &Profile)> = Vec::new();
    for row in devices.iter().flatten() {
        let key = (row.measure.as_str(), &row.answer.device);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let first = keys.first()?.0;
    let several = keys.iter().any(|(measure, _)| *measure != first);
    let mut columns = vec![Column::words("device"), Column::numbers("tolerance us"), Column::numbers("slack us")];
    if several {
        columns.insert(1, Column::words("threads"));
    }
    for name in names {
        columns.push(Column::numbers(format!("late wakeups, {name}")));
        columns.push(Column::words(format!("forecast, {name}")));
    }
    let are_grouped = are_of_several_origins(keys.iter().map(|(_, device)| *device));
    if are_grouped {
        columns.push(Column::words("whose"));
    }
    let rows = keys.iter().map(|(measure, device)| {
        let of = |rows: &'_ [JudgedDevice]| {
            rows.iter().position(|row| row.measure == *measure && row.answer.device == **device)
        };
        let found: Vec<Option<&JudgedDevice>> = devices.iter().map(|rows| Some(&rows[of(rows)?])).collect();
        let slack = u64::try_from(device.slack_ns()).ok();
        let name = device.name_among(keys.iter().map(|(_, other)| *other));
        let mut cells = vec![Value::text(name), Value::Ns(Some(device.tolerance_ns())), Value::Ns(slack)];
        if several {
            cells.insert(1, Value::text(*measure));
        }
        for row in found {
            cells.push(Value::Count(row.map(|row| row.late_wakeups)));
            cells.push(row.map_or_else(|| Value::text("–"), forecast));
        }
        if are_grouped {
            cells.push(Value::text(device.origin.whose()));
        }
        cells
    });
    let table = Table { caption: format!("{LATE_WAKEUPS} (in parentheses: 95 %)"), columns, rows: rows.collect() };
    Some(Section {
        id: "devices".into(),
        title: "What this means for devices".into(),
        lead: "A device with n buffers of length t that takes c to compute one may begin (n-1)·t - c late: its slack. Dotted lines in \
               the picture above mark the slacks."
            .into(),
        blocks: vec![Block::Table(table)],
    })
}

fn forecast(row: &JudgedDevice) -> Value {
    let words = crate::forecast::outcome_in_words(&row.answer);
    match row.answer.underruns.outcome {
        Outcome::Holds => Value::Good(words),
        Outcome::Fails => Value::Bad(words),
        Outcome::HoldsAsRecorded | Outcome::Unknown => Value::Text(format!("? {words}")),
    }
}

fn stage_table(caption: String, rows: &[&StageRow], several: bool, by_cpu: bool) -> Table {
    let mut columns = vec![Column::words("stage"), Column::words("from → to")];
    if several {
        columns.push(Column::words("threads"));
    }
    if by_cpu {
        columns.push(Column::numbers("CPU"));
    }
    columns.extend(
        ["wakeups", "min us", "mean us", "p50 us", "p99 us", "p99.9 us", "p99.99 us", "max us"].map(Column::numbers),
    );
    let rows = rows.iter().map(|row| {
        let mut cells =
            vec![Value::text(row.stage.name().replace('_', " ")), Value::text(row.stage.meaning().replace("->", "→"))];
        if several {
            cells.push(Value::text(row.measure.clone()));
        }
        if by_cpu {
            cells.push(Value::text(row.cpu.map_or_else(|| "all".to_owned(), |cpu| cpu.to_string())));
        }
        cells.push(Value::Count(Some(row.count)));
        let times = [row.min_ns, row.mean_ns, row.p50_ns, row.p99_ns, row.p99_9_ns, row.p99_99_ns, row.max_ns];
        cells.extend(times.map(Value::Ns));
        cells
    });
    Table { caption, columns, rows: rows.collect() }
}

fn stages(parts: &[(String, &Document)]) -> Section {
    let mut blocks = Vec::new();
    // Only followed threads have work, and none of those has a first instruction.
    let adds_up = match parts.iter().any(|(_, document)| document.followed.is_some()) {
        true => {
            "The stages above the total add up to it exactly, up to when the thread was switched in; work goes on from there until it \
             blocks again, and response is both"
        }
        false => "The first five stages of a wakeup add up to its total exactly",
    };
    for (name, document) in parts {
        let rows = stage_rows(document);
        let several = document.distributions.measures().len() > 1;
        let all: Vec<&StageRow> = rows.iter().filter(|row| row.cpu.is_none()).collect();
        let each: Vec<&StageRow> = rows.iter().filter(|row| row.cpu.is_some()).collect();
        let did = match document.provenance.load.scores.as_slice() {
            [] => String::new(),
            scores => format!("; the load did {}", crate::load::scores_in_words(scores)),
        };
        let caption = format!("Stages, {name}: {}{did}", counted(document.counters.wakeups, "wakeup"));
        blocks.push(Block::Table(stage_table(caption, &all, several, false)));
        let cpus = document.distributions.cpus().len();
        if cpus > 1 {
            let table = stage_table(format!("Stages, {name}, each CPU"), &each, several, true);
            blocks.push(Block::Folded(format!("Each of {cpus} CPUs by itself"), vec![Block::Table(table)]));
        }
    }
    Section {
        id: "stages".into(),
        title: "Stages".into(),
        lead: format!(
            "Where the time went. {adds_up}; quantiles and maxima do not, for they belong to different wakeups. Times in microseconds; – \
             where there are too few wakeups to say."
        ),
        blocks,
    }
}
