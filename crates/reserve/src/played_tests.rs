//! Loops that are played: what an attempt says of each is compared with what the loop did.

use crate::{Activation, Attempt, AttemptCounts, Habits, Job, Jobs, PeriodicJob, Work};

const MS: u64 = 1_000_000;
const US: u64 = 1_000;

/// What a loop does when the next job was released before it ended one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// It goes on with the next one that is still to be released.
    Skips,
    /// It works off all of them.
    CatchesUp,
}

/// A loop: what each of its jobs takes, from which it is kept for how long, and how much time a CPU's ms takes it.
struct Loop<W, S> {
    manner: Manner,
    work: W,
    /// How long the thread is kept from the CPU when it wakes for this job.
    stall: S,
    /// Hundredths.
    slowness: u64,
}

/// What a loop did: its activations, and what became of its jobs.
struct Played {
    activations: Vec<Activation>,
    jobs: Jobs,
}

impl<W: Fn(u64) -> u64, S: Fn(u64) -> u64> Loop<W, S> {
    /// Plays what is released within so many periods.
    fn play(&self, job: Job, periods: u64) -> Played {
        let mut played = Played { activations: Vec::new(), jobs: Jobs::default() };
        let mut current: Option<Activation> = None;
        let (mut now_ns, mut number) = (0, 0);
        while number < periods {
            let released_ns = number * job.period_ns;
            let mut activation = match current.take() {
                Some(awake) if released_ns <= now_ns => awake,
                asleep => {
                    played.activations.extend(asleep);
                    let latency_ns = 5 * US + (self.stall)(number);
                    now_ns = released_ns + latency_ns;
                    Activation { released_ns, latency_ns, finished_ns: now_ns, executed_ns: 0 }
                }
            };
            // No two jobs take the same time.
            let work_ns = (self.work)(number) + number % 7 * US;
            now_ns += work_ns * self.slowness / 100;
            activation.executed_ns += work_ns;
            activation.finished_ns = now_ns;
            current = Some(activation);
            let is_late = now_ns - released_ns > job.deadline_ns;
            played.jobs.late += u64::from(is_late);
            played.jobs.on_time += u64::from(!is_late);
            let next = match self.manner {
                Manner::Skips => now_ns / job.period_ns + 1,
                Manner::CatchesUp => number + 1,
            };
            played.jobs.missing += next.min(periods) - number - 1;
            number = next;
        }
        played.activations.extend(current);
        played
    }
}

/// What an attempt says that lasted for so many periods and began with these habits; and the habits after it.
fn judged(played: &Played, job: Job, periods: u64, habits: Habits) -> (AttemptCounts, Habits) {
    let mut attempt = Attempt::begin(job, 0).of_loop(habits);
    played.activations.iter().for_each(|activation| attempt.take(activation, 0));
    let habits = attempt.habits();
    (attempt.end(periods * job.period_ns), habits)
}

/// That as many were late as are said to be, or more by some of those that are unclear; the same of those that were on time and missing.
fn assert_within(counts: &AttemptCounts, truth: Jobs, what: &str) {
    let (said, unclear) = (counts.jobs(), counts.unclear());
    for (said, truth) in [(said.on_time, truth.on_time), (said.late, truth.late), (said.missing, truth.missing)] {
        assert!((said..=said + unclear).contains(&truth), "{what}: {counts:?}, {truth} of {said}");
    }
    assert_eq!(said.all() + unclear, truth.all(), "{what}: {counts:?}");
}

fn job(period_ns: u64, work_ns: u64) -> Job {
    Job { period_ns, work_ns, deadline_ns: period_ns }
}

