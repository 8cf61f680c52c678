//! How many requests there were, as far as they were recognised, and how many of them were late; that none was, in `none_late`.

use crate::why::model::{OnlyThread, WhyReport};
use punctual_recording::{agreeing, counted, grouped};

impl WhyReport<'_> {
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
}
