//! Runs under limits: files that may not grow, small stacks, no directory for temporary files, full disks, few rights.

use crate::requires;
use crate::support::nobody::Nobody;
use crate::support::{self, code, json, run, stderr, stdout};
use punctual_recording::{EndReason, Recording};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs the program in a shell that sets a limit first.
fn limited(directory: &Path, limit: &str, words: &[&str]) -> Output {
    let script = format!("{limit}; exec \"$0\" \"$@\"");
    let mut command = Command::new("bash");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_punctual")]).args(words);
    command.current_dir(directory).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn a_limit_on_files_is_an_error_and_not_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let words = ["record", "-q", "-D", "20s", "-i", "100us", "-o", "a.punctual"];
    let output = limited(directory.path(), "ulimit -f 32", &words);
    assert_eq!(output.status.code(), Some(1), "{:?} {}", output.status, stderr(&output));
    assert!(stderr(&output).to_lowercase().contains("file too large"), "{}", stderr(&output));
    let recording = Recording::open(directory.path().join("a.punctual")).unwrap();
    assert_eq!(recording.count_not_adding_up().unwrap(), 0);
}

#[test]
fn a_small_stack_does_for_everything() {
    let directory = tempfile::tempdir().unwrap();
    let sim = ["sim", "run", "nt-timers-table3", "-o", "sim.punctual"];
    let commands: [&[&str]; 7] = [
        &["record", "-q", "-D", "300ms", "-o", "a.punctual"],
        &["report", "a.punctual"],
        &["forecast", "sim.punctual"],
        &["capabilities"],
        &["--help"],
        &["load", "list"],
        &["device", "list"],
    ];
    assert_eq!(code(&run(directory.path(), &sim)), 0);
    for words in commands {
        let output = limited(directory.path(), "ulimit -s 96", words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {:?} {}", output.status, stderr(&output));
    }
    eprintln!("{} commands with a stack of 96 KiB", commands.len());
}

#[test]
fn a_missing_directory_for_temporary_files_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let loads: [&[&str]; 3] = [
        &["record", "-q", "-D", "1s", "-o", "a.punctual", "--load", "cpu"],
        &["load", "run", "cpu", "-q", "-D", "1s"],
        &["compare", "-q", "--repeat", "1", "-D", "300ms", "--a", "true", "--b", "true"],
    ];
    for words in loads {
        let output = limited(directory.path(), "export TMPDIR=/no-such/place", words);
        assert_eq!(code(&output), 1, "{words:?}: {}", stdout(&output));
        let said = stderr(&output);
        assert!(said.contains("/no-such/place") && said.contains("TMPDIR"), "{words:?}: {said}");
    }
}

/// Mounts a small file system with few files, or little room; returns whether that worked.
fn small(below: &Path, options: &str) -> bool {
    std::fs::create_dir_all(below).unwrap();
    let mount = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(below).output();
    mount.is_ok_and(|output| output.status.success())
}

#[test]
fn a_disk_without_inodes_is_one_line_and_leaves_what_fitted() {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path();
    // All at once, which saves time; none of them measures.
    let opened: Option<Vec<bool>> = std::thread::scope(|scope| {
        let tries: Vec<_> = [2, 4, 5, 6, 7, 9, 12]
            .map(|inodes| scope.spawn(move || fills_its_inodes(&top.join(inodes.to_string()), inodes)))
            .into();
        tries.into_iter().map(|tried| tried.join().unwrap()).collect()
    });
    match opened {
        Some(opened) => {
            let met = opened.iter().filter(|is_opened| **is_opened).count();
            eprintln!("{met} recordings on disks without inodes were opened");
        }
        None => support::skip("full inodes", "mounting a small file system takes root"),
    }
}

