//! `punctual load`.

use clap::{Args, Subcommand};
use punctual_load::{Load, NotRunnable, Source};
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct LoadArguments {
    #[command(subcommand)]
    pub(crate) command: LoadCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LoadCommand {
    /// List the loads that come with the program, and which of them are installed
    List,
    /// Print a load's file: what it runs, and a template for your own
    #[command(after_help = "Example:\n  punctual load show office > mine.toml")]
    Show {
        /// A name, a load file or a stress-ng job file
        #[arg(value_name = "LOAD")]
        load: Source,
    },
    /// Install the programs of a load with this machine's package manager, after asking
    #[command(after_help = "Example:\n  punctual load install office")]
    Install {
        /// A name or a load file
        #[arg(value_name = "LOAD")]
        load: Source,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Run a load by itself and say what it gets done
    #[command(
        after_help = "Examples:\n  punctual load run workstation -D 20s\n  punctual load run mine.toml\n\nA bare number is seconds for -D."
    )]
    Run(LoadRunArguments),
}

/// What keeps the machine busy while something else is measured.
#[derive(Debug, Args)]
pub(crate) struct BusyArguments {
    /// Keep the machine busy meanwhile: a name from `punctual load list`, such as mixed or office, or a load file; separate
    /// several with commas
    #[arg(long, value_name = "LOAD", value_delimiter = ',')]
    pub(crate) load: Vec<Source>,
    /// Keep the machine busy meanwhile with this shell command, which is ended afterwards; may be repeated
    #[arg(long, value_name = "COMMAND")]
    pub(crate) load_command: Vec<String>,
}

impl BusyArguments {
    /// The load that these make together, for a measurement of at most this long.
    ///
    /// # Errors
    /// [`NotRunnable`] if one of them cannot run here.
    pub(crate) fn together(&self, limit: Option<Duration>) -> Result<Load, NotRunnable> {
        let mut load = Load::of_sources(&self.load, limit, &punctual_study::local_machine())?;
        self.load_command.iter().for_each(|command| load.add_shell_command(command));
        Ok(load)
    }
}

#[derive(Debug, Args)]
pub(crate) struct LoadRunArguments {
    /// Names, load files or stress-ng job files, separated by commas
    #[arg(value_name = "LOAD", required = true, value_delimiter = ',')]
    pub(crate) load: Vec<Source>,
    /// How long to count what it does, after its warm-up
    #[arg(short = 'D', long, value_name = "TIME", default_value = "10s", value_parser = super::values::duration)]
    pub(crate) duration: u64,
    /// Show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
