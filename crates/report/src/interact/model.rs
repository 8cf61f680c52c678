//! Inputs and what came of them, as text, JSON and pages show it.

use super::keys::Keys;
use super::toolkit::{self, Events};
use crate::layout::shortened;
use punctual_blame::{Kind, Who};
use punctual_recording::{
    BEGAN_BEFORE, Distribution, Document, EndReason, Interaction, InteractionDocument, InteractionPart, Limit,
    LimitSpec, OWN_PACE, Outcome, START, agreeing, counted, for_each_interaction_part, read_interactions,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Waiting up to here is not noticed, ns, where nobody says otherwise: the paper's threshold (III.a, after Shneiderman).
pub const USUAL_PATIENCE_NS: u64 = 100_000_000;
/// Where the curve of responsiveness is given, ms.
const CURVE_MS: [u64; 13] = [0, 1, 2, 5, 10, 16, 33, 50, 100, 200, 500, 1_000, 2_000];
/// The longest inputs, of which the parts are shown.
pub(super) const MAX_LONGEST: usize = 20;
/// The longest inputs, of which the parts are kept.
const MAX_TOLD: usize = 10_000;
/// Causes by name; later ones count together.
const MAX_CAUSES: usize = 4_096;
/// The verdict shows a cause's words up to this length, characters: a recording that was forged has names of any.
const MAX_SHOWN: usize = 160;
/// All kinds of input together.
pub(super) const ALL: &str = "all";

/// What a kind of input may take before somebody notices, ns.
#[derive(Debug, Clone, Default)]
pub struct Patience(BTreeMap<String, u64>);

impl Patience {
    /// For some kinds; the others have [`USUAL_PATIENCE_NS`].
    pub fn new(by_kind: impl IntoIterator<Item = (String, u64)>) -> Patience {
        Patience(by_kind.into_iter().collect())
    }

    /// That of a kind.
    pub fn of(&self, kind: &str) -> u64 {
        self.0.get(kind).or_else(|| self.0.get(ALL)).copied().unwrap_or(USUAL_PATIENCE_NS)
    }
}

/// A limit on the latency of a kind of input; `all` is every one.
#[derive(Debug, Clone)]
pub struct KindLimit {
    /// The kind.
    pub kind: String,
    /// The limit.
    pub limit: LimitSpec,
}

/// Latencies of a kind of input.
pub(super) struct KindSum {
    pub(super) kind: String,
    pub(super) inputs: u64,
    pub(super) latencies: Distribution,
    /// The first of each key, and the later ones.
    pub(super) cold: Distribution,
    pub(super) warm: Distribution,
    pub(super) patience_ns: u64,
    /// The sum of what was over the patience, ns, and of its squares, ms squared.
    pub(super) over_ns: u64,
    pub(super) over_squared_ms: f64,
}

/// Why some of the waiting passed, and who had it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spent {
    kind: SpentKind,
    pub(super) who: Who,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum SpentKind {
    Blamed(Kind),
    /// None of a cause: many small parts together, or what a newer version found.
    Other(String),
}

impl Spent {
    pub(super) fn of(part: &InteractionPart) -> Spent {
        let kind = Kind::from_name(&part.kind).map_or_else(|| SpentKind::Other(part.kind.clone()), SpentKind::Blamed);
        Spent { kind, who: part.not_seen.map_or_else(|| part.name.as_str().into(), Who::from) }
    }

    /// The same kind, whoever had it.
    fn of_others(self) -> Spent {
        Spent { who: "others".into(), ..self }
    }

    /// The kind in JSON.
    pub(super) fn kind(&self) -> &str {
        match &self.kind {
            SpentKind::Blamed(kind) => kind.name(),
            SpentKind::Other(kind) => kind,
        }
    }

    /// `sleeping on timer hrtimer_wakeup`.
    pub(super) fn words(&self) -> String {
        match &self.kind {
            SpentKind::Blamed(kind) => kind.cause(&self.who),
            SpentKind::Other(kind) => format!("{kind} {}", self.who),
        }
    }
}

/// A part of an input's time.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) on: Spent,
    pub(super) detail: String,
    pub(super) ns: u64,
    pub(super) unknown_ns: u64,
}

/// What some of the waiting was spent on.
pub(super) struct Cause {
    pub(super) on: Spent,
    pub(super) ns: u64,
    pub(super) unknown_ns: u64,
    pub(super) inputs: u64,
}

