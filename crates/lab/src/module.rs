//! A driver under test: builds a kernel module for one of the kernels here, from a copy of its sources.
//!
//! What is built and loaded runs code: while it is built, that is as root on this machine, if root asks. So sources
//! that another user may change are refused, and so is a kernel's tree.

mod build;
mod sources;
mod tree;

pub use build::{Built, build};
pub use sources::{MAX_SOURCES_BYTES, Sources};
pub use tree::headers_of_tree;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why there is no module.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// A program is missing.
    #[error("{0} is not installed: modules are built with make and gcc")]
    Missing(&'static str),
    /// Somebody else decides what would run.
    #[error("{}: another user may change it, and what is built there runs: give a directory that is yours alone", .0.display())]
    Foreign(PathBuf),
    /// The directory is not that of a module.
    #[error("{}: {why}", path.display())]
    Sources {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The compiler or make refuses it.
    #[error("it does not build: {0}")]
    Build(String),
    /// It takes too long.
    #[error("it had not been built after {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The user or the system asked this program to end.
    #[error("ended by a signal")]
    Interrupted,
    /// A file.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

fn file(path: &std::path::Path) -> impl FnOnce(io::Error) -> ModuleError {
    let path = path.to_owned();
    |source| ModuleError::File { path, source }
}
