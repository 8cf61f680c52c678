//! Reservations of several soft devices that work at once, or of several threads: as text and for programs.

use super::ReserveEnd;
use super::answer::{CountsRow, counts};
use super::counts::Columns;
use super::text::{BYSTANDER, OWN, compared};
use super::words::{beside, in_words};
use crate::answer::Answer;
use crate::layout::{how_often, indented, thousandths};
use crate::{NextStep, next_text};
use punctual_recording::{counted, format_ns};
use punctual_reserve::{AttemptCounts, Job, Reservation, Trial};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;

/// Several devices or threads, and their reservations.
#[derive(Debug)]
pub struct TogetherReport<'a> {
    /// Whether they are threads of programs.
    pub of_threads: bool,
    /// The devices or threads, in the order in which they were asked for: each was tried beside those before it.
    pub rows: Vec<TogetherDevice<'a>>,
    /// How many were asked for.
    pub of: usize,
    /// How often all were measured at once, without and with their reservations.
    pub rounds: u32,
    /// How often one was made larger because of its late jobs among the others.
    pub raised: u32,
    /// Why it ended.
    pub end: ReserveEnd,
    /// How late a bystander or the threads were without and with all reservations, or why that cannot be compared; `None`
    /// without a proof.
    pub comparison: Option<Result<String, &'a str>>,
    /// Whether the threads keep their reservations.
    pub stays: bool,
    /// What else went wrong.
    pub notes: &'a [String],
    /// CPUs that they may run on.
    pub cpus: usize,
    /// What the kernel admits of a CPU, thousandths; `None`: it is not known, or not limited.
    pub limit_thousandths: Option<u64>,
    /// What else ran.
    pub beside: &'a str,
    /// The recordings.
    pub directory: &'a Path,
    /// What to run next.
    pub next: Vec<NextStep>,
}

/// One of the devices or threads.
#[derive(Debug)]
pub struct TogetherDevice<'a> {
    /// Its name.
    pub device: &'a str,
    /// A thread's number.
    pub tid: Option<u32>,
    /// As it was named on the command line.
    pub spec: &'a str,
    /// What its reservation is for.
    pub job: Job,
    /// How late its interrupt was at most, ns.
    pub lateness_ns: u64,
    /// What was tried.
    pub trials: &'a [Trial],
    /// How many reservations were tried.
    pub tried: usize,
    /// How many a full search tries.
    pub grid: usize,
    /// Its reservation.
    pub reservation: Option<Reservation>,
    /// Why it has none.
    pub why: Option<&'a str>,
    /// With all others, all as they were, and its share of a CPU, thousandths.
    pub before: (AttemptCounts, u64),
    /// With all others, each with its reservation.
    pub with: (AttemptCounts, u64),
}

impl TogetherDevice<'_> {
    pub(crate) fn holds(&self) -> bool {
        self.reservation.is_some() && self.with.0.succeeded()
    }

    /// Whether anything was tried for it before the end.
    pub(crate) fn was_tried(&self) -> bool {
        self.tried > 0 || !self.trials.is_empty()
    }

    /// What it is called in a table: threads may have the same name.
    pub(super) fn name(&self) -> String {
        self.tid.map_or_else(|| self.device.to_owned(), |tid| format!("{} ({tid})", self.device))
    }
}

impl TogetherReport<'_> {
    /// Whether each device has a reservation, and no late job with it among the others.
    pub fn is_proven(&self) -> bool {
        self.end == ReserveEnd::Finished
            && self.rounds > 0
            && self.rows.len() == self.of
            && self.rows.iter().all(TogetherDevice::holds)
    }

    /// Whether undecided jobs leave it open whether a reservation holds.
    pub(crate) fn has_open(&self) -> bool {
        let is_open = |counts: &AttemptCounts| counts.undecided() > 0 && !counts.is_judged();
        self.rows.iter().any(|row| match row.reservation {
            Some(_) => is_open(&row.with.0),
            None => row.trials.iter().any(Trial::is_open),
        })
    }

    /// What they are.
    pub(crate) fn noun(&self) -> &'static str {
        if self.of_threads { "thread" } else { "device" }
    }

    /// What is reserved in all, thousandths of a CPU.
    fn reserved_thousandths(&self) -> u64 {
        self.rows.iter().filter_map(|row| row.reservation).map(Reservation::share_thousandths).sum()
    }

    /// How much of the CPUs is reserved, and how much the kernel admits.
    pub(crate) fn admission(&self) -> String {
        let cpus = self.cpus as u64;
        let reserved = thousandths(self.reserved_thousandths() * 100);
        let of = match self.limit_thousandths {
            Some(limit) => format!(
                " of the {} % that the kernel admits on {}",
                thousandths(limit * cpus * 100),
                counted(cpus, "CPU")
            ),
            None => format!(" on {}", counted(cpus, "CPU")),
        };
        format!("{reserved} % of a CPU{of}")
    }

    /// What was found for each: headings and rows.
    pub(super) fn found_table(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let rows = self.rows.iter().map(|row| {
            let (reservation, share) = match row.reservation {
                Some(found) => {
                    (in_words(found.budget_ns, found.period_ns), thousandths(found.share_thousandths() * 100))
                }
                None if row.was_tried() => ("none".to_owned(), "-".to_owned()),
                None => ("not tried".to_owned(), "-".to_owned()),
            };
            let Job { work_ns, period_ns, .. } = row.job;
            let (tried, grid) = (row.tried.to_string(), row.grid.to_string());
            vec![row.name(), format_ns(work_ns), format_ns(period_ns), reservation, share, tried, grid]
        });
        (vec![self.noun(), "work", "every", "reservation", "CPU %", "trials", "of"], rows.collect())
    }

    /// What became of the jobs of all of them at once: headings and rows, two for each device.
    pub(super) fn measured_table(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let columns = Columns::of(self.rows.iter().flat_map(|row| [&row.before.0, &row.with.0]));
        let mut header = vec![self.noun(), "side"];
        header.extend(columns.headings());
        header.push("CPU %");
        let rows = self.rows.iter().flat_map(|row| {
            [("as it was", &row.before), ("with its reservation", &row.with)].map(|(side, (counts, share))| {
                let mut cells = vec![row.name(), side.to_owned()];
                cells.extend(columns.cells(counts));
                cells.push(thousandths(share * 100));
                cells
            })
        });
        (header, rows.collect())
    }

    /// What comparing both sides says, where there is a proof.
    pub(super) fn compared_in_words(&self) -> Option<String> {
        let sides = ("as they were", "with their reservations");
        let what = if self.of_threads { OWN } else { BYSTANDER };
        self.comparison.as_ref().map(|comparison| compared(comparison, sides, what))
    }

    /// How many were made larger, where any was.
    pub(super) fn raised_in_words(&self) -> Option<String> {
        let reservations = counted(self.raised, "reservation");
        (self.raised > 0)
            .then(|| format!("Made larger because of late jobs among the others, and measured again: {reservations}."))
    }
}

