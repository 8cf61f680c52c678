//! Files that are written beside the answer: pages and traces.

use crate::output;
use anyhow::ensure;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// Whether a file that is written at the end can be written at all, before anything is measured for it.
///
/// # Errors
/// In one line, what is in the way.
pub(crate) fn check(file: Option<&PathBuf>) -> anyhow::Result<()> {
    let Some(path) = file else { return Ok(()) };
    ensure!(!path.is_dir(), "cannot write {}: it is a directory", path.display());
    // Into a device, a pipe or what a link leads to it is written at the end: to open it now might wait or do something.
    if is_special(path) {
        return Ok(());
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    ensure!(directory.is_dir(), "cannot write {}: there is no directory {}", path.display(), directory.display());
    super::made_in(directory).map_err(|error| anyhow::anyhow!("cannot write {}: {}", path.display(), plain(&error)))
}

/// Writes a file beside the answer and gives the exit code. Where it cannot be written, one line says so and the answer
/// is still given: what was measured for it is not lost.
pub(crate) fn write(path: &Path, contents: impl AsRef<[u8]>) -> u8 {
    let is_own = !is_special(path);
    match write_file(path, contents.as_ref()) {
        Ok(()) => {
            if is_own {
                super::hand_over(path);
            }
            output::note(&format!("written: {}", path.display()));
            0
        }
        Err(error) => {
            let message = format!("cannot write {}: {}", path.display(), plain(&error));
            output::say(&punctual_report::failure(&message, None));
            1
        }
    }
}

/// Writes under another name and renames it, so that nobody opens half of a file. Where a device, a pipe or a link
/// stands, such as /dev/stdout, it is written into: a file in its place would be the end of it.
fn write_file(path: &Path, contents: &[u8]) -> std::io::Result<()> {
    if is_special(path) {
        return std::fs::write(path, contents);
    }
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    let temporary = PathBuf::from(name);
    std::fs::write(&temporary, contents).and_then(|()| std::fs::rename(&temporary, path)).inspect_err(|_| {
        let _ = std::fs::remove_file(&temporary);
    })
}

fn is_special(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file())
}

/// An error of the operating system in plain words, without its number.
fn plain(error: &Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "no such file or directory".to_owned(),
        ErrorKind::StorageFull => "no space left on the disk".to_owned(),
        _ => error.to_string().split(" (os error").next().unwrap_or_default().to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_goes_into_what_a_link_leads_to() {
        let directory = tempfile::tempdir().unwrap();
        let (target, link) = (directory.path().join("target.html"), directory.path().join("link.html"));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert_eq!(write(&link, "first"), 0);
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "first");
        assert_eq!(write(&target, "third"), 0);
        assert_eq!(std::fs::read_to_string(&link).unwrap(), "third");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_cannot_be_written_is_known_before() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("file"), "").unwrap();
        for wrong in ["none/page.html", "file/page.html", "."] {
            let said = check(Some(&at(wrong))).unwrap_err().to_string();
            assert!(said.starts_with("cannot write ") && said.lines().count() == 1, "{said}");
            assert_eq!(write(&at(wrong), ""), 1);
        }
        for right in [Some(at("page.html")), Some(at("file")), Some("/dev/null".into()), Some("x.html".into()), None] {
            check(right.as_ref()).unwrap();
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
