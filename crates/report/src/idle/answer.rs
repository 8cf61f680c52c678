//! The answer of `punctual idle`.

use super::text::{histogram, is_steady};
use super::{IdleReport, validation};
use crate::answer::{Answer, Named};
use crate::forecast::InterarrivalEntry;
use crate::forecast::interarrival::InterarrivalRow;
use crate::verdict::idle::keystrokes_verdict;
use crate::{NextStep, after_idle};
use punctual_recording::{CalibratedCount, CpuGaps, Ended, Gap, Provenance, SeenKeystroke, ValidationDocument};
use serde::Serialize;
use std::path::Path;

/// What took the CPU away from loops that wanted it all.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct IdleAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    /// What to run next, at most two commands.
    next: Vec<NextStep>,
    recording: &'a Path,
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    provenance: &'a Provenance,
    #[cfg_attr(test, schemars(with = "Option<serde_json::Map<String, serde_json::Value>>"))]
    ended: Option<&'a Ended>,
    fallbacks: &'a [String],
    blind: &'a [String],
    threshold_ns: u64,
    clock: &'a str,
    ticks_per_second: u64,
    followed: bool,
    entries_lost: u64,
    /// None are read.
    hardware_counters: (),
    runtime_ns: u64,
    noise_ns: u64,
    causes: Vec<CauseRow<'a>>,
    cpus: Vec<CpuRow<'a>>,
    profile_bin_ns: u64,
    histogram: Vec<BinRow>,
    interrupt_costs: Vec<InterruptCostRow<'a>>,
    periods: Vec<PeriodRow<'a>>,
    longest: Vec<GapRow<'a>>,
    validation: Option<ValidationRow>,
    /// How late events follow one another, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    interarrival: Option<Vec<InterarrivalEntry<'a>>>,
}

impl<'a> IdleAnswer<'a> {
    /// The answer for programs.
    pub fn new(report: &'a IdleReport<'a>, interarrival: &'a [InterarrivalRow]) -> IdleAnswer<'a> {
        let gaps = report.gaps;
        let runtime_ns = report.runtime_ns();
        let causes = gaps.causes.iter().map(|cause| CauseRow {
            kind: cause.kind.name(),
            name: report.name(cause.name),
            count: cause.count,
            total_ns: cause.total_ns,
            max_ns: cause.max_ns,
            share: (runtime_ns > 0).then(|| cause.total_ns as f64 / runtime_ns as f64),
        });
        let bins = histogram(gaps).into_iter();
        let costs = gaps.interrupt_costs.iter().map(|cost| InterruptCostRow {
            name: report.name(cost.name),
            smallest_ticks: cost.smallest_ticks,
            smallest_ns: report.ticks_ns(cost.smallest_ticks),
            count: cost.count,
        });
        let periods = gaps.periods.iter().map(|period| PeriodRow {
            cpu: period.cpu,
            kind: period.kind.name(),
            name: report.name(period.name),
            period_ns: period.period_ns,
            fitting_share: period.share_thousandths as f64 / 1_000.0,
            count: period.count,
        });
        IdleAnswer {
            schema: "punctual.idle/1",
            verdict: report.verdict(),
            exit_code: report.exit_code(),
            next: after_idle(report),
            recording: report.recording,
            provenance: &report.document.provenance,
            ended: report.document.ended.as_ref(),
            fallbacks: &report.document.provenance.fallbacks,
            blind: &report.document.provenance.blind,
            threshold_ns: gaps.threshold_ns,
            clock: &gaps.clock,
            ticks_per_second: gaps.ticks_per_second,
            followed: gaps.followed,
            entries_lost: gaps.entries_lost,
            hardware_counters: (),
            runtime_ns,
            noise_ns: report.noise_ns(),
            causes: causes.collect(),
            cpus: gaps.cpus.iter().map(|cpu| CpuRow::new(cpu, gaps.followed)).collect(),
            profile_bin_ns: gaps.bin_ns,
            histogram: bins.map(|(bound, count)| BinRow::new(bound, count)).collect(),
            interrupt_costs: costs.collect(),
            periods: periods.collect(),
            longest: gaps.longest.iter().map(|gap| GapRow::new(report, gap)).collect(),
            validation: report.validation.map(ValidationRow::new),
            interarrival: InterarrivalEntry::all(interarrival),
        }
    }
}

impl Answer for IdleAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CauseRow<'a> {
    kind: &'static str,
    name: &'a str,
    count: u64,
    total_ns: u64,
    max_ns: u64,
    share: Option<f64>,
}

/// What one CPU's loop met. What took it is known only if the kernel was followed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CpuRow<'a> {
    cpu: u32,
    runtime_ns: u64,
    noise_ns: u64,
    available_share: Option<f64>,
    gaps: u64,
    gaps_lost: u64,
    max_noise_ns: u64,
    max_single_ns: u64,
    outside: Option<u64>,
    irq: Option<u64>,
    softirq: Option<u64>,
    thread: Option<u64>,
    outside_ns: Option<u64>,
    outside_stolen_ns: Option<u64>,
    steal_ns: Option<u64>,
    iterations: u64,
    profile_ns: &'a [u64],
    calibrated: Option<CalibratedRow>,
}

