//! What to change, by cause.

use super::*;
use crate::why::tests::{cause, of_parts};
use punctual_blame::{Awaited, Inside, Who};
use punctual_recording::{RecorderSummary, RequestTimes, Stage};
use std::path::Path;

#[test]
fn normal_threads_are_told_of_weights_not_of_priorities() {
    let equal = |waits_in_session| {
        let turn = Some(punctual_blame::Turn { weight: 1_024, waiting_weight: 1_024, waits_in_session });
        on(&Cause { turn, ..cause(Kind::SamePriority, "rustc") })
    };
    let advice = equal(Some(false));
    assert_eq!(advice.happened, "rustc has the same weight and had its turn first.");
    assert!(advice.remedy.as_deref().unwrap().starts_with("Give the late thread more weight"), "{advice:?}");
    // Nice counts within a session only; where the groups are not known, that is said.
    for (waits_in_session, is_told) in [(Some(false), false), (None, true), (Some(true), true)] {
        let remedy = equal(waits_in_session).remedy.unwrap();
        assert_eq!(remedy.contains("/proc/PID/autogroup"), is_told, "{waits_in_session:?}: {remedy}");
    }
    assert!(equal(Some(true)).remedy.unwrap().contains("nice has no effect"));
    let real_time = on(&cause(Kind::SamePriority, "audio"));
    assert_eq!(real_time.happened, "audio has the same priority and had its turn first.");
    assert!(real_time.remedy.as_deref().unwrap().contains("chrt -f"), "{real_time:?}");
}

#[test]
fn what_is_to_be_looked_at_is_a_whole_command() {
    for kind in [Kind::Wait, Kind::Own] {
        let longest = Cause { example: 81, ..cause(kind, "server") };
        let remedy = Advice::on(&longest, Path::new("a b.punctual"), Setting::default()).remedy.unwrap();
        assert!(remedy.contains("`punctual why 'a b.punctual' --episode 81`"), "{remedy}");
    }
    for kind in Kind::ALL {
        let remedy = on(&cause(kind, "server")).remedy.unwrap_or_default();
        assert!(!remedy.contains("--episode N") && !remedy.contains("RECORDING"), "{remedy}");
    }
}

#[test]
fn the_command_against_what_delays_one_thread_names_it() {
    let said = |others: bool, is_followed: bool| {
        let mut episodes = vec![of_parts(&[(Kind::LowerPriority, "rustc", 100)])];
        if others {
            let mut other = of_parts(&[(Kind::LowerPriority, "rustc", 100)]);
            other.victim.tid += 1;
            episodes.push(other);
        }
        let mut report = WhyReport::new(Path::new("x"), 0, None, episodes, false, None, &[]);
        report.followed = is_followed.then_some((1_000, 1_000_000_000));
        leading(&report).remove(0).remedy.unwrap()
    };
    assert!(said(false, true).contains("`sudo chrt -f -p 50 7`"), "{}", said(false, true));
    for (others, is_followed) in [(true, true), (false, false)] {
        assert!(said(others, is_followed).contains("`sudo chrt -f -p 50 TID`"), "{others} {is_followed}");
    }
}

#[test]
fn the_command_for_a_session_names_the_process_of_the_late_threads() {
    let said = |processes: &[Option<u32>]| {
        let turn = Some(punctual_blame::Turn { weight: 1_024, waiting_weight: 1_024, waits_in_session: Some(true) });
        let view = |&process: &Option<u32>| {
            let mut view = of_parts(&[(Kind::SamePriority, "rustc", 100)]);
            view.split.parts[0].turn = turn;
            view.process = process.map(|number| (number, "python3".to_owned()));
            view
        };
        let episodes = processes.iter().map(view).collect();
        let mut report = WhyReport::new(Path::new("x"), 0, None, episodes, false, None, &[]);
        report.followed = Some((1_000, 1_000_000_000));
        leading(&report).remove(0).remedy.unwrap()
    };
    let one = said(&[Some(4_700), Some(4_700)]);
    assert!(one.contains("`echo -15 | sudo tee /proc/4700/autogroup`"), "{one}");
    for processes in [[Some(4_700), Some(4_701)], [Some(4_700), None]] {
        assert!(said(&processes).contains("/proc/PID/autogroup`"), "{processes:?}");
    }
}

