//! Threads that never slept, in a recording: kept beside what older versions know, and held against its loops.

use punctual_recording::*;

const MS: u64 = 1_000_000;

/// A loop of process 40 that wakes by its timer every millisecond from 100 ms on, and these rows of threads that never slept.
fn write(path: &std::path::Path, without_sleep: &[WithoutSleep]) {
    let mut writer = Writer::create(path, Provenance::default(), Vec::new()).unwrap();
    let measure = "loop other".to_owned();
    let task = writer.add_task(Task { measure, tid: 41, cpu: None, period_ns: 0, counters: Counters::default() });
    let followed = writer.followed_mut();
    followed.wakers.push(Waker { kind: WakerKind::Timer, name: "sleep".to_owned(), id: None });
    followed.threads.push(FollowedThread {
        tid: 41,
        process: 40,
        name: "loop".to_owned(),
        ..FollowedThread::default()
    });
    followed.without_sleep = without_sleep.to_vec();
    for number in 100..600 {
        let (expected_ns, work_ns, woken_by) = (number * MS, Some(200_000), Some(0));
        let wakeup = Wakeup { tid: 41, expected_ns, total_ns: 20_000, work_ns, woken_by, ..Wakeup::default() };
        writer.push(task, &wakeup);
    }
    writer.finish(Ended { reason: EndReason::Completed, detail: None, at_ns: 600 * MS }, Vec::new()).unwrap();
}

fn row(process: u32, threads: u64, last_ended_ns: u64) -> WithoutSleep {
    let name = "loop".to_owned();
    WithoutSleep { process, name, threads, longest_executed_ns: 3 * MS, last_ended_ns, is_context: false }
}

#[test]
fn the_cycles_of_a_loop_that_starts_threads_may_be_more_than_its_wakeups_show() {
    let directory = tempfile::tempdir().unwrap();
    let counted = |name: &str, rows: &[WithoutSleep]| {
        let path = directory.path().join(name);
        write(&path, rows);
        let recording = Recording::open(&path).unwrap();
        assert_eq!(recording.document().followed.as_ref().unwrap().without_sleep, rows);
        recording.cycles(MS).unwrap()["loop other"]
    };
    let none = counted("none", &[]);
    assert_eq!((none.cycles, none.without_sleep, none.overrun_count().exact()), (500, 0, Some(0)));
    let threads = counted("threads", &[row(40, 480, 599 * MS), row(0, 2, 599 * MS)]);
    assert_eq!((threads.without_sleep, threads.longest_without_sleep_ns), (482, 3 * MS));
    assert_eq!(threads.overrun_count().of_cycles_in_words(), "none seen of at least 500 cycles");
    assert_eq!((threads.cycles, threads.longest_ns), (none.cycles, none.longest_ns));
    // Those of another process are not its own, nor what was over before it began.
    assert_eq!(counted("others", &[row(39, 480, 599 * MS), row(0, 9, 99 * MS)]), none);
}

#[test]
fn a_recording_says_nothing_of_such_threads_where_there_are_none_and_is_read_by_whoever_does_not_know_them() {
    let directory = tempfile::tempdir().unwrap();
    let text = |name: &str, rows: &[WithoutSleep]| {
        let path = directory.path().join(name);
        write(&path, rows);
        let text = std::fs::read_to_string(path.join("recording.json")).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()
    };
    let (without, mut with) = (text("without", &[]), text("with", &[row(40, 480, 599 * MS)]));
    let row = with["followed"].as_object_mut().unwrap().remove("without_sleep").unwrap();
    assert_eq!(row[0]["threads"], 480);
    assert!(row[0].get("is_context").is_none());
    // Everything else is as it would be without them, so that older versions read what they know.
    assert_eq!((&with["schema"], &with["followed"]), (&without["schema"], &without["followed"]));
    assert_eq!(without["followed"].get("without_sleep"), None);
}

#[test]
fn recordings_that_are_added_up_have_the_threads_of_all() {
    let directory = tempfile::tempdir().unwrap();
    let document = |name: &str, threads| {
        let path = directory.path().join(name);
        write(&path, &[row(40, threads, 599 * MS)]);
        let mut document = Recording::open(&path).unwrap().document().clone();
        document.provenance.run_id = name.to_owned();
        document
    };
    let sum = merge([document("a", 480), document("b", 20)]).unwrap();
    assert_eq!(Unslept::of(&sum.followed.unwrap().without_sleep).threads, 500);
}
