//! Loads the programs that note what takes a CPU away: the Rust side of `bpf/idle.bpf.c`.

use crate::shared::lossy_ring::{self, Marked};
use crate::shared::names::text_of;
use punctual_kernel::bpf::{LeftOut, LoadedObject, SharedMemory};
use punctual_kernel::features::{ATOMICS, Feature, explain};
use punctual_kernel::{Refused, clock, per_cpu};
use punctual_recording::{Ran, Softirq, TraceEntry, Vector, printable};
use std::mem::offset_of;

/// What a kernel must have for the programs.
pub(crate) const NEEDED: &[Feature] = &[ATOMICS];

const MAX_CPUS: usize = 512;
const MAX_RINGS: usize = 32;
const RING_ENTRIES: usize = 4096;
const NAME_SIZE: usize = 16;

/// `struct entry` of `bpf/idle.bpf.c`.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Entry {
    sequence: u64,
    start: u64,
    end: u64,
    steal: u64,
    stolen: u64,
    kind: u32,
    id: u32,
    name: [u8; NAME_SIZE],
}

/// `struct ring` of `bpf/idle.bpf.c`.
#[repr(C)]
struct Ring {
    entries: [Entry; RING_ENTRIES],
    head: u64,
    open: [u64; 6],
    pad: u64,
}

/// `struct traced` of `bpf/idle.bpf.c`.
#[repr(C)]
struct Traced {
    rings: [Ring; MAX_RINGS],
    loops: [u32; MAX_RINGS],
    ring_of: [u16; MAX_CPUS],
}

/// The programs in the kernel; they leave it when this is dropped.
pub(crate) struct Tracer {
    // Dropped first, so that nothing writes into memory that is gone.
    _object: LoadedObject,
    memory: SharedMemory,
    steal_known: bool,
    /// For each followed CPU: how far its ring has been read.
    read: Vec<u64>,
    /// For each followed CPU: the kernel's number for its loop.
    loops: Vec<u32>,
}

/// Loads the programs, without attaching them yet; returns also whether they can read the host's steal.
fn load() -> Result<(LoadedObject, bool), Refused> {
    let steal_offset = per_cpu::places().steal;
    let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/idle.bpf.o"));
    let object = LoadedObject::load("idle", bytes, Some(&steal_offset.unwrap_or(0).to_ne_bytes()))
        .map_err(|refused| explain(refused, NEEDED))?;
    Ok((object, steal_offset.is_some()))
}

/// Loads the programs and unloads them again; returns those that this kernel has no place for, or refused.
pub(crate) fn try_out() -> Result<Vec<LeftOut>, Refused> {
    Ok(load()?.0.left_out())
}

impl Tracer {
    /// Loads and attaches the programs for these CPUs and loops (CPU, the kernel's number for the thread).
    pub(crate) fn start(loops: &[(u32, u32)]) -> Result<Tracer, Refused> {
        let doing = "noting what takes the CPU";
        if clock::in_shifted_time_namespace() {
            return Err(Refused::because(doing, "a time namespace shifts this process's clock"));
        }
        if loops.len() > MAX_RINGS || loops.iter().any(|&(cpu, _)| cpu as usize >= MAX_CPUS) {
            let most = format!("at most {MAX_RINGS} CPUs numbered below {MAX_CPUS} at once: choose some with -a");
            return Err(Refused::because(doing, most));
        }
        let (mut object, steal_known) = load()?;
        let memory = object.shared_globals()?;
        let traced = memory.at::<Traced>(0, 1).as_ptr();
        for (number, &(cpu, tid)) in loops.iter().enumerate() {
            // SAFETY: within the mapping (`at` checked) and the arrays (checked above); the programs, which only read
            // these, are attached later.
            unsafe {
                (&raw mut (*traced).loops[number]).write_volatile(tid);
                (&raw mut (*traced).ring_of[cpu as usize]).write_volatile(number as u16 + 1);
            }
        }
        object.attach()?;
        Ok(Tracer {
            _object: object,
            memory,
            steal_known,
            read: vec![0; loops.len()],
            loops: loops.iter().map(|&(_, tid)| tid).collect(),
        })
    }

    pub(crate) fn steal_known(&self) -> bool {
        self.steal_known
    }

