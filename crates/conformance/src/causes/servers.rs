//! Waits for another process.

use super::locks::serve;
use super::scene::{MS, Made, Refused, Scene, real_time};
use super::system::{self, now, spin};
use punctual_random::Random;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

const PERIOD: Duration = Duration::from_millis(3);

/// What passes through a descriptor: an event counter takes eight bytes.
const WORD: [u8; 8] = 1_u64.to_ne_bytes();

/// Descriptors between a client and a server; of each pair, the first is for reading, the second for writing.
#[derive(Clone, Copy)]
struct Channel {
    ask: (i32, i32),
    answer: (i32, i32),
}

impl Channel {
    fn of_pipes() -> Result<Channel, Refused> {
        Ok(Channel { ask: system::pipe()?, answer: system::pipe()? })
    }

    fn ask(self) {
        system::write(self.ask.1, &WORD);
    }

    fn wait(self) {
        system::read(self.answer.0, &mut [0; 8]);
    }

    /// A server that is slow now and then.
    fn serve(self, scene: &mut Scene) -> Made {
        let next = || {
            system::read(self.ask.0, &mut [0; 8]);
        };
        let answer = || {
            system::write(self.answer.1, &WORD);
        };
        serve(scene, "c-server", next, answer)
    }

    /// A server, and a client that asks and waits.
    fn between(self, scene: &mut Scene) -> Made {
        scene.victim(PERIOD, || {
            self.ask();
            self.wait();
        })?;
        self.serve(scene)
    }
}

pub(super) fn pipes(scene: &mut Scene) -> Made {
    Channel::of_pipes()?.between(scene)
}

pub(super) fn sockets(scene: &mut Scene) -> Made {
    let (client, server) = system::socket_pair()?;
    Channel { ask: (server, client), answer: (client, server) }.between(scene)
}

pub(super) fn network(scene: &mut Scene) -> Made {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let client = TcpStream::connect(listener.local_addr()?)?;
    let (server, _) = listener.accept()?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (to, from) = (client.as_raw_fd(), server.as_raw_fd());
    // The roles have them from here on; they close with the scene.
    std::mem::forget((client, server));
    Channel { ask: (from, to), answer: (to, from) }.between(scene)
}

pub(super) fn event_counters(scene: &mut Scene) -> Made {
    let (ask, answer) = (system::event_fd(), system::event_fd());
    Channel { ask: (ask, ask), answer: (answer, answer) }.between(scene)
}

extern "C" fn nothing(_: i32) {}

/// A server that is slow to answer, and a bystander that sends the client a signal while it waits.
pub(super) fn bystander(scene: &mut Scene) -> Made {
    let (board, here) = (scene.board, scene.here);
    let channel = Channel::of_pipes()?;
    let victim = scene.role("c-victim", || {
        system::handle(libc::SIGUSR1, nothing);
        real_time(70, here)?;
        board.cycle(PERIOD, || {
            channel.ask();
            channel.wait();
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
    channel.serve(scene)
}

/// A client that waits 2 ms for its answer, and looks again in its next cycle.
pub(super) fn impatient(scene: &mut Scene) -> Made {
    let channel = Channel::of_pipes()?;
    let mut asked = false;
    scene.victim(PERIOD, || {
        if !std::mem::replace(&mut asked, true) {
            channel.ask();
        }
        if system::poll(channel.answer.0, 2) {
            channel.wait();
            asked = false;
        }
    })?;
    channel.serve(scene)
}

/// The victim writes into a pipe that is full and whose reader is slow.
pub(super) fn full_pipe(scene: &mut Scene) -> Made {
    slow_reader(scene, system::pipe()?, 16 << 10, 64 << 10)
}

/// The victim writes this many bytes at a time; the reader takes up to this many, and is slow now and then.
pub(super) fn slow_reader(scene: &mut Scene, (from, to): (i32, i32), written: usize, taken: usize) -> Made {
    let (board, there, count) = (scene.board, scene.there, scene.count);
    let block = vec![0; written];
    scene.victim(PERIOD, || {
        system::write(to, &block);
    })?;
    scene.culprit("c-reader", || {
        system::steady(there);
        let mut bytes = vec![0; taken];
        let mut random = Random(3);
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
        board.finish();
        while !board.is_ending() {
            system::read(from, &mut bytes);
        }
        Ok(())
    })?;
    Ok(())
}

/// The victim asks for a file to be made, and the kernel tells it when the file is there.
pub(super) fn notified(scene: &mut Scene) -> Made {
    let directory = scene.directory.join("made");
    std::fs::create_dir_all(&directory)?;
    let watcher = system::watch(&directory)?;
    let (from, to) = system::pipe()?;
    scene.victim(PERIOD, || {
        system::write(to, &[1]);
        system::read(watcher, &mut [0; 4096]);
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
    serve(scene, "c-maker", next, answer)
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
