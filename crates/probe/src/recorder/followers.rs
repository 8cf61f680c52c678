//! Programs of another object that the recorder's go on with, each by a map of `bpf/followers.h`. Their run time is part of the
//! recorder's own cost then.

use super::programs::FlightRecorder;
use punctual_kernel::bpf::LoadedObject;
use punctual_kernel::bpf_jumps::Jumps;

/// The map that says what comes after a program.
fn after(program: &str) -> String {
    format!("after_{program}")
}

impl FlightRecorder {
    /// Has these of its programs go on with programs of another object, and tells those the times of events if they ask;
    /// `None` if the kernel does not let them.
    pub(crate) fn go_on_with(&self, other: &LoadedObject, programs: &[(&str, &str)]) -> Option<Jumps> {
        let all = other.programs();
        let descriptor = |name: &str| all.iter().find(|(other, _)| other == name).map(|(_, descriptor)| *descriptor);
        let jumps = programs.iter().map(|&(own, program)| Some((after(own), descriptor(program)?)));
        let jumps = Jumps::begin(self.object(), jumps.collect::<Option<Vec<_>>>()?.into_iter()).ok()?;
        // Whoever is not jumped to must not have the times; whoever does not get them reads the clock.
        let _ = other.put_inner_map("recorders_events", 0, self.object().map_descriptor("seen_events").ok()?);
        Some(jumps)
    }

    /// Has one of its programs go on with another program, until what is returned is dropped; `None` if it does not run, or
    /// the kernel does not let it.
    pub(crate) fn goes_on_with(&self, own: &str, program: i32) -> Option<Jumps> {
        if self.object().is_left_out(own) {
            return None;
        }
        Jumps::begin(self.object(), std::iter::once((after(own), program))).ok()
    }

    /// Takes out the jump of one of its programs; returns whether there was one.
    #[cfg(test)]
    pub(crate) fn goes_on_no_more(&self, own: &str) -> bool {
        self.object().remove(&after(own), &0u32.to_ne_bytes()).is_ok()
    }
}