    /// Takes what was noted on the CPU with this index since the last time. Returns how many entries were lost.
    pub(crate) fn take(&mut self, index: usize, into: &mut Vec<TraceEntry>) -> u64 {
        let traced = self.memory.at::<Traced>(0, 1).as_ptr();
        let (read, steal_known, own) = (&mut self.read[index], self.steal_known, self.loops[index]);
        let mut unnamed = 0;
        // SAFETY: within the mapping, which lives as long as `self`; the number of followed CPUs was checked against the
        // number of rings, and a ring's size is a power of two. Only the programs write them.
        let overwritten = unsafe {
            let ring = &raw const (*traced).rings[index];
            let (entries, head) = (&raw const (*ring).entries, &raw const (*ring).head);
            lossy_ring::take(entries.cast::<Entry>(), RING_ENTRIES, head, read, |entry| match named(entry, own) {
                Some(ran) => into.push(TraceEntry {
                    start_ns: entry.start,
                    end_ns: entry.end,
                    steal_ns: steal_known.then_some(entry.steal),
                    stolen_ns: entry.stolen,
                    ran,
                }),
                None => unnamed += 1,
            })
        };
        overwritten + unnamed
    }
}

impl Marked for Entry {
    const MARK_AT: usize = offset_of!(Entry, sequence);
}

/// What an entry reports; `None` if that is impossible, as when the loop with the number `own` took its CPU from itself.
fn named(entry: &Entry, own: u32) -> Option<Ran> {
    // A line break or an escape in it would tear the text apart.
    let name = || printable(&text_of(&entry.name));
    let id = u64::from(entry.id);
    Some(match entry.kind {
        1 => Ran::Interrupt(Vector::name_of(id)?.to_owned()),
        2 => Ran::Interrupt(name()),
        3 => Ran::Softirq(Softirq::words(id).into_owned()),
        // The kernel's own idle loop: nothing wanted the CPU, and the loop was stopped.
        4 if id == 0 => Ran::Thread("(idle)".to_owned()),
        4 if entry.id == own => return None,
        4 => Ran::Thread(name()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::helper_calls::calls_in;
    use libbpf_rs::btf::Btf;
    use punctual_kernel::bpf_layout::{record_layout, variable_offsets};
    use punctual_kernel::layout_of;

    #[test]
    fn the_records_are_those_of_the_programs() {
        let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/idle.bpf.o"));
        let btf = Btf::from_raw("idle", bytes).unwrap().unwrap();
        assert_eq!(
            record_layout(&btf, "entry"),
            layout_of!(Entry, sequence, start, end, steal, stolen, kind, id, name)
        );
        let (size, ring) = record_layout(&btf, "ring");
        let (expected_size, expected) = layout_of!(Ring, entries, head);
        assert_eq!((size, &ring[..2]), (expected_size, &expected[..]));
        assert_eq!(record_layout(&btf, "traced"), layout_of!(Traced, rings, loops, ring_of));
        for section in [".bss", ".rodata"] {
            assert_eq!(variable_offsets(&btf, section), [0], "{section}");
        }
    }

    #[test]
    fn a_threads_name_is_copied_without_a_helper() {
        let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/idle.bpf.o"));
        assert_eq!(calls_in(bytes, "thread_ran", libbpf_sys::BPF_FUNC_probe_read_kernel_str), 0);
    }

    #[test]
    fn one_thread_ends_when_the_next_one_begins() {
        let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/idle.bpf.o"));
        assert_eq!(calls_in(bytes, "thread_ran", libbpf_sys::BPF_FUNC_ktime_get_ns), 1);
    }

    #[test]
    fn a_name_that_a_thread_gave_itself_steers_nothing() {
        let mut name = [0; NAME_SIZE];
        name[..9].copy_from_slice(b"\x1b[2J\nidle");
        for kind in [2, 4] {
            let entry = Entry { sequence: 1, start: 5, end: 9, steal: 0, stolen: 0, kind, id: 78, name };
            let shown = "\u{fffd}[2J\u{fffd}idle".to_owned();
            assert_eq!(named(&entry, 77), Some(if kind == 2 { Ran::Interrupt(shown) } else { Ran::Thread(shown) }));
        }
    }

    #[test]
    fn a_loop_is_no_cause_of_its_own_gaps() {
        let mut name = [0; NAME_SIZE];
        name[..6].copy_from_slice(b"idle-0");
        let entry = Entry { sequence: 1, start: 5, end: 9, steal: 0, stolen: 0, kind: 4, id: 77, name };
        assert_eq!(named(&entry, 77), None);
        // Somebody else's loop may.
        assert_eq!(named(&entry, 78), Some(Ran::Thread("idle-0".to_owned())));
    }
}
