//! The program whose thread is studied, and the load beside it.

use super::attempts::{Beginning, MAX_REPEATS, MadeAgain};
use super::device::DeviceSubject;
use super::followed::{Came, Followed, Next};
use super::namesakes::{Nth, named};
use super::settings::{self, is_scheduled, reserved, wanted};
use super::still_there::{check_process, has_ended, name_now};
use super::stolen::Stolen;
use super::stuck::StuckThreads;
use super::subject::{AttemptPlan, Made, Tried, long_enough};
use super::waits::Wakings;
use super::watched::Watched;
use super::{Doing, ReservePlan, ReserveProgress, Running as Going, StudyEnd, end_of, step};
use crate::StudyError;
use crate::running::{GettingReady, Running};
use punctual_kernel::keeper::Keeper;
use punctual_kernel::other_thread::{Before, PutBack, ThreadScheduling, family};
use punctual_kernel::reservation_watch::{Stillness, Stuck};
use punctual_kernel::{Refused, clock, cpus};
use punctual_load::Load;
use punctual_probe::{Observation, Plan, RunError, Selection, Step};
use punctual_recording::{EndReason, LoadInfo};
use punctual_reserve::{AttemptCounts, Habits, Job, PeriodicJob, Reservation, Setting};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Whose thread it is.
#[derive(Debug, Clone)]
pub enum Subject {
    /// A command, which runs for as long as the study does: see [`Subject::command`].
    Command(Box<Load>),
    /// A process that is already running.
    Process(u32),
    /// A soft device, started anew with each setting.
    Device(Box<DeviceSubject>),
}

impl Subject {
    /// A program and its arguments.
    pub fn command(words: Vec<String>) -> Subject {
        let mut program = Load::none();
        program.add_program(words);
        Subject::Command(Box::new(program.split().1))
    }
}

/// How long the thread rests in its original state between two settings.
const REST: Duration = Duration::from_millis(100);
/// How much longer attempts may take in all where the kernel does not let the thread run.
const STUCK: Duration = Duration::from_secs(10);

/// Why what was set for a thread is not what it has.
const OVERRULED: &str = "something else schedules the thread, too: what was set did not stay";

/// A program that is followed again and again while it runs.
pub(super) struct Program<'a> {
    load: Option<Running<'a>>,
    command: Option<Running<'a>>,
    process: u32,
    /// The thread, once it is chosen.
    tid: u32,
    /// All threads that were chosen so far, as they were then.
    chosen: Vec<Before>,
    /// Other threads that have a reservation while a setting is tried.
    beside: Vec<(u32, Reservation)>,
    /// What the loops of threads did so far, under whatever setting.
    habits: BTreeMap<u32, Habits>,
    keeper: Keeper,
    /// What could not be put back, until somebody asks.
    not_put_back: Vec<String>,
    /// The same of attempts that do not count.
    made_again: MadeAgain,
    wakings: Wakings,
    stuck: StuckThreads,
    info: LoadInfo,
    command_line: Vec<String>,
    cpus: Vec<u32>,
}