#[test]
fn no_priority_is_advised_where_the_waits_for_answers_are_left_out() {
    let said = |after_answers| {
        let recorder = RecorderSummary {
            stage: Stage::Request,
            requests: Some(3_191),
            request_times: Some(RequestTimes { after_answers, ..RequestTimes::default() }),
            ..RecorderSummary::default()
        };
        let views = vec![of_parts(&[(Kind::SamePriority, "rustc", 100)])];
        let report = WhyReport::new(Path::new("x"), 0, Some(recorder), views, false, None, &[]);
        leading(&report).remove(0).remedy.unwrap()
    };
    assert!(said(3_000).starts_with("Record the threads that answer instead (--comm)"), "{}", said(3_000));
    assert!(!said(1_000).contains("answer"), "{}", said(1_000));
}

#[test]
fn a_loop_among_normal_threads_is_given_a_real_time_priority_first() {
    let said = |loops: Option<FollowedLoops>, waiting_weight: u64| {
        let turn = Some(punctual_blame::Turn { weight: 1_024, waiting_weight, waits_in_session: Some(true) });
        let mut view = of_parts(&[(Kind::SamePriority, "rustc", 100)]);
        view.split.parts[0].turn = turn;
        let mut report = WhyReport::new(Path::new("x"), 0, None, vec![view], false, None, &[]);
        report.followed = Some((1_000, 1_000_000_000));
        report.loops = loops;
        leading(&report).remove(0).remedy.unwrap()
    };
    let give = "Give the late thread a real-time priority if its work is short: ";
    let runs_on = said(Some(FollowedLoops::RunOn), 1_024);
    assert!(runs_on.starts_with(&format!("{give}`sudo chrt -f -p 50 7`. Otherwise ")), "{runs_on}");
    assert!(runs_on.ends_with(STARTED_ANEW), "{runs_on}");
    let ended = said(Some(FollowedLoops::EndedWithCommand), 1_024);
    assert!(!ended.contains(STARTED_ANEW), "{ended}");
    assert!(ended.starts_with(&format!("{give}start its program under `sudo chrt -f 50`. ")), "{ended}");
    // Of other threads nobody knows whether their work is short; one that is scheduled as idle has advice of its own.
    assert!(said(None, 1_024).starts_with("Give the late thread's session more weight"));
    assert!(said(Some(FollowedLoops::RunOn), IDLE_WEIGHT).contains("another policy"));
}

#[test]
fn nobody_is_put_before_a_loop_with_a_period() {
    let said = |kind, loops: &[&str]| {
        let episodes = vec![of_parts(&[(kind, "synth-audio", 100)])];
        let mut report = WhyReport::new(Path::new("x"), 0, None, episodes, false, None, &[]);
        report.loop_names = loops.iter().map(|&name| name.to_owned()).collect();
        leading(&report).remove(0).remedy.unwrap()
    };
    for kind in [Kind::HigherPriority, Kind::SamePriority, Kind::LowerPriority] {
        let after = said(kind, &["other", "synth-audio"]);
        assert!(after.starts_with("Leave the priorities as they are: synth-audio was followed"), "{after}");
        assert!(!after.contains("chrt") && said(kind, &["other"]).contains("chrt"), "{kind:?}: {after}");
    }
}

