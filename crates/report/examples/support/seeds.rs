//! Small sound inputs of every kind to start from.

use punctual_recording::episode::{Event, EventKind, Frame, Group, StackSample, Victim};
use punctual_recording::*;
use std::path::Path;

const MS: u64 = 1_000_000;

fn event(at_ns: u64, kind: EventKind, value: u64) -> Event {
    Event { at_ns, cpu: 1, kind, tid: 7, priority: -1, context: 0x10000, steal_ns: 5, value, extra: 9 << 32, name: 0 }
}

fn episode() -> Episode {
    let kinds =
        [EventKind::VectorBegin, EventKind::VectorEnd, EventKind::Waking, EventKind::Switch, EventKind::SoftirqBegin];
    let victim = Victim { tid: 9, name: "measure-1".into(), priority: 19, cpu: 1 };
    Episode {
        threshold_ns: 3_000,
        usual_delivery_ns: 10,
        fault_path_ns: 3,
        sample_period_ns: 1_000_000,
        names: vec!["x".into(), "y".into()],
        frames: vec![
            Frame { function: "f".into(), module: "kernel".into() },
            Frame { function: "asm_sysvec_apic_timer_interrupt".into(), module: "kernel".into() },
        ],
        events: kinds.iter().zip(0..).map(|(&kind, index)| event(100_000 + index * 70_000, kind, 9)).collect(),
        samples: [false, true]
            .map(|late| StackSample {
                at_ns: 350_000,
                cpu: 1,
                tid: 7,
                context: 0,
                at_late_interrupt: late,
                name: 0,
                frames: vec![0, 1, 0],
            })
            .to_vec(),
        builds: vec![("/bin/x".into(), "abc".into())],
        groups: vec![Group { path: "/a".into(), weights: vec![1_024], real_time_us: None }],
        members: vec![(7, 0)],
        ..Episode::of(victim, 100_000, 500_000)
    }
}

/// Writes the corpora.
pub(crate) fn write(corpus: &Path) {
    let scratch = readers_place();
    let path = scratch.join("a.punctual");
    wakeups(corpus, &path);
    episodes(corpus, &path);
    log(corpus, &scratch.join("log.punctual"));
    gaps(corpus, &scratch.join("idle.punctual"));
    activations(corpus, &scratch.join("device.punctual"));
    written_by_people(corpus);
    let _ = std::fs::remove_dir_all(scratch);
}

fn copy(corpus: &Path, from: &Path, reader: &str, name: &str) {
    let target = corpus.join(reader);
    std::fs::create_dir_all(&target).expect("a writable corpus");
    std::fs::copy(from, target.join(name)).expect("a file to copy");
}

fn wakeups(corpus: &Path, path: &Path) {
    let provenance = Provenance {
        run_id: "00".to_owned(),
        configuration: Configuration { interval_ns: MS, policy: "fifo".into(), bpf: true, ..Configuration::default() },
        load: LoadInfo { name: "none".into(), ..LoadInfo::default() },
        tuning: [("governor", Setting::Text("performance".into())), ("timer_slack", Setting::Number(50))]
            .map(|(name, setting)| (name.to_owned(), setting))
            .into(),
        ..Provenance::default()
    };
    let task =
        |tid| Task { measure: "fifo:80".into(), tid, cpu: Some(0), period_ns: MS, counters: Counters::default() };
    let mut writer = Writer::create(path, provenance, vec![task(100), task(101)]).expect("a recording");
    for index in 0..300_u64 {
        let (expected, late) = (5_000 * MS + index * MS, 2_000 + index * 37 % 900);
        let stamps = Stamps {
            expected,
            irq: expected + late / 2,
            softirq: 0,
            waking: expected + late / 2 + 3,
            switch_in: expected + late,
            user: expected + late + 3,
        };
        let tid = 100 + (index % 2) as u32;
        writer
            .push((index % 2) as usize, &Wakeup { steal_ns: Some(index % 3), ..Wakeup::from_stamps(&stamps, 0, tid) });
    }
    let ended = Ended { reason: EndReason::Completed, detail: None, at_ns: 0 };
    writer.finish(ended, Vec::new()).expect("a recording");
    copy(corpus, &path.join("recording.json"), "document", "whole.json");
    copy(corpus, &path.join("wakeups/000001.parquet"), "wakeups", "two-tasks.parquet");
    copy(corpus, &path.join("tail.parquet"), "tail", "two-tasks.parquet");
    copy(corpus, &path.join("maxima/000001.parquet"), "maxima", "two-tasks.parquet");
}

