//! What comes to a thread in steps of somebody else's clock.
//!
//! An answer comes some time after its question, so that it comes later if the thread slept before it asked. What comes when a clock says so, whatever the thread
//! did in between, was not asked for by that thread: whoever keeps the clock asks.

use std::collections::VecDeque;

/// No shorter step is looked for, ns: almost any time is near a multiple of a very short one.
const MIN_STEP_NS: u64 = 2_000_000;
/// By which part of a step something may come early or late: whoever sends it has to get a CPU first.
const TO_STRAY: u64 = 16;
/// Of the last so many times between what came, during which the thread did not sleep, ...
const MAX_REMEMBERED: usize = 8;
/// ... so many have to be alike for them to be a step.
const MIN_ALIKE: usize = 3;
/// So often something has to come whole steps after what came before, though the thread slept meanwhile.
const MIN_AFTER_SLEEP: u32 = 3;
/// So many more than come in step may come at any time before another step is looked for.
const MAX_MORE_OTHERS: u32 = 4;

/// What came to one thread at one place.
#[derive(Default)]
pub(super) struct Arrivals {
    last_ns: Option<u64>,
    /// Whether the thread has slept since.
    has_slept: bool,
    /// Times between two that came without a sleep in between, ns, the oldest first.
    between_ns: VecDeque<u64>,
    step: Option<Step>,
}

/// What comes by a step.
struct Step {
    ns: u64,
    /// When the last came that did so, ns, ...
    last_ns: u64,
    /// ... and whether the thread has slept since.
    has_slept: bool,
    in_step: u32,
    /// How many of these came after a sleep.
    after_sleep: u32,
    others: u32,
}

impl Arrivals {
    /// Something came at this time, ns.
    pub(super) fn came(&mut self, at_ns: u64) {
        let has_slept = std::mem::take(&mut self.has_slept);
        let Some(last_ns) = self.last_ns.replace(at_ns) else { return };
        if let Some(step) = &mut self.step {
            step.has_slept |= has_slept;
            step.came(at_ns);
            if step.others > step.in_step.saturating_add(MAX_MORE_OTHERS) {
                (self.step, self.between_ns) = (None, VecDeque::new());
            }
            return;
        }
        let between_ns = at_ns.saturating_sub(last_ns);
        if has_slept || between_ns < MIN_STEP_NS {
            return;
        }
        if self.between_ns.len() == MAX_REMEMBERED {
            self.between_ns.pop_front();
        }
        self.between_ns.push_back(between_ns);
        let alike = |ns: u64| self.between_ns.iter().filter(|other| is_near(ns, **other, ns)).count() >= MIN_ALIKE;
        let ns = self.between_ns.iter().copied().filter(|ns| alike(*ns)).max();
        self.step = ns.map(|ns| Step { ns, last_ns: at_ns, has_slept: false, in_step: 0, after_sleep: 0, others: 0 });
    }

    /// The thread slept until a timer of its own.
    pub(super) fn slept(&mut self) {
        self.has_slept = true;
    }

    /// Whether what comes keeps a clock that is none of the thread's.
    pub(super) fn keep_a_clock(&self) -> bool {
        self.step.as_ref().is_some_and(|step| step.after_sleep >= MIN_AFTER_SLEEP && step.in_step >= step.others)
    }
}

impl Step {
    fn came(&mut self, at_ns: u64) {
        let after_ns = at_ns.saturating_sub(self.last_ns);
        let steps = (after_ns + self.ns / 2) / self.ns;
        if steps == 0 || !is_near(after_ns, steps * self.ns, self.ns) {
            self.others = self.others.saturating_add(1);
            return;
        }
        self.in_step = self.in_step.saturating_add(1);
        self.after_sleep = self.after_sleep.saturating_add(u32::from(self.has_slept));
        (self.last_ns, self.has_slept) = (at_ns, false);
    }
}

fn is_near(one_ns: u64, other_ns: u64, step_ns: u64) -> bool {
    one_ns.abs_diff(other_ns) <= step_ns / TO_STRAY
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Whether a clock is seen in what comes at these times, ms, each with whether the thread slept before it.
    fn keep_a_clock(came: impl IntoIterator<Item = (u64, bool)>) -> bool {
        let mut arrivals = Arrivals::default();
        for (number, (at_ms, slept)) in came.into_iter().enumerate() {
            if slept {
                arrivals.slept();
            }
            // Nobody is woken at once.
            arrivals.came(at_ms * MS + number as u64 * 7_919 % 300_000);
        }
        arrivals.keep_a_clock()
    }

    #[test]
    fn what_comes_in_steps_whatever_the_thread_does_keeps_a_clock() {
        // Each third request is slept in: for less than a step, or for more, so that the next comes as it is answered.
        let short = (1..30).map(|step| (step * 20, step % 3 == 1));
        assert!(keep_a_clock(short));
        let long =
            (0..12).flat_map(|round| [(60 * round + 20, false), (60 * round + 45, true), (60 * round + 60, false)]);
        assert!(keep_a_clock(long));
        // Answers, some time after questions, between which a client sleeps now and then.
        let mut at_ms = 0;
        let answers: Vec<(u64, bool)> = (0..60)
            .map(|number| {
                at_ms += if number % 4 == 0 { 37 } else { 20 };
                (at_ms, number % 4 == 0)
            })
            .collect();
        assert!(!keep_a_clock(answers));
        // A thread that never sleeps, or always does, shows nothing.
        assert!(!keep_a_clock((1..60).map(|step| (step * 20, false))));
        assert!(!keep_a_clock((1..60).map(|step| (step * 20, true))));
    }

    #[test]
    fn a_step_that_is_none_any_more_is_given_up() {
        let in_step = (1..20).map(|step| (step * 20, step % 3 == 0));
        let mut at_ms = 400;
        let later: Vec<(u64, bool)> = (0..80)
            .map(|number| {
                at_ms += 3 + number * 7 % 11;
                (at_ms, false)
            })
            .collect();
        assert!(keep_a_clock(in_step.clone()));
        assert!(!keep_a_clock(in_step.chain(later)));
    }
}
