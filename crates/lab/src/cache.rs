//! Kernels on this machine: fetched once, kept, and found again.

use crate::apt::{Apt, AptError};
use crate::image::{self, ImageError, MAX_IMAGE_BYTES};
use crate::own_place::{self, NotOwn, Whose};
use crate::package::{self, PackageError};
use crate::table::{Kernel, Package};
use punctual_recording::input;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why a kernel is not to be had.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The packages.
    #[error(transparent)]
    Apt(#[from] AptError),
    /// What packages there are.
    #[error("{0}")]
    Lists(String),
    /// The image in one.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A file.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A package is not what the table says.
    #[error("{package}: the SHA-256 of the package is {found}, but the table records {recorded}")]
    Changed {
        /// Which.
        package: String,
        /// What came.
        found: String,
        /// What is recorded.
        recorded: String,
    },
    /// The directory is somebody else's.
    #[error("{}: belongs to another user, or others may write into it: name one of your own in {DIRECTORY_VARIABLE}", .0.display())]
    Foreign(PathBuf),
    /// make cannot handle the path of the directory.
    #[error("{}: make cannot use a path with spaces or special characters: name another directory in {DIRECTORY_VARIABLE}", .0.display())]
    Awkward(PathBuf),
    /// A package cannot be unpacked.
    #[error("{0}: the package does not unpack (is dpkg-deb installed, and is there room?)")]
    NotUnpacked(String),
    /// Something is missing that a module is built with.
    #[error("{0}: its headers are incomplete: fetch them again")]
    NoHeaders(String),
    /// A directory is not that of a kernel that was built.
    #[error("{}: a directory without a built kernel: neither {} nor {} is in it", .0.display(), BUILT[0], BUILT[1])]
    NotBuilt(PathBuf),
    /// A package contains no kernel, or does not unpack.
    #[error(transparent)]
    Package(#[from] PackageError),
}

/// The environment variable that names another directory for kernels.
pub const DIRECTORY_VARIABLE: &str = "PUNCTUAL_KERNELS";

/// The directory with the kernels that were fetched.
pub struct Cache {
    pub(crate) directory: PathBuf,
}

/// A kernel that the user gives.
#[derive(Clone, Debug)]
pub struct Own {
    /// The kernel as an ELF file.
    pub elf: PathBuf,
    /// The package that it came from, with its version, or the release of a build.
    pub package: Option<String>,
}

/// A kernel on this machine.
#[derive(Clone, Debug)]
pub struct Held {
    /// The kernel as an ELF file.
    pub elf: PathBuf,
    /// What it came from.
    pub package: Package,
    /// Whether it was fetched just now.
    pub is_new: bool,
    /// Whether the table records another version that is not to be had any more.
    pub replaces: Option<String>,
}

/// What is taken out of a package, and how it is kept.
pub(crate) struct Wanted<'a> {
    /// Its name here, which is that of its directory.
    pub(crate) name: &'a str,
    /// The name of its ELF file.
    pub(crate) elf: &'static str,
    /// What the table records.
    pub(crate) recorded: Option<&'a Package>,
    /// Writes the ELF file out of an opened package: the paths are that package's, for messages, and the file's.
    pub(crate) extract: fn(&File, &Path, &Path) -> Result<(), CacheError>,
}

impl Wanted<'_> {
    /// A kernel.
    fn of(kernel: &Kernel) -> Wanted<'_> {
        Wanted { name: &kernel.name, elf: ELF, recorded: kernel.recorded.as_ref(), extract: extract_kernel }
    }

    /// The recorded version, if another one is there in its place.
    fn replaced_by(&self, package: &Package) -> Option<String> {
        let recorded = self.recorded?;
        (recorded.version != package.version).then(|| recorded.version.clone())
    }
}

fn extract_kernel(opened: &File, deb: &Path, elf: &Path) -> Result<(), CacheError> {
    Ok(image::extract_from(&package::image_of(opened, deb)?, deb, elf)?)
}

const ELF: &str = "vmlinux";
/// What a kernel's build leaves in its tree, the smaller one first: both hold the same kernel with its type information.
const BUILT: [&str; 2] = ["arch/x86/boot/bzImage", "vmlinux"];
/// Where it says which release that is, and how long that may be, bytes.
const RELEASE: &str = "include/config/kernel.release";
const MAX_RELEASE_BYTES: u64 = 100;
const SOURCE: &str = "package.json";
/// No download, unpacking or build takes so long: what has been lying here since then was left by a run that was killed.
const LEFT_AFTER: Duration = Duration::from_secs(24 * 3600);

pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> CacheError {
    let path = path.to_owned();
    |source| CacheError::File { path, source }
}

impl Cache {
    /// The directory that the user chose, or the usual one.
    #[must_use]
    pub fn new() -> Cache {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let usual = || {
            let home = || variable("HOME").unwrap_or_default().join(".cache");
            variable("XDG_CACHE_HOME").unwrap_or_else(home).join("punctual/kernels")
        };
        Cache::at(variable(DIRECTORY_VARIABLE).unwrap_or_else(usual))
    }

    /// In a directory, wherever programs that are called with a path below it work.
    fn at(directory: PathBuf) -> Cache {
        Cache { directory: std::path::absolute(&directory).unwrap_or(directory) }
    }

    /// A kernel that is already there: the recorded version, or what replaced it.
    #[must_use]
    pub fn held(&self, kernel: &Kernel) -> Option<Held> {
        self.kept(&Wanted::of(kernel))
    }

    /// What is already there of what a package holds.
    pub(crate) fn kept(&self, wanted: &Wanted<'_>) -> Option<Held> {
        let directory = self.directory.join(wanted.name);
        // Nothing is booted that another user put there.
        own_place::check(&directory, Whose::OwnOrRoots).ok()?;
        let text = std::fs::read_to_string(directory.join(SOURCE)).ok()?;
        let package: Package = serde_json::from_str(&text).ok()?;
        let elf = directory.join(wanted.elf);
        let replaces = wanted.replaced_by(&package);
        elf.is_file().then_some(Held { elf, package, is_new: false, replaces })
    }

    /// Fetches kernels that are not there; with `anew`, the newest of each. In the order of `kernels`.
    pub fn fetch(&self, kernels: &[&Kernel], anew: bool) -> Vec<Result<Held, CacheError>> {
        let there = |kernel: &Kernel| self.held(kernel).filter(|_| !anew);
        let missing: Vec<&&Kernel> = kernels.iter().filter(|kernel| there(kernel).is_none()).collect();
        let mut suites: Vec<String> = missing.iter().flat_map(|kernel| kernel.suites.clone()).collect();
        suites.sort();
        suites.dedup();
        let lists = || {
            self.claim().map_err(|error| error.to_string())?;
            Apt::new(&self.directory.join("apt"), &suites).map_err(|error| error.to_string())
        };
        let apt = (!suites.is_empty()).then(lists);
        let one = |kernel: &&Kernel| match (there(kernel), &apt) {
            (Some(held), _) => Ok(held),
            (None, Some(Ok(apt))) => self.take(apt, kernel, anew),
            (None, Some(Err(error))) => Err(CacheError::Lists(error.clone())),
            (None, None) => unreachable!("a missing kernel has suites"),
        };
        kernels.iter().map(one).collect()
    }

    fn take(&self, apt: &Apt, kernel: &Kernel, anew: bool) -> Result<Held, CacheError> {
        self.take_first(apt, &Wanted::of(kernel), &apt.candidates(kernel)?, anew)
    }

