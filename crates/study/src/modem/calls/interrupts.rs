//! A call whose calling end's datapump works in interrupts of this machine, or in softirq callbacks.
//!
//! A thread of high priority computes the line and the far end, a block ahead: what is sent while a block comes was made before
//! that. It hands each block in before the interrupt at which it is complete. The output is done when the work of that interrupt
//! ends, and what is not done when it is due becomes silence, as for a thread's work.

use super::{Common, Host, OneCall, Serving, WAITING};
use punctual_context::Context;
use punctual_context::device::enter;
use punctual_context::modem::{InterruptQam, Worked};
use punctual_kernel::scheduling::Scheduling;
use punctual_kernel::{Refused, clock};
use punctual_modem::adapter::BLOCK_NS;
use punctual_modem::end::{Pump, PumpStatus};
use punctual_modem::telephone::{self, Qam, Telephone};
use punctual_modem::virtual_time::{Live, Plan};
use punctual_recording::{agreeing, counted};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Sender;
use std::time::Duration;

/// How the thread that computes the line is scheduled: above whatever may compete.
const SCHEDULING: Scheduling = Scheduling::Fifo(98);
/// How often it looks whether a block has been worked on.
const LOOK: Duration = Duration::from_micros(100);
/// An interrupt that does not come for so long does not come any more.
const PATIENCE_NS: u64 = 1_000_000_000;

/// A datapump of either end.
enum EitherPump {
    /// The far end's.
    Own(Box<Qam>),
    /// The calling end's.
    Interrupt(Box<AtInterrupts>),
}

struct AtInterrupts {
    qam: InterruptQam,
    common: Arc<Common>,
    /// When the newest block had been handed in, ns of `CLOCK_MONOTONIC`.
    given_ns: u64,
    /// When the newest block was worked on; `None`: it has not been handed in.
    worked: Option<Worked>,
    is_silent: bool,
    /// How many interrupts had called a program when the call began, and when the newest of them was due, ns of `CLOCK_MONOTONIC`.
    since: Option<(u64, u64)>,
    /// Interrupts that the kernel skipped since, as one before them came so late.
    skipped: u64,
}

impl AtInterrupts {
    /// Hands in a block and waits for its interrupt, unless the call is to end.
    fn work(
        &mut self,
        received: &[i16],
        sent: &mut [i16],
        next_bit: &mut dyn FnMut() -> bool,
        push_bit: &mut dyn FnMut(bool),
    ) {
        if self.is_silent {
            return sent.fill(0);
        }
        self.qam.give(received, &mut || Some(next_bit()));
        self.given_ns = clock::monotonic_ns();
        clock::sleep_until(self.qam.last_due_ns() + BLOCK_NS);
        let until_ns = clock::monotonic_ns() + PATIENCE_NS;
        while !self.qam.is_made() {
            if self.common.stop.load(Relaxed) || clock::monotonic_ns() > until_ns {
                self.is_silent = true;
                return sent.fill(0);
            }
            std::thread::sleep(LOOK);
        }
        let due_ns = self.qam.last_due_ns();
        let worked = self.qam.take(sent, &mut |bit| push_bit(bit));
        self.skipped += worked.began_ns.saturating_sub(due_ns) / BLOCK_NS;
        self.worked = Some(worked);
    }

    /// Interrupts since the call began for which no program was called.
    fn not_called(&self) -> u64 {
        // An interrupt that comes between these is rather not counted than held to have called none.
        let due_ns = self.qam.last_due_ns();
        let called = self.qam.interrupts();
        self.since.map_or(0, |(before, since_ns)| {
            not_called(due_ns.saturating_sub(since_ns), called.saturating_sub(before), self.skipped)
        })
    }
}

/// How many of the interrupts that were due within this time called no program: neither those that called one nor those that the
/// kernel skipped.
fn not_called(within_ns: u64, called: u64, skipped: u64) -> u64 {
    let due = (within_ns + BLOCK_NS / 2) / BLOCK_NS;
    due.saturating_sub(called.saturating_add(skipped))
}

