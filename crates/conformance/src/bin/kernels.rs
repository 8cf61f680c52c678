//! The developers' command line for other kernels: take them, boot one, try everything on them.

#![allow(clippy::print_stdout, reason = "a command line")]

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use punctual_conformance::matrix::{self, Ledger, OwnKernel, Part, Trial, TrialResult, Verdict};
use punctual_lab::cache::{Cache, Held, version_of};
use punctual_lab::guest::{self, Guest, QEMU, splats};
use punctual_lab::table::{self, Kernel};
use punctual_lab::userland;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[derive(Parser)]
#[command(name = "scripts/kernels", about = "Other kernels in QEMU, and what punctual does on them")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Take kernels from the distribution's packages
    Fetch {
        /// Which: 6.1, 6.12-rt, newest ...
        #[arg(value_name = "KERNEL")]
        kernels: Vec<String>,
        /// Take the newest of each series, and write what was taken into crates/lab/kernels.toml
        #[arg(long)]
        record: bool,
    },
    /// Boot a kernel, run a shell command in it as root, and exit with its code
    Run(Run),
    /// Try every command and drill on kernels, and say what is not as it must be
    Test(Test),
}

#[derive(clap::Args)]
struct Run {
    /// Its name (scripts/kernels fetch), or the path of a vmlinuz, a vmlinux, a .deb package or a build tree
    kernel: String,
    /// CPUs; with more than one the guest's clock is the host's
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    cpus: u32,
    /// What the guest's randomness begins with: the same gives the same run
    #[arg(long, default_value_t = 1)]
    seed: u32,
    /// An instruction takes 2 to this power ns
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=10))]
    shift: u32,
    /// Let the guest's clock be the host's instead of counting instructions
    #[arg(long)]
    plain: bool,
    /// More parameters for the kernel
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    append: String,
    /// Where to put what the command leaves in /out
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,
    /// A file to put into the guest, a program with its libraries; may be repeated
    #[arg(long, value_name = "HOST:GUEST")]
    add: Vec<String>,
    /// The program that is `punctual` in the guest
    #[arg(long, default_value = "target/debug/punctual")]
    program: PathBuf,
    /// Memory, MiB
    #[arg(long, default_value_t = 1024)]
    memory: u32,
    /// How long it may take, s of a processor
    #[arg(long, default_value_t = 300)]
    timeout: u64,
    /// Print the kernel's log too
    #[arg(long)]
    kernel_log: bool,
    /// The shell command
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

#[derive(clap::Args)]
struct Test {
    /// Which kernels, by name or by a path as for run [default: those of ./test, with --all every one]
    #[arg(value_name = "KERNEL")]
    kernels: Vec<String>,
    /// Every kernel and variant, 300 injections of each drill
    #[arg(long)]
    all: bool,
    /// Write what came of it into docs/kernels.md
    #[arg(long)]
    document: bool,
    /// The program that is tried
    #[arg(long, default_value = "target/debug/punctual")]
    program: PathBuf,
    /// Keep what the guests left in this directory; what the same program left there before is judged, not run again
    #[arg(long, value_name = "DIRECTORY")]
    keep: Option<PathBuf>,
    /// Gather what came of rows in this file; --document then writes all that stands there, of earlier runs too
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// Only a part
    #[arg(long, value_parser = ["commands", "drills", "bytes"])]
    only: Option<String>,
    /// Only this variant: plain, two CPUs ... [default: plain, with --all every one]
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
    /// Only commands with a name in which this regular expression is found, and nothing else
    #[arg(long, value_name = "REGEX")]
    command: Option<regex::Regex>,
    /// Guests at a time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
}

fn main() -> ExitCode {
    let arguments = Arguments::try_parse().unwrap_or_else(|error| {
        let _ = error.print();
        std::process::exit(if error.use_stderr() { 129 } else { 0 });
    });
    let done = match arguments.command {
        Command::Fetch { kernels, record } => fetch(&kernels, record),
        Command::Run(run) => boot(&run),
        Command::Test(wanted) => test(&wanted),
    };
    done.unwrap_or_else(|error| {
        eprintln!("kernels: {error:#}");
        ExitCode::FAILURE
    })
}

