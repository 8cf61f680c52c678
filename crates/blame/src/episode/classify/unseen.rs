//! Whether the recorder could have seen what there was. Where it could not, that nothing else was seen accuses nobody.

use super::classifier::{Blamed, Classifier, OWN_PATH_NS};
use crate::episode::replay::{CpuTimeline, Missed, Slice};
use punctual_recording::episode::{EventKind, INTERRUPTED_USER};

/// What is shorter than this is no interrupt or softirq that would be missed, but the way into one or out of it, ns.
const EDGE_NS: u64 = 10_000;
/// The sampling clock that is silent for so many of its periods did not come.
const PERIODS: u64 = 3;

impl Classifier<'_> {
    /// `blamed`, which follows from what was not seen meanwhile: unless that might not have been seen.
    pub(super) fn by_exclusion(&self, slice: &Slice, start: u64, end: u64, blamed: Blamed) -> Blamed {
        match self.unseen(slice, start, end) {
            Some(why) => Blamed::unknown(why),
            None => blamed,
        }
    }

    /// The same of what kept an interrupt off. Programs at interrupts run with interrupts off, so that none of them interrupts
    /// itself: those that did not run tell of something else, which keeps no interrupt off.
    pub(super) fn by_late_interrupt(&self, slice: &Slice, start: u64, end: u64, blamed: Blamed) -> Blamed {
        self.missed_in(slice, start, end).map_or(blamed, Blamed::unknown)
    }

    /// Why something may have been there in this part of a slice that was not seen.
    fn unseen(&self, slice: &Slice, start: u64, end: u64) -> Option<&'static str> {
        if self.episode.missed_runs > 0 {
            return Some("a program of the recorder did not run");
        }
        self.missed_in(slice, start, end)
    }

    fn missed_in(&self, slice: &Slice, start: u64, end: u64) -> Option<&'static str> {
        match slice.missed.filter(|_| end - start > EDGE_NS)? {
            Missed::Interrupt => Some("an interrupt was not seen to begin or to end"),
            Missed::Softirq => Some("a softirq was not seen to begin or to end"),
        }
    }

    /// What the thread did with its CPU, which is its own work if it was nothing else. Its program cannot keep the sampling clock
    /// from coming; where that did not, the CPU was not the program's, or told nothing.
    pub(super) fn own_or_unseen(&self, slice: &Slice, start: u64, end: u64, detail: Option<String>) -> Blamed {
        let ends_with = &self.episode.events[slice.ends_with];
        let came_over_kernel = ends_with.kind == EventKind::VectorBegin && ends_with.extra & INTERRUPTED_USER == 0;
        // Before its first event a CPU told nothing because nobody asked.
        let is_silent = slice.start_ns > 0
            && end - start > OWN_PATH_NS
            && !came_over_kernel
            && self.is_silent(ends_with.cpu, slice.start_ns, slice.end_ns, slice.steal_ns);
        match is_silent {
            true => Blamed::unknown("the CPU told nothing, not even by the sampling clock"),
            false => self.by_exclusion(slice, start, end, self.own_work(detail)),
        }
    }

    /// Whether a time without an event is too long for there to have been none on a CPU that ran a thread: with a sampling clock,
    /// whose interrupts are some, or whose stacks came without.
    pub(super) fn is_silent(&self, cpu: u32, start_ns: u64, end_ns: u64, steal_ns: u64) -> bool {
        let period = self.episode.sample_period_ns;
        period > 0
            && end_ns.saturating_sub(start_ns).saturating_sub(steal_ns) > period.saturating_mul(PERIODS)
            && self.shared.samples_within(cpu, start_ns, end_ns).is_empty()
    }

    /// Whether all that a CPU did in this time was seen. One that idles need not tell anything.
    pub(super) fn tells_all(&self, cpu: u32, timeline: &CpuTimeline, start_ns: u64, end_ns: u64) -> bool {
        let told = |slice: &Slice| {
            let (start, end) = (slice.start_ns.max(start_ns), slice.end_ns.min(end_ns));
            slice.missed.is_none() && (slice.tid == 0 || !self.is_silent(cpu, start, end, slice.steal_ns))
        };
        let last_ns = timeline.slices.last().map_or(0, |last| last.end_ns);
        timeline.within(start_ns, end_ns).iter().all(told) && !self.is_silent(cpu, last_ns.max(start_ns), end_ns, 0)
    }
}
