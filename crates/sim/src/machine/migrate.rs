//! Threads that any CPU may run: one queue for all of them, and a CPU for the first in it.

use super::NONE;
use super::engine::Engine;
use super::ready::{ReadyQueue, is_keyed};
use crate::time::{NEVER, Picoseconds};
use std::cmp::Reverse;

/// Who goes first: a level, then the smaller key if the level has keys. `None` is a CPU that runs no thread.
type Rank = Option<(u8, Reverse<Picoseconds>)>;

impl Engine {
    /// The place of a ready thread in the queue.
    #[inline]
    pub(super) fn queue_of(&mut self, index: usize) -> &mut ReadyQueue {
        if self.spec.threads[index].migrates { &mut self.pool } else { &mut self.cpus[self.threads[index].cpu].ready }
    }

    /// Makes the CPU of a thread that has just become ready decide again. For one that migrates, [`Self::offer`] did
    /// so.
    #[inline]
    pub(super) fn look_at(&mut self, index: usize) {
        if !self.spec.threads[index].migrates {
            self.dirty |= 1 << self.threads[index].cpu;
        }
    }

    /// Level and thread that a CPU would run next: its own or one that migrates. Of two equals the one that came first.
    #[inline]
    pub(super) fn first_ready(&self, cpu: usize) -> Option<(u8, u32)> {
        let ready = &self.cpus[cpu].ready;
        let own = ready.highest().map(|level| (level, ready.first(level)));
        let Some(level) = self.pool.highest() else { return own };
        let pooled = (level, self.pool.first(level));
        let Some(own) = own else { return Some(pooled) };
        let place = |(level, thread): (u8, u32)| {
            let thread = &self.threads[thread as usize];
            (level, Reverse(if is_keyed(level) { thread.key } else { 0 }), Reverse(thread.turn))
        };
        Some(if place(pooled) > place(own) { pooled } else { own })
    }

    /// Whether a thread of this level waits for this CPU.
    #[inline]
    pub(super) fn waits_at(&self, cpu: usize, level: u8) -> bool {
        self.cpus[cpu].ready.first(level) != NONE || self.pool.first(level) != NONE
    }

    fn rank(&self, index: usize) -> Rank {
        let thread = &self.threads[index];
        Some((thread.level, Reverse(if is_keyed(thread.level) { thread.key } else { 0 })))
    }

    /// Finds a CPU for a thread that migrates and has become ready: the one that runs the lowest thread, if that is
    /// lower; its own if there are several. A CPU below whose handler nothing can change decides when that returns. If
    /// the lowest is its equal, the two take turns, so the CPUs that run an equal set an end to its turn.
    pub(super) fn offer(&mut self, index: usize) {
        let (own, rank) = (self.threads[index].cpu, self.rank(index));
        let mut lowest: Option<(usize, Rank)> = None;
        for cpu in (0..self.spec.cpus).map(|step| (own + step) % self.spec.cpus) {
            let state = &self.cpus[cpu];
            let fixed = state.thread != NONE && self.threads[state.thread as usize].irql() >= super::engine::DISPATCH;
            if state.above_threads() || fixed {
                continue;
            }
            let present = if state.thread == NONE { None } else { self.rank(state.thread as usize) };
            if present == rank && !is_keyed(self.threads[index].level) && self.has_no_turns_end(cpu) {
                self.dirty |= 1 << cpu;
            }
            if lowest.is_none_or(|(_, lowest)| present < lowest) {
                lowest = Some((cpu, present));
            }
        }
        if let Some((cpu, _)) = lowest.filter(|(_, present)| *present < rank) {
            self.dirty |= 1 << cpu;
        }
    }

    /// Whether nothing ends the turn of a CPU's thread yet, although turns do end.
    fn has_no_turns_end(&self, cpu: usize) -> bool {
        self.spec.quantum < NEVER / 2 && self.calendar.at(self.slot_turn(cpu)) == NEVER
    }
}
