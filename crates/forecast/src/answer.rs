//! One question to recordings, and the whole answer.

use crate::advice::{Advice, Curve, CurveQuestion, TimeScale};
use crate::input::Input;
use crate::level::{Level, Tail};
use crate::underrun::{Outcome, Underruns};
use crate::{Error, Horizon, Stage, Usage};
use punctual_device::Profile;
use punctual_recording::{CycleCount, format_ns, spoken_measure};

mod notes;
mod verdict;

use notes::{condition_notes, device_notes, exposure_notes, spread_notes};
pub(crate) use verdict::assumed_use;
pub use verdict::under_load;

/// A question to recordings.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The horizons for which worst cases are wanted.
    pub horizons: Vec<Horizon>,
    /// The stages for which worst cases are wanted; one that was not measured is left out.
    pub stages: Vec<Stage>,
    /// The devices to judge.
    pub devices: Vec<Profile>,
    /// The stage after which the devices' work begins.
    pub device_stage: Stage,
    /// A mean time between underruns that replaces every device's own, s.
    pub want_s: Option<u64>,
    /// Hours of use for an hour of load, times 1,000, that replace what the recordings say.
    pub compression_thousandths: Option<u64>,
    /// How long a day and a week of use are, in place of 24 hours and 168.
    pub usage: Option<Usage>,
    /// Whether to search for buffering that reaches each device's want.
    pub advise: bool,
    /// A curve against buffering.
    pub curve: Option<CurveQuestion>,
    /// Reliabilities for which the shortest period is wanted.
    pub reliabilities: Vec<f64>,
}

impl Default for Question {
    fn default() -> Self {
        Question {
            horizons: vec![Horizon::Hour, Horizon::Day, Horizon::Week],
            stages: vec![Stage::Total],
            devices: Vec::new(),
            device_stage: Stage::Total,
            want_s: None,
            compression_thousandths: None,
            usage: None,
            advise: false,
            curve: None,
            reliabilities: Vec::new(),
        }
    }
}

impl Question {
    /// The stages of the paper's Table 3, for which the table of worst cases is printed: its totals are composites of
    /// each wakeup, never sums of maxima.
    pub const TABLE_STAGES: [Stage; 5] =
        [Stage::Irq, Stage::Softirq, Stage::DpcInterruptLatency, Stage::ThreadLatency, Stage::Total];
}

/// The worst case of one stage and horizon.
#[derive(Debug, Clone, PartialEq)]
pub struct WorstCase {
    /// How far ahead.
    pub horizon: Horizon,
    /// The horizon, s of use.
    pub horizon_s: f64,
    /// The stage.
    pub stage: Stage,
    /// The lateness that is exceeded once in the horizon on average, ns, and how it was found.
    pub level: Level,
    /// What the next horizon does not exceed with a probability of 95 %, ns; otherwise why the forecast cannot say
    /// that.
    pub next: Result<u64, String>,
    /// The longest that was seen, ns.
    pub longest_ns: Option<u64>,
    /// The probability that the horizon brings a longer one than any seen, if nothing changes: H/(H+T).
    pub longer_probability: f64,
    /// How often longer ones than any seen come at most, per hour of use (95 %): 3/T, and more where stalls vary more
    /// than independent ones.
    pub longer_per_hour: f64,
    /// How much longer to measure until there is more than a bound, s of this load.
    pub measure_further_s: Option<f64>,
}

/// The forecast for one device.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceAnswer {
    /// The device.
    pub device: Profile,
    /// The stage after which its work begins.
    pub stage: Stage,
    /// The forecast.
    pub underruns: Underruns,
    /// How to reach the want, if that was asked for.
    pub advice: Option<Advice>,
}

/// What would have happened to a device under one load.
#[derive(Debug, Clone)]
pub struct JudgedDevice {
    /// The load under which it was judged.
    pub load: String,
    /// The wakeups by which it was judged: policy and priority.
    pub measure: String,
    /// The forecast.
    pub answer: DeviceAnswer,
    /// Wakeups later than the slack, all measured threads together.
    pub late_wakeups: u64,
    /// The same on the CPU where there were most.
    pub late_wakeups_on_worst_cpu: u64,
}

impl JudgedDevice {
    /// How many times it would have run dry on the worst CPU, as its forecast counts: each wait counts once, however
    /// many wakeups it delays.
    pub fn ran_dry(&self) -> u64 {
        self.answer.underruns.ran_dry()
    }
}

