//! Loads the programs that note toolkits' events, and attaches them where these pass: the Rust side of `bpf/toolkit.bpf.c`.

use super::functions::FUNCTIONS;
use super::{libraries, stop};
use crate::shared::lossy_ring::{self, Marked};
use punctual_kernel::bpf::{LoadedObject, SharedMemory, enable_run_time_statistics, run_statistics};
use punctual_kernel::{Refused, cpus};
use punctual_recording::printable;
use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;
use std::os::fd::OwnedFd;

/// The compiled programs.
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/toolkit.bpf.o"));

const EVENTS: usize = 2_048;
const WORD_SIZE: usize = 40;
const UNREADABLE: i32 = i32::MIN;

/// How many processes to look at; a program with more is not looked at in full.
const MAX_PROCESSES: usize = 64;
/// How many names are told apart: a program's memory may say whatever it likes.
const MAX_NAMES: usize = 1_024;
/// The name of any beyond those.
const OTHERS: &str = "others";

/// `struct event_record` of `bpf/toolkit_records.h`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct EventRecord {
    sequence: u64,
    at: u64,
    tid: u32,
    process: u32,
    function: u32,
    number: i32,
    pad: [u32; 4],
    interface: [u8; WORD_SIZE],
    event: [u8; WORD_SIZE],
}

impl Marked for EventRecord {
    const MARK_AT: usize = offset_of!(EventRecord, sequence);
}

/// `struct event_ring` of `bpf/toolkit_records.h`.
#[repr(C, align(64))]
struct EventRing {
    records: [EventRecord; EVENTS],
    head: u64,
    pad: [u64; 7],
}

/// An event that a toolkit has handed on to the program's own code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandedOn {
    /// When, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// The thread.
    pub tid: u32,
    /// Its process.
    pub process: u32,
    /// Which toolkit it belongs to, and what it is: a place in [`ToolkitWatch::name`].
    pub name: u32,
}

/// A library in which the programs are, or that does not offer the function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    /// The toolkit.
    pub toolkit: &'static str,
    /// The file of the library, as the program sees it.
    pub library: String,
    /// The function.
    pub function: &'static str,
    /// In how many processes it is watched.
    pub processes: u64,
    /// Why it is not watched in one, when that last happened: the library does not offer the function, its file is
    /// gone, or the kernel refused.
    pub why: Option<String>,
}

/// In how many processes a library is watched, and why not in one.
#[derive(Debug, Default)]
struct Watched {
    processes: u64,
    why: Option<String>,
}

/// The programs in the kernel; they leave it when this is dropped.
pub struct ToolkitWatch {
    // Dropped first, so that nothing writes into memory that is gone.
    object: LoadedObject,
    memory: SharedMemory,
    /// For each possible CPU: how far its ring has been read.
    read: Vec<u64>,
    waiting: Vec<EventRecord>,
    lost: u64,
    unnamed: u64,
    names: Vec<(&'static str, String)>,
    numbers: BTreeMap<(&'static str, String), u32>,
    /// Where the search has been: process, function, library.
    known: BTreeSet<(u32, usize, String)>,
    /// By function and library.
    attached: BTreeMap<(usize, String), Watched>,
    stop_ns: u64,
    refused: Option<String>,
    runs_before: u64,
    /// While this is held, the kernel measures how long programs run.
    _statistics: Option<OwnedFd>,
}

/// Loads the programs, without attaching them yet.
fn load() -> Result<LoadedObject, Refused> {
    LoadedObject::load_sized("toolkit", OBJECT, None, &[("event_rings", cpus::possible() as u32)])
}

/// Loads the programs and unloads them again.
pub(crate) fn try_out() -> Result<(), Refused> {
    load().map(drop)
}

impl ToolkitWatch {
    /// Loads the programs; [`ToolkitWatch::look`] attaches them to a program.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn start() -> Result<ToolkitWatch, Refused> {
        let doing = "looking at events of toolkits";
        if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            return Err(Refused::because(doing, "what functions are given is known only on x86-64 and arm64"));
        }
        if !std::path::Path::new("/sys/bus/event_source/devices/uprobe/type").exists() {
            return Err(Refused::because(doing, "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)"));
        }
        let possible = cpus::possible();
        let mut object = load()?;
        let memory = object.shared_array("event_rings")?;
        // Panics now rather than later if a ring is smaller than the records say.
        let _ = memory.at::<EventRing>(0, possible);
        let statistics = enable_run_time_statistics().ok();
        let stop_ns = stop::cost_ns(&mut object, "xt_event")?;
        let mut watch = ToolkitWatch {
            object,
            memory,
            read: vec![0; possible],
            waiting: Vec::new(),
            lost: 0,
            unnamed: 0,
            names: Vec::new(),
            numbers: BTreeMap::new(),
            known: BTreeSet::new(),
            attached: BTreeMap::new(),
            stop_ns,
            refused: None,
            runs_before: 0,
            _statistics: statistics,
        };
        // What was noted of this process is nobody's event.
        watch.take(u64::MAX, &mut Vec::new());
        (watch.lost, watch.runs_before) = (0, watch.runs());
        Ok(watch)
    }

