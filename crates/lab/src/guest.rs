//! Boots a kernel in QEMU, runs a command in it and takes its files out.
//!
//! With one CPU the guest's clock counts instructions (`-icount`, sleeping takes no time): the result of a run depends
//! only on its input and seed, not on how busy the host is. It is a machine of 250 million instructions a second at the
//! default shift of 2, emulated at about that speed. With more CPUs, or on request, the clock is the host's.

use crate::hypervisor;
use crate::left::{self, Files};
use crate::outside::{Plugin, Trace};
use crate::userland::{self, UserlandError};
use punctual_recording::printable;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write as _};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// Why a guest gave no result.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// Its file system could not be made.
    #[error(transparent)]
    Userland(#[from] UserlandError),
    /// QEMU is not installed or does not start.
    #[error("{QEMU}: {0} (Debian has it in qemu-system-x86)")]
    Qemu(std::io::Error),
    /// A file of the host.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// It did not end in time.
    #[error("the guest had not ended after {} s of processor time; its console ended with:\n{console}", limit.as_secs())]
    TimedOut {
        /// What it had.
        limit: Duration,
        /// The last lines of its console.
        console: String,
    },
    /// It hangs.
    #[error("the guest made no progress for {} s; its console ended with:\n{console}", MAX_STILL.as_secs())]
    StoodStill {
        /// The last lines of its console.
        console: String,
    },
    /// It writes without end.
    #[error("the guest had written more than {MAX_WRITTEN_MIB} MiB beside its memory")]
    Wrote,
    /// It writes to its console without end.
    #[error("the guest had written more than {MAX_WRITTEN_MIB} MiB to its console; its console ended with:\n{console}")]
    Flooded {
        /// The last lines of its console.
        console: String,
    },
    /// The user or the system asked this program to end.
    #[error("ended by a signal")]
    Interrupted,
    /// It ended without a result.
    #[error("the guest ended without a result; its console ended with:\n{console}")]
    NoResult {
        /// The last lines of its console.
        console: String,
    },
}

impl GuestError {
    /// The same in one line: of a console, only its most telling line.
    #[must_use]
    pub fn in_one_line(&self) -> String {
        let all = self.to_string();
        let (first, console) = all.split_once('\n').unwrap_or((&all, ""));
        let first = first.trim_end_matches("; its console ended with:");
        let lines = || console.lines().map(str::trim).filter(|line| !line.is_empty());
        let telling =
            lines().find(|line| TELLING.iter().any(|word| line.contains(word))).or_else(|| lines().next_back());
        // Where, in which module: the first such line is the innermost.
        let place = lines().filter_map(|line| line.split_once("RIP: ")?.1.split_once(':')).map(|(_, place)| place);
        let is_told = |place: &&str| place.ends_with(']') && place.len() <= MAX_TOLD;
        let in_module = place.filter(is_told).map(|place| format!(", in {place}")).next();
        let in_module = in_module.unwrap_or_default();
        // Xen says on the next line what it was.
        let gave_up = telling.filter(|line| line.contains(hypervisor::PANIC));
        let reason = gave_up.and_then(|line| lines().skip_while(|other| *other != line).nth(1));
        let cut = |line: &str| line.chars().take(MAX_TOLD).collect::<String>();
        let reason = reason.map_or_else(String::new, |line| format!(" {}", cut(line.trim_start_matches("(XEN) "))));
        let remedy = if telling.is_some_and(|line| line.contains(NO_ENTRY)) { NEEDS_ENTRY } else { "" };
        telling.map(cut).map_or_else(|| first.to_owned(), |line| format!("{first}: {line}{reason}{in_module}{remedy}"))
    }
}

/// What a console says about an end.
const TELLING: [&str; 5] = ["Kernel panic", "Oops", "BUG:", hypervisor::PANIC, "qemu-system"];

/// What the emulator says of an ELF file that it finds no way into, and what a kernel has that it finds one into.
const NO_ENTRY: &str = "without PVH ELF Note";
const NEEDS_ENTRY: &str = " (a kernel for the lab is built with CONFIG_PVH)";

/// How much a guest may write to its console; and to its result, on top of the size of its memory.
const MAX_WRITTEN_MIB: u64 = 64;

