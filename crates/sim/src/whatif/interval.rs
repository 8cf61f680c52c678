//! How sure the answer is: the question is asked again and again, with the recordings drawn anew.

use super::{Answer, WhatIf, memory, spread};
use crate::error::Result;
use crate::interference::MAX_BYTES;
use crate::random::mix;
use crate::time::{MICROSECOND, NANOSECOND, Picoseconds, SECOND, format_span};
use crate::watch::Watch;
use punctual_recording::format_ns;

/// The range of the misses of a run as long as the simulated time, 95 times of 100: with one recording as long as the
/// machine stays as it was recorded, with several as long as it changes from run to run as it did from one of them to
/// the next.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// How much time was recorded, ps.
    pub recorded: Picoseconds,
    /// In how many recordings.
    pub recordings: u64,
    /// Repetitions, each with the recording's seconds drawn anew and in other phases; none where the recordings cannot support an answer
    /// whatever they would count: then the fewest and the most are not known.
    pub repetitions: u64,
    /// The fewest misses.
    pub low: u64,
    /// The most.
    pub high: u64,
    /// The median at the time asked about; `None` if no time was given.
    pub expected: Option<u64>,
    /// Why the recording cannot support the answer, and what would.
    pub refused: Option<String>,
}

/// A shorter recording has too few seconds to draw from.
const MIN_RECORDED: Picoseconds = 20 * SECOND;
/// How many times longer than the time asked about a recording without a miss must be to exclude one: `-ln 0.05`.
const TIMES_WITHOUT: u64 = 3;
/// The fewest and most repetitions, and the most simulated time of all of them.
const REPETITIONS: (u64, u64, Picoseconds) = (24, 100, 36_000 * SECOND);
/// The fewest repetitions of each of several recordings.
const MIN_OF_EACH: u64 = 4;

impl WhatIf {
    /// The answer with its interval, on up to `threads` threads: it asks the question again and again, each time with
    /// the recording's seconds drawn anew, in other phases and with another seed. Without a recording there is no
    /// interval.
    ///
    /// # Errors
    /// A line that names what is impossible.
    pub fn answer_with_interval(&self, threads: usize, watch: &dyn Watch) -> Result<Answer> {
        let mut answer = self.answer_watched(watch)?;
        watch.part_done();
        let Some(interference) = self.interference.as_ref().filter(|_| !answer.interrupted) else { return Ok(answer) };
        let recorded = interference.observed();
        if let Some(why) = self.unsupported() {
            let (recordings, refused) = (self.rounds.len().max(1) as u64, Some(why));
            let interval = Interval { recorded, recordings, repetitions: 0, low: 0, high: 0, expected: None, refused };
            answer.interval = Some(interval);
            return Ok(answer);
        }
        let repetitions = self.repetitions();
        // Each of those that run at once replays a recording of its own.
        let at_once = usize::try_from(MAX_BYTES / interference.bytes().max(1)).unwrap_or(usize::MAX).max(1);
        let rounds = if self.rounds.len() > 1 { &self.rounds[..] } else { std::slice::from_ref(interference) };
        let question = self.alone();
        let counted = crate::parallel::map(repetitions as usize, threads.min(at_once), |index| {
            let seed = mix(self.seed ^ mix(index as u64 + 1));
            let drawn = rounds[index % rounds.len()].resampled(seed);
            let again = WhatIf { interference: Some(drawn), seed, ..question.clone() };
            let answer = again.answer_watched(watch)?;
            watch.part_done();
            Ok((!answer.interrupted).then_some(answer.misses))
        });
        let Some(counted) = counted.into_iter().collect::<Result<Option<Vec<u64>>>>()? else {
            answer.interrupted = true;
            return Ok(answer);
        };
        let most = counted.iter().copied().max().unwrap_or(0);
        let refused = self.refusal(recorded, answer.misses, most);
        // For recordings of one length; with several lengths, as if all had the mean length.
        let length = self.duration as f64 * rounds.len() as f64 / recorded.max(1) as f64;
        let timed = self.when.as_ref().filter(|when| when.recordings.len() == rounds.len() && rounds.len() > 1);
        let timed = timed.map(|when| memory::interval(&spread::told(&counted, rounds.len(), length), when));
        let (low, mut high) = timed
            .as_ref()
            .map_or_else(|| spread::interval(&counted, rounds.len(), length), |timed| (timed.low, timed.high));
        let expected = timed.map(|timed| timed.expected);
        // What no second of the recording met may still come: no more often than once in a third of it.
        if most == 0 {
            high = high.max(TIMES_WITHOUT * self.duration / recorded.max(1));
        }
        let recordings = rounds.len() as u64;
        answer.interval = Some(Interval { recorded, recordings, repetitions, low, high, expected, refused });
        Ok(answer)
    }

    /// How often the question is repeated for the interval; not at all where it is known that there will be none.
    pub fn repetitions(&self) -> u64 {
        if self.interference.is_none() || self.unsupported().is_some() {
            return 0;
        }
        let (min, max, in_all) = REPETITIONS;
        let often = (in_all / self.duration.max(1)).clamp(min, max);
        // Equally often for every recording, and often enough to tell chance from what changes from one to the next.
        let rounds = self.rounds.len().max(1) as u64;
        often.max(if rounds > 1 { rounds * MIN_OF_EACH } else { 0 }).next_multiple_of(rounds)
    }

    /// Why the recordings cannot support an answer, whatever is counted.
    fn unsupported(&self) -> Option<String> {
        let interference = self.interference.as_ref()?;
        let recorded = interference.observed();
        // A stall between two wakeups that meets a release of the device is in no recording.
        let every = interference.period_ns().saturating_mul(NANOSECOND);
        if every > self.period {
            return Some(format!(
                "Wakeups every {} do not show what a device meets every {}: record with -i {}us.",
                format_ns(every / NANOSECOND),
                format_ns(self.period / NANOSECOND),
                (self.period / MICROSECOND).max(1)
            ));
        }
        (recorded < MIN_RECORDED).then(|| {
            format!(
                "A recording of {} cannot say how often a buffer is missed: record at least {}.",
                format_ns(recorded / NANOSECOND),
                format_ns(MIN_RECORDED / NANOSECOND)
            )
        })
    }

    /// Why they cannot support what was counted.
    fn refusal(&self, recorded: Picoseconds, misses: u64, most: u64) -> Option<String> {
        let span = |time: Picoseconds| format_span(time.next_multiple_of(SECOND));
        let needed = self.duration.saturating_mul(TIMES_WITHOUT);
        if misses == 0 && most == 0 && recorded < needed {
            let missing = span(needed - recorded);
            return Some(format!(
                "A recording of {} without a miss cannot exclude one in {}: record {missing} more, or ask about at most {} (-D).",
                span(recorded),
                span(self.duration),
                format_span(recorded / TIMES_WITHOUT / SECOND * SECOND)
            ));
        }
        None
    }
}
