//! The results of the simulator: the ledger of the papers, one experiment, a what-if, a plane.

use crate::verdict::sim::{ledger_verdict, outcome_verdict};
use punctual_recording::Distribution;
use punctual_recording::{agreeing, counted};
use punctual_sim::experiment::{
    AssumptionNote, Class, FittedNote, LedgerRow, Moved, Outcome, Point, Value as Simulated,
};
use punctual_sim::ledger::{Ledger, Turned};
use punctual_sim::machine::Mechanism;
use punctual_sim::sweep::Sweep;
use punctual_sim::time::SECOND;
use punctual_sim::whatif::Answer;
use std::fmt::Write;

pub(crate) const CLASSES: [Class; 5] =
    [Class::Prediction, Class::Fitted, Class::Input, Class::Identity, Class::NotSimulated];

/// The name of a class in JSON and text.
pub(crate) fn class_name(class: Class) -> &'static str {
    match class {
        Class::Prediction => "prediction",
        Class::Fitted => "fitted",
        Class::Input => "input",
        Class::Identity => "identity",
        Class::NotSimulated => "not_simulated",
    }
}

/// The word for the outcome: never colour alone.
pub(crate) fn outcome_word(row: &LedgerRow) -> &'static str {
    match (row.class, row.holds) {
        (Class::Fitted, Some(true)) => "fits",
        (Class::Fitted, Some(false)) => "does not fit",
        (_, Some(true)) => "holds",
        (_, Some(false)) if row.contradicted.is_some() => "contradicted",
        (_, Some(false)) => "FAILS",
        (_, None) if row.is_open() => "not run",
        (_, None) => "",
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
    let published = shown(row.published.as_ref(), &row.unit);
    let simulated = shown(row.simulated.as_ref(), &row.unit);
    let (word, class) = (outcome_word(row), class_name(row.class));
    let _ = writeln!(out, "  {word:<12} {class:<13} {published:>16} {simulated:>16}  {}", row.point());
}

fn head(out: &mut String) {
    let _ = writeln!(out, "  {:<12} {:<13} {:>16} {:>16}  point", "", "class", "paper", "simulated");
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
        let _ = writeln!(out, "  {}: {}", known.name, known.what);
    }
}

fn fitted_text(ranges: &[(FittedNote, Vec<Moved>)], out: &mut String) {
    if ranges.is_empty() {
        return;
    }
    out.push_str("\nFitted values, and how the rows move over their range\n");
    for (note, moved) in ranges {
        let _ = writeln!(out, "  {} ({}, {}): {}", note.name, note.experiment, note.key, note.what);
        for moved in moved {
            let rows = moved.rows.iter().map(|(id, value)| format!("{id} {}", shown(value.as_ref(), "")));
            let _ = writeln!(out, "    {}: {}", moved.value, rows.collect::<Vec<_>>().join(", "));
        }
    }
}

fn contradicted_text<'a>(rows: impl Iterator<Item = &'a LedgerRow>, out: &mut String) {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for row in rows.filter(|row| row.holds == Some(false)) {
        let Some(because) = &row.contradicted else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == because.as_str()) {
            Some((_, points)) => points.push(row.point()),
            None => reasons.push((because, vec![row.point()])),
        }
    }
    if !reasons.is_empty() {
        out.push_str("\nContradicted, with the measured reason\n");
    }
    for (because, points) in reasons {
        let _ = writeln!(out, "  {}: {because}", points.join("; "));
    }
}

/// The ledger for people.
pub fn ledger_text(ledger: &Ledger, ranges: &[(FittedNote, Vec<Moved>)], mutations: Option<&[Turned]>) -> String {
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
    contradicted_text(ledger.rows.iter(), &mut out);
    let reasons = ledger.rows.iter().filter_map(|row| Some((row, row.because.as_ref()?)));
    out.push_str("\nInputs, identities and rows that are not simulated\n");
    for (row, because) in reasons {
        let _ = writeln!(out, "  {}: {because}", row.point());
    }
    assumptions_text(&ledger.assumptions, &mut out);
    fitted_text(ranges, &mut out);
    if let Some(turned) = mutations {
        out.push_str("\nEach mechanism broken in turn, and the predictions that then no longer hold\n");
        for turned in turned {
            let rows = if turned.rows.is_empty() { "none: unproven".to_owned() } else { turned.rows.join(", ") };
            let (name, how) = (turned.mechanism.name(), turned.mechanism.how());
            let _ = writeln!(out, "  {name} ({how}): {}, {rows}", turned.rows.len());
        }
        if turned.len() < Mechanism::ALL.len() {
            let _ = writeln!(out, "  interrupted after {} of {} mechanisms", turned.len(), Mechanism::ALL.len());
        }
    }
    out
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
        let _ = writeln!(
            out,
            "  {name}: {}, {seconds:.1} s simulated, {}",
            counted(case.runs, "run"),
            counted(case.events, "event")
        );
        if case.without_room > 0 {
            let arrivals = counted(case.without_room, "arrival");
            let _ = writeln!(out, "    no room for {arrivals}, because far too many waited: no row counts them");
        }
        for (thread, seen) in &case.constraints {
            let _ = writeln!(
                out,
                "    {thread}: {} time constraints granted, {} refused; {} met, {} missed",
                seen.granted, seen.refused, seen.met, seen.missed
            );
        }
        for (thread, migrations) in &case.migrations {
            let _ = writeln!(out, "    {thread}: moved to another CPU {}", counted(*migrations, "time"));
        }
    }
    contradicted_text(outcome.rows.iter(), &mut out);
    assumptions_text(&outcome.assumptions, &mut out);
    let fitted: Vec<_> = outcome.fitted.iter().map(|note| (note.clone(), Vec::new())).collect();
    fitted_text(&fitted, &mut out);
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
    let _ = write!(
        out,
        "\n\nAt most {} {} pending at one time.\n\n",
        counted(answer.pending_max, "activation"),
        agreeing(answer.pending_max, "was", "were")
    );
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
    for row in (0..up.values.len()).rev() {
        let value = up.written(row);
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
    for value in (0..right.values.len()).map(|column| right.written(column)) {
        let _ = write!(out, "{value:>2} ");
    }
    let _ =
        writeln!(out, "\n  upwards {}, to the right {}: # sufficient, + marginal, . insufficient", up.name, right.name);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{ExperimentAnswer, WhatifAnswer};
    use punctual_sim::ledger::builtin;
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
    fn an_answer_reads_the_same_in_both_forms() {
        let mut question = WhatIf::new(10_000_000_000, 2, 1_000_000_000, Context::Thread(80));
        question.duration = 10 * SECOND;
        question.bystander = Some((90, 1_000_000_000));
        let answer = question.answer().unwrap();
        let value = crate::answer::value(&WhatifAnswer::new(&answer));
        assert_eq!((value["misses"].as_u64(), value["pending_max"].as_u64()), (Some(0), Some(1)));
        assert!(
            whatif_text(&answer).starts_with("None of 999 buffers was missed in 10.0 s"),
            "{}",
            whatif_text(&answer)
        );
    }

    #[test]
    fn a_plane_is_drawn() {
        let axis = |text| punctual_sim::sweep::Axis::parse(text).unwrap();
        let sweep = Sweep::new(vec![axis("runtime=1..2"), axis("period=1..2")]).unwrap();
        let point = Point { successes: 1, has_link: true, ..Point::default() };
        let text = plane_text(&sweep, &[(0, point)]);
        assert!(text.contains("1 | # "), "{text}");
    }
}
