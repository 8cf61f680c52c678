//! The thirty rows: those of the simulator's experiments on the same tables, which hold what the paper prints for each.

use super::error::TablesError;
use punctual_device::{did_you_mean, nearest};
use punctual_modem::experiment::Experiment as Calls;
use punctual_modem::tables::{Published, setup};
use punctual_modem::virtual_time::FarEnd;
use punctual_sim::experiment::{Experiment, setting};
use punctual_sim::ledger::builtin;
use punctual_sim::shipped::{BUILTIN, MACHINES};
use std::path::PathBuf;
use std::sync::Arc;

/// A row, and what its processor is.
#[derive(Debug, Clone)]
pub struct RowPlan {
    /// Which table: 1, 2 or 3.
    pub table: u8,
    /// As the paper prints it.
    pub name: String,
    /// Short: `int`, `thr-8`, `res-3-16`.
    pub id: String,
    /// What the paper prints.
    pub published: Published,
    pub(super) far_end: FarEnd,
    pub(super) machine: Arc<Experiment>,
    /// Its case in that experiment.
    pub(super) case: String,
}

/// What is to be run.
#[derive(Debug, Clone)]
pub struct TablesPlan {
    /// The size of the file, bytes.
    pub bytes: u32,
    /// How often each row sends it.
    pub attempts: u32,
    /// The seed of the file and of the first attempt; each attempt has one of its own, the same for all rows.
    pub seed: u64,
    /// The rows.
    pub rows: Vec<RowPlan>,
    /// Where finished attempts are stored, and taken from.
    pub directory: Option<PathBuf>,
    /// How many calls at a time.
    pub jobs: usize,
}

/// The tables, their far ends, and the table whose interrupt version's seconds a row's are multiples of: Table 3 has
/// none of its own, and the same far end as Table 2.
const TABLES: [(u8, FarEnd, u8); 3] = [(1, FarEnd::Pool, 1), (2, FarEnd::Dedicated, 2), (3, FarEnd::Dedicated, 2)];

/// What differs from the paper's machine: the modem here has blocks of one length from the beginning, it dials for 1.5
/// s and hears the other end ring for two, and of waiting blocks it works on the newest.
const SETTINGS: [&str; 8] = [
    "device.phase.on-hook.samples=[90]",
    "device.phase.dialing.until=3.5s",
    "device.phase.training.until=3.5s",
    "device.phase.training.rate=7200",
    "device.phase.training.samples=[90]",
    "device.phase.connected.rate=7200",
    "device.phase.connected.samples=[90]",
    "device.drop_stale=true",
];

fn shipped(table: u8) -> Result<Experiment, TablesError> {
    Ok(builtin(&format!("soft-modem-table{table}")).expect("it comes with the program")?)
}

/// All rows, in the paper's order.
///
/// # Errors
/// A machine that is impossible: none that comes with the program is.
pub fn all_rows() -> Result<Vec<RowPlan>, TablesError> {
    let mut rows = Vec::new();
    for (table, far_end, beside) in TABLES {
        let printed = shipped(table)?;
        let of = |table: u8, id: &str, what: &str| format!("modem-table{table}-{id}-{what}");
        let clean = shipped(beside)?.published(&of(beside, "int", "mean")).unwrap_or_default();
        let settings: Vec<_> = SETTINGS.iter().map(|text| setting(text)).collect::<Result<_, _>>()?;
        let machine = Arc::new(printed.with(&settings)?);
        for case in printed.cases() {
            // The figures of Table 3 use only the numbers.
            let (name, id) = match case.split_once('/') {
                Some((runtime, period)) if !case.contains(' ') => {
                    (format!("RES {runtime}ms/{period}ms"), format!("res-{runtime}-{period}"))
                }
                _ => (case.to_owned(), short(case)),
            };
            let figures = if table == 3 { id.trim_start_matches("res-") } else { &id };
            let published = |what: &str| printed.published(&of(table, figures, what));
            // A case without figures is in the text, not in the table.
            let Some(successes) = published("successes") else { continue };
            let published = Published {
                min: published("least"),
                max: published("most"),
                mean: published("mean"),
                deviation: published("deviation"),
                successes: successes as u32,
                clean,
            };
            let machine = Arc::clone(&machine);
            rows.push(RowPlan { table, name, id, published, far_end, machine, case: case.to_owned() });
        }
    }
    Ok(rows)
}

/// A name as people may write it, without what every name has: `RES 3ms/16ms` and `3/16` are `res-3-16`, `THR Pri 8` is `thr-8`.
fn short(name: &str) -> String {
    let name = name.to_lowercase().replace("pri", " ").replace("ms", "");
    let parts: Vec<&str> =
        name.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|part| !part.is_empty()).collect();
    let is_bare = parts.len() == 2 && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    format!("{}{}", if is_bare { "res-" } else { "" }, parts.join("-"))
}

