//! `punctual forecast` and `punctual schedulability` as whole commands, on made-up recordings.

use crate::support::{self, code, json, run, stderr, stdout};
use punctual_recording::*;
use std::path::Path;

const MS: u64 = 1_000_000;

/// An hour in miniature: a wakeup every 1 ms, each 2,000th of them 6 ms late, one per minute 20 ms late.
fn write(path: &Path, run_id: &str, seconds: u64, lost: u64) {
    let provenance = Provenance {
        run_id: run_id.into(),
        started_ns: 1_000 * MS,
        configuration: Configuration { interval_ns: MS, policy: "fifo".into(), bpf: false, ..Configuration::default() },
        load: LoadInfo { name: "mixed".into(), ..LoadInfo::default() },
        ..Provenance::default()
    };
    let counters = Counters { missed: Some(0), ..Counters::default() };
    let task = Task { measure: "fifo:80".into(), tid: 7, cpu: Some(0), period_ns: MS, counters };
    let mut writer = Writer::create(path, provenance, vec![task]).unwrap();
    let mut index = 0;
    while index < seconds * 1_000 {
        let late = match index {
            _ if index % 60_000 == 30_000 => 20 * MS + 1,
            _ if index % 2_000 == 1_000 => 6 * MS + 1,
            _ => 20_000 + index % 997 * 10,
        };
        let missed = late / MS;
        let wakeup = Wakeup { tid: 7, expected_ns: (1_000 + index) * MS, total_ns: late, missed, ..Wakeup::default() };
        writer.push(0, &wakeup);
        index += 1 + missed;
    }
    writer.set_thread_counts(0, lost, 0, 0);
    writer.flush().unwrap();
    let end = Ended { reason: EndReason::Completed, detail: None, at_ns: (1_000 + seconds * 1_000) * MS };
    writer.finish(end, Vec::new()).unwrap();
}

#[test]
fn devices_hold_or_fail_by_what_was_counted() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a"), "1", 300, 0);
    let answer = json(&run(directory.path(), &["forecast", "a", "--json"]));
    assert_eq!(answer["schema"], "punctual.forecast/1");
    let device = |id: &str| {
        let devices = answer["devices"].as_array().unwrap();
        devices.iter().find(|device| device["device"] == id).unwrap_or_else(|| panic!("no {id}")).clone()
    };
    // 6 ms every two seconds and 20 ms every minute: 155 stalls beyond 4.8 ms, 5 beyond 14 ms, none beyond 57.75 ms.
    assert_eq!((&device("audio256")["over"], &device("audio256")["verdict"]), (&155.into(), &"fails".into()));
    assert_eq!(device("modem")["over"], 5);
    assert_eq!(device("rt-video")["over"], 0);
    assert_eq!(device("rt-video")["verdict"], "unknown");
    assert!(device("rt-video")["mttf_s"]["estimate"].is_null() && device("rt-video")["mttf_s"]["high"].is_null());
    let mttf = device("modem")["mttf_s"]["estimate"].as_f64().unwrap();
    // A device is activated every 8 ms; one activation in 8/7 falls into the 7 ms in which a wakeup would be 14 ms
    // late.
    assert!((mttf - 60.0 * 8.0 / 7.0).abs() < 0.1, "{mttf}");
    assert_eq!(answer["horizons"].as_array().unwrap().len(), 3);

    let text = stdout(&run(directory.path(), &["forecast", "a", "--device", "modem", "--want", "1/day", "--table"]));
    assert!(text.contains("to run dry at most once in"), "{text}");
    assert!(text.contains("Worst cases by stage and load"), "{text}");
}

/// A device of the user's own, which also replaces a shipped one.
const OWN: &str = "[[device]]\nid = \"mixer\"\nperiod = \"5ms\"\nbuffers = 2\ncompute = \"1ms\"\non_miss = \"drop\"\n\
                   [[device]]\nid = \"modem\"\nperiod = \"10ms\"\nbuffers = 2\ncompute = \"1ms\"\non_miss = \"drop\"\n";

