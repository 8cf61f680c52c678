//! The memory of one program's marks, as `include/punctual.h` writes it.
//!
//! The program may write anything: whatever does not match its seal, or says something impossible, is refused; and if
//! the program changes what only the log changes, or counts what cannot have been, nothing more is read.

use super::merge::Noted;
use super::rings::dropped;
use punctual_kernel::bpf::SharedMemory;
use punctual_kernel::{Refused, clock};
use punctual_recording::episode::{Event, EventKind};
use punctual_recording::printable;
use rustix::fs::{MemfdFlags, SealFlags};
use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const MAGIC: u64 = 0x7075_6e6d_6172_6b31;
pub(super) const SLOTS: u64 = 65_536;
pub(super) const FIRST_SLOT: usize = 4096;
const BYTES: usize = FIRST_SLOT + SLOTS as usize * size_of::<Slot>();

/// `struct punctual_marks`.
#[repr(C)]
pub(super) struct Header {
    pub(super) magic: AtomicU64,
    pub(super) open: AtomicU32,
    reserved: [u32; 13],
    pub(super) head: AtomicU64,
    pub(super) full: AtomicU64,
    pad: [u64; 6],
    pub(super) tail: AtomicU64,
}

/// `struct punctual_slot`, as words.
pub(super) type Slot = [u64; 8];

/// A mark that is unfinished for this long never will be finished: its program has died meanwhile, or was stopped.
const PATIENCE_NS: u64 = 100_000_000;
/// A mark that finds no room takes its program longer than this on any machine: an atomic addition.
const MIN_NS: u64 = 2;

/// Why a slot is no mark.
#[derive(Debug, PartialEq, Eq)]
enum NoMark {
    Unfinished,
    Impossible,
}

/// When a round began, and how far the programs were after that.
type Round = (u64, u64);

pub(super) struct MarkRing {
    memory: SharedMemory,
    next: u64,
    rounds: VecDeque<Round>,
    cpus: u32,
    full: u64,
    /// What `tail` was before it was last moved on.
    tail_before: u64,
    /// It had no room left at some point.
    was_full: bool,
    /// When it was last looked at.
    looked_ns: u64,
    refused: u64,
    /// More than were to be taken.
    over: u64,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// What was begun before is still read.
    Closed,
    /// Nothing more is read: its program broke it.
    Broken,
}

