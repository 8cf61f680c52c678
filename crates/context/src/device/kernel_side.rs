//! A device's BPF programs: its interrupt, and its work if that runs in the kernel.

use super::arrivals::ring_bytes;
use super::decoder_memory::DecoderMemory;
use super::memory::{Activation, Configuration, DeviceMemory, DeviceRecord, field};
use super::own_memory::OwnMemory;
use super::phase::Phase;
use super::signal::{Decodes, Received};
use super::work::Work;
use crate::interrupt::{InterruptSource, SourceTable};
use crate::own::{self, OwnCounts, OwnWork};
use punctual_datapump::{Decoder, DecodingCounts, Line, Pump};
use punctual_kernel::bpf::LoadedObject;
use punctual_kernel::callbacks::CallbackCounts;
use punctual_kernel::features::{ATOMICS, CALLED_PROGRAMS, Feature, LOOPS, TIMERS, explain};
use punctual_kernel::{Refused, clock, host, per_cpu, scheduling};
use std::mem::offset_of;
use std::os::fd::BorrowedFd;

/// The programs that were compiled from this source.
macro_rules! object {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bpf.o"))
    };
}

/// What a device's interrupt does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The work.
    Work,
    /// Queue a softirq callback that works.
    Softirq,
    /// Queue a softirq callback that wakes a thread.
    Wake,
}

impl Mode {
    #[cfg(test)]
    pub(crate) const ALL: [Mode; 3] = [Mode::Work, Mode::Softirq, Mode::Wake];

    /// What a kernel must have for it.
    pub(crate) fn needed(self) -> &'static [Feature] {
        match self {
            Mode::Work => &[CALLED_PROGRAMS, LOOPS],
            Mode::Softirq | Mode::Wake => &[CALLED_PROGRAMS, TIMERS, ATOMICS, LOOPS],
        }
    }

    pub(crate) fn object(self) -> &'static [u8] {
        match self {
            Mode::Work => object!("device_irq"),
            Mode::Softirq | Mode::Wake => object!("device_softirq"),
        }
    }

    /// The same, without the work: a user's own is linked with it.
    fn workless_object(self) -> &'static [u8] {
        match self {
            Mode::Work => include_bytes!(concat!(env!("OUT_DIR"), "/device_irq_own.bpf.o")),
            Mode::Softirq | Mode::Wake => include_bytes!(concat!(env!("OUT_DIR"), "/device_softirq_own.bpf.o")),
        }
    }

    /// The same, if the work is to decode.
    fn decoding_object(self, decodes: Decodes) -> &'static [u8] {
        match (self, decodes) {
            (Mode::Work, Decodes::Dmt(_)) => object!("device_irq_dmt"),
            (Mode::Work, Decodes::Gfsk) => object!("device_irq_gfsk"),
            (Mode::Work, Decodes::Dsss) => object!("device_irq_dsss"),
            (_, Decodes::Dmt(_)) => object!("device_softirq_dmt"),
            (_, Decodes::Gfsk) => object!("device_softirq_gfsk"),
            (_, Decodes::Dsss) => object!("device_softirq_dsss"),
        }
    }
}

/// What work a device's programs do.
#[derive(Clone, Copy)]
pub(super) enum Programs<'a> {
    Filter,
    Decode(&'a Received),
    Own(&'a OwnWork),
}

/// Until an interrupt that is only tried out, ns: none comes.
const NEVER_NS: u64 = 3_600_000_000_000;

/// Loads the programs of a mode, makes an interrupt that does not come, and unloads them again.
pub(crate) fn try_out(mode: Mode) -> Result<(), Refused> {
    let mut side = KernelSide::load(mode)?;
    side.object.attach()?;
    side.start(scheduling::allowed_cpus().first().copied().unwrap_or(0), NEVER_NS)
}

/// The same for programs that decode.
pub(crate) fn try_out_decoding(mode: Mode, decodes: Decodes) -> Result<(), Refused> {
    let loaded = load_elf(mode.decoding_object(decodes), 1, &configuration(mode, 0));
    loaded.map(drop).map_err(|refused| explain(refused, mode.needed()))
}

/// What a device's programs counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KernelCounts {
    /// Interrupts that came.
    pub interrupts: u64,
    /// Blocks that were not processed, to leave others their share of the CPU.
    pub refused: u64,
    /// Blocks whose processing was given up after 5 ms.
    pub cut: u64,
    /// Interrupts that came but for which no program was called.
    pub unobserved: u64,
    /// ns spent in interrupts that only queue.
    pub interrupt_ns: u64,
    /// The levels at which work was seen to run, by the kernel's own count: bit 0 thread, 1 softirq, 2 hard interrupt,
    /// 3 NMI; 0 if this kernel's count cannot be read.
    pub levels: u64,
    /// What happened to softirq callbacks, if its interrupt queues any.
    pub callbacks: CallbackCounts,
}

