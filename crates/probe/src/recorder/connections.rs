//! The connections that followed threads' programs have, as looks at `/proc` found them, and which program is due for a look.
//!
//! All threads of a program share its descriptors (but for one that asked not to, which hardly any does), so a look at one of
//! them counts for all: looks are bounded, and a program may have any number of threads.

use super::late_wakeup::Connections;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// What a thread was seen to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitedFor {
    /// A connection that somebody else makes, or what comes by one that it accepted.
    Request,
    /// What comes by a connection that it asked for.
    Answer,
    /// What comes by a pipe, by a terminal or by a local socket that it did not accept: nothing tells who asks.
    Unclear,
    /// One of a set of such things.
    UnclearSet,
    /// One of several things, among which are requests.
    Either,
    /// One of several things; what they are is not known.
    Several,
}

/// What a thread was seen to wait for, between two times, ns.
#[derive(Clone, Copy)]
pub(super) struct Sight {
    pub(super) begun_ns: u64,
    pub(super) over_ns: u64,
    pub(super) awaited: WaitedFor,
    /// The socket that it read, if it did.
    pub(super) socket: Option<u64>,
}

impl Sight {
    /// Whether the end of a wait at this time, ns, decides whether the thread waited for that: so do all that end after the look began. Where nothing tells who
    /// asks by it, only the wait counts that was known as the look was made: an event loop that is told news by the way waits differently often each time, as
    /// does a server that sleeps within its requests, and so would have no names.
    pub(super) fn is_decided_by(self, end_ns: u64) -> bool {
        self.begun_ns < end_ns || self.awaited.is_unclear()
    }
}

impl WaitedFor {
    /// Whether nothing tells who asks by it.
    pub(super) fn is_unclear(self) -> bool {
        matches!(self, WaitedFor::Unclear | WaitedFor::UnclearSet | WaitedFor::Several)
    }
}

/// A connection that a thread's program has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Connection {
    /// The number of its descriptor.
    pub(crate) descriptor: u32,
    /// What sets it apart from others, also from those that have that number earlier or later.
    pub(crate) inode: u64,
    /// What comes by it.
    pub(crate) brings: WaitedFor,
}

/// How many programs are kept in mind at most: one more, and all are forgotten.
const MAX_PROGRAMS: usize = 8_192;
/// A connection counts once it has been seen twice, this far apart, ns, ...
const STEADY_NS: u64 = 50_000_000;
/// ... and until it has not been seen for this long, ns.
const FRESH_NS: u64 = 1_000_000_000;
/// How long after one look at a program's connections the next is due, ns, ...
const REFRESH_NS: u64 = 400_000_000;
/// ... and how long after the first, ns: until the second none of them counts.
const SETTLE_NS: u64 = 60_000_000;

/// A connection, with the end of the first look that saw it, ns, and the beginning of the last one.
#[derive(Clone, Copy)]
struct Held {
    connection: Connection,
    since_ns: u64,
    until_ns: u64,
}

#[derive(Default)]
struct Program {
    /// By descriptor.
    held: BTreeMap<u32, Held>,
    /// Of local sockets among them, by descriptor, where somebody listens.
    paths: BTreeMap<u32, String>,
    /// Whether it was ever seen to have accepted one, or to listen: those that it has now may be too new to be listed.
    accepts: bool,
    /// The end of the first look that saw them, ns, and the beginning of the last one.
    looked_ns: Option<(u64, u64)>,
    /// Whether it was last seen with more connections that it had accepted than threads.
    has_more_connections: bool,
    /// Whether the last look could not tell them.
    is_untold: bool,
    /// When they were asked for last, ns.
    asked_ns: u64,
    /// When one of its threads was late last, ns; 0: none was.
    late_ns: u64,
    /// Threads that it has made, and that ended before they were seen to be done with anything and to go on.
    made: u64,
    /// Requests of its threads, in which these waited for nobody, that a timer began.
    alone: u64,
}

