//! Two modems, each a pseudo-terminal that programs open, and an exchange between them, by this machine's clock.
//!
//! The line waits for a machine that is late: samples are worked on when their time has come, or later, and none is
//! lost. How late it was is counted.

use punctual_kernel::pseudo_terminal::{FarSide, PseudoTerminal};
use punctual_kernel::{Refused, clock};
use punctual_modem::adapter::{Adapter, BLOCK_NS, Cpu, Setup, Stalls};
use punctual_modem::office::{EndRun, LineRun, Office};
use punctual_modem::station::Station;
use punctual_modem::telephone::Telephone;
use std::path::PathBuf;
use std::time::Duration;

/// How late the line may be before it skips time: a machine that slept does not owe a night of samples.
const MAX_OWED_NS: u64 = 5_000_000_000;
/// How many bytes are read from a terminal at once.
const READ: usize = 4_096;

/// The two modems and the line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinePlan {
    /// The modems and what is between them.
    pub telephone: Telephone,
    /// Chooses the line's noise and the points of the stalls.
    pub seed: u64,
    /// Stalls of the first modem's processor, in the line's time, once it is connected.
    pub stalls: Option<Stalls>,
    /// How the first modem is made, if it has stalls.
    pub setup: Setup,
    /// After how long it ends by itself; `None`: when somebody ends it.
    pub duration: Option<Duration>,
}

/// How it is going, once a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineStep {
    /// Since the beginning.
    pub elapsed: Duration,
    /// Calls so far, as both ends count them.
    pub calls: u64,
    /// Bytes that the terminals have given for the other end.
    pub sent: u64,
    /// Bytes of the other end that were taken for the terminals.
    pub received: u64,
}

/// A modem as a terminal.
pub(super) struct Terminal {
    device: PseudoTerminal,
    was_there: bool,
    unread: u64,
}

/// Makes the two terminals, announces them, and runs the line until its time is up or `go_on` says so.
///
/// # Errors
/// If there are no pseudo-terminals.
pub fn run(
    plan: &LinePlan,
    ready: &mut dyn FnMut(&[PathBuf; 2]),
    go_on: &mut dyn FnMut(LineStep) -> bool,
) -> Result<LineRun, Refused> {
    let mut terminals = [Terminal::make()?, Terminal::make()?];
    let mut office = office(plan);
    ready(&[0, 1].map(|place: usize| terminals[place].path()));
    let mut run = LineRun::default();
    let begin_ns = clock::monotonic_ns();
    let mut due_ns = begin_ns;
    loop {
        let elapsed = Duration::from_nanos(clock::monotonic_ns().saturating_sub(begin_ns));
        if run.blocks.is_multiple_of(8) && !go_on(steps(&mut office, elapsed)) {
            break;
        }
        if plan.duration.is_some_and(|duration| elapsed >= duration) {
            break;
        }
        for (place, terminal) in terminals.iter_mut().enumerate() {
            terminal.exchange(office.station(place));
        }
        office.step();
        run.blocks += 1;
        due_ns += BLOCK_NS;
        due_ns = wait(due_ns, &mut run);
    }
    for (place, terminal) in terminals.iter_mut().enumerate() {
        terminal.exchange(office.station(place));
        run.ends.push(terminal.ended(place, office.station(place)));
    }
    run.starved = office.adapter().map(|adapter| (adapter.counters(), adapter.cpu.met));
    Ok(run)
}

fn office(plan: &LinePlan) -> Office {
    let cpu = |stalls| Cpu::new(None, Some(stalls), plan.seed);
    let adapter = plan.stalls.map(|stalls| Adapter::new(plan.setup, cpu(stalls)));
    let delay = if adapter.is_some() { plan.setup.buffers } else { 1 };
    let stations = [Station::new(plan.telephone, delay), Station::new(plan.telephone, 1)];
    Office::new(stations, adapter, plan.telephone.line, plan.seed)
}

fn steps(office: &mut Office, elapsed: Duration) -> LineStep {
    let mut both = LineStep { elapsed, calls: 0, sent: 0, received: 0 };
    for place in 0..2 {
        let one = step(office.station(place), elapsed);
        both.calls += one.calls;
        both.sent += one.sent;
        both.received += one.received;
    }
    both
}

/// How one of the modems is doing.
pub(super) fn step(station: &mut Station, elapsed: Duration) -> LineStep {
    let records = station.records();
    LineStep {
        elapsed,
        calls: station.calls(),
        sent: records.iter().map(|record| record.sent).sum(),
        received: records.iter().map(|record| record.received).sum(),
    }
}

/// Waits for the block that is due then; returns when it counts as due.
pub(super) fn wait(due_ns: u64, run: &mut LineRun) -> u64 {
    let due_ns = note(due_ns, run);
    if clock::monotonic_ns() < due_ns {
        clock::sleep_until(due_ns);
    }
    due_ns
}

/// Notes how late a block is that was due then; returns when it counts as due.
pub(super) fn note(due_ns: u64, run: &mut LineRun) -> u64 {
    let now_ns = clock::monotonic_ns();
    let late_ns = now_ns.saturating_sub(due_ns);
    run.max_late_ns = run.max_late_ns.max(late_ns);
    run.late_blocks += u64::from(late_ns > BLOCK_NS);
    if late_ns > MAX_OWED_NS {
        run.left_out_ns += late_ns;
        return now_ns;
    }
    due_ns
}

impl Terminal {
    pub(super) fn make() -> Result<Terminal, Refused> {
        let device = PseudoTerminal::make()?;
        device.pass_bytes_as_they_are()?;
        // The kernel takes one that nobody has opened yet for open: what is shown before that would wait for the first program.
        drop(device.open_far()?);
        Ok(Terminal { device, was_there: false, unread: 0 })
    }

    /// Where programs open it.
    pub(super) fn path(&self) -> PathBuf {
        self.device.path().to_owned()
    }

    /// What came of it.
    pub(super) fn ended(&self, place: usize, station: &mut Station) -> EndRun {
        let unread = self.unread + station.given_way() + station.waiting() as u64;
        EndRun { place, path: self.path(), calls: station.records(), counted: station.calls(), unread }
    }

    /// What was typed goes to the modem, as far as it takes any, and the other way around.
    pub(super) fn exchange(&mut self, station: &mut Station) {
        let mut buffer = [0; READ];
        let is_open = self.device.far_side() == FarSide::There;
        self.was_there |= is_open;
        let room = station.room().min(READ);
        let (count, side) = if room == 0 { (0, FarSide::There) } else { self.device.read(&mut buffer[..room]) };
        station.typed(&buffer[..count]);
        // What the program wrote before it closed the terminal comes first.
        if side == FarSide::Gone && std::mem::replace(&mut self.was_there, false) {
            self.unread += station.waiting() as u64;
            station.closed();
            self.device.forget_unread();
        }
        if is_open {
            let shown = self.device.write(station.to_show());
            station.was_shown(shown);
        }
    }
}
