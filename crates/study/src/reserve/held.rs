//! A command that runs with a reservation for some of its threads.

use super::namesakes::named;
use punctual_kernel::budget_use::BudgetUse;
use punctual_kernel::other_thread::{Before, ThreadScheduling, family, threads_of};
use punctual_kernel::reservation_watch::{Freed, ReservationWatch, Stuck};
use punctual_kernel::{Refused, own_child};
use punctual_reserve::Reservation;
use regex::Regex;
use std::collections::{BTreeMap, HashSet};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// What to run, and whose time is reserved.
#[derive(Debug, Clone)]
pub struct HeldPlan {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// The reservation.
    pub reservation: Reservation,
    /// Threads whose names this matches, of the command and of what it starts; `None` for only the command's first thread.
    pub thread: Option<Regex>,
    /// Of those the only one that has it, in the order in which they came, from 1; `None`: each of them.
    pub nth: Option<usize>,
}

/// A thread that was given the reservation, or refused it.
#[derive(Debug, Clone)]
pub struct HeldThread {
    /// Its number.
    pub tid: u32,
    /// Its name when it was found.
    pub name: String,
    /// How often the reservation was set.
    pub set: u64,
    /// How often it was set anew, since the kernel did not let the thread run although it had work and time reserved.
    pub set_anew: u64,
    /// Why it was refused, or given up.
    pub refused: Option<String>,
    /// How it used its reservation since it was last set.
    pub budget_use: BudgetUse,
}

/// What came of it.
#[derive(Debug)]
pub struct Held {
    /// How the command ended.
    pub end: ExitStatus,
    /// The threads, in the order in which they came.
    pub threads: Vec<HeldThread>,
    /// Further threads, which are not listed.
    pub not_listed: u64,
    /// Whether a reservation was given up, since the kernel did not let its thread run.
    pub given_up: bool,
}

/// Threads beyond this number get the reservation, but are not listed.
const MAX_LISTED: usize = 256;
/// How often to look for new threads in the first seconds; later less often.
const SOON: Duration = Duration::from_millis(20);
const LATER: Duration = Duration::from_millis(200);
const FIRST: Duration = Duration::from_secs(2);
/// How often to check for the command's end and for signals.
const ROUND: Duration = Duration::from_millis(10);

/// Runs the command to its end. `signals` gives the signals that came since its last call, to be passed on; `tell`
/// hears of each thread the first time, and each time that its reservation was set anew or given up.
///
/// # Errors
/// If the command cannot be started.
pub fn run(
    plan: &HeldPlan,
    signals: &mut dyn FnMut() -> Vec<i32>,
    tell: &mut dyn FnMut(&HeldThread),
) -> Result<Held, Refused> {
    let mut holding = Holding {
        plan,
        known: BTreeMap::new(),
        listed: Vec::new(),
        not_listed: 0,
        watch: ReservationWatch::default(),
        given_up: false,
    };
    let mut child = match plan.thread {
        Some(_) => own_child::start(&plan.words)?,
        // Its first thread has the reservation from its first instruction on.
        None => {
            let (child, set) = own_child::start_scheduled(&plan.words, holding.wanted())?;
            holding.note_first(child.id(), set.err().map(|refused| refused.to_string()), tell);
            child
        }
    };
    let began = Instant::now();
    let mut looked: Option<Instant> = None;
    loop {
        let often = if began.elapsed() < FIRST { SOON } else { LATER };
        if looked.is_none_or(|looked| looked.elapsed() >= often) {
            looked = Some(Instant::now());
            holding.look(child.id(), tell);
        }
        holding.free_stuck(tell);
        for signal in signals() {
            own_child::pass_on(&child, signal);
        }
        if let Some(status) = ended(&mut child)? {
            let Holding { listed: threads, not_listed, given_up, .. } = holding;
            return Ok(Held { end: status, threads, not_listed, given_up });
        }
        std::thread::sleep(ROUND);
    }
}

fn ended(child: &mut Child) -> Result<Option<ExitStatus>, Refused> {
    child.try_wait().map_err(|error| Refused::because("waiting for the command", error.to_string()))
}

/// Forgets those that are not among these threads: a command may have very many.
fn forget_ended<T>(known: &mut BTreeMap<u32, T>, there: &[u32]) {
    let there: HashSet<u32> = there.iter().copied().collect();
    known.retain(|tid, _| there.contains(tid));
}

struct Holding<'a> {
    plan: &'a HeldPlan,
    /// For each thread that was found, where it is listed; one that was refused is not asked for again.
    known: BTreeMap<u32, (Before, Option<usize>, bool)>,
    listed: Vec<HeldThread>,
    not_listed: u64,
    watch: ReservationWatch,
    given_up: bool,
}

