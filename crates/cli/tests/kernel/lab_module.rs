//! Drivers under test: one that reports about itself becomes a recording, and one that breaks ends with one line,
//! without leaving a guest.
//!
//! Building and booting take 15 to 30 s each: one of each by default, all with `PUNCTUAL_TEST_ALL=1`.

use crate::support::guests::{has_guest, kernel};
use crate::support::{self, code, json, run, skip, stderr, stdout, tests_all};
use serde_json::Value;
use std::path::Path;

/// Why no module can be built and run here; `None` if one can.
fn missing() -> Option<String> {
    for program in ["qemu-system-x86_64", "busybox", "bash", "setpriv", "make", "gcc", "dpkg-deb", "apt-get"] {
        if punctual_lab::userland::find(program).is_none() {
            return Some(format!("{program} is not installed"));
        }
    }
    let list = json(&run(Path::new("/"), &["lab", "kernels", "6.12", "--json"]));
    let is_here = list["kernels"][0]["is_here"] == true;
    (!is_here).then(|| "kernel 6.12 is not here (punctual lab kernels 6.12 --fetch)".to_owned())
}

/// Whether the message is that the mirror does not serve the headers: a test cannot change that.
fn has_no_headers(said: &str) -> bool {
    ["taking the lists", "looking for", "downloading", "do not come from a mirror", "archive-keyring"]
        .iter()
        .any(|words| said.contains(words))
}

/// Runs a lab with this module; returns its exit code, its answer, and its other output.
fn lab(directory: &Path, module: &str, kernels: &[&str], command: &[&str]) -> (i32, Value, String) {
    let mut words = vec!["lab", "run", "-q", "--json", "--seeds", "1", "-o", "out", "--module", module];
    kernels.iter().for_each(|kernel| words.extend(["--kernel", kernel]));
    words.push("--");
    words.extend(command);
    let scratch = directory.join("scratch-of-this-test");
    std::fs::create_dir_all(&scratch).unwrap();
    let output = support::punctual().current_dir(directory).env("TMPDIR", &scratch).args(&words).output().unwrap();
    assert!(!has_guest(scratch.to_str().unwrap()), "{module} left a guest");
    assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0, "{module} left files");
    (code(&output), json(&output), stdout(&output) + &stderr(&output))
}

fn source(directory: &Path, name: &str, text: &str) {
    let within = directory.join(name);
    std::fs::create_dir(&within).unwrap();
    let around = "module_init(begin);\nMODULE_LICENSE(\"GPL\");\nMODULE_DESCRIPTION(\"test\");\n";
    let includes = "#include <linux/delay.h>\n#include <linux/module.h>\n#include <linux/timer.h>\n#include \"punctual_module.h\"\n";
    std::fs::write(within.join(format!("{name}.c")), format!("{includes}{text}\n{around}")).unwrap();
}

#[test]
fn the_shipped_driver_is_measured_with_the_stages_of_all_others_and_gives_the_same_bytes_again() {
    if let Some(reason) = missing() {
        return skip("the_shipped_driver_is_measured", &reason);
    }
    let directory = tempfile::tempdir().unwrap();
    let (mut met, mut kernels) = (0, vec!["6.12"]);
    if tests_all() {
        kernels.extend(["6.1", "newest-rt"]);
    }
    let command = ["record", "-D", "500ms"];
    let (ended, answer, said) = lab(directory.path(), "shipped,period_us=500", &kernels, &command);
    if has_no_headers(&said) {
        return skip("the_shipped_driver_is_measured", &said);
    }
    assert_eq!(ended, 0, "{said}");
    assert_eq!(answer["module"], "shipped,period_us=500");
    for kernel in &kernels {
        let of_kernel = |row: &&Value| row["system"] == **kernel;
        let rows: Vec<&Value> = answer["stages"].as_array().unwrap().iter().filter(of_kernel).collect();
        let count = |stage: &str| rows.iter().find(|row| row["stage"] == stage).and_then(|row| row["count"].as_u64());
        for stage in ["irq", "softirq", "thread", "total"] {
            // 500 ms, every 500 us.
            assert!(count(stage).is_some_and(|count| (900..=1_001).contains(&count)), "{kernel} {stage}: {said}");
            met += 1;
        }
        assert_eq!(count("user"), None, "a thread of the kernel has no user space");
        assert!(rows.iter().all(|row| row["measure"] == "fifo:80"), "{said}");
    }
    assert_eq!(met, kernels.len() * 4);
    if tests_all() {
        let again = tempfile::tempdir().unwrap();
        lab(again.path(), "shipped,period_us=500", &["6.12"], &command);
        let place = |directory: &Path| directory.join("out/6.12/seed-1.punctual");
        let mut compare = std::process::Command::new("diff");
        let difference = compare.arg("-r").args([place(directory.path()), place(again.path())]).output().unwrap();
        assert!(difference.status.success(), "{}", stdout(&difference));
    }
}

