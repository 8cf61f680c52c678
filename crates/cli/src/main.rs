//! The command `punctual`: arguments, progress, exit codes, nothing else.
//!
//! `args` is what may be typed, `help` how that is explained, `commands` what each command does with it. `output` prints
//! the answer for the reader that `look` finds, and `cannot_write` words what could not be written. `progress` and
//! `reading` say meanwhile how far it is; `signals` hears when it is to end.

mod args;
mod cannot_write;
mod commands;
mod help;
mod look;
mod output;
mod progress;
mod reading;
mod signals;

use args::drill::NoDrill;
use args::{Arguments, Command};
use clap::FromArgMatches;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use output::{Output, USAGE, one_line};
use punctual_context::drill::{DrillKind, UnknownDrill};
use punctual_load::SourceError;
use punctual_report::answer::Failure;
use std::error::Error as _;
use std::process::ExitCode;

/// Makes a reader that hits its memory bound say so; see [`commands::bound_reader`].
#[global_allocator]
static MEMORY: punctual_kernel::memory_bound::BoundedMemory = punctual_kernel::memory_bound::BoundedMemory;

/// A stack smaller than this may not be enough for the program, bytes.
const SMALL_STACK: u64 = 1 << 20;
/// The stack that the program gets instead, bytes.
const OWN_STACK: usize = 2 << 20;

fn main() -> ExitCode {
    // Before anything else, because the BPF library prints on its own.
    punctual_kernel::listen(false);
    signals::outlive_file_limit();
    // Hidden subcommands skip the parser: they are not worth its time and must not fail because of it.
    let words: Vec<_> = std::env::args_os().collect();
    match words.get(1).and_then(|word| word.to_str()) {
        Some(punctual_kernel::guard::SUBCOMMAND) => return commands::hidden::guard(),
        Some(punctual_kernel::keeper::SUBCOMMAND) => return commands::hidden::keeper(),
        Some(punctual_probe::idle::echo::SUBCOMMAND) => return commands::hidden::echo_program(&words[2..]),
        Some(punctual_context::own::served::SUBCOMMAND) => return commands::hidden::own_work(&words[2..]),
        Some(commands::budget::SUBCOMMAND) => return commands::budget::run(&words[2..]),
        Some(punctual_load::built_in::SUBCOMMAND) => return commands::hidden::built_in_load(&words[2..]),
        _ => {}
    }
    if punctual_kernel::limits::stack().is_none_or(|limit| limit >= SMALL_STACK) {
        return run(&words);
    }
    let thread = std::thread::Builder::new().stack_size(OWN_STACK).spawn(move || run(&words));
    thread.ok().and_then(|thread| thread.join().ok()).unwrap_or(ExitCode::FAILURE)
}

fn run(words: &[std::ffi::OsString]) -> ExitCode {
    let parsed = help::fitted(help::command(), look::help_columns()).try_get_matches_from(words);
    let parsed = parsed
        .and_then(|matches| Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut help::command())));
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) => return refuse_usage(&error, words),
    };
    punctual_kernel::listen(arguments.verbose);
    let output = Output { json: arguments.json, markdown: arguments.markdown };
    look::at_the_reader(output.markdown);
    punctual_kernel::ending::say_farewell_with(move |said| output.failure(&Failure::new(said, None, 1)));
    commands::bound_reader(&arguments.command, output);
    let file = arguments.export_markdown;
    let result = commands::markdown_file::begin(file.as_ref()).and_then(|()| answer(arguments.command, output));
    let is_answered = result.is_ok();
    let mut code = result.unwrap_or_else(|error| output.fail(&error));
    if let Some(file) = &file {
        code = code.max(commands::markdown_file::write(file, is_answered));
    }
    if code == 0 && signals::was_hung_up() {
        let said = "a hangup cut the run short; what was measured until then was kept";
        output::say(&Failure::new(said, None, 1).text());
        code = 1;
    }
    if output::is_unwritten() {
        output::say(&Failure::new("the answer could not be written to the standard output", None, 1).text());
        return ExitCode::FAILURE;
    }
    ExitCode::from(code)
}

