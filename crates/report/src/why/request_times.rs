//! How many requests were recognised and how long they took, late or not, and what that leaves out.

use super::model::{EpisodeView, WhyReport};
use super::words::is_much;
use punctual_blame::{ANSWER_OR_REQUEST, Kind, Part};
use punctual_recording::{RecorderSummary, RequestTimes, Stage, agreeing, counted, format_ns, grouped};

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

    /// How many of those that were recognised may not be requests, as a sentence; empty if hardly any.
    pub(crate) fn some_may_not_be_requests(&self) -> String {
        let all = self.recognised().filter(|all| *all > 1 && self.only.is_none());
        let times = self.recorder.as_ref().and_then(|recorder| recorder.request_times);
        let Some((all, times)) = all.zip(times) else { return String::new() };
        let many = maybe_no_requests(times).into_iter().filter(|(count, _)| is_much(*count, all));
        let told: Vec<String> = many.map(|(count, what)| format!("{} {what}", grouped(count))).collect();
        if told.is_empty() {
            return String::new();
        }
        let what = counted(all, "recognised request");
        format!(" Some of the {what} may not be requests: {}.", told.join("; "))
    }

    /// How many late ones without whole evidence may only have been waiting for their next one: they may be among those of which it is only assumed where
    /// they begin and end. Where evidence is whole, that tells.
    pub(crate) fn maybe_unjudged(&self) -> u64 {
        let times = self.recorder.as_ref().and_then(|recorder| recorder.request_times);
        let assumed = times.filter(|_| self.only.is_none()).map_or(0, |times| times.late_assumed);
        let told = self.told_of_waits();
        self.late().saturating_sub(self.whole() as u64).min(assumed.saturating_sub(told))
    }

    /// How many late ones with whole evidence are not known to be late because of a wait that was, or may have been, for the next request. A sleep after the
    /// answer says nothing of where its request begins and ends.
    fn told_of_waits(&self) -> u64 {
        let is_wait = |part: &Part| part.kind == Kind::Idle || part.who.name() == ANSWER_OR_REQUEST;
        let is_told = |episode: &&EpisodeView| {
            episode.void.is_none() && episode.took_ns().is_none() && episode.split.parts.iter().any(is_wait)
        };
        self.episodes.iter().filter(is_told).count() as u64
    }

    /// That these may have waited for their next one instead, to follow that they took longer, if some of those without whole evidence may.
    pub(crate) fn or_waited(&self, late: u64) -> String {
        match self.maybe_unjudged() {
            0 => String::new(),
            _ => format!(" or waited for {} next one", agreeing(late, "its", "their")),
        }
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
    let RequestTimes { p50_ns, p99_ns, max_ns, sure, maybe_parts, assumed, .. } = times;
    let p99 = p99_ns.map(|ns| format!(", p99 {}", format_ns(ns))).unwrap_or_default();
    let mut words = format!("p50 {}{p99}, longest {}", format_ns(p50_ns), format_ns(max_ns));
    // Those that begin and end where that is only assumed are not sure; older recordings count some of them on both sides.
    let unsure = recorder.requests.unwrap_or(0).saturating_sub(sure).max(assumed);
    if unsure > 0 {
        words += &format!(
            "; {} may include a wait for the next request, or leave out the one for the answer",
            grouped(unsure)
        );
    }
    if maybe_parts > 0 {
        words += &format!(
            "; {} may be only {}",
            grouped(maybe_parts),
            agreeing(maybe_parts, "a part of a request", "parts of requests")
        );
    }
    let others = times.of_late_clients().into_iter().chain(maybe_no_requests(times));
    for (count, what) in others.filter(|(count, _)| *count > 0) {
        words += &format!("; {} {what}", grouped(count));
    }
    Some(words + &cut_in_words(recorder))
}

