//! Loops that catch up after an overrun, loops that skip periods, and loops of which nothing shows which they do.

use punctual_recording::{AfterOverrun, CycleCount, Cycles, Wakeup};

const MS: u64 = 1_000_000;
/// How late a cycle usually begins, and how long it executes, ns.
const LATE: u64 = 30_000;
const WORK: u64 = 210_000;

/// What a loop does when its next cycle is due already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    CatchesUp,
    Skips,
    MakesUpFor(u64),
}

impl Kind {
    fn limit(self) -> u64 {
        match self {
            Kind::CatchesUp => u64::MAX,
            Kind::Skips => 0,
            Kind::MakesUpFor(limit) => limit,
        }
    }
}

/// The wakeups of a loop of 1 kHz that is kept from running for this long, ns, once in 100 ms, and how many of its
/// cycles ended after the next was due. `executed` says whether the recording knows what its cycles executed.
fn play(kind: Kind, delays: &[u64], executed: bool) -> (Vec<Wakeup>, u64) {
    let (mut wakeups, mut overruns) = (Vec::new(), 0);
    let (mut due, mut delays) = (MS, delays.iter());
    let limit = kind.limit();
    for _ in 0..delays.len() * 100 {
        let late = if due / MS % 100 == 50 { LATE + delays.next().copied().unwrap_or(0) } else { LATE };
        let (mut now, mut cycles, mut own) = (due + late + WORK, 1, due);
        overruns += u64::from(now > own + MS);
        while cycles <= limit && now > own + MS {
            (now, cycles, own) = (now + WORK, cycles + 1, own + MS);
            overruns += u64::from(now > own + MS);
        }
        wakeups.push(Wakeup {
            tid: 7,
            expected_ns: due,
            total_ns: late,
            work_ns: Some(now - due - late),
            executed_ns: executed.then_some(cycles * WORK),
            ..Wakeup::default()
        });
        due = (now / MS + 1) * MS;
    }
    (wakeups, overruns)
}

/// The wakeups of a loop of 1 kHz with a cycle of so much work of its own, ns, and two short delays in each hundred, and
/// how many of its cycles ended after the next was due.
fn play_long_work(kind: Kind, long: u64) -> (Vec<Wakeup>, u64) {
    let (mut wakeups, mut overruns, mut due) = (Vec::new(), 0, MS);
    for number in 0..3_000 {
        let late = match number % 100 {
            30 => LATE + 900_000,
            60 => LATE + 1_700_000,
            _ => LATE,
        };
        let work = if number % 100 == 90 { long } else { WORK };
        let (mut now, mut cycles, mut own) = (due + late + work, 1, due);
        overruns += u64::from(now > own + MS);
        while cycles <= kind.limit() && now > own + MS {
            (now, cycles, own) = (now + WORK, cycles + 1, own + MS);
            overruns += u64::from(now > own + MS);
        }
        let executed = work + (cycles - 1) * WORK;
        wakeups.push(Wakeup {
            tid: 7,
            expected_ns: due,
            total_ns: late,
            work_ns: Some(executed),
            executed_ns: Some(executed),
            ..Wakeup::default()
        });
        due = (now / MS + 1) * MS;
    }
    (wakeups, overruns)
}

fn counted(wakeups: &[Wakeup], unseen: u64) -> (CycleCount, Vec<u64>) {
    let mut cycles = Cycles::new(MS);
    wakeups.iter().for_each(|wakeup| cycles.take(wakeup, true));
    let (_, count, joined) = cycles.finish(|_| unseen).next().unwrap();
    (count, joined)
}

const DELAYS: [u64; 5] = [4_870_000, 900_000, 12_345_678, 2_500_000, 1_234_567];

#[test]
fn a_loop_that_catches_up_overran_as_often_as_it_says_itself() {
    let (wakeups, overruns) = play(Kind::CatchesUp, &DELAYS, true);
    let (count, joined) = counted(&wakeups, 0);
    assert_eq!(count.after_overrun(), AfterOverrun::CatchesUp, "{count:?}");
    assert_eq!((count.certain, count.own_overruns()), (5, overruns), "{count:?}");
    assert!(overruns > 20 && joined.is_empty(), "{overruns} {joined:?}");
    // The longest is no cycle, but a row of them.
    assert!(count.longest_missed >= 12 && count.longest_ns > 13 * MS, "{count:?}");
}