/// A program that has made so many threads may make one for each piece of work, ...
const MIN_MADE: u64 = 3;
/// ... if so many times as many are no fewer than the requests in which its other threads waited for nobody.
const TO_ALONE: u64 = 10;

impl Program {
    /// Whether it makes a thread for what is to be done, as the C library does for a timer that is to call a function (`SIGEV_THREAD`).
    fn hands_on(&self) -> bool {
        self.made >= MIN_MADE && self.made.saturating_mul(TO_ALONE) >= self.alone
    }

    /// Since when those count that were there at the first look, ns, if they do by now.
    fn settled_ns(&self) -> Option<u64> {
        let (first_ns, last_ns) = self.looked_ns?;
        (first_ns.saturating_add(STEADY_NS) <= last_ns).then_some(first_ns)
    }
}

/// What is known of the connections of followed threads' programs.
#[derive(Default)]
pub(crate) struct Programs {
    by_process: HashMap<u32, Program>,
    ended_processes: u64,
}

impl Programs {
    /// A program's turn among those that are due for a look, the smallest first: the one whose threads were late most recently; of the others,
    /// the one that has not been asked about for longest. `None` if it is not due.
    pub(super) fn turn(&self, process: u32, now_ns: u64) -> Option<(Reverse<u64>, u64)> {
        let Some(program) = self.by_process.get(&process) else { return Some((Reverse(0), 0)) };
        let is_settled = program.is_untold || program.settled_ns().is_some();
        let every_ns = if is_settled { REFRESH_NS } else { SETTLE_NS };
        let is_due = program.asked_ns.saturating_add(every_ns) <= now_ns;
        is_due.then_some((Reverse(program.late_ns), program.asked_ns))
    }

    /// A look at a program was asked for.
    pub(super) fn ask(&mut self, process: u32, now_ns: u64) {
        self.of(process).asked_ns = now_ns;
    }

    /// One of a program's threads was late.
    pub(super) fn was_late(&mut self, process: u32, now_ns: u64) {
        self.of(process).late_ns = now_ns;
    }

    /// From one time to another these were a program's connections.
    pub(super) fn saw(&mut self, process: u32, (begun_ns, over_ns): (u64, u64), found: &[Connection]) {
        let program = self.of(process);
        let before = std::mem::take(&mut program.held);
        let held = |&connection: &Connection| {
            let same = before.get(&connection.descriptor).filter(|held| held.connection == connection);
            let since_ns = same.map_or(over_ns, |held| held.since_ns);
            (connection.descriptor, Held { connection, since_ns, until_ns: begun_ns })
        };
        program.held = found.iter().map(held).collect();
        program.accepts |= found.iter().any(|connection| connection.brings == WaitedFor::Request);
        program.asked_ns = begun_ns;
        program.looked_ns = Some((program.looked_ns.map_or(over_ns, |(first_ns, _)| first_ns), begun_ns));
        program.is_untold = false;
    }

    /// The same look saw where somebody listens, by descriptors of local sockets.
    pub(super) fn saw_paths(&mut self, process: u32, paths: BTreeMap<u32, String>) {
        self.of(process).paths = paths;
    }

    /// The same look counted those that it accepted, and its threads.
    pub(super) fn saw_accepted(&mut self, process: u32, accepted: usize, threads: usize) {
        self.of(process).has_more_connections = accepted > threads && threads > 0;
    }

    /// Whether a program has accepted more connections than it has threads to read them.
    pub(super) fn has_more_connections(&self, process: u32) -> bool {
        self.by_process.get(&process).is_some_and(|program| program.has_more_connections)
    }

    /// A look at one of a program's threads did not succeed: it ended, if others were looked at before, or none may be looked at.
    pub(super) fn saw_nothing(&mut self, process: u32) {
        let program = self.of(process);
        program.is_untold |= program.looked_ns.is_none();
    }

    /// A program has too many descriptors; whether those that were looked at show that it accepts connections.
    pub(super) fn saw_too_many(&mut self, process: u32, accepts: bool) {
        let program = self.of(process);
        program.held.clear();
        program.accepts |= accepts;
        (program.looked_ns, program.is_untold) = (None, true);
    }

