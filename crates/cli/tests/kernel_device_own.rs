//! `punctual device run --work FILE`: a user's own work in its device's interrupt, bounded whatever is in the file.

mod support;

use punctual_recording::for_each_activation;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::{code, json, run, start, stderr, stdout, wait_until};

const TEST: &str = "work of a user's own";

/// Has the processor's own code work on the blocks with these numbers; it prints the output and the digest.
const NATIVE: &str = r#"
#include <stdio.h>
int main(void)
{
	static struct punctual_block block = { .samples = 16 };
	unsigned long long digest = 0xcbf29ce484222325ull;

	while (scanf("%llu", &block.number) == 1)
		punctual_work(&block);
	for (int i = 0; i < PUNCTUAL_OUTPUTS; i++) {
		printf("%lld\n", block.output[i]);
		digest = (digest ^ block.output[i]) * 0x100000001b3ull;
	}
	for (int i = 0; i < PUNCTUAL_STATES; i++)
		digest = (digest ^ block.state[i]) * 0x100000001b3ull;
	printf("%016llx\n", digest);
}
"#;

fn root_of_the_sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn encoder() -> String {
    root_of_the_sources().join("examples/encoder.c").display().to_string()
}

fn has_clang() -> bool {
    Command::new("clang").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// This program's programs in the kernel that do a user's own work.
fn programs_in_the_kernel() -> usize {
    let all = libbpf_rs::query::ProgInfoIter::default();
    all.filter(|program| ["device_learns", "device_interrup"].contains(&&*program.name.to_string_lossy())).count()
}

/// What the processor's own code makes of these blocks: outputs and digest, a line each.
fn natively(directory: &Path, blocks: &[u64]) -> Vec<String> {
    let (source, program) = (directory.join("native.c"), directory.join("native"));
    std::fs::write(&source, format!("#include \"{}\"\n{NATIVE}", encoder())).unwrap();
    let include = root_of_the_sources().join("include");
    let built = Command::new("clang").arg("-O2").arg("-I").arg(include).arg(&source).arg("-o").arg(&program).status();
    assert!(built.is_ok_and(|status| status.success()), "the example compiles for this processor");
    let mut child = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let numbers = blocks.iter().fold(String::new(), |mut text, block| {
        let _ = writeln!(text, "{block}");
        text
    });
    child.stdin.take().unwrap().write_all(numbers.as_bytes()).unwrap();
    stdout(&child.wait_with_output().unwrap()).lines().map(str::to_owned).collect()
}

/// Runs a device with this work for a while; what stands under `contexts`.
fn device(directory: &Path, name: &str, words: &[&str]) -> Value {
    let words = [&["device", "run"], words, &["-q", "--json", "-o", name]].concat();
    let output = run(directory, &words);
    assert_eq!(code(&output), 0, "{words:?}: {}{}", stdout(&output), stderr(&output));
    json(&output)["contexts"][0].clone()
}

#[test]
fn an_encoder_ends_where_it_is_wanted_and_as_this_processor_has_it() {
    requires!("work of a user's own", "real-time priority", "BPF", "BTF");
    if !has_clang() {
        return support::skip(TEST, "there is no clang");
    }
    let directory = tempfile::tempdir().unwrap();
    let mut met = 0;
    let contexts = [
        ("irq", "device in an interrupt"),
        ("softirq", "device in a softirq"),
        ("thread:80", "real-time priority"),
        ("thread:other", "real-time priority"),
    ];
    for (context, capability) in contexts {
        if let Err(reason) = support::allows(capability) {
            support::skip(context, &reason);
            continue;
        }
        let name = context.replace(':', "-");
        let one = device(directory.path(), &name, &["encoder", "--work", &encoder(), "--context", context, "-D", "4s"]);
        let own = &one["own"];
        let mut blocks = Vec::new();
        for_each_activation(&directory.path().join(&name), |row| {
            if !row.cut {
                blocks.push(row.block);
            }
        })
        .unwrap();
        assert!(blocks.len() > 2_000, "{one}");
        assert_eq!(own["done"].as_u64(), Some(blocks.len() as u64), "{one}");
        assert_eq!((own["failed"].as_u64(), own["name"].as_str()), (Some(0), Some("encoder.c")), "{one}");
        assert!(own["over"].as_u64() <= own["done"].as_u64());
        let native = natively(directory.path(), &blocks);
        let outputs: Vec<String> = own["output"].as_array().unwrap().iter().map(Value::to_string).collect();
        assert_eq!(native[..8], outputs[..], "{context}: {one}");
        assert_eq!(own["digest"].as_str(), Some(native[8].as_str()), "{context}: {one}");
        // After two seconds of its own time the shaft stands within a few steps of where it is wanted.
        assert!((4_080..=4_112).contains(&own["output"][0].as_i64().unwrap()), "{one}");
        assert_eq!(own["output"][3], 0, "no reading in which both lines changed: {one}");
        met += 1;
    }
    eprintln!("{met} contexts");
}

/// C that is refused, and a word of why.
const REFUSED: [(&str, &str, &str); 10] = [
    ("endless", "int work(struct punctual_block *b) { for (;;) b->state[0]++; }", "does not see that it ends"),
    (
        "asked",
        "int work(struct punctual_block *b) { for (long long i = 0; i < b->state[0]; i++) b->state[i & 7]++; return 0; }",
        "does not see that it ends",
    ),
    ("null", "int work(struct punctual_block *b) { *(volatile int *)0 = 1; return 0; }", "outside of its block"),
    ("wild", "int work(struct punctual_block *b) { return b->state[b->number]; }", "outside of its block"),
    (
        "beyond",
        "int work(struct punctual_block *b) { return *(volatile long long *)&b->state[600]; }",
        "outside of its block",
    ),
    ("global", "long long sum; int work(struct punctual_block *b) { return sum += b->number; }", "block->state"),
    ("calls", "int other(int); int work(struct punctual_block *b) { return other(1); }", "does not have"),
    (
        "helper",
        "static long (*help)(void) = (void *)5; int work(struct punctual_block *b) { return help(); }",
        "function of the kernel's",
    ),
    ("wrong", "int work(struct punctual_block *b) { return c; }", "wrong.c:2:45: use of undeclared identifier 'c'"),
    ("header", "#include <stdio.h>\nint work(struct punctual_block *b) { return 0; }", "file not found"),
];

#[test]
fn what_loops_or_faults_or_calls_is_refused_in_a_line() {
    requires!("work of a user's own", "BPF", "BTF");
    if !has_clang() {
        return support::skip(TEST, "there is no clang");
    }
    let directory = tempfile::tempdir().unwrap();
    for (name, text, words) in REFUSED {
        let file = format!("{name}.c");
        std::fs::write(directory.path().join(&file), format!("#include \"punctual_work.h\"\n{text}\n")).unwrap();
        let output =
            run(directory.path(), &["device", "run", "encoder", "--work", &file, "-c", "irq", "-D", "1s", "-q"]);
        let said = stderr(&output);
        assert_eq!(code(&output), 1, "{name}: {said}");
        assert!(said.contains(words) && said.contains(&file), "{name}: {said}");
        assert_eq!(said.lines().count(), 1, "{name}: {said}");
        assert!(!directory.path().join("device").exists());
    }
    // No recording was begun by any of them.
    let left = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, REFUSED.len());
    eprintln!("{} files", REFUSED.len());
}