fn episodes(corpus: &Path, path: &Path) {
    let directory = Directory::make(path).expect("a directory");
    let writer = EpisodeWriter::create(&directory).and_then(|mut writer| {
        writer.push(&episode())?;
        write_recorder_summary(&directory, &RecorderSummary { late: 1, kept: 1, ..RecorderSummary::default() })?;
        Ok(writer)
    });
    writer.expect("episodes");
    let sum = HandlerSum {
        kind: "irq".into(),
        name: "local_timer".into(),
        count: 3,
        total_ns: 900,
        longest_ns: 400,
        longest_at_ns: 5_000,
    };
    write_handler_sums(&directory, &[sum]).expect("sums");
    copy(corpus, &path.join("events/episodes.jsonl"), "episodes", "one.jsonl");
    copy(corpus, &path.join("events/recorder.json"), "recorder", "one.json");
    copy(corpus, &path.join("events/handlers.json"), "handlers", "one.json");
}

fn log(corpus: &Path, path: &Path) {
    let mut writer = LogWriter::create(&Directory::make(path).expect("a directory")).expect("a log");
    for index in 0..200 {
        let kind = EventKind::ALL[index as usize % EventKind::ALL.len()];
        let name = format!("name-{}", index % 9);
        writer.push(&LogRow { event: event(1_000 + index, kind, index), thread: "program", name: &name });
    }
    writer.finish(&mut LogDocument { cpus: vec![1], ..LogDocument::default() }).expect("a log");
    copy(corpus, &path.join("events/log/000001.parquet"), "log_rows", "all-kinds.parquet");
    copy(corpus, &path.join("events/log.json"), "log_document", "all-kinds.json");
}

fn gaps(corpus: &Path, path: &Path) {
    let mut writer = GapWriter::create(&Directory::make(path).expect("a directory")).expect("gaps");
    let mut document = GapDocument { schema: GAPS_SCHEMA.into(), names: vec!["a".into()], ..GapDocument::default() };
    for index in 0..100 {
        let kind = CauseKind::ALL[index as usize % CauseKind::ALL.len()];
        let gap = Gap { start_ns: index * 4_000_000, length_ns: 7_000 + index, cpu: 1, kind, name: 0, cause_ns: None };
        document.lengths.record(gap.length_ns);
        document.longest.push(gap);
        writer.push(&gap);
    }
    writer.finish(&document).expect("gaps");
    copy(corpus, &path.join("gaps/000001.parquet"), "gap_rows", "all-kinds.parquet");
    copy(corpus, &path.join("gaps.json"), "gap_document", "all-kinds.json");
}

fn activations(corpus: &Path, path: &Path) {
    let mut writer = ActivationWriter::create(&Directory::make(path).expect("a directory")).expect("activations");
    let mut summary = DeviceSummary { device: "modem".to_owned(), ..DeviceSummary::default() };
    for block in 0..60 {
        let at = block * 8 * MS;
        summary.elapsed.record(90 + block);
        writer.push(&ActivationRow {
            block,
            arrival_ns: at,
            interrupt_ns: (block % 2 == 0).then_some(at + 5),
            start_ns: at + 9,
            end_ns: at + 99,
            executed_ns: 80,
            ..ActivationRow::default()
        });
    }
    let schema = ACTIVATIONS_SCHEMA.to_owned();
    let document = ActivationDocument { schema, devices: vec![summary], ..ActivationDocument::default() };
    writer.finish(&document).expect("activations");
    copy(corpus, &path.join("activations/000001.parquet"), "activation_rows", "modem.parquet");
    copy(corpus, &path.join("activations.json"), "activation_document", "modem.json");
}

/// What people or other programs write.
fn written_by_people(corpus: &Path) {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    copy(corpus, &top.join("examples/modem-and-audio.toml"), "task_set", "modem-and-audio.toml");
    copy(corpus, &top.join("experiments/soft-modem-dialup.toml"), "simulation", "soft-modem-dialup.toml");
    copy(corpus, &top.join("experiments/nt-timers-table2.toml"), "simulation", "nt-timers-table2.toml");
    copy(corpus, &top.join("loads/office.toml"), "load_file", "office.toml");
    copy(corpus, &top.join("crates/device/src/catalogue/today.toml"), "profiles", "today.toml");
    let rt_app = r#"{"global":{"duration":2},"tasks":{"audio":{"policy":"SCHED_FIFO","priority":80,"cpus":[0],"loop":-1,
"run":2000,"timer":{"ref":"tick","period":10000}},"modem":{"priority":70,"phases":{"a":{"run":500,"timer":{"ref":"t","period":8000}}}}}}"#;
    std::fs::create_dir_all(corpus.join("task_set_rt_app")).expect("a writable corpus");
    std::fs::write(corpus.join("task_set_rt_app/two.json"), rt_app).expect("a writable corpus");
}

fn readers_place() -> std::path::PathBuf {
    let place = super::readers::place("seeds");
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).expect("a writable directory");
    place
}
