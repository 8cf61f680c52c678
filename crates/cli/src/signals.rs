//! Ctrl-C and its kin end a measurement cleanly; a second one ends the program.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Becomes true at the first signal that asks the program to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupted {
    asked: Arc<AtomicBool>,
    /// Set once the program has seen the first signal: two that come together, as `timeout` sends them, are one.
    seen: Arc<AtomicBool>,
}

impl Interrupted {
    pub(crate) fn watch() -> Interrupted {
        let interrupted = Interrupted::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let _ = signal_hook::flag::register_conditional_shutdown(signal, 1, Arc::clone(&interrupted.seen));
            let _ = signal_hook::flag::register(signal, Arc::clone(&interrupted.asked));
            let _ = signal_hook::flag::register(signal, Arc::clone(punctual_kernel::ending::asked()));
        }
        interrupted
    }

    pub(crate) fn is_set(&self) -> bool {
        let asked = self.asked.load(Ordering::Relaxed);
        if asked {
            self.seen.store(true, Ordering::Relaxed);
        }
        asked
    }
}
