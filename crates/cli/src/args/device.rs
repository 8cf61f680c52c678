//! The arguments of `punctual device`.

use super::load::BusyArguments;
use super::values::{context, duration};
use clap::{Args, Subcommand, ValueEnum};
use punctual_context::Context;
use punctual_context::device::{Competitor, Phase};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(crate) struct DeviceArguments {
    #[command(subcommand)]
    pub(crate) command: DeviceCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DeviceCommand {
    /// List the devices
    #[command(
        after_help = "Example:\n  punctual device list --profiles mine.toml",
        after_long_help = "Example:\n  punctual device list --profiles mine.toml\n\nIn mine.toml each device has these fields; name and what may be left out:\n\n  [[device]]\n  id = \"my-radio\"          # lower-case letters, digits and hyphens\n  name = \"My radio\"\n  what = \"blocks of 1,024 samples, eight buffers\"\n  period = \"1024@2.4MS/s\"  # or a time, such as 427us\n  buffers = 8\n  compute = \"150us\"        # on one block\n  on_miss = \"drop\"         # or dummy_buffer, slip, fault, retrain\n  want = \"1/day\"           # how often it may miss; without it, 1/h"
    )]
    List {
        /// Your own profiles, in TOML (see `device list --help`)
        #[arg(long, value_name = "FILE")]
        profiles: Option<PathBuf>,
    },
    /// Show a device, where its numbers come from, and what it needs
    #[command(after_help = "Example:\n  punctual device show 'audio 64@48kHz x3'")]
    Show {
        /// The device, such as modem or `audio 64@48kHz x3`
        #[arg(value_name = "DEVICE")]
        device: String,
        /// Your own profiles, in TOML (see `device list --help`)
        #[arg(long, value_name = "FILE")]
        profiles: Option<PathBuf>,
    },
    /// Run a device's work in the context you ask for
    ///
    /// The context is an interrupt, a softirq, a thread or a reservation; a bystander runs beside it.
    #[command(
        after_help = "Examples:\n  sudo punctual device run modem --context irq -D 10s\n  sudo punctual device run v90 --context thread:10 --competitor spin:50 -D 10s\n  sudo punctual device run v90 --context reservation:2ms/8ms --compete --competitor spin:normal\n  sudo punctual device run 'audio 64@48kHz x3' --context thread:80 --load mixed -D 60s\n  sudo punctual device run v90 --phases 18@7200Hz:2s,90@7200Hz:9s,90@8kHz:6s,105@8kHz -D 28s\n  sudo punctual device run encoder --work encoder.c --context irq -D 5s\n\nA bare number is seconds for -D and in --phases, milliseconds in slots:2/8."
    )]
    Run(DeviceRunArguments),
    /// Run a device in every context, beside competitors, at several priorities and reservations
    #[command(
        after_help = "Examples:\n  sudo punctual device study modem -D 2m --html study.html\n  sudo punctual device study v90 -D 5m --json\n  sudo punctual device study v90 --load-command 'make -j2 clean all'\n\nThe papers' modem is v90; modem stands for it here. 35 runs of at least a second share the time.\nStarting and calibrating each takes about 0.6 s more, and so does the warm-up of a load, which each starts anew. A bare number is seconds for -D."
    )]
    Study(DeviceStudyArguments),
    /// Forecast underruns without a device, then run it and count them
    #[command(
        after_help = "Example:\n  sudo punctual device verify audio64,ethercat1ms,v90 --context thread:80 --load mixed -D 2m\n\nFor half of the time it measures without a device; the devices share the other half.\nEach of three to six rounds starts the load anew, which takes its warm-up and about a second on top.\nA bare number is seconds for -D, milliseconds in slots:2/8."
    )]
    Verify(DeviceVerifyArguments),
    /// Run several devices at once on one CPU
    #[command(
        after_help = "Example:\n  sudo punctual device mix audio64,ethercat1ms,modem --context thread:80 -D 20s\n\nA bare number is seconds for -D, milliseconds in slots:2/8."
    )]
    Mix(DeviceMixArguments),
}

