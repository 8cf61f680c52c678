//! `punctual modem judge`.

use super::modem_experiment::Steps;
use crate::args::modem::{Maker, ModemJudgeArguments, ModemName};
use crate::output::{self, Output};
use anyhow::anyhow;
use clap::ValueEnum;
use punctual_kernel::clock::thread_cpu_ns;
use punctual_modem::experiment::Step;
use punctual_modem::judge::{Candidate, Judgement, Ours, judge};
use punctual_report::modem::{JudgeAnswer, Judging, judge_text};
use punctual_spandsp::{Library, Theirs};

pub(super) fn run(arguments: &ModemJudgeArguments, output: Output) -> anyhow::Result<u8> {
    let candidates = candidates(&arguments.modem)?;
    let losses_us = arguments.losses.clone();
    let how = Judgement { seed: arguments.seed, calls: arguments.calls, losses_us, ..Judgement::default() };
    let mut steps = Steps::new(arguments.quiet);
    let (mut judged, of) = (Vec::new(), u32::try_from(candidates.len()).unwrap_or(u32::MAX));
    for (candidate, done) in candidates.iter().zip(0..) {
        let words = format!("{} of {}", candidate.name(), candidate.maker());
        let mut stopped = false;
        let one = judge(&**candidate, &how, &mut thread_cpu_ns, &mut |part| {
            stopped = !steps.show(&Step { done, of, bytes: 0, line_ns: 0 }, part, &words);
            !stopped
        });
        match one {
            Some(one) => judged.push(one),
            None if stopped => break,
            None => anyhow::bail!("{words} cannot be made: there is no memory for it"),
        }
    }
    let interrupted = steps.done();
    let judging = Judging { how: &how, judged: &judged, interrupted };
    if output.json {
        output::answer(JudgeAnswer::new(&judging), u8::from(interrupted));
    } else {
        output::print_text(&judge_text(&judging));
    }
    Ok(u8::from(interrupted))
}

/// The modems that were asked for, in that order; all of them if none was.
fn candidates(names: &[ModemName]) -> anyhow::Result<Vec<Box<dyn Candidate>>> {
    let names = if names.is_empty() { ModemName::value_variants() } else { names };
    let candidate = |name: &ModemName| -> anyhow::Result<Box<dyn Candidate>> {
        Ok(match name.maker() {
            Maker::Ours(rate) => Box::new(Ours(rate)),
            Maker::Theirs(one_way) => {
                // In one line: what is missing, what to install, what goes without.
                let library = Library::load().map_err(|missing| {
                    anyhow!("{missing}; `--modem 4800,9600,14400` judges punctual's own modems alone")
                })?;
                Box::new(Theirs::new(library, one_way))
            }
        })
    };
    names.iter().map(candidate).collect()
}
