//! How many requests there were of which so much is known, and how long all of them took.

use super::request::Request;
use punctual_recording::{Distribution, RequestTimes};

/// How much is known of requests, by how many of them, see [`RequestTimes`].
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OfRequests {
    sure: u64,
    sure_asked: u64,
    maybe_parts: u64,
    assumed: u64,
    late_assumed: u64,
    without_timer: u64,
    late_from_due: u64,
    maybe_several: u64,
    after_answers: u64,
    maybe_in_vain: u64,
    maybe_ticks: u64,
}

impl OfRequests {
    /// One is over, and is late beyond this, ns, if that is known already.
    pub(super) fn count(&mut self, request: &Request, threshold_ns: Option<u64>) {
        let Request { expected_ns, end_ns, known } = *request;
        let is_late_since = |begun_ns: u64| threshold_ns.is_some_and(|ns| end_ns.saturating_sub(begun_ns) > ns);
        let is_late_from_due = known.due_ns.is_some_and(is_late_since) && !is_late_since(expected_ns);
        self.sure += u64::from(known.is_sure());
        self.sure_asked += u64::from(known.is_sure() && known.is_asked_for);
        self.maybe_parts += u64::from(known.may_be_part);
        self.assumed += u64::from(!known.is_bounded);
        self.late_assumed += u64::from(!known.is_bounded && is_late_since(expected_ns));
        self.without_timer += u64::from(known.due_ns.is_some());
        self.late_from_due += u64::from(is_late_from_due);
        self.maybe_several += u64::from(known.may_be_several);
        self.after_answers += u64::from(known.is_after_answer);
        self.maybe_in_vain += u64::from(known.may_be_in_vain);
        self.maybe_ticks += u64::from(known.may_be_tick);
    }

    /// How long they took; `None` if there are none. So many that counted as sure turned out later to end in the midst of one, and so many to be only a question, or
    /// only what follows the answer.
    pub(super) fn times(self, times: &Distribution, not_sure_after_all: u64, unanswered: u64) -> Option<RequestTimes> {
        let OfRequests { maybe_parts, assumed, without_timer, late_from_due, maybe_several, .. } = self;
        Some(RequestTimes {
            p50_ns: times.quantile(0.5)?,
            // A quantile is given only where at least one value lies beyond it.
            p99_ns: if times.count() >= 100 { times.quantile(0.99) } else { None },
            max_ns: times.max()?,
            sure: self.sure.saturating_sub(not_sure_after_all).saturating_sub(unanswered),
            sure_asked: Some(self.sure_asked),
            maybe_parts,
            assumed,
            late_assumed: self.late_assumed,
            without_timer,
            late_from_due,
            maybe_several,
            after_answers: self.after_answers,
            unanswered,
            maybe_in_vain: self.maybe_in_vain,
            maybe_ticks: self.maybe_ticks,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::request::Known;

    #[test]
    fn times_of_requests_are_quantiles_as_far_as_there_are_enough() {
        let mut times = Distribution::new();
        let known = OfRequests { sure: 7, sure_asked: 1, maybe_parts: 2, assumed: 5, ..OfRequests::default() };
        assert_eq!(known.times(&times, 0, 0), None);
        times.record_n(1_000, 99);
        let few = RequestTimes {
            p50_ns: 1_000,
            max_ns: 1_000,
            sure: 7,
            sure_asked: Some(1),
            maybe_parts: 2,
            assumed: 5,
            ..RequestTimes::default()
        };
        assert_eq!(known.times(&times, 0, 0), Some(few));
        assert_eq!(known.times(&times, 3, 0), Some(RequestTimes { sure: 4, ..few }));
        assert_eq!(known.times(&times, 3, 2), Some(RequestTimes { sure: 2, unanswered: 2, ..few }));
        times.record(50_000);
        let found = OfRequests::default().times(&times, 0, 0).unwrap();
        assert_eq!((found.p50_ns, found.p99_ns, found.max_ns), (1_000, Some(1_000), 50_000));
    }

    #[test]
    fn late_requests_that_begin_and_end_by_assumption_are_counted() {
        let mut found = OfRequests::default();
        for (is_bounded, end_ns) in [(true, 200), (true, 100), (false, 200), (false, 100), (false, 300)] {
            let known = Known { is_bounded, ..Known::default() };
            found.count(&Request { expected_ns: 50, end_ns, known }, Some(100));
        }
        assert_eq!((found.assumed, found.late_assumed), (3, 2));
    }

    /// The one of a loop that was behind may be late from when it was due, and not from when it was sent.
    #[test]
    fn requests_that_began_without_their_timer_are_counted_and_those_that_were_late_from_then() {
        let request = |due_ns, expected_ns, end_ns| Request {
            expected_ns,
            end_ns,
            known: Known { due_ns, is_bounded: true, ..Known::default() },
        };
        for (request, threshold_ns, expected) in [
            (request(None, 100, 300), Some(50), [0, 0]),
            (request(Some(100), 250, 300), Some(50), [1, 1]),
            (request(Some(100), 240, 300), Some(50), [1, 0]),
            (request(Some(260), 270, 300), Some(50), [1, 0]),
            (request(Some(100), 250, 300), None, [1, 0]),
        ] {
            let mut found = OfRequests::default();
            found.count(&request, threshold_ns);
            assert_eq!([found.without_timer, found.late_from_due], expected, "{request:?} {threshold_ns:?}");
        }
    }
}
