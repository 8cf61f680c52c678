//! The page of `punctual forecast --html`: how often buffers run dry, and what to expect at worst.

use super::advice::{advised, asked};
use super::interval::told;
use super::units::{want_head, want_words};
use super::worst::{horizons, rows_of};
use crate::NextStep;
use crate::answer::value;
use crate::encode::html::intervals::{Band, BandLine, Interval, IntervalRow, Intervals, Judged, Unit};
use crate::encode::html::setting::context;
use crate::encode::html::table::{Column, Table, Value};
use crate::encode::html::{Block, Drawing, Page, Picture, Section, colours};
use crate::forecast::{ForecastAnswer, outcome_in_words};
use crate::load_words;
use punctual_forecast::{Answer, DeviceAnswer, Estimate, Group, Outcome, format_seconds};
use punctual_recording::Document;

/// The page of a forecast from recordings, of which this is the first.
pub fn forecast_page(answer: &Answer, next: &[NextStep], first: Option<&Document>) -> Page {
    let notes = answer.groups.iter().flat_map(|group| group.notes.iter().map(move |note| (group, note)));
    let notes = notes.map(|(group, note)| format!("{}: {note}", name_of(group)));
    let mut sections = Vec::new();
    sections.extend(buffering(answer));
    sections.extend(devices(answer));
    sections.extend(worst(answer));
    Page {
        title: if is_of_loops(answer) {
            "How often cycles will take too long"
        } else {
            "How often buffers will run dry"
        }
        .into(),
        context: format!("{} · watched for {}", context("punctual forecast", first), format_seconds(answer.exposure_s)),
        verdict: answer.verdict.clone(),
        next: next.to_vec(),
        warnings: answer.cautions.iter().cloned().chain(notes).collect(),
        blind: Vec::new(),
        sections,
        report: value(&ForecastAnswer::new(answer, next)),
    }
}

/// Whether it is about other programs' loops, which have cycles and no buffers.
fn is_of_loops(answer: &Answer) -> bool {
    answer.groups.iter().flat_map(|group| &group.devices).any(|device| device.stage.holds_work())
}

/// The name of a device beside others; for a loop, the threads that were measured.
fn device_name(group: &Group, device: &DeviceAnswer) -> String {
    if device.stage.holds_work() {
        return group.called(device);
    }
    device.device.name_among(group.devices.iter().map(|other| &other.device))
}

fn name_of(group: &Group) -> String {
    format!("{}, {}", load_words(&group.load), group.measure)
}

/// The interval that the text has: what no recording could show would leave no room for the rest of a picture.
fn interval(estimate: &Estimate) -> Interval {
    let estimate = told(estimate);
    // Infinity has no place on an axis, and is no limit.
    let finite = |value: Option<f64>| value.filter(|value| value.is_finite() && *value > 0.0);
    Interval { low: finite(estimate.low), estimate: finite(estimate.value), high: finite(estimate.high) }
}

fn buffering(answer: &Answer) -> Option<Section> {
    let mut lines = Vec::new();
    // What is not compressed is in hours of use, too.
    let of_use = answer.groups.iter().map(Group::of_use).find(|of_use| !of_use.is_empty()).unwrap_or_default();
    for group in &answer.groups {
        for curve in &group.curves {
            let device = curve.device.as_ref().map(|device| format!("{device}, ")).unwrap_or_default();
            lines.push(BandLine {
                name: format!("{}, {}after {}", name_of(group), device, curve.stage.name().replace('_', " ")),
                style: colours::of_part(lines.len()),
                ns: curve.points.iter().map(|point| point.buffering_ns).collect(),
                seconds: curve.points.iter().map(|point| interval(&point.mttf_s)).collect(),
            });
        }
    }
    if lines.is_empty() {
        return None;
    }
    Some(Section {
        id: "buffering".into(),
        title: "How much buffering buys how much time".into(),
        lead: "To the right, the amount of buffering, (n-1)·t; upwards, the mean time between underruns, as in Figures 6 and 7 of Cota-Robles \
               and Held (OSDI 1999). Bars are 95 % intervals; one with an open end has no limit that these data can give."
            .into(),
        blocks: vec![Block::Picture(Picture {
            id: "buffering-curve".into(),
            title: "Mean time between underruns against buffering.".into(),
            caption: "Work begins after the stage named.".into(),
            drawing: Drawing::Band(Band { x_axis: "buffering, ms".into(), y_axis: format!("time{of_use} between underruns"), lines }),
        })],
    })
}

