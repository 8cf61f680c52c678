//! Boots the cells that have not run yet.

use super::error::LabError;
use super::grid::Cell;
use super::store::{Place, Ran};
use super::system::System;
use punctual_lab::guest::{self, Guest, GuestError, QEMU};
use punctual_lab::kept::{Digests, key_of};
use punctual_lab::userland;
use punctual_recording::Directory;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The name that the command in a guest gives its recording, in `/out`.
pub const RECORDING: &str = "recording.punctual";

/// How often to look at guests.
const EVERY: Duration = Duration::from_millis(100);

/// A system, and what its guests are made of on top of what all have.
pub struct Bootable {
    /// The kernel and its parameters.
    pub system: System,
    /// The kernel's ELF file.
    pub kernel: PathBuf,
    /// The ELF file of a hypervisor that boots the kernel.
    pub hypervisor: Option<PathBuf>,
    /// Files for this kernel alone: on the host, in the guest.
    pub files: Vec<(PathBuf, String)>,
    /// The shell command.
    pub script: String,
    /// What of it comes before punctual's own command, such as loading a module; it may be empty.
    pub preparation: String,
}

/// What is run where.
pub struct LabPlan {
    /// The systems.
    pub systems: Vec<Bootable>,
    /// Parameters of every kernel, on top of those of its system.
    pub parameters: String,
    /// Which guests, in this order.
    pub cells: Vec<Cell>,
    /// All guests that share the directory, of which `cells` may be a part.
    pub grid: Vec<Cell>,
    /// The program that is `punctual` in a guest.
    pub program: PathBuf,
    /// More files, programs with their libraries: on the host, in the guest.
    pub files: Vec<(PathBuf, String)>,
    /// How much memory a guest has, MiB.
    pub memory_mib: u32,
    /// How much of a processor a guest may take.
    pub limit: Duration,
    /// How many guests run at a time.
    pub jobs: usize,
    /// Where the cells are stored.
    pub directory: PathBuf,
}

/// How a cell ended.
#[derive(Debug)]
pub enum CellEnd {
    /// Its command ended, with whatever code.
    Ran(Ran, PathBuf),
    /// The guest did not finish, or what it left could not be stored: in one line.
    Failed(String),
    /// It was not begun, or was cut short.
    NotRun,
}

/// What a lab is doing.
pub struct LabProgress<'a> {
    /// Cells that have ended, including those that already existed.
    pub ended: usize,
    /// Out of this many.
    pub all: usize,
    /// Those that are running now.
    pub running: &'a [Cell],
    /// Since the beginning.
    pub elapsed: Duration,
}

impl LabPlan {
    pub(super) fn script(&self, cell: Cell) -> &str {
        &self.systems[cell.system].script
    }

    pub(super) fn guest(&self, cell: Cell) -> Guest {
        let Bootable { system, kernel, hypervisor, files, .. } = &self.systems[cell.system];
        let mut guest = Guest::new(kernel);
        guest.hypervisor.clone_from(hypervisor);
        guest.program = Some(self.program.clone());
        guest.files = self.files.iter().chain(files).cloned().collect();
        guest.seed = cell.seed;
        guest.day = cell.seed;
        guest.memory_mib = self.memory_mib;
        let own = system.parameters.iter().map(String::as_str);
        guest.append = std::iter::once(self.parameters.as_str())
            .filter(|words| !words.is_empty())
            .chain(own)
            .collect::<Vec<_>>()
            .join(" ");
        guest.limit = self.limit;
        guest
    }
}

/// What a worker says.
enum Said {
    Began(usize),
    Ended(usize, CellEnd),
}