/// Does what was asked, prints the answer, and gives the exit code.
fn answer(command: Command, output: Output) -> anyhow::Result<u8> {
    match command {
        Command::Check(check) => commands::check::run(&check, output),
        Command::Record(record) => commands::record::run(&record, output),
        Command::Report(report) => commands::report::run(&report, output),
        Command::Why(why) => commands::why::run(&why, output),
        Command::Log(log) => commands::log::run(&log, output),
        Command::Compare(compare) => commands::compare::run(&compare, output),
        Command::Idle(idle) => commands::idle::run(&idle, output),
        Command::Interact(interact) => commands::interact::run(&interact, output),
        Command::Forecast(forecast) => commands::forecast::run(&forecast, output),
        Command::Schedulability(tasks) => commands::schedulability::run(&tasks, output),
        Command::Sim(sim) => commands::sim::run(&sim.command, output),
        Command::Timers(timers) => commands::timers::run(&timers, output),
        Command::Drill(drill) => commands::drill::run(&drill, output),
        Command::Load(load) => commands::load::run(&load, output),
        Command::Device(device) => commands::device::run(&device.command, output),
        Command::Reserve(reserve) => commands::reserve::run(&reserve, output),
        Command::Rialto(rialto) => commands::rialto::run(&rialto.command, output),
        Command::Lab(lab) => commands::lab::run(&lab.command, output),
        Command::Modem(modem) => commands::modem::run(&modem.command, output),
        Command::Capabilities { rows } => commands::capabilities::run(&rows, output),
        Command::Completions { shell } => commands::generate::completions(shell),
        Command::Man { directory } => commands::generate::man(&directory, output),
    }
}

/// Help and version are not errors; everything else is one line and the right exit code, as JSON if the user asked for
/// that.
fn refuse_usage(error: &clap::Error, words: &[std::ffi::OsString]) -> ExitCode {
    let is_bare = words.len() <= 1;
    if let Some(instead) = histogram_of_cyclictest(words) {
        let hint = format!("{instead}. See punctual record -h");
        let json = words.iter().take_while(|word| *word != "--").any(|word| word == "--json");
        Output { json, markdown: false }.failure(&Failure::new(
            "-h is help here, and takes no number",
            Some(&hint),
            USAGE,
        ));
        return ExitCode::from(USAGE);
    }
    if is_bare || !error.use_stderr() {
        let printed = match error.kind() {
            _ if is_bare => help::brief_command().print_help(),
            ErrorKind::DisplayHelp if help::is_brief(words) => {
                let brief = help::fitted(help::brief_command(), look::help_columns());
                brief.try_get_matches_from(words).map_or_else(|brief| brief.print(), |_| error.print())
            }
            _ => error.print(),
        };
        let is_read = printed.is_ok() && !punctual_kernel::standard_output::was_closed();
        return if is_read { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let message = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            format!("a subcommand is missing{}", help::subcommands_of(words))
        }
        _ => one_line(&error.to_string()),
    };
    let instead = of_cyclictest(error, words).or_else(|| of_recordings(error, words));
    let instead = instead.or_else(|| of_exports(error)).or_else(|| of_devices(error, words));
    let instead = instead.or_else(|| of_sides(error, words)).or_else(|| of_held_commands(error, words));
    let instead = instead.or_else(|| of_applied(error, words));
    let (message, suggested) = match suggestion(error).or_else(|| subcommand_meant(error, words)) {
        None => name_suggestion(error, message),
        suggested => (message, suggested),
    };
    let (message, hint) = match (instead, suggested) {
        (Some(instead), _) => (message, format!("{instead}. See {}", help_for(words))),
        // Who is told the right word needs no list of all.
        (None, Some(suggested)) => (
            message.split(" [possible values:").next().unwrap_or(&message).to_owned(),
            format!("did you mean `{suggested}`? See {}", help_for(words)),
        ),
        (None, None) => (message, format!("see {}", help_for(words))),
    };
    let json = words.iter().take_while(|word| *word != "--").any(|word| word == "--json");
    Output { json, markdown: false }.failure(&Failure::new(&message, Some(&hint), USAGE));
    ExitCode::from(USAGE)
}

