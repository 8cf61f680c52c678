//! The command line.

#[cfg(test)]
mod bare_numbers_tests;
mod compare;
pub(crate) mod device;
pub(crate) mod drill;
mod export;
mod follow;
mod idle;
mod interact;
pub(crate) mod lab;
mod load;
pub(crate) mod log;
pub(crate) mod modem;
mod modem_judge;
mod modem_study;
pub(crate) mod reserve;
pub(crate) mod rialto;
mod sim;
mod threads;
mod timers;
mod values;
pub(crate) mod why;

pub(crate) use compare::{CompareArguments, MeasuringArguments, Settings, SideOptions, SideSetting};
pub(crate) use export::ExportArguments;
pub(crate) use follow::FollowArguments;
pub(crate) use idle::{IdleArguments, IdlePolicy};
pub(crate) use interact::{InteractArguments, InteractCommand, LearnArguments, LearnPlace, PaceName, PlaceName};
pub(crate) use load::{BusyArguments, LoadArguments, LoadCommand, LoadRunArguments};
pub(crate) use sim::{SimArguments, SimCommand, SimRunArguments, SimTimelineArguments, SimWhatifArguments};
pub(crate) use threads::{PolicyName, ThreadArguments, ViaName};
pub(crate) use timers::TimersArguments;

use clap::{Args, Parser, Subcommand};
use punctual_load::Source;
use punctual_recording::Stage;
use std::path::PathBuf;
use values::{Limits, duration, length, limits, own_period, period, stage};
pub(crate) use values::{context, with_nearest_context};

