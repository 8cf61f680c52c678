//! One thread: what it does, what it has used, what it may use.

use super::ready::{LEVEL_DEADLINE, LEVEL_EDF, LEVEL_KERNEL, LEVEL_RATE_MONOTONIC};
use super::specification::{MachineSpec, Policy, ThreadSpec};
use crate::observe::Unit;
use crate::random::Xoshiro256;
use crate::time::{NEVER, Picoseconds};
use std::collections::VecDeque;

/// Shares are kept in 2^-20.
pub(super) const SHARE_BITS: u32 = 20;
/// The most that SCHED_DEADLINE may use of a CPU: 95 percent.
pub(super) const MAX_SHARE: u64 = (1 << SHARE_BITS) * 95 / 100;

/// What a thread is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It has nothing to do.
    Blocked,
    /// It waits for the CPU.
    Ready,
    /// It is the CPU's current thread, perhaps preempted by handlers.
    Running,
    /// It waits for a lock.
    Waiting,
    /// It has work but must not run: outside its slots, or its budget is used up.
    Parked,
}

/// A thread.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) state: State,
    /// Where it runs, or ran last.
    pub(super) cpu: usize,
    /// How often it moved to another CPU.
    pub(super) migrations: u64,
    /// Its place in the queue among threads of its level, over all queues.
    pub(super) turn: u64,
    /// The level at which it competes now.
    pub(super) level: u8,
    pub(super) key: u64,
    pub(super) random: Xoshiro256,
    pub(super) units: VecDeque<Unit>,
    pub(super) current: Option<Unit>,
    pub(super) started: Picoseconds,
    pub(super) sequence: u64,
    /// Lengths before, within and after the part at raised level, and which of them runs.
    pub(super) segments: [Picoseconds; 3],
    pub(super) segment: usize,
    pub(super) raise_irql: u8,
    /// What is left of the current segment.
    pub(super) remaining: Picoseconds,
    pub(super) quantum_left: Picoseconds,
    pub(super) boost: u8,
    /// Whether the boost is that of a starved thread, which ends at once.
    pub(super) starved: bool,
    /// Whether it holds its lock, and the level of the highest waiter for it.
    pub(super) holding: bool,
    pub(super) inherited: u8,
    /// The length of its quantum.
    pub(super) quantum: Picoseconds,
    pub(super) used: Picoseconds,
    /// Timer threads: when to fire next, and until when the system timer waits.
    pub(super) fire: Picoseconds,
    pub(super) due: Picoseconds,
    pub(super) woken: Picoseconds,
    /// Floating budgets, in 2^-20 ps, so that nothing is lost to rounding; the deadline of the server.
    pub(super) budget: i128,
    pub(super) server_deadline: Picoseconds,
    pub(super) share: u64,
    pub(super) rate: u64,
    pub(super) granted: u64,
    pub(super) refused: u64,
    pub(super) without_room: u64,
    pub(super) merged: u64,
}

impl Thread {
    pub(super) fn new(spec: &ThreadSpec, machine: &MachineSpec, index: usize) -> Thread {
        let mut thread = Thread {
            state: State::Blocked,
            cpu: spec.cpu,
            migrations: 0,
            turn: 0,
            level: base_level(spec, 0, 0),
            key: 0,
            random: Xoshiro256::new(machine.seed, 2_000_000 + index as u64),
            units: VecDeque::with_capacity(64),
            current: None,
            started: NEVER,
            sequence: 0,
            segments: [0; 3],
            segment: 0,
            raise_irql: 0,
            remaining: 0,
            quantum_left: 0,
            boost: 0,
            starved: false,
            holding: false,
            inherited: 0,
            quantum: machine.quantum.saturating_mul(if spec.foreground { 3 } else { 1 }),
            used: 0,
            fire: NEVER,
            due: NEVER,
            woken: NEVER,
            budget: 0,
            server_deadline: 0,
            share: 0,
            rate: 1 << SHARE_BITS,
            granted: 0,
            refused: 0,
            without_room: 0,
            merged: 0,
        };
        thread.quantum_left = thread.quantum;
        if let Policy::Deadline { runtime, period, .. } = spec.policy {
            thread.share = (u128::from(runtime) << SHARE_BITS).div_ceil(u128::from(period)) as u64;
        }
        thread
    }

    /// The interrupt level to which it has raised itself.
    #[inline]
    pub(super) fn irql(&self) -> u8 {
        if self.segment == 1 { self.raise_irql } else { 0 }
    }

    #[inline]
    pub(super) fn charge(&mut self, elapsed: Picoseconds) {
        self.remaining -= elapsed;
        self.used += elapsed;
        if self.quantum_left > elapsed {
            self.quantum_left -= elapsed;
        } else if self.quantum_left < elapsed {
            // Nobody waited when the quantum ended: whole quanta went by. The last may end just now, as below: a
            // thread's charge must not depend on how its time is divided.
            let over = (elapsed - self.quantum_left) % self.quantum;
            self.quantum_left = if over == 0 { 0 } else { self.quantum - over };
        } else {
            self.quantum_left = 0;
        }
        if self.share > 0 {
            self.budget -= i128::from(elapsed) * i128::from(self.rate);
        }
    }

    /// CPU time until a floating budget is used up at the current rate.
    #[inline]
    pub(super) fn until_exhausted(&self) -> Picoseconds {
        let budget = u128::try_from(self.budget).unwrap_or(0);
        budget.div_ceil(u128::from(self.rate.max(1))) as u64
    }
}

/// The level of a thread outside of slots.
#[inline]
pub(super) fn base_level(spec: &ThreadSpec, boost: u8, now: Picoseconds) -> u8 {
    match spec.policy {
        Policy::Priority(priority) if (1..=15).contains(&priority) => (priority + boost).min(15),
        Policy::Priority(priority) => priority,
        Policy::Kernel => LEVEL_KERNEL,
        Policy::RateMonotonic { .. } => LEVEL_RATE_MONOTONIC,
        Policy::EarliestDeadline { .. } => LEVEL_EDF,
        Policy::Deadline { .. } => LEVEL_DEADLINE,
        Policy::Reservation { from, before_priority, .. } if now < from => before_priority,
        Policy::Reservation { outside, .. } => outside.unwrap_or(0),
    }
}
