//! The page of a reservation: otherwise only a machine that measures one draws its plane.

use crate::browser::browser;
use crate::faults::faults_of;
use crate::support::{self, skip};
use punctual_recording::Document;
use punctual_report::reserve::{ReserveEnd, ReserveReport, html};
use punctual_reserve::{AttemptCounts, Job, Jobs, PeriodicJob, Reservation, Setting, Trial, Work};
use std::path::Path;

const MS: u64 = 1_000_000;

/// What came of attempts with so many late jobs each.
fn trial(setting: Setting, late: [u64; 3]) -> Trial {
    let mut trial = Trial::new(setting);
    for late in late {
        let jobs = Jobs { on_time: 200 - late, late, missing: 0 };
        trial.add(&AttemptCounts::new(jobs, 0, 3 * MS + late * MS));
    }
    trial
}

/// Reservations of every class, at shares at which the models draw their lines, and next to one another.
fn trials() -> Vec<Trial> {
    let tried = [
        (5, 20, 9),
        (5, 26, 3),
        (5, 38, 0),
        (5, 39, 0),
        (10, 18, 200),
        (10, 20, 4),
        (10, 21, 0),
        (10, 33, 0),
        (20, 24, 1),
    ];
    let reserved = tried.map(|(period, tenths, late)| {
        let budget_ns = period * MS * tenths / 100;
        trial(Setting::Reserved(Reservation { budget_ns, period_ns: period * MS }), [0, late, late])
    });
    [trial(Setting::AsItWas, [40, 50, 60])].into_iter().chain(reserved).collect()
}

fn report(trials: &[Trial]) -> ReserveReport<'_> {
    let recommended = Reservation { budget_ns: 2_300_000, period_ns: 10 * MS };
    ReserveReport {
        thread: "loop",
        tid: Some(4_711),
        nth: None,
        scheduling: "other",
        measured: PeriodicJob {
            period_ns: 10 * MS,
            jobs: 400,
            merged: 0,
            regular_thousandths: 1_000,
            work: Work { median_ns: 1_800_000, p99_ns: 2 * MS, max_ns: 2_100_000 },
            worst_response_ns: 3 * MS,
        },
        job: Job { period_ns: 10 * MS, work_ns: 2 * MS, deadline_ns: 10 * MS },
        lateness_ns: 60_000,
        spinners: None,
        trials,
        grid: 80,
        takes_ns: 88_000 * MS,
        found: Some(Reservation { budget_ns: 2_100_000, period_ns: 10 * MS }),
        recommended: Some(recommended),
        not_enough: &[],
        refused: None,
        proof: None,
        later: None,
        end: ReserveEnd::Finished,
        stays: false,
        others: Vec::new(),
        notes: &[],
        load: "",
        beside: "",
        directory: Path::new("r"),
        next: Vec::new(),
    }
}

#[test]
fn the_page_of_a_reservation_has_no_faults() {
    const NAME: &str = "the_page_of_a_reservation_has_no_faults";
    let Some(browser) = browser() else { return skip(NAME, "there is no chromium") };
    let document = std::fs::read(support::golden().join("why.punctual/recording.json")).unwrap();
    let document: Document = serde_json::from_slice(&document).unwrap();
    let trials = trials();
    let html = html(&report(&trials), Some(&document));
    // What was tried, and what is recommended.
    assert_eq!(html.matches("class=\"halo\"").count(), 10, "{html}");
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("reserve.html");
    std::fs::write(&page, html).unwrap();
    let faults = faults_of(&browser, &[("reserve", page)]);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
