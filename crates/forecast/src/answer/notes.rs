//! What a reader must know about a group, one line each: for how much use it stands, how its devices were judged, and how
//! stalls depend on one another.

use super::{DeviceAnswer, Question, format_seconds};
use crate::Usage;
use crate::input::Input;
use crate::level::Tail;
use crate::spread::{Condition, SETTLED_PIECES, Spread};
use crate::underrun::{HOLDS_CONFIDENCE, Outcome};
use punctual_recording::{NO_LOAD, Stage, counted, format_ns, grouped};

/// Notes on how long the load was measured, and for how much use that stands.
pub(super) fn exposure_notes(input: &Input, question: &Question, usage: Usage) -> Vec<String> {
    let mut notes = Vec::new();
    if input.compression_thousandths.is_none() && input.load != NO_LOAD {
        let load = &input.load;
        notes.push(format!("it is not known how many hours of use an hour of `{load}` stands for: one is assumed"));
    }
    if question.usage.is_none() && usage.continuous {
        notes.push("a day means 24 hours of use and a week 168, in the tables and in --want".to_owned());
    }
    if input.fills_in(Stage::Total) {
        let missed = input.missed();
        notes.push(match missed {
            1 => "the one missed period counts here as a late wakeup of its stall; `check` counts only wakeups that came".to_owned(),
            _ => format!(
                "each of the {} missed periods counts here as a late wakeup of its stall; `check` counts only wakeups that came",
                grouped(missed)
            ),
        });
    }
    notes
}

/// Notes on how devices were judged.
pub(super) fn device_notes(input: &Input, answers: &[DeviceAnswer]) -> Vec<String> {
    let mut notes = Vec::new();
    let several = answers.iter().find_map(|answer| answer.underruns.alike);
    match several {
        Some(true) => notes.push(
            "no test distinguishes the CPUs, so times between underruns are those of an average CPU, from \
                                  all of them; whether a device holds is judged on the worst CPU"
                .to_owned(),
        ),
        Some(false) => notes.push("the CPUs differ: each device is judged on the one that is worst for it".to_owned()),
        None if input.tasks.len() > 1 => {
            let worst = answers.first().and_then(|answer| input.worst_thread(answer.stage));
            notes.push(match worst {
                Some(worst) => format!(
                    "the threads could move between CPUs, and a test distinguishes the threads: rates are those of thread {}, which had {:.0} % of \
                     the longest waits",
                    worst.tid,
                    100.0 * worst.share
                ),
                None => "the threads could move between CPUs: rates are those of an average thread".to_owned(),
            });
        }
        None => {}
    }
    if answers.iter().any(|answer| answer.underruns.is_upper_count) {
        let text = "below the exact tail, late wakeups are counted instead of stalls: there are at most as many stalls";
        notes.push(text.to_owned());
    }
    let is_short = |answer: &DeviceAnswer| {
        answer.underruns.outcome == Outcome::HoldsAsRecorded && answer.underruns.conditions.contains(&Condition::Short)
    };
    if answers.iter().any(is_short) {
        notes.push(what_is_too_short(input));
    }
    let recorded = input.tasks.iter().map(|task| task.period_ns).max().unwrap_or(0);
    if answers.iter().any(|answer| answer.device.period_ns < recorded) {
        notes.push(format!(
            "recorded every {}, coarser than some devices' periods: their rates are scaled up; record with -i to match",
            format_ns(recorded)
        ));
    }
    notes
}

/// What a recording this short need not show.
fn what_is_too_short(input: &Input) -> String {
    let watched_s = input.tasks.iter().map(|task| task.exposure_ns() as f64 / 1e9).fold(f64::INFINITY, f64::min);
    // If something comes this often on average, so long a time shows nothing of it in one of 200 cases.
    let seldom_s = watched_s / -(1.0 - HOLDS_CONFIDENCE).ln();
    format!(
        "a recording of {} may miss whatever comes less often than every {}, and much on a machine happens only once a day or once a week: until a week is \
         recorded, devices are said to hold only while conditions stay as recorded",
        format_seconds(watched_s),
        format_seconds(seldom_s),
    )
}