/// The existing word that is most like one that does not exist.
fn suggestion(error: &clap::Error) -> Option<String> {
    let of = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.clone()),
        Some(ContextValue::Strings(words)) => words.first().cloned(),
        _ => None,
    };
    let kinds = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    kinds.into_iter().find_map(of)
}

/// The subcommand that is most like a word which its command does not know.
fn subcommand_meant(error: &clap::Error, words: &[std::ffi::OsString]) -> Option<String> {
    let kind = match error.kind() {
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        _ => return None,
    };
    let Some(ContextValue::String(unknown)) = error.get(kind) else { return None };
    let names = help::subcommands(words);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    punctual_device::nearest(unknown, &names)
}

/// The load or drill whose name is most like an unknown word, and the message without the full list.
fn name_suggestion(error: &clap::Error, message: String) -> (String, Option<String>) {
    let Some(source) = error.source() else { return (message, None) };
    let (word, what, by_what_it_does, names) = if let Some(SourceError::Unknown(word)) = source.downcast_ref() {
        (word, "load", punctual_load::meant(word), punctual_load::names())
    } else if let Some(NoDrill(UnknownDrill(word))) = source.downcast_ref() {
        (word, "drill", None, DrillKind::ALL.map(DrillKind::name).to_vec())
    } else {
        return (message, None);
    };
    let meant = by_what_it_does.map(str::to_owned).or_else(|| punctual_device::nearest(word, &names));
    let Some(nearest) = meant else { return (message, None) };
    let before = message.strip_suffix(&source.to_string()).unwrap_or_default();
    (format!("{before}`{word}` is not a {what}"), Some(nearest))
}

/// What cyclictest's options that `record` does not have mean here, by letter and by name.
const CYCLICTEST: &[(&str, &str, &str)] = &[
    ("-t", "--threads", "cyclictest's -t is -a here: one thread on each of these CPUs, and `-p 95,50` for two"),
    ("-S", "--smp", "cyclictest's -S is what `record` does by itself: one thread on each CPU, -a chooses"),
    ("-m", "--mlockall", "cyclictest's -m is not needed here: memory is always locked where that is allowed"),
    ("-n", "--nanosleep", "cyclictest's -n is not needed here: threads always sleep in clock_nanosleep"),
    ("-l", "--loops", "cyclictest's -l, a number of loops, is a time here: 10,000 loops of 1 ms are -D 10s"),
    ("-d", "--distance", "cyclictest's -d is not needed here: all threads have the interval of -i"),
    ("-c", "--clock", "cyclictest's -c is not needed here: threads always sleep by CLOCK_MONOTONIC"),
    ("-a", "--affinity", "cyclictest's --affinity is -a here, or --cpus"),
    ("-p", "--prio", "cyclictest's --prio is -p here, or --priority"),
    ("-b", "--breaktrace", "cyclictest's --breaktrace is -b here, or --break"),
    (
        "-N",
        "--nsecs",
        "cyclictest's -N is not needed here: recordings are in nanoseconds, and answers name their units",
    ),
    ("--laptop", "--laptop", "cyclictest's --laptop is --no-power-request here: processors may enter deep idle states"),
    ("-H", "--histofall", "cyclictest's -H is `--hist` here: a column for each thread, every microsecond, no bound"),
    ("--histogram", "--histogram", HISTOGRAM),
    ("--histfile", "--histfile", "cyclictest's --histfile is `--hist > FILE` here"),
    ("-r", "--relative", "cyclictest's -r is `punctual timers --way nanosleep-relative` here"),
    ("-x", "--posix_timers", "cyclictest's -x is `punctual timers --way posix-signal` here"),
    ("-R", "--resolution", "cyclictest's -R is `punctual timers` here: it prints what clocks and timers can resolve"),
    ("-M", "--refresh_on_max", "cyclictest's -M is not needed here: progress shows the maximum, and -q shows none"),
    ("-u", "--unbuffered", "cyclictest's -u is not needed here: progress goes to standard error at once"),
    (
        "-e",
        "--latency",
        "cyclictest's --latency is not needed here: deep idle states are kept off unless --no-power-request is given",
    ),
    ("--default-system", "--default-system", "cyclictest's --default-system is --no-power-request here"),
    ("--tracemark", "--tracemark", "cyclictest's --tracemark is --why here: it keeps what made a wakeup late"),
    ("--spike", "--spike", "cyclictest's --spike is --why here: it keeps each wakeup later than that, with its causes"),
];
/// Where the histogram is, and why it needs no number.
const HISTOGRAM: &str =
    "cyclictest's -h 400 is `--hist` here: it has every microsecond, however late, and needs no bound";

