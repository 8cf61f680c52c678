//! Asks the kernel itself for the address of one of its functions.
//!
//! A program of a few instructions calls `bpf_kallsyms_lookup_name`. Kernels before 6.2 search all their names for each
//! one asked for, which takes longer than reading their list once.

use crate::is_older_than;
use crate::loading;
use libbpf_sys::{bpf_insn, bpf_test_run_opts};
use std::os::fd::{AsRawFd, OwnedFd};

/// Since then the kernel finds a name without searching all of them.
const QUICK_SINCE: &str = "6.2";
/// Room for a name and the terminating zero.
const NAME_BYTES: usize = 64;
/// Where the copy of the name is, from the end of the stack.
const NAME_AT: i16 = -72;
/// Where the address is.
const ADDRESS_AT: i16 = -8;

/// What the program is called with.
#[repr(C)]
struct Question {
    name: [u8; NAME_BYTES],
    address: u64,
}

/// A program that finds functions.
pub(crate) struct Finder {
    program: OwnedFd,
}

impl Finder {
    /// `None` where this kernel is no quicker than its list, or refuses.
    pub(crate) fn load() -> Option<Finder> {
        if is_older_than(QUICK_SINCE) {
            return None;
        }
        let (kind, flags) = (libbpf_sys::BPF_PROG_TYPE_SYSCALL, libbpf_sys::BPF_F_SLEEPABLE);
        let program = loading::load(kind, flags, &instructions(), c"find_function").ok()?;
        Some(Finder { program })
    }

    /// The address of a function; 0 where there is none of that name. `None` where the kernel does not say.
    pub(crate) fn find(&self, name: &str) -> Option<u64> {
        let mut question = Question { name: [0; NAME_BYTES], address: 0 };
        // A zero remains after it.
        question.name[..NAME_BYTES - 1].get_mut(..name.len())?.copy_from_slice(name.as_bytes());
        let mut options = bpf_test_run_opts {
            sz: size_of::<bpf_test_run_opts>() as _,
            ctx_in: (&raw mut question).cast_const().cast(),
            ctx_size_in: size_of::<Question>() as u32,
            ..Default::default()
        };
        // SAFETY: the kernel reads and writes only the question, whose length it is told; both live through the call.
        let result = unsafe { libbpf_sys::bpf_prog_test_run_opts(self.program.as_raw_fd(), &raw mut options) };
        // The program returns what the helper returned: 0, or why not.
        (result == 0 && options.retval == 0).then_some(question.address)
    }
}

/// Copies the name from the question to the stack, where helpers read it, calls the helper, and stores the address.
fn instructions() -> Vec<bpf_insn> {
    use libbpf_sys::{
        BPF_FUNC_kallsyms_lookup_name, BPF_REG_0, BPF_REG_1, BPF_REG_2, BPF_REG_3, BPF_REG_4, BPF_REG_6, BPF_REG_10,
    };
    let instruction = |code: u8, to: u32, from: u32, off: i16, imm: i32| {
        let mut instruction = bpf_insn { code, off, imm, ..Default::default() };
        instruction.set_dst_reg(to as u8);
        instruction.set_src_reg(from as u8);
        instruction
    };
    let load = |to, from, at| instruction(0x79, to, from, at, 0);
    let store = |to, at, from| instruction(0x7b, to, from, at, 0);
    let set = |to, value| instruction(0xb7, to, 0, 0, value);
    let copy = |to, from| instruction(0xbf, to, from, 0, 0);
    let add = |to, value| instruction(0x07, to, 0, 0, value);
    let mut program = vec![copy(BPF_REG_6, BPF_REG_1)];
    for at in (0..NAME_BYTES as i16).step_by(8) {
        program.push(load(BPF_REG_0, BPF_REG_6, at));
        program.push(store(BPF_REG_10, NAME_AT + at, BPF_REG_0));
    }
    program.extend([
        set(BPF_REG_0, 0),
        store(BPF_REG_10, ADDRESS_AT, BPF_REG_0),
        copy(BPF_REG_1, BPF_REG_10),
        add(BPF_REG_1, NAME_AT.into()),
        set(BPF_REG_2, NAME_BYTES as i32),
        set(BPF_REG_3, 0),
        copy(BPF_REG_4, BPF_REG_10),
        add(BPF_REG_4, ADDRESS_AT.into()),
        // Calls a helper.
        instruction(0x85, 0, 0, 0, BPF_FUNC_kallsyms_lookup_name as i32),
        load(BPF_REG_1, BPF_REG_10, ADDRESS_AT),
        store(BPF_REG_6, NAME_BYTES as i16, BPF_REG_1),
        // Returns what the helper returned.
        instruction(0x95, 0, 0, 0, 0),
    ]);
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_says_where_its_functions_lie_as_its_list_does() {
        let Some(finder) = Finder::load() else {
            return punctual_testing::skip("asking for functions", "an older kernel, or one that refuses programs");
        };
        assert_eq!(finder.find(&"x".repeat(NAME_BYTES)), None, "that name is longer than can be asked for");
        let Some(none) = finder.find("no_such_function_of_a_kernel") else {
            return punctual_testing::skip("asking for functions", "the kernel hides where they lie");
        };
        assert_eq!(none, 0);
        let list = std::fs::read_to_string("/proc/kallsyms").unwrap();
        let mut met = 0;
        for name in ["hrtimer_wakeup", "it_real_fn", "schedule"] {
            let first = list.lines().find(|line| line.ends_with(&format!(" {name}")));
            let Some(first) = first else { continue };
            let address = u64::from_str_radix(first.split(' ').next().unwrap(), 16).unwrap();
            assert_eq!(finder.find(name), Some(address), "{name}");
            met += 1;
        }
        assert!(met >= 2, "of three functions that every kernel has {met} were met");
    }
}