impl KernelCounts {
    /// What never came: the interrupt, or any callback that it should have queued. If some came, those that the kernel
    /// refused are counted.
    pub fn trouble(&self) -> Option<String> {
        if self.interrupts == 0 {
            return Some("none of its interrupts came".to_owned());
        }
        self.callbacks.silence()
    }
}

/// `WINDOW_NS` of `bpf/device.h`.
const WINDOW_NS: u64 = 100_000_000;
/// No device's programs may work for a larger part of a window.
const MAX_SHARE: f64 = 0.5;

/// The programs in the kernel; they leave it when this is dropped.
pub(crate) struct KernelSide {
    // Dropped first: no interrupt comes while the programs go away.
    source: Option<InterruptSource>,
    memory: DeviceMemory,
    decoder: Option<DecoderMemory>,
    own: Option<OwnMemory>,
    object: LoadedObject,
    read: u64,
}

impl KernelSide {
    /// Loads the programs, without attaching them yet.
    pub(crate) fn load(mode: Mode) -> Result<KernelSide, Refused> {
        KernelSide::load_with(mode, Programs::Filter, 0)
    }

    /// As [`KernelSide::load`], for other work; every so many softirq callbacks, the kernel refuses one, 0: none.
    pub(super) fn load_with(mode: Mode, programs: Programs<'_>, refuse_every: u64) -> Result<KernelSide, Refused> {
        let doing = "running work in the kernel";
        if clock::in_shifted_time_namespace() {
            return Err(Refused::because(doing, "a time namespace shifts this process's clock"));
        }
        if mode != Mode::Work && host::is_preempt_rt() {
            let reason =
                "PREEMPT_RT kernels refuse bpf_timer: use irq, or a thread that the timer wakes (--wake timer)";
            return Err(Refused::because("making a softirq callback", reason));
        }
        let object = load_object(mode, programs, &configuration(mode, refuse_every))?;
        let memory = DeviceMemory::new(object.shared_globals()?);
        let (mut decoder, mut own) = (None, None);
        match programs {
            Programs::Filter => {}
            Programs::Decode(received) => decoder = Some(DecoderMemory::new(&object, received.decoder.signal())?),
            Programs::Own(_) => own = Some(OwnMemory::new(&object)?),
        }
        if mode != Mode::Work {
            object.call("prepare", &mut [0; 8])?;
        }
        let side = KernelSide { source: None, memory, decoder, own, object, read: 0 };
        side.leave_others(MAX_SHARE);
        Ok(side)
    }

    /// How long this many units of work take here, ns.
    pub(crate) fn time_units(&self, pump: &Pump, units: u32) -> Result<u64, Refused> {
        self.memory.set_work(&Line::default(), pump, 0);
        self.object.call("calibrate", &mut units.to_ne_bytes())?;
        Ok(self.memory.read(|record| field!(record, calibrated)))
    }

    /// How long it takes to decode this many units here, ns.
    pub(super) fn time_decoding(&self, decoder: &Decoder, units: u32) -> Result<u64, Refused> {
        if let Some(memory) = &self.decoder {
            memory.set(decoder);
        }
        self.object.call("calibrate", &mut units.to_ne_bytes())?;
        Ok(self.memory.read(|record| field!(record, calibrated)))
    }

    /// How long a block of a user's own work takes here, ns.
    pub(super) fn time_own(&self) -> Result<u64, Refused> {
        self.object.call("calibrate", &mut 1u32.to_ne_bytes())?;
        Ok(self.memory.read(|record| field!(record, calibrated)))
    }

    /// What came of a user's own work; torn only if an interrupt comes in between.
    pub(super) fn own(&self) -> Option<OwnCounts> {
        self.own.as_ref().map(OwnMemory::counts)
    }

    /// How far the programs have got with the signal; torn only if an interrupt comes in between.
    pub(super) fn decoding(&self) -> DecodingCounts {
        self.decoder.as_ref().map(DecoderMemory::decoding).unwrap_or_default()
    }

    /// The programs work no more than this part of each window, of which half is the most. Returns the part.
    pub(crate) fn leave_others(&self, share: f64) -> f64 {
        let share = share.clamp(0.0, MAX_SHARE);
        let max_worked = share * WINDOW_NS as f64;
        self.memory.write(|record| field!(record, max_worked), max_worked as u64);
        share
    }

