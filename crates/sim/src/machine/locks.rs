//! Locks that threads hold for a part of their work, with and without inheritance.

use super::NONE;
use super::engine::Engine;
use super::ready::is_keyed;
use super::thread::State;

impl Engine {
    /// The current thread of a CPU wants a lock: it gets it, or waits for it.
    pub(super) fn acquire(&mut self, index: usize, lock: usize) {
        let holder = self.locks[lock];
        if holder == NONE {
            self.locks[lock] = index as u32;
            self.threads[index].holding = true;
            return;
        }
        let cpu = self.threads[index].cpu;
        self.threads[index].state = State::Waiting;
        self.cpus[cpu].thread = NONE;
        let (holder, level) = (holder as usize, self.threads[index].level);
        if self.spec.inheritance && !is_keyed(level) && level > self.threads[holder].inherited {
            self.threads[holder].inherited = level;
            self.requeue_charged(holder);
        }
    }

    /// The current thread of a CPU is done with a lock: the highest waiter gets it, of several the first by index.
    pub(super) fn let_go(&mut self, index: usize, lock: usize) {
        if !self.threads[index].holding {
            return;
        }
        self.threads[index].holding = false;
        self.threads[index].inherited = 0;
        let waits = |at: &usize| {
            self.threads[*at].state == State::Waiting
                && self.spec.threads[*at].hold.is_some_and(|hold| hold.lock as usize == lock)
        };
        let next = (0..self.threads.len()).filter(waits).max_by_key(|&at| (self.threads[at].level, usize::MAX - at));
        self.locks[lock] = next.map_or(NONE, |next| next as u32);
        let Some(next) = next else { return };
        self.threads[next].holding = true;
        if self.spec.inheritance {
            let others = (0..self.threads.len()).filter(|&at| at != next).filter(|at| {
                self.threads[*at].state == State::Waiting
                    && self.spec.threads[*at].hold.is_some_and(|hold| hold.lock as usize == lock)
            });
            let highest = others.map(|at| self.threads[at].level).filter(|level| !is_keyed(*level)).max();
            self.threads[next].inherited = highest.unwrap_or(0);
        }
        self.enqueue(next, false);
        self.look_at(next);
    }
}
