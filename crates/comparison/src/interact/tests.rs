//! Made-up inputs, compared.

#[path = "../../benches/inputs/made_up.rs"]
mod made_up;

use super::*;
use crate::standing::Standing;
use crate::verdict::{Outcome, Overall};
use made_up::{Machine, Made, Process};
use proptest::prelude::*;

const MINUTE_NS: u64 = 60_000_000_000;

fn gathered(made: Made) -> InputRun {
    let mut gather = GatherInputs::new(made.document, made.summary, made.inputs);
    made.parts.iter().for_each(|part| gather.push(part));
    gather.finish()
}

/// Runs in turn, A first; on B, an Enter waits for a disk for this long.
fn sides(process: Process, seed: u64, pairs: u64, disk_ns: f64) -> [InputSide; 2] {
    let mut machine = Machine::new(process, seed);
    let mut sides = ["before", "after"].map(|name| InputSide { name: name.to_owned(), runs: Vec::new() });
    for index in 0..2 * pairs {
        let side = (index % 2) as usize;
        let made = machine.run((1 + index) * MINUTE_NS, ("enter", disk_ns * side as f64));
        sides[side].runs.push(gathered(made));
    }
    sides
}

fn compared(sides: &[InputSide; 2]) -> InputComparison {
    compare_inputs(&sides[0], &sides[1]).unwrap()
}

/// Every figure there is, with its group.
fn figures(comparison: &InputComparison) -> Vec<(&Group, &FigureComparison)> {
    let all = comparison.kinds.iter().chain(&comparison.labels);
    all.flat_map(|one| one.figures.iter().chain(&one.waiting).map(move |figure| (&one.group, figure))).collect()
}

#[test]
fn a_disk_is_found_and_named_and_nothing_else_is() {
    for (pairs, standing) in [(2, Standing::TooFewRuns { more: [1, 1] }), (3, Standing::Systems)] {
        let found = compared(&sides(Process::Steady, 7, pairs, 10e6));
        assert_eq!((found.standing, found.outcome), (standing, Overall::Worse));
        let different: Vec<&GroupComparison> = found.different().collect();
        assert_eq!(different.len(), 1, "{different:?}");
        assert_eq!((different[0].group.kind.as_str(), different[0].verdict.outcome), ("enter", Outcome::Worse));
        let figure = different[0].shown().unwrap();
        let [low, estimate, high] = figure.difference;
        assert!(low < 10e6 && 10e6 < high && low > 0.0 && low < estimate && estimate < high, "{figure:?}");
        let clear = figure.parts.as_ref().unwrap().clear(0.5);
        assert_eq!((clear[0].kind, clear[0].one.map(|one| one.name.as_str())), ("io", Some("vda")), "{clear:?}");
        assert!((8_000_000..12_000_000).contains(&clear[0].ns), "{clear:?}");
    }
}

#[test]
fn a_program_beside_itself_is_no_different() {
    let machines =
        [Process::Steady, Process::Runs(0.3), Process::Regimes(2.0), Process::Correlated(0.9), Process::Tail(0.3)];
    let (mut alarms, mut comparisons) = (0, 0);
    for process in machines {
        for seed in 0..20 {
            alarms += u64::from(compared(&sides(process, seed, 4, 0.0)).outcome != Overall::NoDifference);
            comparisons += 1;
        }
    }
    assert!(comparisons == 100 && alarms <= 5, "{alarms} of {comparisons}");
}

#[test]
fn one_run_a_side_claims_nothing() {
    let (mut figures_met, mut needed) = (0, 0);
    for seed in 0..20 {
        let found = compared(&sides(Process::Runs(0.7), seed, 1, 50e6));
        assert_eq!((found.outcome, found.has_limits()), (Overall::NoDifference, false));
        assert!(found.different().next().is_none() && found.labels.iter().all(|label| !label.is_different()));
        for (_, figure) in figures(&found) {
            assert_eq!((figure.has_limits, figure.outcome()), (false, None));
            assert!(figure.parts.as_ref().is_none_or(|parts| parts.clear(0.0).is_empty()));
            figures_met += 1;
        }
        needed += u64::from(found.runs_needed.is_some());
    }
    // The number of runs it takes is given all the same: it is a large difference.
    assert!(figures_met >= 140 && needed == 20, "{figures_met} {needed}");
}

