//! Whom a thread waits for.

use crate::table::codes;

codes! {
    /// Whom a thread waits for.
    pub enum Awaited {
        /// The holder of a lock.
        Holder = 1, "holder";
        /// The one that ends a wait.
        Ender = 2, "ender";
    }
}
