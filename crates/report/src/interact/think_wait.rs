//! Who waits and who thinks, over time: until inputs are seen, and by the state machine of 1996, side by side.

use punctual_recording::{Interaction, Outcome, for_each_wait_stretch, waits_ns};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Stretches of time that neither touch nor overlap, in order: beginning and end, ns.
pub(super) type Stretches = Vec<(u64, u64)>;

/// Both machines over time, from the first input to the end of the last one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct OverTime {
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    /// Somebody waits until an input is seen.
    pub(super) until_seen: Stretches,
    /// The machine of 1996 has somebody wait.
    pub(super) machine: Stretches,
    /// What that machine says is not known.
    pub(super) not_known: Stretches,
}

/// How long both say the same, or one of them something else, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Agreement {
    /// Both have somebody wait.
    pub(super) both_wait_ns: u64,
    /// An input has not been seen, and the machine of 1996 has somebody think: a timer, or another program that is waited for.
    pub(super) only_until_seen_ns: u64,
    /// Everything has been seen, and the machine of 1996 has somebody wait: the rest of an event, or synchronous I/O.
    pub(super) only_machine_1996_ns: u64,
    /// Both have somebody think.
    pub(super) both_think_ns: u64,
    /// What the machine of 1996 says is not known.
    pub(super) not_known_ns: u64,
}

/// Sorts stretches, and joins those that touch.
fn joined(mut stretches: Stretches) -> Stretches {
    stretches.sort_unstable();
    let mut found = Stretches::new();
    for (begin, end) in stretches.into_iter().filter(|(begin, end)| begin < end) {
        match found.last_mut() {
            Some(last) if begin <= last.1 => last.1 = last.1.max(end),
            _ => found.push((begin, end)),
        }
    }
    found
}

/// What lies within both.
pub(super) fn common(one: &[(u64, u64)], other: &[(u64, u64)]) -> Stretches {
    let (mut found, mut at, mut beside) = (Stretches::new(), 0, 0);
    while let (Some(left), Some(right)) = (one.get(at), other.get(beside)) {
        let (begin, end) = (left.0.max(right.0), left.1.min(right.1));
        if begin < end {
            found.push((begin, end));
        }
        if left.1 <= right.1 {
            at += 1;
        } else {
            beside += 1;
        }
    }
    found
}

/// What lies between two times and outside.
fn outside(stretches: &[(u64, u64)], from_ns: u64, to_ns: u64) -> Stretches {
    let begins = stretches.iter().map(|stretch| stretch.0).chain([to_ns]);
    let ends = [from_ns].into_iter().chain(stretches.iter().map(|stretch| stretch.1));
    ends.zip(begins).map(|(end, begin)| (end.max(from_ns), begin.min(to_ns))).filter(|(from, to)| from < to).collect()
}

pub(super) fn length(stretches: &[(u64, u64)]) -> u64 {
    stretches.iter().fold(0, |sum: u64, (begin, end)| sum.saturating_add(end.saturating_sub(*begin)))
}

impl OverTime {
    /// Reads what the machine of 1996 said of a recording with these inputs, in order of their numbers; `None` if it said
    /// nothing.
    pub(super) fn read(recording: &Path, inputs: &[Interaction]) -> punctual_recording::Result<Option<OverTime>> {
        let mut said: BTreeMap<u32, Stretches> = BTreeMap::new();
        for_each_wait_stretch(recording, |one| said.entry(one.number).or_default().push((one.begin_ns, one.end_ns)))?;
        Ok(OverTime::of(inputs, &said))
    }

    fn of(inputs: &[Interaction], said: &BTreeMap<u32, Stretches>) -> Option<OverTime> {
        let typed = || inputs.iter().filter(|input| input.is_measured());
        let from_ns = typed().map(|input| input.begin_ns).min().filter(|_| !said.is_empty())?;
        let to_ns = typed().map(|input| input.end_ns).max()?.max(from_ns);
        let within = |(begin, end): (u64, u64)| (begin.clamp(from_ns, to_ns), end.clamp(from_ns, to_ns));
        let waits = inputs.iter().zip(waits_ns(inputs)).filter(|(input, _)| input.is_measured());
        let until_seen = waits.filter_map(|(input, wait_ns)| match input.outcome {
            // Somebody waited for it to the end.
            Some(Outcome::Unfinished) => Some((input.begin_ns, to_ns)),
            _ => Some((input.begin_ns, input.begin_ns.saturating_add(wait_ns?))),
        });
        let of_inputs = |input: &Interaction| said.get(&input.number).cloned().unwrap_or_default();
        let known = typed().filter(|input| said.contains_key(&input.number));
        let known = joined(known.map(|input| within((input.begin_ns, input.end_ns))).collect());
        let machine = joined(typed().flat_map(of_inputs).map(within).collect());
        Some(OverTime {
            from_ns,
            to_ns,
            until_seen: joined(until_seen.map(within).collect()),
            machine: common(&machine, &known),
            not_known: outside(&known, from_ns, to_ns),
        })
    }

    pub(super) fn agreement(&self) -> Agreement {
        let known = outside(&self.not_known, self.from_ns, self.to_ns);
        let seen = common(&self.until_seen, &known);
        let both_wait_ns = length(&common(&seen, &self.machine));
        let (only_seen, only_machine) = (length(&seen) - both_wait_ns, length(&self.machine) - both_wait_ns);
        Agreement {
            both_wait_ns,
            only_until_seen_ns: only_seen,
            only_machine_1996_ns: only_machine,
            both_think_ns: length(&known) - both_wait_ns - only_seen - only_machine,
            not_known_ns: length(&self.not_known),
        }
    }

    /// The stretches of each of both, with its name: those in which somebody waits, and those in which somebody thinks.
    pub(super) fn states(&self) -> [(&'static str, &Stretches, Stretches); 2] {
        let neither = joined(self.machine.iter().chain(&self.not_known).copied().collect());
        [
            ("until seen", &self.until_seen, outside(&self.until_seen, self.from_ns, self.to_ns)),
            ("machine of 1996", &self.machine, outside(&neither, self.from_ns, self.to_ns)),
        ]
    }
}

#[cfg(test)]
#[path = "think_wait_tests.rs"]
mod tests;
