//! How a recording is laid out on disk, whatever it holds: directories, JSON, tables, and the bounds of each.
//!
//! * `directory`, `place`, `input`: files, written and read without following anybody else's links; `lock`: by one
//!   process at a time.
//! * `json_file`, `table`, `segments`, `bounded`, `summarized`, `joining`, `parquet_check`, `numbers`: what is in them.
//! * `bounds`, `caught`: how much is accepted, and what happens if a library panics.
//! * `texts`, `printable`, `units`, `digest`: words and numbers.

pub(crate) mod bounded;
pub mod bounds;
pub(crate) mod caught;
pub(crate) mod digest;
pub(crate) mod directory;
pub mod input;
pub(crate) mod joining;
pub(crate) mod json_file;
pub(crate) mod lock;
pub(crate) mod numbers;
pub(crate) mod parquet_check;
pub(crate) mod place;
pub(crate) mod printable;
pub(crate) mod segments;
pub(crate) mod summarized;
pub(crate) mod table;
pub(crate) mod texts;
pub(crate) mod units;
