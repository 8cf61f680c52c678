//! A little machine to write episodes down with: one CPU unless said, times in microseconds.

pub(crate) mod requests;
pub(crate) mod sums;

use punctual_blame::{Awaited, Detail, Kind, Part, Split, Who, split, split_awaited};
use punctual_recording::episode::{
    Call, Event, EventKind, Frame, IN_SOFTIRQ, LockWaking, Sender, StackSample, Victim, WaitEnd, WakingAct, WordState,
};
use punctual_recording::{Episode, Stage};

pub(crate) const VICTIM: u32 = 100;
pub(crate) const INTERRUPT: u32 = 1 << 16;
pub(crate) const OTHER: (u32, i16) = (7, 120);
pub(crate) const VICTIM_RUNS: (u32, i16) = (VICTIM, 19);
pub(crate) const HOLDER_NOT_SEEN: Who = Who::NotSeen(Awaited::Holder);
pub(crate) const ENDER_NOT_SEEN: Who = Who::NotSeen(Awaited::Ender);

pub(crate) fn in_words(detail: &Option<Detail>) -> Option<String> {
    detail.as_ref().map(Detail::to_string)
}

/// A waking of one that waited for no word in memory, of which nothing is told.
pub(crate) const NOTHING_TOLD: WaitEnd = WaitEnd {
    sleeper: Call::Other,
    waker: None,
    signals: false,
    ends: false,
    thaws: false,
    descriptor: None,
    sender: Sender::NotTold,
};

/// Writes an episode of a FIFO 80 victim on CPU 0, due at 1,000 us.
pub(crate) struct Story {
    pub(crate) episode: Episode,
    pub(crate) current: (u32, i16),
    pub(crate) steal_ns: u64,
}

impl Story {
    /// A stack shows the victim spinning for a lock of the kernel.
    pub(crate) fn spins(&mut self, at_us: u64) {
        self.sampled(&[at_us], &["rwsem_spin_on_owner", "rwsem_down_write_slowpath"]);
        self.episode.sample_period_ns = 1_000_000;
    }

    /// Stacks of the victim at these times, each of them in these functions of the kernel, innermost first.
    pub(crate) fn sampled(&mut self, at_us: &[u64], functions: &[&str]) {
        let first = self.episode.frames.len() as u32;
        let frame = |function: &&str| Frame { function: (*function).into(), module: "kernel".into() };
        self.episode.frames.extend(functions.iter().map(frame));
        self.episode.sample_period_ns = 500_000;
        for &at_us in at_us {
            self.event(at_us, EventKind::VectorBegin, INTERRUPT, 1, 0xffff, 1);
            self.episode.samples.push(StackSample {
                at_ns: at_us * 1_000,
                cpu: 0,
                tid: VICTIM,
                context: INTERRUPT,
                at_late_interrupt: false,
                name: 1,
                frames: (first..first + functions.len() as u32).collect(),
            });
            self.event(at_us + 1, EventKind::VectorEnd, INTERRUPT, 1, 0, 1);
        }
    }

    pub(crate) fn new(current: (u32, i16), end_us: u64) -> Story {
        let victim = Victim { tid: VICTIM, name: "victim".into(), priority: 19, cpu: 0 };
        Story {
            episode: Episode {
                threshold_ns: 100_000,
                usual_delivery_ns: 10_000,
                names: vec!["?".into(), "victim".into(), "other".into(), "first".into(), "spin_fn".into()],
                ..Episode::of(victim, 1_000_000, end_us * 1_000)
            },
            current,
            steal_ns: 1,
        }
    }

    pub(crate) fn event(
        &mut self,
        at_us: u64,
        kind: EventKind,
        context: u32,
        value: u64,
        extra: u64,
        name: u32,
    ) -> &mut Self {
        let (tid, priority) = self.current;
        self.episode.events.push(Event {
            at_ns: at_us * 1_000,
            cpu: 0,
            kind,
            tid,
            priority,
            context,
            steal_ns: self.steal_ns,
            value,
            extra,
            name,
        });
        self
    }

