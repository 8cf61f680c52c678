//! What a kernel's modules are built with: the headers of the distribution's packages, unpacked beside the kernel.
//! Nothing is installed.

use crate::apt::Apt;
use crate::cache::{Cache, CacheError, Held, file, sha256};
use crate::own_place;
use crate::table::{self, Kernel, Package};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Headers on this machine.
#[derive(Clone, Debug)]
pub struct Headers {
    /// Where make should work: the kernel's configuration.
    pub build: PathBuf,
    /// What they were unpacked from; nothing for a tree where a kernel was built.
    pub unpacked: Option<Unpacked>,
}

/// Headers out of packages.
#[derive(Clone, Debug)]
pub struct Unpacked {
    /// The sources that all kernels of this version share.
    pub source: PathBuf,
    /// What they were unpacked from.
    pub packages: Vec<Package>,
}

const PACKAGES: &str = "packages.json";
/// Of what headers depend on, what a module is built with: the compiler is the machine's own. The tools among it are
/// programs of the kernel's distribution, and run with its libraries, because this machine's may be older.
const TAKEN: [&str; 6] = ["linux-headers-", "linux-kbuild-", "libc6", "libelf1", "libzstd1", "zlib1g"];
/// The tools that building a module runs, and which of several variants.
const TOOLS: [(&str, &str); 3] = [
    ("scripts/basic/fixdep", "scripts/basic/fixdep"),
    ("scripts/mod/modpost", "scripts/mod/modpost.real-lsb-64"),
    ("tools/objtool/objtool", "tools/objtool/objtool.real-x86"),
];

/// Whether to take a package that headers depend on.
pub(crate) fn is_taken(package: &str) -> bool {
    TAKEN.iter().any(|beginning| package.starts_with(beginning))
}

impl Cache {
    /// The headers of a kernel that is here: those that are here too, or fetched now.
    ///
    /// # Errors
    ///
    /// If they are not to be had or cannot be unpacked, or if the directory is not this user's.
    pub fn headers(&self, kernel: &Kernel, held: &Held) -> Result<Headers, CacheError> {
        self.claim()?;
        let place = self.directory.join("headers").join(format!("{}-{}", kernel.name, plain(&held.package.version)));
        if is_awkward(&place) {
            return Err(CacheError::Awkward(place));
        }
        let kept = std::fs::read_to_string(place.join(PACKAGES)).ok();
        let packages = match kept.and_then(|text| serde_json::from_str::<Vec<Package>>(&text).ok()) {
            Some(packages) => packages,
            None => self.take_headers(kernel, held, &place)?,
        };
        let source = |package: &&Package| package.package.contains("-common");
        let shared = packages.iter().find(source).ok_or_else(|| CacheError::NoHeaders(held.package.package.clone()))?;
        let sources = place.join("usr/src");
        let build = sources.join(headers_of(&held.package.package));
        let source = sources.join(&shared.package);
        Ok(Headers { build, unpacked: Some(Unpacked { source, packages }) })
    }

    fn take_headers(&self, kernel: &Kernel, held: &Held, place: &Path) -> Result<Vec<Package>, CacheError> {
        let mut suites = kernel.suites.clone();
        // Backports build on the release that they are for.
        suites.extend(kernel.suites.iter().filter_map(|suite| suite.strip_suffix("-backports")).map(str::to_owned));
        let apt = Apt::new(&self.directory.join("apt"), &suites)?;
        let mut packages =
            apt.with_dependencies(&headers_of(&held.package.package), &held.package.version, is_taken)?;
        own_place::make_directory(place).map_err(file(place))?;
        for package in &mut packages {
            let scratch = tempfile::tempdir_in(&self.directory).map_err(file(&self.directory))?;
            let deb = apt.download(package, scratch.path())?;
            package.sha256 = sha256(&deb).map_err(file(&deb))?;
            let is_it = |other: &Package| (&other.package, &other.version) == (&package.package, &package.version);
            if let Some(recorded) =
                table::headers().into_iter().find(|other| is_it(other) && other.sha256 != package.sha256)
            {
                let (package, found) = (package.package.clone(), package.sha256.clone());
                return Err(CacheError::Changed { package, found, recorded: recorded.sha256 });
            }
            let mut unpack = Command::new("dpkg-deb");
            unpack.arg("-x").arg(&deb).arg(place).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            if !unpack.status().is_ok_and(|status| status.success()) {
                return Err(CacheError::NotUnpacked(package.package.clone()));
            }
        }
        run_with_own_libraries(place)?;
        // This comes last: without it nothing here counts.
        let text = serde_json::to_string_pretty(&packages).expect("a list of texts");
        let path = place.join(PACKAGES);
        own_place::write(&path, (text + "\n").as_bytes()).map_err(file(&path))?;
        Ok(packages)
    }
}

