//! Opens files of a recording: a pipe or a device in the place of one would be waited for without end.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Opens a regular file.
pub(crate) fn open(path: &Path) -> Result<File> {
    let about = std::fs::metadata(path)?;
    if about.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !about.is_file() {
        return Err(Error::other("it is a pipe, a socket or a device, not a file"));
    }
    File::open(path)
}

/// Reads a regular file whole.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "text").unwrap();
        assert_eq!(read(&file).unwrap(), b"text");
        assert_eq!(read(&directory.path().join("none")).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(read(directory.path()).unwrap_err().kind(), ErrorKind::IsADirectory);
        // A socket stands for all that would be waited for.
        let socket = directory.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(read(&socket).unwrap_err().to_string().contains("not a file"));
        assert!(read(Path::new("/dev/zero")).unwrap_err().to_string().contains("not a file"));
    }
}
