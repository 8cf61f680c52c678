//! `punctual idle` against the running kernel: it finds and names what takes the CPU, and leaves nothing behind.

#[path = "../support/bursts.rs"]
mod bursts;

use crate::requires;
use crate::support::nobody::Nobody;
use crate::support::{self, code, run, start, stderr, stdout, wait_until};
use bursts::{Burst, BurstsSeen, a_hundred_bursts, bursts, gaps_around};
use punctual_kernel::clock::monotonic_ns;
use punctual_recording::{EndReason, Gap, Recording, for_each_gap, read_gap_document};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The tests look for what is left in the kernel, and disturb each other, so they run one at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// This command's BPF programs in the kernel; somebody else may be measuring too.
fn programs_in_the_kernel() -> BTreeSet<u32> {
    support::programs::of_this_test(&["thread_ran", "local_timer_begins", "softirq_begins", "device_interrupt_begins"])
}

fn all_gone_but(before: &BTreeSet<u32>) -> bool {
    wait_until(|| programs_in_the_kernel().is_subset(before))
}

fn gaps(recording: &Path) -> Vec<Gap> {
    let mut gaps = Vec::new();
    for_each_gap(recording, |gap| gaps.push(*gap)).unwrap();
    gaps
}

/// How much a gap's length in ticks, as ns, may differ from the clock's, ns: the rate of the ticks is measured over 40
/// ms, on a busy machine to a microsecond, and gaps may last for seconds there.
fn clocks_differ(length_ns: u64) -> u64 {
    2_000 + length_ns / 40_000
}

/// Injects bursts while the program measures with these options; checks that each lies in a gap. Where a busy machine lets too
/// few of them into gaps, there is another run.
fn each_burst_is_found(options: &[&str], named: bool) {
    assert!((0..3).any(|_| are_bursts_found(options, named)), "{options:?}: too few in each of three runs");
}

