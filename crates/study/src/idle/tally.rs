//! Adds up gaps and their causes as they come, in bounded memory.

use super::causes::Causes;
use super::modes::modes;
use punctual_blame::gap::{GapPart, attribute, period, without_own};
use punctual_probe::idle::{IdleSession, LoopTotals, RawGap, Taken, Ticker};
use punctual_recording::{
    CalibratedCount, CauseKind, CpuGaps, Distribution, GAPS_SCHEMA, Gap, GapDocument, InterruptCost, Periodicity, Ran,
    TraceEntry,
};
use std::collections::{BTreeMap, VecDeque};

/// Times of each cause and CPU that are kept to look for a period.
const MAX_TIMES: usize = 4096;
/// How many of the longest gaps the summary lists; the table has them all.
const MAX_LONGEST: usize = 20;
/// Profiles begin with bins this wide, ns.
const BIN_NS: u64 = 100_000_000;
/// When a run has more bins than this, they are joined in pairs.
const MAX_BINS: usize = 1200;
/// Entries of one CPU that wait for their gap.
const MAX_PENDING: usize = 1 << 20;
const SECOND_NS: u64 = 1_000_000_000;

/// One CPU's sums.
struct Cpu {
    sums: CpuGaps,
    pending: VecDeque<TraceEntry>,
    /// The host's steal counter after the last entry, ns.
    steal: Option<u64>,
    /// Time outside that the steal counter has not accounted for, ns.
    outside_unconfirmed: u64,
    /// The current second and the sum of the gaps that began in it, ns.
    second: (u64, u64),
    times: BTreeMap<(CauseKind, u32), Vec<u64>>,
    /// How much of the time from one reading of the loop to the next is its own, ns.
    own_ns: u64,
    /// Entries that ended before this time may be lost, ns of `CLOCK_MONOTONIC`.
    lost_until_ns: u64,
}

pub(crate) struct Tally {
    ticker: Ticker,
    threshold_ns: u64,
    followed: bool,
    start_ns: u64,
    entries_lost: u64,
    cpus: Vec<Cpu>,
    causes: Causes,
    costs: BTreeMap<u32, InterruptCost>,
    lengths: Distribution,
    longest: Vec<Gap>,
    bin_ns: u64,
}

impl Tally {
    pub(crate) fn new(session: &IdleSession, threshold_ns: u64, start_ns: u64) -> Tally {
        let cpus = session.loops().into_iter().enumerate().map(|(index, (cpu, _))| Cpu {
            own_ns: session.calibration(index).map_or(0, |calibration| session.ticker().ns(calibration.ticks)),
            sums: CpuGaps { cpu, ..CpuGaps::default() },
            pending: VecDeque::new(),
            steal: None,
            outside_unconfirmed: 0,
            second: (0, 0),
            times: BTreeMap::new(),
            lost_until_ns: 0,
        });
        Tally {
            ticker: session.ticker(),
            threshold_ns,
            followed: session.is_followed(),
            start_ns,
            entries_lost: 0,
            cpus: cpus.collect(),
            causes: Causes::default(),
            costs: BTreeMap::new(),
            lengths: Distribution::new(),
            longest: Vec::new(),
            bin_ns: BIN_NS,
        }
    }

    pub(crate) fn gaps(&self) -> u64 {
        self.lengths.count()
    }

    pub(crate) fn longest_ns(&self) -> u64 {
        self.lengths.max().unwrap_or(0)
    }

    pub(crate) fn noise_ns(&self, index: usize) -> u64 {
        self.cpus[index].sums.noise_ns
    }

    pub(crate) fn set_totals(&mut self, index: usize, totals: &LoopTotals) {
        let sums = &mut self.cpus[index].sums;
        sums.runtime_ns = totals.measured_ns.max(sums.noise_ns);
        sums.iterations = totals.iterations;
        sums.gaps_lost = totals.lost;
        sums.steal_ns = totals.steal_ns;
    }

