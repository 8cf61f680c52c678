//! Other threads that had the CPU, and threads that were not allowed to have it.

use super::group::Group;
use super::scene::{MS, Made, Refused, Scene, real_time};
use super::system::{self, now, sleep_until, spin};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

fn burst(scene: &mut Scene, victim: i32, prepare: impl FnOnce() -> Made) -> Made {
    let (board, count) = (scene.board, scene.count);
    scene.waker(MS / 20, |cpu| {
        system::pin(0, &[cpu]);
        system::schedule(0, if victim == 80 { libc::SCHED_RR } else { libc::SCHED_FIFO }, victim)?;
        Ok(())
    })?;
    scene.culprit("c-burst", || {
        prepare()?;
        board.injections(count, (12, 28), |random| board.occupy("c-burst", random.between(3 * MS, 6 * MS)));
        Ok(())
    })?;
    Ok(())
}

pub(super) fn deadline(scene: &mut Scene) -> Made {
    let here = scene.here;
    burst(scene, 70, || {
        // It may not be kept on a CPU; but where it is now it stays as long as nobody with a deadline is there.
        let all = system::cpus();
        system::pin(0, &[here]);
        system::pin(0, &all);
        Ok(system::deadline(8 * MS, 20 * MS)?)
    })
}

pub(super) fn fifo(scene: &mut Scene) -> Made {
    let here = scene.here;
    burst(scene, 70, || real_time(99, here))
}

pub(super) fn round_robin(scene: &mut Scene) -> Made {
    let here = scene.here;
    burst(scene, 80, || {
        system::pin(0, &[here]);
        Ok(system::schedule(0, libc::SCHED_RR, 80)?)
    })
}

/// A normal victim and a normal burst on one CPU.
pub(super) fn fair(scene: &mut Scene, prepare: impl FnOnce() -> Made) -> Made {
    let (board, here, count) = (scene.board, scene.here, scene.count);
    scene.role("c-victim", || {
        system::pin(0, &[here]);
        // Enough work that it has no credit.
        board.cycle(Duration::from_millis(4), || {
            spin(now(), 2 * MS);
        });
        Ok(())
    })?;
    scene.culprit("c-burst", || {
        system::pin(0, &[here]);
        prepare()?;
        board.injections(count, (8, 20), |random| board.occupy("c-burst", random.between(8 * MS, 16 * MS)));
        Ok(())
    })?;
    Ok(())
}

pub(super) fn heavy_group(scene: &mut Scene) -> Made {
    let group = Group::new(scene, "cpu", "heavy")?;
    group.weigh(20)?;
    fair(scene, || {
        system::nice(0, 19);
        group.take(system::pid())
    })
}

pub(super) fn pinned_beside(scene: &mut Scene) -> Made {
    fair(scene, || Ok(()))
}

pub(super) fn session(scene: &mut Scene) -> Made {
    if std::fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled").map_or(true, |text| text.trim() != "1") {
        return Err(Refused("no automatic groups (kernel.sched_autogroup_enabled)".into()));
    }
    fair(scene, || {
        system::new_session();
        system::nice(0, 10);
        Ok(std::fs::write("/proc/self/autogroup", "-20")?)
    })
}

const QUOTA_US: u64 = 10_000;
const PERIOD_US: u64 = 60_000;

/// Finds the times in which a running thread's group was throttled and little else kept it from its CPU.
struct Gaps {
    group: Group,
    last: u64,
    throttled: u64,
}

impl Gaps {
    const MIN: u64 = 20 * MS;

    fn new(group: Group) -> Gaps {
        let throttled = group.throttled_ns();
        Gaps { group, last: now(), throttled }
    }

    /// Starts over: the thread slept or did something else.
    fn begin(&mut self) {
        self.last = now();
    }

    /// Called again and again; returns a time that is over by now.
    fn next(&mut self) -> Option<(u64, u64)> {
        let (before, time) = (self.last, now());
        self.last = time;
        if time - before < Gaps::MIN {
            return None;
        }
        let throttled = self.group.throttled_ns();
        let by_quota = throttled - std::mem::replace(&mut self.throttled, throttled);
        self.last = now();
        // What was throttled earlier on this thread's CPU has already been counted.
        (by_quota.abs_diff(time - before) * 33 < time - before).then_some((before, time))
    }
}