/// Inputs, what came of them, and what is concluded.
pub struct InteractReport<'a> {
    pub(super) recording: &'a Path,
    pub(super) document: &'a Document,
    pub(super) summary: &'a InteractionDocument,
    pub(super) inputs: Vec<Interaction>,
    pub(super) kinds: Vec<KindSum>,
    pub(super) tasks: Vec<(String, Distribution)>,
    pub(super) outcomes: Vec<(Outcome, u64)>,
    pub(super) causes: Vec<Cause>,
    /// Of the longest inputs, longest first.
    pub(super) longest: Vec<(usize, Vec<Part>)>,
    /// Of the longest [`MAX_TOLD`] inputs and the start, by their number, largest first.
    pub(super) parts: BTreeMap<u32, Vec<Part>>,
    /// The start, and its parts.
    pub(super) start: Option<(usize, Vec<Part>)>,
    pub(super) limits: Vec<(String, Limit)>,
    pub(super) keys: Keys,
    /// What toolkits handed on.
    pub(super) events: Events,
    /// Inputs whose parts do not add up to their latency.
    pub(super) wrong_sums: u64,
}

/// The sum of what each latency was over a threshold, to the first power, ns, and to the second, ms squared.
pub(super) fn over(latencies: impl Iterator<Item = u64>, threshold_ns: u64) -> (u64, f64) {
    latencies
        .map(|latency| latency.saturating_sub(threshold_ns))
        .fold((0, 0.0), |sum: (u64, f64), over| (sum.0.saturating_add(over), sum.1 + (over as f64 / 1e6).powi(2)))
}

