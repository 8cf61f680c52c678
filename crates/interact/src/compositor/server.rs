//! A Wayland compositor of this run's own, which nobody else may use, and which ends with the run, however that ends.

use punctual_kernel::guard::{Guard, GuardEvent, GuardedCommand, GuardedPreparation, GuardedRun, SCRATCH};
use punctual_kernel::{Refused, plain};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The compositor: it draws into memory, and into nothing else.
pub(super) const PROGRAM: &str = "sway";
/// The name of its package.
const MISSING: &str = "it is not installed: its package is called sway (apt, dnf, pacman)";
/// How long it may take to start.
const STARTING: Duration = Duration::from_secs(20);
/// How often to check for it.
const LOOKING: Duration = Duration::from_millis(20);
/// Sides of its one screen, pixels.
pub(super) const SCREEN: (u32, u32) = (1_280, 1_024);
/// How soon the guard reports its end.
const ENDING: Duration = Duration::from_millis(500);
/// Where its configuration is in the guard's directory.
const CONFIGURATION: &str = "configuration";
/// The program that becomes a user other than root in a name space of its own: the compositor refuses root.
const NOT_ROOT: [&str; 3] = ["unshare", "--map-user=1000", "--map-group=1000"];
/// Its environment, beside the directory: it shows itself nowhere, draws by the processor, and has no devices.
const ENVIRONMENT: [&str; 6] = [
    "WLR_BACKENDS=headless",
    "WLR_HEADLESS_OUTPUTS=1",
    "WLR_RENDERER=pixman",
    "WLR_LIBINPUT_NO_DEVICES=1",
    "LIBSEAT_BACKEND=noop",
    "XDG_RUNTIME_DIR={scratch}",
];
/// What it must not find: a compositor or a display of the user's.
const NOT_THERE: [&str; 3] = ["WAYLAND_DISPLAY", "DISPLAY", "SWAYSOCK"];

/// The compositor and the guard that ends it.
pub(super) struct Server {
    guard: Guard,
    /// Its process.
    pub(super) pid: u32,
    /// The directory with its socket.
    pub(super) directory: PathBuf,
    /// The name of the socket.
    pub(super) socket: String,
}

impl Server {
    /// The compositor, and a connection to it.
    pub(super) fn start() -> Result<(Server, UnixStream), Refused> {
        let refused = |reason: String| Refused::because(format!("starting {PROGRAM}"), reason);
        let path = std::env::var_os("PATH").unwrap_or_default();
        if !std::env::split_paths(&path).any(|directory| directory.join(PROGRAM).is_file()) {
            return Err(refused(MISSING.to_owned()));
        }
        let mut guard = Guard::start(&plan())?;
        let until = Instant::now() + STARTING;
        let (mut started, mut last_words) = (None, String::new());
        while Instant::now() < until && !guard.is_gone() {
            for event in guard.events(LOOKING) {
                match event {
                    GuardEvent::Started { processes, scratch } => {
                        started = processes.first().map(|&(pid, _)| (pid, scratch));
                    }
                    GuardEvent::NotStarted { reason, .. }
                    | GuardEvent::NotPrepared { reason, .. }
                    | GuardEvent::Refused { reason } => return Err(refused(reason)),
                    GuardEvent::Ended { last_words: told, .. } => {
                        return Err(refused(format!("it ended at once: {}", told.unwrap_or(last_words))));
                    }
                    GuardEvent::Line { text, .. } => last_words = text,
                    _ => {}
                }
            }
            let found = started.as_ref().and_then(|(pid, directory)| Some((*pid, directory, socket_in(directory)?)));
            if let Some((pid, directory, socket)) = found
                && let Ok(stream) = UnixStream::connect(directory.join(&socket))
            {
                let directory = directory.clone();
                return Ok((Server { guard, pid, directory, socket }, stream));
            }
        }
        Err(refused(format!("it opened no socket within {} s: {last_words}", STARTING.as_secs())))
    }

    /// Whether it has ended. Its connections end a little before the guard says so.
    pub(super) fn is_gone(&mut self) -> bool {
        let ended = |event: &GuardEvent| matches!(event, GuardEvent::Ended { .. });
        let until = Instant::now() + ENDING;
        while Instant::now() < until {
            if self.guard.events(LOOKING).iter().any(ended) || self.guard.is_gone() {
                return true;
            }
        }
        false
    }
}

/// The guard's task. Only this user can enter the directory that it makes: nobody else finds the socket.
fn plan() -> GuardedRun {
    let mut words = vec!["env".to_owned()];
    words.extend(NOT_THERE.iter().map(|name| format!("--unset={name}")));
    words.extend(ENVIRONMENT.map(str::to_owned));
    if rustix::process::geteuid().is_root() {
        words.extend(NOT_ROOT.map(str::to_owned));
    }
    words.extend([PROGRAM, "--config"].map(str::to_owned));
    words.push(format!("{SCRATCH}/{CONFIGURATION}"));
    GuardedRun {
        preparations: vec![GuardedPreparation {
            files: vec![(CONFIGURATION.to_owned(), configuration())],
            script: None,
        }],
        commands: vec![GuardedCommand { words, tells_lines: true, ..GuardedCommand::default() }],
        ..GuardedRun::default()
    }
}

/// No keys of its own, nothing around windows, and no program beside it: the first window fills the screen.
fn configuration() -> String {
    let (width, height) = SCREEN;
    format!(
        "xwayland disable\nswaybg_command -\nswaynag_command -\ndefault_border none\ndefault_floating_border none\n\
         focus_on_window_activation focus\noutput * resolution {width}x{height}\n"
    )
}

/// The socket that programs connect to, once it is there.
fn socket_in(directory: &Path) -> Option<String> {
    let names = std::fs::read_dir(directory).ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.into_iter().find(|name| name.starts_with("wayland-") && !name.ends_with(".lock"))
}

/// Why something was refused, in a line.
pub(super) fn refused(error: impl std::fmt::Display) -> Refused {
    Refused::because("using the compositor", error.to_string())
}

/// The same for a refusal of the system.
pub(super) fn failed(error: std::io::Error) -> Refused {
    refused(plain(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_is_found_beside_its_lock() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path();
        std::fs::write(place.join("wayland-1.lock"), "").unwrap();
        assert_eq!(socket_in(place), None);
        std::fs::write(place.join("wayland-1"), "").unwrap();
        assert_eq!(socket_in(place).as_deref(), Some("wayland-1"));
        assert_eq!(socket_in(&place.join("nowhere")), None);
    }
}
