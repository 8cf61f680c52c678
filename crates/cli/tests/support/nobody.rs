//! The program as a user without privilege runs it.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The user nobody, in a directory where everybody may write but not replace, with a copy of the program: they may have
/// no access to the directory where the tests are built.
pub(crate) struct Nobody(tempfile::TempDir);

impl Nobody {
    /// `None` if this user cannot become somebody else: the test of this name is skipped then.
    pub(crate) fn of(test: &str) -> Option<Nobody> {
        if !super::may_become_nobody() {
            super::skip(test, "only root can become somebody else");
            return None;
        }
        let nobody = Nobody(tempfile::tempdir().unwrap());
        std::fs::copy(env!("CARGO_BIN_EXE_punctual"), nobody.program()).unwrap();
        std::fs::set_permissions(nobody.program(), Permissions::from_mode(0o755)).unwrap();
        std::fs::set_permissions(nobody.directory(), Permissions::from_mode(0o1777)).unwrap();
        Some(nobody)
    }

    pub(crate) fn directory(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn program(&self) -> PathBuf {
        self.0.path().join("punctual")
    }

    /// The program in that directory, started with further options of `setpriv`.
    pub(crate) fn punctual(&self, options: &[&str]) -> Command {
        let mut command = Command::new("setpriv");
        command.args(super::NOBODY).args(options).arg(self.program());
        command.current_dir(self.directory()).stdin(Stdio::null());
        command.env(super::programs::MARK, std::process::id().to_string());
        command
    }

    /// Runs it and waits for it.
    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.punctual(&[]).args(words).output().expect("the program starts")
    }
}
