//! Scripts that people run by hand: what they make of the answers of a made-up `punctual`, which answers at once.

use crate::support::{code, skip, stderr, stdout};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// Leaves what a guest with a row of the tables would; one row gives no answer until somebody has mended it.
const TABLES: &str = r#"#!/usr/bin/env python3
import json, os, sys
words = sys.argv[1:]
if words[0] == "sim":
    print(json.dumps({"rows": [{"id": "modem-table3-1-7", "simulated": "insufficient"}]}))
    sys.exit()
out = words[words.index("-o") + 1]
place = out + "/newest/seed-1"
kept = os.path.isdir(place)
os.makedirs(place, exist_ok=True)
is_broken = "hard-2-13" in out and not os.path.exists("mended")
for way in ("rialto", "deadline"):
    for attempt in range(2):
        answer = {"contexts": [{"underruns": attempt if "3-16" in out else 0, "blocks": {"arrived": 160}}]}
        with open(f"{place}/{way}-{attempt}.{'said' if is_broken else 'json'}", "w") as file:
            file.write("error: no room\n" if is_broken else json.dumps(answer))
print(json.dumps({"systems": [{"guests": [{"end": "ran", "kept": kept, "processor_ms": 40000, "said": None}]}]}))
"#;

/// Records nothing, and reports that everything takes three times as long here as in the lab.
const STAGES: &str = r#"#!/usr/bin/env python3
import json, sys
words = sys.argv[1:]
if words[0] == "record":
    open(words[words.index("-o") + 1], "w").close()
elif words[0] == "report":
    times = 3 if "here" in words[1] else 1
    figures = {"count": 10000, "p50_ns": 1500 * times, "p99_ns": 20000 * times, "p99_9_ns": None, "max_ns": 10**6 * times}
    stages = [{"measure": "fifo:80", "stage": stage, "cpu": None, **figures} for stage in ("irq", "total")]
    counts = {"wakeups": 10000, "missed": 0, "unobserved": 1, "lost": 0, "steal_ns": None}
    print(json.dumps({"verdict": "", "stages": stages, **counts}))
else:
    guest = {"recording": "seed-1.punctual", "said": None, "end": "ran"}
    systems = [{"package": "linux 6.12", "guests": [guest]}]
    print(json.dumps({"verdict": "", "modelled": "No caches.", "notes": ["a note"], "systems": systems}))
"#;

/// Finds a reservation for every program, of which the third is late with it; the fourth gets no answer until somebody has mended
/// that. Notes who asked.
const RESERVATIONS: &str = r#"#!/usr/bin/env python3
import json, os, sys
words = sys.argv[1:]
seed = words[words.index("--") + 5]
with open("asked", "a") as asked:
    asked.write(seed + "\n")
reserved = {"budget_ns": 2000000, "period_ns": 10000000}
if words[1] == "run":
    print("5900 3.100" + (" 10.0:10.5" if seed == "3" else ""))
elif seed == "4" and not os.path.exists("mended"):
    print("error: no room")
else:
    judged = {"predicted_by_rule": True, "predicted_by_supply": False, "class": "sufficient", "reservation": reserved}
    trials = [{"setting": "reservation", **judged}]
    print(json.dumps({"recommended": reserved, "found": reserved, "grid": 80, "trials": trials}))
"#;

/// Runs a script in this directory, where `punctual` is this program.
fn run(directory: &Path, script: &str, punctual: &str, words: &[&str]) -> Output {
    let program = directory.join("punctual");
    std::fs::write(&program, punctual).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts").join(script);
    let mut command = Command::new("python3");
    command.arg(script).args(words).current_dir(directory).env("PUNCTUAL", program);
    // What would be compiled is not started by a made-up `punctual`.
    command.env("CC", "true");
    command.output().unwrap()
}

fn has_python() -> bool {
    Command::new("python3").arg("--version").output().is_ok()
}

