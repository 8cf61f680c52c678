//! The answer of `punctual forecast`.

use super::interarrival::InterarrivalRow;
use super::units::per_day;
use crate::NextStep;
use crate::answer::Answer;
use punctual_device::Profile;
use punctual_forecast::interarrival::Arrival;
use punctual_forecast::{
    Advice, CpuUnderruns, CurvePoint, DeviceAnswer, Estimate, Group, TimeScale, Variant, WorstCase,
};
use serde::Serialize;

/// The whole forecast. `horizons` and `devices` hold every group's, each with its `load` and `measure`; `groups` holds
/// what belongs to a group as a whole.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ForecastAnswer<'a> {
    schema: &'static str,
    verdict: &'a str,
    exit_code: u8,
    /// What to run next, at most two commands.
    next: &'a [NextStep],
    cautions: &'a [String],
    exposure_s: f64,
    stalls: u64,
    horizons: Vec<HorizonRow<'a>>,
    devices: Vec<DeviceForecast<'a>>,
    groups: Vec<GroupRow<'a>>,
}

impl<'a> ForecastAnswer<'a> {
    /// The answer for programs, and what to run next.
    pub fn new(answer: &'a punctual_forecast::Answer, next: &'a [NextStep]) -> ForecastAnswer<'a> {
        let groups = || answer.groups.iter();
        let devices = |group: &'a Group| {
            group.devices.iter().map(|device| DeviceForecast::new(&group.load, &group.measure, device))
        };
        ForecastAnswer {
            schema: "punctual.forecast/1",
            verdict: &answer.verdict,
            exit_code: 0,
            next,
            cautions: &answer.cautions,
            exposure_s: answer.exposure_s,
            stalls: answer.stalls,
            horizons: groups()
                .flat_map(|group| group.worst.iter().map(|worst| HorizonRow::new(group, worst)))
                .collect(),
            devices: groups().flat_map(devices).collect(),
            groups: groups().map(GroupRow::new).collect(),
        }
    }
}

impl Answer for ForecastAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// A figure with its interval of 95 %. Each end that is open is `null`.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Interval {
    low: Option<f64>,
    estimate: Option<f64>,
    high: Option<f64>,
}

impl From<&Estimate> for Interval {
    fn from(found: &Estimate) -> Interval {
        Interval { low: found.low, estimate: found.value, high: found.high }
    }
}

/// The worst case of one stage and load within a horizon.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct HorizonRow<'a> {
    horizon: String,
    horizon_s: f64,
    stage: &'static str,
    load: &'a str,
    measure: &'a str,
    low_ns: Option<u64>,
    estimate_ns: Option<u64>,
    high_ns: Option<u64>,
    method: &'static str,
    veto: Option<&'a str>,
    /// What the next horizon does not exceed with a probability of 95 %.
    next_at_most_ns: Option<u64>,
    /// Why that cannot be said.
    next_veto: Option<&'a str>,
    longest_seen_ns: Option<u64>,
    longer_probability: f64,
    longer_per_hour_at_most: f64,
    measure_further_s: Option<f64>,
}

impl<'a> HorizonRow<'a> {
    fn new(group: &'a Group, worst: &'a WorstCase) -> HorizonRow<'a> {
        let found = &worst.level;
        let down = |value: Option<f64>| value.map(|value| value.max(0.0).floor() as u64);
        let up = |value: Option<f64>| value.map(|value| value.max(0.0).ceil() as u64);
        HorizonRow {
            horizon: worst.horizon.to_string(),
            horizon_s: worst.horizon_s,
            stage: worst.stage.name(),
            load: &group.load,
            measure: &group.measure,
            low_ns: down(found.level.low),
            estimate_ns: down(found.level.value),
            high_ns: up(found.level.high),
            method: found.method.name(),
            veto: found.veto.as_deref(),
            next_at_most_ns: worst.next.as_ref().ok().copied(),
            next_veto: worst.next.as_ref().err().map(String::as_str),
            longest_seen_ns: worst.longest_ns,
            longer_probability: worst.longer_probability,
            longer_per_hour_at_most: worst.longer_per_hour,
            measure_further_s: worst.measure_further_s,
        }
    }
}