    /// A process has ended that accepts no connection, and was not seen to be done with anything and to go on: another program that does may have made it for one of
    /// those.
    pub(super) fn process_ended(&mut self) {
        self.ended_processes += 1;
    }

    /// How many such processes there were, if any other program accepts connections: none if they are too few to have been made for those.
    pub(super) fn ended_processes(&self) -> u64 {
        let accepts = || self.by_process.values().any(|program| program.accepts);
        if self.ended_processes >= MIN_MADE && accepts() { self.ended_processes } else { 0 }
    }

    /// A thread of a program has ended, of which nothing but that was seen, or not.
    pub(super) fn thread_ended(&mut self, process: u32, was_made: bool) {
        if was_made {
            self.of(process).made += 1;
        }
    }

    /// So many more requests of a program's threads began with a timer, and these waited for nobody.
    pub(super) fn were_alone(&mut self, process: u32, requests: u64) {
        if requests > 0 {
            self.of(process).alone += requests;
        }
    }

    /// So many of them do not count as sure.
    pub(super) fn were_not_alone(&mut self, process: u32, requests: u64) {
        if let Some(program) = self.by_process.get_mut(&process) {
            program.alone = program.alone.saturating_sub(requests);
        }
    }

    /// How many threads were made by programs that make one for each piece of work.
    pub(super) fn made(&self) -> u64 {
        self.by_process.values().filter(|program| program.hands_on()).map(|program| program.made).sum()
    }

    /// How many requests of their other threads may only have been handed on to those.
    pub(super) fn handed_on(&self) -> u64 {
        self.by_process.values().filter(|program| program.hands_on()).map(|program| program.alone).sum()
    }

    /// Whether a program accepts connections, as far as was ever seen.
    pub(super) fn has_accepted(&self, process: u32) -> bool {
        self.by_process.get(&process).is_some_and(|program| program.accepts)
    }

    /// Whether a program was looked at, and never seen to accept a connection.
    pub(super) fn accepted_none(&self, process: u32) -> bool {
        self.by_process.get(&process).is_some_and(|program| program.looked_ns.is_some() && !program.accepts)
    }

    /// The connections that a program had for a while by a time, as far as was seen.
    pub(super) fn connections(&self, process: u32, at_ns: u64) -> Connections {
        let program = self.by_process.get(&process);
        let is_settled = |program: &Program| program.settled_ns().is_some_and(|settled_ns| settled_ns <= at_ns);
        let is_unknown = program.is_none_or(|program| !program.is_untold && !is_settled(program));
        let held = program.into_iter().flat_map(|program| program.held.values());
        let is_steady = |held: &&Held| {
            held.since_ns <= at_ns
                && held.since_ns.saturating_add(STEADY_NS) <= held.until_ns
                && held.until_ns.saturating_add(FRESH_NS) >= at_ns
        };
        let mut connections = Connections { is_unknown, ..Connections::default() };
        for Held { connection, .. } in held.filter(is_steady) {
            match connection.brings {
                WaitedFor::Request => connections.accepted.push(connection.descriptor),
                WaitedFor::Answer => connections.connected.push(connection.descriptor),
                WaitedFor::Unclear | WaitedFor::UnclearSet | WaitedFor::Either | WaitedFor::Several => {}
            }
            let path = program.and_then(|program| program.paths.get(&connection.descriptor));
            connections.paths.extend(path.map(|path| (connection.descriptor, path.clone())));
        }
        connections
    }

