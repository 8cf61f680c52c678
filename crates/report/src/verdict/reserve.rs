//! Of reservations: for one thread or device, for several at once, for the phases of a device; of what is applied, was given and
//! was put back.

use crate::reserve::counts::{failed_jobs, failed_of, late_jobs, left_open, undecided};
use crate::reserve::words::{in_words, setting_in_words};
use crate::reserve::{PhasesReport, ProofReport, ReserveEnd, ReserveReport, TogetherDevice, TogetherReport};
use punctual_recording::{agreeing, counted, format_ns};
use punctual_reserve::{AttemptCounts, Class, MIN_PERIOD_NS, Reservation, Setting, Trial};

/// The most devices that a verdict names.
const MAX_NAMED: usize = 4;

impl ReserveReport<'_> {
    /// The outcome in a sentence or two.
    pub fn verdict(&self) -> String {
        let thread = self.thread;
        let tried = counted(self.tried(), "reservation");
        match (self.end, self.refused, self.recommended) {
            (ReserveEnd::Interrupted, ..) => {
                format!("Interrupted after trying {tried} for `{thread}`: nothing was left changed.")
            }
            (ReserveEnd::ProgramEnded, ..) => {
                let were = agreeing(self.tried(), "was", "were");
                let takes = format_ns(self.takes_ns);
                format!(
                    "`{thread}` ended after {tried} {were} tried: give a program that keeps running. With these options the \
                     study takes about {takes}."
                )
            }
            (_, Some(refused), _) => {
                let instead = self.sufficient_priority().map_or_else(String::new, |priority| {
                    format!(" Priority fifo:{priority} was sufficient in its attempts.")
                });
                format!("No reservation for `{thread}`: {refused}.{instead}")
            }
            (_, _, None) => self.none_sufficient(),
            (_, _, Some(recommended)) => self.verdict_of(recommended),
        }
    }

    fn verdict_of(&self, recommended: Reservation) -> String {
        let what = in_words(recommended.budget_ns, recommended.period_ns);
        let thread = self.thread;
        let Some(proof) = &self.proof else {
            return format!("{what} was sufficient for `{thread}` in its attempts; it was not proven.");
        };
        let ((late, more_with), (before, more_before)) = (late_jobs(&proof.with), failed_of(&proof.before));
        if !self.is_proven() {
            return format!(
                "Nothing was proven for `{thread}`. {what} was not enough when it was measured again: {late} with \
                 it{more_with}, {before} without{more_before}. Nothing was left changed."
            );
        }
        if self.needs_no_reservation() {
            return self.needless(&what, proof);
        }
        let own_cost = self.own_cost();
        let stays = if self.stays { " The thread keeps it." } else { "" };
        format!(
            "{what} is enough for `{thread}`: {late} with it{more_with}, {before} \
             without{more_before}.{own_cost}{stays}"
        )
    }

    /// Says that none was sufficient, in a few sentences.
    fn none_sufficient(&self) -> String {
        let (thread, job) = (self.thread, self.job_and_others());
        if self.grid == 0 {
            return format!(
                "No reservation can be tried for `{thread}` (99 of 100 jobs take at most {job}): none with a period of {} \
                 or more that leaves others a tenth of a CPU gives it so much within {}.",
                format_ns(MIN_PERIOD_NS),
                format_ns(self.job.deadline_ns)
            );
        }
        if self.tried() == 0 {
            return format!("No reservation could be tried for `{thread}`: the kernel had no room for any of them.");
        }
        if self.cannot_tell() {
            return self.open(&job);
        }
        let none_of = match self.tried() {
            1 => "The only reservation that was tried was not".to_owned(),
            tried => format!("None of the {} that were tried was", counted(tried, "reservation")),
        };
        let none = format!(
            "{none_of} sufficient for `{thread}` (99 of 100 jobs take at most {job}): nothing was left changed."
        );
        let Some(best) = self.best() else {
            let is_other = self.trials.iter().any(|trial| trial.counts.off_period() > 0);
            let why = if is_other {
                "far more or far fewer jobs came than the period allows"
            } else {
                "no job came, or the host accounts for all that were late"
            };
            return format!("{none} No attempt could be judged: {why}.");
        };
        let (what, why) = (setting_in_words(best.setting), self.why_none());
        let succeeded = format!("{} of {} succeeded", best.succeeded, counted(best.attempts, "attempt"));
        if let Some(as_it_was) = self.better_without(best) {
            let ((without, more_without), (with, more)) = (failed_of(&as_it_was.counts), failed_of(&best.counts));
            let better = match best.counts.slow() + as_it_was.counts.slow() {
                0 => "A smaller share of jobs was late without one",
                _ => "It did better without one",
            };
            return format!(
                "{none} {better}: {without} as it was{more_without}, {with} with {what}{more}, \
                 which came nearest ({succeeded}). {why}"
            );
        }
        let (failed, more) = failed_jobs(&best.counts);
        format!("{none} The best was {what}: {succeeded}, with {failed} late{more}. {why}")
    }

    /// Says that undecided jobs leave it open; `job`: in words.
    fn open(&self, job: &str) -> String {
        let open = || self.trials.iter().filter(|trial| trial.is_open());
        let sum = |of: fn(&AttemptCounts) -> u64| open().map(|trial| of(&trial.counts)).sum::<u64>();
        format!(
            "It cannot be told whether a reservation is sufficient for `{}` (99 of 100 jobs take at most {job}): with {} of the {} that \
             {} tried no job was late, but {}. Nothing was left changed.",
            self.thread,
            open().count(),
            counted(self.tried(), "reservation"),
            agreeing(self.tried(), "was", "were"),
            undecided(sum(AttemptCounts::unseen), sum(AttemptCounts::unclear), "")
        )
    }

    /// What is known about why none was.
    fn why_none(&self) -> String {
        let (longest_ns, deadline_ns) = (self.measured.work.max_ns, self.job.deadline_ns);
        if longest_ns > deadline_ns {
            return format!(
                "Its longest job took {} of CPU time, which no reservation gives within {}.",
                format_ns(longest_ns),
                format_ns(deadline_ns)
            );
        }
        let others = |trial: &&Trial| !matches!(trial.setting, Setting::Reserved(_));
        for trial in self.trials.iter().filter(others) {
            let (late, more) = late_jobs(&trial.counts);
            match (trial.setting, trial.class()) {
                (Setting::AsItWas, Class::Sufficient) => {
                    return "As it was, no job was late: it needs no reservation here.".to_owned();
                }
                (Setting::Priority(priority), Class::Sufficient) => {
                    return format!("Priority fifo:{priority} was sufficient in its attempts.");
                }
                (Setting::Priority(priority), Class::Marginal | Class::Insufficient) => {
                    return format!(
                        "With fifo:{priority}, {late}, too{more}: other programs' threads are not \
                         all that delays it."
                    );
                }
                _ => {}
            }
        }
        match self.measured.merged {
            0 => format!("Its longest job took {} of CPU time.", format_ns(longest_ns)),
            merged => format!(
                "The longest of the {} that {} seen by {} took {} of CPU time; {} may have taken longer.",
                counted(self.measured.jobs, "job"),
                agreeing(self.measured.jobs, "was", "were"),
                agreeing(self.measured.jobs, "itself", "themselves"),
                format_ns(longest_ns),
                counted(merged, "other")
            ),
        }
    }

    /// What 99 of 100 jobs take at most, and of how many more that is not known.
    fn job_and_others(&self) -> String {
        let job = in_words(self.job.work_ns, self.job.period_ns);
        let merged = self.measured.merged;
        let (were, itself) = (agreeing(merged, "was", "were"), agreeing(merged, "itself", "themselves"));
        match merged {
            0 => job,
            _ => format!("{job}, besides {} that {were} not seen by {itself}", counted(merged, "job")),
        }
    }

    /// Says that the thread was on time without it, too; `what`: the reservation in words.
    fn needless(&self, what: &str, proof: &ProofReport<'_>) -> String {
        let ((late, more), (with, more_with)) = (late_jobs(&proof.before), late_jobs(&proof.with));
        let later = self.later.map_or_else(String::new, |later| format!(", but {}", later.in_words()));
        let stays = if self.stays { " The thread keeps it all the same." } else { "" };
        format!(
            "`{}` needs no reservation here: as it is ({}), {late}{more}. {what} is enough, too: {with} with it{more_with}{later}.{stays}",
            self.thread, self.scheduling
        )
    }

    /// What a reservation that is needed costs the program itself, as a sentence; empty if its wakeups are no later.
    fn own_cost(&self) -> String {
        self.later.map_or_else(String::new, |later| format!(" But {}.", later.in_words()))
    }
}

