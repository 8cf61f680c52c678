//! Threads and processes that have ended, each of which may have worked on a request that another one handed on.

use super::requests::Requests;

impl Requests {
    /// A thread of a process ended without a wakeup since it last slept, if it ever did: as one that answers one request does.
    pub(crate) fn ended_unseen(&mut self, tid: u32, process: u32) {
        self.lost_sight_of(tid);
        let thread = self.threads.remove(&tid).unwrap_or_default();
        let has_accepted = self.programs.has_accepted(process);
        self.ended += u64::from(has_accepted && thread.accepted.is_empty());
        self.thread_ended(tid, process, !thread.has_returned && !has_accepted);
    }

    /// A thread has ended; whether that was all that was seen of it, in a program that accepts no connections.
    pub(super) fn thread_ended(&mut self, tid: u32, process: u32, is_all: bool) {
        self.programs.thread_ended(process, is_all && tid != process);
        if is_all && tid == process {
            self.programs.process_ended();
        }
    }

    /// Threads of programs that accept connections that ended, and were not seen to wait for any; and those of programs that make one for each piece of work.
    pub(crate) fn ended(&self) -> u64 {
        self.ended + self.programs.made() + self.programs.ended_processes()
    }
}
