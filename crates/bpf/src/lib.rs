//! Compiles BPF programs in build scripts, and holds the headers that programs of several crates share.
//!
//! * `include/kernel.h`: the few kernel types that programs look into; `nesting.h`, `per_cpu.h`: what is looked up in per-CPU
//!   memory; `callback.h`: timers whose callbacks run in softirq context; `ordered.h`: order that loose processors keep, too.
//! * `codes.h`, made here from the tables of `punctual-codes`: numbers that programs write and this process reads.
//!
//! The crate whose build script calls this depends on `libbpf-sys` directly, which hands over
//! where libbpf's headers stand.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "build scripts talk to cargo through it")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles `directory/NAME.bpf.c` to `$OUT_DIR/NAME.bpf.o` for each name.
///
/// The compiler is `$BPF_CLANG`, or `clang`.
///
/// # Panics
/// With one clear line where the compiler is missing or refuses, as build scripts report errors.
pub fn compile(directory: &Path, names: &[&str]) {
    compile_with(directory, &[], names);
}

/// The same with headers of other crates' directories.
///
/// # Panics
/// As [`compile`].
pub fn compile_with(directory: &Path, others: &[&Path], names: &[&str]) {
    println!("cargo:rerun-if-env-changed=BPF_CLANG");
    let shared = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/include"));
    let looked_into: Vec<&Path> = [directory, shared].into_iter().chain(others.iter().copied()).collect();
    for headers in &looked_into {
        println!("cargo:rerun-if-changed={}", headers.display());
    }
    let clang = std::env::var("BPF_CLANG").unwrap_or_else(|_| "clang".to_owned());
    let output = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let headers = std::env::var_os("DEP_BPF_INCLUDE").expect("the crate depends on libbpf-sys directly");
    std::fs::write(output.join("codes.h"), punctual_codes::c_header()).expect("cargo's directory can be written");
    for name in names {
        let source = directory.join(format!("{name}.bpf.c"));
        let status = Command::new(&clang)
            .args(["-g", "-O2", "-target", "bpf", "-mcpu=v3", "-std=gnu11", "-Wall", "-Wextra", "-Werror"])
            // The BPF_PROG macro names a context argument that most programs do not use.
            .args(["-Wno-unused-parameter", "-fno-ident"])
            .arg("-I")
            .arg(&headers)
            .args(looked_into.iter().flat_map(|headers| [Path::new("-I"), headers]))
            .arg("-I")
            .arg(&output)
            .args(architecture_headers())
            .arg("-c")
            .arg(&source)
            .arg("-o")
            .arg(output.join(format!("{name}.bpf.o")))
            .status();
        match status {
            Ok(status) if status.success() => {}
            Ok(_) => panic!("{clang} could not compile {}", source.display()),
            Err(error) => {
                panic!("cannot run {clang} ({error}): install clang, or set BPF_CLANG; scripts/setup does it for you")
            }
        }
    }
}

/// Debian and its kin keep `asm/types.h` under the architecture's name, or where its cross compiler's headers are: a
/// compiler for BPF looks into neither.
fn architecture_headers() -> Vec<String> {
    let architecture = std::env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let places = [format!("/usr/include/{architecture}-linux-gnu"), format!("/usr/{architecture}-linux-gnu/include")];
    let place = places.into_iter().find(|place| Path::new(place).join("asm/types.h").is_file());
    place.map_or_else(Vec::new, |place| vec!["-I".to_owned(), place])
}
