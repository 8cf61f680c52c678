//! A watch over threads with a reservation: one that the kernel keeps from the CPU for good is freed.
//!
//! A thread that has used up its budget waits until the kernel gives it the next one. A kernel under load may fail to do so: then
//! the thread has work to do and never runs again until somebody changes how it is scheduled. Whoever gives a thread a reservation
//! looks here again and again: a stuck thread is made an ordinary one for a moment, and its reservation is set anew. If that
//! happens too often, it remains an ordinary thread. Another thread that has the number of one that ended is left alone.
//!
//! A look costs two small files of `/proc` for each thread, twice a second at most.

use crate::other_thread::{Before, ThreadScheduling};
use crate::thread_stat::ThreadStat;
use crate::{Refused, clock};
use punctual_recording::counted;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// A thread with work to do is stuck if it has not run for so many of its periods...
const STUCK_PERIODS: u64 = 20;
/// ... and for at least this long, ns.
const MIN_STUCK_NS: u64 = 2_000_000_000;
/// How often to look where somebody waits for what comes of it.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// How often to look, ns.
const LOOK_NS: u64 = 500_000_000;
/// After a longer break, in which this program was kept from looking, what was seen before it says nothing, ns.
const MAX_BREAK_NS: u64 = 1_500_000_000;
/// A thread that is stuck so many times...
const MAX_STUCK: usize = 3;
/// ... within this time loses its reservation, ns: ten minutes.
const WITHIN_NS: u64 = 600_000_000_000;
/// A reservation that is set anew is asked for so many times...
const MAX_TRIES: u32 = 5;
/// ... with such a pause between them.
const RELEASED: Duration = Duration::from_millis(20);
/// No more threads than this are watched.
const MAX_WATCHED: usize = 256;

/// What was done for a stuck thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Freed {
    /// Its reservation was set anew.
    SetAnew,
    /// It is an ordinary thread now, and why.
    GivenUp(String),
}

/// A thread that the kernel did not let run although it had work and a reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stuck {
    /// Its number.
    pub tid: u32,
    /// What was done.
    pub freed: Freed,
}

/// What is known of a thread at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reading {
    /// When it was started, in ticks since boot.
    started: u64,
    /// Whether it would run if it were let.
    is_runnable: bool,
    /// How long it has run, in a unit of its own.
    ran: u64,
}

/// A thread that is watched.
#[derive(Debug)]
struct Watched {
    /// Which one it is.
    thread: Before,
    /// `None`: it has no reservation for now.
    scheduling: Option<ThreadScheduling>,
    /// How long it had run when it was seen to be runnable, and since when that is so, ns.
    waits: Option<(u64, u64)>,
    /// When it was last seen, ns.
    seen_ns: u64,
    /// When it was stuck, ns; the last few times.
    stuck_ns: VecDeque<u64>,
}

impl Watched {
    /// Reads it; `None` if it has ended, even if another thread has its number by now.
    fn read(&self, read: &mut dyn FnMut(u32) -> Option<Reading>) -> Option<Reading> {
        read(self.thread.tid).filter(|reading| self.thread.was_started(reading.started))
    }

    /// Takes a reading of a thread with this period; returns whether it is stuck.
    fn is_stuck(&mut self, reading: Reading, period_ns: u64, now_ns: u64) -> bool {
        let is_continued = now_ns.saturating_sub(self.seen_ns) <= MAX_BREAK_NS;
        self.seen_ns = now_ns;
        if !reading.is_runnable {
            self.waits = None;
            return false;
        }
        match self.waits {
            Some((ran, since_ns)) if is_continued && ran == reading.ran => {
                let limit_ns = period_ns.saturating_mul(STUCK_PERIODS).max(MIN_STUCK_NS);
                now_ns.saturating_sub(since_ns) >= limit_ns
            }
            _ => {
                self.waits = Some((reading.ran, now_ns));
                false
            }
        }
    }

    /// Counts that it is stuck now; returns how many times it was in the last ten minutes.
    fn count(&mut self, now_ns: u64) -> usize {
        self.waits = None;
        self.stuck_ns.push_back(now_ns);
        self.stuck_ns.retain(|at_ns| now_ns.saturating_sub(*at_ns) <= WITHIN_NS);
        self.stuck_ns.len()
    }
}

/// Threads with a reservation, as they were seen so far.
#[derive(Debug, Default)]
pub struct ReservationWatch {
    threads: BTreeMap<u32, Watched>,
    looked_ns: Option<u64>,
}

