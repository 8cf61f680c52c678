//! `punctual modem transfer --context`: a file that a thread of this machine receives, in real time.

mod support;

use support::{code, json, run, stderr, stdout};

fn file(directory: &std::path::Path) {
    let bytes: Vec<u8> = (0..3_000u32).map(|place| ((place * place) >> 3) as u8).collect();
    std::fs::write(directory.join("a.gz"), bytes).unwrap();
}

#[test]
fn a_file_arrives_exact_in_each_context_of_a_thread() {
    let directory = tempfile::tempdir().unwrap();
    file(directory.path());
    let all = [("thread:24", 1), ("reservation:4/8", 1), ("thread:other", 0)];
    // Each takes the time of a call.
    let some = if support::tests_all() { &all[..] } else { &all[..2] };
    for &(context, competitors) in some {
        let mut words = vec!["modem", "transfer", "a.gz", "--attempts", "1", "--json", "--context", context];
        words.extend(["--competitor", "spin:normal"].iter().take(2 * competitors));
        let output = run(directory.path(), &words);
        if stderr(&output).contains("not permitted") || stderr(&output).contains("may not") {
            let name = "a_file_arrives_exact_in_each_context_of_a_thread";
            punctual_testing::skip(name, format!("{context}: {}", stderr(&output)));
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
        // However busy the machine: what arrived is accounted for, and nothing wrong arrives.
        assert_eq!(answer["exit_code"], code(&output), "{answer}");
        let arrived = attempt["ending"] == "arrived";
        assert_eq!(attempt["exact"].as_bool(), Some(arrived), "{answer}");
        assert_eq!(code(&output), i32::from(!arrived), "{answer}");
        let pending: u64 = beside["pending"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(pending, of(beside, "activations"), "{answer}");
        assert!(of(beside, "activations") > 100, "{answer}");
        if !arrived {
            assert!(of(attempt, "underruns") + of(attempt, "lost_samples") > 0, "{answer}");
            continue;
        }
        assert_eq!(of(attempt, "received_bytes"), 3_000);
        // At least the processor time of each block.
        assert!(of(beside, "executed_ns") >= of(beside, "activations") * 1_840_000, "{answer}");
    }
}

#[test]
fn contexts_that_cannot_be_are_refused_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    file(directory.path());
    for (words, said) in [
        (vec!["--context", "irq"], "does not run in irq here"),
        (vec!["--context", "softirq"], "does not run in softirq here"),
        (vec!["--context", "slots:2/8"], "slots are for virtual time"),
        (vec!["--context", "thread:other", "--cpu", "9999"], "CPU 9999 is not one"),
        (vec!["--competitor", "spin:normal"], "--context"),
        (vec!["--context", "thread:other", "--stall", "1ms@1s"], "--stall"),
    ] {
        let words = [&["modem", "transfer", "a.gz"], words.as_slice()].concat();
        let output = run(directory.path(), &words);
        assert_eq!((code(&output), stdout(&output).as_str()), (129, ""), "{words:?}");
        assert!(stderr(&output).contains(said) && stderr(&output).starts_with("error: "), "{}", stderr(&output));
    }
}
