//! Every verdict is worded in `src/verdict`.

use std::path::{Path, PathBuf};

/// Here a cell of a table is called a verdict; it is no sentence.
const CELLS: [&str; 2] = ["forecast/page.rs", "sim/rows.rs"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The names of the functions of a file that are called verdicts and put words together.
fn worded(program: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut lines = program.lines();
    while let Some(line) = lines.next() {
        let is_comment = line.trim_start().starts_with("//");
        let Some((_, rest)) = line.split_once("fn ").filter(|_| !is_comment) else { continue };
        let name = rest.split(['(', '<']).next().unwrap_or_default();
        if !name.contains("verdict") {
            continue;
        }
        let end = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
        let mut body = lines.by_ref().take_while(|line| *line != end);
        if body.any(|line| line.contains("format!(") || line.contains("\".to_owned()")) {
            names.push(name);
        }
    }
    names
}

#[test]
fn functions_that_word_a_verdict_are_told_from_those_that_ask_for_one() {
    let program = "impl A {\n    pub fn verdict(&self) -> String {\n        format!(\"{}.\", 1)\n    }\n}\n\
                   fn verdict(rows: &[A]) -> String {\n    rows_verdict(rows.len())\n}\n\
                   fn other() -> String {\n    \"a\".to_owned()\n}\n\
                   fn rows_verdict(rows: usize) -> String {\n    \"none\".to_owned()\n}\n";
    assert_eq!(worded(program), ["verdict", "rows_verdict"]);
}

#[test]
fn verdicts_are_worded_nowhere_else() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&source, &mut files);
    sources(&source.join("../../cli/src/commands"), &mut files);
    let (mut here, mut elsewhere) = (0, Vec::new());
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let program = text.split("#[cfg(test)]").next().unwrap_or_default();
        let name = path.strip_prefix(&source).unwrap_or(&path).display().to_string();
        // Tests in files of their own are named for what they hold.
        if CELLS.contains(&name.as_str()) || name.ends_with("tests.rs") {
            continue;
        }
        let found = worded(program);
        if name.starts_with("verdict/") {
            here += found.len();
        } else {
            elsewhere.extend(found.into_iter().map(|function| format!("{name}: {function}")));
        }
    }
    assert!(here > 20, "only {here} functions that word a verdict were found");
    assert!(elsewhere.is_empty(), "to be moved to report/src/verdict: {elsewhere:#?}");
}
