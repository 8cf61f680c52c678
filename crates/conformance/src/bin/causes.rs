//! Causes that `punctual why` was not built with: makes each, and counts what it says.

#![allow(clippy::print_stdout, reason = "a command line")]

use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};
use punctual_conformance::causes::{self, Cause, Examined, Examiner, Set, all};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

#[derive(Parser)]
#[command(
    name = "scripts/causes",
    about = "Makes threads late in ways that `punctual why` was not built with, and counts what it says",
    after_help = "Exit code 1 where more than one in a hundred of a cause that were met got a wrong name, or none was met."
)]
struct Arguments {
    /// Which causes [default: all that there are]
    #[arg(value_name = "CAUSE")]
    causes: Vec<String>,
    /// List them
    #[arg(long)]
    list: bool,
    /// Only the small set of test runs
    #[arg(long)]
    fast: bool,
    /// Only this list [default: all]
    #[arg(long, value_enum)]
    set: Option<Chosen>,
    /// Injections of each, in one recording
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=2000))]
    count: u32,
    /// Record each again until so many were met, twelve times at most: one recording's evidence has a budget
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    met: u64,
    /// Keep the machine busy meanwhile (punctual load list)
    #[arg(long, value_name = "NAME")]
    load: Option<String>,
    /// The program under examination
    #[arg(long, default_value = "target/debug/punctual")]
    program: PathBuf,
    /// Keep recordings, answers and logs of the truth in this directory
    #[arg(long, value_name = "DIRECTORY")]
    keep: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print the table of the documentation
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Write that table into docs/why-truth.md: that of the first list
    #[arg(long)]
    document: bool,
}

/// A list of causes.
#[derive(Clone, Copy, ValueEnum)]
enum Chosen {
    /// The judge was mended until it was right about these
    First,
    /// Chosen by somebody who had not read the judge, before any answer was seen
    Second,
    /// Chosen by somebody who had read it, before any answer was seen
    Third,
    /// Chosen by somebody who had not read the judge, before any answer was seen
    Fourth,
    /// Chosen by somebody who had not read the judge, before any answer was seen: those that it was wrong about
    Fifth,
}

impl Chosen {
    fn set(self) -> Set {
        match self {
            Chosen::First => Set::First,
            Chosen::Second => Set::Second,
            Chosen::Third => Set::Third,
            Chosen::Fourth => Set::Fourth,
            Chosen::Fifth => Set::Fifth,
        }
    }
}

static ASKED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

fn is_ending() -> bool {
    ASKED.load(Ordering::Relaxed)
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    if words.get(1).map(String::as_str) == Some(causes::SCENE) {
        return match causes::play(&words[2..]) {
            Ok(()) => ExitCode::SUCCESS,
            Err(reason) => {
                eprintln!("{reason}");
                ExitCode::FAILURE
            }
        };
    }
    let arguments = Arguments::try_parse().unwrap_or_else(|error| {
        let _ = error.print();
        std::process::exit(if error.use_stderr() { 129 } else { 0 });
    });
    examine(&arguments).unwrap_or_else(|error| {
        eprintln!("causes: {error:#}");
        ExitCode::FAILURE
    })
}

fn chosen(arguments: &Arguments) -> Result<Vec<&'static Cause>> {
    let known = || all().map(|cause| cause.name).collect::<Vec<_>>().join(", ");
    for name in &arguments.causes {
        if !all().any(|cause| cause.name == name) {
            bail!("there is no cause {name}: give one of {}", known());
        }
    }
    let wanted = |cause: &&Cause| {
        (arguments.causes.is_empty() || arguments.causes.iter().any(|name| name == cause.name))
            && (!arguments.fast || cause.fast)
            && arguments.set.is_none_or(|set| set.set() == cause.set)
    };
    Ok(all().filter(wanted).collect())
}

fn examine(arguments: &Arguments) -> Result<ExitCode> {
    let chosen = chosen(arguments)?;
    if arguments.list {
        for cause in chosen {
            println!("{:<26} {}", cause.name, cause.what);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let program = arguments.program.canonicalize();
    let program = program.with_context(|| format!("{}: no such program", arguments.program.display()))?;
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&ASKED))?;
    }
    causes::sweep();
    let examiner = Examiner {
        program,
        count: arguments.count as usize,
        met: arguments.met,
        load: arguments.load.clone(),
        keep: arguments.keep.clone(),
        is_ending,
    };
    let mut results = try_each(&examiner, chosen, !arguments.json && !arguments.markdown);
    if arguments.json {
        println!("{}", causes::json(&results));
    }
    if arguments.markdown {
        print!("{}", causes::markdown(&results));
    }
    if arguments.document {
        results.retain(|(cause, _)| cause.set == Set::First);
        document(&results)?;
    }
    if is_ending() {
        eprintln!("causes: ended by a signal after {} causes", results.len());
        return Ok(ExitCode::FAILURE);
    }
    Ok(conclusion(&results))
}

/// Tries one cause after another until all are done or a signal ends it.
fn try_each(examiner: &Examiner, chosen: Vec<&'static Cause>, prints_text: bool) -> Vec<(&'static Cause, Examined)> {
    if prints_text {
        println!("{}", causes::heading());
    }
    let mut results: Vec<(&Cause, Examined)> = Vec::new();
    for cause in chosen {
        let examined = examiner.examine(cause);
        if is_ending() {
            break;
        }
        if let Examined::Skipped(reason) = &examined {
            punctual_testing::skip(&format!("cause {}", cause.name), reason);
        }
        if prints_text {
            println!("{}", causes::text(cause, &examined));
        }
        results.push((cause, examined));
    }
    results
}

/// Rewrites the table of the page.
fn document(results: &[(&Cause, Examined)]) -> Result<()> {
    let path = Path::new("docs/why-truth.md");
    let text = std::fs::read_to_string(path).context("docs/why-truth.md (run from the checkout)")?;
    let text = causes::rewrite(&text, &causes::markdown(results))
        .context("docs/why-truth.md lacks the markers of the generated table")?;
    Ok(std::fs::write(path, text)?)
}

/// The exit code: success if all were told right.
fn conclusion(results: &[(&Cause, Examined)]) -> ExitCode {
    let fails = |examined: &Examined| match examined {
        Examined::Told(tally) => tally.fails(),
        Examined::Skipped(_) => false,
        Examined::Failed(_) => true,
    };
    let failed: Vec<&str> =
        results.iter().filter(|(_, examined)| fails(examined)).map(|(cause, _)| cause.name).collect();
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("causes: more than 1 % wrong with a name, or none met: {}", failed.join(", "));
    ExitCode::FAILURE
}
