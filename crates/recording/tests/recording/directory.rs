//! Recordings on disk: whole, cut, merged, damaged.

use proptest::prelude::*;
use punctual_recording::*;
use std::path::Path;

const MS: u64 = 1_000_000;

fn provenance(run: &str) -> Provenance {
    Provenance {
        run_id: run.to_owned(),
        configuration: Configuration { interval_ns: MS, policy: "fifo".into(), bpf: true, ..Configuration::default() },
        load: LoadInfo { name: "none".into(), ..LoadInfo::default() },
        ..Provenance::default()
    }
}

fn task(tid: u32) -> Task {
    Task { measure: "fifo:80".into(), tid, cpu: Some(tid - 100), period_ns: MS, counters: Counters::default() }
}

fn wakeup(index: u64, tid: u32, late: u64) -> Wakeup {
    let expected = 5_000 * MS + index * MS;
    let stamps = Stamps {
        expected,
        irq: expected + late / 2,
        softirq: 0,
        waking: expected + late / 2 + 3,
        switch_in: expected + late - late / 8 + 3,
        user: expected + late + 3,
    };
    // Every seventh goes unobserved.
    let stamps = if index.is_multiple_of(7) { Stamps { irq: 0, waking: 0, switch_in: 0, ..stamps } } else { stamps };
    let missed = if index.is_multiple_of(50) { 2 } else { 0 };
    Wakeup { missed, steal_ns: Some(index % 3), ..Wakeup::from_stamps(&stamps, tid - 100, tid) }
}

fn write(directory: &Path, run: &str, lates: &[u64], per_flush: usize) -> Writer {
    let mut writer = Writer::create(directory, provenance(run), vec![task(100), task(101)]).unwrap();
    for (index, &late) in lates.iter().enumerate() {
        let tid = 100 + (index % 2) as u32;
        writer.push(index % 2, &wakeup(index as u64, tid, late));
        if (index + 1) % per_flush == 0 {
            writer.flush().unwrap();
        }
    }
    writer
}

fn ended() -> Ended {
    Ended { reason: EndReason::Completed, detail: None, at_ns: 0 }
}

fn rows(recording: &Recording) -> Vec<Wakeup> {
    let mut rows = Vec::new();
    recording.for_each_wakeup(|wakeup| rows.push(*wakeup)).unwrap();
    rows
}

fn maxima(recording: &Recording) -> Vec<BlockMaximum> {
    let mut maxima = Vec::new();
    recording.for_each_block_maximum(|maximum| maxima.push(*maximum)).unwrap();
    maxima
}

fn seconds(recording: &Recording) -> Vec<u64> {
    let totals = maxima(recording).into_iter().filter(|maximum| maximum.stage == Stage::Total);
    totals.map(|maximum| maximum.block).collect::<std::collections::BTreeSet<u64>>().into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn what_is_pushed_is_read(lates in prop::collection::vec(16..50_000_000u64, 1..400), per_flush in 1..100usize) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.punctual");
        write(&path, "1", &lates, per_flush).finish(ended(), vec![]).unwrap();
        let recording = Recording::open(&path).unwrap();
        prop_assert!(!recording.is_cut());
        let expected: Vec<Wakeup> =
            lates.iter().enumerate().map(|(index, &late)| wakeup(index as u64, 100 + (index % 2) as u32, late)).collect();
        prop_assert_eq!(rows(&recording), expected.clone());
        prop_assert_eq!(recording.count_not_adding_up().unwrap(), 0);

        let document = recording.document();
        prop_assert_eq!(document.counters.wakeups, lates.len() as u64);
        prop_assert_eq!(document.counters.missed, Some(expected.iter().map(|wakeup| wakeup.missed).sum()));
        prop_assert_eq!(document.counters.unobserved, lates.len().div_ceil(7) as u64);
        let total = document.distributions.sum(|key| key.stage == Stage::Total);
        prop_assert_eq!(total.max(), expected.iter().map(|wakeup| wakeup.total_ns).max());
        prop_assert_eq!(total.count(), lates.len() as u64);

        let tail = recording.tail().unwrap();
        prop_assert_eq!(tail.iter().filter(|value| value.stage == Stage::Total).count(), lates.len());
        let maxima = maxima(&recording);
        let counted: u64 = maxima.iter().filter(|block| block.stage == Stage::Total).map(|block| block.count).sum();
        prop_assert_eq!(counted, lates.len() as u64);
    }

    #[test]
    fn a_cut_recording_opens_with_all_that_was_flushed(lates in prop::collection::vec(16..50_000_000u64, 1..300), per_flush in 1..50usize) {
        let directory = tempfile::tempdir().unwrap();
        let whole = directory.path().join("whole.punctual");
        let cut = directory.path().join("cut.punctual");
        write(&whole, "1", &lates, per_flush).finish(ended(), vec![]).unwrap();
        // Dropped without an end, as a kill would do.
        drop(write(&cut, "1", &lates, per_flush));
        let (whole, cut) = (Recording::open(&whole).unwrap(), Recording::open(&cut).unwrap());
        prop_assert!(cut.is_cut());
        let kept = lates.len() / per_flush * per_flush;
        prop_assert_eq!(&rows(&cut)[..], &rows(&whole)[..kept]);
        prop_assert_eq!(cut.document().counters.wakeups, kept as u64);
        let last = rows(&cut).iter().map(|wakeup| wakeup.expected_ns + wakeup.total_ns).max();
        prop_assert_eq!(cut.document().last_ns, last.unwrap_or(0));
        if kept == lates.len() {
            let sorted = |recording: &Recording| {
                let mut tail = recording.tail().unwrap();
                tail.sort();
                tail
            };
            prop_assert_eq!(sorted(&cut), sorted(&whole));
            prop_assert_eq!(maxima(&cut).len(), maxima(&whole).len());
            for one in [&cut, &whole] {
                prop_assert_eq!(one.tail_and_seconds().unwrap(), (one.tail().unwrap(), seconds(one)));
            }
        }
    }
}

