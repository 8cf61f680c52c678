//! The arguments of `punctual modem study`.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct ModemStudyArguments {
    /// Only the rows of this table, 1 to 3; may be repeated
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(1..=3))]
    pub(crate) table: Vec<u8>,
    /// Only the row with this name in each table: int, dpc, thr-8, thr-24, 3/16 or `RES 3ms/16ms`; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) row: Vec<String>,
    /// The size of the file, 1 to 1,000,000 bytes
    #[arg(long, value_name = "NUMBER", default_value_t = 200_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) bytes: u32,
    /// How many times each row sends it
    #[arg(long, value_name = "NUMBER", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) attempts: u32,
    /// Chooses the file, the line's noise and the phases of the machine
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// A directory that stores each finished attempt; the same command continues from there
    #[arg(short, long, value_name = "DIRECTORY")]
    pub(crate) output: Option<PathBuf>,
    /// Render the tables as an HTML report
    #[arg(long, value_name = "FILE.html")]
    pub(crate) html: Option<PathBuf>,
    /// Show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
