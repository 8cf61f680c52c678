//! The command `punctual`: arguments, progress, exit codes, nothing else.

mod args;
mod commands;
mod output;
mod progress;
mod signals;

use args::{Arguments, Command};
use clap::Parser;
use output::Output;
use std::process::ExitCode;

/// Wrong usage, as other tools of this field exit with.
const USAGE: u8 = 129;

fn main() -> ExitCode {
    // Hidden subcommands are not worth the parser's time and must not fail on its account.
    let words: Vec<_> = std::env::args_os().collect();
    match words.get(1).and_then(|word| word.to_str()) {
        Some(punctual_kernel::guard::SUBCOMMAND) => return commands::hidden::guard(),
        Some(punctual_load::built_in::SUBCOMMAND) => return commands::hidden::built_in_load(&words[2..]),
        _ => {}
    }
    let arguments = match Arguments::try_parse_from(&words) {
        Ok(arguments) => arguments,
        Err(error) => return refuse_usage(&error, &words),
    };
    let output = Output { json: arguments.json, csv: false };
    let result = match arguments.command {
        Command::Check(check) => commands::check::run(&check, output),
        Command::Record(record) => commands::record::run(&record, output),
        Command::Report(report) => commands::report::run(&report, output),
        Command::Capabilities => commands::capabilities::run(output),
        Command::Completions { shell } => commands::generate::completions(shell),
        Command::Man { directory } => commands::generate::man(&directory, output),
    };
    let code = result.unwrap_or_else(|error| output.fail(&error));
    ExitCode::from(code)
}

/// Help and version are no errors; everything else is one line and the right exit code, as JSON where it was asked for.
fn refuse_usage(error: &clap::Error, words: &[std::ffi::OsString]) -> ExitCode {
    if !error.use_stderr() {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let until_command = words.iter().take_while(|word| *word != "--");
    if until_command.into_iter().any(|word| word == "--json") {
        let text = error.to_string();
        let message = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        output::print(&output::pretty(&punctual_report::error(&message, Some("punctual --help"), USAGE)));
    } else {
        let _ = error.print();
    }
    ExitCode::from(USAGE)
}