    /// Takes one of several versions, the recorded one first unless the newest is wanted `anew`.
    pub(crate) fn take_first(
        &self,
        apt: &Apt,
        wanted: &Wanted<'_>,
        candidates: &[Package],
        anew: bool,
    ) -> Result<Held, CacheError> {
        let is_recorded = |candidate: &&Package| {
            let recorded = wanted.recorded.filter(|_| !anew);
            recorded.is_some_and(|recorded| {
                (&recorded.package, &recorded.version) == (&candidate.package, &candidate.version)
            })
        };
        // The mirror's list may name what its files lack: then the next newest.
        let (recorded, others): (Vec<_>, Vec<_>) = candidates.iter().partition(is_recorded);
        let mut refused = None;
        for candidate in recorded.into_iter().chain(others) {
            let scratch = tempfile::tempdir_in(&self.directory).map_err(file(&self.directory))?;
            match apt.download(candidate, scratch.path()) {
                Ok(deb) => {
                    let package = self.unpack(&deb, wanted, candidate)?;
                    let elf = self.directory.join(wanted.name).join(wanted.elf);
                    let replaces = wanted.replaced_by(&package).filter(|_| !anew);
                    return Ok(Held { elf, package, is_new: true, replaces });
                }
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(refused.expect("at least one candidate").into())
    }

    /// Unpacks what is wanted of a downloaded package, provided it is the recorded one.
    fn unpack(&self, deb: &Path, wanted: &Wanted<'_>, package: &Package) -> Result<Package, CacheError> {
        let directory = self.directory.join(wanted.name);
        own_place::make_directory(&directory).map_err(file(&directory))?;
        let found = sha256(deb).map_err(file(deb))?;
        let recorded = wanted.recorded.filter(|recorded| recorded.version == package.version);
        if let Some(recorded) =
            recorded.filter(|recorded| recorded.package == package.package && recorded.sha256 != found)
        {
            let (package, recorded) = (package.package.clone(), recorded.sha256.clone());
            return Err(CacheError::Changed { package, found, recorded });
        }
        let opened = File::open(deb).map_err(file(deb))?;
        (wanted.extract)(&opened, deb, &directory.join(wanted.elf))?;
        let package = Package { sha256: found, ..package.clone() };
        let source = directory.join(SOURCE);
        let text = serde_json::to_string_pretty(&package).expect("three texts");
        own_place::write(&source, (text + "\n").as_bytes()).map_err(file(&source))?;
        Ok(package)
    }

    /// Makes the directory. Nothing is written through what another user owns.
    pub(crate) fn claim(&self) -> Result<(), CacheError> {
        self.check(Whose::OwnOrRoots)?;
        own_place::make_directory(&self.directory).map_err(file(&self.directory))?;
        self.check(Whose::Own)?;
        for below in ["", "own", "modules"] {
            own_place::remove_left(&self.directory.join(below), LEFT_AFTER);
        }
        Ok(())
    }

    fn check(&self, whose: Whose) -> Result<(), CacheError> {
        own_place::check(&self.directory, whose).map_err(|error| match error {
            NotOwn::Foreign(path) => CacheError::Foreign(path),
            NotOwn::File { path, source } => CacheError::File { path, source },
        })
    }

    /// The ELF file of a kernel that the user gives: of an image, of a package with one, or of a tree where one was built.
    ///
    /// # Errors
    ///
    /// If it cannot be read or unpacked.
    pub fn own(&self, given: &Path) -> Result<Own, CacheError> {
        if given.is_dir() {
            let built = BUILT.iter().map(|below| given.join(below)).find(|path| path.is_file());
            let Own { elf, .. } = self.own(&built.ok_or_else(|| CacheError::NotBuilt(given.to_owned()))?)?;
            return Ok(Own { elf, package: release(given).map(|release| format!("build tree {release}")) });
        }
        let bytes = input::read_file(given, MAX_IMAGE_BYTES).map_err(file(given))?;
        let is_package = package::is_package(&bytes, given)?;
        self.claim()?;
        let directory = self.directory.join("own");
        own_place::make_directory(&directory).map_err(file(&directory))?;
        let elf = directory.join(&digest(&bytes)[..16]);
        if !is_package {
            if !elf.is_file() {
                image::extract_from(&bytes, given, &elf)?;
            }
            return Ok(Own { elf, package: None });
        }
        let deb = copied(&bytes, &directory).map_err(file(&directory))?;
        let package = package::version_of(&deb, given)?;
        if !elf.is_file() {
            image::extract_from(&package::image_of(&deb, given)?, &given.join("vmlinuz"), &elf)?;
        }
        Ok(Own { elf, package: Some(package) })
    }
}

/// A copy of what was read of a file. Whoever may write to the file could give others another kernel under this one's digest.
fn copied(bytes: &[u8], directory: &Path) -> io::Result<File> {
    let mut copy = tempfile::tempfile_in(directory)?;
    copy.write_all(bytes)?;
    Ok(copy)
}

impl Default for Cache {
    fn default() -> Cache {
        Cache::new()
    }
}

/// The release of a kernel that was built in a tree.
fn release(tree: &Path) -> Option<String> {
    let text = String::from_utf8(input::read_file(&tree.join(RELEASE), MAX_RELEASE_BYTES).ok()?).ok()?;
    let release = text.trim();
    let is_shown = !release.is_empty() && release.chars().all(|character| character.is_ascii_graphic());
    is_shown.then(|| release.to_owned())
}

pub(crate) fn sha256(path: &Path) -> io::Result<String> {
    Ok(digest(&input::read_file(path, MAX_IMAGE_BYTES)?))
}

pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Package and version, for people.
#[must_use]
pub fn version_of(held: &Held) -> String {
    let package = &held.package;
    format!("{} {}", package.package, package.version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn files_below(directory: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(directory).unwrap().flatten().map(|entry| entry.path());
        let below = |path: PathBuf| if path.is_dir() { files_below(&path) } else { vec![path] };
        entries.flat_map(below).collect()
    }

    #[test]
    fn a_kernel_is_taken_from_a_package_and_nothing_else_of_that_is_kept() {
        if Command::new("dpkg-deb").arg("--version").output().is_err() {
            return punctual_testing::skip("a kernel from a package", "dpkg-deb is not installed");
        }
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache { directory: directory.path().join("kernels") };
        let path = directory.path().join("linux.deb");
        let files = [("./etc/passwd", &b"not this"[..]), ("./boot/vmlinuz-6.12", &b"\x7fELF kernel"[..])];
        std::fs::write(&path, package::tests::deb("amd64", &files)).unwrap();
        let own = cache.own(&path).unwrap();
        assert_eq!(own.package.as_deref(), Some("linux-image-test 6.12-1"));
        assert_eq!(std::fs::read(&own.elf).unwrap(), b"\x7fELF kernel");
        assert_eq!(files_below(&cache.directory), [own.elf]);

        // What is no kernel leaves nothing.
        std::fs::write(&path, package::tests::deb("amd64", &[("./vmlinuz", &b"of another machine"[..])])).unwrap();
        let said = cache.own(&path).unwrap_err().to_string();
        assert!(said.contains("linux.deb") && said.lines().count() == 1, "{said}");
        assert_eq!(files_below(&cache.directory).len(), 1);
    }

    #[test]
    fn a_directory_that_is_named_from_here_is_the_same_for_programs_that_work_elsewhere() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(Cache::at("kernels".into()).directory, here.join("kernels"));
        assert_eq!(Cache::at("/kernels".into()).directory, Path::new("/kernels"));
    }

    #[test]
    fn what_is_wanted_of_a_package_is_kept_and_another_package_under_its_version_is_refused() {
        if Command::new("dpkg-deb").arg("--version").output().is_err() {
            return punctual_testing::skip("what is wanted of a package", "dpkg-deb is not installed");
        }
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache { directory: directory.path().join("kernels") };
        let deb = directory.path().join("linux.deb");
        std::fs::write(&deb, package::tests::deb("amd64", &[("./boot/vmlinuz-6.12", &b"\x7fELF kernel"[..])])).unwrap();
        let package = Package { package: "linux".to_owned(), version: "6.12-1".to_owned(), sha256: String::new() };
        let with = |sha256: &str| Package { sha256: sha256.to_owned(), ..package.clone() };
        let (other, right) = (with("0"), with(&sha256(&deb).unwrap()));
        let wanted = |recorded| Wanted { name: "x", elf: ELF, recorded, extract: extract_kernel };
        let refused = cache.unpack(&deb, &wanted(Some(&other)), &package).unwrap_err();
        assert!(matches!(refused, CacheError::Changed { .. }), "{refused}");
        assert!(cache.kept(&wanted(None)).is_none(), "a refused package left a kernel");
        cache.unpack(&deb, &wanted(Some(&right)), &package).unwrap();
        let kept = cache.kept(&wanted(Some(&right))).unwrap();
        assert_eq!((kept.package.sha256 == right.sha256, kept.replaces), (true, None));
        let newer = Package { version: "6.13-1".to_owned(), ..right.clone() };
        assert_eq!(cache.kept(&wanted(Some(&newer))).unwrap().replaces.as_deref(), Some("6.13-1"));
    }

    #[test]
    fn a_kernel_is_taken_from_the_tree_where_it_was_built() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache { directory: directory.path().join("kernels") };
        let tree = directory.path().join("linux");
        std::fs::create_dir_all(tree.join("arch/x86/boot")).unwrap();
        std::fs::create_dir_all(tree.join("include/config")).unwrap();
        let said = cache.own(&tree).unwrap_err().to_string();
        assert!(said.contains("linux: ") && said.contains(BUILT[0]) && said.lines().count() == 1, "{said}");
        assert!(!cache.directory.exists(), "nothing was taken");
        for (place, contents) in [("vmlinux", "\x7fELF whole"), (RELEASE, "6.13.0-rc2\n"), (BUILT[0], "\x7fELF packed")]
        {
            std::fs::write(tree.join(place), contents).unwrap();
            let Ok(own) = cache.own(&tree) else { panic!("{place}") };
            let is_packed = place == BUILT[0];
            let expected = if is_packed { "\x7fELF packed" } else { "\x7fELF whole" };
            assert_eq!(std::fs::read_to_string(&own.elf).unwrap(), expected, "{place}");
            assert_eq!(own.package.is_some(), place != "vmlinux", "{place}");
        }
        assert_eq!(cache.own(&tree).unwrap().package.as_deref(), Some("build tree 6.13.0-rc2"));
        std::fs::write(tree.join(RELEASE), "6.13\u{1b}[2J").unwrap();
        assert_eq!(cache.own(&tree).unwrap().package, None);
    }
}
