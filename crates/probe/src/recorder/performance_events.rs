//! The kernel's performance events: the sampling clock and the counts of page faults. The recorder goes on without them where
//! a stricter kernel or a filter of system calls denies them to whoever may load BPF programs.

use perf_event_open_sys::bindings;
use punctual_kernel::bpf::LoadedObject;
use punctual_kernel::{Refused, cpus, performance_event};
use std::os::fd::OwnedFd;

/// A sampling clock: its name, its type and its number to the kernel.
pub(super) type Clock = (&'static str, u32, u64);
/// The processor's own, which can look into code with interrupts off.
pub(super) const COUNTER: Clock =
    ("cpu-cycles", bindings::PERF_TYPE_HARDWARE, bindings::PERF_COUNT_HW_CPU_CYCLES as u64);
/// The kernel's, which is an interrupt itself.
pub(super) const CPU_CLOCK: Clock =
    ("cpu-clock", bindings::PERF_TYPE_SOFTWARE, bindings::PERF_COUNT_SW_CPU_CLOCK as u64);

/// The program that takes samples, as the kernel names it.
pub const SAMPLER: &str = "take_sample";

/// Samples a second to ask for to see whether there are any.
pub(super) const TRIED_RATE: u32 = 100;

/// What the recorder goes on without, and why.
pub(crate) struct Without {
    part: Part,
    refused: Refused,
}

#[derive(Clone, Copy)]
enum Part {
    Samples,
    Faults,
}

impl Without {
    /// What is not there, in words that follow *without*.
    pub(crate) fn what(&self) -> String {
        let what = match self.part {
            Part::Samples => "samples of code",
            Part::Faults => "the ends of page faults",
        };
        format!("{what} ({})", self.refused.reason)
    }

    /// What a result cannot see.
    pub(super) fn blind(&self) -> String {
        let blind = match self.part {
            Part::Samples => "in which code a CPU was: no stacks are sampled",
            Part::Faults => "page faults: they count as a thread's own work or as what it waited for meanwhile",
        };
        format!("{blind} ({})", self.refused.reason)
    }

    /// What a recording had to do without, and what would allow it.
    pub(super) fn note(&self) -> String {
        let what = match self.part {
            Part::Samples => "what makes wakeups late is recorded without samples of code",
            Part::Faults => "what makes wakeups late is recorded without page faults",
        };
        let remedy = self.remedy().map(|remedy| format!("; {remedy}")).unwrap_or_default();
        format!("{what} ({}){remedy}", self.refused)
    }

    /// What would allow it; `None` if this user's rights are not why it was refused.
    pub(crate) fn remedy(&self) -> Option<&'static str> {
        self.refused.remedy
    }
}

/// Asks for all of it on one CPU, and closes it again; returns what was refused.
pub(crate) fn try_out() -> Vec<Without> {
    let samples = open_a_clock(&cpus::online()[..1], TRIED_RATE).err();
    let samples = samples.map(|refused| Without { part: Part::Samples, refused });
    let faults = try_fault_counts().err().map(|refused| Without { part: Part::Faults, refused });
    samples.into_iter().chain(faults).collect()
}

/// Asks for the counts of page faults on one CPU, and closes them again.
///
/// # Errors
/// What the kernel refused.
pub(crate) fn try_fault_counts() -> Result<(), Refused> {
    open_fault_counts(&cpus::online()[..1]).map(drop)
}

/// Starts a clock on each CPU that takes a stack at every tick, if the rate is above 0; returns what it is. What was refused is
/// added to `without`.
pub(super) fn sampling_clocks(
    object: &mut LoadedObject,
    cpus: &[u32],
    rate: u32,
    without: &mut Vec<Without>,
) -> Option<&'static str> {
    if rate == 0 {
        return None;
    }
    let started = open_a_clock(cpus, rate).and_then(|(name, clocks)| {
        clocks.into_iter().try_for_each(|clock| object.attach_perf_event(SAMPLER, clock))?;
        Ok(name)
    });
    or_without(started, Part::Samples, without)
}

