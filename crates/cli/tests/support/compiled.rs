//! Programs in C that tests start.

use crate::support::{self, stderr};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program of this source, in this directory and under the source's name; `None`, loudly, if there is no compiler.
pub(crate) fn compiled(test: &str, directory: &Path, source: &Path) -> Option<PathBuf> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = directory.join(source.file_stem().unwrap());
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"]).arg(top.join("include"));
    match compiler.arg(source).arg("-o").arg(&program).arg("-lrt").output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", stderr(&output));
            Some(program)
        }
        Err(error) => {
            support::skip(test, &format!("there is no C compiler ({error})"));
            None
        }
    }
}
