//! A forecast as text for people.

use super::advice::{advised, asked};
use super::interval::interval_text;
use super::units::{in_units, slack_in_units, want_head, want_words, work_in_words};
use super::worst::{either, horizons, rows_of};
use crate::device::under_origins;
use crate::layout::{counted, grouped, indented};
use punctual_forecast::{
    Answer, Curve, DeviceAnswer, Estimate, Group, Method, Outcome, Stage, Underruns, WorstCase, format_seconds,
    may_be_too_many, under_load,
};
use punctual_recording::format_ns;
use std::fmt::Write as _;

/// The forecast as text: the verdict first, then what must be known, then tables.
pub fn text(answer: &Answer) -> String {
    let mut out = format!("{}\n", answer.verdict);
    for caution in &answer.cautions {
        let _ = writeln!(out, "! {caution}");
    }
    for group in &answer.groups {
        out.push('\n');
        group_text(&mut out, group);
    }
    out
}

fn group_text(out: &mut String, group: &Group) {
    let use_of = if group.compression == 1.0 {
        String::new()
    } else {
        format!(", {} of use ({} hours an hour)", format_seconds(group.use_s), group.compression)
    };
    // A loop's overruns are no stalls.
    let has_stalls = group.stalls > 0 && !group.devices.iter().any(|answer| answer.stage.holds_work());
    let in_a_row = group.extremal_index.filter(|index| *index > 0.0 && has_stalls).map(|index| 1.0 / index);
    let of_stalls = match group.stalls {
        1 => "its one stall has".to_owned(),
        stalls => format!("each of its {} longest stalls has", grouped(stalls)),
    };
    let in_a_row = in_a_row.map_or_else(String::new, |late| format!("; {of_stalls} {late:.1} late wakeups on average"));
    let every = group.period_ns.map(|period_ns| format!(" every {}", format_ns(period_ns))).unwrap_or_default();
    let _ = writeln!(
        out,
        "{}{every} {}: watched for {}{use_of}{in_a_row}",
        group.measure,
        under_load(&group.load),
        format_seconds(group.exposure_s),
    );
    for note in &group.notes {
        let _ = writeln!(out, "  {note}");
    }
    // A user who names a device has asked about that one first.
    let is_asked = !group.devices.is_empty() && group.devices.len() <= FEW;
    if is_asked {
        devices_text(out, group);
    }
    if !group.worst.is_empty() {
        worst_text(out, group);
    }
    if !is_asked && !group.devices.is_empty() {
        devices_text(out, group);
    }
    for curve in &group.curves {
        curve_text(out, curve, group);
    }
    if !group.time_scales.is_empty() {
        time_scales_text(out, group);
    }
}

fn worst_text(out: &mut String, group: &Group) {
    out.push('\n');
    let heads = ["exceeded once per", "stage", "about", "between (95 %)", "the next stays below (95 %)", "found by"];
    indented(out, &heads, 0..0, rows_of(&group.worst).map(|row| worst_row(group, row)));
    if let Some(worst) = group.worst.iter().find(|worst| worst.stage == Stage::Total).or(group.worst.first()) {
        let longest = worst.longest_ns.map_or("nothing".to_owned(), format_ns);
        let longer = if may_be_too_many(worst.longer_per_hour * group.use_s / 3_600.0) {
            "how often longer ones come cannot be told".to_owned()
        } else {
            format!("longer ones come at most {} times an hour of use (95 %)", times(worst.longer_per_hour))
        };
        let stage = worst.stage.name();
        let cycles = group.cycles.zip(worst.longest_ns);
        let row = cycles.and_then(|(cycles, longest_ns)| Some((cycles, cycles.row_of_in_words(longest_ns)?)));
        if let Some((cycles, row)) = row {
            let waiting = cycles.without_waiting();
            let _ = writeln!(out, "  The longest stretch {waiting} is {longest} ({stage}), {row}; {longer}.");
            return;
        }
        // Of all CPUs together: the devices' rows have those of the worst CPU.
        let of = match group.stalls {
            _ if worst.stage.holds_work() => "The longest seen".to_owned(),
            0 | 1 => "The longest seen".to_owned(),
            stalls => format!("Of the {} longest stalls, on all CPUs together, the longest", grouped(stalls)),
        };
        let _ = writeln!(out, "  {of} is {longest} ({stage}); {longer}.");
    }
}