    fn of(&mut self, process: u32) -> &mut Program {
        if self.by_process.len() >= MAX_PROGRAMS && !self.by_process.contains_key(&process) {
            self.by_process.clear();
        }
        self.by_process.entry(process).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_threads_were_late_last_is_looked_at_first() {
        let mut programs = Programs::default();
        let next = |programs: &Programs, now_ns: u64| {
            let due = (1..=4).filter_map(|process| Some((programs.turn(process, now_ns)?, process)));
            due.min().map(|(_, process)| process)
        };
        (1..=3).for_each(|process| programs.ask(process, u64::from(process)));
        programs.ask(4, REFRESH_NS);
        // Not asked about for longest.
        let all_due = 2 * REFRESH_NS;
        assert_eq!(next(&programs, all_due), Some(1));
        programs.was_late(2, 10);
        programs.was_late(4, 20);
        let mut order = Vec::new();
        while let Some(process) = next(&programs, all_due) {
            order.push(process);
            programs.ask(process, all_due);
        }
        assert_eq!(order, [4, 2, 1, 3]);
        // One that nobody has asked about is due at once.
        assert!(programs.turn(5, 0).is_some());
    }

    /// Nothing tells what a program reads before its connections were seen twice, and whoever cannot be looked at is not waited for.
    #[test]
    fn connections_are_unknown_until_they_were_seen_twice() {
        let mut programs = Programs::default();
        let is_unknown = |programs: &Programs| [9, 11, 400].map(|at_ns| programs.connections(1, at_ns).is_unknown);
        assert_eq!(is_unknown(&programs), [true; 3], "nobody has looked");
        programs.saw(1, (8, 10), &[]);
        assert_eq!(is_unknown(&programs), [true; 3], "seen once");
        assert_eq!(programs.turn(1, 8 + SETTLE_NS - 1), None);
        assert!(programs.turn(1, 8 + SETTLE_NS).is_some(), "the second look comes soon");
        programs.saw(1, (8 + SETTLE_NS, 9 + SETTLE_NS), &[]);
        assert_eq!(is_unknown(&programs), [true, false, false], "seen twice since 10");
        assert_eq!(programs.turn(1, 8 + 2 * SETTLE_NS), None, "and later ones as usual");
        let cannot_tell: [fn(&mut Programs, u32); 2] =
            [Programs::saw_nothing, |programs, process| programs.saw_too_many(process, false)];
        for cannot_tell in cannot_tell {
            let mut programs = Programs::default();
            programs.ask(1, 8);
            cannot_tell(&mut programs, 1);
            assert_eq!(is_unknown(&programs), [false; 3], "nor will it be told");
            assert_eq!((programs.turn(1, 8 + SETTLE_NS), programs.accepted_none(1)), (None, false));
        }
    }

    /// One connection for each request, or more of them than are looked at: that none of them is known does not mean that there is none.
    #[test]
    fn a_program_that_was_seen_to_accept_is_one_that_accepts() {
        let client = Connection { descriptor: 4, inode: 100, brings: WaitedFor::Request };
        let mut programs = Programs::default();
        programs.saw(1, (8, 10), &[client]);
        programs.saw(1, (8 + SETTLE_NS, 9 + SETTLE_NS), &[]);
        programs.saw_too_many(2, true);
        programs.saw_too_many(3, false);
        programs.saw(4, (8, 10), &[]);
        let known = |process: u32| (programs.has_accepted(process), programs.accepted_none(process));
        assert_eq!([1, 2, 3, 4].map(known), [(true, false), (true, false), (false, false), (false, true)]);
    }

    #[test]
    fn a_connection_that_counts_has_the_path_of_who_listens() {
        let mut programs = Programs::default();
        let connection = |descriptor| Connection { descriptor, inode: 100, brings: WaitedFor::Answer };
        for at_ns in [0, 2 * STEADY_NS] {
            programs.saw(1, (at_ns, at_ns + 1), &[connection(4), connection(5)]);
            programs.saw_paths(1, BTreeMap::from([(4, "/run/store.sock".to_owned()), (9, "/run/other".to_owned())]));
        }
        let found = programs.connections(1, STEADY_NS);
        assert_eq!((found.connected, found.paths), (vec![4, 5], vec![(4, "/run/store.sock".to_owned())]));
    }

    #[test]
    fn programs_are_kept_within_bounds() {
        let mut programs = Programs::default();
        (0..3 * MAX_PROGRAMS as u32).for_each(|process| programs.ask(process, 1));
        assert!(programs.by_process.len() <= MAX_PROGRAMS, "{}", programs.by_process.len());
    }
}
