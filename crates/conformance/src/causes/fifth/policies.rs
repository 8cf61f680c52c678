//! Threads that run when nobody else wants the CPU (`SCHED_IDLE`): they have the least weight, whatever their nice
//! value.

use super::super::scene::{MS, Made, Scene};
use super::super::system::{self, now, pipe, spin};
use super::super::third::cpu_time;
use punctual_random::Random;
use std::time::Duration;

fn idle() -> Made {
    Ok(system::schedule(0, libc::SCHED_IDLE, 0)?)
}

/// An idle-policy victim, and a normal thread on its CPU.
pub(super) fn victim(scene: &mut Scene) -> Made {
    let (board, here, count) = (scene.board, scene.here, scene.count);
    scene.waker(MS / 20, |cpu| {
        system::pin(0, &[cpu]);
        // It has no effect there.
        system::nice(0, -10);
        idle()
    })?;
    scene.culprit("c-burst", || {
        system::pin(0, &[here]);
        board.injections(count, (12, 28), |random| board.occupy("c-burst", random.between(3 * MS, 6 * MS)));
        Ok(())
    })?;
    Ok(())
}

/// An idle-policy thread has its turns beside a victim of nice 19, which has five times its weight.
pub(super) fn competitor(scene: &mut Scene) -> Made {
    const WORK: u64 = 12 * MS;
    let (board, here, count) = (scene.board, scene.here, scene.count);
    scene.role("c-victim", || {
        system::pin(0, &[here]);
        system::nice(0, 19);
        board.cycle(Duration::from_millis(25), || {
            let had = cpu_time();
            while cpu_time() - had < WORK && !board.is_ending() {
                spin(now(), MS / 20);
            }
        });
        Ok(())
    })?;
    scene.culprit("c-idle", || {
        system::pin(0, &[here]);
        // It has no effect there.
        system::nice(0, -10);
        idle()?;
        board.prepared();
        while board.count() < count * 4 && !board.is_ending() {
            board.occupy("c-idle", 10 * MS);
        }
        Ok(())
    })?;
    Ok(())
}

/// An idle-policy server, and a normal thread that takes its CPU when it is asked.
pub(super) fn server(scene: &mut Scene) -> Made {
    let (board, there, count) = (scene.board, scene.there, scene.count);
    let (ask, answer) = (pipe()?, pipe()?);
    scene.victim(Duration::from_millis(3), || {
        system::write(ask.1, &[1]);
        system::read(answer.0, &mut [0]);
    })?;
    scene.role("c-busy", || {
        system::pin(0, &[there]);
        board.prepared();
        let mut random = Random(67);
        while !board.is_ending() {
            system::sleep(random.between(12 * MS, 20 * MS));
            spin(now(), random.between(4 * MS, 7 * MS));
        }
        Ok(())
    })?;
    scene.culprit("c-server", || {
        system::pin(0, &[there]);
        idle()?;
        board.prepared();
        while board.count() < count && !board.is_ending() {
            system::read(ask.0, &mut [0]);
            let (start, had) = (now(), cpu_time());
            while cpu_time() - had < MS / 5 {
                spin(now(), MS / 50);
            }
            // If it was kept from its CPU for most of it.
            if now() - start > 2 * MS {
                board.injected("c-server", start, now());
            }
            system::write(answer.1, &[1]);
        }
        board.finish();
        // The victim must not hang while the others end.
        while !board.is_ending() {
            system::write(answer.1, &[1]);
            system::sleep(MS);
        }
        Ok(())
    })?;
    Ok(())
}