    /// Copies how long the count of a calibrated loop took.
    pub(crate) fn set_count(&mut self, index: usize, session: &IdleSession) {
        self.cpus[index].sums.calibrated = session.calibration(index).map(|calibration| {
            let calibrated_ns = self.ticker.ns(calibration.ticks);
            let modes = modes(&session.durations(index), calibrated_ns);
            CalibratedCount { count: calibration.count, calibrated_ns, modes }
        });
    }

    /// Takes what a CPU handed on, and hands on its gaps with their causes and what ran inside them; `None` where some
    /// of that may be lost.
    pub(crate) fn take(&mut self, index: usize, taken: Taken, mut found: impl FnMut(&Gap, Option<&[TraceEntry]>)) {
        self.entries_lost += taken.entries_lost;
        let none_lost = taken.entries_lost == 0;
        let cpu = &mut self.cpus[index];
        if !none_lost {
            // They are older than whatever could be read, and may lie in a gap that has not ended yet.
            let read_ns = taken.entries.last().map_or(taken.reached_ns, |entry| entry.end_ns);
            cpu.lost_until_ns = cpu.lost_until_ns.max(read_ns);
        }
        cpu.pending.extend(taken.entries);
        for raw in taken.gaps {
            let whole = none_lost && self.is_whole(index, raw);
            let (gap, inside) = self.gap(index, raw, whole);
            found(&gap, whole.then_some(&inside[..]));
        }
        // What ended before the loop went on and lies in no gap was shorter than the threshold.
        let cpu = &mut self.cpus[index];
        while cpu.pending.front().is_some_and(|entry| entry.end_ns <= taken.reached_ns)
            || cpu.pending.len() > MAX_PENDING
        {
            if let Some(entry) = cpu.pending.pop_front() {
                if entry.end_ns > taken.reached_ns {
                    self.entries_lost += 1;
                    cpu.lost_until_ns = cpu.lost_until_ns.max(entry.end_ns);
                }
                cpu.pass(&entry);
            }
        }
    }

    /// Takes a gap that was not over when the run ended: the thread that had the CPU then has no entry yet.
    pub(crate) fn take_open(&mut self, index: usize, raw: RawGap) -> Gap {
        let start_ns = raw.end_ns.saturating_sub(self.ticker.ns(raw.ticks));
        let whole = self.is_whole(index, raw);
        let pending = &mut self.cpus[index].pending;
        pending.push_back(TraceEntry {
            start_ns: pending.back().map_or(start_ns, |entry| entry.end_ns),
            end_ns: raw.end_ns,
            steal_ns: None,
            stolen_ns: 0,
            ran: Ran::Thread("(running at the end)".to_owned()),
        });
        self.gap(index, raw, whole).0
    }

    /// When the loop had last read its counter before this gap, ns of `CLOCK_MONOTONIC`.
    fn read_before_ns(&self, index: usize, raw: RawGap) -> u64 {
        raw.end_ns.saturating_sub(self.ticker.ns(raw.ticks)).saturating_sub(self.cpus[index].own_ns)
    }

    /// Whether all that ran in this gap can be known.
    fn is_whole(&self, index: usize, raw: RawGap) -> bool {
        self.read_before_ns(index, raw) >= self.cpus[index].lost_until_ns
    }

