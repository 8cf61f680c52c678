//! Makes the calls that are not stored yet, a few at a time.

use super::error::TablesError;
use super::plan::{RowPlan, TablesPlan};
use super::store::{Place, Store};
use punctual_modem::SAMPLE_RATE;
use punctual_modem::adapter::time_of;
use punctual_modem::experiment::Experiment as Calls;
use punctual_modem::tables::{Row, Tables, file};
use punctual_modem::transfer::{Attempt, Transfer};
use punctual_modem::virtual_time::Live;
use punctual_sim::time::{NANOSECOND, SECOND};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How often progress is reported.
const EVERY: Duration = Duration::from_millis(100);
/// The name, among the rows, of the transfer that nothing delays.
const CLEAN: &str = "clean";

/// How far the tables have come.
#[derive(Debug, Clone, Copy)]
pub struct TablesProgress {
    /// Calls that are over, including those that were stored.
    pub done: usize,
    /// Calls that were stored before.
    pub kept: usize,
    /// Calls in all.
    pub of: usize,
    /// Since the beginning.
    pub elapsed: Duration,
}

/// A call: which row it belongs to (`None`: nothing delays it), and which attempt it is, from 0.
#[derive(Debug, Clone, Copy)]
struct Cell {
    row: Option<usize>,
    number: u32,
}

/// The calls in the order in which they are made: whenever that is cut short, the rows have about equally many.
fn cells(plan: &TablesPlan) -> Vec<Cell> {
    let attempts =
        (0..plan.attempts).flat_map(|number| (0..plan.rows.len()).map(move |row| Cell { row: Some(row), number }));
    std::iter::once(Cell { row: None, number: 0 }).chain(attempts).collect()
}

/// Makes all calls of a plan except those that are stored. Asks `go_on` at once and ten times a second; once it says
/// no, what is over is what there is. The same plan gives the same result, however many calls are made at a time.
///
/// # Errors
/// A directory that is not this study's, before anything is computed; an attempt that cannot be stored.
pub fn run(plan: &TablesPlan, go_on: &mut dyn FnMut(&TablesProgress) -> bool) -> Result<Tables, TablesError> {
    let calls = plan.calls();
    let bytes = file(plan.seed, plan.bytes as usize);
    let store = Store::open(plan)?;
    let cells = cells(plan);
    let places = places(plan, store.as_ref())?;
    let place = |cell: Cell| places.get(cell.row.map_or(0, |row| row + 1));
    let read = |cell: &Cell| place(*cell)?.read(cell.number, u64::from(plan.bytes), &calls.plan(&bytes));
    let mut ends: Vec<Option<Attempt>> = cells.iter().map(read).collect();
    let left: Vec<usize> = (0..cells.len()).filter(|&cell| ends[cell].is_none()).collect();
    let (kept, began) = (cells.len() - left.len(), Instant::now());
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let mut refused = None;
    let mut tell = |ends: &[Option<Attempt>], stop: &AtomicBool| {
        let done = ends.iter().flatten().count();
        if !go_on(&TablesProgress { done, kept, of: cells.len(), elapsed: began.elapsed() }) {
            stop.store(true, Relaxed);
        }
    };
    // Even if nothing is left to do.
    tell(&ends, &stop);
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        for _ in 0..plan.jobs.clamp(1, left.len().max(1)) {
            let (sender, next, stop, left, place) = (sender.clone(), &next, &stop, &left, &place);
            let (cells, calls, bytes) = (&cells, &calls, &bytes);
            scope.spawn(move || {
                while let Some(&number) = left.get(next.fetch_add(1, Relaxed)).filter(|_| !stop.load(Relaxed)) {
                    let cell = cells[number];
                    let row = cell.row.map(|row| &plan.rows[row]);
                    let made = attempt(calls, row, cell.number, bytes, &|| !stop.load(Relaxed));
                    let stored = made.and_then(|made| {
                        // Under its number, so that the order in which calls end does not matter.
                        let stored = made.zip(place(cell)).map(|(made, place)| place.write(cell.number, &made));
                        stored.transpose().map(|_| made)
                    });
                    if sender.send((number, stored)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        loop {
            match receiver.recv_timeout(EVERY) {
                Ok((number, Ok(made))) => ends[number] = made,
                Ok((_, Err(error))) => {
                    // On a full disk the next would fail too.
                    stop.store(true, Relaxed);
                    refused.get_or_insert(error);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            tell(&ends, &stop);
        }
    });
    refused.map_or_else(|| Ok(tables(plan, calls, &cells, &ends)), Err)
}

/// Where the attempts are: the one that nothing delays, then each row's; none without a directory.
fn places(plan: &TablesPlan, store: Option<&Store>) -> Result<Vec<Place>, TablesError> {
    let Some(store) = store else { return Ok(Vec::new()) };
    let rows = plan.rows.iter().map(|row| format!("table-{}-{}", row.table, row.id));
    std::iter::once(CLEAN.to_owned()).chain(rows).map(|id| store.row(&id)).collect()
}

fn tables(plan: &TablesPlan, experiment: Calls, cells: &[Cell], ends: &[Option<Attempt>]) -> Tables {
    let over = |row: Option<usize>| {
        let own = cells.iter().zip(ends).filter(move |(cell, _)| cell.row == row);
        own.filter_map(|(cell, end)| Some((cell.number + 1, (*end)?)))
    };
    let rows = plan.rows.iter().enumerate().map(|(index, row)| {
        let (numbers, attempts) = over(Some(index)).unzip();
        Row {
            table: row.table,
            name: row.name.clone(),
            id: row.id.clone(),
            far_end: row.far_end,
            published: row.published,
            transfer: Transfer { bytes: u64::from(plan.bytes), attempts, ..Transfer::default() },
            numbers,
        }
    });
    let clean = over(None).next().map(|(_, attempt)| attempt);
    Tables { experiment, bytes: u64::from(plan.bytes), clean, rows: rows.collect() }
}

/// A call; `None` if it was cut short.
fn attempt(
    calls: &Calls,
    row: Option<&RowPlan>,
    number: u32,
    bytes: &[u8],
    go_on: &dyn Fn() -> bool,
) -> Result<Option<Attempt>, TablesError> {
    let seed = calls.seed.wrapping_add(u64::from(number));
    let Some(row) = row else {
        return Ok(calls.telephone.call(calls.plan(bytes), seed, bytes, &mut |_, _| go_on()));
    };
    let plan = Calls { far_end: row.far_end, ..*calls }.plan(bytes);
    let mut service = row.machine.service(Some(&row.case), seed)?;
    let mut live = Live::new(&calls.telephone, plan, seed, bytes);
    let (mut now_ns, mut second) = (0, 0);
    // The machine's second is not quite the line's.
    let last_s = plan.limit / SAMPLE_RATE + 2;
    'call: while second < last_s {
        if !go_on() {
            return Ok(None);
        }
        second += 1;
        for served in service.go_on(SECOND) {
            let complete_ns = time_of(served.complete);
            let begin_ns = (complete_ns + served.begin / NANOSECOND).max(now_ns);
            now_ns = (complete_ns + served.end / NANOSECOND).max(begin_ns);
            if live.advance(begin_ns).is_some() {
                break 'call;
            }
            // A block that the line has lost meanwhile is not worked on.
            if live.begin(begin_ns).is_some() {
                live.work();
                if live.complete(now_ns).is_some() {
                    break 'call;
                }
            }
        }
    }
    live.advance(time_of(plan.limit + SAMPLE_RATE));
    Ok(Some(live.attempt()))
}
