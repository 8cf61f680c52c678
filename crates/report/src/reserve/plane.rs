//! The plane of period and budget: what was tried on it, and what two models predicted.

use super::counts::Columns;
use super::words::{in_words, predicted_in_words, setting_in_words, shown_in_words};
use crate::encode::plain_page::{coordinate, escape};
use crate::layout::thousandths;
use punctual_recording::format_ns;
use punctual_reserve::{AttemptCounts, Class, Job, Reservation, Setting, Trial, by_rule, by_supply};
use std::fmt::Write as _;

/// The trials of one thread or device.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plane<'a> {
    pub(super) trials: &'a [Trial],
    pub(super) recommended: Option<Reservation>,
    /// What predictions are for.
    pub(super) job: Job,
    /// How late its wakeups were at most without waiting for the CPU, ns.
    pub(super) lateness_ns: u64,
}

impl Plane<'_> {
    /// What the two models predict of a reservation: the paper's rule, and the least supply.
    pub(super) fn predicted(&self, reservation: Reservation) -> (bool, bool) {
        (by_rule(self.job, reservation), by_supply(self.job, self.lateness_ns, reservation))
    }

    /// The least reservations of this period that the two models call sufficient, if they do so of any, and how they are drawn.
    fn lines(&self, period_ns: u64) -> impl Iterator<Item = (Reservation, &'static str)> {
        let least = |is_sufficient: &dyn Fn((bool, bool)) -> bool| {
            (1..=1_000u64)
                .map(|step| Reservation { budget_ns: period_ns * step / 1_000, period_ns })
                .find(|tried| is_sufficient(self.predicted(*tried)))
        };
        let (rule, supply) = (least(&|(rule, _)| rule), least(&|(_, supply)| supply));
        [(rule, "said"), (supply, "cross")].into_iter().filter_map(|(found, class)| Some((found?, class)))
    }

    /// How often the two models were wrong, and out of how many trials that can be judged.
    pub(super) fn wrong(&self) -> (usize, usize, usize) {
        let (mut rule, mut supply, mut count) = (0, 0, 0);
        for (rule_is_wrong, supply_is_wrong) in self.trials.iter().filter_map(|trial| self.wrong_about(trial)) {
            rule += usize::from(rule_is_wrong);
            supply += usize::from(supply_is_wrong);
            count += 1;
        }
        (rule, supply, count)
    }

    /// Whether each of the two models was wrong about a trial; `None` if it has no reservation or cannot be judged.
    fn wrong_about(&self, trial: &Trial) -> Option<(bool, bool)> {
        let Setting::Reserved(reservation) = trial.setting else { return None };
        let holds = trial.class() == Class::Sufficient;
        let (rule, supply) = self.predicted(reservation);
        (trial.class() != Class::NotJudged).then_some((rule != holds, supply != holds))
    }

    /// A trial's share of a CPU, %, and what each of the two models predicted, marked where it was wrong.
    pub(super) fn share_and_predictions(&self, trial: &Trial) -> (String, [String; 2]) {
        let Setting::Reserved(reservation) = trial.setting else {
            return ("-".to_owned(), [String::new(), String::new()]);
        };
        let (rule, supply) = self.predicted(reservation);
        let (rule_is_wrong, supply_is_wrong) = self.wrong_about(trial).unwrap_or_default();
        let share = thousandths(reservation.share_thousandths() * 100);
        (share, [predicted_in_words(rule, rule_is_wrong), predicted_in_words(supply, supply_is_wrong)])
    }
}

/// The plane with its legend.
pub(super) fn drawn(plane: &Plane<'_>) -> String {
    let (rule, supply, count) = plane.wrong();
    format!(
        "{}<p class=\"soft\">● sufficient, ◐ marginal (some attempts failed), × insufficient, ? not judged, ◇ recommended; underlined \
         where a model was wrong, which has a ! in the table; empty places were not tried. The lines are the smallest shares that \
         two models call sufficient: the rule of the soft modem paper (dashed), wrong for {rule} of {count} trials, and the least \
         supply of a reservation out of step with its job (solid), wrong for {supply}. A model without a line calls no share of that period sufficient.</p>\n",
        picture(plane)
    )
}

const LEFT: f64 = 46.0;
const TOP: f64 = 12.0;
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 300.0;
const BOTTOM: f64 = HEIGHT - 44.0;

