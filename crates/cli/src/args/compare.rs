//! The arguments of `punctual compare`.

use super::threads::{PolicyName, ThreadArguments, ViaName};
use super::values::{Cpus, cpus, duration, priority};
use clap::{Args, Parser};
use punctual_load::Source;
use std::path::PathBuf;

/// Options that say how to measure: they mean nothing for recordings on disk.
const MEASURED: [&str; 9] =
    ["repeat", "duration", "policy", "via", "cpus", "interval", "priority", "no_bpf", "no_power_request"];

#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// The sides, each compared with the first: a recording, a directory of repeats, or several recordings joined by commas;
    /// NAME=SIDE names a side
    #[arg(num_args = 2.., value_names = ["A", "B"], required_unless_present = "repeat", conflicts_with_all = MEASURED)]
    pub(crate) sides: Vec<PathBuf>,
    /// Devices whose slack is compared, such as modem or `audio 64@48kHz x3`; may be repeated [default: those of check]
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Vec<String>,
    /// Render an HTML report, in one self-contained file
    #[arg(long, value_name = "FILE.html")]
    pub(crate) html: Option<PathBuf>,
    /// For CI: exit with 2 if B, or any later side, is worse than A, and with 1 if there is no verdict; without this option the
    /// exit code is 0 in both cases
    #[arg(long)]
    pub(crate) exit_code: bool,
    /// Measure all sides in turn, at most this many times, and compare: a verdict takes 3, and from 4 on measuring stops as
    /// soon as the verdict is clear
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=99))]
    pub(crate) repeat: Option<u32>,
    #[command(flatten)]
    pub(crate) measuring: MeasuringArguments,
}

/// What `--repeat` measures.
#[derive(Debug, Args)]
pub(crate) struct MeasuringArguments {
    /// What makes side A: a shell command, which runs to its end before each measurement of this side, or options of `punctual
    /// record` for its threads and its load, beginning with a dash, such as '-p 90' or '--load disk'; may be repeated
    #[arg(long, value_name = "COMMAND|OPTIONS", conflicts_with = "sides", allow_hyphen_values = true, value_parser = SideSetting::parse)]
    pub(crate) a: Vec<SideSetting>,
    /// The same for side B. What a command sets is not restored afterwards
    #[arg(long, value_name = "COMMAND|OPTIONS", conflicts_with = "sides", allow_hyphen_values = true, value_parser = SideSetting::parse)]
    pub(crate) b: Vec<SideSetting>,
    /// A shell command that runs during each measurement of side A and is stopped when it ends
    #[arg(long, value_name = "COMMAND", conflicts_with = "sides")]
    pub(crate) while_a: Vec<String>,
    /// The same for side B
    #[arg(long, value_name = "COMMAND", conflicts_with = "sides")]
    pub(crate) while_b: Vec<String>,
    #[command(flatten)]
    pub(crate) further: FurtherSides,
    /// Keep the machine busy on all sides: a name from `punctual load list` or a load file; separate several with commas
    #[arg(long, value_name = "LOAD", value_delimiter = ',', conflicts_with = "sides")]
    pub(crate) load: Vec<Source>,
    /// Keep the machine busy on all sides with this shell command, stopped when each measurement ends
    #[arg(long, value_name = "COMMAND", conflicts_with = "sides")]
    pub(crate) load_command: Vec<String>,
    /// Measure all repeats, even if the verdict is clear earlier
    #[arg(long, conflicts_with = "sides")]
    pub(crate) all_repeats: bool,
    /// Exit with 0 even if a command of the load failed
    #[arg(long, conflicts_with = "sides")]
    pub(crate) ignore_failure: bool,
    /// How long each measurement takes
    #[arg(short = 'D', long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) duration: u64,
    /// Scheduling policy of the measured threads
    #[arg(long, value_enum, default_value = "fifo")]
    pub(crate) policy: PolicyName,
    /// What wakes the threads: the timer interrupt itself, or a softirq callback queued by it
    #[arg(long, value_enum, default_value = "timer")]
    pub(crate) via: ViaName,
    /// The directory for the recordings [default: compare-DATE-TIME in the current directory]
    #[arg(short, long, value_name = "DIRECTORY", conflicts_with = "sides")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) threads: ThreadArguments,
}

/// What makes a side, and what runs during its measurements.
pub(crate) type Settings<'a> = (&'a [SideSetting], &'a [String]);

/// Sides beyond A and B.
#[derive(Debug, Args)]
pub(crate) struct FurtherSides {
    /// The same for a third side; --d, --e and --f make more sides, and --while-c to --while-f run during their measurements.
    /// Each side is compared with A
    #[arg(long, value_name = "COMMAND|OPTIONS", conflicts_with = "sides", allow_hyphen_values = true, value_parser = SideSetting::parse)]
    pub(crate) c: Vec<SideSetting>,
    #[arg(long, hide = true, value_name = "COMMAND|OPTIONS", conflicts_with = "sides", allow_hyphen_values = true, value_parser = SideSetting::parse)]
    pub(crate) d: Vec<SideSetting>,
    #[arg(long, hide = true, value_name = "COMMAND|OPTIONS", conflicts_with = "sides", allow_hyphen_values = true, value_parser = SideSetting::parse)]
    pub(crate) e: Vec<SideSetting>,
    #[arg(long, hide = true, value_name = "COMMAND|OPTIONS", conflicts_with = "sides", allow_hyphen_values = true, value_parser = SideSetting::parse)]
    pub(crate) f: Vec<SideSetting>,
    #[arg(long, hide = true, value_name = "COMMAND", conflicts_with = "sides")]
    pub(crate) while_c: Vec<String>,
    #[arg(long, hide = true, value_name = "COMMAND", conflicts_with = "sides")]
    pub(crate) while_d: Vec<String>,
    #[arg(long, hide = true, value_name = "COMMAND", conflicts_with = "sides")]
    pub(crate) while_e: Vec<String>,
    #[arg(long, hide = true, value_name = "COMMAND", conflicts_with = "sides")]
    pub(crate) while_f: Vec<String>,
}

