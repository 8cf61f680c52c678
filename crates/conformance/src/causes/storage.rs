//! Files: what waits for the disk, and what waits for another process that uses the same file.

use super::locks::{holder, works_long};
use super::memory::{disk, file};
use super::scene::{MS, Made, Refused, Scene, real_time};
use super::sleep::Sleep;
use super::system::{self, Memory, PAGE, now};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::time::Duration;

const MIB: usize = 1 << 20;

/// Writes a lot and waits for the disk, all the time.
pub(super) fn writer(scene: &mut Scene) -> Made {
    let board = scene.board;
    let path = scene.directory.join("c-much");
    scene.role("c-writer", || {
        let mut file = std::fs::File::create(&path)?;
        let block = vec![3; 4 * MIB];
        board.prepared();
        while !board.is_ending() {
            for _ in 0..4 {
                file.write_all(&block)?;
            }
            file.sync_all()?;
            file.set_len(0)?;
            system::sleep(2 * MS);
        }
        Ok(())
    })?;
    Ok(())
}

/// The victim does something that waits for the disk; all of it is the injection, if it slept for the larger part.
/// Otherwise its own work kept it, or whatever had its CPU meanwhile.
fn waiting(scene: &mut Scene, act: impl Fn(u64) -> std::io::Result<()>) -> Made {
    let (board, here, count) = (scene.board, scene.here, scene.count);
    scene.culprit("c-victim", || {
        real_time(70, here)?;
        board.prepared();
        for number in 0..count {
            if board.is_ending() {
                break;
            }
            let due = now() + 12 * MS;
            system::sleep_until(due);
            let (start, sleep) = (now(), Sleep::begin());
            act(number as u64)?;
            if sleep.was_most() {
                board.injected("disk", start, now());
            }
            board.waited(due);
        }
        Ok(())
    })?;
    Ok(())
}

pub(super) fn fsync(scene: &mut Scene) -> Made {
    disk(scene)?;
    let file = file(scene, "c-file", MIB)?;
    writer(scene)?;
    waiting(scene, move |number| {
        file.write_at(&number.to_ne_bytes(), 4096 * (number % 64))?;
        file.sync_all()
    })
}

pub(super) fn direct(scene: &mut Scene) -> Made {
    disk(scene)?;
    drop(file(scene, "c-file", 32 * MIB)?);
    let path = scene.directory.join("c-file");
    let file = std::fs::File::options()
        .read(true)
        .custom_flags(libc::O_DIRECT)
        .open(path)
        .map_err(|error| Refused(format!("no direct access to the disk ({error})")))?;
    writer(scene)?;
    let buffer = Memory::private(MIB)?;
    waiting(scene, move |number| {
        for part in 0..4 {
            buffer.read_into(file.as_raw_fd(), (number * 4 + part) % 32 * MIB as u64)?;
        }
        Ok(())
    })
}

pub(super) fn msync(scene: &mut Scene) -> Made {
    disk(scene)?;
    let file = file(scene, "c-file", MIB)?;
    writer(scene)?;
    let memory = Memory::of_file(file.as_raw_fd(), MIB)?;
    waiting(scene, move |_| {
        (0..MIB / PAGE).step_by(8).for_each(|page| memory.touch(page));
        memory.sync();
        Ok(())
    })
}

/// A lock on a whole file: the kernel's, not a futex.
pub(super) fn file_lock(scene: &mut Scene) -> Made {
    let path = scene.directory.join("c-lock");
    std::fs::write(&path, "")?;
    // A lock belongs to the process that opened the file, so each one opens it.
    let (wanted, held) = (std::fs::File::open(&path)?, std::fs::File::open(&path)?);
    scene.victim(Duration::from_millis(3), || {
        system::lock_file(wanted.as_raw_fd(), true);
        system::lock_file(wanted.as_raw_fd(), false);
    })?;
    let take = || system::lock_file(held.as_raw_fd(), true);
    let let_go = || system::lock_file(held.as_raw_fd(), false);
    holder(scene, "c-holder", (12, 28), take, works_long, let_go)
}

/// Both write to one file: the kernel lets one in after the other.
pub(super) fn same_file(scene: &mut Scene) -> Made {
    let (board, there, count) = (scene.board, scene.there, scene.count);
    let path = std::path::Path::new("/dev/shm").join(format!("causes-{}", scene.owner));
    let file = std::fs::File::create(&path)?;
    std::fs::remove_file(&path)?;
    let other = file.try_clone()?;
    scene.victim(Duration::from_millis(2), || {
        let _ = file.write_at(&[1], 0);
    })?;
    scene.culprit("c-writer", || {
        system::steady(there);
        let block = vec![5; 24 * MIB];
        board.injections(count, (12, 28), |_| {
            let start = now();
            let _ = other.write_at(&block, 0);
            board.injected("c-writer", start, now());
        });
        Ok(())
    })?;
    Ok(())
}