/// Of a console's end no more is looked at, bytes.
const MAX_SHOWN: u64 = 64 << 10;

/// How much of one of its lines is shown, and of that which stands for all, characters.
const MAX_LINE: usize = 1_000;
const MAX_TOLD: usize = 300;

/// How many lines of a console are shown; more if the reason for its end is further up.
const LINES: usize = 25;
const MAX_LINES: usize = 120;

/// A guest that takes less than a tenth of a second of a processor in this time hangs.
const MAX_STILL: Duration = Duration::from_secs(120);
const STILL: Duration = Duration::from_millis(100);

/// A clock beyond the year 2037 does not fit into what some kernels read from the hardware clock.
const MAX_DAY: u32 = 6_000;

static ASKED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Ends the guests; [`Guest::boot`] fails from now on.
pub fn end() {
    ASKED.store(true, Ordering::Relaxed);
}

/// From now on SIGINT, SIGTERM and SIGHUP end the guests, and [`Guest::boot`] fails.
///
/// # Errors
///
/// What the system says.
pub fn end_on_signals() -> std::io::Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&ASKED))?;
    }
    Ok(())
}

/// Whether such a signal has come.
#[must_use]
pub fn is_ending() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// The emulator.
pub const QEMU: &str = "qemu-system-x86_64";

/// A quiet console, no time lost on what emulation does not need, and a panic that ends the guest. PREEMPT_RT handles
/// the serial line's interrupts in a thread; emulated ones come so fast that the kernel would think nobody handles them
/// and turn them off in the middle of the results: `noirqdebug`.
const PARAMETERS: &str = "quiet panic=-1 nokaslr mitigations=off no_timer_check tsc=reliable cryptomgr.notests \
                          random.trust_cpu=on noirqdebug";
/// The guest's first file system, as the emulator finds it.
const INITRAMFS: &str = "/proc/self/fd/0";
/// Where the kernel's console is.
const CONSOLE: &str = "ttyS0";

/// A guest: what it is made of.
#[derive(Clone, Debug)]
pub struct Guest {
    /// The kernel, an ELF file.
    pub kernel: PathBuf,
    /// A hypervisor that boots the kernel, an ELF file.
    pub hypervisor: Option<PathBuf>,
    /// The program that becomes `punctual` in the guest.
    pub program: Option<PathBuf>,
    /// More files, programs with their libraries: on the host, in the guest.
    pub files: Vec<(PathBuf, String)>,
    /// CPUs; with more than one the guest runs by the host's clock.
    pub cpus: u32,
    /// The seed of the hardware's randomness: another seed, another run.
    pub seed: u32,
    /// Its clock begins this many days after 2020-01-01: guests with different seeds do not begin at the same time.
    pub day: u32,
    /// An instruction takes 2 to this power ns.
    pub shift: u32,
    /// Whether the clock is the host's, even with one CPU.
    pub plain: bool,
    /// Memory, MiB.
    pub memory_mib: u32,
    /// More parameters for the kernel.
    pub append: String,
    /// How much of a processor it may take; ten times as much by the clock, since a busy host gives little.
    pub limit: Duration,
}

/// What a guest left.
#[derive(Debug)]
pub struct Outcome {
    /// The exit code of the command.
    pub code: i32,
    /// What the command printed, both streams.
    pub output: String,
    /// The kernel's log.
    pub kernel_log: String,
    /// What the command left in /out.
    pub files: Files,
    /// How much of the host's processors it took: this does not show how busy the host is.
    pub used: Duration,
}

impl Guest {
    /// A guest with one CPU whose clock counts instructions.
    #[must_use]
    pub fn new(kernel: &Path) -> Guest {
        Guest {
            kernel: kernel.to_owned(),
            hypervisor: None,
            program: None,
            files: Vec::new(),
            cpus: 1,
            seed: 1,
            day: 0,
            shift: 2,
            plain: false,
            memory_mib: 1024,
            append: String::new(),
            limit: Duration::from_secs(300),
        }
    }

    /// Boots, runs a shell command as root in /tmp, and ends.
    ///
    /// # Errors
    ///
    /// If the host lacks something, or the guest does not finish.
    pub fn boot(&self, command: &str) -> Result<Outcome, GuestError> {
        self.boot_with(command, None)
    }

