//! Ctrl-C and its kin end a measurement cleanly; a second one ends the program.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Becomes true at the first signal that asks the program to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupted(Arc<AtomicBool>);

impl Interrupted {
    pub(crate) fn watch() -> Interrupted {
        let interrupted = Interrupted::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // In this order: the second signal finds the flag set by the first.
            let _ = signal_hook::flag::register_conditional_shutdown(signal, 1, Arc::clone(&interrupted.0));
            let _ = signal_hook::flag::register(signal, Arc::clone(&interrupted.0));
        }
        interrupted
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
