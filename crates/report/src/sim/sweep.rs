//! The results at every point of a grid, of a what-if or of one case of an experiment.

use crate::layout::{agreeing, counted, grouped};
use punctual_recording::format_ns;
use punctual_sim::experiment;
use punctual_sim::sweep::Sweep;
use punctual_sim::swept::Point;

/// One case of an experiment at every point of a grid, or at those that the user waited for.
#[derive(Debug, Clone, Copy)]
pub struct ExperimentSweep<'a> {
    /// The grid.
    pub grid: &'a Sweep,
    /// The number of each point, and its result.
    pub points: &'a [(u64, experiment::Point)],
    /// Whether it was ended before all of them were computed.
    pub interrupted: bool,
}

/// One sentence about it.
pub fn experiment_verdict(found: &ExperimentSweep) -> String {
    let count = |class: &str| found.points.iter().filter(|(_, point)| point.class() == class).count();
    let head = match found.interrupted {
        false => String::new(),
        true => format!("Interrupted after {} of {}. ", found.points.len(), counted(found.grid.points(), "point")),
    };
    let (sufficient, asked) = (count("sufficient"), counted(found.points.len(), "point"));
    format!(
        "{head}{sufficient} of {asked} {} sufficient, {} marginal, {} insufficient.{}",
        agreeing(sufficient, "is", "are"),
        count("marginal"),
        count("insufficient"),
        impossible(count("impossible"))
    )
}

/// At how many points nothing was computed because no such machine can exist.
fn impossible(points: usize) -> String {
    if points == 0 {
        return String::new();
    }
    format!(" At {} no such machine can exist.", counted(points, "point"))
}

/// The points for people.
pub fn experiment_sweep_text(found: &ExperimentSweep) -> String {
    format!("{}\n\n{}", experiment_verdict(found), super::plane_text(found.grid, found.points))
}

/// The result of a what-if at every point, and where it is worst.
pub fn verdict(grid: &Sweep, points: &[Point], interrupted: bool) -> String {
    let outcomes = || points.iter().filter_map(|point| Some((point.number, point.outcome?)));
    let (without, possible) = (outcomes().filter(|(_, outcome)| outcome.misses == 0).count(), outcomes().count());
    let kept = if interrupted { " It was interrupted and kept what it had computed." } else { "" };
    if points.is_empty() && interrupted {
        return "It was interrupted before it had computed any point.".to_owned();
    }
    if possible == 0 && !points.is_empty() {
        let asked = counted(points.len(), "point");
        return format!("None of {asked} is possible: no such device, reservation or machine can exist.{kept}");
    }
    // The first of several equally bad ones.
    let worst = outcomes().max_by_key(|(number, outcome)| (outcome.misses, std::cmp::Reverse(*number)));
    let most = worst.filter(|(_, outcome)| outcome.misses > 0).map_or_else(String::new, |(number, outcome)| {
        let values = grid.axes().iter().zip(grid.written(number)).map(|(axis, value)| format!("{} {value}", axis.name));
        format!("; the most, {}, at {}", grouped(outcome.misses), values.collect::<Vec<_>>().join(", "))
    });
    let asked = counted(possible, "point");
    format!("No buffer was missed at {without} of {asked}{most}.{}{kept}", impossible(points.len() - possible))
}

/// The points for people: a plane if there are two axes, otherwise a table.
pub fn text(grid: &Sweep, points: &[Point], interrupted: bool) -> String {
    let verdict = verdict(grid, points, interrupted);
    if let [up, right] = grid.axes() {
        let mut rows = Vec::new();
        for row in (0..up.values.len()).rev() {
            let mut cells = vec![up.values[row].to_string()];
            for column in 0..right.values.len() {
                let number = (row * right.values.len() + column) as u64;
                let point = points.iter().find(|point| point.number == number);
                cells.push(match point.map(|point| point.outcome) {
                    None => String::new(),
                    Some(None) => "-".to_owned(),
                    Some(Some(outcome)) => outcome.misses.to_string(),
                });
            }
            rows.push(cells);
        }
        let mut header = vec![format!("{} \\ {}", up.name, right.name)];
        header.extend(right.values.iter().map(i64::to_string));
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        let table = crate::table(&header, 0..header.len(), rows);
        return format!("{verdict}\n\nMissed buffers (- where no such machine can exist)\n\n{table}\n");
    }
    let mut header: Vec<&str> = grid.axes().iter().map(|axis| axis.name.as_str()).collect();
    header.extend(["activations", "misses", "most pending", "worst start"]);
    let rows = points.iter().map(|point| {
        let mut cells: Vec<String> = grid.values(point.number).iter().map(i64::to_string).collect();
        match &point.outcome {
            Some(outcome) => {
                cells.extend([outcome.activations, outcome.misses, outcome.pending_max].map(|count| count.to_string()));
                cells.push(format_ns(outcome.latency_max_ns));
            }
            None => cells.extend(["-".to_owned(), "-".to_owned(), "-".to_owned(), "cannot be".to_owned()]),
        }
        cells
    });
    format!("{verdict}\n\n{}\n", crate::table(&header, 0..header.len(), rows))
}
