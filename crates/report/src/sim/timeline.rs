//! A short run as a picture: who ran when, at which level.

use crate::encode::head::{Head, Part, standing};
use crate::encode::plain_page::{coordinate, escape, number};
use crate::layout::{grouped, shortened, thousands};
use crate::verdict::sim::timeline_verdict;
use punctual_sim::observe::Level;
use punctual_sim::recorded::{Timeline, TimelineSlice};
use punctual_sim::time::{MICROSECOND, MILLISECOND, NEVER, Picoseconds, SECOND};
use std::collections::BTreeMap;
use std::fmt::Write;

const LEFT: f64 = 190.0;
/// So many letters of a lane's name have room left of it; of a longer one the middle is left out.
const MAX_NAME: usize = 26;
const WIDTH: f64 = 880.0;
const LANE: f64 = 30.0;
const BAR: f64 = 18.0;
/// How many slices and late starts are listed as text; a longer run is for Perfetto.
const MAX_LISTED: usize = 400;
const MAX_LATE: usize = 2000;

/// A row of the picture. The order is that of the levels, the highest on top.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Lane {
    Interrupts,
    Deferred,
    Thread {
        /// How far below the highest priority its highest one was in this run.
        below: u8,
        index: u32,
    },
}

struct Row<'a> {
    name: &'a str,
    slices: Vec<&'a TimelineSlice>,
}

fn rows(timeline: &Timeline) -> BTreeMap<(u32, Lane), Row<'_>> {
    let mut rows: BTreeMap<(u32, Lane), Row> = BTreeMap::new();
    let mut highest: BTreeMap<u32, u8> = BTreeMap::new();
    for shown in timeline.slices.iter().filter(|shown| shown.slice.level == Level::Thread) {
        let rank = highest.entry(shown.slice.index).or_default();
        *rank = (*rank).max(shown.slice.rank);
    }
    for shown in &timeline.slices {
        let (lane, name) = match shown.slice.level {
            Level::Irq => (Lane::Interrupts, "interrupts"),
            Level::Dpc => (Lane::Deferred, "deferred procedures"),
            Level::Thread => {
                let index = shown.slice.index;
                (Lane::Thread { below: u8::MAX - highest[&index], index }, shown.name.as_str())
            }
            Level::Idle => continue,
        };
        let row = rows.entry((shown.slice.cpu, lane)).or_insert(Row { name, slices: Vec::new() });
        row.slices.push(shown);
    }
    rows
}

/// What a lane's colour is called: that of the stage in which the same takes its time. Threads have lanes of their own.
fn class(lane: Lane) -> &'static str {
    match lane {
        Lane::Interrupts => "irq",
        Lane::Deferred => "deferred",
        Lane::Thread { .. } => "thread",
    }
}

fn level_name(lane: Lane) -> &'static str {
    match lane {
        Lane::Interrupts => "interrupt",
        Lane::Deferred => "deferred procedure",
        Lane::Thread { .. } => "thread",
    }
}

/// Microseconds, for people.
fn micros(time: Picoseconds) -> String {
    format!("{} us", number((time as f64 / MICROSECOND as f64 * 1000.0).round() / 1000.0))
}

/// A distance between marks that people can count in: 1, 2 or 5 times a power of ten, in picoseconds.
fn step(range: Picoseconds) -> Picoseconds {
    let mut scale = 1;
    loop {
        for factor in [1, 2, 5] {
            if range / (scale * factor) <= 10 {
                return scale * factor;
            }
        }
        scale *= 10;
    }
}

/// One row's slices. What is narrower than a pixel is drawn with its neighbours: the picture's size depends on its
/// width, not on how much happened.
fn bars(row: &Row, lane: Lane, top: f64, at: impl Fn(Picoseconds) -> f64, out: &mut String) {
    let mut index = 0;
    while index < row.slices.len() {
        let first = row.slices[index];
        let left = at(first.slice.start);
        let (mut right, mut count, mut busy) = (at(first.slice.end), 1, first.slice.end - first.slice.start);
        while let Some(next) = row.slices.get(index + count) {
            let narrow = right - left < 1.0 || at(next.slice.end) - at(next.slice.start) < 1.0;
            if !narrow || at(next.slice.start) - right > 0.5 || at(next.slice.end) - left > 1.5 {
                break;
            }
            right = at(next.slice.end);
            busy += next.slice.end - next.slice.start;
            count += 1;
        }
        index += count;
        let title = if count == 1 {
            format!(
                "{} ({} {}), {} ms, {}",
                first.name,
                if matches!(lane, Lane::Thread { .. }) { "priority" } else { "level" },
                first.slice.rank,
                number(first.slice.start as f64 / MILLISECOND as f64),
                micros(busy)
            )
        } else {
            format!(
                "{count} slices from {} ms on, {}",
                number(first.slice.start as f64 / MILLISECOND as f64),
                micros(busy)
            )
        };
        let _ = writeln!(
            out,
            "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{BAR}\"><title>{}</title></rect>",
            class(lane),
            coordinate(left),
            coordinate(top),
            // A handler of a few microseconds stays visible.
            coordinate((right - left).max(0.8)),
            escape(&title)
        );
    }
}