#[test]
fn a_loop_that_skips_periods_overran_once_each_time() {
    let (wakeups, overruns) = play(Kind::Skips, &DELAYS, true);
    let (count, _) = counted(&wakeups, 0);
    assert_eq!(count.after_overrun(), AfterOverrun::Skips, "{count:?}");
    assert_eq!((overruns, count.certain, count.own_overruns()), (5, 5, 5), "{count:?}");
    assert!(count.began_within() > 20, "{count:?}");
}

#[test]
fn a_loop_that_makes_up_for_some_periods_and_drops_the_others_is_told_from_both() {
    let delays = [12_345_678, 900_000, 9_870_000, 2_500_000, 20_100_000, 15_210_000, 4_870_000];
    for limit in [2, 3, 5] {
        let (wakeups, overruns) = play(Kind::MakesUpFor(limit), &delays, true);
        let (count, _) = counted(&wakeups, 0);
        assert_eq!(count.after_overrun(), AfterOverrun::MakesUpFor(limit), "{count:?}");
        let (least, most) = count.own_overruns_between();
        assert!((least..=most).contains(&overruns), "{least} <= {overruns} <= {most}: {count:?}");
    }
    // Two such stretches are too few.
    let (wakeups, _) = play(Kind::MakesUpFor(3), &[12_345_678, 900_000, 20_100_000], true);
    let (count, _) = counted(&wakeups, 0);
    assert_eq!(count.after_overrun(), AfterOverrun::Unknown, "{count:?}");
}

/// The wakeups of a loop of 1 kHz that is kept from running for this long, ns, once in 100 ms, and then works off the latest so
/// many of the cycles that are due, again and again until none is, each of which then executes this long; and how many ended after the
/// next was due.
fn play_latest(limit: u64, late_work: u64, delays: &[u64]) -> (Vec<Wakeup>, u64) {
    let (mut wakeups, mut overruns, mut due) = (Vec::new(), 0, MS);
    for delay in delays {
        for number in 0..100 {
            let (late, work) = if number == 50 { (LATE + delay, late_work) } else { (LATE, WORK) };
            let begin = due;
            let (mut now, mut ran, mut pending) = (due + late + work, 1, 0);
            overruns += u64::from(now > due + MS);
            due += MS;
            while due < now {
                if pending == 0 {
                    let missed = (now - due) / MS + 1;
                    due += missed.saturating_sub(limit) * MS;
                    pending = missed.min(limit);
                }
                (now, ran, pending) = (now + work, ran + 1, pending - 1);
                overruns += u64::from(now > due + MS);
                due += MS;
            }
            wakeups.push(Wakeup { work_ns: Some(now - begin - late), ..wakeup(begin, late, ran * work) });
        }
    }
    (wakeups, overruns)
}

/// A period that begins while a loop makes up for others is none of those for which it makes up in a row.
#[test]
fn periods_that_begin_while_a_loop_makes_up_for_others_do_not_add_to_its_limit() {
    let delays = [12_345_678, 900_000, 9_870_000, 2_500_000, 20_100_000, 15_210_000, 4_870_000];
    for limit in [2, 3, 4] {
        let (wakeups, overruns) = play_latest(limit, WORK, &delays);
        let (count, _) = counted(&wakeups, 0);
        assert_eq!(count.after_overrun(), AfterOverrun::MakesUpFor(limit), "{count:?}");
        // At most so many overruns in each of the seven; in those that missed fewer periods, fewer.
        let most = count.own_overruns();
        assert!(overruns <= most && most < 7 * (limit + 1), "{overruns} <= {most}: {count:?}");
        // The longest missed twenty periods, but has no more cycles than these and those that began meanwhile.
        let row = count.longest_row().unwrap();
        assert!((limit + 1..=limit + 2).contains(&row), "{row}: {count:?}");
    }
}

