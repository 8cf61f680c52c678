//! A machine's account of itself: where its time went, what found no room, what nobody began.

use super::engine::{CpuTime, Engine};
use super::specification::{Activity, TimerRule};
use super::thread::State;
use crate::observe::Level;
use crate::time::{NEVER, Picoseconds};

impl Engine {
    /// How many events were handled so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Where a CPU's time went.
    pub fn cpu_time(&self, cpu: usize) -> CpuTime {
        self.cpus[cpu].time
    }

    /// CPU time that a thread had.
    pub fn thread_time(&self, thread: usize) -> Picoseconds {
        self.threads[thread].used
    }

    /// How often a thread moved to another CPU.
    pub fn migrations(&self, thread: usize) -> u64 {
        self.threads[thread].migrations
    }

    /// Constraints of a thread: granted, refused.
    pub fn constraints(&self, thread: usize) -> (u64, u64) {
        (self.threads[thread].granted, self.threads[thread].refused)
    }

    /// Arrivals at sources and threads for which there was no room, because far too many waited.
    pub fn without_room(&self) -> u64 {
        let of_sources: u64 = self.sources.iter().map(|source| source.without_room).sum();
        of_sources + self.threads.iter().map(|thread| thread.without_room).sum::<u64>()
    }

    /// Signals of a thread that found its synchronization event already set.
    pub fn merged(&self, thread: usize) -> u64 {
        self.threads[thread].merged
    }

    /// When the work that this thread has not begun was due, oldest first.
    pub fn unstarted(&self, thread: usize) -> Vec<Picoseconds> {
        let state = &self.threads[thread];
        let loaded = state.current.iter().filter(|_| state.started == NEVER);
        let mut due: Vec<Picoseconds> = loaded.chain(&state.units).map(|unit| unit.arrival).collect();
        if let Activity::Timer { interval, rule, .. } = self.spec.threads[thread].activity
            && rule != TimerRule::KernelPeriodic
        {
            let next = state.fire + if state.current.is_some() { interval } else { 0 };
            due.extend((0..).map(|count| next + count * interval).take_while(|&due| due <= self.now));
        }
        due
    }

    /// When the interrupts came from this source whose work nobody has begun, oldest first.
    pub fn unstarted_of(&self, source: usize) -> Vec<Picoseconds> {
        let own = &self.sources[source];
        let in_thread = own.spec.thread.map(|thread| &self.threads[thread]);
        let loaded = in_thread
            .into_iter()
            .flat_map(|thread| thread.current.iter().filter(|_| thread.started == NEVER).chain(&thread.units));
        let of_thread = loaded.filter(|unit| unit.source == Some(source as u32));
        of_thread.chain(&own.deferred).chain(&own.waiting).map(|unit| unit.arrival).collect()
    }

    /// The name of what a slice shows.
    pub fn name(&self, level: Level, index: u32) -> &str {
        match level {
            Level::Irq | Level::Dpc => &self.sources[index as usize].spec.name,
            Level::Thread => &self.spec.threads[index as usize].name,
            Level::Idle => "idle",
        }
    }

    /// What a thread is doing, for tests of invariants.
    pub fn is_ready(&self, thread: usize) -> bool {
        matches!(self.threads[thread].state, State::Ready | State::Running)
    }
}
