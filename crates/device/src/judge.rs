//! Whether a device was served in time: what it did, block by block, turned into underruns and figures.

use punctual_recording::{ActivationRow, DeviceSummary};

/// A buffer that was not served in time. Times are ns of one clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Underrun {
    /// The block's number.
    pub block: u64,
    /// When the block was complete.
    pub arrival_ns: u64,
    /// When its output was needed: (n-1)·t later.
    pub deadline_ns: u64,
    /// When it was there; for a block that was never processed, when the next one was.
    pub end_ns: u64,
    /// How long the device itself worked between arrival and end, as far as that is known.
    pub executed_ns: u64,
    /// From this time on, being kept from the CPU may explain it: when it arrived or, for one of several blocks that
    /// were lost at once, when the first of them did.
    pub from_ns: u64,
    /// Being kept from the CPU for this long, whatever the device does, is enough to explain it. Nothing explains a block that
    /// was given up before its deadline: that was whoever set the limit.
    pub needs_ns: u64,
}

/// This many underruns are kept; further ones are only counted.
const KEPT: usize = 100_000;

/// Takes a device's activations in order and says what became of its buffers.
///
/// The device consumes a buffer every period *t* and has *n* of them: the output of a block is needed (n-1)·t after the
/// block was complete (Cota-Robles and Held, OSDI 1999, sections 1 and 5). If it is not there, a dummy goes out.
#[derive(Debug, Clone)]
pub struct Judge {
    period_ns: u64,
    tolerance_ns: u64,
    /// Blocks that arrive from this time on have this period; and the number of buffers.
    next_period: Option<(u64, u64, u32)>,
    next_block: u64,
    last_interrupt_ns: Option<u64>,
    last_executed_ns: u64,
    /// When the last underrun was over.
    last_miss_ns: Option<u64>,
    start_ns: u64,
    underruns: Vec<Underrun>,
}

impl Judge {
    /// For a device with this period and number of buffers, whose line began at `start_ns`.
    pub fn new(period_ns: u64, buffers: u32, start_ns: u64) -> Judge {
        let tolerance_ns = u64::from(buffers.saturating_sub(1)).saturating_mul(period_ns);
        Judge {
            period_ns,
            tolerance_ns,
            next_period: None,
            next_block: 0,
            last_interrupt_ns: None,
            last_executed_ns: 0,
            last_miss_ns: None,
            start_ns,
            underruns: Vec::new(),
        }
    }

    /// From this time on blocks come at another rate.
    pub fn set_period(&mut self, from_ns: u64, period_ns: u64, buffers: u32) {
        self.next_period = Some((from_ns, period_ns, buffers));
    }

    /// Whether the block was given up while its output was not needed yet. Where only the end of a run gives blocks up, nothing more
    /// is known of it.
    pub fn is_open(&self, row: &ActivationRow) -> bool {
        row.cut && row.end_ns <= row.arrival_ns.saturating_add(self.tolerance_ns)
    }

    /// Takes the next activation and adds it to the summary.
    pub fn take(&mut self, row: &ActivationRow, summary: &mut DeviceSummary) {
        if let Some((from_ns, period_ns, buffers)) = self.next_period
            && row.arrival_ns >= from_ns
        {
            self.next_period = None;
            self.period_ns = period_ns;
            self.tolerance_ns = u64::from(buffers.saturating_sub(1)).saturating_mul(period_ns);
        }
        // Numbers that are missing were given up before this one. What waited only because no program was called for
        // its interrupt, or because we rested, is held against nobody.
        let given_up = row.block.saturating_sub(self.next_block);
        let is_excused = row.unobserved || row.rested;
        let missing = if is_excused { 0 } else { given_up };
        for back in (1..=missing).rev().take(KEPT) {
            self.miss(self.lost(row, missing, back), summary);
        }
        self.next_block = row.block + 1;
        let deadline_ns = row.arrival_ns + self.tolerance_ns;
        let is_late = row.end_ns > deadline_ns;
        if row.rested {
            summary.rested += given_up + u64::from(is_late && !row.cut);
        }
        if row.cut || (is_late && !is_excused) {
            summary.late += 1;
            self.miss(
                Underrun {
                    block: row.block,
                    arrival_ns: row.arrival_ns,
                    deadline_ns,
                    end_ns: row.end_ns,
                    executed_ns: row.executed_ns,
                    from_ns: row.arrival_ns,
                    needs_ns: if is_late { row.end_ns - deadline_ns } else { u64::MAX },
                },
                summary,
            );
        }
        self.last_executed_ns = row.executed_ns;
        let elapsed = row.end_ns.saturating_sub(row.start_ns);
        summary.processed += 1;
        summary.elapsed.record(elapsed);
        summary.executed.record(row.executed_ns);
        summary.response.record(row.end_ns.saturating_sub(row.arrival_ns));
        summary.pending.record(row.pending.into());
        summary.pending_max = summary.pending_max.max(row.pending.into());
        let second = (row.start_ns.saturating_sub(self.start_ns) / 1_000_000_000) as usize;
        if second < 1 << 20 {
            if summary.executed_by_second.len() <= second {
                summary.executed_by_second.resize(second + 1, 0);
            }
            summary.executed_by_second[second] += row.executed_ns;
        }
        let interrupt = row.interrupt_ns.unwrap_or(row.arrival_ns);
        if let Some(last) = self.last_interrupt_ns
            && interrupt > last
        {
            summary.intervals.record(interrupt - last);
        }
        self.last_interrupt_ns = Some(interrupt);
    }

