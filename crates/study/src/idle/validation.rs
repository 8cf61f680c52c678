//! The validation of the paper of 2014 (II.c): the same keystrokes as seen by an idle loop, the program that handles
//! them, and the kernel's programs.

use super::keystroke::split;
use super::{IdleProgress, measure_and_inspect};
use crate::StudyError;
use punctual_probe::idle::IdlePlan;
use punctual_probe::idle::echo::Keyboard;
use punctual_probe::{RunError, Step};
use punctual_recording::{
    Document, EndReason, GapDocument, Keystroke, SeenKeystroke, TraceEntry, VALIDATION_SCHEMA, ValidationDocument,
    write_validation,
};

/// What to do.
#[derive(Debug, Clone)]
pub struct ValidationPlan {
    /// The loop: one CPU, at idle priority; the program runs there too.
    pub idle: IdlePlan,
    /// The CPU.
    pub cpu: u32,
    /// How many keystrokes.
    pub keystrokes: usize,
    /// How long the program computes between its read and its echo, ns.
    pub compute_ns: u64,
}

/// Two clocks tell the gap's end from the program's last stamp: they may disagree by this, ns.
const CLOCKS_NS: u64 = 2_000;

/// A gap from when to when, ns, and what ran inside it; `None` where some of that may be lost.
type FoundGap = (u64, u64, Option<Vec<TraceEntry>>);

/// Carries out a plan; the keystrokes are also in an ordinary recording.
///
/// # Errors
/// [`StudyError`]; the recording holds whatever was measured before a failure.
pub fn validate(
    plan: &ValidationPlan,
    observe: &mut dyn FnMut(&IdleProgress<'_>, u64) -> Step,
) -> Result<(Document, GapDocument, ValidationDocument), StudyError> {
    let mut keyboard = Some(Keyboard::start(plan.cpu, plan.keystrokes, plan.compute_ns).map_err(RunError::from)?);
    let mut gaps: Vec<FoundGap> = Vec::new();
    // Only what can hold a keystroke is kept.
    let shortest = plan.compute_ns;
    let (document, summary, directory) = measure_and_inspect(
        &plan.idle,
        &mut |progress| {
            // Only once the loop runs: nobody sees what is typed before.
            if let Some(keyboard) = &keyboard {
                keyboard.go();
            }
            let typed = keyboard.as_ref().map_or(0, Keyboard::typed);
            match observe(progress, typed) {
                Step::Go if keyboard.as_ref().is_none_or(Keyboard::is_finished) => {
                    Step::Stop(EndReason::Completed, None)
                }
                step => step,
            }
        },
        &mut |gap, inside| {
            if gap.length_ns >= shortest {
                gaps.push((gap.start_ns, gap.start_ns + gap.length_ns, inside.map(<[TraceEntry]>::to_vec)));
            }
        },
    )?;
    let keystrokes = match keyboard.take() {
        Some(keyboard) => keyboard.finish().map_err(RunError::from)?,
        None => Vec::new(),
    };
    let mut validation = ValidationDocument {
        schema: VALIDATION_SCHEMA.to_owned(),
        keystrokes: plan.keystrokes as u64,
        compute_ns: plan.compute_ns,
        cpu: plan.cpu,
        seen: Vec::new(),
        not_found: 0,
        followed: summary.followed,
    };
    // Keys typed before the loop began belong to nobody.
    let begun = document.provenance.started_ns;
    for keystroke in keystrokes.iter().filter(|keystroke| keystroke.typed_ns > begun) {
        match find(keystroke, &gaps, summary.followed) {
            Some(seen) => validation.seen.push(seen),
            None => validation.not_found += 1,
        }
    }
    write_validation(&directory, &validation).map_err(RunError::Recording)?;
    Ok((document, summary, validation))
}

fn find(keystroke: &Keystroke, gaps: &[FoundGap], followed: bool) -> Option<SeenKeystroke> {
    let after = gaps.partition_point(|&(start, ..)| start <= keystroke.read_ns);
    let (start, end, inside) = gaps.get(after.checked_sub(1)?)?;
    let end = if keystroke.echoed_ns.saturating_sub(*end) <= CLOCKS_NS { keystroke.echoed_ns.max(*end) } else { *end };
    split(keystroke, *start, end, inside.as_deref().filter(|_| followed))
}
