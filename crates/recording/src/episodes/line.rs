//! An episode as a line of its file.

use crate::episodes::check::{check, clean};
use crate::episodes::episode::{Episode, Event, EventKind, Frame, Group, HookedProgram, Process, StackSample, Victim};
use crate::episodes::plain;
use crate::format::bounds::MAX_JSON_VALUES;
use crate::format::json_file::{begin_of_member, check_json};
use punctual_codes::Stage;
use serde::{Deserialize, Serialize};

/// `[after expected ns, cpu, kind, tid, priority, context, steal since the CPU's first event ns, value, extra, name]`
type EventLine = (i64, u32, u8, u32, i16, u32, u64, u64, u64, u32);
/// `[after expected ns, cpu, tid, context, at a late interrupt, name, frames]`
type SampleLine = (i64, u32, u32, u32, bool, u32, Vec<u32>);

/// An episode as it stands on a line of the file: times relative to the expected one, events as plain numbers.
#[derive(Serialize, Deserialize)]
struct Line {
    id: u64,
    victim: Victim,
    expected_ns: u64,
    total_ns: u64,
    #[serde(default)]
    stage: Stage,
    #[serde(default, skip_serializing_if = "is_no")]
    is_asked_for: bool,
    #[serde(default, skip_serializing_if = "is_no")]
    waits_for_answers: bool,
    #[serde(default, skip_serializing_if = "is_no")]
    may_sleep_within: bool,
    #[serde(default, skip_serializing_if = "is_no")]
    has_period: bool,
    #[serde(default, skip_serializing_if = "is_no")]
    asker_unknown: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    accepted: Vec<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    connected: Vec<u32>,
    #[serde(default, skip_serializing_if = "is_no")]
    connections_unknown: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sockets: Vec<(u32, String)>,
    threshold_ns: u64,
    #[serde(rename = "void")]
    void_reason: Option<String>,
    #[serde(default)]
    usual_delivery_ns: u64,
    #[serde(default)]
    fault_path_ns: u64,
    #[serde(default)]
    sample_period_ns: u64,
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    nesting_known: bool,
    #[serde(default, skip_serializing_if = "is_none")]
    missed_runs: u64,
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    frames: Vec<Frame>,
    /// Their times are relative to the expected one, stored as if they had no sign.
    #[serde(default, with = "as_numbers")]
    events: Vec<Event>,
    #[serde(default)]
    samples: Vec<SampleLine>,
    #[serde(default)]
    programs: Vec<HookedProgram>,
    #[serde(default)]
    builds: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    groups: Vec<Group>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    members: Vec<(u32, u32)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    disk_limit: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    processes: Vec<Process>,
}

/// Events as lists of numbers, parsed one by one, because there may be very many.
mod as_numbers {
    use super::{Event, EventKind, EventLine};
    use serde::de::{Deserializer, Error, SeqAccess, Visitor};
    use serde::ser::{SerializeSeq, Serializer};

    pub(super) fn serialize<S: Serializer>(events: &[Event], serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(events.len()))?;
        for event in events {
            let Event { at_ns, cpu, kind, tid, priority, context, steal_ns, value, extra, name } = *event;
            let line: EventLine =
                (at_ns as i64, cpu, kind.code(), tid, priority, context, steal_ns, value, extra, name);
            list.serialize_element(&line)?;
        }
        list.end()
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Event>, D::Error> {
        deserializer.deserialize_seq(Events)
    }

    struct Events;

    impl<'de> Visitor<'de> for Events {
        type Value = Vec<Event>;

        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("a list of events")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Event>, A::Error> {
            let mut events = Vec::new();
            while let Some(line) = list.next_element::<EventLine>()? {
                let (after, cpu, kind, tid, priority, context, steal_ns, value, extra, name) = line;
                let no_kind = || A::Error::custom(format!("{kind} is not a kind of event"));
                let kind = EventKind::from_code(kind).ok_or_else(no_kind)?;
                let at_ns = after as u64;
                events.push(Event { at_ns, cpu, kind, tid, priority, context, steal_ns, value, extra, name });
            }
            Ok(events)
        }
    }
}

