//! What matters about sides of inputs besides their figures: whether they were used alike, and what a reader must know.

use super::comparison::{GroupComparison, InputSide, InputSummary};
use super::figures::{FEW, MEDIAN};
use super::gather::{Group, InputRun};
use crate::differences::Difference;
use crate::error::Error;
use crate::standing::Standing;
use punctual_recording::{Distribution, EndReason, InteractionDocument, START, agreeing, counted, format_ns};
use std::collections::{BTreeMap, BTreeSet};

/// If a side saw this much less of its inputs than the other, the inputs that it did not see may be those that took
/// long.
const SEEN_APART: f64 = 0.02;

/// Whether all runs used the program in the same way, but that either side may have a pace of its own: a person's beside
/// none.
pub(super) fn comparable(a: &InputSide, b: &InputSide) -> Result<(), Error> {
    for side in [a, b] {
        if side.runs.is_empty() {
            return Err(Error(format!("{}: there is no recording", side.name)));
        }
    }
    let (first, all) = (&a.runs[0].summary, [a, b]);
    for side in all {
        let pace = &side.runs[0].summary.pace;
        for InputRun { summary, .. } in &side.runs {
            let ways = [("by", &first.via, &summary.via, a), ("at the pace", pace, &summary.pace, side)];
            for (how, one, other, of) in ways {
                if one != other {
                    return Err(Error(format!(
                        "{} was used {how} {other} and {} {how} {one}: only recordings that use a program in the same way can be compared",
                        side.name, of.name
                    )));
                }
            }
            if first.followed != summary.followed {
                let [followed, not] = if summary.followed { [&side.name, &a.name] } else { [&a.name, &side.name] };
                return Err(Error(format!(
                    "{followed} was followed through the kernel and {not} was not: their inputs end by different rules and cannot be compared"
                )));
            }
        }
    }
    Ok(())
}

/// Whether both sides were used at the same pace.
pub(super) fn at_one_pace(a: &InputSide, b: &InputSide) -> bool {
    let pace = |side: &InputSide| distinct(side, |summary| summary.pace.clone());
    pace(a) == pace(b)
}

pub(super) fn summary(side: &InputSide) -> InputSummary {
    let sum = |value: &dyn Fn(&InputRun) -> u64| side.runs.iter().map(value).fold(0, u64::saturating_add);
    let of_kinds = |run: &InputRun, value: &dyn Fn(&super::gather::RunGroup) -> u64| {
        let kinds = run.groups.iter().filter(|(group, _)| group.label.is_none() && group.kind != START);
        kinds.map(|(_, own)| value(own)).fold(0, u64::saturating_add)
    };
    let mut waits = Distribution::new();
    side.runs.iter().for_each(|run| waits.add(&run.waits.all));
    InputSummary {
        name: side.name.clone(),
        runs: side.runs.len(),
        program: distinct(side, |summary| summary.program.join(" ")),
        pace: distinct(side, |summary| summary.pace.clone()),
        inputs: sum(&|run| of_kinds(run, &|own| own.inputs)),
        merged: sum(&|run| run.waits.merged),
        until_seen_ns: waits.quantile(MEDIAN.level).filter(|_| waits.count() >= MEDIAN.needed),
        waited_per_input_ns: sum(&|run| run.waits.under_way_ns).checked_div(waits.count()),
        seen: sum(&|run| of_kinds(run, &|own| own.seen)),
        lasted_ns: sum(&|run| run.lasted_ns),
        waited_ns: sum(&|run| run.waited_ns),
        cpu_per_input_ns: sum(&|run| run.cpu_ns).checked_div(sum(&|run| run.cpu_inputs)),
        ended_by_signal: sum(&|run| u64::from(run.summary.ended_early && run.summary.exit_code.is_none())),
        not_put_in: sum(&|run| run.summary.not_put_in),
    }
}

