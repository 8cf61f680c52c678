//! What people write after `--load`.

use crate::file::LoadFile;
use crate::shipped;
use crate::{Class, FileError};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where a load comes from.
#[derive(Debug, Clone)]
pub enum Source {
    /// A class of artificial load.
    Class(Class),
    /// A load of real programs: one that comes with the program, or one of the user's files.
    File(Box<LoadFile>),
    /// A job file of stress-ng.
    StressNgJob(PathBuf),
}

/// Words after `--load` that name no load, in one line.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// No class and no file has this name.
    #[error("`{}` is not a load: give one of {}, or a file (NAME.toml, or a job file of stress-ng)", .0, listed())]
    Unknown(String),
    /// A file that is neither.
    #[error(
        "`{0}` is not a load: it is neither a load file (NAME.toml) nor a job file of stress-ng, with lines such as `cpu 2`"
    )]
    NoJob(String),
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
}

/// The names of all loads that come with the program.
pub fn names() -> Vec<&'static str> {
    Class::ALL.into_iter().map(Class::name).chain(shipped::names()).collect()
}

/// What the loads of real programs do, in a few words.
const DOES: [(&str, &str); 4] = [
    ("office", "LibreOffice"),
    ("workstation", "compiles and renders"),
    ("games", "draws in 3D"),
    ("web", "browses and encodes video"),
];

/// The names, with what the programs of those do that have any.
fn listed() -> String {
    let about = |name: &str| match DOES.iter().find(|(known, _)| *known == name) {
        Some((_, does)) => format!("{name} ({does})"),
        None => name.to_owned(),
    };
    names().into_iter().map(about).collect::<Vec<_>>().join(", ")
}

/// Words for what a load does, or for the programs in it.
const MEANT: [(&str, &[&str]); 9] = [
    ("none", &["idle", "off"]),
    ("memory", &["mem", "ram", "vm"]),
    ("disk", &["io", "hdd", "ssd", "file", "files", "storage"]),
    ("network", &["net", "udp", "ping", "traffic"]),
    ("mixed", &["all", "everything", "stress", "stress-ng"]),
    ("office", &["libreoffice", "spreadsheet", "writer"]),
    ("workstation", &["compile", "compiler", "compiling", "build", "make", "gcc", "render", "povray"]),
    ("games", &["game", "3d", "gpu", "graphics", "opengl", "glmark2"]),
    ("web", &["video", "media", "browser", "browse", "chromium", "firefox", "ffmpeg"]),
];

/// The load that does what a word says: for `compile`, the one that compiles.
pub fn meant(word: &str) -> Option<&'static str> {
    let word = word.to_ascii_lowercase();
    MEANT.into_iter().find(|(_, words)| words.contains(&word.as_str())).map(|(name, _)| name)
}

impl FromStr for Source {
    type Err = SourceError;

    /// A name goes before a file of that name: `./cpu` is the file.
    fn from_str(text: &str) -> Result<Source, SourceError> {
        if let Ok(class) = text.parse::<Class>() {
            return Ok(Source::Class(class));
        }
        if let Some(file) = shipped::find(text) {
            return Ok(Source::File(Box::new(file?)));
        }
        let path = Path::new(text);
        if path.extension().is_some_and(|extension| extension == "toml") {
            return Ok(Source::File(Box::new(LoadFile::open(path)?)));
        }
        // The kernel's own files say that they are empty: none of them is a job, and some are never read to their end.
        if std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() > 0) {
            if !is_job(path) {
                return Err(SourceError::NoJob(text.to_owned()));
            }
            // The load runs in a directory of its own.
            return Ok(Source::StressNgJob(std::path::absolute(path).unwrap_or_else(|_| path.to_owned())));
        }
        Err(SourceError::Unknown(text.to_owned()))
    }
}

/// Whether this may be a job file of stress-ng: one option per line, its name first, and at least one that says how many of
/// something to run.
fn is_job(path: &Path) -> bool {
    let Ok(text) = punctual_recording::input::read_text(path) else { return false };
    let lines = text.lines().map(|line| line.split_once('#').map_or(line, |(before, _)| before).trim());
    let (mut is_job, mut runs) = (true, false);
    for line in lines.filter(|line| !line.is_empty()) {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default().trim_start_matches("--");
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        is_job &= !name.is_empty() && name.bytes().all(is_name);
        runs |= words.next().is_some_and(|count| count.parse::<i64>().is_ok());
    }
    is_job && runs
}

impl Source {
    /// The name used in recordings.
    pub fn name(&self) -> String {
        match self {
            Source::Class(class) => class.name().to_owned(),
            Source::File(file) => file.name.clone(),
            Source::StressNgJob(path) => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_others_are_explained() {
        assert!(matches!("cpu".parse(), Ok(Source::Class(Class::Cpu))));
        for name in shipped::names() {
            assert_eq!(name.parse::<Source>().unwrap().name(), name);
        }
        let error = "lots".parse::<Source>().unwrap_err().to_string();
        assert!(
            error.contains("`lots` is not a load") && error.contains("office") && error.contains("mixed"),
            "{error}"
        );
        assert!("no/such.toml".parse::<Source>().unwrap_err().to_string().contains("no such file"));
    }

    #[test]
    fn a_load_is_told_by_what_it_does() {
        assert_eq!(
            ["compile", "Video", "io", "lots"].map(meant),
            [Some("workstation"), Some("web"), Some("disk"), None]
        );
        let error = "lots".parse::<Source>().unwrap_err().to_string();
        assert!(error.contains("workstation (compiles and renders)"), "{error}");
        let known = names();
        assert!(
            MEANT.iter().all(|(name, words)| known.contains(name) && !words.iter().any(|word| known.contains(word)))
        );
        assert_eq!(DOES.map(|(name, _)| name).to_vec(), shipped::names().collect::<Vec<_>>());
    }

    #[test]
    fn a_file_of_options_and_counts_is_a_job_of_stress_ngs() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("my.job");
        let name = file.to_str().unwrap();
        for job in ["run parallel\ncpu 2 # two\n\ntimeout 60s\n", "# only this\n--vm 1\nvm-bytes 80%\n", "matrix 0"] {
            std::fs::write(&file, job).unwrap();
            let source: Source = name.parse().unwrap();
            assert!(matches!(&source, Source::StressNgJob(path) if path.is_absolute()), "{job}");
            assert_eq!(source.name(), "my");
        }
        for no_job in ["hello", "fn main() { }\n", "cpu two", "\u{1b}[2J 4", "#!/bin/sh\nrm -rf /tmp/x", ""] {
            std::fs::write(&file, no_job).unwrap();
            let error = name.parse::<Source>().unwrap_err().to_string();
            assert!(error.contains("is not a load") && error.lines().count() == 1, "{no_job}: {error}");
        }
        let this = concat!(env!("CARGO_MANIFEST_DIR"), "/src/source.rs");
        for no_job in ["/proc/kmsg", "/proc/self/mem", "/dev/zero", "/proc", this, "/bin/true"] {
            assert!(no_job.parse::<Source>().is_err(), "{no_job}");
        }
    }
}