#[derive(Debug, Args)]
pub(crate) struct DeviceRunArguments {
    /// The device, such as modem or `audio 64@48kHz x3`
    #[arg(value_name = "DEVICE")]
    pub(crate) device: String,
    #[command(flatten)]
    pub(crate) how: HowArguments,
}

#[derive(Debug, Args)]
pub(crate) struct DeviceMixArguments {
    /// The devices, separated by commas; a plus sign gives one its own context: modem+softirq
    #[arg(value_name = "DEVICES", value_delimiter = ',', required = true)]
    pub(crate) devices: Vec<String>,
    #[command(flatten)]
    pub(crate) how: HowArguments,
}

#[derive(Debug, Args)]
pub(crate) struct DeviceStudyArguments {
    /// The device; modem stands for the papers' V.90 modem
    #[arg(value_name = "DEVICE", default_value = "modem")]
    pub(crate) device: String,
    /// How long the 35 runs measure together: 35s or more; starting and calibrating them takes about 20 s on top
    #[arg(short = 'D', long, value_name = "TIME", default_value = "2m", value_parser = duration)]
    pub(crate) duration: u64,
    #[command(flatten)]
    pub(crate) busy: BusyArguments,
    /// Exit with 0 even if a command of the load failed
    #[arg(long)]
    pub(crate) ignore_failure: bool,
    /// The CPU [default: the last one that this process may use]
    #[arg(short = 'a', long, value_name = "CPU")]
    pub(crate) cpu: Option<u32>,
    /// What the device does: decode or filter [default: decode where `punctual device show` names a signal, else filter]
    #[arg(long, value_name = "WORK", value_parser = work)]
    pub(crate) work: Option<WorkName>,
    /// Render an HTML report with this machine beside the paper's and the simulator's
    #[arg(long, value_name = "FILE.html")]
    pub(crate) html: Option<PathBuf>,
    /// Your own profiles, in TOML (see `device list --help`)
    #[arg(long, value_name = "FILE")]
    pub(crate) profiles: Option<PathBuf>,
    /// The directory for the recordings [default: study-DATE-TIME in the current directory]
    #[arg(short, long, value_name = "DIRECTORY")]
    pub(crate) output: Option<PathBuf>,
    /// Show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DeviceVerifyArguments {
    /// The devices, separated by commas
    #[arg(value_name = "DEVICES", value_delimiter = ',', required = true)]
    pub(crate) devices: Vec<String>,
    #[command(flatten)]
    pub(crate) how: HowArguments,
}

