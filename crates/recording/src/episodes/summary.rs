//! What the flight recorder was set to, and its counts.

use crate::format::units::{agreeing, grouped};
use punctual_codes::Stage;
use serde::{Deserialize, Serialize};

/// The settings and the counts of the flight recorder. Rewritten by rename about every second.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecorderSummary {
    /// The threshold as the user gave it: `500us`, `p99.9`.
    pub threshold: String,
    /// What was compared with it.
    #[serde(default)]
    pub stage: Stage,
    /// The threshold that applied last, ns.
    pub threshold_ns: Option<u64>,
    /// Samples per second and CPU that were asked for; 0: none.
    pub sample_rate: u32,
    /// Wakeups or requests that came before a quantile was known, see [`RecorderSummary::MIN_FOR_QUANTILE`]: whether they were late is not
    /// known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_judged: u64,
    /// Wakeups that exceeded it.
    pub late: u64,
    /// Those that were kept as episodes, including void ones.
    pub kept: u64,
    /// Those without evidence because the budget was spent.
    pub over_budget: u64,
    /// Those without evidence because it could not be written, or not as fast as it came.
    #[serde(default)]
    pub writing_behind: u64,
    /// Requests that were seen to end, late or not, see [`Stage::Request`]; `None` if they were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// How long those took; `None` if none was seen to end, or their times were not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_times: Option<RequestTimes>,
    /// Requests whose end was not found, see [`Stage::Request`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub without_end: u64,
    /// Requests that had begun and whose end was not seen: some of the thread's wakeups were missed, or the recording ended first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut_requests: u64,
    /// How many of both may have been late, or hold some that were: they had lasted longer than the threshold when they were given up or the recording
    /// ended, or it is not known for how long they went on. `None`: older recordings do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maybe_late_cut: Option<u64>,
    /// Threads of programs that accept connections that ended, and were not seen to wait for any: each may have worked on a request that another one read. And
    /// threads of other programs that were made, it seems, for what another one was to do at a time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ended_threads: u64,
    /// Why evidence could not be written, if it could not: a full disk. The recording itself may have had no room to
    /// say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Episodes whose evidence is incomplete.
    pub void: u64,
    /// The clock for samples: `cpu-cycles` sees code that has interrupts off, `cpu-clock` does not; none if no samples were
    /// taken, because none were asked for or the kernel refused them.
    pub sample_clock: Option<String>,
    /// CPU time of the sampling clock's interrupts on all CPUs, ns, if they can be told apart from other timers' and the
    /// recording ended in order.
    #[serde(default)]
    pub sampling_ns: Option<u64>,
    /// Stacks that were taken in all.
    pub samples: u64,
    /// Run time of the recorder's programs on all CPUs, ns, including what interrupted them: as the kernel measured it
    /// until there were 30,000 records, for 0.1 to 0.9 s, then as it follows from the number of records. `None` if it could
    /// not be measured. It leaves out the sampling program if `sampling_ns` has that. What follows threads or stamps wakeups
    /// at switches, wakings and interrupts is part of it: the recorder's programs go on with that.
    #[serde(default)]
    pub programs_ns: Option<u64>,
    /// How often they ran.
    #[serde(default)]
    pub program_runs: Option<u64>,
    /// How long the measurement ran with the recorder armed, ns.
    #[serde(default)]
    pub armed_ns: u64,
    /// The number of CPUs.
    #[serde(default)]
    pub cpus: u64,
    /// CPU time during the measurement, ns, of the thread that finds names and writes the evidence.
    pub collecting_ns: u64,
    /// Its CPU time before the measurement, for reading the kernel's symbols.
    #[serde(default)]
    pub starting_ns: u64,
    /// Its CPU time after the measurement, for what had not been written yet.
    #[serde(default)]
    pub finishing_ns: u64,
    /// The longest time from a trigger until its evidence was out of the rings, ns; the rings stay armed all the time.
    pub longest_collection_ns: u64,
    /// Programs that lack their tracepoint on this kernel, or that it refuses.
    pub missing: Vec<String>,
    /// Whether the kernel's count of nested interrupts could be read; if not, interrupts and softirqs are known only by
    /// their beginnings and ends.
    #[serde(default = "yes")]
    pub nesting_known: bool,
}

