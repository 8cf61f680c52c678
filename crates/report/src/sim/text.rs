//! What the simulator gives: the ledger of the papers, one experiment, a what-if, a plane.

use punctual_recording::Distribution;
use punctual_sim::experiment::{AssumptionNote, Class, LedgerRow, Outcome, Point, Value as Simulated};
use punctual_sim::ledger::Ledger;
use punctual_sim::sweep::Sweep;
use punctual_sim::time::SECOND;
use punctual_sim::whatif::Answer;
use std::fmt::Write;

pub(crate) const CLASSES: [Class; 5] =
    [Class::Exact, Class::Approximate, Class::Assumption, Class::Input, Class::NotSimulated];

/// The name of a class in JSON and text.
pub(crate) fn class_name(class: Class) -> &'static str {
    match class {
        Class::Exact => "exact",
        Class::Approximate => "approximate",
        Class::Assumption => "assumption",
        Class::Input => "input",
        Class::NotSimulated => "not_simulated",
    }
}

fn number(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e15 { format!("{value}") } else { format!("{value:.3}") }
}

fn shown(value: Option<&Simulated>, unit: &str) -> String {
    match value {
        None => "-".to_owned(),
        Some(Simulated::Text(word)) => word.clone(),
        Some(Simulated::Number(value)) if unit.is_empty() => number(*value),
        Some(Simulated::Number(value)) => format!("{} {unit}", number(*value)),
    }
}

fn row_text(row: &LedgerRow, out: &mut String) {
    let verdict = match row.holds {
        Some(true) => "holds",
        Some(false) => "FAILS",
        None => "",
    };
    let class = if row.fitted { "fitted" } else { class_name(row.class) };
    let published = shown(row.published.as_ref(), &row.unit);
    let simulated = shown(row.simulated.as_ref(), &row.unit);
    let _ = writeln!(out, "  {verdict:<5} {class:<13} {published:>16} {simulated:>16}  {}", row.item);
}

fn head(out: &mut String) {
    let _ = writeln!(out, "  {:<5} {:<13} {:>16} {:>16}  point", "", "class", "paper", "simulated");
}

fn assumptions_text(assumptions: &[AssumptionNote], out: &mut String) {
    if assumptions.is_empty() {
        return;
    }
    out.push_str("\nAssumed\n");
    let mut told: Vec<&str> = Vec::new();
    for known in assumptions {
        if told.contains(&known.what.as_str()) {
            continue;
        }
        told.push(&known.what);
        let fitted = match known.fitted_on.len() {
            0 => String::new(),
            _ => format!(" Fitted on {}.", known.fitted_on.join(", ")),
        };
        let _ = writeln!(out, "  {}: {}{fitted}", known.name, known.what);
    }
}

/// One sentence about the ledger.
pub fn ledger_verdict(ledger: &Ledger) -> String {
    let judged = ledger.holding + ledger.failing;
    let rest = ledger.rows.len() - judged;
    match ledger.failing {
        0 => format!("All {judged} points that are held to the papers hold; {rest} are inputs or not simulated."),
        failing => format!("{failing} of {judged} points that are held to the papers fail; {rest} are not judged."),
    }
}

/// The ledger for people.
pub fn ledger_text(ledger: &Ledger) -> String {
    let mut out = ledger_verdict(ledger);
    out.push_str("\n\n");
    for class in CLASSES {
        let count = ledger.counts.get(&class).copied().unwrap_or(0);
        let _ = writeln!(out, "  {count:>4} {}", class_name(class));
    }
    let mut paper = "";
    for row in &ledger.rows {
        if row.paper != paper {
            paper = &row.paper;
            let _ = writeln!(out, "\n{paper}");
            head(&mut out);
        }
        row_text(row, &mut out);
    }
    let reasons = ledger.rows.iter().filter_map(|row| Some((row, row.because.as_ref()?)));
    out.push_str("\nInputs and what is not simulated\n");
    for (row, because) in reasons {
        let _ = writeln!(out, "  {}: {because}", row.item);
    }
    assumptions_text(&ledger.assumptions, &mut out);
    out
}

/// One sentence about an experiment.
pub fn outcome_verdict(outcome: &Outcome) -> String {
    let judged = outcome.rows.iter().filter(|row| row.holds.is_some()).count();
    let holding = outcome.rows.iter().filter(|row| row.holds == Some(true)).count();
    if judged == 0 {
        return format!("{}: nothing is held to a number.", outcome.name);
    }
    format!("{}: {holding} of {judged} points hold.", outcome.name)
}

/// An experiment for people: paper against simulated, point by point.
pub fn outcome_text(outcome: &Outcome) -> String {
    let mut out = outcome_verdict(outcome);
    let _ = write!(out, "\n{}\n\n", outcome.about);
    head(&mut out);
    for row in &outcome.rows {
        row_text(row, &mut out);
    }
    out.push_str("\nCases\n");
    for case in &outcome.cases {
        let name = if case.name.is_empty() { "as written" } else { &case.name };
        let seconds = case.simulated as f64 / SECOND as f64;
        let _ = writeln!(out, "  {name}: {} runs, {seconds:.1} s simulated, {} events", case.runs, case.events);
    }
    assumptions_text(&outcome.assumptions, &mut out);
    out
}

