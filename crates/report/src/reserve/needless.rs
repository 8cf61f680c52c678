//! If a reservation is enough, but the program was on time without it, too.

use super::model::ReserveReport;
use punctual_reserve::Setting;

impl ReserveReport<'_> {
    /// Whether a reservation is proven that has nothing to mend: as the thread was, no job counts as late either.
    pub fn needs_no_reservation(&self) -> bool {
        let mut as_it_was = self.trials.iter().filter(|trial| trial.setting == Setting::AsItWas);
        self.is_proven()
            && as_it_was.all(|trial| !trial.counts.has_failed())
            && self.proof.as_ref().is_some_and(|proof| proof.before.succeeded())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reserve::Later;
    use crate::reserve::text::tests::{counts, report, trial};
    use crate::{ReserveAsked, ReserveSubject, after_reserve};

    const LATER: Later = Later { figure: "p99", before_ns: 149_000, with_ns: 1_690_000 };

    #[test]
    fn what_is_on_time_as_it_is_needs_none() {
        let trials = [trial(Setting::AsItWas, 0)];
        let needless = |later| {
            let mut study = report(&trials);
            study.proof.as_mut().unwrap().before = counts(1_000, 0);
            ReserveReport { later, ..study }
        };
        let says = "`loop` needs no reservation here: as it is (other), 0 of 1,000 jobs were late. 2.30 ms of every 10.0 ms is \
                    enough, too: 0 of 1,000 jobs were late with it";
        assert_eq!(needless(None).verdict(), format!("{says}."));
        let later = format!("{says}, but its wakeups are later with it: p99 1.69 ms against 149 us.");
        assert_eq!(needless(Some(LATER)).verdict(), later);
        let kept = ReserveReport { stays: true, ..needless(Some(LATER)) };
        assert_eq!(kept.verdict(), format!("{later} The thread keeps it all the same."));
        let cost = |report: &ReserveReport<'_>| report.cost().unwrap();
        assert!(cost(&needless(None)).starts_with("It would take up to 23 %"), "{}", cost(&needless(None)));
        assert!(cost(&kept).starts_with("It takes up to 23 %"), "{}", cost(&kept));
        // A late job as it was, in a trial or in the proof.
        let late = [trial(Setting::AsItWas, 3)];
        for study in [
            ReserveReport { trials: &late, ..needless(Some(LATER)) },
            ReserveReport { later: Some(LATER), ..report(&trials) },
        ] {
            let verdict = study.verdict();
            assert!(verdict.starts_with("2.30 ms of every 10.0 ms is enough for `loop`"), "{verdict}");
            assert!(
                verdict.ends_with("without. But its wakeups are later with it: p99 1.69 ms against 149 us."),
                "{verdict}"
            );
        }
    }

    #[test]
    fn a_reservation_that_makes_it_later_is_no_step_if_none_is_needed() {
        let trials = [trial(Setting::AsItWas, 0)];
        let words = ["punctual", "reserve", "-o", "r", "--", "./loop", "10"].map(str::to_owned);
        let steps = |later, load| {
            let mut study = report(&trials);
            study.proof.as_mut().unwrap().before = counts(1_000, 0);
            let asked = ReserveAsked {
                subject: ReserveSubject::Command(&words[5..]),
                thread: "^loop$".to_owned(),
                words: &words,
            };
            let steps = after_reserve(&ReserveReport { later, load, ..study }, &asked).into_iter();
            steps.map(|step| step.command).collect::<Vec<String>>()
        };
        let (loaded, held) =
            ("sudo punctual reserve --load mixed -- ./loop 10", "sudo punctual reserve run 2.3ms/10ms -- ./loop 10");
        assert_eq!(steps(None, ""), [loaded, held]);
        assert_eq!(steps(Some(LATER), ""), [loaded]);
        let recorded = steps(Some(LATER), "mixed");
        assert!(recorded.len() == 1 && recorded[0].starts_with("sudo punctual record -D 60s "), "{recorded:?}");
    }
}
