//! Several sides, each compared with the first: text, JSON.

use super::answer::{CompareAnswer, SideRow};
use super::counts::counts_cells;
use super::devices::{device_name, times_as_often};
use super::sides::{label, labelled, one_sided};
use super::text::{TOO_FEW, side_line};
use super::words::{factor, interval, lacks_wakeups, told, value_of};
use crate::NextStep;
use crate::answer::Answer;
use crate::layout::{counted, grouped, microseconds, table};
use crate::verdict::compare::sides_verdict;
use punctual_comparison::{Comparison, DeviceComparison, Shared, Standing};
use punctual_recording::format_ns;
use serde::Serialize;
use std::fmt::Write;

/// The notes of all pairs, each once. A note on one side alone, which a pair calls A or B, gets that side's own letter;
/// any other note gets the letters of its pairs.
pub(super) fn several_notes(found: &[Shared]) -> Vec<String> {
    let mut notes: Vec<(String, Vec<String>)> = Vec::new();
    for (index, shared) in found.iter().enumerate() {
        let own = label(index + 1);
        for note in &shared.comparison.notes {
            let (note, pair) = match note.strip_prefix("B: ") {
                Some(of_side) => (format!("{own}: {of_side}"), None),
                None if note.starts_with("A: ") => (note.clone(), None),
                None => (note.clone(), Some(own.to_string())),
            };
            match notes.iter_mut().find(|(known, _)| *known == note) {
                Some((_, pairs)) => pairs.extend(pair),
                None => notes.push((note, pair.into_iter().collect())),
            }
        }
    }
    let named = |(note, pairs): (String, Vec<String>)| {
        if pairs.is_empty() { note } else { format!("{} beside A: {note}", pairs.join(", ")) }
    };
    notes.into_iter().map(named).collect()
}

/// The whole answer as text.
pub fn several_text(found: &[Shared]) -> String {
    let mut text = format!("{}\n", sides_verdict(found));
    let Some(first) = found.first() else { return text };
    for note in several_notes(found) {
        let _ = writeln!(text, "note: {note}");
    }
    let sides = std::iter::once(&first.comparison.a).chain(found.iter().map(|shared| &shared.comparison.b));
    text.push('\n');
    for (index, side) in sides.enumerate() {
        let _ = writeln!(text, "{}  {}", label(index), side_line(side));
    }
    let counts: Vec<Vec<String>> = labelled(found).flat_map(|(name, one)| counts_beside(one, name)).collect();
    if !counts.is_empty() {
        let header = ["", "side", "A", "its", "it is"];
        let _ = writeln!(
            text,
            "\nHow often, with limits that include the spread between runs\n\n{}",
            table(&header, 0..0, counts.into_iter())
        );
    }
    let _ = writeln!(
        text,
        "\nThe total of each side compared with A; at most 5 times in 100 is any of the {} wrong (Holm): *p* allows for all of them\n",
        counted(found.len(), "comparison")
    );
    let rows = found.iter().enumerate().map(|(index, shared)| row(label(index + 1), shared));
    let _ = writeln!(
        text,
        "{}",
        table(&["side", "by", "A us", "its us", "times A's", "interval", "p", "it is"], 2..5, rows)
    );
    let devices = devices_beside(found, times_as_often).map(|row| {
        vec![
            row.device,
            row.side.to_string(),
            format_ns(row.slack_ns),
            grouped(row.over.0),
            grouped(row.over.1),
            grouped(row.ran_dry.0),
            grouped(row.ran_dry.1),
            row.times,
        ]
    });
    let devices: Vec<Vec<String>> = devices.collect();
    if !devices.is_empty() {
        let header = ["device", "side", "slack", "stalls A", "its", "runs dry A", "its", "times as many stalls"];
        let _ = writeln!(
            text,
            "\nHow often each device's slack is exceeded: stalls, how often it runs dry, and how many times as many stalls as with A\n\n{}",
            table(&header, 2..7, devices.into_iter())
        );
    }
    text
}

/// What was counted on the side of this letter and on A, as cells of a table.
fn counts_beside(comparison: &Comparison, name: char) -> impl Iterator<Item = Vec<String>> {
    counts_cells(comparison).map(move |[what, a, own, is]| vec![what, name.to_string(), a, own, is])
}

/// A device on one of several sides.
pub(super) struct DeviceBeside {
    pub(super) device: String,
    pub(super) side: char,
    pub(super) slack_ns: u64,
    /// Stalls on the first side, and on this one.
    pub(super) over: (u64, u64),
    /// How often the device runs dry, on either.
    pub(super) ran_dry: (u64, u64),
    /// How many times as often, in words.
    pub(super) times: String,
}

