//! What took time from the loops, by kind and name, in bounded memory: whatever ran may rename itself without end.

use punctual_recording::{CauseKind, CauseSum};
use std::collections::BTreeMap;

/// Names that have a number, with the one for all others. Rows of the recording hold numbers, so none is given twice.
const MAX_NAMES: usize = 4096;
/// Threads get a number as they come until there are so many names.
const FREE: usize = MAX_NAMES / 2;
/// From then on a thread waits for its number until it took this part of all the time, one in so many.
const EARNS: u64 = 256;
/// So many wait at most; beyond that the half that took least is counted among the others for good.
const MAX_WAITING: usize = 1024;
/// The name of those without a number.
const OTHERS: &str = "(others)";

/// The sums of each cause. Together they are everything that was counted.
#[derive(Debug, Default)]
pub(super) struct Causes {
    names: Vec<String>,
    numbers: BTreeMap<String, u32>,
    sums: BTreeMap<(CauseKind, u32), CauseSum>,
    /// Of threads that have no number yet.
    waiting: BTreeMap<String, CauseSum>,
    total_ns: u64,
}

impl Causes {
    /// Takes a part of a gap. Returns the number of its name, which is that of the others if it has none.
    pub(super) fn count(&mut self, kind: CauseKind, name: &str, ns: u64) -> u32 {
        self.total_ns = self.total_ns.saturating_add(ns);
        let one = |number: u32| CauseSum { kind, name: number, count: 1, total_ns: ns, max_ns: ns };
        if kind == CauseKind::Thread && self.names.len() >= FREE && !self.numbers.contains_key(name) {
            return self.wait(name, one(0));
        }
        let number = self.number(name);
        self.add(one(number));
        number
    }

    /// The number of a name, the others' if there are too many.
    pub(super) fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        // The last one is for the others.
        let name = if self.names.len() + 1 >= MAX_NAMES { OTHERS } else { name };
        let new = self.names.len() as u32;
        let number = *self.numbers.entry(name.to_owned()).or_insert(new);
        if number == new {
            self.names.push(name.to_owned());
        }
        number
    }

    /// The names, by number.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether this number stands for several names.
    pub(super) fn is_others(&self, number: u32) -> bool {
        self.numbers.get(OTHERS) == Some(&number)
    }

    /// All sums, the largest first.
    pub(super) fn sums(&self) -> Vec<CauseSum> {
        let mut sums = self.sums.clone();
        // Only whoever has no number waits, and has the others' meanwhile.
        if let Some(&others) = self.numbers.get(OTHERS) {
            for waiting in self.waiting.values() {
                add_to(&mut sums, CauseSum { name: others, ..waiting.clone() });
            }
        }
        let mut sums: Vec<CauseSum> = sums.into_values().collect();
        sums.sort_by_key(|cause| std::cmp::Reverse(cause.total_ns));
        sums
    }

    fn add(&mut self, part: CauseSum) {
        add_to(&mut self.sums, part);
    }

    /// A thread without a number took a part: it gets one once it took enough, while there are any.
    fn wait(&mut self, name: &str, part: CauseSum) -> u32 {
        let others = self.number(OTHERS);
        let sum = match self.waiting.get_mut(name) {
            Some(sum) => {
                join(sum, &part);
                sum.clone()
            }
            None => {
                self.waiting.insert(name.to_owned(), part.clone());
                part
            }
        };
        if sum.total_ns >= self.total_ns / EARNS && self.names.len() + 1 < MAX_NAMES {
            self.waiting.remove(name);
            let number = self.number(name);
            self.add(CauseSum { name: number, ..sum });
            return number;
        }
        if self.waiting.len() > MAX_WAITING {
            self.drop_the_least(others);
        }
        others
    }

    /// The half of those waiting that took least become others.
    fn drop_the_least(&mut self, others: u32) {
        let mut totals: Vec<u64> = self.waiting.values().map(|sum| sum.total_ns).collect();
        totals.sort_unstable();
        let (middle_ns, mut left) = (totals[totals.len() / 2], totals.len() / 2);
        let mut dropped = Vec::new();
        self.waiting.retain(|_, sum| {
            let goes = left > 0 && sum.total_ns <= middle_ns;
            if goes {
                left -= 1;
                dropped.push(CauseSum { name: others, ..sum.clone() });
            }
            !goes
        });
        dropped.into_iter().for_each(|sum| self.add(sum));
    }
}

