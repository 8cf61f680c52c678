//! A reservation for each phase of a soft device: as text, for programs and as a page.

use super::answer::{ProofRow, ReservationRow, proof, reservation};
use super::model::{ProofReport, ReserveEnd};
use super::plane::{Plane, drawn, trials};
use super::standing::standing_answer;
use super::text::{BYSTANDER, measured_again};
use super::together_page::table;
use super::words::{beside, in_words};
use crate::answer::Answer;
use crate::encode::head::Part;
use crate::layout::{for_screen, indented, thousandths};
use crate::{NextStep, next_text};
use punctual_recording::{Document, counted, format_ns};
use punctual_reserve::{Job, Reservation, Setting, Trial};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;

/// A device, and what was found for each of its phases.
#[derive(Debug)]
pub struct PhasesReport<'a> {
    /// The device.
    pub device: &'a str,
    /// The phases that were examined, in order.
    pub rows: Vec<PhaseRow<'a>>,
    /// How many phases there are.
    pub of: usize,
    /// All phases in one run, without and with their reservations.
    pub proof: Option<ProofReport<'a>>,
    /// How often all reservations were made larger.
    pub raised: u32,
    /// Why it ended.
    pub end: ReserveEnd,
    /// What else went wrong.
    pub notes: &'a [String],
    /// What else ran.
    pub beside: &'a str,
    /// The recordings.
    pub directory: &'a Path,
    /// What to run next.
    pub next: Vec<NextStep>,
}

/// A phase.
#[derive(Debug)]
pub struct PhaseRow<'a> {
    /// Samples in a block.
    pub samples: u32,
    /// How long it lasts, ns.
    pub length_ns: u64,
    /// What its reservation is for.
    pub job: Job,
    /// How late its interrupt was at most, ns.
    pub lateness_ns: u64,
    /// What was tried.
    pub trials: &'a [Trial],
    /// How many reservations a full search tries.
    pub grid: usize,
    /// Its reservation; `None` if nothing sufficient was found.
    pub reservation: Option<Reservation>,
}

impl PhaseRow<'_> {
    /// The phase in words.
    pub(crate) fn name(&self) -> String {
        format!("{} every {}", counted(self.samples, "sample"), format_ns(self.job.period_ns))
    }

    /// Whether it has none, but one may be sufficient: jobs were not seen.
    pub(crate) fn is_open(&self) -> bool {
        self.reservation.is_none() && self.trials.iter().any(Trial::is_open)
    }

    fn tried(&self) -> usize {
        self.trials.iter().filter(|trial| matches!(trial.setting, Setting::Reserved(_))).count()
    }
}

impl PhasesReport<'_> {
    /// Whether each phase has a reservation, and no job was late with them.
    pub fn is_proven(&self) -> bool {
        self.end == ReserveEnd::Finished && self.proof.as_ref().is_some_and(|proof| proof.with.succeeded())
    }

    /// Whether each phase has a reservation.
    pub fn is_found(&self) -> bool {
        self.rows.len() == self.of && self.rows.iter().all(|row| row.reservation.is_some())
    }

    fn found_table(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let rows = self.rows.iter().map(|row| {
            let (reservation, share) = match row.reservation {
                Some(found) => {
                    (in_words(found.budget_ns, found.period_ns), thousandths(found.share_thousandths() * 100))
                }
                None => ("none".to_owned(), "-".to_owned()),
            };
            let (tried, grid) = (row.tried().to_string(), row.grid.to_string());
            let (lasts, work) = (format_ns(row.length_ns), format_ns(row.job.work_ns));
            vec![row.name(), lasts, work, reservation, share, tried, grid]
        });
        (vec!["phase", "lasts", "work", "reservation", "CPU %", "trials", "of"], rows.collect())
    }

    fn all_notes(&self) -> Vec<String> {
        let raised = (self.raised > 0)
            .then(|| format!("All were made a tenth larger and measured again: {}.", counted(self.raised, "time")));
        self.notes.iter().cloned().chain(raised).collect()
    }
}

