//! Recordings of any size, whose contents are made up.

use punctual_recording::episode::{Event, EventKind, IN_INTERRUPT, Victim};
use punctual_recording::{
    Configuration, Counters, EndReason, Ended, Episode, EpisodeWriter, Provenance, RecorderSummary, Stamps, Task,
    Wakeup, Writer, write_recorder_summary,
};
use std::path::Path;

const MS: u64 = 1_000_000;
/// Wakeups that are written together: as many as a hundred threads have in a second.
const TOGETHER: u64 = 100_000;
/// Events of an episode, one in each step from 5 ms before it was due on: about 27 kB.
const EVENTS: u64 = 660;
const STEP_NS: u64 = 8_000;
const BEFORE_NS: u64 = 5 * MS;
/// In this turn the late thread is woken, and gets its CPU.
const LATE_TURN: u64 = 108;
const LATE: u32 = 9;

fn begin(path: &Path) -> Writer {
    let configuration =
        Configuration { interval_ns: MS, policy: "fifo".to_owned(), bpf: true, ..Configuration::default() };
    let provenance = Provenance { configuration, ..Provenance::default() };
    let task = |tid| Task {
        measure: "fifo:80".to_owned(),
        tid,
        cpu: Some(tid % 2),
        period_ns: MS,
        counters: Counters::default(),
    };
    Writer::create(path, provenance, vec![task(100), task(101)]).expect("a recording")
}

fn end(writer: Writer) {
    let ended = Ended { reason: EndReason::Completed, detail: None, at_ns: 0 };
    writer.finish(ended, Vec::new()).expect("a recording");
}

fn push(writer: &mut Writer, number: u64) {
    let (expected, late) = (5_000 * MS + number / 2 * MS, 2_000 + number * 37 % 90_000);
    let stamps = Stamps {
        expected,
        irq: expected + late / 2,
        softirq: 0,
        waking: expected + late / 2 + 300,
        switch_in: expected + late + 300,
        user: expected + late + 900,
    };
    let (task, cpu) = ((number % 2) as usize, (number % 2) as u32);
    writer.push(task, &Wakeup { steal_ns: Some(number % 3), ..Wakeup::from_stamps(&stamps, cpu, 100 + cpu) });
}

/// Makes a recording of so many wakeups of two threads.
pub(crate) fn wakeups(path: &Path, many: u64) {
    let mut writer = begin(path);
    for number in 0..many {
        push(&mut writer, number);
        if (number + 1).is_multiple_of(TOGETHER) {
            writer.flush().expect("a recording");
        }
    }
    end(writer);
}

/// Makes a recording with so many late wakeups and their evidence.
pub(crate) fn episodes(path: &Path, many: u64) {
    let mut writer = begin(path);
    (0..many).for_each(|number| push(&mut writer, number));
    let mut episodes = EpisodeWriter::create(writer.directory()).expect("a file of episodes");
    (1..=many).for_each(|id| episodes.push(&episode(id)).expect("an episode"));
    let summary =
        RecorderSummary { late: many, kept: many, nesting_known: true, cpus: 2, ..RecorderSummary::default() };
    write_recorder_summary(writer.directory(), &summary).expect("a summary");
    end(writer);
}

fn episode(id: u64) -> Episode {
    let expected_ns = 5_000 * MS + id * 20 * MS;
    let events: Vec<Event> = (0..EVENTS).map(|number| event(expected_ns - BEFORE_NS, number)).collect();
    let is_end = |event: &&Event| event.kind == EventKind::Switch && event.value == u64::from(LATE);
    let end_ns = events.iter().find(is_end).map_or(expected_ns, |event| event.at_ns);
    let victim = Victim { tid: LATE, name: "measure-1".to_owned(), priority: 19, cpu: 1 };
    Episode {
        id,
        threshold_ns: 100_000,
        usual_delivery_ns: 1_000,
        names: ["one", "other", "a_timer", "measure-1"].map(str::to_owned).to_vec(),
        events,
        ..Episode::of(victim, expected_ns, end_ns)
    }
}

/// Two threads take turns; in each, a timer's interrupt wakes one of them, or the late one.
fn event(begin_ns: u64, number: u64) -> Event {
    const TURN: [EventKind; 6] = [
        EventKind::VectorBegin,
        EventKind::TimerBegin,
        EventKind::Waking,
        EventKind::TimerEnd,
        EventKind::VectorEnd,
        EventKind::Switch,
    ];
    let (turn, kind) = (number / TURN.len() as u64, TURN[(number % TURN.len() as u64) as usize]);
    let thread_in = |turn: u64| if turn == LATE_TURN { LATE } else { 7 + (turn % 2) as u32 };
    // The name of a thread that is switched to, or of the one that has the CPU.
    let name_of = |tid: u32| if tid == LATE { 3 } else { tid - 7 };
    let (now, next) = (turn.checked_sub(1).map_or(8, thread_in), thread_in(turn));
    let at_ns = begin_ns + number * STEP_NS;
    let (value, name) = match kind {
        EventKind::Switch => (u64::from(next), name_of(next)),
        EventKind::Waking => (u64::from(next), name_of(now)),
        EventKind::TimerBegin | EventKind::TimerEnd => (0, 2),
        _ => (1, name_of(now)),
    };
    Event {
        at_ns,
        cpu: 1,
        kind,
        tid: now,
        priority: 120,
        context: if kind == EventKind::Switch { 0 } else { IN_INTERRUPT & IN_INTERRUPT.wrapping_neg() },
        steal_ns: 1_000_000 + number,
        value,
        extra: if kind == EventKind::TimerBegin { at_ns - 2_000 } else { 120 },
        name,
    }
}