/// Whether a recording on a disk with this few inodes could be opened; `None` if no disk can be mounted.
fn fills_its_inodes(disk: &Path, inodes: u32) -> Option<bool> {
    if !small(disk, &format!("size=4m,nr_inodes={inodes}")) {
        return None;
    }
    // It ends where there are no more inodes, which takes as long as a busy machine leaves it no time to write.
    let output = run(disk, &["record", "-q", "-D", "90s", "-o", "a.punctual"]);
    let opened = disk.join("a.punctual/recording.json").exists().then(|| Recording::open(disk.join("a.punctual")));
    let page = run(disk, &["sim", "timeline", "nt-timers-table3", "--html", "page.html"]);
    let left = std::fs::read_dir(disk).unwrap().flatten().map(|entry| entry.file_name()).collect::<Vec<_>>();
    let _ = Command::new("umount").arg(disk).status();
    assert_eq!(code(&output), 1, "{inodes}: {}", stdout(&output));
    assert!(stderr(&output).contains("no space left"), "{inodes}: {}", stderr(&output));
    assert!(stderr(&output).lines().count() <= 2, "{inodes}: {}", stderr(&output));
    assert!(code(&page) == 1 || left.contains(&"page.html".into()), "{inodes}: {left:?}");
    // Nothing of a page was written before.
    assert!(!stderr(&page).contains("was kept"), "{inodes}: {}", stderr(&page));
    assert!(!left.iter().any(|name| name.to_string_lossy().contains(".punctual-")), "{inodes}: {left:?}");
    if let Some(opened) = &opened {
        assert_eq!(opened.as_ref().unwrap().count_not_adding_up().unwrap(), 0);
    }
    Some(opened.is_some())
}

#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(code(&run(directory.path(), &["sim", "run", "nt-timers-table3", "-o", "a.punctual"])), 0);
    let mut commands: Vec<Vec<&str>> = vec![
        vec!["report", "a.punctual"],
        vec!["report", "a.punctual", "--json"],
        vec!["report", "a.punctual", "--csv"],
        vec!["forecast", "a.punctual"],
        vec!["capabilities"],
        vec!["load", "list"],
        vec!["--help"],
        vec!["--version"],
        vec!["completions", "bash"],
        vec!["log", "header"],
        vec!["report", "a.punctual", "--html", "/dev/full"],
        vec!["sim", "timeline", "nt-timers-table3", "--perfetto", "/dev/full"],
        vec!["sim", "run", "nt-timers-table3", "--html", "/dev/full"],
        vec!["sim", "list", "--export-markdown", "/dev/full"],
        vec!["sim", "list"],
        vec!["device", "list"],
        vec!["device", "show", "audio64", "--json"],
        vec!["lab", "kernels"],
        vec!["modem", "stalls", "--lengths", "20ms", "--calls", "1"],
        vec!["modem", "transfer", "a.punctual/recording.json", "--attempts", "1", "--json"],
        vec!["modem", "line", "-D", "200ms"],
        vec!["modem", "serve", "-D", "200ms"],
        vec!["interact", "-q", "--no-bpf", "-o", "i.punctual", "--", "true"],
        vec!["interact", "-q", "--no-bpf", "-o", "j.punctual", "--html", "/dev/full", "--", "true"],
    ];
    if support::allows("BPF").is_ok() {
        assert_eq!(code(&run(directory.path(), &["log", "-q", "-D", "500ms", "-o", "l.punctual"])), 0);
        commands.extend([
            vec!["report", "l.punctual"],
            vec!["log", "show", "l.punctual"],
            vec!["log", "show", "l.punctual", "--json"],
            vec!["log", "show", "l.punctual", "--csv"],
            vec!["log", "show", "l.punctual", "--limit", "3"],
        ]);
    }
    for words in &commands {
        let mut command = support::punctual();
        command.current_dir(directory.path()).args(words);
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = command.stdout(full).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(code(&output), 1, "{words:?}: {}", stderr(&output));
        assert!(
            stderr(&output).contains("could not be written")
                || stderr(&output).contains("cannot write")
                || words.len() == 1,
            "{words:?}: {}",
            stderr(&output)
        );
    }
    eprintln!("{} answers onto a full disk", commands.len());
}

