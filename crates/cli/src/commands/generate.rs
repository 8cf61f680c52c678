//! Completions and manual pages, made from the command line's own description.

use crate::help;
use crate::output::{self, Output};
use anyhow::Context;
use punctual_recording::{Directory, Place};
use punctual_report::answer::Done;
use std::path::Path;

pub(crate) fn completions(shell: clap_complete::Shell) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut help::command(), "punctual", &mut script);
    output::print(&String::from_utf8_lossy(&script));
    Ok(0)
}

pub(crate) fn man(directory: &Path, output: Output) -> anyhow::Result<u8> {
    let writing = || format!("cannot write manual pages into {}", directory.display());
    Directory::make(directory)?;
    let mut root = help::command().disable_help_subcommand(true);
    root.build();
    write_pages(root, directory).with_context(writing)?;
    if output.json {
        let verdict = format!("Manual pages were written into {}.", directory.display());
        output::answer(Done::new("punctual.man/1", &verdict), 0);
    }
    Ok(0)
}

/// Writes a page for a command, and one for each subcommand.
fn write_pages(command: clap::Command, directory: &Path) -> std::io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()).cloned() {
        write_pages(below, directory)?;
    }
    let page = clap_mangen::Man::new(command);
    let mut text = Vec::new();
    page.render(&mut text)?;
    Place::of(&directory.join(page.get_filename()))?.write(&text)
}
