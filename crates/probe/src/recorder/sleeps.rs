//! Whether a thread sleeps for a while or until a time. A server that sleeps within its requests does so for as long each time, whenever it is
//! asked; whoever keeps a period sleeps until the next is due, however long its work took.

/// How much two lengths may differ that count as the same, ns: a thread's timer runs while the thread is still on its way to sleep.
const SAME_LENGTH_NS: u64 = 20_000;
/// Beyond how much they count as different, ns: on its way, a thread may be interrupted or lose its CPU. What lies in between tells nothing.
const OTHER_LENGTH_NS: u64 = 100_000;
/// How much two times between ends may differ that count as the same, ns.
const SAME_STEP_NS: u64 = 100_000;
/// How much two times between ends may differ that a program computed as equal, ns.
const EXACT_NS: u64 = 2_000;
/// No shorter period is looked for, ns: almost any time is a multiple of a very short one.
const MIN_PERIOD_NS: u64 = 50_000;
/// So many times as many times between ends have to be multiples of a period as are not.
const TO_OTHERS: u32 = 8;
/// After so many lengths that tell something, the earlier ones count half: a thread may do something else by then, such as its work after
/// it has waited for it to begin.
const MAX_REMEMBERED: u32 = 8;
/// So often it has to be seen: two lengths may be the same by chance.
const MIN_SEEN: u32 = 2;
/// After so many equal steps of several periods in a row, such a step is the period: the thread did something else before.
pub(super) const SETTLED: u32 = 32;

/// A thread's sleeps until timers.
#[derive(Default)]
pub(super) struct Sleeps {
    last: Option<Sleep>,
    /// How many of the last were as long as the one before, while the time between their ends was not that between the two before.
    for_a_while: u32,
    /// How many of the last were clearly longer or shorter than the one before.
    of_another_length: u32,
    /// How many ended as long after the one before as that after the one before it, to the clock's precision, and how many did not.
    regular: u32,
    irregular: u32,
    /// The shortest time between two ends that the one before or after it is a multiple of, ns, ...
    period_ns: Option<u64>,
    /// ... how many of those after it were, and how many were not.
    multiples: u32,
    others: u32,
    /// Whether it sleeps past times at which its period would have ended, without being behind: then it chooses when it wakes, and may look in between
    /// whether it can go on; ...
    chooses: bool,
    /// ... and how many equal steps of several periods it has made since the last other one.
    long_steps: u32,
}

#[derive(Clone, Copy)]
struct Sleep {
    length_ns: u64,
    /// When it was due to end.
    due_ns: u64,
    /// How long after the one before.
    after_ns: Option<u64>,
    /// Whether that is as long as the one before was after the one before it, or a whole number of periods.
    is_in_step: bool,
}

impl Sleeps {
    /// One more, from one time until it was due to end, ns.
    pub(super) fn slept(&mut self, since_ns: u64, due_ns: u64) {
        let after_ns = self.last.map(|last| due_ns.saturating_sub(last.due_ns));
        let sleep = Sleep { length_ns: due_ns.saturating_sub(since_ns), due_ns, after_ns, is_in_step: false };
        if let Some(last) = self.last.replace(sleep)
            && let (Some(before_ns), Some(after_ns)) = (last.after_ns, after_ns)
        {
            self.note_choice(sleep.length_ns, before_ns, after_ns);
            self.last = Some(Sleep { is_in_step: !self.chooses && self.is_step(before_ns, after_ns), ..sleep });
            let count = if before_ns.abs_diff(after_ns) <= EXACT_NS { &mut self.regular } else { &mut self.irregular };
            *count = count.saturating_add(1);
            self.note_step(before_ns, after_ns);
            let differs_ns = last.length_ns.abs_diff(sleep.length_ns);
            // Where the work in between takes equally long, either way of sleeping looks so.
            if differs_ns <= SAME_LENGTH_NS && before_ns.abs_diff(after_ns) > SAME_STEP_NS {
                self.for_a_while = self.for_a_while.saturating_add(1);
            } else if differs_ns > OTHER_LENGTH_NS {
                self.of_another_length = self.of_another_length.saturating_add(1);
            }
            if self.for_a_while.saturating_add(self.of_another_length) > MAX_REMEMBERED {
                self.for_a_while /= 2;
                self.of_another_length /= 2;
            }
        }
    }

