//! What the programs in the kernel cost on their own: `cargo bench --workspace --profile dev --bench programs` as root.
//!
//! First the parts that a program is made of, each many times over: no program costs less than the sum of its parts.
//! Then each program as the kernel measures it, less an empty one that runs beside it, while two threads on CPU 0 hand
//! a byte to and fro. At last what such a switch costs more as a whole, with programs that do nothing or the least that can
//! be done, and with those of `record`, for ordinary threads and for those of real time, whose every switch has a waking.
//! `-- parts`, `-- programs` or `-- outside` runs a part of it.
//!
//! Meanwhile the rings of followed threads are emptied, as a recording does.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod attached;
mod begin;
mod pairs;

use attached::attached;
use begin::is_left_out;
use punctual_kernel::bpf::{self, LoadedObject, run_statistics};
use punctual_kernel::pseudo_terminal::PseudoTerminal;
use punctual_kernel::scheduling::Scheduling;
use punctual_probe::eventlog::{EventLog, IfRefused};
use punctual_probe::recorder::FlightRecorder;
use punctual_probe::terminal::TerminalWatch;
use punctual_probe::{Programs, Selection, StageTracer, Via};
use punctual_recording::{EventClass, Stage};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const ROUNDS: usize = 5;
const SECONDS: f64 = 0.6;
/// As often as a program that writes a lot.
const BETWEEN_BYTES: Duration = Duration::from_micros(50);

/// The parts, as `helpers.bpf.c` names them, and in words.
const PARTS: [(&str, &str); 8] = [
    ("clock_read", "the clock is read"),
    ("own_cpu", "the CPU's number"),
    ("own_thread", "the current thread, and a field of it"),
    ("array_place", "the CPU's place in an array, by its number"),
    ("hash_place", "a place in a per-CPU hash"),
    ("place_taken", "an atomic addition, the value before it"),
    ("word_of_kernel", "a word anywhere in the kernel, safely"),
    ("whole_record", "a record with its time in the CPU's ring, and no more"),
];
/// As `helpers.bpf.c` has it.
const TIMES: f64 = 1024.0;
/// The fastest of so many calls is reported: what interrupted the others does not belong to it.
const CALLS: usize = 200;

fn main() {
    if is_left_out("loads BPF programs", bpf::may_load) {
        return;
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let all: [(&str, fn()); 3] = [("parts", parts), ("programs", programs), ("outside", outside)];
    for (_, part) in all.into_iter().filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|word| word == name)) {
        part();
    }
}

fn parts() {
    let object = include_bytes!(concat!(env!("OUT_DIR"), "/helpers.bpf.o"));
    let object =
        LoadedObject::load_sized("helpers", object, None, &[("rings", punctual_kernel::cpus::possible() as u32)])
            .expect("the parts of programs");
    let fastest = |name: &str| {
        let once = || {
            let mut took = [0; 8];
            object.call(name, &mut took).expect("it is called");
            u64::from_ne_bytes(took)
        };
        (0..CALLS).map(|_| once()).min().unwrap_or(0) as f64 / TIMES
    };
    let nothing = fastest("nothing");
    println!("What programs are made of, ns each, less a turn of the loop ({nothing:.1} ns)");
    for (name, words) in PARTS {
        println!("{words:<56} {:>8.1}", fastest(name) - nothing);
    }
}

/// Something with programs in the kernel.
trait Instrument {
    /// Their descriptors, by name.
    fn programs(&self) -> Vec<(String, i32)>;

    /// Empties those of its rings that overwrite nothing.
    fn take_records(&self) {}
}

impl Instrument for StageTracer {
    fn programs(&self) -> Vec<(String, i32)> {
        StageTracer::programs(self)
    }
}

impl Instrument for Programs {
    fn programs(&self) -> Vec<(String, i32)> {
        Programs::programs(self)
    }

    fn take_records(&self) {
        self.discard();
    }
}

impl Instrument for FlightRecorder {
    fn programs(&self) -> Vec<(String, i32)> {
        FlightRecorder::programs(self)
    }
}

impl Instrument for EventLog {
    fn programs(&self) -> Vec<(String, i32)> {
        EventLog::programs(self)
    }
}

/// The recorder of whole requests, while a thread writes into a terminal: a kernel worker hands on each byte.
struct Handing {
    recorder: FlightRecorder,
    end: Arc<AtomicBool>,
    writer: Option<JoinHandle<()>>,
}

impl Handing {
    fn start() -> Handing {
        let recorder = FlightRecorder::start_for(0, Stage::Request).expect("the recorder starts");
        let end = Arc::new(AtomicBool::new(false));
        let terminal = PseudoTerminal::make().expect("a terminal");
        let mut far = File::from(terminal.open_far().expect("its far side"));
        let ends = Arc::clone(&end);
        let writer = std::thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                far.write_all(b"x").expect("it is written");
                std::thread::sleep(BETWEEN_BYTES);
                terminal.read(&mut [0; 16]);
            }
        });
        Handing { recorder, end, writer: Some(writer) }
    }
}