/// First what the user named, then today's devices, then the papers', each group under a line that says so.
#[test]
fn devices_stand_under_whose_they_are() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a"), "1", 60, 0);
    std::fs::write(directory.path().join("mine.toml"), OWN).unwrap();
    let mut met = 0;
    for words in [&["device", "list"][..], &["forecast", "a"]] {
        for (own, groups) in
            [(&[][..], &["today", "papers"][..]), (&["--profiles", "mine.toml"], &["named", "today", "papers"])]
        {
            let words = [words, own].concat();
            let answer = json(&run(directory.path(), &[&words[..], &["--json"]].concat()));
            let devices: Vec<(&str, &str)> = (answer["devices"].as_array().unwrap().iter())
                .map(|device| (device["device"].as_str().unwrap(), device["origin"].as_str().unwrap()))
                .collect();
            let mut told: Vec<&str> = devices.iter().map(|(_, origin)| *origin).collect();
            told.dedup();
            assert_eq!(told, groups, "{words:?}");
            for name in ["adsl", "v90"] {
                assert!(devices.contains(&(name, "papers")), "{words:?}");
            }
            assert!(devices.contains(&("audio", "today")), "{words:?}");
            assert_eq!(devices[..2] == [("mixer", "named"), ("modem", "named")], !own.is_empty(), "{words:?}");

            // The text has the same, with each group's line above its first device.
            let text = stdout(&run(directory.path(), &words));
            let firsts: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
            for group in groups {
                let heading = match *group {
                    "named" => "yours:",
                    "today" => "today's:",
                    _ => "the",
                };
                let first = devices.iter().find(|(_, origin)| origin == group).unwrap().0;
                assert!(firsts.windows(2).any(|pair| pair == [heading, first]), "{heading} {first}: {text}");
                met += 1;
            }
        }
    }
    // A user who names devices gets one group, without a line.
    let words = ["forecast", "a", "--device", "v90", "--device", "audio"];
    let answer = json(&run(directory.path(), &[&words[..], &["--json"]].concat()));
    let named: Vec<&str> =
        answer["devices"].as_array().unwrap().iter().map(|device| device["device"].as_str().unwrap()).collect();
    assert_eq!(named, ["v90", "audio"]);
    assert!(!stdout(&run(directory.path(), &words)).contains("yours:"));
    eprintln!("{met} groups of devices");
    assert_eq!(met, 10);
}

/// What holds, what fails, what holds on a condition and what is not known are separate sentences, each of which names
/// a device once.
#[test]
fn each_device_stands_in_one_sentence_of_the_verdict() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a"), "1", 300, 0);
    let devices = ["audio256", "rt-video", "audio64", "voip"];
    let words = devices.iter().flat_map(|device| ["--device", *device]).collect::<Vec<_>>();
    let answer = json(&run(directory.path(), &[&["forecast", "a", "--want", "10s", "--json"], &words[..]].concat()));
    let verdict = answer["verdict"].as_str().unwrap();
    let sentences = verdict.split_inclusive(". ").map(str::trim_end);
    // How many buffers one that fails needs stands before the verdicts.
    let sentences: Vec<&str> = sentences.filter(|sentence| !sentence.contains(" needs ")).collect();
    let mut met = std::collections::BTreeSet::new();
    for device in answer["devices"].as_array().unwrap() {
        let (name, outcome) = (device["device"].as_str().unwrap(), device["verdict"].as_str().unwrap());
        let of = |sentence: &&&str| sentence.split([' ', ',']).any(|word| word == name);
        let [sentence] = sentences.iter().filter(of).collect::<Vec<_>>()[..] else { panic!("{name}: {verdict}") };
        let is = match outcome {
            "fails" => sentence.contains(" fails about every "),
            "holds-as-recorded" => sentence.contains(", but only while conditions stay as recorded."),
            "unknown" => sentence.starts_with("It is too early to say whether "),
            _ => sentence.ends_with(" holds.") || sentence.ends_with(" hold."),
        };
        assert!(is, "{name} {outcome}: {sentence}");
        met.insert(outcome.to_owned());
    }
    eprintln!("{} outcomes: {verdict}", met.len());
    assert!(met.len() >= 2, "{met:?}");
}

/// The text of a forecast, and its `next:` lines.
fn told(directory: &Path, words: &[&str]) -> (String, Vec<String>) {
    let output = run(directory, words);
    assert_eq!(code(&output), 0, "{words:?}: {}", stderr(&output));
    let text = stdout(&output);
    let next = text.lines().filter(|line| line.starts_with("next: ")).map(str::to_owned).collect();
    (text, next)
}

