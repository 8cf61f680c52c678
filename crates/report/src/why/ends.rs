//! What waits come down to: at the end of each chain, what happened to whoever was waited for last.

use super::model::WhyReport;
use super::words::percent;
use punctual_blame::{Cause, Inside, Kind, Part, Who};
use serde::Serialize;
use std::collections::BTreeMap;

/// Ends with less than this share of the waits are not worth a word, percent.
const WORTH_TELLING: u128 = 10;
/// More would hide the first.
const MAX_TOLD: usize = 3;

/// What waits came down to, over all chains that ended alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct End<'a> {
    /// The kind with most of it; threads that had the CPU count together, whatever their priorities.
    pub(super) kind: Kind,
    /// Of all such ends, ns.
    pub(super) ns: u64,
    /// Who had most of it, ...
    pub(super) who: &'a Who,
    /// ... and who was waited for meanwhile.
    pub(super) awaited: &'a Who,
}

/// Who had it while whoever was waited for last needed it.
type Owner<'a> = (Kind, &'a Who, &'a Who);

impl<'a> End<'a> {
    /// All ends of the waits of these parts, largest first, and how long these waits were in all, ns.
    pub(super) fn of(parts: impl Iterator<Item = &'a Part>) -> (Vec<End<'a>>, u64) {
        let (mut owners, mut all_ns) = (BTreeMap::new(), 0_u64);
        for part in parts {
            all_ns = all_ns.saturating_add(part.ns);
            add(&part.inside, &part.who, &mut owners);
        }
        let mut families: BTreeMap<Kind, (u64, Owner<'a>, u64)> = BTreeMap::new();
        for (owner, ns) in owners {
            let found = families.entry(family(owner.0)).or_insert((0, owner, 0));
            found.0 = found.0.saturating_add(ns);
            if ns > found.2 {
                (found.1, found.2) = (owner, ns);
            }
        }
        let end = |(ns, (kind, who, awaited), _)| End { kind, ns, who, awaited };
        let mut ends: Vec<End<'a>> = families.into_values().map(end).collect();
        ends.sort_by_key(|end| std::cmp::Reverse(end.ns));
        (ends, all_ns)
    }

    /// Whether it is worth a word.
    pub(super) fn is_worth_telling(&self, all_ns: u64) -> bool {
        u128::from(self.ns) * 100 >= u128::from(all_ns) * WORTH_TELLING
    }

    fn had_a_cpu(&self) -> bool {
        family(self.kind) == Kind::SamePriority
    }

    /// What it was, whoever was behind it.
    fn words(&self) -> String {
        match self.kind {
            Kind::Own => "their own work".to_owned(),
            _ if self.had_a_cpu() => "other threads had the CPU".to_owned(),
            kind => kind.plural().to_owned(),
        }
    }

    /// The same with the share and whoever had most of it.
    pub(super) fn in_words(&self, all_ns: u64) -> String {
        let most = match self.kind {
            Kind::Own => format!(", most of {}", self.who),
            _ if self.had_a_cpu() => format!(", most {} before {}", self.who, self.awaited),
            Kind::Steal | Kind::Idle => String::new(),
            _ => format!(", most {}", self.who),
        };
        format!("{} {}{most}", percent(self.ns, all_ns), self.words())
    }

    /// What would change it, in the imperative; `None` if nothing at the end of a chain tells.
    pub(super) fn remedy(&self) -> Option<String> {
        let awaited = self.awaited;
        match self.kind {
            Kind::Own => {
                Some(format!("Look with --episode N at what {awaited} did, and ask it earlier or for less at once."))
            }
            Kind::Throttled => Some(format!(
                "Raise the budget of {}: cpu.max or io.max of the group, or the runtime of a SCHED_DEADLINE thread.",
                self.who
            )),
            Kind::HigherPriority | Kind::SamePriority | Kind::LowerPriority => {
                Some(format!("Give {awaited} more weight (nice, cpu.weight) or a CPU of its own (taskset)."))
            }
            Kind::Wait | Kind::Unknown => None,
            kind => kind.remedy(self.who).map(str::to_owned),
        }
    }

    /// The kind whose page says more. That of one's own work is about the late thread's.
    pub(super) fn page(&self) -> Kind {
        if self.kind == Kind::Own { Kind::Wait } else { self.kind }
    }
}

/// Threads that had the CPU are told together.
fn family(kind: Kind) -> Kind {
    match kind {
        Kind::HigherPriority | Kind::LowerPriority => Kind::SamePriority,
        kind => kind,
    }
}

fn add<'a>(inside: &'a [Inside], awaited: &'a Who, owners: &mut BTreeMap<Owner<'a>, u64>) {
    for step in inside {
        match step.inside.is_empty() {
            true => *owners.entry((step.kind, &step.who, awaited)).or_default() += step.ns,
            false => add(&step.inside, &step.who, owners),
        }
    }
}