/// The kernels of older recordings had it, or `blame` finds out that they did not.
fn yes() -> bool {
    true
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

fn is_no(value: &bool) -> bool {
    !*value
}

fn is_yes(value: &bool) -> bool {
    *value
}

impl Serialize for Episode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let after = |at: u64| at.wrapping_sub(self.expected_ns) as i64;
        let line = Line {
            id: self.id,
            victim: self.victim.clone(),
            expected_ns: self.expected_ns,
            total_ns: self.total_ns(),
            stage: self.stage,
            is_asked_for: self.is_asked_for,
            waits_for_answers: self.waits_for_answers,
            may_sleep_within: self.may_sleep_within,
            has_period: self.has_period,
            asker_unknown: self.asker_unknown,
            accepted: self.accepted.clone(),
            connected: self.connected.clone(),
            connections_unknown: self.connections_unknown,
            sockets: self.sockets.clone(),
            threshold_ns: self.threshold_ns,
            void_reason: self.void.clone(),
            usual_delivery_ns: self.usual_delivery_ns,
            fault_path_ns: self.fault_path_ns,
            sample_period_ns: self.sample_period_ns,
            nesting_known: self.nesting_known,
            missed_runs: self.missed_runs,
            names: self.names.clone(),
            frames: self.frames.clone(),
            events: self.events.iter().map(|event| Event { at_ns: after(event.at_ns) as u64, ..*event }).collect(),
            samples: self
                .samples
                .iter()
                .map(|sample| {
                    let StackSample { at_ns, cpu, tid, context, at_late_interrupt, name, ref frames } = *sample;
                    (after(at_ns), cpu, tid, context, at_late_interrupt, name, frames.clone())
                })
                .collect(),
            programs: self.programs.clone(),
            builds: self.builds.clone(),
            groups: self.groups.clone(),
            members: self.members.clone(),
            disk_limit: self.disk_limit.clone(),
            processes: self.processes.clone(),
        };
        line.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Episode {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Episode, D::Error> {
        Line::deserialize(deserializer)?.into_episode().map_err(serde::de::Error::custom)
    }
}

/// Reads a line whose events are as this program writes them; `None` for any other line, and for one that is damaged.
pub(super) fn read_plain(text: &[u8]) -> Option<Episode> {
    if text.len() >= MAX_JSON_VALUES {
        return None;
    }
    let begin = begin_of_member(text, "events")?;
    let (events, length) = plain::events(&text[begin..])?;
    let rest = [&text[..begin], b"[]", &text[begin + length..]].concat();
    check_json(&rest).ok()?;
    let line: Line = serde_json::from_slice(&rest).ok()?;
    Line { events, ..line }.into_episode().ok()
}

impl Line {
    /// The episode; what is wrong with it if it cannot be one.
    fn into_episode(mut self) -> Result<Episode, String> {
        let at = |after: i64| {
            let out_of_range = || format!("{after} ns from the expected time is not a valid time");
            self.expected_ns.checked_add_signed(after).ok_or_else(out_of_range)
        };
        let mut events = std::mem::take(&mut self.events);
        for event in &mut events {
            event.at_ns = at(event.at_ns as i64)?;
        }
        let mut samples = Vec::with_capacity(self.samples.len());
        for (after, cpu, tid, context, at_late_interrupt, name, frames) in self.samples {
            samples.push(StackSample { at_ns: at(after)?, cpu, tid, context, at_late_interrupt, name, frames });
        }
        let mut episode = Episode {
            id: self.id,
            expected_ns: self.expected_ns,
            end_ns: self.expected_ns.saturating_add(self.total_ns),
            victim: self.victim,
            stage: self.stage,
            is_asked_for: self.is_asked_for,
            waits_for_answers: self.waits_for_answers,
            may_sleep_within: self.may_sleep_within,
            has_period: self.has_period,
            asker_unknown: self.asker_unknown,
            accepted: self.accepted,
            connected: self.connected,
            connections_unknown: self.connections_unknown,
            sockets: self.sockets,
            threshold_ns: self.threshold_ns,
            void: self.void_reason,
            usual_delivery_ns: self.usual_delivery_ns,
            fault_path_ns: self.fault_path_ns,
            sample_period_ns: self.sample_period_ns,
            nesting_known: self.nesting_known,
            missed_runs: self.missed_runs,
            names: self.names,
            frames: self.frames,
            events,
            samples,
            programs: self.programs,
            builds: self.builds,
            groups: self.groups,
            members: self.members,
            disk_limit: self.disk_limit,
            processes: self.processes,
        };
        check(&episode)?;
        clean(&mut episode);
        Ok(episode)
    }
}