impl<'a> Program<'a> {
    /// Starts the load, then the command, and the keeper.
    pub(super) fn start(
        plan: &'a ReservePlan,
        getting_ready: &mut dyn FnMut(GettingReady) -> bool,
    ) -> Result<Program<'a>, StudyError> {
        if let Subject::Process(process) = plan.subject {
            check_process(process)?;
        }
        let keeper = Keeper::start().map_err(RunError::from)?;
        let load =
            if plan.load.is_none() { None } else { Some(Running::start(&plan.load, None, None, getting_ready)?) };
        let (command, process) = match &plan.subject {
            Subject::Process(process) => (None, *process),
            Subject::Device(_) => (None, 0),
            Subject::Command(program) => {
                let running = Running::start(program, None, None, getting_ready)?;
                let process = running.processes().first().copied().unwrap_or(0);
                (Some(running), process)
            }
        };
        Ok(Program {
            load,
            command,
            process,
            tid: 0,
            chosen: Vec::new(),
            beside: Vec::new(),
            habits: BTreeMap::new(),
            keeper,
            not_put_back: Vec::new(),
            made_again: MadeAgain::default(),
            wakings: Wakings::default(),
            stuck: StuckThreads::default(),
            info: plan.load.info(),
            command_line: plan.command_line.clone(),
            cpus: cpus::online(),
        })
    }

    /// All of the program's threads, and those of what it has started.
    pub(super) fn everybody(&self) -> Selection {
        Selection::of_family(family(self.process))
    }

    /// Follows threads into a recording for this long, or until `look` has seen enough.
    pub(super) fn follow(
        &mut self,
        whom: Selection,
        output: PathBuf,
        duration: Duration,
        look: &mut dyn FnMut(&Followed<'_>) -> Next,
    ) -> Result<StudyEnd, StudyError> {
        let mut plan = Plan::new(output);
        plan.follow = Some(whom);
        plan.duration_ns = Some(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
        plan.load = self.info.clone();
        plan.command_line.clone_from(&self.command_line);
        let mut stolen = Stolen::default();
        let cpus = &self.cpus;
        let mut came = Came::default();
        let (command, load) = (&mut self.command, &mut self.load);
        let (keeper, stuck) = (&mut self.keeper, &mut self.stuck);
        let mut failure = None;
        let outcome = punctual_probe::run(&plan, &mut |observation: &mut Observation<'_>| {
            if observation.ended_ns.is_some() {
                return Step::Go;
            }
            came.take(observation);
            // What ended since is not known yet: by the clock, a thread would be silent while this process wrote to a disk.
            let now_ns = observation.known_until_ns;
            stolen.look(cpus, clock::monotonic_ns());
            let freed = keeper.free_stuck();
            let followed = came.followed(&stolen, !freed.is_empty(), (observation.elapsed, now_ns));
            if command.as_mut().is_some_and(|command| command.look().over) {
                return Step::Stop(EndReason::CommandEnded, None);
            }
            if stuck.take(freed) {
                return Step::Stop(EndReason::Completed, None);
            }
            if let Some(load) = load {
                failure = failure.take().or(load.look().failure);
            }
            match look(&followed) {
                Next::Go => step(failure.is_none()),
                Next::Enough => Step::Stop(EndReason::Completed, None),
                Next::Stop => step(false),
            }
        });
        let ended = self.command.as_mut().is_some_and(|command| command.look().over)
            || !self.chosen.iter().all(Before::is_there);
        let outcome = match outcome {
            // What was measured before stays.
            Err(_) if punctual_kernel::ending::is_asked() => return Ok(StudyEnd::Interrupted),
            Err(_) if ended => return Ok(StudyEnd::ProgramEnded),
            outcome => outcome?,
        };
        if let Some(failure) = failure {
            return Err(StudyError::LoadFailed(failure));
        }
        self.wakings.take(outcome.document.followed.as_ref());
        Ok(end_of(outcome.document.ended.map(|ended| ended.reason)))
    }

    /// Gives the thread this setting, after a rest in its original state; others have their reservations meanwhile.
    pub(super) fn set(&mut self, setting: Setting) -> Result<(), Refused> {
        settings::check(self.tid, setting)?;
        let beside = self.beside.iter().map(|(tid, reservation)| (*tid, reserved(*reservation)));
        let all: Vec<(u32, ThreadScheduling)> = beside.chain(wanted(setting).map(|own| (self.tid, own))).collect();
        self.set_all(&all).map_err(|(_, refused)| refused)
    }

    /// Whether the thread has ended, or one of those that have a reservation beside it.
    fn any_has_ended(&self) -> bool {
        let beside = self.beside.iter().map(|(tid, _)| *tid);
        beside.chain([self.tid]).any(|tid| has_ended(&self.chosen, tid))
    }

    /// Schedules all these threads so, or none, after a rest in their original state. Otherwise says which was refused.
    fn set_all(&mut self, settings: &[(u32, ThreadScheduling)]) -> Result<(), (u32, Refused)> {
        self.restore();
        std::thread::sleep(REST);
        for (tid, wanted) in settings {
            let changed = match has_ended(&self.chosen, *tid) {
                true => Err(Refused::because(format!("setting {wanted} for thread {tid}"), "it has ended")),
                false => self.keeper.change(*tid, *wanted),
            };
            if let Err(refused) = changed {
                self.restore();
                return Err((*tid, refused));
            }
        }
        Ok(())
    }

    fn restore(&mut self) {
        let refused = |(before, what): (Before, PutBack)| match what {
            PutBack::Refused(refused) => Some(format!("thread {} was not restored: {refused}", before.tid)),
            PutBack::Done | PutBack::Gone => None,
        };
        for what in self.keeper.put_back().into_iter().filter_map(refused) {
            // Every trial tries again.
            if !self.not_put_back.contains(&what) {
                self.not_put_back.push(what);
            }
        }
    }

    /// Why what was measured says nothing of its setting: a reservation was given up, or something else has set another one.
    fn refused(&mut self, overruled: bool) -> Option<Made> {
        let why = match self.stuck.given_up() {
            Some((tid, why)) => format!("keeping the reservation of thread {tid}: {why}"),
            None if overruled => OVERRULED.to_owned(),
            None => return None,
        };
        Some(Made::Refused { why, is_full: false })
    }

    /// What follows is about a thread of this process.
    pub(super) fn turn_to(&mut self, process: u32) {
        (self.process, self.tid) = (process, 0);
    }

    /// Everything that follows is about this thread.
    pub(super) fn choose(&mut self, thread: Before) {
        self.tid = thread.tid;
        self.chosen.push(thread);
    }

    /// This job was found in a thread that was chosen.
    pub(super) fn know(&mut self, tid: u32, job: &PeriodicJob) {
        self.habits.insert(tid, Habits::of(job));
    }

    /// Whether this thread was chosen.
    pub(super) fn has_chosen(&self, tid: u32) -> bool {
        self.chosen.iter().any(|chosen| chosen.tid == tid)
    }

    /// For which of the program's threads without a reservation it waits, if it does, in words.
    pub(super) fn waits_in_words(&self) -> Option<String> {
        self.wakings.in_words(self.tid, self.process, &|tid| self.has_chosen(tid))
    }

    /// Its threads, and those of what it has started, whose names are wanted.
    pub(super) fn named(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<Before> {
        named(self.process, is_wanted)
    }

    /// Which of the program's threads with its name it is; `None` if it has ended.
    pub(super) fn nth(&self) -> Option<Nth> {
        Nth::of(self.process, self.tid)
    }

    /// What the thread is named by now; `None` if it has ended.
    pub(super) fn name_now(&self) -> Option<String> {
        name_now(&self.chosen, self.tid)
    }

    /// Settings of this thread, which was chosen, are tried while others have their reservations.
    pub(super) fn go_on(&mut self, tid: u32, beside: Vec<(u32, Reservation)>) {
        (self.tid, self.beside) = (tid, beside);
    }

    /// Sets reservations for good, all or none: for processes, once `tell` knows how their threads were; for a command,
    /// for as long as what is returned lives. Otherwise says why none stays, and which threads were not put back.
    pub(super) fn let_stay(
        mut self,
        reservations: &[(u32, Reservation)],
        tell: &mut dyn FnMut(&[Before]) -> Result<(), Refused>,
    ) -> Result<Option<Going<'a>>, Vec<String>> {
        let settings: Vec<(u32, ThreadScheduling)> =
            reservations.iter().map(|(tid, reservation)| (*tid, reserved(*reservation))).collect();
        if let Err((_, refused)) = self.set_all(&settings) {
            return Err(self.not_kept(&refused));
        }
        if self.command.is_some() {
            return Ok(Some(Going(Left(self))));
        }
        // Noted together: before any of them stays, all of them can be undone.
        if let Err(refused) = tell(self.keeper.held()) {
            return Err(self.not_kept(&refused));
        }
        self.keeper.let_stay().map_err(|refused| vec![refused.to_string()])?;
        Ok(None)
    }

    fn not_kept(&mut self, refused: &Refused) -> Vec<String> {
        let not_put_back = self.put_back();
        std::iter::once(refused.to_string()).chain(not_put_back).collect()
    }

    /// Measures several threads at once, some of them with reservations, in one attempt that does not end early.
    pub(super) fn attempt_all(
        &mut self,
        threads: &[(u32, Job)],
        reservations: &[(u32, Reservation)],
        (doing, attempt_ns, output): (Doing, u64, PathBuf),
        observe: &mut dyn FnMut(&ReserveProgress) -> bool,
    ) -> Result<AllMade, StudyError> {
        let settings: Vec<(u32, ThreadScheduling)> =
            reservations.iter().map(|(tid, reservation)| (*tid, reserved(*reservation))).collect();
        if let Err((tid, refused)) = self.set_all(&settings) {
            return Ok(match has_ended(&self.chosen, tid) {
                true => AllMade::Counts(StudyEnd::ProgramEnded, Vec::new()),
                false => AllMade::Refused(tid, refused),
            });
        }
        let longest_ns = threads.iter().map(|(_, job)| job.period_ns.max(job.deadline_ns)).max().unwrap_or(0);
        let attempt_ns = long_enough(attempt_ns, longest_ns);
        let tids: Vec<u32> = threads.iter().map(|(tid, _)| *tid).collect();
        let mut beginning = Beginning::of_all(tids.clone(), longest_ns, attempt_ns);
        let duration = Duration::from_nanos(attempt_ns);
        let whom = Selection::of_threads(tids);
        let mut current: Option<(Vec<Watched>, u64)> = None;
        let (mut executed_ns, mut ended) = (vec![0u64; threads.len()], Vec::new());
        let habits = self.habits.clone();
        let begin = |(tid, job): &(u32, Job), now_ns: u64| {
            Watched::begin(*tid, *job, habits.get(tid).copied().unwrap_or_default(), now_ns)
        };
        let longest = 2 * (duration + Duration::from_nanos(beginning.at_most_ns())) + STUCK;
        let end = self.follow(whom, output, longest, &mut |followed| {
            let now_ns = followed.now_ns;
            // What came meanwhile is not the settings': it begins again if there is time.
            if followed.freed && followed.elapsed <= longest / 2 {
                current = None;
                beginning.again(now_ns);
                executed_ns.fill(0);
            } else if current.is_none()
                && let Some(begins_ns) = beginning.look(followed)
            {
                current = Some((threads.iter().map(|thread| begin(thread, begins_ns)).collect(), begins_ns));
            }
            if let Some((attempts, began_ns)) = &mut current {
                for (attempt, executed_ns) in attempts.iter_mut().zip(&mut executed_ns) {
                    *executed_ns += attempt.take(followed);
                }
                if now_ns >= *began_ns + attempt_ns {
                    ended = attempts.iter().map(|attempt| attempt.end(now_ns)).collect();
                }
            }
            let progress = ReserveProgress { doing, elapsed: followed.elapsed.min(duration), duration };
            match observe(&progress) {
                _ if !ended.is_empty() => Next::Enough,
                true => Next::Go,
                false => Next::Stop,
            }
        })?;
        if let Some((tid, why)) = self.stuck.given_up() {
            let refused = Refused::because(format!("keeping the reservation of thread {tid}"), why);
            return Ok(AllMade::Refused(tid, refused));
        }
        if end == StudyEnd::Finished
            && let Some(made) = changed_meanwhile(threads, &settings)
        {
            return Ok(made);
        }
        self.habits.extend(threads.iter().zip(&ended).map(|((tid, _), (_, habits))| (*tid, *habits)));
        let share = |executed_ns: u64| executed_ns.saturating_mul(1_000_000) / attempt_ns.max(1);
        let counts = ended.into_iter().map(|(counts, _)| counts);
        Ok(AllMade::Counts(end, counts.zip(executed_ns.into_iter().map(share)).collect()))
    }
}

