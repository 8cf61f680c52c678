//! The BPF programs that are loaded, whoever loaded them.

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Typedef;
use std::collections::BTreeMap;
use std::ffi::CStr;

/// A loaded program that is attached to a tracepoint or a perf event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedProgram {
    /// The kernel's number for it.
    pub id: u32,
    /// Its name, at most 15 letters; the whole function name where the program's type information has it.
    pub name: String,
    /// The tracepoint, or `perf_event`.
    pub hook: String,
    /// How long it ran in all, ns; grows only while statistics are enabled.
    pub run_time_ns: u64,
}

/// Finds loaded programs; remembers what it needs between calls.
#[derive(Default)]
pub struct ProgramList {
    kernel: Option<Btf<'static>>,
    /// What does not change about each program: name and hook; `None` for those of no interest.
    known: BTreeMap<u32, Option<(String, String)>>,
}

impl ProgramList {
    /// The programs at tracepoints and perf events now.
    pub fn now(&mut self) -> Vec<LoadedProgram> {
        let mut programs = Vec::new();
        let mut present = Vec::new();
        let mut id = 0;
        // SAFETY: the call writes the next number into `id`, which lives through it.
        while unsafe { libbpf_sys::bpf_prog_get_next_id(id, &raw mut id) } == 0 {
            present.push(id);
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

    /// How long a program ran in all, ns; `None` when it is gone.
    pub fn run_time_ns(&self, id: u32) -> Option<u64> {
        info(id).map(|info| info.run_time_ns)
    }

    fn about(&mut self, info: &libbpf_sys::bpf_prog_info) -> Option<(String, String)> {
        let hook = match info.type_ {
            libbpf_sys::BPF_PROG_TYPE_PERF_EVENT => "perf_event".to_owned(),
            libbpf_sys::BPF_PROG_TYPE_TRACING => {
                if self.kernel.is_none() {
                    self.kernel = Btf::from_vmlinux().ok();
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
    // SAFETY: takes a plain number.
    let descriptor = unsafe { libbpf_sys::bpf_prog_get_fd_by_id(id) };
    if descriptor < 0 {
        return None;
    }
    // SAFETY: a descriptor just made, owned by nobody else.
    let owned = unsafe { <std::os::fd::OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(descriptor) };
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut length = size_of_val(&info) as u32;
    use std::os::fd::AsRawFd;
    // SAFETY: the kernel writes at most `length` bytes into the structure.
    let result = unsafe { libbpf_sys::bpf_obj_get_info_by_fd(owned.as_raw_fd(), (&raw mut info).cast(), &mut length) };
    (result == 0).then_some(info)
}

/// The kernel's number for a program of this process.
pub fn id_of(program: i32) -> Option<u32> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut length = size_of_val(&info) as u32;
    // SAFETY: the kernel writes at most `length` bytes into the structure.
    let result = unsafe { libbpf_sys::bpf_obj_get_info_by_fd(program, (&raw mut info).cast(), &mut length) };
    (result == 0).then_some(info.id)
}
