//! Looks at a guest's late wakeup from outside.

use super::plan::{Prepared, prepare};
use super::scenario::keeps_evidence;
use crate::args::lab::LabWhyArguments;
use crate::commands::artifacts::{self, Artifacts};
use crate::output::{self, Output, Usage};
use crate::progress::StepProgress;
use punctual_blame::Kind;
use punctual_lab::outside::{Delivery, FunctionTime, NOT_WRITTEN, Place, Segment};
use punctual_recording::Recording;
use punctual_report::lab::{
    Arrival, ClassRow, FunctionRow, OutsideAnswer, OutsideReport, Stretch, StretchKind, outside_page, outside_text,
};
use punctual_study::lab::{Cell, Outside, WhyStep, why};
use std::collections::{BTreeMap, BTreeSet};

/// How many functions are shown for the whole wakeup, and for each stretch.
const MAX_FUNCTIONS: usize = 100;
const MAX_OF_A_STRETCH: usize = 5;

pub(super) fn run(arguments: &LabWhyArguments, output: Output) -> anyhow::Result<u8> {
    if arguments.html.is_some() {
        punctual_report::encode::html::can_draw()?;
        artifacts::check(arguments.html.as_ref())?;
    }
    if super::kernel::hypervisor(&arguments.kernel.kernel).is_some() {
        let name = &arguments.kernel.kernel;
        let why = "lab why looks at the code of a kernel alone, but below this one a hypervisor runs";
        return Err(Usage(format!("--kernel {name}: {why}")).into());
    }
    if !keeps_evidence(&arguments.guest.words)? {
        let why = "lab why looks at a late wakeup in the evidence of record --why: give a time, as in record -D 1s --why 100us";
        return Err(Usage(why.to_owned()).into());
    }
    let systems = [arguments.kernel.clone()];
    let cells = vec![Cell { system: 0, seed: arguments.seed }];
    let Prepared { plan, interrupted, .. } = prepare(&systems, cells, None, &arguments.guest)?;
    let mut progress = StepProgress::new(arguments.guest.quiet, "guests");
    let outside = why(&plan, arguments.episode, &mut |step, elapsed| {
        let (words, done) = match step {
            WhyStep::Recording => ("recording", 0),
            WhyStep::Clock => ("again, to learn when it reads its clock", 1),
            WhyStep::Window => ("again, to see what ran", 2),
        };
        progress.count(words, done, 3, elapsed);
        !interrupted.is_set()
    });
    progress.done();
    let outside = outside?;
    let report = report(arguments, &outside);
    let (mut artifacts, mut code) = (Artifacts::default(), 0);
    if let Some(path) = &arguments.html {
        let recording = Recording::open(&outside.recording)?;
        code = artifacts.write(path, outside_page(&report, recording.document()).html()?);
    }
    if output.json {
        output::answer_beside(artifacts.failure(), OutsideAnswer::new(&report), code);
    } else {
        output::print_text(&outside_text(&report));
    }
    Ok(code)
}

fn report<'a>(arguments: &LabWhyArguments, outside: &'a Outside) -> OutsideReport<'a> {
    let (episode, story) = (&outside.episode, &outside.story);
    let (times_found, times) = outside.times;
    let further = story.functions.get(MAX_FUNCTIONS..).unwrap_or_default();
    OutsideReport {
        kernel: arguments.kernel.name(),
        seed: arguments.seed,
        recording: &outside.recording,
        episode: episode.id,
        victim: episode.victim.name.clone(),
        victim_tid: episode.victim.tid,
        total_ns: episode.total_ns(),
        same_files: outside.same_files,
        times_found,
        times,
        passed_over: outside.passed_over,
        instruction_ns: outside.instruction_ns,
        instructions: story.instructions,
        is_cut: story.is_cut,
        arrival: arrival(outside),
        later_off_ns: story.later_off_ns,
        stretches: stretches(outside),
        functions: functions(&story.functions, MAX_FUNCTIONS),
        further: (further.len(), further.iter().map(|function| function.ns).sum()),
        classes: classes(outside),
        used_ms: u64::try_from(outside.used.as_millis()).unwrap_or(u64::MAX),
    }
}

