//! `punctual modem transfer --context`: a thread of this machine receives a file in real time; and a device whose work is such a modem.

use crate::requires;
use crate::support::{self, code, json, run, start, stderr, stdout};
use punctual_recording::for_each_activation;
use std::process::{Child, Output};

/// Eight frames of the link: each second of a call takes one here.
const FILE_BYTES: u32 = 1_000;

fn file(directory: &std::path::Path) {
    let bytes: Vec<u8> = (0..FILE_BYTES).map(|place| ((place * place) >> 3) as u8).collect();
    std::fs::write(directory.join("a.gz"), bytes).unwrap();
}

/// Calls in each of these contexts at once, beside so many competitors each, by punctual's pump or another; returns in how many
/// the file arrived, and how many this machine does not allow.
fn calls_in(directory: &std::path::Path, contexts: &[(&str, usize)], pump: &str) -> (usize, usize) {
    let (mut skipped, mut met) = (0, 0);
    let call = |&(context, competitors): &(&str, usize)| {
        let mut words = vec!["modem", "transfer", "a.gz", "--attempts", "1", "--json", "--context", context];
        words.extend(["--pump", pump]);
        if pump != "punctual" {
            // A library's modem does not find its way back after a gap; and this is not about how late a thread may be.
            words.extend(["--buffers", "6"]);
        }
        words.extend(["--competitor", "spin:normal"].iter().take(2 * competitors));
        start(directory, &words)
    };
    let calls: Vec<Child> = contexts.iter().map(call).collect();
    for (&(context, _), call) in contexts.iter().zip(calls) {
        let output = call.wait_with_output().unwrap();
        if stderr(&output).contains("not permitted") || stderr(&output).contains("may not") {
            let name = "a_file_arrives_exact_in_each_context_of_a_thread";
            punctual_testing::skip(name, format!("{context}, {pump}: {}", stderr(&output)));
            skipped += 1;
            continue;
        }
        let answer = json(&output);
        let live = &answer["live"];
        assert_eq!(
            live["context"].as_str().map(|said| said.split(':').next()),
            Some(context.split(':').next()),
            "{answer}"
        );
        let (attempt, beside) = (&answer["attempts"][0], &live["attempts"][0]);
        let of = |value: &serde_json::Value, name: &str| value[name].as_u64().unwrap();
        // However busy the machine is, whatever arrived is accounted for, and nothing wrong arrives.
        assert_eq!(answer["exit_code"], code(&output), "{answer}");
        let arrived = attempt["ending"] == "arrived";
        assert_eq!(attempt["exact"].as_bool(), Some(arrived), "{answer}");
        assert_eq!(code(&output), i32::from(!arrived), "{answer}");
        let pending: u64 = beside["pending"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(pending, of(beside, "activations"), "{answer}");
        if !arrived {
            eprintln!("{context}, {pump}: {}: {attempt} {beside}", answer["verdict"]);
            // A call that was given up may be a second long.
            assert!(of(beside, "activations") > 0, "{answer}");
            assert!(of(attempt, "underruns") + of(attempt, "lost_samples") > 0, "{answer}");
            continue;
        }
        assert!(of(beside, "activations") > 100, "{answer}");
        assert_eq!(of(attempt, "received_bytes"), u64::from(FILE_BYTES));
        // Only punctual's own pumps are compared with the clean time, which no call beats by more than a block of the line.
        let clean = live["clean_transfer_ns"].as_u64();
        assert_eq!(clean.is_some(), pump == "punctual", "{answer}");
        assert!(clean.is_none_or(|clean| clean <= of(attempt, "transfer_ns") + 1_000_000_000), "{answer}");
        // At least the processor time of each block.
        assert!(of(beside, "executed_ns") >= of(beside, "activations") * 1_840_000, "{answer}");
        met += 1;
    }
    (met, skipped)
}

#[test]
fn a_file_arrives_exact_in_each_context_of_a_thread() {
    let directory = tempfile::tempdir().unwrap();
    file(directory.path());
    // Two at once, which take the CPU from one another now and then only; an ordinary thread beside them would often be too late.
    let turns = [&[("thread:24", 1), ("reservation:4ms/8ms", 1)][..], &[("thread:other", 0)]];
    let turns = if support::tests_all() { &turns[..] } else { &turns[..1] };
    // Where a busy machine let none come about, they are made again.
    let met = support::attempts(3).find_map(|_| {
        let counts = turns.iter().map(|contexts| calls_in(directory.path(), contexts, "punctual"));
        let (met, skipped) = counts.fold((0, 0), |sums, counts| (sums.0 + counts.0, sums.1 + counts.1));
        let all: usize = turns.iter().map(|contexts| contexts.len()).sum();
        eprintln!("a file arrived in {met} of {all} contexts, {skipped} not allowed here");
        (met > 0 || skipped == all).then_some(met)
    });
    assert!(met.is_some(), "none of the calls in {turns:?} came about, three times");
}

/// The datapump of a library works in a thread as punctual's own does; what is counted of the call holds for it, too.
#[test]
fn a_file_arrives_over_the_pump_of_spandsp_in_a_thread_or_that_is_said_to_be_missing() {
    let directory = tempfile::tempdir().unwrap();
    file(directory.path());
    if let Err(missing) = punctual_spandsp::Library::load() {
        let words = ["modem", "transfer", "a.gz", "--pump", "v22bis", "--context", "thread:other"];
        let output = run(directory.path(), &words);
        let said = stderr(&output);
        assert_eq!((code(&output), said.lines().count()), (1, 1), "{said}");
        assert!(said.contains(&missing.to_string()), "{said}");
        return punctual_testing::skip("modem transfer over spandsp in a thread", missing);
    }
    let met = support::attempts(support::MAX_ATTEMPTS).find_map(|_| {
        let (met, skipped) = calls_in(directory.path(), &[("thread:24", 1)], "v22bis");
        (met > 0 || skipped == 1).then_some(met)
    });
    assert!(met.is_some(), "none of the calls over spandsp's pump came about");
}

/// A device's thread is the calling end of a call by the library: what it works on is right, and what it misses is counted.
#[test]
fn a_device_works_on_a_call_of_spandsp_or_that_is_said_to_be_missing() {
    let directory = tempfile::tempdir().unwrap();
    let device = ["device", "run", "modem", "--work", "spandsp", "--context", "thread:80", "-D", "2s"];
    let words = [&device[..], &["-q", "--json", "-o", "d"]].concat();
    if let Err(missing) = punctual_spandsp::Library::load() {
        let output = run(directory.path(), &words);
        let answer = json(&output);
        assert_eq!((code(&output), answer["error"].as_str()), (1, Some(missing.to_string().as_str())), "{answer}");
        return punctual_testing::skip("a device's work by spandsp", missing);
    }
    requires!("a_device_works_on_a_call_of_spandsp", "real-time priority");
    let output = run(directory.path(), &words);
    assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
    let answer = json(&output);
    let (device, decoded) = (&answer["contexts"][0], &answer["contexts"][0]["decoded"]);
    assert_eq!((&decoded["signal"], &decoded["unit"]), (&"spandsp's V.22bis".into(), &"sample".into()), "{answer}");
    let of = |name: &str| decoded[name].as_u64().unwrap_or_else(|| panic!("no {name}: {decoded}"));
    // A block of 8 ms has 64 samples of a telephone line; the last block may have been cut short.
    let processed = device["blocks"]["processed"].as_u64().unwrap();
    assert!(processed > 50 && of("symbols") >= 64 * processed && of("symbols").is_multiple_of(64), "{answer}");
    assert!(of("bits") > 0, "{decoded}");
    if of("skipped") == 0 {
        assert_eq!((of("wrong"), of("missing"), of("connections_lost")), (0, 0, 0), "{decoded}");
    } else {
        assert!(of("missing") > 0, "{decoded}");
    }
    assert!(answer["next"].as_array().unwrap().is_empty(), "what comes next would run another work: {answer}");
    let text = stdout(&run(directory.path(), &["report", "d"]));
    assert!(text.contains("V.22bis") && !text.contains("echo canceller"), "{text}");
}

/// A share of a CPU that the datapump itself is to take becomes taps, and these take it; what cannot be had is refused with what can.
#[test]
fn taps_make_the_datapump_itself_take_its_share() {
    let directory = tempfile::tempdir().unwrap();
    file(directory.path());
    let words = ["modem", "transfer", "a.gz", "--attempts", "1", "--json", "--context"];
    let mut met = 0;
    for (context, share) in [("thread:24", 4.0), ("irq", 8.0)] {
        let asked = format!("{share}%");
        let call = || json(&run(directory.path(), &[&words[..], &[context, "--taps", &asked]].concat()));
        // On a busy machine the exchange may not understand what is dialed: of such a call the datapump has nearly no part.
        let has_answered = |answer: &serde_json::Value| answer["attempts"][0]["ending"] != "unobtainable";
        let mut calls = support::attempts(support::MAX_ATTEMPTS).map(|_| call());
        let answer = calls.find(has_answered).expect("a call that came about");
        if let Some(refused) = answer["error"].as_str() {
            punctual_testing::skip("taps_make_the_datapump_itself_take_its_share", format!("{context}: {refused}"));
            continue;
        }
        let (how, beside) = (&answer["how"], &answer["live"]["attempts"][0]);
        let of = |value: &serde_json::Value, name: &str| value[name].as_u64().unwrap();
        let asked_ns = share / 100.0 * 12_500_000.0;
        assert!((of(how, "compute_ns") as f64 / asked_ns - 1.0).abs() < 0.1, "{answer}");
        assert!(of(how, "taps") >= 1_024 && of(how, "taps").is_multiple_of(128), "{answer}");
        // Of two blocks of such a call, one is of the dialling at most.
        let by_datapump = of(beside, "datapump_ns") as f64 / of(beside, "activations") as f64;
        eprintln!("{context}: {} taps, {:.0} ns a block of {asked_ns:.0} asked for", of(how, "taps"), by_datapump);
        assert!(by_datapump > asked_ns * 0.3, "{answer}");
        met += 1;
    }
    eprintln!("the datapump took its share in {met} contexts");
    let output = run(directory.path(), &["modem", "transfer", "a.gz", "--context", "thread:other", "--taps", "99%"]);
    let said = stderr(&output);
    assert_eq!((code(&output), said.lines().count()), (1, 1), "{said}");
    assert!(said.contains("99 % of a CPU cannot be had in thread:other on this machine"), "{said}");
}

/// The datapump works at interrupts: what arrives is exact, and each block took its time there. Both contexts have their calls at
/// once; one that a busy machine kept from coming about is made again.
#[test]
fn a_file_arrives_exact_in_interrupts_and_softirq_callbacks() {
    const TEST: &str = "a_file_arrives_exact_in_interrupts_and_softirq_callbacks";
    requires!("a modem in interrupts", "real-time priority", "BPF", "BTF");
    let directory = tempfile::tempdir().unwrap();
    file(directory.path());
    let (mut left, mut calls) = (vec!["irq", "softirq"], 0);
    for _ in support::attempts(support::MAX_ATTEMPTS) {
        let begin = |context: &&'static str| {
            let words = ["modem", "transfer", "a.gz", "--attempts", "1", "--json", "--context", *context];
            (*context, start(directory.path(), &words))
        };
        let begun: Vec<(&str, Child)> = left.iter().map(begin).collect();
        for (context, call) in begun {
            calls += 1;
            match transferred_in_the_kernel(context, &call.wait_with_output().unwrap()) {
                Ok(0) => continue,
                Ok(blocks) => {
                    eprintln!("{context}: {blocks} blocks of a file that arrived were worked on in the kernel");
                    assert!(blocks > 100, "{context}: {blocks} blocks");
                }
                Err(refused) => punctual_testing::skip(TEST, format!("{context}: {refused}")),
            }
            left.retain(|other| *other != context);
        }
        if left.is_empty() {
            break;
        }
    }
    assert!(left.is_empty(), "of {calls} calls none came about in {left:?}");
}