impl Drop for Handing {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        self.writer.take().map(JoinHandle::join);
    }
}

impl Instrument for Handing {
    fn programs(&self) -> Vec<(String, i32)> {
        self.recorder.programs()
    }
}

/// The programs of `interact`, which run at every switch and at every system call, for a terminal at which nobody is.
struct Watching {
    watch: TerminalWatch,
    _terminal: (PseudoTerminal, OwnedFd),
}

impl Watching {
    fn start() -> Watching {
        let near = PseudoTerminal::make().expect("a terminal");
        let far = near.open_far().expect("its far side");
        let watch = TerminalWatch::start(far.as_fd(), None).expect("BPF programs");
        Watching { watch, _terminal: (near, far) }
    }
}

impl Instrument for Watching {
    fn programs(&self) -> Vec<(String, i32)> {
        self.watch.programs()
    }
}

fn following(selection: &Selection) -> Box<dyn Instrument> {
    Box::new(Programs::start(selection).expect("BPF programs"))
}

fn logging(classes: &[EventClass]) -> Box<dyn Instrument> {
    Box::new(EventLog::start(classes, IfRefused::Fail, None).expect("the log starts"))
}

impl Instrument for LoadedObject {
    fn programs(&self) -> Vec<(String, i32)> {
        LoadedObject::programs(self)
    }
}

/// Programs that a benchmark has of its own, attached.
fn own(name: &'static str, object: &'static [u8], sizes: &[(&str, u32)]) -> Box<dyn Instrument> {
    Box::new(attached(name, object, sizes))
}

/// Two at once.
struct Both(Box<dyn Instrument>, Box<dyn Instrument>);

impl Instrument for Both {
    fn programs(&self) -> Vec<(String, i32)> {
        self.0.programs().into_iter().chain(self.1.programs()).collect()
    }

    fn take_records(&self) {
        self.0.take_records();
        self.1.take_records();
    }
}

/// What it is called, and how to start it.
type Start = (&'static str, fn() -> Box<dyn Instrument>);

const INSTRUMENTS: [Start; 8] = [
    ("record: nobody of these is followed", || {
        let mut tracer = StageTracer::load(Via::Timer).expect("BPF programs");
        tracer.attach().expect("attached");
        Box::new(tracer)
    }),
    ("record --comm: others are followed", || following(&Selection::of_thread(1))),
    ("record --comm: these are followed", || following(&Selection::of_processes(vec![std::process::id()]))),
    ("--why: the flight recorder", || Box::new(FlightRecorder::start(0, false).expect("the recorder starts"))),
    ("--why-stage request: the same, and bytes through a terminal", || Box::new(Handing::start())),
    ("log --events sched", || logging(&[EventClass::Sched])),
    ("log", || logging(&EventClass::DEFAULT)),
    ("interact: nobody of these is at the terminal", || Box::new(Watching::start())),
];

/// What a program took in each round, ns a run, and how often it ran per trip.
#[derive(Default)]
struct Measured {
    each: Vec<f64>,
    runs_a_trip: f64,
}

fn programs() {
    let Ok(_statistics) = bpf::enable_run_time_statistics() else {
        println!("run times of the programs: not available");
        return;
    };
    println!(
        "\nPrograms, ns a run by the kernel's statistics, less an empty one's: the median of {ROUNDS} rounds, from and to;"
    );
    println!("and how often each runs for a switch of two threads on CPU 0");
    for (what, start) in INSTRUMENTS {
        let mut measured: BTreeMap<String, Measured> = BTreeMap::new();
        for _ in 0..ROUNDS {
            round(start, &mut measured);
        }
        println!("\n{what}");
        let mut whole = 0.0;
        for (name, Measured { mut each, runs_a_trip }) in measured {
            let (runs, middle) = (runs_a_trip / 2.0 / ROUNDS as f64, pairs::median(&mut each));
            // A program that hardly ever runs here says nothing about a switch.
            if runs < 0.01 {
                continue;
            }
            whole += runs * middle;
            println!(
                "  {name:<28} {middle:>7.0} ({:>4.0} to {:>4.0}) {runs:>7.2} a switch",
                each[0],
                each[each.len() - 1]
            );
        }
        println!("  {:<28} {whole:>7.0} a switch", "in all");
    }
}

/// Lets the threads run with the programs and the empty one attached, and adds up what each program took.
fn round(start: fn() -> Box<dyn Instrument>, measured: &mut BTreeMap<String, Measured>) {
    let empty = include_bytes!(concat!(env!("OUT_DIR"), "/empty.bpf.o"));
    let mut empty = LoadedObject::load("empty", empty, None).expect("an empty program");
    empty.attach().expect("attached");
    let instrument = start();
    let each_program = || empty.programs().into_iter().chain(instrument.programs());
    let now = || -> Vec<(String, u64, u64)> {
        let of = |(name, program)| run_statistics(program).map(|(runs, ns, _)| (name, runs, ns));
        each_program().filter_map(of).collect()
    };
    let before = now();
    let (_, trips) = pairs::spent(&[0], None, SECONDS, |time| wait(time, Some(&*instrument)));
    let mut took = before.into_iter().zip(now()).map(|((name, runs, ns), (_, runs_now, ns_now))| {
        let (runs, ns) = (runs_now - runs, ns_now - ns);
        (name, runs, ns as f64 / runs.max(1) as f64)
    });
    let base = took.next().map_or(0.0, |(_, _, each)| each);
    for (name, runs, each) in took.filter(|(_, runs, _)| *runs > 0) {
        let of = measured.entry(name).or_default();
        of.each.push(each - base);
        of.runs_a_trip += runs as f64 / trips;
    }
}

/// A ring holds 16,384 records, which is 25 ms of the fastest switches.
const TAKEN_EVERY: Duration = Duration::from_millis(5);

/// Waits, and takes records meanwhile: one that finds no room costs less than one that is written.
fn wait(time: Duration, instrument: Option<&dyn Instrument>) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        std::thread::sleep(TAKEN_EVERY);
        if let Some(instrument) = instrument {
            instrument.take_records();
        }
    }
}

