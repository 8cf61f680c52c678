//! Marks of programs that use `include/punctual.h`: memory that they share with this process.
//!
//! A program asks at an abstract socket and is handed the memory, which nobody can make shorter. There is no file: nothing is
//! left behind however this process ends, and nothing can be put in its place. A program may write anything: what does not
//! fit its seal, or says what cannot be, is refused.

use super::merge::Noted;
use super::rings::dropped;
use punctual_kernel::Refused;
use punctual_kernel::bpf::SharedMemory;
use punctual_recording::episode::{Event, EventKind};
use rustix::fs::{MemfdFlags, SealFlags};
use std::collections::VecDeque;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The environment variable that programs and the log take the socket's name from.
const VARIABLE: &str = "PUNCTUAL_MARKS";
const NAME: &str = "punctual-marks";
const MAGIC: u64 = 0x7075_6e6d_6172_6b31;
const SLOTS: u64 = 65_536;
const FIRST_SLOT: usize = 4096;
const BYTES: usize = FIRST_SLOT + SLOTS as usize * size_of::<Slot>();

/// `struct punctual_marks`.
#[repr(C)]
struct Header {
    magic: u64,
    open: AtomicU32,
    reserved: [u32; 13],
    head: AtomicU64,
    full: AtomicU64,
    pad: [u64; 6],
    tail: AtomicU64,
}

/// `struct punctual_slot`, as words.
type Slot = [u64; 8];

/// A mark that is not finished for so long never will be: its program has died meanwhile, or was stopped.
const PATIENCE_NS: u64 = 100_000_000;
/// No programs make as many marks in a round; then somebody writes what he likes.
const MOST_FULL: u64 = 1 << 32;

/// Why a slot is no mark.
#[derive(Debug, PartialEq, Eq)]
enum NoMark {
    Unfinished,
    Impossible,
}

/// When a round began, and how far the programs were after that.
type Round = (u64, u64);

pub(super) struct MarkRing {
    memory: SharedMemory,
    file: OwnedFd,
    listener: Option<UnixListener>,
    next: u64,
    rounds: VecDeque<Round>,
    cpus: u32,
    full: u64,
    pub(super) refused: u64,
    /// Nothing more is read: somebody broke the order of the memory.
    broken: bool,
}

