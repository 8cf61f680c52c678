//! Whether a thread waits for a connection, or for what comes by one that it accepted: that is where a server gets its requests.
//! Waits that other threads end do not tell by themselves who asks whom.
//!
//! A thread of its own looks: the tables may be long, and a program in the midst of `exec` can keep whoever reads its
//! `/proc/TID/syscall` waiting for as long as it likes.

use super::connections::{Connection, WaitedFor};
use super::requests::Requests;
use super::socket_tables::Tables;
use super::waits_by::{MAX_DESCRIPTORS, WaitsBy, awaited, inode, link, waits_by};
use punctual_kernel::clock;
use punctual_kernel::scheduling::{Scheduling, set_scheduling};
use punctual_kernel::unix_peers::UnixPeers;
use punctual_recording::Stage;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// All threads together are looked at this many times at most, ...
const MAX_LOOKS: usize = 2_048;
/// ... of which this many may be at what one of them waits for, so that a program of many threads leaves some for connections, ...
const MAX_LOOKS_AT_WAITS: usize = MAX_LOOKS / 2;
/// ... while that has taken no more CPU time than this, ns: each look may read tables of all connections.
const MAX_CPU_NS: u64 = 200_000_000;
/// How long a round waits for a look: one that takes longer counts in a later round.
const PATIENCE: Duration = Duration::from_millis(2);

/// Takes what is to be looked at, and tells of which thread it has seen what; `None` if it could not be looked at.
type Looker = (Sender<Look>, Receiver<Told>);
type Told = (u32, Option<Seen>);

/// Looks at followed threads while they wait.
pub(super) struct Looks {
    /// Asks for a look at a thread, and says what was seen; `None` if there are no looks any more.
    looker: Option<Looker>,
    /// Whether a look was asked for that is not over.
    is_asked: bool,
    /// How many looks there have been at what a thread waits for.
    at_waits: usize,
    /// Whether the next one is for connections, if any are due: the two kinds take turns.
    is_for_connections: bool,
}

/// A look that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    tid: u32,
    /// Its process, which has the connections though the thread may have ended.
    process: u32,
    /// Whether the program's connections are to be listed.
    lists: bool,
}

/// What was seen of a thread between two times, ns of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone)]
struct Seen {
    process: u32,
    begun_ns: u64,
    over_ns: u64,
    /// What it waited for up to a time, if it waited all the time and that is known.
    awaited: Option<(WaitedFor, u64)>,
    /// By which socket, if it read one.
    socket: Option<u64>,
    connections: Listing,
}

/// A program's connections.
#[derive(Debug, Clone)]
enum Listing {
    NotAsked,
    /// There are too many descriptors, or it took too long to find them in long tables; those that were looked at.
    TooMany(Found),
    Of(Found),
}

/// What was found of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Found {
    connections: Vec<Connection>,
    /// By descriptors of local sockets, the paths at which somebody listens.
    paths: BTreeMap<u32, String>,
    /// Those that the program accepted: not where it listens.
    accepted: BTreeSet<u64>,
    /// How many threads it has; 0: not known.
    threads: usize,
}

impl Found {
    /// Whether they show that the program accepts connections.
    fn accepts(&self) -> bool {
        self.connections.iter().any(|one| one.brings == WaitedFor::Request)
    }
}

impl Looks {
    /// For requests; in a PID namespace `/proc` knows threads by other numbers.
    pub(super) fn new(stage: Stage) -> Looks {
        let is_wanted = stage == Stage::Request && !clock::in_pid_namespace();
        let looker = if is_wanted { begin() } else { None };
        Looks { looker, is_asked: false, at_waits: 0, is_for_connections: false }
    }

    /// Whether anything is looked at.
    pub(super) fn go_on(&self) -> bool {
        self.looker.is_some()
    }

    /// Asks for a look at one thread.
    pub(super) fn look(&mut self, requests: &mut Requests) {
        if self.looker.is_none() {
            return;
        }
        if self.is_asked {
            return self.take(requests, Duration::ZERO);
        }
        let next = self.next(requests, clock::monotonic_ns());
        let Some(((ask, _), next)) = self.looker.as_ref().zip(next) else { return };
        self.is_asked = ask.send(next).is_ok();
        self.take(requests, PATIENCE);
    }

    /// One at a thread of which it is not known yet where it gets its requests, or at one of a program that was not looked at for long.
    fn next(&mut self, requests: &mut Requests, now_ns: u64) -> Option<Look> {
        if std::mem::take(&mut self.is_for_connections)
            && let Some(tid) = requests.next_refresh(now_ns)
        {
            return Some(requests.look_at(tid, true));
        }
        self.is_for_connections = true;
        if self.at_waits < MAX_LOOKS_AT_WAITS
            && let Some(tid) = requests.next_look()
        {
            self.at_waits += 1;
            let lists = requests.ask_to_list(tid, now_ns);
            return Some(requests.look_at(tid, lists));
        }
        requests.next_refresh(now_ns).map(|tid| requests.look_at(tid, true))
    }