impl<'a> CpuRow<'a> {
    fn new(cpu: &'a CpuGaps, followed: bool) -> CpuRow<'a> {
        let known = |count: u64| followed.then_some(count);
        CpuRow {
            cpu: cpu.cpu,
            runtime_ns: cpu.runtime_ns,
            noise_ns: cpu.noise_ns,
            available_share: (cpu.runtime_ns > 0).then(|| 1.0 - cpu.noise_ns as f64 / cpu.runtime_ns as f64),
            gaps: cpu.gaps,
            gaps_lost: cpu.gaps_lost,
            max_noise_ns: cpu.max_noise_ns,
            max_single_ns: cpu.max_single_ns,
            outside: known(cpu.outside),
            irq: known(cpu.irq),
            softirq: known(cpu.softirq),
            thread: known(cpu.thread),
            outside_ns: known(cpu.outside_ns),
            outside_stolen_ns: cpu.outside_stolen_ns,
            steal_ns: cpu.steal_ns,
            iterations: cpu.iterations,
            profile_ns: &cpu.profile,
            calibrated: cpu.calibrated.as_ref().map(CalibratedRow::new),
        }
    }
}

/// How long the count of a calibrated loop took.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CalibratedRow {
    count: u64,
    calibrated_ns: u64,
    steady: bool,
    modes: Vec<ModeRow>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ModeRow {
    duration_ns: u64,
    share: f64,
}

impl CalibratedRow {
    fn new(count: &CalibratedCount) -> CalibratedRow {
        let modes = count
            .modes
            .iter()
            .map(|mode| ModeRow { duration_ns: mode.duration_ns, share: mode.share_thousandths as f64 / 1_000.0 });
        CalibratedRow {
            count: count.count,
            calibrated_ns: count.calibrated_ns,
            steady: is_steady(count),
            modes: modes.collect(),
        }
    }
}

/// Gaps of a length; the last bin has no bound.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct BinRow {
    at_most_ns: Option<u64>,
    count: u64,
}

impl BinRow {
    fn new(bound: u64, count: u64) -> BinRow {
        BinRow { at_most_ns: (bound < u64::MAX).then_some(bound), count }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct InterruptCostRow<'a> {
    name: &'a str,
    smallest_ticks: u64,
    smallest_ns: u64,
    count: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PeriodRow<'a> {
    cpu: u32,
    kind: &'static str,
    name: &'a str,
    period_ns: u64,
    fitting_share: f64,
    count: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct GapRow<'a> {
    start_ns: u64,
    since_start_ns: u64,
    length_ns: u64,
    cpu: u32,
    kind: &'static str,
    name: &'a str,
    cause_ns: Option<u64>,
}

impl<'a> GapRow<'a> {
    fn new(report: &'a IdleReport<'a>, gap: &Gap) -> GapRow<'a> {
        GapRow {
            start_ns: gap.start_ns,
            since_start_ns: report.since_start(gap.start_ns),
            length_ns: gap.length_ns,
            cpu: gap.cpu,
            kind: gap.kind.name(),
            name: report.name(gap.name),
            cause_ns: gap.cause_ns,
        }
    }
}

/// The same keystrokes as the loop, a program and the kernel's programs saw them.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ValidationRow {
    verdict: String,
    keystrokes: u64,
    compute_ns: u64,
    cpu: u32,
    followed: bool,
    not_found: u64,
    means: Option<MeansRow>,
    seen: Vec<KeystrokeRow>,
}

/// Means of the keystrokes taken together. Parts: what the program does not see.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct MeansRow {
    keystrokes: usize,
    undisturbed: bool,
    gap_ns: u64,
    program_ns: u64,
    difference_ns: u64,
    thread_ns: Option<u64>,
    parts: Named<u64>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct KeystrokeRow {
    typed_ns: u64,
    read_ns: u64,
    echoed_ns: u64,
    seen_ns: u64,
    gap_ns: u64,
    before_ns: u64,
    program_ns: u64,
    after_ns: u64,
    difference_ns: u64,
    thread_ns: Option<u64>,
    parts: Option<Named<u64>>,
}

impl ValidationRow {
    pub(super) fn new(document: &ValidationDocument) -> ValidationRow {
        let means = validation::means(document).map(|means| MeansRow {
            keystrokes: means.count,
            undisturbed: means.undisturbed,
            gap_ns: means.gap,
            program_ns: means.program,
            difference_ns: means.gap.saturating_sub(means.program),
            thread_ns: means.thread,
            parts: means.parts.into_iter().collect(),
        });
        ValidationRow {
            verdict: keystrokes_verdict(document),
            keystrokes: document.keystrokes,
            compute_ns: document.compute_ns,
            cpu: document.cpu,
            followed: document.followed,
            not_found: document.not_found,
            means,
            seen: document.seen.iter().map(KeystrokeRow::new).collect(),
        }
    }
}

impl KeystrokeRow {
    fn new(seen: &SeenKeystroke) -> KeystrokeRow {
        KeystrokeRow {
            typed_ns: seen.keystroke.typed_ns,
            read_ns: seen.keystroke.read_ns,
            echoed_ns: seen.keystroke.echoed_ns,
            seen_ns: seen.keystroke.seen_ns,
            gap_ns: seen.gap_ns,
            before_ns: seen.before_ns,
            program_ns: seen.program_ns,
            after_ns: seen.after_ns,
            difference_ns: seen.gap_ns.saturating_sub(seen.program_ns),
            thread_ns: seen.thread_ns,
            parts: seen.parts.map(|parts| parts.named().into_iter().collect()),
        }
    }
}
