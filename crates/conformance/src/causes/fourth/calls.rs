//! The system calls for the fourth list.

use super::super::system::{self, Memory, PAGE, Pid, checked};
use std::io;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};

fn control(descriptor: i32, request: u64, argument: u64) -> io::Result<i32> {
    // SAFETY: callers hand over plain numbers, or addresses of structures of the request's kind that live through the call.
    checked(unsafe { libc::ioctl(descriptor, request as _, argument) }.into())
}

/// Memory that the kernel shares with a ring: `what` selects it, `length` is in bytes.
fn shared_with(ring: i32, length: usize, what: i64) -> io::Result<*mut u8> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at a place that the kernel chooses.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), length, access, libc::MAP_SHARED, ring, what) };
    if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(start.cast()) }
}

/// A ring of requests to the kernel (`io_uring`), for one request at a time.
pub(in super::super) struct Ring {
    descriptor: i32,
    queues: *mut u8,
    requests: *mut u8,
    /// As the kernel laid it out, in words of four bytes: `struct io_uring_params`.
    layout: [u32; 30],
}

/// Where the layout has its offsets: sq_off begins at word 10, cq_off at word 20.
const SQ_TAIL: usize = 11;
const SQ_MASK: usize = 12;
const SQ_FLAGS: usize = 14;
const SQ_ARRAY: usize = 16;
const CQ_HEAD: usize = 20;
const CQ_TAIL: usize = 21;

impl Ring {
    pub(super) fn new() -> io::Result<Ring> {
        Ring::of([0; 30])
    }

    /// A ring that a kernel thread polls all the time; the thread goes to sleep after a minute without requests.
    pub(in super::super) fn polled() -> io::Result<Ring> {
        const POLLED: u32 = 1 << 1;
        let mut layout = [0; 30];
        (layout[2], layout[4]) = (POLLED, 60_000);
        Ring::of(layout)
    }

    fn of(mut layout: [u32; 30]) -> io::Result<Ring> {
        const REQUESTS: i64 = 0x1000_0000;
        const ENTRIES: usize = 4;
        // SAFETY: writes into a structure of that size, which lives.
        let descriptor = checked(unsafe { libc::syscall(libc::SYS_io_uring_setup, ENTRIES, layout.as_mut_ptr()) })?;
        let queues = shared_with(descriptor, PAGE, 0)?;
        let requests = shared_with(descriptor, PAGE, REQUESTS)?;
        Ok(Ring { descriptor, queues, requests, layout })
    }

    /// A word of the queues, at an offset that the layout holds.
    fn word(&self, place: usize, index: u32) -> &AtomicU32 {
        let offset = self.layout[place] as usize + index as usize * 4;
        assert!(offset + 4 <= PAGE);
        // SAFETY: within a mapping that lives as long as the process; aligned, and shared with the kernel as an atomic.
        unsafe { &*self.queues.add(offset).cast::<AtomicU32>() }
    }

    /// Reads bytes and waits for them; a kernel worker may do it in place of the caller.
    pub(super) fn read(&self, descriptor: i32, bytes: &mut [u8; 8], by_worker: bool) {
        const READ: u64 = 22;
        const BY_WORKER: u64 = 1 << 4;
        const GET_EVENTS: u32 = 1;
        let flags = if by_worker { BY_WORKER } else { 0 };
        self.request([READ | flags << 8 | (descriptor as u64) << 32, u64::MAX, bytes.as_mut_ptr() as u64, 8]);
        // SAFETY: plain numbers; the bytes live until the request is done, which the call waits for.
        unsafe {
            libc::syscall(libc::SYS_io_uring_enter, self.descriptor, 1, 1, GET_EVENTS, 0, 0);
        }
        let head = self.word(CQ_HEAD, 0);
        head.store(head.load(Acquire).wrapping_add(1), Release);
    }

    /// Has a byte written by the kernel thread that looks for requests, which this does not wake unless it sleeps.
    pub(in super::super) fn write_polled(&self, descriptor: i32) {
        const WRITE: u64 = 23;
        const SLEEPS: u32 = 1;
        const WAKE_UP: u32 = 1 << 1;
        static BYTE: u8 = 1;
        self.request([WRITE | (descriptor as u64) << 32, u64::MAX, std::ptr::from_ref(&BYTE) as u64, 1]);
        if self.word(SQ_FLAGS, 0).load(Acquire) & SLEEPS != 0 {
            // SAFETY: plain numbers.
            unsafe {
                libc::syscall(libc::SYS_io_uring_enter, self.descriptor, 0, 0, WAKE_UP, 0, 0);
            }
        }
        // Nobody looks at the answers, but there must be room for them.
        self.word(CQ_HEAD, 0).store(self.word(CQ_TAIL, 0).load(Acquire), Release);
    }

