//! Where a followed thread's request begins and ends: whether it waits for its next unit of work, or for something that
//! it needs for the current one.
//!
//! The kernel knows no requests. A thread gets its work from a *source*, where it waits when it has nothing to do: a
//! timer, a device, the network, a queue. A request begins when the wait for the source ends, and is over when the
//! thread waits for it again: at the same place of its program or, for a timer, anywhere. A wait for a source of a
//! better kind (see [`quality`]) than the one assumed so far makes that its source from then on; so does one for what comes
//! by a connection that the thread's program accepted ([`super::looks`]), also in a call that waits for several. Every other wait is part of
//! the request, and so is whatever a timer ends elsewhere in a thread that was seen to wait for such a connection. Loops that are behind: [`super::behind`].

use super::asks::Asks;
use super::behind::Usual;
use super::collects::Collects;
use super::connections::{Programs, Sight};
use super::cut::Cut;
use super::in_vain::InVain;
use super::pauses::Pauses;
use super::request::Open;
pub(crate) use super::request::{Known, Request};
use super::returns::Returns;
use super::sleeps::Sleeps;
use super::sources::{ACCEPTED, BY_A_TIMER, Source, quality};
pub(crate) use super::stretches::{EndedBy, Pause, Stretch};
use super::turns::Turns;
use super::who_asks::WhoAsks;
use punctual_recording::RecorderSummary;
use punctual_recording::episode::Call;
use std::collections::{BTreeSet, HashMap};

/// A request with more waits than this never came back to its assumed source: that was something else.
const MAX_WAITS: u32 = RecorderSummary::MAX_WAITS as u32;
/// How many threads are kept in mind at most: one more, and all are forgotten.
pub(super) const MAX_THREADS: usize = 8_192;
/// How many of the places where a thread waits for answers are kept in mind at most.
const MAX_PLACES: usize = 64;
/// A thread that sleeps more often than this until a timer, and never waits for requests meanwhile, has a period.
pub(super) const MAX_SLEEPS: u8 = 16;

#[derive(Default)]
pub(super) struct Thread {
    pub(super) open: Option<Open>,
    pub(super) source: Option<Source>,
    /// Where it waits, or last did.
    pub(super) at: Option<(u32, Option<Call>)>,
    /// Since when, ns.
    pub(super) since_ns: u64,
    /// Places at which something other than a timer ended waits within requests.
    pub(super) answered: BTreeSet<u32>,
    /// What it was last seen to wait for.
    pub(super) seen: Option<Sight>,
    /// Where it waits for requests: connections that it accepts or accepted. A look adds to these, so that there are few.
    pub(super) accepted: BTreeSet<u32>,
    /// Those of them where something else may come, too.
    pub(super) mixed: BTreeSet<u32>,
    /// How often it has slept until a timer and for nothing else since it last waited there, ...
    pub(super) sleeps: u8,
    /// ... and for how long each time.
    pub(super) lengths: Sleeps,
    /// How often it waits within a request.
    usual: Usual,
    /// Whether its last request counts as sure because it seems to end with a sleep of its clock: the end of that sleep shows it.
    pub(super) is_sure_by_clock: bool,
    /// Which of its requests may be wakeups in vain.
    pub(super) in_vain: InVain,
    /// Whether it reads several connections that it accepted in turns.
    pub(super) turns: Turns,
    /// Whether it goes back to a connection that it had before it accepted another.
    pub(super) returns: Returns,
    /// Whether it asks one after the other of those whose connections its program accepted.
    pub(super) collects: Collects,
    /// How many of its requests count as sure since somebody asked.
    sure_asked: u64,
    /// How many do since a timer of its own began them, as its clock did.
    pub(super) sure_by_clock: u64,
    /// How long it sleeps between what comes by those that it accepted.
    pub(super) pauses: Pauses,
    /// Whether it is asked by those for which it asked.
    pub(super) who_asks: WhoAsks,
    /// Whether its program made it while it was followed, and it has not been woken yet, ...
    pub(super) is_new: bool,
    /// ... or was woken first by what may be a request.
    pub(super) is_made: bool,
    /// Whether it asks within those, and waits for nobody.
    pub(super) asks: Asks,
    /// Whether it was seen to be done with a request, and to go on.
    pub(super) has_returned: bool,
    /// Where it waits for answers.
    pub(super) asked: BTreeSet<u32>,
    /// Where it waits for answers, or for requests.
    pub(super) unclear: BTreeSet<u32>,
    /// Where it waits for one of several things of which nothing tells who asks by them, in a program that accepts no connections.
    pub(super) unclear_several: BTreeSet<u32>,
    /// How often the last request did that a timer began, if at all, ...
    pub(super) unclear_waits: Option<u32>,
    /// ... and whether that was not always the same: whoever has a period asks as often each time.
    varies: bool,
    /// Where else it waits for what comes by a connection or the like: there it may get its requests.
    others: BTreeSet<u32>,
    /// How often it was looked at for that, ...
    pub(super) looks: u8,
    /// ... and whether it was while it waits where it does.
    pub(super) is_looked_at: bool,
    /// Whether looks at it do not succeed.
    pub(super) is_out_of_reach: bool,
    /// Its process, which has its connections, ...
    pub(super) process: u32,
    /// ... and whether that accepts some, ...
    pub(super) has_accepted: bool,
    /// ... or more of them than it has threads, ...
    pub(super) has_more_connections: bool,
    /// ... or was seen to have none.
    accepted_none: bool,
}