#[test]
fn the_cpu_time_of_an_input_is_told_where_most_were_merged() {
    let side = |name: &str, pace: &str, is_seen: bool, cpu_ns: u64| {
        let mut made = Machine::new(Process::Steady, 7).run(MINUTE_NS, ("enter", 0.0));
        made.summary.pace = pace.to_owned();
        for (at, input) in made.inputs.iter_mut().filter(|input| input.kind != "start").enumerate() {
            // Without pauses, several come before a thread runs.
            input.cpu_ns = (is_seen || at % 4 == 3).then_some(cpu_ns);
            if !is_seen {
                input.seen_ns = None;
                input.outcome = Some(punctual_recording::Outcome::Merged);
            }
        }
        InputSide { name: name.to_owned(), runs: vec![gathered(made)] }
    };
    let (human, full) = (side("human", "human", true, 2_000_000), side("full", "full", false, 4_000_000));
    let found = compare_inputs(&human, &full).unwrap();
    assert_eq!((found.a.cpu_per_input_ns, found.b.cpu_per_input_ns), (Some(2_000_000), Some(1_000_000)));
    let notes_with = |a: &InputSide, pace: &str, is_seen: bool| -> Vec<String> {
        let notes = compare_inputs(a, &side("again", pace, is_seen, 2_000_000)).unwrap().notes;
        notes.into_iter().filter(|note| note.contains("CPU time")).collect()
    };
    let told = "an input took 1.00 ms of the program's CPU time on A and 500 us on B";
    assert!(notes_with(&full, "full", false).concat().contains(told), "{:?}", notes_with(&full, "full", false));
    assert!(notes_with(&human, "human", true).is_empty());
    // At two paces a table has it.
    assert!(notes_with(&human, "full", false).is_empty());
}

/// A program that echoes at once, and answers when somebody outside has: the echo is not what anybody waits for.
#[test]
fn a_kind_that_may_have_been_answered_later_is_not_compared() {
    let side = |name: &str, every: u32, of: &dyn Fn(&str) -> bool| {
        let mut made = Machine::new(Process::Steady, 7).run(MINUTE_NS, ("enter", 0.0));
        for input in made.inputs.iter_mut().filter(|input| input.number.is_multiple_of(every) && of(&input.kind)) {
            input.perhaps_ns = Some(input.begin_ns + 30_000_000);
        }
        InputSide { name: name.to_owned(), runs: vec![gathered(made)] }
    };
    let sure = side("a", 1, &|_| false);
    let found = compare_inputs(&sure, &side("b", 2, &|kind| kind == "enter")).unwrap();
    assert!(!found.kinds.is_empty() && found.kinds.iter().all(|kind| kind.group.kind != "enter"));
    let said = "not known whether it was the answer, so left out: the kind enter";
    assert!(found.notes.iter().any(|note| note.contains(said)), "{:?}", found.notes);
    let error = compare_inputs(&sure, &side("c", 1, &|_| true)).unwrap_err().to_string();
    assert!(error.contains("a and c cannot be compared"), "{error}");
}

/// A run in which each Enter takes the keys before it with it, as without pauses: none of them is seen by itself.
fn taken_together() -> Made {
    let mut made = Machine::new(Process::Steady, 7).run(MINUTE_NS, ("enter", 0.0));
    made.summary.pace = "full".to_owned();
    let (first, last) = (made.inputs[1].begin_ns, made.inputs.len() as u32 - 1);
    for input in made.inputs.iter_mut().filter(|input| input.kind != "start") {
        // A microsecond apart; all are seen with the last one, 3 ms after the first.
        input.begin_ns = first + 1_000 * u64::from(input.number);
        if input.number == last {
            input.seen_ns = Some(first + 3_000_000);
        } else {
            (input.seen_ns, input.merged_into) = (None, Some(input.number + 1));
            input.outcome = Some(punctual_recording::Outcome::Merged);
        }
    }
    made
}

