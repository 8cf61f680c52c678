//! What is run in the guests: one of punctual's commands, as a shell command.

use crate::args::{Arguments, Command};
use crate::output::{Usage, one_line};
use clap::Parser;
use punctual_report::shell_word;
use punctual_study::lab::RECORDING;
use std::time::Duration;

/// A command for the guests.
pub(super) struct Scenario {
    /// For a shell.
    pub(super) script: String,
    /// How much of a processor a guest with it may take, if nobody says.
    pub(super) limit: Duration,
}

/// What a guest may take that records nothing; a boot takes a thirtieth of it.
const LIMIT: Duration = Duration::from_secs(300);
/// What a second of recording may take. Loads get the whole virtual CPU, which takes about as long as it lasts.
const LIMIT_A_SECOND: u32 = 10;
/// Of `record` without -D.
const DEFAULT_RECORDING: Duration = Duration::from_secs(60);

/// Reads the words as the program in the guests will.
pub(super) fn scenario(words: &[String], before: Option<&str>) -> Result<Scenario, Usage> {
    let all = std::iter::once("punctual").chain(words.iter().map(String::as_str));
    let parsed = Arguments::try_parse_from(all).map_err(|error| {
        let said = if error.use_stderr() { one_line(&error.to_string()) } else { "it only prints help".to_owned() };
        Usage(format!("what is to run in the guests: {said}"))
    })?;
    let mut words: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
    let mut limit = LIMIT;
    match parsed.command {
        Command::Record(record) => {
            if record.output.is_some() {
                return Err(Usage(
                    "the lab chooses where recordings go in the guests: leave out `record -o`".to_owned(),
                ));
            }
            let place = words.iter().position(|word| word == "record").map_or(0, |position| position + 1);
            words.splice(place..place, ["-q".to_owned(), "-o".to_owned(), format!("/out/{RECORDING}")]);
            limit += record.duration.map_or(DEFAULT_RECORDING, Duration::from_nanos) * LIMIT_A_SECOND;
        }
        Command::Lab(_) => {
            return Err(Usage("there is no lab in a lab: give one of punctual's other commands".to_owned()));
        }
        _ => {}
    }
    let before = before.map_or_else(String::new, |command| {
        format!("( {command}\n) || {{ code=$?; echo \"error: --before ended with $code\"; exit $code; }}\n")
    });
    Ok(Scenario { script: format!("{before}punctual {}", words.join(" ")), limit })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Scenario, Usage> {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        scenario(&words, None)
    }

    #[test]
    fn the_recordings_place_stands_before_a_command_of_its_own() {
        let found = read("--json record -D 10s -- sh -c a;b").unwrap();
        let expected = "punctual --json record -q -o /out/recording.punctual -D 10s -- sh -c 'a;b'";
        assert_eq!((found.script.as_str(), found.limit), (expected, LIMIT + Duration::from_secs(100)));
        assert_eq!(read("check -D 10s").unwrap().script, "punctual check -D 10s");
    }

    #[test]
    fn what_no_guest_could_run_is_refused_before_one_is_booted() {
        for wrong in ["record -o a", "recrod", "lab kernels", "record -D", "record --help", "record -D soon"] {
            let said = read(wrong).err().map(|error| error.0).unwrap_or_default();
            assert!(!said.is_empty() && said.lines().count() == 1, "{wrong}: {said}");
        }
    }
}
