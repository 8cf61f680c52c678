//! For comparison: a Python program that sleeps.

use super::clock::MethodClock;
use super::plan::{AFTER_STALL, BEFORE_STALL, MIN_NS, MethodPlan, MethodRun, ROOM, STALLS, StallRun, set_slack};
use crate::shared::control::Control;
use punctual_kernel::{Refused, capabilities, clock, own_child};
use punctual_timing::Callback;
use rustix::process::Signal;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Sleeps the way this program's own methods do, on one CPU, and prints when it woke: a line with a word and numbers
/// for each part.
const PROGRAM: &str = r#"
import os, sys, time
period, duration, quick, stall, room, priority, shortest, stalls, before, after = map(int, sys.argv[1:])
now, sleep = time.monotonic_ns, time.sleep
cpu = max(os.sched_getaffinity(0))
os.sched_setaffinity(0, {cpu})
real = 0
if priority:
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
        real = 1
    except OSError:
        pass
told = []
def tell(*words):
    told.append(words)
tell("setup", cpu, real, int(time.get_clock_info("monotonic").resolution * 1e9))

# Words are made, and Python ends, as slowly as others let it.
def end():
    if real:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    for words in told:
        print(*words)

def stream(name, length):
    at, count, seconds = [0] * min(room, length // period + 64), 0, period / 1e9
    cpu_time = time.thread_time_ns()
    start = last = now()
    end = start + length
    stopped = False
    try:
        while last + period <= end and count < len(at):
            sleep(seconds)
            last = at[count] = now()
            count += 1
    except KeyboardInterrupt:
        stopped = True
    tell(name, time.thread_time_ns() - cpu_time, start, *at[:count])
    if stopped:
        end()
        sys.exit()

try:
    waits = []
    for _ in range(15):
        start = now()
        sleep(shortest / 1e9)
        waits.append(now() - start)
    tell("shortest", sorted(waits)[7])
    stream("callbacks", duration)
    if quick and not real:
        try:
            import ctypes
            if ctypes.CDLL(None).prctl(29, 1, 0, 0, 0) == 0:
                stream("without_slack", quick)
                ctypes.CDLL(None).prctl(29, 0, 0, 0, 0)
        except ImportError:
            pass
    for _ in range(stalls if stall else 0):
        for _ in range(before):
            sleep(period / 1e9)
        begin = now()
        while now() < begin + stall:
            pass
        stalled, at = now(), []
        for _ in range(stall // period + after):
            sleep(period / 1e9)
            at.append(now())
        tell("stall", stalled - begin, stalled, *at)
except KeyboardInterrupt:
    pass
end()
"#;

/// How long it may take to start and to print, on top of what it measures.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn measure(plan: &MethodPlan, control: &Control) -> Result<MethodRun, Refused> {
    let doing = "measuring Python";
    if plan.clock != MethodClock::Monotonic {
        let doing = format!("waiting on the clock {}", plan.clock.name());
        return Err(Refused::because(doing, "time.sleep takes no clock"));
    }
    let python = capabilities::find_program("python3").ok_or_else(|| Refused::because(doing, "it is not installed"))?;
    // The program starts with the slack that this thread has.
    set_slack(plan.slack_ns);
    let numbers = [
        plan.period_ns,
        plan.duration_ns,
        plan.without_slack_ns,
        plan.bounded_stall_ns(),
        ROOM,
        u64::from(plan.priority.unwrap_or(0)),
        MIN_NS,
        STALLS as u64,
        BEFORE_STALL as u64,
        AFTER_STALL,
    ];
    let mut command = Command::new(python);
    command.args(["-I", "-c", PROGRAM]).args(numbers.map(|number| number.to_string()));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    // Ctrl-C is for this program, which passes it on.
    command.process_group(0);
    let own = rustix::process::getpid();
    // SAFETY: between fork and exec only system calls are made: the child ends with this thread.
    unsafe {
        command.pre_exec(move || own_child::end_with(own, Signal::KILL));
    }
    let mut child = command.spawn().map_err(|error| Refused::because(doing, error.to_string()))?;
    let Some(mut stdout) = child.stdout.take() else { return Err(Refused::because(doing, "it has no output")) };
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = stdout.read_to_string(&mut text);
        text
    });
    wait(&mut child, plan, control);
    let text = reader.join().unwrap_or_default();
    parse(&text, plan).ok_or_else(|| Refused::because(doing, "it ended without a result"))
}