fn verdict(answer: &DeviceAnswer) -> Value {
    let words = outcome_in_words(answer);
    match answer.underruns.outcome {
        Outcome::Holds => Value::Good(words),
        Outcome::Fails => Value::Bad(words),
        Outcome::HoldsAsRecorded | Outcome::Unknown => Value::Text(format!("? {words}")),
    }
}

fn devices(answer: &Answer) -> Option<Section> {
    let of_loops = is_of_loops(answer);
    let mut blocks = Vec::new();
    for (number, group) in answer.groups.iter().enumerate().filter(|(_, group)| !group.devices.is_empty()) {
        blocks.push(Block::Heading(name_of(group)));
        blocks.push(Block::Picture(devices_picture(number, group, of_loops)));
        blocks.push(Block::Table(devices_table(group, of_loops)));
        blocks.extend(group.devices.iter().filter_map(|device| {
            let lines = advised(device, device.advice.as_ref()?);
            Some(Block::Text(format!("{}: {}.", asked(group, device), lines.join("; "))))
        }));
    }
    if blocks.is_empty() {
        return None;
    }
    let lead = match of_loops {
        true => "How often a cycle takes longer than its period, from when it was due until its work was done.",
        false => {
            "How often each device would run dry, played over the recording on its worst CPU: waits longer than its slack, (n-1)·t - c."
        }
    };
    let title = if of_loops { "Loops" } else { "Devices" };
    Some(Section { id: "devices".into(), title: title.into(), lead: lead.into(), blocks })
}

fn devices_picture(number: usize, group: &Group, of_loops: bool) -> Picture {
    let rows = group.devices.iter().map(|device| IntervalRow {
        name: device_name(group, device),
        interval: interval(&device.underruns.mttf_s),
        want: Some(device.device.want_s as f64),
        verdict: device.underruns.outcome.name().replace('-', " "),
        judged: match device.underruns.outcome {
            Outcome::Holds => Judged::Good,
            Outcome::Fails => Judged::Bad,
            Outcome::HoldsAsRecorded | Outcome::Unknown => Judged::Open,
        },
    });
    let events = if of_loops { "overruns" } else { "underruns" };
    let assumed = group.devices.iter().filter(|device| device.device.want_is_assumed()).count();
    let expected = match assumed {
        0 => "A diamond is what the device's users expect.",
        _ if assumed == group.devices.len() => "A diamond is what the device's users are assumed to expect.",
        _ => "A diamond is what the device's users expect, or are assumed to expect.",
    };
    Picture {
        id: format!("device-{number}"),
        title: format!("Mean time between {events}."),
        caption: format!("{expected} Bars are 95 % intervals; one with an open end has no limit."),
        drawing: Drawing::Intervals(Intervals {
            unit: Unit::Seconds,
            axis: format!("time{} between {events}", group.of_use()),
            rows: rows.collect(),
            against: None,
        }),
    }
}

fn devices_table(group: &Group, of_loops: bool) -> Table {
    let rows = group.devices.iter().map(|device| {
        vec![
            Value::text(device_name(group, device)),
            verdict(device),
            Value::text(device.device.origin.whose()),
            Value::Ns(Some(device.device.period_ns)),
            // A loop has no buffers to spare.
            Value::Count((!of_loops).then_some(u64::from(device.device.buffers))),
            Value::Ns(u64::try_from(device.device.slack_ns()).ok()),
            Value::Count(Some(device.underruns.over)),
            Value::Count(Some(device.underruns.ran_dry())),
            Value::text(want_words(device, &group.devices)),
        ]
    });
    // A telephone has room for the first ones only.
    let mut columns: Vec<Column> = ["device", "verdict", "whose"].map(Column::words).into();
    let often = if of_loops { "overruns" } else { "runs dry" };
    columns
        .extend(["period us", "buffers", "slack us", "stalls", often, want_head(&group.devices)].map(Column::numbers));
    Table { caption: format!("Devices, {}", name_of(group)), columns, rows: rows.collect() }
}

