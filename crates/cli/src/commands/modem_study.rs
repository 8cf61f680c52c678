//! `punctual modem study`.

use crate::args::modem::ModemStudyArguments;
use crate::commands::artifacts::{self, Artifacts};
use crate::output::{self, Output, Usage};
use crate::progress::StepProgress;
use crate::signals::Interrupted;
use punctual_kernel::scheduling::allowed_cpus;
use punctual_report::modem::study::{Studied, StudyAnswer, page, text};
use punctual_report::shell_word;
use punctual_study::modem::tables::{self, TablesPlan, TablesProgress};
use std::time::Duration;

pub(super) fn run(arguments: &ModemStudyArguments, output: Output) -> anyhow::Result<u8> {
    artifacts::check_page(arguments.html.as_ref())?;
    let rows = tables::chosen(tables::all_rows()?, &arguments.table, &arguments.row).map_err(Usage)?;
    let plan = TablesPlan {
        bytes: arguments.bytes,
        attempts: arguments.attempts,
        seed: arguments.seed,
        rows,
        directory: arguments.output.clone(),
        jobs: allowed_cpus().len(),
    };
    let interrupted = Interrupted::watch();
    let mut progress = StepProgress::new(arguments.quiet, "modem study");
    let mut reached = None;
    let made = tables::run(&plan, &mut |now| {
        reached = Some(*now);
        show(&mut progress, now);
        !interrupted.is_set()
    });
    progress.done();
    let made = made?;
    let (directory, options) = (arguments.output.as_ref().map(|path| path.display().to_string()), options(arguments));
    let studied = Studied {
        tables: &made,
        interrupted: reached.is_some_and(|now| now.done < now.of),
        kept: reached.map_or(0, |now| now.kept),
        directory: directory.as_deref(),
        options: &options,
    };
    let mut artifacts = Artifacts::default();
    let mut code = studied.exit_code();
    if let Some(path) = &arguments.html {
        code = code.max(artifacts.write(path, page(&studied).html()?));
    }
    if output.json {
        output::answer_beside(artifacts.failure(), StudyAnswer::new(&studied), code);
    } else {
        output::print_text(&text(&studied));
    }
    Ok(code)
}

/// A study that takes no longer than this shows no progress.
const DARK: Duration = Duration::from_secs(2);

fn show(progress: &mut StepProgress, now: &TablesProgress) {
    if now.elapsed < DARK {
        return;
    }
    // Stored calls took no time.
    let made = now.done.saturating_sub(now.kept);
    match made {
        0 => progress.count("calls", now.done, now.of, now.elapsed),
        _ => {
            let whole = now.elapsed.mul_f64((now.of - now.kept) as f64 / made as f64);
            progress.show(&format!("call {} of {}", now.done + 1, now.of), now.elapsed, whole);
        }
    }
}

/// What the user asked for, without the directory, as shell words.
fn options(arguments: &ModemStudyArguments) -> String {
    let mut words: Vec<String> = Vec::new();
    words.extend(arguments.table.iter().map(|table| format!("--table {table}")));
    words.extend(arguments.row.iter().map(|row| format!("--row {}", shell_word(row))));
    for (name, given, default) in [
        ("bytes", u64::from(arguments.bytes), 200_000),
        ("attempts", u64::from(arguments.attempts), 10),
        ("seed", arguments.seed, 1),
    ] {
        if given != default {
            words.push(format!("--{name} {given}"));
        }
    }
    words.join(" ")
}
