//! Breaks one mechanism of a machine, to see which predictions depend on it.

use super::specification::{Activity, Arrival, MachineSpec, Policy, TimerRule, WorkContext};
use crate::cost::Cost;
use crate::time::{MICROSECOND, MILLISECOND};

/// What can be broken. Each breaks in one way, large enough to show in whatever depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mechanism {
    /// The clock ticks every 1000 us.
    Tick,
    /// A timer's wait is not rounded to milliseconds.
    Rounding,
    /// Handlers and procedures take ten times as long before they work, and 50 us more.
    DispatchCost,
    /// A switch between threads takes 1 ms.
    ContextSwitch,
    /// The last deferred procedure queued goes first.
    ProcedureOrder,
    /// A handler's work is done in the deferred procedure.
    WorkInInterrupt,
    /// A deferred procedure's work is done in the handler.
    WorkInProcedure,
    /// Saving the floating-point registers takes 2 ms.
    FpuSave,
    /// Threads of normal priority are raised by three levels when a wait ends.
    Boost,
    /// Threads of one priority take turns of 1 ms.
    Quantum,
    /// A preempted thread goes on with what is left of its quantum.
    FreshQuantum,
    /// A thread in a reservation may also run outside it, above all others of normal priority.
    ReservationEdge,
    /// A thread in its slot runs above every priority.
    SlotPriority,
    /// Every interrupt has the same level.
    InterruptLevel,
    /// The ring never fills.
    Ring,
    /// A device's clock is as fast as the machine's.
    Drift,
}

impl Mechanism {
    /// All of them.
    pub const ALL: [Mechanism; 16] = [
        Mechanism::Tick,
        Mechanism::Rounding,
        Mechanism::DispatchCost,
        Mechanism::ContextSwitch,
        Mechanism::ProcedureOrder,
        Mechanism::WorkInInterrupt,
        Mechanism::WorkInProcedure,
        Mechanism::FpuSave,
        Mechanism::Boost,
        Mechanism::Quantum,
        Mechanism::FreshQuantum,
        Mechanism::ReservationEdge,
        Mechanism::SlotPriority,
        Mechanism::InterruptLevel,
        Mechanism::Ring,
        Mechanism::Drift,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Mechanism::Tick => "tick",
            Mechanism::Rounding => "rounding",
            Mechanism::DispatchCost => "dispatch-cost",
            Mechanism::ContextSwitch => "context-switch",
            Mechanism::ProcedureOrder => "procedure-order",
            Mechanism::WorkInInterrupt => "work-in-interrupt",
            Mechanism::WorkInProcedure => "work-in-procedure",
            Mechanism::FpuSave => "fpu-save",
            Mechanism::Boost => "boost",
            Mechanism::Quantum => "quantum",
            Mechanism::FreshQuantum => "fresh-quantum",
            Mechanism::ReservationEdge => "reservation-edge",
            Mechanism::SlotPriority => "slot-priority",
            Mechanism::InterruptLevel => "interrupt-level",
            Mechanism::Ring => "ring",
            Mechanism::Drift => "drift",
        }
    }

    /// How it is broken.
    pub fn how(self) -> &'static str {
        match self {
            Mechanism::Tick => "the clock ticks every 1000 us",
            Mechanism::Rounding => "a timer's wait is not rounded",
            Mechanism::DispatchCost => "handlers and procedures take ten times as long and 50 us more",
            Mechanism::ContextSwitch => "a switch between threads takes 1 ms",
            Mechanism::ProcedureOrder => "the last procedure queued goes first",
            Mechanism::WorkInInterrupt => "a handler's work is done in the procedure",
            Mechanism::WorkInProcedure => "a procedure's work is done in the handler",
            Mechanism::FpuSave => "saving the floating-point registers takes 2 ms",
            Mechanism::Boost => "normal priorities rise by three levels after a wait",
            Mechanism::Quantum => "turns of 1 ms",
            Mechanism::FreshQuantum => "a preempted thread keeps its old quantum",
            Mechanism::ReservationEdge => "a reserved thread also runs outside its slots, at priority 15",
            Mechanism::SlotPriority => "a slot is above every priority",
            Mechanism::InterruptLevel => "every interrupt has level 9",
            Mechanism::Ring => "the ring never fills",
            Mechanism::Drift => "the device's clock does not drift",
        }
    }

    /// Breaks it.
    #[expect(clippy::too_many_lines, reason = "one flat match: how each mechanism is broken")]
    pub fn break_in(self, spec: &mut MachineSpec) {
        let slow = |cost: &mut Cost| *cost = cost.times(10, 50 * MICROSECOND);
        match self {
            Mechanism::Tick => {
                if let Some(period) = spec.clock.as_mut().and_then(|clock| clock.period.as_mut()) {
                    *period = MILLISECOND;
                }
            }
            Mechanism::Rounding => {
                for thread in &mut spec.threads {
                    if let Activity::Timer { rule, .. } = &mut thread.activity {
                        *rule = if *rule == TimerRule::Rounded { TimerRule::Exact } else { *rule };
                    }
                }
            }
            Mechanism::DispatchCost => {
                if let Some(clock) = &mut spec.clock {
                    slow(&mut clock.isr);
                    slow(&mut clock.dpc);
                }
                for source in &mut spec.sources {
                    slow(&mut source.isr);
                    slow(&mut source.dpc);
                }
            }
            Mechanism::ContextSwitch => spec.context_switch += MILLISECOND,
            Mechanism::ProcedureOrder => {
                spec.sources.iter_mut().for_each(|source| source.important = !source.important)
            }
            Mechanism::WorkInInterrupt | Mechanism::WorkInProcedure => {
                let [from, to] = match self {
                    Mechanism::WorkInInterrupt => [WorkContext::Irq, WorkContext::Dpc],
                    _ => [WorkContext::Dpc, WorkContext::Irq],
                };
                for source in spec.sources.iter_mut().filter(|source| source.context == from) {
                    source.context = to;
                }
            }
            Mechanism::FpuSave => spec.fpu_save += 2 * MILLISECOND,
            Mechanism::Boost => spec.wait_boost += 3,
            Mechanism::Quantum => spec.quantum = MILLISECOND,
            Mechanism::FreshQuantum => spec.preempted_gets_fresh_quantum = !spec.preempted_gets_fresh_quantum,
            Mechanism::ReservationEdge => {
                for thread in &mut spec.threads {
                    if let Policy::Reservation { outside, .. } = &mut thread.policy {
                        *outside = Some(15);
                    }
                }
            }
            Mechanism::SlotPriority => spec.slot_level = super::ready::LEVEL_SLOT,
            Mechanism::InterruptLevel => {
                spec.sources.iter_mut().for_each(|source| source.irql = 9);
                if let Some(clock) = &mut spec.clock {
                    clock.irql = 9;
                }
            }
            Mechanism::Ring | Mechanism::Drift => {
                for source in &mut spec.sources {
                    if let Arrival::Phases(phases) = &mut source.arrival {
                        match self {
                            Mechanism::Ring => phases.ring = u64::MAX,
                            _ => phases.parts_per_million = 0,
                        }
                    }
                }
            }
        }
    }
}
