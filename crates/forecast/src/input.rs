//! What a forecast is made from: late wakeups, and how long somebody looked for them.

use crate::Error;
use punctual_recording::bounds::MAX_TIME_NS;
use punctual_recording::{
    BLOCK_NS, CycleCount, Distribution, Document, EndReason, Stage, THREADS_RESTED, TailValue, Task, WAS_STOPPED,
    agreeing, counted, tail_length,
};
use std::collections::{BTreeMap, HashMap};

/// A measured thread, as far as forecasting cares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedTask {
    /// Its thread id, which finds its values in the tail.
    pub tid: u32,
    /// The CPU that it was bound to; `None` if it could move.
    pub cpu: Option<u32>,
    /// Its period, ns.
    pub period_ns: u64,
    /// Wakeups that were measured.
    pub wakeups: u64,
    /// Activations that passed without a wakeup; `None` for threads without a grid.
    pub missed: Option<u64>,
}

impl ObservedTask {
    pub(crate) fn of(task: &Task) -> ObservedTask {
        ObservedTask {
            tid: task.tid,
            cpu: task.cpu,
            period_ns: task.period_ns,
            wakeups: task.counters.wakeups,
            missed: task.counters.missed,
        }
    }

    /// How long it was watched, ns.
    pub(crate) fn exposure_ns(&self) -> u64 {
        let activations = self.wakeups.saturating_add(self.missed.unwrap_or(0));
        (u128::from(activations) * u128::from(self.period_ns)).min(u128::from(MAX_TIME_NS)) as u64
    }
}

impl ObservedTask {
    /// Where punctual's own threads rested, the points of the grid that they rested are counted as missed: only those
    /// that passed behind a late wakeup are the machine's, and only for those it was watched.
    fn leave_out_rests(&mut self, document: &Document, measure: &str) {
        let period_ns = self.period_ns.max(1);
        let late = document.distributions.sum_of(measure, Stage::Total, self.cpu);
        let behind = late.buckets().map(|(value, count)| (value / period_ns).saturating_mul(count));
        let behind = behind.fold(0, u64::saturating_add);
        self.missed = self.missed.map(|missed| missed.min(behind));
    }
}

/// One late wakeup, on the timeline of its [`Input`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Late {
    /// When it was due, ns of observed time, which leaves out seconds in which nothing was measured.
    pub at_ns: u64,
    /// Which of the input's tasks.
    pub task: usize,
    /// How late it was, ns.
    pub value_ns: u64,
}

/// The lateness of one stage.
#[derive(Debug, Clone, Default)]
pub struct Lateness {
    /// Every value.
    pub distribution: Distribution,
    /// The largest values, in the order of their times.
    pub largest: Vec<Late>,
    /// Every value above this, ns, is among [`Lateness::largest`]; below it, only the distribution knows.
    pub complete_above_ns: u64,
    /// For each of the input's tasks: its values, and the level above which all of them are among the largest. Empty
    /// where they cannot be told apart.
    pub by_task: Vec<(Distribution, u64)>,
}

/// The measurements of one measure (policy and priority) under one load.
#[derive(Debug, Clone)]
pub struct Input {
    /// Whose wakeups: policy and priority, such as `fifo:80`.
    pub measure: String,
    /// The load that ran beside them.
    pub load: String,
    /// Hours of use that an hour of the load stands for, times 1,000, according to the load's own file; `None` if it
    /// does not say.
    pub compression_thousandths: Option<u64>,
    /// How long the tasks were watched, ns. Time whose records were lost does not count.
    pub exposure_ns: u64,
    /// The measured threads: usually one per CPU.
    pub tasks: Vec<ObservedTask>,
    /// Lateness by stage.
    pub stages: BTreeMap<Stage, Lateness>,
    /// Wakeups that were measured and then lost.
    pub lost: u64,
    /// Whether a recording was cut short.
    pub cut: bool,
    /// The cycles of other programs' loops, whose wakeups these are; `None` for periodic threads.
    pub cycles: Option<CycleCount>,
    /// What a reader must know first, one line each: losses, cuts, trouble with the load.
    pub cautions: Vec<String>,
}

