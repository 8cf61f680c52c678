//! The process in which a user's own work runs: the side that hands it its blocks.
//!
//! The thread that does so runs above it, so that work which never ends cannot keep it from saying so.

use super::block::{Block, Ended, OwnCounts, SharedBlock};
use super::served::SUBCOMMAND;
use super::{OwnWork, compile, refuse};
use punctual_kernel::scheduling::{Scheduling, set_scheduling_of};
use punctual_kernel::{Refused, clock};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::Duration;

/// A block that takes more CPU time than this is its process's last, ns.
const MAX_WORK_NS: u64 = 5_000_000;
/// How often work that is not done yet is looked at, ns.
const LOOK_NS: i64 = 1_000_000;
/// The budget holds in each window of this length, ns.
const WINDOW_NS: u64 = 100_000_000;
/// A process that is not ready by then never will be.
const PATIENCE: Duration = Duration::from_secs(10);

/// What both this and whoever reports know of the work.
pub(crate) struct Tally {
    memory: NonNull<SharedBlock>,
    done: AtomicU64,
    over: AtomicU64,
    failed: AtomicU64,
    longest: AtomicU64,
    refused: AtomicU64,
    /// 0: not ended; else the kind in the lowest byte, and its number above.
    ended: AtomicU64,
}

// SAFETY: the mapping belongs to the value; it is numbers that the child may write at any time, read as a whole by volatile reads.
unsafe impl Send for Tally {}
// SAFETY: as above.
unsafe impl Sync for Tally {}

impl Tally {
    pub(crate) fn counts(&self) -> OwnCounts {
        fence(Ordering::SeqCst);
        // SAFETY: within the mapping, which lives as long as this; any bytes are numbers.
        let block = unsafe { (&raw const (*self.memory.as_ptr()).block).read_volatile() };
        let ended = self.ended.load(Relaxed);
        OwnCounts {
            done: self.done.load(Relaxed),
            over: self.over.load(Relaxed),
            failed: self.failed.load(Relaxed),
            longest_ns: self.longest.load(Relaxed),
            refused: self.refused.load(Relaxed),
            ended: match ended & 0xff {
                0 => None,
                1 => Some(Ended::TooLong(ended >> 8)),
                2 => Some(Ended::Signal((ended >> 8) as i32)),
                _ => Some(Ended::Exit),
            },
            output: block.output,
            digest: block.digest(),
        }
    }

    fn end(&self, ended: Ended) {
        let code = match ended {
            Ended::TooLong(ns) => 1 | ns << 8,
            Ended::Signal(number) => 2 | u64::from(number.cast_unsigned()) << 8,
            Ended::Exit => 3,
        };
        self.ended.store(code, Relaxed);
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Relaxed) != 0
    }

    fn begin(&self, samples: u64) {
        for count in [&self.done, &self.over, &self.failed, &self.longest, &self.refused] {
            count.store(0, Relaxed);
        }
        // SAFETY: within the mapping; the child waits.
        unsafe { (&raw mut (*self.memory.as_ptr()).block).write_volatile(Block::new(samples)) }
        fence(Ordering::SeqCst);
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        // SAFETY: unmaps what `start` mapped; nobody refers into it any more.
        let _ = unsafe { rustix::mm::munmap(self.memory.as_ptr().cast(), size_of::<SharedBlock>()) };
    }
}

/// The process. It ends with this.
pub(crate) struct OwnProcess {
    child: Child,
    line: UnixStream,
    tally: Arc<Tally>,
    clock: libc::clockid_t,
    samples: u64,
    budget_ns: u64,
    max_worked_ns: u64,
    window_begin: u64,
    window_worked: u64,
    number: u64,
    last: Option<u64>,
}

