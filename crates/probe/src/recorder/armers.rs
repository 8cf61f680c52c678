//! Who armed the timers of an episode, by name.

use super::ended_threads::{EndedThread, EndedThreads};
use punctual_kernel::stat_line::StatLine;
use punctual_recording::episode::{Event, EventKind};
use punctual_recording::printable;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The thread that armed a timer, as recorded when it expires; 0: not known.
pub(super) fn armer(name: &[u8; 16]) -> u64 {
    let [first, second, third, fourth, ..] = *name;
    u64::from(u32::from_ne_bytes([first, second, third, fourth]))
}

/// Finds the names of those who armed timers.
pub(super) struct Armers {
    /// `None`: this kernel does not report ends.
    ended: Option<Arc<EndedThreads>>,
}

impl Armers {
    pub(super) fn new(ended: Option<Arc<EndedThreads>>) -> Armers {
        Armers { ended }
    }

    /// Puts the names of those who armed timers, as `number` counts them, beside their thread ids: from the evidence,
    /// or from the kernel as it is now.
    pub(super) fn name(&self, events: &mut [Event], number: &mut dyn FnMut(u32, &str) -> u32) {
        let ended = |tid| self.ended.as_ref().and_then(|ended| ended.find(tid));
        name_armers(events, &ended, &running, number);
    }
}

/// A thread that has this number in the kernel now.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Running {
    name: String,
    /// It has ended, and nobody has asked how.
    is_zombie: bool,
}

fn name_armers(
    events: &mut [Event],
    ended: &dyn Fn(u32) -> Option<EndedThread>,
    running: &dyn Fn(u32) -> Option<Running>,
    number: &mut dyn FnMut(u32, &str) -> u32,
) {
    let mut wanted: BTreeMap<u32, Option<u32>> =
        events.iter().filter(|event| is_timer(event)).map(|event| (event.value as u32, None)).collect();
    wanted.remove(&0);
    for event in events.iter().filter(|event| event.kind == EventKind::Switch) {
        if let Some(name) = wanted.get_mut(&(event.value as u32)) {
            *name = Some(event.name);
        }
    }
    for (&tid, name) in &mut wanted {
        *name = match (ended(tid), running(tid)) {
            // Two threads had this number: which of them armed the timer is not known.
            (Some(ended), _) if ended.is_second => None,
            (Some(_), Some(running)) if !running.is_zombie => None,
            // Not from the evidence: it may have run there before it had this name.
            (Some(ended), _) => Some(number(tid, &ended.name)),
            (None, running) => name.or_else(|| running.map(|running| number(tid, &running.name))),
        };
    }
    for event in events.iter_mut().filter(|event| is_timer(event)) {
        // Without a name, the number does not identify anybody either.
        let named = wanted.get(&(event.value as u32)).copied().flatten();
        event.value = named.map_or(0, |name| event.value | u64::from(name) << 32);
    }
}

fn is_timer(event: &Event) -> bool {
    matches!(event.kind, EventKind::TimerBegin | EventKind::CallbackBegin)
}

/// The thread with this number.
fn running(tid: u32) -> Option<Running> {
    told(&StatLine::of_process(tid)?)
}

fn told(line: &StatLine) -> Option<Running> {
    let is_zombie = matches!(line.state()?, 'Z' | 'X');
    Some(Running { name: printable(line.name()), is_zombie })
}

#[cfg(test)]
mod tests {
    use super::super::test_event::EVENT;
    use super::*;

    fn event(kind: EventKind, value: u64, name: u32) -> Event {
        Event { kind, value, name, ..EVENT }
    }

    /// Who is said to have armed a timer of thread 7's, given what is known about that number.
    fn armed_by(ended: Option<bool>, running: Option<bool>, has_evidence: bool) -> Option<String> {
        let mut names = vec!["", "evidence"].into_iter().map(str::to_owned).collect::<Vec<_>>();
        let mut events = vec![event(EventKind::TimerBegin, 7, 0)];
        if has_evidence {
            events.push(event(EventKind::Switch, 7, 1));
        }
        let ended = ended.map(|is_second| EndedThread { name: "ended".to_owned(), is_second });
        let running = running.map(|is_zombie| Running { name: "running".to_owned(), is_zombie });
        name_armers(&mut events, &|_| ended.clone(), &|_| running.clone(), &mut |_, name| {
            names.push(name.to_owned());
            names.len() as u32 - 1
        });
        events[0].armed_by().map(|(tid, name)| {
            assert_eq!(tid, 7);
            names[name as usize].clone()
        })
    }

    #[test]
    fn whoever_alone_had_the_number_is_named() {
        let (alive, zombie) = (Some(false), Some(true));
        let (once, twice) = (Some(false), Some(true));
        for (ended, running, has_evidence, name) in [
            (None, alive, false, Some("running")),
            (None, alive, true, Some("evidence")),
            (None, None, true, Some("evidence")),
            (None, None, false, None),
            (once, None, false, Some("ended")),
            (once, zombie, false, Some("ended")),
            (once, None, true, Some("ended")),
            (once, alive, false, None),
            (once, alive, true, None),
            (twice, None, true, None),
            (twice, zombie, false, None),
        ] {
            assert_eq!(armed_by(ended, running, has_evidence).as_deref(), name, "{ended:?} {running:?} {has_evidence}");
        }
    }

    #[test]
    fn events_that_are_no_timers_and_timers_of_nobody_stay_as_they_are() {
        let mut events = vec![
            event(EventKind::CallbackBegin, 8, 1),
            event(EventKind::TimerBegin, 0, 1),
            event(EventKind::Waking, 9, 4),
        ];
        name_armers(&mut events, &|_| None, &|_| Some(Running { name: "a".into(), is_zombie: false }), &mut |_, _| 5);
        assert_eq!(events.iter().map(Event::armed_by).collect::<Vec<_>>(), [Some((8, 5)), None, None]);
        assert_eq!(events[2].value, 9);
    }

    #[test]
    fn a_thread_that_is_there_has_a_name() {
        let own = std::fs::read_to_string("/proc/thread-self/comm").unwrap();
        let tid = std::fs::read_link("/proc/thread-self").unwrap();
        let tid = tid.file_name().unwrap().to_str().unwrap().parse().unwrap();
        assert_eq!(running(tid), Some(Running { name: own.trim_end().to_owned(), is_zombie: false }));
        assert_eq!(running(0), None);
    }

    #[test]
    fn brackets_in_a_name_and_lines_cut_short_are_read() {
        let zombie = |name: &str| Some(Running { name: name.to_owned(), is_zombie: true });
        let parse = |text: &str| told(&StatLine::parsed(text)?);
        assert_eq!(parse("12 (a) S (b)) Z 1 2"), zombie("a) S (b)"));
        for text in ["", "12", "12 (", "12 (a)", "12 (a) ", "12 )a( S"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
