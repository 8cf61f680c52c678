//! Locks: who holds one, and what delays the holder.

use super::board::Board;
use super::primitives::{Condition, First, Mutex, Nature, ReadWrite, Semaphore, Spin};
use super::scene::{MS, Made, Refused, Scene, call, real_time};
use super::system::{self, now, spin};
use punctual_random::Random;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::Duration;

pub(super) const PERIOD: Duration = Duration::from_millis(3);

/// A thread on the holder's CPU that now and then takes what it should hold, keeps it, and lets it go: an injection
/// that begins when it has it.
pub(super) fn holder(
    scene: &mut Scene,
    name: &'static str,
    pause_ms: (u64, u64),
    take: impl Fn(),
    mut keep: impl FnMut(&mut Random, u64),
    let_go: impl Fn(),
) -> Made {
    let (board, there, count) = (scene.board, scene.there, scene.count);
    scene.culprit(name, || {
        system::steady(there);
        board.injections(count, pause_ms, |random| {
            take();
            let start = now();
            keep(random, start);
            board.injected(name, start, now());
            let_go();
        });
        Ok(())
    })?;
    Ok(())
}

/// A victim that takes the mutex for a moment every period.
pub(super) fn victim(scene: &mut Scene, mutex: Mutex, period: Duration) -> Made {
    scene.victim(period, || {
        mutex.lock();
        mutex.unlock();
    })
}

/// A FIFO 60 thread on the holder's CPU that works for as long as `cells[0]` says, whenever `words[0]` is set.
fn bully(scene: &mut Scene) -> Made {
    let (board, there) = (scene.board, scene.there);
    scene.role("c-bully", || {
        real_time(60, there)?;
        board.whenever_called(&board.words[0], || work(board.cells[0].load(Relaxed)));
        Ok(())
    })?;
    Ok(())
}

fn preempted(scene: &mut Scene, nature: Nature, period: Duration, (low, high): (u64, u64)) -> Made {
    let board = scene.board;
    let mutex = Mutex::new(board, 0, nature);
    victim(scene, mutex, period)?;
    bully(scene)?;
    let keep = |random: &mut Random, _| {
        board.cells[0].store(random.between(low * MS, high * MS), Relaxed);
        call(&board.words[0]);
        work(MS / 5);
    };
    holder(scene, "c-holder", (12, 28), || mutex.lock(), keep, || mutex.unlock())
}

pub(super) fn preempted_holder(scene: &mut Scene) -> Made {
    preempted(scene, Nature::Plain, PERIOD, (3, 7))
}

pub(super) fn robust(scene: &mut Scene) -> Made {
    preempted(scene, Nature::Robust, Duration::from_millis(24), (18, 30))
}

/// The holder works, or sleeps.
fn held(scene: &mut Scene, nature: Nature, keep: fn(u64)) -> Made {
    let mutex = Mutex::new(scene.board, 0, nature);
    victim(scene, mutex, PERIOD)?;
    let keep = |random: &mut Random, _| keep(random.between(3 * MS, 6 * MS));
    holder(scene, "c-holder", (12, 28), || mutex.lock(), keep, || mutex.unlock())
}

fn work(ns: u64) {
    spin(now(), ns);
}

/// What most holders do with what they hold.
pub(super) fn works_long(random: &mut Random, start: u64) {
    spin(start, random.between(3 * MS, 6 * MS));
}

pub(super) fn inheriting(scene: &mut Scene) -> Made {
    held(scene, Nature::Inheriting, work)
}

pub(super) fn sleeping_holder(scene: &mut Scene) -> Made {
    held(scene, Nature::Plain, system::sleep)
}

pub(super) fn timed_out(scene: &mut Scene) -> Made {
    let mutex = Mutex::new(scene.board, 0, Nature::Plain);
    scene.victim(PERIOD, || {
        if mutex.lock_within(2 * MS) {
            mutex.unlock();
        }
    })?;
    let keep = |random: &mut Random, start| _ = spin(start, random.between(6 * MS, 8 * MS));
    holder(scene, "c-holder", (15, 30), || mutex.lock(), keep, || mutex.unlock())
}

extern "C" fn nothing(_: i32) {}