impl<'a> InteractReport<'a> {
    /// Reads a recording's inputs and sums them up.
    ///
    /// # Errors
    /// As for [`read_interactions`].
    pub fn read(
        recording: &'a Path,
        document: &'a Document,
        summary: &'a InteractionDocument,
        patience: &Patience,
        limits: &[KindLimit],
    ) -> punctual_recording::Result<InteractReport<'a>> {
        let mut inputs = read_interactions(recording)?;
        inputs.sort_by_key(|input| input.number);
        let start = inputs.iter().position(|input| input.kind == START && input.latency_ns().is_some());
        let is_typed = |input: &Interaction| input.latency_ns().is_some() && is_measured(input);
        let mut by_latency: Vec<usize> = (0..inputs.len()).filter(|&at| is_typed(&inputs[at])).collect();
        by_latency.sort_by_key(|&at| (std::cmp::Reverse(inputs[at].latency_ns()), at));
        by_latency.truncate(MAX_TOLD);
        let told: BTreeMap<u32, Vec<Part>> =
            by_latency.iter().copied().chain(start).map(|at| (inputs[at].number, Vec::new())).collect();
        let mut keys = Keys::new(&inputs);
        let Gathered { causes, told: mut parts, wrong_sums } = gather(recording, &inputs, told, &mut keys)?;
        parts.values_mut().for_each(|parts| parts.sort_by_key(|part| std::cmp::Reverse(part.ns)));
        let is_told = |number: u32| inputs.len() <= MAX_TOLD || parts.contains_key(&number);
        let events = Events::read(recording, &inputs, is_told)?;
        let with_parts = |at: usize| (at, parts.get(&inputs[at].number).cloned().unwrap_or_default());
        let longest = by_latency.into_iter().take(MAX_LONGEST).map(with_parts).collect();
        let start = start.map(with_parts);
        let kinds = kinds(&inputs, patience);
        let tasks = tasks(&inputs);
        let typed = || inputs.iter().filter(|input| input.kind != START);
        let count = |outcome: Outcome| typed().filter(|input| input.outcome == Some(outcome)).count() as u64;
        let outcomes = Outcome::ALL.map(|outcome| (outcome, count(outcome))).to_vec();
        let limits = limits.iter().map(|limit| judge(limit, &inputs)).collect();
        Ok(InteractReport {
            recording,
            document,
            summary,
            inputs,
            kinds,
            tasks,
            outcomes,
            causes,
            longest,
            parts,
            start,
            limits,
            keys,
            events,
            wrong_sums,
        })
    }

    /// What the process exits with: 2 where a limit was exceeded, 1 where there was nothing to judge, or it failed.
    pub fn exit_code(&self) -> u8 {
        let limits = || self.limits.iter().map(|(_, limit)| limit);
        let failed = self.document.ended.as_ref().is_some_and(|ended| ended.reason == EndReason::Failed);
        if limits().any(|limit| limit.exceeded) {
            2
        } else {
            u8::from(
                failed
                    || self.failed_early()
                    || self.is_own_use() && self.typed().next().is_none()
                    || self.began_before() + self.unfinished() > 0 && !self.limits.is_empty()
                    || self.wrong_sums > 0
                    || limits().any(|limit| limit.found_ns.is_none()),
            )
        }
    }

    /// Whether the program ended before anything was put in, or before the script was through and with a failure.
    fn failed_early(&self) -> bool {
        let summary = self.summary;
        let is_cut = summary.inputs == 0 || summary.not_put_in > 0 && summary.exit_code != Some(0);
        summary.ended_early && is_cut
    }

    /// Whether somebody else used the program, and it was only watched.
    pub(super) fn is_own_use(&self) -> bool {
        self.summary.pace == OWN_PACE
    }

    /// How the program ended: `with code 1`.
    fn end_in_words(&self) -> String {
        self.summary.exit_code.map_or_else(|| "by a signal".to_owned(), |code| format!("with code {code}"))
    }

    /// Inputs that are no start, and of which it is known when they began.
    pub(super) fn typed(&self) -> impl Iterator<Item = &Interaction> {
        self.inputs.iter().filter(|input| is_measured(input))
    }

    /// Inputs whose beginnings are not known.
    pub(super) fn began_before(&self) -> u64 {
        self.inputs.iter().filter(|input| input.kind == BEGAN_BEFORE).count() as u64
    }

    /// What no limit says anything of, where there are limits.
    fn unjudged_in_words(&self) -> String {
        let told = [(self.began_before(), "When", "began"), (self.unfinished(), "How long", "took")];
        let told = told.iter().filter(|(count, ..)| *count > 0 && !self.limits.is_empty());
        told.map(|(count, what, did)| {
            format!(" {what} {} {did} is not known: no limit counts as kept.", counted(*count, "input"))
        })
        .collect()
    }

    /// Inputs that were still under way at the end.
    pub(super) fn unfinished(&self) -> u64 {
        let is_it = |(outcome, _): &&(Outcome, u64)| *outcome == Outcome::Unfinished;
        self.outcomes.iter().find(is_it).map_or(0, |(_, count)| *count)
    }

    /// How long all of them were waited for, ns.
    pub(super) fn waited_ns(&self) -> u64 {
        self.typed().filter_map(Interaction::latency_ns).fold(0, u64::saturating_add)
    }

    /// The same as the machine of 1996 has it, of those of which that is known, ns; and how long those were waited for.
    pub(super) fn waited_1996_ns(&self) -> Option<(u64, u64)> {
        let known = self.typed().filter_map(|input| Some((input.latency_ns()?, input.think_1996_ns?)));
        let sums = known.fold((0, 0, false), |sum, (latency, think)| {
            (sum.0 + latency.saturating_sub(think), sum.1 + latency, true)
        });
        sums.2.then_some((sums.0, sums.1))
    }

    /// From the first input to the end, ns.
    pub(super) fn lasted_ns(&self) -> u64 {
        let first = self.typed().map(|input| input.begin_ns).min().unwrap_or(0);
        self.typed().map(|input| input.end_ns).max().unwrap_or(0).saturating_sub(first)
    }

    /// Latencies of all that were typed.
    pub(super) fn latencies(&self) -> Distribution {
        let mut all = Distribution::new();
        self.typed().filter_map(Interaction::latency_ns).for_each(|latency| all.record(latency));
        all
    }

    /// The sums over thresholds: threshold, ns; to the first power, ns; to the second, ms squared.
    pub(super) fn curve(&self) -> Vec<(u64, u64, f64)> {
        let at = |ms: u64| {
            let (one, two) = over(self.typed().filter_map(Interaction::latency_ns), ms * 1_000_000);
            (ms * 1_000_000, one, two)
        };
        CURVE_MS.map(at).to_vec()
    }

    /// Of all waiting, how much is in events that took at least so long: latency, ns, and ns of waiting; descending.
    pub(super) fn cumulative(&self) -> Vec<(u64, u64)> {
        let mut latencies: Vec<u64> = self.typed().filter_map(Interaction::latency_ns).collect();
        latencies.sort_unstable_by(|one, other| other.cmp(one));
        let mut sum = 0u64;
        latencies
            .into_iter()
            .map(|latency| {
                sum = sum.saturating_add(latency);
                (latency, sum)
            })
            .collect()
    }

    /// What was counted that makes the result less than whole, in lines.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.document.ended.is_none() {
            lines.push("the recording was cut short: up to its last second is missing".to_owned());
        }
        if self.wrong_sums > 0 {
            lines.push(format!(
                "the parts of {} do not add up: the recording is damaged",
                counted(self.wrong_sums, "input")
            ));
        }
        let summary = self.summary;
        if summary.ended_early && summary.not_put_in > 0 {
            lines.push(format!(
                "the program ended {} before the script did: {} {} not put in",
                self.end_in_words(),
                counted(summary.not_put_in, "input"),
                agreeing(summary.not_put_in, "was", "were")
            ));
        } else if summary.not_put_in > 0 {
            lines.push(format!("not put in: {} of the script", counted(summary.not_put_in, "input")));
        }
        if summary.records_lost > 0 {
            let lost = summary.records_lost;
            lines.push(format!(
                "{lost} of the kernel's records were overwritten before they could be read: ends may be wrong"
            ));
        }
        if self.began_before() > 0 {
            let count = self.began_before();
            lines.push(format!(
                "{} {} there before anybody saw {} come: in no sum and no limit",
                counted(count, "input"),
                agreeing(count, "was", "were"),
                agreeing(count, "it", "them")
            ));
        }
        lines.extend(self.unsure_beginnings());
        if summary.not_split > 0 {
            lines.push(format!(
                "the time of {} could not be split: too many came at once",
                counted(summary.not_split, "input")
            ));
        }
        for (outcome, count) in self.outcomes.iter().filter(|(outcome, count)| *count > 0 && *outcome != Outcome::Seen)
        {
            lines.push(format!("{} {} {}", counted(*count, "input"), agreeing(*count, "was", "were"), outcome.words()));
        }
        if summary.background_outputs > 0 {
            lines.push(format!("{} came without an input's doing", counted(summary.background_outputs, "output")));
        }
        lines.extend(toolkit::warnings(self));
        if !summary.followed {
            let what = "not followed through the kernel: an input ends with the last output before 50 ms of silence, whoever's \
                        doing that was";
            lines.push(what.to_owned());
        }
        lines
    }

    /// What is not known of when inputs to somebody's window began, in lines.
    fn unsure_beginnings(&self) -> Vec<String> {
        let (unsure, lost) = (self.summary.to_a_millisecond, self.summary.presses_lost);
        let mut lines = Vec::new();
        if unsure > 0 {
            let (of, they) = (counted(unsure, "input"), agreeing(unsure, "it", "they"));
            lines.push(format!("of {of} only the millisecond is known in which {they} began"));
        }
        if lost > 0 {
            lines.push(format!("{} came faster than they could be taken up: in no sum", counted(lost, "input")));
        }
        lines
    }

    /// The answer in a sentence or two.
    pub fn verdict(&self) -> String {
        let program = self.summary.program.first().map_or("the program", String::as_str);
        let ended = self.document.ended.as_ref();
        let failed = ended.filter(|ended| ended.reason == EndReason::Failed);
        let before = match failed.and_then(|ended| ended.detail.as_deref()) {
            Some(detail) => format!("Ended early: {detail}. "),
            None if ended.is_some_and(|ended| ended.reason == EndReason::Interrupted) => "Interrupted. ".to_owned(),
            None => String::new(),
        };
        if self.failed_early() && self.summary.inputs == 0 {
            let end = self.end_in_words();
            return format!("{before}{program} ended {end} before anything was typed: there is nothing to measure.");
        }
        if self.is_own_use() && self.typed().next().is_none() {
            return format!("{before}Nobody put anything into {program} that was seen: there is nothing to measure.");
        }
        let all = self.latencies();
        let (Some(median), Some(longest)) = (all.quantile(0.5), all.max()) else {
            return format!("{before}{program} answered none of {}.", counted(self.typed().count(), "input"));
        };
        let show = punctual_recording::format_ns;
        let mut verdict = format!(
            "{before}{program} answered {} of {}, half of them within {}, the slowest in {}",
            all.count(),
            counted(self.typed().count(), "input"),
            show(median),
            show(longest)
        );
        if let Some(cause) = self.causes.iter().find(|_| self.summary.followed) {
            let waited: u64 = self.causes.iter().map(|cause| cause.ns).sum();
            let share = cause.ns as f64 / waited.max(1) as f64 * 100.0;
            let part = if share > 50.0 { "most" } else { "the largest part" };
            let on = shortened(&cause.on.words(), MAX_SHOWN);
            verdict.push_str(&format!("; {part} of the waiting was {on} ({share:.0} %)"));
        }
        verdict.push('.');
        verdict.push_str(&self.start_in_words());
        if self.failed_early() {
            verdict.push_str(&format!(" It ended {} before the script was through.", self.end_in_words()));
        }
        verdict.push_str(&self.unjudged_in_words());
        for (kind, limit) in self.limits.iter().filter(|(_, limit)| limit.exceeded || limit.found_ns.is_none()) {
            match limit.found_ns {
                Some(found) => verdict.push_str(&format!(
                    " Limit exceeded: {} of {kind} is {}, above {}.",
                    limit.what,
                    show(found),
                    show(limit.limit_ns)
                )),
                None => {
                    verdict.push_str(&format!(" No input of the kind {kind} was seen: its limit could not be judged."))
                }
            }
        }
        verdict
    }

    /// How long the start took, and what most of it was.
    fn start_in_words(&self) -> String {
        let Some((at, parts)) = &self.start else { return String::new() };
        let (latency, show) = (self.inputs[*at].latency_ns().unwrap_or(0), punctual_recording::format_ns);
        let mut words = format!(" Its start took {}", show(latency));
        if let Some(largest) = parts.first().filter(|_| self.summary.followed) {
            let on = shortened(&largest.on.words(), MAX_SHOWN);
            words.push_str(&format!(", {} of that {on}", show(largest.ns)));
        }
        words + "."
    }

    /// When a time was, from the beginning, ns.
    pub(super) fn since_start(&self, ns: u64) -> u64 {
        ns.saturating_sub(self.document.provenance.started_ns)
    }
}

