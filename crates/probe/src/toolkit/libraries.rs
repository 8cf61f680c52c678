//! Where toolkits' functions are in what a process has mapped.

use super::functions::{FUNCTIONS, WAYLAND_LIBRARY};
use crate::recorder::program_files::open_program;
use crate::recorder::symbols::{Mapping, mappings};
use blazesym::inspect::Inspector;
use blazesym::inspect::source::{Elf, Source};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// A library of a toolkit that a process has mapped.
pub(super) struct Library {
    /// Its function, by its place in [`FUNCTIONS`].
    pub(super) function: usize,
    /// Its file, as the kernel names it for the process.
    pub(super) path: String,
    /// Where the function is, or why that is not known.
    pub(super) place: Result<Place, &'static str>,
}

/// Where a function is.
pub(super) struct Place {
    /// The library's file, open.
    pub(super) opened: PathBuf,
    /// Where the function begins, bytes from the beginning of the file.
    pub(super) offset: u64,
    _file: OwnedFd,
}

/// How the kernel ends the path of a mapped file that no longer has a name: an update puts a new file in its place.
const REMOVED: &str = " (deleted)";

/// The path that a file has, or had when it was mapped.
pub(super) fn named(path: &str) -> &str {
    path.strip_suffix(REMOVED).unwrap_or(path)
}

/// The file's own name.
fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Which functions a process with this code may have, by their places in [`FUNCTIONS`], and in which file.
fn candidates(mapped: &[Mapping], speaks_wayland: bool) -> Vec<(usize, &Mapping)> {
    let of = |library: &str| mapped.iter().find(|mapping| name(mapping.path()).starts_with(library));
    let is_wayland = |toolkit: &str| toolkit == "wayland";
    FUNCTIONS
        .iter()
        .enumerate()
        // Every program has the library through which libraries call each other; it counts as a toolkit's if that one
        // is there and in use.
        .filter(|(_, function)| !is_wayland(function.toolkit) || speaks_wayland && of(WAYLAND_LIBRARY).is_some())
        .filter_map(|(place, function)| Some((place, of(function.library)?)))
        .collect()
}

/// The libraries of toolkits that a process has mapped by now. With `speaks_wayland` its events may come from a Wayland
/// compositor. One that `is_known`, by its function and the path that it had when it was mapped, is left out.
pub(super) fn of(process: u32, speaks_wayland: bool, is_known: impl Fn(usize, &str) -> bool) -> Vec<Library> {
    let mapped = mappings(process);
    let mut libraries = Vec::new();
    for (function, mapping) in candidates(&mapped, speaks_wayland) {
        if is_known(function, named(mapping.path())) {
            continue;
        }
        let place = place_of(process, mapping, FUNCTIONS[function].symbol);
        // Of a process that has ended meanwhile there is no file either, and nothing to say.
        if place.is_ok() || mappings(process).contains(mapping) {
            libraries.push(Library { function, path: mapping.path().to_owned(), place });
        }
    }
    libraries
}

/// Where a function is in a file that a process has mapped, or why that is not known.
fn place_of(process: u32, mapping: &Mapping, symbol: &str) -> Result<Place, &'static str> {
    let (path, why_not) = if mapping.path().ends_with(REMOVED) {
        // What is at the path now is another file, with its functions elsewhere. This leads to the one in use.
        let in_use = format!("/proc/{process}/map_files/{:x}-{:x}", mapping.start, mapping.end);
        (in_use, "its file was removed or replaced after the program had loaded it")
    } else {
        // A process in a container has other files.
        (format!("/proc/{process}/root{}", mapping.path()), "its file cannot be opened")
    };
    let (file, opened) = open_program(&path).ok_or(why_not)?;
    let offset = offset_of(&opened, symbol).ok_or("it does not offer that function")?;
    Ok(Place { opened, offset, _file: file })
}