impl Input {
    /// Splits what a recording holds (its document, its tail and the seconds in which it has wakeups, in order:
    /// `Recording::tail_and_seconds`) into one input for each measure. It reads no wakeup. `damaged` are files that
    /// could not be read (`Recording::damaged`).
    ///
    /// # Errors
    /// [`Error::Recording`] if it holds no wakeup of any periodic task, [`Error::Followed`] if it is of other programs'
    /// threads.
    pub fn from_recording(
        document: &Document,
        tail: &[TailValue],
        seconds: &[u64],
        damaged: &[punctual_recording::Error],
    ) -> Result<Vec<Input>, Error> {
        let of = |task: &Task| (task.period_ns > 0).then(|| ObservedTask::of(task));
        let inputs = Input::of_threads(document, (tail, seconds), &of, &cautions(document, damaged));
        if inputs.is_empty() { Err(nothing_periodic(document)) } else { Ok(inputs) }
    }

    /// One input for each measure that has threads to look at; `of` tells which.
    pub(crate) fn of_threads(
        document: &Document,
        (tail, seconds): (&[TailValue], &[u64]),
        of: &dyn Fn(&Task) -> Option<ObservedTask>,
        cautions: &[String],
    ) -> Vec<Input> {
        let load = document.load_beside().to_owned();
        let mut measures: BTreeMap<&str, Vec<&Task>> = BTreeMap::new();
        for task in &document.tasks {
            measures.entry(&task.measure).or_default().push(task);
        }
        let tail = by_thread(tail);
        let timeline = Timeline { blocks: seconds, started_ns: document.provenance.started_ns };
        let mut inputs = Vec::new();
        for (measure, tasks) in measures {
            let (chosen, mut tasks): (Vec<&Task>, Vec<ObservedTask>) =
                tasks.into_iter().filter_map(|task| Some((task, of(task)?))).unzip();
            if document.provenance.fallbacks.iter().any(|note| note == THREADS_RESTED) {
                tasks.iter_mut().for_each(|task| task.leave_out_rests(document, measure));
            }
            let exposure_ns = tasks.iter().map(ObservedTask::exposure_ns).max().unwrap_or(0);
            let mut cpus: Vec<u32> = tasks.iter().filter_map(|task| task.cpu).collect();
            cpus.sort_unstable();
            cpus.dedup();
            let told_apart = cpus.len() == tasks.len();
            if tasks.iter().all(|task| task.wakeups == 0) {
                continue;
            }
            let mut stages = BTreeMap::new();
            for stage in Stage::ALL {
                let distribution = document.distributions.sum_of(measure, stage, None);
                if distribution.count() > 0 {
                    let (largest, complete) = timeline.largest(&tail, &tasks, stage, tail_length(document.tasks.len()));
                    let of = |cpu: u32| document.distributions.sum_of(measure, stage, Some(cpu));
                    let by_task = tasks.iter().filter_map(|task| task.cpu).map(of).zip(complete);
                    let by_task = if told_apart { by_task.collect() } else { Vec::new() };
                    stages.insert(stage, Lateness { distribution, by_task, ..largest });
                }
            }
            inputs.push(Input {
                measure: measure.to_owned(),
                compression_thousandths: document.provenance.load.compression_thousandths,
                load: load.clone(),
                exposure_ns,
                lost: chosen.iter().fold(0, |lost: u64, task| lost.saturating_add(task.counters.lost)),
                cut: document.ended.is_none(),
                cycles: None,
                cautions: cautions.to_vec(),
                tasks,
                stages,
            });
        }
        inputs
    }

