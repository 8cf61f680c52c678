//! The task sets of rt-app.

use super::tasks::{DEFAULT_PERMITTED_S, NO_SUCH_CPU, Policy, Task, TaskSet};
use crate::Error;
use serde_json::{Map, Value};

impl TaskSet {
    /// Reads what rt-app reads: tasks with `run` and `timer` events in microseconds, in one phase or several. It uses
    /// only the structure, and notes what a single number cannot express.
    ///
    /// # Errors
    /// [`Error::Tasks`] with the place and what is wrong there.
    pub fn parse_rt_app(text: &str) -> Result<TaskSet, Error> {
        parse(text)?.checked()
    }
}

fn wrong(place: &str, message: impl Into<String>) -> Error {
    Error::Tasks { place: place.to_owned(), message: message.into() }
}

/// An event's kind: rt-app allows keys to repeat with numbers after them, `run`, `run0`, `run_1`.
fn kind(key: &str) -> &str {
    key.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_')
}

/// Microseconds as ns.
fn microseconds(place: &str, key: &str, value: &Value) -> Result<u64, Error> {
    value
        .as_u64()
        .and_then(|microseconds| microseconds.checked_mul(1_000))
        .ok_or_else(|| wrong(place, format!("`{key}` must be a number of microseconds, not {value}")))
}

#[derive(Default)]
struct Events {
    compute_ns: u64,
    period_ns: Option<u64>,
    sleeps: bool,
}

impl Events {
    fn take(&mut self, place: &str, object: &Map<String, Value>, repeats: u64) -> Result<(), Error> {
        for (key, value) in object {
            match kind(key) {
                "run" | "runtime" => {
                    let time = microseconds(place, key, value)?.saturating_mul(repeats);
                    self.compute_ns = self.compute_ns.saturating_add(time);
                }
                "timer" => {
                    let period = value.get("period").ok_or_else(|| wrong(place, format!("`{key}` has no period")))?;
                    let period = microseconds(place, "period", period)?.saturating_mul(repeats);
                    // A timer in each of several phases: together they make one round.
                    self.period_ns = Some(self.period_ns.unwrap_or(0).saturating_add(period));
                }
                "sleep" | "suspend" | "wait" | "sync" | "barrier" => self.sleeps = true,
                _ => {}
            }
        }
        Ok(())
    }
}

impl Events {
    /// The events of all phases of a task, or of a task without phases.
    fn of(place: &str, object: &Map<String, Value>) -> Result<Events, Error> {
        let mut events = Events::default();
        match object.get("phases") {
            Some(phases) => {
                let phases = phases.as_object().ok_or_else(|| wrong(place, "`phases` is not an object"))?;
                for (phase_name, phase) in phases {
                    let place = format!("{place}, phase `{phase_name}`");
                    let phase = phase.as_object().ok_or_else(|| wrong(&place, "it is not an object"))?;
                    let repeats = phase.get("loop").and_then(Value::as_u64).unwrap_or(1).max(1);
                    events.take(&place, phase, repeats)?;
                }
            }
            None => events.take(place, object, 1)?,
        }
        Ok(events)
    }
}