/// How late time-dependent work runs on this machine.
#[derive(Debug, Parser)]
#[command(name = "punctual", version, max_term_width = 100, subcommand_required = true, arg_required_else_help = true)]
#[command(
    after_help = "Examples:\n  punctual check                       a verdict on this machine in a minute\n  sudo punctual check                  the same at real-time priority, by stage\n  sudo punctual record -D 10s --load mixed\n  punctual report a.punctual --json\n\nExit codes: 0 fine, 1 error, 2 a limit you set was exceeded, 129 wrong usage."
)]
pub(crate) struct Arguments {
    /// Answer in JSON, even on failure
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print text as Markdown, with its tables, for issues and wikis
    #[arg(long, global = true, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// Also write the text into this file, as --markdown prints it
    #[arg(long, global = true, value_name = "FILE.md", conflicts_with = "json")]
    pub(crate) export_markdown: Option<PathBuf>,
    /// Also show messages from the BPF library and the kernel's verifier
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say in a minute how late this machine runs, idle and loaded
    #[command(
        after_help = "Examples:\n  punctual check                       at normal priority, without stages\n  sudo punctual check                  at real-time priority, stage by stage\n  sudo punctual check --device 'audio 64@48kHz x3' --want 1/day\n  sudo punctual check -D 20s --load disk\n  punctual check --json | jq .verdict\n\nA bare number is seconds for -D, microseconds for -i."
    )]
    Check(CheckArguments),
    /// Measure how late threads wake up, stage by stage
    ///
    /// The threads are punctual's own periodic ones, or those of other programs.
    #[command(
        after_help = "Examples:\n  sudo punctual record -D 10s                     every CPU, FIFO 80, every 1 ms\n  sudo punctual record -p 95,50 -i 500us -a 1     two priorities on CPU 1\n  sudo punctual record --via softirq --load mixed  the chain interrupt -> softirq -> thread\n  sudo punctual record --limit p99.9=200us,max=1ms\n  sudo punctual record -- make -j2                while a command runs\n  sudo punctual record --comm '^ffmpeg' -D 10s    the wakeups of ffmpeg's threads\n  sudo punctual record --follow -- make -j2       the threads of a command and all it starts\n  sudo punctual record --why 500us -D 60s         also who made wakeups late: see punctual why\n  sudo punctual record -D 10s --hist > a.hist     what cyclictest -h prints\n\nA bare number is microseconds for -i and -b, as cyclictest has it, and seconds for -D; other times need their unit."
    )]
    Record(RecordArguments),
    /// Show recordings, adding up those made the same way
    ///
    /// The same way means with the same configuration and load.
    #[command(
        after_help = "Examples:\n  punctual report a.punctual\n  punctual report monday.punctual tuesday.punctual --csv > both.csv\n  punctual report a.punctual --limit max=1ms && echo fine\n  punctual report a.punctual --interarrival 100us,1ms"
    )]
    Report(ReportArguments),
    /// Say who made wakeups late, by name and to the nanosecond
    ///
    /// It may have been an interrupt, a softirq, another thread, or the host.
    #[command(
        after_help = "Examples:\n  sudo punctual record --why 500us -D 60s --load mixed -o a.punctual\n  punctual why a.punctual                          the leading causes, and the worst wakeup\n  punctual why a.punctual --episode 3              one late wakeup in full\n  punctual why a.punctual --perfetto a.pftrace     to look at in Perfetto\n  punctual why a.punctual --folded > a.folded      for flame graphs\n  punctual why --explain softirq                   what a kind of cause is, and what helps"
    )]
    Why(why::WhyArguments),
    /// Log every event of a short run, with programs' own marks
    ///
    /// Events include switches, interrupts, timers, processes and more.
    #[command(
        after_help = "Examples:\n  sudo punctual log -D 5s                          the default classes, on every CPU\n  sudo punctual log -o a.punctual -- ./program     while a command runs\n  sudo punctual log --events process,futex,mark -- make -j2\n  sudo punctual log --events all -D 2s --load mixed\n  punctual log show a.punctual --from 1s --to 1.1s  line by line\n  punctual report a.punctual                       counts of what was logged\n  punctual log header > punctual.h                 for programs that make marks\n\nIt ends after -D, when the command ends, or at Ctrl-C. A bare number is seconds for -D."
    )]
    Log(log::LogArguments),
    /// Say whether one set of recordings is better than another
    ///
    /// The answer is better, worse, or no detectable difference.
    #[command(
        after_help = "Examples:\n  punctual compare idle.punctual loaded.punctual\n  punctual compare before/ after/                   directories of repeats, also from `interact`\n  sudo punctual compare --repeat 5 --a 'sysctl -w kernel.timer_migration=1' --b 'sysctl -w kernel.timer_migration=0'\n  sudo punctual compare --repeat 5 --while-b 'clamscan -r /usr' --load mixed\n\nSettings are not restored: run the command that restores them afterwards. To compare kernels or boot settings, record each side with `punctual record`, in turn across reboots, into a directory of its own, and compare the directories. A bare number is seconds for -D, microseconds for -i; other times need their unit."
    )]
    Compare(CompareArguments),
    /// Show what takes the CPU away from a loop that wants it all
    ///
    /// Without privilege it shows the gaps, but not who made them.
    #[command(
        after_help = "Examples:\n  sudo punctual idle                      every CPU for 20 s, causes by name\n  punctual idle -D 1m --threshold 2us     without privilege: gaps, without causes\n  sudo punctual idle --policy fifo -a 1   what real-time work on CPU 1 would lose\n  sudo punctual idle --calibrated=100us   the paper's fixed-count loop, and how unsteady it is\n  sudo punctual idle --validate           100 keystrokes as the loop, a program and the kernel see them\n\nA bare number is seconds for -D; other times need their unit."
    )]
    Idle(IdleArguments),
    /// Use a program as a person does, and time each key
    ///
    /// In a terminal or a window: how long each key takes, and what the time goes to.
    #[command(
        after_help = "Examples:\n  sudo punctual interact -- vim -u NONE            a shipped script for vim, at a person's pace\n  punctual interact -- bash                        without privilege: latency, CPU and run delay\n  sudo punctual interact --script edit.toml --html e.html -- nano notes.txt\n  sudo punctual interact --via x11 -- mousepad     in a window on a display of its own\n  sudo punctual interact --via x11 --display -- mousepad     on your own display\n  sudo punctual interact --via wayland -- foot     in a Wayland compositor of its own\n  sudo punctual interact --pace full -- less /etc/services   as fast as the terminal takes it\n  sudo punctual interact --pace human,full -- vim -n         at both paces, compared\n  sudo punctual interact --limit key:p99=16ms,page:max=100ms -- vim -u NONE\n  punctual interact learn -o edit.toml -- vim notes.txt      a script of what you type\n  sudo punctual interact --attach vim -D 10m       somebody's own use of a running program\n\nA bare number is seconds for -D; other times need their unit."
    )]
    Interact(InteractArguments),
    /// Say how often work will be late and devices run dry
    ///
    /// It gives the worst hour, day and week, and for each device the time between underruns.
    #[command(
        after_help = "Examples:\n  punctual forecast a.punctual\n  punctual forecast a.punctual --device modem --horizon day\n  punctual forecast a.punctual --device audio --period 64@48kHz --want 1/day\n  punctual forecast followed.punctual --period 1ms\n  punctual forecast idle.punctual loaded.punctual --table"
    )]
    Forecast(ForecastArguments),
    /// Say whether periodic tasks meet their deadlines
    ///
    /// It takes measured latency into account if you give a recording.
    #[command(
        after_help = "Examples:\n  punctual schedulability tasks.toml\n  punctual schedulability tasks.toml --latency a.punctual\n  punctual schedulability rt-app.json\n\nExit code 2: a deadline can be missed."
    )]
    Schedulability(SchedulabilityArguments),
    /// Simulate the papers' machines, or a device on yours
    Sim(SimArguments),
    /// Measure each way to get a periodic callback
    ///
    /// It shows granularity, drift, catch-up, and the patterns of known faults.
    #[command(
        after_help = "Examples:\n  punctual timers                                every way, every 1 ms, 20 s in all; no privilege needed\n  punctual timers -D 5s --way timerfd,epoll-wait\n  sudo punctual timers -p 80 -o timers.punctual  FIFO 80, and keep a recording\n  sudo punctual timers --effects                 what timer slack, clock and priority do\n  punctual timers --clock boottime --way timerfd,nanosleep-absolute\n\nA bare number is microseconds for -i, seconds for -D; other times need their unit."
    )]
    Timers(TimersArguments),
    /// Inject a known cause of lateness for a bounded time
    ///
    /// Use it to see what the cause looks like in an answer, or to test an alarm.
    #[command(
        after_help = "Examples:\n  punctual drill list                             what this kernel and this user can do\n  sudo punctual drill softirq --for 2ms --every 300ms -D 20s\n  sudo punctual drill fifo --for 200us..5ms -a 1 --priority 90 -o truth.jsonl\n  sudo punctual drill lock --json                 with a victim of its own\n\nAn injection lasts at most 50ms. Together they take at most 25 % of a CPU (50 % with --yes), and all of them end with the program, whatever ends it. A bare number is seconds for -D; other times need their unit."
    )]
    Drill(drill::DrillArguments),
    /// List, show, install and try what keeps a machine busy
    ///
    /// Loads are real programs and artificial work that run during a measurement.
    Load(LoadArguments),
    /// Run soft devices, and see what they do to others
    ///
    /// They run in interrupt, softirq, thread or reservation context.
    Device(device::DeviceArguments),
    /// Find, prove and apply the smallest reservation that is enough
    ///
    /// A reservation is CPU time for a program's periodic thread.
    #[command(
        after_help = "Examples:\n  sudo punctual reserve -- ./control-loop           in about two minutes\n  sudo punctual reserve --load mixed -- ./control-loop\n  sudo punctual reserve --pid $(pidof pipewire) --thread ^data-loop --apply\n  sudo punctual reserve undo                        undoes what --apply changed\n  sudo punctual reserve v90 --competitor spin:normal   for a soft device\n  sudo punctual reserve run 2.2ms/10ms -- ./control-loop\n\nUntil a reservation is proven, no change stays in place, whatever ends the run. A bare number is seconds for --measure, --attempt and --round; other times need their unit.\nExit code 1: no reservation was proven."
    )]
    Reserve(reserve::ReserveArguments),
    /// Serve reservations in slots, as Rialto/NT did
    ///
    /// A scheduler made of BPF programs (sched_ext) does this.
    Rialto(rialto::RialtoArguments),
    /// Run the same command on several kernels
    ///
    /// Each boots in a virtual machine whose clock counts instructions.
    Lab(lab::LabArguments),
    /// Send files between two software modems
    ///
    /// A telephone line connects them, and the processor of one of them runs late.
    Modem(modem::ModemArguments),
    /// Say what this kernel lets this user do
    ///
    /// It also says what would allow the rest.
    #[command(
        after_help = "Examples:\n  sudo punctual capabilities\n  sudo punctual capabilities 'flight recorder' 'drill irq'\n\nEach mode's BPF programs are loaded as a trial, then unloaded."
    )]
    Capabilities {
        /// Try only these rows, by name, and not the others
        #[arg(value_name = "ROW")]
        rows: Vec<String>,
    },
    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  punctual completions bash > /etc/bash_completion.d/punctual")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write manual pages into a directory
    #[command(after_help = "Example:\n  punctual man /usr/local/share/man/man1")]
    Man {
        /// The directory
        directory: PathBuf,
    },
}