#[test]
fn jobs_that_a_loop_skips_are_missing_however_few_they_are() {
    let job = job(10 * MS, 550 * US);
    // Of 600 jobs, how many have to wait once, and how many are skipped for that: from one to more than a quarter.
    for (every, missing) in [(1_000, 1), (120, 7), (29, 26), (5, 163)] {
        let stall = |number: u64| {
            let is_stalled = number % every == every / 2 && number < 590;
            if is_stalled { (12 + number % 13) * MS } else { 0 }
        };
        let skips = Loop { manner: Manner::Skips, work: |_: u64| 520 * US, stall, slowness: 100 };
        let played = skips.play(job, 600);
        let (counts, _) = judged(&played, job, 600, Habits::default());
        assert_eq!(played.jobs.missing, missing, "every {every}");
        assert_eq!((counts.jobs(), counts.unclear()), (played.jobs, 0), "every {every}");
        // One that catches up loses none, though as many have to wait.
        let catches_up = Loop { manner: Manner::CatchesUp, ..skips };
        let played = catches_up.play(job, 600);
        let (counts, _) = judged(&played, job, 600, Habits::default());
        assert_eq!((counts.jobs(), counts.unclear()), (played.jobs, 0), "every {every}");
    }
}

/// Every 50th job takes 13 ms in place of 3 ms.
fn sometimes_long(number: u64) -> u64 {
    if number % 50 == 25 { 13 * MS } else { 3 * MS }
}

#[test]
fn a_long_job_of_a_loop_that_skips_is_not_taken_for_several() {
    let job = job(10 * MS, 3_060 * US);
    // As it was, others kept it from the CPU.
    let stall = |number: u64| if number % 9 == 8 && number < 190 { 21 * MS } else { 0 };
    let as_it_was = Loop { manner: Manner::Skips, work: sometimes_long, stall, slowness: 100 };
    let played = as_it_was.play(job, 200);
    let (counts, known) = judged(&played, job, 200, Habits::default());
    assert_eq!((counts.jobs(), counts.unclear()), (played.jobs, 0));
    for (slowness, missing) in [(100, 1), (160, 2), (210, 2), (240, 3), (310, 4)] {
        let reserved = Loop { manner: Manner::Skips, work: sometimes_long, stall: |_: u64| 0u64, slowness };
        let played = reserved.play(job, 50);
        let (counts, _) = judged(&played, job, 50, known);
        assert_eq!(played.jobs.missing, missing, "slowness {slowness}");
        assert_eq!((counts.jobs(), counts.unclear()), (played.jobs, 0), "slowness {slowness}");
        // If nothing is known of what it does, it is unclear, except where one job takes just as long as all of them.
        let played = reserved.play(job, 200);
        let (counts, _) = judged(&played, job, 200, Habits::default());
        assert_eq!(counts.jobs().missing, 0, "slowness {slowness}: {counts:?}");
        if missing < 3 {
            assert_within(&counts, played.jobs, &format!("slowness {slowness}"));
        }
    }
}

#[test]
fn a_loop_that_catches_up_after_a_long_job_is_known_by_the_time_that_its_stretches_take() {
    // Every 40th job takes 9 ms in place of 1.2 ms.
    let work = |number: u64| if number % 40 == 20 { 9 * MS } else { 1_200 * US };
    let (job, mut known) = (job(4 * MS, 1_250 * US), Habits::default());
    let (mut unclear, mut caught_up) = (Vec::new(), 0);
    for slowness in [100, 130, 160, 190, 220] {
        let catches_up = Loop { manner: Manner::CatchesUp, work, stall: |_: u64| 0u64, slowness };
        let played = catches_up.play(job, 240);
        let (counts, habits) = judged(&played, job, 240, known);
        assert_within(&counts, played.jobs, &format!("slowness {slowness}"));
        assert_eq!(counts.jobs().missing, 0, "{counts:?}");
        known = habits;
        unclear.push(counts.unclear());
        caught_up += counts.caught_up();
    }
    // It shows where not as many jobs are released within such a stretch as before.
    assert!(unclear[0] > 0 && unclear[1..] == [0; 4], "{unclear:?}");
    assert!(caught_up > 100, "{caught_up}");
}

