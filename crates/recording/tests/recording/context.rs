//! Threads that are followed for context: recorded, and judged by nothing.

use punctual_recording::*;

const MS: u64 = 1_000_000;
const LOOP: u32 = 7;
const HELPER: u32 = 8;

/// A loop of 1 ms that keeps its period, and a helper that wakes every 150 ms and works for 6.
fn write(path: &std::path::Path, is_context: bool) -> Distribution {
    let mut writer = Writer::create(path, Provenance::default(), Vec::new()).unwrap();
    writer.followed_mut().wakers.push(Waker { kind: WakerKind::Timer, name: "sleep".to_owned(), id: None });
    let mut add = |measure: &str, tid, name: &str, is_context| {
        let measure = measure.to_owned();
        let task = writer.add_task(Task { measure, tid, cpu: None, period_ns: 0, counters: Counters::default() });
        let thread = FollowedThread { tid, name: name.to_owned(), is_context, ..FollowedThread::default() };
        writer.followed_mut().threads.push(thread);
        task
    };
    let tasks = [add("loop fifo:80", LOOP, "loop", false), add("helper other", HELPER, "helper", is_context)];
    for number in 1..600 {
        let mut push = |task: usize, tid: u32, work_ns: u64| {
            let stamps = FollowedStamps {
                began: number * MS,
                irq: number * MS + 5_000,
                waking: number * MS + 10_000,
                switch_in: number * MS + 20_000,
                switch_out: number * MS + 20_000 + work_ns,
            };
            let wakeup = Wakeup { woken_by: Some(0), ..Wakeup::from_followed(&stamps, 0, tid).unwrap() };
            writer.push(task, &wakeup);
        };
        push(tasks[0], LOOP, 200_000);
        if number % 150 == 0 {
            push(tasks[1], HELPER, 6 * MS);
        }
    }
    let judged = writer.judged(Stage::Response);
    writer.finish(Ended { reason: EndReason::Completed, detail: None, at_ns: 600 * MS }, Vec::new()).unwrap();
    judged
}

#[test]
fn neither_the_period_nor_a_limit_applies_to_what_is_there_for_context() {
    let directory = tempfile::tempdir().unwrap();
    for (is_context, names, longest_ns) in
        [(false, vec!["helper other", "loop fifo:80"], 6_020_000), (true, vec!["loop fifo:80"], 220_000)]
    {
        let path = directory.path().join(is_context.to_string());
        let live = write(&path, is_context);
        let recording = Recording::open(&path).unwrap();
        let cycles = recording.cycles(MS).unwrap();
        assert_eq!(cycles.keys().map(String::as_str).collect::<Vec<_>>(), names, "{cycles:?}");
        assert_eq!(cycles["loop fifo:80"].overruns, 0, "{cycles:?}");
        let read = recording.document().judged(Stage::Response);
        assert_eq!((live.max(), read.max()), (Some(longest_ns), Some(longest_ns)));
        // It is recorded all the same.
        assert_eq!(recording.document().counters.wakeups, 599 + 3);
    }
}

/// One thread, which takes another name halfway that was not asked for.
#[test]
fn a_thread_counts_its_cycles_until_it_takes_another_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("renamed");
    let mut writer = Writer::create(&path, Provenance::default(), Vec::new()).unwrap();
    writer.followed_mut().wakers.push(Waker { kind: WakerKind::Timer, name: "sleep".to_owned(), id: None });
    let mut tasks = Vec::new();
    for (name, is_context) in [("before", false), ("after", true)] {
        let measure = format!("{name} fifo:80");
        tasks.push(writer.add_task(Task {
            measure,
            tid: LOOP,
            cpu: None,
            period_ns: 0,
            counters: Counters::default(),
        }));
        let thread = FollowedThread { tid: LOOP, name: name.to_owned(), is_context, ..FollowedThread::default() };
        writer.followed_mut().threads.push(thread);
    }
    for number in 1..=200 {
        let wakeup = Wakeup {
            tid: LOOP,
            expected_ns: number * MS,
            total_ns: 20_000,
            work_ns: Some(if number > 90 { 3 * MS / 2 } else { 200_000 }),
            woken_by: Some(0),
            ..Wakeup::default()
        };
        writer.push(tasks[usize::from(number > 90)], &wakeup);
    }
    writer.finish(Ended { reason: EndReason::Completed, detail: None, at_ns: 200 * MS }, Vec::new()).unwrap();
    let cycles = Recording::open(&path).unwrap().cycles(MS).unwrap();
    assert_eq!(cycles.keys().map(String::as_str).collect::<Vec<_>>(), ["before fifo:80"], "{cycles:?}");
    assert_eq!((cycles["before fifo:80"].cycles, cycles["before fifo:80"].overruns), (90, 0), "{cycles:?}");
}
