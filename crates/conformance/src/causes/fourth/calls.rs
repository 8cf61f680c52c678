//! The system calls for the fourth list.

use super::super::system::{self, Memory, Pid, checked};
use std::io;

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