    fn gap(&mut self, index: usize, raw: RawGap, whole: bool) -> (Gap, Vec<TraceEntry>) {
        let length_ns = self.ticker.ns(raw.ticks);
        let start_ns = raw.end_ns.saturating_sub(length_ns);
        let read_before_ns = self.read_before_ns(index, raw);
        let inside = self.cpus[index].inside(read_before_ns, raw.end_ns);
        let parts = if !self.followed {
            vec![GapPart { kind: CauseKind::NotFollowed, name: "not followed".to_owned(), ns: length_ns }]
        } else {
            let mut parts = attribute(read_before_ns, raw.end_ns, &inside);
            // Whoever's entry is lost ran inside this kernel.
            for part in parts.iter_mut().filter(|part| !whole && part.kind == CauseKind::Outside) {
                (part.kind, part.name) = (CauseKind::Unknown, "entries lost".to_owned());
            }
            without_own(parts, raw.end_ns - read_before_ns - length_ns)
        };
        self.count_inside(index, raw, &inside);
        let outside = parts.iter().filter(|part| part.kind == CauseKind::Outside).map(|part| part.ns).sum();
        self.cpus[index].take_outside(outside, &inside);
        let cpu_number = self.cpus[index].sums.cpu;
        let mut main = Gap { start_ns, length_ns, cpu: cpu_number, kind: CauseKind::Unknown, name: 0, cause_ns: None };
        for part in &parts {
            let name = self.causes.count(part.kind, &part.name, part.ns);
            if Some(part.ns) > main.cause_ns {
                (main.kind, main.name, main.cause_ns) = (part.kind, name, Some(part.ns));
            }
            // Several names together have no period.
            if part.kind != CauseKind::Unknown && !self.causes.is_others(name) {
                let times = self.cpus[index].times.entry((part.kind, name)).or_default();
                if times.len() < MAX_TIMES {
                    times.push(start_ns);
                }
            }
        }
        self.lengths.record(length_ns);
        self.cpus[index].add(&main, self.start_ns);
        self.fill_profile(index, start_ns, raw.end_ns);
        if self.longest.len() < MAX_LONGEST || self.longest.last().is_some_and(|least| least.length_ns < length_ns) {
            let at = self.longest.partition_point(|other| other.length_ns >= length_ns);
            self.longest.insert(at, main);
            self.longest.truncate(MAX_LONGEST);
        }
        (main, inside)
    }

    fn count_inside(&mut self, index: usize, raw: RawGap, inside: &[TraceEntry]) {
        let sums = &mut self.cpus[index].sums;
        for entry in inside {
            match entry.ran {
                Ran::Interrupt(_) => sums.irq += 1,
                Ran::Softirq(_) => sums.softirq += 1,
                Ran::Thread(_) => sums.thread += 1,
            }
        }
        if let [TraceEntry { ran: Ran::Interrupt(name), .. }] = inside {
            let name = self.causes.number(name);
            let new = InterruptCost { name, smallest_ticks: u64::MAX, count: 0 };
            let cost = self.costs.entry(name).or_insert(new);
            cost.count += 1;
            cost.smallest_ticks = cost.smallest_ticks.min(raw.ticks);
        }
    }

    fn fill_profile(&mut self, index: usize, start_ns: u64, end_ns: u64) {
        let (start, end) = (start_ns.saturating_sub(self.start_ns), end_ns.saturating_sub(self.start_ns));
        while (end / self.bin_ns) as usize >= MAX_BINS {
            for cpu in &mut self.cpus {
                let joined = cpu.sums.profile.chunks(2).map(|pair| pair.iter().sum()).collect();
                cpu.sums.profile = joined;
            }
            self.bin_ns *= 2;
        }
        let profile = &mut self.cpus[index].sums.profile;
        let last = (end / self.bin_ns) as usize;
        if profile.len() <= last {
            profile.resize(last + 1, 0);
        }
        for (bin, sum) in profile.iter_mut().enumerate().skip((start / self.bin_ns) as usize) {
            let (from, to) = (bin as u64 * self.bin_ns, (bin as u64 + 1) * self.bin_ns);
            if from >= end {
                break;
            }
            *sum += end.min(to).saturating_sub(start.max(from));
        }
    }

