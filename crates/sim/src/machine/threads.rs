//! Threads: what makes them ready, who runs, budgets and slots.

use super::NONE;
use super::engine::{Engine, MAX_WAITING};
use super::ready::is_keyed;
use super::specification::{Activity, LateWork, Policy};
use super::thread::{MAX_SHARE, SHARE_BITS, State, base_level};
use crate::observe::{Observer, Unit};
use crate::time::{NEVER, Picoseconds};

impl Engine {
    pub(super) fn start_threads(&mut self) {
        for index in 0..self.threads.len() {
            match self.spec.threads[index].activity {
                Activity::Spinning => {
                    let unit = self.new_unit(index, 0);
                    self.threads[index].units.push_back(unit);
                    self.wake(index);
                }
                Activity::Periodic { offset, .. } => self.calendar.set(self.slot_release(index), offset),
                Activity::Timer { interval, offset, rule } => {
                    self.threads[index].fire = offset + interval;
                    self.arm(index, rule, offset);
                }
                Activity::Signalled => {}
            }
            if let Policy::Reservation { from, .. } = self.spec.threads[index].policy {
                // The thread's level changes when its reservation begins: check it then.
                if from > 0 {
                    self.calendar.set(self.slot_replenish(index), from);
                }
            }
        }
        for cpu in 0..self.spec.cpus {
            if !self.cpus[cpu].plan.is_empty() {
                self.boundary(cpu);
            }
        }
    }

    #[inline]
    pub(super) fn new_unit(&mut self, index: usize, arrival: Picoseconds) -> Unit {
        let thread = &mut self.threads[index];
        thread.sequence += 1;
        Unit {
            ready: arrival,
            work: self.spec.threads[index].work.draw(&mut thread.random),
            ..Unit::new(thread.sequence - 1, None, arrival)
        }
    }

    /// A periodic thread's release.
    #[inline]
    pub(super) fn release<O: Observer>(&mut self, index: usize, observer: &mut O) {
        let Activity::Periodic { period, .. } = self.spec.threads[index].activity else { return };
        self.calendar.set(self.slot_release(index), self.now + period);
        let mut answer = None;
        if let Some(constraint) = self.spec.threads[index].constraint {
            let cpu = self.spec.threads[index].cpu;
            let (now, deadline) = (self.now, self.now + constraint.deadline);
            let granted = self.cpus[cpu].plan.request(index as u32, now, deadline, constraint.estimate);
            let thread = &mut self.threads[index];
            if granted {
                thread.granted += 1
            } else {
                thread.refused += 1
            }
            answer = Some(granted);
            self.charge(cpu, observer);
            self.boundary(cpu);
        }
        let unit = Unit { granted: answer, ..self.new_unit(index, self.now) };
        self.signal(index, unit);
    }

    /// One more unit for a thread.
    #[inline]
    pub(super) fn signal(&mut self, index: usize, unit: Unit) {
        if self.threads[index].units.len() >= MAX_WAITING {
            self.threads[index].without_room += 1;
            return;
        }
        // One signal satisfied the wait for what the thread works on or is about to; one more can stay set.
        let thread = &mut self.threads[index];
        let taken = usize::from(thread.current.is_none() && thread.state != State::Blocked);
        if self.spec.threads[index].late_work == LateWork::Event && thread.units.len() > taken {
            thread.merged += 1;
            return;
        }
        self.threads[index].units.push_back(unit);
        if self.threads[index].state == State::Blocked {
            self.wake(index);
        }
    }

    /// A blocked thread has work.
    #[inline]
    pub(super) fn wake(&mut self, index: usize) {
        let spec = &self.spec.threads[index];
        let thread = &mut self.threads[index];
        if let Policy::Deadline { runtime, deadline, period, .. } = spec.policy {
            // A server that slept keeps its budget only if that cannot exceed its share until its deadline.
            let left = thread.server_deadline.saturating_sub(self.now);
            let keeps = left > 0
                && thread.budget.max(0) * i128::from(period) <= (i128::from(left) * i128::from(runtime)) << SHARE_BITS;
            if !keeps {
                thread.server_deadline = self.now + deadline;
                thread.budget = i128::from(runtime) << SHARE_BITS;
            }
        }
        if self.spec.wait_boost > 0 {
            thread.boost = self.spec.wait_boost;
        }
        thread.quantum_left = thread.quantum;
        self.enqueue(index, false);
        self.look_at(index);
    }