/// Cycles that follow one another at once cost less, and their CPU time then holds fewer usual ones than there were.
#[test]
fn a_loop_with_cheaper_cycles_in_a_row_makes_up_for_at_least_as_many_periods_as_it_seems_to() {
    let delays = [12_345_678, 900_000, 9_870_000, 2_500_000, 20_100_000, 15_210_000, 4_870_000];
    for (limit, percent, expected) in
        [(2, 100, 2), (2, 75, 1), (2, 50, 1), (3, 100, 3), (3, 75, 2), (3, 50, 1), (4, 100, 4), (4, 75, 3), (4, 50, 2)]
    {
        let (wakeups, overruns) = play_latest(limit, WORK * percent / 100, &delays);
        let (count, _) = counted(&wakeups, 0);
        let found = count.after_overrun();
        assert_eq!(found, AfterOverrun::MakesUpFor(expected), "{limit}, {percent} %: {count:?}");
        let (least, most) = count.own_overruns_between();
        assert!((least..=most).contains(&overruns), "{least} <= {overruns} <= {most}, {percent} %: {count:?}");
    }
}

/// A loop that catches up with cheap cycles may execute no more in a stretch than in one cycle that is in time.
#[test]
fn less_than_a_cycle_does_not_show_that_a_loop_skips_periods() {
    let delays = [4_870_000, 2_500_000, 6_100_000, 3_300_000, 5_200_000, 1_900_000, 7_700_000];
    let (wakeups, overruns) = play_latest(u64::MAX, WORK / 20, &delays);
    let (count, _) = counted(&wakeups, 0);
    assert_eq!((count.skipped, count.after_overrun()), (0, AfterOverrun::Unknown), "{count:?}");
    let (least, most) = count.own_overruns_between();
    assert!((least..=most).contains(&overruns), "{least} <= {overruns} <= {most}: {count:?}");
}

/// How much such a stretch executed says nothing of other cycles in it, and the short ones look the same for all.
#[test]
fn long_work_of_its_own_does_not_tell_a_loop_that_makes_up_for_some_periods_from_one_that_catches_up() {
    for kind in [1, 2, 3, 5].map(Kind::MakesUpFor).into_iter().chain([Kind::CatchesUp]) {
        let (wakeups, overruns) = play_long_work(kind, 11_300_000);
        let (count, _) = counted(&wakeups, 0);
        assert_eq!(count.after_overrun(), AfterOverrun::Unknown, "{kind:?}: {count:?}");
        let (least, most) = count.own_overruns_between();
        assert!((least..=most).contains(&overruns), "{kind:?}: {least} <= {overruns} <= {most}: {count:?}");
    }
    // It is no matter where it misses no more periods than elsewhere; nor where delays show that it skips them.
    let (wakeups, overruns) = play_long_work(Kind::CatchesUp, 1_100_000);
    let (count, _) = counted(&wakeups, 0);
    assert_eq!((count.after_overrun(), count.own_overruns()), (AfterOverrun::CatchesUp, overruns), "{count:?}");
    let (wakeups, overruns) = play_long_work(Kind::Skips, 11_300_000);
    let (count, _) = counted(&wakeups, 0);
    assert_eq!((count.after_overrun(), count.own_overruns()), (AfterOverrun::Skips, overruns), "{count:?}");
}

/// A wakeup of a loop that the recording knows to have executed until the next sleep.
fn wakeup(expected_ns: u64, total_ns: u64, executed_ns: u64) -> Wakeup {
    let work_ns = Some(executed_ns);
    Wakeup { tid: 7, expected_ns, total_ns, work_ns, executed_ns: work_ns, ..Wakeup::default() }
}

/// Stopped while it sleeps 0.5 ms after a cycle was due, for 4.8 ms: five cycles are due when it goes on, and a sixth
/// meanwhile, which ends in time.
#[test]
fn a_stop_while_a_loop_sleeps_is_no_work_of_the_cycle_before() {
    let mut cycles = Cycles::new(MS);
    let mut due = MS;
    for number in 0..200 {
        cycles.take(&wakeup(due, LATE, WORK), true);
        due += MS;
        if [50, 100, 150].contains(&number) {
            cycles.take(&wakeup(due - 500_000, 4_800_000, 6 * WORK), false);
            due += 6 * MS;
        }
    }
    let (_, count, _) = cycles.finish(|_| 0).next().unwrap();
    assert_eq!((count.held, count.cycles, count.certain, count.longest_ns), (3, 203, 3, 5_560_000), "{count:?}");
    assert_eq!((count.after_overrun(), count.own_overruns()), (AfterOverrun::CatchesUp, 15), "{count:?}");
    assert!(!count.overran_beyond_wakeups(), "{count:?}");
}

