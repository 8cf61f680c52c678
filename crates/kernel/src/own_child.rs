//! A command that runs in the place of this program: at its terminal, with its streams, and no longer than it.

use crate::Refused;
use rustix::process::Signal;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// Starts a program. It is asked to end (SIGTERM) where this process goes before it.
///
/// # Errors
/// Where it cannot be started.
pub fn start(words: &[String]) -> Result<Child, Refused> {
    let (program, arguments) =
        words.split_first().ok_or_else(|| Refused::because("starting the command", "none is named"))?;
    let mut command = Command::new(program);
    command.args(arguments);
    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
            // It may have gone before that was asked for.
            if rustix::process::getppid() == Some(parent) {
                Ok(())
            } else {
                Err(std::io::ErrorKind::Interrupted.into())
            }
        });
    }
    command.spawn().map_err(|error| Refused::because(format!("starting `{program}`"), crate::plain(&error)))
}

/// Passes a signal on, unless the terminal has sent it to both: then it has it already.
pub fn pass_on(child: &Child, signal: i32) {
    let of_terminal = matches!(signal, libc::SIGINT | libc::SIGQUIT | libc::SIGHUP);
    if of_terminal && is_in_foreground() {
        return;
    }
    if let (Some(pid), Some(signal)) =
        (rustix::process::Pid::from_raw(child.id() as i32), Signal::from_named_raw(signal))
    {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Asks it to end.
pub fn ask_to_end(child: &Child) {
    pass_on(child, libc::SIGTERM);
}

/// Whether this process is in the group that its terminal's keys are for.
fn is_in_foreground() -> bool {
    let Ok(terminal) = std::fs::File::open("/dev/tty") else { return false };
    rustix::termios::tcgetpgrp(&terminal).is_ok_and(|group| group == rustix::process::getpgrp())
}