/// It ends, but takes much longer than 20 us.
const EXPENSIVE: &str = "#include \"punctual_work.h\"
int work(struct punctual_block *block)
{
	long long sum = block->number;

	for (int i = 0; i < 60000; i++)
		sum = (sum ^ sum << 5) * 31;
	block->state[0] += sum;
	return block->number & 1;
}
";

#[test]
fn what_takes_too_long_is_counted_and_rests() {
    requires!("work of a user's own", "real-time priority", "BPF", "BTF");
    if !has_clang() {
        return support::skip(TEST, "there is no clang");
    }
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("expensive.c"), EXPENSIVE).unwrap();
    let one = device(
        directory.path(),
        "run",
        &["encoder compute=20us", "--work", "expensive.c", "--context", "irq", "-D", "2s"],
    );
    let (own, blocks) = (&one["own"], &one["blocks"]);
    let number = |value: &Value| value.as_u64().unwrap();
    assert!(number(&own["done"]) > 10 && number(&own["over"]) == number(&own["done"]), "{one}");
    // Every second block says that it failed; which ones are worked on is the budget's choice.
    assert!(number(&own["failed"]) > 0 && number(&own["failed"]) < number(&own["done"]), "{one}");
    assert!(number(&blocks["refused"]) > number(&own["done"]), "{one}");
    assert!(number(&own["longest_ns"]) > number(&own["block_ns"]) / 2, "{one}");
    // 2 % of each window are allowed, and the block that went beyond.
    assert!(one["share"].as_f64().unwrap() < 0.2, "{one}");
    assert_eq!(one["keeps_up"], false);
    eprintln!("{} blocks done, {} refused", own["done"], blocks["refused"]);
}

