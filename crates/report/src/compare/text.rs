//! What a comparison found.

use super::causes::causes_text;
use super::counts::counts_table;
use super::devices::devices_text;
use super::words::{MAX_TOLD, factor, interval, measure, of_stage, told, value_of, values};
use crate::layout::{counted, grouped, load_beside_others, microseconds, rate, table};
use crate::recording::requests::requests_table;
use crate::verdict::compare::comparison_verdict;
use punctual_comparison::{
    Comparison, Difference, FIGURES, RESOLUTION_NS, SideRequests, SideSummary, StageComparison, Standing,
    WORTH_THE_NAME,
};
use punctual_recording::{NO_LOAD, Stage, format_ns};
use std::fmt::Write;

/// How much is no difference worth the name, in words.
pub(super) fn no_difference_below() -> String {
    let (share, time) = ((WORTH_THE_NAME - 1.0) * 100.0, format_ns(RESOLUTION_NS as u64));
    format!("less than {share:.0} % or {time} is no difference")
}

/// The whole comparison as text.
pub fn text(comparison: &Comparison) -> String {
    let mut text = format!("{}\n", comparison_verdict(comparison));
    for note in &comparison.notes {
        let _ = writeln!(text, "note: {note}");
    }
    let _ = writeln!(text);
    for (label, side) in [("A", &comparison.a), ("B", &comparison.b)] {
        let _ = writeln!(text, "{label}  {}", side_line(side));
    }
    if !comparison.counts.is_empty() {
        let _ = writeln!(
            text,
            "\nHow often, with limits that include the spread between runs\n\n{}",
            counts_table(comparison)
        );
    }
    let requests = requests_of_sides(comparison);
    if !requests.is_empty() {
        let _ = writeln!(text, "\n{REQUESTS_DECIDE_NOTHING}\n\n{}", requests_table(&requests));
    }
    text += &causes_text(comparison);
    let several = comparison.stages.iter().any(|stage| stage.measure != comparison.stages[0].measure);
    let _ = writeln!(text, "\nA -> B, us; the ratio is B to A; {}", no_difference_below());
    let _ = writeln!(text, "\n{}", stage_table(&comparison.stages, several));
    let is_total = |stage: &&StageComparison| stage.stage == Stage::Total && !stage.ratios.is_empty();
    for stage in comparison.stages.iter().filter(is_total) {
        let whose = if several { format!(" of {}", measure(stage)) } else { String::new() };
        let by = match comparison.standing {
            Standing::TooFewRuns { .. } => "three runs of each would detect",
            _ => "would be detected",
        };
        let _ = writeln!(
            text,
            "\nThe total{whose}: all its intervals hold at once with 95 % probability; findable is the smallest B/A that {by} (80 % power)\n"
        );
        let _ = writeln!(text, "{}", ratio_table(stage));
    }
    text += &devices_text(&comparison.devices, several);
    if !comparison.throughput.is_empty() {
        let _ = writeln!(text, "\nWhat the loads got done\n\n{}", throughput_table(comparison));
    }
    if comparison.differences.is_empty() {
        let _ = writeln!(text, "\n{}", nothing_else_differs(comparison));
    } else {
        let _ = writeln!(text, "\nWhat else differs\n\n{}", difference_table(&comparison.differences));
    }
    text
}

/// What the table of requests is.
pub(super) const REQUESTS_DECIDE_NOTHING: &str =
    "How long requests took, late or not; quantiles are the geometric means of the runs', and decide nothing";

/// The requests of the sides that counted them, below their letters.
pub(super) fn requests_of_sides(comparison: &Comparison) -> Vec<(&'static str, SideRequests)> {
    let sides = [("A", comparison.a.requests), ("B", comparison.b.requests)];
    sides.into_iter().filter_map(|(label, requests)| Some((label, requests?))).collect()
}

/// What kept the machine busy beside a side's wakeups.
pub(super) fn load_of_side(side: &SideSummary) -> String {
    if side.is_beside_devices && side.load == NO_LOAD {
        return "no load added, beside devices".to_owned();
    }
    load_beside_others(&side.load, side.others_share)
}

/// Says that nothing else differs, as far as is known.
pub(super) fn nothing_else_differs(comparison: &Comparison) -> &'static str {
    if comparison.follows() {
        "No other difference is recorded; control groups and quotas of followed threads are not."
    } else {
        "No other difference is recorded."
    }
}