/// How devices are run.
#[derive(Debug, Args)]
pub(crate) struct HowArguments {
    /// Where the work runs: irq, softirq, thread:80, thread:rr:80, thread:other, thread:idle, reservation:2ms/8ms, slots:2/8
    #[arg(short, long, value_name = "CONTEXT", default_value = "thread:80", value_parser = context)]
    pub(crate) context: Context,
    /// What competes on the same CPU: spin:normal, spin:50 (FIFO, resting a tenth of the time) or walk (reads files); may be repeated
    #[arg(long, value_name = "COMPETITOR", value_parser = Competitor::parse)]
    pub(crate) competitor: Vec<Competitor>,
    #[command(flatten)]
    pub(crate) busy: BusyArguments,
    /// Exit with 0 even if a command of the load failed
    #[arg(long)]
    pub(crate) ignore_failure: bool,
    /// How long to measure, without calibration and the warm-up of a load
    #[arg(short = 'D', long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(crate) duration: u64,
    /// The CPU [default: the last one that this process may use]
    #[arg(short = 'a', long, value_name = "CPU")]
    pub(crate) cpu: Option<u32>,
    /// What wakes a device's thread: a timer of its own, or a softirq callback that the device's interrupt queues
    #[arg(long, value_enum, default_value = "timer")]
    pub(crate) wake: WakeName,
    /// How the line's rate changes during the run, as samples@rate:time, for example 18@7200Hz:2s,90@7200Hz:9s,90@8kHz; with
    /// --context reservation:X/Y a phase may have its own reservation: 18@7200Hz:2s+0.5ms/2.5ms
    #[arg(long, value_name = "PHASES", value_delimiter = ',', value_parser = phase)]
    pub(crate) phases: Vec<Phase>,
    /// What the device does: decode, filter, spandsp (a call by that library's V.22bis, in a thread), or a file of your own, FILE.c or
    /// FILE.bpf.o [default: decode where `punctual device show` names a signal, else filter]
    #[arg(long, value_name = "WORK", value_parser = work)]
    pub(crate) work: Option<WorkName>,
    /// What to do with blocks that wait when a newer one has arrived
    #[arg(long, value_enum, default_value = "work-off")]
    pub(crate) late: LateName,
    /// Let a reservation use time that other reservations leave unused (SCHED_FLAG_RECLAIM)
    #[arg(long, conflicts_with = "compete")]
    pub(crate) reclaim: bool,
    /// When its budget is used up, run a reservation's thread at normal priority until the next period, as Rialto/NT did
    #[arg(long)]
    pub(crate) compete: bool,
    /// Your own profiles, in TOML (see `device list --help`)
    #[arg(long, value_name = "FILE")]
    pub(crate) profiles: Option<PathBuf>,
    /// The recording to write [default: device-DATE-TIME.punctual in the current directory]
    #[arg(short, long, value_name = "NAME.punctual")]
    pub(crate) output: Option<PathBuf>,
    /// Show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// A phase, `samples@rate:time+reservation`; the last one needs no time, and none a reservation.
pub(super) fn phase(text: &str) -> Result<Phase, String> {
    let (line, reserved) = text.split_once('+').map_or((text, None), |(line, reserved)| (line, Some(reserved)));
    let (rate, time) = line.split_once(':').unwrap_or((line, ""));
    let samples = rate.split_once('@').and_then(|(samples, _)| samples.trim().parse().ok());
    let samples = samples.filter(|samples| (1..=1 << 16).contains(samples));
    let samples =
        samples.ok_or_else(|| format!("`{text}` is not a phase: write samples@rate:time, such as 90@8kHz:5s"))?;
    let period_ns = punctual_device::parse_period(rate).map_err(|error| error.to_string())?;
    let length_ns = if time.is_empty() { u64::MAX } else { duration(time)? };
    let reservation = match reserved.map(|reserved| Context::parse(&format!("reservation:{reserved}"))).transpose()? {
        Some(Context::Reservation(reservation)) => Some(reservation),
        _ => None,
    };
    Ok(Phase { period_ns, samples, length_ns, reservation })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WakeName {
    /// The thread sleeps on a timer of its own
    Timer,
    /// The device's interrupt queues a softirq callback, which wakes the thread as a semaphore would
    Softirq,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WorkName {
    /// Decodes the device's own signal and counts, bit by bit, what lateness costs the connection
    Decode,
    /// Samples are filtered for as long as the profile computes
    Filter,
    /// Is the calling end of a call by the library spandsp, and counts what lateness costs that
    Spandsp,
    /// Calls the user's own function for each block
    Own(PathBuf),
}

pub(super) fn work(text: &str) -> Result<WorkName, String> {
    let extension = Path::new(text).extension().and_then(OsStr::to_str);
    match text {
        "decode" => Ok(WorkName::Decode),
        "filter" => Ok(WorkName::Filter),
        "spandsp" => Ok(WorkName::Spandsp),
        _ if matches!(extension, Some("c" | "o")) => Ok(WorkName::Own(PathBuf::from(text))),
        _ => Err(format!(
            "`{text}` is not a kind of work: give decode, filter, spandsp, or a file of your own, FILE.c or FILE.bpf.o"
        )),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LateName {
    /// Process every block, the oldest first
    WorkOff,
    /// Drop all but the newest
    DropStale,
}
