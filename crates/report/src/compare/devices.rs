//! How often each device's slack is exceeded on either side.

use super::words::factor;
use crate::device::{are_of_several_origins, under_origins};
use crate::layout::{grouped, table};
use punctual_comparison::DeviceComparison;
use punctual_recording::format_ns;

/// What stands below a table in which stalls and how often a device runs dry differ.
const STALLS: &str =
    "A stall is late wakeups with one cause; a device may run dry several times in one, or not at all.";

/// The table of devices, under a line that says what it counts; devices of which neither side has a stall are only named.
pub(super) fn devices_text(devices: &[DeviceComparison], several: bool) -> String {
    let (met, quiet): (Vec<_>, Vec<_>) = devices.iter().partition(|row| row.over != (0, 0));
    let mut text = String::new();
    if !met.is_empty() {
        text += "\nHow often each device's slack is exceeded: stalls, how often it runs dry, and how many times as many stalls \
                 with B\n\n";
        text += &device_table(&met, devices, several);
        text.push('\n');
        if met.iter().any(|row| row.over != row.ran_dry) {
            text += &format!("{STALLS}\n");
        }
    }
    if !quiet.is_empty() {
        text += &format!("\nNo stall on either side beyond the slack of {}\n", named(&quiet, devices, several));
    }
    text
}

/// These devices with their slacks, those of each origin together if there are several.
fn named(rows: &[&DeviceComparison], all: &[DeviceComparison], several: bool) -> String {
    let are_grouped = are_of_several_origins(rows.iter().map(|row| &row.device));
    let (mut text, mut before) = (String::new(), None);
    for row in rows {
        let is_first_of_its_origin = before.replace(row.device.origin) != Some(row.device.origin);
        if !text.is_empty() {
            text += if are_grouped && is_first_of_its_origin { "; " } else { ", " };
        }
        if are_grouped && is_first_of_its_origin {
            text += &format!("{}: ", row.device.origin.whose());
        }
        let whose = if several { format!(" of {}", whose(row)) } else { String::new() };
        let device = row.device.id_among(all.iter().map(|other| &other.device));
        text += &format!("{device} ({}{whose})", format_ns(row.slack_ns));
    }
    text
}

fn device_table(rows: &[&DeviceComparison], all: &[DeviceComparison], several: bool) -> String {
    let mut header = vec!["device", "slack", "stalls A", "B", "runs dry A", "B", "times as many stalls"];
    if several {
        header.insert(1, "threads");
    }
    let first = header.len() - 5;
    let cells = rows.iter().map(|row| {
        let mut cells = vec![device_name(row, all), format_ns(row.slack_ns)];
        cells.extend([row.over.0, row.over.1, row.ran_dry.0, row.ran_dry.1].map(grouped));
        cells.push(times_as_often(row));
        if several {
            cells.insert(1, whose(row));
        }
        cells
    });
    table(&header, first..first + 4, under_origins(rows.iter().map(|row| &row.device), cells))
}

/// The name of a device, with what tells it from others of that name.
pub(super) fn device_name(row: &DeviceComparison, all: &[DeviceComparison]) -> String {
    row.device.name_among(all.iter().map(|other| &other.device))
}

/// By whose wakeups a device is judged.
fn whose(row: &DeviceComparison) -> String {
    let (a, b) = &row.measure;
    if a == b { a.clone() } else { format!("{a} -> {b}") }
}

/// Limits further apart than this many times tell nothing that a reader could use.
const TELLING: f64 = 30.0;
/// What stands instead of them.
pub(super) const CANNOT_BE_TOLD: &str = "cannot be told from these";

/// Whether the limits of how many times as often are too far apart to be of use.
pub(super) fn is_untold(row: &DeviceComparison) -> bool {
    are_apart(row.ratio.low, row.ratio.high)
}

fn are_apart(low: Option<f64>, high: Option<f64>) -> bool {
    matches!((low, high), (Some(low), Some(high)) if high > low * TELLING)
}

/// How many times as often as on the first side a device's slack was exceeded, with an interval.
pub(super) fn times_as_often(row: &DeviceComparison) -> String {
    if is_untold(row) {
        return CANNOT_BE_TOLD.to_owned();
    }
    let ratio = &row.ratio;
    let interval = match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => format!(" ({} to {})", factor(low), factor(high)),
        (Some(low), None) => format!("at least {}", factor(low)),
        (None, Some(high)) => format!("at most {}", factor(high)),
        (None, None) => "-".to_owned(),
    };
    let estimate = ratio.estimate.filter(|_| ratio.low.is_some()).map(factor).unwrap_or_default();
    format!("{estimate}{interval}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_too_far_apart_to_be_of_use_are_not_told() {
        assert!(are_apart(Some(0.067), Some(415.0)) && are_apart(Some(1.0), Some(30.1)));
        for (low, high) in [(Some(1.0), Some(30.0)), (Some(0.067), None), (None, Some(415.0)), (None, None)] {
            assert!(!are_apart(low, high), "{low:?} {high:?}");
        }
    }
}