#[test]
fn a_thread_that_ended_with_its_command_is_started_anew() {
    let mut looked_at = 0;
    for (kind, expected) in [
        (Kind::LowerPriority, "if its work is short: start its program under `sudo chrt -f 50`."),
        (Kind::HigherPriority, "the higher priority: start its program under `sudo chrt -f PRIORITY`."),
        (Kind::Migration, "start its program under `taskset -c CPU`"),
    ] {
        let mut report =
            WhyReport::new(Path::new("x"), 0, None, vec![of_parts(&[(kind, "other", 100)])], false, None, &[]);
        report.followed = Some((1_000, 1_000_000_000));
        let told = |report: &WhyReport<'_>| leading(report).remove(0).remedy.unwrap();
        assert!(!told(&report).contains("start its program"), "{}", told(&report));
        report.has_ended = true;
        assert!(told(&report).contains(expected) && !told(&report).contains("TID"), "{}", told(&report));
        looked_at += 1;
    }
    assert_eq!(looked_at, 3);
}

#[test]
fn where_samples_would_tell_more_the_command_that_takes_them_is_whole() {
    let told = |kind: Kind, samples: u64| {
        let recorder = RecorderSummary { late: 1, kept: 1, samples, ..RecorderSummary::default() };
        let view = of_parts(&[(kind, "late", 100)]);
        let mut report = WhyReport::new(Path::new("x"), 0, Some(recorder), vec![view], false, None, &[]);
        report.more_samples = Some("sudo punctual record --why 1ms --sample-rate 4000".to_owned());
        leading(&report).remove(0).remedy.unwrap()
    };
    let is_told = |kind, samples| told(kind, samples).contains("`sudo punctual record --why 1ms --sample-rate 4000`");
    assert!(is_told(Kind::Unknown, 9) && is_told(Kind::Own, 0), "{} {}", told(Kind::Unknown, 9), told(Kind::Own, 0));
    assert!(!is_told(Kind::Own, 9) && !is_told(Kind::Irq, 0), "{} {}", told(Kind::Own, 9), told(Kind::Irq, 0));
}

#[test]
fn steps_follow_the_first_sentence_and_catching_up_is_no_step() {
    let told = |episodes: Vec<EpisodeView>| {
        let report = WhyReport::new(Path::new("x"), 0, None, episodes, false, None, &[]);
        leading(&report).iter().map(|advice| advice.kind).collect::<Vec<_>>()
    };
    // Kernel code of two threads is more in all, but the host is the largest cause; own work came after them.
    let kernel = [(Kind::Kernel, "kworker", 20), (Kind::Kernel, "cp", 15), (Kind::Steal, "the host", 25)];
    let caught_up = [&kernel[..], &[(Kind::Own, "late", 40)]].concat();
    assert_eq!(told(vec![of_parts(&caught_up)]), [Kind::Steal, Kind::Kernel]);
    let kernel = [(Kind::Kernel, "kworker", 26), (Kind::Kernel, "cp", 15), (Kind::Steal, "the host", 25)];
    assert_eq!(told(vec![of_parts(&kernel)]), [Kind::Kernel, Kind::Steal]);
    // What is second in the table is the second step, also beside several smaller ones of one kind.
    let beside = [(Kind::Steal, "the host", 39), (Kind::Softirq, "rcu", 26)];
    let table = [&beside[..], &[(Kind::Kernel, "kworker", 14), (Kind::Kernel, "cp", 14)]].concat();
    assert_eq!(told(vec![of_parts(&table)]), [Kind::Steal, Kind::Softirq]);
    let alone = || of_parts(&[(Kind::Own, "late", 95), (Kind::Irq, "nic", 5)]);
    assert_eq!(told(vec![alone()]), [Kind::Own]);
    let delayed = of_parts(&[(Kind::Steal, "the host", 60), (Kind::Own, "late", 40)]);
    assert_eq!(told(vec![alone(), alone(), delayed]), [Kind::Own, Kind::Steal]);
    // Work that takes longer than the threshold would have been late without the delay; shorter work would not.
    let delayed_by = |ms| vec![of_parts(&[(Kind::Steal, "the host", ms), (Kind::Own, "late", 100 - ms)])];
    assert_eq!(told(delayed_by(15)), [Kind::Own, Kind::Steal]);
    assert_eq!(told(delayed_by(45)), [Kind::Steal]);
    // A delay is short beside the work, not beside time without a request.
    let served = of_parts(&[(Kind::Idle, "x", 60), (Kind::Own, "late", 34), (Kind::Steal, "the host", 6)]);
    assert_eq!(told(vec![served]), [Kind::Steal]);
    // Where the host took almost everything, what is left without it is a step too.
    let stolen = || of_parts(&[(Kind::Steal, "the host", 1_000)]);
    let mixed = of_parts(&[(Kind::Steal, "the host", 20), (Kind::Irq, "nic", 80)]);
    assert_eq!(told(vec![stolen(), mixed]), [Kind::Steal, Kind::Irq]);
}

