//! Waits that are no part of a late request, or may be none: whoever the late thread waits for may be the one that sends it
//! the next request.

use crate::episode::classify::{Beginning, Classifier, Ender, WaitedFor};
use crate::episode::detail::Detail;
use crate::episode::piece::Piece;
use crate::episode::shared::Shared;
use crate::episode::subject::Subject;
use crate::kind::Kind;
use crate::who::{ANSWER_OR_REQUEST, Who};
use punctual_recording::Stage;
use punctual_recording::episode::Call;

/// What stands instead of a name: nobody is to blame.
const NO_REQUEST: &str = "no request was waiting";

/// What is known of a sleep that seems to end by whoever waits for the sleeper all the while.
const END_NOT_SEEN: &str = "asleep, and what ended that was not seen";

/// Sets apart what makes no request late, or may not. Where the beginning of a request is only assumed, nobody is named for a
/// wait that may be for the next one: a client that asks and a store that is asked look the same from there. Each of them is
/// woken by the late thread, does something or sleeps, and wakes that.
pub(super) fn set_apart(shared: &Shared<'_>, subject: Subject<'_>, pieces: &mut [Piece]) {
    if subject.stage != Stage::Request || !pieces.iter().any(|piece| may_be_for_request(piece) || is_nobodys(piece)) {
        return;
    }
    let classifier = Classifier::new(shared, subject);
    let beginning = classifier.beginning();
    if !matches!(beginning, Beginning::Known) {
        pieces.chunk_by_mut(are_of_one_wait).for_each(|wait| judge_wait(&classifier, &beginning, wait));
    }
}

/// Judges a wait. It is for the next request if that comes by a connection that was accepted. Within a request that is known to
/// begin as somebody asks, it is for an answer if the late thread has asked whoever ended it since; and for the next request if
/// that one asked before, and slept of its own accord for most of it; where the request begins with a new connection, and none of the others is known, whoever
/// slept so may also be the client of one that was accepted before. A call that waits for several things may wait for the next request, whoever
/// it was that the late thread has woken. Where a timer of its own begins it, in a program that accepted connections, that may be the rest of
/// another request, and whoever it has woken since its client or a dispatcher. In one that accepted none, a client with a period and its store do what a
/// server that sleeps within its requests and its client do: each of the two sleeps, writes and reads, see [`may_send_requests`].
fn judge_wait(classifier: &Classifier<'_>, beginning: &Beginning, wait: &mut [Piece]) {
    let Some(last) = wait.last() else { return };
    let end_ns = last.start_ns + last.ns;
    if is_nobodys(last) && classifier.may_wait_for_request(beginning, end_ns) {
        return wait.iter_mut().for_each(become_untold);
    }
    if !may_be_for_request(last) {
        return;
    }
    let ender = classifier.ender(end_ns);
    if matches!(beginning, Beginning::OwnTimer) {
        let is_told = |ender| match classifier.accepts() {
            true => is_surely_asked(ender, last),
            false => is_surely_asked(ender, last) && !may_send_requests(classifier, ender, wait),
        };
        if !ender.is_some_and(is_told) {
            wait.iter_mut().for_each(may_be_nobodys);
        }
        return;
    }
    if matches!(beginning, Beginning::Period) {
        // A worker that takes its jobs in steps of a clock has a period, too: whoever brings those was not asked.
        let brings_jobs = |ender: Ender| classifier.has_period() && !ender.may_serve;
        if ender.is_some_and(|ender| brings_jobs(ender) || may_send_requests(classifier, ender, wait)) {
            wait.iter_mut().for_each(may_be_nobodys);
        }
        return;
    }
    let asker = if let Beginning::AskedBy(asker) = beginning { Some(*asker) } else { None };
    let is_askers = ender.is_some_and(|ender| asker.flatten() == Some(ender.tid));
    let asks = ender.is_some_and(|ender| ender.waited_for == WaitedFor::Request);
    let is_told = !matches!(ender.map(|ender| ender.waited_for), Some(WaitedFor::Request | WaitedFor::Several));
    let sleeper = mostly_slept(wait);
    let may_be_clients = sleeper.is_some() && classifier.may_read_accepted(end_ns);
    let was_asked = ender.is_some_and(|ender| ender.was_asked);
    if asker.is_some() && !is_askers && is_told && was_asked && !may_be_clients {
        return;
    }
    // Of several connections that it reads one after the other any may bring answers.
    if (asks || is_askers && sleeper.is_some()) && !classifier.reads_several() {
        for piece in wait {
            become_nobodys(piece, Kind::Idle, NO_REQUEST, sleeper.clone().map(Detail::Slept));
        }
    } else {
        wait.iter_mut().for_each(may_be_nobodys);
    }
}

/// Whether what comes is an answer, whatever began the request: it comes by a connection that was asked for; or from another thread of the
/// program, which is no client, by what the late thread reads: a word in memory may be that of a queue of connections.
fn is_surely_asked(ender: Ender, last: &Piece) -> bool {
    let is_read = ender.waited_for == WaitedFor::Else && last.call == Some(Call::Read);
    ender.waited_for == WaitedFor::Answer || is_read && ender.was_asked && ender.is_of_its_program
}