    /// Sets up the work and attaches the programs.
    pub(super) fn prepare(&mut self, line: &Line, work: &Work, units: u32) -> Result<(), Refused> {
        match work {
            Work::Filter(pump) => self.memory.set_work(line, pump, units),
            Work::Decode(decoder) => {
                self.memory.set_work(line, &Pump::new(1), units);
                if let Some(memory) = &self.decoder {
                    memory.set(decoder);
                }
            }
            // The programs only wake work that has a process or a thread of its own.
            Work::Process(_) | Work::Guest => self.memory.set_work(line, &Pump::new(1), units),
            Work::Own { budget_ns } => {
                self.memory.set_work(line, &Pump::new(1), units);
                if let Some(memory) = &self.own {
                    memory.set(u64::from(line.samples), *budget_ns);
                }
            }
        }
        self.object.attach()
    }

    /// Starts the interrupt: the first comes a period from now.
    pub(crate) fn start(&mut self, cpu: u32, period_ns: u64) -> Result<(), Refused> {
        self.beat();
        let table = SourceTable::new(self.memory.shared(), offset_of!(DeviceRecord, sources));
        self.source = Some(InterruptSource::start(cpu, period_ns, &table)?);
        Ok(())
    }

    /// From now on blocks of this many samples come at another rate. What has arrived stays as it was.
    pub(crate) fn set_phase(&self, phase: Phase, units: u32) -> Result<(), Refused> {
        self.memory.set_phase(clock::monotonic_ns(), phase.period_ns, phase.samples, units);
        self.source.as_ref().map_or(Ok(()), |source| source.set_period(phase.period_ns))
    }

    /// No interrupt comes any more.
    pub(crate) fn stop(&mut self) {
        self.source = None;
    }

    /// Tells the programs that this process is alive.
    pub(crate) fn beat(&self) {
        self.memory.write(|record| field!(record, heartbeat), clock::monotonic_ns());
    }

    pub(crate) fn memory(&self) -> &DeviceMemory {
        &self.memory
    }

    /// The ring through which the callback wakes a thread.
    pub(crate) fn wakes(&self) -> Result<BorrowedFd<'_>, Refused> {
        self.object.map_descriptor("wakes")
    }

    /// Hands on what was processed since the last time; returns how many activations were lost.
    pub(crate) fn take(&mut self, take: &mut dyn FnMut(&Activation)) -> u64 {
        self.memory.take(&mut self.read, take)
    }

    pub(crate) fn counts(&self) -> KernelCounts {
        let read = |field: fn(*mut DeviceRecord) -> *mut u64| self.memory.read(field);
        KernelCounts {
            interrupts: read(|record| field!(record, interrupts)),
            refused: read(|record| field!(record, refused)),
            cut: read(|record| field!(record, cut)),
            unobserved: read(|record| field!(record, unobserved)),
            interrupt_ns: read(|record| field!(record, interrupt_ns)),
            levels: read(|record| field!(record, levels)),
            callbacks: self.memory.callbacks(),
        }
    }
}

fn configuration(mode: Mode, refuse_every: u64) -> Configuration {
    let places = per_cpu::places();
    Configuration {
        steal_offset: places.steal.unwrap_or(0),
        nesting: places.nesting,
        wakes: u64::from(mode == Mode::Wake),
        refuse_every,
    }
}

fn load_object(mode: Mode, programs: Programs<'_>, configuration: &Configuration) -> Result<LoadedObject, Refused> {
    let linked;
    let (elf, units) = match programs {
        Programs::Filter => (mode.object(), 1),
        Programs::Decode(received) => {
            (mode.decoding_object(received.decodes), received.decoder.signal().units().len() as u32)
        }
        Programs::Own(work) => {
            linked = own::link(mode.workless_object(), work)?;
            (linked.as_slice(), 1)
        }
    };
    load_elf(elf, units, configuration).map_err(|refused| match programs {
        Programs::Own(work) => own::explain(explain(refused, mode.needed()), &punctual_kernel::said(), work),
        _ => explain(refused, mode.needed()),
    })
}