/// What an attempt says of a thread with 3.5 ms of work every 5 ms that had 20 jobs, and has not slept since; the attempt begins with these
/// habits, 31 jobs are due, and `also` happens before its end.
fn never_done(habits: Habits, also: impl Fn(&mut Attempt)) -> (Jobs, u64) {
    let job = job(5 * MS, 3_550 * US);
    let mut attempt = Attempt::begin(job, 0).of_loop(habits);
    let each = Loop { manner: Manner::CatchesUp, work: |_: u64| 3_500 * US, stall: |_: u64| 0u64, slowness: 100 };
    each.play(job, 20).activations.iter().for_each(|activation| attempt.take(activation, 0));
    also(&mut attempt);
    let counts = attempt.end(220 * MS);
    assert!(!counts.succeeded() && counts.is_judged() && counts.jobs().on_time == 20, "{counts:?}");
    (counts.jobs(), counts.unclear())
}

#[test]
fn jobs_of_a_loop_that_catches_up_and_is_never_done_are_late() {
    let jobs = |late, missing| Jobs { on_time: 20, late, missing };
    let nothing = Habits::default();
    // It sleeps.
    assert_eq!(never_done(nothing, |_| ()), (jobs(0, 11), 0));
    // It works on one job after the other, and has not ended the last one.
    let works = |attempt: &mut Attempt| attempt.take_awake(70 * MS);
    assert_eq!(never_done(nothing, works), (jobs(10, 1), 0));
    // It had too little time for that: it has not ended one long job, or several.
    assert_eq!(never_done(nothing, |attempt| attempt.take_awake(20 * MS)), (jobs(0, 1), 10));
    // Of a loop that passes over jobs, or was seen to have such long ones, that is not known either.
    let job = job(5 * MS, 3_550 * US);
    let skips = Loop {
        manner: Manner::Skips,
        work: |_: u64| 3_500 * US,
        stall: |number: u64| if number % 9 == 8 { 9 * MS } else { 0 },
        slowness: 100,
    };
    let (_, passes_over) = judged(&skips.play(job, 100), job, 100, nothing);
    assert_eq!(never_done(passes_over, works), (jobs(0, 1), 10), "then it would have slept");
    assert_eq!(never_done(passes_over, |attempt| attempt.take_awake(4 * MS)), (jobs(0, 11), 0), "it works on one");
    let has_long_ones = |number: u64| if number == 50 { 80 * MS } else { 3_500 * US };
    let seldom = Loop { manner: Manner::CatchesUp, work: has_long_ones, stall: |_: u64| 0u64, slowness: 100 };
    let (_, one_was_long) = judged(&seldom.play(job, 200), job, 200, nothing);
    assert_eq!(never_done(one_was_long, works), (jobs(0, 1), 10));
}

#[test]
fn jobs_that_may_have_been_worked_off_between_sleeps_that_nobody_saw_are_not_missing() {
    let job = job(5 * MS, 3_550 * US);
    let each = Loop { manner: Manner::CatchesUp, work: |_: u64| 3_500 * US, stall: |_: u64| 0u64, slowness: 100 };
    let activations = each.play(job, 20).activations;
    let ended = |unseen_after: usize| {
        let mut attempt = Attempt::begin(job, 0);
        for (number, activation) in activations.iter().enumerate() {
            attempt.take(activation, 0);
            attempt.take_unseen(u64::from(number + 1 == unseen_after));
        }
        attempt.take_awake(70 * MS);
        assert!(attempt.is_only_silent(220 * MS));
        attempt.end(220 * MS)
    };
    // Since the last one that was seen: the attempt says nothing, and is made again.
    let counts = ended(20);
    assert_eq!((counts.jobs(), counts.unseen()), (Jobs { on_time: 20, late: 0, missing: 0 }, 11), "{counts:?}");
    assert!(!counts.is_judged() && counts.is_repeated(), "{counts:?}");
    // Before that: it has not slept since.
    let counts = ended(10);
    assert_eq!((counts.jobs(), counts.unseen()), (Jobs { on_time: 20, late: 9, missing: 1 }, 1), "{counts:?}");
}

