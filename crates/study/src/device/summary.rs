//! What is recorded about a device: how it was set up, each of its activations, and what was counted.

use super::part::{DevicePart, DeviceWork};
use super::spandsp::SIGNAL;
use punctual_context::device::{
    Activation, CUT, DecodingCounts, DeviceCounts, DeviceSetup, Job, RESTED, Rig, UNOBSERVED, Wake,
};
use punctual_context::own::OwnCounts;
use punctual_recording::{ActivationRow, DecodedSummary, DeviceSummary, OwnEnd, OwnSummary};

pub(super) fn describe(part: &DevicePart, setup: &DeviceSetup, rig: &Rig, index: usize) -> DeviceSummary {
    let mut own = None;
    let (passes, mac_ns, decoded) = match (rig.job(index), &part.work) {
        (Job::Filter { speed, passes, .. }, _) => (passes, speed.multiply_accumulate_ns(), None),
        (Job::Decode { taps, unit_ns, units }, DeviceWork::Decode(signal)) => {
            let decoded = DecodedSummary {
                signal: signal.name().to_owned(),
                unit: signal.unit().to_owned(),
                frame: signal.frame().to_owned(),
                taps,
                symbols_a_block: units,
                symbol_ns: unit_ns.round() as u64,
                ..Default::default()
            };
            (0, 0.0, Some(decoded))
        }
        (Job::Decode { .. }, _) => (0, 0.0, None),
        (Job::Guest { sample_ns, samples, .. }, _) => {
            let decoded = DecodedSummary {
                signal: SIGNAL.to_owned(),
                unit: "sample".to_owned(),
                symbols_a_block: samples,
                symbol_ns: sample_ns.round() as u64,
                ..Default::default()
            };
            (0, 0.0, Some(decoded))
        }
        (Job::Own { block_ns, budget_ns }, work) => {
            let name = if let DeviceWork::Own(own) = work { own.name().to_owned() } else { String::new() };
            own = Some(OwnSummary { name, block_ns, budget_ns, ..Default::default() });
            (0, 0.0, None)
        }
    };
    let wake = match part.wake {
        _ if part.context.is_in_kernel() => None,
        Wake::Timer => Some("timer".to_owned()),
        Wake::Softirq => Some("softirq".to_owned()),
    };
    DeviceSummary {
        device: part.profile.id.clone(),
        context: part.context.to_string(),
        wake,
        drop_stale: part.drop_stale,
        reclaim: part.reclaim,
        compete: part.compete,
        period_ns: setup.period_ns,
        buffers: part.profile.buffers,
        compute_ns: setup.compute_ns,
        samples: setup.samples,
        ring: setup.ring,
        passes,
        mac_thousandths_ns: (mac_ns * 1e3).round() as u64,
        decoded,
        own,
        max_share_millionths: rig.max_share(index).map(|share| (share * 1e6).round() as u64),
        ..DeviceSummary::default()
    }
}

pub(super) fn row(index: usize, activation: &Activation) -> ActivationRow {
    ActivationRow {
        device: index as u32,
        block: activation.block,
        arrival_ns: activation.arrival,
        interrupt_ns: (activation.interrupt != 0).then_some(activation.interrupt),
        start_ns: activation.start,
        end_ns: activation.end,
        executed_ns: activation.executed,
        pending: activation.pending,
        queued: activation.queued,
        cpu: activation.cpu,
        cut: activation.flags & CUT != 0,
        unobserved: activation.flags & UNOBSERVED != 0,
        rested: activation.flags & RESTED != 0,
    }
}

/// Adds what the devices counted themselves.
pub(super) fn count(summary: &mut DeviceSummary, counts: &DeviceCounts, ran_ns: u64) {
    summary.arrived = counts.arrived;
    summary.coalesced = counts.coalesced;
    summary.dropped = counts.dropped;
    summary.lost = counts.lost;
    summary.overruns = counts.overruns;
    summary.records_lost = counts.records_lost;
    summary.demotions = counts.demotions;
    let executed = summary.executed.mean().unwrap_or(0) as f64 * summary.processed as f64;
    summary.share_millionths = (executed * 1e6 / ran_ns.max(1) as f64).round() as u64;
    if let (Some(decoded), Some(counted)) = (&mut summary.decoded, counts.decoding) {
        let DecodingCounts { units, connected, bits, wrong, missing, skipped, restarts, frames, frames_right } =
            counted;
        (decoded.symbols, decoded.connected, decoded.skipped) = (units, connected, skipped);
        (decoded.bits, decoded.wrong, decoded.missing) = (bits, wrong, missing);
        decoded.connections_lost = restarts;
        (decoded.frames, decoded.frames_right) = (frames, frames_right);
    }
    if let (Some(own), Some(counted)) = (&mut summary.own, counts.own) {
        let OwnCounts { done, over, failed, longest_ns, output, digest, refused, .. } = counted;
        summary.refused += refused;
        (own.done, own.over, own.failed, own.longest_ns) = (done, over, failed, longest_ns);
        own.ended = counted.ended.map(|ended| OwnEnd { block: counted.ended_block, reason: ended.to_string() });
        (own.output, own.digest) = (output.to_vec(), format!("{digest:016x}"));
    }
    let Some(kernel) = &counts.kernel else { return };
    summary.refused += kernel.refused;
    summary.unobserved = kernel.unobserved;
    summary.callbacks_refused = Some(kernel.callbacks.refused);
    summary.refusal = kernel.callbacks.refusal();
    summary.cut = kernel.cut;
    summary.interrupts = Some(kernel.interrupts);
    summary.interrupt_ns = Some(kernel.interrupt_ns);
    let levels = ["thread", "softirq", "interrupt", "nmi"];
    let seen = levels.iter().enumerate().filter(|(bit, _)| kernel.levels & (1 << bit) != 0);
    summary.proven = seen.map(|(_, name)| (*name).to_owned()).collect();
}
