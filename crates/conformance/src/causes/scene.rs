//! A scene: its roles as processes, the CPU of each, and how often they act.

use super::board::Board;
use super::sleep::Sleep;
use super::system::{self, Pid, now, sleep_until, spin};
use punctual_random::Random;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::time::Duration;

/// Why a cause cannot be made on this machine.
pub(crate) struct Refused(pub(crate) String);

impl From<std::io::Error> for Refused {
    fn from(error: std::io::Error) -> Refused {
        Refused(error.to_string())
    }
}

pub(crate) type Made = Result<(), Refused>;

/// What the roles of a cause are made from.
pub(crate) struct Scene {
    pub(crate) board: &'static Board,
    /// How many injections.
    pub(crate) count: usize,
    /// For files; it is removed with the scene.
    pub(crate) directory: PathBuf,
    /// The process whose id is in the groups' names.
    pub(crate) owner: Pid,
    /// Where the victim is.
    pub(crate) here: usize,
    /// Another CPU, if there is one.
    pub(crate) there: usize,
    /// The program under examination, for its own drills.
    pub(crate) program: PathBuf,
    roles: Vec<Role>,
}

struct Role {
    pid: Pid,
    /// Whether the scene ends when this role has made its injections.
    makes: bool,
}

pub(crate) const MS: u64 = 1_000_000;

impl Scene {
    pub(crate) fn new(count: usize, directory: PathBuf, owner: Pid, program: PathBuf) -> std::io::Result<Scene> {
        let cpus = system::cpus();
        let (here, there) = (cpus[cpus.len() - 1], cpus[0]);
        Ok(Scene { board: Board::new()?, count, directory, owner, here, there, program, roles: Vec::new() })
    }

    /// A process that runs until the culprits have ended. It calls [`Board::prepared`] once.
    pub(crate) fn role(&mut self, name: &str, task: impl FnOnce() -> Made) -> Result<Pid, Refused> {
        self.process(name, false, task)
    }

    /// A real-time victim that does this about every `period`, and is late when it takes long.
    pub(crate) fn victim(&mut self, period: Duration, work: impl FnMut()) -> Made {
        let (board, here) = (self.board, self.here);
        self.role("c-victim", || {
            real_time(70, here)?;
            board.cycle(period, work);
            Ok(())
        })?;
        Ok(())
    }

    /// A victim that wakes every 2 ms and works for `work` ns. It prepares itself for its CPU, usually with
    /// [`real_time`].
    pub(crate) fn waker(&mut self, work: u64, prepare: impl FnOnce(usize) -> Made) -> Result<Pid, Refused> {
        let (board, here) = (self.board, self.here);
        self.role("c-victim", || {
            prepare(here)?;
            board.cycle(Duration::from_millis(2), || {
                spin(now(), work);
            });
            Ok(())
        })
    }

    /// A process that makes the injections and ends.
    pub(crate) fn culprit(&mut self, name: &str, task: impl FnOnce() -> Made) -> Result<Pid, Refused> {
        self.process(name, true, task)
    }

    fn process(&mut self, name: &str, makes: bool, task: impl FnOnce() -> Made) -> Result<Pid, Refused> {
        let pid = system::fork()?;
        if pid == 0 {
            system::set_name(name);
            if let Err(Refused(reason)) = task() {
                self.board.refuse(&format!("{name}: {reason}"));
                system::leave(1);
            }
            system::leave(0);
        }
        self.roles.push(Role { pid, makes });
        Ok(pid)
    }

    /// Says `ready`, waits for a line, lets the roles run, and ends them.
    pub(crate) fn play(mut self) -> Made {
        let limit = now() + 20_000 * MS;
        while (self.board.prepared_roles() as usize) < self.roles.len() {
            if let Some(reason) = self.board.refusal() {
                self.kill();
                return Err(Refused(reason));
            }
            if now() > limit {
                self.kill();
                return Err(Refused("its roles are not ready after 20 s".into()));
            }
            system::sleep(5 * MS);
        }
        let mut out = std::io::stdout();
        writeln!(out, "ready").and_then(|()| out.flush())?;
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line)?;
        self.board.begin();
        let limit = now() + 1_000 * MS + self.count as u64 * 400 * MS;
        while self.roles.iter().any(|role| role.makes && system::reap(role.pid, false) == Some(false)) {
            if now() > limit || self.board.is_finished() || self.board.refusal().is_some() {
                break;
            }
            system::sleep(5 * MS);
        }
        // Time to wait for what was injected last.
        system::sleep(100 * MS);
        self.board.end();
        let limit = now() + 500 * MS;
        while now() < limit && self.roles.iter().any(|role| system::reap(role.pid, false) == Some(false)) {
            system::sleep(5 * MS);
        }
        self.kill();
        self.board.refusal().map_or(Ok(()), |reason| Err(Refused(reason)))
    }

    fn kill(&mut self) {
        for role in &self.roles {
            if system::reap(role.pid, false) == Some(false) {
                system::kill(role.pid, libc::SIGKILL);
                system::reap(role.pid, true);
            }
        }
    }
}

