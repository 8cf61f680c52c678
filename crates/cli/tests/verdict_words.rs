//! What the sentences of `forecast` and `compare` rest on, as whole commands on the golden recordings.

mod support;

use support::{code, golden, run, stderr, stdout};

/// What a command answers in the directory of the golden recordings.
fn said(words: &[&str]) -> String {
    let output = run(&golden(), words);
    assert_eq!(code(&output), 0, "{words:?}: {}", stderr(&output));
    stdout(&output)
}

#[test]
fn a_time_of_use_stands_beside_what_it_assumes() {
    let words = ["forecast", "check", "--device", "sdr", "--compression", "5"];
    let text = said(&words);
    let first = text.lines().next().unwrap_or_default();
    let expected =
        "sdr under mixed fails about every 6.00 ms of use, if an hour under mixed stands for 5 hours of use. ";
    assert!(first.starts_with(expected), "{first}");
    assert!(text.contains(" losses a day of use, "), "{text}");
    // How many buffers it needs is for a want that is counted in the same hours.
    let text = said(&[&words[..], &["--want", "1/day"]].concat());
    assert!(text.contains(" buffers of 369 samples to run dry at most once in 24.0 h of use under mixed"), "{text}");
    // Hours that were measured need no word.
    let text = said(&words[..4]);
    assert!(text.starts_with("sdr under mixed fails about every 1.20 ms. "), "{text}");
    assert!(!text.contains(" of use, if ") && text.contains(" losses a day, "), "{text}");
}