/// What is known about the followed threads' requests.
#[derive(Default)]
pub(crate) struct Requests {
    pub(super) threads: HashMap<u32, Thread>,
    pub(super) programs: Programs,
    cut: Cut,
    not_sure_after_all: u64,
    /// See [`Requests::unanswered`].
    pub(super) unanswered: u64,
    /// Threads that ended, see [`RecorderSummary::ended_threads`](punctual_recording::RecorderSummary::ended_threads).
    pub(super) ended: u64,
}

impl Requests {
    /// Takes in a thread's next stretch of work; returns the requests that are over because of it.
    pub(crate) fn next(&mut self, tid: u32, stretch: &Stretch) -> impl Iterator<Item = Request> + use<> {
        if self.threads.len() >= MAX_THREADS && !self.threads.contains_key(&tid) {
            let lost = self.open().count();
            (0..lost).for_each(|_| self.cut.lose());
            self.threads.clear();
        }
        let thread = self.threads.entry(tid).or_default();
        thread.process = stretch.process;
        thread.has_accepted = self.programs.has_accepted(stretch.process);
        thread.accepted_none = self.programs.accepted_none(stretch.process);
        thread.has_more_connections = self.programs.has_more_connections(stretch.process);
        thread.note_wait(stretch);
        let not_sure = u64::from(thread.ended_out_of_step(stretch));
        let before = thread.end_of_wait(stretch, &mut self.cut);
        thread.begin(stretch);
        let after = thread.pause(stretch);
        let sure = || [before, after].into_iter().flatten().filter(|over| over.known.is_sure());
        thread.sure_asked += sure().filter(|over| over.known.is_asked_for).count() as u64;
        thread.sure_by_clock += sure().filter(|over| over.known.is_by_own_timer).count() as u64;
        let not_sure = not_sure + thread.not_by_clock();
        thread.are_not_sure(not_sure);
        self.not_sure_after_all += not_sure;
        if thread.may_ask() {
            self.not_sure_after_all += std::mem::take(&mut thread.sure_asked);
        }
        thread.has_returned |= before.is_some() || after.is_some() && stretch.then != Pause::Ends;
        let (is_of_accepting, answered) =
            (thread.has_accepted && thread.accepted.is_empty(), thread.has_returned || thread.has_accepted);
        let alone = sure().filter(|over| over.known.is_alone).count() as u64;
        self.note_by_clock(tid, sure().filter(|over| over.known.is_by_own_timer).count() as u64, alone);
        if stretch.then == Pause::Ends {
            self.ended += u64::from(is_of_accepting);
            self.thread_ended(tid, stretch.process, !answered);
            self.threads.remove(&tid);
        }
        [before, after].into_iter().flatten()
    }

    /// Something about a thread was not seen: since when it works on what is not known any more.
    pub(crate) fn lost_sight_of(&mut self, tid: u32) {
        if let Some(thread) = self.threads.get_mut(&tid) {
            if thread.open.is_some() {
                self.cut.lose();
            }
            (thread.open, thread.at, thread.seen, thread.is_sure_by_clock) = (None, None, None, false);
        }
    }

    /// From now on requests are late beyond this, ns, if that is known already.
    pub(crate) fn late_after(&mut self, threshold_ns: Option<u64>) {
        self.cut.late_after(threshold_ns);
    }

