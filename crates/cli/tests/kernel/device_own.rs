//! `punctual device run --work FILE`: a user's own work in its device's interrupt, which stays bounded whatever is in
//! the file.

use crate::requires;
use crate::support::{self, code, json, run, start, stderr, stdout, wait_until};
use punctual_recording::for_each_activation;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const TEST: &str = "work of a user's own";

/// Runs the same code natively on the blocks with these numbers; it prints the output and the digest.
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

/// BPF programs of this test's process that do a user's own work; somebody else may run devices too.
fn programs_in_the_kernel() -> usize {
    support::programs::of_this_test(&["device_learns", "device_interrupt"]).len()
}

/// What the code gives for these blocks when it runs natively: outputs and digest, one line each.
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

/// Runs a device with this work for a while; returns its `contexts`.
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
    let contexts = [
        ("irq", "device in an interrupt"),
        ("softirq", "device in a softirq"),
        ("thread:80", "real-time priority"),
        ("thread:other", "real-time priority"),
    ];
    let allowed = |capability: &str| support::allows(capability).map_err(|reason| support::skip(capability, &reason));
    let contexts: Vec<&str> =
        contexts.iter().filter(|(_, capability)| allowed(capability).is_ok()).map(|(context, _)| *context).collect();
    // All at once, each with its own work.
    let devices: Vec<String> = contexts.iter().map(|context| format!("encoder+{context}")).collect();
    let words: Vec<&str> = devices.iter().map(String::as_str).collect();
    // A thread of normal scheduling may get less of a busy machine; a host may take it from all of them.
    let (source, enough) = (encoder(), 2_000);
    let mut tried = Vec::new();
    let found = support::attempts(support::MAX_ATTEMPTS).find_map(|attempt| {
        let name = format!("all-{attempt}");
        let more = ["--work", &source, "-D", "3s", "-q", "--json", "-o", &name];
        let output = run(directory.path(), &[&["device", "mix"], &words[..], &more].concat());
        assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
        let mut blocks = vec![Vec::new(); contexts.len()];
        for_each_activation(&directory.path().join(&name), |row| {
            if !row.cut {
                blocks[row.device as usize].push(row.block);
            }
        })
        .unwrap();
        tried.push(blocks.iter().map(Vec::len).collect::<Vec<_>>());
        let is_enough = |(context, blocks): (&&str, &Vec<u64>)| {
            blocks.len() > enough || *context == "thread:other" && !blocks.is_empty()
        };
        contexts.iter().zip(&blocks).all(is_enough).then_some((output, blocks))
    });
    let (output, blocks) = found.unwrap_or_else(|| panic!("blocks of {contexts:?}: {tried:?}"));
    for (index, context) in contexts.iter().enumerate() {
        let (one, blocks) = (&json(&output)["contexts"][index], &blocks[index]);
        let own = &one["own"];
        let is_there = blocks.len() > enough;
        assert_eq!(own["done"].as_u64(), Some(blocks.len() as u64), "{one}");
        assert_eq!((own["failed"].as_u64(), own["name"].as_str()), (Some(0), Some("encoder.c")), "{one}");
        assert!(own["over"].as_u64() <= own["done"].as_u64());
        let native = natively(directory.path(), blocks);
        let outputs: Vec<String> = own["output"].as_array().unwrap().iter().map(Value::to_string).collect();
        assert_eq!(native[..8], outputs[..], "{context}: {one}");
        assert_eq!(own["digest"].as_str(), Some(native[8].as_str()), "{context}: {one}");
        // After two seconds of its own time the shaft stands within a few steps of where it is wanted.
        assert!(!is_there || (4_080..=4_112).contains(&own["output"][0].as_i64().unwrap()), "{one}");
        assert_eq!(own["output"][3], 0, "no reading in which both lines changed: {one}");
    }
    eprintln!("{} contexts", contexts.len());
}

