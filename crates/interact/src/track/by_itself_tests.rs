//! Programs that draw by themselves in a window, event by event: a clock, a cursor, a program in a terminal emulator.

use super::display_tests::Then::{
    self, Drawn, Got, Handed, KernelWakes, ServerWakes, Sleeps, Tells, TimerWakes, Waits, Wakes,
};
use super::display_tests::{PROGRAM, SHELL, key, written};
use punctual_recording::Outcome;

/// A timer wakes the program, and it draws.
fn tick(at: u64) -> [Then; 4] {
    [TimerWakes(at, PROGRAM), Handed(at + 1, PROGRAM), Drawn(at + 2), Sleeps(at + 3, PROGRAM)]
}

/// Another one, in a terminal emulator, puts something out and sleeps until `next`.
fn shell_ticks(at: u64) -> [Then; 2] {
    [TimerWakes(at, SHELL), Tells(at, SHELL)]
}

/// The emulator shows it.
fn shows(at: u64) -> [Then; 4] {
    [KernelWakes(at, PROGRAM), Handed(at + 1, PROGRAM), Drawn(at + 2), Waits(at + 3, PROGRAM, None)]
}

/// A program in an emulator that has ticked four times, and sleeps or waits for the terminal.
fn ticking(rests: impl Fn(u64) -> Then) -> Vec<Then> {
    let ticks = [10, 20, 30, 40].map(|at| [&shell_ticks(at)[..], &shows(at + 1), &[rests(at + 5)]].concat());
    [&[Waits(5, PROGRAM, None)][..], &ticks.concat()].concat()
}

/// A key at 51 ms that the emulator has passed on at 54 ms.
fn key_to_shell() -> Vec<Then> {
    [&key(51)[..], &[Tells(54, PROGRAM), Waits(54, PROGRAM, None)]].concat()
}

#[test]
fn what_the_server_answers_to_a_clocks_drawing_does_not_go_on_with_the_key() {
    let mut events = vec![Waits(50, PROGRAM, Some(150))];
    events.extend(key(100));
    events.extend([Handed(103, PROGRAM), Drawn(104), Waits(105, PROGRAM, Some(150))]);
    events.extend([Handed(150, PROGRAM), Waits(151, PROGRAM, None), ServerWakes(152, PROGRAM), Got(153, PROGRAM)]);
    events.extend([Handed(154, PROGRAM), Drawn(155), Waits(156, PROGRAM, Some(250))]);
    assert_eq!(written(&events), [(Some(Outcome::Seen), Some(104), None)]);
}

#[test]
fn what_a_thread_draws_by_a_timer_because_of_a_key_is_its_answer_if_it_has_no_clock() {
    let answers = [&key(430)[..], &[Sleeps(433, PROGRAM)], &tick(500)].concat();
    assert_eq!(written(&answers), [(Some(Outcome::Seen), Some(502), None)]);
    // With a clock nobody knows whether it is that or the answer, nor what the next tick is.
    let clock = [20, 120, 220, 320, 420].map(tick).concat();
    let events = [&clock[..], &answers, &tick(600)].concat();
    assert_eq!(written(&events), [(Some(Outcome::Unsure), None, Some(602))]);
}

#[test]
fn after_a_first_answer_a_clock_at_its_time_is_no_second_one_and_what_comes_between_may_be() {
    let clock = [20, 120, 220, 320, 420].map(tick).concat();
    let answers = [&key(430)[..], &[Handed(433, PROGRAM), Drawn(434), Sleeps(435, PROGRAM)]].concat();
    let ticks = [520, 620].map(tick).concat();
    assert_eq!(written(&[&clock[..], &answers, &ticks].concat()), [(Some(Outcome::Seen), Some(434), None)]);
    let between = [&clock[..], &answers, &tick(470), &ticks].concat();
    assert_eq!(written(&between), [(Some(Outcome::Seen), Some(434), Some(472))]);
    // One that has not drawn by itself so far, much later: its cursor.
    let cursor = [&answers[..], &tick(900)].concat();
    assert_eq!(written(&cursor), [(Some(Outcome::Seen), Some(434), None)]);
    let soon = [&answers[..], &tick(510)].concat();
    assert_eq!(written(&soon), [(Some(Outcome::Seen), Some(434), Some(512))]);
}

#[test]
fn helpers_that_a_clock_sets_to_work_do_not_work_for_the_key_any_more() {
    const HELPER: u32 = 9;
    let mut events = vec![Waits(50, PROGRAM, None)];
    events.extend(key(100));
    events.extend([Wakes(103, PROGRAM, HELPER), Wakes(105, HELPER, PROGRAM), Sleeps(106, HELPER)]);
    events.extend([Handed(107, PROGRAM), Drawn(108), Waits(109, PROGRAM, None)]);
    events.extend([KernelWakes(150, PROGRAM), Wakes(151, PROGRAM, HELPER), Wakes(152, HELPER, PROGRAM)]);
    events.extend([Sleeps(153, HELPER), Handed(154, PROGRAM), Drawn(155), Waits(156, PROGRAM, None)]);
    assert_eq!(written(&events), [(Some(Outcome::Seen), Some(108), None)]);
}

#[test]
fn the_next_time_of_a_program_that_ticks_in_an_emulator_is_no_timer_of_the_keys() {
    // The last limit was over when the key came.
    let mut events = ticking(|at| Waits(at, SHELL, Some(at + 5)));
    events.extend(key_to_shell());
    events.extend([KernelWakes(55, SHELL), Tells(56, SHELL)]);
    events.extend(shows(57));
    events.push(Waits(60, SHELL, Some(70)));
    events.extend([&shell_ticks(70)[..], &shows(71)].concat());
    assert_eq!(written(&events), [(Some(Outcome::Seen), Some(59), None)]);
}

#[test]
fn a_program_that_looks_for_keys_between_its_sleeps_may_have_answered_with_its_next_picture() {
    let mut events = ticking(|at| Sleeps(at, SHELL));
    events.extend(key_to_shell());
    // In two parts, and once more.
    events.extend([&shell_ticks(60)[..], &[Tells(60, SHELL)], &shows(61), &[Sleeps(65, SHELL)]].concat());
    events.extend([&shell_ticks(70)[..], &shows(71), &[Sleeps(75, SHELL)]].concat());
    assert_eq!(written(&events), [(Some(Outcome::Unsure), None, Some(63))]);
}

#[test]
fn a_program_that_ticks_and_has_got_the_key_may_answer_with_its_next_picture() {
    let mut events = ticking(|at| Waits(at, SHELL, Some(at + 5)));
    events.extend(key_to_shell());
    events.extend([KernelWakes(55, SHELL), Waits(56, SHELL, Some(70))]);
    events.extend([&shell_ticks(70)[..], &shows(71)].concat());
    assert_eq!(written(&events), [(Some(Outcome::Unsure), None, Some(73))]);
}

#[test]
fn what_was_on_its_way_to_the_emulator_before_the_key_is_not_its_answer() {
    let mut events = ticking(|at| Sleeps(at, SHELL));
    events.extend(shell_ticks(50));
    events.extend(key_to_shell());
    events.extend([&shows(55)[..], &[Sleeps(59, SHELL)], &shell_ticks(62), &shows(63)].concat());
    assert_eq!(written(&events), [(Some(Outcome::Unsure), None, Some(65))]);
}
