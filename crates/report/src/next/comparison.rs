//! After a comparison.

use super::about_b::{left_in_words, to_undo};
use super::options::{DEFAULT_PRIORITY, as_written, exact_time, listed, same_threads, value_of};
use super::{NextStep, few};
use crate::layout::{counted, shell_word};
use punctual_comparison::interact::InputComparison;
use punctual_comparison::{
    Comparison, CountComparison, Counted, MIN_RUNS, Outcome as Difference, Overall, Shared, Standing,
};
use punctual_recording::{Document, FULL_PACE, Followed, Provenance, printable};

/// After a comparison: runs measured in turn if these cannot tell, otherwise what delays B, or still does. `first` are
/// recordings of A and of B, if there are any, and `directories` those that hold all of a side's; `evidence` is the recording
/// of B that kept most of what delayed it, if one did; `again` is the command that measured both sides, with another number
/// of repeats; `None` if recordings were compared.
pub fn after_comparison(
    comparison: &Comparison,
    first: [Option<&Document>; 2],
    directories: [Option<&str>; 2],
    evidence: Option<&str>,
    again: Option<&dyn Fn(usize) -> String>,
) -> Vec<NextStep> {
    let outcome = decided(comparison);
    if let (Standing::OtherThreads, [Some(a), _]) = (comparison.standing, first) {
        let place = unused_in(directories[1].unwrap_or("B"));
        let purpose = "follows the threads of A: record side B so, too, then compare again";
        return vec![NextStep::new(purpose, recorded_again(Some(a), &place))];
    }
    if comparison.standing != Standing::Systems || outcome == Difference::NoDifference {
        let had = comparison.a.runs.min(comparison.b.runs);
        // If no number of runs is known that would find it, twice as many as these at least find a smaller difference.
        let is_known = comparison.runs_needed.is_some() || comparison.standing != Standing::Systems;
        let runs = comparison.runs_needed.unwrap_or(if is_known { MIN_RUNS } else { 2 * had }).max(MIN_RUNS);
        let enough = if is_known {
            "often enough for a difference of this size"
        } else {
            "twice as often, for a smaller difference"
        };
        let (purpose, command) = match again {
            Some(again) => (format!("measures both sides in turn, {enough}"), again(runs)),
            // Guests of the lab, which no command of this machine measures.
            None if first.iter().all(Option::is_none) => (
                format!(
                    "takes directories: record the same under the same load on each machine or kernel, alternating, {} at least in each",
                    counted(runs as u64, "recording")
                ),
                "punctual compare A B".to_owned(),
            ),
            None if !comparison.is_of_one_machine || comparison.follows() || are_of_devices(comparison) => {
                return alternating(runs, first, directories);
            }
            None => repeated(runs, enough, first),
        };
        return vec![NextStep::new(&purpose, command)];
    }
    if are_of_devices(comparison) {
        return vec![whether_devices_kept_up(directories[1])];
    }
    let (is_better, decisive) = (outcome == Difference::Better, decisive_count(comparison));
    let mut step = about_b(is_better, decisive, first[1], directories[1], evidence);
    if !is_better {
        step.purpose += &to_undo(&comparison.differences);
    }
    vec![step]
}