/// The same once; returns whether there were enough to judge.
fn are_bursts_found(options: &[&str], named: bool) -> bool {
    let directory = tempfile::tempdir().unwrap();
    let words = [&["idle", "-q", "-D", "60s", "-a", "0", "-o", "a.punctual"], options].concat();
    let child = start(directory.path(), &words);
    assert!(wait_until(|| directory.path().join("a.punctual/gaps.json").exists()));
    let injected = bursts(0, (0..60).map(|number| 200_000 + number % 20 * 490_000).collect());
    std::thread::sleep(Duration::from_millis(200));
    support::signal(&child, libc::SIGINT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let recording = directory.path().join("a.punctual");
    let document = read_gap_document(&recording).unwrap().unwrap();
    let (gaps, lost) = (gaps(&recording), document.cpus[0].gaps_lost);
    assert_eq!(gaps.len() as u64, document.lengths.count());
    assert!(document.longest.iter().all(|gap| gap.cause_ns.is_some_and(|ns| ns <= gap.length_ns)));
    let (mut with_its_name, mut missed) = (0, 0);
    let rests = document.followed && options.contains(&"fifo");
    for &(began, ended) in &injected {
        // Nothing but a gap may hold the burst, however busy the machine is, unless it fell into the loop's own rest.
        let found = gaps.iter().find(|gap| {
            let differ = clocks_differ(gap.length_ns);
            gap.start_ns <= began + differ && gap.start_ns + gap.length_ns + differ >= ended
        });
        match found {
            Some(gap) => with_its_name += usize::from(document.names[gap.name as usize] == "burst-test"),
            // Or into a gap that nobody had a CPU to take.
            None if rests || lost > 0 => missed += 1,
            None => panic!("no gap for {began} to {ended}"),
        }
    }
    eprintln!("{} bursts, {missed} of them in no gap; {lost} gaps lost", injected.len());
    // A tenth of the time is rest, and a burst takes a few ms.
    if missed * 2 >= injected.len() {
        return false;
    }
    if named {
        assert!(document.followed, "{:?}", Recording::open(&recording).unwrap().document().provenance.fallbacks);
        let burst = document.causes.iter().find(|cause| document.names[cause.name as usize] == "burst-test");
        let causes: Vec<_> =
            document.causes.iter().map(|cause| (&document.names[cause.name as usize], cause)).collect();
        let burst = burst.unwrap_or_else(|| panic!("the thread is not named: {causes:?}, {:?}", document.cpus));
        let spun: u64 = injected.iter().map(|(began, ended)| ended - began).sum();
        // Time that interrupts and softirqs took within the bursts counts as theirs.
        assert!(burst.total_ns * 4 > spun, "{burst:?} of {spun}");
        // When the loop runs at idle priority, other threads of a busy machine may join several bursts in one gap.
        assert!(!rests || with_its_name * 2 > injected.len() - missed, "{with_its_name}");
        // Every part of every gap went to somebody, and no more than that.
        let parts: u64 = document.causes.iter().map(|cause| cause.total_ns).sum();
        assert_eq!(parts, document.cpus.iter().map(|cpu| cpu.noise_ns).sum::<u64>());
    }
    true
}

#[test]
fn injected_bursts_are_found_and_named() {
    let _alone = alone();
    requires!("idle bursts", "real-time priority", "BPF", "BTF");
    let before = programs_in_the_kernel();
    each_burst_is_found(&[], true);
    each_burst_is_found(&["--policy", "fifo"], true);
    assert!(all_gone_but(&before), "{:?}", programs_in_the_kernel());
}

#[test]
fn injected_bursts_are_found_without_looking_into_the_kernel() {
    let _alone = alone();
    requires!("idle bursts without BPF", "real-time priority");
    each_burst_is_found(&["--no-bpf"], false);
}

/// Fewer bursts that had their CPU all the time prove nothing.
const MIN_ALONE: usize = 20;

#[test]
fn each_of_a_hundred_bursts_is_measured_and_named_and_none_is_invented() {
    use punctual_kernel::scheduling::allowed_cpus;
    use punctual_recording::{Ran, TraceEntry};
    let _alone = alone();
    requires!("idle accuracy", "real-time priority", "BPF", "BTF");
    let cpu = allowed_cpus()[0];
    let seen = (0..3).map(|_| a_hundred_bursts(cpu)).find(|seen| seen.can_be_judged(MIN_ALONE));
    let Some(BurstsSeen { bursts, gaps, entries, ticker, .. }) = seen else {
        return punctual_testing::skip(
            "idle accuracy",
            "entries were lost, or the host came between, in each of three runs: the machine is too busy",
        );
    };
    let is_burst = |entry: &&TraceEntry| matches!(&entry.ran, Ran::Thread(name) if name == "burst-exact");
    let (mut found, mut judged, mut within) = (0, 0, 0);
    let mut missing: Vec<u64> = bursts.iter().map(|burst| burst.began).collect();
    for gap in &gaps {
        let length = ticker.ns(gap.ticks);
        let start = gap.end_ns - length;
        // On a busy machine several bursts may lie in one gap.
        let held: Vec<&Burst> = bursts
            .iter()
            .filter(|burst| start <= burst.began + clocks_differ(length) && burst.ended <= gap.end_ns + 2_000)
            .collect();
        missing.retain(|began| !held.iter().any(|burst| burst.began == *began));
        if held.is_empty() {
            continue;
        }
        found += held.len();
        let inside: Vec<TraceEntry> =
            (entries.iter()).filter(|entry| entry.end_ns > start && entry.start_ns < gap.end_ns).cloned().collect();
        let parts = punctual_blame::gap::attribute(start, gap.end_ns, &inside);
        assert_eq!(parts.iter().map(|part| part.ns).sum::<u64>(), gap.end_ns - start);
        assert!(parts.iter().any(|part| part.name == "burst-exact"), "{parts:?}");
        // From switch to switch, compared with what the scheduler gave the thread: neither includes other threads'
        // time.
        let (mut measured, mut stolen) = (0, 0);
        for entry in inside.iter().filter(is_burst) {
            measured += entry.end_ns.min(gap.end_ns) - entry.start_ns.max(start);
            stolen += entry.stolen_ns;
        }
        let own: u64 = held.iter().map(|burst| burst.cpu).sum();
        let allowed: u64 = held.iter().map(|burst| burst.allowed_ns()).sum();
        if !held.iter().all(|burst| burst.was_left_alone()) {
            continue;
        }
        judged += held.len();
        if measured + allowed >= own && measured <= own + allowed + stolen {
            within += held.len();
        }
    }
    let gone = gaps_around(&missing, &gaps, &ticker);
    assert_eq!(found, bursts.len(), "bursts in no gap, and the gaps around them: {gone:?}");
    eprintln!("{found} bursts found, {judged} of them left alone, {within} of those to 100 us or 2 %");
    assert!(judged * 2 >= MIN_ALONE && within * 10 >= judged * 9, "{within} of {judged} to 100 us or 2 %");
    let invented = |entry: &&TraceEntry| {
        is_burst(entry)
            && entry.end_ns - entry.start_ns > 150_000 + entry.stolen_ns
            && !bursts.iter().any(|burst| burst.began < entry.end_ns && burst.ended > entry.start_ns)
    };
    // Before the first burst, the thread sets itself up.
    assert_eq!(entries.iter().filter(|entry| entry.start_ns > bursts[0].began).filter(invented).count(), 0);
}

/// The CPU time of a thread of this process, ns.
fn cpu_time_of_thread(name: &str) -> impl Fn() -> u64 + use<> {
    let mut threads = std::fs::read_dir("/proc/self/task").unwrap().map(|entry| entry.unwrap().path());
    let is_named = |thread: &std::path::PathBuf| {
        std::fs::read_to_string(thread.join("comm")).is_ok_and(|comm| comm.trim_end() == name)
    };
    let path = threads.find(is_named).unwrap_or_else(|| panic!("no thread is named {name}")).join("schedstat");
    move || {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        text.split(' ').next().and_then(|used| used.parse().ok()).unwrap_or(0)
    }
}

#[test]
fn a_real_time_loop_that_nobody_looks_after_lets_others_run_and_ends() {
    use punctual_kernel::scheduling::{allowed_cpus, pin_to};
    use punctual_probe::idle::{IdlePlan, IdleSession};
    let _alone = alone();
    requires!("idle unattended", "real-time priority");
    let cpu = allowed_cpus()[0];
    let plan = IdlePlan {
        duration_ns: 60_000_000_000,
        cpus: Some(vec![cpu]),
        threshold_ns: 5_000,
        real_time: true,
        calibrated_ns: None,
        bpf: false,
        output: "unused".into(),
        command_line: Vec::new(),
    };
    let session = IdleSession::start(&plan).unwrap();
    // A thread at normal priority on the same CPU. Nothing calls `take`: the rest of the program might as well be dead.
    // Of what else keeps the CPU from it, other programs at normal priority and the host, the loop knows nothing.
    let of_the_loop = cpu_time_of_thread(&format!("idle-{cpu}"));
    let watch = std::thread::spawn(move || {
        pin_to(cpu).unwrap();
        let began = monotonic_ns();
        let (mut last, mut longest) = (began, (0, 0));
        let mut used = of_the_loop();
        while last < began + 3_000_000_000 {
            let now = monotonic_ns();
            let held = now - last;
            if held > 1_000_000 {
                let used_now = of_the_loop();
                longest = longest.max((held, used_now.saturating_sub(used)));
                used = used_now;
            }
            last = now;
        }
        longest
    });
    let (held, of_the_loop) = watch.join().unwrap();
    eprintln!("the longest the CPU was held was {held} ns, {of_the_loop} ns of it by the loop");
    assert!(held > 50_000_000, "the loop is no real-time one: {held} ns");
    let is_of_others = of_the_loop < held / 100 * 95;
    assert!(held < 1_000_000_000 || is_of_others, "the CPU was held for {held} ns, {of_the_loop} ns by the loop");
    assert!(wait_until(|| session.is_finished()), "the loop goes on");
    assert!(session.is_starved());
}

#[test]
fn a_calibrated_loop_says_how_steady_its_count_is() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    // On a busy machine, a loop of the lowest priority may not come to a single count in a second.
    let found = ["1s", "5s", "25s"].into_iter().find_map(|length| {
        let _ = std::fs::remove_dir_all(directory.path().join("a.punctual"));
        let words = ["idle", "-q", "-D", length, "-a", "0", "--calibrated=100us", "--json", "-o", "a.punctual"];
        let output = run(directory.path(), &words);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let answer = support::json(&output);
        (length == "25s" || answer["cpus"][0]["calibrated"]["count"].as_u64() > Some(0)).then_some(answer)
    });
    let answer = found.expect("the last one counts");
    let count = &answer["cpus"][0]["calibrated"];
    assert!(count["count"].as_u64() > Some(0) && count["calibrated_ns"].as_u64() > Some(0), "{answer}");
    let modes = count["modes"].as_array().unwrap();
    assert!(modes.iter().map(|mode| mode["share"].as_f64().unwrap()).sum::<f64>() <= 1.001);
    assert!(answer["blind"].to_string().contains("calibrated loop"));
    let again = run(directory.path(), &["report", "a.punctual", "--json"]);
    assert_eq!(support::json(&again), answer);
    if answer["followed"] == true {
        let causes = answer["causes"].as_array().unwrap();
        let parts: u64 = causes.iter().map(|cause| cause["total_ns"].as_u64().unwrap()).sum();
        assert_eq!(Some(parts), answer["noise_ns"].as_u64());
    }
}

