//! Holders of what the victim wants: a lock of an address space, of a directory, a mutex.

use super::super::group::Group;
use super::super::locks::{PERIOD, victim};
use super::super::primitives::{Mutex, Nature};
use super::super::scene::{MS, Made, Refused, Scene, beside};
use super::super::system::{self, Memory, PAGE, now, spin};
use super::calls;
use punctual_random::Random;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

const MIB: usize = 1 << 20;

/// The kernel's lock of an address space, which protecting pages holds just as mapping does.
pub(super) fn protection(scene: &mut Scene) -> Made {
    let board = scene.board;
    let memory = Memory::private(96 * MIB)?;
    memory.advise(libc::MADV_NOHUGEPAGE);
    let map_and_unmap = || drop(Memory::private(PAGE));
    beside(scene, "c-protector", 3 * MS / 2, map_and_unmap, move |_| {
        (0..96 * MIB / PAGE).for_each(|page| memory.touch(page));
        let start = now();
        calls::protect(&memory, false);
        board.injected("c-protector", start, now());
        calls::protect(&memory, true);
    })
}

/// The kernel's lock of a directory: listing shares it, making a file takes it exclusively.
pub(super) fn directory(scene: &mut Scene) -> Made {
    const FILES: usize = 12_000;
    let (board, there, count) = (scene.board, scene.there, scene.count);
    let path = scene.directory.join("many");
    std::fs::create_dir(&path)?;
    for number in 0..FILES {
        std::fs::write(path.join(format!("a-file-of-many-{number}")), "")?;
    }
    let listed = std::fs::File::open(&path)?;
    let own = path.join("c-own");
    scene.victim(Duration::from_millis(2), || {
        let _ = std::fs::File::create(&own);
        let _ = std::fs::remove_file(&own);
    })?;
    scene.culprit("c-lister", || {
        system::steady(there);
        let mut buffer = vec![0; MIB];
        board.injections(count, (12, 28), |_| {
            calls::rewind(listed.as_raw_fd());
            // One call, because between two calls the victim might get the lock.
            let start = now();
            calls::list(listed.as_raw_fd(), &mut buffer);
            board.injected("c-lister", start, now());
        });
        Ok(())
    })?;
    Ok(())
}

/// A process that ends in the middle of its work: the kernel releases its robust mutex.
pub(super) fn dead(scene: &mut Scene) -> Made {
    let (board, there, count) = (scene.board, scene.there, scene.count);
    let mutex = Mutex::new(board, 0, Nature::Robust);
    victim(scene, mutex, PERIOD)?;
    scene.culprit("c-starter", || {
        system::steady(there);
        let mut result = Ok(());
        board.injections(count, (12, 28), |random| match system::fork() {
            Ok(0) => {
                system::set_name("c-holder");
                mutex.lock();
                let start = now();
                spin(start, random.between(3 * MS, 6 * MS));
                board.injected("c-holder", start, now());
                system::leave(0);
            }
            Ok(child) => {
                system::reap(child, true);
            }
            Err(error) => result = Err(Refused::from(error)),
        });
        result
    })?;
    Ok(())
}

const QUOTA_US: u64 = 10_000;
const PERIOD_US: u64 = 50_000;

/// Works until its group has been out of quota; returns that time. None if it was not, or if something else kept it.
fn work_until_throttled(group: &Group) -> Option<(u64, u64)> {
    const MIN_GAP: u64 = 20 * MS;
    let (begin, throttled) = (now(), group.throttled_ns());
    let mut last = begin;
    while last < begin + 150 * MS {
        let time = now();
        if time - last > MIN_GAP {
            // If it waited for its CPU as well, the time would not be the quota's.
            let by_quota = group.throttled_ns() - throttled;
            return (by_quota * 10 > (time - last) * 8).then_some((last, time));
        }
        last = time;
    }
    None
}

/// The holder's group is out of quota while it holds the mutex; a busy process of another group is innocent.
pub(super) fn out_of_quota(scene: &mut Scene) -> Made {
    let (board, there, count) = (scene.board, scene.there, scene.count);
    let group = Group::new(scene, "cpu", "quota")?;
    group.limit(QUOTA_US, PERIOD_US)?;
    group.weigh(20)?;
    let mutex = Mutex::new(board, 0, Nature::Plain);
    victim(scene, mutex, Duration::from_millis(10))?;
    scene.role("c-busy", || {
        system::pin(0, &[there]);
        board.keep_busy();
        Ok(())
    })?;
    let limit = 1_000 * MS + count as u64 * 350 * MS;
    scene.culprit("c-holder", || {
        system::pin(0, &[there]);
        group.take(system::pid())?;
        let mut random = Random(37);
        board.prepared();
        let end = now() + limit;
        while board.count() < count && now() < end && !board.is_ending() {
            system::sleep(random.between(20 * MS, 60 * MS));
            mutex.lock();
            if let Some((start, end)) = work_until_throttled(&group) {
                board.injected("c-holder", start, end);
            }
            mutex.unlock();
            board.cells[0].fetch_add(1, Relaxed);
        }
        Ok(())
    })?;
    Ok(())
}
