//! `punctual interact --attach`.

use crate::args::InteractArguments;
use crate::output::Output;
use crate::progress::StepProgress;
use crate::signals::Interrupted;
use punctual_interact::{AttachPlan, Target, attach};
use punctual_recording::counted;
use std::time::Duration;

/// Without a duration, the progress line shows this much more to come.
const OPEN_END: Duration = Duration::from_secs(3_600);

pub(super) fn run(wanted: &str, arguments: &InteractArguments, output: Output) -> anyhow::Result<u8> {
    super::check_kinds(arguments, None)?;
    let target = Target::find(wanted)?;
    let plan = AttachPlan {
        target,
        sample_rate: arguments.sample_rate,
        toolkit: arguments.toolkit,
        duration: arguments.duration.map(Duration::from_nanos),
        output: arguments.output.clone().unwrap_or_else(|| super::super::fresh_name("interact-", ".punctual")),
        command_line: super::super::command_line(),
    };
    let interrupted = Interrupted::watch();
    let mut progress = StepProgress::new(arguments.quiet, "interact");
    let end = plan.duration.unwrap_or(OPEN_END);
    let result = attach(&plan, &mut |now| {
        let step = format!("{} to {}", counted(now.inputs, "input"), plan.target.name);
        progress.show(&step, now.elapsed, end.max(now.elapsed));
        interrupted.step()
    });
    progress.done();
    let (document, summary) = result?;
    super::show_measured(arguments, &plan.output, &document, &summary, output)
}
