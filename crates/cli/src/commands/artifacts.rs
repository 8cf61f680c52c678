//! Files that are written in addition to the answer: pages and traces.

use crate::cannot_write::{CannotWrite, plain};
use crate::output;
use anyhow::ensure;
use punctual_recording::{Place, Standing};
use punctual_report::answer::Failure;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The files that a command writes in addition to its answer, and the first thing that this, or the answer, lacks.
#[derive(Debug, Default)]
pub(crate) struct Artifacts {
    failure: Option<String>,
}

/// Checks, before anything is measured for it, whether a file that is written at the end can be written at all.
///
/// # Errors
/// What is in the way, in one line.
pub(crate) fn check(file: Option<&PathBuf>) -> anyhow::Result<()> {
    let Some(path) = file else { return Ok(()) };
    ensure!(!path.is_dir(), "cannot write {}: it is a directory", path.display());
    if let Some(recording) = recording_around(path) {
        let recording = recording.display();
        anyhow::bail!("cannot write {}: it is inside the recording {recording}: choose another place", path.display());
    }
    let directory = directory_of(path);
    ensure!(directory.is_dir(), "cannot write {}: there is no directory {}", path.display(), directory.display());
    let tried = Place::of(path).and_then(|place| match place.standing()? {
        // A device or a pipe is written at the end: opening it now might block or have an effect.
        Standing::Special => Ok(()),
        Standing::Directory => Err(ErrorKind::IsADirectory.into()),
        Standing::Nothing | Standing::File => place.try_to_write(),
    });
    tried.map_err(|error| CannotWrite::beforehand(&format!("cannot write {}", path.display()), &error).into())
}

/// Checks whether a page that is written at the end can be made and written at all.
///
/// # Errors
/// What is in the way, in one line.
pub(crate) fn check_page(file: Option<&PathBuf>) -> anyhow::Result<()> {
    if file.is_some() {
        punctual_report::encode::html::can_draw()?;
    }
    check(file)
}

impl Artifacts {
    /// Writes a file in addition to the answer and gives the exit code. If it cannot be written, one line says so and
    /// the answer still comes: what was measured for it is not lost.
    pub(crate) fn write(&mut self, path: &Path, contents: impl AsRef<[u8]>) -> u8 {
        match Place::of(path).and_then(|place| place.write(contents.as_ref())) {
            Ok(()) => {
                output::note(&format!("written: {}", path.display()));
                0
            }
            Err(error) => self.lack(format!("cannot write {}: {}", path.display(), plain(&error))),
        }
    }

    /// Says that a file written in addition to the answer could not be made, and gives the exit code.
    pub(crate) fn fail(&mut self, path: &Path, error: &anyhow::Error) -> u8 {
        self.lack(format!("cannot make {}: {error:#}", path.display()))
    }

    /// Says in one line what there is not, and why, and gives the exit code.
    pub(crate) fn lack(&mut self, message: String) -> u8 {
        output::say(&Failure::new(&message, None, 1).text());
        self.failure.get_or_insert(message);
        1
    }

    /// The first thing that there is not, and why, in one line, so that the answer says so too.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The recording that contains, or would contain, a file, through whatever links the path leads.
fn recording_around(path: &Path) -> Option<PathBuf> {
    let directory = match path.canonicalize() {
        Ok(there) => there.parent()?.to_owned(),
        Err(_) => directory_of(path).canonicalize().ok()?,
    };
    // Tables are at most two directories deep.
    directory.ancestors().take(3).find(|above| above.join("recording.json").exists()).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_goes_into_what_a_link_leads_to() {
        let directory = tempfile::tempdir().unwrap();
        let (target, link) = (directory.path().join("target.html"), directory.path().join("link.html"));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert_eq!(Artifacts::default().write(&link, "first"), 0);
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "first");
        assert_eq!(Artifacts::default().write(&target, "third"), 0);
        assert_eq!(std::fs::read_to_string(&link).unwrap(), "third");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_lies_beside_and_where_links_lead_stays_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("victim"), "victim").unwrap();
        std::fs::write(at("a.pf.tmp"), "other").unwrap();
        std::os::unix::fs::symlink(at("victim"), at("b.html.tmp")).unwrap();
        let mut artifacts = Artifacts::default();
        let codes = (artifacts.write(&at("a.pf"), "trace"), artifacts.write(&at("b.html"), "page"));
        assert_eq!((codes, artifacts.failure()), ((0, 0), None));
        let read = |name: &str| std::fs::read_to_string(at(name)).unwrap();
        assert_eq!((read("victim"), read("a.pf.tmp")), ("victim".to_owned(), "other".to_owned()));
        assert_eq!((read("a.pf"), read("b.html")), ("trace".to_owned(), "page".to_owned()));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 5);
        // Not private to its owner, but nobody else can write to it.
        use std::os::unix::fs::PermissionsExt;
        let mode = at("a.pf").metadata().unwrap().permissions().mode();
        assert_eq!((mode & 0o400, mode & 0o133), (0o400, 0));
    }

    #[test]
    fn nothing_is_written_into_a_recording() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::create_dir_all(at("a.punctual/events")).unwrap();
        std::fs::write(at("a.punctual/recording.json"), "{}").unwrap();
        std::os::unix::fs::symlink(at("a.punctual/recording.json"), at("link.html")).unwrap();
        std::os::unix::fs::symlink(at("a.punctual"), at("b.punctual")).unwrap();
        let inside = ["a.punctual/recording.json", "a.punctual/x.html", "a.punctual/events/episodes.jsonl"];
        for wrong in inside.into_iter().chain(["link.html", "b.punctual/new.html"]) {
            let said = check(Some(&at(wrong))).unwrap_err().to_string();
            assert!(said.contains("inside the recording") && said.lines().count() == 1, "{said}");
        }
        check(Some(&at("x.html"))).unwrap();
    }

    #[test]
    fn what_cannot_be_written_is_known_before() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("file"), "").unwrap();
        for wrong in ["none/page.html", "file/page.html", "."] {
            let said = check(Some(&at(wrong))).unwrap_err().to_string();
            assert!(said.starts_with("cannot write ") && said.lines().count() == 1, "{said}");
            assert_eq!(Artifacts::default().write(&at(wrong), ""), 1);
        }
        for right in [Some(at("page.html")), Some(at("file")), Some("/dev/null".into()), Some("x.html".into()), None] {
            check(right.as_ref()).unwrap();
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
