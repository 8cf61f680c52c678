//! The analysis of a task set as text for people and as JSON for programs.

use crate::recording::text::{indented, table};
use punctual_forecast::schedulability::{Analysis, CpuAnalysis, Edf, Outcome, ReservationAnalysis, TaskAnalysis};
use punctual_recording::format_ns;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The version of the JSON.
pub const SCHEMA: &str = "punctual.schedulability/1";

/// The analysis as one JSON object. What is not known is `null`.
pub fn json(analysis: &Analysis) -> Value {
    json!({
        "schema": SCHEMA,
        "verdict": analysis.verdict,
        "exit_code": 0,
        "standing": analysis.standing.name(),
        "breaks": analysis.breaks,
        "fixes": analysis.fixes,
        "notes": analysis.notes,
        "tasks": analysis.tasks.iter().map(task_json).collect::<Vec<_>>(),
        "cpus": analysis.cpus.iter().map(cpu_json).collect::<Vec<_>>(),
        "reservations": analysis.reservations.iter().map(reservation_json).collect::<Vec<_>>(),
        "admission": analysis.admission.as_ref().map(|admission| json!({
            "admitted": admission.refused.is_none(),
            "refused": admission.refused.as_ref().map(|(index, _)| index),
            "reason": admission.refused.as_ref().map(|(_, reason)| reason),
            "asked_share": share(admission.asked),
            "available_share": share(admission.available),
            "should": edf_json(&admission.should),
        })),
    })
}

/// The kernel's units of 2^-20 CPUs as a share of one.
fn share(units: u64) -> f64 {
    units as f64 / (1u64 << 20) as f64
}

fn outcome_json(outcome: &Outcome) -> Value {
    json!({
        "analysis": outcome.analysed.name(),
        "response_ns": outcome.response_ns,
        "fixed_slot_response_ns": outcome.fixed_slot_ns,
        "meets": outcome.meets,
    })
}

fn task_json(found: &TaskAnalysis) -> Value {
    let task = &found.task;
    let ns = |value: Option<f64>| value.map(|value| value.max(0.0) as u64);
    json!({
        "task": task.name,
        "cpu": task.cpu,
        "period_ns": task.period_ns,
        "compute_ns": task.compute_ns,
        "deadline_ns": task.deadline_ns,
        "priority": task.priority,
        "reservation": task.reservation,
        "without_latency": outcome_json(&found.plain),
        "with_pseudo_worst_case": found.with_pseudo.as_ref().map(outcome_json),
        "with_blocking": found.with_blocking.as_ref().map(outcome_json),
        "bears_ns": found.bears_ns,
        "latency": found.latency.as_ref().map(|figure| json!({
            "permitted_s": figure.permitted_s,
            "low_ns": ns(figure.at_rate.low),
            "estimate_ns": ns(figure.at_rate.value),
            "high_ns": ns(figure.at_rate.high),
            "charged_ns": figure.charged_ns,
            "is_longest_seen": figure.is_longest_seen,
            "mean_ns": figure.mean_ns,
            "activations": figure.activations,
            "pseudo_worst_case_ns": figure.pseudo_ns,
        })),
    })
}

fn edf_json(edf: &Edf) -> Value {
    match edf {
        Edf::Schedulable => json!({"schedulable": true}),
        Edf::Overrun { window_ns, demand_ns } => {
            json!({"schedulable": false, "window_ns": window_ns, "demand_ns": demand_ns})
        }
        Edf::Overloaded => json!({"schedulable": false, "window_ns": null, "demand_ns": null}),
        Edf::Unknown => json!({"schedulable": null}),
    }
}

fn cpu_json(found: &CpuAnalysis) -> Value {
    json!({
        "cpu": found.cpu,
        "utilization": found.utilization,
        "liu_layland_bound": found.liu_layland,
        "hyperbolic_product": found.hyperbolic,
        "edf": found.edf.as_ref().map(edf_json),
    })
}

fn reservation_json(found: &ReservationAnalysis) -> Value {
    json!({
        "reservation": found.reservation.name,
        "cpu": found.reservation.cpu,
        "budget_ns": found.reservation.budget_ns,
        "period_ns": found.reservation.period_ns,
        "asked_share": found.asked,
        "fixed_slot_blackout_ns": found.fixed_blackout_ns,
        "floating_budget_blackout_ns": found.floating_blackout_ns,
    })
}

