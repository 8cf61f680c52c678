//! Whether somebody asked this program to end, or stopped it for a while; for whatever takes long outside the measurement.

use crate::Refused;
use crate::kernel_types::{self, Kept};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Getting ready may go on for this long after somebody asked the program to end; nothing has been measured yet.
const PATIENCE: Duration = Duration::from_millis(250);
/// How often it checks.
const ROUND: Duration = Duration::from_millis(20);

/// Set by whoever listens to signals when the program is to end.
pub fn asked() -> &'static Arc<AtomicBool> {
    static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    ASKED.get_or_init(Arc::default)
}

/// Whether the program was asked to end.
pub fn is_asked() -> bool {
    asked().load(Ordering::Relaxed)
}

/// Set by whoever listens to signals when the program goes on after it was stopped (`SIGCONT`).
pub fn continued() -> &'static Arc<AtomicBool> {
    static CONTINUED: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    CONTINUED.get_or_init(Arc::default)
}

/// Whether the program was stopped and continued since the last call. Call it often: once the program is to end, nobody can tell.
pub fn take_continued() -> bool {
    was_stopped(continued(), asked())
}

/// Whoever ends a program may continue it as well, in case it was stopped, as `timeout` does.
fn was_stopped(continued: &AtomicBool, asked: &AtomicBool) -> bool {
    continued.swap(false, Ordering::Relaxed) && !asked.load(Ordering::Relaxed)
}

/// Nothing new begins once the program was asked to end.
pub(crate) fn refuse_if_asked() -> Result<(), Refused> {
    if is_asked() { Err(Refused::because("getting ready", "the program was asked to end")) } else { Ok(()) }
}

/// Says why the program ends, to whoever waits for its answer.
type Farewell = Box<dyn Fn(&str) + Send + Sync>;

static FAREWELL: OnceLock<Farewell> = OnceLock::new();

/// How to say that the program ends while it is getting ready: in the form that was asked for. Set once; later calls are ignored.
pub fn say_farewell_with(say: impl Fn(&str) + Send + Sync + 'static) {
    let _ = FAREWELL.set(Box::new(say));
}

/// While this lives nothing is measured: programs are loaded, the kernel's symbols are read. If that does not finish
/// soon after the program was asked to end, the program ends; all that it has in the kernel goes with it.
///
/// The calling thread reads the kernel's types once meanwhile.
pub struct GettingReady {
    over: Arc<AtomicBool>,
    watcher: Option<JoinHandle<()>>,
    _types: Kept,
}

impl GettingReady {
    /// Begins to watch.
    pub fn begin() -> GettingReady {
        let over = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&over);
        let watcher = std::thread::Builder::new().name("getting-ready".to_owned()).spawn(move || watch(&shared)).ok();
        GettingReady { over, watcher, _types: kernel_types::keep() }
    }
}

impl Drop for GettingReady {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(watcher) = self.watcher.take() {
            watcher.thread().unpark();
            let _ = watcher.join();
        }
    }
}

fn watch(over: &AtomicBool) {
    let mut since = None;
    while !over.load(Ordering::Relaxed) {
        if is_asked() && since.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
            const SAID: &str = "asked to end while getting ready: this run measured nothing";
            match FAREWELL.get() {
                Some(say) => say(SAID),
                None => eprintln!("error: {SAID}"),
            }
            std::process::exit(1);
        }
        std::thread::park_timeout(ROUND);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_types::kernel_types;
    use std::rc::Rc;

    #[test]
    fn machine_types_are_read_once_while_getting_ready() {
        let _getting_ready = GettingReady::begin();
        let Some(first) = kernel_types() else {
            return punctual_testing::skip("the kernel's types while getting ready", "this kernel tells none");
        };
        assert!(Rc::ptr_eq(&first, &kernel_types().unwrap()));
    }

    /// A watcher that nobody wakes would be waited for until the end of its round. On a busy machine some are.
    #[test]
    fn getting_ready_costs_no_time_when_it_is_over() {
        let is_slow = |_: &u32| {
            let getting_ready = GettingReady::begin();
            // By then the watcher rests.
            std::thread::sleep(ROUND / 10);
            let began = Instant::now();
            drop(getting_ready);
            began.elapsed() > ROUND / 2
        };
        let slow = (0..100).filter(is_slow).count();
        assert!(slow < 50, "{slow} of 100 waited for the watcher's round");
    }

    #[test]
    fn a_signal_to_continue_that_comes_with_the_end_stopped_nobody() {
        let (continued, asked) = (AtomicBool::new(true), AtomicBool::new(false));
        assert!(was_stopped(&continued, &asked));
        assert!(!was_stopped(&continued, &asked), "it counts once");
        continued.store(true, Ordering::Relaxed);
        asked.store(true, Ordering::Relaxed);
        assert!(!was_stopped(&continued, &asked));
    }
}
