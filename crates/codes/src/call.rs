//! System calls by what they wait for.

use crate::table::codes;

codes! {
    /// What a thread called the kernel for, as far as that says what it waits for or whom it wakes.
    pub enum Call {
        /// Something else.
        Other = 1, "another call";
        /// To sleep until a time.
        Sleep = 2, "sleep";
        /// To wait for a word in memory, or wake those who wait for it: programs' locks, conditions and semaphores.
        Futex = 3, "futex";
        /// To take something out of a pipe, a socket, a file, ...
        Read = 4, "read";
        /// To put something in.
        Write = 5, "write";
        /// To wait for one of several.
        Poll = 6, "poll";
        /// To connect to another program.
        Connect = 7, "connect";
        /// To lock a file.
        FileLock = 8, "file lock";
        /// To wait for a child, or to make one.
        Child = 9, "child";
        /// To wait for one of the kernel's semaphores or message queues.
        Queue = 10, "semaphore or queue";
        /// For nothing: it faulted, or was interrupted in its program.
        None = 11, "no call";
        /// To wait for a signal.
        Signal = 12, "signal";
        /// To go on with a wait during which it was stopped or got a signal.
        Restart = 13, "a wait that goes on";
    }
}
