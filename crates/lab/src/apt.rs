//! Debian's packages, fetched with apt whose state is in directories of its own: the system's lists stay as they are,
//! and an ordinary user may do it.

use crate::own_place;
use crate::table::{Kernel, NEWEST, Package};
use regex::Regex;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Why packages are not to be had.
#[derive(Debug, thiserror::Error)]
pub enum AptError {
    /// A program is missing.
    #[error("{0} is not installed: it fetches kernels from Debian's packages")]
    Missing(&'static str),
    /// This is not Debian.
    #[error("this system's packages do not come from a mirror of Debian: name one in {MIRROR_VARIABLE}")]
    NoMirror,
    /// The lists or a package could not be fetched.
    #[error("{what}: {message}")]
    Failed {
        /// What was tried.
        what: String,
        /// The program's first complaint.
        message: String,
    },
    /// No package fits.
    #[error("no kernel {name} in {suites}")]
    None {
        /// The kernel.
        name: String,
        /// Where it was searched for.
        suites: String,
    },
    /// A file of this program's own.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// The environment variable that names the mirror to fetch packages from, which has debian/ and debian-security/.
/// Without it they come from where the system's own do.
pub const MIRROR_VARIABLE: &str = "PUNCTUAL_DEBIAN_MIRROR";
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// apt with its own lists.
pub struct Apt {
    directory: PathBuf,
}

fn file(path: &Path) -> impl FnOnce(io::Error) -> AptError {
    let path = path.to_owned();
    |source| AptError::File { path, source }
}

impl Apt {
    /// Fetches the lists of some suites.
    ///
    /// # Errors
    ///
    /// If there is no apt, no key, or no mirror.
    pub fn new(directory: &Path, suites: &[String]) -> Result<Apt, AptError> {
        if !Path::new(KEYS).exists() {
            return Err(AptError::Missing("debian-archive-keyring"));
        }
        for below in ["cache/archives/partial", "lists/partial", "state", "nothing"] {
            let path = directory.join(below);
            own_place::make_directory(&path).map_err(file(&path))?;
        }
        let named = std::env::var(MIRROR_VARIABLE).ok();
        let mirror = named.or_else(mirror_of_system).ok_or(AptError::NoMirror)?;
        let source = |suite: &String| {
            let archive = if suite.ends_with("-security") { "debian-security" } else { "debian" };
            format!("deb [arch=amd64 signed-by={KEYS}] {}/{archive} {suite} main\n", mirror.trim_end_matches('/'))
        };
        let at = directory.display();
        let settings = format!(
            "{}Dir::State \"{at}/state\";\nDir::State::lists \"{at}/lists\";\nDir::State::status \"{at}/status\";\n\
             Dir::Cache \"{at}/cache\";\nDir::Etc::main \"/dev/null\";\nDir::Etc::parts \"{at}/nothing\";\n\
             Dir::Etc::sourcelist \"{at}/sources.list\";\nDir::Etc::sourceparts \"{at}/nothing\";\n\
             Dir::Etc::preferences \"/dev/null\";\nDir::Etc::preferencesparts \"{at}/nothing\";\n\
             APT::Architecture \"amd64\";\nAPT::Architectures {{ \"amd64\"; }};\nAPT::Sandbox::User \"root\";\n\
             Acquire::Languages \"none\";\nAcquire::Retries \"2\";\n",
            proxies()
        );
        for (name, text) in
            [("sources.list", suites.iter().map(source).collect()), ("apt.conf", settings), ("status", String::new())]
        {
            let path = directory.join(name);
            own_place::write(&path, text.as_bytes()).map_err(file(&path))?;
        }
        let apt = Apt { directory: directory.to_owned() };
        apt.run("apt-get", &["update", "-qq", "--error-on=any"], directory, "taking the lists of packages")?;
        Ok(apt)
    }

    /// Every package that fits a kernel, the newest first.
    ///
    /// # Errors
    ///
    /// If the lists cannot be read or have none.
    pub fn candidates(&self, kernel: &Kernel) -> Result<Vec<Package>, AptError> {
        let series = if kernel.series == NEWEST { r"\d+\.\d+".to_owned() } else { regex::escape(&kernel.series) };
        // linux-image-6.1.0-56-amd64, linux-image-6.12.117+deb13-rt-amd64, linux-binary-7.3.4+deb13-cloud-amd64; not the
        // backports of one suite's kernel to an older one (6.1.0-0.deb11.52).
        let pattern = format!(r"^linux-(binary|image)-{series}\.\d+(\+deb[0-9.]+|-\d+)?-{}$", kernel.flavour);
        let pattern = Regex::new(&pattern).expect("a fixed pattern");
        let names = self.run("apt-cache", &["pkgnames", "linux-"], &self.directory, "reading the lists of packages")?;
        let fitting: Vec<&str> = names.lines().filter(|name| pattern.is_match(name)).collect();
        let none = || AptError::None { name: kernel.name.clone(), suites: kernel.suites.join(" and ") };
        if fitting.is_empty() {
            return Err(none());
        }
        let packages = self.shown(&fitting, "reading the lists of packages")?;
        if packages.is_empty() { Err(none()) } else { Ok(packages) }
    }

    /// Every version of a package, the newest first.
    ///
    /// # Errors
    ///
    /// If the lists cannot be read or have none.
    pub fn versions(&self, name: &str) -> Result<Vec<Package>, AptError> {
        let what = format!("looking for {name}");
        let packages = self.shown(&[name], &what)?;
        let none = || AptError::Failed { what: what.clone(), message: "the lists do not have it".to_owned() };
        if packages.is_empty() { Err(none()) } else { Ok(packages) }
    }

    /// What the lists have of these packages, the newest first; of the same version only one.
    fn shown(&self, names: &[&str], what: &str) -> Result<Vec<Package>, AptError> {
        let words = [&["show"][..], names].concat();
        let shown = self.run("apt-cache", &words, &self.directory, what)?;
        let mut packages: Vec<Package> = shown.split("\n\n").filter_map(package).collect();
        // The smaller of two packages with the same kernel is the one without modules.
        packages.sort_by_key(|package| {
            (version_key(&package.version), package.package.starts_with("linux-binary"), package.package.clone())
        });
        packages.reverse();
        packages.dedup_by(|second, first| second.version == first.version);
        Ok(packages)
    }

    /// A package of this version and what it depends on, directly or not, as far as that is `taken`.
    ///
    /// # Errors
    ///
    /// If the lists cannot be read or do not have it.
    pub fn with_dependencies(
        &self,
        name: &str,
        version: &str,
        taken: fn(&str) -> bool,
    ) -> Result<Vec<Package>, AptError> {
        let mut wanted = vec![(name.to_owned(), Some(version.to_owned()))];
        let mut packages: Vec<Package> = Vec::new();
        while let Some((name, version)) = wanted.pop() {
            if packages.iter().any(|package| package.package == name) {
                continue;
            }
            let word = version.map_or_else(|| name.clone(), |version| format!("{name}={version}"));
            let what = format!("looking for {word}");
            let shown = self.run("apt-cache", &["show", "--no-all-versions", &word], &self.directory, &what)?;
            let message = || AptError::Failed { what: what.clone(), message: "the lists do not have it".to_owned() };
            let paragraph = shown.split("\n\n").next().unwrap_or_default();
            packages.push(package(paragraph).ok_or_else(message)?);
            wanted.extend(dependencies(paragraph).into_iter().filter(|(name, _)| taken(name)));
        }
        Ok(packages)
    }

    /// Downloads a package into a directory; apt checks it against the signed lists.
    ///
    /// # Errors
    ///
    /// If it is not to be had.
    pub fn download(&self, package: &Package, into: &Path) -> Result<PathBuf, AptError> {
        let wanted = format!("{}={}", package.package, package.version);
        let what = format!("downloading {wanted}");
        self.run("apt-get", &["download", "-qq", &wanted], into, &what)?;
        let mut entries = std::fs::read_dir(into).map_err(file(into))?.flatten().map(|entry| entry.path());
        let deb = entries.find(|path| path.extension().is_some_and(|extension| extension == "deb"));
        deb.ok_or(AptError::Failed { what, message: "no file arrived".to_owned() })
    }

    fn run(&self, program: &'static str, words: &[&str], within: &Path, what: &str) -> Result<String, AptError> {
        let mut command = Command::new(program);
        command.args(words).current_dir(within).env("APT_CONFIG", self.directory.join("apt.conf")).env("LC_ALL", "C");
        let output = command.stdin(Stdio::null()).output().map_err(|_| AptError::Missing(program))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
        let message = complaints.lines().find(|line| line.starts_with("E:")).or(complaints.lines().next());
        Err(AptError::Failed { what: what.to_owned(), message: message.unwrap_or("it failed").to_owned() })
    }
}

/// The Debian mirror that the system's packages come from.
fn mirror_of_system() -> Option<String> {
    let words = ["indextargets", "--no-release-info", "--format", "$(REPO_URI)", "Created-By: Packages"];
    let output = Command::new("apt-get").args(words).stdin(Stdio::null()).output().ok()?;
    mirror_among(&String::from_utf8_lossy(&output.stdout))
}

fn mirror_among(addresses: &str) -> Option<String> {
    addresses.lines().find_map(|line| line.trim_end_matches('/').strip_suffix("/debian")).map(str::to_owned)
}

/// How the system's apt reaches the network.
fn proxies() -> String {
    let output = Command::new("apt-config").arg("dump").stdin(Stdio::null()).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let of_network = |line: &&str| line.starts_with("Acquire::http");
    text.lines().filter(of_network).flat_map(|line| [line, "\n"]).collect()
}

/// A package, from the output of `apt-cache show`.
fn package(paragraph: &str) -> Option<Package> {
    let field = |name: &str| {
        let value = paragraph.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        value.map(str::to_owned)
    };
    Some(Package { package: field("Package")?, version: field("Version")?, sha256: field("SHA256")? })
}

/// What a package depends on, the first of alternatives: the name, and the version if it must be that one.
fn dependencies(paragraph: &str) -> Vec<(String, Option<String>)> {
    let line = paragraph.lines().find_map(|line| line.strip_prefix("Depends: ")).unwrap_or_default();
    let one = |alternatives: &str| {
        let mut words = alternatives.split('|').next()?.split_whitespace();
        let name = words.next()?.split(':').next()?.to_owned();
        let exact = (words.next() == Some("(=")).then(|| words.next()).flatten();
        Some((name, exact.map(|version| version.trim_end_matches(')').to_owned())))
    };
    line.split(',').filter_map(one).collect()
}

/// Orders kernel versions: by the numbers in them, one after another; what follows a tilde comes before the version.
fn version_key(version: &str) -> (Vec<u64>, bool, Vec<u64>) {
    let numbers = |text: &str| -> Vec<u64> {
        text.split(|character: char| !character.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
    };
    let (version, before) = version.split_once('~').unwrap_or((version, ""));
    (numbers(version), before.is_empty(), numbers(before))
}

#[cfg(test)]
mod tests {
    use super::{dependencies, mirror_among, package, version_key};

    #[test]
    fn the_mirror_is_that_of_the_system() {
        let addresses = "https://example.org/node/\nhttp://mirror.example.org/pub/debian-security/\n\
                         http://mirror.example.org/pub/debian/\n";
        assert_eq!(mirror_among(addresses).as_deref(), Some("http://mirror.example.org/pub"));
        assert_eq!(mirror_among("https://example.org/ubuntu/\n"), None);
    }

    #[test]
    fn dependencies_have_a_name_and_a_version_where_it_must_be_that() {
        let text =
            "Package: x\nDepends: linux-base (>= 4.12~), common (= 6.12-1), image (= 6.12-1) | other, libc6:amd64";
        let read = dependencies(text);
        let shown: Vec<(&str, Option<&str>)> =
            read.iter().map(|(name, version)| (name.as_str(), version.as_deref())).collect();
        let expected = [("linux-base", None), ("common", Some("6.12-1")), ("image", Some("6.12-1")), ("libc6", None)];
        assert_eq!(shown, expected);
        assert!(dependencies("Package: x").is_empty());
    }

    #[test]
    fn a_longer_number_is_a_newer_version() {
        assert!(version_key("6.12.117-1") > version_key("6.12.96-1"));
        assert!(version_key("7.3.4-1~bpo13+1") > version_key("7.2.13-1"));
        assert!(version_key("6.12.117-1") > version_key("6.12.117-1~deb12u1"));
        assert!(version_key("4.17.7+13-g2445b30a44-0+deb12u1") > version_key("4.17.5+72-g01140da4e8-1"));
    }

    #[test]
    fn a_paragraph_of_the_lists_is_read() {
        let text = "Package: linux-image-6.1.0-56-amd64\nVersion: 6.1.192-2\nSize: 7\nSHA256: ab\nDescription: x";
        let read = package(text).unwrap();
        assert_eq!((read.version.as_str(), read.sha256.as_str()), ("6.1.192-2", "ab"));
        assert!(package("Package: x").is_none());
    }
}