/// Reads rt-app's JSON.
pub(super) fn parse(text: &str) -> Result<TaskSet, Error> {
    let document: Value = serde_json::from_str(text)
        .map_err(|error| wrong(&format!("line {}", error.line()), format!("this is no JSON: {error}")))?;
    let tasks = document
        .get("tasks")
        .and_then(Value::as_object)
        .ok_or_else(|| wrong("the task set", "there is no `tasks` object in it"))?;
    let default_policy = document.pointer("/global/default_policy").and_then(Value::as_str).unwrap_or("SCHED_OTHER");
    let mut set = TaskSet::default();
    for (name, value) in tasks {
        // So many are refused, whatever comes after them.
        if set.tasks.len() > super::tasks::MAX_TASKS {
            break;
        }
        let place = format!("task `{name}`");
        let object = value.as_object().ok_or_else(|| wrong(&place, "it is not an object"))?;
        let events = Events::of(&place, object)?;
        let number = |key: &str| object.get(key).map(|value| microseconds(&place, key, value)).transpose();
        let runtime = number("dl-runtime")?;
        let Some(period_ns) = number("dl-period")?.or(events.period_ns) else {
            let why = if events.sleeps { "it sleeps or waits between runs" } else { "it has no timer" };
            set.notes.push(format!("{place} is left out: {why}, so it has no period"));
            continue;
        };
        if events.sleeps {
            set.notes.push(format!("{place} also waits for others: that is not analysed"));
        }
        let policy = object.get("policy").and_then(Value::as_str).unwrap_or(default_policy);
        let priority = object.get("priority").and_then(Value::as_u64).and_then(|priority| u32::try_from(priority).ok());
        if !matches!(policy, "SCHED_FIFO" | "SCHED_RR" | "SCHED_DEADLINE") {
            set.notes.push(format!("{place} runs under {policy}: it counts as the least urgent fixed priority"));
        }
        let cpu = object.get("cpus").and_then(Value::as_array);
        if cpu.is_some_and(|cpus| cpus.len() > 1) {
            set.notes.push(format!("{place} may run on several CPUs: it counts as staying on the first"));
        }
        let cpu = cpu.and_then(|cpus| cpus.first()).and_then(Value::as_u64).unwrap_or(0);
        let instances =
            object.get("instance").and_then(Value::as_u64).unwrap_or(1).clamp(1, super::tasks::MAX_TASKS as u64 + 1);
        for instance in 0..instances {
            set.tasks.push(Task {
                name: if instances == 1 { name.clone() } else { format!("{name}-{instance}") },
                cpu: u32::try_from(cpu).map_err(|_| wrong(&place, NO_SUCH_CPU))?,
                period_ns: period_ns.max(1),
                compute_ns: runtime.unwrap_or(events.compute_ns),
                deadline_ns: number("dl-deadline")?.unwrap_or(period_ns).max(1),
                policy: if policy == "SCHED_DEADLINE" { Policy::Deadline } else { Policy::Fixed },
                priority: match policy {
                    "SCHED_FIFO" | "SCHED_RR" => priority.or(Some(10)),
                    "SCHED_DEADLINE" => None,
                    _ => Some(0),
                },
                jitter_ns: 0,
                offset_ns: 0,
                blocking_ns: 0,
                reservation: None,
                permitted_s: DEFAULT_PERMITTED_S,
            });
        }
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_phase_and_several() {
        let text = r#"{
            "global": {"duration": 10, "default_policy": "SCHED_FIFO"},
            "tasks": {
                "modem": {"priority": 90, "loop": -1, "run": 3300, "timer": {"ref": "unique", "period": 11250}, "cpus": [0]},
                "audio": {"policy": "SCHED_FIFO", "priority": 80, "phases": {
                    "mix": {"loop": 2, "run": 500, "run0": 100}, "out": {"run": 800, "timer0": {"ref": "t", "period": 16000}}}},
                "video": {"policy": "SCHED_DEADLINE", "dl-runtime": 5000, "dl-deadline": 20000, "dl-period": 33000, "run": 4000},
                "shell": {"policy": "SCHED_OTHER", "run": 10, "sleep": 100}
            }}"#;
        let set = TaskSet::parse_rt_app(text).unwrap();
        let found: Vec<_> = set
            .tasks
            .iter()
            .map(|task| {
                (
                    task.name.as_str(),
                    task.compute_ns / 1_000,
                    task.period_ns / 1_000,
                    task.deadline_ns / 1_000,
                    task.priority,
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                ("modem", 3_300, 11_250, 11_250, Some(90)),
                ("audio", 2_000, 16_000, 16_000, Some(80)),
                ("video", 5_000, 33_000, 20_000, None),
            ]
        );
        assert!(set.notes.iter().any(|note| note.contains("`shell` is left out")), "{:?}", set.notes);
    }

    #[test]
    fn what_is_wrong_names_its_place() {
        for (text, word) in [
            ("{", "line 1"),
            ("{}", "no `tasks`"),
            (r#"{"tasks": {"a": 3}}"#, "task `a`"),
            (r#"{"tasks": {"a": {"run": -5, "timer": {"period": 10}}}}"#, "`run` must be"),
            (r#"{"tasks": {"a": {"run": 5, "timer": {}}}}"#, "no period"),
            (r#"{"tasks": {"a": {"run": 50, "timer": {"period": 10}}}}"#, "never keep up"),
        ] {
            let message = TaskSet::parse_rt_app(text).unwrap_err().to_string();
            assert!(message.contains(word) && !message.contains('\n'), "{message}");
        }
    }
}
