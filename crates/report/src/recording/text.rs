//! Text for people.

use crate::recording::verdict::{grouped, spoken_duration};
use crate::{Measurement, StageRow, load_name, stage_rows};
use comfy_table::{CellAlignment, Table, presets};
use punctual_recording::{Counters, Document, Stage, format_ns};
use std::collections::HashSet;
use std::fmt::Write;
use std::ops::Range;

/// Nanoseconds as microseconds, rounded to the tenth.
pub fn microseconds(nanoseconds: Option<u64>) -> String {
    nanoseconds.map_or_else(
        || "-".to_owned(),
        |nanoseconds| {
            let tenths = nanoseconds.saturating_add(50) / 100;
            format!("{}.{}", tenths / 10, tenths % 10)
        },
    )
}

/// A name that fits into a table: what is longer than this many characters loses its middle.
pub(crate) fn shortened(name: &str, most: usize) -> String {
    let count = name.chars().count();
    if count <= most {
        return name.to_owned();
    }
    let begin: String = name.chars().take(most / 2).collect();
    let end: String = name.chars().skip(count - (most - most / 2 - 1)).collect();
    format!("{begin}…{end}")
}

/// A table without lines; the columns in the range `numbers` are set right, words left. The header may be empty.
pub fn table(header: &[&str], numbers: Range<usize>, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if !header.is_empty() {
        table.set_header(header.to_vec());
    }
    for row in rows {
        table.add_row(row);
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if numbers.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let text: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    text.join("\n")
}

/// Adds the lines of a table below a heading: two blanks before each.
pub(crate) fn indented(out: &mut String, table: &str) {
    for line in table.lines() {
        let _ = writeln!(out, "  {line}");
    }
}

/// The report on one or more recordings.
pub fn measurement_text(measurement: &Measurement) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}", measurement.verdict);
    for note in notes(measurement) {
        let _ = writeln!(text, "note: {note}");
    }
    for (path, document) in &measurement.parts {
        if let Some(followed) = &document.followed {
            let _ =
                write!(text, "\n{}", crate::recording::followed::followed_text(document, followed, measurement.by_cpu));
            if let Some(recorder) = &document.recorder {
                let _ = writeln!(text, "\n{}", crate::why::cost::recorder_lines(recorder, document.ended.is_none()));
            }
            let _ = writeln!(text, "\nrecording: {}", path.display());
            continue;
        }
        let _ = writeln!(text, "\n{}", heading(document));
        let _ = writeln!(text, "{}", losses(document));
        if let Some(line) = load_line(document) {
            let _ = writeln!(text, "{line}");
        }
        if let Some(recorder) = &document.recorder {
            let _ = writeln!(text, "{}", crate::why::cost::recorder_lines(recorder, document.ended.is_none()));
        }
        let rows = stage_rows(document);
        let shown = rows.iter().filter(|row| measurement.by_cpu || row.cpu.is_none());
        let several = document.distributions.measures().len() > 1;
        let _ = writeln!(text, "\n{}", stage_table(shown, several, measurement.by_cpu, false));
        let _ = writeln!(text, "\nrecording: {}", path.display());
    }
    if !measurement.devices.is_empty() {
        let _ = writeln!(text, "\n{}", device_table(measurement));
    }
    text
}

/// What stands before the tables, each once: fallbacks, trouble with the load.
fn notes(measurement: &Measurement) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let mut known: HashSet<&str> = HashSet::new();
    for (_, document) in &measurement.parts {
        let provenance = &document.provenance;
        for note in provenance.fallbacks.iter().chain(&provenance.load.trouble) {
            if known.insert(note) {
                notes.push(note.clone());
            }
        }
        if document.counters.lost > 0 {
            notes.push(format!("{} wakeups were measured and lost", grouped(document.counters.lost)));
        }
    }
    notes
}

fn heading(document: &Document) -> String {
    let provenance = &document.provenance;
    let mut measures: Vec<&str> = document.tasks.iter().map(|task| task.measure.as_str()).collect();
    measures.dedup();
    measures.sort_unstable();
    measures.dedup();
    let cpus: Vec<String> = provenance.configuration.cpus.iter().map(u32::to_string).collect();
    let via = match provenance.configuration.via.as_str() {
        "softirq" => " through a softirq callback",
        _ => "",
    };
    format!(
        "Load {}: {} every {}{via} on CPU {}, {}, {} wakeups",
        load_name(document),
        measures.join(" and "),
        format_ns(provenance.configuration.interval_ns),
        cpus.join(","),
        spoken_duration(document),
        grouped(document.counters.wakeups)
    )
}

