//! Whether a thread asks by the connections for which it asked, or is asked.
//!
//! Whoever asks for a connection mostly asks by it. But a worker asks its master for one, and a service its bus or its broker, and each is asked then. From within the
//! two look the same: both are woken by what comes, work or sleep, write, and wait. What tells:
//!
//! * A thread that keeps a clock sets out by itself ([`super::sleeps`]).
//! * A client that sleeps between its questions asks about as often after each sleep, and has most of its answers at one place sooner than a slow one. A service that sleeps in some of its
//!   requests waits differently often from one sleep to the next; and it mostly waits for as long as whoever asks it pauses.
//! * What comes in steps of a clock whatever the thread does meanwhile is no answer ([`super::arrivals`]).
//!
//! Where none of these does, it is not known which it is. Nor is it of whoever accepted the connection, and sleeps between what comes by it: a collector pauses
//! between its rounds, and asks one whose connection it accepted as often in each. If what comes mostly comes sooner than the thread sleeps, it may be answers.

use super::arrivals::Arrivals;
use std::collections::{BTreeMap, VecDeque};

/// So often it has to be seen how often a thread waits between two of its sleeps, and before.
const MIN_SEEN: u32 = 3;
/// One of so many may be quite another number: an answer may come in parts.
const TO_OTHERS: u32 = 4;
/// A number is another if it is so many times as large or as small, ...
const TIMES_OTHER: u32 = 2;
/// ... and differs by as much: a client that reads may be woken in vain.
const MIN_OTHER: u32 = 2;
/// After so many, the earlier ones count half.
const MAX_COUNTED: u32 = 16;
/// So many of the last waits tell how long they usually are.
const MAX_WAITS: usize = 15;
/// A wait is no longer than usual if one of so many of the last ones, or more, ...
const TO_LONG: usize = 3;
/// ... were longer than this part of it.
const OF_USUAL: u64 = 4;
/// What comes mostly in less than this part of the time that a thread sleeps may be answers to what it asks after that.
const OF_PAUSE: u64 = 2;
/// So many places are told apart at most.
const MAX_PLACES: usize = 16;

/// What one thread waits for between its sleeps.
#[derive(Default)]
pub(super) struct WhoAsks {
    /// How often it has waited for others since it last slept until a timer, ...
    waits: u32,
    /// ... and how often it did before that.
    before: Option<u32>,
    /// How many of these numbers were seen after another one, and how many were quite another.
    counted: u32,
    other: u32,
    /// What its waits were like, by the place where it waited: one may be for a store that answers at once, another for what it is asked.
    places: BTreeMap<u32, Waits>,
}

/// A thread's waits at one place.
#[derive(Default)]
struct Waits {
    /// How long the last ones were, ns, the oldest first.
    lengths_ns: VecDeque<u64>,
    /// What ended them.
    arrivals: Arrivals,
}

impl Waits {
    fn took(&mut self, ns: u64) {
        if self.lengths_ns.len() == MAX_WAITS {
            self.lengths_ns.pop_front();
        }
        self.lengths_ns.push_back(ns);
    }

    /// Whether one that took so long, ns, took no longer than usual.
    fn is_usual(&self, ns: u64) -> bool {
        let as_long = self.lengths_ns.iter().filter(|other| other.saturating_mul(OF_USUAL) >= ns).count();
        as_long * TO_LONG >= self.lengths_ns.len()
    }

    /// Whether most of them took less than this, ns.
    fn are_mostly_below(&self, ns: u64) -> bool {
        self.lengths_ns.iter().filter(|length| **length < ns).count() * 2 > self.lengths_ns.len()
    }
}

impl WhoAsks {
    /// It has waited for others at a place, from one time to another, ns.
    pub(super) fn waited(&mut self, place: u32, since_ns: u64, until_ns: u64) {
        self.waits = self.waits.saturating_add(1);
        if self.places.len() < MAX_PLACES || self.places.contains_key(&place) {
            let waits = self.places.entry(place).or_default();
            waits.took(until_ns.saturating_sub(since_ns));
            waits.arrivals.came(until_ns);
        }
    }

    /// It has slept until a timer of its own. What is there before a thread waits for it is not waited for.
    pub(super) fn slept(&mut self) {
        self.places.values_mut().for_each(|waits| waits.arrivals.slept());
        let waits = std::mem::take(&mut self.waits);
        if waits == 0 {
            return;
        }
        let Some(before) = self.before.replace(waits) else { return };
        let (fewer, more) = (waits.min(before), waits.max(before));
        let is_other = more - fewer >= MIN_OTHER && more >= fewer.saturating_mul(TIMES_OTHER);
        (self.counted, self.other) = (self.counted + 1, self.other + u32::from(is_other));
        if self.counted > MAX_COUNTED {
            (self.counted, self.other) = (self.counted / 2, self.other / 2);
        }
    }

    /// Whether it may be asked, where its longest wait between two sleeps was this long, ns, and at this place.
    pub(super) fn may_be_asked(&self, (longest_ns, place): (u64, u32)) -> bool {
        let is_as_often = self.counted >= MIN_SEEN && self.other.saturating_mul(TO_OTHERS) <= self.counted;
        !is_as_often || self.places.get(&place).is_none_or(|waits| waits.is_usual(longest_ns))
    }

