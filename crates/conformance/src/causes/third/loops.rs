//! Loops that learn of other things before the answer comes: through one descriptor, with work to do, from a server
//! that was busy when it was asked.

use super::super::locks::{PERIOD, serve};
use super::super::scene::{MS, Made, Refused, Scene, real_time};
use super::super::system::{self, now, pipe, spin};
use punctual_random::Random;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

/// The answer in what is read from an event counter, beside news that count one each.
const ANSWER: u64 = 1 << 20;
/// How long a victim that works on news works on each, ns.
const WORK: u64 = 6 * MS / 5;
/// The same for a victim whose own work must not be more than its waiting.
const LITTLE_WORK: u64 = MS / 2;

/// Has something to say at this interval, ns, and nobody waits for it.
fn noise(scene: &mut Scene, pause: u64, tell: impl Fn()) -> Made {
    let (board, here) = (scene.board, scene.here);
    scene.role("c-noise", || {
        real_time(60, here)?;
        board.prepared();
        while !board.is_ending() {
            system::sleep(pause);
            tell();
        }
        Ok(())
    })?;
    Ok(())
}

/// Reads from an event counter until the answer is in it, and works for this long, ns, on everything else.
fn until_answered(counter: i32, work: u64) {
    let mut bytes = [0; 8];
    while system::read(counter, &mut bytes) == 8 && u64::from_ne_bytes(bytes) < ANSWER {
        spin(now(), work);
    }
}

/// Takes what comes, works for this long, ns, on news, and ends with the answer. `word` is 1 meanwhile: there is no
/// news at other times.
fn works_on(word: &AtomicU32, (news, answer): (i32, i32), work: u64) {
    word.store(1, Release);
    loop {
        let [told, answered] = system::wait_for_any([news, answer]);
        if told {
            system::read(news, &mut [0; 1]);
            spin(now(), work);
        }
        if answered {
            system::read(answer, &mut [0; 1]);
            return word.store(0, Release);
        }
    }
}

fn news_while(word: &AtomicU32, news: i32) {
    if word.load(Acquire) == 1 {
        system::write(news, &[1]);
    }
}

/// The ends of a pipe, to read and to write.
type Pipe = (i32, i32);

/// A victim that asks through the first pipe and takes the answer from the second. Meanwhile news comes at this
/// interval, and it works for this long on each, ns.
fn asks_by_pipe(scene: &mut Scene, pause: u64, work: u64) -> Result<(Pipe, Pipe), Refused> {
    let (ask, answer, news) = (pipe()?, pipe()?, pipe()?);
    let word = &scene.board.words[0];
    scene.victim(PERIOD, || {
        system::write(ask.1, &[1]);
        works_on(word, (news.0, answer.0), work);
    })?;
    noise(scene, pause, || news_while(word, news.1))?;
    Ok((ask, answer))
}

/// A victim that asks through the pipe and reads the answer from the event counter, in which news at this interval is
/// counted too; it works for this long on the news, ns.
fn asks_by_counter(scene: &mut Scene, pause: u64, work: u64) -> Result<(Pipe, i32), Refused> {
    let (ask, counter) = (pipe()?, system::event_fd());
    scene.victim(PERIOD, || {
        system::write(ask.1, &[1]);
        until_answered(counter, work);
    })?;
    noise(scene, pause, || _ = system::write(counter, &1_u64.to_ne_bytes()))?;
    Ok((ask, counter))
}

pub(super) fn counted(scene: &mut Scene) -> Made {
    let (ask, counter) = asks_by_counter(scene, MS, 0)?;
    let next = || _ = system::read(ask.0, &mut [0; 1]);
    serve(scene, "c-server", next, || _ = system::write(counter, &ANSWER.to_ne_bytes()))
}

pub(super) fn working(scene: &mut Scene) -> Made {
    let (ask, answer) = asks_by_pipe(scene, 4 * MS, WORK)?;
    let next = || _ = system::read(ask.0, &mut [0; 1]);
    serve(scene, "c-server", next, || _ = system::write(answer.1, &[1]))
}

const OTHERS: u8 = 2;

/// A server that answers in turn: another client's questions take long.
fn busy_server(scene: &mut Scene, ask: (i32, i32), answer: impl Fn()) -> Made {
    let (board, there, count) = (scene.board, scene.there, scene.count);
    scene.role("c-client", || {
        real_time(60, there)?;
        let mut random = Random(47);
        board.prepared();
        while !board.is_ending() {
            system::sleep(random.between(12 * MS, 28 * MS));
            system::write(ask.1, &[OTHERS]);
        }
        Ok(())
    })?;
    scene.culprit("c-server", || {
        system::steady(there);
        let mut random = Random(53);
        board.prepared();
        while !board.is_ending() && board.count() < count {
            let mut asked = [0];
            system::read(ask.0, &mut asked);
            if asked[0] == OTHERS {
                let start = now();
                spin(start, random.between(5 * MS, 9 * MS));
                board.injected("c-server", start, now());
            } else {
                answer();
            }
        }
        while !board.is_ending() {
            answer();
            system::sleep(MS);
        }
        Ok(())
    })?;
    Ok(())
}