/// As text: the verdict first, the next step last.
pub fn together_text(report: &TogetherReport<'_>) -> String {
    let mut out = format!("{}\n", report.verdict());
    for note in report.notes {
        let _ = writeln!(out, "note: {note}");
    }
    let _ = writeln!(out, "\nEach was tried together with those above it, {}:", beside(report.beside));
    let (header, rows) = report.found_table();
    indented(&mut out, &header, 4..7, rows);
    if report.rounds > 0 {
        let _ = writeln!(out, "\nAll at once, {} each in turn:", how_often(report.rounds));
        let (header, rows) = report.measured_table();
        indented(&mut out, &header, 2..header.len(), rows);
        if let Some(compared) = report.compared_in_words() {
            let _ = writeln!(out, "{compared}");
        }
        if let Some(note) = report.raised_in_words() {
            let _ = writeln!(out, "note: {note}");
        }
    }
    let _ = writeln!(out, "\nrecordings: {}", report.directory.display());
    out + &next_text(&report.next)
}

/// The same for programs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TogetherAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    end: ReserveEnd,
    proven: bool,
    /// Whether the threads keep their reservations.
    stays: bool,
    rounds: u32,
    /// How often one was made larger because of its late jobs among the others.
    raised: u32,
    /// What the comparison of the recordings says.
    comparison: Option<&'a str>,
    /// Why there is none.
    not_compared: Option<&'a str>,
    cpus: usize,
    /// Of one CPU: all of them together, and what the kernel admits on all CPUs; `null`: not known, or not limited.
    reserved_thousandths: u64,
    admitted_thousandths: Option<u64>,
    /// What else ran.
    beside: &'a str,
    /// The devices, or the threads.
    devices: Vec<DeviceRow<'a>>,
    notes: &'a [String],
    directory: &'a Path,
    /// What to run next, at most two commands.
    next: &'a [NextStep],
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DeviceRow<'a> {
    device: &'a str,
    /// A thread's number; `null` for a device.
    tid: Option<u32>,
    period_ns: u64,
    work_ns: u64,
    deadline_ns: u64,
    tried: usize,
    grid: usize,
    /// `null`: it has none, and `refused` says why.
    budget_ns: Option<u64>,
    reservation_period_ns: Option<u64>,
    refused: Option<&'a str>,
    before: MeasuredRow,
    with: MeasuredRow,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct MeasuredRow {
    #[serde(flatten)]
    counts: CountsRow,
    cpu_thousandths: u64,
}

impl<'a> TogetherAnswer<'a> {
    /// The answer.
    pub fn new(report: &'a TogetherReport<'a>) -> TogetherAnswer<'a> {
        let measured = |(of_round, share): &(AttemptCounts, u64)| MeasuredRow {
            counts: counts(of_round),
            cpu_thousandths: *share,
        };
        let rows = report.rows.iter().map(|row| DeviceRow {
            device: row.device,
            tid: row.tid,
            period_ns: row.job.period_ns,
            work_ns: row.job.work_ns,
            deadline_ns: row.job.deadline_ns,
            tried: row.tried,
            grid: row.grid,
            budget_ns: row.reservation.map(|reservation| reservation.budget_ns),
            reservation_period_ns: row.reservation.map(|reservation| reservation.period_ns),
            refused: row.why,
            before: measured(&row.before),
            with: measured(&row.with),
        });
        TogetherAnswer {
            schema: "punctual.reserve-together/1",
            verdict: report.verdict(),
            exit_code: 0,
            end: report.end,
            proven: report.is_proven(),
            stays: report.stays,
            rounds: report.rounds,
            raised: report.raised,
            comparison: report.comparison.as_ref().and_then(|comparison| comparison.as_deref().ok()),
            not_compared: report.comparison.as_ref().and_then(|comparison| comparison.as_ref().err().copied()),
            cpus: report.cpus,
            reserved_thousandths: report.reserved_thousandths(),
            admitted_thousandths: report.limit_thousandths.map(|limit| limit * report.cpus as u64),
            beside: report.beside,
            devices: rows.collect(),
            notes: report.notes,
            directory: report.directory,
            next: &report.next,
        }
    }
}

impl Answer for TogetherAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}
