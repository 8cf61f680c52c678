//! `punctual load`.

use super::install::{self, Wanted};
use crate::args::{LoadArguments, LoadCommand, LoadRunArguments};
use crate::output::{self, Output, Usage, print_file, print_text};
use crate::progress::{ReadyProgress, StepProgress};
use crate::signals::Interrupted;
use anyhow::bail;
use punctual_kernel::capabilities::find_program;
use punctual_load::{Class, Load, Source, names};
use punctual_report::{LoadInstalledAnswer, LoadListAnswer, LoadResult, LoadRow, LoadRunAnswer};
use punctual_study::local_machine;
use std::time::Duration;

pub(crate) fn run(arguments: &LoadArguments, output: Output) -> anyhow::Result<u8> {
    match &arguments.command {
        LoadCommand::List => list(output),
        LoadCommand::Show { load } => show(load, output),
        LoadCommand::Install { load, yes } => install_load(load, *yes, output),
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

fn install_load(source: &Source, yes: bool, output: Output) -> anyhow::Result<u8> {
    let name = source.name();
    let Some(file) = source.written(&local_machine())? else {
        bail!("an idle machine needs no programs");
    };
    let wanted = Wanted { name: &format!("the load {name}"), programs: &file.needs.programs, packages: &file.packages };
    let was_missing = install::install(&wanted, yes)?;
    let verdict = install::verdict(&wanted, was_missing, &format!("punctual record --load {name}"));
    Ok(installed(&name, &verdict, output))
}

fn installed(name: &str, verdict: &str, output: Output) -> u8 {
    if output.json {
        output::answer(LoadInstalledAnswer::new(name, verdict), 0);
    } else {
        print_text(verdict);
    }
    0
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
