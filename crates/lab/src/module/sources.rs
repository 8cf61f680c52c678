//! What a module is built from: the files of a directory, read once.

use super::{ModuleError, file};
use crate::own_place::{self, NotOwn, Whose};
use std::fs::{File, Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A module's sources are no larger than this, bytes.
pub const MAX_SOURCES_BYTES: u64 = 64 << 20;
const MAX_FILES: usize = 2_000;
const MAX_DEPTH: usize = 8;

/// The header through which a module hands out its stamps, and the driver that comes with the program.
pub(super) const HEADER: (&str, &str) = ("punctual_module.h", include_str!("../../../../include/punctual_module.h"));
const DRIVER: (&str, &str) = ("punctual_driver.c", include_str!("../../module/punctual_driver.c"));

/// Files of a module, each with its place among them.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    pub(super) files: Vec<(PathBuf, Vec<u8>)>,
}

impl Sources {
    /// The measuring driver that comes with the program.
    #[must_use]
    pub fn shipped() -> Sources {
        let rule = ("Kbuild", "obj-m := punctual_driver.o\n");
        let files = [DRIVER, HEADER, rule].map(|(name, text)| (name.into(), text.as_bytes().to_vec()));
        Sources { files: files.into() }
    }

    /// Those of a directory, without what an earlier build left there. If it has neither a Kbuild nor a Makefile but
    /// one source file, that is the module.
    ///
    /// # Errors
    ///
    /// If another user may change them, if they are too many, or if nothing says what to build.
    pub fn read(directory: &Path) -> Result<Sources, ModuleError> {
        own_place::check(directory, Whose::OwnOrRoots).map_err(|error| match error {
            NotOwn::Foreign(path) => ModuleError::Foreign(path),
            NotOwn::File { path, source } => ModuleError::File { path, source },
        })?;
        let mut sources = Sources::default();
        let mut bytes = 0;
        sources.take(directory, Path::new(""), &mut bytes)?;
        sources.files.sort();
        let has = |name: &str| sources.files.iter().any(|(path, _)| path == Path::new(name));
        if !has("Kbuild") && !has("Makefile") {
            let rule = sources.rule().ok_or_else(|| {
                let why = "has neither a Kbuild nor a Makefile, nor exactly one .c file that would be the module";
                ModuleError::Sources { path: directory.to_owned(), why: why.to_owned() }
            })?;
            sources.files.push(("Kbuild".into(), rule.into_bytes()));
        }
        if !sources.files.iter().any(|(path, _)| path == Path::new(HEADER.0)) {
            sources.files.push((HEADER.0.into(), HEADER.1.as_bytes().to_vec()));
        }
        Ok(sources)
    }

    /// What to build, if there is one source file.
    fn rule(&self) -> Option<String> {
        let is_source = |path: &&Path| path.extension().is_some_and(|extension| extension == "c");
        let mut all = self.files.iter().map(|(path, _)| path.as_path()).filter(is_source);
        let (only, None) = (all.next()?, all.next()) else { return None };
        let stem = only.file_stem()?.to_str().filter(|_| only.parent() == Some(Path::new("")))?;
        Some(format!("obj-m := {stem}.o\n"))
    }

    fn take(&mut self, top: &Path, below: &Path, bytes: &mut u64) -> Result<(), ModuleError> {
        let directory = top.join(below);
        let wrong = |why: &str| ModuleError::Sources { path: directory.clone(), why: why.to_owned() };
        if below.components().count() > MAX_DEPTH {
            return Err(wrong("there are directories too deep for a module's sources"));
        }
        own(&directory, &File::open(&directory).map_err(file(&directory))?)?;
        for entry in std::fs::read_dir(&directory).map_err(file(&directory))? {
            let entry = entry.map_err(file(&directory))?;
            let (path, within) = (entry.path(), below.join(entry.file_name()));
            let kind = entry.file_type().map_err(file(&path))?;
            if is_left_by_a_build(&within) {
                continue;
            }
            if kind.is_dir() {
                self.take(top, &within, bytes)?;
            } else if kind.is_file() {
                let contents = read(&path, MAX_SOURCES_BYTES.saturating_sub(*bytes))?;
                *bytes += contents.len() as u64;
                self.files.push((within, contents));
            } else {
                let why = "is neither a file nor a directory: links are not followed".to_owned();
                return Err(ModuleError::Sources { path, why });
            }
            if self.files.len() > MAX_FILES {
                return Err(wrong("there are more than 2,000 files: give the directory of the module alone"));
            }
        }
        Ok(())
    }
}

