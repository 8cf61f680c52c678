//! Judges the judge: each verdict can occur, and only for its own reason.

use super::super::all;
use super::{Tally, Truth, judge};
use serde_json::{Value, json};

const MS: u64 = 1_000_000;

/// A victim that is due at 10 ms and done at 15 ms; the culprit keeps it from 9 to 14 ms.
fn truth() -> Truth {
    Truth::read(
        r#"{"kind":"injection","start_ns":9000000,"end_ns":14000000,"tid":7,"name":"c-holder"}
{"kind":"wait","start_ns":10000000,"end_ns":15000000,"tid":5,"name":""}"#,
    )
}

fn answer(pieces: &[(u64, u64, &str, &str, &str)]) -> Value {
    let piece = |&(start, end, kind, name, detail): &(u64, u64, &str, &str, &str)| json!({"start_ns": start * MS, "ns": (end - start) * MS, "kind": kind, "name": name, "detail": detail});
    let pieces: Vec<Value> = pieces.iter().map(piece).collect();
    json!({"episodes": [{"id": 1, "void": false, "victim": {"tid": 5}, "pieces": pieces}]})
}

fn tally(cause: &str, answer: &Value) -> Tally {
    let cause = all().find(|known| known.name == cause).expect("a cause");
    let tally = judge(cause, &truth(), answer);
    assert_eq!((tally.injected, tally.kept), (1, 1));
    tally
}

#[test]
fn the_right_kind_and_name_is_right_and_within() {
    let told = tally("preempted-holder", &answer(&[(10, 14, "lock", "c-holder", "kept by c-bully")]));
    assert_eq!((told.met, told.right, told.within, told.wrong, told.false_reason), (1, 1, 1, 0, 0));
    assert!(!told.fails());
}