/// What the parts of all inputs add up to.
struct Gathered {
    causes: Vec<Cause>,
    told: BTreeMap<u32, Vec<Part>>,
    wrong_sums: u64,
}

/// Reads the parts of all inputs. Those in `told` are kept; those of the start, which nobody has put in, are no causes.
fn gather(
    recording: &Path,
    inputs: &[Interaction],
    mut told: BTreeMap<u32, Vec<Part>>,
    keys: &mut Keys,
) -> punctual_recording::Result<Gathered> {
    let starts: BTreeSet<u32> = inputs.iter().filter(|input| !is_measured(input)).map(|input| input.number).collect();
    let latencies: BTreeMap<u32, u64> =
        inputs.iter().filter_map(|input| Some((input.number, input.latency_ns()?))).collect();
    let mut causes: BTreeMap<Spent, Cause> = BTreeMap::new();
    let mut sums: BTreeMap<u32, u64> = BTreeMap::new();
    for_each_interaction_part(recording, |part| {
        let sum = sums.entry(part.number).or_default();
        *sum = sum.saturating_add(part.ns);
        let on = Spent::of(&part);
        keys.spent(part.number, &on, part.ns);
        if !starts.contains(&part.number) {
            let is_full = causes.len() >= MAX_CAUSES && !causes.contains_key(&on);
            let counted = if is_full { on.clone().of_others() } else { on.clone() };
            let cause = causes.entry(counted.clone());
            let cause = cause.or_insert(Cause { on: counted, ns: 0, unknown_ns: 0, inputs: 0 });
            cause.ns = cause.ns.saturating_add(part.ns);
            cause.unknown_ns = cause.unknown_ns.saturating_add(part.unknown_ns);
            cause.inputs += 1;
        }
        if let Some(parts) = told.get_mut(&part.number) {
            parts.push(Part { on, detail: part.detail, ns: part.ns, unknown_ns: part.unknown_ns });
        }
    })?;
    let wrong_sums = sums.iter().filter(|(number, sum)| latencies.get(number) != Some(sum)).count() as u64;
    let mut causes: Vec<Cause> = causes.into_values().collect();
    causes.sort_by(|one, other| other.ns.cmp(&one.ns).then_with(|| one.on.who.cmp(&other.on.who)));
    Ok(Gathered { causes, told, wrong_sums })
}

