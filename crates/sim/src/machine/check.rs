//! What is impossible on any machine, and what a machine does not admit.

use super::slots::{Request, SlotPlan};
use super::specification::{Activity, Arrival, MachineSpec, Policy, ThreadSpec, WorkContext};
use crate::error::{Error, Result};

/// No machine has more locks.
const MAX_LOCKS: u32 = 1 << 16;

/// The slots of one CPU.
pub(super) fn plan(spec: &MachineSpec, cpu: usize) -> Result<SlotPlan> {
    let mut requests = Vec::new();
    for (index, thread) in spec.threads.iter().enumerate().filter(|(_, thread)| thread.cpu == cpu) {
        if let Policy::Reservation { runtime, period, power_of_two, .. } = thread.policy {
            if power_of_two && !period.is_power_of_two() {
                return Err(Error::machine(format!(
                    "thread {:?}: the reservation's period, {period}, is not a power of two",
                    thread.name
                )));
            }
            requests.push(Request { thread: index as u32, runtime, period });
        }
    }
    SlotPlan::new(spec.slot_unit, &requests).map_err(|refused| Error::machine(refused.to_string()))
}

/// What is impossible on any machine.
pub(super) fn check(spec: &MachineSpec) -> Result<()> {
    let refuse = |what: String| Err(Error::machine(what));
    if spec.cpus == 0 || spec.cpus > 64 {
        return refuse(format!("a machine has 1 to 64 CPUs, not {}", spec.cpus));
    }
    if spec.quantum == 0 || spec.slot_unit == 0 {
        return refuse("quantum and slot unit must not be 0".to_owned());
    }
    for source in &spec.sources {
        let name = &source.name;
        if source.cpu >= spec.cpus || source.thread.is_some_and(|thread| thread >= spec.threads.len()) {
            return refuse(format!("source {name:?} names a CPU or thread that does not exist"));
        }
        if !(3..=31).contains(&source.irql) {
            return refuse(format!("source {name:?}: interrupt levels are 3 to 31, not {}", source.irql));
        }
        let zero = match &source.arrival {
            Arrival::Periodic { period, .. } => *period == 0,
            Arrival::Sampled { period, samples, ring } => *period == 0 || *samples == 0 || *ring == 0,
            Arrival::Poisson { mean } => *mean == 0,
            Arrival::Times(times) => !times.is_sorted(),
            Arrival::Phases(phases) => {
                phases.phases.is_empty()
                    || phases
                        .phases
                        .iter()
                        .any(|phase| phase.rate == 0 || phase.samples.is_empty() || phase.samples.contains(&0))
            }
            Arrival::Replay { block, blocks } => *block == 0 || blocks.is_empty(),
        };
        if zero {
            return refuse(format!("source {name:?}: a period, rate or block of 0, or times out of order"));
        }
        if source.context == WorkContext::Thread && source.thread.is_none() {
            return refuse(format!("source {name:?} works in a thread but names none"));
        }
    }
    if let Some(clock) = &spec.clock
        && (clock.period == Some(0) || clock.cpu >= spec.cpus)
    {
        return refuse("the clock's period is 0, or its CPU does not exist".to_owned());
    }
    spec.threads.iter().try_for_each(|thread| check_thread(thread, spec))?;
    admits_deadlines(spec)
}

/// What is impossible for any thread.
fn check_thread(thread: &ThreadSpec, spec: &MachineSpec) -> Result<()> {
    let name = &thread.name;
    let refuse = |what: &str| Err(Error::machine(format!("thread {name:?}: {what}")));
    if thread.cpu >= spec.cpus {
        return refuse("its CPU does not exist");
    }
    match thread.policy {
        Policy::Priority(priority) if priority > 99 => return refuse("priorities are 0 to 99"),
        Policy::Deadline { runtime, deadline, period, tick, .. } => {
            if runtime == 0 || period == 0 || deadline == 0 || tick == Some(0) {
                return refuse("runtime, deadline, period and tick must not be 0");
            }
            if runtime > deadline || deadline > period {
                return refuse("runtime must not exceed deadline, nor deadline period");
            }
        }
        Policy::RateMonotonic { period: 0 } | Policy::EarliestDeadline { deadline: 0 } => {
            return refuse("a period or deadline of 0");
        }
        _ => {}
    }
    match thread.activity {
        Activity::Periodic { period: 0, .. } => return refuse("a period of 0"),
        Activity::Timer { interval, .. } => {
            if interval == 0 {
                return refuse("a timer interval of 0");
            }
            if spec.clock.is_none() {
                return refuse("a timer needs a clock");
            }
        }
        _ => {}
    }
    if thread.constraint.is_some_and(|constraint| constraint.estimate == 0 || constraint.estimate > constraint.deadline)
    {
        return refuse("a constraint's estimate must be above 0 and at most its deadline");
    }
    if thread.migrates {
        match thread.policy {
            Policy::Reservation { .. } => return refuse("slots belong to one CPU: a thread in them cannot migrate"),
            Policy::Deadline { reclaim: true, .. } => {
                return refuse("reclaiming belongs to one CPU: it cannot migrate");
            }
            _ if thread.constraint.is_some() => {
                return refuse("a time constraint belongs to one CPU: it cannot migrate");
            }
            _ => {}
        }
    }
    if thread.raise.is_some() && thread.hold.is_some() {
        return refuse("it cannot hold a lock and raise its level");
    }
    if thread.hold.is_some_and(|hold| hold.lock >= MAX_LOCKS) {
        return refuse("too many locks");
    }
    if thread.raise.is_some_and(|raise| raise.irql < 2 || raise.irql > 31) {
        return refuse("a thread raises itself to levels 2 to 31");
    }
    Ok(())
}

/// Whether the shares of all floating budgets stay within 95 percent, as the kernel demands at admission: on each CPU
/// those that stay there, and on all CPUs together all of them.
fn admits_deadlines(spec: &MachineSpec) -> Result<()> {
    let asked = |of: &dyn Fn(&ThreadSpec) -> bool| -> f64 {
        let shares = spec.threads.iter().filter(|thread| of(thread)).map(|thread| match thread.policy {
            Policy::Deadline { runtime, period, .. } => runtime as f64 / period as f64,
            _ => 0.0,
        });
        shares.sum()
    };
    for cpu in 0..spec.cpus {
        let total = asked(&|thread| thread.cpu == cpu && !thread.migrates);
        if total > 0.95 + 1e-9 {
            return Err(Error::machine(format!(
                "the deadline reservations of CPU {cpu} ask for {:.1} percent of it; at most 95 are admitted",
                total * 100.0
            )));
        }
    }
    let total = asked(&|_| true) / spec.cpus as f64;
    if total > 0.95 + 1e-9 {
        return Err(Error::machine(format!(
            "the deadline reservations ask for {:.1} percent of {} CPUs; at most 95 are admitted",
            total * 100.0,
            spec.cpus
        )));
    }
    Ok(())
}
