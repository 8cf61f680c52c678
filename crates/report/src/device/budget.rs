//! A reservation that is too small for a device's work, whatever else the machine does.

use super::run::Run;
use punctual_recording::{BareUnit, DeviceSummary, parse_duration};

/// So many blocks have to have been worked on before their mean says anything.
const MIN_BLOCKS: u64 = 20;
/// A larger budget is given this much room.
const ROOM: f64 = 1.1;
/// Budgets are whole multiples of this, ns.
const STEP_NS: u64 = 10_000;
/// The most that is proposed of a period, thousandths.
const MAX_THOUSANDTHS: u64 = 900;

/// What the reservation gives, and what the device's work takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooSmall {
    /// CPU time in each period of the reservation, ns.
    pub(crate) budget_ns: u64,
    /// That period, ns.
    pub(crate) period_ns: u64,
    /// What the work takes in such a period, ns.
    pub(crate) work_ns: u64,
    /// What one block takes, the mean, ns.
    pub(crate) block_ns: u64,
    /// How often blocks come, ns.
    pub(crate) every_ns: u64,
    /// What was asked for a block, ns.
    pub(crate) asked_ns: u64,
}

/// `None` if the reservation has as much as the work takes, if it can use more than its budget, or if there is none. With
/// phases, blocks are of several sizes.
pub(crate) fn too_small(run: &Run<'_>, device: &DeviceSummary) -> Option<TooSmall> {
    let (budget, period) = device.context.strip_prefix("reservation:")?.split_once('/')?;
    let time = |text: &str| parse_duration(text, BareUnit::Refused).ok();
    let (budget_ns, period_ns) = (time(budget)?, time(period)?);
    let has_phases = run.document.provenance.command_line.iter().any(|word| word.starts_with("--phases"));
    if device.compete || device.reclaim || has_phases || device.executed.count() < MIN_BLOCKS || device.period_ns == 0 {
        return None;
    }
    let block_ns = device.executed.mean()?;
    let work = u128::from(block_ns) * u128::from(period_ns) / u128::from(device.period_ns);
    let work_ns = u64::try_from(work).ok()?;
    let (every_ns, asked_ns) = (device.period_ns, device.compute_ns);
    (work_ns > budget_ns).then_some(TooSmall { budget_ns, period_ns, work_ns, block_ns, every_ns, asked_ns })
}

impl TooSmall {
    /// A budget in the same period that has room for the work, ns; `None` if no reservation is so large.
    pub(crate) fn larger_ns(&self) -> Option<u64> {
        let budget_ns = ((self.work_ns as f64 * ROOM) as u64).div_ceil(STEP_NS) * STEP_NS;
        (budget_ns <= self.period_ns / 1_000 * MAX_THOUSANDTHS).then_some(budget_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_recording::ActivationDocument;
    use std::path::Path;

    fn device(context: &str, executed_ns: u64) -> DeviceSummary {
        let (period_ns, compute_ns, context) = (1_000_000, 300_000, context.to_owned());
        let mut device = DeviceSummary { context, period_ns, compute_ns, ..DeviceSummary::default() };
        (0..200).for_each(|_| device.executed.record(executed_ns));
        device
    }

    #[test]
    fn a_budget_below_the_work_is_told_with_one_that_has_room() {
        let (document, activations) = (crate::device::run::tests::document(), ActivationDocument::default());
        let run = Run { path: Path::new("a"), document: &document, activations: &activations };
        let found = too_small(&run, &device("reservation:600us/2ms", 350_000)).expect("it is too small");
        let said = found.sentence();
        let begins = "Its reservation is smaller than its work: it gives 600 us of every 2.00 ms (30.0 % of a CPU), and a block took 3";
        assert!(said.starts_with(begins) && said.ends_with(" with 300 us asked for."), "{said}");
        let larger = found.larger_ns().unwrap_or_default();
        assert!((770_000..=790_000).contains(&larger) && larger.is_multiple_of(STEP_NS), "{larger}");
        let whole = too_small(&run, &device("reservation:600us/2ms", 900_000)).expect("it is too small");
        assert_eq!(whole.larger_ns(), None);
        for (context, executed_ns) in
            [("reservation:800us/2ms", 350_000), ("thread:fifo:80", 350_000), ("slots:2ms/8ms", 900_000)]
        {
            assert_eq!(too_small(&run, &device(context, executed_ns)), None, "{context}");
        }
        let competing = DeviceSummary { compete: true, ..device("reservation:600us/2ms", 350_000) };
        assert_eq!(too_small(&run, &competing), None);
    }
}