fn picture(timeline: &Timeline, rows: &BTreeMap<(u32, Lane), Row>, from: Picoseconds, to: Picoseconds) -> String {
    let at = |time: Picoseconds| LEFT + WIDTH * (time.saturating_sub(from)) as f64 / (to - from).max(1) as f64;
    let bottom = 14.0 + LANE * rows.len() as f64;
    let (full_width, height) = (LEFT + WIDTH + 30.0, bottom + 46.0);
    let mut out = format!(
        "<svg viewBox=\"0 0 {full_width} {height}\" width=\"{full_width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"Who ran from {} to {} s, one lane for each level and thread; the tables below say the same\">\n",
        number(from as f64 / SECOND as f64),
        number(to as f64 / SECOND as f64)
    );
    let every = step(to - from);
    let mut mark = from.div_ceil(every) * every;
    while mark <= to {
        let x = coordinate(at(mark));
        let label = thousands(&format!("{}", mark as f64 / MILLISECOND as f64));
        let _ = writeln!(
            out,
            "<path class=\"grid\" d=\"M{x} 8V{bottom}\"/><text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{label}</text>",
            bottom + 16.0
        );
        mark += every;
    }
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">simulated time, ms</text>",
        LEFT + WIDTH / 2.0,
        bottom + 36.0
    );
    for (position, ((cpu, lane), row)) in rows.iter().enumerate() {
        let top = 14.0 + LANE * position as f64;
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><path class=\"grid\" d=\"M{LEFT} {}h{WIDTH}\"/>",
            LEFT - 8.0,
            top + 13.0,
            escape(&shortened(&format!("CPU {cpu} {}", row.name), MAX_NAME)),
            top + LANE - 6.0
        );
        bars(row, *lane, top, at, &mut out);
        if let Lane::Thread { index, .. } = lane {
            late(timeline, *cpu, *index, from, top + BAR + 2.5, at, &mut out);
        }
    }
    out.push_str("</svg>\n");
    out
}

/// From when a thread was due until its work starts: a line below its lane.
fn late(
    timeline: &Timeline,
    cpu: u32,
    thread: u32,
    from: Picoseconds,
    y: f64,
    at: impl Fn(Picoseconds) -> f64,
    out: &mut String,
) {
    let own = timeline.activations.iter().filter(|done| done.cpu == cpu && done.thread == Some(thread));
    let waited = own.filter(|done| done.unit.arrival != NEVER && done.start > done.unit.arrival);
    for done in waited.take(MAX_LATE) {
        let left = at(done.unit.arrival.max(from));
        let width = at(done.start.max(from)) - left;
        if width < 0.3 {
            continue;
        }
        let _ = writeln!(
            out,
            "<path class=\"late\" d=\"M{} {}h{}\"><title>due, started {} later</title></path>",
            coordinate(left),
            coordinate(y),
            coordinate(width),
            micros(done.latency())
        );
    }
}

fn totals(rows: &BTreeMap<(u32, Lane), Row>, length: Picoseconds) -> String {
    let mut out = String::from(
        "<div class=\"wide\" tabindex=\"0\"><table class=\"short\"><caption>Where the time went</caption>\n<thead><tr><th scope=\"col\">CPU</th>\
         <th scope=\"col\">level</th><th scope=\"col\">what</th><th scope=\"col\" class=\"n\">slices</th>\
         <th scope=\"col\" class=\"n\">time</th><th scope=\"col\" class=\"n\">share</th></tr></thead>\n<tbody>\n",
    );
    for ((cpu, lane), row) in rows {
        let mut by_name: BTreeMap<&str, (usize, Picoseconds)> = BTreeMap::new();
        for shown in &row.slices {
            let entry = by_name.entry(&shown.name).or_default();
            entry.0 += 1;
            entry.1 += shown.slice.end - shown.slice.start;
        }
        for (name, (count, time)) in by_name {
            let _ = writeln!(
                out,
                "<tr><td>{cpu}</td><td>{}</td><th scope=\"row\">{}</th><td class=\"n\">{}</td><td class=\"n\">{}</td>\
                 <td class=\"n\">{:.2} %</td></tr>",
                level_name(*lane),
                escape(name),
                grouped(count as u64),
                micros(time),
                100.0 * time as f64 / length.max(1) as f64
            );
        }
    }
    out.push_str("</tbody></table></div>\n");
    out
}