    /// Looks for libraries of toolkits in processes, and attaches the programs to new ones. With `speaks_wayland` their
    /// events may come from a Wayland compositor.
    pub fn look(&mut self, processes: &[u32], speaks_wayland: bool) {
        for &process in processes.iter().take(MAX_PROCESSES) {
            let is_known = |function: usize, path: &str| self.known.contains(&(process, function, path.to_owned()));
            for library in libraries::of(process, speaks_wayland, is_known) {
                self.known.insert((process, library.function, libraries::named(&library.path).to_owned()));
                let watched = self.attached.entry((library.function, library.path)).or_default();
                let place = match library.place {
                    Ok(place) => place,
                    Err(why) => {
                        watched.why = Some(why.to_owned());
                        continue;
                    }
                };
                let program = FUNCTIONS[library.function].program;
                match self.object.attach_in_program(program, process, &place.opened, place.offset) {
                    Ok(()) => watched.processes += 1,
                    Err(error) => {
                        watched.why = Some(error.to_string());
                        self.refused = Some(error.to_string());
                    }
                }
            }
        }
    }

    /// Hands on what is older than this, by time.
    pub fn take(&mut self, until_ns: u64, into: &mut Vec<HandedOn>) {
        for cpu in 0..self.read.len() {
            let ring = self.memory.at::<EventRing>(cpu * size_of::<EventRing>(), 1).as_ptr();
            let waiting = &mut self.waiting;
            // SAFETY: within the mapping, which lives as long as `self`; a ring's size is a power of two. Only the programs
            // write them.
            self.lost += unsafe {
                let (records, head) = (&raw const (*ring).records, &raw const (*ring).head);
                lossy_ring::take(records.cast::<EventRecord>(), EVENTS, head, &mut self.read[cpu], |record| {
                    waiting.push(*record);
                })
            };
        }
        self.waiting.sort_by_key(|record| record.at);
        let ready = self.waiting.partition_point(|record| record.at < until_ns);
        let own = std::process::id();
        let records: Vec<EventRecord> = self.waiting.drain(..ready).filter(|record| record.process != own).collect();
        into.extend(records.iter().filter_map(|record| self.handed_on(record)));
    }

    fn handed_on(&mut self, record: &EventRecord) -> Option<HandedOn> {
        let function = FUNCTIONS.get((record.function as usize).checked_sub(1)?)?;
        let told = [&record.interface, &record.event].map(|word| {
            let end = word.iter().position(|byte| *byte == 0).unwrap_or(word.len());
            printable(&String::from_utf8_lossy(&word[..end]))
        });
        self.unnamed += u64::from(record.number == UNREADABLE);
        let name = match record.number {
            UNREADABLE if told[0].is_empty() => "?".to_owned(),
            number => function.name(number, (&told[0], &told[1])),
        };
        let name = self.number_of(function.toolkit, name);
        Some(HandedOn { at_ns: record.at, tid: record.tid, process: record.process, name })
    }

    fn number_of(&mut self, toolkit: &'static str, name: String) -> u32 {
        let name = if self.names.len() < MAX_NAMES { name } else { OTHERS.to_owned() };
        let key = (toolkit, name);
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(key.clone());
        self.numbers.insert(key, number);
        number
    }

    /// The toolkit and the name of an event.
    pub fn name(&self, number: u32) -> Option<(&'static str, &str)> {
        self.names.get(number as usize).map(|(toolkit, name)| (*toolkit, name.as_str()))
    }

    /// The libraries that were found.
    pub fn attached(&self) -> Vec<Attached> {
        let one = |((function, library), watched): (&(usize, String), &Watched)| Attached {
            toolkit: FUNCTIONS[*function].toolkit,
            library: library.clone(),
            function: FUNCTIONS[*function].symbol,
            processes: watched.processes,
            why: watched.why.clone(),
        };
        self.attached.iter().map(one).collect()
    }

    /// What the kernel last refused.
    pub fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// Events that were overwritten before they could be read.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Events whose kind could not be read.
    pub fn unnamed(&self) -> u64 {
        self.unnamed
    }

    /// What a stop costs whoever is stopped, as measured on a function of this process, ns.
    pub fn stop_ns(&self) -> u64 {
        self.stop_ns
    }

    /// How often somebody was stopped.
    pub fn stops(&self) -> u64 {
        self.runs().saturating_sub(self.runs_before)
    }

    fn runs(&self) -> u64 {
        let programs = self.object.programs();
        programs.iter().filter_map(|(_, program)| run_statistics(*program)).map(|(runs, ..)| runs).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::source_numbers::number_in;
    use libbpf_rs::btf::Btf;
    use punctual_kernel::bpf_layout::record_layout;
    use punctual_kernel::layout_of;

    #[test]
    fn the_records_are_those_of_the_programs() {
        let btf = Btf::from_raw("toolkit", OBJECT).unwrap().unwrap();
        assert_eq!(
            record_layout(&btf, "event_record"),
            layout_of!(EventRecord, sequence, at, tid, process, function, number, pad, interface, event)
        );
        assert_eq!(record_layout(&btf, "event_ring"), layout_of!(EventRing, records, head, pad));
        assert_eq!(number_in("toolkit_records.h", "EVENTS"), EVENTS as u64);
        assert_eq!(number_in("toolkit_records.h", "WORD_SIZE"), WORD_SIZE as u64);
    }
}
