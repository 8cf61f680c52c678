//! Tables with a forged structure, for each table that a recording has: descriptions that claim what is not there,
//! columns of other types and shapes, few bytes that stand for very many rows. Each reader stays within its memory, and
//! answers at once and in one line.
//!
//! The first command of each table reads every forgery, and so does each other one with `PUNCTUAL_TEST_ALL=1`. By default
//! those read the first forgery of each kind, and some of the rest in turn.

use crate::support::measured::{Fence, measured};
use crate::support::{self, copy, punctual, stderr, tests_all};
use parquet::basic::{Compression, Encoding, Repetition, Type as PhysicalType, ZstdLevel};
use parquet::data_type::ByteArray;
use parquet::file::metadata::{
    ColumnChunkMetaDataBuilder, ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use punctual_testing::columns::fill;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What a reader may need, bytes.
const MAX_BYTES: u64 = 300_000_000;
/// A fence: a reader that fails at this does not take the machine with it, bytes.
const FENCE_BYTES: u64 = 1_500_000_000;
/// A forged table is answered at once, in CPU time; one that really holds rows takes time for each.
const MAX_CPU_TIME: Duration = Duration::from_secs(1);
/// The same for 200 MB of text in a small file: the reader looks through it, at a certain rate.
const MAX_TEXT_TIME: Duration = Duration::from_secs(5);

/// By default every command but a table's first reads one in so many forgeries of a kind, and the first of them.
const READ_IN_TURN: usize = 8;
/// And the first command one in so many: all tables are opened by the same code.
const READ_BY_THE_FIRST: usize = 2;
/// Fewer kinds of forgeries than that are no test.
const MIN_KINDS: usize = 25;

/// A table from one of the golden recordings, and the ways to read it.
struct Table {
    recording: &'static str,
    file: &'static str,
    /// Rows that count only if the recording was cut.
    is_cut: bool,
    commands: &'static [&'static [&'static str]],
}

const TABLES: [Table; 8] = [
    Table {
        recording: "record",
        file: "wakeups/000001.parquet",
        is_cut: true,
        commands: &[&["report"], &["forecast"], &["compare", "a.punctual"]],
    },
    Table {
        recording: "record",
        file: "maxima/000001.parquet",
        is_cut: false,
        commands: &[&["forecast"], &["report", "--html", "page.html"]],
    },
    Table { recording: "record", file: "tail.parquet", is_cut: false, commands: &[&["forecast"]] },
    Table {
        recording: "device",
        file: "activations/000001.parquet",
        is_cut: false,
        commands: &[&["report", "--html", "page.html"], &["report", "--json"]],
    },
    Table {
        recording: "log",
        file: "events/log/000001-000002.parquet",
        is_cut: true,
        commands: &[&["report"], &["log", "show"]],
    },
    Table {
        recording: "idle",
        file: "gaps/000001-000002.parquet",
        is_cut: true,
        commands: &[&["report"], &["report", "--interarrival", "10us"]],
    },
    Table {
        recording: "interact",
        file: "interactions/000001-000003.parquet",
        is_cut: false,
        commands: &[&["report"], &["report", "--json"]],
    },
    Table {
        recording: "interact",
        file: "interaction_parts/000001-000003.parquet",
        is_cut: false,
        commands: &[&["report"], &["report", "--json"]],
    },
];

/// A copy of a golden recording in which one table is forged again and again.
struct Forgery<'a> {
    table: &'a Table,
    directory: PathBuf,
    path: PathBuf,
    sound: Vec<u8>,
    metadata: ParquetMetaData,
    /// How many forgeries of each kind were made: the same words with other numbers are one kind.
    kinds: BTreeMap<String, usize>,
    /// How often a command read one.
    cases: usize,
    max_cpu_time: Duration,
    /// What each command answers for the sound table.
    answers: Vec<Vec<u8>>,
    unread: usize,
}

impl Forgery<'_> {
    fn new<'a>(table: &'a Table, directory: &Path) -> Forgery<'a> {
        let golden = support::golden();
        let recording = directory.join("a.punctual");
        let _ = std::fs::remove_dir_all(&recording);
        copy(&golden.join(format!("{}.punctual", table.recording)), &recording);
        if table.is_cut {
            let document = std::fs::read(recording.join("recording.json")).unwrap();
            let mut document: serde_json::Value = serde_json::from_slice(&document).unwrap();
            document["ended"] = serde_json::Value::Null;
            document["segments"] = 0.into();
            std::fs::write(recording.join("recording.json"), document.to_string()).unwrap();
            let _ = std::fs::remove_file(recording.join("events/log.json"));
        }
        let path = recording.join(table.file);
        let sound = std::fs::read(&path).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&file).unwrap();
        Forgery {
            table,
            directory: directory.to_owned(),
            path,
            sound,
            metadata,
            kinds: BTreeMap::new(),
            cases: 0,
            max_cpu_time: MAX_CPU_TIME,
            answers: Vec::new(),
            unread: 0,
        }
    }

    /// Reads, in each way that is its turn, what the file holds now.
    fn read(&mut self, what: &str, must_refuse: bool) {
        let kind = what.chars().filter(|sign| sign.is_ascii_lowercase() || *sign == ' ').collect();
        let made = self.kinds.entry(kind).or_default();
        let number = *made;
        *made += 1;
        for position in 0..self.table.commands.len() {
            let is_turn = if position == 0 {
                number.is_multiple_of(READ_BY_THE_FIRST)
            } else {
                number % READ_IN_TURN == position
            };
            if tests_all() || number == 0 || is_turn {
                self.read_by(position, what, must_refuse);
            }
        }
    }

    /// Reads it with one of the commands.
    fn read_by(&mut self, position: usize, what: &str, must_refuse: bool) {
        let words = self.table.commands[position];
        let read = || {
            let mut command = punctual();
            command.current_dir(&self.directory).args(words.iter().take_while(|word| !word.starts_with('-')));
            command.arg("a.punctual").args(words.iter().skip_while(|word| !word.starts_with('-')));
            measured(command, Fence::Data(FENCE_BYTES))
        };
        let mut ran = read();
        // What a host takes and does not count passes for the program's time, once in a thousand programs.
        for _ in 0..2 {
            if ran.cpu_time >= self.max_cpu_time {
                ran = read();
            }
        }
        let (errors, code) = (stderr(&ran.output), ran.output.status.code());
        let about = format!("{}: {what}: {words:?}: {code:?}, {:?}, {errors}", self.table.file, ran.cpu_time);
        assert!(matches!(code, Some(0 | 1)) && !errors.contains("panicked"), "{about}");
        assert!(ran.peak_bytes <= MAX_BYTES, "{about}: {} bytes", ran.peak_bytes);
        assert!(ran.cpu_time < self.max_cpu_time, "{about}");
        // Parts that do not add up are answered with a note and this code.
        let failed =
            code == Some(1) && !String::from_utf8_lossy(&ran.output.stdout).contains("the recording is damaged");
        if words.contains(&"--json") {
            let answer: serde_json::Value = serde_json::from_slice(&ran.output.stdout).expect(&about);
            assert!(answer["error"].is_string() == failed, "{about}: {answer}");
        } else {
            let said = errors.lines().filter(|line| line.starts_with("error: ")).count();
            assert!(said == usize::from(failed), "{about}");
        }
        if self.answers.len() == position {
            self.answers.push(ran.output.stdout.clone());
        }
        // A command that does not need the table need not notice the forgery; but then nothing of it may be in the
        // answer.
        if must_refuse && code == Some(0) && !errors.contains("left out: ") {
            assert!(ran.output.stdout == self.answers[position], "{about}: answered with what was forged");
            self.unread += 1;
        }
        self.cases += 1;
    }

    fn try_bytes(&mut self, what: &str, bytes: &[u8], must_refuse: bool) {
        std::fs::write(&self.path, bytes).unwrap();
        self.read(what, must_refuse);
    }

    /// Where the description of the sound table begins.
    fn described_at(&self) -> usize {
        let end = self.sound.len() - 8;
        let length = u32::from_le_bytes(self.sound[end..end + 4].try_into().unwrap());
        end - length as usize
    }

    fn with_description(&self, description: &[u8]) -> Vec<u8> {
        let length = (description.len() as u32).to_le_bytes();
        [&self.sound[..self.described_at()], description, &length, b"PAR1"].concat()
    }

    /// The same pages under other row groups.
    fn try_groups(&mut self, what: &str, must_refuse: bool, groups: Vec<RowGroupMetaData>) {
        let metadata = self.metadata.clone().into_builder().set_row_groups(groups).build();
        let bytes = self.sound[..self.described_at()].to_vec();
        let written = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut own = bytes.clone();
            ParquetMetaDataWriter::new(&mut own, &metadata).finish().map(|()| own)
        }));
        // The library cannot write the sums of some claims.
        if let Ok(Ok(bytes)) = written {
            self.try_bytes(what, &bytes, must_refuse);
        }
    }

    /// Changes every column's description.
    fn try_columns(
        &mut self,
        what: &str,
        must_refuse: bool,
        change: impl Fn(ColumnChunkMetaDataBuilder) -> ColumnChunkMetaDataBuilder,
    ) {
        let changed = |group: &RowGroupMetaData| {
            let columns = group.columns().iter().map(|chunk| change(chunk.clone().into_builder()).build().unwrap());
            group.clone().into_builder().set_column_metadata(columns.collect()).build().unwrap()
        };
        let groups = self.metadata.row_groups().iter().map(changed).collect();
        self.try_groups(what, must_refuse, groups);
    }

    /// A table with the same column names, and this many rows.
    fn try_new(&mut self, what: &str, must_refuse: bool, properties: WriterPropertiesBuilder, new: &NewTable) {
        let schema = self.metadata.file_metadata().schema_descr();
        let fields = schema.columns().iter().map(|column| (new.field)(column.name(), column.physical_type()));
        let root = Type::group_type_builder("forged").with_fields(fields.collect()).build().unwrap();
        let file = std::fs::File::create(&self.path).unwrap();
        let mut writer = SerializedFileWriter::new(file, Arc::new(root), Arc::new(properties.build())).unwrap();
        let mut group = writer.next_row_group().unwrap();
        while let Some(chunk) = group.next_column().unwrap() {
            fill(chunk, new.rows, new.text);
        }
        group.close().unwrap();
        writer.close().unwrap();
        self.read(what, must_refuse);
    }
}

