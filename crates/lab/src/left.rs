//! What a guest leaves: an archive to be trusted no more than any other file, whatever kernel and program made it.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Component, Path, PathBuf};

/// What the command leaves about itself in /out.
pub(crate) const OUTPUT: &str = ".output";
pub(crate) const CODE: &str = ".code";
pub(crate) const KERNEL_LOG: &str = ".kernel-log";

/// The files of a guest's /out. Links, devices and what would lie outside are left out.
#[derive(Debug)]
pub struct Files(File);

impl Files {
    /// From the archive that came over the guest's serial line.
    pub(crate) fn new(archive: File) -> Files {
        Files(archive)
    }

    /// Every file except those that describe the run: its path, made of names only, and its contents.
    ///
    /// # Errors
    /// If the archive is damaged, and what `take` says.
    pub fn each(&self, mut take: impl FnMut(&Path, &mut dyn Read) -> io::Result<()>) -> io::Result<()> {
        self.look(|path, contents| {
            if [CODE, OUTPUT, KERNEL_LOG].iter().any(|own| path == Path::new(own)) {
                Ok(())
            } else {
                take(path, contents)
            }
        })
    }

    /// Writes them below a directory of this user's own, which it makes.
    ///
    /// # Errors
    /// If the archive is damaged or a file cannot be written.
    pub fn unpack(&self, below: &Path) -> io::Result<()> {
        std::fs::create_dir_all(below)?;
        self.each(|path, contents| {
            let target = below.join(path);
            std::fs::create_dir_all(target.parent().unwrap_or(below))?;
            io::copy(contents, &mut File::create(target)?).map(drop)
        })
    }

    /// What one of the files that describe the run says.
    pub(crate) fn text(&self, name: &str) -> io::Result<String> {
        let mut found = None;
        self.look(|path, contents| {
            if path == Path::new(name) {
                let mut bytes = Vec::new();
                contents.read_to_end(&mut bytes)?;
                found = Some(String::from_utf8_lossy(&bytes).into_owned());
            }
            Ok(())
        })?;
        found.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn look(&self, mut take: impl FnMut(&Path, &mut dyn Read) -> io::Result<()>) -> io::Result<()> {
        let mut archive = &self.0;
        archive.rewind()?;
        for entry in tar::Archive::new(archive).entries()? {
            let mut entry = entry?;
            // A sparse file can claim any length; a plain one is no longer than the archive.
            let path = entry.path()?.into_owned();
            let path = entry.header().entry_type().is_file().then_some(path);
            if let Some(path) = path.and_then(|path| below(&path)) {
                take(&path, &mut entry)?;
            }
        }
        Ok(())
    }
}

/// A path made only of names, without `.`; none for one that leads elsewhere.
fn below(path: &Path) -> Option<PathBuf> {
    let mut names = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => names.push(name),
            Component::CurDir => {}
            _ => return None,
        }
    }
    Some(names).filter(|names| !names.as_os_str().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(kind: tar::EntryType, length: u64) -> tar::Header {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(length);
        header.set_mode(0o644);
        header
    }

    #[test]
    fn links_devices_and_places_elsewhere_are_left_out() {
        let mut archive = tar::Builder::new(tempfile::tempfile().unwrap());
        let mut put = |name: &str, kind: tar::EntryType, link: &str, text: &[u8]| {
            let mut header = header(kind, text.len() as u64);
            // Written directly, since the library writes no path that leads up.
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            if !link.is_empty() {
                header.set_link_name(link).unwrap();
            }
            header.set_cksum();
            archive.append(&header, text).unwrap();
        };
        put("./.code", tar::EntryType::Regular, "", b"0\n");
        put("./a/file", tar::EntryType::Regular, "", b"text");
        put("./../up", tar::EntryType::Regular, "", b"text");
        put("/absolute", tar::EntryType::Regular, "", b"text");
        put("./.output", tar::EntryType::Symlink, "/etc/hostname", b"");
        put("./link", tar::EntryType::Symlink, "/etc", b"");
        put("./link/below", tar::EntryType::Regular, "", b"text");
        put("./hard", tar::EntryType::Link, "/etc/hostname", b"");
        put("./pipe", tar::EntryType::Fifo, "", b"");
        let files = Files::new(archive.into_inner().unwrap());
        let directory = tempfile::tempdir().unwrap();
        files.unpack(&directory.path().join("out")).unwrap();
        let mut met = Vec::new();
        let mut meet = |path: &Path, _: &mut dyn Read| {
            met.push(path.to_owned());
            Ok(())
        };
        files.each(&mut meet).unwrap();
        assert_eq!(met, [Path::new("a/file"), Path::new("link/below")]);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        assert!(directory.path().join("out/link").is_dir() && !directory.path().join("out/link").is_symlink());
        assert_eq!(files.text(CODE).unwrap(), "0\n");
        assert!(files.text(OUTPUT).is_err(), "a link is no output");
    }
}
