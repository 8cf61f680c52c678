//! Threads that began and ended without ever sleeping, from their last records: nothing else tells of them.

use super::records::{RECORD_ENDED, RECORD_NO_WAKEUP, Record, shown};
use punctual_recording::{OTHERS, WithoutSleep};
use std::collections::HashMap;

/// No more names and processes than this are told apart: programs choose their names.
const MAX_ROWS: usize = 256;

/// Whose they were: the process, 0 for one of its own, the name, and whether they were there for context.
type Whose = (u32, String, bool);

/// Counts them by whose they were.
#[derive(Default)]
pub(super) struct WithoutSleepTable {
    /// Positions in the recording's rows.
    rows: HashMap<Whose, usize>,
}

/// Whether a record tells of the end of a thread that no wakeup led to, and of which none was lost or not seen.
pub(super) fn ends_without_wakeup(record: &Record) -> bool {
    let both = RECORD_NO_WAKEUP | RECORD_ENDED;
    record.flags & both == both && record.unobserved == 0 && record.lost == 0
}

impl WithoutSleepTable {
    /// Takes the last record of a thread that never slept.
    pub(super) fn take(&mut self, record: &Record, is_context: bool, rows: &mut Vec<WithoutSleep>) {
        // Of a process nobody knows any more who started it.
        let process = if record.process == record.tid { 0 } else { record.process };
        let mut whose = (process, shown(&record.name), is_context);
        if self.rows.len() >= MAX_ROWS && !self.rows.contains_key(&whose) {
            whose = (0, OTHERS.to_owned(), is_context);
        }
        let position = *self.rows.entry(whose).or_insert_with_key(|(process, name, is_context)| {
            let row =
                WithoutSleep { process: *process, name: name.clone(), is_context: *is_context, ..Default::default() };
            rows.push(row);
            rows.len() - 1
        });
        let row = &mut rows[position];
        row.threads += 1;
        row.longest_executed_ns = row.longest_executed_ns.max(record.executed);
        row.last_ended_ns = row.last_ended_ns.max(record.at);
    }
}

#[cfg(test)]
mod tests {
    use super::super::records::NAME_SIZE;
    use super::*;
    use proptest::prelude::*;

    /// The end of a thread that ran for so many us.
    fn ended(tid: u32, process: u32, name: &str, executed_us: u64) -> Record {
        let mut bytes = [0; NAME_SIZE];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        let flags = RECORD_NO_WAKEUP | RECORD_ENDED;
        let executed = executed_us * 1_000;
        Record { tid, process, name: bytes, executed, at: u64::from(tid) * 10, flags, ..Record::default() }
    }

    fn taken(records: &[Record]) -> Vec<WithoutSleep> {
        let (mut table, mut rows) = (WithoutSleepTable::default(), Vec::new());
        records.iter().for_each(|record| table.take(record, false, &mut rows));
        rows
    }

    #[test]
    fn threads_count_for_their_process_and_processes_for_none() {
        let told = taken(&[
            ended(101, 40, "tick", 300),
            ended(102, 40, "tick", 12_000),
            ended(103, 103, "tick", 20),
            ended(104, 40, "tick", 200),
            ended(105, 105, "tick", 10),
            ended(106, 41, "tick", 1),
        ]);
        let row = |process, threads, executed_us: u64, last_ended_ns| WithoutSleep {
            process,
            name: "tick".to_owned(),
            threads,
            longest_executed_ns: executed_us * 1_000,
            last_ended_ns,
            is_context: false,
        };
        assert_eq!(told, [row(40, 3, 12_000, 1_040), row(0, 2, 20, 1_050), row(41, 1, 1, 1_060)]);
    }

    #[test]
    fn what_is_there_for_context_counts_apart() {
        let (mut table, mut rows) = (WithoutSleepTable::default(), Vec::new());
        for is_context in [true, false, true] {
            table.take(&ended(7, 40, "tick", 1), is_context, &mut rows);
        }
        let told: Vec<(bool, u64)> = rows.iter().map(|row| (row.is_context, row.threads)).collect();
        assert_eq!(told, [(true, 2), (false, 1)]);
    }

    #[test]
    fn only_an_end_that_nothing_is_missing_of_is_one_without_a_sleep() {
        let last = ended(7, 40, "tick", 1);
        assert!(ends_without_wakeup(&last));
        for other in [
            Record { flags: RECORD_ENDED, ..last },
            Record { flags: RECORD_NO_WAKEUP, ..last },
            // It slept, and how that ended is counted as not seen, or lost.
            Record { unobserved: 1, ..last },
            Record { lost: 1, ..last },
        ] {
            assert!(!ends_without_wakeup(&other), "{other:?}");
        }
    }

    proptest! {
        #[test]
        fn however_many_names_there_are_every_thread_is_counted_and_rows_stay_few(
            threads in prop::collection::vec((0..900u32, 0..5u32, any::<bool>()), 0..2_000)
        ) {
            let (mut table, mut rows) = (WithoutSleepTable::default(), Vec::new());
            for (number, process, is_context) in &threads {
                table.take(&ended(1_000 + number, *process, &format!("job-{number}"), 1), *is_context, &mut rows);
            }
            prop_assert!(rows.len() <= MAX_ROWS + 2, "{}", rows.len());
            prop_assert_eq!(rows.iter().map(|row| row.threads).sum::<u64>(), threads.len() as u64);
            let context = rows.iter().filter(|row| row.is_context).map(|row| row.threads).sum::<u64>();
            prop_assert_eq!(context, threads.iter().filter(|thread| thread.2).count() as u64);
        }
    }
}
