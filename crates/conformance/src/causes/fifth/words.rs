//! How a thread gets its work or its answers: a word that looks like a lock, a signal that it reads, requests that wake
//! nobody.

use super::super::locks::{PERIOD, serve};
use super::super::ring::Ring;
use super::super::scene::{MS, Made, Scene, real_time};
use super::super::system::{self, now, pipe, spin};
use std::cell::OnceCell;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

/// There is no job; in a mutex, this value says that somebody has it and others wait.
const NO_JOB: u32 = 2;
const JOB: u32 = 0;

/// A worker gets its jobs through such a word, and at times a FIFO 90 thread keeps it from its CPU.
pub(super) fn jobs(scene: &mut Scene) -> Made {
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    let (word, handed) = (&board.words[1], &board.cells[0]);
    word.store(NO_JOB, Relaxed);
    scene.role("c-victim", || {
        real_time(70, here)?;
        board.prepared();
        while !board.is_ending() {
            while word.load(Acquire) != JOB && !board.is_ending() {
                system::futex_wait(word, NO_JOB);
            }
            word.store(NO_JOB, Release);
            let due = handed.load(Acquire);
            spin(now(), MS / 20);
            board.waited(due);
        }
        Ok(())
    })?;
    scene.role("c-producer", || {
        real_time(60, there)?;
        board.prepared();
        while !board.is_ending() {
            system::sleep(8 * MS);
            if word.load(Acquire) == NO_JOB {
                handed.store(now(), Release);
                word.store(JOB, Release);
                system::futex_wake(word, 1);
            }
        }
        Ok(())
    })?;
    scene.culprit("c-hog", || {
        real_time(90, here)?;
        board.injections(count, (14, 24), |random| board.occupy("c-hog", random.between(9 * MS, 12 * MS)));
        Ok(())
    })?;
    Ok(())
}

/// A latch like those of databases: the victim blocks a signal and reads it among whatever else it waits for.
pub(super) fn latch(scene: &mut Scene) -> Made {
    let ask = pipe()?;
    let (board, here) = (scene.board, scene.here);
    let victim = scene.role("c-victim", || {
        let latch = system::signal_descriptor(libc::SIGURG)?;
        real_time(70, here)?;
        board.cycle(Duration::from_millis(3), || {
            system::write(ask.1, &[1]);
            let [_] = system::wait_for_any([latch]);
            system::read(latch, &mut [0; 128]);
        });
        Ok(())
    })?;
    serve(scene, "c-server", || _ = system::read(ask.0, &mut [0]), || system::kill(victim, libc::SIGURG))
}

/// A server hands its answers to a kernel thread that looks for them all the time.
pub(super) fn polled(scene: &mut Scene) -> Made {
    let (ask, answer) = (pipe()?, pipe()?);
    let board = scene.board;
    scene.victim(PERIOD, || {
        system::write(ask.1, &[1]);
        system::read(answer.0, &mut [0]);
    })?;
    // The ring belongs to the thread that makes it.
    let ring = OnceCell::new();
    let made = || match Ring::polled() {
        Ok(ring) => Some(ring),
        Err(error) => {
            board.refuse(&format!("no io_uring that is polled ({error})"));
            None
        }
    };
    let next = || {
        ring.get_or_init(made);
        system::read(ask.0, &mut [0]);
    };
    let hand_over = || {
        if let Some(ring) = ring.get_or_init(made) {
            ring.write_polled(answer.1);
        }
    };
    serve(scene, "c-server", next, hand_over)
}
