//! What waits come down to: at the end of each chain, what happened to whoever was waited for last.

use super::model::WhyReport;
use super::remedy::{OF_THIS_RECORDING, of_this_recording};
use crate::layout::as_percent;
use punctual_blame::{Cause, Inside, Kind, Part, Who};
use punctual_recording::grouped;
use serde::Serialize;
use std::collections::BTreeMap;

/// Ends with less than this share of the waits are not worth a word, percent.
const WORTH_TELLING: u128 = 10;
/// More would hide the first.
const MAX_TOLD: usize = 3;
/// A sum over several threads bears the number of the one that had at least so much of it, tenths.
const NUMBERED_TENTHS: u64 = 9;
/// How many of those who had it are named.
const MAX_NAMES: usize = 3;

/// What waits came down to, over all chains that ended alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct End<'a> {
    /// All of them: threads that had the CPU count together, whatever their priorities.
    pub(super) all: Share<'a>,
    /// Each who had a share of it, largest first.
    pub(super) shares: Vec<Share<'a>>,
}

/// What somebody had of it, or all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share<'a> {
    /// The kind with most of it.
    pub(super) kind: Kind,
    /// Who had most of it.
    pub(super) who: &'a Who,
    /// What all are called who had it: without a thread's number if no thread had nearly all of it.
    name: &'a str,
    /// Who was waited for longest meanwhile.
    pub(super) awaited: &'a Who,
    /// How long it was, ns.
    pub(super) ns: u64,
}

/// Who had it while whoever was waited for last needed it.
type Owner<'a> = (Kind, &'a Who, &'a Who);
/// The same, and how long, ns.
type Owned<'a> = (Owner<'a>, u64);

