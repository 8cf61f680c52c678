//! JSON files of a recording: written by rename, read with the reason where they cannot be.

use crate::directory::Directory;
use crate::error::{Error, ErrorKind, Result};
use crate::regular_file;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// Writes a file under another name and renames it, so that nobody reads half of one.
pub(crate) fn write_json(directory: &Directory, name: &str, document: &impl Serialize) -> Result<()> {
    let path = || directory.path().join(name);
    let text = serde_json::to_vec(document)
        .map_err(|error| Error::new(ErrorKind::Invalid, path(), format!("cannot be put into JSON: {error}")))?;
    directory.write(name, &text).map_err(|error| Error::io(path(), "cannot write", error))
}

/// Reads a file; `None` where there is none. `is_not` says of one that holds something else what it is not.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path, is_not: &str) -> Result<Option<T>> {
    match regular_file::read(path) {
        Ok(text) => serde_json::from_slice(&text)
            .map(Some)
            .map_err(|error| Error::new(ErrorKind::Invalid, path, format!("{is_not}: {error}"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(path, "cannot read", error)),
    }
}

/// A document that names its format, and refuses any other.
pub(crate) fn read_document<T: DeserializeOwned>(
    path: &Path,
    is_not: &str,
    schema: &str,
    schema_of: impl Fn(&T) -> &str,
) -> Result<Option<T>> {
    let document = read_json(path, is_not)?;
    if let Some(other) = document.as_ref().map(schema_of).filter(|other| *other != schema) {
        let message = format!("has the schema `{other}`; this version reads {schema}");
        return Err(Error::new(ErrorKind::NewerSchema, path, message));
    }
    Ok(document)
}
