//! What installs the programs of a load.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// Packages, by the manager that installs them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Packages {
    /// For Debian, Ubuntu and their like.
    #[serde(deserialize_with = "names")]
    pub apt: Vec<String>,
    /// For Fedora and its like.
    #[serde(deserialize_with = "names")]
    pub dnf: Vec<String>,
    /// For Arch and its like.
    #[serde(deserialize_with = "names")]
    pub pacman: Vec<String>,
}

fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    match names.iter().find(|name| !is_name(name)) {
        Some(wrong) => Err(D::Error::custom(format!("`{wrong}` is not the name of a package"))),
        None => Ok(names),
    }
}

/// Whether a manager takes it for a package to be installed. Anything else may be an option, which can have root run any
/// command, a file, or, with a hyphen at its end, a package to be removed.
fn is_name(name: &str) -> bool {
    let is_of_a_name = |letter: char| letter.is_ascii_alphanumeric() || "+-._:".contains(letter);
    name.starts_with(|letter: char| letter.is_ascii_alphanumeric())
        && name.chars().all(is_of_a_name)
        && !name.ends_with('-')
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
    fn what_is_no_name_of_a_package_is_refused() {
        let read = |name: &str| {
            let managers = ["apt", "dnf", "pacman"];
            managers.map(|manager| toml::from_str::<Packages>(&format!("{manager} = ['gcc', '{name}']")).is_ok())
        };
        for right in ["g++", "libgtk-3.0", "xorg-x11-server-Xvfb", "libc6:amd64", "7zip"] {
            assert_eq!(read(right), [true; 3], "{right}");
        }
        let wrong =
            ["", "--option=x", "-oDPkg::Pre-Invoke::=x", "./a.deb", "/a.rpm", "a/b", "libc6-", "a b", "a=1", "é"];
        for wrong in wrong {
            assert_eq!(read(wrong), [false; 3], "{wrong}");
        }
        assert_eq!(toml::from_str::<Packages>("").unwrap(), Packages::default());
    }

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
