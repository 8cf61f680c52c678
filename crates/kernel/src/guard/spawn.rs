//! Starts a program as the guard's child.

use rustix::process::{Pid, PidfdFlags, Signal};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The kind of terminal that a program is told it sits at, where the caller sits at none.
const USUAL_TERMINAL: &str = "xterm-256color";

/// Has a program's input and output be a terminal.
pub(super) fn lead_at(child: &mut Command, terminal: &Path) -> std::io::Result<()> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = open(terminal, flags, Mode::empty())?;
    child.stdin(opened.try_clone()?).stdout(opened.try_clone()?).stderr(opened);
    if std::env::var_os("TERM").is_none_or(|kind| kind.is_empty() || kind == "dumb") {
        child.env("TERM", USUAL_TERMINAL);
    }
    Ok(())
}

/// Starts a program that the kernel ends with the guard. `heeded`: signals that it heeds although the guard does not.
/// With `leads` it leads a session of its own at the terminal that is its input.
pub(super) fn spawn(
    mut child: Command,
    mark: Option<&str>,
    leads: bool,
    heeded: &[libc::c_int],
) -> std::io::Result<(u32, OwnedFd)> {
    let mark = mark.and_then(|mark| std::ffi::CString::new(mark).ok());
    let heeded = heeded.to_vec();
    let guard = rustix::process::getpid();
    // SAFETY: between fork and exec only async-signal-safe system calls on plain data are made.
    unsafe {
        child.pre_exec(move || {
            crate::own_child::end_with(guard, Signal::KILL)?;
            if let Some(mark) = &mark {
                libc::prctl(libc::PR_SET_NAME, mark.as_ptr(), 0, 0, 0);
            }
            for &signal in &heeded {
                libc::signal(signal, libc::SIG_DFL);
            }
            if leads && (libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY, 0) < 0) {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        });
    }
    // It is waited for with all others.
    let id = child.spawn()?.id();
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw).ok_or_else(|| std::io::Error::other("no process"))?;
    Ok((id, rustix::process::pidfd_open(pid, PidfdFlags::empty())?))
}
