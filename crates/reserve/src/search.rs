//! Which reservation to try next, until the smallest that is enough is known.

use crate::Reservation;

/// What trials of a reservation showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Every attempt succeeded.
    Sufficient,
    /// Some failed.
    Marginal,
    /// All failed.
    Insufficient,
    /// None can be judged: no job came, the host accounts for all that did, or some were not seen and no other one was late.
    NotJudged,
}

impl Class {
    /// The class for this many successes in this many attempts that can be judged.
    pub fn of(succeeded: u32, judged: u32) -> Class {
        match (succeeded, judged) {
            (_, 0) => Class::NotJudged,
            (0, _) => Class::Insufficient,
            _ if succeeded >= judged => Class::Sufficient,
            _ => Class::Marginal,
        }
    }
}

/// What the search wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Try this one, and tell [`Search::tell`] its class.
    Try(Reservation),
    /// The smallest share found sufficient; `None` if none was.
    Answer(Option<Reservation>),
}

/// The search for the smallest sufficient share in a grid of periods and budgets.
///
/// Assumes that more budget in the same period is never worse; nothing is assumed between periods. The first period is
/// halved; each further one is first tried just below the best share so far, and abandoned at once if that fails.
#[derive(Debug, Clone)]
pub struct Search {
    rows: Vec<(u64, Vec<u64>)>,
    row: usize,
    /// In the current row, the budgets that may still be the smallest sufficient one: from, and up to but not including.
    open: Option<(usize, usize)>,
    /// Which budget of the row is being tried.
    tried: usize,
    best: Option<Reservation>,
    /// The smallest share that was refused: nothing of that size is tried any more.
    refused: Option<Reservation>,
}

impl Search {
    /// The budgets of each period, in the order in which to look at the periods. A shuffled order keeps the trials few.
    pub fn new(rows: Vec<(u64, Vec<u64>)>) -> Search {
        let mut rows = rows;
        for (period_ns, budgets) in &mut rows {
            budgets.retain(|&budget_ns| budget_ns <= *period_ns);
            budgets.sort_unstable();
            budgets.dedup();
        }
        Search { rows, row: 0, open: None, tried: 0, best: None, refused: None }
    }

    /// The next trial, or the answer. Asked again before [`Search::tell`], it says the same.
    pub fn next_step(&mut self) -> Step {
        while let Some((period_ns, budgets)) = self.rows.get(self.row) {
            let at = |index: usize| Reservation { budget_ns: budgets[index], period_ns: *period_ns };
            let admitted = budgets.partition_point(|&budget_ns| {
                let tried = Reservation { budget_ns, period_ns: *period_ns };
                self.refused.is_none_or(|refused| tried.is_smaller_than(refused))
            });
            let tried = match (self.open, self.best) {
                (None, Some(best)) => (0..admitted).rfind(|&index| at(index).is_smaller_than(best)),
                (None, None) => (admitted > 0).then_some(admitted / 2),
                (Some((from, end)), _) => {
                    let end = end.min(admitted);
                    (from < end).then_some(from + end.saturating_sub(from) / 2)
                }
            };
            if let Some(tried) = tried {
                self.tried = tried;
                return Step::Try(at(tried));
            }
            self.row += 1;
            self.open = None;
        }
        Step::Answer(self.best)
    }

    /// Takes the class of the trial that [`Search::next_step`] asked for; without effect after the answer.
    pub fn tell(&mut self, class: Class) {
        let Some((period_ns, budgets)) = self.rows.get_mut(self.row) else { return };
        match class {
            Class::Sufficient => {
                self.best = Some(Reservation { budget_ns: budgets[self.tried], period_ns: *period_ns });
                self.open = Some((self.open.map_or(0, |(from, _)| from), self.tried));
            }
            Class::Marginal | Class::Insufficient => {
                // Above the first try of a later period nothing is smaller than the best.
                let end = match (self.open, self.best) {
                    (Some((_, end)), _) => end,
                    (None, Some(_)) => self.tried,
                    (None, None) => budgets.len(),
                };
                self.open = Some((self.tried + 1, end));
            }
            // Nothing was shown: it is as if there were no such budget, and one beside it is tried.
            Class::NotJudged => {
                budgets.remove(self.tried);
                self.open = self.open.map(|(from, end)| (from, end.saturating_sub(1)));
            }
        }
    }

