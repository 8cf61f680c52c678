//! A thread that makes the injections of one CPU, one after the other.

use super::schedule::{Planned, Schedule};
use super::stop::Stop;
use super::{Injection, VictimActivation};
use punctual_kernel::{Refused, clock};
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// A worker is ready this long before an injection is due, ns: enough for a busy machine to let it run.
const LEAD_NS: u64 = 10_000_000;

/// What was injected, as the injector knows it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Made {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) cpu: u32,
    pub(crate) tid: Option<u32>,
    pub(crate) victim: Option<VictimActivation>,
    pub(crate) moves: Option<u64>,
    pub(crate) faults: Option<u64>,
    pub(crate) major_faults: Option<u64>,
}

/// Makes injections of one kind on one CPU. Lives in its worker's thread.
pub(crate) trait Injector {
    /// Makes an injection at that time and returns when it is over; `None` if it could not be made. Called shortly
    /// before `at_ns`.
    fn inject(&mut self, at_ns: u64, length_ns: u64, stop: &Stop) -> Result<Option<Made>, Refused>;
}

/// Sets the thread up (name, CPU, policy) and makes its injector, in the thread itself.
pub(crate) type Prepare = Box<dyn FnOnce() -> Result<Box<dyn Injector>, Refused> + Send>;

/// What a worker reports.
pub(crate) enum Event {
    Ready,
    Made(Injection),
    NotMade,
    Failed(Refused),
}

/// What a worker needs to know.
pub(crate) struct Worker {
    pub(crate) kind: super::DrillKind,
    pub(crate) schedule: Schedule,
    pub(crate) every_ns: u64,
    pub(crate) duration_ns: u64,
    pub(crate) stop: Arc<Stop>,
    pub(crate) events: Sender<Event>,
}

impl Worker {
    /// The thread's body.
    pub(crate) fn work(self, prepare: Prepare) {
        let mut injector = match prepare() {
            Ok(injector) => injector,
            Err(refused) => return self.tell(Event::Failed(refused)),
        };
        self.tell(Event::Ready);
        let Some(begin_ns) = self.stop.wait_for_begin() else { return };
        let mut free_ns = begin_ns;
        for planned in self.schedule.clone() {
            if !self.stop.take() {
                return;
            }
            let at_ns = begin_ns + planned.offset_ns;
            if planned.offset_ns + planned.length_ns > self.duration_ns {
                self.stop.sleep_until(begin_ns + self.duration_ns);
                return;
            }
            if !self.stop.sleep_until(at_ns.saturating_sub(LEAD_NS)) {
                return;
            }
            // Far too late (the program was stopped, say): nobody makes up for what was missed.
            let now = clock::monotonic_ns();
            if now.max(free_ns) > at_ns + self.every_ns / 2 {
                self.not_made();
                continue;
            }
            match injector.inject(at_ns.max(free_ns), planned.length_ns, &self.stop) {
                Ok(Some(made)) => {
                    // However late one ends, the CPU gets just as long a rest.
                    free_ns = made.end_ns + (made.end_ns - made.start_ns);
                    self.tell(Event::Made(self.injection(&planned, made)));
                }
                Ok(None) if self.stop.is_set() => return,
                Ok(None) => self.not_made(),
                Err(refused) => return self.tell(Event::Failed(refused)),
            }
        }
    }

    /// Another one will be made in its place.
    fn not_made(&self) {
        self.stop.give_back();
        self.tell(Event::NotMade);
    }

    fn injection(&self, planned: &Planned, made: Made) -> Injection {
        Injection {
            kind: self.kind.name(),
            name: self.kind.culprit(),
            number: planned.number,
            cpu: made.cpu,
            tid: made.tid,
            asked_ns: planned.length_ns,
            start_ns: made.start_ns,
            end_ns: made.end_ns,
            victim: made.victim,
            moves: made.moves,
            faults: made.faults,
            major_faults: made.major_faults,
        }
    }

    /// If nobody listens any more, the drill is over.
    fn tell(&self, event: Event) {
        let _ = self.events.send(event);
    }
}
