//! The forms for other programs in which a report can be printed, each with its option.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use punctual_report::{EXPORTS, Export};

/// The chosen form.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ExportArguments(pub(crate) Option<&'static Export>);

impl FromArgMatches for ExportArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<ExportArguments, clap::Error> {
        Ok(ExportArguments(EXPORTS.iter().find(|export| matches.get_flag(export.name))))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = ExportArguments::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for ExportArguments {
    fn augment_args(command: Command) -> Command {
        EXPORTS.iter().fold(command, |command, export| {
            let others = EXPORTS.iter().map(|export| export.name).filter(|name| *name != export.name);
            let option = Arg::new(export.name).long(export.name).help(export.help).action(ArgAction::SetTrue);
            command.arg(
                option
                    .conflicts_with_all(["json", "interarrival", "markdown", "export_markdown"])
                    .conflicts_with_all(others),
            )
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        ExportArguments::augment_args(command)
    }
}