/// How many blocks of a call were worked on if the file arrived, otherwise 0; or why this machine allows none.
fn transferred_in_the_kernel(context: &str, output: &Output) -> Result<u64, String> {
    let answer = json(output);
    if let Some(refused) = answer["error"].as_str() {
        return Err(refused.to_owned());
    }
    let (attempt, beside) = (&answer["attempts"][0], &answer["live"]["attempts"][0]);
    let of = |value: &serde_json::Value, name: &str| value[name].as_u64().unwrap();
    assert_eq!((&answer["live"]["context"], &answer["exit_code"]), (&context.into(), &code(output).into()));
    let arrived = attempt["ending"] == "arrived";
    assert_eq!(attempt["exact"].as_bool(), Some(arrived), "{answer}");
    // While it dials, blocks only take their time; then they are computed.
    assert!(of(beside, "activations") > 0 && of(beside, "datapump_ns") > 0, "{answer}");
    assert!(of(beside, "executed_ns") >= of(beside, "activations") * 1_840_000, "{answer}");
    if !arrived {
        let lost = of(attempt, "underruns") + of(attempt, "lost_samples");
        assert!(lost > 0 || !answer["live"]["notes"].as_array().unwrap().is_empty(), "{answer}");
        eprintln!("{context}: {}, after {lost} underruns and lost samples", attempt["ending"]);
        return Ok(0);
    }
    assert_eq!(of(attempt, "received_bytes"), u64::from(FILE_BYTES));
    Ok(of(beside, "activations"))
}

