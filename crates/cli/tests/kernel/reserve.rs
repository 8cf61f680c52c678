//! Reservations for a program's thread, against the running kernel: orders, names, what was granted and given back. The
//! host takes CPUs away here, so no test relies on a reservation that is proven at the first attempt.

use crate::requires;
use crate::support::nobody::Nobody;
use crate::support::reserving::{Periodic, SHORT, SHORT_OF_DEVICE, assert_adds_up, start_until_tried};
use crate::support::{self, code, json, run, start, stderr, stdout, wait_until};
use punctual_kernel::other_thread::ThreadScheduling;
use serde_json::Value;
use std::path::Path;

/// A device is run with a reservation like any other setting, and a fast computer needs none: no verdict is asserted.
#[test]
fn a_device_has_its_trials_too() {
    requires!("a_device_has_its_trials_too", "thread woken by a softirq", "deadline reservation");
    let directory = tempfile::tempdir().unwrap();
    let words = ["reserve", "--json", "-q", "v90", "--competitor", "spin:normal", "-o", "d"];
    let words: Vec<&str> = words.iter().chain(&SHORT_OF_DEVICE).copied().collect();
    let answer = json(&run(directory.path(), &words));
    assert_eq!((&answer["end"], &answer["thread"]["name"]), (&"finished".into(), &"v90".into()), "{answer}");
    assert_eq!((&answer["thread"]["tid"], &answer["deadline_ns"]), (&Value::Null, &12_500_000.into()));
    assert_eq!(answer["beside"], "spin:normal", "{answer}");
    let longest = answer["thread"]["work_max_ns"].as_u64().unwrap();
    assert_eq!(answer["slack_ns"].as_u64(), 12_500_000_u64.checked_sub(longest), "{answer}");
    assert!(assert_consistent(&answer) >= 1);
    assert!(answer["trials"][0]["counts"]["jobs"].as_u64().unwrap() > 0);
}

/// The user's own load runs beside search and proof; the answer and each recording say which it was.
#[test]
fn a_device_is_tried_and_proven_beside_the_users_own_load() {
    requires!(
        "a_device_is_tried_and_proven_beside_the_users_own_load",
        "thread woken by a softirq",
        "deadline reservation"
    );
    let directory = tempfile::tempdir().unwrap();
    let load = "exec sleep 3593";
    let words = ["reserve", "--json", "-q", "v90", "--load-command", load, "-o", "d"];
    let words: Vec<&str> = words.iter().chain(&SHORT_OF_DEVICE).copied().collect();
    let output = run(directory.path(), &words);
    let answer = json(&output);
    assert_eq!((&answer["end"], &answer["load"]), (&"finished".into(), &load.into()), "{answer}");
    let mut recordings = vec!["d/measured.punctual"];
    if answer["proof"].is_object() {
        recordings.extend(["d/proof/before/01.punctual", "d/proof/with/01.punctual"]);
    }
    for recording in recordings {
        let said = json(&run(directory.path(), &["report", recording, "--json"]));
        assert_eq!((&said["provenance"]["load"]["name"], &said["contexts"][0]["load"]), (&load.into(), &load.into()));
    }
}

