//! Threads that are stopped from outside while they work.

use super::group::Group;
use super::scene::{MS, Made, Refused, Scene, real_time};
use super::system::{self, Pid, now, spin};
use std::time::Duration;

/// A victim that has not stopped for so long waits for its CPU: others run there, and this is no stop.
const MAX_UNTIL_STOPPED: u64 = 20 * MS;

/// A victim that works part of the time, so that a stop finds it at work as well as asleep.
fn victim(scene: &mut Scene, prepare: impl FnOnce() -> Made) -> Result<Pid, Refused> {
    let (board, here) = (scene.board, scene.here);
    scene.role("c-victim", || {
        prepare()?;
        real_time(70, here)?;
        board.cycle(Duration::from_millis(4), || {
            spin(now(), 3 * MS / 2);
        });
        Ok(())
    })
}

fn stopper(scene: &mut Scene, stop: impl Fn(&dyn Fn()) -> Made) -> Made {
    let (board, there, count) = (scene.board, scene.there, scene.count);
    scene.culprit("c-stopper", || {
        system::steady(there);
        let mut result = Ok(());
        board.injections(count, (12, 28), |random| {
            let ns = random.between(4 * MS, 8 * MS);
            let between = || {
                let start = now();
                system::sleep(ns);
                board.injected("c-stopper", start, now());
            };
            if let Err(error) = stop(&between) {
                result = Err(error);
            }
        });
        result
    })?;
    Ok(())
}

pub(super) fn signal(scene: &mut Scene) -> Made {
    let victim = victim(scene, || Ok(()))?;
    stopper(scene, move |between| {
        system::kill(victim, libc::SIGSTOP);
        if has_stopped(victim) {
            between();
        }
        system::kill(victim, libc::SIGCONT);
        Ok(())
    })
}

/// Waits until the kernel says that a thread has stopped: one that waits for its CPU does so when it comes to run.
fn has_stopped(victim: Pid) -> bool {
    let limit = now() + MAX_UNTIL_STOPPED;
    while now() < limit {
        if system::is_stopped(victim) {
            return true;
        }
    }
    false
}

pub(super) fn tracer(scene: &mut Scene) -> Made {
    let victim = victim(scene, || Ok(()))?;
    stopper(scene, move |between| {
        system::trace(victim as u32, between).map_err(|error| Refused(format!("no tracing ({error})")))
    })
}

pub(super) fn freezer(scene: &mut Scene) -> Made {
    let group = Group::new(scene, "freezer", "frozen")?;
    let victim = victim(scene, || Ok(()))?;
    group.take(victim)?;
    stopper(scene, move |between| {
        group.freeze(true)?;
        between();
        group.freeze(false)
    })
}