impl TogetherDevice<'_> {
    /// Why it does not hold.
    fn trouble(&self) -> String {
        let (device, with) = (self.device, &self.with.0);
        let device = self.tid.map_or_else(|| format!("`{device}`"), |tid| format!("`{device}` ({tid})"));
        match self.why {
            Some(why) => format!("{device} has none: {why}"),
            None if !with.is_judged() => format!("{device} could not be judged among the others{}", left_open(with)),
            None => {
                let (failed, more) = failed_jobs(with);
                format!("{device} had {failed} late{more}")
            }
        }
    }
}

impl TogetherReport<'_> {
    /// What came of it, in a sentence or two.
    pub fn verdict(&self) -> String {
        if self.end != ReserveEnd::Finished {
            let why = if self.end == ReserveEnd::ProgramEnded { "A program ended" } else { "Interrupted" };
            return format!(
                "{why} after {} of {}: nothing was left changed.",
                self.rows.iter().filter(|row| row.was_tried()).count(),
                counted(self.of, self.noun())
            );
        }
        if self.is_proven() {
            let kept = if self.stays { " The threads keep them." } else { "" };
            return format!("All {} hold at once: {}.{kept}", counted(self.of, "reservation"), self.admission());
        }
        let mut failed = self.rows.iter().filter(|row| !row.holds() && (self.rounds > 0 || row.reservation.is_none()));
        let named: Vec<String> = failed.by_ref().take(MAX_NAMED).map(TogetherDevice::trouble).collect();
        let more = failed.count();
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        if named.is_empty() {
            return format!("Found, but not measured together: {}.", self.admission());
        }
        let held = self.rows.iter().filter(|row| row.holds()).count();
        format!(
            "{held} of {} hold at once, {}. {}{more}.",
            counted(self.of, "reservation"),
            self.admission(),
            named.join("; ")
        )
    }
}

