//! The same what-if at every point of a grid: in parallel, in shards, resumable; a Parquet row for each point.

use punctual_recording::{read_numbers, write_numbers};
use punctual_sim::sweep::{Shard, Sweep};
use punctual_sim::swept::{Outcome, Point};
use punctual_sim::watch::Watch;
use punctual_sim::whatif::WhatIf;
use std::path::Path;
use std::time::{Duration, Instant};

/// Names of the columns that hold an outcome.
const OUTCOME: [&str; 7] =
    ["activations", "misses", "pending_max", "latency_p50_ns", "latency_max_ns", "response_max_ns", "device_ppm"];

/// Points computed before the file may be written anew.
const BATCH: usize = 32;
/// How long to compute at least before that: a sweep that is killed has this, or the last part of its time, to do again.
const MIN_BETWEEN: Duration = Duration::from_millis(500);
/// Writing a file with a million points takes longer than computing some of them: this many times as long is computed
/// as was written.
const COMPUTED_PER_WRITTEN: u32 = 10;

/// Asks a question at the points of a grid that belong to a shard. Those that `output` already holds, from the same
/// question, are not computed again. `observe` is told how many of how many are done, `watch` about each point that is;
/// what was computed before it wanted no more is kept and returned.
///
/// # Errors
/// If `output` cannot be read or written, or holds the answers to another question.
pub fn sweep(
    question: &WhatIf,
    grid: &Sweep,
    shard: Shard,
    output: Option<&Path>,
    watch: &dyn Watch,
    observe: &mut dyn FnMut(usize, usize),
) -> Result<Vec<Point>, punctual_recording::Error> {
    let identity = identity(question, grid);
    let mut points = match output {
        Some(path) if path.exists() => read(path, identity, grid)?,
        _ => Vec::new(),
    };
    let done: Vec<u64> = points.iter().map(|point| point.number).collect();
    let own = grid.of_shard(shard, &done);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let names: Vec<&str> = grid.axes().iter().map(|axis| axis.name.as_str()).collect();
    let machine = |number: u64| -> Option<WhatIf> {
        names
            .iter()
            .zip(grid.values(number))
            .try_fold(question.clone(), |asked, (name, value)| asked.with(name, value).ok())
    };
    // Nothing for a point that was cut short, no outcome for one that is impossible.
    let ask = |number: u64| -> Option<Point> {
        let answer = match machine(number).map(|asked| asked.answer_watched(watch)) {
            _ if watch.is_over() => return None,
            Some(Ok(answer)) => Some(answer),
            Some(Err(_)) | None => None,
        };
        watch.part_done();
        Some(Point { number, outcome: answer.map(|answer| Outcome::of(&answer)) })
    };
    let (mut written, mut wait, mut is_whole) = (Instant::now(), MIN_BETWEEN, true);
    for (batch, chunk) in own.chunks(BATCH).enumerate() {
        observe(batch * BATCH, own.len());
        if watch.is_over() {
            break;
        }
        points.extend(grid.run_at(chunk, threads, ask).into_iter().map(|(_, point)| point));
        is_whole = false;
        if let Some(path) = output.filter(|_| written.elapsed() >= wait) {
            let began = Instant::now();
            store(path, identity, grid, &mut points)?;
            (written, wait, is_whole) = (Instant::now(), MIN_BETWEEN.max(began.elapsed() * COMPUTED_PER_WRITTEN), true);
        }
    }
    if let Some(path) = output.filter(|_| !is_whole) {
        store(path, identity, grid, &mut points)?;
    }
    points.sort_by_key(|point| point.number);
    Ok(points)
}

/// Tells questions apart, so that one's answers are never taken for another's.
fn identity(question: &WhatIf, grid: &Sweep) -> i64 {
    let text = format!("{question:?} {:?}", grid.axes());
    (punctual_recording::digest(&text) >> 1) as i64
}

/// Writes the points beside those that others, such as another shard, have written there meanwhile, and takes theirs.
fn store(path: &Path, identity: i64, grid: &Sweep, points: &mut Vec<Point>) -> Result<(), punctual_recording::Error> {
    if path.exists() {
        points.extend(read(path, identity, grid)?);
    }
    points.sort_by_key(|point| point.number);
    points.dedup_by_key(|point| point.number);
    write(path, identity, grid, points)
}

fn write(path: &Path, identity: i64, grid: &Sweep, points: &[Point]) -> Result<(), punctual_recording::Error> {
    let mut names = vec!["question", "point"];
    names.extend(grid.axes().iter().map(|axis| axis.name.as_str()));
    names.extend(OUTCOME);
    let rows: Vec<Vec<Option<i64>>> = points
        .iter()
        .map(|point| {
            let mut row = vec![Some(identity), Some(point.number as i64)];
            row.extend(grid.values(point.number).into_iter().map(Some));
            match &point.outcome {
                Some(outcome) => row.extend(outcome.numbers().map(|number| i64::try_from(number).ok())),
                None => row.extend([None; OUTCOME.len()]),
            }
            row
        })
        .collect();
    write_numbers(path, &names, &rows)
}

