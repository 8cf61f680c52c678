//! Whether the stages of wakeups add up to their totals, one wakeup after another or column by column.

use crate::format::table::{Schema, TakeNumbers, optional, required};
use crate::wakeups::wakeup::Wakeup;

/// The columns of a table of wakeups that say whether stages add up: the total, then its parts.
pub(crate) static SUMMED: Schema<'static> = Schema {
    name: "wakeups",
    columns: &[
        required("total_ns"),
        optional("irq_ns"),
        optional("softirq_ns"),
        optional("wake_ns"),
        optional(THREAD),
        optional(USER),
    ],
};

/// The stages of which a wakeup that was observed has at least one.
const THREAD: &str = "thread_ns";
const USER: &str = "user_ns";

/// What the tables of wakeups hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WakeupRows {
    /// Wakeups that were read.
    pub read: u64,
    /// Those whose stages do not add up to the total.
    pub not_adding_up: u64,
}

impl WakeupRows {
    /// Takes the next wakeup.
    #[inline]
    pub fn take(&mut self, wakeup: &Wakeup) {
        self.read += 1;
        self.not_adding_up += u64::from(!wakeup.adds_up());
    }

    /// Adds what another part of the tables holds.
    pub(crate) fn add(&mut self, other: WakeupRows) {
        self.read += other.read;
        self.not_adding_up += other.not_adding_up;
    }
}

/// Counts the wakeups of [`SUMMED`] columns, as [`WakeupRows::take`] counts whole ones.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    pub(crate) rows: WakeupRows,
    /// What each row's total is longer than the stages that came so far, ns.
    missing: Vec<i64>,
    is_observed: Vec<bool>,
}

impl TakeNumbers for Sums {
    fn begin(&mut self, rows: usize) {
        self.missing.clear();
        self.missing.resize(rows, 0);
        self.is_observed.clear();
        self.is_observed.resize(rows, false);
    }

    fn take(&mut self, column: usize, first: usize, values: &[i64], levels: Option<&[i16]>) {
        let rows = first..first + levels.map_or(values.len(), <[i16]>::len);
        let (missing, is_observed) = (&mut self.missing[rows.clone()], &mut self.is_observed[rows]);
        let (is_total, name) = (column == 0, SUMMED.columns[column].name);
        let observes = name == THREAD || name == USER;
        if let Some(levels) = levels.filter(|levels| levels.len() != values.len()) {
            let present = levels.iter().enumerate().filter(|(_, level)| **level > 0);
            for ((row, _), value) in present.zip(values) {
                missing[row] += if is_total { *value } else { -value };
                is_observed[row] |= observes;
            }
            return;
        }
        match is_total {
            true => missing.iter_mut().zip(values).for_each(|(missing, value)| *missing += value),
            false => missing.iter_mut().zip(values).for_each(|(missing, value)| *missing -= value),
        }
        if observes {
            is_observed.fill(true);
        }
    }

    fn end(&mut self) {
        let rows = self.missing.iter().zip(&self.is_observed);
        self.rows.read += self.missing.len() as u64;
        self.rows.not_adding_up +=
            rows.map(|(missing, is_observed)| u64::from(*is_observed && *missing != 0)).sum::<u64>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stage;
    use proptest::prelude::*;

    /// A column as a table passes it on: its values, and a level for each row.
    fn column(rows: &[Wakeup], value: impl Fn(&Wakeup) -> Option<u64>) -> (Vec<i64>, Vec<i16>) {
        let cells: Vec<Option<i64>> = rows.iter().map(|row| value(row).map(u64::cast_signed)).collect();
        (cells.iter().flatten().copied().collect(), cells.iter().map(|cell| i16::from(cell.is_some())).collect())
    }

    proptest! {
        #[test]
        fn columns_are_counted_as_wakeups_are(
            rows in prop::collection::vec((prop::array::uniform5(prop::option::of(0..3u64)), 0..9u64), 0..40),
            cut in any::<prop::sample::Index>(),
        ) {
            let wakeup = |(parts, total_ns): ([Option<u64>; 5], u64)| {
                let [irq_ns, softirq_ns, wake_ns, thread_ns, user_ns] = parts;
                Wakeup { irq_ns, softirq_ns, wake_ns, thread_ns, user_ns, total_ns, ..Wakeup::default() }
            };
            let wakeups: Vec<Wakeup> = rows.into_iter().map(wakeup).collect();
            let mut expected = WakeupRows::default();
            wakeups.iter().for_each(|wakeup| expected.take(wakeup));
            let mut sums = Sums::default();
            sums.begin(wakeups.len());
            let cut = cut.index(wakeups.len() + 1);
            // A column may come in two pieces.
            for (first, piece) in [(0, &wakeups[..cut]), (cut, &wakeups[cut..])] {
                let (totals, _) = column(piece, |row| Some(row.total_ns));
                sums.take(0, first, &totals, None);
                let parts = [Stage::Irq, Stage::Softirq, Stage::Wake, Stage::Thread, Stage::User];
                for (number, part) in parts.into_iter().enumerate() {
                    let (values, levels) = column(piece, |row| row.stage(part));
                    sums.take(number + 1, first, &values, Some(&levels));
                }
            }
            sums.end();
            prop_assert_eq!(sums.rows, expected);
        }
    }
}