#[derive(Debug, Args)]
#[command(mut_arg("interval", |argument| argument.help(
    "The period of each thread: 500us, 1kHz or 256@48kHz [default: 1ms, or the period of the only --device]"
)))]
pub(crate) struct CheckArguments {
    /// How long to measure in all, from 1s on: half of it with no load added, half under load
    #[arg(short = 'D', long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(crate) duration: u64,
    /// Say whether this device holds, and exit with 2 if it does not: modem or `audio 64@48kHz x3`; may be repeated
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Vec<String>,
    /// Your own profiles, in TOML (see `device list --help`)
    #[arg(long, value_name = "FILE", requires = "device")]
    pub(crate) profiles: Option<PathBuf>,
    /// How long each device asked for computes on one buffer, instead of its profile's time: 400us, or 50% of the period
    #[arg(long, value_name = "TIME", requires = "device")]
    pub(crate) compute: Option<String>,
    /// How often each device may run dry at most: 1/day, 2/hour, or the time between two, such as 30m
    #[arg(long, value_name = "WANT", requires = "device")]
    pub(crate) want: Option<String>,
    /// The load for the second half: a name from `punctual load list` or a load file; separate several with commas
    #[arg(long, value_name = "LOAD", default_value = "mixed", value_delimiter = ',')]
    pub(crate) load: Vec<Source>,
    /// Exit with 0 even if a command of the load failed
    #[arg(long)]
    pub(crate) ignore_failure: bool,
    /// The directory for the two recordings [default: check-DATE-TIME in the current directory]
    #[arg(short, long, value_name = "DIRECTORY")]
    pub(crate) output: Option<PathBuf>,
    /// Also render an HTML report, as `punctual report --html` does from the recording
    #[arg(long, value_name = "FILE.html")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) threads: ThreadArguments,
}

