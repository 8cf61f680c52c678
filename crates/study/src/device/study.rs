//! The study of a soft modem: Jones and Saroiu, MSR-TR-2000-88, section 6, with Linux's contexts, on this machine.

use super::group::Group;
use super::part::{DevicePart, DeviceWork};
use super::recommended::{Seen, least_intrusive, lowest_sufficient};
use super::run::{BYSTANDER_PERIOD_NS, DeviceRun, DeviceRunPlan, run};
use super::scaled::{is_papers, reservation};
use crate::StudyError;
use punctual_context::device::{Competitor, Wake};
use punctual_context::{Context, Form};
use punctual_device::{Profile, keeps_up, kept_from, used};
use punctual_kernel::scheduling::Scheduling;
use punctual_kernel::{bpf, ending, host};
use punctual_load::Load;
use punctual_probe::{Observation, Step};
use punctual_recording::{DeviceSummary, Distribution, EndReason, LoadInfo};
use std::path::PathBuf;

/// One run of the study.
#[derive(Debug, Clone)]
pub struct Point {
    /// What it asks.
    pub group: Group,
    /// The device, if there is one.
    pub part: Option<DevicePart>,
    /// What competes with it.
    pub competitors: Vec<Competitor>,
    /// What the paper says about it, if anything.
    pub paper: Option<&'static str>,
    /// Whether it works in the paper, if that says so; marginal counts as not.
    pub paper_works: Option<bool>,
}

/// The study's plan.
#[derive(Debug, Clone)]
pub struct StudyPlan {
    /// The device.
    pub profile: Profile,
    /// What it does.
    pub work: DeviceWork,
    /// The CPU.
    pub cpu: u32,
    /// What keeps the machine busy; each run starts it anew.
    pub load: Load,
    /// How long all runs measure, ns.
    pub duration_ns: u64,
    /// The directory for the recordings.
    pub directory: PathBuf,
    /// The command line, for provenance.
    pub command_line: Vec<String>,
}

/// A point and what came of it.
#[derive(Debug)]
pub struct Subject {
    /// What was asked.
    pub point: Point,
    /// The recording, or why there is none.
    pub outcome: Result<DeviceRun, String>,
}

impl Subject {
    /// The device's summary, if it ran.
    pub fn device(&self) -> Option<&DeviceSummary> {
        self.outcome.as_ref().ok().and_then(|run| run.activations.devices.first())
    }
}

/// What came of a study.
#[derive(Debug)]
pub struct Study {
    /// What was studied.
    pub plan: StudyPlan,
    /// Each point that was reached.
    pub subjects: Vec<Subject>,
    /// The lowest thread that keeps up beside a spinning competitor.
    pub lowest_sufficient: Option<String>,
    /// The context that keeps up beside every competitor and disturbs the bystander least, of those with room to spare if
    /// there are any.
    pub least_intrusive: Option<String>,
    /// Whether it was ended early.
    pub interrupted: bool,
}

/// A point takes at least this long, ns.
const MIN_POINT_NS: u64 = 1_000_000_000;
/// The bystander counts as disturbed if a callback comes this far from its period, ns.
const OFF_NS: u64 = 100_000;
/// On top of the reservation's: buffers of a modem whose pump only needs its newest block (Table 3).
const STALE_BUFFERS: u32 = 3;

/// A thread beside a spinner: its scheduling, what the paper says (Table 1), whether it works there.
const PRIORITIES: [(Scheduling, Option<&str>, Option<bool>); 5] = [
    (Scheduling::Idle, None, None),
    (Scheduling::Other, Some("priority 8, as the spinner: the rings overflow"), Some(false)),
    (Scheduling::Fifo(1), None, None),
    (Scheduling::Fifo(50), None, None),
    (Scheduling::Fifo(80), Some("priority 24 suffices; PC 99 asks for 28"), Some(true)),
];

