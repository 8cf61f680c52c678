//! Who armed the timers of an episode, by name.

use crate::shared::names::text_of;
use punctual_recording::episode::{Event, EventKind};
use punctual_recording::printable;
use std::collections::BTreeMap;

/// So many names are kept, for threads that have ended by the time that they are asked for.
const MAX_KEPT: usize = 4_096;

/// The thread that armed a timer, as a record of its expiry has it; 0: not known.
pub(super) fn armer(name: &[u8; 16]) -> u64 {
    let [first, second, third, fourth, ..] = *name;
    u64::from(u32::from_ne_bytes([first, second, third, fourth]))
}

/// Names of those who armed timers, as they were called last.
#[derive(Default)]
pub(super) struct Armers(BTreeMap<u32, String>);

impl Armers {
    /// Puts the names of those who armed timers, as `number` counts them, beside their thread ids: by the evidence, whose `names`
    /// these are, or by the kernel as it is now.
    pub(super) fn name(&mut self, events: &mut [Event], names: &[String], number: &mut dyn FnMut(u32, &str) -> u32) {
        let mut wanted: BTreeMap<u32, Option<u32>> =
            events.iter().filter(|event| is_timer(event)).map(|event| (event.value as u32, None)).collect();
        wanted.remove(&0);
        if self.0.len() > MAX_KEPT {
            self.0.clear();
        }
        for event in events.iter().filter(|event| event.kind == EventKind::Switch) {
            if let Some(name) = wanted.get_mut(&(event.value as u32)) {
                *name = Some(event.name);
            }
        }
        for (&tid, name) in &mut wanted {
            let seen = name.and_then(|name| names.get(name as usize)).cloned();
            if let Some(known) = seen.or_else(|| name_now(tid)) {
                self.0.insert(tid, known);
            }
            *name = name.or_else(|| self.0.get(&tid).map(|known| number(tid, known)));
        }
        for event in events.iter_mut().filter(|event| is_timer(event)) {
            // Without a name nobody is found by the number either.
            let named = wanted.get(&(event.value as u32)).copied().flatten();
            event.value = named.map_or(0, |name| event.value | u64::from(name) << 32);
        }
    }
}

fn is_timer(event: &Event) -> bool {
    matches!(event.kind, EventKind::TimerBegin | EventKind::CallbackBegin)
}

/// A thread's name as the kernel has it now.
fn name_now(tid: u32) -> Option<String> {
    let text = std::fs::read(format!("/proc/{tid}/comm")).ok()?;
    Some(printable(text_of(&text).trim_end_matches('\n')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: EventKind, value: u64, name: u32) -> Event {
        Event { at_ns: 0, cpu: 0, kind, tid: 1, priority: 120, context: 0, steal_ns: 0, value, extra: 0, name }
    }

    #[test]
    fn whoever_armed_a_timer_is_named_by_the_evidence_or_as_it_was_called_last() {
        let names = ["", "expired", "", "audio"].map(String::from);
        let mut events = vec![
            event(EventKind::TimerBegin, u64::from(u32::MAX - 7), 1),
            event(EventKind::CallbackBegin, u64::from(u32::MAX - 8), 1),
            event(EventKind::TimerBegin, u64::from(u32::MAX - 9), 1),
            event(EventKind::TimerBegin, 0, 1),
            event(EventKind::Switch, u64::from(u32::MAX - 7), 3),
            event(EventKind::Waking, 9, 4),
        ];
        let mut armers = Armers(BTreeMap::from([(u32::MAX - 8, "gone".to_owned())]));
        let mut asked = Vec::new();
        armers.name(&mut events, &names, &mut |tid, name| {
            asked.push((tid, name.to_owned()));
            5
        });
        let armed: Vec<_> = events.iter().map(Event::armed_by).collect();
        assert_eq!(armed, [Some((u32::MAX - 7, 3)), Some((u32::MAX - 8, 5)), None, None, None, None]);
        assert_eq!(asked, [(u32::MAX - 8, "gone".to_owned())]);
        assert_eq!(events[5].value, 9);
        assert_eq!(armers.0[&(u32::MAX - 7)], "audio");
    }

    #[test]
    fn a_thread_that_is_there_has_a_name() {
        let own = std::fs::read_to_string("/proc/thread-self/comm").unwrap();
        let tid = std::fs::read_link("/proc/thread-self").unwrap();
        let tid = tid.file_name().unwrap().to_str().unwrap().parse().unwrap();
        assert_eq!(name_now(tid).as_deref(), Some(own.trim_end()));
        assert_eq!(name_now(0), None);
    }
}
