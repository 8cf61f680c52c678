//! A thread that pauses once between what comes by a connection that its program accepted and what comes there next, and for differently long each time.
//!
//! A server that sleeps within its requests and an editor that asks its language server, which connected to it, do the same: each reads, sleeps, writes, and waits
//! for what comes next. Whoever waits for something that is as far each time sleeps for as long. Who does not may pause until somebody wants something of it, and ask
//! then.

/// Two lengths that differ by more are different, ns: on its way to sleep a thread may be interrupted or lose its CPU.
const OTHER_LENGTH_NS: u64 = 100_000;
/// So often a pause has to be of another length than the one before, ...
const MIN_OTHER: u32 = 4;
/// ... and so many times as often as one of the same.
const TO_SAME: u32 = 4;
/// Whoever goes on so often without a pause in between asks for nothing by pausing: it sleeps within some of its requests.
const MIN_WITHOUT: u32 = 4;
/// After so many, the earlier ones count half.
const MAX_REMEMBERED: u32 = 8;

/// One thread's pauses.
#[derive(Default)]
pub(super) struct Pauses {
    last_ns: Option<u64>,
    same: u32,
    other: u32,
    /// How often it went on without one.
    without: u32,
    /// Whether it was seen to pause so, and not for the same length more often since.
    is_seen: bool,
}

impl Pauses {
    /// It has slept once more, for so long, ns, for the first time since something came.
    pub(super) fn paused(&mut self, length_ns: u64) {
        let Some(last_ns) = self.last_ns.replace(length_ns) else { return };
        let is_other = last_ns.abs_diff(length_ns) > OTHER_LENGTH_NS;
        *(if is_other { &mut self.other } else { &mut self.same }) += 1;
        self.is_seen |= self.other >= MIN_OTHER && self.other >= self.same * TO_SAME;
        self.is_seen &= self.other >= self.same;
        if self.same + self.other > MAX_REMEMBERED {
            (self.same, self.other) = (self.same / 2, self.other / 2);
        }
    }

    /// Something came, and it has not slept since what came before.
    pub(super) fn went_on(&mut self) {
        self.without = self.without.saturating_add(1);
    }

    /// Whether too few were seen to tell: all of different lengths, and hardly anything came without one.
    pub(super) fn are_too_few(&self) -> bool {
        !self.is_seen && self.same == 0 && self.without < MIN_WITHOUT
    }

    /// Whether it may ask after them.
    pub(super) fn may_ask_after(&self) -> bool {
        self.is_seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn until_two_pauses_are_alike_or_most_of_what_comes_is_without_one_too_few_are_seen() {
        for (pauses_ms, without, expected, what) in [
            (&[7][..], 0, true, "one"),
            (&[7, 12, 5, 22], 0, true, "no two alike"),
            (&[25, 25], 0, false, "as long as the one before"),
            (&[7, 12, 5, 22, 9], 0, false, "it is known that they are pauses"),
            (&[7], 3, true, "it went on three times"),
            (&[7], 4, false, "it sleeps within some of its requests"),
        ] {
            let mut pauses = Pauses::default();
            (0..without).for_each(|_| pauses.went_on());
            pauses_ms.iter().for_each(|ms| pauses.paused(ms * 1_000_000));
            assert_eq!(pauses.are_too_few(), expected, "{what}");
        }
    }

    #[test]
    fn whoever_pauses_for_differently_long_each_time_may_ask_after_that() {
        let may_ask = |lengths_ms: &[u64]| {
            let mut pauses = Pauses::default();
            lengths_ms.iter().for_each(|ms| pauses.paused(ms * 1_000_000));
            pauses.may_ask_after()
        };
        for (lengths, expected, what) in [
            (&[7, 12, 5, 22, 9][..], true, "a person's pauses"),
            (&[7, 12, 5, 22][..], false, "too few"),
            (&[5, 5, 5, 5, 5, 5, 5][..], false, "a store that is as far each time"),
            (&[1, 1, 1, 14, 1, 1, 1, 18, 1, 1, 1, 14, 1, 1][..], false, "a slow answer now and then"),
            (
                &[5, 5, 5, 5, 5, 5, 5, 7, 12, 5, 22, 9, 8, 30, 11, 4, 17, 9, 23, 6][..],
                true,
                "it did something else before",
            ),
            (&[7, 12, 5, 22, 9, 9, 9, 14, 3][..], true, "two pauses of one length"),
            (&[7, 12, 5, 22, 9, 5, 5, 5, 5, 5, 5, 5, 5, 5][..], false, "it does something else since"),
        ] {
            assert_eq!(may_ask(lengths), expected, "{what}");
        }
    }
}
