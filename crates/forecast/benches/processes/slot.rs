//! A part of the benchmark: some of its cells, for some minutes, kept so that another part goes on where it stopped.

use super::cell::Counted;
use super::kept::{store, take, written};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What is counted is kept this often.
const KEPT_EVERY: Duration = Duration::from_secs(10);

/// Where cells are kept, and until when to go on.
pub(crate) struct Slot {
    /// `None`: nowhere, and every cell begins anew.
    pub(crate) directory: Option<PathBuf>,
    /// `None`: until everything is counted.
    pub(crate) until: Option<Instant>,
}

impl Slot {
    fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Counts a cell until it has this many runs or time is over, from where it was left; `seed` is that of a run.
    ///
    /// # Errors
    /// Which file cannot be read or written, or is of another method.
    pub(crate) fn count(
        &self,
        counted: &mut Counted,
        name: &str,
        runs: u32,
        seed: impl Fn(u32) -> u64,
    ) -> Result<(), String> {
        let path = self.directory.as_ref().map(|directory| directory.join(format!("{name}.kept")));
        if let Some(path) = path.as_deref().filter(|path| path.exists()) {
            let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
            take(&text, counted.numbers()).map_err(|wrong| format!("{}: {wrong}", path.display()))?;
        }
        if counted.runs() >= runs || self.is_over() {
            return Ok(());
        }
        if let Some(path) = path.as_deref().filter(|_| counted.runs() > 0 && !counted.begins_alike(seed(0))) {
            return Err(format!(
                "{}: its first recording is answered otherwise now, so the method or the process has changed: begin with another --keep",
                path.display()
            ));
        }
        let mut kept = Instant::now();
        while counted.runs() < runs && !self.is_over() {
            let run = counted.runs();
            counted.run(seed(run));
            if kept.elapsed() >= KEPT_EVERY {
                keep(path.as_deref(), counted)?;
                kept = Instant::now();
            }
        }
        keep(path.as_deref(), counted)
    }
}

/// Keeps what was counted in a file, if there is one for it.
fn keep(path: Option<&Path>, counted: &mut Counted) -> Result<(), String> {
    path.map_or(Ok(()), |path| store(path, &written(&counted.numbers())))
}
