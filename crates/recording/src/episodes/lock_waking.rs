//! What a waking says of the sleep that it ends: whether whoever woke the thread released the lock that it slept for
//! and, if the recording has it, why each of the two had called the kernel.

use crate::episodes::episode::Event;
use punctual_codes::{Call, EventKind};

/// In `extra` of [`EventKind::LockBegin`]: the lock belongs to the program and lends priority, and the event's
/// [`Event::value`] is the thread that holds it.
pub const LOCK_OF_PROGRAM: u64 = 1 << 16;

/// What the current thread was doing when it woke a thread that slept for a lock of its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WakingAct {
    /// The recording does not say: it is old, or this architecture's system calls are not known.
    NotTold,
    /// Nothing that releases a lock.
    Else,
    /// It woke threads that wait for a word in memory.
    WakesWord,
    /// It released a lock that lends priority.
    UnlocksWord,
    /// It made threads that waited for one word wait for another.
    Requeues,
    /// It sent a signal.
    Signals,
    /// It was ending: the kernel took back what it had.
    Ends,
    /// It released the sleeper, which the freezer of a control group had stopped in its sleep: what the sleeper had
    /// waited for had already come. A sleeper that has to continue to wait is not woken.
    Thaws,
}

/// The content of the word when the waker woke the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordState {
    /// It was not read.
    NotRead,
    /// As in a lock that nobody holds.
    Free,
    /// As in a lock that somebody holds: somebody else was faster.
    Held,
    /// A value that no known lock has: the sleeper waited for something else.
    NoLock,
}

/// What the waking of a thread that slept for a lock of its program shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockWaking {
    /// What the waker was doing.
    pub act: WakingAct,
    /// Whether it did that with the word that the sleeper waited for; `None` if no word was involved.
    pub same_word: Option<bool>,
    /// The content of the word.
    pub state: WordState,
    /// Bits of the word's location, to distinguish words: the same for all processes that share it, and different for
    /// processes that have different words at the same address.
    pub place: u32,
    /// The thread that held the lock, according to the kernel or the word; 0 if neither says.
    pub owner: u32,
}

/// What the waking of a thread that did not wait for a word in memory shows, if the recording has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitEnd {
    /// Why the sleeper had called the kernel.
    pub sleeper: Call,
    /// Why the current thread had called it; in an interrupt this has nothing to do with the waking.
    pub waker: Option<Call>,
    /// Whether the current thread was sending a signal.
    pub signals: bool,
    /// Whether it was ending.
    pub ends: bool,
    /// Whether it released a thread that the freezer had stopped; see [`WakingAct::Thaws`].
    pub thaws: bool,
    /// The number of the descriptor that the sleeper read from, or [`ONE_POLLED`]; `None` if it had called for
    /// something else, if the recording does not say, and from number 1,022 on.
    pub descriptor: Option<u32>,
    /// The sender of what was delivered by the softirq in which this happened.
    pub sender: Sender,
}

/// Who sent the packet whose delivery ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// The recording does not say: there was no packet, or the programs that see packets were not loaded.
    NotTold,
    /// No thread of this machine, as far as was seen: another machine, or the kernel within a softirq.
    NoThread,
    /// A thread of this machine, which may have ended since.
    Thread(u32),
}

/// Stands in place of a descriptor's number: the sleeper had polled just one descriptor.
pub const ONE_POLLED: u32 = 1_022;

const ACT_BIT: u32 = 16;
const WORD_BIT: u32 = 19;
const STATE_BIT: u32 = 21;
const PLACE_BIT: u32 = 24;
const OWNER_BIT: u32 = 42;

/// These fields replace the place if the word is [`NO_WORD`]; then the sender replaces the owner.
const SLEEPER_BIT: u32 = 24;
const WAKER_BIT: u32 = 28;
/// One more than the number of the descriptor.
const DESCRIPTOR_BIT: u32 = 32;
const DESCRIPTOR_BITS: u64 = 0x3ff;
const NO_WORD: u64 = 3;
/// Says, in the sender's place, that there was no thread.
const NO_THREAD: u32 = 1;

const ACTS: [WakingAct; 8] = [
    WakingAct::NotTold,
    WakingAct::Else,
    WakingAct::WakesWord,
    WakingAct::UnlocksWord,
    WakingAct::Requeues,
    WakingAct::Signals,
    WakingAct::Ends,
    WakingAct::Thaws,
];
const WORDS: [Option<bool>; 3] = [None, Some(true), Some(false)];
const STATES: [WordState; 4] = [WordState::NotRead, WordState::Free, WordState::Held, WordState::NoLock];

impl LockWaking {
    /// Whether the waker released the lock that the sleeper waited for, which makes it the holder.
    pub fn let_go(&self) -> bool {
        self.same_word == Some(true)
            && matches!(self.act, WakingAct::WakesWord | WakingAct::UnlocksWord)
            && self.state != WordState::NoLock
    }

    /// The bits in [`Event::extra`], above the woken thread's priority.
    pub fn bits(&self) -> u64 {
        let position = |found: Option<usize>| found.unwrap_or(0) as u64;
        position(ACTS.iter().position(|act| *act == self.act)) << ACT_BIT
            | position(WORDS.iter().position(|word| *word == self.same_word)) << WORD_BIT
            | position(STATES.iter().position(|state| *state == self.state)) << STATE_BIT
            | u64::from(self.place & 0x3_ffff) << PLACE_BIT
            | u64::from(self.owner & 0x3f_ffff) << OWNER_BIT
    }
}

