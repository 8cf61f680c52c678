//! What can go wrong with a lab.

use punctual_lab::cache::CacheError;
use punctual_lab::module::ModuleError;
use punctual_recording::Hint;
use std::path::PathBuf;

/// Why a lab could not be run.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A kernel is not to be had.
    #[error("kernel {name}: {error}")]
    Kernel {
        /// Which.
        name: String,
        /// Why.
        error: CacheError,
    },
    /// The sources of a module.
    #[error("module: {0}")]
    Sources(ModuleError),
    /// There is no module for a kernel.
    #[error("module for kernel {kernel}: {error}")]
    Module {
        /// Which.
        kernel: String,
        /// Why.
        error: ModuleError,
    },
    /// A program that guests need is not installed.
    #[error("{0} is not installed")]
    Missing(&'static str),
    /// There is a cell that does not belong to this lab.
    #[error("{}: holds results of another program, kernel or command: choose another directory with -o", .0.display())]
    Other(PathBuf),
    /// A file could not be written or read.
    #[error(transparent)]
    Recording(#[from] punctual_recording::Error),
    /// What a guest left could not be stored.
    #[error("{}: {source}", path.display())]
    Store {
        /// Where.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file that goes into the guests cannot be read.
    #[error("{error}")]
    Guest {
        /// Which, and what the system says.
        error: punctual_lab::guest::GuestError,
    },
}

impl LabError {
    /// Whether it is about what one guest left, and so says nothing about the others.
    pub(super) fn is_of_a_guest(&self) -> bool {
        matches!(self, LabError::Store { source, .. } if source.kind() == std::io::ErrorKind::InvalidData)
    }
}

impl Hint for LabError {
    fn hint(&self) -> Option<&'static str> {
        match self {
            LabError::Missing(_) => Some("on Debian: apt install qemu-system-x86 busybox-static bash util-linux"),
            LabError::Module { error: ModuleError::Missing(_), .. } => Some("on Debian: apt install make gcc"),
            LabError::Recording(error) => error.hint(),
            _ => None,
        }
    }
}
