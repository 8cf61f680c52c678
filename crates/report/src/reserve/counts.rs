//! What became of jobs, in words and as columns that text and pages share.

use crate::layout::grouped;
use punctual_recording::{agreeing, counted, format_ns};
use punctual_reserve::{AttemptCounts, Jobs};

/// The columns of a table of counts. Jobs that the host accounts for have a column if there are any, and so have those by which a loop
/// was slower, those that were not seen and those that are unclear.
pub(super) struct Columns {
    slow: bool,
    by_host: bool,
    unseen: bool,
    unclear: bool,
    /// The heading of the last one.
    longest: &'static str,
}

impl Columns {
    /// The columns for these counts.
    pub(super) fn of<'a>(counts: impl IntoIterator<Item = &'a AttemptCounts>) -> Columns {
        let none = Columns { slow: false, by_host: false, unseen: false, unclear: false, longest: "worst response" };
        counts.into_iter().fold(none, |columns, counts| Columns {
            slow: columns.slow || counts.slow() > 0,
            by_host: columns.by_host || counts.by_host() > 0,
            unseen: columns.unseen || counts.unseen() > 0,
            unclear: columns.unclear || counts.unclear() > 0,
            longest: if are_in_a_row(counts) { "longest stretch" } else { columns.longest },
        })
    }

    /// Their headings.
    pub(super) fn headings(&self) -> Vec<&'static str> {
        let mut headings = vec!["jobs", "late", "missing"];
        headings.extend(self.slow.then_some("fewer"));
        headings.extend(self.by_host.then_some("by host"));
        headings.extend(self.unseen.then_some("not seen"));
        headings.extend(self.unclear.then_some("unclear"));
        headings.push(self.longest);
        headings
    }

    /// A row.
    pub(super) fn cells(&self, counts: &AttemptCounts) -> Vec<String> {
        let jobs = counts.jobs();
        let mut cells = vec![grouped(jobs.all()), grouped(jobs.late), grouped(jobs.missing)];
        cells.extend(self.slow.then(|| grouped(counts.slow())));
        cells.extend(self.by_host.then(|| grouped(counts.by_host())));
        cells.extend(self.unseen.then(|| grouped(counts.unseen())));
        cells.extend(self.unclear.then(|| grouped(counts.unclear())));
        let any_ended = jobs.on_time + jobs.late + counts.unclear() > 0;
        cells.push(if any_ended { format_ns(counts.worst_response_ns()) } else { "-".to_owned() });
        cells
    }
}

/// Whether jobs were worked off in a row, or may have been: how long the thread did not sleep is then no job's response.
pub(super) fn are_in_a_row(counts: &AttemptCounts) -> bool {
    counts.unclear() > 0 || counts.caught_up() > 0
}

/// `5 of 1,500 jobs`, and whatever else there is to say of the five.
pub(crate) fn failed_jobs(counts: &AttemptCounts) -> (String, String) {
    let jobs = counts.jobs();
    (format!("{} of {}", grouped(jobs.failed()), counted(jobs.all(), "job")), failed_of(counts).1)
}

/// The same as the beginning of a sentence: `1 of 1,500 jobs was late`.
pub(crate) fn late_jobs(counts: &AttemptCounts) -> (String, String) {
    let (failed, more) = failed_jobs(counts);
    (format!("{failed} {} late", agreeing(counts.jobs().failed(), "was", "were")), more)
}

/// How many failed, without the noun.
pub(crate) fn failed_of(counts: &AttemptCounts) -> (String, String) {
    let jobs @ Jobs { missing, .. } = counts.jobs();
    let mut more = Vec::new();
    if missing > 0 {
        more.push(format!("{} never came", grouped(missing)));
    }
    if counts.slow() > 0 {
        more.push(format!("{} fewer than its period allows, since the loop was slower", grouped(counts.slow())));
    }
    if counts.by_host() > 0 {
        more.push(format!("{} by the host", grouped(counts.by_host())));
    }
    if counts.unseen() > 0 {
        more.push(format!("besides {} not seen", grouped(counts.unseen())));
    }
    if counts.unclear() > 0 {
        more.push(format!("besides {} unclear", grouped(counts.unclear())));
    }
    let more = if more.is_empty() { String::new() } else { format!(" ({})", more.join(", ")) };
    (format!("{} of {}", grouped(jobs.failed()), grouped(jobs.all())), more)
}

