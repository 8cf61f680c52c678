//! Who gets a CPU next: moves, budgets, workers that do not get their turn, interrupts.

use super::super::competition::flood;
use super::super::group::Group;
use super::super::locks::PERIOD;
use super::super::scene::{MS, Made, Refused, Scene, call, real_time};
use super::super::system::{self, Memory, PAGE, now, sleep_until, spin};
use super::calls;
use punctual_random::Random;
use std::time::Duration;

/// As many timers, of the kind that sends signals.
pub(super) fn signals(scene: &mut Scene) -> Made {
    let signal = libc::SIGRTMIN();
    let make = move |count: u64| {
        calls::allow(libc::RLIMIT_SIGPENDING, 4 * count);
        system::keep_back(signal);
        (0..count).map(|_| calls::signal_timer(signal)).collect::<std::io::Result<Vec<_>>>()
    };
    flood(scene, make, |timer, at| calls::arm(*timer, at))
}

/// A packet that thousands of sockets receive: all of the work is done in the sender's system call, in a softirq.
pub(super) fn broadcast(scene: &mut Scene) -> Made {
    const LISTENERS: usize = 8_000;
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    let port = std::net::UdpSocket::bind("0.0.0.0:0")?.local_addr()?.port();
    system::more_descriptors(LISTENERS as u64 + 200);
    let sockets = (0..LISTENERS).map(|_| calls::listener(port)).collect::<std::io::Result<Vec<i32>>>()?;
    scene.waker(MS / 20, |cpu| real_time(70, cpu))?;
    let own = sockets[0];
    scene.role("c-listener", || {
        system::steady(there);
        board.prepared();
        while !board.is_ending() {
            system::sleep(5 * MS);
        }
        Ok(())
    })?;
    scene.culprit("c-sender", || {
        system::steady(here);
        board.injections(count, (12, 28), |_| {
            let start = now();
            calls::send_to_all(own, port);
            board.injected("c-sender", start, now());
        });
        Ok(())
    })?;
    Ok(())
}

/// A manager of CPUs gives the victim's group another CPU, which somebody keeps.
pub(super) fn cpuset(scene: &mut Scene) -> Made {
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    if here == there {
        return Err(Refused("a move needs a second CPU".into()));
    }
    let group = Group::new(scene, "cpuset", "place")?;
    group.place(here)?;
    scene.waker(MS / 20, |cpu| {
        real_time(70, cpu)?;
        group.take(system::pid())
    })?;
    scene.culprit("c-keeper", || {
        real_time(90, there)?;
        let mut result = Ok(());
        board.injections(count, (12, 28), |random| {
            if let Err(error) = group.place(there) {
                result = Err(error);
            }
            board.occupy("c-keeper", random.between(3 * MS, 6 * MS));
            let _ = group.place(here);
        });
        result
    })?;
    Ok(())
}

/// The kernel has each CPU's worker put back the pages that the CPU holds; one of the workers does not get its CPU.
pub(super) fn drained(scene: &mut Scene) -> Made {
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    if here == there {
        return Err(Refused("another CPU's worker needs a second CPU".into()));
    }
    scene.role("c-victim", || {
        let memory = Memory::private(4 << 20)?;
        (0..memory.length / PAGE).for_each(|page| memory.touch(page));
        // What is in the middle makes whole huge pages.
        calls::collapse(&memory).map_err(|error| Refused(format!("no collapsing of pages ({error})")))?;
        real_time(70, here)?;
        board.cycle(PERIOD, || _ = calls::collapse(&memory));
        Ok(())
    })?;
    scene.culprit("c-keeper", || {
        let memory = Memory::private(64 * PAGE)?;
        memory.advise(libc::MADV_NOHUGEPAGE);
        real_time(90, there)?;
        board.injections(count, (12, 28), |random| {
            memory.advise(libc::MADV_DONTNEED);
            (0..4).for_each(|page| memory.touch(page));
            board.occupy("c-keeper", random.between(4 * MS, 7 * MS));
        });
        Ok(())
    })?;
    Ok(())
}

/// The victim's group has a budget for real-time threads; a normal thread runs when it is used up.
pub(super) fn group_budget(scene: &mut Scene) -> Made {
    const MIN_GAP: u64 = 4 * MS;
    let (board, here, count) = (scene.board, scene.here, scene.count);
    let group = Group::new(scene, "cpu", "real")?;
    group.limit_real_time(4_000, 40_000)?;
    scene.role("c-busy", || {
        system::pin(0, &[here]);
        board.keep_busy();
        Ok(())
    })?;
    scene.culprit("c-victim", || {
        group.take(system::pid())?;
        real_time(70, here)?;
        let mut random = Random(73);
        board.prepared();
        while board.count() < count && !board.is_ending() {
            let due = now() + random.between(50 * MS, 70 * MS);
            sleep_until(due);
            board.work_noting_gaps("c-budget", 6 * MS, MIN_GAP);
            board.waited(due);
        }
        Ok(())
    })?;
    Ok(())
}

/// A thread that loses its CPU to another one takes the victim's.
pub(super) fn pushed(scene: &mut Scene) -> Made {
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    if here == there {
        return Err(Refused("a move needs a second CPU".into()));
    }
    scene.waker(MS / 20, |cpu| real_time(70, cpu))?;
    scene.role("c-top", || {
        real_time(90, there)?;
        board.whenever_called(&board.words[0], || _ = spin(now(), 6 * MS));
        Ok(())
    })?;
    scene.culprit("c-pushed", || {
        real_time(80, there)?;
        board.injections(count, (15, 30), |_| {
            system::pin(0, &[here, there]);
            let begin = now();
            call(&board.words[0]);
            let mut since = None;
            while now() < begin + 5 * MS {
                let is_here = calls::cpu() == here;
                if is_here && since.is_none() {
                    since = Some(now());
                } else if !is_here && let Some(start) = since.take() {
                    board.injected("c-pushed", start, now());
                }
            }
            if let Some(start) = since {
                board.injected("c-pushed", start, now());
            }
            system::sleep(2 * MS);
            system::pin(0, &[there]);
        });
        Ok(())
    })?;
    Ok(())
}

/// A process that moves another one with many threads to a new group keeps everybody from forking.
pub(super) fn group_move(scene: &mut Scene) -> Made {
    const THREADS: usize = 3_000;
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    let groups = [Group::new(scene, "cpu", "one")?, Group::new(scene, "cpu", "two")?];
    scene.role("c-victim", || {
        calls::forget_children();
        real_time_here(here)?;
        board.cycle_of_sleeps(Duration::from_millis(4), || {
            if let Ok(0) = system::fork() {
                system::leave(0);
            }
        });
        Ok(())
    })?;
    scene.culprit("c-mover", || {
        system::steady(there);
        for _ in 0..THREADS {
            let sleeper = std::thread::Builder::new().stack_size(64 << 10);
            sleeper.spawn(|| system::sleep(1_000_000 * MS))?;
        }
        let mut turn = 0;
        let mut result = Ok(());
        board.injections(count, (12, 28), |_| {
            let start = now();
            if let Err(error) = groups[turn].take(system::pid()) {
                result = Err(error);
            }
            board.injected("c-mover", start, now());
            turn = 1 - turn;
        });
        result
    })?;
    Ok(())
}

/// Its children must not be real-time: they would keep its CPU.
fn real_time_here(cpu: usize) -> Made {
    real_time(70, cpu)?;
    system::schedule(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, 70)?;
    Ok(())
}