pub(super) fn bystander(scene: &mut Scene) -> Made {
    let (board, here) = (scene.board, scene.here);
    let mutex = Mutex::new(board, 0, Nature::Plain);
    let victim = scene.role("c-victim", || {
        system::handle(libc::SIGUSR1, nothing);
        real_time(70, here)?;
        board.cycle(PERIOD, || {
            board.words[2].store(1, Release);
            mutex.lock();
            board.words[2].store(0, Release);
            mutex.unlock();
        });
        Ok(())
    })?;
    scene.role("c-bystander", || {
        board.whenever_called(&board.words[1], || system::kill(victim, libc::SIGUSR1));
        Ok(())
    })?;
    let keep = |random: &mut Random, start| {
        // Until the victim waits, and usually longer.
        while board.words[2].load(Acquire) == 0 && now() < start + 8 * MS {
            std::hint::spin_loop();
        }
        work(random.between(3 * MS, 5 * MS));
        call(&board.words[1]);
        work(random.between(MS, 3 * MS / 2));
    };
    holder(scene, "c-holder", (15, 30), || mutex.lock(), keep, || mutex.unlock())
}

/// The victim wants the second thread's lock, the second wants the first's, and the first works.
fn chain(scene: &mut Scene, nature: Nature) -> Made {
    let (board, there) = (scene.board, scene.there);
    let outer = Mutex::new(board, 0, nature);
    let inner = Mutex::new(board, 1, nature);
    victim(scene, outer, PERIOD)?;
    scene.role("c-second", || {
        system::steady(there);
        board.whenever_called(&board.words[1], || {
            outer.lock();
            inner.lock();
            inner.unlock();
            outer.unlock();
        });
        Ok(())
    })?;
    let take = || {
        inner.lock();
        call(&board.words[1]);
        // By then the second has got as far as the inner lock.
        system::sleep(MS / 2);
    };
    holder(scene, "c-first", (15, 30), take, works_long, || inner.unlock())
}

pub(super) fn convoy(scene: &mut Scene) -> Made {
    chain(scene, Nature::Plain)
}

pub(super) fn inheriting_chain(scene: &mut Scene) -> Made {
    chain(scene, Nature::Inheriting)
}

pub(super) fn semaphore(scene: &mut Scene) -> Made {
    let (ask, answer) = (Semaphore::new(scene.board, 0), Semaphore::new(scene.board, 1));
    scene.victim(PERIOD, || {
        ask.post();
        answer.wait();
    })?;
    serve(scene, "c-poster", || ask.wait(), || answer.post())
}

/// A server that is slow now and then.
pub(super) fn serve(scene: &mut Scene, name: &'static str, next: impl Fn(), answer: impl Fn()) -> Made {
    let (board, there, count) = (scene.board, scene.there, scene.count);
    scene.culprit(name, || {
        system::steady(there);
        let mut random = Random(u64::from(system::tid()));
        board.prepared();
        while !board.is_ending() && board.count() < count {
            let slow = random.between(0, 5) == 0;
            next();
            if slow {
                let start = now();
                spin(start, random.between(3 * MS, 6 * MS));
                board.injected(name, start, now());
            }
            answer();
        }
        board.finish();
        // The victim must not hang while the others end.
        while !board.is_ending() {
            answer();
            system::sleep(MS);
        }
        Ok(())
    })?;
    Ok(())
}

pub(super) fn read_write(scene: &mut Scene) -> Made {
    let lock = ReadWrite::new(scene.board, 0, First::Readers);
    scene.victim(PERIOD, || {
        lock.read();
        lock.unlock();
    })?;
    holder(scene, "c-writer", (12, 28), || lock.write(), works_long, || lock.unlock())
}

/// Requests and replies under a mutex, each announced by a condition.
#[derive(Clone, Copy)]
pub(super) struct Exchange {
    board: &'static Board,
    mutex: Mutex,
    asked: Condition,
    pub(super) answered: Condition,
    request: &'static AtomicU32,
    reply: &'static AtomicU32,
}

impl Exchange {
    pub(super) fn new(board: &'static Board) -> Exchange {
        let mutex = Mutex::new(board, 0, Nature::Plain);
        let (asked, answered) = (Condition::new(board, 1), Condition::new(board, 2));
        Exchange { board, mutex, asked, answered, request: &board.words[3], reply: &board.words[4] }
    }

    /// Asks, and waits for the answer.
    pub(super) fn ask(self) {
        self.mutex.lock();
        let wanted = self.request.fetch_add(1, Relaxed) + 1;
        self.asked.signal();
        while self.reply.load(Relaxed) != wanted && !self.board.is_ending() {
            self.answered.wait(self.mutex);
        }
        self.mutex.unlock();
    }