/// What the runs of a side say about themselves, each once.
fn distinct(side: &InputSide, value: impl Fn(&InteractionDocument) -> String) -> String {
    let all: BTreeSet<String> = side.runs.iter().map(|run| value(&run.summary)).collect();
    all.into_iter().collect::<Vec<_>>().join("; ")
}

/// What differs in how the sides were used: the program, and what was typed.
pub(super) fn program_differences(a: &InputSide, b: &InputSide) -> Vec<Difference> {
    let both = |what, value: fn(&InteractionDocument) -> String| (what, distinct(a, value), distinct(b, value));
    let rows = [
        both("program", |summary| summary.program.join(" ")),
        both("script", |summary| summary.script.clone()),
        both("script's digest", |summary| summary.script_digest.clone()),
        both("pace", |summary| summary.pace.clone()),
    ];
    rows.into_iter()
        .filter(|(_, left, right)| left != right)
        .map(|(what, left, right)| Difference { area: "program", what: what.to_owned(), a: Some(left), b: Some(right) })
        .collect()
}

/// What a reader must know first.
pub(super) fn notes(
    a: &InputSide,
    b: &InputSide,
    standing: Standing,
    is_paired: bool,
    kinds: &[GroupComparison],
    absent: &[Group],
) -> Vec<String> {
    let mut notes: Vec<String> = [("A", a), ("B", b)].iter().flat_map(|(label, side)| of_side(label, side)).collect();
    let ids = |side: &InputSide| -> BTreeSet<String> {
        side.runs.iter().map(|run| run.document.provenance.run_id.clone()).filter(|id| !id.is_empty()).collect()
    };
    if ids(a).intersection(&ids(b)).next().is_some() {
        notes.push("the same run is on both sides".to_owned());
    }
    if distinct(a, |summary| summary.script_digest.clone()) != distinct(b, |summary| summary.script_digest.clone()) {
        notes.push("what was typed differs between the sides: their scripts are not the same".to_owned());
    }
    if standing == Standing::OtherPace {
        let [one, other] = [a, b].map(|side| distinct(side, |summary| summary.pace.clone()));
        notes.push(format!("the pace is {one} on A and {other} on B: what differs is how the program was used"));
    }
    for kind in kinds {
        let [left, right] = kind.sides.map(|side| side.seen as f64 / side.inputs.max(1) as f64);
        let unseen = kind.sides.map(|side| side.inputs - side.seen.min(side.inputs));
        if (left - right).abs() > SEEN_APART && unseen[0].abs_diff(unseen[1]) >= FEW {
            let [a, b] = kind.sides;
            notes.push(format!(
                "{}: A answered {} of {} and B {} of {}: what took longest may be among the others, which no figure includes",
                kind.group.kind, a.seen, a.inputs, b.seen, b.inputs
            ));
        }
    }
    // At two paces a table has it.
    notes.extend(cpu_of_each(&summary(a), &summary(b)).filter(|_| standing != Standing::OtherPace));
    notes.extend(left_out(a, b, absent));
    let fewest = a.runs.len().min(b.runs.len());
    let alone = "a side with a single run does not show how much runs differ: there are no limits and no verdict";
    let note = if fewest == 1 { Some(alone) } else { standing.note(is_paired) };
    notes.extend(note.map(str::to_owned));
    notes
}

/// Which kinds are not compared, and why.
fn left_out(a: &InputSide, b: &InputSide, absent: &[Group]) -> Vec<String> {
    let (doubted, few): (Vec<&Group>, Vec<&Group>) = absent.iter().partition(|group| is_doubted(a, b, group));
    let why = [
        (few, "too few in some run"),
        (doubted, "something came after them of which it is not known whether it was the answer"),
    ];
    let told = why.into_iter().filter(|(groups, _)| !groups.is_empty()).map(|(groups, why)| {
        let names: Vec<&str> = groups.iter().map(|group| group.kind.as_str()).collect();
        format!("{why}, so left out: {} {}", agreeing(names.len() as u64, "the kind", "the kinds"), names.join(", "))
    });
    told.collect()
}