#[test]
fn jobs_that_were_due_while_the_thread_was_behind_from_before_are_unclear() {
    let job = job(20 * MS, 5_100 * US);
    // It could not run for 678 ms, works off what was due meanwhile, and sleeps again from its 60th job on.
    let stall = |number: u64| if number == 0 { 678 * MS } else { 0 };
    let catches_up = Loop { manner: Manner::CatchesUp, work: |_: u64| 5 * MS, stall, slowness: 100 };
    let activations = catches_up.play(job, 200).activations;
    let behind_until_ns = activations[0].finished_ns;
    assert!(behind_until_ns > 800 * MS && activations[0].released_ns == 0, "{:?}", activations[0]);
    // The attempt begins meanwhile. What was released before may have come or not.
    for first in [0, 1] {
        let began_ns = 100 * MS + 1;
        let mut attempt = Attempt::begin(job, began_ns);
        activations[first..].iter().for_each(|activation| attempt.take(activation, 0));
        let counts = attempt.end(4_000 * MS);
        let (came, due) = (activations.len() as u64 - 1, (4_000 * MS - began_ns) / job.period_ns);
        assert_eq!(counts.jobs(), Jobs { on_time: came, late: 0, missing: 0 }, "{counts:?}");
        assert!((due - 1..=due).contains(&(came + counts.unclear())) && counts.unclear() > 30, "{due}: {counts:?}");
        assert!(!counts.is_judged(), "{counts:?}");
    }
}

#[test]
fn a_thread_that_sleeps_until_its_first_job_is_not_behind() {
    let job = job(10 * MS, 2_100 * US);
    let each = Loop { manner: Manner::CatchesUp, work: |_: u64| 2 * MS, stall: |_: u64| 0u64, slowness: 100 };
    let activations = each.play(job, 100).activations;
    for began_ns in [0, 1, 2 * MS, 5 * MS, 10 * MS - 1] {
        let mut attempt = Attempt::begin(job, began_ns);
        activations.iter().for_each(|activation| attempt.take(activation, 0));
        let counts = attempt.end(1_000 * MS);
        assert!(counts.succeeded() && counts.jobs().on_time >= 99, "{began_ns}: {counts:?}");
    }
}

#[test]
fn two_jobs_in_a_row_are_not_taken_for_one_where_a_few_are_as_long_as_two() {
    let work = |number: u64| if number % 20 == 6 { 2_600 * US } else { MS };
    let stall = |number: u64| if number.is_multiple_of(2) { 6 * MS } else { 0 };
    let works = Work { median_ns: MS, p99_ns: 2_610 * US, max_ns: 2_610 * US };
    let (jobs, merged, regular_thousandths) = (800, 0, 1_000);
    let worst_response_ns = 3 * MS;
    let found = PeriodicJob { period_ns: 5 * MS, jobs, merged, regular_thousandths, work: works, worst_response_ns };
    let job = job(5 * MS, works.p99_ns);
    // Every second job has to wait until the next one is released, so that none has a sleep of its own.
    for (manner, missing) in [(Manner::CatchesUp, 0), (Manner::Skips, 100)] {
        let played = Loop { manner, work, stall, slowness: 100 }.play(job, 200);
        assert_eq!((played.activations.len(), played.jobs.missing), (100, missing), "{manner:?}");
        let (counts, _) = judged(&played, job, 200, Habits::of(&found));
        assert_eq!((counts.jobs(), counts.unclear()), (played.jobs, 0), "{manner:?}");
    }
}

/// Activations within so many ms of a loop that sleeps for 8 ms after each job of about 2 ms, which takes so many hundredths of its CPU time.
fn sleeps_for_the_same_time(slowness: u64, length_ms: u64) -> Vec<Activation> {
    let (mut released_ns, mut number) = (0, 0);
    let mut activations = Vec::new();
    while released_ns < length_ms * MS {
        let executed_ns = 2 * MS + number % 7 * 40 * US;
        let finished_ns = released_ns + 5 * US + executed_ns * slowness / 100;
        activations.push(Activation { released_ns, latency_ns: 5 * US, finished_ns, executed_ns });
        released_ns = finished_ns + 8 * MS;
        number += 1;
    }
    activations
}