fn devices_text(out: &mut String, group: &Group) {
    out.push('\n');
    let of_loops = group.devices.iter().any(|answer| answer.stage.holds_work());
    let (name, often) = if of_loops { ("loop", "overruns") } else { ("device", "runs dry") };
    let every = if group.of_use().is_empty() { "every (95 %)" } else { "every, of use (95 %)" };
    let several = group.devices.iter().any(|answer| answer.underruns.alike.is_some());
    let heads = [name, "period", "n", "slack", "stalls", often, every, want_head(&group.devices), "verdict"];
    let mut heads = heads.to_vec();
    if several {
        heads.insert(4, "worst CPU");
    }
    let rows = group.devices.iter().map(|answer| device_row(group, answer, several));
    indented(out, &heads, 0..0, under_origins(group.devices.iter().map(|answer| &answer.device), rows));
    let differs =
        |answer: &DeviceAnswer| answer.underruns.over > 0 && answer.underruns.over != answer.underruns.ran_dry();
    if !of_loops && group.devices.iter().any(differs) {
        let _ = writeln!(
            out,
            "  A stall is late wakeups with one cause; a device may run dry several times in one, or not at all."
        );
    }
    if group.devices.len() <= FEW {
        for answer in &group.devices {
            if let Some(words) = slack_in_units(group, answer) {
                let _ = writeln!(out, "  {words}");
            }
            let is_loop = answer.stage.holds_work();
            if let Some(work) = work_in_words(&answer.device).filter(|_| !is_loop) {
                let _ = writeln!(out, "  {}: with {work}; `--compute` gives another", group.called(answer));
            }
        }
    }
    for words in group.devices.iter().filter_map(|answer| in_units(group, answer)) {
        let _ = writeln!(out, "  {words}");
    }
    for answer in &group.devices {
        if let Some(advice) = &answer.advice {
            let _ = writeln!(out, "  {}:", asked(group, answer));
            for line in advised(answer, advice) {
                let _ = writeln!(out, "    {line}");
            }
        }
    }
}

fn curve_text(out: &mut String, curve: &Curve, group: &Group) {
    let what = match &curve.device {
        Some(device) => format!("underruns of {device} against its buffers"),
        None => "underruns against buffering".to_owned(),
    };
    let _ = writeln!(out, "\n  time{} between {what}, work after `{}`:", group.of_use(), curve.stage.name());
    let rows = curve.points.iter().map(|point| {
        let mut row = vec![
            format_ns(point.buffering_ns),
            format_ns(point.slack_ns),
            match point.mttf_s {
                Estimate { low: Some(low), value: None, .. } if may_be_too_many(group.use_s / low) => {
                    "cannot be told".to_owned()
                }
                mttf => interval_text(&mttf),
            },
            point.mttf_per_buffer_s.map_or("-".to_owned(), format_seconds),
        ];
        if curve.device.is_some() {
            row.insert(0, point.buffers.to_string());
        }
        row
    });
    let mut heads = vec!["buffering", "slack", "per stall (95 %)", "per buffer"];
    if curve.device.is_some() {
        heads.insert(0, "n");
    }
    indented(out, &heads, 0..0, rows);
}

fn time_scales_text(out: &mut String, group: &Group) {
    let _ = writeln!(out, "\n  shortest period met with a reliability of");
    let rows = group.time_scales.iter().map(|scale| {
        let period = match (scale.period_ns, scale.measure_further_s) {
            (Some(period), _) => format_ns(period),
            (None, Some(further)) => format!("cannot tell yet: measure {} more", format_seconds(further)),
            (None, None) => "cannot tell".to_owned(),
        };
        // As the user wrote it: 0.999 is not a binary fraction.
        vec![format!("{} %", (scale.reliability * 1e8).round() / 1e6), period]
    });
    indented(out, &[], 0..0, rows);
}

