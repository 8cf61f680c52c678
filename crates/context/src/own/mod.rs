//! A user's own work for a device: one function, in C or as a BPF object, that is called for each block.
//!
//! The file is read once (`source`); C, which may read no other file (`directives`), is compiled (`compile`); the
//! object is examined (`object`, `signature`), and linked with the device's programs when these are loaded (`link`).
//! The kernel verifies that it ends and stays within its block; `refusal` puts into words what it says about work that
//! does not.
//!
//! In a thread it is the processor's own code, in a process of its own (`process`, `served`) that can do nothing but compute.

pub(crate) mod block;
mod bytes;
mod compile;
mod directives;
mod link;
mod object;
pub(crate) mod process;
mod refusal;
pub mod served;
mod signature;
mod source;

pub use block::{Ended, OUTPUTS, OwnCounts};
pub(crate) use link::link;
pub(crate) use refusal::explain;

use punctual_kernel::Refused;
use std::path::Path;
use std::sync::Arc;

/// The header that such work includes.
pub const HEADER: &str = include_str!("../../../../include/punctual_work.h");
/// Its name.
pub const HEADER_NAME: &str = "punctual_work.h";
/// The function that is called, as the header defines it around the user's `work`.
const FUNCTION: &str = "punctual_work";

/// Work that has been read, compiled if it was C, and examined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnWork {
    name: String,
    object: Arc<[u8]>,
    /// Its C, if it was C.
    source: Option<Arc<str>>,
    warnings: Arc<[String]>,
}

impl OwnWork {
    /// Reads `FILE.c`, which takes clang, or `FILE.o`.
    ///
    /// # Errors
    /// In one line: a file that somebody else may write, the first thing that the compiler finds wrong, or what no work
    /// may contain.
    pub fn read(path: &Path) -> Result<OwnWork, Refused> {
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let name = punctual_recording::printable(&name);
        let bytes = source::read(path)?;
        let is_c = path.extension().is_some_and(|extension| extension == "c");
        let (object, source, warnings) = if is_c {
            let source = String::from_utf8(bytes).map_err(|_| refuse(&name, "it is not text"))?;
            let compiled = compile::for_bpf(&name, &source)?;
            (compiled.object, Some(source.into()), compiled.warnings)
        } else {
            (bytes, None, Vec::new())
        };
        object::check(&object).map_err(|reason| refuse(&name, reason))?;
        Ok(OwnWork { name, object: object.into(), source, warnings: warnings.into() })
    }

    /// The name of its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its compiler warns of, `encoder.c:12:3: ...`.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The BPF object.
    pub(crate) fn object(&self) -> &[u8] {
        &self.object
    }
}

pub(crate) fn refuse(name: &str, reason: impl Into<String>) -> Refused {
    Refused::because(format!("taking `{name}` as a device's work"), reason)
}
