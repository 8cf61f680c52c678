//! Moments of programs at a terminal, as the programs in the kernel note them. Not kept on disk.

use crate::table::codes;

codes! {
    /// What a thread at a terminal did.
    pub enum Moment {
        /// It ran on a CPU: from then to now.
        Ran = 1, "ran";
        /// It got input. The number 2 was another moment's.
        Got = 3, "got";
        /// It put something out.
        Wrote = 4, "wrote";
        /// A thread at the terminal woke another one, or was woken.
        Woke = 5, "woke";
        /// It became another program.
        Became = 6, "became";
        /// The kernel's worker begins to pass on, or has passed on, what was put into the terminal.
        Came = 7, "came";
        /// A toolkit passes an event on to the program's own code.
        HandedOn = 8, "handed_on";
    }
}
