//! Whether there was a standard output when the program began, and how wide it is.
//!
//! Before `main`, the runtime opens `/dev/null` in place of a standard stream that is closed: from then on an answer
//! that goes nowhere looks like one that was read. So this looks before the runtime does.

use std::sync::atomic::{AtomicBool, Ordering};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether the standard output was closed when the program began.
pub fn was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}

/// How many columns the standard output's terminal has; none if it is something else or does not say.
pub fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

extern "C" fn look() {
    // SAFETY: asks about a number; nothing else runs in this process yet.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    WAS_CLOSED.store(flags == -1, Ordering::Relaxed);
}

/// The C library calls this before `main`.
// SAFETY: an initializer takes nothing that `look` would need, and `look` uses nothing that is set up later.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;
