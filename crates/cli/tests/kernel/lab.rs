//! The lab: guests that give the same bytes again, and that are gone whatever ends the program.

use crate::support::guests::{has_guest, kernel};
use crate::support::{self, code, json, run, signal, skip, start, stderr, stdout, tests_all, wait_until};

/// The words of a lab's command; its own directory for guests' files tells this test's guests from others'.
fn words<'a>(kernel: &'a str, output: &'a str, more: &[&'a str], command: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["lab", "run", "-q", "--kernel", kernel, "--seeds", "1", "-o", output];
    words.extend(more);
    words.push("--");
    words.extend(command);
    words
}

/// In `./test` the tests of `lab_why` stand in for this one: `lab why` boots the guest of a lab twice more, and refuses other bytes.
#[test]
fn a_seed_gives_the_same_bytes_again_and_what_it_is_stands_in_the_first_lines() {
    const NAME: &str = "a_seed_gives_the_same_bytes_again";
    let kernel = match kernel("6.12") {
        Ok(kernel) if tests_all() => kernel,
        Ok(_) => return skip(NAME, "it takes long, and lab why compares them too: ./test --all has it"),
        Err(reason) => return skip(NAME, &reason),
    };
    let directory = tempfile::tempdir().unwrap();
    let command = ["record", "-D", "500ms"];
    let first = run(directory.path(), &words(&kernel, "a", &[], &command));
    assert_eq!(code(&first), 0, "{}{}", stdout(&first), stderr(&first));
    let beginning: Vec<String> = stdout(&first).lines().take(2).map(str::to_owned).collect();
    assert!(beginning[0].contains("wakeups") && beginning[1].contains("counts instructions"), "{beginning:?}");
    let recording = |name: &str| directory.path().join(name).join(&kernel).join("seed-1.punctual");
    let difference = |one: &str, other: &str| {
        let paths = [recording(one), recording(other)];
        let output = std::process::Command::new("diff").arg("-r").args(paths).output().unwrap();
        (!output.status.success()).then(|| stdout(&output))
    };
    let mut differences = Vec::new();
    // Of ten runs on a busy host, one may differ (docs/lab.md); two that are equal are not equal by chance.
    for other in ["b", "c", "d"] {
        let output = run(directory.path(), &words(&kernel, other, &[], &command));
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let before = ["a", "b", "c"].into_iter().take_while(|before| *before != other);
        let found: Vec<_> = before.map(|before| difference(before, other)).collect();
        let equal = found.iter().any(Option::is_none);
        differences.extend(found.into_iter().flatten());
        if equal {
            break;
        }
        assert_ne!(other, "d", "no two of four are equal: {}", differences.join("\n"));
    }
    eprintln!("{} pairs of runs differed before two were equal", differences.len());

    // Cells that have run are reused; another command does not overwrite them.
    let again = run(directory.path(), &words(&kernel, "a", &["--json"], &command));
    assert_eq!(json(&again)["systems"][0]["guests"][0]["kept"], true);
    let other = run(directory.path(), &words(&kernel, "a", &[], &["record", "-D", "400ms"]));
    assert_eq!(code(&other), 1);
    assert!(stderr(&other).contains("choose another directory"), "{}", stderr(&other));
}

/// Somebody types into a shell of the guest's, at a terminal of its own.
#[test]
fn a_program_is_used_in_a_guest_and_the_recording_comes_out() {
    let kernel = match kernel("6.12") {
        Ok(kernel) if tests_all() => kernel,
        Ok(_) => return skip("a_program_is_used_in_a_guest", "it takes long: ./test --all has it"),
        Err(reason) => return skip("a_program_is_used_in_a_guest", &reason),
    };
    let directory = tempfile::tempdir().unwrap();
    let command = ["interact", "--via", "pty", "--", "bash"];
    let output = run(directory.path(), &words(&kernel, "a", &[], &command));
    assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
    let recording = directory.path().join("a").join(&kernel).join("seed-1/interact.punctual");
    let report = run(directory.path(), &["report", recording.to_str().unwrap(), "--json"]);
    let answer = json(&report);
    assert_eq!((code(&report), &answer["via"]), (0, &"pty".into()), "{answer:#}");
    let seen = answer["counts"]["seen"].as_u64();
    assert!(seen > Some(20), "{seen:?} inputs were answered: {answer:#}");
    eprintln!("{seen:?} inputs were answered");
}

