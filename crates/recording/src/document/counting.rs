//! Goes through the tables of wakeups with several threads: each takes a table, and then groups of rows of the others'.

use crate::error::{Error, Result};
use crate::format::bounds::MAX_SPAN_NS;
use crate::format::segments::Segment;
use crate::format::table::Opened;
use crate::wakeups::sums::{SUMMED, Sums, WakeupRows};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How many threads count at once: each takes memory for a part of its table.
const MAX_THREADS: usize = 4;
/// A table smaller than this, bytes, is counted sooner than another thread has begun with it.
const WORTH_SHARING: u64 = 1 << 20;
/// More groups than there are.
const NO_MORE: usize = usize::MAX / 2;

/// A table and a group of its rows.
type Place = (usize, usize);

/// What one thread has counted, and the error that ended it.
type Counted = (WakeupRows, Option<(Place, Error)>);

/// Counts the rows of these tables. Of several errors, the first counts.
pub(super) fn count(tables: &[Segment]) -> Result<WakeupRows> {
    let many = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let is_large = |table: &Segment| std::fs::metadata(&table.path).is_ok_and(|about| about.len() >= WORTH_SHARING);
    count_with(tables, if tables.iter().any(is_large) { many } else { many.min(tables.len()) })
}

/// The same with so many threads.
fn count_with(tables: &[Segment], threads: usize) -> Result<WakeupRows> {
    let counting = Counting {
        tables,
        next: AtomicUsize::new(0),
        groups: tables.iter().map(|_| Groups::default()).collect(),
        is_over: AtomicBool::new(false),
    };
    let count = || counting.count();
    let counted: Vec<Counted> = std::thread::scope(|scope| {
        let begin = |_| std::thread::Builder::new().name("count".to_owned()).spawn_scoped(scope, count).ok();
        let others: Vec<_> = (1..threads).map_while(begin).collect();
        let mut counted = vec![count()];
        for other in others {
            counted.push(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        counted
    });
    let mut all = WakeupRows::default();
    let mut failed: Vec<(Place, Error)> = Vec::new();
    for (rows, error) in counted {
        all.add(rows);
        failed.extend(error);
    }
    match failed.into_iter().min_by_key(|(place, _)| *place) {
        Some((_, error)) => Err(error),
        None => Ok(all),
    }
}

/// The groups of rows of one table.
#[derive(Default)]
struct Groups {
    /// The first that nobody has begun.
    next: AtomicUsize,
    /// How many there are, at least 1; 0 until somebody has opened the table.
    many: AtomicUsize,
}

impl Groups {
    fn are_begun(&self) -> bool {
        let many = self.many.load(Ordering::Relaxed);
        many > 0 && self.next.load(Ordering::Relaxed) >= many
    }
}

/// How far the counting has come.
struct Counting<'a> {
    tables: &'a [Segment],
    /// The first table that nobody has begun.
    next: AtomicUsize,
    groups: Vec<Groups>,
    /// Whether there was an error. Groups before it are being counted; nobody needs those after it.
    is_over: AtomicBool,
}

impl Counting<'_> {
    /// What each thread does.
    fn count(&self) -> Counted {
        let mut sums = Sums::default();
        let is_on = || !self.is_over.load(Ordering::Relaxed);
        // What a thread has begun it counts, whatever the others met: the first error may be there.
        let begun = std::iter::from_fn(|| is_on().then(|| self.next.fetch_add(1, Ordering::Relaxed)));
        let own = begun.take_while(|position| *position < self.tables.len());
        // When all tables are begun, what is left of them.
        let others = (0..self.tables.len()).take_while(|_| is_on());
        for position in own.chain(others) {
            if let Err(failed) = self.count_table(position, &mut sums) {
                self.is_over.store(true, Ordering::Relaxed);
                return (sums.rows, Some(failed));
            }
        }
        (sums.rows, None)
    }

    /// Counts those groups of a table that nobody has begun.
    fn count_table(&self, position: usize, sums: &mut Sums) -> Result<(), (Place, Error)> {
        let groups = &self.groups[position];
        if groups.are_begun() {
            return Ok(());
        }
        let table = Opened::open(&self.tables[position].path).map_err(|error| ((position, 0), error))?;
        groups.many.store(table.groups().max(1), Ordering::Relaxed);
        loop {
            let group = groups.next.fetch_add(1, Ordering::Relaxed);
            if group >= table.groups() {
                return Ok(());
            }
            if let Err(error) = table.read_numbers(group, &SUMMED, MAX_SPAN_NS, sums) {
                groups.next.store(NO_MORE, Ordering::Relaxed);
                return Err(((position, group), error));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::tables::WAKEUPS;
    use crate::format::directory::Directory;
    use crate::format::segments::{SegmentWriter, list};

    const ROWS: i64 = 40_000;

    /// A table of three groups of rows, and one that is not joined yet. Of every hundred rows one does not add up, and one
    /// that does not was not observed.
    fn write(recording: &Directory) {
        let mut writer = SegmentWriter::create(recording, "wakeups", &WAKEUPS).unwrap();
        for segment in 0..4 {
            for row in 0..ROWS {
                let seen = row % 100 != 7;
                let part = |ns: i64| seen.then_some(ns);
                let total = if matches!(row % 100, 5 | 7) { 999 } else { 1_000 };
                let rows = writer.rows();
                let thread = rows.text("fifo:80");
                rows.push([
                    Some(0),
                    Some(7),
                    Some(row * 1_000_000),
                    Some(total),
                    Some(0),
                    part(300),
                    None,
                    part(200),
                    part(400),
                    part(100),
                    None,
                    None,
                    None,
                    None,
                    Some(thread),
                ]);
            }
            writer.close_segment().unwrap();
            if segment == 2 {
                writer.join_all().unwrap();
            }
        }
    }

    #[test]
    fn however_many_threads_count_each_row_is_counted_once() {
        let directory = tempfile::tempdir().unwrap();
        write(&Directory::make(directory.path()).unwrap());
        let tables = list(&directory.path().join("wakeups")).unwrap();
        let groups: Vec<usize> = tables.iter().map(|table| Opened::open(&table.path).unwrap().groups()).collect();
        assert!(groups.len() == 2 && groups[0] > 2, "{groups:?}");
        let expected = WakeupRows { read: 4 * ROWS as u64, not_adding_up: 4 * ROWS as u64 / 100 };
        for threads in [1, 2, 3, 8] {
            assert_eq!(count_with(&tables, threads).unwrap(), expected, "{threads} threads");
        }
        assert_eq!(count(&tables).unwrap(), expected);
        // An error in any of them ends all.
        std::fs::write(&tables[1].path, "no table").unwrap();
        for threads in [1, 2, 8] {
            let error = count_with(&tables, threads).unwrap_err().to_string();
            assert!(error.contains("000004.parquet"), "{error}");
        }
    }

    #[test]
    fn the_columns_that_are_summed_are_columns_of_wakeups() {
        let of_wakeups = |name: &str| WAKEUPS.columns.iter().find(|column| column.name == name);
        for column in SUMMED.columns {
            assert_eq!(of_wakeups(column.name).map(|known| known.optional), Some(column.optional), "{}", column.name);
        }
    }
}
