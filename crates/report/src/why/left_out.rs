//! How much was late, and how much of that the shares of causes leave out.

use super::model::{EpisodeView, WhyReport};
use super::words::is_much;
use punctual_recording::RecorderSummary;

impl WhyReport<'_> {
    /// All that counted as late, with evidence or without; of one thread, those that were kept.
    pub(crate) fn late(&self) -> u64 {
        let kept = self.episodes.len() as u64;
        match (&self.only, &self.recorder) {
            (None, Some(recorder)) => recorder.late.max(kept),
            _ => kept,
        }
    }

    /// How many late wakeups are void, left no evidence, and are gone from the recording.
    pub(crate) fn left_out_counts(&self) -> [u64; 3] {
        let void = (self.episodes.len() - self.whole()) as u64;
        let without = self.recorder.as_ref().map_or(0, RecorderSummary::without_evidence);
        [void, without, self.missing()]
    }

    /// The longest episode of which something is concluded, or of the void ones, ns; 0 if there is none.
    pub(crate) fn longest_ns(&self, is_void: bool) -> u64 {
        let own = self.episodes.iter().filter(|episode| episode.void.is_some() == is_void);
        own.map(|episode| episode.total_ns).max().unwrap_or(0)
    }

    /// The same of void requests, which may hold a wait for the next one: they took no longer than that.
    pub(crate) fn longest_void_ns(&self) -> u64 {
        self.longest_ns(true)
    }

    /// How late void episodes were in all, ns; requests at most.
    pub(crate) fn void_ns(&self) -> u64 {
        let void = self.episodes.iter().filter(|episode| episode.void.is_some());
        void.map(|episode: &EpisodeView| episode.total_ns).fold(0, u64::saturating_add)
    }

    /// Whether void episodes have more of the late time than those that the shares are of.
    pub(crate) fn is_mostly_void(&self) -> bool {
        self.void_ns() > self.late_ns()
    }

    /// Whether the verdict leaves out much: many of what was late, much of its time, or the longest that was seen.
    pub(crate) fn leaves_out_much(&self) -> bool {
        let left_out = self.left_out_counts().into_iter().fold(0, u64::saturating_add);
        is_much(left_out, left_out.saturating_add(self.whole() as u64))
            || is_much(self.void_ns(), self.void_ns().saturating_add(self.late_ns()))
            || self.longest_ns(true) > self.longest_ns(false)
    }

    /// Whether that is most of it, by number or by time: then what is advised rests on a small part.
    pub(crate) fn leaves_out_most(&self) -> bool {
        let left_out = self.left_out_counts().into_iter().fold(0, u64::saturating_add);
        left_out > self.whole() as u64 || self.is_mostly_void()
    }

    /// How many wakeups or requests came before the quantile was known that they would have been compared with, and whether they were counted: of
    /// an older recording no more is known than how many it takes.
    pub(crate) fn not_judged(&self) -> (u64, bool) {
        let is_quantile = |recorder: &&RecorderSummary| recorder.threshold.starts_with('p');
        let recorder = self.recorder.as_ref().filter(is_quantile).filter(|recorder| recorder.threshold_ns.is_some());
        match recorder.map(|recorder| recorder.not_judged) {
            None => (0, true),
            Some(0) => (RecorderSummary::MIN_FOR_QUANTILE, false),
            Some(count) => (count, true),
        }
    }

    /// Requests that were compared with the threshold, where not all of them were and that is known; of all threads.
    pub(crate) fn judged(&self) -> Option<u64> {
        match self.not_judged() {
            (0, _) | (_, false) => None,
            (not_judged, true) => self.recognised().map(|all| all.saturating_sub(not_judged)),
        }
    }

    /// Whether so many requests were not compared with it that the verdict says so.
    pub(crate) fn is_much_not_judged(&self) -> bool {
        let (not_judged, _) = self.not_judged();
        self.recognised().is_some_and(|all| is_much(not_judged, all))
    }

    /// Whether something was late, or the threshold was never known, or no request was recognised, or none is known to be whole, and there is no evidence to
    /// tell a cause from.
    pub(crate) fn lacks_evidence(&self) -> bool {
        let is_unknown = self.recorder.as_ref().is_some_and(|recorder| recorder.threshold_ns.is_none());
        let is_untold = self.recognised_none() || self.maybe_parts() > 0 || self.knows_none_whole();
        self.whole() == 0 && (self.late() > 0 || is_unknown || is_untold)
    }
}
