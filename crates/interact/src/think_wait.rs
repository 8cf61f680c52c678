//! The state machine that tells thinking from waiting, as in the paper of 2014 (II.c, after Endo, Wang, Chen and Seltzer,
//! 1996).
//!
//! Its Figure 2 is missing from the available text. The table of its eight inputs is put together from the words around
//! it: a person waits while an event is queued, and while synchronous I/O is under way although the CPU is idle; a busy
//! CPU with nothing queued is the rest of an event that somebody waited for, or work in the background: the state
//! before it says which of the two. Asynchronous I/O never makes anybody wait.

/// What the machine knows at a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Inputs {
    /// The program has a CPU, or waits for one that somebody else has.
    pub cpu_is_busy: bool,
    /// There is input that the program has not taken.
    pub is_queued: bool,
    /// It sleeps for input or output of its own.
    pub waits_for_io: bool,
}

/// What the person does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum State {
    /// They think.
    #[default]
    Think,
    /// They wait.
    Wait,
}

/// The state that follows with these inputs.
pub fn next(before: State, inputs: Inputs) -> State {
    match inputs {
        Inputs { is_queued: true, .. } | Inputs { waits_for_io: true, .. } => State::Wait,
        Inputs { cpu_is_busy: true, .. } => before,
        Inputs { .. } => State::Think,
    }
}

/// What changes the inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interval {
    /// A CPU was had, or waited for.
    Cpu,
    /// Something was queued.
    Queue,
    /// I/O was waited for.
    Io,
}

/// How long the machine says *think* between two times, ns; see [`waiting`].
pub fn thinking_ns(begin_ns: u64, end_ns: u64, intervals: &[(Interval, u64, u64)]) -> u64 {
    let waited: u64 = waiting(begin_ns, end_ns, intervals).iter().map(|(from, to)| to - from).sum();
    end_ns.saturating_sub(begin_ns) - waited
}

/// The stretches between two times in which the machine says *wait*, in order: beginning and end, ns. It begins in the state
/// `Wait`, because input has just been put in. `intervals` may overlap and come in any order.
pub fn waiting(begin_ns: u64, end_ns: u64, intervals: &[(Interval, u64, u64)]) -> Vec<(u64, u64)> {
    let mut changes: Vec<(u64, Interval, i32)> = Vec::with_capacity(intervals.len() * 2);
    for &(kind, from, to) in intervals {
        let (from, to) = (from.max(begin_ns), to.min(end_ns));
        if from < to {
            changes.extend([(from, kind, 1), (to, kind, -1)]);
        }
    }
    changes.sort_by_key(|&(at, ..)| at);
    let mut counts = [0i32; 3];
    let (mut state, mut reached, mut waits) = (State::Wait, begin_ns, Vec::<(u64, u64)>::new());
    let mut at = 0;
    loop {
        let now = changes.get(at).map_or(end_ns, |change| change.0);
        if now > reached {
            // A state holds from one change to the next.
            let inputs = Inputs { cpu_is_busy: counts[0] > 0, is_queued: counts[1] > 0, waits_for_io: counts[2] > 0 };
            state = next(state, inputs);
            if state == State::Wait {
                match waits.last_mut().filter(|last| last.1 == reached) {
                    Some(last) => last.1 = now,
                    None => waits.push((reached, now)),
                }
            }
            reached = now;
        }
        let Some(&(_, kind, by)) = changes.get(at) else { return waits };
        counts[kind as usize] += by;
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the eight inputs, from both states.
    #[test]
    fn the_table_of_the_eight_inputs() {
        use State::{Think, Wait};
        let table = [
            // CPU, queue, I/O: from thinking, from waiting.
            ((false, false, false), Think, Think),
            ((true, false, false), Think, Wait),
            ((false, true, false), Wait, Wait),
            ((true, true, false), Wait, Wait),
            ((false, false, true), Wait, Wait),
            ((true, false, true), Wait, Wait),
            ((false, true, true), Wait, Wait),
            ((true, true, true), Wait, Wait),
        ];
        for ((cpu_is_busy, is_queued, waits_for_io), from_think, from_wait) in table {
            let inputs = Inputs { cpu_is_busy, is_queued, waits_for_io };
            assert_eq!((next(Think, inputs), next(Wait, inputs)), (from_think, from_wait), "{inputs:?}");
        }
    }

    #[test]
    fn a_timer_before_the_output_is_thinking_to_it() {
        // Queued 0 to 10, at work to 30, asleep on a timer of its own to 55, at work to 60: seen at 60.
        let events = [(Interval::Queue, 0, 10), (Interval::Cpu, 8, 30), (Interval::Cpu, 55, 60)];
        assert_eq!(thinking_ns(0, 60, &events), 30, "the timer, and the work that came without anything queued");
        // A disk in its place is waited for, and so is the work after it.
        let events =
            [(Interval::Queue, 0, 10), (Interval::Cpu, 8, 30), (Interval::Io, 30, 55), (Interval::Cpu, 55, 60)];
        assert_eq!(thinking_ns(0, 60, &events), 0);
    }

    #[test]
    fn stretches_of_waiting_come_in_order_and_do_not_touch() {
        let events =
            [(Interval::Queue, 0, 10), (Interval::Cpu, 8, 30), (Interval::Cpu, 55, 60), (Interval::Io, 60, 70)];
        assert_eq!(waiting(0, 100, &events), [(0, 30), (60, 70)]);
        // Work goes on after the disk: the rest of an event.
        assert_eq!(waiting(5, 90, &[&events[..], &[(Interval::Cpu, 69, 80)]].concat()), [(5, 30), (60, 80)]);
        assert_eq!(waiting(0, 0, &events), []);
    }

    #[test]
    fn work_in_the_background_is_no_waiting() {
        let events = [(Interval::Queue, 0, 5), (Interval::Cpu, 5, 8), (Interval::Cpu, 100, 190)];
        assert_eq!(thinking_ns(0, 200, &events), 192);
        assert_eq!(thinking_ns(0, 0, &events), 0);
        assert_eq!(thinking_ns(50, 60, &[]), 10);
    }
}