impl<'a> Share<'a> {
    /// Sums up; `None` if there is nothing.
    fn of(owned: &[Owned<'a>]) -> Option<Share<'a>> {
        let who = largest(owned, |(_, who, _)| who)?;
        let (ns, its_ns) = (sum(owned, |_| true), sum(owned, |of| of == who));
        Some(Share {
            kind: largest(owned, |(kind, _, _)| kind)?,
            who,
            name: if its_ns >= ns / 10 * NUMBERED_TENTHS { who.name() } else { who.shared_name() },
            awaited: largest(owned, |(_, _, awaited)| awaited)?,
            ns,
        })
    }
}

/// What those had whom `is_meant` is about, ns.
fn sum(owned: &[Owned<'_>], is_meant: impl Fn(&Who) -> bool) -> u64 {
    let meant = owned.iter().filter(|((_, who, _), _)| is_meant(who));
    meant.fold(0, |sum: u64, (_, ns)| sum.saturating_add(*ns))
}

/// What has most of it, as `key` tells them apart.
fn largest<'a, K: Ord>(owned: &[Owned<'a>], key: impl Fn(Owner<'a>) -> K) -> Option<K> {
    let mut sums: BTreeMap<K, u64> = BTreeMap::new();
    for &(owner, ns) in owned {
        let sum = sums.entry(key(owner)).or_default();
        *sum = sum.saturating_add(ns);
    }
    // Of equal ones the first.
    sums.into_iter().rev().max_by_key(|(_, ns)| *ns).map(|(key, _)| key)
}

impl<'a> End<'a> {
    /// All ends of the waits of these parts, largest first, and how long these waits were in all, ns.
    pub(crate) fn of(parts: impl Iterator<Item = &'a Part>) -> (Vec<End<'a>>, u64) {
        let (mut owners, mut all_ns) = (BTreeMap::new(), 0_u64);
        for part in parts {
            all_ns = all_ns.saturating_add(part.ns);
            add(&part.inside, &part.who, &mut owners);
        }
        let mut families: BTreeMap<Kind, Vec<Owned<'a>>> = BTreeMap::new();
        for (owner, ns) in owners {
            families.entry(family(owner.0)).or_default().push((owner, ns));
        }
        let mut ends: Vec<End<'a>> = families.values().filter_map(|owned| End::of_kind(owned)).collect();
        ends.sort_by_key(|end| std::cmp::Reverse(end.all.ns));
        (ends, all_ns)
    }

    fn of_kind(owned: &[Owned<'a>]) -> Option<End<'a>> {
        let mut names: BTreeMap<(&'a str, bool), Vec<Owned<'a>>> = BTreeMap::new();
        for &(owner, ns) in owned {
            let who = owner.1;
            names.entry((who.shared_name(), who.not_seen().is_some())).or_default().push((owner, ns));
        }
        let mut shares: Vec<Share<'a>> = names.values().filter_map(|owned| Share::of(owned)).collect();
        shares.sort_by_key(|share| std::cmp::Reverse(share.ns));
        Some(End { all: Share::of(owned)?, shares })
    }

    /// Whether it is worth a word.
    pub(super) fn is_worth_telling(&self, all_ns: u64) -> bool {
        u128::from(self.all.ns) * 100 >= u128::from(all_ns) * WORTH_TELLING
    }

    fn had_a_cpu(&self) -> bool {
        family(self.all.kind) == Kind::SamePriority
    }

    /// What it was, whoever was behind it.
    fn words(&self) -> String {
        match self.all.kind {
            Kind::Own => "their own work".to_owned(),
            _ if self.had_a_cpu() => "other threads had the CPU".to_owned(),
            kind => kind.plural().to_owned(),
        }
    }

    /// The same with its share, and who had how much of it.
    pub(super) fn in_words(&self, all_ns: u64) -> String {
        let names = match self.all.kind {
            Kind::Steal | Kind::Idle => String::new(),
            _ => format!(": {}", self.names(all_ns)),
        };
        format!("{} {}{names}", as_percent(self.all.ns, all_ns), self.words())
    }

    /// Those with the largest shares, with these if there are several.
    fn names(&self, all_ns: u64) -> String {
        if let [only] = &self.shares[..] {
            return only.name.to_owned();
        }
        let named = self.shares.iter().take(MAX_NAMES);
        let mut names: Vec<String> =
            named.map(|share| format!("{} {}", share.name, as_percent(share.ns, all_ns))).collect();
        let more = self.shares.len().saturating_sub(MAX_NAMES);
        if more > 0 {
            names.push(format!("{} more", grouped(more as u64)));
        }
        names.join(", ")
    }

    /// The one of punctual's own threads that had most of it, if they had half of it or more.
    fn own_of_the_recording(&self) -> Option<&'a str> {
        let own = self.shares.iter().filter(|share| share.name.contains(OF_THIS_RECORDING));
        let own_ns = own.clone().fold(0, |sum: u64, share| sum.saturating_add(share.ns));
        let first = own.max_by_key(|share| share.ns)?;
        (own_ns.saturating_mul(2) >= self.all.ns).then_some(first.name)
    }

    /// What would change it, in the imperative; `None` if nothing at the end of a chain tells.
    pub(super) fn remedy(&self) -> Option<String> {
        if let Some(name) = self.own_of_the_recording() {
            return Some(of_this_recording(name));
        }
        let Share { kind, who, awaited, .. } = self.all;
        match kind {
            Kind::Own => Some(format!(
                "Look with `punctual why RECORDING --episode N` at what {awaited} did, and ask it earlier, less often or for less at once, or not within \
                 the request."
            )),
            Kind::Sleep => Some(format!(
                "Find the sleep in {awaited} (a back-off, a rate limit, a loop that polls): shorten it, or wait there for the \
                 event itself."
            )),
            Kind::Throttled => Some(format!(
                "Raise the budget of {who}: cpu.max (version 1: cpu.cfs_quota_us; -1 ends it) or io.max of the group, or the \
                 runtime of a SCHED_DEADLINE thread."
            )),
            Kind::HigherPriority | Kind::SamePriority | Kind::LowerPriority => Some(format!(
                "Give {awaited} more weight (nice, cpu.weight; between sessions with autogroups `echo -15 | sudo tee \
                 /proc/PID/autogroup`, where PID is its process) or a CPU of its own (taskset). Or ask it less often, or not within \
                 the request."
            )),
            Kind::Wait | Kind::Unknown => None,
            kind => kind.remedy(who).map(str::to_owned),
        }
    }

    /// The kind whose page says more. That of one's own work is about the late thread's.
    pub(super) fn page(&self) -> Kind {
        if self.all.kind == Kind::Own { Kind::Wait } else { self.all.kind }
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
pub(crate) fn told(ends: &[End<'_>], all_ns: u64) -> String {
    let worth = ends.iter().filter(|end| end.is_worth_telling(all_ns));
    let told: Vec<String> = worth.take(MAX_TOLD).map(|end| end.in_words(all_ns)).collect();
    told.join("; ")
}

/// Whether the words for a wait say to its end what most of it was.
pub(crate) fn tells_the_end(cause: &Cause) -> bool {
    cause.detail.is_some() && cause.detail_ns.is_some() && cause.detail_part_ns().is_none()
}

/// What waits for other threads came down to with somebody.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct EndRow<'a> {
    /// The one with most of it, if somebody had the CPU with several priorities.
    kind: &'static str,
    /// Who had it.
    name: &'a str,
    /// Who was waited for longest meanwhile.
    awaited: &'a str,
    /// What this one had of it.
    ns: u64,
    /// Of all these waits.
    share: f64,
    /// What all had of this kind; threads that had the CPU count together, whatever their priorities.
    kind_ns: u64,
}

/// The ends of all waits for other threads, largest first.
pub(super) fn rows<'a>(report: &'a WhyReport<'_>) -> Vec<EndRow<'a>> {
    let (ends, all_ns) = End::of(report.waits(None));
    let mut rows: Vec<EndRow<'a>> = ends.iter().flat_map(|end| rows_of(end, all_ns)).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.ns));
    rows
}

fn rows_of<'a>(end: &End<'a>, all_ns: u64) -> Vec<EndRow<'a>> {
    let row = |share: &Share<'a>| EndRow {
        kind: share.kind.name(),
        name: share.name,
        awaited: share.awaited.name(),
        ns: share.ns,
        share: share.ns as f64 / all_ns.max(1) as f64,
        kind_ns: end.all.ns,
    };
    end.shares.iter().map(row).collect()
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
        assert_eq!(ends.iter().map(|end| end.all.ns).sum::<u64>(), all_ns);
        let first = &ends[0];
        assert_eq!(
            (first.all.kind, first.all.ns, first.all.who.name(), first.all.awaited.name()),
            (Kind::SamePriority, 65, "rustc", "store")
        );
        assert_eq!(
            first.remedy().as_deref(),
            Some(
                "Give store more weight (nice, cpu.weight; between sessions with autogroups `echo -15 | sudo tee \
                 /proc/PID/autogroup`, where PID is its process) or a CPU of its own (taskset). Or ask it less often, or not within \
                 the request."
            )
        );
        assert_eq!(
            told(&ends, all_ns),
            "65.0 % other threads had the CPU: rustc 40.0 %, audio 25.0 %; 30.0 % their own work: worker"
        );
        let rows: Vec<EndRow<'_>> = ends.iter().flat_map(|end| rows_of(end, all_ns)).collect();
        let told: Vec<_> = rows.iter().map(|row| (row.kind, row.name, row.ns, row.kind_ns)).collect();
        let cpu = [("same_priority", "rustc", 40, 65), ("higher_priority", "audio", 25, 65)];
        assert_eq!(told, [&cpu[..], &[("own", "worker", 30, 30), ("irq", "nic", 5, 5)]].concat());
    }

    #[test]
    fn a_sum_never_bears_one_name_and_few_are_named() {
        let took = |who: &str, ns| step(Kind::SamePriority, who, ns, Vec::new());
        let parts = [wait(vec![took("cc1", 30), took("ld", 20), took("sh", 25), took("rustc", 15), took("as", 10)])];
        let (ends, all_ns) = End::of(parts.iter());
        let words = "100.0 % other threads had the CPU: cc1 30.0 %, sh 25.0 %, ld 20.0 %, 2 more";
        assert_eq!(told(&ends, all_ns), words);
    }

    #[test]
    fn of_others_with_one_name_the_thread_is_named_that_had_nearly_all() {
        let took = |who: &str, ns| step(Kind::SamePriority, who, ns, Vec::new());
        let of = |first_ns| {
            let rest = [took("another py (thread 8)", 20), took("another py (thread 9)", 20), took("cc1", 10)];
            let parts = [wait([&[took("another py (thread 7)", first_ns)][..], &rest].concat())];
            let (ends, all_ns) = End::of(parts.iter());
            told(&ends, all_ns)
        };
        assert_eq!(of(450), "100.0 % other threads had the CPU: another py (thread 7) 98.0 %, cc1 2.0 %");
        assert_eq!(of(50), "100.0 % other threads had the CPU: another py 90.0 %, cc1 10.0 %");
    }

    /// The program that was measured has nothing to change if the measurement had the CPU.
    #[test]
    fn where_the_recording_itself_had_the_cpu_nobody_is_told_to_give_more_weight() {
        let took = |who: &str, ns| step(Kind::SamePriority, who, ns, Vec::new());
        let of = |looks_ns| {
            let own = [took("looks (this recording)", looks_ns), took("why (this recording)", 10)];
            let parts = [wait([&own[..], &[took("rustc", 30), took("audio", 20)]].concat())];
            let (ends, _) = End::of(parts.iter());
            ends[0].remedy().unwrap()
        };
        let own = of(40);
        assert!(
            own.starts_with("That is what this recording itself costs: ") && own.contains("--why-stage response"),
            "{own}"
        );
        assert!(of(39).starts_with("Give worker more weight"), "{}", of(39));
    }

    #[test]
    fn a_used_up_quota_at_the_end_is_raised_where_it_is() {
        let parts = [wait(vec![step(Kind::Throttled, "/db.slice", 90, Vec::new())])];
        let (ends, _) = End::of(parts.iter());
        let remedy = ends[0].remedy().unwrap();
        assert!(
            remedy.starts_with("Raise the budget of /db.slice: cpu.max (version 1: cpu.cfs_quota_us; "),
            "{remedy}"
        );
        assert_eq!(ends[0].page(), Kind::Throttled);
        assert!(End::of([].iter()).0.is_empty());
    }

    #[test]
    fn a_sleep_at_the_end_is_looked_for_in_whoever_slept() {
        let slept = step(Kind::Sleep, "hrtimer_wakeup", 90, Vec::new());
        let parts = [wait(vec![step(Kind::Wait, "store", 90, vec![slept])])];
        let (ends, _) = End::of(parts.iter());
        let remedy = ends[0].remedy().unwrap();
        assert!(remedy.starts_with("Find the sleep in store (a back-off, a rate limit, "), "{remedy}");
        let own = Kind::Sleep.remedy(&"hrtimer_wakeup".into()).unwrap();
        assert!(own.starts_with("Find the sleep in the late thread (a back-off, a rate limit, "), "{own}");
    }
}
