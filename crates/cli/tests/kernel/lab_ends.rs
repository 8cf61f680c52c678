//! However a guest ends, it is one line, nothing of it is left, and the exit code is 1.
//!
//! In place of the emulator runs a script that ends as one does: what is tested is what becomes of that.

use crate::support::guests::{SCRATCH, beside_emulator, has_guest, missing, put_emulator, put_left};
use crate::support::{self, SmallDisk, code, copy_golden, json, skip, stderr, stdout, tests_all, wait_until};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Output;

const STANDS_STILL: &str = "kill -STOP $$";

/// A lab with the emulator that was put there, until it has ended.
fn lab_there(directory: &Path, words: &[&str]) -> Output {
    let scratch = directory.join(SCRATCH);
    let output = beside_emulator(directory).arg("lab").args(words).output().unwrap();
    // Where the program is killed, its guest is killed after it.
    let is_gone = || !has_guest(scratch.to_str().unwrap());
    assert!(is_gone() || output.status.signal().is_some() && wait_until(is_gone), "a guest is left: {words:?}");
    assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0, "files are left: {words:?}");
    output
}

/// A lab where this script is the emulator, until it has ended.
fn lab(directory: &Path, emulator: &str, words: &[&str]) -> Output {
    put_emulator(directory, emulator);
    lab_there(directory, words)
}

#[test]
fn every_end_of_a_guest_is_one_line() {
    if let Some(reason) = missing() {
        return skip("every_end_of_a_guest_is_one_line", &reason);
    }
    // What the emulator does, options, and the line.
    let ends: [(&str, &[&str], &str); 7] = [
        (
            "echo 'qemu-system-x86_64: Error loading uncompressed kernel without PVH ELF Note' >&2; exit 1",
            &[],
            "the guest ended without a result: qemu-system-x86_64: Error loading uncompressed kernel without PVH ELF Note \
             (a kernel for the lab is built with CONFIG_PVH)",
        ),
        (
            "echo '[    0.9] Kernel panic - not syncing: VFS' >&2; echo '[    0.9] ---[ end Kernel panic ]---' >&2",
            &[],
            "the guest ended without a result: [    0.9] Kernel panic - not syncing: VFS",
        ),
        ("echo nonsense", &[], "the guest ended without a result"),
        ("while :; do :; done", &["--timeout", "1s"], "the guest had not ended after 1 s of processor time"),
        (
            "truncate -s 400M /proc/self/fd/1; kill -STOP $$",
            &["--memory", "256"],
            "the guest had written more than 64 MiB beside its memory",
        ),
        (
            // In one write: whoever looks sees the last line as soon as there is too much.
            "printf '\\nagain\\n' | dd of=/proc/self/fd/2 bs=1M seek=70 conv=notrunc status=none; kill -STOP $$",
            &[],
            "the guest had written more than 64 MiB to its console: again",
        ),
        (STANDS_STILL, &[], "the guest made no progress for 120 s"),
    ];
    let mut met = 0;
    for (emulator, more, expected) in ends {
        if emulator == STANDS_STILL && !tests_all() {
            skip("a guest that stands still", "it takes two minutes: ./test --all has it");
            continue;
        }
        let directory = tempfile::tempdir().unwrap();
        let mut words = vec!["run", "-q", "--json", "--kernel", "./vmlinux", "--seeds", "1", "-o", "out"];
        words.extend(more);
        words.extend(["--", "record", "-D", "1s"]);
        let output = lab(directory.path(), emulator, &words);
        let (ended, answer, said) = (code(&output), json(&output), stdout(&output) + &stderr(&output));
        let guest = &answer["systems"][0]["guests"][0];
        assert_eq!((ended, guest["said"].as_str()), (1, Some(expected)), "{emulator}: {said}");
        assert_eq!((&guest["end"], &answer["exit_code"]), (&"failed".into(), &1.into()), "{emulator}: {said}");
        met += 1;
    }
    assert!(met >= 6, "only {met} ends were met");
}

