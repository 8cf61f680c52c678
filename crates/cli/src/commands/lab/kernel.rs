//! The kernel of a system, taken from where it is.

use crate::output;
use punctual_lab::cache::{Cache, Held, Own, version_of};
use punctual_lab::table;
use punctual_study::lab::{LabError, System};
use std::path::{Path, PathBuf};

/// A kernel that is on this machine.
pub(super) struct Kernel {
    pub(super) elf: PathBuf,
    pub(super) package: Option<String>,
    /// The package, if it came from one.
    pub(super) held: Option<(table::Kernel, Held)>,
}

/// Takes the kernel that a system names, from its file or from the distribution's packages.
pub(super) fn kernel(system: &System) -> anyhow::Result<Kernel> {
    let cache = Cache::new();
    let refused = |error| LabError::Kernel { name: system.kernel.clone(), error };
    if system.kernel.contains('/') {
        let Own { elf, package } = cache.own(Path::new(&system.kernel)).map_err(refused)?;
        return Ok(Kernel { elf, package, held: None });
    }
    let table = table::kernels();
    let named = super::kernels::named(&table, &system.kernel)?;
    if cache.held(named).is_none() {
        output::note(&format!("fetching kernel {} from the distribution's packages", named.name));
    }
    let held = cache.fetch(&[named], false).remove(0).map_err(refused)?;
    if let Some(recorded) = &held.replaces {
        output::note(&format!("{}: {} replaces {recorded}", named.name, held.package.version));
    }
    Ok(Kernel { package: Some(version_of(&held)), elf: held.elf.clone(), held: Some((named.clone(), held)) })
}
