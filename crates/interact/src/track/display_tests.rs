//! Inputs to a program in a window, written down event by event, and what must come of them.

use super::*;
use punctual_recording::Outcome;

const MS: u64 = 1_000_000;
const SERVER: u32 = 50;
pub(super) const PROGRAM: u32 = 7;
/// Inside the program, which is then a terminal emulator: a process of its own, which the server does not know.
pub(super) const SHELL: u32 = 30;

/// What happens, in ms.
#[derive(Clone, Copy)]
pub(super) enum Then {
    Typed(u64),
    /// The server gets it.
    Delivered(u64),
    /// The program is told.
    Got(u64, u32),
    Handed(u64, u32),
    Drawn(u64),
    /// The server has run since then, and goes to sleep.
    Served(u64, u64),
    /// Sleeps for something else.
    Sleeps(u64, u32),
    /// Waits from then on, until this time at most.
    Waits(u64, u32, Option<u64>),
    /// The server tells the program something, and wakes it.
    ServerWakes(u64, u32),
    Wakes(u64, u32, u32),
    /// One of the kernel's own threads wakes it.
    KernelWakes(u64, u32),
    /// Writes to a terminal.
    Tells(u64, u32),
    /// A timer wakes it.
    TimerWakes(u64, u32),
    /// The typist is told, some time later, that a compositor has shown something.
    Shown(u64),
}

fn moment(at: u64, kind: Moment, tid: u32) -> Seen {
    let mut seen = Seen::invented(at * MS, kind, tid);
    seen.process = if tid == SHELL { SHELL } else { PROGRAM };
    seen
}

fn woke(at: u64, waker: u32, woken: u32) -> Seen {
    let mut seen = moment(at, Moment::Woke, waker);
    seen.value = u64::from(woken);
    seen
}

pub(super) fn play(events: &[Then]) -> (Vec<Taken>, u64) {
    play_with(Tracker::of_display(true), events)
}

fn play_with(mut tracker: Tracker, events: &[Then]) -> (Vec<Taken>, u64) {
    (taken(&mut tracker, events), tracker.background_outputs())
}

/// Each input's outcome as it is written down, when it was seen, and until when something came of which it is not known
/// whether that was the answer; ms.
pub(super) fn written(events: &[Then]) -> Vec<(Option<Outcome>, Option<u64>, Option<u64>)> {
    let mut tracker = Tracker::of_display(true);
    let taken = taken(&mut tracker, events);
    let doubts = tracker.take_doubts();
    let rows = taken.into_iter().map(|Taken { mut row, .. }| {
        doubts.iter().for_each(|doubt| doubt.note(&mut row));
        (row.outcome, row.seen_ns.map(|at| at / MS), row.perhaps_ns.map(|at| at / MS))
    });
    rows.collect()
}

fn taken(tracker: &mut Tracker, events: &[Then]) -> Vec<Taken> {
    let mut done = Vec::new();
    for event in events {
        let seen = match *event {
            Then::Typed(at) => {
                let (begin_ns, injected_ns) = (at * MS, at * MS + 10_000);
                tracker.put_in(Input {
                    kind: "key".to_owned(),
                    label: "a".to_owned(),
                    begin_ns,
                    injected_ns,
                    ..Input::default()
                });
                continue;
            }
            Then::Shown(at) => {
                tracker.arrived(at * MS, 4);
                continue;
            }
            Then::TimerWakes(at, tid) => woke(at, 0, tid).among(false, true, true),
            Then::Delivered(at) => moment(at, Moment::Got, SERVER).of_servers(),
            Then::Drawn(at) => moment(at, Moment::Wrote, SERVER).of_servers(),
            Then::Served(from, at) => {
                let mut seen = moment(at, Moment::Ran, SERVER).of_servers().sleeping(false, false);
                seen.begin_ns = from * MS;
                seen
            }
            Then::Sleeps(at, tid) => moment(at, Moment::Ran, tid).sleeping(false, false),
            Then::Got(at, tid) => moment(at, Moment::Got, tid),
            Then::Handed(at, tid) => moment(at, Moment::Wrote, tid),
            Then::Waits(at, tid, limit) => {
                let mut seen = moment(at, Moment::Ran, tid).sleeping(true, false);
                (seen.begin_ns, seen.limit_ns) = (at * MS - 100, limit.map(|limit| limit * MS));
                seen
            }
            Then::ServerWakes(at, tid) => {
                tracker.seen(&moment(at, Moment::Wrote, SERVER).of_servers().to_others());
                woke(at, SERVER, tid).among(false, true, false)
            }
            Then::Wakes(at, waker, woken) => woke(at, waker, woken).among(true, true, false),
            Then::KernelWakes(at, woken) => woke(at, 90, woken).among(false, true, false).by_kernels(),
            Then::Tells(at, tid) => moment(at, Moment::Wrote, tid).into_terminal(),
        };
        tracker.seen(&seen);
        done.extend(tracker.take_done(seen.at_ns));
    }
    done.extend(tracker.finish(10_000 * MS));
    done
}