/// One device of a forecast or of a report.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DeviceForecast<'a> {
    device: &'a str,
    name: &'a str,
    /// `named` by the user, a device of `today` or of the `papers`.
    origin: &'static str,
    load: &'a str,
    measure: &'a str,
    stage: &'static str,
    period_ns: u64,
    buffers: u32,
    compute_ns: u64,
    tolerance_ns: u64,
    tolerance_range_ns: Option<[u64; 2]>,
    slack_ns: i64,
    on_miss: &'static str,
    /// The same in what its users count in; `null` if that is time.
    in_units: Option<InUnits>,
    sources: SourcesRow,
    /// Stalls beyond the slack, on the worst CPU.
    over: u64,
    over_is_upper_count: bool,
    /// How many times the device itself would have run dry there: a wait between two of the device's activations counts
    /// by its chance to hold one up.
    misses: f64,
    /// The same as a whole number, as the text and the page say it.
    ran_dry: u64,
    /// The worst CPU.
    cpu: Option<u32>,
    /// Whether no test distinguishes the CPUs: then the interval is that of an average CPU.
    cpus_alike: Option<bool>,
    /// Every CPU, worst first.
    cpus: Vec<CpuRow>,
    /// How many independent pieces the exposure is worth, if anything shows that parts of it depend on each other.
    pieces: Option<f64>,
    /// How many times as frequent late wakeups are at the end as at the beginning, if that is no accident.
    drift: Option<f64>,
    probability: Option<f64>,
    extremal_index: Option<f64>,
    dispersion: f64,
    stalls_per_hour: Interval,
    /// `holds`, `holds-as-recorded`, `fails` or `unknown`.
    verdict: &'static str,
    /// What keeps `holds` from being unconditional: `short`, `memory`, `clusters`, `drift`.
    conditions: Vec<&'static str>,
    want_s: u64,
    mttf_s: Interval,
    /// How often in 24 hours of use.
    per_day: Interval,
    /// The lower limit of 99.5 %, one-sided, on the worst CPU, which decides `holds`.
    holds_low_s: f64,
    mttf_per_stall_s: Option<f64>,
    mttf_per_buffer_s: Option<f64>,
    measure_further_s: Option<f64>,
    /// Whether that is the least that it takes.
    further_is_least: bool,
    advice: Option<AdviceRow>,
}

/// A number without the digits that come from periods in whole ns: 64 frames of 48 kHz are no whole number of those.
fn thousandths(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}

/// A device's period and slack in what its users count in.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct InUnits {
    /// `frame`, `sample`, `slot` or `cycle`.
    unit: &'static str,
    /// How many pass in a second.
    per_second: f64,
    per_period: f64,
    slack: f64,
}

impl InUnits {
    fn of(device: &Profile) -> Option<InUnits> {
        let of = |nanoseconds: u64| device.in_units(nanoseconds).map(thousandths);
        Some(InUnits {
            unit: device.unit?.name(),
            per_second: of(1_000_000_000)?,
            per_period: of(device.period_ns)?,
            slack: of(device.usable_slack_ns().ok()?)?,
        })
    }
}

/// How often a device would run dry on one CPU.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CpuRow {
    cpu: Option<u32>,
    over: u64,
    misses: f64,
    mttf_s: Interval,
}

impl CpuRow {
    fn new(found: &CpuUnderruns) -> CpuRow {
        CpuRow { cpu: found.cpu, over: found.over, misses: thousandths(found.misses), mttf_s: (&found.mttf_s).into() }
    }
}

/// Where a device's figures come from.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SourcesRow {
    period: String,
    buffers: String,
    compute: String,
    want: String,
}

