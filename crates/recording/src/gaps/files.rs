//! Times in which a loop that wanted its CPU did not have it: a table `gaps/` and a summary `gaps.json`
//! beside `recording.json`.

use crate::Distribution;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bounds::{MAX_SPAN_NS, MAX_TIME_NS};
use crate::format::directory::Directory;
use crate::format::json_file::read_document;
use crate::format::segments;
use crate::format::summarized::SummarizedWriter;
use crate::format::table::{self, Schema, in_words, required, signed};
use punctual_codes::CauseKind;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The name and version of `gaps.json`.
pub const GAPS_SCHEMA: &str = "punctual.gaps/1";

static GAPS: Schema = Schema {
    name: "gaps",
    columns: &[
        required("start_ns").about("When the loop ran last, ns of CLOCK_MONOTONIC"),
        required("length_ns").about("How long it then did not run, ns"),
        required("cpu").about("Whose loop"),
        required("kind").about("What took most of it, as a number; kind_name says it"),
        required("name").about("Its name: a position in names of gaps.json"),
        in_words("kind_name").about("What took most of it: irq, softirq, thread, outside, unknown or not_followed"),
    ],
};

/// A gap and what took most of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// When the loop ran last, ns of `CLOCK_MONOTONIC`.
    pub start_ns: u64,
    /// How long it then did not run, ns.
    pub length_ns: u64,
    /// The CPU of the loop.
    pub cpu: u32,
    /// What took most of it.
    pub kind: CauseKind,
    /// Its name: a position in [`GapDocument::names`].
    pub name: u32,
    /// How much of the gap that took, ns; not in the table, so that an hour takes less than 20 MB.
    pub cause_ns: Option<u64>,
}

/// A summary of all gaps. Integers only; times are ns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GapDocument {
    /// [`GAPS_SCHEMA`].
    pub schema: String,
    /// Only gaps longer than this were kept, ns.
    pub threshold_ns: u64,
    /// `tsc` or `clock_gettime`.
    pub clock: String,
    /// Ticks of that clock in a second.
    pub ticks_per_second: u64,
    /// Whether gaps were attributed to what caused them.
    pub followed: bool,
    /// Entries from the kernel that were overwritten before they could be read.
    pub entries_lost: u64,
    /// Names that gaps and causes refer to by position.
    pub names: Vec<String>,
    /// Each measured CPU.
    pub cpus: Vec<CpuGaps>,
    /// What took the time, with the largest first.
    pub causes: Vec<CauseSum>,
    /// The smallest gap that held one interrupt of a class and nothing else.
    pub interrupt_costs: Vec<InterruptCost>,
    /// What recurs at a steady rate.
    pub periods: Vec<Periodicity>,
    /// The lengths of all gaps.
    pub lengths: Distribution,
    /// The longest gaps, longest first.
    pub longest: Vec<Gap>,
    /// The width of a bin of each CPU's profile, ns.
    pub bin_ns: u64,
}

/// One CPU. The figures are those that `rtla osnoise` prints.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuGaps {
    /// Its number.
    pub cpu: u32,
    /// How long the loop measured, its gaps included, ns.
    pub runtime_ns: u64,
    /// The sum of its gaps, ns.
    pub noise_ns: u64,
    /// How many gaps.
    pub gaps: u64,
    /// Gaps that could not be passed on in time.
    pub gaps_lost: u64,
    /// The largest sum of gaps within a second, ns.
    pub max_noise_ns: u64,
    /// The longest gap, ns.
    pub max_single_ns: u64,
    /// Gaps with nothing traced inside.
    pub outside: u64,
    /// Interrupts inside gaps.
    pub irq: u64,
    /// Softirqs inside gaps.
    pub softirq: u64,
    /// Runs of other threads inside gaps.
    pub thread: u64,
    /// Readings of the clock.
    pub iterations: u64,
    /// Steal that the kernel counted for this CPU meanwhile, ns, in steps of 10 ms.
    pub steal_ns: Option<u64>,
    /// The sum of gaps with nothing traced inside, ns.
    pub outside_ns: u64,
    /// How much of that, at most, the host's steal counter confirms, ns; `None` if it cannot be read in the kernel.
    pub outside_stolen_ns: Option<u64>,
    /// How much of each bin of the run the gaps took, ns.
    pub profile: Vec<u64>,
    /// The fixed count of the loop, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibrated: Option<CalibratedCount>,
}