/// One file, as it is when it is read.
fn read(path: &Path, room: u64) -> Result<Vec<u8>, ModuleError> {
    let flags = libc_flags();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(file(path))?;
    own(path, &opened)?;
    let mut contents = Vec::new();
    (&opened).take(room + 1).read_to_end(&mut contents).map_err(file(path))?;
    if contents.len() as u64 > room {
        let why =
            format!("there are more than {} MiB: give the directory of the module alone", MAX_SOURCES_BYTES >> 20);
        return Err(ModuleError::Sources { path: path.to_owned(), why });
    }
    Ok(contents)
}

/// Neither a link nor something that would block.
fn libc_flags() -> i32 {
    (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits().cast_signed()
}

/// Checks that nobody but this user, and root, may change what was opened.
fn own(path: &Path, opened: &File) -> Result<(), ModuleError> {
    let about = opened.metadata().map_err(file(path))?;
    if is_others(&about) { Err(ModuleError::Foreign(path.to_owned())) } else { Ok(()) }
}

/// Whether somebody besides this user, and root, may change what this describes.
pub(super) fn is_others(about: &Metadata) -> bool {
    let is_own = about.uid() == rustix::process::geteuid().as_raw() || about.uid() == 0;
    !is_own || own_place::is_open(about)
}

/// What `make` leaves, and hidden files.
fn is_left_by_a_build(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let ends = [".o", ".ko", ".mod", ".mod.c", ".cmd", ".order", ".symvers"];
    name.starts_with('.') || ends.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};

    fn names(sources: &Sources) -> Vec<&str> {
        sources.files.iter().filter_map(|(path, _)| path.to_str()).collect()
    }

    #[test]
    fn one_source_file_is_a_module_and_what_a_build_left_is_not_taken() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for (name, text) in [("driver.c", "x"), ("driver.h", ""), ("driver.ko", "old"), (".driver.o.cmd", "old")] {
            std::fs::write(at(name), text).unwrap();
        }
        let sources = Sources::read(directory.path()).unwrap();
        assert_eq!(names(&sources), ["driver.c", "driver.h", "Kbuild", "punctual_module.h"]);
        let rule = sources.files.iter().find(|(path, _)| path == Path::new("Kbuild")).unwrap();
        assert_eq!(rule.1, b"obj-m := driver.o\n");
        std::fs::write(at("other.c"), "y").unwrap();
        assert!(Sources::read(directory.path()).unwrap_err().to_string().contains("neither a Kbuild nor a Makefile"));
        std::fs::write(at("Makefile"), "obj-m := driver.o\ndriver-y := other.o\n").unwrap();
        assert!(!names(&Sources::read(directory.path()).unwrap()).contains(&"Kbuild"));
        symlink("/etc/passwd", at("link.h")).unwrap();
        assert!(Sources::read(directory.path()).unwrap_err().to_string().contains("links are not followed"));
    }

    #[test]
    fn what_others_may_change_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("driver.c");
        std::fs::write(&source, "x").unwrap();
        let is_refused = || matches!(Sources::read(directory.path()), Err(ModuleError::Foreign(_)));
        assert!(!is_refused());
        for open in [&source, directory.path()] {
            let before = open.metadata().unwrap().permissions();
            std::fs::set_permissions(open, std::fs::Permissions::from_mode(before.mode() | 0o002)).unwrap();
            assert!(is_refused(), "{}", open.display());
            std::fs::set_permissions(open, before).unwrap();
        }
        if !rustix::process::geteuid().is_root() {
            return punctual_testing::skip("another user's source", "only root can give a file away");
        }
        lchown(&source, Some(65_534), None).unwrap();
        assert!(is_refused());
    }
}
