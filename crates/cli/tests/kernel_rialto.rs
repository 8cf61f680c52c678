//! Reservations by slots: where they are refused, and what they give in a guest with one CPU beside a spinning process.

mod support;

use support::{code, json, run, skip, stderr, stdout};

#[test]
fn what_no_plan_or_machine_gives_is_one_line() {
    let directory = tempfile::tempdir().unwrap();
    for (words, wanted) in
        [(["rialto", "run", "2/13", "--", "true"], 129), (["rialto", "run", "9/8", "--", "true"], 129)]
    {
        let output = run(directory.path(), &words);
        assert_eq!(code(&output), wanted, "{words:?}: {}", stderr(&output));
        assert_eq!(stderr(&output).lines().next().map(|line| line.starts_with("error: ")), Some(true));
    }
    let output = run(directory.path(), &["rialto", "run", "2/8", "--", "true"]);
    if punctual_kernel::bpf::kernel_record_has("sched_ext_ops", "name") != Some(true) {
        assert_eq!(code(&output), 1);
        assert!(stderr(&output).contains("lacks sched_ext"), "{}", stderr(&output));
    } else if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1) {
        assert_eq!(code(&output), 1);
        assert!(stderr(&output).contains("it serves one CPU"), "{}", stderr(&output));
    }
}

/// What docs/rialto.md promises of PREEMPT_RT: a window may lack what the edges take.
const MIN_NS: u64 = 1_900_000;
const MAX_NS: u64 = 2_000_000;

#[test]
fn two_of_eight_milliseconds_are_there_in_each_window_beside_a_spinning_process() {
    let kernel = "newest-rt";
    let kernels = json(&run(std::path::Path::new("/"), &["lab", "kernels", kernel, "--json"]));
    let is_here = kernels["kernels"][0]["is_here"] == true;
    if !is_here || punctual_lab::userland::find("qemu-system-x86_64").is_none() {
        return skip("two_of_eight_milliseconds", "QEMU or the kernel newest-rt is not here");
    }
    let directory = tempfile::tempdir().unwrap();
    // First one whose reservation is for threads of a name that none of them has.
    let before = "(while :; do :; done) & punctual rialto run 2/8 --hard --thread nobody -D 300ms --json -- sh -c \
                  'while :; do :; done' >/out/nobody.json";
    let mut words = vec!["lab", "run", "-q", "--seeds", "1", "-o", "x", "--before", before];
    words.extend(["--kernel", kernel, "--", "rialto", "run", "2/8", "--hard", "-D", "1s", "--json"]);
    words.extend(["--", "sh", "-c", "while :; do :; done"]);
    let output = run(directory.path(), &words);
    assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
    let text = std::fs::read_to_string(directory.path().join("x").join(kernel).join("seed-1.txt")).unwrap();
    let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
    let nobody = directory.path().join("x").join(kernel).join("seed-1/nobody.json");
    let nobody: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(nobody).unwrap()).unwrap();
    assert!(nobody["seen_ns"] == 0 && nobody["exit_code"] == 0, "{nobody}");
    let number = |name: &str| answer[name].as_u64().unwrap_or_else(|| panic!("{name}: {text}"));
    assert!(number("seen_ns") > 900_000_000, "{text}");
    assert!(number("least_ns") >= MIN_NS && number("most_ns") <= MAX_NS, "{text}");
    assert!(answer["taken_away"].is_null(), "{text}");
    eprintln!("{} to {} ns in each window of 8 ms", number("least_ns"), number("most_ns"));
}
