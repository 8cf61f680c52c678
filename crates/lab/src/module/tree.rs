//! The tree where a kernel was built, for a module of that kernel. Its Makefile and its tools run, so all of it has to be
//! this user's or root's.

use super::sources::is_others;
use super::{ModuleError, file};
use crate::cache::{Cache, DIRECTORY_VARIABLE};
use crate::headers::{Headers, is_awkward};
use crate::own_place::{self, NotOwn, Whose};
use punctual_recording::input;
use std::path::{Path, PathBuf};

/// What a build leaves that modules need, and what makes it.
const NEEDED: [(&str, &str); 4] = [
    ("Makefile", "give the directory where the kernel was built, with its sources or with O="),
    (CONFIGURATION, "run `make modules_prepare` there"),
    ("scripts/mod/modpost", "run `make modules_prepare` there"),
    // Without it no symbol of the kernel is known.
    ("Module.symvers", "run `make modules` there"),
];
/// What says which compiler a kernel is built with, how long that may be, and what stands there if it is clang.
const CONFIGURATION: &str = "include/config/auto.conf";
const MAX_CONFIGURATION_BYTES: u64 = 16 << 20;
const CLANG: &str = "CONFIG_CC_IS_CLANG=y";
/// The sources, in a tree that was built with `O=`.
const SOURCE: &str = "source";
/// A kernel with everything that its build leaves has a fifth of this.
const MAX_ENTRIES: usize = 1_000_000;

/// What modules for the kernel of a tree are built with. Asks `go_on` from time to time.
///
/// # Errors
///
/// If another user may change anything in the tree, or if it lacks what modules are built with.
pub fn headers_of_tree(cache: &Cache, tree: &Path, go_on: &mut dyn FnMut() -> bool) -> Result<Headers, ModuleError> {
    let wrong = |path: &Path, why: &str| ModuleError::Sources { path: path.to_owned(), why: why.to_owned() };
    if is_awkward(&cache.directory) {
        let why = "make cannot use a path with spaces or special characters: name another directory in";
        return Err(wrong(&cache.directory, &format!("{why} {DIRECTORY_VARIABLE}")));
    }
    let build = own(tree)?;
    for (name, remedy) in NEEDED {
        if !build.join(name).is_file() {
            return Err(wrong(&build, &format!("{name} is missing, which modules are built with: {remedy}")));
        }
    }
    let path = build.join(CONFIGURATION);
    let configuration = input::read_file(&path, MAX_CONFIGURATION_BYTES).map_err(file(&path))?;
    if String::from_utf8_lossy(&configuration).lines().any(|line| line == CLANG) {
        return Err(wrong(&build, "this kernel was built with clang, but the lab builds modules with gcc"));
    }
    let mut left = MAX_ENTRIES;
    all_own(&build, &mut left, go_on)?;
    let source = build.join(SOURCE);
    if source.exists() {
        all_own(&own(&source)?, &mut left, go_on)?;
    }
    Ok(Headers { build, unpacked: None })
}

/// Where a path leads, if nobody else can change where.
fn own(path: &Path) -> Result<PathBuf, ModuleError> {
    own_place::check(path, Whose::OwnOrRoots).map_err(|error| match error {
        NotOwn::Foreign(path) => ModuleError::Foreign(path),
        NotOwn::File { path, source } => ModuleError::File { path, source },
    })?;
    path.canonicalize().map_err(file(path))
}

