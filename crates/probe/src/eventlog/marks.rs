//! Marks of programs that use `include/punctual.h`: memory that each shares with this process.
//!
//! A program asks at an abstract socket and is handed memory of its own, which nobody can make shorter: what it does
//! there hurts nobody else's marks. There is no file: nothing is left behind however this process ends, and nobody can
//! put anything in its place.

use super::mark_ring::MarkRing;
use super::merge::Noted;
use super::rings::dropped;
use punctual_recording::BrokenMarks;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

/// The environment variable from which programs and the log take the socket's name.
const VARIABLE: &str = "PUNCTUAL_MARKS";
const NAME: &str = "punctual-marks";

/// A user's programs get no more memories than this at once: each is 4 MB. Root's and our own get more.
const MAX_PER_USER: usize = 16;
const MAX_PER_TRUSTED: usize = 32;
/// Nor do all users together, except root and ourselves, so that these always find room.
const MAX_OF_OTHERS: usize = 32;
/// Programs that get memory in a round, ...
const ANSWERS: usize = 8;
/// ... and those that are considered for it: one that asks and leaves before it is answered costs next to nothing.
const LOOKS: usize = 64;
/// How many memories are made for other users' programs in a second: each has to be cleared and mapped.
const MAX_MADE: u64 = 40;
/// How many rows report broken memory; any more are only counted.
const MAX_TOLD: u64 = 100;
/// How many marks of another user's program are taken in a second, ...
const MAX_MARKS: u64 = 20_000;
/// ... how many of all programs of other users together, ...
const MAX_MARKS_OF_OTHERS: u64 = 60_000;
/// ... and how many of a program of root's or our own: any more are dropped.
const MAX_OWN_MARKS: u64 = 1_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// What may be taken: a steady amount each second, and that much at once.
#[derive(Debug)]
struct Allowance {
    max: u64,
    left: u64,
    filled_ns: u64,
}

impl Allowance {
    fn new(max: u64, now_ns: u64) -> Allowance {
        Allowance { max, left: max, filled_ns: now_ns }
    }

    /// How many may be taken now.
    fn at(&mut self, now_ns: u64) -> u64 {
        let passed_ns = now_ns.saturating_sub(self.filled_ns).min(SECOND_NS);
        let more = self.max * passed_ns / SECOND_NS;
        if more > 0 {
            self.left = (self.left + more).min(self.max);
            self.filled_ns = now_ns;
        }
        self.left
    }

    fn take(&mut self, many: u64) {
        self.left = self.left.saturating_sub(many);
    }
}

/// A program that was given memory.
struct Program {
    ring: MarkRing,
    process: u32,
    user: u32,
    allowance: Allowance,
    /// Readable when the process that asked has ended.
    ended: Option<OwnedFd>,
}

impl Program {
    fn has_ended(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let is_readable = |ended: &OwnedFd| poll(&mut [PollFd::new(ended, PollFlags::IN)], Some(&now)) == Ok(1);
        self.ended.as_ref().is_some_and(is_readable)
    }
}

/// What happened to marks, since the beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct MarkLosses {
    /// They found no room.
    pub(super) dropped: u64,
    /// Not finished, or not credible.
    pub(super) refused: u64,
    /// Programs' requests for memory that were refused because too many had some or asked at once, or that nobody
    /// waited for any more.
    pub(super) unserved: u64,
    /// Programs that broke their memory.
    pub(super) broken: u64,
    /// The first of them.
    pub(super) first_broken: Option<BrokenMarks>,
}

pub(super) struct Marks {
    listener: Option<UnixListener>,
    programs: Vec<Program>,
    cpus: u32,
    /// For all programs of other users.
    others: Allowance,
    /// Memories that are made for them.
    made: Allowance,
    /// From memory that is gone, and what concerns all.
    past: MarkLosses,
}

