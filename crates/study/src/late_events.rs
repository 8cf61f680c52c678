//! The late events of a recording, and how they follow one another.

use crate::StudyError;
use punctual_forecast::interarrival::{Interarrival, events_of, interarrival};
use punctual_forecast::{Late, ObservedTask, stalls};
use punctual_recording::{Recording, Stage, for_each_gap};
use std::collections::BTreeMap;
use std::path::Path;

/// More late wakeups than this of one measure are not looked at: the threshold is then no threshold of lateness.
const MAX_EVENTS: usize = 2_000_000;

/// The events above one threshold of one measure, or of the gaps of one CPU.
#[derive(Debug, Clone)]
pub struct LateEvents {
    /// Whose: policy and priority, or `gaps on CPU 0`.
    pub whose: String,
    /// Which stage was late; `None` for gaps.
    pub stage: Option<Stage>,
    /// How many wakeups or gaps exceeded the threshold; neighbours with one cause are one event.
    pub late: u64,
    /// The events.
    pub events: Interarrival,
}

/// What exceeded each of these thresholds, ns, for each measure of a recording; in a recording of idle loops, which gaps.
///
/// # Errors
/// [`StudyError`] where the recording cannot be read, or where nearly everything exceeds a threshold.
pub fn late_events(path: &Path, stage: Stage, thresholds_ns: &[u64]) -> Result<Vec<LateEvents>, StudyError> {
    let recording = Recording::open(path)?;
    let lowest = thresholds_ns.iter().copied().min().unwrap_or(u64::MAX);
    let mut found = Vec::new();
    let mut late_gaps = 0;
    let mut gaps: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
    for_each_gap(path, |gap| {
        if gap.length_ns > lowest {
            late_gaps += 1;
            if late_gaps <= MAX_EVENTS {
                gaps.entry(gap.cpu).or_default().push((gap.start_ns, gap.length_ns));
            }
        }
    })?;
    if late_gaps > MAX_EVENTS {
        let message =
            format!("{}: over {MAX_EVENTS} gaps exceed the lowest threshold: give a higher one", path.display());
        return Err(StudyError::Setting(message));
    }
    for (cpu, gaps) in gaps {
        for &threshold in thresholds_ns {
            let own = gaps.iter().filter(|(_, length)| *length > threshold);
            let times: Vec<u64> = own.map(|(start, _)| *start).collect();
            let events = interarrival(threshold, &times);
            found.push(LateEvents {
                whose: format!("gaps on CPU {cpu}"),
                stage: None,
                late: times.len() as u64,
                events,
            });
        }
    }
    let document = recording.document();
    let mut measures: Vec<&String> = document.tasks.iter().map(|task| &task.measure).collect();
    measures.sort_unstable();
    measures.dedup();
    let mut tasks: Vec<Vec<ObservedTask>> = vec![Vec::new(); measures.len()];
    let mut places: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    for task in &document.tasks {
        let measure = measures.binary_search(&&task.measure).unwrap_or(0);
        places.insert(task.tid, (measure, tasks[measure].len()));
        tasks[measure].push(ObservedTask {
            tid: task.tid,
            cpu: task.cpu,
            period_ns: task.period_ns,
            wakeups: task.counters.wakeups,
            missed: task.counters.missed,
        });
    }
    let mut late: Vec<Vec<Late>> = vec![Vec::new(); measures.len()];
    let mut last_ns = document.provenance.started_ns;
    recording.for_each_wakeup(|wakeup| {
        last_ns = last_ns.max(wakeup.expected_ns);
        let Some(value_ns) = wakeup.stage(stage).filter(|value| *value > lowest) else { return };
        let Some(&(measure, task)) = places.get(&wakeup.tid) else { return };
        if late[measure].len() <= MAX_EVENTS {
            late[measure].push(Late { at_ns: wakeup.expected_ns, task, value_ns });
        }
    })?;
    let exposure = last_ns.saturating_sub(document.provenance.started_ns) as f64;
    for ((measure, tasks), mut late) in measures.into_iter().zip(tasks).zip(late) {
        if tasks.iter().all(|task| task.wakeups == 0) {
            continue;
        }
        if late.len() > MAX_EVENTS {
            let message =
                format!("{}: over {MAX_EVENTS} wakeups exceed the lowest threshold: give a higher one", path.display());
            return Err(StudyError::Setting(message));
        }
        late.sort_unstable();
        for &threshold in thresholds_ns {
            let stalls = stalls(&late, &tasks, threshold, exposure, false);
            let events = interarrival(threshold, &events_of(&stalls));
            found.push(LateEvents { whose: measure.clone(), stage: Some(stage), late: stalls.late, events });
        }
    }
    Ok(found)
}
