//! What soft devices did: a table `activations/` and a summary `activations.json` beside `recording.json`.

use crate::Distribution;
use crate::error::Result;
use crate::format::bounds::{MAX_SPAN_NS, MAX_TIME_NS};
use crate::format::directory::Directory;
use crate::format::json_file::read_document;
use crate::format::segments;
use crate::format::summarized::SummarizedWriter;
use crate::format::table::{self, Schema, optional, required, signed};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The name and version of `activations.json`.
pub const ACTIVATIONS_SCHEMA: &str = "punctual.activations/1";

static ACTIVATIONS: Schema = Schema {
    name: "activations",
    columns: &[
        required("device").about("Whose block: a position in devices of activations.json"),
        required("block").about("Its number, from 0; numbers that are missing were not processed"),
        required("arrival_ns").about("When it was complete, ns of CLOCK_MONOTONIC"),
        optional("interrupt_ns").about("When its interrupt, or a later one, came"),
        required("start_ns").about("When processing began"),
        required("end_ns").about("When processing ended"),
        required("executed_ns").about("How much of that the work had the CPU for, ns"),
        required("pending").about("Samples that had come and were not processed when it ended"),
        required("queued").about("Blocks that waited when it began, its own included"),
        required("cpu").about("Where it ended"),
        required("cut").about("1 if the work was given up before it was done"),
        required("unobserved").about(
            "1 if its interrupt came but no program was called for it; plus 2 if it waited while punctual rested",
        ),
    ],
};

/// One block that a device processed; times are ns of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ActivationRow {
    /// The device: a position in [`ActivationDocument::devices`].
    pub device: u32,
    /// Its number, from 0. Missing numbers were not processed.
    pub block: u64,
    /// When it was complete.
    pub arrival_ns: u64,
    /// When its interrupt, or a later one, came, if there is one.
    pub interrupt_ns: Option<u64>,
    /// When processing began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// For how much of that time the work had the CPU, ns.
    pub executed_ns: u64,
    /// Samples that had come and were not processed when it ended.
    pub pending: u32,
    /// Blocks that waited when it began, including its own.
    pub queued: u32,
    /// The CPU on which it ended.
    pub cpu: u32,
    /// Whether the work was cut short before it was done.
    pub cut: bool,
    /// Whether its interrupt came but no program was called for it, or its softirq callback was refused, so that it
    /// waited for the next one.
    pub unobserved: bool,
    /// Whether it, or one that was lost before it, waited while punctual's own threads rested to leave others their
    /// share of the CPU.
    pub rested: bool,
}

/// In the column `unobserved`: the bits of [`ActivationRow::unobserved`] and [`ActivationRow::rested`].
const UNOBSERVED: i64 = 1;
const RESTED: i64 = 2;

/// A summary of all devices. Integers only; times are ns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ActivationDocument {
    /// [`ACTIVATIONS_SCHEMA`].
    pub schema: String,
    /// Each device.
    pub devices: Vec<DeviceSummary>,
    /// What competed, as written on the command line.
    pub competitors: Vec<String>,
    /// The measure of the bystander's wakeups, such as `fifo:95`.
    pub bystander: String,
    /// The measure of the control's wakeups.
    pub control: String,
    /// Times between the bystander's callbacks, ns.
    pub bystander_intervals: Distribution,
    /// When the devices began, ns of `CLOCK_MONOTONIC`.
    pub started_ns: u64,
    /// Which phases the run was too short for, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_reached: Option<String>,
}

