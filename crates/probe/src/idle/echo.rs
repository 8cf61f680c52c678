//! A program that echoes what is typed, and somebody who types: the microbenchmark with which the paper of 2014 (II.c)
//! validates its idle loop. The program sits on a pseudo-terminal and stamps after its read and after its echo.

use punctual_kernel::scheduling::{allowed_cpus, pin_to};
use punctual_kernel::{Refused, clock, hold};
use punctual_random::Random;
use punctual_recording::Keystroke;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The hidden subcommand that runs [`run_program`]: `CPU COMPUTE_NS`.
pub const SUBCOMMAND: &str = "__echo-program";
/// The name of the program's thread.
pub const PROGRAM_NAME: &str = "echo-program";
/// The name of the thread that types.
pub const KEYBOARD_NAME: &str = "echo-keyboard";
/// Ends the program: end of transmission.
const END: u8 = 4;
/// At most this many keystrokes.
pub const MAX_KEYSTROKES: usize = 10_000;
/// How long to wait for an echo.
const PATIENCE: Duration = Duration::from_secs(2);
/// From one echo to the next keystroke, ns: random between these.
const PAUSE_NS: (u64, u64) = (10_000_000, 40_000_000);

/// The program: reads a key from its standard input, a terminal; computes; echoes it there; and at the end prints its
/// stamps to its standard output, a line a keystroke.
///
/// # Errors
/// What the system refused.
pub fn run_program(cpu: u32, compute_ns: u64) -> Result<(), Refused> {
    pin_to(cpu)?;
    // SAFETY: takes a name that ends with a 0 and lives through the call.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"echo-program".as_ptr()) };
    hold::touch_stack();
    let mut stamps = vec![(1u64, 1u64); MAX_KEYSTROKES];
    stamps.clear();
    let mut output = std::io::stdout().lock();
    let failed = |error: std::io::Error| Refused::because("passing on what the program saw", error.to_string());
    writeln!(output, "ready").and_then(|()| output.flush()).map_err(failed)?;
    let mut key = 0u8;
    loop {
        // SAFETY: reads one byte into one byte.
        let length = unsafe { libc::read(0, (&raw mut key).cast(), 1) };
        let read_ns = clock::monotonic_ns();
        if length != 1 || key == END || stamps.len() == stamps.capacity() {
            break;
        }
        while clock::monotonic_ns() < read_ns + compute_ns {
            std::hint::spin_loop();
        }
        // SAFETY: writes one byte.
        unsafe { libc::write(0, (&raw const key).cast(), 1) };
        stamps.push((read_ns, clock::monotonic_ns()));
    }
    for (read_ns, echoed_ns) in stamps {
        writeln!(output, "{read_ns} {echoed_ns}").map_err(failed)?;
    }
    output.flush().map_err(failed)
}

/// Somebody who types into the program.
pub struct Keyboard {
    go: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    typed: Arc<AtomicU64>,
    handle: JoinHandle<Result<Vec<Keystroke>, Refused>>,
}

impl Keyboard {
    /// Starts the program on one CPU, pinned, and a thread that will type, on another if there is one.
    ///
    /// # Errors
    /// What the system refused.
    pub fn start(cpu: u32, keystrokes: usize, compute_ns: u64) -> Result<Keyboard, Refused> {
        let (master, slave) = terminal()?;
        let (go, stop) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let typed = Arc::new(AtomicU64::new(0));
        let (own_go, own_stop, own_typed) = (Arc::clone(&go), Arc::clone(&stop), Arc::clone(&typed));
        let other = allowed_cpus().into_iter().find(|&other| other != cpu).unwrap_or(cpu);
        let (tell, told) = std::sync::mpsc::channel();
        let body = move || {
            let started = Program::start(slave, cpu, compute_ns).and_then(|program| pin_to(other).map(|()| program));
            let mut program = match started {
                Ok(program) => program,
                Err(refused) => {
                    let _ = tell.send(Some(refused));
                    return Ok(Vec::new());
                }
            };
            let _ = tell.send(None);
            while !own_go.load(Ordering::Relaxed) && !own_stop.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(2));
            }
            let typed = type_keys(&master, keystrokes.min(MAX_KEYSTROKES), &own_stop, &own_typed);
            let stamps = program.end(&master)?;
            // A keystroke that was never echoed has no stamps at the end of the list.
            let both = typed.into_iter().zip(stamps);
            let joined = both.map(|((typed_ns, seen_ns), (read_ns, echoed_ns))| Keystroke {
                typed_ns,
                read_ns,
                echoed_ns,
                seen_ns,
            });
            Ok(joined.collect())
        };
        let failed = |reason: String| Refused::because("starting the program that echoes", reason);
        let builder = std::thread::Builder::new().name(KEYBOARD_NAME.to_owned());
        let handle = builder.spawn(body).map_err(|error| failed(error.to_string()))?;
        match told.recv() {
            Ok(None) => Ok(Keyboard { go, stop, typed, handle }),
            Ok(Some(refused)) => Err(refused),
            Err(_) => Err(failed("it ended early".to_owned())),
        }
    }

    /// Begins to type.
    pub fn go(&self) {
        self.go.store(true, Ordering::Relaxed);
    }

    /// How many keys were typed and echoed.
    pub fn typed(&self) -> u64 {
        self.typed.load(Ordering::Relaxed)
    }

    /// Whether all keys were typed.
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }

    /// Ends the typing and the program; returns what both saw.
    ///
    /// # Errors
    /// What the system refused.
    pub fn finish(self) -> Result<Vec<Keystroke>, Refused> {
        self.stop.store(true, Ordering::Relaxed);
        let failed = || Refused::because("typing", "the thread that types failed");
        self.handle.join().map_err(|_| failed())?
    }
}

