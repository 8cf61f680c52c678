//! What of this crate needs BPF programs, to be tried out one by one: each is loaded, and taken away again.

use crate::follow::Follower;
use crate::plan::Via;
use crate::{foreign, idle_trace, log, why};
use punctual_kernel::{Found, Missing, Refused, Trial};
use punctual_recording::EventClass;

/// All of them, in the order in which a user meets them.
pub fn trials() -> Vec<Trial> {
    let stages = || Follower::try_out(Via::Timer).map(|()| Found::loads(Vec::new()));
    let softirq = || Follower::try_out(Via::Softirq).map(|()| Found::loads(Vec::new()));
    vec![
        Trial::new("stages", "splitting a wakeup into its stages", "5.10", stages),
        Trial::new("softirq path", "--via softirq (interrupt -> softirq -> thread)", "5.15", softirq),
        Trial::new("followed threads", "record --comm, --pid, --follow", "5.11", || {
            loads(foreign::programs::try_out()?)
        }),
        Trial::new("flight recorder", "record --why: who made it late", "6.1", || loads(why::recorder::try_out()?)),
        Trial::new("event log", "punctual log", "6.1", event_log),
        Trial::new("idle causes", "punctual idle: what took the CPU", "5.12", || loads(idle_trace::try_out()?)),
    ]
}

/// Each class of events by itself: those that cannot be had are what the log lacks.
fn event_log() -> Result<Found, Refused> {
    let (mut missing, mut refusal, mut had) = (Vec::new(), None, 0);
    for class in EventClass::CHOICES.into_iter().filter(|class| *class != EventClass::Mark) {
        match log::programs::try_out(class) {
            Ok(left_out) => {
                had += 1;
                missing.extend(lacking(left_out));
            }
            Err(refused) => {
                let blind = format!("events of the class {}", class.name());
                missing.push(Missing::new(refused.reason.clone(), None).so_blind_for(blind));
                refusal = Some(refused);
            }
        }
    }
    match refusal {
        Some(refused) if had == 0 => Err(refused),
        _ => Ok(Found::loads(missing)),
    }
}

/// What is blind without programs that were left out. Interrupts that no processor of this kind has are nothing to miss.
fn lacking(left_out: Vec<String>) -> Vec<Missing> {
    let mut missing: Vec<Missing> = Vec::new();
    for program in left_out {
        let found = missing_without(&program);
        missing.extend(found.filter(|found| !missing.contains(found)));
    }
    missing
}

/// What a result without these programs cannot see, in lines.
pub(crate) fn blind_without(left_out: &[String]) -> Vec<String> {
    lacking(left_out.to_vec()).iter().map(Missing::line).collect()
}

fn loads(left_out: Vec<String>) -> Result<Found, Refused> {
    Ok(Found::loads(lacking(left_out)))
}

/// What is blind without a program that a kernel may have no place for; `None`: nothing that a user would look for.
fn missing_without(program: &str) -> Option<Missing> {
    let (what, since, blind) = match program {
        "lock_begins" | "lock_ends" => {
            ("the tracepoint `contention_begin`", "5.19", "waiting for the kernel's own locks")
        }
        "tasklet_begins" | "tasklet_ends" => ("the tracepoint `tasklet_entry`", "6.2", "which tasklet a softirq ran"),
        "user_fault" | "kernel_fault" => ("the tracepoint `page_fault_user`, which x86 has", "3.13", "page faults"),
        "futex_begins" | "futex_ends" => ("the tracepoint `sys_enter`", "2.6.32", "futex calls"),
        _ => return None,
    };
    Some(Missing::new(what, Some(since)).so_blind_for(blind))
}
