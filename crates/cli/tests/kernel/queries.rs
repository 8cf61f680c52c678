//! The queries of `docs/recording.md`, in DuckDB, against recordings of this machine.

use crate::requires;
use crate::support::{self, skip};
use std::path::Path;
use std::process::Command;

/// The engine understands every query of the page; its columns exist, and it has an answer.
#[test]
fn every_query_of_the_page_has_an_answer() {
    const NAME: &str = "every_query_of_the_page_has_an_answer";
    requires!("every_query_of_the_page_has_an_answer", "idle causes", "event log");
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let engine =
        Command::new("python3").args(["-c", "import duckdb"]).env("PYTHONPATH", top.join(".tools/duckdb")).output();
    if !engine.is_ok_and(|output| output.status.success()) {
        return skip(NAME, "there is no DuckDB for Python: scripts/setup --test installs it");
    }
    let output = Command::new(top.join("scripts/recording-queries"))
        .env("PUNCTUAL", env!("CARGO_BIN_EXE_punctual"))
        .env("SECONDS_EACH", "2")
        .output()
        .unwrap();
    let (said, complained) = (support::stdout(&output), support::stderr(&output));
    assert!(output.status.success(), "{said}{complained}");
    let page = std::fs::read_to_string(top.join("docs/recording.md")).unwrap();
    let queries = page.matches("```sql").count();
    let answered = said.lines().filter(|line| line.contains(" rows, the first (")).count();
    eprintln!("{answered} of {queries} queries have an answer");
    assert_eq!(answered, queries, "{said}");
    assert!(queries >= 11);
}