/// What the loop saw of each keystroke is what the program saw plus the parts that the program did not see.
fn keystrokes_add_up(answer: &serde_json::Value) -> u64 {
    let validation = &answer["validation"];
    let seen = validation["seen"].as_array().unwrap();
    for key in seen {
        let of = |name: &str| key[name].as_u64().unwrap_or_else(|| panic!("{name}: {key}"));
        assert_eq!(of("gap_ns"), of("before_ns") + of("program_ns") + of("after_ns"));
        assert!(of("program_ns") >= 1_000_000 && of("typed_ns") < of("read_ns") && of("read_ns") < of("seen_ns"));
        // Where the reader was too late, some of what ran is lost, and said to be.
        if validation["followed"] == true && (answer["entries_lost"] == 0 || !key["parts"].is_null()) {
            let parts = key["parts"].as_object().unwrap();
            let names: Vec<&str> = parts.keys().map(String::as_str).collect();
            assert!(["interrupt", "wake", "reschedule", "echo"].iter().all(|name| names.contains(name)), "{names:?}");
            assert_eq!(parts.values().map(|part| part.as_u64().unwrap()).sum::<u64>(), of("difference_ns"));
            assert!(of("thread_ns") > 0, "{key}\n{answer}");
        } else {
            assert!(key["parts"].is_null() && key["thread_ns"].is_null());
        }
    }
    seen.len() as u64 + validation["not_found"].as_u64().unwrap()
}

