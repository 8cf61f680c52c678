//! Whether the processor's own counter can take the samples, by an interrupt that nothing holds off.

use super::performance_events::{COUNTER, TRIED_RATE, open_clocks};
use punctual_kernel::capabilities::{Availability, Capability};
use punctual_kernel::{Missing, Refused, cpus};

const REMEDY: &str = "run as root: sudo punctual ...; or CAP_PERFMON, or sysctl kernel.perf_event_paranoid=0";

/// Asks for such samples on one CPU, takes none, and reports the result.
pub fn counter_sampling() -> Capability {
    let cpu = cpus::online()[0];
    let (_, kind, config) = COUNTER;
    row(open_clocks(&[cpu], (kind, config), TRIED_RATE).map(drop))
}

fn row(tried: Result<(), Refused>) -> Capability {
    let (available, detail, missing, remedy) = match tried {
        Ok(()) => {
            let detail = "untested: the processor's cycle counter can be asked for, but punctual has never run on a machine with one";
            (Availability::Limited, detail.to_owned(), Vec::new(), None)
        }
        Err(refused) => {
            let is_forbidden = ["Permission denied", "Operation not permitted"].contains(&refused.reason.as_str());
            let why =
                if is_forbidden { refused.reason } else { "the processor shows no counter that samples".to_owned() };
            let blind =
                "the inside of code that has interrupts off: samples come from the kernel's clock, itself an interrupt";
            let lack = Missing::new("a processor counter that samples", None).so_blind_for(blind);
            (Availability::No, format!("{why}; not seen: {blind}"), vec![lack], is_forbidden.then(|| REMEDY.to_owned()))
        }
    };
    Capability {
        name: "NMI sampling".to_owned(),
        available,
        detail,
        needed_for: "--why: stacks of code that has interrupts off".to_owned(),
        remedy,
        since: None,
        missing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_machine_has_tried_is_called_untested_and_what_is_not_there_has_its_consequence() {
        let there = row(Ok(()));
        assert_eq!(there.available, Availability::Limited);
        assert!(there.detail.starts_with("untested"), "{}", there.detail);
        for (reason, may_be_allowed) in [("Permission denied", true), ("No such file or directory", false)] {
            let lacks = row(Err(Refused::because("sampling CPU 0", reason)));
            assert_eq!((lacks.available, lacks.remedy.is_some()), (Availability::No, may_be_allowed));
            assert!(
                lacks.missing[0].blind.contains("interrupts off") && lacks.detail.contains(&lacks.missing[0].blind)
            );
        }
    }
}
