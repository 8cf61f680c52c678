//! An experiment's cases on its page: how much was simulated, time constraints, moves between CPUs.

use crate::encode::plain_page::escape;
use crate::layout::grouped;
use punctual_sim::experiment::Outcome;
use std::fmt::Write;

/// A case by its name; the file as written has none.
fn named(case: &str) -> String {
    escape(if case.is_empty() { "as written" } else { case })
}

fn head(caption: &str, words: &[&str], numbers: &[&str], out: &mut String) {
    let _ = write!(
        out,
        "<div class=\"wide\" tabindex=\"0\"><table class=\"short\"><caption>{caption}</caption>\n<thead><tr>"
    );
    for word in words {
        let _ = write!(out, "<th scope=\"col\">{word}</th>");
    }
    for number in numbers {
        let _ = write!(out, "<th scope=\"col\" class=\"n\">{number}</th>");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
}

const END: &str = "</tbody></table></div>\n";

pub(super) fn cases(outcome: &Outcome) -> String {
    let mut out = String::new();
    head("Cases", &["case"], &["runs", "simulated, s", "events"], &mut out);
    for case in &outcome.cases {
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td class=\"n\">{:.1}</td><td class=\"n\">{}</td></tr>",
            named(&case.name),
            grouped(case.runs),
            case.simulated as f64 / punctual_sim::time::SECOND as f64,
            grouped(case.events)
        );
    }
    out.push_str(END);
    without_room(outcome, &mut out);
    constraints(outcome, &mut out);
    migrations(outcome, &mut out);
    out
}

/// Arrivals that no row counts.
fn without_room(outcome: &Outcome, out: &mut String) {
    if outcome.cases.iter().all(|case| case.without_room == 0) {
        return;
    }
    head("No room, because far too many waited: no row counts them", &["case"], &["arrivals"], out);
    for case in outcome.cases.iter().filter(|case| case.without_room > 0) {
        let (name, arrivals) = (named(&case.name), grouped(case.without_room));
        let _ = writeln!(out, "<tr><th scope=\"row\">{name}</th><td class=\"n\">{arrivals}</td></tr>");
    }
    out.push_str(END);
}

/// The outcome of the time constraints that threads asked for.
fn constraints(outcome: &Outcome, out: &mut String) {
    if outcome.cases.iter().all(|case| case.constraints.is_empty()) {
        return;
    }
    head("Time constraints", &["case", "thread"], &["granted", "refused", "met", "missed"], out);
    for case in &outcome.cases {
        for (thread, seen) in &case.constraints {
            let _ = write!(out, "<tr><th scope=\"row\">{}</th><td>{}</td>", named(&case.name), escape(thread));
            for number in [seen.granted, seen.refused, seen.met, seen.missed] {
                let _ = write!(out, "<td class=\"n\">{}</td>", grouped(number));
            }
            out.push_str("</tr>\n");
        }
    }
    out.push_str(END);
}

/// How often threads that may run on any CPU moved to another one.
fn migrations(outcome: &Outcome, out: &mut String) {
    if outcome.cases.iter().all(|case| case.migrations.is_empty()) {
        return;
    }
    head("Moves to another CPU", &["case", "thread"], &["moves"], out);
    for case in &outcome.cases {
        for (thread, moves) in &case.migrations {
            let _ = writeln!(
                out,
                "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"n\">{}</td></tr>",
                named(&case.name),
                escape(thread),
                grouped(*moves)
            );
        }
    }
    out.push_str(END);
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_sim::ledger::builtin;

    #[test]
    fn a_page_says_of_constraints_and_moves_what_the_text_says() {
        let outcome = |name: &str| builtin(name).unwrap().unwrap().run().unwrap();
        let modems = outcome("two-modems");
        let (page, text) = (cases(&modems), crate::sim::outcome_text(&modems));
        let asking = modems.cases.iter().flat_map(|case| &case.constraints);
        let mut met = 0;
        for (thread, seen) in asking {
            let numbers = [seen.granted, seen.refused, seen.met, seen.missed].map(grouped);
            assert!(
                page.contains(&numbers.map(|number| format!("<td class=\"n\">{number}</td>")).concat()),
                "{thread}"
            );
            assert!(text.contains(&format!("{thread}: {} time constraints granted", seen.granted)), "{thread}");
            met += 1;
        }
        assert!(met >= 1 && !page.contains("Moves"), "{page}");
        let robot = cases(&outcome("global-edf"));
        assert!(robot.contains("Moves to another CPU") && !robot.contains("Time constraints"), "{robot}");
    }
}
