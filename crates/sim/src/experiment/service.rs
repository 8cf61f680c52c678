//! When the blocks of a device are worked on, for callers that do work of their own at those times; and what the paper
//! prints.

use super::{Experiment, Value};
use crate::error::Result;
use crate::machine::Engine;
use crate::observe::{Activation, Observer};
use crate::time::Picoseconds;

/// One block of a device, worked on. Times are ps after the block was complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    /// Samples of the device until the block was complete.
    pub complete: u64,
    /// Its work began.
    pub begin: Picoseconds,
    /// Its work ended.
    pub end: Picoseconds,
}

/// The machine of one case, which works on its first device's blocks for as long as the caller asks.
#[derive(Debug)]
pub struct Service {
    engine: Engine,
    watched: Watched,
    until: Picoseconds,
}

#[derive(Debug)]
struct Watched {
    source: u32,
    served: Vec<Served>,
}

impl Observer for Watched {
    fn activation(&mut self, activation: &Activation) {
        let unit = &activation.unit;
        if unit.source == Some(self.source) {
            let complete = unit.first_sample + u64::from(unit.samples);
            let [begin, end] = [activation.start, activation.end].map(|time| time - unit.arrival);
            self.served.push(Served { complete, begin, end });
        }
    }
}

impl Service {
    /// Advances the machine by so much of its time and returns what was worked on until then, in order of its end.
    pub fn go_on(&mut self, by: Picoseconds) -> impl Iterator<Item = Served> {
        self.until = self.until.saturating_add(by);
        self.engine.run(self.until, &mut self.watched);
        self.watched.served.drain(..)
    }
}

impl Experiment {
    /// The machine of one case; `run` draws its phases and costs. The experiment's duration and number of runs do not
    /// count.
    ///
    /// # Errors
    /// A case that does not exist, one without a device, a machine that is impossible.
    pub fn service(&self, case: Option<&str>, run: u64) -> Result<Service> {
        let index = self.case_of(case).map_err(|what| self.at(&[], what))?;
        let setup = self.setup(index, run)?;
        let device = setup.devices.first().ok_or_else(|| self.at(&[], "there is no device"))?;
        let watched = Watched { source: device.source as u32, served: Vec::new() };
        Ok(Service { engine: Engine::new(setup.spec)?, watched, until: 0 })
    }

    /// The number that the paper prints for a row, if it is a number.
    pub fn published(&self, row: &str) -> Option<f64> {
        let row = self.file.row.iter().find(|known| known.id == row)?;
        match row.published {
            Some(Value::Number(number)) => Some(number),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::builtin;
    use crate::time::{MILLISECOND, SECOND};

    #[test]
    fn every_block_of_a_handler_is_worked_on_and_in_pieces_as_at_once() {
        let table = builtin("soft-modem-table1").unwrap().unwrap();
        let mut whole = table.service(Some("INT"), 3).unwrap();
        let whole: Vec<Served> = whole.go_on(4 * SECOND).collect();
        let mut pieces = table.service(Some("INT"), 3).unwrap();
        let pieces: Vec<Served> = (0..40).flat_map(|_| pieces.go_on(100 * MILLISECOND).collect::<Vec<_>>()).collect();
        assert_eq!(whole, pieces);
        assert!(whole.len() > 300, "{}", whole.len());
        assert!(whole.windows(2).all(|pair| pair[0].complete < pair[1].complete));
        assert!(whole.iter().all(|served| served.begin < served.end && served.end < 3 * MILLISECOND));
        // Another run begins at another phase, or costs otherwise.
        assert_ne!(table.service(Some("INT"), 4).unwrap().go_on(4 * SECOND).collect::<Vec<_>>(), whole);
    }

    #[test]
    fn what_the_paper_prints_is_found_by_its_row() {
        let table = builtin("soft-modem-table3").unwrap().unwrap();
        assert_eq!(table.published("modem-table3-3-16-mean"), Some(110.523));
        assert_eq!((table.published("modem-table3-3-16"), table.published("none")), (None, None));
        assert!(table.service(Some("9/9"), 0).is_err());
    }
}