    /// Adds another run of the same measure and load, as if it had followed this one.
    ///
    /// # Errors
    /// [`Error::Recording`] where measure, load or periods differ: such runs stand side by side, and are never mixed.
    pub fn followed_by(mut self, other: Input) -> Result<Input, Error> {
        let shape = |input: &Input| input.tasks.iter().map(|task| (task.cpu, task.period_ns)).collect::<Vec<_>>();
        let same = self.measure == other.measure
            && self.load == other.load
            && self.compression_thousandths == other.compression_thousandths
            && shape(&self) == shape(&other);
        if !same {
            let message = format!(
                "{} under {} and {} under {} are not the same measurement",
                self.measure, self.load, other.measure, other.load
            );
            return Err(Error::Recording(message));
        }
        for (stage, lateness) in other.stages {
            let sum = self.stages.entry(stage).or_default();
            sum.distribution.add(&lateness.distribution);
            // Blocks may begin in the middle of a second: one more second keeps the runs apart.
            let offset = self.exposure_ns.max(sum.largest.last().map_or(0, |late| late.at_ns)).saturating_add(BLOCK_NS);
            let later = |late: &Late| Late { at_ns: late.at_ns.saturating_add(offset), ..*late };
            sum.largest.extend(lateness.largest.iter().map(later));
            sum.complete_above_ns = sum.complete_above_ns.max(lateness.complete_above_ns);
            if sum.by_task.len() == lateness.by_task.len() {
                for (task, added) in sum.by_task.iter_mut().zip(&lateness.by_task) {
                    task.0.add(&added.0);
                    task.1 = task.1.max(added.1);
                }
            } else {
                sum.by_task.clear();
            }
        }
        for (task, added) in self.tasks.iter_mut().zip(&other.tasks) {
            task.wakeups = task.wakeups.saturating_add(added.wakeups);
            task.missed = task.missed.zip(added.missed).map(|(left, right)| left.saturating_add(right));
        }
        self.exposure_ns = self.exposure_ns.saturating_add(other.exposure_ns);
        self.lost = self.lost.saturating_add(other.lost);
        self.cut |= other.cut;
        self.cycles = match (self.cycles, other.cycles) {
            (Some(mut sum), Some(added)) => {
                sum.add(&added);
                Some(sum)
            }
            (own, others) => own.or(others),
        };
        for caution in other.cautions {
            if !self.cautions.contains(&caution) {
                self.cautions.push(caution);
            }
        }
        Ok(self)
    }

    /// What each CPU's task saw in one stage: one input for each CPU, or a single one where tasks could move between
    /// CPUs.
    pub(crate) fn by_cpu(&self, stage: Stage) -> Vec<Input> {
        let whole = |task: Option<usize>| {
            let stages = self.stages.get(&stage).map(|lateness| {
                let Some(index) = task else { return (stage, lateness.clone()) };
                let own = lateness.largest.iter().filter(|late| late.task == index);
                let (distribution, complete_above_ns) = lateness.by_task[index].clone();
                let largest = own.map(|late| Late { task: 0, ..*late }).collect();
                (stage, Lateness { distribution, largest, complete_above_ns, by_task: Vec::new() })
            });
            Input {
                measure: self.measure.clone(),
                load: self.load.clone(),
                compression_thousandths: self.compression_thousandths,
                exposure_ns: task.map_or(self.exposure_ns, |task| self.tasks[task].exposure_ns()),
                tasks: task.map_or_else(|| self.tasks.clone(), |task| vec![self.tasks[task].clone()]),
                stages: stages.into_iter().collect(),
                lost: 0,
                cut: self.cut,
                // Those of several threads are counted together.
                cycles: self.cycles.filter(|_| task.is_none()),
                cautions: Vec::new(),
            }
        };
        let told_apart = self.stages.get(&stage).is_some_and(|lateness| lateness.by_task.len() == self.tasks.len());
        if self.tasks.len() <= 1 || !told_apart {
            return vec![whole(None)];
        }
        let watched = |task: &usize| self.tasks[*task].wakeups > 0;
        (0..self.tasks.len()).filter(watched).map(|task| whole(Some(task))).collect()
    }

    /// Hours of use for each hour measured, according to the load's own file; otherwise 1.
    pub fn compression(&self) -> f64 {
        self.compression_thousandths
            .filter(|thousandths| (1..=1_000_000_000).contains(thousandths))
            .map_or(1.0, |thousandths| thousandths as f64 / 1_000.0)
    }