#[test]
fn an_answer_into_a_closed_standard_output_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(code(&run(directory.path(), &["sim", "run", "nt-timers-table3", "-o", "a.punctual"])), 0);
    let answers: [&[&str]; 10] = [
        &["interact", "-q", "--no-bpf", "-o", "i.punctual", "--", "true"],
        &["modem", "stalls", "--lengths", "20ms", "--calls", "1"],
        &["sim", "list"],
        &["lab", "kernels", "--json"],
        &["report", "a.punctual"],
        &["report", "a.punctual", "--json"],
        &["forecast", "a.punctual"],
        &["load", "list"],
        &["--help"],
        &["completions", "bash"],
    ];
    for words in answers {
        let mut shell = Command::new("sh");
        shell.current_dir(directory.path()).args(["-c", r#"exec "$0" "$@" >&-"#]);
        let output = shell.arg(env!("CARGO_BIN_EXE_punctual")).args(words).output().unwrap();
        assert_eq!(code(&output), 1, "{words:?}: {}", stderr(&output));
    }
    // What goes to /dev/null was asked to go there, however it was opened.
    let mut shell = Command::new("sh");
    shell.current_dir(directory.path()).args(["-c", r#""$0" report a.punctual 1<>/dev/null"#]);
    assert_eq!(code(&shell.arg(env!("CARGO_BIN_EXE_punctual")).output().unwrap()), 0);
    eprintln!("{} answers into nothing", answers.len());
}

/// What punctual needs instead of root.
const CAPABILITIES: &str = "+bpf,+perfmon,+sys_nice,+ipc_lock";

/// Runs the program with these capabilities at most.
fn with(capabilities: &str, nobody: &Nobody, words: &[&str]) -> Output {
    let sets = ["inh", "ambient"].map(|set| format!("--{set}-caps=-all,{capabilities}"));
    nobody.punctual(&sets.each_ref().map(String::as_str)).args(words).output().unwrap()
}

#[test]
fn a_study_that_may_try_nothing_says_why_and_fails() {
    let Some(nobody) = Nobody::of("device study without privilege") else { return };
    let study = ["device", "study", "v90", "-q", "-D", "35s", "--json", "-o", "s"];
    let output = with("-all", &nobody, &study);
    let answer = json(&output);
    let verdict = answer["verdict"].as_str().unwrap();
    assert_eq!((code(&output), &answer["exit_code"]), (1, &1.into()), "{verdict}");
    assert!(verdict.starts_with("No context could be tried") && verdict.contains(" irq: "), "{verdict}");
    assert!(verdict.contains("it needs root, or CAP_BPF") && verdict.contains("The other 3 were refused"), "{verdict}");
}

/// Whether a call was made, but the machine kept its thread from the CPU for so long that nothing arrived, of which the answer
/// says what was lost; or whether reservations were tried, of which none sufficed on such a machine.
fn was_disturbed(answer: &Value) -> bool {
    if answer["end"] == "finished" && answer["recommended"].is_null() {
        return answer["trials"].as_array().is_some_and(|trials| !trials.is_empty());
    }
    let attempts = answer["attempts"].as_array().map_or(&[][..], Vec::as_slice);
    let lost = |attempt: &Value| ["underruns", "lost_samples"].iter().any(|what| attempt[*what].as_u64() > Some(0));
    answer["live"].is_object() && !attempts.is_empty() && attempts.iter().all(lost)
}

#[test]
fn four_capabilities_do_for_measuring_in_full() {
    requires!("four capabilities", "BPF");
    let Some(nobody) = Nobody::of("four capabilities") else { return };
    let record = ["record", "-q", "-D", "1s", "--json", "-o"];
    let output = with(CAPABILITIES, &nobody, &[&record[..], &["a.punctual"]].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = json(&output);
    let fallbacks = answer["provenance"]["fallbacks"].to_string();
    for full in ["normal priority", "only the total", "memory is not locked"] {
        assert!(!fallbacks.contains(full), "{full}: {fallbacks}");
    }
    // What is not allowed names what would allow it.
    assert!(!fallbacks.contains("deep idle") || fallbacks.contains("CAP_DAC_OVERRIDE"), "{fallbacks}");
    let recording = Recording::open(nobody.directory().join("a.punctual")).unwrap();
    assert!(recording.document().provenance.configuration.bpf);
    // The addresses of functions are hidden from it: the thread's timer is recognised by its thread.
    let counters = &recording.document().counters;
    eprintln!("{} of {} wakeups were not observed", counters.unobserved, counters.wakeups);
    assert!(counters.wakeups > 100 && counters.unobserved * 4 < counters.wakeups, "{counters:?}");
    assert_eq!(recording.document().ended.as_ref().unwrap().reason, EndReason::Completed);

    std::fs::write(nobody.directory().join("file"), [b'x'; 300]).unwrap();
    let others: [&[&str]; 14] = [
        &["interact", "-q", "--json", "--pace", "full", "-o", "h.punctual", "--", "cat"],
        &["reserve", "-q", "--json", "--measure", "700ms", "--attempts", "1", "--rounds", "0", "-o", "r", "v90"],
        &["reserve", "run", "--json", "1ms/50ms", "--", "true"],
        &["modem", "transfer", "file", "-q", "--json", "--attempts", "1", "--context", "thread:24"],
        &["device", "mix", "audio64,modem", "-q", "-D", "1s", "--context", "thread:80", "--json", "-o", "m.punctual"],
        &["device", "verify", "audio64", "-q", "-D", "1s", "--context", "thread:80", "--json", "-o", "v"],
        &["record", "-q", "-D", "1s", "--json", "--via", "softirq", "-o", "b.punctual"],
        &["record", "-q", "-D", "1s", "--json", "--why", "p99", "-o", "c.punctual"],
        &["record", "-q", "--json", "--follow", "-o", "d.punctual", "--", "sleep", "0.5"],
        &["log", "-q", "-D", "1s", "--json", "-o", "e.punctual"],
        &["idle", "-q", "-D", "1s", "--json", "-o", "f.punctual"],
        &["timers", "-q", "-D", "2s", "--json"],
        &["drill", "fifo", "-q", "-D", "1s", "--json"],
        &["device", "run", "audio64", "-q", "-D", "1s", "--context", "irq", "--json", "-o", "g.punctual"],
    ];
    let mut met = 1;
    for words in others {
        let output = with(CAPABILITIES, &nobody, words);
        let said = format!("{}{}", stdout(&output), stderr(&output));
        eprintln!("{words:?}: {} {}", code(&output), json(&output)["fallbacks"]);
        let worked = code(&output) == 0 || was_disturbed(&json(&output));
        // What cannot work says which capability it lacks.
        assert!(worked || said.contains("CAP_"), "{words:?}: {said}");
        met += usize::from(worked);
    }
    eprintln!("{met} of {} commands worked with four capabilities", others.len() + 1);
    assert!(met >= 11);
}

/// Lets a command, and all that it starts, open no performance event: as Debian's kernel does by default, whatever this one does.
fn deny_performance_events(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    let step = |code: u32, skip: u8, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: skip, k };
    let call = u32::try_from(libc::SYS_perf_event_open).unwrap();
    let mut steps = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, call),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | libc::EACCES.cast_unsigned()),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let (yes, no): (libc::c_ulong, libc::c_ulong) = (1, 0);
    let deny = move || {
        let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
        // SAFETY: plain numbers, and a program that lives through the call, of the length that it states.
        let refused = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, yes, no, no, no) != 0
                || libc::prctl(libc::PR_SET_SECCOMP, libc::c_ulong::from(libc::SECCOMP_MODE_FILTER), &raw const program)
                    != 0
        };
        if refused { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: between fork and exec only system calls are made, with values of its own.
    unsafe { command.pre_exec(deny) };
}

#[test]
fn causes_are_recorded_where_performance_events_are_denied() {
    requires!("causes without performance events", "flight recorder");
    let Some(nobody) = Nobody::of("causes without performance events") else { return };
    let sets = ["inh", "ambient"].map(|set| format!("--{set}-caps=-all,{CAPABILITIES}"));
    let run = |words: &[&str]| {
        let mut command = nobody.punctual(&sets.each_ref().map(String::as_str));
        deny_performance_events(command.args(words));
        let output = command.output().unwrap();
        assert_eq!(code(&output), 0, "{words:?}: {}", stderr(&output));
        json(&output)
    };
    let row = &run(&["capabilities", "--json", "flight recorder"])["capabilities"][0];
    let detail = row["detail"].as_str().unwrap();
    assert!(detail.contains("without samples of code (Permission denied)"), "{row}");
    assert!(row["available"] == "limited" && row["remedy"].is_string(), "{row}");

    let own = ["record", "-q", "-D", "1s", "--json", "--why", "1us", "-o", "own"];
    let script = "for i in 1 2 3 4 5 6 7 8 9; do sleep 0.05; done";
    let followed = ["record", "-q", "--json", "--why", "1us", "--why-stage", "response", "-o", "followed"];
    let followed = [&followed[..], &["--follow", "--", "sh", "-c", script]].concat();
    let mut kept = 0;
    for (name, words, lacks) in [("own", &own[..], 1), ("followed", &followed[..], 2)] {
        let answer = run(words);
        let notes: Vec<&str> = answer["fallbacks"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert!(!notes.iter().any(|note| note.contains("late is not recorded")), "{name}: {notes:?}");
        let without: Vec<&&str> = notes.iter().filter(|note| note.contains("late is recorded without")).collect();
        assert!(without.len() == lacks && without.iter().all(|note| note.contains("; ")), "{name}: {notes:?}");
        let recording = Recording::open(nobody.directory().join(name)).unwrap();
        let blind = &recording.document().provenance.blind;
        assert!(blind.iter().any(|line| line.contains("no stacks are sampled")), "{name}: {blind:?}");
        let recorder = &answer["parts"][0]["recorder"];
        // Late interrupts of the timer still take the stack that they interrupted.
        assert!(recorder["sample_clock"].is_null(), "{name}: {recorder}");
        kept += recorder["kept"].as_u64().unwrap();
    }
    eprintln!("evidence of {kept} late wakeups without performance events");
    assert!(kept > 0, "no evidence was kept");
}

#[test]
fn a_log_of_page_faults_says_what_it_takes_where_performance_events_are_denied() {
    requires!("page faults without performance events", "event log");
    let Some(nobody) = Nobody::of("page faults without performance events") else { return };
    let sets = ["inh", "ambient"].map(|set| format!("--{set}-caps=-all,{CAPABILITIES}"));
    let run = |words: &[&str]| {
        let mut command = nobody.punctual(&sets.each_ref().map(String::as_str));
        deny_performance_events(command.args(words));
        command.output().unwrap()
    };
    let output = run(&["log", "-q", "-D", "300ms", "--events", "fault", "-o", "faults.punctual"]);
    let said = stderr(&output);
    assert_eq!(code(&output), 1, "{said}");
    let [error, hint] = said.lines().collect::<Vec<_>>()[..] else { panic!("{said}") };
    assert!(error.contains("counting page faults on CPU") && error.contains("Permission denied"), "{said}");
    assert!(hint.starts_with("hint: "), "{said}");
    assert!(["perf_event_open", "perf_event_paranoid=2"].iter().any(|remedy| hint.contains(remedy)), "{said}");
    assert!(!nobody.directory().join("faults.punctual").exists(), "a recording of nothing was left");

    // Nobody named the class here: the others are logged, and what is not logged is said.
    let output = run(&["log", "-q", "-D", "300ms", "--events", "all", "--json", "-o", "all.punctual"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = json(&output);
    let chosen: Vec<&str> = answer["chosen"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let fallbacks = answer["provenance"]["fallbacks"].as_array().unwrap();
    let is_said = |note: &Value| note == "not logged: events of the class fault: Permission denied";
    assert!(fallbacks.iter().any(is_said), "{answer}");
    assert!(chosen.contains(&"sched") && !chosen.contains(&"fault"), "{chosen:?}");

    let row = &json(&run(&["capabilities", "--json", "event log"]))["capabilities"][0];
    assert!(row["detail"].as_str().unwrap().contains("without events of the class fault"), "{row}");
    assert!(row["available"] == "limited" && hint.ends_with(row["remedy"].as_str().unwrap()), "{row}");
}

#[test]
fn what_takes_a_right_names_the_capability() {
    let Some(nobody) = Nobody::of("capabilities by name") else { return };
    std::fs::write(nobody.directory().join("file"), [b'x'; 300]).unwrap();
    let commands: [(&str, &[&str]); 7] = [
        (
            "CAP_SYS_NICE",
            &["reserve", "-q", "--measure", "300ms", "--attempts", "1", "--rounds", "0", "-o", "r", "v90"],
        ),
        ("CAP_SYS_NICE", &["reserve", "run", "1ms/50ms", "--", "true"]),
        ("CAP_SYS_NICE", &["modem", "transfer", "file", "-q", "--context", "thread:24"]),
        ("CAP_SYS_NICE", &["modem", "transfer", "file", "-q", "--context", "thread:other", "--competitor", "spin:50"]),
        ("CAP_SYS_NICE", &["device", "mix", "audio64,modem", "-q", "--context", "thread:80", "-D", "1s", "-o", "m"]),
        ("CAP_BPF", &["device", "run", "audio64", "-q", "--context", "irq", "-D", "1s", "-o", "d"]),
        ("CAP_BPF", &["interact", "-q", "-o", "i", "--", "true"]),
    ];
    for (capability, words) in commands {
        let output = with("-all", &nobody, words);
        let said = format!("{}{}", stdout(&output), stderr(&output));
        // If a command can go on without it, it says so beside its answer; a command that replaces the program goes on
        // in any case.
        assert!(said.contains(capability), "{words:?}: {said}");
        assert!(stderr(&output).lines().count() <= 3, "{words:?}: {said}");
    }
    eprintln!("{} commands say what they lack", commands.len());
}

/// A small disk is full before anything is measured; whatever fails then is reported in one line, and nothing hangs.
#[test]
fn newer_commands_on_a_full_disk_say_so_in_a_line() {
    let directory = tempfile::tempdir().unwrap();
    let Some(disk) = support::SmallDisk::mount(directory.path(), "8k") else {
        return support::skip("full disk of every command", "mounting a small file system takes root");
    };
    std::fs::write(disk.path().join("full"), [0; 4096]).unwrap();
    let commands: [&[&str]; 6] = [
        &["interact", "-q", "--no-bpf", "--pace", "full", "-o", "i.punctual", "--", "cat"],
        &["device", "mix", "audio64,modem", "-q", "--context", "thread:other", "-D", "300ms", "-o", "d.punctual"],
        &["sim", "run", "nt-timers-table3", "-o", "s.punctual"],
        &["sim", "run", "nt-timers-table3", "--html", "page.html"],
        &["sim", "timeline", "nt-timers-table3", "--perfetto", "trace"],
        &["reserve", "-q", "--measure", "300ms", "--attempts", "1", "--rounds", "0", "-o", "r", "v90"],
    ];
    let mut met = 0;
    for words in commands {
        let output = run(disk.path(), words);
        let said = stderr(&output).to_lowercase();
        if said.contains("not permitted") || said.contains("permission denied") {
            support::skip("full disk of every command", &format!("{words:?}: {said}"));
            continue;
        }
        assert_eq!(code(&output), 1, "{words:?}: {}{said}", stdout(&output));
        assert!(said.contains("no space left") && said.lines().count() <= 2, "{words:?}: {said}");
        met += 1;
    }
    eprintln!("{met} commands on a full disk");
    assert!(met >= 4);
}

#[test]
fn a_check_without_rights_says_so_first() {
    let Some(nobody) = Nobody::of("a check without rights") else { return };
    let output = with("-all", &nobody, &["check", "-q", "-D", "2s", "--json", "-o", "c"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = json(&output);
    let verdict = answer["verdict"].as_str().unwrap();
    assert!(verdict.starts_with("Measured at normal priority, not fifo:80: the note says why. "), "{verdict}");
    assert!(answer["fallbacks"].to_string().contains("run as root"), "{answer}");
}