/// Reservations of so many ms in so many that compete outside their time (Table 1), what the paper says, whether it works.
const COMPETING: [(u64, u64, &str, bool); 5] = [
    (2, 16, "204 s for 200,000 bytes", false),
    (3, 16, "76.8 s", false),
    (1, 8, "56.2 s, 9 of 10", false),
    (2, 8, "37.2 s, as INT", true),
    (1, 4, "37.4 s", true),
];

/// The same for reservations that never run outside their slots (Table 3).
const SLOTS: [(u64, u64, &str, bool); 12] = [
    (1, 7, "36.4 s, 10 of 10", true),
    (1, 8, "0 of 10", false),
    (2, 13, "36.5 s, 10 of 10", true),
    (2, 14, "65.2 s, 2 of 10", false),
    (2, 15, "0 of 10", false),
    (3, 15, "36.4 s, 10 of 10", true),
    (3, 16, "110.5 s, 9 of 10", false),
    (3, 17, "0 of 10", false),
    (4, 16, "36.4 s, 10 of 10", true),
    (4, 17, "0 of 10", false),
    (7, 20, "0 of 10", false),
    (8, 20, "36.4 s, 10 of 10", true),
];

/// The points of the study of a profile, and what wakes its threads, since their interrupt cannot do that everywhere.
/// What the paper says is of its own modem, and stands beside no other device.
pub fn points(profile: &Profile, work: &DeviceWork, wake: Wake) -> Vec<Point> {
    let mut points = papers_points(profile, work, wake);
    if !is_papers(profile) {
        for point in &mut points {
            (point.paper, point.paper_works) = (None, None);
        }
    }
    points
}

/// The same with all that the paper says, whatever the device is.
fn papers_points(profile: &Profile, work: &DeviceWork, wake: Wake) -> Vec<Point> {
    let spin = Competitor::Spin(Scheduling::Other);
    let part = |context: Context| DevicePart {
        profile: profile.clone(),
        context,
        wake,
        drop_stale: false,
        reclaim: false,
        compete: false,
        phases: Vec::new(),
        work: work.clone(),
    };
    let reservation = |runtime, period, form| Context::Reservation(reservation(profile, runtime, period, form));
    let point = |group, part: Option<DevicePart>, competitors: &[Competitor], paper, paper_works| Point {
        group,
        part,
        competitors: competitors.to_vec(),
        paper,
        paper_works,
    };
    let mut points = vec![point(Group::Control, None, &[], Some("callbacks at 1 ms, 2.4 % near 2 ms"), None)];
    // The reservation competes outside its time as Rialto/NT's did: the paper's 2 ms every 8 ms competes with the spinner.
    let competing = |runtime, period| DevicePart {
        compete: true,
        wake: Wake::Timer,
        ..part(reservation(runtime, period, Form::Floating))
    };
    for (part, paper) in [
        (part(Context::Irq), "1.8 ms in the interrupt, 3.3 ms at worst; callbacks up to above 5 ms"),
        (part(Context::Softirq), "5.4 us in the interrupt, the DPC as INT; callbacks up to above 5 ms"),
        (part(Context::Thread(Scheduling::Fifo(80))), "as INT in the thread; callbacks nearly as in the control"),
        (competing(2, 8), "6 to 8 ms elapsed at times; callbacks nearly as in the control"),
    ] {
        for competitors in [&[][..], &[spin], &[spin, Competitor::Walk]] {
            points.push(point(Group::Contexts, Some(part.clone()), competitors, Some(paper), Some(true)));
        }
    }
    for (scheduling, paper, works) in PRIORITIES {
        points.push(point(Group::Priorities, Some(part(Context::Thread(scheduling))), &[spin], paper, works));
    }
    for (runtime, period, paper, works) in COMPETING {
        points.push(point(Group::Competing, Some(competing(runtime, period)), &[spin], Some(paper), Some(works)));
    }
    for (runtime, period, paper, works) in SLOTS {
        let slots = DevicePart {
            profile: profile.with_buffers(STALE_BUFFERS),
            drop_stale: true,
            wake: Wake::Timer,
            ..part(reservation(runtime, period, Form::Slots))
        };
        points.push(point(Group::Slots, Some(slots), &[spin], Some(paper), Some(works)));
    }
    points
}