impl ReservationWatch {
    /// From now on the thread is scheduled so; it is watched if that is a reservation.
    pub fn begin(&mut self, thread: &Before, scheduling: ThreadScheduling) {
        let scheduling = Some(scheduling).filter(|scheduling| scheduling.reservation().is_some());
        let known = self.threads.get_mut(&thread.tid).filter(|watched| watched.thread.is_same(thread));
        if let Some(watched) = known {
            (watched.scheduling, watched.waits) = (scheduling, None);
            return;
        }
        // One that had its number has ended.
        self.threads.remove(&thread.tid);
        if scheduling.is_none() {
            return;
        }
        if self.threads.len() >= MAX_WATCHED {
            self.threads.retain(|_, watched| watched.scheduling.is_some());
        }
        if self.threads.len() < MAX_WATCHED {
            let (thread, stuck_ns) = (thread.clone(), VecDeque::new());
            let watched = Watched { thread, scheduling, waits: None, seen_ns: 0, stuck_ns };
            self.threads.insert(watched.thread.tid, watched);
        }
    }

    /// No thread has its reservation any more.
    pub fn rest(&mut self) {
        for watched in self.threads.values_mut() {
            (watched.scheduling, watched.waits) = (None, None);
        }
    }

    /// Looks at the threads, at most twice a second, and frees those that are stuck. Call it as often as you like.
    pub fn look(&mut self) -> Vec<Stuck> {
        let now_ns = clock::monotonic_ns();
        if self.looked_ns.is_some_and(|looked_ns| now_ns.saturating_sub(looked_ns) < LOOK_NS) {
            return Vec::new();
        }
        self.look_at(now_ns, &mut reading, &mut free)
    }

    /// Looks now, changes nothing, and forgets each thread of which enough is known: it runs, sleeps, has ended, or is added to `stuck`.
    fn watch_only(&mut self, now_ns: u64, read: &mut dyn FnMut(u32) -> Option<Reading>, stuck: &mut Vec<u32>) {
        self.threads.retain(|tid, watched| {
            let period_ns = watched.scheduling.and_then(ThreadScheduling::reservation).map(|(_, period_ns)| period_ns);
            let (Some(reading), Some(period_ns)) = (watched.read(read), period_ns) else { return false };
            let is_first = watched.waits.is_none();
            if watched.is_stuck(reading, period_ns, now_ns) {
                stuck.push(*tid);
                return false;
            }
            // It still waits since the first look.
            reading.is_runnable && (is_first || watched.waits.is_some_and(|(_, since_ns)| since_ns < now_ns))
        });
    }

    /// Looks now. `read` reads a thread, `None` if it has ended; `free` makes it ordinary and, if it may have its reservation
    /// again, sets that, and says whether the thread still had it.
    fn look_at(
        &mut self,
        now_ns: u64,
        read: &mut dyn FnMut(u32) -> Option<Reading>,
        free: &mut dyn FnMut(&Before, ThreadScheduling, bool) -> Result<bool, Refused>,
    ) -> Vec<Stuck> {
        self.looked_ns = Some(now_ns);
        let mut found = Vec::new();
        self.threads.retain(|tid, watched| {
            let Some(scheduling) = watched.scheduling else { return true };
            let Some(reading) = watched.read(read) else { return false };
            let period_ns = scheduling.reservation().map_or(0, |(_, period_ns)| period_ns);
            if !watched.is_stuck(reading, period_ns, now_ns) {
                return true;
            }
            let times = watched.count(now_ns);
            let freed = match free(&watched.thread, scheduling, times < MAX_STUCK) {
                // Somebody else schedules it now.
                Ok(false) => {
                    watched.stuck_ns.pop_back();
                    return true;
                }
                Ok(true) if times < MAX_STUCK => Freed::SetAnew,
                Ok(true) => Freed::GivenUp(format!(
                    "it had work to do and time reserved, but the kernel did not let it run, {} within ten minutes: it is an \
                     ordinary thread now",
                    counted(times, "time")
                )),
                // It ended meanwhile.
                Err(_) if watched.read(read).is_none() => return false,
                Err(refused) => Freed::GivenUp(refused.to_string()),
            };
            if freed != Freed::SetAnew {
                watched.scheduling = None;
            }
            found.push(Stuck { tid: *tid, freed });
            true
        });
        found
    }
}