/// Each device on each side compared with the first, the sides of a device together.
pub(super) fn devices_beside(
    found: &[Shared],
    times: fn(&DeviceComparison) -> String,
) -> impl Iterator<Item = DeviceBeside> {
    let rows = found.first().map_or(0, |shared| shared.comparison.devices.len());
    (0..rows).flat_map(move |row| {
        found.iter().enumerate().filter_map(move |(index, shared)| {
            let row = shared.comparison.devices.get(row)?;
            Some(DeviceBeside {
                device: device_name(row, &shared.comparison.devices),
                side: label(index + 1),
                slack_ns: row.slack_ns,
                over: row.over,
                ran_dry: row.ran_dry,
                times: times(row),
            })
        })
    })
}

/// What a side is beside the first.
pub(super) fn standing_in_words(comparison: &Comparison) -> &'static str {
    match comparison.standing {
        _ if lacks_wakeups(comparison) => TOO_FEW,
        Standing::Systems => one_sided(comparison).map_or(comparison.outcome.name(), told),
        _ => "no verdict",
    }
}

fn row(name: char, shared: &Shared) -> Vec<String> {
    let comparison = &shared.comparison;
    let total = comparison.total();
    let mut cells = vec![name.to_string()];
    match total.and_then(|total| Some((total, total.shown()?))) {
        Some((total, ratio)) => cells.extend([
            ratio.figure.name.to_owned(),
            microseconds(value_of(&total.a, ratio)),
            microseconds(value_of(&total.b, ratio)),
            factor(ratio.estimate),
            interval(ratio).unwrap_or_else(|| "any ratio".to_owned()),
        ]),
        None => cells.extend(["-"; 5].map(str::to_owned)),
    }
    cells.push(if shared.p < 0.001 { "< 0.001".to_owned() } else { format!("{:.3}", shared.p) });
    cells.push(standing_in_words(comparison).to_owned());
    cells
}

/// Several sides, each compared with the first.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CompareSidesAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    /// What to run next, at most two commands.
    next: Vec<NextStep>,
    /// The sides, in the order in which they were named.
    sides: Vec<LabelledSide<'a>>,
    /// Each side but the first, compared with the first, which is its `a`.
    comparisons: Vec<SharedRow<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LabelledSide<'a> {
    label: String,
    #[serde(flatten)]
    side: SideRow<'a>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SharedRow<'a> {
    label: String,
    /// The smallest probability of a false alarm over all comparisons at which this one still shows a difference.
    p_of_all: f64,
    /// The probability with which the intervals of this comparison hold together.
    confidence: f64,
    comparison: CompareAnswer<'a>,
}

impl<'a> CompareSidesAnswer<'a> {
    /// The answer for programs.
    pub fn new(found: &'a [Shared], next: Vec<NextStep>, exit_code: u8) -> CompareSidesAnswer<'a> {
        let first = found.first().map(|shared| &shared.comparison.a);
        let sides = first.into_iter().chain(found.iter().map(|shared| &shared.comparison.b));
        CompareSidesAnswer {
            schema: "punctual.compare-sides/1",
            verdict: sides_verdict(found),
            exit_code,
            next,
            sides: sides
                .enumerate()
                .map(|(index, side)| LabelledSide { label: label(index).to_string(), side: SideRow::new(side) })
                .collect(),
            comparisons: found
                .iter()
                .enumerate()
                .map(|(index, shared)| SharedRow {
                    label: label(index + 1).to_string(),
                    p_of_all: shared.p,
                    confidence: shared.confidence,
                    comparison: CompareAnswer::new(&shared.comparison, Vec::new(), 0),
                })
                .collect(),
        }
    }
}

impl Answer for CompareSidesAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::compare::comparison_verdict;
    use punctual_comparison::{
        CountComparison, Counted, EventCount, FIGURES, Outcome, Quantiles, RateRatio, Ratio, SideSummary,
        StageComparison, Verdict,
    };
    use punctual_recording::Stage;

    fn side() -> SideSummary {
        SideSummary {
            name: "x".to_owned(),
            runs: 3,
            load: String::new(),
            measured_ns: 1,
            wakeups: 1,
            missed: Some(0),
            periods: None,
            unobserved: 0,
            lost: 0,
            steal_ns: None,
            others_share: None,
            is_beside_devices: false,
            cut: false,
            requests: None,
        }
    }

