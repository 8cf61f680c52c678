//! Loads the flight recorder's programs, and the sampling clock.

use super::handlers::handler_sums;
use super::rings::{Copied, Rings};
use perf_event_open_sys as perf;
use perf_event_open_sys::bindings;
use punctual_kernel::bpf::LoadedObject;
use punctual_kernel::{Refused, bpf_programs, clock, steal};
use punctual_recording::HandlerSum;
use std::os::fd::{FromRawFd, OwnedFd};

/// The compiled programs.
pub(super) const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/recorder.bpf.o"));

/// A timer interrupt later than this has its interrupted stack taken, ns.
const LATE_NS: u64 = 50_000;

/// The programs in the kernel; they leave it when this is dropped.
pub struct FlightRecorder {
    object: LoadedObject,
    rings: Rings,
    cpus: Vec<u32>,
    clock: Option<&'static str>,
}

impl FlightRecorder {
    /// Loads and attaches the programs. With a `sample_rate` above 0 every CPU's stack is taken so often a second.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn start(sample_rate: u32) -> Result<FlightRecorder, Refused> {
        let configuration = configuration("recording what makes wakeups late", LATE_NS)?;
        let possible = possible_cpus();
        let mut object =
            LoadedObject::load_sized("recorder", OBJECT, Some(&configuration), &[("rings", possible as u32)])?;
        let rings = Rings::new(object.shared_array("rings")?, possible);
        let cpus = online_cpus();
        object.attach()?;
        let clock = sampling_clocks(&mut object, &cpus, sample_rate)?;
        Ok(FlightRecorder { object, rings, cpus, clock })
    }

    /// What the sampling clock is: `cpu-cycles` can look into code with interrupts off, `cpu-clock` cannot.
    pub fn clock(&self) -> Option<&'static str> {
        self.clock
    }

    /// Descriptors of its programs, by name, for statistics.
    pub fn programs(&self) -> Vec<(String, i32)> {
        self.object.programs()
    }

    /// The kernel's numbers of its programs.
    pub fn program_ids(&self) -> Vec<u32> {
        self.object.programs().iter().filter_map(|(_, program)| bpf_programs::id_of(*program)).collect()
    }

    /// Programs that this kernel has no tracepoint for.
    pub fn left_out(&self) -> Vec<String> {
        self.object.left_out()
    }

    pub(super) fn samples_taken(&self) -> u64 {
        self.rings.stacks_taken()
    }

    /// What every handler, softirq and callback took since the start.
    pub fn handler_sums(&self) -> Vec<HandlerSum> {
        handler_sums(&self.object.entries_per_cpu("handler_sums"))
    }

    /// What happened on each CPU between two times in the past.
    pub(super) fn copy(&self, start: u64, end: u64) -> Vec<(u32, Copied)> {
        self.cpus.iter().map(|&cpu| (cpu, self.rings.copy(cpu, start, end))).collect()
    }
}

/// What the programs have to know of this kernel. A timer later than `late_ns` has its interrupted stack taken.
pub(crate) fn configuration(doing: &str, late_ns: u64) -> Result<Vec<u8>, Refused> {
    if clock::in_shifted_time_namespace() || clock::in_pid_namespace() {
        let reason = "a namespace hides this process's clock or thread ids from the kernel's programs";
        return Err(Refused::because(doing, reason));
    }
    let known = steal::per_cpu_offsets_from_run_queue(&["steal_time", "__preempt_count", "__irq_regs"]);
    let mut configuration = Vec::new();
    for offset in known {
        configuration.extend_from_slice(&offset.unwrap_or(0).to_ne_bytes());
    }
    configuration.extend_from_slice(&late_ns.to_ne_bytes());
    Ok(configuration)
}

/// One more than the highest CPU number that can ever be.
pub(crate) fn possible_cpus() -> usize {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    cpu_list(&text).last().map_or(1, |&last| last as usize + 1)
}

pub(crate) fn online_cpus() -> Vec<u32> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let list = cpu_list(&text);
    if list.is_empty() { vec![0] } else { list }
}

fn cpu_list(text: &str) -> Vec<u32> {
    let number = |word: &str| word.trim().parse::<u32>().ok();
    text.trim()
        .split(',')
        .filter_map(|range| match range.split_once('-') {
            Some((first, last)) => Some(number(first)?..=number(last)?),
            None => number(range).map(|one| one..=one),
        })
        .flatten()
        .collect()
}

/// Starts a clock on each CPU, whose every tick takes a stack; says what it is.
fn sampling_clocks(object: &mut LoadedObject, cpus: &[u32], rate: u32) -> Result<Option<&'static str>, Refused> {
    if rate == 0 {
        return Ok(None);
    }
    let kinds = [
        ("cpu-cycles", bindings::PERF_TYPE_HARDWARE, u64::from(bindings::PERF_COUNT_HW_CPU_CYCLES)),
        ("cpu-clock", bindings::PERF_TYPE_SOFTWARE, u64::from(bindings::PERF_COUNT_SW_CPU_CLOCK)),
    ];
    let mut refused = None;
    for (name, kind, config) in kinds {
        match open_clocks(cpus, kind, config, rate) {
            Ok(clocks) => {
                for clock in clocks {
                    object.attach_perf_event("take_sample", clock)?;
                }
                return Ok(Some(name));
            }
            Err(error) => refused = Some(error),
        }
    }
    Err(refused.unwrap_or_else(|| Refused::because("sampling", "there is no clock")))
}

fn open_clocks(cpus: &[u32], kind: u32, config: u64, rate: u32) -> Result<Vec<OwnedFd>, Refused> {
    cpus.iter()
        .map(|&cpu| {
            let mut attributes = bindings::perf_event_attr {
                size: size_of::<bindings::perf_event_attr>() as u32,
                type_: kind,
                config,
                ..Default::default()
            };
            attributes.__bindgen_anon_1.sample_freq = u64::from(rate);
            attributes.set_freq(1);
            attributes.set_exclude_idle(1);
            let flags = u64::from(bindings::PERF_FLAG_FD_CLOEXEC);
            // SAFETY: the attributes live through the call.
            let descriptor = unsafe { perf::perf_event_open(&mut attributes, -1, cpu as i32, -1, flags) };
            if descriptor < 0 {
                return Err(Refused::last_os_error(format!("sampling CPU {cpu}")));
            }
            // SAFETY: a descriptor just made, owned by nobody else.
            Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists_are_read() {
        assert_eq!(cpu_list("0-2,5\n"), [0, 1, 2, 5]);
        assert_eq!(cpu_list("0\n"), [0]);
        assert!(cpu_list("").is_empty());
    }
}