impl MarkRing {
    /// Makes the memory, and the descriptor to hand out. A mark that claims to be from before `now_ns` is not taken.
    pub(super) fn make(now_ns: u64, cpus: u32) -> Result<(MarkRing, OwnedFd), Refused> {
        let failed = |error: rustix::io::Errno| Refused::because("sharing memory for marks", error.to_string());
        let file = rustix::fs::memfd_create("punctual-marks", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)
            .map_err(failed)?;
        rustix::fs::ftruncate(&file, BYTES as u64).map_err(failed)?;
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL).map_err(failed)?;
        let memory = SharedMemory::map(file.as_fd(), 0, BYTES, true)?;
        let header = memory.at::<Header>(0, 1).as_ptr();
        // SAFETY: within the mapping, and nobody else has it yet.
        unsafe {
            (*header).magic.store(MAGIC, Ordering::Relaxed);
            (*header).open.store(1, Ordering::Release);
        }
        let ring = MarkRing {
            memory,
            next: 0,
            rounds: VecDeque::from([(now_ns, 0)]),
            cpus,
            full: 0,
            tail_before: 0,
            was_full: false,
            looked_ns: clock::monotonic_ns(),
            refused: 0,
            over: 0,
            state: State::Open,
        };
        Ok((ring, file))
    }

    /// The memory, which its program writes.
    pub(super) fn memory(&self) -> &SharedMemory {
        &self.memory
    }

    pub(super) fn header(&self) -> &Header {
        // SAFETY: within the mapping, which lives as long as this; all that others change is read by atomic loads.
        unsafe { self.memory.at::<Header>(0, 1).as_ref() }
    }

    /// Marks that found no room, or exceeded what is taken.
    pub(super) fn dropped(&self) -> u64 {
        self.full + self.over
    }

    /// Marks that were not finished, or said something impossible.
    pub(super) fn refused(&self) -> u64 {
        self.refused
    }

    /// Whether its program broke it.
    pub(super) fn is_broken(&self) -> bool {
        self.state == State::Broken
    }

    /// Whether nothing is left to read in it, as far as anybody knows.
    pub(super) fn is_empty(&self) -> bool {
        self.is_broken() || self.header().head.load(Ordering::Acquire) == self.next
    }

    /// Programs make no more marks; those that were begun are still read.
    pub(super) fn close(&mut self) {
        if self.state == State::Open {
            self.state = State::Closed;
        }
        self.header().open.store(0, Ordering::Relaxed);
    }

    /// Whether the memory's heads say what no program says that uses the header: only the log changes `open` and
    /// `tail`; `head` never goes back, nor past the available room; `full` counts only when there was no room, and no
    /// faster than a program can count.
    fn is_disordered(&mut self, began_ns: u64, head: u64, lost: u64) -> bool {
        let header = self.header();
        let is_ours = header.open.load(Ordering::Relaxed) == 1
            && header.magic.load(Ordering::Relaxed) == MAGIC
            && header.tail.load(Ordering::Relaxed) == self.next;
        let begun = head.wrapping_sub(self.next);
        // It may have been full while it was being emptied.
        self.was_full |= head.wrapping_sub(self.tail_before) >= SLOTS;
        let passed_ns = clock::monotonic_ns().saturating_sub(self.looked_ns);
        let max_lost = if self.was_full { passed_ns / MIN_NS } else { 0 };
        self.looked_ns = began_ns;
        !is_ours || begun > SLOTS || lost > max_lost
    }

    /// Takes what has come, but no more than this many marks: the others are dropped. The round began at `now_ns`.
    /// Returns the time up to which everything has come.
    pub(super) fn drain(&mut self, now_ns: u64, max_marks: usize, noted: &mut Vec<Noted>) -> u64 {
        if self.is_broken() {
            return now_ns;
        }
        let began_ns = clock::monotonic_ns();
        // What is counted as lost was lost while the memory was full, which its head, read later, then shows.
        let full = self.header().full.load(Ordering::Acquire);
        let head = self.header().head.load(Ordering::Acquire);
        let lost = full.wrapping_sub(self.full);
        let is_broken = match self.state {
            State::Open => self.is_disordered(began_ns, head, lost),
            State::Closed | State::Broken => head.wrapping_sub(self.next) > SLOTS,
        };
        if is_broken {
            self.close();
            self.state = State::Broken;
            return now_ns;
        }
        if self.state == State::Open && lost > 0 {
            self.full = full;
            noted.push(dropped(0, lost, now_ns, "marks"));
        }
        self.rounds.push_back((now_ns, head));
        self.tail_before = self.next;
        let mut reached = now_ns;
        let before = noted.len();
        while self.next < head {
            if noted.len() - before >= max_marks {
                let over = head - self.next;
                self.over += over;
                self.next = head;
                noted.push(dropped(0, over, now_ns, "marks, more than are accepted from a program"));
                break;
            }
            self.forget_rounds();
            let begun = self.rounds.iter().find(|(_, head)| *head > self.next).map_or(now_ns, |round| round.0);
            let words = self.slot(self.next);
            let latest = clock::monotonic_ns();
            match judge(&words, self.next, (self.rounds[0].0, latest), self.cpus) {
                Ok(mark) => noted.push(mark),
                Err(NoMark::Unfinished) if now_ns.saturating_sub(begun) < PATIENCE_NS => {
                    reached = self.rounds[0].0;
                    break;
                }
                Err(_) => self.refused += 1,
            }
            self.next += 1;
        }
        self.forget_rounds();
        self.header().tail.store(self.next, Ordering::Release);
        reached
    }

    /// The next mark was begun after the last round that did not know it yet: earlier rounds say no more.
    fn forget_rounds(&mut self) {
        while self.rounds.get(1).is_some_and(|(_, head)| *head <= self.next) {
            self.rounds.pop_front();
        }
    }

    fn slot(&self, position: u64) -> Slot {
        let index = (position & (SLOTS - 1)) as usize;
        let slot = self.memory.at::<Slot>(FIRST_SLOT + index * size_of::<Slot>(), 1).as_ptr();
        // SAFETY: within the mapping. A program may write meanwhile: the words are plain numbers, and fit no seal then.
        let seal = unsafe { (*slot.cast::<AtomicU64>()).load(Ordering::Acquire) };
        // SAFETY: as above.
        let mut words = unsafe { slot.read_volatile() };
        words[0] = seal;
        words
    }
}

