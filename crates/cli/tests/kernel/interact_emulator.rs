//! `punctual interact` on a shell in a terminal emulator: the answer names what the shell waits for, and not the
//! kernel's worker that passes terminal data along in between.

use crate::requires;
use crate::support::interact::run_at_home;
use crate::support::interact_window::needs;
use crate::support::{self, code, stderr};
use punctual_recording::{InteractionPart, Outcome, for_each_interaction_part, read_interactions};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

/// How many keys are typed.
const TYPED: usize = 24;
/// At least this many must be judged.
const MIN_MET: usize = 12;
/// The shortest time that the shell's command sleeps, ns.
const SLEEPS_NS: u64 = 20_000_000;
const SHELL: &str = "slow-shell";

/// Types at the shell in this emulator; returns, by input, the parts of what was seen and split.
fn used(via: &str, emulator: &[&str]) -> BTreeMap<u32, Vec<InteractionPart>> {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let shell = directory.path().join(SHELL);
    let text = "#!/bin/bash\nstty raw -echo\nwhile read -rsN1 key; do sleep 0.02; printf x; done\n";
    std::fs::write(&shell, text).unwrap();
    std::fs::set_permissions(&shell, std::fs::Permissions::from_mode(0o755)).unwrap();
    let keys: String = ('a'..='z').cycle().take(TYPED).collect();
    let script = format!("name = \"slow\"\n[pace]\nmedian = \"150ms\"\nspread = 0.1\n[[step]]\ntype = \"{keys}\"\n");
    std::fs::write(directory.path().join("slow.toml"), script).unwrap();
    let shell = shell.display().to_string();
    let words = ["interact", "-q", "--via", via, "-o", "a.punctual", "--script", "slow.toml", "--"];
    let output = run_at_home(directory.path(), &[&words[..], emulator, &[&shell]].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let recording = directory.path().join("a.punctual");
    let mut parts: BTreeMap<u32, Vec<InteractionPart>> = BTreeMap::new();
    for_each_interaction_part(&recording, |part| parts.entry(part.number).or_default().push(part)).unwrap();
    let inputs = read_interactions(&recording).unwrap();
    let is_key = |number: &u32| {
        let input = inputs.iter().find(|input| input.number == *number);
        input.is_some_and(|input| input.kind == "key" && input.outcome == Some(Outcome::Seen))
    };
    parts.retain(|number, _| is_key(number));
    parts
}

fn holds(via: &str, emulator: &[&str]) {
    let (mut met, mut apart, mut wrong) = (0, 0, Vec::new());
    for _ in support::attempts(support::MAX_ATTEMPTS) {
        for parts in used(via, emulator).into_values() {
            let ns = |is_it: &dyn Fn(&InteractionPart) -> bool| {
                parts.iter().filter(|part| is_it(part)).map(|part| part.ns).sum::<u64>()
            };
            let all = ns(&|_| true);
            // On a busy machine not all evidence is copied in time, and two keys before one drawing count as one.
            if parts.iter().map(|part| part.unknown_ns).sum::<u64>() * 10 > all || all < SLEEPS_NS {
                apart += 1;
                continue;
            }
            met += 1;
            // Whether the wait for the shell, which waits for the sleeping command, is as long as the sleep.
            let shells = ns(&|part| part.kind == "wait" && part.name.contains(SHELL));
            let says_so = parts.iter().any(|part| part.name.contains(SHELL) && part.detail.contains("sleep"));
            // The worker itself may wait for a CPU that others want.
            if shells + 1_000_000 < SLEEPS_NS || !says_so {
                wrong.push(parts);
            }
        }
        eprintln!("{via}: {met} judged, {} wrong, {apart} set apart", wrong.len());
        // If there are few, a single one says nothing.
        if met >= MIN_MET && wrong.len() * 12 <= met {
            break;
        }
    }
    assert!(met >= MIN_MET, "too few: {met} beside {apart}");
    assert!(wrong.len() * 12 <= met, "{} of {met} wrong: {wrong:#?}", wrong.len());
}

#[test]
fn what_a_shell_waits_for_is_named_in_xterm() {
    requires!("interact xterm's shell", "terminal", "flight recorder", "kernel's thread ids", "unshifted clock");
    needs!("interact xterm's shell", "Xvfb", "xterm", "bash");
    holds("x11", &["xterm", "-e"]);
}

#[test]
fn what_a_shell_waits_for_is_named_in_foot() {
    requires!("interact foot's shell", "terminal", "flight recorder", "kernel's thread ids", "unshifted clock");
    needs!("interact foot's shell", "sway", "foot", "bash");
    holds("wayland", &["foot"]);
}
