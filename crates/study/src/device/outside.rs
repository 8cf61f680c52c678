//! Underruns that the machine explains, whatever the device does: lateness of a control thread, and the host's steal.

use punctual_device::Underrun;
use punctual_recording::Wakeup;

/// Wakeups of the control that were later than this are kept.
const LATE_NS: u64 = 100_000;

/// A late wakeup of the control: while it lasted, even the highest priority did not get the CPU.
#[derive(Debug, Clone, Copy)]
struct Late {
    from: u64,
    to: u64,
    stolen: Option<u64>,
}

/// What is known about the control.
#[derive(Debug, Default)]
pub(super) struct Control {
    late: Vec<Late>,
    sees_steal: bool,
}

impl Control {
    /// Takes a wakeup, in order of time.
    pub(super) fn take(&mut self, wakeup: &Wakeup) {
        self.sees_steal |= wakeup.steal_ns.is_some();
        if wakeup.total_ns > LATE_NS {
            let (from, to) = (wakeup.expected_ns, wakeup.expected_ns + wakeup.total_ns);
            self.late.push(Late { from, to, stolen: wakeup.steal_ns });
        }
    }

    /// How many of the underruns the control's lateness explains, and how many the host's steal, if that is visible.
    ///
    /// `outranks`: the device runs before the control, so that its own work makes the control late.
    pub(super) fn explain(&self, underruns: &[Underrun], outranks: bool) -> (u64, Option<u64>) {
        let (mut outside, mut stolen) = (0, 0);
        for underrun in underruns {
            let from = self.late.partition_point(|late| late.to <= underrun.from_ns);
            let (mut kept, mut steal) = (0, 0);
            for late in self.late[from..].iter().take_while(|late| late.from < underrun.end_ns) {
                let overlap = late.to.min(underrun.end_ns) - late.from.max(underrun.from_ns);
                kept += overlap;
                steal += late.stolen.unwrap_or(0).min(overlap);
            }
            if outranks {
                kept = kept.saturating_sub(underrun.executed_ns);
            }
            outside += u64::from(underrun.is_explained_by(kept));
            stolen += u64::from(underrun.is_explained_by(steal));
        }
        (outside, self.sees_steal.then_some(stolen))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wakeup(expected_ns: u64, total_ns: u64, steal_ns: u64) -> Wakeup {
        Wakeup { expected_ns, total_ns, steal_ns: Some(steal_ns), ..Wakeup::default() }
    }

    #[test]
    fn what_kept_the_control_explains_an_underrun_of_the_same_time() {
        let mut control = Control::default();
        for late in
            [wakeup(1_000_000, 50_000, 0), wakeup(5_000_000, 3_000_000, 2_900_000), wakeup(20_000_000, 500_000, 0)]
        {
            control.take(&late);
        }
        let underrun = |arrival_ns: u64, late_ns: u64, executed_ns: u64| Underrun {
            block: 0,
            arrival_ns,
            deadline_ns: arrival_ns + 2_000_000,
            end_ns: arrival_ns + 2_000_000 + late_ns,
            executed_ns,
            from_ns: arrival_ns,
            needs_ns: late_ns,
        };
        // Late by 1 ms while the control was kept for 3; by more than it was kept; and at another time.
        let underruns =
            [underrun(5_000_000, 1_000_000, 0), underrun(18_500_000, 600_000, 0), underrun(40_000_000, 1, 0)];
        assert_eq!(control.explain(&underruns, false), (1, Some(1)));
        // The device itself was working while the control waited.
        assert_eq!(control.explain(&[underrun(5_000_000, 900_000, 2_500_000)], true).0, 0);
        assert_eq!(Control::default().explain(&underruns, false), (0, None));
    }
}