    /// Puts a request into the queue, given by its first four words.
    fn request(&self, words: [u64; 4]) {
        let tail = self.word(SQ_TAIL, 0).load(Acquire);
        let index = tail & self.word(SQ_MASK, 0).load(Acquire);
        // SAFETY: one of the four requests, of 64 bytes each; the kernel reads it only after the tail has moved.
        let request = unsafe { &mut *self.requests.add(index as usize * 64).cast::<[u64; 8]>() };
        *request = [0; 8];
        request[..4].copy_from_slice(&words);
        self.word(SQ_ARRAY, index).store(index, Release);
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        self.word(SQ_TAIL, 0).store(tail.wrapping_add(1), Release);
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    }
}

/// Several sockets may share a port, and all of them get what is sent to all.
pub(super) fn listener(port: u16) -> io::Result<i32> {
    let one = 1_i32;
    // SAFETY: plain numbers, and structures of the lengths that are stated, which live through the calls.
    unsafe {
        let socket = checked(libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0).into())?;
        for option in [libc::SO_REUSEADDR, libc::SO_BROADCAST] {
            let value = std::ptr::from_ref(&one).cast();
            checked(libc::setsockopt(socket, libc::SOL_SOCKET, option, value, 4).into())?;
        }
        let place = address([0, 0, 0, 0], port);
        let length = size_of::<libc::sockaddr_in>() as u32;
        checked(libc::bind(socket, std::ptr::from_ref(&place).cast(), length).into())?;
        Ok(socket)
    }
}

fn address(host: [u8; 4], port: u16) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(host) },
        sin_zero: [0; 8],
    }
}

/// Sends a byte to all that listen on a port of this machine.
pub(super) fn send_to_all(socket: i32, port: u16) {
    let to = address([127, 255, 255, 255], port);
    let length = size_of::<libc::sockaddr_in>() as u32;
    // SAFETY: a byte and an address that live through the call.
    unsafe { libc::sendto(socket, [1_u8].as_ptr().cast(), 1, 0, std::ptr::from_ref(&to).cast(), length) };
}

/// A timer that sends a blocked signal.
pub(super) fn signal_timer(signal: i32) -> io::Result<libc::timer_t> {
    // SAFETY: the structures are whole, zeroes but for what is asked for, and live through the call.
    unsafe {
        let mut event: libc::sigevent = std::mem::zeroed();
        (event.sigev_notify, event.sigev_signo) = (libc::SIGEV_SIGNAL, signal);
        let mut timer: libc::timer_t = std::mem::zeroed();
        checked(libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer).into())?;
        Ok(timer)
    }
}

pub(super) fn arm(timer: libc::timer_t, at: u64) {
    let setting = libc::itimerspec { it_interval: system::timespec(0), it_value: system::timespec(at) };
    // SAFETY: reads a setting that lives.
    unsafe { libc::timer_settime(timer, libc::TIMER_ABSTIME, &setting, std::ptr::null_mut()) };
}

/// Allows more of a resource than usual: more waiting signals, or a dump of any length.
pub(super) fn allow(resource: libc::__rlimit_resource_t, amount: u64) {
    let limit = libc::rlimit { rlim_cur: amount, rlim_max: amount };
    // SAFETY: reads a limit that lives.
    unsafe { libc::setrlimit(resource, &limit) };
}

/// Makes children end without leaving a status.
pub(super) fn forget_children() {
    // SAFETY: a constant handler.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
}

/// Ends like a program that writes where it may not.
pub(super) fn crash() {
    // SAFETY: plain numbers and a constant handler.
    unsafe {
        libc::signal(libc::SIGSEGV, libc::SIG_DFL);
        libc::kill(libc::getpid(), libc::SIGSEGV);
    }
}

pub(super) fn close(descriptor: i32) {
    // SAFETY: a plain number; whoever calls had it.
    unsafe { libc::close(descriptor) };
}

/// The CPU that the calling thread is on.
pub(super) fn cpu() -> usize {
    // SAFETY: takes nothing.
    (unsafe { libc::sched_getcpu() }) as usize
}