/// A thread of the group that uses up its quota and logs when it was throttled.
fn throttled(scene: &mut Scene) -> Made {
    let (board, here, count) = (scene.board, scene.here, scene.count);
    let group = Group::new(scene, "cpu", "quota")?;
    group.limit(QUOTA_US, PERIOD_US)?;
    group.weigh(20)?;
    scene.culprit("c-victim", || {
        system::pin(0, &[here]);
        group.take(system::pid())?;
        board.prepared();
        let mut gaps = Gaps::new(group);
        while board.count() < count && !board.is_ending() {
            let due = now() + 5 * MS;
            sleep_until(due);
            let end = now() + 120 * MS;
            gaps.begin();
            while gaps.last < end {
                if let Some((start, end)) = gaps.next() {
                    board.injected("c-quota", start, end);
                }
            }
            board.waited(due);
        }
        Ok(())
    })?;
    Ok(())
}

pub(super) fn quota(scene: &mut Scene) -> Made {
    throttled(scene)
}

fn busy(scene: &mut Scene) -> Made {
    let (board, here) = (scene.board, scene.here);
    let group = Group::new(scene, "cpu", "busy")?;
    scene.role("c-busy", || {
        system::pin(0, &[here]);
        group.take(system::pid())?;
        board.keep_busy();
        Ok(())
    })?;
    Ok(())
}

pub(super) fn quota_beside_busy(scene: &mut Scene) -> Made {
    busy(scene)?;
    throttled(scene)
}

/// Another thread of the group uses up the quota while the victim sleeps.
pub(super) fn woken_throttled(scene: &mut Scene) -> Made {
    let (board, here, count) = (scene.board, scene.here, scene.count);
    let group = Group::new(scene, "cpu", "quota")?;
    group.limit(QUOTA_US, PERIOD_US)?;
    group.weigh(20)?;
    scene.role("c-victim", || {
        system::pin(0, &[here]);
        group.take(system::pid())?;
        board.cycle(Duration::from_millis(10), || {
            spin(now(), MS / 20);
        });
        Ok(())
    })?;
    scene.culprit("c-eater", || {
        system::pin(0, &[here]);
        group.take(system::pid())?;
        board.prepared();
        let mut gaps = Gaps::new(group);
        while board.count() < count && !board.is_ending() {
            if let Some((start, end)) = gaps.next() {
                board.injected("c-quota", start, end);
            }
        }
        Ok(())
    })?;
    Ok(())
}

/// A normal spinner becomes a FIFO 90 thread while it runs.
pub(super) fn boosted(scene: &mut Scene) -> Made {
    let (board, here, count) = (scene.board, scene.here, scene.count);
    scene.waker(MS / 20, |cpu| real_time(70, cpu))?;
    let spinner = scene.role("c-boosted", || {
        system::pin(0, &[here]);
        board.prepared();
        while !board.is_ending() {
            while board.words[0].load(Acquire) == 0 && !board.is_ending() {
                system::sleep(MS / 5);
            }
            let start = now();
            while board.words[0].load(Acquire) == 1 {
                spin(now(), MS / 100);
            }
            if board.words[0].load(Acquire) == 2 {
                // FIFO 90 from now on, until it lowers its own priority again.
                board.occupy("c-boosted", board.cells[0].load(Relaxed));
                let _ = system::schedule(0, libc::SCHED_OTHER, 0);
            }
            board.words[0].store(0, Release);
            if now() - start > 200 * MS {
                system::sleep(MS);
            }
        }
        Ok(())
    })?;
    let there = scene.there;
    scene.culprit("c-changer", || {
        // Ahead of the spinner, wherever that is.
        real_time(60, there)?;
        board.injections(count, (15, 30), |random| {
            board.cells[0].store(random.between(3 * MS, 6 * MS), Relaxed);
            board.words[0].store(1, Release);
            system::sleep(2 * MS);
            if system::schedule(spinner as u32, libc::SCHED_FIFO, 90).is_ok() {
                board.words[0].store(2, Release);
            }
            for _ in 0..50 {
                if board.words[0].load(Acquire) == 0 {
                    break;
                }
                system::sleep(MS);
            }
        });
        Ok(())
    })?;
    Ok(())
}

