//! `scripts/ppp-in-a-guest`: a pppd at the terminal of each of two modems, on a kernel that has PPP.

use crate::support::guests::has_guest;
use crate::support::{code, skip, stderr, stdout, tests_all};
use std::path::Path;
use std::process::Command;

const NAME: &str = "two_pppds_reach_each_other";

/// What the script calls.
const PROGRAMS: [&str; 9] =
    ["qemu-system-x86_64", "busybox", "bash", "setpriv", "unshare", "apt-cache", "apt-get", "dpkg-deb", "xz"];

#[test]
fn two_pppds_reach_each_other_over_two_modems() {
    if !tests_all() {
        return skip(NAME, "it downloads a kernel and boots it: ./test --all has it");
    }
    for program in PROGRAMS {
        if punctual_lab::userland::find(program).is_none() {
            return skip(NAME, &format!("{program} is not installed"));
        }
    }
    let punctual = Path::new(env!("CARGO_BIN_EXE_punctual"));
    let built = punctual.parent().unwrap();
    if !built.ends_with("debug") || !built.join("kernels").is_file() {
        return skip(NAME, "the program that boots guests is not built (cargo build -p punctual-conformance)");
    }
    let directory = tempfile::tempdir().unwrap();
    let scratch = directory.path().join("scratch-of-this-test");
    std::fs::create_dir(&scratch).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/ppp-in-a-guest");
    let mut command = Command::new(script);
    command.arg(directory.path().join("packages")).env("TMPDIR", &scratch);
    command.env("PUNCTUAL", punctual).env("PUNCTUAL_BUILT", "1").env("CARGO_TARGET_DIR", built.parent().unwrap());
    let output = command.output().unwrap();
    let (said, complaints) = (stdout(&output), stderr(&output));
    if complaints.contains("error: no packages from Debian") {
        return skip(NAME, complaints.trim());
    }
    assert_eq!(code(&output), 0, "{said}{complaints}");
    for words in [
        "A: remote IP address 10.9.8.2\n",
        "B: remote IP address 10.9.8.1\n",
        "3 packets transmitted, 3 packets received",
        "4,000 bytes by TCP in ",
        "A    called ",
        "B    answered ",
        "  far hung up\n",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(said.matches("1 call connected, ").count(), 2, "{said}");
    assert!(!has_guest(scratch.to_str().unwrap()), "it left a guest");
    assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0, "it left files");
}