/// The analysis as text: the verdict first, then what would fix it, then tables.
pub fn text(analysis: &Analysis) -> String {
    let mut out = format!("{}\n", analysis.verdict);
    if !analysis.fixes.is_empty() {
        out.push_str("each of these alone would do:\n");
        for fix in &analysis.fixes {
            let _ = writeln!(out, "  - {fix}");
        }
    } else if analysis.breaks.is_some() {
        out.push_str("no single change that was tried would do\n");
    }
    for note in &analysis.notes {
        let _ = writeln!(out, "! {note}");
    }
    out.push('\n');
    tasks_text(&mut out, analysis);
    for cpu in &analysis.cpus {
        let mut parts = vec![format!("utilization {:.1} %", cpu.utilization * 100.0)];
        if let Some(bound) = cpu.liu_layland {
            let says = if cpu.utilization <= bound { "passes" } else { "says nothing" };
            parts.push(format!("Liu-Layland {:.1} % ({says})", bound * 100.0));
        }
        if let Some(product) = cpu.hyperbolic {
            let says = if product <= 2.0 { "passes" } else { "says nothing" };
            parts.push(format!("hyperbolic {product:.3} of 2 ({says})"));
        }
        if let Some(edf) = &cpu.edf {
            parts.push(edf_text(edf));
        }
        let _ = writeln!(out, "  CPU {}: {}", cpu.cpu, parts.join(", "));
    }
    for found in &analysis.reservations {
        let reservation = &found.reservation;
        let _ = writeln!(
            out,
            "  reservation `{}`: {} of every {}, {:.1} % ({:.1} % asked); without service for {} in a fixed slot, {} with a floating budget",
            reservation.name,
            format_ns(reservation.budget_ns),
            format_ns(reservation.period_ns),
            reservation.budget_ns as f64 / reservation.period_ns as f64 * 100.0,
            found.asked * 100.0,
            format_ns(found.fixed_blackout_ns),
            format_ns(found.floating_blackout_ns)
        );
    }
    if let Some(admission) = &analysis.admission {
        let kernel = if admission.refused.is_none() { "admits" } else { "refuses" };
        let _ = writeln!(
            out,
            "  admission: the kernel {kernel} it ({:.1} % of {:.1} %); by demand: {}",
            share(admission.asked) * 100.0,
            share(admission.available) * 100.0,
            edf_text(&admission.should)
        );
    }
    out
}

fn tasks_text(out: &mut String, analysis: &Analysis) {
    let with_latency = analysis.tasks.iter().any(|task| task.latency.is_some());
    let mut heads = vec!["task", "period", "compute", "deadline", "response", "bears"];
    if with_latency {
        heads.extend(["latency (permitted)", "response with it", "pseudo worst case", "response with it"]);
    }
    let response = |outcome: Option<&Outcome>| match outcome {
        None => "-".to_owned(),
        Some(outcome) => match (outcome.response_ns, outcome.meets) {
            (Some(response), Some(true)) => format_ns(response),
            (Some(response), _) => format!("{} LATE", format_ns(response)),
            (None, Some(true)) => "met (EDF)".to_owned(),
            (None, Some(false)) => "MISSED".to_owned(),
            (None, None) => "unknown".to_owned(),
        },
    };
    let mut rows = Vec::new();
    for found in &analysis.tasks {
        let task = &found.task;
        let mut plain = response(Some(&found.plain));
        if let Some(fixed) = found.plain.fixed_slot_ns {
            let _ = write!(plain, " (fixed slot {})", format_ns(fixed));
        }
        let mut row = vec![
            task.name.clone(),
            format_ns(task.period_ns),
            format_ns(task.compute_ns),
            format_ns(task.deadline_ns),
            plain,
            found.bears_ns.map_or("-".to_owned(), format_ns),
        ];
        if let Some(figure) = &found.latency {
            let seen = if figure.is_longest_seen { ", longest seen" } else { "" };
            let permitted = punctual_forecast::format_seconds(figure.permitted_s as f64);
            row.push(format!("{} (once in {permitted}{seen})", format_ns(figure.charged_ns)));
            row.push(response(found.with_blocking.as_ref()));
            row.push(format_ns(figure.pseudo_ns));
            row.push(response(found.with_pseudo.as_ref()));
        }
        rows.push(row);
    }
    indented(out, &table(&heads, 0..0, rows));
}

fn edf_text(edf: &Edf) -> String {
    match edf {
        Edf::Schedulable => "EDF meets every deadline".to_owned(),
        Edf::Overrun { window_ns, demand_ns } => {
            format!("EDF misses: {} of work within {}", format_ns(*demand_ns), format_ns(*window_ns))
        }
        Edf::Overloaded => "overloaded".to_owned(),
        Edf::Unknown => "EDF unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::tests_support::input;
    use punctual_forecast::Stage;
    use punctual_forecast::schedulability::{TaskSet, analyse};

    const EXAMPLE: &str = include_str!("../../../../examples/modem-and-audio.toml");

    #[test]
    fn the_example_as_text_and_json() {
        let set = TaskSet::parse_toml(EXAMPLE).unwrap();
        let found = analyse(&set, None).unwrap();
        let text = text(&found);
        assert!(text.starts_with("schedulable: every deadline is met"), "{text}");
        assert!(text.contains("5.30 ms"), "{text}");
        let value = json(&found);
        assert_eq!((value["schema"].as_str(), value["exit_code"].as_i64()), (Some(SCHEMA), Some(0)));
        assert_eq!(value["tasks"][1]["without_latency"]["response_ns"], 5_300_000);
        assert!(value["tasks"][0]["latency"].is_null());
    }

    #[test]
    fn with_a_recorded_latency() {
        let set = TaskSet::parse_toml(EXAMPLE).unwrap();
        let recording = input(3_000, 0);
        let found = analyse(&set, Some((&recording, Stage::Total))).unwrap();
        let (text, value) = (text(&found), json(&found));
        assert!(text.contains("pseudo worst case") && text.contains("once in"), "{text}");
        let latency = &value["tasks"][0]["latency"];
        assert!(latency["pseudo_worst_case_ns"].as_u64() < latency["charged_ns"].as_u64(), "{latency}");
    }

    #[test]
    fn what_breaks_comes_with_what_fixes_it() {
        let broken = EXAMPLE.replace("compute = \"2ms\"", "compute = \"12ms\"");
        let found = analyse(&TaskSet::parse_toml(&broken).unwrap(), None).unwrap();
        let text = text(&found);
        assert!(text.contains("not schedulable: `audio`") && text.contains("each of these alone would do"), "{text}");
    }
}