/// What came of measuring several threads at once.
pub(super) enum AllMade {
    /// How it ended, and for each thread what was counted and its share of a CPU, millionths.
    Counts(StudyEnd, Vec<(AttemptCounts, u64)>),
    /// This thread has no such reservation.
    Refused(u32, Refused),
}

/// What makes a measurement of several threads say nothing of their settings: one has ended, or is scheduled otherwise.
fn changed_meanwhile(threads: &[(u32, Job)], settings: &[(u32, ThreadScheduling)]) -> Option<AllMade> {
    if threads.iter().any(|(tid, _)| ThreadScheduling::of(*tid).is_err()) {
        return Some(AllMade::Counts(StudyEnd::ProgramEnded, Vec::new()));
    }
    let is_other = |tid: u32, wanted: ThreadScheduling| ThreadScheduling::of(tid).is_ok_and(|now| now != wanted);
    let (tid, wanted) = settings.iter().find(|(tid, wanted)| is_other(*tid, *wanted))?;
    let refused = Refused::because(format!("keeping {wanted} for thread {tid}"), OVERRULED);
    Some(AllMade::Refused(*tid, refused))
}

impl Tried for Program<'_> {
    fn attempt(
        &mut self,
        job: Job,
        plan: &AttemptPlan,
        observe: &mut dyn FnMut(&ReserveProgress) -> bool,
    ) -> Result<Made, StudyError> {
        let tid = self.tid;
        if let Err(refused) = self.set(plan.setting) {
            return Ok(match self.any_has_ended() {
                true => Made::Counts(StudyEnd::ProgramEnded, Vec::new()),
                false => Made::Refused { why: refused.to_string(), is_full: refused.is_full },
            });
        }
        let attempt_ns = long_enough(plan.attempt_ns, job.period_ns);
        let mut beginning = Beginning::of(tid, job, plan);
        let (at_most_ns, most) = (attempt_ns + beginning.at_most_ns(), u64::from(plan.count + MAX_REPEATS + 1));
        let duration = Duration::from_nanos(most * at_most_ns + beginning.at_most_ns()) + STUCK;
        let shown = Duration::from_nanos(u64::from(plan.count) * attempt_ns);
        let mut stillness = Stillness::default();
        let (mut done, mut again, mut overruled, mut is_gone) = (Vec::new(), MadeAgain::default(), false, false);
        // The attempt in progress, and when it ends.
        let mut current: Option<(Watched, u64)> = None;
        let mut habits = self.habits.get(&tid).copied().unwrap_or_default();
        let chosen = self.chosen.clone();
        let end = self.follow(Selection::of_thread(tid), plan.output.clone(), duration, &mut |followed| {
            let now_ns = followed.now_ns;
            if followed.freed {
                // What came of the attempt meanwhile is not the setting's: it begins again.
                current = None;
                beginning.again(now_ns);
            } else if current.is_none()
                && let Some(begins_ns) = beginning.look(followed)
            {
                current = Some((Watched::begin(tid, job, habits, begins_ns), begins_ns + attempt_ns));
                stillness = Stillness::default();
            }
            if let Some((attempt, ends_ns)) = &mut current {
                attempt.take(followed);
                let is_over = now_ns >= *ends_ns || (plan.ends_early() && attempt.has_failed(now_ns));
                // A thread that does not run at all is freed in a moment, unless something else schedules it now.
                let is_silent = is_over && plan.is_reserved() && attempt.is_only_silent(now_ns);
                let may_be_stuck = is_silent && is_scheduled(tid, plan.setting) && stillness.goes_on(tid);
                if is_over && !may_be_stuck {
                    let (counts, known) = attempt.end(now_ns);
                    (current, habits) = (None, known);
                    beginning.after(&counts, now_ns);
                    // What came of a thread that has ended is not the setting's, nor does anything else schedule it.
                    is_gone = has_ended(&chosen, tid);
                    overruled = !is_gone && !is_scheduled(tid, plan.setting);
                    if counts.is_repeated() && plan.setting != Setting::AsItWas && again.attempts < MAX_REPEATS {
                        again.take(&counts);
                    } else if !is_gone {
                        done.push(counts);
                    }
                }
            }
            let progress = ReserveProgress { doing: plan.doing, elapsed: followed.elapsed.min(shown), duration: shown };
            match observe(&progress) {
                _ if overruled || is_gone || done.len() >= plan.count as usize => Next::Enough,
                true => Next::Go,
                false => Next::Stop,
            }
        })?;
        self.habits.insert(tid, habits);
        self.made_again.add(&again);
        let end = if is_gone { StudyEnd::ProgramEnded } else { end };
        Ok(self.refused(overruled).unwrap_or(Made::Counts(end, done)))
    }

    /// Puts every thread back; returns what could not be put back since the last time, whom the kernel did not let run, and which
    /// attempts do not count.
    fn put_back(&mut self) -> Vec<String> {
        self.restore();
        std::mem::take(&mut self.not_put_back)
            .into_iter()
            .chain(self.stuck.in_words())
            .chain(self.made_again.in_words())
            .collect()
    }
}

/// A command that is left running.
pub(super) struct Left<'a>(Program<'a>);

impl Left<'_> {
    /// Threads that the kernel did not let run, since the last look.
    pub(super) fn free_stuck(&mut self) -> Vec<Stuck> {
        self.0.keeper.free_stuck()
    }

    pub(super) fn has_ended(&mut self) -> bool {
        self.0.load = None;
        self.0.command.as_mut().is_none_or(|command| command.look().over)
    }
}