/// Where things are drawn: a column for each period, shares upwards.
struct Scale {
    periods: Vec<u64>,
    /// The least that each model calls sufficient of each period, and how its line is drawn.
    lines: Vec<(Reservation, &'static str)>,
    least: f64,
    most: f64,
}

impl Scale {
    /// A scale on which all these are, and the models' lines of their periods.
    fn of(plane: &Plane<'_>, reservations: &[Reservation]) -> Option<Scale> {
        let mut periods: Vec<u64> = reservations.iter().map(|tried| tried.period_ns).collect();
        periods.sort_unstable();
        periods.dedup();
        let lines: Vec<_> = periods.iter().flat_map(|&period_ns| plane.lines(period_ns)).collect();
        let shares = || reservations.iter().chain(lines.iter().map(|(line, _)| line)).map(|shown| share(*shown));
        let (least, most) = (shares().fold(f64::MAX, f64::min), shares().fold(0.0, f64::max));
        let margin = ((most - least) / 10.0).max(0.01);
        let (least, most) = ((least - margin).max(0.0), most + margin);
        (!periods.is_empty()).then_some(Scale { periods, lines, least, most })
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

fn picture(plane: &Plane<'_>) -> String {
    let tried: Vec<(&Trial, Reservation)> = plane
        .trials
        .iter()
        .filter_map(|trial| match trial.setting {
            Setting::Reserved(reservation) => Some((trial, reservation)),
            _ => None,
        })
        .collect();
    let mut shown: Vec<Reservation> = tried.iter().map(|(_, reservation)| *reservation).collect();
    shown.extend(plane.recommended);
    let Some(scale) = Scale::of(plane, &shown) else { return "<p>No reservation was tried.</p>\n".to_owned() };
    let mut out = format!(
        "<figure><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\" \
         aria-label=\"Reservations tried, by period and share of a CPU\">\n"
    );
    axes(&scale, &mut out);
    predicted(&scale, &mut out);
    let beside =
        |recommended: Reservation| (scale.x(recommended.period_ns) - RECOMMENDED_APART, scale.y(share(recommended)));
    let mut places: Vec<(f64, f64)> = plane.recommended.map(beside).into_iter().collect();
    for (trial, reservation) in &tried {
        let letter = match trial.class() {
            Class::Sufficient => "●",
            Class::Marginal => "◐",
            Class::Insufficient => "×",
            Class::NotJudged => "?",
        };
        let (rule_is_wrong, supply_is_wrong) = plane.wrong_about(trial).unwrap_or_default();
        let wrong = match (rule_is_wrong, supply_is_wrong) {
            (false, false) => "",
            (true, false) => "; the rule was wrong",
            (false, true) => "; the least supply was wrong",
            (true, true) => "; both models were wrong",
        };
        let name = format!(
            "{}, {} % of a CPU: {}, {} of {}{wrong}",
            setting_in_words(trial.setting),
            thousandths(reservation.share_thousandths() * 100),
            shown_in_words(trial),
            trial.succeeded,
            punctual_recording::counted(trial.attempts, "attempt")
        );
        let aside = free_place(&mut places, (scale.x(reservation.period_ns), scale.y(share(*reservation))));
        mark(&scale, *reservation, aside, (letter, !wrong.is_empty()), &name, &mut out);
    }
    if let Some(recommended) = plane.recommended {
        let name = format!("recommended: {}", in_words(recommended.budget_ns, recommended.period_ns));
        // It is hardly larger than the smallest that sufficed, whose mark it would cover, so it goes beside that.
        mark(&scale, recommended, -RECOMMENDED_APART, ("◇", false), &name, &mut out);
    }
    out.push_str("</svg></figure>\n");
    out
}

/// How far right of its place, or left if that is negative, a mark has to go so that it covers no earlier one and stays in
/// the picture. Where there is no such place it stays where it belongs: the table has every trial.
fn free_place(places: &mut Vec<(f64, f64)>, (x, y): (f64, f64)) -> f64 {
    let is_free = |aside: &f64| {
        let place = x + aside;
        let is_inside = (LEFT + MARK / 2.0..=WIDTH - MARK / 2.0).contains(&place);
        is_inside && !places.iter().any(|taken| (taken.0 - place).abs() < MARK && (taken.1 - y).abs() < MARK)
    };
    let steps = (0..=(WIDTH / MARK) as u32).map(|step| f64::from(step) * MARK);
    let aside = steps.flat_map(|step| [step, -step]).find(is_free).unwrap_or(0.0);
    places.push((x + aside, y));
    aside
}

fn mark(
    scale: &Scale,
    reservation: Reservation,
    aside: f64,
    (letter, is_underlined): (&str, bool),
    name: &str,
    out: &mut String,
) {
    let underlined = if is_underlined { ";text-decoration:underline" } else { "" };
    // The lines of the models end before a mark, so that its shape can be told.
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" class=\"halo\" text-anchor=\"middle\" style=\"font-size:14px{underlined}\">{letter}<title>{}</title></text>",
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
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">x: period; y: share of a CPU</text>",
        coordinate(f64::midpoint(LEFT, WIDTH)),
        HEIGHT - 8.0
    );
}

/// The least that each model calls sufficient.
fn predicted(scale: &Scale, out: &mut String) {
    let half = 0.42 * scale.width();
    for (line, class) in &scale.lines {
        let _ = writeln!(
            out,
            "<path class=\"{class}\" d=\"M{} {}h{}\" stroke-width=\"2\"/>",
            coordinate(scale.x(line.period_ns) - half),
            coordinate(scale.y(share(*line))),
            coordinate(2.0 * half)
        );
    }
}

/// What was tried, as a table.
pub(super) fn trials(plane: &Plane<'_>) -> String {
    let columns = Columns::of(plane.trials.iter().map(|trial| &trial.counts));
    let mut out = format!(
        "<div class=\"wide\" tabindex=\"0\"><table><caption>Trials</caption><thead><tr><th scope=\"col\">setting</th>\
         <th scope=\"col\" class=\"n\">CPU %</th><th scope=\"col\" class=\"n\">attempts</th><th scope=\"col\">class</th>{}\
         <th scope=\"col\">rule</th><th scope=\"col\">supply</th></tr></thead><tbody>\n",
        headings(&columns)
    );
    for trial in plane.trials {
        let (share, [rule, supply]) = plane.share_and_predictions(trial);
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"n\">{share}</td><td class=\"n\">{} of {}</td><td>{}</td>{}<td>{rule}</td>\
             <td>{supply}</td></tr>",
            escape(&setting_in_words(trial.setting)),
            trial.succeeded,
            trial.attempts,
            shown_in_words(trial),
            cells(&columns, &trial.counts)
        );
    }
    out + "</tbody></table></div>\n"
}

/// Headings of these columns.
pub(super) fn headings(columns: &Columns) -> String {
    columns.headings().iter().map(|heading| format!("<th scope=\"col\" class=\"n\">{heading}</th>")).collect()
}

/// Cells of these columns.
pub(super) fn cells(columns: &Columns, counts: &AttemptCounts) -> String {
    columns.cells(counts).iter().map(|cell| format!("<td class=\"n\">{}</td>", escape(cell))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The heights of the lines of a class, in the picture's units.
    fn lines(picture: &str, class: &str) -> Vec<f64> {
        let begins = format!("<path class=\"{class}\" d=\"M");
        let paths = picture.split(&begins).skip(1);
        paths.map(|path| path.split([' ', 'h']).nth(1).unwrap().parse().unwrap()).collect()
    }

    #[test]
    fn marks_of_one_place_stand_side_by_side_in_the_picture() {
        let (x, y) = (f64::midpoint(LEFT, WIDTH), 100.0);
        let mut places = Vec::new();
        for _ in 0..17 {
            free_place(&mut places, (x, y));
        }
        let inside = LEFT + MARK / 2.0..=WIDTH - MARK / 2.0;
        assert!(places.iter().all(|(at, _)| inside.contains(at)), "{places:?}");
        let mut at: Vec<f64> = places.iter().map(|(at, _)| *at).collect();
        at.sort_unstable_by(f64::total_cmp);
        assert!(at.windows(2).all(|two| two[1] - two[0] >= MARK), "{at:?}");
        // Where there is no room left, a mark covers another rather than leave the picture.
        for _ in 0..9 {
            free_place(&mut places, (x, y));
        }
        assert_eq!(places.last(), Some(&(x, y)));
    }

    #[test]
    fn a_model_that_calls_all_trials_sufficient_has_its_line_in_the_picture() {
        let job = Job { period_ns: 1_000_000, work_ns: 278_000, deadline_ns: 1_000_000 };
        let tried = [(320_000, 1_000_000), (440_000, 1_000_000), (170_000, 500_000), (270_000, 500_000)];
        let trials = tried.map(|(budget_ns, period_ns)| {
            let mut trial = Trial::new(Setting::Reserved(Reservation { budget_ns, period_ns }));
            trial.add(&AttemptCounts::new(punctual_reserve::Jobs { on_time: 0, late: 1, missing: 0 }, 0, 2_000_000));
            trial
        });
        let plane = Plane { trials: &trials, recommended: None, job, lateness_ns: 100_000 };
        assert_eq!(plane.wrong(), (4, 0, 4));
        let table = super::trials(&plane);
        assert_eq!(table.matches("<td>yes !</td><td>no</td></tr>").count(), 4, "{table}");
        let drawn = drawn(&plane);
        assert_eq!(drawn.matches("text-decoration:underline").count(), 4, "{drawn}");
        assert_eq!(drawn.matches("; the rule was wrong</title>").count(), 4, "{drawn}");
        for class in ["said", "cross"] {
            let heights = lines(&drawn, class);
            assert!(heights.len() == 2 && heights.iter().all(|y| (TOP..=BOTTOM).contains(y)), "{class}: {heights:?}");
        }
        // The rule's lie below every mark, the supply's above.
        let marks: Vec<f64> = drawn
            .split("<text x=\"")
            .filter(|text| text.contains("font-size:14px"))
            .map(|text| text.split('"').nth(2).unwrap().parse::<f64>().unwrap() - 5.0)
            .collect();
        assert_eq!(marks.len(), 4);
        assert_eq!(drawn.matches("class=\"halo\"").count(), 4);
        assert!(drawn.rfind("<path") < drawn.find("class=\"halo\""), "marks are painted over lines: {drawn}");
        assert!(lines(&drawn, "said").iter().all(|rule| marks.iter().all(|mark| rule > mark)), "{drawn}");
        assert!(lines(&drawn, "cross").iter().all(|supply| marks.iter().all(|mark| supply < mark)), "{drawn}");
    }
}
