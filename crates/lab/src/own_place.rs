//! Whether what a path leads to belongs to this user: nobody else can change what is there, or where the path leads.

use std::ffi::OsString;
use std::fs::{DirBuilder, Metadata};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// Why a place is not this user's.
#[derive(Debug)]
pub(crate) enum NotOwn {
    /// This belongs to another user, or others may write there.
    Foreign(PathBuf),
    /// This cannot be looked at.
    File { path: PathBuf, source: io::Error },
}

/// Whose the place itself should be; what leads there may be root's in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    Own,
    OwnOrRoots,
}

/// How many links may lead there.
const MAX_LINKS: usize = 40;

/// Follows a path, through links, as far as it exists. A directory that others may write to is no place to keep files;
/// on the way there may be one if only owners may rename in it (`/tmp`).
pub(crate) fn check(path: &Path, whose: Whose) -> Result<(), NotOwn> {
    let at_path = |path: &Path| {
        let path = path.to_owned();
        |source| NotOwn::File { path, source }
    };
    let caller = rustix::process::geteuid().as_raw();
    let mut at = PathBuf::from("/");
    let absolute = std::path::absolute(path).map_err(at_path(path))?;
    let mut ahead = parts(&absolute);
    let mut links = 0;
    while let Some(part) = ahead.pop() {
        if part == ".." {
            at.pop();
            continue;
        }
        let next = at.join(part);
        let about = match next.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            about => about.map_err(at_path(&next))?,
        };
        let is_last = ahead.is_empty() && !about.is_symlink();
        let may_be_roots = !is_last || whose == Whose::OwnOrRoots;
        let is_shared = is_open(&about) && (is_last || about.mode() & 0o1000 == 0);
        if (about.uid() != caller && !(may_be_roots && about.uid() == 0)) || is_shared {
            return Err(NotOwn::Foreign(next));
        }
        if about.is_symlink() {
            links += 1;
            if links > MAX_LINKS {
                return Err(NotOwn::File { path: next, source: io::Error::other("too many links") });
            }
            let target = next.read_link().map_err(at_path(&next))?;
            if target.is_absolute() {
                at = PathBuf::from("/");
            }
            ahead.extend(parts(&target));
        } else {
            at = next;
        }
    }
    Ok(())
}

/// Whether others than the owner may write to what this describes: everybody, or a group that is neither the caller's nor root's.
pub(crate) fn is_open(about: &Metadata) -> bool {
    let groups = [rustix::process::getegid().as_raw(), 0];
    let is_open = about.mode() & 0o002 != 0 || about.mode() & 0o020 != 0 && !groups.contains(&about.gid());
    // What a link's mode says is true of no link.
    is_open && !about.is_symlink()
}

/// Makes a directory and those above it, which nobody else may write to, whatever the umask says.
pub(crate) fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path)
}

/// Writes a file that nobody else may write to, whatever the umask says: whole, or not at all.
pub(crate) fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(contents)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// How the names of unfinished files and directories begin (the library that makes them says so).
const UNFINISHED: &[u8] = b".tmp";

/// Removes from a directory of this user's own what a run that was killed had not finished, if nothing in it has changed for
/// so long. What cannot be removed stays.
pub(crate) fn remove_left(directory: &Path, after: Duration) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        // Of the entry itself: links are not followed.
        let Ok(about) = entry.metadata() else { continue };
        let is_old = about.modified().is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age >= after));
        if !is_old || !entry.file_name().as_encoded_bytes().starts_with(UNFINISHED) {
            continue;
        }
        let path = entry.path();
        let _ = if about.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
}

/// The parts of a path, the last one first.
fn parts(path: &Path) -> Vec<OsString> {
    let part = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().rev().filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};

    fn is_foreign(path: &Path, whose: Whose) -> bool {
        matches!(check(path, whose), Err(NotOwn::Foreign(_)))
    }

    #[test]
    fn what_a_killed_run_left_is_removed_once_it_is_old() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::create_dir(at("kept")).unwrap();
        let unfinished = tempfile::tempdir_in(directory.path()).unwrap().keep();
        std::fs::write(unfinished.join("linux.deb"), "half").unwrap();
        let file = tempfile::NamedTempFile::new_in(directory.path()).unwrap().into_temp_path().keep().unwrap();
        symlink(at("kept"), at(".tmp-link")).unwrap();
        let count = || std::fs::read_dir(directory.path()).unwrap().count();
        remove_left(directory.path(), Duration::from_secs(3600));
        assert!(count() == 4 && unfinished.exists() && file.exists());
        remove_left(directory.path(), Duration::ZERO);
        assert!(count() == 1 && at("kept").is_dir());
        remove_left(&at("absent"), Duration::ZERO);
    }

    #[test]
    fn only_what_nobody_else_can_change_is_own() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let make = |name: &str, mode: u32| {
            std::fs::create_dir_all(at(name)).unwrap();
            std::fs::set_permissions(at(name), std::fs::Permissions::from_mode(mode)).unwrap();
        };
        for (name, mode) in [("own", 0o755), ("own/below", 0o700), ("shared", 0o777), ("shared/own", 0o755)] {
            make(name, mode);
        }
        make("sticky", 0o1777);
        make("sticky/own", 0o755);
        make("group", 0o775);
        symlink("own", at("link")).unwrap();
        symlink(at("round"), at("round")).unwrap();
        for right in ["own", "own/below", "own/absent/below", "link/below", "sticky/own", "sticky/absent", "group"] {
            check(&at(right), Whose::Own).unwrap();
        }
        for wrong in ["shared", "shared/own", "shared/absent", "sticky", "own/../shared/own"] {
            assert!(is_foreign(&at(wrong), Whose::OwnOrRoots), "{wrong}");
        }
        assert!(matches!(check(&at("round"), Whose::Own), Err(NotOwn::File { .. })));
        if !rustix::process::geteuid().is_root() {
            assert!(is_foreign(Path::new("/usr"), Whose::Own) && check(Path::new("/usr"), Whose::OwnOrRoots).is_ok());
            return punctual_testing::skip("another user's place", "only root can give a directory away");
        }
        lchown(at("group"), None, Some(65_534)).unwrap();
        assert!(is_foreign(&at("group"), Whose::Own) && is_foreign(&at("group/absent"), Whose::Own));
        make("theirs", 0o755);
        make("theirs/roots", 0o755);
        symlink(at("own"), at("sticky/planted")).unwrap();
        for path in ["theirs", "sticky/planted"] {
            lchown(at(path), Some(65_534), None).unwrap();
        }
        for wrong in ["theirs", "theirs/roots", "theirs/absent", "sticky/planted", "sticky/planted/below"] {
            assert!(is_foreign(&at(wrong), Whose::OwnOrRoots), "{wrong}");
        }
    }
}
