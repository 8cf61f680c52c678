//! Processes that are slow to answer, and those that stand between.

use super::super::locks::{PERIOD, serve};
use super::super::ring::Ring;
use super::super::scene::{MS, Made, Refused, Scene, real_time};
use super::super::servers::slow_reader;
use super::super::system::{self, Memory, PAGE, UserFaults, now, spin};
use super::calls;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::Duration;

const MIB: usize = 1 << 20;

/// A client that uses a ring, and a server behind a pipe.
fn through_a_ring(scene: &mut Scene, by_worker: bool) -> Made {
    let (board, here) = (scene.board, scene.here);
    let (ask, answer) = (system::pipe()?, system::pipe()?);
    scene.role("c-victim", || {
        let ring = Ring::new().map_err(|error| Refused(format!("no io_uring ({error})")))?;
        real_time(70, here)?;
        board.cycle(PERIOD, || {
            system::write(ask.1, &[1; 8]);
            ring.read(answer.0, &mut [0; 8], by_worker);
        });
        Ok(())
    })?;
    let next = || _ = system::read(ask.0, &mut [0; 8]);
    serve(scene, "c-server", next, || _ = system::write(answer.1, &[1; 8]))
}

pub(super) fn ring(scene: &mut Scene) -> Made {
    through_a_ring(scene, false)
}

pub(super) fn ring_by_worker(scene: &mut Scene) -> Made {
    through_a_ring(scene, true)
}

/// A child that should end: it is told to when `cycle` asks for it, and has much memory to give back.
pub(super) fn giant(scene: &mut Scene) -> Made {
    const LENGTH: usize = 192 * MIB;
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    scene.culprit("c-victim", || {
        real_time(70, here)?;
        board.prepared();
        for number in 0..count {
            if board.is_ending() {
                break;
            }
            let ready = &board.words[number % 2];
            ready.store(0, Release);
            let child = system::fork()?;
            if child == 0 {
                system::set_name("c-giant");
                let _ = system::schedule(0, libc::SCHED_OTHER, 0);
                system::steady(there);
                let memory = Memory::private(LENGTH)?;
                memory.advise(libc::MADV_NOHUGEPAGE);
                (0..LENGTH / PAGE).for_each(|page| memory.touch(page));
                ready.store(1, Release);
                system::sleep(10_000 * MS);
                system::leave(0);
            }
            while ready.load(Acquire) == 0 && !board.is_ending() {
                system::sleep(MS);
            }
            let due = now() + 8 * MS;
            system::sleep_until(due);
            let start = now();
            system::kill(child, libc::SIGKILL);
            system::reap(child, true);
            board.injected("c-giant", start, now());
            board.waited(due);
        }
        Ok(())
    })?;
    Ok(())
}

/// A server that crashes; before its end of the pipe closes, its memory is written to a file.
pub(super) fn crash(scene: &mut Scene) -> Made {
    const LENGTH: usize = 4 * MIB;
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    let directory = scene.directory.clone();
    if std::fs::read_to_string("/proc/sys/kernel/core_pattern")?.starts_with(['|', '/']) {
        return Err(Refused("core dumps do not go to the working directory (kernel.core_pattern)".into()));
    }
    scene.culprit("c-victim", || {
        calls::allow(libc::RLIMIT_CORE, libc::RLIM_INFINITY);
        std::env::set_current_dir(&directory)?;
        real_time(70, here)?;
        board.prepared();
        for _ in 0..count {
            if board.is_ending() {
                break;
            }
            let (ask, answer) = (system::pipe()?, system::pipe()?);
            let child = system::fork()?;
            if child == 0 {
                system::set_name("c-server");
                let _ = system::schedule(0, libc::SCHED_OTHER, 0);
                system::steady(there);
                calls::close(answer.0);
                let memory = Memory::private(LENGTH)?;
                memory.advise(libc::MADV_NOHUGEPAGE);
                (0..LENGTH / PAGE).for_each(|page| memory.touch(page));
                system::read(ask.0, &mut [0; 1]);
                calls::crash();
                system::leave(0);
            }
            calls::close(answer.1);
            system::sleep(30 * MS);
            let due = now() + 8 * MS;
            system::sleep_until(due);
            let start = now();
            system::write(ask.1, &[1]);
            system::read(answer.0, &mut [0; 1]);
            board.injected("c-server", start, now());
            board.waited(due);
            system::reap(child, true);
            [ask.0, ask.1, answer.0].into_iter().for_each(calls::close);
        }
        Ok(())
    })?;
    Ok(())
}

/// A terminal on which nobody scrolls.
pub(super) fn terminal(scene: &mut Scene) -> Made {
    let ends = calls::terminal().map_err(|error| Refused(format!("no terminals ({error})")))?;
    slow_reader(scene, ends, 4 << 10, 64 << 10)
}

/// A writer to a pipe has the pipe's lock while its data is read from memory; here that memory is answered slowly.
pub(super) fn pipe_lock(scene: &mut Scene) -> Made {
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    let (from, to) = system::pipe()?;
    scene.role("c-victim", || {
        real_time(70, here)?;
        board.cycle(Duration::from_millis(2), || _ = system::write(to, &[1]));
        Ok(())
    })?;
    scene.role("c-reader", || {
        real_time(60, there)?;
        board.prepared();
        while !board.is_ending() {
            system::sleep(MS / 2);
            while system::poll(from, 0) {
                system::read(from, &mut [0; 4096]);
            }
        }
        Ok(())
    })?;
    scene.culprit("c-writer", || {
        let memory = Arc::new(Memory::private(PAGE)?);
        let faults =
            UserFaults::over(&memory).map_err(|error| Refused(format!("no faults for another thread ({error})")))?;
        system::thread("c-pager", move || {
            system::steady(there);
            while let Some(address) = faults.next() {
                let start = now();
                spin(start, 4 * MS);
                board.injected("c-pager", start, now());
                faults.answer(address);
            }
        });
        system::steady(there);
        board.injections(count, (12, 28), |_| {
            memory.advise(libc::MADV_DONTNEED);
            calls::write_from(to, &memory);
        });
        Ok(())
    })?;
    Ok(())
}

/// As `strace` does: a stop at each beginning and end of a system call.
pub(super) fn traced_calls(scene: &mut Scene) -> Made {
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    let victim = scene.role("c-victim", || {
        real_time(70, here)?;
        board.cycle(PERIOD, || {
            for _ in 0..4 {
                system::poll(-1, 0);
            }
        });
        Ok(())
    })?;
    scene.culprit("c-strace", || {
        system::steady(there);
        board.prepared();
        let mut random = punctual_random::Random(71);
        let traced = calls::trace_calls(victim, || {
            if random.between(0, 40) == 0 {
                let start = now();
                spin(start, random.between(2 * MS, 4 * MS));
                board.injected("c-strace", start, now());
            }
            board.count() < count && !board.is_ending()
        });
        traced.map_err(|error| Refused(format!("no tracing ({error})")))
    })?;
    Ok(())
}