#[test]
fn a_segment_closed_after_the_document_was_written_is_taken_in() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    let lates: Vec<u64> = (0..100).map(|index| 1000 + index).collect();
    let mut writer = write(&path, "1", &lates[..60], 60);
    let document = std::fs::read(path.join("recording.json")).unwrap();
    for (index, &late) in lates.iter().enumerate().skip(60) {
        writer.push(index % 2, &wakeup(index as u64, 100 + (index % 2) as u32, late));
    }
    writer.flush().unwrap();
    let with_all = Recording::open(&path).unwrap().document().clone();
    // As if the kill had come between closing the segment and writing the document.
    std::fs::write(path.join("recording.json"), document).unwrap();
    let taken_in = Recording::open(&path).unwrap();
    assert_eq!(taken_in.document().counters, with_all.counters);
    let count = |document: &Document| document.distributions.sum(|key| key.stage == Stage::Total).count();
    assert_eq!(count(taken_in.document()), 100);
    assert_eq!(count(&with_all), 100);
}

#[test]
fn wakeups_of_threads_not_told_apart_are_taken_in_for_all_of_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    let others = Task { measure: OTHERS.into(), tid: 0, cpu: None, period_ns: 0, counters: Counters::default() };
    let mut writer = Writer::create(&path, provenance("1"), vec![task(100), others]).unwrap();
    let push = |writer: &mut Writer, index: u64| {
        let tid = 100 + (index % 7) as u32;
        writer.push(usize::from(tid > 100), &wakeup(index, tid, 1_000 + index));
    };
    (0..70).for_each(|index| push(&mut writer, index));
    writer.flush().unwrap();
    let document = std::fs::read(path.join("recording.json")).unwrap();
    (70..140).for_each(|index| push(&mut writer, index));
    writer.flush().unwrap();
    let whole = Recording::open(&path).unwrap().document().clone();
    std::fs::write(path.join("recording.json"), document).unwrap();
    let taken_in = Recording::open(&path).unwrap();
    let wakeups = |document: &Document| document.tasks.iter().map(|task| task.counters.wakeups).collect::<Vec<_>>();
    assert_eq!(wakeups(&whole), [20, 120]);
    assert_eq!(wakeups(taken_in.document()), [20, 120]);
    assert_eq!(taken_in.document().counters.wakeups, 140);
    assert_eq!(
        taken_in.document().distributions.sum(|key| key.measure == OTHERS && key.stage == Stage::Total).count(),
        120
    );
}