/// What delays B, from evidence of it that is there or is still to be recorded; of a better B whose cycles or wakeups are all
/// that was compared, how often it may still be too late.
fn about_b(
    is_better: bool,
    decisive: Option<&CountComparison>,
    document: Option<&Document>,
    directory: Option<&str>,
    evidence: Option<&str>,
) -> NextStep {
    let is_forecast = match decisive {
        Some(row) => matches!(row.what, Counted::Cycles { .. } | Counted::Periods { .. }) && row.b.events == 0,
        None => document.is_some_and(|document| document.followed.is_none()),
    };
    if let Some(directory) = directory.filter(|_| is_better && is_forecast) {
        let purpose = "says how often side B may still be too late";
        return NextStep::new(purpose, format!("punctual forecast {}", shell_word(directory)));
    }
    let still = if is_better { "still " } else { "" };
    let left = decisive.filter(|row| is_better && row.b.events > 0).map_or_else(String::new, left_in_words);
    if let Some(recording) = evidence {
        let purpose = format!("says what {still}delayed side B{left}");
        return NextStep::new(&purpose, format!("punctual why {}", shell_word(recording)));
    }
    let followed = document.and_then(|document| Some((document.followed.as_ref()?, &document.provenance)));
    let (options, command) =
        followed.map(|(followed, provenance)| threads_again(followed, provenance)).unwrap_or_default();
    let why = threshold(decisive, document.map(|document| &document.provenance.command_line[..]));
    let purpose = format!("on side B records what {still}delays it{left}");
    NextStep::new(&purpose, format!("sudo punctual record --why {why}{options}{command}"))
}

/// Whether devices ran in the recordings, which `punctual compare --repeat` does not measure.
fn are_of_devices(comparison: &Comparison) -> bool {
    comparison.a.is_beside_devices || comparison.b.is_beside_devices
}

/// What became of the devices of B, run by run: the threads beside them are not what was late.
fn whether_devices_kept_up(directory: Option<&str>) -> NextStep {
    let purpose = "says of each run of side B whether its devices kept up, and what to run next";
    NextStep::new(purpose, format!("punctual report {}", shell_word(directory.unwrap_or("B"))))
}

/// What measures both sides in turn on this machine, and the command; that of the help where nobody knows what sets a side.
fn repeated(runs: usize, enough: &str, first: [Option<&Document>; 2]) -> (String, String) {
    let known = first[0].zip(first[1]).and_then(|(a, b)| in_turn(&a.provenance, &b.provenance));
    match known {
        Some(options) => (
            format!("measures both sides in turn, {enough}"),
            format!("sudo punctual compare --repeat {runs}{options}"),
        ),
        None => (
            format!(
                "says how to measure both sides in turn with --repeat {runs}, {enough}: --a and --b each take what sets a side, \
                 a shell command or options such as '-p 90'"
            ),
            "punctual compare --help".to_owned(),
        ),
    }
}

/// The options with which `punctual compare --repeat` measures two sides of `punctual record` in turn: those of both, and
/// those that set a side; `None` if no such options tell the sides apart.
fn in_turn(a: &Provenance, b: &Provenance) -> Option<String> {
    let is_known = |provenance: &Provenance| {
        let words = &provenance.command_line;
        let is_of_record = words.get(1).is_some_and(|command| command == "record");
        is_of_record && !words.iter().any(|word| word == "--" || word.starts_with("--load-command"))
    };
    if !is_known(a) || !is_known(b) {
        return None;
    }
    let mut options = String::new();
    for (short, long) in [("-i", "--interval"), ("", "--via"), ("-D", "--duration")] {
        let written = [a, b].map(|provenance| as_written(&provenance.command_line, short, long));
        match written[0] == written[1] {
            true => options += &written[0],
            // How long a run takes makes no side; how often threads wake cannot be set for one.
            false if short == "-D" => {}
            false => return None,
        }
    }
    let mut sides = [String::new(), String::new()];
    for (of_a, of_b) in side_options(a).into_iter().zip(side_options(b)) {
        if of_a == of_b {
            options += if of_a == format!(" -p {DEFAULT_PRIORITY}") { "" } else { of_a.as_str() };
        } else {
            sides[0] += &of_a;
            sides[1] += &of_b;
        }
    }
    // Such options are split at spaces, whatever stands around them.
    if sides.iter().all(String::is_empty) || sides.iter().any(|side| side.contains('\'')) {
        return None;
    }
    for (name, side) in ["--a", "--b"].into_iter().zip(&sides).filter(|(_, side)| !side.is_empty()) {
        options += &format!(" {name} {}", shell_word(side.trim()));
    }
    Some(options)
}

