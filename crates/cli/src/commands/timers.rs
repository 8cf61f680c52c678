//! `punctual timers`.

use crate::args::TimersArguments;
use crate::output::{self, Output};
use crate::progress::StepProgress;
use crate::signals::Interrupted;
use punctual_probe::timers::TimerMethod;
use punctual_study::timers::{TimersPlan, measure};

/// One method of each kind: with and without timer slack, by signal, with coarse times, and all clocks.
const EFFECTS_OF: [TimerMethod; 6] = [
    TimerMethod::NanosleepAbsolute,
    TimerMethod::Timerfd,
    TimerMethod::PosixSignal,
    TimerMethod::EpollWait,
    TimerMethod::IoUring,
    TimerMethod::Condvar,
];

pub(crate) fn run(arguments: &TimersArguments, output: Output) -> anyhow::Result<u8> {
    let mut ways: Vec<TimerMethod> = Vec::new();
    for way in &arguments.way {
        if !ways.contains(way) {
            ways.push(*way);
        }
    }
    if ways.is_empty() && arguments.effects {
        ways = EFFECTS_OF.to_vec();
    } else if ways.is_empty() {
        ways = TimerMethod::ALL.to_vec();
    }
    let plan = TimersPlan {
        period_ns: arguments.interval,
        duration_ns: arguments.duration,
        ways,
        clock: arguments.clock,
        effects: arguments.effects,
        priority: arguments.priority,
        stall_ns: arguments.stall,
        output: arguments.output.clone(),
        command_line: super::command_line(),
    };
    let interrupted = Interrupted::watch();
    let mut progress = StepProgress::new(arguments.quiet, "timers");
    let result = measure(&plan, &mut |now| {
        progress.show(now.way.name(), now.elapsed, now.duration);
        !interrupted.is_set()
    });
    progress.done();
    let (timers, _) = result?;
    let recording = plan.output.as_deref();
    if output.json {
        output::answer(punctual_report::timers::TimersAnswer::new(&timers, recording), 0);
    } else {
        output::print_text(&punctual_report::timers::text(&timers, recording));
    }
    Ok(0)
}
