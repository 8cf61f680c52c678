//! Calls into a library that panics on input that it should refuse.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether a panic of this thread is an answer and must not be printed.
    static IS_EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// What a call returns; `None` if it panicked, in which case nothing is printed. Whatever it was changing at the time
/// must not be used again.
pub(crate) fn caught<T>(call: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_EXPECTED.get() {
                others(panic);
            }
        }));
    });
    IS_EXPECTED.set(true);
    let result = catch_unwind(AssertUnwindSafe(call));
    IS_EXPECTED.set(false);
    result.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_answer_and_the_next_call_works() {
        assert_eq!(caught(|| 3), Some(3));
        assert_eq!(caught(|| -> i32 { panic!("not to be seen") }), None);
        assert_eq!(caught(|| 4), Some(4));
    }
}
