//! Finished attempts in a directory: a file each.

use super::error::TablesError;
use super::plan::TablesPlan;
use punctual_modem::transfer::{Attempt, Ending};
use punctual_modem::virtual_time::Plan;
use punctual_recording::Directory;
use serde::{Deserialize, Serialize};

/// What says that a directory is a study, and which one.
const STUDY: &str = "study.json";
/// An attempt is half a kilobyte; anything longer is not one.
const MAX_BYTES: u64 = 16 << 10;

/// A directory of a study, open.
#[derive(Debug, Clone)]
pub(super) struct Store {
    directory: Directory,
    identity: String,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    schema: String,
    identity: String,
    bytes: u32,
    seed: u64,
}

/// An attempt as a file. Times are ns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    /// Which study, row and number it belongs to.
    of: String,
    ending: String,
    exact: bool,
    received: u64,
    set_up_ns: u64,
    transfer_ns: Option<u64>,
    bits_per_second: u32,
    retrains: u32,
    crc_errors: u64,
    far_crc_errors: u64,
    resent: u64,
    underruns: u64,
    underrun_samples: u64,
    overruns: u64,
    lost_samples: u64,
}

impl Kept {
    fn new(of: String, attempt: &Attempt) -> Kept {
        Kept {
            of,
            ending: attempt.ending.name().to_owned(),
            exact: attempt.is_exact,
            received: attempt.received,
            set_up_ns: attempt.set_up_ns,
            transfer_ns: attempt.transfer_ns,
            bits_per_second: attempt.bits_per_second,
            retrains: attempt.retrains,
            crc_errors: attempt.crc_errors,
            far_crc_errors: attempt.far_crc_errors,
            resent: attempt.resent,
            underruns: attempt.underruns,
            underrun_samples: attempt.underrun_samples,
            overruns: attempt.overruns,
            lost_samples: attempt.lost_samples,
        }
    }

    /// The attempt, if it could be one of this plan. Somebody may have made up one that could be: nothing here protects
    /// against that.
    fn attempt(&self, of: &str, bytes: u64, plan: &Plan) -> Option<Attempt> {
        let ending = Ending::ALL.into_iter().find(|ending| ending.name() == self.ending)?;
        let attempt = Attempt {
            ending,
            is_exact: self.exact,
            received: self.received,
            set_up_ns: self.set_up_ns,
            transfer_ns: self.transfer_ns,
            bits_per_second: self.bits_per_second,
            retrains: self.retrains,
            crc_errors: self.crc_errors,
            far_crc_errors: self.far_crc_errors,
            resent: self.resent,
            underruns: self.underruns,
            underrun_samples: self.underrun_samples,
            overruns: self.overruns,
            lost_samples: self.lost_samples,
            stalls: 0,
        };
        // Nothing happens more often than once a sample, and each sample comes only once.
        let samples = plan.limit + punctual_modem::SAMPLE_RATE;
        let max_ns = punctual_modem::adapter::time_of(samples);
        let counts =
            [self.crc_errors, self.far_crc_errors, self.resent, self.underruns, self.overruns, self.retrains.into()];
        let could_be = self.of == of
            && self.received <= bytes
            && (!self.exact || self.received == bytes)
            && self.set_up_ns.saturating_add(self.transfer_ns.unwrap_or(0)) <= max_ns
            && self.bits_per_second <= 14_400
            && counts.into_iter().chain([self.underrun_samples, self.lost_samples]).all(|count| count <= samples)
            && self.underruns <= self.underrun_samples
            && (ending != Ending::Arrived || self.transfer_ns.is_some());
        could_be.then_some(attempt)
    }
}

impl Store {
    /// Opens the directory of a study, or makes one.
    ///
    /// # Errors
    /// If it cannot be made, is somebody else's, or holds another study or something else.
    pub(super) fn open(plan: &TablesPlan) -> Result<Option<Store>, TablesError> {
        let Some(path) = &plan.directory else { return Ok(None) };
        let directory = Directory::make(path)?;
        let store = Store { directory, identity: plan.identity() };
        let header = Header {
            schema: "punctual.modem-study-directory/1".to_owned(),
            identity: store.identity.clone(),
            bytes: plan.bytes,
            seed: plan.seed,
        };
        match store.directory.read(STUDY, MAX_BYTES) {
            Ok(contents) => match serde_json::from_slice::<Header>(&contents) {
                Ok(standing) if standing == header => Ok(Some(store)),
                Ok(standing) if standing.schema == header.schema => Err(TablesError::Other(path.clone())),
                _ => Err(TablesError::Occupied(path.clone())),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && store.directory.is_empty()? => {
                write(&store.directory, STUDY, &header)?;
                Ok(Some(store))
            }
            Err(_) => Err(TablesError::Occupied(path.clone())),
        }
    }

    /// The directory of a row.
    pub(super) fn row(&self, id: &str) -> Result<Place, TablesError> {
        Ok(Place { directory: self.directory.below(id)?, of: format!("{} {id}", self.identity) })
    }
}

/// Where the attempts of a row are.
#[derive(Debug, Clone)]
pub(super) struct Place {
    directory: Directory,
    of: String,
}

impl Place {
    fn name(number: u32) -> String {
        format!("attempt-{:03}.json", number + 1)
    }

    fn of(&self, number: u32) -> String {
        format!("{} {}", self.of, number + 1)
    }

    /// The attempt with this number (from 0), if one is stored that could be it. Damaged ones are computed anew.
    pub(super) fn read(&self, number: u32, bytes: u64, plan: &Plan) -> Option<Attempt> {
        let contents = self.directory.read(&Place::name(number), MAX_BYTES).ok()?;
        serde_json::from_slice::<Kept>(&contents).ok()?.attempt(&self.of(number), bytes, plan)
    }

    /// Stores an attempt, whole or not at all.
    pub(super) fn write(&self, number: u32, attempt: &Attempt) -> Result<(), TablesError> {
        write(&self.directory, &Place::name(number), &Kept::new(self.of(number), attempt))
    }
}

fn write(directory: &Directory, name: &str, contents: &impl Serialize) -> Result<(), TablesError> {
    let store = |error| TablesError::Store { path: directory.path().join(name), error };
    let text = serde_json::to_string_pretty(contents).map_err(|error| store(error.into()))?;
    directory.write(name, text.as_bytes()).map_err(store)
}
