//! A measuring thread: sleep to the grid, read the clock, copy the stamps, hand them on.

use crate::periodic::sample::Sample;
use crate::periodic::slots::SlotReader;
use crate::periodic::softirq_wait::{Seen, SoftirqWait, Waited};
use crate::shared::control::{Control, Watchdog};
use punctual_kernel::rests::Resting;
use punctual_kernel::scheduling::{self, Scheduling};
use punctual_kernel::{Refused, clock, hold};
use rtrb::Producer;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

/// What the thread reports when it is set up and waits to begin.
pub(crate) struct Ready {
    pub(crate) tid: u32,
    /// The scheduling it has; normal if the one asked for was refused.
    pub(crate) scheduling: Scheduling,
    /// Why the scheduling asked for was refused.
    pub(crate) refused: Option<Refused>,
    /// Why it could not be pinned to its CPU.
    pub(crate) not_pinned: Option<Refused>,
}

/// How the thread is woken and where its stamps are; given once the programs are loaded.
#[derive(Default)]
pub(crate) struct Equipment {
    pub(crate) slot: Option<SlotReader>,
    pub(crate) softirq: Option<SoftirqWait>,
    /// Set if the thread runs ahead of ordinary ones for as long as it wants.
    pub(crate) resting: Option<Resting>,
}

/// What the thread counts and others read.
#[derive(Debug, Default)]
pub(crate) struct ThreadCounts {
    /// Samples for which the queue had no room.
    pub(crate) lost: AtomicU64,
    /// Activations whose interrupt no program saw, so that no softirq callback woke the thread.
    pub(crate) unobserved: AtomicU64,
    /// Activations whose interrupt was seen but whose wake never came.
    pub(crate) never_woken: AtomicU64,
    /// Activations that went by since the last wakeup: no wakeup has reported them yet.
    pub(crate) untold: AtomicU64,
    /// CPU time that it had used when it began to measure, ns: it waits while programs load, and asks again and again. 0 before
    /// it begins.
    before_ns: AtomicU64,
    /// CPU time used since it began to measure, ns; known when the thread has ended.
    pub(crate) cpu_ns: AtomicU64,
}

impl ThreadCounts {
    /// CPU time used since it began to measure, ns, of all that it has used so far; 0 before it begins.
    pub(crate) fn measuring_ns(&self, used_ns: u64) -> u64 {
        match self.before_ns.load(Ordering::Relaxed) {
            0 => 0,
            before_ns => used_ns.saturating_sub(before_ns),
        }
    }
}

/// How to set up a thread.
pub(crate) struct Setup {
    pub(crate) scheduling: Scheduling,
    pub(crate) cpu: Option<u32>,
    pub(crate) interval_ns: u64,
    /// From the common start to this thread's first activation, ns.
    pub(crate) offset_ns: u64,
    /// The run ends at the first total above this, ns.
    pub(crate) break_ns: u64,
    pub(crate) queue: Producer<Sample>,
    pub(crate) control: Arc<Control>,
    pub(crate) counts: Arc<ThreadCounts>,
}

/// A thread that is set up and waits to begin.
pub(crate) struct MeasuringThread {
    ready: mpsc::Receiver<Ready>,
    equip: mpsc::Sender<Equipment>,
    handle: JoinHandle<()>,
}

impl MeasuringThread {
    pub(crate) fn spawn(name: String, setup: Setup) -> std::io::Result<MeasuringThread> {
        let (tell_ready, ready) = mpsc::channel();
        let (equip, equipment) = mpsc::channel();
        let body = move || {
            let _ = tell_ready.send(prepare(&setup));
            // An error means that the run was given up before it began.
            if let Ok(equipment) = equipment.recv() {
                measure(setup, equipment);
            }
        };
        let handle = std::thread::Builder::new().name(name).stack_size(256 * 1024).spawn(body)?;
        Ok(MeasuringThread { ready, equip, handle })
    }

    /// Waits until the thread is set up; `None` if it ended instead.
    pub(crate) fn ready(&self) -> Option<Ready> {
        self.ready.recv().ok()
    }

    /// Gives the thread what it needs; it begins at the time that `Control` says.
    pub(crate) fn begin(&self, equipment: Equipment) {
        let _ = self.equip.send(equipment);
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }
}

fn prepare(setup: &Setup) -> Ready {
    scheduling::drop_timer_slack();
    let not_pinned = setup.cpu.and_then(|cpu| scheduling::pin_to(cpu).err());
    hold::touch_stack();
    let refused = scheduling::set_scheduling(setup.scheduling).err();
    let scheduling = if refused.is_some() { Scheduling::Other } else { setup.scheduling };
    Ready { tid: clock::thread_id(), scheduling, refused, not_pinned }
}

