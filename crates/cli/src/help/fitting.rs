//! Examples of `--help` on a narrow terminal: each stays a command that can be copied.

use clap::Command;

/// How far what continues an example is indented.
const INDENT: &str = "      ";

/// A command and those below it with examples that fit so many columns: what is too long goes on after a backslash, as a
/// shell accepts, and what the example is for then has a line of its own.
pub(crate) fn fitted(command: Command, columns: usize) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let command =
        names.iter().fold(command, |command, name| command.mut_subcommand(name, |below| fitted(below, columns)));
    let Some(after) = command.get_after_help().map(ToString::to_string) else { return command };
    command.after_help(after.lines().map(|line| fitting(line, columns)).collect::<Vec<_>>().join("\n"))
}

/// A line below the options; an example is indented, and what it is for stands after two spaces or more.
fn fitting(line: &str, columns: usize) -> String {
    if line.chars().count() <= columns || !line.starts_with("  ") {
        return line.to_owned();
    }
    let example = line.trim_start();
    let (command, purpose) = example.split_once("  ").unwrap_or((example, ""));
    let mut lines = Vec::new();
    let mut current = String::from("  ");
    let mut is_first = true;
    for word in words_of(command) {
        // A space before the word, and one with a backslash after it.
        let length = current.chars().count() + word.chars().count() + 3;
        if !is_first && length > columns {
            lines.push(format!("{current} \\"));
            current = format!("{INDENT}{word}");
        } else {
            current += if is_first { "" } else { " " };
            current += &word;
        }
        is_first = false;
    }
    lines.push(current);
    if !purpose.is_empty() {
        lines.push(format!("{INDENT}{}", purpose.trim_start()));
    }
    lines.join("\n")
}

/// The words of a command, as a shell takes it apart: what stands in quotes or in brackets is one.
fn words_of(command: &str) -> Vec<String> {
    let (mut words, mut is_quoted, mut depth) = (Vec::new(), false, 0_usize);
    let mut word = String::new();
    for letter in command.chars() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted => depth = depth.saturating_sub(1),
            ' ' if !is_quoted && depth == 0 => {
                words.push(std::mem::take(&mut word));
                continue;
            }
            _ => {}
        }
        word.push(letter);
    }
    words.push(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_example_goes_on_after_a_backslash_and_is_the_same_to_a_shell() {
        let line = "  sudo punctual compare --repeat 5 --a 'sysctl -w a=1' --b $(f ' x' y)";
        assert_eq!(fitting(line, 80), line);
        let expected = "  sudo punctual compare --repeat 5 \\\n      --a 'sysctl -w a=1' --b \\\n      $(f ' x' y)";
        assert_eq!(fitting(line, 36), expected);
        assert_eq!(expected.replace(" \\\n      ", " "), line);
    }

    #[test]
    fn what_an_example_is_for_has_a_line_of_its_own() {
        let line = "  punctual log -D 5s       the default classes, on somebody's CPU";
        assert_eq!(fitting(line, 60), "  punctual log -D 5s\n      the default classes, on somebody's CPU");
        // A sentence is broken anywhere.
        let sentence = "Settings are not restored: run `punctual undo` afterwards, and so on and so forth.";
        assert_eq!(fitting(sentence, 40), sentence);
    }
}