/// Beyond this many times the variance of independent stalls, the figure tells a reader nothing.
const MAX_TOLD_DISPERSION: f64 = 100.0;

/// Notes on dependence: how much wider intervals are, how many pieces there are, and drift, in the words in which the verdict has it
/// if it does: the stalls that a device meets need not drift just as all of them do.
pub(super) fn spread_notes(tail: &Tail, of_devices: Option<f64>, told_drift: Option<&str>) -> Vec<String> {
    let spread = tail.spread();
    let mut notes = Vec::new();
    let dispersion = spread.dispersion(tail.stalls() as f64);
    if dispersion > MAX_TOLD_DISPERSION {
        let text = "stalls come in bursts, so their count hardly predicts how often more will come; the intervals are correspondingly wide";
        notes.push(text.to_owned());
    } else if dispersion > 1.5 {
        notes.push(format!(
            "stalls cluster, so all intervals are widened: the number of stalls varies {dispersion:.1} times as much as if they were \
             independent"
        ));
    }
    if let Some((pieces, memory_ns)) = spread.pieces().zip(spread.memory_ns) {
        let pieces = of_devices.map_or(pieces, |own| own.min(pieces));
        let enough = if pieces < SETTLED_PIECES {
            ": too little to show that anything holds, except while conditions stay as recorded"
        } else {
            ""
        };
        let memory = format_seconds(memory_ns / 1e9);
        let counts_as = match pieces.round() {
            pieces if pieces < 1.0 => "less than one independent piece".to_owned(),
            pieces => counted(pieces as u64, "independent piece"),
        };
        notes.push(format!("events stay correlated for {memory}, so this recording is worth {counts_as}{enough}"));
    }
    if spread.is_carried_by_few() && spread.is_telling() {
        let clusters = spread.carriers.map_or(1, |carriers| carriers.round().max(1.0) as u64);
        notes.push(format!(
            "as few as {} of stalls account for most of the variation, so expect larger ones: devices are said to hold only while conditions \
             stay as recorded",
            counted(clusters, "cluster")
        ));
    }
    if let Some(drift) = spread.drift {
        notes.push(format!(
            "the machine drifts: stalls are {}, and answers hold only while conditions stay as recorded",
            told_drift.map_or_else(|| drift.in_words(), str::to_owned)
        ));
    }
    if spread.drift.is_none() && spread.may_drift && spread.is_telling() {
        let text = "it cannot be ruled out that the machine drifts: devices are said to hold only while conditions stay as recorded";
        notes.push(text.to_owned());
    }
    notes
}

/// Notes on what keeps devices from holding without a condition where the stalls of all CPUs together, of which
/// [`spread_notes`] speaks, do not show it: the waits of one CPU by itself may, and a drift that hides may change the
/// answer.
pub(super) fn condition_notes(of_all: &Spread, answers: &[DeviceAnswer]) -> Vec<String> {
    if !of_all.is_telling() {
        return Vec::new();
    }
    let holding =
        || answers.iter().map(|answer| &answer.underruns).filter(|found| found.outcome == Outcome::HoldsAsRecorded);
    let is_met = |condition: Condition| holding().any(|found| found.conditions.contains(&condition));
    let has_memory = of_all.memory_ns.is_some();
    let drifts = of_all.drift.is_some() || of_all.may_drift;
    let pieces = holding().filter_map(|found| found.pieces).reduce(f64::min).unwrap_or_default();
    let worth = counted(pieces.round() as u64, "independent piece");
    let drift = match holding().any(|found| found.drift.is_some()) {
        true => "waits drift on at least one CPU",
        false => "a drift that the recording may hide would change the answer",
    };
    let unsaid = [
        (Condition::Memory, has_memory, format!("waits vary as if the recording had only {worth}")),
        (
            Condition::Clusters,
            of_all.is_carried_by_few(),
            "a few clusters of waits account for most of the variation".to_owned(),
        ),
        (Condition::Drift, drifts, drift.to_owned()),
    ];
    let unsaid = unsaid.into_iter().filter(|(condition, is_said, _)| is_met(*condition) && !is_said);
    unsaid.map(|(.., why)| format!("{why}: devices are said to hold only while conditions stay as recorded")).collect()
}
