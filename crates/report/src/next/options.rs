//! Options of a recording's command, and of the command that follows it.

use crate::layout::{is_simulated, shell_word};
use punctual_device::parse_period;
use punctual_recording::{Asked, Document, Followed, FollowedThread, NO_LOAD, printable};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The period of `punctual record` by default.
const DEFAULT_INTERVAL_NS: u64 = 1_000_000;
pub(super) const DEFAULT_PRIORITY: u32 = 80;
/// Threads of a process with more names than this are not followed by these.
const MAX_NAMES: usize = 4;

/// The options, except for the load, with which `punctual record` measures the same once more, its own threads or
/// others'; `None` if another command measured or simulated them, or if they belonged to a command.
pub fn own_options(document: &Document) -> Option<String> {
    own_options_every(document, None)
}

/// The same, with this period for threads of its own, as options take it.
pub(super) fn own_options_every(document: &Document, period: Option<&str>) -> Option<String> {
    if let Some(followed) = &document.followed {
        let (options, command) = same_threads(followed, &document.provenance.load.commands);
        return command.is_empty().then(|| options + &as_written(&document.provenance.command_line, "", "--period"));
    }
    let configuration = &document.provenance.configuration;
    let words = &document.provenance.command_line;
    let command = words.iter().skip(1).find(|word| !word.starts_with('-'));
    let is_of_record = command.is_none_or(|command| ["record", "check", "compare"].contains(&command.as_str()));
    if is_simulated(document) || !is_of_record {
        return None;
    }
    if configuration.via == "driver" {
        // The driver decides how often, and with which priority.
        return Some(as_written(words, "", "--stamps"));
    }
    let mut options = String::new();
    let interval = configuration.interval_ns;
    if let Some(written) = period.or_else(|| value_of(words, "-i", "--interval")) {
        // As it was written: 256@48kHz is not a whole number of anything else.
        let _ = write!(options, " -i {}", shell_word(&printable(written)));
    } else if interval != 0 && interval != DEFAULT_INTERVAL_NS {
        let written = device_period(words, interval).map(|word| shell_word(&printable(word)));
        let _ = write!(options, " -i {}", written.unwrap_or_else(|| exact_time(interval)));
    }
    if !matches!(configuration.policy.as_str(), "" | "fifo") {
        let _ = write!(options, " --policy {}", shell_word(&configuration.policy));
    }
    if !matches!(configuration.priorities[..], [] | [DEFAULT_PRIORITY]) {
        let _ = write!(options, " -p {}", listed(&configuration.priorities));
    }
    options += &as_written(words, "-a", "--cpus");
    if configuration.via == "softirq" {
        options.push_str(" --via softirq");
    }
    Some(options)
}

/// The period of a device as it was written, if threads were measured at it.
fn device_period(words: &[String], interval_ns: u64) -> Option<&str> {
    every_value(words, "--device").into_iter().find_map(|spec| period_in(spec, interval_ns))
}

/// A period, ns, as it was written in the specification of a device; `None` if that has no such period.
pub(super) fn period_in(spec: &str, period_ns: u64) -> Option<&str> {
    let mut words = spec.split_whitespace().skip(1);
    words.find(|word| parse_period(word).is_ok_and(|written_ns| written_ns == period_ns))
}

/// A time as options take it and people write it, to the nanosecond: `2.5ms`, where that takes no more than three decimals.
pub(super) fn exact_time(nanoseconds: u64) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    let fits = |scale: u64| nanoseconds >= scale && nanoseconds.is_multiple_of(scale / 1_000);
    let Some((unit, scale)) = units.into_iter().find(|(_, scale)| fits(*scale)) else {
        return format!("{nanoseconds}ns");
    };
    let (whole, rest) = (nanoseconds / scale, nanoseconds % scale / (scale / 1_000));
    let decimals = format!("{rest:03}");
    match decimals.trim_end_matches('0') {
        "" => format!("{whole}{unit}"),
        decimals => format!("{whole}.{decimals}{unit}"),
    }
}