/// The emulator hands out what a guest leaves, and once takes the whole program with it.
#[test]
fn a_killed_sweep_goes_on_where_it_was_and_another_scenario_is_refused_in_every_part() {
    if let Some(reason) = missing() {
        return skip("a_killed_sweep_goes_on_where_it_was", &reason);
    }
    let directory = tempfile::tempdir().unwrap();
    put_left(directory.path(), "done\n", "");
    let emulator = "echo run >>runs\nif [ $(wc -l <runs) = 2 ]; then kill -KILL $PPID; exit; fi\ntar -C left -cf - .";
    put_emulator(directory.path(), emulator);
    let sweep = |length: &str, more: &[&str]| {
        let mut words = vec!["run", "-q", "--json", "--jobs", "1", "--kernel", "./vmlinux", "--seeds", "1..3"];
        words.extend(["-o", "out"]);
        words.extend(more);
        words.extend(["--", "record", "-D", length]);
        lab_there(directory.path(), &words)
    };
    let runs = || std::fs::read_to_string(directory.path().join("runs")).unwrap().lines().count();
    let kept = |output: &Output| {
        let answer = json(output);
        let guests = answer["systems"][0]["guests"].as_array().unwrap();
        guests.iter().map(|guest| guest["kept"] == true).collect::<Vec<bool>>()
    };
    let killed = sweep("1s", &[]);
    assert_eq!((killed.status.signal(), runs()), (Some(libc::SIGKILL), 2));
    let resumed = sweep("1s", &[]);
    assert_eq!((code(&resumed), kept(&resumed), runs()), (0, vec![true, false, false], 4), "{}", stdout(&resumed));
    let again = sweep("1s", &[]);
    assert_eq!((kept(&again), runs()), (vec![true; 3], 4));

    // What is to run is not there, but the rest of the grid is.
    std::fs::remove_file(directory.path().join("out/vmlinux/seed-2.json")).unwrap();
    for more in [&["--shard", "2/3"][..], &[]] {
        let other = sweep("2s", more);
        let said = stdout(&other) + &stderr(&other);
        assert!(code(&other) == 1 && said.contains("choose another directory") && runs() == 4, "{more:?}: {said}");
    }
    let part = sweep("1s", &["--shard", "2/3"]);
    assert_eq!((code(&part), kept(&part), runs()), (0, vec![false], 5), "{}", stdout(&part));
}

/// The emulator is also another lab, which stores in the same directory while this one's guest runs.
#[test]
fn what_another_lab_has_stored_meanwhile_stays() {
    if let Some(reason) = missing() {
        return skip("what_another_lab_has_stored_meanwhile_stays", &reason);
    }
    let directory = tempfile::tempdir().unwrap();
    let left = put_left(directory.path(), "first\n", "");
    let emulator = "for other in same another; do [ ! -d $other ] || cp -r one/. $other/; done\ntar -C left -cf - .";
    put_emulator(directory.path(), emulator);
    let lab = |place: &str, length: &str| {
        let words = ["run", "-q", "--json", "--kernel", "./vmlinux", "--seeds", "1", "-o", place, "--", "record", "-D"];
        lab_there(directory.path(), &[&words[..], &[length]].concat())
    };
    let stored = |place: &str| {
        let path = directory.path().join(place).join("vmlinux/seed-1.txt");
        std::fs::read_to_string(path).unwrap()
    };
    let one = lab("one", "1s");
    assert_eq!((code(&one), stored("one").as_str()), (0, "first\n"), "{}", stdout(&one));
    std::fs::write(left.join(".output"), "second\n").unwrap();
    let same = lab("same", "1s");
    assert_eq!((code(&same), stored("same").as_str()), (0, "first\n"), "{}", stdout(&same));
    let another = lab("another", "2s");
    assert_eq!((code(&another), stored("another").as_str()), (1, "first\n"), "{}", stdout(&another));
    assert!(stdout(&another).contains("choose another directory"), "{}", stdout(&another));
}

/// On a full disk the next guest would fail too.
#[test]
fn a_full_disk_is_one_line_and_begins_no_other_guest() {
    if let Some(reason) = missing() {
        return skip("a_full_disk_is_one_line_and_begins_no_other_guest", &reason);
    }
    let directory = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(directory.path(), "40k") else {
        return skip("a_full_disk_is_one_line_and_begins_no_other_guest", "this user may not mount");
    };
    let left = put_left(directory.path(), "done\n", "");
    std::fs::write(left.join("large"), "x".repeat(200_000)).unwrap();
    let place = disk.path().join("x").display().to_string();
    let words = ["run", "-q", "--jobs", "1", "--kernel", "./vmlinux", "--seeds", "1..2", "-o", &place];
    let emulator = "echo run >>runs\ntar -C left -cf - .";
    let output = lab(directory.path(), emulator, &[&words[..], &["--", "record", "-D", "1s"]].concat());
    let said = stdout(&output) + &stderr(&output);
    let runs = std::fs::read_to_string(directory.path().join("runs")).unwrap();
    assert_eq!((code(&output), said.contains("No space left"), runs.as_str()), (1, true, "run\n"), "{said}");
}