#[derive(Debug, Args)]
pub(crate) struct RecordArguments {
    /// How long to measure [default: 60s, or as long as the command runs]
    #[arg(short = 'D', long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<u64>,
    /// Scheduling policy of the measured threads
    #[arg(long, value_enum, default_value = "fifo")]
    pub(crate) policy: PolicyName,
    /// What wakes the threads: the timer interrupt itself, or a softirq callback queued by it
    #[arg(long, value_enum, default_value = "timer")]
    pub(crate) via: ViaName,
    /// Stop at the first wakeup later than this and exit with 2: a time, or a period such as 64@48kHz
    #[arg(short = 'b', long = "break", value_name = "TIME", value_parser = own_period)]
    pub(crate) break_ns: Option<u64>,
    /// Exit with 2 if wakeups were later than this: max=1ms for the worst, p99.9=200us for all but one in 1,000, several with
    /// commas; for another stage, put its name first, such as response:max=1ms for the time until a followed thread sleeps;
    /// with --period, cycle:max=1ms for a whole cycle
    #[arg(long, value_name = "LIMITS", value_parser = limits)]
    pub(crate) limit: Option<Limits>,
    #[command(flatten)]
    pub(crate) busy: BusyArguments,
    /// Exit with 0 even if a command of the load failed
    #[arg(long)]
    pub(crate) ignore_failure: bool,
    /// The recording to write [default: DATE-TIME.punctual in the current directory]
    #[arg(short, long, value_name = "NAME.punctual")]
    pub(crate) output: Option<PathBuf>,
    /// Also render an HTML report, as `punctual report --html` does from the recording
    #[arg(long, value_name = "FILE.html")]
    pub(crate) html: Option<PathBuf>,
    /// Print a histogram instead of the report: a row per microsecond, a column per thread
    #[arg(long, conflicts_with_all = ["json", "export_markdown"])]
    pub(crate) hist: bool,
    #[command(flatten)]
    pub(crate) why: why::WhyRecordArguments,
    #[command(flatten)]
    pub(crate) threads: ThreadArguments,
    #[command(flatten)]
    pub(crate) follow: FollowArguments,
    /// Record the time stamps that a driver's kernel module provides in this file, such as /dev/punctual (see
    /// include/punctual_module.h)
    #[arg(long, value_name = "FILE", conflicts_with_all = follow::OWN, conflicts_with = "followed")]
    pub(crate) stamps: Option<PathBuf>,
    /// Run this command as the load, and measure for as long as it runs
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) program: Vec<String>,
}

