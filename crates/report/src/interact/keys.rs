//! Inputs by what was typed: how long each key took, and where most of that time went.

use super::spent::Spent;
use punctual_recording::{Distribution, Interaction};
use std::collections::BTreeMap;

/// How many keys, and causes of each, are distinguished; further ones count together.
const MAX_KEYS: usize = 512;
const MAX_CAUSES: usize = 64;
/// All further keys.
const OTHERS: &str = "others";

/// What was typed, and what became of it.
pub(super) struct KeySum {
    pub(super) kind: String,
    pub(super) label: String,
    pub(super) inputs: u64,
    pub(super) latencies: Distribution,
    causes: BTreeMap<Spent, u64>,
}

impl KeySum {
    /// Where most of the time went, and how much that was, ns.
    pub(super) fn cause(&self) -> Option<(String, u64)> {
        let largest = self.causes.iter().max_by_key(|(_, ns)| **ns)?;
        Some((largest.0.words(), *largest.1))
    }

    pub(super) fn waited_ns(&self) -> u64 {
        self.causes.values().fold(0, |sum, ns| sum.saturating_add(*ns))
    }
}

/// All keys.
#[derive(Default)]
pub(super) struct Keys {
    sums: Vec<KeySum>,
    /// Each input's place among the sums.
    of_inputs: BTreeMap<u32, usize>,
}

impl Keys {
    /// For these inputs.
    pub(super) fn new(inputs: &[Interaction]) -> Keys {
        let mut keys = Keys::default();
        let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for input in inputs.iter().filter(|input| input.is_measured()) {
            let mut key = (input.kind.as_str(), input.label.as_str());
            if places.len() >= MAX_KEYS && !places.contains_key(&key) {
                key = ("", OTHERS);
            }
            let place = *places.entry(key).or_insert_with(|| {
                keys.sums.push(KeySum {
                    kind: key.0.to_owned(),
                    label: key.1.to_owned(),
                    inputs: 0,
                    latencies: Distribution::new(),
                    causes: BTreeMap::new(),
                });
                keys.sums.len() - 1
            });
            keys.of_inputs.insert(input.number, place);
            keys.sums[place].inputs += 1;
            if let Some(ns) = input.latency_ns() {
                keys.sums[place].latencies.record(ns);
            }
        }
        keys
    }

    /// Some of an input's time was spent on this.
    pub(super) fn spent(&mut self, number: u32, on: &Spent, ns: u64) {
        let Some(sum) = self.of_inputs.get(&number).and_then(|place| self.sums.get_mut(*place)) else { return };
        if sum.causes.len() < MAX_CAUSES || sum.causes.contains_key(on) {
            let all = sum.causes.entry(on.clone()).or_insert(0);
            *all = all.saturating_add(ns);
        }
    }

    /// The slowest first.
    pub(super) fn sorted(&self) -> Vec<&KeySum> {
        let mut sums: Vec<&KeySum> = self.sums.iter().collect();
        sums.sort_by_key(|sum| std::cmp::Reverse((sum.latencies.max(), sum.inputs)));
        sums
    }
}
