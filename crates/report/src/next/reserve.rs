//! After a study of a reservation: what keeps it or, if there is none, what came nearest to one and who delays the
//! thread.

use super::device::IN_EVERY_CONTEXT;
use super::options::{every_value, exact_time, roundest, same_load, value_of};
use super::{NextStep, few};
use crate::layout::shell_word;
use crate::reserve::{PhaseRow, PhasesReport, ReserveEnd, ReserveReport, TogetherReport};
use punctual_recording::{format_ns, printable};
use punctual_reserve::Reservation;
use std::path::Path;

/// The question of a study of a reservation.
#[derive(Debug, Clone)]
pub struct ReserveAsked<'a> {
    /// Who is to get it.
    pub subject: ReserveSubject<'a>,
    /// A regular expression that matches the thread's name and no other.
    pub thread: String,
    /// The command line.
    pub words: &'a [String],
}

/// Who is to get a reservation.
#[derive(Debug, Clone)]
pub enum ReserveSubject<'a> {
    /// A command's: its words.
    Command(&'a [String]),
    /// A process's.
    Process(u32),
    /// A soft device's, by its name, and what competed with it.
    Device(&'a str, Vec<String>),
}

/// The options that take the least time.
const SHORTER: &[(&str, &str)] =
    &[("--measure", "1s"), ("--attempts", "1"), ("--attempt", "1s"), ("--rounds", "1"), ("--round", "2s")];
/// An attempt in which less goes unseen.
const SHORT_ATTEMPT: &str = "500ms";
/// How often each setting is tried by default.
const ATTEMPTS: u64 = 3;

/// After a study of one reservation. There is always a step.
pub fn after_reserve(report: &ReserveReport<'_>, asked: &ReserveAsked<'_>) -> Vec<NextStep> {
    few(match (report.end, report.recommended) {
        (ReserveEnd::Interrupted | ReserveEnd::ProgramEnded, _) => {
            vec![in_less_time(asked.words).unwrap_or_else(|| delayed(report, asked))]
        }
        (ReserveEnd::Finished, None) => after_none(report, asked),
        (ReserveEnd::Finished, Some(recommended)) if report.needs_no_reservation() && !report.stays => {
            after_needless(report, asked, recommended)
        }
        (ReserveEnd::Finished, Some(recommended)) if report.is_proven() => vec![keeping(report, asked, recommended)],
        (ReserveEnd::Finished, Some(_)) if value_of(asked.words, "", "--rounds") == Some("0") => {
            vec![NextStep::new("proves it", again(asked.words, &[("--rounds", "2")]))]
        }
        (ReserveEnd::Finished, Some(_)) if report.proof.is_none() && report.undecided() > 0 => {
            vec![shorter(asked.words)]
        }
        (ReserveEnd::Finished, Some(_)) => vec![more_attempts(asked.words), delayed(report, asked)],
    })
}

/// After a study of several devices, whose commands are of the devices as they were named, or of several threads.
pub fn after_reserve_together(report: &TogetherReport<'_>, competitors: &[String], words: &[String]) -> Vec<NextStep> {
    if report.end != ReserveEnd::Finished {
        return in_less_time(words).into_iter().collect();
    }
    if report.of_threads {
        return vec![after_threads(report, words)];
    }
    let beside = competing(competitors);
    let reserved: Vec<String> = report
        .rows
        .iter()
        .filter_map(|row| row.reservation.map(|reservation| format!("{}+{}", row.spec, context(reservation))))
        .collect();
    let mut steps = Vec::new();
    // One that had late jobs among the others would have them again.
    let has_failed = report.rows.iter().any(|row| row.reservation.is_some() && row.with.0.has_failed());
    if !reserved.is_empty() && !has_failed {
        let mix = format!("sudo punctual device mix {}{beside}", shell_word(&reserved.join(",")));
        steps.push(NextStep::new("runs them with their reservations", mix));
    }
    if let Some(row) = report.rows.iter().find(|row| row.reservation.is_none()) {
        let alone = format!("sudo punctual reserve {}{beside}", shell_word(row.spec));
        steps.push(NextStep::new(&format!("looks for a reservation of `{}` alone", row.device), alone));
    } else if !report.is_proven() {
        steps.push(after_unproven(report.has_open(), words));
    }
    few(steps)
}

/// The study with the options that take the least time, unless it had them already.
fn in_less_time(words: &[String]) -> Option<NextStep> {
    let is_shortest = SHORTER.iter().all(|(option, value)| value_of(words, "", option) == Some(*value));
    (!is_shortest).then(|| NextStep::new("takes less time", again(words, SHORTER)))
}

/// Nothing was proven: jobs were late, or not seen.
fn after_unproven(is_open: bool, words: &[String]) -> NextStep {
    if is_open { shorter(words) } else { more_attempts(words) }
}

/// After a finished study of several threads.
fn after_threads(report: &TogetherReport<'_>, words: &[String]) -> NextStep {
    if report.stays {
        return NextStep::new("puts the threads back", "sudo punctual reserve undo".to_owned());
    }
    if !report.is_proven() {
        return after_unproven(report.has_open(), words);
    }
    let own = words.iter().take_while(|word| *word != "--");
    let apply: &[(&str, &str)] = if own.into_iter().any(|word| word == "--apply") { &[] } else { &[("--apply", "")] };
    NextStep::new("proves them again and lets the threads keep them", again(words, apply))
}

/// After a study of a device's phases: the command is of the device as it was named.
pub fn after_reserve_phases(
    report: &PhasesReport<'_>,
    spec: &str,
    competitors: &[String],
    words: &[String],
) -> Vec<NextStep> {
    if report.end != ReserveEnd::Finished {
        return in_less_time(words).into_iter().collect();
    }
    // With what had late jobs when it was measured again the device would have them again.
    let has_failed = report.proof.as_ref().is_some_and(|proof| proof.with.has_failed());
    let found: Option<Vec<Reservation>> = report.rows.iter().map(|row| row.reservation).collect();
    let found = found.filter(|_| !has_failed);
    let written = every_value(words, "--phases").join(",");
    let mut steps = Vec::new();
    if let Some((found, first)) = found.and_then(|found| found.first().copied().map(|first| (found, first))) {
        let with = |(phase, of): (&str, &Reservation)| format!("{phase}+{}", as_option(*of));
        let phases: Vec<String> = written.split(',').zip(&found).map(with).collect();
        let command = format!(
            "sudo punctual device run {} --context {} --phases {}{}",
            shell_word(spec),
            context(first),
            shell_word(&phases.join(",")),
            competing(competitors)
        );
        steps.push(NextStep::new("runs the device with them", command));
    }
    if !report.is_proven() {
        steps.push(after_unproven(report.rows.iter().any(PhaseRow::is_open), words));
    }
    few(steps)
}

/// The reservation is proven: it is kept, or it was and can be given up.
fn keeping(report: &ReserveReport<'_>, asked: &ReserveAsked<'_>, recommended: Reservation) -> NextStep {
    match &asked.subject {
        ReserveSubject::Process(_) if report.stays => {
            NextStep::new("puts the thread back", "sudo punctual reserve undo".to_owned())
        }
        ReserveSubject::Process(process) => {
            let (thread, load) = (shell_word(&asked.thread), same_load(asked.words));
            let command = format!("sudo punctual reserve --pid {process} --thread {thread}{load} --apply");
            NextStep::new("proves it again and lets the thread keep it", command)
        }
        ReserveSubject::Command(words) => {
            NextStep::new("runs the command with it", held(report, asked, words, recommended))
        }
        ReserveSubject::Device(spec, competitors) => {
            let (spec, context, beside) = (shell_word(spec), context(recommended), competing(competitors));
            let command = format!("sudo punctual device run {spec} --context {context}{beside}");
            NextStep::new("runs the device with it", command)
        }
    }
}

/// No job was late without a reservation either: whether that holds under a load, or for longer. One with which the
/// program is later is no step.
fn after_needless(report: &ReserveReport<'_>, asked: &ReserveAsked<'_>, recommended: Reservation) -> Vec<NextStep> {
    let mut steps = Vec::new();
    let is_device = matches!(asked.subject, ReserveSubject::Device(..));
    if report.load.is_empty() && !is_device {
        let purpose = "looks again beside a load, under which it may need one";
        steps.push(NextStep::new(purpose, again(asked.words, &[("--load", "mixed")])));
    } else if !is_device {
        let purpose = "counts its overruns for longer, and records what makes them";
        steps.push(NextStep::new(purpose, delayed(report, asked).command));
    }
    if report.later.is_none() {
        steps.push(keeping(report, asked, recommended));
    }
    few(steps)
}

/// Nothing was sufficient: a priority that was, who delays the thread, and what has not been tried. What was tried and was not
/// sufficient is no step.
fn after_none(report: &ReserveReport<'_>, asked: &ReserveAsked<'_>) -> Vec<NextStep> {
    let mut steps = Vec::new();
    if let Some(priority) = report.sufficient_priority() {
        let command = match (&asked.subject, report.tid) {
            (ReserveSubject::Device(spec, competitors), _) => {
                let (spec, beside) = (shell_word(spec), competing(competitors));
                format!("sudo punctual device run {spec} --context thread:{priority}{beside}")
            }
            (ReserveSubject::Command(words), _) => format!("sudo chrt --fifo {priority} {}", command_of(words)),
            (ReserveSubject::Process(process), tid) => {
                format!("sudo chrt --fifo --pid {priority} {}", tid.unwrap_or(*process))
            }
        };
        steps.push(NextStep::new("uses the priority that was sufficient in its attempts", command));
    }
    if report.cannot_tell() && value_of(asked.words, "", "--attempt") != Some(SHORT_ATTEMPT) {
        steps.push(shorter(asked.words));
    }
    steps.push(delayed(report, asked));
    if let Some(longest_ns) = report.enough_for_best() {
        let purpose = format!(
            "allows each job TIME, how long all your buffers but one last: with the best reservation none took longer than {}",
            format_ns(longest_ns)
        );
        steps.push(NextStep::new(&purpose, again(asked.words, &[("--deadline", "TIME")])));
    }
    if report.has_untried() {
        steps.push(NextStep::new("tries every period and budget of the grid", again(asked.words, &[("--full", "")])));
    }
    steps
}

/// Each attempt and each round is shorter, so that in some of them every job is seen.
fn shorter(words: &[String]) -> NextStep {
    let options = [("--attempt", SHORT_ATTEMPT), ("--round", "1s")];
    NextStep::new("makes shorter attempts, in which fewer jobs are not seen", again(words, &options))
}

/// Who keeps the jobs from finishing in time.
fn delayed(report: &ReserveReport<'_>, asked: &ReserveAsked<'_>) -> NextStep {
    let whom = match (&asked.subject, report.tid) {
        (ReserveSubject::Device(spec, _), _) => {
            let command = format!("sudo punctual device study {}", shell_word(spec));
            return NextStep::new(IN_EVERY_CONTEXT, command);
        }
        // Its other threads have other periods, and would use up the evidence.
        (ReserveSubject::Command(_), _) => format!(" --comm {}", shell_word(&asked.thread)),
        (ReserveSubject::Process(_), Some(tid)) => format!(" --tid {tid}"),
        (ReserveSubject::Process(process), None) => format!(" --pid {process}"),
    };
    let command = match &asked.subject {
        ReserveSubject::Command(words) => format!(" -- {}", command_of(words)),
        _ => String::new(),
    };
    let load = same_load(asked.words);
    let [within, period] = [report.job.deadline_ns, report.job.period_ns].map(|ns| exact_time(roundest(ns)));
    // A command that does not end by itself would be followed for ever.
    let record = format!(
        "sudo punctual record -D 60s --why {within} --why-stage response{whom} --period {period}{load}{command}"
    );
    // Jobs in a row are one response, which may be that long without a late job.
    let purpose = if report.job.deadline_ns > report.job.period_ns {
        "records what delays it when it does not sleep for longer than the deadline, which may be several jobs in a row"
    } else {
        "records what makes its jobs late"
    };
    NextStep::new(purpose, record)
}

/// Twice as many attempts as before.
fn more_attempts(words: &[String]) -> NextStep {
    let attempts = value_of(words, "", "--attempts").and_then(|value| value.parse::<u64>().ok()).unwrap_or(ATTEMPTS);
    let twice = attempts.saturating_mul(2).min(100).to_string();
    NextStep::new("tries each setting more often, to meet rare delays", again(words, &[("--attempts", twice.as_str())]))
}

/// `punctual reserve run` of a command with a reservation for this thread.
fn held(report: &ReserveReport<'_>, asked: &ReserveAsked<'_>, words: &[String], reservation: Reservation) -> String {
    let program = words.first().and_then(|program| Path::new(program).file_name());
    let is_first = program.is_some_and(|name| name.to_string_lossy().chars().take(15).eq(report.thread.chars()));
    let named = format!(" --thread {}", shell_word(&asked.thread));
    // The first of a program's threads of its own name is the command's.
    let thread = match report.nth {
        Some(1) | None if is_first => String::new(),
        Some(nth) => format!("{named} --nth {nth}"),
        None => named,
    };
    format!("sudo punctual reserve run {}{thread} -- {}", as_option(reservation), command_of(words))
}

fn command_of(words: &[String]) -> String {
    words.iter().map(|word| shell_word(&printable(word))).collect::<Vec<_>>().join(" ")
}

/// A reservation as options take it: `2.3ms/10ms`.
fn as_option(reservation: Reservation) -> String {
    let Reservation { budget_ns, period_ns } = reservation;
    format!("{}/{}", exact_time(budget_ns), exact_time(period_ns))
}

/// A reservation as the context of a device.
fn context(reservation: Reservation) -> String {
    format!("reservation:{}", as_option(reservation))
}

fn competing(competitors: &[String]) -> String {
    competitors.iter().map(|competitor| format!(" --competitor {}", shell_word(competitor))).collect()
}

/// The same command with these options in place of its own, and with files of its own.
fn again(words: &[String], options: &[(&str, &str)]) -> String {
    const FILES: [&str; 4] = ["--output", "-o", "--html", "--export-markdown"];
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let (own, command) = words.split_at(end);
    let mut line = "sudo punctual".to_owned();
    let mut rest = own.iter().skip(1);
    while let Some(word) = rest.next() {
        let name = word.split('=').next().unwrap_or(word);
        if FILES.contains(&name) || options.iter().any(|(option, _)| *option == name) {
            // Its value, if that is a separate word.
            if !word.contains('=') {
                rest.next();
            }
        } else if !word.starts_with("-o") {
            line += &format!(" {}", shell_word(&printable(word)));
        }
    }
    for (option, value) in options {
        line += &format!(" {option}{}{value}", if value.is_empty() { "" } else { " " });
    }
    command.iter().for_each(|word| line += &format!(" {}", shell_word(&printable(word))));
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_command_has_other_values_and_no_files() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let line = "/usr/bin/punctual reserve -q --attempts=2 -o d --rounds 0 --export-markdown=x --html x -oe v90 -- ./loop --rounds 7";
        assert_eq!(
            again(&words(line), &[("--rounds", "2"), ("--attempts", "4")]),
            "sudo punctual reserve -q v90 --rounds 2 --attempts 4 -- ./loop --rounds 7"
        );
        assert_eq!(
            every_value(&words("punctual reserve v90 --phases 18@8kHz:2s --phases=90@8kHz:9s"), "--phases").join(","),
            "18@8kHz:2s,90@8kHz:9s"
        );
        let short = in_less_time(&words("punctual reserve --rounds=2 v90")).unwrap().command;
        assert_eq!(in_less_time(&words(&short[5..])), None, "the same command is no step: {short}");
        let several = "punctual reserve --pid 7,8 -o d";
        assert_eq!(again(&words(several), &[("--apply", "")]), "sudo punctual reserve --pid 7,8 --apply");
        let twice = |line: &str| more_attempts(&words(line)).command;
        assert_eq!(twice("punctual reserve v90"), "sudo punctual reserve v90 --attempts 6");
        assert_eq!(twice("punctual reserve v90 --attempts 90"), "sudo punctual reserve v90 --attempts 100");
    }
}