/// Why counts without a failure leave it open, as the end of a sentence; empty if it is known what became of all jobs.
pub(crate) fn left_open(counts: &AttemptCounts) -> String {
    match counts.undecided() {
        0 => String::new(),
        _ => format!(": {}", undecided(counts.unseen(), counts.unclear(), " late")),
    }
}

/// What is known of unclear jobs, to follow that so many were.
pub(super) const MAY_HAVE_FAILED: &str = "due while the thread did not sleep, and may have been late or missing";

/// That so many jobs were not seen and may have been `late`, and that so many are unclear.
pub(crate) fn undecided(unseen: u64, unclear: u64, late: &str) -> String {
    let were = |count: u64| format!("{} {}", counted(count, "job"), agreeing(count, "was", "were"));
    let mut said = Vec::new();
    if unseen > 0 {
        said.push(format!("{} not seen, and may have been{late}", were(unseen)));
    }
    if unclear > 0 {
        said.push(format!("{} {MAY_HAVE_FAILED}", were(unclear)));
    }
    said.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_by_which_a_loop_was_slower_are_told_apart_from_missing_ones() {
        let alone = AttemptCounts::new(Jobs { on_time: 140, late: 2, missing: 0 }, 0, 11_000_000);
        let slow = alone.with_slow(57);
        let columns = Columns::of([&alone, &slow]);
        assert_eq!(columns.headings(), ["jobs", "late", "missing", "fewer", "worst response"]);
        assert_eq!([&alone, &slow].map(|counts| columns.cells(counts)[3].clone()), ["0", "57"]);
        assert_eq!(failed_of(&slow).1, " (57 fewer than its period allows, since the loop was slower)");
        assert_eq!(late_jobs(&slow).0, "2 of 142 jobs were late");
    }

    #[test]
    fn what_the_host_accounts_for_has_a_column_only_where_it_does() {
        let one = AttemptCounts::new(Jobs { on_time: 1_000, late: 20, missing: 4 }, 3, 7_000_000);
        let alone = AttemptCounts::new(Jobs { on_time: 10, ..Jobs::default() }, 0, 1_000_000);
        let columns = Columns::of([&one, &alone]);
        assert_eq!(columns.headings(), ["jobs", "late", "missing", "by host", "worst response"]);
        assert_eq!(columns.cells(&one), ["1,024", "20", "4", "3", "7.00 ms"]);
        assert_eq!(Columns::of([&alone]).cells(&alone), ["10", "0", "0", "1.00 ms"]);
        assert_eq!(Columns::of([]).cells(&AttemptCounts::default()), ["0", "0", "0", "-"]);
        let said = |counts: AttemptCounts| failed_of(&counts);
        assert_eq!(said(one), ("24 of 1,024".to_owned(), " (4 never came, 3 by the host)".to_owned()));
        assert_eq!(said(alone), ("0 of 10".to_owned(), String::new()));
        let open = alone.with_unseen(3);
        assert_eq!(said(open).1, " (besides 3 not seen)");
        let columns = Columns::of([&alone, &open]);
        assert_eq!(columns.headings(), ["jobs", "late", "missing", "not seen", "worst response"]);
        assert_eq!([&alone, &open].map(|counts| columns.cells(counts)[3].clone()), ["0", "3"]);
        assert_eq!(left_open(&alone), "");
        assert_eq!(left_open(&alone.with_unseen(1)), ": 1 job was not seen, and may have been late");
        let both = open.with_stretches(89, 0);
        assert_eq!(
            left_open(&both),
            ": 3 jobs were not seen, and may have been late; 89 jobs were due while the thread did not sleep, and may have been late or \
             missing"
        );
        assert_eq!(said(both).1, " (besides 3 not seen, besides 89 unclear)");
        let columns = Columns::of([&alone, &both]);
        assert_eq!(columns.headings(), ["jobs", "late", "missing", "not seen", "unclear", "longest stretch"]);
        assert_eq!(columns.cells(&both), ["10", "0", "0", "3", "89", "1.00 ms"]);
        let in_a_row = alone.with_stretches(0, 7);
        assert_eq!(Columns::of([&in_a_row]).headings(), ["jobs", "late", "missing", "longest stretch"]);
        assert_eq!(failed_jobs(&one).0, "24 of 1,024 jobs");
        assert_eq!(late_jobs(&one).0, "24 of 1,024 jobs were late");
    }
}