    /// How long this stage was watched, ns: less than the whole where some wakeups were not observed.
    pub(crate) fn exposure_of(&self, stage: Stage) -> f64 {
        let count = |stage| self.stages.get(&stage).map_or(0, |lateness: &Lateness| lateness.distribution.count());
        // Every observed wakeup has an `irq` stage, whatever other stages it passed through.
        let share = match (stage, count(Stage::Irq), count(Stage::Total)) {
            (Stage::Total, _, _) | (_, _, 0) | (_, 0, _) => 1.0,
            (_, observed, all) => observed as f64 / all as f64,
        };
        self.exposure_ns as f64 * share.min(1.0)
    }

    /// How often its tasks are due, ns, if all as often.
    pub(crate) fn common_period(&self) -> Option<u64> {
        let first = self.tasks.first().map(|task| task.period_ns).filter(|period_ns| *period_ns > 0)?;
        self.tasks.iter().all(|task| task.period_ns == first).then_some(first)
    }

    /// How many cycles overran, as `punctual report` counts them; 0 if no cycles were counted.
    pub(crate) fn own_overruns(&self) -> u64 {
        self.cycles.map_or(0, |cycles| cycles.own_overruns())
    }

    /// How many overruns one wakeup can show at most, where cycles overran more often than wakeups show one by one: those
    /// of a loop that catches up, or may, hold several.
    pub(crate) fn repeated_overruns(&self) -> Option<f64> {
        let cycles = self.cycles.filter(|cycles| cycles.own_overruns() > cycles.certain)?;
        Some(cycles.after_overrun().limit().map_or(f64::INFINITY, |limit| limit.saturating_add(1) as f64))
    }

    /// Activations that passed without a wakeup, of all tasks.
    pub(crate) fn missed(&self) -> u64 {
        self.tasks.iter().filter_map(|task| task.missed).fold(0, u64::saturating_add)
    }

    /// Whether an activation missed behind a late wakeup has to be filled in: only for the whole lateness, and only
    /// where the thread continues at the next point of its grid, as the count of missed activations tells.
    pub(crate) fn fills_in(&self, stage: Stage) -> bool {
        stage == Stage::Total && self.tasks.iter().any(|task| task.missed.is_some_and(|missed| missed > 0))
    }
}

fn nothing_periodic(document: &Document) -> Error {
    if let Some(followed) = &document.followed {
        let question = match followed.period_ns {
            None => "`punctual forecast --period`, with the period of their loop,",
            Some(_) => "`punctual forecast`",
        };
        return Error::Followed(format!(
            "{question} says how often their cycles overrun (`punctual record` without --pid, --tid, --comm and --follow measures \
             periodic threads)"
        ));
    }
    Error::Recording(format!("{} of a periodic task", document.without_wakeups()))
}

