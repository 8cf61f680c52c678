//! Programs that a benchmark has of its own.

use punctual_kernel::bpf::LoadedObject;

/// Loads an object, with maps of these sizes, and attaches its programs.
pub(crate) fn attached(name: &'static str, object: &'static [u8], sizes: &[(&str, u32)]) -> LoadedObject {
    let mut object = LoadedObject::load_sized(name, object, None, sizes).expect("BPF programs");
    object.attach().expect("attached");
    object
}