fn add_to(sums: &mut BTreeMap<(CauseKind, u32), CauseSum>, part: CauseSum) {
    sums.entry((part.kind, part.name)).and_modify(|sum| join(sum, &part)).or_insert(part);
}

fn join(sum: &mut CauseSum, part: &CauseSum) {
    sum.count += part.count;
    sum.total_ns = sum.total_ns.saturating_add(part.total_ns);
    sum.max_ns = sum.max_ns.max(part.max_ns);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The count, the sum and the longest of everything.
    fn whole(causes: &Causes) -> (u64, u64, u64) {
        let sums = causes.sums();
        let most = sums.iter().map(|sum| sum.max_ns).max().unwrap_or(0);
        (sums.iter().map(|sum| sum.count).sum(), sums.iter().map(|sum| sum.total_ns).sum(), most)
    }

    fn named<'a>(causes: &'a Causes, sum: &CauseSum) -> &'a str {
        &causes.names()[sum.name as usize]
    }

    #[test]
    fn who_comes_after_a_program_with_names_without_end_is_named_all_the_same() {
        let mut causes = Causes::default();
        let (mut count, mut total_ns) = (0, 0);
        let mut take = |causes: &mut Causes, kind: CauseKind, name: &str, ns: u64| {
            (count, total_ns) = (count + 1, total_ns + ns);
            causes.count(kind, name, ns);
        };
        for round in 0..20_000 {
            take(&mut causes, CauseKind::Thread, &format!("name-{round}"), 1_000 + round % 7);
        }
        for round in 20_000..40_000 {
            take(&mut causes, CauseKind::Thread, &format!("name-{round}"), 1_000);
            if round % 20 == 0 {
                take(&mut causes, CauseKind::Thread, "culprit", 6_000);
                take(&mut causes, CauseKind::Irq, "late interrupt", 10);
            }
        }
        let sums = causes.sums();
        let culprit = sums.iter().find(|sum| named(&causes, sum) == "culprit").expect("it is named");
        // All of it, with what came before it had a number.
        assert_eq!((culprit.count, culprit.total_ns, culprit.max_ns), (1_000, 6_000_000, 6_000));
        let interrupt = sums.iter().find(|sum| named(&causes, sum) == "late interrupt").expect("it is named");
        assert_eq!((interrupt.kind, interrupt.total_ns), (CauseKind::Irq, 10_000));
        assert_eq!(named(&causes, &sums[0]), OTHERS, "the largest first: {:?}", sums[0]);
        assert_eq!(whole(&causes), (count, total_ns, 6_000));
        assert!(causes.names().len() <= FREE + 32 && causes.waiting.len() <= MAX_WAITING, "{}", causes.names().len());
    }

    #[test]
    fn no_more_names_have_numbers_than_there_are_numbers_and_nothing_is_lost() {
        const ROUNDS: u64 = 6_000;
        let mut causes = Causes::default();
        let mut total_ns = 0;
        for round in 0..ROUNDS {
            // Each takes enough of what was taken before to earn a number.
            let ns = 1 + total_ns / 250;
            total_ns += ns;
            let kind = if round % 2 == 0 { CauseKind::Thread } else { CauseKind::Softirq };
            let number = causes.count(kind, &format!("name-{round}"), ns);
            assert!((number as usize) < causes.names().len() && causes.names().len() <= MAX_NAMES);
        }
        let (count, sum_ns, _) = whole(&causes);
        assert_eq!((count, sum_ns, causes.names().len()), (ROUNDS, total_ns, MAX_NAMES - 1));
        let others: Vec<u32> = (0..MAX_NAMES as u32).filter(|number| causes.is_others(*number)).collect();
        assert_eq!(others.len(), 1);
        let mut names = causes.names().to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), causes.names().len());
    }
}
