//! Runs of devices that a command cannot ask for: the kernel refuses callbacks, or the decoded signal is known.

use crate::support::MAX_ATTEMPTS;
use punctual_context::device::Wake;
use punctual_device::Signal;
use punctual_probe::Step;
use punctual_recording::{DeviceSummary, LoadInfo};
use punctual_study::StudyError;
use punctual_study::device::{DevicePart, DeviceRun, DeviceRunPlan, DeviceWork};
use std::path::{Path, PathBuf};

/// A device alone on the last CPU, by its profile.
fn plan(profile: &str, (context, wake): (&str, Wake), work: DeviceWork) -> DeviceRunPlan {
    DeviceRunPlan {
        devices: vec![DevicePart {
            profile: punctual_device::Catalogue::shipped().parse_spec(profile).unwrap(),
            context: punctual_context::Context::parse(context).unwrap(),
            wake,
            drop_stale: false,
            reclaim: false,
            compete: false,
            phases: Vec::new(),
            work,
        }],
        competitors: Vec::new(),
        load: punctual_load::Load::none(),
        running: LoadInfo::default(),
        cpus: vec![*punctual_kernel::scheduling::allowed_cpus().last().unwrap()],
        duration_ns: 400_000_000,
        output: PathBuf::new(),
        command_line: Vec::new(),
        refuse_every: 0,
        without_taps: false,
    }
}

/// Runs a device while the kernel refuses one in this many of its callbacks, and returns where the recording is.
pub(crate) fn refusing(
    directory: &Path,
    profile: &str,
    (context, wake): (&str, Wake),
    refuse_every: u64,
    duration_ns: u64,
) -> (Result<DeviceRun, StudyError>, PathBuf) {
    let output = directory.join(format!("{}-{refuse_every}", context.replace(':', "-")));
    let plan = plan(profile, (context, wake), DeviceWork::Filter);
    let plan = DeviceRunPlan { duration_ns, output: output.clone(), refuse_every, ..plan };
    (punctual_study::device::run(&plan, &mut |_| Step::Go), output)
}

/// A device that decodes: it has enough buffers to keep a block through stalls of 0.2 s, and what it brings is known.
pub(crate) struct Decoding {
    pub(crate) spec: &'static str,
    pub(crate) signal: Signal,
    /// In a block.
    units: u64,
    /// The least that comes in a run, all contexts together.
    pub(crate) bits: u64,
    /// Whether, without its taps, not a single bit comes, instead of only wrong ones.
    pub(crate) silent: bool,
}

pub(crate) const DECODING: [Decoding; 3] = [
    Decoding { spec: "adsl 4ms x50 compute=1ms", signal: Signal::GLite, units: 16, bits: 100_000, silent: false },
    Decoding {
        spec: "bluetooth 2ms x100 compute=400us",
        signal: Signal::Bluetooth,
        units: 32,
        bits: 20_000,
        silent: true,
    },
    Decoding { spec: "wifi 2ms x100 compute=400us", signal: Signal::Wifi, units: 21, bits: 20_000, silent: true },
];

/// Decodes in a context for one or two hundred blocks.
pub(crate) fn decoding(
    directory: &Path,
    device: &Decoding,
    (context, wake): (&str, Wake),
    without_taps: bool,
) -> Result<DeviceRun, StudyError> {
    let name = format!("{}-{}-{wake:?}-{without_taps}", device.signal.name(), context.replace([':', '/'], "-"));
    let plan = plan(device.spec, (context, wake), DeviceWork::Decode(device.signal));
    let plan = DeviceRunPlan { output: directory.join(name), without_taps, ..plan };
    // A device asks what its work takes before it begins: a host that has no CPU to give at that moment makes it too much.
    let run = || punctual_study::device::run(&plan, &mut |_| Step::Go);
    (1..MAX_ATTEMPTS).find_map(|_| run().ok()).map_or_else(run, Ok)
}

/// Returns how many bits came.
pub(crate) fn decoded_rightly(signal: &Decoding, place: (&str, Wake), device: &DeviceSummary) -> u64 {
    let decoded = device.decoded.as_ref().unwrap();
    assert!(decoded.symbols > 0 && decoded.bits > 0, "{place:?}: {decoded:?}");
    assert_eq!((&*decoded.signal, u64::from(decoded.symbols_a_block)), (signal.signal.name(), signal.units));
    // Every processed block is whole, except those that were given up and one at the end of the run.
    let whole = signal.units * device.processed.saturating_sub(device.cut + 1);
    assert!(decoded.symbols + decoded.skipped >= whole, "{place:?}: {decoded:?}");
    // If nothing was dropped, lost or given up, every bit is right, however late it came.
    if decoded.skipped + device.cut == 0 {
        assert_eq!((decoded.wrong, decoded.missing, decoded.connections_lost), (0, 0, 0), "{place:?}: {decoded:?}");
        assert_eq!((decoded.connected, decoded.frames), (decoded.symbols, decoded.frames_right), "{place:?}");
    }
    decoded.bits
}