/// What the load got done, if that is known.
fn load_line(document: &Document) -> Option<String> {
    let load = &document.provenance.load;
    if load.scores.is_empty() {
        return None;
    }
    let mut line = format!("load did {}", crate::scores_in_words(&load.scores));
    if let Some(compression) = load.compression_thousandths {
        let _ = write!(line, "   an hour of it stands for {} of use", crate::load::thousandths(compression));
    }
    Some(line)
}

fn losses(document: &Document) -> String {
    let Counters { wakeups, missed, unobserved, lost, armed_late, wakeup_steal_ns, steal_ns, cpu_ns } =
        document.counters;
    let missed = missed.map_or_else(|| "-".to_owned(), grouped);
    let mut line = format!("missed {missed}   unobserved {}   lost {}", grouped(unobserved), grouped(lost));
    if let Some(late) = armed_late.filter(|late| *late > 0) {
        let _ = write!(line, "   armed late {}", grouped(late));
    }
    if let Some(steal) = steal_ns {
        let _ = write!(line, "   host steal {}", format_ns(steal));
        if let Some(within) = wakeup_steal_ns {
            let _ = write!(line, " to the tick, at most {} within wakeups", format_ns(within));
        }
    }
    if let Some(cost) = cpu_ns.checked_div(wakeups) {
        let _ = write!(line, "   cost {} of CPU a wakeup", format_ns(cost));
    }
    line
}

pub(crate) fn stage_table<'a>(
    rows: impl Iterator<Item = &'a StageRow>,
    several: bool,
    by_cpu: bool,
    followed: bool,
) -> String {
    let mut header = vec!["stage", "from -> to"];
    if several {
        header.insert(0, "threads");
    }
    if by_cpu {
        header.push("CPU");
    }
    let left = header.len();
    header.extend(["p50", "p99", "p99.9", "p99.99", "max us"]);
    table(
        &header,
        left..header.len(),
        rows.map(|row| {
            let mut cells = vec![row.stage.name().to_owned(), meaning(row.stage, followed).to_owned()];
            if several {
                cells.insert(0, row.measure.clone());
            }
            if by_cpu {
                cells.push(row.cpu.map_or_else(|| "all".to_owned(), |cpu| cpu.to_string()));
            }
            let quantiles = [row.p50_ns, row.p99_ns, row.p99_9_ns, row.p99_99_ns, row.max_ns];
            cells.extend(quantiles.map(microseconds));
            cells
        }),
    )
}

/// What the stage is: a followed thread's chain may begin elsewhere and ends where it is switched in.
fn meaning(stage: Stage, followed: bool) -> &'static str {
    match stage {
        Stage::Total if followed => "timer, interrupt or waker -> switched in",
        _ => stage.meaning(),
    }
}

fn device_table(measurement: &Measurement) -> String {
    let mut loads: Vec<&str> = Vec::new();
    let mut ids: Vec<&str> = Vec::new();
    for row in &measurement.devices {
        if !loads.contains(&row.load.as_str()) {
            loads.push(&row.load);
        }
        if !ids.contains(&row.answer.device.id.as_str()) {
            ids.push(&row.answer.device.id);
        }
    }
    let headings: Vec<String> = loads.iter().map(|load| format!("late, {}", idle_or(load))).collect();
    let last = loads.last().copied().unwrap_or_default();
    let verdict = format!("forecast, {}", idle_or(last));
    let mut header = vec!["device", "tolerance", "slack"];
    header.extend(headings.iter().map(String::as_str));
    header.push(&verdict);
    let rows = ids.iter().filter_map(|id| {
        let of_load =
            |load: &str| measurement.devices.iter().find(move |row| row.answer.device.id == *id && row.load == load);
        let row = of_load(last)?;
        let device = &row.answer.device;
        let mut tolerance = format_ns(device.tolerance_ns());
        if let Some(printed) = &device.printed {
            let (from, to) = printed.tolerance_ns;
            tolerance += &format!(" ({} to {})", format_ns(from), format_ns(to));
        }
        let slack = u64::try_from(device.slack_ns()).map_or("none".to_owned(), format_ns);
        let mut cells = vec![device.name.clone(), tolerance, slack];
        cells.extend(loads.iter().map(|load| of_load(load).map_or("-".to_owned(), |row| grouped(row.late_wakeups))));
        cells.push(crate::forecast::device_verdict(&row.answer));
        Some(cells)
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let mut text = "Wakeups later than each device's slack, and how often it would run dry \
                    (in parentheses after a tolerance: the range its source prints)\n\n"
        .to_owned();
    text += &table(&header, 3..3 + loads.len(), rows);
    text
}

fn idle_or(load: &str) -> &str {
    if load == "none" { "idle" } else { load }
}