/// Whether inputs of a group may have been seen later than it seems.
pub(super) fn is_doubted(a: &InputSide, b: &InputSide, group: &Group) -> bool {
    let mut runs = a.runs.iter().chain(&b.runs);
    runs.any(|run| run.groups.get(group).is_some_and(|own| own.is_doubted()))
}

/// The CPU time of an input, if most inputs of a side have no latency of their own, as without pauses.
fn cpu_of_each(a: &InputSummary, b: &InputSummary) -> Option<String> {
    let is_mostly_unseen = |side: &InputSummary| side.seen.saturating_mul(2) < side.inputs;
    let [left, right] = [a.cpu_per_input_ns?, b.cpu_per_input_ns?].map(format_ns);
    (is_mostly_unseen(a) || is_mostly_unseen(b)).then(|| {
        format!(
            "most inputs of a side have no latency of their own; an input took {left} of the program's CPU time on A and {right} on B, what its threads did in the background included"
        )
    })
}

/// How programs ended before their script did.
fn early_ends(label: &str, side: &InputSide) -> Vec<String> {
    let mut ends: BTreeMap<String, u64> = BTreeMap::new();
    for summary in side.runs.iter().map(|run| &run.summary).filter(|summary| summary.ended_early) {
        let how = summary.exit_code.map_or_else(|| "by a signal".to_owned(), |code| format!("with code {code}"));
        *ends.entry(how).or_default() += 1;
    }
    let told = ends.into_iter();
    told.map(|(how, runs)| {
        format!("{label}: in {} the program ended {how} before the script did", counted(runs, "run"))
    })
    .collect()
}

fn of_side(label: &str, side: &InputSide) -> Vec<String> {
    let mut notes = Vec::new();
    let sum = |value: fn(&InputRun) -> u64| side.runs.iter().map(value).fold(0, u64::saturating_add);
    let lost = sum(|run| run.summary.records_lost);
    if lost > 0 {
        notes.push(format!("{label}: {} were overwritten before they could be read", counted(lost, "kernel record")));
    }
    let with_holes = sum(|run| run.summary.with_holes);
    if with_holes > 0 {
        notes.push(format!("{label}: a part of the evidence is missing for {}", counted(with_holes, "input")));
    }
    let wrong = sum(|run| run.wrong_sums);
    if wrong > 0 {
        notes.push(format!("{label}: the parts of {} do not add up: a recording is damaged", counted(wrong, "input")));
    }
    let before = sum(|run| run.began_before);
    if before > 0 {
        let (was, them) = (agreeing(before, "was", "were"), agreeing(before, "it", "them"));
        let inputs = counted(before, "input");
        notes.push(format!("{label}: {inputs} {was} there before anybody looked, so no figure includes {them}"));
    }
    let without = side.runs.iter().filter(|run| run.summary.followed && !run.has_parts).count() as u64;
    if without > 0 {
        notes.push(format!(
            "{label}: what the time went to is missing in {} (interaction_parts/), so no causes are named",
            counted(without, "recording")
        ));
    }
    notes.extend(early_ends(label, side));
    let not_put_in = sum(|run| run.summary.not_put_in);
    if not_put_in > 0 {
        notes.push(format!("{label}: not put in: {} of the script", counted(not_put_in, "input")));
    }
    let ended = |wanted: Option<EndReason>| {
        side.runs.iter().any(|run| run.document.ended.as_ref().map(|ended| ended.reason) == wanted)
    };
    if ended(None) {
        notes.push(format!("{label}: a recording was cut short: up to a second at its end is missing"));
    }
    if ended(Some(EndReason::Failed)) {
        notes.push(format!("{label}: a recording was ended early"));
    }
    for run in &side.runs {
        for note in run.document.provenance.fallbacks.iter().map(|note| format!("{label}: {note}")) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}