fn told(taken: &Taken) -> (Option<Outcome>, Option<u64>, Option<u64>) {
    (taken.row.outcome, taken.row.seen_ns.map(|at| at / MS), taken.handed_ns.map(|at| at / MS))
}

use Then::{
    Delivered, Drawn, Got, Handed, KernelWakes, Served, ServerWakes, Shown, Sleeps, Tells, TimerWakes, Typed, Waits,
    Wakes,
};

/// A key that the program gets 2 ms after it was typed.
pub(super) fn key(at: u64) -> [Then; 4] {
    [Typed(at), Delivered(at + 1), ServerWakes(at + 1, PROGRAM), Got(at + 2, PROGRAM)]
}

#[test]
fn a_key_is_seen_when_the_server_has_drawn_it() {
    let (taken, background) = play(&[
        Waits(50, PROGRAM, None),
        Typed(100),
        Delivered(101),
        ServerWakes(102, PROGRAM),
        Got(103, PROGRAM),
        Handed(104, PROGRAM),
        Drawn(105),
        Handed(106, PROGRAM),
        Waits(107, PROGRAM, None),
        Drawn(108),
        // Its cursor blinks.
        Handed(600, PROGRAM),
        Drawn(601),
    ]);
    assert_eq!(told(&taken[0]), (Some(Outcome::Seen), Some(108), Some(106)));
    let row = &taken[0].row;
    assert_eq!((row.got_ns, row.blocked_ns), (Some(103 * MS), Some(107 * MS)));
    assert_eq!((taken[0].writer.as_ref().unwrap().0, background), (PROGRAM, 1));
}

#[test]
fn what_is_drawn_by_a_timer_of_the_keys_belongs_to_it_and_a_cursors_does_not() {
    for (due, expected) in [(130, 131), (700, 105)] {
        let (taken, _) = play(&[
            Waits(50, PROGRAM, None),
            Typed(100),
            Delivered(101),
            ServerWakes(102, PROGRAM),
            Got(103, PROGRAM),
            Handed(104, PROGRAM),
            Drawn(105),
            Waits(106, PROGRAM, Some(due)),
            Handed(due, PROGRAM),
            Drawn(due + 1),
            Waits(due + 2, PROGRAM, None),
        ]);
        assert_eq!(told(&taken[0]).1, Some(expected), "{due}");
        assert_eq!(taken[0].row.blocked_ns, Some(106 * MS), "{due}");
    }
}

#[test]
fn a_thread_that_gets_the_input_for_another_one() {
    // As in Qt: thread 8 gets events and wakes the first one, which works on them.
    let (taken, background) = play(&[
        Waits(50, 8, None),
        Waits(51, PROGRAM, Some(700)),
        Typed(100),
        Delivered(101),
        ServerWakes(102, 8),
        Got(103, 8),
        Wakes(104, 8, PROGRAM),
        Waits(105, 8, None),
        Handed(110, PROGRAM),
        Drawn(111),
        Waits(112, PROGRAM, Some(690)),
        Handed(690, PROGRAM),
        Drawn(691),
    ]);
    assert_eq!((told(&taken[0]), background), ((Some(Outcome::Seen), Some(111), Some(110)), 1));
    assert_eq!(taken[0].row.blocked_ns, Some(112 * MS));
}

#[test]
fn a_reply_of_the_servers_goes_on_with_the_input() {
    let (taken, _) = play(&[
        Waits(50, PROGRAM, None),
        Typed(100),
        Delivered(101),
        ServerWakes(102, PROGRAM),
        Got(103, PROGRAM),
        // It asks the server and waits for the answer.
        Handed(104, PROGRAM),
        Waits(105, PROGRAM, None),
        ServerWakes(120, PROGRAM),
        Got(121, PROGRAM),
        Handed(122, PROGRAM),
        Drawn(123),
        Waits(124, PROGRAM, None),
    ]);
    assert_eq!(told(&taken[0]), (Some(Outcome::Seen), Some(123), Some(122)));
    assert_eq!(taken[0].row.blocked_ns, Some(124 * MS));
}

