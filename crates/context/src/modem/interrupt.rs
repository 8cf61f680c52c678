//! The datapump in an interrupt of this machine, or in a softirq callback: the Rust side of `bpf/modem_interrupt.h`.

use crate::Context;
use crate::interrupt::{InterruptSource, MAX_CPUS, SourceRecord, SourceTable};
use punctual_datapump::{Qam, QamState, Status};
use punctual_kernel::bpf::{LoadedObject, SharedMemory};
use punctual_kernel::callbacks::CallbackCounts;
use punctual_kernel::features::{ATOMICS, CALLED_PROGRAMS, Feature, LOOPS, TIMERS, explain};
use punctual_kernel::{Refused, clock, host};
use std::mem::offset_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most samples of a block.
const BLOCK: usize = 128;

/// `struct modem` of `bpf/modem_interrupt.h`.
#[repr(C)]
struct Record {
    sources: [SourceRecord; MAX_CPUS],
    heartbeat: u64,
    interrupts: u64,
    deaf: u64,
    empty: u64,
    looked: u64,
    last_due: u64,
    given: u64,
    made: u64,
    began: u64,
    computed: u64,
    ended: u64,
    least: u64,
    callbacks: CallbackCounts,
    samples: u32,
    pad: u32,
    received: [i16; BLOCK],
    sent: [i16; BLOCK],
    pump: QamState,
}

/// A number of the record, which a program may be changing.
macro_rules! number {
    ($self:ident, $name:ident) => {
        // SAFETY: a field of the record, which lies within the mapping (`at` checked), which lives as long as `$self`.
        unsafe { AtomicU64::from_ptr(&raw mut (*$self.record()).$name) }
    };
}

/// When a block was worked on, ns of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Worked {
    /// Work began.
    pub began_ns: u64,
    /// Its samples were done.
    pub computed_ns: u64,
    /// So was what fills up its time.
    pub ended_ns: u64,
}

/// A datapump that works on a block in each interrupt of one CPU, or in the softirq callback that it queues. It leaves the
/// kernel when this is dropped. Between [`InterruptQam::give`] and [`InterruptQam::is_made`] it is the kernel's.
pub struct InterruptQam {
    // Dropped first: no interrupt comes while the programs go away.
    _source: InterruptSource,
    _object: LoadedObject,
    memory: Arc<SharedMemory>,
    given: u64,
}

impl InterruptQam {
    /// Continues from this pump's state, in interrupt or else in softirq context. The first interrupt comes a period from now; a
    /// block takes at least `least_ns`, at most 50 ms.
    ///
    /// # Errors
    /// What the kernel refused, and what it lacks.
    pub fn start(
        context: Context,
        cpu: u32,
        pump: &Qam,
        period_ns: u64,
        least_ns: u64,
    ) -> Result<InterruptQam, Refused> {
        let is_callback = matches!(context, Context::Softirq);
        if clock::in_shifted_time_namespace() {
            let reason = "a time namespace shifts this process's clock";
            return Err(Refused::because("running a modem in the kernel", reason));
        }
        if is_callback && host::is_preempt_rt() {
            let reason = "PREEMPT_RT kernels refuse bpf_timer: use irq, or a thread";
            return Err(Refused::because("making a softirq callback", reason));
        }
        let mut object = load(is_callback)?;
        let memory = Arc::new(object.shared_globals()?);
        let record = memory.at::<Record>(0, 1).as_ptr();
        // SAFETY: within the mapping (`at` checked); the programs are not attached yet. The state is numbers alone, which may be
        // copied, and too large to pass over a stack.
        unsafe {
            std::ptr::copy_nonoverlapping(pump.state(), &raw mut (*record).pump, 1);
            (&raw mut (*record).least).write_volatile(least_ns);
            (&raw mut (*record).heartbeat).write_volatile(clock::monotonic_ns());
        }
        if is_callback {
            object.call("prepare", &mut [0; 8])?;
        }
        object.attach()?;
        let table = SourceTable::new(Arc::clone(&memory), offset_of!(Record, sources));
        let source = InterruptSource::start(cpu, period_ns, &table)?;
        Ok(InterruptQam { _source: source, _object: object, memory, given: 0 })
    }

    /// Tells the programs that this process is alive: without that for 0.8 s they do nothing.
    pub fn beat(&self) {
        number!(self, heartbeat).store(clock::monotonic_ns(), Ordering::Release);
    }

    /// When the newest interrupt was due, ns of `CLOCK_MONOTONIC`; 0: none has come.
    pub fn last_due_ns(&self) -> u64 {
        number!(self, last_due).load(Ordering::Acquire)
    }

    /// How many interrupts called a program so far.
    pub fn interrupts(&self) -> u64 {
        number!(self, interrupts).load(Ordering::Acquire) + number!(self, deaf).load(Ordering::Acquire)
    }