/// A guest's archive is its own affair: one that cannot be taken costs the other guests nothing, and what is no file is counted.
#[test]
fn what_a_guest_leaves_is_taken_within_bounds_and_what_is_left_out_is_said() {
    if let Some(reason) = missing() {
        return skip("what_a_guest_leaves_is_taken_within_bounds", &reason);
    }
    let directory = tempfile::tempdir().unwrap();
    let left = put_left(directory.path(), "done\n", "");
    std::fs::create_dir_all(left.join("d/".repeat(20))).unwrap();
    let files = [("kept.tmp", "text"), ("kept.json", "more"), ("kept", "most")];
    for (name, text) in files {
        std::fs::write(left.join(name), text).unwrap();
    }
    std::fs::write(left.join("d/".repeat(20)).join("deep"), "").unwrap();
    std::os::unix::fs::symlink("/etc/hostname", left.join("link")).unwrap();
    // The first guest leaves too much, the second a link.
    let emulator = "echo run >>runs\n[ $(wc -l <runs) = 1 ] || exclude=--exclude=./d\ntar -C left $exclude -cf - .";
    let words = ["run", "-q", "--json", "--jobs", "1", "--kernel", "./vmlinux", "--seeds", "1..2", "-o", "out"];
    let output = lab(directory.path(), emulator, &[&words[..], &["--", "record", "-D", "1s"]].concat());
    let answer = json(&output);
    let guests = answer["systems"][0]["guests"].as_array().unwrap();
    let said = guests[0]["said"].as_str().unwrap_or_default();
    assert!(said.contains("lies deeper than") && said.lines().count() == 1, "{answer:#}");
    assert_eq!(
        (&guests[0]["end"], &guests[1]["end"], code(&output)),
        (&"failed".into(), &"ran".into(), 1),
        "{answer:#}"
    );
    let expected = "./vmlinux, seed 2: 1 file of /out left out: links, devices, or names that are no text";
    assert_eq!(answer["notes"][0], expected, "{answer:#}");
    let place = directory.path().join("out/vmlinux");
    for (name, text) in files {
        assert_eq!(std::fs::read_to_string(place.join("seed-2").join(name)).unwrap(), text, "{name}");
    }
    assert!(!place.join("seed-2/link").exists() && !place.join("seed-1.json").exists());
}

/// A kernel goes on without a parameter that it does not take, and says so in its log only.
#[test]
fn a_parameter_that_a_kernel_does_not_take_is_noted_once() {
    if let Some(reason) = missing() {
        return skip("a_parameter_that_a_kernel_does_not_take_is_noted_once", &reason);
    }
    let directory = tempfile::tempdir().unwrap();
    let log = "[    0.17] Unknown kernel command line parameters \"nokaslr preemt=full\", will be passed to user space.\n\
               [    0.26] Dynamic Preempt: unsupported mode: none\n[    0.27] Dynamic Preempt: lazy\n";
    put_left(directory.path(), "done\n", log);
    let kernel = "./vmlinux,preempt=none,preemt=full,threadirqs";
    let words = ["run", "-q", "--json", "--kernel", kernel, "--seeds", "1..2", "-o", "out", "--", "record", "-D", "1s"];
    let output = lab(directory.path(), "tar -C left -cf - .", &words);
    let note = format!("{kernel}: this kernel does not take preempt=none, preemt=full, and ran without");
    assert_eq!((code(&output), &json(&output)["notes"]), (0, &serde_json::json!([note])), "{}", stdout(&output));
    // What was kept says so, too.
    let again = json(&lab_there(directory.path(), &words));
    assert_eq!(
        (&again["systems"][0]["guests"][0]["kept"], &again["notes"][0]),
        (&true.into(), &note.into()),
        "{again:#}"
    );
}