/// The options of a recording that may set a side apart, each empty if it is not known or has its default.
fn side_options(provenance: &Provenance) -> [String; 4] {
    let (words, configuration) = (&provenance.command_line, &provenance.configuration);
    let is_real_time = matches!(configuration.policy.as_str(), "" | "fifo" | "rr");
    let priorities = listed(&configuration.priorities);
    [
        if is_real_time && !priorities.is_empty() { format!(" -p {priorities}") } else { String::new() },
        as_written(words, "", "--policy"),
        as_written(words, "-a", "--cpus"),
        as_written(words, "", "--load"),
    ]
}

/// The cycles, requests or underruns of which one side has more.
fn decisive_count(comparison: &Comparison) -> Option<&CountComparison> {
    comparison.counts.iter().find(|row| row.outcome != Difference::NoDifference)
}

/// What the cycles, requests and underruns say, or else the wakeups.
fn decided(comparison: &Comparison) -> Difference {
    decisive_count(comparison).map_or(comparison.outcome, |row| row.outcome)
}

/// Above what to keep evidence: what was written when the side was recorded, or else what the sides differ in.
fn threshold(decisive: Option<&CountComparison>, words: Option<&[String]>) -> String {
    let written = words.and_then(|words| value_of(words, "", "--why"));
    match (written, decisive.map(|row| &row.what)) {
        (Some(written), _) => shell_word(&printable(written)),
        (None, Some(Counted::Requests { threshold_ns })) => exact_time(*threshold_ns),
        (None, Some(Counted::Cycles { period_ns, .. } | Counted::Periods { period_ns, .. })) => {
            format!("{} --why-stage response", exact_time(*period_ns))
        }
        (None, Some(Counted::Underruns { .. }) | None) => "p99".to_owned(),
    }
}

/// The commands that record further runs of both sides, and the one that compares them again.
fn alternating(runs: usize, first: [Option<&Document>; 2], directories: [Option<&str>; 2]) -> Vec<NextStep> {
    let [a, b] = [directories[0].unwrap_or("A"), directories[1].unwrap_or("B")];
    let what = if directories == [None; 2] { ", with a directory for each" } else { "" };
    let runs = format!(
        "record at least {} of each{what}, alternating, with the same other programs running",
        counted(runs as u64, "run")
    );
    let compare = format!("punctual compare {} {}", shell_word(a), shell_word(b));
    let [of_a, of_b] =
        [(first[0], a), (first[1], b)].map(|(document, directory)| recorded_again(document, &unused_in(directory)));
    // Both sides were recorded in the same way but for where their recordings are.
    if recorded_again(first[0], "") == recorded_again(first[1], "") {
        let purpose =
            format!("records a run of A, and with `-o {}` one of B: {runs}, then compare again", unused_in(b));
        return vec![NextStep::new(&purpose, of_a), NextStep::new("compares again", compare)];
    }
    let purpose = format!("records a run of B: {runs}, then compare again: `{compare}`");
    vec![NextStep::new("records a run of A", of_a), NextStep::new(&purpose, of_b)]
}

/// A place in a directory that no run has, as a shell takes it: a command that is copied again and again is to fill it.
fn unused_in(directory: &str) -> String {
    format!("{}/$(date +%s).punctual", shell_word(directory))
}

/// The command that records once more what this recording holds, to another place, as a shell takes it.
fn recorded_again(document: Option<&Document>, place: &str) -> String {
    let words = document.map_or(&[][..], |document| &document.provenance.command_line[..]);
    if let [_, device, run, rest @ ..] = words
        && (device.as_str(), run.as_str()) == ("device", "run")
    {
        return format!("sudo punctual device run -o {place}{}", as_kept(rest));
    }
    let written = written_record(words);
    let others = || {
        let followed = document.and_then(|document| Some((document.followed.as_ref()?, &document.provenance)));
        let (options, command) =
            followed.map(|(followed, provenance)| threads_again(followed, provenance)).unwrap_or_default();
        options + &command
    };
    format!("sudo punctual record -o {place}{}", written.unwrap_or_else(others))
}

