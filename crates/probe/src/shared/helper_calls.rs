//! How often programs call the kernel's helpers, by their instructions, for tests: every event pays for each call.

use libbpf_rs::ObjectBuilder;
use libbpf_sys::{BPF_CALL, BPF_JMP, bpf_func_id, bpf_insn};

/// In how many places a program of an object calls a helper, whichever way it takes.
pub(crate) fn calls_in(object: &[u8], program: &str, helper: bpf_func_id) -> usize {
    // A call of anything else than a helper says so in place of a register.
    count(object, program, |call| call.src_reg() == 0 && call.imm == helper as i32)
}

/// In how many places it casts an address, which takes no call once it is loaded.
pub(crate) fn casts_in(object: &[u8], program: &str) -> usize {
    count(object, program, |call| call.src_reg() != 0)
}

fn count(object: &[u8], program: &str, is_meant: impl Fn(&bpf_insn) -> bool) -> usize {
    let object = ObjectBuilder::default().open_memory(object).unwrap();
    let found = object.progs().find(|candidate| candidate.name() == program);
    let found = found.unwrap_or_else(|| panic!("the object has no program `{program}`"));
    found.insns().iter().filter(|one| u32::from(one.code) == BPF_JMP | BPF_CALL && is_meant(one)).count()
}