/// What `examples/bursts` does for 500 us at a time, and the stage of punctual's own wakeups that it holds up on a stock
/// kernel; with PREEMPT_RT both can be preempted.
#[test]
fn a_careless_driver_holds_up_a_stock_kernel_and_hardly_one_with_preempt_rt() {
    const NAME: &str = "a_careless_driver_holds_up_a_stock_kernel";
    if !tests_all() {
        return skip(NAME, "it takes long: ./test --all has it");
    }
    let kernels = [kernel("newest"), kernel("newest-rt")];
    if let Some(reason) = missing().or_else(|| kernels.iter().find_map(|kernel| kernel.clone().err())) {
        return skip(NAME, &reason);
    }
    let mut met = 0;
    for (how, stage) in [("spinlock", "irq"), ("tasklet", "thread")] {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("bursts")).unwrap();
        let example = include_str!("../../../../examples/bursts/bursts.c");
        std::fs::write(directory.path().join("bursts/bursts.c"), example).unwrap();
        let module = format!("./bursts,how={how}");
        let (ended, answer, said) =
            lab(directory.path(), &module, &["newest", "newest-rt"], &["record", "-D", "500ms"]);
        if has_no_headers(&said) {
            return skip(NAME, &said);
        }
        assert_eq!(ended, 0, "{how}: {said}");
        assert!(answer["notes"][0].to_string().contains("gives no stamps"), "{how}: {said}");
        let max_ns = |kernel: &str| {
            let mut rows = answer["stages"].as_array().unwrap().iter();
            let row = rows.find(|row| row["system"] == kernel && row["stage"] == stage);
            row.and_then(|row| row["max_ns"].as_u64()).unwrap_or_else(|| panic!("{how}, {kernel}: {said}"))
        };
        let (stock_ns, real_time_ns) = (max_ns("newest"), max_ns("newest-rt"));
        // A hundred bursts in 500 wakeups: some of them begin shortly before one is due.
        assert!(stock_ns > 300_000 && real_time_ns * 4 < stock_ns, "{how}: {stock_ns} and {real_time_ns} ns: {said}");
        met += 1;
    }
    assert_eq!(met, 2);
}

/// A late activation of the driver's, looked at from outside: its own functions ran, and have names.
#[test]
fn functions_of_a_module_have_names_from_outside() {
    let missing = missing().or_else(|| (!tests_all()).then(|| "it takes long: ./test --all has it".to_owned()));
    if let Some(reason) = missing {
        return skip("functions_of_a_module_have_names_from_outside", &reason);
    }
    let directory = tempfile::tempdir().unwrap();
    let ask = |place: &str| {
        let mut words = vec!["lab", "why", "-q", "--json", "--kernel", "6.12", "-o", place, "--module", "shipped"];
        words.extend(["--", "record", "-D", "200ms", "--why", "15us"]);
        run(directory.path(), &words)
    };
    let mut output = ask("a");
    if has_no_headers(&(stdout(&output) + &stderr(&output))) {
        return skip("functions_of_a_module_have_names_from_outside", &stderr(&output));
    }
    // A guest that did not run the same way again is refused: once is no fault.
    if json(&output)["error"].to_string().contains("other bytes than before") {
        output = ask("b");
    }
    assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
    let answer = json(&output);
    let names: Vec<&str> = (answer["functions"].as_array().unwrap().iter())
        .filter_map(|function| function["name"].as_str())
        .filter(|name| name.ends_with(" [punctual_driver]"))
        .collect();
    assert!(!names.is_empty(), "no function of the driver's: {answer:#}");
    eprintln!("functions of the driver's: {}", names.join(", "));
}

