//! A reservation, as text for people.

use super::counts::Columns;
use super::model::{ProofReport, PutBackRow, ReserveReport, SetRow};
use super::words::{beside, in_words, setting_in_words, shown_in_words};
use crate::layout::{how_often, indented};
use crate::next_text;
use crate::verdict::reserve::{run_verdict, undo_verdict};
use punctual_reserve::{AttemptCounts, Reservation, Trial};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The study as text: the verdict first, the next step last.
pub fn text(report: &ReserveReport<'_>) -> String {
    let mut out = report.verdict();
    out.push('\n');
    if let Some(cost) = report.cost() {
        let _ = writeln!(out, "{cost}");
    }
    for note in report.all_notes() {
        let _ = writeln!(out, "note: {note}");
    }
    let _ = writeln!(out, "\n{}", report.job_in_words());
    if !report.others.is_empty() {
        let _ = writeln!(out, "Other periodic threads (choose with --thread): {}.", report.others_in_words());
    }
    if let Some(spinners) = &report.spinners {
        spinners.table(&mut out);
    }
    trials(report, &mut out);
    proof(report, &mut out);
    let _ = writeln!(out, "\nrecordings: {}", report.directory.display());
    out + &next_text(&report.next)
}

fn trials(report: &ReserveReport<'_>, out: &mut String) {
    if report.trials.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nTried {}:", beside(report.beside));
    let columns = Columns::of(report.trials.iter().map(|trial| &trial.counts));
    let mut header = vec!["setting", "CPU %", "attempts", ""];
    header.extend(columns.headings());
    header.extend(["rule", "supply"]);
    indented(out, &header, 1..3, report.trials.iter().map(|trial| row(report, trial, &columns)));
    let (rule, supply, count) = report.plane().wrong();
    if count > 0 {
        let _ = writeln!(
            out,
            "rule and supply are the predictions of two models (! where wrong): the rule of the soft modem paper (6.6) was wrong for \
             {rule} of {count},\nthe least supply of a reservation out of step with its job for {supply} of {count}. A full search \
             tries {}.",
            report.grid
        );
    }
}

fn row(report: &ReserveReport<'_>, trial: &Trial, columns: &Columns) -> Vec<String> {
    let (share, predictions) = report.plane().share_and_predictions(trial);
    let mut row = vec![
        setting_in_words(trial.setting),
        share,
        format!("{} of {}", trial.succeeded, trial.attempts),
        shown_in_words(trial),
    ];
    row.extend(columns.cells(&trial.counts));
    row.extend(predictions);
    row
}

fn proof(report: &ReserveReport<'_>, out: &mut String) {
    let Some(proof) = &report.proof else { return };
    let what = if report.tid.is_some() { OWN } else { BYSTANDER };
    measured_again(proof, (report.not_enough, "with the reservation"), what, out);
}

/// What is compared of threads.
pub(super) const OWN: &str = "Start latency";
/// What is compared if a device ran.
pub(super) const BYSTANDER: &str = "Start latency of a bystander at fifo:95";

/// The sides of a proof by name: as it was, smaller reservations that failed, and what was proven, or not.
pub(super) fn sides<'a>(
    proof: &'a ProofReport<'_>,
    smaller: &'a [(Reservation, AttemptCounts)],
    with: &str,
) -> Vec<(String, &'a AttemptCounts)> {
    let mut sides = vec![("as it was".to_owned(), &proof.before)];
    let named = |reservation: &Reservation| format!("with {}", in_words(reservation.budget_ns, reservation.period_ns));
    sides.extend(smaller.iter().map(|(reservation, counts)| (named(reservation), counts)));
    sides.push((with.to_owned(), &proof.with));
    sides
}

/// The result of measuring again, also of smaller reservations that failed before; `with`: the name of the last side,
/// `what`: what is compared.
pub(super) fn measured_again(
    proof: &ProofReport<'_>,
    (smaller, with): (&[(Reservation, AttemptCounts)], &str),
    what: &str,
    out: &mut String,
) {
    let _ = writeln!(out, "\nMeasured again, {} each in turn:", how_often(proof.rounds));
    let sides = sides(proof, smaller, with);
    let columns = Columns::of(sides.iter().map(|(_, counts)| *counts));
    let mut header = vec![""];
    header.extend(columns.headings());
    let rows = sides.iter().map(|(name, counts)| {
        let mut row = vec![name.clone()];
        row.extend(columns.cells(counts));
        row
    });
    indented(out, &header, 1..header.len(), rows);
    let _ = writeln!(out, "{}", compared(&proof.comparison, ("as it was", with), what));
}