/// The options and the command of `punctual record` as they were written, but for those that say where results go; `None`
/// for any other command.
fn written_record(words: &[String]) -> Option<String> {
    if words.get(1)? != "record" {
        return None;
    }
    Some(as_kept(&words[2..]))
}

/// Options and a command as they were written, but for options that say where results go.
fn as_kept(words: &[String]) -> String {
    let mut kept = String::new();
    let mut words = words.iter();
    let mut is_own = true;
    while let Some(word) = words.next() {
        is_own &= word != "--";
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        match name {
            "-o" | "--output" | "--html" | "--export-markdown" if is_own => {
                if name.len() == word.len() {
                    words.next();
                }
            }
            "-q" | "--quiet" | "--json" | "--markdown" if is_own => {}
            // The value is attached to the option.
            _ if is_own && word.starts_with("-o") => {}
            _ => {
                kept.push(' ');
                kept += &shell_word(&printable(word));
            }
        }
    }
    kept
}

/// The options with which `punctual record` follows the same threads for the same question, and the command after them.
fn threads_again(followed: &Followed, provenance: &Provenance) -> (String, String) {
    let (threads, command) = same_threads(followed, &provenance.load.commands);
    let written = |option| as_written(&provenance.command_line, "", option);
    (written("--why-stage") + &threads + &written("--period"), command)
}

/// After several sides compared with the first: the stages of the one that differs most, or directories with enough
/// runs. `named` holds the sides' names from the command line, beginning with the one that all are compared with, and
/// `directories` those that hold all of a side's recordings; `again` is the command that measured them, with another
/// number of repeats.
pub fn after_comparisons(
    found: &[Shared],
    named: &[String],
    directories: &[Option<String>],
    again: Option<&dyn Fn(usize) -> String>,
) -> Vec<NextStep> {
    let mut steps = Vec::new();
    let unjudged: Vec<&Comparison> =
        (found.iter().map(|shared| &shared.comparison)).filter(|one| one.standing != Standing::Systems).collect();
    if let (Some(again), false) = (again, unjudged.is_empty()) {
        // The order of the runs has a say: with five sides and more it takes one more run.
        let enough = MIN_RUNS + 1 + usize::from(found.len() > 3);
        steps.push(NextStep::new("measures all sides in turn, often enough for a verdict", again(enough)));
    } else if !unjudged.is_empty() {
        let purpose = format!("takes directories: record all sides in turn, at least {MIN_RUNS} recordings in each");
        let sides = (0..named.len()).zip('A'..).map(|(side, letter)| {
            let directory = directories.get(side).and_then(Option::as_deref);
            directory.map_or_else(|| letter.to_string(), shell_word)
        });
        let sides: Vec<String> = sides.collect();
        steps.push(NextStep::new(&purpose, format!("punctual compare {}", sides.join(" "))));
    }
    // What was counted comes first, as in the answer.
    let is_alike = |shared: &Shared| decisive_count(&shared.comparison).is_none();
    let most = found
        .iter()
        .zip(named.iter().skip(1))
        .min_by(|(one, _), (other, _)| is_alike(one).cmp(&is_alike(other)).then(one.p.total_cmp(&other.p)));
    if let (Some((_, side)), Some(first)) = (most, named.first()) {
        let pair = format!("punctual compare {} {}", shell_word(first), shell_word(side));
        steps.push(NextStep::new("shows stages, devices and what else differs for the side that differs most", pair));
    }
    few(steps)
}