/// A measured time as the roundest one that lies within a thousandth of it, ns: of 999,987 ns that is 1 ms.
pub(super) fn roundest(nanoseconds: u64) -> u64 {
    let units = (0..=9u32).rev().map(|digits| 10u64.pow(digits));
    let mut rounded = units.map(|unit| nanoseconds.saturating_add(unit / 2) / unit * unit);
    rounded.find(|rounded| *rounded > 0 && rounded.abs_diff(nanoseconds) <= nanoseconds / 1_000).unwrap_or(nanoseconds)
}

/// An option as it was written on a command line, under its shortest name; nothing if it was not given.
pub(super) fn as_written(words: &[String], short: &str, long: &str) -> String {
    let name = if short.is_empty() { long } else { short };
    let value = value_of(words, short, long).map(|value| shell_word(&printable(value)));
    value.map_or_else(String::new, |value| format!(" {name} {value}"))
}

/// An option that may be repeated, as often as it was written.
pub(super) fn every_written(words: &[String], name: &str) -> String {
    let written = every_value(words, name).into_iter();
    written.map(|value| format!(" {name} {}", shell_word(&printable(value)))).collect()
}

/// The options for what else ran.
pub(super) fn same_load(words: &[String]) -> String {
    as_written(words, "", "--load") + &every_written(words, "--load-command")
}

/// The values of an option that may be repeated, in the words of a command line as far as these are options.
pub fn every_value<'a>(words: &'a [String], name: &str) -> Vec<&'a str> {
    let own = words.iter().take_while(|word| *word != "--").enumerate();
    own.filter_map(|(index, word)| match word.strip_prefix(name) {
        Some("") => words.get(index + 1).map(String::as_str),
        Some(rest) => rest.strip_prefix('='),
        None => None,
    })
    .collect()
}

/// The period of loops as it was written when they were recorded.
pub fn written_period(document: &Document) -> Option<&str> {
    value_of(&document.provenance.command_line, "", "--period")
}

/// The value of an option on a command line, up to the command after it. An option without a short name has an empty
/// one.
pub(super) fn value_of<'a>(words: &'a [String], short: &str, long: &str) -> Option<&'a str> {
    let own: Vec<&str> = words.iter().map(String::as_str).take_while(|word| *word != "--").collect();
    own.iter().enumerate().find_map(|(index, word)| match word.strip_prefix(long) {
        Some("") => own.get(index + 1).copied(),
        Some(rest) => rest.strip_prefix('='),
        None if short.is_empty() => None,
        None if *word == short => own.get(index + 1).copied(),
        None => word.strip_prefix(short),
    })
}

pub(super) fn listed(numbers: &[u32]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    numbers.join(",")
}

/// The options that follow the same threads once more, and the command after them.
pub(super) fn same_threads(followed: &Followed, commands: &[Vec<String>]) -> (String, String) {
    let (mut options, mut command) = (String::new(), String::new());
    for asked in followed.asked.iter().filter_map(|words| Asked::parse(words)) {
        match (asked, commands.last()) {
            (Asked::Named(name), _) => options += &format!(" --comm {}", shell_word(name)),
            (Asked::Process(process), _) => options += &of_process(followed, process),
            (Asked::Thread(thread), _) => options += &format!(" --tid {thread}"),
            (Asked::Command, Some(words)) => {
                let words: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
                options.push_str(" --follow");
                command = format!(" -- {}", words.join(" "));
            }
            (Asked::Command, None) => {}
        }
    }
    (options, command)
}

/// The option that follows the threads of this process once more: by their names if all that were followed have ended.
fn of_process(followed: &Followed, process: u32) -> String {
    let own: Vec<&FollowedThread> = followed.threads.iter().filter(|thread| thread.process == process).collect();
    let has_ended = !own.is_empty() && own.iter().all(|thread| thread.ended_ns.is_some());
    let names: BTreeSet<&str> = own.iter().map(|thread| thread.name.as_str()).collect();
    let is_plain = |name: &&str| {
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-'))
    };
    if !has_ended || names.len() > MAX_NAMES || !names.iter().all(is_plain) {
        return format!(" --pid {process}");
    }
    let names: Vec<&str> = names.into_iter().collect();
    format!(" --comm {}", shell_word(&format!("^({})$", names.join("|"))))
}

/// [`own_options`] with the load, where the command line knows it.
pub fn own_options_and_load(document: &Document, known_loads: &[&str]) -> Option<String> {
    Some(own_options(document)? + &load_option(document.provenance.load.name_or_none(), known_loads))
}

