//! Whether the recorder could have seen what there was. If it could not, that nothing else
//! was seen accuses nobody.

use super::classifier::{Blamed, Classifier, OWN_PATH_NS};
use crate::episode::replay::{CpuTimeline, Missed, SWITCH_NS, Slice};
use crate::episode::span::StateSpan;
use punctual_recording::episode::{EventKind, INTERRUPTED_USER};

/// Anything shorter than this is not a missed interrupt or softirq, but the way into one or out of it, ns.
const EDGE_NS: u64 = 10_000;
/// If the sampling clock is silent for this many of its periods, it did not come.
const PERIODS: u64 = 3;

impl Classifier<'_> {
    /// `blamed`, which follows from what was not seen meanwhile, unless that might have gone unseen.
    pub(super) fn by_exclusion(&self, slice: &Slice, start: u64, end: u64, blamed: Blamed) -> Blamed {
        match self.unseen(slice, start, end) {
            Some(why) => Blamed::unknown(why),
            None => blamed,
        }
    }

    /// The same for what held up an interrupt. Programs at interrupts run with interrupts off, so that none of them
    /// interrupts itself: those that did not run point to something else, which holds up no interrupt.
    pub(super) fn by_late_interrupt(&self, slice: &Slice, start: u64, end: u64, blamed: Blamed) -> Blamed {
        self.missed_in(slice, start, end).map_or(blamed, Blamed::unknown)
    }

    /// Why nobody knows what a CPU did before its first event, if that is so: what it told of that is lost. Where nothing is
    /// lost, that event says what it came to.
    pub(super) fn is_lost(&self, slice: &Slice) -> Option<&str> {
        self.episode.void.as_deref().filter(|_| slice.start_ns == 0)
    }

    /// Whether the CPU on which the thread seems to run is seen to have another one, or had it until some time in this part
    /// of a slice: the thread was away, and came back unseen. Just after a switch to it, whoever leaves is still there.
    pub(super) fn has_another(&self, span: &StateSpan, slice: &Slice, end: u64) -> bool {
        (slice.tid != self.subject.tid || slice.instead_of.is_some()) && end > span.start_ns + SWITCH_NS
    }

    /// Why something may have been in this part of a slice without being seen.
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

    /// What the thread did with its CPU, which is its own work unless it was something else. Its program cannot keep
    /// the sampling clock from coming; if that did not come, the CPU was not the program's, or reported nothing.
    pub(super) fn own_or_unseen(&self, slice: &Slice, start: u64, end: u64, detail: Option<String>) -> Blamed {
        let ends_with = &self.episode.events[slice.ends_with];
        let came_over_kernel = ends_with.kind == EventKind::VectorBegin && ends_with.extra & INTERRUPTED_USER == 0;
        // Before its first event a CPU reported nothing because nobody asked.
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