#[test]
fn musicians_get_frames_and_how_many_buffers_would_do() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a b"), "1", 300, 0);
    let words = ["forecast", "a b", "--device", "audio 256@48kHz"];
    let (text, next) = told(directory.path(), &words);
    // (n-1)·t - c is 4.8 ms; the worst wakeup ran 20 ms late.
    let in_frames = "audio: 2 buffers of 256 frames of 48 kHz, 10.7 ms of playing latency; its work may begin 230 frames late; the worst wakeup came 960 frames late";
    assert!(text.contains(in_frames), "{text}");
    assert!(text.contains("  audio: with 533 us (10 %, assumed) of work each; `--compute` gives another\n"), "{text}");
    let command = "`punctual forecast 'a b' --device 'audio 256@48kHz' --want 1/day`";
    assert!(next.len() == 2 && next[1].contains(command), "{next:?}");
    let (text, next) = told(directory.path(), &[&words[..], &["--want", "1/day"]].concat());
    assert!(text.starts_with("Audio needs 5 buffers of 256 frames, as far as 5.0 min can show. "), "{text}");
    // 20 ms fit into the slack of five buffers, and into that of two that are eight times as long.
    let enough = "nothing exceeded 5 buffers of 5.33 ms (256 frames), nor a period of 42.7 ms (2,048 frames) with 2 buffers, but neither is shown";
    assert!(text.contains(enough), "{text}");
    assert!(next.iter().all(|line| !line.contains("says how many buffers would do")), "{next:?}");
    // What makes it late comes first, and of days of measuring the first hour.
    assert!(next.len() == 2 && next[0].contains(" record --why 4.8ms "), "{next:?}");
    assert!(
        next[1].starts_with(
            "next: `sudo punctual record -D 1h --load mixed -o longer-mixed.punctual` measures the first hour "
        ),
        "{next:?}"
    );
    let whole = "then run `punctual forecast 'a b' longer-mixed.punctual --device 'audio 256@48kHz x5' --want 1/day`";
    assert!(next[1].ends_with(whole), "{next:?}");
    let answer = json(&run(directory.path(), &[&words[..], &["--json"]].concat()));
    let units = &answer["devices"][0]["in_units"];
    assert_eq!(
        (&units["unit"], &units["per_second"], &units["per_period"]),
        (&"frame".into(), &48_000.0.into(), &256.0.into())
    );
    // The words are quoted for the shell: the next step can be run as it is.
    let command = next_command(&answer["next"][1]);
    let output = std::process::Command::new("sh")
        .args(["-c", &command])
        .env("PATH", with_punctual())
        .current_dir(directory.path())
        .output()
        .unwrap();
    assert_eq!(code(&output), 0, "{command}: {}", stderr(&output));
}

fn next_command(step: &serde_json::Value) -> String {
    step["command"].as_str().unwrap_or_else(|| panic!("no command: {step}")).to_owned()
}

/// The `PATH` with the program of these tests first.
fn with_punctual() -> std::ffi::OsString {
    let own = Path::new(env!("CARGO_BIN_EXE_punctual")).parent().unwrap().to_owned();
    let rest = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(std::iter::once(own).chain(std::env::split_paths(&rest))).unwrap()
}

#[test]
fn a_loop_is_advised_on_its_period_and_never_on_buffers() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a"), "1", 300, 0);
    for (device, unit, slack) in [("ethercat1ms", "cycles", "0.95"), ("5g-slot", "slots", "0.5")] {
        let advice = if unit == "slots" { "its standard says " } else { "nothing exceeded a period of " };
        let (text, next) = told(directory.path(), &["forecast", "a", "--device", device, "--want", "1/day"]);
        assert!(
            text.contains(&format!("{device}: its work may begin {slack} {unit} late; the worst wakeup came")),
            "{text}"
        );
        assert!(text.contains(&format!("to be late at most once in 24.0 h:\n    {advice}")), "{text}");
        assert!(
            !text.contains("buffers of") && text.contains(&format!(", one {} in ", unit.trim_end_matches('s'))),
            "{text}"
        );
        assert!(!next.is_empty() && next.iter().all(|line| !line.contains("buffers")), "{next:?}");
    }
    let (text, _) = told(directory.path(), &["forecast", "a", "--device", "sdr 1024@2.048MS/s"]);
    assert!(
        text.contains("sdr: 32 buffers of 1,024 samples of 2.048 MHz; its work may begin 31,488 samples late"),
        "{text}"
    );
}

