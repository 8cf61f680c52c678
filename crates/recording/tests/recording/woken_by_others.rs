//! Loops that something other than their next cycle wakes: a message that they serve besides, what they wait for between bursts, or a
//! lock within their cycle.

use punctual_recording::{CycleCount, Cycles, Wakeup};

const MS: u64 = 1_000_000;
/// How late a thread begins to run, and how long a usual cycle executes, ns.
const LATE: u64 = 30_000;
const WORK: u64 = 210_000;

/// A wakeup that was due then and executed for so long, ns, and whether a timer of the thread caused it.
type Woken = (u64, u64, bool);

fn counted(wakeups: &[Woken]) -> CycleCount {
    let mut cycles = Cycles::new(MS);
    for &(due, work, by_timer) in wakeups {
        let (work_ns, executed_ns) = (Some(work), Some(work));
        let wakeup = Wakeup { tid: 7, expected_ns: due, total_ns: LATE, work_ns, executed_ns, ..Wakeup::default() };
        cycles.take(&wakeup, by_timer);
    }
    cycles.finish(|_| 0).next().unwrap().1
}

/// The wakeups of a loop that sleeps until its timer expires or a message comes, and serves both, the timer first; how many of its
/// cycles took longer than the period, and the longest, ns. Messages take this long, and each hundredth cycle `long`, ns.
fn serve(message_work: u64, long: u64) -> (Vec<Woken>, u64, u64) {
    let (mut wakeups, mut overruns, mut longest) = (Vec::new(), 0, 0);
    let (mut tick, mut number, mut message, mut now) = (MS, 0, MS + 400_000, 0);
    while number < 2_000 {
        let (due, by_timer) = if tick <= message { (tick, true) } else { (message, false) };
        let began = due.max(now) + LATE;
        now = began;
        while tick.min(message) <= now {
            if tick <= now {
                now += if number % 100 == 70 { long } else { WORK };
                longest = longest.max(now - tick);
                overruns += u64::from(now > tick + MS);
                (tick, number) = (tick + MS, number + 1);
            } else {
                now += message_work;
                message += 500_000 + number * 137_003 % 900_000;
            }
        }
        wakeups.push((due, now - began, by_timer));
    }
    (wakeups, overruns, longest)
}

/// What is said of a loop with so many overruns, each as many periods long as the longest cycle, which took so long, ns, is true.
fn check(what: &str, count: &CycleCount, overruns: u64, longest: u64) {
    let found = count.overrun_count();
    assert!(found.least <= overruns && overruns <= found.most, "{what}, {overruns}: {found:?} {count:?}");
    let periods = count.overrun_periods().unwrap_or_else(|| panic!("{what}: {count:?}"));
    let overran = overruns * (longest / MS);
    assert!(periods.least <= overran && overran <= periods.most, "{what}, {overran}: {periods:?} {count:?}");
    let (least, most) = (count.longest_at_least_ns(MS), count.longest_ns);
    assert!(least <= longest && longest <= most, "{what}: {least} <= {longest} <= {most} {count:?}");
}

#[test]
fn a_message_before_the_timer_is_no_certain_overrun() {
    let (wakeups, overruns, longest) = serve(150_000, WORK);
    assert_eq!(overruns, 0);
    let count = counted(&wakeups);
    // A message that it serves before it sleeps looks like work of the cycle.
    check("messages", &count, overruns, longest + 150_000);
    let found = count.overrun_count();
    // What a message's work ran into is one all the same, as far as wakeups show.
    assert!(found.least == 0 && found.most > 50 && found.may_be_more_cycles, "{found:?} {count:?}");
    assert_eq!((count.began_within(), count.longest_slept), (0, true), "{count:?}");
    // A message that comes after its cycle is no part of the longest that is in time either.
    assert!(count.longest_at_least_ns(MS) < MS / 2 && count.longest_ns > MS, "{count:?}");
    assert!(count.overran_beyond_wakeups(), "{count:?}");
}

