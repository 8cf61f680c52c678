//! The arguments of `punctual timers`.

use super::values::{duration, own_period, priority, with_nearest};
use clap::Args;
use punctual_probe::timers::{MethodClock, TimerMethod};
use punctual_recording::{BareUnit, format_ns, parse_duration};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct TimersArguments {
    /// How long to measure in all
    #[arg(short = 'D', long, value_name = "TIME", default_value = "20s", value_parser = duration)]
    pub(crate) duration: u64,
    /// The period of the callbacks
    #[arg(short, long, value_name = "TIME", default_value = "1ms", value_parser = own_period)]
    pub(crate) interval: u64,
    /// The ways to measure, by the names in the answer, such as timerfd,io-uring [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = way)]
    pub(crate) way: Vec<TimerMethod>,
    /// Real-time priority, 1 to 99 [default: normal scheduling]
    #[arg(short, long, value_name = "PRIORITY", value_parser = priority)]
    pub(crate) priority: Option<u32>,
    /// The clock to wait on: monotonic, realtime, boottime, tai; ways whose call does not accept it are left out
    #[arg(long, value_name = "CLOCK", default_value = "monotonic", value_parser = clock)]
    pub(crate) clock: MethodClock,
    /// Show what timer slack, clock and priority do: measure a few ways (or those of --way) with one of the three changed at a
    /// time
    #[arg(long, conflicts_with_all = ["stall", "clock"])]
    pub(crate) effects: bool,
    /// How long to stay busy, to see what each way does afterwards: up to 500ms; 0 for not at all [default: five and a half
    /// periods]
    #[arg(long, value_name = "TIME", value_parser = stall)]
    pub(crate) stall: Option<u64>,
    /// Keep the callbacks as a recording
    #[arg(short, long, value_name = "NAME.punctual")]
    pub(crate) output: Option<PathBuf>,
    /// Show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// The longest stall, ns: a longer one would keep others from the CPU.
const MAX_STALL_NS: u64 = 500_000_000;

fn stall(text: &str) -> Result<u64, String> {
    let stall = parse_duration(text, BareUnit::Refused)?;
    if stall <= MAX_STALL_NS {
        return Ok(stall);
    }
    Err(format!("`{text}` is too long a stall: give up to {}, or 0 for none", format_ns(MAX_STALL_NS)))
}

fn way(text: &str) -> Result<TimerMethod, String> {
    let (name, names) = (text.trim(), TimerMethod::ALL.map(TimerMethod::name));
    name.parse().map_err(|wrong: String| with_nearest(&wrong, name, &names))
}

fn clock(text: &str) -> Result<MethodClock, String> {
    let (name, names) = (text.trim(), MethodClock::ALL.map(MethodClock::name));
    name.parse().map_err(|wrong: String| with_nearest(&wrong, name, &names))
}
