//! Runs a command with a reservation of Rialto/NT's kind.

use crate::args::rialto::{RialtoCommand, RialtoRunArguments};
use crate::commands::passed_on::PassedOn;
use crate::output::{self, Output, Usage};
use punctual_report::rialto::{RialtoAnswer, RialtoReport, text};
use punctual_rialto::{Form, Share, received_in, seen_ns};
use punctual_study::rialto::{Rialto, RialtoError, RialtoPlan};
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

pub(crate) fn run(command: &RialtoCommand, output: Output) -> anyhow::Result<u8> {
    let RialtoCommand::Run(arguments) = command;
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
    tell(&report(share, rialto), arguments, output)
}

fn report(share: Share, rialto: Rialto) -> RialtoReport {
    let Rialto { end, served, was_ended } = rialto;
    let code = end.code().or_else(|| end.signal().map(|signal| 128 + signal));
    let code = code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    RialtoReport {
        share,
        received: received_in(&served.stretches, share.period_ns),
        seen_ns: served.stretches.iter().map(|runs| seen_ns(runs)).sum(),
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

fn tell(report: &RialtoReport, arguments: &RialtoRunArguments, output: Output) -> anyhow::Result<u8> {
    if output.json {
        output::answer(RialtoAnswer::new(report), report.exit_code);
    } else if !arguments.quiet {
        output::say(&text(report));
    }
    Ok(report.exit_code)
}