/// A minute of another program's loop of 1 kHz, of which one cycle a second takes 1.5 ms.
fn write_loop(path: &Path) {
    let provenance = Provenance {
        run_id: "1".into(),
        started_ns: 1_000 * MS,
        load: LoadInfo { name: "none".into(), ..LoadInfo::default() },
        ..Provenance::default()
    };
    let measure = "my-loop fifo:80".into();
    let task = Task { measure, tid: 7, cpu: None, period_ns: 0, counters: Counters::default() };
    let mut writer = Writer::create(path, provenance, vec![task]).unwrap();
    writer.followed_mut().period_ns = Some(MS);
    writer.followed_mut().wakers = vec![Waker { kind: WakerKind::Timer, name: "sleep".into(), id: None }];
    for cycle in 0..60_000 {
        let work_ns = Some(if cycle % 1_000 == 7 { 1_450_000 } else { 100_000 + cycle % 997 });
        let (expected_ns, woken_by) = ((1_000 + cycle) * MS, Some(0));
        writer.push(0, &Wakeup { tid: 7, expected_ns, total_ns: 50_000, work_ns, woken_by, ..Wakeup::default() });
    }
    writer.flush().unwrap();
    let end = Ended { reason: EndReason::Completed, detail: None, at_ns: 61_000 * MS };
    writer.finish(end, Vec::new()).unwrap();
}

/// Its user has never heard of the profile that it is judged by.
#[test]
fn a_loop_that_was_followed_is_called_by_its_threads() {
    let directory = tempfile::tempdir().unwrap();
    write_loop(&directory.path().join("a"));
    let (text, _) = told(directory.path(), &["forecast", "a", "--want", "1/day"]);
    assert!(text.contains("A cycle of my-loop fifo:80 takes longer than 1.00 ms about every "), "{text}");
    assert!(text.contains("  my-loop fifo:80, to be late at most once in 24.0 h:\n"), "{text}");
    let takes = "my-loop fifo:80: from when it was due a cycle may take 1.00 ms; the longest took ";
    assert!(text.contains(takes), "{text}");
    assert!(text.contains("overruns  every"), "{text}");
    assert!(!text.contains("own-loop") && !text.contains("runs dry"), "{text}");
}

#[test]
fn what_cannot_be_told_is_measured_as_long_as_it_takes() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a"), "1", 60, 0);
    let words = ["forecast", "a", "--device", "rt-video"];
    let (_, next) = told(directory.path(), &words);
    let further = json(&run(directory.path(), &[&words[..], &["--json"]].concat()));
    let further = further["devices"][0]["measure_further_s"].as_f64().unwrap();
    let hours = format!("{:.1} h", further / 3_600.0);
    assert!(further > 7_200.0 && further < 172_800.0, "{further}");
    assert_eq!(next.len(), 1, "{next:?}");
    let first = format!(
        "`sudo punctual record -D 1h --load mixed -o longer-mixed.punctual` measures the first hour of the {hours} that rt-video "
    );
    assert!(next[0].contains(&first), "{next:?} {further}");
    // What it says to run then can be run once the longer recording is there.
    let quoted: Vec<&str> = next[0].split('`').collect();
    write(&directory.path().join("longer-mixed.punctual"), "2", 60, 0);
    let output = std::process::Command::new("sh")
        .args(["-c", quoted[3]])
        .env("PATH", with_punctual())
        .current_dir(directory.path())
        .output()
        .unwrap();
    assert_eq!(code(&output), 0, "{quoted:?}: {}", stderr(&output));
    assert!(next[0].ends_with("then run `punctual forecast a longer-mixed.punctual --device rt-video`"), "{next:?}");
}

#[test]
fn no_time_is_told_that_no_recording_could_show() {
    let directory = tempfile::tempdir().unwrap();
    let mut intervals = 0;
    for seconds in [2, 3, 4, 8] {
        let name = format!("{seconds}s");
        write(&directory.path().join(&name), "1", seconds, 0);
        let (text, _) = told(directory.path(), &["forecast", &name]);
        // Both limits, or the one that tells something.
        let is_interval = |line: &&str| {
            line.contains('(') && [" to ", " or more)", " or less)"].iter().any(|words| line.contains(words))
        };
        intervals += text.lines().filter(is_interval).count();
        let words: Vec<&str> = text.split_whitespace().collect();
        for years in words.windows(2).filter(|pair| pair[1].starts_with("years")) {
            let number: f64 = years[0].trim_start_matches('(').parse().unwrap();
            assert!(number <= 10.0, "{text}");
        }
    }
    eprintln!("{intervals} intervals");
    assert!(intervals > 10);
}