#[test]
fn what_few_waits_came_down_to_is_not_what_would_change_most() {
    let told = |ms: u64| {
        let mut view = of_parts(&[(Kind::Wait, "store", 100)]);
        let end = Inside { kind: Kind::Io, who: "vda".into(), ns: ms * 1_000_000, inside: Vec::new() };
        view.split.parts[0].inside = vec![end];
        let report = WhyReport::new(Path::new("x"), 0, None, vec![view], false, None, &[]);
        leading(&report).remove(0)
    };
    assert_eq!((told(4).kind, told(90).kind), (Kind::Wait, Kind::Io));
    assert!(!told(4).happened.contains("came down to"), "{}", told(4).happened);
}

#[test]
fn no_priority_is_advised_against_a_deadline_nor_against_the_highest() {
    let over = |runs, waits| {
        let priorities = Some(punctual_blame::Priorities { runs, waits });
        on(&Cause { priorities, ..cause(Kind::HigherPriority, "sdr") })
    };
    let deadline = over(-1, 4);
    assert_eq!(
        deadline.happened,
        "sdr (SCHED_DEADLINE) goes before the late thread (real-time priority 95) and ran first."
    );
    let equal = Some(punctual_blame::Priorities { runs: 0, waits: 0 });
    let highest = on(&Cause { priorities: equal, ..cause(Kind::SamePriority, "jackd") });
    assert!(highest.remedy.unwrap().contains("the other thread a lower priority"));
    for advice in [deadline, over(0, 4)] {
        let remedy = advice.remedy.unwrap();
        assert!(!remedy.contains("the late thread the higher priority"), "{remedy}");
    }
    assert!(over(9, 19).remedy.unwrap().contains("the late thread the higher priority: `sudo chrt -f -p "));
}

fn on(cause: &Cause) -> Advice {
    Advice::on(cause, Path::new("a"), Setting::default())
}

#[test]
fn what_kept_the_holder_of_a_lock_is_a_sentence() {
    let cause = |who: Who, detail: Detail| Cause { detail: Some(detail), ..cause(Kind::Lock, who) };
    let told = on(&cause("reader".into(), Detail::KeptBy(Kind::LowerPriority, "rustc".into()))).happened;
    assert_eq!(
        told,
        "The thread waited for a lock that reader held, and meanwhile rustc had its fair turn on its CPU."
    );
    let ended =
        Cause { kind: Kind::Wait, ended: 1, ..cause("server".into(), Detail::Meanwhile(Kind::Fault, "server".into())) };
    assert_eq!(on(&ended).happened, "The thread waited for server, which ended, and meanwhile it waited for a page.");
    let once = Cause { episodes: 3, ..ended };
    assert!(on(&once).happened.starts_with("The thread waited for server, which ended in 1 of 3 episodes, and"));
    let told = on(&cause(Awaited::Holder.into(), Detail::NotSeen("the wait ended by its time limit".into()))).happened;
    assert_eq!(told, "The thread waited for a lock, and who held it was not seen.");
    assert_eq!(
        on(&cause("reader".into(), Detail::Seen("memcpy".into()))).happened,
        "The thread waited for a lock that reader held."
    );
}