    /// The reservation that [`Search::next_step`] asked for was refused because of its size: no share that large is asked for again.
    pub fn refuse(&mut self) {
        if let Some((period_ns, budgets)) = self.rows.get(self.row) {
            self.refused = Some(Reservation { budget_ns: budgets[self.tried], period_ns: *period_ns });
        }
    }

    /// The smallest share found sufficient so far.
    pub fn best(&self) -> Option<Reservation> {
        self.best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Job, by_supply};

    proptest::proptest! {
        #[test]
        fn the_answer_is_the_smallest_in_a_third_of_the_trials(
            period in 50u64..400, percent in 2u64..60, lateness in 0u64..20,
        ) {
            let job = Job { period_ns: period, work_ns: (period * percent / 100).max(1), deadline_ns: period };
            let rows: Vec<_> = (1..=10).map(|k| {
                let own = 20 * ((k * 7) % 11);
                (own, (1..=20).map(|step| own * step / 20).collect::<Vec<_>>())
            }).collect();
            let smallest = rows.iter().flat_map(|(period_ns, budgets)| {
                budgets.iter().map(|&budget_ns| Reservation { budget_ns, period_ns: *period_ns })
            }).filter(|&tried| by_supply(job, lateness, tried)).reduce(|a, b| if b.is_smaller_than(a) { b } else { a });
            let (mut search, mut trials) = (Search::new(rows), 0);
            let found = loop {
                match search.next_step() {
                    Step::Answer(found) => break found,
                    Step::Try(tried) => {
                        trials += 1;
                        search.tell(if by_supply(job, lateness, tried) { Class::Sufficient } else { Class::Insufficient });
                    }
                }
            };
            proptest::prop_assert!(trials * 3 <= 200, "{trials} trials");
            proptest::prop_assert_eq!(found.is_some(), smallest.is_some());
            if let (Some(found), Some(smallest)) = (found, smallest) {
                proptest::prop_assert!(by_supply(job, lateness, found));
                proptest::prop_assert!(!smallest.is_smaller_than(found));
            }
        }
    }

    #[test]
    fn what_is_refused_for_its_size_is_not_asked_for_again() {
        let rows: Vec<_> = [10, 20].map(|period_ns| (period_ns, (1..=period_ns).collect())).into();
        let (mut search, mut trials) = (Search::new(rows), 0);
        let found = loop {
            match search.next_step() {
                Step::Answer(found) => break found,
                Step::Try(tried) => {
                    trials += 1;
                    assert!(trials < 20);
                    match tried.share_thousandths() {
                        351.. => search.refuse(),
                        300.. => search.tell(Class::Sufficient),
                        _ => search.tell(Class::Insufficient),
                    }
                }
            }
        };
        assert_eq!(found.map(Reservation::share_thousandths), Some(300));
        let mut nothing = Search::new(vec![(10, vec![5, 6])]);
        while let Step::Try(_) = nothing.next_step() {
            nothing.refuse();
        }
        assert_eq!(nothing.next_step(), Step::Answer(None));
    }

    #[test]
    fn what_is_not_judged_is_neither_sufficient_nor_insufficient() {
        let rows: Vec<_> = [10, 20].map(|period_ns| (period_ns, (1..=period_ns).collect())).into();
        let mut search = Search::new(rows);
        let found = loop {
            match search.next_step() {
                Step::Answer(found) => break found,
                // Every second budget cannot be judged; of the others a third of a CPU is enough.
                Step::Try(tried) if tried.budget_ns % 2 == 0 => search.tell(Class::NotJudged),
                Step::Try(tried) if tried.share_thousandths() < 333 => search.tell(Class::Insufficient),
                Step::Try(_) => search.tell(Class::Sufficient),
            }
        };
        assert_eq!(found, Some(Reservation { budget_ns: 7, period_ns: 20 }));
        assert_eq!(search.best(), found);
        let (mut nothing, mut trials) = (Search::new(vec![(10, vec![5, 6, 7])]), 0);
        while let Step::Try(_) = nothing.next_step() {
            nothing.tell(Class::NotJudged);
            trials += 1;
        }
        assert_eq!((trials, nothing.next_step()), (3, Step::Answer(None)));
    }

    #[test]
    fn some_failures_are_marginal() {
        assert_eq!([0, 2, 10].map(|n| Class::of(n, 10)), [Class::Insufficient, Class::Marginal, Class::Sufficient]);
        assert_eq!(Class::of(0, 0), Class::NotJudged);
    }
}