    /// One of the `missing` blocks before this row, this many blocks back.
    ///
    /// They were given up together, at the latest when the row began and at the earliest when the last of them had
    /// come: what kept the CPU until then kept it long enough for all of them, if it was also enough to fill the
    /// buffers while the device asked for no more than it had worked for the block before.
    fn lost(&self, row: &ActivationRow, missing: u64, back: u64) -> Underrun {
        let arrived = |back: u64| row.arrival_ns.saturating_sub(back * self.period_ns);
        let first_deadline_ns = arrived(missing) + self.tolerance_ns;
        let filled_ns = self.tolerance_ns.saturating_sub(self.last_executed_ns);
        Underrun {
            block: row.block - back,
            arrival_ns: arrived(back),
            deadline_ns: arrived(back) + self.tolerance_ns,
            end_ns: row.start_ns,
            executed_ns: self.last_executed_ns,
            from_ns: arrived(missing),
            needs_ns: arrived(1).saturating_sub(first_deadline_ns).max(filled_ns).max(1),
        }
    }

    fn miss(&mut self, underrun: Underrun, summary: &mut DeviceSummary) {
        summary.underruns += 1;
        // Blocks that arrived while another was held up share its wait: as forecasts count underruns. A storm of waits
        // is as many as it has.
        summary.stalls += u64::from(self.last_miss_ns.is_none_or(|last| underrun.arrival_ns > last));
        self.last_miss_ns = Some(underrun.end_ns.max(self.last_miss_ns.unwrap_or(0)));
        if self.underruns.len() < KEPT {
            self.underruns.push(underrun);
        }
    }

    /// The underruns, in order; at most the first hundred thousand.
    pub fn underruns(&self) -> &[Underrun] {
        &self.underruns
    }
}

