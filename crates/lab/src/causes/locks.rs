//! Locks: who holds one, and what keeps the holder.

use super::primitives::{Condition, First, Mutex, Nature, ReadWrite, Semaphore, Spin};
use super::scene::{MS, Made, Scene, real_time};
use super::system::{self, now, spin};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::Duration;

const PERIOD: Duration = Duration::from_millis(3);

/// A real-time victim that takes the lock for a moment, every period.
pub(super) fn victim(scene: &mut Scene, take: impl Fn()) -> Made {
    victim_every(scene, PERIOD, take)
}

pub(super) fn victim_every(scene: &mut Scene, period: Duration, take: impl Fn()) -> Made {
    let (board, here) = (scene.board, scene.here);
    scene.role("c-victim", || {
        real_time(70, here)?;
        board.cycle(period, &take);
        Ok(())
    })?;
    Ok(())
}

/// A FIFO 60 thread on the holder's CPU that works for as long as `cells[0]` says whenever `words[0]` is set.
fn bully(scene: &mut Scene) -> Made {
    let (board, there) = (scene.board, scene.there);
    scene.role("c-bully", || {
        real_time(60, there)?;
        board.prepared();
        while !board.is_ending() {
            system::futex_wait(&board.words[0], 0);
            if board.words[0].swap(0, AcqRel) == 1 {
                spin(now(), board.cells[0].load(Relaxed));
            }
        }
        Ok(())
    })?;
    Ok(())
}

fn preempted(scene: &mut Scene, nature: Nature, period: Duration, (low, high): (u64, u64)) -> Made {
    let (board, there, count) = (scene.board, scene.there, scene.count);
    let mutex = Mutex::new(board, 0, nature);
    victim_every(scene, period, || {
        mutex.lock();
        mutex.unlock();
    })?;
    bully(scene)?;
    scene.culprit("c-holder", || {
        system::steady(there);
        board.injections(count, (12, 28), |random| {
            mutex.lock();
            let start = now();
            board.cells[0].store(random.between(low * MS, high * MS), Relaxed);
            board.words[0].store(1, Release);
            system::futex_wake(&board.words[0], 1);
            spin(now(), MS / 5);
            board.injected("c-holder", start, now());
            mutex.unlock();
        });
        Ok(())
    })?;
    Ok(())
}

pub(super) fn preempted_holder(scene: &mut Scene) -> Made {
    preempted(scene, Nature::Plain, PERIOD, (3, 7))
}

pub(super) fn robust(scene: &mut Scene) -> Made {
    preempted(scene, Nature::Robust, Duration::from_millis(24), (18, 30))
}

/// The holder works, or sleeps.
fn held(scene: &mut Scene, nature: Nature, keep: fn(u64)) -> Made {
    let (board, there, count) = (scene.board, scene.there, scene.count);
    let mutex = Mutex::new(board, 0, nature);
    victim(scene, || {
        mutex.lock();
        mutex.unlock();
    })?;
    scene.culprit("c-holder", || {
        system::steady(there);
        board.injections(count, (12, 28), |random| {
            mutex.lock();
            let start = now();
            keep(random.between(3 * MS, 6 * MS));
            board.injected("c-holder", start, now());
            mutex.unlock();
        });
        Ok(())
    })?;
    Ok(())
}

fn work(ns: u64) {
    spin(now(), ns);
}

pub(super) fn inheriting(scene: &mut Scene) -> Made {
    held(scene, Nature::Inheriting, work)
}

pub(super) fn sleeping_holder(scene: &mut Scene) -> Made {
    held(scene, Nature::Plain, system::sleep)
}

pub(super) fn timed_out(scene: &mut Scene) -> Made {
    let (board, there, count) = (scene.board, scene.there, scene.count);
    let mutex = Mutex::new(board, 0, Nature::Plain);
    victim(scene, || {
        if mutex.lock_within(2 * MS) {
            mutex.unlock();
        }
    })?;
    scene.culprit("c-holder", || {
        system::steady(there);
        board.injections(count, (15, 30), |random| {
            mutex.lock();
            let start = now();
            spin(start, random.between(6 * MS, 8 * MS));
            board.injected("c-holder", start, now());
            mutex.unlock();
        });
        Ok(())
    })?;
    Ok(())
}

extern "C" fn nothing(_: i32) {}

