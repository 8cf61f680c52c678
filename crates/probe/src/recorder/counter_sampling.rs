//! Whether the processor's own counter can take the samples, by an interrupt that nothing holds off.

use super::performance_events::{COUNTER, TRIED_RATE, open_clocks};
use punctual_kernel::capabilities::{Availability, Capability};
use punctual_kernel::{Missing, Refused, cpus};

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
            // Only what this user may not have has a remedy.
            let remedy = refused.remedy.map(str::to_owned);
            let why = match remedy {
                Some(_) => refused.reason,
                None => "the processor shows no counter that samples".to_owned(),
            };
            let blind =
                "the inside of code that has interrupts off: samples come from the kernel's clock, itself an interrupt";
            let lack = Missing::new("a processor counter that samples", None).so_blind_for(blind);
            (Availability::No, format!("{why}; not seen: {blind}"), vec![lack], remedy)
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
        for (reason, remedy) in [("Permission denied", Some("run as root")), ("No such file or directory", None)] {
            let lacks = row(Err(Refused::because("sampling CPU 0", reason).with_remedy(remedy)));
            assert_eq!((lacks.available, lacks.remedy.as_deref()), (Availability::No, remedy));
            assert_eq!(lacks.detail.starts_with(reason), remedy.is_some(), "{}", lacks.detail);
            assert!(
                lacks.missing[0].blind.contains("interrupts off") && lacks.detail.contains(&lacks.missing[0].blind)
            );
        }
    }
}
