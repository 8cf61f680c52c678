//! What became of the blocks of a run's devices.

use crate::in_time::InTime;
use punctual_recording::{ActivationDocument, ActivationRow, DeviceSummary};

/// No more devices of a run than this are compared: a file may name any number.
const MAX_DEVICES: usize = 16;

/// The blocks of one device in one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Served {
    /// The device: its profile and, from the second one of a profile on, which one it is.
    pub device: String,
    /// Blocks that came to it.
    pub blocks: u64,
    /// How many of these were underruns: processed too late, or never.
    pub underruns: u64,
    /// When the underruns came; `None` if that is not known.
    pub in_time: Option<InTime>,
}

/// Counts when the underruns of a run's devices came.
#[derive(Debug)]
pub struct GatherServed {
    devices: Vec<OneDevice>,
}

#[derive(Debug)]
struct OneDevice {
    served: Served,
    in_time: InTime,
    /// How long after its arrival a block's output is needed, ns.
    tolerance_ns: u64,
    next_block: u64,
}

impl GatherServed {
    /// For the devices of a run that began at `started_ns` of `CLOCK_MONOTONIC` and is `length_ns` long.
    pub fn new(activations: &ActivationDocument, started_ns: u64, length_ns: u64) -> GatherServed {
        let mut devices: Vec<OneDevice> = Vec::new();
        for (index, device) in activations.devices.iter().take(MAX_DEVICES).enumerate() {
            let before = activations.devices.iter().take(index).filter(|other| other.device == device.device).count();
            let name = match before {
                0 => device.device.clone(),
                _ => format!("{} ({})", device.device, before + 1),
            };
            devices.push(OneDevice {
                served: Served { device: name, blocks: blocks_of(device), underruns: device.underruns, in_time: None },
                in_time: InTime::new(started_ns, length_ns),
                tolerance_ns: u64::from(device.buffers.saturating_sub(1)).saturating_mul(device.period_ns),
                next_block: 0,
            });
        }
        GatherServed { devices }
    }

    /// Takes an activation; those of a device in order of time.
    pub fn take(&mut self, row: &ActivationRow) {
        let Some(device) = self.devices.get_mut(row.device as usize) else { return };
        // Numbers that are missing were given up before this one; what punctual itself held up is no underrun.
        let given_up = row.block.saturating_sub(device.next_block);
        device.next_block = row.block.saturating_add(1);
        let is_excused = row.unobserved || row.rested;
        let is_late = row.end_ns > row.arrival_ns.saturating_add(device.tolerance_ns);
        let missing = if is_excused { 0 } else { given_up };
        let underruns = missing.saturating_add(u64::from(row.cut || (is_late && !is_excused)));
        if underruns > 0 {
            device.in_time.take_several(row.end_ns, underruns);
        }
    }

    /// What became of each device's blocks; `are_all` says whether every activation was taken.
    pub fn finish(self, are_all: bool) -> Vec<Served> {
        let finished = self
            .devices
            .into_iter()
            .map(|device| Served { in_time: are_all.then_some(device.in_time), ..device.served });
        finished.collect()
    }
}

/// Blocks that came: those that it worked on, those that nobody did, and those that waited at the end, where these are
/// more than its buffers hold.
fn blocks_of(device: &DeviceSummary) -> u64 {
    let gone = device.dropped.saturating_add(device.lost).saturating_add(device.refused);
    let done = device.processed.saturating_add(gone);
    let waiting = device.arrived.saturating_sub(done);
    done.saturating_add(if waiting > u64::from(device.buffers) { waiting } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn device(name: &str, underruns: u64) -> DeviceSummary {
        let (period_ns, buffers, processed) = (10 * MS, 2, 98);
        DeviceSummary {
            device: name.to_owned(),
            period_ns,
            buffers,
            processed,
            lost: 2,
            underruns,
            ..DeviceSummary::default()
        }
    }

    /// Blocks come every 10 ms and are needed 10 ms later: one late by 1 ms, two that are missing, one that rested.
    #[test]
    fn underruns_are_found_when_they_came() {
        let devices = vec![device("sdr", 3), device("sdr", 0)];
        let activations = ActivationDocument { devices, ..ActivationDocument::default() };
        let mut gather = GatherServed::new(&activations, 0, 1_000 * MS);
        for block in (0..100).filter(|block| ![60, 61].contains(block)) {
            let arrival_ns = block * 10 * MS;
            let took_ns = if [20, 40].contains(&block) { 11 * MS } else { MS };
            gather.take(&ActivationRow {
                device: 0,
                block,
                arrival_ns,
                interrupt_ns: None,
                start_ns: arrival_ns,
                end_ns: arrival_ns + took_ns,
                executed_ns: MS,
                pending: 0,
                queued: 0,
                cpu: 0,
                cut: false,
                unobserved: false,
                rested: block == 40,
            });
        }
        let found = gather.finish(true);
        let named: Vec<(&str, u64, u64)> =
            found.iter().map(|own| (own.device.as_str(), own.blocks, own.underruns)).collect();
        assert_eq!(named, [("sdr", 100, 3), ("sdr (2)", 100, 0)]);
        // Stretches of 50 ms: blocks 20 and 62 end in the fifth and in the thirteenth.
        let counts = found[0].in_time.as_ref().unwrap().counts();
        let seen: Vec<(usize, f64)> = counts.iter().copied().enumerate().filter(|(_, count)| *count > 0.0).collect();
        assert_eq!(seen, [(4, 1.0), (12, 2.0)]);
        // Where some activations cannot be read, nobody knows.
        assert!(GatherServed::new(&activations, 0, MS).finish(false).iter().all(|own| own.in_time.is_none()));
    }
}