/// What the load got done stands beside how late wakeups were, and three seeds of each kernel make a verdict.
#[test]
fn seeds_of_two_kernels_are_compared_and_throughput_stands_beside_latency() {
    const NAME: &str = "seeds_of_two_kernels_are_compared";
    let kernel = match kernel("6.12") {
        Ok(kernel) if tests_all() => kernel,
        Ok(_) => return skip(NAME, "it takes long: ./test --all has it"),
        Err(reason) => return skip(NAME, &reason),
    };
    if punctual_lab::userland::find("stress-ng").is_none() {
        return skip(NAME, "stress-ng is not installed");
    }
    let directory = tempfile::tempdir().unwrap();
    let other = format!("{kernel},preempt=full");
    let mut words = vec!["lab", "run", "-q", "--json", "--html", "page.html", "--seeds", "1..3", "-o", "out"];
    words.extend(["--kernel", &kernel, "--kernel", &other, "--load", "network", "--", "record", "-D", "500ms"]);
    let output = run(directory.path(), &words);
    let answer = json(&output);
    assert_eq!(code(&output), 0, "{answer:#}{}", stderr(&output));
    for system in answer["systems"].as_array().unwrap() {
        let rates: Vec<u64> =
            system["load"].as_array().unwrap().iter().filter_map(|rate| rate["per_s_thousandths"].as_u64()).collect();
        assert!(!rates.is_empty() && rates.iter().all(|rate| *rate > 0), "{system:#}");
    }
    let comparison = &answer["comparisons"][0]["comparison"];
    assert_eq!((&comparison["standing"], &comparison["more_runs_a"]), (&"systems".into(), &0.into()), "{comparison:#}");
    let stages = comparison["stages"].as_array().unwrap();
    let thread = stages.iter().find(|stage| stage["stage"] == "thread").expect("a stage of the thread");
    let limit = |name: &str| thread["ratio"][name].as_f64().unwrap_or_else(|| panic!("{name}: {thread:#}"));
    assert!(limit("low") <= limit("estimate") && limit("estimate") <= limit("high"), "{thread:#}");
    let throughput = comparison["throughput"].as_array().unwrap();
    assert!(throughput.iter().any(|score| score["ratio"].as_f64() > Some(0.0)), "{comparison:#}");
    // The page has the figure of 1999, the ratios with their intervals, and what the load got done.
    let page = std::fs::read_to_string(directory.path().join("page.html")).unwrap();
    for section in ["id=\"by-load\"", "id=\"stages\"", "id=\"beside\"", "id=\"load\"", "id=\"ranks\""] {
        assert!(page.contains(section), "the page lacks {section}: {} bytes", page.len());
    }
}

#[test]
fn no_guest_is_left_by_a_kill_or_a_limit() {
    let kernel = match kernel("6.12") {
        Ok(kernel) => kernel,
        Err(reason) => return skip("no_guest_is_left", &reason),
    };
    let directory = tempfile::tempdir().unwrap();
    let scratch = directory.path().join("scratch-of-this-test");
    std::fs::create_dir(&scratch).unwrap();
    let word = scratch.to_str().unwrap().to_owned();
    for ending in [libc::SIGKILL, libc::SIGINT] {
        let mut command = support::punctual();
        command.current_dir(directory.path()).env("TMPDIR", &scratch);
        command.args(words(&kernel, "killed", &[], &["record", "-D", "1h"]));
        let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
        assert!(wait_until(|| has_guest(&word)), "no guest began");
        signal(&child, ending);
        let _ = child.wait();
        assert!(wait_until(|| !has_guest(&word)), "signal {ending} left a guest");
        let left: Vec<_> = std::fs::read_dir(&scratch).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert!(left.is_empty(), "signal {ending} left {left:?}");
    }
    // The time is up before the kernel has booted.
    let endless = words(&kernel, "endless", &["--timeout", "1s", "--before", "while :; do :; done"], &["record"]);
    let output = run(directory.path(), &endless);
    assert_eq!(code(&output), 1);
    assert!(stdout(&output).contains("seed 1: the guest had not ended after 1 s"), "{}", stdout(&output));
}