#[test]
fn runs_of_the_same_follow_one_another_and_one_run_counts_once() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a"), "1", 60, 0);
    write(&directory.path().join("b"), "2", 60, 0);
    let answer = json(&run(directory.path(), &["forecast", "a", "b", "--json"]));
    assert_eq!(answer["exposure_s"].as_f64().unwrap().round(), 120.0);
    let twice = run(directory.path(), &["forecast", "a", "a"]);
    assert_eq!(code(&twice), 1);
    assert!(stderr(&twice).contains("the same run stands there twice"), "{}", stderr(&twice));
}

#[test]
fn what_two_machines_or_kernels_recorded_is_never_added_up() {
    let directory = tempfile::tempdir().unwrap();
    for (name, id, kernel) in [("a", "here", "6.1"), ("b", "there", "6.1"), ("c", "here", "6.12")] {
        write(&directory.path().join(name), name, 10, 0);
        let path = directory.path().join(name).join("recording.json");
        let mut document: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        document["provenance"]["host"]["id"] = id.into();
        document["provenance"]["host"]["kernel_release"] = kernel.into();
        std::fs::write(&path, document.to_string()).unwrap();
    }
    for (other, what) in [("b", "machine"), ("c", "kernel")] {
        let refused = run(directory.path(), &["forecast", "a", other]);
        assert_eq!(code(&refused), 129);
        let expected = format!("{other} was recorded on another {what} than a: forecast from each separately");
        assert!(stderr(&refused).contains(&expected), "{}", stderr(&refused));
        assert_eq!(code(&run(directory.path(), &["forecast", other])), 0);
    }
}

#[test]
fn a_recording_without_wakeups_says_what_it_holds() {
    let directory = tempfile::tempdir().unwrap();
    for (name, kind) in [("gaps", RecordingKind::Gaps), ("log", RecordingKind::Log)] {
        let path = directory.path().join(name);
        drop(Writer::create_of(kind, &path, Provenance::default(), Vec::new()).unwrap());
        for words in [&["forecast", name][..], &["compare", name, name]] {
            let refused = run(directory.path(), words);
            assert_eq!(code(&refused), 1, "{words:?}: {}", stderr(&refused));
            let expected = format!("it holds {}, no wakeup", kind.holds());
            assert!(stderr(&refused).contains(&expected), "{words:?}: {}", stderr(&refused));
        }
    }
}

#[test]
fn a_page_says_where_and_when_its_recordings_were_made() {
    let golden = support::golden();
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("a.html");
    let output = run(&golden, &["forecast", "record.punctual", "--html", page.to_str().unwrap()]);
    if stderr(&output).contains("was built without the script") {
        return support::skip("the page of a forecast", "the program was built without the script of the pages");
    }
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("punctual forecast · machine · 2026-"), "{}", page.chars().take(2_000).collect::<String>());
    assert!(page.contains(" UTC · watched for 1.00 s"));
}

#[test]
fn a_lossy_recording_says_so_first() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a"), "1", 10, 17);
    let text = stdout(&run(directory.path(), &["forecast", "a"]));
    let first = text.lines().take(2).collect::<Vec<_>>().join(" ");
    assert!(first.contains("lost"), "{first}");
}

/// Without privilege it is another priority's forecast, and after Ctrl-Z that of a program that stood still.
#[test]
fn what_the_machine_is_not_to_blame_for_stands_before_the_tables() {
    let directory = tempfile::tempdir().unwrap();
    let priority = "measured at normal priority, not fifo:80 (Operation not permitted)";
    for note in [priority, WAS_STOPPED] {
        let path = directory.path().join("a");
        write(&path, "1", 10, 0);
        let document = path.join("recording.json");
        let text = std::fs::read_to_string(&document).unwrap();
        assert_eq!(text.matches("\"fallbacks\":[]").count(), 1);
        std::fs::write(&document, text.replace("\"fallbacks\":[]", &format!("\"fallbacks\":[\"{note}\"]"))).unwrap();
        let (text, _) = told(directory.path(), &["forecast", "a"]);
        let cautions: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
        assert!(cautions.iter().any(|line| line.starts_with(&format!("! {note}"))), "{text}");
        std::fs::remove_dir_all(&path).unwrap();
    }
}

