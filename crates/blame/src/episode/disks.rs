//! Requests to disks: whose they were, and when they were served.

use super::chain::is_by_a_thread;
use punctual_recording::Episode;
use punctual_recording::counted;
use punctual_recording::episode::{Event, EventKind, HELD_BACK_WORK};
use std::collections::{BTreeMap, BTreeSet};

/// Whoever waits for a request is woken this soon after it is done, ns.
const WOKEN_NS: u64 = 1_000_000;

/// A request that was done.
#[derive(Debug)]
struct Request<'a> {
    /// Who made it, where that was seen.
    made: Option<&'a Event>,
    done_ns: u64,
    /// Which thread did that, if it was no interrupt.
    done_by: Option<u32>,
    disk: &'a str,
    /// The position of that name.
    number: u32,
    /// Whether it was held back before it was made, by the limit of a control group.
    is_held_back: bool,
}

/// The requests of an episode, by when they were done.
#[derive(Debug, Default)]
pub(crate) struct Requests<'a>(Vec<Request<'a>>);

/// What a thread waited for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DiskWait {
    /// The disk's name.
    pub(crate) disk: String,
    /// Whose requests it served meanwhile.
    pub(crate) served: Option<String>,
    /// Whether the request that was done last is the thread's own.
    pub(crate) is_own: bool,
    /// Threads that asked a disk for something meanwhile, or told that it was done.
    pub(crate) concerned: BTreeSet<u32>,
    /// The position of the disk's name.
    pub(crate) number: u32,
    /// Until when the limit of a control group held that request back, if one did.
    pub(crate) held_back_until: Option<u64>,
}

impl<'a> Requests<'a> {
    pub(crate) fn of(episode: &'a Episode) -> Requests<'a> {
        let is_one = |event: &&Event| {
            let is_request = matches!(event.kind, EventKind::RequestBegin | EventKind::RequestEnd);
            is_request || matches!(event.kind, EventKind::WorkBegin | EventKind::WorkEnd)
        };
        let mut events: Vec<&Event> = episode.events.iter().filter(is_one).collect();
        events.sort_by_key(|event| event.at_ns);
        let mut open: BTreeMap<u64, (&Event, bool)> = BTreeMap::new();
        // The workers that let go on what was held back.
        let mut lets_go: BTreeSet<u32> = BTreeSet::new();
        let mut done = Vec::new();
        for event in events {
            match event.kind {
                EventKind::WorkBegin if episode.name(event.name) == HELD_BACK_WORK => {
                    lets_go.insert(event.tid);
                }
                EventKind::WorkBegin | EventKind::WorkEnd => {
                    lets_go.remove(&event.tid);
                }
                EventKind::RequestBegin => {
                    open.entry(event.value).or_insert((event, lets_go.contains(&event.tid)));
                }
                _ => {
                    let (made, is_held_back) = open.remove(&event.value).unzip();
                    let is_held_back = is_held_back.unwrap_or(false);
                    let (number, done_ns) = (event.name, event.at_ns);
                    let (done_by, disk) = (is_by_a_thread(event).then_some(event.tid), episode.name(number));
                    done.push(Request { made, done_ns, done_by, disk, number, is_held_back });
                }
            }
        }
        Requests(done)
    }

    /// The disk of which a thread asked something within a time, which was done within it: the last one.
    pub(crate) fn asked_within(&self, tid: u32, start_ns: u64, end_ns: u64) -> Option<&'a str> {
        let first = self.0.partition_point(|request| request.done_ns < start_ns);
        let end = self.0.partition_point(|request| request.done_ns <= end_ns);
        let within = self.0.get(first..end.max(first)).unwrap_or_default();
        let is_its = |made: &Event| made.tid == tid && made.at_ns >= start_ns;
        let last = within.iter().rfind(|request| request.made.is_some_and(is_its))?;
        Some(last.disk).filter(|disk| !disk.is_empty() && *disk != "?")
    }

    /// The disk that a thread waited for from one time to its waking: that of its own last request, or where it made none,
    /// as one who waits for the journal, of the last one that was done. `None` where none was done just before the waking.
    pub(crate) fn waited_for(&self, episode: &Episode, tid: u32, start_ns: u64, end_ns: u64) -> Option<DiskWait> {
        let first = self.0.partition_point(|request| request.done_ns <= start_ns);
        let end = self.0.partition_point(|request| request.done_ns <= end_ns);
        let within = self.0.get(first..end.max(first)).unwrap_or_default();
        let is_its = |request: &&Request<'_>| request.made.is_some_and(|made| made.tid == tid);
        let is_just_done = |request: &&Request<'_>| end_ns - request.done_ns <= WOKEN_NS;
        let own = within.iter().rfind(is_its);
        // What a limit had held back a worker makes in the thread's stead, after what it could make itself.
        let held_back = within.last().filter(|last| last.is_held_back && !own.is_some_and(|own| is_just_done(&own)));
        let last = held_back.or(own).or(within.last()).filter(is_just_done)?;
        if last.disk.is_empty() || last.disk == "?" {
            return None;
        }
        // Others' requests that were done first.
        let mut others: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        let before = within.iter().filter(|request| request.disk == last.disk && request.done_ns <= last.done_ns);
        // Nobody waits behind what it waits for.
        let before = before.filter(|request| !std::ptr::eq(*request, last));
        for made in before.filter_map(|request| request.made).filter(|made| made.tid != tid) {
            let (count, bytes) = others.entry(episode.name(made.name)).or_default();
            *count += 1;
            *bytes = bytes.saturating_add(made.extra);
        }
        let most = others.into_iter().max_by_key(|(_, (_, bytes))| *bytes);
        let served = most.map(|(name, (count, bytes))| {
            format!("after {} of {name}, {} KiB", counted(count, "request"), bytes.div_ceil(1024))
        });
        // Another one's, as one of the journal, or of a worker that hands on what a limit had held back.
        let of_another = || {
            let made = last.made.filter(|made| made.tid != tid)?;
            Some(format!("by a request of {}, {} KiB", episode.name(made.name), made.extra.div_ceil(1024)))
        };
        let served = served.or_else(of_another);
        let held_back_until = last.made.filter(|_| last.is_held_back).map(|made| made.at_ns);
        Some(DiskWait {
            disk: last.disk.to_owned(),
            served,
            is_own: is_its(&last),
            concerned: within
                .iter()
                .flat_map(|request| request.made.map(|made| made.tid).into_iter().chain(request.done_by))
                .collect(),
            number: last.number,
            held_back_until,
        })
    }
}