/// The rows of these tables and names; all if none are given.
///
/// # Errors
/// In one line: a name that no row of these tables has.
pub fn chosen(rows: Vec<RowPlan>, tables: &[u8], names: &[String]) -> Result<Vec<RowPlan>, String> {
    let mut rows: Vec<RowPlan> =
        rows.into_iter().filter(|row| tables.is_empty() || tables.contains(&row.table)).collect();
    let wanted: Vec<String> = names.iter().map(|name| short(name)).collect();
    if let Some(unknown) = wanted.iter().position(|wanted| !rows.iter().any(|row| row.id == *wanted)) {
        let mut known: Vec<&str> = Vec::new();
        for row in &rows {
            if !known.contains(&&row.id[..]) {
                known.push(&row.id);
            }
        }
        let meant = did_you_mean(nearest(&wanted[unknown], &known).as_deref());
        return Err(format!("there is no row `{}`{meant}: give one of {}", names[unknown], known.join(", ")));
    }
    rows.retain(|row| wanted.is_empty() || wanted.contains(&row.id));
    Ok(rows)
}

impl TablesPlan {
    /// The calls of all rows, except for the far end.
    pub(super) fn calls(&self) -> Calls {
        Calls { setup: setup(), seed: self.seed, attempts: self.attempts, ..Calls::default() }
    }

    /// Tells studies apart, so that attempts from one are never taken for another's. Which rows and how many attempts
    /// does not count: more of them may be added.
    pub(super) fn identity(&self) -> String {
        let Calls { telephone, setup, .. } = self.calls();
        let texts = BUILTIN.iter().filter(|(name, _)| name.starts_with("soft-modem-table")).chain(MACHINES);
        let texts: Vec<&str> = texts.map(|(_, text)| *text).collect();
        let (version, Self { bytes, seed, .. }) = (env!("CARGO_PKG_VERSION"), self);
        let whole = format!("{version} {bytes} {seed} {telephone:?} {setup:?} {SETTINGS:?} {}", texts.concat());
        format!("{:016x}", punctual_recording::digest(&whole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_modem::adapter::BLOCK;
    use punctual_modem::tables::Class;
    use punctual_sim::time::SECOND;

    #[test]
    fn the_rows_are_the_papers() {
        let rows = all_rows().unwrap();
        let of = |table| rows.iter().filter(|row| row.table == table).count();
        assert_eq!([of(1), of(2), of(3)], [9, 9, 12]);
        let class = |class| rows.iter().filter(|row| row.published.class() == class).count();
        assert_eq!([Class::Sufficient, Class::Marginal, Class::Insufficient].map(class), [16, 8, 6]);
        assert!(rows.iter().all(|row| row.published.mean.is_some() == (row.published.successes > 0)));
        assert_eq!((rows[0].published.clean, rows[29].published.clean), (37.222, 36.367));
    }

    #[test]
    fn every_machine_works_on_the_blocks_that_the_modem_has() {
        let mut seen = 0;
        for row in all_rows().unwrap() {
            let mut service = row.machine.service(Some(&row.case), 1).unwrap();
            for served in service.go_on(2 * SECOND) {
                assert!(served.complete.is_multiple_of(BLOCK as u64), "{} {}: {served:?}", row.table, row.id);
                seen += 1;
            }
        }
        // 160 each if none is dropped, fewer if the share is too small.
        assert!((3_000..=4_800).contains(&seen), "{seen}");
    }

    #[test]
    fn rows_are_chosen_by_the_names_that_people_write() {
        let all = all_rows().unwrap();
        let chosen = |tables: &[u8], names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let rows = chosen(all.clone(), tables, &names)?;
            Ok::<_, String>(rows.iter().map(|row| format!("{} {}", row.table, row.id)).collect::<Vec<_>>())
        };
        assert_eq!(chosen(&[], &[]).unwrap().len(), 30);
        assert_eq!(chosen(&[3], &["RES 3ms/16ms"]).unwrap(), ["3 res-3-16"]);
        assert_eq!(chosen(&[], &["3/16"]).unwrap(), ["1 res-3-16", "2 res-3-16", "3 res-3-16"]);
        assert_eq!(chosen(&[1, 2], &["thr 8", "INT"]).unwrap(), ["1 int", "1 thr-8", "2 int", "2 thr-8"]);
        let refused = chosen(&[3], &["int"]).unwrap_err();
        assert!(
            refused.starts_with("there is no row `int`: give one of res-1-7, ") && !refused.contains('\n'),
            "{refused}"
        );
        let misspelt = chosen(&[3], &["res 3/61"]).unwrap_err();
        assert!(
            misspelt.starts_with("there is no row `res 3/61` (did you mean `res-3-16`?): give one of "),
            "{misspelt}"
        );
    }
}
