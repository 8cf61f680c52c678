//! Runs a command with a reservation like Rialto/NT's; asks for time constraints.

use crate::args::rialto::{RialtoCommand, RialtoConstraintsArguments, RialtoRunArguments};
use crate::commands::passed_on::PassedOn;
use crate::output::{self, Output, Usage};
use crate::signals::Interrupted;
use punctual_context::rialto::Served;
use punctual_report::rialto::{
    ConstraintRow, ConstraintsAnswer, ConstraintsReport, RialtoAnswer, RialtoReport, constraints_text, text,
};
use punctual_rialto::{Form, Received, Share};
use punctual_study::rialto::{Asked, ConstraintsPlan, Rialto, RialtoError, RialtoPlan};
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

pub(crate) fn run(command: &RialtoCommand, output: Output) -> anyhow::Result<u8> {
    match command {
        RialtoCommand::Run(arguments) => run_command(arguments, output),
        RialtoCommand::Constraints(arguments) => constraints(arguments, output),
    }
}

fn run_command(arguments: &RialtoRunArguments, output: Output) -> anyhow::Result<u8> {
    let share = Share {
        budget_ns: arguments.reservation.budget_ns,
        period_ns: arguments.reservation.period_ns,
        form: if arguments.hard { Form::Hard } else { Form::Competing },
    };
    let plan = RialtoPlan {
        words: arguments.program.clone(),
        share,
        thread: arguments.thread.clone(),
        duration: arguments.duration.map(Duration::from_nanos),
    };
    let signals = PassedOn::watch();
    let rialto = punctual_study::rialto::run(&plan, &mut || signals.came()).map_err(|error| match error {
        RialtoError::Plan(error) => anyhow::Error::from(Usage(error.to_string())),
        RialtoError::Refused(refused) => refused.into(),
    })?;
    if let Some(warning) = unheard(&rialto.served).filter(|_| !arguments.quiet) {
        output::say(&warning);
    }
    tell(&report(share, rialto), arguments, output)
}

fn constraints(arguments: &RialtoConstraintsArguments, output: Output) -> anyhow::Result<u8> {
    let RialtoConstraintsArguments { count, threads, seed } = *arguments;
    let interrupted = Interrupted::watch();
    let plan = ConstraintsPlan { count, threads, seed };
    let asked = punctual_study::rialto::constraints(&plan, &mut || !interrupted.is_set())?;
    let is_interrupted = asked.len() < count as usize;
    let row = |asked: Asked| ConstraintRow {
        estimate_ns: asked.estimate_ns,
        within_ns: asked.within_ns,
        decided_ns: asked.decided_ns,
        refusal: asked.refusal,
        met: asked.is_met,
        got_ns: asked.got_ns,
    };
    let report = ConstraintsReport { rows: asked.into_iter().map(row).collect(), threads, seed, is_interrupted };
    if output.json {
        output::answer(ConstraintsAnswer::new(&report), report.exit_code());
    } else {
        output::print_text(&constraints_text(&report));
    }
    Ok(report.exit_code())
}

fn report(share: Share, rialto: Rialto) -> RialtoReport {
    let Rialto { end, served, has_joined, was_ended } = rialto;
    let code = end.code().or_else(|| end.signal().map(|signal| 128 + signal));
    let code = code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    RialtoReport {
        share,
        received: received(&served),
        seen_ns: served.seen_ns,
        has_joined,
        moved: served.moved,
        is_cut: served.is_cut,
        slept: served.slept,
        repaired: served.repaired,
        latest_ns: served.latest_ns,
        exit_code: if served.taken_away.is_some() {
            1
        } else if was_ended {
            0
        } else {
            code
        },
        taken_away: served.taken_away,
    }
}

/// Says that others who wanted time could not be heard, and why.
fn unheard(served: &Served) -> Option<String> {
    let why = served.unheard_why.as_deref().filter(|_| served.unheard > 0)?;
    let times = punctual_recording::counted(served.unheard, "time");
    Some(format!("warning: the scheduler could not hear others who wanted time, {times}: {why}"))
}

fn received(served: &Served) -> Option<Received> {
    let Served { least_ns, most_ns, mean_ns, .. } = served;
    Some(Received { least_ns: (*least_ns)?, most_ns: (*most_ns)?, mean_ns: (*mean_ns)? })
}

fn tell(report: &RialtoReport, arguments: &RialtoRunArguments, output: Output) -> anyhow::Result<u8> {
    if output.json {
        output::answer(RialtoAnswer::new(report), report.exit_code);
    } else if !arguments.quiet {
        output::say(&text(report));
    }
    Ok(report.exit_code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_could_not_be_heard_is_told_of() {
        assert_eq!(unheard(&Served::default()), None);
        let why = Some("too many open files".to_owned());
        let served = Served { unheard: 1, unheard_why: why, ..Served::default() };
        let said = unheard(&served).unwrap();
        assert!(said.ends_with("who wanted time, 1 time: too many open files"), "{said}");
    }
}