/// Which of these threads, that have a reservation, the kernel does not let run although they have work to do. Takes as long as it takes
/// each of them to run or to sleep: usually no time, and this long at most.
pub fn stuck_now(threads: &[(Before, ThreadScheduling)], patience: Duration) -> Vec<u32> {
    let mut watch = ReservationWatch::default();
    threads.iter().for_each(|(thread, scheduling)| watch.begin(thread, *scheduling));
    let until_ns = clock::monotonic_ns().saturating_add(u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX));
    let mut stuck = Vec::new();
    loop {
        let now_ns = clock::monotonic_ns();
        watch.watch_only(now_ns, &mut reading, &mut stuck);
        if watch.threads.is_empty() || now_ns >= until_ns {
            return stuck;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Tells a thread that does not run at all from one that runs seldom, such as one that has used up its budget.
#[derive(Debug, Default)]
pub struct Stillness(Option<Reading>);

impl Stillness {
    /// Whether the thread could run, but has not since this was asked last; the first time, whether it could run.
    pub fn goes_on(&mut self, tid: u32) -> bool {
        self.take(reading(tid))
    }

    fn take(&mut self, now: Option<Reading>) -> bool {
        let last = std::mem::replace(&mut self.0, now).filter(|last| last.is_runnable);
        now.is_some_and(|now| now.is_runnable && last.is_none_or(|last| last.ran == now.ran))
    }
}

/// What the kernel says of a thread.
fn reading(tid: u32) -> Option<Reading> {
    let ThreadStat { state, ticks, started, .. } = ThreadStat::of(tid)?;
    if state != 'R' {
        return Some(Reading { started, is_runnable: false, ran: 0 });
    }
    let precise = std::fs::read_to_string(format!("/proc/{tid}/task/{tid}/schedstat")).ok();
    let precise = precise.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    // A kernel that does not count so precisely says 0.
    Some(Reading { started, is_runnable: true, ran: precise.filter(|ran| *ran > 0).unwrap_or(ticks) })
}

/// Makes a thread that is still scheduled so an ordinary one, which always lets it run, and sets its reservation again if it may
/// have it. Returns whether nobody else schedules it, and it has not ended.
fn free(thread: &Before, scheduling: ThreadScheduling, again: bool) -> Result<bool, Refused> {
    let tid = thread.tid;
    // Asked last which thread it is: another one may have its number, and even a reservation of the same size.
    let has = |wanted: ThreadScheduling| Ok::<bool, Refused>(ThreadScheduling::of(tid)? == wanted && thread.is_there());
    if !has(scheduling)? {
        return Ok(false);
    }
    ThreadScheduling::ordinary().set(tid)?;
    if !again {
        return Ok(true);
    }
    let mut set_again =
        || if has(ThreadScheduling::ordinary())? { scheduling.set(tid).map(|()| true) } else { Ok(false) };
    set_when_released(&mut set_again, RELEASED)
}

/// Sets a reservation that its thread had until now: the kernel may not have released its time yet, and then has no room for it.
fn set_when_released(set: &mut dyn FnMut() -> Result<bool, Refused>, pause: Duration) -> Result<bool, Refused> {
    for _ in 1..MAX_TRIES {
        match set() {
            Err(refused) if refused.is_full => std::thread::sleep(pause),
            outcome => return outcome,
        }
    }
    set()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const TID: u32 = 7;
    /// When the threads of the tests were started.
    const STARTED: u64 = 100;

    fn thread(tid: u32) -> Before {
        Before::for_test(tid, STARTED)
    }

    fn runnable(ran: u64) -> Reading {
        Reading { started: STARTED, is_runnable: true, ran }
    }

    /// Looks every 500 ms at a thread with a reservation of this period that is runnable, or not, and has run for so long; returns at
    /// which looks it was stuck.
    fn stuck_at(period_ns: u64, readings: &[Option<u64>]) -> Vec<(usize, Freed)> {
        let scheduling = ThreadScheduling::reserved(period_ns / 10, period_ns);
        let mut watch = ReservationWatch::default();
        watch.begin(&thread(TID), scheduling);
        let mut stuck = Vec::new();
        for (place, ran) in readings.iter().enumerate() {
            let now_ns = 1_000 + place as u64 * LOOK_NS;
            let reading = Reading { is_runnable: ran.is_some(), ..runnable(ran.unwrap_or(0)) };
            let found = watch.look_at(now_ns, &mut |_| Some(reading), &mut |thread, freed, _| {
                assert_eq!((thread.tid, freed), (TID, scheduling));
                Ok(true)
            });
            stuck.extend(found.into_iter().map(|stuck| (place, stuck.freed)));
        }
        stuck
    }

    #[test]
    fn a_thread_is_stuck_where_it_is_runnable_and_does_not_run() {
        let runs: Vec<Option<u64>> = (0..20).map(Some).collect();
        assert!(stuck_at(10 * MS, &runs).is_empty());
        assert!(stuck_at(10 * MS, &[None; 20]).is_empty(), "it sleeps");
        // Two seconds after it was first seen so: four looks later.
        assert_eq!(stuck_at(10 * MS, &[Some(5); 5]), [(4, Freed::SetAnew)]);
        let sleeps_and_runs = [Some(5), Some(5), None, Some(5), Some(5), Some(6), Some(6)];
        assert!(stuck_at(10 * MS, &sleeps_and_runs).is_empty());
        // Twenty periods are longer.
        assert_eq!(stuck_at(400 * MS, &[Some(5); 17]), [(16, Freed::SetAnew)]);
    }

    #[test]
    fn the_third_time_within_ten_minutes_the_reservation_is_given_up() {
        let stuck = stuck_at(10 * MS, &[Some(5); 40]);
        assert_eq!(stuck.iter().map(|(place, _)| *place).collect::<Vec<usize>>(), [4, 9, 14], "{stuck:?}");
        assert!(matches!(&stuck[2].1, Freed::GivenUp(why) if why.contains("3 times")), "{stuck:?}");
        // Between two times it ran for longer than that.
        let mut readings: Vec<Option<u64>> = vec![Some(0); 10];
        for from in [1, 2_000] {
            readings.extend((from..from + 1_300).map(Some));
            readings.extend([Some(from + 1_299); 5]);
        }
        let stuck = stuck_at(10 * MS, &readings);
        assert!(stuck.len() == 4 && stuck.iter().all(|(_, freed)| *freed == Freed::SetAnew), "{stuck:?}");
    }

    #[test]
    fn what_cannot_be_set_anew_is_given_up_and_what_others_changed_is_left_alone() {
        let scheduling = ThreadScheduling::reserved(MS, 10 * MS);
        let mut watch = ReservationWatch::default();
        watch.begin(&thread(TID), scheduling);
        watch.begin(&thread(8), ThreadScheduling::fifo(50));
        let reading = runnable(1);
        let mut found = Vec::new();
        for look in 0..20 {
            found.extend(watch.look_at(look * LOOK_NS, &mut |_| Some(reading), &mut |_, _, _| {
                Err(Refused::because("setting it", "there is no room"))
            }));
        }
        let why = Refused::because("setting it", "there is no room").to_string();
        assert_eq!(found, [Stuck { tid: TID, freed: Freed::GivenUp(why) }], "it is watched no longer");
        watch.begin(&thread(TID), scheduling);
        for look in 20..40 {
            let found = watch.look_at(look * LOOK_NS, &mut |_| Some(reading), &mut |_, _, _| Ok(false));
            assert!(found.is_empty(), "{found:?}");
        }
        // It ended while it was freed.
        watch.begin(&thread(9), scheduling);
        // It is read five times until it is stuck, and once more.
        let mut left = 6;
        let mut found = Vec::new();
        for look in 40..60 {
            let mut read = |tid: u32| {
                left -= u32::from(tid == 9 && left > 0);
                Some(reading).filter(|_| tid != 9 || left > 0)
            };
            found.extend(watch.look_at(look * LOOK_NS, &mut read, &mut |thread, _, _| {
                if thread.tid == 9 { Err(Refused::because("setting it", "no such process")) } else { Ok(false) }
            }));
        }
        assert!(found.is_empty() && !watch.threads.contains_key(&9), "{found:?}");
        // This program was kept from looking: nobody knows what happened meanwhile.
        watch.begin(&thread(TID), scheduling);
        for look in 0..20 {
            let now_ns = (100 + look) * 2 * MIN_STUCK_NS;
            let found = watch.look_at(now_ns, &mut |_| Some(reading), &mut |_, _, _| Ok(true));
            assert!(found.is_empty(), "{found:?}");
        }
        watch.look_at(1_000 * MIN_STUCK_NS, &mut |_| None, &mut |_, _, _| Ok(true));
        assert!(watch.threads.is_empty(), "it has ended");
    }

    #[test]
    fn another_thread_with_the_number_of_one_that_ended_is_left_alone() {
        let scheduling = ThreadScheduling::reserved(MS, 10 * MS);
        let mut watch = ReservationWatch::default();
        watch.begin(&thread(TID), scheduling);
        // The other one, whose reservation is of the same size, comes while the first is stuck.
        for look in 0..20 {
            let started = if look < 3 { STARTED } else { STARTED + 1 };
            let mut read = |_: u32| Some(Reading { started, ..runnable(5) });
            watch.look_at(look * LOOK_NS, &mut read, &mut |_, _, _| panic!("it was touched"));
        }
        assert!(watch.threads.is_empty());
        // Whoever is given a reservation later begins anew, and nobody without one takes another's place.
        watch.begin(&thread(TID), scheduling);
        watch.threads.get_mut(&TID).unwrap().stuck_ns.push_back(0);
        watch.begin(&Before::for_test(TID, STARTED + 1), scheduling);
        assert!(watch.threads[&TID].stuck_ns.is_empty());
        watch.rest();
        (0..=MAX_WATCHED as u32).for_each(|tid| watch.begin(&thread(100 + tid), scheduling));
        assert_eq!((watch.threads.len(), watch.threads.contains_key(&TID)), (MAX_WATCHED, false));
        // It has ended, whoever has its number: nothing is changed.
        let own = Before::of(clock::thread_id()).unwrap();
        let ended = Before::for_test(own.tid, u64::MAX);
        assert!(matches!(free(&ended, own.scheduling, true), Ok(false)));
        assert_eq!(ThreadScheduling::of(own.tid).unwrap(), own.scheduling);
    }

    #[test]
    fn a_reservation_that_is_not_released_yet_is_asked_for_again() {
        let asked = |refusals: u32, is_full: bool| {
            let mut asked = 0;
            let mut set = || {
                asked += 1;
                let refused = Refused { is_full, ..Refused::because("setting it", "it is so") };
                if asked <= refusals { Err(refused) } else { Ok(true) }
            };
            let outcome = set_when_released(&mut set, Duration::ZERO);
            (outcome.is_ok(), asked)
        };
        assert_eq!([asked(0, true), asked(2, true)], [(true, 1), (true, 3)]);
        assert_eq!([asked(9, true), asked(9, false)], [(false, MAX_TRIES), (false, 1)]);
    }

    #[test]
    fn a_thread_that_runs_seldom_is_not_still() {
        let reading = |is_runnable, ran| Some(Reading { is_runnable, ..runnable(ran) });
        let mut stillness = Stillness::default();
        let mut takes = |now| stillness.take(now);
        assert_eq!([takes(reading(true, 5)), takes(reading(true, 5)), takes(reading(true, 6))], [true, true, false]);
        assert_eq!([takes(reading(true, 6)), takes(reading(false, 0)), takes(reading(true, 6))], [true, false, true]);
        assert_eq!([takes(None), takes(reading(true, 6))], [false, true]);
    }

    #[test]
    fn who_is_stuck_now_is_found_without_waiting_for_the_others() {
        let mut watch = ReservationWatch::default();
        // One is stuck, one runs, one sleeps, one has ended.
        (1..=4).for_each(|tid| watch.begin(&thread(tid), ThreadScheduling::reserved(MS, 10 * MS)));
        let mut stuck = Vec::new();
        let mut left = Vec::new();
        for look in 0..50u64 {
            let mut read = |tid: u32| match tid {
                1 => Some(runnable(5)),
                2 => Some(runnable(look)),
                3 => Some(Reading { is_runnable: false, ..runnable(0) }),
                _ => None,
            };
            watch.watch_only(1 + look * 50 * MS, &mut read, &mut stuck);
            left.push(watch.threads.len());
        }
        assert_eq!((left[0], left[1], left[39], left[40]), (2, 1, 1, 0), "{left:?}");
        assert_eq!(stuck, [1]);
        let began = std::time::Instant::now();
        assert!(stuck_now(&[], Duration::from_secs(60)).is_empty() && began.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_thread_that_runs_is_runnable() {
        let now = std::thread::spawn(|| reading(clock::thread_id()).unwrap()).join().unwrap();
        assert!(now.is_runnable, "{now:?}");
    }
}