/// What the file holds; a point twice, or one that the grid does not have, is none.
fn read(path: &Path, identity: i64, grid: &Sweep) -> Result<Vec<Point>, punctual_recording::Error> {
    let names: Vec<&str> = ["question", "point"].into_iter().chain(OUTCOME).collect();
    let rows = read_numbers(path, &names)?;
    if rows.iter().any(|row| row[0] != Some(identity)) {
        return Err(punctual_recording::Error::occupied(
            path,
            "holds the answers to another question: choose another name with -o",
        ));
    }
    let number = |value: Option<i64>| value.and_then(|value| u64::try_from(value).ok());
    let points = rows.iter().filter_map(|row| {
        let numbers: Option<Vec<u64>> = row[2..].iter().map(|value| number(*value)).collect();
        let outcome = numbers.and_then(|numbers| numbers.try_into().ok()).map(Outcome::from_numbers);
        Some(Point { number: number(row[1]).filter(|number| *number < grid.points())?, outcome })
    });
    let mut points: Vec<Point> = points.collect();
    points.sort_by_key(|point| point.number);
    points.dedup_by_key(|point| point.number);
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_sim::sweep::Axis;
    use punctual_sim::time::{MILLISECOND, SECOND};
    use punctual_sim::watch::ToTheEnd;
    use punctual_sim::whatif::Context;
    use std::sync::atomic::{AtomicI64, Ordering};

    /// Waits for this many parts.
    struct Until(AtomicI64);

    impl Watch for Until {
        fn part_done(&self) {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }

        fn is_over(&self) -> bool {
            self.0.load(Ordering::Relaxed) <= 0
        }
    }

    fn question() -> (WhatIf, Sweep) {
        let context = Context::parse("slots:1/4").unwrap();
        let mut question = WhatIf::new(12 * MILLISECOND, 2, 2 * MILLISECOND, context);
        question.duration = 2 * SECOND;
        let axes = ["period=2..9", "runtime=1..6"].map(|axis| Axis::parse(axis).unwrap());
        (question, Sweep::new(axes.to_vec()).unwrap())
    }

    #[test]
    fn shards_and_resumed_sweeps_give_what_one_sweep_gives() {
        let (question, grid) = question();
        let whole = sweep(&question, &grid, Shard::WHOLE, None, &ToTheEnd, &mut |_, _| ()).unwrap();
        assert_eq!(whole.len() as u64, grid.points());
        assert!(whole.iter().any(|point| point.outcome.is_none()), "6 ms of every 2 cannot be");
        assert!(whole.iter().any(|point| point.outcome.is_some_and(|outcome| outcome.misses == 0)));

        let mut sharded = Vec::new();
        for shard in ["1/3", "2/3", "3/3"] {
            sharded.extend(
                sweep(&question, &grid, Shard::parse(shard).unwrap(), None, &ToTheEnd, &mut |_, _| ()).unwrap(),
            );
        }
        sharded.sort_by_key(|point| point.number);
        assert_eq!(sharded, whole);

        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("points.parquet");
        let some = Until(AtomicI64::new(5));
        let stopped = sweep(&question, &grid, Shard::WHOLE, Some(&path), &some, &mut |_, _| ()).unwrap();
        assert!((5..BATCH).contains(&stopped.len()), "{}", stopped.len());
        assert!(stopped.iter().all(|point| whole.contains(point)));
        let mut computed = 0;
        let resumed = sweep(&question, &grid, Shard::WHOLE, Some(&path), &ToTheEnd, &mut |_, total| computed = total);
        assert_eq!(resumed.unwrap(), whole);
        assert_eq!(computed, grid.points() as usize - stopped.len());

        // Of what somebody else may have put there, only points of this grid count, and each once.
        let forged = [vec![whole[3]; 2], vec![Point { number: grid.points(), outcome: None }]].concat();
        write(&path, identity(&question, &grid), &grid, &forged).unwrap();
        assert_eq!(read(&path, identity(&question, &grid), &grid).unwrap(), [whole[3]]);

        let other = WhatIf { seed: 2, ..question };
        let refused = sweep(&other, &grid, Shard::WHOLE, Some(&path), &ToTheEnd, &mut |_, _| ()).unwrap_err();
        assert!(refused.to_string().contains("another question"), "{refused}");
    }

    /// Another process has finished its shard by the time this one's first point is done.
    struct Beside<'a>(&'a (dyn Fn() + Sync));

    impl Watch for Beside<'_> {
        fn part_done(&self) {
            (self.0)();
        }
    }

    #[test]
    fn shards_that_write_to_one_file_at_the_same_time_lose_nothing_of_each_other() {
        let (question, grid) = question();
        let whole = sweep(&question, &grid, Shard::WHOLE, None, &ToTheEnd, &mut |_, _| ()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("points.parquet");
        let [first, second] = ["1/2", "2/2"].map(|shard| Shard::parse(shard).unwrap());
        let theirs: Vec<Point> = whole.iter().skip(1).step_by(2).copied().collect();
        let begun = std::sync::Once::new();
        let other = || begun.call_once(|| write(&path, identity(&question, &grid), &grid, &theirs).unwrap());
        let own = sweep(&question, &grid, first, Some(&path), &Beside(&other), &mut |_, _| ()).unwrap();
        assert_eq!(own, whole);
        let mut computed = usize::MAX;
        sweep(&question, &grid, second, Some(&path), &ToTheEnd, &mut |_, total| computed = total).unwrap();
        assert_eq!(computed, usize::MAX, "something was computed again");
    }
}
