//! A command that runs in place of this program: at its terminal, with its streams, and no longer than it.

use crate::Refused;
use crate::other_thread::ThreadScheduling;
use rustix::process::{Pid, Signal};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// Starts a program. It is asked to end (SIGTERM) if this process goes away first.
///
/// # Errors
/// If it cannot be started.
pub fn start(words: &[String]) -> Result<Child, Refused> {
    spawn(words, &mut from_words(words)?)
}

/// Like [`start`], with its first thread scheduled this way before the program begins, so that this holds even for one
/// that ends at once. If the kernel refuses that, the program runs all the same, and the refusal is returned beside it.
///
/// # Errors
/// If it cannot be started.
pub fn start_scheduled(words: &[String], wanted: ThreadScheduling) -> Result<(Child, Result<(), Refused>), Refused> {
    let mut command = from_words(words)?;
    let (mut refusal, mut told) =
        std::io::pipe().map_err(|error| Refused::because("making a pipe", crate::plain(&error)))?;
    // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            if let Err(number) = wanted.set_own() {
                told.write_all(&number.to_ne_bytes())?;
            }
            Ok(())
        });
    }
    let child = spawn(words, &mut command)?;
    // This closes this process's writing end; exec closed the child's.
    drop(command);
    let mut number = [0; size_of::<i32>()];
    let outcome = match refusal.read_exact(&mut number) {
        Ok(()) => Err(wanted.refused(child.id(), &std::io::Error::from_raw_os_error(i32::from_ne_bytes(number)))),
        Err(_) => Ok(()),
    };
    Ok((child, outcome))
}

fn from_words(words: &[String]) -> Result<Command, Refused> {
    let (program, arguments) =
        words.split_first().ok_or_else(|| Refused::because("starting the command", "none is named"))?;
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}

fn spawn(words: &[String], command: &mut Command) -> Result<Child, Refused> {
    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
    unsafe {
        command.pre_exec(move || end_with(parent, Signal::TERM));
    }
    command.spawn().map_err(|error| Refused::because(format!("starting `{}`", words[0]), crate::plain(&error)))
}

/// Has the kernel send this process a signal when the thread that started it ends. Call it between fork and exec: it makes
/// system calls, and allocates nothing.
///
/// # Errors
/// What the kernel refused; or if the parent has ended already, so that nobody would end this process.
pub fn end_with(parent: Pid, signal: Signal) -> std::io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(signal))?;
    // It may have gone before that was requested.
    match rustix::process::getppid() == Some(parent) {
        true => Ok(()),
        // As a number, which is all that gets from there to whoever starts this process.
        false => Err(std::io::Error::from_raw_os_error(libc::EINTR)),
    }
}

/// Passes a signal on, unless the terminal sent it to both: then the child already has it.
pub fn pass_on(child: &Child, signal: i32) {
    let of_terminal = matches!(signal, libc::SIGINT | libc::SIGQUIT | libc::SIGHUP);
    if of_terminal && is_in_foreground() {
        return;
    }
    if let (Some(pid), Some(signal)) = (Pid::from_raw(child.id() as i32), Signal::from_named_raw(signal)) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Asks it to end.
pub fn ask_to_end(child: &Child) {
    pass_on(child, libc::SIGTERM);
}

/// Whether this process is in the group that receives its terminal's keys.
fn is_in_foreground() -> bool {
    let Ok(terminal) = std::fs::File::open("/dev/tty") else { return false };
    rustix::termios::tcgetpgrp(&terminal).is_ok_and(|group| group == rustix::process::getpgrp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_started_for_a_parent_that_has_gone() {
        let started_for = |parent: Pid| {
            let mut command = Command::new("true");
            // SAFETY: between fork and exec only system calls are made.
            unsafe { command.pre_exec(move || end_with(parent, Signal::KILL)) };
            command.status().map(|status| status.success()).map_err(|error| error.kind())
        };
        let own = rustix::process::getpid();
        assert_eq!(started_for(own), Ok(true));
        // Whoever is the parent of this process is not its child's.
        let Some(other) = rustix::process::getppid() else { return };
        assert_eq!(started_for(other), Err(std::io::ErrorKind::Interrupted));
    }
}
