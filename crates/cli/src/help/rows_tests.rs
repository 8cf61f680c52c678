//! The matrix of kernels runs every command, or says why not.

use super::command;
use clap::Command;
use punctual_conformance::matrix::{ROWLESS, scripts};

/// Every command that does something by itself, by the words that lead to it, with the names of those below it.
fn commands(above: &Command, path: &str, found: &mut Vec<(String, Vec<String>)>) {
    for one in above.get_subcommands() {
        let path = format!("{path} {}", one.get_name()).trim().to_owned();
        let below: Vec<String> = one.get_subcommands().map(|below| below.get_name().to_owned()).collect();
        commands(one, &path, found);
        if below.is_empty() || !one.is_subcommand_required_set() {
            found.push((path, below));
        }
    }
}

/// Whether a shell script calls a command, and not one below it.
fn is_called(script: &str, path: &str, below: &[String]) -> bool {
    let call = format!("punctual {path}");
    script.match_indices(&call).any(|(at, _)| {
        let rest = &script[at + call.len()..];
        let next = rest.split_whitespace().next().unwrap_or_default();
        (rest.is_empty() || rest.starts_with(char::is_whitespace)) && !below.iter().any(|name| name == next)
    })
}

#[test]
fn every_command_has_a_row_or_a_reason_for_none() {
    let (scripts, mut every) = (scripts(), Vec::new());
    commands(&command(), "", &mut every);
    let mut wrong = Vec::new();
    for (path, below) in &every {
        let has_row = scripts.iter().any(|script| is_called(script, path, below));
        let is_listed = ROWLESS.iter().any(|(command, _)| command == path);
        if has_row == is_listed {
            wrong.push(format!("{path}: has a row: {has_row}; is listed without one: {is_listed}"));
        }
    }
    wrong.extend(
        ROWLESS
            .iter()
            .filter(|(command, _)| !every.iter().any(|(path, _)| path == command))
            .map(|(command, _)| format!("{command}: there is no such command")),
    );
    assert!(every.len() > 40, "only {} commands: {every:?}", every.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_command_is_not_the_one_below_it() {
    let below = ["show".to_owned()];
    assert!(is_called("punctual log -q && punctual log show a", "log", &below));
    assert!(is_called("punctual log -q && punctual log show a", "log show", &[]));
    assert!(!is_called("punctual log show a", "log", &below));
    assert!(!is_called("punctual log show a", "lo", &[]));
    assert!(is_called("punctual idle", "idle", &[]));
}