/// How a new table is made: a field from a column's name and type, and its texts.
struct NewTable {
    field: fn(&str, PhysicalType) -> TypePtr,
    text: fn(usize) -> ByteArray,
    rows: usize,
}

fn primitive(name: &str, kind: PhysicalType, repetition: Repetition) -> TypePtr {
    Arc::new(Type::primitive_type_builder(name, kind).with_repetition(repetition).build().unwrap())
}

const SOUND: NewTable = NewTable {
    field: |name, kind| primitive(name, kind, Repetition::REQUIRED),
    text: |_| ByteArray::from("switch"),
    rows: 100,
};

fn zstd() -> WriterPropertiesBuilder {
    WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()))
}

/// What the description says about row groups and the places of columns.
fn try_claims(forgery: &mut Forgery<'_>) {
    let groups = forgery.metadata.row_groups().to_vec();
    for rows in [i64::MAX, i64::MIN, -1, 1 << 40, groups[0].num_rows() + 1] {
        let changed = |group: &RowGroupMetaData| group.clone().into_builder().set_num_rows(rows).build().unwrap();
        forgery.try_groups(&format!("{rows} rows"), true, groups.iter().map(changed).collect());
    }
    // Each row group is the same bytes again: only the claim is there.
    for count in [3, 4_000, 5_000] {
        let again = groups.iter().cycle().take(count).cloned().collect();
        forgery.try_groups(&format!("{count} row groups that are one"), true, again);
    }
    for offset in [i64::MIN, -1, 1 << 40, i64::MAX, forgery.sound.len() as i64 - 4] {
        let place = |chunk: ColumnChunkMetaDataBuilder| chunk.set_data_page_offset(offset);
        forgery.try_columns(&format!("pages at {offset}"), true, |chunk| place(chunk).set_dictionary_page_offset(None));
        forgery.try_columns(&format!("a dictionary at {offset}"), false, |chunk| {
            chunk.set_dictionary_page_offset(Some(offset))
        });
    }
    for size in [i64::MIN, -1, 0, 5, 1 << 40, i64::MAX] {
        let sized = |chunk: ColumnChunkMetaDataBuilder| chunk.set_total_compressed_size(size);
        forgery.try_columns(&format!("{size} bytes compressed"), true, sized);
        forgery.try_columns(&format!("{size} bytes"), false, |chunk| chunk.set_total_uncompressed_size(size));
        forgery.try_columns(&format!("{size} values"), false, |chunk| chunk.set_num_values(size));
    }
    for kind in [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::LZ4, Compression::LZ4_RAW] {
        forgery.try_columns(&format!("pages as {kind}"), false, |chunk| chunk.set_compression(kind));
    }
}

