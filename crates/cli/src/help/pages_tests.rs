//! The pages for users, and the examples of help, name only options that the commands have.

use super::command;
use clap::Command;
use std::path::Path;

/// The code on a page: the lines of its blocks, and what stands between backticks.
fn code(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (index, part) in page.split("```").enumerate() {
        if index % 2 == 1 {
            found.extend(part.replace("\\\n", " ").lines().skip(1).map(str::to_owned));
        } else {
            found.extend(part.split('`').skip(1).step_by(2).map(|span| span.replace('\n', " ")));
        }
    }
    found
}

/// The calls of the program in a line of code, each from the word after its name to where the shell takes over.
fn calls(line: &str) -> impl Iterator<Item = &str> {
    const NAME: &str = "punctual ";
    let is_longer = |before: char| before.is_alphanumeric() || ['-', '_', '.'].contains(&before);
    let places = line.match_indices(NAME).map(|(at, _)| at).filter(move |at| !line[..*at].ends_with(is_longer));
    places.filter_map(move |at| line[at + NAME.len()..].split(['|', ';', '&', '#']).next())
}

/// The options that a call names and its command does not have; `None` if it names no command, as prose does.
fn unknown<'call>(root: &Command, call: &'call str) -> Option<Vec<&'call str>> {
    // What is quoted is another program's, or a value.
    let mut words = call.split('\'').step_by(2).flat_map(str::split_whitespace).peekable();
    let mut command = root;
    while let Some(word) = words.peek() {
        let Some(below) = command.find_subcommand(word) else { break };
        command = below;
        words.next();
    }
    if command.get_name() == root.get_name() {
        return None;
    }
    let is_of_a_name = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let options = words.take_while(|word| *word != "--").filter_map(|word| word.strip_prefix("--"));
    let names = options.filter_map(|option| option.split(|letter: char| !is_of_a_name(letter)).next());
    let is_known = |name: &&str| command.get_arguments().any(|argument| argument.get_long() == Some(*name));
    Some(names.filter(|name| !name.is_empty() && !is_known(name)).collect())
}

#[test]
fn every_option_on_the_pages_there_is() {
    let mut root = command();
    root.build();
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![top.join("README.md"), top.join("SECURITY.md"), top.join("CONTRIBUTING.md")];
    for folder in ["docs", "docs/causes"] {
        let entries = std::fs::read_dir(top.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        pages.extend(entries.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    }
    let (mut met, mut wrong) = (0, Vec::new());
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        for line in code(&text) {
            for call in calls(&line) {
                let Some(unknown) = unknown(&root, call) else { continue };
                met += 1;
                let page = page.display();
                wrong.extend(unknown.iter().map(|option| format!("{page}: --{option}: punctual {call}")));
            }
        }
    }
    assert!(met > 300, "only {met} calls were met");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(unknown(&root, "record --hist --histogram=7 --json -- ls --all"), Some(vec!["histogram"]));
}

/// Each is looked up at the command that the example names, which need not be the one whose help it is in.
#[test]
fn every_option_in_the_examples_of_help_there_is() {
    let mut root = command();
    root.build();
    let (mut met, mut wrong) = (0, Vec::new());
    let mut ahead = vec![&root];
    while let Some(one) = ahead.pop() {
        ahead.extend(one.get_subcommands());
        let texts = [one.get_after_help(), one.get_after_long_help()].into_iter().flatten().map(ToString::to_string);
        for line in texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()) {
            for call in calls(&line) {
                // What it does stands behind it, after two spaces or more.
                let call = call.split("  ").next().unwrap_or(call);
                let Some(unknown) = unknown(&root, call) else { continue };
                met += 1;
                let of = one.get_name();
                wrong.extend(unknown.iter().map(|option| format!("{of} --help: --{option}: punctual {call}")));
            }
        }
    }
    assert!(met > 150, "only {met} examples were met");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
