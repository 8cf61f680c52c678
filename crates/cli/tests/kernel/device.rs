//! `punctual device` against the running kernel: the work runs where it should, disturbs what it should, and ends.

#[path = "../support/device_runs.rs"]
mod device_runs;

use crate::requires;
use crate::support::{self, code, json, run, start, stderr, stdout, wait_until};
use device_runs::{DECODING, decoded_rightly, decoding, refusing};
use punctual_context::device::Wake;
use punctual_kernel::other_thread::{ThreadScheduling, threads_of};
use punctual_recording::{for_each_activation, read_activation_document};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// Runs a device for a while and returns its `contexts`.
fn device(directory: &Path, name: &str, words: &[&str]) -> Vec<Value> {
    let words = [&["device"], words, &["-q", "--json", "-o", name]].concat();
    let output = run(directory, &words);
    assert_eq!(code(&output), 0, "{words:?}: {}{}", stdout(&output), stderr(&output));
    let answer = json(&output);
    assert_eq!(answer["schema"], "punctual.study/1");
    assert!(answer["verdict"].as_str().is_some_and(|verdict| !verdict.is_empty()));
    let contexts = answer["contexts"].as_array().expect("a list").clone();
    for context in &contexts {
        let blocks = &context["blocks"];
        let count = |name: &str| blocks[name].as_u64().expect("a number");
        // Every block that arrived was processed, given up, or still waiting at the end.
        let taken = count("processed") + count("dropped") + count("lost") + count("refused") + count("records_lost");
        assert!(taken <= count("arrived"), "{blocks}");
        assert!(context["underruns_outside"].as_u64() <= context["underruns"].as_u64());
    }
    contexts
}

/// The mean of a stage of the bystander, ns.
fn mean(context: &Value, stage: &str) -> u64 {
    let stages = context["bystander"].as_array().expect("stages");
    let row = stages.iter().find(|row| row["stage"] == stage).unwrap_or_else(|| panic!("no stage {stage}: {context}"));
    row["mean_ns"].as_u64().expect("a number")
}

/// This command's BPF programs in the kernel; somebody else may run devices too.
fn programs_in_the_kernel() -> usize {
    support::programs::of_this_test(&["device_learns", "device_interrupt"]).len()
}

#[test]
fn each_context_disturbs_its_own_stage_of_the_bystander() {
    requires!("device contexts", "real-time priority", "BPF", "BTF");
    let directory = tempfile::tempdir().unwrap();
    // Not a multiple of the bystander's period: otherwise, for the length of a run, all interrupts would meet it at the
    // same point of its way, and luck would decide which stage that is.
    let one = |context: &str, attempt: usize| {
        let name = format!("{}-{attempt}", context.replace(':', "-"));
        device(directory.path(), &name, &["run", "modem 7.3ms", "--context", context, "-D", "1500ms"]).remove(0)
    };
    // A host may hold the bystander in any stage, and a few long times decide a mean.
    let mut tried = Vec::new();
    let found = support::attempts(support::MAX_ATTEMPTS).find_map(|attempt| {
        let contexts = ["irq", "softirq", "thread:80"].map(|context| one(context, attempt));
        let means = contexts.each_ref().map(|context| (mean(context, "irq"), mean(context, "thread")));
        tried.push(means);
        let [irq, softirq, thread] = means;
        // A thread below the bystander delays neither stage.
        let is_in_order = irq.0 > irq.1 && softirq.1 > softirq.0 && thread.0 < irq.0 && thread.1 < softirq.1;
        is_in_order.then_some((attempt, contexts))
    });
    let Some((attempt, [irq, softirq, _])) = found else {
        panic!("the means of irq and thread, ns, with a device in irq, softirq and a thread: {tried:?}");
    };
    for (context, level) in [(&irq, "interrupt"), (&softirq, "softirq")] {
        // By the kernel's own count, where it can be read.
        assert!(
            context["proven"].is_null() || context["proven"] == serde_json::json!([level]),
            "{}",
            context["proven"]
        );
        assert!(context["blocks"]["processed"].as_u64() > Some(100));
        assert_eq!(context["pc99"]["keeps"], false);
        assert!(context["bystander_intervals"]["count"].as_u64() > Some(500));
    }
    let name = format!("irq-{attempt}");
    let document = read_activation_document(&directory.path().join(&name)).unwrap().unwrap();
    let mut rows = 0;
    for_each_activation(&directory.path().join(&name), |row| {
        assert!(row.arrival_ns <= row.start_ns && row.start_ns < row.end_ns);
        assert!(row.interrupt_ns.is_some() && row.executed_ns <= row.end_ns - row.start_ns);
        rows += 1;
    })
    .unwrap();
    assert_eq!(rows, document.devices[0].processed);
    let again = json(&run(directory.path(), &["report", &name, "--json"]));
    assert_eq!(again["contexts"], serde_json::json!([irq]));
}