impl Pump for EitherPump {
    fn process(
        &mut self,
        received: &[i16],
        sent: &mut [i16],
        next_bit: &mut dyn FnMut() -> bool,
        push_bit: &mut dyn FnMut(bool),
    ) {
        match self {
            EitherPump::Own(qam) => Pump::process(&mut **qam, received, sent, next_bit, push_bit),
            EitherPump::Interrupt(pump) => pump.work(received, sent, next_bit, push_bit),
        }
    }

    fn status(&self) -> PumpStatus {
        match self {
            EitherPump::Own(qam) => Pump::status(&**qam),
            // The kernel may still be at it.
            EitherPump::Interrupt(pump) if pump.is_silent => PumpStatus::default(),
            EitherPump::Interrupt(pump) => telephone::status_of(&pump.qam.status()),
        }
    }
}

/// Prepares the datapump and its interrupt, tells how the line's thread is scheduled, and makes the call.
pub(super) fn enter_and_serve(
    serving: Serving,
    context: Context,
    tell: &Sender<Result<Scheduling, Refused>>,
    (telephone, plan, seed): (&Telephone, Plan, u64),
    bytes: &[u8],
) -> Option<OneCall> {
    let cpu = serving.beside.cpu;
    let [near, far] = Live::pumps(telephone, &plan);
    // Loading takes long: not at a priority that keeps all others from this CPU.
    let started = InterruptQam::start(context, cpu, &near, BLOCK_NS, serving.compute_ns);
    let entered = started.and_then(|qam| Ok((qam, enter(Context::Thread(SCHEDULING), cpu)?)));
    let qam = match entered {
        Ok((qam, scheduling)) => {
            let _ = tell.send(Ok(scheduling));
            qam
        }
        Err(refused) => {
            let _ = tell.send(Err(refused));
            return None;
        }
    };
    let common = Arc::clone(&serving.common);
    let near = AtInterrupts { qam, common, given_ns: 0, worked: None, is_silent: false, since: None, skipped: 0 };
    let near = EitherPump::Interrupt(Box::new(near));
    let mut live = Live::over([near, EitherPump::Own(Box::new(far))], telephone, plan, seed, bytes);
    let began_ns = begin(&serving, &mut live)?;
    Some(serve(serving, context, live, began_ns))
}

/// The calling end's datapump.
fn at_interrupts(live: &mut Live<EitherPump>) -> Option<&mut AtInterrupts> {
    match live.pump() {
        EitherPump::Interrupt(pump) => Some(pump),
        EitherPump::Own(_) => None,
    }
}

/// Waits until all are to begin, and then for the next interrupt: the first block begins when that was due.
fn begin(serving: &Serving, live: &mut Live<EitherPump>) -> Option<u64> {
    let pump = at_interrupts(live)?;
    let mut gives_up_ns = None;
    loop {
        if serving.common.stop.load(Relaxed) {
            return None;
        }
        pump.qam.beat();
        let called = pump.qam.interrupts();
        let (begins_ns, due_ns) = (serving.common.began_ns.load(Relaxed), pump.qam.last_due_ns());
        if begins_ns > 0 && due_ns > begins_ns {
            pump.since = Some((called, due_ns));
            return Some(due_ns);
        }
        // Without interrupts the call ends at its first block, and says so.
        let now_ns = clock::monotonic_ns();
        if begins_ns > 0 && now_ns > *gives_up_ns.get_or_insert(now_ns + PATIENCE_NS) {
            return Some(now_ns);
        }
        std::thread::sleep(WAITING);
    }
}