    /// A side whose p99 is so many times that of the first, and that shows no difference.
    fn shared((low, estimate, high): (f64, f64, f64), standing: Standing) -> Shared {
        let quantiles = || Quantiles { count: 1_000, values_ns: [Some(1_000); FIGURES.len()], max_ns: Some(1_000) };
        let ratio = Ratio { figure: FIGURES[2], low, estimate, high, same_within: 1.05, p: 0.05, findable: 2.0 };
        let stage = StageComparison {
            measure: ("fifo:80".to_owned(), "fifo:80".to_owned()),
            stage: Stage::Total,
            a: quantiles(),
            b: quantiles(),
            ratios: vec![ratio],
            verdict: Verdict { outcome: Outcome::NoDifference, by: None },
        };
        let comparison = Comparison {
            a: side(),
            b: side(),
            outcome: Outcome::NoDifference,
            standing,
            runs_needed: None,
            decided_by: None,
            stages: vec![stage],
            counts: Vec::new(),
            causes: None,
            devices: Vec::new(),
            throughput: Vec::new(),
            differences: Vec::new(),
            notes: Vec::new(),
            is_paired: true,
            is_of_one_machine: true,
        };
        Shared { comparison, confidence: 0.975, p: 0.05 }
    }

    #[test]
    fn a_stage_that_is_not_what_the_total_is_stands_in_the_verdict() {
        let mut comparison = shared((0.70, 1.02, 1.50), Standing::Systems).comparison;
        let total = comparison.stages[0].clone();
        let mut work =
            StageComparison { stage: Stage::Work, verdict: Verdict { outcome: Outcome::Better, by: Some(0) }, ..total };
        work.ratios[0] = Ratio { low: 0.047, estimate: 0.20, high: 0.85, ..work.ratios[0] };
        comparison.stages.push(work);
        let said = comparison_verdict(&comparison);
        let figure = FIGURES[2].name;
        assert!(
            said.ends_with(&format!(" Of the stages, B's work {figure} is 0.20 times A's (0.047 to 0.85).")),
            "{said}"
        );
        // What the total is, its stages may be.
        comparison.outcome = Outcome::Better;
        assert!(!comparison_verdict(&comparison).contains("Of the stages"), "{said}");
    }

    /// The table on wakeups says the same as the sentence, also of a side of which something else was counted.
    #[test]
    fn a_side_with_too_few_wakeups_is_called_so_whatever_was_counted() {
        let mut few = shared((0.70, 1.02, 1.50), Standing::Systems);
        few.comparison.stages[0].ratios.clear();
        few.comparison.counts = vec![CountComparison {
            what: Counted::Underruns { of: "sdr".to_owned() },
            a: EventCount { exposure: 9, ..EventCount::default() },
            b: EventCount { exposure: 9, ..EventCount::default() },
            ratio: RateRatio::default(),
            outcome: Outcome::NoDifference,
            runs_needed: None,
        }];
        assert_eq!(standing_in_words(&few.comparison), TOO_FEW);
        let said = sides_verdict(&[few]);
        assert!(said.ends_with("Wakeup latency: too few wakeups to compare with A: B."), "{said}");
    }

    /// What a program reads is what the first sentence says.
    #[test]
    fn the_outcome_for_programs_is_that_of_the_first_sentence() {
        let counted = |what, outcome| CountComparison {
            what,
            a: EventCount { events: 50, least: 50, exposure: 5_000, ..EventCount::default() },
            b: EventCount { events: 50, least: 50, exposure: 5_000, ..EventCount::default() },
            ratio: RateRatio::default(),
            outcome,
            runs_needed: None,
        };
        let cycles = || Counted::Cycles { of: "my-loop".to_owned(), period_ns: 1_000_000 };
        let requests = || Counted::Requests { threshold_ns: 20_000_000 };
        let told = |counts: Vec<CountComparison>, standing| {
            let comparison = Comparison { counts, ..shared((0.70, 1.02, 1.50), standing).comparison };
            let answer = serde_json::to_value(CompareAnswer::new(&comparison, Vec::new(), 0)).unwrap();
            assert_eq!(answer["wakeup_latency"], "no difference", "{answer}");
            ["outcome", "these_runs", "verdict"].map(|field| answer[field].as_str().unwrap().to_owned())
        };
        let one_after_the_other = Standing::OneAfterTheOther;
        for (counts, standing, outcome, these_runs, begins) in [
            (vec![], Standing::Systems, "no difference", "no difference", "No detectable difference: "),
            (
                vec![counted(cycles(), Outcome::Better)],
                Standing::Systems,
                "better",
                "better",
                "Better: fewer cycles of ",
            ),
            (vec![counted(requests(), Outcome::Worse)], Standing::Systems, "worse", "worse", "Worse: more requests "),
            (
                vec![counted(cycles(), Outcome::NoDifference), counted(requests(), Outcome::Worse)],
                Standing::Systems,
                "worse",
                "worse",
                "Worse: more requests ",
            ),
            (
                vec![counted(cycles(), Outcome::Worse), counted(cycles(), Outcome::Better)],
                Standing::Systems,
                "mixed",
                "mixed",
                "Worse: more cycles of ",
            ),
            (
                vec![counted(cycles(), Outcome::Better)],
                one_after_the_other,
                "no verdict",
                "better",
                "B has fewer cycles of ",
            ),
        ] {
            let [found, found_of_runs, verdict] = told(counts, standing);
            assert_eq!((found.as_str(), found_of_runs.as_str()), (outcome, these_runs), "{verdict}");
            assert!(verdict.starts_with(begins), "{verdict}");
        }
    }

