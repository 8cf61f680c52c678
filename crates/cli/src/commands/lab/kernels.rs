//! Kernels by their names.

use crate::args::lab::KernelsArguments;
use crate::output::{self, Output, Usage};
use punctual_device::{did_you_mean, nearest};
use punctual_lab::cache::{Cache, version_of};
use punctual_lab::table::{self, Hypervisor, Kernel, Package};
use punctual_report::lab::{KernelRow, KernelsAnswer, kernels_text};
use std::path::Path;

pub(super) fn run(arguments: &KernelsArguments, output: Output) -> anyhow::Result<u8> {
    let table = table::kernels();
    let (own, names): (Vec<&String>, Vec<&String>) = arguments.kernels.iter().partition(|word| word.contains('/'));
    let mut hypervisors = table::hypervisors();
    let kernels: Vec<&Kernel> = if arguments.kernels.is_empty() {
        table.iter().collect()
    } else {
        let is_hypervisor = |name: &&String| hypervisors.iter().any(|hypervisor| hypervisor.name == **name);
        let (below, names): (Vec<&String>, Vec<&String>) = names.into_iter().partition(is_hypervisor);
        hypervisors.retain(|hypervisor| below.contains(&&hypervisor.name));
        names.into_iter().map(|name| named(&table, name)).collect::<Result<_, _>>()?
    };
    let cache = Cache::new();
    let row = |kernel: &&Kernel| {
        let held = cache.held(kernel);
        KernelRow {
            name: kernel.name.clone(),
            is_here: held.is_some(),
            package: held.as_ref().map(version_of).or_else(|| kernel.recorded.as_ref().map(version)),
            error: None,
        }
    };
    let mut rows: Vec<KernelRow> = kernels.iter().map(row).collect();
    if arguments.fetch {
        for (row, held) in rows.iter_mut().zip(cache.fetch(&kernels, false)) {
            match held {
                Ok(held) => (row.is_here, row.package) = (true, Some(version_of(&held))),
                Err(error) => row.error = Some(error.to_string()),
            }
        }
    }
    rows.extend(hypervisors.iter().map(|hypervisor| hypervisor_row(&cache, &table, hypervisor, arguments.fetch)));
    rows.extend(own.into_iter().map(|path| own_row(&cache, path)));
    let code = u8::from(rows.iter().any(|row| row.error.is_some()));
    if output.json {
        output::answer(KernelsAnswer::new(&rows, code), code);
    } else {
        output::print_text(&kernels_text(&rows));
    }
    Ok(code)
}

fn version(package: &Package) -> String {
    format!("{} {}", package.package, package.version)
}

/// A hypervisor with a kernel on it, which is here if both are.
fn hypervisor_row(cache: &Cache, table: &[Kernel], hypervisor: &Hypervisor, fetch: bool) -> KernelRow {
    let kernels: Vec<&Kernel> = table.iter().filter(|kernel| kernel.name == hypervisor.kernel).collect();
    let fetched = || cache.fetch(&kernels, false).into_iter().chain([cache.hypervisor(hypervisor)]);
    let error = if fetch { fetched().find_map(Result::err).map(|error| error.to_string()) } else { None };
    let held = cache.held_hypervisor(hypervisor);
    KernelRow {
        name: hypervisor.name.clone(),
        is_here: held.is_some() && kernels.iter().all(|kernel| cache.held(kernel).is_some()),
        package: Some(held.as_ref().map_or_else(|| version(&hypervisor.recorded), version_of)),
        error,
    }
}

/// A kernel that the user gives, taken into the cache as `lab run` would.
fn own_row(cache: &Cache, path: &str) -> KernelRow {
    let (package, error) = match cache.own(Path::new(path)) {
        Ok(own) => (own.package, None),
        Err(error) => (None, Some(error.to_string())),
    };
    KernelRow { name: path.to_owned(), is_here: error.is_none(), package, error }
}

/// The kernel that a word names.
pub(super) fn named<'a>(table: &'a [Kernel], word: &str) -> Result<&'a Kernel, Usage> {
    table.iter().find(|kernel| kernel.is_called(word)).ok_or_else(|| {
        let hypervisors = table::hypervisors();
        let kernels = table.iter().map(|kernel| kernel.name.as_str());
        let known: Vec<&str> = kernels.chain(hypervisors.iter().map(|hypervisor| hypervisor.name.as_str())).collect();
        let meant = did_you_mean(nearest(word, &known).as_deref());
        Usage(format!("there is no kernel `{word}`{meant}: give one of {}, or a path with a /", known.join(", ")))
    })
}
