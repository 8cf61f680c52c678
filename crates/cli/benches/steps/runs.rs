//! How often which program runs for a switch: the same ones for the command as for its programs alone?

use crate::{STEPS, Step, Watched, workloads};
use punctual_kernel::bpf::enable_run_time_statistics;
use punctual_kernel::bpf_programs::ProgramList;
use std::collections::BTreeMap;
use std::fs;

/// Steps that tell what differs.
const COUNTED: [&str; 5] = [
    "programs of --comm --why",
    "  1,000 samples a second",
    "command --comm",
    "command --comm --why, no samples",
    "command --comm --why",
];
/// A program that runs less often for a switch is left out.
const MIN_RUNS: f64 = 0.000_5;

pub(crate) fn print() {
    let counted = |step: &&Step| COUNTED.contains(&step.name);
    for step in STEPS.iter().filter(counted) {
        let watched = (step.begin)();
        let process = match &watched {
            Watched::Whole(command) => command.process(),
            _ => std::process::id(),
        };
        workloads::ping_pong();
        watched.settle();
        let statistics = enable_run_time_statistics().expect("the kernel counts");
        let before = runs_of(process);
        let switches = workloads::ping_pong().count;
        let after = runs_of(process);
        drop(statistics);
        println!("{}: runs a switch, and ns a run", step.name);
        let names = ProgramList::default().now();
        let name = |id: &u32| names.iter().find(|program| program.id == *id);
        for (id, (runs, ns)) in after {
            let (runs_before, ns_before) = before.get(&id).copied().unwrap_or_default();
            let a_switch = (runs - runs_before) as f64 / switches;
            if let Some(program) = name(&id).filter(|_| a_switch >= MIN_RUNS) {
                let each = (ns - ns_before) as f64 / (runs - runs_before) as f64;
                println!("  {:<18} {:<24} {a_switch:>8.4} {each:>6.0}", program.name, program.hook);
            }
        }
        watched.end();
    }
}

/// How often each program has run that a process holds, and for how long, ns.
fn runs_of(process: u32) -> BTreeMap<u32, (u64, u64)> {
    let about = fs::read_dir(format!("/proc/{process}/fdinfo")).into_iter().flatten().flatten();
    let texts = about.filter_map(|about| fs::read_to_string(about.path()).ok());
    texts
        .filter_map(|text| {
            let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
            Some((field("prog_id:")? as u32, (field("run_cnt:")?, field("run_time_ns:")?)))
        })
        .collect()
}