/// The answer for one measure under one load.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Whose wakeups: policy and priority.
    pub measure: String,
    /// The load.
    pub load: String,
    /// How often its threads were due, ns, if all as often.
    pub period_ns: Option<u64>,
    /// How long it was watched, s.
    pub exposure_s: f64,
    /// The same, s of use.
    pub use_s: f64,
    /// Hours of use for an hour of load.
    pub compression: f64,
    /// Whether the recordings give that number; otherwise it is 1.
    pub compression_is_known: bool,
    /// How long a day and a week of use are.
    pub usage: Usage,
    /// Stalls that the tail of `total` is judged by.
    pub stalls: u64,
    /// Stalls for each late wakeup among them.
    pub extremal_index: Option<f64>,
    /// Worst cases, stage by stage, in the order asked for.
    pub worst: Vec<WorstCase>,
    /// Devices, in the order asked for.
    pub devices: Vec<DeviceAnswer>,
    /// Curves against buffering.
    pub curves: Vec<Curve>,
    /// Reliable time scales.
    pub time_scales: Vec<TimeScale>,
    /// The cycles of other programs' loops, if it is about such.
    pub cycles: Option<CycleCount>,
    /// What a reader must know about this group, one line each.
    pub notes: Vec<String>,
}

impl Group {
    /// What follows a time that is not the recording's own but one of use: nothing where an hour stands for one.
    pub fn of_use(&self) -> &'static str {
        if self.compression == 1.0 { "" } else { " of use" }
    }

    /// What an answer calls a device in text: a loop by the threads that were measured, everything else by its id, with
    /// what tells it from others of that id.
    pub fn called(&self, answer: &DeviceAnswer) -> String {
        if answer.stage.holds_work() {
            return spoken_measure(&self.measure);
        }
        answer.device.id_among(self.devices.iter().map(|other| &other.device))
    }
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The whole answer in a sentence; if records were lost, it says that first.
    pub verdict: String,
    /// Time watched, s, over all groups.
    pub exposure_s: f64,
    /// Stalls, over all groups.
    pub stalls: u64,
    /// What a reader must know first: losses, cuts.
    pub cautions: Vec<String>,
    /// By measure and load, in the order of the inputs.
    pub groups: Vec<Group>,
}

/// Answers a question from one or more inputs: each stays by itself, side by side.
///
/// # Errors
/// [`Error::Device`] for a device that cannot work; [`Error::Recording`] if there is nothing to forecast from.
pub fn answer(inputs: &[Input], question: &Question) -> Result<Answer, Error> {
    if inputs.is_empty() {
        return Err(Error::Recording("there is none".to_owned()));
    }
    let devices: Vec<Profile> = question
        .devices
        .iter()
        .map(|device| question.want_s.map_or_else(|| device.clone(), |want| device.with_want(want)))
        .collect();
    for device in &devices {
        device.validate()?;
        device.usable_slack_ns()?;
    }
    let groups: Vec<Group> =
        inputs.iter().map(|input| group(input, question, &devices)).collect::<Result<_, Error>>()?;
    Ok(Answer {
        verdict: verdict::in_words(inputs, &groups),
        exposure_s: groups.iter().map(|group| group.exposure_s).sum(),
        stalls: groups.iter().map(|group| group.stalls).sum(),
        cautions: cautions(inputs),
        groups,
    })
}

/// What a recording's note on rests of punctual's own threads ends with ([`punctual_recording::THREADS_RESTED`]), and what
/// becomes of these points in a forecast.
const RESTS: [&str; 2] = ["those points of the grid count as missed", "those points of the grid are left out"];

/// What a reader must know first, each once: with the load, where it is not so of every recording.
fn cautions(inputs: &[Input]) -> Vec<String> {
    let loads_differ = inputs.iter().any(|input| input.load != inputs[0].load);
    let mut cautions: Vec<String> = Vec::new();
    for input in inputs {
        for caution in &input.cautions {
            let is_of_all = inputs.iter().all(|other| other.cautions.contains(caution));
            let words = caution.replace(RESTS[0], RESTS[1]);
            let line = match loads_differ && !is_of_all {
                true => format!("{}: {words}", under_load(&input.load)),
                false => words,
            };
            if !cautions.contains(&line) {
                cautions.push(line);
            }
        }
    }
    cautions
}