impl Holding<'_> {
    fn wanted(&self) -> ThreadScheduling {
        ThreadScheduling::reserved(self.plan.reservation.budget_ns, self.plan.reservation.period_ns)
    }

    /// Lists the command's first thread, which was scheduled before the program began, and may have ended by now.
    fn note_first(&mut self, tid: u32, refused: Option<String>, tell: &mut dyn FnMut(&HeldThread)) {
        if let Ok(before) = Before::of(tid) {
            return self.note(before, refused, tell);
        }
        let name = self.plan.words[0].rsplit('/').next().unwrap_or_default().to_owned();
        let (set, budget_use) = (u64::from(refused.is_none()), BudgetUse::default());
        let thread = HeldThread { tid, name, set, set_anew: 0, refused, budget_use };
        tell(&thread);
        self.listed.push(thread);
    }

    /// Gives the reservation to threads that do not have it.
    fn look(&mut self, command: u32, tell: &mut dyn FnMut(&HeldThread)) {
        let wanted = self.wanted();
        let tids: Vec<u32> = match (&self.plan.thread, self.plan.nth) {
            (None, _) => vec![command],
            (Some(_), None) => family(command).into_iter().flat_map(threads_of).collect(),
            (Some(name), Some(nth)) => {
                let found = named(command, |own| name.is_match(own)).into_iter().nth(nth - 1);
                self.keep_only(found.as_ref());
                found.iter().map(|thread| thread.tid).collect()
            }
        };
        forget_ended(&mut self.known, &tids);
        for tid in tids {
            if self.known.get(&tid).is_some_and(|(before, _, refused)| {
                before.is_there() && (*refused || ThreadScheduling::of(tid).is_ok_and(|now| now == wanted))
            }) {
                self.look_at_use(tid);
                continue;
            }
            let Ok(before) = Before::of(tid) else { continue };
            if self.plan.thread.as_ref().is_some_and(|name| !name.is_match(&before.name)) {
                continue;
            }
            let refused = wanted.set(tid).err().map(|refused| refused.to_string());
            self.note(before, refused, tell);
        }
    }

    /// Puts back who had the reservation until others were named, or ended.
    fn keep_only(&self, chosen: Option<&Before>) {
        let others = self.known.values().filter(|(before, ..)| chosen.is_none_or(|chosen| chosen.tid != before.tid));
        others.filter(|(.., refused)| !refused).for_each(|(before, ..)| drop(before.put_back()));
    }

    /// Looks how a thread uses its reservation, if it has one.
    fn look_at_use(&mut self, tid: u32) {
        if let Some((_, Some(index), false)) = self.known.get(&tid) {
            self.listed[*index].budget_use.look(tid);
        }
    }

    /// Frees threads that the kernel does not let run.
    fn free_stuck(&mut self, tell: &mut dyn FnMut(&HeldThread)) {
        for stuck in self.watch.look() {
            self.take_stuck(stuck, tell);
        }
    }

    /// Notes that a thread was stuck. One whose reservation was given up is not given it again.
    fn take_stuck(&mut self, stuck: Stuck, tell: &mut dyn FnMut(&HeldThread)) {
        let Some((_, index, is_refused)) = self.known.get_mut(&stuck.tid) else { return };
        let listed = index.map(|index| &mut self.listed[index]);
        let (set_anew, refused) = match stuck.freed {
            Freed::SetAnew => (1, None),
            Freed::GivenUp(why) => (0, Some(why)),
        };
        *is_refused |= refused.is_some();
        self.given_up |= refused.is_some();
        if let Some(thread) = listed {
            thread.set_anew += set_anew;
            thread.refused = refused;
            tell(thread);
        }
    }

    fn note(&mut self, before: Before, refused: Option<String>, tell: &mut dyn FnMut(&HeldThread)) {
        let again = self.known.get(&before.tid).filter(|(known, ..)| known.is_there()).and_then(|(_, index, _)| *index);
        let index = match again {
            Some(index) => Some(index),
            None if self.listed.len() < MAX_LISTED => {
                self.listed.push(HeldThread {
                    tid: before.tid,
                    name: before.name.clone(),
                    set: 0,
                    set_anew: 0,
                    refused: None,
                    budget_use: BudgetUse::default(),
                });
                Some(self.listed.len() - 1)
            }
            None => {
                self.not_listed += 1;
                None
            }
        };
        let is_refused = refused.is_some();
        if !is_refused {
            self.watch.begin(&before, self.wanted());
        }
        if let Some(thread) = index.map(|index| &mut self.listed[index]) {
            thread.set += u64::from(!is_refused);
            (thread.refused, thread.budget_use) = (refused, BudgetUse::default());
            if again.is_none() {
                tell(thread);
            }
        }
        self.known.insert(before.tid, (before, index, is_refused));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stuck_thread_is_told_each_time_and_loses_its_reservation_in_the_end() {
        let plan = HeldPlan {
            words: vec!["loop".to_owned()],
            reservation: Reservation { budget_ns: 1_000_000, period_ns: 10_000_000 },
            thread: None,
            nth: None,
        };
        let (tid, watch) = (std::process::id(), ReservationWatch::default());
        let (known, listed) = (BTreeMap::new(), Vec::new());
        let mut holding = Holding { plan: &plan, known, listed, not_listed: 0, watch, given_up: false };
        let mut told = Vec::new();
        let mut tell = |thread: &HeldThread| told.push((thread.set, thread.set_anew, thread.refused.clone()));
        holding.note_first(tid, None, &mut tell);
        holding.take_stuck(Stuck { tid, freed: Freed::SetAnew }, &mut tell);
        assert!(!holding.given_up);
        holding.take_stuck(Stuck { tid, freed: Freed::GivenUp("so it is".to_owned()) }, &mut tell);
        // Nobody knows that one.
        holding.take_stuck(Stuck { tid: tid + 1, freed: Freed::SetAnew }, &mut tell);
        assert!(holding.given_up && holding.known[&tid].2, "it is not asked for again");
        assert_eq!(told, [(1, 0, None), (1, 1, None), (1, 1, Some("so it is".to_owned()))]);
    }

    #[test]
    fn those_that_have_ended_are_forgotten_however_many_there_are() {
        const MANY: u32 = 100_000;
        let mut known: BTreeMap<u32, ()> = (0..MANY).map(|tid| (tid, ())).collect();
        let there: Vec<u32> = (MANY / 2..2 * MANY).rev().collect();
        let began = Instant::now();
        forget_ended(&mut known, &there);
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        assert!(known.into_keys().eq(MANY / 2..MANY));
    }
}