/// How often, with as many digits as are meaningful.
fn times(often: f64) -> String {
    if often >= 1_000.0 {
        return grouped(often.round() as u64);
    }
    let digits = if often < 1.0 { 3 } else { usize::from(often < 100.0) };
    format!("{often:.digits$}")
}

/// Of what is the same for all horizons of a row, the first has it.
fn worst_row(group: &Group, row: &[WorstCase]) -> Vec<String> {
    let worst = &row[0];
    let level = &worst.level;
    let further: Vec<String> = row.iter().filter_map(|worst| worst.measure_further_s).map(format_seconds).collect();
    let ns = |value: Option<f64>| value.map(|value| format_ns(value.max(0.0) as u64));
    let between = match (ns(level.level.low), ns(level.level.high)) {
        (Some(low), Some(high)) => format!("{low} to {high}"),
        (Some(low), None) => format!("at least {low}"),
        (None, Some(high)) => format!("at most {high}"),
        (None, None) => "-".to_owned(),
    };
    let found = match &level.veto {
        Some(veto) if further.is_empty() => format!("bound only: {veto}"),
        Some(veto) => format!("bound only: {veto}; measure at least {} more", either(further)),
        None if level.method == Method::TailModel => "tail model".to_owned(),
        None => "ranks".to_owned(),
    };
    vec![
        format!("{}{}", horizons(row), group.of_use()),
        worst.stage.name().to_owned(),
        ns(level.level.value).unwrap_or_else(|| "-".to_owned()),
        between,
        worst.next.as_ref().map_or_else(|_| "cannot be said".to_owned(), |&next| format_ns(next)),
        found,
    ]
}

/// For this many devices or fewer the text says more: whoever asks about all wants the table.
const FEW: usize = 4;

/// How much longer to measure, if it takes this much, s.
pub(crate) fn so_much_more(found: &Underruns, further: f64) -> String {
    let least = if found.further_is_least { ", at least" } else { "" };
    if further < 7_200.0 {
        return counted((further / 60.0).ceil() as u64, "more minute") + least;
    }
    format!("{} more{least}", format_seconds(further))
}

/// What a device's row says about it.
pub fn outcome_in_words(answer: &DeviceAnswer) -> String {
    let found = &answer.underruns;
    match (found.outcome, found.measure_further_s) {
        (Outcome::Holds, _) => "holds".to_owned(),
        (Outcome::Fails, _) => format!("fails every {}", interval_text(&found.mttf_s)),
        (Outcome::HoldsAsRecorded, _) => "holds while conditions stay as recorded".to_owned(),
        (Outcome::Unknown, Some(further)) => {
            let seen = if found.misses > 0.0 { "" } else { "nothing seen, " };
            format!("cannot tell yet: {seen}measure {}", so_much_more(found, further))
        }
        (Outcome::Unknown, None) if found.is_upper_count => {
            "cannot tell: so late is common here, and the recording keeps the longest only".to_owned()
        }
        (Outcome::Unknown, None) => {
            format!("cannot tell: too near the want, with {} counted", found.ran_dry())
        }
    }
}

fn device_row(group: &Group, answer: &DeviceAnswer, several: bool) -> Vec<String> {
    let (device, found) = (&answer.device, &answer.underruns);
    let slack = u64::try_from(device.slack_ns()).map_or("negative".to_owned(), format_ns);
    let most = if found.is_upper_count { "<=" } else { "" };
    let mut row = vec![
        group.called(answer),
        format_ns(device.period_ns),
        device.buffers.to_string(),
        slack,
        format!("{most}{}", found.over),
        format!("{most}{}", found.ran_dry()),
        interval_text(&found.mttf_s),
        want_words(answer, &group.devices),
        match found.outcome {
            // The interval is beside it already.
            Outcome::Fails => "fails".to_owned(),
            _ => outcome_in_words(answer),
        },
    ];
    if several {
        row.insert(4, found.cpu.map_or("-".to_owned(), |cpu| cpu.to_string()));
    }
    row
}

