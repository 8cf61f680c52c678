//! A reservation as a page: the plane of period and budget, what was tried on it and what was predicted.

use super::counts::Columns;
use super::model::{ReserveReport, SpinnersReport};
use super::plane::{cells, drawn, headings, trials};
use super::standing::standing_answer;
use super::text::{BYSTANDER, OWN, sides};
use super::words::beside;
use crate::encode::head::Part;
use crate::encode::plain_page::{escape, prose};
use punctual_recording::Document;
use std::fmt::Write as _;

/// The page, one file; `first` is the first recording of the study.
pub fn html(report: &ReserveReport<'_>, first: Option<&Document>) -> String {
    let mut job = String::new();
    if let Some(cost) = report.cost() {
        let _ = writeln!(job, "<p>{}</p>", prose(&cost));
    }
    let _ = writeln!(job, "<p>{}</p>", prose(&report.job_in_words()));
    let plane = report.plane();
    let beside = escape(&beside(report.beside));
    let crowd = report.spinners.as_ref().map_or_else(String::new, SpinnersReport::html);
    let mut tried = format!("{crowd}<p>Tried {beside}.</p>\n{}", trials(&plane));
    proof(report, &mut tried);
    let parts = vec![
        Part::new("job", "The job", job),
        Part::new("plane", "The plane", drawn(&plane)),
        Part::new("tried", "What was tried", tried),
    ];
    standing_answer(
        &format!("A reservation for {}", report.thread),
        (&report.verdict(), &report.all_notes()),
        &report.next,
        parts,
        first,
    )
}

fn proof(report: &ReserveReport<'_>, body: &mut String) {
    let Some(proof) = &report.proof else { return };
    let sides = sides(proof, report.not_enough, "with the reservation");
    let columns = Columns::of(sides.iter().map(|(_, counts)| *counts));
    let _ = writeln!(
        body,
        "<h3>Measured again</h3>\n<div class=\"wide\" tabindex=\"0\"><table class=\"short\"><caption>Measured in turn</caption><thead><tr>\
         <th scope=\"col\">side</th>{}</tr></thead><tbody>",
        headings(&columns)
    );
    for (name, counts) in sides {
        let _ = writeln!(body, "<tr><th scope=\"row\">{}</th>{}</tr>", escape(&name), cells(&columns, counts));
    }
    body.push_str("</tbody></table></div>\n");
    if let Ok(comparison) = &proof.comparison {
        let what = if report.tid.is_some() { OWN } else { BYSTANDER };
        let _ = writeln!(body, "<p>{what} (A as it was, B with the reservation): {}</p>", prose(comparison));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reserve::text::tests::{report, trial};
    use crate::reserve::text::text;
    use punctual_reserve::Setting;

    #[test]
    fn what_was_measured_beside_is_said_and_so_is_that_nothing_was_added() {
        let trials = [trial(Setting::AsItWas, 0)];
        for (added, says) in [
            ("", "Tried with no load added, beside whatever else this machine was doing"),
            ("make -j & echo", "Tried beside make -j & echo"),
            ("spin:normal", "Tried beside spin:normal"),
        ] {
            let report = ReserveReport { beside: added, ..report(&trials) };
            let (text, page) = (text(&report), html(&report, None));
            assert!(text.contains(&format!("\n{says}:\n")), "{text}");
            assert!(page.contains(&format!("<p>{}.</p>", says.replace('&', "&amp;"))), "{page}");
        }
    }
}
