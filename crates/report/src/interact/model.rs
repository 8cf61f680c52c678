//! Inputs and what became of them, for text, JSON and pages.

use super::code::{Code, Wanted};
use super::events::{self, Events};
use super::keys::Keys;
use super::spent::{Cause, Gathered, Part, gather};
use super::sums::{KindLimit, KindSum, Patience, is_of_kind, judge, kinds, over, tasks};
use super::think_wait::OverTime;
use crate::NextStep;
use crate::why::explain;
use punctual_recording::{
    BEGAN_BEFORE, Distribution, Document, EndReason, FULL_PACE, Interaction, InteractionDocument, Limit, OWN_PACE,
    Outcome, START, agreeing, counted, printable, read_interactions, waits_ns,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The points at which the curve of responsiveness is given, ms.
const CURVE_MS: [u64; 13] = [0, 1, 2, 5, 10, 16, 33, 50, 100, 200, 500, 1_000, 2_000];
/// How many of the longest inputs have their parts shown.
pub(super) const MAX_LONGEST: usize = 20;
/// What a program at a terminal is used by.
const TERMINAL: &str = "pty";
/// How many of the longest inputs have their parts kept.
const MAX_TOLD: usize = 10_000;

/// Inputs, what became of them, and what is concluded.
pub struct InteractReport<'a> {
    pub(super) recording: &'a Path,
    pub(crate) document: &'a Document,
    pub(crate) summary: &'a InteractionDocument,
    pub(crate) inputs: Vec<Interaction>,
    pub(super) kinds: Vec<KindSum>,
    pub(super) tasks: Vec<(String, Distribution)>,
    pub(super) outcomes: Vec<(Outcome, u64)>,
    pub(crate) causes: Vec<Cause>,
    /// The longest inputs, longest first.
    pub(super) longest: Vec<(usize, Vec<Part>)>,
    /// The parts of the longest [`MAX_TOLD`] inputs and the start, by their number, largest first.
    pub(super) parts: BTreeMap<u32, Vec<Part>>,
    /// The start, and its parts.
    pub(crate) start: Option<(usize, Vec<Part>)>,
    pub(crate) limits: Vec<(String, Limit)>,
    pub(super) keys: Keys,
    /// What toolkits passed on.
    pub(super) events: Events,
    /// Which code was at work for them.
    pub(super) code: Code,
    /// Who waits and who thinks over time, if that is known by the state machine of 1996.
    pub(super) over_time: Option<OverTime>,
    /// Inputs whose parts do not add up to their latency.
    pub(super) wrong_sums: u64,
    /// Tables that cannot be read, and what is left out for that.
    pub(super) unread: Vec<String>,
}

/// What is read beside inputs and the parts of their time.
struct Beside {
    events: Events,
    code: Code,
    over_time: Option<OverTime>,
}

impl Beside {
    /// For these inputs, the longest of which have these places. `is_told` says which of them are shown one by one; `without` is
    /// told what cannot be read.
    fn read(
        recording: &Path,
        inputs: &[Interaction],
        long: &BTreeSet<usize>,
        is_told: impl Fn(u32) -> bool,
        mut without: impl FnMut(&punctual_recording::Error, &str),
    ) -> Beside {
        let events = Events::read(recording, inputs, &is_told).unwrap_or_else(|error| {
            without(&error, "what the program's toolkit passed on");
            Events::default()
        });
        let code = Code::read(recording, |number| {
            let at = inputs.binary_search_by_key(&number, |input| input.number).ok()?;
            let (is_long, is_in_causes) = (long.contains(&at), inputs[at].is_measured());
            is_told(number).then_some(Wanted { is_long, is_in_causes })
        });
        let code = code.unwrap_or_else(|error| {
            without(&error, "which code was at work");
            Code::default()
        });
        let over_time = OverTime::read(recording, inputs).unwrap_or_else(|error| {
            without(&error, "when the state machine of 1996 has somebody wait");
            None
        });
        Beside { events, code, over_time }
    }
}

