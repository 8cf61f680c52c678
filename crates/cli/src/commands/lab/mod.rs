//! `punctual lab`.

mod kernel;
mod kernels;
mod module;
mod plan;
mod run;
mod scenario;
mod why;

use crate::args::lab::LabCommand;
use crate::output::Output;

pub(crate) fn run(command: &LabCommand, output: Output) -> anyhow::Result<u8> {
    match command {
        LabCommand::Kernels(arguments) => kernels::run(arguments, output),
        LabCommand::Run(arguments) => run::run(arguments, output),
        LabCommand::Why(arguments) => why::run(arguments, output),
    }
}
