//! One run: its inputs by kind and by what was typed, with their figures and where the time went.

use super::figures::{FEW, INPUT_FIGURES, MEDIAN, START_FIGURE, WAITING};
use super::parts::Split;
use crate::figure::{Estimate, Figure};
use crate::resample::{Stretches, bin, variance_of_sum};
use punctual_recording::{
    BEGAN_BEFORE, Distribution, Document, Interaction, InteractionDocument, InteractionPart, START, under_way_ns,
    waits_ns,
};
use std::collections::BTreeMap;

/// A run's inputs are cut into at most this many stretches, from which the bootstrap draws.
const MAX_STRETCHES: usize = 600;
/// What was typed most often is compared separately: at most this many.
const MAX_LABELS: usize = 32;
/// If of more inputs than this share of a kind it is not known whether they were seen when it seems so, and of more than a few,
/// the kind is not compared.
const DOUBTED: f64 = 0.02;
/// A name is kept up to this length, characters: a forged recording may have names of any length.
const MAX_NAME: usize = 80;

/// Inputs that are compared together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// `key`, `enter`, `page`, `start`, ...
    pub kind: String,
    /// What was typed; `None` for everything of the kind.
    pub label: Option<String>,
}

/// A figure of a group in one run.
#[derive(Debug, Clone)]
pub(super) struct RunFigure {
    pub(super) figure: Figure,
    pub(super) estimate: Estimate,
    /// Where the time of the inputs near it went.
    pub(super) split: Split,
}

/// A group in one run.
#[derive(Debug, Clone, Default)]
pub(super) struct RunGroup {
    pub(super) inputs: u64,
    pub(super) seen: u64,
    /// Those that something came after of which it is not known whether they caused it.
    pub(super) doubtful: u64,
    pub(super) figures: Vec<RunFigure>,
}

impl RunGroup {
    /// Whether its latencies may be too short for that.
    pub(super) fn is_doubted(&self) -> bool {
        self.doubtful >= FEW && self.doubtful as f64 > DOUBTED * self.inputs as f64
    }
}

/// One run, as far as a comparison needs it.
#[derive(Debug, Clone)]
pub struct InputRun {
    /// What its recording says about itself.
    pub document: Document,
    /// What it says about the program and the script.
    pub summary: InteractionDocument,
    pub(super) groups: BTreeMap<Group, RunGroup>,
    pub(super) lasted_ns: u64,
    pub(super) waited_ns: u64,
    /// The same with inputs that were taken together with later ones, each until that one was seen.
    pub(super) waits: Waits,
    /// CPU time of the program's threads from each input until the next one, ns in all, and for how many inputs it is known.
    pub(super) cpu_ns: u64,
    pub(super) cpu_inputs: u64,
    /// Inputs whose beginnings are not known, and inputs whose parts do not add up.
    pub(super) began_before: u64,
    pub(super) wrong_sums: u64,
    /// Whether it says, for any input, where its time went.
    pub(super) has_parts: bool,
}

/// How long a run's inputs were waited for, with those that the program took together with later ones: at another pace
/// that may be nearly all.
#[derive(Debug, Clone, Default)]
pub(super) struct Waits {
    pub(super) all: Distribution,
    pub(super) merged: u64,
    /// For how long any was under way, ns: what overlaps counts once.
    pub(super) under_way_ns: u64,
}

impl Waits {
    fn of(inputs: &mut [Interaction]) -> Waits {
        inputs.sort_by_key(|input| input.number);
        let measured = inputs.iter().zip(waits_ns(inputs)).filter(|(input, _)| input.is_measured());
        let mut waits = Waits::default();
        let mut under_way = Vec::new();
        for (input, wait_ns) in measured {
            waits.merged += u64::from(input.merged_into.is_some());
            if let Some(wait_ns) = wait_ns {
                waits.all.record(wait_ns);
                under_way.push((input.begin_ns, wait_ns));
            }
        }
        waits.under_way_ns = under_way_ns(under_way);
        waits
    }
}

