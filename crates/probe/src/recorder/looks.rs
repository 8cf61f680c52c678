//! Whether a thread waits for a connection, or for what comes by one that it accepted: that is where a server gets its requests.
//! Waits that other threads end do not tell by themselves who asks whom.
//!
//! A thread of its own looks: the tables may be long, and a program in the midst of `exec` can keep whoever reads its
//! `/proc/TID/syscall` waiting for as long as it likes.

use super::connections::{Connection, WaitedFor};
use super::requests::Requests;
use super::socket_tables::Tables;
use punctual_kernel::clock;
use punctual_kernel::scheduling::{Scheduling, set_scheduling};
use punctual_kernel::unix_peers::UnixPeers;
use punctual_recording::Stage;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// The calls by which a thread waits for one connection.
const READS: [libc::c_long; 4] = [libc::SYS_read, libc::SYS_readv, libc::SYS_recvfrom, libc::SYS_recvmsg];
/// The calls by which it waits for a connection that somebody else makes.
const ACCEPTS: [libc::c_long; 2] = [libc::SYS_accept, libc::SYS_accept4];
/// The calls by which it waits for what comes by any descriptor of a set, ...
#[cfg(target_arch = "x86_64")]
const SETS: &[libc::c_long] = &[libc::SYS_epoll_wait, libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2];
#[cfg(not(target_arch = "x86_64"))]
const SETS: &[libc::c_long] = &[libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2];
/// ... or of a list whose length is the second argument. `select` does not tell how many there are.
#[cfg(target_arch = "x86_64")]
const LISTS: &[libc::c_long] = &[libc::SYS_poll, libc::SYS_ppoll];
#[cfg(not(target_arch = "x86_64"))]
const LISTS: &[libc::c_long] = &[libc::SYS_ppoll];
/// All threads together are looked at this many times at most, ...
const MAX_LOOKS: usize = 2_048;
/// ... of which this many may be at what one of them waits for, so that a program of many threads leaves some for connections, ...
const MAX_LOOKS_AT_WAITS: usize = MAX_LOOKS / 2;
/// ... while that has taken no more CPU time than this, ns: each look may read tables of all connections.
const MAX_CPU_NS: u64 = 200_000_000;
/// The connections of a program with this many descriptors, or more, are not known.
const MAX_DESCRIPTORS: usize = 64;
/// How much is read at most of what the kernel says of a set, bytes: the descriptors that count take less, and a program may watch millions.
const MAX_SET: usize = 16 << 10;
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
    /// Whether the program's connections are to be listed.
    lists: bool,
}

/// What was seen of a thread between two times, ns of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone)]
struct Seen {
    begun_ns: u64,
    over_ns: u64,
    /// What it waited for up to a time, if it waited all the time and that is known.
    awaited: Option<(WaitedFor, u64)>,
    connections: Listing,
}

/// A program's connections.
#[derive(Debug, Clone)]
enum Listing {
    NotAsked,
    /// There are too many descriptors, or it took too long to find them in long tables; whether those that were looked at show that the program
    /// accepts connections.
    TooMany {
        accepts: bool,
    },
    Of(Found),
}