fn no_program_is_left() -> bool {
    let named =
        |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "echo-program\n");
    wait_until(|| {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let mut pids = processes.map(|entry| entry.file_name().to_string_lossy().into_owned());
        !pids.any(|pid| named(&pid) && support::is_alive(&pid))
    })
}

const VALIDATE: [&str; 8] = ["idle", "-q", "--validate", "--keystrokes", "20", "--compute", "1ms", "--json"];

#[test]
fn keystrokes_are_seen_by_loop_program_and_kernel() {
    let _alone = alone();
    requires!("idle validation", "BPF", "BTF");
    let before = programs_in_the_kernel();
    let directory = tempfile::tempdir().unwrap();
    // Beside compilers and other tests, a loop of the lowest priority rarely runs, or not at all.
    let mut attempts = 0;
    let answer = loop {
        attempts += 1;
        let output = run(directory.path(), &[&VALIDATE[..], &["-o", "a.punctual"]].concat());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let answer = support::json(&output);
        let ran = answer["validation"]["seen"].as_array().is_some_and(|seen| seen.len() >= 10);
        if ran || attempts == support::MAX_ATTEMPTS {
            break answer;
        }
        std::fs::remove_dir_all(directory.path().join("a.punctual")).unwrap();
    };
    assert_eq!(keystrokes_add_up(&answer), 20);
    assert!(answer["validation"]["seen"].as_array().is_some_and(|seen| seen.len() >= 10), "{answer}");
    assert!(answer["causes"].to_string().contains("echo-program"));
    let again = run(directory.path(), &["report", "a.punctual", "--json"]);
    assert_eq!(support::json(&again), answer);
    // An interrupt, and a kill.
    for (name, signal) in [("b.punctual", libc::SIGINT), ("c.punctual", libc::SIGKILL)] {
        let words = ["idle", "-q", "--validate", "--keystrokes", "5000", "-o", name];
        let child = start(directory.path(), &words);
        assert!(wait_until(|| directory.path().join(name).join("gaps.json").exists()));
        support::signal(&child, signal);
        let output = child.wait_with_output().unwrap();
        assert!(signal == libc::SIGKILL || code(&output) == 0, "{}", stderr(&output));
        assert!(no_program_is_left());
        let report = run(directory.path(), &["report", name]);
        assert_eq!(code(&report), 0, "{}", stderr(&report));
    }
    assert!(all_gone_but(&before), "{:?}", programs_in_the_kernel());
}

