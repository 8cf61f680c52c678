//! What became of the devices of a run, beside the wakeups of several.

use super::DeviceRow;
use crate::device::run::Run;
use crate::verdict::device::device_run_verdict;
use serde::Serialize;
use std::path::Path;

/// The devices of one run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DeviceRunRow<'a> {
    recording: &'a Path,
    verdict: String,
    contexts: Vec<DeviceRow<'a>>,
}

impl<'a> DeviceRunRow<'a> {
    /// The row of each run.
    pub fn all(runs: &[Run<'a>]) -> Vec<DeviceRunRow<'a>> {
        let row = |run: &Run<'a>| DeviceRunRow {
            recording: run.path,
            verdict: device_run_verdict(run),
            contexts: DeviceRow::all(run),
        };
        runs.iter().map(row).collect()
    }
}
