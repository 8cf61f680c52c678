//! How the command line describes itself: `-h` is one screen, `--help` has everything, in groups.

mod fitting;
mod screens;

use crate::args::Arguments;
use clap::builder::Resettable;
use clap::{Arg, Command, CommandFactory};
pub(crate) use fitting::fitted;

/// Options by topic, in the order of `--help`. A command with few options lists them all together.
const GROUPS: [(&str, &[&str]); 7] = [
    (
        "What is measured",
        &["cpus", "cpu", "interval", "priority", "policy", "via", "wake", "no_bpf", "no_power_request"],
    ),
    ("Both sides", &["repeat", "a", "b", "while_a", "while_b", "all_repeats"]),
    ("What keeps the machine busy", &["load", "load_command", "ignore_failure", "competitor"]),
    ("Limits", &["break_ns", "limit"]),
    ("Evidence of causes", &["why", "why_stage", "sample_rate", "why_episodes"]),
    (OTHERS, &["pid", "tid", "comm", "follow"]),
    (
        "Output",
        &[
            "output",
            "html",
            "csv",
            "markdown",
            "export_markdown",
            "perfetto",
            "folded",
            "hist",
            "by_cpu",
            "table",
            "quiet",
            "json",
            "verbose",
        ],
    ),
];
const OTHERS: &str = "Threads of other programs, instead of punctual's own";

/// Commands by purpose, in the order of the help; a command in no group comes last.
const COMMANDS: [(&str, &[&str]); 3] = [
    ("Measure:", &["check", "record", "log", "idle", "interact", "timers"]),
    ("Explain and predict:", &["report", "why", "compare", "forecast"]),
    ("Try out:", &["load", "drill", "device", "reserve", "sim"]),
];
const LAST: &str = "Rarely needed:";

/// With this many options or more, a command shows them in groups.
const MIN_GROUPED: usize = 10;
/// How many lines of examples `-h` shows, and how wide they may be.
const MAX_EXAMPLES: usize = 3;
const MAX_COLUMNS: usize = 80;

/// The command line as it is parsed and as `--help` shows it.
pub(crate) fn command() -> Command {
    let command = grouped(Arguments::command());
    let rows: String = every_group(&command).map(|(title, names)| group_rows(&command, title, &names)).collect();
    command
        .help_template(format!("{{about}}\n\n{{usage-heading}} {{usage}}\n\n{rows}Options:\n{{options}}{{after-help}}"))
}

/// The same as `-h` shows it: each command fits on one screen.
pub(crate) fn brief_command() -> Command {
    let command = command();
    let mut rows: String = every_group(&command)
        .filter(|(title, _)| *title != LAST)
        .map(|(title, names)| group_rows(&command, title, &names))
        .collect();
    rows = rows.replace("\n\n", "\n");
    let last: Vec<&str> =
        every_group(&command).filter(|(title, _)| *title == LAST).flat_map(|(_, names)| names).collect();
    let (above, below) = last.split_at(last.len() / 2 + 1);
    rows += &format!("Also: {},\n      {}; see --help\n", above.join(", "), below.join(", "));
    let root = format!(
        "{{about}}\n{{usage-heading}} {{usage}}\n{rows}`punctual COMMAND -h` fits a screen; `--help` shows all"
    );
    // `--help` says what these are; every command has them.
    let hidden = |command: Command, id: &str| command.mut_arg(id, |argument| argument.hide_short_help(true));
    brief(["json", "markdown", "export_markdown", "verbose"].into_iter().fold(command, hidden), &[]).help_template(root)
}

/// Whether the words ask for help with `-h`, which does not show everything.
pub(crate) fn is_brief(words: &[std::ffi::OsString]) -> bool {
    let before = words.iter().skip(1).take_while(|word| *word != "--");
    !before.enumerate().any(|(index, word)| word == "--help" || (index == 0 && word == "help"))
}

/// The subcommands of the command that these words name, after a colon; empty if it has none.
pub(crate) fn subcommands_of(words: &[std::ffi::OsString]) -> String {
    let names = subcommands(words);
    if names.is_empty() { String::new() } else { format!(": give one of {}", names.join(", ")) }
}

/// The names of these subcommands. Options may stand before the command's name.
pub(crate) fn subcommands(words: &[std::ffi::OsString]) -> Vec<String> {
    let (mut found, mut is_named) = (command(), false);
    for word in words.iter().skip(1) {
        match word.to_str().and_then(|word| found.find_subcommand(word)).cloned() {
            Some(named) => (found, is_named) = (named, true),
            None if is_named => break,
            None => {}
        }
    }
    let visible = found.get_subcommands().filter(|one| !one.is_hide_set());
    visible.map(|one| one.get_name().to_owned()).collect()
}

fn every_group(command: &Command) -> impl Iterator<Item = (&'static str, Vec<&str>)> {
    let named = COMMANDS.iter().map(|(title, names)| (*title, names.to_vec()));
    let is_last = |name: &&str| *name != "help" && !COMMANDS.iter().any(|(_, names)| names.contains(name));
    let last: Vec<&str> = command.get_subcommands().map(Command::get_name).filter(is_last).collect();
    named.chain(std::iter::once((LAST, last)))
}

