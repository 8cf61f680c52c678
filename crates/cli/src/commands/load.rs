//! `punctual load`.

use crate::args::{LoadArguments, LoadCommand, LoadRunArguments};
use crate::output::{self, Output, Usage, print_file, print_text, say};
use crate::progress::{ReadyProgress, StepProgress};
use crate::signals::Interrupted;
use anyhow::{Context, bail};
use punctual_kernel::capabilities::{find_program, is_root};
use punctual_load::packages::Manager;
use punctual_load::{Class, Load, LoadFile, Source, names};
use punctual_report::{LoadInstalledAnswer, LoadListAnswer, LoadResult, LoadRow, LoadRunAnswer};
use punctual_study::local_machine;
use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

pub(crate) fn run(arguments: &LoadArguments, output: Output) -> anyhow::Result<u8> {
    match &arguments.command {
        LoadCommand::List => list(output),
        LoadCommand::Show { load } => show(load, output),
        LoadCommand::Install { load, yes } => install(load, *yes, output),
        LoadCommand::Run(arguments) => try_out(arguments, output),
    }
}

fn row(source: &Source) -> anyhow::Result<LoadRow> {
    let file = source.written(&local_machine())?;
    Ok(LoadRow {
        name: source.name(),
        about: file.as_ref().map_or(Class::None.about(), |file| &file.about).to_owned(),
        real: matches!(source, Source::File(_)),
        compression_thousandths: file.as_ref().and_then(|file| file.compression_thousandths),
        missing: file.as_ref().map(|file| file.missing(find_program)).unwrap_or_default(),
    })
}

fn list(output: Output) -> anyhow::Result<u8> {
    let sources = names().into_iter().filter_map(|name| name.parse::<Source>().ok());
    let rows = sources.map(|source| row(&source)).collect::<anyhow::Result<Vec<_>>>()?;
    if output.json {
        output::answer(LoadListAnswer::new(&rows), 0);
    } else {
        print_text(&punctual_report::load_list_text(&rows));
    }
    Ok(0)
}

fn show(source: &Source, output: Output) -> anyhow::Result<u8> {
    let file = source.written(&local_machine())?;
    let text = file.map_or_else(|| "# An idle machine: nothing runs.\n".to_owned(), |file| file.text);
    if output.json {
        output::answer(LoadListAnswer::shown(&row(source)?, &text), 0);
    } else {
        print_file(&text);
    }
    Ok(0)
}

fn install(source: &Source, yes: bool, output: Output) -> anyhow::Result<u8> {
    let name = source.name();
    let Some(file) = source.written(&local_machine())? else {
        bail!("an idle machine needs no programs");
    };
    let missing = file.missing(find_program);
    if missing.is_empty() {
        return Ok(installed(&name, &format!("The load {name} is installed: there is nothing to do."), output));
    }
    let words = install_command(&file, &missing)?;
    let command = words.join(" ");
    say(&format!("The load {name} lacks {}. This would install it:\n  {command}", missing.join(", ")));
    if !yes {
        if !std::io::stdin().is_terminal() {
            let usage = format!(
                "there is no terminal on which to ask whether to run `{command}`: add --yes, or run it yourself"
            );
            return Err(Usage(usage).into());
        }
        if !asked("Run it? [y/N] ") {
            bail!("nothing was installed");
        }
    }
    let (program, arguments) = words.split_first().context("an empty command")?;
    // What it prints is not this program's answer.
    let status = Command::new(program)
        .args(arguments)
        .stdout(Stdio::from(std::io::stderr()))
        .status()
        .with_context(|| format!("`{command}` could not be started"))?;
    if !status.success() {
        let advice = if words.iter().any(|word| word == "apt-get") { "; `apt-get update` may help" } else { "" };
        bail!("`{command}` failed{advice}");
    }
    let missing = file.missing(find_program);
    if !missing.is_empty() {
        bail!("`{command}` ran, but {} is still missing", missing.join(", "));
    }
    Ok(installed(&name, &format!("The load {name} is installed: punctual record --load {name}"), output))
}

fn installed(name: &str, verdict: &str, output: Output) -> u8 {
    if output.json {
        output::answer(LoadInstalledAnswer::new(name, verdict), 0);
    } else {
        print_text(verdict);
    }
    0
}

fn install_command(file: &LoadFile, missing: &[String]) -> anyhow::Result<Vec<String>> {
    let missing = missing.join(", ");
    let Some(manager) = Manager::ALL.into_iter().find(|manager| find_program(manager.program()).is_some()) else {
        bail!("{missing} is missing, and there is no apt-get, dnf or pacman here: install it by hand");
    };
    if manager.of(&file.packages).is_empty() {
        bail!("{missing} is missing, and the load names no packages for {}: install it by hand", manager.program());
    }
    Ok(manager.install_command(&file.packages, is_root()))
}

/// Whether the user says yes.
fn asked(question: &str) -> bool {
    let mut error = std::io::stderr();
    let _ = write!(error, "{question}").and_then(|()| error.flush());
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes" | "Yes")
}

fn try_out(arguments: &LoadRunArguments, output: Output) -> anyhow::Result<u8> {
    let duration = Duration::from_nanos(arguments.duration);
    let load = Load::of_sources(&arguments.load, Some(duration), &local_machine())?;
    if load.is_none() {
        return Err(
            Usage("there is nothing to run on an idle machine: name a load, such as workstation".to_owned()).into()
        );
    }
    let interrupted = Interrupted::watch();
    let mut ready = ReadyProgress::new(arguments.quiet);
    let mut progress = StepProgress::new(arguments.quiet, "running");
    let result = punctual_study::run_load(
        &load,
        duration,
        &mut |stage| ready.show(stage) && !interrupted.is_set(),
        &mut |elapsed| {
            progress.show(&load.name, elapsed, duration);
            !interrupted.is_set()
        },
    );
    ready.done();
    progress.done();
    let run = result?;
    let result = LoadResult {
        name: load.name,
        elapsed_ns: run.elapsed_ns,
        warm_up_ns: load.warm_up.as_nanos() as u64,
        scores: run.scores,
        notes: load.notes.into_iter().chain(run.notes).collect(),
        trouble: run.trouble,
    };
    if output.json {
        output::answer(LoadRunAnswer::new(&result), 0);
    } else {
        print_text(&punctual_report::load_result_text(&result));
    }
    Ok(result.exit_code())
}
