//! Every reader of punctual as a function of bytes: for the fuzz targets, the mutation runner and the test that replays
//! the corpora. Whatever the bytes are, a reader answers; it never panics, hangs or needs more than its bound.

use punctual_device::Catalogue;
use punctual_forecast::Input;
use punctual_forecast::schedulability::{TaskSet, analyse};
use punctual_load::LoadFile;
use punctual_recording::*;
use punctual_sim::experiment::Experiment;
use std::path::{Path, PathBuf};

/// A reader: takes a directory of its own and bytes.
pub type Reader = fn(&Path, &[u8]);

/// All, by the names of their fuzz targets and corpora.
pub const READERS: [(&str, Reader); 24] = [
    ("document", document),
    ("wakeups", wakeups),
    ("tail", tail),
    ("maxima", maxima),
    ("episodes", episodes),
    ("recorder", recorder),
    ("handlers", handlers),
    ("log_rows", log_rows),
    ("log_document", log_document),
    ("gap_rows", gap_rows),
    ("gap_document", gap_document),
    ("interaction_rows", interaction_rows),
    ("interaction_parts", interaction_parts),
    ("interaction_events", interaction_events),
    ("interaction_waits", interaction_waits),
    ("interaction_code", interaction_code),
    ("interaction_document", interaction_document),
    ("activation_rows", activation_rows),
    ("activation_document", activation_document),
    ("task_set", task_set),
    ("task_set_rt_app", task_set_rt_app),
    ("simulation", simulation),
    ("load_file", load_file),
    ("profiles", profiles),
];

fn put(directory: &Path, name: &str, bytes: &[u8]) {
    let path = directory.join(name);
    if std::fs::write(&path, bytes).is_err() {
        std::fs::create_dir_all(path.parent().expect("a name below the directory")).expect("a writable directory");
        std::fs::write(&path, bytes).expect("a writable directory");
    }
}

/// A recording that was cut short, with two tasks, beside which a table is put.
fn put_cut_document(directory: &Path) {
    if !directory.join("recording.json").exists() {
        let task = |tid| Task { measure: "fifo:80".to_owned(), tid, cpu: None, period_ns: 1_000_000, ..no_task() };
        let document = Document {
            kind: None,
            schema: SCHEMA.to_owned(),
            ended: None,
            provenance: Provenance::default(),
            tasks: vec![task(100), task(101)],
            counters: Counters::default(),
            limits: Vec::new(),
            segments: 0,
            distributions: Distributions::default(),
            last_ns: 0,
            followed: None,
            recorder: None,
            added: 0,
        };
        put(directory, "recording.json", &serde_json::to_vec(&document).expect("JSON"));
    }
}

fn no_task() -> Task {
    Task { measure: String::new(), tid: 0, cpu: None, period_ns: 0, counters: Counters::default() }
}

/// `recording.json`, with all that a report and a forecast ask of it.
fn document(directory: &Path, bytes: &[u8]) {
    put(directory, "recording.json", bytes);
    if let Ok(recording) = Recording::open(directory) {
        use_all(&recording);
    }
}

fn use_all(recording: &Recording) {
    let document = recording.document();
    for measure in document.distributions.measures().iter().take(8) {
        let total = document.distributions.sum(|key| key.measure == *measure && key.stage == Stage::Total);
        let _ = (total.quantile(0.999), total.mean(), total.count_above(1_000));
    }
    let _ = recording.count_not_adding_up();
    if let Ok((tail, seconds)) = recording.tail_and_seconds() {
        let _ = Input::from_recording(document, &tail, &seconds, recording.damaged());
    }
    let _ = merge([document.clone()]);
}

/// `wakeups/*.parquet`.
fn wakeups(directory: &Path, bytes: &[u8]) {
    put_cut_document(directory);
    put(directory, "wakeups/000001.parquet", bytes);
    if let Ok(recording) = Recording::open(directory) {
        use_all(&recording);
    }
}

/// `tail.parquet`.
fn tail(directory: &Path, bytes: &[u8]) {
    put_cut_document(directory);
    put(directory, "tail.parquet", bytes);
    let _ = Recording::open(directory).and_then(|recording| recording.tail());
}

/// `maxima/*.parquet`, of a recording that ended.
fn maxima(directory: &Path, bytes: &[u8]) {
    put_cut_document(directory);
    let path = directory.join("recording.json");
    let text = std::fs::read_to_string(&path).expect("the document");
    if text.contains("\"ended\":null") {
        let ended = r#""ended":{"reason":"completed","detail":null,"at_ns":1}"#;
        std::fs::write(&path, text.replace("\"ended\":null", ended)).expect("a writable directory");
    }
    put(directory, "maxima/000001.parquet", bytes);
    let _ = Recording::open(directory).and_then(|recording| recording.for_each_block_maximum(|_| ()));
}

