//! What the fuzz targets share.

mod readers;

pub use readers::*;
