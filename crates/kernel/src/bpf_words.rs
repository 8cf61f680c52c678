//! What the BPF library and the kernel's verifier say, put into the words of whoever measures.

use crate::{Missing, features};
use libbpf_rs::PrintLevel;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    /// What the library and the verifier said last to this thread; read when a load fails. Several threads may load at once.
    static SAID: RefCell<String> = const { RefCell::new(String::new()) };
}
static VERBOSE: AtomicBool = AtomicBool::new(false);

/// Keeps what the library and the verifier print off the standard error stream, or passes it on where it is wanted.
/// Call it before anything else in this crate.
pub fn listen(verbose: bool) {
    VERBOSE.store(verbose, Ordering::Relaxed);
    libbpf_rs::set_print(Some((PrintLevel::Info, hear)));
}

fn hear(_level: PrintLevel, message: String) {
    if VERBOSE.load(Ordering::Relaxed) {
        eprint!("{message}");
    }
    // At the end of a thread nobody asks for it any more.
    let _ = SAID.try_with(|said| said.borrow_mut().push_str(&message));
}

/// Forgets what was said to this thread until now.
pub(crate) fn begin() {
    // The library says how large accepted programs are only at its most verbose level.
    let level = if crate::verifier::is_measuring() { PrintLevel::Debug } else { PrintLevel::Info };
    libbpf_rs::set_print(Some((level, hear)));
    SAID.with_borrow_mut(String::clear);
}

/// What the library and the verifier said about the object that this thread loaded or linked last.
pub fn said() -> String {
    SAID.with_borrow(String::clone)
}

/// What the kernel lacks, judging by what the library and the verifier said; `None` where that says nothing.
pub(crate) fn lack(said: &str) -> Option<Missing> {
    let lines = || said.lines().map(|line| line.trim().trim_start_matches("libbpf: "));
    let unresolved = || lines().any(|line| line.contains(UNRESOLVED));
    let field = || Missing::new("a field of its structures that the program reads", None);
    lines().find_map(lack_in_line).or_else(|| unresolved().then(field))
}

/// What the library makes a program call in place of a field that is missing; it does not always say which field.
const UNRESOLVED: &str = "unknown#195896080";

fn lack_in_line(line: &str) -> Option<Missing> {
    if line.contains("failed to find valid kernel BTF") || line.contains("kernel BTF is missing") {
        return Some(Missing::new("type information (BTF, with CONFIG_DEBUG_INFO_BTF=y)", None));
    }
    if line.contains("bpf_timer cannot be used for PREEMPT_RT") {
        return Some(Missing::new("bpf_timer, which PREEMPT_RT kernels refuse", None));
    }
    if let Some((_, target)) = line.split_once("failed to resolve CO-RE relocation ") {
        // `<byte_off> [108] struct bpf_hrtimer.cb.callback_fn (0:0:1 @ offset 16)`
        let target = target.split_once("] ").map_or(target, |(_, target)| target);
        let target = target.split(" (").next().unwrap_or(target);
        return Some(Missing::new(format!("`{target}`"), None));
    }
    if let Some(name) = line.split_once("extern (func ksym) '").and_then(|(_, rest)| rest.split_once('\'')) {
        return Some(features::missing_function(name.0));
    }
    if let Some(tracepoint) = line.split_once("failed to find kernel BTF type ID of '") {
        let name = tracepoint.1.split('\'').next().unwrap_or_default();
        return Some(features::missing_tracepoint(name.trim_start_matches("btf_trace_")));
    }
    if line.contains(UNRESOLVED) {
        return None;
    }
    // `invalid func unknown#158`, `unknown func bpf_get_current_task_btf#158`,
    // `program of this type cannot use helper bpf_x#158`.
    let names_helper =
        line.starts_with("invalid func ") || line.contains("unknown func ") || line.contains("helper bpf_");
    if let Some((name, number)) = line.split_once('#').filter(|_| names_helper) {
        let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
        if let Some(known) = digits.parse().ok().and_then(features::helper_numbered) {
            return Some(known.missing());
        }
        let name = name.rsplit(' ').next().filter(|name| name.starts_with("bpf_"));
        let name = name.map_or_else(|| format!("number {digits}"), |name| format!("`{name}`"));
        return Some(Missing::new(format!("the BPF helper {name}, or withholds it (lockdown)"), None));
    }
    if line.contains("BPF_STX uses reserved fields") || line.contains("BPF_ATOMIC uses") {
        return Some(features::ATOMICS.missing());
    }
    if line.contains("number of funcs in func_info doesn't match") {
        return Some(features::CALLED_BACK.missing());
    }
    if line.starts_with("invalid bpf_context access") {
        return Some(Missing::new("an argument that one of its tracepoints has in another place", None));
    }
    if line.contains("BPF program is too large") || line.contains("BPF program load failed: -E2BIG") {
        return Some(Missing::new("room for a BPF program of this size in its verifier", None));
    }
    None
}

