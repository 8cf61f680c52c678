//! That no request was late, and of how many that is not known: those of which it is only assumed where they begin and end may hide one that was.

use crate::why::model::WhyReport;
use crate::why::request_times::{cut_in_full, may_be_late};
use crate::why::words::is_much;
use punctual_recording::{RecorderSummary, RequestTimes, agreeing, counted, grouped};

impl WhyReport<'_> {
    /// That some may be only parts of requests, to follow their number.
    fn are_maybe_parts(&self) -> String {
        let parts = self.maybe_parts();
        format!(
            "{} at a timer of what may be a server, and may be only {}",
            agreeing(parts, "begins", "begin"),
            agreeing(parts, "a part of a request", "parts of requests")
        )
    }

    /// How many of the others may have been late.
    pub(crate) fn others_may_be_late(&self) -> String {
        let untold = self.untold(is_much).filter(|_| self.only.is_none());
        untold.map_or_else(String::new, |untold| format!(" More may have been late: {untold}."))
    }

    /// How many requests may hide one that was late, since it is not known where they begin and end, or what became of them; and how many threads may have
    /// worked on some that were not seen. `None` if none does, or not so many of all that they are told.
    fn untold(&self, is_told: impl Fn(u64, u64) -> bool) -> Option<String> {
        let all = self.recognised().filter(|all| *all > 0)?;
        let (parts, recorder) = (self.maybe_parts(), self.recorder.as_ref()?);
        let times = recorder.request_times.unwrap_or_default();
        let RequestTimes { maybe_several, after_answers, unanswered, .. } = times;
        let told = maybe_several.saturating_add(after_answers).saturating_add(unanswered);
        let hiding = times.may_hide(all).saturating_sub(told);
        let mut untold = Vec::new();
        if hiding > parts && is_told(hiding, all) {
            let begin_and_end = agreeing(hiding, "begins and ends", "begin and end");
            untold.push(format!("where {} of all {} {begin_and_end} is only assumed", grouped(hiding), grouped(all)));
        }
        let may_be_parts = (parts > 0).then(|| (parts, self.are_maybe_parts()));
        for (count, what) in may_be_late(recorder, &is_told).chain(may_be_parts) {
            let of_all = if untold.is_empty() { format!(" of all {}", grouped(all)) } else { String::new() };
            untold.push(format!("{}{of_all} {what}", grouped(count)));
        }
        let cut = recorder.may_be_late_cut();
        if is_told(cut.saturating_add(recorder.without_end.saturating_mul(RecorderSummary::MAX_WAITS)), all) {
            untold.extend(cut_in_full(recorder));
        }
        let ended = recorder.ended_threads;
        if is_told(ended, all) {
            untold.push(format!(
                "{} that {} may each have worked on a request that another thread handed on",
                counted(ended, "thread"),
                agreeing(ended, "has ended", "have ended"),
            ));
        }
        (!untold.is_empty()).then(|| untold.join("; "))
    }

    /// All of these, to follow that none was late.
    fn but_untold(&self) -> String {
        let untold = self.untold(|count, _| count > 0);
        untold.map_or_else(String::new, |untold| format!(", but others may have: {untold}"))
    }

    /// How many requests are known to be whole, of all that were recognised.
    fn known_whole(&self) -> Option<u64> {
        let all = self.recognised()?;
        Some(all.saturating_sub(self.recorder.as_ref()?.may_hide()?))
    }

    /// Whether none of those that were recognised is, so that nothing is known of late ones where none was found.
    pub(crate) fn knows_none_whole(&self) -> bool {
        self.late() == 0 && self.recognised().is_some_and(|all| all > 0) && self.known_whole() == Some(0)
    }

    /// That none was late of those that were seen whole.
    pub(crate) fn none_late(&self) -> String {
        match self.recognised() {
            Some(all) if self.maybe_parts() > 0 => format!(
                "Whether a request took longer than {} is not known: {} of {} that {} recognised {}",
                self.threshold(),
                grouped(self.maybe_parts()),
                grouped(all),
                agreeing(all, "was", "were"),
                self.are_maybe_parts()
            ),
            Some(0) => "No request was recognised".to_owned(),
            Some(_) if self.judged() == Some(0) => "No request was judged".to_owned(),
            Some(all) => match self.known_whole() {
                Some(0) => format!(
                    "Whether a request took longer than {} is not known: {}",
                    self.threshold(),
                    self.untold(|count, _| count > 0).unwrap_or_default()
                ),
                Some(whole) if whole < all => self.none_of_the_whole(whole),
                _ => self.none_of_all(self.judged(), all),
            },
            None => format!("No {} {}", self.nouns().0, self.exceeded(1)),
        }
    }

    /// That a request may have taken longer by what its thread waited for the rest of it, or by what others did for it, to follow that none did: it is over
    /// where the thread waits for what its client sends, whoever has it by then.
    fn but_for_the_rest(&self) -> &'static str {
        let times = self.recorder.as_ref().and_then(|recorder| recorder.request_times);
        let asked = times.and_then(|times| times.sure_asked).unwrap_or(0);
        if asked > 0 {
            ", waits for the rest of what a client sends, and what others do that it is handed on to, left out"
        } else {
            ""
        }
    }

    /// The same where it is known of all of them where they begin and end; of those alone that came when there was a threshold.
    fn none_of_all(&self, judged: Option<u64>, all: u64) -> String {
        let (count, how) = judged.map_or((all, "recognised"), |judged| (judged, "judged"));
        let but = self.but_for_the_rest().to_owned() + &self.but_untold();
        if count == 1 {
            return format!("The one request that was {how} took no longer than {}{but}", self.threshold());
        }
        format!("None of the {} that were {how} {}{but}", counted(count, "request"), self.exceeded(count))
    }

    /// The same where that is known of so many.
    fn none_of_the_whole(&self, whole: u64) -> String {
        let but = self.but_for_the_rest().to_owned() + &self.but_untold();
        match (self.judged(), whole) {
            (Some(judged), _) => format!(
                "None of those of the {} of which it is known where they begin and end {}{but}",
                counted(judged, "judged request"),
                self.exceeded(judged)
            ),
            (None, 1) => format!(
                "The one request of which it is known where it begins and ends took no longer than {}{but}",
                self.threshold()
            ),
            (None, _) => format!(
                "None of the {} of which it is known where they begin and end {}{but}",
                counted(whole, "request"),
                self.exceeded(whole)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::why::model::EpisodeView;
    use crate::why::tests::of_parts;
    use punctual_blame::Kind;
    use punctual_recording::Stage;
    use std::path::Path;

    /// A server sleeps within its requests, and what follows is never late.
    #[test]
    fn where_requests_may_be_parts_none_is_said_to_have_been_in_time() {
        let told = |maybe_parts, episodes: Vec<EpisodeView>| {
            let late = episodes.len() as u64;
            let times = RequestTimes { maybe_parts, sure: 126 - maybe_parts, ..RequestTimes::default() };
            let recorder = RecorderSummary {
                threshold: "20ms".into(),
                threshold_ns: Some(20_000_000),
                stage: Stage::Request,
                requests: Some(126),
                request_times: Some(times),
                late,
                kept: late,
                ..RecorderSummary::default()
            };
            let report = WhyReport::new(Path::new("x"), 0, Some(recorder), episodes, false, None, &[]);
            assert_eq!(report.lacks_evidence(), late == 0 && maybe_parts > 0, "{maybe_parts}");
            report.verdict()
        };
        assert_eq!(
            told(126, Vec::new()),
            "Whether a request took longer than 20.0 ms is not known: 126 of 126 that were recognised begin at a timer of what may be a server, \
             and may be only parts of requests. Record the client instead (--comm), or --why-stage total."
        );
        assert!(told(1, Vec::new()).contains(": 1 of 126 that were recognised begins at a timer"));
        assert_eq!(told(0, Vec::new()), "None of the 126 requests that were recognised took longer than 20.0 ms.");
        let late = || vec![of_parts(&[(Kind::Wait, "store", 90), (Kind::Own, "late", 10)])];
        let some = told(120, late());
        let first = some.find(" Their own work: ").unwrap_or(some.len());
        let more = " More may have been late: 120 of all 126 begin at a timer of what may be a server, and may be only parts of requests.";
        assert!(some[..first].ends_with(more), "{some}");
        assert!(!told(0, late()).contains("More may"));
    }

    /// The verdict where so many of 375 requests begin and end where that is only assumed, so many may be parts, and so many threads have ended.
    fn told((assumed, maybe_parts, ended_threads): (u64, u64, u64), episodes: Vec<EpisodeView>) -> String {
        let late = episodes.len() as u64;
        let recorder = RecorderSummary {
            threshold: "20ms".into(),
            threshold_ns: Some(20_000_000),
            stage: Stage::Request,
            requests: Some(375),
            request_times: Some(RequestTimes { maybe_parts, assumed, sure: 375 - assumed, ..RequestTimes::default() }),
            ended_threads,
            late,
            kept: late,
            ..RecorderSummary::default()
        };
        WhyReport::new(Path::new("x"), 0, Some(recorder), episodes, false, None, &[]).verdict()
    }

    /// A client that asks again at once, or a thread for each request, hides what is late in what is taken for requests, or in nothing that was seen.
    #[test]
    fn requests_that_may_hide_late_ones_are_counted_in_the_first_sentences() {
        let late = || vec![of_parts(&[(Kind::Wait, "store", 90), (Kind::Own, "late", 10)])];
        let assumed = "where 373 of all 375 begin and end is only assumed";
        let threads = "120 threads that have ended may each have worked on a request that another thread handed on";
        let parts = "begin at a timer of what may be a server, and may be only parts of requests";
        for (counts, expected) in [
            ((0, 0, 0), None),
            ((3, 0, 3), None),
            ((373, 0, 0), Some(assumed.to_owned())),
            ((0, 0, 120), Some(threads.to_owned())),
            ((373, 0, 120), Some(format!("{assumed}; {threads}"))),
            ((373, 126, 0), Some(format!("{assumed}; 126 {parts}"))),
            ((126, 126, 0), Some(format!("126 of all 375 {parts}"))),
        ] {
            let some = told(counts, late());
            let first = some.find(" Their own work: ").unwrap_or(some.len());
            let more = expected.as_ref().map(|expected| format!(". More may have been late: {expected}."));
            match &more {
                Some(more) => assert!(some[..first].ends_with(more), "{some}"),
                None => assert!(!some.contains("More may"), "{some}"),
            }
        }
    }

    /// Where none was found, all of them are told, however few.
    #[test]
    fn none_is_said_to_have_been_late_only_of_those_that_are_known_to_be_whole() {
        let assumed = "where 373 of all 375 begin and end is only assumed";
        let threads = "120 threads that have ended may each have worked on a request that another thread handed on";
        let whole = |count: &str| {
            format!("None of the {count} of which it is known where they begin and end took longer than 20.0 ms")
        };
        for (counts, expected) in [
            ((0, 0, 0), "None of the 375 requests that were recognised took longer than 20.0 ms.".to_owned()),
            (
                (3, 0, 2),
                format!(
                    "{}, but others may have: where 3 of all 375 begin and end is only assumed; 2 threads that have ended may each have worked on \
                     a request that another thread handed on.",
                    whole("372 requests")
                ),
            ),
            ((1, 0, 0), format!("{}, but others may have: where 1 of all 375 begins and ends is only assumed.", whole("374 requests"))),
            ((373, 0, 0), format!("{}, but others may have: {assumed}.", whole("2 requests"))),
            (
                (374, 0, 0),
                "The one request of which it is known where it begins and ends took no longer than 20.0 ms, but others may have: where 374 of all 375 begin \
                 and end is only assumed."
                    .to_owned(),
            ),
            (
                (375, 0, 0),
                "Whether a request took longer than 20.0 ms is not known: where 375 of all 375 begin and end is only assumed. Record whoever is at the other end \
                 instead (--comm), or --why-stage total."
                    .to_owned(),
            ),
            (
                (0, 0, 120),
                format!("None of the 375 requests that were recognised took longer than 20.0 ms, but others may have: {threads}."),
            ),
        ] {
            assert_eq!(told(counts, Vec::new()), expected, "{counts:?}");
        }
        assert!(told((373, 126, 0), Vec::new()).starts_with("Whether a request took longer"));
    }

    /// Of a client that asks again at once none is sure; nor is any where their times were not kept.
    #[test]
    fn only_what_is_sure_was_in_time() {
        let told = |times: Option<RequestTimes>| {
            let recorder = RecorderSummary {
                threshold: "4ms".into(),
                threshold_ns: Some(4_000_000),
                stage: Stage::Request,
                requests: Some(2_200),
                request_times: times,
                ..RecorderSummary::default()
            };
            let report = WhyReport::new(Path::new("x"), 0, Some(recorder), Vec::new(), false, None, &[]);
            (report.verdict(), report.lacks_evidence())
        };
        let sure = |sure| Some(RequestTimes { sure, ..RequestTimes::default() });
        let unknown = "Whether a request took longer than 4.00 ms is not known: where 2,200 of all 2,200 begin and end is only assumed. Record whoever is \
                       at the other end instead (--comm), or --why-stage total.";
        assert_eq!(told(None), (unknown.to_owned(), true));
        assert_eq!(told(sure(0)), (unknown.to_owned(), true));
        assert_eq!(
            told(sure(2_196)),
            (
                "None of the 2,196 requests of which it is known where they begin and end took longer than 4.00 ms, but others may have: where 4 of all 2,200 \
                 begin and end is only assumed."
                    .to_owned(),
                false
            )
        );
        let all = "None of the 2,200 requests that were recognised took longer than 4.00 ms.";
        assert_eq!(told(sure(2_200)), (all.to_owned(), false));
    }

    /// A header, and then what follows it: the wait in between is for the client.
    #[test]
    fn what_a_server_waited_for_the_rest_of_a_request_is_left_out() {
        let told = |sure, sure_asked| {
            let recorder = RecorderSummary {
                threshold: "4ms".into(),
                threshold_ns: Some(4_000_000),
                stage: Stage::Request,
                requests: Some(249),
                request_times: Some(RequestTimes { sure, sure_asked, ..RequestTimes::default() }),
                ..RecorderSummary::default()
            };
            WhyReport::new(Path::new("x"), 0, Some(recorder), Vec::new(), false, None, &[]).verdict()
        };
        let none = "None of the 249 requests that were recognised took longer than 4.00 ms";
        let rest = ", waits for the rest of what a client sends, and what others do that it is handed on to, left out";
        assert_eq!(told(249, Some(249)), format!("{none}{rest}."));
        assert_eq!(told(249, Some(0)), format!("{none}."));
        assert_eq!(told(249, None), format!("{none}."), "an older recording does not say");
        let some = "None of the 245 requests of which it is known where they begin and end took longer than 4.00 ms";
        let others = ", but others may have: where 4 of all 249 begin and end is only assumed";
        assert_eq!(told(245, Some(245)), format!("{some}{rest}{others}."));
    }

    /// A server that sleeps now and then: what follows is one request for long, which is given up, and the sleeps are among those.
    #[test]
    fn requests_that_were_given_up_may_have_been_late() {
        let told = |without_end, cut_requests, maybe_late_cut| {
            let times = RequestTimes { sure: 15_499, ..RequestTimes::default() };
            let recorder = RecorderSummary {
                threshold: "4ms".into(),
                threshold_ns: Some(4_000_000),
                stage: Stage::Request,
                requests: Some(15_499),
                request_times: Some(times),
                without_end,
                cut_requests,
                maybe_late_cut,
                ..RecorderSummary::default()
            };
            WhyReport::new(Path::new("x"), 0, Some(recorder), Vec::new(), false, None, &[]).verdict()
        };
        let none = "None of the 15,499 requests that were recognised took longer than 4.00 ms";
        let given_up = "37 were not followed to the end, and 34 were given up after 250 waits each, any of which may have been for another request";
        assert_eq!(told(34, 3, Some(37)), format!("{none}, but others may have: {given_up}."));
        assert_eq!(told(34, 3, None), format!("{none}, but others may have: {given_up}."));
        assert_eq!(told(0, 1, Some(1)), format!("{none}, but others may have: 1 was not followed to the end."));
        assert_eq!(told(0, 1, Some(0)), format!("{none}."), "it had not gone on for that long");
    }

    /// What a client that is behind its timer does shows less than what it would have done in time.
    #[test]
    fn requests_of_clients_that_were_behind_are_counted_in_the_first_sentences() {
        let told = |times: RequestTimes| {
            let recorder = RecorderSummary {
                threshold: "20ms".into(),
                threshold_ns: Some(20_000_000),
                stage: Stage::Request,
                requests: Some(1_500),
                request_times: Some(RequestTimes { sure: 1_500 - times.assumed, ..times }),
                ..RecorderSummary::default()
            };
            WhyReport::new(Path::new("x"), 0, Some(recorder), Vec::new(), false, None, &[]).verdict()
        };
        let in_time = "None of the 1,500 requests that were recognised took longer than 20.0 ms";
        let whole = |count: &str| {
            format!(
                "None of the {count} requests of which it is known where they begin and end took longer than 20.0 ms"
            )
        };
        let none = RequestTimes::default();
        let began = "813 of all 1,500 began without their timer, because the client was behind, and are timed from when they were sent, not from when \
                     they were due (counted from then, 402 more took longer than the threshold)";
        let after = "may begin with the answer to the one before, and leave out the wait for it, if the client was behind its timer or had none";
        for (times, expected) in [
            (RequestTimes { without_timer: 813, ..none }, format!("{in_time}.")),
            (
                RequestTimes { without_timer: 813, late_from_due: 402, ..none },
                format!("{in_time}, but others may have: {began}."),
            ),
            (
                RequestTimes { maybe_several: 2, assumed: 2, ..none },
                format!(
                    "{}, but others may have: 2 of all 1,500 may each be several requests of a client that was behind its timer.",
                    whole("1,498")
                ),
            ),
            (
                RequestTimes { after_answers: 1_500, assumed: 1_500, ..none },
                format!(
                    "Whether a request took longer than 20.0 ms is not known: 1,500 of all 1,500 {after}. Record whoever is at the other end instead \
                     (--comm), or --why-stage total."
                ),
            ),
            (
                RequestTimes { after_answers: 3, assumed: 3, ..none },
                format!("{}, but others may have: 3 of all 1,500 {after}.", whole("1,497")),
            ),
        ] {
            assert_eq!(told(times), expected);
        }
    }

    #[test]
    fn of_requests_that_were_not_recognised_nothing_is_said() {
        let told = |requests| {
            let recorder = RecorderSummary {
                threshold: "15ms".into(),
                threshold_ns: Some(15_000_000),
                stage: Stage::Request,
                requests,
                request_times: requests.map(|sure| RequestTimes { sure, ..RequestTimes::default() }),
                ..RecorderSummary::default()
            };
            let report = WhyReport::new(Path::new("x"), 0, Some(recorder), Vec::new(), false, None, &[]);
            assert_eq!(report.lacks_evidence(), requests == Some(0), "{requests:?}");
            report.verdict()
        };
        let none = told(Some(0));
        let begins = "No request was recognised, so nothing can be said of late ones: no thread";
        assert!(none.starts_with(begins) && none.contains("(--comm), or --why-stage total"), "{none}");
        assert_eq!(told(Some(1)), "The one request that was recognised took no longer than 15.0 ms.");
        assert_eq!(told(Some(1_047)), "None of the 1,047 requests that were recognised took longer than 15.0 ms.");
        assert_eq!(told(None), "No request took longer than 15.0 ms: there is nothing to explain.");
    }
}
