//! Rings in shared memory that programs in the kernel write without waiting for their reader.
//!
//! A program takes the next position by adding one to the head, clears the mark of the record there, fills it in, and
//! sets the mark to its position plus one. Whoever reads copies a record first and then checks whether it was whole.

use std::sync::atomic::{Ordering, fence};

/// A record with such a mark; any bytes make a valid value of it.
pub(crate) trait Marked: Copy {
    /// Its position plus one, once it is whole.
    fn mark(&self) -> u64;
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
    // SAFETY: within the ring, as the position is taken modulo its size. A program may overwrite the record meanwhile: the
    // copy is plain numbers, and is thrown away if its mark or the head says so.
    let record = unsafe { records.add(position as usize & (size - 1)).read_volatile() };
    fence(Ordering::Acquire);
    // Whoever overwrites it has already taken a position. SAFETY: the caller's promise; written as a whole word.
    if unsafe { head.read_volatile() }.saturating_sub(position) > size as u64 {
        return Slot::Overwritten;
    }
    match record.mark() {
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

    #[derive(Clone, Copy)]
    struct Record(u64, u64);

    impl Marked for Record {
        fn mark(&self) -> u64 {
            self.0
        }
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
}