/// The kernels with these names; all if there are none.
fn chosen<'a>(table: &'a [Kernel], names: &[String]) -> Result<Vec<&'a Kernel>> {
    if names.is_empty() {
        return Ok(table.iter().collect());
    }
    let one = |name: &String| {
        let known = || table.iter().map(|kernel| kernel.name.as_str()).collect::<Vec<_>>().join(", ");
        let found = table.iter().find(|kernel| kernel.is_called(name));
        found.with_context(|| format!("there is no kernel {name}: give one of {}", known()))
    };
    names.iter().map(one).collect()
}

/// Says what was fetched, and loudly if it is not in the table.
fn tell(kernel: &Kernel, held: &Held) {
    if held.is_new {
        eprintln!("kernels: {}: {}", kernel.name, version_of(held));
    }
    if let Some(recorded) = &held.replaces {
        eprintln!(
            "kernels: {}: {recorded} is no longer to be had; {} takes its place (fetch --record writes it down)",
            kernel.name, held.package.version
        );
    }
}

fn fetch(names: &[String], record: bool) -> Result<ExitCode> {
    let mut kernels = table::kernels();
    let chosen_ones: Vec<Kernel> = chosen(&kernels, names)?.into_iter().cloned().collect();
    let references: Vec<&Kernel> = chosen_ones.iter().collect();
    let mut failed = false;
    for (kernel, held) in references.iter().zip(Cache::new().fetch(&references, record)) {
        match held {
            Ok(held) => {
                tell(kernel, &held);
                let place = kernels.iter_mut().find(|other| other.name == kernel.name).expect("it is from there");
                place.recorded = Some(held.package);
            }
            Err(error) => {
                eprintln!("kernels: {}: {error}", kernel.name);
                failed = true;
            }
        }
    }
    if record {
        let checkout = std::env::current_dir()?;
        table::record(&checkout, &kernels).context("writing crates/lab/kernels.toml (run from the checkout)")?;
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The ELF file of a kernel by its name or path.
fn elf_of(word: &str) -> Result<PathBuf> {
    let cache = Cache::new();
    if word.contains('/') {
        return Ok(cache.own(Path::new(word))?.elf);
    }
    let table = table::kernels();
    let kernel = chosen(&table, &[word.to_owned()])?[0];
    let held = cache.fetch(&[kernel], false).remove(0)?;
    tell(kernel, &held);
    Ok(held.elf)
}

fn boot(run: &Run) -> Result<ExitCode> {
    let mut guest = Guest::new(&elf_of(&run.kernel)?);
    if !run.program.is_file() {
        bail!("{}: there is no such program; build it with `cargo build -p punctual`", run.program.display());
    }
    guest.program = Some(run.program.clone());
    for pair in &run.add {
        let (host, place) = pair.split_once(':').with_context(|| format!("--add {pair}: not HOST:GUEST"))?;
        guest.files.push((host.into(), place.to_owned()));
    }
    guest.cpus = run.cpus;
    guest.seed = run.seed;
    guest.shift = run.shift;
    guest.plain = run.plain;
    guest.memory_mib = run.memory;
    guest.append.clone_from(&run.append);
    guest.limit = Duration::from_secs(run.timeout);
    guest::end_on_signals()?;
    let outcome = guest.boot(&run.command.join(" "))?;
    print!("{}", outcome.output);
    if run.kernel_log {
        eprint!("{}", outcome.kernel_log);
    }
    for splat in splats(&outcome.kernel_log) {
        eprintln!("kernels: the kernel complained: {splat}");
    }
    if let Some(out) = &run.out {
        outcome.files.unpack(out).with_context(|| format!("writing {}", out.display()))?;
    }
    Ok(ExitCode::from(u8::try_from(outcome.code).unwrap_or(1)))
}

/// Says loudly that the matrix was not tried: on standard error and in the file that `./test` prints.
fn skip(reason: &str) {
    punctual_testing::skip("kernels", reason);
}

fn test(wanted: &Test) -> Result<ExitCode> {
    for program in [QEMU, "busybox", "strip"] {
        if userland::find(program).is_none() {
            skip(&format!("{program} is not installed"));
            return Ok(ExitCode::SUCCESS);
        }
    }
    let (versions, images) = taken(wanted)?;
    if images.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    // Not earlier, so that a signal ends a download at once.
    guest::end_on_signals()?;
    let mut boots = matrix::plan(&versions, wanted.all || wanted.variant.is_some());
    let began = Instant::now();
    let program = wanted.program.as_path();
    let planned = boots.clone();
    keep_variant(&mut boots, wanted.variant.as_deref())?;
    let brief = is_brief(wanted);
    let trial = Trial {
        kernels: &images,
        program,
        all: wanted.all,
        parts: parts(wanted),
        matching: wanted.command.as_ref(),
        brief,
        keep: wanted.keep.as_deref(),
        at_once: wanted.jobs,
    };
    let results = trial.run(&boots, print);
    if guest::is_ending() {
        bail!("ended by a signal");
    }
    let cells = || results.iter().flat_map(|result| &result.cells);
    let wrong = cells().filter(|cell| matches!(cell.verdict, Verdict::Wrong(_))).count();
    let all = cells().count();
    // ./test reads this line.
    let seconds = began.elapsed().as_secs();
    println!("kernels: {} right, {wrong} wrong, on {} kernels and variants in {seconds} s", all - wrong, boots.len());
    if brief {
        let used: Duration = results.iter().map(|result| result.used).sum();
        println!("kernels: {} s of a processor; ./test has room for {ROOM_S} s", used.as_secs());
    }
    let mut ledger = match &wanted.results {
        Some(path) => Ledger::read(path).with_context(|| format!("{}", path.display()))?,
        None => Ledger::default(),
    };
    let digest = matrix::digest_of(program).with_context(|| format!("{}", program.display()))?;
    results.iter().for_each(|result| ledger.take(result, &digest));
    if let Some(path) = &wanted.results {
        ledger.write(path).with_context(|| format!("{}", path.display()))?;
    }
    if wanted.document {
        document(&ledger, &planned)?;
    }
    Ok(if wrong > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Kernels with their versions, and the ELF file of each by its name.
type Taken = (Vec<(Kernel, String)>, BTreeMap<String, PathBuf>);

/// The kernels that are to be tried: those of the table that could be fetched, and the user's own.
fn taken(wanted: &Test) -> Result<Taken> {
    let table = table::kernels();
    let (own, named): (Vec<String>, Vec<String>) = wanted.kernels.iter().cloned().partition(|word| word.contains('/'));
    if wanted.document && !own.is_empty() {
        bail!("--document writes about kernels that everybody can fetch: leave out {}", own.join(" and "));
    }
    let kernels: Vec<&Kernel> = match (named.is_empty(), wanted.all) {
        (false, _) => chosen(&table, &named)?,
        (true, _) if !own.is_empty() => Vec::new(),
        (true, true) => table.iter().collect(),
        (true, false) => table.iter().filter(|kernel| kernel.fast).collect(),
    };
    let (mut versions, mut images) = fetched(&kernels);
    for word in &own {
        let OwnKernel { kernel, version, elf } = own_kernel(Path::new(word))?;
        if images.insert(kernel.name.clone(), elf).is_some() {
            bail!("two of these kernels are called {}", kernel.name);
        }
        versions.push((kernel, version));
    }
    Ok((versions, images))
}

/// How much of a processor the part of `./test` may take, s: what is beyond that belongs to --all. It is told and not held to,
/// because a busy host makes an emulator slower.
const ROOM_S: u64 = 240;

/// A kernel of the user's own.
fn own_kernel(given: &Path) -> Result<OwnKernel> {
    let elf = Cache::new().own(given)?.elf;
    let own = matrix::own(given, elf).with_context(|| format!("{}", given.display()))?;
    eprintln!("kernels: {}: {}", given.display(), own.version);
    Ok(own)
}

/// The kernels that could be fetched, with their versions and images; the others are skipped with the reason.
fn fetched(kernels: &[&Kernel]) -> Taken {
    let (mut versions, mut images) = (Vec::new(), BTreeMap::new());
    for (kernel, held) in kernels.iter().zip(Cache::new().fetch(kernels, false)) {
        match held {
            Ok(held) => {
                tell(kernel, &held);
                versions.push(((*kernel).clone(), held.package.version));
                images.insert(kernel.name.clone(), held.elf);
            }
            Err(error) => skip(&format!("{}: {error}", kernel.name)),
        }
    }
    (versions, images)
}

/// Keeps only the boots of one variant, if the user asks for one.
fn keep_variant(boots: &mut Vec<matrix::Boot>, variant: Option<&str>) -> Result<()> {
    let Some(variant) = variant else { return Ok(()) };
    let names: BTreeSet<String> = boots.iter().map(|boot| boot.variant.name.clone()).collect();
    boots.retain(|boot| boot.variant.name == variant);
    if boots.is_empty() {
        bail!("no variant `{variant}` of these kernels: {}", Vec::from_iter(names).join(", "));
    }
    Ok(())
}

/// Whether this is the part that belongs to `./test`.
fn is_brief(wanted: &Test) -> bool {
    wanted.kernels.is_empty() && !wanted.all && wanted.command.is_none()
}

/// Which parts of the matrix are tried.
fn parts(wanted: &Test) -> &'static [Part] {
    match wanted.only.as_deref() {
        _ if wanted.command.is_some() => &[Part::Commands],
        Some("commands") => &[Part::Commands],
        Some("drills") => &[Part::Drills],
        Some(_) => &[Part::Repeated],
        // Saves one boot.
        None if is_brief(wanted) => &[Part::Both, Part::Repeated],
        None => &[Part::Drills, Part::Commands, Part::Repeated],
    }
}

/// Rewrites the table of the page.
fn document(ledger: &Ledger, planned: &[matrix::Boot]) -> Result<()> {
    let path = Path::new("docs/kernels.md");
    let text = std::fs::read_to_string(path).context("docs/kernels.md (run from the checkout)")?;
    let text = matrix::rewrite(&text, &ledger.results(planned), &ledger.programs(planned))
        .context("docs/kernels.md lacks the markers of the generated table")?;
    Ok(std::fs::write(path, text)?)
}

/// Prints a line for each kernel, and one for each thing that is wrong.
fn print(result: &TrialResult) {
    let count = |word: &str| result.cells.iter().filter(|cell| cell.verdict.word() == word).count();
    println!(
        "{} ({}): {} right, {} degraded, {} refused, {} WRONG, in {} s of a processor",
        result.boot.name(),
        result.boot.version,
        count("right"),
        count("degraded"),
        count("refused"),
        count("WRONG"),
        result.used.as_secs()
    );
    let seconds = |cost: Option<Duration>| cost.map_or(String::new(), |cost| format!("{:.1} s", cost.as_secs_f64()));
    for cell in &result.cells {
        let told = match &cell.verdict {
            Verdict::Wrong(what) => what,
            Verdict::Right(counted) => counted,
            _ => "",
        };
        let line = format!("{:>9}  {:8}  {}: {told}", seconds(cell.cost), cell.verdict.word(), cell.row);
        println!("{}", line.trim_end_matches([' ', ':']));
    }
    for (what, cost) in &result.beside {
        println!("{:>9}            {what}", seconds(Some(*cost)));
    }
}
