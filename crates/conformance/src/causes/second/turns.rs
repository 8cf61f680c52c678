//! Waits for another's turn, where somebody stands between the victim and the slow one.

use super::super::board::Board;
use super::super::locks::{Exchange, PERIOD, holder, serve};
use super::super::primitives::{Barrier, First, ReadWrite};
use super::super::scene::{MS, Made, Scene, call, real_time};
use super::super::system::{self, now, spin};
use punctual_random::Random;
use std::os::unix::net::UnixDatagram;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::time::Duration;

/// Three threads meet; one of them comes late now and then.
pub(super) fn barrier(scene: &mut Scene) -> Made {
    let (board, there) = (scene.board, scene.there);
    let barrier = Barrier::new(board, 0, 3);
    scene.victim(PERIOD, || barrier.wait())?;
    scene.role("c-early", || {
        // Otherwise it might wait for its CPU and be the last.
        real_time(60, there)?;
        board.prepared();
        while !board.is_ending() {
            barrier.wait();
        }
        Ok(())
    })?;
    let count = scene.count;
    scene.culprit("c-late", || {
        system::steady(there);
        let mut random = Random(17);
        board.prepared();
        while !board.is_ending() && board.count() < count {
            if random.between(0, 5) == 0 {
                let start = now();
                spin(start, random.between(6 * MS, 10 * MS));
                board.injected("c-late", start, now());
            }
            barrier.wait();
        }
        while !board.is_ending() {
            barrier.wait();
        }
        Ok(())
    })?;
    Ok(())
}

/// A thread that waits for a condition is also woken by calls that mean something else.
pub(super) fn spurious(scene: &mut Scene) -> Made {
    let (board, there, count) = (scene.board, scene.there, scene.count);
    let exchange = Exchange::new(board);
    // When the bystander calls, ns; 0 for not at all.
    let call = &board.cells[1];
    scene.victim(PERIOD, || exchange.ask())?;
    scene.role("c-shouter", || {
        real_time(60, there)?;
        board.prepared();
        while !board.is_ending() {
            system::sleep(MS / 4);
            let at = call.load(Acquire);
            if at != 0 && now() > at && call.swap(0, AcqRel) != 0 {
                exchange.answered.broadcast();
            }
        }
        Ok(())
    })?;
    scene.culprit("c-signaller", || {
        system::steady(there);
        let mut random = Random(19);
        board.prepared();
        while !board.is_ending() && board.count() < count {
            exchange.await_request();
            if random.between(0, 5) == 0 {
                let (start, ns) = (now(), random.between(4 * MS, 7 * MS));
                // Later than half of it: most of the wait comes before a call that means nothing.
                call.store(start + ns * 7 / 10, Release);
                spin(start, ns);
                call.store(0, Release);
                board.injected("c-signaller", start, now());
            }
            exchange.answer();
        }
        Ok(())
    })?;
    Ok(())
}

/// A reader that comes after a waiting writer waits for the reader that is already in.
pub(super) fn queued_writer(scene: &mut Scene) -> Made {
    let (board, there) = (scene.board, scene.there);
    let lock = ReadWrite::new(board, 0, First::Writers);
    scene.victim(PERIOD, || {
        lock.read();
        lock.unlock();
    })?;
    scene.role("c-queued", || {
        real_time(60, there)?;
        board.whenever_called(&board.words[0], || {
            lock.write();
            lock.unlock();
        });
        Ok(())
    })?;
    let keep = |random: &mut Random, start| {
        spin(start, MS / 5);
        call(&board.words[0]);
        spin(now(), random.between(4 * MS, 7 * MS));
    };
    holder(scene, "c-long", (12, 28), || lock.read(), keep, || lock.unlock())
}

/// The broker does nothing of its own.
pub(super) fn broker(scene: &mut Scene) -> Made {
    let (board, there) = (scene.board, scene.there);
    let (ask, answer) = (system::pipe()?, system::pipe()?);
    let (order, result) = (system::pipe()?, system::pipe()?);
    scene.victim(PERIOD, || {
        system::write(ask.1, &[1]);
        system::read(answer.0, &mut [0; 1]);
    })?;
    scene.role("c-broker", || {
        system::steady(there);
        board.prepared();
        while !board.is_ending() {
            system::read(ask.0, &mut [0; 1]);
            system::write(order.1, &[1]);
            system::read(result.0, &mut [0; 1]);
            system::write(answer.1, &[1]);
        }
        Ok(())
    })?;
    let next = move || {
        system::read(order.0, &mut [0; 1]);
    };
    let done = move || {
        system::write(result.1, &[1]);
    };
    serve(scene, "c-worker", next, done)
}

/// Fills a socket's queue: it takes several senders, because each may have only so much in it.
fn fill(senders: &[UnixDatagram]) {
    for sender in senders {
        while sender.send(&[7; 16]).is_ok() {}
    }
}

/// A log's reader that pauses while its queue is full.
pub(super) fn log_socket(scene: &mut Scene) -> Made {
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    let path = scene.directory.join("c-log");
    let reader = UnixDatagram::bind(&path)?;
    let connected = |nonblocking: bool| -> std::io::Result<UnixDatagram> {
        let socket = UnixDatagram::unbound()?;
        socket.connect(&path)?;
        socket.set_nonblocking(nonblocking)?;
        Ok(socket)
    };
    let own = connected(false)?;
    let senders = (0..8).map(|_| connected(true)).collect::<std::io::Result<Vec<_>>>()?;
    scene.role("c-victim", || {
        real_time(70, here)?;
        board.cycle(Duration::from_millis(2), || {
            let _ = own.send(&[1; 16]);
        });
        Ok(())
    })?;
    scene.role("c-flooder", || {
        real_time(60, there)?;
        board.whenever_called(&board.words[0], || fill(&senders));
        Ok(())
    })?;
    scene.culprit("c-syslog", || read_log(board, there, count, &reader))?;
    Ok(())
}

fn read_log(board: &Board, cpu: usize, count: usize, reader: &UnixDatagram) -> Made {
    system::steady(cpu);
    reader.set_nonblocking(true)?;
    let mut random = Random(23);
    let drain = |ns: u64| {
        let end = now() + ns;
        while now() < end {
            while reader.recv(&mut [0; 64]).is_ok() {}
            system::sleep(MS / 2);
        }
    };
    board.prepared();
    for _ in 0..count {
        drain(random.between(12 * MS, 28 * MS));
        if board.is_ending() {
            break;
        }
        call(&board.words[0]);
        let start = now();
        spin(start, random.between(4 * MS, 7 * MS));
        board.injected("c-syslog", start, now());
    }
    while !board.is_ending() {
        drain(MS);
    }
    Ok(())
}