/// Checks that nobody else may change a directory or anything below it. Links are not followed, but must be own too.
fn all_own(top: &Path, left: &mut usize, go_on: &mut dyn FnMut() -> bool) -> Result<(), ModuleError> {
    if is_others(&top.metadata().map_err(file(top))?) {
        return Err(ModuleError::Foreign(top.to_owned()));
    }
    let mut ahead = vec![top.to_owned()];
    while let Some(directory) = ahead.pop() {
        for entry in std::fs::read_dir(&directory).map_err(file(&directory))? {
            let path = entry.map_err(file(&directory))?.path();
            let about = path.symlink_metadata().map_err(file(&path))?;
            if is_others(&about) {
                return Err(ModuleError::Foreign(path));
            }
            if !go_on() {
                return Err(ModuleError::Interrupted);
            }
            *left = left.checked_sub(1).ok_or_else(|| {
                let why = format!("there are more than {MAX_ENTRIES} files: that is not a kernel's tree");
                ModuleError::Sources { path: top.to_owned(), why }
            })?;
            // What git keeps is not built.
            if about.is_dir() && path.file_name().is_none_or(|name| name != ".git") {
                ahead.push(path);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::{Sources, build};
    use crate::userland;
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};

    /// A tree with all that modules are built with, whose Makefile takes a source for the module that it would make.
    fn tree(at: &Path, rule: &str) {
        for (name, _) in NEEDED {
            let path = at.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        std::fs::write(at.join("Makefile"), format!("modules:\n\t{rule}\n")).unwrap();
    }

    fn cache(at: &Path) -> Cache {
        Cache { directory: at.join("kernels") }
    }

    #[test]
    fn a_module_is_built_in_a_kernels_tree_each_time() {
        if ["make", "gcc"].into_iter().any(|program| userland::find(program).is_none()) {
            return punctual_testing::skip("a module in a kernel's tree", "make or gcc is not installed");
        }
        let directory = tempfile::tempdir().unwrap();
        let (place, cache) = (directory.path().join("linux"), cache(directory.path()));
        let (module, text) = (directory.path().join("driver"), "of the source");
        std::fs::create_dir(&module).unwrap();
        std::fs::write(module.join("driver.c"), text).unwrap();
        let sources = Sources::read(&module).unwrap();
        let mut made = Vec::new();
        for rule in ["cp $(M)/driver.c $(M)/driver.ko", "echo another > $(M)/driver.ko"] {
            tree(&place, rule);
            let headers = headers_of_tree(&cache, &place, &mut || true).unwrap();
            let built = build(&cache, &sources, &headers, &mut || true).unwrap();
            assert_eq!(built.name, "driver");
            made.push((std::fs::read_to_string(&built.file).unwrap(), built.file));
        }
        assert_eq!((made[0].0.as_str(), made[1].0.as_str()), (text, "another\n"));
        // The first one is still what it was: a guest may be about to load it.
        assert_eq!(std::fs::read_to_string(&made[0].1).unwrap(), text);
        assert_eq!(std::fs::read_dir(&place).unwrap().count(), 4, "the tree is as it was");
    }

    #[test]
    fn a_tree_that_lacks_something_or_is_clangs_is_one_line() {
        let directory = tempfile::tempdir().unwrap();
        let (place, cache) = (directory.path().join("linux"), cache(directory.path()));
        tree(&place, "false");
        let said = || headers_of_tree(&cache, &place, &mut || true).map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(said(), Ok(()));
        std::fs::write(place.join(CONFIGURATION), format!("CONFIG_64BIT=y\n{CLANG}\n")).unwrap();
        assert!(said().unwrap_err().contains("built with clang"));
        for (name, _) in NEEDED {
            std::fs::remove_file(place.join(name)).unwrap();
            let said = said().unwrap_err();
            assert!(said.contains(&format!("{name} is missing")) && said.lines().count() == 1, "{said}");
            std::fs::write(place.join(name), "").unwrap();
        }
        let stopped = headers_of_tree(&cache, &place, &mut || false);
        assert!(matches!(stopped, Err(ModuleError::Interrupted)));
        let awkward = Cache { directory: directory.path().join("a b") };
        assert!(headers_of_tree(&awkward, &place, &mut || true).is_err());
    }

    #[test]
    fn a_tree_that_others_may_change_anywhere_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let [place, sources] = ["linux", "sources"].map(|name| directory.path().join(name));
        let cache = cache(directory.path());
        tree(&place, "false");
        tree(&sources, "false");
        symlink(&sources, place.join(SOURCE)).unwrap();
        let is_refused = || matches!(headers_of_tree(&cache, &place, &mut || true), Err(ModuleError::Foreign(_)));
        assert!(!is_refused());
        for open in [place.join("scripts"), place.join("scripts/mod/modpost"), sources.join("Makefile")] {
            let before = open.metadata().unwrap().permissions();
            std::fs::set_permissions(&open, std::fs::Permissions::from_mode(before.mode() | 0o002)).unwrap();
            assert!(is_refused(), "{}", open.display());
            std::fs::set_permissions(&open, before).unwrap();
        }
        assert!(!is_refused());
        if !rustix::process::geteuid().is_root() {
            return punctual_testing::skip("another user's kernel tree", "only root can give a file away");
        }
        lchown(sources.join("include/config/auto.conf"), Some(65_534), None).unwrap();
        assert!(is_refused());
    }
}
