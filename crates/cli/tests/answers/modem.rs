//! `punctual modem` as whole commands.

use crate::support::{code, json, run, stderr, stdout};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn file(directory: &std::path::Path, length: usize) {
    let bytes: Vec<u8> = (0..length).map(|place| ((place * place) >> 3) as u8).collect();
    std::fs::write(directory.join("a.gz"), bytes).unwrap();
}

#[test]
fn a_file_arrives_and_the_same_seed_gives_the_same_answer() {
    let directory = tempfile::tempdir().unwrap();
    file(directory.path(), 3_000);
    let words = ["modem", "transfer", "a.gz", "--attempts", "2", "--stall", "80ms@2s", "--json"];
    let output = run(directory.path(), &words);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = json(&output);
    assert_eq!(answer["schema"], "punctual.modem-transfer/1");
    let attempts = answer["attempts"].as_array().unwrap();
    assert_eq!((attempts.len(), answer["successes"].as_u64()), (2, Some(2)));
    for attempt in attempts {
        let of = |name: &str| attempt[name].as_u64().unwrap();
        assert_eq!((attempt["exact"].as_bool(), of("received_bytes")), (Some(true), 3_000));
        assert!(of("stalls") > 0 && of("underruns") >= of("stalls") && of("retrains") > 0, "{attempt}");
    }
    assert_eq!(stdout(&run(directory.path(), &words)), stdout(&output));
}

/// The file arrives without a retrain, and the answer says what the law was.
#[test]
fn a_file_arrives_over_each_law() {
    let directory = tempfile::tempdir().unwrap();
    file(directory.path(), 2_000);
    let words = ["modem", "transfer", "a.gz", "--attempts", "1"];
    let mut met = 0;
    for (law, named, told) in [("mu", Some("mu"), "u-law"), ("a", Some("a"), "A-law"), ("none", None, "not companded")]
    {
        let options = [&words[..], &["--law", law]].concat();
        let output = run(directory.path(), &[&options[..], &["--json"]].concat());
        assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
        let answer = json(&output);
        assert_eq!((&answer["how"]["law"], &answer["how"]["companded"]), (&named.into(), &named.is_some().into()));
        let attempt = &answer["attempts"][0];
        assert_eq!((attempt["exact"].as_bool(), attempt["retrains"].as_u64()), (Some(true), Some(0)), "{attempt}");
        let text = stdout(&run(directory.path(), &options));
        assert!(text.contains(told), "{text}");
        met += 1;
    }
    assert_eq!(met, 3);
}

/// A far end whose clock runs ahead or behind: the file arrives without a retrain or a damaged frame.
#[test]
fn a_file_arrives_from_an_end_with_another_clock() {
    let directory = tempfile::tempdir().unwrap();
    file(directory.path(), 5_000);
    let words = ["modem", "transfer", "a.gz", "--attempts", "1", "--drift-ppm"];
    let mut met = 0;
    for (ppm, told) in [(500, "its clock 500 ppm faster"), (-200, "its clock 200 ppm slower")] {
        let ppm_text = ppm.to_string();
        let options = [&words[..], &[&ppm_text]].concat();
        let answer = json(&run(directory.path(), &[&options[..], &["--json"]].concat()));
        assert_eq!(answer["how"]["drift_ppm"], ppm);
        let attempt = &answer["attempts"][0];
        assert_eq!((&attempt["exact"], &attempt["retrains"]), (&true.into(), &0.into()), "{attempt}");
        assert_eq!((&attempt["crc_errors"], &attempt["far_crc_errors"]), (&0.into(), &0.into()), "{attempt}");
        let text = stdout(&run(directory.path(), &options));
        assert!(text.contains(told), "{text}");
        met += 1;
    }
    assert_eq!(met, 2);
    // The symbol clock follows no further.
    for ppm in ["501", "-501"] {
        let output = run(directory.path(), &[&words[..], &[ppm]].concat());
        let said = stderr(&output);
        assert!(code(&output) == 129 && said.contains("is not from -500 to 500"), "{said}");
    }
}

#[test]
fn taps_leave_a_call_of_virtual_time_as_it_is_and_a_share_is_no_number_of_them() {
    let directory = tempfile::tempdir().unwrap();
    file(directory.path(), 300);
    let words = ["modem", "transfer", "a.gz", "--attempts", "1"];
    let answers = [&[][..], &["--taps", "1024"]].map(|taps| {
        let output = run(directory.path(), &[&words[..], taps, &["--json"]].concat());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        json(&output)
    });
    assert_eq!(answers[0]["attempts"], answers[1]["attempts"]);
    assert_eq!(answers.each_ref().map(|answer| answer["how"]["taps"].as_u64()), [Some(128), Some(1_024)]);
    for (taps, more, said) in [
        ("14.7%", &[][..], "a share of a CPU is measured on this machine"),
        ("1000", &[], "a multiple of 128 up to 65536"),
        ("65664", &[], "a multiple of 128 up to 65536"),
        ("128", &["--pump", "v22bis"], "--taps are those of punctual's own datapump"),
    ] {
        let output = run(directory.path(), &[&words[..], &["--taps", taps], more].concat());
        assert_eq!(code(&output), 129, "{taps}: {}", stderr(&output));
        assert!(stderr(&output).contains(said), "{taps}: {}", stderr(&output));
    }
}