    /// Queues a thread that has work at its current level, or parks it.
    #[inline]
    pub(super) fn enqueue(&mut self, index: usize, front: bool) {
        let spec = &self.spec.threads[index];
        let thread = &mut self.threads[index];
        let cpu = &mut self.cpus[thread.cpu];
        let in_slot = cpu.slot_owner == index as u32;
        thread.level =
            if in_slot { self.spec.slot_level } else { base_level(spec, thread.boost, self.now).max(thread.inherited) };
        let parked = match spec.policy {
            Policy::Reservation { outside: None, from, .. } => !in_slot && self.now >= from,
            Policy::Deadline { .. } => thread.budget <= 0,
            _ => false,
        };
        if parked {
            thread.state = State::Parked;
            if let Policy::Deadline { deadline, period, .. } = spec.policy {
                let next = (thread.server_deadline - deadline + period).max(self.now);
                self.calendar.set(self.slot_replenish(index), next);
            }
            return;
        }
        if let (Some(wait), Policy::Priority(1..=15)) = (self.spec.starvation_boost, spec.policy) {
            self.calendar.set(3 * self.spec.cpus + 2 * index + 1, self.now.saturating_add(wait));
        }
        thread.state = State::Ready;
        thread.key = match spec.policy {
            Policy::RateMonotonic { period } => period,
            Policy::EarliestDeadline { deadline } => {
                let unit = thread.current.as_ref().or(thread.units.front());
                unit.map_or(NEVER, |unit| unit.arrival.saturating_add(deadline))
            }
            Policy::Deadline { .. } => thread.server_deadline,
            _ => 0,
        };
        let queue = if spec.migrates { &mut self.pool } else { &mut cpu.ready };
        if front {
            queue.push_front(thread.level, index as u32, thread.key);
        } else {
            self.turns += 1;
            thread.turn = self.turns;
            queue.push_back(thread.level, index as u32, thread.key);
        }
        if spec.migrates {
            self.offer(index);
        }
    }

    /// Takes a thread from wherever it is and queues it at its new level.
    fn requeue(&mut self, index: usize) {
        let cpu = self.threads[index].cpu;
        match self.threads[index].state {
            State::Blocked | State::Waiting => return,
            State::Ready => {
                let level = self.threads[index].level;
                self.queue_of(index).remove(level, index as u32);
            }
            // A thread at raised level keeps the CPU: it is checked again when it comes down.
            State::Running if self.threads[index].irql() >= 2 => {
                self.dirty |= 1 << cpu;
                return;
            }
            State::Running => self.cpus[cpu].thread = NONE,
            State::Parked => {}
        }
        self.enqueue(index, false);
        self.dirty |= 1 << cpu;
    }

    /// A budget is replenished, or a reservation begins.
    pub(super) fn replenish(&mut self, index: usize) {
        self.calendar.set(self.slot_replenish(index), NEVER);
        if let Policy::Deadline { runtime, period, .. } = self.spec.threads[index].policy {
            let thread = &mut self.threads[index];
            while thread.budget <= 0 {
                thread.server_deadline += period;
                thread.budget += i128::from(runtime) << SHARE_BITS;
            }
            if thread.state == State::Parked {
                self.requeue(index);
            }
        } else if let Policy::Priority(priority) = self.spec.threads[index].policy {
            // Starved: at the top of the normal priorities for two quanta.
            let thread = &mut self.threads[index];
            if thread.state == State::Ready {
                thread.boost = 15 - priority.min(15);
                thread.starved = true;
                thread.quantum_left = 2 * thread.quantum;
                self.requeue(index);
            }
        } else {
            self.requeue_charged(index);
        }
    }

    /// Like [`Self::requeue`], for a moment at which the CPU has not been charged: it will be when it decides.
    pub(super) fn requeue_charged(&mut self, index: usize) {
        let cpu = self.threads[index].cpu;
        if self.threads[index].state == State::Running {
            self.dirty |= 1 << cpu;
        } else {
            self.requeue(index);
        }
    }

    /// A slot begins or ends. The CPU has been charged.
    pub(super) fn boundary(&mut self, cpu: usize) {
        let (owner, until) = self.cpus[cpu].plan.owner_at(self.now);
        self.calendar.set(self.slot_boundary(cpu), until);
        let before = std::mem::replace(&mut self.cpus[cpu].slot_owner, owner);
        if before == owner {
            return;
        }
        for index in [before, owner] {
            if index != NONE && !self.cpus[cpu].above_threads() {
                self.requeue(index as usize);
            } else if index != NONE {
                // Below a handler the current thread stays current: it is checked when the handler returns.
                self.requeue_charged(index as usize);
            }
        }
        self.dirty |= 1 << cpu;
    }

    /// Chooses the thread that a CPU runs. The CPU has been charged; no handler or deferred procedure wants it.
    #[inline]
    pub(super) fn choose<O: Observer>(&mut self, index: usize, observer: &mut O) {
        self.review(index);
        let present = self.cpus[index].thread;
        if present != NONE
            && let Some((level, first)) = self.first_ready(index)
        {
            let key = self.threads[first as usize].key;
            let thread = &mut self.threads[present as usize];
            let beaten = level > thread.level || (level == thread.level && is_keyed(level) && key < thread.key);
            let turn_over = level == thread.level && !is_keyed(level) && thread.quantum_left == 0;
            if beaten || turn_over {
                if turn_over {
                    thread.quantum_left = thread.quantum;
                    thread.boost = thread.boost.saturating_sub(1);
                } else if self.spec.preempted_gets_fresh_quantum {
                    thread.quantum_left = thread.quantum;
                }
                self.cpus[index].thread = NONE;
                self.enqueue(present as usize, beaten);
            }
        }
        while self.cpus[index].thread == NONE {
            let Some((level, first)) = self.first_ready(index) else { break };
            self.queue_of(first as usize).remove(level, first);
            self.switch_to(index, first, observer);
        }
        self.arm_turn(index);
        if let Some(level) = self.pool.highest() {
            // Several came at once, or one was displaced: the next in the queue may also get a CPU.
            self.offer(self.pool.first(level) as usize);
        }
    }