impl Board {
    /// Injects `count` times, each time after a pause of `low` to `high` ms.
    pub(crate) fn injections(&self, count: usize, (low, high): (u64, u64), mut inject: impl FnMut(&mut Random)) {
        let mut random = Random(u64::from(system::tid()));
        self.prepared();
        for _ in 0..count {
            if self.is_ending() {
                return;
            }
            sleep_until(now() + random.between(low * MS, high * MS));
            inject(&mut random);
        }
    }

    /// Works for this long, ns; anything that keeps it from its work for longer than `min_gap` is this culprit's doing.
    pub(crate) fn work_noting_gaps(&self, culprit: &str, work: u64, min_gap: u64) {
        let (mut worked, mut last) = (0, now());
        while worked < work {
            let time = now();
            match time - last > min_gap {
                true => self.injected(culprit, last, time),
                false => worked += time - last,
            }
            last = time;
        }
    }

    /// Works whenever it may, until the end.
    pub(crate) fn keep_busy(&self) {
        self.prepared();
        while !self.is_ending() {
            spin(now(), MS);
        }
    }

    /// Sleeps until it is called through this word, then does its work; repeats this until the end.
    pub(crate) fn whenever_called(&self, word: &AtomicU32, mut work: impl FnMut()) {
        self.prepared();
        while !self.is_ending() {
            system::futex_wait(word, 0);
            if word.swap(0, AcqRel) == 1 {
                work();
            }
        }
    }

    /// Wakes about every `period` and does its work, until the end.
    pub(crate) fn cycle(&self, period: Duration, work: impl FnMut()) {
        self.cycle_where(period, false, work);
    }

    /// The same; but it was kept from its work only if it slept for the larger part.
    pub(crate) fn cycle_of_sleeps(&self, period: Duration, work: impl FnMut()) {
        self.cycle_where(period, true, work);
    }

    fn cycle_where(&self, period: Duration, of_sleeps: bool, mut work: impl FnMut()) {
        let period = period.as_nanos() as u64;
        let mut random = Random(u64::from(system::tid()));
        self.prepared();
        let mut due = now();
        while !self.is_ending() {
            due = (due + period).max(now() + period / 2) + random.between(0, period / 8);
            let sleep = of_sleeps.then(|| Sleep::from(due));
            sleep_until(due);
            let ran = now();
            work();
            if sleep.is_none_or(|sleep| sleep.was_most()) {
                self.waited_since(due, ran);
            }
        }
    }

    /// Works for `ns`, and logs as injections only the time that was not taken from it.
    pub(crate) fn occupy(&self, name: &str, ns: u64) {
        const MIN_GAP: u64 = 100_000;
        let begin = now();
        let (mut start, mut last) = (begin, begin);
        while last < begin + ns {
            let time = now();
            if time - last > MIN_GAP {
                self.kept(name, start, last);
                start = time;
            }
            last = time;
        }
        self.kept(name, start, last);
    }

    fn kept(&self, name: &str, start: u64, end: u64) {
        if end - start > 300_000 {
            self.injected(name, start, end);
        }
    }
}

/// Calls the role that sleeps in [`Board::whenever_called`].
pub(crate) fn call(word: &AtomicU32) {
    word.store(1, Release);
    system::futex_wake(word, 1);
}

/// Prepares a real-time victim.
pub(crate) fn real_time(priority: i32, cpu: usize) -> Made {
    system::pin(0, &[cpu]);
    system::schedule(0, libc::SCHED_FIFO, priority).map_err(|error| Refused(format!("no real-time priority ({error})")))
}

/// A victim that acts about every `period` ns, and a thread of its process that injects.
pub(crate) fn beside(
    scene: &mut Scene,
    name: &'static str,
    period: u64,
    act: impl Fn(),
    mut inject: impl FnMut(&mut Random) + Send + 'static,
) -> Made {
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    scene.culprit("c-victim", || {
        let done = Arc::new(AtomicBool::new(false));
        let ended = done.clone();
        system::thread(name, move || {
            system::steady(there);
            let mut random = Random(29);
            while board.cells[7].load(Acquire) == 0 {
                system::sleep(MS);
            }
            for _ in 0..count {
                system::sleep(random.between(12 * MS, 28 * MS));
                if board.is_ending() {
                    break;
                }
                inject(&mut random);
            }
            done.store(true, Release);
        });
        real_time(70, here)?;
        board.prepared();
        board.cells[7].store(1, Release);
        let mut random = Random(31);
        while !ended.load(Acquire) && !board.is_ending() {
            let due = now() + random.between(period * 3 / 4, period * 5 / 4);
            system::sleep_until(due);
            act();
            board.waited(due);
        }
        Ok(())
    })?;
    Ok(())
}
