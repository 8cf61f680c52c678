//! Files of programs, for whoever looks for names in them: whoever runs a program decides what is at its path, and whoever
//! owns the file what is in it, also while it is read.

use punctual_recording::input;
use rustix::fs::MemfdFlags;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// How large files of programs may be, bytes: what reads them holds a part of that in memory. Those that belong neither to
/// root nor to whoever runs this program ...
const MAX_FOREIGN_BYTES: u64 = 64 << 20;
/// ... and others.
pub(super) const MAX_OWN_BYTES: u64 = 4 << 30;

/// Opens what may be a program's file, and returns the path of what was opened: whatever is there by now, it is a file,
/// and not too large to read. `None` for everything else.
pub(crate) fn open_program(path: &str) -> Option<(OwnedFd, PathBuf)> {
    let file = input::open_file(Path::new(path)).ok()?;
    let max_bytes = if input::is_trusted(&file) { MAX_OWN_BYTES } else { MAX_FOREIGN_BYTES };
    if file.metadata().ok()?.len() > max_bytes {
        return None;
    }
    let opened = path_of(&file);
    Some((file.into(), opened))
}

/// The path of an open file, whatever its name is by now.
fn path_of(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// A program's file, as whoever reads it finds it.
pub(super) struct ProgramFile {
    /// Leads to what is read.
    pub(super) path: PathBuf,
    /// Whether files that it names may be opened too, such as the one with its debug information.
    pub(super) is_trusted: bool,
    /// How much of it was copied, bytes.
    pub(super) copied: u64,
    _file: OwnedFd,
}

impl ProgramFile {
    /// Opens it. One that belongs to another user is copied into memory: files are mapped to be read, and who cuts one
    /// short meanwhile would end this program.
    pub(super) fn open(path: &str) -> Option<ProgramFile> {
        let (file, path) = open_program(path)?;
        if input::is_trusted(&file) {
            return Some(ProgramFile { path, is_trusted: true, copied: 0, _file: file });
        }
        let mut copy = File::from(rustix::fs::memfd_create("program", MemfdFlags::CLOEXEC).ok()?);
        // It may have grown since.
        let copied = std::io::copy(&mut File::from(file).take(MAX_FOREIGN_BYTES), &mut copy).ok()?;
        Some(ProgramFile { path: path_of(&copy), is_trusted: false, copied, _file: copy.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::symbols::ProgramSymbols;
    use super::*;
    use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
    use std::collections::BTreeSet;

    /// Gives a file to another user; false where this user may not.
    fn give_away(path: &Path) -> bool {
        rustix::process::geteuid().is_root() && std::os::unix::fs::chown(path, Some(65_534), None).is_ok()
    }

    #[test]
    fn what_another_user_can_cut_short_is_copied() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("program");
        std::fs::write(&path, "text").unwrap();
        let open = || ProgramFile::open(path.to_str().unwrap()).unwrap();
        let own = open();
        assert!(own.is_trusted && own.copied == 0);
        if !give_away(&path) {
            return punctual_testing::skip("what_another_user_can_cut_short_is_copied", "only root gives files away");
        }
        let theirs = open();
        File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
        assert_eq!((theirs.is_trusted, theirs.copied), (false, 4));
        assert_eq!(std::fs::read(&theirs.path).unwrap(), b"text");
    }

    /// An ELF file that says of its debug information only that it is in another file.
    fn with_link_to(other: &Path) -> Vec<u8> {
        let names = b"\0.shstrtab\0.gnu_debuglink\0";
        let mut link = [other.to_str().unwrap().as_bytes(), b"\0"].concat();
        link.resize(link.len().next_multiple_of(4), 0);
        // A checksum.
        link.extend([0; 4]);
        let mut contents = [names.as_slice(), &link].concat();
        contents.resize(contents.len().next_multiple_of(8), 0);
        let header = 64;
        let sections = header + contents.len() as u64;
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        // A shared object for x86-64, version 1.
        file.extend([3, 0, 62, 0, 1, 0, 0, 0]);
        [0, 0, sections].iter().for_each(|word: &u64| file.extend(word.to_le_bytes()));
        file.extend([0; 4]);
        [header as u16, 56, 0, 64, 3, 1].iter().for_each(|word| file.extend(word.to_le_bytes()));
        file.extend(contents);
        let of_names = (1_u32, 3_u32, header, names.len() as u64);
        let of_link = (11, 1, header + names.len() as u64, link.len() as u64);
        for (name, kind, offset, size) in [(0, 0, 0, 0), of_names, of_link] {
            file.extend(name.to_le_bytes());
            file.extend(kind.to_le_bytes());
            // Flags, address, offset, size; link and information; alignment, size of an entry.
            [0, 0, offset, size, 0, 1, 0].iter().for_each(|word: &u64| file.extend(word.to_le_bytes()));
        }
        file
    }

    #[test]
    fn a_program_of_another_user_has_no_other_files_opened() {
        let directory = tempfile::tempdir().unwrap();
        let (program, other) = (directory.path().join("program"), directory.path().join("other"));
        std::fs::write(&other, "no debug information").unwrap();
        std::fs::write(&program, with_link_to(&other)).unwrap();
        let opened = || {
            let watch = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
            inotify::add_watch(&watch, directory.path(), WatchFlags::OPEN).unwrap();
            ProgramSymbols::new().find(program.to_str().unwrap(), 0x10);
            let mut room = [std::mem::MaybeUninit::uninit(); 4_096];
            let (mut events, mut names) = (Reader::new(&watch, &mut room), BTreeSet::new());
            while let Ok(event) = events.next() {
                names.extend(event.file_name().map(|name| name.to_string_lossy().into_owned()));
            }
            names
        };
        assert_eq!(opened(), BTreeSet::from(["other", "program"].map(str::to_owned)));
        if !give_away(&program) {
            return punctual_testing::skip(
                "a_program_of_another_user_has_no_other_files_opened",
                "only root gives files away",
            );
        }
        assert_eq!(opened(), BTreeSet::from(["program".to_owned()]));
    }
}
