//! The scheduler's own rules: ceilings, budgets, shares, slack.

use super::super::primitives::{Mutex, Nature};
use super::super::scene::{MS, Made, Refused, Scene, real_time};
use super::super::system::{self, Pid, now, sleep_until, spin};
use super::calls;
use punctual_random::Random;
use std::sync::atomic::Ordering::{Acquire, Release};

/// A FIFO 70 victim that works for `work` ns.
fn victim(scene: &mut Scene, work: u64) -> Result<Pid, Refused> {
    scene.waker(work, |cpu| {
        // It has no effect while the victim is real-time.
        system::nice(0, 10);
        real_time(70, cpu)
    })
}

/// A mutex that makes its holder go first, whether or not anybody waits for it.
pub(super) fn ceiling(scene: &mut Scene) -> Made {
    let (board, here, count) = (scene.board, scene.here, scene.count);
    victim(scene, MS / 20)?;
    let mutex = Mutex::new(board, 0, Nature::Ceiling(90));
    scene.culprit("c-holder", || {
        real_time(10, here)?;
        board.injections(count, (12, 28), |random| {
            mutex.lock();
            board.occupy("c-holder", random.between(3 * MS, 6 * MS));
            mutex.unlock();
        });
        Ok(())
    })?;
    Ok(())
}

/// A thread with a budget of 2 ms in each 10 ms that now and then works for longer. Normal threads run while it may
/// not.
pub(super) fn own_budget(scene: &mut Scene) -> Made {
    const MIN_GAP: u64 = 4 * MS;
    let (board, count) = (scene.board, scene.count);
    for cpu in system::cpus() {
        scene.role("c-busy", || {
            system::pin(0, &[cpu]);
            board.keep_busy();
            Ok(())
        })?;
    }
    scene.culprit("c-victim", || {
        system::deadline(2 * MS, 10 * MS).map_err(|error| Refused(format!("no SCHED_DEADLINE ({error})")))?;
        let mut random = Random(41);
        board.prepared();
        while board.count() < count && !board.is_ending() {
            let due = now() + random.between(20 * MS, 30 * MS);
            sleep_until(due);
            let wanted = if random.between(0, 2) == 0 { MS } else { 3 * MS };
            board.work_noting_gaps("c-budget", wanted, MIN_GAP);
            board.waited(due);
        }
        Ok(())
    })?;
    Ok(())
}

/// On a CPU that real-time threads keep, the kernel gives normal ones a twentieth, ahead of any thread with a priority.
pub(super) fn fair_share(scene: &mut Scene) -> Made {
    let (board, here, count) = (scene.board, scene.here, scene.count);
    victim(scene, MS / 20)?;
    scene.role("c-hog", || {
        real_time(60, here)?;
        board.keep_busy();
        Ok(())
    })?;
    scene.culprit("c-normal", || {
        system::pin(0, &[here]);
        board.prepared();
        let end = now() + count as u64 * 400 * MS;
        while board.count() < count && now() < end && !board.is_ending() {
            board.occupy("c-normal", 100 * MS);
        }
        Ok(())
    })?;
    Ok(())
}

/// A manager takes the victim's priority away for a while.
pub(super) fn demoted(scene: &mut Scene) -> Made {
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    let victim = victim(scene, 3 * MS / 4)?;
    let is_demoted = &board.words[5];
    scene.role("c-burst", || {
        // Ahead of other normal threads that may be there.
        system::steady(here);
        board.prepared();
        while !board.is_ending() {
            if is_demoted.load(Acquire) == 1 {
                board.occupy("c-burst", 12 * MS);
                while is_demoted.load(Acquire) == 1 {
                    spin(now(), MS / 10);
                }
            }
            spin(now(), MS / 10);
        }
        Ok(())
    })?;
    scene.culprit("c-manager", || {
        real_time(60, there)?;
        board.injections(count.div_ceil(2), (20, 40), |_| {
            let _ = system::schedule(victim as u32, libc::SCHED_OTHER, 0);
            is_demoted.store(1, Release);
            system::sleep(14 * MS);
            is_demoted.store(0, Release);
            let _ = system::schedule(victim as u32, libc::SCHED_FIFO, 70);
        });
        Ok(())
    })?;
    Ok(())
}

/// A normal thread's timers may be as late as it allowed; the kernel makes use of that where it can.
pub(super) fn slack(scene: &mut Scene) -> Made {
    const SLACK: u64 = 5 * MS;
    let (board, here, count) = (scene.board, scene.here, scene.count);
    scene.role("c-idle", || {
        system::pin(0, &[here]);
        system::schedule(0, libc::SCHED_IDLE, 0)?;
        board.keep_busy();
        Ok(())
    })?;
    scene.culprit("c-victim", || {
        system::steady(here);
        calls::allow_slack(SLACK);
        let mut random = Random(43);
        board.prepared();
        for _ in 0..count * 10 {
            if board.count() >= count || board.is_ending() {
                break;
            }
            let due = now() + random.between(8 * MS, 14 * MS);
            sleep_until(due);
            let woke = now();
            // Anything later than allowed was somebody's doing.
            if (600_000..SLACK + MS / 5).contains(&woke.saturating_sub(due)) {
                board.injected("c-victim", due, woke);
            }
            board.waited(due);
        }
        Ok(())
    })?;
    Ok(())
}
