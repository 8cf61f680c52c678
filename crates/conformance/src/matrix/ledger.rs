//! Results of rows, kept over several runs: a table of all of them says what has not been run.

use super::cell::{Cell, Verdict};
use super::plan::{Boot, table};
use super::promises;
use super::trial::{REPEATED_ROW, Result as TrialResult};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

/// A row of a boot, as it was last tried.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Row {
    verdict: Verdict,
    /// The version of the kernel.
    version: String,
    /// The first digits of the program's digest.
    program: String,
}

/// Rows by boot.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ledger(BTreeMap<String, BTreeMap<String, Row>>);

/// The first digits of a program's digest.
///
/// # Errors
///
/// If it cannot be read.
pub fn digest_of(program: &Path) -> io::Result<String> {
    let digest = Sha256::digest(std::fs::read(program)?);
    Ok(digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect())
}

impl Ledger {
    /// What earlier runs wrote there; empty if there is no file.
    ///
    /// # Errors
    ///
    /// If the file exists and is not a ledger.
    pub fn read(path: &Path) -> io::Result<Ledger> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Ledger::default()),
            Err(error) => Err(error),
        }
    }

    /// Writes it.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let part = path.with_extension("part");
        std::fs::write(&part, serde_json::to_vec_pretty(self)?)?;
        std::fs::rename(part, path)
    }

    /// Takes the results of a boot with a program; rows that it did not try stay as they were.
    pub fn take(&mut self, result: &TrialResult, program: &str) {
        let rows = self.0.entry(result.boot.name()).or_default();
        let known = rows_of(&result.boot);
        for cell in &result.cells {
            if cell.verdict == Verdict::LeftOut && rows.contains_key(&cell.row) {
                continue;
            }
            let row = Row {
                verdict: cell.verdict.clone(),
                version: result.boot.version.clone(),
                program: program.to_owned(),
            };
            rows.insert(cell.row.clone(), row);
        }
        // A guest that gave nothing has a row of its own, until one gives something.
        let has_more = result.cells.iter().any(|cell| known.contains(&cell.row));
        rows.retain(|row, _| known.contains(row) || !has_more);
    }

    /// What is known about these boots, in the order of their rows; the rest was not run.
    #[must_use]
    pub fn results(&self, boots: &[Boot]) -> Vec<TrialResult> {
        let one = |boot: &Boot| {
            let empty = BTreeMap::new();
            let rows = self.0.get(&boot.name()).unwrap_or(&empty);
            let known = rows_of(boot);
            let more = rows.keys().filter(|row| !known.contains(row));
            let cell = |row: &String| Cell {
                row: row.clone(),
                verdict: rows.get(row).map_or(Verdict::NotRun, |row| row.verdict.clone()),
                cost: None,
            };
            let mut boot = boot.clone();
            if let Some(row) = rows.values().next() {
                boot.version.clone_from(&row.version);
            }
            let cells = known.iter().chain(more).map(cell).collect();
            TrialResult { boot, cells, beside: Vec::new(), used: Duration::ZERO }
        };
        boots.iter().map(one).collect()
    }

    /// A line that says with which programs the rows of these boots were tried.
    #[must_use]
    pub fn programs(&self, boots: &[Boot]) -> String {
        let mut by: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for boot in boots {
            for (name, row) in self.0.get(&boot.name()).into_iter().flatten() {
                by.entry(&row.program).or_default().push(format!("{}: {name}", boot.name()));
            }
        }
        let mut by: Vec<(&str, Vec<String>)> = by.into_iter().collect();
        by.sort_by_key(|(_, rows)| std::cmp::Reverse(rows.len()));
        let word = |(position, (program, rows)): (usize, &(&str, Vec<String>))| {
            let count = format!("{} rows with `{program}`", rows.len());
            if position == 0 || rows.len() > MAX_LISTED { count } else { format!("{count} ({})", rows.join("; ")) }
        };
        let words: Vec<String> = by.iter().enumerate().map(word).collect();
        format!("Programs, by the first digits of their SHA-256: {}.", words.join(", "))
    }
}

/// Up to this many rows of another program are listed one by one.
const MAX_LISTED: usize = 40;

/// The rows that a boot has when all of it is run.
fn rows_of(boot: &Boot) -> Vec<String> {
    let table = table();
    let drills = table.drill.iter().filter(|_| boot.is_plain()).map(|drill| format!("drill {}", drill.name));
    let commands = table.command.iter().filter(|command| boot.has(command)).map(|command| command.name.clone());
    let last = boot.is_plain().then(|| REPEATED_ROW.to_owned());
    commands.chain([promises::name()]).chain(drills).chain(last).collect()
}

#[cfg(test)]
mod tests {
    use super::{Cell, Ledger, TrialResult, Verdict};
    use punctual_lab::table::kernels;
    use std::time::Duration;

    #[test]
    fn what_was_not_run_is_said_and_a_rerun_changes_its_rows_alone() {
        let kernel = kernels().into_iter().find(|kernel| kernel.name == "6.1").unwrap();
        let boots = super::super::plan::plan(&[(kernel, "6.1.1".to_owned())], false);
        let result = |row: &str, verdict: Verdict| TrialResult {
            boot: boots[0].clone(),
            cells: vec![Cell { row: row.to_owned(), verdict, cost: None }],
            beside: Vec::new(),
            used: Duration::ZERO,
        };
        let mut ledger = Ledger::default();
        ledger.take(&result("boot", Verdict::Wrong("no result".to_owned())), "aaaaaaaa");
        ledger.take(&result("record", Verdict::Right("100 wakeups".to_owned())), "aaaaaaaa");
        ledger.take(&result("idle", Verdict::Right("3 gaps".to_owned())), "aaaaaaaa");
        ledger.take(&result("record", Verdict::Right("200 wakeups".to_owned())), "bbbbbbbb");
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ledger.json");
        ledger.write(&path).unwrap();
        let ledger = Ledger::read(&path).unwrap();
        let results = ledger.results(&boots);
        let verdict = |row: &str| results[0].cells.iter().find(|cell| cell.row == row).map(|cell| cell.verdict.clone());
        assert_eq!(verdict("record"), Some(Verdict::Right("200 wakeups".to_owned())));
        assert_eq!(verdict("idle"), Some(Verdict::Right("3 gaps".to_owned())));
        assert_eq!(verdict("drill irq"), Some(Verdict::NotRun));
        assert_eq!(verdict("boot"), None);
        assert!(
            ledger.programs(&boots).contains("1 rows with `bbbbbbbb` (6.1: record)"),
            "{}",
            ledger.programs(&boots)
        );
    }
}
