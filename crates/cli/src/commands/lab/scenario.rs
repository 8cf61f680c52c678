//! What runs in the guests: one of punctual's commands, as a shell command.

use super::module::Loaded;
use crate::args::{Arguments, Command};
use crate::output::{Usage, one_line};
use clap::Parser;
use punctual_device::did_you_mean;
use punctual_report::shell_word;
use punctual_study::lab::RECORDING;
use std::time::Duration;

/// A command for the guests.
pub(super) struct Scenario {
    /// The command as shell text.
    pub(super) script: String,
    /// What of it comes before the command.
    pub(super) preparation: String,
    /// How much of a processor a guest with it may take, if nobody says.
    pub(super) limit: Duration,
    /// Whether it measures punctual's own threads.
    pub(super) measures_own_threads: bool,
}

/// What a guest that records nothing may take; a boot takes a thirtieth of it.
const LIMIT: Duration = Duration::from_secs(300);
/// What a guest with a driver's module may take in addition to what it records: a module that hangs does so at once.
const LIMIT_WITH_A_MODULE: Duration = Duration::from_secs(60);
/// What a second of recording may take. A load keeps the whole virtual CPU busy, so that a second takes about a second.
const LIMIT_A_SECOND: u32 = 10;
/// How long `record` without -D takes.
const DEFAULT_RECORDING: Duration = Duration::from_secs(60);

/// Where `interact` leaves its recording: where it would otherwise, nothing comes out of the guest.
const INPUTS: &str = "/out/interact.punctual";

/// Reads the words as the program in the guests will.
pub(super) fn read(
    words: &[String],
    load: Option<&str>,
    before: Option<&str>,
    module: Option<&Loaded>,
) -> Result<Scenario, Usage> {
    let mut command = parsed(words)?;
    let mut words = words.to_vec();
    let mut limit = LIMIT;
    if let Command::Record(record) = &command {
        if record.output.is_some() {
            return Err(Usage("the lab chooses where recordings go in the guests: leave out `record -o`".to_owned()));
        }
        let mut more = vec!["-q".to_owned(), "-o".to_owned(), format!("/out/{RECORDING}")];
        more.extend(load.into_iter().flat_map(|load| ["--load".to_owned(), load.to_owned()]));
        // If a driver says how late it is, that is what is measured, unless the user asked for other threads.
        let driver = module.and_then(|module| module.stamps.clone()).filter(|_| record.measures_threads_of_its_own());
        more.extend(driver.into_iter().flat_map(|stamps| ["--stamps".to_owned(), stamps]));
        insert(&mut words, "record", more);
        limit = if module.is_some() { LIMIT_WITH_A_MODULE } else { LIMIT };
        limit += record.duration.map_or(DEFAULT_RECORDING, Duration::from_nanos) * LIMIT_A_SECOND;
        // The inserted words may not go together with the user's own.
        command = parsed(&words)?;
    }
    if let Command::Interact(interact) = &command
        && interact.command.is_none()
        && interact.output.is_none()
    {
        insert(&mut words, "interact", vec!["-o".to_owned(), INPUTS.to_owned()]);
    }
    if load.is_some() && !matches!(command, Command::Record(_)) {
        return Err(Usage("--load is for `record`: other commands take it after the `--`".to_owned()));
    }
    if matches!(command, Command::Lab(_)) {
        return Err(Usage("there is no lab in a lab: give one of punctual's other commands".to_owned()));
    }
    if let Some(cpu) = other_cpu(&command) {
        return Err(Usage(format!("what is to run in the guests asks for CPU {cpu}, but a guest has only CPU 0")));
    }
    let measures_own_threads = match &command {
        Command::Record(record) => record.measures_threads_of_its_own(),
        Command::Check(_) => true,
        _ => false,
    };
    let loading = module.map_or("", |module| &module.script);
    let before = before.map_or_else(String::new, |command| {
        format!("( {command}\n) || {{ code=$?; echo \"error: --before ended with $code\"; exit $code; }}\n")
    });
    let words: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
    let preparation = format!("{loading}{before}");
    let script = format!("{preparation}punctual {}", words.join(" "));
    Ok(Scenario { script, preparation, limit, measures_own_threads })
}

/// Whether what these words run keeps evidence of late wakeups.
pub(super) fn keeps_evidence(words: &[String]) -> Result<bool, Usage> {
    Ok(matches!(parsed(words)?, Command::Record(record) if record.why.why.is_some()))
}

/// Puts words behind the name of a command.
fn insert(words: &mut Vec<String>, command: &str, more: Vec<String>) {
    let place = words.iter().position(|word| word == command).map_or(0, |position| position + 1);
    words.splice(place..place, more);
}