/// The table of worst cases over loads and stages, after the third of Cota-Robles and Held (OSDI 1999): a row for each
/// stage, with each load's horizons. A level that is only a bound has `>` before it; `-` is unknown. Totals are those
/// of composites of each wakeup, not sums of the rows above them.
pub fn table_text(answer: &Answer) -> String {
    let mut stages: Vec<Stage> = Vec::new();
    let mut heads = vec!["stage".to_owned()];
    for group in &answer.groups {
        for worst in &group.worst {
            if !stages.contains(&worst.stage) {
                stages.push(worst.stage);
            }
        }
        let Some(first) = group.worst.first().map(|worst| worst.stage) else { continue };
        for worst in group.worst.iter().filter(|worst| worst.stage == first) {
            heads.push(format!("{} {}", group.load, worst.horizon));
        }
    }
    let mut rows = Vec::new();
    for stage in stages {
        let mut row = vec![stage.name().to_owned()];
        for group in &answer.groups {
            let Some(first) = group.worst.first().map(|worst| worst.stage) else { continue };
            for head in group.worst.iter().filter(|worst| worst.stage == first) {
                let cell = group.worst.iter().find(|worst| worst.stage == stage && worst.horizon == head.horizon);
                row.push(cell.map_or("-".to_owned(), |worst| {
                    let level = &worst.level.level;
                    match (level.value, level.low) {
                        (Some(value), _) => format_ns(value as u64),
                        (None, Some(low)) => format!(">{}", format_ns(low as u64)),
                        (None, None) => "-".to_owned(),
                    }
                }));
            }
        }
        rows.push(row);
    }
    let mut out = String::new();
    indented(&mut out, &heads.iter().map(String::as_str).collect::<Vec<_>>(), 0..0, rows);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::ForecastAnswer;
    use crate::forecast::tests_support::input;
    use punctual_device::Catalogue;
    use punctual_forecast::{CurveQuestion, Question, answer};
    use punctual_recording::CycleCount;

    fn question() -> Question {
        Question {
            devices: Catalogue::shipped().profiles().to_vec(),
            stages: Question::TABLE_STAGES.to_vec(),
            advise: true,
            reliabilities: vec![0.999, 0.999_999],
            curve: Some(CurveQuestion {
                device: None,
                buffering_ns: vec![4_000_000, 12_000_000],
                compute_thousandths: 250,
                stages: vec![Stage::Total],
            }),
            ..Question::default()
        }
    }

    #[test]
    fn the_contract_of_the_json() {
        let found = answer(&[input(3_000, 0)], &question()).unwrap();
        let value = crate::answer::value(&ForecastAnswer::new(&found, &[]));
        assert_eq!(value["schema"], "punctual.forecast/1");
        for key in ["verdict", "exposure_s", "stalls"] {
            assert!(!value[key].is_null(), "{key}");
        }
        let horizons = value["horizons"].as_array().unwrap();
        assert_eq!(horizons.len(), 3);
        for key in ["horizon", "stage", "load", "low_ns", "estimate_ns", "high_ns", "method", "veto"] {
            assert!(horizons[0].get(key).is_some(), "{key}");
        }
        let device = &value["devices"][0];
        for key in [
            "device",
            "load",
            "period_ns",
            "buffers",
            "tolerance_ns",
            "slack_ns",
            "over",
            "verdict",
            "want_s",
            "mttf_s",
        ] {
            assert!(device.get(key).is_some(), "{key}");
        }
        // What is unknown is null, never 0.
        let quiet = answer(&[input(0, 0)], &question()).unwrap();
        let value = crate::answer::value(&ForecastAnswer::new(&quiet, &[]));
        let device = &value["devices"][1];
        assert_eq!(device["over"], 0);
        assert!(device["mttf_s"]["estimate"].is_null() && device["mttf_s"]["high"].is_null());
        assert!(device["mttf_s"]["low"].as_f64().unwrap() > 0.0);
        assert!(value["horizons"][0]["estimate_ns"].is_null() && value["horizons"][0]["veto"].is_string());
    }

    #[test]
    fn a_row_of_cycles_is_not_the_longest_cycle() {
        let mut input = input(3_000, 0);
        let total = input.stages[&Stage::Total].clone();
        input.stages.insert(Stage::Response, total);
        let said = |input: &punctual_forecast::Input| {
            let question = Question {
                stages: vec![Stage::Response],
                device_stage: Stage::Response,
                devices: vec![punctual_device::Profile::of_loop(1_000_000)],
                ..Question::default()
            };
            text(&answer(std::slice::from_ref(input), &question).unwrap())
        };
        let alone = said(&input);
        assert!(alone.contains("want (assumed)"), "{alone}");
        assert!(!alone.contains("judged by"), "the table counts other stalls: {alone}");
        assert!(alone.contains("; the longest took as long as ") && alone.contains("The longest seen is "), "{alone}");
        let cycles = CycleCount { longest_missed: 6, made_up: 1, ..CycleCount::default() };
        input.cycles = Some(cycles);
        let row = said(&input);
        assert!(
            row.contains("; the longest stretch without waiting: ") && row.contains(", 7 cycles in a row\n"),
            "{row}"
        );
        assert!(row.contains(" (response), 7 cycles in a row; "), "{row}");
        assert!(!row.contains("longest took") && !row.contains("longest seen"), "{row}");
        input.cycles = Some(CycleCount { made_up: 0, ..cycles });
        assert!(said(&input).contains(", up to 7 cycles in a row\n"));
    }

    #[test]
    fn the_verdict_comes_first_and_losses_with_it() {
        let found = answer(&[input(3_000, 7)], &question()).unwrap();
        let text = text(&found);
        let first = text.lines().next().unwrap();
        assert!(first.contains("lossy") && first.contains("7 wakeups lost"), "{first}");
        for word in
            ["modem", "exceeded once per", "stays below", "runs dry", "of use", "hour", "week", "at most", "buffers of"]
        {
            assert!(text.contains(word), "{word} is not in\n{text}");
        }
        // An hour of this load stands for ten of use.
        for words in ["\n  hour of use ", "\n  time of use between underruns", "at most once in 60 min of use:"] {
            assert!(text.contains(words), "{words} is not in\n{text}");
        }
        let plain =
            answer(&[punctual_forecast::Input { compression_thousandths: None, ..input(3_000, 0) }], &question())
                .unwrap();
        // How often something comes an hour of use is said of all loads, and nothing else.
        let said =
            super::text(&plain).replace("an hour of use (95 %)", "").replace("how many hours of use an hour of", "");
        let said = said.replace("a day means 24 hours of use", "");
        assert!(!said.contains("of use"), "{said}");
        assert!(table_text(&found).starts_with("  stage"));
    }
}