#[test]
fn a_loop_that_sleeps_for_the_same_time_after_each_job_is_slow_and_misses_none() {
    let job = job(10 * MS + 125 * US, 2_240 * US);
    let judged = |activations: &[Activation], length_ms: u64| {
        let mut attempt = Attempt::begin(job, 0);
        activations.iter().for_each(|activation| attempt.take(activation, 0));
        attempt.end(length_ms * MS)
    };
    let as_found = judged(&sleeps_for_the_same_time(100, 2_000), 2_000);
    assert!(as_found.succeeded() && as_found.slow() == 0, "{as_found:?}");
    // Each job takes three times as long, and is on time; or six times as long, and is late.
    for (slowness, is_late) in [(300, false), (600, true)] {
        let activations = sleeps_for_the_same_time(slowness, 2_000);
        let came = activations.len() as u64;
        let counts = judged(&activations, 2_000);
        let expected = if is_late { (0, came) } else { (came, 0) };
        let Jobs { on_time, late, missing } = counts.jobs();
        assert_eq!(((on_time, late), missing, counts.unclear()), (expected, 0, 0), "{slowness}: {counts:?}");
        let usual = 2_000 * MS / job.period_ns;
        assert!(counts.slow() > 0 && (usual - 10..=usual).contains(&(came + counts.slow())), "{slowness}: {counts:?}");
        assert!(counts.is_judged() && !counts.succeeded(), "{slowness}: {counts:?}");
    }
    // It ended in the middle: the next one never came, and none was due after that.
    let activations = sleeps_for_the_same_time(100, 1_000);
    let counts = judged(&activations, 2_000);
    assert_eq!((counts.jobs().missing, counts.jobs().on_time), (1, activations.len() as u64), "{counts:?}");
    assert!(counts.slow() > 80 && !counts.succeeded(), "{counts:?}");
}

#[test]
fn counts_that_contradict_the_period_say_nothing_of_the_setting() {
    let job = job(10 * MS, 1_900 * US);
    let ended = |released: &[u64], length_ns: u64| {
        let mut attempt = Attempt::begin(job, 0);
        for &released_ns in released {
            let finished_ns = released_ns + 1_800 * US;
            let latency_ns = 5 * US;
            attempt.take(&Activation { released_ns, latency_ns, finished_ns, executed_ns: 1_800 * US }, 0);
        }
        attempt.end(length_ns)
    };
    // 353 periods of 10 ms, then 94 of 5 ms; every second job only; as it was found, with up to 0.8 ms earlier or later.
    let faster: Vec<u64> =
        (0..353).map(|number| number * 10 * MS).chain((0..94).map(|number| 3_530 * MS + number * 5 * MS)).collect();
    let slower: Vec<u64> = (0..200).map(|number| number * 20 * MS).collect();
    let jitters: Vec<u64> = (0..400).map(|number| number * 10 * MS + number * 7 % 17 * 100 * US).collect();
    for (what, released, is_other) in [("faster", faster, 1), ("slower", slower, 1), ("jitters", jitters, 0)] {
        let counts = ended(&released, 4_000 * MS);
        assert_eq!(counts.off_period(), is_other, "{what}: {counts:?}");
        assert_eq!((counts.is_judged(), counts.succeeded()), (is_other == 0, is_other == 0), "{what}: {counts:?}");
    }
    // A few are skipped by a loop whose others are on time: that is no other period.
    let some: Vec<u64> = (0..400).filter(|number| number % 5 > 0).map(|number| number * 10 * MS).collect();
    let counts = ended(&some, 4_000 * MS);
    assert!(counts.off_period() == 0 && counts.jobs().missing > 60 && counts.is_judged(), "{counts:?}");
}
