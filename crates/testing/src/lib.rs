//! What the tests of all crates share: a way to skip what this machine or user does not allow, so that the skip is
//! counted; and whether all cases are to be met, however long that takes.

#![forbid(unsafe_code)]

#[cfg(feature = "tables")]
pub mod columns;

use std::fmt::Display;
use std::io::Write;
use std::path::Path;

/// Names the file that gets the skips, one per line. `./test` sets it and prints the file.
pub const SKIP_LOG: &str = "PUNCTUAL_SKIP_LOG";

/// Says loudly that a test, or a named part of it, is skipped and why: on standard error and in the file that
/// [`SKIP_LOG`] names.
///
/// # Panics
/// If that file cannot be written: a skip that nobody counts would pass for a test.
pub fn skip(test: &str, reason: impl Display) {
    let line = line(test, &reason.to_string());
    eprintln!("SKIPPED {line}");
    if let Some(path) = std::env::var_os(SKIP_LOG) {
        append(Path::new(&path), &line);
    }
}

/// Whether this is `./test --all`, which takes its time.
pub fn tests_all() -> bool {
    std::env::var("PUNCTUAL_TEST_ALL").is_ok_and(|text| text == "1")
}

/// One line, whatever the reason contains: `./test` counts lines by the part before the colon.
fn line(test: &str, reason: &str) -> String {
    format!("{}: {}", test.replace([':', '\n'], " "), reason.replace('\n', " "))
}

/// In one write, so that tests running at the same time do not mix their lines.
fn append(path: &Path, line: &str) {
    let written = std::fs::File::options()
        .create(true)
        .append(true)
        .open(path)
        .and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    if let Err(error) = written {
        panic!("writing {}, which {SKIP_LOG} names: {error}", path.display());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_skip_is_a_line_of_its_own() {
        let path = std::env::temp_dir().join(format!("punctual-skips-{}", std::process::id()));
        append(&path, &line("the pump in Work", "no: such\nthing"));
        append(&path, &line("a::b", "why"));
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(text, "the pump in Work: no: such thing\na  b: why\n");
    }
}
