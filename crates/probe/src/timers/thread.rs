//! A thread that measures one way.

use super::method::{Method, TimerMethod};
use super::open::open;
use super::plan::{AFTER_STALL, BEFORE_STALL, MIN_NS, MethodPlan, MethodRun, ROOM, STALLS, StallRun, set_slack};
use super::python;
use crate::shared::control::{Control, Watchdog};
use punctual_kernel::rests::{Resting, RoomBelow, Times};
use punctual_kernel::scheduling::{self, Scheduling};
use punctual_kernel::{Refused, clock, hold};
use punctual_timing::Callback;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

const MIN_WAIT_ROUNDS: usize = 15;

/// A thread that waits to measure a way.
pub struct MethodThread {
    kind: TimerMethod,
    tid: u32,
    control: Arc<Control>,
    give: Sender<MethodPlan>,
    take: Receiver<Result<MethodRun, Refused>>,
}

impl MethodThread {
    /// Starts the thread. The caller must hold [`super::SignalsHeld`].
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn spawn(kind: TimerMethod) -> Result<MethodThread, Refused> {
        let control = Arc::new(Control::default());
        let (give, plans) = channel::<MethodPlan>();
        let (results, take) = channel();
        let (tell, told) = channel();
        let shared = Arc::clone(&control);
        let body = move || {
            let _ = tell.send(clock::thread_id());
            // An error means that the thread is not needed.
            if let Ok(plan) = plans.recv() {
                hold::touch_stack();
                let measured = match kind {
                    TimerMethod::PythonSleep => python::measure(&plan, &shared),
                    _ => measure(kind, &plan, &shared),
                };
                let _ = results.send(measured);
            }
        };
        let refused = |reason: String| Refused::because("starting a measuring thread", reason);
        std::thread::Builder::new()
            .name(kind.name().chars().take(15).collect())
            .stack_size(256 * 1024)
            .spawn(body)
            .map_err(|error| refused(error.to_string()))?;
        let tid = told.recv().map_err(|_| refused("it ended early".to_owned()))?;
        Ok(MethodThread { kind, tid, control, give, take })
    }

    /// The way it measures.
    pub fn kind(&self) -> TimerMethod {
        self.kind
    }

    /// Its thread id.
    pub fn tid(&self) -> u32 {
        self.tid
    }

    /// Measures. Asks `goes_on` about every 20 ms; if it says no, the thread ends with its next callback and returns
    /// what it has; `None` if it did not come back from its wait within a second.
    ///
    /// # Errors
    /// Why the way is not there.
    pub fn run(self, plan: MethodPlan, goes_on: &mut dyn FnMut() -> bool) -> Option<Result<MethodRun, Refused>> {
        self.give.send(plan).ok()?;
        let mut stopped: Option<Instant> = None;
        loop {
            match self.take.recv_timeout(Duration::from_millis(20)) {
                Ok(run) => return Some(run),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.control.beat();
            let asked_to_stop = !goes_on();
            match stopped {
                Some(since) if since.elapsed() > Duration::from_millis(1_500) => return None,
                None if asked_to_stop => {
                    self.control.stop();
                    stopped = Some(Instant::now());
                }
                _ => {}
            }
        }
    }
}

/// Memory for callbacks, touched before it is used.
struct Room {
    callbacks: Vec<Callback>,
    cpus: Vec<u32>,
    lost: u64,
}

impl Room {
    fn of(duration_ns: u64, period_ns: u64) -> Room {
        let count = (duration_ns / period_ns.max(1) + 64).min(ROOM) as usize;
        let (mut callbacks, mut cpus) = (vec![Callback { periods: 1, ..Callback::default() }; count], vec![1; count]);
        callbacks.clear();
        cpus.clear();
        Room { callbacks, cpus, lost: 0 }
    }

    #[inline]
    fn push(&mut self, callback: Callback) {
        if self.callbacks.len() < self.callbacks.capacity() && self.cpus.len() < self.cpus.capacity() {
            self.callbacks.push(callback);
            self.cpus.push(clock::current_cpu());
        } else {
            self.lost += 1;
        }
    }
}

struct Measurement<'a> {
    kind: TimerMethod,
    way: Box<dyn Method>,
    period_ns: u64,
    control: &'a Control,
    watchdog: Watchdog,
    /// Set for a real-time thread.
    resting: Option<Resting>,
}