impl Marks {
    /// Begins to hand out memory. The second value says in words what was not possible.
    pub(super) fn start(cpus: u32) -> (Marks, Option<String>) {
        let name = name();
        let bound = SocketAddr::from_abstract_name(&name).and_then(|address| UnixListener::bind_addr(&address));
        let bound = bound.and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
        let refused = bound.as_ref().err().map(|error| match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                format!(
                    "marks made with punctual.h go to another log, which is already running: give each its own {VARIABLE}"
                )
            }
            _ => format!("marks made with punctual.h are not logged: {error}"),
        });
        (Marks::behind(bound.ok(), cpus), refused)
    }

    fn behind(listener: Option<UnixListener>, cpus: u32) -> Marks {
        let (others, made) = (Allowance::new(MAX_MARKS_OF_OTHERS, 0), Allowance::new(MAX_MADE, 0));
        Marks { listener, programs: Vec::new(), cpus, others, made, past: MarkLosses::default() }
    }

    /// How programs find it, in words; `None` if they cannot.
    pub(super) fn found_by(&self) -> Option<String> {
        self.listener.as_ref()?;
        let name = name();
        Some(if name == NAME { "punctual.h".to_owned() } else { format!("punctual.h with {VARIABLE}={name}") })
    }

    /// Hands memory to programs that ask for it; marks in it are from `now_ns` on.
    pub(super) fn serve(&mut self, now_ns: u64) {
        let mut answers = 0;
        for _ in 0..LOOKS {
            let Some(Ok((stream, _))) = self.listener.as_ref().map(UnixListener::accept) else { return };
            let Some((process, user)) = peer(&stream) else { continue };
            let is_in_time = !has_gone(&stream) && (is_trusted(user) || self.made.at(now_ns) > 0);
            if is_in_time && !self.has_room(user) {
                self.forget_ended();
            }
            let made = (is_in_time && self.has_room(user)).then(|| MarkRing::make(now_ns, self.cpus));
            let Some(Ok((ring, file))) = made else {
                self.past.unserved += 1;
                continue;
            };
            answers += 1;
            if !is_trusted(user) {
                self.made.take(1);
            }
            if send(&stream, &file) {
                // A process in another PID namespace has the number 0, and nobody sees it end.
                let ended = Pid::from_raw(process.cast_signed());
                let ended = ended.and_then(|process| pidfd_open(process, PidfdFlags::empty()).ok());
                let allowance = Allowance::new(if is_trusted(user) { MAX_OWN_MARKS } else { MAX_MARKS }, now_ns);
                self.programs.push(Program { ring, process, user, allowance, ended });
            }
            if answers == ANSWERS {
                return;
            }
        }
    }

    fn has_room(&self, user: u32) -> bool {
        let own = self.programs.iter().filter(|program| program.user == user).count();
        let others = self.programs.iter().filter(|program| !is_trusted(program.user)).count();
        own < if is_trusted(user) { MAX_PER_TRUSTED } else { MAX_PER_USER }
            && (is_trusted(user) || others < MAX_OF_OTHERS)
    }

    /// When room is needed: frees memory of programs that have ended, once it is read. Until then it stays, since their
    /// children may go on with it.
    fn forget_ended(&mut self) {
        let past = &mut self.past;
        self.programs.retain(|program| {
            let goes = program.ring.is_empty() && program.has_ended();
            if goes {
                past.dropped += program.ring.dropped();
                past.refused += program.ring.refused();
            }
            !goes
        });
    }

    /// What has happened to marks so far.
    pub(super) fn losses(&self) -> MarkLosses {
        self.programs.iter().fold(self.past, |sum, program| MarkLosses {
            dropped: sum.dropped + program.ring.dropped(),
            refused: sum.refused + program.ring.refused(),
            ..sum
        })
    }

    /// Nobody makes marks any more; those that were begun are still read.
    pub(super) fn close(&mut self) {
        self.listener = None;
        self.programs.iter_mut().for_each(|program| program.ring.close());
    }

    /// Takes what has come; the round began at `now_ns`. Returns the time up to which everything has come.
    pub(super) fn drain(&mut self, now_ns: u64, noted: &mut Vec<Noted>) -> u64 {
        let mut reached = now_ns;
        let (past, others) = (&mut self.past, &mut self.others);
        self.programs.retain_mut(|program| {
            let Program { ring, process, user, allowance, .. } = program;
            let mut max_marks = allowance.at(now_ns);
            if !is_trusted(*user) {
                max_marks = max_marks.min(others.at(now_ns));
            }
            let before = noted.len();
            reached = reached.min(ring.drain(now_ns, usize::try_from(max_marks).unwrap_or(usize::MAX), noted));
            let taken = (noted.len() - before) as u64;
            allowance.take(taken);
            if !is_trusted(*user) {
                others.take(taken);
            }
            if !ring.is_broken() {
                return true;
            }
            past.dropped += ring.dropped();
            past.refused += ring.refused();
            past.broken += 1;
            past.first_broken.get_or_insert(BrokenMarks { at_ns: now_ns, process: *process, user: *user });
            if past.broken <= MAX_TOLD {
                // How many were lost is not known.
                noted.push(dropped(0, 0, now_ns, &format!("marks of process {process} of user {user}")));
            }
            false
        });
        reached
    }
}

