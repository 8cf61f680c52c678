//! When the state machine of 1996 has somebody wait: the table `interaction_waits/`.

use crate::error::Result;
use crate::format::bounded::{Bounded, BoundedWriter};
use crate::format::bounds::MAX_TIME_NS;
use crate::format::directory::Directory;
use crate::format::table::{Schema, required, signed};
use std::path::Path;

/// The most stretches of a recording.
pub const MAX_WAIT_STRETCHES: usize = 400_000;
/// The most stretches of one input; of an input with more, nothing is kept.
pub const MAX_STRETCHES_OF_INPUT: usize = 256;

static WAITS: Schema = Schema {
    name: "interaction_waits",
    columns: &[
        required("number").about("The input after which it is, before the next one"),
        required("begin_ns")
            .about("Since when the state machine of 1996 calls the time waiting, ns of CLOCK_MONOTONIC"),
        required("end_ns").about("Until when; the same: up to the next input it calls none waiting"),
    ],
};
static TABLE: Bounded = Bounded {
    schema: &WAITS,
    max_rows: MAX_WAIT_STRETCHES,
    what: "stretches",
    bounds: &[u32::MAX as u64, MAX_TIME_NS],
};

/// A stretch of time in which the state machine of 1996 has somebody wait, between an input and the next one. Of an input
/// without any, nothing is known; one after which nobody waits has one of no length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitStretch {
    /// The input: [`crate::Interaction::number`].
    pub number: u32,
    /// Its beginning, ns of `CLOCK_MONOTONIC`.
    pub begin_ns: u64,
    /// Its end.
    pub end_ns: u64,
}

/// Writes the table.
pub(crate) struct StretchWriter(BoundedWriter);

impl StretchWriter {
    pub(crate) fn new(recording: &Directory) -> StretchWriter {
        StretchWriter(BoundedWriter::new(recording, &TABLE))
    }

    /// Takes all stretches of an input, which begins then; none at all if they are too many.
    pub(crate) fn push(&mut self, number: u32, begin_ns: u64, stretches: &[(u64, u64)]) {
        let nobody = [(begin_ns, begin_ns)];
        let told = if stretches.is_empty() { &nobody[..] } else { stretches };
        if told.len() > MAX_STRETCHES_OF_INPUT {
            return;
        }
        let Some(rows) = self.0.rows_for(told.len()) else { return };
        for &(begin_ns, end_ns) in told {
            rows.push([Some(i64::from(number)), signed(begin_ns), signed(end_ns)]);
        }
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        self.0.flush()
    }

    pub(crate) fn finish(self) -> Result<()> {
        self.0.finish()
    }
}

/// Passes on every stretch of a recording, those of one input together; at most [`MAX_WAIT_STRETCHES`].
///
/// # Errors
/// [`ErrorKind::Invalid`] or [`ErrorKind::Io`] for the first segment that cannot be read.
///
/// [`ErrorKind::Invalid`]: crate::ErrorKind::Invalid
/// [`ErrorKind::Io`]: crate::ErrorKind::Io
pub fn for_each_wait_stretch(recording: &Path, mut take: impl FnMut(WaitStretch)) -> Result<()> {
    TABLE.for_each_row(recording, |rows, row| {
        let (begin_ns, end_ns) = (rows.unsigned(1, row), rows.unsigned(2, row));
        take(WaitStretch { number: rows.narrow(0, row), begin_ns, end_ns: end_ns.max(begin_ns) });
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_that_are_written_are_read_and_no_more_than_there_may_be() {
        let directory = tempfile::tempdir().unwrap();
        let read = || {
            let mut read = Vec::new();
            for_each_wait_stretch(directory.path(), |stretch| read.push(stretch)).map(|()| read)
        };
        assert_eq!(read().unwrap(), [], "an older recording has none");
        let mut writer = StretchWriter::new(&Directory::make(directory.path()).unwrap());
        writer.push(1, 50, &[(50, 60), (70, 75)]);
        writer.flush().unwrap();
        writer.push(2, 80, &[]);
        let too_many = vec![(0, 1); MAX_STRETCHES_OF_INPUT + 1];
        writer.push(3, 90, &too_many);
        writer.push(4, 95, &[(95, 99)]);
        let full = &too_many[..MAX_STRETCHES_OF_INPUT];
        let inputs = (MAX_WAIT_STRETCHES - 4) / MAX_STRETCHES_OF_INPUT + 1;
        for number in 0..inputs as u32 {
            // Rows that are all alike, or follow a rule, take fewer bytes than any measurement's.
            let at = |place: usize| (u64::from(number) << 16 | place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 34;
            let own: Vec<(u64, u64)> = (0..full.len()).map(|place| (at(place), at(place) + 1)).collect();
            writer.push(5 + number, 0, &own);
        }
        writer.finish().unwrap();
        let read = read().unwrap();
        let told: Vec<(u32, u64, u64)> =
            read.iter().take(4).map(|one| (one.number, one.begin_ns, one.end_ns)).collect();
        assert_eq!(told, [(1, 50, 60), (1, 70, 75), (2, 80, 80), (4, 95, 99)]);
        assert_eq!(read.len(), 4 + (inputs - 1) * MAX_STRETCHES_OF_INPUT);
    }
}