    /// Whether it may be the one that asks where it slept for so long, ns, after what came at a place by a connection that its program accepted: it waits about as
    /// often between its sleeps, as far as that was seen, and mostly for less long than it sleeps.
    pub(super) fn may_ask_after(&self, slept_ns: u64, place: u32) -> bool {
        let is_another_number = self.counted >= MIN_SEEN && self.other.saturating_mul(TO_OTHERS) > self.counted;
        let waits = self.places.get(&place).filter(|_| !is_another_number);
        waits.is_some_and(|waits| waits.are_mostly_below(slept_ns / OF_PAUSE))
    }

    /// Whether it was ever seen to wait for what it reads.
    pub(super) fn has_read(&self) -> bool {
        !self.places.is_empty()
    }

    /// Whether what comes at a place does so by the clock of whoever sends it.
    pub(super) fn is_asked_at(&self, place: u32) -> bool {
        self.places.get(&place).is_some_and(|waits| waits.arrivals.keep_a_clock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const PLACE: u32 = 1;

    /// Whether a thread may be asked whose waits between two sleeps were so long each, ms.
    fn may_be_asked(between_sleeps: &[&[u64]]) -> bool {
        may_be_asked_at(between_sleeps, |_| PLACE)
    }

    /// The same of one that waits for so long there.
    fn may_be_asked_at(between_sleeps: &[&[u64]], place: impl Fn(u64) -> u32) -> bool {
        let (mut found, mut now_ns, mut longest) = (WhoAsks::default(), 0, (0, 0));
        for waits in between_sleeps {
            found.slept();
            for ms in *waits {
                found.waited(place(*ms), now_ns, now_ns + ms * MS);
                now_ns += ms * MS;
            }
            longest = waits.iter().max().map_or((0, 0), |ms| (ms * MS, place(*ms)));
        }
        found.may_be_asked(longest)
    }

    #[test]
    fn answers_that_come_at_once_elsewhere_tell_nothing_of_a_wait() {
        let with_store: [&[u64]; 6] = [&[20, 1, 1, 1, 1]; 6];
        assert!(may_be_asked_at(&with_store, |ms| if ms > 1 { PLACE } else { PLACE + 1 }));
        assert!(!may_be_asked(&with_store), "one of five answers is slow");
        assert!(may_be_asked(&[&[20, 1, 1][..]; 6]), "each third brings a job, and two that it is taken and done");
        let answers: Vec<&[u64]> = (0..8).map(|round| if round % 4 == 3 { &[20, 1][..] } else { &[1, 1] }).collect();
        assert!(!may_be_asked(&answers), "two questions each time, and one of eight answers is slow");
    }

    #[test]
    fn whoever_asks_about_as_often_and_is_mostly_answered_sooner_asks() {
        for (waits, expected, what) in [
            (
                &[&[1][..], &[3], &[1], &[2], &[1], &[25]][..],
                false,
                "a client that asks once each time, and a slow answer",
            ),
            (&[&[1], &[3], &[], &[1], &[2], &[1], &[25]], false, "an answer that was there before it waited"),
            (&[&[1], &[3], &[25]], true, "too few"),
            (&[&[20], &[19], &[20], &[21], &[20], &[19]], true, "a service that sleeps in each request"),
            (&[&[1, 1, 1], &[1, 1, 1], &[1, 1, 1], &[1, 1, 1], &[1, 25, 1]], false, "three questions"),
            (&[&[1, 1], &[1], &[1, 1, 1], &[1, 1], &[1, 1], &[1], &[1, 25]], false, "one to three"),
            (
                &[&[20, 19, 20], &[19, 20, 21], &[20, 20, 20], &[20, 21, 20], &[20, 20, 21]],
                true,
                "a service that sleeps in every third request",
            ),
            (
                &[&[1], &[1, 1, 1], &[1], &[1, 1, 1, 1], &[1, 1], &[1, 25, 1, 1]],
                true,
                "a service that sleeps in some, and is asked by fits and starts",
            ),
        ] {
            assert_eq!(may_be_asked(waits), expected, "{what}");
        }
    }

    #[test]
    fn whoever_sleeps_for_longer_than_it_waits_and_waits_as_often_each_time_may_ask() {
        for (waits, expected, what) in [
            (&[&[1][..], &[1], &[12], &[1], &[1]][..], true, "a collector of one agent that is slow now and then"),
            (&[&[1, 1, 1], &[1, 5, 1], &[12, 1, 1], &[1, 1, 1]], true, "of one that it asks thrice"),
            (&[&[1]], true, "too few"),
            (&[&[20], &[18], &[25], &[20]], false, "a server whose client pauses"),
            (&[&[20, 18, 22], &[19, 20, 21], &[25, 20, 18]], false, "the same, and it sleeps in every third request"),
            (&[&[1], &[1, 1, 1, 1, 1], &[1, 1], &[1], &[1, 1, 1, 1]], false, "a server that sleeps in some requests"),
        ] {
            let (mut found, mut now_ns) = (WhoAsks::default(), 0);
            for waits in waits {
                for ms in *waits {
                    found.waited(PLACE, now_ns, now_ns + ms * MS);
                    now_ns += ms * MS;
                }
                found.slept();
            }
            assert_eq!(found.may_ask_after(15 * MS, PLACE), expected, "{what}");
            assert!(!found.may_ask_after(15 * MS, PLACE + 1), "it never waited there");
        }
    }

    #[test]
    fn places_are_kept_within_bounds() {
        let mut found = WhoAsks::default();
        (0..100).for_each(|place| found.waited(place, 0, 1));
        (0..100).for_each(|_| found.waited(0, 0, 1));
        assert_eq!((found.places.len(), found.places[&0].lengths_ns.len()), (MAX_PLACES, MAX_WAITS));
    }
}
