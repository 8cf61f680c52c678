//! Memory and disks: what a page costs, and what stands between a program and its file.

use super::super::group::Group;
use super::super::memory::{disk, file};
use super::super::mounts::loop_device;
use super::super::scene::{MS, Made, Refused, Scene, real_time};
use super::super::sleep::Sleep;
use super::super::storage::writer;
use super::super::system::{self, Memory, PAGE, now};
use super::calls::{self, Queue};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::linux::fs::MetadataExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

const MIB: usize = 1 << 20;

/// A victim that gets ready, sleeps, and then does one thing, all of which is the injection.
fn own(scene: &mut Scene, prepare: impl FnOnce() -> Made, ready: impl FnMut() -> Made, act: impl FnMut(u64)) -> Made {
    own_where(scene, prepare, ready, act, |_| true)
}

/// The same; `counts` says whether what the victim did is an injection.
fn own_where(
    scene: &mut Scene,
    prepare: impl FnOnce() -> Made,
    mut ready: impl FnMut() -> Made,
    mut act: impl FnMut(u64),
    counts: impl Fn(&Sleep) -> bool,
) -> Made {
    let (board, here, count) = (scene.board, scene.here, scene.count);
    scene.culprit("c-victim", || {
        prepare()?;
        real_time(70, here)?;
        board.prepared();
        for number in 0..count {
            if board.is_ending() {
                break;
            }
            ready()?;
            let due = now() + 12 * MS;
            system::sleep_until(due);
            let (start, sleep) = (now(), Sleep::begin());
            act(number as u64);
            if counts(&sleep) {
                board.injected("c-victim", start, now());
            }
            board.waited(due);
        }
        Ok(())
    })?;
    Ok(())
}

/// A database saves itself: it forks, and the kernel copies its page tables.
pub(super) fn fork(scene: &mut Scene) -> Made {
    const LENGTH: usize = 512 * MIB;
    let memory = Memory::private(LENGTH)?;
    let prepare = || {
        calls::forget_children();
        memory.advise(libc::MADV_NOHUGEPAGE);
        (0..LENGTH / PAGE).for_each(|page| memory.touch(page));
        Ok(())
    };
    let act = |_| {
        if let Ok(0) = system::fork() {
            system::leave(0);
        }
    };
    own(scene, prepare, || Ok(()), act)
}

/// Each new huge page is cleared when the victim touches it.
pub(super) fn huge(scene: &mut Scene) -> Made {
    const PAGES: usize = 24;
    let memory = Memory::private((PAGES + 1) * 2 * MIB)?;
    let ready = || {
        memory.advise(libc::MADV_DONTNEED);
        memory.advise(libc::MADV_HUGEPAGE);
        Ok(())
    };
    own(scene, || Ok(()), ready, |_| (0..PAGES).for_each(|page| memory.touch(page * 2 * MIB / PAGE)))
}

/// Pages with the same contents were merged; a process that writes to one gets a copy.
pub(super) fn merged(scene: &mut Scene) -> Made {
    const PAGES: usize = 3_000;
    const MERGEABLE: i32 = 12;
    const PLACE: &str = "/sys/kernel/mm/ksm";
    let set = |file: &str, value: &str| std::fs::write(Path::new(PLACE).join(file), value);
    let get = |file: &str| std::fs::read_to_string(Path::new(PLACE).join(file));
    let files = ["pages_to_scan", "sleep_millisecs", "smart_scan", "run"];
    let before = files.map(|file| get(file).unwrap_or_default());
    for (file, value) in files.iter().zip(["20000", "2", "0", "1"]) {
        set(file, value).map_err(|error| Refused(format!("no merging of pages ({error})")))?;
    }
    let board = scene.board;
    scene.role("c-restorer", || {
        board.prepared();
        while !board.is_ending() {
            system::sleep(5 * MS);
        }
        for (file, value) in files.iter().zip(&before) {
            let _ = set(file, value.trim());
        }
        Ok(())
    })?;
    let memory = Memory::private(PAGES * PAGE)?;
    let prepare = || {
        memory.advise(libc::MADV_NOHUGEPAGE);
        memory.advise(MERGEABLE);
        (0..PAGES).for_each(|page| memory.touch(page));
        Ok(())
    };
    let number = |path: &str| {
        std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<usize>().ok()).unwrap_or_default()
    };
    let scans = || number(&format!("{PLACE}/full_scans"));
    let ready = || {
        let (limit, wanted) = (now() + 2_000 * MS, scans() + 3);
        // What was written to since is looked at in the next scan, and merged in the one after that.
        let is_merged = || scans() >= wanted && number("/proc/self/ksm_merging_pages") >= PAGES * 9 / 10;
        while !is_merged() && now() < limit && !board.is_ending() {
            system::sleep(4 * MS);
        }
        Ok(())
    };
    own(scene, prepare, ready, |_| (0..PAGES).for_each(|page| memory.touch(page)))
}

