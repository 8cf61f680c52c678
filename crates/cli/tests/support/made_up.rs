//! Recordings that no measurement writes, and their readers below a fence.

use crate::support::measured::{Fence, measured};
use crate::support::{self, punctual};
use parquet::basic::{Compression, Encoding, Repetition, Type as PhysicalType, ZstdLevel};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use punctual_testing::columns::write_numbers;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// What a reader may need, bytes.
const MAX_BYTES: u64 = 300_000_000;
/// A fence: a reader that fails at this does not take the machine with it, bytes.
const FENCE_BYTES: u64 = 1_500_000_000;
/// The longest answer, where whatever measures goes first ...
const MAX_TIME: Duration = Duration::from_secs(150);
/// ... and the most CPU time that one may take in a test build, whatever else the machine does.
const MAX_CPU_TIME: Duration = Duration::from_secs(10);

/// What a run was like.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) output: String,
    pub(crate) errors: String,
    pub(crate) peak_bytes: u64,
    pub(crate) cpu_time: Duration,
}

/// Runs the program below a fence and measures it.
pub(crate) fn ran(words: &[&str]) -> Ran {
    let mut command = punctual();
    command.args(words);
    let ran = measured(command, Fence::Data(FENCE_BYTES));
    let (code, errors) = (ran.output.status.code(), support::stderr(&ran.output));
    let first = errors.lines().next().unwrap_or("-");
    let (took, cpu_time) = (ran.took, ran.cpu_time);
    eprintln!("{words:?}: code {code:?}, {} MB, {took:?}, CPU {cpu_time:?}: {first}", ran.peak_bytes / 1_000_000);
    assert!(took < MAX_TIME && cpu_time < MAX_CPU_TIME, "{words:?} took {took:?}, of CPU time {cpu_time:?}");
    Ran { code, output: support::stdout(&ran.output), errors, peak_bytes: ran.peak_bytes, cpu_time }
}

/// Checks what must hold, whatever was read.
pub(crate) fn answered(words: &[&str]) -> Ran {
    let ran = ran(words);
    assert!(matches!(ran.code, Some(0..=2)), "{words:?}: code {:?}: {}", ran.code, ran.errors);
    assert!(ran.peak_bytes <= MAX_BYTES, "{words:?}: {} bytes", ran.peak_bytes);
    assert!(!ran.errors.contains("panicked"), "{}", ran.errors);
    ran
}

/// Checks for a refusal in one line that names the file.
pub(crate) fn refused(words: &[&str], named: &str) -> String {
    let ran = answered(words);
    assert_eq!(ran.code, Some(1), "{words:?}: {}{}", ran.output, ran.errors);
    assert_eq!(ran.errors.lines().count(), 1, "{}", ran.errors);
    assert!(ran.errors.contains(named), "{}", ran.errors);
    ran.errors
}

/// Writes a table of whole numbers in row groups of constant columns, which compress to nearly nothing.
pub(crate) fn write_table(
    path: &Path,
    columns: &[&str],
    rows: usize,
    group: usize,
    value: impl Fn(usize, usize) -> i64,
) {
    let field = |name: &&str| {
        Arc::new(
            Type::primitive_type_builder(name, PhysicalType::INT64)
                .with_repetition(Repetition::REQUIRED)
                .build()
                .unwrap(),
        )
    };
    let root = Type::group_type_builder("bomb").with_fields(columns.iter().map(field).collect()).build().unwrap();
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::DELTA_BINARY_PACKED)
        .build();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, Arc::new(root), Arc::new(properties)).unwrap();
    for begin in (0..rows).step_by(group) {
        let mut row_group = writer.next_row_group().unwrap();
        for column in 0..columns.len() {
            let values: Vec<i64> = (begin..(begin + group).min(rows)).map(|row| value(column, row)).collect();
            write_numbers(row_group.next_column().unwrap().unwrap(), &values);
        }
        row_group.close().unwrap();
    }
    writer.close().unwrap();
}

/// A recording's document, with something in the places that bombs change.
pub(crate) fn document(ended: bool, tasks: &str, distributions: &str) -> String {
    let ended = if ended { r#"{"reason":"completed","detail":null,"at_ns":9}"# } else { "null" };
    format!(
        r#"{{"schema":"punctual.recording/1","ended":{ended},"provenance":{{"punctual_version":"0.1.0","command_line":[],
"run_id":"00","host":{{}},"configuration":{{"interval_ns":1000000,"policy":"fifo","priorities":[80],"cpus":[0],
"via":"timer","bpf":false,"power_request":false,"memory_locked":false}},"load":{{"name":"none","commands":[],
"compression_thousandths":null,"trouble":[]}},"tuning":{{}},"started_ns":0,"monotonic_to_unix_ns":0,"fallbacks":[],
"blind":[]}},"tasks":[{tasks}],"counters":{COUNTERS},"segments":0,"distributions":[{distributions}]}}"#
    )
}

const COUNTERS: &str =
    r#"{"wakeups":9,"missed":0,"unobserved":0,"lost":0,"wakeup_steal_ns":null,"steal_ns":null,"cpu_ns":0}"#;

pub(crate) fn task(measure: &str, tid: u32) -> String {
    format!(r#"{{"measure":"{measure}","tid":{tid},"cpu":0,"period_ns":1000000,"counters":{COUNTERS}}}"#)
}

pub(crate) fn distribution(measure: &str, cpu: u32, counts: &str) -> String {
    format!(
        r#"{{"measure":"{measure}","stage":"total","cpu":{cpu},"load":"none","min_ns":1,"max_ns":9000000000000000000,"sum_ns":"9","counts":[{counts}]}}"#
    )
}

pub(crate) fn write_document(recording: &Path, text: &str) {
    std::fs::create_dir_all(recording).unwrap();
    std::fs::write(recording.join("recording.json"), text).unwrap();
}

pub(crate) const WAKEUPS: [&str; 5] = ["cpu", "tid", "expected_ns", "total_ns", "missed"];