impl MeasuringArguments {
    /// What makes each side and what runs during its measurements: A, B, and any later sides that options mention.
    ///
    /// # Errors
    /// The letter of a side that no option mentions, although one mentions a later side.
    pub(crate) fn settings(&self) -> Result<Vec<Settings<'_>>, char> {
        let FurtherSides { c, d, e, f, while_c, while_d, while_e, while_f } = &self.further;
        let mut all: Vec<Settings<'_>> = vec![
            (&self.a, &self.while_a),
            (&self.b, &self.while_b),
            (c, while_c),
            (d, while_d),
            (e, while_e),
            (f, while_f),
        ];
        let is_said = |(settings, meanwhile): &Settings<'_>| !settings.is_empty() || !meanwhile.is_empty();
        let last = all.iter().rposition(is_said).map_or(2, |last| (last + 1).max(2));
        all.truncate(last);
        // Of two sides, either may be the machine as it is. With a third side, nobody expects a second that nobody
        // asked for.
        let first = if last > 2 { 1 } else { 2 };
        match ('a'..).zip(&all).skip(first).find(|(_, side)| !is_said(side)) {
            Some((letter, _)) => Err(letter),
            None => Ok(all),
        }
    }
}

/// What sets one side apart from the others.
#[derive(Debug, Clone)]
pub(crate) enum SideSetting {
    /// A shell command that runs before the measurements.
    Command(String),
    /// Options as the user wrote them, and their meaning.
    Options(String, Box<SideOptions>),
}

/// Options of `punctual record` that may differ between the sides. Interval and chain may not: they change what is
/// compared.
#[derive(Debug, Clone, Parser)]
#[command(no_binary_name = true, disable_help_flag = true, disable_version_flag = true)]
pub(crate) struct SideOptions {
    #[arg(short, long, value_delimiter = ',', value_parser = priority)]
    pub(crate) priority: Vec<u32>,
    #[arg(long, value_enum)]
    pub(crate) policy: Option<PolicyName>,
    #[arg(short = 'a', long, value_parser = cpus)]
    pub(crate) cpus: Option<Cpus>,
    #[arg(long)]
    pub(crate) no_bpf: bool,
    #[arg(long)]
    pub(crate) no_power_request: bool,
    #[arg(long, value_delimiter = ',')]
    pub(crate) load: Vec<Source>,
}

/// Whether a command is `punctual interact`, possibly with a path or after `sudo`.
fn uses_a_program(command: &str) -> bool {
    let words: Vec<&str> = command.split_whitespace().collect();
    let is_punctual = |word: &str| word.rsplit('/').next() == Some("punctual");
    words.first() == Some(&"interact") || words.windows(2).any(|two| is_punctual(two[0]) && two[1] == "interact")
}

impl SideSetting {
    fn parse(text: &str) -> Result<SideSetting, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err("a side is made by a command, or by options such as '-p 90'".to_owned());
        }
        if !text.starts_with('-') {
            if uses_a_program(text) {
                return Err("--repeat measures punctual's own threads, and a command only sets up a side before that; record inputs to a \
                            program by hand, in turn, and compare the recordings: punctual compare before after"
                    .to_owned());
            }
            return Ok(SideSetting::Command(text.to_owned()));
        }
        let options = SideOptions::try_parse_from(text.split_whitespace()).map_err(|error| {
            let said = crate::output::one_line(&error.to_string());
            format!("{said}; sides may differ in -p, --policy, -a, --no-bpf, --no-power-request and --load")
        })?;
        Ok(SideSetting::Options(text.to_owned(), Box::new(options)))
    }

    /// The setting as the user wrote it.
    pub(crate) fn words(&self) -> &str {
        match self {
            SideSetting::Command(words) | SideSetting::Options(words, _) => words,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_a_command_or_options() {
        assert!(
            matches!(SideSetting::parse("sysctl -w a=1"), Ok(SideSetting::Command(command)) if command == "sysctl -w a=1")
        );
        let Ok(SideSetting::Options(words, options)) = SideSetting::parse(" -p 90,50 --policy rr ") else {
            panic!("no options");
        };
        assert_eq!(
            (words.as_str(), &options.priority[..], options.policy),
            ("-p 90,50 --policy rr", &[90, 50][..], Some(PolicyName::Rr))
        );
        for wrong in [
            "",
            "interact -- vim",
            "sudo /usr/bin/punctual interact -- vim",
            "-i 2ms",
            "--via softirq",
            "-p 100",
            "-p 90 stray",
            "--load lots",
            "-h",
            "--polcy rr",
        ] {
            let said = SideSetting::parse(wrong).unwrap_err();
            assert!(!said.contains('\n') && !said.is_empty(), "{wrong}: {said}");
        }
    }
}
