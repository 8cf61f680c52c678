//! After a comparison.

use super::options::{as_written, same_threads};
use super::{NextStep, few};
use crate::layout::{counted, shell_word};
use punctual_comparison::interact::{InputComparison, InputOutcome};
use punctual_comparison::{Comparison, MIN_RUNS, Outcome as Difference, Shared, Standing};
use punctual_recording::{Document, Followed, Provenance};

/// After a comparison: runs measured in turn if these cannot tell, otherwise what the later side has more of. `first`
/// are recordings of A and of B, if there are any; `again` is the command that measured both sides, with another number
/// of repeats; `None` if recordings were compared.
pub fn after_comparison(
    comparison: &Comparison,
    first: [Option<&Document>; 2],
    again: Option<&dyn Fn(usize) -> String>,
) -> Vec<NextStep> {
    let outcome = decided(comparison);
    if comparison.standing != Standing::Systems || outcome == Difference::NoDifference {
        let had = comparison.a.runs.min(comparison.b.runs);
        // If no number of runs is known that would find it, twice as many as these at least find a smaller difference.
        let is_known = comparison.runs_needed.is_some() || comparison.standing != Standing::Systems;
        let runs = comparison.runs_needed.unwrap_or(if is_known { MIN_RUNS } else { 2 * had }).max(MIN_RUNS);
        let enough = if is_known {
            "often enough for a difference of this size"
        } else {
            "twice as often, for a smaller difference"
        };
        let (purpose, command) = match again {
            Some(again) => (format!("measures both sides in turn, {enough}"), again(runs)),
            None if !comparison.is_of_one_machine => (
                format!(
                    "takes directories: record the same threads under the same load on each machine or kernel, {} at least in each",
                    counted(runs as u64, "recording")
                ),
                "punctual compare here there".to_owned(),
            ),
            None if comparison.follows() => (
                format!(
                    "takes directories: record these threads in turn before and after the change, {} at least in each",
                    counted(runs as u64, "recording")
                ),
                "punctual compare before after".to_owned(),
            ),
            None => (
                format!(
                    "measures both sides in turn, {enough}; COMMAND sets a side: a shell command, or options such as '-p 90'"
                ),
                format!("sudo punctual compare --repeat {runs} --a COMMAND --b COMMAND"),
            ),
        };
        return vec![NextStep::new(&purpose, command)];
    }
    let (later, [a, b]) = (if outcome == Difference::Worse { "B" } else { "A" }, first);
    let document = if later == "B" { b } else { a };
    let followed = document.and_then(|document| Some((document.followed.as_ref()?, &document.provenance)));
    let (options, command) =
        followed.map(|(followed, provenance)| threads_again(followed, provenance)).unwrap_or_default();
    let purpose = format!("on side {later} records what delays it");
    vec![NextStep::new(&purpose, format!("sudo punctual record --why p99{options}{command}"))]
}

/// What the cycles and requests say, or else the wakeups.
fn decided(comparison: &Comparison) -> Difference {
    let mut outcomes = comparison.counts.iter().map(|row| row.outcome).chain([comparison.outcome]);
    outcomes.find(|outcome| *outcome != Difference::NoDifference).unwrap_or(Difference::NoDifference)
}

/// The options with which `punctual record` follows the same threads for the same question, and the command after them.
fn threads_again(followed: &Followed, provenance: &Provenance) -> (String, String) {
    let (threads, command) = same_threads(followed, &provenance.load.commands);
    let written = |option| as_written(&provenance.command_line, "", option);
    (written("--why-stage") + &threads + &written("--period"), command)
}

/// After several sides compared with the first: the stages of the one that differs most, or directories with enough
/// runs. `named` holds the sides' names from the command line, beginning with the one that all are compared with;
/// `again` is the command that measured them, with another number of repeats.
pub fn after_comparisons(found: &[Shared], named: &[String], again: Option<&dyn Fn(usize) -> String>) -> Vec<NextStep> {
    let mut steps = Vec::new();
    let unjudged: Vec<&Comparison> =
        (found.iter().map(|shared| &shared.comparison)).filter(|one| one.standing != Standing::Systems).collect();
    if let (Some(again), false) = (again, unjudged.is_empty()) {
        // The order of the runs has a say: with five sides and more it takes one more run.
        let enough = MIN_RUNS + 1 + usize::from(found.len() > 3);
        steps.push(NextStep::new("measures all sides in turn, often enough for a verdict", again(enough)));
    } else if !unjudged.is_empty() {
        let purpose = format!("takes directories: record all sides in turn, at least {MIN_RUNS} recordings in each");
        let example: Vec<String> = (1..=named.len()).map(|number| format!("side{number}")).collect();
        steps.push(NextStep::new(&purpose, format!("punctual compare {}", example.join(" "))));
    }
    let most = found.iter().zip(named.iter().skip(1)).min_by(|(one, _), (other, _)| one.p.total_cmp(&other.p));
    if let (Some((_, side)), Some(first)) = (most, named.first()) {
        let pair = format!("punctual compare {} {}", shell_word(first), shell_word(side));
        steps.push(NextStep::new("shows stages, devices and what else differs for the side that differs most", pair));
    }
    few(steps)
}

/// After a comparison of inputs: runs measured in turn if these cannot tell, otherwise the inputs of the slower side;
/// of sides at different paces no further runs would tell. `first` are recordings of A and of B.
pub fn after_interact_comparison(comparison: &InputComparison, first: [&str; 2]) -> Vec<NextStep> {
    let is_verdict = comparison.standing == Standing::Systems;
    let is_told_by_more = comparison.standing != Standing::OtherPace;
    if is_told_by_more && (!is_verdict || comparison.outcome == InputOutcome::NoDifference) {
        let runs =
            comparison.runs_needed.unwrap_or(if is_verdict { 2 * comparison.a.runs } else { MIN_RUNS }).max(MIN_RUNS);
        let purpose = format!(
            "takes directories: `punctual interact -o before/1.punctual`, `-o after/1.punctual`, `-o before/2.punctual` and so on in turn, {} in each",
            counted(runs as u64, "recording")
        );
        return vec![NextStep::new(&purpose, "punctual compare before after".to_owned())];
    }
    let slower = first[usize::from(comparison.outcome != InputOutcome::Better)];
    vec![NextStep::new(
        "shows the longest inputs and what each was spent on",
        format!("punctual report {}", shell_word(slower)),
    )]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threads_of_the_later_side_are_followed_again_for_the_same_question() {
        let followed = Followed { asked: vec!["threads named ^worker".to_owned()], ..Followed::default() };
        let words = "punctual record --comm ^worker --why p99 --why-stage request --period 5ms -o before/1.punctual";
        let command_line = words.split(' ').map(str::to_owned).collect();
        let provenance = Provenance { command_line, ..Provenance::default() };
        let (options, command) = threads_again(&followed, &provenance);
        assert_eq!((options.as_str(), command.as_str()), (" --why-stage request --comm '^worker' --period 5ms", ""));
    }
}
