//! Of an event log: how much it has, and what it lacks.

use super::recording::{end_in_words, load_failure_in_words};
use crate::layout::{agreeing, counted, grouped};
use crate::log::LogReport;
use punctual_recording::format_ns;
use std::fmt::Write as _;

impl LogReport<'_> {
    /// The answer in a sentence or two.
    pub fn verdict(&self) -> String {
        let cpus = self.document.provenance.configuration.cpus.len();
        let events = self.summary.events();
        let failure = load_failure_in_words(self.document);
        let mut verdict = failure.map_or_else(String::new, |failure| format!("{failure} "));
        let _ = write!(
            verdict,
            "Logged {}{} on {}; ",
            counted(events, "event"),
            self.length_ns().map_or_else(String::new, |length| format!(" in {}", format_ns(length))),
            counted(cpus, "CPU"),
        );
        match self.dropped() {
            Some(0) if self.log.marks.broken > 0 => verdict.push_str("none that can be counted were dropped."),
            Some(0) => verdict.push_str("none were dropped."),
            None => verdict.push_str("how many were dropped is not known."),
            Some(dropped) => {
                let share = dropped as f64 / (events as f64 + dropped as f64) * 100.0;
                let _ = write!(
                    verdict,
                    "{} more ({share:.2} %) {} dropped: the log has holes.",
                    grouped(dropped),
                    agreeing(dropped, "was", "were")
                );
            }
        }
        verdict.extend(self.broken_in_words().map(|broken| format!(" {broken}")));
        if let Some(end) = end_in_words(self.document) {
            let _ = write!(verdict, " {end}");
        }
        verdict
    }

    /// What programs did to the memory of their marks.
    fn broken_in_words(&self) -> Option<String> {
        let marks = &self.log.marks;
        let first = marks.first_broken.filter(|_| marks.broken > 0)?;
        let after = first.at_ns.saturating_sub(self.document.provenance.started_ns);
        let process = match first.process {
            0 => "a process".to_owned(),
            process => format!("process {process}"),
        };
        let others = match marks.broken - 1 {
            0 => String::new(),
            others => format!("; {} more did so later", grouped(others)),
        };
        Some(format!(
            "Marks of {process} of user {} ended at {}: it corrupted the memory that it shares with the log{others}.",
            first.user,
            format_ns(after)
        ))
    }
}