/// The option that asks for the same load; nothing for no load, and for commands and files, whose names the command line
/// does not accept.
pub(super) fn load_option(name: &str, known_loads: &[&str]) -> String {
    let is_known = name != NO_LOAD && name.split('+').all(|part| known_loads.contains(&part));
    if is_known { format!(" --load {}", name.replace('+', ",")) } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_load_that_has_a_name_is_asked_for_by_it() {
        let option = |name| load_option(name, &["none", "mixed", "office"]);
        assert_eq!(["none", "make", "office+make"].map(option), ["", "", ""]);
        assert_eq!(["mixed", "office+mixed"].map(option), [" --load mixed", " --load office,mixed"]);
    }

    #[test]
    fn a_time_is_written_as_people_do() {
        let times =
            [0, 999, 1_437, 280_000, 1_000_000, 2_260_000, 1_333_333, 66_000_000, 1_500_000_000, 60_000_000_000];
        let written = ["0ns", "999ns", "1.437us", "280us", "1ms", "2.26ms", "1333.333us", "66ms", "1.5s", "60s"];
        assert_eq!(times.map(exact_time), written);
        for (time, written) in times.into_iter().zip(written) {
            assert_eq!(punctual_recording::parse_duration(written, punctual_recording::BareUnit::Refused), Ok(time));
        }
        let measured = [0, 7, 999_987, 1_000_012, 1_333_333, 10_000_950, 16_666_667].map(roundest);
        assert_eq!(measured, [0, 7, 1_000_000, 1_000_000, 1_333_000, 10_000_000, 16_670_000]);
    }

    #[test]
    fn an_option_is_found_however_it_was_written() {
        let found = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            value_of(&words, "-i", "--interval").map(str::to_owned)
        };
        for line in ["record -i 1kHz", "record -i1kHz", "record --interval 1kHz", "record --interval=1kHz -- x -i 2"] {
            assert_eq!(found(line).as_deref(), Some("1kHz"), "{line}");
        }
        assert_eq!(found("record -D 1s -- x -i 2"), None);
        let words = ["check", "--device", "audio 64@48kHz", "--device=modem"].map(str::to_owned);
        assert_eq!(every_written(&words, "--device"), " --device 'audio 64@48kHz' --device modem");
    }

    #[test]
    fn a_device_measured_at_its_period_is_measured_at_it_again() {
        let words = ["check", "--device", "audio 64@48kHz x3", "-D", "20s"].map(str::to_owned);
        assert_eq!(device_period(&words, 1_333_333), Some("64@48kHz"));
        assert_eq!(device_period(&words, 1_000_000), None);
        assert_eq!(device_period(&["check", "--device", "audio64"].map(str::to_owned), 1_333_333), None);
    }

    #[test]
    fn the_same_threads_are_followed_again() {
        let asked = ["threads named ^worker|db$", "process 4711", "thread 12", "the command and all it starts"];
        let followed = Followed { asked: asked.map(str::to_owned).to_vec(), ..Followed::default() };
        let played = vec!["play".to_owned(), "a song.ogg".to_owned()];
        let (options, command) = same_threads(&followed, &[played]);
        assert_eq!(options, " --comm '^worker|db$' --pid 4711 --tid 12 --follow");
        assert_eq!(command, " -- play 'a song.ogg'");
    }

    #[test]
    fn threads_of_a_process_that_has_ended_are_followed_by_their_names() {
        let told = |threads: &[(u32, &str, Option<u64>)]| {
            let threads = threads.iter().map(|&(process, name, ended_ns)| FollowedThread {
                process,
                name: name.to_owned(),
                ended_ns,
                ..FollowedThread::default()
            });
            let asked = vec!["process 4711".to_owned()];
            same_threads(&Followed { asked, threads: threads.collect(), ..Followed::default() }, &[]).0
        };
        let ended = [(4_711, "client", Some(9)), (4_711, "client-io", Some(7)), (12, "other", None)];
        assert_eq!(told(&ended), " --comm '^(client|client-io)$'");
        for runs_on in [&[(4_711, "client", Some(9)), (4_711, "client-io", None)][..], &[(4_711, "a.b", Some(9))], &[]]
        {
            assert_eq!(told(runs_on), " --pid 4711", "{runs_on:?}");
        }
    }
}
