//! What a guest left, stored under its system and seed.

use super::error::LabError;
use punctual_lab::guest::Outcome;
use punctual_lab::parameters::not_taken;
use punctual_recording::{Directory, ErrorKind};
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::path::{Path, PathBuf};

/// A guest that ran to its end.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Ran {
    /// A digest of everything that the run came from.
    key: String,
    /// The command's exit code.
    pub exit_code: i32,
    /// How much of a processor the guest took, ms.
    pub used_ms: u64,
    /// Lines in which the kernel complained about itself, the first ones.
    pub splats: Vec<String>,
    /// How many such lines there were.
    pub all_splats: u64,
    /// What the command last said, if it failed.
    pub said: Option<String>,
    /// Whether it left a recording.
    pub has_recording: bool,
    /// What it left beside that was not taken: links, devices, places elsewhere, names that are no text.
    #[serde(default)]
    pub left_out: u64,
    /// Parameters of its system that the kernel did not take, and so ran without.
    #[serde(default)]
    pub not_taken: Vec<String>,
    /// Whether it ran before, and was taken from where it is stored.
    #[serde(skip)]
    pub is_kept: bool,
}

/// A stored cell is a few kilobytes; anything longer is not one.
const MAX_BYTES: u64 = 1 << 20;
const MAX_SPLATS: usize = 20;
/// How much of a line an answer repeats.
const MAX_CHARACTERS: usize = 300;

/// Where a cell is stored.
pub(super) struct Place<'a> {
    pub(super) system: &'a Directory,
    pub(super) seed: u32,
}

impl Place<'_> {
    fn name(&self, end: &str) -> String {
        format!("seed-{}{end}", self.seed)
    }

    /// The recording, if there is one.
    pub(super) fn recording(&self) -> PathBuf {
        self.system.path().join(self.name(".punctual"))
    }

    /// What is here, if it has this key.
    ///
    /// # Errors
    ///
    /// If something else is here: it is not overwritten.
    pub(super) fn read(&self, key: &str) -> Result<Option<Ran>, LabError> {
        let name = self.name(".json");
        let other = || LabError::Other(self.system.path().join(&name));
        match self.system.read(&name, MAX_BYTES) {
            Ok(bytes) => {
                let ran: Ran = serde_json::from_slice(&bytes).map_err(|_| other())?;
                if ran.key == key { Ok(Some(Ran { is_kept: true, ..ran })) } else { Err(other()) }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(_) => Err(other()),
        }
    }

    /// Stores what a guest that was booted with these parameters left; anything half stored before is removed. What another
    /// process has stored meanwhile stays.
    ///
    /// # Errors
    ///
    /// If something else is here by now, or if the guest's files cannot be taken or written.
    pub(super) fn write(
        &self,
        key: &str,
        outcome: &Outcome,
        recording: &str,
        parameters: &[String],
    ) -> Result<Ran, LabError> {
        if let Some(theirs) = self.read(key)? {
            return Ok(theirs);
        }
        let stored = |name: &str, contents: &[u8]| {
            let path = self.system.path().join(name);
            self.system.write(name, contents).map_err(|source| LabError::Store { path, source })
        };
        for end in ["", ".punctual"] {
            self.system.below(&self.name(end))?.discard();
        }
        let (mut has_recording, mut unnamed) = (false, 0);
        let stored_files = outcome.files.each(|path, contents| {
            let below = path.strip_prefix(recording);
            has_recording |= below.is_ok();
            let end = if below.is_ok() { ".punctual" } else { "" };
            let is_named = put(self.system, &self.name(end), below.unwrap_or(path), contents)?;
            unnamed += u64::from(!is_named);
            Ok(())
        });
        let left_out =
            stored_files.map_err(|source| LabError::Store { path: self.system.path().to_owned(), source })?;
        stored(&self.name(".txt"), outcome.output.as_bytes())?;
        stored(&self.name(".kernel-log"), outcome.kernel_log.as_bytes())?;
        let not_taken = not_taken(&outcome.kernel_log, parameters).into_iter().map(str::to_owned).collect();
        let ran = Ran { left_out: left_out + unnamed, not_taken, ..ran(key, outcome, has_recording) };
        // This comes last: without it nothing here counts.
        let text = serde_json::to_string_pretty(&ran).map_err(|error| LabError::Store {
            path: self.system.path().join(self.name(".json")),
            source: error.into(),
        })?;
        stored(&self.name(".json"), text.as_bytes())?;
        self.system.remove(&self.name(".failed"));
        Ok(ran)
    }

    /// Stores why a guest did not finish; if that is not possible, its first line is all there is.
    pub(super) fn write_failure(&self, words: &str) {
        let _ = self.system.write(&self.name(".failed"), words.as_bytes());
    }
}

