//! The late events of a recording, and how they follow one another.

use crate::StudyError;
use punctual_forecast::interarrival::{Interarrival, events_of, interarrival};
use punctual_forecast::{Late, ObservedTask, stalls};
use punctual_recording::{Recording, Stage, for_each_gap, read_interactions};
use std::collections::BTreeMap;
use std::path::Path;

/// If one measure has more late wakeups than this, they are not considered: the threshold is then no threshold of lateness.
const MAX_EVENTS: usize = 2_000_000;

/// The events above one threshold of one measure, or of the gaps of one CPU.
#[derive(Debug, Clone)]
pub struct LateEvents {
    /// Whose: policy and priority, or `gaps on CPU 0`.
    pub whose: String,
    /// Which stage was late; `None` for gaps.
    pub stage: Option<Stage>,
    /// How many wakeups or gaps exceeded the threshold; neighbours with one cause count as one event.
    pub late: u64,
    /// The events.
    pub events: Interarrival,
}

/// What exceeded each of these thresholds, ns, for each measure of a recording; in a recording of idle loops, which gaps did.
///
/// # Errors
/// [`StudyError`] if the recording cannot be read, or if nearly everything exceeds a threshold.
pub fn late_events(path: &Path, stage: Stage, thresholds_ns: &[u64]) -> Result<Vec<LateEvents>, StudyError> {
    let mut found = late_gaps(path, thresholds_ns)?;
    found.extend(late_inputs(path, thresholds_ns)?);
    found.extend(late_wakeups(path, stage, thresholds_ns)?);
    Ok(found)
}

fn lowest(thresholds_ns: &[u64]) -> u64 {
    thresholds_ns.iter().copied().min().unwrap_or(u64::MAX)
}

fn too_many(path: &Path, what: &str) -> StudyError {
    let path = path.display();
    StudyError::Setting(format!("{path}: over {MAX_EVENTS} {what} exceed the lowest threshold: give a higher one"))
}

/// The gaps of each CPU.
fn late_gaps(path: &Path, thresholds_ns: &[u64]) -> Result<Vec<LateEvents>, StudyError> {
    let lowest = lowest(thresholds_ns);
    let mut late = 0;
    let mut gaps: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
    for_each_gap(path, |gap| {
        if gap.length_ns > lowest {
            late += 1;
            if late <= MAX_EVENTS {
                gaps.entry(gap.cpu).or_default().push((gap.start_ns, gap.length_ns));
            }
        }
    })?;
    if late > MAX_EVENTS {
        return Err(too_many(path, "gaps"));
    }
    let of_cpu = |(cpu, gaps): (u32, Vec<(u64, u64)>)| {
        let above = move |&threshold: &u64| {
            let own = gaps.iter().filter(|(_, length)| *length > threshold);
            let times: Vec<u64> = own.map(|(start, _)| *start).collect();
            let events = interarrival(threshold, &times);
            LateEvents { whose: format!("gaps on CPU {cpu}"), stage: None, late: times.len() as u64, events }
        };
        thresholds_ns.iter().map(above).collect::<Vec<_>>()
    };
    Ok(gaps.into_iter().flat_map(of_cpu).collect())
}

/// Inputs to a program that took long. Its start is not one of them, nor is an input of which nobody knows how long it took.
fn late_inputs(path: &Path, thresholds_ns: &[u64]) -> Result<Vec<LateEvents>, StudyError> {
    let inputs = read_interactions(path)?;
    let all: Vec<(u64, u64)> = inputs
        .iter()
        .filter(|input| input.is_measured())
        .filter_map(|input| Some((input.begin_ns, input.latency_ns()?)))
        .collect();
    if all.is_empty() {
        return Ok(Vec::new());
    }
    let above = |&threshold: &u64| {
        let long = all.iter().filter(|(_, latency)| *latency > threshold);
        let times: Vec<u64> = long.map(|(begin, _)| *begin).collect();
        let events = interarrival(threshold, &times);
        LateEvents { whose: "inputs".to_owned(), stage: None, late: times.len() as u64, events }
    };
    Ok(thresholds_ns.iter().map(above).collect())
}

/// A measure's tasks, and their late wakeups.
#[derive(Default)]
struct Measured {
    tasks: Vec<ObservedTask>,
    late: Vec<Late>,
}

/// The wakeups of each measure.
fn late_wakeups(path: &Path, stage: Stage, thresholds_ns: &[u64]) -> Result<Vec<LateEvents>, StudyError> {
    let recording = Recording::open(path)?;
    let document = recording.document();
    let mut measures: BTreeMap<&str, Measured> = BTreeMap::new();
    let mut places: BTreeMap<u32, (&str, usize)> = BTreeMap::new();
    for task in &document.tasks {
        let measured = measures.entry(&task.measure).or_default();
        places.insert(task.tid, (&task.measure, measured.tasks.len()));
        measured.tasks.push(ObservedTask {
            tid: task.tid,
            cpu: task.cpu,
            period_ns: task.period_ns,
            wakeups: task.counters.wakeups,
            missed: task.counters.missed,
        });
    }
    let lowest = lowest(thresholds_ns);
    let started_ns = document.provenance.started_ns;
    let mut last_ns = started_ns;
    recording.for_each_wakeup(|wakeup| {
        last_ns = last_ns.max(wakeup.expected_ns);
        let Some(value_ns) = wakeup.stage(stage).filter(|value| *value > lowest) else { return };
        let Some(&(measure, task)) = places.get(&wakeup.tid) else { return };
        let Some(measured) = measures.get_mut(measure).filter(|measured| measured.late.len() <= MAX_EVENTS) else {
            return;
        };
        measured.late.push(Late { at_ns: wakeup.expected_ns, task, value_ns });
    })?;
    let exposure = last_ns.saturating_sub(started_ns) as f64;
    let mut found = Vec::new();
    for (measure, Measured { tasks, mut late }) in measures {
        if tasks.iter().all(|task| task.wakeups == 0) {
            continue;
        }
        if late.len() > MAX_EVENTS {
            return Err(too_many(path, "wakeups"));
        }
        late.sort_unstable();
        for &threshold in thresholds_ns {
            let stalls = stalls(&late, &tasks, threshold, exposure, false);
            let events = interarrival(threshold, &events_of(&stalls));
            found.push(LateEvents { whose: measure.to_owned(), stage: Some(stage), late: stalls.late, events });
        }
    }
    Ok(found)
}
