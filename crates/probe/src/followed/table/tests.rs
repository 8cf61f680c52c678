//! What records of threads become.

use super::*;
use punctual_recording::Provenance;

/// A thread of process 40.
fn record(tid: u32, name: &str, flags: u32) -> Record {
    let mut bytes = [0; NAME_SIZE];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    Record { tid, process: 40, name: bytes, flags, executed: 12_000_000, at: 9_000, ..Record::default() }
}

/// The record of a wakeup of it, by its timer.
fn woken(tid: u32, name: &str, flags: u32) -> Record {
    let wake = Wake { waking: 2_000, began: 1_000, irq: 1_500, kind: WAKER_TIMER, id: 1, ..Wake::default() };
    Record { wake, switch_in: 3_000, switch_out: 5_000, executed: 2_000, ..record(tid, name, flags) }
}

/// Takes records in, as of threads that began while they were followed; returns the wakeups, and the threads that never slept.
fn taken(selection: &Selection, records: &[Record]) -> (usize, Vec<punctual_recording::WithoutSleep>, usize) {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(directory.path().join("a.punctual"), Provenance::default(), Vec::new()).unwrap();
    let mut table = Table::default();
    let mut wakeups = 0;
    for record in records {
        table.take_without_sleep(record, selection, &mut writer);
        wakeups += usize::from(table.take(record, &mut writer).is_some());
    }
    let followed = writer.followed_mut();
    (wakeups, followed.without_sleep.clone(), followed.threads.len())
}

const UNWOKEN_END: u32 = RECORD_NO_WAKEUP | RECORD_ENDED;

#[test]
fn a_thread_that_ended_without_a_wakeup_is_counted_and_is_no_task() {
    let records = [woken(41, "loop", 0), record(42, "loop", UNWOKEN_END), record(43, "loop", UNWOKEN_END)];
    let (wakeups, rows, threads) = taken(&Selection::default(), &records);
    assert_eq!((wakeups, threads), (1, 1));
    let [row] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((row.process, row.name.as_str(), row.threads, row.is_context), (40, "loop", 2, false));
    assert_eq!((row.longest_executed_ns, row.last_ended_ns), (12_000_000, 9_000));
}

#[test]
fn a_thread_that_woke_before_its_end_slept() {
    let unobserved = Record { unobserved: 1, ..record(44, "loop", UNWOKEN_END) };
    let slept = [woken(41, "loop", 0), record(41, "loop", UNWOKEN_END), woken(43, "loop", RECORD_ENDED), unobserved];
    assert_eq!(taken(&Selection::default(), &slept), (2, Vec::new(), 3));
    // The next one with its number is another thread.
    let again = [&slept[..], &[record(41, "loop", UNWOKEN_END)]].concat();
    let (_, rows, _) = taken(&Selection::default(), &again);
    assert_eq!(rows.iter().map(|row| row.threads).collect::<Vec<u64>>(), [1]);
}

#[test]
fn where_names_are_asked_for_too_others_are_there_for_context() {
    let mut selection = Selection::default();
    selection.command = true;
    selection.add_name("^tick").unwrap();
    let records = [record(42, "tick", UNWOKEN_END), record(43, "helper", UNWOKEN_END)];
    let (_, rows, _) = taken(&selection, &records);
    let told: Vec<(&str, bool)> = rows.iter().map(|row| (row.name.as_str(), row.is_context)).collect();
    assert_eq!(told, [("tick", false), ("helper", true)]);
}