#[test]
fn merging_adds_up_the_same_and_refuses_the_different() {
    let directory = tempfile::tempdir().unwrap();
    let lates: Vec<u64> = (0..100).map(|index| 1000 + index).collect();
    let document =
        |run: &str, lates: &[u64]| write(&directory.path().join(run), run, lates, 10).finish(ended(), vec![]).unwrap();
    let (a, b) = (document("a", &lates[..30]), document("b", &lates[30..]));
    // What lies between two runs was not measured, whichever of them is named first.
    let mut later = b.clone();
    later.provenance.started_ns += 12_000_000_000;
    later.ended.as_mut().unwrap().at_ns += 12_000_000_000;
    assert!(a.measured_ns() > 0 && b.measured_ns() > 0);
    for both in [[a.clone(), later.clone()], [later, a.clone()]] {
        assert_eq!(merge(both).unwrap().measured_ns(), a.measured_ns() + b.measured_ns());
    }
    let sum = merge([a.clone(), b]).unwrap();
    assert_eq!((sum.counters.wakeups, a.added, sum.added), (100, 0, 1));
    assert_eq!(sum.distributions.sum(|key| key.stage == Stage::Total).count(), 100);
    assert_eq!(merge([a.clone(), a.clone()]).unwrap_err().kind(), ErrorKind::Incompatible);
    let mut other = a.clone();
    other.provenance.run_id = "c".into();
    other.provenance.load.name = "cpu".into();
    assert!(merge([a, other]).unwrap_err().to_string().contains("the load differs"));
}

#[test]
fn a_tail_of_another_recording_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let [own, other] = ["own", "other"].map(|run| directory.path().join(run));
    write(&own, "own", &[2_000; 60], 30).finish(ended(), vec![]).unwrap();
    write(&other, "other", &[3_000; 60], 30).finish(ended(), vec![]).unwrap();
    let tail = || Recording::open(&own).unwrap().tail_and_seconds();
    assert!(tail().is_ok());
    std::fs::copy(other.join("tail.parquet"), own.join("tail.parquet")).unwrap();
    let said = tail().unwrap_err().to_string();
    assert!(said.contains("does not belong to this recording"), "{said}");
}

#[test]
fn an_end_without_a_time_is_that_of_the_last_wakeup() {
    let directory = tempfile::tempdir().unwrap();
    let finish = |run: &str, at_ns: u64| {
        let writer = write(&directory.path().join(run), run, &[2_000; 10], 10);
        writer.finish(Ended { at_ns, ..ended() }, vec![]).unwrap()
    };
    let (without, with) = (finish("a", 0), finish("b", 7));
    // The tenth is due at 5.009 s.
    let at_ns = |document: &Document| document.ended.as_ref().unwrap().at_ns;
    assert_eq!((at_ns(&without) / MS, at_ns(&with)), (5_009, 7));
}

#[test]
fn a_recording_cut_before_its_first_flush_tells_when_it_began() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    let mut writer = write(&path, "1", &[], 1);
    let begun = || Recording::open(&path).unwrap().document().provenance.started_ns;
    assert_eq!(begun(), 0, "it gets ready");
    writer.begin(7 * MS, 11).unwrap();
    drop(writer);
    assert_eq!(begun(), 7 * MS);
    assert_eq!(Recording::open(&path).unwrap().document().provenance.monotonic_to_unix_ns, 11);
}

#[test]
fn a_cut_recording_has_the_maxima_of_every_second() {
    let directory = tempfile::tempdir().unwrap();
    let [whole, cut] = ["whole", "cut"].map(|run| directory.path().join(run));
    let lates: Vec<u64> = (0..3_500).map(|index| 1_000 + index * 7 % 1_000).collect();
    write(&whole, "whole", &lates, 500).finish(ended(), vec![]).unwrap();
    write(&cut, "cut", &lates, 500);
    let of = |path: &Path| {
        let recording = Recording::open(path).unwrap();
        assert_eq!(recording.is_cut(), path == cut);
        let row = |maximum: &BlockMaximum| {
            (maximum.tid, maximum.stage as usize, maximum.block, maximum.max_ns, maximum.count)
        };
        let mut rows: Vec<_> = maxima(&recording).iter().map(row).collect();
        rows.sort_unstable();
        (rows, seconds(&recording))
    };
    assert_eq!(of(&whole), of(&cut));
    assert_eq!(of(&cut).1, [5, 6, 7, 8]);
}

#[test]
fn a_load_of_which_nothing_was_said_is_none() {
    assert_eq!(LoadInfo::default().name_or_none(), "none");
    assert_eq!(LoadInfo { name: "games".into(), ..LoadInfo::default() }.name_or_none(), "games");
}

