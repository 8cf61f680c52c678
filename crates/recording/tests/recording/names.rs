//! What other programs read in the tables of a recording: names beside numbers, and what each column holds.

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use punctual_recording::{Counters, EndReason, Ended, Provenance, Recording, Stage, Stamps, Task, Wakeup, Writer};
use std::fs::File;
use std::path::Path;

fn write(path: &Path) {
    let task = |tid, measure: &str| Task {
        measure: measure.into(),
        tid,
        cpu: Some(0),
        period_ns: 1_000_000,
        counters: Counters::default(),
    };
    let provenance = Provenance { started_ns: 1_000_000_000, ..Provenance::default() };
    let mut writer = Writer::create(path, provenance, vec![task(7, "fifo:80"), task(8, "fifo:40")]).unwrap();
    for index in 0..3_000_u64 {
        let expected = 1_000_000_000 + index / 2 * 1_000_000;
        let stamps = Stamps {
            expected,
            irq: expected + 10_000,
            softirq: 0,
            waking: expected + 11_000,
            switch_in: expected + 15_000,
            user: expected + 16_000 + index,
        };
        let place = (index % 2) as usize;
        writer.push(place, &Wakeup::from_stamps(&stamps, 0, 7 + place as u32));
        if index == 1_500 {
            writer.flush().unwrap();
        }
    }
    writer.finish(Ended { reason: EndReason::Completed, detail: None, at_ns: 3_000_000_000 }, Vec::new()).unwrap();
}

/// The only file of a table, whose segments were joined.
fn table(recording: &Path, name: &str) -> SerializedFileReader<File> {
    let path = recording.join(name);
    let file = if path.is_dir() {
        let files: Vec<_> = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].clone()
    } else {
        path
    };
    SerializedFileReader::new(File::open(file).unwrap()).unwrap()
}

#[test]
fn numbers_have_their_names_beside_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    write(&path);
    let place = |reader: &SerializedFileReader<File>, name: &str| {
        let columns = reader.metadata().file_metadata().schema_descr().columns().to_vec();
        columns.iter().position(|column| column.name() == name).unwrap_or_else(|| panic!("no column {name}"))
    };
    let reader = table(&path, "wakeups");
    let (tid, thread) = (place(&reader, "tid"), place(&reader, "thread"));
    let mut met = 0;
    for row in reader.get_row_iter(None).unwrap() {
        let row = row.unwrap();
        let expected = if row.get_long(tid).unwrap() == 7 { "fifo:80" } else { "fifo:40" };
        assert_eq!(row.get_string(thread).unwrap(), expected);
        met += 1;
    }
    assert_eq!(met, 3_000);
    for name in ["maxima", "tail.parquet"] {
        let reader = table(&path, name);
        let (stage, words, thread) = (place(&reader, "stage"), place(&reader, "stage_name"), place(&reader, "thread"));
        let mut seen = std::collections::BTreeSet::new();
        for row in reader.get_row_iter(None).unwrap() {
            let row = row.unwrap();
            let code = u8::try_from(row.get_long(stage).unwrap()).unwrap();
            let said = row.get_string(words).unwrap().clone();
            let named = Stage::ALL.into_iter().find(|stage| stage.code() == code).unwrap();
            assert_eq!(said, named.name());
            assert!(["fifo:80", "fifo:40"].contains(&row.get_string(thread).unwrap().as_str()), "{name}");
            seen.insert(said);
        }
        assert!(seen.contains("total") && seen.contains("irq") && seen.len() >= 4, "{name}: {seen:?}");
    }
    // And readers of the numbers still work.
    let mut wakeups = 0;
    Recording::open(&path).unwrap().for_each_wakeup(|_| wakeups += 1).unwrap();
    assert_eq!(wakeups, 3_000);
}

#[test]
fn every_column_says_what_it_holds() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    write(&path);
    let mut met = 0;
    for name in ["wakeups", "maxima", "tail.parquet"] {
        let reader = table(&path, name);
        let about = reader.metadata().file_metadata();
        let said = about.key_value_metadata().cloned().unwrap_or_default();
        for column in about.schema_descr().columns() {
            let words = said.iter().find(|pair| pair.key == column.name()).and_then(|pair| pair.value.clone());
            assert!(words.is_some_and(|words| words.len() > 10), "{name}: {} is not described", column.name());
            met += 1;
        }
    }
    assert!(met >= 28, "{met}");
}