    /// How many requests that count as sure turned out, after they were handed out, to end with a sleep at whose end their thread's clock would not have woken
    /// it, as one between two tries; or are those of one that was seen later to choose when it wakes, or to ask; or may only have been handed on to threads that
    /// were made for them.
    pub(crate) fn not_sure_after_all(&self) -> u64 {
        self.not_sure_after_all + self.programs.handed_on()
    }

    /// Requests whose end was not found: more than [`MAX_WAITS`] waits, none of them for the source.
    pub(crate) fn given_up(&self) -> u64 {
        self.cut.given_up()
    }

    /// Requests that have begun and whose end was not seen, or not yet.
    pub(crate) fn cut(&self) -> u64 {
        self.cut.lost() + self.open().count() as u64
    }

    /// How many of both may have been late by now, or hold some that were.
    pub(crate) fn maybe_late_cut(&self, now_ns: u64) -> u64 {
        self.cut.maybe_late(self.open().map(|open| open.expected_ns), now_ns)
    }

    fn open(&self) -> impl Iterator<Item = &Open> {
        self.threads.values().filter_map(|thread| thread.open.as_ref())
    }
}

impl Thread {
    /// Whether a source is one of the places where it waits for requests, and nothing better.
    pub(super) fn accepts_at(&self, source: Source) -> bool {
        source.quality == ACCEPTED && self.accepted.contains(&source.place)
    }

    /// Whether a place is taken for one where a server waits for what it asked for: what it reads there is nothing that it accepted, while its program
    /// has accepted connections, and it waits elsewhere, too. A program that has accepted none may fetch its work, or be sent it by a pipe.
    fn is_for_answers(&self, place: u32) -> bool {
        let is_of_none = self.asked.contains(&place) || self.unclear.contains(&place);
        is_of_none && !self.others.is_empty() && self.has_accepted
    }

    /// Whether a request begins with a stretch because it is time, and is no rest of another one: not so at a place where somebody
    /// answers, up to a time limit, nor where a server may have slept within it.
    fn is_by_own_timer(&self, stretch: &Stretch) -> bool {
        let is_answered = self.at.is_some_and(|(place, _)| self.answered.contains(&place));
        stretch.ended_by == EndedBy::Timer && !is_answered && self.accepted.is_empty() && self.accepted_none
    }

    /// Whether what comes at a place is surely a request.
    fn is_asked_at(&self, place: u32) -> bool {
        self.accepted.contains(&place) && !self.mixed.contains(&place) && self.is_source(place) && !self.may_ask()
    }

    fn is_at_source(&self, place: u32) -> bool {
        self.source.is_some_and(|source| source.place == place)
    }

    /// Whether a request is over when it waits at a place. Of connections that were accepted none is better than another: a
    /// worker serves one after the other.
    pub(super) fn is_source(&self, place: u32) -> bool {
        let is_another = |source| self.accepts_at(source) && self.accepted.contains(&place);
        self.source.is_some_and(|source| source.place == place || is_another(source))
    }

    /// Whether nothing tells who asks by what it waits for at a place.
    pub(super) fn is_unclear(&self, place: u32) -> bool {
        self.unclear.contains(&place) || self.unclear_several.contains(&place) && !self.has_accepted
    }

    /// Whether it waits so anywhere.
    fn waits_unclearly(&self) -> bool {
        !self.unclear.is_empty() || !self.unclear_several.is_empty() && !self.has_accepted
    }

    /// It waits for requests at a place. Its time limit there is no other source.
    pub(super) fn accepts(&mut self, place: u32) {
        self.accepted.insert(place);
        self.answered.remove(&place);
        if let Some(source) = self.source.as_mut().filter(|source| source.place == place) {
            source.quality = ACCEPTED;
        }
    }

    fn note_other(&mut self, place: u32, call: Option<Call>) {
        if self.asked.contains(&place) || self.unclear.contains(&place) {
            self.others.remove(&place);
        } else if matches!(call, Some(Call::Read | Call::Connect | Call::Poll)) && self.others.len() < MAX_PLACES {
            self.others.insert(place);
        }
    }

    /// What the wait before a stretch tells of where the thread waits for what.
    fn note_wait(&mut self, stretch: &Stretch) {
        let Some((place, call)) = self.at else { return };
        let socket = self.learn(place, stretch);
        self.note_return(place, call, socket);
        self.turns.waited(place, call, self.accepted.contains(&place));
        self.note_collecting(place, call);
        self.note_other(place, call);
        self.note_who_asks(place, call, stretch);
        self.note_sleep(place, call, stretch);
    }

