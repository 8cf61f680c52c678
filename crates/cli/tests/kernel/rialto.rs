//! Reservations by slots and time constraints: where they are refused, and what they give beside a spinning process, in
//! a guest with one CPU.

use crate::support::guests::kernel;
use crate::support::{code, json, run, skip, stderr, stdout, tests_all};
use serde_json::Value;

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
        assert!(stderr(&output).contains("sched_ext"), "{}", stderr(&output));
    } else if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1) {
        assert_eq!(code(&output), 1);
        assert!(stderr(&output).contains("it serves one CPU"), "{}", stderr(&output));
    }
}

/// A window may lack what edges and interrupts take, and by how much the edge that begins its slot came late: what comes
/// before an edge depends on the program's bytes, once 98 us (docs/rialto.md).
const MIN_NS: u64 = 1_900_000;
/// And it has no more, except where the edge that ends its slot came late.
const BUDGET_NS: u64 = 2_000_000;
/// A refusal is an answer, not the end of a wait: half of them come within this, before the next slot could.
const MAX_MEDIAN_NS: u64 = 1_000_000;
/// And none takes longer than two periods of whoever asks, whose slot may end before it has asked.
const MAX_REFUSAL_NS: u64 = 16_000_000;
/// An edge that comes later than this is lost.
const MAX_LATE_NS: u64 = 500_000;

/// Boots a guest of a kernel in which a process spins; returns what commands left there: the answers by their names.
fn guest(directory: &std::path::Path, kernel: &str, before: &str, last: &[&str], names: &[&str]) -> Vec<Value> {
    let before = format!("(while :; do :; done) & {before}");
    let mut words = vec!["lab", "run", "-q", "--seeds", "1", "-o", "x", "--before", &before];
    words.extend(["--kernel", kernel, "--"]);
    words.extend(last);
    let output = run(directory, &words);
    assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
    let place = directory.join("x").join(kernel);
    let read = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}: {text}", path.display()))
    };
    let mut answers = vec![read(place.join("seed-1.txt"))];
    answers.extend(names.iter().map(|name| read(place.join("seed-1").join(name))));
    answers
}

const KERNEL: &str = "newest-rt";

/// Why no guest can be asked.
fn missing() -> Option<&'static str> {
    let kernels = json(&run(std::path::Path::new("/"), &["lab", "kernels", KERNEL, "--json"]));
    let is_here = kernels["kernels"][0]["is_here"] == true;
    let has_qemu = punctual_lab::userland::find("qemu-system-x86_64").is_some();
    (!is_here || !has_qemu).then_some("QEMU or the kernel newest-rt is not here")
}

fn number(answer: &Value, name: &str) -> u64 {
    answer[name].as_u64().unwrap_or_else(|| panic!("{name}: {answer}"))
}

/// A reservation for threads with a name that none of them has, and one for those that spin.
const NOBODY: &str = "punctual rialto run 2/8 --hard --thread nobody -D 300ms --json -- sh -c 'while :; do :; done' \
                      >/out/nobody.json";
const WINDOWS: &str = "punctual rialto run 2/8 --hard -D 1s --json -- sh -c 'while :; do :; done' >/out/windows.json";

/// Checks the windows of a reservation on a kernel.
fn assert_windows(kernel: &str, nobody: &Value, answer: &Value) {
    assert!(nobody["seen_ns"] == 0 && nobody["exit_code"] == 0, "{nobody}");
    assert!(number(answer, "seen_ns") > 900_000_000, "{answer}");
    let latest_ns = number(answer, "edge_latest_ns");
    assert!(latest_ns < MAX_LATE_NS, "{answer}");
    let (min_ns, max_ns) = (MIN_NS.saturating_sub(latest_ns), BUDGET_NS + latest_ns);
    assert!(number(answer, "least_ns") >= min_ns && number(answer, "most_ns") <= max_ns, "{answer}");
    assert!(answer["taken_away"].is_null() && answer["joined"] == false && answer["moved"] == 0, "{answer}");
    eprintln!("{kernel}: {} to {} ns in each window of 8 ms", number(answer, "least_ns"), number(answer, "most_ns"));
}

/// Without `PREEMPT_RT` there is more that the clock's thread may not preempt.
#[test]
fn two_of_eight_milliseconds_are_there_in_each_window_on_a_stock_kernel_too() {
    const NAME: &str = "two_of_eight_milliseconds on newest";
    let kernel = match kernel("newest") {
        Ok(kernel) if tests_all() => kernel,
        Ok(_) => return skip(NAME, "it takes long: ./test --all has it"),
        Err(reason) => return skip(NAME, &reason),
    };
    let directory = tempfile::tempdir().unwrap();
    let spins = ["rialto", "run", "2/8", "--hard", "-D", "1s", "--json", "--", "sh", "-c", "while :; do :; done"];
    let answers = guest(directory.path(), &kernel, NOBODY, &spins, &["nobody.json"]);
    assert_windows(&kernel, &answers[1], &answers[0]);
}