fn measure(mut setup: Setup, mut equipment: Equipment) {
    let mut resting = equipment.resting.take();
    let equipment = &equipment;
    let control = Arc::clone(&setup.control);
    let (start, end) = loop {
        match control.times() {
            Some(times) => break times,
            None if control.is_stopped() => return,
            None => std::thread::sleep(std::time::Duration::from_micros(200)),
        }
    };
    setup.counts.before_ns.store(clock::thread_cpu_ns(), Ordering::Relaxed);
    let interval = setup.interval_ns;
    let mut watchdog = Watchdog::default();
    let mut expected = start + setup.offset_ns;
    // Long enough after the timer for its interrupt to come first, short enough to be back for the next.
    let patience = interval.clamp(100_000, 1_000_000);
    // Activations that went by without any wakeup, to be reported with the next one.
    let mut without_wakeup = 0u64;
    while expected < end && !control.is_stopped() {
        let waited = match &equipment.softirq {
            None => {
                clock::sleep_until(expected);
                Waited::Woken
            }
            Some(wait) => wait.wait(expected, patience, || seen(expected, equipment), || control.is_stopped()),
        };
        let now = clock::monotonic_ns();
        let late = now.saturating_sub(expected);
        // The thread goes on at the next point of its grid; the points that have passed were missed.
        let missed = late / interval;
        match waited {
            Waited::Woken => {
                let sample = take(expected, now, missed + std::mem::take(&mut without_wakeup), equipment);
                if setup.queue.push(sample).is_err() {
                    setup.counts.lost.fetch_add(1, Ordering::Relaxed);
                }
                if late > setup.break_ns {
                    control.breach();
                }
            }
            Waited::Unobserved => {
                setup.counts.unobserved.fetch_add(1, Ordering::Relaxed);
                without_wakeup += missed;
            }
            Waited::NeverWoken => {
                setup.counts.never_woken.fetch_add(1, Ordering::Relaxed);
                without_wakeup += missed + 1;
            }
            Waited::Ended => break,
        }
        setup.counts.untold.store(without_wakeup, Ordering::Relaxed);
        expected += interval * (missed + 1);
        watchdog.check(&control, now);
        if let Some(rest_end) = resting.as_mut().and_then(|resting| resting.came(now, late)) {
            control.count_rest();
            let skipped = rest_end.saturating_sub(expected).div_ceil(interval);
            without_wakeup += skipped;
            expected += interval * skipped;
        }
    }
    setup.counts.cpu_ns.store(setup.counts.measuring_ns(clock::thread_cpu_ns()), Ordering::Relaxed);
}

/// What the programs saw of this activation.
fn seen(expected: u64, equipment: &Equipment) -> Seen {
    match equipment.slot.as_ref().map(SlotReader::read) {
        Some(slot) if slot.expected == expected && slot.irq != 0 => Seen::Interrupt,
        Some(slot) if slot.expected == expected && slot.switch_in != 0 => Seen::Expired,
        _ => Seen::Nothing,
    }
}

/// Copies what the BPF programs left about this wakeup. Stamps of another one are left out.
#[inline]
fn take(expected: u64, now: u64, missed: u64, equipment: &Equipment) -> Sample {
    let mut sample =
        Sample { expected, user: now, missed: missed.min(u64::from(u32::MAX)) as u32, ..Sample::default() };
    if let Some(slot) = &equipment.slot {
        let slot = slot.read();
        sample.cpu = slot.cpu;
        if slot.expected == expected {
            sample.irq = slot.irq;
            sample.softirq = slot.softirq;
            sample.waking = slot.waking;
            sample.switch_in = slot.switch_in;
            sample.steal = slot.steal;
        }
    }
    if sample.waking == 0 && sample.switch_in == 0 {
        sample.cpu = clock::current_cpu();
    }
    if let Some(softirq) = &equipment.softirq {
        softirq.drain();
    }
    sample
}

/// What it costs a measuring thread to copy the stamps of a wakeup and hand them on, ns; for benchmarks.
///
/// # Errors
/// If the programs have no room for another thread.
pub fn recording_cost_ns(tracer: &mut crate::StageTracer, iterations: u32) -> Result<f64, Refused> {
    let equipment = Equipment { slot: Some(tracer.add(clock::thread_id())?), ..Equipment::default() };
    let (mut producer, mut consumer) = rtrb::RingBuffer::<Sample>::new(1 << 12);
    let mut spent = 0;
    let mut done = 0;
    while done < iterations {
        let began = clock::monotonic_ns();
        for round in 0..1 << 12 {
            let _ = producer.push(take(0, round, 0, &equipment));
        }
        spent += clock::monotonic_ns() - began;
        done += 1 << 12;
        while consumer.pop().is_ok() {}
    }
    Ok(spent as f64 / f64::from(done))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// CPU time that it waits for before it lets a thread begin, ns.
    const WAITED_NS: u64 = 200_000;

    fn used_ns(tid: u32) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/self/task/{tid}/schedstat")).unwrap();
        text.split_whitespace().next().unwrap().parse().unwrap()
    }

    #[test]
    fn kernel_what_a_thread_used_before_it_began_to_measure_does_not_count() {
        let (control, counts) = (Arc::new(Control::default()), Arc::new(ThreadCounts::default()));
        let (queue, _taken) = rtrb::RingBuffer::new(64);
        let setup = Setup {
            scheduling: Scheduling::Other,
            cpu: None,
            interval_ns: 1_000_000,
            offset_ns: 0,
            break_ns: u64::MAX,
            queue,
            control: Arc::clone(&control),
            counts: Arc::clone(&counts),
        };
        let thread = MeasuringThread::spawn("waits".to_owned(), setup).unwrap();
        let tid = thread.ready().unwrap().tid;
        let ready_ns = used_ns(tid);
        thread.begin(Equipment::default());
        let began = Instant::now();
        while used_ns(tid) < ready_ns + WAITED_NS {
            assert!(began.elapsed() < Duration::from_secs(60), "it used no CPU time while it waited");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(counts.measuring_ns(used_ns(tid)), 0);
        let start = clock::monotonic_ns() + 1_000_000;
        control.start(start, start + 3_000_000);
        while !thread.is_finished() {
            assert!(began.elapsed() < Duration::from_secs(120), "it does not end");
            std::thread::sleep(Duration::from_millis(1));
        }
        let (before_ns, cpu_ns) = (counts.before_ns.load(Ordering::Relaxed), counts.cpu_ns.load(Ordering::Relaxed));
        assert!(before_ns >= ready_ns + WAITED_NS && cpu_ns > 0, "{before_ns} ns before, {cpu_ns} ns");
        assert_eq!(counts.measuring_ns(before_ns + 7), 7);
    }
}
