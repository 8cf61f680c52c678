//! A reservation as a page: the plane of period and budget, what was tried on it and what was predicted.

use super::counts::Columns;
use super::model::{ReserveReport, in_words};
use super::text::{class_in_words, setting_in_words};
use crate::encode::head::{Head, Part, standing};
use crate::encode::plain_page::{coordinate, escape, prose};
use crate::layout::thousandths;
use punctual_recording::format_ns;
use punctual_reserve::{AttemptCounts, Class, Reservation, Setting, Trial};
use std::fmt::Write as _;

/// The page, one file.
pub fn html(report: &ReserveReport<'_>) -> String {
    let mut job = String::new();
    if let Some(recommended) = report.recommended {
        let _ = writeln!(job, "<p>{}</p>", prose(&report.cost(recommended)));
    }
    let _ = writeln!(job, "<p>{}</p>", prose(&report.job_in_words()));
    let (rule, supply, count) = report.wrong();
    let drawn = format!(
        "{}<p class=\"soft\">● sufficient, ◐ marginal (some attempts failed), × insufficient, ? not judged, ◇ recommended; empty \
         places were not tried. The lines are the least that two models call sufficient: the rule of the soft modem paper \
         (dashed), wrong for {rule} of {count} trials, and the least supply of a reservation that knows nothing of its job \
         (solid), wrong for {supply}. A model without a line calls nothing in the picture sufficient.</p>\n",
        plane(report)
    );
    let mut tried = trials(report);
    proof(report, &mut tried);
    let parts = [
        Part::new("job", "The job", job),
        Part::new("plane", "The plane", drawn),
        Part::new("tried", "What was tried", tried),
    ];
    let notes = report.all_notes();
    let head = Head {
        title: &format!("A reservation for {}", report.thread),
        context: "punctual reserve",
        verdict: &report.verdict(),
        next: &report.next,
        warnings: &notes,
        blind: &[],
    };
    standing(&head, &parts, "")
}

const LEFT: f64 = 46.0;
const TOP: f64 = 12.0;
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 300.0;
const BOTTOM: f64 = HEIGHT - 44.0;

/// Where things are drawn: a column for each period, shares upwards.
struct Scale {
    periods: Vec<u64>,
    least: f64,
    most: f64,
}

impl Scale {
    fn of(reservations: &[Reservation]) -> Option<Scale> {
        let mut periods: Vec<u64> = reservations.iter().map(|tried| tried.period_ns).collect();
        periods.sort_unstable();
        periods.dedup();
        let shares = || reservations.iter().map(|tried| share(*tried));
        let (least, most) = (shares().fold(f64::MAX, f64::min), shares().fold(0.0, f64::max));
        let margin = ((most - least) / 10.0).max(0.01);
        (!periods.is_empty()).then(|| Scale { periods, least: (least - margin).max(0.0), most: most + margin })
    }

    fn width(&self) -> f64 {
        (WIDTH - LEFT - 10.0) / self.periods.len() as f64
    }

    fn x(&self, period_ns: u64) -> f64 {
        let column = self.periods.iter().position(|&period| period == period_ns).unwrap_or(0);
        LEFT + self.width() * (column as f64 + 0.5)
    }

    fn y(&self, share: f64) -> f64 {
        BOTTOM - (share - self.least) / (self.most - self.least) * (BOTTOM - TOP)
    }
}

fn share(reservation: Reservation) -> f64 {
    reservation.budget_ns as f64 / reservation.period_ns as f64
}

/// How far left of its place the mark of the recommendation is, in the picture's units.
const RECOMMENDED_APART: f64 = 16.0;
/// The width and the height of a mark, in the picture's units.
const MARK: f64 = 16.0;

fn plane(report: &ReserveReport<'_>) -> String {
    let tried: Vec<(&Trial, Reservation)> = report
        .trials
        .iter()
        .filter_map(|trial| match trial.setting {
            Setting::Reserved(reservation) => Some((trial, reservation)),
            _ => None,
        })
        .collect();
    let mut shown: Vec<Reservation> = tried.iter().map(|(_, reservation)| *reservation).collect();
    shown.extend(report.recommended);
    let Some(scale) = Scale::of(&shown) else { return "<p>No reservation was tried.</p>\n".to_owned() };
    let mut out = format!(
        "<figure><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\" \
         aria-label=\"Reservations tried, by period and share of a CPU\">\n"
    );
    axes(&scale, &mut out);
    for &period_ns in &scale.periods {
        predicted(report, &scale, period_ns, &mut out);
    }
    let mut places: Vec<(f64, f64)> = Vec::new();
    for (trial, reservation) in &tried {
        let letter = match trial.class() {
            Class::Sufficient => "●",
            Class::Marginal => "◐",
            Class::Insufficient => "×",
            Class::NotJudged => "?",
        };
        let name = format!(
            "{}, {} % of a CPU: {}, {} of {}",
            setting_in_words(trial.setting),
            thousandths(reservation.share_thousandths() * 100),
            class_in_words(trial.class()),
            trial.succeeded,
            punctual_recording::counted(trial.attempts, "attempt")
        );
        let aside = free_place(&mut places, (scale.x(reservation.period_ns), scale.y(share(*reservation))));
        mark(&scale, *reservation, aside, letter, &name, &mut out);
    }
    if let Some(recommended) = report.recommended {
        let name = format!("recommended: {}", in_words(recommended.budget_ns, recommended.period_ns));
        // Hardly larger than the smallest that sufficed, whose mark it would cover: so it goes beside that.
        mark(&scale, recommended, -RECOMMENDED_APART, "◇", &name, &mut out);
    }
    out.push_str("</svg></figure>\n");
    out
}

