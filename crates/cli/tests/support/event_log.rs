//! Logs of a test, programs that make marks in them, and what must hold for every log.

use crate::support::compiled::compiled;
use crate::support::{code, json, number, punctual, run, stderr};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// A log's own name for the socket of its marks, because other tests and other people may log at the same time.
pub(crate) fn marks_name() -> String {
    format!("punctual-test-{}", std::process::id())
}

/// Runs `punctual log` with marks of its own.
pub(crate) fn log(directory: &Path, words: &[&str]) -> std::process::Output {
    let mut command = punctual();
    command.current_dir(directory).arg("log").args(words).env("PUNCTUAL_MARKS", marks_name());
    command.output().expect("the program starts")
}

pub(crate) fn start_log(directory: &Path, words: &[&str]) -> Child {
    let mut command = punctual();
    command.current_dir(directory).arg("log").args(words).env("PUNCTUAL_MARKS", marks_name());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
}

/// The rows that `punctual log show` gives, in its order.
pub(crate) fn rows(directory: &Path, words: &[&str]) -> Vec<Value> {
    let words: Vec<&str> = ["log", "show", "a.punctual", "--json"].into_iter().chain(words.iter().copied()).collect();
    let output = run(directory, &words);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    json(&output)["events"].as_array().expect("events").clone()
}

/// Sums agree, and rows are in order of time.
pub(crate) fn assert_sound(directory: &Path) -> Value {
    let answer = json(&run(directory, &["log", "show", "a.punctual", "--json"]));
    assert_eq!(answer["schema"], "punctual.log/1");
    let rows = answer["events"].as_array().unwrap();
    assert_eq!(rows.len() as u64, number(&answer["rows"]));
    assert_eq!(number(&answer["shown"]), number(&answer["rows"]));
    assert_eq!(number(&answer["late_rows"]), 0);
    for kind in ["classes", "counts"] {
        let sum: u64 = answer[kind].as_array().unwrap().iter().map(|count| number(&count["count"])).sum();
        assert_eq!(sum, number(&answer["rows"]), "{kind}");
    }
    let dropped: u64 = rows.iter().filter(|row| row["kind"] == "dropped").map(|row| number(&row["value"])).sum();
    let told = number(&answer["dropped"]) - number(&answer["skipped"]);
    assert_eq!(dropped, told, "every loss of a ring stands in the table where it was");
    assert!(rows.windows(2).all(|pair| number(&pair[0]["time_ns"]) <= number(&pair[1]["time_ns"])));
    let started = number(&answer["started_ns"]);
    assert!(rows.iter().all(|row| number(&row["time_ns"]) >= started));
    answer
}

/// The place of the first row for which this holds.
pub(crate) fn position(rows: &[Value], from: usize, what: &str, holds: impl Fn(&Value) -> bool) -> usize {
    let found = rows.iter().skip(from).position(holds);
    from + found.unwrap_or_else(|| panic!("{what} is not in the log"))
}

/// A program that makes marks; `None`, loudly, if there is no compiler.
pub(crate) fn marking_program(test: &str, directory: &Path) -> Option<PathBuf> {
    compiled(test, directory, &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/mark.c"))
}

/// A program that makes 50 marks, or writes what it likes into the memory of its marks.
pub(crate) const HOSTILE: &str = r#"
#include "punctual.h"
#include <stdio.h>
int main(int count, char **words)
{
	struct punctual_marks *marks;
	int mark;
	if (count < 2 || punctual_open(10000))
		return 3;
	marks = punctual_marks_;
	switch (atoi(words[1])) {
	case 0:
		for (mark = 0; mark < 50; mark++) {
			punctual_mark("good", mark);
			usleep(10000);
		}
		break;
	case 1: marks->open = 0; break;
	case 2: __atomic_store_n(&marks->head, ~0ULL, __ATOMIC_SEQ_CST); break;
	case 3: __atomic_store_n(&marks->full, ~0ULL, __ATOMIC_SEQ_CST); break;
	case 4: __atomic_fetch_add(&marks->full, 4000000000ULL, __ATOMIC_SEQ_CST); break;
	case 5: memset((void *)marks, 0xff, PUNCTUAL_BYTES); break;
	}
	return 0;
}
"#;