impl MarkRing {
    /// Makes the memory and begins to hand it out. The second value says in words what could not be done.
    pub(super) fn start(now_ns: u64, cpus: u32) -> Result<(MarkRing, Option<String>), Refused> {
        let failed = |error: rustix::io::Errno| Refused::because("sharing memory for marks", error.to_string());
        let file = rustix::fs::memfd_create("punctual-marks", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)
            .map_err(failed)?;
        rustix::fs::ftruncate(&file, BYTES as u64).map_err(failed)?;
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL).map_err(failed)?;
        let memory = SharedMemory::map(file.as_fd(), 0, BYTES, true)?;
        let header = memory.at::<Header>(0, 1).as_ptr();
        // SAFETY: within the mapping, and nobody else has it yet.
        unsafe {
            (&raw mut (*header).magic).write(MAGIC);
            (*header).open.store(1, Ordering::Release);
        }
        let name = name();
        let bound = SocketAddr::from_abstract_name(&name).and_then(|address| UnixListener::bind_addr(&address));
        let bound = bound.and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
        let refused = bound.as_ref().err().map(|error| match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                format!(
                    "marks made with punctual.h go to another log, which runs already: give both another {VARIABLE}"
                )
            }
            _ => format!("marks made with punctual.h are not taken: {error}"),
        });
        let ring = MarkRing {
            memory,
            file,
            listener: bound.ok(),
            next: 0,
            rounds: VecDeque::from([(now_ns, 0)]),
            cpus,
            full: 0,
            refused: 0,
            broken: false,
        };
        Ok((ring, refused))
    }

    /// How programs find it, in words; `None` where they do not.
    pub(super) fn found_by(&self) -> Option<String> {
        self.listener.as_ref()?;
        let name = name();
        Some(if name == NAME { "punctual.h".to_owned() } else { format!("punctual.h with {VARIABLE}={name}") })
    }

    fn header(&self) -> &Header {
        // SAFETY: within the mapping, which lives as long as this; all that others change is read by atomic loads.
        unsafe { self.memory.at::<Header>(0, 1).as_ref() }
    }

    /// Hands the memory to programs that ask for it.
    pub(super) fn serve(&self) {
        let Some(listener) = &self.listener else { return };
        for _ in 0..16 {
            let Ok((stream, _)) = listener.accept() else { return };
            send(&stream, &self.file);
        }
    }

    /// Marks for which there was no room, as far as that can be believed.
    pub(super) fn dropped(&self) -> u64 {
        self.full
    }

    /// Takes what has come; the round began at `now_ns`. Returns the time up to which everything has come.
    pub(super) fn drain(&mut self, now_ns: u64, noted: &mut Vec<Noted>) -> u64 {
        if self.broken {
            return now_ns;
        }
        let (head, full) = (self.header().head.load(Ordering::Acquire), self.header().full.load(Ordering::Relaxed));
        let lost = full.wrapping_sub(self.full);
        if head.wrapping_sub(self.next) > SLOTS || lost > MOST_FULL {
            self.broken = true;
            self.refused += 1;
            self.header().open.store(0, Ordering::Relaxed);
            return now_ns;
        }
        if lost > 0 {
            self.full = full;
            noted.push(dropped(0, lost, now_ns, "marks"));
        }
        self.rounds.push_back((now_ns, head));
        let mut reached = now_ns;
        while self.next < head {
            self.forget_rounds();
            let begun = self.rounds.iter().find(|(_, head)| *head > self.next).map_or(now_ns, |round| round.0);
            let words = self.slot(self.next);
            let latest = punctual_kernel::clock::monotonic_ns();
            match judge(&words, self.next, (self.rounds[0].0, latest), self.cpus) {
                Ok(mark) => noted.push(mark),
                Err(NoMark::Unfinished) if now_ns.saturating_sub(begun) < PATIENCE_NS => {
                    reached = self.rounds[0].0;
                    break;
                }
                Err(_) => self.refused += 1,
            }
            self.next += 1;
        }
        self.forget_rounds();
        self.header().tail.store(self.next, Ordering::Release);
        reached
    }

    /// The next mark was begun after the last round that did not know of it yet: earlier ones say no more.
    fn forget_rounds(&mut self) {
        while self.rounds.get(1).is_some_and(|(_, head)| *head <= self.next) {
            self.rounds.pop_front();
        }
    }

    fn slot(&self, position: u64) -> Slot {
        let index = (position & (SLOTS - 1)) as usize;
        let slot = self.memory.at::<Slot>(FIRST_SLOT + index * size_of::<Slot>(), 1).as_ptr();
        // SAFETY: within the mapping. A program may write meanwhile: the words are plain numbers, and fit no seal then.
        let seal = unsafe { (*slot.cast::<AtomicU64>()).load(Ordering::Acquire) };
        // SAFETY: as above.
        let mut words = unsafe { slot.read_volatile() };
        words[0] = seal;
        words
    }
}

impl Drop for MarkRing {
    fn drop(&mut self) {
        self.header().open.store(0, Ordering::Relaxed);
    }
}

/// The socket's name.
fn name() -> String {
    std::env::var(VARIABLE).ok().filter(|name| !name.is_empty()).unwrap_or_else(|| NAME.to_owned())
}

