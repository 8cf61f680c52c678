//! Installs programs with this machine's package manager, after asking.

use crate::output::{Usage, say};
use anyhow::{Context, bail};
use punctual_kernel::capabilities::{find_program, is_root};
use punctual_load::missing;
use punctual_load::packages::{Manager, Packages};
use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};

/// The programs that are needed, and for what.
pub(super) struct Wanted<'a> {
    /// Whose they are: `the load office`.
    pub(super) name: &'a str,
    /// The programs.
    pub(super) programs: &'a [String],
    /// The packages that install them.
    pub(super) packages: &'a Packages,
}

/// Installs what is missing, without asking if `yes`; false if nothing is missing.
pub(super) fn install(wanted: &Wanted<'_>, yes: bool) -> anyhow::Result<bool> {
    let lacking = missing(wanted.programs, find_program);
    if lacking.is_empty() {
        return Ok(false);
    }
    let words = install_command(wanted, &lacking)?;
    let command = words.join(" ");
    say(&format!("{} lacks {}. This would install it:\n  {command}", capitalized(wanted.name), lacking.join(", ")));
    if !yes {
        if !std::io::stdin().is_terminal() {
            let usage = format!(
                "there is no terminal on which to ask whether to run `{command}`: add --yes, or run it yourself"
            );
            return Err(Usage(usage).into());
        }
        if !asked("Run it? [y/N] ") {
            bail!("nothing was installed");
        }
    }
    let (program, arguments) = words.split_first().context("an empty command")?;
    // The package manager's output is not this program's answer.
    let status = Command::new(program)
        .args(arguments)
        .stdout(Stdio::from(std::io::stderr()))
        .status()
        .with_context(|| format!("`{command}` could not be started"))?;
    if !status.success() {
        let advice = if words.iter().any(|word| word == "apt-get") { "; `apt-get update` may help" } else { "" };
        bail!("`{command}` failed{advice}");
    }
    let lacking = missing(wanted.programs, find_program);
    if !lacking.is_empty() {
        bail!("`{command}` ran, but {} is still missing", lacking.join(", "));
    }
    Ok(true)
}

/// What is said of it afterwards; `next` is what to do with it.
pub(super) fn verdict(wanted: &Wanted<'_>, was_missing: bool, next: &str) -> String {
    punctual_report::installed_verdict(wanted.name, !wanted.programs.is_empty(), was_missing, next)
}

fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn install_command(wanted: &Wanted<'_>, lacking: &[String]) -> anyhow::Result<Vec<String>> {
    let lacking = lacking.join(", ");
    let Some(manager) = Manager::ALL.into_iter().find(|manager| find_program(manager.program()).is_some()) else {
        bail!("{lacking} is missing, and there is no apt-get, dnf or pacman here: install it by hand");
    };
    if manager.of(wanted.packages).is_empty() {
        let (name, manager) = (wanted.name, manager.program());
        bail!("{lacking} is missing, and {name} names no packages for {manager}: install it by hand");
    }
    Ok(manager.install_command(wanted.packages, is_root()))
}

/// Asks the user; true for yes.
fn asked(question: &str) -> bool {
    let mut error = std::io::stderr();
    let _ = write!(error, "{question}").and_then(|()| error.flush());
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes" | "Yes")
}
