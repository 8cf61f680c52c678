//! What a slice is judged by, and the verdict.

use super::way::Way;
use crate::episode::detail::Detail;
use crate::episode::disks::DiskRequests;
use crate::episode::groups::Turn;
use crate::episode::index::Index;
use crate::episode::priorities::Priorities;
use crate::episode::replay::CpuTimeline;
use crate::episode::shared::Shared;
use crate::episode::split::path_of;
use crate::episode::story::waking;
use crate::episode::subject::Subject;
use crate::episode::waits::Waits;
use crate::kind::Kind;
use crate::who::Who;
use punctual_recording::episode::{Call, Event, StackSample};
use punctual_recording::{Episode, Stage};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The victim's own way through the kernel takes microseconds; anything longer that is unexplained is not called ordinary.
pub(super) const OWN_PATH_NS: u64 = 50_000;
/// Whoever looks whether what it waits for has come, and waits on, takes less time for that, ns.
pub(super) const LOOK_NS: u64 = 100_000;

/// A verdict on a slice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Blamed {
    pub(crate) kind: Kind,
    pub(crate) who: Who,
    pub(crate) detail: Option<Detail>,
    /// See [`Piece::inside`](crate::Piece::inside).
    pub(crate) inside: Option<(Kind, Who)>,
    /// Whose it is, if that is a thread.
    pub(crate) tid: Option<u32>,
    /// Set for two normal threads, one of which had its turn.
    pub(crate) turn: Option<Turn>,
    /// See [`Piece::priorities`](crate::Piece::priorities).
    pub(crate) priorities: Option<Priorities>,
    /// See [`Piece::call`](crate::Piece::call).
    pub(crate) call: Option<Call>,
    /// See [`Piece::has_ended`](crate::Piece::has_ended).
    pub(crate) has_ended: bool,
}

impl Blamed {
    pub(crate) fn new(kind: Kind, who: impl Into<Who>) -> Blamed {
        Blamed {
            kind,
            who: who.into(),
            detail: None,
            inside: None,
            tid: None,
            turn: None,
            priorities: None,
            call: None,
            has_ended: false,
        }
    }

    pub(crate) fn unknown(why: &str) -> Blamed {
        Blamed::new(Kind::Unknown, why)
    }

    pub(crate) fn steal() -> Blamed {
        Blamed::new(Kind::Steal, "the host")
    }
}

/// A stretch of time in which a thread spun.
#[derive(Debug)]
pub(crate) struct Spin {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    /// When the thread was last seen before that: then it did not spin yet.
    pub(super) since_ns: u64,
    /// When the thread was next seen to do something else.
    pub(super) until_ns: u64,
    /// The function that was seen first.
    pub(super) function: String,
    /// Whether the holder ran all the time.
    pub(super) on_owner: bool,
    pub(super) holder: Option<String>,
}

/// All that is needed to judge.
pub(crate) struct Classifier<'a> {
    pub(super) episode: &'a Episode,
    pub(super) shared: &'a Shared<'a>,
    /// Where the episode's events are.
    pub(super) index: &'a Index<'a>,
    /// Whose time it is: the victim's, or that of whoever it waits for.
    pub(super) subject: Subject<'a>,
    /// What each CPU was doing.
    pub(super) timelines: &'a BTreeMap<u32, CpuTimeline>,
    /// The event that woke it.
    pub(super) waking: Option<&'a Event>,
    /// The samples of the clock, each with the time of what it saw.
    pub(super) samples: &'a [(u64, &'a StackSample)],
    /// Names of threads, wherever one was seen.
    pub(super) threads: &'a BTreeMap<u32, &'a str>,
    /// What the victim waited for while it had its CPU.
    pub(super) waits: Rc<Waits>,
    /// Where it spun for locks of the kernel, by time.
    pub(super) spins: Vec<Spin>,
    /// Where such a time, or one in which it may have spun, begins or ends.
    pub(super) spin_edges: BTreeSet<u64>,
    pub(super) disk_requests: &'a DiskRequests<'a>,
    /// For the last stretch of waiting that was examined: CPU, beginning and end, and the threads that were allowed to go on.
    pub(super) let_go_on: RefCell<Option<(Stretch, BTreeSet<u32>)>>,
    /// The same of the last stretch in which a timer was due, and when an interrupt came there first.
    pub(super) interrupted: RefCell<Option<(Stretch, u64)>>,
    /// The same of the last wait for a lock of the kernel, and who had that.
    pub(super) ended: RefCell<Option<(LockStretch, Option<String>)>>,
    /// Of one that serves several from a loop, and is waited for, what it waited for until it answered.
    pub(super) way: OnceCell<Option<Way<'a>>>,
    /// Whether that is being looked for.
    pub(super) finds_way: Cell<bool>,
    /// Of one that is waited for, how whoever waits for it asked it last, if that is seen.
    pub(super) asked: OnceCell<Option<&'a Event>>,
}

/// A CPU, and a time there.
pub(super) type Stretch = (u32, u64, u64);
/// The beginning and the end of a wait for a lock, and a time within it or before.
pub(super) type LockStretch = (u64, u64, u64);

impl<'a> Classifier<'a> {
    pub(crate) fn new(shared: &'a Shared<'a>, subject: Subject<'a>) -> Classifier<'a> {
        let episode = shared.episode;
        let mut classifier = Classifier {
            episode,
            shared,
            index: &shared.index,
            subject,
            timelines: shared.timelines,
            waking: waking(episode, &subject).map(|index| &episode.events[index]),
            samples: &shared.samples,
            threads: &shared.threads,
            waits: shared.waits(subject.tid),
            spins: Vec::new(),
            spin_edges: BTreeSet::new(),
            disk_requests: &shared.disk_requests,
            let_go_on: RefCell::default(),
            interrupted: RefCell::default(),
            ended: RefCell::default(),
            way: OnceCell::new(),
            finds_way: Cell::new(false),
            asked: OnceCell::new(),
        };
        classifier.spins = classifier.find_spins();
        classifier.spin_edges = classifier.edges_of_spins();
        classifier
    }

    /// Whether the question includes waits for others.
    pub(crate) fn is_of_a_request(&self) -> bool {
        self.subject.stage == Stage::Request
    }

    /// The path of a thread's control group.
    pub(crate) fn cgroup(&self, tid: u32) -> Option<String> {
        path_of(self.index.group_of(tid))
    }

    /// What a thread was called at a time.
    pub(super) fn thread_at(&self, tid: u32, at_ns: u64) -> String {
        self.shared.name_at(tid, at_ns).filter(|_| tid != 0).map_or_else(|| self.thread(tid), str::to_owned)
    }

    pub(super) fn thread(&self, tid: u32) -> String {
        self.threads.get(&tid).map_or_else(|| format!("thread {tid}"), |&name| name.to_owned())
    }
}