#[test]
fn what_is_no_recording_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let open = |path: &Path| Recording::open(path).unwrap_err();
    assert_eq!(open(&directory.path().join("none")).kind(), ErrorKind::NotFound);
    assert_eq!(open(directory.path()).kind(), ErrorKind::Invalid);
    let json = directory.path().join("recording.json");
    for (text, kind) in [
        ("", ErrorKind::Invalid),
        ("{}", ErrorKind::Invalid),
        (r#"{"schema":"other/1"}"#, ErrorKind::Invalid),
        (r#"{"schema":"punctual.recording/1"}"#, ErrorKind::Invalid),
        (r#"{"schema":"punctual.recording/2"}"#, ErrorKind::NewerSchema),
    ] {
        std::fs::write(&json, text).unwrap();
        assert_eq!(open(directory.path()).kind(), kind, "{text}");
    }
    let file = directory.path().join("file");
    std::fs::write(&file, "x").unwrap();
    assert_eq!(open(&file).kind(), ErrorKind::Invalid);
}

#[test]
fn nothing_is_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("precious"), "x").unwrap();
    let error = Writer::create(directory.path(), provenance("1"), vec![]).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Exists);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever happens to a recording's files: an answer or an error, never a panic, and the stages still add up.
    #[test]
    fn damaged_recordings_are_refused_or_read_never_a_panic(
        file in 0..4usize,
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        keep in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.punctual");
        let lates: Vec<u64> = (0..60).map(|index| 1_000 + index * 777).collect();
        write(&path, "1", &lates, 20).finish(ended(), vec![]).unwrap();
        let name = ["recording.json", "tail.parquet", "maxima/000001.parquet", "wakeups/000001-000003.parquet"][file];
        let victim = path.join(name);
        let mut bytes = std::fs::read(&victim).unwrap();
        for (place, value) in &edits {
            let place = place.index(bytes.len());
            bytes[place] = *value;
        }
        if cut {
            bytes.truncate(keep.index(bytes.len()));
        }
        std::fs::write(&victim, bytes).unwrap();
        if let Ok(recording) = Recording::open(&path) {
            let _ = recording.count_not_adding_up();
            let _ = recording.tail();
            let _ = recording.for_each_block_maximum(|_| ());
            for (_, distribution) in recording.document().distributions.iter() {
                let _ = (distribution.mean(), distribution.quantile(0.5), distribution.count_above(1_000));
            }
            let _ = merge([recording.document().clone()]);
        }
    }
}

#[test]
fn of_several_tables_that_cannot_be_read_the_first_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    let lates: Vec<u64> = (0..120).map(|index| 1_000 + index * 777).collect();
    // Tables are joined when there are many, and at the end.
    drop(write(&path, "1", &lates, 20));
    let recording = Recording::open(&path).unwrap();
    let rows = recording.count_rows().unwrap();
    assert_eq!((rows.read, rows.not_adding_up), (120, 0));
    for number in [5, 3] {
        let name = format!("wakeups/{number:06}.parquet");
        std::fs::write(path.join(&name), "no table").unwrap();
        let error = recording.count_rows().unwrap_err().to_string();
        assert!(error.contains(&name), "{error}");
    }
}

#[test]
fn what_is_drawn_of_wakeups_is_what_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    let lates: Vec<u64> = (0..120).map(|index| 1_000 + index * 777).collect();
    write(&path, "1", &lates, 20).finish(ended(), vec![]).unwrap();
    let recording = Recording::open(&path).unwrap();
    let (mut drawn, mut wakeups) = (Vec::new(), Vec::new());
    recording.for_each_lateness(|cpu, tid, expected, total| drawn.push((cpu, tid, expected, total))).unwrap();
    recording
        .for_each_wakeup(|wakeup| wakeups.push((wakeup.cpu, wakeup.tid, wakeup.expected_ns, wakeup.total_ns)))
        .unwrap();
    assert_eq!((drawn.len(), &drawn), (120, &wakeups));
}

fn followed(index: u64, tid: u32) -> Wakeup {
    let began = 5_000 * MS + index * MS;
    let stamps =
        FollowedStamps { began, irq: 0, waking: began + 700, switch_in: began + 3_000, switch_out: began + 90_000 };
    Wakeup {
        executed_ns: Some(60_000),
        woken_by: Some((index % 2) as u32),
        ..Wakeup::from_followed(&stamps, 0, tid).unwrap()
    }
}

