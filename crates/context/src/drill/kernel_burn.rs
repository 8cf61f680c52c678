//! The drills in interrupt and softirq context: BPF programs keep the CPU, this side arms them.
//!
//! Each injection is armed on its own and made once, so that at most one more comes after user space dies.

use super::DrillKind;
use super::stop::Stop;
use super::worker::{Injector, Made};
use crate::interrupt::{InterruptSource, MAX_CPUS, SourceRecord, SourceTable};
use punctual_kernel::bpf::{LoadedObject, SharedMemory};
use punctual_kernel::callbacks::CallbackCounts;
use punctual_kernel::features::explain;
use punctual_kernel::{Refused, clock, host};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// `struct shot` of `bpf/drill.h`: one cache line for each CPU.
#[derive(Debug, Default)]
#[repr(C)]
struct Shot {
    armed: AtomicU64,
    length: AtomicU64,
    taken: AtomicU64,
    start: AtomicU64,
    end: AtomicU64,
    done: AtomicU64,
    cpu: u32,
    pad: u32,
    spare: u64,
}

const SOURCES_OFFSET: usize = MAX_CPUS * size_of::<Shot>();
const CALLBACKS_OFFSET: usize = SOURCES_OFFSET + MAX_CPUS * size_of::<SourceRecord>();

/// A timer that waits for its next injection fires no more often than this, or one that nobody stops would be a load.
const MIN_ARM_NS: u64 = 1_000_000;
/// A timer that has nothing to do.
const IDLE_NS: u64 = 3_600_000_000_000;
/// An injection that did not begin this long after its time is given up, ns.
const PATIENCE_NS: u64 = 200_000_000;

/// The compiled programs of a drill, carried in the binary.
fn object_bytes(kind: DrillKind) -> &'static [u8] {
    match kind {
        DrillKind::Softirq => include_bytes!(concat!(env!("OUT_DIR"), "/drill_softirq.bpf.o")),
        _ => include_bytes!(concat!(env!("OUT_DIR"), "/drill_irq.bpf.o")),
    }
}

/// The programs' stamps must come from this process's clock.
pub(super) fn check_clock() -> Result<(), Refused> {
    if clock::in_shifted_time_namespace() {
        return Err(Refused::because("logging the truth", "a time namespace shifts this process's clock"));
    }
    Ok(())
}

/// The programs in the kernel; they leave it when this is dropped.
pub(crate) struct KernelBurn {
    _object: LoadedObject,
    memory: Arc<SharedMemory>,
    sources: Vec<InterruptSource>,
}

impl KernelBurn {
    /// Loads and attaches the programs and starts a timer on each CPU.
    pub(crate) fn start(kind: DrillKind, cpus: &[u32]) -> Result<KernelBurn, Refused> {
        if kind == DrillKind::Softirq && host::is_preempt_rt() {
            return Err(Refused::because("making a softirq callback", "PREEMPT_RT kernels refuse bpf_timer"));
        }
        check_clock()?;
        let mut object = LoadedObject::load(kind.culprit(), object_bytes(kind), None)
            .map_err(|refused| explain(refused, kind.needed()))?;
        let memory = Arc::new(object.shared_globals()?);
        object.attach()?;
        let table = SourceTable::new(Arc::clone(&memory), SOURCES_OFFSET);
        let mut sources = Vec::new();
        for &cpu in cpus {
            if kind == DrillKind::Softirq {
                object.call("drill_prepare", &mut cpu.to_ne_bytes())?;
            }
            sources.push(InterruptSource::start(cpu, IDLE_NS, &table)?);
        }
        Ok(KernelBurn { _object: object, memory, sources })
    }

    /// What went wrong with the softirq callbacks of the injections.
    pub(crate) fn trouble(&self) -> Option<String> {
        CallbackCounts::read(&self.memory, CALLBACKS_OFFSET).trouble()
    }

    /// One for each CPU.
    pub(crate) fn injectors(&mut self) -> Vec<KernelInjector> {
        let memory = &self.memory;
        self.sources.drain(..).map(|source| KernelInjector { memory: Arc::clone(memory), source, number: 0 }).collect()
    }
}

/// Arms the programs of one CPU.
pub(crate) struct KernelInjector {
    memory: Arc<SharedMemory>,
    source: InterruptSource,
    number: u64,
}

impl KernelInjector {
    fn shot(&self) -> &Shot {
        let offset = self.source.cpu() as usize * size_of::<Shot>();
        // SAFETY: lies within the mapping (`at` checked), which `memory` keeps; what changes under it is atomic, except
        // the CPU's number, which `made` reads after the program has written it.
        unsafe { self.memory.at::<Shot>(offset, 1).as_ref() }
    }

    fn made(&self) -> Option<Made> {
        let shot = self.shot();
        if shot.done.load(Ordering::Acquire) != self.number {
            return None;
        }
        // SAFETY: the field lies within the record; the program has written it and writes again only for the next injection.
        let cpu = unsafe { (&raw const shot.cpu).read_volatile() };
        let (start_ns, end_ns) = (shot.start.load(Ordering::Relaxed), shot.end.load(Ordering::Relaxed));
        Some(Made { start_ns, end_ns, cpu, ..Made::default() })
    }
}

impl Injector for KernelInjector {
    fn inject(&mut self, at_ns: u64, length_ns: u64, stop: &Stop) -> Result<Option<Made>, Refused> {
        self.number += 1;
        self.shot().length.store(length_ns, Ordering::Relaxed);
        self.shot().armed.store(self.number, Ordering::Release);
        let delay = at_ns.saturating_sub(clock::monotonic_ns()).max(MIN_ARM_NS);
        self.source.set_period(delay)?;
        let give_up_ns = at_ns + PATIENCE_NS;
        let mut look_ns = at_ns.max(clock::monotonic_ns()) + length_ns;
        loop {
            let going_on = stop.sleep_until(look_ns);
            if let Some(made) = self.made() {
                self.source.set_period(IDLE_NS)?;
                return Ok(Some(made));
            }
            // An injection in progress is waited for, whatever happens.
            let now = clock::monotonic_ns();
            if (!going_on || now > give_up_ns)
                && self.shot().armed.swap(0, Ordering::AcqRel) != self.number
                && now < give_up_ns + PATIENCE_NS
            {
                clock::sleep_until(now + 1_000_000);
                continue;
            }
            if !going_on || now > give_up_ns {
                self.source.set_period(IDLE_NS)?;
                return Ok(self.made());
            }
            look_ns = now + 200_000;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use libbpf_rs::btf::Btf;
    use punctual_kernel::bpf_layout::record_layout;
    use punctual_kernel::layout_of;

    #[test]
    fn the_records_are_those_of_the_programs() {
        for kind in [DrillKind::Irq, DrillKind::Softirq] {
            let btf = Btf::from_raw(kind.culprit(), object_bytes(kind)).unwrap().unwrap();
            assert_eq!(
                record_layout(&btf, "shot"),
                layout_of!(Shot, armed, length, taken, start, end, done, cpu, pad, spare)
            );
            let (_, drill) = record_layout(&btf, "drill");
            assert_eq!(
                drill,
                [
                    ("shots".to_owned(), 0),
                    ("sources".to_owned(), SOURCES_OFFSET),
                    ("callbacks".to_owned(), CALLBACKS_OFFSET)
                ]
            );
            assert_eq!(record_layout(&btf, "interrupt_source").0, size_of::<SourceRecord>());
        }
    }
}
