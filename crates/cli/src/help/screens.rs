//! What `-h` shows for each command that has more options than a screen has lines: the ones that most people want, one
//! line each. A command that is not named here shows all of its options.

/// The options and arguments of a command by id, in the words of `-h`.
pub(super) type Screen = &'static [(&'static str, &'static str)];

/// The screen of a command, by the words that lead to it.
pub(super) fn of(path: &[&str]) -> Option<Screen> {
    SCREENS.iter().find(|(words, _)| words.split(' ').eq(path.iter().copied())).map(|(_, screen)| *screen)
}

const DURATION: (&str, &str) = ("duration", "How long to measure [default: 60s]");
const LOAD: (&str, &str) = ("load", "Add a load: see `punctual load list`");
const CPUS: (&str, &str) = ("cpus", "CPUs: 0 or 0-3,6 [default: all]");
const OUTPUT: (&str, &str) = ("output", "The recording [default: DATE-TIME.punctual]");
const DIRECTORY: (&str, &str) = ("output", "The directory for the recordings");
const HTML: (&str, &str) = ("html", "Render an HTML report");
const QUIET: (&str, &str) = ("quiet", "Show no progress");

pub(super) const SCREENS: &[(&str, Screen)] = &[
    (
        "check",
        &[
            ("duration", "How long in all; half of it under load [default: 60s]"),
            ("load", "The load of the second half [default: mixed]"),
            ("device", "Does it hold? modem, `audio 64@48kHz x3`"),
            ("want", "How often it may run dry, at most: 1/day"),
            DIRECTORY,
            HTML,
            CPUS,
            ("interval", "500us, 64@48kHz [default: 1ms, or the device's]"),
            ("priority", "Real-time priority, 1 to 99 [default: 80]"),
            QUIET,
        ],
    ),
    (
        "record",
        &[
            ("duration", "How long [default: 60s, or as long as COMMAND]"),
            CPUS,
            ("interval", "Period: 500us, 1kHz, 64@48kHz [default: 1ms]"),
            ("priority", "Real-time priority, 1 to 99 [default: 80]"),
            LOAD,
            ("limit", "Exit with 2 above these: p99.9=200us,max=1ms"),
            ("why", "Keep causes of wakeups this late: 500us"),
            ("comm", "Follow others' threads by name; see --period"),
            ("follow", "Follow COMMAND's threads"),
            OUTPUT,
            HTML,
        ],
    ),
    (
        "report",
        &[
            HTML,
            ("csv", "Print a table for spreadsheets"),
            ("hist", "Print a histogram, one row per us"),
            ("perfetto", "Write a Perfetto trace of inputs"),
            ("by_cpu", "Show CPUs separately"),
            ("interarrival", "Are wakeups this late in clusters? 100us,1ms"),
            ("limit", "Exit with 2 above these: p99.9=200us,max=1ms"),
        ],
    ),
    (
        "why",
        &[
            ("all", "Show all notes, more causes and late wakeups"),
            ("episode", "Show this late wakeup alone, in full"),
            ("all_handlers", "Show every interrupt and softirq against limits"),
            ("explain", "What a kind of cause is, and what helps"),
            HTML,
            ("perfetto", "Write a trace for Perfetto"),
            ("folded", "Print stacks for flame graph tools"),
        ],
    ),
    (
        "log",
        &[
            ("duration", "How long [default: 10s, or as long as COMMAND]"),
            ("events", "Classes: sched,irq,softirq,timer,process,mark"),
            LOAD,
            OUTPUT,
            HTML,
            QUIET,
        ],
    ),
    (
        "log show",
        &[
            ("from", "From this time on, after the beginning"),
            ("to", "Up to this time"),
            ("cpu", "Only these CPUs: 0 or 0-3,6"),
            ("events", "Only these classes"),
            ("comm", "Only threads with this name"),
            ("tid", "Only these threads"),
            ("limit", "At most this many events"),
            ("csv", "Print a table for spreadsheets"),
            ("perfetto", "Write a trace for Perfetto instead"),
        ],
    ),
    (
        "compare",
        &[
            ("device", "Devices whose slack is compared, such as modem"),
            HTML,
            ("repeat", "Measure each side at most this many times"),
            ("a", "Sets up side A: a command, or options for it"),
            ("b", "The same for side B"),
            ("while_a", "Runs during each measurement of side A"),
            ("while_b", "The same for side B"),
            LOAD,
            ("duration", "How long each takes [default: 10s]"),
            DIRECTORY,
        ],
    ),
    (
        "idle",
        &[
            ("duration", "How long to measure [default: 20s]"),
            CPUS,
            ("threshold", "Keep only gaps longer than this [default: 5us]"),
            ("policy", "idle takes what is left, fifo goes first"),
            ("calibrated", "The loop counts to a fixed number"),
            ("validate", "Keystrokes as loop, program and kernel see them"),
            ("no_bpf", "Gaps without causes"),
            OUTPUT,
            HTML,
            QUIET,
        ],
    ),
    (
        "interact",
        &[
            ("via", "At a terminal, pty, or in a window: x11, wayland"),
            ("script", "What is typed: bash, editor, less, vim, ..."),
            ("pace", "human, full, recorded, or two to compare"),
            ("limit", "Exit with 2 beyond these: key:p99=16ms"),
            ("attach", "Watch somebody's own use of a running program"),
            OUTPUT,
        ],
    ),
    (
        "forecast",
        &[
            ("device", "Devices to judge, such as modem"),
            ("period", "Judge them by this period: 1ms or 64@48kHz"),
            ("buffers", "Judge them with this many buffers"),
            ("want", "How often it may run dry, at most: 1/day"),
            ("horizon", "How far ahead [default: hour,day,week]"),
            ("table", "Worst cases of every stage and load"),
            ("curve", "Underruns against the amount of buffering"),
            HTML,
        ],
    ),
    (
        "timers",
        &[
            ("duration", "How long in all [default: 20s]"),
            ("interval", "The period of the callbacks [default: 1ms]"),
            ("way", "Only these, comma-separated"),
            ("priority", "Real-time priority [default: normal scheduling]"),
            ("clock", "monotonic, realtime, boottime or tai"),
            ("effects", "What timer slack, clock and priority do"),
            OUTPUT,
            QUIET,
        ],
    ),
    (
        "drill",
        &[
            ("wanted", "Which: irq, softirq, fifo, lock, ...; or list"),
            ("lengths", "How long each lasts: 2ms or 200us..5ms"),
            ("every", "How far apart they begin [default: 500ms]"),
            ("duration", "How long to run [default: 20s]"),
            CPUS,
            ("output", "Write each injection to a file"),
            QUIET,
        ],
    ),
    (
        "reserve",
        &[
            ("pid", "A running process, instead of COMMAND"),
            ("thread", "Which thread, by name"),
            ("deadline", "When a job must be done [default: its period]"),
            LOAD,
            ("apply", "Let a program's thread keep what is proven"),
        ],
    ),
    (
        "reserve run",
        &[("thread", "Which threads, by name [default: the first]"), ("quiet", "Say nothing about threads")],
    ),
    (
        "rialto run",
        &[
            ("hard", "Never run outside its slots"),
            ("duration", "Ask the command to end after this time"),
            ("quiet", "Say nothing at the end"),
        ],
    ),
    (
        "rialto constraints",
        &[
            ("count", "How many in all [default: 1000]"),
            ("threads", "How many threads ask [default: 4]"),
            ("seed", "Chooses work, deadlines and pauses [default: 1]"),
        ],
    ),
    (
        "lab run",
        &[
            ("kernel", "A name or a path; may be repeated"),
            ("with", "More kernel parameters; may be repeated"),
            ("load", "A load for a grid; may be repeated"),
            ("seeds", "1..5 or 1,4,9 [default: 1..3]"),
            ("module", "A driver to build and load: DIR or shipped"),
            ("before", "A shell command to run first"),
            ("add", "A file for each guest; may be repeated"),
            ("jobs", "Guests at once [default: one per CPU]"),
            DIRECTORY,
            HTML,
            QUIET,
        ],
    ),
    (
        "lab why",
        &[
            ("kernel", "A name or the path of one"),
            ("seed", "Another seed, another run [default: 1]"),
            ("episode", "Which late wakeup [default: the longest]"),
            HTML,
            ("before", "A shell command to run first"),
            ("add", "A file for the guest; may be repeated"),
            DIRECTORY,
            QUIET,
        ],
    ),
    (
        "sim run",
        &[
            ("set", "Change a key in every case"),
            ("sweep", "One case at every point of a grid: KEY=4..20"),
            ("case", "Only this case"),
            HTML,
            OUTPUT,
        ],
    ),
    (
        "sim whatif",
        &[
            ("device", "The device, such as modem"),
            ("context", "Where it runs: irq, thread:80, slots:2/8"),
            ("interference", "A recording of the machine; may be repeated"),
            ("competitor", "A thread that never stops; may be repeated"),
            ("duration", "How long to simulate [default: 1h]"),
            ("sweep", "Ask at every point of a grid: period=4..20"),
            HTML,
        ],
    ),
    ("device run", DEVICE),
    ("device verify", DEVICE),
    ("device mix", DEVICE),
    (
        "device study",
        &[
            ("duration", "How long 35 runs measure: 35s or more [default: 2m]"),
            LOAD,
            ("cpu", "The CPU [default: the last]"),
            HTML,
            DIRECTORY,
            QUIET,
        ],
    ),
    (
        "modem transfer",
        &[
            ("attempts", "Times to send it [default: 10]"),
            ("stall", "Stalls of the caller's processor: 60ms@10s"),
            ("slots", "Only part of that processor: 2/13"),
            ("context", "In real time: irq, softirq, thread:80, ..."),
            ("competitor", "What that thread competes with"),
            LOAD,
            ("modems", "Modems that call at once [default: 1]"),
            ("beside", "Devices at work meanwhile: audio64+thread:81"),
            HTML,
            ("rate", "4800, 9600 or 14400 bit/s [default: 9600]"),
            ("seed", "Chooses the noise and the stalls [default: 1]"),
        ],
    ),
    (
        "modem stalls",
        &[
            ("lengths", "Stall lengths, ms, separated by commas"),
            ("calls", "Calls for each length and direction [default: 16]"),
            ("buffers", "Buffers of the calling end [default: 2]"),
            ("rate", "4800, 9600 or 14400 bit/s [default: 9600]"),
            ("seed", "Chooses the noise and the stalls [default: 1]"),
        ],
    ),
    (
        "modem study",
        &[
            ("table", "Only the rows of this table, 1 to 3"),
            ("row", "Only the row so named: int, thr-8, 3/16"),
            ("bytes", "How large the file is [default: 200000]"),
            ("attempts", "Times each row sends it [default: 10]"),
            ("seed", "Chooses file, noise and phases [default: 1]"),
            ("output", "Store each attempt here, and continue there"),
            HTML,
            QUIET,
        ],
    ),
    (
        "modem judge",
        &[
            ("modem", "Only these: v22bis, v29, v17, 9600, ..."),
            ("calls", "Calls for each noise and loss [default: 4]"),
            ("losses", "How long an end loses what comes: 12.5ms,50ms"),
            ("seed", "Chooses the noise and the bits [default: 1]"),
            QUIET,
        ],
    ),
    (
        "modem line",
        &[
            ("duration", "End after this time instead of at Ctrl-C"),
            ("stall", "Stalls of A's processor: 60ms@10s"),
            ("rate", "4800, 9600 or 14400 bit/s [default: 9600]"),
            ("snr", "The line's noise below the signal, dB"),
            ("quiet", "Show no progress"),
        ],
    ),
    (
        "modem serve",
        &[
            ("send", "Send this file instead of offering a terminal"),
            ("receive", "Receive a file instead, and write it here"),
            ("duration", "End after this time instead of at Ctrl-C"),
            ("rate", "4800, 9600 or 14400 bit/s [default: 9600]"),
            ("snr", "The line's noise below the signal, dB"),
            ("seed", "Chooses the line's noise [default: 1]"),
            QUIET,
        ],
    ),
    (
        "modem call",
        &[
            ("line", "What `punctual modem serve` has printed"),
            ("send", "Send this file instead of offering a terminal"),
            ("receive", "Receive a file instead, and write it here"),
            ("duration", "End after this time instead of at Ctrl-C"),
            ("rate", "4800, 9600 or 14400 bit/s [default: 9600]"),
            QUIET,
        ],
    ),
];

const DEVICE: Screen = &[
    ("context", "Where it runs: irq, softirq, thread:80, ..."),
    ("competitor", "What competes: spin:normal, spin:50 or walk"),
    LOAD,
    DURATION,
    ("cpu", "The CPU [default: the last]"),
    ("late", "Blocks that wait: work-off or drop-stale"),
    ("work", "decode, filter, spandsp, FILE.c or FILE.bpf.o"),
    OUTPUT,
    QUIET,
];