fn load_elf(elf: &[u8], units: u32, configuration: &Configuration) -> Result<LoadedObject, Refused> {
    let sizes = [("wakes", ring_bytes()), ("signal", units)];
    LoadedObject::load_sized("device", elf, Some(&configuration.bytes()), &sizes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    const SAMPLES: u64 = 1_000_000;

    #[test]
    fn an_interrupt_or_a_callback_that_never_came_is_trouble() {
        let came = KernelCounts { interrupts: 100, ..KernelCounts::default() };
        assert_eq!(came.trouble(), None);
        assert!(KernelCounts::default().trouble().unwrap().contains("interrupts"));
        let callbacks = CallbackCounts { refused: 100, error: -22, ..CallbackCounts::default() };
        let words = KernelCounts { callbacks, ..came }.trouble().unwrap();
        assert!(words.contains("Invalid argument"), "{words}");
        // One that did not come is no reason to throw the others away.
        let some = CallbackCounts { queued: 999, ran: 999, refused: 1, error: -16, elsewhere: 0 };
        assert_eq!(KernelCounts { callbacks: some, ..came }.trouble(), None);
    }

    /// By then a block that had begun has ended, unless a host keeps the CPU in the middle of it for as long.
    const ITS_LAST_BLOCK: Duration = Duration::from_millis(200);

    /// Runs a pump in this mode until it has filtered a million samples.
    fn filtered(mode: Mode) -> Result<(Pump, u64), Refused> {
        let mut side = KernelSide::load(mode)?;
        // 4,000 samples every 2 ms, each filtered once: about an eighth of the CPU.
        let work = Work::Filter(Box::new(Pump::new(1)));
        side.prepare(&Line::new(2_000_000, 4_000, 0, false), &work, 4_000)?;
        let cpu = *punctual_kernel::scheduling::allowed_cpus().last().expect("a CPU");
        side.start(cpu, 2_000_000)?;
        let began = Instant::now();
        while side.memory.pump().samples < SAMPLES && began.elapsed() < Duration::from_secs(20) {
            side.beat();
            std::thread::sleep(Duration::from_millis(10));
        }
        side.stop();
        std::thread::sleep(ITS_LAST_BLOCK);
        Ok((side.memory.pump(), side.counts().levels))
    }

    /// Decodes in this mode until this many blocks of four units were processed.
    fn decoded(
        mode: Mode,
        received: &Received,
        blocks: u64,
    ) -> Result<(Vec<u8>, DecodingCounts, KernelCounts), Refused> {
        let mut side = KernelSide::load_with(mode, Programs::Decode(received), 0)?;
        // In a test's emulator a DSL symbol takes a millisecond.
        let work = Work::Decode(received.device(1, 4, false));
        side.prepare(&Line::new(12_000_000, 4 * received.decodes.unit_samples(), 0, false), &work, 4)?;
        let cpu = *punctual_kernel::scheduling::allowed_cpus().last().expect("a CPU");
        side.start(cpu, 12_000_000)?;
        let began = Instant::now();
        while side.decoding().units < 4 * blocks && began.elapsed() < Duration::from_secs(20) {
            side.beat();
            std::thread::sleep(Duration::from_millis(10));
        }
        side.stop();
        std::thread::sleep(ITS_LAST_BLOCK);
        let memory = side.decoder.as_ref().expect("it decodes");
        Ok((memory.bytes(received.decoder.bytes().len()), side.decoding(), side.counts()))
    }

    #[test]
    fn machine_a_signal_is_decoded_to_the_same_bits_in_every_context() {
        for decodes in Decodes::ALL {
            let received = Received::make(decodes).unwrap();
            for (mode, level) in [(Mode::Work, 4), (Mode::Softirq, 2)] {
                let (bytes, counted, counts) = match decoded(mode, &received, 75) {
                    Ok(decoded) => decoded,
                    Err(refused) => {
                        punctual_testing::skip(&format!("{decodes:?} in {mode:?}"), refused);
                        continue;
                    }
                };
                assert!(counted.units >= 300 && counted.bits > 3_000, "{decodes:?}, {mode:?}: {counted:?}");
                assert!(counts.levels == level || counts.levels == 0, "{decodes:?}, {mode:?}: {:#b}", counts.levels);
                // If the machine kept it from its time, blocks may have been given up: then bits are missing.
                if counts.cut + counts.refused > 0 {
                    continue;
                }
                assert_eq!((counted.wrong, counted.missing, counted.restarts), (0, 0, 0), "{decodes:?}, {mode:?}");
                assert_eq!((counted.frames > 0, counted.frames), (true, counted.frames_right), "{decodes:?}, {mode:?}");
                let mut native = received.device(1, 4, false);
                for block in 0..counted.units / 4 {
                    native.begin_block(block);
                    native.run(4);
                }
                assert!(native.bytes() == bytes, "{decodes:?}, {mode:?}: it differs after {} units", counted.units);
            }
        }
    }

    #[test]
    fn machine_the_pump_gives_the_same_output_in_every_context() {
        for (mode, level) in [(Mode::Work, 4), (Mode::Softirq, 2)] {
            let (pump, levels) = match filtered(mode) {
                Ok(filtered) => filtered,
                Err(refused) => {
                    punctual_testing::skip(&format!("the pump in {mode:?}"), refused);
                    continue;
                }
            };
            assert!(pump.samples >= SAMPLES, "{mode:?}: {}", pump.samples);
            let mut native = Pump::new(1);
            native.run(pump.samples);
            assert!(native == pump, "{mode:?}: the outputs differ within {} samples", pump.samples);
            // By the kernel's own count: nowhere else but where it should. ksoftirqd counts as softirq too.
            assert!(levels == level || levels == 0, "{mode:?}: {levels:#b}");
        }
    }
}
