//! What in this crate needs BPF programs, to be tried out one by one: each is loaded, and unloaded again.

use crate::device::{Decodes, DmtSize, Mode, try_out, try_out_decoding};
use crate::drill::{DrillKind, availability};
use crate::dsl::KernelDmt;
use crate::modem::KernelQam;
use crate::radio::KernelRadio;
use crate::{modem, rialto};
use punctual_datapump::{Dmt, DmtOptions, Dsss, End, Gfsk, Qam, QamOptions, Role};
use punctual_kernel::capabilities::Availability;
use punctual_kernel::features::{LOOPS, first_with};
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

/// What else of this crate's programs can be loaded, for which `capabilities` has no row. A user's own work is not among them.
pub fn other_trials() -> Vec<Trial> {
    let mut trials = vec![
        other("modem, called", || KernelQam::load(&Qam::new(Role::Calling, QamOptions::default())).map(drop)),
        other("modem in an interrupt", || modem::try_out(false)),
        other("modem in a softirq", || modem::try_out(true)),
        other("DSL modem, called", || KernelDmt::load(&Dmt::new(End::Remote, DmtOptions::default())).map(drop)),
        other("Bluetooth receiver, called", || KernelRadio::gfsk(&Gfsk::new()).map(drop)),
        other("802.11b receiver, called", || KernelRadio::dsss(&Dsss::new()).map(drop)),
        other("Rialto's scheduler", rialto::try_out),
    ];
    for (name, decodes) in
        [("DSL", Decodes::Dmt(DmtSize::Full)), ("Bluetooth", Decodes::Gfsk), ("802.11b", Decodes::Dsss)]
    {
        for (place, mode) in [("an interrupt", Mode::Work), ("a softirq", Mode::Softirq)] {
            let trial = move || try_out_decoding(mode, decodes).map(|()| Found::loads(Vec::new()));
            trials.push(Trial::new(format!("decoding {name} in {place}"), DECODING, first_with(mode.needed()), trial));
        }
    }
    trials
}

const DECODING: &str = "punctual device run --work decode";

fn other(name: &'static str, attempt: fn() -> Result<(), Refused>) -> Trial {
    let used = "punctual modem, punctual rialto";
    Trial::new(name, used, first_with(&[LOOPS]), move || attempt().map(|()| Found::loads(Vec::new())))
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
