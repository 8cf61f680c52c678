//! What other programs find in the tables of a recording that a command has made.

use crate::support::{code, run, stderr};
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The tables of a recording, wherever they are below its directory.
fn tables(recording: &Path) -> Vec<PathBuf> {
    let (mut found, mut ahead) = (Vec::new(), vec![recording.to_owned()]);
    while let Some(directory) = ahead.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                ahead.push(path);
            } else if path.extension().is_some_and(|ending| ending == "parquet") {
                found.push(path);
            }
        }
    }
    found
}

/// A number that stands for a word has the word beside it, and the file says of each column what it holds.
#[test]
fn every_table_has_names_beside_numbers_and_describes_its_columns() {
    let directory = tempfile::tempdir().unwrap();
    let output = run(directory.path(), &["sim", "run", "soft-modem-callbacks", "-o", "a.punctual"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let (mut named, mut described) = (BTreeSet::new(), 0);
    for path in tables(&directory.path().join("a.punctual")) {
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let about = reader.metadata().file_metadata();
        let said = about.key_value_metadata().cloned().unwrap_or_default();
        let columns: Vec<&str> = about.schema_descr().columns().iter().map(|column| column.name()).collect();
        for column in &columns {
            let words = said.iter().find(|pair| pair.key == *column).and_then(|pair| pair.value.as_deref());
            assert!(words.is_some_and(|words| words.len() > 10), "{}: what is {column}?", path.display());
            described += 1;
        }
        for (number, word) in [("stage", "stage_name"), ("kind", "kind_name"), ("tid", "thread")] {
            if columns.contains(&number) {
                assert!(columns.contains(&word), "{}: {number} has no word: {columns:?}", path.display());
                named.insert(word);
            }
        }
    }
    eprintln!("{described} columns");
    assert!(described >= 28, "only {described} columns");
    assert_eq!(named, BTreeSet::from(["stage_name", "thread"]));
}