/// How long requests took that were seen to end, late or not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestTimes {
    /// The median, ns, within 0.1 %.
    pub p50_ns: u64,
    /// The 99th percentile, ns, within 0.1 %; `None` of fewer than a hundred.
    pub p99_ns: Option<u64>,
    /// The longest, ns.
    pub max_ns: u64,
    /// How many of them hold no wait for the next request, and leave out none for an answer, because where they begin is known, and what they wait
    /// for. Of the others some may.
    pub sure: u64,
    /// How many of those that are sure begin as somebody asks by a connection. A request that comes in parts is one for each part, and the wait for the rest is in
    /// none of them. `None`: older recordings do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sure_asked: Option<u64>,
    /// How many of them may be only what follows a sleep within a request, because a timer begins them in a thread that may be
    /// a server's.
    #[serde(default)]
    pub maybe_parts: u64,
    /// How many of them begin and end where that is only assumed, those included: they may hold a wait for the next request, or hide one that was late.
    #[serde(default)]
    pub assumed: u64,
    /// How many of these took longer than the threshold, a wait for the next one included.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub late_assumed: u64,
    /// How many of them began without their timer, because their loop was behind it. They are timed from when the thread went on with them, which is
    /// when it sent them, and not from when they were due.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub without_timer: u64,
    /// How many of these took no longer than the threshold from then, and longer from when they were due.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub late_from_due: u64,
    /// How many of them may be several each: of a loop that was behind, and did not always ask equally often.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub maybe_several: u64,
    /// How many of them begin with what comes by a connection that the program asked for. Of a client that has no timer, or was behind it all the time,
    /// that is the answer, and the wait for it is in no request.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub after_answers: u64,
    /// How many of them may be only a question, or only what follows its answer: their thread was seen to ask others in such requests, and waited for none of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unanswered: u64,
    /// How many of them may be wakeups in vain, as of a server whose client reads the answer out of a local stream socket: they are short, and come right
    /// after a longer one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub maybe_in_vain: u64,
    /// How many of them begin at a timer in a program that accepts connections, those that may be parts left out: a tick, or work in the background.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub maybe_ticks: u64,
}

impl RequestTimes {
    /// How many of all requests, of which there are so many, may hide one that was late: all that are not sure, since nothing tells whether what comes before
    /// them is the wait for the next request or for an answer.
    pub fn may_hide(self, all: u64) -> u64 {
        all.saturating_sub(self.sure).max(self.assumed).min(all)
    }

    /// What is known of requests of clients that were behind their timers, had none, or do not wait for their answers: how many began without these, how many may be
    /// several each, and how many may leave out the wait for the answer, for either reason; each with words to follow the number.
    pub fn of_late_clients(self) -> [(u64, String); 4] {
        let RequestTimes { without_timer, late_from_due, maybe_several, after_answers, unanswered, .. } = self;
        let from_due = match late_from_due {
            0 => String::new(),
            late => format!(" (counted from then, {} more took longer than the threshold)", grouped(late)),
        };
        let they_were = agreeing(without_timer, "it was", "they were");
        let began = format!(
            "began without {} timer, because the client was behind, and {} timed from when {they_were} sent, not from when {they_were} due{from_due}",
            agreeing(without_timer, "its", "their"),
            agreeing(without_timer, "is", "are"),
        );
        let each = agreeing(maybe_several, "", "each ");
        let several = format!("may {each}be several requests of a client that was behind its timer");
        let after = "may begin with the answer to the one before, and leave out the wait for it, if the client was behind its timer or had none";
        let asked = format!(
            "may {}be only a question or only its answer, since {} thread asks others and does not wait for them",
            agreeing(unanswered, "", "each "),
            agreeing(unanswered, "its", "their"),
        );
        [(without_timer, began), (maybe_several, several), (after_answers, after.to_owned()), (unanswered, asked)]
    }
}

impl RecorderSummary {
    /// So many waits may a request have that is followed: after one more it is given up, and is in [`without_end`](Self::without_end). Each of them may have
    /// been for another request.
    pub const MAX_WAITS: u64 = 250;

    /// How many requests may hide one that was late, of those that were seen to end; `None` if they were not counted.
    pub fn may_hide(&self) -> Option<u64> {
        Some(self.request_times.unwrap_or_default().may_hide(self.requests?))
    }

