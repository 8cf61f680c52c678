//! Threads of a test that keep one another waiting, a log of when they did, and the tally of what the answer says about
//! that.

use crate::support::{self, code, json, number, own_name, run, stderr};
use punctual_kernel::clock::monotonic_ns as clock_ns;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::Scope;
use std::time::Duration;

/// A shorter wait proves nothing, ns.
const MET_NS: u64 = 200_000;
/// At least this many waits are judged.
pub(crate) const MIN_MET: u64 = 20;
const NOT_SEEN: &str = "lock holder not seen";
/// What the victim's name begins with.
const VICTIM: &str = "why-victim";

/// A stretch of time in a thread's log.
pub(crate) type Stretch = (u64, u64);

/// What the threads of a test share.
#[derive(Default)]
pub(crate) struct Shared {
    over: AtomicBool,
    pub(crate) victim: AtomicI32,
    /// When the culprit kept others waiting.
    kept: Mutex<Vec<Stretch>>,
    /// When the victim waited.
    waited: Mutex<Vec<Stretch>>,
}

impl Shared {
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

/// Gives the calling thread this name and this CPU; with a priority it becomes a FIFO thread, otherwise a normal one
/// ahead of others.
pub(crate) fn become_thread(name: &std::ffi::CStr, cpu: usize, priority: Option<i32>) {
    support::become_thread(name, cpu, priority);
    if priority.is_none() {
        // SAFETY: takes numbers alone, of which 0 is the calling thread.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
    }
}

/// A wait of the victim, which it logs.
pub(crate) fn logged(shared: &Shared, wait: impl FnOnce()) {
    logged_within(shared, u64::MAX, wait);
}

/// A wait of the victim for at most this long, ns. What keeps it from the CPU after that is not part of the wait.
pub(crate) fn logged_within(shared: &Shared, limit_ns: u64, wait: impl FnOnce()) {
    let asked = clock_ns();
    wait();
    let got = clock_ns().min(asked.saturating_add(limit_ns));
    if got - asked > MET_NS {
        shared.waited.lock().unwrap().push((asked, got));
    }
}

/// Every 30 ms the culprit `keeps` others waiting, between the times that it returns.
fn culprit(shared: &Shared, mut keeps: impl FnMut(u64) -> Stretch) {
    let mut length_ns = 500_000;
    while !shared.is_over() {
        std::thread::sleep(Duration::from_millis(30));
        length_ns = if length_ns > 3_000_000 { 500_000 } else { length_ns + 370_000 };
        let kept = keeps(length_ns);
        shared.kept.lock().unwrap().push(kept);
    }
}

/// Makes the calling thread the victim: FIFO 50 on CPU 0.
pub(crate) fn become_victim(shared: &Shared) {
    let name = CString::new(own_name(VICTIM)).expect("a name without NUL");
    shared.victim.store(support::become_thread(&name, 0, Some(50)), Ordering::Relaxed);
}

/// The victim: it `works` every millisecond.
fn victim(shared: &Shared, mut works: impl FnMut()) {
    become_victim(shared);
    while !shared.is_over() {
        std::thread::sleep(Duration::from_millis(1));
        works();
    }
}

/// A thread that keeps others waiting.
pub(crate) fn spawn_holder<'scope>(
    scope: &'scope Scope<'scope, '_>,
    shared: &Arc<Shared>,
    (cpu, priority): (usize, Option<i32>),
    keeps: impl FnMut(u64) -> Stretch + Send + 'scope,
) {
    let shared = Arc::clone(shared);
    scope.spawn(move || {
        become_thread(c"why-holder", cpu, priority);
        culprit(&shared, keeps);
    });
}

/// The thread that waits.
pub(crate) fn spawn_victim<'scope>(
    scope: &'scope Scope<'scope, '_>,
    shared: &Arc<Shared>,
    mut works: impl FnMut(&Shared) + Send + 'scope,
) {
    let shared = Arc::clone(shared);
    scope.spawn(move || victim(&shared, || works(&shared)));
}

/// Waits, counted by what was said about them.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) waits: u64,
    pub(crate) right: u64,
    pub(crate) unknown: u64,
    wrong: u64,
    pub(crate) not_found: u64,
    in_void: u64,
    said: BTreeMap<String, u64>,
    /// Those that are wrong.
    examples: Vec<String>,
    pub(crate) longest_ns: u64,
    pub(crate) episodes: u64,
    /// Episodes whose unknown time is less than what is unknown in their parts.
    miscounted: u64,
}

/// What happens on the way to the program, and what may interrupt anybody; neither is part of what the victim waited
/// for.
const BESIDE: [&str; 4] = ["steal", "irq", "softirq", "kernel_wake"];

impl Tally {
    /// Waits covered by an episode with complete evidence.
    fn met(&self) -> u64 {
        self.right + self.unknown + self.wrong
    }