/// Types; returns for each key whose echo came when it was typed and when the echo was seen.
fn type_keys(master: &OwnedFd, keystrokes: usize, stop: &AtomicBool, count: &AtomicU64) -> Vec<(u64, u64)> {
    let mut typed = Vec::with_capacity(keystrokes);
    let mut random = Random(0);
    while typed.len() < keystrokes && !stop.load(Ordering::Relaxed) {
        let pause = random.between(PAUSE_NS.0, PAUSE_NS.1);
        std::thread::sleep(Duration::from_nanos(pause));
        let typed_ns = clock::monotonic_ns();
        if !write_byte(master, b'x') || !wait_for(master, stop) {
            break;
        }
        typed.push((typed_ns, clock::monotonic_ns()));
        count.fetch_add(1, Ordering::Relaxed);
    }
    typed
}

fn write_byte(master: &OwnedFd, byte: u8) -> bool {
    // SAFETY: writes one byte.
    unsafe { libc::write(master.as_raw_fd(), (&raw const byte).cast(), 1) == 1 }
}

/// Waits for the echo and takes it; false if none comes.
fn wait_for(master: &OwnedFd, stop: &AtomicBool) -> bool {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until && !stop.load(Ordering::Relaxed) {
        let mut poll = libc::pollfd { fd: master.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one structure, which lives through the call.
        if unsafe { libc::poll(&raw mut poll, 1, 100) } > 0 {
            let mut byte = 0u8;
            // SAFETY: reads one byte into one byte.
            return unsafe { libc::read(master.as_raw_fd(), (&raw mut byte).cast(), 1) == 1 };
        }
    }
    false
}

/// A pseudo-terminal that passes on unchanged what is typed: its two ends.
fn terminal() -> Result<(OwnedFd, OwnedFd), Refused> {
    let failed = || Refused::last_os_error("making a pseudo-terminal");
    let (mut master, mut slave) = (-1, -1);
    // SAFETY: writes two descriptors; name, settings and size are not given.
    let result = unsafe {
        libc::openpty(&raw mut master, &raw mut slave, std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut())
    };
    if result != 0 {
        return Err(failed());
    }
    // SAFETY: the kernel just gave these descriptors to nobody else.
    let (master, slave) = unsafe { (OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
    // SAFETY: settings of zeros are a valid value; the kernel fills them, and they live through the calls. The program
    // must not hold its own other end.
    let result = unsafe {
        let mut settings: libc::termios = std::mem::zeroed();
        libc::tcgetattr(slave.as_raw_fd(), &raw mut settings);
        libc::cfmakeraw(&raw mut settings);
        libc::fcntl(master.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC);
        libc::fcntl(slave.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC);
        libc::tcsetattr(slave.as_raw_fd(), libc::TCSANOW, &raw const settings)
    };
    if result == 0 { Ok((master, slave)) } else { Err(failed()) }
}

/// The program, while it runs. It ends when the terminal's other end goes away.
struct Program {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Program {
    fn start(slave: OwnedFd, cpu: u32, compute_ns: u64) -> Result<Program, Refused> {
        let failed = |reason: String| Refused::because("starting the program that echoes", reason);
        let own = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
        let mut command = Command::new(own);
        command.arg(SUBCOMMAND).arg(cpu.to_string()).arg(compute_ns.to_string());
        command.stdin(Stdio::from(slave)).stdout(Stdio::piped()).stderr(Stdio::null());
        use std::os::unix::process::CommandExt;
        // Ctrl-C is for this program, which ends the other.
        command.process_group(0);
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let Some(output) = child.stdout.take() else { return Err(failed("it has no output".to_owned())) };
        let mut program = Program { child, output: BufReader::new(output) };
        let mut line = String::new();
        let _ = program.output.read_line(&mut line);
        if line.trim() == "ready" { Ok(program) } else { Err(failed("it did not get ready".to_owned())) }
    }

    /// Ends it and returns its stamps.
    fn end(&mut self, master: &OwnedFd) -> Result<Vec<(u64, u64)>, Refused> {
        write_byte(master, END);
        let mut text = String::new();
        let read = self.output.read_to_string(&mut text);
        read.map_err(|error| Refused::because("reading what the program saw", error.to_string()))?;
        let stamps = text.lines().filter_map(|line| {
            let (read_ns, echoed_ns) = line.split_once(' ')?;
            Some((read_ns.parse().ok()?, echoed_ns.parse().ok()?))
        });
        Ok(stamps.collect())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