    /// Whether it sleeps past times at which its clock would have woken it.
    pub(super) fn chooses(&self) -> bool {
        self.chooses
    }

    /// Whoever is behind sleeps until the next time that is due, so for no longer than a period.
    fn note_choice(&mut self, length_ns: u64, before_ns: u64, after_ns: u64) {
        let Some(period_ns) = self.period_ns() else { return };
        if length_ns <= period_ns.saturating_add(EXACT_NS) || !is_multiple(after_ns, period_ns) {
            self.long_steps = 0;
            return;
        }
        let is_same = before_ns.abs_diff(after_ns) <= EXACT_NS;
        (self.chooses, self.long_steps) = (true, if is_same { self.long_steps + 1 } else { 0 });
        if self.long_steps >= SETTLED {
            (self.chooses, self.long_steps) = (false, 0);
            (self.period_ns, self.multiples, self.others) = (Some(after_ns), MIN_SEEN, 0);
        }
    }

    /// Whether a time between two ends is one of a loop with a period: after the one before it.
    fn is_step(&self, before_ns: u64, after_ns: u64) -> bool {
        let is_of_period = self.period_ns().is_some_and(|period_ns| is_multiple(after_ns, period_ns));
        is_of_period || before_ns.abs_diff(after_ns) <= EXACT_NS
    }

    /// Whether a sleep that was due to end at this time, ns, is the last one, and ended a whole number of periods after the one before, of a thread whose
    /// sleeps do.
    pub(super) fn ended_in_step(&self, due_ns: u64) -> bool {
        self.have_a_period() && self.last.is_some_and(|last| last.due_ns == due_ns && last.is_in_step)
    }

    /// Whether the last one, if it was due to end at this time, ns, ended at any other time than a loop with a period would sleep until.
    pub(super) fn ended_out_of_step(&self, due_ns: u64) -> bool {
        self.last.is_some_and(|last| last.due_ns == due_ns && !last.is_in_step)
    }

    /// Whoever is behind sleeps only once it has caught up: some periods later.
    fn note_step(&mut self, before_ns: u64, after_ns: u64) {
        let shorter_ns = before_ns.min(after_ns);
        let is_of_shorter = is_multiple(before_ns.max(after_ns), shorter_ns);
        match self.period_ns {
            Some(period_ns) if is_multiple(after_ns, period_ns) => self.multiples = self.multiples.saturating_add(1),
            Some(period_ns) if !(is_of_shorter && is_multiple(period_ns, shorter_ns)) => {
                self.others = self.others.saturating_add(1);
            }
            _ if is_of_shorter => (self.period_ns, self.multiples, self.others) = (Some(shorter_ns), 1, 0),
            _ => {}
        }
    }

    /// Whether it sleeps until times of a clock, whatever it does in between.
    pub(super) fn keep_a_clock(&self) -> bool {
        self.period_ns().is_some()
    }

    /// Its period, ns, if it sleeps until times that lie such periods apart.
    pub(super) fn period_ns(&self) -> Option<u64> {
        let is_known = self.multiples >= MIN_SEEN && self.multiples >= self.others.saturating_mul(TO_OTHERS);
        self.period_ns.filter(|_| is_known)
    }

    /// When it was last due to wake by a time, ns, if it has a period.
    pub(super) fn last_due_ns(&self, at_ns: u64) -> Option<u64> {
        let (period_ns, last_ns) = (self.period_ns()?, self.last?.due_ns);
        let periods = at_ns.checked_sub(last_ns)? / period_ns;
        Some(last_ns + periods * period_ns)
    }

    /// Whether it sleeps for a while, and not until a time.
    pub(super) fn are_for_a_while(&self) -> bool {
        self.for_a_while >= MIN_SEEN && self.for_a_while > self.of_another_length
    }

    /// Whether it may: it does, or too few of its sleeps were seen to tell.
    pub(super) fn may_be_for_a_while(&self) -> bool {
        self.are_for_a_while() || !self.are_regular() && self.of_another_length < MIN_SEEN
    }

    /// Whether they end in equal steps, or whole periods apart where the thread was behind now and then.
    pub(super) fn have_a_period(&self) -> bool {
        self.are_regular() || self.period_ns().is_some()
    }

