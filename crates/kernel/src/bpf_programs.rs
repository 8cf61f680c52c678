//! The BPF programs that are loaded, whoever loaded them.

use crate::clock;
use crate::kernel_types::{KernelTypes, kernel_types};
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{Func, Typedef};
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::rc::Rc;

/// A loaded program that is attached to a tracepoint or a perf event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedProgram {
    /// The kernel's number for it.
    pub id: u32,
    /// Its name, at most 15 letters; the whole function name where the program's type information has it.
    pub name: String,
    /// The tracepoint, or `perf_event`.
    pub hook: String,
    /// How long it has run in all, ns; grows only while statistics are enabled.
    pub run_time_ns: u64,
}

/// Finds loaded programs; remembers what it needs between calls.
#[derive(Default)]
pub struct ProgramList {
    kernel: Option<Rc<KernelTypes>>,
    /// What does not change about each program: name and hook; `None` for those of no interest.
    known: BTreeMap<u32, Option<(String, String)>>,
}

impl ProgramList {
    /// The programs on tracepoints and perf events now.
    pub fn now(&mut self) -> Vec<LoadedProgram> {
        let mut programs = Vec::new();
        let present = present();
        for &id in &present {
            if let Some(None) = self.known.get(&id) {
                continue;
            }
            let Some(info) = info(id) else { continue };
            if !self.known.contains_key(&id) {
                let about = self.about(&info);
                self.known.insert(id, about);
            }
            if let Some(Some((name, hook))) = self.known.get(&id) {
                let (name, hook) = (name.clone(), hook.clone());
                programs.push(LoadedProgram { id, name, hook, run_time_ns: info.run_time_ns });
            }
        }
        self.known.retain(|id, _| present.contains(id));
        programs
    }

    /// How long a program has run in all, ns; `None` when it is gone.
    pub fn run_time_ns(&self, id: u32) -> Option<u64> {
        info(id).map(|info| info.run_time_ns)
    }

    fn about(&mut self, info: &libbpf_sys::bpf_prog_info) -> Option<(String, String)> {
        let hook = match info.type_ {
            libbpf_sys::BPF_PROG_TYPE_PERF_EVENT => "perf_event".to_owned(),
            libbpf_sys::BPF_PROG_TYPE_TRACING => {
                if self.kernel.is_none() {
                    self.kernel = kernel_types();
                }
                let target = self.kernel.as_ref()?.type_by_id::<Typedef<'_>>(info.attach_btf_id.into())?;
                target.name()?.to_str()?.strip_prefix("btf_trace_")?.to_owned()
            }
            _ => return None,
        };
        // SAFETY: the name is an array that the kernel ends with a zero.
        let name = unsafe { CStr::from_ptr(info.name.as_ptr()) };
        Some((name.to_string_lossy().into_owned(), hook))
    }
}

fn info(id: u32) -> Option<libbpf_sys::bpf_prog_info> {
    info_with(id, libbpf_sys::bpf_prog_info::default())
}

/// What the kernel says about a program. The lists that `info` points to have room for as many entries as it says, and live on.
fn info_with(id: u32, mut info: libbpf_sys::bpf_prog_info) -> Option<libbpf_sys::bpf_prog_info> {
    // SAFETY: takes a plain number.
    let descriptor = unsafe { libbpf_sys::bpf_prog_get_fd_by_id(id) };
    if descriptor < 0 {
        return None;
    }
    // SAFETY: a descriptor just made, owned by nobody else.
    let owned = unsafe { <std::os::fd::OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(descriptor) };
    let mut length = size_of_val(&info) as u32;
    use std::os::fd::AsRawFd;
    // SAFETY: the kernel writes at most `length` bytes into the structure, and into the lists no more than they have room for.
    let result = unsafe { libbpf_sys::bpf_obj_get_info_by_fd(owned.as_raw_fd(), (&raw mut info).cast(), &mut length) };
    (result == 0).then_some(info)
}

/// Where the machine code of a loaded program is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramCode {
    /// Its name, at most 15 letters.
    pub name: String,
    /// When it was loaded, ns of `CLOCK_MONOTONIC`, or earlier if the machine has slept since.
    pub loaded_ns: u64,
    /// Each of its functions.
    pub functions: Vec<FunctionCode>,
}

/// Where the machine code of one function of a loaded program is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionCode {
    /// Address of its beginning.
    pub start: u64,
    /// Address just after its end.
    pub end: u64,
    /// Its whole name, where the program's type information has it.
    pub name: Option<String>,
}

/// The numbers of all loaded programs, ascending; none without the privilege to list them.
pub fn present() -> Vec<u32> {
    let mut present = Vec::new();
    let mut id = 0;
    // SAFETY: the call writes the next number into `id`, which lives through it.
    while unsafe { libbpf_sys::bpf_prog_get_next_id(id, &raw mut id) } == 0 {
        present.push(id);
    }
    present
}

