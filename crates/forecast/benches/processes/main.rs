//! How often the intervals hold what they promise where stalls are not independent: they chain, wander, branch, come
//! and go, or differ by CPU.
//!
//! `cargo bench -p punctual-forecast --bench processes -- [--runs 200] [--process NAME,...] [--seconds 600,...]
//! [--each] [--words]`
//!
//! Each run is a recording at 1 kHz of a process, forecast through the same code as real ones, for devices that run dry
//! once in 1, 10 and 100 s in the long run (ten and a hundred times less often where the recording is long). The truth
//! is that of the process, by its formula or, for a scale that wanders, by summing over its states. For each process
//! and the worst of the three devices it prints: the share of intervals of the mean time that hold the truth
//! (`covered`) and that lie wholly above it (`unsafe`); the share of recordings that show a reason for a condition
//! (`shows`: memory, few clusters, drift); how often each device's limit of *holds* reaches half of the truth
//! (`holds`), and how often only the recording's length keeps that from coming without a condition (`plainly`: no
//! reason shows, and no drift that might have stayed hidden would change it); how often that limit reaches 1.001 times
//! the truth and is false (`unwarned`: what a plain *holds* would be, and is where the recording is long enough), and
//! that of a *holds* with its condition (`warned`). `pieces` is how long the recording is, in memories of the process.
//! Then come `hour`, how often the level exceeded once an hour is in its interval and how often the forecast refuses
//! it, and `next`, how often it refuses a limit for the next hour, and how often the process stayed below it in the
//! hour that followed (0.95 and more is right). `--each` prints each device and the reasons, `--words` what drawn
//! processes are made of.
//!
//! The processes of `unseen` were chosen before anyone had seen an answer to them: `--process unseen` is all of them.
//! Those of `later` were written when the method had been changed by what those showed and was frozen:
//! `--process later`. Those of `stranger` come from somebody else who did not know the method: `--process stranger`.
//! Those of `examiner` drift, and were written without knowledge of the method, too: `--process examiner`.
//! Later rules were chosen on those of `tuned`. Nobody chose those of `drawn`: they are drawn from a grammar; so are
//! those of `fresh`, drawn when limits allowed for drifts that no test shows, of `aside`, set aside when limits allowed
//! for how such drifts grow, and of `queues`, drawn when clusters of rare stalls were taken to stay large where few were
//! seen.

mod cell;
mod drawn;
mod examiner;
mod later;
mod process;
mod recorded;
mod stranger;
mod tuned;
mod unseen;

use cell::Counted;

/// The level that a share of 0.02 of wakeups exceeds, in scales, and the share of those that exceed `x` scales more.
const BASE: f64 = 3.912;
/// The scale of lateness, ns.
const SCALE_NS: f64 = 20_000.0;
/// How many events are made a second on average: those above a level that a share of 0.02 of wakeups exceeds.
const EVENTS: f64 = 20.0;
/// The ground's scale is no less than this, and this many of its events are made: more than a recording keeps.
const MIN_SCALE: f64 = 0.7;
const MADE: f64 = 12_000.0;
/// This many are made of all on average, where that is fewer.
const MADE_OF_ALL: f64 = 60_000.0;

std::thread_local! {
    static FLOOR: std::cell::Cell<f64> = const { std::cell::Cell::new(BASE) };
}

/// The level above which late wakeups are made, scales: a long recording keeps only its longest, so the others need not
/// be made.
fn floor() -> f64 {
    FLOOR.get()
}

/// Chooses it for a process and a recording of this many seconds.
fn choose_floor(process: process::Process, seconds: f64) {
    FLOOR.set(BASE);
    let of_ground = MIN_SCALE * (EVENTS * seconds / MADE).ln();
    let of_all = process.level(MADE_OF_ALL / seconds) - BASE;
    FLOOR.set(BASE + of_ground.min(of_all).max(0.0));
}

/// What the command line asked for.
struct Asked {
    runs: u32,
    seconds: Vec<f64>,
    only: Option<String>,
    is_each: bool,
    in_words: bool,
}

fn asked() -> Asked {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let seconds = vec![60.0, 600.0, 2_000.0, 7_200.0];
    let mut asked = Asked { runs: 200, seconds, only: None, is_each: false, in_words: false };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().expect("a value");
        match argument.as_str() {
            "--runs" => asked.runs = value().parse().expect("a number of runs"),
            "--seconds" => {
                asked.seconds = value().split(',').map(|value| value.parse().expect("a number of seconds")).collect();
            }
            "--process" => asked.only = Some(value()),
            "--each" => asked.is_each = true,
            "--words" => asked.in_words = true,
            other => panic!("unknown argument {other}: --runs, --seconds, --process NAME,..., --each, --words"),
        }
    }
    asked
}

#[allow(clippy::print_stdout, reason = "a benchmark's output is its purpose")]
fn main() {
    let asked = asked();
    let is_asked =
        |name: &str| asked.only.as_ref().is_none_or(|only| only.split(',').any(|only| process::is_meant(only, name)));
    println!("{} runs a cell, nominal 95 %", asked.runs);
    for &seconds in &asked.seconds {
        println!("from {seconds} s");
        println!(
            "process      pieces covered  unsafe   shows   holds (three devices)   plainly (the same)  unwarned  warned  hour refused  next refused  held"
        );
        for (number, (name, process, memory)) in process::all().into_iter().enumerate() {
            if !is_asked(name) {
                continue;
            }
            choose_floor(process, seconds);
            let mut counted = Counted::new(process, seconds);
            for run in 0..asked.runs {
                counted.run(((number as u64) << 26 | seconds as u64) << 32 | u64::from(run));
            }
            let pieces = if memory > 0.0 { format!("{:.1}", seconds / memory) } else { "-".into() };
            println!("{name:12} {pieces:>6} {}", counted.row());
            if asked.is_each {
                print!("{}", counted.each());
            }
            if let (true, process::Process::Drawn(drawn)) = (asked.in_words, process) {
                println!("    {}", drawn.in_words());
            }
        }
    }
}
