//! The types that the running kernel describes.
//!
//! Reading them takes some milliseconds and as many megabytes, and whoever loads programs asks for them again and
//! again. While they are [kept](keep), a thread reads them once.

use libbpf_rs::AsRawLibbpf;
use libbpf_rs::btf::types::Typedef;
use libbpf_rs::btf::{Btf, BtfKind, BtfType, TypeId};
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::marker::PhantomData;
use std::ops::Deref;
use std::rc::Rc;

/// The kernel's types.
pub(crate) struct KernelTypes {
    btf: Btf<'static>,
    /// The number of each tracepoint's type, by its name, once one was asked for: the library would go through all types
    /// again for each.
    tracepoints: OnceCell<HashMap<String, u32>>,
}

impl Deref for KernelTypes {
    type Target = Btf<'static>;

    fn deref(&self) -> &Btf<'static> {
        &self.btf
    }
}

/// What the names of tracepoints' types begin with.
const TRACEPOINT: &str = "btf_trace_";

impl KernelTypes {
    fn read() -> Option<KernelTypes> {
        Some(KernelTypes { btf: Btf::from_vmlinux().ok()?, tracepoints: OnceCell::new() })
    }

    /// The type of programs on a tracepoint; `None` where the kernel has none of that name.
    pub(crate) fn tracepoint(&self, name: &str) -> Option<Typedef<'_>> {
        let known = self.tracepoints.get_or_init(|| tracepoints(&self.btf));
        self.btf.type_by_id(TypeId::from(*known.get(name)?))
    }
}

/// The type of a kind that has this name. For a name alone, the library would compare those of all kinds with it.
pub(crate) fn named<'btf, K: TryFrom<BtfType<'btf>>>(btf: &'btf Btf<'_>, name: &str, kind: BtfKind) -> Option<K> {
    let name = CString::new(name).ok()?;
    let types = btf.as_libbpf_object().as_ptr();
    // SAFETY: the types and the name live through the call.
    let number = unsafe { libbpf_sys::btf__find_by_name_kind(types, name.as_ptr(), kind as u32) };
    btf.type_by_id(TypeId::from(u32::try_from(number).ok()?))
}

/// Goes through all types once, and reads only the names of those that may be a tracepoint's.
fn tracepoints(btf: &Btf<'_>) -> HashMap<String, u32> {
    let types = btf.as_libbpf_object().as_ptr();
    let mut found = HashMap::new();
    for number in 1..btf.len() as u32 {
        // SAFETY: the types live as long as `btf`, and the library gives a null pointer where there is none.
        let Some(one) = (unsafe { libbpf_sys::btf__type_by_id(types, number).as_ref() }) else { continue };
        if (one.info >> 24) & 0x1f != libbpf_sys::BTF_KIND_TYPEDEF {
            continue;
        }
        // SAFETY: as above.
        let name = unsafe { libbpf_sys::btf__name_by_offset(types, one.name_off) };
        if name.is_null() {
            continue;
        }
        // SAFETY: a name of the types, which the library has checked to end with a zero.
        let name = unsafe { CStr::from_ptr(name) };
        if let Some(name) = name.to_str().ok().and_then(|name| name.strip_prefix(TRACEPOINT)) {
            found.entry(name.to_owned()).or_insert(number);
        }
    }
    found
}

/// What a thread keeps: for how many holders, and the types once somebody has asked for them.
#[derive(Default)]
struct Shared {
    keepers: usize,
    types: Option<Rc<KernelTypes>>,
}

thread_local! {
    static SHARED: RefCell<Shared> = RefCell::default();
}

/// The calling thread keeps the kernel's types for as long as this lives.
#[must_use]
pub struct Kept {
    /// It belongs to its thread.
    _thread: PhantomData<*const ()>,
}

/// Keeps the kernel's types, once they are asked for, until the result is dropped.
pub fn keep() -> Kept {
    SHARED.with_borrow_mut(|shared| shared.keepers += 1);
    Kept { _thread: PhantomData }
}

impl Drop for Kept {
    fn drop(&mut self) {
        SHARED.with_borrow_mut(|shared| {
            shared.keepers -= 1;
            if shared.keepers == 0 {
                shared.types = None;
            }
        });
    }
}

/// The kernel's types; `None` where it does not describe them.
pub(crate) fn kernel_types() -> Option<Rc<KernelTypes>> {
    SHARED.with_borrow_mut(|shared| {
        let known = shared.types.clone().or_else(|| KernelTypes::read().map(Rc::new));
        if shared.keepers > 0 {
            shared.types.clone_from(&known);
        }
        known
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use libbpf_rs::btf::types::Struct;

    #[test]
    fn machine_types_are_read_once_while_anybody_keeps_them() {
        let Some(alone) = kernel_types() else {
            return punctual_testing::skip("the kernel's types", "this kernel tells none");
        };
        assert_eq!(Rc::strong_count(&alone), 1, "nobody keeps them");
        let outer = keep();
        let first = kernel_types().unwrap();
        let inner = keep();
        assert!(Rc::ptr_eq(&first, &kernel_types().unwrap()));
        drop(inner);
        assert!(Rc::ptr_eq(&first, &kernel_types().unwrap()), "the other keeps them still");
        assert_eq!(Rc::strong_count(&first), 2);
        drop(outer);
        assert_eq!(Rc::strong_count(&first), 1);
    }

    #[test]
    fn machine_types_of_a_kind_are_those_that_the_library_finds() {
        let Some(types) = kernel_types() else {
            return punctual_testing::skip("types of a kind", "this kernel tells no types");
        };
        let mut met = 0;
        for name in ["task_struct", "list_head", "no_such_structure"] {
            let found = named::<Struct<'_>>(&types, name, BtfKind::Struct);
            let expected = types.type_by_name::<Struct<'_>>(name);
            let number = |found: Option<Struct<'_>>| found.map(|found| u32::from(found.type_id()));
            met += usize::from(found.is_some());
            assert_eq!(number(found), number(expected), "{name}");
        }
        assert_eq!(met, 2);
        assert!(named::<Struct<'_>>(&types, "list\0head", BtfKind::Struct).is_none());
    }

    #[test]
    fn machine_tracepoints_are_those_that_the_library_finds() {
        let Some(types) = kernel_types() else {
            return punctual_testing::skip("the kernel's tracepoints", "this kernel tells no types");
        };
        let all = tracepoints(&types);
        assert!(all.len() > 100, "{} tracepoints", all.len());
        let mut met = 0;
        for name in ["sched_switch", "sched_waking", "softirq_entry", "hrtimer_start", "no_such_tracepoint", ""] {
            let found = types.tracepoint(name).map(|found| u32::from(found.type_id()));
            let expected = types.type_by_name::<Typedef<'_>>(&format!("{TRACEPOINT}{name}"));
            assert_eq!(found, expected.map(|expected| u32::from(expected.type_id())), "{name}");
            met += usize::from(found.is_some());
        }
        assert_eq!(met, 4);
    }
}