#[test]
fn a_low_priority_beside_a_spinning_thread_overflows_and_a_high_one_does_not() {
    requires!("device priorities", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    let one = |context: &str| {
        let words = ["run", "modem", "--context", context, "--competitor", "spin:50", "-D", "1500ms"];
        device(directory.path(), &context.replace(':', "-"), &words).remove(0)
    };
    let (low, high) = (one("thread:10"), one("thread:60"));
    assert!(low["overruns"].as_u64() > Some(0), "{low}");
    // Blocks that wait while the program rests are no underruns, so either may have few of them.
    let lost = |context: &Value| context["blocks"]["lost"].as_u64();
    assert!(lost(&high) < lost(&low), "{high} {low}");
    // The maximum, because half of the few blocks for which the competitor leaves the other thread time may begin soon.
    let pending = |context: &Value| context["pending"]["max"].as_u64();
    match pending(&low) {
        Some(waiting) => assert!(pending(&high).is_some_and(|left| left <= waiting), "{high} {low}"),
        // The competitor may leave the other thread no time at all: without an activation, nothing is pending.
        None => assert_eq!(low["blocks"]["processed"], 0, "{low}"),
    }
    assert!(high["blocks"]["processed"].as_u64() > low["blocks"]["processed"].as_u64(), "{high} {low}");
}

#[test]
fn a_reservation_below_the_share_fails_and_a_sufficient_one_keeps_up_beside_a_spinning_thread() {
    requires!("device reservations", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    let one = |context: &str, attempt: usize| {
        let words = ["run", "v90", "--context", context, "--competitor", "spin:normal", "-D", "1200ms"];
        let name = format!("{}-{attempt}", context.replace([':', '/'], "-"));
        device(directory.path(), &name, &words).remove(0)
    };
    let small = one("reservation:1ms/20ms", 0);
    assert_eq!(small["keeps_up"], false, "{small}");
    assert!(small["overruns"].as_u64() > Some(0), "{small}");
    // A host that holds the machine for longer than the ring lasts makes every device overrun.
    let mut tried = Vec::new();
    let keeps_up = support::attempts(support::MAX_ATTEMPTS).any(|attempt| {
        let large = one("reservation:5ms/10ms", attempt);
        tried.push([&large["overruns"], &large["underruns"]].map(ToString::to_string));
        large["overruns"] == 0 && large["underruns"].as_u64() < small["underruns"].as_u64()
    });
    assert!(keeps_up, "overruns and underruns: {tried:?}, with less: {small}");
    // Hard enforcement: the thread does not get what it did not reserve, even if there is CPU time to spare.
    assert!(small["share"].as_f64() < Some(0.07), "{small}");
}

#[test]
fn several_devices_run_at_once() {
    requires!("device mix", "real-time priority", "BPF", "BTF");
    let directory = tempfile::tempdir().unwrap();
    let words = ["mix", "audio64,ethercat1ms,modem+softirq", "--context", "thread:80", "--wake", "softirq", "-D", "1s"];
    let contexts = device(directory.path(), "mix", &words);
    let names: Vec<&str> = contexts.iter().map(|context| context["device"].as_str().unwrap()).collect();
    assert_eq!(names, ["audio64", "ethercat1ms", "modem"]);
    assert_eq!(contexts[2]["context"], "softirq");
    assert!(contexts.iter().all(|context| context["blocks"]["processed"].as_u64() > Some(0)));
    assert!(contexts.iter().all(|context| context["interrupts"].as_u64() > Some(0)));
}

#[test]
fn the_rate_of_the_line_changes_in_phases() {
    requires!("device phases", "real-time priority", "BPF", "BTF");
    let directory = tempfile::tempdir().unwrap();
    for context in ["irq", "thread:80"] {
        let words = ["run", "v90", "--context", context, "--phases", "18@7200Hz:1s,90@7200Hz", "-D", "2s"];
        let (mut all, mut is_enough) = (Vec::new(), false);
        // No block comes while the rest of the program is kept from running, and a late thread loses some.
        for attempt in 0..support::MAX_ATTEMPTS {
            let name = format!("{}-{attempt}", context.replace(':', "-"));
            device(directory.path(), &name, &words);
            let (mut short, mut long, mut last) = (0, 0, 0);
            for_each_activation(&directory.path().join(&name), |row| {
                match row.arrival_ns - last {
                    2_000_000..3_000_000 => short += 1,
                    12_000_000..13_000_000 => long += 1,
                    _ => {}
                }
                last = row.arrival_ns;
            })
            .unwrap();
            all.push((short, long));
            // It would be 400 and 80 without the time in between.
            is_enough = short > 200 && long > 30 && short > long;
            if is_enough {
                break;
            }
        }
        eprintln!("{context}: blocks 2.5 ms and 12.5 ms apart: {all:?}");
        assert!(is_enough, "{context}: {all:?}");
    }
}

/// The thread has the first phase's reservation from the start, then the device's.
#[test]
fn a_phase_has_a_reservation_of_its_own() {
    requires!("a_phase_has_a_reservation_of_its_own", "deadline reservation", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    let phases = ["--context", "reservation:3ms/12ms", "--phases", "18@7200Hz:1500ms+1ms/2.5ms,90@7200Hz"];
    let words = [&["device", "run", "v90"][..], &phases, &["-D", "3s", "-q", "-o", "phases"]].concat();
    let child = start(directory.path(), &words);
    let has = |runtime_ns, period_ns| {
        let mut threads = threads_of(child.id()).into_iter();
        threads.any(|tid| ThreadScheduling::of(tid).is_ok_and(|now| now.reservation() == Some((runtime_ns, period_ns))))
    };
    let (first, then) = (wait_until(|| has(1_000_000, 2_500_000)), wait_until(|| has(3_000_000, 12_000_000)));
    let ended = child.wait_with_output().unwrap();
    assert!(first && then && code(&ended) == 0, "{first} {then}: {}{}", stdout(&ended), stderr(&ended));
}

/// The number of a table's newest segment, alone or joined with those before: `000003.parquet`, `000001-000003.parquet`.
fn newest_segment(table: &Path) -> u64 {
    let files = std::fs::read_dir(table).unwrap().flatten();
    let number = |file: std::fs::DirEntry| {
        let name = file.file_name().into_string().ok()?;
        name.strip_suffix(".parquet")?.rsplit('-').next()?.parse::<u64>().ok()
    };
    files.filter_map(number).max().unwrap_or(0)
}

#[test]
fn interrupts_stop_working_when_the_program_stands_still_and_nothing_outlives_it() {
    requires!("device heartbeat", "real-time priority", "BPF", "BTF");
    let directory = tempfile::tempdir().unwrap();
    let before = programs_in_the_kernel();
    let words = ["device", "run", "modem", "--context", "irq", "-q", "-D", "60s", "-o", "a.punctual"];
    let child = start(directory.path(), &words);
    let recording = directory.path().join("a.punctual");
    assert!(wait_until(|| recording.join("activations/000001.parquet").exists()));
    support::signal(&child, libc::SIGSTOP);
    std::thread::sleep(Duration::from_millis(2_500));
    let newest = newest_segment(&recording.join("activations"));
    support::signal(&child, libc::SIGCONT);
    // The first may hold only what there was before.
    assert!(wait_until(|| newest_segment(&recording.join("activations")) >= newest + 2), "nothing more is written");
    support::signal(&child, libc::SIGKILL);
    child.wait_with_output().unwrap();
    assert!(wait_until(|| programs_in_the_kernel() <= before), "{}", programs_in_the_kernel());
    let (mut last, mut longest) = (0, 0);
    for_each_activation(&recording, |row| {
        if last > 0 {
            longest = longest.max(row.start_ns - last);
        }
        last = row.start_ns;
    })
    .unwrap();
    // It was stopped for 2.5 s; for at most one of these seconds, work went on.
    assert!(longest > 1_000_000_000, "{longest}");
}

/// Two runs at once may not plan more of a CPU in interrupts than one may: each alone would take nearly half of it.
#[test]
fn runs_at_once_share_what_interrupts_may_take() {
    requires!("shared interrupts", "real-time priority", "BPF", "BTF");
    let directory = tempfile::tempdir().unwrap();
    let profile = "[[device]]\nid = \"big\"\nname = \"Big\"\nwhat = \"half of a CPU\"\nperiod = \"10ms\"\nbuffers = 3\n\
                   compute = \"4.8ms\"\non_miss = \"retrain\"\n";
    std::fs::write(directory.path().join("big.toml"), profile).unwrap();
    let words = |name: &'static str, context: &'static str, time: &'static str| {
        ["device", "run", "big", "--profiles", "big.toml", "--context", context, "-q", "-D", time, "-o", name]
    };
    // Somebody else may run devices there for as long as theirs last.
    let (mut first, mut refused) = (None, Vec::new());
    wait_until(|| {
        let mut child = start(directory.path(), &words("a", "irq", "60s"));
        let mut has_ended = false;
        let is_there = wait_until(|| {
            has_ended = child.try_wait().unwrap().is_some();
            has_ended || directory.path().join("a/recording.json").exists()
        });
        assert!(is_there, "it does not begin");
        match has_ended {
            true => refused.push(stderr(&child.wait_with_output().unwrap())),
            false => first = Some(child),
        }
        first.is_some()
    });
    let Some(first) = first else {
        assert!(refused.iter().all(|said| said.contains("other devices run there")), "{refused:?}");
        return support::skip("shared interrupts", "somebody else's devices run there all the time");
    };
    for context in ["irq", "softirq"] {
        let second = run(directory.path(), &words("b", context, "1s"));
        assert_eq!(code(&second), 1, "{}", stdout(&second));
        assert!(stderr(&second).contains("other devices run there"), "{}", stderr(&second));
    }
    // CPU time that the scheduler shares out does not count towards interrupts.
    assert_eq!(code(&run(directory.path(), &words("c", "thread:80", "1s"))), 0);
    support::signal(&first, libc::SIGINT);
    assert_eq!(code(&first.wait_with_output().unwrap()), 0);
}

#[test]
fn what_cannot_be_is_one_clear_line() {
    let directory = tempfile::tempdir().unwrap();
    for (words, expected, word) in [
        (&["run", "toaster"][..], 129, "there is no device `toaster`"),
        (&["run", "modem", "--context", "isr"], 129, "is not a context"),
        (&["run", "modem", "--context", "reservation:9ms/8ms"], 129, "must not exceed"),
        (&["run", "modem", "--context", "reservation:10us/50us"], 129, "100us to 4s"),
        (&["run", "modem", "--compete"], 129, "goes with a reservation"),
        (&["run", "modem", "--competitor", "run"], 129, "is not a competitor"),
        (&["run", "modem", "-a", "9999"], 129, "not there or not allowed"),
        (&["run", "sdr"], 1, "the shortest is 100 us"),
        (&["run", "rt-video", "--context", "irq"], 1, "would keep everything else from the CPU"),
        (&["mix", "modem,adsl,dsl", "--context", "softirq"], 1, "more than the 50 %"),
        (&["run", "v90", "--phases", "90:5s"], 129, "is not a phase"),
        (&["run", "v90", "--phases", "90@8kHz,18@8kHz"], 129, "every phase but the last"),
        (&["run", "v90", "--phases", "90@8kHz+9ms/8ms"], 129, "must not exceed"),
        (&["run", "v90", "--context", "thread:80", "--phases", "90@8kHz+1ms/8ms"], 1, "goes with one of the device's"),
        (&["mix", "v90,modem", "--phases", "90@8kHz"], 129, "goes with one device"),
        (&["verify", "v90", "--phases", "90@8kHz"], 129, "a steady rate"),
        (&["verify", "modem", "--context", "irq"], 129, "a forecast is made for threads"),
        (&["show", "toaster"], 129, "there is no device"),
        (&["list", "--profiles", "none.toml"], 1, "cannot read"),
    ] {
        let output = run(directory.path(), &[&["device"], words].concat());
        assert_eq!(code(&output), expected, "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(word), "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).lines().count() <= 2, "{}", stderr(&output));
        assert_eq!(stdout(&output), "");
    }
}

#[test]
fn devices_are_listed_and_shown() {
    let directory = tempfile::tempdir().unwrap();
    let mine = "[[device]]\nid=\"mine\"\nperiod=\"5ms\"\nbuffers=2\ncompute=\"1ms\"\non_miss=\"drop\"\n";
    std::fs::write(directory.path().join("mine.toml"), mine).unwrap();
    let list = run(directory.path(), &["device", "list", "--profiles", "mine.toml"]);
    assert!(stdout(&list).contains("mine") && stdout(&list).contains("v90"), "{}", stderr(&list));
    let shown = json(&run(directory.path(), &["device", "show", "audio 64@48kHz x3", "--json"]));
    assert_eq!(shown["devices"][0]["buffers"], 3);
    assert_eq!(shown["devices"][0]["tolerance_ns"], 2 * 1_333_333);
}

/// In this time, a few refusals happen often enough, ns.
fn some_refused_ns(attempt: usize) -> u64 {
    // A busy host left 57 of the 250 interrupts in a second.
    if attempt == 0 { 1_200_000_000 } else { 3_000_000_000 }
}
/// If every callback is refused, there is nothing to wait for, ns.
const ALL_REFUSED_NS: u64 = 500_000_000;

#[test]
fn a_few_refused_callbacks_are_counted_and_what_was_measured_is_kept() {
    requires!("device in a softirq", "thread woken by a softirq", "real-time priority", "BPF", "BTF");
    let directory = tempfile::tempdir().unwrap();
    for (context, wake) in [("softirq", Wake::Timer), ("thread:80", Wake::Softirq)] {
        // If another program takes the CPU at the end, more blocks wait than a callback handles in one turn.
        let mut seen = Vec::new();
        let (device, path) = loop {
            let duration_ns = some_refused_ns(seen.len());
            let (measured, path) = refusing(directory.path(), "modem 4ms", (context, wake), 7, duration_ns);
            let done = measured.unwrap_or_else(|error| panic!("{context}: {error}"));
            let device = done.activations.devices.into_iter().next().unwrap();
            // What waited for the next callback was worked off in it.
            let is_worked_off = device.processed + 3 >= device.arrived;
            // A host that takes the CPU leaves fewer interrupts.
            let are_enough = device.callbacks_refused.is_some_and(|refused| refused >= 20);
            seen.push((device.processed, device.arrived, device.callbacks_refused));
            if is_worked_off && are_enough {
                break (device, path);
            }
            assert!(seen.len() < support::MAX_ATTEMPTS, "{context}: {seen:?}");
            std::fs::remove_dir_all(path).unwrap();
        };
        let interrupts = device.interrupts.unwrap();
        let refused = device.callbacks_refused.expect("its callbacks are counted");
        assert_eq!(refused, interrupts / 7, "{context}");
        let mut marked = 0;
        for_each_activation(&path, |row| marked += u64::from(row.unobserved)).unwrap();
        assert!(marked + 1 >= refused, "{context}: {marked} of {refused}");
        let shown = stdout(&run(directory.path(), &["report", path.to_str().unwrap()]));
        let said = shown.lines().find(|line| line.contains("softirq callbacks that the kernel refused to queue"));
        assert!(said.is_some_and(|line| line.contains("Invalid argument")), "{shown}");

        // Not one callback came: nothing was measured, and nothing is left behind that says otherwise.
        let (measured, path) = refusing(directory.path(), "modem 4ms", (context, wake), 1, ALL_REFUSED_NS);
        let words = measured.expect_err(context).to_string();
        assert!(words.contains("refused to queue") && words.contains("Invalid argument"), "{context}: {words}");
        assert!(!path.exists(), "{context}");
    }
}

/// All threads of a stopped program are late, including the one that stands for the machine.
#[test]
fn a_program_that_was_stopped_says_so_and_accuses_no_machine_alone() {
    requires!("device stopped", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    let words = ["device", "run", "audio64", "-c", "thread:80", "-q", "-D", "60s", "-o", "a.punctual"];
    let child = start(directory.path(), &words);
    let activations = directory.path().join("a.punctual/activations");
    assert!(wait_until(|| activations.join("000001.parquet").exists()), "nothing is written");
    support::signal(&child, libc::SIGSTOP);
    std::thread::sleep(Duration::from_millis(100));
    let newest = newest_segment(&activations);
    support::signal(&child, libc::SIGCONT);
    // The first may hold only what there was before.
    assert!(wait_until(|| newest_segment(&activations) >= newest + 2), "nothing more is written");
    support::signal(&child, libc::SIGINT);
    let output = child.wait_with_output().unwrap();
    let said = stdout(&output);
    assert!(
        said.contains("punctual itself was stopped, or") || said.contains("while punctual itself was stopped"),
        "{said}"
    );
    assert!(said.contains("note: punctual itself was stopped meanwhile"), "{said}");
}

/// Beside a thread that never stops, the device's own threads rest so that others get their share: the report says so,
/// and blames nobody for it.
#[test]
fn what_waits_while_punctual_rests_is_no_underrun() {
    requires!("device rests", "real-time priority");
    let directory = tempfile::tempdir().unwrap();
    let words = ["device", "run", "audio64", "-c", "thread:80", "--competitor", "spin:50", "-D", "2s", "-q", "--json"];
    // 10 ms of every 200 ms, each of seven blocks; fewer come where a host takes the CPU.
    let mut tried = Vec::new();
    let has_rested = support::attempts(support::MAX_ATTEMPTS).any(|_| {
        let _ = std::fs::remove_dir_all(directory.path().join("a.punctual"));
        let output = run(directory.path(), &[&words[..], &["-o", "a.punctual"]].concat());
        let answer = json(&output);
        let device = &answer["contexts"][0];
        tried.push(device["blocks"]["rested"].as_u64().unwrap_or_else(|| panic!("{device}")));
        tried.last() >= Some(&40)
    });
    assert!(has_rested, "{tried:?} blocks");
    let mut resting = 0;
    for_each_activation(&directory.path().join("a.punctual"), |row| resting += u64::from(row.rested)).unwrap();
    assert!(resting > 0, "no block is marked");
    let shown = stdout(&run(directory.path(), &["report", "a.punctual"]));
    assert!(shown.contains("while punctual's threads rested"), "{shown}");
}

#[test]
fn both_blocks_that_a_refused_callback_loses_are_held_against_nobody() {
    requires!("device in a softirq", "real-time priority", "BPF", "BTF");
    let directory = tempfile::tempdir().unwrap();
    // A host that takes the CPU leaves fewer interrupts, and underruns that are nobody's; it does not do so each time.
    let mut seen = Vec::new();
    let is_excused = support::attempts(support::MAX_ATTEMPTS).any(|attempt| {
        // The device has two buffers; the next block is marked.
        let place = ("softirq", Wake::Timer);
        let (measured, path) = refusing(directory.path(), "audio 192@48kHz", place, 8, some_refused_ns(attempt));
        let device = measured.unwrap().activations.devices.into_iter().next().unwrap();
        let (mut marked, refused) = (0, device.callbacks_refused.unwrap());
        for_each_activation(&path, |row| marked += u64::from(row.unobserved)).unwrap();
        std::fs::remove_dir_all(path).unwrap();
        let own = device.underruns.saturating_sub(device.underruns_outside);
        seen.push(format!("{refused} refused, {} lost, {marked} marked, {own} underruns", device.lost));
        refused >= 20 && device.lost >= 2 * refused - 2 && marked + 1 >= refused && own < refused
    });
    assert!(is_excused, "{seen:?}");
}

#[test]
fn every_signal_is_decoded_to_known_bits_in_every_context_and_not_without_its_taps() {
    let directory = tempfile::tempdir().unwrap();
    let places = [
        ("irq", Wake::Timer),
        ("softirq", Wake::Timer),
        ("thread:80", Wake::Timer),
        ("thread:80", Wake::Softirq),
        ("reservation:1ms/2ms", Wake::Timer),
    ];
    for signal in &DECODING {
        let (mut bits, mut left_out) = (0, 0);
        for place in places {
            let with = match decoding(directory.path(), signal, place, false) {
                Ok(with) => with,
                Err(refused) => {
                    punctual_testing::skip(&format!("{} in {place:?}", signal.spec), refused);
                    left_out += 1;
                    continue;
                }
            };
            bits += decoded_rightly(signal, place, &with.activations.devices[0]);
            // A thread is a thread, whatever wakes it and however it is scheduled, and the kernel's program is always
            // the same.
            if !["irq", "thread:80"].contains(&place.0) || place.1 == Wake::Softirq {
                continue;
            }
            let without = decoding(directory.path(), signal, place, true).unwrap();
            let decoded = without.activations.devices[0].decoded.as_ref().unwrap();
            assert!(decoded.wrong + decoded.missing > decoded.bits / 3, "{place:?}: {decoded:?}");
            if signal.silent {
                assert_eq!((decoded.frames_right, decoded.wrong), (0, 0), "{place:?}: {decoded:?}");
                assert!(decoded.missing >= decoded.bits, "{place:?}: {decoded:?}");
            }
        }
        assert!(bits > signal.bits || left_out == places.len(), "{}: {bits} bits, {left_out} left out", signal.spec);
    }
}
