//! How late events follow one another.

use crate::layout::{grouped, table};
use punctual_forecast::interarrival::{Arrival, Interarrival, MIN_EVENTS};
use punctual_recording::{Stage, format_ns};

/// One line: whose events, of which stage, how many wakeups or gaps exceeded the threshold, and how the events follow.
#[derive(Debug, Clone)]
pub struct InterarrivalRow {
    /// The recording, if there are several.
    pub recording: String,
    /// Whose: policy and priority, or the gaps of a CPU.
    pub whose: String,
    /// Which stage was late; `None` for gaps.
    pub stage: Option<Stage>,
    /// How many wakeups or gaps exceeded the threshold.
    pub late: u64,
    /// The events.
    pub events: Interarrival,
}

/// How they come, in words, with the test that decided it.
pub fn in_words(events: &Interarrival) -> String {
    let p =
        events.p.map_or(String::new(), |p| if p < 0.001 { ", p < 0.001".to_owned() } else { format!(", p = {p:.3}") });
    let by = format!("({}{p})", events.test);
    match events.arrival {
        Arrival::TooFew => format!("too few to say: {MIN_EVENTS} are needed"),
        Arrival::Periodic { period_ns, .. } => {
            format!("periodically, every {} {by}", format_ns(period_ns.round() as u64))
        }
        Arrival::Clustered => format!("in clusters {by}"),
        Arrival::Random => format!("at random, as far as can be told {by}"),
    }
}

/// The table with its heading.
pub fn text(rows: &[InterarrivalRow]) -> String {
    let several = rows.iter().any(|row| row.recording != rows[0].recording);
    let mut header = vec!["threads", "stage", "above", "late", "events", "mean apart", "deviation", "they come"];
    if several {
        header.insert(0, "recording");
    }
    let first = header.len() - 6;
    let time = |ns: Option<f64>| ns.map_or("-".to_owned(), |ns| format_ns(ns.round() as u64));
    let lines = rows.iter().map(|row| {
        let mut cells = vec![
            row.whose.clone(),
            row.stage.map_or("-", Stage::name).to_owned(),
            format_ns(row.events.threshold_ns),
            grouped(row.late),
            grouped(row.events.events),
            time(row.events.mean_ns),
            time(row.events.deviation_ns),
            in_words(&row.events),
        ];
        if several {
            cells.insert(0, punctual_recording::printable(&row.recording));
        }
        cells
    });
    format!(
        "How late events follow one another (late neighbours with one cause are one event)\n\n{}\n",
        table(&header, first..first + 5, lines)
    )
}
