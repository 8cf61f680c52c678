//! What a load needs to know about a machine.

use std::path::PathBuf;

/// The machine to keep busy.
#[derive(Debug, Clone)]
pub struct Machine {
    /// How many CPUs it has.
    pub cpus: u32,
    /// Its memory, bytes.
    pub memory_bytes: u64,
    /// `stress-ng`, if it is installed.
    pub stress_ng: Option<PathBuf>,
    /// This program, for the built-in load.
    pub own_program: PathBuf,
    /// The first of a block of 16 network ports for the load.
    pub first_port: u16,
    /// Finds other programs.
    pub find_program: fn(&str) -> Option<PathBuf>,
    /// Whether the user has a display on which programs may show something.
    pub has_display: bool,
}
