//! What in this crate needs BPF programs, to be tried out one by one: each is loaded, and unloaded again.

use crate::eventlog::programs::{TriedClasses, events_of, needs_programs};
use crate::periodic::StageTracer;
use crate::shared::left_out::lacking;
use crate::shared::plan::Via;
use crate::{eventlog, followed, idle, recorder, terminal, toolkit};
use punctual_kernel::bpf::LeftOut;
use punctual_kernel::features::{MIN_KERNEL, first_with};
use punctual_kernel::{Found, Refused, Trial};
use punctual_recording::EventClass;

/// All of them, in the order in which a user meets them.
pub fn trials() -> Vec<Trial> {
    let stages = || StageTracer::try_out(Via::Timer).map(|()| Found::loads(Vec::new()));
    let softirq = || StageTracer::try_out(Via::Softirq).map(|()| Found::loads(Vec::new()));
    vec![
        Trial::new("stages", "splitting a wakeup into its stages", first_with(StageTracer::needed(Via::Timer)), stages),
        Trial::new(
            "softirq path",
            "--via softirq (interrupt -> softirq -> thread)",
            first_with(StageTracer::needed(Via::Softirq)),
            softirq,
        )
        .with_addresses(),
        Trial::new("followed threads", "record --comm, --pid, --follow", MIN_KERNEL, || {
            loads(followed::programs::try_out()?)
        }),
        Trial::new(
            "flight recorder",
            "record --why: who made it late",
            first_with(recorder::programs::NEEDED),
            flight_recorder,
        ),
        Trial::new("event log", "punctual log", first_with(eventlog::programs::NEEDED), event_log),
        Trial::new("idle causes", "punctual idle: what took the CPU", first_with(idle::trace::NEEDED), || {
            loads(idle::trace::try_out()?)
        }),
        Trial::new(
            "terminal",
            "punctual interact: what the program was waiting for",
            first_with(terminal::NEEDED),
            || loads(terminal::try_out()?),
        ),
    ]
}

/// What else of this crate's programs can be loaded, for which `capabilities` has no row.
pub fn other_trials() -> Vec<Trial> {
    vec![
        Trial::new("followed threads, by name and with places", "record --comm, reserve", MIN_KERNEL, || {
            loads(followed::programs::try_out_whole()?)
        }),
        Trial::new("events of toolkits", "interact --toolkit", MIN_KERNEL, || {
            toolkit::try_out().map(|()| Found::loads(Vec::new()))
        }),
    ]
}

/// With what it takes beside its programs, and goes on without.
fn flight_recorder() -> Result<Found, Refused> {
    let found = loads(recorder::programs::try_out()?)?;
    let refused = recorder::performance_events::try_out();
    Ok(refused.iter().fold(found, |found, without| found.without(&without.what(), without.remedy())))
}

/// Each class of events by itself: those that are not to be had are what the log lacks.
fn event_log() -> Result<Found, Refused> {
    let of_the_kernel = EventClass::CHOICES.into_iter().filter(|class| needs_programs(*class));
    let mut tried = TriedClasses::of(&of_the_kernel.collect::<Vec<_>>());
    if tried.available.is_empty()
        && let Some((_, refused)) = tried.refused.pop()
    {
        return Err(refused);
    }
    let (mut missing, mut denied) = (lacking(&tried.left_out), Vec::new());
    for (class, refused) in tried.refused {
        match refused.missing {
            Some(lack) => missing.push(lack.so_blind_for(events_of(class))),
            None => denied.push((format!("{} ({})", events_of(class), refused.reason), refused.remedy)),
        }
    }
    let found = Found::loads(missing);
    Ok(denied.into_iter().fold(found, |found, (what, remedy)| found.without(&what, remedy)))
}

fn loads(left_out: Vec<LeftOut>) -> Result<Found, Refused> {
    Ok(Found::loads(lacking(&left_out)))
}