    pub(crate) fn switch(&mut self, at_us: u64, next: (u32, i16), left_state: u32, name: u32) -> &mut Self {
        let extra = u64::from(left_state) << 32 | u64::from(next.1 as u16);
        self.event(at_us, EventKind::Switch, 0, u64::from(next.0), extra, name);
        self.current = next;
        self
    }

    /// The timer interrupt that wakes the victim, from `at_us` for 4 us.
    pub(crate) fn timer(&mut self, at_us: u64, interrupted: u64) -> &mut Self {
        self.event(at_us, EventKind::VectorBegin, INTERRUPT, 1, interrupted, 2);
        self.event(at_us + 1, EventKind::TimerBegin, INTERRUPT, 0, 1_000_000, 4);
        self.event(at_us + 2, EventKind::Waking, INTERRUPT, u64::from(VICTIM), 19, 2);
        self.event(at_us + 3, EventKind::TimerEnd, INTERRUPT, 0, 0, 4);
        self.event(at_us + 4, EventKind::VectorEnd, INTERRUPT, 1, 0, 2)
    }

    pub(crate) fn softirq(&mut self, from_us: u64, to_us: u64, name: u32) -> &mut Self {
        self.event(from_us, EventKind::SoftirqBegin, IN_SOFTIRQ, 8, 0, name);
        self.event(to_us, EventKind::SoftirqEnd, IN_SOFTIRQ, 8, 0, name)
    }
}

/// What happens on another CPU, where this thread is current at first.
pub(crate) fn on_cpu(story: &mut Story, cpu: u32, current: (u32, i16), write: impl FnOnce(&mut Story)) {
    let (here, begin) = (story.current, story.episode.events.len());
    story.current = current;
    write(story);
    story.episode.events[begin..].iter_mut().for_each(|event| event.cpu = cpu);
    story.current = here;
}

/// Somebody lets go of the lock in the word at `place`, with which the woken thread waits for it.
pub(crate) fn lets_go(place: u32) -> LockWaking {
    LockWaking { act: WakingAct::WakesWord, same_word: Some(true), state: WordState::Free, place, owner: 0 }
}

/// The victim's activation: due at 1,000 us, in at 1,010, asleep again at 5,000.
pub(crate) fn response(build: impl FnOnce(&mut Story)) -> Episode {
    let mut story = Story::new((0, 120), 5_000);
    story.episode.stage = Stage::Response;
    story.timer(1_002, 0);
    story.switch(1_010, VICTIM_RUNS, 0, 1);
    build(&mut story);
    story.switch(5_000, OTHER, 1, 2);
    story.episode
}

/// The parts of such an activation, which add up; these are names of the story from number 5 on.
pub(crate) fn parts_of_response(names: [&str; 3], build: impl FnOnce(&mut Story)) -> Vec<Part> {
    parts(&response(|story| {
        story.episode.names.extend(names.map(String::from));
        build(story);
    }))
}

/// The split of an episode, whose parts add up to it.
pub(crate) fn added_up(episode: &Episode) -> Split {
    let split = split(episode);
    assert_eq!(split.parts.iter().map(|part| part.ns).sum::<u64>(), episode.total_ns());
    split
}

pub(crate) fn parts(episode: &Episode) -> Vec<Part> {
    added_up(episode).parts
}

/// How long the parts of this kind and name are together, us.
pub(crate) fn us_of(episode: &Episode, kind: Kind, name: &str) -> u64 {
    let its = |part: &&Part| part.kind == kind && part.who.name() == name;
    parts(episode).iter().filter(its).map(|part| part.ns / 1_000).sum()
}

/// The parts of the time that somebody waits for what the victim does, which add up.
pub(crate) fn awaited_parts(episode: &Episode) -> Vec<Part> {
    let parts = split_awaited(episode).parts;
    assert_eq!(parts.iter().map(|part| part.ns).sum::<u64>(), episode.total_ns());
    parts
}
