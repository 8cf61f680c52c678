//! Builds a module, and keeps the result for the same sources with the same headers and compiler.

use super::sources::{HEADER, Sources};
use super::{ModuleError, file};
use crate::cache::{Cache, digest};
use crate::headers::{Headers, Unpacked};
use crate::own_place;
use crate::userland;
use punctual_recording::input;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A module, built for a kernel.
#[derive(Debug, Clone)]
pub struct Built {
    /// The module's file.
    pub file: PathBuf,
    /// The kernel's name for it.
    pub name: String,
    /// The file through which it hands out its stamps in a guest, if it says so (`include/punctual_module.h`).
    pub stamps: Option<String>,
}

#[derive(Deserialize, Serialize)]
struct Kept {
    name: String,
    stamps: Option<String>,
}

const KEPT: &str = "module.json";
const LIMIT: Duration = Duration::from_secs(300);
/// How much of what make and the compiler print is considered, bytes.
const MAX_SAID: u64 = 1 << 20;
const MAX_MODULE_BYTES: u64 = 256 << 20;
/// How much of the compiler's line is repeated.
const MAX_CHARACTERS: usize = 300;
/// By this a module says that it hands out stamps.
const STAMPS: &[u8] = b"punctual_stamps=";
/// What the headers say about the compiler that the kernel was built with, and about things that a guest has no use for.
const SETTINGS: [&str; 5] = [
    "CC=gcc",
    "CROSS_COMPILE=",
    "CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT=",
    "CONFIG_DEBUG_INFO=",
    "CONFIG_DEBUG_INFO_BTF_MODULES=",
];