pub(super) fn side_line(side: &SideSummary) -> String {
    let runs = counted(side.runs, "run");
    let load = load_of_side(side);
    let missed = match side.periods {
        Some(passed) => {
            let about = if passed.is_estimated { "about " } else { "" };
            let periods = counted(passed.all, "period");
            format!("{about}{} of {about}{periods} without a wakeup", grouped(passed.not_woken))
        }
        None => format!("missed {}", side.missed.map_or("-".to_owned(), grouped)),
    };
    format!(
        "{}: {load}, {runs}, {}, {}, {missed}, unobserved {}, lost {}",
        side.name,
        format_ns(side.measured_ns),
        counted(side.wakeups, "wakeup"),
        grouped(side.unobserved),
        grouped(side.lost)
    )
}

/// What B is where nothing could be compared.
pub(super) const TOO_FEW: &str = "too few wakeups";

fn stage_table(stages: &[StageComparison], several: bool) -> String {
    const SHOWN: [&str; 4] = ["p50", "p99", "p99.9", "p99.99"];
    let mut header = vec!["stage"];
    if several {
        header.insert(0, "threads");
    }
    let left = header.len();
    header.extend(SHOWN);
    header.extend(["max us", "by", "ratio", "interval", "B is"]);
    table(
        &header,
        left..left + SHOWN.len() + 1,
        stages.iter().map(|stage| {
            let mut cells = vec![stage.stage.name().to_owned()];
            if several {
                cells.insert(0, measure(stage));
            }
            let pair = |a: Option<u64>, b: Option<u64>| match (a, b) {
                (None, None) => "-".to_owned(),
                _ => format!("{} -> {}", microseconds(a), microseconds(b)),
            };
            cells.extend(SHOWN.map(|name| {
                let index = FIGURES.iter().position(|figure| figure.name == name).unwrap_or(0);
                pair(stage.a.values_ns[index], stage.b.values_ns[index])
            }));
            cells.push(pair(stage.a.max_ns, stage.b.max_ns));
            match stage.shown() {
                Some(ratio) => cells.extend([
                    ratio.figure.name.to_owned(),
                    factor(ratio.estimate),
                    interval(ratio).unwrap_or_else(|| "any ratio".to_owned()),
                ]),
                None => cells.extend(["-", "-", "-"].map(str::to_owned)),
            }
            let is_compared = !stage.ratios.is_empty();
            cells.push(if is_compared { of_stage(stage) } else { TOO_FEW }.to_owned());
            cells
        }),
    )
}

fn ratio_table(stage: &StageComparison) -> String {
    table(
        &["", "A us", "B us", "B/A", "interval", "findable", "B is"],
        1..4,
        stage.ratios.iter().map(|ratio| {
            vec![
                ratio.figure.name.to_owned(),
                microseconds(value_of(&stage.a, ratio)),
                microseconds(value_of(&stage.b, ratio)),
                factor(ratio.estimate),
                interval(ratio).unwrap_or_else(|| "any ratio".to_owned()),
                if ratio.findable < MAX_TOLD { factor(ratio.findable) } else { "-".to_owned() },
                told(ratio).to_owned(),
            ]
        }),
    )
}

fn throughput_table(comparison: &Comparison) -> String {
    let latency = comparison.total().and_then(StageComparison::shown);
    let beside = latency.map_or("latency".to_owned(), |ratio| format!("latency ({})", ratio.figure.name));
    let a_second = |thousandths: Option<u64>| thousandths.map_or("-".to_owned(), |all| rate(all as f64 / 1_000.0));
    table(
        &["load", "a second", "A", "B", "throughput B/A", &format!("{beside} B/A")],
        2..6,
        comparison.throughput.iter().map(|score| {
            let paced = if score.is_paced { " (held to a pace)" } else { "" };
            vec![
                format!("{}{paced}", score.name),
                score.unit.clone(),
                a_second(score.a_thousandths),
                a_second(score.b_thousandths),
                score.ratio.map_or("-".to_owned(), factor),
                latency.map_or("-".to_owned(), |ratio| factor(ratio.estimate)),
            ]
        }),
    )
}

pub(crate) fn difference_table(differences: &[Difference]) -> String {
    let rows = differences.iter().map(|row| {
        let [a, b] = values(row).map(|value| value.unwrap_or_else(|| "-".to_owned()));
        vec![row.area.to_owned(), row.what.clone(), a, b]
    });
    table(&["", "", "A", "B"], 0..0, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_difference_is_said_in_words() {
        assert_eq!(no_difference_below(), "less than 5 % or 250 ns is no difference");
    }
}
