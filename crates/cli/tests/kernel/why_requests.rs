//! `punctual record --why --why-stage request` on a client of this test, which asks a server through pipes, which asks
//! a store through TCP: along the chain, the answer must tell who was slow. Right, unknown, wrongly named and not found
//! are counted separately.

use crate::requires;
use crate::support::{self, become_thread, code, json, number, own_name, run, stderr, stdout};
use punctual_kernel::clock::monotonic_ns as clock_ns;
use serde_json::Value;
use std::ffi::CString;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// At least this many slow answers are judged.
const MIN_MET: u64 = 20;
/// What the client's name begins with.
const CLIENT: &str = "why-client";
/// A program's connections are known by then after its first request, ns: from the second look at them on, which comes 60 ms after
/// the first, and later on a busy machine.
const CONNECTIONS_KNOWN_NS: u64 = 200_000_000;
/// How often the client asks.
const PERIOD: Duration = Duration::from_millis(5);

/// What the threads share.
#[derive(Default)]
struct Shared {
    over: AtomicBool,
    client: AtomicI32,
    /// When the store worked for long.
    slow: Mutex<Vec<(u64, u64)>>,
}

/// Answers each byte with one byte, after `work`, until nobody asks any more.
fn serves(mut asked: impl Read, mut answers: impl Write, mut work: impl FnMut()) {
    let mut byte = [0];
    while asked.read_exact(&mut byte).is_ok() {
        work();
        if answers.write_all(&byte).is_err() {
            break;
        }
    }
}

/// What was said about the slow answers.
#[derive(Debug, Default)]
struct Tally {
    slow: u64,
    right: u64,
    unknown: u64,
    wrong: u64,
    not_found: u64,
    in_void: u64,
    /// Those before the connections were known: if somebody is named for them, it is not anyone else.
    early: u64,
    /// Episodes that the recordings count but do not have, and wakeups that no program saw.
    missing: u64,
    /// What was said about those that are unknown or wrong.
    said: Vec<String>,
}

impl Tally {
    fn met(&self) -> u64 {
        self.right + self.unknown + self.wrong
    }