/// What a user means who asks for help with a number: cyclictest's `-h 400` is a histogram.
fn histogram_of_cyclictest(words: &[std::ffi::OsString]) -> Option<&'static str> {
    let words: Vec<&str> =
        words.iter().map(|word| word.to_str().unwrap_or_default()).take_while(|word| *word != "--").collect();
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let joined = || words.iter().any(|word| word.strip_prefix("-h").is_some_and(is_number));
    let apart = || words.windows(2).any(|pair| pair[0] == "-h" && is_number(pair[1]));
    let is_asked = words.get(1) == Some(&"record") && (joined() || apart());
    is_asked.then_some(HISTOGRAM)
}

/// What somebody who knows cyclictest means by an option that `record` does not have.
fn of_cyclictest(error: &clap::Error, words: &[std::ffi::OsString]) -> Option<&'static str> {
    let is_record = words.iter().any(|word| word == "record");
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg).filter(|_| is_record) else {
        return None;
    };
    let found = CYCLICTEST.iter().find(|(letter, long, _)| unknown.starts_with(letter) || unknown == long);
    found.map(|(.., instead)| *instead)
}

/// Options of `record` that `compare` does not have: it measures threads of its own only.
const OF_RECORDINGS: [&str; 7] = ["--pid", "--tid", "--comm", "--follow", "--period", "--why", "--why-stage"];

/// How sides are compared whose threads `compare` does not measure itself.
fn of_recordings(error: &clap::Error, words: &[std::ffi::OsString]) -> Option<&'static str> {
    let command = words.iter().skip(1).find(|word| !word.to_string_lossy().starts_with('-'))?;
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return None };
    (command == "compare" && OF_RECORDINGS.contains(&unknown.as_str())).then_some(
        "`compare --repeat` measures punctual's own threads only: record the sides in turn with `punctual record`, each in a \
         directory of its own, and compare these: `punctual compare A B`",
    )
}

/// Options by which other programs write an answer into a file, and what prints it here.
const EXPORTS: [(&str, &str); 2] = [
    ("--export-json", "`--json` prints the answer as JSON; `> FILE.json` behind it makes a file of it"),
    ("--export-csv", "`punctual report RECORDING --csv` prints a table; `> FILE.csv` behind it makes a file of it"),
];

/// What somebody means who wants the answer in a file.
fn of_exports(error: &clap::Error) -> Option<&'static str> {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return None };
    EXPORTS.iter().find(|(option, _)| unknown == option).map(|(_, instead)| *instead)
}

/// Options in which other audio programs take parts of what is one word here.
const OF_BUFFERS: [&str; 6] = ["--frames", "--rate", "--samplerate", "--buffer-size", "--nperiods", "--periods"];

