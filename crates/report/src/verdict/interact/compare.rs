//! Of inputs to two programs, compared.

use crate::interact::compare::words::{cause_in_a_sentence, label_in_words, limits, signed, value};
use crate::layout::shortened;
use crate::verdict::compare::wanting;
use punctual_blame::Kind;
use punctual_comparison::interact::{FigureComparison, GroupComparison, InputComparison, Parts};
use punctual_comparison::{Outcome, Overall, Standing, WORTH_THE_NAME};
use punctual_recording::{OWN_PACE, START, agreeing, counted, format_ns, grouped};

/// How many kinds the verdict mentions.
const SPOKEN: usize = 3;
/// How many single keys it mentions if no kind differs.
const SPOKEN_LABELS: usize = 2;
/// A cause's words are shown up to this length, characters: a forged recording may have names of any length.
const MAX_SHOWN: usize = 48;
/// A cause that makes up a smaller share of the difference is not mentioned, and of the others at most this many.
const WORTH_TELLING: f64 = 0.25;
const TOLD: usize = 2;
/// If the mentioned causes make up less of it than this, the verdict says so.
const NEARLY_ALL: f64 = 0.75;
/// The limits of a figure further out are also given if they are this many times as wide as the median's.
const WIDE: f64 = 2.0;

/// The verdict. It says *worse* and *better* only of systems.
pub(crate) fn inputs_verdict(comparison: &InputComparison) -> String {
    let mut words = died(comparison) + &at_paces(comparison) + &by_hand(comparison);
    if comparison.kinds.is_empty() {
        return words + "No kind of input was seen often enough at both paces to be compared.";
    }
    words += beginning(comparison);
    let different: Vec<&GroupComparison> = comparison.different().collect();
    if !comparison.has_limits() {
        words += &what_they_had(comparison);
    } else if different.is_empty() {
        words += &no_difference(comparison);
    }
    let told: Vec<String> = different.iter().take(SPOKEN).map(|kind| of_group(kind)).collect();
    words += &told.join("; ");
    if different.len() > SPOKEN {
        let more = (different.len() - SPOKEN) as u64;
        words += &format!("; {} more {}", counted(more, "kind"), agreeing(more, "differs", "differ"));
    }
    words.push('.');
    if let Some(wanting) = wanting(comparison.standing, "programs", "", comparison.runs_needed) {
        words += &format!(" {wanting}");
    }
    words
}

/// Says that a signal ended a program, with a space after it: short times until then are no merit.
fn died(comparison: &InputComparison) -> String {
    let sides = [("A", &comparison.a), ("B", &comparison.b)];
    let died = sides.iter().filter(|(_, side)| side.ended_by_signal > 0).map(|(label, side)| {
        let of = counted(side.runs as u64, "run");
        let rest = match side.not_put_in {
            0 => String::new(),
            inputs => format!(", with {} not put in", counted(inputs, "input")),
        };
        format!("{label} was ended by a signal in {} of {of}{rest}. ", side.ended_by_signal)
    });
    died.collect()
}

/// What became of all inputs at either pace, if that is what differs, with a space after it: a program that takes them
/// together is through with each sooner, and each is seen later.
fn at_paces(comparison: &InputComparison) -> String {
    if comparison.standing != Standing::OtherPace {
        return String::new();
    }
    let told = [("A", "the program", &comparison.a), ("B", "it", &comparison.b)].map(|(label, program, side)| {
        let at = format!("At the pace {} ({label}) {program}", shortened(&side.pace, MAX_SHOWN));
        let Some(needed) = side.waited_per_input_ns else { return format!("{at} answered no input. ") };
        let together = if side.merged == 0 { "none".to_owned() } else { grouped(side.merged) };
        let (needed, all) = (format_ns(needed), counted(side.inputs, "input"));
        let seen =
            side.until_seen_ns.map(|ns| format!("; half were seen within {}", format_ns(ns))).unwrap_or_default();
        format!("{at} needed {needed} for each and took {together} of {all} together with a later one{seen}. ")
    });
    told.concat()
}