/// What make puts into its copy of the sources goes into the guest: the emulator hands out a result only if it is there.
#[test]
fn a_module_is_built_in_the_tree_of_its_kernel_and_goes_into_the_guest() {
    let without = ["make", "gcc"].into_iter().find(|program| punctual_lab::userland::find(program).is_none());
    if let Some(reason) = missing().or(without.map(|program| format!("{program} is not installed"))) {
        return skip("a_module_is_built_in_the_tree_of_its_kernel", &reason);
    }
    let directory = tempfile::tempdir().unwrap();
    let rule = "modules:\n\tcp $(M)/driver.c $(M)/driver.ko\n";
    let tree =
        [("vmlinux", "\x7fELF"), ("Makefile", rule), ("include/config/auto.conf", ""), ("scripts/mod/modpost", "")];
    let beside =
        [("../driver/driver.c", "no C"), ("../left/.code", "0"), ("../left/.output", ""), ("../left/.kernel-log", "")];
    for (name, text) in tree.into_iter().chain(beside).chain([("Module.symvers", "")]) {
        let path = directory.path().join("linux").join(name);
        std::fs::create_dir_all(directory.path().join("linux")).unwrap();
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    put_emulator(directory.path(), "busybox cpio -t 2>/dev/null | grep -qx module.ko || exit\ntar -C left -cf - .");
    let mut words = vec!["run", "-q", "--json", "--kernel", "./linux", "--module", "./driver", "--seeds", "1"];
    words.extend(["-o", "out", "--", "record", "-D", "1s"]);
    let output = lab_there(directory.path(), &words);
    let answer = json(&output);
    assert_eq!((code(&output), &answer["systems"][0]["guests"][0]["end"]), (0, &"ran".into()), "{answer:#}");
    assert_eq!(answer["module"], "./driver");
    std::fs::remove_file(directory.path().join("linux/Module.symvers")).unwrap();
    let output = lab_there(directory.path(), &words);
    let said = json(&output)["error"].as_str().unwrap_or_default().to_owned();
    assert!(code(&output) == 1 && said.starts_with("module for kernel ./linux: "), "{said}");
    assert!(said.contains("Module.symvers is missing") && said.lines().count() == 1, "{said}");
}

/// A kernel on Xen: what the emulator is told to boot, and what is said where Xen gives up.
#[test]
fn a_hypervisor_boots_the_kernel_and_one_that_gives_up_is_one_line() {
    if let Some(reason) = missing() {
        return skip("a_hypervisor_boots_the_kernel", &reason);
    }
    let directory = tempfile::tempdir().unwrap();
    for (name, file) in [("6.1", "vmlinux"), ("6.1-xen", "xen")] {
        let place = directory.path().join("kernels").join(name);
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join(file), "\x7fELF").unwrap();
        let package = r#"{"package":"of-this-test","version":"1","sha256":"0"}"#;
        std::fs::write(place.join("package.json"), package).unwrap();
    }
    // Where it is told something else, or the guest ends in another way, it gives up without these words.
    let emulator = "case \"$PWD $*\" in */kernels/6.1' -M q35 -cpu max,-la57,-smap,-smep,-pks,-pku '*' -kernel '*\
                    '/kernels/6.1-xen/xen '*' -initrd vmlinux console=hvc0 '*' nohz=off,/proc/self/fd/0 '*) ;; \
                    *) echo \"$PWD $*\" >&2; exit;; esac\n\
                    grep -aqx 'reboot -f' || exit\n\
                    printf '(XEN) ***\\n(XEN) Panic on CPU 0:\\n(XEN) Could not construct domain 0\\n(XEN) ***\\n' >&2";
    let mut words = vec!["run", "-q", "--json", "--kernel", "6.1-xen,nohz=off", "--seeds", "1", "-o", "out"];
    words.extend(["--", "record", "-D", "1s"]);
    let output = lab(directory.path(), emulator, &words);
    let (ended, answer) = (code(&output), json(&output));
    let expected = "the guest ended without a result: (XEN) Panic on CPU 0: Could not construct domain 0";
    assert_eq!((ended, answer["systems"][0]["guests"][0]["said"].as_str()), (1, Some(expected)), "{answer:#}");
    assert_eq!(answer["systems"][0]["package"], "of-this-test 1 on of-this-test 1");
    let note = answer["notes"][0].as_str().unwrap_or_default();
    assert!(note.starts_with("6.1-xen: a hypervisor lies between this kernel and the machine."), "{answer:#}");
}

