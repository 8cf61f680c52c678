//! Whole commands that need no privilege: bad input, help, generated files.

mod support;

use support::{code, json, run, stderr, stdout};

/// What nobody should write.
const WRONG: &[&[&str]] = &[
    &["record", "-i", "0"],
    &["record", "-i", "1"],
    &["record", "-i", "abc"],
    &["record", "-i", "2h"],
    &["record", "-i", "0.0001Hz"],
    &["record", "-i", "256@48"],
    &["record", "-i", "256/48000"],
    &["record", "--pid", "game-server"],
    &["record", "--tid", "0"],
    &["record", "-D", "0"],
    &["record", "-D", "abc"],
    &["record", "-p", "100"],
    &["record", "-p", "0"],
    &["record", "-p", "high"],
    &["record", "--policy", "x"],
    &["record", "--policy", "other", "-p", "5"],
    &["record", "--policy", "deadline", "-i", "5s"],
    &["record", "--via", "softirq", "--no-bpf"],
    &["record", "--load", "lots"],
    &["record", "--load", "offce"],
    &["load", "show", "mixd"],
    &["drill", "softrq"],
    &["record", "--limit", "p200=1"],
    &["record", "--limit", "max"],
    &["record", "-b", "0"],
    &["record", "-b", "5"],
    &["record", "-a", "x"],
    &["record", "-a", "3-1"],
    &["record", "-m", "-p", "80"],
    &["record", "-l", "10000"],
    &["record", "-t4"],
    &["record", "--smp", "-p", "95"],
    &["record", "--loops=10000"],
    &["record", "-d", "0"],
    &["record", "-h", "400"],
    &["record", "-D", "1", "-h400", "--json"],
    &["record", "-D", "1s", "--hist", "--export-markdown", "a.md"],
    &["why", "a.punctual", "--folded", "--export-markdown", "a.md"],
    &["interact", "--display", "--", "true"],
    &["interact", "install", "wrd"],
    &["interact", "--limit", "key:p99=16ms,entr:max=1s", "--", "true"],
    &["interact", "--patience", "save=1s", "--", "true"],
    &["interact", "--pace", "human,human", "--", "true"],
    &["interact", "--pace", "human,full,recorded", "--", "true"],
    &["interact", "--pace", "human,full", "--limit", "key:p99=16ms", "--", "true"],
    &["interact", "--pace", "human,recorded", "--", "true"],
    &["interact", "--repeat", "2", "--", "true"],
    &["interact", "--releases", "--", "true"],
    &["interact", "--via", "x11", "--display", "--releases", "--", "true"],
    &["interact", "--limit", "press:p99=16ms", "--", "true"],
    &["record", "stray"],
    &["record", "--wrong"],
    &["record", "--why", "1ms", "--why-stage", "response"],
    &["record", "--why", "p100"],
    &["record", "--why", "pq"],
    &["record", "--why", "0"],
    &["record", "--why", "20"],
    &["why"],
    &["why", "--explain", "sofirq"],
    &["why", "--explain", "irq", "--episode", "1"],
    &["check", "-D", "-5"],
    &["check", "-D", "1ms"],
    &["compare", "--repeat", "1", "--a", "-i 2ms"],
    &["compare", "--repeat", "1", "--b", "-p high"],
    &["compare", "--repeat", "1", "--a", "true", "--a", "false"],
    &["compare", "a", "b", "c", "--device", "modm"],
    &["record", "--period", "1ms"],
    &["record", "--comm", "x", "--period", "1"],
    &["record", "--comm", "x", "--limit", "cycle:max=1"],
    &["record", "--limit", "response:max=1ms"],
    &["record", "--comm", "x", "--limit", "respons:max=1ms"],
    &["check", "--device", "audio46"],
    &["check", "--profiles", "mine.toml"],
    &["check", "--want", "1/day"],
    &["check", "--device", "audio", "--want", "1"],
    &["report"],
    &["report", "a", "--csv", "--json"],
    &["recrod"],
    &["record", "--polcy", "fifo"],
    &["device", "show", "audio46"],
    &["device", "show", "audio 64@48"],
    &["device", "show", "audio 64"],
    &["device", "show", "64"],
    &["device", "show", "sdr 1ms compute=0.4"],
    &["device", "show", "audio 256 3@48kHz"],
    &["device", "show", "audio 256x3@48kHz"],
    &["device", "show", "pipewire 256/48000"],
    &["device", "show", "1kHz"],
    &["device", "show", "64@48kHz"],
    &["device", "show", "audio want=1"],
    &["modem", "transfer", "a", "--stall", "60ms"],
    &["modem", "transfer", "a", "--slots", "13/2"],
    &["modem", "transfer", "a", "--rate", "33600"],
    &["modem", "stalls", "--lengths", "5ms,11s"],
    &["reserve", "run", "280/500", "--", "true"],
    &["reserve", "--deadline", "1", "--", "true"],
    &["modem", "study", "--table", "4"],
    &["modem", "judge", "--modem", "v34"],
    &["modem", "judge", "--losses", "12"],
    &["modem", "study", "--table", "3", "--row", "thr 8"],
    &["lab", "kernels", "9.9"],
    &["lab", "run", "--kernel", "9.9", "--", "record"],
    &["lab", "run", "--kernel", "6.12", "--", "recrod"],
    &["lab", "run", "--kernel", "6.12", "--", "lab", "kernels"],
    &["lab", "run", "--kernel", "6.12", "--seeds", "3..1", "--", "record"],
    &["lab", "run", "--kernel", "6.12", "--kernel", "6.12", "--", "record"],
    &["lab", "run", "--kernel", "6.12", "--cpus", "2", "--", "record"],
    &["lab", "why", "--kernel", "6.12,nr_cpus=2", "--", "record"],
    &["lab", "run", "--kernel", "6.12", "--", "record", "-a", "0-3"],
];