    /// Judges every wait that the culprit caused for the victim, by what `why` says about that time.
    fn add(&mut self, shared: &Shared, answer: &Value, right: &[&str]) {
        let kept = shared.kept.lock().unwrap();
        let tid = shared.victim.load(Ordering::Relaxed) as u64;
        let episodes =
            || answer["episodes"].as_array().unwrap().iter().filter(|one| number(&one["victim"]["tid"]) == tid);
        let span = |episode: &Value| {
            let begin = number(&episode["expected_ns"]);
            (begin, begin + number(&episode["total_ns"]))
        };
        let recorded = episodes().map(span).fold((u64::MAX, 0), |all, one| (all.0.min(one.0), all.1.max(one.1)));
        for episode in episodes().filter(|episode| episode["void"] == false) {
            self.episodes += 1;
            self.longest_ns = self.longest_ns.max(number(&episode["total_ns"]));
            for part in episode["parts"].as_array().unwrap() {
                let inside: u64 =
                    part["inside"].as_array().map_or(0, |rows| rows.iter().map(|row| number(&row["ns"])).sum());
                self.miscounted += u64::from(inside != 0 && inside != number(&part["ns"]));
            }
        }
        for &(asked, got) in shared.waited.lock().unwrap().iter() {
            let met = kept.iter().map(|&(from, to)| (from.max(asked), to.min(got)));
            let Some((from, to)) = met.filter(|(from, to)| from < to).max_by_key(|(from, to)| to - from) else {
                continue;
            };
            if to - from < MET_NS || from < recorded.0 || to > recorded.1 {
                continue;
            }
            self.waits += 1;
            let touches = |episode: &&Value| span(episode).0 < to && span(episode).1 > from;
            let Some(episode) = episodes().find(touches) else {
                self.not_found += 1;
                continue;
            };
            if episode["void"] == true {
                self.in_void += 1;
                continue;
            }
            let mut blamed: BTreeMap<String, u64> = BTreeMap::new();
            for piece in episode["pieces"].as_array().unwrap() {
                let kind = piece["kind"].as_str().unwrap();
                let begin = number(&piece["start_ns"]);
                let ns = (begin + number(&piece["ns"])).min(to).saturating_sub(begin.max(from));
                if ns > 0 && !BESIDE.contains(&kind) {
                    *blamed.entry(format!("{kind} {}", piece["name"].as_str().unwrap())).or_default() += ns;
                }
            }
            let Some((said, _)) = blamed.into_iter().max_by_key(|(_, ns)| *ns).filter(|(_, ns)| *ns > MET_NS / 2)
            else {
                self.not_found += 1;
                continue;
            };
            if right.contains(&said.as_str()) {
                self.right += 1;
            } else if said == NOT_SEEN || said.starts_with("unknown ") || said.starts_with("blind ") {
                self.unknown += 1;
            } else {
                self.wrong += 1;
                self.examples.push(format!("{said} for {from} to {to}, asked at {asked}: {episode}"));
            }
            *self.said.entry(said).or_default() += 1;
        }
    }
}

/// Records the victim beside these threads and tallies what `why` says; measures again until enough waits were met.
pub(crate) fn tally(
    name: &str,
    right: &[&str],
    enough: impl Fn(&Tally) -> bool,
    threads: impl for<'scope, 'env> Fn(&'scope Scope<'scope, 'env>, &Arc<Shared>),
) -> Tally {
    let mut tally = Tally::default();
    for _ in 0..support::MAX_ATTEMPTS {
        let directory = tempfile::tempdir().unwrap();
        let shared = Arc::new(Shared::default());
        let output = std::thread::scope(|scope| {
            threads(scope, &shared);
            support::wait_until(|| shared.victim.load(Ordering::Relaxed) != 0);
            let comm = format!("^{}$", own_name(VICTIM));
            let words = ["record", "-q", "-D", "3s", "--comm", &comm, "--why", "300us", "--why-stage", "response"];
            let output = run(directory.path(), &[&words[..], &["-o", "a.punctual"]].concat());
            shared.over.store(true, Ordering::Relaxed);
            output
        });
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        tally.add(&shared, &json(&run(directory.path(), &["why", "a.punctual", "--json"])), right);
        // If there are few, one that others on this machine delayed says nothing.
        if enough(&tally) && accuses_nobody(&tally) {
            break;
        }
    }
    eprintln!(
        "{name}: {} waits: {} right, {} unknown, {} wrong with a name, {} not found, {} in void episodes; said: {:?}; \
         {} episodes, at most {:.1} ms",
        tally.waits,
        tally.right,
        tally.unknown,
        tally.wrong,
        tally.not_found,
        tally.in_void,
        tally.said,
        tally.episodes,
        tally.longest_ns as f64 / 1e6
    );
    assert!(enough(&tally), "{name}: too few: {tally:?}");
    assert_eq!(tally.miscounted, 0, "parts within a part add up to it");
    tally
}

/// At most one in a hundred, and one more if there are few.
pub(crate) fn names_nobody_wrongly(tally: &Tally) {
    assert!(accuses_nobody(tally), "{tally:?}");
}

fn accuses_nobody(tally: &Tally) -> bool {
    tally.wrong <= 1 + tally.met() / 100
}

/// In nineteen out of twenty that were met; others may have delayed a few, which says less the more were met.
pub(crate) fn names_the_holder(tally: &Tally) -> bool {
    met(tally) && tally.right * 20 >= tally.met() * 19
}

pub(crate) fn met(tally: &Tally) -> bool {
    tally.met() >= MIN_MET
}