    /// Whether they mostly end in equal steps, as those of a loop with a period do.
    pub(super) fn are_regular(&self) -> bool {
        self.regular >= MIN_SEEN && self.regular > self.irregular
    }
}

/// Whether a time is one or more of another, to the clock's precision.
fn is_multiple(ns: u64, of_ns: u64) -> bool {
    let is_long_enough = of_ns >= MIN_PERIOD_NS && ns.saturating_add(EXACT_NS) >= of_ns;
    is_long_enough && {
        let rest_ns = ns % of_ns;
        rest_ns.min(of_ns - rest_ns) <= EXACT_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_random::Random;

    const MS: u64 = 1_000_000;

    /// Sleeps of these lengths, ms, each after so much work, ms.
    fn after(sleeps: &[(u64, u64)]) -> Sleeps {
        let (mut found, mut now_ns) = (Sleeps::default(), 0);
        for (work, length) in sleeps {
            let since_ns = now_ns + work * MS;
            now_ns = since_ns + length * MS;
            found.slept(since_ns, now_ns);
        }
        found
    }

    fn slept(sleeps: &[(u64, u64)]) -> (bool, bool) {
        let found = after(sleeps);
        (found.are_for_a_while(), found.are_regular())
    }

    #[test]
    fn a_period_is_known_also_of_whoever_is_behind_now_and_then() {
        for (sleeps, expected, what) in [
            (&[(1, 19), (5, 15), (1, 19), (12, 8)][..], Some(20), "always in time"),
            (&[(1, 19), (5, 15), (1, 19), (70, 10), (1, 19), (25, 15), (1, 19)][..], Some(20), "behind twice"),
            (&[(1, 19), (30, 10), (30, 10), (1, 19), (1, 19), (1, 19)][..], Some(20), "behind at first"),
            (&[(0, 35), (9, 35), (20, 35), (3, 35), (50, 35)][..], None, "sleeps for a while"),
            (
                &[(0, 12), (0, 12), (0, 12), (40, 12), (0, 12), (0, 12), (7, 12)][..],
                None,
                "several sleeps for a while in a row",
            ),
            (&[(1, 19), (1, 19), (1, 19)][..], None, "too few"),
        ] {
            let found = after(sleeps);
            assert_eq!(found.period_ns(), expected.map(|ms: u64| ms * MS), "{what}");
            assert_eq!(found.have_a_period(), expected.is_some(), "{what}");
        }
    }

    #[test]
    fn whoever_was_seen_to_sleep_too_seldom_may_sleep_for_a_while() {
        for (sleeps, expected, what) in [
            (&[(0, 35), (9, 35), (20, 35), (3, 35), (50, 35)][..], true, "it does"),
            (&[(1, 20), (9, 20), (4, 20)][..], true, "too few"),
            (&[][..], true, "none"),
            (&[(1, 19), (5, 15), (1, 19), (12, 8), (2, 18)][..], false, "a period"),
            (&[(1, 19), (1, 19), (1, 19), (1, 19), (1, 19)][..], false, "a period, and equal work"),
            (&[(1, 17), (9, 11), (4, 25), (2, 8), (6, 14)][..], false, "any length"),
        ] {
            assert_eq!(after(sleeps).may_be_for_a_while(), expected, "{what}");
        }
    }

    /// As with a database that is locked: it sleeps for a little longer before each try, and then until its next period, or from then on.
    #[test]
    fn a_sleep_between_two_tries_is_out_of_step() {
        let (mut found, mut in_step, mut due_ns) = (Sleeps::default(), Vec::new(), 0);
        let tries = [1_130, 2_210, 5_170, 1_490, 10_000, 20_000, 7_730, 10_000];
        for step_us in std::iter::repeat_n(10_000, 48).chain(tries) {
            due_ns += step_us * 1_000;
            found.slept(due_ns - 500_000, due_ns);
            in_step.push(found.ended_in_step(due_ns));
            assert_eq!(found.ended_out_of_step(due_ns), !found.last.is_some_and(|last| last.is_in_step));
            assert!(!found.ended_in_step(due_ns + 1) && !found.ended_out_of_step(due_ns + 1), "another time");
        }
        assert_eq!(in_step[..5], [false, false, false, true, true]);
        assert_eq!(in_step[48..], [false, false, false, false, true, true, false, true]);
    }

    /// A job of every fourth tick, which looks again at the next ones where it cannot begin.
    #[test]
    fn whoever_looks_again_at_its_next_tick_is_in_step_with_no_period() {
        const TICK_NS: u64 = 5 * MS;
        let (mut found, mut due_ns) = (Sleeps::default(), 0);
        let mut play = |ticks: &[u64], worked_ns: u64| {
            let mut in_step = Vec::new();
            for ticks in ticks {
                let since_ns = due_ns + worked_ns;
                due_ns += ticks * TICK_NS;
                found.slept(since_ns, due_ns);
                in_step.push(found.ended_in_step(due_ns));
            }
            in_step
        };
        assert_eq!(play(&[4; 12], MS / 5)[3..], [true; 9], "as long as nothing else is seen");
        assert_eq!(play(&[1, 1, 2, 4, 4, 4, 1, 3, 4, 4], MS / 5)[3..], [false; 7]);
        // One that is behind sleeps until the tick that comes next.
        assert_eq!(play(&[4; 40], MS / 5)[36..], [true; 4], "it has not done so for long");
        let (mut behind, mut due_ns) = (Sleeps::default(), 0);
        for (ticks, worked_ns) in [(1, MS), (1, MS), (1, MS), (1, MS), (3, 11 * MS), (1, MS), (2, 7 * MS), (1, MS)] {
            let since_ns = due_ns + worked_ns;
            due_ns += ticks * TICK_NS;
            behind.slept(since_ns, due_ns);
        }
        assert!(behind.ended_in_step(due_ns) && !behind.chooses);
    }

    /// Until a time that strays by an eighth of a period: nearly half of these lengths are within 0.1 ms of the one before.
    #[test]
    fn whoever_sleeps_until_a_time_that_strays_does_not_sleep_for_a_while() {
        const US: u64 = 1_000;
        let (mut found, mut now_ns, mut random, mut alike) = (Sleeps::default(), 0, Random(29), 0);
        let mut before_ns = 0;
        for _ in 0..200 {
            let since_ns = now_ns + random.below(2_000 * US);
            let length_ns = 1_500 * US + random.below(375 * US);
            alike += u32::from(length_ns.abs_diff(before_ns) < OTHER_LENGTH_NS);
            before_ns = length_ns;
            now_ns = since_ns + length_ns;
            found.slept(since_ns, now_ns);
        }
        assert!(alike > 60, "{alike}");
        assert!(
            !found.are_for_a_while() && !found.may_be_for_a_while(),
            "{} {}",
            found.for_a_while,
            found.of_another_length
        );
    }

    /// It polls for its beginning on a busy machine, for long.
    #[test]
    fn what_a_thread_did_long_ago_tells_little_of_its_sleeps() {
        let polls = (0..200).map(|index| (index % 3, 2));
        assert!(after(&polls.clone().collect::<Vec<_>>()).may_be_for_a_while());
        let works = (0..20).map(|index| (index % 3, 17 - index % 3));
        let found = after(&polls.chain(works).collect::<Vec<_>>());
        assert!(!found.may_be_for_a_while(), "{} {}", found.for_a_while, found.of_another_length);
    }

    #[test]
    fn whoever_sleeps_for_a_while_is_told_from_whoever_has_a_period() {
        for (sleeps, expected, what) in [
            (&[(0, 35), (9, 35), (20, 35), (3, 35), (50, 35)][..], (true, false), "a server whose client pauses"),
            (
                &[(0, 12), (0, 12), (0, 12), (40, 12), (0, 12), (0, 12), (7, 12)][..],
                (true, false),
                "three sleeps a request",
            ),
            (&[(1, 19), (5, 15), (1, 19), (12, 8), (2, 18)][..], (false, true), "a period"),
            (&[(1, 19), (1, 19), (1, 19), (1, 19), (1, 19)][..], (false, true), "work that always takes as long"),
            (&[(1, 17), (9, 11), (4, 25), (2, 8), (6, 14)][..], (false, false), "any length"),
            (&[(1, 20), (9, 20), (4, 20)][..], (false, false), "too few"),
            (&[][..], (false, false), "none"),
        ] {
            assert_eq!(slept(sleeps), expected, "{what}");
        }
    }
}