/// Every wrong usage: one line that says what is wrong, one hint, exit code 129, and nothing written.
#[test]
fn wrong_usage_is_one_clear_line() {
    let directory = tempfile::tempdir().unwrap();
    let mut said = String::new();
    for words in WRONG {
        let output = run(directory.path(), words);
        assert_eq!(code(&output), 129, "{words:?}");
        let error = stderr(&output);
        // One of them asks for --json.
        let error = if error.is_empty() { json(&output)["error"].to_string() } else { error };
        assert!(error.lines().count() <= 2, "{words:?}: {error}");
        said += &format!("$ punctual {}\n{}\n", words.join(" "), error.trim_end());
    }
    insta::assert_snapshot!(said);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "wrong usage wrote something");
}

/// Misspelt names of everything that has names, and what was meant.
const MISSPELT: &[(&[&str], &str)] = &[
    (&["recrod"], "record"),
    (&["sim", "runn"], "run"),
    (&["sim", "run", "nt-timer-table3"], "nt-timers-table3"),
    (&["sim", "run", "soft-modem-dialup", "--case", "THR 42"], "THR 24"),
    (&["sim", "run", "soft-modem-dialup", "--case", "THR 42", "--sweep", "runs=1..2"], "THR 24"),
    (&["sim", "timeline", "soft-modem-dailup", "--html", "t.html"], "soft-modem-dialup"),
    (&["sim", "timeline", "soft-modem-dialup", "--case", "THR 42", "--html", "t.html"], "THR 24"),
    (&["sim", "whatif", "--device", "modm"], "modem"),
    (&["device", "show", "audio46"], "audio64"),
    (&["device", "run", "audio46"], "audio64"),
    (&["device", "mix", "modem,audio46"], "audio64"),
    (&["device", "study", "audio46"], "audio64"),
    (&["device", "run", "modem", "--context", "softrq"], "softirq"),
    (&["device", "run", "modem", "--context", "interrupt"], "irq"),
    (&["device", "run", "modem", "--context", "hardirq"], "irq"),
    (&["device", "run", "modem", "--context", "thread"], "thread:80"),
    (&["device", "run", "modem", "--context", "fifo:70"], "thread:70"),
    (&["device", "mix", "modem+threat:80"], "thread:80"),
    (&["modem", "transfer", "a", "--context", "reservaton:2/8"], "reservation"),
    (&["reserve", "modem", "--context", "thraed:80"], "thread:80"),
    (&["sim", "whatif", "--device", "modem", "--context", "slot:2/8"], "slots:2/8"),
    (&["check", "--device", "audio46"], "audio64"),
    (&["forecast", "a", "--device", "audio46"], "audio64"),
    (&["reserve", "audio46"], "audio64"),
    (&["record", "--load", "offce"], "office"),
    (&["record", "--load", "compile"], "workstation"),
    (&["load", "show", "mixd"], "mixed"),
    (&["load", "run", "mixd"], "mixed"),
    (&["load", "install", "mixd"], "mixed"),
    (&["drill", "softrq"], "softirq"),
    (&["why", "--explain", "sofirq"], "softirq"),
    (&["interact", "--script", "edtor", "--", "true"], "editor"),
    (&["interact", "install", "wrd"], "word"),
    (&["timers", "--way", "timrfd"], "timerfd"),
    (&["timers", "--clock", "monotnic"], "monotonic"),
    (&["log", "--events", "all,sofirq"], "softirq"),
    (&["report", "a", "--interarrival", "1ms", "--stage", "sofirq"], "softirq"),
    (&["report", "a", "--limit", "respons:max=1ms"], "response"),
    (&["record", "--comm", "x", "--period", "1ms", "--limit", "cylce:max=1ms"], "cycle"),
    (&["modem", "study", "--row", "res 3/61"], "res-3-16"),
    (&["lab", "kernels", "6.12-tr"], "6.12-rt"),
    (&["lab", "run", "--kernel", "6.12-tr", "--", "record"], "6.12-rt"),
    (&["lab", "run", "--kernel", "6.12", "--", "recrod"], "record"),
    (&["capabilities", "fligt recorder"], "flight recorder"),
    (&["completions", "bsah"], "bash"),
    (&["log", "sho", "a"], "show"),
    (&["interact", "lern"], "learn"),
    (&["reserve", "unod"], "undo"),
    (&["reserve", "lsit"], "list"),
    (&["help", "recrod"], "record"),
];