/// A CPU that a command asks for and no guest has.
fn other_cpu(command: &Command) -> Option<u32> {
    let cpus = match command {
        Command::Check(check) => &check.threads.cpus,
        Command::Record(record) => &record.threads.cpus,
        Command::Idle(idle) => &idle.cpus,
        _ => return None,
    };
    cpus.as_ref()?.0.iter().copied().find(|cpu| *cpu > 0)
}

fn parsed(words: &[String]) -> Result<Command, Usage> {
    let all = std::iter::once("punctual").chain(words.iter().map(String::as_str));
    let parsed = Arguments::try_parse_from(all).map_err(|error| {
        let said = if error.use_stderr() { one_line(&error.to_string()) } else { "it only prints help".to_owned() };
        let meant = did_you_mean(crate::suggestion(&error).as_deref());
        Usage(format!("what is to run in the guests: {said}{meant}"))
    })?;
    Ok(parsed.command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Scenario, Usage> {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        read(&words, None, None, None)
    }

    #[test]
    fn the_recordings_place_stands_before_a_command_of_its_own() {
        let found = of("--json record -D 10s -- sh -c a;b").unwrap();
        let expected = "punctual --json record -q -o /out/recording.punctual -D 10s -- sh -c 'a;b'";
        assert_eq!((found.script.as_str(), found.limit), (expected, LIMIT + Duration::from_secs(100)));
        assert_eq!(of("check -D 10s").unwrap().script, "punctual check -D 10s");
    }

    #[test]
    fn evidence_is_kept_by_record_with_a_threshold() {
        for (text, keeps) in [("record --why 1ms", true), ("record -D 1s", false), ("check", false)] {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            assert_eq!(keeps_evidence(&words).unwrap(), keeps, "{text}");
        }
    }

    #[test]
    fn what_interact_records_comes_out_of_the_guest() {
        let script = |text: &str| of(text).unwrap().script;
        assert_eq!(script("interact -- bash"), "punctual interact -o /out/interact.punctual -- bash");
        for whole in ["interact -o /out/mine.punctual -- bash", "interact learn -o /out/edit.toml -- vi"] {
            assert_eq!(script(whole), format!("punctual {whole}"));
        }
    }

    #[test]
    fn a_load_of_the_grid_is_the_commands() {
        let read = |text: &str| {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            read(&words, Some("network"), None, None).map(|found| found.script)
        };
        let script = read("record -D 1s").unwrap();
        assert_eq!(script, "punctual record -q -o /out/recording.punctual --load network -D 1s");
        assert!(read("check -D 1s").is_err());
    }

    #[test]
    fn what_no_guest_could_run_is_refused_before_one_is_booted() {
        for wrong in ["record -o a", "recrod", "lab kernels", "record -D", "record --help", "record -D soon"] {
            let said = of(wrong).err().map(|error| error.0).unwrap_or_default();
            assert!(!said.is_empty() && said.lines().count() == 1, "{wrong}: {said}");
        }
    }

    #[test]
    fn cpus_that_no_guest_has_are_refused_before_one_is_booted() {
        for wrong in ["record -a 1 -D 1s", "check -a 0-3", "idle -a 2"] {
            let said = of(wrong).err().map(|error| error.0).unwrap_or_default();
            assert!(said.contains("only CPU 0") && said.lines().count() == 1, "{wrong}: {said}");
        }
        for right in ["record -a 0 -D 1s", "check", "idle -a 0"] {
            assert!(of(right).is_ok(), "{right}");
        }
    }

    #[test]
    fn a_drivers_stamps_are_recorded_unless_somebody_else_is_followed() {
        let with = |text: &str| {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            let module = Loaded { script: "load\n".to_owned(), stamps: Some("/dev/punctual".to_owned()) };
            read(&words, None, Some("before"), Some(&module)).map(|found| found.script)
        };
        let script = with("record -D 1s").unwrap();
        assert!(script.starts_with("load\n( before\n)"), "{script}");
        assert!(
            script.ends_with("punctual record -q -o /out/recording.punctual --stamps /dev/punctual -D 1s"),
            "{script}"
        );
        assert!(!with("record --comm driver -D 1s").unwrap().contains("--stamps"));
        assert!(!with("check -D 1s").unwrap().contains("--stamps"));
        for (text, own) in [("check -D 1s", true), ("record -D 1s", true), ("record --comm a -D 1s", false)] {
            assert_eq!(of(text).unwrap().measures_own_threads, own, "{text}");
        }
        let refused = with("record -p 90").err().map(|error| error.0).unwrap_or_default();
        assert!(refused.contains("--stamps") && refused.lines().count() == 1, "{refused}");
    }
}