impl PhasesReport<'_> {
    /// What came of it, in a sentence or two.
    pub fn verdict(&self) -> String {
        let device = self.device;
        if self.end != ReserveEnd::Finished && self.is_found() {
            return "Interrupted while all phases were run one after the other: nothing was left changed.".to_owned();
        }
        if self.end != ReserveEnd::Finished {
            let looked_at = self.rows.len();
            return format!("Interrupted in phase {looked_at} of {}: nothing was left changed.", self.of);
        }
        if let Some(row) = self.rows.iter().find(|row| row.reservation.is_none()) {
            if row.is_open() {
                return format!(
                    "It cannot be told whether a reservation is sufficient for `{device}` with {}, since jobs were not seen: nothing was \
                     proven for all its phases.",
                    row.name()
                );
            }
            return format!(
                "No reservation was sufficient for `{device}` with {}, so nothing was proven for all its phases.",
                row.name()
            );
        }
        let each: Vec<String> = self
            .rows
            .iter()
            .filter_map(|row| row.reservation.map(|found| (in_words(found.budget_ns, found.period_ns), row.name())))
            .map(|(reservation, name)| format!("{reservation} for {name}"))
            .collect();
        let each = each.join(", ");
        let Some(proof) = &self.proof else {
            return format!("Found for the phases of `{device}`, but not proven: {each}.");
        };
        let ((late, more_with), (before, more_before)) = (late_jobs(&proof.with), failed_of(&proof.before));
        let (says, ends) = if self.is_proven() {
            ("Enough for the phases of", "")
        } else {
            ("Nothing was proven for the phases of", " Nothing was left changed.")
        };
        format!("{says} `{device}`: {each}. {late} with them{more_with}, {before} without{more_before}.{ends}")
    }
}

/// Of what is applied now: how many threads were changed, and how many of them have their reservation.
pub(crate) fn applied_verdict(changed: usize, kept: usize) -> String {
    if changed == 0 {
        return "No reservation is applied.".to_owned();
    }
    let have = agreeing(kept, "has", "have");
    format!("`--apply` changed {}; {kept} {have} a reservation now.", counted(changed, "thread"))
}

/// Of a program that ran with a reservation: how many of all its threads were given it.
pub(crate) fn run_verdict(reservation: Reservation, granted: usize, all: usize) -> String {
    let what = in_words(reservation.budget_ns, reservation.period_ns);
    match (granted, all) {
        (0, 0) => "There was no thread to reserve for.".to_owned(),
        (granted, all) => format!("Reserved {what} for {granted} of {}.", counted(all, "thread")),
    }
}

/// Of what was put back: how many of all threads.
pub(crate) fn undo_verdict(done: usize, all: usize) -> String {
    match all {
        0 => "Nothing to undo: no reservation was applied.".to_owned(),
        all => format!("Put {done} of {} back.", counted(all, "thread")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reserve::text::tests::{counts, report, reserved, trial};

    #[test]
    fn each_end_has_its_verdict() {
        let trials = [trial(Setting::Priority(50), 0), trial(reserved(2_090_000), 0), trial(reserved(1_900_000), 3)];
        let study = || report(&trials);
        let unproven = ProofReport { with: counts(1_000, 3), ..study().proof.unwrap() };
        for (report, says) in [
            (
                study(),
                "2.30 ms of every 10.0 ms is enough for `loop`: 0 of 1,000 jobs were late with it, 41 of 1,000 without.",
            ),
            (ReserveReport { stays: true, ..study() }, "The thread keeps it."),
            (ReserveReport { proof: Some(unproven), ..study() }, "Nothing was proven for `loop`"),
            (ReserveReport { proof: None, ..study() }, "it was not proven"),
            (
                ReserveReport { recommended: None, ..study() },
                "None of the 2 reservations that were tried was sufficient for `loop` (99 of 100 jobs take at most 2.00 ms of every \
                 10.0 ms): nothing was left changed. The best was 2.09 ms of every 10.0 ms: 1 of 1 attempt succeeded, with 0 of 200 \
                 jobs late.",
            ),
            (
                ReserveReport { refused: Some("no"), recommended: None, ..study() },
                "No reservation for `loop`: no. Priority fifo:50 was sufficient in its attempts.",
            ),
            (
                ReserveReport { end: ReserveEnd::Interrupted, ..study() },
                "Interrupted after trying 2 reservations for `loop`: nothing was left changed.",
            ),
            (
                ReserveReport { end: ReserveEnd::ProgramEnded, ..study() },
                "`loop` ended after 2 reservations were tried: give a program that keeps running. With these options the study \
                 takes about 88.0 s.",
            ),
        ] {
            assert!(report.verdict().contains(says), "{}\n{says}", report.verdict());
        }
    }
}
