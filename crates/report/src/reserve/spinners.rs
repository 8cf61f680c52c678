//! How many spinners at normal priority a device bore as it was, and what a reservation and one a step below it did beside these.

use super::counts::Columns;
use super::model::{ReserveReport, SpinnersReport};
use super::plane::{cells, headings};
use super::words::{class_in_words, in_words, shown_in_words};
use crate::layout::indented;
use punctual_recording::counted;
use punctual_reserve::{Reservation, Setting, Trial};
use std::fmt::Write as _;

/// `3 of 3 attempts succeeded`.
fn succeeded(trial: &Trial) -> String {
    format!("{} of {} succeeded", trial.succeeded, counted(trial.attempts, "attempt"))
}

/// The largest reservation of the same period that was tried and is smaller, as the search tries it.
fn step_below(trials: &[Trial], found: Reservation) -> Option<(Reservation, &Trial)> {
    let smaller = trials.iter().filter_map(|trial| match trial.setting {
        Setting::Reserved(tried) if tried.period_ns == found.period_ns && tried.budget_ns < found.budget_ns => {
            Some((tried, trial))
        }
        _ => None,
    });
    smaller.max_by_key(|(tried, _)| tried.budget_ns)
}

impl SpinnersReport<'_> {
    /// How many it took, and what a reservation did beside so many.
    pub(super) fn in_words(&self, report: &ReserveReport<'_>) -> String {
        let scheduling = report.scheduling;
        let Some(fewest) = self.fewest else {
            let most = self.tried.iter().map(|(count, _)| *count).max().unwrap_or(0);
            return format!(
                "Not even {} at normal priority made every attempt fail as it was ({scheduling}).",
                counted(most, "spinner")
            );
        };
        let mut said = match fewest {
            0 => format!("As it was ({scheduling}) every attempt fails without a spinner, so none was added"),
            _ => format!(
                "As it was ({scheduling}) every attempt fails beside {} at normal priority, the fewest that do so",
                counted(fewest, "spinner")
            ),
        };
        if let Some((_, trial)) = self.tried.iter().find(|(count, _)| *count + 1 == fewest) {
            let fewer = if fewest == 1 { "without it".to_owned() } else { format!("beside {}", fewest - 1) };
            let _ = write!(said, "; {fewer}, {}", succeeded(trial));
        }
        said.push('.');
        let found = report.found.and_then(|found| {
            let is_found = |trial: &&Trial| trial.setting == Setting::Reserved(found);
            Some((found, report.trials.iter().find(is_found)?))
        });
        if let Some((found, trial)) = found {
            let beside = if fewest == 0 { "" } else { "Beside them " };
            let what = in_words(found.budget_ns, found.period_ns);
            let _ = write!(said, " {beside}{what} held: {}", succeeded(trial));
            if let Some((below, trial)) = step_below(report.trials, found) {
                let (what, class) = (in_words(below.budget_ns, below.period_ns), class_in_words(trial.class()));
                let _ = write!(said, "; one step below, {what} was {class}: {}", succeeded(trial));
            }
            said.push('.');
        }
        said
    }

    fn columns(&self) -> Columns {
        Columns::of(self.tried.iter().map(|(_, trial)| &trial.counts))
    }

    /// What was tried, as text.
    pub(super) fn table(&self, out: &mut String) {
        let _ = writeln!(out, "\nAs it was, beside spinners at normal priority on its CPU:");
        let columns = self.columns();
        let mut header = vec!["spinners", "attempts", ""];
        header.extend(columns.headings());
        let row = |(count, trial): &(u32, Trial)| {
            let mut row =
                vec![count.to_string(), format!("{} of {}", trial.succeeded, trial.attempts), shown_in_words(trial)];
            row.extend(columns.cells(&trial.counts));
            row
        };
        indented(out, &header, 0..1, self.tried.iter().map(row));
    }

    /// The same as a part of a page.
    pub(super) fn html(&self) -> String {
        let columns = self.columns();
        let mut body = format!(
            "<p>As it was, beside spinners at normal priority on its CPU:</p>\n<div class=\"wide\" tabindex=\"0\"><table \
             class=\"short\"><caption>Beside spinners</caption><thead><tr><th scope=\"col\">spinners</th><th \
             scope=\"col\">attempts</th><th scope=\"col\">shown</th>{}</tr></thead><tbody>",
            headings(&columns)
        );
        for (count, trial) in self.tried {
            let _ = writeln!(
                body,
                "<tr><th scope=\"row\">{count}</th><td>{} of {}</td><td>{}</td>{}</tr>",
                trial.succeeded,
                trial.attempts,
                shown_in_words(trial),
                cells(&columns, &trial.counts)
            );
        }
        body.push_str("</tbody></table></div>\n");
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reserve::html;
    use crate::reserve::text::tests::{report, reserved, trial};
    use crate::reserve::text::text;

    #[test]
    fn the_fewest_spinners_and_the_step_below_are_told() {
        let tried = [1, 2, 4, 3].map(|count| (count, trial(Setting::AsItWas, if count > 2 { 90 } else { 0 })));
        let trials = [
            trial(Setting::AsItWas, 90),
            trial(reserved(2_090_000), 0),
            trial(reserved(1_900_000), 2),
            trial(reserved(1_990_000), 1),
        ];
        let study = ReserveReport {
            spinners: Some(SpinnersReport { tried: &tried, fewest: Some(3) }),
            beside: "3 spin:normal on each CPU",
            ..report(&trials)
        };
        let note = "As it was (other) every attempt fails beside 3 spinners at normal priority, the fewest that do so; beside 2, 1 of 1 \
                    attempt succeeded. Beside them 2.09 ms of every 10.0 ms held: 1 of 1 attempt succeeded; one step below, 1.99 ms of \
                    every 10.0 ms was insufficient: 0 of 1 attempt succeeded.";
        let said = text(&study);
        assert!(said.contains(&format!("note: {note}\n")), "{said}");
        assert!(said.contains("  4  0 of 1    insufficient"), "{said}");
        let page = html(&study, None);
        assert!(page.contains(note) && page.contains("<caption>Beside spinners</caption>"), "{page}");
        let at_once = [(0, trial(Setting::AsItWas, 90))];
        let at_once = SpinnersReport { tried: &at_once, fewest: Some(0) };
        let said = text(&ReserveReport { spinners: Some(at_once), ..report(&trials) });
        let note = "note: As it was (other) every attempt fails without a spinner, so none was added. 2.09 ms of every 10.0 ms held";
        assert!(said.contains(note), "{said}");
        let none = ReserveReport { spinners: Some(SpinnersReport { tried: &tried[..2], fewest: None }), ..study };
        assert!(text(&none).contains("note: Not even 2 spinners at normal priority made every attempt fail"));
    }
}
