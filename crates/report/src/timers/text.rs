//! The ways to get periodic callbacks, as text for people.

use crate::layout::{capitalized, grouped, table};
use crate::{after_timers, next_text};
use punctual_recording::{format_ns, printable_path};
use punctual_timing::{Effect, Measured, MethodResult, Pattern, Summary, Tick, Timers};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// How many ways a histogram shows side by side.
const SIDE_BY_SIDE: usize = 8;

/// The result as text: the verdict first.
pub fn text(timers: &Timers, recording: Option<&Path>) -> String {
    let mut text = timers.verdict();
    text.push('\n');
    for note in &timers.notes {
        let _ = writeln!(text, "note: {note}");
    }
    let scheduling = if timers.scheduling == "other" { "normal scheduling" } else { &timers.scheduling };
    let stall = timers.stall_ns.map(|stall| format!(", stalls of {}", format_ns(stall))).unwrap_or_default();
    let clock = if timers.clock == "monotonic" { String::new() } else { format!(", clock {}", timers.clock) };
    let _ = writeln!(text, "\nA callback every {}, {scheduling}{clock}{stall}\n", format_ns(timers.period_ns));
    let _ = writeln!(text, "{}\n", tick(&timers.tick));
    if timers.has_effects() {
        text += &effects(timers);
    }
    let _ = writeln!(text, "{}", ways(timers));
    let _ =
        writeln!(text, "\nTimes between callbacks, and lateness against the ideal grid; us\n\n{}", statistics(timers));
    let measured: Vec<(&MethodResult, &Measured)> = timers.measured().collect();
    for group in measured.chunks(SIDE_BY_SIDE).filter(|_| !timers.has_effects()) {
        let _ =
            writeln!(text, "\nTimes between callbacks falling within an interval, us\n\n{}", histogram(group, timers));
    }
    for way in &timers.ways {
        if let Err(reason) = &way.measured {
            let _ = writeln!(text, "\n{} is absent: {reason}", way.name);
        }
    }
    if let Some(recording) = recording {
        let _ = writeln!(text, "\nrecording: {}", printable_path(recording));
    }
    let _ = write!(text, "\n{}", next_text(&after_timers(timers)));
    text
}

/// What the kernel bases its timers on, in one sentence.
fn tick(tick: &Tick) -> String {
    let built = match (tick.configured_hz, &tick.configured_in) {
        (Some(hz), Some(file)) => format!("the kernel was built for a tick of {hz} Hz ({file})"),
        _ => "what tick the kernel was built for is not known: no file gives CONFIG_HZ".to_owned(),
    };
    let seen = match tick.observed_ns.filter(|ns| *ns > 0) {
        Some(ns) => format!("one came every {}, {:.0} Hz", format_ns(ns), 1e9 / ns as f64),
        None => "none was seen".to_owned(),
    };
    let device = match (&tick.device, tick.device_resolution_ns) {
        (Some(name), Some(ns)) => format!("timers interrupt by {name}, which can be set to {ns:.1} ns"),
        (Some(name), None) => format!("timers interrupt by {name}; only root may know how finely"),
        (None, _) => "what interrupts for timers is not known".to_owned(),
    };
    format!("{}; {seen}; {device}.", capitalized(&built))
}

fn maybe<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), show)
}

fn tenths(nanoseconds: i64) -> String {
    format!("{:.1}", nanoseconds as f64 / 1e3)
}