#[test]
fn the_shell_of_a_terminal_emulator_echoes_by_way_of_the_kernels_workers() {
    const SHELL: u32 = 30;
    let echoes = |worker_late: u64| {
        play(&[
            Waits(50, PROGRAM, None),
            Typed(100),
            Delivered(101),
            ServerWakes(102, PROGRAM),
            Got(103, PROGRAM),
            Tells(104, PROGRAM),
            Waits(105, PROGRAM, None),
            KernelWakes(106 + worker_late, SHELL),
            Tells(107 + worker_late, SHELL),
            KernelWakes(108 + worker_late, PROGRAM),
            Handed(109 + worker_late, PROGRAM),
            Drawn(110 + worker_late),
            Waits(111 + worker_late, PROGRAM, None),
        ])
    };
    assert_eq!(told(&echoes(0).0[0]), (Some(Outcome::Seen), Some(110), Some(109)));
    // A worker that comes this much later hands on something else.
    assert_eq!(told(&echoes(400).0[0]).0, Some(Outcome::Unanswered));
}

#[test]
fn keys_before_one_picture_are_one() {
    // The first one sets the frame's timer; the second comes before it is due.
    let (taken, _) = play(&[
        Waits(50, PROGRAM, None),
        Typed(100),
        Delivered(101),
        ServerWakes(101, PROGRAM),
        Got(102, PROGRAM),
        Waits(103, PROGRAM, Some(116)),
        Typed(108),
        Delivered(109),
        ServerWakes(109, PROGRAM),
        Got(110, PROGRAM),
        Waits(111, PROGRAM, Some(116)),
        Handed(116, PROGRAM),
        Drawn(117),
        Waits(118, PROGRAM, None),
    ]);
    assert_eq!([told(&taken[0]).0, told(&taken[1]).0], [Some(Outcome::Merged), Some(Outcome::Seen)]);
    assert_eq!((taken[0].row.merged_into, told(&taken[1]).1), (Some(1), Some(117)));
}

#[test]
fn a_question_to_the_server_shows_nothing_and_the_cursor_after_it_is_nobodys() {
    let play_with = |ends: Then| {
        play(&[
            Waits(50, PROGRAM, Some(150)),
            Typed(100),
            Delivered(101),
            ServerWakes(102, PROGRAM),
            Got(103, PROGRAM),
            Handed(104, PROGRAM),
            Waits(105, PROGRAM, Some(150)),
            ends,
            Handed(150, PROGRAM),
            Drawn(151),
        ])
    };
    let (taken, background) = play_with(Served(104, 106));
    assert_eq!((told(&taken[0]).0, background), (Some(Outcome::Unanswered), 1));
    // A server that has not got to it yet draws it with the cursor.
    let (taken, _) = play_with(Served(90, 104));
    assert_eq!(told(&taken[0]).1, Some(151));
}

#[test]
fn the_cursor_is_nobodys_after_a_key_that_came_while_the_program_waited_for_an_answer() {
    let mut events = vec![Waits(50, PROGRAM, Some(350))];
    events.extend(key(100));
    events.extend([Handed(103, PROGRAM), Waits(104, PROGRAM, None), Drawn(106)]);
    // The second key draws nothing; the program asks the server, and waits for its cursor again.
    events.extend(key(110));
    events.extend([Handed(113, PROGRAM), Waits(114, PROGRAM, None), Served(113, 115), ServerWakes(116, PROGRAM)]);
    events.extend([Got(117, PROGRAM), Waits(118, PROGRAM, Some(350)), Handed(350, PROGRAM), Drawn(351)]);
    let (taken, background) = play(&events);
    assert_eq!((told(&taken[0]).1, told(&taken[1]).0, background), (Some(106), Some(Outcome::Unanswered), 1));
}

#[test]
fn an_answer_that_was_on_its_way_already_is_not_the_key() {
    let (taken, _) = play(&[
        Waits(50, PROGRAM, None),
        ServerWakes(99, PROGRAM),
        Typed(100),
        Delivered(101),
        Got(102, PROGRAM),
        Handed(103, PROGRAM),
        Drawn(104),
        ServerWakes(105, PROGRAM),
        Got(106, PROGRAM),
        Handed(107, PROGRAM),
        Drawn(108),
        Waits(109, PROGRAM, None),
    ]);
    assert_eq!((taken[0].row.got_ns, told(&taken[0]).1), (Some(106 * MS), Some(108)));
}