pub(super) fn bystander(scene: &mut Scene) -> Made {
    let (board, there, count) = (scene.board, scene.there, scene.count);
    let mutex = Mutex::new(board, 0, Nature::Plain);
    let here = scene.here;
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
        board.prepared();
        while !board.is_ending() {
            system::futex_wait(&board.words[1], 0);
            if board.words[1].swap(0, AcqRel) == 1 {
                system::kill(victim, libc::SIGUSR1);
            }
        }
        Ok(())
    })?;
    scene.culprit("c-holder", || {
        system::steady(there);
        board.injections(count, (15, 30), |random| {
            mutex.lock();
            let start = now();
            // Until the victim waits, and most of the time more.
            while board.words[2].load(Acquire) == 0 && now() < start + 8 * MS {}
            spin(now(), random.between(3 * MS, 5 * MS));
            board.words[1].store(1, Release);
            system::futex_wake(&board.words[1], 1);
            spin(now(), random.between(MS, 3 * MS / 2));
            board.injected("c-holder", start, now());
            mutex.unlock();
        });
        Ok(())
    })?;
    Ok(())
}

/// The victim wants the second's lock, the second the first's, and the first works.
fn chain(scene: &mut Scene, nature: Nature) -> Made {
    let (board, there, count) = (scene.board, scene.there, scene.count);
    let outer = Mutex::new(board, 0, nature);
    let inner = Mutex::new(board, 1, nature);
    victim(scene, || {
        outer.lock();
        outer.unlock();
    })?;
    scene.role("c-second", || {
        system::steady(there);
        board.prepared();
        while !board.is_ending() {
            system::futex_wait(&board.words[1], 0);
            if board.words[1].swap(0, AcqRel) == 1 {
                outer.lock();
                inner.lock();
                inner.unlock();
                outer.unlock();
            }
        }
        Ok(())
    })?;
    scene.culprit("c-first", || {
        system::steady(there);
        board.injections(count, (15, 30), |random| {
            inner.lock();
            board.words[1].store(1, Release);
            system::futex_wake(&board.words[1], 1);
            // The second gets as far as the inner lock.
            system::sleep(MS / 2);
            let start = now();
            spin(start, random.between(3 * MS, 6 * MS));
            board.injected("c-first", start, now());
            inner.unlock();
        });
        Ok(())
    })?;
    Ok(())
}

pub(super) fn convoy(scene: &mut Scene) -> Made {
    chain(scene, Nature::Plain)
}

pub(super) fn inheriting_chain(scene: &mut Scene) -> Made {
    chain(scene, Nature::Inheriting)
}

pub(super) fn semaphore(scene: &mut Scene) -> Made {
    let (board, there, count) = (scene.board, scene.there, scene.count);
    let (ask, answer) = (Semaphore::new(board, 0), Semaphore::new(board, 1));
    victim(scene, || {
        ask.post();
        answer.wait();
    })?;
    serve(scene, "c-poster", there, count, move || ask.wait(), move || answer.post())
}

/// A server that is slow once in a while.
pub(super) fn serve(
    scene: &mut Scene,
    name: &'static str,
    cpu: usize,
    count: usize,
    next: impl Fn(),
    answer: impl Fn(),
) -> Made {
    let board = scene.board;
    scene.culprit(name, || {
        system::steady(cpu);
        let mut random = super::scene::Random::new(u64::from(system::tid()));
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
    let (board, there, count) = (scene.board, scene.there, scene.count);
    let lock = ReadWrite::new(board, 0, First::Readers);
    victim(scene, || {
        lock.read();
        lock.unlock();
    })?;
    scene.culprit("c-writer", || {
        system::steady(there);
        board.injections(count, (12, 28), |random| {
            lock.write();
            let start = now();
            spin(start, random.between(3 * MS, 6 * MS));
            board.injected("c-writer", start, now());
            lock.unlock();
        });
        Ok(())
    })?;
    Ok(())
}

pub(super) fn condition(scene: &mut Scene) -> Made {
    let (board, there, count) = (scene.board, scene.there, scene.count);
    let mutex = Mutex::new(board, 0, Nature::Plain);
    let (asked, answered) = (Condition::new(board, 1), Condition::new(board, 2));
    let (request, reply) = (&board.words[3], &board.words[4]);
    victim(scene, || {
        mutex.lock();
        let wanted = request.fetch_add(1, Relaxed) + 1;
        asked.signal();
        while reply.load(Relaxed) != wanted && !board.is_ending() {
            answered.wait(mutex);
        }
        mutex.unlock();
    })?;
    let next = move || {
        mutex.lock();
        while request.load(Relaxed) == reply.load(Relaxed) && !board.is_ending() {
            asked.wait(mutex);
        }
        mutex.unlock();
    };
    let answer = move || {
        mutex.lock();
        reply.store(request.load(Relaxed), Relaxed);
        answered.signal();
        mutex.unlock();
    };
    serve(scene, "c-signaller", there, count, next, answer)
}

/// A word of value 2 that says "no job yet": waiting for it is no lateness.
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
            // A job of 2 ms now and then, so that there is something late.
            spin(now(), if jobs % 4 == 0 { 2 * MS } else { MS / 20 });
            board.waited(due);
            board.cells[2].store(now(), Release);
        }
        Ok(())
    })?;
    scene.culprit("c-caller", || {
        system::steady(there);
        board.injections(count, (6, 15), |_| {
            // From the end of the last job until now nobody waited for anything.
            let (start, end) = (board.cells[2].load(Acquire), now());
            board.cells[1].store(end, Relaxed);
            word.store(1, Release);
            system::futex_wake(word, 1);
            if start > 0 && start < end {
                board.injected("c-caller", start, end - MS / 10);
            }
        });
        Ok(())
    })?;
    Ok(())
}

