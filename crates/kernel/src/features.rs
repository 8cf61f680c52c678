//! What a kernel must have for some of punctual's programs, since when kernels have it, and how that is found out.

use crate::{Missing, Refused};
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{Enum, Enum64, Func};

/// Something that kernels have from some version on. A distribution may have taken it into an older one, or left it out
/// of a newer: what counts is what is found, not the version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feature {
    /// Its name.
    pub name: &'static str,
    /// The first version that has it.
    pub since: &'static str,
    found_by: FoundBy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FoundBy {
    /// A value of an enumeration in the kernel's type information.
    Value(&'static str, &'static str),
    /// A function that the kernel's type information names.
    Function(&'static str),
    /// Loading a program of a few instructions.
    Trial,
}

/// Programs that user space calls.
pub const CALLED_PROGRAMS: Feature = Feature {
    name: "BPF programs that are called",
    since: "5.14",
    found_by: FoundBy::Value("bpf_prog_type", "BPF_PROG_TYPE_SYSCALL"),
};
/// Timers whose callback is a program's: what softirq callbacks are made of.
pub const TIMERS: Feature =
    Feature { name: "bpf_timer", since: "5.15", found_by: FoundBy::Value("bpf_func_id", "BPF_FUNC_timer_start") };
/// Loops of any length: what work in interrupt and softirq context is made of.
pub const LOOPS: Feature =
    Feature { name: "bpf_loop", since: "5.17", found_by: FoundBy::Value("bpf_func_id", "BPF_FUNC_loop") };
/// Addition and exchange that return what stood there before.
pub const ATOMICS: Feature =
    Feature { name: "atomic fetch and exchange in BPF", since: "5.12", found_by: FoundBy::Trial };
/// Turning interrupts off.
pub const INTERRUPTS_OFF: Feature =
    Feature { name: "bpf_local_irq_save", since: "6.14", found_by: FoundBy::Function("bpf_local_irq_save") };

impl Feature {
    /// Whether this kernel has it; `None` where that cannot be found out, such as without type information.
    pub fn is_there(&self) -> Option<bool> {
        let kernel = || Btf::from_vmlinux().ok();
        match self.found_by {
            FoundBy::Value(enumeration, value) => Some(has_value(&kernel()?, enumeration, value)),
            FoundBy::Function(name) => Some(kernel()?.type_by_name::<Func<'_>>(name).is_some()),
            FoundBy::Trial => load_fetch_and_add(),
        }
    }

    /// That this kernel lacks it, in words.
    pub fn lacking(&self) -> String {
        Missing::new(self.name, Some(self.since)).line()
    }
}

/// Why something was refused that needs all of these: the newest of those that this kernel lacks, or what was said.
#[must_use]
pub fn explain(refused: Refused, needed: &[Feature]) -> Refused {
    let lacking = needed.iter().filter(|feature| feature.is_there() == Some(false));
    match lacking.max_by_key(|feature| version(feature.since)) {
        Some(feature) => Refused::because(refused.doing, feature.lacking()),
        None => refused,
    }
}

fn version(text: &str) -> (u32, u32) {
    let (major, minor) = text.split_once('.').unwrap_or((text, "0"));
    (major.parse().unwrap_or(0), minor.parse().unwrap_or(0))
}

fn has_value(btf: &Btf<'_>, enumeration: &str, value: &str) -> bool {
    let is_it = |name: Option<&std::ffi::OsStr>| name.is_some_and(|name| name == value);
    if let Some(found) = btf.type_by_name::<Enum<'_>>(enumeration) {
        return found.iter().any(|member| is_it(member.name));
    }
    btf.type_by_name::<Enum64<'_>>(enumeration).is_some_and(|found| found.iter().any(|member| is_it(member.name)))
}

/// Whether a program that adds one to a word of its stack, and takes what stood there, loads.
fn load_fetch_and_add() -> Option<bool> {
    crate::bpf::may_load().ok()?;
    let instruction = |code: u8, destination: u8, source: u8, off: i16, imm: i32| {
        let mut instruction = libbpf_sys::bpf_insn { code, off, imm, ..Default::default() };
        instruction.set_dst_reg(destination);
        instruction.set_src_reg(source);
        instruction
    };
    let program = [
        // *(u64 *)(r10 - 8) = 0; r1 = 1; r1 = fetch_and_add(r10 - 8, r1); return 0
        instruction(0x7a, 10, 0, -8, 0),
        instruction(0xb7, 1, 0, 0, 1),
        instruction(0xdb, 10, 1, -8, 1),
        instruction(0xb7, 0, 0, 0, 0),
        instruction(0x95, 0, 0, 0, 0),
    ];
    Some(crate::bpf::loads(&program, c"fetch_and_add").is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_testing::skip;

    const NO_BTF: &str = "this kernel's type information cannot be read";

    const ALL: [Feature; 5] = [CALLED_PROGRAMS, TIMERS, LOOPS, ATOMICS, INTERRUPTS_OFF];

    #[test]
    fn what_is_lacking_is_named_with_its_version_and_nothing_is_invented() {
        assert_eq!(TIMERS.lacking(), "this kernel lacks bpf_timer (from Linux 5.15 on)");
        let refused = || Refused::because("loading", "Invalid argument");
        let nowhere = Feature {
            name: "a helper that no kernel has",
            since: "99.9",
            found_by: FoundBy::Value("bpf_func_id", "BPF_FUNC_no_such_helper"),
        };
        match TIMERS.is_there() {
            None => skip("what is lacking is named", NO_BTF),
            Some(_) => {
                let said = explain(refused(), &[TIMERS, nowhere, LOOPS]).reason;
                assert!(said.contains("no kernel has (from Linux 99.9 on)"), "{said}");
            }
        }
        assert_eq!(explain(refused(), &[]).reason, "Invalid argument");
    }

    #[test]
    fn kernel_a_feature_is_there_from_its_version_on() {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        let mut parts = release.split(['.', '-']);
        let running = (parts.next().unwrap().parse().unwrap(), parts.next().unwrap().parse::<u32>().unwrap());
        let mut met = 0;
        for feature in ALL {
            let Some(there) = feature.is_there() else { continue };
            met += 1;
            // A distribution may take a feature into an older kernel, never out of a newer one that is not bare.
            assert!(there || running < version(feature.since), "{feature:?} on {release}");
        }
        eprintln!("{met} of {} features met", ALL.len());
        if Btf::from_vmlinux().is_err() {
            return skip("a feature is there from its version on", NO_BTF);
        }
        // A program is tried for one of them, which needs privilege.
        assert!(met >= ALL.len() - 1, "with type information at hand, {met} of {} were found or not", ALL.len());
    }
}