impl SourcesRow {
    pub(crate) fn new(profile: &Profile) -> SourcesRow {
        let sources = &profile.sources;
        SourcesRow {
            period: sources.period.to_string(),
            buffers: sources.buffers.to_string(),
            compute: sources.compute.to_string(),
            want: sources.want.to_string(),
        }
    }
}

impl<'a> DeviceForecast<'a> {
    pub(crate) fn new(load: &'a str, measure: &'a str, answer: &'a DeviceAnswer) -> DeviceForecast<'a> {
        let (device, found) = (&answer.device, &answer.underruns);
        DeviceForecast {
            device: &device.id,
            name: &device.name,
            origin: device.origin.name(),
            load,
            measure,
            stage: answer.stage.name(),
            period_ns: device.period_ns,
            buffers: device.buffers,
            compute_ns: device.compute_ns,
            tolerance_ns: device.tolerance_ns(),
            tolerance_range_ns: device.printed.as_ref().map(|printed| printed.tolerance_ns.into()),
            slack_ns: device.slack_ns(),
            on_miss: device.on_miss.name(),
            in_units: InUnits::of(device),
            sources: SourcesRow::new(device),
            over: found.over,
            over_is_upper_count: found.is_upper_count,
            misses: thousandths(found.misses),
            ran_dry: found.ran_dry(),
            cpu: found.cpu,
            cpus_alike: found.alike,
            cpus: found.cpus.iter().map(CpuRow::new).collect(),
            pieces: found.pieces,
            drift: found.drift,
            probability: found.probability,
            extremal_index: found.extremal_index,
            dispersion: found.dispersion,
            stalls_per_hour: (&found.per_hour).into(),
            verdict: found.outcome.name(),
            conditions: found.conditions.iter().map(|condition| condition.name()).collect(),
            want_s: device.want_s,
            mttf_s: (&found.mttf_s).into(),
            per_day: (&per_day(answer)).into(),
            holds_low_s: found.holds_low_s,
            mttf_per_stall_s: found.mttf_per_stall_s,
            mttf_per_buffer_s: found.mttf_per_buffer_s,
            measure_further_s: found.measure_further_s,
            further_is_least: found.further_is_least,
            advice: answer.advice.as_ref().map(AdviceRow::new),
        }
    }
}

/// Buffering that would be enough for a device.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct AdviceRow {
    buffers: Option<VariantRow>,
    period: Option<VariantRow>,
    never_exceeded: Option<VariantRow>,
    /// The shortest longer period, by doubling, that nothing exceeded.
    longer_never_exceeded: Option<VariantRow>,
    measure_further_s: Option<f64>,
}

/// A device with other buffering.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct VariantRow {
    period_ns: u64,
    buffers: u32,
    tolerance_ns: u64,
    mttf_s: Interval,
}

impl AdviceRow {
    fn new(advice: &Advice) -> AdviceRow {
        let variant = |variant: &Option<Variant>| {
            variant.as_ref().map(|variant| VariantRow {
                period_ns: variant.device.period_ns,
                buffers: variant.device.buffers,
                tolerance_ns: variant.device.tolerance_ns(),
                mttf_s: (&variant.underruns.mttf_s).into(),
            })
        };
        AdviceRow {
            buffers: variant(&advice.buffers),
            period: variant(&advice.period),
            never_exceeded: variant(&advice.never_exceeded),
            longer_never_exceeded: variant(&advice.longer_never_exceeded),
            measure_further_s: advice.measure_further_s,
        }
    }
}

/// What belongs to a group as a whole: recordings of one configuration and load, one after another.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct GroupRow<'a> {
    measure: &'a str,
    load: &'a str,
    exposure_s: f64,
    use_s: f64,
    compression: Option<f64>,
    day_s: f64,
    week_s: f64,
    stalls: u64,
    extremal_index: Option<f64>,
    /// Cycles that took too long, as the loop would count them itself; `null` for devices.
    overruns: Option<u64>,
    /// What the loop does about periods that begin during a long cycle: `catches-up`, `skips`, `makes-up-for-some` or
    /// `unknown`.
    after_overrun: Option<&'static str>,
    notes: &'a [String],
    curves: Vec<CurveRow<'a>>,
    time_scales: Vec<TimeScaleRow>,
}