/// Root, and whoever runs the log.
fn is_trusted(user: u32) -> bool {
    user == 0 || user == rustix::process::geteuid().as_raw()
}

/// The socket's name.
fn name() -> String {
    std::env::var(VARIABLE).ok().filter(|name| !name.is_empty()).unwrap_or_else(|| NAME.to_owned())
}

/// Whether whoever asked has stopped waiting for the answer.
fn has_gone(stream: &UnixStream) -> bool {
    stream.set_nonblocking(true).is_err() || (&*stream).read(&mut [0]).is_ok_and(|bytes| bytes == 0)
}

/// The process and the user at the other end.
fn peer(stream: &UnixStream) -> Option<(u32, u32)> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut size = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: both pointers are to values that live through the call, and the size is that of the first.
    let done = unsafe {
        let to = (&raw mut peer).cast();
        libc::getsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, to, &raw mut size)
    };
    (done == 0).then(|| (peer.pid.cast_unsigned(), peer.uid))
}

/// Sends a descriptor. Returns whether it was sent: a program that does not wait for it gets none.
fn send(stream: &UnixStream, file: &OwnedFd) -> bool {
    let mut byte = [0u8];
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let mut control = [0u64; 4];
    // SAFETY: all zero is a message of nothing.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    // SAFETY: plain arithmetic on a size.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<i32>() as u32) } as _;
    // SAFETY: the control buffer is long enough for one descriptor and aligned; everything lives through the call.
    unsafe {
        let about = libc::CMSG_FIRSTHDR(&raw const message);
        (*about).cmsg_level = libc::SOL_SOCKET;
        (*about).cmsg_type = libc::SCM_RIGHTS;
        (*about).cmsg_len = libc::CMSG_LEN(size_of::<i32>() as u32) as _;
        libc::CMSG_DATA(about).cast::<i32>().write_unaligned(file.as_raw_fd());
        libc::sendmsg(stream.as_raw_fd(), &raw const message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(user: u32, ended: Option<OwnedFd>) -> Program {
        let allowance = Allowance::new(MAX_MARKS, 0);
        Program { ring: MarkRing::make(0, 1).unwrap().0, process: 1, user, allowance, ended }
    }

    #[test]
    fn an_allowance_is_used_up_and_comes_back() {
        let mut allowance = Allowance::new(1_000, 0);
        assert_eq!(allowance.at(0), 1_000);
        allowance.take(1_000);
        let mut taken = 0;
        // As often as the rings are emptied.
        for now in (0..=2 * SECOND_NS).step_by(5_000_000) {
            let left = allowance.at(now);
            allowance.take(left);
            taken += left;
        }
        assert!((1_990..=2_000).contains(&taken), "{taken}");
        assert_eq!(allowance.at(3_600 * SECOND_NS), 1_000);
    }

    #[test]
    fn who_asks_and_goes_keeps_nobody_from_being_served() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().join("marks");
        let listener = UnixListener::bind(&at).unwrap();
        listener.set_nonblocking(true).unwrap();
        let mut marks = Marks::behind(Some(listener), 1);
        (0..LOOKS - 1).for_each(|_| drop(UnixStream::connect(&at).unwrap()));
        let waiting = UnixStream::connect(&at).unwrap();
        marks.serve(0);
        assert_eq!((marks.programs.len(), marks.past.unserved), (1, LOOKS as u64 - 1));
        drop(waiting);
    }

    #[test]
    fn a_user_has_bounded_memory_and_others_leave_room_for_root() {
        let own = rustix::process::geteuid().as_raw();
        let mut marks = Marks::behind(None, 1);
        let user = own + 10;
        for _ in 0..MAX_PER_USER {
            assert!(marks.has_room(user));
            marks.programs.push(program(user, None));
        }
        assert!(!marks.has_room(user) && marks.has_room(user + 1));
        for program in &mut marks.programs[..8] {
            program.user = user + 2;
        }
        let (ended, writer) = std::io::pipe().unwrap();
        marks.programs[0].ended = Some(ended.into());
        marks.forget_ended();
        assert_eq!(marks.programs.len(), MAX_PER_USER);
        // As a process's descriptor does when it has ended.
        std::io::Write::write_all(&mut &writer, &[0]).unwrap();
        marks.forget_ended();
        assert_eq!(marks.programs.len(), MAX_PER_USER - 1);
        marks.programs.extend((0..40).map(|index| program(user + 10 + index, None)));
        assert!(!marks.has_room(user + 100) && marks.has_room(own) && marks.has_room(0));
    }
}