/// How a device is asked about, where a command measures or shows threads only, and how its buffers are written.
fn of_devices(error: &clap::Error, words: &[std::ffi::OsString]) -> Option<&'static str> {
    let command = words.iter().skip(1).find(|word| !word.to_string_lossy().starts_with('-'))?;
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return None };
    let takes_devices = ["check", "record", "forecast"].contains(&command.to_str().unwrap_or_default());
    if takes_devices && OF_BUFFERS.contains(&unknown.as_str()) {
        return Some(
            "frames, rate and buffers are written together: `--device 'audio 64@48kHz x3'` of check and forecast, \
             `-i 64@48kHz` of record",
        );
    }
    let is_it = unknown == "--device" && (command == "record" || command == "report");
    is_it.then_some(
        "`punctual check --device` measures for a device, `punctual forecast RECORDING --device` judges by a recording",
    )
}

/// The options of `compare` that say what makes a side.
const OF_SIDES: [&str; 4] = ["--a", "--b", "--while-a", "--while-b"];

/// What somebody has to add who gives `compare` no sides, one only, or what makes them without measuring.
fn of_sides(error: &clap::Error, words: &[std::ffi::OsString]) -> Option<&'static str> {
    let mut words = words.iter().skip(1).map(|word| word.to_str().unwrap_or_default());
    words.find(|word| !word.starts_with('-')).filter(|command| *command == "compare")?;
    let is_missing = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::MissingRequiredArgument, Some(ContextValue::Strings(missing))) => {
            missing.iter().any(|argument| argument.contains("<A>"))
        }
        (kind, _) => kind == ErrorKind::TooFewValues,
    };
    if !is_missing {
        return None;
    }
    if words.any(|word| OF_SIDES.contains(&word.split('=').next().unwrap_or_default())) {
        return Some("--a and --b are measured in turn with --repeat: add `--repeat 5`");
    }
    Some("give two recordings or directories, or let `--repeat 5 --a ... --b ...` measure both sides in turn")
}

/// What is missing before a command that `reserve run` is to start.
fn of_held_commands(error: &clap::Error, words: &[std::ffi::OsString]) -> Option<&'static str> {
    let mut words = words.iter().skip(1).filter(|word| !word.to_string_lossy().starts_with('-'));
    let is_run = words.next()? == "reserve" && words.next()? == "run";
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg).filter(|_| is_run) else {
        return None;
    };
    let is_word = error.kind() == ErrorKind::UnknownArgument && !unknown.starts_with('-');
    is_word.then_some("the command goes after `--`: `punctual reserve run 2.2ms/10ms -- ./my-loop`")
}

/// Subcommands of `reserve` that are written as options.
const OF_APPLIED: [(&str, &str); 2] = [
    ("--undo", "`punctual reserve undo` restores the threads that --apply gave a reservation"),
    ("--list", "`punctual reserve list` lists the threads that --apply gave a reservation"),
];

/// What somebody means who asks `reserve` for what was applied with an option.
fn of_applied(error: &clap::Error, words: &[std::ffi::OsString]) -> Option<&'static str> {
    let command = words.iter().skip(1).find(|word| !word.to_string_lossy().starts_with('-'))?;
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return None };
    let found = OF_APPLIED.iter().find(|(option, _)| command == "reserve" && unknown == option);
    found.map(|(_, instead)| *instead)
}

/// Where to find the right usage: in the subcommand's help, if the words name a subcommand.
fn help_for(words: &[std::ffi::OsString]) -> String {
    let root = help::command();
    let (mut command, mut named) = (&root, String::new());
    for word in words.iter().skip(1) {
        if let Some(below) = command.find_subcommand(word) {
            named = format!("{named}{} ", below.get_name());
            command = below;
        } else if !named.is_empty() && !word.to_string_lossy().starts_with('-') {
            break;
        }
    }
    format!("punctual {named}--help")
}
