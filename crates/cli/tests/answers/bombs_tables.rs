//! Tables of logs, gaps and inputs that no measurement writes: each reader stays within its memory, and answers in time
//! and in one line.
//!
//! With `PUNCTUAL_TEST_ALL=1` every command reads every number in every column, and tables have many times as many rows.

use crate::support::measured::{Fence, measured};
use crate::support::{self, copy, punctual, stderr, tests_all};
use parquet::basic::{Compression, ConvertedType, Repetition, Type as PhysicalType, ZstdLevel};
use parquet::data_type::ByteArray;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use punctual_testing::columns::{write_numbers, write_texts};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What a reader may need, bytes.
const MAX_BYTES: u64 = 300_000_000;
/// A fence: a reader that fails at this does not take the machine with it, bytes.
const FENCE_BYTES: u64 = 1_500_000_000;
/// The most CPU time that an answer may take in a test build, whatever else the machine does.
const MAX_CPU_TIME: Duration = Duration::from_secs(60);

/// Numbers that no measurement writes.
const IMPOSSIBLE: [i64; 6] = [i64::MAX, i64::MIN, -1, 1 << 62, (1 << 61) + 5, (1 << 32) - 1];

/// A column's values, by row.
#[derive(Clone)]
enum Cells {
    Number(fn(usize) -> i64),
    Same(i64),
    Text(fn(usize) -> String),
}
use Cells::{Number, Same, Text};