fn worst(answer: &Answer) -> Option<Section> {
    let ns = |value: Option<f64>| Value::Ns(value.map(|value| value.max(0.0) as u64));
    let rows: Vec<Vec<Value>> = answer
        .groups
        .iter()
        .flat_map(|group| rows_of(&group.worst).map(move |row| (group, row)))
        .map(|(group, row)| {
            let worst = &row[0];
            let level = &worst.level;
            let found = level
                .veto
                .as_ref()
                .map_or_else(|| level.method.name().to_owned(), |veto| format!("bound only: {veto}"));
            vec![
                Value::text(format!("{}{}", horizons(row), group.of_use())),
                ns(level.level.value),
                ns(level.level.low),
                ns(level.level.high),
                Value::text(name_of(group)),
                Value::text(worst.stage.name().replace('_', " ")),
                Value::Ns(worst.next.as_ref().ok().copied()),
                Value::Ns(worst.longest_ns),
                Value::text(found),
            ]
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    // A telephone has room for the first ones only.
    let mut columns = vec![Column::words("exceeded once per")];
    columns.extend(["about us", "at least us", "at most us"].map(Column::numbers));
    columns.extend(["where", "stage"].map(Column::words));
    columns.extend(["the next one stays below us (95 %)", "longest seen us"].map(Column::numbers));
    columns.push(Column::words("found by"));
    Some(Section {
        id: "worst".into(),
        title: "Worst cases".into(),
        lead: "The latency that is exceeded once in an hour, a day, a week of use in the long run, with its 95 % interval, and the one \
               that the next hour, day, week stays below with a probability of 95 %; – where these data give no limit."
            .into(),
        blocks: vec![Block::Table(Table { caption: "Worst cases".into(), columns, rows })],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::tests_support::input;
    use punctual_device::{Catalogue, Profile};
    use punctual_forecast::{Question, Stage, answer};

    fn page_of(device: Profile, device_stage: Stage) -> Page {
        let mut input = input(3_000, 0);
        let total = input.stages[&Stage::Total].clone();
        input.stages.insert(device_stage, total);
        let stages = vec![device_stage];
        let question = Question { devices: vec![device], device_stage, stages, advise: true, ..Question::default() };
        forecast_page(&answer(&[input], &question).unwrap(), &[], None)
    }

    fn said(page: &Page) -> Vec<&str> {
        let blocks = page.sections.iter().flat_map(|section| &section.blocks);
        blocks.filter_map(|block| if let Block::Text(text) = block { Some(text.as_str()) } else { None }).collect()
    }

    #[test]
    fn a_page_advises_as_the_text_does() {
        let device = Catalogue::shipped().parse_spec("audio 64@48kHz").unwrap();
        let page = page_of(device, Stage::Total);
        assert_eq!(page.title, "How often buffers will run dry");
        let said = said(&page);
        assert!(
            said.len() == 1 && said[0].starts_with("audio, to run dry at most once in 60 min of use: "),
            "{said:?}"
        );
        assert!(said[0].contains(" buffers of 1.33 ms (64 frames)"), "{said:?}");
    }

    /// Limits four thousandfold apart, and one that no recording could show.
    #[test]
    fn a_page_draws_the_interval_that_the_text_has() {
        let drawn = |high: f64| {
            let interval = interval(&Estimate { low: Some(2e-3), value: Some(0.3), high: Some(high) });
            (interval.low, interval.estimate, interval.high)
        };
        assert_eq!(drawn(8.0), (Some(2e-3), Some(0.3), Some(8.0)));
        assert_eq!(drawn(1e9), (Some(2e-3), Some(0.3), None));
    }

    #[test]
    fn a_page_of_a_loop_speaks_of_cycles() {
        let page = page_of(Profile::of_loop(1_000_000), Stage::Response);
        assert_eq!(page.title, "How often cycles will take too long");
        let loops = page.sections.iter().find(|section| section.id == "devices").unwrap();
        assert_eq!(loops.title, "Loops");
        let captions: Vec<&str> = loops
            .blocks
            .iter()
            .filter_map(|block| if let Block::Picture(picture) = block { Some(picture.caption.as_str()) } else { None })
            .collect();
        assert!(captions.iter().all(|caption| caption.contains("are assumed to expect")), "{captions:?}");
        assert_eq!(captions.len(), 1);
        assert!(said(&page)[0].starts_with("fifo:80, to be late at most once in 60 min of use: "), "{:?}", said(&page));
    }
}