pub(crate) fn cautions(document: &Document, damaged: &[punctual_recording::Error]) -> Vec<String> {
    let mut lines = Vec::new();
    let (counters, provenance) = (&document.counters, &document.provenance);
    lines.extend(provenance.load.failed_in_words().map(|failed| format!("the {failed}")));
    if let Some(why) = provenance.at_normal_priority() {
        lines.push(format!(
            "measured at normal priority, {why}: a thread that has that priority will be late less often"
        ));
    }
    // What made threads late that did not come from the machine.
    let is_own = |note: &&String| [WAS_STOPPED, THREADS_RESTED].contains(&note.as_str());
    lines.extend(provenance.fallbacks.iter().filter(is_own).cloned());
    if counters.lost > 0 {
        lines.push(format!(
            "{} of {} were lost: what was late among them is not counted, so this is optimistic",
            counters.lost,
            counted(counters.wakeups.saturating_add(counters.lost), "wakeup")
        ));
    }
    match &document.ended {
        None => lines.push("the recording was cut short: its last second or so is missing".to_owned()),
        Some(ended) if ended.reason == EndReason::LimitExceeded => lines.push(
            "the recording stopped at a wakeup over its limit: the rate above that limit is biased upwards".to_owned(),
        ),
        Some(ended) if ended.reason == EndReason::Failed => {
            lines.push("the recording ended because something failed".to_owned());
        }
        Some(_) => {}
    }
    lines.extend(damaged.iter().map(|file| format!("could not be read: {}", file.to_string().replace('\n', " "))));
    if counters.unobserved > 0 {
        let unobserved = counted(counters.unobserved, "wakeup");
        lines.push(match document.followed {
            None => format!("no kernel event was seen for {unobserved}, so only the total is known (unobserved)"),
            Some(_) => {
                let were = agreeing(counters.unobserved, "was", "were");
                format!("{unobserved} {were} not seen: cycles that took too long among them are not counted, so this is optimistic")
            }
        });
    }
    lines.extend(counters.steal_of_lateness());
    let is_told = |trouble: &&String| provenance.load.failure.as_ref() == Some(*trouble);
    let trouble = provenance.load.trouble.iter().filter(|trouble| !is_told(trouble));
    lines.extend(trouble.map(|trouble| format!("the load: {trouble}")));
    lines
}

/// The largest values of each thread: a recording may have thousands of measures, and each looks up its own.
fn by_thread(tail: &[TailValue]) -> HashMap<u32, Vec<&TailValue>> {
    let mut threads: HashMap<u32, Vec<&TailValue>> = HashMap::new();
    for value in tail {
        threads.entry(value.tid).or_default().push(value);
    }
    threads
}

/// Maps the clock to observed time, which leaves out seconds in which nothing was measured.
struct Timeline<'a> {
    /// Which ones hold wakeups, in order.
    blocks: &'a [u64],
    started_ns: u64,
}

impl Timeline<'_> {
    fn place(&self, at_ns: u64) -> u64 {
        if self.blocks.is_empty() {
            return at_ns.saturating_sub(self.started_ns);
        }
        let rank = self.blocks.partition_point(|&block| block < at_ns / BLOCK_NS) as u64;
        let first_offset = (self.started_ns.max(self.blocks[0] * BLOCK_NS) - self.blocks[0] * BLOCK_NS).min(BLOCK_NS);
        (rank * BLOCK_NS + at_ns % BLOCK_NS).saturating_sub(first_offset)
    }

    fn largest(
        &self,
        tail: &HashMap<u32, Vec<&TailValue>>,
        tasks: &[ObservedTask],
        stage: Stage,
        kept: usize,
    ) -> (Lateness, Vec<u64>) {
        let index: BTreeMap<u32, usize> = tasks.iter().enumerate().map(|(index, task)| (task.tid, index)).collect();
        let mut counts = vec![(0usize, u64::MAX); tasks.len()];
        let mut largest = Vec::new();
        let own =
            index.iter().flat_map(|(tid, &task)| tail.get(tid).into_iter().flatten().map(move |value| (*value, task)));
        for (value, task) in own.filter(|(value, _)| value.stage == stage) {
            counts[task].0 += 1;
            counts[task].1 = counts[task].1.min(value.value_ns);
            largest.push(Late { at_ns: self.place(value.expected_ns), task, value_ns: value.value_ns });
        }
        largest.sort_unstable();
        // A tail that is not full holds every value there was.
        let complete = |((count, smallest), task): (&(usize, u64), &ObservedTask)| {
            let is_full = *count >= kept && task.wakeups > *count as u64;
            let is_missing = *count == 0 && task.wakeups > 0 && largest.is_empty();
            if is_missing {
                u64::MAX
            } else if is_full {
                *smallest
            } else {
                0
            }
        };
        let complete: Vec<u64> = counts.iter().zip(tasks).map(complete).collect();
        let complete_above_ns = complete.iter().copied().max().unwrap_or(0);
        let lateness = Lateness { distribution: Distribution::new(), largest, complete_above_ns, by_task: Vec::new() };
        (lateness, complete)
    }
}