/// One device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceSummary {
    /// Its profile.
    pub device: String,
    /// Where its work ran.
    pub context: String,
    /// What woke its thread: `timer`, `softirq`, or nothing.
    pub wake: Option<String>,
    /// Whether only the newest block was processed.
    pub drop_stale: bool,
    /// Whether its reservation could use time that others left.
    pub reclaim: bool,
    /// Whether it competed at normal priority after its budget.
    pub compete: bool,
    /// The time between two interrupts, ns.
    pub period_ns: u64,
    /// Buffers.
    pub buffers: u32,
    /// The compute time that was asked for, ns.
    pub compute_ns: u64,
    /// Samples in a block.
    pub samples: u32,
    /// Samples that fit into the ring.
    pub ring: u32,
    /// How often each sample was filtered, by calibration.
    pub passes: u32,
    /// One multiply-accumulate in calibration, thousandths of a ns.
    pub mac_thousandths_ns: u64,
    /// Blocks that arrived.
    pub arrived: u64,
    /// Blocks that were processed.
    pub processed: u64,
    /// Blocks that were dropped for a newer one.
    pub dropped: u64,
    /// Blocks that were overwritten in the ring.
    pub lost: u64,
    /// Blocks that were not processed, to leave others their share of the CPU.
    pub refused: u64,
    /// The share of a CPU that its work may take in interrupt or softirq context, in each 100 ms, millionths: blocks beyond that are
    /// refused. `None` in other contexts, and in recordings too old to have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_share_millionths: Option<u64>,
    /// Blocks whose processing was cut short.
    pub cut: u64,
    /// Blocks whose interrupt came together with a later one's.
    pub coalesced: u64,
    /// Interrupts that came but for which no program was called. Buffers that were late because of that are not
    /// underruns: a real interrupt would have been served.
    pub unobserved: u64,
    /// Buffers that were late or lost because punctual's own threads rested, to leave others their share of the CPU.
    /// They are not underruns, because a real device would not have rested.
    #[serde(default)]
    pub rested: u64,
    /// Softirq callbacks that the kernel refused to queue; the blocks waited for the next one, and count like the
    /// above. `None` if no interrupt queues any, and in recordings too old to count them.
    #[serde(default)]
    pub callbacks_refused: Option<u64>,
    /// The last reason why it did so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// How often the ring wrapped.
    pub overruns: u64,
    /// Records that were lost: those blocks were processed, but nothing more is known of them.
    pub records_lost: u64,
    /// Interrupts that came, if there are any.
    pub interrupts: Option<u64>,
    /// Time in interrupts that only queue, ns.
    pub interrupt_ns: Option<u64>,
    /// How often a competing reservation used up its budget.
    pub demotions: Option<u64>,
    /// Where the work ran according to the kernel's own count of interrupts: `interrupt`, `softirq`, `thread`; empty if
    /// unknown.
    pub proven: Vec<String>,
    /// Buffers that were not served in time; a dummy went out in their place.
    pub underruns: u64,
    /// How many of the underruns are blocks that were processed, but too late; the others were never processed. 0 in
    /// recordings too old to count them.
    #[serde(default)]
    pub late: u64,
    /// Underruns as forecasts count them, with those that share a wait as one.
    pub stalls: u64,
    /// How many of the underruns the lateness of the control explains, whatever the device does.
    pub underruns_outside: u64,
    /// How many of these the host's steal explains; `None` where it cannot be seen.
    pub underruns_stolen: Option<u64>,
    /// Activations that ended on another CPU than the bystander's.
    pub elsewhere: u64,
    /// The most samples pending after an activation.
    pub pending_max: u64,
    /// The share of a CPU that the work used, millionths.
    pub share_millionths: u64,
    /// Times between interrupts (arrivals, where the clock is the interrupt), ns.
    pub intervals: Distribution,
    /// From start to end of each activation, ns.
    pub elapsed: Distribution,
    /// Time that each activation executed, ns.
    pub executed: Distribution,
    /// Samples pending after each activation; not a time.
    pub pending: Distribution,
    /// From arrival to end, ns.
    pub response: Distribution,
    /// Time executed in each second of the run, ns.
    pub executed_by_second: Vec<u64>,
    /// What happened to the signal, if it decoded one; `None` if it filtered samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decoded: Option<DecodedSummary>,
    /// What happened to a user's own work, if that ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<OwnSummary>,
}