/// The watchdog removes a scheduler beneath which a thread that could run has waited for 30 s. One millisecond of sixteen is
/// left for all threads but one here, for longer than that.
#[test]
fn the_watchdog_leaves_a_nearly_full_scheduler_alone() {
    let reason = (!tests_all()).then_some("it takes long: ./test --all has it");
    if let Some(reason) = reason.or_else(missing) {
        return skip("the_watchdog_leaves_a_nearly_full_scheduler_alone", reason);
    }
    let directory = tempfile::tempdir().unwrap();
    let spins = ["rialto", "run", "15/16", "--hard", "-D", "35s", "--json", "--", "sh", "-c", "while :; do :; done"];
    let answers = guest(directory.path(), KERNEL, "true", &spins, &[]);
    let answer = &answers[0];
    assert!(number(answer, "seen_ns") > 30_000_000_000, "{answer}");
    assert!(answer["taken_away"].is_null() && answer["exit_code"] == 0, "{answer}");
}

/// How many time constraints: a thousand, or fewer when the rest of the tests are waiting.
fn count() -> &'static str {
    if tests_all() { "1000" } else { "100" }
}

/// One guest is asked all of it, since this kernel takes longest to boot: the windows of a reservation, several at once, and time
/// constraints.
#[test]
fn windows_hold_beside_a_spinning_process_and_several_are_served_and_each_granted_time_constraint_is_met() {
    if let Some(reason) = missing() {
        return skip("windows_hold_and_several_are_served", reason);
    }
    let directory = tempfile::tempdir().unwrap();
    // Three come one after another; for the last one, which needs a slot in every four, the others have to move. One
    // more finds no room, for as long as those are there: how long it takes to begin, beside them and a process that spins,
    // depends on the program's bytes. The first one leaves when all others are gone.
    let spin = "sh -c 'while :; do :; done'";
    let also = |name: &str, reservation: &str, time: &str| {
        format!("punctual rialto run {reservation} --hard -D {time} --json -- {spin} >/out/{name}.json &")
    };
    let several = format!(
        "cat >/tmp/several <<'END'\n{}\nsleep 0.3\n{}\nsleep 0.3\npunctual rialto run 15/16 --json -- true >/out/full.json\n\
         wait\nEND\n\
         punctual rialto run 2/16 --hard -D 20s --json -- sh -c '(bash /tmp/several; kill $$) & while :; do :; done' \\
         >/out/first.json || true",
        also("second", "2/8", "1700ms"),
        also("third", "1/4", "1200ms")
    );
    let constraints = [
        "rialto",
        "run",
        "2/8",
        "--hard",
        "-q",
        "--",
        "punctual",
        "rialto",
        "constraints",
        "--json",
        "--count",
        count(),
    ];
    let names = ["nobody.json", "windows.json", "first.json", "second.json", "third.json", "full.json"];
    let before = format!("{NOBODY}\n{WINDOWS}\n{several}");
    let answers = guest(directory.path(), KERNEL, &before, &constraints, &names);
    let [asked, nobody, windows, first, second, third, full] = answers.as_slice() else {
        panic!("{} answers", answers.len())
    };
    assert_windows(KERNEL, nobody, windows);
    for (answer, budget_ns) in [(first, 2_000_000), (second, 2_000_000), (third, 1_000_000)] {
        assert!(answer["taken_away"].is_null() && number(answer, "seen_ns") > 200_000_000, "{answer}");
        let mean = number(answer, "mean_ns");
        assert!(mean * 100 > budget_ns * 90 && mean * 100 < budget_ns * 110, "{budget_ns}: {answer}");
    }
    assert_eq!([first, second, third].map(|answer| answer["joined"] == true), [false, true, true]);
    assert_eq!(
        (number(first, "moved"), number(second, "moved"), number(third, "moved")),
        (1, 1, 0),
        "{first} {second}"
    );
    assert!(full["error"].to_string().contains("not enough free slots"), "{full}");

    let (granted, refused) = (number(asked, "granted"), number(asked, "refused"));
    assert_eq!((granted + refused).to_string(), count(), "{}", asked["verdict"]);
    assert!(granted > 20 && refused > 10, "{}", asked["verdict"]);
    assert_eq!(number(asked, "met"), granted, "{}", asked["verdict"]);
    let (median_ns, most_ns) = (number(asked, "refusal_median_ns"), number(asked, "refusal_most_ns"));
    assert!(median_ns < MAX_MEDIAN_NS && most_ns < MAX_REFUSAL_NS, "{median_ns}, {most_ns}: {}", asked["verdict"]);
    // Nothing but what is promised makes them so.
    assert!(number(asked, "met_though_refused") * 2 < refused, "{}", asked["verdict"]);
    eprintln!("{}", asked["verdict"]);
}
