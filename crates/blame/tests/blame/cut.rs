//! Parts add up whatever becomes of the evidence: a machine's whole story, the same cut off at its ends, with events missing,
//! and forged.

use crate::support::sums::{adds_up, depth};
use crate::support::{INTERRUPT, NOTHING_TOLD, Story, VICTIM, lets_go};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use punctual_blame::{Kind, chain};
use punctual_recording::episode::{
    Call, Event, EventKind, LEFT_FOR_IO, LEFT_FOR_LOCK, LEFT_FROZEN, LEFT_STOPPED, LEFT_UNINTERRUPTIBLE, WaitEnd,
};
use punctual_recording::{Episode, Stage};
use std::cell::Cell;

/// Threads beside the victim, by number from here on.
const FIRST: u32 = 1;
const THREADS: u32 = 6;
const CPUS: u32 = 2;
const STATES: [u32; 7] = [
    1,
    1 | LEFT_FOR_LOCK,
    1 | LEFT_FOR_LOCK,
    LEFT_UNINTERRUPTIBLE,
    LEFT_UNINTERRUPTIBLE | LEFT_FOR_IO,
    LEFT_STOPPED,
    LEFT_FROZEN,
];
const READ: WaitEnd = WaitEnd { sleeper: Call::Read, waker: Some(Call::Write), ..NOTHING_TOLD };

#[derive(Clone, Copy, PartialEq)]
enum State {
    Runs(u32),
    Ready,
    Sleeps,
}

/// A machine whose threads sleep, wake one another and wait for locks and pages, as such machines do.
struct Machine {
    story: Story,
    at_ns: u64,
    states: Vec<(u32, State)>,
}

impl Machine {
    fn new(stage: Stage) -> Machine {
        let mut story = Story::new((0, 120), 0);
        story.episode.stage = stage;
        let states =
            (0..THREADS).map(|number| (FIRST + number, State::Ready)).chain([(VICTIM, State::Sleeps)]).collect();
        Machine { story, at_ns: 0, states }
    }

    fn current(&self, cpu: u32) -> u32 {
        self.states.iter().find(|(_, state)| *state == State::Runs(cpu)).map_or(0, |(tid, _)| *tid)
    }

    fn set(&mut self, tid: u32, state: State) {
        self.states.iter_mut().filter(|(other, _)| *other == tid).for_each(|(_, old)| *old = state);
    }

    /// One of those in a state, which a number chooses.
    fn choose(&self, state: State, number: u32) -> Option<u32> {
        let those: Vec<u32> = self.states.iter().filter(|(_, own)| *own == state).map(|(tid, _)| *tid).collect();
        those.get(number as usize % those.len().max(1)).copied()
    }

    fn note(&mut self, cpu: u32, kind: EventKind, context: u32, value: u64, extra: u64) {
        let tid = self.current(cpu);
        let (at_ns, priority) = (self.at_ns, if tid == VICTIM { 19 } else { 120 });
        let name = 1 + tid % 4;
        self.story.episode.events.push(Event {
            at_ns,
            cpu,
            kind,
            tid,
            priority,
            context,
            steal_ns: at_ns / 50_000,
            value,
            extra,
            name,
        });
        self.at_ns += 500;
    }

    fn switch(&mut self, cpu: u32, left: u32, number: u32) {
        let (from, next) = (self.current(cpu), self.choose(State::Ready, number).unwrap_or(0));
        if from == next {
            return;
        }
        let priority: u64 = if next == VICTIM { 19 } else { 120 };
        self.note(cpu, EventKind::Switch, 0, next.into(), u64::from(left) << 32 | priority);
        self.set(from, if left == 0 { State::Ready } else { State::Sleeps });
        self.set(next, State::Runs(cpu));
    }

    fn wake(&mut self, cpu: u32, context: u32, number: u32) {
        let Some(sleeper) = self.choose(State::Sleeps, number) else { return };
        let told = [0, READ.bits(), lets_go(7).bits(), READ.bits(), lets_go(8).bits()];
        let told = if context == 0 { told[number as usize / 8 % told.len()] } else { 0 };
        self.note(cpu, EventKind::Waking, context, sleeper.into(), told | 120);
        self.set(sleeper, State::Ready);
    }

    /// What begins and ends around nothing.
    fn pair(&mut self, cpu: u32, context: u32, (begin, end): (EventKind, EventKind), value: u64, ns: u64) {
        self.note(cpu, begin, context, value, 0);
        self.at_ns += ns;
        self.note(cpu, end, context, value, 0);
    }

