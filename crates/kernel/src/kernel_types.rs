//! The types that the running kernel describes.
//!
//! Reading them takes some milliseconds and as many megabytes, and whoever loads programs asks for them again and
//! again. While they are [kept](keep), a thread reads them once.

use libbpf_rs::btf::Btf;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;

/// What a thread keeps: for how many holders, and the types once somebody has asked for them.
#[derive(Default)]
struct Shared {
    keepers: usize,
    types: Option<Rc<Btf<'static>>>,
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
pub(crate) fn kernel_types() -> Option<Rc<Btf<'static>>> {
    SHARED.with_borrow_mut(|shared| {
        let known = shared.types.clone().or_else(|| Btf::from_vmlinux().ok().map(Rc::new));
        if shared.keepers > 0 {
            shared.types.clone_from(&known);
        }
        known
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