impl DeviceSummary {
    /// Whether all blocks that came were processed, except for a number that may be missing and as many as the buffers
    /// hold. A device that seldom gets its turn is seldom late: its blocks wait, or were lost to newer ones. What
    /// punctual or the kernel prevented from coming counts against nobody. The counts overlap, so those of lost blocks
    /// are not used for this.
    pub fn served_but_for(&self, missing: f64) -> bool {
        let excused = self.refused + self.rested + self.unobserved;
        let served = self.processed.saturating_add(excused) as f64;
        self.processed > 0 && served + missing + f64::from(self.buffers) >= self.arrived as f64
    }
}

/// What happened to a user's own work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnSummary {
    /// The name of its file.
    pub name: String,
    /// The time that one block took before the run, ns.
    pub block_ns: u64,
    /// The time that a block may take, ns.
    pub budget_ns: u64,
    /// Blocks that it was called for.
    pub done: u64,
    /// How many of these took longer than the budget.
    pub over: u64,
    /// How many of these failed according to the work itself.
    pub failed: u64,
    /// The longest time that one took, ns.
    pub longest_ns: u64,
    /// Its last output to the device.
    pub output: Vec<i64>,
    /// A digest of its output and its state, 16 hexadecimal digits: the same blocks give the same one on every machine.
    pub digest: String,
    /// Why its process ended before the run did, in words, and at which block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<OwnEnd>,
}

/// How the process of a user's own work ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnEnd {
    /// The number of the block that it was processing.
    pub block: u64,
    /// Why, in words.
    pub reason: String,
}

/// What happened to the signal that a device decoded, bit by bit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecodedSummary {
    /// What it was.
    pub signal: String,
    /// The unit that is decoded at a time: a symbol of a DSL, or a unit of a radio's samples.
    #[serde(default = "symbol")]
    pub unit: String,
    /// The unit in which bits come, each with a check: a superframe of a DSL, a packet of a radio.
    #[serde(default = "superframe")]
    pub frame: String,
    /// Taps of its echo canceller, as many as come closest to the requested compute time; a radio has none.
    pub taps: u32,
    /// Units in a block.
    pub symbols_a_block: u32,
    /// One unit in calibration, ns.
    pub symbol_ns: u64,
    /// Units that were processed.
    pub symbols: u64,
    /// Those during which it was connected; a radio has no connection to lose, and counts all.
    pub connected: u64,
    /// Units that came but were not processed, because their blocks were dropped, lost, refused or cut.
    pub skipped: u64,
    /// Bits that the processed units were known to bring.
    pub bits: u64,
    /// Bits that were received wrong.
    pub wrong: u64,
    /// Bits that were not received, including those of units that were not processed.
    pub missing: u64,
    /// Connections that were lost; each takes a start-up of about a second to come back.
    pub connections_lost: u64,
    /// Frames that ended, including those in units that were not processed; 0 in recordings too old to count them.
    #[serde(default)]
    pub frames: u64,
    /// Frames that were received with a correct check.
    #[serde(default)]
    pub frames_right: u64,
}

/// For old recordings, which knew only DSLs.
fn symbol() -> String {
    "symbol".to_owned()
}

fn superframe() -> String {
    "superframe".to_owned()
}

/// Writes `activations/` and `activations.json` into the directory of a recording.
pub struct ActivationWriter(SummarizedWriter);

impl ActivationWriter {
    /// Begins to write into a directory that [`crate::Writer::create`] has made.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Io`] if the file system refuses.
    pub fn create(recording: &Directory) -> Result<ActivationWriter> {
        SummarizedWriter::create(recording, &ACTIVATIONS).map(ActivationWriter)
    }

    /// Takes an activation.
    pub fn push(&mut self, row: &ActivationRow) {
        self.0.rows().push([
            Some(i64::from(row.device)),
            signed(row.block),
            signed(row.arrival_ns),
            row.interrupt_ns.and_then(signed),
            signed(row.start_ns),
            signed(row.end_ns),
            signed(row.executed_ns),
            Some(i64::from(row.pending)),
            Some(i64::from(row.queued)),
            Some(i64::from(row.cpu)),
            Some(i64::from(row.cut)),
            Some(if row.unobserved { UNOBSERVED } else { 0 } | if row.rested { RESTED } else { 0 }),
        ]);
    }