    /// Whether the current thread may stay as it is: in its slot, within its budget, at its level.
    #[inline]
    fn review(&mut self, cpu: usize) {
        let present = self.cpus[cpu].thread;
        if present == NONE {
            return;
        }
        let index = present as usize;
        let spec = &self.spec.threads[index];
        let in_slot = self.cpus[cpu].slot_owner == present;
        let thread = &mut self.threads[index];
        if thread.boost > 0 && thread.quantum_left == 0 && !in_slot {
            // A boost sinks by one level each quantum, that of a starved thread at once.
            thread.boost = if thread.starved { 0 } else { thread.boost - 1 };
            thread.starved = false;
            if base_level(spec, thread.boost, self.now).max(thread.inherited) != thread.level {
                thread.quantum_left = thread.quantum;
            }
        }
        let thread = &self.threads[index];
        let stays = match spec.policy {
            Policy::Deadline { tick, .. } => {
                thread.budget > 0 || tick.is_some_and(|tick| !self.now.is_multiple_of(tick))
            }
            Policy::Reservation { outside: None, from, .. } => in_slot || self.now < from,
            _ => true,
        };
        let level =
            if in_slot { self.spec.slot_level } else { base_level(spec, thread.boost, self.now).max(thread.inherited) };
        if stays && level == thread.level {
            return;
        }
        self.cpus[cpu].thread = NONE;
        self.enqueue(index, false);
    }

    /// Puts a thread on the CPU. A timer thread that was woken too early goes back to waiting at once.
    #[inline]
    fn switch_to<O: Observer>(&mut self, cpu: usize, thread: u32, observer: &mut O) {
        let index = thread as usize;
        if self.threads[index].current.is_none() && !self.load(index, observer) {
            self.threads[index].state = State::Blocked;
            return;
        }
        if self.spec.starvation_boost.is_some() && matches!(self.spec.threads[index].policy, Policy::Priority(_)) {
            self.calendar.set(self.slot_replenish(index), NEVER);
        }
        self.cpus[cpu].thread = thread;
        self.threads[index].state = State::Running;
        if self.threads[index].cpu != cpu {
            self.threads[index].cpu = cpu;
            self.threads[index].migrations += 1;
            self.threads[index].remaining += self.spec.migration;
        }
        if self.cpus[cpu].last_thread != thread {
            self.threads[index].remaining += self.spec.context_switch;
            self.cpus[cpu].last_thread = thread;
        }
        if let Policy::Deadline { reclaim, .. } = self.spec.threads[index].policy {
            self.threads[index].rate = if reclaim { self.reclaim_rate(cpu, index) } else { 1 << SHARE_BITS };
        }
        let started = &mut self.threads[index].started;
        if *started == NEVER {
            *started = self.now;
        }
    }

    /// The rate at which a reclaiming server uses its budget: the more the others leave, the slower. A server counts as
    /// inactive from the moment at which it blocks.
    fn reclaim_rate(&self, cpu: usize, own: usize) -> u64 {
        let (mut total, mut inactive) = (0, 0);
        for (thread, spec) in self.threads.iter().zip(&self.spec.threads) {
            if spec.cpu == cpu && thread.share > 0 {
                total += thread.share;
                if thread.state == State::Blocked {
                    inactive += thread.share;
                }
            }
        }
        let extra = MAX_SHARE.saturating_sub(total);
        let own_share = (self.threads[own].share << SHARE_BITS) / MAX_SHARE;
        own_share.max((1u64 << SHARE_BITS).saturating_sub(inactive + extra)).max(1)
    }

    /// When to decide again although nothing else happens: at the end of a quantum that somebody waits for, or of a
    /// budget.
    #[inline]
    fn arm_turn(&mut self, cpu: usize) {
        let present = self.cpus[cpu].thread;
        let mut at = NEVER;
        if present != NONE {
            let thread = &self.threads[present as usize];
            match self.spec.threads[present as usize].policy {
                Policy::Deadline { tick, .. } => {
                    at = self.now + thread.until_exhausted();
                    if let Some(tick) = tick {
                        at = at.div_ceil(tick) * tick;
                        if at == self.now {
                            at += tick;
                        }
                    }
                }
                Policy::Priority(1..=15) if thread.boost > 0 && thread.quantum_left > 0 => {
                    at = self.now.saturating_add(thread.quantum_left);
                }
                _ if !is_keyed(thread.level) && self.waits_at(cpu, thread.level) => {
                    at = self.now.saturating_add(thread.quantum_left);
                }
                _ => {}
            }
        }
        self.calendar.set(self.slot_turn(cpu), at);
    }
}