#[test]
fn a_call_that_comes_to_nothing_says_where_and_fails() {
    let directory = tempfile::tempdir().unwrap();
    file(directory.path(), 100);
    let output = run(directory.path(), &["modem", "transfer", "a.gz", "--attempts", "2", "--slots", "1/60"]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    assert!(stdout(&output).starts_with("None of 2 attempts arrived.\n"), "{}", stdout(&output));
    assert!(stdout(&output).contains("2 of 2: the exchange did not understand the number"), "{}", stdout(&output));
}

#[test]
fn files_that_cannot_be_sent_are_one_clear_line() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("empty"), "").unwrap();
    assert!(Command::new("mkfifo").arg(directory.path().join("pipe")).status().unwrap().success());
    std::fs::File::create(directory.path().join("large")).unwrap().set_len(10_000_001).unwrap();
    for (name, said) in [
        ("none", "error: cannot read none: No such file or directory\n"),
        ("empty", "error: empty is empty: give a file with something in it\n"),
        ("large", "error: large is larger than 10 MB, the most that can be sent\n"),
        (".", "error: cannot read .: is a directory\n"),
        ("pipe", "error: cannot read pipe: it is a pipe, a socket or a device, not a file\n"),
    ] {
        let output = run(directory.path(), &["modem", "transfer", name]);
        assert_eq!((code(&output), stderr(&output).as_str()), (1, said), "{name}");
    }
}