impl WaitEnd {
    /// The bits in [`Event::extra`], above the woken thread's priority.
    pub fn bits(&self) -> u64 {
        let act = match (self.ends, self.thaws, self.signals) {
            (true, ..) => WakingAct::Ends,
            (false, true, _) => WakingAct::Thaws,
            (false, false, true) => WakingAct::Signals,
            (false, false, false) => WakingAct::Else,
        };
        let act = ACTS.iter().position(|known| *known == act).unwrap_or(0) as u64;
        let waker = self.waker.map_or(0, Call::code);
        let sender = match self.sender {
            Sender::NotTold => 0,
            Sender::NoThread => NO_THREAD,
            Sender::Thread(tid) => tid & 0x3f_ffff,
        };
        act << ACT_BIT
            | NO_WORD << WORD_BIT
            | u64::from(self.sleeper.code()) << SLEEPER_BIT
            | u64::from(waker) << WAKER_BIT
            | self.descriptor.map_or(0, |number| (u64::from(number) + 1) & DESCRIPTOR_BITS) << DESCRIPTOR_BIT
            | u64::from(sender) << OWNER_BIT
    }
}

impl Event {
    /// For a waking, what it shows of a wait that was not for a word in memory. `None` if the recording does not say
    /// because such evidence was not requested.
    pub fn wait_end(&self) -> Option<WaitEnd> {
        if self.kind != EventKind::Waking || self.extra >> WORD_BIT & 3 != NO_WORD {
            return None;
        }
        let call = |bit: u32| Call::from_code(self.extra >> bit & 0xf);
        let told = self.lock_waking();
        let sender = match told.owner {
            0 => Sender::NotTold,
            NO_THREAD => Sender::NoThread,
            tid => Sender::Thread(tid),
        };
        let is = |act| told.act == act;
        Some(WaitEnd {
            sleeper: call(SLEEPER_BIT)?,
            waker: call(WAKER_BIT),
            signals: is(WakingAct::Signals),
            ends: is(WakingAct::Ends),
            thaws: is(WakingAct::Thaws),
            descriptor: ((self.extra >> DESCRIPTOR_BIT & DESCRIPTOR_BITS) as u32).checked_sub(1),
            sender,
        })
    }

    /// For a waking, what it shows of a sleep for a lock of the program.
    pub fn lock_waking(&self) -> LockWaking {
        let extra = if self.kind == EventKind::Waking { self.extra } else { 0 };
        let field = |bit: u32, bits: u32| (extra >> bit & ((1 << bits) - 1)) as usize;
        LockWaking {
            act: ACTS.get(field(ACT_BIT, 3)).copied().unwrap_or(WakingAct::NotTold),
            same_word: WORDS.get(field(WORD_BIT, 2)).copied().flatten(),
            state: STATES[field(STATE_BIT, 2)],
            place: field(PLACE_BIT, 18) as u32,
            owner: field(OWNER_BIT, 22) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_waking_tells_is_read_as_it_is_written() {
        let event = |extra| Event {
            at_ns: 1,
            cpu: 0,
            kind: EventKind::Waking,
            tid: 7,
            priority: 120,
            context: 0,
            steal_ns: 0,
            value: 100,
            extra,
            name: 0,
        };
        let mut seen = 0;
        for act in ACTS {
            for same_word in WORDS {
                for state in STATES {
                    let waking = LockWaking { act, same_word, state, place: 0x2_0001, owner: 0x3f_fffe };
                    assert_eq!(event(waking.bits() | 19).lock_waking(), waking);
                    assert_eq!(event(waking.bits() | 19).other_priority(), 19);
                    seen += u32::from(waking.let_go());
                }
            }
        }
        // Two acts, in three states of the same word.
        assert_eq!(seen, 6);
        let mut looked_at = 0;
        for sleeper in Call::ALL {
            for waker in Call::ALL.map(Some).into_iter().chain([None]) {
                for (signals, ends, thaws, descriptor, sender) in [
                    (false, false, false, None, Sender::NotTold),
                    (true, false, false, Some(0), Sender::NotTold),
                    (false, true, false, None, Sender::NotTold),
                    (false, false, true, Some(1_021), Sender::NotTold),
                    (false, false, false, Some(ONE_POLLED), Sender::NoThread),
                    (false, false, false, Some(3), Sender::Thread(0x3f_ffff)),
                ] {
                    let end = WaitEnd { sleeper, waker, signals, ends, thaws, descriptor, sender };
                    assert_eq!(event(end.bits() | 19).wait_end(), Some(end));
                    assert!(!event(end.bits() | 19).lock_waking().let_go());
                    looked_at += 1;
                }
            }
        }
        assert_eq!(looked_at, Call::ALL.len() * (Call::ALL.len() + 1) * 6);
        assert_eq!(event(19).wait_end(), None);
        assert_eq!(event(19).lock_waking().act, WakingAct::NotTold);
        assert!(!event(u64::MAX).lock_waking().let_go());
    }
}
