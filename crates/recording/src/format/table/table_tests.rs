//! What was written reads back, and what was damaged is refused.

use super::*;
use crate::format::directory::Directory;
use proptest::prelude::*;

static SCHEMA: Schema<'static> = Schema { name: "test", columns: &[required("a"), optional("b"), text("c")] };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn what_is_written_is_read(rows in prop::collection::vec((any::<i64>(), any::<Option<i64>>(), "[a-c]{0,2}"), 0..300)) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.parquet");
        let mut table = Rows::new(&SCHEMA);
        for (a, b, c) in &rows {
            let c = table.text(c);
            table.push([Some(*a), *b, Some(c)]);
        }
        let at = Directory::make(directory.path()).unwrap();
        write_table(&at, "t.parquet", &table).unwrap();
        let mut read = Vec::new();
        read_table(&path, &SCHEMA, |group| {
            let row = |row| (group.get(0, row), group.get_optional(1, row), group.get_text(2, row).to_owned());
            read.extend((0..group.len()).map(row));
            Ok(())
        }).unwrap();
        prop_assert_eq!(&read, &rows);

        let both = directory.path().join("both.parquet");
        let sources = ["t.parquet".to_owned(), "t.parquet".to_owned()];
        prop_assert!(!concatenate(&at, &sources, "both.parquet", &SCHEMA, &|| false).unwrap());
        prop_assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        prop_assert!(concatenate(&at, &sources, "both.parquet", &SCHEMA, &|| true).unwrap());
        let mut texts = Vec::new();
        read_table(&both, &SCHEMA, |group| {
            texts.extend((0..group.len()).map(|row| group.get_text(2, row).to_owned()));
            Ok(())
        }).unwrap();
        prop_assert_eq!(texts.len(), rows.len() * 2);
        prop_assert_eq!(count_rows(&both).unwrap(), texts.len() as u64);
        prop_assert!(texts.iter().zip(rows.iter().chain(&rows)).all(|(read, (.., written))| read == written));
    }
}

#[test]
fn texts_lose_what_steers_what_shows_them() {
    let directory = tempfile::tempdir().unwrap();
    let mut table = Rows::new(&SCHEMA);
    let names = ["\u{1b}[2J", "a\nb", "\u{9b}\u{202e}", "\u{e4}"];
    for name in names {
        let c = table.text(name);
        table.push([Some(1), None, Some(c)]);
    }
    write_table(&Directory::make(directory.path()).unwrap(), "t.parquet", &table).unwrap();
    let mut read = Vec::new();
    read_table(&directory.path().join("t.parquet"), &SCHEMA, |group| {
        read.extend((0..group.len()).map(|row| group.get_text(2, row).to_owned()));
        Ok(())
    })
    .unwrap();
    assert_eq!(read, ["\u{fffd}[2J", "a\u{fffd}b", "\u{fffd}\u{fffd}", "\u{e4}"]);
}

/// A table of 50 rows as a file, and a way to read it back.
struct Damaged {
    directory: tempfile::TempDir,
    bytes: Vec<u8>,
}

type Row = (i64, Option<i64>, String);

impl Damaged {
    const ROWS: i64 = 50;

    fn new() -> Damaged {
        let directory = tempfile::tempdir().unwrap();
        let mut table = Rows::new(&SCHEMA);
        for a in 0..Damaged::ROWS {
            let c = table.text(&a.to_string());
            table.push([Some(a), (a % 3 == 0).then_some(a), Some(c)]);
        }
        write_table(&Directory::make(directory.path()).unwrap(), "t.parquet", &table).unwrap();
        let bytes = std::fs::read(directory.path().join("t.parquet")).unwrap();
        Damaged { directory, bytes }
    }

    fn read(&self, bytes: &[u8]) -> Result<Vec<Row>, Error> {
        let path = self.directory.path().join("damaged.parquet");
        std::fs::write(&path, bytes).unwrap();
        let mut rows = Vec::new();
        read_table(&path, &SCHEMA, |group| {
            let row = |row| (group.get(0, row), group.get_optional(1, row), group.get_text(2, row).to_owned());
            rows.extend((0..group.len()).map(row));
            Ok(())
        })?;
        Ok(rows)
    }
}

#[test]
fn a_file_that_was_cut_anywhere_is_refused() {
    let file = Damaged::new();
    assert_eq!(file.read(&file.bytes).unwrap().len() as i64, Damaged::ROWS);
    for length in 0..file.bytes.len() {
        assert!(file.read(&file.bytes[..length]).is_err(), "{length} of {} bytes were believed", file.bytes.len());
    }
}

/// Values have no checksum, so a changed bit may change a value; it never changes how many there are.
#[test]
fn a_file_with_a_changed_byte_is_refused_or_has_all_its_rows() {
    let file = Damaged::new();
    let whole = file.read(&file.bytes).unwrap();
    let (mut refused, mut same, mut other) = (0, 0, 0);
    for position in 0..file.bytes.len() {
        for bits in [0x01, 0x55, 0x80] {
            let mut bytes = file.bytes.clone();
            bytes[position] ^= bits;
            match file.read(&bytes) {
                Err(_) => refused += 1,
                Ok(rows) => {
                    assert_eq!(rows.len(), whole.len(), "byte {position}, bits {bits:#x}");
                    *if rows == whole { &mut same } else { &mut other } += 1;
                }
            }
        }
    }
    eprintln!("{refused} refused, {same} read as before, {other} with another value");
    assert!(refused > other, "{refused} refused, {other} believed");
}
