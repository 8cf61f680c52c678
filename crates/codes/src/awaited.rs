//! For whom somebody waits.

use crate::table::codes;

codes! {
    /// For whom somebody waits.
    pub enum Awaited {
        /// Whoever holds a lock.
        Holder = 1, "holder";
        /// Whoever ends a wait.
        Ender = 2, "ender";
    }
}