#[test]
fn what_was_taken_together_has_its_time_until_it_was_seen_and_its_share_of_the_work() {
    let human = gathered(Machine::new(Process::Steady, 7).run(MINUTE_NS, ("enter", 0.0)));
    let sides = [("human", human), ("full", gathered(taken_together()))];
    let [human, full] = sides.map(|(name, run)| InputSide { name: name.to_owned(), runs: vec![run] });
    let found = compare_inputs(&human, &full).unwrap();
    assert_eq!((found.a.pace.as_str(), found.b.pace.as_str()), ("human", "full"));
    let inputs = found.b.inputs;
    assert_eq!((found.a.inputs, found.a.merged, found.b.merged), (inputs, 0, inputs - 1));
    // At a person's pace nothing overlaps, so that each needs what it takes.
    assert_eq!(found.a.waited_per_input_ns, Some(found.a.waited_ns / inputs));
    // From the first to when all were seen: 3 ms less the microsecond after which the first began.
    assert_eq!(found.b.waited_per_input_ns, Some(2_999_000 / inputs));
    let until_seen = found.b.until_seen_ns.unwrap();
    assert!((2_800_000..3_000_000).contains(&until_seen), "{until_seen}");
    assert!(found.a.until_seen_ns.unwrap() < 1_000_000, "{:?}", found.a);
}

#[test]
fn at_another_pace_nothing_but_all_inputs_may_be_compared() {
    let mut sides = sides(Process::Steady, 1, 1, 0.0);
    sides[1].runs[0].summary.pace = "full".to_owned();
    sides[1].runs[0].groups.clear();
    let found = compared(&sides);
    assert!(found.kinds.is_empty() && found.labels.is_empty());
    assert_eq!((found.standing, found.outcome), (Standing::OtherPace, Overall::NoDifference));
}

#[test]
fn the_middle_is_told_where_the_slowest_decide_and_it_says_the_same() {
    let found = compared(&sides(Process::Steady, 7, 4, 50e6));
    let mut enter = found.kinds.into_iter().find(|kind| kind.group.kind == "enter").unwrap();
    assert_eq!(enter.shown().unwrap().ratio.figure.key, MEDIAN.key);
    // A p90 that shows the same, and decides the verdict.
    let mut further = enter.figures[0].clone();
    further.ratio.figure = INPUT_FIGURES[1];
    enter.figures.push(further);
    enter.verdict.by = Some(1);
    let told = |enter: &GroupComparison| {
        (enter.decided().map(|one| one.ratio.figure.key), enter.shown().map(|one| one.ratio.figure.key))
    };
    assert_eq!(told(&enter), (Some("p90_ns"), Some("p50_ns")));
    // If the median leaves it open, the sentence reports p90.
    enter.figures[0].ratio.low = 0.9;
    assert_eq!(told(&enter), (Some("p90_ns"), Some("p90_ns")));
}

#[test]
fn parts_add_up_to_what_the_inputs_took() {
    let found = compared(&sides(Process::Tail(0.3), 3, 3, 5e6));
    let split: Vec<&Parts> = figures(&found).iter().filter_map(|(_, figure)| figure.parts.as_ref()).collect();
    assert!(split.len() >= 8, "{}", split.len());
    for parts in split {
        for side in 0..2 {
            let rows: i64 = parts.rows.iter().map(|row| row.ns[side]).sum();
            assert_eq!(rows + parts.rest_ns[side], parts.mean_ns[side]);
            // Two causes each: what is left over is rounding.
            assert!(parts.rest_ns[side].abs() <= 2, "{parts:?}");
        }
    }
}

#[test]
fn what_was_not_used_alike_is_not_compared() {
    let refused = |change: &dyn Fn(&mut InputRun), words: &str| {
        let mut sides = sides(Process::Steady, 1, 1, 0.0);
        change(&mut sides[1].runs[0]);
        let said = compare_inputs(&sides[0], &sides[1]).unwrap_err().to_string();
        assert!(said.contains(words) && !said.contains('\n'), "{said}");
    };
    refused(&|run| run.summary.via = "x11".to_owned(), "by x11");
    refused(&|run| run.summary.followed = false, "was followed through the kernel and after was not");
    refused(&|run| run.groups.clear(), "nothing to compare");
    let nothing = InputSide { name: "after".to_owned(), runs: Vec::new() };
    let a = &sides(Process::Steady, 1, 1, 0.0)[0];
    assert_eq!(compare_inputs(a, &nothing).unwrap_err().to_string(), "after: there is no recording");
}