/// Which kinds of input are alike whether a person or a script makes them, with a space after it.
fn by_hand(comparison: &InputComparison) -> String {
    let is_own = [&comparison.a, &comparison.b].map(|side| side.pace == OWN_PACE);
    if is_own[0] == is_own[1] || !comparison.has_limits() {
        return String::new();
    }
    let (apart, alike): (Vec<_>, Vec<_>) = comparison.kinds.iter().partition(|kind| kind.is_different());
    let listed = |kinds: &[&GroupComparison]| {
        let shown: Vec<String> = kinds.iter().take(SPOKEN).map(|kind| shortened(&name(kind), MAX_SHOWN)).collect();
        shown.join(", ")
    };
    let told = [(alike, "agree within the interval on"), (apart, "differ on")];
    let told: Vec<String> = told
        .iter()
        .filter(|(kinds, _)| !kinds.is_empty())
        .map(|(kinds, how)| format!("{how} {}", listed(kinds)))
        .collect();
    if told.is_empty() { String::new() } else { format!("A person and a script {}. ", told.join(", and ")) }
}

fn beginning(comparison: &InputComparison) -> &'static str {
    match (comparison.standing, comparison.outcome) {
        (Standing::Systems, Overall::Worse) => "Worse: ",
        (Standing::Systems, Overall::Better) => "Better: ",
        (Standing::Systems, Overall::Mixed) => "Better and worse: ",
        (Standing::Systems, Overall::NoDifference) => "",
        _ if comparison.a.runs == 1 && comparison.b.runs == 1 => "In these two runs ",
        _ => "In these runs ",
    }
}

/// What single runs had, which is not a difference between the programs: the kinds furthest apart first.
fn what_they_had(comparison: &InputComparison) -> String {
    let shown = comparison.kinds.iter().filter_map(|kind| Some((kind, kind.shown()?)));
    let mut shown: Vec<(&GroupComparison, &FigureComparison)> = shown.collect();
    let far = |figure: &FigureComparison| figure.ratio.estimate.ln().abs();
    shown.sort_by(|(_, one), (_, other)| far(other).total_cmp(&far(one)));
    let told = shown.iter().take(SPOKEN).map(|(kind, figure)| {
        format!("{} {} with B and {} with A", is(kind, figure), value(figure, 1), value(figure, 0))
    });
    told.collect::<Vec<_>>().join(", ")
}

/// `the median of key is`.
fn is(group: &GroupComparison, figure: &FigureComparison) -> String {
    if group.group.kind == START {
        return "the start took".to_owned();
    }
    format!("the {} of {} is", figure.ratio.figure.name, shortened(&name(group), MAX_SHOWN))
}

fn no_difference(comparison: &InputComparison) -> String {
    let mut words = match comparison.standing {
        Standing::Systems => "No kind of input differs as far as these data can show",
        _ => "no kind of input differs as far as they can show",
    }
    .to_owned();
    let nearest = comparison.nearest();
    if let Some((kind, figure)) = nearest.and_then(|kind| Some((kind, kind.shown()?))) {
        let [a, b] = [0, 1].map(|side| value(figure, side));
        words += &format!(": {} {a} on A and {b} on B{}", is(kind, figure), what_would_fit(kind, figure));
    }
    let labels: Vec<&GroupComparison> = comparison.labels.iter().filter(|label| label.is_different()).collect();
    let told: Vec<String> = labels.iter().take(SPOKEN_LABELS).map(|label| of_group(label)).collect();
    if !told.is_empty() {
        words += &format!("; but by itself {}", told.join(", and "));
    }
    if labels.len() > SPOKEN_LABELS {
        let more = (labels.len() - SPOKEN_LABELS) as u64;
        words += &format!("; {} more {}", counted(more, "key"), agreeing(more, "differs", "differ"));
    }
    words
}

/// What is left open for a kind that does not differ, and the rule by which it does not.
fn what_would_fit(kind: &GroupComparison, figure: &FigureComparison) -> String {
    let fits = limits(figure).map_or_else(|| "anything".to_owned(), |limits| format!("anything from {limits}"));
    let mut words = format!(", and {fits} would fit");
    let width = |figure: &FigureComparison| (figure.ratio.high / figure.ratio.low).ln();
    let wide = kind.figures.iter().rfind(|further| width(further) >= WIDE * width(figure));
    if let Some(further) = wide {
        let fits = limits(further).map_or_else(|| "anything".to_owned(), |limits| format!("from {limits}"));
        words += &format!(" (of its {} {fits})", further.ratio.figure.name);
    }
    if figure.outcome().is_some_and(|outcome| outcome != Outcome::NoDifference) {
        words += ", but its slowest differ the other way";
    } else if figure.ratio.low > 1.0 || figure.ratio.high < 1.0 {
        words += &format!(", where less than {} counts as no difference", smallest(figure));
    }
    words
}

