//! Programs of one object that go on with programs of another, which the kernel enters by a jump.

use crate::Refused;
use crate::bpf::LoadedObject;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use punctual_recording::without_error_number;

/// Each map of programs has one place.
const PLACE: [u8; 4] = 0u32.to_ne_bytes();

/// As long as this lives, they do so.
pub struct Jumps(Vec<MapHandle>);

impl Jumps {
    /// Has the programs of an object that jump into these maps go on with these programs, given by their descriptors. The
    /// jumps end in the same order.
    ///
    /// # Errors
    /// What the kernel refused, such as a program for another tracepoint; then there is no jump at all.
    pub fn begin(object: &LoadedObject, programs: impl Iterator<Item = (String, i32)>) -> Result<Jumps, Refused> {
        let mut jumps = Jumps(Vec::new());
        for (name, program) in programs {
            let map = object.map_handle(&name)?;
            map.update(&PLACE, &program.to_ne_bytes(), MapFlags::ANY).map_err(|error| {
                Refused::because(format!("changing the BPF map `{name}`"), without_error_number(&error))
            })?;
            jumps.0.push(map);
        }
        Ok(jumps)
    }

    /// Leaves the jumps for as long as the object lives in which they begin.
    pub fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Jumps {
    fn drop(&mut self) {
        for map in &self.0 {
            // Nothing keeps a place from being emptied.
            let _ = map.delete(&PLACE);
        }
    }
}
