//! What the host took, in words: two measures, of which neither is a part of the other to the last digit.

use crate::document::contents::Counters;
use crate::format::units::format_ns;

/// The steps in which `/proc/stat` counts what the host took on the measured CPUs, whenever that was.
const STEPS: &str = "steps of 10 ms";

impl Counters {
    /// Whether so much of what was late, ns, is host steal that half of it or more may be.
    pub fn are_mostly_steal(late_ns: u64, steal_ns: Option<u64>) -> bool {
        late_ns > 0 && steal_ns.is_some_and(|steal_ns| steal_ns.saturating_mul(2) >= late_ns)
    }

    /// Whether the finer counter, which wakeups are held against, saw more than that of the whole run.
    fn is_finer_more(&self) -> bool {
        self.wakeup_steal_ns.zip(self.steal_ns).is_some_and(|(within, whole)| within > whole)
    }

    /// Host steal over the run and within wakeups, for a line of counts; `None` where it is not known.
    pub fn steal_in_words(&self) -> Option<String> {
        let whole = format!("host steal {} ({STEPS})", format_ns(self.steal_ns?));
        let Some(within) = self.wakeup_steal_ns.map(format_ns) else { return Some(whole) };
        Some(match (self.is_finer_more(), self.steal_ns) {
            // A part that is more than the whole explains nothing.
            (true, Some(0)) => format!("{whole}; less than a step may lie within wakeups"),
            (true, _) => format!("{whole}, all of it may lie within wakeups"),
            (false, _) => format!("{whole}, at most {within} of it within wakeups"),
        })
    }

    /// The same as a sentence about the lateness; `None` where the host is not known to have taken anything.
    pub fn steal_of_lateness(&self) -> Option<String> {
        let whole = self.steal_ns.filter(|steal| *steal > 0).map(format_ns)?;
        let ran = format!("the host ran something else for {whole} (counted in {STEPS})");
        Some(match (self.wakeup_steal_ns.map(format_ns), self.is_finer_more()) {
            (Some(within), false) => format!("{ran}: at most {within} of that is part of the lateness"),
            (Some(_), true) => format!("{ran}: all of that may be part of the lateness"),
            (None, _) => format!("{ran}: how much of that is part of the lateness is not known"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_part_is_never_said_to_be_more_than_the_whole() {
        let counters = |steal_ns, wakeup_steal_ns| Counters { steal_ns, wakeup_steal_ns, ..Counters::default() };
        for (whole, within, line, sentence) in [
            (
                Some(210 * MS),
                Some(181 * MS),
                Some("host steal 210 ms (steps of 10 ms), at most 181 ms of it within wakeups"),
                Some(
                    "the host ran something else for 210 ms (counted in steps of 10 ms): at most 181 ms of that is part of the lateness",
                ),
            ),
            (
                Some(10 * MS),
                Some(13_900_000),
                Some("host steal 10.0 ms (steps of 10 ms), all of it may lie within wakeups"),
                Some(
                    "the host ran something else for 10.0 ms (counted in steps of 10 ms): all of that may be part of the lateness",
                ),
            ),
            (
                Some(0),
                Some(4_690_000),
                Some("host steal 0 ns (steps of 10 ms); less than a step may lie within wakeups"),
                None,
            ),
            (
                Some(10 * MS),
                None,
                Some("host steal 10.0 ms (steps of 10 ms)"),
                Some(
                    "the host ran something else for 10.0 ms (counted in steps of 10 ms): how much of that is part of the lateness is not \
                     known",
                ),
            ),
            (None, Some(MS), None, None),
        ] {
            let counters = counters(whole, within);
            assert_eq!(counters.steal_in_words().as_deref(), line);
            assert_eq!(counters.steal_of_lateness().as_deref(), sentence);
        }
    }
}
