//! Reservations of several soft devices or threads as a page: what each has, what became of all at once, and the plane of each.

use super::plane::{Plane, drawn, trials};
use super::standing::standing_answer;
use super::together::{TogetherDevice, TogetherReport};
use super::words::beside;
use crate::encode::head::Part;
use crate::encode::plain_page::{escape, prose};
use punctual_recording::{Document, counted, format_ns};
use std::fmt::Write as _;

/// The page, one file; `first` is the first recording of the study.
pub fn together_html(report: &TogetherReport<'_>, first: Option<&Document>) -> String {
    let (header, rows) = report.found_table();
    let found = format!("Each was tried together with those above it, {}", beside(report.beside));
    let mut parts = vec![Part::new("found", "What each has", table(&found, (header.as_slice(), 1), &rows))];
    if report.rounds > 0 {
        let (header, rows) = report.measured_table();
        let times = counted(report.rounds, "time");
        let mut body = table(&format!("Measured {times} each in turn"), (header.as_slice(), 2), &rows);
        for note in report.compared_in_words().into_iter().chain(report.raised_in_words()) {
            let _ = writeln!(body, "<p>{}</p>", prose(&note));
        }
        parts.push(Part::new("at-once", "All at once", body));
    }
    let devices = report.rows.iter().enumerate();
    parts.extend(devices.map(|(place, row)| Part::new(format!("device-{}", place + 1), heading(row), device(row))));
    standing_answer(
        &format!("Reservations for {} at once", counted(report.of, report.noun())),
        (&report.verdict(), report.notes),
        &report.next,
        parts,
        first,
    )
}

fn heading(row: &TogetherDevice<'_>) -> String {
    if row.tid.is_some() { row.name() } else { row.spec.to_owned() }
}

fn device(row: &TogetherDevice<'_>) -> String {
    let &TogetherDevice { trials: tried, reservation: recommended, job, lateness_ns, .. } = row;
    let plane = Plane { trials: tried, recommended, job, lateness_ns };
    format!(
        "<p>{} of work every {}, deadline {}.</p>\n{}{}",
        format_ns(job.work_ns),
        format_ns(job.period_ns),
        format_ns(job.deadline_ns),
        drawn(&plane),
        trials(&plane)
    )
}

/// A table whose first columns are words.
pub(super) fn table(caption: &str, (header, words): (&[&str], usize), rows: &[Vec<String>]) -> String {
    let class = |column: usize| if column < words { "" } else { " class=\"n\"" };
    let mut out = format!(
        "<div class=\"wide\" tabindex=\"0\"><table class=\"short\"><caption>{}</caption><thead><tr>",
        escape(caption)
    );
    for (column, heading) in header.iter().enumerate() {
        let _ = write!(out, "<th scope=\"col\"{}>{}</th>", class(column), escape(heading));
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            let (open, close) = if column == 0 { ("<th scope=\"row\"", "</th>") } else { ("<td", "</td>") };
            let _ = write!(out, "{open}{}>{}{close}", class(column), escape(cell));
        }
        out.push_str("</tr>\n");
    }
    out + "</tbody></table></div>\n"
}