    /// Everything so far. Looks for periods: not for every round.
    pub(crate) fn document(&self) -> GapDocument {
        let mut periods = Vec::new();
        for cpu in &self.cpus {
            for (&(kind, name), times) in &cpu.times {
                let found = period(times).filter(|(period_ns, _)| is_steady(times, *period_ns, cpu.sums.runtime_ns));
                if let Some((period_ns, share_thousandths)) = found {
                    let count = times.len() as u64 - 1;
                    periods.push(Periodicity { cpu: cpu.sums.cpu, kind, name, period_ns, share_thousandths, count });
                }
            }
        }
        let cpus = self.cpus.iter().map(|cpu| {
            let mut sums = cpu.sums.clone();
            sums.max_noise_ns = sums.max_noise_ns.max(cpu.second.1);
            sums
        });
        GapDocument {
            schema: GAPS_SCHEMA.to_owned(),
            threshold_ns: self.threshold_ns,
            clock: if self.ticker.is_tsc { "tsc" } else { "clock_gettime" }.to_owned(),
            ticks_per_second: self.ticker.per_second,
            followed: self.followed,
            entries_lost: self.entries_lost,
            names: self.causes.names().to_vec(),
            cpus: cpus.collect(),
            causes: self.causes.sums(),
            interrupt_costs: self.costs.values().cloned().collect(),
            periods,
            lengths: self.lengths.clone(),
            longest: self.longest.clone(),
            bin_ns: self.bin_ns,
        }
    }
}

/// Whether it recurs at that rate throughout: in a burst intervals are equal, too, but most of the run is no burst. One
/// interval may be four periods long; on average none is longer.
fn is_steady(times: &[u64], period_ns: u64, runtime_ns: u64) -> bool {
    let (Some(first), Some(last)) = (times.first(), times.last()) else { return false };
    let span_ns = last.saturating_sub(*first);
    // Beyond this number none is kept.
    let whole_ns = if times.len() < MAX_TIMES { span_ns.max(runtime_ns) } else { span_ns };
    whole_ns / 4 <= period_ns.saturating_mul(times.len() as u64)
}

impl Cpu {
    /// Takes the pending entries that lie in this gap, and skips those before it.
    ///
    /// The loop ran where a gap ends, so an entry lies in one gap only. That end is computed from ticks if something ran
    /// before the loop had read the clock, and may then be a little late: what ran belongs to the next gap.
    fn inside(&mut self, start_ns: u64, end_ns: u64) -> Vec<TraceEntry> {
        let is_here = |entry: &TraceEntry| {
            let within_ns = end_ns.saturating_sub(entry.start_ns.max(start_ns));
            entry.start_ns < end_ns && entry.end_ns.saturating_sub(end_ns) <= within_ns
        };
        let mut inside = Vec::new();
        while self.pending.front().is_some_and(is_here) {
            let Some(entry) = self.pending.pop_front() else { break };
            if entry.end_ns > start_ns {
                inside.push(entry);
            } else {
                self.pass(&entry);
            }
        }
        inside
    }

    /// The steal counter at the beginning of an entry tells what the host took since the previous one.
    fn pass(&mut self, entry: &TraceEntry) {
        let Some(steal) = entry.steal_ns else { return };
        if let Some(before) = self.steal {
            let stolen = steal.saturating_sub(entry.stolen_ns).saturating_sub(before).min(self.outside_unconfirmed);
            self.outside_unconfirmed -= stolen;
            *self.sums.outside_stolen_ns.get_or_insert(0) += stolen;
        }
        self.steal = Some(steal);
    }

    /// Takes how much of a gap was outside, and the entries inside it.
    fn take_outside(&mut self, outside_ns: u64, inside: &[TraceEntry]) {
        self.sums.outside += u64::from(outside_ns > 0 && inside.is_empty());
        self.sums.outside_ns += outside_ns;
        self.outside_unconfirmed += outside_ns;
        for entry in inside {
            self.pass(entry);
        }
    }