/// Two devices at once: each has what was found beside the one before, or a reason, and both are measured together.
#[test]
fn devices_that_work_at_once_have_their_reservations_together() {
    requires!(
        "devices_that_work_at_once_have_their_reservations_together",
        "thread woken by a softirq",
        "deadline reservation"
    );
    let directory = tempfile::tempdir().unwrap();
    let words = ["reserve", "--json", "-q", "encoder,bluetooth x4", "-o", "d", "--measure", "300ms", "--attempts", "1"];
    let more = ["--attempt", "200ms", "--rounds", "1", "--round", "300ms", "--html", "page.html"];
    let output = run(directory.path(), &[&words[..], &more].concat());
    let answer = json(&output);
    assert_eq!(
        (&answer["schema"], &answer["end"]),
        (&"punctual.reserve-together/1".into(), &"finished".into()),
        "{answer}"
    );
    assert_eq!(answer["exit_code"], code(&output), "{answer}");
    // The recordings of both sides are compared, or the answer says why not.
    assert!(answer["comparison"].is_string() != answer["not_compared"].is_string(), "{answer}");
    let page = std::fs::read_to_string(directory.path().join("page.html")).unwrap();
    assert!(
        ["encoder", "bluetooth x4", "All at once"].iter().all(|part| page.contains(&format!(">{part}</h2>"))),
        "{page}"
    );
    // Where, when and with what, as on every page.
    for said in ["punctual reserve · ", "<a href=\"#provenance\">", "<th scope=\"row\">kernel</th>"] {
        assert!(page.contains(said), "{said}: {page}");
    }
    let devices = answer["devices"].as_array().unwrap();
    let names: Vec<&str> = devices.iter().map(|device| device["device"].as_str().unwrap()).collect();
    assert_eq!(names, ["encoder", "bluetooth"]);
    let mut reserved = 0;
    for device in devices {
        assert_eq!(device["budget_ns"].is_null(), device["refused"].is_string(), "{device}");
        assert!(device["tried"].as_u64().unwrap() >= 1, "{device}");
        for side in ["before", "with"] {
            assert!(device[side]["jobs"].as_u64().unwrap() > 0, "{device}");
            assert_adds_up(&device[side]);
        }
        let period = device["reservation_period_ns"].as_u64().unwrap_or(1);
        reserved += device["budget_ns"].as_u64().map_or(0, |budget| (budget * 1_000 + period / 2) / period);
        if device["refused"].is_string() {
            assert_eq!(code(&output), 1, "{answer}");
        }
    }
    assert_eq!(answer["reserved_thousandths"], reserved, "{answer}");
    // One of them has a signal and decodes it.
    let proof = json(&run(directory.path(), &["report", "d/proof/before/01.punctual", "--json"]));
    let decoded = |place: usize| proof["contexts"][place]["decoded"].is_object();
    assert_eq!([decoded(0), decoded(1)], [false, true], "{proof}");
    let limit = &answer["admitted_thousandths"];
    assert!(limit.is_null() || limit.as_u64().unwrap() >= reserved, "{answer}");
}

/// Each phase has what was found for it alone, or nothing, and all of them run in one run.
#[test]
fn each_phase_of_a_device_has_a_reservation_of_its_own() {
    requires!(
        "each_phase_of_a_device_has_a_reservation_of_its_own",
        "thread woken by a softirq",
        "deadline reservation"
    );
    let directory = tempfile::tempdir().unwrap();
    let words = ["reserve", "--json", "-q", "v90", "--phases", "18@7200Hz:500ms,90@7200Hz:500ms", "-o", "d"];
    let words: Vec<&str> = words.iter().chain(&SHORT_OF_DEVICE).copied().collect();
    let output = run(directory.path(), &words);
    let answer = json(&output);
    assert_eq!(
        (&answer["schema"], &answer["end"]),
        (&"punctual.reserve-phases/1".into(), &"finished".into()),
        "{answer}"
    );
    assert_eq!((&answer["device"], &answer["exit_code"]), (&"v90".into(), &code(&output).into()), "{answer}");
    let phases = answer["phases"].as_array().unwrap();
    let periods: Vec<u64> = phases.iter().map(|phase| phase["period_ns"].as_u64().unwrap()).collect();
    assert_eq!(periods, [2_500_000, 12_500_000], "{answer}");
    assert!(phases.iter().all(|phase| phase["tried"].as_u64().unwrap() >= 1), "{answer}");
    // A sample is the same work in both.
    let work = |place: usize| phases[place]["work_ns"].as_u64().unwrap();
    assert!(work(0) * 2 < work(1), "{answer}");
    for side in ["before", "with"] {
        if !answer["proof"].is_null() {
            assert_adds_up(&answer["proof"][side]);
        }
    }
    let command = answer["next"][0]["command"].as_str().unwrap();
    // The device runs with its reservations next, unless one was not found, or jobs were late with them for which the host does not
    // account: then the study is made again.
    let failed = |name: &str| answer["proof"]["with"][name].as_u64().unwrap_or_default();
    let has_failed = failed("late") + failed("missing") > failed("by_host");
    if phases.iter().all(|phase| phase["reservation"].is_object()) && !has_failed {
        assert!(command.contains("device run v90") && command.contains("--phases 18@7200Hz:500ms+"), "{command}");
    } else {
        assert!(command.starts_with("sudo punctual reserve ") && command.contains(" v90 "), "{command}");
    }
}