impl Underrun {
    /// Whether being kept from the CPU for this long, whatever the device does, is enough to explain it.
    pub fn is_explained_by(&self, kept_ns: u64) -> bool {
        kept_ns >= self.needs_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(block: u64, late_ns: u64, executed_ns: u64) -> ActivationRow {
        let arrival_ns = 1_000_000 + block * 1_000;
        let start_ns = arrival_ns + late_ns;
        let end_ns = start_ns + executed_ns;
        ActivationRow { block, arrival_ns, start_ns, end_ns, executed_ns, ..ActivationRow::default() }
    }

    #[test]
    fn late_blocks_and_missing_ones_are_underruns() {
        let mut judge = Judge::new(1_000, 3, 0);
        let mut summary = DeviceSummary::default();
        judge.take(&row(0, 0, 500), &mut summary);
        // Done exactly when its output is needed.
        judge.take(&row(1, 1_500, 500), &mut summary);
        judge.take(&row(2, 1_600, 500), &mut summary);
        judge.take(&row(5, 0, 500), &mut summary);
        judge.take(&ActivationRow { unobserved: true, ..row(6, 1_600, 500) }, &mut summary);
        assert_eq!(judge.underruns().iter().map(|underrun| underrun.block).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!((summary.underruns, summary.stalls, summary.processed), (3, 1, 5));
        let late = judge.underruns()[0];
        assert!(late.is_explained_by(100) && !late.is_explained_by(99));
        let mut rested = judge.clone();
        rested.take(&ActivationRow { rested: true, ..row(10, 1_600, 500) }, &mut summary);
        assert_eq!((rested.underruns().len(), summary.underruns, summary.rested), (3, 3, 4), "three lost and one late");
        // Blocks 3 and 4 were lost at once: being kept for the buffers' length, less the work, explains both.
        for lost in &judge.underruns()[1..] {
            assert_eq!(lost.from_ns, 1_003_000);
            assert!(lost.is_explained_by(1_500) && !lost.is_explained_by(1_499));
        }
    }

    #[test]
    fn a_block_that_is_given_up_before_its_deadline_is_open() {
        let judge = Judge::new(1_000, 2, 0);
        let given_up = |late_ns| ActivationRow { cut: true, ..row(3, late_ns, 600) };
        assert_eq!([0, 400, 401].map(|late_ns| judge.is_open(&given_up(late_ns))), [true, true, false]);
        assert!(!judge.is_open(&row(3, 0, 600)));
    }

    #[test]
    fn what_is_given_up_before_its_deadline_is_nothing_that_kept_it_from_the_cpu() {
        let mut judge = Judge::new(1_000, 3, 0);
        let mut summary = DeviceSummary::default();
        for (block, late_ns) in [(0, 0), (1, 1_500)] {
            judge.take(&ActivationRow { cut: true, ..row(block, late_ns, 600) }, &mut summary);
        }
        assert_eq!(summary.underruns, 2);
        let explained = |kept_ns: u64| -> Vec<bool> {
            judge.underruns().iter().map(|underrun| underrun.is_explained_by(kept_ns)).collect()
        };
        assert_eq!([99, 100, 1_000_000_000].map(explained), [vec![false, false], vec![false, true], vec![false, true]]);
    }

    #[test]
    fn blocks_that_one_wait_lost_are_explained_by_it() {
        // The interrupt of block 1 came nine periods late; what waited was lost, and block 10 was served in time.
        let mut judge = Judge::new(1_000, 2, 0);
        let mut summary = DeviceSummary::default();
        judge.take(&row(0, 0, 100), &mut summary);
        judge.take(&row(10, 0, 100), &mut summary);
        assert_eq!(summary.underruns, 9);
        assert!(judge.underruns().iter().all(|lost| lost.is_explained_by(7_000) && !lost.is_explained_by(6_999)));
    }

    #[test]
    fn a_storm_of_waits_is_no_one_stall() {
        // Every third block late by itself, 10 us apart: as many stalls as there are late blocks.
        let mut judge = Judge::new(1_000, 2, 0);
        let mut summary = DeviceSummary::default();
        for block in 0..900 {
            judge.take(&row(block, if block % 3 == 0 { 1_100 } else { 0 }, 100), &mut summary);
        }
        assert_eq!((summary.underruns, summary.stalls), (300, 300));
    }

    #[test]
    fn another_rate_holds_for_blocks_that_arrive_from_then_on() {
        let mut judge = Judge::new(1_000, 2, 0);
        let mut summary = DeviceSummary::default();
        judge.set_period(1_001_000, 5_000, 2);
        judge.take(&row(0, 1_200, 0), &mut summary);
        judge.take(&row(1, 1_200, 0), &mut summary);
        assert_eq!(summary.underruns, 1);
    }

    proptest! {
        #[test]
        fn every_block_up_to_the_last_is_processed_or_an_underrun_or_both(
            steps in prop::collection::vec((0..4u64, 0..5_000u64, 0..3_000u64, any::<bool>()), 1..200),
            buffers in 2..6u32,
        ) {
            let mut judge = Judge::new(1_000, buffers, 0);
            let mut summary = DeviceSummary::default();
            let (mut block, mut late) = (0, 0);
            for (skipped, delay, executed, cut) in steps {
                block += skipped;
                let mut activation = row(block, delay, executed);
                activation.cut = cut;
                judge.take(&activation, &mut summary);
                late += u64::from(cut || delay + executed > u64::from(buffers - 1) * 1_000);
                block += 1;
            }
            prop_assert_eq!(summary.processed + summary.underruns - late, block);
            prop_assert_eq!(summary.late, late);
            prop_assert_eq!(summary.underruns as usize, judge.underruns().len());
            prop_assert_eq!(summary.elapsed.count(), summary.processed);
            let executed: u64 = summary.executed_by_second.iter().sum();
            prop_assert!(summary.processed == 0 || executed / summary.processed <= 3_000);
        }
    }
}
