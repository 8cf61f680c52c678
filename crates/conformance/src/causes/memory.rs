//! Memory: faults, the lock of an address space, and who holds it.

use super::scene::{MS, Made, Refused, Scene, real_time};
use super::system::{self, Memory, PAGE, UserFaults, now};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::Duration;

const MIB: usize = 1 << 20;

/// A file with bytes in it, on a disk.
pub(super) fn file(scene: &Scene, name: &str, length: usize) -> Result<std::fs::File, Refused> {
    let path = scene.directory.join(name);
    let mut file = std::fs::File::options().read(true).write(true).create(true).truncate(true).open(path)?;
    let block = vec![7; MIB];
    for _ in 0..length / MIB {
        file.write_all(&block)?;
    }
    file.sync_all()?;
    Ok(file)
}

/// Checks that the scene's directory is on a disk.
pub(super) fn disk(scene: &Scene) -> Made {
    let mounts = std::fs::read_to_string("/proc/mounts")?;
    let holds = |line: &str| {
        let mut words = line.split(' ').skip(1);
        let (path, kind) = (words.next()?.to_owned(), words.next()?.to_owned());
        scene.directory.starts_with(&path).then_some((path.len(), kind))
    };
    match mounts.lines().filter_map(holds).max() {
        Some((_, kind)) if !["tmpfs", "ramfs", "rootfs", "overlay"].contains(&kind.as_str()) => Ok(()),
        _ => Err(Refused("no disk behind the directory for temporary files (TMPDIR)".into())),
    }
}

/// Pages of a file that are no longer in memory.
pub(super) fn major_fault(scene: &mut Scene) -> Made {
    disk(scene)?;
    const LENGTH: usize = 32 * MIB;
    let (board, here, count) = (scene.board, scene.here, scene.count);
    let file = file(scene, "c-file", LENGTH)?;
    scene.culprit("c-victim", || {
        real_time(70, here)?;
        let mut random = punctual_random::Random(5);
        board.prepared();
        for _ in 0..count {
            if board.is_ending() {
                break;
            }
            let memory = Memory::of_file(file.as_raw_fd(), LENGTH)?;
            memory.advise(libc::MADV_RANDOM);
            system::forget(file.as_raw_fd());
            let due = now() + 12 * MS;
            system::sleep_until(due);
            // Within one wakeup, as many as take a while.
            let start = now();
            while now() < start + MS {
                memory.look(random.between(0, (LENGTH / PAGE) as u64) as usize);
            }
            board.injected("c-file", start, now());
            board.waited(due);
        }
        Ok(())
    })?;
    Ok(())
}

/// A thread of the victim's process keeps the lock of their address space; the victim's `act` wants it.
fn beside(
    scene: &mut Scene,
    name: &'static str,
    act: fn(&Memory, usize),
    keep: impl Fn(&Memory) + Send + 'static,
    length: usize,
) -> Made {
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    scene.culprit("c-victim", || {
        let own = Memory::private(256 * MIB)?;
        own.advise(libc::MADV_NOHUGEPAGE);
        let done = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let ended = done.clone();
        let big = Memory::private(length)?;
        system::thread(name, move || {
            system::steady(there);
            let mut random = punctual_random::Random(11);
            while board.cells[7].load(Acquire) == 0 {
                system::sleep(MS);
            }
            for _ in 0..count {
                system::sleep(random.between(8 * MS, 20 * MS));
                for page in 0..length / PAGE {
                    big.touch(page);
                }
                let start = now();
                keep(&big);
                board.injected(name, start, now());
                if board.is_ending() {
                    break;
                }
            }
            done.store(true, Release);
        });
        real_time(70, here)?;
        board.prepared();
        board.cells[7].store(1, Release);
        let mut random = punctual_random::Random(13);
        let mut cycle = 0;
        while !ended.load(Acquire) && !board.is_ending() {
            let due = now() + random.between(MS, 2 * MS);
            system::sleep_until(due);
            act(&own, cycle);
            cycle += 1;
            board.waited(due);
        }
        Ok(())
    })?;
    Ok(())
}

fn map_and_unmap(_: &Memory, _: usize) {
    drop(Memory::private(PAGE));
}

/// Nothing but the faults on some new pages.
fn fault(own: &Memory, cycle: usize) {
    for page in 0..4 {
        own.touch((cycle * 4 + page) % (own.length / PAGE));
    }
}

fn fork_and_end() {
    if let Ok(child) = system::fork() {
        if child == 0 {
            system::leave(0);
        }
        system::reap(child, true);
    }
}

pub(super) fn mapping(scene: &mut Scene) -> Made {
    // Mapping with all pages holds the lock for reading: the victim's mapping waits for it.
    beside(scene, "c-mapper", map_and_unmap, |_| drop(Memory::populated(24 * MIB)), PAGE)
}

pub(super) fn forking(scene: &mut Scene) -> Made {
    beside(scene, "c-forker", fault, |_| fork_and_end(), 192 * MIB)
}