/// Whether make would take a path for something else.
pub(crate) fn is_awkward(path: &Path) -> bool {
    let is_special = |character: char| !character.is_ascii_graphic() || ":#'\"\\$%=;&()<>|*?[]`!{}".contains(character);
    path.to_string_lossy().contains(is_special)
}

/// The package of a kernel's headers.
fn headers_of(package: &str) -> String {
    let name = package.strip_prefix("linux-image-").or_else(|| package.strip_prefix("linux-binary-"));
    format!("linux-headers-{}", name.unwrap_or(package))
}

/// A version as a file name.
fn plain(version: &str) -> String {
    let usual =
        |character: char| if character.is_ascii_alphanumeric() || ".+-".contains(character) { character } else { '_' };
    version.chars().map(usual).collect()
}

/// Replaces each tool by a script that runs it with the libraries that were unpacked beside it.
fn run_with_own_libraries(place: &Path) -> Result<(), CacheError> {
    let beginnings = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"].map(|below| place.join(below));
    let loader = beginnings.iter().map(|place| place.join("ld-linux-x86-64.so.2")).find(|path| path.exists());
    let lib = place.join("usr/lib");
    let entries = std::fs::read_dir(&lib).map_err(file(&lib))?.flatten().map(|entry| entry.path());
    let is_kbuild =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("linux-kbuild-"));
    let kbuild = entries.into_iter().find(is_kbuild);
    let (Some(loader), Some(kbuild)) = (loader, kbuild) else {
        return Err(CacheError::NoHeaders(place.display().to_string()));
    };
    for (tool, variant) in TOOLS {
        let tool = kbuild.join(tool);
        let real = Some(kbuild.join(variant)).filter(|path| path.exists()).unwrap_or_else(|| tool.clone());
        let bytes = std::fs::read(&real).map_err(file(&real))?;
        let program = tool.with_extension("program");
        let [first, second] = &beginnings;
        let script = format!(
            "#!/bin/sh\nexec {} --library-path {}:{} {} \"$@\"\n",
            loader.display(),
            first.display(),
            second.display(),
            program.display()
        );
        for (path, contents) in [(&program, bytes.as_slice()), (&tool, script.as_bytes())] {
            own_place::write(path, contents).map_err(file(path))?;
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).map_err(file(path))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{headers_of, is_taken, plain};

    #[test]
    fn headers_have_the_name_of_their_kernel() {
        assert_eq!(headers_of("linux-image-6.1.0-56-rt-amd64"), "linux-headers-6.1.0-56-rt-amd64");
        assert_eq!(headers_of("linux-binary-7.3.4+deb13-amd64"), "linux-headers-7.3.4+deb13-amd64");
        assert_eq!(plain("7.3.4-1~bpo13+1"), "7.3.4-1_bpo13+1");
    }

    #[test]
    fn neither_a_compiler_nor_a_kernel_is_taken_with_them() {
        for taken in ["linux-headers-6.1.0-56-common", "linux-kbuild-6.1", "libc6", "libelf1t64", "zlib1g"] {
            assert!(is_taken(taken), "{taken}");
        }
        for left in ["gcc-14", "linux-image-6.12.117+deb13-amd64", "pahole", "linux-compiler-gcc-12-x86", "libssl3t64"]
        {
            assert!(!is_taken(left), "{left}");
        }
    }
}
