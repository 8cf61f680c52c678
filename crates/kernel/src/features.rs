//! What a kernel must have for some of punctual's programs, since when kernels have it, and how to find out.

use crate::kernel_types::{kernel_types, named};
use crate::{Missing, Refused};
use libbpf_rs::btf::types::{Enum, Enum64, Func};
use libbpf_rs::btf::{Btf, BtfKind};

/// Something that kernels have from some version on. A distribution may have put it into an older one, or left it out
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
    /// A type of programs, by its name in the kernel's type information.
    ProgramType(&'static str),
    /// A helper, by the kernel's number, which is all that the verifier says about one that it lacks, and its name.
    Helper(u32, &'static str),
    /// A function that the kernel's type information names.
    Function(&'static str),
    /// A tracepoint that the kernel's type information names.
    Tracepoint(&'static str),
    /// Loading a program of a few instructions.
    Trial,
    /// Only the kernel's message when it lacks it.
    Words,
}

const fn helper(number: u32, name: &'static str, since: &'static str) -> Feature {
    Feature { name, since, found_by: FoundBy::Helper(number, name) }
}

const fn function(name: &'static str, since: &'static str) -> Feature {
    Feature { name, since, found_by: FoundBy::Function(name) }
}

const fn tracepoint(name: &'static str, since: &'static str) -> Feature {
    Feature { name, since, found_by: FoundBy::Tracepoint(name) }
}

/// The oldest kernel that punctual is made for.
pub const MIN_KERNEL: &str = "5.10";

/// Programs that user space calls.
pub const CALLED_PROGRAMS: Feature = Feature {
    name: "BPF programs that are called",
    since: "5.14",
    found_by: FoundBy::ProgramType("BPF_PROG_TYPE_SYSCALL"),
};
/// Timers whose callback is a program's: what softirq callbacks are made of.
pub const TIMERS: Feature = helper(171, "bpf_timer_start", "5.15");
/// Loops of any length: what work in interrupt and softirq context is made of.
pub const LOOPS: Feature = helper(181, "bpf_loop", "5.17");
/// Addition and exchange that return the previous value.
pub const ATOMICS: Feature =
    Feature { name: "BPF operations that read and change memory in one", since: "5.12", found_by: FoundBy::Trial };
/// The same in programs as large as those of the flight recorder, the event log and terminals: the first kernel that was seen to
/// take them. Whether one since 5.12 has room for them in its verifier is not known.
pub const LARGE_PROGRAMS: Feature = Feature {
    name: "BPF operations that read and change memory in one, in programs of this size",
    since: "6.1",
    found_by: FoundBy::Trial,
};
/// Functions that a helper calls back.
pub const CALLED_BACK: Feature =
    Feature { name: "BPF functions that are called through pointers", since: "5.13", found_by: FoundBy::Words };
/// Turning interrupts off.
pub const INTERRUPTS_OFF: Feature = function("bpf_local_irq_save", "6.14");

/// The thread that a program runs in, as the kernel's own structure.
pub const CURRENT_THREAD: Feature = helper(158, "bpf_get_current_task_btf", "5.11");

/// Everything that is known to have come with some version: the only place that says which.
const ALL: [Feature; 22] = [
    CALLED_PROGRAMS,
    TIMERS,
    LOOPS,
    ATOMICS,
    CALLED_BACK,
    INTERRUPTS_OFF,
    function("bpf_local_irq_restore", "6.14"),
    function("bpf_preempt_disable", "6.10"),
    function("bpf_preempt_enable", "6.10"),
    helper(120, "bpf_get_ns_current_pid_tgid", "5.7"),
    helper(130, "bpf_ringbuf_output", "5.8"),
    helper(153, "bpf_per_cpu_ptr", "5.10"),
    helper(154, "bpf_this_cpu_ptr", "5.10"),
    CURRENT_THREAD,
    helper(164, "bpf_for_each_map_elem", "5.13"),
    helper(169, "bpf_timer_init", "5.15"),
    tracepoint("contention_begin", "5.19"),
    tracepoint("tasklet_entry", "6.2"),
    tracepoint("ipi_send_cpu", "6.4"),
    tracepoint("ipi_send_cpumask", "6.4"),
    tracepoint("csd_queue_cpu", "6.5"),
    tracepoint("csd_function_entry", "6.5"),
];

/// The helper that has this number in the kernel.
pub(crate) fn helper_numbered(wanted: u32) -> Option<Feature> {
    ALL.into_iter().find(|feature| matches!(feature.found_by, FoundBy::Helper(number, _) if number == wanted))
}

/// That a kernel lacks this function, which programs call.
pub(crate) fn missing_function(name: &str) -> Missing {
    let known = ALL.into_iter().find(|feature| matches!(feature.found_by, FoundBy::Function(own) if own == name));
    known.map_or_else(|| Missing::new(format!("the function `{name}`"), None), |feature| feature.missing())
}

/// That a kernel lacks this tracepoint.
pub fn missing_tracepoint(name: &str) -> Missing {
    let known = ALL.into_iter().find(|feature| matches!(feature.found_by, FoundBy::Tracepoint(own) if own == name));
    known.map_or_else(|| Missing::new(format!("the tracepoint `{name}`"), None), |feature| feature.missing())
}

/// The first version that has all of these, [`MIN_KERNEL`] or later.
#[must_use]
pub fn first_with(needed: &[Feature]) -> &'static str {
    needed
        .iter()
        .map(|feature| feature.since)
        .chain([MIN_KERNEL])
        .max_by_key(|since| version(since))
        .unwrap_or(MIN_KERNEL)
}

impl Feature {
    /// Whether this kernel has it; `None` where there is no way to tell, such as without type information.
    pub fn is_there(&self) -> Option<bool> {
        let kernel = kernel_types;
        match self.found_by {
            FoundBy::ProgramType(name) => Some(has_value(&*kernel()?, "bpf_prog_type", name)),
            FoundBy::Helper(_, name) => {
                let value = format!("BPF_FUNC_{}", name.trim_start_matches("bpf_"));
                Some(has_value(&*kernel()?, "bpf_func_id", &value))
            }
            FoundBy::Function(name) => Some(named::<Func<'_>>(&*kernel()?, name, BtfKind::Func).is_some()),
            FoundBy::Tracepoint(name) => Some(kernel()?.tracepoint(name).is_some()),
            FoundBy::Trial => load_fetch_and_add(),
            FoundBy::Words => None,
        }
    }

    /// That a kernel lacks it.
    pub fn missing(&self) -> Missing {
        let what = match self.found_by {
            FoundBy::Helper(..) => format!("the BPF helper `{}`", self.name),
            FoundBy::Function(_) => format!("the function `{}`", self.name),
            FoundBy::Tracepoint(_) => format!("the tracepoint `{}`", self.name),
            FoundBy::ProgramType(_) | FoundBy::Trial | FoundBy::Words => self.name.to_owned(),
        };
        Missing::new(what, Some(self.since))
    }
}

/// Why something that needs all of these was refused: the newest of those that this kernel lacks, or what was said.
#[must_use]
pub fn explain(refused: Refused, needed: &[Feature]) -> Refused {
    let lacking = needed.iter().filter(|feature| feature.is_there() == Some(false));
    match lacking.max_by_key(|feature| version(feature.since)) {
        Some(feature) => Refused::lacking(refused.doing, feature.missing()),
        None => refused,
    }
}

fn version(text: &str) -> (u32, u32) {
    let (major, minor) = text.split_once('.').unwrap_or((text, "0"));
    (major.parse().unwrap_or(0), minor.parse().unwrap_or(0))
}

fn has_value(btf: &Btf<'_>, enumeration: &str, value: &str) -> bool {
    let is_it = |name: Option<&std::ffi::OsStr>| name.is_some_and(|name| name == value);
    if let Some(found) = named::<Enum<'_>>(btf, enumeration, BtfKind::Enum) {
        return found.iter().any(|member| is_it(member.name));
    }
    let found = named::<Enum64<'_>>(btf, enumeration, BtfKind::Enum64);
    found.is_some_and(|found| found.iter().any(|member| is_it(member.name)))
}

/// Whether a program loads that adds one to a word of its stack and takes the previous value.
fn load_fetch_and_add() -> Option<bool> {
    crate::loading::may_load().ok()?;
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
    Some(crate::loading::loads(&program, c"fetch_and_add").is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_testing::skip;

    const NO_BTF: &str = "this kernel's type information cannot be read";

    #[test]
    fn what_is_lacking_is_named_with_its_version_and_nothing_is_invented() {
        assert_eq!(TIMERS.missing().line(), "this kernel lacks the BPF helper `bpf_timer_start` (from Linux 5.15 on)");
        let refused = || Refused::because("loading", "Invalid argument");
        let nowhere = helper(9_999, "bpf_that_no_kernel_has", "99.9");
        match TIMERS.is_there() {
            None => skip("what is lacking is named", NO_BTF),
            Some(_) => {
                let said = explain(refused(), &[TIMERS, nowhere, LOOPS]).reason;
                assert!(said.contains("no_kernel_has` (from Linux 99.9 on)"), "{said}");
            }
        }
        assert_eq!(explain(refused(), &[]).reason, "Invalid argument");
    }

    #[test]
    fn what_needs_several_features_needs_the_newest_of_them() {
        assert_eq!(first_with(&[]), "5.10");
        assert_eq!(first_with(&[helper_numbered(130).unwrap()]), "5.10");
        assert_eq!(first_with(&[LOOPS, CALLED_PROGRAMS, TIMERS]), "5.17");
        assert_eq!(first_with(&[LOOPS, INTERRUPTS_OFF]), "6.14");
        assert_eq!(first_with(&[ATOMICS]), "5.12");
        assert_eq!(first_with(&[CURRENT_THREAD, LARGE_PROGRAMS]), "6.1");
        assert!(LARGE_PROGRAMS.missing().line().ends_with("(from Linux 6.1 on)"), "{}", LARGE_PROGRAMS.missing());
        assert_eq!(
            missing_tracepoint("tasklet_entry").to_string(),
            "the tracepoint `tasklet_entry` (from Linux 6.2 on)"
        );
        assert_eq!(missing_tracepoint("softirq_raise").since, None);
        assert_eq!(missing_function("bpf_preempt_disable").since, Some("6.10"));
        // Each thing is listed once.
        let mut names: Vec<&str> = ALL.iter().map(|feature| feature.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }

    #[test]
    fn kernel_a_feature_is_there_from_its_version_on() {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        let mut parts = release.split(['.', '-']);
        let running = (parts.next().unwrap().parse().unwrap(), parts.next().unwrap().parse::<u32>().unwrap());
        let (mut met, mut named) = (0, 0);
        for feature in ALL {
            // The others take privilege, or the kernel never says.
            named += usize::from(!matches!(feature.found_by, FoundBy::Trial | FoundBy::Words));
            let Some(there) = feature.is_there() else { continue };
            met += 1;
            // A distribution may backport a feature to an older kernel, but never takes it out of a newer one that is not bare.
            assert!(there || running < version(feature.since), "{feature:?} on {release}");
        }
        eprintln!("{met} of {} features met", ALL.len());
        if Btf::from_vmlinux().is_err() {
            return skip("a feature is there from its version on", NO_BTF);
        }
        assert!(named > 0 && met >= named, "type information tells of {named} features, {met} were found or not");
    }
}
