//! Names that somebody else chose, in recordings and on the command line, show as names: they control no terminal,
//! begin no line, run no script and are no formula.

use crate::support::{self, code, run, stderr, stdout};
use punctual_recording::is_control;
use serde_json::Value;
use std::path::Path;

/// Goes before each text of a recording: it clears the screen in two ways, makes a link, reverses the line, forges a
/// line, and is a script and a formula.
const HOSTILE: &str = "=1+\u{1b}[2J\u{1b}]8;;http://x\u{7}\r\u{8}\u{9b}2J\u{202e}\u{2066}\u{2028}\nFORGED</script><script>alert(1)</script>\
                       <img src=x onerror=alert(1)>\",\"=2+";

/// Texts that a reader takes for words of the format or for numbers.
const WORDS: [&str; 10] =
    ["schema", "class", "classes", "reason", "kind", "stage", "run_id", "policy", "script_digest", "context"];

/// Makes every text hostile, and every key that is a name; returns how many.
fn spoil(value: &mut Value, is_word: bool) -> usize {
    match value {
        Value::String(text) if !is_word => {
            *text = format!("{HOSTILE}{text}");
            1
        }
        Value::Array(values) => values.iter_mut().map(|value| spoil(value, is_word)).sum(),
        Value::Object(members) => {
            for name in ["tuning", "woken_by"] {
                if let Some(Value::Object(named)) = members.get_mut(name) {
                    *named = std::mem::take(named)
                        .into_iter()
                        .map(|(key, value)| (format!("{HOSTILE}{key}"), value))
                        .collect();
                }
            }
            let is_word = |key: &str| WORDS.contains(&key) || key.ends_with("_ns");
            members.iter_mut().map(|(key, value)| spoil(value, is_word(key))).sum()
        }
        _ => 0,
    }
}

/// Copies a recording and makes its texts hostile.
fn spoiled(from: &Path, to: &Path) -> usize {
    std::fs::create_dir(to).unwrap();
    let mut texts = 0;
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, copy) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() {
            texts += spoiled(&path, &copy);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            let mut document = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            texts += spoil(&mut document, false);
            std::fs::write(copy, document.to_string()).unwrap();
        } else {
            std::fs::copy(path, copy).unwrap();
        }
    }
    texts
}

fn is_harmless(text: &str, words: &[&str]) {
    let raw: Vec<char> = text.chars().filter(|letter| is_control(*letter) && *letter != '\n').collect();
    assert!(raw.is_empty(), "{words:?} lets {raw:?} through: {text}");
    let forged = text.lines().find(|line| line.trim_start().starts_with("FORGED"));
    assert_eq!(forged, None, "{words:?} has a line of somebody else's: {text}");
}

/// Every cell of a table for spreadsheets.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut is_quoted) = (vec![String::new()], false);
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            other => cells.last_mut().unwrap().push(other),
        }
    }
    cells
}

#[test]
fn hostile_texts_of_recordings_stay_texts() {
    let golden = support::golden();
    let directory = tempfile::tempdir().unwrap();
    let (mut texts, mut answers, mut shown) = (0, 0, 0);
    let recordings = ["record", "comm", "why", "log", "idle", "validate", "device", "interact"];
    for recording in recordings {
        let file = format!("{recording}.punctual");
        texts += spoiled(&golden.join(&file), &directory.path().join(&file));
        let page = format!("{recording}.html");
        let (file, page) = (file.as_str(), page.as_str());
        let mut commands = vec![vec!["report", file], vec!["report", file, "--json"]];
        if !matches!(recording, "log" | "device") {
            commands.push(vec!["report", file, "--html", page]);
        }
        match recording {
            "record" => commands.extend([
                vec!["report", file, "--csv"],
                vec!["forecast", file],
                vec!["compare", file, file],
                vec!["compare", file, file, "--html", page],
            ]),
            "why" => {
                commands.extend([vec!["why", file], vec!["why", file, "--folded"], vec!["why", file, "--html", page]])
            }
            "log" => commands.extend([vec!["log", "show", file], vec!["log", "show", file, "--csv"]]),
            _ => {}
        }
        for words in commands {
            let _ = std::fs::remove_file(directory.path().join(page));
            let output = run(directory.path(), &words);
            let (out, errors) = (stdout(&output), stderr(&output));
            assert_eq!(code(&output), 0, "{words:?}: {errors}");
            is_harmless(&out, &words);
            is_harmless(&errors, &words);
            if words.contains(&"--json") {
                serde_json::from_str::<Value>(&out).unwrap();
            } else if words.contains(&"--csv") {
                let formula = out.lines().flat_map(cells).find(|cell| cell.starts_with(['=', '+', '-', '@']));
                assert_eq!(formula, None, "{words:?}: {out}");
            } else if words.contains(&"--html") {
                let html = std::fs::read_to_string(directory.path().join(page)).unwrap();
                is_harmless(&html, &words);
                assert!(!html.contains("<script>alert") && !html.contains("<img"), "{words:?}: {html}");
            }
            answers += 1;
            shown += usize::from(out.contains("FORGED"));
        }
    }
    eprintln!("{texts} hostile texts, {shown} of {answers} answers show some of them");
    assert!(texts > 500 && shown >= answers / 2, "{texts} texts, {shown} of {answers}");
}

/// A file may have any name, and `*` on a command line finds it.
#[test]
fn hostile_names_of_files_stay_in_their_line() {
    const FILE: &str = "=1+\u{1b}[2J\u{1b}]0;x\u{7}\r\u{9b}2J\u{202e}\nFORGED<img src=x onerror=alert(1)>.punctual";
    let golden = support::golden();
    let directory = tempfile::tempdir().unwrap();
    spoiled(&golden.join("why.punctual"), &directory.path().join(FILE));
    let mut cases = 0;
    let missing = FILE.replace("1+", "2+");
    for file in [FILE, &missing] {
        for words in [
            vec!["report", file],
            vec!["report", file, "--html", "page.html"],
            vec!["report", file, "--interarrival", "1us"],
            vec!["why", file],
            vec!["why", file, "--all-handlers"],
            vec!["why", file, "--html", file.strip_suffix(".punctual").unwrap()],
            vec!["forecast", file],
            vec!["compare", file, file],
            vec!["log", "show", file],
            vec!["schedulability", file],
            vec!["sim", "run", file],
            vec!["load", "show", file],
            vec![file],
        ] {
            let output = run(directory.path(), &words);
            is_harmless(&stdout(&output), &words);
            is_harmless(&stderr(&output), &words);
            if code(&output) != 0 {
                let errors = stderr(&output);
                let lines = errors.lines().filter(|line| !line.starts_with("hint: ")).count();
                assert_eq!(lines, 1, "{words:?}: {errors}");
            }
            cases += 1;
        }
    }
    assert_eq!(cases, 26);
}

/// A load file is shown as its text, without anything that controls the terminal.
#[test]
fn a_load_file_is_shown_without_what_steers() {
    let directory = tempfile::tempdir().unwrap();
    let text = "# \u{9b}2J \u{202e}\nabout = \"x\"\n\n[[command]]\n\tname = \"a\"\n\trun = \"true\"\n";
    std::fs::write(directory.path().join("x.toml"), text).unwrap();
    let output = run(directory.path(), &["load", "show", "x.toml"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(stdout(&output), text.replace(['\u{9b}', '\u{202e}'], "\u{fffd}"));
}
