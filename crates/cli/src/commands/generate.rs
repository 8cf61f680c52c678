//! Completions and manual pages, made from the command line's own description.

use crate::args::Arguments;
use crate::output::{self, Output};
use anyhow::Context;
use clap::CommandFactory;
use std::path::Path;

pub(crate) fn completions(shell: clap_complete::Shell) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "punctual", &mut script);
    output::print(&String::from_utf8_lossy(&script));
    Ok(0)
}

pub(crate) fn man(directory: &Path, output: Output) -> anyhow::Result<u8> {
    let writing = || format!("cannot write manual pages into {}", directory.display());
    std::fs::create_dir_all(directory).with_context(writing)?;
    clap_mangen::generate_to(Arguments::command(), directory).with_context(writing)?;
    if output.json {
        let verdict = format!("Manual pages were written into {}.", directory.display());
        let report = serde_json::json!({ "schema": "punctual.man/1", "verdict": verdict, "exit_code": 0 });
        output::print(&output::pretty(&report));
    }
    Ok(0)
}