/// Stopped like that too, but woken once for the stop and once to go on: what looks like a sleep within a cycle came after it.
#[test]
fn a_stop_for_which_a_loop_woke_counts_no_overrun_too_many() {
    let mut cycles = Cycles::new(MS);
    let (mut due, mut overruns) = (MS, 0);
    for number in 0..560 {
        cycles.take(&wakeup(due, LATE, WORK), true);
        due += MS;
        if number % 50 == 49 {
            if number < 450 {
                cycles.take(&wakeup(due - 500_000, 4_800_000, 6 * WORK), false);
            } else {
                cycles.take(&wakeup(due - 500_000, 20_000, 10_000), false);
                cycles.take(&wakeup(due + 4_300_000, 0, 6 * WORK), false);
            }
            due += 6 * MS;
            overruns += 5;
        }
    }
    let (_, count, _) = cycles.finish(|_| 0).next().unwrap();
    assert_eq!((count.held, count.after_overrun()), (9, AfterOverrun::CatchesUp), "{count:?}");
    let (least, most) = count.own_overruns_between();
    assert!((least..=most).contains(&overruns), "{least} <= {overruns} <= {most}: {count:?}");
    assert!(count.paused > 0 && count.paused_periods > 0, "{count:?}");
}

/// What the kernel executes for the return from a stop looks like cycles, where these are short.
#[test]
fn the_return_from_a_stop_is_no_cycle_that_is_made_up_for() {
    let after = |work: u64, cycles_in_row: u64, periods: u64| {
        let mut cycles = Cycles::new(MS);
        let mut due = MS;
        for number in 0..300 {
            cycles.take(&wakeup(due, LATE, work), true);
            due += MS;
            if number % 50 == 49 {
                cycles.take(&wakeup(due - 500_000, 9_800_000, cycles_in_row * work + 130_000), false);
                due += periods * MS;
            }
        }
        let (_, count, _) = cycles.finish(|_| 0).next().unwrap();
        assert!(count.held >= 5, "{count:?}");
        count.after_overrun()
    };
    assert_eq!(after(60_000, 1, 10), AfterOverrun::Unknown);
    assert_eq!(after(100_000, 1, 10), AfterOverrun::Unknown);
    // It is small beside longer cycles.
    assert_eq!(after(400_000, 3, 11), AfterOverrun::MakesUpFor(2));
    assert_eq!(after(100_000, 11, 11), AfterOverrun::CatchesUp);
}

/// A loop of 1 kHz that is stopped in its sleep, half a period before a cycle is due.
struct Stop {
    /// How long it is stopped, ns.
    length: u64,
    /// What the kernel executes for the return, ns.
    returns: u64,
    /// Whether all of what it executes then was seen, or the last cycle alone.
    is_seen: bool,
}

fn stop(length: u64, returns: u64) -> Stop {
    Stop { length, returns, is_seen: true }
}

/// Counts a loop that makes up for at most so many of the periods that were due when it went on, and for those that are due only
/// after that, and how many of its cycles ended after the next was due.
fn count_stopped(limit: u64, work: u64, stops: &[Stop]) -> (CycleCount, u64) {
    let mut cycles = Cycles::new(MS);
    let (mut due, mut overruns) = (MS, 0);
    for number in 0..50 * (stops.len() + 1) {
        cycles.take(&wakeup(due, LATE, work), true);
        due += MS;
        let Some(stop) = stops.get(number / 50).filter(|_| number % 50 == 49) else { continue };
        let begin = due - 500_000;
        let (mut now, mut ran, mut pending) = (begin + stop.length + stop.returns + work, 1, 0);
        overruns += u64::from(now > due + MS);
        due += MS;
        while due < now {
            if pending == 0 {
                let missed = (now - due) / MS + 1;
                due += missed.saturating_sub(limit) * MS;
                pending = missed.min(limit);
            }
            if pending > 0 {
                (now, ran, pending) = (now + work, ran + 1, pending - 1);
                overruns += u64::from(now > due + MS);
                due += MS;
            }
        }
        let executed = if stop.is_seen { ran * work + stop.returns } else { work };
        cycles.take(&wakeup(begin, now - begin - executed, executed), false);
    }
    let (_, count, _) = cycles.finish(|_| 0).next().unwrap();
    assert!(count.held >= stops.len() as u64, "{count:?}");
    (count, overruns)
}