impl RecordArguments {
    /// Whether neither other programs' threads are followed nor a driver's stamps are read.
    pub(crate) fn measures_threads_of_its_own(&self) -> bool {
        let FollowArguments { pid, tid, comm, follow, .. } = &self.follow;
        self.stamps.is_none() && !*follow && pid.is_empty() && tid.is_empty() && comm.is_empty()
    }
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Recordings
    #[arg(required = true, value_name = "RECORDING")]
    pub(crate) recordings: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) export: ExportArguments,
    /// Show whether wakeups later than these thresholds come periodically, in clusters or at random: 100us,1ms
    #[arg(long, value_name = "TIMES", value_delimiter = ',', value_parser = length)]
    pub(crate) interarrival: Vec<u64>,
    /// The stage whose lateness --interarrival looks at
    #[arg(long, value_name = "STAGE", default_value = "total", value_parser = stage, requires = "interarrival")]
    pub(crate) stage: Stage,
    /// Render an HTML report, in one self-contained file
    #[arg(long, value_name = "FILE.html")]
    pub(crate) html: Option<PathBuf>,
    /// Write a Perfetto trace of a recording of inputs to a program
    #[arg(long, value_name = "FILE")]
    pub(crate) perfetto: Option<PathBuf>,
    /// Show each CPU separately
    #[arg(long)]
    pub(crate) by_cpu: bool,
    /// Exit with 2 if wakeups were later than this: max=1ms for the worst, p99.9=200us for all but one in 1,000, several with
    /// commas; for another stage, put its name first, such as response:max=1ms; with --period, cycle:max=1ms for a whole cycle
    #[arg(long, value_name = "LIMITS", value_parser = limits)]
    pub(crate) limit: Option<Limits>,
    /// The cycle time of the followed threads' loops: counts the cycles that took longer
    #[arg(long, value_name = "TIME", value_parser = period)]
    pub(crate) period: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct ForecastArguments {
    /// Recordings; runs of the same configuration and load follow one another, others stand side by side
    #[arg(required = true, value_name = "RECORDING")]
    pub(crate) recordings: Vec<PathBuf>,
    /// Devices to judge, such as modem or `audio 64@48kHz x3`; may be repeated [default: the whole catalogue]
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Vec<String>,
    /// Judge the devices asked for, or the loop that was followed, by this period instead: 1ms or 64@48kHz
    #[arg(long, value_name = "PERIOD")]
    pub(crate) period: Option<String>,
    /// Judge the devices asked for with this many buffers instead
    #[arg(long, value_name = "NUMBER", requires = "device", value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) buffers: Option<u32>,
    /// How long each device asked for computes on one buffer, instead of its profile's time: 400us, or 50% of the period
    #[arg(long, value_name = "TIME", requires = "device")]
    pub(crate) compute: Option<String>,
    /// How often each device may run dry, or a loop begin too late, at most: 1/day, 2/hour, or the time between two, such as
    /// 30m; also searches for buffering that reaches it
    #[arg(long, value_name = "WANT")]
    pub(crate) want: Option<String>,
    /// How far ahead: hour, day, week or a duration; several with commas
    #[arg(long, value_name = "HORIZON", value_delimiter = ',', default_value = "hour,day,week")]
    pub(crate) horizon: Vec<String>,
    /// How many hours of a person's use one hour of the load stands for
    #[arg(long, value_name = "FACTOR")]
    pub(crate) compression: Option<f64>,
    /// Your own profiles, in TOML (see `device list --help`)
    #[arg(long, value_name = "FILE")]
    pub(crate) profiles: Option<PathBuf>,
    /// Show the worst cases of every stage and load in one table
    #[arg(long)]
    pub(crate) table: bool,
    /// Render an HTML report, in one self-contained file; with the curve of --curve
    #[arg(long, value_name = "FILE.html")]
    pub(crate) html: Option<PathBuf>,
    /// Show the mean time between underruns for each amount of buffering, if work begins after each measured stage. With one
    /// --device, its number of buffers varies; without, a device has two buffers, each as long as the amount
    #[arg(long)]
    pub(crate) curve: bool,
    /// For --curve of a device with two buffers: the share of each that computing takes, in percent [default: 25]
    #[arg(long, value_name = "PERCENT", requires = "curve", value_parser = clap::value_parser!(u64).range(0..=100))]
    pub(crate) curve_compute: Option<u64>,
    /// Show the shortest period that is met with this reliability, in percent; separate several with commas
    #[arg(long, value_name = "PERCENT", value_delimiter = ',')]
    pub(crate) reliability: Vec<f64>,
}

#[derive(Debug, Args)]
pub(crate) struct SchedulabilityArguments {
    /// The tasks: TOML, or JSON as rt-app reads it
    #[arg(value_name = "TASKS")]
    pub(crate) tasks: PathBuf,
    /// A recording of the latency that these tasks will meet, made while they were not running
    #[arg(long, value_name = "RECORDING")]
    pub(crate) latency: Option<PathBuf>,
}