/// The smallest difference that counts: `5 %`, for short times `250 ns`.
fn smallest(figure: &FigureComparison) -> String {
    if figure.ratio.same_within > WORTH_THE_NAME {
        return format_ns((figure.values[0].min(figure.values[1]) * (figure.ratio.same_within - 1.0)).round() as u64);
    }
    format!("{:.0} %", (WORTH_THE_NAME - 1.0) * 100.0)
}

/// `enter is slower: 12.1 ms instead of 2.30 ms (median; 95 %: +9.10 ms to +10.4 ms)`, and because of what.
fn of_group(group: &GroupComparison) -> String {
    let Some(figure) = group.shown() else { return String::new() };
    let is_start = group.group.kind == START;
    let name = if is_start { "the start".to_owned() } else { name(group) };
    let mut about = Vec::new();
    about.extend((!is_start).then(|| figure.ratio.figure.name.to_owned()));
    about.extend(limits(figure).map(|limits| format!("95 %: {limits}")));
    // The figure that decided is also given if the sentence reports the median.
    let further = group.decided().filter(|decided| decided.ratio.figure.key != figure.ratio.figure.key);
    about.extend(further.map(|further| {
        format!("{} {} instead of {}", further.ratio.figure.name, value(further, 1), value(further, 0))
    }));
    let mut words = format!(
        "{} is {}: {} instead of {}",
        shortened(&name, MAX_SHOWN),
        if group.verdict.outcome == Outcome::Worse { "slower" } else { "faster" },
        value(figure, 1),
        value(figure, 0),
    );
    if !about.is_empty() {
        words += &format!(" ({})", about.join("; "));
    }
    if let Some(parts) = &figure.parts {
        words += &because(parts);
    }
    words
}

/// What clearly makes up a good share of the difference: ` because of input or output: vda (+9.60 ms of +9.80 ms)`.
fn because(parts: &Parts) -> String {
    let (clear, whole) = (parts.clear(WORTH_TELLING), parts.more_ns());
    let Some(largest) = clear.first() else {
        return ", with no cause that is clear by itself".to_owned();
    };
    let share = |ns: i64| ns as f64 / whole as f64;
    let how = if share(largest.ns) >= 0.5 { "because of" } else { "the largest part" };
    let told = clear.iter().take(TOLD).enumerate().map(|(at, cause)| {
        let on = cause.one.map_or_else(|| kind_in_words(cause.kind), cause_in_a_sentence);
        let of = match at {
            0 if share(cause.ns) > 1.0 => {
                let others = if whole < 0 { "more" } else { "less" };
                format!(", others {others}: {} in all", signed(whole as f64))
            }
            0 => format!(" of {}", signed(whole as f64)),
            _ => String::new(),
        };
        format!("{} ({}{of})", shortened(&on, MAX_SHOWN), signed(cause.ns as f64))
    });
    let told_ns: f64 = clear.iter().take(TOLD).map(|cause| share(cause.ns)).sum();
    let rest = if told_ns < NEARLY_ALL { "; the rest is small or unclear" } else { "" };
    format!(", {how} {}{rest}", told.collect::<Vec<_>>().join(" and "))
}

/// `key`, or `key a` for what was typed.
fn name(group: &GroupComparison) -> String {
    group.group.label.as_ref().map_or_else(|| group.group.kind.clone(), |_| label_in_words(group))
}

