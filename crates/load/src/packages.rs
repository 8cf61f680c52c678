//! What installs the programs of a load.

use serde::Deserialize;

/// Packages, by the manager that installs them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Packages {
    /// For Debian, Ubuntu and their like.
    pub apt: Vec<String>,
    /// For Fedora and its like.
    pub dnf: Vec<String>,
    /// For Arch and its like.
    pub pacman: Vec<String>,
}

/// A package manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manager {
    /// apt-get.
    Apt,
    /// dnf.
    Dnf,
    /// pacman.
    Pacman,
}

impl Manager {
    /// All, in the order in which they are looked for.
    pub const ALL: [Manager; 3] = [Manager::Apt, Manager::Dnf, Manager::Pacman];

    /// The program.
    pub fn program(self) -> &'static str {
        match self {
            Manager::Apt => "apt-get",
            Manager::Dnf => "dnf",
            Manager::Pacman => "pacman",
        }
    }

    /// What it installs of these.
    pub fn of(self, packages: &Packages) -> &[String] {
        match self {
            Manager::Apt => &packages.apt,
            Manager::Dnf => &packages.dnf,
            Manager::Pacman => &packages.pacman,
        }
    }

    /// The command that installs these packages without asking again, through sudo if the user is not root.
    pub fn install_command(self, packages: &Packages, root: bool) -> Vec<String> {
        let options: &[&str] = match self {
            Manager::Apt => &["install", "--yes", "--no-install-recommends"],
            Manager::Dnf => &["install", "--assumeyes"],
            Manager::Pacman => &["-S", "--needed", "--noconfirm"],
        };
        let sudo = if root { None } else { Some("sudo") };
        let words = sudo.into_iter().chain([self.program()]).chain(options.iter().copied()).map(str::to_owned);
        words.chain(self.of(packages).iter().cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_manager_installs_its_own_packages() {
        let packages = Packages { apt: vec!["a".into()], dnf: vec!["d".into(), "e".into()], pacman: Vec::new() };
        assert_eq!(
            Manager::Apt.install_command(&packages, false).join(" "),
            "sudo apt-get install --yes --no-install-recommends a"
        );
        assert_eq!(Manager::Dnf.install_command(&packages, true).join(" "), "dnf install --assumeyes d e");
        assert!(Manager::Pacman.of(&packages).is_empty());
    }
}