/// Whether somebody put it in, and when is known.
pub(super) fn is_measured(input: &Interaction) -> bool {
    input.kind != START && input.kind != BEGAN_BEFORE
}

fn kinds(inputs: &[Interaction], patience: &Patience) -> Vec<KindSum> {
    let names: BTreeSet<&str> = inputs.iter().map(|input| input.kind.as_str()).collect();
    let of = |name: &str| {
        let own = || inputs.iter().filter(|input| input.kind == name);
        let distribution = |wanted: &dyn Fn(&Interaction) -> bool| {
            let mut distribution = Distribution::new();
            own().filter(|one| wanted(one)).filter_map(Interaction::latency_ns).for_each(|ns| distribution.record(ns));
            distribution
        };
        let patience_ns = patience.of(name);
        let (over_ns, over_squared_ms) = over(own().filter_map(Interaction::latency_ns), patience_ns);
        KindSum {
            kind: name.to_owned(),
            inputs: own().count() as u64,
            latencies: distribution(&|_| true),
            cold: distribution(&|input| input.repeat == 1),
            warm: distribution(&|input| input.repeat > 1),
            patience_ns,
            over_ns,
            over_squared_ms,
        }
    };
    let mut kinds: Vec<KindSum> = names.into_iter().map(of).collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.inputs));
    kinds
}

