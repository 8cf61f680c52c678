//! Ctrl-C and similar signals end a measurement cleanly; a second one ends the program. Signals that the caller told
//! this program to ignore, as `nohup` does with a hangup, stay ignored.

use punctual_kernel::signals::is_ignored;
use punctual_probe::Step;
use punctual_recording::EndReason;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

static HUNG_UP: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Becomes true at the first signal that asks the program to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupted {
    asked: Arc<AtomicBool>,
    /// Set once the program has seen the first signal: two that come together, as `timeout` sends them, count as one.
    seen: Arc<AtomicBool>,
}

impl Interrupted {
    pub(crate) fn watch() -> Interrupted {
        let interrupted = Interrupted::default();
        if !is_ignored(SIGHUP) {
            let _ = signal_hook::flag::register(SIGHUP, Arc::clone(&HUNG_UP));
        }
        let _ = signal_hook::flag::register(SIGCONT, Arc::clone(punctual_kernel::ending::continued()));
        for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal)) {
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

    /// The same for commands that have to restore something before the program ends: a second signal does not end them
    /// at once.
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Whether a measurement should continue.
    pub(crate) fn step(&self) -> Step {
        if !self.is_set() {
            return Step::Go;
        }
        Step::Stop(EndReason::Interrupted, was_hung_up().then(|| "the terminal hung up".to_owned()))
    }
}

/// Whether the terminal or session in which this program ran is gone: then nobody chose this moment to end.
pub(crate) fn was_hung_up() -> bool {
    HUNG_UP.load(Ordering::Relaxed)
}

/// Makes growing a file beyond the limit of `ulimit -f` an error of that write, instead of the end of the program.
pub(crate) fn outlive_file_limit() {
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}
