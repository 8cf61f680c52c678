//! The study as a page.

use super::histogram::histogram;
use super::notes::notes;
use super::text::{HEADER, cells};
use super::{GROUPS, Row, StudyReport};
use crate::NextStep;
use crate::device::text::binned;
use crate::device::{INTERVAL_BIN_NS, bins, bystander_max};
use crate::encode::head::{Head, Part, standing};
use crate::encode::html::setting::{context, provenance};
use crate::encode::plain_page::escape;
use crate::layout::{counted, thousands};
use crate::microseconds;
use crate::verdict::device::study::study_verdict;
use punctual_device::{keeps_up, pc99};
use punctual_recording::{Stage, format_ns};
use std::fmt::Write as _;

/// The column of whether it kept up.
const HERE: usize = 2;
/// The column of the number of blocks.
const BLOCKS: usize = 5;
/// The columns of the page, where blocks are beside underruns; first those that fit on a telephone.
const ON_PAGE: [usize; 13] = [0, 2, 1, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13];
/// The columns of times.
const TIMES: [usize; 4] = [9, 10, 11, 13];

/// The study as a page.
pub fn html(study: &StudyReport<'_>, next: &[NextStep]) -> String {
    let documents = || study.rows.iter().filter_map(|row| Some((row, row.run.as_ref().ok()?.document)));
    let about = format!(
        "<p>The study of Jones and Saroiu, <i>Predictable Scheduling for a Soft Modem</i> (MSR-TR-2000-88), section 6, with \
         Linux's contexts: {} of work every {}, {} buffers. The bystander is a FIFO 95 thread that wakes every 1 ms on \
         the same CPU. Times are in microseconds. <i>Machine's</i> underruns came while even a FIFO 99 thread was kept from the \
         CPU. <i>Work</i> is what a block's work took, <i>bystander max</i> the longest time between two of the \
         bystander's callbacks. The simulator was asked about a machine without interference.{}{}</p>\n",
        escape(&format_ns(study.profile.compute_ns)),
        escape(&format_ns(study.profile.period_ns)),
        study.profile.buffers,
        study.scaling().map_or_else(String::new, |scaling| format!(" {}", escape(scaling))),
        study.load_in_words().map_or_else(String::new, |load| format!(" {}", escape(&load)))
    );
    let mut parts = vec![Part::new("about", "What was tried", about)];
    for (group, title) in GROUPS {
        let rows: Vec<&Row<'_>> = study.rows.iter().filter(|row| row.group == group).collect();
        if rows.is_empty() {
            continue;
        }
        let mut body = String::new();
        table_html(&rows, title, &mut body);
        match group {
            "contexts" | "control" => rows.iter().for_each(|row| pictures(row, &mut body)),
            "priorities" => rows.iter().for_each(|row| pending_picture(row, &mut body)),
            _ => {}
        }
        parts.push(Part::new(group, title, body));
    }
    if let Some((row, document)) = documents().next() {
        let mut body =
            "<p class=\"soft\">Of the first run; the others differ in their context and what competes.</p>\n"
                .to_owned();
        provenance(&[(row.name(), document)]).0.html(&mut body);
        parts.push(Part::new("provenance", "Provenance", body));
    }
    let head = Head {
        title: &format!("{} in its contexts", study.profile.name),
        context: &context("punctual device study", documents().next().map(|(_, document)| document)),
        verdict: &study_verdict(study),
        next,
        warnings: &notes(study),
        blind: &[],
    };
    standing(&head, &parts, "")
}

/// The columns of [`ON_PAGE`] in which any of these rows has a value. What a device did that could not be tried is not left out.
fn columns(rows: &[&Row<'_>]) -> Vec<usize> {
    let cells: Vec<Vec<String>> = rows.iter().map(|row| cells(row)).collect();
    let is_untried = rows.iter().any(|row| row.run.is_err());
    let has_value = |column: &usize| cells.iter().any(|row| row[*column] != "-");
    ON_PAGE.into_iter().filter(|column| (*column == HERE && is_untried) || has_value(column)).collect()
}

/// Columns of the page's tables: those of the text, with the paper's words below the context, and the blocks beside the
/// underruns.
fn table_html(rows: &[&Row<'_>], title: &str, body: &mut String) {
    let numbers = 5;
    let title = escape(title);
    let _ = write!(
        body,
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table: {title}\"><table><thead><tr>"
    );
    let columns = columns(rows);
    for &column in &columns {
        let class = if column >= numbers { " class=\"n\"" } else { "" };
        let unit = if TIMES.contains(&column) { " us" } else { "" };
        let _ = write!(body, "<th scope=\"col\"{class}>{}{unit}</th>", escape(HEADER[column]));
    }
    body.push_str("</tr></thead><tbody>\n");
    let mut said_before = None;
    for row in rows {
        let differs = row.holds.zip(row.paper_works).is_some_and(|(here, paper)| here != paper);
        body.push_str(if differs { "<tr class=\"fails\">" } else { "<tr>" });
        let mut cells = cells(row);
        if row.device().is_some() {
            cells[BLOCKS + 1] = format!("{} of {}", cells[BLOCKS + 1], cells[BLOCKS]);
        }
        let said = match row.run {
            Err(reason) => format!("unavailable here: {reason}"),
            // Given once for runs of the same context.
            Ok(_) => row.paper.filter(|paper| said_before != Some(*paper)).map_or_else(String::new, |paper| {
                said_before = Some(paper);
                format!("paper: {paper}")
            }),
        };
        for &column in &columns {
            let (cell, tag) = (&cells[column], if column == 0 { "th scope=\"row\"" } else { "td" });
            let class = if column >= numbers { " class=\"n\"" } else { "" };
            let more = match column {
                0 if !said.is_empty() => format!("<span class=\"id\">{}</span>", escape(&said)),
                _ => String::new(),
            };
            let cell = if TIMES.contains(&column) { thousands(cell) } else { cell.clone() };
            let _ = write!(body, "<{tag}{class}>{}{more}</{}>", escape(&cell), &tag[..2]);
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</tbody></table></div>\n");
}

fn pictures(row: &Row<'_>, body: &mut String) {
    let Ok(run) = &row.run else { return };
    let stage = |stage| microseconds(bystander_max(run, stage));
    let _ = writeln!(
        body,
        "<h3>{}</h3><p class=\"soft\">The bystander's worst: irq {} us, thread {} us.{}</p>",
        escape(&row.name()),
        stage(Stage::Irq),
        stage(Stage::Thread),
        row.device().map_or_else(String::new, |device| format!(" PC 99: {}.", escape(&pc99(device).why)))
    );
    let bars = bins(&run.activations.bystander_intervals);
    histogram("Times between the bystander's callbacks, ms", &bars, INTERVAL_BIN_NS, 1e6, Some(6_000_000), body);
    if let Some(device) = row.device() {
        let bin = 100_000;
        histogram("Elapsed in each activation, ms", &binned(&device.elapsed, bin), bin, 1e6, None, body);
    }
    pending_picture(row, body);
}

fn pending_picture(row: &Row<'_>, body: &mut String) {
    let Some(device) = row.device() else { return };
    let samples = device.samples.max(1);
    let kept = match keeps_up(device) {
        Some(true) => String::new(),
        _ => format!(", the ring of {} overflowed or blocks came late", counted(device.ring / samples, "block")),
    };
    let title = format!("Blocks pending after each activation{kept}: {}", row.name());
    let bin = u64::from(samples.div_ceil(4));
    histogram(&title, &binned(&device.pending, bin), bin, f64::from(samples), None, body);
}