/// A golden recording with one table whose rows are all made up, but sound, and the ways to read it.
struct Table {
    recording: &'static str,
    directory: &'static str,
    columns: Columns,
    commands: &'static [&'static [&'static str]],
}

/// A millisecond in ns, and the time at which the recordings begin.
const MS: i64 = 1_000_000;

fn text(value: &'static str) -> Cells {
    match value {
        "" => Text(|_| String::new()),
        "switch" => Text(|_| "switch".into()),
        "key" => Text(|_| "key".into()),
        "outcome" => Text(|_| "seen".into()),
        _ => Text(|_| "name".into()),
    }
}

type Columns = Vec<(&'static str, Cells)>;

/// A row each millisecond.
fn at(row: usize) -> i64 {
    1_000_000 * MS + row as i64 * MS
}

fn log() -> Columns {
    let first = [("time_ns", Number(at)), ("cpu", Same(0)), ("kind", text("switch")), ("tid", Same(7))];
    let numbers = ["priority", "context", "steal_ns", "value", "extra"].map(|name| (name, Same(1)));
    let names = [("thread", text("name")), ("name", text("name"))];
    first.into_iter().chain(numbers).chain(names).collect()
}

fn inputs() -> Columns {
    let moments = ["begin_ns", "injected_ns", "end_ns", "got_ns", "busy_ns", "blocked_ns", "seen_ns", "arrived_ns"];
    let numbers = ["bytes", "output_bytes", "repeat", "cpu_ns", "caused_cpu_ns", "run_delay_ns", "think_1996_ns"];
    let counters = [
        "minor_faults",
        "major_faults",
        "waits",
        "preemptions",
        "migrations",
        "reads",
        "writes",
        "read_bytes",
        "written_bytes",
        "disk_read_bytes",
        "disk_written_bytes",
        "cycles_user",
        "cycles_kernel",
        "instructions_user",
        "instructions_kernel",
        "cache_misses_user",
        "cache_misses_kernel",
        "counted_thousandths",
    ];
    let numbers = numbers.into_iter().chain(counters).map(|name| (name, Same(5)));
    let texts = [("kind", "key"), ("label", "name"), ("task", ""), ("outcome", "outcome")];
    let first = [("number", Number(|row| row as i64))].into_iter().chain(moments.map(|name| (name, Number(at))));
    first.chain(numbers).chain(texts.map(|(name, words)| (name, text(words)))).collect()
}

fn parts() -> Columns {
    let numbers =
        [("number", Number(|row| (row % 3) as i64)), ("ns", Same(5)), ("unknown_ns", Same(0)), ("not_seen", Same(0))];
    let texts = [("kind", "name"), ("name", "name"), ("detail", "")].map(|(name, words)| (name, text(words)));
    numbers.into_iter().chain(texts).collect()
}

fn events() -> Columns {
    let numbers = [("at_ns", Number(at)), ("tid", Same(7)), ("number", Number(|row| (row % 3) as i64))];
    numbers.into_iter().chain([("toolkit", text("name")), ("event", text("name"))]).collect()
}

fn code() -> Columns {
    // Each function called the one above it, as deep as may be, and each has another name of some length.
    let depth = |row: usize| (row % 60) as i64;
    let numbers = [("number", Number(|row| (row / 960) as i64)), ("depth", Number(depth)), ("samples", Same(5))];
    let function = ("function", Text(|row| format!("{row}{}", "f".repeat(900))));
    numbers.into_iter().chain([("kind", text("name")), ("name", text("name")), function]).collect()
}

fn gaps() -> Columns {
    let [length, zero, one] = [MS / 2, 0, 1].map(Same);
    vec![("start_ns", Number(at)), ("length_ns", length), ("cpu", zero.clone()), ("kind", one), ("name", zero)]
}

fn waits() -> Columns {
    vec![("number", Number(|row| (row % 3) as i64)), ("begin_ns", Number(at)), ("end_ns", Number(|row| at(row) + 1))]
}

fn tables() -> [Table; 7] {
    [
        Table {
            recording: "log",
            directory: "events/log",
            columns: log(),
            commands: &[
                &["report"],
                &["report", "--json"],
                &["log", "show"],
                &["log", "show", "--csv"],
                &["log", "show", "--json"],
                &["log", "show", "--perfetto", "trace"],
            ],
        },
        Table {
            recording: "idle",
            directory: "gaps",
            columns: gaps(),
            commands: &[&["report"], &["report", "--html", "page.html"], &["report", "--interarrival", "10us"]],
        },
        Table {
            recording: "interact",
            directory: "interactions",
            columns: inputs(),
            commands: &[
                &["report"],
                &["report", "--json"],
                &["report", "--html", "page.html"],
                &["report", "--interarrival", "10us"],
            ],
        },
        Table {
            recording: "interact",
            directory: "interaction_parts",
            columns: parts(),
            commands: &[&["report"], &["report", "--json"], &["report", "--html", "page.html"]],
        },
        Table {
            recording: "interact",
            directory: "interaction_events",
            columns: events(),
            commands: &[&["report"], &["report", "--json"], &["report", "--html", "page.html"]],
        },
        Table {
            recording: "interact",
            directory: "interaction_waits",
            columns: waits(),
            commands: &[&["report"], &["report", "--json"], &["report", "--perfetto", "trace"]],
        },
        Table {
            recording: "interact",
            directory: "interaction_code",
            columns: code(),
            commands: &[&["report"], &["report", "--json"], &["report", "--html", "page.html"]],
        },
    ]
}

impl Table {
    /// Copies the recording without this table's rows, as if it had been cut.
    fn recording(&self, directory: &Path) -> PathBuf {
        let golden = support::golden();
        let recording = directory.join("a.punctual");
        let _ = std::fs::remove_dir_all(&recording);
        copy(&golden.join(format!("{}.punctual", self.recording)), &recording);
        let _ = std::fs::remove_dir_all(recording.join(self.directory));
        let _ = std::fs::remove_file(recording.join("events/log.json"));
        let document = std::fs::read(recording.join("recording.json")).unwrap();
        let mut document: serde_json::Value = serde_json::from_slice(&document).unwrap();
        document["ended"] = serde_json::Value::Null;
        std::fs::write(recording.join("recording.json"), document.to_string()).unwrap();
        recording
    }

    /// Writes the rows.
    fn write(&self, recording: &Path, rows: usize, group: usize) {
        let fields = self.columns.iter().map(|(name, cells)| {
            let (kind, converted) = match cells {
                Text(_) => (PhysicalType::BYTE_ARRAY, ConvertedType::UTF8),
                _ => (PhysicalType::INT64, ConvertedType::NONE),
            };
            let field = Type::primitive_type_builder(name, kind).with_converted_type(converted);
            Arc::new(field.with_repetition(Repetition::REQUIRED).build().unwrap())
        });
        let root = Type::group_type_builder("bomb").with_fields(fields.collect()).build().unwrap();
        let zstd = Compression::ZSTD(ZstdLevel::default());
        let properties =
            WriterProperties::builder().set_compression(zstd).set_data_page_row_count_limit(20_000).build();
        let path = recording.join(self.directory);
        std::fs::create_dir_all(&path).unwrap();
        let file = std::fs::File::create(path.join("000001.parquet")).unwrap();
        let mut writer = SerializedFileWriter::new(file, Arc::new(root), Arc::new(properties)).unwrap();
        for begin in (0..rows).step_by(group) {
            let rows = begin..(begin + group).min(rows);
            let mut row_group = writer.next_row_group().unwrap();
            for (_, cells) in &self.columns {
                let chunk = row_group.next_column().unwrap().unwrap();
                match cells {
                    Number(value) => write_numbers(chunk, &rows.clone().map(value).collect::<Vec<_>>()),
                    Same(value) => write_numbers(chunk, &vec![*value; rows.len()]),
                    Text(value) => {
                        let texts = rows.clone().map(|row| ByteArray::from(value(row).into_bytes()));
                        write_texts(chunk, &texts.collect::<Vec<_>>());
                    }
                }
            }
            row_group.close().unwrap();
        }
        writer.close().unwrap();
    }

    /// Reads it in each way; returns how many ways refused it.
    fn read(&self, directory: &Path, what: &str) -> usize {
        let ways = self.commands.iter();
        ways.filter(|words| self.is_refused(directory, what, words)).count()
    }

    /// Reads it in one way; returns whether that was refused.
    fn is_refused(&self, directory: &Path, what: &str, words: &[&str]) -> bool {
        let mut command = punctual();
        command.current_dir(directory).args(words.iter().take_while(|word| !word.starts_with('-')));
        command.arg("a.punctual").args(words.iter().skip_while(|word| !word.starts_with('-')));
        let ran = measured(command, Fence::Data(FENCE_BYTES));
        let (errors, took) = (stderr(&ran.output), ran.cpu_time);
        let first: String = errors.lines().next().unwrap_or("-").chars().take(200).collect();
        let about =
            format!("{} {what}: {words:?}: {} MB, {took:?}: {first}", self.directory, ran.peak_bytes / 1_000_000);
        eprintln!("{about}");
        let code = ran.output.status.code();
        assert!(matches!(code, Some(0 | 1)) && !errors.contains("panicked"), "{about}: {code:?} {errors}");
        assert!(ran.peak_bytes <= MAX_BYTES && took < MAX_CPU_TIME, "{about}");
        let is_refused = errors.starts_with("error");
        if is_refused {
            assert_eq!(errors.lines().filter(|line| !line.starts_with("hint: ")).count(), 1, "{errors}");
        }
        is_refused
    }
}

/// Any number in any column: refused in one line, or counted; never a panic, never a number that wraps. Each is read by
/// the first command; by default each of the others reads one number in each column, another one from column to column.
#[test]
fn any_number_in_any_column_is_refused_or_counted() {
    let directory = tempfile::tempdir().unwrap();
    let (mut columns, mut cases, mut refused) = (0, 0, 0);
    for mut table in tables() {
        let recording = table.recording(directory.path());
        table.write(&recording, 100, 100);
        assert_eq!(table.read(directory.path(), "sound"), 0);
        for column in 0..table.columns.len() {
            let (name, sound) = table.columns[column].clone();
            if matches!(sound, Text(_)) {
                continue;
            }
            for (number, worst) in IMPOSSIBLE.into_iter().enumerate() {
                table.columns[column].1 = Same(worst);
                table.write(&recording, 100, 100);
                for (position, words) in table.commands.iter().enumerate() {
                    let is_its_turn = position == 0 || (column + position) % IMPOSSIBLE.len() == number;
                    if tests_all() || is_its_turn {
                        let is_refused = table.is_refused(directory.path(), &format!("{name} = {worst}"), words);
                        refused += usize::from(is_refused);
                        cases += 1;
                    }
                }
            }
            table.columns[column].1 = sound;
            columns += 1;
        }
    }
    eprintln!("{refused} of {cases} refused, in {columns} columns");
    assert!(columns > 50 && cases > 400 && refused > 50, "{refused} of {cases}, in {columns} columns");
}

/// Columns filled with values that no measurement writes, and very many rows.
#[test]
fn very_many_rows_end_in_time() {
    let directory = tempfile::tempdir().unwrap();
    let mut cases = 0;
    // Always more than the inputs and the events that are read at most.
    let count = if tests_all() { 10_000_000 } else { 210_000 };
    let named = if tests_all() { 60_000 } else { 18_000 };
    for mut table in tables() {
        let recording = table.recording(directory.path());
        table.write(&recording, count, 1_000_000);
        table.read(directory.path(), "many rows");
        // Every row has names of its own.
        for (_, cells) in &mut table.columns {
            if let Text(value) = cells
                && value(0) == "name"
            {
                *cells = Text(|row| format!("{row:x}-{}", "x".repeat(300)));
            }
        }
        table.write(&recording, named, named / 3);
        table.read(directory.path(), "many names");
        cases += 2 * table.commands.len();
    }
    eprintln!("{cases} cases, of {count} rows and of {named} names");
    assert_eq!(cases, 50);
}
