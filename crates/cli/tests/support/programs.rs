//! BPF programs in the kernel: those of one test, whatever else measures on this machine at the time.

use std::collections::BTreeSet;
use std::path::Path;

/// Every process that a test starts has this in its environment, with the test's own number.
pub(crate) const MARK: &str = "PUNCTUAL_TEST_PROCESS";

/// The word that marks a process as this test's.
fn mark() -> Vec<u8> {
    format!("{MARK}={}", std::process::id()).into_bytes()
}

/// The kernel's ids of the programs with one of these names, except those that somebody else's process holds: nobody
/// holds what a process left when it ended. The kernel keeps 15 characters of a name.
pub(crate) fn of_this_test(names: &[&str]) -> BTreeSet<u32> {
    let is_named = |name: &str| names.iter().any(|own| own.chars().take(15).eq(name.chars()));
    let all = libbpf_rs::query::ProgInfoIter::default();
    let named = all.filter(|program| is_named(&program.name.to_string_lossy()));
    let mut found: BTreeSet<u32> = named.map(|program| program.id).collect();
    for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        if found.is_empty() {
            break;
        }
        let is_others = || {
            let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
            let own = mark();
            process.file_name().to_str() != Some(&std::process::id().to_string())
                && !environment.split(|byte| *byte == 0).any(|word| word == own)
        };
        let held = held_by(&process.path());
        if !found.is_disjoint(&held) && is_others() {
            found.retain(|program| !held.contains(program));
        }
    }
    found
}

/// The programs that a process holds, by their own descriptors or by those of what attaches them.
pub(crate) fn held_by(process: &Path) -> BTreeSet<u32> {
    let files = std::fs::read_dir(process.join("fdinfo")).into_iter().flatten().flatten();
    let texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
    texts
        .filter_map(|text| {
            text.lines().find_map(|line| line.strip_prefix("prog_id:").map(|id| id.trim().parse().ok())).flatten()
        })
        .collect()
}
