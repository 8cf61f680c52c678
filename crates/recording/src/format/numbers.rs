//! Tables of whole numbers that are not recordings, such as the points of a sweep.

use crate::error::Result;
use crate::format::directory::Directory;
use crate::format::table::{self, Rows, Schema, optional};
use std::path::Path;

/// Writes rows of whole numbers as one Parquet file, by rename: whole or not at all.
///
/// # Errors
/// [`crate::ErrorKind::Io`].
pub fn write_numbers(path: &Path, names: &[&str], rows: &[Vec<Option<i64>>]) -> Result<()> {
    let columns: Vec<_> = names.iter().map(|name| optional(name)).collect();
    let schema = Schema { name: "numbers", columns: &columns };
    let mut table = Rows::new(&schema);
    rows.iter().for_each(|row| table.push_row(row));
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    table::write_table(&Directory::of_others(above)?, &name, &table)
}

/// Reads these columns of a Parquet file; values that the file lacks are `None`.
///
/// # Errors
/// [`crate::ErrorKind::Invalid`] or [`crate::ErrorKind::Io`].
pub fn read_numbers(path: &Path, names: &[&str]) -> Result<Vec<Vec<Option<i64>>>> {
    let columns: Vec<_> = names.iter().map(|name| optional(name)).collect();
    let schema = Schema { name: "numbers", columns: &columns };
    let mut read = Vec::new();
    table::read_table(path, &schema, |rows| {
        read.extend(
            (0..rows.len())
                .map(|row| (0..names.len()).map(|column| rows.get_optional(column, row)).collect::<Vec<_>>()),
        );
        Ok(())
    })?;
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("points.parquet");
        let rows = vec![vec![Some(1), None], vec![Some(-5), Some(7)]];
        write_numbers(&path, &["a", "b"], &rows).unwrap();
        assert_eq!(read_numbers(&path, &["a", "b"]).unwrap(), rows);
        assert_eq!(read_numbers(&path, &["b", "c"]).unwrap(), [[None, None], [Some(7), None]]);
    }
}