    /// The same, watched from outside: when the guest read its clock, and within a window, in instructions since it was
    /// switched on, which blocks of instructions ran. For a guest whose clock counts instructions; it changes nothing
    /// in the guest.
    ///
    /// # Errors
    ///
    /// As [`Guest::boot`].
    pub fn boot_watched(&self, command: &str, window: Option<Range<u64>>) -> Result<(Outcome, Trace), GuestError> {
        let plugin = Plugin::new(window).map_err(file(&std::env::temp_dir()))?;
        let outcome = self.boot_with(command, Some(&plugin))?;
        Ok((outcome, plugin.into_trace()))
    }

    fn boot_with(&self, command: &str, plugin: Option<&Plugin>) -> Result<Outcome, GuestError> {
        let began = Instant::now();
        let scratch = Scratch::new().map_err(file(&std::env::temp_dir()))?;
        let end = if self.hypervisor.is_some() { hypervisor::END } else { userland::END };
        let archive = userland::archive(self.program.as_deref(), &self.files, command, end)?;
        let mut qemu = self.qemu(&scratch, &archive)?;
        if let Some(plugin) = plugin {
            qemu.arg("-plugin").arg(plugin.words());
        }
        let mut child = qemu.spawn().map_err(GuestError::Qemu)?;
        drop(archive);
        let (used, ended) = self.watch(&mut child, &scratch, began);
        if ended.is_err() {
            let _ = child.kill();
            let _ = child.wait();
        }
        ended?;
        let files = Files::new(scratch.result);
        let no_result = |_| GuestError::NoResult { console: console_of(&scratch.console) };
        let text = |name: &str| files.text(name).map_err(no_result);
        let no_code = |_| GuestError::NoResult { console: console_of(&scratch.console) };
        let code = text(left::CODE)?.trim().parse().map_err(no_code)?;
        let (output, kernel_log) = (text(left::OUTPUT)?, text(left::KERNEL_LOG)?);
        Ok(Outcome { code, output, kernel_log, files, used })
    }