/// Builds a module for the kernel that these headers belong to. Asks `go_on` from time to time.
///
/// # Errors
///
/// If it does not build, in one line with the compiler's first error, or if the machine lacks something.
pub fn build(
    cache: &Cache,
    sources: &Sources,
    headers: &Headers,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Built, ModuleError> {
    for program in ["make", "gcc"] {
        userland::find(program).ok_or(ModuleError::Missing(program))?;
    }
    let modules = cache.directory.join("modules");
    // What is in a kernel's tree changes, so what was built there is not taken for what would be built now.
    let key = headers.unpacked.as_ref().map(|unpacked| key(sources, unpacked)).transpose()?;
    let known = key.map(|key| modules.join(&key[..16]));
    if let Some(built) = known.as_deref().and_then(kept) {
        return Ok(built);
    }
    own_place::make_directory(&modules).map_err(file(&modules))?;
    let scratch = tempfile::tempdir_in(&modules).map_err(file(&modules))?;
    for (path, contents) in &sources.files {
        let path = scratch.path().join(path);
        let above = path.parent().unwrap_or(scratch.path());
        own_place::make_directory(above).map_err(file(above))?;
        own_place::write(&path, contents).map_err(file(&path))?;
    }
    make(headers, scratch.path(), go_on)?;
    let made = modules_in(scratch.path());
    let [made] = made.as_slice() else {
        return Err(ModuleError::Build(format!("it makes {} modules, but a lab loads one", made.len())));
    };
    let bytes = input::read_file(made, MAX_MODULE_BYTES).map_err(file(made))?;
    let name = made.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let place = known.unwrap_or_else(|| modules.join(&digest(&bytes)[..16]));
    own_place::make_directory(&place).map_err(file(&place))?;
    let text = serde_json::to_string(&Kept { stamps: stamps(&bytes), name }).expect("two texts");
    for (name, contents) in [("module.ko", bytes.as_slice()), (KEPT, text.as_bytes())] {
        let path = place.join(name);
        own_place::write(&path, contents).map_err(file(&path))?;
    }
    kept(&place).ok_or_else(|| ModuleError::Build("what was built is not there".to_owned()))
}

fn kept(place: &Path) -> Option<Built> {
    let kept: Kept = serde_json::from_slice(&input::read_file(&place.join(KEPT), MAX_SAID).ok()?).ok()?;
    let path = place.join("module.ko");
    path.is_file().then_some(Built { file: path, name: kept.name, stamps: kept.stamps })
}

/// What the result depends on.
fn key(sources: &Sources, headers: &Unpacked) -> Result<String, ModuleError> {
    let compiler = Command::new("gcc").arg("--version").stdin(Stdio::null()).output();
    let compiler = compiler.map_err(|_| ModuleError::Missing("gcc"))?.stdout;
    let mut digest = Sha256::new();
    digest.update(format!("{:?} {SETTINGS:?} {}", headers.packages, HEADER.1));
    digest.update(compiler);
    for (path, contents) in &sources.files {
        digest.update(format!("{path:?} {}", contents.len()));
        digest.update(contents);
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn make(headers: &Headers, scratch: &Path, go_on: &mut dyn FnMut() -> bool) -> Result<(), ModuleError> {
    let mut said = tempfile::tempfile().map_err(file(&std::env::temp_dir()))?;
    let mut command = Command::new("make");
    let at = scratch.display();
    command.arg("-s").arg("-C").arg(&headers.build);
    if let Some(unpacked) = &headers.unpacked {
        command.arg("-f").arg(unpacked.source.join("Makefile"));
        command.arg(format!("KBUILD_OUTPUT={}", headers.build.display()));
    }
    command.arg(format!("M={at}")).args(SETTINGS);
    // Nothing about where it was built, so that the same sources give the same bytes.
    command.arg(format!("KCFLAGS=-I{at} -fmacro-prefix-map={at}/=")).arg("modules");
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env_clear().env("PATH", path).env("LC_ALL", "C").stdin(Stdio::null()).stdout(Stdio::null());
    // A group of its own: the compiler below it ends with it.
    command.stderr(said.try_clone().map_err(file(&std::env::temp_dir()))?).process_group(0);
    let mut child = command.spawn().map_err(|_| ModuleError::Missing("make"))?;
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(file(scratch))? {
            break status;
        }
        if !go_on() {
            end(&mut child);
            return Err(ModuleError::Interrupted);
        }
        if began.elapsed() > LIMIT {
            end(&mut child);
            return Err(ModuleError::TimedOut(LIMIT));
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    if status.success() {
        return Ok(());
    }
    let mut bytes = Vec::new();
    let _ = said.rewind().and_then(|()| said.by_ref().take(MAX_SAID).read_to_end(&mut bytes));
    Err(ModuleError::Build(first_error(&String::from_utf8_lossy(&bytes), &format!("{at}/"))))
}

/// Ends make and everything that it runs.
fn end(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.wait();
}

/// The first line that says what is wrong, with places as the user knows them.
fn first_error(said: &str, scratch: &str) -> String {
    let is_error = |line: &&str| line.contains("error:") || line.contains("ERROR:");
    let found = said.lines().find(is_error).or_else(|| said.lines().find(|line| line.contains("***")));
    let line = found.or_else(|| said.lines().next_back()).unwrap_or("make failed without a word");
    let line: String = line.replace(scratch, "").chars().filter(|character| !character.is_control()).collect();
    line.trim().chars().take(MAX_CHARACTERS).collect()
}

/// Every module below a directory that a build has filled.
fn modules_in(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(modules_in(&path)),
            Ok(kind) if kind.is_file() && path.extension().is_some_and(|extension| extension == "ko") => {
                found.push(path)
            }
            _ => {}
        }
    }
    found
}

/// The file of stamps that a module names in its description of itself.
fn stamps(module: &[u8]) -> Option<String> {
    let at = module.windows(STAMPS.len()).position(|window| window == STAMPS)? + STAMPS.len();
    let path = module[at..].split(|byte| *byte == 0).next()?;
    let path = std::str::from_utf8(path).ok().filter(|path| path.starts_with('/') && path.len() < 200)?;
    path.chars()
        .all(|character| character.is_ascii_alphanumeric() || "/_.-".contains(character))
        .then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{first_error, modules_in, stamps};
    use std::fs::File;

    #[test]
    fn the_first_error_is_told_in_one_line() {
        let said = "warning: pahole version differs\n/s/x/a.c: In function 'f':\n/s/x/a.c:3:5: error: 'y' undeclared\n\
                    /s/x/a.c:9:1: error: later\nmake[1]: *** [a.o] Error 1\n";
        assert_eq!(first_error(said, "/s/x/"), "a.c:3:5: error: 'y' undeclared");
        let unresolved = "ERROR: modpost: \"nothing_has_this\" [/s/x/a.ko] undefined!\nmake: *** Error\n";
        assert_eq!(first_error(unresolved, "/s/x/"), "ERROR: modpost: \"nothing_has_this\" [a.ko] undefined!");
        assert_eq!(
            first_error("make: *** No rule to make target 'a.o'.", "/s/"),
            "make: *** No rule to make target 'a.o'."
        );
        assert_eq!(first_error("", "/s/"), "make failed without a word");
    }

    #[test]
    fn a_module_names_its_stamps_file_or_has_none() {
        assert_eq!(stamps(b"\x7fELF\0license=GPL\0punctual_stamps=/dev/punctual\0x").as_deref(), Some("/dev/punctual"));
        for wrong in [&b"license=GPL\0"[..], b"punctual_stamps=dev\0", b"punctual_stamps=/a b\0", b"punctual_stamps="] {
            assert_eq!(stamps(wrong), None);
        }
    }

    #[test]
    fn modules_are_found_in_directories_below() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("below")).unwrap();
        File::create(directory.path().join("below/a.ko")).unwrap();
        File::create(directory.path().join("a.o")).unwrap();
        assert_eq!(modules_in(directory.path()), [directory.path().join("below/a.ko")]);
    }
}
