//! A system call of the victim that another process has to answer.

use super::super::locks::{PERIOD, serve};
use super::super::memory::{disk, file};
use super::super::mounts::detach;
use super::super::scene::{MS, Made, Refused, Scene, real_time};
use super::super::storage::writer;
use super::super::system::{self, now, spin};
use super::calls::{self, Listener, Scanner};
use super::daemon::Daemon;
use punctual_random::Random;
use std::cell::{Cell, OnceCell};
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::Duration;

/// As container engines do: the supervisor decides about each such call.
pub(super) fn supervised(scene: &mut Scene) -> Made {
    let (board, here) = (scene.board, scene.here);
    let number = &board.cells[0];
    let victim = scene.role("c-victim", || {
        let listener =
            calls::supervise(libc::SYS_getppid).map_err(|error| Refused(format!("no supervisor ({error})")))?;
        number.store(listener as u64 + 1, Release);
        real_time(70, here)?;
        board.cycle(Duration::from_millis(3), calls::supervised);
        Ok(())
    })?;
    let (listener, asked) = (OnceCell::new(), Cell::new(0));
    let listen = || {
        while number.load(Acquire) == 0 && !board.is_ending() {
            system::sleep(MS);
        }
        Listener::of(victim, number.load(Acquire) as i32 - 1)
    };
    let next = || asked.set(listener.get_or_init(listen).next());
    let answer = || {
        if let Some(listener) = listener.get() {
            listener.allow(asked.get());
        }
    };
    serve(scene, "c-supervisor", next, answer)
}

/// As virus scanners do: a process that opens a file waits for their word. The disk is busy, and innocent.
pub(super) fn scanned(scene: &mut Scene) -> Made {
    disk(scene)?;
    drop(file(scene, "c-file", 0)?);
    let path = scene.directory.join("c-file");
    let scanner = Scanner::of(&path).map_err(|error| Refused(format!("no word in the opening of files ({error})")))?;
    writer(scene)?;
    scene.victim(PERIOD, || drop(std::fs::File::open(&path)))?;
    let asked = Cell::new(-1);
    serve(scene, "c-scanner", || asked.set(scanner.next()), || scanner.allow(asked.get()))
}

/// A file system whose daemon is another process.
pub(super) fn file_system(scene: &mut Scene) -> Made {
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    let place = scene.directory.join("served");
    std::fs::create_dir(&place)?;
    // 1: it is there; 2: the victim has it; anything else: the daemon could not.
    let state = &board.words[6];
    scene.culprit("c-daemon", || {
        let daemon = Daemon::at(&place).map_err(|error| Refused(format!("no file system ({error})")))?;
        state.store(1, Release);
        while state.load(Acquire) != 2 {
            system::sleep(MS);
        }
        detach(&place)?;
        system::steady(there);
        let mut random = Random(47);
        board.prepared();
        // A process that has asked a daemon cannot be killed, so the daemon answers to the end.
        while !board.is_ending() && board.count() < count {
            if !system::poll(daemon.descriptor(), 20) {
                continue;
            }
            let request = daemon.next();
            if random.between(0, 5) == 0 {
                let start = now();
                spin(start, random.between(3 * MS, 6 * MS));
                board.injected("c-daemon", start, now());
            }
            daemon.answer(&request);
        }
        Ok(())
    })?;
    scene.role("c-victim", || {
        while state.load(Acquire) != 1 {
            system::sleep(MS);
        }
        let root = calls::open_path(&place)?;
        state.store(2, Release);
        real_time(70, here)?;
        board.cycle(Duration::from_millis(3), || calls::look_at(root));
        Ok(())
    })?;
    Ok(())
}