    /// Hands in up to 128 received samples for the next interrupt, and the bits of those that are sent meanwhile. Without samples
    /// the block only takes its time. The one before must have been taken.
    ///
    /// # Panics
    /// If the one before has not been worked on.
    pub fn give(&mut self, received: &[i16], bit_to_send: &mut impl FnMut() -> Option<bool>) {
        self.beat();
        let (record, samples) = (self.own_record(), received.len().min(BLOCK));
        // SAFETY: within the mapping; no program touches these until the block counts as given.
        unsafe {
            if samples > 0 {
                let pump = &mut (*record).pump;
                pump.give_bits(samples, bit_to_send);
            }
            (&raw mut (*record).received).cast::<i16>().copy_from_nonoverlapping(received.as_ptr(), samples);
            (&raw mut (*record).samples).write_volatile(samples as u32);
        }
        self.given += 1;
        number!(self, given).store(self.given, Ordering::Release);
    }

    /// Whether the block that was handed in has been worked on.
    pub fn is_made(&self) -> bool {
        number!(self, made).load(Ordering::Acquire) == self.given
    }

    /// What was made of the block, once it is: samples to send, and received bits.
    ///
    /// # Panics
    /// If it has not been worked on.
    pub fn take(&mut self, sent: &mut [i16], received_bit: &mut impl FnMut(bool)) -> Worked {
        let (record, samples) = (self.own_record(), sent.len().min(BLOCK));
        // SAFETY: within the mapping; no program touches these until the next block counts as given.
        let pump = unsafe {
            (&raw const (*record).sent).cast::<i16>().copy_to_nonoverlapping(sent.as_mut_ptr(), samples);
            &mut (*record).pump
        };
        pump.take_bits(received_bit);
        Worked {
            began_ns: number!(self, began).load(Ordering::Relaxed),
            computed_ns: number!(self, computed).load(Ordering::Relaxed),
            ended_ns: number!(self, ended).load(Ordering::Relaxed),
        }
    }

    /// How it is doing.
    ///
    /// # Panics
    /// While it is the kernel's.
    pub fn status(&self) -> Status {
        // SAFETY: within the mapping; no program touches it until a block counts as given.
        let pump = unsafe { &(*self.own_record()).pump };
        pump.status()
    }

    /// Why nothing is worked on, as far as the programs know.
    pub fn trouble(&self) -> Option<String> {
        if number!(self, interrupts).load(Ordering::Relaxed) == 0 {
            return Some("none of its interrupts came".to_owned());
        }
        let deaf = number!(self, deaf).load(Ordering::Relaxed);
        let of_callbacks = CallbackCounts::read(&self.memory, offset_of!(Record, callbacks)).trouble();
        of_callbacks.or((deaf > 0).then(|| "this program had no CPU for 0.8 s".to_owned()))
    }

    /// The record while the pump is not the kernel's.
    fn own_record(&self) -> *mut Record {
        assert!(self.is_made(), "a block has not been worked on yet: the pump is the kernel's");
        self.record()
    }

    fn record(&self) -> *mut Record {
        self.memory.at::<Record>(0, 1).as_ptr()
    }
}

/// Loads the programs, without attaching them yet.
fn load(is_callback: bool) -> Result<LoadedObject, Refused> {
    LoadedObject::load("modem", object_bytes(is_callback), None)
        .map_err(|refused| explain(refused, needed(is_callback)))
}

/// Loads the programs for interrupts or softirq callbacks, and unloads them again.
pub(crate) fn try_out(is_callback: bool) -> Result<(), Refused> {
    load(is_callback).map(drop)
}

fn object_bytes(is_callback: bool) -> &'static [u8] {
    if is_callback {
        include_bytes!(concat!(env!("OUT_DIR"), "/modem_softirq.bpf.o"))
    } else {
        include_bytes!(concat!(env!("OUT_DIR"), "/modem_irq.bpf.o"))
    }
}

fn needed(is_callback: bool) -> &'static [Feature] {
    if is_callback { &[CALLED_PROGRAMS, TIMERS, ATOMICS, LOOPS] } else { &[CALLED_PROGRAMS, ATOMICS, LOOPS] }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where processors order memory loosely, only an addition that returns a value keeps a block and its count in order;
    /// the compiler must not have chosen one that returns none.
    #[test]
    fn blocks_are_handed_over_by_additions_that_return_a_value() {
        // BPF_STX | BPF_ATOMIC | BPF_DW, and BPF_ADD | BPF_FETCH.
        let returns_a_value = |one: &&[u8; 8]| one[0] == 0xdb && one[4..] == 1_i32.to_ne_bytes();
        for is_callback in [false, true] {
            let instructions = object_bytes(is_callback).as_chunks::<8>().0.iter();
            let count = instructions.filter(returns_a_value).count();
            // One sees that a block was handed in, one says that it was made.
            assert!(count >= 2, "callback: {is_callback}, {count}");
        }
    }
}
