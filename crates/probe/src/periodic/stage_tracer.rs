//! Loads the BPF programs that stamp the stages of wakeups, and gives each thread its slot.

use crate::periodic::slots::{Configuration, SlotReader, SlotTable};
use crate::periodic::softirq_wait::SoftirqWait;
use crate::recorder::FlightRecorder;
use crate::shared::namespaces::refuse_namespaces;
use crate::shared::plan::Via;
use punctual_kernel::bpf::LoadedObject;
use punctual_kernel::bpf_jumps::Jumps;
use punctual_kernel::callbacks::CallbackCounts;
use punctual_kernel::features::{CALLED_PROGRAMS, Feature, TIMERS, explain};
use punctual_kernel::{Refused, clock, function_addresses, host, limits, per_cpu};

/// The compiled BPF programs, carried in the binary.
pub fn object_bytes(via: Via) -> &'static [u8] {
    match via {
        Via::Timer => include_bytes!(concat!(env!("OUT_DIR"), "/timer.bpf.o")),
        Via::Softirq => include_bytes!(concat!(env!("OUT_DIR"), "/softirq.bpf.o")),
    }
}

/// Programs of the flight recorder that go on with these where it runs.
const JUMPED_TO: [(&str, &str); 2] = [("note_switch", "thread_switched_in"), ("note_waking", "thread_waking")];

/// The programs in the kernel; they leave it when this is dropped.
pub struct StageTracer {
    /// Those that the flight recorder's programs go on with are not attached themselves.
    jumps: Option<Jumps>,
    object: LoadedObject,
    table: SlotTable,
    steal_known: bool,
}

impl StageTracer {
    /// What a kernel must have for it.
    pub(crate) fn needed(via: Via) -> &'static [Feature] {
        match via {
            Via::Timer => &[],
            Via::Softirq => &[CALLED_PROGRAMS, TIMERS],
        }
    }

    /// Loads the programs, without attaching them yet.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn load(via: Via) -> Result<StageTracer, Refused> {
        refuse_namespaces("following wakeups in the kernel")?;
        if via == Via::Softirq && host::is_preempt_rt() {
            return Err(Refused::because("making a softirq callback", "PREEMPT_RT kernels refuse bpf_timer"));
        }
        if via == Via::Softirq && limits::addresses_are_hidden() {
            return Err(Refused::because("following a softirq callback", limits::ADDRESSES_HIDDEN));
        }
        let steal_offset = per_cpu::places().steal;
        let function = match via {
            Via::Timer => "hrtimer_wakeup",
            Via::Softirq => "timerfd_tmrproc",
        };
        let [address] = function_addresses([function]);
        let configuration = Configuration {
            steal_offset: steal_offset.unwrap_or(0),
            hrtimer_wakeup: if via == Via::Timer { address } else { 0 },
            timerfd_tmrproc: if via == Via::Softirq { address } else { 0 },
        };
        let object = LoadedObject::load(via.name(), object_bytes(via), Some(&configuration.bytes()))
            .map_err(|refused| explain(refused, StageTracer::needed(via)))?;
        let table = SlotTable::new(object.shared_globals()?);
        Ok(StageTracer { jumps: None, object, table, steal_known: steal_offset.is_some() })
    }

    /// Loads the programs, and makes ready what a thread of theirs needs; traces nobody.
    pub(crate) fn try_out(via: Via) -> Result<(), Refused> {
        let mut tracer = StageTracer::load(via)?;
        let reader = tracer.add(clock::thread_id())?;
        if via == Via::Softirq {
            tracer.add_softirq(reader.number())?;
        }
        Ok(())
    }

    /// Gives a thread its slot.
    pub(crate) fn add(&mut self, tid: u32) -> Result<SlotReader, Refused> {
        let reader = self.table.insert(tid);
        reader.ok_or_else(|| Refused::because("following wakeups in the kernel", "too many threads"))
    }

    /// Gives a thread, which has its slot, the softirq callback that is to wake it.
    pub(crate) fn add_softirq(&self, number: u32) -> Result<SoftirqWait, Refused> {
        let wait = SoftirqWait::new()?;
        self.object.put_inner_map("rings", number, wait.ring())?;
        self.object.call("prepare", &mut number.to_ne_bytes())?;
        Ok(wait)
    }

    /// Attaches the programs: from now on wakeups are followed.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn attach(&mut self) -> Result<(), Refused> {
        self.object.attach()
    }

    /// The same beside a flight recorder, if one runs, whose programs go on with these. It must not end before them.
    pub(crate) fn attach_beside(&mut self, recorder: Option<&FlightRecorder>) -> Result<(), Refused> {
        self.jumps = recorder.and_then(|recorder| recorder.go_on_with(&self.object, &JUMPED_TO));
        if self.jumps.is_some() {
            self.object.attach_without(&JUMPED_TO.map(|(_, program)| program))
        } else {
            self.object.attach()
        }
    }

    /// What happened to the softirq callbacks.
    pub(crate) fn callbacks(&self) -> CallbackCounts {
        self.table.callbacks()
    }

    /// How many timers were already due when a thread armed them, by the number of its slot.
    pub(crate) fn armed_late(&self, number: usize) -> u64 {
        self.table.armed_late(number)
    }

    /// Whether the host's steal can be read for each wakeup.
    pub(crate) fn steal_known(&self) -> bool {
        self.steal_known
    }

    /// The kernel's numbers for the programs.
    pub(crate) fn program_ids(&self) -> Vec<u32> {
        punctual_kernel::bpf_programs::ids_of(&self.programs())
    }

    /// Descriptors of the programs, by name, for statistics.
    pub fn programs(&self) -> Vec<(String, i32)> {
        self.object.programs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_kernel::bpf::run_statistics;
    use std::time::Duration;

    #[test]
    fn machine_the_recorders_programs_go_on_with_these() {
        // While it runs, the kernel counts how often programs are entered.
        let recorder = match FlightRecorder::start(0, false) {
            Ok(recorder) => recorder,
            Err(refused) => return punctual_testing::skip("stages beside the recorder", refused),
        };
        let mut tracer = StageTracer::load(Via::Timer).unwrap();
        let slot = tracer.add(clock::thread_id()).unwrap();
        tracer.attach_beside(Some(&recorder)).unwrap();
        assert!(tracer.jumps.is_some(), "the kernel refused the jumps");
        let stamped = (0..20).filter(|_| {
            std::thread::sleep(Duration::from_millis(2));
            let stamps = slot.read();
            stamps.irq > 0 && stamps.irq <= stamps.waking && stamps.waking < stamps.switch_in
        });
        let stamped = stamped.count();
        assert!(stamped > 5, "of 20 wakeups {stamped} have all stamps");
        let runs = |name: &str| {
            let (_, program) = tracer.programs().into_iter().find(|(other, _)| other == name).unwrap();
            run_statistics(program).unwrap().0
        };
        assert_eq!(JUMPED_TO.map(|(_, program)| runs(program)), [0, 0], "they are not entered by themselves");
    }
}
