//! Of what measurements need: loads, drills, devices, what this kernel and this user allow, and what is installed.

use crate::capabilities::answer::BudgetAnswer;
use crate::drill::{DrillLine, DrillReport};
use crate::layout::{agreeing, as_fine_percent, capitalized, counted, grouped, how_often};
use crate::load::{LoadResult, LoadRow, scores_in_words};
use punctual_device::Profile;
use punctual_recording::format_ns;

impl LoadResult {
    /// Whether the load ran well, and what it got done.
    pub(crate) fn verdict(&self) -> String {
        let Self { name, trouble, .. } = self;
        let time = format_ns(self.elapsed_ns);
        match trouble.first() {
            Some(first) => format!("The load {name} did not run well: {first}."),
            None if self.scores.is_empty() => format!("The load {name} ran for {time}; it has no score."),
            None => format!("The load {name} ran well for {time}: {}.", scores_in_words(&self.scores)),
        }
    }
}

/// Which loads are installed.
pub(crate) fn loads_verdict(rows: &[LoadRow]) -> String {
    let real: Vec<&LoadRow> = rows.iter().filter(|row| row.real).collect();
    let there = real.iter().filter(|row| row.missing.is_empty()).count();
    let advice = match real.iter().find(|row| !row.missing.is_empty()) {
        Some(row) => format!("; `punctual load install {}` gets what it needs.", row.name),
        None => ".".to_owned(),
    };
    let are = agreeing(there, "is", "are");
    format!("{there} of {} loads of real programs {are} installed{advice}", real.len())
}

/// Whether one load is installed.
pub(crate) fn load_verdict(name: &str, is_installed: bool) -> String {
    format!("The load {name} is {}installed.", if is_installed { "" } else { "not " })
}

impl DrillReport {
    /// What the drill did, in one sentence.
    pub fn verdict(&self) -> String {
        let Some(shortest) = self.injections.iter().map(|row| row.length_ns).min() else {
            return format!("No {} was injected.", self.kind);
        };
        let longest = self.injections.iter().map(|row| row.length_ns).max().unwrap_or(shortest);
        let times = how_often(self.injections.len());
        let length = if format_ns(shortest) == format_ns(longest) {
            format_ns(shortest)
        } else {
            format!("{} to {}", format_ns(shortest), format_ns(longest))
        };
        let (kind, name) = (self.kind, self.name);
        format!("Injected {kind} {times} in {} for {length}; the culprit is `{name}`.", format_ns(self.duration_ns()))
    }
}

/// Which drills there are, in one sentence.
pub(crate) fn drills_verdict(lines: &[DrillLine]) -> String {
    let lacking: Vec<&str> = lines.iter().filter(|line| line.available == "no").map(|line| line.kind).collect();
    if lacking.is_empty() {
        return "Every drill is available here.".to_owned();
    }
    format!("Not available here: {}.", lacking.join(", "))
}

/// How many devices are known; of one alone, what it is.
pub(crate) fn profiles_verdict(profiles: &[Profile]) -> String {
    match profiles {
        [only] if only.what.is_empty() => format!("{}.", only.name),
        [only] => format!("{}: {}.", only.name, only.what),
        all => format!("{} are known; `punctual device show NAME` shows one.", counted(all.len(), "device")),
    }
}

/// What is allowed here: the names of what is not, and of what is with limits; `is_asked`: names were given.
pub fn capabilities_verdict(lacking: &[&str], limited: &[&str], is_asked: bool) -> String {
    match (lacking, limited) {
        ([], []) if is_asked => "All of this is available here.".to_owned(),
        ([], []) => "This kernel and this user allow everything that punctual can use.".to_owned(),
        ([], names) => format!("Everything is available here, with limits: {}.", names.join(", ")),
        (names, _) => {
            format!("Not available here: {}. Measuring works all the same, with less detail.", names.join(", "))
        }
    }
}

impl BudgetAnswer<'_> {
    /// How close the largest program is to each limit, and how many are too close.
    pub(crate) fn verdict(&self) -> String {
        let largest = self.programs.iter().max_by_key(|program| program.instructions);
        let deepest = self.programs.iter().max_by_key(|program| program.stack);
        let (Some(largest), Some(deepest)) = (largest, deepest) else {
            return "No BPF program was measured.".to_owned();
        };
        let over = match self.over_budget {
            0 => "none takes more than half of a limit".to_owned(),
            over => format!("{over} {} more than half of a limit", agreeing(over, "takes", "take")),
        };
        format!(
            "Of {} on Linux {} {over}: `{}` takes {} of the {} instructions that the verifier goes through, and `{}` {} of {} \
             bytes of stack.",
            counted(self.programs.len(), "BPF program"),
            self.kernel,
            largest.program,
            as_fine_percent(largest.instructions, self.limits.instructions),
            grouped(self.limits.instructions),
            deepest.program,
            as_fine_percent(deepest.stack, self.limits.stack),
            self.limits.stack,
        )
    }
}

/// What is said after programs were to be installed for what has this name, such as `the load office`: whether it needs any,
/// whether one was missing, and what to do with it.
pub fn installed_verdict(name: &str, needs_programs: bool, was_missing: bool, next: &str) -> String {
    let name = capitalized(name);
    match (needs_programs, was_missing) {
        (false, _) => format!("{name} needs no programs: there is nothing to install."),
        (true, true) => format!("{name} now has all that it needs: `{next}`"),
        (true, false) => format!("{name} has all that it needs: there is nothing to do."),
    }
}