fn distribution_text(name: &str, distribution: &Distribution, out: &mut String) {
    let us = |value: Option<u64>| value.map_or("-".to_owned(), |value| format!("{:.1}", value as f64 / 1000.0));
    let _ = writeln!(
        out,
        "  {name:<22} {:>12} {:>10} {:>10} {:>10} {:>10}",
        distribution.count(),
        us(distribution.quantile(0.5)),
        us(distribution.quantile(0.99)),
        us(distribution.quantile(0.999)),
        us(distribution.max())
    );
}

/// An answer for people.
pub fn whatif_text(answer: &Answer) -> String {
    let mut out = answer.verdict();
    let _ = write!(out, "\n\nAt most {} activations were pending at one time.\n\n", answer.pending_most);
    let _ = writeln!(out, "  {:<22} {:>12} {:>10} {:>10} {:>10} {:>10}", "us", "count", "p50", "p99", "p99.9", "max");
    distribution_text("start of work", &answer.latency, &mut out);
    distribution_text("end of work", &answer.response, &mut out);
    if let Some(bystander) = &answer.bystander {
        distribution_text("bystander", bystander, &mut out);
    }
    if let Some(intervals) = &answer.bystander_intervals {
        distribution_text("bystander intervals", intervals, &mut out);
    }
    let [device, competitors, idle] = answer.shares.map(|share| share * 100.0);
    let _ = writeln!(out, "\nCPU: device {device:.2} %, competitors {competitors:.2} %, idle {idle:.2} %.");
    out
}

/// A plane of classes for people: the first axis upwards, the second to the right, as in Figure 17 of
/// soft-modem-2000. `#` sufficient, `+` marginal, `.` insufficient, blank impossible or not computed.
pub fn plane_text(sweep: &Sweep, points: &[(u64, Point)]) -> String {
    let [up, right] = sweep.axes() else {
        return "A plane has two axes.\n".to_owned();
    };
    let mut out = String::new();
    for (row, value) in up.values.iter().enumerate().rev() {
        let _ = write!(out, "  {value:>6} |");
        for column in 0..right.values.len() {
            let index = (row * right.values.len() + column) as u64;
            let mark = match points.iter().find(|(point, _)| *point == index).map(|(_, point)| point.class()) {
                Some("sufficient") => '#',
                Some("marginal") => '+',
                Some("insufficient") => '.',
                _ => ' ',
            };
            let _ = write!(out, " {mark} ");
        }
        out.push('\n');
    }
    let _ = write!(out, "  {:>6}  ", "");
    for value in &right.values {
        let _ = write!(out, "{value:>2} ");
    }
    let _ =
        writeln!(out, "\n  upwards {}, to the right {}: # sufficient, + marginal, . insufficient", up.name, right.name);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{ExperimentAnswer, PapersAnswer, WhatifAnswer};
    use punctual_sim::ledger::{builtin, papers};
    use punctual_sim::whatif::{Context, WhatIf};

    #[test]
    fn an_experiment_reads_the_same_in_both_forms() {
        let outcome = builtin("nt-timers-table3").unwrap().unwrap().run().unwrap();
        let value = crate::answer::value(&ExperimentAnswer::new(&outcome));
        assert_eq!(value["schema"], "punctual.sim/1");
        let row =
            value["rows"].as_array().unwrap().iter().find(|row| row["id"] == "nt-table3-fixed-two-ticks").unwrap();
        assert_eq!((row["simulated"].as_f64(), row["holds"].as_bool()), (Some(240.0), Some(true)));
        let text = outcome_text(&outcome);
        assert!(text.starts_with("nt-timers-table3: ") && text.contains("240"), "{text}");
    }

    #[test]
    fn the_ledger_counts_every_row_once() {
        let ledger = papers(2).unwrap();
        let value = crate::answer::value(&PapersAnswer::new(&ledger));
        let counted: u64 = value["counts"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(counted as usize, value["rows"].as_array().unwrap().len());
        let text = ledger_text(&ledger);
        assert!(text.starts_with("All ") && text.contains("nt-timers-1998"));
    }

    #[test]
    fn an_answer_reads_the_same_in_both_forms() {
        let mut question = WhatIf::new(10_000_000_000, 2, 1_000_000_000, Context::Thread(80));
        question.duration = 10 * SECOND;
        question.bystander = Some((90, 1_000_000_000));
        let answer = question.answer().unwrap();
        let value = crate::answer::value(&WhatifAnswer::new(&answer));
        assert_eq!((value["misses"].as_u64(), value["pending_max"].as_u64()), (Some(0), Some(1)));
        assert!(whatif_text(&answer).starts_with("No buffer of 999 missed in 10s"), "{}", whatif_text(&answer));
    }

    #[test]
    fn a_plane_is_drawn() {
        let axis = |text| punctual_sim::sweep::Axis::parse(text).unwrap();
        let sweep = Sweep::new(vec![axis("runtime=1..2"), axis("period=1..2")]).unwrap();
        let point = Point { successes: 1, ..Point::default() };
        let text = plane_text(&sweep, &[(0, point)]);
        assert!(text.contains("1 | # "), "{text}");
    }
}