/// Looks for a reservation of a thread of this process.
fn reserve(directory: &Path, name: &str, output: &str, more: &[&str]) -> Value {
    let process = std::process::id().to_string();
    let words = ["reserve", "--json", "-q", "--pid", &process, "--thread", name, "-o", output];
    let words: Vec<&str> = words.iter().chain(&SHORT).chain(more).copied().collect();
    json(&run(directory, &words))
}

fn share(row: &Value) -> f64 {
    row["budget_ns"].as_f64().unwrap() / row["period_ns"].as_f64().unwrap()
}

/// What holds of every study that finished, proven or not.
fn assert_consistent(answer: &Value) -> usize {
    let trials = answer["trials"].as_array().unwrap();
    assert_eq!((&trials[0]["setting"], &trials[1]["setting"]), (&"as_it_was".into(), &"fifo".into()));
    trials.iter().for_each(|trial| assert_adds_up(&trial["counts"]));
    for side in ["before", "with"] {
        if !answer["proof"].is_null() {
            assert_adds_up(&answer["proof"][side]);
        }
    }
    let tried = || trials.iter().filter(|trial| trial["setting"] == "reservation");
    let count = tried().count();
    assert!(3 * count <= answer["grid"].as_u64().unwrap() as usize, "{count} of {}", answer["grid"]);
    for trial in tried() {
        assert!(trial["predicted_by_rule"].is_boolean() && trial["predicted_by_supply"].is_boolean());
        let (class, succeeded) = (trial["class"].as_str().unwrap(), trial["succeeded"].as_u64().unwrap());
        let not_judged = trial["not_judged"].as_u64().unwrap();
        assert_eq!(trial["attempts"].as_u64().unwrap() + not_judged, 1, "{trial}");
        assert_eq!(
            class,
            ["insufficient", "sufficient", "not judged"][(succeeded + 2 * not_judged) as usize],
            "{trial}"
        );
        assert!(trial["counts"]["jobs"].as_u64().unwrap() > 0 || class == "not judged", "{trial}");
        // The answer is the smallest of the sufficient ones.
        if class == "sufficient" {
            assert!(share(&trial["reservation"]) >= share(&answer["found"]), "{answer}");
        }
    }
    if !answer["found"].is_null() {
        assert!(share(&answer["recommended"]) > share(&answer["found"]));
    }
    count
}

/// In so many studies, one is left alone.
const MAX_STUDIES: usize = 10;

#[test]
fn a_reservation_is_found_proven_kept_and_undone() {
    requires!("a_reservation_is_found_proven_kept_and_undone", "followed threads", "deadline reservation");
    let directory = tempfile::tempdir().unwrap();
    let thread = Periodic::start("every-20ms");
    let before = thread.scheduling();
    let mut met = 0;
    // A host that takes the CPU within 600 ms keeps one from being proven.
    for attempt in support::attempts(MAX_STUDIES) {
        let answer = reserve(directory.path(), "^every-20ms$", &format!("r{attempt}"), &["--apply"]);
        // Beside others it may wake too seldom, or too irregularly, for anybody to tell.
        if answer["error"].as_str().is_some_and(|error| error.contains("has no periodic thread named ^every-20ms$")) {
            continue;
        }
        assert_eq!(answer["end"], "finished", "{answer}");
        assert_eq!((&answer["thread"]["name"], &answer["thread"]["tid"]), (&"every-20ms".into(), &thread.tid.into()));
        met += assert_consistent(&answer);
        assert_eq!(answer["stays"], answer["proven"]);
        if answer["stays"] == false {
            assert_eq!(thread.scheduling(), before, "an unproven change is taken back");
            continue;
        }
        let recommended = &answer["recommended"];
        let kept = (recommended["budget_ns"].as_u64().unwrap(), recommended["period_ns"].as_u64().unwrap());
        assert_eq!(thread.scheduling().reservation(), Some(kept));
        let listed = json(&run(directory.path(), &["reserve", "list", "--json"]));
        let row = listed["threads"].as_array().unwrap().iter().find(|row| row["tid"] == thread.tid).unwrap().clone();
        assert_eq!((&row["keeps"], &row["before"]), (&true.into(), &before.to_string().into()), "{listed}");
        let undone = json(&run(directory.path(), &["reserve", "undo", "--json"]));
        let row = undone["threads"].as_array().unwrap().iter().find(|row| row["tid"] == thread.tid).unwrap().clone();
        assert_eq!((&row["scheduling"], &row["refused"]), (&before.to_string().into(), &Value::Null));
        assert_eq!(thread.scheduling(), before);
        assert!(met >= 3, "{met} trials");
        for side in ["before", "with"] {
            let path = directory.path().join(format!("r{attempt}/proof/{side}/01.punctual"));
            assert_eq!(code(&run(directory.path(), &["report", path.to_str().unwrap()])), 0);
        }
        return;
    }
    panic!("proven in none of {MAX_STUDIES} studies, {met} trials");
}

