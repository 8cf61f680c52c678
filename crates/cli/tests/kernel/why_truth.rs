//! Compares what `punctual why` blames with what fire drills are known to have injected.
//!
//! `every_drill_...` measure all drills alone and under a load, with and without samples, for a second each; when run
//! at length, they print the figures of `docs/why-truth.md`:
//!
//! ```sh
//! PUNCTUAL_TRUTH_SECONDS=8 cargo test -p punctual --test kernel why_truth::every_drill -- --nocapture --test-threads 1
//! ```
//!
//! `PUNCTUAL_TRUTH_DRILLS` says which drills (default: all), `PUNCTUAL_TRUTH_KEEP` where the recordings are kept.

#[path = "../support/truth.rs"]
mod truth;

use crate::support;
use punctual_kernel::scheduling::pin_to;
use punctual_recording::Episode;
use punctual_recording::episode::{Event, EventKind};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use truth::{CULPRITS, Culprit, Score, Trial, Truth, confusion_table, measure, measure_in_turn, refusal};

/// The CPUs that this process may use, as the kernel lists them.
fn allowed_cpus() -> Vec<String> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let cpus = list.trim().split(',').flat_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        first.parse::<u32>().unwrap()..=last.parse().unwrap()
    });
    cpus.map(|cpu| cpu.to_string()).collect()
}

/// Whether the machine can record and inject at all; says so loudly if not.
fn is_allowed() -> bool {
    let needed = ["BPF", "BTF", "kernel's thread ids", "unshifted clock", "real-time priority"];
    support::allows_all(&needed).map_err(|reason| support::skip("why truth", &reason)).is_ok()
}

/// What several runs of the same drills brought.
struct Trials {
    /// One for each drill, over all runs.
    scores: Vec<Score>,
    runs: Vec<Truth>,
}

/// At least this many injections of each drill are judged.
const MIN_JUDGED: u64 = 20;

/// Runs drills, each on its CPU, beside a recording of those CPUs, until each is blamed in enough injections, or for some
/// attempts; `None`, loudly, if the machine cannot.
fn short_trials(drills: &[(&str, &str, &str)], words: &[&str]) -> Option<Trials> {
    short_trials_until(drills, words, |_| true)
}

/// The same until this holds as well.
fn short_trials_until(
    drills: &[(&str, &str, &str)],
    words: &[&str],
    holds: impl Fn(&Trials) -> bool,
) -> Option<Trials> {
    if !is_allowed() {
        return None;
    }
    for (drill, ..) in drills {
        if let Some(reason) = refusal(drill) {
            support::skip(&format!("why drill {drill}"), &reason);
            return None;
        }
    }
    let mut cpus: Vec<&str> = drills.iter().map(|(_, cpu, _)| *cpu).collect();
    cpus.dedup();
    let trial = Trial { drills, length: "300us..5ms", cpus: &cpus.join(","), duration: "1200ms", words };
    let mut trials = Trials { scores: Vec::new(), runs: Vec::new() };
    for run in 0..support::MAX_ATTEMPTS as u64 {
        let directory = tempfile::tempdir().unwrap();
        let mut truth = measure(directory.path(), &trial);
        add(&mut trials.scores, run, std::mem::take(&mut truth.scores));
        trials.runs.push(truth);
        // If there are few, one or two that are missed say nothing, and neither does a moment in which the host hid much.
        if trials.scores.iter().all(|score| why_not_blamed(score).is_none()) && holds(&trials) {
            break;
        }
    }
    print(&trials.scores);
    Some(trials)
}

/// Adds the scores of a run to those of the runs before, drill by drill.
fn add(sums: &mut Vec<Score>, run: u64, scores: Vec<Score>) {
    if sums.is_empty() {
        *sums = scores;
    } else {
        sums.iter_mut().zip(scores).for_each(|(sum, score)| sum.add(run, score));
    }
}

fn print(scores: &[Score]) {
    for score in scores {
        eprintln!("{}", score.line());
        for miss in &score.misses {
            eprintln!("    {miss}");
        }
    }
    eprintln!("{}", confusion_table(&scores.iter().collect::<Vec<_>>()));
}

/// If more than this are missed, though each has its name, a drill is measured once more.
const MAX_MISSED_AT_FIRST: u64 = 2;

/// One in fifty may be missed, and one more by bad luck; what the host did, and what nobody can tell, does not count.
fn missed_at_most(score: &Score) -> u64 {
    1 + score.judged() / 50
}

