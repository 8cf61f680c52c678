//! By what a thread waits, as `/proc` has it, and what comes by that.

use super::connections::WaitedFor;
use super::socket_tables::Tables;
use std::fs::File;
use std::io::Read;

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
/// So many descriptors of a set, or of a program, are looked at.
pub(super) const MAX_DESCRIPTORS: usize = 64;
/// How much is read at most of what the kernel says of a set, bytes: the descriptors that count take less, and a program may watch millions.
const MAX_SET: usize = 16 << 10;

/// By what a thread waits.
pub(super) enum WaitsBy {
    /// It is known by the call what for.
    Told(WaitedFor),
    /// What a descriptor stands for.
    One(String),
    /// What the descriptors of a set stand for, as far as that is known.
    Set(Vec<Option<String>>),
}

impl WaitsBy {
    /// The socket, by its inode, if it reads one.
    pub(super) fn socket(&self) -> Option<u64> {
        match self {
            WaitsBy::One(link) => inode(link)?.parse().ok(),
            WaitsBy::Told(_) | WaitsBy::Set(_) => None,
        }
    }
}

/// `None` if that is not known, or it does not wait so.
pub(super) fn waits_by(directory: &str, called_for: &str) -> Option<WaitsBy> {
    let (number, descriptor, second) = called(called_for)?;
    let link = |descriptor: u64| link(&format!("{directory}/fd/{descriptor}"));
    if SETS.contains(&number) {
        let info = File::open(format!("{directory}/fdinfo/{descriptor}")).ok()?;
        return Some(WaitsBy::Set(descriptors_in(info)?.into_iter().map(|one| link(one.into())).collect()));
    }
    match number {
        number if ACCEPTS.contains(&number) => Some(WaitsBy::Told(WaitedFor::Request)),
        number if LISTS.contains(&number) => (second > 1).then_some(WaitsBy::Told(WaitedFor::Several)),
        number if READS.contains(&number) => link(descriptor).map(WaitsBy::One),
        _ => None,
    }
}

/// What comes by that.
pub(super) fn awaited(by: &WaitsBy, tables: &Tables<'_>, is_over: impl Fn() -> bool) -> Option<WaitedFor> {
    match by {
        WaitsBy::Told(awaited) => Some(*awaited),
        WaitsBy::One(link) => brought_by(link, tables),
        WaitsBy::Set(links) => of_set(links, tables, is_over),
    }
}

/// What comes by what a descriptor stands for; `None` if that is not known.
fn brought_by(link: &str, tables: &Tables<'_>) -> Option<WaitedFor> {
    if link.starts_with("pipe:[") || is_terminal(link) {
        return Some(WaitedFor::Unclear);
    }
    let inode = inode(link)?;
    tables.awaited(inode).or_else(|| tables.has_no_path(inode).then_some(WaitedFor::Unclear))
}

/// Whether it is a terminal, or the end from which somebody works one.
fn is_terminal(link: &str) -> bool {
    ["/dev/pts/", "/dev/ptmx", "/dev/tty", "/dev/console"].iter().any(|terminal| link.starts_with(terminal))
}

/// What comes by the descriptors of a set, which the kernel lists. Those beyond [`MAX_DESCRIPTORS`] are not known; nor is any if it takes too
/// long to find them in long tables.
fn of_set(links: &[Option<String>], tables: &Tables<'_>, is_over: impl Fn() -> bool) -> Option<WaitedFor> {
    let mut brings = Vec::new();
    for link in links {
        if is_over() {
            return None;
        }
        brings.push(link.as_deref().and_then(|link| brought_by(link, tables)));
    }
    if links.len() == MAX_DESCRIPTORS {
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

/// What a descriptor stands for, as `/proc` writes it.
pub(super) fn link(path: &str) -> Option<String> {
    std::fs::read_link(path).ok()?.to_str().map(str::to_owned)
}

/// The inode of a socket.
pub(super) fn inode(link: &str) -> Option<&str> {
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
    use super::*;
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
    fn nothing_tells_who_asks_by_a_pipe_or_a_terminal() {
        let tables = Tables::default();
        for (link, expected) in [
            ("pipe:[77]", Some(WaitedFor::Unclear)),
            ("/dev/pts/12", Some(WaitedFor::Unclear)),
            ("/dev/ptmx", Some(WaitedFor::Unclear)),
            ("/dev/tty1", Some(WaitedFor::Unclear)),
            ("/dev/input/event3", None),
            ("/home/dev/pts/file", None),
            ("anon_inode:[eventfd]", None),
        ] {
            assert_eq!(brought_by(link, &tables), expected, "{link}");
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

    /// What this process would wait for by a call.
    fn own(call: &str, tables: &Tables<'_>) -> Option<WaitedFor> {
        waits_by("/proc/self", call).and_then(|by| awaited(&by, tables, || false))
    }

    /// A list may be of one descriptor, with a time limit: that is how an answer is waited for.
    #[test]
    fn a_list_of_one_descriptor_is_no_loop() {
        let call = |number: libc::c_long, second: u32| {
            format!("{number} 0x7ffc00 {second:#x} 0x64 0x0 0x0 0x0 0x7ffc10 0x7f00\n")
        };
        for (second, expected) in [(0, None), (1, None), (2, Some(WaitedFor::Several))] {
            assert_eq!(own(&call(libc::SYS_ppoll, second), &Tables::default()), expected);
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
            assert_eq!(own(&call, &tables), None, "{call}");
            assert_eq!(tables.were_read(), [false, false], "{call}");
            looked_at += 1;
        }
        assert_eq!(looked_at, 3);
        // A socket has to be looked for.
        let (one, _other) = UnixStream::pair().unwrap();
        let call = format!("{} {:#x} 0x0 0x0 0x0 0x0 0x0 0x7ffc10 0x7f00\n", libc::SYS_read, one.as_raw_fd());
        assert_eq!(own(&call, &tables), None, "tables that are not known tell nothing");
        assert_eq!(tables.were_read(), [true, true]);
    }
}
