//! The arguments of `punctual modem`.

pub(crate) use super::modem_judge::{Maker, ModemJudgeArguments, ModemName};
pub(crate) use super::modem_study::ModemStudyArguments;
use super::values::{any_length, context};
use clap::{Args, Subcommand, ValueEnum};
use punctual_context::device::Competitor;
use punctual_context::{Context, Reservation};
use punctual_load::Source;
use punctual_modem::adapter::{Slot, Stalls};
use punctual_modem::telephone::{ECHO_BANK, Law, MAX_DRIFT_PPM, MAX_ECHO_BANKS, Rate};
use punctual_recording::{BareUnit, format_ns, parse_duration};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct ModemArguments {
    #[command(subcommand)]
    pub(crate) command: ModemCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModemCommand {
    /// Send a file over a telephone line to a modem whose processor runs late, in virtual time or by a thread on this machine
    #[command(
        after_help = "Examples:\n  punctual modem transfer paper.gz                          ten attempts, nothing in the way\n  punctual modem transfer paper.gz --stall 60ms@10s         a stall of 60 ms in every 10 s\n  punctual modem transfer paper.gz --slots 3/16 --buffers 3 --late drop-stale\n  punctual modem transfer paper.gz --rate 14400 --law mu --drift-ppm 100\n  sudo punctual modem transfer paper.gz --context thread:24 --competitor spin:normal --attempts 3\n  sudo punctual modem transfer paper.gz --context reservation:2ms/8ms --load mixed --html sent.html\n  sudo punctual modem transfer paper.gz --context thread:80 --modems 64 --compute 0 --attempts 1\n  sudo punctual modem transfer paper.gz --context softirq --taps 14.7%      the datapump itself takes the time\n\nIn virtual time, without --context, the same seed gives the same answer. A bare number is milliseconds for --slots; times need their unit.\nExit code 1: a file did not arrive."
    )]
    Transfer(Box<ModemTransferArguments>),
    /// Say what stalls of each length do to a call: underruns, damaged frames, retrains, lost time
    #[command(
        after_help = "Examples:\n  punctual modem stalls\n  punctual modem stalls --lengths 5ms,20ms,60ms --calls 4\n  punctual modem stalls --buffers 3 --json"
    )]
    Stalls(ModemStallsArguments),
    /// Run the paper's tables of transfers in virtual time, thirty rows with ten attempts each, beside the paper's figures
    #[command(
        after_help = "Examples:\n  punctual modem study -o study                    all rows; the same command continues after Ctrl-C\n  punctual modem study --table 3                   the reservations of section 6.6\n  punctual modem study --row 3/16 --row int        the same row of every table\n  punctual modem study --bytes 20000 --attempts 3 --html tables.html\n\nThe same seed gives the same answer, on any number of CPUs. It needs no privilege, and measures nothing on this machine."
    )]
    Study(ModemStudyArguments),
    /// Compare punctual's modems with those of spandsp: bit errors by noise, lost samples, processor time
    #[command(
        after_help = "Examples:\n  punctual modem judge                      spandsp's modems, and punctual's\n  punctual modem judge --modem v29,9600     two of the same rate\n  punctual modem judge --calls 20 --json\n\nIt needs the library spandsp (Debian: libspandsp2), which is loaded at run time, unless only punctual's own are judged. The same seed gives the same answer, but for processor time, in virtual time and without any privilege."
    )]
    Judge(ModemJudgeArguments),
    /// Offer two modems as terminals that ordinary programs can open, with a telephone line between them, in real time
    #[command(
        after_help = "Examples:\n  punctual modem line                             prints two paths; programs open them like serial ports\n  punctual modem line --stall 80ms@4s             A's processor stalls; what you send still arrives\n  punctual modem line -D 1h --rate 14400 --snr 40\n\nTo send a file from A to B with Debian's lrzsz, if it printed /dev/pts/3 and /dev/pts/4:\n  exec 4<>/dev/pts/4; printf 'ATE0S0=1\\r' >&4; head -n 2 <&4; head -n 4 <&4; rz <&4 >&4\n  exec 3<>/dev/pts/3; printf 'ATE0DT5550101\\r' >&3; head -n 2 <&3; sz FILE <&3 >&3\nRun the second line in another shell: it dials once B answers at the first ring, and each head ends with CONNECT 9600.\n\nIt ends at Ctrl-C and leaves nothing behind. It needs no privilege. A bare number is seconds for -D; other times need their unit."
    )]
    Line(ModemLineArguments),
    /// Answer a call from another process, as a terminal or with a file
    #[command(
        after_help = "Examples:\n  punctual modem serve                  prints the line to call, and a terminal\n  punctual modem serve --receive FILE   writes what a caller sends\n  punctual modem serve --send FILE --snr 25\n\nThe line is a socket that only you can reach. It takes one caller, in real time, and goes away with this process. A bare number is seconds for -D.\nExit code 1: the caller was lost, or a file did not get through."
    )]
    Serve(ModemServeArguments),
    /// Call the modem of `punctual modem serve` in another process
    #[command(
        after_help = "Examples:\n  punctual modem call LINE                  offers a terminal: ATDT5550101 dials\n  punctual modem call LINE --send FILE      dials, sends the file and hangs up\n  punctual modem call LINE --receive FILE\n\n`punctual modem serve` prints LINE. A bare number is seconds for -D.\nExit code 1: the other end was lost, or a file did not get through."
    )]
    Call(ModemCallArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ModemServeArguments {
    #[command(flatten)]
    pub(crate) end: ModemEndOptions,
    /// Chooses the line's noise
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// The line's signal-to-noise ratio, 0 to 100 dB, or none for no noise
    #[arg(long, value_name = "DB", default_value = "35", value_parser = noise)]
    pub(crate) snr: Noise,
    /// How the network writes samples in eight bits: A-law or u-law (mu), or none
    #[arg(long, value_name = "LAW", default_value = "a")]
    pub(crate) law: LawName,
}

#[derive(Debug, Args)]
pub(crate) struct ModemCallArguments {
    /// The line that `punctual modem serve` has printed
    #[arg(value_name = "LINE")]
    pub(crate) line: PathBuf,
    #[command(flatten)]
    pub(crate) end: ModemEndOptions,
}

/// A modem whose line leads to another process, and what is done with it.
#[derive(Debug, Args)]
pub(crate) struct ModemEndOptions {
    /// Send this file, up to 10 MB, instead of offering a terminal
    #[arg(long, value_name = "FILE", conflicts_with = "receive")]
    pub(crate) send: Option<PathBuf>,
    /// Receive a file instead, and write it here once all of it has arrived
    #[arg(long, value_name = "FILE")]
    pub(crate) receive: Option<PathBuf>,
    /// End after this time instead of at Ctrl-C
    #[arg(short = 'D', long, value_name = "TIME", value_parser = line_duration)]
    pub(crate) duration: Option<Duration>,
    /// The rate to begin with, bit/s: 4800, 9600 or 14400; the modems fall back if the line is too bad for it
    #[arg(long, value_name = "RATE", default_value = "9600", value_parser = rate)]
    pub(crate) rate: Rate,
    /// Show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ModemLineArguments {
    /// End after this time instead of at Ctrl-C
    #[arg(short = 'D', long, value_name = "TIME", value_parser = line_duration)]
    pub(crate) duration: Option<Duration>,
    /// Stalls of A's processor, such as 60ms@10s: one in every 10 s, once A is connected
    #[arg(long, value_name = "TIME@TIME", value_parser = stalls)]
    pub(crate) stall: Option<Stalls>,
    #[command(flatten)]
    pub(crate) options: ModemOptions,
}

/// The longest time a line is offered for: a week.
const MAX_LINE_NS: u64 = 7 * 24 * 3_600_000_000_000;

fn line_duration(text: &str) -> Result<Duration, String> {
    let duration = parse_duration(text, BareUnit::Seconds)?;
    let fits = (1..=MAX_LINE_NS).contains(&duration);
    fits.then(|| Duration::from_nanos(duration))
        .ok_or_else(|| format!("`{text}` is not a valid time for a line: give up to 168h"))
}

/// How the two ends and the line are made.
#[derive(Debug, Args)]
pub(crate) struct ModemOptions {
    /// Chooses the line's noise and when the stalls begin
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// The rate to begin with, bit/s: 4800, 9600 or 14400; the modems fall back if the line is too bad for it
    #[arg(long, value_name = "RATE", default_value = "9600", value_parser = rate)]
    pub(crate) rate: Rate,
    /// The line's signal-to-noise ratio, 0 to 100 dB, or none for no noise
    #[arg(long, value_name = "DB", default_value = "35", value_parser = noise)]
    pub(crate) snr: Noise,
    /// How the network writes samples in eight bits: A-law or u-law (mu), or none
    #[arg(long, value_name = "LAW", default_value = "a")]
    pub(crate) law: LawName,
    /// Buffers of the calling end, 2 to 8: output is due that many blocks of 12.5 ms, less one, after its input
    #[arg(long, value_name = "NUMBER", default_value_t = 2, value_parser = clap::value_parser!(u32).range(2..=8))]
    pub(crate) buffers: u32,
    /// The calling end's processor time for a block of 12.5 ms [default: 1.84ms; with --taps in real time what these take]
    #[arg(long, value_name = "TIME", value_parser = compute)]
    pub(crate) compute: Option<u64>,
    /// What the calling end does with blocks that wait
    #[arg(long, value_name = "POLICY", default_value = "work-off")]
    pub(crate) late: LateName,
    /// Show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ModemTransferArguments {
    /// The file to send, up to 10 MB
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// How many times to send it
    #[arg(long, value_name = "NUMBER", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) attempts: u32,
    /// Which way the file goes, as the calling end sees it
    #[arg(long, value_name = "WAY", default_value = "download")]
    pub(crate) direction: DirectionName,
    /// The far end: a pool of servers retrains as often as asked; a dedicated server hangs up at the fourth retrain in a minute
    #[arg(long, value_name = "WHO", default_value = "pool")]
    pub(crate) far_end: FarEndName,
    /// Stalls of the calling end's processor, such as 60ms@10s: one in every 10 s, once the modems are connected
    #[arg(long, value_name = "TIME@TIME", value_parser = stalls)]
    pub(crate) stall: Option<Stalls>,
    /// Receive it in real time, by a thread on this machine: thread:other, thread:80 or reservation:2ms/8ms; or in its interrupts:
    /// irq or softirq
    #[arg(long, value_name = "CONTEXT", value_parser = context, conflicts_with_all = ["slots", "stall"])]
    pub(crate) context: Option<Context>,
    /// What that thread competes with: spin:normal, spin:50 or walk; may be repeated
    #[arg(long, value_name = "WHAT", value_parser = Competitor::parse, requires = "context")]
    pub(crate) competitor: Vec<Competitor>,
    /// Keep the machine busy meanwhile: a name from `punctual load list` or a load file; separate several with commas
    #[arg(long, value_name = "LOAD", value_delimiter = ',', requires = "context")]
    pub(crate) load: Vec<Source>,
    /// How many modems call at once, each by a thread of its own, over a line of its own, 1 to 128
    #[arg(long, value_name = "NUMBER", default_value_t = 1, requires = "context",
          value_parser = clap::value_parser!(u32).range(1..=128))]
    pub(crate) modems: u32,
    /// Soft devices at work meanwhile, such as audio64+thread:81; separate several with commas
    #[arg(long, value_name = "DEVICES", value_delimiter = ',', requires = "context")]
    pub(crate) beside: Vec<String>,
    /// The CPU for that thread; of several, separated by commas, modems take them in turn, and so do the devices of --beside
    /// [default: the first that this program may use]
    #[arg(long, value_name = "CPUS", value_delimiter = ',', requires = "context")]
    pub(crate) cpu: Vec<u32>,
    /// The recording of what is --beside it [default: modem-DATE-TIME.punctual in the current directory]
    #[arg(short, long, value_name = "NAME.punctual", requires = "beside")]
    pub(crate) output: Option<PathBuf>,
    /// Render an HTML report with the samples that were pending in each call
    #[arg(long, value_name = "FILE.html")]
    pub(crate) html: Option<PathBuf>,
    /// The datapump of both ends: v22bis is the one of the library spandsp, if it is installed, at 2,400 bit/s whatever --rate
    /// says; in virtual time or in a thread, because no interrupt can run it
    #[arg(long, value_name = "PUMP", default_value = "punctual")]
    pub(crate) pump: PumpName,
    /// How much the calling end's datapump computes: taps of its echo canceller, 128 to 65536 by 128s, or with --context
    /// a share of a CPU, such as 14.7%
    #[arg(long, value_name = "TAPS", value_parser = taps)]
    pub(crate) taps: Option<Taps>,
    /// How much faster the far end's clock runs, in parts per million, -500 to 500
    #[arg(long, value_name = "PPM", default_value_t = 0, allow_negative_numbers = true,
          value_parser = clap::value_parser!(i32).range(-(MAX_DRIFT_PPM as i64)..=MAX_DRIFT_PPM as i64))]
    pub(crate) drift_ppm: i32,
    /// Give the calling end only part of its processor, such as 2/13: 2 ms of every 13 (a bare number is milliseconds)
    #[arg(long, value_name = "X/Y", value_parser = slots)]
    pub(crate) slots: Option<Slot>,
    #[command(flatten)]
    pub(crate) options: ModemOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ModemStallsArguments {
    /// How long the stalls are; separate several with commas
    #[arg(long, value_name = "TIMES", value_delimiter = ',', value_parser = length,
          default_value = "5ms,10ms,12ms,15ms,20ms,30ms,40ms,52ms,60ms,80ms,100ms,150ms,200ms")]
    pub(crate) lengths: Vec<u64>,
    /// Calls for each length and direction
    #[arg(long, value_name = "NUMBER", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) calls: u32,
    #[command(flatten)]
    pub(crate) options: ModemOptions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LateName {
    /// Process every block
    WorkOff,
    /// Process only the newest block
    DropStale,
}

