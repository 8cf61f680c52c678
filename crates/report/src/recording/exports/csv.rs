//! CSV for spreadsheets: the stage table, whole nanoseconds.

use crate::encode::csv::quoted;
use crate::{Measurement, stage_rows};

/// The stage tables of all recordings as one CSV table; a cell is empty if a number is not known.
pub(super) fn csv(measurement: &Measurement) -> String {
    let mut text = "load,measure,stage,cpu,count,min_ns,mean_ns,p50_ns,p99_ns,p99_9_ns,p99_99_ns,max_ns\n".to_owned();
    let number = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    for row in measurement.parts.iter().flat_map(|(_, document)| stage_rows(document)) {
        let cells = [
            quoted(&row.load),
            quoted(&row.measure),
            row.stage.name().to_owned(),
            row.cpu.map(|cpu| cpu.to_string()).unwrap_or_default(),
            row.count.to_string(),
            number(row.min_ns),
            number(row.mean_ns),
            number(row.p50_ns),
            number(row.p99_ns),
            number(row.p99_9_ns),
            number(row.p99_99_ns),
            number(row.max_ns),
        ];
        text += &cells.join(",");
        text.push('\n');
    }
    text
}