impl OwnProcess {
    /// Starts it on this CPU. Of each 100 ms it may work the part that the budget, ns, is of the period, ns.
    ///
    /// # Errors
    /// What the compiler and the operating system refused.
    pub(crate) fn start(
        work: &OwnWork,
        cpu: u32,
        samples: u32,
        (budget_ns, period_ns): (u64, u64),
    ) -> Result<OwnProcess, Refused> {
        let library = compile::for_processor(work)?;
        let failed = |error: std::io::Error| refuse(work.name(), punctual_kernel::plain(&error));
        let memory =
            File::from(memfd_create("punctual-block", MemfdFlags::CLOEXEC).map_err(|error| failed(error.into()))?);
        ftruncate(&memory, size_of::<SharedBlock>() as u64).map_err(|error| failed(error.into()))?;
        let tally = Arc::new(map(&memory).map_err(failed)?);
        let (line, other) = UnixStream::pair().map_err(failed)?;
        let child = Command::new(std::env::current_exe().map_err(failed)?)
            .args([SUBCOMMAND, &cpu.to_string(), &std::process::id().to_string()])
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(other)))
            .stdout(Stdio::from(memory))
            .stderr(Stdio::from(library))
            .spawn()
            .map_err(failed)?;
        let mut clock = 0;
        // SAFETY: fills in the number that it is given.
        unsafe { libc::clock_getcpuclockid(child.id().cast_signed(), &mut clock) };
        let max_worked_ns = (u128::from(WINDOW_NS) * u128::from(budget_ns) / u128::from(period_ns.max(1))) as u64;
        let mut process = OwnProcess {
            child,
            line,
            tally,
            clock,
            samples: samples.into(),
            budget_ns,
            max_worked_ns,
            window_begin: 0,
            window_worked: 0,
            number: 0,
            last: None,
        };
        process.line.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        if process.line.read(&mut [0]).ok() != Some(1) {
            return Err(refuse(work.name(), "its process did not begin (does this kernel have seccomp?)"));
        }
        Ok(process)
    }

    /// From now on it is scheduled so: after [`OwnProcess::calibrate`], which is done by a thread that stands above nobody.
    ///
    /// # Errors
    /// What the kernel refused.
    pub(crate) fn schedule(&self, scheduling: Scheduling) -> Result<(), Refused> {
        set_scheduling_of(self.child.id(), scheduling, false)
    }

    /// What a block takes, ns: the least of some. It stands at its beginning afterwards.
    ///
    /// # Errors
    /// Where its process ended.
    pub(crate) fn calibrate(&mut self, work: &OwnWork) -> Result<u64, Refused> {
        self.tally.begin(self.samples);
        let mut least = u64::MAX;
        for number in 0..9 {
            self.begin_block(number);
            self.work_on();
            self.window_worked = 0;
            least = least.min(self.last.unwrap_or(u64::MAX));
        }
        if let Some(ended) = self.tally.counts().ended {
            return Err(refuse(work.name(), ended.to_string()));
        }
        self.tally.begin(self.samples);
        Ok(least)
    }

    pub(crate) fn tally(&self) -> Arc<Tally> {
        Arc::clone(&self.tally)
    }

    /// CPU time that the last block took, ns; `None` where it was not worked on to its end.
    #[inline]
    pub(crate) fn last(&self) -> Option<u64> {
        self.last
    }

    /// The block with this number comes next.
    #[inline]
    pub(crate) fn begin_block(&mut self, number: u64) {
        self.number = number;
    }

    /// Has it work on the block, and waits for it.
    pub(crate) fn work_on(&mut self) {
        self.last = None;
        if self.tally.has_ended() || self.is_too_much() {
            return;
        }
        // SAFETY: within the mapping; the child waits.
        unsafe { (&raw mut (*self.tally.memory.as_ptr()).block.number).write_volatile(self.number) }
        fence(Ordering::SeqCst);
        let before = self.cpu_ns();
        if self.line.write(&[1]).ok() != Some(1) || !self.wait(before) {
            return self.find_end();
        }
        fence(Ordering::SeqCst);
        let took = self.cpu_ns().saturating_sub(before);
        // SAFETY: within the mapping.
        let result = unsafe { (&raw const (*self.tally.memory.as_ptr()).result).read_volatile() };
        self.window_worked += took;
        self.last = Some(took);
        self.tally.done.fetch_add(1, Relaxed);
        self.tally.over.fetch_add(u64::from(took > self.budget_ns), Relaxed);
        self.tally.failed.fetch_add(u64::from(result != 0), Relaxed);
        self.tally.longest.fetch_max(took, Relaxed);
    }

    /// Waits until the block is done; false where it never will be.
    fn wait(&mut self, before: u64) -> bool {
        loop {
            let timeout = Timespec { tv_sec: 0, tv_nsec: LOOK_NS };
            match poll(&mut [PollFd::new(&self.line, PollFlags::IN)], Some(&timeout)) {
                Ok(1..) => return self.line.read(&mut [0]).ok() == Some(1),
                Ok(0) => {
                    let took = self.cpu_ns().saturating_sub(before);
                    if took > MAX_WORK_NS {
                        self.tally.end(Ended::TooLong(took));
                        let _ = self.child.kill();
                        return false;
                    }
                }
                Err(_) => {}
            }
        }
    }

    /// It has ended, or was killed: how?
    fn find_end(&mut self) {
        if self.tally.has_ended() {
            return;
        }
        let _ = self.child.kill();
        let signal = self.child.wait().ok().and_then(|status| status.signal());
        self.tally.end(signal.map_or(Ended::Exit, Ended::Signal));
    }

    fn is_too_much(&mut self) -> bool {
        let now = clock::monotonic_ns();
        if now.saturating_sub(self.window_begin) > WINDOW_NS {
            (self.window_begin, self.window_worked) = (now, 0);
        }
        let is_too_much = self.window_worked > self.max_worked_ns;
        self.tally.refused.fetch_add(u64::from(is_too_much), Relaxed);
        is_too_much
    }

    #[inline]
    fn cpu_ns(&self) -> u64 {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: fills the structure that it is given; of a process that is gone it is left as it is.
        unsafe { libc::clock_gettime(self.clock, &mut time) };
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
}

impl Drop for OwnProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn map(file: &File) -> std::io::Result<Tally> {
    use rustix::mm::{MapFlags, ProtFlags, mmap};
    let (length, protection) = (size_of::<SharedBlock>(), ProtFlags::READ | ProtFlags::WRITE);
    // SAFETY: a new shared mapping at an address of the kernel's choice, of a file that is as long.
    let start =
        unsafe { mmap(std::ptr::null_mut(), length, protection, MapFlags::SHARED | MapFlags::POPULATE, file, 0) }?;
    let memory = NonNull::new(start.cast()).ok_or(std::io::ErrorKind::OutOfMemory)?;
    let none = AtomicU64::default;
    Ok(Tally { memory, done: none(), over: none(), failed: none(), longest: none(), refused: none(), ended: none() })
}