    /// The wait before a stretch is over: the request that ended when that wait began, if one did.
    fn end_of_wait(&mut self, stretch: &Stretch, cut: &mut Cut) -> Option<Request> {
        let (place, call) = self.at?;
        let ended_by = stretch.ended_by;
        let is_for_answers = self.is_for_answers(place);
        let is_a_sleep = |source: Source| source.is_timer() && !self.accepted.contains(&source.place);
        let slept_within = self.is_a_server() && self.source.is_some_and(is_a_sleep);
        if is_for_answers && self.is_at_source(place) || slept_within {
            // What seemed to begin there was the rest of another one.
            (self.source, self.open) = (None, None);
        }
        let is_within = self.sleeps_within(place, call, Some(ended_by));
        // The timer that woke it first may have been the time limit of this call: a loop with a tick.
        let may_be_first = call == Some(Call::Poll) && self.is_at_source(0);
        // A thread that is otherwise answered there, and for once woken by a timer, waited in vain.
        let in_vain = ended_by == EndedBy::Timer && self.answered.contains(&place) && !may_be_first;
        let quality = match (self.accepted.contains(&place), in_vain || is_for_answers || is_within) {
            (true, _) => ACCEPTED,
            (false, true) => 0,
            (false, false) => quality(ended_by, call),
        };
        let found = Source { place, quality };
        let is_better = self
            .source
            .is_none_or(|source| found.quality > source.quality || may_be_first && found.quality == source.quality);
        let is_source = !is_for_answers && !is_within && (self.is_source(place) || is_better);
        // Nobody was ever seen to answer there: it is a sleep.
        let is_sleep = found.quality >= BY_A_TIMER;
        let waits_since = self.open.as_mut().and_then(|open| open.waits_since.take());
        if is_source {
            self.source = Some(Source { quality: self.quality_at(place).max(found.quality), ..found });
        } else if ended_by != EndedBy::Timer && waits_since.is_some() && self.answered.len() < MAX_PLACES {
            self.answered.insert(place);
        }
        let until_ns = waits_since?;
        let is_unclear = self.is_unclear(place);
        if let Some(waits) = self.open.as_mut().and_then(|open| open.unclear_waits.as_mut()) {
            *waits += u32::from(is_unclear);
        }
        if is_source || is_sleep {
            let over = self.over(until_ns);
            // What ended it is known by now.
            self.is_sure_by_clock = false;
            return over.map(|over| if self.slept_out_of_step(stretch) { over.out_of_step() } else { over });
        }
        let sleeps = is_within && call == Some(Call::Sleep);
        if let Some(open) = &mut self.open {
            let waited_ns = stretch.expected_ns.saturating_sub(until_ns);
            let slept_ns = if is_within { waited_ns.max(1) } else { 0 };
            open.note_wait(slept_ns, (!sleeps).then_some((waited_ns, place)), self.asked.contains(&place));
        }
        if let Some(open) = self.open.take_if(|open| open.waits >= MAX_WAITS) {
            cut.give_up(open.expected_ns, stretch.expected_ns);
            self.source = (!is_for_answers).then_some(found);
            self.answered.clear();
        }
        None
    }

    fn quality_at(&self, place: u32) -> u8 {
        self.source.filter(|source| source.place == place).map_or(0, |source| source.quality)
    }

    fn begin(&mut self, stretch: &Stretch) {
        if self.open.is_some() {
            return;
        }
        if self.at.is_none() {
            // Where it waited until then is not known. A timer is a source wherever it is, but for one that has another.
            self.open = self.first_of_made(stretch);
            if stretch.ended_by != EndedBy::Timer || !self.accepted.is_empty() {
                return;
            }
            self.source.get_or_insert(Source { place: 0, quality: BY_A_TIMER });
        }
        let Stretch { expected_ns, ended_by: by, .. } = *stretch;
        let is_within = |(place, call)| self.is_for_answers(place) || self.sleeps_within(place, call, Some(by));
        if self.at.is_some_and(is_within) {
            return;
        }
        let (place, call) = self.at.unwrap_or_default();
        // With an answer a loop with a timer goes on, and at most sends the next request at once.
        let has_timer = self.source.is_some_and(Source::is_timer) && !self.is_source(place);
        if by != EndedBy::Timer && has_timer && self.answered.contains(&place) {
            let due_ns = self.lengths.last_due_ns(stretch.ran_ns).filter(|_| self.accepted_none);
            self.open = self.usual.resumed(stretch, due_ns);
            return;
        }
        let (is_bounded, is_by_own_timer) = (self.is_asked_at(place), self.is_by_own_timer(stretch));
        let is_asked_for = is_bounded && by != EndedBy::Timer;
        let begins_by_timer = by == EndedBy::Timer;
        let is_in_step = begins_by_timer && self.lengths.ended_in_step(expected_ns);
        let known = Known {
            is_asked_for,
            waits_for_answers: true,
            is_by_own_timer,
            is_bounded,
            is_in_step,
            ..Known::default()
        };
        let is_by_timer = begins_by_timer && !self.accepted.contains(&place);
        let (is_of_several, unclear_waits) = (call == Some(Call::Poll), self.waits_unclearly().then_some(0));
        self.open = Some(Open {
            expected_ns,
            place,
            known,
            is_by_timer,
            begins_by_timer,
            is_of_several,
            unclear_waits,
            ..Open::default()
        });
    }

