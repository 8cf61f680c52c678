//! Of simulations: what-ifs and experiments at the points of a grid, experiments beside their papers, the ledger of all, and
//! who ran when.

use crate::layout::{agreeing, counted, grouped};
use crate::sim::ExperimentSweep;
use punctual_recording::format_ns;
use punctual_sim::experiment::{Class, LedgerRow, Outcome};
use punctual_sim::ledger::Ledger;
use punctual_sim::observe::Level;
use punctual_sim::recorded::Timeline;
use punctual_sim::sweep::Sweep;
use punctual_sim::swept::Point;
use punctual_sim::time::{NANOSECOND, NEVER};
use std::fmt::Write as _;

/// One sentence about a case of an experiment at the points of a grid.
pub fn experiment_sweep_verdict(found: &ExperimentSweep) -> String {
    let count = |class: &str| found.points.iter().filter(|(_, point)| point.class() == class).count();
    let head = match found.interrupted {
        false => String::new(),
        true => format!("Interrupted after {} of {}. ", found.points.len(), counted(found.grid.points(), "point")),
    };
    let (sufficient, asked) = (count("sufficient"), counted(found.points.len(), "point"));
    format!(
        "{head}{sufficient} of {asked} {} sufficient, {} marginal, {} insufficient.{}",
        agreeing(sufficient, "is", "are"),
        count("marginal"),
        count("insufficient"),
        impossible(count("impossible"))
    )
}

/// At how many points nothing was computed because no such machine can exist.
fn impossible(points: usize) -> String {
    if points == 0 {
        return String::new();
    }
    format!(" At {} no such machine can exist.", counted(points, "point"))
}

/// The result of a what-if at every point, and where it is worst.
pub fn whatif_sweep_verdict(grid: &Sweep, points: &[Point], interrupted: bool) -> String {
    let outcomes = || points.iter().filter_map(|point| Some((point.number, point.outcome?)));
    let (without, possible) = (outcomes().filter(|(_, outcome)| outcome.misses == 0).count(), outcomes().count());
    let kept = if interrupted { " It was interrupted and kept what it had computed." } else { "" };
    if points.is_empty() && interrupted {
        return "It was interrupted before it had computed any point.".to_owned();
    }
    if possible == 0 && !points.is_empty() {
        let asked = counted(points.len(), "point");
        return format!("None of {asked} is possible: no such device, reservation or machine can exist.{kept}");
    }
    // The first of several equally bad ones.
    let worst = outcomes().max_by_key(|(number, outcome)| (outcome.misses, std::cmp::Reverse(*number)));
    let most = worst.filter(|(_, outcome)| outcome.misses > 0).map_or_else(String::new, |(number, outcome)| {
        let values = grid.axes().iter().zip(grid.written(number)).map(|(axis, value)| format!("{} {value}", axis.name));
        format!("; the most, {}, at {}", grouped(outcome.misses), values.collect::<Vec<_>>().join(", "))
    });
    let asked = counted(possible, "point");
    format!("No buffer was missed at {without} of {asked}{most}.{}{kept}", impossible(points.len() - possible))
}

/// One sentence about the ledger: it counts predictions alone, and names fitted and contradicted rows.
pub(crate) fn ledger_verdict(ledger: &Ledger) -> String {
    let fitted = ledger.counts.get(&Class::Fitted).copied().unwrap_or(0);
    let (all, holding, contradicted) = (ledger.predictions(), ledger.holding(), ledger.contradicted());
    let begin = match ledger.interrupted {
        false => counted(all, "prediction"),
        true => format!("Interrupted: {} of {all} predictions were judged", all - ledger.open()),
    };
    let head = format!("{begin}: {holding} hold, {contradicted} are contradicted by the papers");
    let failing = match ledger.failing() {
        0 => String::new(),
        failing => format!(", {failing} FAIL"),
    };
    let unjudged = ledger.rows.len() - all - fitted;
    format!(
        "{head}{failing}; {} {} fitted, {unjudged} more cannot fail and are not counted.",
        counted(fitted, "row"),
        agreeing(fitted, "is", "are")
    )
}

/// One sentence about an experiment.
pub(crate) fn outcome_verdict(outcome: &Outcome) -> String {
    let count = |of: &dyn Fn(&LedgerRow) -> bool| outcome.rows.iter().filter(|row| of(row)).count();
    let predictions = count(&|row| row.class == Class::Prediction);
    let holding = count(&|row| row.class == Class::Prediction && row.holds == Some(true));
    let contradicted =
        count(&|row| row.class == Class::Prediction && row.holds == Some(false) && row.contradicted.is_some());
    let failing = count(&LedgerRow::fails);
    if predictions == 0 {
        return format!("{} predicts nothing.", outcome.name);
    }
    let judged = predictions - count(&|row| row.class == Class::Prediction && row.is_open());
    if judged == 0 && !outcome.interrupted {
        return format!("{} predicts nothing of this case.", outcome.name);
    }
    let mut out = format!("{}: {holding} of {} hold", outcome.name, counted(judged, "prediction"));
    if contradicted > 0 {
        let _ = write!(out, ", {contradicted} contradicted");
    }
    if failing > 0 {
        let _ = write!(out, ", {failing} FAIL");
    }
    match (outcome.interrupted, predictions - judged) {
        (false, 0) => out + ".",
        (false, open) => format!("{out}; {open} more belong to cases that were not asked for."),
        (true, open) => format!("Interrupted. {out}; {open} more were not judged."),
    }
}

/// One sentence about the experiments there are.
pub fn experiments_verdict(count: usize) -> String {
    format!("{} come with the program; `punctual sim run NAME` runs one.", counted(count, "experiment"))
}

/// One sentence about who ran when: how many slices there are, and how late work began at most.
pub fn timeline_verdict(timeline: &Timeline) -> String {
    let ran = timeline.slices.iter().filter(|shown| shown.slice.level != Level::Idle).count();
    let from = timeline.slices.iter().map(|shown| shown.slice.start).min().unwrap_or(0);
    let to = timeline.slices.iter().map(|shown| shown.slice.end).max().unwrap_or(from);
    if ran == 0 {
        return "Nothing ran.".to_owned();
    }
    let waits = timeline.activations.iter().filter(|done| done.thread.is_some() && done.unit.arrival != NEVER);
    let longest = waits.map(|done| done.latency()).max();
    let began = longest.map_or_else(String::new, |longest| {
        format!("; work began at most {} after it was due", format_ns(longest / NANOSECOND))
    });
    format!("{} in {}{began}.", counted(ran, "slice"), format_ns((to - from) / NANOSECOND))
}