/// One setting changed at a time, as columns; `-` if a way does not have it.
fn effects(timers: &Timers) -> String {
    let mut header = vec!["way"];
    header.extend(Effect::ALL.map(Effect::name));
    let mut names: Vec<&str> = timers.ways.iter().map(|way| way.way.as_str()).collect();
    names.dedup();
    let mut text = String::new();
    type Figure = fn(&Measured) -> Option<i64>;
    let figures: [(&str, Figure); 3] = [
        ("Late by the median", |measured| measured.analysis.overshoot.map(|overshoot| overshoot.median_ns)),
        ("Late at most", |measured| measured.analysis.overshoot.map(|overshoot| overshoot.max_ns)),
        ("CPU time of a callback", |measured| measured.cpu_ns_per_callback.map(|cpu| cpu as i64)),
    ];
    for (title, figure) in figures {
        let rows = names.iter().map(|name| {
            let mut cells = vec![(*name).to_owned()];
            cells.extend(Effect::ALL.map(|effect| {
                let mut same = timers.measured().filter(|(way, _)| way.way == *name && way.effect == effect);
                maybe(same.next().and_then(|(_, measured)| figure(measured)), tenths)
            }));
            cells
        });
        let _ = writeln!(text, "{title}, with one setting changed at a time, us\n\n{}\n", table(&header, 1..7, rows));
    }
    text
}

fn ways(timers: &Timers) -> String {
    let header = [
        "way",
        "clock",
        "unit",
        "shortest",
        "callbacks",
        "missed",
        "drift ppm",
        "late p50",
        "slack 1ns",
        "CPU us",
        "after a stall",
        "pattern",
    ];
    let rows = timers.measured().map(|(way, measured)| {
        let analysis = &measured.analysis;
        let patterns: Vec<&str> = analysis.patterns.iter().map(Pattern::name).collect();
        let slack = measured.slack;
        vec![
            way.name.clone(),
            format_ns(measured.resolution_ns),
            format_ns(way.unit_ns),
            maybe(measured.granularity_ns, format_ns),
            grouped(analysis.callbacks),
            grouped(analysis.missed),
            maybe(analysis.drift_ppm, |ppm| format!("{:+.0}", ppm.round() + 0.0)),
            maybe(slack, |slack| tenths(slack.default_ns)),
            maybe(slack, |slack| tenths(slack.without_ns)),
            maybe(measured.cpu_ns_per_callback, |cpu| tenths(cpu as i64)),
            maybe(measured.catch_up, |catch_up| catch_up.name().to_owned()),
            patterns.join(", ").replace('_', " "),
        ]
    });
    table(&header, 1..10, rows)
}

fn statistics(timers: &Timers) -> String {
    let header = ["way", "min", "max", "mean", "std dev", "late min", "max", "mean", "std dev"];
    let rows = timers.measured().map(|(way, measured)| {
        let mut cells = vec![way.name.clone()];
        for summary in [measured.analysis.intervals, measured.analysis.lateness] {
            let figure = |of: fn(&Summary) -> i64| maybe(summary, |summary| tenths(of(&summary)));
            cells.push(figure(|summary| summary.min_ns));
            cells.push(figure(|summary| summary.max_ns));
            cells.push(figure(|summary| summary.mean_ns));
            cells.push(figure(|summary| summary.deviation_ns as i64));
        }
        cells
    });
    table(&header, 1..header.len(), rows)
}

