//! What a guest leaves: an archive to be trusted no more than any other file, whatever kernel and program made it.

use punctual_recording::counted;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// What the command leaves about itself in /out.
pub(crate) const OUTPUT: &str = ".output";
pub(crate) const CODE: &str = ".code";
pub(crate) const KERNEL_LOG: &str = ".kernel-log";

/// Of what the command printed, and of the kernel's log, no more is held, bytes.
const MAX_TEXT_BYTES: u64 = 64 << 20;
/// No more files are taken, none lies deeper, and no path is longer, bytes. A recording of a day has some thousand files.
const MAX_FILES: usize = 20_000;
const MAX_DEPTH: usize = 16;
const MAX_PATH_BYTES: u64 = 4_096;

/// The files of a guest's /out. Links, devices and what would lie outside are left out.
#[derive(Debug)]
pub struct Files(File);

impl Files {
    /// From the archive that came over the guest's serial line.
    pub(crate) fn new(archive: File) -> Files {
        Files(archive)
    }

    /// Every file except those that describe the run: its path, made of names only, and its contents. Returns how many
    /// entries were left out.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`] if the archive is damaged or has more than a guest may leave, and what `take` says.
    pub fn each(&self, mut take: impl FnMut(&Path, &mut dyn Read) -> io::Result<()>) -> io::Result<u64> {
        let mut files = 0;
        self.look(|path, contents| {
            if [CODE, OUTPUT, KERNEL_LOG].iter().any(|own| path == Path::new(own)) {
                return Ok(());
            }
            files += 1;
            if files > MAX_FILES {
                return Err(damaged(format!("there are more than {MAX_FILES} files in /out")));
            }
            if path.components().count() > MAX_DEPTH {
                return Err(damaged(format!("a file in /out lies deeper than {MAX_DEPTH} directories")));
            }
            take(path, contents)
        })
    }

    /// Writes them below a directory of this user's own, which it makes.
    ///
    /// # Errors
    /// If the archive is damaged or a file cannot be written.
    pub fn unpack(&self, below: &Path) -> io::Result<()> {
        std::fs::create_dir_all(below)?;
        let written = self.each(|path, contents| {
            let target = below.join(path);
            std::fs::create_dir_all(target.parent().unwrap_or(below))?;
            io::copy(contents, &mut File::create(target)?).map(drop)
        });
        written.map(drop)
    }

    /// What one of the files that describe the run says; of a long one the beginning, and how much more there was.
    pub(crate) fn text(&self, name: &str) -> io::Result<String> {
        let mut found = None;
        self.look(|path, contents| {
            if path == Path::new(name) {
                found = Some(beginning(contents, MAX_TEXT_BYTES)?);
            }
            Ok(())
        })?;
        found.ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn look(&self, mut take: impl FnMut(&Path, &mut dyn Read) -> io::Result<()>) -> io::Result<u64> {
        let mut archive = &self.0;
        archive.rewind()?;
        let (mut left_out, mut long_name) = (0, None);
        let mut archive = tar::Archive::new(archive);
        // Each entry as it stands: one that only holds the name of the next could claim any length.
        for entry in archive.entries().map_err(damaged)?.raw(true) {
            let mut entry = entry.map_err(damaged)?;
            let kind = entry.header().entry_type();
            if kind.is_gnu_longname() {
                long_name = Some(name_in(&mut entry)?);
                continue;
            }
            if kind.is_gnu_longlink() {
                continue;
            }
            let path = match long_name.take() {
                Some(path) => path,
                None => Some(entry.path().map_err(damaged)?.into_owned()),
            };
            if kind.is_dir() {
                continue;
            }
            // A sparse file can claim any length; a plain one is no longer than the archive.
            let Some(path) = path.and_then(|path| below(&path)).filter(|_| kind.is_file()) else {
                left_out += 1;
                continue;
            };
            take(&path, &mut entry)?;
        }
        Ok(left_out)
    }
}

/// Why what a guest left is not taken.
fn damaged(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    let why: Box<dyn std::error::Error + Send + Sync> = why.into();
    io::Error::new(ErrorKind::InvalidData, format!("what the guest left cannot be taken: {why}"))
}

/// The path of the next entry, which is too long for that entry itself; none that is too long for any file.
fn name_in(entry: &mut dyn Read) -> io::Result<Option<PathBuf>> {
    let mut bytes = Vec::new();
    entry.take(MAX_PATH_BYTES + 1).read_to_end(&mut bytes).map_err(damaged)?;
    let is_path = bytes.len() as u64 <= MAX_PATH_BYTES;
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    Ok(is_path.then(|| OsString::from_vec(bytes).into()))
}

/// A text up to some length, and how much follows it.
fn beginning(contents: &mut dyn Read, max: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    (&mut *contents).take(max).read_to_end(&mut bytes)?;
    let more = io::copy(contents, &mut io::sink())?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if more > 0 {
        text += &format!("\n(left out here: {})\n", counted(more, "byte"));
    }
    Ok(text)
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
        assert_eq!(files.each(&mut meet).unwrap(), 6, "entries that are no file of /out");
        assert_eq!(met, [Path::new("a/file"), Path::new("link/below")]);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        assert!(directory.path().join("out/link").is_dir() && !directory.path().join("out/link").is_symlink());
        assert_eq!(files.text(CODE).unwrap(), "0\n");
        assert!(files.text(OUTPUT).is_err(), "a link is no output");
    }

    fn archive(entries: impl IntoIterator<Item = (tar::EntryType, String, Vec<u8>)>) -> Files {
        let mut archive = tar::Builder::new(tempfile::tempfile().unwrap());
        for (kind, name, contents) in entries {
            let mut header = header(kind, contents.len() as u64);
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_cksum();
            archive.append(&header, &contents[..]).unwrap();
        }
        Files::new(archive.into_inner().unwrap())
    }

    #[test]
    fn what_no_guest_needs_to_leave_is_refused_in_one_line() {
        let plain = |name: &str| (tar::EntryType::Regular, name.to_owned(), Vec::new());
        let long = |length: usize| (tar::EntryType::GNULongName, "././@LongLink".to_owned(), vec![b'a'; length]);
        let taken = |files: Files| {
            let mut paths = Vec::new();
            let said = files.each(|path, _| {
                paths.push(path.to_owned());
                Ok(())
            });
            said.map(|_| paths).map_err(|error| (error.kind(), error.to_string()))
        };
        let paths = taken(archive([long(300), plain("short"), plain("next")])).unwrap();
        assert_eq!(paths, [PathBuf::from("a".repeat(300)), PathBuf::from("next")]);
        assert_eq!(taken(archive([long(5_000), plain("short"), plain("next")])).unwrap(), [PathBuf::from("next")]);
        let deep = "d/".repeat(MAX_DEPTH) + "f";
        let many = (0..=MAX_FILES).map(|number| plain(&number.to_string()));
        for (files, words) in [(archive([plain(&deep)]), "deeper than"), (archive(many), "more than")] {
            let (kind, said) = taken(files).unwrap_err();
            assert_eq!(kind, ErrorKind::InvalidData, "{said}");
            assert!(said.contains(words) && said.lines().count() == 1, "{said}");
        }
    }

    #[test]
    fn of_a_long_text_it_is_said_how_much_is_left_out() {
        assert_eq!(beginning(&mut &b"abc"[..], 3).unwrap(), "abc");
        assert_eq!(beginning(&mut &b"abcdef"[..], 3).unwrap(), "abc\n(left out here: 3 bytes)\n");
    }
}