/// What is known of requests of clients that were behind their timers, where it tells that more may have been late; of those that may leave out the wait for
/// the answer only if so many of all are told.
pub(crate) fn may_be_late<Told: Fn(u64, u64) -> bool>(
    recorder: &RecorderSummary,
    is_told: &Told,
) -> impl Iterator<Item = (u64, String)> + use<Told> {
    let (times, all) = (recorder.request_times.unwrap_or_default(), recorder.requests.unwrap_or(0));
    let are_told = [
        times.late_from_due > 0,
        times.maybe_several > 0,
        is_told(times.after_answers, all),
        is_told(times.unanswered, all),
    ];
    times.of_late_clients().into_iter().zip(are_told).filter(|(_, is_told)| *is_told).map(|(counted, _)| counted)
}

/// How many may not be requests: those that a timer begins, and wakeups in vain; each with words to follow the number.
fn maybe_no_requests(times: RequestTimes) -> [(u64, String); 2] {
    let RequestTimes { maybe_ticks, maybe_in_vain, .. } = times;
    let ticks =
        format!("{} at a timer, in a program that accepts connections", agreeing(maybe_ticks, "begins", "begin"));
    let in_vain = format!(
        "may be {} in vain, since {} short and {} right after a longer one",
        agreeing(maybe_in_vain, "a wakeup", "wakeups"),
        agreeing(maybe_in_vain, "it is", "they are"),
        agreeing(maybe_in_vain, "comes", "each comes"),
    );
    [(maybe_ticks, ticks), (maybe_in_vain, in_vain)]
}

/// How many more there were of which the end was not seen; empty if there were none.
pub(crate) fn cut_in_words(recorder: &RecorderSummary) -> String {
    match recorder.cut_requests.saturating_add(recorder.without_end) {
        0 => String::new(),
        cut => format!("; another {} {} not followed to the end", grouped(cut), agreeing(cut, "was", "were")),
    }
}

