//! Text for people.

use crate::verdict::{grouped, spoken_duration};
use crate::{Measurement, StageRow, load_name, stage_rows};
use comfy_table::{CellAlignment, Table, presets};
use punctual_recording::{Counters, Document, format_ns};
use std::fmt::Write;

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

/// A table without lines: the first `left` columns are words, the others numbers.
pub fn table(header: &[&str], left: usize, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header.to_vec());
    for row in rows {
        table.add_row(row);
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((1, 1));
        if index >= left {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let text: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    text.join("\n")
}

/// The report on one or more recordings.
pub fn measurement_text(measurement: &Measurement) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}", measurement.verdict);
    for note in notes(measurement) {
        let _ = writeln!(text, "note: {note}");
    }
    for (path, document) in &measurement.parts {
        let _ = writeln!(text, "\n{}", heading(document));
        let _ = writeln!(text, "{}", losses(document));
        let rows = stage_rows(document);
        let shown = rows.iter().filter(|row| measurement.by_cpu || row.cpu.is_none());
        let several = document.distributions.measures().len() > 1;
        let _ = writeln!(text, "\n{}", stage_table(shown, several, measurement.by_cpu));
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
    for (_, document) in &measurement.parts {
        let provenance = &document.provenance;
        for note in provenance.fallbacks.iter().chain(&provenance.load.trouble) {
            if !notes.contains(note) {
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

fn losses(document: &Document) -> String {
    let Counters { wakeups, missed, unobserved, lost, wakeup_steal_ns, steal_ns, cpu_ns } = document.counters;
    let missed = missed.map_or_else(|| "-".to_owned(), grouped);
    let mut line = format!("missed {missed}   unobserved {}   lost {}", grouped(unobserved), grouped(lost));
    if let Some(steal) = steal_ns {
        let _ = write!(line, "   host steal {}", format_ns(steal));
        if let Some(within) = wakeup_steal_ns {
            let _ = write!(line, " (at most {} of it within wakeups)", format_ns(within));
        }
    }
    if let Some(cost) = cpu_ns.checked_div(wakeups) {
        let _ = write!(line, "   cost {} of CPU a wakeup", format_ns(cost));
    }
    line
}

fn stage_table<'a>(rows: impl Iterator<Item = &'a StageRow>, several: bool, by_cpu: bool) -> String {
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
        left,
        rows.map(|row| {
            let mut cells = vec![row.stage.name().to_owned(), row.stage.meaning().to_owned()];
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

fn device_table(measurement: &Measurement) -> String {
    let mut loads: Vec<&str> = Vec::new();
    let mut ids: Vec<&str> = Vec::new();
    for row in &measurement.devices {
        if !loads.contains(&row.load.as_str()) {
            loads.push(&row.load);
        }
        if !ids.contains(&row.profile.id.as_str()) {
            ids.push(&row.profile.id);
        }
    }
    let headings: Vec<String> = loads.iter().map(|load| format!("late, load {load}")).collect();
    let mut header = vec!["device", "buffers", "tolerance", "slack"];
    header.extend(headings.iter().map(String::as_str));
    let signed = |slack: i64| match u64::try_from(slack) {
        Ok(slack) => format_ns(slack),
        Err(_) => "none".to_owned(),
    };
    let rows = ids.iter().filter_map(|id| {
        let mut of_device = measurement.devices.iter().filter(|row| row.profile.id == *id);
        let first = of_device.clone().next()?;
        let profile = &first.profile;
        let mut tolerance = format_ns(profile.tolerance_ns());
        if let Some(printed) = &profile.printed {
            let (from, to) = printed.tolerance_ns;
            tolerance += &format!(" ({} to {})", format_ns(from), format_ns(to));
        }
        let mut cells = vec![
            profile.name.clone(),
            format!("{} of {}", profile.buffers, format_ns(profile.period_ns)),
            tolerance,
            signed(first.slack_ns),
        ];
        for load in &loads {
            let over = of_device.find(|row| row.load == *load).map(|row| grouped(row.over));
            cells.push(over.unwrap_or_else(|| "-".to_owned()));
        }
        Some(cells)
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let mut text =
        "How often each device's slack was exceeded (in parentheses: the range its source prints)\n\n".to_owned();
    text += &table(&header, 1, rows);
    text
}
