//! A block of a user's own work: the Rust side of `punctual_work.h`.

/// How many values the work gives to its device.
pub const OUTPUTS: usize = 8;
const STATES: usize = 512;

/// `struct punctual_block` of `punctual_work.h`.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct Block {
    pub(crate) number: u64,
    pub(crate) samples: u64,
    pub(crate) output: [i64; OUTPUTS],
    pub(crate) state: [i64; STATES],
}

/// What a working process shares with the one that hands it its blocks.
#[repr(C)]
pub(super) struct SharedBlock {
    pub(super) block: Block,
    /// What the work returned.
    pub(super) result: i64,
}

/// What happened to a user's own work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OwnCounts {
    /// Blocks for which it was called.
    pub done: u64,
    /// How many of these took longer than their budget.
    pub over: u64,
    /// How many of these it said were not done.
    pub failed: u64,
    /// The longest that one took, ns.
    pub longest_ns: u64,
    /// Blocks that were not worked on, to leave others their part of the CPU, if the programs do not take care of that.
    pub refused: u64,
    /// Why its process ended before the run did.
    pub ended: Option<Ended>,
    /// The number of the block that it was working on then.
    pub ended_block: u64,
    /// What it last gave to the device.
    pub output: [i64; OUTPUTS],
    /// A digest of its output and its state, FNV-1a over their numbers: the same blocks give the same one on every machine.
    pub digest: u64,
}

/// Why a process of a user's own work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was killed after so much CPU time in one block, ns.
    TooLong(u64),
    /// A signal ended it, such as that of a fault; `SIGSTOP` if it was stopped, and killed for that.
    Signal(i32),
    /// It ended by itself, or in a way that is not known.
    Exit,
    /// It wrote to the line to its device, or read from it.
    Meddled,
}

impl Block {
    pub(crate) fn new(samples: u64) -> Block {
        Block { number: 0, samples, output: [0; OUTPUTS], state: [0; STATES] }
    }

    pub(crate) fn digest(&self) -> u64 {
        let numbers = self.output.iter().chain(&self.state);
        numbers.fold(0xcbf2_9ce4_8422_2325, |digest, number| {
            (digest ^ number.cast_unsigned()).wrapping_mul(0x100_0000_01b3)
        })
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Ended::TooLong(ns) => {
                write!(formatter, "it was killed after {} in one block", punctual_recording::format_ns(ns))
            }
            Ended::Signal(libc::SIGSEGV | libc::SIGBUS) => {
                write!(formatter, "it reached outside its memory, and the kernel killed it")
            }
            Ended::Signal(libc::SIGFPE) => write!(formatter, "it divided by zero, and the kernel killed it"),
            Ended::Signal(libc::SIGILL) => {
                write!(
                    formatter,
                    "it divided by zero, had an index outside its array or reached an invalid instruction, and was killed"
                )
            }
            Ended::Signal(libc::SIGKILL) => {
                write!(formatter, "signal 9 killed it, as the kernel does at a system call that work may not make")
            }
            Ended::Signal(libc::SIGSTOP) => write!(formatter, "it was kept stopped for a second, and was killed"),
            Ended::Signal(number) => write!(formatter, "signal {number} killed it"),
            Ended::Meddled => write!(formatter, "it read or wrote the channel that hands it its blocks"),
            Ended::Exit => write!(formatter, "it ended by itself"),
        }
    }
}