/// Waits for the program's end; ends it if it should stop, or if anything takes it too long.
fn wait(child: &mut Child, plan: &MethodPlan, control: &Control) {
    let stalls = STALLS as u64 * (2 * plan.bounded_stall_ns() + (BEFORE_STALL as u64 + AFTER_STALL) * plan.period_ns);
    let patience = Duration::from_nanos(plan.duration_ns + plan.without_slack_ns + 4 * stalls) + PATIENCE;
    let mut until = Instant::now() + patience;
    let mut told = false;
    while let Ok(None) = child.try_wait() {
        if control.is_stopped() && !told {
            told = true;
            // SAFETY: the child has not been waited for, so its id is still its own.
            unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGINT) };
            until = Instant::now() + Duration::from_secs(1);
        }
        if Instant::now() > until {
            let _ = child.kill();
            let _ = child.wait();
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What the program printed; `None` if not even its callbacks are there.
fn parse(text: &str, plan: &MethodPlan) -> Option<MethodRun> {
    let mut run = MethodRun::default();
    let (mut cpu, mut seen) = (0, false);
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default();
        let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
        match (name, numbers.as_slice()) {
            ("setup", &[on, real, resolution]) => {
                cpu = on as u32;
                run.priority = plan.priority.filter(|_| real == 1);
                if plan.priority.is_some() && real == 0 {
                    run.refused = Some("Python was not given its real-time priority".to_owned());
                }
                run.resolution_ns = resolution;
            }
            ("shortest", &[time]) => run.granularity_ns = Some(time),
            ("callbacks", [cpu_ns, start, at @ ..]) => {
                seen = true;
                run.cpu_ns = *cpu_ns;
                run.origin_ns = start + plan.period_ns;
                run.callbacks = relative(*start, at, plan.period_ns);
                run.cpus = vec![cpu; at.len()];
            }
            ("without_slack", [_, start, at @ ..]) => run.without_slack = relative(*start, at, plan.period_ns),
            ("stall", [stall_ns, end_ns, after @ ..]) => {
                let stall = StallRun { stall_ns: *stall_ns, end_ns: *end_ns, after: after.to_vec() };
                run.stalls.push(stall);
            }
            _ => {}
        }
    }
    // Its clock is this program's: what it reports must be in the past.
    let now = clock::monotonic_ns();
    (seen && run.callbacks.iter().all(|callback| callback.at_ns <= now)).then_some(run)
}

/// Callbacks that were each asked for a period after the one before.
fn relative(start: u64, at: &[u64], period_ns: u64) -> Vec<Callback> {
    let before = std::iter::once(start).chain(at.iter().copied());
    let pairs = before.zip(at);
    pairs.map(|(before, &at_ns)| Callback { asked_ns: before + period_ns, at_ns, periods: 1 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_prints_is_read() {
        let plan =
            MethodPlan { period_ns: 10, duration_ns: 100, stall_ns: 35, priority: Some(5), ..MethodPlan::default() };
        let text = "setup 1 0 1\nshortest 77\ncallbacks 500 1000 1012 1025\nstall 35 2000 2011 2023\n";
        let run = parse(text, &plan).unwrap();
        assert_eq!((run.origin_ns, run.cpu_ns, run.granularity_ns, run.priority), (1_010, 500, Some(77), None));
        assert_eq!(run.callbacks[1], Callback { asked_ns: 1_022, at_ns: 1_025, periods: 1 });
        assert_eq!(run.cpus, [1, 1]);
        assert_eq!(run.stalls[0].after, [2_011, 2_023]);
        assert!(run.refused.is_some());
        assert!(parse("Traceback\n", &plan).is_none());
    }
}