/// Options and words as other programs have them, and what stands in the hint for each.
const FROM_ELSEWHERE: &[(&[&str], &str)] = &[
    (&["compare", "a", "b", "--export-json", "a.json"], "`--json` prints the answer as JSON"),
    (&["report", "a", "--export-csv", "a.csv"], "`punctual report RECORDING --csv`"),
    (&["record", "--affinity", "1"], "--affinity is -a here"),
    (&["record", "--prio=80"], "--prio is -p here"),
    (&["record", "--breaktrace", "100"], "--breaktrace is -b here"),
    (&["record", "-N"], "-N is not needed here"),
    (&["record", "--laptop"], "--laptop is --no-power-request here"),
    (&["record", "-H", "400"], "cyclictest's -H is `--hist` here"),
    (&["record", "--histogram=400"], "cyclictest's -h 400 is `--hist` here"),
    (&["record", "--histfile=a.hist"], "`--hist > FILE`"),
    (&["record", "-r"], "`punctual timers --way nanosleep-relative`"),
    (&["record", "-x"], "`punctual timers --way posix-signal`"),
    (&["record", "-R"], "`punctual timers`"),
    (&["record", "-M"], "-M is not needed here"),
    (&["record", "-u"], "-u is not needed here"),
    (&["record", "--latency=0"], "--latency is not needed here"),
    (&["record", "--default-system"], "--default-system is --no-power-request here"),
    (&["record", "--tracemark", "-b", "100"], "--tracemark is --why here"),
    (&["record", "--spike=200"], "--spike is --why here"),
    (&["record", "--device", "audio 64@48kHz"], "`punctual check --device` measures for a device"),
    (&["report", "a", "--device", "audio"], "`punctual forecast RECORDING --device` judges"),
    (&["check", "--frames", "64", "--rate", "48000"], "`--device 'audio 64@48kHz x3'` of check and forecast"),
    (&["record", "--rate=48000"], "`-i 64@48kHz` of record"),
    (&["forecast", "a", "--nperiods", "3"], "frames, rate and buffers are written together"),
    (&["reserve", "run", "450us/1ms", "./radio", "1"], "the command goes after `--`"),
    (&["reserve", "run", "450us/1ms", "lsit"], "the command goes after `--`"),
    (&["reserve", "--undo"], "`punctual reserve undo` restores the threads"),
    (&["reserve", "--pid", "1", "--list"], "`punctual reserve list` lists the threads"),
];

