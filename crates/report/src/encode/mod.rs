//! Formats of others: pages, traces, pictures.

pub(crate) mod csv;
pub mod html;
pub mod perfetto;
pub(crate) mod plain_page;
pub(crate) mod svg;