pub(super) fn spinning(scene: &mut Scene) -> Made {
    let (board, there, count) = (scene.board, scene.there, scene.count);
    if scene.here == there {
        return Err(super::scene::Refused("a spinning victim needs a second CPU".into()));
    }
    let lock = Spin::new(board, 0);
    victim(scene, || {
        lock.lock();
        lock.unlock();
    })?;
    scene.culprit("c-holder", || {
        system::steady(there);
        board.injections(count, (15, 30), |random| {
            lock.lock();
            let start = now();
            spin(start, random.between(2 * MS, 4 * MS));
            board.injected("c-holder", start, now());
            lock.unlock();
        });
        Ok(())
    })?;
    Ok(())
}

/// The lock is let go, which wakes the victim, and taken by another before the victim has it.
pub(super) fn barging(scene: &mut Scene) -> Made {
    let (board, there, count) = (scene.board, scene.there, scene.count);
    let mutex = Mutex::new(board, 0, Nature::Plain);
    let here = scene.here;
    victim(scene, || {
        mutex.lock();
        mutex.unlock();
    })?;
    scene.role("c-barger", || {
        // On the victim's CPU and before it, spinning for the lock to be free.
        system::pin(0, &[here]);
        real_time(75, here)?;
        board.prepared();
        while !board.is_ending() {
            system::futex_wait(&board.words[1], 0);
            if board.words[1].swap(0, AcqRel) == 1 {
                let limit = now() + 4 * MS;
                while now() < limit && !mutex.lock_within(0) {}
                let start = now();
                if start < limit {
                    // Asleep, so that the victim runs and finds the lock taken.
                    system::sleep(3 * MS);
                    board.injected("c-barger", start, now());
                    mutex.unlock();
                }
            }
        }
        Ok(())
    })?;
    scene.culprit("c-holder", || {
        system::steady(there);
        board.injections(count, (20, 35), |_| {
            mutex.lock();
            let start = now();
            spin(start, 7 * MS / 2);
            board.words[1].store(1, Release);
            system::futex_wake(&board.words[1], 1);
            spin(now(), MS / 3);
            board.injected("c-holder", start, now());
            mutex.unlock();
        });
        Ok(())
    })?;
    Ok(())
}

/// Waiters of a condition are moved to a lock whose holder did not wake them yet.
pub(super) fn requeue(scene: &mut Scene) -> Made {
    let (board, there, count) = (scene.board, scene.there, scene.count);
    let (condition, lock) = (&board.words[5], &board.words[6]);
    victim(scene, || {
        let seen = condition.load(Acquire);
        system::futex_wait(condition, seen);
    })?;
    scene.culprit("c-holder", || {
        system::steady(there);
        board.injections(count, (2, 5), |random| {
            lock.store(2, Release);
            let value = condition.fetch_add(1, AcqRel) + 1;
            system::futex_requeue(condition, value, lock);
            let start = now();
            spin(start, random.between(3 * MS, 5 * MS));
            board.injected("c-holder", start, now());
            lock.store(0, Release);
            system::futex_wake(lock, i32::MAX);
        });
        Ok(())
    })?;
    Ok(())
}