/// Whether whoever ended a wait may be the one that asks, where the late thread's timer begins the request: nothing tells which end of a pipe, a semaphore or a
/// queue does. Whoever sends requests sleeps until the next one, or hands on what such a one sends; and the late thread may then be a worker or a store that
/// sleeps now and then within its requests. If its sleeps end whole periods apart, it sets out by itself: only a process that slept itself before it wrote may
/// then be one that asks, and no thread of its own program. So may whoever is at the other end of a connection for which the late thread asked, where nothing
/// tells whether that asks by it: a worker asks its master for one, and is asked by it.
fn may_send_requests(classifier: &Classifier<'_>, ender: Ender, wait: &[Piece]) -> bool {
    let has_period = classifier.has_period();
    if ender.may_ask && may_have_slept(wait) {
        return true;
    }
    match ender.is_of_its_program {
        true => ender.waited_for != WaitedFor::Answer && !has_period && may_have_slept(wait),
        false if has_period => ender.is_unclear && (classifier.may_sleep_within() || wait.iter().any(slept_itself)),
        false => ender.is_unclear && (classifier.may_sleep_within() || may_have_slept(wait)),
    }
}

/// Who slept until a timer of its own for most of a wait, if that was no lock's.
fn mostly_slept(wait: &[Piece]) -> Option<Who> {
    let in_all_ns: u64 = wait.iter().map(|piece| piece.ns).sum();
    let asleep_ns: u64 = wait.iter().filter(|piece| sleeps(piece)).map(|piece| piece.ns).sum();
    let longest = wait.iter().filter(|piece| sleeps(piece)).max_by_key(|piece| piece.ns);
    longest.filter(|_| asleep_ns > in_all_ns / 2).map(sleeper).cloned()
}

fn may_be_nobodys(piece: &mut Piece) {
    if may_be_for_request(piece) {
        become_untold(piece);
    }
}

pub(super) fn become_untold(piece: &mut Piece) {
    become_nobodys(piece, Kind::Unknown, ANSWER_OR_REQUEST, None);
}

/// Nobody is named who cannot have ended this sleep.
pub(super) fn end_not_seen(piece: &mut Piece) {
    if piece.kind == Kind::Wait {
        become_nobodys(piece, Kind::Unknown, END_NOT_SEEN, None);
    }
}

fn become_nobodys(piece: &mut Piece, kind: Kind, words: &str, detail: Option<Detail>) {
    (piece.kind, piece.who, piece.detail) = (kind, words.into(), detail);
    (piece.inside, piece.path, piece.call, piece.cgroup) = (None, Vec::new(), None, None);
    piece.has_ended = false;
    piece.thread = None;
}

/// Whether whoever is named for a wait may be the one that sends the next request: nobody waits for that who writes, locks a
/// file, waits for a child, or for a page.
fn may_be_for_request(piece: &Piece) -> bool {
    let is_for_else = matches!(piece.call, Some(Call::Write | Call::FileLock | Call::Child | Call::None));
    piece.kind == Kind::Wait && piece.who.not_seen().is_none() && !is_for_else
}

/// Whether it is a wait that nobody was seen to end.
fn is_nobodys(piece: &Piece) -> bool {
    piece.kind == Kind::Wait && piece.who.not_seen().is_some()
}

fn are_of_one_wait(one: &Piece, next: &Piece) -> bool {
    one.kind == Kind::Wait && next.kind == Kind::Wait && one.who == next.who
}

/// Whether it is a wait at whose end somebody slept until a timer, and for no lock.
fn sleeps(piece: &Piece) -> bool {
    let Some(((last, _), before)) = piece.path.split_last() else { return false };
    piece.kind == Kind::Wait && *last == Kind::Sleep && before.iter().all(|(kind, _)| *kind == Kind::Wait)
}

/// Whether somebody slept until a timer at the end of a wait, or may have, because for most of it nothing shows what happened there.
fn may_have_slept(wait: &[Piece]) -> bool {
    let in_all_ns: u64 = wait.iter().map(|piece| piece.ns).sum();
    let not_seen_ns: u64 = wait.iter().filter(|piece| ends_unseen(piece)).map(|piece| piece.ns).sum();
    wait.iter().any(sleeps) || not_seen_ns > in_all_ns / 2
}

/// Whether it is a wait of which nothing shows what whoever is at its end did.
fn ends_unseen(piece: &Piece) -> bool {
    let is_unseen = |(kind, who): &(Kind, Who)| {
        matches!(kind, Kind::Unknown | Kind::Blind) || *kind == Kind::Wait && who.not_seen().is_some()
    };
    piece.kind == Kind::Wait && piece.path.last().is_some_and(is_unseen)
}

/// Whether it is one in which whoever is waited for, and nobody behind it, slept until a timer.
fn slept_itself(piece: &Piece) -> bool {
    sleeps(piece) && piece.path.len() == 1
}

/// Who that was: the last of the chain.
fn sleeper(piece: &Piece) -> &Who {
    let awaited = piece.path.iter().rev().find(|(kind, _)| *kind == Kind::Wait);
    awaited.map_or(&piece.who, |(_, who)| who)
}