#[test]
fn nothing_of_it_stays_when_the_process_is_killed() {
    requires!("work of a user's own", "real-time priority", "BPF", "BTF");
    if !has_clang() {
        return support::skip(TEST, "there is no clang");
    }
    let directory = tempfile::tempdir().unwrap();
    let before = programs_in_the_kernel();
    let words = ["device", "run", "encoder", "--work", &encoder(), "-c", "irq", "-D", "60s", "-q", "-o", "killed"];
    let mut child = start(directory.path(), &words);
    assert!(wait_until(|| programs_in_the_kernel() > before && directory.path().join("killed").exists()));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(wait_until(|| programs_in_the_kernel() <= before), "its programs left the kernel");
}

/// In a thread: what ends the process in its first block, and a word of what is said.
const KILLED: [(&str, &str, &str); 4] = [
    ("endless", "for (;;) block->state[0]++;", "in one block"),
    ("null", "*(volatile int *)0 = 1;", "outside of its memory"),
    ("illegal", "__builtin_trap();", "instruction that is none"),
    (
        "asks",
        "#ifdef __x86_64__\n__asm__ volatile(\"syscall\" : : \"a\"(39) : \"rcx\", \"r11\", \"memory\");\n#endif\n",
        "signal 9 killed it",
    ),
];

fn work_that(directory: &Path, name: &str, does: &str) -> String {
    let text = format!(
        "#include \"punctual_work.h\"\nint work(struct punctual_block *block)\n{{\n#ifndef __bpf__\n{does}\n#endif\nreturn 0;\n}}\n"
    );
    let file = format!("{name}.c");
    std::fs::write(directory.join(&file), text).unwrap();
    file
}

#[test]
fn in_a_thread_what_loops_or_faults_is_killed_and_nothing_else() {
    requires!("work of a user's own", "real-time priority");
    if !has_clang() {
        return support::skip(TEST, "there is no clang");
    }
    let directory = tempfile::tempdir().unwrap();
    let run_in = |context: &str, file: &str, output: &str| {
        let words = ["device", "run", "encoder", "--work", file, "-c", context, "-D", "10s", "-q", "-o", output];
        run(directory.path(), &words)
    };
    let mut met = 0;
    for (name, does, words) in KILLED {
        if name == "asks" && cfg!(not(target_arch = "x86_64")) {
            continue;
        }
        let file = work_that(directory.path(), name, does);
        for context in ["thread:80", "thread:other"] {
            let output = run_in(context, &file, "none");
            let said = stderr(&output);
            assert_eq!(code(&output), 1, "{name} in {context}: {said}");
            assert!(said.contains(words) && said.lines().count() == 1, "{name} in {context}: {said}");
            assert!(!directory.path().join("none").exists());
            met += 1;
        }
    }
    // Later on, the run ends with what has been measured, and says why.
    for (name, does, words) in KILLED.iter().take(2) {
        let file = work_that(directory.path(), name, &format!("if (block->number == 600) {does}"));
        let output = run_in("thread:80", &file, name);
        assert_eq!(code(&output), 1, "{name}: {}", stderr(&output));
        let document = std::fs::read_to_string(directory.path().join(name).join("recording.json")).unwrap();
        let document: Value = serde_json::from_str(&document).unwrap();
        assert_eq!(document["ended"]["reason"], "failed", "{name}: {}", document["ended"]);
        assert!(document["ended"].to_string().contains(words), "{name}: {}", document["ended"]);
        let mut blocks = 0;
        for_each_activation(&directory.path().join(name), |row| blocks += u64::from(!row.cut)).unwrap();
        assert!(blocks > 300 && blocks <= 600, "{name}: {blocks}");
        met += 1;
    }
    eprintln!("{met} processes killed");
}

/// The processes of a user's own work below this one.
fn workers_of(parent: u32) -> Vec<String> {
    let is_worker = |pid: &String| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        words.split(|byte| *byte == 0).any(|word| word == b"__work") && status.contains(&format!("PPid:\t{parent}\n"))
    };
    let names =
        std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).filter(is_worker).collect()
}

#[test]
fn its_process_ends_with_the_one_that_is_killed() {
    requires!("work of a user's own", "real-time priority");
    if !has_clang() {
        return support::skip(TEST, "there is no clang");
    }
    let directory = tempfile::tempdir().unwrap();
    let words =
        ["device", "run", "encoder", "--work", &encoder(), "-c", "thread:80", "-D", "60s", "-q", "-o", "killed"];
    let mut child = start(directory.path(), &words);
    let mut workers = Vec::new();
    assert!(wait_until(|| {
        workers = workers_of(child.id());
        !workers.is_empty() && directory.path().join("killed").exists()
    }));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(workers.len(), 1);
    assert!(wait_until(|| !support::is_alive(&workers[0])), "its process is gone");
}