fn tasks(inputs: &[Interaction]) -> Vec<(String, Distribution)> {
    let mut tasks: Vec<(String, Distribution)> = Vec::new();
    for input in inputs.iter().filter(|input| !input.task.is_empty()) {
        let Some(latency) = input.latency_ns() else { continue };
        let found = tasks.iter().position(|(name, _)| *name == input.task);
        let at = found.unwrap_or(tasks.len());
        if found.is_none() && at < MAX_CAUSES {
            tasks.push((input.task.clone(), Distribution::new()));
        }
        if let Some((_, distribution)) = tasks.get_mut(at) {
            distribution.record(latency);
        }
    }
    tasks
}

fn judge(limit: &KindLimit, inputs: &[Interaction]) -> (String, Limit) {
    let mut distribution = Distribution::new();
    let is_it = |input: &&Interaction| match limit.kind.as_str() {
        ALL => is_measured(input),
        kind => input.kind == kind,
    };
    inputs.iter().filter(is_it).filter_map(Interaction::latency_ns).for_each(|latency| distribution.record(latency));
    (limit.kind.clone(), limit.limit.judge(|_| distribution.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_blame::Awaited;

    #[test]
    fn who_was_not_seen_has_no_name() {
        let on = |kind: &str, name: &str, not_seen| {
            let (kind, name) = (kind.to_owned(), name.to_owned());
            Spent::of(&InteractionPart { kind, name, not_seen, ..InteractionPart::default() })
        };
        let told = [
            (on("wait", "ender not seen", Some(Awaited::Ender)), "waiting for a thread that was not seen"),
            (on("lock", "holder not seen", Some(Awaited::Holder)), "a lock whose holder was not seen"),
            // A thread may be called whatever it likes; older recordings do not tell.
            (on("wait", "ender not seen", None), "waiting for ender not seen"),
            (on("several", "3 smaller parts", None), "several 3 smaller parts"),
        ];
        for (on, words) in &told {
            assert_eq!(on.words(), *words);
        }
        assert_eq!(told.map(|(on, _)| on.kind().to_owned()), ["wait", "lock", "wait", "several"]);
    }

    #[test]
    fn responsiveness_is_what_is_over_the_threshold() {
        let latencies = [50_000_000, 100_000_000, 101_000_000, 250_000_000];
        let (one, two) = over(latencies.into_iter(), 100_000_000);
        assert_eq!(one, 151_000_000);
        assert!((two - (1.0 + 150.0 * 150.0)).abs() < 1e-9, "{two}");
        assert_eq!(over([].into_iter(), 0), (0, 0.0));
        let patience = Patience::new([("page".to_owned(), 1), ("all".to_owned(), 2)]);
        assert_eq!((patience.of("page"), patience.of("key"), Patience::default().of("key")), (1, 2, USUAL_PATIENCE_NS));
    }
}
