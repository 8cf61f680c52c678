//! What the simulator says about a point of the study.

use super::study::Point;
use punctual_context::{Context, Form};
use punctual_kernel::scheduling::Scheduling;
use punctual_sim::time::{MILLISECOND, NANOSECOND, SECOND};
use punctual_sim::whatif::{self, WhatIf};

/// How long the simulated time is.
const SECONDS: u64 = 60;

/// Whether the device keeps up in the simulator, on a machine without interference; `None` if it cannot be asked.
///
/// A normal priority is its priority 1, and FIFO priorities are above it. It has no reservations that compete outside their time.
pub fn predict(point: &Point) -> Option<bool> {
    let part = point.part.as_ref()?;
    let context = match part.context {
        Context::Irq => whatif::Context::Irq,
        Context::Softirq => whatif::Context::Softirq,
        Context::Thread(Scheduling::Fifo(priority)) => whatif::Context::Thread((priority + 1).min(99) as u8),
        Context::Thread(Scheduling::Other) => whatif::Context::Thread(1),
        Context::Reservation(_) if part.compete => return None,
        Context::Reservation(reservation) if reservation.form == Form::Slots => whatif::Context::Slots {
            runtime: whole_ms(reservation.runtime_ns)?,
            period: whole_ms(reservation.period_ns)?,
        },
        Context::Reservation(reservation) => whatif::Context::Reservation {
            runtime: reservation.runtime_ns * NANOSECOND,
            period: reservation.period_ns * NANOSECOND,
        },
        Context::Thread(_) => return None,
    };
    let profile = &part.profile;
    let mut question = WhatIf::new(
        profile.period_ns * NANOSECOND,
        u64::from(profile.buffers),
        profile.compute_ns * NANOSECOND,
        context,
    );
    question.duration = SECONDS * SECOND;
    question.quantum = 20 * MILLISECOND;
    question.competitors = vec![1; usize::from(!point.competitors.is_empty())];
    question.answer().ok().map(|answer| answer.misses == 0)
}

/// The simulator's slots are whole milliseconds.
fn whole_ms(nanoseconds: u64) -> Option<u32> {
    nanoseconds.is_multiple_of(1_000_000).then(|| u32::try_from(nanoseconds / 1_000_000).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{DeviceWork, Group, points};
    use punctual_context::device::Wake;

    #[test]
    fn a_slot_that_is_no_whole_millisecond_is_not_asked_about() {
        assert_eq!([2_000_000, 302_000, 0].map(whole_ms), [Some(2), None, Some(0)]);
    }

    #[test]
    fn the_simulator_agrees_with_itself() {
        let points =
            points(punctual_device::Catalogue::shipped().find("v90").unwrap(), &DeviceWork::Filter, Wake::Softirq);
        for point in &points {
            match (point.group, predict(point)) {
                (Group::Control | Group::Competing, predicted) => assert_eq!(predicted, None),
                // Interrupt and softirq context always come first.
                (Group::Contexts, predicted) => {
                    let kernel = point.part.as_ref().unwrap().context.is_in_kernel();
                    assert!(!kernel || predicted == Some(true));
                }
                _ => {}
            }
        }
    }
}
