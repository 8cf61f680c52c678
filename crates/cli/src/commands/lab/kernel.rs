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
    pub(super) origin: Origin,
    /// The hypervisor that boots it.
    pub(super) hypervisor: Option<PathBuf>,
}

/// Where a kernel is from, and so what modules for it are built with.
pub(super) enum Origin {
    /// A package of the distribution, which has headers as well.
    Package(Box<(table::Kernel, Held)>),
    /// The tree where it was built.
    Tree(PathBuf),
    /// An image or a package of the user's, with nothing to build modules with.
    Image,
}

/// Takes the kernel that a system names, from its file or from the distribution's packages.
pub(super) fn kernel(system: &System) -> anyhow::Result<Kernel> {
    let cache = Cache::new();
    let refused = |error| LabError::Kernel { name: system.kernel.clone(), error };
    if system.kernel.contains('/') {
        let path = Path::new(&system.kernel);
        let origin = if path.is_dir() { Origin::Tree(path.to_owned()) } else { Origin::Image };
        let Own { elf, package } = cache.own(path).map_err(refused)?;
        return Ok(Kernel { elf, package, origin, hypervisor: None });
    }
    let table = table::kernels();
    let below = hypervisor(&system.kernel);
    let name = below.as_ref().map_or(&system.kernel, |below| &below.kernel);
    let named = super::kernels::named(&table, name)?;
    if cache.held(named).is_none() {
        output::note(&format!("fetching kernel {} from the distribution's packages", named.name));
    }
    let held = cache.fetch(&[named], false).remove(0).map_err(refused)?;
    tell_replaced(&named.name, &held);
    let kernel = Kernel {
        package: Some(version_of(&held)),
        elf: held.elf.clone(),
        origin: Origin::Package(Box::new((named.clone(), held))),
        hypervisor: None,
    };
    let Some(below) = below else { return Ok(kernel) };
    if cache.held_hypervisor(&below).is_none() {
        output::note(&format!("fetching the hypervisor of {} from the distribution's packages", below.name));
    }
    let held = cache.hypervisor(&below).map_err(refused)?;
    tell_replaced(&below.name, &held);
    let package = kernel.package.map(|package| format!("{package} on {}", version_of(&held)));
    Ok(Kernel { package, hypervisor: Some(held.elf), ..kernel })
}

/// The hypervisor with a kernel on it that a word names, if it names one.
pub(super) fn hypervisor(word: &str) -> Option<table::Hypervisor> {
    table::hypervisors().into_iter().find(|hypervisor| hypervisor.name == word)
}

fn tell_replaced(name: &str, held: &Held) {
    if let Some(recorded) = &held.replaces {
        output::note(&format!("{name}: {} replaces {recorded}", held.package.version));
    }
}
