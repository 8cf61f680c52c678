//! The results at every point of a grid, of a what-if or of one case of an experiment.

use crate::verdict::sim::{experiment_sweep_verdict, whatif_sweep_verdict};
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

/// The points for people.
pub fn experiment_sweep_text(found: &ExperimentSweep) -> String {
    format!("{}\n\n{}", experiment_sweep_verdict(found), super::plane_text(found.grid, found.points))
}

/// The points for people: a plane if there are two axes, otherwise a table.
pub fn text(grid: &Sweep, points: &[Point], interrupted: bool) -> String {
    let verdict = whatif_sweep_verdict(grid, points, interrupted);
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