#[test]
fn the_tables_of_reservations_go_on_with_the_rows_that_gave_no_answer() {
    if !has_python() {
        return skip("the_tables_of_reservations_go_on", "python3 is not installed");
    }
    let directory = tempfile::tempdir().unwrap();
    let words = ["newest", "2", "--attempts", "2", "--keep", "kept"];
    let ask = || run(directory.path(), "rialto-tables", TABLES, &words);
    let first = ask();
    assert_eq!(code(&first), 1, "{}", stderr(&first));
    assert!(
        stderr(&first).contains("hard-2-13: no answer: error: no room (kept/hard-2-13-failed)"),
        "{}",
        stderr(&first)
    );
    assert!(stdout(&first).contains("2/13    sufficient    no answer     -"), "{}", stdout(&first));
    assert!(directory.path().join("kept/hard-2-13-failed/newest/seed-1/rialto-0.said").exists());
    std::fs::write(directory.path().join("mended"), "").unwrap();
    let second = ask();
    let (said, progress) = (stdout(&second), stderr(&second));
    assert_eq!((code(&second), progress.matches("(kept)").count()), (0, 16), "{progress}");
    // Five of the paper's rows are sufficient, and 3/16 is marginal; of the others two are sufficient.
    assert!(said.contains("as in the paper, of 12: rialto 6, SCHED_DEADLINE 6, simulator 0"), "{said}");
    assert_eq!(said.matches("as in the paper, of 5: rialto 3, SCHED_DEADLINE 3, simulator 0").count(), 2, "{said}");
}

#[test]
fn a_scenario_here_and_in_the_lab_is_compared_stage_by_stage() {
    if !has_python() {
        return skip("a_scenario_here_and_in_the_lab", "python3 is not installed");
    }
    let directory = tempfile::tempdir().unwrap();
    let ask = |length: &str| {
        let words = ["--kernel", "6.12", "--keep", "kept", "--", "-D", length];
        run(directory.path(), "here-and-in-the-lab", STAGES, &words)
    };
    let output = ask("10s");
    let said = stdout(&output);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let factors: Vec<&str> = said.lines().filter(|line| line.trim_start().starts_with("times")).collect();
    assert_eq!(factors.len(), 2, "{said}");
    for line in factors {
        assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["times", "3.00", "3.00", "-", "3.00"], "{said}");
    }
    for words in ["record -a 0 -D 10s", "linux 6.12", "No caches.", "note: a note", "way out of a power state"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains("locks that other CPUs hold"), "what no stage shows is not explained: {said}");
    // What was recorded of another scenario is not compared with this one.
    let other = ask("11s");
    assert!(code(&other) == 1 && stderr(&other).contains("holds another scenario"), "{}", stderr(&other));
}

#[test]
fn the_programs_of_reserve_check_fit_into_several_slots() {
    if !has_python() {
        return skip("the_programs_of_reserve_check", "python3 is not installed");
    }
    let directory = tempfile::tempdir().unwrap();
    let ask = |seconds| {
        let words = ["4", seconds, "--count", "2", "--results", "results"];
        run(directory.path(), "reserve-check", RESERVATIONS, &words)
    };
    let asked = || std::fs::read_to_string(directory.path().join("asked")).unwrap().replace('\n', "");
    let rows = |said: &str| said.lines().filter(|line| line.contains("2000us/10000us")).count();
    let first = ask("1");
    assert_eq!((code(&first), rows(&stdout(&first)), asked()), (0, 2, "111222".to_owned()), "{}", stderr(&first));
    assert!(
        stdout(&first).contains("2 of 4 without a result yet: the same command measures the next"),
        "{}",
        stdout(&first)
    );
    assert!(
        stderr(&first).contains("program 2 of 4: ") && stderr(&first).contains(", number 2 of 2 now, about 0 min left")
    );
    // The third is late, and the fourth gives no answer: it is asked again, and nobody else is.
    let second = ask("1");
    assert_eq!(
        (code(&second), rows(&stdout(&second)), asked()),
        (1, 3, "11122233344".to_owned()),
        "{}",
        stderr(&second)
    );
    assert!(stdout(&second).contains("error: no room"), "{}", stdout(&second));
    assert!(stdout(&second).contains("1 of 4 without a result yet"), "{}", stdout(&second));
    assert!(stdout(&second).contains("sufficient over 1 s: 2 of 4;"), "{}", stdout(&second));
    std::fs::write(directory.path().join("mended"), "").unwrap();
    let third = ask("1");
    assert_eq!(
        (code(&third), rows(&stdout(&third)), asked()),
        (1, 4, "11122233344444".to_owned()),
        "{}",
        stderr(&third)
    );
    assert!(
        stdout(&third).contains("sufficient over 1 s: 3 of 4; at most 1.25 times the smallest: 4;"),
        "{}",
        stdout(&third)
    );
    assert!(!stdout(&third).contains("without a result yet"), "{}", stdout(&third));
    // With everything there, nothing is measured; results of other settings are not mixed with these.
    assert_eq!((rows(&stdout(&ask("1"))), asked().len()), (4, 14));
    let other = ask("2");
    assert!(code(&other) == 1 && stderr(&other).contains("holds results of other settings"), "{}", stderr(&other));
}
