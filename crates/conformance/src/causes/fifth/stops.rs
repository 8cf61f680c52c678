//! A victim that is stopped while it waits: what it waits for comes before it goes on, or after.

use super::super::group::Group;
use super::super::locks::{PERIOD, holder, serve, works_long};
use super::super::primitives::{Mutex, Nature};
use super::super::scene::{MS, Made, Refused, Scene, real_time};
use super::super::system::{self, Pid, now, pipe};
use punctual_random::Random;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// How long the victim waits before it is stopped, ns.
const PATIENCE: u64 = MS;

/// A victim that says which of its waits it is in: `cells[0]` counts them and is odd while it waits.
fn waiting(scene: &mut Scene, mut wait: impl FnMut()) -> Result<Pid, Refused> {
    let (board, here) = (scene.board, scene.here);
    scene.role("c-victim", || {
        real_time(70, here)?;
        board.cycle(PERIOD, || {
            board.cells[0].fetch_add(1, Release);
            wait();
            board.cells[0].fetch_add(1, Release);
        });
        Ok(())
    })
}

/// Stops the victim in the middle of a wait, for as long as the wait lasts or longer: an injection that begins when
/// what it waits for came, which `cells[1]` says.
fn stopper(scene: &mut Scene, stop: impl Fn(bool) -> Made) -> Made {
    let (board, here, count) = (scene.board, scene.here, scene.count);
    scene.role("c-stopper", || {
        real_time(60, here)?;
        let mut random = Random(11);
        board.prepared();
        // A server that has made its injections answers without being asked.
        while !board.is_ending() && board.count() < count {
            let wait = board.cells[0].load(Acquire);
            system::sleep(PATIENCE);
            if wait % 2 == 0 || board.cells[0].load(Acquire) != wait {
                continue;
            }
            stop(true)?;
            let stopped = now();
            system::sleep(random.between(MS, 9 * MS));
            let came = board.cells[1].load(Acquire);
            if came > stopped {
                board.injected("c-stopper", came, now());
            }
            stop(false)?;
        }
        stop(false)
    })?;
    Ok(())
}

fn by_signal(victim: Pid) -> impl Fn(bool) -> Made {
    move |is_to_stop| {
        system::kill(victim, if is_to_stop { libc::SIGSTOP } else { libc::SIGCONT });
        Ok(())
    }
}

/// The victim waits for a server's answer through `wait`.
fn asking(scene: &mut Scene, answer: (i32, i32), wait: impl Fn(i32)) -> Result<Pid, Refused> {
    let (ask, board) = (pipe()?, scene.board);
    let victim = waiting(scene, || {
        system::write(ask.1, &[1]);
        wait(answer.0);
        system::read(answer.0, &mut [0; 1]);
    })?;
    let next = move || _ = system::read(ask.0, &mut [0; 1]);
    let answers = move || {
        board.cells[1].store(now(), Release);
        system::write(answer.1, &[1]);
    };
    serve(scene, "c-server", next, answers)?;
    Ok(victim)
}

pub(super) fn asking_stopped(scene: &mut Scene) -> Made {
    let victim = asking(scene, pipe()?, |_| ())?;
    stopper(scene, by_signal(victim))
}

pub(super) fn polling_stopped(scene: &mut Scene) -> Made {
    let victim = asking(scene, pipe()?, |answer| while !system::poll(answer, 1_000) {})?;
    stopper(scene, by_signal(victim))
}

fn frozen(scene: &mut Scene, answer: (i32, i32)) -> Made {
    let group = Group::new(scene, "freezer", "frozen")?;
    let victim = asking(scene, answer, |_| ())?;
    group.take(victim)?;
    stopper(scene, move |is_to_stop| group.freeze(is_to_stop))
}

pub(super) fn asking_frozen(scene: &mut Scene) -> Made {
    frozen(scene, pipe()?)
}

/// A victim that waits for a socket is frozen while it sleeps, without being woken.
pub(super) fn asleep_frozen(scene: &mut Scene) -> Made {
    frozen(scene, system::socket_pair()?)
}

pub(super) fn locking_stopped(scene: &mut Scene) -> Made {
    let board = scene.board;
    let mutex = Mutex::new(board, 0, Nature::Plain);
    let victim = waiting(scene, || {
        mutex.lock();
        mutex.unlock();
    })?;
    let lets_go = move || {
        board.cells[1].store(now(), Relaxed);
        mutex.unlock();
    };
    holder(scene, "c-holder", (12, 28), || mutex.lock(), works_long, lets_go)?;
    stopper(scene, by_signal(victim))
}
