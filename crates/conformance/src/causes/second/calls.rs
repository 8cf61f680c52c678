//! The system calls for the second list.

use super::super::system::{self, Memory, Pid, checked};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

fn owned(code: i64) -> io::Result<OwnedFd> {
    // SAFETY: a descriptor that was made just now.
    checked(code).map(|descriptor| unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Sets whether the pages of a memory range may be written to.
pub(super) fn protect(memory: &Memory, writable: bool) {
    let access = libc::PROT_READ | if writable { libc::PROT_WRITE } else { 0 };
    // SAFETY: the whole of the mapping, to which nobody writes meanwhile.
    unsafe { libc::mprotect(memory.start.cast(), memory.length, access) };
}

/// Starts the listing of a directory over.
pub(super) fn rewind(descriptor: i32) {
    // SAFETY: plain numbers.
    unsafe { libc::lseek(descriptor, 0, libc::SEEK_SET) };
}

/// Lists as much of a directory as there is room for, in one call.
pub(super) fn list(descriptor: i32, buffer: &mut [u8]) {
    // SAFETY: at most the length of the slice is written into it.
    unsafe { libc::syscall(libc::SYS_getdents64, descriptor, buffer.as_mut_ptr(), buffer.len()) };
}

/// Lets the calling thread's timers be this late, ns.
pub(super) fn allow_slack(ns: u64) {
    // SAFETY: plain numbers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns) };
}

/// A descriptor that only says where something is.
pub(super) fn open_path(path: &Path) -> io::Result<i32> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the path ends with NUL.
    checked(unsafe { libc::open(path.as_ptr(), libc::O_PATH | libc::O_DIRECTORY) }.into())
}

/// Asks for its attributes.
pub(super) fn look_at(descriptor: i32) {
    // SAFETY: writes into a structure that lives.
    unsafe {
        let mut found: libc::stat = std::mem::zeroed();
        libc::fstat(descriptor, &mut found);
    }
}

/// Freezes a file system, or thaws it.
pub(super) fn freeze(root: i32, frozen: bool) -> io::Result<()> {
    const FREEZE: u64 = 0xc004_5877;
    const THAW: u64 = 0xc004_5878;
    // SAFETY: plain numbers.
    checked(unsafe { libc::ioctl(root, if frozen { FREEZE } else { THAW } as _, 0) }.into()).map(drop)
}

/// From now on, this process's calls of this kind wait for the holder of the listener.
pub(super) fn supervise(call: i64) -> io::Result<i32> {
    const SET_FILTER: u32 = 1;
    const NEW_LISTENER: u64 = 8;
    const ALLOW: u32 = 0x7fff_0000;
    const NOTIFY: u32 = 0x7fc0_0000;
    let step = |code: u32, skip: u8, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: skip, k };
    let mut steps = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, call as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, NOTIFY),
        step(libc::BPF_RET | libc::BPF_K, 0, ALLOW),
    ];
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: reads a program that lives, of the length that it states.
    checked(unsafe { libc::syscall(libc::SYS_seccomp, SET_FILTER, NEW_LISTENER, &program) })
}

/// A call that is supervised.
pub(super) fn supervised() {
    // SAFETY: takes nothing.
    unsafe { libc::syscall(libc::SYS_getppid) };
}

/// The supervisor's end.
pub(super) struct Listener(OwnedFd);

impl Listener {
    /// The listener that another process got.
    pub(super) fn of(process: Pid, descriptor: i32) -> Listener {
        // SAFETY: plain numbers.
        let taken = unsafe {
            let process = libc::syscall(libc::SYS_pidfd_open, process, 0);
            libc::syscall(libc::SYS_pidfd_getfd, process, descriptor, 0)
        };
        Listener(owned(taken).expect("a child's descriptor"))
    }

    /// Waits for a call; returns its number.
    pub(super) fn next(&self) -> u64 {
        const RECEIVE: u64 = 0xc050_2100;
        let mut notice = [0_u64; 10];
        // SAFETY: the structure is that of <linux/seccomp.h>, zeroes, and lives through the call.
        unsafe { libc::ioctl(self.0.as_raw_fd(), RECEIVE as _, notice.as_mut_ptr()) };
        notice[0]
    }