/// Rows as in the papers' table, one bin each up to two and a half periods; beyond that each row reaches to twice the
/// value where it begins.
fn histogram(group: &[(&MethodResult, &Measured)], timers: &Timers) -> String {
    let mut rows: BTreeMap<(u64, u64), Vec<u64>> = BTreeMap::new();
    for (column, (_, measured)) in group.iter().enumerate() {
        let histogram = &measured.analysis.histogram;
        let fine = (timers.period_ns / 2 * 5).div_ceil(histogram.bin_ns.max(1));
        for (&bin, &count) in &histogram.bins {
            let (mut from, mut to) = (bin, bin + 1);
            if bin >= fine {
                (from, to) = (fine, fine.max(1) * 2);
                while bin >= to {
                    (from, to) = (to, to * 2);
                }
            }
            let row = rows.entry((from * histogram.bin_ns, to * histogram.bin_ns));
            row.or_insert_with(|| vec![0; group.len()])[column] += count;
        }
    }
    let mut header = vec!["us"];
    header.extend(group.iter().map(|(way, _)| way.name.as_str()));
    let us = |nanoseconds: u64| {
        if nanoseconds.is_multiple_of(1_000) {
            (nanoseconds / 1_000).to_string()
        } else {
            format!("{:.1}", nanoseconds as f64 / 1e3)
        }
    };
    let rows = rows.into_iter().map(|((from, to), counts)| {
        let mut cells = vec![format!("{}-{}", us(from), us(to))];
        cells.extend(counts.into_iter().map(|count| if count == 0 { String::new() } else { count.to_string() }));
        cells
    });
    table(&header, 0..header.len(), rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timers::TimersAnswer;
    use punctual_timing::{Callback, CatchUp, Slack, Stream, analyse};

    fn timers() -> Timers {
        let callbacks: Vec<Callback> = (0..2_000u64)
            .map(|n| Callback { asked_ns: n * 1_000_000, at_ns: n / 2 * 2_000_000 + n % 2 * 9_000, periods: 1 })
            .collect();
        let stream = Stream { period_ns: 1_000_000, origin_ns: 0, anchored: true, callbacks: &callbacks };
        let measured = Measured {
            analysis: analyse(&stream),
            resolution_ns: 1,
            granularity_ns: Some(1_060_000),
            catch_up: Some(CatchUp::Burst),
            slack: Some(Slack { default_ns: 60_000, without_ns: 55_000 }),
            cpu_ns_per_callback: Some(2_500),
            lost: 0,
        };
        let way = |name: &str, measured| MethodResult {
            name: name.to_owned(),
            effect: Effect::None,
            way: name.to_owned(),
            call: "call".to_owned(),
            unit_ns: 1_000_000,
            anchored: true,
            measured,
        };
        Timers {
            period_ns: 1_000_000,
            scheduling: "other".to_owned(),
            clock: "monotonic".to_owned(),
            stall_ns: Some(5_500_000),
            tick: Tick::default(),
            ways: vec![
                way("epoll-wait", Ok(measured)),
                way("io-uring", Err("setting up io_uring: not there".to_owned())),
            ],
            notes: vec!["a note".to_owned()],
            interrupted: false,
        }
    }

    #[test]
    fn text_begins_with_the_verdict_and_names_what_is_absent() {
        let text = text(&timers(), Some(Path::new("a.punctual")));
        assert!(
            text.starts_with("Rounding fault, callbacks in pairs at 0 and twice the period: epoll-wait ("),
            "{text}"
        );
        for part in
            ["note: a note", "1900-2000", "burst", "io-uring is absent: setting up io_uring", "recording: a.punctual"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn json_has_the_contract_and_null_for_what_is_not_known() {
        let mut timers = timers();
        let value = crate::answer::value(&TimersAnswer::new(&timers, None));
        assert_eq!(value["next"][0]["command"], "sudo punctual timers --effects -i 1ms");
        assert_eq!(value["next"][1]["command"], "sudo punctual record --why p99 -i 1ms");
        assert_eq!((value["schema"].as_str(), value["exit_code"].as_u64()), (Some("punctual.timers/1"), Some(0)));
        assert!(value["verdict"].as_str().unwrap().starts_with("Rounding fault"));
        let [way, absent] = [&value["ways"][0], &value["ways"][1]];
        assert_eq!(way["patterns"][0]["pattern"], "rounding_fault");
        assert_eq!(way["after_stall"], "burst");
        let counted: u64 =
            way["histogram"]["bins"].as_array().unwrap().iter().map(|bin| bin["count"].as_u64().unwrap()).sum();
        assert_eq!(counted, 1_999);
        assert!(absent["callbacks"].is_null() && absent["absent"].is_string());
        // What was measured is not proposed again.
        timers.ways[0].effect = Effect::Slack;
        let value = crate::answer::value(&TimersAnswer::new(&timers, None));
        assert_eq!(value["next"].as_array().map(Vec::len), Some(1), "{value}");
    }
}
