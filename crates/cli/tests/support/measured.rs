//! Runs the program and reports what it took: time, and the most memory that it had at once.

use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// How much of an answer is looked at, bytes.
const MAX_LOOKED_AT: u64 = 4 << 20;

/// What a run took.
pub(crate) struct Measured {
    pub(crate) output: Output,
    pub(crate) took: Duration,
    pub(crate) cpu_time: Duration,
    /// The most resident memory that it had at once, bytes, by the kernel's count.
    pub(crate) peak_bytes: u64,
}

/// A limit at which a fault fails a test without taking the machine with it.
#[derive(Clone, Copy)]
pub(crate) enum Fence {
    None,
    /// On its own data, bytes.
    Data(u64),
    /// On addresses, bytes.
    Addresses(u64),
}

/// Runs a command to its end.
#[expect(clippy::zombie_processes, reason = "it is waited for by wait4, which tells its peak")]
pub(crate) fn measured(mut command: Command, fence: Fence) -> Measured {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let limit = match fence {
        Fence::None => None,
        Fence::Data(bytes) => Some((libc::RLIMIT_DATA, bytes)),
        Fence::Addresses(bytes) => Some((libc::RLIMIT_AS, bytes)),
    };
    if let Some((resource, bytes)) = limit {
        let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
        // SAFETY: between fork and exec only a system call is made, with a value of its own.
        unsafe {
            command.pre_exec(move || match libc::setrlimit(resource, &raw const limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            });
        }
    }
    let began = Instant::now();
    let mut child = command.spawn().expect("the program starts");
    let (stdout, stderr) = (child.stdout.take().expect("a pipe"), child.stderr.take().expect("a pipe"));
    let stderr = std::thread::spawn(move || beginning(stderr));
    let stdout = beginning(stdout);
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: waits for a child of this process that nothing else waits for; the kernel fills what it is given, and zeroed it
    // is valid too.
    let usage = unsafe {
        let waited = libc::wait4(child.id().cast_signed(), &raw mut status, 0, usage.as_mut_ptr());
        assert_eq!(waited, child.id().cast_signed());
        usage.assume_init()
    };
    let took = began.elapsed();
    let time = |time: libc::timeval| Duration::from_micros(time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64);
    let cpu_time = time(usage.ru_utime) + time(usage.ru_stime);
    let stderr = stderr.join().expect("the errors are read");
    let output = Output { status: ExitStatus::from_raw(status), stdout, stderr };
    Measured { output, took, cpu_time, peak_bytes: usage.ru_maxrss as u64 * 1024 }
}

/// Reads everything that comes, and keeps its beginning.
fn beginning(mut stream: impl Read) -> Vec<u8> {
    let mut text = Vec::new();
    let _ = (&mut stream).take(MAX_LOOKED_AT).read_to_end(&mut text);
    let _ = std::io::copy(&mut stream, &mut std::io::sink());
    text
}