    /// Answers in the kernel's place.
    pub(super) fn allow(&self, number: u64) {
        const SEND: u64 = 0xc018_2101;
        let mut answer = [number, 1, 0];
        // SAFETY: the same.
        unsafe { libc::ioctl(self.0.as_raw_fd(), SEND as _, answer.as_mut_ptr()) };
    }
}

/// Decides about the opening of one file.
pub(super) struct Scanner(OwnedFd);

impl Scanner {
    pub(super) fn of(path: &Path) -> io::Result<Scanner> {
        let path = CString::new(path.as_os_str().as_bytes())?;
        // SAFETY: the path ends with NUL; else plain numbers.
        unsafe {
            let group = owned(libc::fanotify_init(libc::FAN_CLASS_CONTENT, libc::O_RDONLY as u32).into())?;
            let (what, none) = (libc::FAN_OPEN_PERM, libc::AT_FDCWD);
            checked(libc::fanotify_mark(group.as_raw_fd(), libc::FAN_MARK_ADD, what, none, path.as_ptr()).into())?;
            Ok(Scanner(group))
        }
    }

    /// Waits for a process that opens it; returns the file.
    pub(super) fn next(&self) -> i32 {
        let mut event = [0_u8; 24];
        system::read(self.0.as_raw_fd(), &mut event);
        i32::from_ne_bytes(event[16..20].try_into().expect("four"))
    }

    /// Lets the process open it.
    pub(super) fn allow(&self, file: i32) {
        const ALLOW: u32 = 1;
        let mut answer = [0; 8];
        answer[..4].copy_from_slice(&file.to_ne_bytes());
        answer[4..].copy_from_slice(&ALLOW.to_ne_bytes());
        system::write(self.0.as_raw_fd(), &answer);
        // SAFETY: a plain number; the scanner alone had it.
        unsafe { libc::close(file) };
    }
}

/// Very many waiters that watch one event.
pub(super) struct Herd {
    event: i32,
    watches: Vec<OwnedFd>,
    told: Vec<libc::epoll_event>,
}

impl Herd {
    /// This many watches, each of this many copies of the event.
    pub(super) fn new(watches: usize, copies: usize) -> io::Result<Herd> {
        let event = system::event_fd();
        // SAFETY: plain numbers.
        let copy = || checked(unsafe { libc::dup(event) }.into());
        let copies = (0..copies).map(|_| copy()).collect::<io::Result<Vec<i32>>>()?;
        let watch = || {
            let mut wanted = libc::epoll_event { events: (libc::EPOLLIN | libc::EPOLLET) as u32, u64: 0 };
            // SAFETY: plain numbers, and a structure that lives through the call.
            unsafe {
                let watch = owned(libc::epoll_create1(libc::EPOLL_CLOEXEC).into())?;
                for &copy in &copies {
                    checked(libc::epoll_ctl(watch.as_raw_fd(), libc::EPOLL_CTL_ADD, copy, &mut wanted).into())?;
                }
                Ok(watch)
            }
        };
        let watches = (0..watches).map(|_| watch()).collect::<io::Result<Vec<OwnedFd>>>()?;
        Ok(Herd { event, watches, told: vec![libc::epoll_event { events: 0, u64: 0 }; copies.len()] })
    }

    /// Tells them all.
    pub(super) fn wake(&self) {
        system::write(self.event, &1_u64.to_ne_bytes());
    }

    /// Takes the event back, so that they can be told again.
    pub(super) fn calm(&mut self) {
        system::read(self.event, &mut [0; 8]);
        let room = self.told.len() as i32;
        for watch in &self.watches {
            // SAFETY: writes at most as many as there is room for.
            unsafe { while libc::epoll_wait(watch.as_raw_fd(), self.told.as_mut_ptr(), room, 0) > 0 {} }
        }
    }
}
