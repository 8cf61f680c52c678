//! How the command line describes itself: `-h` of every command is one screen, `--help` has everything, in groups.

use crate::support::{code, every_command, punctual, stderr, stdout};

/// The smallest usual terminal.
const LINES: usize = 24;
const COLUMNS: usize = 80;

fn said(command: &str, flag: &str) -> String {
    let output = punctual().env("COLUMNS", "80").args(command.split_whitespace()).arg(flag).output();
    let output = output.expect("the program starts");
    assert_eq!((code(&output), stderr(&output)), (0, String::new()), "{command} {flag}");
    stdout(&output)
}

#[test]
fn every_short_help_fits_one_screen() {
    let commands = every_command();
    assert!(commands.len() > 40, "only {} commands", commands.len());
    let mut faults = Vec::new();
    for command in &commands {
        let text = said(command, "-h");
        let lines = text.trim_end().lines().count();
        if lines > LINES {
            faults.push(format!("punctual {command} -h: {lines} lines"));
        }
        let wide = text.lines().filter(|line| line.chars().count() > COLUMNS);
        faults.extend(wide.map(|line| format!("punctual {command} -h: {line}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Where a screen leaves something out it says where to find it, and it is there.
#[test]
fn a_short_help_leads_to_the_whole_one() {
    let mut shortened = 0;
    for command in every_command() {
        let (brief, whole) = (said(&command, "-h"), said(&command, "--help"));
        if command.is_empty() {
            continue;
        }
        let options = |text: &str| {
            // An example goes on in a line that may begin with an option, perhaps of another command: `help/pages_tests.rs` looks
            // that up where it belongs.
            let text = text.split("\nExample").next().unwrap_or_default();
            // What an option does stands further right, and may begin a line with the name of another.
            let named = text.lines().filter(|line| line.starts_with("  ") && !line.starts_with("       "));
            let words = named.flat_map(|line| line.split_whitespace().take(2));
            let words = words.map(|word| word.trim_end_matches(',').to_owned()).filter(|word| word.starts_with("--"));
            words.collect::<std::collections::BTreeSet<String>>()
        };
        let (few, all) = (options(&brief), options(&whole));
        assert!(few.is_subset(&all), "{command}: {few:?} of {all:?}");
        // Every command has --json, --markdown, --export-markdown and --verbose, which no screen shows.
        if few.len() + 4 < all.len() {
            shortened += 1;
            assert!(brief.contains(&format!("punctual {command} --help")), "{brief}");
        }
    }
    assert!(shortened > 10, "only {shortened} are shortened");
}

#[test]
fn options_stand_in_groups() {
    let help = said("record", "--help");
    let place = |heading: &str| help.find(&format!("\n{heading}:\n")).unwrap_or_else(|| panic!("no {heading}: {help}"));
    let groups = ["What is measured", "What keeps the machine busy", "Limits", "Evidence of causes"];
    for group in groups {
        assert!(place(group) > 0);
    }
    let load = &help[place("What keeps the machine busy")..];
    assert!(load[..load.find("\n\n\n").unwrap_or(load.len())].contains("--load-command"));
    let root = said("", "--help");
    for group in ["Measure:", "Explain and predict:", "Try out:", "Rarely needed:"] {
        assert_eq!(root.matches(&format!("\n{group}\n")).count(), 1, "{root}");
    }
}

/// Who has the program alone, without the pages, learns how to compare what no command can switch.
#[test]
fn the_help_of_compare_says_how_to_compare_across_a_reboot() {
    let help = said("compare", "--help").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("To compare kernels or boot settings, record each side with `punctual record`"), "{help}");
    assert!(help.contains("in turn across reboots"), "{help}");
}

/// A wrong word gets the right one as its answer, whichever help the user asks for.
#[test]
fn what_was_meant_is_said() {
    for (words, meant) in [
        ("recrod -h", "record"),
        ("record --polcy fifo", "--policy"),
        ("sim runn", "run"),
        ("sim run nt-timer-table3", "nt-timers-table3"),
    ] {
        let output = punctual().args(words.split_whitespace()).output().expect("the program starts");
        assert_eq!(code(&output), 129, "{words}");
        assert!(stderr(&output).contains(&format!("did you mean `{meant}`?")), "{words}: {}", stderr(&output));
    }
    // What is written as a file is one that is not there, which is no wrong usage.
    let output = punctual().args(["sim", "run", "nt-timer-table3.toml"]).output().expect("the program starts");
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("did you mean `nt-timers-table3`?"), "{}", stderr(&output));
}
