//! Two modems, each a pseudo-terminal that programs open, and an exchange between them, by this machine's clock.
//!
//! The line waits for a machine that is late: samples are worked on when their time has come, or later, and none is
//! lost. How late it was is counted.

use punctual_kernel::pseudo_terminal::{FarSide, PseudoTerminal};
use punctual_kernel::{Refused, clock};
use punctual_modem::adapter::{Adapter, BLOCK_NS, Cpu, Setup, Stalls};
use punctual_modem::office::{LineRun, Office};
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
    /// Bytes that both terminals have given for the other end.
    pub sent: u64,
}

struct Terminal {
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
    let paths = [0, 1].map(|place: usize| terminals[place].device.path().to_owned());
    ready(&paths);
    let mut run = LineRun {
        paths,
        calls: [Vec::new(), Vec::new()],
        counted: [0; 2],
        unread: [0; 2],
        blocks: 0,
        late_blocks: 0,
        max_late_ns: 0,
        left_out_ns: 0,
        starved: None,
    };
    let begin_ns = clock::monotonic_ns();
    let mut due_ns = begin_ns;
    loop {
        let elapsed = Duration::from_nanos(clock::monotonic_ns().saturating_sub(begin_ns));
        if run.blocks.is_multiple_of(8) && !go_on(step(&mut office, elapsed)) {
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
        run.calls[place] = office.station(place).records();
        run.counted[place] = office.station(place).calls();
        run.unread[place] = terminal.unread + office.station(place).to_show().len() as u64;
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

fn step(office: &mut Office, elapsed: Duration) -> LineStep {
    let mut step = LineStep { elapsed, calls: 0, sent: 0 };
    for place in 0..2 {
        step.calls += office.station(place).calls();
        step.sent += office.station(place).records().iter().map(|record| record.sent).sum::<u64>();
    }
    step
}

/// Waits for the block that is due then; returns when the next one is.
fn wait(due_ns: u64, run: &mut LineRun) -> u64 {
    let now_ns = clock::monotonic_ns();
    let late_ns = now_ns.saturating_sub(due_ns);
    run.max_late_ns = run.max_late_ns.max(late_ns);
    run.late_blocks += u64::from(late_ns > BLOCK_NS);
    if late_ns > MAX_OWED_NS {
        run.left_out_ns += late_ns;
        return now_ns;
    }
    if late_ns == 0 {
        clock::sleep_until(due_ns);
    }
    due_ns
}

impl Terminal {
    fn make() -> Result<Terminal, Refused> {
        let device = PseudoTerminal::make()?;
        device.pass_bytes_as_they_are()?;
        // The kernel takes one that nobody has opened yet for open: what is shown before that would wait for the first program.
        drop(device.open_far()?);
        Ok(Terminal { device, was_there: false, unread: 0 })
    }

    /// What was typed goes to the modem, as far as it takes any, and the other way around.
    fn exchange(&mut self, station: &mut Station) {
        let mut buffer = [0; READ];
        let is_open = self.device.far_side() == FarSide::There;
        self.was_there |= is_open;
        let room = station.room().min(READ);
        let (count, side) = if room == 0 { (0, FarSide::There) } else { self.device.read(&mut buffer[..room]) };
        station.typed(&buffer[..count]);
        // What the program wrote before it closed the terminal comes first.
        if side == FarSide::Gone && std::mem::replace(&mut self.was_there, false) {
            self.unread += station.to_show().len() as u64;
            station.closed();
            self.device.forget_unread();
        }
        if is_open {
            let shown = self.device.write(station.to_show());
            station.was_shown(shown);
        }
    }
}
