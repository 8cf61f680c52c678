//! One recording in one pass: counts for each second (or longer stretches of a long recording), and what they say.

use crate::blamed::RunCauses;
use crate::error::Error;
use crate::figure::{Estimate, FIGURES};
use crate::in_time::{InTime, cut};
use crate::resample::{BINS, Stretches, bin};
use crate::served::Served;
use punctual_recording::{CycleCount, Distribution, Document, Stage, Wakeup};
use std::collections::BTreeMap;

/// One stage of one run.
#[derive(Debug, Clone)]
pub struct RunStage {
    /// Every value.
    pub distribution: Distribution,
    /// The [`FIGURES`] for which there are enough wakeups, in their order.
    pub estimates: Vec<Estimate>,
}

/// One run, as far as a comparison needs it.
#[derive(Debug, Clone)]
pub struct Run {
    /// What its recording says about itself.
    pub document: Document,
    /// By measure (policy and priority) and stage.
    pub stages: BTreeMap<(String, Stage), RunStage>,
    /// The cycles of followed loops that were recorded with their period, by measure; not gathered with the wakeups.
    pub cycles: BTreeMap<String, CycleCount>,
    /// When single wakeups of followed loops took longer than the period, until their thread slept again, by measure; each
    /// counts for as many periods as it took.
    pub long_responses: BTreeMap<String, InTime>,
    /// When its slow requests ended, as far as evidence of them was kept; not gathered with the wakeups.
    pub slow_requests: Option<InTime>,
    /// How many of them may only have waited for their next one, or were stopped while none was known to wait, as their evidence shows; not gathered with the
    /// wakeups.
    pub maybe_slow: u64,
    /// Who made it late, as its evidence shows; `None` if there is none that can be read. Not gathered with the wakeups.
    pub causes: Option<RunCauses>,
    /// How its devices were set up ([`device_settings`](crate::device_settings)); not gathered with the wakeups.
    pub devices: Vec<(String, String)>,
    /// What became of the blocks of its devices; not gathered with the wakeups.
    pub served: Vec<Served>,
}

/// How long a recording measured, ns.
pub fn measured_ns(document: &Document) -> u64 {
    let by_tasks = document.tasks.iter().map(|task| {
        let counters = &task.counters;
        (counters.wakeups.saturating_add(counters.missed.unwrap_or(0))).saturating_mul(task.period_ns)
    });
    // A recording that was cut short measured until its last wakeup.
    let end = document.ended.as_ref().map_or(document.last_ns, |ended| ended.at_ns);
    let by_end = Some(end.saturating_sub(document.provenance.started_ns));
    by_end.filter(|&length| length > 0).unwrap_or_else(|| by_tasks.max().unwrap_or(0))
}

/// Counts a recording's wakeups.
#[derive(Debug)]
pub struct Gather {
    document: Document,
    stretch_ns: u64,
    first_ns: u64,
    stretches: usize,
    length_ns: u64,
    /// The period of followed loops, if it is known.
    period_ns: Option<u64>,
    /// By measure: the wakeups that took longer, each as so many periods.
    long_responses: BTreeMap<usize, InTime>,
    /// Where each thread's stages are counted, by thread id.
    measure_of: BTreeMap<u32, usize>,
    measures: Vec<String>,
    /// By measure and stage: the bins of each stretch, one stretch after another; empty until a value comes.
    counts: Vec<Vec<u32>>,
}

impl Gather {
    /// Counts the wakeups of a recording with this document.
    pub fn new(document: Document) -> Gather {
        let length = measured_ns(&document);
        let (stretch_ns, stretches) = cut(length);
        let mut measures: Vec<String> = document.tasks.iter().map(|task| task.measure.clone()).collect();
        measures.sort_unstable();
        measures.dedup();
        let place = |measure: &String| measures.binary_search(measure).unwrap_or(0);
        let measure_of = document.tasks.iter().map(|task| (task.tid, place(&task.measure))).collect();
        Gather {
            first_ns: document.provenance.started_ns,
            stretches,
            length_ns: length,
            period_ns: document.followed.as_ref().and_then(|followed| followed.period_ns),
            long_responses: BTreeMap::new(),
            stretch_ns,
            measure_of,
            counts: vec![Vec::new(); measures.len() * Stage::ALL.len()],
            measures,
            document,
        }
    }

    /// Counts one wakeup.
    pub fn push(&mut self, wakeup: &Wakeup) {
        let Some(&measure) = self.measure_of.get(&wakeup.tid) else { return };
        let response_ns = wakeup.work_ns.map(|work_ns| wakeup.total_ns.saturating_add(work_ns));
        let long = self.period_ns.zip(response_ns).filter(|(period_ns, response_ns)| response_ns > period_ns);
        if let Some((period_ns, response_ns)) = long {
            let new = || InTime::new(self.first_ns, self.length_ns);
            let in_time = self.long_responses.entry(measure).or_insert_with(new);
            in_time.take_several(wakeup.expected_ns, response_ns / period_ns.max(1));
        }
        let since = wakeup.expected_ns.saturating_sub(self.first_ns);
        let stretch = ((since / self.stretch_ns) as usize).min(self.stretches - 1);
        for (index, stage) in Stage::ALL.into_iter().enumerate() {
            let Some(value) = wakeup.stage(stage) else { continue };
            let counts = &mut self.counts[measure * Stage::ALL.len() + index];
            if counts.is_empty() {
                counts.resize(self.stretches * BINS, 0);
            }
            let cell = &mut counts[stretch * BINS + bin(value)];
            *cell = cell.saturating_add(1);
        }
    }

    /// The counts. The quantiles themselves are those of the recording's own distributions.
    ///
    /// # Errors
    /// If the recording holds no wakeup.
    pub fn finish(self) -> Result<Run, Error> {
        let mut stages = BTreeMap::new();
        for (measure_index, measure) in self.measures.iter().enumerate() {
            for (index, stage) in Stage::ALL.into_iter().enumerate() {
                let distributions = &self.document.distributions;
                let distribution = distributions.sum_of(measure, stage, None);
                if distribution.count() == 0 {
                    continue;
                }
                let counts = &self.counts[measure_index * Stage::ALL.len() + index];
                let enough = FIGURES.iter().take_while(|figure| distribution.count() >= figure.needed).count();
                let mut estimates = sparse(counts).estimates(&FIGURES[..enough]);
                for (estimate, figure) in estimates.iter_mut().zip(&FIGURES) {
                    estimate.ln = (figure.of_distribution(&distribution).unwrap_or(0).max(1) as f64).ln();
                }
                stages.insert((measure.clone(), stage), RunStage { distribution, estimates });
            }
        }
        if stages.is_empty() {
            return Err(Error(self.document.without_wakeups()));
        }
        let long = self.long_responses.into_iter().map(|(measure, found)| (self.measures[measure].clone(), found));
        Ok(Run {
            long_responses: long.collect(),
            document: self.document,
            stages,
            cycles: BTreeMap::new(),
            slow_requests: None,
            maybe_slow: 0,
            causes: None,
            devices: Vec::new(),
            served: Vec::new(),
        })
    }
}

fn sparse(counts: &[u32]) -> Stretches {
    let filled = |stretch: &[u32]| {
        let filled = stretch.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(bin, &count)| (bin as u16, count)).collect()
    };
    Stretches(counts.chunks(BINS).map(filled).collect())
}