pub(super) fn smaps(scene: &mut Scene) -> Made {
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    let victim = scene.role("c-victim", || {
        let memory = Memory::private(256 * MIB)?;
        for page in 0..256 * MIB / PAGE {
            memory.touch(page);
        }
        real_time(70, here)?;
        board.cycle(Duration::from_millis(1), || map_and_unmap(&memory, 0));
        Ok(())
    })?;
    scene.culprit("c-reader", || {
        system::steady(there);
        let path = format!("/proc/{victim}/smaps_rollup");
        board.injections(count, (8, 20), |_| {
            let start = now();
            let _ = std::fs::read(&path);
            board.injected("c-reader", start, now());
        });
        Ok(())
    })?;
    Ok(())
}

/// After a fork, each page that the victim writes to is copied.
pub(super) fn copying(scene: &mut Scene) -> Made {
    let (board, here, count) = (scene.board, scene.here, scene.count);
    const PAGES: usize = 2_000;
    scene.culprit("c-victim", || {
        let memory = Memory::private(PAGES * PAGE)?;
        memory.advise(libc::MADV_NOHUGEPAGE);
        (0..PAGES).for_each(|page| memory.touch(page));
        real_time(70, here)?;
        board.prepared();
        for _ in 0..count {
            if board.is_ending() {
                break;
            }
            // The child sleeps, and so keeps the pages shared.
            let child = system::fork()?;
            if child == 0 {
                system::sleep(200 * MS);
                system::leave(0);
            }
            let due = now() + 8 * MS;
            system::sleep_until(due);
            let start = now();
            (0..PAGES).for_each(|page| memory.touch(page));
            board.injected("c-victim", start, now());
            board.waited(due);
            system::kill(child, libc::SIGKILL);
            system::reap(child, true);
        }
        Ok(())
    })?;
    Ok(())
}

/// Another thread, which is slow, answers the victim's faults.
pub(super) fn answered(scene: &mut Scene) -> Made {
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    scene.culprit("c-victim", || {
        let memory = std::sync::Arc::new(Memory::private(PAGE)?);
        let faults =
            UserFaults::over(&memory).map_err(|error| Refused(format!("no faults for another thread ({error})")))?;
        system::thread("c-pager", move || {
            system::steady(there);
            while let Some(address) = faults.next() {
                let start = now();
                system::spin(start, 2 * MS);
                board.injected("c-pager", start, now());
                faults.answer(address);
            }
        });
        real_time(70, here)?;
        board.prepared();
        for _ in 0..count {
            if board.is_ending() {
                break;
            }
            memory.advise(libc::MADV_DONTNEED);
            let due = now() + 10 * MS;
            system::sleep_until(due);
            memory.touch(0);
            board.waited(due);
        }
        Ok(())
    })?;
    Ok(())
}

/// The victim switches on a counter of another CPU, which has its interrupts off and does not answer.
pub(super) fn far_counter(scene: &mut Scene) -> Made {
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    if here == there {
        return Err(Refused("an interrupt between CPUs needs a second one".into()));
    }
    let program = scene.program.clone();
    let log = scene.directory.join("drill.jsonl");
    let drill_log = log.clone();
    scene.culprit("c-driller", || {
        board.prepared();
        let mut child = std::process::Command::new(program);
        child
            .args(["drill", "irq-off", "-a", &there.to_string(), "--for", "2500us..4ms", "--every", "25ms", "--count"])
            .args([&count.to_string(), "-D", "60s", "--json", "-o"])
            .arg(&drill_log)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        let mut child = system::bound(&mut child).spawn()?;
        while !board.is_ending() {
            if let Some(status) = child.try_wait()? {
                if !status.success() {
                    return Err(Refused("the drill irq-off is refused".into()));
                }
                break;
            }
            system::sleep(5 * MS);
        }
        let _ = child.kill();
        for line in std::fs::read_to_string(&drill_log)?.lines() {
            let Ok(value) = serde_json::from_str::<serde_json::Value>(line) else { continue };
            if let (Some(start), Some(end)) = (value["start_ns"].as_u64(), value["end_ns"].as_u64()) {
                board.injected("drill-irq-off", start, end);
            }
        }
        Ok(())
    })?;
    scene.role("c-victim", || {
        let counter = system::counter_of(there)?;
        real_time(70, here)?;
        board.cycle(Duration::from_millis(2), || {
            system::count(counter, true);
            system::count(counter, false);
        });
        Ok(())
    })?;
    Ok(())
}

/// `synchronize_rcu`: the victim waits until every CPU has passed through the scheduler.
pub(super) fn grace_period(scene: &mut Scene) -> Made {
    let (board, here, count) = (scene.board, scene.here, scene.count);
    scene.culprit("c-victim", || {
        system::global_barrier().map_err(|error| Refused(format!("no membarrier ({error})")))?;
        real_time(70, here)?;
        board.prepared();
        for _ in 0..count {
            if board.is_ending() {
                break;
            }
            let due = now() + 10 * MS;
            system::sleep_until(due);
            let start = now();
            let _ = system::global_barrier();
            board.injected("rcu", start, now());
            board.waited(due);
        }
        Ok(())
    })?;
    Ok(())
}