/// `events/episodes.jsonl`, with the answer of `punctual why`.
fn episodes(directory: &Path, bytes: &[u8]) {
    put(directory, "events/episodes.jsonl", bytes);
    let mut room = punctual_blame::Room::of(bounds::MAX_TREE_BYTES);
    let _ = for_each_episode(directory, |episode| {
        let view = punctual_report::why::EpisodeView::new(&episode, &mut room);
        let _ = view.detail_bytes();
    });
}

fn recorder(directory: &Path, bytes: &[u8]) {
    put(directory, "events/recorder.json", bytes);
    let _ = read_recorder_summary(directory);
}

fn handlers(directory: &Path, bytes: &[u8]) {
    put(directory, "events/handlers.json", bytes);
    let _ = read_handler_sums(directory);
}

/// `events/log/*.parquet`.
fn log_rows(directory: &Path, bytes: &[u8]) {
    put(directory, "events/log/000001.parquet", bytes);
    let _ = count_log_rows(directory);
    let mut summary = punctual_report::log::LogSummary::default();
    let _ = for_each_log_row(directory, |row| {
        summary.take(row);
        true
    });
    summary.close();
}

fn log_document(directory: &Path, bytes: &[u8]) {
    put(directory, "events/log.json", bytes);
    if let Ok(Some(log)) = read_log_document(directory) {
        let _ = (log.rows(), log.events(), log.dropped());
    }
}

/// `gaps/*.parquet`.
fn gap_rows(directory: &Path, bytes: &[u8]) {
    put(directory, "gaps/000001.parquet", bytes);
    let _ = for_each_gap(directory, |_| ());
}

fn gap_document(directory: &Path, bytes: &[u8]) {
    put(directory, "gaps.json", bytes);
    let _ = read_gap_document(directory);
}

/// `interactions/*.parquet`.
fn interaction_rows(directory: &Path, bytes: &[u8]) {
    put(directory, "interactions/000001.parquet", bytes);
    let _ = punctual_recording::read_interactions(directory);
}

/// `interaction_parts/*.parquet`.
fn interaction_parts(directory: &Path, bytes: &[u8]) {
    put(directory, "interaction_parts/000001.parquet", bytes);
    let _ = punctual_recording::for_each_interaction_part(directory, |_| ());
}

/// `interaction_events/*.parquet`.
fn interaction_events(directory: &Path, bytes: &[u8]) {
    put(directory, "interaction_events/000001.parquet", bytes);
    let _ = punctual_recording::for_each_input_event(directory, |_| ());
}

/// `interaction_waits/*.parquet`.
fn interaction_waits(directory: &Path, bytes: &[u8]) {
    put(directory, "interaction_waits/000001.parquet", bytes);
    let _ = punctual_recording::for_each_wait_stretch(directory, |_| ());
}

/// `interaction_code/*.parquet`.
fn interaction_code(directory: &Path, bytes: &[u8]) {
    put(directory, "interaction_code/000001.parquet", bytes);
    let _ = punctual_recording::for_each_input_code(directory, |_| ());
}

fn interaction_document(directory: &Path, bytes: &[u8]) {
    put(directory, "interactions.json", bytes);
    let _ = punctual_recording::read_interaction_document(directory);
}

/// `activations/*.parquet`.
fn activation_rows(directory: &Path, bytes: &[u8]) {
    put(directory, "activations/000001.parquet", bytes);
    let _ = for_each_activation(directory, |_| ());
}

fn activation_document(directory: &Path, bytes: &[u8]) {
    put(directory, "activations.json", bytes);
    let _ = read_activation_document(directory);
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn task_set(_: &Path, bytes: &[u8]) {
    if let Ok(set) = TaskSet::parse_toml(&text(bytes)) {
        let _ = analyse(&set, None);
    }
}

fn task_set_rt_app(_: &Path, bytes: &[u8]) {
    if let Ok(set) = TaskSet::parse_rt_app(&text(bytes)) {
        let _ = analyse(&set, None);
    }
}

/// A simulator file is read; running it is as long as it says.
fn simulation(_: &Path, bytes: &[u8]) {
    let _ = Experiment::parse("fuzz.toml", &text(bytes));
}

fn load_file(_: &Path, bytes: &[u8]) {
    let _ = LoadFile::parse("fuzz.toml", "fuzz", &text(bytes));
}

fn profiles(_: &Path, bytes: &[u8]) {
    let _ = Catalogue::parse(&text(bytes));
}

/// The reader with a name.
pub fn reader(name: &str) -> Option<Reader> {
    READERS.iter().find(|(known, _)| *known == name).map(|(_, reader)| *reader)
}

/// A directory of its own for this process, in memory where there is such a place.
pub fn place(name: &str) -> PathBuf {
    let shared = Path::new("/dev/shm");
    let base = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
    let place = base.join(format!("punctual-fuzz-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&place).expect("a writable directory");
    place
}