#[test]
fn a_full_disk_is_one_line_and_two_at_once_do_not_disturb_each_other() {
    let _alone = alone();
    let before = programs_in_the_kernel();
    let directory = tempfile::tempdir().unwrap();
    let words = |name| ["idle", "-q", "-D", "1s", "--json", "-o", name];
    let both = ["a.punctual", "b.punctual"].map(|name| start(directory.path(), &words(name)));
    for child in both {
        let output = child.wait_with_output().unwrap();
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert!(support::json(&output)["runtime_ns"].as_u64().is_some());
    }
    assert!(all_gone_but(&before), "{:?}", programs_in_the_kernel());
    let Some(full) = support::SmallDisk::mount(directory.path(), "200k") else {
        support::skip("idle full disk", "mounting a small file system takes root");
        return;
    };
    std::fs::write(full.path().join("filler"), vec![0; 120_000]).unwrap();
    let output = run(full.path(), &["idle", "-q", "-D", "60s", "--threshold", "500ns", "-o", "a.punctual"]);
    assert_eq!(code(&output), 1, "{}", stdout(&output));
    assert!(stderr(&output).contains("no space left"), "{}", stderr(&output));
    assert!(stderr(&output).lines().count() <= 2, "{}", stderr(&output));
    // What fits is shown. The answer still says that the run failed, if there was room to write that down.
    let report = run(full.path(), &["report", "a.punctual"]);
    // There may have been room for nothing else.
    let told = stdout(&report).starts_with("Ended early: ") || stdout(&report).contains(" It failed: ");
    assert!(told || stdout(&report).starts_with("Cut short. "), "{}", stdout(&report));
    assert_eq!((code(&report), stderr(&report).as_str()), (i32::from(told), ""), "{}", stdout(&report));
    assert!(all_gone_but(&before), "{:?}", programs_in_the_kernel());
}