/// Has every page fault noted when it is done, as [`count_faults`]; returns whether it is. What was refused is added to `without`.
pub(super) fn count_faults_if_allowed(object: &mut LoadedObject, cpus: &[u32], without: &mut Vec<Without>) -> bool {
    or_without(count_faults(object, cpus), Part::Faults, without).is_some()
}

fn or_without<T>(tried: Result<T, Refused>, part: Part, without: &mut Vec<Without>) -> Option<T> {
    match tried {
        Ok(had) => Some(had),
        Err(refused) => {
            without.push(Without { part, refused });
            None
        }
    }
}

/// Has every page fault noted when it is done: by the kernel's own counts of them, on each CPU.
///
/// # Errors
/// What the kernel refused.
pub(crate) fn count_faults(object: &mut LoadedObject, cpus: &[u32]) -> Result<(), Refused> {
    // All are there before the first is used: with half of them, a fault would be given the end of another.
    let counts = open_fault_counts(cpus)?;
    counts.into_iter().try_for_each(|count| object.attach_perf_event("fault_ends", count))
}

/// Counts of minor and major page faults on each of these CPUs, which overflow at every fault.
fn open_fault_counts(cpus: &[u32]) -> Result<Vec<OwnedFd>, Refused> {
    let mut counts = Vec::new();
    for config in [bindings::PERF_COUNT_SW_PAGE_FAULTS_MIN, bindings::PERF_COUNT_SW_PAGE_FAULTS_MAJ] {
        let mut attributes = bindings::perf_event_attr {
            type_: bindings::PERF_TYPE_SOFTWARE,
            config: u64::from(config),
            ..Default::default()
        };
        attributes.__bindgen_anon_1.sample_period = 1;
        counts.extend(open_events(cpus, attributes, "counting page faults on")?);
    }
    Ok(counts)
}

/// The better of the clocks that there are, and its name.
fn open_a_clock(cpus: &[u32], rate: u32) -> Result<(&'static str, Vec<OwnedFd>), Refused> {
    let (counter, kind, config) = COUNTER;
    if let Ok(clocks) = open_clocks(cpus, (kind, config), rate) {
        return Ok((counter, clocks));
    }
    let (cpu_clock, kind, config) = CPU_CLOCK;
    Ok((cpu_clock, open_clocks(cpus, (kind, config), rate)?))
}

/// A clock of this type and number on each CPU, with so many ticks a second.
pub(super) fn open_clocks(cpus: &[u32], (kind, config): (u32, u64), rate: u32) -> Result<Vec<OwnedFd>, Refused> {
    let mut attributes = bindings::perf_event_attr { type_: kind, config, ..Default::default() };
    attributes.__bindgen_anon_1.sample_freq = u64::from(rate);
    attributes.set_freq(1);
    attributes.set_exclude_idle(1);
    open_events(cpus, attributes, "sampling")
}

fn open_events(cpus: &[u32], attributes: bindings::perf_event_attr, doing: &str) -> Result<Vec<OwnedFd>, Refused> {
    let open = |&cpu: &u32| performance_event::open(attributes, cpu, doing);
    cpus.iter().map(open).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_is_gone_without_and_named_with_its_reason() {
        let mut without = Vec::new();
        assert_eq!(or_without(Ok("cpu-clock"), Part::Samples, &mut without), Some("cpu-clock"));
        assert!(without.is_empty());
        for part in [Part::Samples, Part::Faults] {
            let reason = "Permission denied";
            let refused = Refused::because("sampling CPU 0", reason).with_remedy(performance_event::remedy(reason));
            assert_eq!(or_without::<()>(Err(refused), part, &mut without), None);
        }
        assert_eq!(without.len(), 2);
        for (without, what) in without.iter().zip(["samples of code", "page faults"]) {
            for said in [without.what(), without.note()] {
                assert!(said.contains(what) && said.contains("Permission denied"), "{said}");
            }
            assert!(without.blind().contains("(Permission denied)"), "{}", without.blind());
            // Whatever the level is here, a right is lacking.
            assert!(without.note().ends_with(without.remedy().unwrap()), "{}", without.note());
        }
    }
}