#[test]
fn whatever_ends_a_study_nothing_stays_changed() {
    requires!("whatever_ends_a_study_nothing_stays_changed", "followed threads", "deadline reservation");
    let directory = tempfile::tempdir().unwrap();
    let thread = Periodic::start_brisk("to-be-put-back");
    let before = thread.scheduling();
    for signal in [libc::SIGKILL, libc::SIGTERM] {
        let words = ["--thread", "^to-be-put", "--full"];
        let child =
            start_until_tried(directory.path(), &words, signal, &|| thread.scheduling().reservation().is_some());
        support::signal(&child, signal);
        let ended = child.wait_with_output().unwrap();
        assert!(wait_until(|| thread.scheduling() == before), "put back after signal {signal}");
        if signal != libc::SIGKILL {
            assert_eq!(code(&ended), 1);
            assert!(stdout(&ended).starts_with("Interrupted after"), "{}{}", stdout(&ended), stderr(&ended));
        }
    }
}

/// Between two trials it is not followed, and has ended when the next one begins.
#[test]
fn a_thread_that_ends_ends_its_study() {
    requires!("a_thread_that_ends_ends_its_study", "followed threads", "deadline reservation");
    let directory = tempfile::tempdir().unwrap();
    let thread = Periodic::start("to-end-early");
    let words = ["--thread", "^to-end-early$", "--full"];
    let child = start_until_tried(directory.path(), &words, 0, &|| thread.scheduling().reservation().is_some());
    drop(thread);
    let ended = child.wait_with_output().unwrap();
    let said = stdout(&ended);
    assert!(code(&ended) == 1 && said.starts_with("`to-end-early` ended after "), "{said}{}", stderr(&ended));
    assert!(said.contains("Tried ") && !said.contains("something else schedules"), "{said}");
}

#[test]
fn a_command_runs_with_its_reservation_and_so_do_threads_that_come_later() {
    requires!("a_command_runs_with_its_reservation_and_so_do_threads_that_come_later", "deadline reservation");
    let directory = tempfile::tempdir().unwrap();
    // The policy is the 41st field; 6 is that of reservations.
    let script = "read -r all </proc/$$/stat; echo $all | cut -d' ' -f41; exit 7";
    let output = run(directory.path(), &["reserve", "run", "1ms/50ms", "--", "sh", "-c", script]);
    assert_eq!((stdout(&output).trim(), code(&output)), ("6", 7), "{}", stderr(&output));
    assert!(stderr(&output).contains("Reserved 1.00 ms of every 50.0 ms for 1 of 1 thread."), "{}", stderr(&output));

    // A command that ends at once had it too, from its first instruction on.
    let output = run(directory.path(), &["reserve", "run", "1ms/50ms", "--json", "--", "/bin/true"]);
    let answer = json(&output);
    let thread = &answer["threads"][0];
    assert_eq!((&thread["name"], &thread["set"], &thread["refused"]), (&"true".into(), &1.into(), &Value::Null));

    std::fs::copy("/bin/sleep", directory.path().join("comes-later")).unwrap();
    let script = "sleep 0.4; ./comes-later 3; true";
    let words = ["reserve", "run", "1ms/50ms", "--thread", "^comes-later$", "--json", "--", "sh", "-c", script];
    let answer = json(&run(directory.path(), &words));
    let threads = answer["threads"].as_array().unwrap();
    assert_eq!((threads.len(), &threads[0]["name"], &threads[0]["refused"]), (1, &"comes-later".into(), &Value::Null));
    assert!(threads[0]["set"].as_u64().unwrap() >= 1);
}