/// One stop in which the kernel executed as much as the cycles that were dropped would have, among many that show nothing.
#[test]
fn one_stop_that_looks_made_up_for_does_not_show_that_a_loop_catches_up() {
    let stops = [9_600_000, 6_700_000, 13_100_000, 12_700_000, 14_400_000, 8_100_000, 11_100_000, 12_200_000];
    let mut stops: Vec<Stop> =
        stops.iter().zip([70, 30, 20, 60, 40, 55, 25, 60]).map(|(length, us)| stop(*length, us * 1_000)).collect();
    stops.push(stop(2_600_000, 125_000));
    let (count, overruns) = count_stopped(2, 80_000, &stops);
    assert_eq!((count.made_up, count.after_overrun()), (0, AfterOverrun::Unknown), "{count:?}");
    let (least, most) = count.own_overruns_between();
    assert!((least..=most).contains(&overruns), "{least} <= {overruns} <= {most}: {count:?}");
    // Long cycles show what becomes of the periods, whatever the return takes.
    stops.iter_mut().for_each(|stop| stop.returns = 60_000);
    let (count, _) = count_stopped(2, 400_000, &stops);
    assert_eq!(count.after_overrun(), AfterOverrun::MakesUpFor(2), "{count:?}");
}

/// How much the return takes does not depend on how long the stop was, and so many stops show by how they grow what none shows.
#[test]
fn many_stops_of_a_loop_with_little_work_show_together_that_it_catches_up() {
    let stops: Vec<Stop> = (0..22)
        .map(|number| stop(1_600_000 + number * 5 % 7 * 1_000_000 + number * 31_000, 40_000 + number * 7 % 11 * 7_000))
        .collect();
    let (count, overruns) = count_stopped(u64::MAX, 40_000, &stops);
    assert_eq!((count.after_overrun(), count.not_made_up), (AfterOverrun::CatchesUp, 0), "{count:?}");
    assert!(count.own_overruns() <= overruns, "{overruns}: {count:?}");
    for limit in [0, 1, 2, 3, 5] {
        let (count, overruns) = count_stopped(limit, 40_000, &stops);
        assert_eq!(count.after_overrun(), AfterOverrun::Unknown, "{limit}: {count:?}");
        let (least, most) = count.own_overruns_between();
        assert!((least..=most).contains(&overruns), "{limit}: {least} <= {overruns} <= {most}: {count:?}");
    }
}

/// One stop of which only the last cycle was seen, among many whose cycles cannot be told from the return.
#[test]
fn one_stop_that_looks_skipped_does_not_show_that_a_loop_skips_periods() {
    let stops = [5_100_000, 6_700_000, 3_100_000, 4_700_000, 2_400_000, 6_100_000, 5_900_000];
    let mut stops: Vec<Stop> = stops.iter().map(|length| stop(*length, 60_000)).collect();
    stops.push(Stop { is_seen: false, ..stop(17_100_000, 60_000) });
    let (count, overruns) = count_stopped(u64::MAX, 46_000, &stops);
    assert_eq!((count.skipped, count.after_overrun()), (0, AfterOverrun::Unknown), "{count:?}");
    let (least, most) = count.own_overruns_between();
    assert!((least..=most).contains(&overruns), "{least} <= {overruns} <= {most}: {count:?}");
    // Where most of them show it, they do.
    let stops: Vec<Stop> = (1..9).map(|number| stop(number * 1_300_000, 30_000)).collect();
    let (count, overruns) = count_stopped(0, 400_000, &stops);
    assert_eq!((count.after_overrun(), count.own_overruns()), (AfterOverrun::Skips, overruns), "{count:?}");
}

