//! Where the running kernel keeps what BPF programs look up about their CPU.
//!
//! Programs can find the run queue of their CPU, but not per-CPU variables by name on every kernel; the distance
//! between the two is the same on every CPU. The kernel's type information lists it, if it lists per-CPU variables at
//! all.

use crate::features::CURRENT_THREAD;
use crate::kernel_types::{kernel_types, named};
use crate::steal::{self, Teller};
use libbpf_rs::btf::types::{Composite, DataSec, MemberAttr, Struct, Var};
use libbpf_rs::btf::{Btf, BtfKind, BtfType};

/// Distances from a CPU's run queue to other per-CPU memory, bytes. `None`: not known on this kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Places {
    /// The host's steal counter; only where a hypervisor writes it.
    pub steal: Option<i64>,
    /// The registers of the interrupted code.
    pub registers: Option<i64>,
    /// The count of nested interrupts.
    pub nesting: NestingPlace,
}

/// Where the count of nested interrupts is and how it is laid out: `struct nesting_place` of `bpf/include/nesting.h`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct NestingPlace {
    offset: i64,
    shift: u64,
    mask: u64,
}

/// Stands in place of a per-CPU variable's distance when the count is the thread's own: `COUNT_IN_THREAD` of
/// `bpf/include/nesting.h`.
const COUNT_IN_THREAD: i64 = -1;
/// The bits of interrupts where all stand side by side: those of softirqs are left out.
const INTERRUPTS: u64 = 0xff_0000;
/// The same where nested NMIs are counted apart and one bit says that there are any.
const INTERRUPTS_AND_AN_NMI: u64 = 0x1f_0000;

/// What is not seen if the count cannot be read.
pub const NESTING_BLIND: &str = "the kernel's count of nested interrupts: this kernel keeps it in a place that is not known, so \
    interrupts and softirqs are known only by their beginnings and ends, and one whose end was missed seems to go on";

impl NestingPlace {
    /// Whether this kernel's count can be read at all; if not, nothing may be concluded from a count of 0.
    pub fn is_known(&self) -> bool {
        self.offset != 0
    }

    /// In the form of the programs' read-only data.
    pub fn bytes(&self) -> [u8; size_of::<NestingPlace>()] {
        let mut bytes = [0; size_of::<NestingPlace>()];
        bytes[..8].copy_from_slice(&self.offset.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.shift.to_ne_bytes());
        bytes[16..].copy_from_slice(&self.mask.to_ne_bytes());
        bytes
    }
}

/// A per-CPU variable.
#[derive(Debug)]
struct Variable {
    name: String,
    offset: u32,
    size: usize,
}

/// The running kernel's places.
pub fn places() -> Places {
    let Some(btf) = kernel_types() else { return Places::default() };
    // x86 counts for each CPU. Where each thread has its own count, programs read it from the thread, which takes a helper.
    let in_thread = member_offset(&btf, "thread_info", "preempt").is_some() && CURRENT_THREAD.is_there() == Some(true);
    let mut places = places_among(&variables(&btf), member_offset(&btf, "pcpu_hot", "preempt_count"), in_thread);
    // The variable is there in every KVM guest; zeros that nobody writes do not mean "nothing was stolen".
    places.steal = places.steal.filter(|_| steal::teller() == Teller::Hypervisor);
    places
}

fn variables(btf: &Btf<'_>) -> Vec<Variable> {
    let Some(section) = named::<DataSec<'_>>(btf, ".data..percpu", BtfKind::DataSec) else { return Vec::new() };
    let mut variables = Vec::new();
    for about in section.iter() {
        let variable = btf.type_by_id::<BtfType<'_>>(about.ty).and_then(|variable| Var::try_from(variable).ok());
        if let Some(name) = variable.as_ref().and_then(|variable| variable.name()?.to_str()) {
            variables.push(Variable { name: name.to_owned(), offset: about.offset, size: about.size });
        }
    }
    variables
}

/// How far a member is from the beginning of its structure, bytes; members of unnamed members count as its own.
fn member_offset(btf: &Btf<'_>, structure: &str, member: &str) -> Option<u32> {
    let structure: Struct<'_> = named(btf, structure, BtfKind::Struct)?;
    offset_within(btf, &Composite::from(structure), member)
}