/// C that is refused, and a word from the reason.
const REFUSED: [(&str, &str, &str); 16] = [
    (
        "assembly",
        "__asm__(\".pushsection .rodata\\n.inc\" \"bin \\\"/etc/hostname\\\"\\n.popsection\"); int work(struct punctual_block *b) { return 0; }",
        "assembly.c:2:1: inline assembly is refused",
    ),
    (
        "pasted",
        "#define CAT(a, b) a##b\nint work(struct punctual_block *b) { CAT(__as, m__)(\"nop\"); return 0; }",
        "pasted.c:3:52: inline assembly is refused",
    ),
    ("endless", "int work(struct punctual_block *b) { for (;;) b->state[0]++; }", "does not see that it ends"),
    (
        "asked",
        "int work(struct punctual_block *b) { for (long long i = 0; i < b->state[0]; i++) b->state[i & 7]++; return 0; }",
        "does not see that it ends",
    ),
    ("null", "int work(struct punctual_block *b) { *(volatile int *)0 = 1; return 0; }", "a number as an address"),
    ("wild", "int work(struct punctual_block *b) { return b->state[b->number]; }", "outside its block"),
    (
        "beyond",
        "int work(struct punctual_block *b) { return *(volatile long long *)&b->state[600]; }",
        "outside its block",
    ),
    ("global", "long long sum; int work(struct punctual_block *b) { return sum += b->number; }", "block->state"),
    ("calls", "int other(int); int work(struct punctual_block *b) { return other(1); }", "does not define"),
    (
        "helper",
        "static long (*help)(void) = (void *)5; int work(struct punctual_block *b) { return help(); }",
        "kernel function",
    ),
    ("wrong", "int work(struct punctual_block *b) { return c; }", "wrong.c:2:45: use of undeclared identifier 'c'"),
    ("header", "#include <stdio.h>\nint work(struct punctual_block *b) { return 0; }", "#include <stdio.h> is refused"),
    (
        "zero",
        "#include \"/dev/zero\"\nint work(struct punctual_block *b) { return 0; }",
        "#include \"/dev/zero\" is refused",
    ),
    (
        "idle",
        "int work(struct punctual_block *b) { unsigned i = b->number; while (i | 1) i += 2; return 0; }",
        "that it ends",
    ),
    (
        "other",
        "int work(struct punctual_block *b, int n) { return 0; }",
        "it must be int work(struct punctual_block *block)",
    ),
    ("signed", "int work(struct punctual_block *b) { return b->state[0] / b->state[1]; }", ": BPF has no signed"),
];

/// Objects that are refused: clang's additional options, the C code, and a word from the reason.
const OBJECTS: [(&str, &str, &str, &str); 5] = [
    ("plain", "-g0", "int punctual_work(struct punctual_block *b) { return 0; }", "-g"),
    ("two", "-g", "int punctual_work(struct punctual_block *b, int n) { return n; }", "wrong signature"),
    ("void", "-g", "int punctual_work(void *b) { return 0; }", "wrong signature"),
    ("long", "-g", "long punctual_work(struct punctual_block *b) { return 0; }", "wrong signature"),
    ("large", "-DPUNCTUAL_STATES=5120", "int punctual_work(struct punctual_block *b) { return 0; }", "this version's"),
];

#[test]
fn an_object_of_another_function_is_refused_in_a_line() {
    requires!("work of a user's own", "BPF", "BTF");
    if !has_clang() {
        return support::skip(TEST, "there is no clang");
    }
    let directory = tempfile::tempdir().unwrap();
    let header = punctual_context::own::HEADER.replace("#define PUNCTUAL_STATES 512", "");
    for (name, option, text, words) in OBJECTS {
        let states = if option.starts_with("-D") { "" } else { "#define PUNCTUAL_STATES 512\n" };
        let text = format!("#define PUNCTUAL_DECLARES_ONLY\n{states}{header}\n{text}\n");
        let (source, object) = (format!("{name}.c"), format!("{name}.bpf.o"));
        std::fs::write(directory.path().join(&source), text).unwrap();
        let mut clang = Command::new("clang");
        clang.args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", option, "-c", &source, "-o", &object]);
        assert!(clang.current_dir(directory.path()).status().unwrap().success(), "{name}");
        let words_of_it = ["device", "run", "encoder", "--work", &object, "-c", "irq", "-D", "1s", "-q", "--json"];
        let output = run(directory.path(), &words_of_it);
        assert_eq!(code(&output), 1, "{name}: {}{}", stdout(&output), stderr(&output));
        let error = json(&output)["error"].as_str().unwrap_or_default().to_owned();
        assert!(error.contains(words) && error.contains(&object), "{name}: {error}");
    }
    eprintln!("{} objects", OBJECTS.len());
}

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
        assert_eq!(said.lines().filter(|line| !line.starts_with("warning: ")).count(), 1, "{name}: {said}");
        assert!(!directory.path().join("device").exists());
    }
    // None of them began a recording.
    let left = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, REFUSED.len());
    eprintln!("{} files", REFUSED.len());
}