#[test]
fn signals_are_passed_on_and_the_command_does_not_outlive_the_program() {
    requires!("signals_are_passed_on_and_the_command_does_not_outlive_the_program", "deadline reservation");
    let directory = tempfile::tempdir().unwrap();
    for (signal, ends) in [(libc::SIGTERM, Some(128 + libc::SIGTERM)), (libc::SIGKILL, None)] {
        let mut child = start(directory.path(), &["reserve", "run", "-q", "1ms/50ms", "--", "sleep", "100"]);
        let below = || punctual_kernel::other_thread::family(child.id()).get(1).copied();
        assert!(wait_until(|| {
            below().is_some_and(|sleeper| ThreadScheduling::of(sleeper).is_ok_and(|now| now.reservation().is_some()))
        }));
        let sleeper = below().unwrap().to_string();
        support::signal(&child, signal);
        assert_eq!(child.wait().unwrap().code(), ends);
        assert!(wait_until(|| !support::is_alive(&sleeper)), "{sleeper} lives on after signal {signal}");
    }
}

#[test]
fn what_cannot_be_is_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let mut met = 0;
    for (words, expected, says) in [
        (vec!["reserve"], 129, "a program is missing"),
        (vec!["reserve", "run", "9ms/8ms", "--", "true"], 129, "asks for more than there is"),
        (vec!["reserve", "run", "much", "--", "true"], 129, "write CPU time and period, such as 2ms/8ms"),
        (vec!["reserve", "run", "1ms/8ms"], 129, "required arguments were not provided"),
        (vec!["reserve", "run", "1ms/8ms", "--thread", "(", "--", "true"], 129, "not a regular expression"),
        (vec!["reserve", "run", "1ms/8ms", "--", "./no-such-program"], 1, "No such file or directory"),
        (vec!["reserve", "v91"], 129, "v90"),
        (vec!["reserve", "v90", "--", "true"], 129, "cannot be used with"),
        (vec!["reserve", "v90", "--phases", "18@7200Hz:2s,90@7200Hz"], 129, "every phase needs its time"),
        (vec!["reserve", "v90", "--phases", "18@7200Hz:2s,90@7200Hz:240ms"], 129, "time for 20 of its blocks"),
        (vec!["reserve", "v90", "--phases", "18@7200Hz:2s+1ms/8ms"], 129, "is what is looked for"),
        (vec!["reserve", "v90,modem", "--phases", "18@7200Hz:2s"], 129, "goes with one device"),
        (vec!["reserve", "v90,modem", "--apply"], 129, "a soft device's thread is punctual's own"),
        (vec!["reserve", "v90", "--apply"], 129, "`punctual device run v90 --context reservation:X/Y`"),
        (vec!["reserve", "v90", "--context", "irq"], 129, "write thread:other or thread:80"),
        (vec!["reserve", "--thread", "a", "--thread", "b", "--", "true"], 129, "name these with --pid"),
        (vec!["reserve", "--pid", "1,2,3", "--thread", "a", "--thread", "b"], 129, "give one --thread for each"),
        (vec!["reserve", "--apply", "--rounds", "0", "--", "true"], 129, "--apply needs a proof"),
        (vec!["reserve", "--pid", "4194303"], 1, "there is no such process"),
        (vec!["reserve", "--html", "no/such.html", "--", "true"], 1, "there is no directory"),
        (vec!["reserve", "-q", "--", "./no-such-program"], 1, "No such file or directory"),
    ] {
        let output = run(directory.path(), &words);
        assert_eq!(code(&output), expected, "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(says), "{words:?}: {}", stderr(&output));
        assert!(std::fs::read_dir(directory.path()).unwrap().next().is_none(), "{words:?} left something");
        met += 1;
    }
    assert_eq!(met, 21);
}

