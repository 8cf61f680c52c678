//! Loops that wait for one of several things and are told about another.

use super::super::locks::{PERIOD, serve};
use super::super::scene::{MS, Made, Scene, real_time};
use super::super::system::{self, now, pipe};

const BYTE: [u8; 1] = [1];

fn tell(to: i32) {
    system::write(to, &BYTE);
}

fn take(from: i32) {
    system::read(from, &mut [0]);
}

/// Takes whatever comes first, until something comes from the last.
fn until_last<const NUMBER: usize>(from: [i32; NUMBER]) {
    loop {
        let there = system::wait_for_any(from);
        for (descriptor, _) in from.iter().zip(there).filter(|(_, there)| *there) {
            take(*descriptor);
        }
        if there[NUMBER - 1] {
            return;
        }
    }
}

/// Has something to say about every millisecond, and nobody waits for it.
fn noise(scene: &mut Scene, to: i32) -> Made {
    let (board, here) = (scene.board, scene.here);
    scene.role("c-noise", || {
        real_time(60, here)?;
        board.prepared();
        while !board.is_ending() {
            system::sleep(MS);
            tell(to);
        }
        Ok(())
    })?;
    Ok(())
}

pub(super) fn told_news(scene: &mut Scene) -> Made {
    let (ask, answer, news) = (pipe()?, pipe()?, pipe()?);
    scene.victim(PERIOD, || {
        tell(ask.1);
        until_last([news.0, answer.0]);
    })?;
    noise(scene, news.1)?;
    serve(scene, "c-server", || take(ask.0), || tell(answer.1))
}

pub(super) fn unasked(scene: &mut Scene) -> Made {
    let (feed, news) = (pipe()?, pipe()?);
    scene.victim(PERIOD, || {
        until_last([news.0, feed.0]);
        drain(feed.0);
    })?;
    noise(scene, news.1)?;
    // Earlier than it is wanted, most of the time.
    serve(scene, "c-server", || system::sleep(5 * MS / 2), || tell(feed.1))
}

/// Takes everything that is there.
fn drain(from: i32) {
    while system::poll(from, 0) {
        take(from);
    }
}

pub(super) fn ticking(scene: &mut Scene) -> Made {
    let (ask, answer) = (pipe()?, pipe()?);
    let timer = system::timer(now());
    scene.victim(PERIOD, || {
        tell(ask.1);
        loop {
            system::arm(timer, now() + MS);
            let [ticks, answered] = system::wait_for_any([timer, answer.0]);
            if ticks {
                system::read(timer, &mut [0; 8]);
            }
            if answered {
                return take(answer.0);
            }
        }
    })?;
    serve(scene, "c-server", || take(ask.0), || tell(answer.1))
}

pub(super) fn in_turn(scene: &mut Scene) -> Made {
    let (first, between, ask, answer) = (pipe()?, pipe()?, pipe()?, pipe()?);
    let (board, there) = (scene.board, scene.there);
    scene.victim(PERIOD, || {
        tell(first.1);
        loop {
            let [one, other] = system::wait_for_any([between.0, answer.0]);
            if one {
                take(between.0);
                tell(ask.1);
            }
            if other {
                return take(answer.0);
            }
        }
    })?;
    scene.role("c-other", || {
        system::steady(there);
        board.prepared();
        while !board.is_ending() {
            take(first.0);
            tell(between.1);
        }
        Ok(())
    })?;
    serve(scene, "c-server", || take(ask.0), || tell(answer.1))
}

pub(super) fn servers(scene: &mut Scene) -> Made {
    let (ask, answer, news, store, stored) = (pipe()?, pipe()?, pipe()?, pipe()?, pipe()?);
    let (board, there) = (scene.board, scene.there);
    scene.victim(PERIOD, || {
        tell(ask.1);
        take(answer.0);
    })?;
    noise(scene, news.1)?;
    scene.role("c-server", || {
        system::steady(there);
        board.prepared();
        while !board.is_ending() {
            let [asked, told, is_stored] = system::wait_for_any([ask.0, news.0, stored.0]);
            if asked {
                take(ask.0);
                tell(store.1);
            }
            if told {
                take(news.0);
            }
            if is_stored {
                take(stored.0);
                tell(answer.1);
            }
        }
        Ok(())
    })?;
    serve(scene, "c-store", || take(store.0), || tell(stored.1))
}
