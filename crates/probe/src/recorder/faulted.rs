//! What is mapped where a late thread waited for a page: the file that its process has there.

use super::late_wakeup::LateWakeup;
use punctual_recording::episode::{Event, EventKind};
use std::io::Read;

/// A page that arrives sooner is not looked up, ns.
const LONG_NS: u64 = 20_000;
/// How much of the kernel's list is read, bytes.
const MAX_MAPS_BYTES: u64 = 4 << 20;

/// Names those of the late thread's page faults that took long.
pub(super) fn name_faults(events: &mut [Event], late: &LateWakeup, number: &mut dyn FnMut(&str) -> u32) {
    let long = long_faults(events, late);
    if long.is_empty() {
        return;
    }
    let mut text = Vec::new();
    if let Ok(file) = std::fs::File::open(format!("/proc/{}/maps", late.tid)) {
        // For a thread that ends meanwhile, the kernel does not list everything it had mapped.
        let _ = file.take(MAX_MAPS_BYTES).read_to_end(&mut text);
    }
    let text = String::from_utf8_lossy(&text);
    for index in long {
        if let Some(words) = memory_at(&text, events[index].value) {
            events[index].name = number(&words);
        }
    }
}

/// Positions of the faults within the lateness whose end, or the thread's next event, did not come soon.
fn long_faults(events: &[Event], late: &LateWakeup) -> Vec<usize> {
    let is_own = |event: &Event| event.tid == late.tid && event.is_the_threads_own();
    let mut own: Vec<usize> = (0..events.len()).filter(|&index| is_own(&events[index])).collect();
    own.sort_by_key(|&index| events[index].at_ns);
    let is_fault = |event: &Event| {
        matches!(event.kind, EventKind::FaultUser | EventKind::FaultKernel)
            && (late.expected_ns..late.end_ns).contains(&event.at_ns)
    };
    let ended = |position: usize| {
        let later = own[position + 1..].iter().map(|&index| &events[index]);
        let end = later.into_iter().find(|event| event.kind == EventKind::FaultEnd || is_fault(event));
        end.map_or(late.end_ns, |event| event.at_ns)
    };
    let long = own.iter().enumerate().filter(|&(position, &index)| {
        is_fault(&events[index]) && ended(position).saturating_sub(events[index].at_ns) >= LONG_NS
    });
    long.map(|(_, &index)| index).collect()
}

/// What a process has mapped at an address, according to the kernel's list.
fn memory_at(maps: &str, address: u64) -> Option<String> {
    let path = maps.lines().find_map(|line| {
        let mut words = line.splitn(6, ' ');
        let (start, end) = words.next()?.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        let holds = (number(start)?..number(end)?).contains(&address);
        holds.then(|| words.nth(4).unwrap_or("").trim())
    })?;
    Some(match path {
        "" => "anonymous memory".to_owned(),
        "[heap]" => "the heap".to_owned(),
        "[stack]" => "the stack".to_owned(),
        path => path.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::test_event::EVENT;
    use super::*;
    use punctual_recording::Stage;

    const MAPS: &str = "\
55a000000000-55a000002000 r-xp 00001000 fe:00 123                        /usr/bin/x y
55a000400000-55a000500000 rw-p 00000000 00:00 0                          [heap]
7f0000000000-7f0000001000 rw-s 00000000 fe:00 9                          /var/data (deleted)
7f0000002000-7f0000003000 rw-p 00000000 00:00 0 
";

    #[test]
    fn an_address_lies_in_a_file_or_in_memory_without_one() {
        assert_eq!(memory_at(MAPS, 0x55a0_0000_0010).as_deref(), Some("/usr/bin/x y"));
        assert_eq!(memory_at(MAPS, 0x55a0_0040_0000).as_deref(), Some("the heap"));
        assert_eq!(memory_at(MAPS, 0x7f00_0000_0fff).as_deref(), Some("/var/data (deleted)"));
        assert_eq!(memory_at(MAPS, 0x7f00_0000_1000), None);
        assert_eq!(memory_at(MAPS, 0x7f00_0000_2001).as_deref(), Some("anonymous memory"));
        assert_eq!(memory_at("nonsense\n", 7), None);
    }

    #[test]
    fn only_the_late_threads_long_faults_are_looked_up() {
        let event = |at_ns, tid, kind, value| Event { at_ns, tid, kind, value, ..EVENT };
        let late = LateWakeup {
            tid: std::process::id(),
            name: "late".into(),
            priority: 120,
            cpu: 0,
            expected_ns: 1_000,
            end_ns: 1_000_000,
            stage: Stage::Response,
            is_asked_for: false,
            waits_for_answers: false,
            may_sleep_within: false,
            has_period: false,
            asker_unknown: false,
            connections: super::super::late_wakeup::Connections::default(),
        };
        let tid = late.tid;
        let here = std::ptr::from_ref(&MAPS).addr() as u64;
        let mut events = vec![
            event(500, tid, EventKind::FaultUser, here),
            event(2_000, tid, EventKind::FaultUser, here),
            event(3_000, tid, EventKind::FaultEnd, 0),
            event(4_000, 1, EventKind::FaultUser, here),
            event(50_000, tid, EventKind::FaultUser, here),
            event(90_000, tid, EventKind::FaultEnd, 0),
            event(999_990, tid, EventKind::FaultUser, here),
        ];
        let mut names = Vec::new();
        name_faults(&mut events, &late, &mut |name| {
            names.push(name.to_owned());
            1
        });
        assert_eq!(events.iter().map(|event| event.name).collect::<Vec<_>>(), [0, 0, 0, 0, 1, 0, 0]);
        let program = std::env::current_exe().unwrap();
        assert_eq!(names, [program.to_str().unwrap()]);
    }
}