fn listing(timeline: &Timeline) -> String {
    let shown: Vec<&TimelineSlice> = timeline.slices.iter().take(MAX_LISTED).collect();
    let mut out = format!(
        "<details><summary>The first {} of {} slices, one by one</summary>\n<div class=\"wide\" tabindex=\"0\"><table class=\"short\"><caption>\
         Slices in order of their start</caption>\n<thead><tr><th scope=\"col\" class=\"n\">from, ms</th>\
         <th scope=\"col\" class=\"n\">length</th><th scope=\"col\">CPU</th><th scope=\"col\">what</th></tr></thead>\n<tbody>\n",
        grouped(shown.len() as u64),
        grouped(timeline.slices.len() as u64)
    );
    for one in shown {
        let what = match one.slice.level {
            Level::Irq => format!("{}, interrupt level {}", one.name, one.slice.rank),
            Level::Dpc => format!("{}, deferred procedure", one.name),
            Level::Thread => format!("{}, priority {}", one.name, one.slice.rank),
            Level::Idle => "idle".to_owned(),
        };
        let _ = writeln!(
            out,
            "<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td></tr>",
            thousands(&format!("{:.6}", one.slice.start as f64 / MILLISECOND as f64)),
            micros(one.slice.end - one.slice.start),
            one.slice.cpu,
            escape(&what)
        );
    }
    out.push_str("</tbody></table></div></details>\n");
    out
}

/// A timeline as a figure for a page.
pub(super) fn figure(timeline: &Timeline, from: Picoseconds, to: Picoseconds) -> String {
    format!("<figure class=\"wide\" tabindex=\"0\">{}</figure>", picture(timeline, &rows(timeline), from, to))
}

/// A timeline as a page of its own: lanes by level and thread, the totals, the first slices as text.
pub fn html(timeline: &Timeline, title: &str) -> String {
    let from = timeline.slices.iter().map(|shown| shown.slice.start).min().unwrap_or(0);
    let to = timeline.slices.iter().map(|shown| shown.slice.end).max().unwrap_or(from);
    let rows = rows(timeline);
    let verdict = timeline_verdict(timeline);
    let head = |parts: &[Part]| {
        let context = "punctual sim timeline";
        let head = Head { title, context, verdict: &verdict, next: &[], warnings: &[], blind: &[] };
        standing(&head, parts, "")
    };
    if rows.is_empty() {
        return head(&[]);
    }
    let lanes = format!(
        "<p class=\"soft\">A lane shows when something ran; hold the pointer over a bar for its name, level and \
         length. The line below a thread's lane runs from the time its work was due to the time it began. Slices \
         narrower than a pixel are drawn together, and none is drawn narrower than 0.8 pixels.</p>\n{}\n",
        figure(timeline, from, to)
    );
    let parts = [
        Part::new("lanes", "Who ran when", lanes),
        Part::new("totals", "Where the time went", totals(&rows, to - from)),
        Part::new("slices", "Slice by slice", listing(timeline)),
    ];
    head(&parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::plain_page::tests::{assert_well_formed, labels};
    use punctual_sim::ledger::builtin;

    #[test]
    fn every_level_and_thread_has_its_lane() {
        let experiment = builtin("soft-modem-dialup").unwrap().unwrap();
        let timeline = experiment.timeline(Some("THR 24"), 24 * SECOND, 24 * SECOND + 50 * MILLISECOND).unwrap();
        let html = html(&timeline, "soft-modem-dialup, THR 24 <&>");
        assert_well_formed(&html);
        for lane in
            ["CPU 0 interrupts", "CPU 0 deferred procedures", "CPU 0 modem", "CPU 0 spin", "24,050", "&lt;&amp;"]
        {
            assert!(html.contains(lane), "{lane}");
        }
        let ran = timeline.slices.iter().filter(|shown| shown.slice.level != Level::Idle).count();
        assert!(html.contains(&format!("{ran} slices in 50.0 ms")));
        assert!(html.contains("<figure class=\"wide\" tabindex=\"0\"><svg"), "the keyboard reaches what is scrolled");
    }

    #[test]
    fn a_long_timeline_is_thinned_and_an_empty_one_says_so() {
        let experiment = builtin("soft-modem-dialup").unwrap().unwrap();
        let timeline = experiment.timeline(Some("THR 24"), 10 * SECOND, 20 * SECOND).unwrap();
        let long = html(&timeline, "long");
        assert_well_formed(&long);
        assert!(long.len() < 2_000_000, "{} bytes from {} slices", long.len(), timeline.slices.len());
        let empty = html(&Timeline { slices: Vec::new(), activations: Vec::new() }, "empty");
        assert_well_formed(&empty);
        assert!(empty.contains("Nothing ran."));
    }

    #[test]
    fn a_long_name_of_a_lane_is_not_cut_off() {
        let experiment = builtin("soft-modem-dialup").unwrap().unwrap();
        let mut timeline = experiment.timeline(Some("THR 24"), 24 * SECOND, 24 * SECOND + 50 * MILLISECOND).unwrap();
        for shown in &mut timeline.slices {
            shown.name = format!("a thread with a name that is much too long, {}", shown.slice.index);
        }
        let html = html(&timeline, "long names");
        let drawing = html.split_once("<svg").and_then(|(_, rest)| rest.split_once("</svg>")).unwrap().0;
        let labels = labels(drawing);
        assert!(labels.iter().any(|(_, words)| words.contains('…')), "{labels:?}");
        assert!(labels.iter().all(|(place, _)| place[0] >= 0.0), "{labels:?}");
    }

    #[test]
    fn marks_are_round_and_not_too_many() {
        assert_eq!((step(50 * MILLISECOND), step(10 * SECOND)), (5 * MILLISECOND, SECOND));
        assert_eq!(step(1), 1);
    }
}
