//! The arguments of `punctual lab`.

use super::values::duration;
use clap::{Args, Subcommand};
use punctual_sim::sweep::Shard;
use punctual_study::lab::{Driver, System};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct LabArguments {
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// List the named kernels, or fetch them from the distribution's packages
    #[command(
        after_help = "Examples:\n  punctual lab kernels\n  punctual lab kernels 6.12 6.12-rt --fetch\n  punctual lab kernels ./linux-image.deb ./linux"
    )]
    Kernels(KernelsArguments),
    /// Run one of punctual's commands on each kernel, and compare
    ///
    /// It needs no privilege.
    #[command(
        after_help = "Examples:\n  punctual lab run --kernel 6.12 --kernel 6.12-rt -- record -D 10s --load network\n  punctual lab run --kernel 6.12,preempt=none --kernel 6.12,preempt=full --seeds 1..5 -- record -D 10s\n  punctual lab run --kernel 6.1 --kernel 6.12 --with preempt=none --with preempt=full --load network --load disk -- record -D 10s\n  punctual lab run --kernel 6.12 --kernel newest-rt --module shipped -- record -D 10s --load network\n  punctual lab run --kernel ./vmlinuz --before 'insmod /driver.ko' --add driver.ko:/driver.ko -- record --why 1ms -D 10s\n\nGuests that have already run in the directory of -o are not run again. A bare number is seconds for --timeout."
    )]
    Run(Box<LabRunArguments>),
    /// Run a guest again and look at a late wakeup from outside, block by block
    ///
    /// The command is a `record --why`. The guest runs the same instructions each time, so watching it from outside changes
    /// nothing. That shows that interrupts are off, and who turned them off, where nothing inside a guest can look. It needs no
    /// privilege.
    #[command(
        after_help = "Examples:\n  punctual lab why --kernel 6.12 -- record -D 1s --why 100us --load network\n  punctual lab why --kernel 6.12 --seed 3 --episode 2 -o lab -- record -D 1s --why 100us --load network\n\nWhat `lab run` left in the directory of -o is not recorded again. A bare number is seconds for --timeout."
    )]
    Why(Box<LabWhyArguments>),
}

#[derive(Debug, Args)]
pub(crate) struct KernelsArguments {
    /// Only these, by name or by the path of your own (with a `/`)
    #[arg(value_name = "KERNEL")]
    pub(crate) kernels: Vec<String>,
    /// Fetch those that are not here
    #[arg(long)]
    pub(crate) fetch: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LabRunArguments {
    /// A kernel, with any parameters after commas: a name from `punctual lab kernels`, or the path (with a `/`) of a
    /// vmlinuz, a vmlinux, a .deb package or a kernel's build tree; may be repeated, and the others are compared with the first
    #[arg(long, required = true, value_name = "KERNEL[,PARAMETER]", value_parser = System::parse)]
    pub(crate) kernel: Vec<System>,
    /// Kernel parameters for each kernel, with commas; may be repeated for a grid, `""` stands for none
    #[arg(long, value_name = "PARAMETERS", value_parser = System::parse_setting)]
    pub(crate) with: Vec<Setting>,
    /// A load for `record`; may be repeated for a grid
    #[arg(long, value_name = "LOAD", value_parser = load_name)]
    pub(crate) load: Vec<String>,
    /// Seeds for the randomness of each kernel's guests: 1..5 or 1,4,9; the same seed gives the same bytes
    #[arg(long, value_name = "SEEDS", default_value = "1..3", value_parser = seeds)]
    pub(crate) seeds: Seeds,
    /// Run only part of the guests: 1/4 is the first of four
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub(crate) shard: Option<Shard>,
    /// Guests to run at a time [default: one per CPU]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) jobs: Option<u32>,
    /// Render an HTML report with the kernels side by side, in one self-contained file
    #[arg(long, value_name = "FILE.html")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) guest: GuestArguments,
}

/// What guests are made of, and what they run.
#[derive(Debug, Args)]
pub(crate) struct GuestArguments {
    /// The directory for what the guests leave [default: lab-DATE-TIME in the current directory]
    #[arg(short, long, value_name = "DIRECTORY")]
    pub(crate) output: Option<PathBuf>,
    /// Build a kernel module for each kernel and load it first: a directory with its sources, or `shipped` for a measuring
    /// driver; put module parameters after commas. `record` records the module's time stamps
    #[arg(long, value_name = "DIR[,PARAMETER]", value_parser = Driver::parse)]
    pub(crate) module: Option<Driver>,
    /// A shell command to run first in each guest
    #[arg(long, value_name = "COMMAND")]
    pub(crate) before: Option<String>,
    /// A file to put into each guest, with its libraries if it is a program; may be repeated
    #[arg(long, value_name = "HOST:GUEST", value_parser = added)]
    pub(crate) add: Vec<(PathBuf, String)>,
    /// How much processor time each guest may take [default: 5m plus ten times the recorded time]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<u64>,
    /// Memory of each guest, MiB
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(256..=65_536))]
    pub(crate) memory: u32,
    /// CPUs of each guest: there is only 1, since the guest's clock counts instructions
    #[arg(long, value_name = "NUMBER", hide = true, default_value_t = 1)]
    pub(crate) cpus: u32,
    /// Show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// One of punctual's commands. `record` stores its recording; of other commands, whatever they write to /out is kept
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LabWhyArguments {
    /// The kernel, as for `lab run`
    #[arg(long, value_name = "KERNEL[,PARAMETER]", value_parser = System::parse)]
    pub(crate) kernel: System,
    /// The seed for the guest's randomness
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=5_000))]
    pub(crate) seed: u32,
    /// Which late wakeup of `punctual why` [default: the longest]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) episode: Option<u64>,
    /// Render the answer as an HTML report
    #[arg(long, value_name = "FILE.html")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) guest: GuestArguments,
}

