//! How many requests there were, as far as they were recognised, and how many of them were late.

use crate::why::model::{OnlyThread, WhyReport};
use crate::why::request_times::may_be_late;
use crate::why::words::is_much;
use punctual_recording::{agreeing, counted, grouped};

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
        let untold = self.untold().filter(|_| self.only.is_none());
        untold.map_or_else(String::new, |untold| format!(" More may have been late: {untold}."))
    }

    /// How many requests, of which it is not known where they begin and end, may hide one that was late, and how many threads may have worked on some that were not
    /// seen; `None` if hardly any.
    fn untold(&self) -> Option<String> {
        let all = self.recognised().filter(|all| *all > 0)?;
        let (parts, recorder) = (self.maybe_parts(), self.recorder.as_ref()?);
        let times = recorder.request_times.unwrap_or_default();
        let assumed = times.assumed.saturating_sub(times.maybe_several).saturating_sub(times.after_answers);
        let mut untold = Vec::new();
        if assumed > parts && is_much(assumed, all) {
            untold.push(format!("where {} of all {} begin and end is only assumed", grouped(assumed), grouped(all)));
        }
        let may_be_parts = (parts > 0).then(|| (parts, self.are_maybe_parts()));
        for (count, what) in may_be_late(recorder).chain(may_be_parts) {
            let of_all = if untold.is_empty() { format!(" of all {}", grouped(all)) } else { String::new() };
            untold.push(format!("{}{of_all} {what}", grouped(count)));
        }
        let ended = recorder.ended_threads;
        if is_much(ended, all) {
            untold.push(format!(
                "{} that {} may each have worked on a request that another thread read",
                counted(ended, "thread"),
                agreeing(ended, "has ended", "have ended"),
            ));
        }
        (!untold.is_empty()).then(|| untold.join("; "))
    }

    /// The same, to follow that none was late.
    fn but_untold(&self) -> String {
        self.untold().map_or_else(String::new, |untold| format!(", but others may have: {untold}"))
    }

    /// That none was late of those that were seen.
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
            Some(_) if self.judged().is_some() => self.none_of_the_judged(),
            Some(1) => format!(
                "The one request that was recognised took no longer than {}{}",
                self.threshold(),
                self.but_untold()
            ),
            Some(all) => format!(
                "None of the {} that were recognised {}{}",
                counted(all, "request"),
                self.exceeded(all),
                self.but_untold()
            ),
            None => format!("No {} {}", self.nouns().0, self.exceeded(1)),
        }
    }

    /// The same of those that came when there was a threshold.
    fn none_of_the_judged(&self) -> String {
        let judged = self.judged().unwrap_or(0);
        format!(
            "None of the {} that {} judged {}{}",
            counted(judged, "request"),
            agreeing(judged, "was", "were"),
            self.exceeded(judged),
            self.but_untold()
        )
    }

    /// Those that were surely late, if what was seen of them is right: of the others nothing but time without a request, or time of which
    /// nothing tells whether a request was waiting, is beyond the threshold; or may be, where the evidence is not whole.
    fn surely_late(&self) -> u64 {
        let seem = self.only_idle().saturating_add(self.maybe_only_idle()).saturating_add(self.maybe_unjudged());
        self.late().saturating_sub(seem)
    }

    /// So many, of how many if that was counted.
    pub(crate) fn of_all(&self, count: u64) -> String {
        let recognised = self.recorder.as_ref().and_then(|recorder| recorder.requests);
        let recognised = recognised.map(|all| (all, "recognised request"));
        let judged = self.judged().map(|judged| (judged, "judged request"));
        let all = judged.or(recognised).filter(|(all, _)| self.only.is_none() && *all >= count);
        match all {
            Some((all, requests)) => format!("{} of {}", grouped(count), counted(all, requests)),
            None => counted(count, self.nouns().0),
        }
    }

    /// How many were late: `2 of 9 recognised requests took longer than 1.00 ms, the slowest 2.00 ms`.
    pub(crate) fn how_many(&self) -> String {
        let (sure, maybe) = (self.surely_late(), self.maybe_only_idle().saturating_add(self.maybe_unjudged()));
        let whose = self.only.as_ref().map(OnlyThread::in_words).unwrap_or_default();
        if sure == 0 && maybe > 0 {
            return format!(
                "No request is known to have been late; {}{whose} {} or waited for {} next one",
                self.of_all(maybe),
                self.exceeded(maybe),
                agreeing(maybe, "its", "their"),
            );
        }
        let others = match maybe {
            0 => String::new(),
            _ => format!(
                ", and another {} may have been waiting for {} next one",
                grouped(maybe),
                agreeing(maybe, "its", "their")
            ),
        };
        format!("{}{whose} {}{}{others}", self.of_all(sure), self.exceeded(sure), self.slowest(sure))
    }

    /// How many more seemed late, and were not.
    pub(crate) fn only_seem_late(&self) -> String {
        match self.only_idle() {
            0 => String::new(),
            only => format!(
                " Another {} only {} late: no request was waiting (idle).",
                grouped(only),
                agreeing(only, "seems", "seem")
            ),
        }
    }

    /// The verdict if no request is known to have been late, for all that seemed so.
    pub(crate) fn only_waited_for_requests(&self) -> String {
        let only = self.only_idle();
        format!(
            "{}No request is known to have been late: {} {}, but only because no request was waiting (idle).{}{}",
            self.cut(),
            grouped(only),
            self.exceeded(only),
            self.others_may_be_late(),
            self.left_out("Left out")
        )
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::why::model::EpisodeView;
    use crate::why::tests::{of_parts, of_pieces};
    use punctual_blame::{ANSWER_OR_REQUEST, Kind};
    use punctual_recording::{RecorderSummary, RequestTimes, Stage};
    use std::path::Path;

    /// The verdict about requests that took longer than 60 ms.
    pub(crate) fn requests(episodes: Vec<EpisodeView>) -> String {
        requests_with(episodes, None)
    }

    /// The same where this is known of all requests.
    pub(crate) fn requests_with(episodes: Vec<EpisodeView>, request_times: Option<RequestTimes>) -> String {
        let recorder = RecorderSummary {
            threshold: "60ms".into(),
            threshold_ns: Some(60_000_000),
            stage: Stage::Request,
            late: episodes.len() as u64,
            kept: episodes.len() as u64,
            request_times,
            ..RecorderSummary::default()
        };
        WhyReport::new(Path::new("x"), 0, Some(recorder), episodes, false, None, &[]).verdict()
    }

    #[test]
    fn a_threshold_that_moved_is_a_range_and_the_slowest_request_is_named() {
        let told = |thresholds: [u64; 2], all| {
            let of = |threshold_ns| {
                let view = of_parts(&[(Kind::Wait, "store", 90), (Kind::Own, "late", 10)]);
                EpisodeView { threshold_ns, ..view }
            };
            let episodes = thresholds.map(of).into();
            let recorder = RecorderSummary {
                threshold: "p99".into(),
                threshold_ns: Some(25_700_000),
                stage: Stage::Request,
                late: 2,
                kept: 2,
                requests: all,
                ..RecorderSummary::default()
            };
            WhyReport::new(Path::new("x"), 0, Some(recorder), episodes, false, None, &[]).verdict()
        };
        let moved = told([7_750_000, 25_700_000], Some(11_544));
        assert!(
            moved.starts_with(
                "2 of 11,544 recognised requests took longer than p99 so far (7.75 ms to 25.7 ms), the slowest 100 ms: 90.0 % of the 200 ms that they took was"
            ),
            "{moved}"
        );
        let fixed = told([25_700_000; 2], None);
        assert!(fixed.starts_with("2 requests took longer than 25.7 ms (p99), the slowest 100 ms: "), "{fixed}");
    }

    #[test]
    fn time_without_a_request_is_nobodys_and_in_no_share() {
        let idle = || of_parts(&[(Kind::Idle, "no request was waiting", 90), (Kind::Own, "late", 10)]);
        let told = requests(vec![idle(), idle()]);
        assert!(told.starts_with("No request is known to have been late: 2 "), "{told}");
        let told = requests(vec![idle(), of_parts(&[(Kind::Wait, "store", 80), (Kind::Own, "late", 20)])]);
        assert!(told.contains("72.7 % of the 110 ms that they took was waiting for store"), "{told}");
        assert!(told.ends_with(" Another 1 only seems late: no request was waiting (idle)."), "{told}");
        // What is called the slowest has no more than all of them together.
        let told =
            requests([20, 30].map(|ms| of_parts(&[(Kind::Idle, "x", ms), (Kind::Own, "late", 100 - ms)])).into());
        assert!(told.contains(", the slowest 80.0 ms: 100.0 % of the 150 ms "), "{told}");
        // Not so short without it that it would not have been kept.
        let told = requests(vec![of_parts(&[(Kind::Idle, "no request was waiting", 30), (Kind::Own, "late", 70)])]);
        assert!(told.contains("100.0 % of the 70.0 ms") && !told.contains("seem"), "{told}");
    }

    #[test]
    fn requests_that_may_not_have_been_late_are_counted_apart() {
        let untold = |ms| of_parts(&[(Kind::Unknown, ANSWER_OR_REQUEST, ms), (Kind::Own, "late", 100 - ms)]);
        let told = requests(vec![untold(90), untold(80), untold(30)]);
        assert!(
            told.starts_with(
                "1 request took longer than 60.0 ms, and another 2 may have been waiting for their next one: 66.7 % of the 300 ms that they took was unknown: \
                 a wait for an answer or for the next request, in 3 episodes"
            ),
            "{told}"
        );
        // None is known to have been late, nor not to have been.
        let idle = || of_parts(&[(Kind::Idle, "no request was waiting", 90), (Kind::Own, "late", 10)]);
        let told = requests(vec![idle(), untold(90)]);
        assert!(
            told.starts_with(
                "No request is known to have been late; 1 request took longer than 60.0 ms or waited for its next one: 81.8 % of the 110 ms"
            ),
            "{told}"
        );
        assert!(told.ends_with(" Another 1 only seems late: no request was waiting (idle)."), "{told}");
    }

    #[test]
    fn a_sleep_that_may_come_after_the_answer_makes_no_request_late_for_certain() {
        let slept = |who| of_parts(&[(Kind::Sleep, who, 90), (Kind::Own, "late", 10)]);
        let told = requests(vec![slept("hrtimer_wakeup, maybe after the answer"), slept("hrtimer_wakeup")]);
        let begins = "1 request took longer than 60.0 ms, and another 1 may have been waiting for its next one: ";
        assert!(told.starts_with(begins), "{told}");
        let told = requests(vec![slept("hrtimer_wakeup, maybe after the answer")]);
        assert!(
            told.starts_with("No request is known to have been late; 1 request took longer than 60.0 ms "),
            "{told}"
        );
        assert!(told.contains("sleeping on timer hrtimer_wakeup, maybe after the answer"), "{told}");
    }

    #[test]
    fn what_may_be_several_requests_is_not_the_slowest() {
        let long = |parts: &[(Kind, &str, u64)]| EpisodeView { total_ns: 400_000_000, ..of_parts(parts) };
        let untold = long(&[(Kind::Unknown, ANSWER_OR_REQUEST, 300), (Kind::Wait, "store", 100)]);
        let whole = || of_parts(&[(Kind::Wait, "store", 90), (Kind::Own, "late", 10)]);
        let told = requests(vec![whole(), untold, whole()]);
        assert!(told.starts_with("3 requests took longer than 60.0 ms, the slowest at least 100 ms: "), "{told}");
        let told = requests(vec![whole(), long(&[(Kind::Wait, "store", 400)])]);
        assert!(told.starts_with("2 requests took longer than 60.0 ms, the slowest 400 ms: "), "{told}");
    }

    /// Nothing tells which waits were for the next request: each time between two of them may be another one.
    #[test]
    fn what_lies_on_both_sides_of_a_wait_for_the_next_request_is_not_added_up() {
        let late = |ms| (Kind::Own, "late", ms);
        let between = |kind, who| of_pieces(&[late(40), (kind, who, 20), late(40)]);
        let untold = || between(Kind::Unknown, ANSWER_OR_REQUEST);
        let whole = || of_parts(&[(Kind::Wait, "store", 90), late(10)]);
        let mut dropped = untold();
        dropped.leave_out_details();
        for maybe in [untold(), dropped] {
            let told = requests(vec![maybe, whole()]);
            let begins = "1 request took longer than 60.0 ms, and another 1 may have been waiting for its next one: ";
            assert!(told.starts_with(begins), "{told}");
        }
        let told = requests(vec![between(Kind::Idle, "no request was waiting"), whole()]);
        assert!(told.ends_with(" Another 1 only seems late: no request was waiting (idle)."), "{told}");
        // One of them is long enough by itself, and may be longer.
        let long = || of_pieces(&[late(30), (Kind::Unknown, ANSWER_OR_REQUEST, 5), late(65)]);
        let told = requests(vec![long(), long()]);
        assert!(told.starts_with("2 requests took longer than 60.0 ms, the slowest at least 65.0 ms: "), "{told}");
    }

    #[test]
    fn void_requests_are_counted_and_none_of_them_is_surely_the_slowest() {
        let whole = || of_parts(&[(Kind::Wait, "store", 90), (Kind::Own, "late", 10)]);
        let void = EpisodeView { void: Some("overwritten".into()), total_ns: 300_000_000, ..whole() };
        let told = requests(vec![whole(), void, whole()]);
        assert!(
            told.starts_with(
                "3 requests took longer than 60.0 ms, the slowest at least 100 ms (a void one up to 300 ms): 90.0 % of the 200 ms that 2 of them took was"
            ),
            "{told}"
        );
        assert!(
            told.contains(
                " Left out of these shares: 1 void (up to 300 ms, 60.0 % of all late time). So 1 of 3 late requests is not explained."
            ),
            "{told}"
        );
    }

    /// A server sleeps within its requests, and what follows is never late.
    #[test]
    fn where_requests_may_be_parts_none_is_said_to_have_been_in_time() {
        let told = |maybe_parts, episodes: Vec<EpisodeView>| {
            let late = episodes.len() as u64;
            let times = RequestTimes { sure: 0, maybe_parts, ..RequestTimes::default() };
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

    /// A client that asks again at once, or a thread for each request, hides what is late in what is taken for requests, or in nothing that was seen.
    #[test]
    fn requests_that_may_hide_late_ones_are_counted_in_the_first_sentences() {
        let told = |(assumed, maybe_parts, ended_threads): (u64, u64, u64), episodes: Vec<EpisodeView>| {
            let late = episodes.len() as u64;
            let recorder = RecorderSummary {
                threshold: "20ms".into(),
                threshold_ns: Some(20_000_000),
                stage: Stage::Request,
                requests: Some(375),
                request_times: Some(RequestTimes { maybe_parts, assumed, ..RequestTimes::default() }),
                ended_threads,
                late,
                kept: late,
                ..RecorderSummary::default()
            };
            WhyReport::new(Path::new("x"), 0, Some(recorder), episodes, false, None, &[]).verdict()
        };
        let late = || vec![of_parts(&[(Kind::Wait, "store", 90), (Kind::Own, "late", 10)])];
        let in_time = "None of the 375 requests that were recognised took longer than 20.0 ms";
        let assumed = "where 373 of all 375 begin and end is only assumed";
        let threads = "120 threads that have ended may each have worked on a request that another thread read";
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
            let none = told(counts, Vec::new());
            match (&expected, counts) {
                (_, (_, 1.., _)) => assert!(none.starts_with("Whether a request took longer"), "{none}"),
                (Some(expected), _) => assert_eq!(none, format!("{in_time}, but others may have: {expected}.")),
                (None, _) => assert_eq!(none, format!("{in_time}.")),
            }
        }
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
                request_times: Some(times),
                ..RecorderSummary::default()
            };
            WhyReport::new(Path::new("x"), 0, Some(recorder), Vec::new(), false, None, &[]).verdict()
        };
        let in_time = "None of the 1,500 requests that were recognised took longer than 20.0 ms";
        let none = RequestTimes::default();
        let several = "2 of all 1,500 may each be several requests of a client that was behind its timer";
        let after = "1,500 of all 1,500 may begin with the answer to the one before, and leave out the wait for it, if the client was behind its timer or had \
                     none";
        for (times, expected) in [
            (RequestTimes { without_timer: 813, ..none }, None),
            (
                RequestTimes { without_timer: 813, late_from_due: 402, ..none },
                Some(
                    "813 of all 1,500 began without their timer, because the client was behind, and are timed from when they were sent, not from when \
                     they were due (counted from then, 402 more took longer than the threshold)",
                ),
            ),
            (RequestTimes { maybe_several: 2, assumed: 2, ..none }, Some(several)),
            (RequestTimes { after_answers: 1_500, assumed: 1_500, ..none }, Some(after)),
            (RequestTimes { after_answers: 3, assumed: 3, ..none }, None),
        ] {
            let others = expected.map_or_else(String::new, |expected| format!(", but others may have: {expected}"));
            assert_eq!(told(times), format!("{in_time}{others}."));
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