#[test]
fn a_kill_leaves_a_recording_and_nothing_else() {
    let _alone = alone();
    requires!("idle kill", "BPF", "BTF");
    let before = programs_in_the_kernel();
    let directory = tempfile::tempdir().unwrap();
    let child = start(directory.path(), &["idle", "-q", "-D", "60s", "-o", "a.punctual"]);
    assert!(wait_until(|| directory.path().join("a.punctual/gaps.json").exists()));
    support::signal(&child, libc::SIGKILL);
    child.wait_with_output().unwrap();
    assert!(all_gone_but(&before), "{:?}", programs_in_the_kernel());
    let recording = Recording::open(directory.path().join("a.punctual")).unwrap();
    assert!(recording.is_cut());
    let report = run(directory.path(), &["report", "a.punctual"]);
    assert_eq!(code(&report), 0, "{}", stderr(&report));
    assert!(stdout(&report).contains("Cut short"), "{}", stdout(&report));
    // It is still one of idle loops where nothing was kept of them.
    std::fs::remove_file(directory.path().join("a.punctual/gaps.json")).unwrap();
    let report = run(directory.path(), &["report", "a.punctual"]);
    let expected = "Cut short. Nothing was kept of what the loops measured.";
    assert_eq!((code(&report), stdout(&report).lines().next()), (0, Some(expected)), "{}", stderr(&report));
}

#[test]
fn a_user_without_privilege_gets_gaps_and_is_told_what_is_missing() {
    let _alone = alone();
    let Some(nobody) = Nobody::of("idle without privilege") else { return };
    for policy in ["idle", "fifo"] {
        let words = ["idle", "-q", "-D", "1s", "--json", "--threshold", "1us", "--policy", policy, "-o", policy];
        let output = nobody.run(&words);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let answer = support::json(&output);
        assert_eq!(answer["schema"], "punctual.idle/1");
        assert_eq!(answer["followed"], false);
        assert!(answer["cpus"][0]["irq"].is_null());
        assert!(answer["fallbacks"].to_string().contains("not attributed to anything"));
        assert_eq!(answer["fallbacks"].to_string().contains("at idle priority"), policy == "fifo");
        assert!(answer["verdict"].as_str().is_some_and(|verdict| !verdict.is_empty()));
    }
    let output = nobody.run(&VALIDATE);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = support::json(&output);
    assert_eq!((keystrokes_add_up(&answer), &answer["validation"]["followed"]), (20, &false.into()));
}

#[test]
fn an_interrupt_keeps_what_was_measured_and_a_report_shows_it_again() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let child = start(directory.path(), &["idle", "-q", "-D", "60s", "--json", "--no-bpf", "-o", "a.punctual"]);
    assert!(wait_until(|| directory.path().join("a.punctual/gaps.json").exists()));
    support::signal(&child, libc::SIGTERM);
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let recording = Recording::open(directory.path().join("a.punctual")).unwrap();
    assert_eq!(recording.document().ended.as_ref().unwrap().reason, EndReason::Interrupted);
    let again = run(directory.path(), &["report", "a.punctual", "--json"]);
    assert_eq!(support::json(&again), support::json(&output));
    // What does not apply to gaps gets one line.
    for words in
        [&["report", "a.punctual", "--csv"][..], &["report", "a.punctual", "a.punctual"], &["forecast", "a.punctual"]]
    {
        let refused = run(directory.path(), words);
        assert!(matches!(code(&refused), 1 | 129), "{words:?}");
        assert_eq!((stdout(&refused).as_str(), stderr(&refused).lines().count() <= 2), ("", true), "{words:?}");
    }
}

#[test]
fn wrong_usage_is_one_line() {
    let directory = tempfile::tempdir().unwrap();
    for words in [
        &["idle", "-D", "0"][..],
        &["idle", "-D", "abc"],
        &["idle", "--threshold", "1ns"],
        &["idle", "--policy", "deadline"],
        &["idle", "-a", "9999"],
        &["idle", "stray"],
        &["idle", "--calibrated=1ns"],
        &["idle", "--keystrokes", "5"],
        &["idle", "--validate", "-D", "5s"],
        &["idle", "--validate", "--keystrokes", "0"],
        &["idle", "--validate", "-a", "9999"],
        &["idle", "--validate", "-a", "0,1"],
    ] {
        let output = run(directory.path(), words);
        assert_eq!(code(&output), 129, "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).lines().count() <= 2, "{}", stderr(&output));
        assert_eq!(stdout(&output), "");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
