//! `punctual modem transfer --taps`: how much the datapump itself computes.

use crate::args::modem::{ModemTransferArguments, PumpName, Taps};
use crate::output::Usage;
use anyhow::bail;
use punctual_context::device::MAX_KERNEL_WORK_NS;
use punctual_context::modem::BlockCost;
use punctual_modem::adapter::{BLOCK, BLOCK_NS};
use punctual_modem::experiment::Experiment;
use punctual_modem::telephone::{ECHO_BANK, MAX_ECHO_BANKS};
use punctual_recording::format_ns;

/// The most taps that there are.
const MAX_TAPS: u32 = ECHO_BANK * MAX_ECHO_BANKS;

/// Gives the calling end the taps that were asked for; in real time also the time that a block takes with them.
pub(super) fn set(arguments: &ModemTransferArguments, experiment: &mut Experiment) -> anyhow::Result<()> {
    let Some(asked) = arguments.taps else { return Ok(()) };
    if arguments.pump != PumpName::Punctual {
        bail!(Usage("--taps are those of punctual's own datapump: leave out --pump".to_owned()));
    }
    let Some(context) = arguments.context else {
        let Taps::Count(taps) = asked else {
            bail!(Usage(
                "a share of a CPU is measured on this machine: give --context, or a number of taps".to_owned()
            ));
        };
        experiment.telephone.echo_banks = taps / ECHO_BANK;
        return Ok(());
    };
    let cost = BlockCost::measure(context, BLOCK)?;
    let taps = match asked {
        Taps::Count(taps) => taps,
        Taps::Share(percent) => match cost.taps_for(BLOCK_NS as f64 * percent / 100.0) {
            Some(taps) => taps,
            None => bail!(
                "{percent} % of a CPU cannot be had in {context} on this machine: {ECHO_BANK} taps take {}, and {MAX_TAPS}, \
                 the most there are, {}",
                share(cost.block_ns(ECHO_BANK)),
                share(cost.block_ns(MAX_TAPS)),
            ),
        },
    };
    let block_ns = cost.block_ns(taps);
    let most = if context.is_in_kernel() { MAX_KERNEL_WORK_NS } else { BLOCK_NS };
    if block_ns > most {
        let (takes, most) = (format_ns(block_ns), format_ns(most));
        bail!(
            "with {taps} taps a block takes {takes} in {context} on this machine, and {most} at most are allowed: give fewer"
        );
    }
    experiment.telephone.echo_banks = taps / ECHO_BANK;
    // More is filled up; less cannot be had.
    experiment.setup.compute_ns = arguments.options.compute.unwrap_or_default().max(block_ns);
    Ok(())
}

/// The share of a CPU that a block of this length takes.
fn share(block_ns: u64) -> String {
    format!("{:.1} %", block_ns as f64 * 100.0 / BLOCK_NS as f64)
}