/// Takes a recording's inputs, then their parts.
#[derive(Debug)]
pub struct GatherInputs {
    run: InputRun,
    groups: Vec<(Group, RunGroup)>,
    /// For an input's number: the groups and figures that it is near.
    near: BTreeMap<u32, Vec<(usize, usize)>>,
    latencies: BTreeMap<u32, u64>,
    sums: BTreeMap<u32, u64>,
}

impl GatherInputs {
    /// For a recording with this document and these inputs.
    pub fn new(document: Document, summary: InteractionDocument, mut inputs: Vec<Interaction>) -> GatherInputs {
        let waits = Waits::of(&mut inputs);
        inputs.sort_by_key(|input| (input.begin_ns, input.number));
        let began_before = inputs.iter().filter(|input| input.kind == BEGAN_BEFORE).count() as u64;
        inputs.retain(|input| input.kind != BEGAN_BEFORE);
        let typed = || inputs.iter().filter(|input| input.kind != START);
        let first = typed().map(|input| input.begin_ns).min().unwrap_or(0);
        let lasted_ns = typed().map(|input| input.end_ns).max().unwrap_or(0).saturating_sub(first);
        let waited_ns = typed().filter_map(Interaction::latency_ns).fold(0, u64::saturating_add);
        let (cpu_ns, cpu_inputs) = cpu_of(summary.followed, typed());
        let mut gather = GatherInputs {
            run: InputRun {
                document,
                summary,
                groups: BTreeMap::new(),
                lasted_ns,
                waited_ns,
                waits,
                cpu_ns,
                cpu_inputs,
                began_before,
                wrong_sums: 0,
                has_parts: false,
            },
            groups: Vec::new(),
            near: BTreeMap::new(),
            latencies: BTreeMap::new(),
            sums: BTreeMap::new(),
        };
        for (group, own) in grouped(&inputs) {
            gather.take_group(group, &own);
        }
        gather
    }

    fn take_group(&mut self, group: Group, inputs: &[&Interaction]) {
        let seen: Vec<(u32, u64)> =
            inputs.iter().filter_map(|input| Some((input.number, input.latency_ns()?))).collect();
        let doubtful = inputs.iter().filter(|input| input.perhaps_ns.is_some()).count() as u64;
        let mut run_group =
            RunGroup { inputs: inputs.len() as u64, seen: seen.len() as u64, doubtful, figures: Vec::new() };
        let is_compared = !run_group.is_doubted();
        for (figure, estimate) in estimates(&group, &seen, self.run.lasted_ns).into_iter().filter(|_| is_compared) {
            for number in nearest(figure, &seen) {
                self.near.entry(number).or_default().push((self.groups.len(), run_group.figures.len()));
            }
            run_group.figures.push(RunFigure { figure, estimate, split: Split::default() });
        }
        self.latencies.extend(seen);
        self.groups.push((group, run_group));
    }

    /// Takes a part of an input's time.
    pub fn push(&mut self, part: &InteractionPart) {
        let sum = self.sums.entry(part.number).or_default();
        *sum = sum.saturating_add(part.ns);
        for &(group, figure) in self.near.get(&part.number).into_iter().flatten() {
            self.groups[group].1.figures[figure].split.take(part);
        }
    }

    /// What there is to compare.
    pub fn finish(mut self) -> InputRun {
        for (number, sum) in &self.sums {
            let Some(&latency) = self.latencies.get(number) else { continue };
            self.run.wrong_sums += u64::from(latency != *sum);
            for &(group, figure) in self.near.get(number).into_iter().flatten() {
                let split = &mut self.groups[group].1.figures[figure].split;
                split.inputs += 1;
                split.latency_ns = split.latency_ns.saturating_add(latency);
            }
        }
        self.run.has_parts = !self.sums.is_empty();
        self.run.groups = self.groups.into_iter().collect();
        self.run
    }
}

/// CPU time from inputs until the next ones, ns in all, and for how many inputs it is known. If the program was followed, an
/// input without an account had none: without pauses, several come before a thread runs.
fn cpu_of<'a>(is_followed: bool, typed: impl Iterator<Item = &'a Interaction>) -> (u64, u64) {
    let (mut sum_ns, mut known, mut all) = (0_u64, 0, 0);
    for input in typed {
        all += 1;
        if let Some(ns) = input.cpu_ns {
            sum_ns = sum_ns.saturating_add(ns);
            known += 1;
        }
    }
    (sum_ns, if is_followed && known > 0 { all } else { known })
}