/// After a stall it may be busy for this long with what it missed, ns.
const BUSY_NS: u64 = 250_000_000;
/// Before a stall it leaves its CPU to others for this long, ns.
const PAUSE_NS: u64 = 20_000_000;

fn measure(kind: TimerMethod, plan: &MethodPlan, control: &Control) -> Result<MethodRun, Refused> {
    set_slack(plan.slack_ns);
    let way = open(kind, plan.clock)?;
    let mut run = MethodRun { resolution_ns: resolution_ns(plan.clock.id()), ..MethodRun::default() };
    match plan.priority {
        // A loop that never sleeps would keep everything else from its CPU.
        Some(_) if kind == TimerMethod::Busy => {
            run.refused =
                Some("the busy wait is measured at normal priority, because it never gives up its CPU".to_owned());
        }
        Some(priority) => match scheduling::set_scheduling(Scheduling::Fifo(priority)) {
            Ok(()) => run.priority = Some(priority),
            Err(refused) => run.refused = Some(refused.to_string()),
        },
        None => {}
    }
    let below = RoomBelow::start(clock::current_cpu(), run.priority.map(Scheduling::Fifo))?;
    let mut measurement = Measurement {
        kind,
        way,
        period_ns: plan.period_ns,
        control,
        watchdog: Watchdog::default(),
        resting: below.as_ref().map(|below| Resting::new(below.room(), Times::EveryOther)),
    };
    run.granularity_ns = measurement.shortest()?;

    let mut room = Room::of(plan.duration_ns, plan.period_ns);
    let cpu_before = clock::thread_cpu_ns();
    run.origin_ns = measurement.stream(plan.duration_ns, &mut room)?;
    run.cpu_ns = clock::thread_cpu_ns() - cpu_before;
    (run.callbacks, run.cpus, run.lost) = (room.callbacks, room.cpus, room.lost);

    if plan.without_slack_ns > 0 && kind.has_slack() && run.priority.is_none() && !control.is_stopped() {
        set_slack(1);
        let mut room = Room::of(plan.without_slack_ns, plan.period_ns);
        measurement.stream(plan.without_slack_ns, &mut room)?;
        run.without_slack = room.callbacks;
        set_slack(0);
    }
    for _ in 0..STALLS {
        if plan.stall_ns > 0 && !control.is_stopped() {
            run.stalls.push(measurement.stall(plan.bounded_stall_ns())?);
        }
    }
    run.starved = control.is_starved();
    Ok(run)
}

impl Measurement<'_> {
    /// Takes callbacks for this long and returns when the first was due.
    fn stream(&mut self, duration_ns: u64, room: &mut Room) -> Result<u64, Refused> {
        let (period, anchored) = (self.period_ns, self.kind.is_anchored());
        let start = clock::monotonic_ns();
        let (origin, end) = (start + period, start + duration_ns);
        self.way.begin(origin, period)?;
        let (mut due, mut last) = (origin, start);
        while due <= end && last <= end && !self.control.is_stopped() {
            let periods = self.way.wait(due, period);
            let now = clock::monotonic_ns();
            room.push(Callback { asked_ns: due, at_ns: now, periods });
            let asked = due;
            due = if anchored { due + u64::from(periods) * period } else { now + period };
            last = now;
            self.watchdog.check(self.control, now);
            if let Some(rest_end) =
                self.resting.as_mut().and_then(|resting| resting.came(now, now.saturating_sub(asked)))
            {
                clock::sleep_until(rest_end);
            }
        }
        self.way.end();
        Ok(origin)
    }

    /// How long the shortest waits take, ns: their median.
    fn shortest(&mut self) -> Result<Option<u64>, Refused> {
        let ask = self.kind.unit_ns().max(MIN_NS);
        let mut taken = [0; MIN_WAIT_ROUNDS];
        for time in &mut taken {
            if self.control.is_stopped() {
                return Ok(None);
            }
            let began = clock::monotonic_ns();
            self.way.begin(began + ask, 0)?;
            self.way.wait(began + ask, ask);
            *time = clock::monotonic_ns() - began;
            self.way.end();
        }
        taken.sort_unstable();
        Ok(Some(taken[MIN_WAIT_ROUNDS / 2]))
    }

    /// Takes a few callbacks, stays busy for a while in one of them, and takes those that come after.
    fn stall(&mut self, stall_ns: u64) -> Result<StallRun, Refused> {
        let (period, anchored) = (self.period_ns, self.kind.is_anchored());
        let wanted = (stall_ns / period + AFTER_STALL) as usize;
        let mut stall = StallRun { stall_ns, end_ns: 0, after: vec![1; wanted] };
        stall.after.clear();
        if self.resting.is_some() {
            clock::sleep_until(clock::monotonic_ns() + PAUSE_NS);
        }
        let mut due = clock::monotonic_ns() + period;
        self.way.begin(due, period)?;
        let mut cpu_ns = 0;
        for number in 0..BEFORE_STALL + wanted {
            let busy = self.resting.is_some() && stall.end_ns > 0 && clock::thread_cpu_ns() - cpu_ns > BUSY_NS;
            if self.control.is_stopped() || busy {
                break;
            }
            let periods = self.way.wait(due, period);
            let now = clock::monotonic_ns();
            let grid = due;
            due = if anchored { due + u64::from(periods) * period } else { now + period };
            if number >= BEFORE_STALL {
                stall.after.push(now);
            } else if number == BEFORE_STALL - 1 {
                // Half a period before the next point of the grid, however late this callback was.
                let until = if anchored { grid + u64::from(periods - 1) * period } else { now } + stall_ns;
                while clock::monotonic_ns() < until {
                    std::hint::spin_loop();
                }
                stall.end_ns = clock::monotonic_ns();
                cpu_ns = clock::thread_cpu_ns();
                // It may have lasted longer than intended.
                stall.stall_ns = stall.end_ns - (until - stall_ns);
                // The rest of the program may have been kept from its CPU meanwhile.
                self.watchdog = Watchdog::default();
            }
            if stall.end_ns > 0 && now > stall.end_ns + stall_ns + AFTER_STALL * period {
                break;
            }
        }
        self.way.end();
        Ok(stall)
    }
}

