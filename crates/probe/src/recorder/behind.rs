//! Requests of a loop that is behind its timer.
//!
//! Whoever sleeps until a time that has passed does not sleep, and nothing in the kernel shows that it called: the next request begins as
//! the thread goes on from the answer to the one before. Where the loop has a period and asks equally often each time, that is decided: a
//! request is over once it was answered as often as usual, if the thread then waits again and the next one was due by then. It
//! is measured from where the thread went on with the answer, which is when it was sent; when it was due is known, too. Otherwise
//! several requests may be taken for one, and that is all that can be said.

use super::request::{Known, Open};
use super::stretches::Stretch;
use std::cmp::Ordering;

/// So many requests in time tell how often a thread waits within one.
const MIN_SEEN: u32 = 3;
/// What comes before a thread waits for it is not waited for: so many times as many have to wait as often as usual as do less often.
const TO_FEWER: u32 = 4;
/// So many times as many as wait more often.
const TO_MORE: u32 = 16;

/// How often a thread waits within a request, as those show that were over before the next one was due.
#[derive(Default)]
pub(super) struct Usual {
    waits: u32,
    /// How many waited as often, less often, and more often.
    as_often: u32,
    fewer: u32,
    more: u32,
}

impl Usual {
    /// A request is over; whether it may be several.
    pub(super) fn over(&mut self, open: &Open, end_ns: u64, period_ns: Option<u64>) -> bool {
        let Some(period_ns) = period_ns.filter(|_| open.is_by_timer) else { return false };
        if end_ns.saturating_sub(due_ns(open)) >= period_ns {
            return open.waits > self.waits().unwrap_or(1);
        }
        self.note(open.waits);
        false
    }

    fn note(&mut self, waits: u32) {
        let count = match waits.cmp(&self.waits) {
            Ordering::Less => &mut self.fewer,
            Ordering::Equal => &mut self.as_often,
            Ordering::Greater => &mut self.more,
        };
        *count = count.saturating_add(1);
        if self.fewer.saturating_add(self.more) > self.as_often {
            *self = Usual { waits, as_often: 1, fewer: 0, more: 0 };
        }
    }

    /// How often, if that is known and it waits at all.
    fn waits(&self) -> Option<u32> {
        let is_known = self.as_often >= MIN_SEEN
            && self.as_often >= self.fewer.saturating_mul(TO_FEWER)
            && self.as_often >= self.more.saturating_mul(TO_MORE);
        (is_known && self.waits > 0).then_some(self.waits)
    }

    /// The request that a loop begins which is found to go on with an answer, if it is behind: it was due at this time, ns, or
    /// earlier.
    pub(super) fn resumed(&self, stretch: &Stretch, due_ns: Option<u64>) -> Option<Open> {
        let is_answered = self.waits() == Some(1);
        let known =
            Known { waits_for_answers: true, is_by_own_timer: true, is_in_step: true, due_ns, ..Known::default() };
        due_ns.filter(|_| is_answered).map(|_| Open {
            expected_ns: stretch.ran_ns,
            known,
            is_by_timer: true,
            ..Open::default()
        })
    }

    /// The request that begins within a stretch, after which the thread waits again, if the open one is over then.
    pub(super) fn next(&self, open: &Open, stretch: &Stretch, period_ns: Option<u64>) -> Option<Open> {
        let due_ns = due_ns(open).saturating_add(period_ns?);
        let is_over = self.waits().is_some_and(|usual| open.waits >= usual) && due_ns <= stretch.until_ns;
        let known = Known { waits_for_answers: true, due_ns: Some(due_ns), ..open.known };
        (open.known.is_by_own_timer && is_over).then_some(Open {
            expected_ns: stretch.ran_ns,
            known,
            waits: 0,
            waits_since: None,
            unclear_waits: open.unclear_waits.map(|_| 0),
            ..*open
        })
    }
}

impl Open {
    /// Whether it would begin without its timer, and its thread has not waited since: nothing shows that it was sent.
    pub(super) fn is_not_sent(&self) -> bool {
        self.known.due_ns.is_some() && self.waits == 0
    }
}

/// When a request that a timer begins, or should have begun, was due, ns.
fn due_ns(open: &Open) -> u64 {
    open.known.due_ns.unwrap_or(open.expected_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_often_a_thread_waits_is_known_where_it_does_so_equally_often() {
        for (waits, expected, what) in [
            (&[1, 1, 1][..], Some(1), "one answer each time"),
            (&[2, 2, 2, 2][..], Some(2), "two"),
            (&[1, 1, 1, 1, 0][..], Some(1), "an answer that came at once"),
            (&[1, 1, 0, 1, 0][..], None, "answers that often come at once"),
            (&[1, 1, 1, 1, 2][..], None, "two now and then"),
            (&[2, 1, 1, 1, 1][..], Some(1), "its first one was another"),
            (&[0, 0, 0, 0][..], None, "it asks nobody"),
            (&[1, 1][..], None, "too few"),
        ] {
            let mut usual = Usual::default();
            waits.iter().for_each(|waits| usual.note(*waits));
            assert_eq!(usual.waits(), expected, "{what}");
        }
    }

    #[test]
    fn what_took_longer_than_the_period_and_waited_more_often_may_be_several() {
        let of = |waits, is_by_timer| Open { expected_ns: 1_000, waits, is_by_timer, ..Open::default() };
        for (in_time, waits, end_ns, expected, what) in [
            (&[][..], 2, 1_100, true, "nothing is known"),
            (&[][..], 1, 1_300, false, "it has waited once"),
            (&[][..], 2, 1_099, false, "in time"),
            (&[2, 2, 2][..], 2, 1_300, false, "one of two answers"),
            (&[2, 2, 2][..], 4, 1_300, true, "four answers"),
        ] {
            let mut usual = Usual::default();
            in_time.iter().for_each(|waits| usual.note(*waits));
            assert_eq!(usual.over(&of(waits, true), end_ns, Some(100)), expected, "{what}");
            assert!(!usual.over(&of(waits, false), end_ns, Some(100)), "{what}, and no timer begins it");
            assert!(!usual.over(&of(waits, true), end_ns, None), "{what}, and it has no period");
        }
    }
}
