//! Which followed thread is looked at next, for what it waits for or for the connections of its program, and what looks told.

use super::connections::{Connection, WaitedFor};
use super::requests::Requests;
use std::collections::BTreeMap;

impl Requests {
    /// A thread that waits for one thing and of which it is not known yet whether it gets its requests there, for a look at
    /// what it waits for. No thread is looked at for ever.
    pub(crate) fn next_look(&mut self) -> Option<u32> {
        let open = self.threads.iter_mut().filter(|(_, thread)| thread.is_open());
        let (&tid, thread) = open.min_by_key(|(tid, thread)| (thread.looks, **tid))?;
        thread.looks += 1;
        thread.is_looked_at = true;
        Some(tid)
    }

    /// From one time to another a thread waited for this: at the place where it is known to wait, unless that wait began later,
    /// or turns out to have been over by then.
    pub(crate) fn saw(&mut self, tid: u32, (begun_ns, over_ns): (u64, u64), awaited: WaitedFor) {
        let thread = self.threads.get_mut(&tid).filter(|thread| thread.at.is_some() && thread.since_ns <= begun_ns);
        if let Some(thread) = thread {
            thread.seen = Some((over_ns, awaited));
        }
    }

    /// A thread of a program whose connections were not looked at for long, for a look.
    pub(crate) fn next_refresh(&mut self, now_ns: u64) -> Option<u32> {
        let in_reach = self.threads.iter().filter(|(_, thread)| !thread.is_out_of_reach);
        let due = in_reach
            .filter_map(|(&tid, thread)| Some((self.programs.turn(thread.process, now_ns)?, tid, thread.process)));
        let (_, tid, process) = due.min()?;
        self.programs.ask(process, now_ns);
        Some(tid)
    }

    /// Whether a look at what a thread waits for is to list its program's connections as well: if those are due. Then they count as asked for.
    pub(crate) fn ask_to_list(&mut self, tid: u32, now_ns: u64) -> bool {
        let Some(process) = self.threads.get(&tid).map(|thread| thread.process) else { return false };
        let is_due = self.programs.turn(process, now_ns).is_some();
        if is_due {
            self.programs.ask(process, now_ns);
        }
        is_due
    }

    /// Where somebody listens, by descriptors of local sockets of a thread's program.
    pub(crate) fn saw_paths(&mut self, tid: u32, paths: BTreeMap<u32, String>) {
        if let Some(thread) = self.threads.get(&tid) {
            self.programs.saw_paths(thread.process, paths);
        }
    }

    /// From one time to another these were the connections of a thread's program.
    pub(crate) fn saw_connections(&mut self, tid: u32, times: (u64, u64), found: &[Connection]) {
        if let Some(thread) = self.threads.get(&tid) {
            self.programs.saw(thread.process, times, found);
        }
    }

    /// A thread has ended, or may not be looked at: no more looks are lost on it.
    pub(crate) fn give_up_looks_at(&mut self, tid: u32) {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.is_out_of_reach = true;
            self.programs.saw_nothing(thread.process);
        }
    }

    /// A thread's program has too many descriptors to list its connections; whether it accepts any, as far as that was seen.
    pub(crate) fn saw_too_many(&mut self, tid: u32, accepts: bool) {
        if let Some(thread) = self.threads.get(&tid) {
            self.programs.saw_too_many(thread.process, accepts);
        }
    }
}