fn arrival(outside: &Outside) -> Arrival {
    let due_ns = outside.episode.expected_ns;
    let Some(after_ns) = outside.story.interrupt_ns.map(|at| at.saturating_sub(due_ns)) else {
        return Arrival::NotSeen;
    };
    let from_due = |ns: u64| ns.cast_signed().saturating_sub(due_ns.cast_signed());
    match &outside.story.delivery {
        Delivery::AtOnce => Arrival::AtOnce { after_ns },
        Delivery::InterruptsOff { section, off_in, off_for, on_in } => Arrival::InterruptsOff {
            after_ns,
            off_from_ns: from_due(section.start),
            on_after_ns: section.end.saturating_sub(due_ns),
            off_in: off_in.clone(),
            off_for: off_for.clone(),
            on_in: on_in.clone(),
        },
        Delivery::OffBefore { since_ns, on_ns, on_in } => Arrival::OffBefore {
            after_ns,
            off_at_ns: from_due(*since_ns),
            on_after_ns: on_ns.saturating_sub(due_ns),
            on_in: on_in.clone(),
        },
        Delivery::Otherwise { is_on_when_due, off } => Arrival::Otherwise {
            after_ns,
            on_when_due: *is_on_when_due,
            off_from_ns: off.as_ref().map(|off| off.section.start.saturating_sub(due_ns)),
            on_after_ns: off.as_ref().map(|off| off.section.end.saturating_sub(due_ns)),
            off_in: off.as_ref().map(|off| off.off_in.clone()),
            off_for: off.as_ref().and_then(|off| off.off_for.clone()),
        },
        Delivery::NotKnown { on } => Arrival::NotKnown {
            after_ns,
            on_after_ns: on.as_ref().map(|(on_ns, _)| on_ns.saturating_sub(due_ns)),
            on_in: on.as_ref().map(|(_, name)| name.clone()),
        },
        Delivery::InInterrupt { name } => Arrival::InInterrupt { after_ns, name: name.clone() },
        Delivery::NotSeen => Arrival::NotSeen,
    }
}

fn kind_of(place: Place) -> StretchKind {
    match place {
        Place::User => StretchKind::User,
        Place::Kernel => StretchKind::Kernel,
        Place::Interrupt => StretchKind::Interrupt,
        Place::Exception => StretchKind::Exception,
        Place::Softirq => StretchKind::Softirq,
        Place::NotWritten => StretchKind::NotWritten,
    }
}

fn stretches(outside: &Outside) -> Vec<Stretch> {
    let (episode, segments) = (&outside.episode, &outside.story.segments);
    let mut threads: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    threads.entry(&episode.victim.name).or_default().insert(episode.victim.tid);
    for segment in segments {
        threads.entry(&segment.thread).or_default().insert(segment.tid);
    }
    let is_numbered = |segment: &Segment| threads.get(segment.thread.as_str()).is_some_and(|tids| tids.len() > 1);
    segments.iter().map(|segment| stretch(segment, episode.expected_ns, is_numbered(segment))).collect()
}

fn stretch(segment: &Segment, due_ns: u64, is_numbered: bool) -> Stretch {
    Stretch {
        at_ns: segment.begin_ns.saturating_sub(due_ns),
        ns: segment.ns,
        kind: kind_of(segment.place),
        name: segment.name.clone(),
        thread: segment.thread.clone(),
        tid: segment.tid,
        is_numbered,
        functions: functions(&segment.functions, MAX_OF_A_STRETCH),
        all_functions: functions(&segment.functions, usize::MAX),
    }
}

fn functions(times: &[FunctionTime], max: usize) -> Vec<FunctionRow> {
    let row = |time: &FunctionTime| FunctionRow {
        name: if time.name.is_empty() { "a program's own code".to_owned() } else { time.name.clone() },
        ns: time.ns,
    };
    times.iter().take(max).map(row).collect()
}

/// Interrupts, softirqs and threads: what `why` says about each, and what ran.
fn classes(outside: &Outside) -> Vec<ClassRow> {
    let class_of = |kind: Kind| match kind {
        Kind::Irq => 0,
        Kind::Softirq => 1,
        _ => 2,
    };
    let class_at = |place: Place| match place {
        Place::Interrupt => 0,
        Place::Softirq => 1,
        Place::User | Place::Kernel | Place::Exception => 2,
        Place::NotWritten => 3,
    };
    let inside =
        |class: usize| outside.split.parts.iter().filter(|part| class_of(part.kind) == class).map(|part| part.ns).sum();
    let seen = |class: usize| {
        outside.story.segments.iter().filter(|segment| class_at(segment.place) == class).map(|segment| segment.ns).sum()
    };
    let names = ["interrupts", "softirqs", "threads", NOT_WRITTEN];
    (names.into_iter().enumerate())
        .map(|(class, name)| ClassRow { class: name, inside_ns: inside(class), outside_ns: seen(class) })
        .filter(|row| row.class != NOT_WRITTEN || row.outside_ns > 0)
        .collect()
}