/// One block after another, each at its interrupt, until the call is over.
fn serve(mut serving: Serving, context: Context, mut live: Live<EitherPump>, began_ns: u64) -> OneCall {
    let since = || clock::monotonic_ns().saturating_sub(began_ns);
    let (mut host, mut missed) = (Host::begin(&serving.cpus), 0u64);
    let beside = &mut serving.beside;
    while !serving.common.stop.load(Relaxed) {
        let mut complete_ns = live.next_block_ns();
        // The interrupt has come already: a later one would be blamed for what this thread was late with.
        while complete_ns <= since() && live.advance(complete_ns).is_none() {
            (complete_ns, missed) = (live.next_block_ns(), missed + 1);
        }
        if live.advance(complete_ns).is_some() {
            break;
        }
        serving.told.arrived.store(live.arrived() as u64, Relaxed);
        serving.told.line_ns.store(complete_ns, Relaxed);
        if live.begin(complete_ns).is_none() {
            continue;
        }
        let Some((worked, given_ns)) = work(&mut live) else { break };
        let at = |ns: u64| ns.saturating_sub(began_ns);
        if at(given_ns) >= complete_ns {
            // Its interrupt came while the line was computed, and found nothing.
            missed += 1;
        } else {
            beside.max_late_ns = beside.max_late_ns.max(at(worked.began_ns).saturating_sub(complete_ns));
        }
        beside.datapump_ns += worked.computed_ns.saturating_sub(worked.began_ns);
        beside.executed_ns += worked.ended_ns.saturating_sub(worked.began_ns);
        let ended = live.complete(at(worked.ended_ns));
        beside.activations += 1;
        beside.note_pending(live.adapter().pending(at(worked.ended_ns)));
        host.look(&serving.cpus, live.counters().underruns, beside);
        if ended.is_some() {
            break;
        }
    }
    beside.elapsed_ns = since();
    beside.host_ns = host.took(&serving.cpus);
    let note = note(&mut live, context, missed, serving.common.stop.load(Relaxed));
    let (attempt, course) = (live.attempt(), live.course().clone());
    OneCall { attempt, course, beside: serving.beside, note }
}

/// The work for the block that was begun, at its interrupt, and when it was handed in. `None`: none came.
fn work(live: &mut Live<EitherPump>) -> Option<(Worked, u64)> {
    at_interrupts(live)?.worked = None;
    live.work();
    let pump = at_interrupts(live)?;
    if pump.worked.is_none() {
        // While it dials, and once it has hung up, there is nothing for the datapump: the interrupt comes all the same.
        pump.work(&[], &mut [], &mut || true, &mut |_| ());
    }
    pump.worked.map(|worked| (worked, pump.given_ns))
}

/// What is to be said of the call.
fn note(live: &mut Live<EitherPump>, context: Context, missed: u64, was_stopped: bool) -> Option<String> {
    let pump = at_interrupts(live)?;
    if pump.is_silent && !was_stopped {
        let why = pump.qam.trouble().map(|why| format!(": {why}")).unwrap_or_default();
        return Some(format!("no interrupt came for a second, and the call ended{why}"));
    }
    let missed = (missed > 0).then(|| {
        format!(
            "{} had gone by before the thread that computes the line could hand them in: that is no fault of {context}",
            counted(missed, "block")
        )
    });
    let not_called = match pump.not_called() {
        0 => None,
        count => Some(not_called_in_words(count, missed.is_some())),
    };
    let said: Vec<String> = missed.into_iter().chain(not_called).chain(pump.qam.trouble()).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// What is said of interrupts that called no program; `is_most`: some of them may have been skipped while no block was there.
fn not_called_in_words(count: u64, is_most: bool) -> String {
    let at_most = if is_most { "at most " } else { "" };
    let blocks = agreeing(count, "its block", "their blocks");
    format!("no program was called for {at_most}{}: {blocks} waited for the next one", counted(count, "interrupt"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_that_called_no_program_are_those_that_were_due_but_for_others() {
        let mut met = 0;
        for (periods, called, skipped, expected) in
            [(0, 0, 0, 0), (1_000, 1_000, 0, 0), (1_000, 986, 0, 14), (1_000, 986, 10, 4), (1_000, 1_001, 0, 0)]
        {
            // Two due times are apart by whole periods, but for the rounding of the timer.
            for within_ns in [periods * BLOCK_NS, periods * BLOCK_NS + 1_000] {
                assert_eq!(not_called(within_ns, called, skipped), expected, "{periods} {called} {skipped}");
                met += 1;
            }
        }
        assert_eq!(met, 10);
        assert_eq!(
            not_called_in_words(1, false),
            "no program was called for 1 interrupt: its block waited for the next one"
        );
        let most = "no program was called for at most 14 interrupts: their blocks waited for the next one";
        assert_eq!(not_called_in_words(14, true), most);
    }
}