/// The same of those that may have been late, or hold some that were, to follow a sentence that says so.
pub(crate) fn cut_in_full(recorder: &RecorderSummary) -> Option<String> {
    let (cut, given_up) = (recorder.may_be_late_cut(), recorder.without_end);
    let were = agreeing(cut, "was", "were");
    let because = match given_up {
        0 => String::new(),
        _ => format!(
            ", and {} {} given up after {} waits{}, any of which may have been for another request",
            grouped(given_up),
            agreeing(given_up, "was", "were"),
            RecorderSummary::MAX_WAITS,
            agreeing(given_up, "", " each"),
        ),
    };
    (cut > 0).then(|| format!("{} {were} not followed to the end{because}", grouped(cut)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::why::tests::of_parts;
    use std::path::Path;

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
            "p50 1.20 ms, p99 8.31 ms, longest 31.0 ms; 103 may include a wait for the next request, or leave out the one for the answer; another 4 were not followed to the end"
        );
        let both = RequestTimes { assumed: 1_000, ..times };
        assert_eq!(
            told(&RecorderSummary { request_times: Some(both), ..whole.clone() }),
            "p50 1.20 ms, p99 8.31 ms, longest 31.0 ms; 1,000 may include a wait for the next request, or leave out the one for the answer"
        );
        let few = RecorderSummary { request_times: Some(RequestTimes { p99_ns: None, ..times }), ..whole.clone() };
        assert_eq!(told(&few), "p50 1.20 ms, longest 31.0 ms");
        let parts = RequestTimes { sure: 0, maybe_parts: 126, ..times };
        let parts = RecorderSummary { requests: Some(126), request_times: Some(parts), ..whole.clone() };
        assert_eq!(
            told(&parts),
            "p50 1.20 ms, p99 8.31 ms, longest 31.0 ms; 126 may include a wait for the next request, or leave out the one for the answer; 126 may be only parts of requests"
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
        let none = RequestTimes { maybe_ticks: 190, maybe_in_vain: 1, ..times };
        assert_eq!(
            told(&RecorderSummary { request_times: Some(none), ..whole.clone() }),
            "p50 1.20 ms, p99 8.31 ms, longest 31.0 ms; 190 begin at a timer, in a program that accepts connections; 1 may be a wakeup in vain, \
             since it is short and comes right after a longer one"
        );
        assert_eq!(told(&RecorderSummary { request_times: None, ..whole }), "", "an older recording");
    }

    #[test]
    fn what_was_not_followed_to_the_end_is_told_with_the_reason() {
        let told = |without_end, cut_requests, maybe_late_cut| {
            cut_in_full(&RecorderSummary { without_end, cut_requests, maybe_late_cut, ..RecorderSummary::default() })
        };
        assert_eq!(told(0, 0, None), None);
        assert_eq!(told(2, 3, Some(0)), None, "none of them had taken that long");
        assert_eq!(told(0, 1, Some(1)).as_deref(), Some("1 was not followed to the end"));
        let given_up = "37 were not followed to the end, and 34 were given up after 250 waits each, any of which may have been for another request";
        assert_eq!(told(34, 3, None).as_deref(), Some(given_up));
        let one = "1 was not followed to the end, and 1 was given up after 250 waits, any of which may have been for another request";
        assert_eq!(told(1, 0, None).as_deref(), Some(one));
    }

    #[test]
    fn a_sentence_says_how_many_may_be_no_requests_where_those_are_many() {
        let told = |maybe_ticks, maybe_in_vain| {
            let recorder = RecorderSummary {
                stage: Stage::Request,
                threshold: "15ms".into(),
                threshold_ns: Some(15_000_000),
                requests: Some(582),
                request_times: Some(RequestTimes { maybe_ticks, maybe_in_vain, sure: 582, ..RequestTimes::default() }),
                ..RecorderSummary::default()
            };
            WhyReport::new(Path::new("x"), 0, Some(recorder), Vec::new(), false, None, &[]).verdict()
        };
        let none_late = "None of the 582 requests that were recognised took longer than 15.0 ms.";
        let some = "Some of the 582 recognised requests may not be requests";
        let ticks = "190 begin at a timer, in a program that accepts connections";
        let in_vain = "212 may be wakeups in vain, since they are short and each comes right after a longer one";
        assert_eq!(told(0, 0), none_late);
        assert_eq!(told(3, 5), none_late, "hardly any");
        assert_eq!(told(190, 0), format!("{none_late} {some}: {ticks}."));
        assert_eq!(told(190, 212), format!("{none_late} {some}: {ticks}; {in_vain}."));
    }

    /// Of a server whose waits are taken for parts of its requests, those without evidence are no more known to be late than the others.
    #[test]
    fn late_requests_without_evidence_may_have_been_waiting_for_their_next_one() {
        let told = |late_assumed, views: Vec<EpisodeView>| {
            let recorder = RecorderSummary {
                stage: Stage::Request,
                threshold: "60ms".into(),
                threshold_ns: Some(60_000_000),
                requests: Some(59),
                late: views.len() as u64,
                kept: views.len() as u64,
                request_times: Some(RequestTimes { late_assumed, ..RequestTimes::default() }),
                ..RecorderSummary::default()
            };
            WhyReport::new(Path::new("x"), 0, Some(recorder), views, false, None, &[]).verdict()
        };
        let untold = || of_parts(&[(Kind::Unknown, ANSWER_OR_REQUEST, 90), (Kind::Own, "late", 10)]);
        let sure = || of_parts(&[(Kind::Wait, "store", 90), (Kind::Own, "late", 10)]);
        let void = || EpisodeView { void: Some("overwritten".into()), ..untold() };
        for (late_assumed, views, expected) in [
            (
                0,
                vec![untold(), void(), void()],
                "2 of 59 recognised requests took longer than 60.0 ms, and another 1 may",
            ),
            (
                3,
                vec![untold(), void(), void()],
                "No request is known to have been late; 3 of 59 recognised requests took",
            ),
            (
                3,
                vec![sure(), void(), void()],
                "1 of 59 recognised requests took longer than 60.0 ms, and another 2 may",
            ),
            (1, vec![sure(), void(), void()], "2 of 59 recognised requests took longer than 60.0 ms, "),
            (0, vec![void()], "1 of 59 recognised requests took longer than 60.0 ms; its evidence"),
            (
                1,
                vec![void()],
                "1 of 59 recognised requests took longer than 60.0 ms or waited for its next one; its evidence",
            ),
        ] {
            let found = told(late_assumed, views);
            assert!(found.starts_with(expected), "{late_assumed}: {found}");
        }
    }
}