/// Parameters, as one value.
pub(crate) type Setting = Vec<String>;

/// Seeds, as one value.
#[derive(Debug, Clone)]
pub(crate) struct Seeds(pub(crate) Vec<u32>);

const MAX_SEEDS: usize = 1_000;

fn seeds(text: &str) -> Result<Seeds, String> {
    let wrong =
        || format!("`{text}` is not a list of seeds: write 1..5 or 1,4,9, at most {MAX_SEEDS} numbers from 1 up");
    let number = |word: &str| word.trim().parse::<u32>().ok().filter(|seed| (1..=5_000).contains(seed));
    let mut seeds = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once("..").unwrap_or((part, part));
        let (first, last) = number(first).zip(number(last)).ok_or_else(wrong)?;
        seeds.extend(first..=last);
        if first > last || seeds.len() > MAX_SEEDS {
            return Err(wrong());
        }
    }
    seeds.sort_unstable();
    seeds.dedup();
    Ok(Seeds(seeds))
}

fn load_name(text: &str) -> Result<String, String> {
    let is_name = !text.is_empty() && !text.starts_with('-') && !text.chars().any(char::is_control);
    if is_name {
        Ok(text.to_owned())
    } else {
        Err("a load is a name from `punctual load list`, or a load file".to_owned())
    }
}

fn shard(text: &str) -> Result<Shard, String> {
    Shard::parse(text).map_err(|error| error.to_string())
}

fn added(text: &str) -> Result<(PathBuf, String), String> {
    let pair = text.rsplit_once(':').filter(|(host, guest)| !host.is_empty() && guest.len() > 1);
    let (host, guest) = pair.ok_or_else(|| format!("`{text}` names no place in the guest: write HOST:GUEST"))?;
    if guest.split('/').any(|part| part == "..") {
        return Err(format!("`{text}`: the place in the guest must not contain `..`"));
    }
    Ok((host.into(), guest.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_ranges_and_lists() {
        let read = |text: &str| seeds(text).map(|seeds| seeds.0);
        assert_eq!(read("1..3").unwrap(), [1, 2, 3]);
        assert_eq!(read("7").unwrap(), [7]);
        assert_eq!(read("9,1,4..5,4").unwrap(), [1, 4, 5, 9]);
        for wrong in ["", "0", "3..1", "1..", "a", "1..2000", "1,,2", "-1", "6000", "1..4294967295"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_added_has_two_places() {
        assert_eq!(added("a:b:/c").unwrap(), ("a:b".into(), "/c".to_owned()));
        for wrong in ["a", ":/c", "a:", "a:/", "a:/../c"] {
            assert!(added(wrong).is_err(), "{wrong}");
        }
    }
}