#[test]
fn a_files_name_steers_no_terminal() {
    let directory = tempfile::tempdir().unwrap();
    file(directory.path(), 100);
    std::fs::rename(directory.path().join("a.gz"), directory.path().join("a\u{1b}[2J")).unwrap();
    let output = run(directory.path(), &["modem", "transfer", "a\u{1b}[2J", "--attempts", "1"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("a\u{fffd}[2J, 100 bytes"), "{}", stdout(&output));
}

#[test]
fn the_table_of_stalls_has_a_row_for_each_length_and_direction() {
    let directory = tempfile::tempdir().unwrap();
    let output = run(directory.path(), &["modem", "stalls", "--lengths", "8ms,30ms", "--calls", "1", "--json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = json(&output);
    let rows = answer["rows"].as_array().unwrap();
    let found: Vec<_> = rows.iter().map(|row| (row["stall_ns"].as_u64(), row["unharmed"].as_u64())).collect();
    assert_eq!(found, [(Some(8_000_000), Some(1)), (Some(30_000_000), Some(0))].repeat(2));
}

#[test]
fn our_own_modem_is_judged_without_any_library() {
    let directory = tempfile::tempdir().unwrap();
    let output =
        run(directory.path(), &["modem", "judge", "--modem", "9600", "--calls", "1", "--losses", "12.5ms,100ms"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.starts_with("The line carries QAM 9600 of punctual without an error from "), "{text}");
    assert!(text.contains("wrong bits by noise below the signal"), "{text}");
}

#[test]
fn the_modems_of_spandsp_are_judged_or_said_to_be_missing() {
    let directory = tempfile::tempdir().unwrap();
    let words = ["modem", "judge", "--modem", "v29,9600", "--calls", "1", "--losses", "12.7ms", "--json"];
    let output = run(directory.path(), &words);
    let answer = json(&output);
    if let Some(error) = answer["error"].as_str() {
        assert_eq!(code(&output), 1);
        assert!(error.contains("libspandsp2") && error.contains("--modem 4800,9600,14400"), "{error}");
        punctual_testing::skip("modem judge with spandsp", error);
        return;
    }
    assert_eq!((code(&output), answer["schema"].as_str()), (0, Some("punctual.modem-judge/1")), "{answer}");
    let modems = answer["modems"].as_array().unwrap();
    let makers: Vec<_> = modems.iter().map(|modem| modem["maker"].as_str().unwrap()).collect();
    assert_eq!(makers, ["spandsp", "punctual"]);
    for modem in modems {
        let bits: u64 = modem["noise"].as_array().unwrap().iter().map(|row| row["bits"].as_u64().unwrap()).sum();
        let from = modem["flawless_from_db"].as_f64().unwrap();
        assert!(bits > 100_000 && (15.0..27.0).contains(&from), "{modem}");
        assert!(modem["cost"]["answers"]["least_ns"].as_f64() > Some(0.0), "{modem}");
    }
    // V.29 sends one way: nobody trains it again.
    let loss = |place: usize, name: &str| modems[place]["losses"][0][name].as_u64();
    assert_eq!([loss(0, "recovered"), loss(1, "recovered"), loss(1, "retrained")], [Some(0), Some(1), Some(1)]);
}

#[test]
fn a_file_arrives_over_the_pump_of_spandsp_or_that_is_said_to_be_missing() {
    let directory = tempfile::tempdir().unwrap();
    file(directory.path(), 500);
    let words = ["modem", "transfer", "a.gz", "--attempts", "1", "--pump", "v22bis", "--json"];
    let output = run(directory.path(), &words);
    let answer = json(&output);
    if let Some(error) = answer["error"].as_str() {
        assert_eq!(code(&output), 1);
        assert!(error.contains("libspandsp2"), "{error}");
        punctual_testing::skip("modem transfer over spandsp", error);
        return;
    }
    assert_eq!((code(&output), answer["pump"].as_str()), (0, Some("V.22bis of spandsp")), "{answer}");
    let attempt = &answer["attempts"][0];
    assert_eq!((attempt["exact"].as_bool(), attempt["received_bytes"].as_u64()), (Some(true), Some(500)));
}

/// The reason does not depend on whether the library is installed.
#[test]
fn no_interrupt_runs_the_pump_of_a_library() {
    let directory = tempfile::tempdir().unwrap();
    file(directory.path(), 500);
    let mut met = 0;
    for words in [&["modem", "transfer", "a.gz", "--pump", "v22bis"], &["device", "run", "modem", "--work", "spandsp"]]
    {
        for context in ["irq", "softirq"] {
            let output = run(directory.path(), &[&words[..], &["--context", context]].concat());
            let said = stderr(&output);
            assert_eq!(code(&output), 129, "{words:?}: {said}");
            let why = "code for user space, which no interrupt can run: give --context thread:80";
            assert!(said.contains(why), "{words:?}: {said}");
            met += 1;
        }
    }
    assert_eq!(met, 4);
    for (words, why) in [
        (&["reserve", "modem", "--work", "spandsp"][..], "run`, `mix` and `verify` only: give decode or filter"),
        (&["device", "run", "modem", "--work", "spandsp", "--phases", "64@8kHz"][..], "--phases goes with the filter"),
    ] {
        let output = run(directory.path(), words);
        assert_eq!(code(&output), 129, "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(why), "{words:?}: {}", stderr(&output));
    }
}

#[test]
fn who_interrupts_it_keeps_the_attempts_that_are_over() {
    let directory = tempfile::tempdir().unwrap();
    file(directory.path(), 2_000);
    let words = ["modem", "transfer", "a.gz", "--attempts", "1000", "--json"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    let child = command.current_dir(directory.path()).args(words).stdout(Stdio::piped()).spawn().unwrap();
    // Once it handles the signal; bit 1 of those that it catches.
    let status = format!("/proc/{}/status", child.id());
    let listens = || {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 2 != 0)
    };
    let began = Instant::now();
    while !listens() {
        assert!(began.elapsed() < Duration::from_secs(60), "it never listened to the signal");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(700));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let answer = json(&output);
    assert_eq!((code(&output), answer["interrupted"].as_bool()), (1, Some(true)), "{answer}");
    let attempts = answer["attempts"].as_array().unwrap();
    assert!(attempts.len() < 1_000, "{}", attempts.len());
    assert!(attempts.iter().all(|attempt| attempt["exact"] == true), "{answer}");
}

#[test]
fn a_row_of_the_papers_tables_is_stored_and_taken_up_again() {
    let directory = tempfile::tempdir().unwrap();
    let words =
        ["modem", "study", "--table", "3", "--row", "3/15", "--row", "3/17", "--bytes", "300", "--attempts", "2"];
    let stored = [&words[..], &["-o", "study", "--json"]].concat();
    let output = run(directory.path(), &stored);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = json(&output);
    assert_eq!((answer["schema"].as_str(), answer["kept"].as_u64()), (Some("punctual.modem-study/1"), Some(0)));
    let rows = answer["rows"].as_array().unwrap();
    let of = |row: usize, name: &str| rows[row][name].as_str().unwrap().to_owned();
    assert_eq!(
        [of(0, "id"), of(0, "class"), of(1, "id"), of(1, "class")],
        ["res-3-15", "sufficient", "res-3-17", "insufficient"]
    );
    assert_eq!((rows[0]["successes"].as_u64(), rows[0]["paper"]["successes"].as_u64()), (Some(2), Some(10)));
    assert_eq!(rows[0]["attempts"].as_array().unwrap().len(), 2);
    // Again: nothing is computed, and the answer is the same.
    let again = json(&run(directory.path(), &stored));
    assert_eq!((again["kept"].as_u64(), &again["rows"]), (Some(5), &answer["rows"]));
    let kept = [&words[..], &["-o", "study"]].concat();
    let output = run(directory.path(), &[&kept[..], &["--seed", "2"]].concat());
    let said = "error: study holds a study of another file, seed or version: choose another directory with -o\n";
    assert_eq!((code(&output), stderr(&output).as_str()), (1, said));
    // For people: the verdict first, the next step last.
    let text = stdout(&run(directory.path(), &kept));
    assert!(text.starts_with("2 of 2 rows come out as in the paper"), "{text}");
    assert!(text.lines().last().unwrap().starts_with("next: `"), "{text}");
}