/// What comparing two sides with these names says; `what`: what is compared.
pub(super) fn compared(comparison: &Result<String, &str>, (a, b): (&str, &str), what: &str) -> String {
    match comparison {
        Ok(verdict) => format!("{what} (A {a}, B {b}): {verdict}"),
        Err(why) => format!("note: the two cannot be compared: {why}"),
    }
}

/// What `reserve run` did, with a sentence for each thread that deserves one.
pub fn run_text(reservation: Reservation, rows: &[SetRow]) -> String {
    let granted = rows.iter().filter(|row| row.refused.is_none()).count();
    let mut out = run_verdict(reservation, granted, rows.len());
    for (name, count) in shared_names(rows) {
        let _ = write!(
            out,
            "\n  {name}: {count} of the threads with this name had it, each as much; `--nth` names one of them"
        );
    }
    for row in rows {
        let mut say = |what: String| {
            let _ = write!(out, "\n  {} ({}): {what}", row.name, row.tid);
        };
        match &row.refused {
            Some(refused) => say(refused.clone()),
            None if row.set > 1 => say(format!("set {} times, since the program changed its scheduling", row.set)),
            None => {}
        }
        if row.set_anew > 0 {
            say(format!("set anew {}, since the kernel did not let it run", how_often(row.set_anew)));
        }
    }
    out
}

/// Names that several threads had that were given the reservation, and how many.
fn shared_names(rows: &[SetRow]) -> Vec<(&str, u64)> {
    let mut names: BTreeMap<&str, u64> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.refused.is_none()) {
        *names.entry(&row.name).or_default() += 1;
    }
    names.into_iter().filter(|(_, count)| *count > 1).collect()
}