/// Descriptions that do not describe a table.
fn try_descriptions(forgery: &mut Forgery<'_>) {
    for (what, bytes) in [
        ("structures in structures", vec![0x1c; 500_000]),
        ("lists in lists", [vec![0x19], vec![0x19; 500_000]].concat()),
        ("lists of very many", vec![0x29, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x0f]),
        ("a text of very many bytes", vec![0x18, 0xff, 0xff, 0xff, 0xff, 0x0f]),
        ("a number without an end", vec![0x15; 1].into_iter().chain([0xff; 64]).collect()),
        ("a map", vec![0x1b, 0xff, 0xff, 0x0f, 0x88]),
        ("nothing", Vec::new()),
        ("more than is read", vec![0; 2 << 20]),
    ] {
        let forged = forgery.with_description(&bytes);
        forgery.try_bytes(what, &forged, true);
    }
    for length in [u32::MAX, i32::MAX as u32, forgery.sound.len() as u32, 0] {
        let end = forgery.sound.len() - 8;
        let forged = [&forgery.sound[..end], &length.to_le_bytes(), b"PAR1"].concat();
        forgery.try_bytes(&format!("a description of {length} bytes"), &forged, true);
    }
    let beheaded = [b"PAR1".as_slice(), b"PAR1"].concat();
    forgery.try_bytes("two magic words", &beheaded, true);
    // Changes each byte of the description, and of the first page's.
    let (described, length) = (forgery.described_at(), forgery.sound.len());
    let step = ((length - described) / 40).max(1);
    for at in (described..length).step_by(step).chain(4..24) {
        for other in [0xff, 0x00] {
            let mut forged = forgery.sound.clone();
            forged[at] = other;
            forgery.try_bytes(&format!("byte {at} is {other:#x}"), &forged, false);
        }
    }
}

