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

/// For each of [`APART_RANKS`] for which there are enough values: how many of the longest waits each CPU has, and whether these
/// counts differ by more than chance.
fn at_ranks(inputs: &[Input], stage: Stage) -> impl Iterator<Item = (Vec<f64>, bool)> {
    let mut sorted: Vec<u64> = values(inputs, stage).collect();
    sorted.sort_unstable_by(|left, right| right.cmp(left));
    let exposures: Vec<f64> = inputs.iter().map(|input| input.exposure_of(stage)).collect();
    let whole: f64 = exposures.iter().sum();
    let kept = sorted.len();
    APART_RANKS.into_iter().filter(move |rank| *rank < kept).map(move |rank| {
        let counts: Vec<f64> =
            waits(inputs, stage, sorted[rank - 1].saturating_sub(1)).map(|times| times.len() as f64).collect();
        let sum: f64 = counts.iter().sum();
        let expected = exposures.iter().map(|exposure| sum * exposure / whole);
        let statistic: f64 = counts.iter().zip(expected).map(|(count, mean)| (count - mean).powi(2) / mean).sum();
        let is_apart = chi_squared_q((inputs.len() - 1) as f64, statistic) < APART;
        (counts, is_apart)
    })
}

/// Whether no test distinguishes the CPUs: counts the longest waits of all, CPU by CPU, at several levels.
pub(super) fn are_alike(inputs: &[Input], stage: Stage) -> bool {
    let mut looked = false;
    for (_, is_apart) in at_ranks(inputs, stage) {
        if is_apart {
            return false;
        }
        looked = true;
    }
    looked
}

/// One of several threads that could move between CPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct WorstThread {
    /// Its number.
    pub(crate) tid: u32,
    /// Its share of the longest waits of all of them.
    pub(crate) share: f64,
}

/// How many times as large a count of all threads together is as that of the one that is meant, if this is what each of them
/// has: an average one, or the one that is late most often.
pub(super) fn threads_counted(own: &[f64], worst: Option<WorstThread>) -> f64 {
    let all: f64 = own.iter().sum();
    match worst {
        Some(_) if all > 0.0 => all / own.iter().copied().fold(0.0, f64::max),
        Some(worst) => 1.0 / worst.share,
        None => own.len().max(1) as f64,
    }
}

impl Input {
    /// The thread that is late most often, where threads could move between CPUs and a test distinguishes them by their
    /// longest waits, of which alone it is known whose they are. `None` for others, and for threads that are judged CPU by
    /// CPU.
    pub(crate) fn worst_thread(&self, stage: Stage) -> Option<WorstThread> {
        let lateness = self.stages.get(&stage)?;
        if self.tasks.len() < 2 || lateness.by_task.len() == self.tasks.len() {
            return None;
        }
        let of_any = (lateness.distribution.clone(), lateness.complete_above_ns);
        let told = Lateness { by_task: vec![of_any; self.tasks.len()], ..lateness.clone() };
        let threads = Input { stages: BTreeMap::from([(stage, told)]), ..self.clone() }.by_cpu(stage);
        if threads.len() < 2 {
            return None;
        }
        // At the largest number of waits at which they still differ.
        let (counts, _) = at_ranks(&threads, stage).filter(|(_, is_apart)| *is_apart).last()?;
        let all: f64 = counts.iter().sum();
        let (index, most) = counts.into_iter().enumerate().max_by(|(_, one), (_, other)| one.total_cmp(other))?;
        let tid = threads[index].tasks.first()?.tid;
        (most > 0.0).then(|| WorstThread { tid, share: most / all })
    }
}
