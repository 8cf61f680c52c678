//! Reservations of several threads at once, against the running kernel: kept together, or put back together.

use crate::requires;
use crate::support::reserving::{Periodic, SHORT, assert_adds_up, start_until_tried};
use crate::support::{self, code, json, run, stderr, stdout, wait_until};
use serde_json::Value;

/// Threads of this process keep what is proven, all of them or none, and are put back together.
#[test]
fn threads_have_their_reservations_together_and_keep_all_or_none() {
    const TEST: &str = "threads_have_their_reservations_together_and_keep_all_or_none";
    requires!(
        "threads_have_their_reservations_together_and_keep_all_or_none",
        "followed threads",
        "deadline reservation"
    );
    let directory = tempfile::tempdir().unwrap();
    let threads = [Periodic::start("at-once-one"), Periodic::start("at-once-two")];
    let before = threads.each_ref().map(Periodic::scheduling);
    let process = std::process::id().to_string();
    let mut met = 0;
    for attempt in 0..3 {
        let output = format!("t{attempt}");
        let words = ["reserve", "--json", "-q", "--pid", &process, "--apply", "-o", &output];
        let names = ["--thread", "^at-once-one$", "--thread", "^at-once-two$"];
        let words: Vec<&str> = words.iter().chain(&names).chain(&SHORT).copied().collect();
        let ended = run(directory.path(), &words);
        let answer = json(&ended);
        // Beside others they may wake too seldom, or too irregularly, to be told.
        if answer["error"].as_str().is_some_and(|error| error.contains("has no periodic thread named ^at-once-")) {
            continue;
        }
        let (schema, end) = (&answer["schema"], &answer["end"]);
        assert_eq!((schema, end), (&"punctual.reserve-together/1".into(), &"finished".into()), "{answer}");
        let rows = answer["devices"].as_array().unwrap();
        let tids: Vec<u64> = rows.iter().map(|row| row["tid"].as_u64().unwrap()).collect();
        assert_eq!(tids, threads.each_ref().map(|thread| u64::from(thread.tid)), "{answer}");
        for row in rows {
            assert_eq!(row["budget_ns"].is_null(), row["refused"].is_string(), "{row}");
            for side in ["before", "with"] {
                assert_adds_up(&row[side]);
                met += row[side]["jobs"].as_u64().unwrap();
            }
        }
        assert_eq!((answer["stays"] == true, code(&ended) == 0), (answer["proven"] == true, answer["proven"] == true));
        if answer["stays"] == false {
            assert_eq!(threads.each_ref().map(Periodic::scheduling), before, "an unproven change is taken back");
            continue;
        }
        for (row, thread) in rows.iter().zip(&threads) {
            let kept = (row["budget_ns"].as_u64().unwrap(), row["reservation_period_ns"].as_u64().unwrap());
            assert_eq!(thread.scheduling().reservation(), Some(kept), "{answer}");
        }
        let undone = json(&run(directory.path(), &["reserve", "undo", "--json"]));
        for (thread, before) in threads.iter().zip(&before) {
            let row = undone["threads"].as_array().unwrap().iter().find(|row| row["tid"] == thread.tid).unwrap();
            assert_eq!((&row["scheduling"], &row["refused"]), (&before.to_string().into(), &Value::Null));
            assert_eq!(thread.scheduling(), *before);
        }
        assert!(met > 0);
        return;
    }
    punctual_testing::skip(TEST, format!("proven in none of 3 studies, of {met} jobs"));
}

/// The same while the second is tried beside the first, or both are proven.
#[test]
fn whatever_ends_a_study_of_several_threads_none_stays_changed() {
    requires!(
        "whatever_ends_a_study_of_several_threads_none_stays_changed",
        "followed threads",
        "deadline reservation"
    );
    let directory = tempfile::tempdir().unwrap();
    let threads = [Periodic::start_brisk("all-back-one"), Periodic::start_brisk("all-back-two")];
    let before = threads.each_ref().map(Periodic::scheduling);
    let are_reserved = || threads.iter().all(|thread| thread.scheduling().reservation().is_some());
    for signal in [libc::SIGKILL, libc::SIGTERM] {
        let words = ["--thread", "^all-back-one$", "--thread", "^all-back-two$"];
        let child = start_until_tried(directory.path(), &words, signal, &are_reserved);
        support::signal(&child, signal);
        let ended = child.wait_with_output().unwrap();
        let are_back = wait_until(|| threads.each_ref().map(Periodic::scheduling) == before);
        assert!(are_back, "put back after signal {signal}");
        if signal != libc::SIGKILL {
            let said = format!("{}{}", stdout(&ended), stderr(&ended));
            assert_eq!(code(&ended), 1, "{said}");
            assert!(said.starts_with("Interrupted after 2 of 2 threads"), "{said}");
        }
    }
}