#[test]
fn a_helper_that_has_done_its_work_and_sleeps_keeps_no_key_open() {
    const HELPER: u32 = 9;
    let mut events = vec![Waits(50, PROGRAM, Some(150))];
    events.extend(key(100));
    // Asked through a pipe, it answers and sleeps; the cursor blinks; the next key has nothing to do with either.
    events.extend([Wakes(103, PROGRAM, HELPER), Wakes(105, HELPER, PROGRAM), Sleeps(106, HELPER)]);
    events.extend([Handed(107, PROGRAM), Drawn(108), Waits(109, PROGRAM, Some(150))]);
    events.extend([Handed(150, PROGRAM), Drawn(151), Waits(152, PROGRAM, Some(350))]);
    events.extend(key(200));
    events.extend([Waits(203, PROGRAM, Some(350)), Handed(350, PROGRAM), Drawn(351)]);
    let (taken, background) = play(&events);
    assert_eq!([told(&taken[0]).1, told(&taken[1]).1, Some(background)], [Some(108), None, Some(2)]);
}

#[test]
fn the_start_ends_with_the_first_window_that_is_drawn() {
    let mut tracker = Tracker::of_display(true);
    let start = Input { is_start: true, kind: "start".to_owned(), begin_ns: 10 * MS, ..Input::default() };
    tracker.put_in(Input { injected_ns: 10 * MS, ..start });
    let sleep = |at: u64| moment(at, Moment::Ran, PROGRAM).sleeping(true, false);
    // It waits long for an answer from a server that gets no CPU.
    for seen in
        [sleep(20), moment(400, Moment::Wrote, PROGRAM), moment(402, Moment::Wrote, SERVER).of_servers(), sleep(403)]
    {
        tracker.seen(&seen);
    }
    tracker.put_in(Input { kind: "key".to_owned(), begin_ns: 800 * MS, ..Input::default() });
    let done = tracker.take_done(801 * MS);
    assert_eq!((done.len(), told(&done[0])), (1, (Some(Outcome::Seen), Some(402), Some(400))));
}

#[test]
fn a_picture_that_moves_on_belongs_to_the_last_key() {
    let frame = |at: u64| [Handed(at, PROGRAM), Drawn(at + 1), Waits(at + 2, PROGRAM, Some(at + 16))];
    let mut events = vec![Waits(50, PROGRAM, Some(90)), Waits(91, PROGRAM, Some(1_000))];
    events.extend(key(100));
    events.push(Waits(103, PROGRAM, Some(119)));
    events.extend([frame(119), frame(135), frame(151)].concat());
    events.extend(key(160));
    events.push(Waits(163, PROGRAM, Some(167)));
    events.extend([frame(167), frame(183)].concat());
    events.extend([Handed(199, PROGRAM), Drawn(200), Waits(201, PROGRAM, Some(1_000))]);
    let (taken, background) = play(&events);
    assert_eq!([told(&taken[0]).1, told(&taken[1]).1, Some(background)], [Some(152), Some(200), Some(0)]);
}

#[test]
fn a_shell_that_comes_late_shows_several_keys_at_once() {
    let key = |at: u64| [&key(at)[..], &[Tells(at + 3, PROGRAM), Waits(at + 4, PROGRAM, None)]].concat();
    let mut events = vec![Waits(50, PROGRAM, None)];
    events.extend([key(100), key(200)].concat());
    events.extend([
        KernelWakes(210, SHELL),
        Tells(211, SHELL),
        KernelWakes(212, PROGRAM),
        Handed(213, PROGRAM),
        Drawn(214),
    ]);
    events.push(Waits(215, PROGRAM, None));
    let (taken, _) = play(&events);
    assert_eq!([told(&taken[0]).0, told(&taken[1]).0], [Some(Outcome::Merged), Some(Outcome::Seen)]);
}

#[test]
fn what_a_shell_does_after_a_long_time_limit_belongs_to_the_key_and_a_cursor_of_its_emulator_does_not() {
    // One waits for 350 ms because of the key and then answers, in the emulator or as the one that draws.
    let events = |waits: u32| {
        // An earlier one is over, and nobody saw it wait for input since.
        let mut events = vec![Waits(10, SHELL, Some(20)), Waits(50, PROGRAM, None)];
        events.extend([Typed(100), Delivered(101), ServerWakes(101, PROGRAM), Got(102, PROGRAM), Tells(103, PROGRAM)]);
        if waits == SHELL {
            events.extend([Waits(104, PROGRAM, None), KernelWakes(105, SHELL), Waits(106, SHELL, Some(456))]);
            events.extend([TimerWakes(456, SHELL), Tells(457, SHELL), KernelWakes(458, PROGRAM)]);
        } else {
            events.extend([Waits(104, PROGRAM, Some(456)), TimerWakes(456, PROGRAM)]);
        }
        events.extend([Handed(459, PROGRAM), Drawn(460), Waits(461, PROGRAM, None)]);
        events
    };
    let (taken, background) = play(&events(SHELL));
    assert_eq!((told(&taken[0]), background), ((Some(Outcome::Seen), Some(460), Some(459)), 0));
    let (taken, background) = play(&events(PROGRAM));
    assert_eq!((told(&taken[0]).0, background), (Some(Outcome::Unanswered), 1));
}

