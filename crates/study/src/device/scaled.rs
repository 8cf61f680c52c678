//! The reservations of the paper's tables, for devices that are not its modem.

use punctual_context::{Form, Reservation};
use punctual_device::{Catalogue, Profile};

/// The periods that the kernel takes, us, and the shortest runtime.
const PERIODS_US: (u64, u64) = (100, 4_000_000);
const MIN_RUNTIME_US: u64 = 2;

/// The modem of the paper.
fn papers_modem() -> Option<&'static Profile> {
    Catalogue::shipped().find("v90")
}

/// Whether a device is the paper's modem, so that the paper's reservations and verdicts are of it.
pub(super) fn is_papers(profile: &Profile) -> bool {
    let numbers = |profile: &Profile| (profile.period_ns, profile.compute_ns);
    papers_modem().is_some_and(|modem| modem.id == profile.id && numbers(modem) == numbers(profile))
}

/// A reservation of the paper, so many ms in so many. For another device than its modem it is scaled: its period as the
/// devices' periods; its share so that it lacks as much of what the device needs, or has as much of what is left.
pub(super) fn reservation(profile: &Profile, runtime_ms: u64, period_ms: u64, form: Form) -> Reservation {
    let papers = Reservation { runtime_ns: runtime_ms * 1_000_000, period_ns: period_ms * 1_000_000, form };
    let Some(modem) = papers_modem().filter(|_| !is_papers(profile)) else { return papers };
    let need = |profile: &Profile| profile.compute_ns as f64 / profile.period_ns as f64;
    let (modems, own) = (need(modem), need(profile));
    let share = match papers.share() {
        share if share < modems => share / modems * own,
        share => own + (share - modems) / (1.0 - modems) * (1.0 - own),
    };
    let period_us = papers.period_ns as f64 * profile.period_ns as f64 / modem.period_ns as f64 / 1e3;
    let period_us = (period_us.round() as u64).clamp(PERIODS_US.0, PERIODS_US.1);
    let runtime_us = ((period_us as f64 * share).round() as u64).clamp(MIN_RUNTIME_US, period_us);
    Reservation { runtime_ns: runtime_us * 1_000, period_ns: period_us * 1_000, form }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(spec: &str) -> Profile {
        Catalogue::shipped().parse_spec(spec).unwrap()
    }

    #[test]
    fn the_papers_modem_has_the_papers_reservations() {
        let modem = profile("v90");
        assert!(is_papers(&modem) && is_papers(&profile("v90 x3")));
        let papers = reservation(&modem, 2, 8, Form::Slots);
        assert_eq!((papers.runtime_ns, papers.period_ns), (2_000_000, 8_000_000));
        for other in ["modem", "v90 2.5ms compute=100us", "sdr 2400@2.4MS/s compute=400us"] {
            assert!(!is_papers(&profile(other)), "{other}");
        }
    }

    #[test]
    fn other_devices_have_reservations_of_their_own_size() {
        // It needs 400 us of every 1 ms: 2 ms in 16 are 85 % of what the modem needs, 8 ms in 20 a third of what it leaves.
        let radio = profile("sdr 2400@2.4MS/s compute=400us");
        let of = |runtime, period| {
            let scaled = reservation(&radio, runtime, period, Form::Floating);
            (scaled.runtime_ns, scaled.period_ns)
        };
        assert_eq!(of(2, 16), (435_000, 1_280_000));
        assert_eq!(of(8, 20), (925_000, 1_600_000));
    }

    #[test]
    fn every_device_has_reservations_that_can_be_asked_for_and_that_lie_on_the_papers_side_of_its_need() {
        let modem = profile("v90");
        for device in Catalogue::shipped().profiles() {
            let need = device.compute_ns as f64 / device.period_ns as f64;
            for (runtime, period) in [(2, 16), (3, 16), (1, 8), (2, 8), (1, 4), (1, 7), (8, 20)] {
                let papers = reservation(&modem, runtime, period, Form::Slots);
                let scaled = reservation(device, runtime, period, Form::Slots);
                assert_eq!(scaled.validate(), Ok(()), "{}", device.id);
                let enough = papers.share() * modem.period_ns as f64 >= modem.compute_ns as f64;
                // Rounded to microseconds.
                let rounding = 2_000.0 / scaled.period_ns as f64;
                let (least, most) = if enough { (need, 1.0) } else { (0.0, need) };
                let share = scaled.share();
                assert!(share >= least - rounding && share <= most + rounding, "{}: {share} of {need}", device.id);
            }
        }
    }
}
