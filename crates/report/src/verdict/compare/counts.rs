//! What was counted on either side: cycles that took too long, slow requests, underruns.

use crate::compare::counts::{is_share, out_of, side, times, times_as_often, what};
use crate::compare::words::factor;
use crate::layout::capitalized;
use punctual_comparison::{Comparison, CountComparison, Counted, EventCount, MIN_RUNS, Outcome, Standing, Untold};
use punctual_recording::{counted, format_ns, grouped, printable};

/// The most loops, or devices, that a verdict names.
const MAX_NAMED: usize = 3;

/// Sentences on the cycles of loops and the underruns of devices, which come before everything else: whoever gives a
/// period, or runs a device, asks for these.
pub(super) fn cycles_in_words(comparison: &Comparison) -> Vec<String> {
    let mut cycles: Vec<&CountComparison> =
        comparison.counts.iter().filter(|row| !matches!(row.what, Counted::Requests { .. })).collect();
    // What is decided stands before what is not.
    cycles.sort_by_key(|row| row.outcome == Outcome::NoDifference);
    let mut sentences: Vec<String> =
        cycles.iter().take(MAX_NAMED).map(|row| sentence(row, comparison.standing)).collect();
    if cycles.len() > MAX_NAMED {
        let (what, whose) = match cycles[0].what {
            Counted::Underruns { .. } => ("underruns", "more device"),
            Counted::Cycles { .. } | Counted::Periods { .. } | Counted::Requests { .. } => ("cycles", "more loop"),
        };
        sentences.push(format!("Below: the {what} of {}.", counted(cycles.len() - MAX_NAMED, whose)));
    }
    sentences
}

/// Sentences on slow requests, those first in which the sides differ.
pub(super) fn requests_in_words(comparison: &Comparison) -> Vec<String> {
    let requests = comparison.counts.iter().filter(|row| matches!(row.what, Counted::Requests { .. }));
    let mut requests: Vec<&CountComparison> = requests.collect();
    requests.sort_by_key(|row| row.outcome == Outcome::NoDifference);
    requests.into_iter().map(|row| sentence(row, comparison.standing)).collect()
}

/// All sentences of a comparison with the side of this letter, which is one of several.
pub(super) fn counts_in_words(comparison: &Comparison, name: char) -> Vec<String> {
    comparison.counts.iter().map(|row| sentence_on(row, comparison.standing, name)).collect()
}

fn sentence(row: &CountComparison, standing: Standing) -> String {
    sentence_on(row, standing, 'B')
}

/// The sentences on what A and the side of this letter have.
fn sentence_on(row: &CountComparison, standing: Standing, name: char) -> String {
    let (seen, others_work) = (what_was_seen(row, standing, name), others_work(row, name));
    match may_have_hung(row, name) {
        None => seen + &others_work,
        // What is decided comes first, or else what keeps it from being so.
        Some(hung) if row.outcome == Outcome::NoDifference => format!("{hung} {seen}{others_work}"),
        Some(hung) => format!("{seen} {hung}{others_work}"),
    }
}

/// That the loop may have hung; `None` if it was seen to go on until the end of each run.
fn may_have_hung(row: &CountComparison, name: char) -> Option<String> {
    let of_side = |(count, name): (&EventCount, char)| {
        (count.hung_runs > 0).then(|| format!("{} of {name}", counted(count.hung_runs, "run")))
    };
    let sides: Vec<String> = [(&row.a, 'A'), (&row.b, name)].into_iter().filter_map(of_side).collect();
    let (Counted::Cycles { of, .. } | Counted::Periods { of, .. }, false) = (&row.what, sides.is_empty()) else {
        return None;
    };
    let longest = format_ns(row.a.longest_hung_ns.max(row.b.longest_hung_ns));
    Some(format!("{} may have hung at the end of {}, for up to {longest}.", printable(of), sides.join(" and ")))
}

