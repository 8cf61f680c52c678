//! How many requests were recognised and how long they took, late or not, and what that leaves out.

use super::model::WhyReport;
use super::words::is_much;
use punctual_recording::{RecorderSummary, RequestTimes, Stage, agreeing, format_ns, grouped};

impl WhyReport<'_> {
    /// Requests that were recognised, if these are requests and they were counted.
    pub(crate) fn recognised(&self) -> Option<u64> {
        let recorder = self.recorder.as_ref().filter(|recorder| recorder.stage == Stage::Request);
        recorder.and_then(|recorder| recorder.requests)
    }

    /// Whether none was, so that nothing can be said of late ones.
    pub(crate) fn recognised_none(&self) -> bool {
        self.recognised() == Some(0) && self.late() == 0
    }

    /// How many may be only what follows a sleep within a request.
    pub(crate) fn maybe_parts(&self) -> u64 {
        let times = self.recognised().and(self.recorder.as_ref()).and_then(|recorder| recorder.request_times);
        times.map_or(0, |times| times.maybe_parts)
    }

    /// Whether most of what was recognised may leave out the wait for the answer: then nothing that the others show makes answers come sooner.
    pub(crate) fn leaves_out_answers(&self) -> bool {
        let times = self.recorder.as_ref().and_then(|recorder| recorder.request_times);
        let (all, after) = (self.recognised().unwrap_or(0), times.map_or(0, |times| times.after_answers));
        after > all / 2
    }
}

/// How long all of them took: `p50 1.20 ms, p99 8.31 ms, longest 31.0 ms`. Where they begin may only be assumed, and what was not seen
/// to end is not among them; `None` if that is not in the recording.
pub(crate) fn times_in_words(recorder: &RecorderSummary) -> Option<String> {
    let times = recorder.request_times?;
    let RequestTimes { p50_ns, p99_ns, max_ns, sure, maybe_parts, .. } = times;
    let p99 = p99_ns.map(|ns| format!(", p99 {}", format_ns(ns))).unwrap_or_default();
    let mut words = format!("p50 {}{p99}, longest {}", format_ns(p50_ns), format_ns(max_ns));
    let unsure = recorder.requests.unwrap_or(0).saturating_sub(sure);
    if unsure > 0 {
        words += &format!("; {} may include a wait for the next request", grouped(unsure));
    }
    if maybe_parts > 0 {
        words += &format!(
            "; {} may be only {}",
            grouped(maybe_parts),
            agreeing(maybe_parts, "a part of a request", "parts of requests")
        );
    }
    for (count, what) in times.of_late_clients().into_iter().filter(|(count, _)| *count > 0) {
        words += &format!("; {} {what}", grouped(count));
    }
    Some(words + &cut_in_words(recorder))
}

/// What is known of requests of clients that were behind their timers, where it tells that more may have been late.
pub(crate) fn may_be_late(recorder: &RecorderSummary) -> impl Iterator<Item = (u64, String)> + use<> {
    let (times, all) = (recorder.request_times.unwrap_or_default(), recorder.requests.unwrap_or(0));
    let are_told = [times.late_from_due > 0, times.maybe_several > 0, is_much(times.after_answers, all)];
    times.of_late_clients().into_iter().zip(are_told).filter(|(_, is_told)| *is_told).map(|(counted, _)| counted)
}

/// How many more there were of which the end was not seen; empty if there were none.
pub(crate) fn cut_in_words(recorder: &RecorderSummary) -> String {
    match recorder.cut_requests.saturating_add(recorder.without_end) {
        0 => String::new(),
        cut => format!("; another {} {} not followed to the end", grouped(cut), agreeing(cut, "was", "were")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_given_with_what_they_may_include_and_what_they_leave_out() {
        let times = RequestTimes {
            p50_ns: 1_200_000,
            p99_ns: Some(8_310_000),
            max_ns: 31_000_000,
            sure: 1_000,
            ..RequestTimes::default()
        };
        let whole = RecorderSummary { requests: Some(1_000), request_times: Some(times), ..RecorderSummary::default() };
        let told = |recorder: &RecorderSummary| times_in_words(recorder).unwrap_or_default();
        assert_eq!(told(&whole), "p50 1.20 ms, p99 8.31 ms, longest 31.0 ms");
        let unsure = RecorderSummary { requests: Some(1_103), without_end: 3, cut_requests: 1, ..whole.clone() };
        assert_eq!(
            told(&unsure),
            "p50 1.20 ms, p99 8.31 ms, longest 31.0 ms; 103 may include a wait for the next request; another 4 were not followed to the end"
        );
        let few = RecorderSummary { request_times: Some(RequestTimes { p99_ns: None, ..times }), ..whole.clone() };
        assert_eq!(told(&few), "p50 1.20 ms, longest 31.0 ms");
        let parts = RequestTimes { sure: 0, maybe_parts: 126, ..times };
        let parts = RecorderSummary { requests: Some(126), request_times: Some(parts), ..whole.clone() };
        assert_eq!(
            told(&parts),
            "p50 1.20 ms, p99 8.31 ms, longest 31.0 ms; 126 may include a wait for the next request; 126 may be only parts of requests"
        );
        let behind = RequestTimes { without_timer: 813, late_from_due: 402, maybe_several: 1, ..times };
        assert_eq!(
            told(&RecorderSummary { request_times: Some(behind), ..whole.clone() }),
            "p50 1.20 ms, p99 8.31 ms, longest 31.0 ms; 813 began without their timer, because the client was behind, and are timed from when they \
             were sent, not from when they were due (counted from then, 402 more took longer than the threshold); 1 may be several requests of a client that was behind its timer"
        );
        let after = RequestTimes { sure: 0, after_answers: 1_000, ..times };
        assert!(
            told(&RecorderSummary { request_times: Some(after), ..whole.clone() }).ends_with(
                "; 1,000 may begin with the answer to the one before, and leave out the wait for it, if the client was behind its timer or had none"
            )
        );
        assert_eq!(told(&RecorderSummary { request_times: None, ..whole }), "", "an older recording");
    }
}