/// What `clock_getres` says, ns.
fn resolution_ns(id: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure lives through the call.
    unsafe { libc::clock_getres(id, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ways without signals: threads of the test harness do not block those.
    #[test]
    fn machine_each_way_gives_callbacks_in_order_or_says_why_not() {
        use TimerMethod::{PosixSignal, PosixThread, PythonSleep, Setitimer};
        let is_without = |kind: &TimerMethod| !matches!(kind, PosixSignal | PosixThread | Setitimer | PythonSleep);
        for kind in TimerMethod::ALL.into_iter().filter(is_without) {
            // On a busy machine, a thread may not run for as long as the shortest of these takes.
            let run = [1, 10, 50].into_iter().find_map(|times| {
                let plan = MethodPlan {
                    period_ns: 1_000_000,
                    duration_ns: times * 60_000_000,
                    without_slack_ns: times * 20_000_000,
                    stall_ns: 5_500_000,
                    ..MethodPlan::default()
                };
                let thread = MethodThread::spawn(kind).unwrap();
                let run = thread.run(plan, &mut || true).expect("it comes back");
                let is_called =
                    |run: &MethodRun| !run.callbacks.is_empty() && (!run.without_slack.is_empty() || !kind.has_slack());
                (times == 50 || run.as_ref().is_ok_and(is_called) || run.is_err()).then_some(run)
            });
            let run = match run.expect("the last one counts") {
                Ok(run) => run,
                Err(refused) => {
                    punctual_testing::skip(&format!("timer method {}", kind.name()), refused);
                    continue;
                }
            };
            assert!(!run.callbacks.is_empty(), "{}", kind.name());
            assert!(run.callbacks.windows(2).all(|pair| pair[0].at_ns <= pair[1].at_ns), "{}", kind.name());
            // No Linux timer comes before its time.
            assert!(run.callbacks.iter().all(|callback| callback.at_ns >= callback.asked_ns), "{}", kind.name());
            assert_eq!(run.callbacks.len(), run.cpus.len());
            assert_eq!(run.stalls.len(), STALLS);
            assert_eq!(run.without_slack.is_empty(), !kind.has_slack(), "{}", kind.name());
            assert!(run.granularity_ns.unwrap() >= kind.unit_ns());
        }
    }

    #[test]
    fn names_are_read_back() {
        for kind in TimerMethod::ALL {
            assert_eq!(kind.name().parse::<TimerMethod>(), Ok(kind));
        }
        assert!("sundial".parse::<TimerMethod>().unwrap_err().contains("timerfd"));
    }
}