#[test]
fn threads_that_come_later_and_have_no_period_are_written_and_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a");
    let mut writer = Writer::create(&path, provenance("1"), Vec::new()).unwrap();
    let followed_task = |tid: u32, name: &str| Task {
        measure: format!("{name} other"),
        tid,
        cpu: None,
        period_ns: 0,
        counters: Counters::default(),
    };
    // The second takes another name, the third shares the first's.
    let tasks = [(7, "a"), (8, "b"), (8, "c"), (9, "a")].map(|(tid, name)| writer.add_task(followed_task(tid, name)));
    for index in 0..100 {
        let task = tasks[index as usize % 4];
        writer.push(task, &followed(index, [7, 8, 8, 9][index as usize % 4]));
    }
    writer.set_thread_counts(0, 2, 3, 5);
    writer.followed_mut().wakers.push(Waker { kind: WakerKind::Thread, name: "x".into(), id: Some(3) });
    writer.finish(ended(), Vec::new()).unwrap();
    let recording = Recording::open(&path).unwrap();
    let document = recording.document();
    assert_eq!(document.counters.missed, None);
    assert_eq!((document.counters.wakeups, document.counters.lost, document.counters.unobserved), (100, 2, 3));
    assert_eq!(document.distributions.measures(), ["a other", "b other", "c other"]);
    let sum = |stage| document.distributions.sum(|key| key.stage == stage);
    assert_eq!(sum(Stage::Work).count(), 100);
    assert_eq!(sum(Stage::Response).max(), Some(90_000));
    assert_eq!(rows(&recording)[1], followed(1, 8));
    assert_eq!(recording.tail().unwrap().iter().filter(|value| value.stage == Stage::Work).count(), 100);
    assert_eq!(recording.count_not_adding_up().unwrap(), 0);
    let merged = merge([document.clone()]).unwrap();
    assert_eq!(merged.followed.unwrap().wakers.len(), 1);
}

/// A thread chooses its own name. However many names come: every wakeup counts under one of a bounded number of
/// measures, the recording can be read, and its tail belongs to it.
#[test]
fn names_without_end_become_one_measure() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    let mut writer = Writer::create(&path, provenance("1"), Vec::new()).unwrap();
    writer.followed_mut();
    let mut pushed = 0;
    for number in 0..3_000_u32 {
        let measure = format!("name {number} other");
        let task = writer.add_task(Task { measure, period_ns: 0, cpu: None, ..task(100 + number) });
        for _ in 0..3 {
            let late = 1_000 + u64::from(number) * 7_919 % 900_000;
            writer.push(task, &Wakeup { cpu: number % 2, missed: 0, ..wakeup(pushed, 100 + number, late) });
            pushed += 1;
        }
        if number % 500 == 0 {
            writer.flush().unwrap();
        }
    }
    let document = writer.finish(ended(), Vec::new()).unwrap();
    let recording = Recording::open(&path).unwrap();
    assert_eq!(recording.document(), &document);
    let measures = document.distributions.measures();
    assert!(measures.len() <= 1_025, "{} measures", measures.len());
    assert!(measures.contains(&OTHERS.to_owned()));
    assert_eq!(document.distributions.sum(|key| key.stage == Stage::Total).count(), pushed);
    for task in &document.tasks {
        assert!(measures.contains(&task.measure), "{} has no distribution", task.measure);
    }
    // The tail holds each measure's largest value, or the recording would be refused.
    assert!(!recording.tail().unwrap().is_empty());
}

/// Threads with a period, of a simulated machine for instance, may have more names than a reader takes. The written
/// recording still opens.
#[test]
fn more_measures_than_are_read_are_not_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.punctual");
    let tasks =
        (0..5_000_u32).map(|number| Task { measure: format!("thread {number}"), cpu: Some(0), ..task(100 + number) });
    let mut writer = Writer::create(&path, provenance("1"), tasks.collect()).unwrap();
    for number in 0..5_000 {
        writer.push(number, &wakeup(number as u64, number as u32 + 100, 1_000));
    }
    let document = writer.finish(ended(), Vec::new()).unwrap();
    assert_eq!(document.distributions.measures().len(), 4_096);
    let recording = Recording::open(&path).unwrap();
    assert_eq!(recording.document().tasks.iter().filter(|task| task.measure == OTHERS).count(), 905);
    assert_eq!(document.distributions.sum(|key| key.stage == Stage::Total).count(), 5_000);
    assert!(!recording.tail().unwrap().is_empty());
}