#[cfg(test)]
pub(crate) mod tests_support {
    use punctual_forecast::{Input, Late, Lateness, ObservedTask, Stage};
    use punctual_recording::Distribution;

    /// Ten hours of office at 1 kHz with this many stalls, 2 ms and more, and this many records lost.
    pub(crate) fn input(stalls: u64, lost: u64) -> Input {
        let mut distribution = Distribution::new();
        let end = 36_000_000_000_000u64;
        let mut state = 1u64;
        let mut largest = Vec::new();
        for index in 0..stalls {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let uniform = (state >> 11) as f64 / (1u64 << 53) as f64;
            let value_ns = 2_000_000 + (-1e6 * uniform.max(1e-9).ln()) as u64;
            distribution.record(value_ns);
            largest.push(Late { at_ns: end / stalls * index, task: 0, value_ns });
        }
        let wakeups = 36_000_000;
        distribution.record_n(20_000, wakeups - stalls);
        let cautions = if lost > 0 { vec![format!("{lost} wakeups were lost")] } else { Vec::new() };
        Input {
            measure: "fifo:80".into(),
            load: "office".into(),
            compression_thousandths: Some(10_000),
            exposure_ns: end,
            tasks: vec![ObservedTask { tid: 1, cpu: None, period_ns: 1_000_000, wakeups, missed: Some(0) }],
            stages: [(
                Stage::Total,
                Lateness { distribution, largest, complete_above_ns: 20_000, by_task: Vec::new() },
            )]
            .into(),
            lost,
            cut: false,
            cycles: None,
            cautions,
        }
    }
}