/// What is missing for a drill to count as blamed.
fn why_not_blamed(score: &Score) -> Option<String> {
    if score.judged() < MIN_JUDGED {
        return Some(format!("too few: {}", score.line()));
    }
    if score.missed() > missed_at_most(score) {
        return Some(format!("{}\n{}", score.line(), score.misses.join("\n")));
    }
    // A tenth is far more than is promised; a busy host may hide that much.
    (score.unknown_ns * 10 > score.overlap_ns).then(|| format!("much is unknown: {}", score.line()))
}

fn assert_blamed(score: &Score) {
    assert_eq!(why_not_blamed(score), None);
}

fn drill_is_blamed(drill: &str) {
    let cpus = allowed_cpus();
    // Half of them with samples, half without.
    let rate = if ["irq", "fifo"].contains(&drill) { "0" } else { "1000" };
    if let Some(trials) = short_trials(&[(drill, cpus.last().unwrap(), "30ms")], &["--sample-rate", rate]) {
        assert_blamed(&trials.scores[0]);
    }
}

#[test]
fn an_interrupt_is_blamed() {
    drill_is_blamed("irq");
}

#[test]
fn interrupts_off_are_blamed_on_the_thread() {
    drill_is_blamed("irq-off");
}

#[test]
fn a_softirq_is_blamed_on_its_callback() {
    drill_is_blamed("softirq");
}

#[test]
fn a_thread_of_higher_priority_is_blamed() {
    drill_is_blamed("fifo");
}

#[test]
fn a_thread_of_the_same_priority_is_blamed() {
    drill_is_blamed("same-priority");
}

#[test]
fn a_lock_is_blamed_on_its_holder() {
    drill_is_blamed("lock");
}

/// Around the throttling, the victim runs for some tens of microseconds that do not show in its CPU time, rarely so
/// many that short injections miss their part because of them: then it is measured once more.
#[test]
fn a_budget_that_is_used_up_is_blamed() {
    let measure = || short_trials(&[("throttle", allowed_cpus().last().unwrap(), "30ms")], &["--sample-rate", "1000"]);
    let Some(first) = measure() else { return };
    if first.scores[0].misnamed == 0 && first.scores[0].missed() > MAX_MISSED_AT_FIRST {
        print(&first.scores);
        assert_blamed(&measure().expect("it was to be had before").scores[0]);
    } else {
        assert_blamed(&first.scores[0]);
    }
}

/// The episodes in which two drills met, and in how many of them both have their parts.
fn met_each_other(first: &Score, second: &Score) -> (usize, usize) {
    let both: Vec<bool> = first
        .right_in
        .iter()
        .filter(|(episode, _)| !first.apart_in.contains(episode) && !second.apart_in.contains(episode))
        .filter_map(|(episode, right)| second.right_in.get(episode).map(|other| *right && *other))
        .collect();
    (both.len(), both.iter().filter(|right| **right).count())
}

/// A softirq that interrupts a spinning thread, or comes before or after it: each gets its own part.
#[test]
fn two_drills_on_one_cpu_are_told_apart() {
    let cpus = allowed_cpus();
    let cpu = cpus.last().unwrap();
    let met = |trials: &Trials| {
        let [softirq, fifo] = &trials.scores[..] else { panic!("two scores") };
        met_each_other(softirq, fifo)
    };
    let are_apart = |(both, right): (usize, usize)| both > 0 && both - right <= 1 + both / 25;
    let drills = [("softirq", &**cpu, "20ms"), ("fifo", &**cpu, "23ms")];
    let Some(trials) = short_trials_until(&drills, &[], |trials| are_apart(met(trials))) else { return };
    let (both, right) = met(&trials);
    eprintln!("episodes with both: {both}, with both parts right: {right}");
    assert!(are_apart((both, right)), "of {both} episodes {right} are right");
    trials.scores.iter().for_each(assert_blamed);
}

/// Each on its own CPU at the same time: neither is blamed for what the other did.
#[test]
fn two_drills_on_two_cpus_are_told_apart() {
    let cpus = allowed_cpus();
    let [.., first, second] = &cpus[..] else {
        support::skip("why two CPUs", "there is one CPU only");
        return;
    };
    let Some(trials) = short_trials(&[("irq", first, "30ms"), ("same-priority", second, "35ms")], &[]) else { return };
    let [irq, same] = &trials.scores[..] else { panic!("two scores") };
    for (score, other) in [(irq, same), (same, irq)] {
        assert_blamed(score);
        let is_other = |blamed: &&String| blamed.contains(other.culprit.name);
        assert_eq!(score.confusion.keys().find(is_other), None, "{}", score.line());
    }
}