/// How far right of its place a mark goes so that it covers none before it.
fn free_place(places: &mut Vec<(f64, f64)>, (x, y): (f64, f64)) -> f64 {
    let mut aside = 0.0;
    while places.iter().any(|place| (place.0 - x - aside).abs() < MARK && (place.1 - y).abs() < MARK) {
        aside += MARK;
    }
    places.push((x + aside, y));
    aside
}

fn mark(scale: &Scale, reservation: Reservation, aside: f64, letter: &str, name: &str, out: &mut String) {
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" style=\"font-size:14px\">{letter}<title>{}</title></text>",
        coordinate(scale.x(reservation.period_ns) + aside),
        coordinate(scale.y(share(reservation)) + 5.0),
        escape(name)
    );
}

fn axes(scale: &Scale, out: &mut String) {
    let _ = writeln!(out, "<path class=\"axis\" d=\"M{LEFT} {TOP}V{BOTTOM}H{}\"/>", WIDTH - 10.0);
    for step in 0..=4 {
        let share = scale.least + (scale.most - scale.least) * f64::from(step) / 4.0;
        let y = scale.y(share);
        let _ = writeln!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {y}H{}\"/><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{:.0} %</text>",
            WIDTH - 10.0,
            LEFT - 5.0,
            coordinate(y + 4.0),
            100.0 * share,
            y = coordinate(y)
        );
    }
    for &period_ns in &scale.periods {
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            coordinate(scale.x(period_ns)),
            BOTTOM + 16.0,
            format_ns(period_ns)
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">period, and share of a CPU</text>",
        coordinate(f64::midpoint(LEFT, WIDTH)),
        HEIGHT - 8.0
    );
}

/// The least share of this period that each model calls sufficient, if the picture includes it.
fn predicted(report: &ReserveReport<'_>, scale: &Scale, period_ns: u64, out: &mut String) {
    let steps = || (1..=1_000u64).map(|step| Reservation { budget_ns: period_ns * step / 1_000, period_ns });
    let rule = steps().find(|tried| report.predicted(*tried).0);
    let supply = steps().find(|tried| report.predicted(*tried).1);
    for (found, class) in [(rule, "said"), (supply, "late")] {
        let Some(found) = found.filter(|found| (scale.least..=scale.most).contains(&share(*found))) else { continue };
        let half = 0.42 * scale.width();
        let _ = writeln!(
            out,
            "<path class=\"{class}\" d=\"M{} {}h{}\"/>",
            coordinate(scale.x(period_ns) - half),
            coordinate(scale.y(share(found))),
            coordinate(2.0 * half)
        );
    }
}

fn trials(report: &ReserveReport<'_>) -> String {
    let columns = Columns::of(report.trials.iter().map(|trial| &trial.counts));
    let mut out = format!(
        "<div class=\"wide\" tabindex=\"0\"><table><caption>Trials</caption><thead><tr><th scope=\"col\">setting</th>\
         <th scope=\"col\" class=\"n\">attempts</th><th scope=\"col\">class</th>{}</tr></thead><tbody>\n",
        headings(&columns)
    );
    for trial in report.trials {
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"n\">{} of {}</td><td>{}</td>{}</tr>",
            escape(&setting_in_words(trial.setting)),
            trial.succeeded,
            trial.attempts,
            class_in_words(trial.class()),
            cells(&columns, &trial.counts)
        );
    }
    out + "</tbody></table></div>\n"
}

fn headings(columns: &Columns) -> String {
    columns.headings().iter().map(|heading| format!("<th scope=\"col\" class=\"n\">{heading}</th>")).collect()
}

fn cells(columns: &Columns, counts: &AttemptCounts) -> String {
    columns.cells(counts).iter().map(|cell| format!("<td class=\"n\">{}</td>", escape(cell))).collect()
}

fn proof(report: &ReserveReport<'_>, body: &mut String) {
    let Some(proof) = &report.proof else { return };
    let sides = [("as it was", &proof.before), ("with the reservation", &proof.with)];
    let columns = Columns::of(sides.map(|(_, counts)| counts));
    let _ = writeln!(
        body,
        "<h3>Measured again</h3>\n<div class=\"wide\" tabindex=\"0\"><table class=\"short\"><caption>In turn</caption><thead><tr>\
         <th scope=\"col\">side</th>{}</tr></thead><tbody>",
        headings(&columns)
    );
    for (name, counts) in sides {
        let _ = writeln!(body, "<tr><th scope=\"row\">{name}</th>{}</tr>", cells(&columns, counts));
    }
    body.push_str("</tbody></table></div>\n");
    if let Ok(comparison) = &proof.comparison {
        let _ = writeln!(body, "<p>How late it came to run (A as it was, B with it): {}</p>", prose(comparison));
    }
}