fn ran(key: &str, outcome: &Outcome, has_recording: bool) -> Ran {
    let splats = punctual_lab::guest::splats(&outcome.kernel_log);
    let shown = |line: &str| line.chars().take(MAX_CHARACTERS).collect::<String>();
    let last = || outcome.output.lines().rfind(|line| !line.trim().is_empty()).map(shown);
    // An error comes before its hint.
    let error = || outcome.output.lines().rfind(|line| line.starts_with("error: ")).map(shown);
    Ran {
        key: key.to_owned(),
        exit_code: outcome.code,
        used_ms: u64::try_from(outcome.used.as_millis()).unwrap_or(u64::MAX),
        splats: splats.iter().take(MAX_SPLATS).map(|line| shown(line)).collect(),
        all_splats: splats.len() as u64,
        said: (outcome.code != 0).then(|| error().or_else(last)).flatten(),
        has_recording,
        left_out: 0,
        not_taken: Vec::new(),
        is_kept: false,
    }
}

/// No file system of Linux takes a longer name, bytes.
const MAX_NAME_BYTES: usize = 255;

/// Writes a file below a directory of this one; false if that is left out, since a name is no text or too long, or would be
/// that directory. Names that cannot be there together, such as `a` and `a/b`, are invalid: no guest has both.
fn put(within: &Directory, name: &str, path: &Path, contents: &mut dyn Read) -> std::io::Result<bool> {
    let is_name = |name: &&str| name.len() <= MAX_NAME_BYTES;
    let names = path.iter().map(|name| name.to_str().filter(is_name)).collect::<Option<Vec<&str>>>();
    let Some(names) = names else { return Ok(false) };
    let Some((file, above)) = names.split_last() else { return Ok(false) };
    let refused = |error: punctual_recording::Error| match error.kind() {
        ErrorKind::Exists => std::io::Error::new(std::io::ErrorKind::InvalidData, error),
        _ => std::io::Error::other(error),
    };
    let mut directory = within.below(name).map_err(refused)?;
    for name in above {
        directory = directory.below(name).map_err(refused)?;
    }
    let named = |error: std::io::Error| {
        let kind = match error.kind() {
            std::io::ErrorKind::AlreadyExists | std::io::ErrorKind::IsADirectory => std::io::ErrorKind::InvalidData,
            other => other,
        };
        std::io::Error::new(kind, format!("{}: {error}", path.display()))
    };
    directory.write_from(file, contents).map_err(named)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use punctual_recording::Directory;
    use std::io::ErrorKind::InvalidData;
    use std::path::Path;

    #[test]
    fn names_that_no_guest_has_are_no_fault_of_the_disk() {
        let directory = tempfile::tempdir().unwrap();
        let own = Directory::make(&directory.path().join("x")).unwrap();
        let put =
            |path: &str| super::put(&own, "seed-1", Path::new(path), &mut &b"text"[..]).map_err(|error| error.kind());
        assert_eq!([put("a"), put("c/d"), put("a")], [Ok(true); 3]);
        assert_eq!([put("a/b"), put("c")], [Err(InvalidData); 2]);
        let long = "n".repeat(256);
        assert_eq!([put(&long), put(&format!("{long}/x"))], [Ok(false); 2]);
        assert_eq!(put(&long[1..]), Ok(true));
        assert_eq!(std::fs::read(own.path().join("seed-1/a")).unwrap(), b"text");
    }
}