#[test]
fn what_keeps_a_guest_from_being_looked_at_is_one_line() {
    if let Some(reason) = missing() {
        return skip("what_keeps_a_guest_from_being_looked_at_is_one_line", &reason);
    }
    let directory = tempfile::tempdir().unwrap();
    let emulator = "echo '[    0.9] Kernel panic - not syncing: VFS' >&2";
    let words = ["why", "-q", "--kernel", "./vmlinux", "-o", "out", "--", "record", "-D", "1s", "--why", "100us"];
    let output = lab(directory.path(), emulator, &words);
    let said = stderr(&output);
    assert_eq!((code(&output), said.lines().count(), stdout(&output)), (1, 1, String::new()), "{said}");
    let line = "error: the guest ended without a result: [    0.9] Kernel panic - not syncing: VFS";
    assert_eq!(said.trim_end(), line);
}

/// The emulator hands out a recording with evidence, and takes the whole program with it once it is told to watch.
#[test]
fn a_look_from_outside_that_is_killed_leaves_no_guest() {
    if let Some(reason) = missing() {
        return skip("a_look_from_outside_that_is_killed_leaves_no_guest", &reason);
    }
    let directory = tempfile::tempdir().unwrap();
    let left = put_left(directory.path(), "", "");
    copy_golden("why.punctual", &left.join("recording.punctual"));
    let emulator = "case \"$*\" in *-plugin*) echo watched >>runs; kill -KILL $PPID; while :; do :; done;; esac\n\
                    tar -C left -cf - .";
    let words = ["why", "-q", "--kernel", "./vmlinux", "-o", "out", "--", "record", "-D", "1s", "--why", "100us"];
    let killed = lab(directory.path(), emulator, &words);
    let watched = std::fs::read_to_string(directory.path().join("runs")).unwrap_or_default();
    let said = stdout(&killed) + &stderr(&killed);
    assert_eq!((killed.status.signal(), watched.as_str()), (Some(libc::SIGKILL), "watched\n"), "{said}");
}

#[test]
fn a_kernel_that_finds_no_room_is_one_line_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(directory.path(), "40k") else {
        return skip("a_kernel_that_finds_no_room_is_one_line", "this user may not mount");
    };
    let kernels = disk.path().join("kernels");
    std::fs::write(directory.path().join("vmlinux"), [&b"\x7fELF"[..], &[7; 100_000]].concat()).unwrap();
    let mut command = support::punctual();
    command.current_dir(directory.path()).env("PUNCTUAL_KERNELS", &kernels);
    let output = command.args(["lab", "run", "-q", "--kernel", "./vmlinux", "--", "record"]).output().unwrap();
    let said = stderr(&output);
    assert_eq!((code(&output), said.lines().count()), (1, 1), "{said}");
    assert!(said.contains("No space left"), "{said}");
    assert_eq!(std::fs::read_dir(kernels.join("own")).unwrap().count(), 0, "a part of the kernel is left");
}

/// Before anything is booted: no emulator is needed to find that out.
#[test]
fn what_a_lab_lacks_is_said_before_a_guest() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("vmlinux"), "\x7fELF").unwrap();
    let nothing = directory.path().join("nothing");
    std::fs::create_dir(&nothing).unwrap();
    let ask = |module: &[&str]| {
        let mut command = support::punctual();
        command.current_dir(directory.path()).env("PUNCTUAL_KERNELS", directory.path().join("kernels"));
        command.env("PATH", &nothing).args(["lab", "run", "-q", "--kernel", "./vmlinux", "-o", "out"]).args(module);
        let output = command.args(["--", "record"]).output().unwrap();
        let said: Vec<String> = stderr(&output).lines().map(str::to_owned).collect();
        (code(&output), said)
    };
    let (ended, said) = ask(&[]);
    let expected = [
        "error: qemu-system-x86_64 is not installed",
        "hint: on Debian: apt install qemu-system-x86 busybox-static bash util-linux",
    ];
    assert_eq!((ended, said.as_slice()), (1, expected.map(str::to_owned).as_slice()));
    let (ended, said) = ask(&["--module", "shipped"]);
    assert_eq!((ended, said.len()), (129, 1), "{said:?}");
    assert!(said[0].contains("give kernels by their names"), "{said:?}");
    assert!(!directory.path().join("out").exists());
}