/// A kernel that finds no root stands in for all that do not boot. In `./test` one whose module breaks does (`lab_module`), and
/// `lab_ends` says what becomes of a panic.
#[test]
fn a_kernel_that_does_not_boot_is_one_line() {
    const NAME: &str = "a_kernel_that_does_not_boot_is_one_line";
    let kernel = match kernel("6.12") {
        Ok(kernel) if tests_all() => kernel,
        Ok(_) => return skip(NAME, "it takes long: ./test --all has it"),
        Err(reason) => return skip(NAME, &reason),
    };
    let directory = tempfile::tempdir().unwrap();
    let rootless = format!("{kernel},rdinit=/absent");
    let output = run(directory.path(), &words(&rootless, "rootless", &["--json"], &["record", "-D", "1s"]));
    let answer = json(&output);
    let said = answer["systems"][0]["guests"][0]["said"].as_str().unwrap_or_default();
    assert_eq!(code(&output), 1, "{answer:#}");
    assert!(said.starts_with("the guest ended without a result: ") && said.contains("Kernel panic"), "{answer:#}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

/// Type information is hidden from a kernel that has it.
#[test]
fn a_kernel_without_type_information_is_measured() {
    let kernel = match kernel("6.12") {
        Ok(kernel) => kernel,
        Err(reason) => return skip("a_kernel_without_type_information_is_measured", &reason),
    };
    let directory = tempfile::tempdir().unwrap();
    let hidden = ["--json", "--before", "mount -t tmpfs none /sys/kernel/btf"];
    let output = run(directory.path(), &words(&kernel, "hidden", &hidden, &["record", "-D", "300ms"]));
    let answer = json(&output);
    assert_eq!(code(&output), 0, "{answer:#}");
    let stages = answer["stages"].as_array().unwrap();
    let names: Vec<&str> = stages.iter().filter_map(|row| row["stage"].as_str()).collect();
    assert!(!names.is_empty() && names.iter().all(|name| *name == "total"), "{answer:#}");
    assert!(stages[0]["count"].as_u64() > Some(200), "{answer:#}");
    let text = std::fs::read_to_string(directory.path().join("hidden").join(&kernel).join("seed-1.txt")).unwrap();
    assert!(text.contains("BTF"), "it does not say what it lacks: {text}");
}

/// The same kernel with the machine to itself and on Xen: what lies between costs instructions, and the answer says that it is there.
#[test]
fn a_kernel_on_a_hypervisor_is_measured_and_its_wakeups_take_longer() {
    if !tests_all() {
        return skip("a_kernel_on_a_hypervisor_is_measured", "it takes long: ./test --all has it");
    }
    let found = kernel("6.1").and_then(|alone| Ok((alone, kernel("6.1-xen")?)));
    let (alone, on_xen) = match found {
        Ok(found) => found,
        Err(reason) => return skip("a_kernel_on_a_hypervisor_is_measured", &reason),
    };
    let directory = tempfile::tempdir().unwrap();
    let output =
        run(directory.path(), &words(&alone, "out", &["--json", "--kernel", &on_xen], &["record", "-D", "1s"]));
    let answer = json(&output);
    assert_eq!(code(&output), 0, "{answer:#}{}", stderr(&output));
    assert!(answer["notes"][0].as_str().is_some_and(|note| note.contains("a hypervisor lies between")), "{answer:#}");
    let stages = answer["stages"].as_array().unwrap();
    let total = |system: &str| {
        let row = stages.iter().find(|row| row["system"] == system && row["stage"] == "total");
        row.map(|row| (row["count"].as_u64(), row["p50_ns"].as_u64()))
    };
    let (Some((Some(count), Some(bare_ns))), Some((Some(count_on_xen), Some(on_xen_ns)))) =
        (total(&alone), total(&on_xen))
    else {
        panic!("{answer:#}");
    };
    assert!(count > 800 && count_on_xen > 800, "{count} and {count_on_xen} of 1,000 wakeups");
    assert!(on_xen_ns > bare_ns, "half within {on_xen_ns} ns on Xen, {bare_ns} ns without");
}

#[test]
fn what_cannot_be_booted_is_said_before_anything_is() {
    let directory = tempfile::tempdir().unwrap();
    for (name, bytes) in
        [("text", &b"no kernel"[..]), ("damaged.deb", b"!<arch>\nno more"), ("x.rpm", b"\xed\xab\xee\xdb")]
    {
        std::fs::write(directory.path().join(name), bytes).unwrap();
    }
    let mut said = Vec::new();
    for kernel in ["./text", "./absent", "./damaged.deb", "./x.rpm", "9.9"] {
        let child = start(directory.path(), &words(kernel, "x", &[], &["record"]));
        let output = child.wait_with_output().unwrap();
        said.push((code(&output), stderr(&output).lines().count()));
    }
    assert_eq!(said, [(1, 1), (1, 1), (1, 1), (1, 1), (129, 1)]);
    for [kernel, command, option] in
        [["6.1-xen", "record", "--why=1ms"], ["6.12", "record", "-D1s"], ["6.12", "check", "-D1s"]]
    {
        let output = run(directory.path(), &["lab", "why", "--kernel", kernel, "--", command, option]);
        assert_eq!((code(&output), stderr(&output).lines().count()), (129, 1), "{}", stderr(&output));
    }
    if let Ok(kernel) = kernel("6.12") {
        let added = ["--add", "./absent:/absent"];
        let output = run(directory.path(), &words(&kernel, "x", &added, &["record"]));
        let said = stderr(&output);
        assert!(code(&output) == 1 && said.lines().count() == 1 && said.contains("absent"), "{said}");
    }
    assert!(!directory.path().join("x").exists());
}

#[test]
fn kernels_of_the_users_own_are_listed_with_what_they_are_or_what_is_wrong_with_them() {
    let directory = tempfile::tempdir().unwrap();
    for (name, bytes) in [("vmlinux", "\x7fELF"), ("text", "no kernel")] {
        std::fs::write(directory.path().join(name), bytes).unwrap();
    }
    std::fs::create_dir(directory.path().join("empty")).unwrap();
    let ask = |words: &[&str]| {
        let mut command = support::punctual();
        command.current_dir(directory.path()).env("PUNCTUAL_KERNELS", directory.path().join("kernels"));
        command.args(["lab", "kernels"]).args(words).output().unwrap()
    };
    let output = ask(&["./vmlinux"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).starts_with("1 of 1 kernel is on this machine.\n"), "{}", stdout(&output));
    let output = ask(&["./vmlinux", "./text", "./empty"]);
    assert_eq!(code(&output), 1);
    let said = stdout(&output);
    assert!(said.starts_with("1 of 3 kernels are on this machine; 2 could not be taken.\n"), "{said}");
    assert!(said.contains("bzImage") && !said.contains("--fetch"), "no mirror has what a path names: {said}");

    // A hypervisor is of no use without the kernel that it boots.
    let place = directory.path().join("kernels/6.1-xen");
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("xen"), "\x7fELF").unwrap();
    std::fs::write(place.join("package.json"), r#"{"package":"of-this-test","version":"1","sha256":"0"}"#).unwrap();
    let said = stdout(&ask(&["6.12", "6.1-xen"]));
    assert!(said.starts_with("0 of 2 kernels are on this machine.\n") && said.contains("of-this-test 1"), "{said}");
}
