//! The process in which a user's own work runs: the side that hands it its blocks.
//!
//! The thread that does so runs above it, so that work that never ends cannot keep it from saying so.

use super::block::{Block, Ended, OwnCounts, SharedBlock};
use super::served::SUBCOMMAND;
use super::{OwnWork, compile, refuse};
use punctual_kernel::scheduling::{Scheduling, set_scheduling_of};
use punctual_kernel::stat_line::StatLine;
use punctual_kernel::{Refused, clock};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
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
/// How often to look at work that is not done yet, ns.
const LOOK_NS: i64 = 1_000_000;
/// After how many looks to check whether it waits for something that nobody sends.
const LOOKS_A_STATE: u64 = 100;
/// A process that is found stopped so often in a row, which takes a second, is ended.
const MAX_STOPPED: u32 = 10;
/// The budget holds in each window of this length, ns.
const WINDOW_NS: u64 = 100_000_000;
/// A process that is not ready by then never will be.
const PATIENCE: Duration = Duration::from_secs(10);

/// What both this side and whoever reports know about the work.
pub(crate) struct Tally {
    memory: NonNull<SharedBlock>,
    done: AtomicU64,
    over: AtomicU64,
    failed: AtomicU64,
    longest: AtomicU64,
    refused: AtomicU64,
    /// 0: not ended; otherwise the kind in the lowest byte, and its number above.
    ended: AtomicU64,
    ended_block: AtomicU64,
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
        let (ended, ended_block) = self.ended().map_or((None, 0), |(ended, block)| (Some(ended), block));
        OwnCounts {
            done: self.done.load(Relaxed),
            over: self.over.load(Relaxed),
            failed: self.failed.load(Relaxed),
            longest_ns: self.longest.load(Relaxed),
            refused: self.refused.load(Relaxed),
            ended,
            ended_block,
            output: block.output,
            digest: block.digest(),
        }
    }

    /// How it ended, and the number of the block that it was working on.
    pub(crate) fn ended(&self) -> Option<(Ended, u64)> {
        let code = self.ended.load(Ordering::Acquire);
        let ended = match code & 0xff {
            0 => return None,
            1 => Ended::TooLong(code >> 8),
            2 => Ended::Signal((code >> 8) as i32),
            4 => Ended::Meddled,
            _ => Ended::Exit,
        };
        Some((ended, self.ended_block.load(Relaxed)))
    }

    fn end(&self, ended: Ended, block: u64) {
        let code = match ended {
            Ended::TooLong(ns) => 1 | ns << 8,
            Ended::Signal(number) => 2 | u64::from(number.cast_unsigned()) << 8,
            Ended::Exit => 3,
            Ended::Meddled => 4,
        };
        self.ended_block.store(block, Relaxed);
        self.ended.store(code, Ordering::Release);
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
    /// The token that answers the next block: the work is not told it, and an answer that nobody asked for has another.
    token: u64,
    last: Turn,
}

/// What came of the work's turn with a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It was done, and took so much CPU time, ns.
    Done(u64),
    /// It was begun, and its process ended.
    GivenUp,
    /// It was not begun: its budget was used up, or its process had ended before.
    NotBegun,
}

