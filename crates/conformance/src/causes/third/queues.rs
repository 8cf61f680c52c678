//! Somebody is slow to answer, through what audio, robot and game programs use besides pipes and sockets.

use super::super::locks::{PERIOD, serve};
use super::super::scene::{MS, Made, Refused, Scene, real_time};
use super::super::servers::slow_reader;
use super::super::system::{self, now, spin};
use super::calls::{self, Semaphore};
use punctual_random::Random;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};

/// A dispatcher like a message bus's: it reads in turn from everybody who has something for it.
pub(super) fn dispatched(scene: &mut Scene) -> Made {
    let (board, there, count) = (scene.board, scene.there, scene.count);
    let (own, others) = (system::pipe()?, system::pipe()?);
    let answer = system::event_fd();
    scene.victim(PERIOD, || {
        system::write(own.1, &[1]);
        system::read(answer, &mut [0; 8]);
    })?;
    scene.role("c-client", || {
        real_time(60, there)?;
        board.prepared();
        let mut random = Random(41);
        while !board.is_ending() {
            system::sleep(random.between(12 * MS, 28 * MS));
            system::write(others.1, &[1]);
        }
        Ok(())
    })?;
    scene.culprit("c-dispatcher", || {
        system::steady(there);
        let mut random = Random(43);
        board.prepared();
        while !board.is_ending() && board.count() < count {
            if system::poll(others.0, 0) {
                system::read(others.0, &mut [0; 1]);
                let start = now();
                spin(start, random.between(5 * MS, 9 * MS));
                board.injected("c-dispatcher", start, now());
            }
            if system::poll(own.0, 1) {
                system::read(own.0, &mut [0; 1]);
                system::write(answer, &1_u64.to_ne_bytes());
            }
        }
        while !board.is_ending() {
            system::write(answer, &1_u64.to_ne_bytes());
            system::sleep(MS);
        }
        Ok(())
    })?;
    Ok(())
}

pub(super) fn messages(scene: &mut Scene) -> Made {
    let queue = |what: &str| {
        let name = CString::new(format!("/punctual-causes-{}-{what}", scene.owner)).map_err(std::io::Error::from)?;
        calls::message_queue(&name).map_err(|error| Refused(format!("no message queues ({error})")))
    };
    let (ask, answer) = (queue("ask")?, queue("answer")?);
    scene.victim(PERIOD, || {
        calls::send(ask);
        calls::receive(answer);
    })?;
    serve(scene, "c-server", || calls::receive(ask), || calls::send(answer))
}

pub(super) fn semaphore(scene: &mut Scene) -> Made {
    let (board, there, count) = (scene.board, scene.there, scene.count);
    let semaphore = Semaphore::new().map_err(|error| Refused(format!("no semaphores ({error})")))?;
    scene.victim(PERIOD, || {
        semaphore.change(-1);
        semaphore.change(1);
    })?;
    scene.culprit("c-holder", || {
        system::steady(there);
        board.injections(count, (12, 28), |random| {
            semaphore.change(-1);
            let start = now();
            spin(start, random.between(4 * MS, 7 * MS));
            board.injected("c-holder", start, now());
            semaphore.change(1);
        });
        Ok(())
    })?;
    scene.role("c-remover", || {
        board.prepared();
        while !board.is_ending() {
            system::sleep(5 * MS);
        }
        semaphore.remove();
        Ok(())
    })?;
    Ok(())
}

/// As games on Linux wait for one of several objects.
pub(super) fn two_words(scene: &mut Scene) -> Made {
    let board = scene.board;
    let (ask, never, answer) = (&board.words[0], &board.words[1], &board.words[2]);
    scene.victim(PERIOD, || {
        ask.store(1, Release);
        system::futex_wake(ask, 1);
        while answer.swap(0, Acquire) == 0 && !board.is_ending() {
            calls::wait_for_either([never, answer]);
        }
    })?;
    let next = || {
        while ask.swap(0, Acquire) == 0 && !board.is_ending() {
            system::futex_wait(ask, 0);
        }
    };
    let done = || {
        answer.store(1, Release);
        system::futex_wake(answer, 1);
    };
    serve(scene, "c-server", next, done)
}

pub(super) fn signals(scene: &mut Scene) -> Made {
    const ASK: i32 = libc::SIGUSR1;
    const ANSWER: i32 = libc::SIGUSR2;
    let board = scene.board;
    system::keep_back(ASK);
    system::keep_back(ANSWER);
    // The server's id: the server starts after the victim.
    let server: &'static AtomicU32 = &board.words[0];
    let victim = {
        let here = scene.here;
        scene.role("c-victim", || {
            real_time(70, here)?;
            board.cycle(PERIOD, || {
                // 0 would mean the whole group.
                match server.load(Acquire) {
                    0 => {}
                    server => {
                        system::kill(server as i32, ASK);
                        calls::wait_for_signal(ANSWER);
                    }
                }
            });
            Ok(())
        })?
    };
    let next = || {
        server.store(system::pid() as u32, Release);
        calls::wait_for_signal(ASK);
    };
    serve(scene, "c-server", next, move || system::kill(victim, ANSWER))
}

/// A process that opens a named pipe for reading waits for one that opens it for writing.
pub(super) fn named_pipe(scene: &mut Scene) -> Made {
    let path = scene.directory.join("c-pipe");
    let name = CString::new(path.as_os_str().as_bytes()).map_err(std::io::Error::from)?;
    calls::make_pipe(&name)?;
    let (from, to) = system::pipe()?;
    scene.victim(PERIOD, || {
        system::write(to, &[1]);
        drop(std::fs::File::open(&path));
    })?;
    let next = move || {
        system::read(from, &mut [0; 1]);
    };
    let opens = || {
        use std::os::unix::fs::OpenOptionsExt;
        // By now, perhaps nobody is there to read.
        drop(std::fs::File::options().write(true).custom_flags(libc::O_NONBLOCK).open(&path));
    };
    serve(scene, "c-opener", next, move || {
        // It is opened once the victim waits; before that, nobody is there.
        system::sleep(MS / 5);
        opens();
    })
}

pub(super) fn full_socket(scene: &mut Scene) -> Made {
    slow_reader(scene, system::socket_pair()?, 64 << 10, 256 << 10)
}

/// A thread per job, as in plug-in hosts when they render: the victim waits for the thread's end.
pub(super) fn joined(scene: &mut Scene) -> Made {
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    scene.culprit("c-victim", || {
        system::pin(0, &[here]);
        board.prepared();
        let mut random = Random(59);
        let mut jobs = 0;
        while jobs < count && !board.is_ending() {
            let due = now() + random.between(4 * MS, 8 * MS);
            system::sleep_until(due);
            let slow = random.between(0, 3) == 0;
            let ns = if slow { random.between(3 * MS, 6 * MS) } else { MS / 10 };
            let spawned = std::thread::spawn(move || {
                system::set_name("c-worker");
                system::pin(0, &[there]);
                let start = now();
                spin(start, ns);
                if slow {
                    board.injected("c-worker", start, now());
                }
            });
            let _ = spawned.join();
            jobs += usize::from(slow);
            board.waited(due);
        }
        Ok(())
    })?;
    Ok(())
}
