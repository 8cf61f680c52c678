//! What the plugin wrote.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};

/// The plugin writes no more than this, 256 MiB; it counts the rest.
pub const MAX_RECORDS: u64 = 1 << 24;
const RECORD_BYTES: usize = 16;

/// What happened at an instruction. The numbers are those of `plugin.c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    /// The clock was read.
    ClockRead,
    /// Interrupts were turned off.
    InterruptsOff,
    /// They were turned on.
    InterruptsOn,
    /// The flags were set to their previous value, including that of interrupts: on or off.
    FlagsRestored,
    /// A block of instructions began that ends in none of the ways below.
    Block,
    /// One that ends with a call.
    BlockCalls,
    /// One that ends with a return from a call.
    BlockReturns,
    /// One that ends with a return from an interrupt, an exception or a system call.
    BlockLeaves,
    /// One that ends with a system call.
    BlockAsks,
    /// One at the end of which the processor waits for an interrupt.
    BlockHalts,
}

impl RecordKind {
    fn of(number: u8) -> Option<RecordKind> {
        Some(match number {
            1 => RecordKind::ClockRead,
            2 => RecordKind::InterruptsOff,
            3 => RecordKind::InterruptsOn,
            4 => RecordKind::FlagsRestored,
            16 => RecordKind::Block,
            17 => RecordKind::BlockCalls,
            18 => RecordKind::BlockReturns,
            19 => RecordKind::BlockLeaves,
            20 => RecordKind::BlockAsks,
            21 => RecordKind::BlockHalts,
            _ => return None,
        })
    }
}

const END: u8 = 255;

/// One thing that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// How many instructions ran before, since the guest was switched on.
    pub count: u64,
    /// The instruction's address; for a block that of its first.
    pub address: u64,
    /// What it was.
    pub kind: RecordKind,
}

/// Everything that was written, in the order in which it happened.
#[derive(Debug)]
pub struct Trace(File);

impl Trace {
    pub(crate) fn new(file: File) -> Trace {
        Trace(file)
    }

    /// Hands on each record, and returns how many more there were than were written; `None` if the end is missing,
    /// because the emulator was killed or the disk is full.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn each(&self, mut take: impl FnMut(Record)) -> io::Result<Option<u64>> {
        let mut file = &self.0;
        file.rewind()?;
        let mut reader = BufReader::with_capacity(1 << 20, file);
        let mut bytes = [0; RECORD_BYTES];
        loop {
            match reader.read_exact(&mut bytes) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
                Err(error) => return Err(error),
            }
            let [count, word] = [0, 8].map(|at| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default()));
            let [number, ..] = word.to_le_bytes();
            if number == END {
                return Ok(Some(count));
            }
            if let Some(kind) = RecordKind::of(number) {
                // An address's highest bits are all like the one below them.
                take(Record { count, address: (word.cast_signed() >> 8).cast_unsigned(), kind });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn trace(records: &[(u64, u64)]) -> Trace {
        let mut file = tempfile::tempfile().unwrap();
        for (count, word) in records {
            file.write_all(&[count.to_le_bytes(), word.to_le_bytes()].concat()).unwrap();
        }
        Trace::new(file)
    }

    #[test]
    fn records_are_read_and_addresses_of_the_kernel_are_whole() {
        let kernel = 0xffff_ffff_8100_0010_u64;
        let written = trace(&[(7, kernel << 8 | 17), (9, 0x55_5555_5000 << 8 | 1), (3, 99), (5, 255)]);
        let mut met = Vec::new();
        assert_eq!(written.each(|record| met.push(record)).unwrap(), Some(5));
        let expected = [(7, kernel, RecordKind::BlockCalls), (9, 0x55_5555_5000, RecordKind::ClockRead)];
        assert_eq!(met, expected.map(|(count, address, kind)| Record { count, address, kind }));
    }

    #[test]
    fn one_that_was_cut_says_so() {
        assert_eq!(trace(&[(7, 1)]).each(|_| ()).unwrap(), None);
        assert_eq!(trace(&[]).each(|_| ()).unwrap(), None);
    }
}
