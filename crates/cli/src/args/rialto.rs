//! The arguments of `punctual rialto`.

use super::values::{duration, slots};
use clap::{Args, Subcommand};
use punctual_reserve::Reservation;

/// A name that the kernel can know.
fn thread_name(text: &str) -> Result<String, String> {
    if (1..=15).contains(&text.len()) {
        return Ok(text.to_owned());
    }
    Err("the kernel keeps 15 bytes of a thread's name: give 1 to 15".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct RialtoArguments {
    #[command(subcommand)]
    pub(crate) command: RialtoCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RialtoCommand {
    /// Run a command with a reservation like Rialto/NT's: the same milliseconds of every period
    #[command(
        after_help = "Examples:\n  punctual rialto run 2/8 -- ./control-loop\n  punctual rialto run 2/13 --hard -D 10s -- ./control-loop\n  punctual rialto run 1/7 --hard --thread v90 -- punctual device run v90 --context thread:other\n  punctual lab run --kernel newest --before 'while :; do :; done &' -- rialto run 2/8 --hard -D 5s -- sh -c 'while :; do :; done'\n\nWhere another `rialto run` is under way, this one joins it: up to four reservations at once.\nThis needs a machine with one CPU, a kernel with sched_ext, and root: a guest of `punctual lab` has all three. A bare number is seconds for -D.\nIt ends with the command and exits with its code."
    )]
    Run(RialtoRunArguments),
    /// Ask for random time constraints and check whether each one granted is met
    ///
    /// A time constraint asks for an amount of CPU time between now and a deadline. Threads of this process ask for one after
    /// another, and do the work whether it was granted or not.
    #[command(
        after_help = "Examples:\n  punctual rialto constraints --count 1000\n  punctual rialto run 2/8 --hard -- punctual rialto constraints --count 1000\n\nThis needs what `rialto run` needs. The second example leaves its threads nothing but their constraints and 2 of every 8 ms.\nExit code 1: a constraint that was granted was not met."
    )]
    Constraints(RialtoConstraintsArguments),
}

#[derive(Debug, Args)]
pub(crate) struct RialtoConstraintsArguments {
    /// How many to ask for in all
    #[arg(long, value_name = "NUMBER", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) count: u32,
    /// How many threads ask for them, each for one at a time; four are served at a time
    #[arg(long, value_name = "NUMBER", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(crate) threads: u32,
    /// Chooses work, deadlines and pauses
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
pub(crate) struct RialtoRunArguments {
    /// Whole milliseconds of CPU time and period: 2ms/8ms, or 2/8 (a bare number is milliseconds); without --hard the period is a power of two
    #[arg(value_name = "X/Y", value_parser = slots)]
    pub(crate) reservation: Reservation,
    /// Never run outside its slots, not even when nobody else would run
    #[arg(long)]
    pub(crate) hard: bool,
    /// Reserve only for the command's threads whose name begins with this (up to 15 bytes, as `ps -L -o comm` shows them); its
    /// other threads are ordinary
    #[arg(long, value_name = "NAME", value_parser = thread_name)]
    pub(crate) thread: Option<String>,
    /// Ask the command to end after this time
    #[arg(short = 'D', long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<u64>,
    /// Say nothing at the end
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// The command; its threads share the reservation, and whatever it starts has none
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) program: Vec<String>,
}