fn group(input: &Input, question: &Question, devices: &[Profile]) -> Result<Group, Error> {
    let mut changed;
    let input = match question.compression_thousandths {
        Some(thousandths) => {
            changed = input.clone();
            changed.compression_thousandths = Some(thousandths);
            &changed
        }
        None => input,
    };
    let usage = question.usage.unwrap_or_else(|| Usage::of(None));
    let compression = input.compression();
    let mut worst = Vec::new();
    let mut asked = None;
    for &stage in question.stages.iter().filter(|stage| input.stages.contains_key(stage)) {
        let tail = input.tail(stage)?;
        worst.extend(question.horizons.iter().map(|&horizon| worst_case(input, stage, &tail, horizon, usage)));
        if stage == question.device_stage {
            asked = Some(tail);
        }
    }
    let asked = match asked {
        Some(tail) => Some(tail),
        None if input.stages.contains_key(&question.device_stage) => Some(input.tail(question.device_stage)?),
        None => None,
    };
    let device_answers = device_answers(input, question, devices)?;
    let pieces = device_answers.iter().filter_map(|answer| answer.underruns.pieces).reduce(f64::min);
    let drift = told_drift(&device_answers).map(|(_, words)| words);
    let mut notes = asked.as_ref().map(|tail| spread_notes(tail, pieces, drift)).unwrap_or_default();
    notes.extend(asked.iter().flat_map(|tail| condition_notes(tail.spread(), &device_answers)));
    notes.extend(exposure_notes(input, question, usage));
    notes.extend(device_notes(input, &device_answers));
    let mut curves = Vec::new();
    if let Some(curve) = &question.curve {
        for &stage in curve.stages.iter().filter(|stage| input.stages.contains_key(stage)) {
            curves.push(input.curve_asked(curve, stage)?);
        }
    }
    let scale = |&reliability: &f64| input.time_scale(reliability, Stage::Total);
    let time_scales = question.reliabilities.iter().map(scale).collect::<Result<_, Error>>()?;
    Ok(Group {
        measure: input.measure.clone(),
        load: input.load.clone(),
        period_ns: input.common_period(),
        exposure_s: input.exposure_ns as f64 / 1e9,
        use_s: input.exposure_ns as f64 / 1e9 * compression,
        compression,
        compression_is_known: input.compression_thousandths.is_some(),
        usage,
        stalls: asked.as_ref().map_or(0, |tail| tail.stalls() as u64),
        extremal_index: input.extremal_index(question.device_stage),
        worst,
        devices: device_answers,
        curves,
        time_scales,
        cycles: input.cycles,
        notes,
    })
}

/// How the machine drifted in the words of a group's first device that is judged and met that, with the device: an answer says one
/// thing of it.
fn told_drift(answers: &[DeviceAnswer]) -> Option<(&DeviceAnswer, &str)> {
    let mut judged = answers.iter().filter(|answer| answer.underruns.outcome != Outcome::Unknown);
    judged.find_map(|answer| Some((answer, answer.underruns.drift_in_words.as_deref()?)))
}

/// The level that is exceeded once in a horizon of use.
fn worst_case(input: &Input, stage: Stage, tail: &Tail, horizon: Horizon, usage: Usage) -> WorstCase {
    let compression = input.compression();
    let exposure = input.exposure_of(stage) / 1e9;
    let seconds = horizon.seconds(usage);
    let level = tail.level(seconds / compression * 1e9);
    let in_use = exposure * compression;
    let wakeups_per_hour = input.tasks.iter().map(|task| 3.6e12 / task.period_ns.max(1) as f64).sum::<f64>();
    WorstCase {
        horizon,
        horizon_s: seconds,
        stage,
        measure_further_s: level.further.map(|further| further * exposure),
        level,
        next: tail.next(seconds / compression * 1e9),
        longest_ns: input.stages.get(&stage).and_then(|lateness| match input.cycles {
            // The distribution also has what looks like a long cycle and is none.
            Some(_) => lateness.largest.iter().map(|late| late.value_ns).max(),
            None => lateness.distribution.max(),
        }),
        longer_probability: seconds / (seconds + in_use),
        longer_per_hour: (tail.longer_at_most() / in_use * 3_600.0).min(wakeups_per_hour),
    }
}

fn device_answers(input: &Input, question: &Question, devices: &[Profile]) -> Result<Vec<DeviceAnswer>, Error> {
    let watch = if devices.is_empty() { None } else { Some(input.watch(question.device_stage)?) };
    devices
        .iter()
        .map(|device| {
            let underruns = watch
                .as_ref()
                .map_or_else(|| input.underruns(device, question.device_stage), |watch| watch.underruns(device))?;
            let advice = if question.advise { Some(input.advise(device, question.device_stage)?) } else { None };
            Ok(DeviceAnswer { device: device.clone(), stage: question.device_stage, underruns, advice })
        })
        .collect()
}

/// Seconds as people read them; around a second with three digits, because `1.0 s` beside `995 ms` cannot be compared.
pub fn format_seconds(seconds: f64) -> String {
    match seconds {
        _ if seconds < 9.995 => format_ns((seconds.max(0.0) * 1e9) as u64),
        _ if seconds < 120.0 => format!("{seconds:.0} s"),
        _ if seconds < 570.0 => format!("{:.1} min", seconds / 60.0),
        _ if seconds < 7_200.0 => format!("{:.0} min", seconds / 60.0),
        _ if seconds < 172_800.0 => format!("{:.1} h", seconds / 3_600.0),
        _ if seconds < 63_072_000.0 => format!("{:.1} days", seconds / 86_400.0),
        _ => format!("{:.1} years", seconds / 31_536_000.0),
    }
}

#[cfg(test)]
mod tests;
