//! Locks held by threads that cannot go on, and wanted by threads that give up.

use super::super::group::Group;
use super::super::locks::{PERIOD, holder};
use super::super::primitives::{Mutex, Nature};
use super::super::scene::{MS, Made, Scene, real_time};
use super::super::system::{self, now, spin};
use std::sync::atomic::Ordering::{Acquire, Release};

/// The victim waits for a robust mutex for 2 ms at most.
pub(super) fn robust_limit(scene: &mut Scene) -> Made {
    let mutex = Mutex::new(scene.board, 0, Nature::Robust);
    scene.victim(PERIOD, || {
        if mutex.lock_within(2 * MS) {
            mutex.unlock();
        }
    })?;
    let keep = |random: &mut punctual_random::Random, start| _ = spin(start, random.between(6 * MS, 8 * MS));
    holder(scene, "c-holder", (15, 30), || mutex.lock(), keep, || mutex.unlock())
}

/// A group with the holder of a mutex, and others that queue for it, is frozen; the victim queues behind them.
/// `words[0]` says that the holder has it.
pub(super) fn frozen_queue(scene: &mut Scene) -> Made {
    let (board, there, count) = (scene.board, scene.there, scene.count);
    let group = Group::new(scene, "freezer", "queue")?;
    let mutex = Mutex::new(board, 0, Nature::Plain);
    scene.victim(PERIOD, || {
        mutex.lock();
        mutex.unlock();
    })?;
    let owner = scene.role("c-owner", || {
        system::steady(there);
        board.prepared();
        while !board.is_ending() {
            system::sleep(16 * MS);
            mutex.lock();
            board.words[0].store(1, Release);
            // It is frozen in the middle of this.
            let start = now();
            while now() < start + 2 * MS && board.words[0].load(Acquire) == 1 {
                std::hint::spin_loop();
            }
            board.words[0].store(0, Release);
            mutex.unlock();
        }
        Ok(())
    })?;
    group.take(owner)?;
    for _ in 0..2 {
        let member = scene.role("c-member", || {
            system::steady(there);
            board.prepared();
            while !board.is_ending() {
                mutex.lock();
                mutex.unlock();
                system::sleep(MS);
            }
            Ok(())
        })?;
        group.take(member)?;
    }
    scene.culprit("c-freezer", || {
        real_time(60, there)?;
        let mut result = Ok(());
        board.injections(count, (12, 28), |random| {
            let limit = now() + 40 * MS;
            while board.words[0].load(Acquire) == 0 && now() < limit {
                system::sleep(MS / 5);
            }
            let frozen = group.freeze(true);
            if board.words[0].load(Acquire) == 1 {
                let start = now();
                system::sleep(random.between(4 * MS, 8 * MS));
                board.injected("c-owner", start, now());
            }
            result = frozen.and(group.freeze(false)).and(std::mem::replace(&mut result, Ok(())));
        });
        result
    })?;
    Ok(())
}
