//! A thread's units of work: the next one is taken up, its segments go by, it is done.

use super::NONE;
use super::engine::Engine;
use super::specification::{Activity, LateWork, Policy, TimerRule};
use super::thread::State;
use crate::observe::{Activation, Observer};
use crate::time::NEVER;

impl Engine {
    /// Takes up the thread's next unit. False if there is none: then it has armed its timer, if it has one.
    #[inline]
    pub(super) fn load<O: Observer>(&mut self, index: usize, observer: &mut O) -> bool {
        if self.spec.threads[index].late_work == LateWork::DropStale {
            while self.threads[index].units.len() > 1 {
                let stale = self.threads[index].units.pop_front().expect("more than one");
                if let Some(source) = stale.source {
                    self.sources[source as usize].settle(&stale, self.now, false);
                }
                observer.dropped(&stale, self.now);
            }
        }
        let spec = &self.spec.threads[index];
        let unit = match spec.activity {
            Activity::Timer { rule, .. } if rule != TimerRule::KernelPeriodic => {
                let system_time = self.system_time();
                let fire = self.threads[index].fire;
                if fire > system_time {
                    self.arm(index, rule, system_time);
                    return false;
                }
                let mut unit = self.new_unit(index, fire);
                unit.irq_start = self.tick.irq_start;
                unit.dpc_start = self.tick.dpc_start;
                unit.ready = self.threads[index].woken;
                unit
            }
            _ => match self.threads[index].units.pop_front() {
                Some(mut unit) => {
                    if let Some(source) = unit.source {
                        self.sources[source as usize].begin(&mut unit, self.now);
                    }
                    unit
                }
                None => return false,
            },
        };
        let spec = &self.spec.threads[index];
        let thread = &mut self.threads[index];
        let (before, raised) = match (spec.raise, spec.hold) {
            (Some(raise), _) => {
                thread.raise_irql = raise.irql;
                let before = raise.after.min(unit.work);
                (before, raise.length.min(unit.work - before))
            }
            (None, Some(hold)) => {
                let before = hold.after.min(unit.work);
                (before, hold.length.min(unit.work - before))
            }
            (None, None) => (unit.work, 0),
        };
        thread.segments = [before, raised, unit.work - before - raised];
        thread.segment = 0;
        thread.remaining = before;
        thread.current = Some(unit);
        thread.started = NEVER;
        true
    }

    /// The current segment of a CPU's thread is done.
    #[inline]
    pub(super) fn thread_done<O: Observer>(&mut self, cpu: usize, observer: &mut O) {
        let index = self.cpus[cpu].thread as usize;
        while self.threads[index].segment < 2 {
            let thread = &mut self.threads[index];
            thread.segment += 1;
            thread.remaining = thread.segments[thread.segment];
            let (segment, more) = (thread.segment, thread.remaining > 0);
            if let Some(hold) = self.spec.threads[index].hold {
                match segment {
                    1 if more => self.acquire(index, hold.lock as usize),
                    _ => self.let_go(index, hold.lock as usize),
                }
            }
            if more {
                return;
            }
        }
        let thread = &mut self.threads[index];
        thread.segment = 0;
        let unit = thread.current.take().expect("a running thread has a unit");
        if let Some(source) = unit.source {
            self.sources[source as usize].settle(&unit, self.now, true);
        }
        let activation =
            Activation { thread: Some(index as u32), cpu: cpu as u32, unit, start: thread.started, end: self.now };
        observer.activation(&activation);
        if let Activity::Timer { interval, rule, .. } = self.spec.threads[index].activity
            && rule != TimerRule::KernelPeriodic
        {
            thread.fire += interval;
        }
        if self.load(index, observer) {
            self.threads[index].started = self.now;
            if matches!(self.spec.threads[index].policy, Policy::EarliestDeadline { .. }) {
                // The next job has its own deadline.
                let unit = self.threads[index].current.take();
                self.threads[index].started = NEVER;
                self.cpus[cpu].thread = NONE;
                self.threads[index].current = unit;
                self.enqueue(index, false);
            }
        } else {
            self.threads[index].state = State::Blocked;
            self.cpus[cpu].thread = NONE;
        }
    }
}