    /// Whether enough were met, and enough of them are right: if there are few, a single one says nothing.
    fn suffices(&self) -> bool {
        let are_right = self.right * 20 >= self.met() * 19 && self.wrong <= 1 + self.met() / 100;
        self.met() >= MIN_MET && are_right && self.not_found <= self.slow / 20 + self.missing
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Each row with rows inside it is their sum.
fn adds_up(row: &Value) -> bool {
    let inside = list(&row["inside"]);
    let sum: u64 = inside.iter().map(|row| number(&row["ns"])).sum();
    inside.is_empty() || sum == number(&row["ns"]) && inside.iter().all(adds_up)
}

/// How much of a wait was for the store, whatever held the store up: the host, interrupts and others may interrupt it.
fn for_store(part: &Value) -> u64 {
    let known = |row: &Value| {
        let unknown = list(&row["inside"]).iter().filter(|row| row["kind"] == "unknown");
        number(&row["ns"]) - unknown.map(|row| number(&row["ns"])).sum::<u64>()
    };
    let by_name = |row: &&Value| row["kind"] == "wait" && row["name"] == "why-store";
    list(&part["inside"]).iter().filter(by_name).map(known).sum()
}

fn is_wait_for_server(part: &Value) -> bool {
    part["kind"] == "wait" && part["name"] == "why-server"
}

/// Whether a part says that it does not know.
fn is_open(part: &Value) -> bool {
    let (kinds, names) = (["unknown", "blind", "steal"], ["ender not seen", "the network"]);
    kinds.iter().any(|kind| part["kind"] == *kind) || names.iter().any(|name| part["name"] == *name)
}

/// Judges what is said of a slow answer before the client's connections are known. Where its requests end is not certain then.
fn judge_early(tally: &mut Tally, episode: &Value) {
    tally.early += 1;
    let largest = list(&episode["parts"]).iter().max_by_key(|part| number(&part["ns"]));
    let is_of_another = |part: &&Value| part["kind"] == "wait" && !is_wait_for_server(part) && !is_open(part);
    if let Some(part) = largest.filter(is_of_another) {
        tally.wrong += 1;
        tally.said.push(format!("before its connections were known: {part}"));
    }
}

fn judge(tally: &mut Tally, shared: &Shared, answer: &Value) {
    tally.missing += number(&answer["missing_episodes"]);
    let client = shared.client.load(Ordering::Relaxed) as u64;
    let span = |episode: &Value| {
        (number(&episode["expected_ns"]), number(&episode["expected_ns"]) + number(&episode["total_ns"]))
    };
    let episodes = || list(&answer["episodes"]).iter().filter(|one| number(&one["victim"]["tid"]) == client);
    let recorded = episodes().map(span).fold((u64::MAX, 0), |all, one| (all.0.min(one.0), all.1.max(one.1)));
    for episode in episodes() {
        assert_eq!(episode["stage"], "request");
        let parts = list(&episode["parts"]);
        assert_eq!(parts.iter().map(|part| number(&part["ns"])).sum::<u64>(), number(&episode["total_ns"]));
        assert!(parts.iter().all(adds_up), "{episode}");
    }
    let known_ns = recorded.0.saturating_add(CONNECTIONS_KNOWN_NS);
    for &(from, to) in shared.slow.lock().unwrap().iter().filter(|(from, to)| *from > recorded.0 && *to < recorded.1) {
        let found = episodes().find(|episode| span(episode).0 < to && span(episode).1 > from);
        if from <= known_ns {
            found.into_iter().filter(|episode| episode["void"] != true).for_each(|episode| judge_early(tally, episode));
            continue;
        }
        tally.slow += 1;
        let Some(episode) = found else {
            tally.not_found += 1;
            tally.said.push(format!("nothing of {} ns, {} ns after the first", to - from, from - recorded.0));
            continue;
        };
        if episode["void"] == true {
            tally.in_void += 1;
            continue;
        }
        // The time from one request to the next does not count: the client sleeps in between.
        assert!(span(episode).0 <= from && span(episode).1 >= to, "{from} to {to}: {episode}");
        let parts = list(&episode["parts"]);
        let largest = parts.iter().max_by_key(|part| number(&part["ns"])).unwrap();
        let waited = parts.iter().find(|part| is_wait_for_server(part)).map_or(0, for_store);
        if waited * 10 > (to - from) * 7 {
            tally.right += 1;
            continue;
        }
        tally.said.push(format!("{waited} of {} ns: {largest}", to - from));
        if is_wait_for_server(largest) || is_open(largest) {
            tally.unknown += 1;
        } else {
            tally.wrong += 1;
        }
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a scene of three programs, in the order in which it is played")]
fn a_slow_store_behind_a_server_is_told_along_the_chain() {
    requires!("why requests", "BPF", "BTF", "kernel's thread ids", "unshifted clock", "real-time priority");
    let last = std::thread::available_parallelism().map_or(1, usize::from) - 1;
    let (mut tally, mut is_worded) = (Tally::default(), false);
    for _ in 0..support::MAX_ATTEMPTS {
        let directory = tempfile::tempdir().unwrap();
        let shared = Arc::new(Shared::default());
        let (asked, mut asks) = std::io::pipe().unwrap();
        let (mut answered, answers) = std::io::pipe().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to_store = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (from_server, _) = listener.accept().unwrap();
        for stream in [&to_store, &from_server] {
            stream.set_nodelay(true).unwrap();
        }
        let output = std::thread::scope(|scope| {
            let its = Arc::clone(&shared);
            scope.spawn(move || {
                become_thread(c"why-store", last, Some(10));
                let mut count = 0_u64;
                serves(from_server.try_clone().unwrap(), from_server, || {
                    count += 1;
                    if count.is_multiple_of(7) {
                        let start = clock_ns();
                        while clock_ns() - start < 1_500_000 + count % 5 * 300_000 {
                            std::hint::spin_loop();
                        }
                        its.slow.lock().unwrap().push((start, clock_ns()));
                    }
                });
            });
            scope.spawn(move || {
                become_thread(c"why-server", last, Some(11));
                let mut to_store = to_store;
                serves(asked, answers, || {
                    to_store.write_all(&[1]).unwrap();
                    to_store.read_exact(&mut [0]).unwrap();
                });
            });
            let its = Arc::clone(&shared);
            scope.spawn(move || {
                let name = CString::new(own_name(CLIENT)).expect("a name without NUL");
                its.client.store(become_thread(&name, 0, Some(50)), Ordering::Relaxed);
                while !its.over.load(Ordering::Relaxed) {
                    std::thread::sleep(PERIOD);
                    asks.write_all(&[1]).unwrap();
                    answered.read_exact(&mut [0]).unwrap();
                }
            });
            support::wait_until(|| shared.client.load(Ordering::Relaxed) != 0);
            let comm = format!("^{}$", own_name(CLIENT));
            let words = ["record", "-q", "-D", "3s", "--comm", &comm, "--why", "1ms", "--why-stage", "request"];
            let output = run(directory.path(), &[&words[..], &["-o", "a.punctual"]].concat());
            shared.over.store(true, Ordering::Relaxed);
            output
        });
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let answer = json(&run(directory.path(), &["why", "a.punctual", "--json"]));
        judge(&mut tally, &shared, &answer);
        let report = json(&run(directory.path(), &["report", "a.punctual", "--json"]));
        tally.missing += number(&report["unobserved"]);
        let text = stdout(&run(directory.path(), &["why", "a.punctual"]));
        // On a machine that stands still, what is void or unclear comes first.
        is_worded |= text.contains(" requests took longer than 1.00 ms, the slowest ");
        eprintln!("{}", text.lines().next().unwrap_or_default());
        if tally.suffices() {
            break;
        }
    }
    assert!(is_worded);
    eprintln!("requests: {tally:?}");
    assert!(tally.met() >= MIN_MET, "too few: {tally:?}");
    assert!(tally.wrong <= 1 + tally.met() / 100, "{tally:?}");
    assert!(tally.right * 20 >= tally.met() * 19, "{tally:?}");
    assert!(tally.not_found <= tally.slow / 20 + tally.missing, "{tally:?}");
}
