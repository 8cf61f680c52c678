//! Where to connect to a display, and whether somebody else could pose as it there.
//!
//! A client hands over the key of the display, and then tells it everything. Programs take the first socket that they
//! find under the display's name, and the owner of the directory can put one there in the file system.

use punctual_kernel::plain;
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;
use std::fs::Metadata;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Where programs look for the sockets of this machine's displays.
const DIRECTORY: &str = "/tmp/.X11-unix";
/// In such a directory, users may remove only what is theirs.
const STICKY: u32 = 0o1000;
const OTHERS_WRITE: u32 = 0o022;

/// The socket of a display.
pub(super) fn path(number: u16) -> String {
    format!("{DIRECTORY}/X{number}")
}

/// Whether nobody else can have put, or can ever put, a socket of their own under the name of this user's display.
pub(super) fn is_ours(number: u16) -> Result<(), String> {
    is_ours_in(Path::new(DIRECTORY), number)
}

fn is_ours_in(directory: &Path, number: u16) -> Result<(), String> {
    let own = geteuid().as_raw();
    let shown = directory.display();
    let remedy = format!("remove it, or as root: install -d -m 1777 -o root {shown}");
    let look =
        |place: std::io::Result<Metadata>| place.map_err(|error| format!("{shown}: {}; {remedy}", plain(&error)));
    let mut place = look(directory.symlink_metadata())?;
    if place.is_symlink() && place.uid() == 0 {
        // Nobody else can redirect it.
        place = look(directory.metadata())?;
    }
    if place.uid() != 0 && place.uid() != own {
        return Err(format!(
            "{shown} belongs to another user ({}), who could read what is typed and shown there: {remedy}",
            place.uid()
        ));
    }
    if !place.is_dir() || (place.mode() & OTHERS_WRITE != 0 && place.mode() & STICKY == 0) {
        return Err(format!("others may replace in {shown} what they do not own: {remedy}"));
    }
    let name = format!("X{number}");
    let socket =
        directory.join(&name).symlink_metadata().map_err(|error| format!("{shown}/{name}: {}", plain(&error)))?;
    if socket.uid() != own {
        return Err(format!("{shown}/{name} belongs to another user ({}): have them remove it", socket.uid()));
    }
    Ok(())
}

/// Whether this user, and nobody else, listens there.
pub(super) fn leads_to_us(stream: impl AsFd) -> Result<(), String> {
    let listener = socket_peercred(stream).map_err(|error| error.to_string())?;
    if listener.uid != geteuid() {
        return Err(format!("another user ({}) answers there in place of our server", listener.uid.as_raw()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::{UnixListener, UnixStream};

    #[test]
    fn a_directory_in_which_others_may_replace_a_socket_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path();
        let mode = |bits| set_permissions(place, Permissions::from_mode(bits)).unwrap();
        mode(0o1777);
        assert!(is_ours_in(place, 3).unwrap_err().contains("X3"), "there is no such display");
        let _listener = UnixListener::bind(place.join("X3")).unwrap();
        for (bits, is_safe) in [(0o1777, true), (0o755, true), (0o777, false), (0o775, false)] {
            mode(bits);
            let found = is_ours_in(place, 3);
            assert_eq!(found.is_ok(), is_safe, "{bits:o} {found:?}");
        }
        mode(0o1777);
        assert!(is_ours_in(&place.join("nowhere"), 3).unwrap_err().contains("install -d"));
        leads_to_us(UnixStream::connect(place.join("X3")).unwrap()).unwrap();
    }
}