/// Whether a program was loaded after the one with this number: numbers only go up. One system call.
pub fn has_newer(id: u32) -> bool {
    let mut next = id;
    // SAFETY: the call writes the next number into `next`, which lives through it.
    unsafe { libbpf_sys::bpf_prog_get_next_id(id, &raw mut next) == 0 }
}

/// Programs have at most this many functions; the kernel's own limit is 256.
const MAX_FUNCTIONS: u32 = 1024;

/// Where a program's code is; `None` when it is gone or the kernel does not say.
pub fn code_of(id: u32) -> Option<ProgramCode> {
    CodeFinder::default().code_of(id)
}

/// So much type information is kept at once: programs that share theirs have come one after another, and there may be hundreds.
const MAX_TYPES: usize = 8;

/// Finds the code of several programs. Those of one object share their type information, which is read once for them.
#[derive(Default)]
pub struct CodeFinder {
    types: BTreeMap<u32, Option<Btf<'static>>>,
}

impl CodeFinder {
    /// As [`code_of`].
    pub fn code_of(&mut self, id: u32) -> Option<ProgramCode> {
        let count = info(id)?.nr_jited_func_lens.min(MAX_FUNCTIONS);
        let mut starts = vec![0_u64; count as usize];
        let mut lengths = vec![0_u32; count as usize];
        let mut types = vec![libbpf_sys::bpf_func_info::default(); count as usize];
        let wanted = libbpf_sys::bpf_prog_info {
            nr_jited_ksyms: count,
            jited_ksyms: starts.as_mut_ptr() as u64,
            nr_jited_func_lens: count,
            jited_func_lens: lengths.as_mut_ptr() as u64,
            nr_func_info: count,
            func_info_rec_size: size_of::<libbpf_sys::bpf_func_info>() as u32,
            func_info: types.as_mut_ptr() as u64,
            ..Default::default()
        };
        let info = info_with(id, wanted)?;
        // One for each function, in the same order, or none.
        let are_told = info.nr_func_info == info.nr_jited_ksyms && info.btf_id != 0;
        let btf = if are_told { self.types_of(info.btf_id, || Btf::from_prog_id(id).ok()) } else { None };
        let name_of = |type_id: u32| {
            let function = btf?.type_by_id::<Func<'_>>(type_id.into())?;
            Some(function.name()?.to_string_lossy().into_owned())
        };
        let functions = starts.iter().zip(&lengths).zip(&types).map(|((&start, &length), about)| FunctionCode {
            start,
            end: start + u64::from(length),
            name: name_of(about.type_id),
        });
        let slept_ns = clock::boot_ns().saturating_sub(clock::monotonic_ns());
        // SAFETY: the name is an array that the kernel ends with a zero.
        let name = unsafe { CStr::from_ptr(info.name.as_ptr()) };
        Some(ProgramCode {
            name: name.to_string_lossy().into_owned(),
            loaded_ns: info.load_time.saturating_sub(slept_ns),
            functions: functions.filter(|function| function.start != 0).collect(),
        })
    }

    /// The type information with this number, which is read unless it is kept.
    fn types_of(&mut self, number: u32, read: impl FnOnce() -> Option<Btf<'static>>) -> Option<&Btf<'static>> {
        if self.types.len() >= MAX_TYPES && !self.types.contains_key(&number) {
            self.types.clear();
        }
        self.types.entry(number).or_insert_with(read).as_ref()
    }
}

/// The kernel's numbers for programs of this process, given by name and descriptor.
pub fn ids_of(programs: &[(String, i32)]) -> Vec<u32> {
    programs.iter().filter_map(|(_, program)| id_of(*program)).collect()
}

/// The kernel's number for a program of this process.
fn id_of(program: i32) -> Option<u32> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut length = size_of_val(&info) as u32;
    // SAFETY: the kernel writes at most `length` bytes into the structure.
    let result = unsafe { libbpf_sys::bpf_obj_get_info_by_fd(program, (&raw mut info).cast(), &mut length) };
    (result == 0).then_some(info.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_much_type_information_is_kept() {
        let (mut finder, mut read) = (CodeFinder::default(), 0);
        for number in [0, 0, 1, 0, 2, 3, 4, 5, 6, 7, 8, 0] {
            let types = finder.types_of(number, || {
                read += 1;
                None
            });
            assert!(types.is_none() && finder.types.len() <= MAX_TYPES);
        }
        // The last one was forgotten meanwhile.
        assert_eq!(read, 10);
    }

    #[test]
    fn machine_programs_have_the_same_code_whether_or_not_others_share_their_types() {
        let (mut finder, mut met) = (CodeFinder::default(), 0);
        for id in present() {
            // It may be gone by now.
            let Some((shared, alone)) = finder.code_of(id).zip(code_of(id)) else { continue };
            assert_eq!((shared.name, shared.functions), (alone.name, alone.functions));
            met += 1;
        }
        if met == 0 {
            punctual_testing::skip("where programs' code is", "no program is loaded, or the kernel lists none");
        }
    }
}
