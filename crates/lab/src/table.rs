//! The checked-in table of kernels: which ones are tried, and which version of each was last fetched.

use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A package of a distribution that holds a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Package {
    /// Its name.
    pub package: String,
    /// Its version, as the distribution writes it.
    pub version: String,
    /// The digest of the package's file.
    pub sha256: String,
}

/// A kernel that is tried.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Its name here: `6.1-rt`.
    pub name: String,
    /// `6.1`, or [`NEWEST`].
    pub series: String,
    /// The end of its packages' names: `rt-amd64`.
    pub flavour: String,
    /// Where its packages are.
    pub suites: Vec<String>,
    /// Whether it is a part of `./test`.
    #[serde(default)]
    pub fast: bool,
    /// What was last fetched.
    #[serde(flatten)]
    pub recorded: Option<Package>,
}

/// A hypervisor, and the kernel that it boots as the system that works the machine's devices (dom0).
#[derive(Clone, Debug, Deserialize)]
pub struct Hypervisor {
    /// The name of both together: `6.1-xen`.
    pub name: String,
    /// The kernel's name.
    pub kernel: String,
    /// Where the hypervisor's package is.
    pub suites: Vec<String>,
    /// What was last fetched.
    #[serde(flatten)]
    pub recorded: Package,
}

/// The series that stands for the newest in the suites.
pub const NEWEST: &str = "newest";

#[derive(Deserialize)]
struct Table {
    kernel: Vec<Kernel>,
}

const TABLE: &str = include_str!("../kernels.toml");

/// The checked-in table.
///
/// # Panics
///
/// If the file does not fit, which a test excludes.
#[must_use]
pub fn kernels() -> Vec<Kernel> {
    toml::from_str::<Table>(TABLE).expect("crates/lab/kernels.toml fits").kernel
}

/// The checked-in table of hypervisors.
///
/// # Panics
///
/// If the file does not fit, which a test excludes.
#[must_use]
pub fn hypervisors() -> Vec<Hypervisor> {
    #[derive(Deserialize)]
    struct Hypervisors {
        hypervisor: Vec<Hypervisor>,
    }
    toml::from_str::<Hypervisors>(include_str!("../hypervisors.toml"))
        .expect("crates/lab/hypervisors.toml fits")
        .hypervisor
}

/// Packages that modules are built with, as they were last fetched.
///
/// # Panics
///
/// If the file does not fit, which a test excludes.
#[must_use]
pub fn headers() -> Vec<Package> {
    #[derive(Deserialize)]
    struct Headers {
        package: Vec<Package>,
    }
    toml::from_str::<Headers>(include_str!("../headers.toml")).expect("crates/lab/headers.toml fits").package
}

impl Kernel {
    /// Whether a word means this kernel: its name, or the series of what was fetched for `newest`.
    #[must_use]
    pub fn is_called(&self, word: &str) -> bool {
        let of_version = |recorded: &Package| {
            let series = recorded.version.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
            self.name.replace(NEWEST, &series) == word
        };
        self.name == word || self.recorded.as_ref().is_some_and(of_version)
    }
}

/// Where the table is in a checkout.
#[must_use]
pub fn path(checkout: &Path) -> PathBuf {
    checkout.join("crates/lab/kernels.toml")
}

/// Writes what was fetched into a checkout's table; the head of the file stays.
///
/// # Errors
///
/// If the table cannot be read or written.
pub fn record(checkout: &Path, kernels: &[Kernel]) -> std::io::Result<()> {
    let path = path(checkout);
    let text = std::fs::read_to_string(&path)?;
    let head: Vec<&str> = text.lines().take_while(|line| line.starts_with('#')).collect();
    let mut text = head.join("\n") + "\n";
    for kernel in kernels {
        let suites: Vec<String> = kernel.suites.iter().map(|suite| format!("\"{suite}\"")).collect();
        let _ = writeln!(text, "\n[[kernel]]\nname = \"{}\"\nseries = \"{}\"", kernel.name, kernel.series);
        let _ = writeln!(text, "flavour = \"{}\"\nsuites = [{}]", kernel.flavour, suites.join(", "));
        if kernel.fast {
            text.push_str("fast = true\n");
        }
        if let Some(Package { package, version, sha256 }) = &kernel.recorded {
            let _ = writeln!(text, "package = \"{package}\"\nversion = \"{version}\"\nsha256 = \"{sha256}\"");
        }
    }
    std::fs::write(path, text)
}

#[cfg(test)]
mod tests {
    use super::{headers, hypervisors, kernels, record};
    use std::collections::BTreeSet;

    #[test]
    fn the_table_fits_and_has_three_fast_kernels_with_one_real_time() {
        let kernels = kernels();
        let names: BTreeSet<&String> = kernels.iter().map(|kernel| &kernel.name).collect();
        assert_eq!(names.len(), kernels.len());
        let fast: Vec<_> = kernels.iter().filter(|kernel| kernel.fast).collect();
        assert_eq!(fast.len(), 3);
        assert_eq!(fast.iter().filter(|kernel| kernel.flavour.starts_with("rt-")).count(), 1);
        assert!(kernels.iter().all(|kernel| !kernel.suites.is_empty()));
    }

    #[test]
    fn every_hypervisor_boots_a_kernel_of_the_table_and_has_a_name_of_its_own() {
        let (kernels, hypervisors) = (kernels(), hypervisors());
        assert!(!hypervisors.is_empty());
        for hypervisor in &hypervisors {
            assert!(kernels.iter().any(|kernel| kernel.name == hypervisor.kernel), "{}", hypervisor.name);
            assert!(!kernels.iter().any(|kernel| kernel.is_called(&hypervisor.name)), "{}", hypervisor.name);
            assert!(!hypervisor.suites.is_empty() && hypervisor.recorded.sha256.len() == 64, "{}", hypervisor.name);
        }
    }

    #[test]
    fn the_headers_table_has_what_the_fast_kernels_are_built_with() {
        let headers = headers();
        let names: BTreeSet<&String> = headers.iter().map(|package| &package.package).collect();
        assert_eq!(names.len(), headers.len());
        for kernel in kernels().iter().filter(|kernel| kernel.fast) {
            let recorded = kernel.recorded.as_ref().unwrap();
            let of_it = headers.iter().filter(|package| package.version == recorded.version).count();
            assert!(of_it >= 3, "{}: {of_it}", kernel.name);
        }
    }

    #[test]
    fn what_is_written_is_what_was_there() {
        let checkout = tempfile::tempdir().unwrap();
        let path = super::path(checkout.path());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, super::TABLE).unwrap();
        record(checkout.path(), &kernels()).unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), super::TABLE);
    }
}
