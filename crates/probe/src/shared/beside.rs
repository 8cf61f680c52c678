//! Loading programs while something else takes its time.

use punctual_kernel::bpf::may_load;
use punctual_kernel::kernel_types;
use punctual_kernel::scheduling::Eager;
use std::panic::resume_unwind;
use std::thread::Builder;

/// Loads something by another thread while this one does something else: the kernel verifies for several threads at once.
pub(crate) fn load_beside<L: Send, T>(load: impl Fn() -> L + Sync, meanwhile: impl FnOnce() -> T) -> (L, T) {
    // Before Linux 5.11 the library raises the limit of locked memory with its first load, and others would not wait for that.
    // Whoever may not load is told so below.
    let _ = may_load();
    std::thread::scope(|scope| {
        let body = || {
            // As whoever gets a measurement ready is.
            let _eager = Eager::begin();
            let _types = kernel_types::keep();
            load()
        };
        let other = Builder::new().name("load".to_owned()).spawn_scoped(scope, body);
        let done = meanwhile();
        let loaded = match other {
            Ok(other) => other.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // The system gives no further thread.
            Err(_) => load(),
        };
        (loaded, done)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_thread_loads_and_this_one_does_the_rest() {
        let here = || std::thread::current().id();
        let (loaded_by, done_by) = load_beside(here, here);
        assert_ne!(loaded_by, here());
        assert_eq!(done_by, here());
    }
}
