//! The directory in which loads run, and in which their files are.

use crate::Refused;
use punctual_recording::input;
use rustix::fs::{Mode, OFlags};
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

const VARIABLE: &str = "TMPDIR";
const OTHERS_WRITE: u32 = 0o002;
/// In such a directory, users may remove only what is theirs.
const STICKY: u32 = 0o1000;
/// Who seems to own what belongs to root outside of a user namespace.
const OVERFLOW_USER: u32 = 65_534;

/// Makes a directory that nobody else can read or write.
pub(super) fn make() -> std::result::Result<PathBuf, Refused> {
    let named = std::env::var_os(VARIABLE);
    let is_named = named.is_some();
    let base = base(named);
    make_below(&base).map_err(|error| {
        let hint = if is_named { format!(" (that is {VARIABLE})") } else { String::new() };
        let doing = format!("no directory for temporary files could be made in {}", base.display());
        Refused::because(doing, crate::plain(&error) + &hint)
    })
}

/// Where to make it. Commands find their files there from other directories than this process's.
fn base(named: Option<OsString>) -> PathBuf {
    let base = named.filter(|path| !path.is_empty()).map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    std::path::absolute(&base).unwrap_or(base)
}

fn make_below(base: &Path) -> Result<PathBuf> {
    check(base)?;
    let mut attempt = 0;
    loop {
        let path = base.join(format!("punctual-load-{}-{attempt}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && attempt < 100 => attempt += 1,
            result => return result.map(|()| path),
        }
    }
}

/// Refuses a place in which somebody else could put another directory under the name of this one: files are written
/// there, and commands run.
fn check(base: &Path) -> Result<()> {
    // Words of commands have its name within them, and are told as text.
    if base.to_str().is_none() {
        return Err(Error::other("its name is not UTF-8"));
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(base, flags, Mode::empty())?;
    let about = rustix::fs::fstat(&opened)?;
    let is_sticky = about.st_mode & STICKY != 0;
    if !(input::is_trusted(&opened) || is_sticky && about.st_uid == OVERFLOW_USER) {
        return Err(Error::other("it belongs to another user"));
    }
    if about.st_mode & OTHERS_WRITE != 0 && !is_sticky {
        return Err(Error::other("others may replace what is made there: chmod +t"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn an_empty_name_is_none_and_a_relative_one_is_from_here() {
        assert_eq!(base(None), Path::new("/tmp"));
        assert_eq!(base(Some("".into())), Path::new("/tmp"));
        assert_eq!(base(Some("here".into())), std::env::current_dir().unwrap().join("here"));
    }

    #[test]
    fn a_place_where_others_can_replace_what_is_made_is_refused() {
        let place = make().unwrap();
        let mode = |bits| std::fs::set_permissions(&place, std::fs::Permissions::from_mode(bits)).unwrap();
        let mut said = Vec::new();
        for bits in [0o755, 0o700, 0o1777, 0o777] {
            mode(bits);
            let made = make_below(&place);
            said.push(made.as_ref().err().map(ToString::to_string).unwrap_or_default());
            let _ = made.map(std::fs::remove_dir);
        }
        std::fs::remove_dir(&place).unwrap();
        assert!(said[..3].iter().all(String::is_empty) && said[3].starts_with("others may replace"), "{said:?}");
        assert_eq!(check(&place).unwrap_err().kind(), ErrorKind::NotFound);
        let other = PathBuf::from(OsString::from_vec(b"/tmp/\xff".to_vec()));
        assert!(check(&other).unwrap_err().to_string().contains("UTF-8"));
    }
}
