//! Waits for another process.

use super::locks::serve;
use super::scene::{MS, Made, Scene, real_time};
use super::system::{self, now, spin};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

/// A client that asks through descriptors, and a server that is slow once in a while.
fn through(scene: &mut Scene, ask: (i32, i32), answer: (i32, i32)) -> Made {
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    let one = 1_u64.to_ne_bytes();
    scene.role("c-victim", || {
        real_time(70, here)?;
        board.cycle(Duration::from_millis(3), || {
            system::write(ask.1, &one);
            system::read(answer.0, &mut [0; 8]);
        });
        Ok(())
    })?;
    let next = move || {
        system::read(ask.0, &mut [0; 8]);
    };
    let answer = move || {
        system::write(answer.1, &one);
    };
    serve(scene, "c-server", there, count, next, answer)
}

pub(super) fn pipes(scene: &mut Scene) -> Made {
    through(scene, system::pipe()?, system::pipe()?)
}

pub(super) fn sockets(scene: &mut Scene) -> Made {
    let (client, server) = system::socket_pair()?;
    through(scene, (server, client), (client, server))
}

pub(super) fn network(scene: &mut Scene) -> Made {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let client = TcpStream::connect(listener.local_addr()?)?;
    let (server, _) = listener.accept()?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (to, from) = (client.as_raw_fd(), server.as_raw_fd());
    // The roles have them from here; they close with the scene.
    std::mem::forget((client, server));
    through(scene, (from, to), (to, from))
}

pub(super) fn event_counters(scene: &mut Scene) -> Made {
    let (ask, answer) = (system::event_fd(), system::event_fd());
    through(scene, (ask, ask), (answer, answer))
}

extern "C" fn nothing(_: i32) {}

/// A server that is slow to answer, and a bystander that sends the client a signal while it waits.
pub(super) fn bystander(scene: &mut Scene) -> Made {
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    let (ask, answer) = (system::pipe()?, system::pipe()?);
    let one = 1_u64.to_ne_bytes();
    let victim = scene.role("c-victim", || {
        system::handle(libc::SIGUSR1, nothing);
        real_time(70, here)?;
        board.cycle(Duration::from_millis(3), || {
            system::write(ask.1, &one);
            system::read(answer.0, &mut [0; 8]);
        });
        Ok(())
    })?;
    scene.role("c-bystander", || {
        real_time(60, here)?;
        board.prepared();
        while !board.is_ending() {
            system::sleep(5 * MS / 2);
            system::kill(victim, libc::SIGUSR1);
        }
        Ok(())
    })?;
    let next = move || {
        system::read(ask.0, &mut [0; 8]);
    };
    let answer = move || {
        system::write(answer.1, &one);
    };
    serve(scene, "c-server", there, count, next, answer)
}

/// A client that waits 2 ms for its answer, and looks again in its next cycle.
pub(super) fn impatient(scene: &mut Scene) -> Made {
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    let (ask, answer) = (system::pipe()?, system::pipe()?);
    let one = 1_u64.to_ne_bytes();
    scene.role("c-victim", || {
        real_time(70, here)?;
        let mut asked = false;
        board.cycle(Duration::from_millis(3), || {
            if !std::mem::replace(&mut asked, true) {
                system::write(ask.1, &one);
            }
            if system::poll(answer.0, 2) {
                system::read(answer.0, &mut [0; 8]);
                asked = false;
            }
        });
        Ok(())
    })?;
    let next = move || {
        system::read(ask.0, &mut [0; 8]);
    };
    let answer = move || {
        system::write(answer.1, &one);
    };
    serve(scene, "c-server", there, count, next, answer)
}

/// The victim writes into a pipe that is full, and whose reader is slow.
pub(super) fn full_pipe(scene: &mut Scene) -> Made {
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    let (from, to) = system::pipe()?;
    scene.role("c-victim", || {
        real_time(70, here)?;
        board.cycle(Duration::from_millis(3), || {
            system::write(to, &[0; 16 << 10]);
        });
        Ok(())
    })?;
    scene.culprit("c-reader", || {
        system::steady(there);
        let mut bytes = vec![0; 64 << 10];
        let mut random = super::scene::Random::new(3);
        board.prepared();
        while board.count() < count && !board.is_ending() {
            if random.between(0, 5) == 0 {
                // Until it is full: four cycles, and then the victim waits.
                let start = now();
                spin(start, random.between(16 * MS, 22 * MS));
                board.injected("c-reader", start, now());
            }
            system::read(from, &mut bytes);
        }
        while !board.is_ending() {
            system::read(from, &mut bytes);
        }
        Ok(())
    })?;
    Ok(())
}

/// The victim asks for a file to be made and is told by the kernel that it is there.
pub(super) fn notified(scene: &mut Scene) -> Made {
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    let directory = scene.directory.join("made");
    std::fs::create_dir_all(&directory)?;
    let watcher = system::watch(&directory)?;
    let (from, to) = system::pipe()?;
    scene.role("c-victim", || {
        real_time(70, here)?;
        board.cycle(Duration::from_millis(3), || {
            system::write(to, &[1]);
            system::read(watcher, &mut [0; 4096]);
        });
        Ok(())
    })?;
    let next = move || {
        system::read(from, &mut [0; 1]);
    };
    let number = AtomicU32::new(0);
    let answer = move || {
        let path = directory.join(format!("{}", number.fetch_add(1, Relaxed)));
        let _ = std::fs::write(&path, "");
        let _ = std::fs::remove_file(&path);
    };
    serve(scene, "c-maker", there, count, next, answer)
}

static CHILD_BEGAN: AtomicU64 = AtomicU64::new(0);
static CHILD_ENDED: AtomicU64 = AtomicU64::new(0);

extern "C" fn slow_child(_: *mut libc::c_void) -> i32 {
    system::set_name("c-child");
    let start = now();
    CHILD_BEGAN.store(start, Relaxed);
    CHILD_ENDED.store(spin(start, 3 * MS), Release);
    system::execute(c"/bin/true");
    system::leave(0)
}

/// The parent waits in the kernel until its child has become another program; the child is slow.
pub(super) fn starting(scene: &mut Scene) -> Made {
    let (board, here, count) = (scene.board, scene.here, scene.count);
    scene.culprit("c-victim", || {
        system::pin(0, &[here]);
        let stack = system::Memory::private(256 << 10)?;
        board.prepared();
        for _ in 0..count {
            if board.is_ending() {
                break;
            }
            let due = now() + 12 * MS;
            system::sleep_until(due);
            let child = system::vfork_and_run(slow_child, &stack);
            board.waited(due);
            board.injected("c-child", CHILD_BEGAN.load(Relaxed), CHILD_ENDED.load(Acquire));
            system::reap(child, true);
        }
        Ok(())
    })?;
    Ok(())
}