/// More modems than the kernel admits reservations for, beside a load and a device: those that it has no room for are named, and
/// each call of the others stands for itself.
#[test]
fn modems_that_call_at_once_are_all_accounted_for() {
    requires!("modems_that_call_at_once_are_all_accounted_for", "thread woken by a softirq", "deadline reservation");
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("a.gz"), [0x5a; 100]).unwrap();
    let all_cpus = punctual_kernel::scheduling::allowed_cpus();
    // At most 95 % of the CPUs are reserved, and each modem asks for 80 % of one.
    let modems = (95 * all_cpus.len() / 80 + 1).to_string();
    let cpus = all_cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let load = "about = \"busy\"\n[[command]]\nname = \"spin\"\nrun = \"while :; do :; done\"\n";
    std::fs::write(directory.path().join("busy.toml"), load).unwrap();
    let words = ["modem", "transfer", "a.gz", "--attempts", "1", "--json", "--context", "reservation:8ms/10ms"];
    let more = ["--compute", "0", "--modems", &modems, "--cpu", &cpus, "--load", "busy.toml"];
    let beside = ["--beside", "rt-audio+thread:25,rt-video+thread:23", "-o", "beside.punctual", "--html", "sent.html"];
    let output = run(directory.path(), &[&words[..], &more, &beside].concat());
    let answer = json(&output);
    if answer["error"].is_string() {
        // Other programs' reservations leave no room for one.
        return punctual_testing::skip("modems_that_call_at_once_are_all_accounted_for", answer["error"].to_string());
    }
    // The refused ones are missing.
    assert_eq!((code(&output), &answer["exit_code"]), (1, &1.into()));
    let (attempts, live) = (answer["attempts"].as_array().unwrap(), &answer["live"]);
    let (calls, refused) = (live["attempts"].as_array().unwrap(), live["refused"].as_array().unwrap());
    assert!(!refused.is_empty() && !calls.is_empty() && attempts.len() == calls.len(), "{answer}");
    assert_eq!((calls.len() + refused.len()).to_string(), modems, "{answer}");
    assert!(refused.iter().all(|row| row["reason"].as_str().is_some_and(|reason| !reason.is_empty())));
    for (attempt, call) in attempts.iter().zip(calls) {
        let of = |name: &str| call[name].as_u64().unwrap();
        let place = of("modem") as usize - 1;
        assert_eq!(live["cpus"][place % live["cpus"].as_array().unwrap().len()], call["cpu"], "{call}");
        assert!(0 < of("datapump_ns") && of("datapump_ns") <= of("executed_ns"), "{call}");
        assert!(of("executed_ns") <= of("elapsed_ns"), "{call}");
        assert_eq!(attempt["exact"].as_bool(), Some(attempt["ending"] == "arrived"), "{attempt}");
        for what in ["underruns", "overruns"] {
            let seconds = attempt[format!("{what}_by_second")].as_array().unwrap().iter();
            assert_eq!(seconds.map(|count| count.as_u64().unwrap()).sum::<u64>(), attempt[what], "{attempt}");
        }
        assert!(attempt["pending_by_second"].as_array().unwrap().iter().any(|most| most.is_u64()), "{attempt}");
    }
    assert_eq!((&live["load"], &live["load_failure"]), (&"busy".into(), &serde_json::Value::Null), "{answer}");
    let device = &live["devices"]["contexts"][0];
    assert_eq!((&device["device"], &device["load"]), (&"rt-audio".into(), &"busy".into()), "{device}");
    assert!(device["blocks"]["processed"].as_u64().unwrap() > 10, "{device}");
    // Devices take the CPUs in turn, and stay there.
    let mut worked = [0; 2];
    for_each_activation(&directory.path().join("beside.punctual"), |row| {
        let place = row.device as usize;
        assert_eq!(row.cpu, all_cpus[place % all_cpus.len()], "{row:?}");
        worked[place] += 1;
    })
    .unwrap();
    assert!(worked.iter().all(|blocks| *blocks > 3), "{worked:?}");
    let page = std::fs::read_to_string(directory.path().join("sent.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), calls.len());
    assert_eq!(code(&run(directory.path(), &["report", "beside.punctual"])), 0);
}

#[test]
fn contexts_that_cannot_be_are_refused_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    file(directory.path());
    for (words, said) in [
        (vec!["--context", "irq", "--modems", "2"], "one modem works in irq here"),
        (vec!["--context", "softirq", "--compute", "6ms"], "at most 5.00 ms in softirq"),
        (vec!["--context", "slots:2/8"], "slots are for virtual time"),
        (vec!["--context", "thread:other", "--cpu", "9999"], "CPU 9999 is not there"),
        (vec!["--competitor", "spin:normal"], "--context"),
        (vec!["--context", "thread:other", "--stall", "1ms@1s"], "--stall"),
        (vec!["--load", "mixed"], "--context"),
        (vec!["--context", "thread:other", "--load", "mixd"], "mixd"),
        (vec!["--modems", "2"], "--context"),
        (vec!["--context", "thread:other", "--modems", "129"], "129"),
        (vec!["--context", "thread:other", "--beside", "audi64"], "audi64"),
        (vec!["--context", "thread:other", "-o", "x.punctual"], "--beside"),
    ] {
        let words = [&["modem", "transfer", "a.gz"], words.as_slice()].concat();
        let output = run(directory.path(), &words);
        assert_eq!((code(&output), stdout(&output).as_str()), (129, ""), "{words:?}");
        assert!(stderr(&output).contains(said) && stderr(&output).starts_with("error: "), "{}", stderr(&output));
    }
}
