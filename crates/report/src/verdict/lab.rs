//! Of guests: how late wakeups were on each kernel, and what one of them saw from outside; which kernels there are.

use super::compare::comparison_verdict;
use super::recording::recording_verdict;
use crate::StageRow;
use crate::lab::{GuestEnd, LabReport, OutsideReport, SystemReport};
use crate::layout::percent;
use punctual_recording::{Stage, agreeing, counted, format_ns};

/// Figures by which systems are ranked: the furthest out that all of them have.
type Figure = (&'static str, fn(&StageRow) -> Option<u64>);
const RANKED_BY: [Figure; 3] =
    [("99.99 %", |row| row.p99_99_ns), ("99.9 %", |row| row.p99_9_ns), ("99 %", |row| row.p99_ns)];

impl LabReport<'_> {
    /// The answer in words.
    pub fn verdict(&self) -> String {
        let mut sentences: Vec<String> = Vec::new();
        if self.is_interrupted {
            sentences.push("Ended early.".to_owned());
        }
        let all = self.guests().count();
        let failed = self.guests().filter(|(_, guest)| guest.end == GuestEnd::Failed).count();
        if failed > 0 {
            sentences.push(format!("{failed} of {} did not finish.", counted(all, "guest")));
        }
        let complained = self.guests().filter(|(_, guest)| guest.all_splats > 0).count();
        if complained > 0 {
            sentences.push(format!("In {complained} of {} the kernel complained.", counted(all, "guest")));
        }
        let measured: Vec<&SystemReport> = self.systems.iter().filter(|system| !system.documents.is_empty()).collect();
        match measured.as_slice() {
            [] => sentences.extend(self.ends_in_words()),
            [one] => {
                let document = one.together();
                sentences.extend(document.map(|document| format!("{}: {}", one.name, recording_verdict(&[&document]))));
            }
            several => sentences.extend(ranking(several)),
        }
        for (first, other, comparison) in &self.comparisons {
            let (first, name) = (&self.systems[*first].name, &self.systems[*other].name);
            sentences.push(format!("{name} (B) beside {first} (A): {}", comparison_verdict(comparison)));
        }
        sentences.join(" ")
    }

    /// The codes with which the command ended, and on how many guests each, if nothing was recorded.
    fn ends_in_words(&self) -> Option<String> {
        let mut counts: Vec<(i32, usize)> = Vec::new();
        for code in self.guests().filter_map(|(_, guest)| guest.exit_code) {
            match counts.iter_mut().find(|(other, _)| *other == code) {
                Some((_, count)) => *count += 1,
                None => counts.push((code, 1)),
            }
        }
        let each = counts.iter().map(|(code, count)| format!("{code} in {count}"));
        let words = each.collect::<Vec<_>>().join(", with ");
        (!counts.is_empty()).then(|| {
            let guests = agreeing(counts.iter().map(|(_, count)| count).sum::<usize>(), "guest", "guests");
            format!("The command ended with {words} {guests}.")
        })
    }
}

fn ranking(systems: &[&SystemReport]) -> Option<String> {
    let total = |system: &SystemReport| -> Option<StageRow> {
        system.stages().into_iter().map(|stage| stage.row).find(|row| row.stage == Stage::Total)
    };
    let totals: Vec<(&str, StageRow)> =
        systems.iter().filter_map(|system| Some((system.name.as_str(), total(system)?))).collect();
    let of = |figure: fn(&StageRow) -> Option<u64>| -> Option<Vec<(&str, u64)>> {
        totals.iter().map(|(name, row)| Some((*name, figure(row)?))).collect()
    };
    let ranked = RANKED_BY.iter().find_map(|(words, figure)| Some((format!("{words} of wakeups"), of(*figure)?)));
    let (words, mut values) = ranked.or_else(|| Some(("All wakeups".to_owned(), of(|row| row.max_ns)?)))?;
    values.sort_by_key(|(_, value)| *value);
    let each: Vec<String> = values.iter().map(|(name, value)| format!("{} on {name}", format_ns(*value))).collect();
    Some(format!("{words} ran within {}.", each.join(", ")))
}

/// Which kernels are here, of all; some could not be taken.
pub(crate) fn kernels_verdict(here: usize, all: usize, failed: usize) -> String {
    let trouble = if failed > 0 { format!("; {failed} could not be taken") } else { String::new() };
    let are = agreeing(all, "is", "are");
    format!("{here} of {} {are} on this machine{trouble}.", counted(all, "kernel"))
}

impl OutsideReport<'_> {
    /// The answer in a sentence.
    pub(crate) fn verdict(&self) -> String {
        let late = format!(
            "Seen from outside, {} of episode {} ran {} late on {}, seed {}",
            self.victim_in_words(),
            self.episode,
            format_ns(self.total_ns),
            self.kernel,
            self.seed
        );
        let not_written_ns = self.not_written_ns();
        let Some((what, ns, function)) = self.most() else { return format!("{late}; nothing was written down.") };
        let most = match function {
            None => String::new(),
            Some((name, of_it)) if of_it > ns / 2 => format!(", most of that in {name}"),
            Some((name, of_it)) => {
                format!(", the largest part of that in {name}, {:.0} %", percent(of_it, ns))
            }
        };
        let known = format!("{} of it {what}{most}", format_ns(ns));
        match not_written_ns {
            0 => format!("{late}: {known}."),
            _ if not_written_ns > ns => {
                format!("{late}: what had the last {} of it was not written down; {known}.", format_ns(not_written_ns))
            }
            _ => format!("{late}: {known}; what had the last {} was not written down.", format_ns(not_written_ns)),
        }
    }
}