/// The victim, free to go anywhere, is moved to a CPU that a thread ahead of it keeps.
pub(super) fn moved(scene: &mut Scene) -> Made {
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    if here == there {
        return Err(Refused("a move needs a second CPU".into()));
    }
    let victim = scene.waker(MS / 20, |cpu| real_time(70, cpu))?;
    scene.culprit("c-keeper", || {
        real_time(90, there)?;
        board.injections(count, (12, 28), |random| {
            system::pin(victim as u32, &[there]);
            board.occupy("c-keeper", random.between(3 * MS, 6 * MS));
            system::pin(victim as u32, &[here]);
        });
        Ok(())
    })?;
    Ok(())
}

static HANDLED: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
static ENDED: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

extern "C" fn handle_slowly(_: i32) {
    let start = now();
    HANDLED.store(start, Relaxed);
    ENDED.store(spin(start, 3 * MS), Relaxed);
}

/// A signal's handler takes its time in the victim itself.
pub(super) fn handler(scene: &mut Scene) -> Made {
    let (board, here, count) = (scene.board, scene.here, scene.count);
    let victim = scene.culprit("c-victim", || {
        system::handle(libc::SIGUSR1, handle_slowly);
        real_time(70, here)?;
        board.prepared();
        let mut done = 0;
        while done < count && !board.is_ending() {
            let due = now() + 2 * MS;
            sleep_until(due);
            spin(now(), MS / 5);
            let start = HANDLED.swap(0, Relaxed);
            if start != 0 {
                board.injected("c-victim", start, ENDED.load(Relaxed));
                done += 1;
            }
            board.waited(due);
        }
        Ok(())
    })?;
    scene.role("c-sender", || {
        board.prepared();
        while !board.is_ending() {
            system::sleep(17 * MS);
            system::kill(victim, libc::SIGUSR1);
        }
        Ok(())
    })?;
    Ok(())
}

/// So many timers expire at once that their interrupt lasts for milliseconds.
pub(super) fn timers(scene: &mut Scene) -> Made {
    let make = |count| {
        system::more_descriptors(count + 100);
        let timers: Vec<i32> = (0..count).map(|_| system::timer(0)).collect();
        if timers.contains(&-1) { Err(std::io::Error::last_os_error()) } else { Ok(timers) }
    };
    flood(scene, make, |timer, at| system::arm(*timer, at))
}

/// The same with timers of any kind.
pub(super) fn flood<T>(
    scene: &mut Scene,
    make: impl FnOnce(u64) -> std::io::Result<Vec<T>>,
    arm: impl Fn(&T, u64),
) -> Made {
    const TIMERS: u64 = 8_000;
    let (board, here, count) = (scene.board, scene.here, scene.count);
    scene.culprit("c-armer", || {
        real_time(72, here)?;
        let timers = make(TIMERS).map_err(|error| Refused(format!("no {TIMERS} timers ({error})")))?;
        let mut random = punctual_random::Random(7);
        board.prepared();
        for _ in 0..count {
            let at = now() + random.between(25 * MS, 30 * MS);
            for timer in &timers {
                arm(timer, at);
            }
            board.cells[0].store(at, Release);
            sleep_until(at + 20 * MS);
            if board.is_ending() {
                break;
            }
        }
        Ok(())
    })?;
    // Runs on that CPU when the timers expire, and sees for how long it was kept away.
    scene.role("c-victim", || {
        real_time(70, here)?;
        board.prepared();
        let mut last = 0;
        while !board.is_ending() {
            let at = board.cells[0].load(Acquire);
            if at == last || now() + MS > at {
                system::sleep(MS);
                continue;
            }
            last = at;
            let due = at - MS / 4;
            sleep_until(due);
            let mut before = now();
            while before < at + 10 * MS {
                let time = now();
                if time - before > MS / 3 && time > at {
                    board.injected("c-armer", before, time);
                    break;
                }
                before = time;
            }
            board.waited(due);
        }
        Ok(())
    })?;
    Ok(())
}