/// Ends, but takes much longer than 20 us.
const EXPENSIVE: &str = "#include \"punctual_work.h\"
int work(struct punctual_block *block)
{
	long long sum = block->number;

	for (int i = 0; i < 60000; i++)
		sum = (sum ^ sum << 5) * 31;
	block->state[0] += sum;
	return block->state[1]++ & 1;
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
    let number = |value: &Value| value.as_u64().unwrap();
    let known_of = |one: &Value| {
        let known = ["processed", "refused", "dropped", "lost"].map(|what| number(&one["blocks"][what]));
        known.iter().sum::<u64>()
    };
    for context in ["irq", "thread:80"] {
        // Where a host takes the CPU at the end, many blocks are still waiting.
        let mut waiting = Vec::new();
        let one = support::attempts(support::MAX_ATTEMPTS).find_map(|attempt| {
            let words = ["encoder compute=20us", "--work", "expensive.c", "--context", context, "-D", "1s"];
            let one = device(directory.path(), &format!("{}-{attempt}", context.replace(':', "")), &words);
            let arrived = number(&one["blocks"]["arrived"]);
            waiting.push((known_of(&one), arrived));
            (arrived <= known_of(&one) + 2 + arrived / 20).then_some(one)
        });
        let one = one.unwrap_or_else(|| panic!("{context}: known, and arrived: {waiting:?}"));
        let (own, blocks) = (&one["own"], &one["blocks"]);
        assert!(number(&own["done"]) > 10 && number(&own["over"]) == number(&own["done"]), "{one}");
        // Every second block that is worked on reports a failure, whichever those are: that depends on the budget.
        assert!(number(&own["failed"]) > 0 && number(&own["failed"]) < number(&own["done"]), "{one}");
        assert!(number(&blocks["refused"]) > number(&own["done"]), "{one}");
        // No block is counted twice: each one that came was worked on, or was not.
        let (arrived, known) = (number(&blocks["arrived"]), known_of(&one));
        assert_eq!(blocks["processed"], own["done"], "{one}");
        assert!(known <= arrived && number(&one["underruns"]) <= arrived, "{known} of {one}");
        assert!(number(&own["longest_ns"]) > number(&own["block_ns"]) / 2, "{one}");
        if context == "irq" {
            // 2 % of each window are allowed, and the block that went over.
            assert!(one["share"].as_f64().unwrap() < 0.2, "{one}");
        }
        assert_eq!(one["keeps_up"], false);
        eprintln!("{context}: {} blocks done, {} refused of {arrived}", own["done"], blocks["refused"]);
    }
}

/// In a thread: what the verifier would refuse ends the work and with it the run, even in its last moments.
const CARELESS: [(&str, &str); 4] = [
    ("divides", "block->output[0] = block->number / (unsigned long long)block->state[5 + (block->number < 900)];"),
    ("beyond", "block->output[0] = block->state[block->number < 448 ? 0 : block->number - 448];"),
    ("last", "if (block->number == 975) __builtin_trap();"),
    ("behind", "if (block->number == 990) block->output[8 + (block->number == 0)] = 1;"),
];