/// As text: the verdict first, the next step last.
pub fn phases_text(report: &PhasesReport<'_>) -> String {
    let mut out = format!("{}\n", report.verdict());
    for note in report.all_notes() {
        let _ = writeln!(out, "note: {note}");
    }
    let _ = writeln!(out, "\nEach phase was tried by itself, {}:", beside(report.beside));
    let (header, rows) = report.found_table();
    indented(&mut out, &header, 4..7, rows);
    if let Some(proof) = &report.proof {
        measured_again(proof, (&[], "with the reservations"), BYSTANDER, &mut out);
    }
    let _ = writeln!(out, "\nrecordings: {}", report.directory.display());
    out + &next_text(&report.next)
}

/// As a page, one file: the same tables, and the plane of each phase.
pub fn phases_html(report: &PhasesReport<'_>, first: Option<&Document>) -> String {
    let (header, rows) = report.found_table();
    let mut parts =
        vec![Part::new("found", "What each phase has", table("Each by itself", (header.as_slice(), 1), &rows))];
    if let Some(proof) = &report.proof {
        let mut told = String::new();
        measured_again(proof, (&[], "with the reservations"), BYSTANDER, &mut told);
        let body = format!(
            "<div class=\"wide\" tabindex=\"0\"><pre>{}</pre></div>\n",
            crate::encode::plain_page::escape(for_screen(&told).trim())
        );
        parts.push(Part::new("together", "All phases in one run", body));
    }
    for (place, row) in report.rows.iter().enumerate() {
        let &PhaseRow { trials: tried, reservation: recommended, job, lateness_ns, .. } = row;
        let plane = Plane { trials: tried, recommended, job, lateness_ns };
        parts.push(Part::new(format!("phase-{}", place + 1), row.name(), drawn(&plane) + &trials(&plane)));
    }
    standing_answer(
        &format!("Reservations for the phases of {}", report.device),
        (&report.verdict(), &report.all_notes()),
        &report.next,
        parts,
        first,
    )
}

/// The same for programs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PhasesAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    end: ReserveEnd,
    device: &'a str,
    /// Those that were looked at.
    phases: Vec<FoundRow>,
    /// All of them in one run.
    proof: Option<ProofRow<'a>>,
    proven: bool,
    /// How often all reservations were made larger.
    raised: u32,
    /// What else ran.
    beside: &'a str,
    notes: Vec<String>,
    directory: &'a Path,
    /// What to run next, at most two commands.
    next: &'a [NextStep],
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct FoundRow {
    samples: u32,
    length_ns: u64,
    period_ns: u64,
    work_ns: u64,
    deadline_ns: u64,
    tried: usize,
    grid: usize,
    /// `null`: nothing sufficient was found.
    reservation: Option<ReservationRow>,
}

impl<'a> PhasesAnswer<'a> {
    /// The answer for programs.
    pub fn new(report: &'a PhasesReport<'a>, exit_code: u8) -> PhasesAnswer<'a> {
        let rows = report.rows.iter().map(|row| FoundRow {
            samples: row.samples,
            length_ns: row.length_ns,
            period_ns: row.job.period_ns,
            work_ns: row.job.work_ns,
            deadline_ns: row.job.deadline_ns,
            tried: row.tried(),
            grid: row.grid,
            reservation: row.reservation.map(reservation),
        });
        PhasesAnswer {
            schema: "punctual.reserve-phases/1",
            verdict: report.verdict(),
            exit_code,
            end: report.end,
            device: report.device,
            phases: rows.collect(),
            proof: report.proof.as_ref().map(proof),
            proven: report.is_proven(),
            raised: report.raised,
            beside: report.beside,
            notes: report.all_notes(),
            directory: report.directory,
            next: &report.next,
        }
    }
}