/// A loop that counts to a number, which takes a known time on an idle processor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CalibratedCount {
    /// The number.
    pub count: u64,
    /// How long it took when it was calibrated and nothing disturbed it, ns.
    pub calibrated_ns: u64,
    /// The durations around which its runs cluster, the most common first.
    pub modes: Vec<CountMode>,
}

/// A duration around which the runs of a fixed count cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountMode {
    /// The duration, ns.
    pub duration_ns: u64,
    /// Thousandths of all runs that took this long, to 6 %.
    pub share_thousandths: u64,
}

/// One cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CauseSum {
    /// Its kind.
    pub kind: CauseKind,
    /// Its name: a position in [`GapDocument::names`].
    pub name: u32,
    /// How often it took a part of a gap.
    pub count: u64,
    /// How much in all, ns.
    pub total_ns: u64,
    /// The most in one gap, ns.
    pub max_ns: u64,
}

/// What one interrupt costs at least.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterruptCost {
    /// Its class: a position in [`GapDocument::names`].
    pub name: u32,
    /// The smallest gap with one of them and nothing else, ticks of the clock.
    pub smallest_ticks: u64,
    /// How many gaps held just one of them.
    pub count: u64,
}

/// Something that recurs at a steady rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Periodicity {
    /// The CPU.
    pub cpu: u32,
    /// Its kind.
    pub kind: CauseKind,
    /// Its name: a position in [`GapDocument::names`].
    pub name: u32,
    /// Its period, ns.
    pub period_ns: u64,
    /// Thousandths of its intervals that are this period or a small multiple of it, to a tenth.
    pub share_thousandths: u64,
    /// How many intervals were examined.
    pub count: u64,
}

/// Writes `gaps/` and `gaps.json` into the directory of a recording.
pub struct GapWriter(SummarizedWriter);

impl GapWriter {
    /// Begins to write into a directory that [`crate::Writer::create`] has made.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] where the file system refuses.
    pub fn create(recording: &Directory) -> Result<GapWriter> {
        SummarizedWriter::create(recording, &GAPS).map(GapWriter)
    }

    /// Takes a gap.
    pub fn push(&mut self, gap: &Gap) {
        let kind = self.0.rows().text(gap.kind.name());
        self.0.rows().push([
            signed(gap.start_ns),
            signed(gap.length_ns),
            Some(i64::from(gap.cpu)),
            Some(i64::from(gap.kind.code())),
            Some(i64::from(gap.name)),
            Some(kind),
        ]);
    }

    /// Closes the open segment and rewrites `gaps.json`, by rename.
    ///
    /// # Errors
    /// [`ErrorKind::Io`]; what was written before stays readable.
    pub fn flush(&mut self, document: &GapDocument) -> Result<()> {
        self.0.close_segment()?;
        self.0.summarize(document)
    }

    /// Writes what is left and joins the segments.
    ///
    /// # Errors
    /// [`ErrorKind::Io`]; what was written before stays readable.
    pub fn finish(self, document: &GapDocument) -> Result<()> {
        self.0.finish(document)
    }
}

/// The summary of a recording's gaps; `None` for a recording of wakeups.
///
/// # Errors
/// [`ErrorKind::Invalid`], [`ErrorKind::NewerSchema`] or [`ErrorKind::Io`].
pub fn read_gap_document(recording: &Path) -> Result<Option<GapDocument>> {
    let path = recording.join("gaps.json");
    let Some(document): Option<GapDocument> =
        read_document(&path, "is not a summary of gaps", GAPS_SCHEMA, |document: &GapDocument| &document.schema)?
    else {
        return Ok(None);
    };
    let names = document.names.len();
    if document.causes.iter().any(|cause| cause.name as usize >= names)
        || document.longest.iter().any(|gap| gap.name as usize >= names)
        || document.periods.iter().any(|period| period.name as usize >= names)
        || document.interrupt_costs.iter().any(|cost| cost.name as usize >= names)
    {
        return Err(Error::new(ErrorKind::Invalid, &path, "refers to a name that it does not hold"));
    }
    if !can_be_added_up(&document) {
        return Err(Error::new(ErrorKind::Invalid, &path, "holds bins of more time than any clock reaches"));
    }
    Ok(Some(document))
}