#[test]
fn in_a_thread_careless_work_ends_the_run_and_its_exit_code_says_so() {
    requires!("work of a user's own", "real-time priority");
    if !has_clang() {
        return support::skip(TEST, "there is no clang");
    }
    let directory = tempfile::tempdir().unwrap();
    let mut ended = 0;
    for (name, does) in CARELESS {
        let does = format!("if (block->number < 500) block->state[6] = 1;\n{does}");
        let file = work_that(directory.path(), name, &does);
        let words = ["device", "run", "encoder", "--work", &file, "-c", "thread:80", "-D", "1s", "-q", "--json", "-o"];
        let output = run(directory.path(), &[&words[..], &[name]].concat());
        let (answer, code) = (json(&output), code(&output));
        let end = &answer["contexts"][0]["own"]["ended"];
        // On a busy machine, the last blocks of a run may not come.
        assert_eq!(code, i32::from(!end.is_null()), "{name}: {answer}");
        assert_eq!(answer["error"].is_null(), end.is_null(), "{name}: {answer}");
        ended += code;
    }
    assert!(ended > 0);
    eprintln!("{ended} of {} ended", CARELESS.len());
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

/// In a thread: code that ends the process in its first block, and a word from the message.
const KILLED: [(&str, &str, &str); 6] = [
    ("endless", "for (;;) block->state[0]++;", "in one block"),
    ("null", "*(volatile int *)0 = 1;", "outside its memory"),
    ("illegal", "__builtin_trap();", "invalid instruction"),
    ("asks", "CALL(39, 0);", "signal 9 killed it"),
    ("answers", "CALL(1, 0);", "it read or wrote the channel"),
    ("swallows", "CALL(0, 0);", "it read or wrote the channel"),
];

/// The number of a system call, and after it the call itself, inside a constant of a function: code that jumps there
/// makes the call without any assembly. It passes this first argument, and eight bytes of the block.
const CALL: &str = "#ifndef __bpf__
#define GADGET(number) static __attribute__((noinline, used)) unsigned long gadget_##number(void) \\
{ return 0xc3050f00000000b8 | (unsigned long)number << 8; }
GADGET(0) GADGET(1) GADGET(39)
#define CALL(number, first) do { char *volatile at = (char *)gadget_##number + 2; \\
((long (*)(long, void *, long))at)(first, block, 8); } while (0)
#endif";

fn work_that(directory: &Path, name: &str, does: &str) -> String {
    let text = format!(
        "#include \"punctual_work.h\"\n{CALL}\nint work(struct punctual_block *block)\n{{\n#ifndef __bpf__\n{does}\n#endif\nreturn 0;\n}}\n"
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
        if does.starts_with("CALL") && cfg!(not(target_arch = "x86_64")) {
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
    // After the first blocks, the run ends with what it has measured and says why.
    let is_here = |(_, does, _): &&(&str, &str, &str)| !does.starts_with("CALL") || cfg!(target_arch = "x86_64");
    for (name, does, words) in KILLED.iter().filter(is_here).filter(|(name, ..)| *name != "illegal") {
        // A machine that is held up skips blocks.
        let file = work_that(directory.path(), name, &format!("if (block->number >= 300) {does}"));
        let output = run_in("thread:80", &file, name);
        let (said, told) = (stderr(&output), stdout(&output));
        assert_eq!(code(&output), 1, "{name}: {said}");
        let ended = format!("{file} ended at block ");
        let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>();
        let at = said.split_once(&ended).and_then(|(_, rest)| digits(rest).parse::<u64>().ok());
        let at = at.unwrap_or_else(|| panic!("{name}: {said}"));
        assert!(at >= 300 && said.contains(words) && said.lines().count() == 1, "{name}: {said}");
        assert!(told.starts_with(&format!("{ended}{at}")), "{name}: {told}");
        let document = std::fs::read_to_string(directory.path().join(name).join("recording.json")).unwrap();
        let document: Value = serde_json::from_str(&document).unwrap();
        assert_eq!(document["ended"]["reason"], "failed", "{name}: {}", document["ended"]);
        assert!(document["ended"].to_string().contains(words), "{name}: {}", document["ended"]);
        let mut blocks = 0;
        for_each_activation(&directory.path().join(name), |row| blocks += u64::from(!row.cut)).unwrap();
        assert!(blocks > 100 && blocks <= at, "{name}: {blocks} of {at}");
        met += 1;
    }
    eprintln!("{met} processes killed");
}

/// The processes below this one that do a user's own work.
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

#[test]
fn a_process_that_somebody_stops_ends_the_run_and_holds_nobody_up() {
    requires!("work of a user's own", "real-time priority");
    if !has_clang() {
        return support::skip(TEST, "there is no clang");
    }
    let directory = tempfile::tempdir().unwrap();
    let words =
        ["device", "run", "encoder", "--work", &encoder(), "-c", "thread:80", "-D", "60s", "-q", "-o", "stopped"];
    let child = start(directory.path(), &words);
    let mut workers = Vec::new();
    assert!(wait_until(|| {
        workers = workers_of(child.id());
        !workers.is_empty() && directory.path().join("stopped").exists()
    }));
    let worker = workers[0].parse().unwrap();
    // SAFETY: sends a signal to a process of this test's command, which runs for long.
    unsafe { libc::kill(worker, libc::SIGSTOP) };
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    assert!(stderr(&output).contains("it was kept stopped for a second"), "{}", stderr(&output));
    assert!(wait_until(|| !support::is_alive(&workers[0])), "its process is gone");
}