fn kept(name: &str) -> String {
    name.chars().take(MAX_NAME).collect()
}

/// Inputs by kind, and by what was typed if a kind has several of those and one of them often enough.
fn grouped(inputs: &[Interaction]) -> Vec<(Group, Vec<&Interaction>)> {
    let mut kinds: BTreeMap<&str, Vec<&Interaction>> = BTreeMap::new();
    let mut labels: BTreeMap<(&str, &str), Vec<&Interaction>> = BTreeMap::new();
    for input in inputs {
        kinds.entry(&input.kind).or_default().push(input);
        labels.entry((&input.kind, &input.label)).or_default().push(input);
    }
    labels.retain(|(kind, _), own| own.len() as u64 >= MEDIAN.needed && own.len() < kinds[kind].len());
    let mut often: Vec<((&str, &str), Vec<&Interaction>)> = labels.into_iter().collect();
    // Among equally frequent ones, the first by name, so that two runs of one script have the same.
    often.sort_by_key(|(_, own)| std::cmp::Reverse(own.len()));
    often.truncate(MAX_LABELS);
    let kinds = kinds.into_iter().take(MAX_LABELS);
    let kinds = kinds.map(|(kind, own)| (Group { kind: kept(kind), label: None }, own));
    let labels =
        often.into_iter().map(|((kind, label), own)| (Group { kind: kept(kind), label: Some(kept(label)) }, own));
    kinds.chain(labels).collect()
}

/// The figures for which there are enough inputs: number and latency of each, in order of time.
fn estimates(group: &Group, seen: &[(u32, u64)], lasted_ns: u64) -> Vec<(Figure, Estimate)> {
    let mut distribution = Distribution::new();
    seen.iter().for_each(|(_, latency)| distribution.record(*latency));
    let ln_of = |figure: &Figure| (figure.of_distribution(&distribution).unwrap_or(0).max(1) as f64).ln();
    if group.kind == START {
        let ln = ln_of(&START_FIGURE);
        return seen.first().map(|_| (START_FIGURE, Estimate { ln, variance: 0.0 })).into_iter().collect();
    }
    let enough = INPUT_FIGURES.iter().take_while(|figure| seen.len() as u64 >= figure.needed).count();
    if enough == 0 {
        return Vec::new();
    }
    let stretch = seen.len().div_ceil(MAX_STRETCHES);
    let counted = |own: &[(u32, u64)]| {
        let mut bins: BTreeMap<u16, u32> = BTreeMap::new();
        own.iter().for_each(|(_, latency)| *bins.entry(bin(*latency) as u16).or_default() += 1);
        bins.into_iter().collect()
    };
    let figures = &INPUT_FIGURES[..enough];
    let drawn = Stretches(seen.chunks(stretch).map(counted).collect()).estimates(figures);
    let latencies = figures.iter().zip(drawn);
    let latencies = latencies.map(|(figure, drawn)| (*figure, Estimate { ln: ln_of(figure), ..drawn }));
    let sums: Vec<f64> = seen.chunks(stretch).map(|own| own.iter().map(|(_, latency)| *latency as f64).sum()).collect();
    let share = sums.iter().sum::<f64>() / lasted_ns.max(1) as f64;
    let waiting = Estimate { ln: (1e9 * share).max(1.0).ln(), variance: variance_of_sum(&sums) };
    latencies.chain([(WAITING, waiting)]).collect()
}

/// The numbers of the inputs nearest to a figure: the middle half, the slowest tenth, the slowest hundredth, or all.
fn nearest(figure: Figure, seen: &[(u32, u64)]) -> Vec<u32> {
    let mut ordered: Vec<(u64, u32)> = seen.iter().map(|(number, latency)| (*latency, *number)).collect();
    ordered.sort_unstable();
    let count = ordered.len();
    let range = match figure.level {
        level if level <= 0.0 || count < 2 => 0..count,
        level if level <= 0.5 => count / 4..count - count / 4,
        level => ((count as f64 * level) as usize).min(count - 1)..count,
    };
    ordered[range].iter().map(|(_, number)| *number).collect()
}
