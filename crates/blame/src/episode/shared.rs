//! What everybody's time in an episode is judged by, looked up once.

use crate::episode::disks::DiskRequests;
use crate::episode::index::Index;
use crate::episode::replay::CpuTimeline;
use crate::episode::sampling::seen_at;
use crate::episode::threads::{names_by_time, threads};
use crate::episode::waits::Waits;
use punctual_recording::Episode;
use punctual_recording::episode::StackSample;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// How many events are examined for those who were waited for, within one episode; beyond that nobody looks into what they did.
const MAX_LOOKS: u64 = 200_000_000;
/// About how often each event is examined to judge one of them.
const LOOKS: u64 = 4;

/// An episode, and what follows from it whoever is examined.
pub(crate) struct Shared<'a> {
    pub(crate) episode: &'a Episode,
    /// Where its events are.
    pub(crate) index: Index<'a>,
    /// What each CPU was doing.
    pub(crate) timelines: &'a BTreeMap<u32, CpuTimeline>,
    /// The samples of the clock, each with the time of what it saw.
    pub(crate) samples: Vec<(u64, &'a StackSample)>,
    /// The same by CPU and time.
    pub(crate) by_cpu: BTreeMap<u32, Vec<(u64, &'a StackSample)>>,
    /// Those at late interrupts, by CPU and time.
    pub(crate) late: BTreeMap<u32, Vec<&'a StackSample>>,
    /// Names of threads, wherever one was seen.
    pub(crate) threads: BTreeMap<u32, &'a str>,
    /// The same by when they were seen: a thread may run another program, or rename itself.
    named: BTreeMap<u32, Vec<(u64, &'a str)>>,
    /// What was asked of disks.
    pub(crate) disk_requests: DiskRequests<'a>,
    waits: RefCell<BTreeMap<u32, Rc<Waits>>>,
    looks: Cell<u64>,
}

impl<'a> Shared<'a> {
    pub(crate) fn new(episode: &'a Episode, timelines: &'a BTreeMap<u32, CpuTimeline>) -> Shared<'a> {
        let (threads, named) = (threads(episode), names_by_time(episode));
        let clocked = episode.samples.iter().filter(|sample| !sample.at_late_interrupt);
        let index = Index::of(episode);
        let samples: Vec<_> = clocked.map(|sample| (seen_at(&index, sample), sample)).collect();
        let (mut by_cpu, mut late): (BTreeMap<_, Vec<_>>, BTreeMap<_, Vec<_>>) = Default::default();
        for &(at_ns, sample) in &samples {
            by_cpu.entry(sample.cpu).or_default().push((at_ns, sample));
        }
        by_cpu.values_mut().for_each(|samples| samples.sort_by_key(|(at_ns, _)| *at_ns));
        for sample in episode.samples.iter().filter(|sample| sample.at_late_interrupt) {
            late.entry(sample.cpu).or_default().push(sample);
        }
        late.values_mut().for_each(|samples: &mut Vec<&StackSample>| samples.sort_by_key(|sample| sample.at_ns));
        let disk_requests = DiskRequests::of(episode);
        let (waits, looks) = (RefCell::default(), Cell::new(0));
        Shared { episode, index, timelines, samples, by_cpu, late, threads, named, disk_requests, waits, looks }
    }

    /// The samples of the clock that saw a CPU after a time and up to another one.
    pub(crate) fn samples_within(&self, cpu: u32, after_ns: u64, until_ns: u64) -> &[(u64, &'a StackSample)] {
        let samples = self.by_cpu.get(&cpu).map_or(&[][..], Vec::as_slice);
        let first = samples.partition_point(|(at_ns, _)| *at_ns <= after_ns);
        let end = samples.partition_point(|(at_ns, _)| *at_ns <= until_ns);
        samples.get(first..end.max(first)).unwrap_or_default()
    }

    /// What a thread was called at a time, if it was seen by then or later.
    pub(crate) fn name_at(&self, tid: u32, at_ns: u64) -> Option<&'a str> {
        let names = self.named.get(&tid)?;
        let next = names.partition_point(|(seen_ns, _)| *seen_ns <= at_ns);
        names.get(next.saturating_sub(1)).map(|(_, name)| *name)
    }

    /// What a thread was called for most of a time, as far as it was seen by its end: it may rename itself as it begins a job, and when that is done.
    pub(crate) fn name_during(&self, tid: u32, from_ns: u64, until_ns: u64) -> Option<&'a str> {
        let names = self.named.get(&tid).filter(|names| tid != 0 && names.len() > 1)?;
        let until = |next: usize| names.get(next).map_or(until_ns, |(seen_ns, _)| (*seen_ns).min(until_ns));
        let held = names.iter().enumerate().map(|(place, (seen_ns, name))| {
            // Before it was first seen, it had that name as far as is known.
            let since_ns = if place == 0 { from_ns } else { (*seen_ns).max(from_ns) };
            (until(place + 1).saturating_sub(since_ns), *name)
        });
        let longest = held.filter(|(ns, name)| *ns > 0 && !matches!(*name, "" | "?")).max_by_key(|(ns, _)| *ns)?;
        Some(longest.1)
    }

    /// What a thread waited for while it had its CPU.
    pub(crate) fn waits(&self, tid: u32) -> Rc<Waits> {
        let mut waits = self.waits.borrow_mut();
        Rc::clone(waits.entry(tid).or_insert_with(|| Rc::new(Waits::of(self.episode, tid))))
    }

    /// Whether there is time to look into what one more thread did.
    pub(crate) fn may_look(&self) -> bool {
        let looks = self.looks.get();
        self.looks.set(looks.saturating_add(self.episode.events.len() as u64 * LOOKS));
        looks < MAX_LOOKS
    }
}
