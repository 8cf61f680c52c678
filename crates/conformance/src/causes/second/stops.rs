//! What stops the victim in the middle: a garbage collector, a snapshot, a wakeup of very many threads.

use super::super::mounts::detach;
use super::super::scene::{MS, Made, Refused, Scene, beside, real_time};
use super::super::system::{self, now, spin};
use super::calls::{self, Herd};
use super::collector;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::time::Duration;

/// As collectors for C do: one signal to stop, whose handler waits for another one.
pub(super) fn world(scene: &mut Scene) -> Made {
    let board = scene.board;
    collector::handle();
    let work = || {
        spin(now(), 3 * MS / 2);
    };
    beside(scene, "c-collector", 4 * MS, work, move |random| {
        let victim = system::pid();
        let start = now();
        if collector::stop(victim, 50 * MS) {
            spin(now(), random.between(3 * MS, 6 * MS));
            board.injected("c-collector", start, now());
        }
        collector::go_on(victim);
    })
}

fn run(command: &mut Command) -> Made {
    let out = command.output().map_err(|error| Refused(format!("{}: {error}", command.get_program().display())))?;
    if out.status.success() {
        return Ok(());
    }
    Err(Refused(String::from_utf8_lossy(&out.stderr).trim().to_owned()))
}

/// Writing waits while a file system is frozen, as before a snapshot of its disk.
pub(super) fn snapshot(scene: &mut Scene) -> Made {
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    let (image, place) = (scene.directory.join("image"), scene.directory.join("mounted"));
    std::fs::create_dir(&place)?;
    std::fs::File::create(&image)?.set_len(64 << 20)?;
    run(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image))?;
    run(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&place))?;
    let opened =
        || -> std::io::Result<_> { Ok((std::fs::File::create(place.join("c-file"))?, std::fs::File::open(&place)?)) };
    let opened = opened();
    // It disappears with the last process that has a file of it open.
    detach(&place)?;
    let (file, root) = opened?;
    scene.role("c-victim", || {
        real_time(70, here)?;
        board.cycle(Duration::from_millis(3), || {
            let _ = file.write_at(&[1], 0);
        });
        Ok(())
    })?;
    scene.culprit("c-snapshot", || {
        system::steady(there);
        let mut result = Ok(());
        board.injections(count, (12, 28), |random| {
            let start = now();
            if let Err(error) = calls::freeze(root.as_raw_fd(), true) {
                result = Err(Refused(format!("no freezing ({error})")));
                return;
            }
            system::sleep(random.between(5 * MS, 9 * MS));
            if let Err(error) = calls::freeze(root.as_raw_fd(), false) {
                result = Err(Refused(format!("no thawing ({error})")));
            }
            board.injected("c-snapshot", start, now());
        });
        result
    })?;
    Ok(())
}

/// All waiters that watch an event are told of it in one go, with interrupts off.
pub(super) fn herd(scene: &mut Scene) -> Made {
    let (board, here, count) = (scene.board, scene.here, scene.count);
    scene.waker(MS / 20, |cpu| real_time(70, cpu))?;
    scene.culprit("c-waker", || {
        system::steady(here);
        let mut herd = Herd::new(100, 100)?;
        board.injections(count, (12, 28), |_| {
            let start = now();
            herd.wake();
            board.injected("c-waker", start, now());
            herd.calm();
        });
        Ok(())
    })?;
    Ok(())
}
