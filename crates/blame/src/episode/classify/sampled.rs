//! What stacks say, and what it says if there are none.

use super::classifier::{Classifier, OWN_PATH_NS};
use crate::episode::replay::Slice;
use punctual_recording::episode::{Event, EventKind, Frame, StackSample};
use std::collections::BTreeMap;

/// A stack at a late interrupt belongs to an interrupt that began at most this long before it.
const LATE_STACK_NS: u64 = 200_000;
/// Libraries' names for reading a clock.
const CLOCKS: [&str; 3] = ["clock_gettime", "gettimeofday", "clock_gettime64"];

impl Classifier<'_> {
    /// The code that was running when a late interrupt finally came: what kept interrupts off.
    pub(crate) fn interrupted_code(&self, event: &Event) -> Option<String> {
        let late = self.shared.late.get(&event.cpu).map_or(&[][..], Vec::as_slice);
        let next = late.get(late.partition_point(|sample| sample.at_ns < event.at_ns));
        next.filter(|sample| sample.at_ns - event.at_ns < LATE_STACK_NS).and_then(|sample| self.telling_frame(sample))
    }

    /// Whether a timer that was due in a stretch came only at its end: interrupts were off. The first one that was due
    /// says so, and nothing says that they were on before it; only if it was held up for a small part of a long stretch
    /// may the rest have been something else.
    pub(crate) fn timer_was_kept(&self, slice: &Slice, start: u64, end: u64) -> bool {
        let cpu = self.episode.events[slice.ends_with].cpu;
        let smallest = ((end - start) / 16).max(OWN_PATH_NS) + slice.steal_ns;
        self.index.timers_within(cpu, end, end.saturating_add(OWN_PATH_NS)).iter().any(|event| {
            event.kind == EventKind::TimerBegin && event.extra >= start && event.extra.saturating_add(smallest) < end
        })
    }

    /// Whether the sampling clock was silent for more than three periods: interrupts were off.
    pub(crate) fn sampling_stopped(&self, slice: &Slice, start: u64, end: u64) -> bool {
        let period = self.episode.sample_period_ns;
        period > 0
            && (end - start).saturating_sub(slice.steal_ns) > period.saturating_mul(3)
            && self.samples(slice, start, end).next().is_none()
    }

    pub(crate) fn samples(&self, slice: &Slice, start: u64, end: u64) -> impl Iterator<Item = &StackSample> {
        let cpu = self.episode.events[slice.ends_with].cpu;
        self.shared.samples_within(cpu, start, end).iter().map(|(_, sample)| *sample)
    }

    /// The function that samples saw most in a stretch of time.
    pub(crate) fn sampled(&self, slice: &Slice, start: u64, end: u64) -> Option<String> {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for sample in self.samples(slice, start, end) {
            if let Some(frame) = self.telling_frame(sample) {
                *counts.entry(frame).or_default() += 1;
            }
        }
        counts.into_iter().max_by_key(|(_, count)| *count).map(|(frame, _)| frame)
    }

    /// The innermost frame that says what was being done.
    pub(crate) fn telling_frame(&self, sample: &StackSample) -> Option<String> {
        let frames: Vec<_> =
            sample.frames.iter().filter_map(|&number| self.episode.frames.get(number as usize)).collect();
        let begin = if sample.at_late_interrupt {
            // What is above the interrupt's entry belongs to the interrupt.
            let entry = |name: &str| name.starts_with("asm_sysvec") || name.starts_with("asm_common_interrupt");
            frames.iter().rposition(|frame| entry(&frame.function))? + 1
        } else {
            0
        };
        let passes =
            |name: &str| name.contains("spin_unlock") || name.contains("irq_restore") || name.contains("irq_enable");
        // Reading a clock says nothing about who wants to know the time, least of all if the kernel lends the code for
        // it; nor does an address about which nothing is known.
        let reads_clock = |name: &str| CLOCKS.contains(&name.trim_start_matches('_'));
        let is_known = |frame: &&&Frame| frame.module != "[vdso]" && frame.module != "unmapped";
        let inside = frames.get(begin..)?;
        let mut known = inside.iter().filter(is_known);
        let first = known.clone().next()?;
        let telling = known.find(|frame| !(passes(&frame.function) || reads_clock(&frame.function)));
        Some(telling.unwrap_or(first).function.clone())
    }
}