#[test]
fn what_a_window_does_not_want_to_know_of_is_unread_and_what_it_does_nothing_about_unanswered() {
    let (taken, _) = play(&[
        Waits(50, PROGRAM, None),
        // The pointer moves; nobody is told.
        Typed(100),
        Delivered(101),
        Typed(250),
        Delivered(251),
        ServerWakes(252, PROGRAM),
        Got(253, PROGRAM),
        Waits(254, PROGRAM, None),
        Typed(400),
        Delivered(401),
        ServerWakes(402, PROGRAM),
        Got(403, PROGRAM),
        Handed(404, PROGRAM),
        Drawn(405),
        Waits(406, PROGRAM, None),
    ]);
    let outcomes: Vec<Option<Outcome>> = taken.iter().map(|taken| taken.row.outcome).collect();
    assert_eq!(outcomes, [Outcome::Unread, Outcome::Unanswered, Outcome::Seen].map(Some));
}

#[test]
fn a_key_is_seen_when_a_compositor_has_shown_it_and_not_when_it_tells_of_something_else() {
    let (taken, background) = play_with(
        Tracker::of_compositor(true),
        &[
            Waits(50, PROGRAM, None),
            Typed(100),
            Delivered(101),
            ServerWakes(102, PROGRAM),
            Got(103, PROGRAM),
            // Reported before the kernel's records are taken.
            Shown(120),
            Handed(104, PROGRAM),
            Waits(105, PROGRAM, None),
            // It waits for its next refresh, and answers the typist.
            Served(101, 106),
            Drawn(107),
            Served(119, 121),
            // Its cursor blinks.
            Shown(617),
            Handed(600, PROGRAM),
            Waits(618, PROGRAM, None),
        ],
    );
    assert_eq!(told(&taken[0]), (Some(Outcome::Seen), Some(120), Some(104)));
    assert_eq!(background, 1);
}

#[test]
fn a_timer_among_the_descriptors_of_a_program_goes_on_with_the_key() {
    let events = |wakes_at: u64| {
        [
            Waits(50, PROGRAM, None),
            Typed(100),
            Delivered(101),
            ServerWakes(102, PROGRAM),
            Got(103, PROGRAM),
            Waits(104, PROGRAM, None),
            TimerWakes(wakes_at, PROGRAM),
            Shown(wakes_at + 3),
            Handed(wakes_at + 1, PROGRAM),
            Waits(wakes_at + 4, PROGRAM, None),
        ]
    };
    let (taken, background) = play_with(Tracker::of_compositor(true), &events(112));
    assert_eq!((told(&taken[0]), background), ((Some(Outcome::Seen), Some(115), Some(113)), 0));
    assert_eq!(taken[0].row.blocked_ns, Some(104 * MS), "not after the timer");
    // One that is due much later belongs to the cursor.
    let (taken, background) = play_with(Tracker::of_compositor(true), &events(160));
    assert_eq!((told(&taken[0]), background), ((Some(Outcome::Unanswered), None, None), 1));
}

#[test]
fn two_keys_before_one_refresh_are_seen_as_one() {
    let (taken, _) = play_with(
        Tracker::of_compositor(true),
        &[
            Waits(50, PROGRAM, None),
            Typed(100),
            Delivered(101),
            ServerWakes(102, PROGRAM),
            Got(103, PROGRAM),
            Handed(104, PROGRAM),
            Waits(105, PROGRAM, None),
            Served(101, 105),
            Typed(108),
            Delivered(109),
            ServerWakes(110, PROGRAM),
            Got(111, PROGRAM),
            Shown(116),
            Handed(112, PROGRAM),
            Waits(117, PROGRAM, None),
        ],
    );
    assert_eq!((taken[0].row.outcome, taken[0].row.merged_into), (Some(Outcome::Merged), Some(1)));
    assert_eq!(told(&taken[1]), (Some(Outcome::Seen), Some(116), Some(112)));
}
