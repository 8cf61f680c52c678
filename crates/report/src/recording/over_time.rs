//! Recordings over time, on their page.

use crate::encode::html::heat::Heat;
use crate::encode::html::history::History;
use crate::encode::html::{Block, Drawing, Picture, Section};
use punctual_recording::format_ns;

/// A recording's wakeups over time: one history per measure.
pub struct Recorded {
    /// Its name above its pictures.
    pub name: String,
    /// The measures, and how late their wakeups were at which time.
    pub histories: Vec<(String, History)>,
}

/// How many histories, and measures, are drawn; if there are more, the page says so.
pub const MAX_HISTORIES: usize = 8;

/// Latency over time of each recording, on the same axes and in the same colours.
pub(crate) fn over_time(recorded: &[Recorded]) -> Option<Section> {
    let all: Vec<(&Recorded, &String, &History)> = recorded
        .iter()
        .flat_map(|one| one.histories.iter().map(move |(measure, history)| (one, measure, history)))
        .collect();
    let around = |of: fn(&History) -> Option<[u64; 2]>| -> Option<[u64; 2]> {
        let extents = || all.iter().filter_map(|(_, _, history)| of(history));
        Some([extents().map(|extent| extent[0]).min()?, extents().map(|extent| extent[1]).max()?])
    };
    let (lines_ns, cells_ns) = (around(History::extent_ns)?, around(History::latency_ns)?);
    let drawn = || all.iter().take(MAX_HISTORIES);
    // Axes and colours are the same throughout, so that recordings can be compared.
    let mut latency: Vec<Heat> = drawn().map(|(_, _, history)| history.latency_heat(cells_ns)).collect();
    let mut cpus: Vec<Heat> = drawn().map(|(_, _, history)| history.cpu_heat()).collect();
    Heat::share_colours(&mut latency);
    Heat::share_colours(&mut cpus);
    let mut blocks = Vec::new();
    for (number, ((one, measure, history), (latency, cpus))) in drawn().zip(latency.into_iter().zip(cpus)).enumerate() {
        if all.len() > 1 {
            blocks.push(Block::Heading(format!("{}: {measure}", one.name)));
        }
        let (column, cell) = (format_ns(history.column_ns()), format_ns(latency.column_ns));
        let picture = |id: &str, title: &str, caption: String, drawing: Drawing| {
            Block::Picture(Picture { id: format!("time-{number}-{id}"), title: title.to_owned(), caption, drawing })
        };
        let series = history.series(lines_ns);
        let caption = format!("{} of every {column}.", series.words());
        blocks.push(picture("lines", "Total latency over time.", caption, Drawing::Series(series)));
        blocks.push(picture(
            "latency",
            "Wakeups by lateness, over time.",
            format!("A cell is {cell} long; the stronger the colour, the more wakeups."),
            Drawing::Heat(latency),
        ));
        blocks.push(picture(
            "cpus",
            "The longest total latency of each CPU, over time.",
            format!("A cell is {cell} long; the stronger the colour, the later."),
            Drawing::Heat(cpus),
        ));
    }
    if all.len() > MAX_HISTORIES {
        blocks.push(Block::Text(format!("{} more are not drawn.", all.len() - MAX_HISTORIES)));
    }
    Some(Section {
        id: "time".into(),
        title: "When, and on which CPU".into(),
        lead: "This shows bursts and rhythms that the distributions hide.".into(),
        blocks,
    })
}
