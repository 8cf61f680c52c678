//! Which followed thread is looked at next, for what it waits for or for the connections of its program, and what looks told.

use super::connections::{Sight, WaitedFor};
use super::late_wakeup::Connections;
use super::requests::{Requests, Thread};
use super::sources::{ACCEPTED, Source};
use super::stretches::Stretch;
use punctual_recording::episode::Call;

/// One thread is looked at in this many of its waits at most.
pub(super) const MAX_LOOKS_AT_ONE: u8 = 64;

impl Thread {
    /// What a look at a wait says about its place, now that the wait is over; and which socket it was for, if it told.
    pub(super) fn learn(&mut self, place: u32, stretch: &Stretch) -> Option<u64> {
        let seen = self.seen.take_if(|seen| seen.is_decided_by(stretch.expected_ns));
        let seen = seen.filter(|seen| self.since_ns <= seen.begun_ns && seen.over_ns < stretch.expected_ns);
        match seen.map(|seen| seen.awaited) {
            Some(WaitedFor::Request) => self.accepts(place),
            // Of a program that accepts connections, they are among those.
            Some(awaited @ (WaitedFor::Either | WaitedFor::Several))
                if awaited == WaitedFor::Either || self.has_accepted =>
            {
                self.mixed.insert(place);
                self.accepts(place);
            }
            Some(WaitedFor::Answer) => {
                self.asked.insert(place);
            }
            Some(awaited @ (WaitedFor::Unclear | WaitedFor::UnclearSet | WaitedFor::Several)) => {
                let places = if awaited == WaitedFor::Unclear { &mut self.unclear } else { &mut self.unclear_several };
                if (awaited == WaitedFor::Unclear || !self.has_accepted) && places.insert(place) {
                    self.unclear_waits = None;
                    self.open.iter_mut().for_each(|open| open.unclear_waits = None);
                }
            }
            Some(WaitedFor::Either) | None => {}
        }
        seen.and_then(|seen| seen.socket)
    }

    /// Whether a look at what it waits for may tell more about its requests.
    fn is_open(&self) -> bool {
        let tells = |call| matches!(call, Some(Call::Read | Call::Connect | Call::Poll));
        let known = [&self.accepted, &self.asked, &self.unclear];
        let is_new = |place: u32| place != 0 && known.iter().all(|places| !places.contains(&place));
        let is_to_be_told = |source: Source| source.quality < ACCEPTED || self.accepts_at(source) || source.is_timer();
        let is_to_be_found =
            self.at.is_some_and(|(place, call)| is_new(place) && tells(call)) && self.source.is_none_or(is_to_be_told);
        !self.is_looked_at
            && !self.is_out_of_reach
            && self.looks < MAX_LOOKS_AT_ONE
            && (is_to_be_found || self.may_return())
    }
}

impl Requests {
    /// A thread that waits for one thing and of which it is not known yet whether it gets its requests there, for a look at
    /// what it waits for. No thread is looked at for ever.
    pub(crate) fn next_look(&mut self) -> Option<u32> {
        let open = self.threads.iter_mut().filter(|(_, thread)| thread.is_open());
        let (&tid, thread) = open.min_by_key(|(tid, thread)| (thread.looks, **tid))?;
        thread.looks += 1;
        thread.is_looked_at = true;
        thread.note_look();
        Some(tid)
    }

    /// From one time to another a thread waited for this: in the wait that turns out to have lasted all that time, if one does. What is known of the thread
    /// may be older than the look; see [`Sight::is_decided_by`].
    pub(crate) fn saw(&mut self, tid: u32, (begun_ns, over_ns): (u64, u64), awaited: WaitedFor) {
        let thread = self.threads.get_mut(&tid).filter(|thread| thread.at.is_some() && thread.since_ns <= begun_ns);
        if let Some(thread) = thread {
            thread.seen = Some(Sight { begun_ns, over_ns, awaited, socket: None });
        }
    }

    /// The look that began then, ns, saw by which socket.
    pub(crate) fn saw_socket(&mut self, tid: u32, begun_ns: u64, socket: u64) {
        let seen = self.threads.get_mut(&tid).and_then(|thread| thread.seen.as_mut());
        if let Some(seen) = seen.filter(|seen| seen.begun_ns == begun_ns) {
            seen.socket = Some(socket);
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

    /// Whether a thread's program accepts connections, as far as was ever seen.
    pub(crate) fn has_accepted(&self, tid: u32) -> bool {
        self.threads.get(&tid).is_some_and(|thread| self.programs.has_accepted(thread.process))
    }

    /// A request of a thread was late.
    pub(crate) fn was_late(&mut self, tid: u32, now_ns: u64) {
        if let Some(thread) = self.threads.get(&tid) {
            self.programs.was_late(thread.process, now_ns);
        }
    }

    /// The connections that a thread's program had for a while by a time, as far as was seen: not of one that has ended.
    pub(crate) fn connections(&self, tid: u32, at_ns: u64) -> Connections {
        let known = self.threads.get(&tid).map(|thread| self.programs.connections(thread.process, at_ns));
        known.unwrap_or_else(|| Connections { is_unknown: true, ..Connections::default() })
    }

    /// From one time to another these were the connections of a thread's program.
    #[cfg(test)]
    pub(crate) fn saw_connections(&mut self, tid: u32, times: (u64, u64), found: &[super::connections::Connection]) {
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
}
