//! System calls by what they wait for.

use crate::table::codes;

codes! {
    /// What a thread called the kernel for, as far as it says what it waits for or whom it wakes.
    pub enum Call {
        /// Something else.
        Other = 1, "another call";
        /// To sleep until a time.
        Sleep = 2, "sleep";
        /// To wait for a word in memory, or wake those who do: locks, conditions and semaphores of programs.
        Futex = 3, "futex";
        /// To take something out of a pipe, a socket, a file, ...
        Read = 4, "read";
        /// To put something in.
        Write = 5, "write";
        /// To wait for one of several.
        Poll = 6, "poll";
        /// To connect with another program.
        Connect = 7, "connect";
        /// To lock a file.
        FileLock = 8, "file lock";
        /// To wait for a child, or to make one.
        Child = 9, "child";
        /// To wait for a semaphore or a message queue of the kernel's.
        Queue = 10, "semaphore or queue";
        /// For nothing: it faulted, or was interrupted in its program.
        None = 11, "no call";
        /// To wait for a signal.
        Signal = 12, "signal";
        /// To go on with a wait in whose midst it was stopped, or had a signal.
        Restart = 13, "a wait that goes on";
    }
}
