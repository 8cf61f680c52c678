//! What is shared under the kernel's rules: files, address spaces, a CPU.

use super::super::competition::fair;
use super::super::locks::{PERIOD, holder, victim};
use super::super::memory::file;
use super::super::primitives::{Mutex, Nature};
use super::super::scene::{MS, Made, Scene, beside, real_time};
use super::super::system::{self, Memory, PAGE, now, spin};
use super::calls;
use punctual_random::Random;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

const MIB: usize = 1 << 20;

/// As databases lock their files: a range, for each opening of the file.
pub(super) fn range(scene: &mut Scene) -> Made {
    drop(file(scene, "c-locked", MIB)?);
    let path = scene.directory.join("c-locked");
    let open = || std::fs::File::options().read(true).write(true).open(&path);
    let (own, other) = (open()?, open()?);
    scene.victim(PERIOD, || {
        calls::lock_range(own.as_raw_fd(), true);
        calls::lock_range(own.as_raw_fd(), false);
    })?;
    let lock = |on| calls::lock_range(other.as_raw_fd(), on);
    let keep = |random: &mut Random, start| _ = spin(start, random.between(4 * MS, 7 * MS));
    holder(scene, "c-holder", (12, 28), || lock(true), keep, || lock(false))
}

pub(super) fn unmapping(scene: &mut Scene) -> Made {
    let board = scene.board;
    let map_and_unmap = || drop(Memory::private(PAGE));
    beside(scene, "c-unmapper", 3 * MS / 2, map_and_unmap, move |_| {
        let Ok(memory) = Memory::private(96 * MIB) else { return };
        memory.advise(libc::MADV_NOHUGEPAGE);
        calls::make_pages(&memory);
        let start = now();
        drop(memory);
        board.injected("c-unmapper", start, now());
    })
}

/// From Linux 6.17 on, the kernel locks only the area meanwhile, no longer the whole map: mapping elsewhere does not
/// have to wait. So the victim changes the protection of that area's last page.
pub(super) fn dropping(scene: &mut Scene) -> Made {
    let board = scene.board;
    let memory = Arc::new(Memory::private(96 * MIB)?);
    memory.advise(libc::MADV_NOHUGEPAGE);
    let same = Arc::clone(&memory);
    let protect = move || {
        for access in [libc::PROT_READ, libc::PROT_READ | libc::PROT_WRITE] {
            calls::protect_last_page(&same, access);
        }
    };
    beside(scene, "c-dropper", 3 * MS / 2, protect, move |_| {
        calls::make_pages(&memory);
        let start = now();
        calls::give_back(&memory);
        board.injected("c-dropper", start, now());
    })
}

/// The lock of a file: changing its blocks takes it, just as writing to it does.
pub(super) fn punching(scene: &mut Scene) -> Made {
    const LENGTH: usize = 48 * MIB;
    let (board, there, count) = (scene.board, scene.there, scene.count);
    let file = file(scene, "c-file", LENGTH)?;
    scene.victim(Duration::from_millis(2), || {
        let _ = file.write_at(&[1], LENGTH as u64);
    })?;
    let block = vec![7; MIB];
    scene.culprit("c-puncher", || {
        system::steady(there);
        board.injections(count, (12, 28), |_| {
            for number in 0..LENGTH / MIB {
                let _ = file.write_at(&block, (number * MIB) as u64);
                // Between two of them, the victim may write.
                system::sleep(MS / 10);
            }
            let start = now();
            calls::punch(file.as_raw_fd(), LENGTH as i64);
            board.injected("c-puncher", start, now());
        });
        Ok(())
    })?;
    Ok(())
}

/// A thread that runs when nobody else wants the CPU holds what others want.
pub(super) fn idle_holder(scene: &mut Scene) -> Made {
    let (board, there, count) = (scene.board, scene.there, scene.count);
    let mutex = Mutex::new(board, 0, Nature::Plain);
    victim(scene, mutex, PERIOD)?;
    scene.role("c-busy", || {
        system::pin(0, &[there]);
        board.prepared();
        let mut random = Random(61);
        while !board.is_ending() {
            system::sleep(random.between(2 * MS, 6 * MS));
            spin(now(), random.between(6 * MS, 9 * MS));
        }
        Ok(())
    })?;
    scene.culprit("c-holder", || {
        system::pin(0, &[there]);
        system::schedule(0, libc::SCHED_IDLE, 0)?;
        board.injections(count, (8, 20), |random| {
            mutex.lock();
            let (start, ns) = (now(), random.between(MS / 2, 2 * MS));
            let cpu_ns = cpu_time();
            while cpu_time() - cpu_ns < ns && !board.is_ending() {
                spin(now(), MS / 20);
            }
            let end = now();
            // It was kept from its CPU for most of it; otherwise the time went into its own work.
            if end - start > 3 * ns {
                board.injected("c-holder", start, end);
            }
            mutex.unlock();
        });
        Ok(())
    })?;
    Ok(())
}

/// How much CPU time the calling thread has had, ns.
pub(in super::super) fn cpu_time() -> u64 {
    let mut time = system::timespec(0);
    // SAFETY: writes into a structure that lives.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// FIFO threads of equal priority have the CPU until they give it away.
pub(super) fn equal(scene: &mut Scene) -> Made {
    let (board, here, count) = (scene.board, scene.here, scene.count);
    scene.waker(MS / 20, |cpu| real_time(70, cpu))?;
    scene.culprit("c-equal", || {
        real_time(70, here)?;
        board.injections(count, (12, 28), |random| {
            for _ in 0..2 {
                let start = now();
                spin(start, random.between(2 * MS, 4 * MS));
                board.injected("c-equal", start, now());
                calls::yield_cpu();
            }
        });
        Ok(())
    })?;
    Ok(())
}

pub(super) fn batch(scene: &mut Scene) -> Made {
    fair(scene, || {
        system::schedule(0, libc::SCHED_BATCH, 0)?;
        system::nice(0, -10);
        Ok(())
    })
}