/// Whether readers can join the bins of each CPU, and multiply what they come to.
fn can_be_added_up(document: &GapDocument) -> bool {
    document.cpus.iter().all(|cpu| {
        let taken = cpu.profile.iter().try_fold(0_u64, |sum, bin| sum.checked_add(*bin));
        let whole = document.bin_ns.checked_mul(cpu.profile.len() as u64);
        taken.is_some_and(|taken| taken <= MAX_SPAN_NS) && whole.is_some_and(|whole| whole <= MAX_TIME_NS)
    })
}

/// Passes on every gap of a recording, each CPU's in order of time.
///
/// # Errors
/// [`ErrorKind::Invalid`] or [`ErrorKind::Io`] for the first segment that cannot be read.
pub fn for_each_gap(recording: &Path, mut take: impl FnMut(&Gap)) -> Result<()> {
    for segment in segments::list(&recording.join("gaps"))? {
        table::read_table(&segment.path, &GAPS, |rows| {
            rows.check(&segment.path, &[MAX_TIME_NS, MAX_SPAN_NS, u32::MAX.into()])?;
            for row in 0..rows.len() {
                let unsigned = |column| rows.unsigned(column, row);
                let narrow = |column| rows.narrow(column, row);
                let code = rows.get(3, row);
                let kind = CauseKind::from_code(code);
                let kind = kind.ok_or_else(|| {
                    Error::new(ErrorKind::Invalid, &segment.path, format!("knows no kind of cause {code}"))
                })?;
                take(&Gap {
                    start_ns: unsigned(0),
                    length_ns: unsigned(1),
                    cpu: narrow(2),
                    kind,
                    name: narrow(4),
                    cause_ns: None,
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
        assert_eq!(read_gap_document(directory.path()).unwrap(), None);
        let mut writer = GapWriter::create(&Directory::make(directory.path()).unwrap()).unwrap();
        let mut document =
            GapDocument { schema: GAPS_SCHEMA.to_owned(), names: vec!["a".to_owned()], ..GapDocument::default() };
        let mut gaps = Vec::new();
        for number in 0..200 {
            let kind = CauseKind::ALL[number as usize % 6];
            let gap = Gap { start_ns: number * 4_000_000, length_ns: 7_000, cpu: 1, kind, name: 0, cause_ns: None };
            document.lengths.record(gap.length_ns);
            writer.push(&gap);
            gaps.push(gap);
            if number % 3 == 0 {
                writer.flush(&document).unwrap();
            }
        }
        writer.finish(&document).unwrap();
        assert_eq!(read_gap_document(directory.path()).unwrap(), Some(document.clone()));
        let mut read = Vec::new();
        for_each_gap(directory.path(), |gap| read.push(*gap)).unwrap();
        assert_eq!(read, gaps);

        for (profile, bin_ns) in [(vec![u64::MAX], 1), (vec![1 << 58, 1], 1), (vec![0, 0], u64::MAX)] {
            document.bin_ns = bin_ns;
            document.cpus = vec![CpuGaps { profile, ..CpuGaps::default() }];
            std::fs::write(directory.path().join("gaps.json"), serde_json::to_vec(&document).unwrap()).unwrap();
            assert!(read_gap_document(directory.path()).unwrap_err().to_string().contains("bins of more time"));
        }
        std::fs::write(directory.path().join("gaps.json"), "{}").unwrap();
        assert_eq!(read_gap_document(directory.path()).unwrap_err().kind(), ErrorKind::Invalid);
    }
}