#[test]
fn what_one_wakeup_shows_is_certain_whatever_wakes_the_thread_besides() {
    let (wakeups, overruns, longest) = serve(150_000, 1_400_000);
    assert!(overruns >= 20, "{overruns}");
    let count = counted(&wakeups);
    check("messages and long cycles", &count, overruns, longest + 150_000);
    // Others began while it served a message.
    assert!(count.overrun_count().least >= 12, "{overruns} {count:?}");
    assert!(count.longest_at_least_ns(MS) > MS, "{count:?}");
}

/// It works off 40 cycles, then waits for the next order, and begins on a grid of its own.
#[test]
fn a_wait_between_bursts_is_no_overrun() {
    let (mut wakeups, mut overruns, mut now) = (Vec::new(), 0, MS);
    for burst in 0..8_u64 {
        let begin = now + 90 * MS + burst % 3 * 13_700_000;
        let mut due = begin;
        for number in 0..40_u64 {
            let work = if number % 20 == 7 { 1_400_000 } else { WORK };
            now = now.max(due) + LATE + work;
            overruns += u64::from(now > due + MS);
            let is_behind = number % 20 == 8;
            match wakeups.last_mut() {
                Some((_, worked, _)) if is_behind => *worked += WORK,
                _ => wakeups.push((due, work, number > 0)),
            }
            due += MS;
        }
    }
    let count = counted(&wakeups);
    let found = count.overrun_count();
    assert!(found.least <= overruns && overruns <= found.most && found.least >= 15, "{overruns}: {found:?} {count:?}");
    // Eight of them wait for an order, of which the last follows no burst; none of these waits is part of the longest cycle.
    assert!(count.longest_ns < 2 * MS && count.longest_paused_ns > 90 * MS, "{count:?}");
    assert_eq!(count.slept, 0, "{count:?}");
}

/// The wakeups of a loop of which each tenth cycle waits for another thread for so long, ns, in its midst, or `all` do; and how many
/// took longer than the period.
fn wait(all: bool, waited: u64) -> (Vec<Woken>, u64) {
    let (mut wakeups, mut overruns, mut due) = (Vec::new(), 0, MS);
    for number in 0..1_000 {
        let is_long = number % 10 == 5;
        if !all && !is_long {
            wakeups.push((due, WORK, true));
            due += MS;
            continue;
        }
        wakeups.push((due, WORK / 2, true));
        let woken = due + LATE + WORK / 2 + if is_long { waited } else { 100_000 + number * 3_001 % 40_000 };
        wakeups.push((woken, WORK / 2, false));
        let length = woken + LATE + WORK / 2 - due;
        overruns += u64::from(length > MS);
        due += length.div_ceil(MS) * MS;
    }
    (wakeups, overruns)
}

#[test]
fn a_wait_within_a_cycle_is_certain_where_the_cycle_had_not_executed_enough() {
    for waited in [850_000, 1_100_000, 1_700_000, 7_300_000] {
        let (wakeups, overruns) = wait(false, waited);
        let count = counted(&wakeups);
        // The last of them is the last of all, of which only the first sleep is known, or the first ones, before enough is known.
        let found = count.overrun_count();
        assert!(found.least <= overruns && found.least + 5 >= overruns, "{waited}: {overruns} {found:?} {count:?}");
        let longest = 2 * LATE + WORK + waited;
        check("waits", &count, overruns, longest);
        assert!(count.longest_at_least_ns(MS) + WORK >= longest, "{waited}: {count:?}");
    }
    // Where each cycle waits, nothing shows that it does not end with that.
    let (wakeups, overruns) = wait(true, 1_100_000);
    let count = counted(&wakeups);
    check("waits in all", &count, overruns, 2 * LATE + WORK + 1_100_000);
    let found = count.overrun_count();
    assert_eq!((found.least, found.most, count.slept), (0, overruns, overruns), "{count:?}");
}

#[test]
fn a_sleep_by_a_timer_of_its_own_is_part_of_its_cycle() {
    let (mut wakeups, _) = wait(true, 1_100_000);
    wakeups.iter_mut().for_each(|(.., by_timer)| *by_timer = true);
    let count = counted(&wakeups);
    let found = count.overrun_count();
    assert_eq!((found.least, found.most, count.slept, count.paused), (100, 100, 0, 0), "{count:?}");
    // It may sleep for a moment before each of several cycles that it makes up for.
    assert_eq!(count.longest_at_least_ns(MS), MS + 1, "{count:?}");
}
