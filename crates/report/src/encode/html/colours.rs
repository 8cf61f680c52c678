//! Which of the numbered colours of lines (`--c0` to `--c9` in `style.rs`) stands for what.
//!
//! The total and the stages have theirs on every page. Parts that are compared with one another (loads, sides, ways to
//! wait, kinds of input) have them in the order of their legend, so a page that also shows stages gives them others.

use punctual_recording::Stage;

/// The total latency, or all values together.
pub(crate) const TOTAL: usize = 0;
/// Interrupts, and the stage that waits for one.
pub(crate) const INTERRUPTS: usize = 1;
/// Threads, and the stage in which one waits for the CPU.
pub(crate) const THREADS: usize = 2;
/// Softirqs, and the stage that waits for one.
pub(crate) const SOFTIRQS: usize = 4;
/// Shades of the total: its 99th percentile and its median.
pub(crate) const P99: usize = 8;
pub(crate) const MEDIAN: usize = 9;
/// The colours of stages and of parts; 0 and the shades after them are the total's.
const PARTS: std::ops::RangeInclusive<usize> = 1..=7;

/// The colour of a stage.
pub(crate) fn of_stage(stage: Stage) -> usize {
    match stage {
        Stage::Total => TOTAL,
        Stage::Irq => INTERRUPTS,
        Stage::Softirq => SOFTIRQS,
        Stage::Wake => 5,
        Stage::Thread => THREADS,
        Stage::User => 3,
        Stage::DpcInterruptLatency | Stage::Response | Stage::Request => 6,
        Stage::ThreadLatency | Stage::Work => 7,
    }
}

/// The colour of a part, by its place in the legend.
pub(crate) fn of_part(place: usize) -> usize {
    PARTS.start() + place % PARTS.count()
}

/// The colour of a part on a page that shows these stages as well: as long as there are some, one that none of them has.
pub(crate) fn of_part_beside(place: usize, stages: &[Stage]) -> usize {
    let is_taken = |colour: &usize| stages.iter().any(|stage| of_stage(*stage) == *colour);
    let (taken, free): (Vec<usize>, Vec<usize>) = PARTS.partition(is_taken);
    [free, taken].concat()[place % PARTS.count()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_has_the_colour_of_the_total_or_of_a_stage_beside_it() {
        assert_eq!([0, 1, 6, 7].map(of_part), [1, 2, 7, 1]);
        let stages = [Stage::Total, Stage::Irq, Stage::Thread, Stage::User];
        let parts: Vec<usize> = (0..7).map(|place| of_part_beside(place, &stages)).collect();
        assert_eq!(parts, [4, 5, 6, 7, 1, 2, 3]);
        assert_eq!(of_part_beside(7, &stages), 4);
        assert!(Stage::ALL.into_iter().all(|stage| (of_stage(stage) == TOTAL) == (stage == Stage::Total)));
    }
}
