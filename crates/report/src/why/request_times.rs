//! How many requests were recognised and how long they took, late or not, and what that leaves out.

use punctual_recording::{RecorderSummary, RequestTimes, agreeing, format_ns, grouped};

/// How long all of them took: `p50 1.20 ms, p99 8.31 ms, longest 31.0 ms`. Where they begin may only be assumed, and what was not seen
/// to end is not among them; `None` if that is not in the recording.
pub(crate) fn times_in_words(recorder: &RecorderSummary) -> Option<String> {
    let RequestTimes { p50_ns, p99_ns, max_ns, sure, maybe_parts, assumed: _ } = recorder.request_times?;
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
    Some(words + &cut_in_words(recorder))
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
            maybe_parts: 0,
            assumed: 0,
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
        assert_eq!(told(&RecorderSummary { request_times: None, ..whole }), "", "an older recording");
    }
}