#[test]
fn a_holder_keeps_only_a_victim_that_has_come_to_run() {
    let log = |ran: u64| {
        let injection = r#"{"kind":"injection","start_ns":9000000,"end_ns":14000000,"tid":7,"name":"c-holder"}"#;
        let wait =
            format!(r#"{{"kind":"wait","start_ns":10000000,"ran_ns":{ran},"end_ns":15000000,"tid":5,"name":""}}"#);
        Truth::read(&format!("{injection}\n{wait}"))
    };
    let busy = answer(&[(10, 13, "kernel", "reader", ""), (13, 14, "lock", "c-holder", "kept by c-bully")]);
    let of = |cause: &str, ran: u64| {
        let told = judge(all().find(|known| known.name == cause).expect("a cause"), &log(ran), &busy);
        (told.kept, told.right, told.wrong)
    };
    assert_eq!(of("preempted-holder", 13_000_000), (1, 1, 0));
    assert_eq!(of("preempted-holder", 13_900_000), (0, 0, 0), "too short to be judged");
    assert_eq!(of("preempted-holder", 10_000_000), (1, 0, 1), "it ran, and waited for another");
    assert_eq!(of("fifo", 13_000_000), (1, 0, 1), "whoever keeps a CPU keeps one that has not come to run");
}

#[test]
fn a_false_reason_is_counted_apart() {
    let told = tally("preempted-holder", &answer(&[(10, 14, "lock", "c-holder", "kept by unknown: asleep")]));
    assert_eq!((told.right, told.false_reason, told.wrong), (1, 1, 0));
}

#[test]
fn one_who_handed_on_what_another_did_is_no_reason() {
    let told = tally("broker", &answer(&[(10, 14, "wait", "c-broker", "meanwhile it waited for c-worker")]));
    assert_eq!((told.right, told.false_reason, told.wrong), (1, 0, 0));
    let told = tally("broker", &answer(&[(10, 14, "wait", "c-broker", "it worked")]));
    assert_eq!((told.right, told.false_reason, told.wrong), (1, 1, 0));
}

#[test]
fn a_name_stands_for_one_cause() {
    let names: std::collections::BTreeSet<&str> = all().map(|cause| cause.name).collect();
    assert_eq!(names.len(), all().count());
}

#[test]
fn another_name_is_wrong_even_where_the_detail_names_the_culprit() {
    let told = tally("signal-waiter", &answer(&[(10, 14, "lock", "c-bystander", "woken by c-holder")]));
    assert_eq!((told.right, told.wrong), (0, 1));
    assert!(told.fails());
}

#[test]
fn a_lock_without_a_holder_is_no_wrong_name() {
    let told = tally("timed-mutex", &answer(&[(10, 14, "lock", "holder not seen", "")]));
    assert_eq!((told.nameless, told.wrong, told.right), (1, 0, 0));
}

#[test]
fn what_is_unknown_is_unknown() {
    let told = tally("convoy", &answer(&[(10, 14, "unknown", "asleep until woken by c-first", "")]));
    assert_eq!((told.unknown, told.right, told.wrong), (1, 0, 0));
}

#[test]
fn half_of_the_time_is_not_found() {
    let told = tally("convoy", &answer(&[(10, 11, "lock", "c-second", "")]));
    assert_eq!((told.not_found, told.met), (1, 0));
    assert!(told.fails());
}

#[test]
fn another_thread_s_episode_is_not_found() {
    let mut other = answer(&[(10, 14, "lock", "c-second", "")]);
    other["episodes"][0]["victim"]["tid"] = json!(6);
    assert_eq!(tally("convoy", &other).not_found, 1);
}

#[test]
fn stolen_time_is_set_apart_only_where_the_answer_is_not_right() {
    let stolen = answer(&[(10, 12, "steal", "host", ""), (12, 14, "own", "c-victim", "")]);
    assert_eq!(tally("fifo", &stolen).steal, 1);
    let named = answer(&[(10, 12, "steal", "host", ""), (12, 14, "higher_priority", "c-burst", "")]);
    let told = tally("fifo", &named);
    assert_eq!((told.right, told.within, told.steal), (1, 1, 0));
}

#[test]
fn a_part_of_another_length_is_right_but_not_within() {
    let told = tally("fifo", &answer(&[(10, 13, "higher_priority", "c-burst", ""), (13, 14, "own", "c-victim", "")]));
    assert_eq!((told.right, told.within), (1, 0));
}

#[test]
fn another_mechanism_by_the_right_culprit_is_wrong() {
    let told = tally("sigstop", &answer(&[(10, 14, "stopped", "the freezer", "thawed by c-stopper")]));
    assert_eq!((told.right, told.wrong), (0, 1));
}

#[test]
fn an_innocent_who_is_named_for_idle_time_is_wrong() {
    let cause = all().find(|cause| cause.name == "futex-two").expect("a cause");
    let told = judge(cause, &truth(), &answer(&[(10, 14, "lock", "c-caller", "")]));
    assert_eq!((told.met, told.wrong, told.right), (1, 1, 0));
    let told = judge(cause, &truth(), &json!({"episodes": []}));
    assert_eq!((told.met, told.wrong, told.right), (1, 0, 1));
}

#[test]
fn sums_stand_in_where_the_pieces_are_left_out() {
    let answer = json!({"episodes": [{"id": 1, "void": false, "victim": {"tid": 5}, "pieces": [],
        "expected_ns": 10 * MS, "parts": [{"kind": "lock", "name": "c-second", "ns": 4 * MS}]}]});
    let told = tally("convoy", &answer);
    assert_eq!((told.right, told.within), (1, 1));
}

#[test]
fn the_rules_of_every_cause_are_regular_expressions() {
    for cause in all() {
        judge(cause, &truth(), &answer(&[(10, 14, "lock", "nobody of them", "")]));
    }
}

#[test]
fn later_runs_add_up_and_each_wrong_name_keeps_its_place() {
    let wrong = answer(&[(10, 14, "lock", "c-bystander", "")]);
    let right = answer(&[(10, 14, "lock", "c-holder", "kept by c-bully")]);
    let mut sum = Tally::default();
    for answer in [&right, &wrong, &right, &wrong] {
        sum.add(tally("preempted-holder", answer));
    }
    assert_eq!((sum.runs, sum.kept, sum.met, sum.right, sum.wrong), (4, 4, 4, 2, 2));
    let places: Vec<(u64, u64, u64)> =
        sum.wrong_names.iter().map(|wrong| (wrong.place.run, wrong.place.episode, wrong.kept_ns)).collect();
    assert_eq!(places, [(2, 1, 4_000_000), (4, 1, 4_000_000)]);
    let runs: Vec<u64> = sum.example.values().map(|place| place.run).collect();
    assert_eq!((runs.len(), runs.iter().sum::<u64>()), (2, 3), "the first run of each");
}