/// Columns of other types and shapes, and few bytes that stand for much.
fn try_columns_of_others(forgery: &mut Forgery<'_>) {
    for kind in [PhysicalType::INT32, PhysicalType::DOUBLE, PhysicalType::BOOLEAN] {
        let field: fn(&str, PhysicalType) -> TypePtr = match kind {
            PhysicalType::INT32 => |name, _| primitive(name, PhysicalType::INT32, Repetition::REQUIRED),
            PhysicalType::DOUBLE => |name, _| primitive(name, PhysicalType::DOUBLE, Repetition::REQUIRED),
            _ => |name, _| primitive(name, PhysicalType::BOOLEAN, Repetition::REQUIRED),
        };
        forgery.try_new(&format!("columns of {kind}"), true, zstd(), &NewTable { field, ..SOUND });
    }
    let swapped: fn(&str, PhysicalType) -> TypePtr = |name, kind| {
        let other = if kind == PhysicalType::INT64 { PhysicalType::BYTE_ARRAY } else { PhysicalType::INT64 };
        primitive(name, other, Repetition::REQUIRED)
    };
    forgery.try_new("texts for numbers", true, zstd(), &NewTable { field: swapped, ..SOUND });
    let repeated: fn(&str, PhysicalType) -> TypePtr = |name, kind| primitive(name, kind, Repetition::REPEATED);
    forgery.try_new("columns that repeat", true, zstd(), &NewTable { field: repeated, ..SOUND });
    let nested: fn(&str, PhysicalType) -> TypePtr = |name, kind| {
        let inner = primitive(name, kind, Repetition::REQUIRED);
        let group = Type::group_type_builder("nested").with_repetition(Repetition::OPTIONAL);
        Arc::new(group.with_fields(vec![inner]).build().unwrap())
    };
    forgery.try_new("columns in columns", true, zstd(), &NewTable { field: nested, ..SOUND });
    let other: fn(&str, PhysicalType) -> TypePtr =
        |name, kind| primitive(&format!("{name}x"), kind, Repetition::REQUIRED);
    forgery.try_new("columns of other names", true, zstd(), &NewTable { field: other, ..SOUND });
    // The same text of 16 KiB in every row, or a different one in each, once in a dictionary: as many values as rows.
    let one: fn(usize) -> ByteArray = |_| ByteArray::from("x".repeat(16 << 10).as_str());
    let each: fn(usize) -> ByteArray = |row| ByteArray::from(format!("{row:0>16384}").as_str());
    forgery.max_cpu_time = MAX_TEXT_TIME;
    for (what, text, rows) in [("one long text", one, 4_000), ("long texts", each, 2_500)] {
        let wide = zstd().set_dictionary_page_size_limit(64 << 20).set_data_page_size_limit(64 << 20);
        forgery.try_new(what, false, wide, &NewTable { text, rows, ..SOUND });
    }
    forgery.max_cpu_time = MAX_CPU_TIME;
    // Millions of rows with one value in a few kilobytes: a reader takes time for each.
    let thin = zstd().set_dictionary_enabled(true).set_encoding(Encoding::PLAIN).set_write_batch_size(1 << 18);
    let thin = thin.set_data_page_row_count_limit(1 << 18);
    forgery.try_new("a value for very many rows", true, thin, &NewTable { rows: 3_000_000, ..SOUND });
}