/// Someone who asks for a reservation counts on it; the command's own failure takes precedence.
#[test]
fn a_command_that_got_no_reservation_is_no_success() {
    let Some(nobody) = Nobody::of("a reservation without privilege") else { return };
    let ended = |options: &[&str], script: &str| {
        let mut command = nobody.punctual(&["--inh-caps=-all", "--bounding-set=-all"]);
        command.args(["reserve", "run", "1ms/8ms"]).args(options).args(["--", "sh", "-c", script]);
        let output = command.output().unwrap();
        (code(&output), stderr(&output))
    };
    let (alone, said) = ended(&[], "exit 0");
    assert!(alone == 1 && said.contains("has no reservation"), "{alone}: {said}");
    assert_eq!(ended(&["--ignore-failure"], "exit 0").0, 0);
    assert_eq!(ended(&[], "exit 7").0, 7);
}

/// Sleeps 10 ms at a real-time priority and three times in turn otherwise, as a loop does that others keep from the CPU.
const STARVED: &str = "\
import os, time
turn = 0
while True:
    turn += 1
    real_time = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK == os.SCHED_FIFO
    time.sleep(0.01 if real_time else (0.001, 0.012, 0.02)[turn % 3])
";

#[test]
fn a_loop_that_is_periodic_only_at_the_priority_has_a_reservation_too() {
    requires!(
        "a_loop_that_is_periodic_only_at_the_priority_has_a_reservation_too",
        "followed threads",
        "deadline reservation"
    );
    let directory = tempfile::tempdir().unwrap();
    let mut met = Vec::new();
    for attempt in support::attempts(support::MAX_ATTEMPTS) {
        let output = format!("r{attempt}");
        let words = ["reserve", "--json", "-q", "-o", &output];
        // What is found for it needs no proof here. The more it is kept from a CPU, the longer it takes to begin.
        let measure = format!("{}ms", 600 * (attempt + 1).min(8));
        let short = ["--measure", &measure, "--attempts", "1", "--attempt", "200ms", "--rounds", "0"];
        let words: Vec<&str> = words.iter().chain(&short).chain(&["--", "python3", "-c", STARVED]).copied().collect();
        let answer = json(&run(directory.path(), &words));
        // On a busy machine it may wake too seldom for a period.
        if answer["error"].is_string() {
            met.push(answer["error"].to_string());
            continue;
        }
        let period_ns = answer["thread"]["period_ns"].as_u64().unwrap();
        assert!((9_000_000..16_000_000).contains(&period_ns), "{answer}");
        let notes = answer["notes"].as_array().unwrap();
        let said = |what: &str| notes.iter().any(|note| note.as_str().unwrap().contains(what));
        if said("woke too seldom to show a period") {
            met.push(format!("{notes:?}"));
            continue;
        }
        assert!(said("woke too irregularly to show a period"), "{answer}");
        return;
    }
    panic!("none found: {met:?}");
}

#[test]
fn a_program_without_a_job_is_told_so() {
    requires!("a_program_without_a_job_is_told_so", "followed threads", "deadline reservation");
    let directory = tempfile::tempdir().unwrap();
    for (script, says) in [("while :; do :; done", "has no periodic thread"), ("sleep 0.3", "ended while")] {
        let words = ["reserve", "-q", "--measure", "1s", "-o", "r", "--", "sh", "-c", script];
        let output = run(directory.path(), &words);
        assert_eq!(code(&output), 1);
        assert!(stderr(&output).contains(says), "{}", stderr(&output));
        let _ = std::fs::remove_dir_all(directory.path().join("r"));
    }
}

/// Recordings do not go where another user may change what they are read from.
#[test]
fn a_directory_of_another_users_is_refused_before_anything_is_measured() {
    let directory = tempfile::tempdir().unwrap();
    let foreign = directory.path().join("foreign");
    std::fs::create_dir(&foreign).unwrap();
    if let Err(error) = std::os::unix::fs::chown(&foreign, Some(65_534), None) {
        return punctual_testing::skip("a directory of another user's", error);
    }
    let words = ["reserve", "-q", "audio64", "--measure", "500ms", "--attempts", "1", "--rounds", "0", "-o", "foreign"];
    let output = run(directory.path(), &words);
    assert_eq!(code(&output), 1, "{}", stdout(&output));
    assert!(stderr(&output).contains("belongs to another user"), "{}", stderr(&output));
    assert_eq!(std::fs::read_dir(&foreign).unwrap().count(), 0);
}
