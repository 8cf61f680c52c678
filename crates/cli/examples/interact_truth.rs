//! A program at a terminal that does a known thing for each key and logs it: what `tests/kernel/interact.rs` holds the split
//! against.
//!
//! `interact_truth LOG DIRECTORY`: each line of the log is `key begin_ns part_ns finished_ns`, the time in which the known thing was
//! done, and when the program had finished with the key; `-` in place of the key where that cannot be told from something else.

mod support;

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use support::{clock, compute, name_thread, now_ns, serve};

/// The cursor blinks this often.
const BLINK: Duration = Duration::from_millis(330);

/// Keys as they come, nothing echoed.
fn take_keys_raw() {
    // SAFETY: settings of zeros are a valid value; the calls fill and use them.
    unsafe {
        let mut settings: libc::termios = std::mem::zeroed();
        libc::tcgetattr(0, &raw mut settings);
        libc::cfmakeraw(&raw mut settings);
        libc::tcsetattr(0, libc::TCSANOW, &raw const settings);
    }
}

/// Waits for a key until then; `None` where none came.
fn key_until(until: Instant) -> Option<u8> {
    let left = until.saturating_duration_since(Instant::now()).as_millis() as i32;
    let mut poll = libc::pollfd { fd: 0, events: libc::POLLIN, revents: 0 };
    // SAFETY: one structure, which lives through the call.
    if unsafe { libc::poll(&raw mut poll, 1, left) } <= 0 {
        return None;
    }
    // Not by the library, which reads ahead: a key that came meanwhile would wait there for the next one.
    let mut key = [0u8; 1];
    // SAFETY: a byte, which lives through the call.
    match unsafe { libc::read(0, key.as_mut_ptr().cast(), 1) } {
        1 => Some(key[0]),
        _ => std::process::exit(0),
    }
}

fn put_out(text: &[u8]) {
    let mut output = std::io::stdout().lock();
    let _ = output.write_all(text).and_then(|()| output.flush());
}

/// The other thread: takes the lock, says so, works for 8 ms and lets it go.
fn hold(lock: &Mutex<u64>, asked: &Receiver<()>, held: &Sender<()>) {
    name_thread(c"truth-holder");
    while asked.recv().is_ok() {
        let mut value = lock.lock().expect("nobody panics");
        let _ = held.send(());
        compute(Duration::from_millis(8));
        *value += 1;
    }
}

/// Reads pages of a file that are in no cache.
fn touch(path: &Path) -> u64 {
    let file = File::open(path).expect("the file was written");
    let length = file.metadata().expect("it is there").len() as usize;
    let mut sum = 0u64;
    // SAFETY: maps a file that nobody shortens, reads within it, and unmaps it; the kernel is told what it may forget.
    unsafe {
        libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED);
        let start = libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0)
            .cast::<u8>();
        libc::madvise(start.cast(), length, libc::MADV_RANDOM);
        for page in 0..length / 4096 {
            sum += u64::from(start.add(page * 4096).read_volatile());
        }
        libc::munmap(start.cast(), length);
    }
    sum
}

/// Computes for so much CPU time, and seldom asks how much that is: what a sample sees is this code, which calls nothing.
#[inline(always)]
fn compute_here(time: Duration) -> u64 {
    let until = clock(libc::CLOCK_THREAD_CPUTIME_ID) + time.as_nanos() as u64;
    let mut value = until | 1;
    while clock(libc::CLOCK_THREAD_CPUTIME_ID) < until {
        let mut left = 50_000;
        while left > 0 {
            value ^= value << 13;
            value ^= value >> 7;
            value ^= value << 17;
            left -= 1;
        }
    }
    value
}

/// Three quarters of what `h` does.
#[inline(never)]
fn compute_heavily() -> u64 {
    compute_here(Duration::from_millis(18))
}

/// The rest of it.
#[inline(never)]
fn compute_lightly() -> u64 {
    compute_here(Duration::from_millis(6))
}