impl Answer for PhasesAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::after_reserve_phases;
    use crate::encode::plain_page::tests::assert_well_formed;
    use punctual_reserve::{AttemptCounts, Jobs};

    fn row(samples: u32, period_ns: u64, budget_ns: Option<u64>) -> PhaseRow<'static> {
        PhaseRow {
            samples,
            length_ns: 2_000_000_000,
            job: Job { period_ns, work_ns: period_ns / 7, deadline_ns: period_ns },
            lateness_ns: 0,
            trials: &[],
            grid: 80,
            reservation: budget_ns.map(|budget_ns| Reservation { budget_ns, period_ns }),
        }
    }

    fn report(rows: Vec<PhaseRow<'_>>, late: Option<u64>) -> PhasesReport<'_> {
        let counts = |late| AttemptCounts::new(Jobs { on_time: 900, late, missing: 0 }, 0, 9_000_000);
        PhasesReport {
            device: "v90",
            of: rows.len(),
            rows,
            proof: late.map(|late| ProofReport {
                before: counts(700),
                with: counts(late),
                rounds: 2,
                comparison: Err("one run"),
            }),
            raised: 1,
            end: ReserveEnd::Finished,
            notes: &[],
            beside: "spin:normal",
            directory: Path::new("r"),
            next: Vec::new(),
        }
    }

    #[test]
    fn each_phase_has_its_own_and_all_are_proven_together() {
        let rows = || vec![row(18, 2_500_000, Some(500_000)), row(90, 12_500_000, Some(2_400_000))];
        let proven = report(rows(), Some(0));
        assert!(proven.is_proven() && proven.is_found());
        assert_eq!(
            proven.verdict(),
            "Enough for the phases of `v90`: 500 us of every 2.50 ms for 18 samples every 2.50 ms, 2.40 ms of every 12.5 ms \
             for 90 samples every 12.5 ms. 0 of 900 jobs were late with them, 700 of 1,600 without."
        );
        let text = phases_text(&proven);
        for part in ["by itself, beside spin:normal", "with the reservations", "19.2", "made a tenth larger"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let page = phases_html(&proven, None);
        assert_well_formed(&page);
        assert!(page.contains("id=\"phase-2\"") && page.contains("with the reservations"), "{page}");
        let answer = crate::answer::value(&PhasesAnswer::new(&proven, 0));
        assert_eq!(
            (&answer["phases"][0]["reservation"]["budget_ns"], &answer["proven"]),
            (&500_000.into(), &true.into())
        );
        assert!(report(rows(), Some(3)).verdict().starts_with("Nothing was proven for the phases of `v90`"));
        assert!(report(rows(), None).verdict().starts_with("Found for the phases of `v90`, but not proven"));
        let steps = |late| {
            let words = ["punctual", "reserve", "v90", "--phases", "18@7200Hz:2s,90@7200Hz:9s"].map(str::to_owned);
            let steps = after_reserve_phases(&report(rows(), late), "v90", &[], &words).into_iter();
            steps.map(|step| step.purpose).collect::<Vec<String>>()
        };
        assert_eq!(steps(Some(0)), ["runs the device with them"]);
        assert!(steps(Some(3)).len() == 1 && steps(Some(3))[0].starts_with("tries each setting more often"));
        let mut open = [Trial::new(Setting::Reserved(Reservation { budget_ns: 400_000, period_ns: 2_500_000 }))];
        open[0].add(&AttemptCounts::new(Jobs { on_time: 90, ..Jobs::default() }, 0, 1_000_000).with_unseen(4));
        let open = report(vec![PhaseRow { trials: &open, ..row(18, 2_500_000, None) }], None);
        assert!(open.verdict().starts_with("It cannot be told whether a reservation"), "{}", open.verdict());
        let words = ["punctual", "reserve", "v90"].map(str::to_owned);
        let next = after_reserve_phases(&open, "v90", &[], &words).remove(0).command;
        assert_eq!(next, "sudo punctual reserve v90 --attempt 500ms --round 1s");
        let none = report(vec![row(18, 2_500_000, None)], None);
        assert!(!none.is_found() && none.verdict().contains("with 18 samples every 2.50 ms"), "{}", none.verdict());
        let cut = PhasesReport { of: 3, end: ReserveEnd::Interrupted, ..report(rows(), None) };
        assert!(cut.verdict().starts_with("Interrupted in phase 2 of 3"), "{}", cut.verdict());
    }
}