/// The ends of the waits with a share that is worth a word, in words.
pub(super) fn told(ends: &[End<'_>], all_ns: u64) -> String {
    let worth = ends.iter().filter(|end| end.is_worth_telling(all_ns));
    let told: Vec<String> = worth.take(MAX_TOLD).map(|end| end.in_words(all_ns)).collect();
    told.join("; ")
}

/// Whether the words for a wait say to its end what most of it was.
pub(super) fn tells_the_end(cause: &Cause) -> bool {
    cause.detail.is_some() && cause.detail_ns.is_some() && cause.detail_part_ns().is_none()
}

/// What all waits for other threads came down to.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct EndRow<'a> {
    kind: &'static str,
    /// Who had most of it.
    name: &'a str,
    /// Who was waited for meanwhile.
    awaited: &'a str,
    ns: u64,
    /// Of all these waits.
    share: f64,
}

/// The ends of all waits for other threads, largest first.
pub(super) fn rows<'a>(report: &'a WhyReport<'_>) -> Vec<EndRow<'a>> {
    let (ends, all_ns) = End::of(report.waits(None));
    let row = |end: End<'a>| EndRow {
        kind: end.kind.name(),
        name: end.who.name(),
        awaited: end.awaited.name(),
        ns: end.ns,
        share: end.ns as f64 / all_ns.max(1) as f64,
    };
    ends.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::why::tests::part;

    fn step(kind: Kind, who: &str, ns: u64, inside: Vec<Inside>) -> Inside {
        Inside { kind, who: who.into(), ns, inside }
    }

    fn wait(inside: Vec<Inside>) -> Part {
        let ns: u64 = inside.iter().map(|step| step.ns).sum();
        Part { inside, ..part(Kind::Wait, "worker".into(), ns) }
    }

    #[test]
    fn a_chain_comes_down_to_what_happened_at_its_end() {
        let store = |end: Inside| step(Kind::Wait, "store", end.ns, vec![end]);
        let parts = [
            wait(vec![
                store(step(Kind::SamePriority, "rustc", 40, Vec::new())),
                step(Kind::Own, "worker", 30, Vec::new()),
            ]),
            wait(vec![
                store(step(Kind::HigherPriority, "audio", 25, Vec::new())),
                step(Kind::Irq, "nic", 5, Vec::new()),
            ]),
        ];
        let (ends, all_ns) = End::of(parts.iter());
        assert_eq!(all_ns, 100);
        assert_eq!(ends.iter().map(|end| end.ns).sum::<u64>(), all_ns);
        let first = &ends[0];
        assert_eq!(
            (first.kind, first.ns, first.who.name(), first.awaited.name()),
            (Kind::SamePriority, 65, "rustc", "store")
        );
        assert_eq!(
            first.remedy().as_deref(),
            Some("Give store more weight (nice, cpu.weight) or a CPU of its own (taskset).")
        );
        assert_eq!(
            told(&ends, all_ns),
            "65.0 % other threads had the CPU, most rustc before store; 30.0 % their own work, most of worker"
        );
    }

    #[test]
    fn a_used_up_quota_at_the_end_is_raised_where_it_is() {
        let parts = [wait(vec![step(Kind::Throttled, "/db.slice", 90, Vec::new())])];
        let (ends, _) = End::of(parts.iter());
        assert!(ends[0].remedy().unwrap().starts_with("Raise the budget of /db.slice: cpu.max"), "{ends:?}");
        assert_eq!(ends[0].page(), Kind::Throttled);
        assert!(End::of([].iter()).0.is_empty());
    }
}