struct Truth {
    log: File,
    scratch: PathBuf,
    server: std::process::Child,
    lock: Arc<Mutex<u64>>,
    ask: Sender<()>,
    held: Receiver<()>,
}

impl Truth {
    /// Does what a key stands for, puts something out, and goes on where that is what it stands for.
    fn handle(&mut self, key: u8, blink: Instant) {
        let mut begin_ns = now_ns();
        let mut own_ns = 0;
        // A repaint timer that is due with the cursor's cannot be told from it.
        let is_mixed = key == b'r' && blink.saturating_duration_since(Instant::now()) < Duration::from_millis(40);
        match key {
            b'c' => compute(Duration::from_millis(5)),
            b'h' => {
                std::hint::black_box(compute_heavily() ^ compute_lightly());
            }
            b't' => std::thread::sleep(Duration::from_millis(25)),
            b'r' => {
                // A repaint timer: back to waiting for keys until it is due.
                let mut poll = libc::pollfd { fd: 0, events: libc::POLLIN, revents: 0 };
                // SAFETY: one structure, which lives through the call.
                unsafe { libc::poll(&raw mut poll, 1, 20) };
            }
            b'f' => {
                let path = self.scratch.join("written");
                let mut file = OpenOptions::new().create(true).append(true).open(path).expect("it may be written");
                let before = clock(libc::CLOCK_THREAD_CPUTIME_ID);
                for _ in 0..8 {
                    let _ = file.write_all(&[7; 4_096]).and_then(|()| file.sync_all());
                }
                own_ns = clock(libc::CLOCK_THREAD_CPUTIME_ID) - before;
            }
            b'm' => {
                touch(&self.scratch.join("pages"));
            }
            b'a' => {
                let (input, output) = (self.server.stdin.as_mut(), self.server.stdout.as_mut());
                let _ = input.expect("a pipe").write_all(b"q");
                let _ = output.expect("a pipe").read_exact(&mut [0]);
            }
            b'l' => {
                let _ = self.ask.send(());
                let _ = self.held.recv();
                begin_ns = now_ns();
                *self.lock.lock().expect("nobody panics") += 1;
            }
            _ => {}
        }
        let part_ns = now_ns() - begin_ns - own_ns;
        put_out(&[key]);
        if key == b's' {
            // Checks the spelling when there is nothing else to do.
            compute(Duration::from_millis(20));
        }
        let named = if is_mixed { '-' } else { char::from(key) };
        let _ = writeln!(self.log, "{named} {begin_ns} {part_ns} {}", now_ns());
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if words.get(1).map(String::as_str) == Some("serve") {
        return serve(c"truth-server");
    }
    let [_, log, directory] = &words[..] else { panic!("LOG DIRECTORY") };
    name_thread(c"truth");
    take_keys_raw();
    let scratch = PathBuf::from(directory);
    let pages = File::create(scratch.join("pages")).and_then(|mut file| {
        file.write_all(&vec![3; 64 * 4096])?;
        file.sync_all()
    });
    pages.expect("the pages can be written");
    let own = std::env::current_exe().expect("this program");
    let mut command = Command::new(own);
    let server = command.arg("serve").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let lock = Arc::new(Mutex::new(0));
    let ((ask, asked), (tell, held)) = (channel(), channel());
    let shared = Arc::clone(&lock);
    std::thread::spawn(move || hold(&shared, &asked, &tell));
    let log = File::create(log).expect("the log can be written");
    let mut truth = Truth { log, scratch, server, lock, ask, held };
    put_out(b"ready");
    let mut blink = Instant::now() + BLINK;
    loop {
        match key_until(blink) {
            Some(4) => break,
            Some(key) => truth.handle(key, blink),
            None => {
                put_out(b"\x1b[7m \x1b[m\x08");
                blink += BLINK;
            }
        }
    }
    let _ = truth.server.kill();
    let _ = truth.server.wait();
}