/// That threads that never slept may have done what the loop is for, with a space before; empty if there were none.
fn others_work(row: &CountComparison, name: char) -> String {
    let of_side = |(count, name): (&EventCount, char)| {
        (count.without_sleep > 0).then(|| format!("{} on {name}", grouped(count.without_sleep)))
    };
    let sides: Vec<String> = [(&row.a, 'A'), (&row.b, name)].into_iter().filter_map(of_side).collect();
    match sides.is_empty() {
        true => String::new(),
        false => format!(
            " Threads that the loop may have started ended without ever sleeping ({}): no wakeup shows how long what they did took.",
            sides.join(", ")
        ),
    }
}

/// The sentence on what was seen of both.
fn what_was_seen(row: &CountComparison, standing: Standing, name: char) -> String {
    let what = what(&row.what);
    if !row.is_countable() {
        let untold = untold_in_words(row, name);
        return format!("{}: these could not be counted on both A and {name}{untold}.", capitalized(&what));
    }
    if row.a.events == 0 && row.b.events == 0 {
        let seen = if row.a.may_be_more || row.b.may_be_more { " seen" } else { "" };
        return format!(
            "{}: none{seen} on A or {name} ({} and {}).",
            capitalized(&what),
            out_of(row, &row.a),
            out_of(row, &row.b)
        );
    }
    if let Some(sentence) = seen_in_too_few(row, standing, name) {
        return sentence;
    }
    let [more, fewer, difference_in] = comparatives(row);
    let verdict = match (row.outcome, standing == Standing::Systems) {
        (Outcome::Worse, true) => format!("Worse: {more} {what}"),
        (Outcome::Better, true) => format!("Better: {fewer} {what}"),
        (Outcome::NoDifference, true) => format!("No detectable {difference_in} {what}"),
        (Outcome::Worse, false) => format!("{name} has {more} {what} in these runs"),
        (Outcome::Better, false) => format!("{name} has {fewer} {what} in these runs"),
        (Outcome::NoDifference, false) => format!("These runs show no {difference_in} {what}"),
    };
    let (a, b) = (side(row, &row.a), side(row, &row.b));
    format!("{verdict}: {b} on {name}, {a} on A ({}).", times_as_often(row))
}

/// Why requests could not be counted, after a colon; empty if that is not known.
fn untold_in_words(row: &CountComparison, name: char) -> String {
    let of_side = |(count, name): (&EventCount, char)| {
        count.untold.map(|untold| match untold {
            Untold::NoneRecognised => format!("a run of {name} recognised none"),
            Untold::MostlyUnknown => {
                format!("it is not known how long more than half of those in a run of {name} took")
            }
        })
    };
    let reasons: Vec<String> = [(&row.a, 'A'), (&row.b, name)].into_iter().filter_map(of_side).collect();
    if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join(", and ")) }
}

/// What goes before what was counted if there is more of it, if there is less, and if neither is so.
fn comparatives(row: &CountComparison) -> [&'static str; 3] {
    match is_share(row) {
        true => ["a larger share of", "a smaller share of", "difference in the share of"],
        false => ["more", "fewer", "difference in"],
    }
}

/// That one side has more slow requests, or underruns, where only too few runs keep that from being a verdict: so many more are
/// not called no difference.
fn seen_in_too_few(row: &CountComparison, standing: Standing, name: char) -> Option<String> {
    let Standing::TooFewRuns { more } = standing else { return None };
    if !row.differs_without_a_verdict(standing) {
        return None;
    }
    let [more_of, fewer_of, _] = comparatives(row);
    let is_more = row.ratio.estimate.is_none_or(|estimate| estimate > 1.0);
    let ratio = row.ratio.estimate.filter(|estimate| *estimate > 0.0);
    let ratio = ratio.map_or_else(String::new, |estimate| format!(" ({} {})", factor(estimate), times(row)));
    Some(format!(
        "{name} has {} {} in these runs: {} on {name}, {} on A{ratio}; {} too few for a verdict.",
        if is_more { more_of } else { fewer_of },
        what(&row.what),
        side(row, &row.b),
        side(row, &row.a),
        if more == [MIN_RUNS - 1; 2] { "one run of each side is" } else { "these runs are" },
    ))
}

#[cfg(test)]
mod tests;