/// Whether the verifier looked at a program, which it does only for users who may load one.
pub(crate) fn was_verified(said: &str) -> bool {
    said.lines().any(|line| line.trim_start().starts_with("processed ") && line.contains(" insns"))
}

/// The program that the kernel refused, as the library names it.
pub(crate) fn refused_program(said: &str) -> Option<&str> {
    let line = said.lines().find(|line| line.contains("BPF program load failed"))?;
    line.split_once("prog '")?.1.split('\'').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_to_one_thread_is_not_heard_by_another() {
        begin();
        hear(PrintLevel::Warn, "mine".to_owned());
        let other = std::thread::spawn(|| {
            let before = said();
            begin();
            hear(PrintLevel::Warn, "another's".to_owned());
            (before, said())
        });
        assert_eq!(other.join().unwrap(), (String::new(), "another's".to_owned()));
        assert_eq!(said(), "mine");
        begin();
        assert_eq!(said(), "");
    }

    /// What the kernels of 2020 to 2026 said about this program's own objects.
    #[test]
    fn what_a_kernel_said_becomes_what_it_lacks() {
        let cases = [
            (
                "libbpf: prog 'drill': -- BEGIN PROG LOAD LOG --\nBPF_STX uses reserved fields\nprocessed 0 insns\n",
                "BPF operations that read and change memory in one (from Linux 5.12 on)",
            ),
            (
                "<invalid CO-RE relocation>\nfailed to resolve CO-RE relocation <byte_off> [108] struct bpf_hrtimer.cb.callback_fn (0:0 @ offset 16)\n",
                "`struct bpf_hrtimer.cb.callback_fn`",
            ),
            (
                "libbpf: extern (func ksym) 'bpf_local_irq_restore': not found in kernel or module BTFs\n",
                "the function `bpf_local_irq_restore` (from Linux 6.14 on)",
            ),
            (
                "12: (85) call unknown#158\ninvalid func unknown#158\n",
                "the BPF helper `bpf_get_current_task_btf` (from Linux 5.11 on)",
            ),
            (
                "libbpf: prog 'note': BPF program load failed: -E2BIG\n",
                "room for a BPF program of this size in its verifier",
            ),
            (
                "invalid bpf_context access off=8 size=8\n",
                "an argument that one of its tracepoints has in another place",
            ),
            (
                "libbpf: failed to find valid kernel BTF\nlibbpf: Error loading vmlinux BTF: -ESRCH\n",
                "type information (BTF, with CONFIG_DEBUG_INFO_BTF=y)",
            ),
            (
                "program of this type cannot use helper bpf_probe_read_kernel#113\n",
                "the BPF helper `bpf_probe_read_kernel`, or withholds it (lockdown)",
            ),
            (
                "12: (85) call unknown#195896080\ninvalid func unknown#195896080\n",
                "a field of its structures that the program reads",
            ),
            (
                "number of funcs in func_info doesn't match number of subprogs\n",
                "BPF functions that are called through pointers (from Linux 5.13 on)",
            ),
        ];
        for (said, lacks) in cases {
            assert_eq!(lack(said).map(|missing| missing.to_string()).as_deref(), Some(lacks), "{said}");
        }
        assert_eq!(lack("libbpf: loading object 'x' from buffer\nprocessed 3 insns\n"), None);
        let said = "libbpf: prog 'waking': BPF program load failed: -EINVAL\n";
        assert_eq!(refused_program(said), Some("waking"));
        assert!(!was_verified(said));
        assert!(was_verified(
            "R2 invalid mem access 'scalar'\nprocessed 35 insns (limit 1000000) max_states_per_insn 0\n"
        ));
    }
}
