//! Requests to disks: whose they were, and when they were served.

use super::chain::is_by_a_thread;
use punctual_recording::Episode;
use punctual_recording::counted;
use punctual_recording::episode::{Event, EventKind, HELD_BACK_WORK, IN_INTERRUPT, IN_SOFTIRQ, LEFT_FOR_SPINLOCK};
use std::collections::{BTreeMap, BTreeSet};

/// Whoever waits for a request is woken this soon after it is done, ns.
const WOKEN_NS: u64 = 1_000_000;

/// A request that was made this long after somebody began to wait for it, ns, was made late.
const LATE_NS: u64 = 1_000_000;
/// What follows a disk's name in place of those whom it served first.
const NOT_SEEN: &str = "what kept its request before the disk was given it is not seen";

/// A request that was done.
#[derive(Debug)]
struct DiskRequest<'a> {
    /// Who made it, if that was seen.
    made: Option<&'a Event>,
    done: &'a Event,
    done_ns: u64,
    /// Which thread did that, unless it was an interrupt.
    done_by: Option<u32>,
    disk: &'a str,
    /// The position of that name.
    number: u32,
    /// Whether a control group's limit held it back before it was made.
    is_held_back: bool,
}

/// The requests of an episode, by when they were done.
#[derive(Debug, Default)]
pub(crate) struct DiskRequests<'a>(Vec<DiskRequest<'a>>);

/// What a thread waited for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DiskWait {
    /// The disk's name.
    pub(crate) disk: String,
    /// Whose requests it served meanwhile.
    pub(crate) served: Option<String>,
    /// Whether the request that was done last is the thread's own.
    pub(crate) is_own: bool,
    /// Threads that asked a disk for something meanwhile, or reported that it was done.
    pub(crate) concerned: BTreeSet<u32>,
    /// The position of the disk's name.
    pub(crate) number: u32,
    /// Until when a control group's limit held that request back, if one did.
    pub(crate) held_back_until: Option<u64>,
    /// The position of that group's name, if it is known whose limit it was.
    pub(crate) limit: Option<u32>,
    /// Whether it is certain that the thread waited for that request: it was woken as part of its end.
    pub(crate) is_certain: bool,
}

impl<'a> DiskRequests<'a> {
    pub(crate) fn of(episode: &'a Episode) -> DiskRequests<'a> {
        let is_one = |event: &&Event| {
            let is_request = matches!(event.kind, EventKind::RequestBegin | EventKind::RequestEnd);
            is_request || matches!(event.kind, EventKind::WorkBegin | EventKind::WorkEnd)
        };
        let mut events: Vec<&Event> = episode.events.iter().filter(is_one).collect();
        events.sort_by_key(|event| event.at_ns);
        let mut open: BTreeMap<u64, (&Event, bool)> = BTreeMap::new();
        // The workers that release what was held back.
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
                    done.push(DiskRequest { made, done: event, done_ns, done_by, disk, number, is_held_back });
                }
            }
        }
        DiskRequests(done)
    }

    /// The disk of which a thread asked something within a time, and which did it within that time: the last one.
    pub(crate) fn asked_within(&self, tid: u32, start_ns: u64, end_ns: u64) -> Option<&'a str> {
        let first = self.0.partition_point(|request| request.done_ns < start_ns);
        let end = self.0.partition_point(|request| request.done_ns <= end_ns);
        let within = self.0.get(first..end.max(first)).unwrap_or_default();
        let is_its = |made: &Event| made.tid == tid && made.at_ns >= start_ns;
        let last = within.iter().rfind(|request| request.made.is_some_and(is_its))?;
        Some(last.disk).filter(|disk| !disk.is_empty() && *disk != "?")
    }

    /// Whether somebody was woken as part of the end of a request.
    pub(crate) fn is_end_of_one(&self, episode: &Episode, waking: &Event) -> bool {
        let end = self.0.partition_point(|request| request.done_ns <= waking.at_ns);
        let last_there = self.0[..end].iter().rfind(|request| request.done.cpu == waking.cpu);
        last_there.is_some_and(|last| is_within_end(episode, last.done, waking))
    }

    /// The disk that a thread waited for from one time to its waking: that of the request as part of whose end it was woken, else of its
    /// own last one, or where it made none, as one who waits for the journal, of the last one that was done. `None` where none was done
    /// just before the waking.
    pub(crate) fn waited_for(&self, episode: &Episode, tid: u32, start_ns: u64, waking: &Event) -> Option<DiskWait> {
        let end_ns = waking.at_ns;
        let first = self.0.partition_point(|request| request.done_ns <= start_ns);
        let end = self.0.partition_point(|request| request.done_ns <= end_ns);
        let within = self.0.get(first..end.max(first)).unwrap_or_default();
        let is_its = |request: &&DiskRequest<'_>| request.made.is_some_and(|made| made.tid == tid);
        let is_just_done = |request: &&DiskRequest<'_>| end_ns - request.done_ns <= WOKEN_NS;
        let own = within.iter().rfind(is_its);
        // What a limit had held back, a worker makes in the thread's place, after what the thread could make itself.
        let held_back = within.last().filter(|last| last.is_held_back && !own.is_some_and(|own| is_just_done(&own)));
        // On a slow machine a thread that is woken as part of an end may be woken later; to check that takes a look at
        // all events.
        let last_there = within.iter().rfind(|request| request.done.cpu == waking.cpu);
        let last_there = last_there.filter(|last| last.is_held_back || !is_just_done(last));
        let certain = last_there.filter(|last| is_within_end(episode, last.done, waking));
        let last = certain.or_else(|| held_back.or(own).or(within.last()).filter(is_just_done))?;
        if last.disk.is_empty() || last.disk == "?" {
            return None;
        }
        let is_certain = certain.is_some();
        let served = match last.made {
            // Whoever was served meanwhile has nothing to do with a request that the disk had not been given yet.
            Some(made)
                if made.at_ns > start_ns
                    && (last.is_held_back || made.tid != tid && is_late(start_ns, made.at_ns, end_ns)) =>
            {
                Some(NOT_SEEN.to_owned())
            }
            _ => served_first(episode, within, last, tid),
        };
        let held_back_until = last.made.filter(|_| last.is_held_back).map(|made| made.at_ns);
        // One more than the position.
        let limit = last.made.filter(|_| last.is_held_back).and_then(|made| ((made.extra >> 32) as u32).checked_sub(1));
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
            limit,
            is_certain,
        })
    }
}