/// Mean time between underruns against buffering.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CurveRow<'a> {
    stage: &'static str,
    /// Whose buffers these are; `null` for a device with two buffers as long as each amount of buffering.
    device: Option<&'a str>,
    points: Vec<PointRow>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PointRow {
    buffers: u32,
    buffering_ns: u64,
    slack_ns: u64,
    mttf_s: Interval,
    mttf_per_buffer_s: Option<f64>,
}

/// The shortest period that is met with a reliability.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TimeScaleRow {
    reliability: f64,
    period_ns: Option<u64>,
    measure_further_s: Option<f64>,
}

impl<'a> GroupRow<'a> {
    fn new(group: &'a Group) -> GroupRow<'a> {
        let point = |point: &CurvePoint| PointRow {
            buffers: point.buffers,
            buffering_ns: point.buffering_ns,
            slack_ns: point.slack_ns,
            mttf_s: (&point.mttf_s).into(),
            mttf_per_buffer_s: point.mttf_per_buffer_s,
        };
        let scale = |scale: &TimeScale| TimeScaleRow {
            reliability: scale.reliability,
            period_ns: scale.period_ns,
            measure_further_s: scale.measure_further_s,
        };
        let curves = group.curves.iter().map(|curve| CurveRow {
            stage: curve.stage.name(),
            device: curve.device.as_deref(),
            points: curve.points.iter().map(point).collect(),
        });
        GroupRow {
            measure: &group.measure,
            load: &group.load,
            exposure_s: group.exposure_s,
            use_s: group.use_s,
            compression: group.compression_is_known.then_some(group.compression),
            day_s: group.usage.day_s,
            week_s: group.usage.week_s,
            stalls: group.stalls,
            extremal_index: group.extremal_index,
            overruns: group.cycles.map(|cycles| cycles.own_overruns()),
            after_overrun: group.cycles.map(|cycles| cycles.after_overrun().name()),
            notes: &group.notes,
            curves: curves.collect(),
            time_scales: group.time_scales.iter().map(scale).collect(),
        }
    }
}

/// How events later than a threshold follow one another, in the answer of `report` and `idle`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct InterarrivalEntry<'a> {
    recording: &'a str,
    measure: &'a str,
    stage: Option<&'static str>,
    threshold_ns: u64,
    late: u64,
    events: u64,
    mean_ns: Option<u64>,
    deviation_ns: Option<u64>,
    arrival: &'static str,
    period_ns: Option<u64>,
    sharpness: Option<f64>,
    test: Option<&'static str>,
    p: Option<f64>,
}

impl<'a> InterarrivalEntry<'a> {
    /// All rows; `None` where there are none, since nobody asked.
    pub(crate) fn all(rows: &'a [InterarrivalRow]) -> Option<Vec<InterarrivalEntry<'a>>> {
        (!rows.is_empty()).then(|| rows.iter().map(InterarrivalEntry::new).collect())
    }

    fn new(row: &'a InterarrivalRow) -> InterarrivalEntry<'a> {
        let events = &row.events;
        let (period_ns, sharpness) = match events.arrival {
            Arrival::Periodic { period_ns, sharpness } => (Some(period_ns.round() as u64), Some(sharpness)),
            _ => (None, None),
        };
        InterarrivalEntry {
            recording: &row.recording,
            measure: &row.whose,
            stage: row.stage.map(|stage| stage.name()),
            threshold_ns: events.threshold_ns,
            late: row.late,
            events: events.events,
            mean_ns: events.mean_ns.map(|mean| mean.round() as u64),
            deviation_ns: events.deviation_ns.map(|deviation| deviation.round() as u64),
            arrival: events.arrival.name(),
            period_ns,
            sharpness,
            test: events.p.map(|_| events.test),
            p: events.p,
        }
    }
}
