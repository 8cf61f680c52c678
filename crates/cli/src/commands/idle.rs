//! `punctual idle`.

use super::artifacts::Artifacts;
use crate::args::{IdleArguments, IdlePolicy};
use crate::output::{self, Output, Usage};
use crate::progress::{Bar, StepProgress};
use crate::signals::Interrupted;
use punctual_kernel::scheduling::{allowed_cpus, check_allowed};
use punctual_probe::idle::IdlePlan;
use punctual_recording::{Recording, counted, for_each_gap, format_ns, read_gap_document, read_validation};
use punctual_report::forecast::interarrival::InterarrivalRow;
use punctual_report::idle::{GapPictures, IdleAnswer, idle_page};
use punctual_report::idle::{IdleReport, text};
use punctual_report::{after_idle, next_text};
use punctual_study::idle::{IdleProgress, ValidationPlan, measure_idle, validate};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub(crate) fn run(arguments: &IdleArguments, output: Output) -> anyhow::Result<u8> {
    super::artifacts::check_page(arguments.html.as_ref())?;
    let plan = plan(arguments);
    if arguments.validate {
        return run_validation(arguments, plan, output);
    }
    let interrupted = Interrupted::watch();
    let mut line = Line::new(arguments.quiet);
    let result = measure_idle(&plan, &mut |progress| {
        line.show(progress);
        interrupted.step()
    });
    line.bar.done();
    let (document, gaps) = result?;
    if let Some(code) = page_too(arguments, &plan.output, output)? {
        return Ok(code);
    }
    Ok(print(&IdleReport { recording: &plan.output, document: &document, gaps: &gaps, validation: None }, &[], output))
}

fn plan(arguments: &IdleArguments) -> IdlePlan {
    IdlePlan {
        duration_ns: arguments.duration,
        cpus: arguments.cpus.as_ref().map(|cpus| cpus.0.clone()),
        threshold_ns: arguments.threshold,
        calibrated_ns: arguments.calibrated,
        real_time: arguments.policy == IdlePolicy::Fifo,
        bpf: !arguments.no_bpf,
        output: arguments.output.clone().unwrap_or_else(|| super::fresh_name("idle-", ".punctual")),
        command_line: super::command_line(),
    }
}

/// A keystroke takes at most about this long beyond its computation, ns; after that the measurement ends by itself.
const KEYSTROKE_NS: u64 = 2_000_000_000;

fn run_validation(arguments: &IdleArguments, mut idle: IdlePlan, output: Output) -> anyhow::Result<u8> {
    let allowed = allowed_cpus();
    let cpu = match idle.cpus.as_deref() {
        None => allowed.last().copied().unwrap_or(0),
        Some([cpu]) => *cpu,
        Some(_) => return Err(Usage("--validate takes one CPU: give -a 1".to_owned()).into()),
    };
    check_allowed(&[cpu], &allowed).map_err(|error| Usage(error.to_string()))?;
    idle.cpus = Some(vec![cpu]);
    idle.duration_ns = arguments.keystrokes.saturating_mul(arguments.compute + KEYSTROKE_NS);
    let keystrokes = usize::try_from(arguments.keystrokes).unwrap_or(usize::MAX);
    let plan = ValidationPlan { idle, cpu, keystrokes, compute_ns: arguments.compute };
    let interrupted = Interrupted::watch();
    let mut progress = StepProgress::new(arguments.quiet, "idle");
    // The pauses between keystrokes are 25 ms on average.
    let expected = Duration::from_nanos(arguments.keystrokes * (arguments.compute + 25_000_000));
    let result = validate(&plan, &mut |now, typed| {
        progress.show(&counted(typed, "keystroke"), now.elapsed, expected);
        interrupted.step()
    });
    progress.done();
    let (document, gaps, validation) = result?;
    let recording = &plan.idle.output;
    if let Some(code) = page_too(arguments, recording, output)? {
        return Ok(code);
    }
    let report = IdleReport { recording, document: &document, gaps: &gaps, validation: Some(&validation) };
    Ok(print(&report, &[], output))
}

/// Where the user asked for a page, makes it from the new recording, as `punctual report` does.
fn page_too(arguments: &IdleArguments, recording: &Path, output: Output) -> anyhow::Result<Option<u8>> {
    let Some(page) = &arguments.html else { return Ok(None) };
    report(recording, output, &[], Some(page))
}

/// Shows a recording of idle time, also on a page if one is asked for; `None` if the recording is of something else.
pub(crate) fn report(
    path: &Path,
    output: Output,
    interarrival: &[InterarrivalRow],
    page: Option<&PathBuf>,
) -> anyhow::Result<Option<u8>> {
    // A full disk may have had room for nothing but the recording's beginning and end.
    let gaps = read_gap_document(path)?.unwrap_or_default();
    let validation = read_validation(path)?;
    let recording = Recording::open(path)?;
    let validation = validation.as_ref();
    let report = IdleReport { recording: path, document: recording.document(), gaps: &gaps, validation };
    let mut code = report.exit_code();
    let mut artifacts = Artifacts::default();
    if let Some(page) = page {
        let mut drawn = GapPictures::new(report.document, &gaps);
        let read = for_each_gap(path, |gap| drawn.take(gap));
        drawn.close();
        code = code.max(match read {
            Ok(()) => artifacts.write(page, idle_page(&report, &drawn).html()?),
            Err(error) => artifacts.fail(page, &error.into()),
        });
    }
    if output.json {
        output::answer_beside(artifacts.failure(), IdleAnswer::new(&report, interarrival), code);
        return Ok(Some(code));
    }
    print(&report, interarrival, output);
    Ok(Some(code))
}

fn print(report: &IdleReport<'_>, interarrival: &[InterarrivalRow], output: Output) -> u8 {
    if output.json {
        output::answer(IdleAnswer::new(report, interarrival), 0);
        return report.exit_code();
    }
    let mut text = text(report);
    if !interarrival.is_empty() {
        text += &format!("\n{}\n", punctual_report::forecast::interarrival::text(interarrival).trim_end());
    }
    output::print_text(&(text + &next_text(&after_idle(report))));
    report.exit_code()
}

/// The progress line.
struct Line {
    bar: Bar,
    shown: Option<Instant>,
}

impl Line {
    fn new(quiet: bool) -> Line {
        Line { bar: Bar::new(quiet, "idle"), shown: None }
    }

    fn show(&mut self, progress: &IdleProgress<'_>) {
        if self.bar.is_hidden() || self.shown.is_some_and(|shown| shown.elapsed() < Duration::from_millis(250)) {
            return;
        }
        if self.shown.is_none() {
            for note in progress.fallbacks {
                self.bar.note(note);
            }
        }
        self.shown = Some(Instant::now());
        let left = progress.duration.saturating_sub(progress.elapsed).as_secs_f64().ceil();
        let longest = format_ns(progress.longest_ns);
        let message = format!("{}, longest {longest}  {left:.0} s left", counted(progress.gaps, "gap"));
        self.bar.set(progress.elapsed.as_millis() as u64, progress.duration.as_millis() as u64, message);
    }
}