/// Why a load failed is also trouble with it: a forecast and a comparison say it once, and what it means.
#[test]
fn a_load_that_failed_is_said_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a");
    write(&path, "1", 20, 0);
    let document = path.join("recording.json");
    let mut changed: serde_json::Value = serde_json::from_slice(&std::fs::read(&document).unwrap()).unwrap();
    changed["provenance"]["load"]["failure"] = "stress ended with 1".into();
    changed["provenance"]["load"]["trouble"] = ["stress ended with 1"].as_slice().into();
    std::fs::write(&document, changed.to_string()).unwrap();
    for words in [&["forecast", "a"][..], &["compare", "a", "a"]] {
        let output = run(directory.path(), words);
        let lines: Vec<String> = stdout(&output).lines().map(str::to_owned).collect();
        let said: Vec<&String> = lines.iter().filter(|line| line.contains("stress ended with 1")).collect();
        let expected = "the load failed, so this was not measured under it: stress ended with 1";
        let sides = if words[0] == "compare" { 2 } else { 1 };
        assert!(said.len() == sides && said.iter().all(|line| line.ends_with(expected)), "{words:?}: {said:?}");
    }
}

#[test]
fn wrong_questions_are_one_line() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a"), "1", 2, 0);
    std::fs::write(directory.path().join("tasks.toml"), "[[task]]\nname = \"a\"\nperiod = \"0ms\"\n").unwrap();
    std::fs::write(directory.path().join("profiles.toml"), "[[device]]\nid = \"x\"\ncolour = 1\n").unwrap();
    for (words, expected) in [
        (vec!["forecast", "none"], 1),
        (vec!["forecast", "a", "--device", "submarine"], 129),
        (vec!["forecast", "a", "--device", "modem", "--period", "fast"], 129),
        (vec!["forecast", "a", "--device", "audio", "64@48kHz", "x3"], 129),
        (vec!["forecast", "a", "--device", "modem", "--compute", "1h"], 1),
        (vec!["forecast", "a", "--period", "1ms"], 129),
        (vec!["forecast", "a", "--want", "often"], 129),
        (vec!["forecast", "a", "--horizon", "never"], 129),
        (vec!["forecast", "a", "--compression", "0"], 129),
        (vec!["forecast", "a", "--reliability", "100"], 129),
        (vec!["forecast", "a", "--profiles", "profiles.toml"], 1),
        (vec!["forecast", "a", "--profiles", "none.toml"], 1),
        (vec!["schedulability", "tasks.toml"], 1),
        (vec!["schedulability", "none.toml"], 1),
        (vec!["schedulability", "a/recording.json"], 1),
    ] {
        let output = run(directory.path(), &words);
        assert_eq!(code(&output), expected, "{words:?}: {}{}", stdout(&output), stderr(&output));
        let lines: Vec<String> = stderr(&output).lines().map(str::to_owned).collect();
        assert!(lines[0].starts_with("error: ") && lines.len() <= 2, "{words:?}: {lines:?}");
        let is_unquoted = words.contains(&"64@48kHz");
        assert!(!is_unquoted || lines[0].ends_with("quote both: --device 'audio 64@48kHz x3'"), "{lines:?}");
    }
}

#[test]
fn a_task_set_is_never_charged_the_idle_half_of_a_check_alone() {
    let golden = support::golden();
    let words = |latency| ["schedulability", "../../../../examples/modem-and-audio.toml", "--latency", latency];
    let both = run(&golden, &words("check"));
    assert_eq!(code(&both), 129, "{}", stdout(&both));
    assert!(stderr(&both).contains("several loads (mixed, no load added): name the one"), "{}", stderr(&both));
    assert!(stderr(&both).contains("`--latency check/loaded.punctual` for mixed"), "{}", stderr(&both));
    let loaded = run(&golden, &words("check/loaded.punctual"));
    assert!(stdout(&loaded).contains("under mixed"), "{}{}", stdout(&loaded), stderr(&loaded));
}

#[test]
fn the_example_task_set_breaks_where_it_should() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("a"), "1", 60, 0);
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/modem-and-audio.toml");
    let plain = json(&run(directory.path(), &["schedulability", example, "--json"]));
    assert_eq!(plain["schema"], "punctual.schedulability/1");
    let with = json(&run(directory.path(), &["schedulability", example, "--latency", "a", "--json"]));
    let verdict = with["verdict"].as_str().unwrap();
    let names = ["schedulable on average: `modem`", "; `audio` is late, too"];
    assert!(verdict.starts_with(names[0]) && verdict.ends_with(names[1]), "{verdict}");
    assert_eq!(with["exit_code"], 2, "{verdict}");
    assert_eq!(code(&run(directory.path(), &["schedulability", example, "--latency", "a"])), 2, "{verdict}");
    assert_eq!(code(&run(directory.path(), &["schedulability", example])), 0);
}