impl Drop for MarkRing {
    fn drop(&mut self) {
        self.header().open.store(0, Ordering::Relaxed);
    }
}

/// The digest of a mark's place and words, as `punctual_seal_` makes it.
pub(super) fn seal(words: &Slot, position: u64) -> u64 {
    words[1..].iter().fold(position.wrapping_add(1), |seal, word| {
        let mixed = (seal ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 32
    })
}

/// What a slot says, if it is whole and possible: its time lies between these two.
fn judge(words: &Slot, position: u64, (earliest, latest): (u64, u64), cpus: u32) -> Result<Noted, NoMark> {
    if words[0] != seal(words, position) {
        return Err(NoMark::Unfinished);
    }
    let (time, tid, cpu) = (words[1], words[2] as u32, (words[2] >> 32) as u32);
    if !(earliest..=latest).contains(&time) || tid == 0 || tid > 1 << 24 || cpu >= cpus {
        return Err(NoMark::Impossible);
    }
    let bytes: Vec<u8> = words[4..].iter().flat_map(|word| word.to_ne_bytes()).take_while(|&byte| byte != 0).collect();
    let event = Event {
        at_ns: time,
        cpu,
        kind: EventKind::Mark,
        tid,
        priority: 0,
        context: 0,
        steal_ns: 0,
        value: words[3],
        extra: 0,
        name: 0,
    };
    let text = printable(&String::from_utf8_lossy(&bytes));
    Ok(Noted { event, comm: [0; 16], text: Some(text.into()) })
}

#[cfg(test)]
mod tests {
    use super::super::mark_trial::put;
    use super::*;
    use proptest::prelude::*;

    fn sealed(position: u64, time: u64, thread: u64, text: &[u8]) -> Slot {
        let mut bytes = [0u8; 32];
        bytes[..text.len()].copy_from_slice(text);
        let mut words = [0, time, thread, 7, 0, 0, 0, 0];
        for (word, part) in words[4..].iter_mut().zip(bytes.chunks(8)) {
            *word = u64::from_ne_bytes(part.try_into().unwrap());
        }
        words[0] = seal(&words, position);
        words
    }

    #[test]
    fn a_mark_is_read_and_what_cannot_be_is_refused() {
        let good = judge(&sealed(5, 100, 1 << 32 | 9, b"phase\n2"), 5, (90, 110), 2).unwrap();
        assert_eq!((good.event.at_ns, good.event.tid, good.event.cpu, good.event.value), (100, 9, 1, 7));
        assert_eq!(good.text.as_deref(), Some("phase\u{fffd}2"));
        assert_eq!(judge(&sealed(5, 100, 9, b""), 6, (90, 110), 2).unwrap_err(), NoMark::Unfinished);
        for (time, thread) in [(80, 9), (111, 9), (100, 2 << 32 | 9), (100, 0)] {
            assert_eq!(judge(&sealed(5, time, thread, b""), 5, (90, 110), 2).unwrap_err(), NoMark::Impossible);
        }
    }

    fn ring() -> MarkRing {
        MarkRing::make(0, 4).unwrap().0
    }

    #[test]
    fn an_unfinished_mark_holds_the_time_back_and_is_then_passed_over() {
        let mut ring = ring();
        let mut noted = Vec::new();
        assert_eq!(ring.drain(10, usize::MAX, &mut noted), 10);
        ring.header().head.store(2, Ordering::Relaxed);
        put(&ring, 1, &sealed(1, 15, 9, b"second"));
        assert_eq!(ring.drain(20, usize::MAX, &mut noted), 10);
        assert!(noted.is_empty());
        assert_eq!(ring.drain(20 + PATIENCE_NS, usize::MAX, &mut noted), 20 + PATIENCE_NS);
        assert_eq!((noted.len(), ring.refused, ring.next), (1, 1, 2));
        assert_eq!(ring.header().tail.load(Ordering::Relaxed), 2);
    }

    /// What only the log changes, and what cannot have been counted, ends the reading: none of it is believed.
    #[test]
    fn broken_memory_is_noticed() {
        type Breaking = fn(&Header);
        let breakings: [Breaking; 8] = [
            |header| header.open.store(0, Ordering::Relaxed),
            |header| header.open.store(u32::MAX, Ordering::Relaxed),
            |header| header.head.store(u64::MAX, Ordering::Relaxed),
            |header| header.head.store(SLOTS + 2, Ordering::Relaxed),
            // Backwards, over what was read already.
            |header| header.head.store(0, Ordering::Relaxed),
            |header| header.full.store(1, Ordering::Relaxed),
            |header| header.full.store(u64::MAX, Ordering::Relaxed),
            |header| header.tail.store(7, Ordering::Relaxed),
        ];
        for (number, breaking) in breakings.iter().enumerate() {
            let (mut ring, mut noted) = (ring(), Vec::new());
            put(&ring, 0, &sealed(0, 5, 9, b"good"));
            ring.header().head.store(1, Ordering::Relaxed);
            assert_eq!(ring.drain(10, usize::MAX, &mut noted), 10);
            assert!(!ring.is_broken());
            breaking(ring.header());
            assert_eq!(ring.drain(20, usize::MAX, &mut noted), 20);
            assert!(ring.is_broken() && ring.is_empty(), "breaking {number}");
            assert_eq!((noted.len(), ring.dropped(), ring.header().open.load(Ordering::Relaxed)), (1, 0, 0));
        }
    }

    #[test]
    fn full_memory_counts_what_had_no_room_and_no_more_than_can_be() {
        let (mut ring, mut noted) = (ring(), Vec::new());
        ring.header().head.store(SLOTS, Ordering::Relaxed);
        ring.header().full.store(3, Ordering::Relaxed);
        ring.drain(10, usize::MAX, &mut noted);
        assert_eq!((ring.dropped(), ring.is_broken(), noted.len()), (3, false, 1));
        // In a closed memory nothing is counted any more.
        ring.close();
        ring.header().full.store(4_000_000_000, Ordering::Relaxed);
        ring.drain(10 + PATIENCE_NS, usize::MAX, &mut noted);
        assert_eq!((ring.dropped(), ring.refused(), ring.is_empty()), (3, SLOTS, true));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        /// Whatever programs write, reading ends, and what is handed on was written in the time that it covers.
        #[test]
        fn a_hostile_program_breaks_nothing(
            heads in prop::collection::vec(prop_oneof![any::<u64>(), 0..200_000_u64], 1..6),
            fulls in prop::collection::vec(any::<u64>(), 6),
            words in any::<[u64; 8]>(),
        ) {
            let mut ring = ring();
            let mut noted = Vec::new();
            for (round, head) in heads.iter().enumerate() {
                ring.header().head.store(*head, Ordering::Relaxed);
                ring.header().full.store(fulls[round], Ordering::Relaxed);
                put(&ring, *head, &words);
                let now = 1_000 * (round as u64 + 1);
                prop_assert!(ring.drain(now, usize::MAX, &mut noted) <= now);
            }
            prop_assert!(noted.iter().all(|noted| noted.event.kind == EventKind::Dropped));
        }
    }
}