    fn add(&mut self, gap: &Gap, start_ns: u64) {
        let sums = &mut self.sums;
        sums.gaps += 1;
        sums.noise_ns += gap.length_ns;
        sums.max_single_ns = sums.max_single_ns.max(gap.length_ns);
        let second = gap.start_ns.saturating_sub(start_ns) / SECOND_NS;
        if second != self.second.0 {
            sums.max_noise_ns = sums.max_noise_ns.max(self.second.1);
            self.second = (second, 0);
        }
        self.second.1 += gap.length_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(pending: &[(u64, u64)]) -> Cpu {
        let entry = |&(start_ns, end_ns): &(u64, u64)| TraceEntry {
            start_ns,
            end_ns,
            steal_ns: None,
            stolen_ns: 0,
            ran: Ran::Thread("burst".to_owned()),
        };
        Cpu {
            sums: CpuGaps::default(),
            pending: pending.iter().map(entry).collect(),
            steal: None,
            outside_unconfirmed: 0,
            second: (0, 0),
            times: BTreeMap::new(),
            own_ns: 0,
            lost_until_ns: 0,
        }
    }

    fn tally(cpu: Cpu) -> Tally {
        Tally {
            ticker: Ticker { is_tsc: false, per_second: SECOND_NS },
            threshold_ns: 5_000,
            followed: true,
            start_ns: 0,
            entries_lost: 0,
            cpus: vec![cpu],
            causes: Causes::default(),
            costs: BTreeMap::new(),
            lengths: Distribution::new(),
            longest: Vec::new(),
            bin_ns: BIN_NS,
        }
    }

    #[test]
    fn a_gap_that_had_not_ended_when_entries_were_lost_is_not_outside_the_kernel() {
        let mut tally = tally(cpu(&[]));
        // What could be read ends at 500,000; the gap goes on until 900,000.
        let entries = cpu(&[(450_000, 500_000)]).pending.into();
        tally.take(0, Taken { reached_ns: 10_000, gaps: Vec::new(), entries, entries_lost: 7 }, |_, _| {});
        let gaps = vec![RawGap { end_ns: 900_000, ticks: 890_000 }, RawGap { end_ns: 2_000_000, ticks: 300_000 }];
        let mut found = Vec::new();
        tally.take(0, Taken { reached_ns: 2_000_000, gaps, entries: Vec::new(), entries_lost: 0 }, |gap, inside| {
            found.push((gap.kind, inside.map(times)));
        });
        assert_eq!(found, [(CauseKind::Unknown, None), (CauseKind::Outside, Some(Vec::new()))]);
        assert_eq!(tally.entries_lost, 7);
    }

    fn times(entries: &[TraceEntry]) -> Vec<(u64, u64)> {
        entries.iter().map(|entry| (entry.start_ns, entry.end_ns)).collect()
    }

    #[test]
    fn what_ran_right_behind_a_gap_is_in_the_next_one() {
        // The first gap ended at 10,000, but its end was computed 200 ns too late.
        let mut cpu = cpu(&[(2_000, 8_000), (10_100, 900_000), (910_000, 920_000)]);
        assert_eq!(times(&cpu.inside(1_000, 10_200)), [(2_000, 8_000)]);
        assert_eq!(times(&cpu.inside(10_000, 905_000)), [(10_100, 900_000)]);
        assert_eq!(cpu.pending.len(), 1);
    }

    #[test]
    fn what_ran_until_a_gap_ended_is_in_it_even_if_the_end_was_computed_too_early() {
        let mut cpu = cpu(&[(100, 900), (2_000, 8_000), (8_500, 10_200), (11_000, 12_000)]);
        assert_eq!(times(&cpu.inside(1_000, 10_000)), [(2_000, 8_000), (8_500, 10_200)]);
        assert_eq!(times(&cpu.inside(10_900, 12_500)), [(11_000, 12_000)]);
    }

    #[test]
    fn a_burst_is_no_steady_rate() {
        let every = |period: u64, count: u64| (0..count).map(|n| n * period).collect::<Vec<_>>();
        assert!(is_steady(&every(4_000_000, 1_000), 4_000_000, 4_100_000_000));
        // Some fell below the threshold.
        assert!(is_steady(&every(12_000_000, 300), 4_000_000, 4_100_000_000));
        assert!(!is_steady(&every(104_000, 1_400), 104_000, 4_600_000_000));
        assert!(is_steady(&every(104_000, MAX_TIMES as u64), 104_000, 4_600_000_000));
        let apart: Vec<u64> = every(104_000, 1_400).into_iter().chain([4_600_000_000]).collect();
        assert!(!is_steady(&apart, 104_000, 0));
    }
}