/// Runs the cells that are not stored yet, and returns how each ended, in the plan's order. Asks `go_on` ten times a
/// second; once it says no, guests are ended.
///
/// # Errors
///
/// Before anything is booted: if a program is missing, a file cannot be read, or the directory holds cells of another
/// lab. A cell that fails is not an error of the lab.
pub fn run(plan: &LabPlan, go_on: &mut dyn FnMut(&LabProgress<'_>) -> bool) -> Result<Vec<CellEnd>, LabError> {
    for program in [QEMU, "busybox", "bash", "setpriv"] {
        userland::find(program).ok_or(LabError::Missing(program))?;
    }
    // This reads every file that a guest is made of: if one cannot be read, no directory is left behind.
    let mut digests = Digests::default();
    let mut key = |cell: &Cell| {
        key_of(&plan.guest(*cell), plan.script(*cell), &mut digests).map_err(|error| LabError::Guest { error })
    };
    let keys = plan.cells.iter().map(&mut key).collect::<Result<Vec<_>, _>>()?;
    let top = Directory::make(&plan.directory)?;
    let systems: Vec<Directory> =
        plan.systems.iter().map(|bootable| top.below(&bootable.system.file_name())).collect::<Result<_, _>>()?;
    let place = |cell: Cell| Place { system: &systems[cell.system], seed: cell.seed };
    // Another part of the grid may be there already: none is run that could not be put beside it.
    for &cell in &plan.grid {
        place(cell).read(&key(&cell)?)?;
    }
    let mut ends = Vec::new();
    for (&cell, key) in plan.cells.iter().zip(&keys) {
        let kept = place(cell).read(key)?;
        ends.push(kept.map(|ran| CellEnd::Ran(ran, place(cell).recording())));
    }
    let left: Vec<usize> = (0..plan.cells.len()).filter(|&number| ends[number].is_none()).collect();
    let (next, began, all) = (AtomicUsize::new(0), Instant::now(), plan.cells.len());
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        for _ in 0..plan.jobs.clamp(1, left.len().max(1)) {
            let (sender, next, left, keys, place) = (sender.clone(), &next, &left, &keys, &place);
            scope.spawn(move || {
                while let Some(&number) = left.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if guest::is_ending() || sender.send(Said::Began(number)).is_err() {
                        return;
                    }
                    let cell = plan.cells[number];
                    let end = boot(plan, cell, &keys[number], &place(cell), next);
                    let _ = sender.send(Said::Ended(number, end));
                }
            });
        }
        drop(sender);
        let mut running: Vec<usize> = Vec::new();
        loop {
            match receiver.recv_timeout(EVERY) {
                Ok(Said::Began(number)) => running.push(number),
                Ok(Said::Ended(number, end)) => {
                    running.retain(|&other| other != number);
                    ends[number] = Some(end);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let cells: Vec<Cell> = running.iter().map(|&number| plan.cells[number]).collect();
            let ended = ends.iter().flatten().count();
            if !go_on(&LabProgress { ended, all, running: &cells, elapsed: began.elapsed() }) {
                guest::end();
            }
        }
    });
    Ok(ends.into_iter().map(|end| end.unwrap_or(CellEnd::NotRun)).collect())
}

/// Boots one cell and stores what it left. If that cannot be stored, no other is begun.
fn boot(plan: &LabPlan, cell: Cell, key: &str, place: &Place<'_>, next: &AtomicUsize) -> CellEnd {
    let outcome = match plan.guest(cell).boot(plan.script(cell)) {
        Ok(outcome) => outcome,
        Err(GuestError::Interrupted) => return CellEnd::NotRun,
        Err(error) => {
            place.write_failure(&error.to_string());
            return CellEnd::Failed(error.in_one_line());
        }
    };
    match place.write(key, &outcome, RECORDING, &plan.systems[cell.system].system.parameters) {
        Ok(ran) => CellEnd::Ran(ran, place.recording()),
        Err(error) => {
            // On a full disk the next would fail too, minutes later.
            if !error.is_of_a_guest() {
                next.store(usize::MAX / 2, Ordering::Relaxed);
            }
            CellEnd::Failed(error.to_string())
        }
    }
}