/// All of a kind of cause, whoever had it.
fn kind_in_words(kind: &str) -> String {
    Kind::from_name(kind).map_or_else(|| kind.to_owned(), |kind| kind.plural().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_comparison::interact::{
        Cause, GroupSide, INPUT_FIGURES, InputSummary, KindDifference, MEDIAN, PartDifference, WAITING,
    };
    use punctual_comparison::{Figure, Ratio, Verdict};

    /// A figure of 10 ms on A with these limits of the ratio.
    fn figure(figure: Figure, low: f64, estimate: f64, high: f64) -> FigureComparison {
        let ratio = Ratio { figure, low, estimate, high, same_within: WORTH_THE_NAME, p: 1.0, findable: 2.0 };
        let a = 10e6;
        FigureComparison {
            values: [a, a * estimate],
            ratio,
            difference: [low, estimate, high].map(|ratio| a * (ratio - 1.0)),
            has_limits: true,
            parts: None,
        }
    }

    fn group(kind: &str, figures: Vec<FigureComparison>, outcome: Outcome, by: Option<usize>) -> GroupComparison {
        GroupComparison {
            group: punctual_comparison::interact::Group { kind: kind.to_owned(), label: None },
            sides: [GroupSide::default(); 2],
            figures,
            waiting: None,
            verdict: Verdict { outcome, by },
        }
    }

    /// How much more each cause took on B, with limits at the given distance, ms; and on the whole.
    fn parts(whole: i64, causes: &[(&str, &str, i64, i64)]) -> Parts {
        let ms = 1_000_000;
        let limits = |ns: i64, reach: i64| Some([(ns - reach) * ms, (ns + reach) * ms]);
        let row = |&(kind, name, more, reach): &(&str, &str, i64, i64)| PartDifference {
            cause: Cause { kind: kind.to_owned(), name: name.to_owned(), not_seen: None },
            ns: [0, more * ms],
            limits_ns: limits(more, reach),
        };
        let kind = |&(kind, _, more, reach): &(&str, &str, i64, i64)| KindDifference {
            kind: kind.to_owned(),
            ns: [0, more * ms],
            limits_ns: limits(more, reach),
        };
        Parts {
            mean_ns: [0, whole * ms],
            rows: causes.iter().map(row).collect(),
            kinds: causes.iter().map(kind).collect(),
            ..Parts::default()
        }
    }

    #[test]
    fn causes_are_told_with_their_own_amounts_as_far_as_they_are_clear() {
        let disk = ("io", "vda", 20, 4);
        let told = [
            (parts(26, &[disk, ("io2", "x", 3, 1)]), ", because of input or output: vda (+20.0 ms of +26.0 ms)"),
            (
                parts(40, &[disk]),
                ", because of input or output: vda (+20.0 ms of +40.0 ms); the rest is small or unclear",
            ),
            (parts(26, &[disk, ("own", "editor", 8, 9)]), ", because of input or output: vda (+20.0 ms of +26.0 ms)"),
            (parts(18, &[disk]), ", because of input or output: vda (+20.0 ms, others less: +18.0 ms in all)"),
            (parts(20, &[("io", "vda", 20, 30)]), ", with no cause that is clear by itself"),
        ];
        for (parts, words) in &told {
            assert_eq!(because(parts), *words);
        }
        let two = because(&parts(30, &[disk, ("own", "editor", 9, 1)]));
        assert!(two.ends_with(" and the work of editor (+9.00 ms)"), "{two}");
    }

    #[test]
    fn what_is_left_open_is_said_of_the_slowest_too_and_by_which_rule() {
        let open = |figures: Vec<FigureComparison>| {
            let group = group("key", figures, Outcome::NoDifference, None);
            what_would_fit(&group, &group.figures[0])
        };
        let [median, p90, _] = INPUT_FIGURES;
        let close = figure(median, 0.9, 1.0, 1.1);
        assert_eq!(open(vec![close.clone()]), ", and anything from -1.00 ms to +1.00 ms would fit");
        let wide = open(vec![close, figure(p90, 0.2, 1.0, 6.0)]);
        assert!(wide.ends_with(" would fit (of its p90 from -8.00 ms to +50.0 ms)"), "{wide}");
        let small = open(vec![figure(median, 0.7, 0.9, 0.97)]);
        assert!(small.ends_with(" would fit, where less than 5 % counts as no difference"), "{small}");
        let other_way = open(vec![figure(median, 1.2, 1.3, 1.4), figure(p90, 0.5, 0.6, 1.1)]);
        assert!(other_way.ends_with(", but its slowest differ the other way"), "{other_way}");
    }

    /// One run of each side at these paces, of which the start alone can be compared.
    fn at_paces_of(a: InputSummary, b: InputSummary) -> InputComparison {
        InputComparison {
            a,
            b,
            outcome: Overall::NoDifference,
            standing: Standing::OtherPace,
            runs_needed: None,
            kinds: vec![group(START, vec![figure(MEDIAN, 0.5, 1.3, 4.0)], Outcome::NoDifference, None)],
            labels: Vec::new(),
            differences: Vec::new(),
            notes: Vec::new(),
            is_paired: false,
        }
    }

    fn paced(pace: &str, merged: u64, until_seen_ns: Option<u64>, waited_per_input_ns: Option<u64>) -> InputSummary {
        InputSummary {
            name: pace.to_owned(),
            runs: 1,
            program: "editor".to_owned(),
            pace: pace.to_owned(),
            inputs: 104,
            seen: 104 - merged,
            merged,
            until_seen_ns,
            waited_per_input_ns,
            lasted_ns: 0,
            waited_ns: 0,
            cpu_per_input_ns: None,
            ended_by_signal: 0,
            not_put_in: 0,
        }
    }

    #[test]
    fn another_pace_begins_with_what_it_does_to_all_inputs() {
        let human = paced("human", 0, Some(206_000), Some(231_000));
        let full = paced("full", 96, Some(4_100_000), Some(52_100));
        let mut comparison = at_paces_of(human.clone(), full);
        let told = "At the pace human (A) the program needed 231 us for each and took none of 104 inputs together with a \
                    later one; half were seen within 206 us. At the pace full (B) it needed 52.1 us for each and took 96 \
                    of 104 inputs together with a later one; half were seen within 4.10 ms. In these two runs the start took 13.0 ms \
                    with B and 10.0 ms with A. These runs say nothing of the programs: what differs is the pace at which \
                    they were used.";
        assert_eq!(inputs_verdict(&comparison), told);
        comparison.kinds.clear();
        let said = inputs_verdict(&comparison);
        assert!(
            said.ends_with("4.10 ms. No kind of input was seen often enough at both paces to be compared."),
            "{said}"
        );
        let none = at_paces_of(human, paced("full", 0, None, None));
        let said = inputs_verdict(&none);
        assert!(said.contains("At the pace full (B) it answered no input. In these two runs "), "{said}");
    }

    #[test]
    fn a_person_beside_a_script_agrees_or_it_is_said_on_what_not() {
        let [mut own, mut human] = [OWN_PACE, "human"].map(|pace| paced(pace, 0, Some(206_000), Some(231_000)));
        assert_eq!(by_hand(&at_paces_of(own.clone(), human.clone())), "", "one run of each has no limits");
        (own.runs, human.runs) = (3, 3);
        let mut comparison = at_paces_of(own, human);
        let [median, ..] = INPUT_FIGURES;
        comparison.kinds = vec![
            group("key", vec![figure(median, 0.9, 1.0, 1.1)], Outcome::NoDifference, None),
            group("click", vec![figure(median, 1.2, 1.3, 1.4)], Outcome::Worse, Some(0)),
        ];
        let told = "A person and a script agree within the interval on key, and differ on click. ";
        assert!(inputs_verdict(&comparison).contains(told), "{}", inputs_verdict(&comparison));
        comparison.b.pace = OWN_PACE.to_owned();
        assert_eq!(by_hand(&comparison), "");
    }

    #[test]
    fn what_is_told_is_said_in_words_that_fit_it() {
        let [median, p90, _] = INPUT_FIGURES;
        let both = vec![figure(median, 1.2, 1.3, 1.4), figure(p90, 2.0, 3.0, 9.0)];
        assert_eq!(
            of_group(&group("key", both, Outcome::Worse, Some(1))),
            "key is slower: 13.0 ms instead of 10.0 ms (median; 95 %: +2.00 ms to +4.00 ms; p90 30.0 ms instead of 10.0 ms)"
        );
        let start = group(START, vec![figure(MEDIAN, 1.2, 1.3, 1.4)], Outcome::Worse, Some(0));
        assert_eq!(of_group(&start), "the start is slower: 13.0 ms instead of 10.0 ms (95 %: +2.00 ms to +4.00 ms)");
        assert_eq!(is(&start, &start.figures[0]), "the start took");
        // Nobody waits for more than all of the time.
        let waiting = figure(WAITING, 0.5, 2.0, 345.0);
        assert_eq!(limits(&waiting).as_deref(), Some("-0.50 % to +100.00 %"));
    }
}