/// Another thread ends a wait for a lock, but only after the next cycle was due: that wait is part of its cycle.
#[test]
fn a_wait_for_another_thread_within_a_cycle_is_no_stop() {
    let mut cycles = Cycles::new(MS);
    let wakeup = |expected_ns, work_ns| Wakeup {
        tid: 7,
        expected_ns,
        total_ns: LATE,
        work_ns: Some(work_ns),
        executed_ns: Some(work_ns),
        ..Wakeup::default()
    };
    for number in (1..200).filter(|number| *number != 101) {
        let waits = number == 100;
        cycles.take(&wakeup(number * MS, if waits { WORK / 2 } else { WORK }), true);
        if waits {
            cycles.take(&wakeup(number * MS + 1_300_000, WORK / 2), false);
        }
    }
    let (_, count, _) = cycles.finish(|_| 0).next().unwrap();
    // It had executed too little to be over.
    assert_eq!((count.held, count.overruns, count.certain, count.slept), (0, 1, 0, 0), "{count:?}");
    assert_eq!(count.least_overruns(), 1, "{count:?}");
}

#[test]
fn where_nothing_shows_which_the_larger_number_counts() {
    let (catches_up, overruns) = play(Kind::CatchesUp, &DELAYS, false);
    let (count, _) = counted(&catches_up, 0);
    assert_eq!((count.after_overrun(), count.own_overruns()), (AfterOverrun::Unknown, overruns), "{count:?}");
    let (skips, _) = play(Kind::Skips, &DELAYS, false);
    let (count, _) = counted(&skips, 0);
    assert_eq!((count.after_overrun(), count.certain), (AfterOverrun::Unknown, 5), "{count:?}");
    assert_eq!(count.own_overruns(), count.began_within(), "{count:?}");
}

#[test]
fn two_cycles_between_which_a_wakeup_was_not_seen_are_no_long_cycle() {
    let (mut wakeups, overruns) = play(Kind::CatchesUp, &[4_870_000, 0, 0, 0, 0], true);
    // Every thirty-fourth wakeup is not seen, and the work goes on until the sleep after it.
    let mut hidden = Vec::new();
    for number in (100..wakeups.len() - 2).step_by(34) {
        let due = wakeups[number].expected_ns;
        wakeups[number].work_ns = Some(MS + WORK + 80_000);
        wakeups[number].executed_ns = Some(2 * WORK);
        hidden.push((number + 1, due));
    }
    for (number, _) in hidden.iter().rev() {
        wakeups.remove(*number);
    }
    let due: Vec<u64> = hidden.iter().map(|(_, due)| *due).collect();
    let unseen = due.len() as u64;
    assert!(unseen >= 10, "{unseen}");
    let (count, joined) = counted(&wakeups, unseen);
    assert_eq!(joined, due, "{count:?}");
    assert_eq!((count.overruns, count.certain, count.own_overruns()), (1, 1, overruns), "{count:?}");
    // With no wakeup unseen they are what they look like.
    let (count, joined) = counted(&wakeups, 0);
    assert_eq!((count.overruns, count.own_overruns(), joined.len()), (1 + unseen, overruns + unseen, 0), "{count:?}");
}

/// As the main thread of a program does that waits for its loop.
#[test]
fn a_thread_that_sleeps_much_longer_is_no_loop_where_another_is() {
    let of = |is_beside: bool, work: u64| {
        let mut cycles = Cycles::new(MS);
        for number in 0..40 {
            let wakeup = Wakeup { tid: 8, expected_ns: number * 100 * MS, work_ns: Some(work), ..Wakeup::default() };
            cycles.take(&wakeup, true);
        }
        for number in (0..4_000).filter(|_| is_beside) {
            let wakeup = Wakeup { tid: 7, expected_ns: number * MS, work_ns: Some(WORK), ..Wakeup::default() };
            cycles.take(&wakeup, true);
        }
        let (_, found, _) = cycles.finish(|_| 0).find(|(tid, ..)| *tid == 8).unwrap();
        (found.cycles, found.overruns, found.left_out)
    };
    assert_eq!(of(true, 2 * MS), (0, 0, 1));
    // Nothing else says what its period is.
    assert_eq!(of(false, 2 * MS), (40, 40, 0));
    // It does not get to sleep.
    assert_eq!(of(true, 99 * MS + 500_000), (40, 40, 0));
}