impl OwnProcess {
    /// Starts it on this CPU. In each 100 ms it may work for the part that the budget, ns, is of the period, ns.
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
        let memory = block_memory().map_err(failed)?;
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
            token: clock::monotonic_ns(),
            last: Turn::NotBegun,
        };
        process.line.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        if process.line.read(&mut [0]).ok() != Some(1) {
            return Err(refuse(work.name(), "its process did not begin (does this kernel have seccomp?)"));
        }
        Ok(process)
    }

    /// Schedules it this way from now on: after [`OwnProcess::calibrate`], which a thread calls that runs above nobody.
    ///
    /// # Errors
    /// What the kernel refused.
    pub(crate) fn schedule(&self, scheduling: Scheduling) -> Result<(), Refused> {
        set_scheduling_of(self.child.id(), scheduling, false)
    }

    /// How long a block takes, ns: the least of several. Afterwards it is back at its beginning.
    ///
    /// # Errors
    /// If its process ended.
    pub(crate) fn calibrate(&mut self, work: &OwnWork) -> Result<u64, Refused> {
        self.tally.begin(self.samples);
        let mut least = u64::MAX;
        for number in 0..9 {
            self.begin_block(number);
            self.work_on();
            self.window_worked = 0;
            // A clock that leaves out what the host took may not have moved at all.
            if let Turn::Done(took @ 1..) = self.last {
                least = least.min(took);
            }
        }
        if let Some(ended) = self.tally.counts().ended {
            return Err(refuse(work.name(), ended.to_string()));
        }
        self.tally.begin(self.samples);
        Ok(if least == u64::MAX { 0 } else { least })
    }

    pub(crate) fn tally(&self) -> Arc<Tally> {
        Arc::clone(&self.tally)
    }

    /// What came of the last block.
    #[inline]
    pub(crate) fn last(&self) -> Turn {
        self.last
    }

    /// The block with this number comes next.
    #[inline]
    pub(crate) fn begin_block(&mut self, number: u64) {
        self.number = number;
    }

    /// Makes it work on the block, and waits for it.
    pub(crate) fn work_on(&mut self) {
        self.last = Turn::NotBegun;
        if self.tally.has_ended() || self.is_too_much() {
            return;
        }
        self.last = Turn::GivenUp;
        // SAFETY: within the mapping; the child waits.
        unsafe { (&raw mut (*self.tally.memory.as_ptr()).block.number).write_volatile(self.number) }
        fence(Ordering::SeqCst);
        let before = self.cpu_ns();
        self.token = self.token.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let asked = self.line.write(&self.token.to_ne_bytes()).ok() == Some(size_of::<u64>());
        if !asked || !self.wait(before) {
            return self.find_end();
        }
        fence(Ordering::SeqCst);
        let took = self.cpu_ns().saturating_sub(before);
        // SAFETY: within the mapping.
        let result = unsafe { (&raw const (*self.tally.memory.as_ptr()).result).read_volatile() };
        self.window_worked += took;
        self.last = Turn::Done(took);
        self.tally.done.fetch_add(1, Relaxed);
        self.tally.over.fetch_add(u64::from(took > self.budget_ns), Relaxed);
        self.tally.failed.fetch_add(u64::from(result != 0), Relaxed);
        self.tally.longest.fetch_max(took, Relaxed);
    }

    /// Waits until the block is done; false if it never will be.
    fn wait(&mut self, before: u64) -> bool {
        let mut stopped = 0;
        for look in 1u64.. {
            match self.poll(LOOK_NS) {
                Ok(1..) => return self.take_answer(),
                Ok(0) => {
                    let took = self.cpu_ns().saturating_sub(before);
                    if took > MAX_WORK_NS {
                        return self.give_up(Ended::TooLong(took));
                    }
                    if !look.is_multiple_of(LOOKS_A_STATE) {
                        continue;
                    }
                    let state = self.state();
                    // It waits although it should answer: it read from the line itself.
                    if state == Some('S') && self.poll(0) == Ok(0) {
                        return self.give_up(Ended::Meddled);
                    }
                    // Whoever has the same user may stop it, and need never let it go on.
                    stopped = if matches!(state, Some('T' | 't')) { stopped + 1 } else { 0 };
                    if stopped >= MAX_STOPPED {
                        return self.give_up(Ended::Signal(libc::SIGSTOP));
                    }
                }
                Err(_) => {}
            }
        }
        false
    }

    fn poll(&self, nanoseconds: i64) -> rustix::io::Result<usize> {
        let timeout = Timespec { tv_sec: 0, tv_nsec: nanoseconds };
        poll(&mut [PollFd::new(&self.line, PollFlags::IN)], Some(&timeout))
    }

    /// Whether there is an answer, and the one that was asked for.
    fn take_answer(&mut self) -> bool {
        let mut answer = [0; size_of::<u64>()];
        match self.line.read(&mut answer) {
            Ok(0) | Err(_) => false,
            Ok(_) if answer == self.token.to_ne_bytes() => true,
            Ok(_) => self.give_up(Ended::Meddled),
        }
    }

    fn give_up(&mut self, ended: Ended) -> bool {
        self.tally.end(ended, self.number);
        let _ = self.child.kill();
        false
    }

    /// What it does, in the kernel's letters: `S` if it sleeps, `T` if it is stopped. Ask only about work that has not
    /// answered for long: this opens a file.
    #[cold]
    fn state(&self) -> Option<char> {
        StatLine::of_process(self.child.id())?.state()
    }

    /// It has ended, or was killed: how?
    fn find_end(&mut self) {
        if self.tally.has_ended() {
            return;
        }
        let _ = self.child.kill();
        let signal = self.child.wait().ok().and_then(|status| status.signal());
        self.tally.end(signal.map_or(Ended::Exit, Ended::Signal), self.number);
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
        // SAFETY: fills the structure that it is given; for a process that is gone it leaves it as it is.
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
    let (done, over, failed, longest) = (none(), none(), none(), none());
    Ok(Tally { memory, done, over, failed, longest, refused: none(), ended: none(), ended_block: none() })
}

/// Memory for a block, whose length nobody can change any more.
fn block_memory() -> std::io::Result<File> {
    let memory = memfd_create("punctual-block", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    ftruncate(&memory, size_of::<SharedBlock>() as u64)?;
    fcntl_add_seals(&memory, SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(File::from(memory))
}