    /// The request that is over, if one has begun.
    fn over(&mut self, end_ns: u64) -> Option<Request> {
        let open = self.open.take()?;
        let Open { expected_ns, known, waits, is_by_timer, is_of_several, unclear_waits, .. } = open;
        let may_be_several = self.usual.over(&open, end_ns, self.lengths.period_ns());
        let is_after_answer = !is_by_timer && self.asked.contains(&open.place);
        if let Some(waits) = unclear_waits.filter(|waits| is_by_timer && *waits > 0) {
            self.varies |= self.unclear_waits.replace(waits).is_some_and(|before| before != waits);
        }
        // If not all places were known as it began, it may have waited there.
        let is_unclear = unclear_waits.map_or_else(|| self.waits_unclearly(), |waits| waits > 0);
        let sleeps_within = is_unclear && self.lengths.are_for_a_while();
        let may_be_part =
            is_by_timer && (self.varies || sleeps_within || self.has_accepted && !self.answered.is_empty());
        let asker_unknown = self.asker_is_unknown(&open);
        let has_clock = known.is_by_own_timer && (known.waits_for_answers || self.lengths.are_regular());
        let is_bounded =
            !(may_be_part || may_be_several || is_after_answer || self.asks_by_accepted() || asker_unknown)
                && (known.is_bounded || waits == 0 && !is_of_several || has_clock);
        let may_sleep_within = is_by_timer && self.lengths.may_be_for_a_while();
        let has_period = is_by_timer && self.lengths.have_a_period();
        let may_be_tick = open.begins_by_timer && self.has_accepted && !may_be_part;
        let known = Known {
            may_be_part,
            may_sleep_within,
            has_period,
            asker_unknown,
            may_be_several,
            may_be_tick,
            is_after_answer,
            is_alone: known.is_by_own_timer && !open.has_waited,
            is_bounded,
            is_asked_for: known.is_asked_for && !self.may_ask() && !asker_unknown,
            waits_for_answers: known.waits_for_answers && !(asker_unknown && is_by_timer),
            ..known
        };
        self.is_sure_by_clock = known.is_by_own_timer && known.is_sure();
        Some(Request { expected_ns, end_ns, known })
    }

    /// What comes after a stretch: the request that is over then, if that is known already.
    fn pause(&mut self, stretch: &Stretch) -> Option<Request> {
        let is_over = match stretch.then {
            Pause::WithinWork => {
                // Whatever ends that, it is not the source.
                self.at = None;
                return None;
            }
            Pause::Waits { place, call } => {
                self.at = Some((place, call));
                (self.since_ns, self.is_looked_at) = (stretch.until_ns, false);
                // All that can be said about an unknown place is that it waits there.
                let is_sleep = call == Some(Call::Sleep) && !self.sleeps_within(place, call, None);
                is_sleep || place == 0 || self.is_source(place)
            }
            Pause::Ends => true,
        };
        if is_over {
            self.open = self.open.filter(|open| !open.is_not_sent());
            let may_be_in_vain = self.may_be_in_vain(stretch);
            let over = self.over(stretch.until_ns);
            return over.map(|over| Request { known: Known { may_be_in_vain, ..over.known }, ..over });
        }
        let next = self.open.as_ref().and_then(|open| self.usual.next(open, stretch, self.lengths.period_ns()));
        let over = next.and_then(|_| self.over(stretch.ran_ns));
        self.open = next.or_else(|| self.open.take());
        if let Some(open) = &mut self.open {
            open.waits += 1;
            open.waits_since = Some(stretch.until_ns);
        }
        over
    }
}

#[cfg(test)]
#[path = "requests_tests.rs"]
mod tests;