/// Forges each of these tables in every way.
fn forge(tables: &[Table], min_forgeries: usize, min_cases: usize) {
    let directory = tempfile::tempdir().unwrap();
    let (mut forgeries, mut cases, mut unread) = (0, 0, 0);
    for table in tables {
        let mut forgery = Forgery::new(table, directory.path());
        forgery.read("sound", false);
        try_claims(&mut forgery);
        try_descriptions(&mut forgery);
        try_columns_of_others(&mut forgery);
        let (made, kinds) = (forgery.kinds.values().sum::<usize>(), forgery.kinds.len());
        let met = format!("{}: {made} forgeries of {kinds} kinds", table.file);
        eprintln!("{met}, {} cases, {} of them not read", forgery.cases, forgery.unread);
        assert!(kinds >= MIN_KINDS, "{met}: {:?}", forgery.kinds);
        forgeries += made;
        cases += forgery.cases;
        unread += forgery.unread;
    }
    assert!(forgeries > min_forgeries, "{forgeries} forgeries");
    let min_cases = if tests_all() { min_cases } else { min_forgeries / READ_BY_THE_FIRST };
    assert!(cases > min_cases && unread < cases / 4, "{cases}, {unread} of them not read");
}

#[test]
fn a_forged_table_of_wakeups_is_answered_at_once() {
    forge(&TABLES[..3], 450, 1_000);
}

#[test]
fn a_forged_table_of_a_device_or_a_log_is_answered_at_once() {
    forge(&TABLES[3..5], 320, 700);
}

#[test]
fn a_forged_table_of_gaps_or_inputs_is_answered_at_once() {
    forge(&TABLES[5..], 450, 800);
}