/// Whose requests a disk served before the last one: those of others that were done first, otherwise whoever made the last one.
fn served_first(episode: &Episode, within: &[DiskRequest<'_>], last: &DiskRequest<'_>, tid: u32) -> Option<String> {
    let mut others: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let before = within.iter().filter(|request| request.disk == last.disk && request.done_ns <= last.done_ns);
    // Nobody waits behind what it waits for itself.
    let before = before.filter(|request| !std::ptr::eq(*request, last));
    for made in before.filter_map(|request| request.made).filter(|made| made.tid != tid) {
        let (count, bytes) = others.entry(episode.name(made.name)).or_default();
        *count += 1;
        *bytes = bytes.saturating_add(bytes_of(made));
    }
    let most = others.into_iter().max_by_key(|(_, (_, bytes))| *bytes);
    let served = most.map(|(name, (count, bytes))| {
        format!("after {} of {name}, {} KiB", counted(count, "request"), bytes.div_ceil(1024))
    });
    // Somebody else's, such as the journal's; whoever releases what was held back has asked for nothing.
    let of_another = || {
        let made = last.made.filter(|made| made.tid != tid && !last.is_held_back)?;
        Some(format!("by a request of {}, {} KiB", episode.name(made.name), bytes_of(made).div_ceil(1024)))
    };
    served.or_else(of_another)
}

/// How much was asked for.
fn bytes_of(made: &Event) -> u64 {
    made.extra & u64::from(u32::MAX)
}

/// Whether a request was made so late in a wait that most of the wait had passed before, for longer than anything else takes.
fn is_late(start_ns: u64, made_ns: u64, end_ns: u64) -> bool {
    let before_ns = made_ns.saturating_sub(start_ns);
    before_ns > LATE_NS && before_ns > end_ns.saturating_sub(start_ns) / 2
}

/// Whether a thread was woken as part of the end of a request: by whoever ended it, which did nothing else in between.
/// Interrupts may have interrupted that, and other threads too.
fn is_within_end(episode: &Episode, done: &Event, waking: &Event) -> bool {
    let context = |event: &Event| event.context & (IN_INTERRUPT | IN_SOFTIRQ);
    if done.cpu != waking.cpu || done.tid != waking.tid || (context(done) == 0) != (context(waking) == 0) {
        return false;
    }
    let is_between = |event: &&Event| {
        let is_its = event.cpu == done.cpu && event.tid == done.tid;
        is_its && event.at_ns >= done.at_ns && event.at_ns <= waking.at_ns && **event != *done
    };
    let mut over: u32 = 0;
    for event in episode.events.iter().filter(is_between) {
        match event.kind {
            EventKind::VectorBegin | EventKind::HandlerBegin => over += 1,
            EventKind::VectorEnd | EventKind::HandlerEnd if over > 0 => over -= 1,
            EventKind::Switch if event.left_state() & !LEFT_FOR_SPINLOCK == 0 => {}
            EventKind::RequestEnd
            | EventKind::Switch
            | EventKind::VectorEnd
            | EventKind::HandlerEnd
            | EventKind::SoftirqBegin
            | EventKind::SoftirqEnd
                if over == 0 =>
            {
                return false;
            }
            _ => {}
        }
    }
    over == 0
}