/// What `reserve undo` did.
pub fn undo_text(rows: &[PutBackRow]) -> String {
    let done = rows.iter().filter(|row| row.scheduling.is_some()).count();
    let mut out = undo_verdict(done, rows.len());
    for row in rows {
        let _ = match (&row.scheduling, &row.refused) {
            (_, Some(refused)) => write!(out, "\n  {} ({}): {refused}", row.name, row.tid),
            (Some(scheduling), None) => write!(out, "\n  {} ({}): {scheduling}", row.name, row.tid),
            (None, None) => write!(out, "\n  {} ({}): it has ended", row.name, row.tid),
        };
    }
    out
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::reserve::ReserveEnd;
    use crate::{ReserveAsked, ReserveSubject, after_reserve};
    use punctual_reserve::{Job, Jobs, PeriodicJob, Setting, Work};
    use std::path::Path;

    const PERIOD: u64 = 10_000_000;

    pub(crate) fn counts(jobs: u64, late: u64) -> AttemptCounts {
        let jobs = Jobs { on_time: jobs - late, late, missing: 0 };
        AttemptCounts::new(jobs, 0, 3_000_000 + late * 9_000_000)
    }

    pub(crate) fn trial(setting: Setting, late: u64) -> Trial {
        let mut trial = Trial::new(setting);
        trial.add(&counts(200, late));
        trial
    }

    pub(crate) fn reserved(budget_ns: u64) -> Setting {
        Setting::Reserved(Reservation { budget_ns, period_ns: PERIOD })
    }

    pub(crate) fn report(trials: &[Trial]) -> ReserveReport<'_> {
        let work = Work { median_ns: 1_800_000, p99_ns: 2_000_000, max_ns: 2_100_000 };
        let recommended = Reservation { budget_ns: 2_300_000, period_ns: PERIOD };
        ReserveReport {
            thread: "loop",
            tid: Some(4_711),
            nth: None,
            scheduling: "other",
            measured: PeriodicJob {
                period_ns: PERIOD,
                jobs: 400,
                merged: 0,
                regular_thousandths: 1_000,
                work,
                worst_response_ns: 3_000_000,
            },
            job: Job { period_ns: PERIOD, work_ns: 2_000_000, deadline_ns: PERIOD },
            lateness_ns: 60_000,
            spinners: None,
            trials,
            grid: 80,
            takes_ns: 88_000_000_000,
            found: Some(Reservation { budget_ns: 2_090_000, period_ns: PERIOD }),
            recommended: Some(recommended),
            not_enough: &[],
            refused: None,
            proof: Some(ProofReport {
                before: counts(1_000, 41),
                with: counts(1_000, 0),
                rounds: 2,
                comparison: Ok("Better.".to_owned()),
            }),
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
    fn a_priority_that_was_sufficient_is_told_beside_the_reservation() {
        let said = |trials: &[Trial]| text(&report(trials));
        let told = said(&[trial(Setting::Priority(50), 0), trial(reserved(2_090_000), 0)]);
        let note = "note: fifo:50 was sufficient, too, and reserves nothing: 1 of 1 attempt succeeded, the longest response was 3.00 ms \
                    against 3.00 ms. It was not measured again.\n";
        assert!(told.contains(note) && told.contains("\nTried with no load added, beside whatever else"), "{told}");
        let late = said(&[trial(Setting::Priority(50), 3), trial(reserved(2_090_000), 0)]);
        assert!(!late.contains("was sufficient, too"), "{late}");
    }

    #[test]
    fn what_was_not_left_changed_takes_nothing() {
        let trials = [trial(reserved(2_090_000), 0)];
        let study = || report(&trials);
        let cost = |report: ReserveReport<'_>| report.cost();
        let of_cpu = "up to 23 % of a CPU from everybody else, 2.30 ms at a time.";
        assert_eq!(cost(study()), Some(format!("It takes {of_cpu}")));
        assert_eq!(cost(ReserveReport { proof: None, ..study() }), Some(format!("It takes {of_cpu}")));
        let unproven = ProofReport { with: counts(1_000, 3), ..study().proof.unwrap() };
        let unproven = ReserveReport { proof: Some(unproven), ..study() };
        assert_eq!(cost(unproven), Some(format!("It would have taken {of_cpu}")), "nothing was left changed");
        assert_eq!(cost(ReserveReport { end: ReserveEnd::Interrupted, ..study() }), None);
    }

    #[test]
    fn every_reservation_that_a_note_names_is_in_a_table() {
        let trials = [trial(Setting::AsItWas, 0), trial(reserved(2_090_000), 0)];
        let failed = |budget_ns, late| (Reservation { budget_ns, period_ns: PERIOD }, counts(1_000, late));
        let not_enough = [failed(2_300_000, 5), failed(2_530_000, 1)];
        let study = ReserveReport { not_enough: &not_enough, ..report(&trials) };
        let (text, page) = (text(&study), crate::reserve::html(&study, None));
        for note in [
            "2.30 ms of every 10.0 ms (the smallest that was sufficient, plus a margin) was not enough when it was measured \
             again: 5 of 1,000 jobs were late.",
            "2.53 ms of every 10.0 ms was not enough either when it was measured again: 1 of 1,000 jobs was late.",
        ] {
            assert!(text.contains(&format!("note: {note}\n")) && page.contains(note), "{text}");
        }
        for (row, late) in [("with 2.30 ms of every 10.0 ms", "5"), ("with 2.53 ms of every 10.0 ms", "1")] {
            let of_table =
                text.lines().find(|line| line.trim_start().starts_with(row)).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(of_table.split_whitespace().nth(8), Some(late), "{of_table}");
            assert!(page.contains(&format!("<th scope=\"row\">{row}</th>")), "{page}");
        }
    }

    #[test]
    fn what_took_the_least_time_is_not_tried_in_less() {
        let trials = [trial(Setting::Priority(50), 0)];
        let shortest = "punctual reserve --measure 1s --attempts 1 --attempt 1s --rounds 1 --round 2s -- ./loop";
        let shortest: Vec<String> = shortest.split(' ').map(str::to_owned).collect();
        let asked_shortest =
            ReserveAsked { subject: ReserveSubject::Command(&shortest[13..]), thread: String::new(), words: &shortest };
        let ended = after_reserve(&ReserveReport { end: ReserveEnd::ProgramEnded, ..report(&trials) }, &asked_shortest);
        assert!(ended.len() == 1 && ended[0].command.starts_with("sudo punctual record -D 60s --why "), "{ended:?}");
    }

    #[test]
    fn every_end_has_a_next_step() {
        let trials = [trial(Setting::Priority(50), 0), trial(reserved(2_090_000), 3)];
        let study = || report(&trials);
        let words = ["punctual", "reserve", "--load", "mixed", "--", "./loop", "10"].map(str::to_owned);
        let asked = |subject| ReserveAsked { subject, thread: "^loop$".to_owned(), words: &words };
        let steps = |report: &ReserveReport<'_>, subject| {
            let steps = after_reserve(report, &asked(subject)).into_iter();
            steps.map(|step| step.command).collect::<Vec<String>>()
        };
        let command = || ReserveSubject::Command(&words[5..]);
        assert_eq!(steps(&study(), command()), ["sudo punctual reserve run 2.3ms/10ms -- ./loop 10"]);
        let none = ReserveReport { recommended: None, ..study() };
        assert_eq!(
            steps(&none, command()),
            [
                "sudo chrt --fifo 50 ./loop 10",
                "sudo punctual record -D 60s --why 10ms --why-stage response --comm '^loop$' --period 10ms --load mixed -- ./loop 10"
            ]
        );
        // What was tried and was not sufficient is never a step.
        let late = [trial(Setting::Priority(50), 3), trial(reserved(2_090_000), 3)];
        let job = Job { deadline_ns: 7 * PERIOD, ..report(&late).job };
        let nothing = || ReserveReport { recommended: None, found: None, job, ..report(&late) };
        let after_nothing = steps(&nothing(), command());
        let full = "sudo punctual reserve --load mixed --full -- ./loop 10";
        assert!(after_nothing.len() == 2 && after_nothing[1] == full, "{after_nothing:?}");
        let whole = ReserveReport { grid: 1, ..nothing() };
        assert_eq!(steps(&whole, command()).len(), 1, "all of the grid was tried");
        // Beside what it was studied beside: several commands, too.
        let beside = ["punctual", "reserve", "--load-command", "make -j", "--load-command=spin", "--", "./loop"];
        let beside = beside.map(str::to_owned);
        let again = |report: &ReserveReport<'_>, subject| {
            let asked = ReserveAsked { subject, thread: "^loop$".to_owned(), words: &beside };
            after_reserve(report, &asked).into_iter().map(|step| step.command).collect::<Vec<String>>()
        };
        let load = "--load-command 'make -j' --load-command spin";
        let recorded = &again(&nothing(), ReserveSubject::Command(&beside[6..]))[0];
        assert!(recorded.ends_with(&format!("--period 10ms {load} -- ./loop")), "{recorded}");
        let applied = &again(&study(), ReserveSubject::Process(7))[0];
        assert_eq!(*applied, format!("sudo punctual reserve --pid 7 --thread '^loop$' {load} --apply"));
        let kept = ReserveReport { stays: true, ..study() };
        assert_eq!(steps(&kept, ReserveSubject::Process(7)), ["sudo punctual reserve undo"]);
        let device = || ReserveSubject::Device("v90 x3", vec!["spin:normal".to_owned()]);
        assert_eq!(
            steps(&study(), device()),
            ["sudo punctual device run 'v90 x3' --context reservation:2.3ms/10ms --competitor spin:normal"]
        );
        for end in [ReserveEnd::Interrupted, ReserveEnd::ProgramEnded] {
            for subject in [command(), device(), ReserveSubject::Process(7)] {
                let steps = steps(&ReserveReport { end, ..study() }, subject);
                assert!(
                    steps.len() == 1 && steps[0].starts_with("sudo punctual reserve --load mixed --measure"),
                    "{steps:?}"
                );
            }
        }
        let failed = ReserveReport { proof: None, ..study() };
        assert_eq!(steps(&failed, ReserveSubject::Process(7)).len(), 2);
        let text = text(&ReserveReport { next: after_reserve(&kept, &asked(ReserveSubject::Process(7))), ..study() });
        assert!(text.ends_with("\nnext: `sudo punctual reserve undo` puts the thread back\n"), "{text}");
    }

    #[test]
    fn a_failure_says_what_was_nearest_and_why_it_was_not_enough() {
        let mut nearest = Trial::new(reserved(2_200_000));
        [0, 1, 0].into_iter().for_each(|late| nearest.add(&counts(200, late)));
        let trials = [trial(Setting::Priority(50), 4), trial(reserved(2_090_000), 3), nearest];
        let none = || ReserveReport { recommended: None, found: None, ..report(&trials) };
        assert_eq!(
            none().verdict(),
            "None of the 2 reservations that were tried was sufficient for `loop` (99 of 100 jobs take at most 2.00 ms of every \
             10.0 ms): nothing was left changed. The best was 2.20 ms of every 10.0 ms: 2 of 3 attempts succeeded, with 1 of 600 jobs late. With \
             fifo:50, 4 of 200 jobs were late, too: other programs' threads are not all that delays it."
        );
        let help = "Not tried, and might help: less load beside it than mixed, a share of a CPU above 22 %, less work in a job, \
                    or a longer period or deadline.";
        let notes = |report: &ReserveReport<'_>| report.all_notes();
        let ranking = "Jobs late or missing in attempts, from the smallest share to the largest: 2.20 ms of every 10.0 ms: 1 of 600; \
                       fifo:50: 4 of 200.";
        assert_eq!(notes(&ReserveReport { beside: "mixed", ..none() }), [ranking, help]);
        assert_eq!(notes(&report(&trials)), [""; 0], "one was recommended");
        let mut long = none();
        long.measured.work.max_ns = 11_000_000;
        assert!(long.job_in_words().contains("sets another), no slack. Measured"), "{}", long.job_in_words());
        assert!(none().job_in_words().contains(", slack 7.90 ms."), "{}", none().job_in_words());
        let says = "Its longest job took 11.0 ms of CPU time, which no reservation gives within 10.0 ms.";
        assert!(long.verdict().ends_with(says), "{}", long.verdict());
        let mut merged = none();
        merged.measured.merged = 2;
        let says = "Measured over 400 jobs; 2 activations are left out, since each may be several jobs in one go: the next \
                    was due two or more periods later.";
        let told = merged.job_in_words();
        assert!(told.ends_with(says) && told.contains(", slack at most 7.90 ms."), "{told}");
        let told = merged.verdict();
        assert!(told.contains("of every 10.0 ms, besides 2 jobs that were not seen by themselves): nothing"), "{told}");
        let others = [trial(Setting::AsItWas, 4), trial(reserved(2_090_000), 3)];
        let alone = ReserveReport { trials: &others, ..merged }.verdict();
        let longest = "The longest of the 400 jobs that were seen by themselves took 2.10 ms of CPU time; 2 others may have taken longer.";
        assert!(alone.ends_with(longest), "{alone}");
        let nothing = ReserveReport { trials: &[], grid: 0, ..none() };
        assert!(nothing.verdict().starts_with("No reservation can be tried for `loop`"), "{}", nothing.verdict());
        let unjudged = [Trial::new(reserved(2_090_000))];
        let verdict = ReserveReport { trials: &unjudged, ..none() }.verdict();
        assert!(
            verdict.ends_with("No attempt could be judged: no job came, or the host accounts for all that were late."),
            "{verdict}"
        );
    }

    #[test]
    fn jobs_that_were_worked_off_in_a_row_are_no_failures() {
        let mut row = Trial::new(reserved(2_200_000));
        row.add(&counts(200, 0).with_stretches(89, 0));
        row.add(&counts(200, 0).with_stretches(0, 7));
        assert!((row.attempts, row.succeeded, row.not_judged) == (1, 1, 1), "{row:?}");
        let in_a_row = [row];
        let study = ReserveReport { recommended: None, ..report(&in_a_row) };
        let notes = study.all_notes();
        let caught_up =
            "Caught up: 7 jobs that were worked off without a sleep of their own, and judged by their own deadline.";
        let unclear = "Unclear: 89 jobs that were due while the thread did not sleep, and may have been late or missing. An attempt \
                       with such jobs counts only if another was seen to be late.";
        assert!(notes.ends_with(&[caught_up.to_owned(), unclear.to_owned()]), "{notes:#?}");
        let table = text(&study);
        assert!(table.contains("jobs  late  missing  unclear  longest stretch") && table.contains("1 of 1"), "{table}");
        let mut open = Trial::new(reserved(2_200_000));
        open.add(&counts(200, 0).with_stretches(89, 0));
        let says = "no job was late, but 89 jobs were due while the thread did not sleep, and may have been late or missing. Nothing was \
                    left changed.";
        let verdict = ReserveReport { trials: &[open], recommended: None, ..report(&in_a_row) }.verdict();
        assert!(verdict.ends_with(says), "{verdict}");
    }

    #[test]
    fn jobs_that_were_not_seen_leave_it_open_whether_a_reservation_is_sufficient() {
        let mut open = Trial::new(reserved(2_200_000));
        [3, 9].into_iter().for_each(|unseen| open.add(&counts(200, 0).with_unseen(unseen)));
        let trials = [trial(Setting::Priority(50), 4), trial(reserved(2_090_000), 3), open];
        let study = ReserveReport { recommended: None, found: None, proof: None, ..report(&trials) };
        assert_eq!(
            study.verdict(),
            "It cannot be told whether a reservation is sufficient for `loop` (99 of 100 jobs take at most 2.00 ms of every 10.0 ms): \
             with 1 of the 2 reservations that were tried no job was late, but 12 jobs were not seen, and may have been. Nothing was \
             left changed."
        );
        let note = "Neither late nor on time: 12 jobs that were not seen. An attempt with such jobs counts only if another was seen \
                    to be late.";
        assert_eq!(study.all_notes(), [note]);
        assert!(text(&study).contains("not seen  worst response"), "{}", text(&study));
        let words = ["punctual", "reserve", "--pid", "7"].map(str::to_owned);
        let asked = ReserveAsked { subject: ReserveSubject::Process(7), thread: "^loop$".to_owned(), words: &words };
        let first = |report: &ReserveReport<'_>| after_reserve(report, &asked).remove(0).command;
        let shorter = "sudo punctual reserve --pid 7 --attempt 500ms --round 1s";
        assert_eq!(first(&study), shorter);
        // None of the rounds could be judged.
        assert_eq!(first(&ReserveReport { proof: None, ..report(&trials) }), shorter);
        // With a late job that was seen, what was not seen makes no difference.
        let late = ProofReport { with: counts(1_000, 1).with_unseen(5), ..report(&trials).proof.unwrap() };
        let verdict = ReserveReport { proof: Some(late), ..report(&trials) }.verdict();
        assert!(verdict.contains("1 of 1,000 jobs was late with it (besides 5 not seen)"), "{verdict}");
    }

    #[test]
    fn what_became_of_each_thread_of_a_command_is_told() {
        let row = |tid, set, set_anew, refused: Option<&str>| SetRow {
            tid,
            name: "loop".to_owned(),
            set,
            set_anew,
            refused: refused.map(str::to_owned),
        };
        let rows = [row(1, 1, 0, None), row(2, 1, 1, None), row(3, 2, 2, None), row(4, 1, 2, Some("it is over"))];
        assert_eq!(
            run_text(Reservation { budget_ns: 2_000_000, period_ns: PERIOD }, &rows),
            "Reserved 2.00 ms of every 10.0 ms for 3 of 4 threads.\n  loop: 3 of the threads with this name had it, each as much; `--nth` \
             names one of them\n  loop (2): set anew once, since the kernel did not let it run\n  \
             loop (3): set 2 times, since the program changed its scheduling\n  loop (3): set anew 2 times, since the kernel did not \
             let it run\n  loop (4): it is over\n  loop (4): set anew 2 times, since the kernel did not let it run"
        );
    }

    #[test]
    fn a_prediction_that_did_not_come_is_marked() {
        let trials = [trial(reserved(2_090_000), 0), trial(reserved(2_200_000), 3)];
        let report = report(&trials);
        // The rule calls both sufficient, the least supply neither.
        assert_eq!(report.plane().wrong(), (1, 1, 2));
        let text = text(&report);
        let marked = text.lines().filter(|line| line.contains("yes !") || line.contains("no !")).count();
        assert_eq!(marked, 2, "{text}");
        let page = crate::reserve::html(&report, None);
        crate::encode::plain_page::tests::assert_well_formed(&page);
        assert_eq!((page.matches("yes !</td>").count(), page.matches("no !</td>").count()), (1, 1), "{page}");
        assert!(page.contains("◇") && page.contains("recommended: 2.30 ms of every 10.0 ms"));
        assert!(text.contains("was wrong for 1 of 2") && text.contains("It takes up to 23 % of a CPU"), "{text}");
    }
}
