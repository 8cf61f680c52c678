//! The system's timers: when they are due, and what happens when they expire (nt-timers-1998 section 4.1).

use super::engine::Engine;
use super::specification::{Activity, TimerRule};
use super::thread::State;
use crate::time::{MILLISECOND, NEVER, Picoseconds};

impl Engine {
    /// The system's time: that of the last tick, if it has ticks.
    #[inline]
    pub(super) fn system_time(&self) -> Picoseconds {
        match self.spec.clock.as_ref().and_then(|clock| clock.period) {
            Some(_) => self.system_time,
            None => self.now,
        }
    }

    /// Asks the system to wake a timer thread. It waits from `from`, the system's time.
    #[inline]
    pub(super) fn arm(&mut self, index: usize, rule: TimerRule, from: Picoseconds) {
        let thread = &mut self.threads[index];
        thread.due = match rule {
            TimerRule::Rounded => {
                let wait = thread.fire.saturating_sub(from);
                let milliseconds = ((wait + MILLISECOND / 2) / MILLISECOND).max(1);
                from + milliseconds * MILLISECOND
            }
            TimerRule::Exact | TimerRule::KernelPeriodic => thread.fire,
        };
        self.arm_one_shot();
    }

    /// A clock that interrupts on demand: at the earliest time at which any timer is due.
    fn arm_one_shot(&mut self) {
        if self.spec.clock.as_ref().is_some_and(|clock| clock.period.is_none()) {
            let due = self.threads.iter().map(|thread| thread.due).min().unwrap_or(NEVER);
            let at = if due == NEVER { NEVER } else { due.max(self.now) };
            self.calendar.set(self.slot_source(self.clock as usize), at);
        }
    }

    /// Whether any timer is due at this time of the system.
    #[inline]
    pub(super) fn timer_due(&self, time: Picoseconds) -> bool {
        self.threads.iter().any(|thread| thread.due <= time)
    }

    /// Expires the timers that are due at this time of the system.
    pub(super) fn expire(&mut self, time: Picoseconds) {
        for index in 0..self.threads.len() {
            if self.threads[index].due > time {
                continue;
            }
            let Activity::Timer { interval, rule, .. } = self.spec.threads[index].activity else { continue };
            if rule == TimerRule::KernelPeriodic {
                while self.threads[index].due <= time {
                    let arrival = self.threads[index].due;
                    self.threads[index].due += interval;
                    let mut unit = self.new_unit(index, arrival);
                    unit.irq_start = self.tick.irq_start;
                    unit.dpc_start = self.tick.dpc_start;
                    unit.ready = self.now;
                    self.signal(index, unit);
                }
            } else {
                self.threads[index].due = NEVER;
                self.threads[index].woken = self.now;
                if self.threads[index].state == State::Blocked {
                    self.wake(index);
                }
            }
        }
        self.arm_one_shot();
    }
}
