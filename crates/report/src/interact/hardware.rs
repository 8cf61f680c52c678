//! What the processor counted for each input, and on average for each kind; counters that do not count have their
//! reason.

use super::model::InteractReport;
use crate::encode::html::Block;
use crate::encode::html::table::{Column, Table, Value};
use crate::layout::{shortened, table};
use punctual_recording::{HardwareCounts, HardwareDocument};
use serde::Serialize;
use std::fmt::Write as _;

/// The processor's counters that were asked for.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct HardwareRow<'a> {
    /// Those that count: `cycles_user`, ...
    counted: Vec<&'a str>,
    /// Those that do not.
    absent: Vec<AbsentRow<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct AbsentRow<'a> {
    counter: &'a str,
    because: &'a str,
}

impl<'a> HardwareRow<'a> {
    pub(super) fn new(hardware: &'a HardwareDocument) -> HardwareRow<'a> {
        let counted = hardware.counters.iter().filter(|counter| counter.absent.is_none());
        let absent = hardware
            .counters
            .iter()
            .filter_map(|counter| Some(AbsentRow { counter: &counter.name, because: counter.absent.as_deref()? }));
        HardwareRow { counted: counted.map(|counter| counter.name.as_str()).collect(), absent: absent.collect() }
    }
}

/// A row of JSON with the fields of a record. What the record gains needs its place here.
macro_rules! row_of {
    (
        $(#[$about:meta])*
        $row:ident of $record:ident { $($(#[$words:meta])* $field:ident: $of:ty,)* }
    ) => {
        $(#[$about])*
        #[derive(Debug, Serialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        pub(super) struct $row {
            $($(#[$words])* $field: $of,)*
        }

        impl From<$record> for $row {
            fn from($record { $($field),* }: $record) -> $row {
                $row { $($field: $field.into()),* }
            }
        }
    };
}
pub(super) use row_of;

row_of! {
    /// What the processor counted until the next input, in the program's own code and in the kernel's for it; `null` is
    /// what is not counted.
    HardwareCountsRow of HardwareCounts {
        cycles_user: Option<u64>,
        cycles_kernel: Option<u64>,
        instructions_user: Option<u64>,
        instructions_kernel: Option<u64>,
        cache_misses_user: Option<u64>,
        cache_misses_kernel: Option<u64>,
        /// For how much of the time the counter that counted least was active, in thousandths; below 1,000 the events took
        /// turns, and the counts are scaled up.
        counted_thousandths: Option<u64>,
    }
}

/// Reasons are shown up to this length, characters, and up to this number: a forged recording may have any.
const MAX_SHOWN: usize = 160;
const MAX_REASONS: usize = 6;

/// The columns of means.
const COLUMNS: [&str; 7] = ["counted", "kcycles", "in kernel", "kinstr.", "in kernel", "misses", "in kernel"];

/// How many inputs of a kind have counts, and the means over those that have each.
fn means(kind: &str, counts: &[HardwareCounts]) -> Vec<String> {
    let mean = |unit: f64, value: &dyn Fn(&HardwareCounts) -> Option<u64>| {
        let values: Vec<u64> = counts.iter().filter_map(value).collect();
        let sum: f64 = values.iter().map(|value| *value as f64).sum();
        if values.is_empty() { "-".to_owned() } else { format!("{:.1}", sum / unit / values.len() as f64) }
    };
    vec![
        kind.to_owned(),
        counts.len().to_string(),
        mean(1e3, &|of| of.cycles_user),
        mean(1e3, &|of| of.cycles_kernel),
        mean(1e3, &|of| of.instructions_user),
        mean(1e3, &|of| of.instructions_kernel),
        mean(1.0, &|of| of.cache_misses_user),
        mean(1.0, &|of| of.cache_misses_kernel),
    ]
}

/// The counts for inputs of a kind, from those that have any.
fn counts_of(report: &InteractReport<'_>, kind: Option<&str>) -> Vec<HardwareCounts> {
    let of_kind = report.inputs.iter().filter(|input| kind.is_none_or(|kind| input.kind == kind));
    let counts = of_kind.filter_map(|input| input.counters).map(|counters| counters.hardware);
    counts.filter(|counts| counts.counted_thousandths.is_some()).collect()
}

/// A row for each kind that has counts; empty if none has.
fn rows(report: &InteractReport<'_>) -> Vec<Vec<String>> {
    let kinds = report.kinds.iter().map(|kind| (kind.kind.as_str(), counts_of(report, Some(&kind.kind))));
    kinds.filter(|(_, counts)| !counts.is_empty()).map(|(kind, counts)| means(kind, &counts)).collect()
}

/// Whether the user has no right to ask for a counter.
fn is_refused(why: &str) -> bool {
    why.starts_with("not allowed to this user")
}

/// How to get that right.
fn remedy(why: &str) -> &'static str {
    if is_refused(why) { ": run as root, or `sysctl kernel.perf_event_paranoid=1` first" } else { "" }
}

/// Which counters there are, and why there are no others.
fn told(hardware: Option<&HardwareDocument>, counts: &[HardwareCounts]) -> String {
    let Some(hardware) = hardware else { return "hardware counters: none were asked for".to_owned() };
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for counter in &hardware.counters {
        let Some(why) = counter.absent.as_deref() else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(&counter.name),
            None => reasons.push((why, vec![&counter.name])),
        }
    }
    let is_none = !reasons.is_empty() && hardware.counters.iter().all(|counter| counter.absent.is_some());
    // The kernel refuses whoever has no right before it looks for counters: a machine without any has two reasons then.
    if is_none && reasons.iter().any(|(why, _)| !is_refused(why)) {
        reasons.retain(|(why, _)| !is_refused(why));
    }
    if let ([(why, _)], true) = (&reasons[..], is_none) {
        return format!("hardware counters: none: {}{}", shortened(why, MAX_SHOWN), remedy(why));
    }
    let untested = "hardware counters: untested, as no machine with them has run punctual yet";
    let mut words = if is_none { "hardware counters: none" } else { untested }.to_owned();
    for (why, names) in reasons.into_iter().take(MAX_REASONS) {
        let names = shortened(&names.join(", "), MAX_SHOWN);
        let _ = write!(words, "; not {names}: {}{}", shortened(why, MAX_SHOWN), remedy(why));
    }
    let least = counts.iter().filter_map(|counts| counts.counted_thousandths).min();
    if let Some(least) = least.filter(|least| *least < 1_000) {
        let _ =
            write!(words, "; scaled up: they took turns, and one counted for {:.1} % of an input", least as f64 / 10.0);
    }
    words
}

/// What is known of the counters, as text.
pub(super) fn hardware(text: &mut String, report: &InteractReport<'_>) {
    let rows = rows(report);
    if !rows.is_empty() {
        let header: Vec<&str> = ["on average"].into_iter().chain(COLUMNS).collect();
        let _ = writeln!(text, "\n{}", table(&header, 1..header.len(), rows));
    }
    let _ = writeln!(text, "\n{}", told(report.summary.hardware.as_ref(), &counts_of(report, None)));
}

/// The same on the page.
pub(super) fn hardware_blocks(report: &InteractReport<'_>) -> Vec<Block> {
    let rows = rows(report);
    let cells = |row: Vec<String>| row.into_iter().map(Value::text).collect();
    let told = Block::Text(format!("{}.", told(report.summary.hardware.as_ref(), &counts_of(report, None))));
    if rows.is_empty() {
        return vec![told];
    }
    let columns = [Column::words("input")].into_iter().chain(COLUMNS.map(Column::numbers)).collect();
    let rows = rows.into_iter().map(cells).collect();
    vec![Block::Table(Table { caption: "Counted by the processor on average".into(), columns, rows }), told]
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_recording::HardwareCounter;

    fn document(absent: [Option<&str>; 3]) -> HardwareDocument {
        let names = ["cycles_user", "cycles_kernel", "instructions_user"];
        let counters = names
            .iter()
            .zip(absent)
            .map(|(name, absent)| HardwareCounter { name: (*name).to_owned(), absent: absent.map(str::to_owned) });
        HardwareDocument { counters: counters.collect() }
    }

    #[test]
    fn what_is_not_counted_has_its_reason_and_never_a_nought() {
        let none = document([Some("no PMU"); 3]);
        assert_eq!(told(Some(&none), &[]), "hardware counters: none: no PMU");
        assert_eq!(HardwareRow::new(&none).absent.len(), 3);
        assert_eq!(told(None, &[]), "hardware counters: none were asked for");
        let some = document([None, Some("not allowed"), None]);
        let turns = HardwareCounts { counted_thousandths: Some(421), cycles_user: Some(7_000), ..Default::default() };
        let words = told(Some(&some), &[turns]);
        assert!(words.contains("not cycles_kernel: not allowed") && words.contains("42.1 %"), "{words}");
        assert_eq!(HardwareRow::new(&some).counted, ["cycles_user", "instructions_user"]);
        let refused = "not allowed to this user (kernel.perf_event_paranoid = 2)";
        // Without counters, a user who may ask for some of them is told so, and is not sent to ask as root.
        let words = told(Some(&document([Some("no PMU"), Some(refused), Some("no PMU")])), &[]);
        assert_eq!(words, "hardware counters: none: no PMU");
        let words = told(Some(&document([Some(refused); 3])), &[]);
        let way = "none: not allowed to this user (kernel.perf_event_paranoid = 2): run as root, or";
        assert!(words.contains(way), "{words}");
        let words = told(Some(&document([None, Some(refused), None])), &[]);
        assert!(words.contains("untested") && words.contains(": run as root, or"), "{words}");
        let row = means("key", &[turns, HardwareCounts { cycles_user: Some(8_000), ..turns }]);
        assert_eq!(row, ["key", "2", "7.5", "-", "-", "-", "-", "-"].map(str::to_owned));
        assert_eq!(row.len(), COLUMNS.len() + 1);
    }
}