pub(super) fn busy(scene: &mut Scene) -> Made {
    let (ask, answer) = (pipe()?, pipe()?);
    scene.victim(PERIOD, || {
        system::write(ask.1, &[1]);
        system::read(answer.0, &mut [0; 1]);
    })?;
    busy_server(scene, ask, || _ = system::write(answer.1, &[1]))
}

pub(super) fn busy_told(scene: &mut Scene) -> Made {
    let (ask, answer) = asks_by_pipe(scene, MS, 0)?;
    busy_server(scene, ask, || _ = system::write(answer.1, &[1]))
}

pub(super) fn busy_working(scene: &mut Scene) -> Made {
    let (ask, answer) = asks_by_pipe(scene, 4 * MS, WORK)?;
    busy_server(scene, ask, || _ = system::write(answer.1, &[1]))
}

pub(super) fn busy_counted(scene: &mut Scene) -> Made {
    let (ask, counter) = asks_by_counter(scene, MS, 0)?;
    busy_server(scene, ask, || _ = system::write(counter, &ANSWER.to_ne_bytes()))
}

pub(super) fn busy_counted_working(scene: &mut Scene) -> Made {
    let (ask, counter) = asks_by_counter(scene, 4 * MS, LITTLE_WORK)?;
    busy_server(scene, ask, || _ = system::write(counter, &ANSWER.to_ne_bytes()))
}

/// The victim polls for the answer and for nothing else, as libraries do that ask a database or a display.
pub(super) fn busy_polled(scene: &mut Scene) -> Made {
    let (ask, answer) = (pipe()?, pipe()?);
    scene.victim(PERIOD, || {
        system::write(ask.1, &[1]);
        let [_] = system::wait_for_any([answer.0]);
        system::read(answer.0, &mut [0; 1]);
        spin(now(), MS / 5);
    })?;
    busy_server(scene, ask, || _ = system::write(answer.1, &[1]))
}

/// The one that tells the news is at work nearly all the time, like one that reports its progress.
pub(super) fn busy_beside_busy(scene: &mut Scene) -> Made {
    let (ask, answer, news) = (pipe()?, pipe()?, pipe()?);
    let (board, here) = (scene.board, scene.here);
    let word = &board.words[0];
    scene.victim(PERIOD, || {
        system::write(ask.1, &[1]);
        works_on(word, (news.0, answer.0), LITTLE_WORK);
    })?;
    scene.role("c-noise", || {
        real_time(60, here)?;
        board.prepared();
        while !board.is_ending() {
            spin(now(), 3 * MS);
            news_while(word, news.1);
            system::sleep(MS);
        }
        Ok(())
    })?;
    busy_server(scene, ask, || _ = system::write(answer.1, &[1]))
}

/// The answer in the word of a queue, beside news that count one each.
const QUEUED_ANSWER: u32 = 1 << 20;

/// A queue of the program: a word that says what is in it, and threads that wait for it to be more than nothing.
fn put(queue: &AtomicU32, what: u32) {
    queue.fetch_add(what, Release);
    system::futex_wake(queue, 1);
}

pub(super) fn queued(scene: &mut Scene) -> Made {
    let ask = pipe()?;
    let queue = &scene.board.words[1];
    scene.victim(PERIOD, || {
        system::write(ask.1, &[1]);
        loop {
            match queue.swap(0, AcqRel) {
                0 => system::futex_wait(queue, 0),
                answered if answered >= QUEUED_ANSWER => return,
                _ => _ = spin(now(), LITTLE_WORK),
            }
        }
    })?;
    noise(scene, 4 * MS, || put(queue, 1))?;
    serve(scene, "c-server", || _ = system::read(ask.0, &mut [0; 1]), || put(queue, QUEUED_ANSWER))
}

/// A place to park like that of Rust's library: nothing, somebody who waits, or a token for whoever comes next.
const EMPTY: u32 = 0;
const PARKED: u32 = u32::MAX;
const TOKEN: u32 = 1;

fn park(word: &AtomicU32) {
    if word.fetch_sub(1, AcqRel) == TOKEN {
        return;
    }
    while word.compare_exchange(TOKEN, EMPTY, AcqRel, Acquire).is_err() {
        system::futex_wait(word, PARKED);
    }
}

fn unpark(word: &AtomicU32) {
    if word.swap(TOKEN, AcqRel) == PARKED {
        system::futex_wake(word, 1);
    }
}

pub(super) fn parked(scene: &mut Scene) -> Made {
    let ask = pipe()?;
    let (place, answered) = (&scene.board.words[1], &scene.board.words[2]);
    scene.victim(PERIOD, || {
        system::write(ask.1, &[1]);
        while answered.swap(0, AcqRel) == 0 {
            park(place);
        }
    })?;
    noise(scene, 4 * MS / 5, || unpark(place))?;
    let answer = || {
        answered.store(1, Release);
        unpark(place);
    };
    serve(scene, "c-server", || _ = system::read(ask.0, &mut [0; 1]), answer)
}
