//! Whether CPUs, or threads, are late equally often.

use super::{values, waits};
use crate::input::{Input, Lateness};
use crate::special::chi_squared_q;
use punctual_recording::Stage;
use std::collections::BTreeMap;

/// CPUs count as different if their counts differ by more than chance: below this probability, at any of
/// [`APART_RANKS`].
const APART: f64 = 0.01;
/// This many of the longest waits of all CPUs are counted, CPU by CPU.
const APART_RANKS: [usize; 7] = [10, 20, 40, 100, 400, 1_600, 6_400];

/// Whether no test distinguishes the CPUs: counts the longest waits of all, CPU by CPU, at several levels.
pub(super) fn are_alike(inputs: &[Input], stage: Stage) -> bool {
    let mut sorted: Vec<u64> = values(inputs, stage).collect();
    sorted.sort_unstable_by(|left, right| right.cmp(left));
    let exposures: Vec<f64> = inputs.iter().map(|input| input.exposure_of(stage)).collect();
    let whole: f64 = exposures.iter().sum();
    let mut looked = false;
    for rank in APART_RANKS.into_iter().filter(|rank| *rank < sorted.len()) {
        let counts: Vec<f64> =
            waits(inputs, stage, sorted[rank - 1].saturating_sub(1)).map(|times| times.len() as f64).collect();
        let sum: f64 = counts.iter().sum();
        let expected = exposures.iter().map(|exposure| sum * exposure / whole);
        let statistic: f64 = counts.iter().zip(expected).map(|(count, mean)| (count - mean).powi(2) / mean).sum();
        if chi_squared_q((inputs.len() - 1) as f64, statistic) < APART {
            return false;
        }
        looked = true;
    }
    looked
}

/// One of several threads that could move between CPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Latest {
    /// Its number.
    pub(crate) tid: u32,
    /// Its share of the longest waits of all of them.
    pub(crate) share: f64,
}

impl Input {
    /// The thread that is late most often, where threads could move between CPUs and a test distinguishes them by their
    /// longest waits, of which alone it is known whose they are. `None` for others, and for threads that are judged CPU by
    /// CPU.
    pub(crate) fn latest_thread(&self, stage: Stage) -> Option<Latest> {
        let lateness = self.stages.get(&stage)?;
        if self.tasks.len() < 2 || lateness.by_task.len() == self.tasks.len() {
            return None;
        }
        let of_any = (lateness.distribution.clone(), lateness.complete_above_ns);
        let told = Lateness { by_task: vec![of_any; self.tasks.len()], ..lateness.clone() };
        let threads = Input { stages: BTreeMap::from([(stage, told)]), ..self.clone() }.by_cpu(stage);
        let mut sorted: Vec<u64> = values(&threads, stage).collect();
        sorted.sort_unstable_by(|left, right| right.cmp(left));
        // With fewer, no test was made.
        let rank = APART_RANKS.into_iter().rfind(|rank| *rank < sorted.len())?;
        if threads.len() < 2 || are_alike(&threads, stage) {
            return None;
        }
        let counts: Vec<usize> =
            waits(&threads, stage, sorted[rank - 1].saturating_sub(1)).map(|times| times.len()).collect();
        let all: usize = counts.iter().sum();
        let (index, most) = counts.into_iter().enumerate().max_by_key(|(_, count)| *count)?;
        let tid = threads[index].tasks.first()?.tid;
        (most > 0).then(|| Latest { tid, share: most as f64 / all as f64 })
    }
}