/// Each is wrong usage, and its hint names what does the same here.
#[test]
fn an_option_of_another_program_is_answered_by_the_one_that_does_it_here() {
    let directory = tempfile::tempdir().unwrap();
    for (words, instead) in FROM_ELSEWHERE {
        let output = run(directory.path(), words);
        let said = stderr(&output);
        assert_eq!(code(&output), 129, "{words:?}: {said}");
        let hint = said.lines().nth(1).unwrap_or_default();
        assert!(hint.starts_with("hint: ") && hint.contains(instead), "{words:?}: {said}");
        assert!(!said.contains("did you mean") && said.lines().count() == 2, "{words:?}: {said}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "wrong usage wrote something");
}

/// Each is wrong usage, said in one line, and the nearest name is given, in JSON too.
#[test]
fn a_misspelt_name_is_answered_by_the_one_that_was_meant() {
    let directory = tempfile::tempdir().unwrap();
    for (words, meant) in MISSPELT {
        let meant = format!("did you mean `{meant}`?");
        let output = run(directory.path(), words);
        let said = stderr(&output);
        assert_eq!(code(&output), 129, "{words:?}: {said}");
        let lines: Vec<&str> = said.lines().collect();
        assert!(lines[0].starts_with("error: ") && lines.len() <= 2 && said.contains(&meant), "{words:?}: {said}");
        let output = run(directory.path(), &[&["--json"][..], *words].concat());
        let answer = json(&output);
        assert_eq!((code(&output), &answer["exit_code"]), (129, &129.into()), "{words:?}: {answer}");
        let parts = ["error", "hint"].map(|part| answer[part].as_str().unwrap_or_default().contains(&meant));
        assert!(parts[0] || parts[1], "{words:?}: {answer}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "wrong usage wrote something");
}

/// A root shell needs no `sudo`, and may have none; whoever used it to start the program needs it again. JSON, pages and Markdown
/// go to others.
#[test]
fn commands_are_printed_as_their_reader_types_them() {
    let directory = tempfile::tempdir().unwrap();
    let (page, file) = (directory.path().join("page.html"), directory.path().join("answer.md"));
    let told = |words: &[&str], is_shell_of_root: bool| {
        let mut command = support::punctual();
        for name in ["DOAS_USER", "PKEXEC_UID"] {
            command.env_remove(name);
        }
        if is_shell_of_root {
            command.env_remove("SUDO_COMMAND");
        }
        command.current_dir(support::golden()).args(words).output().unwrap()
    };
    let is_root = punctual_kernel::capabilities::is_root();
    for is_shell_of_root in [false, true] {
        let sudo = if is_root && is_shell_of_root { "" } else { "sudo " };
        let answer =
            |more: &[&str]| stdout(&told(&[&["report", "idle.punctual"][..], more].concat(), is_shell_of_root));
        let has = |text: &str, expected: &str| assert!(text.contains(expected), "no {expected}: {text}");
        has(&answer(&[]), &format!("next: `{sudo}punctual idle "));
        let error = stderr(&told(&["why", "record.punctual"], is_shell_of_root));
        has(&error, &format!("as in `{sudo}punctual record --why 500us"));
        // To others.
        has(&answer(&["--markdown"]), "`sudo punctual idle ");
        has(&answer(&["--json"]), "\"sudo punctual idle ");
        let files = ["--html", page.to_str().unwrap(), "--export-markdown", file.to_str().unwrap()];
        has(&answer(&files), &format!("next: `{sudo}punctual idle "));
        has(&std::fs::read_to_string(&page).unwrap(), "<code>sudo punctual idle ");
        has(&std::fs::read_to_string(&file).unwrap(), "`sudo punctual idle ");
        let error = told(&["why", "record.punctual", "--json"], is_shell_of_root);
        has(&json(&error)["error"].to_string(), "as in `sudo punctual record --why 500us");
    }
}

/// What `compare` does not measure itself is recorded for it; the letter of a side is like none of these options.
#[test]
fn compare_says_how_sides_of_other_programs_threads_are_compared() {
    let directory = tempfile::tempdir().unwrap();
    for option in ["--comm", "--pid", "--period", "--follow", "--why"] {
        let output = run(directory.path(), &["compare", "--repeat", "3", option, "1"]);
        let said = stderr(&output);
        assert_eq!(code(&output), 129, "{option}: {said}");
        assert!(said.contains("`punctual record`") && said.contains("`punctual compare A B`"), "{option}: {said}");
        assert!(!said.contains("did you mean"), "{option}: {said}");
    }
}

/// Whoever names no sides, or one, or what makes them alone, is told what to add.
#[test]
fn compare_says_what_to_add_to_have_two_sides() {
    let directory = tempfile::tempdir().unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["compare"], "give two recordings or directories"),
        (&["compare", "a.punctual"], "give two recordings or directories"),
        (&["compare", "--a", "true", "--b", "false"], "add `--repeat 5`"),
        (&["compare", "--while-b=true", "-D", "1s"], "add `--repeat 5`"),
    ];
    for (words, expected) in cases {
        let output = run(directory.path(), words);
        let said = stderr(&output);
        assert_eq!(code(&output), 129, "{words:?}: {said}");
        let hint = said.lines().nth(1).unwrap_or_default();
        assert!(hint.starts_with("hint: ") && hint.contains(expected), "{words:?}: {said}");
    }
}

/// `list` is no device, and without notes nothing is applied.
#[test]
fn reservations_that_are_applied_are_listed() {
    let directory = tempfile::tempdir().unwrap();
    let listed = |words: &[&str]| {
        let mut command = support::punctual();
        command.env("XDG_RUNTIME_DIR", directory.path()).args(["reserve", "list"]).args(words);
        command.output().expect("the program starts")
    };
    let output = listed(&["--json"]);
    let answer = json(&output);
    assert_eq!((code(&output), &answer["schema"]), (0, &"punctual.reserve-list/1".into()), "{answer}");
    // Those of root are the machine's own.
    if !support::is_root() {
        assert_eq!(answer["threads"].as_array().map(Vec::len), Some(0), "{answer}");
        assert_eq!(stdout(&listed(&[])), "No reservation is applied.\n");
    }
}

#[test]
fn without_a_word_there_is_help() {
    let directory = tempfile::tempdir().unwrap();
    let output = run(directory.path(), &[]);
    assert_eq!((code(&output), stderr(&output)), (0, String::new()));
    assert_eq!(stdout(&output), stdout(&run(directory.path(), &["-h"])));
    assert!(stdout(&output).contains("record"));
}

#[test]
fn what_is_written_at_the_end_is_looked_at_before_the_beginning() {
    let directory = tempfile::tempdir().unwrap();
    let cases: &[&[&str]] = &[
        &["device", "study", "--html", "none/x"],
        &["sim", "papers", "--html", "none/x"],
        &["sim", "run", "nt-timers-table3", "--html", "none/x"],
        &["sim", "timeline", "soft-modem-dialup", "--perfetto", "none/x"],
        &["sim", "whatif", "--device", "modem", "--sweep", "period=4..5", "-o", "none/x"],
        &["why", "a", "--perfetto", "none/x"],
    ];
    for words in cases {
        let output = run(directory.path(), words);
        let said = (code(&output), stderr(&output), stdout(&output));
        let expected = "error: cannot write none/x: there is no directory none\n";
        assert_eq!(said, (1, expected.to_owned(), String::new()), "{words:?}");
    }
    let output = run(directory.path(), &["device", "study", "-D", "34s"]);
    assert_eq!(code(&output), 129);
    assert!(stderr(&output).starts_with("error: 35 runs of a second or more do not fit"), "{}", stderr(&output));
    assert!(stderr(&output).contains("give -D 35"), "{}", stderr(&output));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_cpu_that_is_not_there_is_named_with_those_that_are() {
    let directory = tempfile::tempdir().unwrap();
    let output = run(directory.path(), &["record", "-a", "60000", "--load", "cpu"]);
    assert_eq!(code(&output), 129);
    assert!(
        stderr(&output).starts_with("error: CPU 60000 is not there or not allowed: the allowed CPUs are "),
        "{}",
        stderr(&output)
    );
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn failures_are_json_where_json_was_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    for (words, expected) in [
        (vec!["record", "-i", "0", "--json"], 129),
        (vec!["--json", "recrod"], 129),
        (vec!["report", "--json", "none.punctual"], 1),
        (vec!["report", "--json", "."], 1),
        (vec!["record", "--json", "--", "no-such-program-anywhere"], 1),
        (vec!["record", "--json", "-o", "/proc/self/none/a.punctual", "-D", "1"], 1),
    ] {
        let output = run(directory.path(), &words);
        let answer = json(&output);
        assert_eq!(code(&output), expected, "{words:?}");
        assert_eq!(answer["schema"], "punctual.error/1", "{words:?}");
        assert_eq!(answer["exit_code"], expected, "{words:?}");
        assert!(!answer["error"].as_str().unwrap().is_empty());
    }
}

#[test]
fn help_has_examples_and_files_are_generated() {
    let directory = tempfile::tempdir().unwrap();
    for command in ["check", "record", "report", "forecast", "schedulability", "completions", "man"] {
        let output = run(directory.path(), &[command, "--help"]);
        assert_eq!(code(&output), 0);
        assert!(stdout(&output).contains("Example"), "{command}: {}", stdout(&output));
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(stdout(&run(directory.path(), &["completions", shell])).contains("punctual"));
    }
    assert_eq!(code(&run(directory.path(), &["man", "pages"])), 0);
    let page = std::fs::read_to_string(directory.path().join("pages/punctual-record.1")).unwrap();
    assert!(page.contains("softirq") && page.contains("Examples"), "{page}");
}

/// A script for any editor is for no program in particular: nothing was installed, and nothing has to be.
#[test]
fn what_needs_no_programs_is_not_called_installed() {
    let directory = tempfile::tempdir().unwrap();
    let expected = "The script micro needs no programs: there is nothing to install.";
    let output = run(directory.path(), &["interact", "install", "micro"]);
    assert_eq!((code(&output), stdout(&output).trim_end()), (0, expected));
    let answer = json(&run(directory.path(), &["interact", "install", "micro", "--json"]));
    assert_eq!(answer["verdict"], expected);
}

#[test]
fn capabilities_are_json_and_text() {
    let directory = tempfile::tempdir().unwrap();
    let answer = json(&run(directory.path(), &["capabilities", "--json"]));
    assert_eq!(answer["schema"], "punctual.capabilities/1");
    for line in answer["capabilities"].as_array().unwrap() {
        assert!(line["needed_for"].is_string() && line["detail"].is_string(), "{line}");
    }
    let mut command = support::punctual();
    let text = stdout(&command.env("COLUMNS", "80").arg("capabilities").output().unwrap());
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(text.contains("real-time") && wide.is_empty(), "{wide:?}");
}

/// docs/commands.md: a name that is not known is wrong usage, a file that is not there an error, a missed deadline a limit.
#[test]
fn names_files_and_deadlines_have_the_exit_codes_of_the_page() {
    let directory = tempfile::tempdir().unwrap();
    let task = |name: &str, priority: u32| {
        format!("[[task]]\nname = \"{name}\"\nperiod = \"10ms\"\ncompute = \"6ms\"\npriority = {priority}\n")
    };
    std::fs::write(directory.path().join("tasks.toml"), task("first", 90) + &task("second", 80)).unwrap();
    for (words, expected) in [
        (["sim", "run", "bogus"], 129),
        (["sim", "run", "bogus.toml"], 1),
        (["load", "run", "bogus"], 129),
        (["report", "bogus.punctual", "--json"], 1),
        (["schedulability", "tasks.toml", "--json"], 2),
    ] {
        let output = run(directory.path(), &words);
        assert_eq!(code(&output), expected, "{words:?}: {}{}", stdout(&output), stderr(&output));
    }
}