/// How many runs the study of a profile has, and how long it takes at least, ns.
pub fn least(profile: &Profile) -> (usize, u64) {
    let runs = points(profile, &DeviceWork::Filter, Wake::Timer).len();
    (runs, runs as u64 * MIN_POINT_NS)
}

/// Starting a run and calibrating its work takes about this long, ns.
const START_NS: u64 = 600_000_000;

/// How long a study takes in all, ns: its runs have to be started, too, and its load with each.
pub fn study_takes(plan: &StudyPlan) -> u64 {
    let warm_up_ns = u64::try_from(plan.load.warm_up.as_nanos()).unwrap_or(u64::MAX);
    let runs = least(&plan.profile).0 as u64;
    plan.duration_ns.saturating_add(warm_up_ns.saturating_add(START_NS).saturating_mul(runs))
}

/// Carries out a study. `observe` is told the point's number, how many there are, and what it is.
///
/// # Errors
/// [`StudyError`], if not even the bystander can be run. A point that this machine refuses is in the result, with the reason.
pub fn study(
    plan: &StudyPlan,
    observe: &mut dyn FnMut(usize, usize, &Point, &mut Observation<'_>) -> Step,
) -> Result<Study, StudyError> {
    let semaphore = !host::is_preempt_rt() && bpf::may_load().is_ok();
    let points = points(&plan.profile, &plan.work, if semaphore { Wake::Softirq } else { Wake::Timer });
    let count = points.len();
    let each_ns = (plan.duration_ns / count as u64).max(MIN_POINT_NS);
    let mut subjects: Vec<Subject> = Vec::new();
    let mut interrupted = false;
    for (number, point) in points.into_iter().enumerate() {
        let name = format!("{:02}-{}.punctual", number, file_name(&point));
        let run_plan = DeviceRunPlan {
            devices: point.part.iter().cloned().collect(),
            competitors: point.competitors.clone(),
            load: plan.load.clone(),
            running: LoadInfo::default(),
            cpus: vec![plan.cpu],
            duration_ns: each_ns,
            output: plan.directory.join(name),
            command_line: plan.command_line.clone(),
            refuse_every: 0,
            without_taps: false,
        };
        let outcome = run_point(&run_plan, &mut |observation| {
            let step = observe(number, count, &point, observation);
            interrupted |= step != Step::Go;
            step
        });
        let outcome = match outcome {
            Ok(run) => Ok(run),
            // A refusal because the study is about to end says nothing about this machine.
            Err(StudyError::Run(_)) if ending::is_asked() && !subjects.is_empty() => {
                interrupted = true;
                break;
            }
            Err(StudyError::Run(refused)) if point.part.is_some() => Err(refused.to_string()),
            Err(error) => return Err(error),
        };
        subjects.push(Subject { point, outcome });
        if interrupted {
            break;
        }
    }
    let seen: Vec<Seen<'_>> = subjects.iter().filter_map(seen).collect();
    let lowest_sufficient = lowest_sufficient(&seen).filter(|_| !interrupted);
    let least_intrusive = least_intrusive(&seen).filter(|_| !interrupted);
    Ok(Study { plan: plan.clone(), subjects, lowest_sufficient, least_intrusive, interrupted })
}

/// A point of which punctual itself withheld blocks is made again: so many times in all.
const MAX_TRIES: u32 = 3;

/// Runs a point. Where punctual itself withheld blocks, so that nothing can be said, the host or the machine's speed may have been to
/// blame: the work is timed again, and the last run counts.
fn run_point(
    plan: &DeviceRunPlan,
    step: &mut dyn FnMut(&mut Observation<'_>) -> Step,
) -> Result<DeviceRun, StudyError> {
    let mut made = run(plan, step)?;
    for again in 1..MAX_TRIES {
        if !was_withheld(&made) {
            break;
        }
        let output = plan.output.with_extension(format!("again-{again}.punctual"));
        // What was measured before stays.
        let Ok(next) = run(&DeviceRunPlan { output, ..plan.clone() }, step) else { break };
        made = next;
    }
    Ok(made)
}

/// Whether a run to its end cannot be judged because of blocks that punctual itself withheld.
fn was_withheld(run: &DeviceRun) -> bool {
    let is_complete = run.document.ended.as_ref().is_some_and(|ended| ended.reason == EndReason::Completed);
    let device = run.activations.devices.first().filter(|device| kept_from(device) > 0);
    is_complete && device.is_some_and(|device| kept_up(device, run.document.measured_ns()).is_none())
}

fn file_name(point: &Point) -> String {
    let what = point.part.as_ref().map_or_else(|| "control".to_owned(), |part| part.context.to_string());
    let competitors = point.competitors.iter().map(|competitor| format!("+{competitor}"));
    format!("{what}{}", competitors.collect::<String>()).replace([':', '/'], "-")
}

/// Whether the device kept up, as `report` says of the same recording. `None` if it did not run, if punctual itself
/// caused what it did not do, or if less than half of what was due came to be processed and that was not its doing.
pub fn holds(subject: &Subject) -> Option<bool> {
    let ran_ns = subject.outcome.as_ref().ok()?.document.measured_ns();
    kept_up(subject.device()?, ran_ns)
}

fn kept_up(device: &DeviceSummary, ran_ns: u64) -> Option<bool> {
    let due = ran_ns / device.period_ns.max(1);
    let is_most = device.processed.saturating_mul(2) >= due;
    keeps_up(device).filter(|keeps| is_most || !keeps)
}

/// The share of a bystander's callbacks that came more than 100 us away from their period.
pub fn off_share(intervals: &Distribution) -> Option<f64> {
    let count = intervals.count();
    let off = |value: u64| value.abs_diff(BYSTANDER_PERIOD_NS) > OFF_NS;
    let away: u64 = intervals.buckets().filter(|(value, _)| off(*value)).map(|(_, count)| count).sum();
    (count > 0).then(|| away as f64 / count as f64)
}

/// What a run showed of its context, if a device ran.
fn seen(subject: &Subject) -> Option<Seen<'_>> {
    let run = subject.outcome.as_ref().ok()?;
    let device = subject.device()?;
    Some(Seen {
        group: subject.point.group,
        context: &device.context,
        holds: holds(subject),
        off: off_share(&run.activations.bystander_intervals).unwrap_or(1.0),
        used: used(device),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_device::Catalogue;

    #[test]
    fn the_study_has_the_papers_points() {
        let points = points(Catalogue::shipped().find("v90").unwrap(), &DeviceWork::Filter, Wake::Softirq);
        let of = |group: Group| points.iter().filter(|point| point.group == group).count();
        assert_eq!(Group::ALL.map(of), [1, 12, 5, 5, 12]);
        let works = points.iter().filter(|point| point.group == Group::Slots && point.paper_works == Some(true));
        assert_eq!(works.count(), 5);
        for point in &points {
            assert!(!file_name(point).contains('/'));
        }
    }

    #[test]
    fn a_study_takes_the_warm_up_of_its_load_for_each_of_its_runs() {
        let profile = Catalogue::shipped().find("v90").unwrap().clone();
        let (runs, _) = least(&profile);
        let takes = |load: Load| {
            study_takes(&StudyPlan {
                profile: profile.clone(),
                work: DeviceWork::Filter,
                cpu: 0,
                load,
                duration_ns: 120_000_000_000,
                directory: PathBuf::new(),
                command_line: Vec::new(),
            })
        };
        let idle_ns = takes(Load::none());
        let warm_up = std::time::Duration::from_secs(5);
        assert_eq!(idle_ns, 120_000_000_000 + runs as u64 * START_NS);
        assert_eq!(takes(Load { warm_up, ..Load::none() }) - idle_ns, runs as u64 * 5_000_000_000);
    }

    #[test]
    fn what_the_paper_says_stands_beside_its_modem_only() {
        let of = |spec: &str| {
            let profile = Catalogue::shipped().parse_spec(spec).unwrap();
            points(&profile, &DeviceWork::Filter, Wake::Softirq)
        };
        let (papers, other) = (of("v90"), of("sdr 2400@2.4MS/s compute=400us"));
        let said = |points: &[Point]| points.iter().filter(|point| point.paper_works.is_some()).count();
        assert_eq!((said(&other), papers.len()), (0, other.len()));
        assert!(said(&papers) > 20 && other.iter().all(|point| point.paper.is_none()));
        let name = |points: &[Point]| points[10].part.as_ref().unwrap().context.to_string();
        assert_eq!([name(&papers), name(&other)], ["reservation:2ms/8ms", "reservation:302us/640us"]);
    }

    #[test]
    fn who_leaves_its_blocks_waiting_does_not_keep_up() {
        let device = |arrived, processed, underruns| DeviceSummary {
            arrived,
            processed,
            underruns,
            buffers: 2,
            period_ns: 1_000_000,
            ..DeviceSummary::default()
        };
        let kept_up = |device: &DeviceSummary| kept_up(device, 279_000_000);
        assert_eq!(kept_up(&device(279, 277, 0)), Some(true));
        assert_eq!(kept_up(&device(279, 277, 1)), Some(false));
        assert_eq!(kept_up(&device(279, 2, 2)), Some(false));
        assert_eq!(kept_up(&device(279, 270, 9)), Some(false));
        assert_eq!(kept_up(&device(0, 0, 0)), None);
        // What was dropped for a newer block was not served.
        assert_eq!(kept_up(&DeviceSummary { dropped: 200, ..device(279, 79, 0) }), Some(false));
        // A thread of the lowest priority beside one that spins: two wakeups, and what they lost is counted in two ways.
        let starved = DeviceSummary { lost: 199, coalesced: 199, unobserved: 2, ..device(201, 2, 2) };
        assert_eq!(kept_up(&starved), Some(false));
        // Or it began its first block and ended it with the run.
        assert_eq!(kept_up(&device(1, 1, 1)), Some(false));
    }

    #[test]
    fn who_had_next_to_nothing_to_serve_is_not_judged_and_the_machines_losses_are_its_own() {
        let device = DeviceSummary { buffers: 2, period_ns: 1_000_000, ..DeviceSummary::default() };
        let of = |arrived, processed| DeviceSummary { arrived, processed, ..device.clone() };
        assert_eq!(kept_up(&of(17, 17), 140_000_000), None);
        assert_eq!(kept_up(&of(70, 70), 140_000_000), Some(true));
        assert_eq!(kept_up(&DeviceSummary { refused: 200, ..of(279, 79) }, 279_000_000), None);
        // Blocks that punctual kept from it: some of them would have been late by themselves, and nobody knows which.
        let refused = DeviceSummary { refused: 30, underruns: 30, ..of(279, 249) };
        assert_eq!(kept_up(&refused, 279_000_000), None);
        assert_eq!(kept_up(&DeviceSummary { underruns: 31, ..refused }, 279_000_000), Some(false));
        // The same whether the blocks were late or lost, as long as the machine kept even FIFO 99 from the CPU.
        for processed in [1_000, 936] {
            let stalled = DeviceSummary { underruns: 64, underruns_outside: 64, ..of(1_000, processed) };
            assert_eq!(kept_up(&stalled, 1_000_000_000), Some(true));
        }
        assert_eq!(kept_up(&DeviceSummary { underruns: 64, ..of(1_000, 936) }, 1_000_000_000), Some(false));
    }

    #[test]
    fn callbacks_away_from_their_period_are_counted() {
        let mut intervals = Distribution::new();
        assert_eq!(off_share(&intervals), None);
        for value in [1_000_000, 1_050_000, 950_000, 3_000_000] {
            intervals.record(value);
        }
        assert_eq!(off_share(&intervals), Some(0.25));
    }
}
