//! What in this crate needs BPF programs, to be tried out one by one: each is loaded, and unloaded again.

use crate::device::{Mode, try_out};
use crate::drill::{DrillKind, availability};
use punctual_kernel::capabilities::Availability;
use punctual_kernel::features::first_with;
use punctual_kernel::{Found, Refused, Trial};

/// All of them, in the order in which a user meets them.
pub fn trials() -> Vec<Trial> {
    let devices = [
        ("device in an interrupt", "punctual device run modem --context irq", Mode::Work),
        ("device in a softirq", "punctual device run modem --context softirq", Mode::Softirq),
        ("thread woken by a softirq", "punctual device run modem --wake softirq", Mode::Wake),
    ];
    let mut trials: Vec<Trial> = devices
        .into_iter()
        .map(|(name, used, mode)| {
            Trial::new(name, used, first_with(mode.needed()), move || device(mode)).with_addresses()
        })
        .collect();
    trials.extend(DrillKind::ALL.into_iter().map(|kind| {
        let trial =
            Trial::new(format!("drill {}", kind.name()), kind.what(), first_with(kind.needed()), move || drill(kind));
        if matches!(kind, DrillKind::Irq | DrillKind::Softirq) { trial.with_addresses() } else { trial }
    }));
    trials
}

fn device(mode: Mode) -> Result<Found, Refused> {
    try_out(mode).map(|()| Found::loads(Vec::new()))
}

fn drill(kind: DrillKind) -> Result<Found, Refused> {
    let found = availability(kind);
    match found.available {
        Availability::No => Err(Refused::because("trying out a drill", found.detail)),
        available => Ok(Found {
            detail: found.detail,
            is_limited: available == Availability::Limited,
            missing: Vec::new(),
            remedy: None,
        }),
    }
}