    /// How many that were not followed to the end may have been late, or hold some that were. Where that was not counted, all may.
    pub fn may_be_late_cut(&self) -> u64 {
        self.maybe_late_cut.unwrap_or(u64::MAX).min(self.without_end.saturating_add(self.cut_requests))
    }

    /// So many values have to be known before a quantile of them is a threshold.
    pub const MIN_FOR_QUANTILE: u64 = 1_000;

    /// Where late wakeups go on until their work is done: what the same word means in tables. `None` for other stages.
    pub fn note_on_response(&self) -> Option<&'static str> {
        (self.stage == Stage::Response).then_some(
            "in tables and limits, `response` and `work` end where a thread first sleeps, even for a lock or a page; what `why` \
             explains goes on until the work is done",
        )
    }

    /// Late wakeups without evidence, for whatever reason.
    pub fn without_evidence(&self) -> u64 {
        self.late.saturating_sub(self.kept)
    }

    /// Those for which neither the budget nor slow writing is known to be the reason: their evidence was still to be
    /// written at the time of this count.
    pub fn unwritten_yet(&self) -> u64 {
        self.without_evidence().saturating_sub(self.over_budget.saturating_add(self.writing_behind))
    }

    /// Counts what is still to be written as impossible to write, because nothing will be written any more.
    pub fn nothing_is_written_any_more(&mut self) {
        self.writing_behind = self.writing_behind.saturating_add(self.unwritten_yet());
    }

    /// Brings the counts into line with the episodes in the recording, given how many there are and how many of them
    /// are void: the last counts may be older than the episodes.
    pub fn agree_with(&mut self, episodes: u64, void: u64) {
        self.kept = self.kept.max(episodes);
        self.void = self.void.max(void);
        let unkept = self.over_budget.saturating_add(self.writing_behind);
        self.late = self.late.max(self.kept.saturating_add(unkept));
    }
}

fn yes() -> bool {
    true
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_requests_that_are_not_sure_may_hide_a_late_one() {
        let of = |sure, assumed| RequestTimes { sure, assumed, ..RequestTimes::default() }.may_hide(100);
        assert_eq!([of(0, 0), of(96, 0), of(96, 9), of(100, 0), of(101, 0), of(0, 101)], [100, 4, 9, 0, 0, 100]);
        let whole = RecorderSummary { requests: Some(100), ..RecorderSummary::default() };
        assert_eq!(whole.may_hide(), Some(100), "their times were not kept");
        assert_eq!(RecorderSummary::default().may_hide(), None, "they were not counted");
    }

    #[test]
    fn all_that_were_not_followed_to_the_end_may_have_been_late_where_that_was_not_counted() {
        let cut = |maybe_late_cut| RecorderSummary {
            without_end: 3,
            cut_requests: 2,
            maybe_late_cut,
            ..RecorderSummary::default()
        };
        assert_eq!([None, Some(0), Some(4), Some(9)].map(|late| cut(late).may_be_late_cut()), [5, 0, 4, 5]);
    }

    #[test]
    fn the_words_on_late_clients_agree_with_their_numbers() {
        let told = |count: u64, late_from_due: u64| {
            let times = RequestTimes {
                without_timer: count,
                late_from_due,
                maybe_several: count,
                after_answers: count,
                unanswered: count,
                ..RequestTimes::default()
            };
            times.of_late_clients().map(|(number, words)| format!("{number} {words}"))
        };
        let [began, several, after, unanswered] = told(1, 0);
        assert_eq!(
            began,
            "1 began without its timer, because the client was behind, and is timed from when it was sent, not from when it was due"
        );
        assert_eq!(several, "1 may be several requests of a client that was behind its timer");
        assert_eq!(
            after,
            "1 may begin with the answer to the one before, and leave out the wait for it, if the client was behind its timer or had none"
        );
        assert_eq!(
            unanswered,
            "1 may be only a question or only its answer, since its thread asks others and does not wait for them"
        );
        let [began, several, _, unanswered] = told(813, 1_402);
        assert_eq!(
            began,
            "813 began without their timer, because the client was behind, and are timed from when they were sent, not from when they were due \
             (counted from then, 1,402 more took longer than the threshold)"
        );
        assert_eq!(several, "813 may each be several requests of a client that was behind its timer");
        assert_eq!(
            unanswered,
            "813 may each be only a question or only its answer, since their thread asks others and does not wait for them"
        );
    }
}