    fn act(&mut self, (action, cpu, number, ns): (u32, u32, u32, u64)) {
        self.at_ns += ns;
        match action {
            0..=2 => self.switch(cpu, STATES[number as usize % STATES.len()], number / 8),
            3 => self.switch(cpu, 0, number),
            4..=6 => self.wake(cpu, 0, number),
            7 => {
                self.note(cpu, EventKind::VectorBegin, INTERRUPT, 1, 0);
                self.note(cpu, EventKind::TimerBegin, INTERRUPT, 0, self.at_ns.saturating_sub(2_000));
                self.wake(cpu, INTERRUPT, number);
                self.note(cpu, EventKind::TimerEnd, INTERRUPT, 0, 0);
                self.note(cpu, EventKind::VectorEnd, INTERRUPT, 1, 0);
            }
            8 => self.pair(cpu, 1 << 8, (EventKind::SoftirqBegin, EventKind::SoftirqEnd), 3, ns),
            9 => self.pair(cpu, 0, (EventKind::LockBegin, EventKind::LockEnd), u64::from(number % 3), ns),
            10 => self.pair(cpu, 0, (EventKind::FaultUser, EventKind::FaultEnd), u64::from(number), ns),
            _ => self.pair(cpu, 0, (EventKind::WorkBegin, EventKind::WorkEnd), 0, ns),
        }
    }
}

type Action = (u32, u32, u32, u64);

fn whole() -> impl Strategy<Value = Episode> {
    let action = (0..12u32, 0..CPUS, any::<u32>(), 0..60_000u64);
    let stages = prop::sample::select(&[Stage::Response, Stage::Request][..]);
    (prop::collection::vec(action, 20..120), stages, 0..40u64).prop_map(
        |(actions, stage, begins): (Vec<Action>, _, _)| {
            let mut machine = Machine::new(stage);
            actions.into_iter().for_each(|action| machine.act(action));
            let mut episode = machine.story.episode;
            (episode.expected_ns, episode.end_ns) = (machine.at_ns * begins / 100, machine.at_ns);
            episode
        },
    )
}

/// What is done to the evidence: the events from and to which it goes, and what becomes of single ones.
fn harm() -> impl Strategy<Value = (usize, usize, Vec<(u8, usize, u64)>)> {
    let one = (0..6u8, any::<usize>(), any::<u64>());
    (0..40usize, 0..40usize, prop::collection::vec(one, 0..12))
}

fn harmed(episode: &Episode, (front, back, changes): &(usize, usize, Vec<(u8, usize, u64)>)) -> Episode {
    let mut episode = episode.clone();
    let events = &mut episode.events;
    events.drain(..(*front).min(events.len()));
    events.truncate(events.len().saturating_sub(*back));
    for &(change, place, by) in changes {
        if events.is_empty() {
            break;
        }
        let place = place % events.len();
        match change {
            0 => _ = events.remove(place),
            1 => events.push(events[place]),
            2 => events[place].at_ns = by % (episode.end_ns + 1),
            3 => events[place].cpu = (by % u64::from(CPUS + 1)) as u32,
            4 => events[place].value = by % u64::from(VICTIM + 1),
            _ => events[place].extra ^= by,
        }
    }
    episode
}

#[test]
fn parts_add_up_whatever_becomes_of_the_evidence() {
    // The same cases every time: how many of them say something must not be left to luck.
    let config = ProptestConfig { cases: 4_000, ..ProptestConfig::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let (cases, waits, deep, unknown) = (Cell::new(0), Cell::new(0), Cell::new(0), Cell::new(0));
    let count = |counter: &Cell<u32>, is_so: bool| counter.set(counter.get() + u32::from(is_so));
    let found = runner.run(&(whole(), harm()), |(episode, harm)| {
        for evidence in [&episode, &harmed(&episode, &harm)] {
            let split = adds_up(evidence)?;
            chain(evidence);
            let inside = || split.parts.iter().flat_map(|part| &part.inside);
            count(&cases, true);
            count(&waits, inside().next().is_some());
            count(&deep, inside().any(|inside| depth(inside) > 1));
            count(&unknown, split.parts.iter().any(|part| part.unknown_ns > 0 && part.kind != Kind::Unknown));
        }
        Ok(())
    });
    found.unwrap();
    eprintln!(
        "{} episodes: {} with parts within parts, {} with deeper ones, {} with unknown in known ones",
        cases.get(),
        waits.get(),
        deep.get(),
        unknown.get()
    );
    assert!(cases.get() == 8_000 && waits.get() >= 2_000 && deep.get() >= 50 && unknown.get() >= 1_000);
}
