//! Runs a command with a reservation.

use crate::args::reserve::ReserveRunArguments;
use crate::commands::passed_on::PassedOn;
use crate::output::{self, Output};
use punctual_kernel::budget_use::UsedUp;
use punctual_recording::counted;
use punctual_report::reserve::{RunAnswer, SetRow, run_text};
use punctual_study::reserve::{HeldPlan, HeldThread};
use std::os::unix::process::ExitStatusExt;

pub(super) fn run(arguments: &ReserveRunArguments, output: Output) -> anyhow::Result<u8> {
    let plan = HeldPlan {
        words: arguments.program.clone(),
        reservation: arguments.reservation,
        thread: arguments.thread.clone(),
        nth: arguments.nth,
    };
    let signals = PassedOn::watch();
    let mut is_named = false;
    let held = punctual_study::reserve::run(&plan, &mut || signals.came(), &mut |thread| {
        if !arguments.quiet {
            tell(thread);
            // This process is not the program: whoever measures must name that.
            if !is_named && thread.refused.is_none() {
                is_named = true;
                output::note(&where_it_runs(thread));
            }
        }
    })?;
    let code = held.end.code().or_else(|| held.end.signal().map(|signal| 128 + signal));
    let code = code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    // Someone who runs a command with a reservation counts on it: without one, or without it in the end, success is no success.
    let got_it = held.not_listed > 0 || held.threads.iter().any(|thread| thread.refused.is_none());
    let is_reserved = got_it && !held.given_up;
    let code = if code == 0 && !is_reserved && !arguments.ignore_failure { 1 } else { code };
    if let Some(warning) = used_up(&held.threads, arguments).filter(|_| !arguments.quiet) {
        output::say(&warning);
    }
    let rows: Vec<SetRow> = held.threads.into_iter().map(row).collect();
    if output.json {
        output::answer(RunAnswer::new(arguments.reservation, &rows, held.not_listed, code), 0);
    } else if !arguments.quiet {
        output::say(&run_text(arguments.reservation, &rows));
    }
    Ok(code)
}

fn row(thread: HeldThread) -> SetRow {
    let HeldThread { tid, name, set, set_anew, refused, .. } = thread;
    SetRow { tid, name, set, set_anew, refused }
}

fn tell(thread: &HeldThread) {
    let (name, tid) = (&thread.name, thread.tid);
    if let Some(refused) = &thread.refused {
        output::say(&format!("warning: `{name}` ({tid}) has no reservation: {refused}"));
    } else if thread.set_anew > 0 {
        output::say(&format!(
            "warning: `{name}` ({tid}) had work to do and time reserved, but the kernel did not let it run: its reservation was set anew"
        ));
    }
}

/// Which thread to name where it is measured.
fn where_it_runs(thread: &HeldThread) -> String {
    let HeldThread { tid, name, .. } = thread;
    format!("`{name}` has its reservation; `sudo punctual record --tid {tid}` follows it, and not this process")
}

/// Says which thread used up its budget in each period, so that the kernel held it back: the one that used most of its time.
fn used_up(threads: &[HeldThread], arguments: &ReserveRunArguments) -> Option<String> {
    let reservation = arguments.reservation;
    let of = |thread: &HeldThread| thread.budget_use.used_up(reservation.budget_ns, reservation.period_ns);
    let found: Vec<(&HeldThread, UsedUp)> = threads.iter().filter_map(|thread| Some((thread, of(thread)?))).collect();
    let (thread, UsedUp { percent, taken_off, periods }) = found.iter().max_by_key(|(_, used)| used.percent)?;
    let others = match found.len() - 1 {
        0 => String::new(),
        others => format!(" (so did {})", counted(others, "other thread")),
    };
    Some(format!(
        "warning: `{}` ({}) used up its budget{others}: it ran for {percent} % of the time reserved for it, and the kernel took it \
         off its CPU {} before it was done, in {}. Reserve more, or have it do less in a period",
        thread.name,
        thread.tid,
        counted(*taken_off, "time"),
        counted(*periods, "period")
    ))
}