/// A heading and a line for each command.
fn group_rows(command: &Command, title: &str, names: &[&str]) -> String {
    let row = |name: &&str| {
        let about = command.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
        format!("  {name:<14}  {}\n", about.unwrap_or_default())
    };
    format!("{title}\n{}\n", names.iter().map(row).collect::<String>())
}

/// Puts options under headings if there are many.
fn grouped(command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let command = names.into_iter().fold(command, |command, name| command.mut_subcommand(name, grouped));
    if command.get_opts().count() < MIN_GROUPED {
        return command;
    }
    // Options that all commands share are added to each command only when words are parsed.
    let is_root = command.get_name() == "punctual";
    command.mut_args(|argument| if is_root || argument.is_positional() { argument } else { under_heading(argument) })
}

fn under_heading(argument: Arg) -> Arg {
    let id = argument.get_id().as_str().to_owned();
    match GROUPS.iter().find(|(_, ids)| ids.contains(&id.as_str())) {
        Some((heading, _)) => argument.help_heading(*heading),
        None => argument,
    }
}

/// Keeps only what fits on a screen.
fn brief(command: Command, path: &[&str]) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let command = names.iter().fold(command, |command, name| {
        let path: Vec<&str> = path.iter().copied().chain([name.as_str()]).collect();
        command.mut_subcommand(name, |below| brief(below, &path))
    });
    let Some(screen) = screens::of(path) else { return command };
    let end = format!("{}Full help: punctual {} --help", examples(&command), path.join(" "));
    command.disable_help_subcommand(true).after_help(end).mut_args(|argument| shortened(argument, screen))
}

fn shortened(argument: Arg, screen: screens::Screen) -> Arg {
    let takes_value = argument.get_action().takes_values();
    let argument = argument.help_heading(Resettable::Reset);
    let argument = argument.hide_default_value(takes_value).hide_possible_values(takes_value);
    match screen.iter().position(|(id, _)| argument.get_id() == id) {
        Some(order) => argument.help(screen[order].1).display_order(order),
        None => argument.hide_short_help(true),
    }
}

/// The first examples that fit on a line.
fn examples(command: &Command) -> String {
    let all = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let lines = all
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        .filter(|line| line.chars().count() <= MAX_COLUMNS);
    let lines: Vec<&str> = lines.take(MAX_EXAMPLES).collect();
    if lines.is_empty() { String::new() } else { format!("Examples:\n{}\n\n", lines.join("\n")) }
}

#[cfg(test)]
mod pages_tests;

#[cfg(test)]
mod rows_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_says_what_its_own_period_is_by_default() {
        let command = command();
        for (name, default) in [
            ("check", "[default: 1ms, or the period of the only --device]"),
            ("record", "[default: 1ms]"),
            ("compare", "[default: 1ms]"),
        ] {
            let its = command.find_subcommand(name).unwrap();
            let interval = its.get_arguments().find(|argument| argument.get_id().as_str() == "interval").unwrap();
            let help = interval.get_help().unwrap().to_string();
            assert!(help.ends_with(default), "{name}: {help}");
        }
    }

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
        brief_command().debug_assert();
    }

    /// Paragraphs are wrapped for the terminal, so none has an end of line of its own.
    #[test]
    fn no_sentence_below_the_options_is_broken() {
        let mut every = vec![(String::new(), command())];
        let (mut met, mut broken) = (0, Vec::new());
        while let Some((path, one)) = every.pop() {
            let after = one.get_after_help().map(ToString::to_string).unwrap_or_default();
            let lines: Vec<&str> = after.lines().collect();
            for pair in
                lines.windows(2).filter(|pair| pair.iter().all(|line| !line.is_empty() && !line.starts_with("  ")))
            {
                met += 1;
                if !pair[0].ends_with(['.', ':']) {
                    broken.push(format!("punctual{path}: {}\n{}", pair[0], pair[1]));
                }
            }
            every.extend(one.get_subcommands().map(|below| (format!("{path} {}", below.get_name()), below.clone())));
        }
        assert!(met > 3, "only {met} paragraphs follow one another");
        assert!(broken.is_empty(), "{}", broken.join("\n"));
    }

    /// Screens name only options that exist, and so do the groups of commands and options.
    #[test]
    fn what_is_shown_there_is() {
        let root = command();
        for (path, screen) in screens::SCREENS {
            let below = path.split(' ').fold(&root, |above, name| above.find_subcommand(name).expect("a command"));
            for (id, _) in *screen {
                assert!(below.get_arguments().any(|argument| argument.get_id() == id), "{path} has no {id}");
            }
        }
        for name in COMMANDS.iter().flat_map(|(_, names)| *names) {
            assert!(root.find_subcommand(name).is_some(), "no command {name}");
        }
        let mut every = vec![&root];
        let mut ids = Vec::new();
        while let Some(one) = every.pop() {
            ids.extend(one.get_arguments().map(|argument| argument.get_id().as_str()));
            every.extend(one.get_subcommands());
        }
        for id in GROUPS.iter().flat_map(|(_, ids)| *ids) {
            assert!(ids.contains(id), "no option {id}");
        }
    }
}