    /// Waits until the guest has ended, and returns how much of a processor it took; an error if it may not go on.
    fn watch(&self, child: &mut Child, scratch: &Scratch, began: Instant) -> (Duration, Result<(), GuestError>) {
        let console = || console_of(&scratch.console);
        let (max_console, max_result) = (MAX_WRITTEN_MIB << 20, (u64::from(self.memory_mib) + MAX_WRITTEN_MIB) << 20);
        let length = |file: &File| file.metadata().map_or(0, |about| about.len());
        let mut used = Duration::ZERO;
        let mut moved = (Duration::ZERO, Instant::now());
        let ended = loop {
            if matches!(child.try_wait(), Ok(Some(_))) {
                break Ok(());
            }
            used = used.max(cpu_time(child.id()));
            if used > moved.0 + STILL {
                moved = (used, Instant::now());
            }
            if is_ending() {
                break Err(GuestError::Interrupted);
            }
            if used > self.limit || began.elapsed() > self.limit * 10 {
                break Err(GuestError::TimedOut { limit: self.limit, console: console() });
            }
            if length(&scratch.console) > max_console {
                break Err(GuestError::Flooded { console: console() });
            }
            if length(&scratch.result) > max_result {
                break Err(GuestError::Wrote);
            }
            if moved.1.elapsed() > MAX_STILL {
                break Err(GuestError::StoodStill { console: console() });
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        (used, ended)
    }

    /// The emulator with its files as its streams, so that it needs no names for them.
    fn qemu(&self, scratch: &Scratch, archive: &[u8]) -> Result<Command, GuestError> {
        let counts = self.cpus == 1 && !self.plain;
        // So that no guest outlives this program, however that ends.
        let setpriv = userland::find("setpriv").ok_or(UserlandError::Missing("setpriv"))?;
        let mut qemu = Command::new(setpriv);
        qemu.args(["--pdeathsig", "KILL", QEMU]);
        let cpu = if self.hypervisor.is_some() { hypervisor::CPU } else { "max" };
        qemu.args(["-M", "q35", "-cpu", cpu, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
        qemu.args(["-accel", if self.cpus > 1 { "tcg,thread=multi" } else { "tcg" }]);
        qemu.args(["-smp", &self.cpus.to_string(), "-m", &self.memory_mib.to_string()]);
        let first = jiff::civil::date(2020, 1, 1);
        let day = first.saturating_add(jiff::Span::new().days(i64::from(self.day.min(MAX_DAY))));
        qemu.args(["-seed", &self.seed.to_string(), "-rtc", &format!("base={day}T00:00:00,clock=vm")]);
        if counts {
            qemu.args(["-icount", &format!("shift={},sleep=off", self.shift)]);
        }
        self.boots(&mut qemu)?;
        // The emulator's own complaints appear between the lines of the console.
        qemu.args(["-chardev", "file,id=console,path=/proc/self/fd/2,append=on", "-serial", "chardev:console"]);
        qemu.args(["-serial", "file:/proc/self/fd/1"]);
        let streams = || -> std::io::Result<[File; 3]> {
            let mut initramfs = tempfile::tempfile()?;
            initramfs.write_all(archive)?;
            initramfs.rewind()?;
            let of = |file: &File| format!("/proc/self/fd/{}", file.as_raw_fd());
            let console = OpenOptions::new().append(true).open(of(&scratch.console))?;
            Ok([initramfs, scratch.result.try_clone()?, console])
        };
        let [initramfs, result, console] = streams().map_err(file(&std::env::temp_dir()))?;
        qemu.stdin(initramfs).stdout(result).stderr(console);
        Ok(qemu)
    }

    /// What the emulator boots.
    fn boots(&self, qemu: &mut Command) -> Result<(), GuestError> {
        let console = if self.hypervisor.is_some() { hypervisor::CONSOLE } else { CONSOLE };
        let parameters = format!("console={console} {PARAMETERS} {}", self.append);
        let parameters = parameters.trim_end();
        let Some(below) = &self.hypervisor else {
            qemu.arg("-kernel").arg(&self.kernel).args(["-initrd", INITRAMFS, "-append", parameters]);
            return Ok(());
        };
        // A path with a space would end there, so the kernel is named from its own directory.
        let [below, kernel] = [below, &self.kernel].map(|path| std::path::absolute(path).map_err(file(path)));
        let (below, kernel) = (below?, kernel?);
        let (Some(directory), Some(name)) = (kernel.parent(), kernel.file_name()) else {
            return Err(file(&kernel)(std::io::ErrorKind::InvalidInput.into()));
        };
        qemu.current_dir(directory).arg("-kernel").arg(below).args(["-append", hypervisor::PARAMETERS]);
        qemu.arg("-initrd").arg(hypervisor::modules(name, parameters, INITRAMFS));
        Ok(())
    }
}

/// What a guest writes while it runs: files without a name, so that nothing is left of them however this program ends.
struct Scratch {
    console: File,
    result: File,
}

impl Scratch {
    fn new() -> std::io::Result<Scratch> {
        Ok(Scratch { console: tempfile::tempfile()?, result: tempfile::tempfile()? })
    }
}

fn file(path: &Path) -> impl FnOnce(std::io::Error) -> GuestError {
    let path = path.to_owned();
    |source| GuestError::File { path, source }
}

/// The processor time that a process took, user and kernel; 0 if it is gone.
fn cpu_time(process: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit_once(')').map_or(Vec::new(), |(_, rest)| rest.split_whitespace().collect());
    let ticks = |field: usize| fields.get(field).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    // The kernel reports it in hundredths of a second.
    Duration::from_millis((ticks(11) + ticks(12)) * 10)
}

/// The last lines of a guest's console, and what the emulator said.
fn console_of(console: &File) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut console = console;
        let end = console.metadata()?.len();
        console.seek(std::io::SeekFrom::Start(end.saturating_sub(MAX_SHOWN)))?;
        let mut bytes = Vec::new();
        console.take(MAX_SHOWN).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    tail(&read().unwrap_or_default())
}

/// The last lines of a console.
fn tail(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().collect();
    // From where the trouble began, if that is not too far back.
    let is_telling = |line: &&str| TELLING.iter().any(|word| line.contains(word));
    let recent = lines.len().saturating_sub(MAX_LINES);
    let began = lines[recent..].iter().position(is_telling).map_or(lines.len(), |position| recent + position);
    let shown = lines[began.min(lines.len().saturating_sub(LINES))..].iter();
    let shown: Vec<String> = shown.map(|line| format!("    {}", legible(line))).collect();
    shown.join("\n")
}

/// A line of a console for a terminal or a file: a guest writes whatever it likes there, and need not end a line.
fn legible(line: &str) -> String {
    let cut: String = line.trim_end_matches('\r').chars().take(MAX_LINE).collect();
    printable(&cut.replace('\t', " "))
}

/// Lines in which a kernel complains about itself: warnings, bugs, stalls, lockups.
#[must_use]
pub fn splats(kernel_log: &str) -> Vec<&str> {
    const WORDS: [&str; 11] = [
        "WARNING:",
        "BUG:",
        "BUG at",
        "Oops",
        "Call Trace",
        "soft lockup",
        "hard LOCKUP",
        "detected stall",
        "self-detected stall",
        "blocked for more than",
        "scheduling while atomic",
    ];
    kernel_log.lines().filter(|line| WORDS.iter().any(|word| line.contains(word))).collect()
}

#[cfg(test)]
mod tests {
    use super::{GuestError, MAX_LINE, MAX_TOLD, splats, tail};
    use std::time::Duration;

    #[test]
    fn an_end_is_one_line_with_the_consoles_most_telling_one() {
        let console = "    [ 0.1] Kernel panic - not syncing: no init\n    [ 0.2] ---[ end ]---\n".to_owned();
        let said = GuestError::NoResult { console }.in_one_line();
        assert_eq!(said, "the guest ended without a result: [ 0.1] Kernel panic - not syncing: no init");
        let silent = GuestError::TimedOut { limit: Duration::from_secs(15), console: String::new() };
        assert_eq!(silent.in_one_line(), "the guest had not ended after 15 s of processor time");
        let other = GuestError::NoResult { console: "    a\n    b\n\n".to_owned() };
        assert_eq!(other.in_one_line(), "the guest ended without a result: b");
        let console = "    qemu-system-x86_64: Error loading uncompressed kernel without PVH ELF Note\n".to_owned();
        let said = GuestError::NoResult { console }.in_one_line();
        assert!(said.ends_with("PVH ELF Note (a kernel for the lab is built with CONFIG_PVH)"), "{said}");
        let console =
            "    (XEN) ****\n    (XEN) Panic on CPU 0:\n    (XEN) Could not construct domain 0\n    (XEN) ****\n";
        let said = GuestError::NoResult { console: console.to_owned() }.in_one_line();
        assert_eq!(said, "the guest ended without a result: (XEN) Panic on CPU 0: Could not construct domain 0");
    }

    #[test]
    fn what_a_guest_writes_to_its_console_controls_no_terminal_and_has_bounds() {
        let long = "x".repeat(70_000);
        let console = format!("\u{1b}[2J\u{1b}]0;title\u{7}\tforged\r\r\n\u{202e}Oops {long}\nRIP: 0010:{long}]\n");
        let shown = tail(console.as_bytes());
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), 3, "{shown}");
        assert!(
            lines[0].ends_with(" forged")
                && !shown.contains(|character: char| "\u{1b}\u{7}\u{202e}\r\t".contains(character))
        );
        assert!(lines.iter().all(|line| line.chars().count() <= MAX_LINE + 4));
        let said = GuestError::NoResult { console: shown }.in_one_line();
        assert!(said.contains("Oops xxx") && said.lines().count() == 1, "{said}");
        assert!(said.chars().count() < MAX_TOLD + 50, "{said}");
    }

    #[test]
    fn a_stall_is_a_splat_and_the_usual_lines_are_none() {
        let log = "[    0.23] rcu: Preemptible hierarchical RCU implementation.\n\
                   [    1.23] rcu: INFO: rcu_preempt self-detected stall on CPU\n\
                   [    2.00] workqueue: events_unbound hogged CPU\n\
                   [    2.10] WARNING: CPU: 0 PID: 12 at kernel/bpf/helpers.c:1\n";
        assert_eq!(splats(log).len(), 2);
    }
}