/// After a comparison of inputs: runs measured in turn if these cannot tell, otherwise the inputs of the slower side;
/// of sides at different paces no further runs would tell. `first` are recordings of A and of B, and `directories` those
/// that hold all of a side's.
pub fn after_interact_comparison(
    comparison: &InputComparison,
    first: [&str; 2],
    directories: [Option<&str>; 2],
) -> Vec<NextStep> {
    let is_verdict = comparison.standing == Standing::Systems;
    let is_told_by_more = comparison.standing != Standing::OtherPace;
    if is_told_by_more && (!is_verdict || comparison.outcome == Overall::NoDifference) {
        let runs =
            comparison.runs_needed.unwrap_or(if is_verdict { 2 * comparison.a.runs } else { MIN_RUNS }).max(MIN_RUNS);
        let [a, b] = [directories[0].unwrap_or("A"), directories[1].unwrap_or("B")];
        let [of_a, of_b] = [a, b].map(|directory| shell_word(&format!("{directory}/NUMBER.punctual")));
        let purpose = format!(
            "takes directories: run `punctual interact` as before, in turn with `-o {of_a}` and `-o {of_b}`, {} in each",
            counted(runs as u64, "recording")
        );
        return vec![NextStep::new(&purpose, format!("punctual compare {} {}", shell_word(a), shell_word(b)))];
    }
    let [a_is_full, b_is_full] = [&comparison.a, &comparison.b].map(|side| side.pace == FULL_PACE);
    // Without pauses, what is long is what came together.
    let is_b = if a_is_full == b_is_full { comparison.outcome != Overall::Better } else { a_is_full };
    let shown = first[usize::from(is_b)];
    vec![NextStep::new(
        "shows the longest inputs and what each was spent on",
        format!("punctual report {}", shell_word(shown)),
    )]
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_comparison::{EventCount, RateRatio};

    #[test]
    fn a_recording_is_made_again_elsewhere_and_otherwise_the_same() {
        let again = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            written_record(&words)
        };
        for line in [
            "punctual record -D 5s --comm ^api -o qb/1.punctual -q",
            "/usr/bin/punctual record --output=qb/1.punctual -D 5s --json --comm ^api",
            "punctual record -oqb/1.punctual --html a.html -D 5s --comm ^api",
            "punctual record --export-markdown a.md -D 5s --markdown --export-markdown=a.md --comm ^api",
        ] {
            assert_eq!(again(line).as_deref(), Some(" -D 5s --comm '^api'"), "{line}");
        }
        assert_eq!(again("punctual record --follow -- play -o a").as_deref(), Some(" --follow -- play -o a"));
        assert_eq!(again("punctual check -o a"), None);
        assert_eq!(recorded_again(None, &unused_in("A")), "sudo punctual record -o A/$(date +%s).punctual");
    }

    #[test]
    fn sides_that_options_tell_apart_are_measured_in_turn_with_these_options() {
        let provenance = |(line, priority): (&str, u32)| {
            let command_line = format!("punctual {line}").split(' ').map(str::to_owned).collect();
            let mut provenance = Provenance { command_line, ..Provenance::default() };
            provenance.configuration.priorities = vec![priority];
            provenance
        };
        for (a, b, expected) in [
            (("record -i 500us", 80), ("record -i 500us -p 90", 90), Some(" -i 500us --a '-p 80' --b '-p 90'")),
            (("record -D 5s", 80), ("record -D 9s --load disk", 80), Some(" --b '--load disk'")),
            (("record -a 1", 90), ("record -a 1", 90), None),
            (("record -i 1ms", 80), ("record -i 2ms -p 90", 90), None),
            (("record", 80), ("record -p 90 -- make", 90), None),
            (("check", 80), ("check -p 90", 90), None),
        ] {
            assert_eq!(in_turn(&provenance(a), &provenance(b)).as_deref(), expected, "{a:?} {b:?}");
        }
    }

    #[test]
    fn runs_of_devices_are_reported_and_made_again_as_devices() {
        let step = whether_devices_kept_up(Some("q after"));
        assert_eq!(step.command, "punctual report 'q after'");
        assert_eq!(whether_devices_kept_up(None).command, "punctual report B");
        let words = "device run v90 -c thread:80 -q -o a/1.punctual -D 2s --html=x.html --json";
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        assert_eq!(as_kept(&words[2..]), " v90 -c thread:80 -D 2s");
    }

    #[test]
    fn further_runs_go_into_the_directories_that_were_compared() {
        let steps = alternating(8, [None; 2], [Some("qb"), Some("q a")]);
        let said: Vec<String> = steps.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "next: `sudo punctual record -o qb/$(date +%s).punctual` records a run of A, and with `-o 'q a'/$(date +%s).punctual` one of B: \
                 record at least 8 runs of each, alternating, with the same other programs running, then compare again",
                "next: `punctual compare qb 'q a'` compares again",
            ]
        );
        let steps = alternating(3, [None; 2], [None; 2]);
        assert!(steps[0].purpose.contains("3 runs of each, with a directory for each, alternating"), "{steps:?}");
        assert_eq!(steps[1].command, "punctual compare A B");
    }

    #[test]
    fn the_threads_of_the_later_side_are_followed_again_for_the_same_question() {
        let followed = Followed { asked: vec!["threads named ^worker".to_owned()], ..Followed::default() };
        let words = "punctual record --comm ^worker --why p99 --why-stage request --period 5ms -o before/1.punctual";
        let command_line = words.split(' ').map(str::to_owned).collect();
        let provenance = Provenance { command_line, ..Provenance::default() };
        let (options, command) = threads_again(&followed, &provenance);
        assert_eq!((options.as_str(), command.as_str()), (" --why-stage request --comm '^worker' --period 5ms", ""));
    }

    #[test]
    fn after_a_better_side_the_next_step_is_about_what_it_has_left() {
        let cycles = |events: u64| CountComparison {
            what: Counted::Cycles { of: "robot-ctl".to_owned(), period_ns: 2_500_000 },
            a: EventCount { events: 900, least: 900, exposure: 10_000, ..EventCount::default() },
            b: EventCount { events, least: events, exposure: 10_723, ..EventCount::default() },
            ratio: RateRatio::default(),
            outcome: Difference::Better,
            runs_needed: None,
        };
        let (some, none) = (cycles(12), cycles(0));
        let step = |is_better: bool, row: &CountComparison, evidence: Option<&str>| {
            about_b(is_better, Some(row), None, Some("q after"), evidence).to_string()
        };
        let left = "12 of 10,723 cycles took longer than 2.50 ms";
        assert_eq!(
            step(true, &some, Some("q after/2.punctual")),
            format!("next: `punctual why 'q after/2.punctual'` says what still delayed side B: {left}")
        );
        assert_eq!(
            step(true, &some, None),
            format!(
                "next: `sudo punctual record --why 2.5ms --why-stage response` on side B records what still delays it: {left}"
            )
        );
        assert_eq!(
            step(true, &none, None),
            "next: `punctual forecast 'q after'` says how often side B may still be too late"
        );
        assert_eq!(step(false, &some, Some("a.punctual")), "next: `punctual why a.punctual` says what delayed side B");
    }

    #[test]
    fn evidence_is_kept_above_the_threshold_of_the_side_or_what_the_sides_differ_in() {
        let row = |what| CountComparison {
            what,
            a: EventCount::default(),
            b: EventCount::default(),
            ratio: RateRatio::default(),
            outcome: Difference::Worse,
            runs_needed: None,
        };
        let requests = row(Counted::Requests { threshold_ns: 20_000_000 });
        let cycles = row(Counted::Cycles { of: "robot-ctl".to_owned(), period_ns: 2_500_000 });
        for (line, decisive, expected) in [
            ("punctual record --comm ^api --why 20ms --why-stage request", Some(&requests), "20ms"),
            ("punctual record --comm ^api", Some(&requests), "20ms"),
            ("punctual record --comm ^robot --period 2.5ms", Some(&cycles), "2.5ms --why-stage response"),
            ("punctual record --why=300us -p 90", None, "300us"),
            ("punctual record -p 90", None, "p99"),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(threshold(decisive, Some(&words)), expected, "{line}");
        }
        assert_eq!(threshold(None, None), "p99");
    }
}