impl<'a> InteractReport<'a> {
    /// Reads a recording's inputs and sums them up. What cannot be read beside them is left out, and told.
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
        let is_typed = |input: &Interaction| input.latency_ns().is_some() && input.is_measured();
        let mut by_latency: Vec<usize> = (0..inputs.len()).filter(|&at| is_typed(&inputs[at])).collect();
        by_latency.sort_by_key(|&at| (std::cmp::Reverse(inputs[at].latency_ns()), at));
        by_latency.truncate(MAX_TOLD);
        let told: BTreeMap<u32, Vec<Part>> =
            by_latency.iter().copied().chain(start).map(|at| (inputs[at].number, Vec::new())).collect();
        let mut unread = Vec::new();
        let mut without = |error: &punctual_recording::Error, what: &str| {
            unread.push(printable(&format!("{error}: the recording is damaged; left out: {what}")));
        };
        let mut keys = Keys::new(&inputs);
        let gathered = gather(recording, &inputs, told, |number, on, ns| keys.spent(number, on, ns));
        let Gathered { causes, told: mut parts, wrong_sums } = gathered.unwrap_or_else(|error| {
            without(&error, "what the time of inputs was spent on");
            keys = Keys::new(&inputs);
            Gathered::default()
        });
        parts.values_mut().for_each(|parts| parts.sort_by_key(|part| std::cmp::Reverse(part.ns)));
        let is_told = |number: u32| inputs.len() <= MAX_TOLD || parts.contains_key(&number);
        let long: BTreeSet<usize> = by_latency.iter().take(MAX_LONGEST).copied().chain(start).collect();
        let Beside { events, code, over_time } = Beside::read(recording, &inputs, &long, is_told, without);
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
            code,
            over_time,
            wrong_sums,
            unread,
        })
    }

    /// The exit code of the process: 2 if a limit was exceeded, 1 if there was nothing to judge or it failed.
    pub fn exit_code(&self) -> u8 {
        let limits = || self.limits.iter().map(|(_, limit)| limit);
        let failed = self.document.ended.as_ref().is_some_and(|ended| ended.reason == EndReason::Failed);
        if limits().any(|limit| limit.exceeded) && !self.draws_by_itself() {
            2
        } else {
            u8::from(
                failed
                    || self.failed_early()
                    || self.stuck().is_some()
                    || self.is_own_use() && self.typed().next().is_none()
                    || self.began_before() + self.unfinished() > 0 && !self.limits.is_empty()
                    || self.limits.iter().any(|(kind, limit)| self.perhaps_over(kind, limit))
                    || self.draws_by_itself() && !self.limits.is_empty()
                    || self.wrong_sums > 0
                    || !self.unread.is_empty()
                    || limits().any(|limit| limit.found_ns.is_none()),
            )
        }
    }

    /// Whether the program ended before anything was put in, or with a failure before the script ended.
    pub(crate) fn failed_early(&self) -> bool {
        let summary = self.summary;
        let is_cut = summary.inputs == 0 || summary.not_put_in > 0 && summary.exit_code != Some(0);
        summary.ended_early && is_cut
    }

    /// Whether somebody else used the program, and it was only watched.
    pub(crate) fn is_own_use(&self) -> bool {
        self.summary.pace == OWN_PACE
    }

    /// The input on which the program was still at work when the script was through, and how many later ones it did not
    /// take: it hangs, or works for longer than anybody waited.
    pub(crate) fn stuck(&self) -> Option<(&Interaction, u64)> {
        let ended = self.document.ended.as_ref();
        let is_through = ended.is_some_and(|ended| ended.reason == EndReason::Completed) && !self.is_own_use();
        let on = self.typed().find(|input| is_through && input.outcome == Some(Outcome::Unfinished))?;
        let is_left = |input: &&Interaction| input.number > on.number && input.outcome == Some(Outcome::Unread);
        let left = self.typed().filter(is_left).count() as u64;
        (left > 0).then_some((on, left))
    }

    /// How the program ended: `with code 1`.
    pub(crate) fn end_in_words(&self) -> String {
        self.summary.exit_code.map_or_else(|| "by a signal".to_owned(), |code| format!("with code {code}"))
    }

    /// Inputs other than the start whose beginnings are known.
    pub(crate) fn typed(&self) -> impl Iterator<Item = &Interaction> {
        self.inputs.iter().filter(|input| input.is_measured())
    }

    /// Inputs whose beginnings are not known.
    pub(crate) fn began_before(&self) -> u64 {
        self.inputs.iter().filter(|input| input.kind == BEGAN_BEFORE).count() as u64
    }

    /// Inputs that were still under way at the end.
    pub(crate) fn unfinished(&self) -> u64 {
        let is_it = |(outcome, _): &&(Outcome, u64)| *outcome == Outcome::Unfinished;
        self.outcomes.iter().find(is_it).map_or(0, |(_, count)| *count)
    }

    /// Inputs after which something came out that they may have caused, and how long after them the last of it.
    pub(crate) fn doubtful(&self) -> impl Iterator<Item = u64> {
        self.typed().filter_map(Interaction::perhaps_after_ns)
    }

    /// Whether an input of a kind took longer than allowed, if it caused what came out after it.
    pub(crate) fn perhaps_over(&self, kind: &str, limit: &Limit) -> bool {
        let of_kind = self.typed().filter(|input| is_of_kind(kind, input));
        of_kind.filter_map(Interaction::perhaps_after_ns).any(|ns| ns > limit.limit_ns)
    }

    /// Whether a program in a window draws all the time: what it draws by itself may count as an input's.
    pub(crate) fn draws_by_itself(&self) -> bool {
        self.summary.never_quiet && self.summary.via != TERMINAL
    }

    /// How long somebody waited for all of them, ns.
    pub(super) fn waited_ns(&self) -> u64 {
        self.typed().filter_map(Interaction::latency_ns).fold(0, u64::saturating_add)
    }

    /// How much of that whoever measured took, ns; `None` if that is not known.
    pub(super) fn own_work_ns(&self) -> Option<u64> {
        let own = self.causes.iter().filter(|cause| cause.on.is_own_work());
        self.summary.followed.then(|| own.fold(0, |sum: u64, cause| sum.saturating_add(cause.ns)))
    }

    /// The same by the state machine of 1996, for inputs where that is known, ns; and how long somebody waited for
    /// those.
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

    /// Latencies of everything that was typed.
    pub(crate) fn latencies(&self) -> Distribution {
        let mut all = Distribution::new();
        self.typed().filter_map(Interaction::latency_ns).for_each(|latency| all.record(latency));
        all
    }

    /// The sums by threshold: threshold, ns; to the first power, ns; to the second, ms squared.
    pub(super) fn curve(&self) -> Vec<(u64, u64, f64)> {
        let at = |ms: u64| {
            let (one, two) = over(self.typed().filter_map(Interaction::latency_ns), ms * 1_000_000);
            (ms * 1_000_000, one, two)
        };
        CURVE_MS.map(at).to_vec()
    }

    /// How much of all waiting is in events that took at least a given time: latency, ns, and ns of waiting;
    /// descending.
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

    /// Counts that make the result incomplete, in lines.
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
        lines.extend(self.unread.iter().cloned());
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
        lines.extend(self.missing_evidence());
        lines.extend(self.not_seen());
        if summary.background_outputs > 0 {
            lines.push(format!("{} came from no input", counted(summary.background_outputs, "output")));
        }
        if summary.pace == FULL_PACE {
            lines.push(
                "typed without any pause: no person meets this; `--pace human` measures what one does".to_owned(),
            );
        }
        lines.extend(self.code.warnings(summary.code.as_ref()));
        lines.extend(events::warnings(summary.toolkit.as_ref(), &self.events));
        if !summary.followed {
            let what = "not followed through the kernel: an input ends with the last output before 50 ms of silence, \
                 whatever caused that output";
            lines.push(what.to_owned());
        }
        lines
    }

    /// What became of inputs that were not seen, in lines.
    fn not_seen(&self) -> Vec<String> {
        let others = self.outcomes.iter().filter(|(outcome, count)| *count > 0 && *outcome != Outcome::Seen);
        let told = others.map(|&(outcome, count)| {
            let (inputs, were) = (counted(count, "input"), agreeing(count, "was", "were"));
            let after = self.longest_merged_ns().filter(|_| outcome == Outcome::Merged).map(|ns| {
                let them = agreeing(count, "it", "them");
                format!(", which was seen up to {} after {them}", punctual_recording::format_ns(ns))
            });
            format!("{inputs} {were} {}{}", outcome.words(), after.unwrap_or_default())
        });
        told.collect()
    }

    /// The longest that anybody waited for an input which the program took together with a later one, ns: until that one
    /// was seen.
    fn longest_merged_ns(&self) -> Option<u64> {
        let waits = self.inputs.iter().zip(waits_ns(&self.inputs));
        waits.filter(|(input, _)| input.merged_into.is_some()).filter_map(|(_, ns)| ns).max()
    }

    /// What is missing of what the time went to, in lines.
    fn missing_evidence(&self) -> Vec<String> {
        let (not_split, with_holes) = (self.summary.not_split, self.summary.with_holes);
        let mut lines = Vec::new();
        if not_split > 0 {
            let inputs = counted(not_split, "input");
            lines.push(format!("the time of {inputs} could not be split: too many came at once"));
        }
        if with_holes > 0 {
            let why = "it was overwritten, or there was no room for it";
            let inputs = counted(with_holes, "input");
            lines.push(format!("a part of the evidence is missing for {inputs} ({why}): that time is unknown"));
        }
        lines
    }

    /// What is not known about when inputs to somebody's window began, in lines.
    fn unsure_beginnings(&self) -> Vec<String> {
        let (unsure, lost) = (self.summary.to_a_millisecond, self.summary.presses_lost);
        let mut lines = Vec::new();
        if unsure > 0 {
            let (of, they) = (counted(unsure, "input"), agreeing(unsure, "it", "they"));
            lines.push(format!("of {of} only the millisecond is known in which {they} began"));
        }
        if lost > 0 {
            lines.push(format!("{} came too fast to be recorded: in no sum", counted(lost, "input")));
        }
        lines
    }

    /// What to run next: what helps against that which took most of the waiting.
    pub fn next_steps(&self) -> Vec<NextStep> {
        let leading = self.causes.first().filter(|_| self.summary.followed);
        let kind = leading.and_then(|cause| cause.on.blamed());
        kind.map(|kind| NextStep::new(explain::PURPOSE, explain::command(kind))).into_iter().collect()
    }

    /// A time from the beginning, ns.
    pub(super) fn since_start(&self, ns: u64) -> u64 {
        ns.saturating_sub(self.document.provenance.started_ns)
    }
}