fn offset_within(btf: &Btf<'_>, composite: &Composite<'_>, wanted: &str) -> Option<u32> {
    composite.iter().find_map(|member| {
        let MemberAttr::Normal { offset } = member.attr else { return None };
        match member.name.filter(|name| !name.is_empty()) {
            Some(name) => (name == wanted).then_some(offset / 8),
            None => {
                let inner = Composite::try_from(btf.type_by_id::<BtfType<'_>>(member.ty)?).ok()?;
                offset_within(btf, &inner, wanted).map(|within| offset / 8 + within)
            }
        }
    })
}

fn places_among(variables: &[Variable], count_in_hot: Option<u32>, in_thread: bool) -> Places {
    let find = |name: &str| variables.iter().find(|variable| variable.name == name);
    let Some(run_queue) = find("runqueues").map(|variable| i64::from(variable.offset)) else {
        return Places::default();
    };
    let distance = |name: &str| find(name).map(|variable| i64::from(variable.offset) - run_queue);
    let nesting = match (find("__preempt_count"), find("pcpu_hot"), count_in_hot) {
        (Some(count), ..) => {
            // Since 7.3 a count of how often interrupts were disabled stands below the interrupts', and either the
            // count has a whole word, with the request to reschedule in its upper half, or nested NMIs are counted
            // apart.
            let is_wide = count.size == 8;
            let is_moved = is_wide || find("nmi_nesting").is_some();
            NestingPlace {
                offset: i64::from(count.offset) - run_queue,
                shift: if is_moved { 8 } else { 0 },
                mask: if is_moved && !is_wide { INTERRUPTS_AND_AN_NMI } else { INTERRUPTS },
            }
        }
        // 6.2 to 6.14.
        (None, Some(hot), Some(within)) => {
            NestingPlace { offset: i64::from(hot.offset + within) - run_queue, shift: 0, mask: INTERRUPTS }
        }
        (None, None, _) if in_thread => {
            // A thread's count has always had a whole word: how it looked before interrupts were disabled tells the two apart.
            let counts_nmis_apart = find("nmi_nesting").is_some();
            let is_moved = counts_nmis_apart || find("local_interrupt_disable_state").is_some();
            NestingPlace {
                offset: COUNT_IN_THREAD,
                shift: if is_moved { 8 } else { 0 },
                mask: if counts_nmis_apart { INTERRUPTS_AND_AN_NMI } else { INTERRUPTS },
            }
        }
        _ => NestingPlace::default(),
    };
    Places { steal: distance("steal_time"), registers: distance("__irq_regs"), nesting }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places_of(variables: &[(&str, u32, usize)], count_in_hot: Option<u32>) -> Places {
        let variable = |&(name, offset, size): &(&str, u32, usize)| Variable { name: name.to_owned(), offset, size };
        places_among(&variables.iter().map(variable).collect::<Vec<_>>(), count_in_hot, false)
    }

    #[test]
    fn the_count_is_found_where_each_kernel_keeps_it() {
        // As Debian's kernels 6.1, 6.12, 6.16 and 7.3 list it.
        let old = [("__preempt_count", 129_856, 4), ("runqueues", 203_840, 3_264), ("steal_time", 213_120, 64)];
        let nesting = places_of(&old, None).nesting;
        assert_eq!(nesting, NestingPlace { offset: -73_984, shift: 0, mask: 0xff_0000 });
        let hot = [("pcpu_hot", 217_536, 64), ("runqueues", 221_248, 3_456), ("__irq_regs", 217_224, 8)];
        let found = places_of(&hot, Some(8));
        assert_eq!(found.nesting, NestingPlace { offset: -3_704, shift: 0, mask: 0xff_0000 });
        assert_eq!((found.steal, found.registers), (None, Some(-4_024)));
        let again = [("__preempt_count", 98_352, 4), ("runqueues", 202_368, 3_904)];
        assert_eq!(places_of(&again, None).nesting.offset, -104_016);
        let wide = [("__preempt_count", 98_344, 8), ("runqueues", 206_720, 4_736)];
        let nesting = places_of(&wide, None).nesting;
        assert_eq!(nesting, NestingPlace { offset: -108_376, shift: 8, mask: 0xff_0000 });
        // There the bit above the one for NMIs is the request to reschedule.
        let apart = [("__preempt_count", 98_344, 4), ("runqueues", 206_720, 4_736), ("nmi_nesting", 100, 4)];
        assert_eq!((places_of(&apart, None).nesting.shift, places_of(&apart, None).nesting.mask), (8, 0x1f_0000));
    }

    #[test]
    fn a_count_that_is_elsewhere_is_not_known_rather_than_zero() {
        // 5.10 lists no per-CPU variables.
        for variables in [&[("runqueues", 203_840, 3_264)][..], &[], &[("__preempt_count", 8, 4)]] {
            let found = places_of(variables, None);
            assert!(!found.nesting.is_known(), "{found:?}");
        }
        // A structure of that name without the member.
        assert!(!places_of(&[("pcpu_hot", 64, 64), ("runqueues", 640, 64)], None).nesting.is_known());
    }

    #[test]
    fn a_count_that_each_thread_has_is_read_from_the_thread() {
        let found = |variables: &[(&str, u32, usize)]| {
            let variable =
                |&(name, offset, size): &(&str, u32, usize)| Variable { name: name.to_owned(), offset, size };
            places_among(&variables.iter().map(variable).collect::<Vec<_>>(), None, true)
        };
        let arm64 = found(&[("runqueues", 203_840, 3_264), ("__irq_regs", 204_000, 8)]);
        assert_eq!(arm64.nesting, NestingPlace { offset: COUNT_IN_THREAD, shift: 0, mask: INTERRUPTS });
        assert_eq!(arm64.registers, Some(160));
        assert_eq!(found(&[("runqueues", 8, 8), ("nmi_nesting", 0, 4)]).nesting.shift, 8);
        let newer = found(&[("runqueues", 8, 8), ("local_interrupt_disable_state", 16, 8)]);
        assert_eq!(newer.nesting, NestingPlace { offset: COUNT_IN_THREAD, shift: 8, mask: INTERRUPTS });
    }

    /// Against this machine's kernel, if its type information can be read.
    #[test]
    fn machine_members_of_unnamed_members_are_found() {
        let Ok(btf) = Btf::from_vmlinux() else {
            return punctual_testing::skip("members of the kernel's structures", "it has no type information");
        };
        assert_eq!(member_offset(&btf, "list_head", "prev"), Some(8));
        assert_eq!(member_offset(&btf, "list_head", "no such member"), None);
        // `page` holds everything but its flags in unnamed unions of unnamed structures.
        assert!(member_offset(&btf, "page", "mapping").is_some_and(|offset| offset >= 8));
    }
}