#[test]
fn a_module_that_breaks_is_one_line_and_leaves_no_guest() {
    if let Some(reason) = missing() {
        return skip("a_module_that_breaks_is_one_line", &reason);
    }
    let broken = [
        // What the module does, the expected message, and whether it comes before any guest.
        ("unwritten", "static int __init begin(void) { return undeclared; }", "'undeclared' undeclared", true),
        (
            "unlinked",
            "extern int nobody(void);\nstatic int __init begin(void) { return nobody(); }",
            "\"nobody\"",
            true,
        ),
        ("oops", "static int __init begin(void) { *(volatile int *)8 = 1; return 0; }", "NULL pointer", false),
        ("unwilling", "static int __init begin(void) { return -ENODEV; }", "No such device", false),
        (
            "later",
            "static void late(struct timer_list *timer) { *(volatile int *)8 = 1; }\nstatic DEFINE_TIMER(timer, late);\n\
             static int __init begin(void) { return mod_timer(&timer, jiffies + 10) * 0; }",
            "NULL pointer",
            false,
        ),
        ("spins", "static int __init begin(void) { for (;;) barrier(); return 0; }", "soft lockup", false),
        (
            "waits",
            "static int __init begin(void) { for (;;) msleep(100); return 0; }",
            "not been loaded after 10 s",
            false,
        ),
    ];
    let by_default = ["unwritten", "unlinked", "oops"];
    let mut met = 0;
    for (name, text, expected, is_before) in broken {
        if !tests_all() && !by_default.contains(&name) {
            continue;
        }
        let directory = tempfile::tempdir().unwrap();
        source(directory.path(), name, text);
        let (ended, answer, said) = lab(directory.path(), name, &["6.12"], &["record", "-D", "3s"]);
        if has_no_headers(&said) {
            return skip("a_module_that_breaks_is_one_line", &said);
        }
        assert_eq!(ended, 1, "{name}: {said}");
        let line = if is_before { &answer["error"] } else { &answer["systems"][0]["guests"][0]["said"] };
        let line = line.as_str().or_else(|| line["message"].as_str()).unwrap_or_default();
        assert!(line.contains(expected) && line.lines().count() == 1, "{name}: {said}");
        assert_eq!(directory.path().join("out").exists(), !is_before, "{name}");
        let left: Vec<_> = std::fs::read_dir(directory.path().join(name)).unwrap().flatten().collect();
        assert_eq!(left.len(), 1, "{name}: the build wrote into the user's directory: {left:?}");
        met += 1;
    }
    assert_eq!(met, if tests_all() { broken.len() } else { by_default.len() });
}

#[test]
fn a_parameter_that_a_module_does_not_have_is_an_error() {
    if let Some(reason) = missing() {
        return skip("a_parameter_that_a_module_does_not_have", &reason);
    }
    let directory = tempfile::tempdir().unwrap();
    let (ended, answer, said) =
        lab(directory.path(), "shipped,nosuch=5,period_us=500", &["6.12"], &["record", "-D", "100ms"]);
    if has_no_headers(&said) {
        return skip("a_parameter_that_a_module_does_not_have", &said);
    }
    let guest = &answer["systems"][0]["guests"][0];
    assert_eq!((ended, guest["command_exit_code"].as_u64()), (1, Some(1)), "{said}");
    assert!(guest["said"].to_string().contains("it has no parameter 'nosuch'"), "{said}");
}

#[test]
fn what_is_no_module_is_refused_before_a_guest() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("empty")).unwrap();
    let mut said = Vec::new();
    for (module, words) in [("shipped,a b", vec!["record"]), ("", vec!["record"]), ("shipped", vec!["recrod"])] {
        let mut all = vec!["lab", "run", "-q", "--kernel", "6.12", "--module", module, "--"];
        all.extend(words);
        let output = run(directory.path(), &all);
        let is_error = |line: &&str| line.starts_with("error: ");
        said.push((code(&output), stderr(&output).lines().filter(is_error).count()));
    }
    assert_eq!(said, [(129, 1); 3]);
    if missing().is_none() {
        for module in ["./absent", "./empty"] {
            let (ended, answer, said) = lab(directory.path(), module, &["6.12"], &["record"]);
            assert!(ended == 1 && answer["exit_code"] == 1 && said.contains(&module[2..]), "{said}");
        }
    }
    assert!(!directory.path().join("out").exists());
}
