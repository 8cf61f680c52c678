//! The kernel's symbols, read by a thread of its own while something else takes its time.

use super::symbols::KernelSymbols;
use punctual_kernel::clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// A thread that reads them. If this is dropped before anybody has waited for them, it stops early and is waited for: it does not
/// disturb what is measured next.
pub(crate) struct SymbolsAhead {
    thread: Option<JoinHandle<(KernelSymbols, u64)>>,
    unwanted: Arc<AtomicBool>,
}

impl SymbolsAhead {
    /// Begins to read.
    pub(crate) fn begin() -> SymbolsAhead {
        let unwanted = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&unwanted);
        let body = move || (KernelSymbols::read_unless(&shared), clock::thread_cpu_ns());
        let thread = std::thread::Builder::new().name("symbols".to_owned()).spawn(body).ok();
        SymbolsAhead { thread, unwanted }
    }

    /// The symbols, once they are read, and the CPU time that the other thread took for them, ns. If there could be no other
    /// thread, they are read here.
    pub(crate) fn wait(mut self) -> (KernelSymbols, u64) {
        let read = self.thread.take().and_then(|thread| thread.join().ok());
        read.unwrap_or_else(|| (KernelSymbols::read(), 0))
    }
}

impl Drop for SymbolsAhead {
    fn drop(&mut self) {
        self.unwanted.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_kernel::function_addresses;

    const FUNCTION: &str = "hrtimer_wakeup";

    #[test]
    fn machine_symbols_are_read_by_another_thread_unless_nobody_wants_them() {
        let [address] = function_addresses([FUNCTION]);
        if address == 0 {
            return punctual_testing::skip("reading symbols ahead", "the kernel hides where its functions are");
        }
        let (symbols, cpu_ns) = SymbolsAhead::begin().wait();
        assert_eq!(symbols.find(address).unwrap().function, FUNCTION);
        assert!(cpu_ns > 0);
        assert_eq!(KernelSymbols::read_unless(&AtomicBool::new(true)).find(address), None);
    }

    #[test]
    fn machine_symbols_that_nobody_waits_for_leave_no_thread_behind() {
        let ahead = SymbolsAhead::begin();
        let unwanted = Arc::clone(&ahead.unwanted);
        drop(ahead);
        assert_eq!(Arc::strong_count(&unwanted), 1, "the thread has ended");
    }
}