/// Two threads on each CPU pass a byte back and forth until this is dropped: each trip is two wakings and two switches.
struct Churn {
    end: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// Trips a second on each CPU: 100,000 events.
const TRIPS: u64 = 25_000;

impl Churn {
    fn start(cpus: &[String]) -> Churn {
        let end = Arc::new(AtomicBool::new(false));
        let pair = |cpu: &String| {
            let cpu: u32 = cpu.parse().unwrap();
            let (mut from, mut to) = std::io::pipe().unwrap();
            let (mut answer, mut back) = std::io::pipe().unwrap();
            let end = Arc::clone(&end);
            let echo = std::thread::spawn(move || {
                pin_to(cpu).unwrap();
                let mut byte = [0];
                while from.read_exact(&mut byte).is_ok() && back.write_all(&byte).is_ok() {}
            });
            let ask = std::thread::spawn(move || {
                pin_to(cpu).unwrap();
                let (began, mut trips, mut byte) = (Instant::now(), 0, [0]);
                while !end.load(Ordering::Relaxed) {
                    for _ in 0..25 {
                        to.write_all(&byte).unwrap();
                        answer.read_exact(&mut byte).unwrap();
                    }
                    trips += 25;
                    let due = Duration::from_nanos(trips * 1_000_000_000 / TRIPS);
                    std::thread::sleep(due.saturating_sub(began.elapsed()));
                }
            });
            [echo, ask]
        };
        let threads = cpus.iter().flat_map(pair).collect();
        Churn { end, threads }
    }
}

impl Drop for Churn {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// In an episode that is not void, every switch begins with the thread to which the one before it switched.
#[test]
fn at_a_hundred_thousand_events_a_second_nothing_is_lost_inside_an_episode() {
    let cpus = allowed_cpus();
    let churn = Churn::start(&cpus);
    let Some(trials) = short_trials(&[("irq", cpus.last().unwrap(), "30ms")], &[]) else { return };
    drop(churn);
    trials.runs.iter().for_each(nothing_is_lost);
    assert_blamed(&trials.scores[0]);
}

/// Checks every episode that is not void. A kernel may hide a thread from programs, for example those of a sandbox's
/// first process: nothing that is noted was ever done by it, and it is not known who comes after it.
fn nothing_is_lost(truth: &Truth) {
    let recorder = &truth.answer["recorder"];
    let figure = |name: &str| recorder[name].as_u64().unwrap_or(0);
    let runs = figure("program_runs") as f64 / figure("cpus").max(1) as f64;
    let whole: Vec<&Episode> = truth.evidence.values().filter(|episode| episode.void.is_none()).collect();
    let seen: BTreeSet<u64> = whole.iter().flat_map(|episode| &episode.events).map(|event| event.tid.into()).collect();
    let (mut events, mut switches, mut hidden) = (0, 0, 0);
    for episode in &whole {
        let own = || episode.events.iter().filter(|event| event.cpu == episode.victim.cpu);
        events = events.max(own().count());
        let chain: Vec<&Event> = own().filter(|event| event.kind == EventKind::Switch).collect();
        for pair in chain.windows(2).filter(|pair| pair[0].value != u64::from(pair[1].tid)) {
            hidden += 1;
            assert!(
                !seen.contains(&pair[0].value),
                "a switch is missing in episode {}, late from {} to {}: {:#?}",
                episode.id,
                episode.expected_ns,
                episode.end_ns,
                own().filter(|event| (pair[0].at_ns..=pair[1].at_ns).contains(&event.at_ns)).collect::<Vec<_>>()
            );
        }
        switches += chain.len();
    }
    let whole = whole.len();
    eprintln!(
        "{:.0} program runs a second and CPU, which took {:.2} % of each; {whole} whole episodes of {}, up to {events} \
         events of the CPU each, {switches} switches, none missing but {hidden} by threads that are hidden from programs; out of the rings at most {:.1} ms \
         after it was noticed",
        runs / (figure("armed_ns").max(1) as f64 / 1e9),
        truth.answer["cpu_share"].as_f64().unwrap_or(0.0) * 100.0,
        figure("kept"),
        figure("longest_collection_ns") as f64 / 1e6
    );
    assert!(whole > 0, "{recorder}");
}

/// At least this many injections of each drill are judged when all drills are measured one after another.
const MIN_JUDGED_OF_EACH: u64 = 10;

/// The drills to measure: those that this machine allows, of the ones that were chosen.
fn chosen_drills() -> Vec<&'static Culprit> {
    let chosen = std::env::var("PUNCTUAL_TRUTH_DRILLS").ok();
    let is_chosen = |drill: &str| chosen.as_ref().is_none_or(|chosen| chosen.split(',').any(|word| word == drill));
    let mut drills: Vec<&Culprit> = CULPRITS.iter().filter(|culprit| is_chosen(culprit.drill)).collect();
    drills.retain(|culprit| match refusal(culprit.drill) {
        None => true,
        Some(reason) => {
            support::skip(&format!("why drill {}", culprit.drill), &reason);
            false
        }
    });
    drills
}

/// Whether enough injections were judged, and few of them got another name.
fn is_enough(score: &Score) -> bool {
    score.judged() >= MIN_JUDGED_OF_EACH && score.misnamed <= 1 + score.judged() / 50
}

/// Measures in a directory that is kept under this name if the user wants that.
fn scores_of(name: &str, measure: impl FnOnce(&Path) -> Truth) -> Vec<Score> {
    let scratch = tempfile::tempdir().unwrap();
    let place = std::env::var_os("PUNCTUAL_TRUTH_KEEP").map(|keep| PathBuf::from(keep).join(name));
    let directory: &Path = place.as_deref().unwrap_or(scratch.path());
    std::fs::create_dir_all(directory).unwrap();
    measure(directory).scores
}

/// So many drills have their turns beside one recording: it keeps 240 late wakeups at once and few more, and a load makes some.
const IN_TURN: usize = 3;

/// Every drill under a load: at most one in fifty, and one by bad luck, has another name. For a second each they have their turns
/// beside one recording, those with a victim of their own beside another; one that met too little has more by itself.
fn every_drill(load: &str, rate: &str) {
    if !is_allowed() {
        return;
    }
    if !support::load_is_installed(load) {
        support::skip(&format!("why truth under the load {load}"), "its programs are not installed");
        return;
    }
    let seconds: u64 = std::env::var("PUNCTUAL_TRUTH_SECONDS").map_or(1, |text| text.parse().expect("whole seconds"));
    let cpus = allowed_cpus();
    let cpu = cpus.last().unwrap();
    let words = ["--sample-rate", rate, "--load", load];
    let (mut with_victim, mut others) = (Vec::new(), Vec::new());
    for Culprit { drill, brings_victim, .. } in chosen_drills() {
        let drills = if *brings_victim { &mut with_victim } else { &mut others };
        drills.push((*drill, cpu.as_str(), "30ms"));
    }
    let in_turn = if seconds == 1 { IN_TURN } else { 1 };
    let mut all = Vec::new();
    for drills in others.chunks(in_turn).chain(with_victim.chunks(in_turn)) {
        // Until it is ended; a busy machine takes a while to begin each.
        let longest = format!("{}s", (seconds + 20) * drills.len() as u64);
        let trial = Trial { drills, length: "200us..5ms", cpus: cpu, duration: &longest, words: &words };
        let mut scores = scores_of(&format!("{}-{load}-{rate}", drills[0].0), |directory| {
            measure_in_turn(directory, &trial, Duration::from_secs(seconds))
        });
        for (drill, score) in drills.iter().zip(&mut scores) {
            let alone = Trial { drills: std::slice::from_ref(drill), duration: &format!("{seconds}s"), ..trial };
            for run in 1..support::MAX_ATTEMPTS as u64 {
                if is_enough(score) {
                    break;
                }
                let name = format!("{}-{load}-{rate}-{run}", drill.0);
                let more = scores_of(&name, |directory| measure(directory, &alone));
                more.into_iter().for_each(|more| score.add(run, more));
            }
        }
        all.extend(scores);
    }
    eprintln!("load {load}, {rate} samples a second");
    print(&all);
    for score in &all {
        assert!(score.judged() >= MIN_JUDGED_OF_EACH, "too few: {}", score.line());
        assert!(score.misnamed <= 1 + score.judged() / 50, "{}\n{}", score.line(), score.misses.join("\n"));
    }
}

/// Each drill alone has a test of its own above, some with samples and some without; under a load with samples, they
/// are always tried. All the rest takes a minute.
#[test]
fn every_drill_alone_and_under_a_load_without_samples() {
    if !support::tests_all() {
        support::skip("why truth alone, and under a load without samples", "it takes long: ./test --all has it");
        return;
    }
    for (load, rate) in [("none", "0"), ("none", "1000"), ("mixed", "0")] {
        every_drill(load, rate);
    }
}

#[test]
fn every_drill_under_a_load_with_samples() {
    every_drill("mixed", "1000");
}