    fn take(&mut self, requests: &mut Requests, patience: Duration) {
        let Some((_, told)) = &self.looker else { return };
        match told.recv_timeout(patience) {
            Ok((tid, None)) => {
                self.is_asked = false;
                requests.give_up_looks_at(tid);
            }
            Ok((tid, Some(Seen { process, begun_ns, over_ns, awaited, socket, connections }))) => {
                self.is_asked = false;
                // Whether it waited there all the time shows when the wait is over.
                if let Some((awaited, until_ns)) = awaited {
                    requests.saw(tid, (begun_ns, until_ns), awaited);
                    socket.into_iter().for_each(|socket| requests.saw_socket(tid, begun_ns, socket));
                }
                match connections {
                    Listing::NotAsked => {}
                    Listing::TooMany(found) => {
                        requests.programs.saw_too_many(process, found.accepts());
                        requests.programs.saw_accepted(process, found.accepted.len(), found.threads);
                    }
                    Listing::Of(found) => {
                        requests.programs.saw(process, (begun_ns, over_ns), &found.connections);
                        requests.programs.saw_accepted(process, found.accepted.len(), found.threads);
                        requests.programs.saw_paths(process, found.paths);
                    }
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => self.looker = None,
        }
    }
}

/// Begins a thread that looks until nobody asks any more. Nobody waits for its end: if a look does not come back, it ends with
/// the process.
fn begin() -> Option<Looker> {
    let (ask, asked) = channel::<Look>();
    let (tell, told) = channel();
    let body = move || {
        // Whoever begins it may be ahead of others at that time.
        let _ = set_scheduling(Scheduling::Other);
        let peers = UnixPeers::open();
        for look in asked.iter().take(MAX_LOOKS) {
            if tell.send((look.tid, look_at(look, peers.as_ref()))).is_err() || has_taken_its_time() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("looks".to_owned()).stack_size(256 * 1024).spawn(body).ok().map(|_| (ask, told))
}

/// Whether the calling thread has looked for as long as all looks together may take.
fn has_taken_its_time() -> bool {
    clock::thread_cpu_ns() > MAX_CPU_NS
}

impl Requests {
    fn look_at(&self, tid: u32, lists: bool) -> Look {
        Look { tid, process: self.threads.get(&tid).map_or(tid, |thread| thread.process), lists }
    }
}

/// `None` if it ended, or may not be looked at; of the connections of a program whose thread has ended, another one may still tell.
fn look_at(Look { tid, process, lists }: Look, peers: Option<&UnixPeers>) -> Option<Seen> {
    let begun_ns = clock::monotonic_ns();
    let called = std::fs::read_to_string(format!("/proc/{tid}/syscall")).ok();
    let directory = match called {
        Some(_) => format!("/proc/{tid}"),
        None if lists && process != tid && Path::new(&format!("/proc/{process}")).exists() => {
            format!("/proc/{process}")
        }
        None => return None,
    };
    let waits_by = called.and_then(|called| waits_by(&directory, &called));
    let until_ns = clock::monotonic_ns();
    let socket = waits_by.as_ref().and_then(WaitsBy::socket);
    let tables = Tables::of(&directory, peers);
    let awaited = waits_by.and_then(|by| awaited(&by, &tables, has_taken_its_time));
    // It need not wait for as long as it takes to look into the tables, unless nothing tells who asks: see `Sight::is_decided_by`.
    let over_ns = |awaited: WaitedFor| if awaited.is_unclear() { clock::monotonic_ns() } else { until_ns };
    let awaited = awaited.map(|awaited| (awaited, over_ns(awaited)));
    let connections = match lists {
        true => listing(&directory, &tables, has_taken_its_time),
        false => Listing::NotAsked,
    };
    Some(Seen { process, begun_ns, over_ns: clock::monotonic_ns(), awaited, socket, connections })
}

/// The connections of a thread's program of which it is known what comes by them, unless there are too many, or it takes longer to find them in
/// long tables than `is_over` allows.
fn listing(directory: &str, tables: &Tables<'_>, is_over: impl Fn() -> bool) -> Listing {
    let stat = std::fs::read_to_string(format!("{directory}/stat")).unwrap_or_default();
    let mut found = Found { threads: threads(&stat).unwrap_or(0), ..Found::default() };
    match list(directory, tables, is_over, &mut found) {
        Some(()) => Listing::Of(found),
        None => Listing::TooMany(found),
    }
}

/// How many threads a process has, as `/proc/TID/stat` tells. The name in it may be anything.
fn threads(stat: &str) -> Option<usize> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(17)?.parse().ok()
}

/// Adds them one after the other; `None` if it does not get to the last.
fn list(directory: &str, tables: &Tables<'_>, is_over: impl Fn() -> bool, found: &mut Found) -> Option<()> {
    let entries = std::fs::read_dir(format!("{directory}/fd")).ok()?;
    let descriptors =
        entries.flatten().take(MAX_DESCRIPTORS).filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    for (number, descriptor) in descriptors.enumerate() {
        if number + 1 == MAX_DESCRIPTORS || is_over() {
            return None;
        }
        let link = link(&format!("{directory}/fd/{descriptor}"));
        let Some(inode) = link.as_deref().and_then(inode) else { continue };
        if let Some(((brings, path), number)) = tables.brings(inode).zip(inode.parse().ok()) {
            let is_accepted = brings == WaitedFor::Request && !tables.listens(inode);
            found.accepted.extend(is_accepted.then_some(number));
            found.connections.push(Connection { descriptor, inode: number, brings });
            found.paths.extend(path.map(|path| (descriptor, path)));
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::requests::{EndedBy, Pause, Stretch};
    use super::*;
    use punctual_recording::episode::Call;

    /// Each descriptor is looked for in tables that may be megabytes long.
    #[test]
    fn a_look_ends_between_two_descriptors_when_its_time_is_over() {
        let tables = Tables::default();
        let mut found = Found::default();
        assert_eq!(list("/proc/self", &tables, || true, &mut found), None);
        assert_eq!(list("/proc/self", &tables, || false, &mut found), Some(()));
        assert_eq!(found, Found::default(), "tables that are not known tell nothing");
    }

    #[test]
    fn a_process_tells_how_many_threads_it_has() {
        let before = "S 1 1 1 0 -1 4194560 1 0 0 0 1 2 0 0 20 0";
        assert_eq!(threads(&format!("7 (a) b (c)) {before} 12 0 5 6 7")), Some(12));
        assert_eq!([threads(""), threads("7 (a) S 1")], [None, None]);
        let own = std::fs::read_to_string("/proc/self/stat").unwrap();
        assert!(threads(&own) >= Some(1), "{own}");
    }

    fn none() -> Looks {
        Looks { looker: None, is_asked: false, at_waits: 0, is_for_connections: false }
    }

    /// Threads that wait for one thing each, of two programs.
    fn waiting() -> Requests {
        let mut requests = Requests::default();
        for (tid, process) in [(1, 10), (2, 10), (3, 20)] {
            let then = Pause::Waits { place: tid, call: Some(Call::Read) };
            let stretch = Stretch { process, expected_ns: 1, ended_by: EndedBy::Thread, ran_ns: 1, until_ns: 2, then };
            assert_eq!(requests.next(tid, &stretch).count(), 0);
        }
        requests
    }

    /// A program of many threads, of each of which it is not known where it gets its requests, does not keep the looks at connections from others.
    #[test]
    fn looks_at_waits_and_at_connections_take_turns_and_share_what_there_is() {
        let mut requests = waiting();
        let mut looks = none();
        let mut next = || looks.next(&mut requests, 1_000_000_000);
        let taken: Vec<Option<Look>> = (0..4).map(|_| next()).collect();
        let look = |tid, lists| Some(Look { tid, process: if tid == 3 { 20 } else { 10 }, lists });
        assert_eq!(taken[0], look(1, true));
        assert_eq!(taken[1], look(3, true), "the connections of the other program");
        assert_eq!(taken[2..], [look(2, false), look(3, false)], "connections were just asked for");
        assert_eq!(next(), None);
        let mut requests = waiting();
        let mut looks = Looks { at_waits: MAX_LOOKS_AT_WAITS, ..none() };
        let taken: Vec<bool> =
            std::iter::from_fn(|| looks.next(&mut requests, 1_000_000_000)).map(|look| look.lists).collect();
        assert_eq!(taken, [true, true], "one look at the connections of each program");
    }

    #[test]
    fn a_thread_that_has_ended_is_not_looked_at_again() {
        let mut requests = waiting();
        let (ask, _asked) = channel();
        let (tell, told) = channel();
        let mut looks = Looks { looker: Some((ask, told)), is_asked: true, ..none() };
        for tid in [1, 2] {
            tell.send((tid, None)).unwrap();
            looks.take(&mut requests, Duration::ZERO);
        }
        let taken: Vec<u32> = std::iter::from_fn(|| requests.next_refresh(1_000_000_000)).collect();
        assert_eq!((taken, looks.is_asked), (vec![3], false));
    }

    #[test]
    fn a_look_that_does_not_come_back_holds_nobody_up() {
        let (ask, _asked) = channel();
        let (_tell, told) = channel();
        let mut looks = Looks { looker: Some((ask, told)), is_asked: true, ..none() };
        looks.look(&mut Requests::default());
        assert!(looks.is_asked && looks.looker.is_some());
        // Whoever looks has taken its time and ended.
        let (ask, _) = channel();
        let (_, told) = channel();
        let mut looks = Looks { looker: Some((ask, told)), is_asked: true, ..none() };
        looks.look(&mut Requests::default());
        assert!(looks.looker.is_none());
    }
}