/// What was found of them and, by descriptors of local sockets, the paths at which somebody listens.
type Found = (Vec<Connection>, BTreeMap<u32, String>);

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
        let listing = |tid: u32| Look { tid, lists: true };
        if std::mem::take(&mut self.is_for_connections)
            && let Some(tid) = requests.next_refresh(now_ns)
        {
            return Some(listing(tid));
        }
        self.is_for_connections = true;
        if self.at_waits < MAX_LOOKS_AT_WAITS
            && let Some(tid) = requests.next_look()
        {
            self.at_waits += 1;
            return Some(Look { tid, lists: requests.ask_to_list(tid, now_ns) });
        }
        requests.next_refresh(now_ns).map(listing)
    }

    fn take(&mut self, requests: &mut Requests, patience: Duration) {
        let Some((_, told)) = &self.looker else { return };
        match told.recv_timeout(patience) {
            Ok((tid, None)) => {
                self.is_asked = false;
                requests.give_up_looks_at(tid);
            }
            Ok((tid, Some(Seen { begun_ns, over_ns, awaited, connections }))) => {
                self.is_asked = false;
                // Whether it waited there all the time shows when the wait is over.
                if let Some((awaited, until_ns)) = awaited {
                    requests.saw(tid, (begun_ns, until_ns), awaited);
                }
                match connections {
                    Listing::NotAsked => {}
                    Listing::TooMany { accepts } => requests.saw_too_many(tid, accepts),
                    Listing::Of((found, paths)) => {
                        requests.saw_connections(tid, (begun_ns, over_ns), &found);
                        requests.saw_paths(tid, paths);
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

/// `None` if it ended, or may not be looked at.
fn look_at(Look { tid, lists }: Look, peers: Option<&UnixPeers>) -> Option<Seen> {
    let directory = format!("/proc/{tid}");
    let begun_ns = clock::monotonic_ns();
    let called = std::fs::read_to_string(format!("{directory}/syscall")).ok()?;
    let tables = Tables::of(&directory, peers);
    let awaited = awaited(&directory, &called, &tables).map(|awaited| (awaited, clock::monotonic_ns()));
    let connections = match lists {
        true => listing(&directory, &tables, has_taken_its_time),
        false => Listing::NotAsked,
    };
    Some(Seen { begun_ns, over_ns: clock::monotonic_ns(), awaited, connections })
}

/// `None` if that is not known, or it does not wait so.
fn awaited(directory: &str, called_for: &str, tables: &Tables<'_>) -> Option<WaitedFor> {
    let (number, descriptor, second) = called(called_for)?;
    if ACCEPTS.contains(&number) {
        return Some(WaitedFor::Request);
    }
    if SETS.contains(&number) {
        return of_set(directory, descriptor, tables);
    }
    if LISTS.contains(&number) {
        return (second > 1).then_some(WaitedFor::Several);
    }
    if !READS.contains(&number) {
        return None;
    }
    brought_by(&link(&format!("{directory}/fd/{descriptor}"))?, tables)
}

/// What comes by what a descriptor stands for; `None` if that is not known.
fn brought_by(link: &str, tables: &Tables<'_>) -> Option<WaitedFor> {
    if link.starts_with("pipe:[") {
        return Some(WaitedFor::Unclear);
    }
    let inode = inode(link)?;
    tables.awaited(inode).or_else(|| tables.has_no_path(inode).then_some(WaitedFor::Unclear))
}

/// What comes by the descriptors of a set, which the kernel lists. Those beyond [`MAX_DESCRIPTORS`] are not known; nor is any if it takes too
/// long to find them in long tables.
fn of_set(directory: &str, set: u64, tables: &Tables<'_>) -> Option<WaitedFor> {
    let info = File::open(format!("{directory}/fdinfo/{set}")).ok()?;
    let descriptors = descriptors_in(info)?;
    let mut brings = Vec::new();
    for descriptor in &descriptors {
        if has_taken_its_time() {
            return None;
        }
        let link = link(&format!("{directory}/fd/{descriptor}"));
        brings.push(link.and_then(|link| brought_by(&link, tables)));
    }
    if descriptors.len() == MAX_DESCRIPTORS {
        brings.push(None);
    }
    of_several(&brings)
}

/// The first [`MAX_DESCRIPTORS`] of a set. `None` if it cannot be read, or if so much comes before them (locks of the file) that they are cut off.
fn descriptors_in(info: impl Read) -> Option<Vec<u32>> {
    let mut text = String::new();
    let length = info.take(MAX_SET as u64).read_to_string(&mut text).ok()?;
    let found: Vec<u32> = descriptors(&text).take(MAX_DESCRIPTORS).collect();
    (length < MAX_SET || found.len() == MAX_DESCRIPTORS).then_some(found)
}

/// The descriptors of an `epoll` set, as `/proc/TID/fdinfo` writes them.
fn descriptors(info: &str) -> impl Iterator<Item = u32> {
    info.lines().filter_map(|line| line.strip_prefix("tfd:")?.split_ascii_whitespace().next()?.parse().ok())
}

/// What comes by any of several things, of which some may not be known. `None` if it may be anything but a request, and not all of it is unclear.
fn of_several(brings: &[Option<WaitedFor>]) -> Option<WaitedFor> {
    let is_all = |awaited: WaitedFor| brings.iter().all(|one| *one == Some(awaited));
    match brings.contains(&Some(WaitedFor::Request)) {
        true if is_all(WaitedFor::Request) => Some(WaitedFor::Request),
        true => Some(WaitedFor::Either),
        false if brings.is_empty() => None,
        false if is_all(WaitedFor::Answer) => Some(WaitedFor::Answer),
        false => is_all(WaitedFor::Unclear).then_some(WaitedFor::UnclearSet),
    }
}

/// The connections of a thread's program of which it is known what comes by them, unless there are too many, or it takes longer to find them in
/// long tables than `is_over` allows.
fn listing(directory: &str, tables: &Tables<'_>, is_over: impl Fn() -> bool) -> Listing {
    let mut found = Found::default();
    match list(directory, tables, is_over, &mut found) {
        Some(()) => Listing::Of(found),
        None => Listing::TooMany { accepts: found.0.iter().any(|one| one.brings == WaitedFor::Request) },
    }
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
        if let Some(((brings, path), inode)) = tables.brings(inode).zip(inode.parse().ok()) {
            found.0.push(Connection { descriptor, inode, brings });
            found.1.extend(path.map(|path| (descriptor, path)));
        }
    }
    Some(())
}

/// What a descriptor stands for, as `/proc` writes it.
fn link(path: &str) -> Option<String> {
    std::fs::read_link(path).ok()?.to_str().map(str::to_owned)
}

/// The inode of a socket.
fn inode(link: &str) -> Option<&str> {
    link.strip_prefix("socket:[")?.strip_suffix(']')
}

/// The number of the call in which a thread is, and its first two arguments, as `/proc/TID/syscall` has them.
fn called(call: &str) -> Option<(libc::c_long, u64, u64)> {
    let mut words = call.split_ascii_whitespace();
    let number = words.next()?.parse().ok()?;
    let mut argument = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    Some((number, argument()?, argument()?))
}

#[cfg(test)]
mod tests {
    use super::super::requests::{EndedBy, Pause, Stretch};
    use super::*;
    use punctual_recording::episode::Call;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_call_is_its_number_and_its_first_two_arguments() {
        assert_eq!(called("45 0x1f 0x7ffc00 0x40 0x0 0x0 0x0 0x7ffc10 0x7f00\n"), Some((45, 31, 0x7f_fc00)));
        for other in ["running\n", "-1 7ffc10 0x7f00\n", "", "0"] {
            assert_eq!(called(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_set_is_for_requests_if_any_of_its_descriptors_is() {
        let info = "pos:\t0\nflags:\t02000002\nmnt_id:\t15\nino:\t1057\n\
            tfd:        5 events:       19 data:                5  pos:0 ino:1f3 sdev:9\n\
            tfd:       12 events:       19 data:                c  pos:0 ino:1f4 sdev:9\n";
        assert_eq!(descriptors(info).collect::<Vec<u32>>(), [5, 12]);
        let (request, answer) = (Some(WaitedFor::Request), Some(WaitedFor::Answer));
        let unclear = Some(WaitedFor::Unclear);
        for (brings, expected) in [
            (&[request][..], request),
            (&[request, request][..], request),
            (&[request, answer][..], Some(WaitedFor::Either)),
            (&[request, None][..], Some(WaitedFor::Either)),
            (&[answer, answer][..], answer),
            (&[answer, None][..], None),
            (&[unclear, unclear][..], Some(WaitedFor::UnclearSet)),
            (&[unclear, answer][..], None),
            (&[unclear, None][..], None),
            (&[request, unclear][..], Some(WaitedFor::Either)),
            (&[None][..], None),
            (&[][..], None),
        ] {
            assert_eq!(of_several(brings), expected, "{brings:?}");
        }
    }

    #[test]
    fn no_more_of_a_set_is_read_than_its_first_descriptors_take() {
        let row = |number: usize| {
            format!(
                "tfd: {number:8} events: ffffffff data: ffffffffffffffff  pos:0 ino:ffffffffffffffff sdev:ffffffff\n"
            )
        };
        let set = |rows: usize| "pos:\t0\n".to_owned() + &(0..rows).map(row).collect::<String>();
        assert!(set(MAX_DESCRIPTORS).len() < MAX_SET);
        assert_eq!(descriptors_in(set(3).as_bytes()), Some(vec![0, 1, 2]));
        let all = descriptors_in(set(1_000).as_bytes()).map(|found| found.len());
        assert_eq!(all, Some(MAX_DESCRIPTORS));
        // What follows those, however long, is not read.
        let endless = descriptors_in(set(MAX_DESCRIPTORS).as_bytes().chain(std::io::repeat(b'\n')));
        assert_eq!(endless.map(|found| found.len()), Some(MAX_DESCRIPTORS));
        let locks = "lock:\t1: POSIX  ADVISORY  WRITE 1 00:0e:1057 0 0\n".repeat(MAX_SET / 40) + &set(3);
        assert_eq!(descriptors_in(locks.as_bytes()), None, "descriptors behind many locks");
    }

    /// A list may be of one descriptor, with a time limit: that is how an answer is waited for.
    #[test]
    fn a_list_of_one_descriptor_is_no_loop() {
        let call = |number: libc::c_long, second: u32| {
            format!("{number} 0x7ffc00 {second:#x} 0x64 0x0 0x0 0x0 0x7ffc10 0x7f00\n")
        };
        for (second, expected) in [(0, None), (1, None), (2, Some(WaitedFor::Several))] {
            assert_eq!(awaited("/proc/self", &call(libc::SYS_ppoll, second), &Tables::default()), expected);
        }
    }

    /// To read them takes milliseconds of a CPU that the threads that are looked at may need.
    #[test]
    fn no_table_is_read_for_a_thread_that_waits_for_no_socket() {
        let tables = Tables::default();
        let nothing = File::open("/dev/null").unwrap();
        let mut looked_at = 0;
        for (number, first) in
            [(libc::SYS_futex, 0), (libc::SYS_clock_nanosleep, 1), (libc::SYS_read, nothing.as_raw_fd())]
        {
            let call = format!("{number} {first:#x} 0x0 0x0 0x0 0x0 0x0 0x7ffc10 0x7f00\n");
            assert_eq!(awaited("/proc/self", &call, &tables), None, "{call}");
            assert_eq!(tables.were_read(), [false, false], "{call}");
            looked_at += 1;
        }
        assert_eq!(looked_at, 3);
        // A socket has to be looked for.
        let (one, _other) = UnixStream::pair().unwrap();
        let call = format!("{} {:#x} 0x0 0x0 0x0 0x0 0x0 0x7ffc10 0x7f00\n", libc::SYS_read, one.as_raw_fd());
        assert_eq!(awaited("/proc/self", &call, &tables), None, "tables that are not known tell nothing");
        assert_eq!(tables.were_read(), [true, true]);
    }

    /// Each descriptor is looked for in tables that may be megabytes long.
    #[test]
    fn a_look_ends_between_two_descriptors_when_its_time_is_over() {
        let tables = Tables::default();
        let mut found = Found::default();
        assert_eq!(list("/proc/self", &tables, || true, &mut found), None);
        assert_eq!(list("/proc/self", &tables, || false, &mut found), Some(()));
        assert_eq!(found, Found::default(), "tables that are not known tell nothing");
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
        let look = |tid, lists| Some(Look { tid, lists });
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