    /// Waits until somebody asks.
    pub(super) fn await_request(self) {
        self.mutex.lock();
        while self.request.load(Relaxed) == self.reply.load(Relaxed) && !self.board.is_ending() {
            self.asked.wait(self.mutex);
        }
        self.mutex.unlock();
    }

    /// Answers whatever was asked.
    pub(super) fn answer(self) {
        self.mutex.lock();
        self.reply.store(self.request.load(Relaxed), Relaxed);
        self.answered.signal();
        self.mutex.unlock();
    }
}

pub(super) fn condition(scene: &mut Scene) -> Made {
    let exchange = Exchange::new(scene.board);
    scene.victim(PERIOD, || exchange.ask())?;
    serve(scene, "c-signaller", move || exchange.await_request(), move || exchange.answer())
}

/// A word with the value 2 that says "no job yet": waiting for it is not lateness.
pub(super) fn idle_word(scene: &mut Scene) -> Made {
    let (board, there, count) = (scene.board, scene.there, scene.count);
    let here = scene.here;
    let word = &board.words[3];
    word.store(2, Relaxed);
    scene.role("c-victim", || {
        real_time(70, here)?;
        board.prepared();
        let mut jobs = 0;
        while !board.is_ending() {
            while word.load(Acquire) == 2 && !board.is_ending() {
                system::futex_wait(word, 2);
            }
            let due = board.cells[1].load(Relaxed);
            word.store(2, Release);
            jobs += 1;
            // A job of 2 ms now and then, so that something is late.
            spin(now(), if jobs % 4 == 0 { 2 * MS } else { MS / 20 });
            board.waited(due);
            board.cells[2].store(now(), Release);
        }
        Ok(())
    })?;
    scene.culprit("c-caller", || {
        system::steady(there);
        board.injections(count, (6, 15), |_| {
            // Between the end of the last job and now, nobody waited for anything.
            let (start, end) = (board.cells[2].load(Acquire), now());
            board.cells[1].store(end, Relaxed);
            call(word);
            if start > 0 && start < end {
                board.injected("c-caller", start, end - MS / 10);
            }
        });
        Ok(())
    })?;
    Ok(())
}

pub(super) fn spinning(scene: &mut Scene) -> Made {
    if scene.here == scene.there {
        return Err(Refused("a spinning victim needs a second CPU".into()));
    }
    let lock = Spin::new(scene.board, 0);
    scene.victim(PERIOD, || {
        lock.lock();
        lock.unlock();
    })?;
    let keep = |random: &mut Random, start| _ = spin(start, random.between(2 * MS, 4 * MS));
    holder(scene, "c-holder", (15, 30), || lock.lock(), keep, || lock.unlock())
}

/// The lock is released, which wakes the victim, and another thread takes it before the victim has it.
pub(super) fn barging(scene: &mut Scene) -> Made {
    let (board, here) = (scene.board, scene.here);
    let mutex = Mutex::new(board, 0, Nature::Plain);
    victim(scene, mutex, PERIOD)?;
    scene.role("c-barger", || {
        // On the victim's CPU and ahead of it, spinning until the lock is free.
        system::pin(0, &[here]);
        real_time(75, here)?;
        board.whenever_called(&board.words[1], || {
            let limit = now() + 4 * MS;
            while now() < limit && !mutex.lock_within(0) {}
            let start = now();
            if start < limit {
                // Asleep, so that the victim runs and finds the lock taken.
                system::sleep(3 * MS);
                board.injected("c-barger", start, now());
                mutex.unlock();
            }
        });
        Ok(())
    })?;
    let keep = |_: &mut Random, start| {
        spin(start, 7 * MS / 2);
        call(&board.words[1]);
        work(MS / 3);
    };
    holder(scene, "c-holder", (20, 35), || mutex.lock(), keep, || mutex.unlock())
}

/// Waiters of a condition are moved to a lock whose holder has not woken them yet.
pub(super) fn requeue(scene: &mut Scene) -> Made {
    let (condition, lock) = (&scene.board.words[5], &scene.board.words[6]);
    scene.victim(PERIOD, || {
        let seen = condition.load(Acquire);
        system::futex_wait(condition, seen);
    })?;
    let take = || {
        lock.store(2, Release);
        let value = condition.fetch_add(1, AcqRel) + 1;
        system::futex_requeue(condition, value, lock);
    };
    let keep = |random: &mut Random, start| _ = spin(start, random.between(3 * MS, 5 * MS));
    let let_go = || {
        lock.store(0, Release);
        system::futex_wake(lock, i32::MAX);
    };
    holder(scene, "c-holder", (2, 5), take, keep, let_go)
}
