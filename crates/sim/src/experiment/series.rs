//! The points of figures.

use super::build::Setup;
use super::collect::Run;
use crate::time::{MICROSECOND, MILLISECOND, NEVER, SECOND};

/// What a figure shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Series {
    /// Times between the starts of a thread: (start of a bucket of 50 us in us, how many), as in Figures 10 to 13 and
    /// 16 of soft-modem-2000.
    Intervals {
        /// Whose.
        thread: String,
    },
    /// Time between the device's interrupts: (s, ms), as in Figures 1 and 19.
    BlockIntervals,
    /// Processing of a block from start to end: (s, ms), as in Figures 2, 4, 8, 9, 15 and 20.
    Elapsed,
    /// Samples pending when a block was done: (s, samples), as in Figures 5 to 7, 14 and 18.
    Pending,
    /// Share of the CPU in stretches of 12.5 ms: (s, percent), as in Figure 3.
    Load,
}

impl Series {
    pub(super) fn points(&self, setup: &Setup, run: &Run) -> Result<Vec<(f64, f64)>, String> {
        let seconds = |time: u64| time as f64 / SECOND as f64;
        let millis = |time: u64| time as f64 / MILLISECOND as f64;
        if let Series::Intervals { thread } = self {
            let index = setup.spec.threads.iter().position(|known| known.name == *thread);
            let index = index.ok_or_else(|| format!("there is no thread {thread:?}"))?;
            let mut buckets = std::collections::BTreeMap::new();
            for pair in run.starts[index].windows(2) {
                *buckets.entry((pair[1].1 - pair[0].1) / (50 * MICROSECOND)).or_insert(0u64) += 1;
            }
            return Ok(buckets.into_iter().map(|(bucket, count)| (bucket as f64 * 50.0, count as f64)).collect());
        }
        let device = run.devices.first().ok_or("there is no device")?;
        let done = device.blocks.iter().filter(|block| block.start != NEVER);
        Ok(match self {
            Series::BlockIntervals => device
                .blocks
                .windows(2)
                .map(|pair| (seconds(pair[1].arrival), millis(pair[1].arrival.saturating_sub(pair[0].arrival))))
                .collect(),
            Series::Elapsed => done.map(|block| (seconds(block.end), millis(block.end - block.start))).collect(),
            Series::Pending => done.map(|block| (seconds(block.end), block.pending as f64)).collect(),
            Series::Load | Series::Intervals { .. } => {
                let stretch = 12_500 * MICROSECOND;
                let mut busy = vec![0u64; (run.length / stretch) as usize + 1];
                for block in done {
                    let mut at = block.start;
                    while at < block.end {
                        let index = at / stretch;
                        let until = block.end.min((index + 1) * stretch);
                        busy[index as usize] += until - at;
                        at = until;
                    }
                }
                // The last stretch is incomplete: its share would look like idle time.
                busy.pop();
                let share = |busy: u64| 100.0 * busy as f64 / stretch as f64;
                busy.into_iter().enumerate().map(|(at, busy)| (seconds(at as u64 * stretch), share(busy))).collect()
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::builtin;

    #[test]
    fn figures_have_their_points() {
        let dialup = builtin("soft-modem-dialup").unwrap().unwrap();
        for series in [Series::BlockIntervals, Series::Elapsed, Series::Pending, Series::Load] {
            let points = dialup.series(Some("INT"), &series).unwrap();
            assert!(points.len() > 1000, "{series:?}");
        }
        let callbacks = builtin("soft-modem-callbacks").unwrap().unwrap();
        let histogram = Series::Intervals { thread: "callback".to_owned() };
        let points = callbacks.series(Some("control"), &histogram).unwrap();
        assert_eq!(points.iter().map(|point| point.0).collect::<Vec<_>>(), [950.0, 1950.0]);
        assert!(callbacks.series(None, &Series::Intervals { thread: "nobody".to_owned() }).is_err());
    }
}