/// A group at its limit: for each new page, another one is taken from its cache.
pub(super) fn reclaimed(scene: &mut Scene) -> Made {
    disk(scene)?;
    const LENGTH: usize = 24 * MIB;
    let group = Group::new(scene, "memory", "limit")?;
    group.allow_memory(64 * MIB as u64)?;
    let cached = file(scene, "c-file", 96 * MIB)?;
    let memory = Memory::private(LENGTH)?;
    let prepare = || {
        memory.advise(libc::MADV_NOHUGEPAGE);
        group.take(system::pid())
    };
    let mut buffer = vec![0; MIB];
    let ready = || {
        memory.advise(libc::MADV_DONTNEED);
        for number in 0..96 {
            cached.read_at(&mut buffer, number * MIB as u64)?;
        }
        Ok(())
    };
    own(scene, prepare, ready, |_| (0..LENGTH / PAGE).for_each(|page| memory.touch(page)))
}

fn direct(path: &Path) -> Result<File, Refused> {
    let mut options = File::options();
    let opened = options.read(true).custom_flags(libc::O_DIRECT).open(path);
    opened.map_err(|error| Refused(format!("no direct access to the disk ({error})")))
}

/// The victim's group may read only this much per second.
pub(super) fn limited(scene: &mut Scene) -> Made {
    disk(scene)?;
    let made = file(scene, "c-file", 16 * MIB)?;
    let group = Group::new(scene, "blkio", "limit")?;
    let device = made.metadata()?.st_dev();
    group.limit_reads(libc::major(device), libc::minor(device), 4 << 20)?;
    let file = direct(&scene.directory.join("c-file"))?;
    let buffer = Memory::private(MIB / 4)?;
    let act = |number: u64| {
        let _ = buffer.read_into(file.as_raw_fd(), number % 64 * MIB as u64 / 4);
    };
    own(scene, || group.take(system::pid()), || Ok(()), act)
}

/// A disk that is a file on another disk, which a writer keeps busy.
pub(super) fn looped(scene: &mut Scene) -> Made {
    disk(scene)?;
    let below = file(scene, "c-below", 32 * MIB)?;
    let (device, _) = loop_device(below.as_raw_fd()).map_err(|error| Refused(format!("no loop device ({error})")))?;
    writer(scene)?;
    let buffer = Memory::private(MIB)?;
    let ready = || {
        system::forget(below.as_raw_fd());
        Ok(())
    };
    own(scene, || Ok(()), ready, |number| _ = buffer.read_into(device, number % 32 * MIB as u64))
}

/// As databases read: a request to the kernel, and a wait until it is done.
pub(super) fn queued(scene: &mut Scene) -> Made {
    disk(scene)?;
    drop(file(scene, "c-file", 32 * MIB)?);
    let file = direct(&scene.directory.join("c-file"))?;
    writer(scene)?;
    let buffer = Memory::private(2 * MIB)?;
    // The queue belongs to the thread that makes it.
    let queue = std::cell::OnceCell::new();
    let prepare = || {
        let made = Queue::new().map_err(|error| Refused(format!("no asynchronous reads ({error})")))?;
        _ = queue.set(made);
        Ok(())
    };
    let act = |number: u64| {
        if let Some(queue) = queue.get() {
            let _ = queue.read(file.as_raw_fd(), &buffer, number % 16 * 2 * MIB as u64);
        }
    };
    own_where(scene, prepare, || Ok(()), act, Sleep::was_most)
}

/// One journal for all: what the victim has written to the disk waits for what another process wrote.
pub(super) fn journal(scene: &mut Scene) -> Made {
    disk(scene)?;
    let (board, there, count) = (scene.board, scene.there, scene.count);
    let mut own = file(scene, "c-file", MIB)?;
    scene.victim(std::time::Duration::from_millis(4), || {
        let _ = own.write_all(&[1; 512]).and_then(|()| own.sync_data());
    })?;
    let path = scene.directory.join("c-much");
    scene.culprit("c-committer", || {
        system::steady(there);
        let mut file = File::create(&path)?;
        let block = vec![3; 24 * MIB];
        let mut result = Ok(());
        board.injections(count, (4, 12), |_| {
            let start = now();
            let committed = file.write_all(&block).and_then(|()| file.sync_all()).and_then(|()| file.set_len(0));
            if let Err(error) = committed {
                result = Err(Refused::from(error));
            }
            board.injected("c-committer", start, now());
        });
        result
    })?;
    Ok(())
}
