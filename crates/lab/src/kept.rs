//! Keeps what guests left: the same program on the same kernel with the same script need not run again.

use crate::guest::{Guest, GuestError, Outcome};
use crate::userland::MAX_FILE_BYTES;
use punctual_recording::input;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// What a guest left, now or at an earlier time.
pub struct Left {
    /// The files of its /out.
    pub files: PathBuf,
    /// What the command printed, both streams.
    pub output: String,
    /// The kernel's log.
    pub kernel_log: String,
    /// How much of the host's processors it took.
    pub used: Duration,
    // Removes the files if they are not kept.
    _scratch: Option<TempDir>,
}

const KEY: &str = "key";
const FILES: &str = "files";
const OUTPUT: &str = "output";
const KERNEL_LOG: &str = "kernel-log";
const USED_MS: &str = "used-ms";

/// Boots a guest, or takes what it left earlier under this name in the directory `keep`. A guest that failed is tried again.
///
/// # Errors
///
/// As [`Guest::boot`], and if `keep` cannot be written.
pub fn boot(guest: &Guest, script: &str, keep: Option<&Path>, name: &str) -> Result<Left, GuestError> {
    let file = |path: &Path| {
        let path = path.to_owned();
        |source| GuestError::File { path, source }
    };
    let Some(keep) = keep else {
        let Outcome { output, kernel_log, files, used, .. } = guest.boot(script)?;
        let scratch = tempfile::tempdir().map_err(file(&std::env::temp_dir()))?;
        files.unpack(scratch.path()).map_err(file(scratch.path()))?;
        return Ok(Left { files: scratch.path().to_owned(), output, kernel_log, used, _scratch: Some(scratch) });
    };
    let directory = keep.join(name.replace(", ", "-").replace(' ', "-"));
    let key = key(guest, script)?;
    if let Some(left) = read(&directory, &key) {
        return Ok(left);
    }
    let outcome = guest.boot(script)?;
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).map_err(file(&directory))?;
    outcome.files.unpack(&directory.join(FILES)).map_err(file(&directory))?;
    let used = outcome.used.as_millis().to_string();
    // The key comes last: without it nothing here counts.
    for (name, text) in [(OUTPUT, &outcome.output), (KERNEL_LOG, &outcome.kernel_log), (USED_MS, &used), (KEY, &key)] {
        std::fs::write(directory.join(name), text).map_err(file(&directory))?;
    }
    let Outcome { output, kernel_log, used, .. } = outcome;
    Ok(Left { files: directory.join(FILES), output, kernel_log, used, _scratch: None })
}

fn read(directory: &Path, key: &str) -> Option<Left> {
    let text = |name: &str| std::fs::read_to_string(directory.join(name)).ok();
    (text(KEY)? == key).then_some(())?;
    let used = Duration::from_millis(text(USED_MS)?.parse().ok()?);
    let (output, kernel_log) = (text(OUTPUT)?, text(KERNEL_LOG)?);
    Some(Left { files: directory.join(FILES), output, kernel_log, used, _scratch: None })
}

/// What a guest's run depends on.
fn key(guest: &Guest, script: &str) -> Result<String, GuestError> {
    key_of(guest, script, &mut Digests::default())
}

/// Digests of files that go into several guests: each file is read once.
#[derive(Default)]
pub struct Digests(BTreeMap<PathBuf, Vec<u8>>);

impl Digests {
    fn of(&mut self, path: &Path) -> Result<&[u8], GuestError> {
        if !self.0.contains_key(path) {
            let bytes = input::read_file(path, MAX_FILE_BYTES)
                .map_err(|source| GuestError::File { path: path.to_owned(), source })?;
            self.0.insert(path.to_owned(), Sha256::digest(bytes).to_vec());
        }
        Ok(&self.0[path])
    }
}

/// What a guest's run depends on: the contents of its files, what it is made of, and what runs in it. The emulator and
/// the host's tools that go into each guest are not part of it.
///
/// # Errors
///
/// If a file cannot be read.
pub fn key_of(guest: &Guest, script: &str, digests: &mut Digests) -> Result<String, GuestError> {
    let mut digest = Sha256::new();
    let added = guest.files.iter().map(|(host, _)| host);
    let own = [Some(&guest.kernel), guest.program.as_ref(), guest.hypervisor.as_ref()];
    for path in own.into_iter().flatten().chain(added) {
        digest.update(digests.of(path)?);
    }
    let Guest { files, cpus, seed, day, shift, plain, memory_mib, append, .. } = guest;
    let places: Vec<&String> = files.iter().map(|(_, guest)| guest).collect();
    digest.update(format!("{places:?} {cpus} {seed} {day} {shift} {plain} {memory_mib} {append}\n{script}"));
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::{KEY, OUTPUT, USED_MS, key, read};
    use crate::guest::Guest;
    use std::time::Duration;

    #[test]
    fn what_was_left_counts_for_the_same_program_kernel_and_script_alone() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for (name, text) in [("kernel", "a"), ("program", "b")] {
            std::fs::write(at(name), text).unwrap();
        }
        let mut guest = Guest::new(&at("kernel"));
        guest.program = Some(at("program"));
        let first = key(&guest, "true").unwrap();
        assert_eq!(key(&guest, "true").unwrap(), first);
        assert_ne!(key(&guest, "false").unwrap(), first);
        std::fs::write(at("program"), "c").unwrap();
        assert_ne!(key(&guest, "true").unwrap(), first);
        guest.program = None;
        let other = key(&guest, "true").unwrap();
        guest.append = "lockdown=confidentiality".to_owned();
        assert_ne!(key(&guest, "true").unwrap(), other);
        let without = key(&guest, "true").unwrap();
        guest.hypervisor = Some(at("program"));
        assert_ne!(key(&guest, "true").unwrap(), without);

        for (name, text) in [(OUTPUT, ""), (super::KERNEL_LOG, ""), (USED_MS, "1500")] {
            std::fs::write(at(name), text).unwrap();
        }
        assert!(read(directory.path(), &first).is_none(), "a guest that was cut short");
        std::fs::write(at(KEY), &first).unwrap();
        assert_eq!(read(directory.path(), &first).unwrap().used, Duration::from_millis(1500));
        assert!(read(directory.path(), &other).is_none());
    }
}
