//! One point of a sweep over an experiment: how its device fares with a few keys set.

use super::schema::File;
use super::{Experiment, build, collect, place};
use crate::error::Result;
use crate::watch::Watch;

/// The result at one point of a sweep over an experiment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Point {
    /// Why no such machine can exist.
    pub impossible: Option<String>,
    /// Runs.
    pub runs: u64,
    /// Blocks of the device.
    pub blocks: u64,
    /// Blocks late or lost.
    pub faults: u64,
    /// Most samples pending.
    pub pending_max: u64,
    /// How often the ring wrapped.
    pub overruns: u64,
    /// Transfers that got through.
    pub successes: u64,
    /// Faults during transfers.
    pub transfer_faults: u64,
    /// Whether there is a transfer to be sufficient for.
    pub has_link: bool,
}

impl Point {
    /// `impossible`, `sufficient`, `marginal` or `insufficient`, as in Figure 17 of soft-modem-2000. Without a transfer
    /// it says whether a device has no fault, overflows, or is in between.
    pub fn class(&self) -> &'static str {
        match self {
            Point { impossible: Some(_), .. } => "impossible",
            Point { has_link: false, faults: 0, .. } => "sufficient",
            Point { has_link: false, overruns: 0, .. } => "marginal",
            Point { has_link: false, .. } => "insufficient",
            Point { transfer_faults: 0, .. } => "sufficient",
            Point { successes: 0, .. } => "insufficient",
            _ => "marginal",
        }
    }
}

impl Experiment {
    /// Runs one case with some keys changed (`device.policy.reservation.runtime`), for a sweep.
    ///
    /// # Errors
    /// A key that does not exist. An impossible machine is no error but [`Point::impossible`]. `None` if the watcher
    /// wanted no more.
    pub fn point(&self, case: Option<&str>, set: &[(&str, toml::Value)], watch: &dyn Watch) -> Result<Option<Point>> {
        let index = self.case_of(case).map_err(|what| self.at(&[], what))?;
        let mut document = self.whole.clone();
        if let Some(case) = self.file.case.get(index) {
            for (path, value) in &case.set {
                place::set(&mut document, path, value).map_err(|what| self.at(&[], what))?;
            }
        }
        for (path, value) in set {
            place::set(&mut document, path, value).map_err(|what| self.at(&[], what))?;
        }
        let file: File =
            document.try_into().map_err(|error: toml::de::Error| self.at(&[], error.message().to_owned()))?;
        let mut point = Point::default();
        for run in 0..file.runs {
            let ran = build::build(&file, run).map_err(|(_, what)| what).and_then(|setup| {
                let done = collect::run(&setup, watch).map_err(|error| error.to_string())?;
                Ok(done.map(|done| (setup, done)))
            });
            let (setup, done) = match ran {
                Ok(Some(ran)) => ran,
                Ok(None) => return Ok(None),
                Err(what) => return Ok(Some(Point { impossible: Some(what), ..Point::default() })),
            };
            point.runs += 1;
            for (seen, device) in done.devices.iter().zip(&setup.devices) {
                let never = seen.never.iter().filter(|&&due| done.length - due > device.tolerance.start).count();
                point.blocks += (seen.blocks.len() + never) as u64;
                point.faults += never as u64;
                point.faults +=
                    seen.blocks.iter().filter(|block| block.fate != crate::modem::Fate::Good).count() as u64;
                let most = seen.blocks.iter().map(|block| block.pending).max().unwrap_or(0);
                point.pending_max = point.pending_max.max(most);
                point.overruns += seen.overruns;
            }
            point.successes += u64::from(setup.link.is_some() && done.transfer.took.is_some());
            point.transfer_faults += done.transfer.faults;
            point.has_link = setup.link.is_some();
        }
        watch.part_done();
        Ok(Some(point))
    }
}