/// Where a function begins in a library, bytes from the beginning of the file.
fn offset_of(opened: &std::path::Path, symbol: &str) -> Option<u64> {
    let source = Source::Elf(Elf { debug_syms: false, ..Elf::new(opened) });
    let inspector = Inspector::new();
    let found = inspector.lookup(&source, &[symbol]).ok()?;
    found.into_iter().flatten().find_map(|symbol| symbol.file_offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::symbols::parse_mapping;

    #[test]
    fn libraries_are_known_by_their_names() {
        let of = |paths: &[&str], speaks_wayland| {
            let mapping = |path: &&str| parse_mapping(&format!("1000-2000 r-xp 00000000 fe:00 1 {path}")).unwrap();
            let mapped: Vec<Mapping> = paths.iter().map(mapping).collect();
            let found = candidates(&mapped, speaks_wayland).into_iter();
            found.map(|(place, mapping)| (FUNCTIONS[place].toolkit, mapping.path().to_owned())).collect::<Vec<_>>()
        };
        let gtk = "/usr/lib/x86_64-linux-gnu/libgtk-3.so.0.2406.32";
        let (ffi, wayland) = ("/lib/libffi.so.8.1.2", "/lib/libwayland-client.so.0.21.0");
        assert_eq!(of(&["/bin/x", gtk, ffi, wayland], false), [("gtk3", gtk.to_owned())]);
        let both = [("gtk3", gtk.to_owned()), ("wayland", ffi.to_owned())];
        assert_eq!(of(&[gtk, ffi, wayland], true), both);
        assert_eq!(of(&["/lib/libgtk-3-extras.so", ffi, "[vdso]", ""], true), []);
        assert_eq!(of(&["/lib/libXt.so.6.0.0"], false), [("xt", "/lib/libXt.so.6.0.0".to_owned())]);
        let removed = "/lib/libQt5Gui.so.5.15.8 (deleted)";
        assert_eq!(of(&[removed, gtk], false), [("gtk3", gtk.to_owned()), ("qt5", removed.to_owned())]);
    }

    #[test]
    fn a_function_of_a_library_is_found_where_it_is_mapped() {
        let address = libc::getppid as *const () as u64;
        let mapped = mappings(std::process::id());
        let (offset, path) =
            mapped.iter().find_map(|one| Some((one.offset_of(address)?, one.path()))).expect("the C library");
        let (_file, opened) = open_program(path).unwrap();
        assert_eq!(offset_of(&opened, "getppid"), Some(offset));
        assert_eq!(offset_of(&opened, "no_such_function_at_all"), None);
    }

    /// Maps a file's code into this process, for good.
    fn map_code(path: &std::path::Path) {
        let file = std::fs::File::open(path).unwrap();
        let (protection, length) = (libc::PROT_READ | libc::PROT_EXEC, file.metadata().unwrap().len() as usize);
        let descriptor = std::os::fd::AsRawFd::as_raw_fd(&file);
        // SAFETY: new memory, wherever the kernel has room, that nobody runs or writes.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_PRIVATE, descriptor, 0) };
        assert!(at != libc::MAP_FAILED, "{path:?}: {}", std::io::Error::last_os_error());
    }

    #[test]
    fn a_function_is_found_in_the_file_that_is_mapped_and_not_in_one_that_took_its_place() {
        let own = std::process::id();
        let address = libc::getppid as *const () as u64;
        let mapped = mappings(own);
        let library = mapped.iter().find(|one| one.offset_of(address).is_some()).expect("the C library");
        let expected = library.offset_of(address);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("libgtk-3.so.0");
        std::fs::copy(library.path(), &path).unwrap();
        map_code(&path);
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "not a library").unwrap();
        let mapped = mappings(own);
        let word = path.display().to_string();
        let removed = mapped.iter().find(|one| one.path().starts_with(&word)).expect("it is mapped");
        assert_eq!(removed.path(), format!("{word}{REMOVED}"));
        // Once it is watched, it is not watched again because its file is removed.
        let libraries =
            |known: &str| of(own, false, |_, path| path == known).iter().any(|one| one.path == removed.path());
        assert!(libraries("another") && !libraries(&word));
        let lacks = place_of(own, removed, "no_such_function_at_all").err();
        match place_of(own, removed, "getppid") {
            Ok(place) => {
                assert_eq!((Some(place.offset), lacks), (expected, Some("it does not offer that function")));
            }
            Err(why) => {
                assert!(why.contains("was removed or replaced") && lacks == Some(why), "{why}");
                punctual_testing::skip("a removed library", "this user may not open what a process has mapped");
            }
        }
    }
}
