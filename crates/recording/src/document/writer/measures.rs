//! Which wakeups are counted together, and how their number stays within bounds although other programs choose the
//! names.

use super::{STAGES, Writer};
use crate::Distribution;
use crate::format::bounds::MAX_MEASURES;
use crate::wakeups::tail::TAIL_LENGTH;

/// The measure of threads that are not distinguished: other programs choose names, and there is no end to them.
pub const OTHERS: &str = "others";
/// The distributions of threads without a period may take up this much, bytes; those of [`OTHERS`] come on top.
const MAX_NAMED_BYTES: usize = 48 << 20;
/// They may have this many filled buckets: each is written into `recording.json` every second.
const MAX_NAMED_BUCKETS: usize = 400_000;
/// At most this many pairs of a measure and a CPU.
const MAX_NAMED_SETS: usize = 1024;
/// This many measures of threads without a period keep [`TAIL_LENGTH`] of their largest values: 2 MB each.
const MAX_LONG_TAILS: usize = 16;
/// All later ones keep this many: 7 kB each.
const SHORT_TAIL: usize = 32;

/// Accumulates the wakeups of all tasks of a measure.
pub(super) struct MeasureState {
    pub(super) name: String,
    /// Distributions for each CPU on which its tasks were seen.
    pub(super) by_cpu: Vec<(u32, [Distribution; STAGES])>,
    /// Position of the largest values of its tasks without a period.
    tail: Option<usize>,
    /// Whether all its tasks are threads without a period: other programs' threads, which name themselves.
    is_named: bool,
}

impl MeasureState {
    fn new(name: &str, is_named: bool) -> MeasureState {
        MeasureState { name: name.to_owned(), by_cpu: Vec::new(), tail: None, is_named }
    }

    /// Its distributions on a CPU, made if there are none.
    pub(super) fn on_cpu(&mut self, cpu: u32) -> &mut [Distribution; STAGES] {
        let position = self.by_cpu.iter().position(|(known, _)| *known == cpu).unwrap_or_else(|| {
            self.by_cpu.push((cpu, Default::default()));
            self.by_cpu.len() - 1
        });
        &mut self.by_cpu[position].1
    }

    fn distributions(&self) -> impl Iterator<Item = &Distribution> {
        self.by_cpu.iter().flat_map(|(_, distributions)| distributions)
    }
}

impl Writer {
    /// The position of a measure, made if there is none.
    pub(super) fn measure(&mut self, name: &str, is_named: bool) -> usize {
        if let Some(&measure) = self.measure_positions.get(name) {
            self.measures[measure].is_named &= is_named;
            return measure;
        }
        // As many as a reader accepts, including `OTHERS`.
        if self.measures.len() + 1 >= MAX_MEASURES && name != OTHERS {
            return self.measure(OTHERS, is_named);
        }
        self.measures.push(MeasureState::new(name, is_named));
        self.measure_positions.insert(name.to_owned(), self.measures.len() - 1);
        self.measures.len() - 1
    }

    /// The largest values of a measure whose tasks have no period.
    pub(super) fn tail_of(&mut self, measure: usize) -> usize {
        if let Some(tail) = self.measures[measure].tail {
            return tail;
        }
        let length = if self.named_tails < MAX_LONG_TAILS { TAIL_LENGTH } else { SHORT_TAIL };
        self.named_tails += 1;
        let tail = self.new_tail(length);
        self.measures[measure].tail = Some(tail);
        tail
    }

    /// Makes sure that there is room for the distributions of a task's measure on another CPU; if there is none, the
    /// measure becomes one of [`OTHERS`].
    #[cold]
    pub(super) fn make_room(&mut self, task: usize) {
        let measure = self.states[task].measure;
        if !self.measures[measure].is_named || self.measures[measure].name == OTHERS {
            return;
        }
        let named = self.named();
        let sets: usize = named.clone().map(|measure| measure.by_cpu.len()).sum();
        let bytes: usize = named.flat_map(MeasureState::distributions).map(Distribution::bytes).sum();
        if sets >= MAX_NAMED_SETS || bytes > MAX_NAMED_BYTES {
            self.fold(measure);
        }
    }

    /// The measures whose number other programs decide.
    fn named(&self) -> impl Iterator<Item = &MeasureState> + Clone {
        self.measures.iter().filter(|measure| measure.is_named && measure.name != OTHERS)
    }

    /// Merges a measure into [`OTHERS`], with everything that was counted for it.
    fn fold(&mut self, measure: usize) {
        let others = self.measure(OTHERS, true);
        for (cpu, distributions) in std::mem::take(&mut self.measures[measure].by_cpu) {
            for (sum, distribution) in self.measures[others].on_cpu(cpu).iter_mut().zip(&distributions) {
                sum.add(distribution);
            }
        }
        for (state, task) in self.states.iter_mut().zip(&mut self.document.tasks) {
            if state.measure == measure {
                state.measure = others;
                OTHERS.clone_into(&mut task.measure);
            }
        }
        // Any later thread with this name counts as one of the others, too.
        let name = self.measures[measure].name.clone();
        self.measure_positions.insert(name, others);
    }

    /// Keeps the counts within their bounds: merges the measures that came last into the others.
    pub(super) fn keep_bounds(&mut self) {
        let size = |measure: &MeasureState| -> (usize, usize) {
            let sizes = measure.distributions().map(|one| (one.bytes(), one.buckets().count()));
            sizes.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
        };
        let (mut bytes, mut buckets) = (0, 0);
        let mut surplus = Vec::new();
        for (position, measure) in self.measures.iter().enumerate() {
            if !measure.is_named || measure.name == OTHERS || measure.by_cpu.is_empty() {
                continue;
            }
            let own = size(measure);
            if bytes + own.0 > MAX_NAMED_BYTES || buckets + own.1 > MAX_NAMED_BUCKETS {
                surplus.push(position);
            } else {
                (bytes, buckets) = (bytes + own.0, buckets + own.1);
            }
        }
        surplus.into_iter().for_each(|measure| self.fold(measure));
    }
}
