//! The arguments of `punctual interact`.

use super::values::duration;
use clap::{Args, Subcommand, ValueEnum};
use punctual_recording::{BareUnit, LimitSpec, parse_duration};
use punctual_report::interact::KindLimit;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct InteractArguments {
    #[command(subcommand)]
    pub(crate) command: Option<InteractCommand>,
    /// How the program is used
    #[arg(long, value_enum, default_value = "pty")]
    pub(crate) via: PlaceName,
    /// With --via x11, in a window on your own display (DISPLAY): nothing else there gets keys or clicks
    #[arg(long)]
    pub(crate) display: bool,
    /// What is typed: a TOML file, or the name of one that comes with the program: bash, editor, less, micro,
    /// object, python3, slides, typing, vim, word [default: the one with the program's name, else typing]
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<String>,
    /// With --via x11 or wayland, make the press and the release of a key inputs of their own, of the kinds press and
    /// release, with the key held in between
    #[arg(long)]
    pub(crate) releases: bool,
    /// How fast: as a person types, as fast as the terminal takes it, or with the pauses in the script; two, such as
    /// human,full, are compared
    #[arg(long, value_enum, value_name = "PACE", default_value = "human", value_delimiter = ',')]
    pub(crate) pace: Vec<PaceName>,
    /// How many times to type at each of two paces, in turn [default: 1]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=99))]
    pub(crate) repeat: Option<u32>,
    /// The seed of the pauses: the same number gives the same pauses
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub(crate) seed: u64,
    /// Exit with 2 if a kind of input takes longer than this: key:p99=16ms,page:max=100ms; without a kind, for every kind
    #[arg(long, value_name = "LIMITS", value_parser = limits)]
    pub(crate) limit: Option<KindLimits>,
    /// How long a kind of input may take before it counts as waiting: key=50ms,save=1s [default: 100ms each]
    #[arg(long, value_name = "TIMES", value_parser = patience)]
    pub(crate) patience: Option<Patiences>,
    /// Watch somebody use a program in a terminal or an X11 window, by its process or name; no input is generated
    #[arg(long, value_name = "PID|COMM", conflicts_with_all = ["program", "script", "releases", "pace", "repeat", "seed", "via", "display", "no_bpf"])]
    pub(crate) attach: Option<String>,
    /// How long to watch with --attach [default: until the program ends, or Ctrl-C]
    #[arg(short = 'D', long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<u64>,
    /// Name the events that the program's toolkit (GTK, Qt, Xt, Wayland) passes on, by stopping the program at a
    /// function for each
    #[arg(long, conflicts_with = "no_bpf")]
    pub(crate) toolkit: bool,
    /// How many stacks to sample each second on each CPU, for the call trees of what worked for an input; 0 for none
    #[arg(long, value_name = "HZ", default_value = "1000", value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub(crate) sample_rate: u32,
    /// Do not look into the kernel: latency, CPU time and run delay, without causes
    #[arg(long)]
    pub(crate) no_bpf: bool,
    /// Render an HTML report, in one self-contained file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write a trace for Perfetto
    #[arg(long, value_name = "FILE")]
    pub(crate) perfetto: Option<PathBuf>,
    /// The recording to write [default: interact-DATE-TIME.punctual in the current directory]; with two paces, a directory for
    /// the recordings
    #[arg(short, long, value_name = "NAME.punctual")]
    pub(crate) output: Option<PathBuf>,
    /// Show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// The program and its arguments
    #[arg(last = true, required_unless_present = "attach", value_name = "PROGRAM")]
    pub(crate) program: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum InteractCommand {
    /// Make a script of what you type into a program, or do in its window
    ///
    /// It passes your terminal on to the program, or starts it on your X display, and keeps keys, clicks, scrolls and pauses.
    #[command(
        after_help = "Examples:\n  punctual interact learn -o edit.toml -- vim notes.txt\n  punctual interact learn --via x11 -o edit.toml -- mousepad\n  sudo punctual interact --script edit.toml --pace recorded -- vim notes.txt\n\nIt ends with the program; in a window, Ctrl-C in the terminal ends both. What is typed while a terminal's echo is off is not kept. Programs that show stars, and windows, cannot be told from an editor: type no password there."
    )]
    Learn(LearnArguments),
    /// Install what a script is for, after asking
    #[command(after_help = "Example:\n  punctual interact install word")]
    Install {
        /// A TOML file, or the name of one that comes with the program
        #[arg(value_name = "SCRIPT")]
        script: String,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct LearnArguments {
    /// Where you use the program
    #[arg(long, value_enum, default_value = "pty")]
    pub(crate) via: LearnPlace,
    /// With --via x11, a program that runs, by its process or name, instead of one to start
    #[arg(long, value_name = "PID|COMM", conflicts_with = "program")]
    pub(crate) attach: Option<String>,
    /// The script to write [default: learned-DATE-TIME.toml in the current directory]
    #[arg(short, long, value_name = "FILE.toml")]
    pub(crate) output: Option<PathBuf>,
    /// The program and its arguments
    #[arg(last = true, required_unless_present = "attach", value_name = "PROGRAM")]
    pub(crate) program: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LearnPlace {
    /// At your terminal
    Pty,
    /// In a window on your own display (DISPLAY)
    X11,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlaceName {
    /// At a pseudo-terminal of its own
    Pty,
    /// In a window on a display of its own (Xvfb)
    X11,
    /// In a window of a Wayland compositor of its own (sway)
    Wayland,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PaceName {
    /// A key every 150 ms, more or less, as the script says
    Human,
    /// Without any pause
    Full,
    /// The pauses in the script
    Recorded,
}

/// Limits by kind, as one value.
#[derive(Debug, Clone)]
pub(crate) struct KindLimits(pub(crate) Vec<KindLimit>);

/// Times by kind, as one value.
#[derive(Debug, Clone)]
pub(crate) struct Patiences(pub(crate) Vec<(String, u64)>);

fn limits(text: &str) -> Result<KindLimits, String> {
    let mut all = Vec::new();
    for one in text.split(',') {
        let (kind, limit) = one.split_once(':').unwrap_or(("all", one));
        let kind = kind.trim();
        if kind.is_empty() {
            return Err(format!("`{one}` names no kind of input: write key:p99=16ms, for instance"));
        }
        let limits = LimitSpec::parse_list(limit)?;
        all.extend(limits.into_iter().map(|limit| KindLimit { kind: kind.to_owned(), limit }));
    }
    Ok(KindLimits(all))
}

fn patience(text: &str) -> Result<Patiences, String> {
    let one = |word: &str| {
        let (kind, time) = word
            .split_once('=')
            .filter(|(kind, _)| !kind.trim().is_empty())
            .ok_or_else(|| format!("`{word}` is not a kind and a time: write key=50ms, for instance"))?;
        Ok((kind.trim().to_owned(), parse_duration(time, BareUnit::Refused)?))
    };
    text.split(',').map(one).collect::<Result<_, String>>().map(Patiences)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_and_patience_are_read_by_kind() {
        let read = limits("key:p99=16ms,max=1s").unwrap().0;
        assert_eq!(read.iter().map(|limit| limit.kind.as_str()).collect::<Vec<_>>(), ["key", "all"]);
        assert_eq!(
            patience("key=50ms,save=1s").unwrap().0,
            [("key".to_owned(), 50_000_000), ("save".to_owned(), 1_000_000_000)]
        );
        for wrong in ["", ":p99=1ms", "key:p99", "key:", "p99=1ms,"] {
            assert!(limits(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "key", "=5ms", "key=x"] {
            assert!(patience(wrong).is_err(), "{wrong}");
        }
    }
}