/// How the network writes samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LawName {
    /// A-law, as in most of the world
    A,
    /// u-law, as in North America and Japan
    Mu,
    /// Neither
    None,
}

impl LawName {
    pub(crate) fn law(self) -> Option<Law> {
        match self {
            LawName::A => Some(Law::A),
            LawName::Mu => Some(Law::Mu),
            LawName::None => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DirectionName {
    /// To the calling end
    Download,
    /// From the calling end
    Upload,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PumpName {
    /// Its own, at 4,800 to 14,400 bit/s
    Punctual,
    /// V.22bis of spandsp, at 2,400 or 1,200 bit/s
    #[value(name = "v22bis")]
    V22bis,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FarEndName {
    /// Retrain as often as asked
    Pool,
    /// Hang up at the fourth retrain within a minute
    Dedicated,
}

/// The longest stall, ns, and the longest stretch that one falls into.
const MAX_STALL_NS: u64 = 10_000_000_000;
const MAX_EVERY_NS: u64 = 3_600_000_000_000;
/// The longest computation of a block: the block's own time, ns.
const MAX_COMPUTE_NS: u64 = 12_500_000;

fn rate(text: &str) -> Result<Rate, String> {
    let found = Rate::ALL.into_iter().find(|rate| rate.bits_per_second().to_string() == text);
    found.ok_or_else(|| format!("`{text}` is not a rate of these modems: give 4800, 9600 or 14400"))
}

/// The line's noise below the signal, dB; `None`: no noise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noise(pub(crate) Option<f64>);

fn noise(text: &str) -> Result<Noise, String> {
    if text == "none" {
        return Ok(Noise(None));
    }
    let decibels = text.parse::<f64>().ok().filter(|decibels| (0.0..=100.0).contains(decibels));
    decibels
        .map(|decibels| Noise(Some(decibels)))
        .ok_or_else(|| format!("`{text}` is not a ratio: give 0 to 100 dB, or none"))
}

/// How much a datapump computes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Taps {
    /// Taps of its echo canceller.
    Count(u32),
    /// So many that it takes this share of a CPU, percent.
    Share(f64),
}

fn taps(text: &str) -> Result<Taps, String> {
    if let Some(share) = text.strip_suffix('%') {
        let share = share.trim_end().parse::<f64>().ok().filter(|share| *share > 0.0 && *share <= 100.0);
        return share.map(Taps::Share).ok_or_else(|| format!("`{text}` is not a share of a CPU: write 14.7%"));
    }
    let most = ECHO_BANK * MAX_ECHO_BANKS;
    let count = text.parse::<u32>().ok();
    let count = count.filter(|count| (ECHO_BANK..=most).contains(count) && count.is_multiple_of(ECHO_BANK));
    count.map(Taps::Count).ok_or_else(|| {
        format!("`{text}` is no number of taps: give a multiple of {ECHO_BANK} up to {most}, or a share such as 14.7%")
    })
}

fn compute(text: &str) -> Result<u64, String> {
    let compute = any_length(text)?;
    let wrong = || format!("`{text}` is longer than a block: give up to {}", format_ns(MAX_COMPUTE_NS));
    Some(compute).filter(|compute| *compute <= MAX_COMPUTE_NS).ok_or_else(wrong)
}

fn length(text: &str) -> Result<u64, String> {
    let length = any_length(text)?;
    let wrong = || format!("`{text}` is too long a stall: give up to {}", format_ns(MAX_STALL_NS));
    Some(length).filter(|length| *length <= MAX_STALL_NS).ok_or_else(wrong)
}

fn stalls(text: &str) -> Result<Stalls, String> {
    let (stall, every) =
        text.split_once('@').ok_or_else(|| format!("`{text}` does not describe stalls: write 60ms@10s"))?;
    let (length_ns, every_ns) = (length(stall)?, any_length(every)?);
    if every_ns <= length_ns || every_ns > MAX_EVERY_NS {
        return Err(format!(
            "`{text}`: a stall must fit into the time after the @, which is at most 1 h: write 60ms@10s"
        ));
    }
    Ok(Stalls::every(length_ns, every_ns))
}

fn slots(text: &str) -> Result<Slot, String> {
    match Context::parse(&format!("slots:{text}")) {
        Ok(Context::Reservation(Reservation { runtime_ns, period_ns, .. })) => Ok(Slot { runtime_ns, period_ns }),
        _ => Err(format!("`{text}` is not a part of a processor: write 2/13, or 2ms/13ms")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_as_people_write_them() {
        assert!(stalls("60ms@10s").is_ok());
        assert_eq!(slots("2/13"), Ok(Slot { runtime_ns: 2_000_000, period_ns: 13_000_000 }));
        assert_eq!([compute("0"), compute("1.84ms")], [Ok(0), Ok(1_840_000)]);
        assert_eq!([taps("6144"), taps("14.7%")], [Ok(Taps::Count(6_144)), Ok(Taps::Share(14.7))]);
        assert!(noise("none").unwrap().0.is_none() && noise("20").unwrap().0 == Some(20.0));
        let wrong = [
            stalls("60").map(drop),
            stalls("60@10s").map(drop),
            stalls("60ms@10").map(drop),
            compute("1.84").map(drop),
            length("60").map(drop),
            stalls("10s@1s").map(drop),
            stalls("1ms@2h").map(drop),
            slots("13/2").map(drop),
            slots("x").map(drop),
            rate("33600").map(drop),
            noise("-1").map(drop),
            noise("nan").map(drop),
            compute("13ms").map(drop),
            length("11s").map(drop),
            taps("0").map(drop),
            taps("100").map(drop),
            taps("65664").map(drop),
            taps("0%").map(drop),
            taps("101%").map(drop),
            taps("nan%").map(drop),
        ];
        for result in wrong {
            let message = result.unwrap_err();
            assert!(!message.is_empty() && !message.contains('\n'), "{message}");
        }
    }
}
