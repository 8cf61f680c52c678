//! Makes the guests' plan from the words of the command.

use super::kernel::{Kernel, kernel};
use super::module;
use super::scenario::{Scenario, read};
use crate::args::lab::GuestArguments;
use crate::output::Usage;
use crate::signals::Interrupted;
use punctual_lab::module::Built;
use punctual_study::lab::{Bootable, Cell, LabPlan, ONE_CPU, System};
use std::time::Duration;

/// What is ready to be booted.
pub(super) struct Prepared {
    /// In the order in which the user named them.
    pub(super) kernels: Vec<Kernel>,
    pub(super) interrupted: Interrupted,
    pub(super) plan: LabPlan,
    /// What the reader must know about what is measured.
    pub(super) notes: Vec<String>,
}

/// Reads the words, takes the kernels and builds modules.
pub(super) fn prepare(
    systems: &[System],
    cells: Vec<Cell>,
    jobs: Option<u32>,
    arguments: &GuestArguments,
) -> anyhow::Result<Prepared> {
    if arguments.cpus != 1 {
        return Err(Usage(format!("--cpus {}: {ONE_CPU}", arguments.cpus)).into());
    }
    let before = arguments.before.as_deref();
    let load = |system: &System| system.load.clone();
    let scenarios = |module: Option<&module::Loaded>| -> Result<Vec<Scenario>, Usage> {
        systems.iter().map(|system| read(&arguments.words, load(system).as_deref(), before, module)).collect()
    };
    let mut each = scenarios(None)?;
    // Before the program handles signals itself, so that a signal ends a download at once.
    let kernels: Vec<Kernel> = systems.iter().map(kernel).collect::<Result<_, _>>()?;
    let interrupted = Interrupted::watch();
    let mut modules: Vec<Built> = Vec::new();
    if let Some(driver) = &arguments.module {
        modules = module::modules(driver, &kernels, &interrupted)?;
        let loaded = module::loaded(driver, &modules[0]);
        each = scenarios(Some(&loaded))?;
    }
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let bootable = |(number, (system, kernel)): (usize, (&System, &Kernel))| Bootable {
        system: system.clone(),
        kernel: kernel.elf.clone(),
        hypervisor: kernel.hypervisor.clone(),
        files: modules.get(number).map(|built| (built.file.clone(), module::PLACE.to_owned())).into_iter().collect(),
        script: each[number].script.clone(),
        preparation: each[number].preparation.clone(),
    };
    let limit = each.iter().map(|scenario| scenario.limit).max().unwrap_or_default();
    let measures_own_threads = each.iter().all(|scenario| scenario.measures_own_threads);
    let plan = LabPlan {
        systems: systems.iter().zip(&kernels).enumerate().map(bootable).collect(),
        parameters: if modules.is_empty() { String::new() } else { module::PARAMETERS.to_owned() },
        grid: cells.clone(),
        cells,
        program: std::env::current_exe()?,
        files: arguments.add.clone(),
        memory_mib: arguments.memory,
        limit: arguments.timeout.map_or(limit, Duration::from_nanos),
        jobs: jobs.map_or(cpus, |jobs| jobs as usize),
        directory: arguments.output.clone().unwrap_or_else(|| crate::commands::fresh_name("lab-", "")),
    };
    let is_beside = |built: &&Built| built.stamps.is_none() && measures_own_threads;
    let beside = modules.first().filter(is_beside).map(|built| {
        format!(
            "module {} gives no stamps (punctual_module.h): punctual measured its own threads, beside it",
            built.name
        )
    });
    let notes = hypervisors(systems, &kernels).into_iter().chain(beside).collect();
    Ok(Prepared { kernels, interrupted, plan, notes })
}

/// Says which kernels do not have the machine to themselves, each once, whatever its parameters and loads.
fn hypervisors(systems: &[System], kernels: &[Kernel]) -> Vec<String> {
    let is_below = |(_, kernel): &(&System, &Kernel)| kernel.hypervisor.is_some();
    let mut names: Vec<&str> =
        systems.iter().zip(kernels).filter(is_below).map(|(system, _)| system.kernel.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let words = |name: &str| {
        format!(
            "{name}: a hypervisor lies between this kernel and the machine. Interrupts and timers reach the kernel \
             through it, and its instructions count in every stage"
        )
    };
    names.into_iter().map(words).collect()
}