/// A terminal: the end that shows, and the end that programs write to.
pub(super) fn terminal() -> io::Result<(i32, i32)> {
    let (mut shows, mut written) = (0, 0);
    let none = std::ptr::null_mut();
    // SAFETY: writes two numbers; names and settings are not asked for.
    checked(unsafe { libc::openpty(&mut shows, &mut written, none, std::ptr::null(), std::ptr::null()) }.into())?;
    Ok((shows, written))
}

/// A disk that is a file; it disappears with the last process that has it open.
pub(in super::super) fn loop_device(file: i32) -> io::Result<(i32, String)> {
    const NEXT_FREE: u64 = 0x4c82;
    const CONFIGURE: u64 = 0x4c0a;
    const GOES_ON_CLOSE: u32 = 4;
    use std::os::fd::{AsRawFd, IntoRawFd};
    use std::os::unix::fs::OpenOptionsExt;
    let number = control(std::fs::File::open("/dev/loop-control")?.as_raw_fd(), NEXT_FREE, 0)?;
    let mut options = std::fs::File::options();
    let device = options.read(true).write(true).custom_flags(libc::O_DIRECT).open(format!("/dev/loop{number}"))?;
    // `struct loop_config`: the file first, and the flags of its `loop_info64`.
    let mut setting = [0_u32; 76];
    (setting[0], setting[15]) = (file as u32, GOES_ON_CLOSE);
    control(device.as_raw_fd(), CONFIGURE, setting.as_ptr() as u64)?;
    Ok((device.into_raw_fd(), format!("loop{number}")))
}

/// Reads into memory through the kernel's own request queue (`libaio`), and waits for it.
pub(super) struct Queue(u64);

impl Queue {
    pub(super) fn new() -> io::Result<Queue> {
        let mut queue = 0_u64;
        // SAFETY: writes a number that lives.
        checked(unsafe { libc::syscall(libc::SYS_io_setup, 8, &mut queue) })?;
        Ok(Queue(queue))
    }

    pub(super) fn read(&self, descriptor: i32, into: &Memory, offset: u64) -> io::Result<()> {
        // `struct iocb`: a read (0) of this descriptor.
        let request = [0_u64, 0, (descriptor as u64) << 32, into.start as u64, into.length as u64, offset, 0, 0];
        let list = [request.as_ptr()];
        let mut told = [0_u64; 4];
        // SAFETY: the request and the list live through the calls, the memory until the answer is there.
        unsafe {
            checked(libc::syscall(libc::SYS_io_submit, self.0, 1, list.as_ptr()))?;
            let none = std::ptr::null_mut::<libc::timespec>();
            checked(libc::syscall(libc::SYS_io_getevents, self.0, 1, 1, told.as_mut_ptr(), none))?;
        }
        Ok(())
    }
}

/// Stops a process at each beginning and end of a system call and calls `at_stop`, until that returns false.
pub(super) fn trace_calls(process: Pid, mut at_stop: impl FnMut() -> bool) -> io::Result<()> {
    const SEIZE: libc::c_uint = 0x4206;
    const INTERRUPT: libc::c_uint = 0x4207;
    const GO_ON: libc::c_uint = 24;
    const DETACH: libc::c_uint = 17;
    // SAFETY: plain numbers; a status that lives.
    unsafe {
        checked(libc::ptrace(SEIZE, process, 0, 1))?;
        libc::ptrace(INTERRUPT, process, 0, 0);
        let mut status = 0;
        loop {
            if libc::waitpid(process, &mut status, libc::__WALL) != process || !libc::WIFSTOPPED(status) {
                return Ok(());
            }
            if !at_stop() {
                libc::ptrace(DETACH, process, 0, 0);
                return Ok(());
            }
            libc::ptrace(GO_ON, process, 0, 0);
        }
    }
}

/// Makes huge pages of a memory range, whatever it takes.
pub(super) fn collapse(memory: &Memory) -> io::Result<()> {
    const COLLAPSE: i32 = 25;
    // SAFETY: the whole of the mapping, whose contents stay.
    checked(unsafe { libc::madvise(memory.start.cast(), memory.length, COLLAPSE) }.into()).map(drop)
}

/// Writes bytes from memory, which the kernel reads meanwhile.
pub(super) fn write_from(descriptor: i32, memory: &Memory) {
    // SAFETY: reads the whole of the mapping, which lives.
    unsafe { libc::write(descriptor, memory.start.cast(), memory.length) };
}
