//! Marks as a hostile program may make them, from any bytes: for the fuzz target and the test that replays its corpus.

use super::mark_ring::{FIRST_SLOT, MarkRing, SLOTS, Slot, seal};
use super::merge::Noted;
use punctual_kernel::{Refused, clock};
use punctual_recording::episode::EventKind;
use std::sync::atomic::Ordering;

/// Rounds of the log in one trial.
const MAX_ROUNDS: usize = 64;
/// A text in a slot has this many bytes; each that is not text is shown as a character of three.
const MAX_TEXT: usize = 32 * 3;

/// What the log made of it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Tried {
    /// Rounds in which the memory was read.
    pub rounds: usize,
    /// Marks that were taken.
    pub marks: u64,
    /// Marks that found no room, or exceeded what is taken.
    pub dropped: u64,
    /// Marks that were not finished, or said something impossible.
    pub refused: u64,
    /// Whether nothing more was read, because the memory's heads said what no program says.
    pub is_broken: bool,
}

/// Takes numbers from bytes; 0 when there are none left.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next<const N: usize>(&mut self) -> [u8; N] {
        let mut taken = [0; N];
        let many = N.min(self.0.len());
        taken[..many].copy_from_slice(&self.0[..many]);
        self.0 = &self.0[many..];
        taken
    }

    fn word(&mut self) -> u64 {
        u64::from_le_bytes(self.next())
    }
}

/// Puts a slot into the memory, as a program does.
pub(super) fn put(ring: &MarkRing, position: u64, slot: &Slot) {
    let at = FIRST_SLOT + (position & (SLOTS - 1)) as usize * size_of::<Slot>();
    // SAFETY: within the mapping; the log reads these words as volatile ones, whoever writes meanwhile.
    unsafe { ring.memory().at::<Slot>(at, 1).as_ptr().write_volatile(*slot) };
}

/// Lets the bytes write into the memory of a program's marks, and the log read it, as often as they say. Asserts what
/// must hold: reading ends, takes no more than it was told to, and believes no time but the one in which a mark was
/// made.
///
/// # Errors
/// Where the memory could not be made.
pub fn try_marks(bytes: &[u8]) -> Result<Tried, Refused> {
    let began_ns = clock::monotonic_ns();
    let (mut ring, _file) = MarkRing::make(began_ns, 4)?;
    let (mut tried, mut noted, mut bytes) = (Tried::default(), Vec::new(), Bytes(bytes));
    let mut now_ns = began_ns;
    while !bytes.0.is_empty() && tried.rounds < MAX_ROUNDS {
        let [action] = bytes.next();
        let header = ring.header();
        match action % 9 {
            0 => header.head.store(bytes.word(), Ordering::Relaxed),
            1 => drop(header.head.fetch_add(u64::from(u16::from_le_bytes(bytes.next())), Ordering::Relaxed)),
            2 => header.full.store(bytes.word(), Ordering::Relaxed),
            3 => header.tail.store(bytes.word(), Ordering::Relaxed),
            4 => header.open.store(u32::from_le_bytes(bytes.next()), Ordering::Relaxed),
            5 => header.magic.store(bytes.word(), Ordering::Relaxed),
            // A slot of any words; and one that matches its place and was made now.
            kind @ (6 | 7) => {
                let position = if kind == 6 { bytes.word() } else { header.head.load(Ordering::Relaxed) };
                let mut words: Slot = std::array::from_fn(|_| bytes.word());
                if kind == 7 {
                    words[1] = clock::monotonic_ns();
                    words[0] = seal(&words, position);
                }
                put(&ring, position, &words);
                if kind == 7 {
                    ring.header().head.store(position.wrapping_add(1), Ordering::Relaxed);
                }
            }
            _ => {
                let [max, wait, closes] = bytes.next();
                // Some rounds come so late that whatever is unfinished is given up.
                now_ns = clock::monotonic_ns().max(now_ns) + u64::from(wait) * 1_000_000;
                if closes == 0xff {
                    ring.close();
                }
                read(&mut ring, now_ns, usize::from(max) * 16, began_ns, &mut noted);
                tried.rounds += 1;
                tried.marks += noted.iter().filter(|noted| noted.event.kind == EventKind::Mark).count() as u64;
            }
        }
    }
    (tried.dropped, tried.refused, tried.is_broken) = (ring.dropped(), ring.refused(), ring.is_broken());
    Ok(tried)
}

fn read(ring: &mut MarkRing, now_ns: u64, max_marks: usize, began_ns: u64, noted: &mut Vec<Noted>) {
    noted.clear();
    let reached = ring.drain(now_ns, max_marks, noted);
    let after_ns = clock::monotonic_ns();
    assert!(reached <= now_ns);
    let marks = noted.iter().filter(|noted| noted.event.kind == EventKind::Mark);
    assert!(marks.clone().count() <= max_marks, "{} of {max_marks} at most", marks.count());
    assert!(noted.len() <= max_marks + 2, "{} rows for {max_marks} marks", noted.len());
    for mark in marks {
        assert!((began_ns..=after_ns).contains(&mark.event.at_ns) && mark.event.cpu < 4, "{:?}", mark.event);
        assert!(mark.text.as_ref().is_some_and(|text| text.len() <= MAX_TEXT), "{:?}", mark.text);
    }
}
