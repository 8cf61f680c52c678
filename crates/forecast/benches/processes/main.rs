//! How often the intervals hold what they promise where stalls are not independent: they chain, wander, branch, come
//! and go, or differ by CPU.
//!
//! `cargo bench -p punctual-forecast --bench processes -- [--runs 200] [--process NAME,...] [--seconds 600,...]
//! [--each] [--words] [--keep DIRECTORY] [--minutes 20] [--part 1/2] [--document PAGE]`
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
//! hour that followed (0.95 and more is right). `--each` prints each device and the reasons, and how often the limit of
//! *holds* reaches 0.9 of the truth and twice the truth; `--words` prints what drawn processes are made of. At the end
//! stand the cells that break what is promised by more than chance does (1 %), where a recording is at least 20 memories
//! long.
//!
//! A run of all cells takes hours. With `--keep` what is counted of each cell is kept in a file of the directory, and the
//! same command goes on where it was stopped, however that was. `--minutes` stops it itself; with `--minutes 0` it
//! counts nothing, and prints the table of what is kept. `--part 1/2` is every second cell: two parts can run at once, in
//! one directory. A cell that is answered otherwise than when it was begun is refused. With `--document` the tables
//! replace those of a page, between lines such as `<!-- processes: 7200 s -->` and `<!-- processes: end -->`.
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
mod kept;
mod later;
mod process;
mod promised;
mod recorded;
mod slot;
mod stranger;
mod tuned;
mod unseen;

use cell::Counted;
use kept::with_table;
use slot::Slot;
use std::path::PathBuf;
use std::time::{Duration, Instant};

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
    slot: Slot,
    /// Which of so many parts: every cell belongs to one.
    part: (usize, usize),
    /// A page that gets the tables.
    document: Option<PathBuf>,
}

const USAGE: &str =
    "--runs, --seconds, --process NAME,..., --each, --words, --keep DIRECTORY, --minutes, --part 1/2, --document";

fn asked() -> Asked {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let seconds = vec![60.0, 600.0, 2_000.0, 7_200.0];
    let slot = Slot { directory: None, until: None };
    let (only, document) = (None, None);
    let mut asked = Asked { runs: 200, seconds, only, is_each: false, in_words: false, slot, part: (0, 1), document };
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
            "--keep" => asked.slot.directory = Some(value().into()),
            "--minutes" => {
                let minutes: f64 = value().parse().expect("a number of minutes");
                asked.slot.until = Some(Instant::now() + Duration::from_secs_f64(60.0 * minutes));
            }
            "--part" => asked.part = part(&value()).expect("a part, such as 1/2"),
            "--document" => asked.document = Some(value().into()),
            other => panic!("unknown argument {other}: {USAGE}"),
        }
    }
    assert!(asked.slot.until.is_none() || asked.slot.directory.is_some(), "--minutes needs --keep");
    asked
}

/// The first of two parts is `1/2`.
fn part(text: &str) -> Option<(usize, usize)> {
    let (number, of) = text.split_once('/')?;
    let (number, of): (usize, usize) = (number.parse().ok()?, of.parse().ok()?);
    (1..=of).contains(&number).then(|| (number - 1, of))
}

const HEAD: &str = "process      pieces covered  unsafe   shows   holds (three devices)   plainly (the same)  unwarned  warned  hour refused  next refused  held";

/// How far all is counted.
#[derive(Default)]
struct Progress {
    cells: usize,
    whole: usize,
    /// What is promised and was not kept.
    broken: Vec<String>,
}

/// The table of recordings of this length, s, which is printed line by line.
#[allow(clippy::print_stdout, reason = "a benchmark's output is its purpose")]
fn table(asked: &Asked, seconds: f64, progress: &mut Progress) -> Result<String, String> {
    let is_asked =
        |name: &str| asked.only.as_ref().is_none_or(|only| only.split(',').any(|only| process::is_meant(only, name)));
    let mut table = format!("{HEAD}\n");
    println!("from {seconds} s\n{HEAD}");
    let all = process::all().into_iter().enumerate().filter(|(_, (name, ..))| is_asked(name));
    for (place, (number, (name, process, memory))) in all.enumerate() {
        if place % asked.part.1 != asked.part.0 {
            continue;
        }
        choose_floor(process, seconds);
        let mut counted = Counted::new(process, seconds);
        let seed = |run: u32| ((number as u64) << 26 | seconds as u64) << 32 | u64::from(run);
        asked.slot.count(&mut counted, &format!("{name}-{seconds}"), asked.runs, seed)?;
        progress.cells += 1;
        progress.whole += usize::from(counted.runs() >= asked.runs);
        if counted.runs() == 0 {
            continue;
        }
        let pieces = if memory > 0.0 { format!("{:.1}", seconds / memory) } else { "-".into() };
        let mut row = format!("{name:12} {pieces:>6} {}", counted.row());
        if counted.runs() != asked.runs {
            row += &format!("   ({} runs)", counted.runs());
        }
        println!("{row}");
        table += &format!("{row}\n");
        let broken = counted
            .broken(memory, process::is_benign(name))
            .into_iter()
            .map(|words| format!("{name} from {seconds} s: {words}"));
        progress.broken.extend(broken);
        if asked.is_each {
            print!("{}", counted.each());
        }
        if let (true, process::Process::Drawn(drawn)) = (asked.in_words, process) {
            println!("    {}", drawn.in_words());
        }
    }
    Ok(table)
}

#[allow(clippy::print_stdout, reason = "a benchmark's output is its purpose")]
fn run(asked: &Asked) -> Result<(), String> {
    if let Some(directory) = &asked.slot.directory {
        std::fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    println!("{} runs a cell, nominal 95 %", asked.runs);
    let mut progress = Progress::default();
    for &seconds in &asked.seconds {
        let table = table(asked, seconds, &mut progress)?;
        if let Some(path) = &asked.document {
            let failed = |error: std::io::Error| format!("{}: {error}", path.display());
            let page = std::fs::read_to_string(path).map_err(failed)?;
            let page = with_table(&page, seconds, &format!("{} runs a cell\n{table}", asked.runs))?;
            std::fs::write(path, page).map_err(failed)?;
        }
    }
    if progress.whole < progress.cells {
        println!("{} of {} cells are whole: the same command goes on", progress.whole, progress.cells);
    }
    for broken in &progress.broken {
        println!("not as promised, by more than chance: {broken}");
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    match run(&asked()) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            std::process::ExitCode::FAILURE
        }
    }
}
