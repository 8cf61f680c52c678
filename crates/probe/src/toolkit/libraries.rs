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
    /// Its file, as the process sees it.
    pub(super) path: String,
    /// What was opened: whatever is at the path by now.
    pub(super) opened: PathBuf,
    /// Where the function begins, bytes from the beginning of the file; `None` if the library does not offer it.
    pub(super) offset: Option<u64>,
    _file: OwnedFd,
}

/// The file's own name.
fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Which functions a process with this code may have, by their places in [`FUNCTIONS`], and in which file.
fn candidates(mapped: &[Mapping], speaks_wayland: bool) -> Vec<(usize, String)> {
    let path_of = |library: &str| mapped.iter().map(Mapping::path).find(|path| name(path).starts_with(library));
    let is_wayland = |toolkit: &str| toolkit == "wayland";
    FUNCTIONS
        .iter()
        .enumerate()
        // Every program has the library through which libraries call each other; it counts as a toolkit's if that one
        // is there and in use.
        .filter(|(_, function)| !is_wayland(function.toolkit) || speaks_wayland && path_of(WAYLAND_LIBRARY).is_some())
        .filter_map(|(place, function)| Some((place, path_of(function.library)?.to_owned())))
        .collect()
}

/// The libraries of toolkits that a process has mapped by now. With `speaks_wayland` its events may come from a Wayland
/// compositor.
pub(super) fn of(process: u32, speaks_wayland: bool, is_known: impl Fn(usize, &str) -> bool) -> Vec<Library> {
    let found = candidates(&mappings(process), speaks_wayland).into_iter();
    let found = found.filter(|(function, path)| !is_known(*function, path));
    found
        .filter_map(|(function, path)| {
            // A process in a container has other files.
            let (file, opened) = open_program(&format!("/proc/{process}/root{path}"))?;
            let offset = offset_of(&opened, FUNCTIONS[function].symbol);
            Some(Library { function, path, opened, offset, _file: file })
        })
        .collect()
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
            let found = candidates(&paths.iter().map(mapping).collect::<Vec<_>>(), speaks_wayland);
            found.into_iter().map(|(place, path)| (FUNCTIONS[place].toolkit, path)).collect::<Vec<_>>()
        };
        let gtk = "/usr/lib/x86_64-linux-gnu/libgtk-3.so.0.2406.32";
        let (ffi, wayland) = ("/lib/libffi.so.8.1.2", "/lib/libwayland-client.so.0.21.0");
        assert_eq!(of(&["/bin/x", gtk, ffi, wayland], false), [("gtk3", gtk.to_owned())]);
        let both = [("gtk3", gtk.to_owned()), ("wayland", ffi.to_owned())];
        assert_eq!(of(&[gtk, ffi, wayland], true), both);
        assert_eq!(of(&["/lib/libgtk-3-extras.so", ffi, "[vdso]", ""], true), []);
        assert_eq!(of(&["/lib/libXt.so.6.0.0"], false), [("xt", "/lib/libXt.so.6.0.0".to_owned())]);
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
}