/// As nothing tells rounds apart but what the machine does meanwhile, more of them.
const ROUNDS_OUTSIDE: usize = 21;
const SECONDS_OUTSIDE: f64 = 0.3;

/// As after the beginning of a recording, or `measured` by the kernel, as it is until then.
fn followed_with_why(measured: bool) -> Box<dyn Instrument> {
    let own = Selection::of_processes(vec![std::process::id()]);
    let mut recorder = FlightRecorder::start(0, false).expect("the recorder starts");
    if !measured {
        recorder.stop_measuring();
    }
    let following = Programs::start_beside(&own, &recorder).expect("BPF programs");
    Box::new(Both(Box::new(following), Box::new(recorder)))
}

/// Those whose cost is told from outside, least first.
const OUTSIDE: [Start; 6] = [
    ("an empty program at each switch", || own("empty", include_bytes!(concat!(env!("OUT_DIR"), "/empty.bpf.o")), &[])),
    ("two empty ones at each switch, two at each waking", || {
        own("bare", include_bytes!(concat!(env!("OUT_DIR"), "/bare.bpf.o")), &[])
    }),
    ("one at each that records the time, and no more", || {
        let rings = [("rings", punctual_kernel::cpus::possible() as u32)];
        own("least", include_bytes!(concat!(env!("OUT_DIR"), "/least.bpf.o")), &rings)
    }),
    ("record --comm: these are followed", || following(&Selection::of_processes(vec![std::process::id()]))),
    ("record --comm --why", || followed_with_why(false)),
    ("the same while the kernel measures the recorder", || followed_with_why(true)),
];

/// Whose switches: every second one of ordinary threads has no waking, each of those of real time has one.
const SCHEDULINGS: [(&str, Scheduling); 2] =
    [("ordinary threads", Scheduling::Other), ("threads at SCHED_FIFO 50", Scheduling::Fifo(50))];

/// What a switch costs more as a whole, as CPU time of the threads that switch.
fn outside() {
    let mut more: [[Vec<f64>; OUTSIDE.len()]; SCHEDULINGS.len()] = Default::default();
    let mut alone: [Vec<f64>; SCHEDULINGS.len()] = Default::default();
    let mut sleeps = [0.0; SCHEDULINGS.len()];
    for _ in 0..ROUNDS_OUTSIDE {
        for (kind, (_, scheduling)) in SCHEDULINGS.into_iter().enumerate() {
            let (trip_ns, _, slept) =
                pairs::spent_by((&[0], scheduling), None, SECONDS_OUTSIDE, |time| wait(time, None));
            alone[kind].push(trip_ns / 2.0);
            sleeps[kind] = slept / 2.0;
        }
        for (number, (_, start)) in OUTSIDE.iter().enumerate() {
            let instrument = start();
            for (kind, (_, scheduling)) in SCHEDULINGS.into_iter().enumerate() {
                let here = (&[0][..], scheduling);
                let (watched, ..) = pairs::spent_by(here, None, SECONDS_OUTSIDE, |time| wait(time, Some(&*instrument)));
                more[kind][number].push(watched / 2.0 - alone[kind][alone[kind].len() - 1]);
            }
        }
    }
    println!(
        "\nWhat a switch of two threads on CPU 0 takes more as a whole, ns: the median of {ROUNDS_OUTSIDE} rounds,"
    );
    println!("and the middle half of them");
    for (kind, (threads, _)) in SCHEDULINGS.into_iter().enumerate() {
        let alone = pairs::median(&mut alone[kind]);
        println!("\n{threads}: {alone:.0} ns with nothing attached, {:.2} sleeps a switch", sleeps[kind]);
        for ((name, _), more) in OUTSIDE.iter().zip(&mut more[kind]) {
            let middle = pairs::median(more);
            let quarter = more.len() / 4;
            println!("{name:<56} {middle:>7.0} ({:>5.0} to {:>5.0})", more[quarter], more[more.len() - 1 - quarter]);
        }
    }
}
