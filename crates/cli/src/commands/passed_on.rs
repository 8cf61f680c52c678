//! Signals for a command that runs in place of this program.

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Catches signals that are meant for the command. The command also ignores those that this process ignores.
pub(super) struct PassedOn([(i32, Arc<AtomicBool>); 6]);

impl PassedOn {
    pub(super) fn watch() -> PassedOn {
        PassedOn([SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2].map(|signal| {
            let came = Arc::new(AtomicBool::new(false));
            if !punctual_kernel::signals::is_ignored(signal) {
                let _ = signal_hook::flag::register(signal, Arc::clone(&came));
            }
            (signal, came)
        }))
    }

    /// The signals that came since the last call.
    pub(super) fn came(&self) -> Vec<i32> {
        let came = self.0.iter().filter(|(_, came)| came.swap(false, Ordering::Relaxed));
        came.map(|(signal, _)| *signal).collect()
    }
}