/// The digest of a mark's place and words, as `punctual_seal_` makes it.
fn seal(words: &Slot, position: u64) -> u64 {
    words[1..].iter().fold(position.wrapping_add(1), |seal, word| {
        let mixed = (seal ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 32
    })
}

/// What a slot says, if it is whole and can be: its time lies between these two.
fn judge(words: &Slot, position: u64, (earliest, latest): (u64, u64), cpus: u32) -> Result<Noted, NoMark> {
    if words[0] != seal(words, position) {
        return Err(NoMark::Unfinished);
    }
    let (time, tid, cpu) = (words[1], words[2] as u32, (words[2] >> 32) as u32);
    if !(earliest..=latest).contains(&time) || tid == 0 || tid > 1 << 24 || cpu >= cpus {
        return Err(NoMark::Impossible);
    }
    let bytes: Vec<u8> = words[4..].iter().flat_map(|word| word.to_ne_bytes()).take_while(|&byte| byte != 0).collect();
    let event = Event {
        at_ns: time,
        cpu,
        kind: EventKind::Mark,
        tid,
        priority: 0,
        context: 0,
        steal_ns: 0,
        value: words[3],
        extra: 0,
        name: 0,
    };
    let text = String::from_utf8_lossy(&bytes).replace(char::is_control, "\u{fffd}");
    Ok(Noted { event, comm: [0; 16], text: Some(text.into()) })
}

/// Sends a descriptor; a program that does not wait for it gets none.
fn send(stream: &UnixStream, file: &OwnedFd) {
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
        libc::sendmsg(stream.as_raw_fd(), &raw const message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sealed(position: u64, time: u64, thread: u64, text: &[u8]) -> Slot {
        let mut bytes = [0u8; 32];
        bytes[..text.len()].copy_from_slice(text);
        let mut words = [0, time, thread, 7, 0, 0, 0, 0];
        for (word, part) in words[4..].iter_mut().zip(bytes.chunks(8)) {
            *word = u64::from_ne_bytes(part.try_into().unwrap());
        }
        words[0] = seal(&words, position);
        words
    }

    #[test]
    fn a_mark_is_read_and_what_cannot_be_is_refused() {
        let good = judge(&sealed(5, 100, 1 << 32 | 9, b"phase\n2"), 5, (90, 110), 2).unwrap();
        assert_eq!((good.event.at_ns, good.event.tid, good.event.cpu, good.event.value), (100, 9, 1, 7));
        assert_eq!(good.text.as_deref(), Some("phase\u{fffd}2"));
        assert_eq!(judge(&sealed(5, 100, 9, b""), 6, (90, 110), 2).unwrap_err(), NoMark::Unfinished);
        for (time, thread) in [(80, 9), (111, 9), (100, 2 << 32 | 9), (100, 0)] {
            assert_eq!(judge(&sealed(5, time, thread, b""), 5, (90, 110), 2).unwrap_err(), NoMark::Impossible);
        }
    }

    /// Another test may run at the same time: each ring has a socket of its own, or none.
    fn ring() -> MarkRing {
        MarkRing::start(0, 4).unwrap().0
    }

    fn put(ring: &MarkRing, position: u64, slot: &Slot) {
        let at = FIRST_SLOT + (position & (SLOTS - 1)) as usize * 64;
        // SAFETY: within the mapping, in one thread.
        unsafe { ring.memory.at::<Slot>(at, 1).as_ptr().write_volatile(*slot) };
    }

    #[test]
    fn an_unfinished_mark_holds_the_time_back_and_is_then_passed_over() {
        let mut ring = ring();
        let mut noted = Vec::new();
        assert_eq!(ring.drain(10, &mut noted), 10);
        ring.header().head.store(2, Ordering::Relaxed);
        put(&ring, 1, &sealed(1, 15, 9, b"second"));
        assert_eq!(ring.drain(20, &mut noted), 10);
        assert!(noted.is_empty());
        assert_eq!(ring.drain(20 + PATIENCE_NS, &mut noted), 20 + PATIENCE_NS);
        assert_eq!((noted.len(), ring.refused, ring.next), (1, 1, 2));
        assert_eq!(ring.header().tail.load(Ordering::Relaxed), 2);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        /// Whatever programs write, reading ends, and what is handed on was written in its time.
        #[test]
        fn a_hostile_program_breaks_nothing(
            heads in prop::collection::vec(prop_oneof![any::<u64>(), 0..200_000_u64], 1..6),
            fulls in prop::collection::vec(any::<u64>(), 6),
            words in any::<[u64; 8]>(),
        ) {
            let mut ring = ring();
            let mut noted = Vec::new();
            for (round, head) in heads.iter().enumerate() {
                ring.header().head.store(*head, Ordering::Relaxed);
                ring.header().full.store(fulls[round], Ordering::Relaxed);
                put(&ring, *head, &words);
                let now = 1_000 * (round as u64 + 1);
                prop_assert!(ring.drain(now, &mut noted) <= now);
            }
            prop_assert!(noted.iter().all(|noted| noted.event.kind == EventKind::Dropped));
        }
    }
}