    /// Closes the open segment.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Io`]; what was written before stays readable.
    pub fn flush(&mut self) -> Result<()> {
        self.0.close_segment()
    }

    /// Writes what is left, joins the segments and writes the summary.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Io`]; what was written before stays readable.
    pub fn finish(self, document: &ActivationDocument) -> Result<()> {
        self.0.finish(document)
    }
}

/// The summary of a recording's devices; `None` for a recording without any.
///
/// # Errors
/// [`crate::ErrorKind::Invalid`], [`crate::ErrorKind::NewerSchema`] or [`crate::ErrorKind::Io`].
pub fn read_activation_document(recording: &Path) -> Result<Option<ActivationDocument>> {
    let path = recording.join("activations.json");
    read_document(&path, "is not a summary of devices", ACTIVATIONS_SCHEMA, |document: &ActivationDocument| {
        &document.schema
    })
}

/// Passes on every activation of a recording, each device's in order of time.
///
/// # Errors
/// [`crate::ErrorKind::Invalid`] or [`crate::ErrorKind::Io`] for the first segment that cannot be read.
pub fn for_each_activation(recording: &Path, mut take: impl FnMut(&ActivationRow)) -> Result<()> {
    for segment in segments::list(&recording.join("activations"))? {
        table::read_table(&segment.path, &ACTIVATIONS, |rows| {
            let (number, time) = (u64::from(u32::MAX), MAX_TIME_NS);
            rows.check(&segment.path, &[number, time, time, time, time, time, MAX_SPAN_NS, number])?;
            for row in 0..rows.len() {
                let unsigned = |column| rows.unsigned(column, row);
                let narrow = |column| rows.narrow(column, row);
                take(&ActivationRow {
                    device: narrow(0),
                    block: unsigned(1),
                    arrival_ns: unsigned(2),
                    interrupt_ns: rows.get_optional(3, row).and_then(|value| u64::try_from(value).ok()),
                    start_ns: unsigned(4),
                    end_ns: unsigned(5),
                    executed_ns: unsigned(6),
                    pending: narrow(7),
                    queued: narrow(8),
                    cpu: narrow(9),
                    cut: rows.get(10, row) != 0,
                    unobserved: rows.get(11, row) & UNOBSERVED != 0,
                    rested: rows.get(11, row) & RESTED != 0,
                });
            }
            Ok(())
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(read_activation_document(directory.path()).unwrap(), None);
        let mut writer = ActivationWriter::create(&Directory::make(directory.path()).unwrap()).unwrap();
        let mut summary = DeviceSummary { device: "modem".to_owned(), ..DeviceSummary::default() };
        let mut rows = Vec::new();
        for block in 0..100 {
            let row = ActivationRow {
                device: 0,
                block,
                arrival_ns: block * 8_000_000,
                interrupt_ns: (block % 2 == 0).then_some(block * 8_000_000 + 5),
                start_ns: block * 8_000_000 + 9,
                end_ns: block * 8_000_000 + 99,
                executed_ns: 80,
                pending: 3,
                queued: 1,
                cpu: 1,
                cut: block % 7 == 0,
                unobserved: block % 11 == 0,
                rested: block % 5 == 0,
            };
            summary.elapsed.record(90);
            writer.push(&row);
            rows.push(row);
            if block % 30 == 0 {
                writer.flush().unwrap();
            }
        }
        let document = ActivationDocument {
            schema: ACTIVATIONS_SCHEMA.to_owned(),
            devices: vec![summary],
            ..ActivationDocument::default()
        };
        writer.finish(&document).unwrap();
        assert_eq!(read_activation_document(directory.path()).unwrap(), Some(document));
        let mut read = Vec::new();
        for_each_activation(directory.path(), |row| read.push(*row)).unwrap();
        assert_eq!(read, rows);
    }
}