    /// What decides the exit code is in the answer.
    #[test]
    fn what_was_counted_comes_before_the_wakeups_of_each_side() {
        let counted = |events: u64, outcome| {
            let count = |events| EventCount { events, least: events, exposure: 5_000, ..EventCount::default() };
            let mut found = shared((0.70, 1.02, 1.50), Standing::Systems);
            found.comparison.counts = vec![CountComparison {
                what: Counted::Periods { of: "my-loop".to_owned(), period_ns: 1_000_000 },
                a: count(50),
                b: count(events),
                ratio: RateRatio { low: Some(0.5), estimate: Some(events as f64 / 50.0), high: Some(60.0) },
                outcome,
                runs_needed: None,
            }];
            found
        };
        let found = [counted(55, Outcome::NoDifference), counted(2_500, Outcome::Worse)];
        assert_eq!(
            sides_verdict(&found),
            "No detectable difference in periods of 1.00 ms that my-loop overran: 55 of 5,000 on B, 50 of 5,000 on A (1.10 times as often, \
             0.50 to 60.0). Worse: more periods of 1.00 ms that my-loop overran: 2,500 of 5,000 on C, 50 of 5,000 on A (50.0 times as often, \
             0.50 to 60.0). Wakeup latency: no detectable difference from A: B, C."
        );
        let named = ["a", "b", "c"].map(str::to_owned);
        let next = crate::after_comparisons(&found, &named, &[], None);
        assert!(next.iter().any(|step| step.command == "punctual compare a c"), "{next:?}");
        let text = several_text(&found);
        let row = text.lines().find(|line| line.contains("worse (50.0 times as often, 0.50 to 60.0)"));
        assert!(row.is_some_and(|row| row.contains(" C ")), "{text}");
        let many: Vec<Shared> = (0..8).map(|_| counted(50, Outcome::NoDifference)).collect();
        let said = sides_verdict(&many);
        assert!(said.contains(" Below: 2 more comparisons of this kind. Wakeup latency: "), "{said}");
    }

    #[test]
    fn a_side_that_rules_out_one_direction_is_not_called_no_difference() {
        let found = |standing| -> Vec<Shared> {
            [(0.41, 0.60, 0.97), (0.70, 1.02, 1.50), (1.02, 1.40, 2.10)].map(|limits| shared(limits, standing)).into()
        };
        assert_eq!(
            sides_verdict(&found(Standing::Systems)),
            "Worse than A or the same: D, its p99 1.40 times A's (1.02 to 2.10). \
             Better than A or the same: B, its p99 0.60 times A's (0.41 to 0.97). No detectable difference from A: C."
        );
        let told: Vec<&str> =
            found(Standing::Systems).iter().map(|shared| standing_in_words(&shared.comparison)).collect();
        assert_eq!(told, ["better or the same", "no difference", "worse or the same"]);
        let said = sides_verdict(&found(Standing::OneAfterTheOther));
        for words in ["As late as A or later in these runs: D, ", "As late as A or less late in these runs: B, "] {
            assert!(said.contains(words), "{said}");
        }
        // What Holm's rule takes back is not told by half.
        let mut blocked = shared((1.30, 1.60, 2.10), Standing::Systems);
        blocked.comparison.stages[0].verdict = Verdict { outcome: Outcome::Worse, by: Some(0) };
        assert_eq!(sides_verdict(&[blocked]), "No detectable difference from A: B.");
    }
}
