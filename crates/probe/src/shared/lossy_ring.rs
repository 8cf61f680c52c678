//! Rings in shared memory that programs in the kernel write without waiting for their reader.
//!
//! A program takes the next position by adding one to the head, clears the mark of the record there, fills it in, and
//! sets the mark to its position plus one. Whoever reads looks at the mark first, then copies the record, and then looks
//! at the head: in this order a record that was written meanwhile is never taken for a whole one.

use std::sync::atomic::{Ordering, fence};

/// A record with such a mark; any bytes make a valid value of it.
pub(crate) trait Marked: Copy {
    /// Where in the record its mark is, bytes: a word that is its position plus one, once it is whole.
    const MARK_AT: usize;
}

/// What is at a position of a ring.
pub(crate) enum Slot<R> {
    /// The record that was written there.
    Whole(R),
    /// A later one, or it is just being written.
    Overwritten,
    /// It was begun and is not finished yet.
    Unfinished,
}

/// Copies what is at a position below the head.
///
/// # Safety
/// As [`take`].
pub(crate) unsafe fn slot<R: Marked>(records: *const R, size: usize, head: *const u64, position: u64) -> Slot<R> {
    // SAFETY: within the ring, as the position is taken modulo its size.
    let place = unsafe { records.add(position as usize & (size - 1)) };
    // SAFETY: a word within that record, written as a whole.
    let mark = unsafe { place.byte_add(R::MARK_AT).cast::<u64>().read_volatile() };
    // The words of the copy may be read in any order: a mark among them could be newer than the rest.
    fence(Ordering::Acquire);
    // SAFETY: as above. A program may overwrite the record meanwhile: the copy is plain numbers, and is thrown away if
    // the head says so.
    let record = unsafe { place.read_volatile() };
    fence(Ordering::Acquire);
    // Whoever overwrites it has already taken a position. SAFETY: the caller's promise; written as a whole word.
    if unsafe { head.read_volatile() }.saturating_sub(position) > size as u64 {
        return Slot::Overwritten;
    }
    match mark {
        mark if mark == position + 1 => Slot::Whole(record),
        mark if mark > position => Slot::Overwritten,
        _ => Slot::Unfinished,
    }
}

/// Hands on the records of a ring from `read` to the head, the oldest first, and moves `read` on; stops before one that is
/// still being written. Returns how many were overwritten before they could be read.
///
/// # Safety
/// `records` points to `size` records, a power of two, and `head` is the number of records ever begun; both lie in memory
/// that stays mapped meanwhile and that nothing but such programs writes.
pub(crate) unsafe fn take<R: Marked>(
    records: *const R,
    size: usize,
    head: *const u64,
    read: &mut u64,
    mut hand_on: impl FnMut(&R),
) -> u64 {
    // SAFETY: the caller's promise; written as a whole word.
    let end = unsafe { head.read_volatile() };
    let oldest = end.saturating_sub(size as u64);
    let mut overwritten = oldest.saturating_sub(*read);
    *read = (*read).max(oldest);
    while *read < end {
        // SAFETY: the caller's promise.
        match unsafe { slot(records, size, head, *read) } {
            Slot::Whole(record) => hand_on(&record),
            Slot::Overwritten => overwritten += 1,
            // It and what follows come next time.
            Slot::Unfinished => break,
        }
        *read += 1;
    }
    overwritten
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::mem::offset_of;
    use std::sync::atomic::AtomicU64;

    #[derive(Clone, Copy)]
    struct Record(u64, u64);

    impl Marked for Record {
        const MARK_AT: usize = offset_of!(Record, 0);
    }

    const SIZE: u64 = 8;

    proptest! {
        #[test]
        fn every_record_is_handed_on_once_or_counted(batches in prop::collection::vec((0..30u64, any::<bool>()), 1..40)) {
            let mut ring = [Record(0, 0); SIZE as usize];
            let (mut head, mut read, mut overwritten) = (0u64, 0u64, 0u64);
            let mut handed_on = Vec::new();
            for (count, unfinished) in batches {
                for _ in 0..count {
                    ring[(head % SIZE) as usize] = Record(head + 1, head * 3);
                    head += 1;
                }
                // One more has begun: its mark is clear, or still that of the record that was there before.
                let at = (head % SIZE) as usize;
                let before = ring[at];
                if unfinished {
                    ring[at].0 = 0;
                    head += 1;
                }
                // SAFETY: a ring of its own.
                overwritten += unsafe {
                    take(ring.as_ptr(), SIZE as usize, &raw const head, &mut read, |record| handed_on.push(*record))
                };
                prop_assert_eq!(read, head - u64::from(unfinished));
                if unfinished {
                    head -= 1;
                    ring[at] = before;
                }
            }
            prop_assert!(handed_on.iter().all(|record| record.1 == (record.0 - 1) * 3));
            prop_assert!(handed_on.windows(2).all(|pair| pair[0].0 < pair[1].0));
            prop_assert_eq!(handed_on.len() as u64 + overwritten, head);
        }
    }

    #[derive(Clone, Copy)]
    struct Words([u64; 8]);

    impl Marked for Words {
        const MARK_AT: usize = offset_of!(Words, 0);
    }

    #[test]
    fn a_record_that_is_written_meanwhile_is_never_taken_for_a_whole_one() {
        const COUNT: u64 = 200_000;
        let ring: [[AtomicU64; 8]; SIZE as usize] = Default::default();
        let head = AtomicU64::new(0);
        let (mut read, mut handed_on, mut overwritten) = (0u64, 0u64, 0u64);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for position in 0..COUNT {
                    head.fetch_add(1, Ordering::SeqCst);
                    let [mark, rest @ ..] = &ring[(position % SIZE) as usize];
                    mark.store(0, Ordering::SeqCst);
                    fence(Ordering::SeqCst);
                    rest.iter().for_each(|word| word.store(position, Ordering::Relaxed));
                    mark.store(position + 1, Ordering::Release);
                }
            });
            while read < COUNT {
                // SAFETY: a ring of its own, which is written as the programs do it.
                overwritten += unsafe {
                    take(ring.as_ptr().cast::<Words>(), SIZE as usize, head.as_ptr(), &mut read, |Words(words)| {
                        handed_on += 1;
                        assert!(words.iter().skip(1).all(|word| *word + 1 == words[0]), "{words:?}");
                    })
                };
            }
        });
        assert_eq!(handed_on + overwritten, COUNT);
    }
}
