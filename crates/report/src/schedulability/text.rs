//! The analysis of a task set as text for people.

use crate::layout::indented;
use punctual_forecast::schedulability::{Analysis, CpuAnalysis, Edf, Outcome};
use punctual_recording::format_ns;
use std::fmt::Write as _;

/// The kernel's units of 2^-20 CPUs as a share of one.
pub(super) fn share(units: u64) -> f64 {
    units as f64 / (1u64 << 20) as f64
}

/// The analysis as text: the verdict first, then what would fix it, then tables.
pub fn text(analysis: &Analysis) -> String {
    let mut out = format!("{}\n", analysis.verdict);
    if !analysis.fixes.is_empty() {
        out.push_str("each of these alone would be enough:\n");
        for fix in &analysis.fixes {
            let _ = writeln!(out, "  - {fix}");
        }
    } else if analysis.breaks.is_some() {
        out.push_str("no single change that was tried would be enough\n");
    }
    for note in &analysis.notes {
        let _ = writeln!(out, "! {note}");
    }
    out.push('\n');
    tasks_text(&mut out, analysis);
    for cpu in &analysis.cpus {
        let _ = writeln!(out, "  CPU {}: {}", cpu.cpu, cpu_text(cpu));
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
    if let Some(global) = &analysis.global {
        let tests =
            global.tests().map(|(name, shows)| format!("{name} {}", if shows { "passes" } else { "says nothing" }));
        let _ = writeln!(out, "  global EDF on {} CPUs: {}", global.cpus, tests.join(", "));
    }
    if let Some(admission) = &analysis.admission {
        let kernel = if admission.refused.is_none() { "admits" } else { "refuses" };
        let _ = writeln!(
            out,
            "  admission: the kernel {kernel} it ({:.1} % of {:.1} %); by demand, on one CPU: {}",
            share(admission.asked) * 100.0,
            share(admission.available) * 100.0,
            edf_text(&admission.should)
        );
    }
    out
}

/// What the tests say of a CPU.
fn cpu_text(cpu: &CpuAnalysis) -> String {
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
    parts.join(", ")
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
            (Some(response), Some(false)) => format!("{} LATE", format_ns(response)),
            (None, Some(true)) => "met (EDF)".to_owned(),
            (None, Some(false)) => "MISSED".to_owned(),
            (_, None) => "unknown".to_owned(),
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
            let of_use = if figure.compression.is_some_and(|hours| hours != 1.0) { " of use" } else { "" };
            row.push(format!("{} (once in {permitted}{of_use}{seen})", format_ns(figure.charged_ns)));
            row.push(response(found.with_blocking.as_ref()));
            row.push(format_ns(figure.pseudo_ns));
            row.push(response(found.with_pseudo.as_ref()));
        }
        rows.push(row);
    }
    indented(out, &heads, 0..0, rows);
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
    use crate::schedulability::SchedulabilityAnswer;
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
        let value = crate::answer::value(&SchedulabilityAnswer::new(&found));
        assert_eq!((&value["schema"], &value["exit_code"]), (&"punctual.schedulability/1".into(), &0.into()));
        assert_eq!(value["tasks"][1]["without_latency"]["response_ns"], 5_300_000);
        assert!(value["tasks"][0]["latency"].is_null());
    }

    #[test]
    fn with_a_recorded_latency() {
        let set = TaskSet::parse_toml(EXAMPLE).unwrap();
        let recording = input(3_000, 0);
        let found = analyse(&set, Some((&recording, Stage::Total))).unwrap();
        let (text, value) = (text(&found), crate::answer::value(&SchedulabilityAnswer::new(&found)));
        assert!(text.contains("pseudo worst case") && text.contains("(once in 60 min of use"), "{text}");
        assert!(text.contains("; it is assumed that an hour under office stands for 10 hours of use\n"), "{text}");
        let latency = &value["tasks"][0]["latency"];
        assert_eq!(latency["compression"], 10.0);
        assert!(latency["pseudo_worst_case_ns"].as_u64() < latency["charged_ns"].as_u64(), "{latency}");
    }

    #[test]
    fn what_breaks_comes_with_what_fixes_it() {
        let broken = EXAMPLE.replace("compute = \"2ms\"", "compute = \"12ms\"");
        let found = analyse(&TaskSet::parse_toml(&broken).unwrap(), None).unwrap();
        let text = text(&found);
        assert!(
            text.contains("not schedulable: `audio`") && text.contains("each of these alone would be enough"),
            "{text}"
        );
    }
}