/// A person's pace beside none, as in the paper's I.a.ii.
#[test]
fn another_pace_on_either_side_says_nothing_of_the_programs() {
    let mut sides = sides(Process::Steady, 7, 3, 10e6);
    assert_eq!(compared(&sides).standing, Standing::Systems);
    sides[1].runs.iter_mut().for_each(|run| run.summary.pace = "full".to_owned());
    let found = compared(&sides);
    assert_eq!((found.standing, found.outcome), (Standing::OtherPace, Overall::Worse));
    let note = "the pace is human on A and full on B: what differs is how the program was used";
    assert!(found.notes.iter().any(|own| own == note), "{:?}", found.notes);
    assert!(found.differences.iter().any(|row| row.what == "pace"), "{:?}", found.differences);
    // Within a side it is the same.
    sides[1].runs[2].summary.pace = "human".to_owned();
    let said = compare_inputs(&sides[0], &sides[1]).unwrap_err().to_string();
    assert!(said.contains("after was used at the pace human and after at the pace full"), "{said}");
}

#[test]
fn a_program_that_a_signal_ended_is_said() {
    let mut sides = sides(Process::Steady, 1, 3, 0.0);
    let ended = |exit_code| {
        move |run: &mut InputRun| {
            (run.summary.ended_early, run.summary.exit_code, run.summary.not_put_in) = (true, exit_code, 7);
        }
    };
    sides[1].runs[..2].iter_mut().for_each(ended(None));
    sides[1].runs[2..].iter_mut().for_each(ended(Some(3)));
    let found = compared(&sides);
    for note in [
        "B: in 2 runs the program ended by a signal before the script did",
        "B: in 1 run the program ended with code 3 before the script did",
        "B: not put in: 21 inputs of the script",
    ] {
        assert!(found.notes.iter().any(|own| own == note), "{:?}", found.notes);
    }
    assert_eq!((found.a.ended_by_signal, found.b.ended_by_signal, found.b.not_put_in), (0, 2, 21));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn turning_the_sides_round_mirrors_the_answer(seed in 0..1_000u64, pairs in 1..4u64, disk in 0.0..5e6f64, process in 0..3usize) {
        let process = [Process::Steady, Process::Runs(0.5), Process::Tail(0.3)][process];
        let [a, b] = sides(process, seed, pairs, disk);
        let (there, back) = (compare_inputs(&a, &b).unwrap(), compare_inputs(&b, &a).unwrap());
        let opposite = match there.outcome {
            Overall::Better => Overall::Worse,
            Overall::Worse => Overall::Better,
            same => same,
        };
        prop_assert_eq!(back.outcome, opposite);
        prop_assert_eq!((there.standing, there.is_paired, there.runs_needed), (back.standing, back.is_paired, back.runs_needed));
        let (these, those) = (figures(&there), figures(&back));
        prop_assert!(these.len() == those.len() && these.len() >= 7);
        for ((group, one), (other_group, other)) in these.into_iter().zip(those) {
            prop_assert_eq!(group, other_group);
            let [low, estimate, high] = other.difference;
            prop_assert_eq!(one.difference, [-high, -estimate, -low]);
            prop_assert_eq!((one.values[0], one.values[1]), (other.values[1], other.values[0]));
            prop_assert_eq!((one.ratio.p, one.ratio.findable), (other.ratio.p, other.ratio.findable));
            let turned = other.parts.clone().map(|mut parts| {
                parts.inputs.reverse();
                parts.mean_ns.reverse();
                parts.rest_ns.reverse();
                let mirrored = |limits: Option<[i64; 2]>| limits.map(|[low, high]| [-high, -low]);
                for row in &mut parts.rows {
                    row.ns.reverse();
                    row.limits_ns = mirrored(row.limits_ns);
                }
                for kind in &mut parts.kinds {
                    kind.ns.reverse();
                    kind.limits_ns = mirrored(kind.limits_ns);
                }
                parts
            });
            prop_assert_eq!(&one.parts, &turned);
        }
    }
}
